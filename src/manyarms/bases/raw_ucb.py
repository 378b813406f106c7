"""RAW-UCB: of the upper confidence bounds of an arm's last 1, 2, 4, … rewards, the least is its index.

Where means only fall, the mean of any window over an arm's last rewards overestimates what it pays now, up to noise. So
every window gives an upper bound, and the least of them is the best. Short windows notice a sudden fall, long ones tell
small differences apart, and nothing has to be known of how the arms wear.

Source: Seznec, Ménard, Lazaric & Valko, "A single algorithm for both restless and rested rotting bandits" (AISTATS
2020): RAW-UCB, in its efficient version.

Symbols: h -> 2^number, a window; alpha, sigma -> width = 2 alpha sigma^2; mu-hat_i^h -> window_mean.

Deviations: windows of 1, 2, 4, … rewards only, which lag behind by up to half their length (`manyarms.bases.recent`),
as in the authors' own EFF_RAWUCB with m = 2; the paper's first version has windows of all lengths. All rounds of a run
get the confidence of its last one, log T, where the paper has log t: only the played arm's index moves, and a
tournament finds the largest. No window is longer than 2^20 rewards. Rewards are rounded down to multiples of 2^-30, so
that sums are exact. Index and windows are those of the authors' code; alpha = 4 and 1.4 are as remembered.

An open ask is a play that paid the mean of all the arm's rewards. Its answer is credited to the arm's latest reward. A
lost one stays what was presumed, since no window can give up a reward in its midst; an arm that has no play left is
untried again.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import Choice
from ..specs import Positive
from .base import Base, Rewards, earn, forget, new_rewards, register_base
from .indexed import best_among, pick
from .recent import (
    Recent,
    counted_in_grains,
    forget_recent,
    in_grains,
    new_recent,
    remember,
    revise_recent,
    window_mean,
    windows_of,
)
from .tournament import new_tournament, open_tournament, replay_games, slot_of


class RAWUCBState(NamedTuple):
    """A run over one subsample."""

    width: float
    rewards: Rewards
    recent: Recent
    keys: NDArray[np.int64]  # tournament of the indices
    leaves: int = 1
    leader: int = 0  # the slot with the largest index
    level: float = 0.0  # width · log T


@dataclasses.dataclass(frozen=True)
class RAWUCB(Base):
    """The least, over windows of h = 1, 2, 4, … rewards, of mean plus sqrt(width · log(T) / h) (Seznec et al. 2020).

    Parameters
    ----------
    width
        The factor under the root, 2 alpha sigma^2. Rewards in [0, 1] have sigma = 1/2: then 2 is the alpha = 4 of the
        proof, and 0.7, the default, the alpha = 1.4 that is reported to do well.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.RAWUCB(), beta=1.0).base
    RAWUCB(width=0.7)
    """

    about: ClassVar = About(
        told=("T", "noise"),
        rate="sqrt(K T)",
        made_for=("still", "wear"),
        cost="O(log arms + log plays)",
    )
    is_scattered: ClassVar[bool] = True  # as for other tournaments
    tried_with: ClassVar = ({"width": 0.1},)

    width: Positive = 0.7

    def start(self, slots: int) -> RAWUCBState:
        """A state with arrays for ``slots`` arms."""
        return RAWUCBState(
            width=self.width, rewards=new_rewards(slots), recent=new_recent(slots), keys=new_tournament(slots)
        )


@kernel
def rotting_index(recent: Recent, level: float, slot: int) -> float:
    """The least upper bound that a window gives; infinite without a reward."""
    index = math.inf
    for number in range(windows_of(recent, slot)):
        index = min(index, window_mean(recent, slot, number) + math.sqrt(level / (1 << number)))
    return index


def renew(base: RAWUCBState, arms: int, horizon: float, log_horizon: float) -> RAWUCBState:
    """No arm has been played: every index is infinite."""
    forget(base.rewards, arms)
    forget_recent(base.recent, arms)
    return replaced(
        base,
        leaves=open_tournament(base.keys, arms, math.inf),
        leader=0,
        level=base.width * natural_log(max(horizon, 2.0)),
    )


@kernel
def with_new_index(base: RAWUCBState, slot: int) -> RAWUCBState:
    """What is known of a slot has changed."""
    leader = replay_games(base.keys, base.leaves, slot, rotting_index(base.recent, base.level, slot))
    return replaced(base, leader=slot_of(leader, base.leaves))


def learn(base: RAWUCBState, choice: Choice, reward: float) -> RAWUCBState:
    """Only the played arm's index moves."""
    earn(base.rewards, choice.slot, in_grains(reward))
    remember(base.recent, choice.slot, in_grains(reward))
    return with_new_index(base, choice.slot)


def revise(base: RAWUCBState, slot: int, plays: int, total: float) -> RAWUCBState:
    """So does the index of an arm whose rewards were others."""
    revise_recent(base.rewards, base.recent, slot, plays, total)
    return with_new_index(base, slot)


register_base(
    RAWUCBState,
    renew=renew,
    pick=pick,
    learn=learn,
    counted=counted_in_grains,
    revise=revise,
    best_among=best_among,
)
