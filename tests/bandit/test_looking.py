"""What people see of a live bandit: table, picture, and what it earns against random items."""

import json
import math
import random
import re

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit import looking, progress
from manyarms.bandit.items import Item
from manyarms.contract import Choice
from manyarms.policies import insight
from manyarms.snapshots import checksum

GREEDY = ma.Subsample(ma.Greedy(), beta=1.0, arms=3, horizon=1000)


def test_a_table_of_all_items():
    bandit = ma.Bandit(GREEDY, 1, items=list("abcdef"), reward_range=(0, 2))
    for _ in range(10):
        decision = bandit.ask()
        bandit.tell(decision, 2.0 if decision.key == "b" else 0.0)
    bandit.withdraw("e")
    bandit.pause("f")
    table = bandit.table()
    assert list(table.columns) == looking.COLUMNS
    rows = table.set_index("key")
    assert rows["state"].to_dict() == {
        "b": "known", "c": "known", "a": "known", "d": "fresh", "e": "withdrawn", "f": "paused",
    }  # fmt: skip
    assert rows["asks"].to_dict() == {"b": 8, "c": 1, "a": 1, "d": 0, "e": 0, "f": 0}
    assert rows.loc["b", ["plays", "reward", "rate", "age"]].tolist() == [8, 16.0, 2.0, 8]
    assert table["key"].tolist()[:3] == ["b", "c", "a"]
    assert table["recent"].sum() == pytest.approx(1.0)
    assert rows.loc["d", ["rate", "low", "high"]].isna().all()


def test_intervals_of_coins_are_wilsons():
    item = Item("a")
    item.add(40, 10.0, 10.0)
    rate, low, high = looking.rate_of(item, (0.0, 1.0))
    # Wilson's ends solve (p - rate)^2 = z^2 p (1 - p) / n.
    for end in (low, high):
        assert (end - rate) ** 2 == pytest.approx(looking.SURE**2 * end * (1 - end) / 40)
    assert low < rate == 0.25 < high


def test_intervals_hold_the_truth():
    dice, held = random.Random(4), 0
    for _ in range(400):
        item = Item("a")
        for _ in range(60):
            reward = float(dice.random() < 0.2)
            item.add(1, reward, reward)
        _, low, high = looking.rate_of(item, (0.0, 1.0))
        held += low <= 0.2 <= high
    # 400 · 0.95 = 380, with a standard error of 4.4; Wilson's covers 0.2 with 60 plays in 0.94 to 0.97 of cases.
    assert 362 <= held <= 396


def holding_out(seed, asks=1500, holdout=0.2):
    bandit = ma.Bandit(GREEDY, seed, items=range(10), holdout=holdout)
    dice = random.Random(seed)
    means = 0.0
    chosen = 0
    decisions = []
    for _ in range(asks):
        decision = bandit.ask()
        decisions.append(decision)
        mean = 0.2 + 0.05 * decision.key
        if decision.how is not ma.How.HOLDOUT:
            means += mean
            chosen += 1
        bandit.tell(decision, float(dice.random() < mean))
    return bandit, decisions, (means / chosen) / (0.2 + 0.05 * 4.5)


def test_the_holdout_is_its_share_of_all_asks_and_uniform():
    bandit, decisions, _ = holding_out(1, asks=4000)
    held_out = [one.key for one in decisions if one.how is ma.How.HOLDOUT]
    # 4 standard errors: 4 sqrt(4000 · 0.2 · 0.8) = 101; and of one of ten items, 4 sqrt(800 · 0.1 · 0.9) = 34.
    assert abs(len(held_out) - 800) <= 101
    assert all(abs(held_out.count(key) - len(held_out) / 10) <= 36 for key in range(10))
    assert {one.arm for one in decisions if one.how is ma.How.HOLDOUT} == {-1}
    lift = bandit.lift()
    assert (lift.decisions, lift.held_out) == (4000 - len(held_out), len(held_out))


