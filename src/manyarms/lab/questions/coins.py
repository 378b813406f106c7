"""Coins that stand still: Berry et al. 1997 and Chan & Hu 2018.

Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of Statistics 25, 1997), and Chan
& Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793). Rewards are coins and nothing
changes; regret is n minus the successes that are expected. No policy can be below ((beta + 1) / alpha)^(1/(beta+1))
n^(beta/(beta+1)) in the long run, where P(mean > 1 - x) = alpha x^beta: sqrt(2 n) for uniform means.

The tables of both papers were not at hand.
"""

import math
from collections.abc import Sequence

from ...bases import UCBV
from ...policies import CBT, EmpiricalCBT, Forager, KFailure, MRun, NLearning, Policy, Subsample, TwoTarget
from ...reservoirs import PowerLaw
from ...world import World
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study
from .known import APART, FORMULA, Known, Place, agreement, origins

UNIFORM = "uniform means"
LENGTHS = (100, 1_000, 10_000)


def world_name(beta: float) -> str:
    """What a world is called."""
    return UNIFORM if beta == 1.0 else f"beta {beta:g}"


def non_recalling_regret(rounds: int) -> float:
    """About the regret of the m-run rule without recall, m = ceil(sqrt(n)), uniform means.

    An arm has a first run of m or more with probability 1 / (m + 1), and lasts H_m + 1 / (m + 1) plays until it fails
    or has that run, H_m the harmonic number. So about m arms fail, which is a regret of m; the next one is played for
    the rest of the run, with an expected loss of 1 / (m + 2) a round.

    Examples
    --------
    >>> round(non_recalling_regret(1_000), 1), round(non_recalling_regret(10_000))
    (57.5, 193)
    """
    m = math.ceil(math.sqrt(rounds))
    harmonic = sum(1.0 / k for k in range(1, m + 1))
    return m + (rounds - (m + 1) * harmonic) / (m + 2)


# ---------------------------------------------------------------- Berry et al.


def berry(replications: int = 2_000, seed: int = 1) -> Study:
    """The study of Berry et al.

    Examples
    --------
    >>> len(berry().cells)
    15
    """
    policies: dict[str, Policy] = {
        "1-failure": KFailure(),
        "2-failure": KFailure(failures=2),
        "m-run": MRun(),
        "m-run, no recall": MRun(recall=False),
        "N-learning": NLearning(),
    }
    about = "Berry et al. 1997: rules for coins, and their constants."
    worlds = {UNIFORM: World(PowerLaw(beta=1.0))}
    return Study.of("berry-1997", policies, worlds, LENGTHS, replications, seed, about=about)


KNOWN_BERRY: dict[Place, Known] = {
    (UNIFORM, policy, horizon): Known(regret, APART)
    for policy, regrets in {
        "1-failure": (21.8, 148.0, 1_112.0),
        "m-run": (19.0, 74.0, 262.0),
        "N-learning": (16.8, 65.4, 230.0),
    }.items()
    for horizon, regret in zip(LENGTHS, regrets, strict=True)
} | {(UNIFORM, "m-run, no recall", horizon): Known(non_recalling_regret(horizon), FORMULA) for horizon in LENGTHS}

WORDS_BERRY = (
    "Berry, Chen, Zame, Heath & Shepp, Bandit problems with infinitely many arms (Annals of Statistics 25, 1997): "
    "coins, uniform means, nothing changes. The k-failure rule keeps an arm until it has failed k times; the m-run "
    "rule takes a fresh arm after every failure until one has m = ceil(sqrt(n)) successes in a row, and with recall "
    "gives up after m failed arms; N-learning plays 1-failure for N = ceil(sqrt(n) log n) rounds and returns to the "
    "longest run.",
    "In the long run regret is n / log n for 1-failure, (2 + 2/e) sqrt(n) for m-run, 2 sqrt(n) without recall, and 3 "
    "sqrt(n) for N-learning; the second and the last are our own derivation. Nothing can be below sqrt(2 n): 14.1, "
    "44.7 and 141. The definition of N-learning is as remembered, and a table in a later paper is remembered to have "
    "it higher (about 19, 84 and 311): it may break ties, or end its learning, otherwise.",
    "The formula for m-run without recall is m + (n - (m + 1) H_m) / (m + 2), with H_m the harmonic number. It takes "
    "the n rounds to be enough for a run of m, which 100 are not quite.",
)


