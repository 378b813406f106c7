"""What live calls cost, plain and compiled, and what the change takes: python benchmarks/live.py.

For each policy and number of open decisions: an ask and its tell at once; and the tell of one of those that were open,
with the next ask. In microseconds, the least of several turns in one process, so that a noisy neighbour does not count.
Neither should grow with what is open. First as plain Python, then after ``Bandit.warm``.

Then, in new processes, a server with a request every 2 ms, each an ask and its tell: how long after it was due a
request is answered, without ``Bandit.warm``, with it before the first request, and with it in another thread meanwhile.
"""

import argparse
import collections
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
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
LONG_S = 3.0
"""A policy that takes longer than this for its turn has no more of them."""
Calls = Callable[[ma.Bandit], Iterator[None]]


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
    waiting = collections.deque(bandit.open_decisions)
    while True:
        waiting.append(bandit.ask().id)
        bandit.tell(waiting.popleft(), float(bandit.told % 3 == 0))
        yield


def microseconds(calls: Calls, name: str, is_open: int) -> float:
    """What one step of ``calls`` takes, in one turn."""
    steps = calls(bandit_with_open(name, is_open))
    began = time.perf_counter()
    for _ in range(STEPS):
        next(steps)
    return (time.perf_counter() - began) / STEPS * 1e6


KINDS: tuple[tuple[str, Calls, Sequence[int]], ...] = (
    ("ask and tell, at once, in µs", at_once, OPEN),
    ("ask, and tell of the oldest, in µs", late, (1, *OPEN[1:])),
)


def measure(calls: Calls, numbers: Sequence[int], turns: int) -> dict[str, dict[int, float]]:
    """Policy -> number open -> the least of all turns, in each of which all policies have their go."""
    least = {name: dict.fromkeys(numbers, math.inf) for name in POLICIES}
    patient = set(POLICIES)
    for _ in range(turns):
        for name in sorted(patient):
            costs, began = least[name], time.perf_counter()
            for is_open in numbers:
                costs[is_open] = min(costs[is_open], microseconds(calls, name, is_open))
            if time.perf_counter() - began > LONG_S:
                patient.remove(name)
    return least


def plain_and_compiled(turns: int) -> list[Table]:
    """A table for each kind of calls."""
    plain = [measure(calls, numbers, turns) for _, calls, numbers in KINDS]
    for policy, _ in POLICIES.values():
        ma.Bandit(policy, 7).warm()  # all that are made after this are compiled
    tables = []
    for (title, calls, numbers), before in zip(KINDS, plain, strict=True):
        after = measure(calls, numbers, turns)
        rows = [
            {title: name}
            | {f"{n:,} open": cost for n, cost in before[name].items()}
            | {f"{n:,}, compiled": cost for n, cost in after[name].items()}
            for name in POLICIES
        ]
        tables.append(Table(rows))
    return tables


WAYS = {
    "plain": "never, plain Python",
    "before": "before the first request",
    "thread": "in a thread, from the cache",
    "compile": "in a thread, nothing cached",
}
"""When a server calls ``Bandit.warm``."""

BETWEEN_REQUESTS = 0.002
SERVED_S = 1.5
"""For so long requests are answered, or until the bandit is warm."""


def serve(way: str) -> dict[str, float]:
    """Answer requests in this process: how long ``warm`` took, and how late answers were, in milliseconds."""
    bandit = ma.Bandit(ma.Forager(), 7)
    took = [0.0]

    def warm() -> None:
        began = time.perf_counter()
        bandit.warm()
        took[0] = time.perf_counter() - began

    warming = threading.Thread(target=warm)
    if way == "before":
        warm()
    elif way != "plain":
        warming.start()
    lateness = []
    began = due = time.perf_counter()
    while due < began + SERVED_S or warming.is_alive():
        time.sleep(max(0.0, due - time.perf_counter()))
        bandit.tell(bandit.ask(), float(bandit.asked % 3 == 0))
        done = time.perf_counter()
        lateness.append(1e3 * (done - due))
        due = max(due + BETWEEN_REQUESTS, done)
    lateness.sort()
    found = {"warm, s": took[0]}
    for name, part in (("median, ms", 0.5), ("99 %, ms", 0.99), ("worst, ms", 1.0)):
        found[name] = lateness[min(int(part * len(lateness)), len(lateness) - 1)]
    return found


def pauses(turns: int) -> Table:
    """How late answers are, each way in new processes: of each figure the median over turns."""
    rows = []
    for way, words in WAYS.items():
        found = []
        for _ in range(turns):
            with tempfile.TemporaryDirectory() as empty:
                settings = os.environ | ({"MANYARMS_CACHE_DIR": empty} if way == "compile" else {})
                command = [sys.executable, __file__, "--serve", way]
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
            found.append(json.loads(done.stdout))
        rows.append({"Bandit.warm": words} | {name: statistics.median(one[name] for one in found) for name in found[0]})
    return Table(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What live calls cost, plain and compiled.")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--serve", choices=WAYS, help="one server, as JSON")
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(serve(options.serve)))
        return
    for table in (*plain_and_compiled(options.turns), pauses(min(options.turns, 5))):
        print(table, end="\n\n")


if __name__ == "__main__":
    main()
