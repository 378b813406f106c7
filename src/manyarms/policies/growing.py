"""Policies over arms that become more and more and are never let go, of which the one with the largest index is played.

In round t a fresh arm is drawn and played if there are fewer than t^x arms; otherwise the arm with the largest index is
played, of those drawn so far. The formula of the index is a state of its own, whose type says which index it is. It
moves for all arms with the round, so all are looked at in every round. What moves with an arm's own rewards only is
kept as three numbers, its traits, so that a look takes a few operations and, at most, a square root.

Ties go to the lower slot, which is the arm that was drawn first. An open ask is a round, and a play that paid what is
expected of its arm, until the answer takes its place.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import power
from ..bases.base import Rewards, add_to, expected_in, new_rewards
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, expected, no_choice, verb
from . import blocks
from .base import Policy
from .recommending import most_played

# traits_of(formula, plays, total, squares) -> three numbers, of an arm with so many plays, rewards and squares of them.
traits_of = verb("traits_of")
# moment_of(formula, round, arms) -> two numbers that all arms have in common in a round.
moment_of = verb("moment_of")
# index_at(formula, moment, first, second, third) -> the index of an arm with these traits at that moment.
index_at = verb("index_at")


class Growth(NamedTuple):
    """How many arms there are: t^exponent in round t, and no fewer than come first."""

    exponent: float
    first: int = 1  # so many are drawn in the first rounds, one in each


class Traits(NamedTuple):
    """What an index is made of, by slot. Of an arm that was never played: infinity, 0 and 0."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    third: NDArray[np.float64]


class GrowingState(NamedTuple):
    """A run of the algorithm. The arm in a slot has the slot's number."""

    formula: Any  # of the index
    growth: Growth
    rewards: Rewards
    squares: NDArray[np.float64]  # slot -> squares of its rewards
    traits: Traits
    rounds: int = 0  # asks so far
    next_draw: int = 1  # the round in which a fresh arm comes next
    counts: Counts = blocks.NO_COUNTS


class Growing(Policy, abstract=True):
    """Abstract: a set of arms that grows as a power of the round, under an index."""

    takes_corrections = True
    takes_pending = True  # no arm is dropped, and when one is drawn does not depend on rewards

    def formula(self) -> Any:
        """That of the index."""
        raise NotImplementedError

    def growing(self) -> Growth:
        """How many arms there are in a round."""
        raise NotImplementedError

    def slots(self, rounds: int) -> int:
        """As many as there are in the round after the last, and one for a rounding error."""
        growth = self.growing()
        wanted = max(blocks.rounded_up(power(rounds + 1.0, growth.exponent)), growth.first) + 1
        return min(wanted, rounds + 1)

    def start(self, rounds: int) -> GrowingState:
        """A state with arrays for the arms of so many rounds."""
        slots = self.slots(rounds)
        return GrowingState(
            formula=self.formula(),
            growth=self.growing(),
            rewards=new_rewards(slots),
            squares=np.zeros(slots),
            traits=Traits(np.zeros(slots), np.zeros(slots), np.zeros(slots)),
        )

    def kept_arms(self, state: GrowingState) -> NDArray[np.int64]:
        """All that were drawn."""
        return np.arange(state.counts.arms)

    def arms_in_slots(self, state: GrowingState) -> NDArray[np.int64]:
        """All that were drawn, too."""
        return self.kept_arms(state)

    def explain(self, state: GrowingState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "arms": state.counts.arms,
            "next_fresh_arm_in_round": state.next_draw,
            "last_restart": None,
        }


# ---------------------------------------------------------------- kernels


@kernel
def draw_round(growth: Growth, arms: int) -> int:
    """The first round t with more than that many arms: t^exponent is above their number."""
    if arms < growth.first:
        return arms + 1
    return max(blocks.rounded_down(power(float(arms), 1.0 / growth.exponent)), arms) + 1


@kernel
def index_in(state: GrowingState, slot: int, moment: tuple[float, float]) -> float:
    """The index of the arm in a slot."""
    traits = state.traits
    return index_at(state.formula, moment, traits.first[slot], traits.second[slot], traits.third[slot])  # type: ignore[no-any-return]


