"""Blackbox: the choices of its twin, and what its threshold says."""

import itertools
import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.trace import COLUMNS
from tests.theory import HOPELESS, log_of
from tests.twinned import (
    FLIPS,
    PLAIN,
    asymptotic_ucbs,
    blackboxes,
    check_same,
    crashing,
    greedies,
    other_worlds,
    plays_as_its_twin,
    successive,
    two_worlds,
    ucbs,
)


@pytest.mark.usefixtures("uncompiled")
def test_blackbox_restarts_at_the_loss_the_threshold_says():
    # Every round loses 1: the block ends at ceil(C_1 max(|A|, 2^(m/2)) log T) rounds, if it has as many.
    horizon = 3000
    spec = ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.31, log_power=1.0, log_base="e", log_factor=False)
    log = log_of(spec, HOPELESS, horizon)
    lengths = np.bincount(log.block)[1:]
    allowed = {m: math.ceil(0.31 * max(math.ceil(2 ** (m / 2)), 2 ** (m / 2)) * math.log(horizon)) for m in range(1, 9)}
    last = next(m for m in allowed if allowed[m] <= 2**m)
    assert 1 < last < 8
    episode = [*(2**m for m in range(1, last)), allowed[last]]
    assert lengths[:-1].tolist() == list(itertools.islice(itertools.cycle(episode), lengths.size - 1))
    assert log.episode[-1] == 1 + (lengths.size - 1) // last


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
test_blackbox_over_ucb_plays_as_its_twin = plays_as_its_twin(blackboxes(ucbs), two_worlds, examples=100)
test_blackbox_over_ucb_plays_as_its_twin_in_other_worlds = plays_as_its_twin(blackboxes(ucbs, **PLAIN), other_worlds)
test_blackbox_over_greedy_plays_as_its_twin = plays_as_its_twin(blackboxes(greedies), two_worlds)
test_blackbox_over_successive_elimination_plays_as_its_twin = plays_as_its_twin(
    blackboxes(successive, **PLAIN), crashing
)
test_blackbox_over_asymptotic_ucb_plays_as_its_twin = plays_as_its_twin(blackboxes(asymptotic_ucbs, **PLAIN), crashing)


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


@pytest.mark.parametrize("base", [ma.UCB(), ma.Greedy(), ma.SuccessiveElimination(), ma.AsymptoticUCB()])
def test_blackbox_twins_meet_restarts_and_several_blocks(base):
    spec = ma.Blackbox(base=base, beta=1.0, threshold=0.5, log_power=1.0, log_base="e", log_factor=False)
    log, last = checked(spec, FLIPS, 3000, seed=7)
    assert last["restarts"] >= 2
    assert last["blocks"] >= last["restarts"] + 4
    assert len(set(log.arm.tolist())) > 20
