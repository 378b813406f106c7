"""What was once found by somebody who tried to break a live catalogue, or to use it for the first time."""

import collections
import datetime
import itertools
import json
import math
import os
import random

import numpy as np
import pandas as pd
import pytest

import manyarms as ma
from manyarms.bandit import catalogue

pytestmark = pytest.mark.once

GREEDY = ma.Subsample(ma.EpsilonGreedy(0.4), beta=1.0, arms=4, horizon=50_000)


def again(bandit, **terms):
    return ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json())), **terms)


# ---------------------------------------------------------------- propensities and lift


@pytest.mark.parametrize(
    ("policy", "wish"),
    [
        (GREEDY, {}),
        (ma.Subsample(ma.EpsilonGreedy(0.4), beta=1.0, arms=8, horizon=50_000), {"among": [0, 1, 5]}),
        (ma.Blackbox(ma.EpsilonGreedy(0.4), beta=1.0), {"exclude": [2]}),
        (ma.Elimination(beta=1.0), {"exclude": [2, 3]}),
    ],
    ids=["all", "among", "exclude", "elimination"],
)
def test_propensities_with_a_holdout_are_right(policy, wish):
    items = range(4 if policy is GREEDY else 8)
    bandit = ma.Bandit(policy, 5, items=items, holdout=0.3)
    weights = collections.defaultdict(list)
    for _ in range(4000):
        decision = bandit.ask(**wish)
        bandit.tell(decision, float(decision.key == 1))
        for key in items:
            weights[key].append((decision.key == key) / decision.probability)
    for key in wish.get("among", [key for key in items if key not in wish.get("exclude", [])]):
        # The mean of 1{key} / p is 1 for every item that may be asked for; five standard errors.
        error = np.std(weights[key]) / math.sqrt(len(weights[key]))
        assert np.mean(weights[key]) == pytest.approx(1.0, abs=5 * error)


def test_the_lift_is_fair_where_rewards_are_assumed():
    bandit = ma.Bandit(
        ma.SSUCB(beta=1.0, arms=20, horizon=10_000), 1, items=range(50), holdout=0.3, pending=0.0, timeout=10
    )
    dice = random.Random(1)
    for now in range(3000):
        decision = bandit.ask(now=now)
        if dice.random() < 0.1:  # whatever the item
            bandit.tell(decision, 1.0, now=now)
    bandit.expire(now=4000)
    lift = bandit.lift()
    assert lift.decisions + lift.held_out == 3000
    assert lift.low < 1.0 < lift.high


def test_a_held_out_reward_is_corrected_for_the_policy_too():
    policy = ma.SSUCB(beta=1.0, arms=5, horizon=500)
    told, corrected = (ma.Bandit(policy, 2, items=range(5), holdout=0.5, correctable=10) for _ in range(2))
    held_out = 0
    for number in range(60):
        for bandit, reward in ((told, 0.0), (corrected, 1.0)):
            decision = bandit.ask()
            bandit.tell(decision, reward)
            if reward:
                assert bandit.correct(decision, 0.0) is ma.Told.CORRECTED
        held_out += decision.how == ma.How.HOLDOUT
        assert told.to_json()["state"]["base"] == corrected.to_json()["state"]["base"], number
    assert held_out > 10


# ---------------------------------------------------------------- keys


def test_tuples_of_two_are_keys_everywhere():
    items = [(("en", "us"), None), (("en", "gb"), None), "en"]
    one, other = (ma.Bandit(ma.Forager(), seed, items=items) for seed in (1, 2))
    one.observe(("en", "us"), 10, 5.0)
    for _ in range(6):
        one.tell(one.ask(among=[("en", "gb")]), 1.0)
    other.hear(json.loads(json.dumps(one.news())))
    known = dict(other.table()[["key", "plays"]].values.tolist())
    assert known == {("en", "us"): 0, ("en", "gb"): 6, "en": 0}
    assert one.table().set_index("key")["plays"][[("en", "us")]].tolist() == [10]
    past = ma.Bandit.from_history(ma.Forager(), {"item": [("a", 1), ("a", 2)], "plays": [5, 6], "reward": [1, 2]})
    assert sorted(past.table()["key"]) == [("a", 1), ("a", 2)]


def test_numbers_of_numpy_are_python_s_own():
    bandit = ma.Bandit(ma.Forager(), 1, items=np.arange(5))
    decision = bandit.ask()
    bandit.tell(decision, 1.0)
    json.dumps([decision.key, bandit.news(), bandit.explain()])
    assert type(decision.key) is int


@pytest.mark.parametrize("key", ["\ud83d", (1, math.nan), ("a", ("b", math.nan))])
def test_what_could_not_be_found_again_is_no_key(key):
    with pytest.raises(ValueError, match="cannot be the key of an item"):
        ma.Bandit(ma.Forager(), 1, items=[(key, None)])


def test_frames_are_no_items():
    with pytest.raises(TypeError, match=r"not a frame; give its keys, such as list\(frame\['id'\]\)"):
        ma.Bandit(ma.Forager(), 1, items=pd.DataFrame({"id": [1, 2]}))
    assert ma.Bandit(ma.Forager(), 1, items=pd.Series(["a", "b"])).ask().key == "a"


