"""Elimination: play at random among arms that have not yet lost too much.

Draw a subsample of arms, play them uniformly at random, and drop an arm when its
importance-weighted loss has grown too large for a good arm. Blocks double; each draws a new
subsample. When every arm of a block has been dropped, even the best of a large sample has
become bad: something shifted, and everything starts again from the smallest block.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 2.

Symbols: m -> block.rank; A_m -> the slots 0 … block.size - 1 of a new block; G_t -> the slots 0 … live - 1;
C_2 -> threshold (spec), elimination_limit; log -> logarithm to log_base;
IW_t -> loss / choice.probability; l -> counts.restarts + 1.

The live arms fill the first slots: when one is dropped, the last one moves into its slot. So a round is
one look at one slot, and what is still played lies together in memory.

Deviations: ``warm_start`` (off in the paper) lets the survivors of a block stay in the next
one's subsample, which fresh arms fill up; all sums start at 0 again. Without a horizon, log T
is taken of the power of two that covers the end of the block. The paper's text counts losses
from 1; ``top`` moves that, and ``top="auto"`` learns it anew for every block (`policies.learned_top`).
The paper's blocks end at m = ceil(log T), beyond which T rounds have passed; ours go on. A horizon of 1
counts as 2, so that its logarithm is not 0. ``beta="auto"`` estimates beta anew for every block
(`policies.tail`); should that make the subsample smaller than the survivors are many, they all stay.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import power
from ..compiled import kernel, on_gpu, place_in, rarely, replaced, store_both
from ..contract import Choice, Counts, begin, no_choice, relocate
from ..specs import Flag, Positive
from ..streams import UNSET_KEY, bits_at, index_below, u64
from . import blocks
from . import tail as tails
from .base import DOUBLING, Horizon, LogBase, logarithm
from .learned_top import LearnedTop, tail_for

PRESETS: dict[str, dict[str, Any]] = {
    # The text: base-2 logarithms (the appendix says so), the constant left open and set to 1.
    "paper": {"threshold": 1.0, "log_base": 2.0, "log_factor": True, "cap": True, "warm_start": False},
    # The settings behind the published figure.
    "published": {"threshold": 1.0, "log_base": math.e, "log_factor": False, "cap": False, "warm_start": False},
    # The choice of verification/calibration.py, written up in docs/calibration.md.
    "calibrated": {"threshold": 0.02, "log_base": 2.0, "log_factor": False, "cap": True, "warm_start": True},
}


class EliminationSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    threshold: float  # C_2
    log_base: float
    log_factor: bool
    cap: bool
    warm_start: bool
    top: float  # unless it is learned
    horizon: int = 0  # 0: unknown


class Move(NamedTuple):
    """An arm's way into the slot of one that was just dropped; both slots are the same if there is none."""

    source: int
    target: int


STAY = Move(source=0, target=0)


class EliminationState(NamedTuple):
    """A run of the algorithm."""

    settings: EliminationSettings
    key: int  # of the policy's random stream
    arms: NDArray[np.int64]  # slot -> arm
    scores: NDArray[np.float64]  # slot -> importance-weighted loss in this block
    tail: tails.ToldBeta | tails.Tail | LearnedTop  # what is known of beta and top
    note: NDArray[np.float64]  # why the last restart happened
    block: blocks.Block = blocks.NO_BLOCK
    limit: float = 0.0  # an arm with this score is eliminated
    live: int = 0
    probability: float = 0.0  # 1 / live
    counts: Counts = blocks.NO_COUNTS
    move: Move = STAY  # what the last ``tell`` did to the slots


