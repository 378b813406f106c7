"""Catalogues that nobody chose: heavy tails and rare rewards drawn at random, python verification/unseen_catalogues.py.

The reservoirs of the catalogue arena are few, and rules were made while looking at them. Here they are lists of means
drawn from a seed: click rates with log-normal and Pareto tails, completions, catalogues of which a part is worthless,
with averages from 0.2 % to 60 %. They wear, break down or stand still, at rates over two powers of ten; answers come at
once or in batches of 100. Everybody here is told nothing.

Prints what the Forager earns over the best of the others and over random arms, in every world, and writes it into
docs/catalogue.md, below the heading "Catalogues that nobody chose".
"""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import manyarms as ma
from manyarms.tables import Table

HEADING = "## Catalogues that nobody chose"
ARMS = 10_000
"""In a list of means; fresh arms are drawn from it again and again."""

POLICIES = {
    "Forager": ma.Forager(),
    "Subsample(Greedy), auto": ma.Subsample(ma.Greedy(), beta="auto", horizon="doubling"),
    "SSUCB, auto": ma.SSUCB(beta="auto", horizon="doubling"),
    "EmpiricalCBT, doubling": ma.EmpiricalCBT(horizon="doubling"),
    "random arms": ma.UniformPlay(),
}


def between(dice: np.random.Generator, least: float, most: float) -> float:
    """A number whose logarithm is uniform, to two digits."""
    return float(f"{math.exp(dice.uniform(math.log(least), math.log(most))):.2g}")


def log_normal(dice: np.random.Generator) -> tuple[str, np.ndarray]:
    """Click rates: most arms are poor, and a few are many times better."""
    median, spread = between(dice, 0.002, 0.03), between(dice, 0.5, 1.2)
    return f"log-normal around {median:.2%}, spread {spread:g}", median * np.exp(spread * dice.normal(size=ARMS))


def pareto(dice: np.random.Generator) -> tuple[str, np.ndarray]:
    """The same with a heavier tail."""
    least, exponent = between(dice, 0.001, 0.01), between(dice, 1.8, 4.0)
    return f"Pareto from {least:.2%}, exponent {exponent:g}", least * (1.0 + dice.pareto(exponent, size=ARMS))


def logit_normal(dice: np.random.Generator) -> tuple[str, np.ndarray]:
    """Completions: anything is possible, but seldom."""
    middle, spread = dice.uniform(0.1, 0.6), between(dice, 0.4, 1.2)
    odds = math.log(middle / (1.0 - middle)) + spread * dice.normal(size=ARMS)
    return f"logit-normal around {middle:.0%}, spread {spread:g}", 1.0 / (1.0 + np.exp(-odds))


def partly_worthless(dice: np.random.Generator) -> tuple[str, np.ndarray]:
    """Advertisements: a part is of no use to anybody."""
    share, shape, scale = dice.uniform(0.2, 0.8), between(dice, 0.5, 2.0), between(dice, 0.01, 0.1)
    means = np.where(dice.random(ARMS) < share, 1e-4, dice.gamma(shape, scale, size=ARMS))
    return f"{share:.0%} worthless, else Gamma({shape:g}, {scale:g})", means


RESERVOIRS: tuple[Callable[[np.random.Generator], tuple[str, np.ndarray]], ...] = (
    log_normal,
    pareto,
    logit_normal,
    partly_worthless,
)


def drifts(dice: np.random.Generator) -> dict[str, ma.Drift]:
    """One of each kind."""
    wear, crash = between(dice, 1e-4, 1e-2), between(dice, 1e-4, 1e-2)
    to = "fresh" if dice.random() < 0.5 else 0.0
    return {
        "still": ma.Still(),
        f"wear {100.0 * wear:g} %": ma.Rotting(f"{100.0 * wear:g}%"),
        f"crashes {crash:g}": ma.Crash(crash, to=to),
    }


class Unseen(NamedTuple):
    """A world, how long, and what to call it."""

    name: str
    kind: str  # of change
    world: ma.World
    horizon: int


def unseen_catalogues(each: int, horizons: tuple[int, ...], seed: int) -> list[Unseen]:
    """So many of every kind of reservoir, with every kind of change.

    Examples
    --------
    >>> len({one.name for one in unseen_catalogues(1, (1000,), seed=1)})
    12
    """
    dice = np.random.default_rng(seed)
    found = []
    for reservoir in RESERVOIRS:
        for _ in range(each):
            words, means = reservoir(dice)
            listed = ma.Empirical(tuple(map(float, np.clip(means, 1e-5, 0.99))))
            for change, drift in drifts(dice).items():
                horizon = int(dice.choice(horizons))
                in_batches = bool(dice.random() < 0.5)
                feedback = ma.Batches(100) if in_batches else ma.AtOnce()
                name = f"{words}; {change}{', batches' * in_batches}, T = {horizon:,}"
                world = ma.World(listed, drift, feedback=feedback)
                found.append(Unseen(name, change.partition(" ")[0], world, horizon))
    return found


def earned(one: Unseen, replications: int) -> dict[str, float]:
    """By everybody, a round: the means of the arms played."""
    result = ma.simulate(POLICIES, one.world, one.horizon, replications, 1, checkpoints=1)
    return {name: one.world.top - float(result.final_regret(name).mean()) / one.horizon for name in POLICIES}


def geometric(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    """Play, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2031)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent.parent / "docs" / "catalogue.md")
    options = parser.parse_args()
    each, horizons, replications = (1, (2000,), 2) if options.quick else (3, (10**4, 10**5), 20)
    began = time.perf_counter()
    rows = []
    ratios: dict[str, list[tuple[float, float]]] = {}
    for one in unseen_catalogues(each, horizons, options.seed):
        found = earned(one, replications)
        forager, random = found["Forager"], found["random arms"]
        best = max((name for name in POLICIES if name not in ("Forager", "random arms")), key=lambda name: found[name])
        over_best, over_random = forager / found[best], forager / random
        for kind in (one.kind, "all"):
            ratios.setdefault(kind, []).append((over_best, over_random))
        rows.append(
            {
                "world": one.name,
                "Forager": f"{forager:.4f}",
                "best of the others": best,
                "over it": f"{over_best:.2f}",
                "over random arms": f"{over_random:.2f}",
            }
        )
        print(rows[-1], flush=True)
    summary = Table(
        [
            {
                "worlds": f"{kind} ({len(found)})",
                "over the best of the others": f"{geometric([best for best, _ in found]):.2f}",
                "least": f"{min(best for best, _ in found):.2f}",
                "over random arms": f"{geometric([random for _, random in found]):.2f}",
                "the least": f"{min(random for _, random in found):.2f}",
            }
            for kind, found in ratios.items()
        ]
    )
    single = Table(rows)
    print(f"{single}\n\n{summary}\n\n{time.perf_counter() - began:.0f} s")
    if not options.quick:
        words = (
            f"`python verification/unseen_catalogues.py` draws catalogues from a seed ({options.seed}): four shapes, "
            f"{each} of each. They stand\nstill, wear by a share with every play, or break down; answers come at once "
            f"or in batches of 100; {replications} replications.\nReward of the `Forager` over that of the best of "
            "others who are told nothing, in geometric means:"
        )
        text = [HEADING, "", words, "", "```", str(summary), "```", "", "```", str(single), "```", ""]
        head, _, rest = options.file.read_text(encoding="utf-8").partition(HEADING)
        after = rest.partition("\n## ")
        text += [f"## {after[2]}"] if after[1] else []
        options.file.write_text(head.rstrip() + "\n\n" + "\n".join(text).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
