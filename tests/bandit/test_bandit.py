"""What the live bandit promises, with models, odd answers, damaged snapshots and long runs."""

import contextlib
import copy
import itertools
import json
import math
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms import bandit as bandit_module
from manyarms.bandit import catalogue
from manyarms.checks import BUSY_WORLD, examples
from manyarms.contract import ask, begin, counts, tell
from tests.live_ids import TAG, id_of, ids_of

pytestmark = pytest.mark.usefixtures("same_tags")

LIVE = [spec for spec in examples() if isinstance(spec, ma.Policy) and not spec.sees_means]
# Restarts and new blocks every few rounds.
QUICK = ma.Elimination(beta=1.0, preset="published", threshold=0.1, warm_start=True, horizon=64)


def label(value):
    return value.label() if isinstance(value, ma.Policy) else None


def play(bandit, rounds, reward=lambda number: float(number % 3 == 0)):
    """Ask and tell; return the decisions."""
    decisions = []
    for number in range(rounds):
        decision = bandit.ask()
        decisions.append(decision)
        bandit.tell(decision, reward(number))
    return decisions


def text_copy(bandit, items=None):
    return ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)), items)


# Late tells in any order, against a model.


class EliminationModel:
    """Algorithm 2 from the paper's text, with dictionaries, for beta = 1 and a known horizon.

    An ask is a round of its block as soon as something else comes before its answer.
    """

    def __init__(self, constant, horizon, warm_start):
        self.constant, self.log, self.warm_start = constant, math.log2(horizon), warm_start
        self.blocks = self.restarts = self.ignored = self.drawn = 0
        self.newest = None
        self.open_block(1, ())

    def open_block(self, rank, survivors):
        self.blocks += 1
        self.rank = rank
        size = min(math.ceil(2 ** ((rank + 1) / 2) - 1e-9), 2**rank)
        fresh = size - len(survivors)
        self.scores = dict.fromkeys([*survivors, *range(self.drawn, self.drawn + fresh)], 0.0)
        self.drawn += fresh
        self.live = set(self.scores)
        self.threshold = self.constant * size * self.log
        self.left = 2**rank

    def look(self):
        """Whether the block is over."""
        if not self.live:
            self.restarts += 1
            self.open_block(1, ())
        elif self.left == 0:
            self.open_block(self.rank + 1, self.live if self.warm_start else ())

    def defer_newest(self):
        if self.newest is not None:
            self.newest = None
            self.left -= 1
            self.look()

    def ask(self, decision):
        self.defer_newest()
        self.newest = decision.number

    def tell(self, block, decision, reward):
        if decision.number == self.newest:
            self.newest = None
            self.left -= 1
        else:
            self.defer_newest()
        if decision.arm not in self.live:
            # An arm that goes with its block, and not for its losses, was never judged.
            if self.warm_start or block == self.blocks:
                return ma.Told.COUNTED
            self.ignored += 1
            return ma.Told.IGNORED
        self.scores[decision.arm] += (1.0 - reward) / decision.probability
        if self.scores[decision.arm] >= self.threshold:
            self.live.discard(decision.arm)
        self.look()
        return ma.Told.COUNTED


actions = st.lists(
    st.one_of(
        st.just(("ask", 1)),
        st.tuples(st.just("ask"), st.integers(1, 4)),
        st.tuples(st.just("tell"), st.integers(0, 50), st.sampled_from([0.0, 0.0, 0.25, 1.0])),
        st.tuples(st.just("repeat"), st.integers(0, 50), st.sampled_from([0.0, 1.0])),
        st.just(("save", 0)),
    ),
    max_size=120,
)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(actions=actions, warm_start=st.booleans(), seed=st.integers(0, 2**64 - 1))
def test_any_interleaving_agrees_with_a_model(actions, warm_start, seed):
    constant, horizon = 0.1, 64
    policy = ma.Elimination(beta=1.0, preset="paper", log_factor=False, threshold=constant, warm_start=warm_start,
                            horizon=horizon)  # fmt: skip
    bandit = ma.Bandit(policy, seed)
    model = EliminationModel(constant, horizon, warm_start)
    waiting, finished, asked_arms = [], [], set()
    for action, number, *rest in actions:
        if action == "ask":
            for decision in bandit.ask(number):
                model.ask(decision)
                assert decision.arm in model.live
                assert decision.probability == 1 / len(model.live)
                assert decision.is_new == (decision.arm not in asked_arms)
                asked_arms.add(decision.arm)
                waiting.append((decision, model.blocks))
        elif action == "tell" and waiting:
            decision, block = waiting.pop(number % len(waiting))
            expected = model.tell(block, decision, rest[0])
            assert bandit.tell(decision, rest[0]) is expected
            finished.append(decision)
        elif action == "repeat" and finished:
            before = bandit.to_json()
            assert bandit.tell(finished[number % len(finished)], rest[0]) is ma.Told.REPEATED
            assert bandit.to_json() == before
        elif action == "save":
            bandit = text_copy(bandit)
        now = bandit.explain()
        assert now["live_arms"] == len(model.live)
        assert now["rounds_left_in_block"] == model.left
        assert now["block_rank"] == model.rank
        assert now["threshold"] == pytest.approx(model.threshold, rel=1e-12)
        assert (now["restarts"], now["blocks"], now["ignored"]) == (model.restarts, model.blocks, model.ignored)
        assert now["arms_drawn"] == model.drawn
        assert now["open"] == len(waiting)
        assert bandit.open_decisions == ids_of(sorted(decision.number for decision, _ in waiting))
        assert bandit.told == len(finished)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(order=st.permutations(range(12)), seed=st.integers(0, 1000))
def test_the_order_of_tells_within_a_block_does_not_matter(order, seed):
    # Nothing is eliminated and no block ends in these rounds, so only the sums count.
    policy = ma.Elimination(beta=1.0, threshold=1e6, horizon=64)
    rewards = [0.25 * (number % 5) for number in range(12)]
    states = []
    for places in (range(12), order):
        bandit = ma.Bandit(policy, seed)
        play(bandit, 14, lambda number: 0.5)  # to a block of 16 rounds
        decisions = bandit.ask(12)
        for place in places:
            assert bandit.tell(decisions[place], rewards[place]) is ma.Told.COUNTED
        states.append(bandit.to_json()["state"])
    assert states[0]["block"] == states[1]["block"]
    assert states[0]["scores"]["shape"] == states[1]["scores"]["shape"]
    # Every weighted loss is a whole number of eighths, so sums are exact in any order.
    assert states[0] == states[1]


def test_the_weight_belongs_to_the_choice():
    # Three arms; one is dropped while a choice among all three is still open.
    policy = ma.Elimination(beta=1.0, preset="paper", log_factor=False, threshold=0.4, horizon=4)
    for seed in range(100):
        bandit = ma.Bandit(policy, seed)
        play(bandit, 2, lambda number: 1.0)
        late, other = bandit.ask(2)
        if late.arm != other.arm:
            break
    assert late.probability == other.probability == 1 / 3
    assert bandit.tell(other, 0.0) is ma.Told.COUNTED
    assert bandit.ask().probability == 1 / 2
    assert bandit.tell(late, 0.5) is ma.Told.COUNTED
    scores = dict(zip(bandit._state.arms.tolist(), bandit._state.scores.tolist(), strict=True))
    assert scores[late.arm] == 0.5 / (1 / 3)


