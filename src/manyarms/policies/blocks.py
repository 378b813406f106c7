"""Blocks: what policies share that play in stretches of known length, and what all policies count of themselves.

A policy's state has a ``counts``; one that plays in blocks also has a ``block``. Of open asks a policy need know
nothing: unless it says otherwise, an open ask is no round yet, and its answer is one, when it comes. A reward for a
block that is closed is then counted and otherwise ignored (`settle_in_block`).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import ceiling, floor
from ..compiled import kernel, replaced
from ..contract import (
    Choice,
    Counts,
    amend,
    best_among,
    counted,
    expected,
    learn,
    no_choice,
    pick,
    plays_of,
    register,
    revise,
    tell,
)

NO_COUNTS = Counts(restarts=0, blocks=0, arms=0, ignored=0)


class Block(NamedTuple):
    """A fixed set of arms, played for a fixed number of rounds."""

    rank: int = 0  # the paper's m: 1, 2, 3, … within the episode
    length: int = 0
    size: int = 0  # how many arms
    opened: int = 0  # rounds played before it
    left: int = 0  # rounds still to be played


NO_BLOCK = Block()
"""Before the first."""


# ---------------------------------------------------------------- kernels


@kernel
def played_rounds(block: Block) -> int:
    """The rounds that were played by now, in this block and before."""
    return block.opened + block.length - block.left


@kernel
def next_block(block: Block, rank: int, length: int, size: int) -> Block:
    """The block after this one, whether it was played to its end or broken off."""
    return Block(rank=rank, length=length, size=size, opened=played_rounds(block), left=length)


@kernel
def block_length(horizon: int, rank: int) -> int:
    """For a policy that draws anew with every block: the whole run if its length is known, else 2^rank rounds."""
    return horizon if horizon > 0 else 1 << rank


@kernel
def after_round(block: Block) -> Block:
    """One round less to be played. A known horizon that has passed goes on below 0."""
    return replaced(block, left=block.left - 1)


@kernel
def is_over(block: Block, horizon: int) -> bool:
    """Whether the next block is due; never if one block is the whole run."""
    return block.left == 0 and horizon == 0


@kernel
def with_block(counts: Counts, fresh: int) -> Counts:
    """One more block, with that many fresh arms."""
    return replaced(counts, blocks=counts.blocks + 1, arms=counts.arms + fresh)


@kernel
def with_arm(counts: Counts) -> Counts:
    """One more fresh arm."""
    return replaced(counts, arms=counts.arms + 1)


@kernel
def with_restart(counts: Counts) -> Counts:
    """One more restart."""
    return replaced(counts, restarts=counts.restarts + 1)


@kernel
def with_ignored(counts: Counts) -> Counts:
    """One more reward that came too late."""
    return replaced(counts, ignored=counts.ignored + 1)


@kernel
def rounded_up(value: float) -> int:
    """The ceiling, forgiving the rounding error of powers: 2^(9 · 0.8 / 1.8) is 16, not 16 + 1e-15."""
    return ceiling(value * (1.0 - 1e-12))


@kernel
def rounded_down(value: float) -> int:
    """The floor, forgiving it too: 3 · 100^(1/2) is 30, not 30 - 1e-15."""
    return floor(value * (1.0 + 1e-12))


@kernel
def assumed_horizon(known: int, rounds: int) -> float:
    """The horizon to reckon with: the known one, or (known = 0) the power of two that covers ``rounds``."""
    if known > 0:
        return float(max(known, 2))
    covered = 2.0
    while covered < rounds:
        covered *= 2.0
    return covered


# ---------------------------------------------------------------- what most policies do for a verb


def settle_in_block(state: Any, choice: Choice, presumed: float, reward: float) -> Any:
    """Learn from a reward of the open block; count one that comes too late."""
    if choice.block != state.counts.blocks:
        return replaced(state, counts=with_ignored(state.counts))
    return tell(state, choice, reward)


def own_counts(state: Any) -> Counts:
    """What the state has counted."""
    return state.counts  # type: ignore[no-any-return]


def ask_one_arm(state: Any, round: int) -> Choice:
    """For policies that keep one arm at a time: the arm in play."""
    return Choice(slot=0, arm=state.arm, probability=1.0, block=state.counts.blocks, round=round)


def ask_the_base(state: Any, round: int) -> Choice:
    """For policies that run a base on the arms from ``first_arm`` on: whatever the base picks."""
    slot, probability = pick(state.base, state.key, round)
    return Choice(
        slot=slot, arm=state.first_arm + slot, probability=probability, block=state.counts.blocks, round=round
    )


@kernel
def ask_the_base_among(state: Any, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The best allowed arm, as the base has it. Whoever knows another arm in that slot puts it in."""
    slot, probability = best_among(state.base, state.key, round, allowed, state.block.size)
    if slot < 0:
        return no_choice(round)
    return Choice(
        slot=slot, arm=state.first_arm + slot, probability=probability, block=state.counts.blocks, round=round
    )


