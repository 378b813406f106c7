"""Lower bound: how far is each policy from what nobody can beat, in worlds where it is hard to come near?

Three hard worlds, of the kind that lower bounds are proved with (Wang, Audibert & Munos 2008; Kim, Vojnovic & Yun
2024): nothing changes; every play wears its arm by V / T; all known arms break down together, season by season. In
the first and the last the bound is known with its constant, for coins and P(gap <= x) = x^beta, as T grows:

    (beta + 1)^(1/(beta+1)) n^(beta/(beta+1))        for n rounds without a change,

since a policy that knows the reservoir does best to keep arms with gap up to z, where E(z - gap)^+ = 1/n, and loses
n z. S seasons of T/S rounds are S such problems. For wear only the order V^(1/(beta+2)) T^((beta+1)/(beta+2)) is known.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...bases import UCB
from ...drifts import Drift, Rotting, Still, Turnover
from ...intervals import mean_and_half_width
from ...policies import AUCBTASW, SSUCB, Blackbox, Elimination, EmpiricalCBT, Forager, Policy
from ...reservoirs import PowerLaw
from ...tables import Table
from ...world import World
from ..figures.statistics import with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study

BETAS = (0.5, 1.0, 2.0)
HORIZONS = (2**14, 2**17, 2**20)
VARIATION = 16
SEASONS = 16


def still_bound(beta: float, rounds: float) -> float:
    """The least regret without a change, asymptotically.

    Examples
    --------
    >>> round(still_bound(1.0, 1_000_000))  # sqrt(2 n)
    1414
    """
    return float((beta + 1.0) ** (1.0 / (beta + 1.0)) * rounds ** (beta / (beta + 1.0)))


class Hard(NamedTuple):
    """A world, and what cannot be beaten in it."""

    drift: Callable[[int], Drift]  # of the horizon
    bound: Callable[[float, int], float]  # of beta and the horizon


HARD = {
    "still": Hard(drift=lambda horizon: Still(), bound=still_bound),
    f"V = {VARIATION}": Hard(
        drift=lambda horizon: Rotting(rate=VARIATION / horizon),
        bound=lambda beta, horizon: VARIATION ** (1.0 / (beta + 2.0)) * horizon ** ((beta + 1.0) / (beta + 2.0)),
    ),
    f"{SEASONS} seasons": Hard(
        drift=lambda horizon: Turnover(length=horizon // SEASONS),
        bound=lambda beta, horizon: SEASONS * still_bound(beta, horizon / SEASONS),
    ),
}


def policies(beta: float) -> dict[str, Policy]:
    """Those of the paper, calibrated and as its text says, its rivals, and ours that is told nothing."""
    return {
        "Elimination": Elimination(beta=beta),
        "Elimination, text": Elimination(beta=beta, preset="paper"),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=beta),
        "SSUCB": SSUCB(beta=beta),
        "AUCBT-ASW": AUCBTASW(),
        "EmpiricalCBT": EmpiricalCBT(),
        "Forager": Forager(),
    }


def lower_bound(replications: int = 60, seed: int = 1) -> Study:
    """The study.

    Examples
    --------
    >>> len(lower_bound().cells)
    189
    """
    cells = [
        Cell(f"{name}, beta {beta:g}", World(PowerLaw(beta=beta), hard.drift(horizon)), policy_name, policy, horizon)
        for beta in BETAS
        for name, hard in HARD.items()
        for horizon in HORIZONS
        for policy_name, policy in policies(beta).items()
    ]
    about = "How far is each policy from the lower bounds, in worlds where nobody can beat them?"
    return Study("lower-bound", tuple(cells), replications, seed, about=about)


def ratios(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Mean regret over the bound, with 95 % intervals, at each horizon."""
    named = {(r.cell.world_name, r.cell.policy_name, r.cell.horizon): r for r in results}
    rows = []
    for (name, hard), beta, policy in itertools.product(HARD.items(), BETAS, policies(BETAS[0])):
        found = {}
        for horizon in HORIZONS:
            regrets = named[f"{name}, beta {beta:g}", policy, horizon].final("regret")
            found[horizon] = mean_and_half_width(regrets / hard.bound(beta, horizon))
        row: dict[str, Any] = {"world": name, "beta": beta, "policy": policy}
        row |= {f"T = {horizon:,}": with_half_width(*ratio) for horizon, ratio in found.items()}
        rows.append(row | {"grows by": found[HORIZONS[-1]][0] / found[HORIZONS[0]][0]})
    return rows


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of this study says first."""
    return [
        Section(
            "Regret over the lower bound",
            (
                "How many times the lower bound each policy loses. In the world that stands still, and in seasons "
                "after each of which every known arm breaks down, the bound has its constant, (beta + "
                "1)^(1/(beta+1)) n^(beta/(beta+1)) for n rounds, and no policy can stay below 1 as T grows. Where "
                "arms wear, by V in all, only the order V^(1/(beta+2)) T^((beta+1)/(beta+2)) is known: there a "
                "ratio says nothing by itself, its growth does.",
                "Read along a row. The paper promises for Elimination that the ratio grows no faster than log^2 T, "
                f"which is by a factor of {(math.log(HORIZONS[-1]) / math.log(HORIZONS[0])) ** 2:.2f} over these "
                "horizons. A policy whose ratio grows by much more has the wrong rate in that world, or too large a "
                "constant for these horizons.",
            ),
            (Table(ratios(results)),),
        )
    ]


NAMED_STUDIES["lower-bound"] = lower_bound
FINDINGS["lower-bound"] = findings
