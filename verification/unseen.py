"""Worlds that nobody chose: the arena's entrants in worlds drawn at random, python verification/unseen.py.

Settings and rules were made with worlds in mind, if only to try them. Here the worlds come from a seed: a dozen kinds
of change, four worlds of each, with rates over one to four powers of ten, betas from 0.3 to 4, noises and horizons
all drawn; but all reservoirs are `PowerLaw`, with means up to 1. Thompson sampling stays away, as it does from most of
the arena, for its time. Prints all ratios of the star, and writes them into docs/arena.md, below the heading "Worlds
that nobody chose".
"""

import argparse
import dataclasses
import math
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import manyarms as ma
from manyarms.lab.arena.scores import Scores, contest_rows, star_rows
from manyarms.lab.arena.tables import ENTRANTS, STAR, Contest
from manyarms.tables import Table

HEADING = "## Worlds that nobody chose"
KNOWN = [entrant for entrant in ENTRANTS if "Thompson" not in entrant.name]


@dataclasses.dataclass(frozen=True)
class Unseen:
    """Like a contest, but of neither half."""

    name: str
    beta: float
    noise: str
    horizon: int
    world: ma.World
    falls: float
    is_still: bool
    half: str = "unseen"


def between(chance: random.Random, least: float, most: float) -> float:
    """A number whose logarithm is uniform, to two digits."""
    return float(f"{math.exp(chance.uniform(math.log(least), math.log(most))):.2g}")


def wear(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Every play takes the same."""
    rate = between(chance, 1e-5, 0.1)
    return ma.Rotting(rate=rate), rate * horizon


def slowing_wear(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """A play at round t takes c / t."""
    scale = between(chance, 0.3, 10.0)
    return ma.Rotting(rate=f"{scale:g}/t"), scale * math.log(horizon)


def wear_by_share(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Every play takes a share of the mean."""
    share = between(chance, 1e-5, 0.01)
    return ma.Rotting(rate=f"{100.0 * share:g}%"), share * horizon


def rise(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Every play gives."""
    return ma.Rising(rate=between(chance, 0.3, 30.0) / horizon), 0.0


def crash(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Arms break down, to 0 or to a fresh mean."""
    crashes = between(chance, 3.0, 0.01 * horizon)
    return ma.Crash(probability=crashes / horizon, to=chance.choice([0.0, "fresh"])), crashes


def jump(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Arms fall at a play of their own."""
    play, size = int(between(chance, 10.0, horizon / 4.0)), between(chance, 0.1, 0.9)
    return ma.JumpAt(play=play, size=-size), size * horizon / play


def seasons(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """All known arms die together, again and again."""
    number = between(chance, 3.0, 200.0)
    return ma.Turnover(length=int(horizon / number)), number


def walk(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Means wander."""
    size = between(chance, 1e-4, 0.1)
    return ma.RandomWalk(size=size), size * horizon / 4.0


def fatigue(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Arms fall after a honeymoon."""
    lives, fall = between(chance, 3.0, 300.0), between(chance, 0.1, 10.0)
    return ma.Fatigue(after=int(horizon / lives), rate=lives / (fall * horizon)), lives / (1.0 + fall)


def adversary(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Somebody hits the arm leaned on."""
    hits, size = between(chance, 5.0, 200.0), between(chance, 0.1, 0.5)
    return ma.Adversary(patience=int(horizon / hits), size=size), hits * size


def phases(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Arms wear and then rise, or the other way round."""
    rates = [between(chance, 0.3, 100.0) / horizon for _ in range(2)]
    parts = (ma.Rotting(rate=rates[0]), ma.Rising(rate=rates[1]))
    ends = (int(horizon * chance.uniform(0.2, 0.8)),)
    return ma.Phases(parts if chance.random() < 0.5 else parts[::-1], ends=ends), rates[0] * horizon / 2.0


def still(chance: random.Random, horizon: int) -> tuple[ma.Drift, float]:
    """Nothing changes."""
    return ma.Still(), 0.0


KINDS: tuple[Callable[[random.Random, int], tuple[ma.Drift, float]], ...] = (
    still,
    wear,
    slowing_wear,
    wear_by_share,
    rise,
    crash,
    jump,
    seasons,
    walk,
    fatigue,
    adversary,
    phases,
)


def unseen_worlds(each: int, horizons: tuple[int, ...], seed: int) -> list[Unseen]:
    """So many of every kind.

    Examples
    --------
    >>> len({one.name for one in unseen_worlds(2, (1000,), seed=1)})
    24
    """
    chance = random.Random(seed)
    found = []
    for kind in KINDS:
        for number in range(1, each + 1):
            beta, horizon = between(chance, 0.3, 4.0), chance.choice(horizons)
            noise = chance.choice([ma.Bernoulli(), ma.GapUniform(), ma.BetaNoise(between(chance, 0.5, 200.0))])
            drift, falls = kind(chance, horizon)
            words = "coins" if noise == ma.Bernoulli() else "other noise"
            name = f"{kind.__name__.replace('_', ' ')} {number}, beta {beta:g}, {words}, T = {horizon:,}"
            world = ma.World(ma.PowerLaw(beta=beta), drift, noise)
            found.append(Unseen(name, beta, words, horizon, world, falls, is_still=kind is still))
    return found


def regrets(contest: Contest, replications: int) -> dict[tuple[str, str], np.ndarray]:
    """Of everybody, in one world."""
    policies = {name: policy for entrant in KNOWN for name, policy in entrant.policies(contest).items()}
    result = ma.simulate(policies, contest.world, contest.horizon, replications, 1, checkpoints=1, threads=1)
    return {(contest.name, name): result.final_regret(name) for name in policies}


def main() -> None:
    """Play, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent.parent / "docs" / "arena.md")
    options = parser.parse_args()
    each, horizons, replications = (1, (2000,), 2) if options.quick else (4, (10**4, 3 * 10**4, 10**5, 3 * 10**5), 20)
    began = time.perf_counter()
    worlds = unseen_worlds(each, horizons, options.seed)
    played: dict[tuple[str, str], np.ndarray] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(regrets, worlds, [replications] * len(worlds)):
            played |= found
    scores = Scores.of(worlds, KNOWN, played)
    summary = Table([without(row, "tuning half", "test half") for row in star_rows(scores, STAR)])
    single = Table([without(row, "half") for row in contest_rows(scores, STAR)])
    print(f"{single}\n\n{summary}\n\n{time.perf_counter() - began:.0f} s")
    if not options.quick:
        words = (
            f"`python verification/unseen.py` draws worlds from a seed ({options.seed}): {len(KINDS)} kinds of change, "
            f"{each} of each,\nwith all rates, betas, noises and horizons at random; {replications} replications. All "
            f"means are up to 1\n(`PowerLaw`). The `{STAR}` against the best of all "
            "other entrants,\nthose with Thompson sampling left out:"
        )
        text = [HEADING, "", words, "", "```", str(summary), "```", "", "```", str(single), "```", ""]
        head = options.file.read_text(encoding="utf-8").partition(HEADING)[0]
        options.file.write_text(head.rstrip() + "\n\n" + "\n".join(text), encoding="utf-8")


def without(row: dict[str, Any], *columns: str) -> dict[str, Any]:
    """A row of a table, with some columns left out."""
    return {name: value for name, value in row.items() if name not in columns}


if __name__ == "__main__":
    main()
