"""Upper confidence bounds as they were coded for published experiments, where that is not what the texts say.

`CodedUCB` has the confidence of the code of Bayati, Hamidi, Johari & Khosravi (NeurIPS 2020), which grows like
f(t) = 1 + 2 t log t, log(t^2) standing where the book has log(t)^2 (Lattimore & Szepesvári, "Bandit Algorithms",
Chapter 8; `AsymptoticUCB`). `StaleUCB` is the index in the code of Kim, Vojnović & Yun (2022, 2024) and of Suk & Kim
(2025): that of the book, but brought up to date for the arm just played alone; with a window it is their SSUCB-SW of
June 2025, which averages the rounds before the present one.

Source: the authors' public repositories, of which facts are used and no code.

Both are there to play simulations again. They learn nothing of open asks.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arithmetic import natural_log
from ...bases.base import Base, Rewards, add_to, earn, forget, new_rewards, plays_in
from ...bases.indexed import pick as pick_leader
from ...bases.recent import in_grains
from ...bases.tournament import new_tournament, open_tournament, replay_games, slot_of
from ...compiled import kernel, replaced
from ...contract import Choice, register
from ...specs import Count, Positive


class CodedUCBState(NamedTuple):
    """A run over one subsample."""

    sigma: float
    rewards: Rewards
    means: NDArray[np.float64]  # slot -> mean reward; infinite if it was not played
    slopes: NDArray[np.float64]  # slot -> 1 / sqrt(plays)
    arms: int = 0
    told: int = 0  # rewards so far
    level: float = 0.0  # sigma · sqrt(2 log f(t)) of the coming round


@dataclasses.dataclass(frozen=True)
class CodedUCB(Base):
    """Mean plus sigma · sqrt(2 log(1 + 2 t log t) / plays), t the round: the code of Bayati et al. 2020.

    Parameters
    ----------
    sigma
        The scale of the noise: 1 for unit Gaussian noise, 1/2 for coins.

    Examples
    --------
    >>> from manyarms.lab.questions.coded_indices import CodedUCB
    >>> CodedUCB(sigma=0.5)
    CodedUCB(sigma=0.5)
    """

    takes_corrections: ClassVar[bool] = False
    tried_with: ClassVar = ({"sigma": 0.5},)

    sigma: Positive = 1.0

    def start(self, slots: int) -> CodedUCBState:
        """A state with arrays for ``slots`` arms."""
        return CodedUCBState(
            sigma=self.sigma, rewards=new_rewards(slots), means=np.zeros(slots), slopes=np.zeros(slots)
        )


@kernel
def coded_confidence(round: int) -> float:
    """Log f(t), with f(t) = 1 + 2 t log t."""
    return natural_log(1.0 + 2.0 * round * natural_log(float(round)))


def renew_coded(base: CodedUCBState, arms: int, horizon: float, log_horizon: float) -> CodedUCBState:
    """No arm has been played."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.means[slot] = math.inf
        base.slopes[slot] = 0.0
    return replaced(base, arms=arms, told=0, level=0.0)


def pick_coded(base: CodedUCBState, key: int, round: int) -> tuple[int, float]:
    """The argmax of the index; ties go to the lower slot."""
    best = 0
    most = -math.inf
    for slot in range(base.arms):
        index = base.means[slot] + base.level * base.slopes[slot]
        if index > most:
            best = slot
            most = index
    return best, 1.0


def learn_coded(base: CodedUCBState, choice: Choice, reward: float) -> CodedUCBState:
    """One more play; the level is that of the coming round."""
    plays, total = earn(base.rewards, choice.slot, reward)
    base.means[choice.slot] = total / plays
    base.slopes[choice.slot] = 1.0 / math.sqrt(plays)
    told = base.told + 1
    return replaced(base, told=told, level=base.sigma * math.sqrt(2.0 * coded_confidence(told + 1)))


register(CodedUCBState, renew=renew_coded, pick=pick_coded, learn=learn_coded, plays_of=plays_in)


