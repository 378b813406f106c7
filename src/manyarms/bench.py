"""Benchmarks: what a round costs, as a ratio to a floor measured in the same run.

The floor kernel draws the same two random numbers a round as a policy and its world do, reads
and writes one number of an array, and does nothing else. Ratios to it can be compared between
machines; nanoseconds cannot. Every timing of a policy stands between two of the floor, and the
median of several such ratios counts, so that a noisy neighbour spoils a turn and not the figure.
Time is that of the thread: while others have its core, it stands still.
"""

import importlib.metadata
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bases import UCB, Greedy
from .compiled import IS_COMPILING, loop
from .drifts import Rotting
from .engine import simulate
from .feedbacks import Batches, Delayed, Geometric
from .noises import Bernoulli
from .policies import SSUCB, Blackbox, Elimination, Forager, Oracle, Policy, Subsample, UniformPlay
from .replication import Job, Run
from .reservoirs import PowerLaw
from .specs import count
from .streams import NOISE_STREAM, bits_at, index_below, policy_key, replication_key, stream_key, uniform
from .tables import Table
from .world import World

ROUNDS = 1 << 20
"""Rounds of one timing. ``SSUCB`` then has 1,024 arms."""

BLACKBOX_ROUNDS = 1 << 21
"""For ``Blackbox``, whose last block then has 1,024 arms for half of the rounds and 724 before."""

SHORT, LONG = 100_000, 10_000_000
"""The horizons between which the cost of a round should not grow."""

WORLD = World(PowerLaw(beta=1.0), Rotting(rate="1/t"), Bernoulli())


def policies_timed() -> dict[str, Policy]:
    """What is timed, by name."""
    return {
        "Elimination": Elimination(beta=1.0),
        "Elimination, auto": Elimination(beta="auto"),
        "Elimination, paper": Elimination(beta=1.0, preset="paper"),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=1.0, preset="paper"),
        "Forager": Forager(),
        "SSUCB": SSUCB(beta=1.0),
        "SSUCB, paper": SSUCB(beta=1.0, preset="paper"),
        "Subsample(Greedy)": Subsample(base=Greedy(), beta=1.0),
        "UniformPlay": UniformPlay(),
        "Oracle": Oracle(),
    }


LATE = {
    "100 late": Delayed(100),
    "100 late on average": Delayed(Geometric(mean=100.0, longest=1000)),
    "batches of 1,000": Batches(1000),
}
"""Answers that are late, each timed against answers at once."""


@loop
def floor_loop(numbers: NDArray[np.float64], seed: int, rounds: int) -> float:
    """Two random draws and one read and write a round."""
    key = replication_key(seed, 0)
    choice_key = policy_key(key, 0)
    noise_key = stream_key(key, NOISE_STREAM, 0)
    total = 0.0
    for round in range(1, rounds + 1):
        place = index_below(bits_at(choice_key, round, 0), numbers.size)
        number = numbers[place]
        total += uniform(bits_at(noise_key, place, round))
        numbers[place] = number + total
    return total


def floor_ns(rounds: int) -> float:
    """Nanoseconds a round of the floor."""
    numbers = np.zeros(1024)
    began = time.thread_time()
    floor_loop(numbers, np.uint64(1), rounds)
    return (time.thread_time() - began) / rounds * 1e9


