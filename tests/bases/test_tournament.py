"""Tournaments: of keys, against the dense argmax of shortened indices; of lines, with leases for their leaders."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.arithmetic import float_of, word_of
from manyarms.bases.asymptotic_ucb import DOUBT
from manyarms.bases.tournament import (
    NO_ARM,
    key_of,
    leader,
    leaves_for,
    new_tournament,
    open_tournament,
    replay_games,
    runner_up,
    slot_of,
)
from manyarms.compiled import loop
from manyarms.contract import Choice, learn, pick, renew, revise
from manyarms.snapshots import state_from_json, state_to_json
from manyarms.states import copied
from tests.reference.asymptotic_ucb import AsymptoticUCB
from tests.reference.dense import first_of_the_largest, leaves_of, shortened

pytestmark = pytest.mark.once

exactly = settings(derandomize=True, deadline=None, max_examples=200)

# ---------------------------------------------------------------- keys

few = st.sampled_from([0.0, -0.0, 0.5, 1.0, -0.5, math.inf, -math.inf, 5e-324, -5e-324])
# Up to 4,096 floats from a common one: with 300 slots, leaves are 1,024, so some are within the dropped bits.
near_ties = st.tuples(st.sampled_from([0.7, -0.7, 1.0, -1.0, 1e-300, 1e300]), st.integers(-4096, 4096)).map(
    lambda pair: float_of(word_of(pair[0]) + pair[1])
)
indices = st.one_of(few, near_ties, st.floats(allow_nan=False))


@st.composite
def games(draw):
    """The slots of a tournament, the room it has, and what happens in it."""
    slots = draw(st.one_of(st.integers(1, 20), st.integers(1, 300)))
    room = draw(st.sampled_from([slots, slots + 1, 4 * slots + 3]))
    changes = draw(st.lists(st.tuples(st.integers(0, slots - 1), indices), max_size=60))
    return slots, room, draw(indices), changes


@exactly
@given(games())
@example((1, 1, math.inf, [(0, -math.inf)]))
@example((4, 4, -math.inf, [(3, -math.inf), (3, 0.0), (1, -0.0)]))
def test_the_leader_is_the_first_of_the_largest_shortened_indices(game):
    slots, room, at_first, changes = game
    keys = new_tournament(room)
    keys[:] = word_of(math.inf) | 1023  # whatever an earlier subsample has left behind
    leaves = open_tournament(keys, slots, at_first)
    assert leaves == leaves_of(slots)
    dense = [shortened(at_first, slots)] * slots
    assert leader(keys, leaves) == first_of_the_largest(dense) == 0
    for slot, index in changes:
        replay_games(keys, leaves, slot, index)
        dense[slot] = shortened(index, slots)
        assert leader(keys, leaves) == first_of_the_largest(dense)


def first_of_the_others(values, leading):
    return first_of_the_largest([-math.inf if place == leading else value for place, value in enumerate(values)])


@exactly
@given(games())
@example((2, 2, -math.inf, [(0, -math.inf), (1, 0.0), (1, -math.inf)]))
@example((5, 5, math.inf, [(4, 1.0), (0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5)]))
@example((17, 17, 0.5, [(16, 1.0), (0, 0.75), (16, 0.75), (16, 0.5)]))
def test_the_runner_up_is_the_first_of_the_largest_but_the_leader(game):
    slots, room, at_first, changes = game
    keys = new_tournament(room)
    keys[:] = word_of(math.inf) | 1023  # whatever an earlier subsample has left behind
    leaves = open_tournament(keys, slots, at_first)
    dense = [shortened(at_first, slots)] * slots
    for slot, index in [(0, at_first), *changes]:
        replay_games(keys, leaves, slot, index)
        dense[slot] = shortened(index, slots)
        before = keys.tolist()
        expected = first_of_the_others(dense, leader(keys, leaves)) if slots > 1 else 0
        assert runner_up(keys, leaves) == expected
        assert keys.tolist() == before


def test_a_runner_up_is_found_wherever_it_lost():
    # To the leader's neighbour, in another group of four, or in the last game.
    for slots in (2, 3, 4, 5, 16, 17, 65):
        for first in range(slots):
            for second in {0, 1, first ^ 1, first ^ 4, slots - 1} & set(range(slots)) - {first}:
                keys = new_tournament(slots)
                leaves = open_tournament(keys, slots, 0.0)
                replay_games(keys, leaves, first, 2.0)
                replay_games(keys, leaves, second, 1.0)
                assert (leader(keys, leaves), runner_up(keys, leaves)) == (first, second)


def test_indices_that_differ_in_the_dropped_bits_only_are_a_tie():
    for slots in (2, 4, 5, 16, 17, 300):
        leaves = leaves_for(slots)
        keys = new_tournament(slots)
        open_tournament(keys, slots, 0.0)
        whole = 0.75  # all its last bits are 0
        for places, ahead in ((leaves - 1, 0), (leaves, slots - 1)):
            replay_games(keys, leaves, 0, whole)
            replay_games(keys, leaves, slots - 1, float_of(word_of(whole) + places))
            assert leader(keys, leaves) == ahead
            replay_games(keys, leaves, 0, -1.0 - whole)
            replay_games(keys, leaves, slots - 1, float_of(word_of(-1.0 - whole) + places))  # further below zero
            for slot in range(1, slots - 1):
                replay_games(keys, leaves, slot, -math.inf)
            assert leader(keys, leaves) == 0


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 300])
def test_the_lowest_untried_slot_leads(slots):
    keys = new_tournament(slots)
    leaves = open_tournament(keys, slots, math.inf)
    order = random.Random(slots).sample(range(slots), slots)
    untried = set(range(slots))
    for slot in order:
        assert leader(keys, leaves) == min(untried)
        replay_games(keys, leaves, slot, 1e300)
        untried.discard(slot)
    assert leader(keys, leaves) == 0


@exactly
@given(slots=st.integers(1, 5000), data=st.data())
def test_keys_are_ordered_as_indices_and_then_as_lower_slots(slots, data):
    leaves = leaves_for(slots)
    assert leaves >= slots > leaves // 4
    some_slot = st.integers(0, slots - 1)
    slot, other_slot = data.draw(some_slot), data.draw(some_slot)
    index, other = data.draw(indices), data.draw(indices)
    key, other_key = key_of(index, slot, leaves), key_of(other, other_slot, leaves)
    assert slot_of(key, leaves) == slot
    assert NO_ARM < key < 2**63
    # In the same slot, a larger index never has the smaller key.
    if index < other:
        assert key <= key_of(other, slot, leaves)
    # With the same index, a lower slot has the larger key.
    if slot < other_slot:
        assert key > key_of(index, other_slot, leaves)
    # And in all, keys are ordered as shortened indices are, slots deciding where these are equal.
    ours, theirs = (shortened(index, slots), -slot), (shortened(other, slots), -other_slot)
    assert (key > other_key) == (ours > theirs)
    assert (key == other_key) == (ours == theirs)


@loop
def leaders_of(keys, slots, changed, values, found):
    leaves = open_tournament(keys, slots, math.inf)
    for place in range(changed.size):
        replay_games(keys, leaves, changed[place], values[place])
        found[place, 0] = leader(keys, leaves)
        found[place, 1] = runner_up(keys, leaves)


@pytest.mark.compiled
@pytest.mark.parametrize("slots", [1, 2, 5, 16, 300])
def test_a_compiled_tournament_is_the_plain_one(slots):
    draw = np.random.default_rng(slots)
    changed = draw.integers(0, slots, 2000)
    values = draw.choice([0.5, -0.5, math.inf, -math.inf, 0.0, *draw.normal(size=20)], 2000)
    values[::7] = (np.float64(0.5).view(np.int64) + draw.integers(-2000, 2000, values[::7].size)).view(np.float64)
    keys, found = new_tournament(slots), np.zeros((2000, 2), dtype=np.int64)
    plain_keys, plain_found = new_tournament(slots), np.zeros((2000, 2), dtype=np.int64)
    leaders_of(keys, slots, changed, values, found)
    leaders_of.function(plain_keys, slots, changed, values, plain_found)
    assert found.tolist() == plain_found.tolist()
    assert keys.tolist() == plain_keys.tolist()


# ---------------------------------------------------------------- leases of AsymptoticUCB


def told(slot, t):
    return Choice(slot=slot, arm=slot, probability=1.0, block=1, round=t)


def level_of(state):
    return state.sigma * math.sqrt(2.0 * state.clock.confidence)


def opened(sigma, arms):
    return renew(ma.AsymptoticUCB(sigma=sigma).start(arms), arms, 1e6, math.log(1e6))


def coins(draw, arms):
    """Rewards of arms with means of their own."""
    means = [draw.random() for _ in range(arms)]
    return lambda slot: float(draw.random() < means[slot])


def leased_rounds(sigma, arms, rounds):
    """How many of these rounds, after the first half of them, left the tree alone."""
    reward = coins(random.Random(5), arms)
    state = opened(sigma, arms)
    leased = 0
    for t in range(1, rounds + 1):
        winners, expiries = state.winners.copy(), state.expiries.copy()
        lease = state.lease
        slot = pick(state, 0, t)[0]
        state = learn(state, told(slot, t), reward(slot))
        untouched = (state.winners == winners).all() and (state.expiries == expiries).all()
        if state.lease is lease:
            assert untouched
            leased += t > rounds // 2
    return leased


def test_leases_are_granted():
    # With a small sigma one arm leads for long, and most of its rewards leave its index above the others'.
    assert leased_rounds(sigma=0.05, arms=50, rounds=10_000) > 0.8 * 5000
    # With a large one the lead changes hands all the time; then there is hardly ever a lease to live on.
    assert leased_rounds(sigma=5.0, arms=50, rounds=10_000) < 0.2 * 5000


def check_tree(state):
    """Every node's winner is the best of its slots, at this level and up to where the node says it is."""
    level = level_of(state)
    arms = state.rewards.plays.size
    means, slopes = state.lines[: 2 * arms : 2], state.lines[1 : 2 * arms : 2]
    for node in range(1, state.leaves):
        first, last = node, node
        while first < state.leaves:
            first, last = 4 * first, 4 * last + 3
        below = slice(first - state.leaves, last + 1 - state.leaves)
        if below.start >= arms:
            continue
        winner = state.winners[node] // 2
        for up_to in (level, max(level, min(state.expiries[node], 10.0 * level))):  # indices are straight lines in it
            # Rounding: indices are below 2 but for untried arms, whose index is the same number for all.
            assert means[winner] + up_to * slopes[winner] >= (means[below] + up_to * slopes[below]).max() - 2.0 * DOUBT