UNTRIED = 1e9
"""The index of an arm that was not played: above all others, but for those that are undefined."""


class StaleUCBState(NamedTuple):
    """A run over one subsample."""

    sigma: float
    rewards: Rewards
    recent: Rewards  # of the rounds in the window
    slots: NDArray[np.int64]  # whom the rounds of the window went to, in a ring: round r at (r - 1) modulo its length
    paid: NDArray[np.float64]  # and what they paid
    keys: NDArray[np.int64]  # tournament of the indices
    window: int = 0  # its length; 0: all rounds
    leaves: int = 1
    leader: int = 0  # the slot with the largest index
    told: int = 0  # rounds so far


@dataclasses.dataclass(frozen=True)
class StaleUCB(Base):
    """Mean plus sigma · sqrt(2 log(1 + t log(t)^2) / plays), where t is the round in which the arm was last played.

    Parameters
    ----------
    sigma
        The scale of the noise.
    window
        Mean and plays are those of so many rounds before the present one, whose own reward does not count. An arm with
        no play among them has no index, and is played before all others; so after every pause an arm is played
        twice. None: mean and plays of all rounds, with the present one.

    Examples
    --------
    >>> from manyarms.lab.questions.coded_indices import StaleUCB
    >>> StaleUCB(window=100)
    StaleUCB(sigma=1.0, window=100)
    """

    takes_corrections: ClassVar[bool] = False
    is_scattered: ClassVar[bool] = True  # as for other tournaments
    tried_with: ClassVar = ({"sigma": 0.5}, {"window": 30})

    sigma: Positive = 1.0
    window: Count | None = None

    def start(self, slots: int) -> StaleUCBState:
        """A state with arrays for ``slots`` arms and the window."""
        room = self.window or 1
        return StaleUCBState(
            sigma=self.sigma,
            rewards=new_rewards(slots),
            recent=new_rewards(slots),
            slots=np.zeros(room, dtype=np.int64),
            paid=np.zeros(room),
            keys=new_tournament(slots),
            window=self.window or 0,
        )


@kernel
def book_index(sigma: float, round: int, plays: int, total: float) -> float:
    """The index of the book in this round; undefined without plays, and then above all."""
    if plays == 0:
        return math.inf
    log_round = natural_log(float(round))
    confidence = natural_log(1.0 + round * log_round * log_round)
    return total / plays + sigma * math.sqrt(2.0 * confidence / plays)


def renew_stale(base: StaleUCBState, arms: int, horizon: float, log_horizon: float) -> StaleUCBState:
    """No arm has been played."""
    forget(base.rewards, arms)
    forget(base.recent, arms)
    return replaced(base, leaves=open_tournament(base.keys, arms, UNTRIED), leader=0, told=0)


@kernel
def move_window(base: StaleUCBState, slot: int, reward: float) -> None:
    """The present round enters the window, and the oldest leaves it. Grains: what leaves is exactly what came."""
    place = base.told % base.window
    if base.told >= base.window:
        add_to(base.recent, base.slots[place], -1, -base.paid[place])
    base.slots[place] = slot
    base.paid[place] = in_grains(reward)
    add_to(base.recent, slot, 1, base.paid[place])


def learn_stale(base: StaleUCBState, choice: Choice, reward: float) -> StaleUCBState:
    """Only the played arm's index is brought up to date."""
    slot = choice.slot
    plays, total = earn(base.rewards, slot, reward)
    if base.window > 0:
        plays, total = base.recent.plays[slot], base.recent.sums[slot]
        move_window(base, slot, reward)
    index = book_index(base.sigma, base.told + 1, plays, total)
    leader = replay_games(base.keys, base.leaves, slot, index)
    return replaced(base, leader=slot_of(leader, base.leaves), told=base.told + 1)


register(StaleUCBState, renew=renew_stale, pick=pick_leader, learn=learn_stale, plays_of=plays_in)
