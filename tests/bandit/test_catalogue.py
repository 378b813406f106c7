"""Items with keys: how they are given, in what order they come, and how they go and come back."""

import datetime
import enum
import itertools
import math
import uuid
from fractions import Fraction

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit import catalogue
from manyarms.bandit.journal import line_of
from tests.bandit.test_bandit import LIVE, label, refused

GREEDY = ma.Subsample(ma.Greedy(), beta=1.0, arms=4, horizon=1000)


def asked(bandit, number, **wish):
    return [decision.key for decision in bandit.ask(number, **wish)]


def bandit_of(items, policy=None, **terms):
    return ma.Bandit(policy or ma.UniformPlay(), 1, items=items, **terms)


# How items are given.


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        (["a", "b"], [("a", "a"), ("b", "b")]),
        ([("a", [1]), ("b", {})], [("a", [1]), ("b", {})]),
        ({"a": [1], "b": 5}, [("a", [1]), ("b", 5)]),
        (range(2), [(0, 0), (1, 1)]),
        (iter([("a", 1), "b"]), [("a", 1), ("b", "b")]),
        ([("x", "y", "z"), (("en", "us"), None)], [(("x", "y", "z"), ("x", "y", "z")), (("en", "us"), ("en", "us"))]),
        (dict.fromkeys("ab").keys(), [("a", "a"), ("b", "b")]),
        ([2.5, None, True], [(2.5, 2.5), (None, None), (True, True)]),
        (np.arange(2), [(0, 0), (1, 1)]),
    ],
)
def test_keys_and_payloads(items, shown):
    assert [(one.key, one.item) for one in bandit_of(items).ask(len(shown))] == shown


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        ([[1]], TypeError, "needs a key that can be looked up"),
        ([math.nan], ValueError, "nan cannot be the key"),
        ("abc", TypeError, "not the text 'abc'"),
        (7, TypeError, "something else to iterate over, not 7"),
        (["a", "b", "a"], ValueError, "the key 'a' is there already, and nothing was added"),
        ([1, True], ValueError, "the key True is there already"),
        ([object()], TypeError, "which a snapshot cannot keep"),
        ([frozenset()], TypeError, "which a snapshot cannot keep"),
        ([math.inf], TypeError, "which a snapshot cannot keep"),
        (["fresh", "known"], ValueError, "the key 'known' is there already"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_bad_items_are_refused_and_none_is_added(items, error, words, first):
    if items != ["fresh", "known"]:
        with pytest.raises(error, match=words):
            bandit_of(items)
    bandit = bandit_of(["known"])
    bandit.ask()
    refused(bandit, error, words, lambda: bandit.add(items, first=first))


@pytest.mark.parametrize(
    ("terms", "error", "words"),
    [
        ({"same_key": "both"}, ValueError, "same_key must be 'refuse' or 'merge', not 'both'"),
        ({"on_empty": "stop"}, ValueError, "on_empty must be 'go on' or 'raise', not 'stop'"),
        ({"holdout": 1.0}, ValueError, r"holdout must be a share from 0 to below 1, such as 0\.05 for 5 %, not 1\.0"),
        ({"holdout": -0.1}, ValueError, r"holdout must be a share from 0 to below 1, .* not -0\.1"),
        ({"segments": ["a"]}, TypeError, "segments must be a dictionary"),
        ({"segments": {"a": 3}}, TypeError, "segments must be names with functions"),
        ({"segments": {3: bool}}, TypeError, "segments must be names with functions"),
    ],
)
def test_bad_terms_are_refused(terms, error, words):
    with pytest.raises(error, match=words):
        bandit_of(["a"], **terms)


def test_a_holdout_needs_items():
    with pytest.raises(ValueError, match="a holdout is of items at random; give them"):
        ma.Bandit(ma.UniformPlay(), 1, holdout=0.1)


def test_the_same_key_is_the_same_item_if_that_is_said():
    bandit = bandit_of([("a", 1), "b", ("a", 2)], same_key="merge")
    decision = bandit.ask()
    assert (decision.key, decision.item) == ("a", 2)
    bandit.tell(decision, 1.0)
    bandit.add(["c", ("a", 3), "c"])
    assert asked(bandit, 2) == ["b", "c"]
    rows = {row[0]: row for row in bandit.to_json()["items"]}
    assert list(rows) == ["a", "b", "c"]
    assert rows["a"][6:8] == [1, 1.0]
    assert bandit.ask(among=["a"]).item == 3


def test_a_source_with_a_key_twice():
    bandit = bandit_of(iter(["a", "a", "b"]))
    bandit.ask()
    with pytest.raises(ValueError, match="the key 'a' is there already"):
        bandit.ask()
    assert bandit.ask().key == "b"
    assert asked(bandit_of(iter(["a", "a", "b"]), same_key="merge"), 2) == ["a", "b"]


class Refilled:
    """An iterator that comes to an end, and later has more."""

    def __init__(self):
        self.left = []

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


@pytest.mark.parametrize("policy", [ma.UniformPlay(), ma.Forager()], ids=label)
def test_a_source_that_is_empty_may_have_more_later(policy):
    source = Refilled()
    bandit = bandit_of(source, policy)
    with pytest.raises(ma.NoMoreItems, match="there are no items yet"):
        bandit.ask()
    source.left += ["a", "b"]
    for _ in range(30):
        decision = bandit.ask()
        bandit.tell(decision, 0.0)
    assert {row[0] for row in bandit.to_json()["items"]} == {"a", "b"}
    assert decision.is_out_of_stock == isinstance(policy, ma.Forager)  # the other lets items go, and they come round
    source.left.append("c")
    later = [bandit.ask() for _ in range(3)]
    assert "c" in [one.key for one in later]
    assert not later[0].is_out_of_stock


def test_a_source_is_looked_through_only_so_far(monkeypatch):
    monkeypatch.setattr(catalogue, "LOOK_AHEAD", 50)
    bandit = bandit_of(itertools.count())
    assert bandit.ask(where=lambda item: item == 30).key == 30
    with pytest.raises(ma.NoMoreItems):
        bandit.ask(where=lambda item: item == 1000)
    assert len(bandit.to_json()["items"]) == 50  # no more are taken than so many that wait
    for _ in range(5):
        assert bandit.ask(among=[30, 7]).key in (7, 30)
        with pytest.raises(ma.NoMoreItems):
            bandit.ask(where=lambda item: item == 1000)
    assert len(bandit.to_json()["items"]) <= 50 + 2  # in place of those that do not wait any more
    assert asked(bandit, 2) == [0, 1]


# Order.


def test_what_is_added_comes_in_front_or_behind_in_its_order():
    bandit = bandit_of(["a", "b"])
    bandit.add(["c", "d"])
    bandit.add(["x", "y"], first=True)
    bandit.add(iter(["s", "t"]))
    bandit.add(["v"], first=True)
    bandit.add(["e"])
    assert asked(bandit, 3, among=["a", "v", "d", "y"]) == ["v", "y", "a"]
    bandit = bandit_of(["a", "b"])
    bandit.add(["c", "d"])
    bandit.add(["x", "y"], first=True)
    bandit.add(iter(["s", "t"]))
    bandit.add(["v"], first=True)
    bandit.add(["e"])
    assert asked(bandit, 10) == ["v", "x", "y", "a", "b", "c", "d", "e", "s", "t"]


def test_items_that_were_let_go_come_round_behind_fresh_ones():
    bandit = bandit_of(range(5))
    for key in range(5):
        decision = bandit.ask()
        assert (decision.key, decision.is_new) == (key, True)
        bandit.tell(decision, 1.0)
    again = [bandit.ask() for _ in range(5)]
    assert sorted(one.key for one in again) == [0, 1, 2, 3, 4]
    assert not any(one.is_new for one in again)
    bandit.add([9], first=True)
    assert bandit.ask().key == 9


def test_a_small_catalogue_is_not_forgotten_however_often_it_comes_round(monkeypatch):
    monkeypatch.setattr(catalogue, "LET_GO", 50)
    bandit = bandit_of(["a", "b", "c"])
    for _ in range(400):
        bandit.tell(bandit.ask(), 1.0)
    assert {row[0]: row[3] for row in bandit.to_json()["items"]}.keys() == {"a", "b", "c"}
    assert len(bandit.to_json()["let_go"]) <= 3


def test_an_item_that_is_an_arm_again_is_not_forgotten(monkeypatch):
    monkeypatch.setattr(catalogue, "LET_GO", 5)
    known = catalogue.Catalogue(iter(range(20)), None, "refuse")
    for _ in range(20):
        known.take(known.sources[0])
    for arm, key in enumerate([0, *range(1, 15)]):
        known.bind(arm, key)
    known.unbind(known.items[0])
    known.bind(100, 0)
    for key in range(1, 15):
        known.unbind(known.items[key])
    assert known.arms[100] is known.items[0]
    assert [key for key in known.items if 0 < key < 15] == [10, 11, 12, 13, 14]


# Going and coming back.


@pytest.mark.parametrize("verb", ["withdraw", "pause"])
@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_what_is_set_aside_is_not_asked_for_and_its_answers_count(policy, verb):
    bandit = bandit_of(range(8), policy)
    for number in range(40):
        bandit.tell(bandit.ask(), float(number % 2))
    waiting = bandit.ask(3)
    for decision in waiting:
        getattr(bandit, verb)(decision.key)
    gone = {decision.key for decision in waiting}
    plays = {row[0]: row[6] for row in bandit.to_json()["items"]}
    for decision in waiting:
        assert bandit.tell(decision, 1.0) in (ma.Told.COUNTED, ma.Told.IGNORED)
        plays[decision.key] += 1
    assert {row[0]: row[6] for row in bandit.to_json()["items"]} == plays
    for _ in range(60):
        decision = bandit.ask()
        assert decision.key not in gone
        bandit.tell(decision, 0.5)
    for key in gone:
        bandit.restore(key)
        assert bandit.ask(among=[key]).key == key


def test_a_policy_is_told_of_no_loss():
    bandit = bandit_of(list("abcd"), GREEDY)
    for _ in range(8):
        decision = bandit.ask()
        bandit.tell(decision, float(decision.key == "b"))
    before = bandit.to_json()["state"]
    bandit.withdraw("b")
    bandit.pause("a")
    assert bandit.to_json()["state"] == before
    bandit.restore("b")
    assert bandit.ask().key == "b"


def test_what_is_known_of_a_withdrawn_item_is_not_taken_for_another_items():
    bandit = bandit_of(list("abcdef"), GREEDY)
    for _ in range(12):
        decision = bandit.ask()
        bandit.tell(decision, float(decision.key == "b"))
    bandit.withdraw("b")
    later = [bandit.ask() for _ in range(4)]
    assert {one.key for one in later} <= {"a", "c", "d"}
    assert not any(one.is_new for one in later)


def test_add_brings_back_what_was_withdrawn_with_what_is_known():
    bandit = bandit_of(["a", "b", "c"])
    bandit.tell(bandit.ask(), 1.0)
    bandit.withdraw("a")
    bandit.withdraw("c")
    bandit.add([("c", "new"), "a"], first=True)
    decisions = bandit.ask(3)
    assert [(one.key, one.item, one.is_new) for one in decisions] == [
        ("c", "new", True), ("a", "a", False), ("b", "b", True),
    ]  # fmt: skip
    assert {row[0]: row[6:8] for row in bandit.to_json()["items"]}["a"] == [1, 1.0]


@pytest.mark.parametrize("verb", ["withdraw", "pause", "restore"])
def test_keys_that_nobody_knows_are_refused(verb):
    bandit = bandit_of(["a"])
    for key in ("x", None, 0):
        refused(bandit, KeyError, f"Bandit.{verb}: no item has the key", lambda key=key: getattr(bandit, verb)(key))
    refused(bandit, TypeError, f"Bandit.{verb}: give the key of one item, not", lambda: getattr(bandit, verb)(["a"]))
    without = ma.Bandit(ma.UniformPlay(), 1)
    refused(without, ValueError, f"Bandit.{verb}: this bandit has no items", lambda: getattr(without, verb)(0))


def test_what_is_here_already_may_be_restored():
    bandit = bandit_of(["a", "b"])
    before = bandit.to_json()
    bandit.restore("a")
    assert bandit.to_json() == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("a", 0, 0.0), ValueError, "plays must be a whole number of at least 1"),
        (("a", 1.5, 0.0), ValueError, "plays must be a whole number"),
        (("a", 3, 3.5), ValueError, r"reward 3\.5 cannot be the sum of 3 rewards in \[0, 1\]"),
        (("a", 3, math.nan), ValueError, "reward must be a finite number"),
        (([1], 3, 1.0), TypeError, "give the key of one item"),
        (("a", 2**53, 1.0), ValueError, "plays are more than can be counted"),
        (("z", 3, 1.0), KeyError, "no item has the key 'z'"),
    ],
)
def test_bad_observations_are_refused(arguments, error, words):
    bandit = bandit_of(["a"], ma.Forager())
    refused(bandit, error, words, lambda: bandit.observe(*arguments))
    without = ma.Bandit(ma.Forager(), 1)
    refused(without, ValueError, "this bandit has no items", lambda: without.observe("a", 1, 1.0))