def test_decisions_stand_for_their_keys_and_strangers_are_refused():
    bandit = ma.Bandit(ma.Forager(), 1, items={1: {"title": "a"}, 2: {"title": "b"}, 3: {"title": "c"}})
    page = [bandit.ask()]
    page.append(bandit.ask(exclude=page))
    page.append(bandit.ask(exclude=page))
    assert sorted(one.key for one in page) == [1, 2, 3]
    for wish in ({"exclude": ["1"]}, {"among": {"2", "3"}}):
        with pytest.raises(TypeError, match=r"a str, but keys of this bandit are of another type \(number\)"):
            bandit.ask(**wish)
    with pytest.raises(ma.NoMoreItems, match="no item has any of the 1 keys of among"):
        bandit.ask(among=[9])


# ---------------------------------------------------------------- snapshots that can be read again


def test_an_open_decision_outlives_a_change_of_policy_and_another_snapshot():
    bandit = ma.Bandit(ma.Elimination(beta=1.0, threshold=0.3), 1, items=range(9))
    for _ in range(40):
        bandit.tell(bandit.ask(), 0.0)
    waiting = bandit.ask(3)
    changed = again(again(bandit, policy=ma.Forager()))
    for decision in waiting:
        assert changed.tell(decision.id, 1.0) is ma.Told.COUNTED


def test_an_ask_that_fails_gives_no_tag_away(tmp_path):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(3), journal=tmp_path / "journal")
    bandit.close()
    with pytest.raises(ValueError, match="is closed"):
        bandit.ask()
    bandit._journal = None
    copy = again(bandit)
    copy.ask()
    assert again(copy).asked == 1


def test_forgotten_items_are_missing_no_more(monkeypatch):
    monkeypatch.setattr(catalogue, "LET_GO", 5)
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=itertools.count())
    for _ in range(30):
        bandit.tell(bandit.ask(), 1.0)
    bandit._prune()
    copy = again(bandit, items=[key for key in range(40) if key % 3])
    for _ in range(60):
        copy.tell(copy.ask(), 1.0)
    copy._prune()
    assert again(copy).asked == 90


def test_sums_beyond_all_numbers_are_refused():
    bandit = ma.Bandit(ma.Forager(), 1, items=["a"], reward_range=(-1e308, 0.0))
    with pytest.raises(ValueError, match="beyond all numbers"):
        bandit.observe("a", 5, -1.0)


# ---------------------------------------------------------------- iterators


def test_an_endless_iterator_is_not_drained():
    taken = itertools.count()
    bandit = ma.Bandit(ma.Forager(), 1, items=taken, holdout=0.1)
    for _ in range(300):
        bandit.tell(bandit.ask(), 0.0)
    fresh = [row[4] for row in bandit.to_json()["items"]]
    assert all(first > 0 for first in fresh[:-1])  # what was taken was asked for, in its order
    assert sorted(fresh[:-1]) == fresh[:-1]
    before = next(taken)
    for _ in range(20):
        bandit.ask(among=[0, 1])
    assert next(taken) <= before + 2


class Failing:
    """An iterator that fails once."""

    def __init__(self, entries):
        self.entries, self.has_failed = iter(entries), False

    def __iter__(self):
        return self

    def __next__(self):
        entry = next(self.entries)
        if entry == "fails" and not self.has_failed:
            self.has_failed = True
            raise OSError("no network")
        return entry if isinstance(entry, tuple) else (entry, f"payload of {entry}")


def test_an_iterator_that_fails_goes_on_also_after_loading():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=Failing(["a", "b", "fails", "c"]))
    assert [one.key for one in bandit.ask(2)] == ["a", "b"]
    loaded = again(bandit, items=Failing(["a", "b", "fails", "c", "d"]))
    for one in (bandit, loaded):
        with pytest.raises(OSError, match="no network") as failed:
            one.ask(2)
        assert "0 of 2 decisions were made before" in failed.value.__notes__[0]
        assert one.ask().item == "payload of c"


def test_an_iterator_does_not_bring_back_what_was_withdrawn():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=["a", "b"])
    bandit.withdraw("a")
    bandit.add(iter(["a", "c"]))
    assert {bandit.ask().key for _ in range(6)} == {"b", "c"}


def test_segments_of_an_iterator_s_items_are_known_when_it_has_passed_them():
    segments = {"even": lambda item: item["n"] % 2 == 0}
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=((n, {"n": n}) for n in range(6)), segments=segments)
    assert bandit.ask(segment="even").key == 0
    copy = again(bandit, items=((n, {"n": n}) for n in range(6)), segments=segments)
    assert [copy.ask(segment="even").key for _ in range(2)] == [2, 4]


# ---------------------------------------------------------------- coming and going


def test_never_again_is_never_again():
    bandit = ma.Bandit(ma.Forager(), 1, items=["a", "b", "c"])
    bandit = again(bandit, items=["b", "c"])
    assert bandit.missing == ["a"]
    bandit.withdraw("a")
    bandit.pause("b")
    bandit.pause("a")  # which it stays
    bandit = again(bandit, items=["a", "b", "c"])
    assert dict(bandit.table()[["key", "state"]].values.tolist()) == {"a": "withdrawn", "b": "paused", "c": "fresh"}


