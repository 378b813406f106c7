"""Three remarks of Suk & Kim, as studies.

`remark-elimination` (Section 6): Algorithm 2 "can essentially be reformulated" as Algorithm 1 over successive
elimination.

`remark-kappa-2` (Section 6): the bound of Algorithm 2 does not depend on kappa_2, the upper bound on how many good arms
there are; that of Algorithm 1 does.

`remark-unplayed` (Section 2.1): other authors let arms change that are not played, "which is equivalent to our setting
with a different accounting of changes". That is so for arms that were never played. One that waits to be played again
may have changed meanwhile: what does that do to policies that come back to arms?
"""

import itertools
from collections.abc import Sequence
from typing import Any

from ...bases import UCB, Greedy, SuccessiveElimination
from ...drifts import Crash, Drift, RandomWalk, Rotting
from ...policies import AUCBTASW, SSUCB, Blackbox, Elimination, EmpiricalCBT, Forager, Policy, Subsample
from ...reservoirs import Empirical, Mixture, PowerLaw
from ...tables import Table
from ...world import World
from ..figures.statistics import Slope, difference, slope_over_horizons, with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study
from .known import Place, place_of
from .restless import Restless

Named = dict[Place, CellResult]


def named(results: Sequence[CellResult]) -> Named:
    """Results by world, policy and horizon."""
    return {place_of(result.cell): result for result in results}


def mean_regret(result: CellResult) -> float:
    """On average, at the end."""
    return float(result.final("regret").mean())


# ---------------------------------------------------------------- Algorithm 2 as an Algorithm 1

BETAS = (0.5, 1.0, 2.0)
LENGTHS = (10_000, 100_000)

CHANGES: dict[str, Drift] = {
    "still": Crash(probability=0.0, to=0.0),  # of the same type as crashes: less is compiled
    "crashes": Crash(probability=3e-4, to=0.0),
    "wear": Rotting(1e-4),
}
"""By world."""


def elimination_policies(beta: float) -> dict[str, Policy]:
    """Algorithm 2, and Algorithm 1 over two bases: calibrated, and with the constants of the text."""
    return {
        "Elimination": Elimination(beta=beta),
        "Blackbox(SE)": Blackbox(base=SuccessiveElimination(), beta=beta),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=beta),
        "Elimination, text": Elimination(beta=beta, preset="paper", log_factor=False),
        "Blackbox(SE), text": Blackbox(base=SuccessiveElimination(), beta=beta, preset="paper"),
        "Blackbox(UCB), text": Blackbox(base=UCB(), beta=beta, preset="paper"),
    }


def elimination_as_blackbox(replications: int = 50, seed: int = 1) -> Study:
    """The study of Algorithm 2 as an Algorithm 1.

    Examples
    --------
    >>> len(elimination_as_blackbox().cells)
    108
    """
    cells = [
        Cell(f"{name}, beta {beta:g}", World(PowerLaw(beta=beta), drift), policy_name, policy, horizon)
        for (name, drift), beta, horizon in itertools.product(CHANGES.items(), BETAS, LENGTHS)
        for policy_name, policy in elimination_policies(beta).items()
    ]
    about = "Algorithm 2 and Algorithm 1 over successive elimination: are they essentially the same?"
    return Study("remark-elimination", tuple(cells), replications, seed, about=about)


