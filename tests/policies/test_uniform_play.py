"""UniformPlay: the choices of its twin, and its regret."""

import math

import pytest
from hypothesis import strategies as st

import manyarms as ma
from tests.twinned import plays_as_its_twin, two_worlds


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_uniform_play_pays_the_mean_gap_of_the_reservoir_every_round(beta):
    horizon = 20_000
    world = ma.World(ma.PowerLaw(beta=beta), ma.Rotting(0.5), ma.Exact())  # no arm is played twice: no drift matters
    regret = ma.simulate({"it": ma.UniformPlay()}, world, horizon, seed=33).final_regret("it")[0]
    # The gap is U^(1/beta): mean beta / (beta + 1), second moment beta / (beta + 2). Five standard
    # deviations of a sum of that many: a chance of 6e-7.
    mean = beta / (beta + 1)
    deviation = math.sqrt(horizon * (beta / (beta + 2) - mean**2))
    assert abs(regret - horizon * mean) <= 5 * deviation


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
test_uniform_play_plays_as_its_twin = plays_as_its_twin(st.just(ma.UniformPlay()), two_worlds)
