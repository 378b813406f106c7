"""UCBTASW: one arm at a time, dropped when a recent stretch of it falls short of a threshold that is known to be right.

Keep an arm as long as the means of its last 1, 2, 4, … rewards, each with the benefit of the doubt, reach
top - delta; then take a fresh one. How large delta should be follows from how much arms change in all, or how often:
this policy is told. `AUCBTASW` is the one that is not.

Source: Kim, Vojnović & Yun, "An Adaptive Approach for Infinitely Many-armed Bandits under
Generalized Rotting Constraints" (NeurIPS 2024, arXiv:2404.14202), Algorithm 1: UCBT-ASW, with the thresholds
for which its bounds are stated.

Symbols: T -> horizon; V_T -> variation; S_T -> changes + 1; delta -> delta (spec), top - state.level;
12 -> width (spec); log -> natural_log.

Deviations: without a horizon, the run is cut into blocks of 2, 4, 8, … rounds, each with a fresh arm and the
threshold of its own length (the doubling trick), under all of the variation and changes. A known horizon that
has passed changes nothing. A horizon of 1 counts as 2, so that log T is not 0. With ``beta="auto"`` beta is estimated
anew whenever a fresh arm is drawn (`policies.tail`), on the safe side, and the threshold follows.

A window may begin anywhere in an arm's life, so all its rewards have to be kept: unlike the other policies, this one
needs room for as many numbers as there are rounds.
"""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import binary_log, natural_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, register
from ..specs import count, fraction, number, positive
from .base import (
    DOUBLING,
    NO_BLOCK,
    NOTHING,
    Block,
    Policy,
    Tally,
    block_counts,
    checked_horizon,
    horizon_number,
    last_block_rank,
    observe_nothing,
)
from .tail import (
    Tail,
    begin_tail,
    cautious_beta,
    checked_beta,
    explained,
    first_beta,
    new_tail,
    watch_fresh_arm,
    watch_reward,
)

WINDOWS = 32
"""Of 1, 2, 4, … rewards: no run has more than 2^31 rounds."""

# ---------------------------------------------------------------- windows, which AUCBTASW uses too


@kernel
def fill_bonuses(bonuses: Any, width: float, log_rounds: float) -> None:
    """The benefit of the doubt: sqrt(width · log_rounds / w) for the mean of the last w = 1, 2, 4, … rewards."""
    window = 1
    for place in range(bonuses.size):
        bonuses[place] = math.sqrt(width * log_rounds / window)
        window *= 2


@kernel
def falls_short(sums: Any, bonuses: Any, level: float, plays: int) -> bool:
    """Whether the mean of the last 1, 2, 4, … rewards and its bonus is below the level for some of these windows.

    ``sums``: n -> sum of the arm's first n rewards, up to n = plays.
    """
    window = 1
    share = 1.0  # 1 / window
    place = 0
    while window <= plays:
        mean = (sums[plays] - sums[plays - window]) * share
        if mean + bonuses[place] < level:
            return True
        window *= 2
        share *= 0.5
        place += 1
    return False


# ---------------------------------------------------------------- the policy


class UCBTASWSettings(NamedTuple):
    """The spec in numbers; none but an estimated beta ever changes."""

    beta: float
    variation: float  # V_T; -1: not told
    changes: float  # S_T - 1; -1: not told
    delta: float  # -1: from the two above
    width: float
    top: float
    horizon: int  # 0: unknown


class UCBTASWState(NamedTuple):
    """A run of the algorithm."""

    settings: UCBTASWSettings
    tail: Tail  # what is known of beta
    sums: NDArray[np.float64]  # n -> sum of the arm's first n rewards
    bonuses: NDArray[np.float64]  # k -> what is added to the mean of the last 2^k rewards
    block: Block
    rounds_left: int  # in this block
    level: float  # top - delta: an arm below this is dropped
    arm: int  # the arm in play
    plays: int  # how many of its rewards have come
    tally: Tally


