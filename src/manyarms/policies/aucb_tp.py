"""AUCBTP: UCBTP for arms that wear at an unknown rate: the run is cut into blocks, and EXP3 learns which rate pays.

Each block plays `UCBTP` as if arms wore by rho with every play, where rho is drawn from 1/8, 1/16, 1/32, …
What the block earns tells EXP3 how good that was.

Source: Kim, Vojnović & Yun, "Rotting Infinitely Many-Armed Bandits" (ICML 2022, arXiv:2201.12975), Algorithm 2:
AUCB-TP, as the authors' released code has it: the grid, N_0, and that the arm in play is carried into the next block.
The text itself was not at hand, beyond its abstract.

Symbols: those of `policies.ucb_tp` and `policies.exp3`; beta_j = 2^-(j+3) -> rate_of;
delta = beta_j^(1/3) -> threshold_of; 186 -> scale (spec).

Deviations: at least one rate, where the code has none for H = 2. Without a horizon, the run is cut into periods of
2, 4, 8, … rounds, each with its own H and fresh weights (the doubling trick). A known horizon that has passed changes
nothing: blocks go on. A horizon of 1 counts as 2.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..contract import tell as told_policy
from ..specs import Fraction, Positive
from ..streams import UNSET_KEY, bits_at
from . import blocks
from .base import DOUBLING, Horizon, OneArmPolicy
from .exp3 import (
    NO_PERIOD,
    Period,
    credit,
    drawn_threshold,
    forget_weights,
    length_of_blocks,
    mixing_for,
    rounds_of_period,
)
from .ucb_tp import worn_index


class AUCBTPSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    width: float
    scale: float
    top: float
    horizon: int = 0  # 0: unknown


class AUCBTPState(NamedTuple):
    """A run of the algorithm."""

    settings: AUCBTPSettings
    log_weights: NDArray[np.float64]  # j -> log of the weight of rate j
    key: int = UNSET_KEY  # of the policy's random stream
    period: Period = NO_PERIOD
    doubt: float = 0.0  # width · log T of this period
    block: blocks.Block = blocks.NO_BLOCK
    place: int = 0  # j: which rate the block plays with
    probability: float = 0.0  # with which it was drawn
    rotting: float = 0.0  # the rate
    level: float = 0.0  # top - delta: an arm below this is dropped
    earned: float = 0.0  # in this block
    arm: int = 0  # the arm in play
    plays: int = 0  # how many of its rewards have come in this block
    total: float = 0.0  # and what they sum up to
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class AUCBTP(OneArmPolicy):
    """One arm at a time under a rate of wear that EXP3 chooses (Kim, Vojnović & Yun 2022, Algorithm 2).

    Parameters
    ----------
    width
        The benefit of the doubt of an arm with n plays in its block is sqrt(width · log T / n). 8 is made for noise of
        unit scale.
    scale
        EXP3 divides the rewards of a block by N_0 = scale · H · log T + 4 sqrt(H · log T). With the authors' 186 it
        hardly learns: rewards up to 1 sum to at most 1 / 2,000 of N_0 in a block, from T = 50,000 on.
    top
        The mean from which thresholds are counted.
    horizon
        T, of which H = ceil(sqrt(T)). None: that of the simulation, or unknown when live;
        ``"doubling"``: unknown. An unknown horizon means periods of doubling length, each with its own H.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate=0.001))
    >>> result = ma.simulate(ma.AUCBTP(), world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final("AUCBTP", "blocks")[0] == 45)  # 44 blocks of 45 rounds, and one of 20
    True
    """

    about: ClassVar = About(
        told=("T", "top", "noise"),
        rate="T^(3/4), at beta = 1",
        made_for=("wear",),
        cost="O(1)",
    )
    settings_type: ClassVar = AUCBTPSettings
    tried_with: ClassVar = (
        # Bonuses so small that bad arms are dropped within a few plays.
        {"width": 0.1},
        {"width": 0.3, "scale": 0.1, "horizon": DOUBLING},
    )

    width: Positive = 8.0
    scale: Positive = 186.0
    top: Fraction = 1.0
    horizon: Horizon = None

    def start(self, rounds: int) -> AUCBTPState:
        """A state with a weight for every rate of the longest blocks that can begin within ``rounds`` rounds."""
        settings = self.settings()
        period = period_of(settings, blocks.last_block_rank(rounds))
        return AUCBTPState(settings=settings, log_weights=np.zeros(period.thresholds))

    def explain(self, state: AUCBTPState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {
            "plays_of_arm": state.plays,
            "rotting": state.rotting,
            "threshold": state.settings.top - state.level,
            "probability_of_threshold": state.probability,
        }


@kernel
def period_of(settings: AUCBTPSettings, rank: int) -> Period:
    """What follows from T: of the period of this rank, or of the whole run. B = ceil(1.5 log2 H) - 2 rates."""
    rounds, end = rounds_of_period(settings.horizon, rank)
    length = length_of_blocks(rounds)
    log_rounds = natural_log(float(rounds))
    size = max(blocks.rounded_up(1.5 * binary_log(float(length))) - 2, 1)
    return Period(
        rank=rank,
        end=end,
        block_length=length,
        thresholds=size,
        mixing=mixing_for(size, rounds, length),
        reward_scale=settings.scale * length * log_rounds + 4.0 * math.sqrt(length * log_rounds),
    )


@kernel
def rate_of(place: int) -> float:
    """Rate number ``place``, from 0: of 1/8, 1/16, 1/32 and so on."""
    rate = 0.125
    for _ in range(place):
        rate *= 0.5
    return rate


@kernel
def threshold_of(rate: float) -> float:
    """Delta, for arms that wear at this rate."""
    return power(rate, 1.0 / 3.0)


@kernel
def open_period(state: AUCBTPState, rank: int) -> AUCBTPState:
    """The numbers of a period, and equal weights."""
    period = period_of(state.settings, rank)
    forget_weights(state.log_weights, period)
    rounds, _ = rounds_of_period(state.settings.horizon, rank)
    return replaced(state, period=period, doubt=state.settings.width * natural_log(float(rounds)))


@kernel
def open_block(state: AUCBTPState) -> AUCBTPState:
    """A rate, drawn at the address of the block's number. The arm in play is carried on, and judged anew."""
    period = state.period
    counts = blocks.with_block(state.counts, 0)
    length = period.block_length
    if period.end > 0:
        length = min(length, period.end - blocks.played_rounds(state.block))
    place, probability = drawn_threshold(state.log_weights, period, bits_at(state.key, counts.blocks, 0))
    rotting = rate_of(place)
    return replaced(
        state,
        block=blocks.next_block(state.block, period.rank, length, 1),
        place=place,
        probability=probability,
        rotting=rotting,
        level=state.settings.top - threshold_of(rotting),
        earned=0.0,
        plays=0,
        total=0.0,
        counts=counts,
    )


