"""What live calls cost while decisions are open: python benchmarks/live.py.

For each policy and number of open decisions: an ask and its tell at once; and the tell of one of those that were open,
with the next ask. In microseconds, the least of several turns in one process, so that a noisy neighbour does not count.
Neither should grow with what is open.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence

import manyarms as ma
from manyarms.tables import Table

POLICIES = {
    "Elimination": (ma.Elimination(beta=1.0), {}),
    "Elimination, auto": (ma.Elimination(beta="auto"), {}),
    "Elimination, timeout": (ma.Elimination(beta=1.0), {"timeout": 1e9, "on_timeout": 0.0}),
    "Blackbox(UCB)": (ma.Blackbox(ma.UCB(), beta=1.0), {}),
    "SSUCB": (ma.SSUCB(beta=1.0), {}),
    "SSUCB, provisional": (ma.SSUCB(beta=1.0), {"pending": 0.0}),
    "CBT": (ma.CBT(beta=1.0), {}),
    "Forager": (ma.Forager(), {}),
    "UniformPlay": (ma.UniformPlay(), {}),
}
OPEN = (0, 100, 10_000)
PLAYED = 300
"""Rounds before anything is timed."""
STEPS = 1000


def bandit_with_open(name: str, is_open: int) -> ma.Bandit:
    """A bandit that has played for a while, and so many decisions without a reward."""
    policy, terms = POLICIES[name]
    bandit = ma.Bandit(policy, 7, **terms)
    for round in range(PLAYED):
        bandit.tell(bandit.ask(), float(round % 3 == 0))
    if is_open:
        bandit.ask(is_open)
    return bandit


def at_once(bandit: ma.Bandit) -> Iterator[None]:
    """An ask and its tell."""
    while True:
        bandit.tell(bandit.ask(), float(bandit.asked % 3 == 0))
        yield


def late(bandit: ma.Bandit) -> Iterator[None]:
    """The tell of the oldest open decision, and an ask."""
    for identity in range(PLAYED + 1, 10**9):
        bandit.ask()
        bandit.tell(identity, float(identity % 3 == 0))
        yield


def microseconds(calls: Callable[[ma.Bandit], Iterator[None]], name: str, is_open: int) -> float:
    """What one step of ``calls`` takes, in one turn."""
    steps = calls(bandit_with_open(name, is_open))
    began = time.perf_counter()
    for _ in range(STEPS):
        next(steps)
    return (time.perf_counter() - began) / STEPS * 1e6


def measure(calls: Callable[[ma.Bandit], Iterator[None]], numbers: Sequence[int], turns: int, title: str) -> Table:
    """The least of all turns, in each of which all policies have their go."""
    least = {name: dict.fromkeys(numbers, math.inf) for name in POLICIES}
    for _ in range(turns):
        for name, costs in least.items():
            for is_open in numbers:
                costs[is_open] = min(costs[is_open], microseconds(calls, name, is_open))
    return Table([{title: name} | {f"{n:,} open": cost for n, cost in costs.items()} for name, costs in least.items()])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What live calls cost while decisions are open.")
    parser.add_argument("--turns", type=int, default=9)
    turns = parser.parse_args().turns
    print(measure(at_once, OPEN, turns, "ask and tell, at once, in µs"))
    print()
    print(measure(late, (1, *OPEN[1:]), turns, "ask, and tell of the oldest, in µs"))


if __name__ == "__main__":
    main()
