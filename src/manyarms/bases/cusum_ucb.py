"""CUSUM-UCB: UCB that restarts an arm when its rewards have run away from the mean of its first ones.

Source: Liu, Lee & Shroff, "A Change-Detection based Framework for Piecewise-stationary Multi-Armed Bandit Problem"
(AAAI 2018, arXiv:1711.03539): CD-UCB with the two-sided CUSUM test.

Symbols: M -> samples; epsilon -> tolerance; h -> threshold; alpha -> exploration; xi -> width; g+, g- -> rises, falls
of the detector; gamma_T -> changes; T -> horizon.

Deviations: the index has log(horizon), as in `UCB`, where the paper has the logarithm of all plays since the last
restarts of their arms, so that only the played arm's index moves. Ties go to the lower slot. Of the paper no more than
the abstract was at hand: detector, h = log(T / gamma_T) and alpha = sqrt(gamma_T log(T / gamma_T) / T) are also those
of public code, xi = 1 is as remembered. M = 100 and epsilon = 0.1 are in the range of what is in use: the paper wants
epsilon to be below the least change, and M to be enough to know a mean that well. A later work (Besson, in the thesis
behind `GLRklUCB`) reports a gap in the proof of the regret. The mode ``rested`` is not theirs.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, load_both, rarely, replaced
from ..contract import Choice
from ..contract import learn as learn_index
from ..contract import renew as renew_index
from ..specs import Count, Flag, Fraction, Positive
from ..streams import bits_at, follow, index_below, uniform
from .detectors import Cusum, compare_with, cusum_after, new_cusum
from .epsilon_greedy import nth_allowed
from .indexed import IndexedState
from .indexed import best_among as best_by_index
from .restarts import Restarting, arm_anew, register_restarting
from .ucb import UCB


class CUSUMState(NamedTuple):
    """A run over one subsample."""

    samples: int
    tolerance: float
    told_threshold: float  # 0: from the horizon
    told_exploration: float  # -1: from the horizon
    changes: int
    indexed: IndexedState  # of the rewards since the last restart
    cusum: Cusum
    plays: NDArray[np.int64]  # slot -> all its plays
    arms: int = 0
    threshold: float = 0.0
    exploration: float = 0.0


@dataclasses.dataclass(frozen=True)
class CUSUMUCB(Restarting):
    """UCB with a two-sided CUSUM test on every arm (Liu, Lee & Shroff 2018).

    Parameters
    ----------
    rested
        Arms change only when they are played: no forced exploration. False is the published algorithm.
    samples
        So many rewards of an arm make the mean with which those after it are compared.
    tolerance
        What a reward may be off that mean, on average, without being noticed: less than the least change.
    threshold
        The sum of what they are off beyond that, at which the arm restarts. None: log(T / changes).
    changes
        How often arms are expected to change in the run, all of them together.
    exploration
        The probability of a round at random. None: sqrt(changes · log(T / changes) / T).
    width
        The factor under the root of the index, as for `UCB`.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.CUSUMUCB(tolerance=0.05), beta=1.0).base.label()
    'CUSUMUCB(tolerance=0.05)'
    >>> published = ma.CUSUMUCB(rested=False, changes=4)
    """

    about: ClassVar = About(
        told=("T", "changes", "least change"),
        rate="that of UCB; sqrt(changes · T) if any",
        made_for=("still", "crashes"),
        cost="O(log arms)",
    )
    tried_with: ClassVar = ({"samples": 5, "threshold": 2.0}, {"rested": False, "samples": 5, "threshold": 2.0})

    rested: Flag = True
    samples: Count = 100
    tolerance: Positive = 0.1
    threshold: Positive | None = None
    changes: Count = 1
    exploration: Fraction | None = None
    width: Positive = 1.0

    def start(self, slots: int) -> CUSUMState:
        """A state with arrays for ``slots`` arms."""
        return CUSUMState(
            samples=self.samples,
            tolerance=self.tolerance,
            told_threshold=self.threshold or 0.0,
            told_exploration=self.told_exploration,
            changes=self.changes,
            indexed=UCB(width=self.width).start(slots),
            cusum=new_cusum(slots),
            plays=np.zeros(slots, dtype=np.int64),
        )

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """If it explores."""
        return not self.rested

    def chance_among(self, state: CUSUMState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """Its share of the rounds at random, and all others if it has the largest index."""
        if not allowed[slot]:
            return 0.0
        best, _ = best_by_index(state.indexed, 0, 1, allowed, len(allowed))
        return chance_of(state, slot == best, int(allowed.sum()))


@kernel
def threshold_for(horizon: float, changes: int) -> float:
    """What CUSUM has to reach: log(T / changes), with at least two rounds for each change."""
    return natural_log(max(horizon / changes, 2.0))


@kernel
def exploration_for(horizon: float, changes: int) -> float:
    """The probability of a round at random: sqrt(changes · log(T / changes) / T), at most 1."""
    return min(math.sqrt(threshold_for(horizon, changes) * changes / max(horizon, 1.0)), 1.0)


def renew(base: CUSUMState, arms: int, horizon: float, log_horizon: float) -> CUSUMState:
    """No arm has been played."""
    for slot in range(arms):
        base.plays[slot] = 0
    return replaced(
        base,
        indexed=renew_index(base.indexed, arms, horizon, log_horizon),
        arms=arms,
        threshold=base.told_threshold if base.told_threshold > 0.0 else threshold_for(horizon, base.changes),
        exploration=base.told_exploration if base.told_exploration >= 0.0 else exploration_for(horizon, base.changes),
    )


@kernel
def chance_of(base: CUSUMState, is_best: bool, number: int) -> float:
    """The probability of one of so many arms."""
    return base.exploration / number + (1.0 - base.exploration if is_best else 0.0)


def pick(base: CUSUMState, key: int, round: int) -> tuple[int, float]:
    """Any arm, or the one with the largest index."""
    best = base.indexed.leader
    slot = best
    bits = bits_at(key, round, 0)
    if base.exploration > 0.0 and uniform(bits) < base.exploration:
        slot = index_below(follow(bits, 1), base.arms)
    return slot, chance_of(base, slot == best, base.arms)


def best_among(base: CUSUMState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """Any of the allowed arms, or the one of them with the largest index."""
    best, _ = best_by_index(base.indexed, key, round, allowed, arms)
    if best < 0:
        return best, 1.0
    number = 0
    for slot in range(arms):
        number += 1 if allowed[slot] else 0
    slot = best
    bits = bits_at(key, round, 1)
    if base.exploration > 0.0 and uniform(bits) < base.exploration:
        slot = nth_allowed(allowed, arms, index_below(follow(bits, 1), number))
    return slot, chance_of(base, slot == best, number)


@kernel
def has_changed(base: CUSUMState, slot: int, reward: float) -> bool:
    """Whether the rewards of an arm have run away from its first ones, of which the latest may be the last."""
    plays, total = load_both(base.indexed.rewards.plays, base.indexed.rewards.sums, slot)
    if plays == base.samples:
        compare_with(base.cusum, slot, total / plays)
    return plays > base.samples and cusum_after(base.cusum, slot, reward, base.tolerance) >= base.threshold


def learn(base: CUSUMState, choice: Choice, reward: float) -> CUSUMState:
    """One more reward; only the arm that it came from can be found to have changed."""
    base.plays[choice.slot] += 1
    base = replaced(base, indexed=learn_index(base.indexed, choice, reward))
    if rarely(has_changed(base, choice.slot, reward)):
        return replaced(base, indexed=arm_anew(base.indexed, choice.slot))
    return base


register_restarting(CUSUMState, renew=renew, pick=pick, learn=learn, best_among=best_among)
