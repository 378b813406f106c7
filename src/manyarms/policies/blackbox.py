"""Blackbox: any finite-armed base, made to track infinitely many changing arms.

Run the base on a subsample of arms for a block of rounds; blocks double, each with a new
subsample and a new base. The losses of a block are summed as they come: as long as they stay
below what a stationary world would cost, all is well. When they exceed it, something changed:
restart from the smallest block.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 1,
with the subsampling rates of its Theorem 2.

Symbols: m -> block.rank; A_m -> the slots 0 … block.size - 1; S_m -> subsample_size;
C_1 -> threshold (spec), restart_limit; log -> logarithm to log_base;
delta-hat -> top - reward; l -> counts.restarts + 1.

Deviations: ``log_factor`` and ``base_horizon`` (as in the paper by default) reproduce the
settings behind the published figure. Without a horizon, log T is taken of the power of two
that covers the end of the block. Blocks go on beyond m = ceil(log T). A horizon of 1 counts as 2,
so that its logarithm is not 0. ``warm_start`` (off in the paper, on in the calibrated preset) lets the arms that the
base has played at least their share of a block, its length / its arms, stay in the next one's subsample, which
fresh arms fill up; the base forgets all. ``beta="auto"`` estimates beta anew for every block (`policies.tail`); should
that make the subsample smaller than such arms are many, they all stay. ``top="auto"`` learns the top anew for every
block (`policies.learned_top`); then a block that earns less than random arms would, beyond luck, has lost too much.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import power
from ..bases.base import Base
from ..bases.ucb import UCB, Greedy
from ..compiled import kernel, place_in, rarely, replaced
from ..contract import Choice, Counts, Nothing, begin, keyed, pick, plays_of, register, relocate, renew, verb
from ..contract import learn as base_learns
from ..specs import Flag, Positive, among, number, of_kind
from ..streams import UNSET_KEY
from . import blocks
from . import tail as tails
from .base import DOUBLING, Horizon, LogBase, logarithm
from .learned_top import LearnedTop, tail_for

# The text: base-2 logarithms (the appendix says so), the constant left open and set to 1.
PAPER: dict[str, Any] = {
    "threshold": 1.0,
    "log_power": 3.0,
    "log_base": 2.0,
    "log_factor": False,
    "base_horizon": "block",
    "warm_start": False,
}
PRESETS = {
    "paper": PAPER,
    # The settings behind the published figure.
    "published": PAPER | {"log_base": math.e, "log_factor": True, "base_horizon": "run"},
    # The choice of verification/calibration.py, written up in docs/calibration.md.
    "calibrated": PAPER | {"threshold": 0.5, "log_power": 1.0, "warm_start": True},
}


class BlackboxSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    threshold: float  # C_1
    log_power: float
    log_base: float
    log_factor: bool
    block_horizon: bool  # whether the base is told the length of the block, not of the run
    top: float  # unless it is learned
    horizon: int = 0  # 0: unknown


class ColdStart(Nothing):
    """Every block has fresh arms only."""


class WarmStart(NamedTuple):
    """Arms that stayed when the block was opened are in its first slots."""

    kept: NDArray[np.int64]  # slot -> arm, for the arms that stayed
    sources: NDArray[np.int64]  # slot -> where its arm was before, for the same
    stayed: int = 0  # how many
    moving: int = 0  # how many of them the world has not followed yet


class BlackboxState(NamedTuple):
    """A run of the algorithm."""

    settings: BlackboxSettings
    base: Any
    tail: tails.ToldBeta | tails.Tail | LearnedTop  # what is known of beta and top
    start: ColdStart | WarmStart
    note: NDArray[np.float64]  # why the last restart happened
    key: int = UNSET_KEY  # of the policy's random stream
    first_arm: int = 0  # slot s holds arm first_arm + s, unless it stayed
    block: blocks.Block = blocks.NO_BLOCK
    limit: float = 0.0  # losses of a block that trigger a restart
    loss: float = 0.0  # of this block
    awaited: int = 0  # open asks of this block
    most_awaited: int = 0  # the most there were at a time
    counts: Counts = blocks.NO_COUNTS


def checked_log_power(owner: str, name: str, log_power: Any) -> float:
    """A power of the logarithm, within reason."""
    value = number(owner, name, log_power)
    if not 0.0 <= value <= 10.0:
        raise ValueError(f"{owner}: {name} must lie in [0, 10], not {log_power!r}; the paper's is 3")
    return value


@dataclasses.dataclass(frozen=True)
class Blackbox(tails.SubsamplingPolicy):
    """A base on doubling blocks that restarts when its losses grow (Suk & Kim, Algorithm 1).

    Parameters
    ----------
    base
        The finite-armed policy.
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated as the run goes.
    preset
        Where the settings left at None come from: ``"calibrated"``, ``"paper"`` (as the text
        says) or ``"published"`` (as behind the published figure).
    threshold
        The constant C_1: restart at losses of threshold · max(arms, 2^(m/2)) · (log T)^log_power.
    log_power
        3 in the paper, with which no restart is possible before 2^m exceeds (log T)^6.
    log_base
        2, ``"e"`` or another number above 1; `UCB` as base follows it.
    log_factor
        Whether the subsample has the factor (log T)^(1 / (beta + 1)), or log T for beta < 1.
    base_horizon
        The horizon the base is told: ``"block"`` or ``"run"``.
    warm_start
        Whether arms with at least their share of the plays stay when a block ends without a restart.
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
    >>> policy = ma.Blackbox(base=ma.UCB(), beta=1.0)
    >>> result = ma.simulate(policy, world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final_regret("Blackbox").mean() < 1000)
    True

    Click rates of up to 5 %, which it is not told:

    >>> clicks = ma.World(ma.PowerLaw(beta=1.0, top=0.05))
    >>> policies = [ma.Blackbox(base=ma.UCB(), beta="auto", top="auto"), ma.UniformPlay()]
    >>> result = ma.simulate(policies, clicks, horizon=50_000, replications=4, seed=1)
    >>> bool(result.final("Blackbox", "reward").mean() > 1.15 * result.final("UniformPlay", "reward").mean())
    True
    """

    about: ClassVar = About(
        told=("T", "beta", "top", "its base"),
        rate="T^(beta/(beta+1)), sqrt(T) for beta < 1; of which bases that is proved: docs/theory/rivals.md",
        made_for=("still", "wear", "crashes", "late answers"),
        cost="that of its base",
    )
    presets: ClassVar = PRESETS
    restarts_when: ClassVar[str] = (
        "the losses of a block reach the threshold, which is more than they should come to if nothing changes; beneath "
        "each restart stands their sum"
    )
    settings_type: ClassVar = BlackboxSettings
    tried_with: ClassVar = (
        {"base": UCB(), "beta": 1.0},
        {"base": UCB(), "beta": 0.5, "preset": "published", "threshold": 0.02, "log_power": 1.0, "horizon": DOUBLING},
        {"base": Greedy(), "beta": "auto", "threshold": 0.1, "warm_start": True},
        {"base": UCB(), "beta": "auto", "threshold": 0.03, "top": "auto"},
    )

    base: Annotated[Base, of_kind(Base, "ma.UCB()")]
    beta: tails.Beta
    preset: str = "calibrated"
    threshold: Positive | None = None
    log_power: Annotated[float, checked_log_power] | None = None
    log_base: LogBase | None = None
    log_factor: Flag | None = None
    base_horizon: Annotated[str, among(("block", "run"))] | None = None
    top: tails.Top = 1.0
    horizon: Horizon = None
    warm_start: Flag | None = None

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; without a word on the warm start if it was left to the preset.

        So specs from before there was one keep their random streams.
        """
        values = super().to_json()
        if self.warm_start is None:
            del values["warm_start"]
        return values

    @property
    def block_horizon(self) -> bool:
        """Whether the base is told the length of the block."""
        return bool(self.chosen()["base_horizon"] == "block")

    def slots_for(self, beta: float, rounds: int) -> int:
        """The subsample of the largest block that can begin within ``rounds`` rounds."""
        rank = blocks.last_block_rank(rounds)
        horizon = blocks.assumed_horizon(self.known_horizon, 2 ** (rank + 2))
        betas = {beta}
        if isinstance(self.beta, str):
            # The log factor makes sizes smaller from 1 on, and just below it they are largest.
            betas |= {1.0, math.nextafter(1.0, 0.0)}
        return max(subsample_size(self.settings(), possible, rank, horizon) for possible in betas)

    def start_in(self, slots: int) -> BlackboxState:
        """A state with arrays for that many arms."""
        return BlackboxState(
            settings=self.settings(),
            base=self.base.start(slots),
            tail=tail_for(self.beta, self.top, slots),
            start=new_start(self.chosen()["warm_start"], slots),
            note=blocks.empty_note(),
        )

    def kept_arms(self, state: BlackboxState) -> NDArray[np.int64]:
        """The arms of the open block."""
        return np.sort(self.arms_in_slots(state))

    def arms_in_slots(self, state: BlackboxState) -> NDArray[np.int64]:
        """Those that stayed, and then the fresh ones."""
        arms = np.arange(state.first_arm, state.first_arm + state.block.size)
        if isinstance(state.start, WarmStart):
            arms[: state.start.stayed] = state.start.kept[: state.start.stayed]
        return arms

    def explain(self, state: BlackboxState) -> dict[str, Any]:
        """Where it stands, and the last restart: the block's losses against the threshold."""
        own = {
            "loss": state.loss,
            "threshold": float(limit_now(state)),
            "last_restart": blocks.read_note(state.note),
        }
        return blocks.explained_block(state) | own | tails.explained(state.tail, float(state.block.rank))


