"""BracketingHalving: halve small, larger and ever larger samples side by side; recommend the best that is left of one.

How many arms are worth a look depends on how good arms are spread, which nobody has said. So there are brackets:
bracket b has 2^b arms, is opened when b · 2^b rounds have been played, and all that are open take turns. In a bracket
all arms are played equally often, then the better half of them, and so on until one is left; then all begin again with
twice as many plays each. It is told nothing of the reservoir and no horizon.

Source: Zhao, Stephens, Szepesvári & Jun, "Revisiting Simple Regret: Fast Rates for Returning a Good Arm" (ICML 2023):
bracketing sequential halving. The idea of brackets is from Katz-Samuels & Jamieson, "The True Sample Complexity of
Identifying Good Arms" (AISTATS 2020), sequential halving from Karnin, Koren & Somekh, "Almost Optimal Exploration in
Multi-Armed Bandits" (ICML 2013). The abstract was at hand; when brackets open is that of a public demonstration, the
rest as remembered.

Symbols: B -> counts of open brackets; 2^B -> the arms of bracket B.

Deviations: arms are judged by all their rewards, where sequential halving takes those since the last halving. So a late
answer is never in vain. Brackets take turns, one round each. Recommended is, of the arms that were left in the brackets
that have come to an end at least once, the one with the largest mean; this rule is ours. An open ask is a play of its
bracket; its reward counts when it comes.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..bases.base import Rewards, add_to, new_rewards
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from . import blocks
from .base import Policy
from .recommending import best_mean_among, chosen, mean_in

MOST_BRACKETS = 26
"""Bracket 26 is opened after 1.7 · 10^9 rounds, the next one after the longest run."""


class Brackets(NamedTuple):
    """Where the brackets stand. Bracket b, from 1 on, has the slots from 2^b - 2 to 2^(b+1) - 3."""

    runs: NDArray[np.int64]  # how often it has come to an end
    halvings: NDArray[np.int64]  # in the present run
    plays: NDArray[np.int64]  # since the last halving
    winners: NDArray[np.int64]  # the slot that was left when it last came to an end; -1: it never did


class BracketingHalvingState(NamedTuple):
    """A run of the algorithm. The arm in a slot has the slot's number."""

    rewards: Rewards
    order: NDArray[np.int64]  # of each bracket its slots, those first that are left
    brackets: Brackets
    open: int = 0  # so many brackets
    turn: int = 1  # whose it is
    rounds: int = 0
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class BracketingHalving(Policy):
    """Sequential halving in brackets of 2, 4, 8, … arms (Zhao, Stephens, Szepesvári & Jun 2023).

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> policy = ma.BracketingHalving()
    >>> result = ma.simulate(policy, world, 3000, replications=20, seed=1, checkpoints=1, recommend=True)
    >>> int(result.final("BracketingHalving", "arms")[0])  # brackets 1 to 8
    510
    >>> bool(result.final("BracketingHalving", "simple regret").mean() < 0.1)
    True
    """

    about: ClassVar = About(
        told=(),
        rate="simple regret, measured: docs/theory/simple-regret.md",
        made_for=("still", "one good arm", "late answers"),
        cost="O(1)",
    )
    takes_corrections = True

    def slots(self, rounds: int) -> int:
        """All brackets that can be open by then."""
        return first_slot(open_after(rounds) + 1)

    def start(self, rounds: int) -> BracketingHalvingState:
        """A state with arrays for the brackets of so many rounds."""
        slots = self.slots(rounds)
        return BracketingHalvingState(
            rewards=new_rewards(slots),
            order=np.zeros(slots, dtype=np.int64),
            brackets=Brackets(*(np.zeros(MOST_BRACKETS + 1, dtype=np.int64) for _ in Brackets._fields)),
        )

    def kept_arms(self, state: BracketingHalvingState) -> NDArray[np.int64]:
        """All that were drawn: every one is played again when its bracket begins again."""
        return np.arange(state.counts.arms)

    def arms_in_slots(self, state: BracketingHalvingState) -> NDArray[np.int64]:
        """All that were drawn, too."""
        return self.kept_arms(state)

    def explain(self, state: BracketingHalvingState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "arms": int(state.counts.arms),
            "brackets": int(state.open),
            "recommended_arm": int(recommended(state)),
            "last_restart": None,
        }


# ---------------------------------------------------------------- kernels


@kernel
def open_after(rounds: int) -> int:
    """How many brackets are open after so many rounds: bracket b after b · 2^b of them, the first at once."""
    bracket = 1
    while bracket < MOST_BRACKETS and (bracket + 1) << (bracket + 1) <= rounds:
        bracket += 1
    return bracket


@kernel
def first_slot(bracket: int) -> int:
    """Where a bracket begins."""
    return (1 << bracket) - 2


@kernel
def left_in(state: BracketingHalvingState, bracket: int) -> int:
    """How many arms of a bracket are left in its present run."""
    return 1 << (bracket - state.brackets.halvings[bracket])  # type: ignore[no-any-return]


