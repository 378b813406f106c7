"""Elimination: the choices of its twin, its importance weights, and what its threshold says."""

import itertools
import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.contract import Choice, ask, begin, tell
from manyarms.trace import COLUMNS
from tests.theory import HOPELESS, log_of
from tests.twinned import COINS, FLIPS, PLAIN, check_same, eliminations, other_worlds, plays_as_its_twin, two_worlds
from verification.rates import rate_row


def open_elimination(live):
    """A block of 8 arms of which ``live`` are left, by telling losses that eliminate the others."""
    # Block 3 has 2^(4 · 3/4) = 8 arms and 8 rounds. T = 16, so log T = 4 and the threshold is 8 · 4 = 32:
    # a loss of 33 times the probability passes it at once.
    spec = ma.Elimination(beta=3.0, threshold=1.0, log_base=2, log_factor=False, cap=True, warm_start=False, horizon=16)
    state = begin(spec.start(1000), 12345)
    for round in range(1, 7):  # blocks 1 and 2
        state = tell(state, ask(state, round), 1.0)
    assert state.block.size == 8
    for _ in range(8 - live):  # the last arm moves into the slot that falls free
        choice = Choice(slot=0, arm=int(state.arms[0]), probability=state.probability, block=3, round=7)
        state = tell(state, choice, 1.0 - 33.0 * state.probability)
    assert state.live == live
    return state


@pytest.mark.parametrize("live", [8, 5, 2])
def test_the_expected_score_increment_of_each_live_arm_is_its_gap(live):
    # Enumerate the choices. Arm a gets (1 - Y) / P with probability P and 0 otherwise: the mean is the gap.
    gaps = [0.1 * (slot + 1) for slot in range(8)]
    choices = range(live)
    expected = dict.fromkeys(choices, 0.0)
    for played in choices:
        state = open_elimination(live)
        before = state.scores.copy()
        probability = state.probability
        assert probability == 1.0 / live
        choice = Choice(slot=played, arm=int(state.arms[played]), probability=probability, block=3, round=50)
        after = tell(state, choice, 1.0 - gaps[played])
        for slot in choices:
            expected[slot] += probability * (after.scores[slot] - before[slot])
    for slot in choices:
        assert expected[slot] == pytest.approx(gaps[slot], rel=1e-12)


def test_live_arms_are_chosen_with_the_stated_probability():
    live, rounds = 5, 40_000
    state = open_elimination(live)
    choices = [ask(state, round) for round in range(1, rounds + 1)]
    assert {choice.probability for choice in choices} == {1.0 / live}
    played = np.bincount([choice.slot for choice in choices], minlength=8) / rounds
    # Hoeffding: P(|share - p| > x) <= 2 exp(-2 n x^2); for 5 arms and a total of 1e-9,
    # x = sqrt(log(2 · 5 / 1e-9) / (2 n)) = 0.017.
    tolerance = math.sqrt(math.log(2 * live / 1e-9) / (2 * rounds))
    for slot in range(8):
        share = 1.0 / live if slot < live else 0.0
        assert played[slot] == pytest.approx(share, abs=tolerance if share else 0.0)


def test_importance_weighted_losses_sum_to_the_gap_over_a_run():
    # One block, no elimination: 1/n sum (1 - Y) 1{a} / P is an unbiased estimate of the gap of arm a.
    spec = ma.Elimination(beta=1.0, threshold=1e6, log_factor=False, warm_start=False)
    log = log_of(spec, COINS, 2**14 - 2, seed=3)
    block = log.block == 13  # the last one: 2^13 rounds on 2^(14/2) = 128 arms
    rounds = np.count_nonzero(block)
    assert rounds == 2**13
    weighted = (1.0 - log.reward[block]) / log.probability[block]
    for arm in np.unique(log.arm[block]):
        mine = log.arm[block] == arm
        gap = 1.0 - log.mean[block][mine][0]
        # Freedman's inequality: terms have mean gap, lie in [0, 128] and have variance at most 128 · gap;
        # for all 128 arms and a total of 1e-9, log(2 · 128 / 1e-9) = 26.3 = x.
        x = math.log(2 * 128 / 1e-9)
        tolerance = math.sqrt(2 * 128 * gap * x / rounds) + 128 * x / (3 * rounds)
        assert abs(weighted[mine].sum() / rounds - gap) <= tolerance


