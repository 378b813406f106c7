"""UCB-V: upper confidence bounds that are narrow where rewards vary little.

By Bernstein's inequality a mean of rewards in [0, 1] is known the better the less they vary, and how much they vary is
seen in the rewards themselves. The price is a second term, 3 E / n, which is above all else in an arm's first plays.

Source: Audibert, Munos & Szepesvári, "Exploration-exploitation tradeoff using variance estimates in multi-armed
bandits" (Theoretical Computer Science 2009), UCB-V; for infinitely many arms Wang, Audibert & Munos, "Algorithms for
Infinitely Many-Armed Bandits" (NIPS 2008), whose UCB-F is this on a subsample.

Symbols: T_k -> plays; V_k -> variance; E_t, the exploration sequence -> exploration_at; B_k -> ucb_v_index.

Deviations: with ``anytime=False``, the default, E is that of the horizon in all rounds, where both sources have that
of round t: as in the package's UCB, only the played arm's index moves (`manyarms.bases.indexed`). The first
source has E = zeta log t, and proofs for zeta > 1; here zeta is ``width``, and 1 unless stated. The second allows any
E from 2 log(10 log t) to log t. Logarithms are natural, and t counts from 2. These constants are as remembered and as
public code has them; the full texts were not at hand. What is known of an arm from elsewhere is a number of plays and
what they paid, and says nothing of the variance: it counts as coins, which vary most.
"""

import dataclasses
import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, load_both, replaced
from ..contract import Choice
from ..specs import Flag, Positive, among
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base
from .indexed import best_among as best_among_by_keys
from .indexed import pick as pick_leader
from .scanning import best_among_by_scan, pick_by_scan
from .tournament import new_tournament, open_tournament, replay_games, slot_of

EXPLORATIONS = ("log", "loglog")


class Exploration(NamedTuple):
    """E as a function of the round."""

    width: float
    is_loglog: bool


class UCBVState(NamedTuple):
    """A run over one subsample, with the E of its horizon."""

    exploration: Exploration
    rewards: Rewards
    squares: NDArray[np.float64]  # sums of squared rewards
    keys: NDArray[np.int64]  # tournament of the indices
    level: float = 0.0  # E
    leaves: int = 1
    leader: int = 0  # the slot with the largest index


class AnytimeUCBVState(NamedTuple):
    """A run over one subsample, with the E of the present round."""

    exploration: Exploration
    rewards: Rewards
    squares: NDArray[np.float64]  # sums of squared rewards
    level: float = 0.0  # E
    arms: int = 0
    told: int = 0  # rewards since it was renewed


@dataclasses.dataclass(frozen=True)
class UCBV(Base):
    """Mean plus sqrt(2 · variance · E / plays) + 3 E / plays (Audibert, Munos & Szepesvári 2009).

    Parameters
    ----------
    exploration
        What E is of the horizon T: ``"log"``, log T, or ``"loglog"``, 2 log(10 log T), which is less from some
        8,000 rounds on.
    width
        A factor before it.
    anytime
        E is that of the present round, counted from the beginning of the subsample, in place of T. Then every arm's
        index moves in every round, which takes O(arms) time instead of O(log arms).

    Examples
    --------
    UCB-F of Wang, Audibert & Munos:

    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.UCBV(exploration="loglog", anytime=True), beta=1.0).base
    UCBV(exploration='loglog', width=1.0, anytime=True)
    """

    about: ClassVar = About(
        told=("T",),
        rate="(variance / gap + 1) log(T) for each arm",
        made_for=("still",),
        cost="O(log arms); O(arms) if anytime",
    )
    tried_with: ClassVar = ({"width": 0.1}, {"exploration": "loglog", "width": 0.1, "anytime": True})

    exploration: Annotated[str, among(EXPLORATIONS)] = "log"
    width: Positive = 1.0
    anytime: Flag = False

    @property
    def is_scattered(self) -> bool:  # type: ignore[override]
        """As for other indices, if there is a tree to walk up."""
        return not self.anytime

    def start(self, slots: int) -> UCBVState | AnytimeUCBVState:
        """A state with arrays for ``slots`` arms."""
        exploration = Exploration(width=self.width, is_loglog=self.exploration == "loglog")
        rewards, squares = new_rewards(slots), np.zeros(slots)
        if self.anytime:
            return AnytimeUCBVState(exploration, rewards, squares)
        return UCBVState(exploration, rewards, squares, keys=new_tournament(slots))


AnyState = UCBVState | AnytimeUCBVState

# ---------------------------------------------------------------- formulas


@kernel
def exploration_at(exploration: Exploration, round: float) -> float:
    """E of a round, or of the horizon."""
    log = natural_log(max(round, 2.0))
    return exploration.width * (2.0 * natural_log(10.0 * log) if exploration.is_loglog else log)