@kernel
def close_block(state: AUCBTPState) -> AUCBTPState:
    """Let EXP3 learn what the block earned, and open the next one, in a new period if this one is over."""
    credit(state.log_weights, state.period, state.place, state.probability, state.earned)
    if rarely(blocks.played_rounds(state.block) == state.period.end):
        state = open_period(state, state.period.rank + 1)
    return open_block(state)


@kernel
def with_fresh_arm(state: AUCBTPState) -> AUCBTPState:
    """A fresh arm is in play."""
    return replaced(state, arm=state.counts.arms, plays=0, total=0.0, counts=blocks.with_arm(state.counts))


def begin(state: AUCBTPState, key: int) -> AUCBTPState:
    """The first arm, in the first block of the first period."""
    clean = replaced(state, key=key, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS)
    return open_block(with_fresh_arm(open_period(clean, 1)))


def tell(state: AUCBTPState, choice: Choice, reward: float) -> AUCBTPState:
    """Add the reward; go on with the arm or a fresh one, in this block or the next."""
    told = replaced(state, block=blocks.after_round(state.block), earned=state.earned + reward)
    if choice.arm == state.arm:  # a late reward may belong to an arm that is dropped already
        plays = state.plays + 1
        total = state.total + reward
        told = replaced(told, plays=plays, total=total)
        if rarely(worn_index(total, plays, state.rotting, state.doubt) < state.level):
            told = with_fresh_arm(told)
    return close_block(told) if rarely(told.block.left == 0) else told


def settle(state: AUCBTPState, choice: Choice, presumed: float, reward: float) -> AUCBTPState:
    """A late reward counts in the open block if it was asked for there, or if its arm is still in play."""
    if choice.block != state.counts.blocks and choice.arm != state.arm:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    return told_policy(state, choice, reward)  # type: ignore[no-any-return]


blocks.register_policy(AUCBTPState, begin=begin, ask=blocks.ask_one_arm, tell=tell, settle=settle)