@pytest.mark.parametrize(("threshold", "horizon"), [(0.25, 1500), (0.8, 3000), (1.7, 2500)])
@pytest.mark.usefixtures("uncompiled")
def test_arms_that_always_lose_are_eliminated_at_the_play_the_threshold_says(threshold, horizon):
    # Each play of an arm adds 1 / P = |G_t| to its score. While no arm is out, |G_t| = |A|, so the first
    # arm to go is the first with ceil(C_2 log T) plays; later plays weigh |G_t| each. No sum of whole
    # numbers equals C_2 |A| log T here, so rounding cannot decide.
    spec = ma.Elimination(beta=1.0, threshold=threshold, log_base="e", log_factor=False, cap=True, warm_start=False)
    log = log_of(spec, HOPELESS, horizon, seed=4)
    needed = math.ceil(threshold * math.log(horizon))
    first_eliminations = 0
    restarts = 0
    for block in range(1, int(log.block[-1]) + 1):
        arms = log.arm[log.block == block].tolist()
        live = [round(1.0 / probability) for probability in log.probability[log.block == block]]
        size = live[0]
        bound = threshold * size * math.log(horizon)
        scores = dict.fromkeys(arms, 0)
        plays = dict.fromkeys(arms, 0)
        out = 0
        for arm, number in zip(arms, live, strict=True):
            assert number == size - out
            assert scores[arm] < bound  # an arm that is out is not played
            scores[arm] += number
            plays[arm] += 1
            if scores[arm] >= bound:
                if out == 0:
                    assert plays[arm] == needed
                    first_eliminations += 1
                out += 1
            elif out == 0:
                assert plays[arm] < needed
        if out == size:
            restarts += 1
            ended = log.episode[log.block == block][0]
            assert block == log.block[-1] or log.episode[log.block == block + 1][0] == ended + 1
    assert first_eliminations >= 3
    assert restarts >= 1
    assert log.episode[-1] in (restarts, restarts + 1)


def test_an_arm_whose_score_equals_the_threshold_is_out():
    state = open_elimination(8)
    assert state.limit == 32.0
    choice = Choice(slot=3, arm=int(state.arms[3]), probability=1 / 8, block=3, round=7)
    assert tell(state, choice, -2.75).live == 8  # 3.75 · 8 = 30
    assert tell(open_elimination(8), choice, -3.0).live == 7  # 4 · 8 = 32


# As make verify, with fewer rounds: about 4 s for each beta.
HORIZONS = tuple(2**power for power in range(13, 21))
BUDGET = 8_000_000


@pytest.mark.compiled
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_slope_lies_between_the_exponent_and_what_the_logarithms_add(beta):
    row, _ = rate_row(beta, HORIZONS, BUDGET, seed=11)
    assert row["agrees"] == "yes", row
    # The interval says something: it is narrower than the distance to the next beta's exponent.
    assert row["95 % high"] - row["95 % low"] < 0.08


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


# Each pair of types has to be compiled. Rewards other than those of coins meet every base in Subsample, and Blackbox
# over UCB.
test_elimination_plays_as_its_twin = plays_as_its_twin(eliminations(), two_worlds, examples=100)
test_elimination_plays_as_its_twin_in_other_worlds = plays_as_its_twin(eliminations(**PLAIN), other_worlds)


PLAIN = {"log_base": 2, "log_factor": False, "cap": True}


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


def test_elimination_twins_meet_eliminations_restarts_and_several_blocks():
    log, last = checked(ma.Elimination(beta=1.0, threshold=0.02, warm_start=False, **PLAIN), FLIPS, 3000, seed=5)
    assert last["restarts"] >= 3
    ranks = [len(set(log.block[log.episode == episode].tolist())) for episode in set(log.episode.tolist())]
    assert max(ranks) >= 4
    in_last_block = log.probability[log.block == log.block[-1]]
    assert len(set(log.probability.tolist())) > 10
    assert in_last_block[0] <= in_last_block[-1]


def test_a_warm_start_carries_survivors_over_and_nothing_over_a_restart():
    log, last = checked(ma.Elimination(beta=1.0, threshold=0.05, warm_start=True, **PLAIN), FLIPS, 3000, seed=6)
    assert last["restarts"] >= 1
    blocks = {b: set(log.arm[log.block == b].tolist()) for b in range(1, int(log.block[-1]) + 1)}
    episode = {b: int(log.episode[log.block == b][0]) for b in blocks}
    carried = [len(blocks[b] & blocks[b + 1]) for b in list(blocks)[:-1] if episode[b] == episode[b + 1]]
    assert sum(number > 0 for number in carried) >= 3
    for first, second in itertools.combinations(blocks, 2):
        if episode[first] != episode[second]:
            assert not blocks[first] & blocks[second]


def test_a_cold_start_carries_no_arm_into_the_next_block():
    log, _ = check_same(ma.Elimination(beta=1.0, threshold=0.05, warm_start=False, **PLAIN), FLIPS, 3000, seed=6)
    pairs = set(zip(log.block.tolist(), log.arm.tolist(), strict=True))
    assert len(pairs) == len({arm for _, arm in pairs})
