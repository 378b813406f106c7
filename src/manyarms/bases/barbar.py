"""BARBAR: draw every arm in each phase, the less often the worse it was in the phase before.

An arm that was found bad by forged rewards is not dropped: it is drawn seldom for a phase, and what is honest by then
brings it back. So what was forged in a phase is forgotten after the next one, and costs no more than in proportion.

Source: Gupta, Koren & Talwar, "Better Algorithms for Stochastic Bandits with Adversarial Corruptions" (COLT 2019,
arXiv:1902.08647), Algorithm 1.

Symbols: m -> a phase; lambda -> level; Delta_i -> gaps; n_i -> planned; N -> total; r_i -> mean_by_plan; r_* -> best;
2^-m -> least_gap; K -> arms; T -> horizon; delta is 1 / T.

Deviations: lambda is multiplied by ``scale``. A phase has ceil(N) rounds, and a round is an answer. An answer that
comes in a later phase than its ask is weighed by how much likelier its arm is drawn now, so that r_i stays right on
average; within a phase that is 1. Gaps stay above 2^-30, which no run of less than 2^58 lambda rounds reaches.
Rewards beyond [0, 1] count as the end they are beyond. The full text was not at hand: constants are as remembered, and
1024, 1/16 and the division by the planned plays are in public code of a variant, too.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, ceiling, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice
from ..specs import Positive
from .drawn import Drawn, register_drawn, within

LEAST_GAP = 2.0**-30
LONGEST_PHASE = 2.0**60


class BARBARState(NamedTuple):
    """A run over one subsample."""

    gaps: NDArray[np.float64]  # slot -> how much worse than the best it was in the phase before
    planned: NDArray[np.float64]  # slot -> how often it is to be drawn in this phase, on average
    sums: NDArray[np.float64]  # slot -> its rewards in this phase
    plays: NDArray[np.int64]  # slot -> its plays in all phases
    scale: float
    arms: int = 0
    level: float = 1.0
    total: float = 1.0  # of what is planned
    left: int = 0  # answers to come in this phase
    least_gap: float = 1.0  # no gap is taken to be smaller


@dataclasses.dataclass(frozen=True)
class BARBAR(Drawn):
    """In each phase give every arm about level / gap^2 plays, by its gap in the phase before (Gupta et al. 2019).

    Parameters
    ----------
    scale
        By what the published level, 1024 log(8 K log2(T) T), is multiplied. With 1, the constant of the proof, the
        first phase, in which all arms are alike, has some 180,000 rounds with 10 arms and T = 30,000: it does nothing
        but play at random. 1/1024 makes phases that do something; nothing is proved of it.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.BARBAR(scale=1 / 1024), beta=1.0).base.label()
    'BARBAR(scale=0.0009765625)'
    """

    about: ClassVar = About(
        told=("T",),
        rate="log(T)^2 / gap for each arm; at random until T is large, unless scaled",
        made_for=("still", "lies"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"scale": 2.0**-10}, {"scale": 2.0**-13})

    scale: Positive = 1.0

    def start(self, slots: int) -> BARBARState:
        """A state with arrays for ``slots`` arms."""
        return BARBARState(
            gaps=np.zeros(slots),
            planned=np.zeros(slots),
            sums=np.zeros(slots),
            plays=np.zeros(slots, dtype=np.int64),
            scale=self.scale,
        )


@kernel
def level_for(scale: float, arms: int, horizon: float) -> float:
    """Lambda: 1024 log(8 K log2(T) / delta), delta = 1 / T, and so many times as much."""
    rounds = max(horizon, 2.0)
    return scale * 1024.0 * natural_log(8.0 * arms * binary_log(rounds) * rounds)


@kernel
def chance_in(base: BARBARState, slot: int) -> float:
    """Its part of all planned plays."""
    return float(base.planned[slot] / base.total)


@kernel
def planned_anew(base: BARBARState) -> BARBARState:
    """A phase by the gaps as they are."""
    total = 0.0
    for slot in range(base.arms):
        base.planned[slot] = base.level / (base.gaps[slot] * base.gaps[slot])
        base.sums[slot] = 0.0
        total += base.planned[slot]
    return replaced(base, total=total, left=ceiling(min(total, LONGEST_PHASE)))


@kernel
def mean_by_plan(base: BARBARState, slot: int) -> float:
    """Its rewards in this phase over the plays that were planned, not over those it had."""
    return float(base.sums[slot] / base.planned[slot])


@kernel
def next_phase(base: BARBARState) -> BARBARState:
    """How much worse than the best each arm was, and a plan for the next phase."""
    best = mean_by_plan(base, 0) - base.gaps[0] / 16.0
    for slot in range(1, base.arms):
        best = max(best, mean_by_plan(base, slot) - base.gaps[slot] / 16.0)
    least_gap = max(base.least_gap / 2.0, LEAST_GAP)
    for slot in range(base.arms):
        base.gaps[slot] = max(least_gap, best - mean_by_plan(base, slot))
    return planned_anew(replaced(base, least_gap=least_gap))


def renew(base: BARBARState, arms: int, horizon: float, log_horizon: float) -> BARBARState:
    """The first phase: all gaps may be 1."""
    for slot in range(arms):
        base.gaps[slot] = 1.0
        base.plays[slot] = 0
    return planned_anew(replaced(base, arms=arms, level=level_for(base.scale, arms, horizon), least_gap=1.0))


def learn(base: BARBARState, choice: Choice, reward: float) -> BARBARState:
    """Add it up; when the phase is over, begin the next."""
    base.plays[choice.slot] += 1
    base.sums[choice.slot] += within(reward) * (chance_in(base, choice.slot) / choice.probability)
    counted = replaced(base, left=base.left - 1)
    return next_phase(counted) if rarely(counted.left <= 0) else counted


register_drawn(BARBARState, renew=renew, learn=learn, chance_in=chance_in)
