"""Kim, Vojnović & Yun 2022 and 2024: arms that rot.

"Rotting Infinitely Many-Armed Bandits" (ICML 2022, arXiv:2201.12975): every play takes rho from its arm. "An Adaptive
Approach for Infinitely Many-armed Bandits under Generalized Rotting Constraints" (NeurIPS 2024, arXiv:2404.14202): the
play at round t takes 1 / (t log T), so that V is about 1. Rewards are Gaussian with standard deviation 1, means have no
floor, and every horizon is a run of its own. Settings are those of the authors' public code, 10 replications each.

In the code of 2024 two clocks differ from the text: an arm of SSUCB rots by its own plays (*own clock*), and the first
round of every block of AUCBT-ASW counts as round 1 (*block clock*). Both are played with and without.
"""

import math
from collections.abc import Sequence

from ...drifts import Rotting
from ...noises import Gaussian
from ...policies import AUCBTASW, AUCBTP, UCBTASW, UCBTP, Policy, Subsample
from ...reservoirs import PowerLaw
from ...world import World
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study
from .coded_indices import StaleUCB
from .known import APART, Known, Place, agreement, origins
from .published import BlockClock, OwnClock, Unbounded

REPLICATIONS = 10  # as published

RATES = {"T^-1/2": 0.5, "T^-3/5": 0.6, "T^-3/2": 1.5}
"""Of 2022: rho, and the power of T."""

HORIZONS_2022 = (100_000, 1_000_000)
HORIZONS_2024 = (1_000_000, 5_000_000)
BETAS_2024 = (1.0, 0.5, 2.0)


def unbounded(beta: float, rate: float | str) -> Unbounded:
    """The world of both papers."""
    return Unbounded(PowerLaw(beta=beta), Rotting(rate), Gaussian(sigma=1.0))


def ssucb(arms: int) -> Policy:
    """SSUCB as their code has it: sigma 1, and only the played arm's index is brought up to date."""
    return Subsample(base=StaleUCB(), beta=1.0, arms=arms)


def kim_2022(horizons: Sequence[int] = HORIZONS_2022, replications: int = REPLICATIONS, seed: int = 1) -> Study:
    """The study of 2022.

    Examples
    --------
    >>> [cell.policy_name for cell in kim_2022().cells][:3]
    ['UCB-TP', 'AUCB-TP', 'SSUCB']
    """
    cells = []
    for rate, power in RATES.items():
        for horizon in horizons:
            rho = horizon**-power
            policies: dict[str, Policy] = {
                "UCB-TP": UCBTP(rotting=rho, delta=rho ** (1.0 / 3.0)),
                "AUCB-TP": AUCBTP(),
                "SSUCB": ssucb(math.ceil(math.sqrt(horizon))),
            }
            world = unbounded(1.0, rho)
            cells += [Cell(f"rho = {rate}", world, name, policy, horizon) for name, policy in policies.items()]
    about = "Kim, Vojnović & Yun 2022: arms that lose rho with every play."
    return Study("kim-2022", tuple(cells), replications, seed, about=about)


def kim_2024(horizons: Sequence[int] = HORIZONS_2024, replications: int = REPLICATIONS, seed: int = 1) -> Study:
    """The study of 2024.

    Examples
    --------
    >>> [cell.policy_name for cell in kim_2024().cells][:3]
    ['UCBT-ASW', 'UCB-TP', 'AUCBT-ASW']
    """
    cells = []
    for beta in BETAS_2024:
        for horizon in horizons:
            steepest = 1.0 / math.log(horizon)  # in round 1, and a bound for all others
            world = unbounded(beta, f"{steepest!r}/t")
            by_blocks = world.replace(drift=BlockClock(world.drift, length=math.ceil(math.sqrt(horizon))))
            by_plays = world.replace(drift=OwnClock(world.drift))
            arms = math.isqrt(horizon)
            played: dict[str, tuple[World, Policy]] = {
                "UCBT-ASW": (world, UCBTASW(beta=beta, variation=1.0)),
                "UCB-TP": (world, UCBTP(rotting=steepest)),
                "AUCBT-ASW": (world, AUCBTASW(preset="published")),
                "AUCBT-ASW, block clock": (by_blocks, AUCBTASW(preset="published")),
                "SSUCB": (world, ssucb(arms)),
                "SSUCB, own clock": (by_plays, ssucb(arms)),
            }
            cells += [Cell(f"beta {beta:g}", where, name, policy, horizon) for name, (where, policy) in played.items()]
    about = (
        "Kim, Vojnović & Yun 2024: arms that lose 1 / (t log T) at round t, with and without the clocks of the code."
    )
    return Study("kim-2024", tuple(cells), replications, seed, about=about)


