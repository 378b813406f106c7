"""SuccessiveElimination drops arms by its radius."""

import math

import pytest

import manyarms as ma
from manyarms.contract import Choice, learn, renew
from tests.twinned import WEAR, check_same


@pytest.mark.parametrize(("log_term", "left"), [(0.5, 1), (0.51, 2)])
def test_successive_elimination_drops_an_arm_two_radii_below_the_best(log_term, left):
    # After one play each, two radii are 2 sqrt(log_term / 2): 1 for 0.5, which is how far apart the arms are.
    base = renew(ma.SuccessiveElimination().start(2), 2, 10.0, math.log(10.0))._replace(log_term=log_term)
    for slot, reward in [(0, 0.0), (1, 1.0)]:
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=1), reward)
    assert base.active == left


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


def test_successive_elimination_twins_meet_dropped_arms():
    spec = ma.Subsample(base=ma.SuccessiveElimination(), beta=1.0, arms=17)
    log, _ = check_same(spec, WEAR, 3000, seed=9)
    assert len(set(log.arm[-17:].tolist())) < 17
