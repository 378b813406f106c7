"""Snapshots with a catalogue: all of it goes round, items are found again by their keys, and policies may change."""

import contextlib
import itertools
import json
import threading

import pytest

import manyarms as ma
from manyarms.bandit import saving
from tests.bandit.test_bandit import LIVE, label

SEGMENTS = {"even": lambda item: item["number"] % 2 == 0}


def payloads(keys):
    return {f"item {key}": {"number": key} for key in keys}


def used(policy, **terms):
    """A bandit to which everything has happened."""
    bandit = ma.Bandit(policy, 5, items=payloads(range(25)), segments=SEGMENTS, **terms)
    for number in range(150):
        wish = {"segment": "even"} if number % 4 == 0 else {"exclude": ["item 3"]} if number % 4 == 1 else {}
        decision = bandit.ask(**wish)
        if number % 6:
            bandit.tell(decision, float(number % 3 == 0))
        if number == 50:
            bandit.withdraw(decision.key)
            bandit.pause("item 20")
            bandit.observe("item 21", 10, 5.0)
            bandit.add(payloads([30, 31]), first=True)
        if number == 90:
            bandit.forget(decision)
    return bandit


@pytest.mark.once
@pytest.mark.parametrize("policy", LIVE, ids=label)
@pytest.mark.parametrize("holdout", [0.0, 0.2])
def test_everything_goes_round(policy, holdout):
    bandit = used(policy, holdout=holdout)
    values = bandit.to_json()
    text = json.dumps(values, allow_nan=False)
    assert ma.Bandit.from_json(json.loads(text)).to_json() == values
    items = payloads([*range(25), 30, 31])
    copy = ma.Bandit.from_json(json.loads(text), items, segments=SEGMENTS)
    assert copy.to_json() == values
    for number in range(60):
        wish = {"segment": "even"} if number % 3 == 0 else {}
        one, other = bandit.ask(**wish), copy.ask(**wish)
        words = [(d.key, d.item, d.arm, d.probability, d.how, d.is_new, d.is_out_of_stock) for d in (one, other)]
        assert words[0] == words[1]
        assert bandit.tell(one, float(number % 2)) == copy.tell(other, float(number % 2))


@pytest.mark.parametrize("key", ["é", "", 0, -5, 10**30, True, None, 2.5, ("a", 1, ("b", 2.5)), (), ("x",)])
def test_every_kind_of_key_goes_round(key):
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=[(key, "payload")])
    bandit.ask()
    bandit.pause(key)
    values = json.loads(json.dumps(bandit.to_json()))
    loaded = ma.Bandit.from_json(values)
    (found,) = loaded._catalogue.items
    assert (found, type(found)) == (key, type(key))
    loaded.restore(key)
    assert loaded.ask().key == key


def test_items_are_found_again_by_their_keys():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=payloads(range(4)))
    decisions = bandit.ask(2)
    values = bandit.to_json()
    new = {"item 9": {"number": 9}, "item 3": {"number": 33}, "item 0": {"number": 0}}
    loaded = ma.Bandit.from_json(values, new)
    assert loaded.missing == ["item 1", "item 2"]
    assert loaded.tell(decisions[1], 1.0) is ma.Told.COUNTED  # of a missing one
    later = loaded.ask(2)
    assert [(one.key, one.item["number"]) for one in later] == [("item 3", 33), ("item 9", 9)]
    again = ma.Bandit.from_json(loaded.to_json(), new)
    assert again.missing == ["item 1", "item 2"]
    again.add([("item 2", {"number": 22})])
    assert again.missing == ["item 1"]
    assert again.ask(among=["item 2"]).item == {"number": 22}
    with pytest.raises(ma.NoMoreItems):
        again.ask(among=["item 1"])


def test_a_source_goes_on_where_it_was():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=((key, [key]) for key in itertools.count()))
    bandit.ask(5)
    loaded = ma.Bandit.from_json(bandit.to_json(), ((key, [key]) for key in itertools.count()))
    assert [(one.key, one.item) for one in loaded.ask(2)] == [(5, [5]), (6, [6])]
    assert loaded.missing == []


# Another policy.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ma.Elimination(beta=1.0, threshold=5.0), ma.Elimination(beta=1.0, threshold=6.0)),
        (ma.Forager(keep=6000, most=6000), ma.Forager(keep=5000, most=6000)),
    ],
    ids=label,
)  # fmt: skip
def test_other_settings_of_a_policy_keep_all_that_it_knows(before, after, tmp_path):
    bandit = ma.Bandit(before, 5, items=range(30))
    for number in range(80):
        decision = bandit.ask()
        if number % 7:
            bandit.tell(decision, decision.key / 30)
    bandit.save(tmp_path / "bandit")
    loaded = ma.Bandit.load(tmp_path / "bandit", policy=after)
    assert loaded.policy == after.without_horizon()
    assert loaded.carried["lost"] == []
    assert loaded.open_decisions == bandit.open_decisions
    assert [one.key for one in loaded.ask(10)] == [one.key for one in bandit.ask(10)]


