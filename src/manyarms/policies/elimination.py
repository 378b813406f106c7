"""Elimination: play at random among arms that have not yet lost too much.

Draw a subsample of arms, play them uniformly at random, and drop an arm when its
importance-weighted loss has grown too large for a good arm. Blocks double; each draws a new
subsample. When every arm of a block has been dropped, even the best of a large sample has
become bad: something shifted, and everything starts again from the smallest block.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 2.

Symbols: m -> block.rank; A_m -> the slots 0 … block.size - 1 of a new block; G_t -> the slots 0 … live - 1;
C_2 -> threshold (spec), elimination_threshold; log -> logarithm to log_base;
IW_t -> loss / choice.probability; l -> tally.restarts + 1.

The live arms fill the first slots: when one is dropped, the last one moves into its slot. So a round is
one look at one slot, and what is still played lies together in memory.

Deviations: ``warm_start`` (off in the paper) lets the survivors of a block stay in the next
one's subsample, which fresh arms fill up; all sums start at 0 again. Without a horizon, log T
is taken of the power of two that covers the end of the block. The paper's text counts losses
from 1; ``top`` moves that. The paper's blocks end at m = ceil(log T), beyond which T rounds
have passed; ours go on. A horizon of 1 counts as 2, so that its logarithm is not 0. ``beta="auto"`` estimates beta anew
for every block (`policies.tail`); should that make the subsample smaller than the survivors are many, they all stay.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import power
from ..compiled import kernel, on_gpu, rarely, replaced, store_both
from ..contract import Choice, Counts, register, relocate
from ..specs import flag, fraction, positive
from ..streams import UNSET_KEY, bits_at, index_below, u64
from .base import (
    DOUBLING,
    NO_BLOCK,
    NOTHING,
    Block,
    Policy,
    Tally,
    assumed_horizon,
    block_counts,
    checked_horizon,
    checked_log_base,
    empty_note,
    from_preset,
    horizon_number,
    last_block_rank,
    logarithm,
    read_note,
    rounded_up,
    store_numbers,
    write_note,
)
from .tail import (
    Tail,
    begin_tail,
    checked_beta,
    estimated_beta,
    explained,
    first_beta,
    largest_beta,
    new_tail,
    watch_fresh_arm,
    watch_moved_arm,
    watch_reward,
)

PRESETS: dict[str, dict[str, Any]] = {
    # The text: base-2 logarithms (the appendix says so), the constant left open and set to 1.
    "paper": {"threshold": 1.0, "log_base": 2.0, "log_factor": True, "cap": True, "warm_start": False},
    # The settings behind the published figure.
    "published": {"threshold": 1.0, "log_base": math.e, "log_factor": False, "cap": False, "warm_start": False},
    # The choice of verification/calibration.py, written up in docs/calibration.md.
    "calibrated": {"threshold": 0.02, "log_base": 2.0, "log_factor": False, "cap": True, "warm_start": True},
}


class EliminationSettings(NamedTuple):
    """The spec in numbers; none but an estimated rate ever changes."""

    rate: float  # beta / (beta + 1)
    constant: float  # C_2
    log_base: float
    log_factor: bool
    cap: bool
    warm_start: bool
    top: float
    horizon: int  # 0: unknown


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
    tail: Tail  # what is known of beta
    note: NDArray[np.float64]  # why the last restart happened
    block: Block
    threshold: float  # an arm with this score is eliminated
    live: int
    probability: float  # 1 / live
    rounds_left: int  # in this block
    tally: Tally
    move: Move  # what the last ``tell`` did to the slots


@dataclasses.dataclass(frozen=True)
class Elimination(Policy):
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
        The mean from which losses are counted.
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
    """

    restarts_when: ClassVar[str] = (
        "all arms of a block have been dropped. An arm is dropped when its losses in the block, weighted by its chance "
        "to be played, reach the threshold; beneath each restart stand those of the last arm"
    )

    beta: float | str
    preset: str = "calibrated"
    threshold: float | None = None
    log_base: float | str | None = None
    log_factor: bool | None = None
    cap: bool | None = None
    warm_start: bool | None = None
    top: float = 1.0
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(beta=1.0),
            # Restarts within a few rounds, with the subsample of the paper's text.
            cls(beta=1.0, preset="paper", threshold=0.02, horizon=DOUBLING),
            cls(beta=0.5, preset="published", threshold=0.1),
            cls(beta="auto", threshold=0.02),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checked_beta("Elimination", self.beta))
        object.__setattr__(self, "top", fraction("Elimination", "top", self.top))
        object.__setattr__(self, "horizon", checked_horizon("Elimination", self.horizon))
        store_numbers(self, "threshold", "log_base")
        self.settings()
        new_tail("Elimination", self.beta, 1, self.top)

    def settings(self, beta: float | None = None) -> EliminationSettings:
        """The preset with this spec's own keywords put over it; for another beta on request."""
        given = {name: getattr(self, name) for name in PRESETS["paper"]}
        chosen = from_preset("Elimination", PRESETS, self.preset, given)
        return EliminationSettings(
            rate=rate_of(first_beta(self.beta) if beta is None else beta),
            constant=positive("Elimination", "threshold", chosen["threshold"]),
            log_base=checked_log_base("Elimination", chosen["log_base"]),
            log_factor=flag("Elimination", "log_factor", chosen["log_factor"]),
            cap=flag("Elimination", "cap", chosen["cap"]),
            warm_start=flag("Elimination", "warm_start", chosen["warm_start"]),
            top=self.top,
            horizon=horizon_number(self.horizon),
        )

    def slots(self, rounds: int) -> int:
        """The subsample of the largest block that can begin within ``rounds`` rounds."""
        rank = last_block_rank(rounds)
        horizon = assumed_horizon(horizon_number(self.horizon), 2 ** (rank + 2))
        return subsample_size(self.settings(largest_beta(self.beta)), rank, horizon)

    def start(self, rounds: int) -> EliminationState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return EliminationState(
            settings=self.settings(),
            key=UNSET_KEY,
            arms=np.zeros(slots, dtype=np.int64),
            scores=np.zeros(slots, dtype=np.float64),
            tail=new_tail("Elimination", self.beta, slots, self.top),
            note=empty_note(),
            block=NO_BLOCK,
            threshold=0.0,
            live=0,
            probability=0.0,
            rounds_left=0,
            tally=NOTHING,
            move=STAY,
        )

    def kept_arms(self, state: EliminationState) -> NDArray[np.int64]:
        """The live arms of the open block."""
        return np.sort(state.arms[: state.live])

    def explain(self, state: EliminationState) -> dict[str, Any]:
        """Where it stands, and the last restart: the score that emptied the block against the threshold."""
        return {
            "episode": state.tally.restarts + 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": state.rounds_left,
            "arms": state.block.size,
            "live_arms": state.live,
            "threshold": state.threshold,
            "last_restart": read_note(state.note),
        } | explained(state.tail, float(state.block.rank))