def test_a_payload_may_change_the_segment():
    bandit = ma.Bandit(ma.Forager(), 1, items={"a": 1, "b": 2}, segments={"big": lambda size: size > 5})
    bandit.add({"b": 9}, same_key="merge")
    decision = bandit.ask(segment="big")
    assert (decision.key, decision.item) == ("b", 9)
    assert decision.how != ma.How.OUTSIDE
    with pytest.raises(ValueError, match=r"say same_key='merge' \(to Bandit, or to add\)"):
        bandit.add({"b": 10})


def test_the_same_key_twice_is_refused_when_loading_too():
    bandit = ma.Bandit(ma.Forager(), 1, items=["a", "b"])
    with pytest.raises(ValueError, match="the key 'a' is there already"):
        again(bandit, items=["a", "b", "a"])


def test_queues_stay_short():
    bandit = ma.Bandit(ma.KFailure(), 1, items=range(50), segments={"x": lambda key: key % 2 == 0})
    for _ in range(3000):
        bandit.tell(bandit.ask(), 0.0)
    for _ in range(1000):
        bandit.pause(7)
        bandit.restore(7)
    known = bandit._catalogue
    for queue in (known.waiting, *known.waiting_in.values()):
        assert len(queue.fresh.places) + len(queue.again.places) < 500


# ---------------------------------------------------------------- time, deploys, the past


def test_two_clocks_are_not_mixed_up():
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5), timeout=datetime.timedelta(minutes=30), on_timeout=0.0)
    assert bandit.timeout == 1800.0
    decision = bandit.ask(now=5.0)
    assert bandit.explain()["open"] == 1  # looking changes nothing
    with pytest.raises(ValueError, match="now was given in earlier calls, and is left out in this one"):
        bandit.tell(decision, 1.0)
    assert bandit.tell(decision, 1.0, now=6.0) is ma.Told.COUNTED


def test_settings_are_changed_when_a_bandit_is_restored(tmp_path):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5), journal=tmp_path / "journal")
    bandit.tell(bandit.ask(), 1.0)
    bandit.save(tmp_path / "snapshot")
    bandit.close()
    terms = {"holdout": 0.2, "timeout": 60.0, "on_timeout": 0.0, "on_empty": "raise"}
    loaded = ma.Bandit.load(tmp_path / "snapshot", **terms)
    recovered = ma.Bandit.recover(tmp_path / "journal", policy=ma.SSUCB(beta=1.0, arms=3, horizon=100), **terms)
    for one in (loaded, recovered):
        assert {name: getattr(one, name) for name in terms} == terms
        assert one.asked == 1
    assert isinstance(recovered.policy, ma.SSUCB)
    with pytest.raises(TypeError, match="'seed' cannot be changed when a bandit is restored; policy, holdout"):
        ma.Bandit.load(tmp_path / "snapshot", seed=5)
    with pytest.raises(ValueError, match=r"it is a journal; Bandit\.recover reads it"):
        ma.Bandit.load(tmp_path / "journal")
    with pytest.raises(ValueError, match=r"if it is a snapshot, Bandit\.load reads it"):
        ma.Bandit.recover(tmp_path / "snapshot")


def test_a_past_of_others_or_of_rates_is_noticed():
    past = {"article_id": [11, 12], "impressions": [100, 100], "clicks": [3, 5]}
    with pytest.warns(UserWarning, match="11 there and '11' here are not equal"):
        ma.Bandit.from_history(ma.Forager(), past, 1, items=["11", "12"])
    rates = {"what": [1, 2], "n": [100, 100], "ctr": [0.01, 0.02]}
    columns = {"item": "what", "plays": "n", "reward": "ctr"}
    with pytest.warns(UserWarning, match="they look like rates"):
        ma.Bandit.from_history(ma.Forager(), rates, 1, columns=columns)
    with pytest.raises(ValueError, match="row 1 has no item"):
        ma.Bandit.from_history(ma.Forager(), {"item": ["a", None], "reward": [1, 0]})


def test_a_past_that_cannot_be_leaves_no_journal(tmp_path):
    with pytest.raises(ValueError, match="cannot be the sum"):
        ma.Bandit.from_history(
            ma.Forager(), {"item": ["a"], "plays": [5], "reward": [9]}, 1, journal=tmp_path / "journal"
        )
    assert os.listdir(tmp_path) == []


def test_news_wait_until_bad_news_could_have_come():
    bandit = ma.Bandit(ma.Forager(), 1, items=["a"], timeout=100, on_timeout=0.0)
    first, second, third = (bandit.ask(now=now) for now in (0, 1, 50))
    bandit.tell(third, 1.0, now=51)
    bandit.tell(first, 1.0, now=52)
    assert bandit.news() == [("a", 1, 1.0)]  # the second is still out, and its click would have come by now
    copy = again(bandit)
    for one in (bandit, copy):
        assert one.expire(now=101) == [second.id]
        assert one.news() == [("a", 2, 1.0)]
