"""QRM2: MOSS over a few arms, with more of them and everything learned anew in periods of doubling length.

In a period of t rounds there are ceil(t^0.205) arms, all that there were before and some fresh ones, and MOSS plays
them as if nothing were known. It is told nothing of the reservoir and no horizon, and is meant to be good against the
best share rho of all arms, whatever rho is.

Source: Roy Chaudhuri & Kalyanakrishnan, "Quantile-Regret Minimisation in Infinitely Many-Armed Bandits" (UAI 2018),
QRM2. The paper's abstract was at hand; the algorithm and its exponent are as remembered. MOSS is that of `bases.moss`.

Symbols: r -> block.rank; t_r -> block.length; n_r -> block.size; alpha -> growth; rho is not needed.

Deviations: the first period has 2 rounds. The source does not recommend an arm; this recommends the one that was played
most in all periods. MOSS begins a period with nothing learned, but a late answer to an ask of an earlier period is
learned all the same. Open asks count as plays that paid what was expected.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log, power
from ..bases.base import Rewards, add_to, new_rewards
from ..bases.moss import MOSS
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, learn, renew, revise
from ..specs import Positive
from ..streams import UNSET_KEY
from . import blocks
from .base import Policy
from .imoss import Growth01
from .recommending import chosen, most_played


class QRM2State(NamedTuple):
    """A run of the algorithm. The arm in a slot has the slot's number."""

    growth: float
    base: Any  # MOSS
    rewards: Rewards  # of all periods; open asks are not in it
    key: int = UNSET_KEY
    first_arm: int = 0  # always
    block: blocks.Block = blocks.NO_BLOCK
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class QRM2(Policy):
    """MOSS over t^growth arms in periods of doubling length (Roy Chaudhuri & Kalyanakrishnan 2018).

    Parameters
    ----------
    growth
        There are ceil(t^growth) arms in a period of t rounds.
    width
        That of `MOSS`.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.QRM2(), world, horizon=1000, replications=4, seed=1)
    >>> result.final("QRM2", "arms").tolist()  # the period of rounds 511 to 1,022 has ceil(512^0.205)
    [4.0, 4.0, 4.0, 4.0]
    """

    about: ClassVar = About(
        told=(),
        rate="to a best share of all arms, whatever it is",
        made_for=("still", "late answers"),
        cost="O(log arms)",
    )
    tried_with: ClassVar = ({}, {"growth": 0.6})
    takes_corrections = True
    takes_pending = True  # no arm is dropped, and when one is drawn does not depend on rewards

    growth: Growth01 = 0.205
    width: Positive = 1.0

    @property
    def is_scattered(self) -> bool:
        """As its base is."""
        return MOSS.is_scattered

    def slots(self, rounds: int) -> int:
        """The arms of the last period."""
        return arms_in_period(self.growth, 2 ** blocks.last_block_rank(rounds))

    def start(self, rounds: int) -> QRM2State:
        """A state with arrays for the arms of so many rounds."""
        slots = self.slots(rounds)
        return QRM2State(growth=self.growth, base=MOSS(width=self.width).start(slots), rewards=new_rewards(slots))

    def kept_arms(self, state: QRM2State) -> NDArray[np.int64]:
        """All that were drawn."""
        return np.arange(state.counts.arms)

    def arms_in_slots(self, state: QRM2State) -> NDArray[np.int64]:
        """All that were drawn, too."""
        return self.kept_arms(state)

    def explain(self, state: QRM2State) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {"recommended_arm": int(most_played(state.rewards, state.block.size))}


@kernel
def arms_in_period(growth: float, length: int) -> int:
    """n_r = ceil(t_r^alpha)."""
    return blocks.rounded_up(power(float(length), growth))


@kernel
def open_period(state: QRM2State, rank: int) -> QRM2State:
    """More arms, and MOSS begins anew."""
    length = 1 << rank
    size = arms_in_period(state.growth, length)
    fresh = size - state.counts.arms
    for slot in range(state.counts.arms, size):
        state.rewards.plays[slot] = 0
        state.rewards.sums[slot] = 0.0
    return replaced(
        state,
        base=renew(state.base, size, float(length), natural_log(float(length))),
        block=blocks.next_block(state.block, rank, length, size),
        counts=blocks.with_block(state.counts, fresh),
    )


def begin(state: QRM2State, key: int) -> QRM2State:
    """The first period."""
    return open_period(replaced(state, key=key, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS), 1)


@kernel
def after_round(state: QRM2State) -> QRM2State:
    """The next period, if this one is over."""
    played = replaced(state, block=blocks.after_round(state.block))
    return open_period(played, played.block.rank + 1) if rarely(played.block.left == 0) else played


def recommend(state: QRM2State, round: int) -> Choice:
    """The arm that was played most, in all periods."""
    return chosen(most_played(state.rewards, state.block.size), 0, state.counts.blocks, round)


def tell(state: QRM2State, choice: Choice, reward: float) -> QRM2State:
    """Let MOSS learn."""
    add_to(state.rewards, choice.slot, 1, reward)
    return after_round(replaced(state, base=learn(state.base, choice, reward)))


def defer(state: QRM2State, choice: Choice) -> tuple[QRM2State, float]:
    """An open ask is a round of its period, and for MOSS a play that paid what it expects."""
    base, presumed = blocks.base_after_ask(state.base, choice)
    return after_round(replaced(state, base=base)), presumed


@kernel
def still_presumed(state: QRM2State, choice: Choice, presumed: float) -> float:
    """What MOSS has in place of the answer: nothing (nan), if it has begun anew since."""
    return presumed if choice.block == state.counts.blocks else math.nan


def settle(state: QRM2State, choice: Choice, presumed: float, reward: float) -> QRM2State:
    """Let MOSS learn; no arm is ever let go."""
    add_to(state.rewards, choice.slot, 1, reward)
    presumed = still_presumed(state, choice, presumed)
    return replaced(state, base=blocks.base_after_answer(state.base, choice, presumed, reward))


def lose(state: QRM2State, choice: Choice, presumed: float) -> QRM2State:
    """As if there had been no play; the round stays."""
    presumed = still_presumed(state, choice, presumed)
    return replaced(state, base=blocks.base_after_silence(state.base, choice, presumed))


def correct(state: QRM2State, choice: Choice, told: float, reward: float) -> QRM2State:
    """Another reward, unless MOSS has forgotten it."""
    add_to(state.rewards, choice.slot, 0, reward - told)
    if choice.block != state.counts.blocks:
        return state
    return replaced(state, base=revise(state.base, choice.slot, 0, reward - told))


def recall(state: QRM2State, slot: int, plays: int, total: float, is_news: bool) -> QRM2State:
    """Plays seen elsewhere count as its own."""
    add_to(state.rewards, slot, plays, total)
    return replaced(state, base=revise(state.base, slot, plays, total))


blocks.register_policy(
    QRM2State,
    begin=begin,
    ask=blocks.ask_the_base,
    ask_among=blocks.ask_the_base_among,
    recommend=recommend,
    recall=recall,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
    correct=correct,
)