@pytest.mark.parametrize("policy", [GREEDY, ma.Elimination(beta=1.0, threshold=1e6, horizon=64)], ids=repr)
def test_items_are_asked_for_as_often_as_is_stated(policy):
    bandit = ma.Bandit(policy, 3, items=range(6), holdout=0.3)
    for _ in range(40):
        bandit.tell(bandit.ask(), 0.5)
    if bandit.open_decisions:
        bandit.forget(bandit.open_decisions[-1])
    values, times, share = bandit.to_json(), 4000, 0.3
    counts, stated = np.zeros(6), {}
    for seed in range(times):
        # The same state, with other streams: what it would have chosen.
        bandit._key = np.uint64(seed * 2654435761 + 12345)
        asked = bandit._next_ask(None)
        counts[asked.key] += 1
        if asked.how is ma.How.HOLDOUT:
            assert asked.probability >= share / 6 - 1e-12
        else:
            stated[asked.key] = asked.probability
    assert {**bandit.to_json()}["asked"] == values["asked"]
    (planned,) = stated  # the policy's own streams are the same
    own = Choice(*bandit._kernels.ask(bandit._held, bandit.asked + 1)).probability
    assert stated[planned] == pytest.approx((1 - share) * own + share / 6)
    # Without the policy's randomness the plan has all of 1 - share.
    # 4 standard errors: 4 sqrt(p (1 - p) / 4000) <= 0.032.
    expected = np.full(6, share / 6)
    expected[planned] += 1 - share
    assert np.abs(counts / times - expected).max() <= 0.032


def test_lift_holds_the_truth():
    held = 0
    for seed in range(100):
        bandit, _, truth = holding_out(seed, asks=600)
        lift = bandit.lift()
        assert lift.low < lift.ratio < lift.high
        held += lift.low <= truth <= lift.high
    # 95 of 100, with a standard error of 2.2.
    assert held >= 88


def test_lift_without_a_holdout_or_rewards():
    with pytest.raises(ValueError, match=r"there is no holdout to compare with; make one: Bandit\(…, holdout=0\.02\)"):
        ma.Bandit(GREEDY, 1, items=range(3)).lift()
    lift = ma.Bandit(GREEDY, 1, items=range(3), holdout=0.5).lift()
    assert math.isnan(lift.ratio)
    assert (lift.low, lift.high, lift.decisions) == (0.0, math.inf, 0)
    assert str(lift) == "nothing to compare yet: 0 decisions have a reward, 0 at random"


def test_progress_sums_up_all_asks():
    bandit = ma.Bandit(ma.UniformPlay(), 1)
    for number in range(3000):
        bandit.tell(bandit.ask(), float(number % 2))
    found = bandit._progress
    assert len(found.spans) <= 512
    assert found.width == 8
    sums = [sum(getattr(span, name) for span in found.spans) for name in ("asks", "search", "plays", "reward")]
    assert sums == [3000, 3000, 3000, 1500.0]
    assert all(span.asks == 8 for span in found.spans[:-1])


def test_an_explanation_names_items():
    bandit = ma.Bandit(ma.Forager(), 1, items=["red", "green", "blue"])
    for _ in range(30):
        decision = bandit.ask()
        bandit.tell(decision, float(decision.key == "green"))
    bandit.withdraw("blue")
    known = bandit.explain()
    assert known["items"] == {"known": 2, "withdrawn": 1}
    assert known["waiting"] == 0
    assert {arm["key"] for arm in known["kept_arms"]} == {"red", "green"}
    assert known["in_words"] == bandit.policy.in_words(known)


@pytest.mark.parametrize("policy", [ma.Forager(), GREEDY], ids=repr)
@pytest.mark.parametrize("asks", [0, 200])
def test_a_picture_is_drawn(policy, asks):
    bandit = ma.Bandit(policy, 1, items=range(30), holdout=0.1)
    for _ in range(asks):
        decision = bandit.ask()
        bandit.tell(decision, decision.key / 30)
    before = bandit.to_json()
    figure = bandit.plot()
    figure.canvas.draw()
    assert len(figure.axes) == 5
    assert bandit.to_json() == before


