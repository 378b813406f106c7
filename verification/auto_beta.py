"""How good ``beta="auto"`` is, and where it is bad: python verification/auto_beta.py, some minutes on two cores.

Three questions, three tables:

1. What is the estimate after 10^3 … 10^6 rounds, for each true beta and each noise?
2. What does a policy lose by not being told beta, in still and in moving worlds?
3. And where no beta is right, because the reservoir is no power law?

The result is printed and written into docs/theory/auto-beta.md, below the heading "Tables".
"""

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import manyarms as ma
from manyarms.policies.tail import AUTO, estimated_beta
from manyarms.replication import Job, Run
from manyarms.tables import Table

HEADING = "## Tables"
BETAS = (0.3, 0.5, 1.0, 2.0, 4.0)
NOISES = (ma.Bernoulli(), ma.GapUniform(), ma.BetaNoise(10.0), ma.Exact())


class Player(NamedTuple):
    """A policy for each beta, and how many replications its regret needs."""

    make: Callable[[float | str], ma.Policy]
    replications: int


PLAYERS = {
    "Elimination": Player(lambda beta: ma.Elimination(beta=beta), 20),
    "Blackbox(UCB)": Player(lambda beta: ma.Blackbox(base=ma.UCB(), beta=beta), 20),
    "Blackbox(Greedy)": Player(lambda beta: ma.Blackbox(base=ma.Greedy(), beta=beta), 20),
    "Subsample(Greedy)": Player(lambda beta: ma.Subsample(base=ma.Greedy(), beta=beta), 200),
    "Subsample(Greedy), doubling": Player(
        lambda beta: ma.Subsample(base=ma.Greedy(), beta=beta, horizon="doubling"), 200
    ),
    "SSUCB": Player(lambda beta: ma.SSUCB(beta=beta), 60),
    "CBT": Player(lambda beta: ma.CBT(beta=beta), 200),
    "CBT, doubling": Player(lambda beta: ma.CBT(beta=beta, horizon="doubling"), 200),
    "UCBTASW": Player(lambda beta: ma.UCBTASW(beta=beta, variation=1.0, width=0.5), 40),
}


def estimates(policy: ma.Policy, world: ma.World, rounds: int, replications: int, seed: int) -> np.ndarray:
    """The estimate of each replication after so many rounds, for a run of that length."""
    run = Run(policy, Job(world, rounds, replications, seed, np.array([rounds])))
    states = run.states()
    found = []
    for replication in range(replications):
        run.play(replication, replication + 1, states)
        # What was counted is in arrays, which the last replication leaves behind.
        found.append(estimated_beta(states.policy.tail, float(np.log2(rounds))))
    return np.array(found)


def spread(values: np.ndarray) -> str:
    """Mean and standard deviation."""
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"


def table_of_estimates(players: dict[str, Player], betas: tuple[float, ...], horizons: dict[int, int], seed: int):
    """The estimate, for each player, noise and true beta: mean and standard deviation over replications."""
    rows = []
    for (name, player), noise, beta in itertools.product(players.items(), NOISES, betas):
        row: dict[str, object] = {"policy": name, "noise": type(noise).__name__, "beta": beta}
        for horizon, replications in horizons.items():
            world = ma.World(ma.PowerLaw(beta), noise=noise)
            row[f"{horizon:,}"] = spread(estimates(player.make(AUTO), world, horizon, replications, seed))
        rows.append(row)
        print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


def regrets(makers: dict[str, ma.Policy], world: ma.World, horizon: int, replications: int, seed: int):
    """The mean regret of each."""
    result = ma.simulate(makers, world, horizon, replications, seed, checkpoints=1)
    return {name: float(result.final_regret(name).mean()) for name in makers}


DRIFTS = {
    "still": ma.Still(),
    "wears 1/t": ma.Rotting("1/t"),
    "wears 0.001": ma.Rotting(0.001),
    "crashes 0.001": ma.Crash(0.001),
}