def elimination_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Regret of every policy at the longest horizon, one row for each world."""
    found = named(results)
    rows = []
    for name, beta in itertools.product(CHANGES, BETAS):
        world = f"{name}, beta {beta:g}"
        means = {policy: mean_regret(found[world, policy, LENGTHS[-1]]) for policy in elimination_policies(beta)}
        rows.append({"world": world} | {policy: round(mean) for policy, mean in means.items()})
    return rows


def elimination_slopes(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """By which power of T regret grows from the first horizon to the last, where nothing changes."""
    found = named(results)
    rows = []
    for beta in BETAS:
        row: dict[str, Any] = {"beta": beta, "beta/(beta+1)": round(beta / (beta + 1.0), 3)}
        for policy in elimination_policies(beta):
            slope: Slope = slope_over_horizons([found[f"still, beta {beta:g}", policy, horizon] for horizon in LENGTHS])
            row[policy] = with_half_width(slope.slope, slope.half_width, digits=2)
        rows.append(row)
    return rows


def elimination_findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report says first."""
    words = (
        "Suk & Kim, Section 6: Algorithm 2 can essentially be reformulated as Algorithm 1 over successive "
        "elimination. Both drop arms of a block and restart from the smallest one. But Algorithm 2 holds the losses "
        "of each arm, counted from the known top, against a threshold, and restarts when no arm is left; Algorithm 1 "
        "sums the losses of the block, and its base (SE, Even-Dar, Mannor & Mansour 2006) drops arms that are two of "
        "Hoeffding's radii below the best, which takes 8 log(2 K T^2) / gap^2 plays of each, however little rewards "
        "vary near the top.",
        f"Regret at T = {LENGTHS[-1]:,}. Left, calibrated; right, the constants of the text (1, logarithms to base 2, "
        "Elimination without the log factor), with which hardly any arm is dropped at such horizons.",
    )
    growth = f"By which power of T regret grows from {LENGTHS[0]:,} to {LENGTHS[-1]:,} rounds where nothing changes."
    return [
        Section("Algorithm 2 as Algorithm 1", words, (Table(elimination_rows(results)),)),
        Section("Growth", (growth,), (Table(elimination_slopes(results)),)),
    ]


# ---------------------------------------------------------------- no dependence on kappa_2

GAPS = (0.2, 0.1, 0.05, 0.02, 0.0)
"""Of the arms that make up the other half of the reservoir."""

WORTHLESS = "worthless half"
KAPPA_BETAS = (1.0, 2.0)
KAPPA_HORIZONS = (16_384, 131_072)


def reservoirs(beta: float) -> dict[str, Mixture]:
    """Half of the arms follow the power law, half are all alike: worthless, or of a small gap."""
    halves = {WORTHLESS: 0.0} | {f"half at gap {gap:g}": 1.0 - gap for gap in GAPS}
    return {name: Mixture((PowerLaw(beta=beta), Empirical((mean,)))) for name, mean in halves.items()}


def kappa_policies(beta: float) -> dict[str, Policy]:
    """The paper's two; two rivals, of which one is told nothing."""
    return {
        "Elimination": Elimination(beta=beta),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=beta),
        "SSUCB": SSUCB(beta=beta),
        "Forager": Forager(),
    }


def kappa_2(replications: int = 40, seed: int = 1) -> Study:
    """The study of kappa_2.

    Examples
    --------
    >>> len(kappa_2().cells)
    96
    """
    cells = [
        Cell(f"{name}, beta {beta:g}", World(reservoir), policy_name, policy, horizon)
        for beta in KAPPA_BETAS
        for name, reservoir in reservoirs(beta).items()
        for horizon in KAPPA_HORIZONS
        for policy_name, policy in kappa_policies(beta).items()
    ]
    about = "Reservoirs with far more good arms than kappa_2 allows: who pays for it?"
    return Study("remark-kappa-2", tuple(cells), replications, seed, about=about)


def least_kappa_2(gap: float, beta: float) -> str:
    """The least kappa_2 with P(mean > 1 - x) <= kappa_2 x^beta for a half of gap ``gap``, to three digits."""
    return f"{0.5 + 0.5 * gap**-beta:.3g}" if gap > 0.0 else "none"


def kappa_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Regret over that with a worthless half, at each horizon."""
    found = named(results)
    rows = []
    for beta, gap, horizon in itertools.product(KAPPA_BETAS, GAPS, KAPPA_HORIZONS):
        row: dict[str, Any] = {
            "beta": beta,
            "half at gap": gap,
            "kappa_2": least_kappa_2(gap, beta),
            "T": f"{horizon:,}",
        }
        for policy in kappa_policies(beta):
            plain = mean_regret(found[f"{WORTHLESS}, beta {beta:g}", policy, horizon])
            row[policy] = mean_regret(found[f"half at gap {gap:g}, beta {beta:g}", policy, horizon]) / plain
        rows.append(row)
    return rows


def kappa_findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report says first."""
    words = (
        "Suk & Kim assume kappa_1 x^beta <= P(mean > 1 - x) <= kappa_2 x^beta. Their bound for Elimination has no "
        "kappa_2 in it, that for the blackbox has. In all reservoirs here half of the arms follow the power law, so "
        "kappa_1 is 1/2; the other half are all alike. Where they are worthless, kappa_2 is 1/2; where they have a "
        "small gap, it is large, and where they are perfect there is none.",
        "Numbers are regret over that with a worthless half. A bound without kappa_2 allows no more than a constant "
        "there, however small the gap. Nothing changes in these worlds.",
    )
    return [Section("Regret, and kappa_2", words, (Table(kappa_rows(results)),))]


