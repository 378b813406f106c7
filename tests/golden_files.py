"""Snapshots as this version writes them, kept so that later versions are tested on them.

``python -m tests.golden_files`` writes those of the present version; do that only when the version of snapshots is
raised, and keep the older files: they must be read, or refused by name.
"""

import json
from pathlib import Path

import manyarms as ma
from manyarms.snapshots import VERSION

FOLDER = Path(__file__).parent / "golden"

SEED = 7
ASKED_BEFORE, ASKED_AFTER = 299, 100

POLICIES = {
    "Elimination": ma.Elimination(beta=1.0),
    "Elimination, auto": ma.Elimination(beta="auto", horizon=2000),
    "Blackbox(UCB)": ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.3),
    "Subsample(Thompson)": ma.Subsample(base=ma.Thompson(), beta=0.5, arms=12),
    "SSUCB": ma.SSUCB(beta=1.0),
    "CBT": ma.CBT(beta=1.0),
    "Forager": ma.Forager(),
    "UniformPlay": ma.UniformPlay(),
}


# Beside those above, with the defaults: what a bandit may be told of open decisions and corrections.
TERMS = {
    "Elimination": {"timeout": 12.0, "on_timeout": 0.25},
    "Blackbox(UCB)": {"timeout": 12.0, "correctable": 20},
    "Subsample(Thompson)": {"pending": 0.0, "timeout": 12.0, "correctable": 20},
    "SSUCB": {"pending": 0.5, "correctable": 20},
    "Forager": {"timeout": 12.0},
}


def path_of(version):
    """The file of this version of snapshots."""
    return FOLDER / f"snapshot-{version}.json"


def play(bandit, asks):
    """Ask and tell; the arm and the probability of each decision.

    Every fifth reward comes five asks late, every thirteenth never, and some are corrected. An ask takes a second.
    """
    decisions = []
    for _ in range(asks):
        now = float(bandit.asked)
        decision = bandit.ask(now=now)
        decisions.append([decision.arm, decision.probability])
        newest = decision.number
        for number in (newest - 5, newest):
            is_late = number % 5 == 0
            if number > 0 and number % 13 and is_late == (number < newest):
                bandit.tell(bandit._ids.of(number), reward_of(number, bandit.asked), now=now)
        if bandit.correctable and newest % 10 == 7 and (newest - 3) % 13:
            bandit.correct(bandit._ids.of(newest - 3), reward_of(newest, 0))
        if bandit.timeout is None and newest % 13 == 0 and newest > 39:
            bandit.forget(bandit._ids.of(newest - 39))
    return decisions


def reward_of(number, asked):
    """Good and bad times, so that policies restart."""
    return float(number * 7 % 10 < (9 if asked // 60 % 2 else 2))


def written():
    """By policy, a snapshot and how it goes on."""
    found = {}
    for name, policy in POLICIES.items():
        bandit = ma.Bandit(policy, SEED, **TERMS.get(name, {}))
        play(bandit, ASKED_BEFORE)
        snapshot = bandit.to_json()
        found[name] = {"snapshot": snapshot, "decisions": play(bandit, ASKED_AFTER)}
    return found


if __name__ == "__main__":
    path_of(VERSION).write_text(json.dumps(written(), indent=1) + "\n", encoding="utf-8")
