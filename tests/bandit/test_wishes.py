"""What one visitor may see: every policy keeps to it, and chooses the best of what is left."""

import collections
import math
import random

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit import kernels
from manyarms.checks import examples
from manyarms.contract import ask, ask_among, begin, best_among, index_of, tell
from manyarms.policies import forager
from tests.bandit.test_bandit import LIVE, label, refused

SEGMENTS = {"even": lambda item: item % 2 == 0}
NUMBER = 30


def any_wish(dice, keys):
    kind = dice.randrange(6)
    wish = {}
    if kind in (0, 4):
        wish["among"] = dice.sample(keys, dice.randrange(1, 6))
    if kind in (1, 5):
        wish["exclude"] = set(dice.sample(keys, 20))
    if kind in (2, 4):
        part = dice.randrange(3)
        wish["where"] = lambda item: item % 3 == part
    if kind in (3, 5):
        wish["segment"] = "even"
    return wish


def admits(wish, key):
    return (
        key in wish.get("among", [key])
        and key not in wish.get("exclude", ())
        and wish.get("where", lambda item: True)(key)
        and ("segment" not in wish or key % 2 == 0)
    )


@pytest.mark.once
@pytest.mark.parametrize("holdout", [0.0, 0.3])
@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_nobody_sees_what_is_not_for_them(policy, holdout):
    dice, away = random.Random(3), {4: "withdraw", 7: "pause", 12: "withdraw", 22: "pause"}
    bandit = ma.Bandit(policy, 5, items=range(NUMBER), segments=SEGMENTS, holdout=holdout)
    refusals = 0
    for number in range(250):
        if number == 60:
            for key, verb in away.items():
                getattr(bandit, verb)(key)
        wish = any_wish(dice, range(NUMBER))
        allowed = {key for key in range(NUMBER) if admits(wish, key) and (number < 60 or key not in away)}
        if not allowed:
            refusals += 1
            bandit._defer_newest()  # as every ask does first, and looks for arms that were let go
            bandit._prune()
            before = bandit.to_json()
            with pytest.raises(ma.NoMoreItems, match=r"none of the 30 items may be asked for.* Nothing is lost"):
                bandit.ask(**wish)
            assert bandit.to_json() == before
            continue
        decision = bandit.ask(**wish)
        assert decision.key in allowed
        assert 0.0 < decision.probability <= 1.0
        if number % 5:
            bandit.tell(decision, float(dice.random() < decision.key / NUMBER))
    assert refusals > 0


def test_eligible_choices_of_elimination_are_uniform():
    bandit = ma.Bandit(ma.Elimination(beta=1.0, threshold=1e6, horizon=4000), 5, items=range(100))
    for _ in range(300):
        bandit.tell(bandit.ask(), 0.5)
    live = [bandit._catalogue.arms[arm].key for arm in bandit.policy.kept_arms(bandit._state).tolist()
            if arm in bandit._catalogue.arms]  # fmt: skip
    some = live[:5]
    asks, counts = 4000, dict.fromkeys(some, 0)
    for _ in range(asks):
        # The plan is one of all live arms: with probability 5 / number it is eligible as it is.
        decision = bandit.ask(among=some)
        counts[decision.key] += 1
        if decision.how is ma.How.ELIGIBLE:
            assert decision.probability == 1 / 5
        bandit.forget(decision)
    # 4 standard errors of a count: 4 sqrt(4000 · 1/5 · 4/5) = 101.2; five counts, so chance is below 5 · 6.4e-5.
    assert all(abs(found - asks / 5) <= 102 for found in counts.values())


INDEXED = [ma.UCB(), ma.KLUCB(), ma.Greedy()]


@pytest.mark.parametrize("base", INDEXED, ids=repr)
def test_the_best_of_the_allowed_is_the_largest_index(base):
    dice, arms = random.Random(2), 9
    policy = ma.Subsample(base, beta=1.0, arms=arms, horizon=1000)
    state = begin(policy.start(1000), np.uint64(5))
    for round in range(1, 300):
        allowed = np.array([dice.random() < 0.4 for _ in range(arms)])
        choice = ask_among(state, round, allowed, True)
        plays, sums = state.base.rewards.plays, state.base.rewards.sums
        dense = [
            (index_of(state.base.formula, plays[slot], sums[slot]) if plays[slot] else math.inf) if allowed[slot]
            else -math.inf
            for slot in range(arms)
        ]  # fmt: skip
        if not allowed.any():
            assert choice.slot == -1
            continue
        assert choice.slot == dense.index(max(dense))
        assert (choice.arm, choice.probability, choice.round) == (choice.slot, 1.0, round)
        state = tell(state, choice, float(dice.random() < choice.slot / arms))


BASES = [spec for spec in examples() if spec.kind == "base"]


@pytest.mark.once
@pytest.mark.parametrize("base", BASES, ids=repr)
def test_every_base_chooses_among_the_allowed(base):
    dice, arms = random.Random(2), 6
    policy = ma.Subsample(base, beta=1.0, arms=arms, horizon=500)
    state = begin(policy.start(500), np.uint64(5))
    for round in range(1, 200):
        allowed = np.array([dice.random() < 0.5 for _ in range(arms)])
        slot, probability = best_among(state.base, state.key, round, allowed, arms)
        assert (slot >= 0) == allowed.any()
        assert slot < 0 or (allowed[slot] and 0.0 < probability <= 1.0)
        choice = ask(state, round)
        state = tell(state, choice, float(dice.random() < choice.slot / arms))


