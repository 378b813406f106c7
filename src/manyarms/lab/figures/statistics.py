"""Statistics: the numbers of figures and reports, from the replications of a study's cells.

Intervals are 95 % and come from Student's t over replications. Replications with the same number meet the
same arms with the same luck, whatever the policy and the horizon: so differences are taken, and slopes
are judged, replication by replication.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...intervals import Floats as Floats
from ...intervals import mean_and_half_width
from ...tables import DIGITS, WHOLE, number_text
from ..running.files import CellResult


class Difference(NamedTuple):
    """The mean of paired differences, with half the width of its 95 % interval."""

    mean: float
    half_width: float
    pairs: int

    @property
    def is_clear(self) -> bool:
        """Whether 0 lies outside the interval."""
        return abs(self.mean) > self.half_width


def paired_difference(first: ArrayLike, second: ArrayLike) -> Difference:
    """First minus second, pair by pair.

    Examples
    --------
    >>> paired_difference([11.0, 22.0, 33.0], [10.0, 20.0, 30.0]).mean
    2.0
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    mean, half_width = mean_and_half_width(differences)
    return Difference(mean, half_width, len(differences))


class Slope(NamedTuple):
    """A line through log mean against log x: mean = factor * x^slope; NaN where there is none."""

    slope: float
    half_width: float
    factor: float
    points: int


def log_log_slope(x: ArrayLike, values: Floats) -> Slope:
    """The slope of log mean against log x by least squares, with half the width of its 95 % interval.

    The interval is by the delta method. The slope is a weighted sum of log means, so one replication moves
    it by the same weighted sum of its values, each divided by its mean; the spread of these moves over
    replications gives the interval. All values of a replication are taken together: they may depend on each
    other. The interval is of chance alone; it does not say whether a line is the right shape.

    Parameters
    ----------
    x
        Where the values stand, all above 0.
    values
        A row for each replication, an entry for each x.

    Examples
    --------
    >>> x = np.array([10.0, 100.0, 1000.0])
    >>> fit = log_log_slope(x, np.outer([2.0, 2.5, 3.0], np.sqrt(x)))
    >>> round(fit.slope, 6), round(fit.factor, 6), round(fit.half_width, 6)
    (0.5, 2.5, 0.0)
    """
    means = values.mean(axis=0)
    log_x = np.log(np.asarray(x, dtype=np.float64))
    spread = log_x - log_x.mean() if log_x.size else log_x
    if log_x.size < 2 or not spread.any() or not (means > 0.0).all():
        return Slope(math.nan, math.nan, math.nan, log_x.size)
    weights = spread / (spread @ spread)
    slope = float(weights @ np.log(means))
    factor = math.exp(float(np.log(means).mean()) - slope * float(log_x.mean()))
    _, half_width = mean_and_half_width((values / means) @ weights)
    return Slope(slope, half_width, factor, log_x.size)


LAST_PART = 10
"""Within a run, the slope is fitted from round horizon / LAST_PART on: the last decade."""


def slope_within(result: CellResult) -> Slope:
    """The slope of mean regret against the round, over the last decade of a run."""
    late = result.rounds >= result.cell.horizon / LAST_PART
    return log_log_slope(result.rounds[late], result.column("regret")[:, late])


def slope_over_horizons(results: Sequence[CellResult]) -> Slope:
    """The slope of mean final regret against the horizon, for one policy in one world."""
    horizons = [result.cell.horizon for result in results]
    return log_log_slope(horizons, np.stack(final_regrets(results), axis=1))


def difference(first: CellResult, second: CellResult) -> Difference:
    """First minus second: the final regret of two cells, over the replications that both have."""
    return paired_difference(*final_regrets([first, second]))


def means_of_ends(results: Sequence[CellResult]) -> tuple[Floats, Floats]:
    """The mean final regret of each cell, and half the width of its interval."""
    means, half_widths = zip(*(mean_and_half_width(result.final("regret")) for result in results), strict=True)
    return np.array(means), np.array(half_widths)