@kernel
def subsample_size(settings: BlackboxSettings, beta: float, rank: int, horizon: float) -> int:
    """S_m = ceil(2^(m beta / (beta + 1))), or ceil(2^(m beta / 2)) for beta < 1; at most 2^m."""
    size = power(2.0, rank * (beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0))
    if settings.log_factor:
        size *= power(logarithm(horizon, settings.log_base), 1.0 / (beta + 1.0) if beta >= 1.0 else 1.0)
    return max(blocks.rounded_up(min(size, float(1 << rank))), 1)


@kernel
def restart_limit(settings: BlackboxSettings, rank: int, size: int, horizon: float) -> float:
    """C_1 max(|A_m|, 2^(m/2)) log^3 T."""
    scale = max(float(size), math.sqrt(float(1 << rank)))
    return float(settings.threshold * scale * power(logarithm(horizon, settings.log_base), settings.log_power))


@kernel
def open_block(state: BlackboxState, rank: int, start: ColdStart | WarmStart) -> BlackboxState:
    """Block ``rank`` of the episode: fresh arms beside those that stayed, for a new instance of the base."""
    length = 1 << rank
    settings = state.settings
    block = blocks.next_block(state.block, rank, length, 0)
    horizon = blocks.assumed_horizon(settings.horizon, block.opened + length)
    kept = stayed(start)
    wanted = max(subsample_size(settings, tails.beta_for(state.tail, float(rank)), rank, horizon), kept)
    tail, size = tails.fitted(state.tail, wanted)
    base_horizon = float(length) if settings.block_horizon else horizon
    for slot in range(kept, size):
        tails.watch_fresh_arm(state.tail, slot)
    base = renew(state.base, size, base_horizon, logarithm(base_horizon, settings.log_base))
    return replaced(
        state,
        base=keyed(base, state.key),
        tail=tails.opened(tail, size),
        start=start,
        first_arm=state.counts.arms - kept,
        block=replaced(block, size=size),
        limit=restart_limit(settings, rank, size, horizon),
        loss=0.0,
        awaited=0,
        most_awaited=0,
        counts=blocks.with_block(state.counts, size - kept),
    )


