"""What a round costs here, and with what one would use otherwise: make bench-peers.

The same small problem for all: UCB or KL-UCB on a fixed sample of arms, Bernoulli rewards, nothing changes.
Timed, in one process and in turns:

- manyarms, ``simulate`` (compiled: ``UCB``, ``SSUCB`` and ``KLUCB``) and ``Bandit`` (live);
- a plain NumPy loop with a dense argmax, as one would write it in an afternoon;
- river's ``bandit.UCB``, MABWiser's ``UCB1``, SMPyBandits' ``UCB`` and ``klUCB``, and PyMAB's ``UCBPolicy`` and
  ``KLUCBPolicy``, called as their documentation shows: choose, draw a reward, update;
- the same two of PyMAB in its own ``Experiment``, which is compiled and keeps what happened in every round.

The others have had one reward of every arm before they are timed. They do not have reservoirs, drifts or restarts;
this compares loops, not features. Their indices grow with the logarithm of the round, those of manyarms are made
for the horizon, so that only one of them moves in a round. Their random numbers differ, so only times are compared:
those of the processor, of which others that use it take nothing, and the least of the turns.
Missing packages are left out with a word.
"""

import argparse
import contextlib
import functools
import importlib.metadata
import io
import json
import math
import sys
import time
from collections.abc import Callable

import numpy as np

import manyarms as ma
from manyarms.tables import Table

ARMS = (10, 100, 1000)

PACKAGES = ("river", "mabwiser", "SMPyBandits", "pymab")


def coins(arms: int) -> Callable[[int], float]:
    """A reward of an arm, 0 or 1."""
    random = np.random.default_rng(1)
    means = random.random(arms)
    return lambda arm: float(random.random() < means[arm])


def manyarms_simulated(policy: ma.Subsample | ma.SSUCB, arms: int) -> tuple[float, int]:
    """Seconds for rounds of a compiled simulation."""
    horizon, runs = 100_000, 20
    world = ma.World(ma.PowerLaw(beta=1.0))
    ma.simulate(policy.replace(arms=arms), world, 1000, seed=1)
    began = time.process_time()
    ma.simulate(policy.replace(arms=arms), world, horizon, replications=runs, seed=1, threads=1)
    return time.process_time() - began, horizon * runs


def manyarms_live(arms: int) -> tuple[float, int]:
    """Seconds for rounds of ask and tell."""
    rounds = 5_000
    bandit = ma.Bandit(ma.Subsample(base=ma.UCB(), beta=1.0, arms=arms, horizon=rounds), seed=1)
    means = np.random.default_rng(1).random(arms)
    noise = np.random.default_rng(2).random(rounds)
    began = time.process_time()
    for round in range(rounds):
        decision = bandit.ask()
        bandit.tell(decision, 1.0 if noise[round] < means[decision.arm] else 0.0)
    return time.process_time() - began, rounds


