"""PROSE: OSE over arms in order of their lower bounds, so that small scopes hold the arms that have proved good.

`OSE` has the arms in the order in which they were drawn, and in its small scopes the first few for ever. PROSE sorts
them by their lower bounds: a small scope is played among the best arms that are known, a large one takes in all. All
else is the same, but for the number of steps, which is rounded up. It is told nothing of the reservoir and no horizon.

Source: Pilliat, arXiv:2510.27319, whose slides and demonstration were at hand, not the paper.

Symbols: as for `OSE`.

Deviations: none from the demonstration. Open asks count as plays that paid what was expected.
"""

import dataclasses
from typing import ClassVar

import numpy as np

from ..about import About
from ..specs import Positive
from .ose import Ranking, Scoped


@dataclasses.dataclass(frozen=True)
class PROSE(Scoped):
    """The largest upper bound in a scope of the best arms that goes from few to all (Pilliat 2025).

    Parameters
    ----------
    width
        The bounds are the mean plus and minus sqrt(width / plays). The demonstration has 2, for noise of standard
        deviation 0.5.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.PROSE(), world, 3000, replications=20, seed=1, checkpoints=1, recommend=True)
    >>> bool(result.final("PROSE", "simple regret").mean() < 0.2)
    True
    """

    about: ClassVar = About(
        told=("noise",),
        rate="simple regret, measured: docs/theory/simple-regret.md",
        made_for=("still", "one good arm", "late answers"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({}, {"width": 0.1})

    width: Positive = 2.0

    def new_order(self, slots: int) -> Ranking:
        """By their lower bounds."""
        return Ranking(slots=np.zeros(slots, dtype=np.int64))
