"""What people see of a live bandit: table, picture, and what it earns against random items."""

import math
import random

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit import looking
from manyarms.bandit.items import Item
from manyarms.contract import Choice

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
    progress = bandit._progress
    assert len(progress.spans) <= 512
    assert progress.width == 8
    sums = [sum(getattr(span, name) for span in progress.spans) for name in ("asks", "search", "plays", "reward")]
    assert sums == [3000, 3000, 3000, 1500.0]
    assert all(span.asks == 8 for span in progress.spans[:-1])


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
    assert len(figure.axes) == 4
    assert bandit.to_json() == before


def test_a_lift_of_next_to_nothing_has_ends():
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=range(5), holdout=0.5)
    for _ in range(20):
        bandit.tell(bandit.ask(), 1e-300)
    lift = bandit.lift()
    assert (lift.low, lift.high) == (0.0, math.inf)