def final_regrets(results: Sequence[CellResult]) -> list[Floats]:
    """The final regret of each cell in the replications that all of them have, in the same order."""
    first = max(result.first for result in results)
    last = min(result.first + len(result.values) for result in results)
    if last <= first:
        raise ValueError("no replication was played in all of: " + "; ".join(result.cell.label for result in results))
    return [result.final("regret")[first - result.first : last - result.first] for result in results]


class Grid:
    """The results of one study by world, horizon and policy.

    Worlds, policies and horizons are those that occur, in the study's order and the shortest horizon first; ``places``
    has every policy of the study: what its colour goes by.
    """

    def __init__(self, results: Iterable[CellResult]) -> None:
        self.results = sorted(results, key=lambda result: result.index)
        if not self.results:
            raise ValueError("there are no results")
        self.study = self.results[0].study
        digest = self.study.digest()
        self._cells: dict[tuple[str, int, str], CellResult] = {}
        for result in self.results:
            if result.study.digest() != digest:
                raise ValueError(f"these results are of two studies: {self.study.name} and {result.study.name}")
            key = (result.cell.world_name, result.cell.horizon, result.cell.policy_name)
            if key in self._cells:
                raise ValueError(f"there are two results of the cell {result.cell.label!r}")
            if not len(result.values):
                raise ValueError(f"the result of the cell {result.cell.label!r} has no replications")
            self._cells[key] = result
        # In the order of the study, whether or not all of its cells are there.
        worlds, policies = ({key[place] for key in self._cells} for place in (0, 2))
        self.worlds = [name for name in dict.fromkeys(c.world_name for c in self.study.cells) if name in worlds]
        self.horizons = sorted({horizon for _, horizon, _ in self._cells})
        named = dict.fromkeys(c.policy_name for c in self.study.cells)
        self.places = {name: place for place, name in enumerate(named)}
        self.policies = [name for name in named if name in policies]

    def at(self, world: str, horizon: int) -> dict[str, CellResult]:
        """The results in one world over one horizon, by policy."""
        return {
            policy: self._cells[world, horizon, policy]
            for policy in self.policies
            if (world, horizon, policy) in self._cells
        }

    def is_paired(self) -> bool:
        """Whether policies that stand side by side were played in the same world: its name may hide several."""
        return all(
            len({result.cell.world.digest() for result in self.at(world, horizon).values()}) <= 1
            for world in self.worlds
            for horizon in self.horizons
        )

    def over_horizons(self, world: str, policy: str) -> list[CellResult]:
        """The results of one policy in one world, shortest horizon first."""
        return [
            self._cells[world, horizon, policy] for horizon in self.horizons if (world, horizon, policy) in self._cells
        ]


MOST_DECIMALS = 4
"""So many stand behind the point at most, where a half-width asks for them."""

NUMBERS = {"digits": DIGITS, "whole": WHOLE, "mostDecimals": MOST_DECIMALS}
"""How numbers are written, for the scripts of pages."""


def number(value: float) -> str:
    """A number to read: thousands apart, four digits that matter, a minus that is one, a dash for none.

    Examples
    --------
    >>> number(1234567.8), number(-12.3456), number(0.5), number(math.nan)
    ('1,234,568', '−12.35', '0.5', '–')
    """
    return number_text(value).replace("-", "−") if math.isfinite(value) else "–"


def with_half_width(mean: float, half_width: float, digits: int | None = None) -> str:
    """A mean with the half-width of its interval, to two digits of the latter or more.

    With ``digits``, so many stand behind the point, and the half-width is rounded up.

    Examples
    --------
    >>> with_half_width(12345.6, 234.6), with_half_width(-0.57312, 0.0123), with_half_width(5.0, math.nan)
    ('12,346 ± 235', '−0.573 ± 0.012', '5')
    """
    if not (math.isfinite(mean) and math.isfinite(half_width)):
        return number(mean) if digits is None or math.isnan(mean) else f"{mean:,.{digits}f}".replace("-", "−")
    if digits is None:
        digits = 0 if half_width == 0.0 else min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(half_width))))
    else:
        half_width = math.ceil(half_width * 10**digits) / 10**digits
    return f"{mean:,.{digits}f} ± {half_width:,.{digits}f}".replace("-", "−")