def a_close_race(draw, slow, slot, level):
    """A reward that brings a slot, as far as a reward can, to just above the best of the others, or below."""
    rivals = [index for place, index in enumerate(slow.indices()) if place != slot and math.isfinite(index)]
    aim = max(rivals, default=0.5) + draw.choice([1, 1, 1, -1]) * 10.0 ** draw.uniform(-6.0, -2.0)
    plays = slow.plays[slot] + 1
    return min(max((aim - level / math.sqrt(plays)) * plays - slow.sums[slot], 0.0), 1.0)


def play_both(sigma, arms, rounds, draw, strays, is_close):
    """The kinetic tournament and the dense argmax, with a share of rewards for others than the leader.

    Returns how many of those came during another's lease.
    """
    reward = coins(draw, arms)
    fast, slow = opened(sigma, arms), AsymptoticUCB(arms, 1e6, math.log(1e6), sigma=sigma)
    interrupted = 0
    for t in range(1, rounds + 1):
        slot = pick(fast, 0, t)[0]
        assert slot == fast.lease.slot == slow.pick(t), t
        is_late = draw.random() < strays
        if is_late:
            slot = draw.randrange(arms)
            is_late = slot != fast.lease.slot
            interrupted += is_late and level_of(fast) < fast.lease.until
        got = a_close_race(draw, slow, slot, level_of(fast)) if is_close else reward(slot)
        fast = learn(fast, told(slot, t), got)
        slow.learn(slot, got)
        if is_late:
            check_tree(fast)
            fast = revised(fast, slow, draw.randrange(arms), draw)
            check_tree(fast)
    return interrupted


