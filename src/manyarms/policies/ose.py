"""OSE: for one good arm at any time: the largest upper bound of the first so many arms, from very few to all of them.

How many arms are worth a look depends on how good arms are spread, which nobody has said. So every round has another
scope: of round t, in turn, the first t^(1/J), t^(2/J), …, t arms, where J is about log2 t. The arm in the scope with
the largest upper bound is played, and recommended is the one of all arms with the largest lower bound. It is told
nothing of the reservoir and no horizon.

Source: Pilliat, arXiv:2510.27319, whose slides and demonstration were at hand, not the paper: the width of the bounds,
what J is and when fresh arms come are those of the demonstration.

Symbols: beta_0 -> width; Z -> scope; J -> step; J_max -> steps.

Deviations: none from the demonstration. Open asks count as plays that paid what was expected.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, ceiling, floor, power
from ..bases.base import Rewards, add_to, expected_in, new_rewards
from ..compiled import kernel, place_in, replaced
from ..contract import Choice, Counts, Nothing, expected, register, verb
from ..specs import Positive
from . import blocks
from .base import Policy
from .recommending import chosen

# slot_at(order, place) -> the slot of the arm at a place of the order.
slot_at = verb("slot_at")
# enrol(order, slot) -> None. A fresh arm comes last; slots are numbered as they are drawn.
enrol = verb("enrol")
# reorder(order, state, slot) -> None. What is known of the arm in a slot has changed.
reorder = verb("reorder")
# first_of(order, state) -> the slot with the largest lower bound.
first_of = verb("first_of")
# steps_in(order, rounds) -> J_max of a round, before it is rounded up to 1: the binary logarithm of rounds + 1.
steps_in = verb("steps_in")


class Arrival(Nothing):
    """Arms in the order in which they were drawn."""


class Ranking(NamedTuple):
    """Arms by their lower bounds, the largest first; of equal ones the one that was drawn first."""

    slots: NDArray[np.int64]


class ScopedState(NamedTuple):
    """A run of the algorithm. The arm in a slot has the slot's number."""

    width: float
    rewards: Rewards
    order: Arrival | Ranking
    rounds: int = 0  # asks so far
    step: int = 1  # J of the next round
    scope: int = 1  # Z of the next round
    counts: Counts = blocks.NO_COUNTS


class Scoped(Policy, abstract=True):
    """Abstract: what ``OSE`` and ``PROSE`` share, which is all but the order of arms."""

    takes_corrections = True
    takes_pending = True  # no arm is dropped, and when one is drawn does not depend on rewards

    width: Positive

    def new_order(self, slots: int) -> Arrival | Ranking:
        """Which arms come first."""
        raise NotImplementedError

    def slots(self, rounds: int) -> int:
        """More than are drawn, which is between 3 and 4 times rounds / log2 rounds up to any length that can be run."""
        return min(rounds + 1, math.ceil(5.0 * rounds / math.log2(rounds + 2)) + 8)

    def start(self, rounds: int) -> ScopedState:
        """A state with arrays for the arms of so many rounds."""
        slots = self.slots(rounds)
        return ScopedState(width=self.width, rewards=new_rewards(slots), order=self.new_order(slots))

    def kept_arms(self, state: ScopedState) -> NDArray[np.int64]:
        """All that were drawn."""
        return np.arange(state.counts.arms)

    def arms_in_slots(self, state: ScopedState) -> NDArray[np.int64]:
        """All that were drawn, too."""
        return self.kept_arms(state)

    def explain(self, state: ScopedState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "arms": int(state.counts.arms),
            "scope": int(state.scope),
            "recommended_arm": int(first_of(state.order, state)),
            "last_restart": None,
        }