# Out of stock.


def test_out_of_stock_is_said_until_there_is_more():
    bandit = bandit_of(["a", "b"], GREEDY)
    first = [bandit.ask() for _ in range(6)]
    assert [one.key for one in first[:2]] == ["a", "b"]
    assert [one.is_out_of_stock for one in first] == [False, False, True, True, True, True]
    assert {one.how for one in first[2:]} == {ma.How.ELIGIBLE}
    bandit.add(["c"])
    decision = bandit.ask()
    assert (decision.key, decision.is_out_of_stock, decision.is_new) == ("c", False, True)


def test_out_of_stock_raises_if_that_is_said_and_nothing_is_changed():
    bandit = bandit_of(["a", "b"], GREEDY, on_empty="raise")
    for decision in bandit.ask(2):
        bandit.tell(decision, 0.0)
    bandit._prune()
    refused(bandit, ma.NoMoreItems, r"a fresh item is needed, but none of the 2 items is left", bandit.ask)
    bandit.add(["c"])
    assert bandit.ask().key == "c"


# Items that are known from elsewhere, and not here yet.

ABSENT = [ma.Forager(), GREEDY, ma.Elimination(beta=1.0), ma.UniformPlay()]


def shown(bandit, asks, **wish):
    """Keys that were asked for; nothing pays."""
    found = set()
    for _ in range(asks):
        decision = bandit.ask(**wish)
        found.add(decision.key)
        bandit.tell(decision, 0.0)
    return found


