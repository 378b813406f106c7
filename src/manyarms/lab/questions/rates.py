"""Rates: does regret grow in T, V, L and seasons as the theorems say?

Suk & Kim bound the regret of `Elimination` by T^(beta/(beta+1)) times (S + 1)^(1/(beta+1)), S the number of
significant shifts, which are at most L_R; and by V_R^(1/(beta+2)) T^((beta+1)/(beta+2)) + T^(beta/(beta+1)); all up to
log^2 T. Nothing can be better than these by more than logarithms (Kim, Vojnovic & Yun 2024). The study varies one
thing at a time, the others fixed:

- *T*, where nothing changes;
- *V*, where every play wears its arm by V / T;
- *L*, where every play breaks its arm with probability L / T;
- *seasons*, after each of which all known arms break down together: significant shifts, plus 1.

Between the two bounds lies a power p of the logarithm, from 0 to 2, of the time there is to learn anything in, from one
change to the next: the exponent is fitted with 0, 1 and 2 logarithms taken out. What that means, and what it means for
`Forager`, which no theorem is about, `findings` says.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...drifts import Crash, Drift, Rotting, Still, Turnover
from ...intervals import mean_and_half_width
from ...policies import Elimination, Forager, Policy
from ...reservoirs import PowerLaw
from ...results import COLOURS
from ...tables import Table
from ...world import World
from ..figures.figures import MARKERS, WIDTHS, styled
from ..figures.statistics import Floats, Slope, final_regrets, log_log_slope, with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETAS = (0.5, 1.0, 2.0)
HORIZONS = tuple(2**power for power in range(14, 21))
LONGEST = HORIZONS[-1]
POWERS = {0: "as it is", 1: "one log out", 2: "two logs out"}
"""Of the logarithm, to be taken out, in words."""


@dataclasses.dataclass(frozen=True)
class Direction:
    """Something that grows while everything else stands still."""

    name: str
    sizes: tuple[int, ...]
    exponent: Callable[[float], float]  # of beta
    drift: Callable[[float], Drift]  # of the size
    column: str | None = None  # where a run has the size it really had; None: as planned
    stretch: Callable[[float, float], float] = lambda beta, size: LONGEST / size
    """Of beta and the size: the rounds from one change to the next."""
    horizon: Callable[[int], int] = lambda size: LONGEST

    def world_name(self, size: int, beta: float) -> str:
        """What its world of this size is called."""
        return f"{'still' if self.name == 'T' else f'{self.name} = {size}'}, beta {beta:g}"


DIRECTIONS = (
    Direction(
        name="T",
        sizes=HORIZONS,
        exponent=lambda beta: beta / (beta + 1.0),
        drift=lambda size: Still(),
        stretch=lambda beta, size: size,
        horizon=lambda size: size,
    ),
    Direction(
        name="V",
        sizes=(1, 4, 16, 64),
        exponent=lambda beta: 1.0 / (beta + 2.0),
        drift=lambda size: Rotting(rate=size / LONGEST),
        column="V_R",
        # So long an arm is worth keeping: until its wear equals the gap that so much time would have found.
        stretch=lambda beta, size: float((LONGEST / size) ** ((beta + 1.0) / (beta + 2.0))),
    ),
    Direction(
        name="L",
        sizes=(16, 64, 256, 1024),  # fewer breakdowns are lost in the regret of a world without any
        exponent=lambda beta: 1.0 / (beta + 1.0),
        drift=lambda size: Crash(probability=size / LONGEST, to=0.0),
        column="L_R",
    ),
    Direction(
        name="seasons",
        sizes=(1, 4, 16, 64),
        exponent=lambda beta: 1.0 / (beta + 1.0),
        drift=lambda size: Turnover(length=LONGEST // int(size)),
    ),
)


POLICIES: dict[str, Callable[[float], Policy]] = {
    "Elimination": lambda beta: Elimination(beta=beta),
    "Forager": lambda beta: Forager(),
}
"""Who plays, of beta."""


def rates(replications: int = 60, seed: int = 1) -> Study:
    """The study.

    Examples
    --------
    >>> len(rates().cells)
    114
    """
    about = "Does regret grow in T, V, L and seasons as the theorems say?"
    return Study("rates", tuple(cells_of(POLICIES)), replications, seed, about=about)


def cells_of(
    policies: Mapping[str, Callable[[float], Policy]], directions: Sequence[Direction] = DIRECTIONS
) -> list[Cell]:
    """Every policy in every direction at every beta."""
    cells = []
    for (policy_name, policy), beta, direction in itertools.product(policies.items(), BETAS, directions):
        for size in direction.sizes:
            world = World(PowerLaw(beta=beta), direction.drift(size))
            name, horizon = direction.world_name(size, beta), direction.horizon(size)
            cells.append(Cell(name, world, policy_name, policy(beta), horizon))
    return cells


@dataclasses.dataclass(frozen=True)
class Series:
    """The regret of a policy as one thing grows."""

    policy: str
    name: str
    beta: float
    exponent: float  # of the bounds
    sizes: Floats
    stretches: Floats  # rounds from one change to the next
    regrets: Floats  # replications x sizes

    def slope(self, power: float) -> Slope:
        """The fitted exponent, with ``power`` logarithms taken out."""
        return log_log_slope(self.sizes, self.regrets / np.log(self.stretches) ** power)

    def agrees(self) -> bool:
        """Whether the theorem's exponent lies between the fits without and with two logarithms, or in an interval."""
        ends = [self.slope(power) for power in (0, 2)]
        widths = [float(np.nan_to_num(end.half_width)) for end in ends]  # of one replication there is none
        low = min(end.slope - width for end, width in zip(ends, widths, strict=True))
        high = max(end.slope + width for end, width in zip(ends, widths, strict=True))
        return low <= self.exponent <= high


