"""What a round costs here, and with what one would use otherwise: make bench-peers.

The same small problem for all: UCB on a fixed sample of arms, Bernoulli rewards, nothing changes.
Timed, in one process and in turns:

- manyarms, ``simulate`` (compiled) and ``Bandit`` (live);
- a plain NumPy loop with a dense argmax, as one would write it in an afternoon;
- river's ``bandit.UCB`` and MABWiser's ``UCB1``, called as their documentation shows.

The others do not have reservoirs, drifts or restarts; this compares loops, not features. Their
random numbers differ, so only times are compared. Missing packages are left out with a word.
"""

import argparse
import json
import math
import time
from collections.abc import Callable

import numpy as np

import manyarms as ma
from manyarms.tables import Table

ARMS = (10, 100, 1000)


def manyarms_simulated(arms: int) -> tuple[float, int]:
    """Seconds for rounds of a compiled simulation."""
    rounds = 2_000_000
    policy = ma.Subsample(base=ma.UCB(), beta=1.0, arms=arms)
    world = ma.World(ma.PowerLaw(beta=1.0))
    ma.simulate(policy, world, 1000, seed=1)
    began = time.perf_counter()
    ma.simulate(policy, world, rounds, seed=1, threads=1)
    return time.perf_counter() - began, rounds


def manyarms_live(arms: int) -> tuple[float, int]:
    """Seconds for rounds of ask and tell."""
    rounds = 5_000
    bandit = ma.Bandit(ma.Subsample(base=ma.UCB(), beta=1.0, arms=arms, horizon=rounds), seed=1)
    means = np.random.default_rng(1).random(arms)
    noise = np.random.default_rng(2).random(rounds)
    began = time.perf_counter()
    for round in range(rounds):
        decision = bandit.ask()
        bandit.tell(decision, 1.0 if noise[round] < means[decision.arm] else 0.0)
    return time.perf_counter() - began, rounds


def numpy_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of a plain NumPy loop."""
    rounds = 20_000
    random = np.random.default_rng(1)
    means = random.random(arms)
    sums, plays = np.zeros(arms), np.zeros(arms)
    log_horizon = math.log(rounds)
    began = time.perf_counter()
    for round in range(rounds):
        arm = round if round < arms else int(np.argmax(sums / plays + np.sqrt(2.0 * log_horizon / plays)))
        reward = 1.0 if random.random() < means[arm] else 0.0
        sums[arm] += reward
        plays[arm] += 1
    return time.perf_counter() - began, rounds


def river_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of river's UCB."""
    from river import bandit

    rounds = max(200, 20_000 // arms)
    random = np.random.default_rng(1)
    means = random.random(arms)
    policy = bandit.UCB(delta=1.0, seed=1)
    names = list(range(arms))
    for arm in names:
        policy.update(arm, float(random.random() < means[arm]))
    began = time.perf_counter()
    for _ in range(rounds):
        arm = policy.pull(names)
        policy.update(arm, float(random.random() < means[arm]))
    return time.perf_counter() - began, rounds


def mabwiser_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of MABWiser's UCB1."""
    from mabwiser.mab import MAB, LearningPolicy

    rounds = max(50, 5_000 // arms)
    random = np.random.default_rng(1)
    means = random.random(arms)
    names = list(range(arms))
    policy = MAB(names, LearningPolicy.UCB1(alpha=1.0))
    policy.fit(names, [float(random.random() < means[arm]) for arm in names])
    began = time.perf_counter()
    for _ in range(rounds):
        arm = policy.predict()
        policy.partial_fit([arm], [float(random.random() < means[arm])])
    return time.perf_counter() - began, rounds


LOOPS: dict[str, Callable[[int], tuple[float, int]]] = {
    "manyarms, simulated": manyarms_simulated,
    "manyarms, live": manyarms_live,
    "NumPy loop": numpy_loop,
    "river": river_loop,
    "MABWiser": mabwiser_loop,
}


def main() -> None:
    """Time everything in turns and print microseconds a round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    microseconds: dict[str, dict[int, float]] = {}
    for _ in range(options.turns):
        for name, loop in LOOPS.items():
            for arms in ARMS:
                try:
                    seconds, rounds = loop(arms)
                except ImportError as error:
                    if name not in microseconds:
                        print(f"left out: {name} ({error})")
                    microseconds[name] = {}
                    break
                found = microseconds.setdefault(name, {})
                found[arms] = min(found.get(arms, math.inf), seconds / rounds * 1e6)
    if options.json:
        print(json.dumps(microseconds, indent=1))
        return
    rows = []
    for name, found in microseconds.items():
        if found:
            row: dict[str, float | str] = {"one round, in µs": name}
            row |= {f"{arms:,} arms": found[arms] for arms in ARMS}
            row["times manyarms at 1,000"] = found[1000] / microseconds["manyarms, simulated"][1000]
            rows.append(row)
    print(Table(rows))


if __name__ == "__main__":
    main()