def test_a_tell_for_a_closed_block_is_ignored_only_if_its_arms_are_gone():
    warm, cold = (ma.Bandit(QUICK.replace(warm_start=is_warm), 5) for is_warm in (True, False))
    for bandit in (warm, cold):
        late = bandit.ask()
        first_block = bandit.explain()["blocks"]
        while bandit.explain()["blocks"] == first_block:
            bandit.tell(bandit.ask(), 1.0)
        before = bandit.to_json()["state"]
        outcome = bandit.tell(late, 0.5)
        after = bandit.to_json()["state"]
        assert bandit.tell(late, 0.0) is ma.Told.REPEATED
        assert bandit.to_json()["state"] == after
        if bandit is cold:
            assert outcome is ma.Told.IGNORED
            assert after.pop("counts") == {**before.pop("counts"), "ignored": 1}
            assert after == before
        else:
            assert outcome is ma.Told.COUNTED
            place = warm._state.arms.tolist().index(late.arm)
            assert warm._state.scores[place] == 0.5 / late.probability
    assert (warm.ignored, cold.ignored) == (0, 1)


@pytest.mark.parametrize("base", [ma.UCB(), ma.Greedy(), ma.AsymptoticUCB(), ma.SuccessiveElimination()], ids=repr)
def test_many_asks_at_once_try_different_arms_first(base):
    bandit = ma.Bandit(ma.Subsample(base=base, beta=1.0, arms=10, horizon=1000), 1)
    assert [decision.arm for decision in bandit.ask(10)] == list(range(10))
    for number in (7, 3, 10, 1):
        bandit.tell(id_of(number), 1.0)
    assert 0 <= bandit.ask().arm < 10


def test_a_lost_reward_does_not_keep_an_arm_from_being_tried():
    bandit = ma.Bandit(ma.Subsample(base=ma.UCB(), beta=1.0, arms=5, horizon=1000), 1)
    lost = bandit.ask()
    bandit.forget(lost)
    played = [decision.arm for decision in play(bandit, 60, lambda number: 0.5)]
    assert lost.arm == 0
    assert set(played) == {0, 1, 2, 3, 4}


# What is refused.


def refused(bandit, error, match, action):
    before = bandit.to_json()
    with pytest.raises(error, match=match):
        action()
    assert bandit.to_json() == before


@pytest.mark.parametrize(
    ("identity", "error", "match"),
    [
        (
            id_of(0),
            KeyError,
            f"no decision of this bandit has the id '{TAG}-0'; it is another bandit's, or was made by",
        ),
        (id_of(4), KeyError, f"no decision of this bandit has the id '{TAG}-4'.* Nothing was changed"),
        (id_of(-1), KeyError, f"no decision of this bandit has the id '{TAG}--1'"),
        (id_of(10**30), KeyError, f"no decision of this bandit has the id '{TAG}-10+"),
        (id_of("01"), KeyError, f"no decision of this bandit has the id '{TAG}-01'"),
        (id_of("1 "), KeyError, f"no decision of this bandit has the id '{TAG}-1 '"),
        (id_of("\u0661"), KeyError, "no decision of this bandit has the id"),
        ("ba9876543210-1", KeyError, "no decision of this bandit has the id 'ba9876543210-1'"),
        (id_of(1).upper(), KeyError, "no decision of this bandit has the id"),
        ("1", KeyError, "no decision of this bandit has the id '1'"),
        ("", KeyError, "no decision of this bandit has the id ''"),
        (1, TypeError, "give a decision or its id, which is text, not 1"),
        (np.int64(1), TypeError, "give a decision or its id, which is text, not .*1"),
        (True, TypeError, "give a decision or its id, which is text, not True"),
        (1.0, TypeError, r"give a decision or its id, which is text, not 1\.0"),
        (id_of(1).encode(), TypeError, "give a decision or its id, which is text, not b'"),
        (None, TypeError, "give a decision or its id, which is text, not None"),
    ],
)
def test_unknown_decisions_are_refused(identity, error, match):
    bandit = ma.Bandit(QUICK, 1)
    bandit.ask(3)
    refused(bandit, error, match, lambda: bandit.tell(identity, 1.0))


@pytest.mark.parametrize(
    ("reward", "match"),
    [
        (math.nan, "reward nan is not a finite number; nothing was changed"),
        (math.inf, "reward inf is not a finite number"),
        (-math.inf, "reward -inf is not a finite number"),
        (np.float64("nan"), "is not a finite number"),
        ("1", "reward '1' is not a finite number"),
        (None, "reward None is not a finite number"),
        (10**400, "is not a finite number"),
        (1 + 0j, "is not a finite number"),
        (np.array([1.0]), "is not a finite number"),
        (1.0 + 1e-12, r"is outside \[0, 1\]; rescale it or pass reward_range"),
        (-1e-300, r"reward -1e-300 is outside \[0, 1\]"),
        (2, r"reward 2 is outside \[0, 1\]"),
    ],
)
def test_bad_rewards_are_refused(reward, match):
    bandit = ma.Bandit(QUICK, 1)
    decision = bandit.ask()
    refused(bandit, ValueError, match, lambda: bandit.tell(decision, reward))
    assert bandit.tell(decision, 1) is ma.Told.COUNTED


def test_numpy_numbers_are_numbers():
    plain, other = ma.Bandit(QUICK, 1), ma.Bandit(QUICK, np.uint64(1))
    for number in range(50):
        plain.tell(plain.ask().id, 0.5 if number % 2 else 1.0)
        other.tell(np.str_(other.ask().id), np.float32(0.5) if number % 2 else np.int8(1))
    assert plain.to_json() == other.to_json()


def test_another_bandits_decision_is_refused():
    mine = ma.Bandit(ma.UniformPlay(), 1)
    mine.ask(2)
    mine.tell(id_of(1), 1.0)
    # The same number and the same arm.
    stranger = ma.Decision(id="ba9876543210-2", number=2, arm=1, is_new=True, probability=1.0)
    for act in (lambda: mine.tell(stranger, 1.0), lambda: mine.forget(stranger), lambda: mine.correct(stranger, 1.0)):
        refused(mine, KeyError, "no decision of this bandit has the id 'ba9876543210-2'; it is another bandit's", act)
    assert mine.open_decisions == [id_of(2)]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, np.float64(3)])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ValueError, match=r"seed must be a whole number from 0 to 2\^64 - 1, not"):
        ma.Bandit(QUICK, seed)


@pytest.mark.parametrize("items", ["7", b"1", (1,), ["red", "green"]])
def test_items_in_the_place_of_the_seed_are_noticed(items):
    with pytest.raises(TypeError, match="the second argument is the seed; pass items as items="):
        ma.Bandit(QUICK, items)


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.uint64(2**64 - 1), np.int32(5)])
def test_good_seeds_are_taken(seed):
    bandit = ma.Bandit(QUICK, seed)
    assert bandit.seed == int(seed)
    assert play(bandit, 100) == play(ma.Bandit(QUICK, int(seed)), 100)