@dataclasses.dataclass(frozen=True)
class Elimination(tails.SubsamplingPolicy):
    """Randomised elimination that restarts at significant shifts (Suk & Kim, Algorithm 2).

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated as the run goes.
    preset
        Where the settings left at None come from: ``"calibrated"``, ``"paper"`` (as the text
        says) or ``"published"`` (as behind the published figure).
    threshold
        The constant C_2: an arm is dropped at a score of threshold · arms · log T.
    log_base
        2, ``"e"`` or another number above 1.
    log_factor
        Whether the subsample has the factor log T.
    cap
        Whether the subsample of block m has at most 2^m arms.
    warm_start
        Whether survivors stay when a block ends without a restart.
    top
        The mean from which losses are counted, or ``"auto"``: learned as the run goes. Nothing is proved then;
        docs/theory/learned-top.md says what is measured.
    horizon
        T, which enters only in logarithms. None: that of the simulation, or unknown when
        live; ``"doubling"``: unknown. An unknown horizon is taken to be the power of two
        that covers the end of the block.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
    >>> result = ma.simulate(ma.Elimination(beta=1.0), world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final_regret("Elimination").mean() < 1000)
    True

    Click rates of up to 5 %, which it is not told:

    >>> clicks = ma.World(ma.PowerLaw(beta=1.0, top=0.05))
    >>> policies = [ma.Elimination(beta="auto", top="auto"), ma.UniformPlay()]
    >>> result = ma.simulate(policies, clicks, horizon=50_000, replications=4, seed=1)
    >>> bool(result.final("Elimination", "reward").mean() > 1.25 * result.final("UniformPlay", "reward").mean())
    True
    """

    about: ClassVar = About(
        told=("T", "beta", "top"),
        rate="T^(beta/(beta+1))",
        made_for=("still", "wear", "crashes", "late answers"),
        cost="O(1)",
    )
    presets: ClassVar = PRESETS
    restarts_when: ClassVar[str] = (
        "all arms of a block have been dropped. An arm is dropped when its losses in the block, weighted by its chance "
        "to be played, reach the threshold; beneath each restart stand those of the last arm"
    )
    settings_type: ClassVar = EliminationSettings
    tried_with: ClassVar = (
        {"beta": 1.0},
        # Restarts within a few rounds, with the subsample of the paper's text.
        {"beta": 1.0, "preset": "paper", "threshold": 0.02, "horizon": DOUBLING},
        {"beta": 0.5, "preset": "published", "threshold": 0.1},
        {"beta": "auto", "threshold": 0.02},
        {"beta": "auto", "threshold": 0.02, "top": "auto"},
    )

    beta: tails.Beta
    preset: str = "calibrated"
    threshold: Positive | None = None
    log_base: LogBase | None = None
    log_factor: Flag | None = None
    cap: Flag | None = None
    warm_start: Flag | None = None
    top: tails.Top = 1.0
    horizon: Horizon = None

    def slots_for(self, beta: float, rounds: int) -> int:
        """The subsample of the largest block that can begin within ``rounds`` rounds."""
        rank = blocks.last_block_rank(rounds)
        horizon = blocks.assumed_horizon(self.known_horizon, 2 ** (rank + 2))
        return subsample_size(self.settings(), beta, rank, horizon)

    def start_in(self, slots: int) -> EliminationState:
        """A state with arrays for that many arms."""
        return EliminationState(
            settings=self.settings(),
            key=UNSET_KEY,
            arms=np.zeros(slots, dtype=np.int64),
            scores=np.zeros(slots, dtype=np.float64),
            tail=tail_for(self.beta, self.top, slots),
            note=blocks.empty_note(),
        )

    def kept_arms(self, state: EliminationState) -> NDArray[np.int64]:
        """The live arms of the open block."""
        return np.sort(state.arms[: state.live])

    @property
    def is_random(self) -> bool:
        """All live arms are equally likely."""
        return True

    def chance_of(self, state: EliminationState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """All are equally likely."""
        return 1.0 / float(allowed.sum()) if allowed[slot] else 0.0

    def arms_in_slots(self, state: EliminationState) -> NDArray[np.int64]:
        """The live arms, which fill the first slots."""
        return state.arms[: state.live]

    def explain(self, state: EliminationState) -> dict[str, Any]:
        """Where it stands, and the last restart: the score that emptied the block against the threshold."""
        own = {"live_arms": state.live, "threshold": state.limit, "last_restart": blocks.read_note(state.note)}
        return blocks.explained_block(state) | own | tails.explained(state.tail, float(state.block.rank))


@kernel
def subsample_size(settings: EliminationSettings, beta: float, rank: int, horizon: float) -> int:
    """ceil(2^((m + 1) beta / (beta + 1)) log T), at most 2^m."""
    size = power(2.0, (rank + 1) * (beta / (beta + 1.0)))
    if settings.log_factor:
        size *= logarithm(horizon, settings.log_base)
    if settings.cap:
        size = min(size, float(1 << rank))
    return max(blocks.rounded_up(size), 1)


@kernel
def elimination_limit(settings: EliminationSettings, size: int, horizon: float) -> float:
    """C_2 |A_m| log T."""
    return settings.threshold * size * logarithm(horizon, settings.log_base)


@kernel
def open_block(state: EliminationState, rank: int, survivors: int) -> EliminationState:
    """Block ``rank`` of the episode: that many survivors stay, fresh arms fill it up."""
    length = 1 << rank
    settings = state.settings
    block = blocks.next_block(state.block, rank, length, 0)
    horizon = blocks.assumed_horizon(settings.horizon, block.opened + length)
    wanted = max(subsample_size(settings, tails.beta_for(state.tail, float(rank)), rank, horizon), survivors)
    tail, size = tails.fitted(state.tail, wanted)
    for slot in range(survivors):
        state.scores[slot] = 0.0
    for slot in range(survivors, size):
        store_both(state.arms, state.scores, slot, state.counts.arms + slot - survivors, 0.0)
        tails.watch_fresh_arm(state.tail, slot)
    return replaced(
        state,
        tail=tails.opened(tail, size),
        block=replaced(block, size=size),
        limit=elimination_limit(settings, size, horizon),
        live=size,
        probability=1.0 / size,
        counts=blocks.with_block(state.counts, size - survivors),
    )


def begin_elimination(state: EliminationState, key: int) -> EliminationState:
    """The first block of the first episode."""
    state.note[:] = np.nan
    clean = replaced(
        state, key=key, tail=begin(state.tail, key), block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS, move=STAY
    )
    return open_block(clean, 1, 0)


def ask(state: EliminationState, round: int) -> Choice:
    """One of the live arms, uniformly at random."""
    slot = index_below(bits_at(state.key, round, 0), state.live)
    return Choice(
        slot=slot,
        arm=state.arms[u64(slot)],
        probability=state.probability,
        block=state.counts.blocks,
        round=round,
    )


def ask_among(state: EliminationState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """One of the allowed live arms, uniformly at random: what its losses weigh follows from how many these are."""
    number = 0
    for slot in range(state.live):
        number += 1 if allowed[slot] else 0
    if number == 0:
        return no_choice(round)
    left = index_below(bits_at(state.key, round, 1), number)
    chosen = 0
    for slot in range(state.live):
        if allowed[slot]:
            if left == 0:
                chosen = slot
            left -= 1
    return Choice(
        slot=chosen, arm=state.arms[u64(chosen)], probability=1.0 / number, block=state.counts.blocks, round=round
    )


def release(state: EliminationState, slot: int) -> EliminationState:
    """The arm in a slot is gone, and with the last one its block: as if all had been dropped."""
    gone = without(state, slot)
    return after_block(gone) if gone.live == 0 else gone


def tell(state: EliminationState, choice: Choice, reward: float) -> EliminationState:
    """Add the weighted loss; eliminate; go on, open the next block, or restart."""
    tail = tails.watch_reward(state.tail, choice.slot, reward)
    played = replaced(state, tail=tail, block=blocks.after_round(state.block), move=STAY)
    told = with_loss(played, choice.slot, top_now(state) - reward, choice.probability)
    return after_block(told) if rarely((told.live == 0) | (told.block.left == 0)) else told


def defer(state: EliminationState, choice: Choice) -> tuple[EliminationState, float]:
    """An open ask is a round of its block. The next block goes on with the arms that live as far as is known."""
    deferred = replaced(state, block=blocks.after_round(state.block))
    return after_block(deferred) if rarely(deferred.block.left == 0) else deferred, math.nan


def settle(state: EliminationState, choice: Choice, presumed: float, reward: float) -> EliminationState:
    """Add the weighted loss to the score of the arm, whichever block it was asked for in."""
    slot = slot_of(state, choice)
    if rarely(slot < 0):
        # With a warm start an arm goes only if it is judged. Else it may have gone with its block.
        is_judged = state.settings.warm_start or choice.block == state.counts.blocks
        return state if is_judged else replaced(state, counts=blocks.with_ignored(state.counts))
    heard = replaced(state, tail=tails.watch_reward(state.tail, slot, reward))
    told = with_loss(heard, slot, top_now(state) - reward, choice.probability)
    return after_block(told) if rarely(told.live == 0) else told


def correct(state: EliminationState, choice: Choice, told: float, reward: float) -> EliminationState:
    """Change the arm's score, if it is still in, and its block open: with the next one all scores begin again."""
    slot = slot_of(state, choice)
    if slot < 0 or choice.block != state.counts.blocks:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    corrected = with_loss(state, slot, told - reward, choice.probability)
    return after_block(corrected) if corrected.live == 0 else corrected


@kernel
def top_now(state: EliminationState) -> Any:
    """The mean from which losses are counted."""
    return tails.top_of(state.tail, state.settings.top)


@kernel
def with_loss(state: EliminationState, slot: int, loss: float, probability: float) -> EliminationState:
    """Add the weighted loss of the arm in a slot, which may eliminate it."""
    score = added_score(state, slot, loss, probability)
    if rarely(score >= state.limit):
        if state.live == 1:
            blocks.write_note(state.note, state.block, score, state.limit)
        return without(state, slot)
    return state


@kernel
def after_block(state: EliminationState) -> EliminationState:
    """The next block, with the survivors if the start is warm; the first one of an episode, if there are none."""
    is_empty = state.live == 0
    counts = blocks.with_restart(state.counts) if is_empty else state.counts
    survivors = state.live if state.settings.warm_start else 0
    tail = tails.closed(state.tail, state.live)
    return open_block(replaced(state, tail=tail, counts=counts), 1 if is_empty else state.block.rank + 1, survivors)


@kernel
def added_score(state: EliminationState, slot: int, loss: float, probability: float) -> float:
    """The arm's score with this loss. A GPU is short of stores, a processor of guesses."""
    score = 0.0  # no arm goes for a loss of 0
    if loss != 0.0 or not on_gpu():
        score = state.scores[u64(slot)] + loss / probability
        state.scores[u64(slot)] = score
    return score


@kernel
def without(state: EliminationState, slot: int) -> EliminationState:
    """Drop the arm in a slot; the last live one takes its place."""
    live = state.live - 1
    tail = tails.watch_leaving_arm(state.tail, slot)
    state.arms[slot] = state.arms[live]
    state.scores[slot] = state.scores[live]
    tails.watch_moved_arm(state.tail, live, slot)
    probability = 1.0 / live if live > 0 else state.probability
    return replaced(state, tail=tail, live=live, probability=probability, move=Move(source=live, target=slot))


@kernel
def slot_of(state: EliminationState, choice: Choice) -> int:
    """Where the arm of a choice is now; -1 if it is out. Mostly it is where it was."""
    if choice.slot < state.live and state.arms[choice.slot] == choice.arm:
        return choice.slot
    return place_in(state.arms, state.live, choice.arm)


def follow(state: EliminationState, world: Any) -> EliminationState:
    """Let the world follow where an arm has moved."""
    move = state.move
    if rarely(move.source != move.target):
        relocate(world, move.source, move.target)
    return replaced(state, move=STAY)


blocks.register_policy(
    EliminationState,
    is_cramped=tails.is_too_small,
    begin=begin_elimination,
    ask=ask,
    ask_among=ask_among,
    release=release,
    tell=tell,
    defer=defer,
    settle=settle,
    correct=correct,
    follow=follow,
)