def all_series(
    results: Sequence[CellResult],
    directions: Sequence[Direction] = DIRECTIONS,
    tail: Callable[[float], float] = lambda beta: beta,
) -> list[Series]:
    """Every policy in every direction at every beta, from the results of a whole study.

    ``tail`` is what the theorem has in the place of beta.
    """
    named = {(r.cell.policy_name, r.cell.world_name, r.cell.horizon): r for r in results}
    policies = dict.fromkeys(r.cell.policy_name for r in results)
    found = []
    for policy, direction, beta in itertools.product(policies, directions, BETAS):
        played = [named[policy, direction.world_name(size, beta), direction.horizon(size)] for size in direction.sizes]
        sizes = np.array(direction.sizes, dtype=np.float64)
        if direction.column is not None:
            sizes = np.array([result.final(direction.column).mean() for result in played])
        stretches = np.array([direction.stretch(tail(beta), size) for size in sizes])
        regrets = np.stack(final_regrets(played), axis=1)
        found.append(Series(policy, direction.name, beta, direction.exponent(tail(beta)), sizes, stretches, regrets))
    return found


def series_of(results: Sequence[CellResult], policy: str) -> list[Series]:
    """Those of one policy."""
    return [series for series in all_series(results) if series.policy == policy]


def common_power(series: Sequence[Series]) -> tuple[float, float]:
    """The power of the logarithm that fits all series best with the theorem's exponents, and half its 95 % interval.

    Least squares of log(mean regret / size^exponent) on p log(log stretch), with a constant for each series. Like
    a slope, p is a weighted sum of log means, so its interval is by the delta method, series by series.
    """
    regressors = [np.log(np.log(one.stretches)) for one in series]
    regressors = [regressor - regressor.mean() for regressor in regressors]
    scale = sum(float(regressor @ regressor) for regressor in regressors)
    power, variance = 0.0, 0.0
    for one, regressor in zip(series, regressors, strict=True):
        means = one.regrets.mean(axis=0)
        weights = regressor / scale
        power += float(weights @ (np.log(means) - one.exponent * np.log(one.sizes)))
        variance += mean_and_half_width((one.regrets / means) @ weights)[1] ** 2
    return power, math.sqrt(variance)