def test_a_lift_of_next_to_nothing_has_ends():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=range(5), holdout=0.5)
    for _ in range(20):
        bandit.tell(bandit.ask(), 1e-300)
    lift = bandit.lift()
    assert (lift.low, lift.high) == (0.0, math.inf)


# A holdout that is changed.


def played(bandit, rate, asks, dice):
    for _ in range(asks):
        bandit.tell(bandit.ask(), float(dice.random() < rate))
    return bandit


def again(bandit, **terms):
    return ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json())), **terms)


def test_the_lift_of_good_times_is_not_that_of_another_holdout():
    # Items are all the same, so the ratio is 1; but rates and shares are others in the second period.
    dice = random.Random(1)
    bandit = played(ma.Bandit(ma.UniformPlay(), 1, items=range(50), holdout=0.5), 0.5, 3_000, dice)
    first = bandit.lift()
    assert first.low < 1.0 < first.high
    second = played(again(bandit, holdout=0.02), 0.1, 6_000, dice).lift()
    assert second.low < 1.0 < second.high
    assert second.decisions + second.held_out == 6_000


def test_only_decisions_made_with_the_holdout_are_compared():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=range(50), correctable=0)
    before = bandit.ask(20)
    bandit = again(bandit, holdout=0.5)
    for decision in before:
        bandit.tell(decision.id, 1.0)
    assert (bandit.lift().decisions, bandit.lift().held_out) == (0, 0)
    made = bandit.ask(40)
    changed = again(bandit, holdout=0.1)
    for decision in made:
        changed.tell(decision.id, 1.0)
    assert (changed.lift().decisions, changed.lift().held_out) == (0, 0)
    none = again(
        again(bandit, holdout=0.0)
    )  # what was asked before counts whenever it is told, what is asked now does not
    for decision in none.ask(10) + made:
        none.tell(decision.id, 1.0)
    lift = again(none).lift()
    assert lift.decisions + lift.held_out == 40
    assert lift.held_out == sum(one.how is ma.How.HOLDOUT for one in made)


def test_a_correction_of_before_is_not_of_this_comparison():
    policy = ma.SSUCB(beta=1.0, arms=5, horizon=500)
    bandit = ma.Bandit(policy, 1, items=range(5), holdout=0.5, correctable=100)
    first = [bandit.ask() for _ in range(20)]
    for decision in first:
        bandit.tell(decision, 1.0)
    bandit = again(bandit, holdout=0.4)
    for _ in range(20):
        bandit.tell(bandit.ask(), 1.0)
    before = bandit.lift()
    for decision in first:
        assert bandit.correct(decision.id, 0.0) is ma.Told.CORRECTED
    assert bandit.lift() == before


def test_the_lift_stays_when_there_is_no_holdout_any_more():
    bandit = played(ma.Bandit(ma.UniformPlay(), 1, items=range(50), holdout=0.5), 0.5, 100, random.Random(1))
    without = again(bandit, holdout=0.0)
    assert without.lift() == bandit.lift()
    played(without, 0.5, 100, random.Random(2))
    assert again(without).lift() == bandit.lift()
    fresh = again(without, holdout=0.5)
    assert (fresh.lift().decisions, fresh.lift().held_out) == (0, 0)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 0.0), (-5.0, 1.0)])
def test_a_lift_of_losses_says_why_it_has_no_ratio(low, high):
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=range(5), holdout=0.3, reward_range=(low, high))
    for _ in range(60):
        bandit.tell(bandit.ask(), -0.5)
    lift = bandit.lift()
    assert math.isnan(lift.ratio)
    assert str(lift) == (
        "-0.5 a decision, -0.5 with random items; how many times as much can be said only of averages above 0 "
        f"({lift.decisions} decisions, {lift.held_out} at random)"
    )


# What has become of items, and of arms.