def findings_berry(results: Sequence[CellResult]) -> list[Section]:
    """What the report of Berry et al. says first."""
    return [Section("Rules for coins", (*WORDS_BERRY, origins(KNOWN_BERRY)), (agreement(results, KNOWN_BERRY),))]


# ---------------------------------------------------------------- Chan & Hu

BETAS = (1.0, 0.5, 2.0)
LENGTHS_OF = {1.0: (*LENGTHS, 100_000), 0.5: LENGTHS[1:], 2.0: LENGTHS[1:]}


def chan_hu_policies(beta: float, rounds: int) -> dict[str, Policy]:
    """Who plays; UCB-F where means are uniform."""
    found: dict[str, Policy] = {
        "CBT": CBT(beta=beta),
        "empirical CBT": EmpiricalCBT(),
        "two-target": TwoTarget(beta=beta),
    }
    if beta == 1.0:
        base = UCBV(exploration="loglog", width=0.5, anytime=True)  # E = log(10 log t)
        found["UCB-F"] = Subsample(base=base, beta=1.0, arms=max(math.isqrt(rounds // 2), 1))
    return found | {"Forager": Forager()}


def chan_hu(replications: int = 400, seed: int = 1) -> Study:
    """The study of Chan & Hu.

    Examples
    --------
    >>> len(chan_hu().cells)
    36
    """
    cells = [
        Cell(world_name(beta), World(PowerLaw(beta=beta)), name, policy, rounds)
        for beta in BETAS
        for rounds in LENGTHS_OF[beta]
        for name, policy in chan_hu_policies(beta, rounds).items()
    ]
    about = "Chan & Hu 2018: confidence bounds against a target, known or not, and their rivals on coins."
    return Study("chan-hu-2018", tuple(cells), replications, seed, about=about)


KNOWN_CHAN_HU: dict[Place, Known] = {
    (world, policy, rounds): Known(regret, APART)
    for world, policy, found in (
        (UNIFORM, "CBT", {100: 14.5, 1_000: 51.1, 10_000: 167.0, 100_000: 479.0}),
        (UNIFORM, "empirical CBT", {100: 15.1, 1_000: 53.0, 10_000: 171.0}),
        (UNIFORM, "two-target", {100: 14.9, 1_000: 52.2, 10_000: 171.0, 100_000: 535.0}),
        (UNIFORM, "UCB-F", {100: 44.2, 1_000: 321.0, 10_000: 1_651.0}),
        ("beta 0.5", "two-target", {1_000: 15.3, 10_000: 32.1}),
        ("beta 2", "two-target", {1_000: 179.0, 10_000: 870.0}),
    )
    for rounds, regret in found.items()
}

WORDS_CHAN_HU = (
    "Chan & Hu, Infinite Arms Bandit: Optimality via Confidence Bounds (arXiv:1805.11793): coins that stand still. "
    "CBT is told beta and n, empirical CBT n alone; both have b = c = log log n. Two-target (Bonald & Proutière 2013, "
    "m = 3) is told beta and n. UCB-F (Wang, Audibert & Munos 2008) has floor(sqrt(n/2)) arms and E = log(10 log t), "
    "as Chan & Hu are remembered to have it. Forager is told nothing.",
    "Nothing can be below ((beta + 1))^(1/(beta+1)) n^(beta/(beta+1)) in the long run. For n = 100, 1,000, 10,000 and "
    "100,000 that is 14.1, 44.7, 141 and 447 with uniform means; for n = 1,000 and 10,000 it is 13.1 and 28.2 at beta "
    "0.5, 144 and 669 at beta 2. Empirical CBT, which does not know the target, pays 1.24 times as much at beta 1 in "
    "the limit.",
)


def findings_chan_hu(results: Sequence[CellResult]) -> list[Section]:
    """What the report of Chan & Hu says first."""
    return [
        Section("Targets, known or not", (*WORDS_CHAN_HU, origins(KNOWN_CHAN_HU)), (agreement(results, KNOWN_CHAN_HU),))
    ]


NAMED_STUDIES.update({"berry-1997": berry, "chan-hu-2018": chan_hu})
FINDINGS.update({"berry-1997": findings_berry, "chan-hu-2018": findings_chan_hu})