def table_of_ratios(players: dict[str, Player], horizon: int, seed: int) -> Table:
    """Regret with an estimated beta over regret with the true one, the geometric mean over two noises."""
    rows = []
    for (name, player), beta in itertools.product(players.items(), (0.5, 1.0, 2.0, 4.0)):
        row: dict[str, object] = {"policy": name, "beta": beta}
        for drift_name, drift in DRIFTS.items():
            ratios = []
            for noise in (ma.Bernoulli(), ma.GapUniform()):
                world = ma.World(ma.PowerLaw(beta), drift, noise)
                both = {"auto": player.make(AUTO), "told": player.make(beta)}
                found = regrets(both, world, horizon, player.replications, seed)
                ratios.append(found["auto"] / found["told"])
            row[drift_name] = f"{np.sqrt(np.prod(ratios)):.2f}"
        rows.append(row)
        print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


RESERVOIRS = {
    "Beta(2, 3)": ma.BetaDistributed(2.0, 3.0),
    "Beta(1/2, 1/2)": ma.BetaDistributed(0.5, 0.5),
    "1 in 10 good": ma.Mixture((ma.Uniform(0.0, 0.5), ma.PowerLaw(2.0)), weights=(9.0, 1.0)),
    "1 in 100 good": ma.Mixture((ma.Uniform(0.0, 0.5), ma.PowerLaw(0.5)), weights=(99.0, 1.0)),
    "top 0.8, not told": ma.PowerLaw(1.0, top=0.8),
    "top 0.3, not told": ma.PowerLaw(1.0, top=0.3),
}


def table_of_misfits(players: dict[str, Player], horizon: int, seed: int) -> Table:
    """Coins that stand still, of reservoirs that are no power laws: over a grid's best beta, and over the tail's."""
    rows = []
    for (label, reservoir), (name, player) in itertools.product(RESERVOIRS.items(), players.items()):
        world = ma.World(reservoir)
        assert reservoir.tail is not None
        grid = {f"{beta:g}": player.make(beta) for beta in sorted({0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, reservoir.tail})}
        found = regrets(grid | {AUTO: player.make(AUTO)}, world, horizon, player.replications, seed)
        best = min(grid, key=lambda beta: found[beta])
        rows.append(
            {
                "reservoir": label,
                "policy": name,
                "tail": reservoir.tail,
                "best beta": best,
                "estimate": spread(estimates(player.make(AUTO), world, horizon, 10, seed)),
                "auto / best": f"{found[AUTO] / found[best]:.2f}",
                "auto / tail": f"{found[AUTO] / found[f'{reservoir.tail:g}']:.2f}",
            }
        )
        print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


def main() -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2025)
    page = Path(__file__).parent.parent / "docs" / "theory" / "auto-beta.md"
    parser.add_argument("--file", type=Path, default=page)
    options = parser.parse_args()
    long = 1_000 if options.quick else 100_000
    horizons = {1_000: 10} if options.quick else {1_000: 40, 10_000: 20, 100_000: 10, 1_000_000: 4}
    first = {name: PLAYERS[name] for name in ("Elimination",)}
    others = {name: player for name, player in PLAYERS.items() if name not in first}
    plain = ("Elimination", "Blackbox(UCB)", "Subsample(Greedy)", "SSUCB", "CBT")
    sections = [
        (
            "Estimates of Elimination by rounds: mean and standard deviation of replications.",
            table_of_estimates(first, BETAS, horizons, options.seed),
        ),
        (
            f"Estimates of the others after {long:,} rounds.",
            table_of_estimates(others, (0.3, 1.0, 4.0), {long: 10}, options.seed),
        ),
        (
            f"Regret with auto over regret told beta, T = {long:,}: geometric mean of Bernoulli and GapUniform.",
            table_of_ratios(PLAYERS, long, options.seed),
        ),
        (
            f"Reservoirs that are no power laws, Bernoulli, nothing changes, T = {long:,}: regret with auto over that "
            "with the best beta of a grid, and over that with the tail's exponent.",
            table_of_misfits({name: PLAYERS[name] for name in plain}, long, options.seed),
        ),
    ]
    text = [HEADING, "", f"Made by `python verification/auto_beta.py` with seed {options.seed}."]
    for words, table in sections:
        print(f"\n{words}\n{table}")
        text += ["", words, "", "```", str(table), "```"]
    if not options.quick:
        head = options.file.read_text(encoding="utf-8").partition(HEADING)[0]
        options.file.write_text(head + "\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
