"""Greedy: try every arm once, then always play the one with the best mean reward.

Source: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in
Multi-Armed Bandit with Many Arms" (NeurIPS 2020): with many arms, a good one is always among
those whose first rewards were good, and nothing is spent on the others.

It is UCB with a confidence interval of width 0, and runs on the same kernels; ties go to the
lower slot.
"""

import dataclasses

from .base import Base
from .ucb import UCBState, start_ucb


@dataclasses.dataclass(frozen=True)
class Greedy(Base):
    """The best mean reward so far, after one play of each arm.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Greedy(), beta=1.0).base
    Greedy()
    """

    def start(self, slots: int) -> UCBState:
        """A state with arrays for ``slots`` arms."""
        return start_ucb(0.0, slots)