@dataclasses.dataclass(frozen=True)
class UCBTASW(Policy):
    """One arm at a time under a threshold that fits the known changes (Kim, Vojnović & Yun, Algorithm 1).

    Tell it ``variation`` or ``changes``, or both, of which the smaller threshold counts; or ``delta`` itself.

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated as the run goes.
    variation
        V, by how much all played means fall in the whole run.
    changes
        How often a played mean falls in the whole run: the source's S is one more.
    delta
        The threshold, in place of the one that follows from these.
    width
        An arm is dropped when the mean of its last w rewards, w = 1, 2, 4, …, is below top - delta
        by more than sqrt(width · log T / w). 12 is made for noise of unit scale.
    top
        The mean from which the threshold is counted.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own threshold.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate=1e-4))
    >>> policies = {"as in the source": ma.UCBTASW(beta=1.0, variation=1.0),
    ...             "for small noise": ma.UCBTASW(beta=1.0, variation=1.0, width=0.5)}
    >>> result = ma.simulate(policies, world, horizon=10_000, replications=10, seed=1)
    >>> regret = [result.final_regret(name).mean() for name in policies]
    >>> bool(1000 < regret[1] < regret[0] < 5000)
    True
    """

    beta: float | str
    variation: float | None = None
    changes: int | None = None
    delta: float | None = None
    width: float = 12.0
    top: float = 1.0
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(beta=1.0, variation=1.0, width=0.1),
            cls(beta=0.5, changes=3, width=0.3, horizon=DOUBLING),
            cls(beta="auto", variation=1.0, width=0.1),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checked_beta("UCBTASW", self.beta))
        if self.variation is None and self.changes is None and self.delta is None:
            raise ValueError("UCBTASW: tell it variation or changes, or delta; AUCBTASW needs none of them")
        if self.variation is not None:
            object.__setattr__(self, "variation", number("UCBTASW", "variation", self.variation))
            if self.variation < 0.0:
                raise ValueError(f"UCBTASW: variation must be at least 0, not {self.variation!r}")
        if self.changes is not None:
            object.__setattr__(self, "changes", count("UCBTASW", "changes", self.changes, least=0))
        if self.delta is not None:
            object.__setattr__(self, "delta", fraction("UCBTASW", "delta", self.delta))
        object.__setattr__(self, "width", positive("UCBTASW", "width", self.width))
        object.__setattr__(self, "top", fraction("UCBTASW", "top", self.top))
        object.__setattr__(self, "horizon", checked_horizon("UCBTASW", self.horizon))
        new_tail("UCBTASW", self.beta, 1, self.top)

    def settings(self) -> UCBTASWSettings:
        """The spec in numbers."""
        return UCBTASWSettings(
            beta=first_beta(self.beta),
            variation=-1.0 if self.variation is None else self.variation,
            changes=-1.0 if self.changes is None else float(self.changes),
            delta=-1.0 if self.delta is None else self.delta,
            width=self.width,
            top=self.top,
            horizon=horizon_number(self.horizon),
        )

    def slots(self, rounds: int) -> int:
        """One: the arm in play."""
        return 1

    def start(self, rounds: int) -> UCBTASWState:
        """A state with room for an arm that is played in all rounds of the longest block."""
        longest = rounds
        if horizon_number(self.horizon) == 0:
            longest = min(rounds, 2 ** last_block_rank(rounds))
        return UCBTASWState(
            settings=self.settings(),
            tail=new_tail("UCBTASW", self.beta, 1, self.top),
            sums=np.zeros(longest + 1),
            bonuses=np.zeros(WINDOWS),
            block=NO_BLOCK,
            rounds_left=0,
            level=0.0,
            arm=0,
            plays=0,
            tally=NOTHING,
        )

    def kept_arms(self, state: UCBTASWState) -> NDArray[np.int64]:
        """The arm in play."""
        return np.array([state.arm], dtype=np.int64)

    def explain(self, state: UCBTASWState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": max(state.rounds_left, 0),
            "arms": 1,
            "plays_of_arm": state.plays,
            "threshold": state.settings.top - state.level,
            "last_restart": None,
        } | explained(state.tail, binary_log(float(state.block.length)))


