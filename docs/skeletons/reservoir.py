"""Shelves: an arm lies on one of a few shelves, near the mean that is written there.

Copy this file to write a reservoir: how good a fresh arm is.
"""

import dataclasses
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyarms.contract import register
from manyarms.reservoirs import Reservoir
from manyarms.specs import Fraction, fraction, several
from manyarms.streams import follow, index_below, uniform


def checked_means(owner: str, name: str, means: Any) -> tuple[float, ...]:
    """What a field keeps: one or more means, or an error that names the thing, the value and the remedy."""
    values = tuple(fraction(owner, f"each of the {name}", value) for value in several(owner, name, means))
    if not values:
        raise ValueError(f"{owner}: {name} is empty; give at least one number in [0, 1]")
    return values


class ShelvesState(NamedTuple):
    """What the compiled loop carries: numbers and arrays."""

    spread: float
    means: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Shelves(Reservoir):
    """Means spread evenly below the mean of a shelf, and each shelf as likely as the others.

    Parameters
    ----------
    means
        The best mean of each shelf.
    spread
        The share of it that an arm may fall short.
    """

    means: Annotated[tuple[float, ...], checked_means] = (0.2, 0.5, 0.9)  # a check of one's own
    spread: Fraction = 0.1

    def start(self) -> ShelvesState:
        """An array that is only ever read is marked so, and replications share it."""
        means = np.array(self.means, dtype=np.float64)
        means.flags.writeable = False
        return ShelvesState(spread=self.spread, means=means)

    @property
    def top(self) -> float:
        """The best mean an arm can begin with."""
        return max(self.means)


def fresh_mean(reservoir: ShelvesState, bits: int) -> float:
    """The mean that belongs to the random bits of an arm; what needs a second number takes the bits that follow."""
    best = reservoir.means[index_below(bits, reservoir.means.size)]
    return float(best * (1.0 - reservoir.spread * uniform(follow(bits, 1))))


register(ShelvesState, fresh_mean=fresh_mean)
