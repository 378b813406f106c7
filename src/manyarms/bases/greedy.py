"""Greedy: try every arm once, then always play the one with the best mean reward.

Source: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in
Multi-Armed Bandit with Many Arms" (NeurIPS 2020): with many arms, a good one is always among
those whose first rewards were good, and nothing is spent on the others.

It is UCB with a confidence interval of width 0, and runs on the same kernels; ties go to the
lower slot.
"""

import dataclasses
from typing import ClassVar

from .indexed import Indexed
from .ucb import UCBFormula


@dataclasses.dataclass(frozen=True)
class Greedy(Indexed):
    """The best mean reward so far, after one play of each arm.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Greedy(), beta=1.0).base
    Greedy()
    """

    is_scattered: ClassVar[bool] = False  # it mostly stays with one arm

    def formula(self) -> UCBFormula:
        """The mean alone."""
        return UCBFormula(width=0.0)
