"""Auditions: play a few arms at random for a while, keep the best one, and let fresh arms try to beat it.

Copy this file to write a policy. The idea goes here, in five lines or fewer. The example is simple, and shows the
rules that are easy to miss: random numbers by address, arrays over slots, rewards that come late.

Source: the paper, the algorithm in it. This one is made up.

Symbols: the paper's letter -> our name. K -> arms; H -> length.

Deviations: what was changed, and why.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyarms.about import About
from manyarms.compiled import kernel, replaced
from manyarms.contract import Choice, Counts, register
from manyarms.policies import Policy
from manyarms.specs import Count
from manyarms.streams import UNSET_KEY, bits_at, index_below


class AuditionsState(NamedTuple):
    """All that a run carries: numbers and arrays, with a comment for each."""

    length: int  # rounds of a block
    key: int  # of the random numbers of this run
    block: int  # counted from 1
    left: int  # rounds of this block still to be played
    drawn: int  # fresh arms so far
    ignored: int  # rewards of arms that had gone
    arms: NDArray[np.int64]  # slot -> arm
    plays: NDArray[np.int64]  # slot -> plays in this block
    sums: NDArray[np.float64]  # slot -> rewards in this block


@dataclasses.dataclass(frozen=True)
class Auditions(Policy):
    """Blocks of a fixed length; the arm with the best mean stays, and fresh ones take the other places.

    Parameters
    ----------
    arms
        How many arms there are in a block.
    length
        Of a block, in rounds.
    """

    # Fields of the specs that promises are tried on: runs of a few hundred rounds should meet all that can happen.
    tried_with: ClassVar = ({"arms": 3, "length": 20},)

    # For those who must choose: `manyarms policies --table` shows it. May be left out.
    about: ClassVar = About(
        told=(),  # what it must be told; manyarms.about has the usual words
        rate="of the order of T: it never settles on one arm",
        made_for=("still", "crashes"),
        cost="O(1)",
    )

    # A type that checks its values: a wrong one is an error that names the field. Others are in manyarms.specs.
    arms: Count = 5
    length: Count = 100

    def slots(self, rounds: int) -> int:
        """The most arms it keeps at a time."""
        return self.arms

    def start(self, rounds: int) -> AuditionsState:
        """Allocate for that many rounds; first values are the business of ``begin``."""
        return AuditionsState(
            length=self.length,
            key=UNSET_KEY,  # of the type of a key
            block=0,
            left=0,
            drawn=0,
            ignored=0,
            arms=np.zeros(self.arms, dtype=np.int64),
            plays=np.zeros(self.arms, dtype=np.int64),
            sums=np.zeros(self.arms, dtype=np.float64),
        )

    def kept_arms(self, state: AuditionsState) -> NDArray[np.int64]:
        """The arms it may still choose."""
        return state.arms.copy()


@kernel  # helpers that kernels call are marked
def best_slot(state: AuditionsState) -> int:
    """The slot with the best mean reward; the first of several. Arms that were not played come last."""
    best = 0
    largest = -np.inf
    for slot in range(state.arms.size):
        if state.plays[slot] > 0 and state.sums[slot] / state.plays[slot] > largest:
            best = slot
            largest = state.sums[slot] / state.plays[slot]
    return best


@kernel
def open_block(state: AuditionsState, stays: int) -> AuditionsState:
    """A fresh arm in every slot but one. That one keeps its slot: the world knows an arm by it."""
    drawn = state.drawn
    for slot in range(state.arms.size):
        if slot != stays:
            state.arms[slot] = drawn  # arms are numbered as they are needed, without gaps
            drawn += 1
        state.plays[slot] = 0
        state.sums[slot] = 0.0
    return replaced(state, block=state.block + 1, left=state.length, drawn=drawn)


def begin(state: AuditionsState, key: int) -> AuditionsState:
    """A new run. Arrays hold anything before: memory is reused, and ``open_block`` writes every entry."""
    return open_block(replaced(state, key=key, block=0, drawn=0, ignored=0), -1)


def ask(state: AuditionsState, round: int) -> Choice:
    """Any of the arms. Changes nothing: the random number belongs to the number of the ask, and is not used up."""
    arms = state.arms.size
    slot = index_below(bits_at(state.key, round, 0), arms)
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0 / arms, block=state.block, round=round)


@kernel
def after_round(state: AuditionsState) -> AuditionsState:
    """One round less to be played in this block, or the next one."""
    return replaced(state, left=state.left - 1) if state.left > 1 else open_block(state, best_slot(state))


def tell(state: AuditionsState, choice: Choice, reward: float) -> AuditionsState:
    """The answer, right after its ask: the arm is where it was. May write into arrays; returns the new state."""
    state.plays[choice.slot] += 1
    state.sums[choice.slot] += reward
    return after_round(state)


def defer(state: AuditionsState, choice: Choice) -> tuple[AuditionsState, float]:
    """The answer will be late. The ask is a round of its block all the same; nan: it presumes nothing of the reward."""
    return after_round(state), np.nan


def settle(state: AuditionsState, choice: Choice, presumed: float, reward: float) -> AuditionsState:
    """The late answer, perhaps in a later block: it counts as long as the arm is kept. If there is none, so be it."""
    if state.arms[choice.slot] != choice.arm:
        return replaced(state, ignored=state.ignored + 1)
    state.plays[choice.slot] += 1
    state.sums[choice.slot] += reward
    return state


def counts(state: AuditionsState) -> Counts:
    """What every policy counts of itself. A restart would forget all that was learned; it has none."""
    return Counts(restarts=0, blocks=state.block, arms=state.drawn, ignored=state.ignored)


# Others have a default: ``lose``, ``correct``, ``follow`` and ``observe``. docs/your-own.md says what they are for.
register(AuditionsState, begin=begin, ask=ask, tell=tell, defer=defer, settle=settle, counts=counts)