def test_a_seed_is_drawn_if_none_is_given():
    seeds = {ma.Bandit(QUICK).seed for _ in range(5)}
    assert len(seeds) == 5
    bandit = ma.Bandit(QUICK)
    assert play(bandit, 100) == play(ma.Bandit(QUICK, bandit.seed), 100)


def test_seeds_and_replications_decide():
    def arms(*args, **kwargs):
        return [decision.arm for decision in play(ma.Bandit(QUICK, *args, **kwargs), 100)]

    runs = [arms(1), arms(2), arms(1, replication=1), arms(1, replication=2)]
    assert arms(1) == runs[0] == arms(1, replication=0)
    assert len({tuple(run) for run in runs}) == 4


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: ma.Bandit(ma.Oracle()), TypeError, "Oracle is shown the true means"),
        (lambda: ma.Bandit(ma.Elimination), TypeError, r"must be a policy such as ma.Elimination\(\), not <class"),
        (lambda: ma.Bandit(ma.UCB()), TypeError, r"is a base, .* let a policy run it: ma.Subsample\(ma.UCB\(\)"),
        (lambda: ma.Bandit(QUICK, 1, replication=-1), ValueError, "replication must be a whole number .*, not -1"),
        (lambda: ma.Bandit(QUICK, 1, replication=0.5), ValueError, r"replication must be a whole number .*, not 0\.5"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=(1, 0)), ValueError, r"from a lower to a higher .*, not \(1, 0\)"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=(1, 1)), ValueError, "from a lower to a higher"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=(0, math.inf)), ValueError, "two finite numbers"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=(-1.7e308, 1.7e308)), ValueError, "from a lower to a higher"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=(0, 1, 2)), ValueError, "two finite numbers"),
        (lambda: ma.Bandit(QUICK, 1, reward_range=3), ValueError, "two finite numbers, not 3"),
        (lambda: ma.Bandit(QUICK, 1, reward_range="01"), ValueError, "two finite numbers, not '01'"),
        (lambda: ma.Bandit(QUICK, 1).ask(0), ValueError, "n must be a whole number of at least 1, not 0"),
        (lambda: ma.Bandit(QUICK, 1).ask(-3), ValueError, "n must be a whole number of at least 1, not -3"),
        (lambda: ma.Bandit(QUICK, 1).ask(1.5), ValueError, r"n must be a whole number of at least 1, not 1\.5"),
        (lambda: ma.Bandit(QUICK, 1).ask("2"), ValueError, "n must be a finite number, not '2'"),
        (lambda: ma.Bandit(QUICK, 1, items=5), TypeError, "items must be a list .*, not 5"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


# Reward ranges.


@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_a_reward_range_only_rescales(policy):
    plain = ma.Bandit(policy, 4)
    scaled = ma.Bandit(policy, 4, reward_range=(0, 100))
    shifted = ma.Bandit(policy, 4, reward_range=(-1.0, 3.0))
    for number in range(400):
        reward = (number * 7 % 65) / 64  # exact in all three scales
        decisions = [plain.ask(), scaled.ask(), shifted.ask()]
        assert decisions[0] == decisions[1] == decisions[2]
        plain.tell(id_of(number + 1), reward)
        scaled.tell(id_of(number + 1), 100 * reward)
        shifted.tell(id_of(number + 1), 4 * reward - 1)
    assert plain.to_json()["state"] == scaled.to_json()["state"] == shifted.to_json()["state"]


def test_rewards_are_checked_against_the_range():
    bandit = ma.Bandit(QUICK, 1, reward_range=(-5, 5))
    decision = bandit.ask()
    refused(bandit, ValueError, r"reward 5\.5 is outside \[-5, 5\]", lambda: bandit.tell(decision, 5.5))
    assert bandit.tell(decision, -5) is ma.Told.COUNTED
    assert text_copy(bandit).reward_range == (-5.0, 5.0)


# Items.


def test_items_are_taken_in_the_order_of_first_asks():
    bandit = ma.Bandit(QUICK, 11, items=(f"item {number}" for number in itertools.count()))
    items = {}
    for number in range(300):
        decision = bandit.ask()
        assert decision.is_new == (decision.arm not in items)
        if decision.is_new:
            items[decision.arm] = f"item {len(items)}"
        assert decision.item == items[decision.arm]
        bandit.tell(decision, float(number % 4 == 0))
    assert len(items) > 20


def test_items_change_no_decision():
    with_items = play(ma.Bandit(QUICK, 11, items=itertools.count()), 200)
    without = play(ma.Bandit(QUICK, 11), 200)
    assert [(one.id, one.arm, one.is_new) for one in with_items] == [(one.id, one.arm, one.is_new) for one in without]
    assert {one.item for one in without} == {None}


@pytest.mark.parametrize("falsy", [None, 0, "", False])
def test_an_item_may_be_anything(falsy):
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=[falsy, ("a list", [1]), ("a dictionary", {})])
    decisions = bandit.ask(3)
    assert [decision.key for decision in decisions] == [falsy, "a list", "a dictionary"]
    assert [decision.item for decision in decisions] == [falsy, [1], {}]


@pytest.mark.parametrize("item", [[1], {}, {1}, ([1], "payload")])
def test_what_cannot_be_looked_up_needs_a_key(item):
    with pytest.raises(TypeError, match=r"needs a key that can be looked up, .* give pairs of a key and the item"):
        ma.Bandit(ma.UniformPlay(), 1, items=["a", item])


def all_but_looks(bandit):
    """A snapshot without when arms were last looked at, which a refused ask does, and which changes nothing else."""
    return {name: value for name, value in bandit.to_json().items() if name not in ("arms_seen", "checksum")}


def test_nothing_is_lost_when_items_run_out():
    # A policy that chooses at random chooses again where some of its arms have no item; this one does not.
    policy = ma.Subsample(ma.UCB(), beta=1.0, arms=8, horizon=1000)
    bandit = ma.Bandit(policy, 2, items=["a", "b"], on_empty="raise")
    rich = ma.Bandit(policy, 2, items=list("abcdefghijkl"), on_empty="raise")
    decisions = []

    def until_it_fails():
        while True:
            decisions.append(bandit.ask())
            bandit.tell(decisions[-1], 1.0)

    with pytest.raises(
        ma.NoMoreItems, match=r"none of the 2 items is left for this ask; add some with Bandit\.add"
    ) as raised:
        until_it_fails()
    assert raised.value.decisions == []
    before = bandit.to_json()
    for _ in range(3):
        with pytest.raises(ma.NoMoreItems):
            bandit.ask()
    assert bandit.to_json() == before
    bandit.add(list("cdef"))
    bandit.add(list("ghijkl"))
    expected = [rich.ask()]
    for _ in range(len(decisions)):
        rich.tell(expected[-1], 1.0)
        expected.append(rich.ask())
    assert [*decisions, bandit.ask()] == expected
    assert all_but_looks(bandit) == all_but_looks(rich)


