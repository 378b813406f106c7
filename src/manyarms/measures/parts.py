"""Parts of a run: the rounds of a block or an episode, and sums over them.

Sums of floats depend on their order, and parts that were rounded need not add up. So all sums of means and
changes here are exact sums, rounded once (``math.fsum``): the parts of regret add up to the whole but for the last bit
of each. The running sums of a simulation differ from them in their last bits.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .inputs import Ints, check_rounds, whole_numbers


class Span(NamedTuple):
    """One part."""

    label: int  # the number of the block or episode
    start: int  # its first round
    end: int  # its last round

    @property
    def rounds(self) -> slice:
        """Where arrays have its entries."""
        return slice(self.start - 1, self.end)


class Parts(NamedTuple):
    """A run cut into blocks or episodes."""

    labels: Ints  # of each round
    edges: Ints  # where parts begin, counted from 0; and the number of rounds

    @property
    def number(self) -> int:
        """How many there are."""
        return self.edges.size - 1

    def spans(self) -> Iterator[Span]:
        """Each part, in order."""
        for start, end in itertools.pairwise(self.edges.tolist()):
            yield Span(label=int(self.labels[start]), start=start + 1, end=end)


def checked_parts(name: str, labels: ArrayLike, rounds: int) -> Parts:
    """The parts of a run from the label of each round; labels never decrease."""
    label = whole_numbers(name, labels)
    check_rounds(name, label, rounds)
    falls = np.flatnonzero(label[1:] < label[:-1])
    if falls.size:
        place = int(falls[0])
        raise ValueError(
            f"{name} must not decrease, but goes from {label[place]} to {label[place + 1]} in round {place + 2}; "
            "number blocks and episodes in the order in which they were played"
        )
    inner = np.flatnonzero(label[1:] != label[:-1]) + 1
    edges = np.concatenate([[0], inner, [rounds]]) if rounds else np.zeros(1)
    return Parts(labels=label, edges=edges.astype(np.int64))


def distinct(values: Ints) -> int:
    """How many different ones there are."""
    return int(np.unique(values).size)


def exact_regret(best: list[float] | float, means: list[float]) -> float:
    """The sum of best - mean, rounded once: differences are not rounded before they are summed."""
    bests = best if isinstance(best, list) else [best] * len(means)
    return math.fsum(bests + [-mean for mean in means])
