"""What Suk & Kim's theorems say of the blackbox, and with which probability: two studies.

`remark-blackbox-rates`: Theorem 2 bounds the regret of `Blackbox` for beta >= 1 by the rates that Elimination has
(`rates`), with V and L in place of V_R and the significant shifts, and for beta < 1 by those of beta = 1, which is not
the best possible. The study varies T, V and L, one at a time.

`remark-probability`: all bounds hold with probability 1 - 1/T or 1 - O(1/T), not only on average. So in T replications
about one may be worse, and no more: the study looks at that quantile of regret as T grows.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...bases import UCB, Greedy
from ...drifts import Crash
from ...policies import SSUCB, Blackbox, Elimination, EmpiricalCBT, Forager, Policy, Subsample
from ...reservoirs import PowerLaw
from ...tables import Table
from ...world import World
from ..figures.statistics import with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study
from .rates import DIRECTIONS, Series, all_series, cells_of

# ---------------------------------------------------------------- the rates of the blackbox

SIZES = {
    "T": tuple(2**power for power in range(16, 25, 2)),
    "V": (16, 64, 256, 1_024),
    "L": (256, 1_024, 4_096, 16_384),
}
"""Larger than in `rates`: less change is lost in what the blackbox pays where nothing changes."""

OF_THE_BLACKBOX = tuple(
    dataclasses.replace(direction, sizes=SIZES[direction.name]) for direction in DIRECTIONS if direction.name in SIZES
)
LOGARITHMS = 3
"""In the threshold of Algorithm 1; the bound has about as many."""

BLACKBOXES: dict[str, Callable[[float], Policy]] = {
    "calibrated": lambda beta: Blackbox(base=UCB(), beta=beta),
    "C_1 = 4": lambda beta: Blackbox(base=UCB(), beta=beta, threshold=4.0),
    "text": lambda beta: Blackbox(base=UCB(), beta=beta, preset="paper"),
}
"""By name, of beta: the calibrated one, with a test that is slower to fire, and with one that never fires here."""


def blackbox_rates(replications: int = 8, seed: int = 1) -> Study:
    """The study of rates.

    Examples
    --------
    >>> len(blackbox_rates().cells)
    117
    """
    about = "Does the blackbox's regret grow in T, V and L as Theorem 2 says, and below beta = 1 as at 1?"
    return Study("remark-blackbox-rates", tuple(cells_of(BLACKBOXES, OF_THE_BLACKBOX)), replications, seed, about=about)


def at_the_end(series: Series) -> Series:
    """The two largest sizes alone."""
    return dataclasses.replace(
        series, sizes=series.sizes[-2:], stretches=series.stretches[-2:], regrets=series.regrets[:, -2:]
    )


def is_within(series: Series) -> bool:
    """Whether regret grows no faster than the bound at the end: in T with its logarithms, else without any.

    Logarithms, of the time from one change to the next, make a bound grow faster in T and more slowly in V and L.
    """
    fit = at_the_end(series).slope(LOGARITHMS if series.name == "T" else 0)
    return fit.slope - float(np.nan_to_num(fit.half_width)) <= series.exponent


def rate_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """The fitted exponents beside those of Theorem 2 and of the lower bounds."""
    best = {one.name: one.exponent for one in OF_THE_BLACKBOX}
    rows = []
    for series in all_series(results, OF_THE_BLACKBOX, tail=lambda beta: max(beta, 1.0)):
        end = at_the_end(series)
        rows.append(
            {
                "Blackbox(UCB)": series.policy,
                "in": series.name,
                "beta": series.beta,
                "theorem": round(series.exponent, 3),
                "lower bound": round(best[series.name](series.beta), 3),
                "fitted": with_half_width(*series.slope(0)[:2], digits=3),
                "at the end": with_half_width(*end.slope(0)[:2], digits=3),
                "three logs out": with_half_width(*end.slope(LOGARITHMS)[:2], digits=3),
                "within": "yes" if is_within(series) else "no",
            }
        )
    return rows


def restart_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Where nothing changes, at the longest horizon: restarts, and the regret of a round."""
    longest = SIZES["T"][-1]
    still = [r for r in results if r.cell.horizon == longest]
    return [
        {
            "Blackbox(UCB)": result.cell.policy_name,
            "world": result.cell.world_name,
            "restarts": float(result.final("restarts").mean()),
            "regret a round": float(result.final("regret").mean()) / longest,
        }
        for result in still
    ]