def test_a_batch_that_runs_out_half_way_says_how_far_it_got():
    bandit = ma.Bandit(ma.UniformPlay(), 2, items=iter("abc"), on_empty="raise")
    with pytest.raises(ma.NoMoreItems, match=r"\(3 of 5 decisions were made before\)") as raised:
        bandit.ask(5)
    made = raised.value.decisions
    assert [decision.item for decision in made] == ["a", "b", "c"]
    assert bandit.open_decisions == [decision.id for decision in made] == ids_of([1, 2, 3])
    assert [bandit.tell(decision, 1.0) for decision in made] == [ma.Told.COUNTED] * 3
    with pytest.raises(ma.NoMoreItems, match=r"\(0 of 2 decisions were made before\)") as raised:
        bandit.ask(2)
    assert raised.value.decisions == []
    bandit.add(["d", "e"])
    assert [(decision.number, decision.item) for decision in bandit.ask(2)] == [(4, "d"), (5, "e")]


def test_no_items_at_all_are_used_up_at_once():
    for on_empty, words in (
        ("raise", "none of the 0 items is left"),
        ("go on", "there are no items yet"),
    ):
        bandit = ma.Bandit(QUICK, 1, items=[], on_empty=on_empty)
        before = all_but_looks(bandit)
        with pytest.raises(ma.NoMoreItems, match=words):
            bandit.ask()
        assert bandit.asked == 0
        assert all_but_looks(bandit) == before


def test_without_fresh_items_it_goes_on_with_what_it_knows():
    bandit = ma.Bandit(QUICK, 2, items=["a", "b"])
    decisions = play(bandit, 100, lambda number: 1.0)
    assert {decision.key for decision in decisions} == {"a", "b"}
    assert any(decision.is_out_of_stock for decision in decisions)
    assert sum(decision.is_new for decision in decisions) == 2


def test_a_failing_source_of_items_changes_nothing():
    class Flaky:
        def __init__(self):
            self.calls = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.calls += 1
            if self.calls == 2:
                raise ConnectionError("gone")
            return self.calls

    bandit = ma.Bandit(ma.UniformPlay(), 1, items=Flaky())
    bandit.tell(bandit.ask(), 1.0)
    refused(bandit, ConnectionError, "gone", bandit.ask)
    assert bandit.ask().item == 3


def test_items_are_taken_only_when_needed():
    taken = []
    source = (taken.append(number) or number for number in itertools.count())
    bandit = ma.Bandit(ma.Subsample(base=ma.UCB(), beta=1.0, arms=4, horizon=100), 1, items=source)
    assert taken == []
    bandit.ask()
    assert taken == [0]
    play(bandit, 50)
    assert taken == [0, 1, 2, 3]


def test_items_can_be_added_ten_thousand_times():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=[])
    for number in range(10_000):
        bandit.add([number])
    assert [decision.item for decision in bandit.ask(3)] == [0, 1, 2]


def test_items_come_from_the_start_or_never():
    bandit = ma.Bandit(QUICK, 1)
    bandit.add(["a", "b", "c"])
    assert bandit.ask().item == "a"
    bandit = ma.Bandit(QUICK, 1)
    bandit.ask()
    words = "this bandit has no items, and 1 decisions have been made without"
    refused(bandit, ValueError, words, lambda: bandit.add(["a"]))
    assert bandit.ask().item is None
    with pytest.raises(TypeError, match="items must be a list or something else to iterate over, not 3"):
        ma.Bandit(QUICK, 1).add(3)
    with pytest.raises(TypeError, match="not the text 'abc'"):
        ma.Bandit(QUICK, 1).add("abc")


# Snapshots.


@pytest.fixture
def used():
    """A bandit in the middle of things: restarts, open decisions of this block and of older ones, items."""
    bandit = ma.Bandit(QUICK, 2**64 - 3, items=itertools.count(), reward_range=(0, 2), replication=3, correctable=8)
    for number in range(200):
        decision = bandit.ask()
        if number % 9:
            bandit.tell(decision, float(number % 3))
    assert bandit.explain()["restarts"] > 0
    assert len(bandit.open_decisions) > 10
    return bandit


def go_on(bandit):
    """All that happens next."""
    decisions = [bandit.ask() for _ in range(30)]
    told = [bandit.tell(identity, float(int(identity[13:]) % 3)) for identity in reversed(bandit.open_decisions)]
    return decisions, told, bandit.explain(), bandit.to_json()


def test_a_loaded_bandit_goes_on(used, tmp_path):
    used.save(tmp_path / "bandit.json")
    loaded = ma.Bandit.load(tmp_path / "bandit.json", items=itertools.count())
    assert repr(loaded) == repr(used)
    assert go_on(loaded) == go_on(used)
    assert sorted(os.listdir(tmp_path)) == ["bandit.json"]


def test_a_snapshot_is_plain_json(used, tmp_path):
    used.save(str(tmp_path / "bandit.json"))
    values = json.loads((tmp_path / "bandit.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert (values["format"], values["version"], values["package"]) == ("manyarms.bandit", 6, ma.__version__)
    assert values == used.to_json()
    assert ma.spec_from_json(values["policy"]) == QUICK


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory):
    """A bandit for each policy, and what became of them all in another process."""
    folder = tmp_path_factory.mktemp("gone-on")
    bandits = {}
    for number, policy in enumerate(LIVE):
        bandits[policy] = ma.Bandit(policy, 77)
        play(bandits[policy], 500)
        bandits[policy].ask(3)
        bandits[policy].save(folder / f"{number}.json")
    code = (
        "import sys, manyarms as ma\n"
        "from manyarms.bandit import ids\n"
        f"ids.new_tag = lambda: {TAG!r}\n"
        "for path in sys.argv[1:]:\n"
        "    bandit = ma.Bandit.load(path)\n"
        "    for number in range(700):\n"
        "        bandit.tell(bandit.ask(), float(number % 3 == 0))\n"
        "    bandit.save(path)\n"
    )
    paths = [folder / f"{number}.json" for number in range(len(LIVE))]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    return {policy: (bandits[policy], path) for policy, path in zip(LIVE, paths, strict=True)}


@pytest.mark.once
@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_another_process_goes_on_to_the_bit(policy, gone_on):
    bandit, path = gone_on[policy]
    play(bandit, 700)
    assert json.loads(path.read_text()) == bandit.to_json()


def test_loading_with_other_items_or_none():
    used = ma.Bandit(QUICK, 2, items=itertools.count(), on_empty="raise")
    play(used, 200)
    values = used.to_json()
    taken = len(values["items"])
    with pytest.raises(ValueError, match="was saved without items; load it without items"):
        ma.Bandit.from_json(ma.Bandit(QUICK, 1).to_json(), ["a", "b", "c"])
    assert ma.Bandit.from_json(values).to_json() == values
    assert ma.Bandit.from_json(values, range(taken)).to_json() == values
    fewer = ma.Bandit.from_json(values, range(taken - 1))
    assert fewer.missing == [taken - 1]
    assert [row[0] for row in fewer.to_json()["items"] if row[1] == "paused"] == [taken - 1]
    exact = ma.Bandit.from_json(values)
    exact.add(range(taken, taken + 1000))
    again = ma.Bandit.from_json(values, range(taken + 1000))
    from_a_source = ma.Bandit.from_json(values, itertools.count())
    decisions = play(exact, 100, lambda number: 0.0)
    assert any(decision.key >= taken for decision in decisions)
    assert play(again, 100, lambda number: 0.0) == decisions == play(from_a_source, 100, lambda number: 0.0)


def test_a_bandit_that_ran_out_of_items_can_be_saved():
    for on_empty in ("raise", "go on"):
        bandit = ma.Bandit(ma.UniformPlay(), 1, items=["a", "b"], on_empty=on_empty)
        bandit.ask(2)
        if on_empty == "raise":
            with pytest.raises(ma.NoMoreItems):
                bandit.ask()
        else:
            assert bandit.ask().is_out_of_stock
        loaded = text_copy(bandit, ["a", "b", "c"])
        assert loaded.ask().item == "c"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(step, used, tmp_path, monkeypatch):
    target = tmp_path / "bandit.json"
    used.save(target)
    old = target.read_bytes()
    used.ask()

    def fails(*args):
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fails)
        with pytest.raises(OSError, match="no space left"):
            used.save(target)
    assert target.read_bytes() == old
    assert os.listdir(tmp_path) == ["bandit.json"]
    used.save(target)
    assert target.read_bytes() != old