def states_of(bandit):
    return dict(bandit.table()[["key", "state"]].values.tolist())


@pytest.mark.parametrize("policy", ABSENT, ids=label)
def test_news_are_kept_for_an_item_that_comes_with_a_deploy(policy, tmp_path):
    bandit = bandit_of(["a", "b"], policy, journal=tmp_path / "journal")
    bandit.hear([["x", 10, 3.0], ["y", 0, 0.0]])
    assert states_of(bandit) == {"a": "fresh", "b": "fresh", "x": "absent", "y": "absent"}
    assert shown(bandit, 8) == {"a", "b"}
    bandit.hear([["x", 2, 1.0]])
    with pytest.raises(ma.NoMoreItems, match="are known from elsewhere only"):
        bandit.ask(among=["x"])
    bandit.close()
    bandit = ma.Bandit.recover(tmp_path / "journal", items=["a", "b", "x"])
    assert bandit.missing == []
    assert bandit.table().set_index("key").loc["x", "plays"] == 12
    assert states_of(bandit)["y"] == "absent"
    assert "x" in shown(bandit, 30)


@pytest.mark.parametrize("policy", ABSENT, ids=label)
@pytest.mark.parametrize("restored", ["", "load", "recover"])
def test_news_are_kept_for_an_item_that_an_iterator_gives(policy, restored, tmp_path):
    items = ["a", "b", "x", "y"]
    bandit = bandit_of(iter(items), policy, journal=tmp_path / "journal")
    bandit.hear([["x", 10, 3.0]])
    bandit.save(tmp_path / "snapshot")
    if restored:
        bandit.close()
        read = {"load": (ma.Bandit.load, "snapshot"), "recover": (ma.Bandit.recover, "journal")}
        bandit = read[restored][0](tmp_path / read[restored][1], items=iter(items))
    assert shown(bandit, 1, among=["x"]) == {"x"}
    assert "x" in shown(bandit, 200)
    if policy in (ma.Forager(), ma.UniformPlay()):
        assert shown(bandit, 100) == set(items)
    if restored != "load":  # what it took from the iterator is in the journal
        before = bandit.to_json()["items"]
        bandit.close()
        assert ma.Bandit.recover(tmp_path / "journal").to_json()["items"] == before