def policy_ns(spec: Policy, horizon: int, rounds: int, world: World = WORLD) -> float:
    """Nanoseconds a round of a policy, over as many replications as make up ``rounds``."""
    replications = max(1, rounds // horizon)
    run = Run(spec, Job(world, horizon, replications, 1, np.linspace(0, horizon, 65)[1:].astype(np.int64)))
    states = run.states()
    began = time.thread_time()
    run.play(0, replications, states)
    return (time.thread_time() - began) / (replications * horizon) * 1e9


class Timing(NamedTuple):
    """What is timed at once: runs of a policy."""

    spec: Policy
    horizon: int  # the rounds of a run
    rounds: int  # of all runs
    world: World = WORLD

    def ns(self) -> float:
        """Nanoseconds a round."""
        return policy_ns(self.spec, self.horizon, self.rounds, self.world)


def measure(turns: int = 9, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """All figures, as plain values: medians over so many turns. ``say`` is told what is being measured."""
    turns = count("bench", "turns", turns)
    timed = policies_timed()
    say("compiling")
    floor_ns(1000)
    for spec in timed.values():
        policy_ns(spec, 1000, 1000)
    figures: dict[str, Any] = {"machine": machine(), "rounds": ROUNDS}
    say(f"a round of each policy, {ROUNDS:,} rounds, {turns} turns")
    figures["floor_ns"], figures["policies"] = costs({name: timing_of(spec) for name, spec in timed.items()}, turns)
    say(f"growth from horizon {SHORT:,} to {LONG:,}")
    figures["growth"] = {name: growth(spec) for name, spec in timed.items()}
    say(f"late answers, {turns} turns")
    late = ("Elimination", "Blackbox(UCB)", "Forager", "SSUCB")
    figures["late"] = {name: lateness(timed[name], turns) for name in late if name in timed}
    say("two threads against one")
    figures["threads"] = min_seconds(1) / min_seconds(2)
    say("memory and first call, in new processes")
    return figures | in_new_process(PEAK_MEMORY) | in_new_process(FIRST_CALL)


def costs(timed: Mapping[str, Timing], turns: int) -> tuple[float, dict[str, dict[str, float]]]:
    """The floor, and what a round of each policy costs: medians over turns in which all have their go."""
    floors: list[float] = []
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in timed}
    for _ in range(turns):
        for name, timing in timed.items():
            before = floor_ns(ROUNDS)
            cost = timing.ns()
            after = floor_ns(ROUNDS)
            floors += [before, after]
            found[name].append((cost, 2.0 * cost / (before + after)))
    policies = {}
    for name, timing in timed.items():
        ns, ratio = map(statistics.median, zip(*found[name], strict=True))
        policies[name] = {"ns": ns, "ratio": ratio, "rounds": timing.horizon}
    return statistics.median(floors), policies


def timing_of(spec: Policy) -> Timing:
    """One run of a policy, of as many rounds as are timed."""
    rounds = BLACKBOX_ROUNDS if isinstance(spec, Blackbox) else ROUNDS
    return Timing(spec, rounds, rounds)


def growth(spec: Policy) -> dict[str, float]:
    """What a round costs at a short and at a long horizon."""
    short = min(policy_ns(spec, SHORT, ROUNDS) for _ in range(3))
    long = min(policy_ns(spec, LONG, LONG) for _ in range(2))
    return {"short_ns": short, "long_ns": long, "ratio": long / short}


def lateness(spec: Policy, turns: int) -> dict[str, float]:
    """What a round costs with late answers, over what it costs with answers at once just before."""
    worlds = {name: WORLD.replace(feedback=feedback) for name, feedback in LATE.items()}
    for world in worlds.values():
        policy_ns(spec, 1000, 1000, world)  # compiles
    ratios: dict[str, list[float]] = {name: [] for name in worlds}
    for _ in range(turns):
        for name, world in worlds.items():
            at_once = policy_ns(spec, ROUNDS, ROUNDS)
            ratios[name].append(policy_ns(spec, ROUNDS, ROUNDS, world) / at_once)
    return {name: statistics.median(found) for name, found in ratios.items()}


def min_seconds(threads: int) -> float:
    """The least time of a simulation with this many threads."""
    times = []
    for _ in range(4):
        began = time.perf_counter()
        result = simulate(Elimination(beta=1.0), WORLD, 1_000_000, replications=24, seed=1, threads=threads)
        if not result.is_complete:
            raise KeyboardInterrupt
        times.append(time.perf_counter() - began)
    return min(times)


FIRST_CALL = """
import json, time
began = time.perf_counter()
import manyarms as ma
imported = time.perf_counter()
world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"), ma.Bernoulli())
ma.simulate(ma.Elimination(beta=1.0), world, horizon=1000, seed=1)
done = time.perf_counter()
print(json.dumps({"import_s": imported - began, "first_call_s": done - imported}))
"""

PEAK_MEMORY = """
import json
import manyarms as ma
from manyarms.bench import WORLD, peak_memory_mb, policies_timed
ma.simulate(policies_timed(), WORLD, horizon=10_000_000, seed=1)
print(json.dumps({"memory_mb": peak_memory_mb()}))
"""


def peak_memory_mb() -> float:
    """The most memory this process has held."""
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes on macOS, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def in_new_process(program: str) -> dict[str, float]:
    """Run a program twice, so that the second finds the compile cache; return what it prints."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def machine() -> dict[str, str]:
    """What this was measured on."""
    numba = importlib.metadata.version("numba")
    return {"processor": processor_name(), "python": platform.python_version(), "numba": numba}


def processor_name() -> str:
    """The processor, as the system calls it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def report(figures: dict[str, Any]) -> str:
    """The figures as text."""
    costs = {"floor": {"ns": figures["floor_ns"], "ratio": 1.0}} | figures["policies"]
    growth = {name: grown["ratio"] for name, grown in figures["growth"].items()} | {"floor": float("nan")}
    rows = [
        {"policy": name, "ns a round": cost["ns"], "ratio": cost["ratio"], "growth 10^5 to 10^7": growth[name]}
        for name, cost in costs.items()
    ]
    late = [{"answers late, over at once": name} | ratios for name, ratios in figures["late"].items()]
    return (
        f"{Table(rows)}\n\n{Table(late)}\n\n"
        f"two threads against one   {figures['threads']:.2f} times as fast\n"
        f"peak memory               {figures['memory_mb']:.0f} MB, all of these at horizon 10^7\n"
        f"first call, new process   {figures['first_call_s']:.2f} s, after {figures['import_s']:.2f} s of importing\n"
        f"{figures['machine']['processor']}, Python {figures['machine']['python']}"
    )


def require_compiler() -> None:
    """Without the compiler there is nothing to time."""
    if not IS_COMPILING:
        raise RuntimeError("the compiler is switched off; unset NUMBA_DISABLE_JIT to run the benchmark")
