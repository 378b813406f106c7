"""Blackbox: any finite-armed base, made to track infinitely many changing arms.

Run the base on a subsample of arms for a block of rounds; blocks double, each with a new
subsample and a new base. The losses of a block are summed as they come: as long as they stay
below what a stationary world would cost, all is well. When they exceed it, something changed:
restart from the smallest block.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 1,
with the subsampling rates of its Theorem 1.

Symbols: m -> block.rank; A_m -> the slots 0 … block.size - 1; S_m -> subsample_size;
C_1 -> threshold (spec), restart_threshold; log -> logarithm to log_base;
delta-hat -> top - reward; l -> tally.restarts + 1.

Deviations: ``log_factor`` and ``base_horizon`` (as in the paper by default) reproduce the
settings behind the published figure. Without a horizon, log T is taken of the power of two
that covers the end of the block. Blocks go on beyond m = ceil(log T). A horizon of 1 counts as 2,
so that its logarithm is not 0. ``warm_start`` (off in the paper, on in the calibrated preset) lets the arms that the
base has played at least their share of a block, its length / its arms, stay in the next one's subsample, which
fresh arms fill up; the base forgets all. ``beta="auto"`` estimates beta anew for every block (`policies.tail`); should
that make the subsample smaller than such arms are many, they all stay.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import power
from ..bases.base import Base
from ..bases.greedy import Greedy
from ..bases.ucb import UCB
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, learn, pick, register, relocate, renew
from ..specs import flag, fraction, number, positive
from ..streams import UNSET_KEY
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
    "paper": {
        "threshold": 1.0,
        "log_power": 3.0,
        "log_base": 2.0,
        "log_factor": False,
        "base_horizon": "block",
        "warm_start": False,
    },
    # The settings behind the published figure.
    "published": {
        "threshold": 1.0,
        "log_power": 3.0,
        "log_base": math.e,
        "log_factor": True,
        "base_horizon": "run",
        "warm_start": False,
    },
    # The choice of verification/calibration.py, written up in docs/calibration.md.
    "calibrated": {
        "threshold": 0.5,
        "log_power": 1.0,
        "log_base": 2.0,
        "log_factor": False,
        "base_horizon": "block",
        "warm_start": True,
    },
}


class BlackboxSettings(NamedTuple):
    """The spec in numbers; none but what follows from an estimated beta ever changes."""

    rate: float  # beta / (beta + 1), or beta / 2 for beta < 1
    constant: float  # C_1
    log_power: float
    log_base: float
    log_factor_power: float  # of log T in the subsample; 0: no such factor
    block_horizon: bool  # whether the base is told the length of the block, not of the run
    warm_start: bool
    top: float
    horizon: int  # 0: unknown


class BlackboxState(NamedTuple):
    """A run of the algorithm."""

    settings: BlackboxSettings
    base: Any
    key: int  # of the policy's random stream
    tail: Tail  # what is known of beta
    plays: NDArray[np.int64]  # slot -> plays in this block, if a warm start needs them
    kept: NDArray[np.int64]  # slot -> arm, for the arms that stayed: those of the first slots
    sources: NDArray[np.int64]  # slot -> where its arm was before, for the same
    stayed: int  # how many arms stayed when this block was opened
    moving: int  # how many of them the world has not followed yet
    first_arm: int  # slot s holds arm first_arm + s, unless it stayed
    note: NDArray[np.float64]  # why the last restart happened
    block: Block
    threshold: float  # losses of a block that trigger a restart
    loss: float  # of this block
    rounds_left: int  # in this block
    tally: Tally


@dataclasses.dataclass(frozen=True)
class Blackbox(Policy):
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
        The mean from which losses are counted.
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
    """

    restarts_when: ClassVar[str] = (
        "the losses of a block reach the threshold, which is more than they should come to if nothing changes; beneath "
        "each restart stands their sum"
    )

    base: Base
    beta: float | str
    preset: str = "calibrated"
    threshold: float | None = None
    log_power: float | None = None
    log_base: float | str | None = None
    log_factor: bool | None = None
    base_horizon: str | None = None
    top: float = 1.0
    horizon: int | str | None = None
    warm_start: bool | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(base=UCB(), beta=1.0),
            cls(base=UCB(), beta=0.5, preset="published", threshold=0.02, log_power=1.0, horizon=DOUBLING),
            cls(base=Greedy(), beta="auto", threshold=0.1, warm_start=True),
        )

    def __post_init__(self) -> None:
        if not isinstance(self.base, Base):
            raise TypeError(f"Blackbox: base must be a base such as ma.UCB(), not {self.base!r}")
        object.__setattr__(self, "beta", checked_beta("Blackbox", self.beta))
        object.__setattr__(self, "top", fraction("Blackbox", "top", self.top))
        object.__setattr__(self, "horizon", checked_horizon("Blackbox", self.horizon))
        store_numbers(self, "threshold", "log_power", "log_base")
        self.settings()
        new_tail("Blackbox", self.beta, 1, self.top)

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; without a word on the warm start if it was left to the preset.

        So specs from before there was one keep their random streams.
        """
        values = super().to_json()
        if self.warm_start is None:
            del values["warm_start"]
        return values

    def settings(self, beta: float | None = None) -> BlackboxSettings:
        """The preset with this spec's own keywords put over it; for another beta on request."""
        beta = first_beta(self.beta) if beta is None else beta
        given = {name: getattr(self, name) for name in PRESETS["paper"]}
        chosen = from_preset("Blackbox", PRESETS, self.preset, given)
        log_factor = flag("Blackbox", "log_factor", chosen["log_factor"])
        if chosen["base_horizon"] not in ("block", "run"):
            raise ValueError(f"Blackbox: base_horizon must be 'block' or 'run', not {chosen['base_horizon']!r}")
        return BlackboxSettings(
            rate=rate_of(beta),
            constant=positive("Blackbox", "threshold", chosen["threshold"]),
            log_power=checked_log_power(chosen["log_power"]),
            log_base=checked_log_base("Blackbox", chosen["log_base"]),
            log_factor_power=log_factor_power_of(beta) if log_factor else 0.0,
            block_horizon=chosen["base_horizon"] == "block",
            warm_start=flag("Blackbox", "warm_start", chosen["warm_start"]),
            top=self.top,
            horizon=horizon_number(self.horizon),
        )

    def slots(self, rounds: int) -> int:
        """The subsample of the largest block that can begin within ``rounds`` rounds."""
        rank = last_block_rank(rounds)
        horizon = assumed_horizon(horizon_number(self.horizon), 2 ** (rank + 2))
        betas = {largest_beta(self.beta)}
        if isinstance(self.beta, str):
            # The log factor makes sizes smaller from 1 on, and just below it they are largest.
            betas |= {1.0, math.nextafter(1.0, 0.0)}
        return max(subsample_size(self.settings(beta), rank, horizon) for beta in betas)

    def start(self, rounds: int) -> BlackboxState:
        """A state with arrays for ``rounds`` rounds."""
        settings = self.settings()
        slots = self.slots(rounds)
        kept = slots if settings.warm_start else 1
        return BlackboxState(
            settings=settings,
            base=self.base.start(slots),
            key=UNSET_KEY,
            tail=new_tail("Blackbox", self.beta, slots, self.top),
            plays=np.zeros(kept, dtype=np.int64),
            kept=np.zeros(kept, dtype=np.int64),
            sources=np.zeros(kept, dtype=np.int64),
            stayed=0,
            moving=0,
            first_arm=0,
            note=empty_note(),
            block=NO_BLOCK,
            threshold=0.0,
            loss=0.0,
            rounds_left=0,
            tally=NOTHING,
        )

    def kept_arms(self, state: BlackboxState) -> NDArray[np.int64]:
        """The arms of the open block."""
        fresh = np.arange(state.first_arm + state.stayed, state.first_arm + state.block.size)
        return np.concatenate([np.sort(state.kept[: state.stayed]), fresh])

    def explain(self, state: BlackboxState) -> dict[str, Any]:
        """Where it stands, and the last restart: the block's losses against the threshold."""
        return {
            "episode": state.tally.restarts + 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": state.rounds_left,
            "arms": state.block.size,
            "loss": state.loss,
            "threshold": state.threshold,
            "last_restart": read_note(state.note),
        } | explained(state.tail, float(state.block.rank))


