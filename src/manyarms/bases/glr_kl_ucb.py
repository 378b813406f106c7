"""GLR-klUCB: KL-UCB that restarts when two coins explain the rewards of an arm much better than one.

The detector need not know how large a change will be, and nothing has to be told but the horizon.

Source: Besson, Kaufmann, Maillard & Seznec, "Efficient Change-Point Detection for Tackling Piecewise-Stationary
Bandits" (JMLR 2022, arXiv:1902.01575), Algorithm 1, with local and with global restarts.

Symbols: Z_1 … Z_n -> the rewards since the last restart; beta(n, delta) -> glr_threshold; alpha_k -> share_in_episode;
A(t) -> turn_of; tau -> a restart; K -> arms; T -> horizon.

Deviations: the threshold is log(3 n^(3/2) / delta), which the authors advise and use; that of their proof is larger.
Not all splits are tried, but O(log n) of them (`manyarms.bases.detectors`; within the last 2^20 rewards or so): fewer
splits make no more false alarms, which the authors, who try every tenth, note too. The index has log(horizon), as in
`KLUCB`, where the paper has the logarithm of the rounds since the arm's restart, so that only the played arm's index
moves. The period of forced exploration, floor(K / alpha_k), is made K + 1 if it is less. Rounds are those of whoever
runs the base. Ties go to the lower slot. A reward outside [0, 1] counts as the end it is beyond, and is rounded down to
a multiple of 2^-30. The paper itself could not be consulted: all this is from the first author's thesis and the
authors' code, which has alpha_k = sqrt(k K log(T) / T) and delta = 1 / sqrt(T). The mode ``rested`` is not theirs.
"""

import dataclasses
import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import floor, natural_log
from ..compiled import kernel, load_both, rarely, replaced
from ..contract import Choice
from ..contract import learn as learn_index
from ..contract import renew as renew_index
from ..specs import Flag, Fraction, Positive, among
from .detectors import glr_statistic
from .indexed import IndexedState
from .kl_ucb import KLUCB
from .recent import Recent, forget_recent, in_grains, new_recent, remember
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

SCOPES = ("local", "global")


class GLRState(NamedTuple):
    """A run over one subsample."""

    told_delta: float  # 0: from the horizon
    told_exploration: float  # -1: from the horizon and the number of restarts
    is_global: bool
    indexed: IndexedState  # of the rewards since the last restart
    recent: Recent
    plays: NDArray[np.int64]  # slot -> all its plays
    arms: int = 0
    level: float = 0.0  # log(3 / delta)
    share: float = 0.0  # of forced exploration before the first restart
    restarts: int = 0
    period: int = 0  # of forced exploration; 0: none


@dataclasses.dataclass(frozen=True)
class GLRklUCB(Restarting):
    """KL-UCB with a generalized likelihood ratio test on every arm (Besson, Kaufmann, Maillard & Seznec 2022).

    Parameters
    ----------
    rested
        Arms change only when they are played: no forced exploration. False is the published algorithm.
    restarts
        ``"local"``: a change restarts the arm in which it was noticed; ``"global"``: all arms, if not ``rested``.
    delta
        The chance of a false alarm that is aimed at. None: 1 / sqrt(T).
    exploration
        The share of rounds for forced exploration. None: sqrt(k K log(T) / T) before the k-th restart, of K arms.
    width
        As for `KLUCB`.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.GLRklUCB(), beta=1.0).base.label()
    'GLRklUCB()'
    >>> published = ma.GLRklUCB(rested=False)
    """

    about: ClassVar = About(
        told=("T",),
        rate="that of KLUCB; sqrt(changes · K T) if any",
        made_for=("still", "crashes"),
        cost="O(log arms + log plays)",
    )
    tried_with: ClassVar = ({"delta": 0.5}, {"rested": False, "restarts": "global", "delta": 0.5})

    rested: Flag = True
    restarts: Annotated[str, among(SCOPES)] = "local"
    delta: Fraction | None = None
    exploration: Fraction | None = None
    width: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rested and self.restarts == "global":
            raise ValueError("GLRklUCB: restarts='global' is for arms that change in waiting; say rested=False, too")
        if self.delta == 0.0:
            raise ValueError("GLRklUCB: delta must be above 0, not 0")

    def start(self, slots: int) -> GLRState:
        """A state with arrays for ``slots`` arms."""
        return GLRState(
            told_delta=self.delta or 0.0,
            told_exploration=self.told_exploration,
            is_global=self.restarts == "global",
            indexed=KLUCB(width=self.width).start(slots),
            recent=new_recent(slots),
            plays=np.zeros(slots, dtype=np.int64),
        )


@kernel
def glr_threshold(level: float, plays: int) -> float:
    """What the statistic of so many rewards has to reach: log(3 n^(3/2) / delta)."""
    return level + 1.5 * natural_log(float(plays))


@kernel
def exploration_for(arms: int, horizon: float) -> float:
    """The share of forced exploration before the first restart: sqrt(K log(T) / T)."""
    rounds = max(horizon, 2.0)
    return math.sqrt(arms * natural_log(rounds) / rounds)


@kernel
def share_in_episode(base: GLRState) -> float:
    """The share of forced exploration now: it grows with the root of the episodes, unless it was told."""
    return base.share * math.sqrt(base.restarts + 1.0) if base.told_exploration < 0.0 else base.told_exploration


@kernel
def with_period(base: GLRState) -> GLRState:
    """The period of forced exploration that fits the number of restarts."""
    share = share_in_episode(base)
    period = leaving_a_round(floor(rounds_for_turns(base.arms, share)), base.arms) if share > 0.0 else 0
    return replaced(base, period=period)


def renew(base: GLRState, arms: int, horizon: float, log_horizon: float) -> GLRState:
    """No arm has been played."""
    forget_recent(base.recent, arms)
    for slot in range(arms):
        base.plays[slot] = 0
    delta = base.told_delta if base.told_delta > 0.0 else 1.0 / math.sqrt(max(horizon, 2.0))
    begun = replaced(
        base,
        indexed=renew_index(base.indexed, arms, horizon, log_horizon),
        arms=arms,
        level=natural_log(3.0 / delta),
        share=exploration_for(arms, horizon),
        restarts=0,
    )
    return with_period(begun)


@kernel
def has_changed(base: GLRState, slot: int) -> bool:
    """Whether the rewards of an arm since its last restart speak of two means."""
    plays, total = load_both(base.indexed.rewards.plays, base.indexed.rewards.sums, slot)
    return glr_statistic(base.recent, slot, total) >= glr_threshold(base.level, plays)


@kernel
def restarted(base: GLRState, slot: int) -> GLRState:
    """Forget the rewards of this arm, or of all."""
    if base.is_global:
        forget_recent(base.recent, base.arms)
        indexed = all_anew(base.indexed, base.arms)
    else:
        base.recent.taken[slot] = 0
        indexed = arm_anew(base.indexed, slot)
    return with_period(replaced(base, indexed=indexed, restarts=base.restarts + 1))


def learn(base: GLRState, choice: Choice, reward: float) -> GLRState:
    """One more reward; only the arm that it came from can be found to have changed."""
    counted = in_grains(min(max(reward, 0.0), 1.0))
    remember(base.recent, choice.slot, counted)
    base.plays[choice.slot] += 1
    base = replaced(base, indexed=learn_index(base.indexed, choice, counted))
    return restarted(base, choice.slot) if rarely(has_changed(base, choice.slot)) else base


register_restarting(GLRState, renew=renew, pick=pick_by_turns, learn=learn, best_among=best_by_turns)