# ---------------------------------------------------------------- arms that change while they wait

UNPLAYED_HORIZON = 50_000

MOVES: dict[str, Drift] = {
    "wear": Rotting(1e-4),
    "breakdowns": Crash(probability=3e-4, to=0.0),
    "new means": Crash(probability=3e-4),
    "random walk": RandomWalk(0.01),
}
"""By name, what a play does to its arm; or a round to every known arm."""

KINDS: dict[str, type[World]] = {"rested": World, "restless": Restless}


def unplayed_policies() -> dict[str, Policy]:
    """Those that return to arms, and one that never does."""
    return {
        "Elimination": Elimination(beta=1.0),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=1.0),
        "SSUCB": SSUCB(beta=1.0),
        "SS-Greedy": Subsample(base=Greedy(), beta=1.0),
        "EmpiricalCBT": EmpiricalCBT(),
        "Forager": Forager(),
        "AUCBT-ASW": AUCBTASW(),
    }


def unplayed(replications: int = 20, seed: int = 1) -> Study:
    """The study of arms that change while they wait.

    Examples
    --------
    >>> len(unplayed().cells)
    56
    """
    worlds = {
        f"{move}, {kind}": make(PowerLaw(beta=1.0), MOVES[move]) for move in MOVES for kind, make in KINDS.items()
    }
    about = "Arms that change while they are not played: what does that do to policies that come back to them?"
    return Study.of("remark-unplayed", unplayed_policies(), worlds, [UNPLAYED_HORIZON], replications, seed, about=about)


def unplayed_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Regret where arms wait unchanged and where they do not, and the paired difference."""
    found = named(results)
    rows = []
    for move, policy in itertools.product(MOVES, unplayed_policies()):
        rested, restless = (found[f"{move}, {kind}", policy, UNPLAYED_HORIZON] for kind in KINDS)
        more = difference(restless, rested)
        rows.append(
            {
                "each round": move,
                "policy": policy,
                "rested": round(mean_regret(rested)),
                "restless": round(mean_regret(restless)),
                "more": with_half_width(more.mean, more.half_width),
                "factor": mean_regret(restless) / mean_regret(rested),
            }
        )
    return rows


def unplayed_findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report says first."""
    words = (
        "In Suk & Kim's model, as in all worlds of this package, an arm moves when it is played (rested). Earlier "
        "work lets all arms move in every round. Suk & Kim remark that this is the same up to how changes are "
        "counted, since what happens to arms that were not played yet affects nobody. Here arms that were played go "
        "on moving while they wait (restless); those never played are as fresh as ever.",
        "A play takes 1e-4 from its arm (wear), breaks it with probability 3e-4 (breakdowns), gives it a new mean "
        "with that probability (new means), or moves it by up to 0.01 either way (random walk); in the restless "
        f"worlds a round does so to every arm that was ever played. T = {UNPLAYED_HORIZON:,}, beta = 1, coins. Means "
        "while an arm waits are not in V and L, which sum what happens right after a play.",
        "A policy that never returns to an arm it has left, such as AUCBT-ASW, cannot tell the two apart: its runs "
        "are the same, to the bit. Whoever spreads its plays over many arms meets each of them many changes later.",
    )
    return [Section("Rested and restless", words, (Table(unplayed_rows(results)),))]


NAMED_STUDIES.update(
    {"remark-elimination": elimination_as_blackbox, "remark-kappa-2": kappa_2, "remark-unplayed": unplayed}
)
FINDINGS.update(
    {
        "remark-elimination": elimination_findings,
        "remark-kappa-2": kappa_findings,
        "remark-unplayed": unplayed_findings,
    }
)