def test_a_state_that_cannot_be_written_leaves_the_old_file(used, tmp_path, monkeypatch):
    target = tmp_path / "bandit.json"
    used.save(target)
    old = target.read_bytes()
    used._state = used._state._replace(limit=object())
    with pytest.raises(TypeError, match="a state holds a object, which a snapshot cannot keep"):
        used.save(target)
    assert target.read_bytes() == old
    assert os.listdir(tmp_path) == ["bandit.json"]


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ma.Bandit.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        ma.Bandit(QUICK, 1).save(tmp_path / "no folder" / "bandit.json")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is not a snapshot"),
        ("hello", "is not a snapshot"),
        ("[" * 100_000, "is not a snapshot"),
        ("{}", "its format is not 'manyarms.bandit'"),
        ("[1, 2]", "its format is not 'manyarms.bandit'"),
        ("null", "its format is not 'manyarms.bandit'"),
        ('{"format": "other"}', "its format is not 'manyarms.bandit'"),
        ('{"format": "manyarms.bandit"}', "version None, this package reads 2 to 6"),
        ('{"format": "manyarms.bandit", "version": 7, "package": "9.9"}', r"version 7.*written by manyarms 9\.9"),
    ],
)
def test_foreign_files_are_refused(text, match, tmp_path):
    path = tmp_path / "foreign.json"
    path.write_text(text)
    with pytest.raises(ma.SnapshotError, match=match):
        ma.Bandit.load(path)


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "foreign.json"
    path.write_bytes(b"\x80\x04\x95\xff")
    with pytest.raises(ma.SnapshotError, match=r"foreign\.json is not a snapshot"):
        ma.Bandit.load(path)


def test_a_truncated_file_is_refused_wherever_it_was_cut(used, tmp_path):
    used.save(tmp_path / "whole.json")
    text = (tmp_path / "whole.json").read_text()
    path = tmp_path / "cut.json"
    for end in range(0, len(text), 97):
        path.write_text(text[:end])
        with pytest.raises(ma.SnapshotError, match=r"cut\.json is not a snapshot"):
            ma.Bandit.load(path, items=itertools.count())


def without(name):
    def change(values):
        del values[name]

    return change


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(values):
        for step in path:
            values = values[step]
        values[last] = value

    return change