@pytest.mark.once
@pytest.mark.parametrize("policy", LIVE, ids=label)
@pytest.mark.parametrize("has_items", [True, False])
def test_another_policy_goes_on_with_the_items_and_open_answers_count(policy, has_items):
    before = ma.Subsample(ma.UCB(), beta=1.0, arms=6, horizon=1000)
    bandit = ma.Bandit(before, 5, items=range(10) if has_items else None)
    for number in range(40):
        decision = bandit.ask()
        if number % 5:
            bandit.tell(decision, float(number % 2))
    values = bandit.to_json()
    loaded = ma.Bandit.from_json(values, policy=policy)
    if type(policy) is not type(before):
        assert loaded.carried["kept"]
        assert loaded.carried["lost"]
    waiting = loaded.open_decisions
    assert waiting == bandit.open_decisions
    if has_items:
        plays = {row[0]: row[6:8] for row in loaded.to_json()["items"]}
        assert plays == {row[0]: row[6:8] for row in values["items"]}
    assert ma.Bandit.from_json(loaded.to_json()).to_json() == loaded.to_json()
    for identity in waiting:
        assert loaded.tell(identity, 1.0) in (ma.Told.COUNTED, ma.Told.IGNORED)
    if has_items:
        total = sum(row[6] for row in loaded.to_json()["items"])
        assert total == 40
    for _ in range(30):
        loaded.tell(loaded.ask(), 0.5)
    assert ma.Bandit.from_json(loaded.to_json()).to_json() == loaded.to_json()


@pytest.mark.parametrize("terms", [{"pending": 0.0}, {"correctable": 3}])
def test_a_policy_that_cannot_keep_what_was_agreed_is_refused(terms):
    bandit = ma.Bandit(ma.SSUCB(beta=1.0), 1, **terms)
    with pytest.raises(ValueError, match="takes no corrections, which"):
        ma.Bandit.from_json(bandit.to_json(), policy=ma.CBT(beta=1.0))
    with pytest.raises(TypeError, match="is a base"):
        ma.Bandit.from_json(bandit.to_json(), policy=ma.UCB())
    with pytest.raises(TypeError, match="Oracle is shown the true means"):
        ma.Bandit.from_json(bandit.to_json(), policy=ma.Oracle())


def test_a_loaded_bandit_may_write_a_journal(tmp_path):
    bandit = used(ma.Elimination(beta=1.0))
    bandit.save(tmp_path / "bandit")
    loaded = ma.Bandit.load(tmp_path / "bandit", journal=tmp_path / "journal")
    loaded.tell(loaded.ask(), 1.0)
    loaded.close()
    assert ma.Bandit.recover(tmp_path / "journal").to_json() == loaded.to_json()
    with pytest.raises(FileExistsError, match="there is a journal"):
        ma.Bandit.load(tmp_path / "bandit", journal=tmp_path / "journal")


@pytest.mark.once
def test_no_older_snapshot_takes_the_place_of_one_that_was_saved(tmp_path, monkeypatch):
    bandit, path = ma.Bandit(ma.UniformPlay(), 1), tmp_path / "snapshot"
    is_in, go_on, at_once = threading.Event(), threading.Event(), saving.at_once

    @contextlib.contextmanager
    def slow(target):
        if not is_in.is_set():  # the first one: what it writes is known, but not written
            is_in.set()
            go_on.wait()
        with at_once(target) as temporary:
            yield temporary

    def tell_and_save():
        bandit.tell(bandit.ask(), 1.0)
        bandit.save(path)

    monkeypatch.setattr(saving, "at_once", slow)
    savers = [threading.Thread(target=tell_and_save) for _ in range(2)]
    savers[0].start()
    is_in.wait()
    savers[1].start()
    savers[1].join(timeout=0.5)  # it waits, or would be done now
    go_on.set()
    for saver in savers:
        saver.join()
    assert ma.Bandit.load(path).told == 2


def test_what_was_told_can_be_corrected_for_its_item_after_another_policy_took_over():
    terms = {"items": range(10), "correctable": 20, "holdout": 0.2}
    bandit = ma.Bandit(ma.Subsample(ma.UCB(), beta=1.0, arms=6, horizon=1000), 5, **terms)
    made = bandit.ask(20)
    for decision in made:
        bandit.tell(decision, 1.0)
    values = bandit.to_json()
    corrected = ma.Bandit.from_json(values, policy=ma.SSUCB(beta=1.0, arms=10, horizon=1000))
    assert "corrections, still count for their items" in corrected.carried["lost"][1]
    corrected = ma.Bandit.from_json(corrected.to_json())
    for decision in made:
        assert corrected.correct(decision.id, 0.0) is ma.Told.CORRECTED
    assert corrected.table()["reward"].sum() == 0.0
    # As if it had been told so before: the policy knows the same of each item.
    for decision in made:
        bandit.correct(decision, 0.0)
    told = ma.Bandit.from_json(bandit.to_json(), policy=ma.SSUCB(beta=1.0, arms=10, horizon=1000))
    assert corrected.to_json()["state"] == told.to_json()["state"]
    assert corrected.lift() == told.lift()


def test_without_items_another_policy_begins_with_nothing_and_says_so():
    bandit = ma.Bandit(ma.SSUCB(beta=1.0, arms=5, horizon=100), 5, correctable=20)
    first = bandit.ask()
    bandit.tell(first, 1.0)
    second = bandit.ask()
    changed = ma.Bandit.from_json(bandit.to_json(), policy=ma.Subsample(ma.UCB(), beta=1.0, arms=6, horizon=1000))
    assert changed.carried["kept"] == ["the numbers and ids of decisions"]
    assert (
        "the 1 that are open will be ignored, and 1 that have a reward cannot be corrected"
        in changed.carried["lost"][1]
    )
    with pytest.raises(KeyError, match="or, without items, another policy has taken over since"):
        changed.correct(first.id, 0.0)
    assert changed.tell(second.id, 1.0) is ma.Told.IGNORED
    assert changed.correct(second.id, 0.0) is ma.Told.IGNORED
