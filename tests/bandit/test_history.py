"""Bandits that begin with the past."""

import math

import numpy as np
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
    assert states == {"here": "here", "new": "here", "gone": "absent"}
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


def shown(bandit, asks):
    """Keys that were asked for; nothing pays."""
    found = set()
    for _ in range(asks):
        decision = bandit.ask()
        found.add(decision.key)
        bandit.tell(decision, 0.0)
    return found


@pytest.mark.parametrize("policy", [ma.Forager(), ma.Elimination(beta=1.0), ma.UniformPlay()], ids=repr)
def test_an_iterator_gives_items_of_the_past(policy):
    bandit = ma.Bandit.from_history(policy, [("a", 100, 5), ("x", 100, 20)], seed=1, items=iter(["a", "b", "x", "y"]))
    table = bandit.table().set_index("key")
    assert table["state"].to_dict() == {"a": "absent", "x": "absent"}
    with pytest.raises(ValueError, match="'a' is there already"):
        bandit.add(["b", "a", "a"])
    assert shown(bandit, 300) == {"a", "b", "x", "y"}
    assert bandit.table().set_index("key").loc["x", "plays"] > 100


def test_items_of_the_past_come_with_a_deploy(tmp_path):
    bandit = ma.Bandit.from_history(
        ma.Forager(), [("a", 100, 5), ("x", 100, 20)], seed=1, items=["a", "b"], journal=tmp_path / "journal"
    )
    bandit.save(tmp_path / "snapshot")
    bandit.close()
    for read, name in ((ma.Bandit.load, "snapshot"), (ma.Bandit.recover, "journal")):
        restored = read(tmp_path / name, items=["a", "b", "x"])
        assert restored.missing == []
        assert restored.table().set_index("key").loc["x", ["state", "plays"]].tolist() == ["fresh", 100]
        assert restored.ask().key in ("a", "b", "x")
        assert "x" in shown(restored, 100)


def test_items_that_are_gone_take_no_place_of_those_that_are_here():
    past = [(f"gone {number}", 50, 25.0) for number in range(9)] + [(number, 50, 5.0 * number) for number in range(5)]
    policy = ma.SSUCB(beta=1.0, arms=5, horizon=1000)
    bandit = ma.Bandit.from_history(policy, past, seed=1, items=range(5))
    assert bandit.explain()["items"] == {"known": 5, "absent": 9}
    assert bandit.ask().key == 4
    bandit.add(["gone 3"])
    assert bandit.table().set_index("key").loc["gone 3", ["state", "plays"]].tolist() == ["fresh", 50]


@pytest.mark.parametrize("nothing", [None, math.nan, float("nan"), pd.NA, pd.NaT, np.float64("nan")])
def test_a_row_without_an_item_is_named(nothing):
    past = pd.DataFrame({"item": pd.Series(["a", nothing], dtype=object), "plays": [5, 5], "reward": [1, 1]})
    with pytest.raises(
        ValueError, match=r"Bandit.from_history: row 1 has no item \(.*\); name it, or leave the row out"
    ):
        ma.Bandit.from_history(ma.Forager(), past, seed=1)


@pytest.mark.parametrize(
    ("keys", "items", "words"),
    [
        ([1, 2, "3"], ["1", "2", "3"], r"2 of 3 items .* \(1 there and '1' here .*; pandas.read_csv\(…, dtype=str\)"),
        ([7.0, 8.0], ["7", "x"], r"1 of 2 items of the past .* \(7\.0 there and '7' here are not equal\)"),
        (["1", 2], [1, 2], r"1 of 2 items .* \('1' there and 1 here are not equal\).* if they are the same items$"),
        (["p", "q"], ["1", "2"], r"2 of 2 items of the past are not among the items given \(there is 'p'\)"),
    ],
)
def test_items_that_are_called_otherwise_are_noticed(keys, items, words):
    with pytest.warns(UserWarning, match=words):
        ma.Bandit.from_history(ma.Forager(), [(key, 5, 1) for key in keys], seed=1, items=items)


def test_items_that_are_gone_are_no_strangers():
    ma.Bandit.from_history(ma.Forager(), [("a", 5, 1), ("b", 5, 1)], seed=1, items=["a", "c"])


@pytest.mark.parametrize(
    ("news", "words"),
    [
        ([["a", -1, 0.0]], "Bandit.hear: plays of row 0 must be a whole number"),
        ([["a", 1, 0.0], 5], "Bandit.hear: row 1 must be"),
        ([[None, 1, 0.0]], "Bandit.hear: row 0 has no item"),
        (5, "Bandit.hear: give what news of another bandit returned, not 5"),
    ],
)
def test_errors_of_hear_are_called_so(news, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ma.Bandit(ma.Forager(), 1, items=["a"]).hear(news)
