"""What late answers cost, against what was wanted: make verify, some minutes on two cores.

1. Batches: crashes to 0 with probability 5e-4 a play, beta 1, T = 20,000. `Elimination` and `Blackbox(UCB)`, told
   nothing, keep at least 0.97, 0.9 and 0.7 of their reward in batches of 10, 100 and 1,000, and at most 2 % of the
   answers are ignored: those of arms that were let go before they were judged. How many came when their arm was gone,
   for whatever reason, is told beside it: `Elimination` drops an arm as soon as it has lost enough, and what else was
   asked of it meanwhile says nothing new. Beside them the `Forager`, and random arms.
2. Conversions with a timeout of 10,000 rounds: what provisional answers (0 until a success comes) earn, over what the
   same policy earns with all answers at once; beside it what it earns if it goes by its own belief, and if everything,
   successes too, is told at the timeout. At least 0.95 is wanted.
3. Time: a round with `Delayed` over a round with `AtOnce`. At most 1.5 is wanted.

The study `late` has more policies and more ways of being late (docs/late.md).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import manyarms as ma
from manyarms.contract import Choice, ask, begin, counts, defer, follow, pull, settle, tell
from manyarms.lab.questions.late import HORIZON, SIZES
from manyarms.policies.base import Policy
from manyarms.replication import Job, Run, begun_policy
from manyarms.streams import replication_key
from manyarms.tables import Table

CRASHES = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=5e-4, to=0.0))


def rewards(policy: Policy, world: ma.World, horizon: int, replications: int, seed: int) -> np.ndarray:
    """A round, in each replication."""
    result = ma.simulate({"it": policy}, world, horizon, replications, seed, checkpoints=1)
    return result.final("it", "reward") / horizon


# ---------------------------------------------------------------- batches

WANTED_SHARES = dict(zip(SIZES, (0.97, 0.9, 0.7), strict=True))
MOST_IGNORED = 0.02

IN_BATCHES: dict[str, Policy] = {
    "Elimination, auto": ma.Elimination(beta="auto"),
    "Blackbox(UCB), auto": ma.Blackbox(base=ma.UCB(), beta="auto"),
}


class Batched(NamedTuple):
    """One run in batches, counted."""

    reward: float  # a round
    ignored: float  # share of the answers: those of arms that went before they were judged
    gone: float  # share of the answers: those of arms that were gone, for whatever reason


def play_in_batches(spec: Policy, size: int, horizon: int, seed: int, replication: int = 0) -> Batched:
    """A replication in plain Python, by the verbs of the contract alone: what the loop plays with ``Batches(size)``."""
    spec = spec.with_horizon(horizon)
    policy = begun_policy(spec, horizon, seed, replication)
    world = begin(CRASHES.start(spec.slots(horizon)), np.uint64(replication_key(seed, replication)))
    total, gone = 0.0, 0
    batch: list[tuple[Choice, float, float]] = []
    for round in range(1, horizon + 1):
        choice = ask(policy, round)
        world, _, _, reward = pull(world, choice.slot, choice.arm, round)
        total += reward
        if round % size != 0:
            policy, presumed = defer(policy, choice)
            policy = follow(policy, world)
            batch.append((choice, presumed, reward))
            continue
        policy = follow(tell(policy, choice, reward), world)  # the last of a batch is answered before the next ask
        for choice, presumed, reward in batch:
            gone += choice.arm not in spec.kept_arms(policy)
            policy = follow(settle(policy, choice, presumed, reward), world)
        batch.clear()
    return Batched(total / horizon, counts(policy).ignored / horizon, gone / horizon)


def batch_rows(name: str, policy: Policy, horizon: int, replications: int, counted: int, seed: int) -> list[dict]:
    """A row for each size; ``counted`` of the replications are played in Python too, which must be the same."""
    at_once = rewards(policy, CRASHES, horizon, replications, seed).mean()
    rows = []
    for size in SIZES:
        found = rewards(policy, CRASHES.replace(feedback=ma.Batches(size)), horizon, replications, seed)
        plain = [play_in_batches(policy, size, horizon, seed, replication) for replication in range(counted)]
        assert [one.reward for one in plain] == found[:counted].tolist(), "compiled and in Python are two runs"
        _, ignored, gone = np.mean(plain, axis=0)
        share = found.mean() / at_once
        met = share >= WANTED_SHARES[size] and ignored <= MOST_IGNORED
        rows.append(
            {
                "policy": name,
                "batches of": f"{size:,}",
                "at once": f"{at_once:.3f}",
                "in batches": f"{found.mean():.3f}",
                "share": f"{share:.3f}",
                "wanted": f"{WANTED_SHARES[size]:g}",
                "ignored": f"{ignored:.2%}",
                "arm was gone": f"{gone:.2%}",
                "met": "yes" if met else "no",
            }
        )
    return rows


def forager_rows(horizon: int, replications: int, seed: int) -> list[dict]:
    """Against random arms."""
    random = rewards(ma.UniformPlay(), CRASHES, horizon, replications, seed).mean()
    rows = []
    for size in SIZES:
        found = rewards(ma.Forager(), CRASHES.replace(feedback=ma.Batches(size)), horizon, replications, seed).mean()
        rows.append(
            {
                "policy": "Forager",
                "batches of": f"{size:,}",
                "reward": f"{found:.3f}",
                "random arms": f"{random:.3f}",
                "met": "yes" if found >= random else "no",
            }
        )
    return rows


# ---------------------------------------------------------------- conversions

TIMEOUT = 10_000
WANTED_CONVERSIONS = 0.95

CATALOGUES = {
    "means up to 0.1": ma.World(ma.PowerLaw(beta=1.0, top=0.1), top=0.1),
    "means up to 1": ma.World(ma.PowerLaw(beta=1.0)),
}

HEARD: dict[str, Callable[[ma.LogUniform], ma.Feedback]] = {
    "provisional": lambda delay: ma.Conversions(delay, TIMEOUT, pending=0.0),
    "believed": lambda delay: ma.Conversions(delay, TIMEOUT),
    "all at the timeout": lambda delay: ma.Delayed(TIMEOUT),
}

CORRECTED: dict[str, Callable[[float], Policy]] = {
    "SSUCB": lambda top: ma.SSUCB(beta=1.0),
    "Subsample(KLUCB)": lambda top: ma.Subsample(base=ma.KLUCB(), beta=1.0),
    "Subsample(Greedy)": lambda top: ma.Subsample(base=ma.Greedy(), beta=1.0),
    "Subsample(Thompson)": lambda top: ma.Subsample(base=ma.Thompson(), beta=1.0),
    "Elimination": lambda top: ma.Elimination(beta=1.0, top=top),
    "Blackbox(UCB)": lambda top: ma.Blackbox(base=ma.UCB(), beta=1.0, top=top),
}
"""Policies, told beta and the top. The last two take no assumed rewards."""

SLOW = {"Subsample(Thompson)": 4}
"""How many replications of those that look at every arm in every round."""


def conversion_row(name: str, catalogue: str, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """What is left of the reward, however it is heard of."""
    world = CATALOGUES[catalogue]
    policy = CORRECTED[name](world.top)
    replications = min(replications, SLOW.get(name, replications))
    delay = ma.LogUniform(1, TIMEOUT)
    at_once = rewards(policy, world, horizon, replications, seed).mean()
    row: dict[str, Any] = {"policy": name, "world": catalogue, "at once": f"{at_once:.4f}"}
    verdict = "refused"
    for heard, feedback in HEARD.items():
        late = feedback(delay)
        if late.pending is not None and not policy.takes_pending:
            row[heard] = "–"
            continue
        share = rewards(policy, world.replace(feedback=late), horizon, replications, seed).mean() / at_once
        row[heard] = f"{share:.3f}"
        if late.pending is not None:
            verdict = "yes" if share >= WANTED_CONVERSIONS else "no"
    return row | {"at least 0.95": verdict}


# ---------------------------------------------------------------- time

MOST_TIME = 1.5
TIMED: dict[str, Policy] = {
    "UniformPlay": ma.UniformPlay(),  # what the loop itself takes
    "Elimination": ma.Elimination(beta=1.0),
    "SSUCB": ma.SSUCB(beta=1.0),
    "Subsample(Greedy)": ma.Subsample(base=ma.Greedy(), beta=1.0),
}
LATE = {
    "Delayed(100)": ma.Delayed(100),
    "Delayed(LogUniform(1, 1000))": ma.Delayed(ma.LogUniform(1, 1000)),
}


def seconds(policy: Policy, world: ma.World, rounds: int) -> float:
    """One replication, without what is compiled and allocated for it."""
    run = Run(policy, Job(world, rounds, 1, 1, np.array([rounds])))
    states = run.states()
    began = time.perf_counter()
    run.play(0, 1, states)
    return time.perf_counter() - began


def time_rows(name: str, policy: Policy, rounds: int, turns: int) -> list[dict[str, Any]]:
    """The median of the ratios of turns: each plays at once, late, and at once again."""
    world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("1/t"))
    rows = []
    for said, feedback in LATE.items():
        late = world.replace(feedback=feedback)
        seconds(policy, world, 100), seconds(policy, late, 100)  # compiles
        ratios, costs = [], []
        for _ in range(turns):
            before, between, after = (seconds(policy, one, rounds) for one in (world, late, world))
            ratios.append(2.0 * between / (before + after))
            costs.append(0.5e9 * (before + after) / rounds)
        ratio = statistics.median(ratios)
        met = "yes" if ratio <= MOST_TIME else "no"
        rows.append(
            {
                "policy": name,
                "feedback": said,
                "ns a round at once": f"{statistics.median(costs):.0f}",
                "ratio": f"{ratio:.2f}",
                "at most 1.5": met,
            }
        )
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short runs, to see that it works")
    parser.add_argument("--only", choices=("batches", "conversions", "time"), help="one of the three")
    options = parser.parse_args()
    horizon, replications, counted = (2_000, 3, 1) if options.quick else (HORIZON, 20, 3)
    if options.only in (None, "batches"):
        print(f"Batches: crashes 5e-4 a play, beta 1, T = {horizon:,}, {replications} replications")
        rows = [
            row
            for name, policy in IN_BATCHES.items()
            for row in batch_rows(name, policy, horizon, replications, counted, options.seed)
        ]
        print(Table(rows), Table(forager_rows(horizon, replications, options.seed)), sep="\n\n", end="\n\n")
    if options.only in (None, "conversions"):
        long = 20_000 if options.quick else 100_000
        print(f"Conversions: delays log-uniform to the timeout of {TIMEOUT:,}, nothing changes, T = {long:,}")
        rows = [
            conversion_row(name, catalogue, long, min(replications, 10), options.seed)
            for name in CORRECTED
            for catalogue in CATALOGUES
        ]
        print(Table(rows), end="\n\n")
    if options.only in (None, "time"):
        rounds, turns = (10_000, 1) if options.quick else (1_000_000, 9)
        print(f"Time of a round over that with answers at once, {rounds:,} rounds, median of {turns}")
        print(Table([row for name, policy in TIMED.items() for row in time_rows(name, policy, rounds, turns)]))


if __name__ == "__main__":
    main()