@kernel
def write_traits(state: GrowingState, slot: int) -> None:
    """Bring the traits of a slot up to date with its rewards."""
    first, second, third = math.inf, 0.0, 0.0
    plays = state.rewards.plays[slot]
    if plays > 0:
        first, second, third = traits_of(state.formula, plays, state.rewards.sums[slot], state.squares[slot])
    state.traits.first[slot] = first
    state.traits.second[slot] = second
    state.traits.third[slot] = third


@kernel
def count(state: GrowingState, slot: int, plays: int, total: float, squares: float) -> None:
    """Add to the plays of a slot, to its rewards and to their squares."""
    now, _ = add_to(state.rewards, slot, plays, total)
    state.squares[slot] = state.squares[slot] + squares if now > 0 else 0.0
    write_traits(state, slot)


@kernel
def with_fresh_arm(state: GrowingState) -> GrowingState:
    """One more arm, in the next slot."""
    slot = state.counts.arms
    state.rewards.plays[slot] = 0
    state.rewards.sums[slot] = 0.0
    state.squares[slot] = 0.0
    write_traits(state, slot)
    return replaced(state, next_draw=draw_round(state.growth, slot + 1), counts=blocks.with_arm(state.counts))


@kernel
def after_round(state: GrowingState) -> GrowingState:
    """The next round begins, with a fresh arm if one is due."""
    played = replaced(state, rounds=state.rounds + 1)
    return with_fresh_arm(played) if rarely(played.rounds + 1 >= played.next_draw) else played


def begin_growing(state: GrowingState, key: int) -> GrowingState:
    """The first arm."""
    return with_fresh_arm(replaced(state, rounds=0, counts=blocks.with_block(blocks.NO_COUNTS, 0)))


@kernel
def chosen(slot: int, round: int) -> Choice:
    """The arm in a slot."""
    return Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round)


def ask_growing(state: GrowingState, round: int) -> Choice:
    """The argmax of the index; a fresh arm has an infinite one."""
    moment = moment_of(state.formula, state.rounds + 1, state.counts.arms)
    best = 0
    most = index_in(state, 0, moment)
    for slot in range(1, state.counts.arms):
        index = index_in(state, slot, moment)
        if index > most:
            best = slot
            most = index
    return chosen(best, round)


def ask_growing_among(state: GrowingState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The argmax of the index over the allowed slots."""
    moment = moment_of(state.formula, state.rounds + 1, state.counts.arms)
    best = -1
    most = -math.inf
    for slot in range(state.counts.arms):
        if allowed[slot]:
            index = index_in(state, slot, moment)
            if best < 0 or index > most:
                best = slot
                most = index
    return chosen(best, round) if best >= 0 else no_choice(round)


def recommend_growing(state: GrowingState, round: int) -> Choice:
    """The arm that was played most."""
    return chosen(most_played(state.rewards, state.counts.arms), round)


def tell_growing(state: GrowingState, choice: Choice, reward: float) -> GrowingState:
    """One more play of its arm."""
    count(state, choice.slot, 1, reward, reward * reward)
    return after_round(state)


def defer_growing(state: GrowingState, choice: Choice) -> tuple[GrowingState, float]:
    """An open ask is a round, and a play that paid what is expected of its arm."""
    presumed = expected(state, choice.slot)
    count(state, choice.slot, 1, presumed, presumed * presumed)
    return after_round(state), presumed


def settle_growing(state: GrowingState, choice: Choice, presumed: float, reward: float) -> GrowingState:
    """The play paid that, in place of what was presumed or told."""
    count(state, choice.slot, 0, reward - presumed, reward * reward - presumed * presumed)
    return state


def lose_growing(state: GrowingState, choice: Choice, presumed: float) -> GrowingState:
    """As if there had been no play; the round stays."""
    count(state, choice.slot, -1, -presumed, -presumed * presumed)
    return state


def recall_growing(state: GrowingState, slot: int, plays: int, total: float, is_news: bool) -> GrowingState:
    """Plays seen elsewhere count as coins, of which the square of a reward is the reward."""
    count(state, slot, plays, total, total)
    return state


blocks.register_policy(
    GrowingState,
    begin=begin_growing,
    ask=ask_growing,
    ask_among=ask_growing_among,
    recommend=recommend_growing,
    recall=recall_growing,
    tell=tell_growing,
    defer=defer_growing,
    settle=settle_growing,
    lose=lose_growing,
    correct=settle_growing,
    expected=expected_in,
)