TAMPERED = [
    *((without(name), f"lacks '{name}'") for name in (
        "policy", "seed", "replication", "reward_range", "pending", "timeout", "on_timeout", "correctable", "asked",
        "told", "timed_out", "last_timed_out", "clock", "rounds", "has_items", "pruning", "items", "here",
        "waiting", "again", "let_go", "missing", "open", "remembered",
        "state", "checksum", "on_empty", "same_key", "holdout", "is_supplied",
        "arms_seen", "tags", "progress", "news", "early_news",
    )),
    (put("policy", 3), "policy: expected an object with a type, not 3"),
    (put("policy", "type", "Nonsense"), "policy: unknown spec type 'Nonsense'"),
    (put("policy", "type", ["x"]), "policy: "),
    (put("policy", "type", "UCB"), "policy: UCB has no field"),
    (put("policy", {"type": "UCB"}), "is a base"),
    (put("policy", {"type": "Oracle"}), "Oracle is shown the true means"),
    (put("policy", {"type": "Elimination"}), "policy: .*beta"),
    (put("policy", "beta", -1), "policy: Elimination: beta must be above 0, not -1"),
    (put("policy", "colour", 1), "policy: Elimination has no field 'colour'"),
    (put("seed", "red"), "seed: expected a 64-bit word such as '0x2a', not 'red'"),
    (put("seed", "0x1" + "0" * 16), "seed: expected a 64-bit word"),
    (put("seed", None), "seed: expected a 64-bit word"),
    (put("seed", "-0x5"), "seed: expected a 64-bit word"),
    (put("replication", -1), "replication must be a whole number"),
    (put("reward_range", [1, 0]), "reward_range must go from a lower"),
    (put("reward_range", None), "reward_range must be two finite numbers"),
    (put("asked", "many"), "asked must be a finite number, not 'many'"),
    (put("asked", 199), r"remembered\[7\]: 200 is not the number of a decision"),
    (put("told", -1), "told must be a whole number of at least 0, not -1"),
    (put("rounds", 10**15), "rounds: 1000000000000000 is no room for"),
    (put("rounds", 512), "rounds must be a whole number of at least 1024, not 512"),
    (put("pruning", 1), "pruning must be a whole number of at least 1000"),
    (put("arms_seen", -1), "arms_seen must be a whole number of at least 0"),
    (put("on_empty", "stop"), "on_empty must be 'go on' or 'raise', not 'stop'"),
    (put("same_key", "both"), "same_key must be 'refuse' or 'merge', not 'both'"),
    (put("items", {}), r"items: expected a list, not \{\}"),
    (put("items", 0, [1]), r"items\[0\]: expected 11 values, not \[1\]"),
    (put("items", 0, 0, []), r"items\[0\]\.key: expected the key of an item, not \[\]"),
    (put("items", 0, 0, {"float": "x"}), r"items\[0\]\.key: expected the key of an item"),
    (put("items", 0, 0, {"tuple": [{}]}), r"items\[0\]\.key: expected the key of an item"),
    (put("items", 0, 1, "gone"), r"items\[0\]\.state: expected one of here, paused, withdrawn, absent, not 'gone'"),
    (put("items", 0, 2, "a"), r"items\[0\]\.arm must be a finite number, not 'a'"),
    (put("items", 0, 3, -1), r"items\[0\]\.asks must be a whole number of at least 0, not -1"),
    (put("items", 0, 7, None), r"items\[0\]\.reward must be a finite number, not None"),
    (put("items", 1, 0, 0), r"items\[1\]: the key 0 or its arm is there twice"),
    (put("here", 5), "here: expected the places of items that are here, not 5"),
    (put("here", [0, 0]), "here: expected the places of items"),
    (put("waiting", 5), "waiting: expected a list, not 5"),
    (put("waiting", [5000]), "waiting: there is no item 5000"),
    (put("let_go", ["a"]), "let_go: there is no item 'a'"),
    (put("missing", ["a"]), "missing: there is no item 'a'"),
    (put("tags", [[1, "red"]]), r"tags\[0\]: expected twelve hex digits, not 'red'"),
    (put("tags", [[5, TAG], [5, TAG]]), r"tags\[1\]: 5 is not after 5"),
    (put("progress", 3), "progress: expected an object, not 3"),
    (put("progress", "width", 0), r"progress\.width must be a whole number of at least 1"),
    (put("progress", "chosen", [1]), r"progress\.chosen\[0\]: expected 3 values"),
    (put("progress", "compared", [1]), r"progress\.compared\[0\]: expected 2 values"),
    (put("progress", "compared", [0, None]), r"progress\.compared must be a whole number of at least 1"),
    (put("progress", "alive", 3), r"progress\.alive\[0\]: expected 2 values"),
    (put("progress", "alive", [100, [1] * 65]), r"progress\.alive: expected a list of at most 64 numbers"),
    (put("progress", "alive", [100, ["x"]]), r"progress\.alive must be a finite number, not 'x'"),
    (put("clock", "is_told", 1), r"clock\.is_told: expected true or false, not 1"),
    (put("open", 7), "open: expected a list, not 7"),
    (put("open", 0, [1, 2]), r"open\[0\]: expected 9 values, not \[1, 2\]"),
    (put("open", 1, 4, 4999), r"open\[1\]: 4999 is not the number of an open decision"),
    (put("open", 1, 4, 5000), r"open\[1\]: 5000 is not the number of an open decision"),
    (put("open", 2, 0, -2), r"open\[2\]\.slot must be a whole number of at least -1, not -2"),
    (put("open", 2, 0, -1), r"open\[2\]: the policy makes no such choice: .*slot=-1"),
    (put("open", 2, 0, 9999), r"open\[2\]: the policy makes no such choice: .*slot=9999"),
    (put("open", 2, 1, 0.5), r"open\[2\]\.arm must be a whole number"),
    (put("open", 2, 2, 0.0), r"open\[2\]\.probability must be above 0"),
    (put("open", 2, 2, 1.5), r"open\[2\]: the policy makes no such choice: .*probability=1\.5"),
    (put("open", 2, 3, 0), r"open\[2\]\.block must be a whole number of at least 1"),
    (put("open", 2, 3, 9999), r"open\[2\]: the policy makes no such choice: .*block=9999"),
    (put("open", 2, 4, 1), r"open\[2\]: 1 is not the number of an open decision"),
    (put("open", 2, 5, None), r"open\[2\]: \d+ is not the number of an open decision"),
    (put("open", 2, 5, "much"), r"open\[2\]\.presumed: expected a number, not 'much'"),
    (put("open", 2, 6, "now"), r"open\[2\]\.since must be a finite number, not 'now'"),
    (put("open", 2, 7, []), r"open\[2\]\.key: expected the key of an item"),
    (put("open", 2, 7, "nobody"), "open: there is no item 'nobody'"),
    (put("open", 2, 8, "guessed"), r"open\[2\]\.how: expected one of planned, eligible, .*, not 'guessed'"),
    (put("clock", "time", None), r"clock\.time must be a finite number, not None"),
    (put("clock", {}), "lacks 'time'"),
    (put("timeout", -1), "timeout must be above 0, not -1"),
    (put("pending", 3), r"pending 3 is outside \[0, 2\]"),
    (put("timed_out", 177), "asked: 200 decisions are fewer than"),
    (put("last_timed_out", 201), "asked: 200 decisions are fewer than"),
    (put("rounds", 4096), "rounds: 4096 is no room for 200 decisions"),
    (put("remembered", 3), "remembered: expected a list, not 3"),
    (put("remembered", [[1] * 8] * 9), "remembered: 9 decisions are more than the 8 to be remembered"),
    (put("remembered", 0, 4, 500), r"remembered\[0\]: 500 is not the number of a decision"),
    (put("remembered", 0, 2, 2.0), r"remembered\[0\]: the policy makes no such choice: .*probability=2\.0"),
    (put("remembered", 0, 5, "x"), r"remembered\[0\]\.reward must be a finite number, not 'x'"),
    (put("remembered", 0, 7, 1), r"remembered\[0\]\.how: expected one of"),
    (put("state", []), r"state: expected the fields settings, key, .*, not \[\]"),
    (put("state", "live", 1.5), r"state\.live: expected a whole number of 64 bits, not 1\.5"),
    (put("state", "live", True), r"state\.live: expected a whole number of 64 bits, not True"),
    (put("state", "limit", "big"), r"state\.limit: expected a number, not 'big'"),
    (put("state", "limit", None), r"state\.limit: expected a number, not None"),
    (put("state", "settings", "cap", 1), r"state\.settings\.cap: expected true or false, not 1"),
    (put("state", "key", 1.5), r"state\.key: expected a 64-bit word such as '0x2a', not 1\.5"),
    (put("state", "key", "zz"), r"state\.key: expected a 64-bit word"),
    (put("state", "block", {"rank": 1}), r"state\.block: expected the fields rank, length"),
    (put("state", "scores", [1.0]), r"state\.scores: expected an array with dtype, shape and base64"),
    (put("state", "scores", "dtype", "<f4"), r"state\.scores: expected numbers of type <f8, not '<f4'"),
    (put("state", "scores", "dtype", "O"), r"state\.scores: expected numbers of type <f8, not 'O'"),
    (put("state", "scores", "shape", [3]), r"state\.scores: the array cannot be read"),
    (put("state", "scores", "shape", "x"), r"state\.scores: the array cannot be read"),
    (put("state", "scores", "base64", "????"), r"state\.scores: the array cannot be read"),
    (put("state", "scores", "base64", 5), r"state\.scores: the array cannot be read"),
    (put("state", "scores", {"dtype": "<f8", "shape": [1], "base64": "AAAAAAAAAAA="}),
     r"state\.scores: expected an array of shape \(\d+,\), not \(1,\)"),
    # Right in form, wrong in content: only the checksum can tell.
    (put("state", "live", 1), "checksum: the snapshot was changed or damaged"),
    (put("seed", "0x5"), "checksum: the snapshot was changed or damaged"),
    (put("has_items", False), "checksum: the snapshot was changed or damaged"),
    (put("note", "mine"), "checksum: the snapshot was changed or damaged"),
    (put("checksum", 0), "checksum: the snapshot was changed or damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "match"), TAMPERED)
def test_tampered_snapshots_are_refused_and_the_place_is_named(change, match, used):
    values = json.loads(json.dumps(used.to_json()))
    change(values)
    with pytest.raises(ma.SnapshotError, match=match):
        ma.Bandit.from_json(values, items=itertools.count())


@settings(derandomize=True, deadline=None, max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), new=st.sampled_from('0123456789aA+/="{}[],:. -'))
def test_one_changed_character_never_gives_another_bandit(place, new):
    bandit = ma.Bandit(QUICK, 1)
    play(bandit, 100)
    text = json.dumps(bandit.to_json())
    place = int(place * len(text))
    changed = text[:place] + new + text[place + 1 :]
    with contextlib.suppress(ma.SnapshotError, json.JSONDecodeError):
        assert ma.Bandit.from_json(json.loads(changed)).to_json() == bandit.to_json()


def test_states_keep_their_odd_numbers():
    from typing import Any, NamedTuple

    from manyarms.snapshots import state_from_json, state_to_json

    class Odd(NamedTuple):
        up: float
        down: float
        none: float
        word: Any
        other_word: Any
        whole: int
        flag: Any
        array: Any

    start = Odd(0.0, 0.0, 0.0, np.uint64(0), np.uint64(0), np.int64(0), np.bool_(False), np.zeros((2, 3)))
    state = Odd(math.inf, -math.inf, math.nan, np.uint64(2**64 - 1), 2**63, np.uint64(5), np.bool_(True),
                np.arange(6.0).reshape(2, 3))  # fmt: skip
    back = state_from_json(json.loads(json.dumps(state_to_json(state), allow_nan=False)), start)
    assert (back.up, back.down) == (math.inf, -math.inf)
    assert math.isnan(back.none)
    assert (back.word, back.other_word) == (2**64 - 1, 2**63)
    assert isinstance(back.word, np.uint64)
    assert isinstance(back.other_word, np.uint64)
    assert (back.whole, type(back.whole)) == (5, int)
    assert back.flag is True
    assert back.array.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert back.array.flags.writeable


# Long runs.


def test_memory_follows_the_arms_kept():
    bandit = ma.Bandit(ma.UniformPlay(), 1)
    largest = 0
    for _ in range(20_000):
        bandit.tell(bandit.ask(), 1.0)
        largest = max(largest, len(bandit._catalogue.arms))
    assert largest <= bandit_module.FIRST_PRUNING
    assert len(bandit._open) == len(bandit._catalogue.items) == len(bandit._catalogue.let_go) == 0


def test_items_that_are_let_go_are_remembered_up_to_a_number(monkeypatch):
    most = 3000
    monkeypatch.setattr(catalogue, "LET_GO", most)
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=((number, [number]) for number in itertools.count()))
    largest = 0
    for _ in range(20_000):
        bandit.tell(bandit.ask(), 1.0)
        assert len(bandit._catalogue.arms) <= bandit_module.FIRST_PRUNING
        largest = max(largest, len(bandit._catalogue.items), len(bandit._catalogue.here.items))
    assert most < largest <= most + bandit_module.FIRST_PRUNING
    assert len(bandit._catalogue.let_go) <= most
    assert len(bandit._catalogue.waiting.again.places) <= 2 * (most + bandit_module.FIRST_PRUNING)
    assert len(bandit._catalogue.news) <= largest
    assert bandit.ask().item == [20_000]


