"""Simple regret: how good is the arm that a policy would recommend after T rounds?

The gap of the recommended arm cannot fall faster than max(T^(-1/2), T^(-1/beta)), up to logarithms, where rewards of
the best arms are as noisy as others (Carpentier & Valko 2015). So the worlds have coins and a reservoir whose best
means are 0.8: close to 1 coins are hardly noisy, and everybody is faster there. Some policies are made for this, and
some of them are told beta and T; the others want to earn, and are asked which arm they have played most.
"""

import math
from collections.abc import Sequence

import numpy as np

from ...bases import Greedy
from ...policies import IMOSS, OSE, PROSE, QRM2, SSUCB, BracketingHalving, Policy, SiRI, Subsample
from ...reservoirs import PowerLaw
from ...tables import Table
from ...trace import SIMPLE_REGRET
from ...world import World
from ..figures.statistics import Floats, log_log_slope, with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study

NAME = "simple-regret"
TOP = 0.8
BETAS = (0.5, 1.0, 3.0)
HORIZONS = (500, 2_000, 8_000, 32_000)


def policies(beta: float) -> dict[str, Policy]:
    """Who recommends."""
    return {
        "SiRI": SiRI(beta=beta),
        "SiRI, A = 1": SiRI(beta=beta, factor=1.0),
        "SiRI, beta auto": SiRI(beta="auto", factor=1.0),
        "BracketingHalving": BracketingHalving(),
        "OSE": OSE(),
        "PROSE": PROSE(),
        "QRM2": QRM2(),
        "IMOSS": IMOSS(),
        "SSUCB": SSUCB(beta=beta),
        "SS-Greedy": Subsample(base=Greedy(), beta=beta),
    }


def simple_regret(replications: int = 100, seed: int = 1) -> Study:
    """The study.

    Examples
    --------
    >>> study = simple_regret()
    >>> len(study.cells), study.columns[-1]
    (120, 'simple regret')
    """
    cells = [
        Cell(f"beta {beta:g}", World(PowerLaw(beta=beta, top=TOP), top=TOP), name, policy, rounds)
        for beta in BETAS
        for rounds in HORIZONS
        for name, policy in policies(beta).items()
    ]
    about = "How good is the arm that a policy would recommend after T rounds?"
    return Study(NAME, tuple(cells), replications, seed, 1, about, recommend=True)


def exponent(beta: float) -> float:
    """Of T in the least simple regret that there can be: -1/2, or -1/beta where beta is above 2.

    Examples
    --------
    >>> exponent(1.0), exponent(4.0)
    (-0.5, -0.25)
    """
    return -min(0.5, 1.0 / beta)


WORDS = (
    "The mean gap of the arm that a policy would recommend after T rounds, and the slope of its logarithm against that "
    "of T, with 95 % half-widths. No slope can be below that of the theory for long, up to logarithms. SiRI, SSUCB and "
    "SS-Greedy are told beta and T, SiRI with beta auto (and A = 1) T alone, the others nothing. IMOSS, QRM2, SSUCB "
    "and SS-Greedy are made to earn, and recommend the arm they have played most.",
)


def gaps_of(results: Sequence[CellResult]) -> dict[tuple[str, float, str], dict[int, Floats]]:
    """By world, its beta and policy, and by horizon: the simple regret of each replication at the end."""
    found: dict[tuple[str, float, str], dict[int, Floats]] = {}
    for result in results:
        cell = result.cell
        beta = getattr(cell.world.reservoir, "beta", math.nan)
        of_policy = found.setdefault((cell.world_name, beta, cell.policy_name), {})
        of_policy[cell.horizon] = result.final(SIMPLE_REGRET)
    return found


def table(results: Sequence[CellResult]) -> Table:
    """A row for each policy in each world."""
    rows = []
    for (world, beta, policy), gaps in gaps_of(results).items():
        lengths = sorted(gaps)
        row = {"world": world, "policy": policy}
        row |= {f"T = {rounds:,}": f"{gaps[rounds].mean():.4f}" for rounds in lengths}
        fit = log_log_slope(lengths, np.stack([gaps[rounds] for rounds in lengths], axis=1))
        row |= {"slope": with_half_width(fit.slope, fit.half_width, 2), "theory": f"{exponent(beta):.2f}"}
        rows.append(row)
    return Table(rows)


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report says first."""
    return [Section("The arm to go on with", WORDS, (table(results),))]


NAMED_STUDIES[NAME] = simple_regret
FINDINGS[NAME] = findings