def slow_forager(state, allowed, has_fresh):
    """The best believed if it is good enough, else the greatest promise, if it is worth a try; else a fresh one: -1."""
    slots = [slot for slot in range(state.used) if allowed[slot]]
    if not slots:
        return -1
    best = max(slots, key=lambda slot: (state.believed[slot], -slot))
    if state.believed[best] > state.target or (state.believed[best] == state.target and state.open.numbers[best] == 0):
        return best
    promises = {slot: float(forager.promise_of(state, slot)) for slot in slots}
    most = max(slots, key=lambda slot: (promises[slot], -slot))
    if has_fresh:
        fresh = forager.fresh_excess(state.reservoir, state.grid, state.target)
        return most if promises[most] > fresh else -1
    costs = forager.expected_of(state, best) - forager.expected_of(state, most)
    return most if promises[most] >= 0.0 and promises[most] * state.experience.stay > costs else best


@pytest.mark.once
def test_forager_chooses_as_its_slow_twin():
    dice = random.Random(8)
    bandit = ma.Bandit(ma.Forager(keep=12, most=24), 3)
    seen = {"good": 0, "promising": 0, "fresh": 0}
    for number in range(400):
        decision = bandit.ask()
        if number % 4:
            bandit.tell(decision, float(dice.random() < (decision.arm % 7) / 8))
        state = bandit._state
        for has_fresh in (True, False):
            allowed = np.array([dice.random() < 0.3 for _ in range(max(state.used, 1))])
            choice = ask_among(state, number + 1, allowed, has_fresh)
            assert choice.slot == slow_forager(state, allowed, has_fresh)
            if choice.slot < 0:
                seen["fresh"] += bool(allowed[: state.used].any())
            else:
                assert choice.arm == state.arms[choice.slot]
                seen["good" if state.believed[choice.slot] > state.target else "promising"] += 1
    assert min(seen.values()) > 10, seen


COMPILED = [
    ma.Forager(), ma.Elimination(beta=1.0), ma.Blackbox(ma.UCB(), beta=1.0), ma.SSUCB(beta=1.0),
    *(ma.Subsample(base, beta=1.0) for base in (ma.Thompson(), ma.EpsilonGreedy(), ma.KLUCB())),
]  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("policy", COMPILED, ids=label)
def test_compiled_chooses_among_as_plain(policy, monkeypatch):
    monkeypatch.setattr(kernels, "_READY", {})
    plain = ma.Bandit(policy, 7, items=range(NUMBER), segments=SEGMENTS)
    warm = ma.Bandit(policy, 7, items=range(NUMBER), segments=SEGMENTS)
    assert warm.warm()
    assert not plain.is_compiled
    dice, hows = random.Random(3), set()
    for number in range(300):
        wish = any_wish(dice, range(NUMBER))
        if not any(admits(wish, key) for key in range(NUMBER)):
            continue
        decisions = plain.ask(**wish), warm.ask(**wish)
        hows.add(decisions[0].how)
        words = [(one.key, one.arm, one.probability, one.how, one.is_out_of_stock) for one in decisions]
        assert words[0] == words[1]
        if number % 5:
            reward = float(dice.random() < decisions[0].key / NUMBER)
            assert plain.tell(decisions[0], reward) == warm.tell(decisions[1], reward)
    assert ma.How.ELIGIBLE in hows
    assert plain.to_json()["state"] == warm.to_json()["state"]


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"among": "abc"}, TypeError, r"among must be several keys, such as \['abc'\], not one"),
        ({"exclude": b"a"}, TypeError, "exclude must be several keys"),
        ({"among": 5}, TypeError, "among must be keys of items, not 5"),
        ({"exclude": [[1]]}, TypeError, "exclude must be keys of items"),
        ({"where": 5}, TypeError, "where must be a function of an item, not 5"),
        ({"segment": "odd"}, KeyError, r"there is no segment 'odd'; there are 'even'"),
        ({"n": 0, "among": [1]}, ValueError, "n must be a whole number"),
        ({"where": lambda item: 1 / 0}, ZeroDivisionError, "division"),
    ],
)
def test_bad_wishes_are_refused(wish, error, words):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5), segments=SEGMENTS)
    bandit.tell(bandit.ask(), 1.0)
    refused(bandit, error, words, lambda: bandit.ask(**wish))


def test_without_items_nothing_can_be_wished_for():
    bandit = ma.Bandit(ma.Forager(), 1)
    refused(bandit, ValueError, "this bandit has no items to choose from", lambda: bandit.ask(exclude=[3]))


def test_keys_that_nobody_knows_are_passed_over_and_many_decisions_share_a_wish():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=["a", "b", "c"])
    assert [one.key for one in bandit.ask(2, among=["c", "x", "a"])] == ["a", "c"]
    assert bandit.ask(exclude={"x": 1, "b": 2}.keys()).key in ("a", "c")
    with pytest.raises(ma.NoMoreItems, match=r"\(0 of 2 decisions were made before\)"):
        bandit.ask(2, among=["x"])


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        (["a", "b", "c"], np.array(["a", "b"])),
        ([1, 2, 3], np.array([1, 2])),
        ([1, 2, 3], [1.0, np.float64(2.0)]),
        ([True, 5, 7], np.array([True])),
        ([("a", 1, 2), "x"], [collections.namedtuple("Key", "a b c")("a", 1, 2)]),
    ],
)
def test_keys_of_another_type_that_are_equal_are_the_same(items, keys):
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=items)
    assert bandit.ask(among=keys).key in list(keys)
    assert bandit.ask(exclude=keys).key not in list(keys)