def numpy_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of a plain NumPy loop."""
    rounds = 20_000
    random = np.random.default_rng(1)
    means = random.random(arms)
    sums, plays = np.zeros(arms), np.zeros(arms)
    log_horizon = math.log(rounds)
    began = time.process_time()
    for round in range(rounds):
        arm = round if round < arms else int(np.argmax(sums / plays + np.sqrt(2.0 * log_horizon / plays)))
        reward = 1.0 if random.random() < means[arm] else 0.0
        sums[arm] += reward
        plays[arm] += 1
    return time.process_time() - began, rounds


def river_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of river's UCB."""
    from river import bandit

    rounds = max(200, 20_000 // arms)
    reward_of = coins(arms)
    policy = bandit.UCB(delta=1.0, seed=1)
    names = list(range(arms))
    for arm in names:
        policy.update(arm, reward_of(arm))
    began = time.process_time()
    for _ in range(rounds):
        arm = policy.pull(names)
        policy.update(arm, reward_of(arm))
    return time.process_time() - began, rounds


def mabwiser_loop(arms: int) -> tuple[float, int]:
    """Seconds for rounds of MABWiser's UCB1."""
    from mabwiser.mab import MAB, LearningPolicy

    rounds = max(50, 5_000 // arms)
    reward_of = coins(arms)
    names = list(range(arms))
    policy = MAB(names, LearningPolicy.UCB1(alpha=1.0))
    policy.fit(names, [reward_of(arm) for arm in names])
    began = time.process_time()
    for _ in range(rounds):
        arm = policy.predict()
        policy.partial_fit([arm], [reward_of(arm)])
    return time.process_time() - began, rounds


def smpybandits_loop(name: str, arms: int) -> tuple[float, int]:
    """Seconds for rounds of a policy of SMPyBandits."""
    import scipy.special

    # Loaded with all policies, and asked for by one that is not timed; SciPy has dropped it since.
    scipy.special.btdtri = scipy.special.betaincinv
    with contextlib.redirect_stdout(io.StringIO()):  # it prints which optional packages there are not
        from SMPyBandits import Policies

    rounds = max(20, 2_000 // arms)
    reward_of = coins(arms)
    policy = getattr(Policies, name)(arms)
    policy.startGame()
    for arm in range(arms):
        policy.getReward(arm, reward_of(arm))
    began = time.process_time()
    for _ in range(rounds):
        arm = policy.choice()
        policy.getReward(arm, reward_of(arm))
    return time.process_time() - began, rounds


def pymab_loop(name: str, arms: int) -> tuple[float, int]:
    """Seconds for rounds of a policy of PyMAB."""
    from pymab import policies

    rounds = max(200, 20_000 // arms)
    reward_of = coins(arms)
    random = np.random.default_rng(2)
    policy = getattr(policies, name)(n_arms=arms)
    for arm in range(arms):
        policy.update(action=arm, reward=reward_of(arm))
    began = time.process_time()
    for _ in range(rounds):
        arm = policy.select_action(rng=random)
        policy.update(action=arm, reward=reward_of(arm))
    return time.process_time() - began, rounds


def pymab_experiment(name: str, arms: int) -> tuple[float, int]:
    """Seconds for rounds of a policy of PyMAB in its own loop, of which each arm takes one at first."""
    import pymab

    rounds = 2 * arms + 1_000
    means = np.random.default_rng(1).random(arms)
    experiment = pymab.Experiment(
        environment=pymab.BanditEnvironment(means=means, reward_model=pymab.BernoulliReward()),
        policies={name: getattr(pymab.policies, name)(n_arms=arms)},
        config=pymab.ExperimentConfig(horizon=rounds, n_replicates=1, seed=1),
    )
    began = time.process_time()
    experiment.run()
    return time.process_time() - began, rounds


SSUCB = "manyarms, SSUCB"
KLUCB = "manyarms, KLUCB"

LOOPS: dict[str, Callable[[int], tuple[float, int]]] = {
    "manyarms, UCB": functools.partial(manyarms_simulated, ma.Subsample(base=ma.UCB(), beta=1.0)),
    SSUCB: functools.partial(manyarms_simulated, ma.SSUCB(beta=1.0)),
    KLUCB: functools.partial(manyarms_simulated, ma.Subsample(base=ma.KLUCB(), beta=1.0)),
    "manyarms, UCB live": manyarms_live,
    "NumPy loop, UCB": numpy_loop,
    "river, UCB": river_loop,
    "MABWiser, UCB1": mabwiser_loop,
    "SMPyBandits, UCB": functools.partial(smpybandits_loop, "UCB"),
    "SMPyBandits, klUCB": functools.partial(smpybandits_loop, "klUCB"),
    "PyMAB, UCB": functools.partial(pymab_loop, "UCBPolicy"),
    "PyMAB, KL-UCB": functools.partial(pymab_loop, "KLUCBPolicy"),
    "PyMAB, UCB, experiment": functools.partial(pymab_experiment, "UCBPolicy"),
    "PyMAB, KL-UCB, experiment": functools.partial(pymab_experiment, "KLUCBPolicy"),
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
                        print(f"left out: {name} ({error})", file=sys.stderr)
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
            most = ARMS[-1]
            for ours in (SSUCB, KLUCB):
                row[f"over {ours.split()[-1]} at {most:,}"] = found[most] / microseconds[ours][most]
            rows.append(row)
    print(Table(rows))
    print(", ".join(f"{package} {version}" for package, version in versions().items()))


def versions() -> dict[str, str]:
    """Of the packages that are there."""
    found = {}
    for package in ("numpy", *PACKAGES):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


if __name__ == "__main__":
    main()
