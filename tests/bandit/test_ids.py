"""Ids of decisions: never confused, whoever goes on from whichever snapshot."""

import re

import pytest

import manyarms as ma
from manyarms.bandit.ids import Ids, new_tag
from manyarms.snapshots import SnapshotError

POLICY = ma.Subsample(ma.Greedy(), beta=1.0, arms=4, horizon=1000)


def test_an_id_is_a_tag_and_a_number():
    bandit = ma.Bandit(POLICY, 1)
    decisions = bandit.ask(30)
    assert [one.number for one in decisions] == list(range(1, 31))
    tag = decisions[0].id.partition("-")[0]
    assert re.fullmatch("[0-9a-f]{12}", tag)
    assert [one.id for one in decisions] == [f"{tag}-{number}" for number in range(1, 31)] == bandit.open_decisions


def test_tags_are_not_drawn_twice():
    assert len({new_tag() for _ in range(2000)}) == 2000


def test_copies_of_one_snapshot_give_out_different_ids_and_know_the_earlier_ones():
    bandit = ma.Bandit(POLICY, 1)
    earlier = bandit.ask(3)
    saved = bandit.to_json()
    copies = [bandit, *(ma.Bandit.from_json(saved) for _ in range(3))]
    later = [copy.ask(2) for copy in copies]
    assert len({one.id for made in later for one in made}) == 8
    assert [one.arm for one in later[0]] == [one.arm for one in later[3]]
    for place, copy in enumerate(copies):
        assert [copy.tell(one, 1.0) for one in earlier] == [ma.Told.COUNTED] * 3
        for other, made in enumerate(later):
            before = copy.to_json()
            if other != place:
                for act in (copy.tell, copy.correct):
                    with pytest.raises(KeyError, match="made by a copy of this one after the snapshot"):
                        act(made[0], 1.0)
                with pytest.raises(KeyError, match="Nothing was changed"):
                    copy.forget(made[0].id)
                assert copy.to_json() == before
        assert copy.tell(later[place][1], 1.0) is ma.Told.COUNTED


def test_a_bandit_restored_again_and_again_knows_all_its_ids():
    bandit, made = ma.Bandit(POLICY, 1), []
    for _ in range(5):
        made += bandit.ask(4)
        bandit = ma.Bandit.from_json(bandit.to_json())
        assert bandit.open_decisions == [one.id for one in made]
    assert len({one.id.partition("-")[0] for one in made}) == 5
    assert all(bandit.tell(one, 1.0) in (ma.Told.COUNTED, ma.Told.IGNORED) for one in made)
    assert bandit.open_decisions == []


def test_looking_draws_no_tag():
    bandit = ma.Bandit(POLICY, 1, items=["a"])
    with pytest.raises(ma.NoMoreItems):
        bandit.ask(among=[])
    bandit.explain()
    assert bandit.to_json()["tags"] == []
    bandit.ask()
    tags = bandit.to_json()["tags"]
    assert [first for first, _ in tags] == [1]
    copy = ma.Bandit.from_json(bandit.to_json())
    assert copy.to_json()["tags"] == tags
    copy.ask()
    assert [first for first, _ in copy.to_json()["tags"]] == [1, 2]


def test_which_tag_a_number_has():
    ids = Ids()
    ids.read([[3, "a" * 12], [7, "b" * 12]], 9)
    assert [ids.of(number)[:1] for number in (1, 2, 3, 6, 7, 900)] == ["0", "0", "a", "a", "b", "b"]
    assert ids.decision_of("a" * 12 + "-6") == 6
    for stranger in ("a" * 12 + "-7", "b" * 12 + "-6", "c" * 12 + "-8", "a" * 12 + "-06", "a" * 12 + "-6\n", ""):
        assert ids.decision_of(stranger) is None
    assert ids.to_json() == [[3, "a" * 12], [7, "b" * 12]]


@pytest.mark.parametrize(
    "saved",
    [
        3,
        [[1]],
        [[0, "a" * 12]],
        [[1, "a" * 11]],
        [[1, 5]],
        [[1, "G" * 12]],
        [[2, "a" * 12], [2, "b" * 12]],
        [[10, "a" * 12]],
    ],
)
def test_damaged_tags_are_refused(saved):
    with pytest.raises((SnapshotError, ValueError), match="tags"):
        Ids().read(saved, 9)