@dataclasses.dataclass(frozen=True)
class OSE(Scoped):
    """The largest upper bound in a scope that goes from few arms to all (Pilliat 2025).

    Parameters
    ----------
    width
        The bounds are the mean plus and minus sqrt(width / plays). The demonstration has 2, for noise of standard
        deviation 0.5.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.OSE(), world, 3000, replications=20, seed=1, checkpoints=1, recommend=True)
    >>> int(result.final("OSE", "arms")[0]), bool(result.final("OSE", "simple regret").mean() < 0.2)
    (700, True)
    """

    about: ClassVar = About(
        told=("noise",),
        rate="simple regret, measured: docs/theory/simple-regret.md",
        made_for=("still", "one good arm", "late answers"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({}, {"width": 0.1})

    width: Positive = 2.0

    def new_order(self, slots: int) -> Arrival:
        """As they were drawn."""
        return Arrival()


# ---------------------------------------------------------------- kernels


@kernel
def half_width(state: ScopedState, slot: int) -> float:
    """The root of width / plays; infinite without plays."""
    plays = state.rewards.plays[slot]
    return math.sqrt(state.width / plays) if plays > 0 else math.inf


@kernel
def upper_bound(state: ScopedState, slot: int) -> float:
    """Of the mean of the arm in a slot."""
    width = half_width(state, slot)
    return width if math.isinf(width) else state.rewards.sums[slot] / state.rewards.plays[slot] + width


@kernel
def lower_bound(state: ScopedState, slot: int) -> float:
    """Of the mean of the arm in a slot."""
    width = half_width(state, slot)
    return -width if math.isinf(width) else state.rewards.sums[slot] / state.rewards.plays[slot] - width


@kernel
def revise(state: ScopedState, slot: int, plays: int, total: float) -> None:
    """Add to the plays and rewards of a slot."""
    add_to(state.rewards, slot, plays, total)
    reorder(state.order, state, slot)


@kernel
def scoped(state: ScopedState) -> ScopedState:
    """The scope of the next round, with a fresh arm if it is wider than there are arms."""
    round = state.rounds + 1
    steps = max(steps_in(state.order, round), 1)
    step = state.step if state.step <= steps else 1
    scope = blocks.rounded_down(power(float(round), step / steps))
    counts = state.counts
    if scope > counts.arms and counts.arms < state.rewards.plays.size:  # the latter always
        state.rewards.plays[counts.arms] = 0
        state.rewards.sums[counts.arms] = 0.0
        enrol(state.order, counts.arms)
        counts = blocks.with_arm(counts)
    return replaced(state, step=step, scope=min(scope, counts.arms), counts=counts)


def begin(state: ScopedState, key: int) -> ScopedState:
    """The first arm."""
    return scoped(replaced(state, rounds=0, step=1, counts=blocks.with_block(blocks.NO_COUNTS, 0)))


@kernel
def after_round(state: ScopedState) -> ScopedState:
    """The next round begins."""
    return scoped(replaced(state, rounds=state.rounds + 1, step=state.step + 1))


def ask(state: ScopedState, round: int) -> Choice:
    """The largest upper bound in the scope; of several, the arm that was drawn first."""
    best = slot_at(state.order, 0)
    most = upper_bound(state, best)
    for place in range(1, state.scope):
        slot = slot_at(state.order, place)
        bound = upper_bound(state, slot)
        if bound > most or (bound == most and slot < best):
            best = slot
            most = bound
    return chosen(best, 0, 1, round)


def ask_among(state: ScopedState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The largest lower bound of those that are allowed."""
    best = -1
    for slot in range(state.counts.arms):
        if allowed[slot] and (best < 0 or lower_bound(state, slot) > lower_bound(state, best)):
            best = slot
    return chosen(best, 0, 1, round)


def recommend(state: ScopedState, round: int) -> Choice:
    """The largest lower bound of all."""
    return chosen(first_of(state.order, state), 0, 1, round)


def tell(state: ScopedState, choice: Choice, reward: float) -> ScopedState:
    """One more play of its arm."""
    revise(state, choice.slot, 1, reward)
    return after_round(state)


def defer(state: ScopedState, choice: Choice) -> tuple[ScopedState, float]:
    """An open ask is a round, and a play that paid what is expected of its arm."""
    presumed = expected(state, choice.slot)
    revise(state, choice.slot, 1, presumed)
    return after_round(state), presumed


def settle(state: ScopedState, choice: Choice, presumed: float, reward: float) -> ScopedState:
    """The play paid that, in place of what was presumed or told."""
    revise(state, choice.slot, 0, reward - presumed)
    return state


def lose(state: ScopedState, choice: Choice, presumed: float) -> ScopedState:
    """As if there had been no play; the round stays."""
    revise(state, choice.slot, -1, -presumed)
    return state


def recall(state: ScopedState, slot: int, plays: int, total: float, is_news: bool) -> ScopedState:
    """Plays seen elsewhere count as its own."""
    revise(state, slot, plays, total)
    return state


blocks.register_policy(
    ScopedState,
    begin=begin,
    ask=ask,
    ask_among=ask_among,
    recommend=recommend,
    recall=recall,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
    correct=settle,
    expected=expected_in,
)

# ---------------------------------------------------------------- as they were drawn


def first_of_arrivals(order: Arrival, state: ScopedState) -> int:
    """The slot with the largest lower bound; all are looked at."""
    best = 0
    most = lower_bound(state, 0)
    for slot in range(1, state.counts.arms):
        bound = lower_bound(state, slot)
        if bound > most:
            best = slot
            most = bound
    return best


register(
    Arrival,
    slot_at=lambda order, place: place,
    enrol=lambda order, slot: None,
    reorder=lambda order, state, slot: None,
    first_of=first_of_arrivals,
    steps_in=lambda order, rounds: floor(binary_log(rounds + 1.0)),
)

# ---------------------------------------------------------------- by lower bounds


@kernel
def enrol_last(order: Ranking, slot: int) -> None:
    """Its lower bound is minus infinity."""
    order.slots[slot] = slot


@kernel
def comes_before(state: ScopedState, one: int, other: int) -> bool:
    """Whether a slot has the larger lower bound, or the same and was drawn first."""
    ours, others = lower_bound(state, one), lower_bound(state, other)
    return ours > others or (ours == others and one < other)


@kernel
def moved_to_its_place(order: Ranking, state: ScopedState, slot: int) -> None:
    """Let the slot change places with its neighbours until it stands right; all others do already."""
    slots, arms = order.slots, state.counts.arms
    place = place_in(slots, arms, slot)
    while place > 0 and comes_before(state, slot, slots[place - 1]):
        slots[place] = slots[place - 1]
        place -= 1
    while place + 1 < arms and comes_before(state, slots[place + 1], slot):
        slots[place] = slots[place + 1]
        place += 1
    slots[place] = slot


register(
    Ranking,
    slot_at=lambda order, place: order.slots[place],
    enrol=enrol_last,
    reorder=moved_to_its_place,
    first_of=lambda order, state: order.slots[0],
    steps_in=lambda order, rounds: ceiling(binary_log(rounds + 1.0)),
)