def test_an_item_that_the_policy_never_had_is_not_let_go():
    bandit = ma.Bandit(ma.Elimination(beta=1.0), 1, items=["seen elsewhere", "b", "c"], holdout=0.999)
    bandit.observe("seen elsewhere", 50, 5.0)
    while bandit.explain()["items"] != {"fresh": 3} or bandit.asked < 5:
        decision = bandit.ask()
        assert decision.how is ma.How.HOLDOUT
        bandit.tell(decision, 0.0)
    for one in (bandit, again(bandit)):
        assert set(one.table()["state"]) == {"fresh"}
    one = ma.Bandit(ma.CBT(beta=1.0), 1, items=range(5))
    for _ in range(60):
        one.tell(one.ask(), 0.0)
    one._prune()
    states = one.table().set_index("key")["state"].to_dict()
    assert "let go" in states.values()
    assert again(one).table().set_index("key")["state"].to_dict() == states
    assert set(again(one, policy=ma.UniformPlay()).table()["state"]) == {"fresh"}


def test_how_many_arms_are_alive_is_remembered(monkeypatch):
    monkeypatch.setattr(progress, "MOST_LOOKS", 8)
    bandit = ma.Bandit(ma.Elimination(beta=1.0, threshold=0.3), 1, items=range(500))
    alive = {}
    for number in range(1, 2000):
        bandit.tell(bandit.ask(), float(number % 3 == 0))
        if number % 500 == 0:
            bandit = again(bandit)
        alive[number + 1] = len(bandit.policy.kept_arms(bandit._state))
    found = bandit._progress
    assert found.step == 400
    assert len(found.alive) == 5
    assert found.alive[1:] == [alive[1 + place * 400] for place in range(1, 5)]  # as the ask found them
    drawn = bandit.plot().axes[2]
    assert drawn.get_title() == f"arms alive: {alive[2000]} now"
    assert drawn.lines[0].get_ydata()[-1] == alive[2000]


def test_looks_that_an_earlier_snapshot_lacks_are_a_gap():
    bandit = ma.Bandit(ma.UniformPlay(), 1)
    for _ in range(300):
        bandit.ask()
    values = {key: value for key, value in bandit.to_json().items() if key != "checksum"}
    values["progress"].pop("alive")
    loaded = ma.Bandit.from_json(values | {"checksum": checksum(values)})
    loaded.ask()
    assert loaded._progress.alive == [None, None, None, 0]  # it keeps none
    loaded.plot()


# Words.


def test_somebody_with_items_is_told_of_items():
    dice = random.Random(1)
    past = [(f"art{number}", 500, 5 * number) for number in range(40)]
    bandit = ma.Bandit.from_history(ma.Forager(), past, seed=1)
    said = [bandit.explain()["in_words"]]
    for _ in range(300):
        decision = bandit.ask()
        bandit.tell(decision, float(dice.random() < 0.2))
        said.append(bandit.explain()["in_words"])
    assert "None of its own tries so far was of an item that was good enough." in said[0]
    assert re.search(r"Good enough are 'art3\d' at ", said[0])
    assert "Items that were good enough earned " in said[-1]
    for words in said:
        assert "earns" in words
        assert not re.search(r"\b(arms?|coins?|means?|plays?)\b", words), words
        assert not ("No item was good enough so far" in words and "Good enough" in words)
    assert "items" in bandit.plot().axes[-1].get_title()
    assert "arms" in ma.Bandit(ma.Forager(), 1).plot().axes[-1].get_title()


@pytest.mark.parametrize("kind", ["still", "resets", "falls", "rises", "wanders"])
def test_every_change_is_said_of_items(kind):
    change = {"kind": kind, "rate": 0.004, "in_words": "of arms"}
    known = {"change": change, "change_of_late": change, "better": 0.25}
    assert "item" in insight.changes_in_words(known, insight.ITEMS)
    if kind == "still":
        other = known | {"change_of_late": change | {"kind": "falls"}}
        words = "items do not change (of late, it decides as if items lose 0.3 % of what they earn with a try)"
        assert insight.changes_in_words(other, insight.ITEMS) == words
    assert insight.changes_in_words(known) == "of arms"