def rate_findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of the rates says first."""
    words = (
        "Theorem 2 of Suk & Kim: with b = max(beta, 1), the blackbox loses at most (L + 1)^(1/(b+1)) T^(b/(b+1)), and "
        "at most V^(1/(b+2)) T^((b+1)/(b+2)) + T^(b/(b+1)), up to logarithms. It plays over UCB in worlds as those of "
        "the study rates, calibrated, with C_1 = 4, and with the constants of the text. Exponents are fitted to all "
        "sizes, and to the two largest (at the end), with 95 % intervals over replications.",
        "Regret is within the theorem if at the end it grows no faster: in T with three logarithms taken out, which "
        "the threshold of Algorithm 1 has, in V and L as it is. At beta 0.5 the theorem's exponents are not the best "
        "possible, which stand beside them.",
    )
    still = (
        f"Where nothing changes, over {SIZES['T'][-1]:,} rounds. A restart there is a false alarm; if they come again "
        "and again, no block grows long enough to pay for its subsample, and regret is linear in T.",
    )
    return [
        Section("Exponents of the blackbox", words, (Table(rate_rows(results)),)),
        Section("False alarms", still, (Table(restart_rows(results)),)),
    ]


# ---------------------------------------------------------------- with which probability

HORIZONS = (256, 1_024, 4_096)
BREAKDOWNS = {"still": 0, "4 breakdowns": 4}
"""By world, how many plays break their arm, on average."""


def probability_policies() -> dict[str, Policy]:
    """The paper's two, and others of which nothing of the kind is proved."""
    return {
        "Elimination": Elimination(beta=1.0),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=1.0),
        "Forager": Forager(),
        "EmpiricalCBT": EmpiricalCBT(),
        "SSUCB": SSUCB(beta=1.0),
        "SS-Greedy": Subsample(base=Greedy(), beta=1.0),
    }


def probability(replications: int = 8_192, seed: int = 1) -> Study:
    """The study of quantiles.

    Examples
    --------
    >>> len(probability().cells)
    36
    """
    cells = [
        Cell(
            name,
            World(PowerLaw(beta=1.0), Crash(probability=breakdowns / horizon, to=0.0)),
            policy_name,
            policy,
            horizon,
        )
        for (name, breakdowns), horizon in itertools.product(BREAKDOWNS.items(), HORIZONS)
        for policy_name, policy in probability_policies().items()
    ]
    about = "Bounds that hold with probability 1 - 1/T: how bad is the worst of T replications?"
    return Study("remark-probability", tuple(cells), replications, seed, checkpoints=4, about=about)


def exceeded_by_one_in(regrets: Any, horizon: int) -> float:
    """The regret that one replication in T exceeds."""
    return float(np.quantile(regrets, 1.0 - 1.0 / horizon))


def quantile_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """For each policy in each world regret over sqrt(T), at each horizon: its mean and two quantiles."""
    named = {(r.cell.world_name, r.cell.policy_name, r.cell.horizon): r.final("regret") for r in results}
    rows = []
    for world, policy in itertools.product(BREAKDOWNS, probability_policies()):
        scaled = [named[world, policy, horizon] / math.sqrt(horizon) for horizon in HORIZONS]
        worst = [exceeded_by_one_in(regrets, horizon) for regrets, horizon in zip(scaled, HORIZONS, strict=True)]
        growth = worst[-1] / worst[0]
        rows.append(
            {
                "world": world,
                "policy": policy,
                "mean": side_by_side([float(regrets.mean()) for regrets in scaled]),
                "99 %": side_by_side([float(np.quantile(regrets, 0.99)) for regrets in scaled]),
                "1 - 1/T": side_by_side(worst),
                "grows by": growth,
                "power of log T": math.log(growth) / math.log(log_growth()),
            }
        )
    return rows


def side_by_side(values: Sequence[float]) -> str:
    """One number for each horizon."""
    return ", ".join(f"{value:.1f}" for value in values)


def log_growth() -> float:
    """By what log T grows over these horizons."""
    return math.log(HORIZONS[-1]) / math.log(HORIZONS[0])


def probability_findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of the quantiles says first."""
    two_logs, root = log_growth() ** 2, math.sqrt(HORIZONS[-1] / HORIZONS[0])
    words = (
        "Suk & Kim's bounds hold with probability 1 - 1/T (Elimination) or 1 - O(1/T) (Blackbox). At beta = 1 and "
        "with a bounded number of breakdowns they are sqrt(T), up to logarithms. So the regret that one replication "
        "in T exceeds, over sqrt(T), must not grow faster than logarithms: two of them are a factor of "
        f"{two_logs:.2f} over these horizons. It grows by {root:.0f} where a part of every run is lost.",
        f"All numbers are regret over sqrt(T), at T = {HORIZONS[0]}, {HORIZONS[1]:,} and {HORIZONS[2]:,}; the last "
        "column says of which power of log T the quantile's growth is. A quantile of 1 - 1/T is that of the two or "
        "three worst of 8,192 replications at T = 4,096. With the constants of the theorems the bounds exceed T at "
        "such horizons: what is looked at is how the quantile grows, not how large it is.",
    )
    return [Section("The worst of T replications", words, (Table(quantile_rows(results)),))]


NAMED_STUDIES.update({"remark-blackbox-rates": blackbox_rates, "remark-probability": probability})
FINDINGS.update({"remark-blackbox-rates": rate_findings, "remark-probability": probability_findings})