def fits(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """The fitted exponents, with 95 % intervals, beside the theorem's."""
    return [fit_row(series) for series in all_series(results)]


def fit_row(series: Series) -> dict[str, Any]:
    """One of them."""
    return {
        "policy": series.policy,
        "in": series.name,
        "beta": series.beta,
        "theorem": round(series.exponent, 3),
        **{f"fitted, {said}": with_half_width(*series.slope(power)[:2], digits=3) for power, said in POWERS.items()},
        "agrees": "yes" if series.agrees() else "no",
    }


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of this study says first."""
    powers, misses = [], []
    for policy in POLICIES:
        series = series_of(results, policy)
        powers.append(f"{with_half_width(*common_power(series), digits=2)} for {policy}")
        misses.append(f"{max(abs(one.slope(0).slope - one.exponent) for one in series):.2f} for {policy}")
    return [
        Section(
            "Exponents",
            (
                "The exponent of regret in each direction, by least squares on logarithms, with its 95 % interval "
                "over replications, beside that of the theorems (Suk & Kim; lower bounds: Kim, Vojnovic & Yun "
                "2024). V and L are those that the runs really had. Elimination is told beta and the horizon, and the "
                "theorems are about it. Forager is told nothing and promised nothing; but it cannot be better than "
                "the lower bounds either, which have the same exponents.",
                "The theorems leave room for up to two logarithms, those of the rounds from one change to the next: "
                "T, (T/V)^((beta+1)/(beta+2)), T/L, T/seasons. An exponent agrees if it lies between the fits with "
                "none and with two taken out, to within their intervals. Logarithms make regret grow faster in T and "
                "more slowly in the others: with more change it is the logarithm of a shorter time. As it is, an "
                f"exponent is off by up to {', and up to '.join(misses)}.",
                f"One power p of the logarithm fits all of a policy best: p = {', and '.join(powers)}. By so much it "
                "is worse than the best that is possible, in every direction. (The interval is of chance alone. That "
                "some single fits still miss the exponent by a hundredth or two is no chance: means end at 0 and 1, "
                "blocks double, and at beta 2 a tenth to a quarter of all that can be lost is lost.)",
                "Where little changes, a few arms decide what a run of Forager loses, so its intervals are wide in T "
                "and in seasons.",
                "L begins at 16. A breakdown hits one arm of several that are equally good, and only the loss of "
                "all of them is a significant shift; up to a dozen or so are hardly felt. A new season takes all "
                "known arms at once, and is felt each time.",
            ),
            (Table(fits(results)),),
        )
    ]


def rates_figure(results: Sequence[CellResult]) -> "Figure":
    """Regret in every direction, a row for each policy.

    Lines have the theorem's exponent, times the power of the logarithm that fits all of the policy best.
    """
    import matplotlib.pyplot as plt

    names = [direction.name for direction in DIRECTIONS]
    shape = len(POLICIES), len(names)
    size = WIDTHS["page"], 2.4 * len(POLICIES)
    with styled():
        figure, panels = plt.subplots(
            *shape, figsize=size, layout="constrained", sharex="col", sharey="col", squeeze=False
        )
        for row, policy in zip(panels, POLICIES, strict=True):
            series = series_of(results, policy)
            power, _ = common_power(series)
            for panel, name in zip(row, names, strict=True):
                for place, one in enumerate(s for s in series if s.name == name):
                    means = one.regrets.mean(axis=0)
                    line = one.sizes**one.exponent * np.log(one.stretches) ** power
                    line *= math.exp(float(np.log(means / line).mean()))
                    panel.plot(one.sizes, line, "--", linewidth=1.0, color=COLOURS[place])
                    panel.plot(one.sizes, means, MARKERS[place], label=f"beta {one.beta:g}", color=COLOURS[place])
                panel.set_xscale("log", base=2)
                panel.set_yscale("log")
            row[0].set_ylabel(f"regret of {policy}")
        for panel, name in zip(panels[-1], names, strict=True):
            panel.set_xlabel(name)
        panels[-1, 0].legend()  # there is room
    return figure


NAMED_STUDIES["rates"] = rates
FINDINGS["rates"] = findings
