"""What the Forager says of itself is what its state holds, in numbers and in words."""

import json
import random

import numpy as np
import pytest

import manyarms as ma
from manyarms.policies import insight
from manyarms.policies.watch import FALLS, KINDS, RESETS, RISES, STILL, WANDERS


def played(rounds, reward_of, policy=None):
    """A bandit after so many rounds."""
    bandit = ma.Bandit(policy or ma.Forager(), seed=5)
    for _ in range(rounds):
        decision = bandit.ask()
        bandit.tell(decision, reward=reward_of(decision.arm))
    return bandit


@pytest.fixture(scope="module")
def bandit():
    """Coins: one arm in three has the mean 0.8, others 0.2."""
    dice = random.Random(2)
    return played(1500, lambda arm: float(dice.random() < (0.8 if arm % 3 == 2 else 0.2)))


def test_nothing_is_said_before_anything_was_told():
    known = ma.Bandit(ma.Forager(), seed=5).explain()
    assert known["in_words"] == "Nothing was told yet."
    assert known["kept_plays_earn"] is None
    assert (known["episode"], known["arms"], known["plays_of_arm"], known["last_restart"]) == (1, 1, 0, None)
    json.dumps(known, allow_nan=False)


def test_numbers_are_those_of_the_state(bandit):
    known = bandit.explain()
    assert known["rounds"] == bandit.told == 1500
    assert known["target"] == (known["average"] if known["is_content"] else known["better"])
    assert known["fresh"] < known["average"] < known["better"]
    reservoir = known["reservoir"]
    means, masses = np.array(reservoir["means"]), np.array(reservoir["masses"])
    assert masses.sum() == pytest.approx(1.0)
    assert means @ masses == pytest.approx(known["fresh"])
    assert known["better"] == pytest.approx(
        (means * masses)[means > known["average"]].sum() / masses[means > known["average"]].sum()
    )
    exceeded = list(reservoir["exceeded_by"].values())
    assert exceeded == sorted(exceeded)
    assert masses[means > exceeded[1]].sum() == pytest.approx(0.1, abs=0.1)
    assert known["arms"] == len(known["kept_arms"])
    assert sorted(arm["arm"] for arm in known["kept_arms"]) == bandit.policy.kept_arms(bandit._state).tolist()
    json.dumps(known, allow_nan=False)


def test_intervals_hold_the_means_they_are_about(bandit):
    kept = bandit.explain()["kept_arms"]
    assert [arm["mean"] for arm in kept] == sorted((arm["mean"] for arm in kept), reverse=True)
    best = kept[0]
    assert best["arm"] % 3 == 2
    assert best["high"] - best["low"] < 0.25
    # At 95 %, if arms were not chosen for what they paid: they are, so a few more are missed.
    played = [arm for arm in kept if arm["plays"] >= 8]
    held = [arm["low"] < (0.8 if arm["arm"] % 3 == 2 else 0.2) < arm["high"] for arm in played]
    assert len(held) >= 8
    assert np.mean(held) >= 0.75
    assert all(arm["low"] <= arm["mean"] <= arm["high"] for arm in kept)


def test_words_name_the_best_arm_and_what_is_believed(bandit):
    known = bandit.explain()
    words = known["in_words"]
    assert words.startswith(f"Of late it earns {insight.short(known['average'])} a play; ")
    best = known["kept_arms"][0]
    is_named = f"arm {best['arm']:,} at " in words
    assert is_named == (best["mean"] >= known["target"])
    assert "It believes that arms do not change, and that rewards are coins." in words


def test_open_asks_are_said():
    bandit = played(50, lambda arm: 0.5)
    bandit.ask(3)
    known = bandit.explain()
    assert known["open_asks"] == 2 == sum(arm["open"] for arm in known["kept_arms"])  # the last may be answered at once
    assert known["in_words"].endswith("Answers that are out: 2.")
    assert "rewards vary " in known["in_words"]


@pytest.mark.parametrize(
    ("kind", "rate", "words"),
    [
        (STILL, 1e-6, "arms do not change"),
        (RESETS, 1e-3, "one in 1,000 plays draws an arm anew"),
        (FALLS, 0.004, "arms lose 0.3 % of their mean with a play"),
        (RISES, 0.004, "arms gain 0.3 % of their mean with a play"),
        (WANDERS, 0.01, "arms wander"),
    ],
)
def test_each_change_has_its_words(kind, rate, words):
    said = insight.change_believed(kind, rate, level=0.25)
    assert said == {"kind": KINDS[kind], "rate": rate, "in_words": words}


def test_it_says_if_it_plays_as_if_arms_changed_otherwise_than_they_did():
    still, falls = (insight.change_believed(kind, 0.004, level=0.25) for kind in (STILL, FALLS))
    assert insight.changes_in_words({"change": falls, "change_of_late": falls}) == falls["in_words"]
    said = insight.changes_in_words({"change": falls, "change_of_late": still})
    assert said == "arms lose 0.3 % of their mean with a play (of late, it plays as if arms do not change)"


def test_it_says_whether_it_is_content_and_how_many_are_good_enough():
    known = {"kept_plays_earn": 0.5, "search": 0.25, "is_content": True}
    assert insight.content_in_words(known).endswith(
        "what earns the average is good enough (25 % of its plays were search)."
    )
    assert "only what is better" in insight.content_in_words(known | {"is_content": False})
    assert "No arm was good enough" in insight.content_in_words(known | {"kept_plays_earn": None})
    arm = {"arm": 7, "mean": 0.5, "low": 0.4, "high": 0.6, "plays": 1}
    assert insight.arms_in_words([arm]) == "Good enough is arm 7 at 0.500 (0.400 to 0.600; 1 play)."
    assert insight.arms_in_words([arm] * 5).endswith(", and 2 more.")