def checked_log_power(log_power: object) -> float:
    """A power of the logarithm, within reason."""
    value = number("Blackbox", "log_power", log_power)
    if not 0.0 <= value <= 10.0:
        raise ValueError(f"Blackbox: log_power must lie in [0, 10], not {log_power!r}; the paper's is 3")
    return value


@kernel
def rate_of(beta: float) -> float:
    """The exponent of the subsample."""
    return beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0


@kernel
def log_factor_power_of(beta: float) -> float:
    """The power of log T in the subsample, where it has that factor."""
    return 1.0 / (beta + 1.0) if beta >= 1.0 else 1.0


@kernel
def settings_for(state: BlackboxState, rank: int) -> BlackboxSettings:
    """The settings, with the present estimate of beta for a block of this rank."""
    settings = state.settings
    if state.tail.levels == 0:
        return settings
    beta = estimated_beta(state.tail, float(rank))
    return replaced(
        settings,
        rate=rate_of(beta),
        log_factor_power=log_factor_power_of(beta) if settings.log_factor_power > 0.0 else 0.0,
    )


@kernel
def arm_in(state: BlackboxState, slot: int) -> int:
    """The arm in a slot."""
    arm = state.first_arm + slot
    if slot < state.stayed:
        arm = state.kept[slot]
    return arm