@kernel
def rate_of(beta: float) -> float:
    """The exponent of the subsample."""
    return beta / (beta + 1.0)


@kernel
def settings_for(state: EliminationState, rank: int) -> EliminationSettings:
    """The settings, with the present estimate of beta for a block of this rank."""
    settings = state.settings
    if state.tail.levels == 0:
        return settings
    return replaced(settings, rate=rate_of(estimated_beta(state.tail, float(rank))))


@kernel
def subsample_size(settings: EliminationSettings, rank: int, horizon: float) -> int:
    """ceil(2^((m + 1) beta / (beta + 1)) log T), at most 2^m."""
    size = power(2.0, (rank + 1) * settings.rate)
    if settings.log_factor:
        size *= logarithm(horizon, settings.log_base)
    if settings.cap:
        size = min(size, float(1 << rank))
    return max(rounded_up(size), 1)


@kernel
def elimination_threshold(settings: EliminationSettings, size: int, horizon: float) -> float:
    """C_2 |A_m| log T."""
    return settings.constant * size * logarithm(horizon, settings.log_base)


@kernel
def open_block(
    state: EliminationState, rank: int, opened: int, survivors: int, tally: Tally, move: Move
) -> EliminationState:
    """Block ``rank`` of the episode: that many survivors stay, fresh arms fill it up."""
    length = 1 << rank
    settings = settings_for(state, rank)
    horizon = assumed_horizon(settings.horizon, opened + length)
    size = max(subsample_size(settings, rank, horizon), survivors)
    for slot in range(survivors):
        state.scores[slot] = 0.0
    for slot in range(survivors, size):
        store_both(state.arms, state.scores, slot, tally.arms + slot - survivors, 0.0)
        watch_fresh_arm(state.tail, slot)
    return replaced(
        state,
        settings=settings,
        block=Block(number=state.block.number + 1, rank=rank, length=length, size=size, opened=opened),
        threshold=elimination_threshold(settings, size, horizon),
        live=size,
        probability=1.0 / size,
        rounds_left=length,
        tally=replaced(tally, arms=tally.arms + size - survivors),
        move=move,
    )