@kernel
def with_bracket(state: BracketingHalvingState) -> BracketingHalvingState:
    """One more, with fresh arms."""
    bracket = state.open + 1
    first = first_slot(bracket)
    for slot in range(first, first + (1 << bracket)):
        state.rewards.plays[slot] = 0
        state.rewards.sums[slot] = 0.0
        state.order[slot] = slot
    state.brackets.runs[bracket] = 0
    state.brackets.halvings[bracket] = 0
    state.brackets.plays[bracket] = 0
    state.brackets.winners[bracket] = -1
    counts = replaced(state.counts, arms=state.counts.arms + (1 << bracket))
    return replaced(state, open=bracket, counts=counts)


def begin(state: BracketingHalvingState, key: int) -> BracketingHalvingState:
    """The first bracket."""
    counts = blocks.with_block(blocks.NO_COUNTS, 0)
    return with_bracket(replaced(state, open=0, turn=1, rounds=0, counts=counts))


def ask(state: BracketingHalvingState, round: int) -> Choice:
    """Of the bracket whose turn it is, the arms that are left in turn."""
    place = state.brackets.plays[state.turn] & (left_in(state, state.turn) - 1)
    return chosen(state.order[first_slot(state.turn) + place], 0, 1, round)


def ask_among(state: BracketingHalvingState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The allowed arm with the largest mean."""
    return chosen(best_mean_among(state.rewards, allowed, state.counts.arms), 0, 1, round)


@kernel
def recommended(state: BracketingHalvingState) -> int:
    """The winner with the largest mean; before there is one, the first arm."""
    best = -1
    for bracket in range(1, state.open + 1):
        winner = state.brackets.winners[bracket]
        if winner >= 0 and (best < 0 or mean_in(state.rewards, winner) > mean_in(state.rewards, best)):
            best = winner
    return max(best, 0)


def recommend(state: BracketingHalvingState, round: int) -> Choice:
    """The best of the winners."""
    return chosen(recommended(state), 0, 1, round)


@kernel
def is_better(rewards: Rewards, one: int, other: int) -> bool:
    """Whether a slot has the larger mean, or the same and comes first."""
    more = mean_in(rewards, one) - mean_in(rewards, other)
    return more > 0.0 or (more == 0.0 and one < other)


@kernel
def sink(state: BracketingHalvingState, first: int, place: int, size: int) -> None:
    """In a heap with the worst on top: let the slot at a place sink to where it belongs."""
    order = state.order
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and is_better(state.rewards, order[first + below], order[first + below + 1]):
            below += 1
        if is_better(state.rewards, order[first + below], order[first + place]):
            return
        order[first + below], order[first + place] = order[first + place], order[first + below]
        place = below


@kernel
def sort(state: BracketingHalvingState, first: int, size: int) -> None:
    """Put so many slots in order, the best first: a heap sort, which needs no room."""
    for place in range(size // 2 - 1, -1, -1):
        sink(state, first, place, size)
    for last in range(size - 1, 0, -1):
        order = state.order
        order[first + last], order[first] = order[first], order[first + last]
        sink(state, first, 0, last)


@kernel
def halve(state: BracketingHalvingState, bracket: int) -> None:
    """The better half is left; of two, the winner, and the bracket begins again with all its arms."""
    first, left, of = first_slot(bracket), left_in(state, bracket), state.brackets
    sort(state, first, left)
    of.plays[bracket] = 0
    of.halvings[bracket] += 1
    if of.halvings[bracket] == bracket:
        of.winners[bracket] = state.order[first]
        of.halvings[bracket] = 0
        of.runs[bracket] += 1


@kernel
def after_round(state: BracketingHalvingState) -> BracketingHalvingState:
    """One more play in the bracket whose turn it was; it halves when all its arms would have had 2^runs plays."""
    bracket = state.turn
    state.brackets.plays[bracket] += 1
    if rarely(state.brackets.plays[bracket] == 1 << (bracket + state.brackets.runs[bracket])):
        halve(state, bracket)
    played = replaced(state, rounds=state.rounds + 1, turn=bracket + 1 if bracket < state.open else 1)
    return with_bracket(played) if rarely(open_after(played.rounds) > played.open) else played


def tell(state: BracketingHalvingState, choice: Choice, reward: float) -> BracketingHalvingState:
    """One more reward of its arm, and one more play of its bracket."""
    add_to(state.rewards, choice.slot, 1, reward)
    return after_round(state)


def defer(state: BracketingHalvingState, choice: Choice) -> tuple[BracketingHalvingState, float]:
    """An open ask is a play of its bracket."""
    return after_round(state), np.nan


def settle(state: BracketingHalvingState, choice: Choice, presumed: float, reward: float) -> BracketingHalvingState:
    """One more reward of its arm."""
    add_to(state.rewards, choice.slot, 1, reward)
    return state


def correct(state: BracketingHalvingState, choice: Choice, told: float, reward: float) -> BracketingHalvingState:
    """Another reward."""
    add_to(state.rewards, choice.slot, 0, reward - told)
    return state


def recall(state: BracketingHalvingState, slot: int, plays: int, total: float, is_news: bool) -> BracketingHalvingState:
    """Rewards seen elsewhere count as its own."""
    add_to(state.rewards, slot, plays, total)
    return state


blocks.register_policy(
    BracketingHalvingState,
    begin=begin,
    ask=ask,
    ask_among=ask_among,
    recommend=recommend,
    recall=recall,
    tell=tell,
    defer=defer,
    settle=settle,
    correct=correct,
)