KNOWN_2022: dict[Place, Known] = {
    (f"rho = {rate}", policy, 1_000_000): Known(regret, APART)
    for rate, regrets in {
        "T^-1/2": (541e3, 536e3, 976e3),
        "T^-3/5": (405e3, 431e3, 483e3),
        "T^-3/2": (29e3, 345e3, 90e3),
    }.items()
    for policy, regret in zip(("UCB-TP", "AUCB-TP", "SSUCB"), regrets, strict=True)
}

KNOWN_2024: dict[Place, Known] = {
    (f"beta {beta:g}", policy, 5_000_000): Known(regret, APART)
    for policy, regrets in {
        "UCBT-ASW": (2.76e5, 1.50e5, 1.03e6),
        "UCB-TP": (2.32e6, 1.49e6, 3.21e6),
        "AUCBT-ASW": (1.62e6, 0.98e6, 2.51e6),
        "AUCBT-ASW, block clock": (1.75e6, 1.16e6, 2.60e6),
        "SSUCB": (3.0e5, 2.1e5, 4.9e5),
        "SSUCB, own clock": (3.37e6, 2.91e6, 4.10e6),
    }.items()
    for beta, regret in zip(BETAS_2024, regrets, strict=True)
}

WORDS_2022 = (
    "Kim, Vojnović & Yun, Rotting Infinitely Many-Armed Bandits (ICML 2022), Figure 3: every play takes rho from its "
    "arm; uniform means at first, no floor, Gaussian rewards of standard deviation 1, T up to 1,000,000, 10 "
    "replications. UCB-TP is told rho and has delta = rho^(1/3), as in the authors' code; AUCB-TP is told T alone; "
    "SSUCB has ceil(sqrt(T)) arms.",
    "The curves of the figure are not at hand as numbers. UCB-TP at rho = T^-3/2 depends on a few arms: the standard "
    "deviation of one run is about as large as the mean (23,000 of 29,000 in the separate simulation). What is known "
    "of SSUCB is of two replications.",
)

WORDS_2024 = (
    "Kim, Vojnović & Yun, An Adaptive Approach for Infinitely Many-armed Bandits under Generalized Rotting "
    "Constraints (NeurIPS 2024): the play at round t takes 1 / (t log T), so that V is about 1 and every play is a "
    "change; no floor, Gaussian rewards of standard deviation 1, T up to 5,000,000, 10 replications. UCBT-ASW is told "
    "beta and V = 1; UCB-TP rho = 1 / log T; AUCBT-ASW is told T alone; SSUCB has floor(sqrt(T)) arms at every beta.",
    "The curves of the figures are not at hand as numbers; their axes reach 3, 3 and 4 million at beta 1, 0.5 and 2, "
    "which SSUCB comes to on its own clock alone. On the clock of all others it is near UCBT-ASW, and at beta 2 ahead "
    "of it. What separates SSUCB from the others in the figures is its clock.",
)


def findings_2022(results: Sequence[CellResult]) -> list[Section]:
    """What the report of 2022 says first."""
    return [Section("Constant rotting", (*WORDS_2022, origins(KNOWN_2022)), (agreement(results, KNOWN_2022),))]


def findings_2024(results: Sequence[CellResult]) -> list[Section]:
    """What the report of 2024 says first."""
    return [Section("Two clocks", (*WORDS_2024, origins(KNOWN_2024)), (agreement(results, KNOWN_2024),))]


NAMED_STUDIES.update({"kim-2022": kim_2022, "kim-2024": kim_2024})
FINDINGS.update({"kim-2022": findings_2022, "kim-2024": findings_2024})
