"""M-UCB: UCB that restarts when the newest rewards of an arm sum up to something else than as many before them.

Source: Cao, Wen, Kveton & Xie, "Nearly Optimal Adaptive Procedure with Change Detection for Piecewise-Stationary
Bandit" (AISTATS 2019, arXiv:1802.03692), Algorithms 1 and 2.

Symbols: w -> window; b -> threshold; gamma -> exploration; M - 1 -> changes; A -> turn_of; tau -> a restart; K -> arms;
T -> horizon.

Deviations: the index has log(horizon), as in `UCB`, where the paper has the logarithm of the rounds since the restart,
so that only the played arm's index moves. The period of forced exploration, ceil(K / gamma), is made K + 1 if it is
less. Turns are counted in the rounds of whoever runs the base, and not from the last restart: arms are untried after
one, and come first anyway. The window that the paper's theorem has, (4 / d^2) (sqrt(log(2 K T^2)) + sqrt(log(2 T)))^2
for changes of at least d, is as a rule longer than an arm is played (29,549 rewards for d = 0.1, K = 10 and T =
100,000), and room for it would have to be made before K and T are known: ``window`` has to be told. Ties go to the
lower slot. Rewards are rounded down to multiples of 2^-30, so that what leaves a half of the window is exactly what
entered it. Of the paper no more than the abstract was at hand: b, gamma and the test are as public code has them, the 2
under the root of the index is that of UCB1. The mode ``rested`` is not theirs.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import ceiling, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice
from ..contract import learn as learn_index
from ..contract import renew as renew_index
from ..specs import Count, Flag, Fraction, Positive, whole
from .detectors import Halves, halves_after, new_halves
from .indexed import IndexedState
from .recent import in_grains
from .restarts import (
    Restarting,
    all_anew,
    arm_anew,
    best_by_turns,
    leaving_a_round,
    pick_by_turns,
    register_restarting,
    rounds_for_turns,
)
from .ucb import UCB


class MUCBState(NamedTuple):
    """A run over one subsample."""

    window: int
    told_threshold: float  # 0: from the horizon
    told_exploration: float  # -1: from the horizon
    changes: int
    is_rested: bool
    indexed: IndexedState  # of the rewards since the last restart
    halves: Halves
    plays: NDArray[np.int64]  # slot -> all its plays
    arms: int = 0
    threshold: float = 0.0
    period: int = 0  # of forced exploration; 0: none


def checked_window(owner: str, name: str, value: Any) -> int:
    """An even number of rewards."""
    result = whole(owner, name, value, least=2)
    if result % 2:
        raise ValueError(f"{owner}: {name} must be even, to have two halves, not {value!r}")
    return result


@dataclasses.dataclass(frozen=True)
class MUCB(Restarting):
    """UCB with a test of two half-windows on every arm (Cao, Wen, Kveton & Xie 2019).

    Parameters
    ----------
    rested
        Arms change only when they are played: no forced exploration, and a change restarts one arm. False is the
        published algorithm, in which it restarts all.
    window
        How many rewards of an arm the test looks at, an even number: 8 bytes for each, and each arm. The halves have
        to differ by 2 · threshold / window on average, which is sqrt(2 log(2 K T^2) / window): 0.49 of 1 by default
        for 100 arms and 10,000 rounds. With fewer than 2 log(2 K T^2) rewards no change can be seen.
    threshold
        How far apart the sums of the halves must be. None: sqrt(window · log(2 K T^2) / 2).
    changes
        How often arms are expected to change in the run, all at a time or not.
    exploration
        The share of rounds for forced exploration. None: sqrt(changes · K (2 threshold + 3 sqrt(window)) / (2 T)).
    width
        The factor under the root of the index, as for `UCB`.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.MUCB(window=100), beta=1.0).base.label()
    'MUCB(window=100)'
    >>> published = ma.MUCB(rested=False, changes=4)
    """

    about: ClassVar = About(
        told=("T", "changes"),
        rate="that of UCB; sqrt(changes · K T) if any",
        made_for=("still", "crashes"),
        cost="O(log arms)",
    )
    tried_with: ClassVar = ({"window": 20, "threshold": 5.0}, {"rested": False, "window": 20, "threshold": 5.0})

    rested: Flag = True
    window: Annotated[int, checked_window] = 200
    threshold: Positive | None = None
    changes: Count = 1
    exploration: Fraction | None = None
    width: Positive = 2.0

    def start(self, slots: int) -> MUCBState:
        """A state with arrays for ``slots`` arms and their windows."""
        return MUCBState(
            window=self.window,
            told_threshold=self.threshold or 0.0,
            told_exploration=self.told_exploration,
            changes=self.changes,
            is_rested=self.rested,
            indexed=UCB(width=self.width).start(slots),
            halves=new_halves(slots, self.window),
            plays=np.zeros(slots, dtype=np.int64),
        )


@kernel
def threshold_for(window: int, arms: int, horizon: float) -> float:
    """How far apart the sums of two halves must be: sqrt(w log(2 K T^2) / 2)."""
    return math.sqrt(0.5 * window * natural_log(2.0 * arms * horizon * horizon))


@kernel
def exploration_for(base: MUCBState, arms: int, horizon: float, threshold: float) -> float:
    """The share of forced exploration: sqrt((M - 1) K (2 b + 3 sqrt(w)) / (2 T)), at most 1."""
    price = 2.0 * threshold + 3.0 * math.sqrt(float(base.window))
    return min(math.sqrt(base.changes * arms * price / (2.0 * horizon)), 1.0)


def renew(base: MUCBState, arms: int, horizon: float, log_horizon: float) -> MUCBState:
    """No arm has been played."""
    for slot in range(arms):
        base.plays[slot] = 0
    rounds = max(horizon, 2.0)
    threshold = base.told_threshold if base.told_threshold > 0.0 else threshold_for(base.window, arms, rounds)
    share = base.told_exploration
    if share < 0.0:
        share = exploration_for(base, arms, rounds, threshold)
    period = leaving_a_round(ceiling(rounds_for_turns(arms, share)), arms) if share > 0.0 else 0
    return replaced(
        base,
        indexed=renew_index(base.indexed, arms, horizon, log_horizon),
        arms=arms,
        threshold=threshold,
        period=period,
    )


@kernel
def restarted(base: MUCBState, slot: int) -> MUCBState:
    """Forget the rewards of all arms; of this one, if no other can have changed."""
    if base.is_rested:
        return replaced(base, indexed=arm_anew(base.indexed, slot))
    return replaced(base, indexed=all_anew(base.indexed, base.arms))


def learn(base: MUCBState, choice: Choice, reward: float) -> MUCBState:
    """One more reward; only the arm that it came from can be found to have changed."""
    slot = choice.slot
    counted = in_grains(reward)
    apart = halves_after(base.halves, base.window, slot, base.indexed.rewards.plays[slot], counted)
    base.plays[slot] += 1
    base = replaced(base, indexed=learn_index(base.indexed, choice, counted))
    return restarted(base, slot) if rarely(apart > base.threshold) else base


register_restarting(MUCBState, renew=renew, pick=pick_by_turns, learn=learn, best_among=best_by_turns)