@pytest.mark.parametrize("comes", ["add", "iterator", "deploy"])
def test_an_absent_item_comes_into_its_segment(comes, tmp_path):
    segments = {"odd": lambda key: key % 2 == 1}
    bandit = bandit_of([0, 2], segments=segments)
    bandit.hear([[1, 10, 3.0]])
    with pytest.raises(ma.NoMoreItems):
        bandit.ask(segment="odd")
    if comes == "deploy":
        bandit = ma.Bandit.from_json(bandit.to_json(), items=[0, 1, 2], segments=segments)
    else:
        bandit.add([1] if comes == "add" else iter([1]))
    assert bandit.ask(segment="odd").key == 1


def test_what_is_known_of_an_absent_item_is_learned_once():
    heard, observed = (ma.Bandit(ma.Forager(), 1, items=["a"]) for _ in range(2))
    heard.hear([["x", 50, 20.0]])
    heard.add(["x"])
    observed.add(["x"])
    observed.observe("x", 50, 20.0)
    for bandit in (heard, observed):
        assert bandit.ask(among=["x"]).key == "x"
    one, other = heard.explain(), observed.explain()
    assert one["rounds"] == other["rounds"]
    assert one["reservoir"] == other["reservoir"]


def test_words_of_an_editor_hold_for_an_absent_item_too():
    bandit = bandit_of(["a"])
    bandit.hear([["x", 1, 1.0], ["y", 1, 1.0], ["z", 1, 1.0]])
    bandit.withdraw("x")
    bandit.pause("y")
    bandit.restore("z")
    assert states_of(bandit) == {"a": "fresh", "x": "withdrawn", "y": "paused", "z": "fresh"}
    bandit = ma.Bandit.from_json(bandit.to_json(), items=["a", "x", "y", "z"])
    assert states_of(bandit) == {"a": "fresh", "x": "withdrawn", "y": "paused", "z": "fresh"}
    assert shown(bandit, 10) == {"a", "z"}