def revised(fast, slow, slot, draw):
    """A play of an arm paid something else than was thought, or got lost, in both."""
    plays = slow.plays[slot]
    if plays == 0:
        return fast
    if draw.random() < 0.3:
        presumed = slow.expected(slot)
        slow.lose(slot, presumed)
        return revise(fast, slot, -1, -presumed)
    change = draw.choice((-1.0, -0.25, 0.5, 1.0))
    slow.settle(slot, 0.0, change)
    return revise(fast, slot, 0, change)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    sigma=st.sampled_from([0.02, 0.05, 0.2, 1.0]),
    arms=st.integers(1, 24),
    rounds=st.integers(1, 3000),
    draw=st.randoms(use_true_random=True),
    strays=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    is_close=st.booleans(),
)
def test_rewards_for_others_than_the_leader_give_the_dense_argmax(sigma, arms, rounds, draw, strays, is_close):
    play_both(sigma, arms, rounds, draw, strays, is_close)


@pytest.mark.parametrize("is_close", [False, True], ids=["coins", "close"])
def test_late_rewards_interrupt_leases(is_close):
    runs = [play_both(sigma, 12, 3000, random.Random(7), 0.05, is_close) for sigma in (0.02, 0.05)]
    assert min(runs) > 30


def test_a_state_saved_during_a_lease_goes_on_the_same():
    arms = 30
    reward = coins(random.Random(11), arms)
    state = opened(0.05, arms)
    saved_at = []
    for t in range(1, 6001):
        slot = pick(state, 0, t)[0]
        lease = state.lease
        state = learn(state, told(slot, t), reward(slot))
        if t < 1000 or state.lease is not lease or (saved_at and t < saved_at[-1] + 400):
            continue
        saved_at.append(t)
        text = json.dumps(state_to_json(state))
        restored = state_from_json(json.loads(text), ma.AsymptoticUCB(sigma=0.05).start(arms))
        original = copied(state)
        for later in range(t + 1, t + 501):
            slots = [pick(one, 0, later)[0] for one in (original, restored)]
            assert slots[0] == slots[1]
            got = reward(slots[0])
            original, restored = (learn(one, told(slots[0], later), got) for one in (original, restored))
        assert state_to_json(original) == state_to_json(restored)
        assert original.lease != lease  # it has ended by then, and others have followed
    assert len(saved_at) >= 5
