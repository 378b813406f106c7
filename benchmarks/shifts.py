"""What finding significant shifts costs: python benchmarks/shifts.py.

Four runs: ``Elimination`` in a rotting world and in a still one, one arm whose gap grows faster and faster (a change in
every round, and as many starts of intervals to keep), and one dead arm (a shift in every round). Timed on one core,
in one process: the time for each number of rounds; its ratio to a floor, one compiled pass over the three arrays; the
slow twin of the tests, which looks at every interval, where it can be waited for; and a stream, round by round, which
is not compiled. The least time of several turns counts, so that a noisy neighbour does not.

With ``--choices`` nothing is timed: it counts the shifts of the same runs under each reading of the definition.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manyarms as ma
from manyarms.compiled import loop
from manyarms.measures import ShiftRule, ShiftStream, significant_shifts
from manyarms.tables import Table

sys.path.insert(0, str(Path(__file__).parents[1]))  # the slow twin is not part of the package
from tests.reference import shifts as reference

BETA = 1.0
SLOW_ROUNDS = (100, 300, 1000)
STREAM_ROUNDS = 20_000

Run = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


@loop
def floor_loop(arms: NDArray[np.int64], means: NDArray[np.float64], next_means: NDArray[np.float64]) -> float:
    """Read everything once."""
    total = 0.0
    for place in range(arms.size):
        total += arms[place] + means[place] - next_means[place]
    return total


def played(drift: ma.Drift, rounds: int) -> Run:
    """A log of ``Elimination``."""
    world = ma.World(ma.PowerLaw(beta=BETA), drift)
    log = ma.simulate(ma.Elimination(beta=BETA), world, rounds, seed=1, log=True).log("Elimination")
    return log.arm, log.mean, log.next_mean


def accelerating(rounds: int) -> Run:
    """One arm, just good enough never to be unsafe: its gap grows with the square of the round."""
    means = 1.0 - np.linspace(0.0, 1.0, rounds + 1) ** 2 / rounds**0.5
    return np.zeros(rounds, dtype=np.int64), means[:-1], means[1:]


def dead(rounds: int) -> Run:
    """One arm with mean 0."""
    zeros = np.zeros(rounds)
    return zeros.astype(np.int64), zeros, zeros


CHOICES: dict[str, dict[str, Any]] = {
    "literal": {},
    "threshold_scale=2": {"threshold_scale": 2.0},
    "threshold_scale=4": {"threshold_scale": 4.0},
    "log": {"preset": "log"},
    "rounding up": {"rounding": "up"},
    "past zero": {"past": "zero"},
    "order run": {"order": "run"},
    "order new": {"order": "new"},
    "order block": {"order": "block"},
}

WORLDS = {
    "still": ma.World(ma.PowerLaw(beta=BETA)),
    "rising, 1/t": ma.World(ma.PowerLaw(beta=BETA), ma.Rising(rate="1/t")),
    "rotting, 1/t": ma.World(ma.PowerLaw(beta=BETA), ma.Rotting(rate="1/t")),
    "crash, 1/1000": ma.World(ma.PowerLaw(beta=BETA), ma.Crash(probability=1e-3, to=0.0)),
}


def choices(rounds: int, replications: int) -> Table:
    """The mean number of shifts of ``Elimination``, for each world and each reading of the definition."""
    counts: dict[str, dict[str, list[int]]] = {name: {world: [] for world in WORLDS} for name in CHOICES}
    for world_name, world in WORLDS.items():
        result = ma.simulate(ma.Elimination(beta=BETA), world, rounds, replications, seed=1, log=True)
        for replication, (name, choice) in itertools.product(range(replications), CHOICES.items()):
            log = result.log("Elimination", replication)
            blocks = log.block if name == "order block" else None
            shifts = significant_shifts(log.arm, log.mean, log.next_mean, beta=BETA, blocks=blocks, **choice)
            counts[name][world_name].append(len(shifts))
    return Table(
        [{"mean shifts": name} | {w: float(np.mean(found)) for w, found in row.items()} for name, row in counts.items()]
    )


RUNS: dict[str, Callable[[int], Run]] = {
    "rotting, 1/t": lambda rounds: played(ma.Rotting(rate="1/t"), rounds),
    "still": lambda rounds: played(ma.Still(), rounds),
    "accelerating": accelerating,
    "dead arm": dead,
}


def least_seconds(function: Callable[[], Any], turns: int) -> float:
    """The least time of several turns."""
    times = []
    for _ in range(turns):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def slow(run: Run) -> list[Any]:
    """The slow twin."""
    exceeds = reference.in_floats(BETA, 1.0)
    sizes = [reference.budget(length, BETA, 1.0, "down") for length in range(1, len(run[0]) + 1)]
    return reference.significant_shifts(*(column.tolist() for column in run), exceeds, lambda n: sizes[n - 1])


def stream(run: Run) -> int:
    """The shifts a stream tells of."""
    tracker = ShiftStream(ShiftRule(beta=BETA))
    columns = [column.tolist() for column in run]
    return sum(tracker.tell(*play) is not None for play in zip(*columns, strict=True))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What finding significant shifts costs.")
    parser.add_argument("--largest", type=int, default=10_000_000, help="the largest number of rounds")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--choices", action="store_true", help="count shifts instead, under each reading")
    options = parser.parse_args()
    if options.choices:
        print(choices(rounds=100_000, replications=20))
        return
    significant_shifts(*dead(10), beta=BETA)  # compile, or load what was compiled
    floor_loop(*dead(10))
    growth = []
    for name, make in RUNS.items():
        for rounds in itertools.takewhile(lambda n: n <= options.largest, (10**power for power in range(4, 8))):
            run = make(rounds)
            shifts = significant_shifts(*run, beta=BETA)
            seconds = least_seconds(lambda run=run: significant_shifts(*run, beta=BETA), options.turns)
            floor = least_seconds(lambda run=run: floor_loop(*run), options.turns)
            growth.append(
                {
                    "run": name,
                    "rounds": rounds,
                    "shifts": len(shifts),
                    "seconds": seconds,
                    "ns a round": seconds / rounds * 1e9,
                    "times the floor": seconds / floor,
                }
            )
    print(Table(growth))
    print()
    against = []
    for rounds in SLOW_ROUNDS:
        run = RUNS["rotting, 1/t"](rounds)
        assert [shift[0] for shift in slow(run)] == significant_shifts(*run, beta=BETA).rounds.tolist()
        seconds = least_seconds(lambda run=run: significant_shifts(*run, beta=BETA), 10 * options.turns)
        slow_seconds = least_seconds(lambda run=run: slow(run), 1)
        against.append(
            {
                "run": "rotting, 1/t",
                "rounds": rounds,
                "seconds": seconds,
                "seconds, slow twin": slow_seconds,
                "times as long": slow_seconds / seconds,
            }
        )
    print(Table(against))
    print()
    streams = []
    for name, make in RUNS.items():
        run = make(STREAM_ROUNDS)
        seconds = least_seconds(lambda run=run: stream(run), 1)
        streams.append({"stream": name, "rounds": STREAM_ROUNDS, "µs a round": seconds / STREAM_ROUNDS * 1e6})
    print(Table(streams))


if __name__ == "__main__":
    main()
