"""What bandits tell each other, and what is stated of how items were chosen."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import manyarms as ma
from manyarms.bases.base import Base
from manyarms.checks import examples
from manyarms.contract import ask

pytestmark = pytest.mark.once


def bandit_with(items, policy=None, **terms):
    return ma.Bandit(policy or ma.Subsample(ma.Greedy(), beta=1.0, arms=4, horizon=1000), 5, items=items, **terms)


# News.


def test_news_are_what_was_told_since_the_last_time():
    bandit = bandit_with(["a", "b", "c", "d"], reward_range=(0.0, 10.0))
    told = {}
    for number in range(20):
        decision = bandit.ask()
        bandit.tell(decision, float(number % 11))
        plays, reward = told.get(decision.key, (0, 0.0))
        told[decision.key] = plays + 1, reward + number % 11
        if number in (7, 19):
            assert {key: (plays, pytest.approx(reward)) for key, plays, reward in bandit.news()} == told
            told = {}
    assert bandit.news() == []


def test_what_was_observed_is_no_news():
    bandit = bandit_with(["a", "b"])
    bandit.observe("a", 10, 3.0)
    assert bandit.news() == []


def test_a_correction_waits_until_there_are_plays_that_make_up_for_it():
    bandit = bandit_with(["a"], correctable=10)
    first = bandit.ask()
    bandit.tell(first, 1.0)
    assert bandit.news() == [("a", 1, 1.0)]
    bandit.correct(first, 0.0)
    assert bandit.news() == []
    bandit.tell(bandit.ask(), 1.0)
    assert bandit.news() == [("a", 1, 0.0)]


def test_news_survive_a_snapshot_and_a_journal(tmp_path):
    bandit = bandit_with(["a", "b"], journal=tmp_path / "journal")
    bandit.tell(bandit.ask(), 1.0)
    bandit.news()
    bandit.tell(bandit.ask(), 0.0)
    expected = ma.Bandit.from_json(bandit.to_json()).news()
    assert [(plays, reward) for _, plays, reward in expected] == [(1, 0.0)]
    bandit.close()
    assert ma.Bandit.recover(tmp_path / "journal").news() == expected


def test_two_that_exchange_news_know_the_same():
    one, other = (ma.Bandit(ma.Forager(), seed, items=["a", "b", "c"]) for seed in (1, 2))
    for number in range(60):
        for bandit in (one, other):
            decision = bandit.ask()
            bandit.tell(decision, float(decision.key == "b" or number % 10 == 0))
        for teller, hearer in ((one, other), (other, one)):
            for key, plays, reward in teller.news():
                hearer.observe(key, plays, reward)
    columns = ["key", "plays", "reward"]
    tables = [bandit.table()[columns].sort_values("key").values.tolist() for bandit in (one, other)]
    assert tables[0] == tables[1]
    assert sum(row[1] for row in tables[0]) == 120


# Journals that become long.


def test_a_compact_journal_is_short_and_all_is_in_it(tmp_path):
    path = tmp_path / "journal"
    bandit = bandit_with(["a", "b"], journal=path)
    for _ in range(300):
        bandit.tell(bandit.ask(), 1.0)
    long = path.stat().st_size
    bandit.compact()
    assert path.stat().st_size < long / 3
    last = bandit.ask()
    bandit.close()
    found = ma.Bandit.recover(path)
    assert (found.asked, found.told, found.open_decisions) == (301, 300, [last.id])


def test_without_a_journal_there_is_nothing_to_make_compact():
    with pytest.raises(ValueError, match="has no journal; give one"):
        bandit_with(["a"]).compact()


# Segments that cannot be told.


def test_an_item_whose_segment_cannot_be_told_is_refused_and_nothing_changes(tmp_path):
    german = {"lang": "de"}
    bandit = bandit_with(
        [("x", german)], segments={"german": lambda item: item["lang"] == "de"}, journal=tmp_path / "journal"
    )
    before = bandit.to_json()
    with pytest.raises(ValueError, match=r"in the segment 'german' cannot be told: its function raises TypeError"):
        bandit.add([("y", german), "plain"])
    assert bandit.to_json() == before
    bandit.add([("plain", german)])
    bandit.close()
    assert ma.Bandit.recover(tmp_path / "journal").to_json()["items"] == bandit.to_json()["items"]


# Asks outside of the policy, and items that come round for ever.


def test_items_outside_of_the_policy_have_their_turns():
    bandit = bandit_with(list("abcde"), ma.CBT(beta=1.0))
    own = bandit.ask().key
    asked = [bandit.ask(exclude=[own]) for _ in range(8)]
    assert {one.how for one in asked} == {ma.How.OUTSIDE}
    others = sorted(set("abcde") - {own})
    assert [one.key for one in asked] == others * 2


def test_an_iterator_of_known_keys_without_an_end_is_no_endless_search():
    def for_ever():
        while True:
            yield from "abc"

    bandit = bandit_with(for_ever(), ma.Forager(), same_key="merge")
    for _ in range(12):
        bandit.tell(bandit.ask(), 0.0)
    assert sorted(bandit.table()["key"]) == ["a", "b", "c"]


# Probabilities.


@pytest.mark.parametrize("holdout", [0.0, 0.3])
@pytest.mark.parametrize(
    "policy",
    [
        ma.Elimination(beta=1.0, threshold=1e6),
        ma.Subsample(ma.EpsilonGreedy(epsilon=0.5), beta=1.0, arms=6, horizon=10**6),
    ],
    ids=lambda policy: policy.label(),
)
def test_each_item_is_chosen_as_often_as_is_stated(policy, holdout):
    """The sum of 1 / probability over the asks for an item, over all asks, is 1 on average, whatever is chosen from.

    Its variance is at most (1 / p - 1) / n, for the least probability p and the n asks in which the item may be asked
    for: four standard deviations are allowed.
    """
    items = list(range(6))
    bandit = bandit_with(items, policy, holdout=holdout)
    sums, chances = dict.fromkeys(items, 0.0), dict.fromkeys(items, 0)
    least = 1.0
    for number in range(4000):
        among = items if number % 2 else [0, 1, 2]
        decision = bandit.ask(among=among)
        bandit.tell(decision, 1.0 if decision.key == 2 else 0.0)
        if number < 200:  # until all items are known, and each has been tried
            continue
        least = min(least, decision.probability)
        sums[decision.key] += 1.0 / decision.probability
        for key in among:
            chances[key] += 1
    assert least > 0.02
    for key in items:
        off = 4.0 * math.sqrt((1.0 / least - 1.0) / chances[key])
        assert sums[key] / chances[key] == pytest.approx(1.0, abs=off), key


def rekeyed(state, key):
    """The same state with other random numbers to come."""
    if not isinstance(state, tuple):
        return state
    parts = {name: key if name == "key" else rekeyed(getattr(state, name), key) for name in state._fields}
    return state._replace(**parts)


def test_docs_name_the_bases_that_draw_and_do_not_know_with_what_probability():
    unknown = set()
    for base in (spec for spec in examples() if isinstance(spec, Base)):
        bandit = ma.Bandit(ma.Subsample(base, beta=1.0, arms=6, horizon=1000), 3)
        for number in range(60):
            decision = bandit.ask()
            bandit.tell(decision, float((7 * number + decision.arm) % 3 == 0))
        choices = [ask(rekeyed(bandit._state, np.uint64(2654435761 * key + 99)), 61) for key in range(100)]
        if len({choice.slot for choice in choices}) > 1 and {choice.probability for choice in choices} == {1.0}:
            unknown.add(type(base.base if isinstance(base, ma.RestartAt) else base).__name__)
    assert unknown == {"Thompson", "GaussianThompson"}
    live = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
    said = live.partition("**Not a propensity**")[2].partition("\n\n")[0].partition("in whatever policy")[0]
    assert unknown == set(re.findall(r"`(\w+)`", said))