@kernel
def threshold_for(settings: UCBTASWSettings, rounds: float) -> float:
    """The least of what is told: delta; delta_V of the variation; delta_S of the number of changes.

    delta_V = max((V / T)^(1 / (b + 2)), T^(-1 / (b + 1))) and delta_S = (S / T)^(1 / (b + 1)), with b = beta or 1,
    whichever is larger.
    """
    if settings.delta >= 0.0:
        return settings.delta
    b = max(settings.beta, 1.0)
    delta = 1.0
    if settings.variation >= 0.0:
        follow_changes = power(settings.variation / rounds, 1.0 / (b + 2.0))
        delta = min(delta, max(follow_changes, power(rounds, -1.0 / (b + 1.0))))
    if settings.changes >= 0.0:
        delta = min(delta, power((settings.changes + 1.0) / rounds, 1.0 / (b + 1.0)))
    return delta


@kernel
def settings_for(state: UCBTASWState, rounds: float) -> UCBTASWSettings:
    """The settings, with the present estimate of beta for that many rounds."""
    settings = state.settings
    if state.tail.levels == 0:
        return settings
    return replaced(settings, beta=cautious_beta(state.tail, binary_log(rounds)))


@kernel
def open_block(state: UCBTASWState, rank: int, opened: int, tally: Tally) -> UCBTASWState:
    """A fresh arm and the threshold: for the whole run if its length is known, else for the next doubling block."""
    length = 1 << rank
    if state.settings.horizon > 0:
        length = state.settings.horizon
    rounds = float(max(length, 2))
    settings = settings_for(state, rounds)
    fill_bonuses(state.bonuses, settings.width, natural_log(rounds))
    state.sums[0] = 0.0
    watch_fresh_arm(state.tail, 0)
    return replaced(
        state,
        settings=settings,
        block=Block(number=state.block.number + 1, rank=rank, length=length, size=1, opened=opened),
        rounds_left=length,
        level=settings.top - threshold_for(settings, rounds),
        arm=tally.arms,
        plays=0,
        tally=replaced(tally, restarts=0, arms=tally.arms + 1),
    )


def begin(state: UCBTASWState, key: int) -> UCBTASWState:
    """The first block."""
    begin_tail(state.tail)
    clean = replaced(
        state,
        block=NO_BLOCK,
        rounds_left=0,
        level=0.0,
        arm=0,
        plays=0,
        tally=NOTHING,
    )
    return open_block(clean, 1, 0, clean.tally)


def ask(state: UCBTASWState, round: int, waiting: int) -> Choice:
    """The arm in play."""
    return Choice(slot=0, arm=state.arm, probability=1.0, block=state.block.number, round=round)


def tell(state: UCBTASWState, choice: Choice, reward: float) -> UCBTASWState:
    """Add the reward; go on with the arm or a fresh one."""
    tally = state.tally
    rounds_left = state.rounds_left
    arm = state.arm
    plays = state.plays
    settings = state.settings
    level = state.level
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, restarts=0, ignored=tally.ignored + 1)
    else:
        rounds_left -= 1
        if choice.arm == arm:
            watch_reward(state.tail, 0, reward)
        if rarely(rounds_left == 0) and settings.horizon == 0:
            return open_block(state, state.block.rank + 1, state.block.opened + state.block.length, tally)
        if choice.arm == arm:  # a late reward may belong to an arm that is dropped already
            plays += 1
            state.sums[plays] = state.sums[plays - 1] + reward
            if rarely(falls_short(state.sums, state.bonuses, level, plays)):
                arm = tally.arms
                plays = 0
                tally = replaced(tally, restarts=0, arms=tally.arms + 1)
                if state.tail.levels > 0:
                    rounds = float(max(state.block.length, 2))
                    watch_fresh_arm(state.tail, 0)
                    settings = settings_for(state, rounds)
                    level = settings.top - threshold_for(settings, rounds)
    return replaced(state, settings=settings, rounds_left=rounds_left, level=level, arm=arm, plays=plays, tally=tally)


def counts(state: UCBTASWState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(UCBTASWState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe_nothing)