def begin(state: EliminationState, key: int) -> EliminationState:
    """The first block of the first episode."""
    state.note[:] = np.nan
    begin_tail(state.tail)
    clean = replaced(
        state,
        key=key,
        block=NO_BLOCK,
        threshold=0.0,
        live=0,
        probability=0.0,
        rounds_left=0,
        tally=NOTHING,
        move=STAY,
    )
    return open_block(clean, 1, 0, 0, clean.tally, clean.move)


def ask(state: EliminationState, round: int, waiting: int) -> Choice:
    """One of the live arms, uniformly at random."""
    slot = index_below(bits_at(state.key, round, 0), state.live)
    return Choice(
        slot=slot,
        arm=state.arms[u64(slot)],
        probability=state.probability,
        block=state.block.number,
        round=round,
    )


def tell(state: EliminationState, choice: Choice, reward: float) -> EliminationState:
    """Add the weighted loss; eliminate; go on, open the next block, or restart."""
    tally = state.tally
    live = state.live
    probability = state.probability
    rounds_left = state.rounds_left
    move = STAY
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, ignored=tally.ignored + 1)
    else:
        rounds_left -= 1
        slot = choice.slot
        if rarely(choice.probability < probability):  # arms were dropped since, and others moved into their slots
            slot = slot_of(state, choice.arm)
        loss = state.settings.top - reward
        score = 0.0
        # A late reward may belong to an arm that is out already. A GPU is short of stores, a processor of guesses.
        if slot >= 0 and (loss != 0.0 or not on_gpu()):
            score = state.scores[u64(slot)] + loss / choice.probability
            state.scores[u64(slot)] = score
        if slot >= 0:
            watch_reward(state.tail, slot, reward)
        if rarely(score >= state.threshold):
            live -= 1
            move = Move(source=live, target=slot)
            state.arms[slot] = state.arms[live]
            state.scores[slot] = state.scores[live]
            watch_moved_arm(state.tail, live, slot)
            if live > 0:
                probability = 1.0 / live
            else:
                write_note(state.note, state.block, state.block.length - rounds_left, score, state.threshold)
                return open_block(
                    state,
                    1,
                    state.block.opened + state.block.length - rounds_left,
                    0,
                    replaced(tally, restarts=tally.restarts + 1),
                    move,
                )
        if rarely(rounds_left == 0):
            return open_block(
                state,
                state.block.rank + 1,
                state.block.opened + state.block.length,
                live if state.settings.warm_start else 0,
                tally,
                move,
            )
    return replaced(state, live=live, probability=probability, rounds_left=rounds_left, tally=tally, move=move)


@kernel
def slot_of(state: EliminationState, arm: int) -> int:
    """Where an arm is now; -1 if it was dropped."""
    for slot in range(state.live):
        if state.arms[slot] == arm:
            return slot
    return -1


def observe(state: EliminationState, world: Any, choice: Choice) -> EliminationState:
    """Let the world follow where an arm has moved."""
    move = state.move
    if rarely(move.source != move.target):
        relocate(world, move.source, move.target)
    return state


def counts(state: EliminationState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(EliminationState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe)
