"""What a live catalogue costs, and how that grows with its items: python benchmarks/catalogue.py.

For catalogues of different sizes: an ask and its tell, compiled, in microseconds, the least of several turns in one
process: any item; among 1,000 keys; but for two; and of a segment of half of the items. Then with a journal, with and
without ``fsync``. Click rates of 3 % on average, after 2,000 rounds. Neither should grow with the items.
"""

import argparse
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

import manyarms as ma
from manyarms.tables import Table

POLICIES = {"Forager": ma.Forager(), "Elimination": ma.Elimination(beta=1.0), "SSUCB": ma.SSUCB(beta=1.0)}
SIZES = (100, 10_000, 1_000_000)
STEPS = 1000


def asked_and_told(bandit: ma.Bandit, rates: np.ndarray, moods: np.ndarray, **wish: Any) -> float:
    """Microseconds for an ask and its tell."""
    began = time.perf_counter()
    for mood in moods.tolist():
        decision = bandit.ask(**wish)
        bandit.tell(decision, 1.0 if mood < rates[decision.key] else 0.0)
    return (time.perf_counter() - began) / len(moods) * 1e6


def costs(name: str, size: int, turns: int) -> dict[str, Any]:
    """A row of the table."""
    dice = np.random.default_rng(7)
    rates = dice.beta(1.0, 32.0, size)
    bandit = ma.Bandit(POLICIES[name], 7, items=range(size), segments={"even": lambda key: key % 2 == 0})
    bandit.warm()
    asked_and_told(bandit, rates, dice.random(2000))
    wishes: dict[str, dict[str, Any]] = {
        "any": {},
        "among 1,000": {"among": frozenset(range(0, size, max(size // 1000, 1)))},
        "but for two": {"exclude": [1, 2]},
        "of a segment": {"segment": "even"},
    }
    row: dict[str, Any] = {"policy": name, "items": size}
    for words, wish in wishes.items():
        row[words] = min(asked_and_told(bandit, rates, dice.random(STEPS), **wish) for _ in range(turns))
    return row


def with_journal(name: str, turns: int) -> dict[str, Any]:
    """The same with a journal."""
    dice = np.random.default_rng(7)
    rates = dice.beta(1.0, 32.0, 10_000)
    row: dict[str, Any] = {"policy": name}
    for words, terms in (("no journal", None), ("journal", False), ("journal, fsync", True)):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "journal"
            settings = {} if terms is None else {"journal": path, "fsync": terms}
            bandit = ma.Bandit(POLICIES[name], 7, items=range(10_000), **settings)
            bandit.warm()
            asked_and_told(bandit, rates, dice.random(2000 if not terms else 100))
            steps = STEPS if not terms else 100
            row[words] = min(asked_and_told(bandit, rates, dice.random(steps)) for _ in range(turns))
            bandit.close()
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a live catalogue costs.")
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    print(Table([costs(name, size, turns) for name in POLICIES for size in SIZES]), end="\n\n")
    print(Table([with_journal(name, turns) for name in POLICIES]))


if __name__ == "__main__":
    main()