def test_a_process_that_ends_while_it_hears_shows_nothing_that_is_not_here(tmp_path):
    path = tmp_path / "journal"
    bandit = bandit_of(["a"], ma.Forager(), journal=path)
    bandit.hear([["x", 10, 3.0]])
    bandit.close()
    lines = path.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:cut]))
        assert shown(ma.Bandit.recover(path), 20) == {"a"}


def test_a_journal_of_before_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "journal"
    bandit_of(["a"], ma.Forager(), journal=path).close()
    with path.open("ab") as file:
        for event in (["unseen", "x"], ["observe", "x", 10, 3.0], ["set aside", "x", "withdrawn"]):
            file.write(line_of(event))
    bandit = ma.Bandit.recover(path)
    assert states_of(bandit) == {"a": "fresh", "x": "withdrawn"}
    bandit.add(["x"])
    assert bandit.table().set_index("key").loc["x", ["state", "plays"]].tolist() == ["fresh", 10]


def test_what_was_missing_is_back_when_it_is_given_again():
    bandit = bandit_of(["a", "b"])
    for items in (["a", "b"], iter(["a", "b"])):
        without = ma.Bandit.from_json(bandit.to_json(), items=["a"])
        assert without.missing == ["b"]
        again = ma.Bandit.from_json(without.to_json(), items=items)
        assert shown(again, 6) == {"a", "b"}
        assert again.missing == []


def test_a_paused_item_is_restored_not_added():
    bandit = bandit_of(["a", "b"])
    bandit.pause("a")
    words = "'a' is there already, and nothing was added; that item is paused: Bandit.restore brings it back. Else give"
    refused(bandit, ValueError, words, lambda: bandit.add(["c", "a"]))
    bandit.add(["a", "c"], same_key="merge")
    assert states_of(bandit) == {"a": "paused", "b": "fresh", "c": "fresh"}


# Keys of other types.


@pytest.mark.parametrize(
    "key",
    [
        uuid.UUID(int=5),
        datetime.date(2024, 5, 1),
        b"x",
        ("a", "b", uuid.UUID(int=5)),
        Fraction(1, 2),
        ("a", "b", (b"x",)),
    ],
)
def test_keys_that_cannot_be_kept_are_refused_at_once(key):
    words = r"the key .* is of the type (UUID|date|bytes|Fraction), which .* such as str\(key\).*: \(str\(key\), item\)"
    for items in ([key], [(key, "payload")], {key: "payload"}):
        with pytest.raises(TypeError, match=words):
            bandit_of(items)
    bandit = bandit_of(["a"])
    refused(bandit, TypeError, words, lambda: bandit.hear([(key, 1, 1.0)]))
    with pytest.raises(TypeError, match=words):
        bandit_of(iter([key])).ask()
    with pytest.raises(TypeError, match=words):
        ma.Bandit.from_history(ma.Forager(), [(key, 1, 1.0)], seed=1)


class Colour(enum.IntEnum):
    RED = 3


def test_numbers_and_texts_of_other_types_are_keys(tmp_path):
    bandit = bandit_of([Colour.RED, np.str_("a"), np.int64(5), (np.int64(1), np.str_("b"), "c")], ma.UniformPlay())
    bandit.save(tmp_path / "snapshot")
    loaded = ma.Bandit.load(tmp_path / "snapshot")
    assert set(loaded._catalogue.items) == set(bandit._catalogue.items) == {3, "a", 5, (1, "b", "c")}