def begin_blackbox(state: BlackboxState, key: int) -> BlackboxState:
    """The first block of the first episode."""
    state.note[:] = np.nan
    clean = replaced(state, key=key, tail=begin(state.tail, key), block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS)
    return open_block(clean, 1, without_arms(state.start))


def ask(state: BlackboxState, round: int) -> Choice:
    """Whatever the base picks."""
    slot, probability = pick(state.base, state.key, round)
    arm = arm_in(state.start, state.first_arm, slot)
    return Choice(slot=slot, arm=arm, probability=probability, block=state.counts.blocks, round=round)


def ask_among(state: BlackboxState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The best allowed arm, as the base has it."""
    choice = blocks.ask_the_base_among(state, round, allowed, has_fresh)
    if choice.slot < 0:
        return choice
    return replaced(choice, arm=arm_in(state.start, state.first_arm, choice.slot))


def recommend(state: BlackboxState, round: int) -> Choice:
    """The arm that the base has played most in this block."""
    choice = blocks.recommend_of_base(state, round)
    return replaced(choice, arm=arm_in(state.start, state.first_arm, choice.slot))


def tell(state: BlackboxState, choice: Choice, reward: float) -> BlackboxState:
    """Let the base learn, sum the losses, and go on, open the next block, or restart."""
    told = replaced(
        state,
        tail=tails.watch_reward(state.tail, choice.slot, reward),
        base=base_learns(state.base, choice, reward),
        loss=state.loss + (top_now(state) - reward),
        block=blocks.after_round(state.block),
    )
    return after_block(told) if rarely(has_lost_too_much(told) | (told.block.left == 0)) else told


def defer(state: BlackboxState, choice: Choice) -> tuple[BlackboxState, float]:
    """An open ask is a round of its block, and for the base a play that paid what it expects."""
    base, presumed = blocks.base_after_ask(state.base, choice)
    awaited = state.awaited + 1
    deferred = replaced(
        state,
        base=base,
        block=blocks.after_round(state.block),
        awaited=awaited,
        most_awaited=max(awaited, state.most_awaited),
    )
    return after_block(deferred) if rarely(deferred.block.left == 0) else deferred, presumed


def settle(state: BlackboxState, choice: Choice, presumed: float, reward: float) -> BlackboxState:
    """A reward of the open block replaces what was presumed; the base may also learn of an arm that stayed since."""
    if choice.block != state.counts.blocks:
        slot = slot_in(state.start, state.first_arm, choice.arm)
        if slot < 0:
            return replaced(state, counts=blocks.with_ignored(state.counts))
        base = base_learns(state.base, replaced(choice, slot=slot), reward)
        return replaced(state, tail=tails.watch_reward(state.tail, slot, reward), base=base)
    told = replaced(
        state,
        tail=tails.watch_reward(state.tail, choice.slot, reward),
        base=blocks.base_after_answer(state.base, choice, presumed, reward),
        loss=state.loss + (top_now(state) - reward),
        awaited=state.awaited - 1,
    )
    return after_block(told) if has_lost_too_much(told) else told


def lose(state: BlackboxState, choice: Choice, presumed: float) -> BlackboxState:
    """Take back what was presumed."""
    if choice.block != state.counts.blocks:
        return state
    base = blocks.base_after_silence(state.base, choice, presumed)
    return replaced(state, base=base, awaited=state.awaited - 1)


def correct(state: BlackboxState, choice: Choice, told: float, reward: float) -> BlackboxState:
    """Take back what was told, if its block is open: with the next one the base forgets all."""
    if choice.block != state.counts.blocks:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    base = blocks.base_after_answer(state.base, choice, told, reward)
    corrected = replaced(state, base=base, loss=state.loss + (told - reward))
    return after_block(corrected) if has_lost_too_much(corrected) else corrected


@kernel
def top_now(state: BlackboxState) -> Any:
    """The mean from which losses are counted."""
    return tails.top_of(state.tail, state.settings.top)


@kernel
def limit_now(state: BlackboxState) -> Any:
    """What the block may lose in as many rounds, but for what late answers cost."""
    block = state.block
    return tails.limited(state.tail, state.limit, block.length - block.left, block.length)


@kernel
def has_lost_too_much(state: BlackboxState) -> Any:
    """Whether the losses of the block reach the limit, beside what late answers cost: a loss for each that was out."""
    return state.loss >= limit_now(state) + state.most_awaited


@kernel
def after_block(state: BlackboxState) -> BlackboxState:
    """The next block, or the first one of an episode if this one has lost too much."""
    restarts = has_lost_too_much(state)
    counts = state.counts
    if restarts:
        blocks.write_note(state.note, state.block, state.loss, limit_now(state) + state.most_awaited)
        counts = blocks.with_restart(counts)
    tail = tails.closed(state.tail, state.block.size)
    start = without_arms(state.start) if restarts else with_good_arms(state.start, state)
    return open_block(replaced(state, tail=tail, counts=counts), 1 if restarts else state.block.rank + 1, start)


def follow(state: BlackboxState, world: Any) -> BlackboxState:
    """Let the world follow the arms that stayed."""
    return replaced(state, start=followed(state.start, world))


blocks.register_policy(
    BlackboxState,
    is_cramped=tails.is_too_small,
    begin=begin_blackbox,
    ask=ask,
    ask_among=ask_among,
    recommend=recommend,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
    correct=correct,
    follow=follow,
)


# ---------------------------------------------------------------- cold and warm starts

# arm_in(start, first_arm, slot) -> the arm in a slot.
arm_in = verb("arm_in")
# slot_in(start, first_arm, arm) -> the slot of an arm that was drawn before, or -1.
slot_in = verb("slot_in")
# stayed(start) -> how many arms stayed when the block was opened.
stayed = verb("stayed")
# without_arms(start) -> start. None stays.
without_arms = verb("without_arms")
# with_good_arms(start, state) -> start. Those stay that had at least their share of the block's plays.
with_good_arms = verb("with_good_arms")
# followed(start, world) -> start. Let the world follow the arms that stayed.
followed = verb("followed")


def new_start(is_warm: bool, slots: int) -> ColdStart | WarmStart:
    """What is needed for the one or the other."""
    if not is_warm:
        return ColdStart()
    kept, sources = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)
    return WarmStart(kept=kept, sources=sources)


register(
    ColdStart,
    arm_in=lambda start, first_arm, slot: first_arm + slot,
    slot_in=lambda start, first_arm, arm: max(arm - first_arm, -1),
    stayed=lambda start: 0,
    without_arms=lambda start: start,
    with_good_arms=lambda start, state: start,
    followed=lambda start, world: start,
)


def warm_arm_in(start: WarmStart, first_arm: int, slot: int) -> int:
    """Those that stayed come first."""
    arm = first_arm + slot
    if slot < start.stayed:
        arm = start.kept[slot]
    return arm


def warm_slot_in(start: WarmStart, first_arm: int, arm: int) -> int:
    """Those that stayed come first; they are older than all others."""
    slot = arm - first_arm
    return slot if slot >= start.stayed else place_in(start.kept, start.stayed, arm)


def bring_good_arms(start: WarmStart, state: BlackboxState) -> WarmStart:
    """Bring the arms with at least their share of the plays into the first slots, in order."""
    kept = 0
    for slot in range(state.block.size):
        if plays_of(state.base, slot) * state.block.size >= state.block.length:
            tails.watch_moved_arm(state.tail, slot, kept)
            start.kept[kept] = arm_in(start, state.first_arm, slot)
            start.sources[kept] = slot
            kept += 1
    return replaced(start, stayed=kept, moving=kept)


def world_follows(start: WarmStart, world: Any) -> WarmStart:
    """In order, since none goes to a slot above its own."""
    if rarely(start.moving > 0):
        for target in range(start.moving):
            if start.sources[target] != target:
                relocate(world, start.sources[target], target)
    return replaced(start, moving=0)


register(
    WarmStart,
    arm_in=warm_arm_in,
    slot_in=warm_slot_in,
    stayed=lambda start: start.stayed,
    without_arms=lambda start: replaced(start, stayed=0, moving=0),
    with_good_arms=bring_good_arms,
    followed=world_follows,
)