@kernel
def variance(plays: int, total: float, squares: float) -> float:
    """Of so many rewards, from their sum and that of their squares."""
    mean = total / plays
    return max(squares / plays - mean * mean, 0.0)


@kernel
def ucb_v_index(plays: int, total: float, squares: float, level: float) -> float:
    """Mean reward plus the width of its confidence interval."""
    spread = math.sqrt(2.0 * variance(plays, total, squares) * level / plays)
    return total / plays + spread + 3.0 * level / plays


@kernel
def index_in(base: AnyState, slot: int) -> float:
    """The index of a slot at the present level; an untried arm has an infinite one."""
    plays, total = load_both(base.rewards.plays, base.rewards.sums, slot)
    return ucb_v_index(plays, total, base.squares[slot], base.level) if plays > 0 else math.inf


# ---------------------------------------------------------------- what both count


@kernel
def forget_all(base: AnyState, arms: int) -> None:
    """None of the first ``arms`` slots has been played."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.squares[slot] = 0.0


@kernel
def count(base: AnyState, slot: int, reward: float) -> None:
    """One more play."""
    earn(base.rewards, slot, reward)
    base.squares[slot] += reward * reward


@kernel
def recount(base: AnyState, slot: int, plays: int, total: float, squares: float) -> None:
    """Add to the plays of a slot, to its rewards and to their squares."""
    plays, _ = add_to(base.rewards, slot, plays, total)
    base.squares[slot] = squares + base.squares[slot] if plays > 0 else 0.0


@kernel
def squares_of(plays: int, total: float) -> float:
    """The squares of so many rewards: of one that is taken back, or of coins that were thrown elsewhere."""
    return -total * total if plays < 0 else total


# ---------------------------------------------------------------- the E of the horizon


def renew(base: UCBVState, arms: int, horizon: float, log_horizon: float) -> UCBVState:
    """No arm has been played: every index is infinite."""
    forget_all(base, arms)
    return replaced(
        base,
        level=exploration_at(base.exploration, horizon),
        leaves=open_tournament(base.keys, arms, math.inf),
        leader=0,
    )


@kernel
def with_index_of(base: UCBVState, slot: int) -> UCBVState:
    """Bring the tournament up to date with a slot."""
    leader = replay_games(base.keys, base.leaves, slot, index_in(base, slot))
    return replaced(base, leader=slot_of(leader, base.leaves))


def learn(base: UCBVState, choice: Choice, reward: float) -> UCBVState:
    """Only the played arm's index moves."""
    count(base, choice.slot, reward)
    return with_index_of(base, choice.slot)


def revise(base: UCBVState, slot: int, plays: int, total: float) -> UCBVState:
    """An arm without plays is untried again."""
    recount(base, slot, plays, total, squares_of(plays, total))
    return with_index_of(base, slot)


def amend(base: UCBVState, slot: int, learned: float, reward: float) -> UCBVState:
    """The play had another reward, and another square."""
    recount(base, slot, 0, reward - learned, reward * reward - learned * learned)
    return with_index_of(base, slot)


register_base(
    UCBVState, renew=renew, pick=pick_leader, learn=learn, revise=revise, amend=amend, best_among=best_among_by_keys
)

# ---------------------------------------------------------------- the E of the present round


def renew_anytime(base: AnytimeUCBVState, arms: int, horizon: float, log_horizon: float) -> AnytimeUCBVState:
    """No arm has been played."""
    forget_all(base, arms)
    return replaced(base, level=exploration_at(base.exploration, 1.0), arms=arms, told=0)


def learn_anytime(base: AnytimeUCBVState, choice: Choice, reward: float) -> AnytimeUCBVState:
    """Count it; the level is that of the coming round."""
    count(base, choice.slot, reward)
    told = base.told + 1
    return replaced(base, told=told, level=exploration_at(base.exploration, told + 1.0))


def revise_anytime(base: AnytimeUCBVState, slot: int, plays: int, total: float) -> AnytimeUCBVState:
    """Count otherwise what was counted."""
    recount(base, slot, plays, total, squares_of(plays, total))
    return base


def amend_anytime(base: AnytimeUCBVState, slot: int, learned: float, reward: float) -> AnytimeUCBVState:
    """The play had another reward, and another square."""
    recount(base, slot, 0, reward - learned, reward * reward - learned * learned)
    return base


register_base(
    AnytimeUCBVState,
    renew=renew_anytime,
    pick=pick_by_scan,
    learn=learn_anytime,
    revise=revise_anytime,
    amend=amend_anytime,
    best_among=best_among_by_scan,
    current_index=lambda base, slot, level: index_in(base, slot),
)