@kernel
def keep_good_arms(state: BlackboxState) -> int:
    """Bring the arms with at least their share of the plays into the first slots, in order; return how many."""
    stayed = 0
    for slot in range(state.block.size):
        if state.plays[slot] * state.block.size >= state.block.length:
            watch_moved_arm(state.tail, slot, stayed)
            state.kept[stayed] = arm_in(state, slot)
            state.sources[stayed] = slot
            stayed += 1
    return stayed


@kernel
def subsample_size(settings: BlackboxSettings, rank: int, horizon: float) -> int:
    """S_m = ceil(2^(m beta / (beta + 1))), or ceil(2^(m beta / 2)) for beta < 1; at most 2^m."""
    size = power(2.0, rank * settings.rate)
    if settings.log_factor_power > 0.0:
        size *= power(logarithm(horizon, settings.log_base), settings.log_factor_power)
    return max(rounded_up(min(size, float(1 << rank))), 1)


@kernel
def restart_threshold(settings: BlackboxSettings, rank: int, size: int, horizon: float) -> float:
    """C_1 max(|A_m|, 2^(m/2)) log^3 T."""
    scale = max(float(size), math.sqrt(float(1 << rank)))
    return float(settings.constant * scale * power(logarithm(horizon, settings.log_base), settings.log_power))


@kernel
def open_block(state: BlackboxState, rank: int, opened: int, stayed: int, tally: Tally) -> BlackboxState:
    """Block ``rank`` of the episode: so many arms stayed, fresh ones fill it up, for a new instance of the base."""
    length = 1 << rank
    settings = settings_for(state, rank)
    horizon = assumed_horizon(settings.horizon, opened + length)
    size = max(subsample_size(settings, rank, horizon), stayed)
    base_horizon = float(length) if settings.block_horizon else horizon
    log_horizon = logarithm(base_horizon, settings.log_base)
    if settings.warm_start:
        for slot in range(size):
            state.plays[slot] = 0
    if state.tail.levels > 0:
        for slot in range(stayed, size):
            watch_fresh_arm(state.tail, slot)
    return replaced(
        state,
        settings=settings,
        base=renew(state.base, size, base_horizon, log_horizon),
        stayed=stayed,
        moving=stayed,
        first_arm=tally.arms - stayed,
        block=Block(number=state.block.number + 1, rank=rank, length=length, size=size, opened=opened),
        threshold=restart_threshold(settings, rank, size, horizon),
        loss=0.0,
        rounds_left=length,
        tally=replaced(tally, arms=tally.arms + size - stayed),
    )


def begin(state: BlackboxState, key: int) -> BlackboxState:
    """The first block of the first episode."""
    state.note[:] = np.nan
    begin_tail(state.tail)
    clean = replaced(
        state,
        key=key,
        stayed=0,
        moving=0,
        first_arm=0,
        block=NO_BLOCK,
        threshold=0.0,
        loss=0.0,
        rounds_left=0,
        tally=NOTHING,
    )
    return open_block(clean, 1, 0, 0, clean.tally)


def ask(state: BlackboxState, round: int, waiting: int) -> Choice:
    """Whatever the base picks."""
    slot, probability = pick(state.base, state.key, round, waiting)
    return Choice(
        slot=slot,
        arm=arm_in(state, slot),
        probability=probability,
        block=state.block.number,
        round=round,
    )


def tell(state: BlackboxState, choice: Choice, reward: float) -> BlackboxState:
    """Let the base learn, sum the losses, and go on, open the next block, or restart."""
    base = state.base
    loss = state.loss
    rounds_left = state.rounds_left
    tally = state.tally
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, ignored=tally.ignored + 1)
    else:
        base = learn(base, choice, reward)
        watch_reward(state.tail, choice.slot, reward)
        if state.settings.warm_start:
            state.plays[choice.slot] += 1
        loss += state.settings.top - reward
        rounds_left -= 1
        restart = loss >= state.threshold
        if rarely(restart or rounds_left == 0):
            rank = state.block.rank + 1
            stayed = 0
            if restart:
                write_note(state.note, state.block, state.block.length - rounds_left, loss, state.threshold)
                rank = 1
                tally = replaced(tally, restarts=tally.restarts + 1)
            elif state.settings.warm_start:
                stayed = keep_good_arms(state)
            return open_block(state, rank, state.block.opened + state.block.length - rounds_left, stayed, tally)
    return replaced(state, base=base, moving=0, loss=loss, rounds_left=rounds_left, tally=tally)


def observe(state: BlackboxState, world: Any, choice: Choice) -> BlackboxState:
    """Let the world follow the arms that stayed: in order, since none goes to a slot above its own."""
    if rarely(state.moving > 0):
        for target in range(state.moving):
            if state.sources[target] != target:
                relocate(world, state.sources[target], target)
    return state


def counts(state: BlackboxState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(BlackboxState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe)
