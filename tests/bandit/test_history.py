"""Bandits that begin with the past."""

import math

import pandas as pd
import pytest

import manyarms as ma
from manyarms.bandit import history

COLUMNS = {"item": ["a", "b", "a"], "plays": [10, 20, 5], "reward": [1.0, 12.0, 0.5]}
SUMS = {"a": (15, 1.5), "b": (20, 12.0)}


@pytest.mark.parametrize(
    ("past", "sums"),
    [
        (COLUMNS, SUMS),
        (pd.DataFrame(COLUMNS), SUMS),
        ({"key": ["a", "b", "a"], "plays": [10, 20, 5], "reward": [1, 12, 0.5]}, SUMS),
        (zip(*COLUMNS.values(), strict=True), SUMS),
        ([["a", 1], ["b", 0], ["a", 0]], {"a": (2, 1.0), "b": (1, 0.0)}),
        (pd.DataFrame({"item": [3, 4, 3], "reward": [1, 0, 1]}), {3: (2, 2.0), 4: (1, 0.0)}),
        ([("a", 0, 0.0)], {"a": (0, 0.0)}),
    ],
)
def test_rows_of_one_item_are_added_up(past, sums):
    found = history.observations(past)
    assert found == sums
    assert list(map(type, found)) == list(map(type, sums))


@pytest.mark.parametrize(
    ("past", "error", "words"),
    [
        ([], ValueError, "the past has no rows"),
        (3, TypeError, "give the past as a table or as rows, not 3"),
        ({"item": [1]}, ValueError, "needs a column 'reward'; it has item"),
        ({"reward": [1], "plays": [1]}, ValueError, "needs a column 'item'; it has reward, plays"),
        ({"item": [1, 2], "reward": [1]}, ValueError, "columns differ in length: 2 items, 1 plays, 1 rewards"),
        ([("a", 1, 1, 1)], ValueError, r"row 0 must be \(item, plays, reward\)"),
        (["a"], ValueError, "row 0 must be"),
        ([("a", -1, 0)], ValueError, "plays of row 0 must be a whole number"),
        ([("a", 2, 3)], ValueError, "the rewards of 'a' 3.* cannot be the sum of 2 rewards"),
        ([([1], 2, 1)], TypeError, "needs a key that can be looked up"),
        ([("a", 2, math.nan)], ValueError, "must be a finite number"),
    ],
)
def test_a_bad_past_is_refused(past, error, words):
    with pytest.raises(error, match=words):
        ma.Bandit.from_history(ma.Forager(), past, seed=1)


@pytest.mark.parametrize("policy", [ma.Forager(), ma.SSUCB(beta=1.0, arms=5, horizon=1000)], ids=repr)
def test_the_best_of_the_past_is_asked_for(policy):
    past = [(f"item {number}", 400, 400 * number / 10) for number in range(5)]
    bandit = ma.Bandit.from_history(policy, past, seed=1)
    assert [bandit.ask().key for _ in range(3)] == ["item 4"] * 3
    rows = {row[0]: row[6:8] for row in bandit.to_json()["items"]}
    assert rows == {key: [plays, reward] for key, plays, reward in past}


def test_items_of_the_past_that_are_gone_are_not_asked_for():
    bandit = ma.Bandit.from_history(ma.Forager(), {"item": ["gone", "here"], "plays": [50, 50], "reward": [40, 5]},
                                    seed=1, items=["here", "new"])  # fmt: skip
    states = {row[0]: row[1] for row in bandit.to_json()["items"]}
    assert states == {"here": "here", "new": "here", "gone": "withdrawn"}
    keys = set()
    for _ in range(40):
        decision = bandit.ask()
        keys.add(decision.key)
        bandit.tell(decision, 0.1)
    assert "new" in keys
    assert "gone" not in keys


def test_rewards_of_the_past_are_in_the_same_range():
    bandit = ma.Bandit.from_history(ma.Forager(), [("a", 4, -2.0)], seed=1, reward_range=(-1, 3))
    assert bandit.to_json()["items"][0][6:8] == [4, 0.5]  # (-2 + 4) / 4
    assert bandit.table()["reward"].tolist() == [-2.0]