@kernel
def recommend_of_base(state: Any, round: int) -> Choice:
    """The arm that the base has played most in this block, the first of several."""
    best = 0
    most = plays_of(state.base, 0)
    for slot in range(1, state.block.size):
        plays = plays_of(state.base, slot)
        if plays > most:
            best = slot
            most = plays
    return Choice(slot=best, arm=state.first_arm + best, probability=1.0, block=state.counts.blocks, round=round)


@kernel
def base_after_ask(base: Any, choice: Choice) -> tuple[Any, float]:
    """For an open ask: a play that paid what the base expects, if it expects anything."""
    presumed = expected(base, choice.slot)
    return base if math.isnan(presumed) else learn(base, choice, presumed), presumed


@kernel
def base_after_answer(base: Any, choice: Choice, presumed: float, reward: float) -> Any:
    """The play paid that."""
    if math.isnan(presumed):
        return learn(base, choice, reward)
    return amend(base, choice.slot, presumed, reward)


@kernel
def base_after_silence(base: Any, choice: Choice, presumed: float) -> Any:
    """No answer will come: as if there had been no play."""
    return base if math.isnan(presumed) else revise(base, choice.slot, -1, -counted(base, presumed))


def register_policy(state_type: type, **kernels: Callable[..., Any]) -> None:
    """Give a policy's state its kernels: ``begin``, ``ask`` and ``tell``; others have a default.

    Examples
    --------
    >>> from manyarms.contract import VERBS
    >>> from manyarms.policies.cbt import CBTState
    >>> VERBS["counts"].kernels[CBTState].__name__
    'own_counts'
    """
    defaults: dict[str, Callable[..., Any]] = {"settle": settle_in_block, "counts": own_counts}
    register(state_type, **(defaults | kernels))


# ---------------------------------------------------------------- outside of kernels


def last_block_rank(rounds: int) -> int:
    """The greatest block rank m that can be opened by the end of ``rounds`` rounds: blocks 1 … m - 1 take 2^m - 2."""
    return max(1, math.floor(math.log2(rounds + 2)))


def longest_block(horizon: int, rounds: int) -> int:
    """The most rounds that a block of `block_length` can have if it begins within ``rounds`` rounds."""
    return horizon or 2 ** last_block_rank(rounds)


def explained_block(state: Any) -> dict[str, Any]:
    """For ``explain``: where a policy that plays in blocks stands."""
    return {
        "episode": state.counts.restarts + 1,
        "block_rank": state.block.rank,
        "block_length": state.block.length,
        "rounds_left_in_block": max(state.block.left, 0),
        "arms": state.block.size,
        "last_restart": None,
    }


# ---------------------------------------------------------------- why the last restart happened


NOTE_FIELDS = ("round", "block_rank", "rounds_in_block", "arms", "statistic", "threshold")
WHOLE_FIELDS = NOTE_FIELDS[:4]


def empty_note() -> NDArray[np.float64]:
    """No restart yet."""
    return np.full(len(NOTE_FIELDS), np.nan)


@kernel
def write_note(note: Any, block: Block, statistic: float, threshold: float) -> None:
    """Remember why a restart happened, in the round that the block has just played."""
    note[0] = played_rounds(block)
    note[1] = block.rank
    note[2] = block.length - block.left
    note[3] = block.size
    note[4] = statistic
    note[5] = threshold


def read_note(note: NDArray[np.float64]) -> dict[str, float | int] | None:
    """The last restart in numbers, or None."""
    if math.isnan(note[0]):
        return None
    read = dict(zip(NOTE_FIELDS, note.tolist(), strict=True))
    return {name: int(value) if name in WHOLE_FIELDS else value for name, value in read.items()}
