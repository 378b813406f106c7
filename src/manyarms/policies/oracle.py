"""Oracle: sees the means it plays, and looks at one fresh arm each round without paying for it.

In every round the oracle is shown the mean of one more arm of the reservoir, keeps the best
``keep`` of all arms it has seen, and plays the best of those. No policy draws arms faster than
one a round, and none knows their means, so this is the ceiling of every comparison in worlds
where arms do not improve with play.

Source: none needed.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..bases.tournament import leader, new_tournament, open_tournament, replay_games
from ..compiled import kernel, replaced
from ..contract import Choice, Counts, preview
from ..specs import Count
from .base import Policy
from .blocks import NO_COUNTS, register_policy, with_block


class OracleState(NamedTuple):
    """The arms it keeps."""

    keep: int
    arms: NDArray[np.int64]  # slot -> arm
    means: NDArray[np.float64]  # slot -> its arm's mean
    best: NDArray[np.int64]  # tournament of the means
    worst: NDArray[np.int64]  # tournament of the negated means
    leaves: int = 1
    counts: Counts = NO_COUNTS  # one block; every arm it looked at counts as drawn


@dataclasses.dataclass(frozen=True)
class Oracle(Policy):
    """Knows the means. For simulations only.

    Parameters
    ----------
    keep
        How many of the best arms seen so far it keeps.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.Oracle(), world, horizon=1000, replications=20, seed=1)
    >>> bool(result.final_regret("Oracle").mean() < 20)
    True
    """

    about: ClassVar = About(
        told=("means",),
        rate="about log T at beta = 1",
        made_for=("comparison",),
        cost="O(log kept arms)",
    )
    sees_means: ClassVar[bool] = True
    tried_with: ClassVar = ({"keep": 16},)

    keep: Count = 256

    def slots(self, rounds: int) -> int:
        """The arms kept; one a round at most."""
        return min(self.keep, rounds + 1)

    def start(self, rounds: int) -> OracleState:
        """A state with arrays for the arms it keeps."""
        slots = self.slots(rounds)
        return OracleState(
            keep=slots,
            arms=np.zeros(slots, dtype=np.int64),
            means=np.zeros(slots, dtype=np.float64),
            best=new_tournament(slots),
            worst=new_tournament(slots),
        )

    def kept_arms(self, state: OracleState) -> NDArray[np.int64]:
        """The best arms seen so far."""
        return np.sort(state.arms[: min(state.counts.arms, state.keep)])


def begin(state: OracleState, key: int) -> OracleState:
    """Nothing seen; arm 0 is played first, unseen."""
    state.arms[0] = 0
    for slot in range(state.keep):
        state.means[slot] = -math.inf
    open_tournament(state.worst, state.keep, math.inf)
    leaves = open_tournament(state.best, state.keep, -math.inf)
    return replaced(state, leaves=leaves, counts=with_block(NO_COUNTS, 0))


def ask(state: OracleState, round: int) -> Choice:
    """The best arm it keeps."""
    slot = leader(state.best, state.leaves)
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=1, round=round)


def tell(state: OracleState, choice: Choice, reward: float) -> OracleState:
    """Rewards tell it nothing."""
    return state


@kernel
def value_slot(state: OracleState, slot: int, mean: float) -> None:
    """Rank a slot by this mean."""
    state.means[slot] = mean
    replay_games(state.best, state.leaves, slot, mean)
    replay_games(state.worst, state.leaves, slot, -mean)


def observe(state: OracleState, world: Any, choice: Choice) -> OracleState:
    """The played arm's new mean, and one fresh arm that takes the place of the worst if it is better."""
    seen = max(state.counts.arms, 1)  # arm 0 has now been seen
    value_slot(state, choice.slot, world.means[choice.slot])
    fresh = preview(world, seen, choice.round)
    slot = leader(state.worst, state.leaves)
    if state.means[slot] < fresh:
        state.arms[slot] = seen
        value_slot(state, slot, fresh)
    return replaced(state, counts=replaced(state.counts, arms=seen + 1))


register_policy(OracleState, begin=begin, ask=ask, tell=tell, observe=observe)