def test_memory_follows_the_arms_kept_while_decisions_are_open():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=itertools.count())
    kept = bandit.ask(3000)
    for _ in range(5000):
        bandit.tell(bandit.ask(), 1.0)
    assert len(bandit._catalogue.arms) <= 2 * 3001
    assert set(range(3000)) <= set(bandit._catalogue.arms)
    for decision in kept:
        assert bandit.tell(decision, 1.0) is ma.Told.COUNTED
    for _ in range(10_000):
        bandit.tell(bandit.ask(), 1.0)
    assert len(bandit._catalogue.arms) <= bandit_module.FIRST_PRUNING


def test_pruning_is_not_done_at_every_ask(monkeypatch):
    calls = []
    keep_only = catalogue.Catalogue.keep_only
    monkeypatch.setattr(catalogue.Catalogue, "keep_only", lambda *args: calls.append(1) or keep_only(*args))
    bandit = ma.Bandit(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=6000, horizon=10_000), 1)
    bandit.ask(6000)
    assert len(bandit._catalogue.arms) == 6000
    assert 1 <= len(calls) <= 4


def test_pruned_arms_stay_known_while_the_policy_keeps_them():
    # Thousands of arms go by, and none is called new twice.
    policy = ma.Elimination(beta=1.0, threshold=0.1, horizon=256)
    bandit = ma.Bandit(policy, 1, items=itertools.count())
    seen = set()
    for number in range(20_000):
        decision = bandit.ask()
        assert decision.is_new == (decision.arm not in seen)
        seen.add(decision.arm)
        bandit.tell(decision, 0.0 if number % 5 else 1.0)
    assert len(seen) > 2 * bandit_module.FIRST_PRUNING
    assert len(bandit._catalogue.arms) <= bandit_module.FIRST_PRUNING


def test_room_doubles():
    bandit = ma.Bandit(ma.Elimination(beta=1.0), 1)
    sizes = []
    for _ in range(9000):
        bandit.tell(bandit.ask(), 1.0)
        sizes.append(bandit._state.arms.size)
    assert sizes[1023] == bandit.policy.slots(1024)
    assert sizes[-1] == bandit.policy.slots(16_384)
    assert len(set(sizes)) == 5
    assert sizes == sorted(sizes)


# Explanations.


def test_an_elimination_explains_its_restart():
    policy = ma.Elimination(beta=1.0, preset="paper", threshold=0.05, log_factor=False, horizon=256)
    bandit = ma.Bandit(policy, 9)
    assert bandit.explain()["last_restart"] is None
    restarts = losses = told_at_restart = blocks = 0
    sums = {}
    while restarts < 5:
        before = bandit.explain()
        decision = bandit.ask()
        reward = float(bandit.asked % 10 == 0)
        if before["blocks"] != blocks:
            blocks, sums, losses = before["blocks"], {}, 0
        losses += 1
        sums[decision.arm] = sums.get(decision.arm, 0.0) + (1.0 - reward) / decision.probability
        bandit.tell(decision, reward)
        now = bandit.explain()
        if now["restarts"] > restarts:
            restarts += 1
            why = now["last_restart"]
            assert why["round"] == bandit.told > told_at_restart
            told_at_restart = bandit.told
            assert (why["block_rank"], why["rounds_in_block"]) == (before["block_rank"], losses)
            assert why["arms"] == before["arms"]
            assert why["statistic"] == sums[decision.arm] >= why["threshold"] == before["threshold"]
            assert why["threshold"] == pytest.approx(0.05 * before["arms"] * 8)
            assert before["live_arms"] == 1
            assert (now["episode"], now["block_rank"], now["block_length"]) == (restarts + 1, 1, 2)
    assert now["asked"] == now["told"] == bandit.told
    assert now["policy"] == policy.label()


def test_a_blackbox_explains_its_restart():
    policy = ma.Blackbox(base=ma.UCB(), beta=1.0, preset="paper", threshold=0.5, log_power=1.0, horizon=256)
    bandit = ma.Bandit(policy, 9)
    loss = rounds = restarts = 0
    while restarts < 4:
        before = bandit.explain()
        assert before["loss"] == loss < before["threshold"]
        reward = 0.25 * (bandit.told % 2)
        bandit.tell(bandit.ask(), reward)
        loss += 1.0 - reward
        rounds += 1
        now = bandit.explain()
        if now["restarts"] > restarts:
            restarts += 1
            why = now["last_restart"]
            assert why == {
                "round": bandit.told,
                "block_rank": before["block_rank"],
                "rounds_in_block": rounds,
                "arms": before["arms"],
                "statistic": loss,
                "threshold": before["threshold"],
            }
            assert loss >= why["threshold"] == pytest.approx(0.5 * max(why["arms"], 2 ** (why["block_rank"] / 2)) * 8)
        if now["blocks"] > before["blocks"]:
            loss = rounds = 0


