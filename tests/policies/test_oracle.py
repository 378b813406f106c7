"""Oracle: the choices of its twin, and what it leaves alone."""

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.trace import COLUMNS
from tests.theory import log_of
from tests.twinned import check_same, oracles, plays_as_its_twin, two_worlds


@pytest.mark.usefixtures("uncompiled")
def test_the_oracle_does_not_leave_an_arm_for_one_that_is_no_better():
    log = log_of(ma.Oracle(keep=1), ma.World(ma.Empirical([0.5]), noise=ma.Exact()), 50)
    assert set(log.arm.tolist()) == {0}


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
test_oracle_plays_as_its_twin = plays_as_its_twin(oracles, two_worlds, st.integers(1, 400))
ROT = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("30/t"), ma.GapUniform())


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


def test_oracle_twins_meet_arms_that_are_let_go():
    log, last = checked(ma.Oracle(keep=2), ROT, 400, seed=11)
    assert len(set(log.arm.tolist())) > 20
    assert last["arms"] == 401
