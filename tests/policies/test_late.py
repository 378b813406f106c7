"""Answers that come late, by hand: what the paper's algorithms and subsamples do with asks that are open."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.contract import ask, begin, correct, counts, expected, tell
from manyarms.policies.blackbox import restart_limit
from tests.open_asks import left_open, lost, settled
from tests.twinned import check_plainly

pytestmark = pytest.mark.once

ROOM = 4000


def begun(spec):
    return begin(spec.with_horizon(ROOM).start(ROOM), np.uint64(7))


def played(state, rounds, reward=1.0):
    for round in rounds:
        state = tell(state, ask(state, round), reward)
    return state


PAPER = {
    "cold": ma.Elimination(beta=1.0, threshold=10.0, warm_start=False),
    "warm": ma.Elimination(beta=1.0, threshold=10.0, warm_start=True),
    "box": ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=10.0, warm_start=False),
    "warm box": ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=10.0, warm_start=True),
    "sample": ma.Subsample(base=ma.UCB(), beta=1.0, horizon="doubling"),
}


@pytest.mark.parametrize("name", PAPER)
def test_a_block_is_as_long_with_open_asks_as_with_answers(name):
    at_once = late = begun(PAPER[name])
    late = begun(PAPER[name])
    for round in range(1, 1000):
        at_once = played(at_once, [round])
        late, _ = left_open(late, round)
        assert (late.block.rank, late.block.left) == (at_once.block.rank, at_once.block.left), round
    assert counts(late).blocks == counts(at_once).blocks == 9
    assert counts(late).restarts == counts(late).ignored == 0


# ---------------------------------------------------------------- Elimination


@pytest.mark.parametrize("warm", [True, False])
def test_a_late_loss_weighs_what_its_ask_weighed_whichever_block_is_open(warm):
    state = played(begun(PAPER["warm" if warm else "cold"]), range(1, 7))  # blocks 1 and 2
    state, first = left_open(state, 7)
    assert math.isnan(first.presumed)
    state = played(state, range(8, 15))  # the rest of block 3
    assert (state.block.rank, first.choice.block, first.choice.probability) == (4, 3, 1 / first_size(warm))
    before = state.scores.copy()
    state = settled(state, first, 0.25)
    if not warm:  # its arm has gone with its block
        assert counts(state).ignored == 1
        assert state.scores.tolist() == before.tolist()
        return
    slot = state.arms[: state.live].tolist().index(first.choice.arm)
    assert state.scores[slot] == 0.75 / first.choice.probability
    assert counts(state).ignored == 0
    assert state.block.left == 16  # an answer is no round


def first_size(warm):
    state = played(begun(PAPER["warm" if warm else "cold"]), range(1, 7))
    return state.block.size


def test_an_arm_that_was_dropped_takes_no_more_losses_and_ignores_none():
    spec = ma.Elimination(beta=1.0, threshold=0.01, warm_start=True)
    state = played(begun(spec), range(1, 63))
    state, *asks = left_open(state, *range(63, 100))
    again = [one for one in asks if one.choice.arm == asks[0].choice.arm]
    assert len(again) >= 2
    for one in again:  # the first drops it, and the others meet nothing
        state = settled(state, one, 0.0)
        assert one.choice.arm not in spec.kept_arms(state)
    assert counts(state).ignored == 0


def test_late_answers_that_empty_a_block_restart():
    state = played(begun(ma.Elimination(beta=1.0, threshold=0.01, warm_start=True)), range(1, 31))
    state, *asks = left_open(state, *range(31, 60))
    rank, round = state.block.rank, 60
    assert rank == 5
    while counts(state).restarts == 0:
        state = settled(state, asks.pop(), 0.0) if asks else tell(state, ask(state, round), 0.0)
        round += 1
    assert (state.block.rank, state.block.left) == (1, 2)


# ---------------------------------------------------------------- Blackbox

BOX = ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.5, log_power=0.0, warm_start=False)


def test_a_restart_takes_as_many_losses_more_as_there_were_open_asks():
    # Block 8 has 256 rounds, 16 arms and a limit of 8.
    for most in (0, 1, 5, 20):
        state = played(begun(BOX), range(1, 255))
        assert state.block.rank == 8
        assert state.limit == restart_limit(state.settings, 8, 16, 1.0) == 8.0
        state, *asks = left_open(state, *range(255, 255 + most))
        assert (state.awaited, state.most_awaited, state.loss) == (most, most, 0.0)
        for one in asks:  # good answers: nothing is open any more, but the losses of ignorance are allowed for
            state = settled(state, one, 1.0)
        assert (state.awaited, state.most_awaited, state.loss) == (0, most, 0.0)
        losses = 0
        while counts(state).restarts == 0:
            losses += 1
            state = tell(state, ask(state, 300 + losses), 0.0)
        assert losses == 8 + most
        assert BOX.explain(state)["last_restart"]["threshold"] == 8.0 + most
        assert (state.awaited, state.most_awaited) == (0, 0)


def test_only_answers_lose_and_only_those_of_the_open_block():
    state = played(begun(BOX), range(1, 255))
    state, first, second = left_open(state, 255, 256)
    assert state.loss == 0.0
    state = settled(state, first, 0.25)
    assert state.loss == 0.75
    state = lost(state, second)
    assert (state.loss, state.awaited) == (0.75, 0)
    state, late = left_open(state, 257)
    state = played(state, range(258, 511))
    assert (state.block.rank, state.loss) == (9, 0.0)
    state = settled(state, late, 0.0)
    assert (state.loss, state.awaited, counts(state).ignored) == (0.0, 0, 1)  # its arm has gone


def test_an_arm_that_stayed_learns_from_answers_of_older_blocks():
    spec = BOX.replace(warm_start=True)
    state = played(begun(spec), range(1, 500))
    state, *asks = left_open(state, *range(500, 511))
    assert state.block.rank == 9
    kept = spec.kept_arms(state).tolist()
    one = next(one for one in asks if one.choice.arm in kept)
    slot = kept.index(one.choice.arm)
    assert state.base.rewards.plays[slot] == 0
    state = settled(state, one, 0.5)
    assert (state.base.rewards.plays[slot], state.base.rewards.sums[slot]) == (1, 0.5)
    assert (state.loss, counts(state).ignored) == (0.0, 0)


# ---------------------------------------------------------------- what a base presumes


@pytest.mark.parametrize("name", ["box", "sample"])
def test_an_open_ask_is_a_play_that_paid_what_is_expected(name):
    state = played(begun(PAPER[name]), range(1, 255))
    size = state.block.size
    state = played(state, range(255, 255 + size), 0.5)  # each arm once
    state, one = left_open(state, 300)
    slot = one.choice.slot
    assert one.presumed == 0.5 == expected(state.base, slot)
    assert (state.base.rewards.plays[slot], state.base.rewards.sums[slot]) == (2, 1.0)
    assert settled(state, one, 1.0).base.rewards.sums[slot] == 1.5
    assert lost(state, one).base.rewards.plays[slot] == 1  # in the same arrays
    assert state.base.rewards.sums[slot] == 1.0


def test_open_asks_go_around_untried_arms():
    state, *asks = left_open(played(begun(PAPER["box"]), range(1, 255)), *range(255, 271))
    assert [one.choice.slot for one in asks] == list(range(16))
    assert {one.presumed for one in asks} == {0.0}
    state = lost(state, asks[3])
    assert ask(state, 300).slot == 3  # nothing is known of it again


def test_what_is_expected_can_be_taken_back_without_a_trace():
    # A third is no number of coins; 20 bits of it can be added and subtracted exactly.
    state = played(begun(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=1)), [1, 2], 0.0)
    state = played(state, [3], 1.0)
    state, one = left_open(state, 4)
    assert one.presumed == math.floor(2**20 / 3) / 2**20
    state, *others = left_open(state, *range(5, 60))
    for other in [one, *others]:
        state = lost(state, other)
    assert (state.base.rewards.plays[0], state.base.rewards.sums[0]) == (3, 1.0)


def test_thompson_takes_back_what_it_counted():
    # It counts rewards beyond [0, 1] as the end they are beyond, late or not.
    state = begun(ma.Subsample(base=ma.Thompson(), beta=1.0, arms=1))
    state = played(state, [1, 2])
    state, one, other, third = left_open(state, 3, 4, 5)
    state = settled(settled(state, one, -0.7), other, 1.3)
    assert (state.base.rewards.plays[0], state.base.rewards.sums[0]) == (5, 4.0)
    state = correct(state, one.choice, -0.7, 1.0)
    assert state.base.rewards.sums[0] == 5.0
    assert lost(state, third).base.rewards.sums[0] == 4.0
    beyond = ma.World(ma.PowerLaw(beta=1.0), noise=ma.GapUniform())
    for feedback in (ma.Delayed(9), ma.Delayed(9, pending=0.0)):
        check_plainly(ma.Subsample(ma.Thompson(), beta=1.0, arms=3), beyond.replace(feedback=feedback), 300, seed=2)


# ---------------------------------------------------------------- corrections


@pytest.mark.parametrize("name", ["warm", "warm box", "sample"])
def test_after_a_correction_all_is_as_if_it_had_been_told_so(name):
    spec = PAPER[name]
    wrong, right = (played(begun(spec), range(1, 255), 1.0) for _ in range(2))
    choice = ask(wrong, 255)
    wrong = correct(tell(wrong, choice, 0.0), choice, 0.0, 0.75)
    right = tell(right, choice, 0.75)
    assert repr(spec.explain(wrong)) == repr(spec.explain(right))
    for round in range(256, 400):
        assert ask(wrong, round) == ask(right, round)
        choice = ask(right, round)
        wrong, right = tell(wrong, choice, 0.5), tell(right, choice, 0.5)


@pytest.mark.parametrize("name", ["warm", "warm box", "sample"])
def test_a_correction_of_a_closed_block_is_ignored_and_counted(name):
    state = played(begun(PAPER[name]), range(1, 254))
    choice = ask(state, 254)
    state = tell(state, choice, 1.0)
    assert choice.block != counts(state).blocks
    explained = PAPER[name].explain(state)
    after = correct(state, choice, 1.0, 0.0)
    assert counts(after) == counts(state)._replace(ignored=1)
    assert PAPER[name].explain(after) == explained


# ---------------------------------------------------------------- Forager


def test_the_forager_asks_once_for_an_arm_of_which_nothing_is_known():
    spec = ma.Forager(keep=4)
    state, *asks = left_open(begin(spec.start(100), 0), *range(1, 8))
    assert [one.choice.arm for one in asks] == list(range(7))
    assert spec.kept_arms(state).tolist() == list(range(8))  # none that waits makes room for another
    state = settled(settled(state, asks[0], 0.0), asks[1], 1.0)
    state, *others = left_open(state, 8, 9, 10)
    assert [one.choice.arm for one in others] == [1, 1, 1]  # a good one that is known
    state = lost(state, asks[4])
    for one in others:
        state = settled(state, one, 0.0)
    state, another = left_open(state, 11)
    assert another.choice.arm != 1
    assert counts(state).ignored == 0