def test_explanations_survive_a_snapshot_and_json(used):
    text = json.dumps(used.explain(), allow_nan=False)
    assert json.loads(text) == text_copy(used, itertools.count()).explain()


def test_repr_says_where_it_stands():
    bandit = ma.Bandit(ma.UniformPlay(), 7)
    bandit.ask(3)
    bandit.tell(id_of(2), 1.0)
    assert repr(bandit) == "<Bandit UniformPlay(): 3 asked, 1 told, 2 open, seed 7>"


# Live and simulated.


@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_live_equals_simulated(policy):
    horizon = 1300
    result = ma.simulate({"it": policy}, BUSY_WORLD, horizon, replications=3, seed=8, log=True, threads=1)
    for replication in (0, 2):
        log = result.log("it", replication)
        bandit = ma.Bandit(result.policies["it"], 8, replication=replication)
        for place in range(horizon):
            decision = bandit.ask()
            assert (decision.arm, decision.probability) == (log.arm[place], log.probability[place])
            bandit.tell(decision, log.reward[place])
        assert bandit.explain()["restarts"] == result.final("it", "restarts")[replication]
        assert bandit.explain()["arms_drawn"] == result.final("it", "arms")[replication]


@pytest.mark.parametrize("policy", [spec for spec in LIVE if hasattr(spec, "horizon")], ids=label)
def test_live_without_a_horizon_is_doubling(policy):
    # The kernels take an unset horizon for an unknown one; the bandit says so in its spec.
    states = [begin(policy.replace(horizon=horizon).start(800), np.uint64(99)) for horizon in (None, "doubling")]
    known = begin(policy.replace(horizon=800).start(800), np.uint64(99))
    differs = False
    for round in range(1, 801):
        choices = [ask(state, round) for state in states]
        assert choices[0] == choices[1]
        differs = differs or policy.explain(known) != policy.explain(states[0])
        reward = float(round % 7 == 0)
        states = [tell(state, choice, reward) for state, choice in zip(states, choices, strict=True)]
        known = tell(known, ask(known, round), reward)
    assert counts(states[0]) == counts(states[1])
    assert differs
    assert ma.Bandit(policy.replace(horizon=None), 3).policy == policy.replace(horizon="doubling")


def test_bandits_do_not_share_arrays():
    one, other = ma.Bandit(QUICK, 1), ma.Bandit(QUICK, 1)
    before = copy.deepcopy(other.to_json())
    play(one, 200)
    assert other.to_json() == before
    loaded = text_copy(one)
    saved = one.to_json()
    play(loaded, 200)
    assert one.to_json() == saved


def test_a_forgotten_decision_is_no_longer_waited_for():
    bandit = ma.Bandit(ma.Blackbox(base=ma.UCB(), beta=1.0, horizon=100), seed=3)
    first, second = bandit.ask(2)
    assert bandit.forget(first) is True
    assert bandit.open_decisions == [second.id]
    before = bandit.to_json()
    assert bandit.forget(first.id) is False
    assert bandit.tell(first, 1.0) is ma.Told.REPEATED
    assert bandit.to_json() == before
    with pytest.raises(KeyError, match=f"no decision of this bandit has the id '{TAG}-99'"):
        bandit.forget(id_of(99))
    # The arm was asked for but not tried: its turn comes again once the others have been tried.
    arms = set()
    for _ in range(bandit.explain()["arms"] + 1):
        decision = bandit.ask()
        arms.add(decision.arm)
        bandit.tell(decision, 1.0)
    assert first.arm in arms


def test_an_unset_horizon_is_unknown_live():
    live = ma.Bandit(ma.Elimination(beta=1.0), seed=5)
    told = ma.simulate(
        ma.Elimination(beta=1.0, horizon="doubling"), ma.World(ma.PowerLaw(1.0)), 300, seed=5, log=True
    ).log("Elimination")
    arms = []
    for reward in told.reward:
        decision = live.ask()
        arms.append(decision.arm)
        live.tell(decision, reward)
    assert arms == told.arm.tolist()


def test_a_snapshot_after_forgetting_goes_on():
    bandit = ma.Bandit(QUICK, seed=1)
    bandit.ask(3)
    bandit.forget(id_of(2))
    loaded = ma.Bandit.from_json(bandit.to_json())
    assert loaded.open_decisions == ids_of([1, 3])
    assert loaded.tell(id_of(2), 1.0) is ma.Told.REPEATED
    assert [bandit.ask().arm for _ in range(5)] == [loaded.ask().arm for _ in range(5)]


def test_true_and_false_are_rewards():
    one, other = ma.Bandit(QUICK, seed=1), ma.Bandit(QUICK, seed=1)
    for place in range(50):
        one.tell(one.ask(), [True, False, np.True_, np.False_][place % 4])
        other.tell(other.ask(), [1.0, 0.0, 1.0, 0.0][place % 4])
    assert one.to_json() == other.to_json()


def test_when_there_is_no_more_room_nothing_changes(monkeypatch):
    bandit = ma.Bandit(ma.Elimination(beta=1.0), seed=1)
    for _ in range(1024):
        bandit.tell(bandit.ask(), 1.0)
    decision = bandit.ask()
    saved = bandit.to_json()

    def no_memory(self, rounds):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(ma.Elimination, "start", no_memory)
        with pytest.raises(MemoryError):
            bandit.tell(decision, 1.0)
    assert bandit.to_json() == saved
    assert bandit.tell(decision, 1.0) is ma.Told.COUNTED


def test_threads_may_share_a_bandit():
    bandit = ma.Bandit(QUICK, seed=1)
    seen = []

    def play():
        for _ in range(300):
            decision = bandit.ask()
            seen.append(decision.id)
            bandit.tell(decision, 1.0)

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen, key=lambda identity: int(identity[13:])) == ids_of(range(1, 1201))
    assert bandit.told == 1200


def test_a_copy_shares_nothing_and_pickling_is_refused():
    bandit = ma.Bandit(QUICK, seed=1)
    play_on = [copy.copy(bandit), copy.deepcopy(bandit)]
    saved = bandit.to_json()
    for twin in play_on:
        for _ in range(30):
            twin.tell(twin.ask(), 0.0)
    assert bandit.to_json() == saved
    with pytest.raises(TypeError, match="use save and load"):
        pickle.dumps(bandit)
    with pytest.raises(TypeError, match="items cannot"):
        copy.copy(ma.Bandit(QUICK, seed=1, items=["a", "b", "c"]))


def test_saving_into_a_missing_folder_names_the_path(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/bandit\.json does not exist"):
        ma.Bandit(QUICK, seed=1).save(tmp_path / "nowhere" / "bandit.json")
