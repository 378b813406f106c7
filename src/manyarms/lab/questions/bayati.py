"""Bayati et al. 2020: with many arms, greedy beats optimism.

Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in Multi-Armed Bandit with Many
Arms" (NeurIPS 2020, arXiv:2002.10121), Figure 1: T = 20,000, 1,000 or 3,000 arms with uniform means, 400 runs; rewards
Gaussian with standard deviation 1, or coins, for which the code has sigma = 0.5. Settings are those of the authors'
public code.

Their k arms are drawn afresh for every run, and policies that subsample draw from among them: that is the same as to
draw fewer arms from the reservoir. So a policy on all k arms is `Subsample(arms=k)` here.
"""

import math
from collections.abc import Sequence

from ...bases import UCBV, AsymptoticUCB, Base, GaussianThompson, Greedy, Thompson
from ...noises import Bernoulli, Gaussian
from ...policies import EmpiricalCBT, Forager, Policy, Subsample
from ...reservoirs import PowerLaw
from ...world import World
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study
from .coded_indices import CodedUCB
from .known import APART, Known, Place, agreement, origins

HORIZON = 20_000
ARMS = (1_000, 3_000)
SHORT = (100, 1_000, 10_000)
"""Horizons for which something is known, of subsamples alone."""

WORLDS = {"coins": (Bernoulli(), 0.5), "Gaussian": (Gaussian(sigma=1.0), 1.0)}
"""By name: the noise, and the sigma of the index."""


def optimists(sigma: float) -> dict[str, Base]:
    """UCB with f(t) as it was coded, and as in the book."""
    return {"as coded": CodedUCB(sigma=sigma), "as in the book": AsymptoticUCB(sigma=sigma)}


def on_all(arms: int, sigma: float) -> dict[str, Policy]:
    """Policies that play all arms there are."""
    bases = {"Greedy": Greedy()} | {f"UCB {said}": base for said, base in optimists(sigma).items()}
    return {f"{name}, {arms:,} arms": Subsample(base=base, beta=1.0, arms=arms) for name, base in bases.items()}


def on_some(world: str, horizon: int) -> dict[str, Policy]:
    """Policies that play a subsample: floor(sqrt(T)) arms, or floor(T^(2/3)) for Greedy where rewards are Gaussian."""
    root = math.isqrt(horizon)
    greedy = root if world == "coins" else math.floor(horizon ** (2.0 / 3.0) * (1.0 + 1e-12))
    found: dict[str, Policy] = {"SS-Greedy": Subsample(base=Greedy(), beta=1.0, arms=greedy)}
    for said, base in optimists(WORLDS[world][1]).items():
        found[f"SS-UCB {said}"] = Subsample(base=base, beta=1.0, arms=root)
    found["UCB-F"] = Subsample(base=UCBV(exploration="loglog", anytime=True), beta=1.0, arms=root)
    sampling = Thompson() if world == "coins" else GaussianThompson(sigma=1.0)
    return found | {"SS-TS": Subsample(base=sampling, beta=1.0, arms=root)}


def policies(world: str, horizon: int) -> dict[str, Policy]:
    """Who plays: all of them at the horizon of the figure, those on a subsample at the others."""
    found = on_some(world, horizon)
    if horizon == HORIZON:
        for arms in ARMS:
            found |= on_all(arms, WORLDS[world][1])
        if world == "coins":
            found |= {"EmpiricalCBT": EmpiricalCBT(), "Forager": Forager()}
    return found


def bayati(replications: int = 60, seed: int = 1) -> Study:
    """The study.

    Examples
    --------
    >>> len(bayati().cells)
    39
    """
    cells = [
        Cell(name, World(PowerLaw(beta=1.0), noise=noise), policy_name, policy, horizon)
        for name, (noise, _) in WORLDS.items()
        for horizon in ((*SHORT, HORIZON) if name == "coins" else (HORIZON,))
        for policy_name, policy in policies(name, horizon).items()
    ]
    about = "Bayati et al. 2020: among many arms, do greedy policies beat optimistic ones?"
    return Study("bayati-2020", tuple(cells), replications, seed, about=about)


KNOWN: dict[Place, Known] = {
    ("coins", policy, horizon): Known(regret, APART)
    for policy, regrets in {
        "SS-Greedy": (19.0, 68.3, 223.0),
        "SS-UCB as in the book": (31.6, 212.0, 1_327.0),
        "SS-TS": (22.0, 82.0, 276.0),
        "UCB-F": (48.2, 426.0, 3_193.0),
    }.items()
    for horizon, regret in zip(SHORT, regrets, strict=True)
}

WORDS = (
    "Bayati, Hamidi, Johari & Khosravi, Unreasonable Effectiveness of Greedy Algorithms in Multi-Armed Bandit with "
    "Many Arms (NeurIPS 2020), Figure 1: T = 20,000, 1,000 or 3,000 arms with uniform means, Gaussian rewards of "
    "standard deviation 1; the same with coins, for which the authors' code has sigma = 0.5. A policy on all k arms "
    "draws k arms here. Regret is counted from 1, not from the best of k arms, whose mean is k / (k + 1): that is T / "
    "(k + 1) more, 20 for 1,000 arms and 7 for 3,000.",
    "In the authors' code the confidence grows with f(t) = 1 + 2 t log t; in the book, and in the paper, with 1 + t "
    "log(t)^2. Subsamples have floor(sqrt(T)) arms (141), as in the code, that of SS-Greedy floor(T^(2/3)) (736) where "
    "rewards are Gaussian. UCB-F has E = 2 log(10 log t), in the code with the number of arms in place of t while that "
    "is larger. Thompson sampling is played on the subsample alone: on all arms it takes too long. With Gaussian "
    "rewards its prior has mean 1/2 and standard deviation 1/4, as in the code, where the first reward replaces it.",
    "The curves of the figure are not at hand as numbers. What the paper found is that greedy policies beat SS-UCB, "
    "and subsampled ones those on all arms. The numbers below at T = 100, 1,000 and 10,000 are for coins and sigma = "
    "0.5.",
)


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of this study says first."""
    return [Section("Greedy and optimistic policies", (*WORDS, origins(KNOWN)), (agreement(results, KNOWN),))]


NAMED_STUDIES["bayati-2020"] = bayati
FINDINGS["bayati-2020"] = findings
