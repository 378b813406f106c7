"""AUCBTASW: one arm at a time, dropped when a recent stretch of it falls short of a threshold.

Keep an arm as long as the means of its last 1, 2, 4, … rewards, each with the benefit of the
doubt, reach top - delta; then take a fresh one. The right delta depends on how fast arms wear
out, which nobody knows. So the run is cut into blocks, each begins with a fresh arm and a delta
drawn from a grid, and EXP3 learns from the blocks' rewards which delta pays.

Source: Kim, Vojnović & Yun, "An Adaptive Approach for Infinitely Many-armed Bandits under
Generalized Rotting Constraints" (NeurIPS 2024, arXiv:2404.14202), Algorithm 2 (Appendix A.6): AUCBT-ASW.

Symbols: T -> horizon; H -> period.block_length; the set of thresholds, B of them -> period.thresholds,
threshold; delta -> top - state.level; alpha -> period.mixing; N_0 -> period.reward_scale; log w(delta) ->
log_weights; p(delta) -> state.probability; 12 -> width (spec); C -> scale (spec); log -> natural_log.

Deviations: the smallest threshold is 2^-ceil(log2 sqrt(H)), where the paper does not round. The
rewards of a block are those of its own rounds, where the paper's listing also takes the one before.
C is "large enough" in the paper and 1 here, which suffices for rewards in [-1, 1] (see
``scale``). Without a horizon, the run is cut into periods of 2, 4, 8, … rounds, each with its own
H, thresholds and fresh weights (the doubling trick). A known horizon that has passed changes
nothing: blocks go on. A horizon of 1 counts as 2, so that log H is not 0. EXP3 is in `policies.exp3`.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Fraction, Positive, among, fraction, positive
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
from .windows import falls_short, fill_bonuses

PRESETS: dict[str, dict[str, Any]] = {
    # The text: thresholds 2^-1 … 2^-log2(sqrt(H)), the constant left open and set to 1.
    "paper": {"width": 12.0, "first_threshold": 0.5, "depth": 0.5, "scale": 1.0, "scale_log": "block"},
    # The authors' released code: thresholds 2^0 … 2^-(B - 1), B = ceil(log2(H)).
    "published": {"width": 12.0, "first_threshold": 1.0, "depth": 1.0, "scale": 100.0, "scale_log": "run"},
}


HALVINGS = 1100
"""After so many, no number is left but 0."""


class AUCBTASWSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    width: float
    first_threshold: float
    depth: float
    scale: float  # C
    scale_of_run: bool  # whether C is multiplied by log T, not log H
    top: float
    horizon: int = 0  # 0: unknown


class AUCBTASWState(NamedTuple):
    """A run of the algorithm."""

    settings: AUCBTASWSettings
    sums: NDArray[np.float64]  # n -> sum of the arm's first n rewards
    bonuses: NDArray[np.float64]  # k -> what is added to the mean of the last 2^k rewards
    log_weights: NDArray[np.float64]  # j -> log of the weight of threshold j
    key: int = UNSET_KEY  # of the policy's random stream
    period: Period = NO_PERIOD
    block: blocks.Block = blocks.NO_BLOCK
    place: int = 0  # j: which threshold the block plays with
    probability: float = 0.0  # p(delta), with which it was drawn
    level: float = 0.0  # top - delta: an arm below this is dropped
    earned: float = 0.0  # in this block
    arm: int = 0  # the arm in play
    plays: int = 0  # how many of its rewards have come
    counts: Counts = blocks.NO_COUNTS


def checked_threshold(owner: str, name: str, threshold: Any) -> float:
    """A number in (0, 1]."""
    return fraction(owner, name, positive(owner, name, threshold))


def checked_depth(owner: str, name: str, depth: Any) -> float:
    """A number in (0, 10]."""
    result = positive(owner, name, depth)
    if result > 10.0:
        raise ValueError(f"{owner}: {name} must lie in (0, 10], not {result!r}; the paper's is 0.5")
    return result


@dataclasses.dataclass(frozen=True)
class AUCBTASW(OneArmPolicy):
    """One arm at a time under a threshold that EXP3 chooses (Kim, Vojnović & Yun, Algorithm 2).

    Parameters
    ----------
    preset
        Where the settings left at None come from: ``"paper"`` (as the text says) or
        ``"published"`` (as in the authors' released code). The default is the text: there is no
        calibrated preset, and the two differ little.
    width
        An arm is dropped when the mean of its last w rewards, w = 1, 2, 4, …, is below top - delta
        by more than sqrt(width · log H / w). 12 is made for noise of unit scale.
    first_threshold
        The thresholds delta are first_threshold · 2^-j for j = 0 … B - 1; …
    depth
        … with B = ceil(depth · log2 H).
    scale
        C: EXP3 divides the rewards of a block by N_0 = scale · H · log H + 4 sqrt(H · log T). The
        paper leaves C open; with 1, rewards in [-1, 1] never sum to more than N_0 / 2 in a block,
        which keeps EXP3's payoffs in [0, 1].
    scale_log
        The logarithm beside C: ``"block"`` for log H, ``"run"`` for log T.
    top
        The mean from which thresholds are counted.
    horizon
        T, of which H = ceil(sqrt(T)). None: that of the simulation, or unknown when live;
        ``"doubling"``: unknown. An unknown horizon means periods of doubling length, each with
        its own H.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
    >>> result = ma.simulate(ma.AUCBTASW(), world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final("AUCBTASW", "blocks")[0] == 45)  # 44 blocks of 45 rounds, and one of 20
    True
    """

    about: ClassVar = About(
        told=("T", "top", "noise"),
        rate="T^((2 beta+1)/(2 beta+2)), T^(3/4) for beta < 1",
        made_for=("wear", "crashes"),
        cost="O(log plays)",
    )
    presets: ClassVar = PRESETS
    settings_type: ClassVar = AUCBTASWSettings
    tried_with: ClassVar = (
        # Bonuses so small that bad arms are dropped within a few plays.
        {"width": 0.1},
        {"preset": "published", "width": 0.3, "scale": 0.1, "horizon": DOUBLING},
    )

    preset: str = "paper"
    width: Positive | None = None
    first_threshold: Annotated[float, checked_threshold] | None = None
    depth: Annotated[float, checked_depth] | None = None
    scale: Positive | None = None
    scale_log: Annotated[str, among(("block", "run"))] | None = None
    top: Fraction = 1.0
    horizon: Horizon = None

    @property
    def scale_of_run(self) -> bool:
        """Whether the logarithm beside C is that of T."""
        return bool(self.chosen()["scale_log"] == "run")

    def start(self, rounds: int) -> AUCBTASWState:
        """A state with arrays for the longest block that can begin within ``rounds`` rounds."""
        settings = self.settings()
        period = period_of(settings, blocks.last_block_rank(rounds))
        return AUCBTASWState(
            settings=settings,
            sums=np.zeros(min(period.block_length, rounds) + 1),
            bonuses=np.zeros(period.block_length.bit_length()),
            log_weights=np.zeros(period.thresholds),
        )

    def explain(self, state: AUCBTASWState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {
            "plays_of_arm": state.plays,
            "threshold": threshold(state.settings, state.place),
            "probability_of_threshold": state.probability,
        }


@kernel
def period_of(settings: AUCBTASWSettings, rank: int) -> Period:
    """What follows from T: of the period of this rank, or of the whole run."""
    rounds, end = rounds_of_period(settings.horizon, rank)
    length = length_of_blocks(rounds)
    log_rounds = natural_log(float(rounds))
    log_term = log_rounds if settings.scale_of_run else natural_log(float(length))
    size = max(blocks.rounded_up(settings.depth * binary_log(float(length))), 1)
    return Period(
        rank=rank,
        end=end,
        block_length=length,
        thresholds=size,
        mixing=mixing_for(size, rounds, length),
        reward_scale=settings.scale * length * log_term + 4.0 * math.sqrt(length * log_rounds),
    )


@kernel
def threshold(settings: AUCBTASWSettings, place: int) -> float:
    """Delta number ``place``, from 0."""
    delta = settings.first_threshold
    for _ in range(min(place, HALVINGS)):
        delta *= 0.5
    return delta


@kernel
def open_period(state: AUCBTASWState, rank: int) -> Period:
    """The bonuses and equal weights of a period; return its numbers."""
    period = period_of(state.settings, rank)
    fill_bonuses(state.bonuses, state.settings.width, natural_log(float(period.block_length)))
    forget_weights(state.log_weights, period)
    return period


@kernel
def open_block(state: AUCBTASWState, period: Period) -> AUCBTASWState:
    """A fresh arm and a fresh threshold, drawn at the address of the block's number."""
    counts = blocks.with_block(state.counts, 1)
    length = period.block_length
    if period.end > 0:
        length = min(length, period.end - blocks.played_rounds(state.block))
    place, probability = drawn_threshold(state.log_weights, period, bits_at(state.key, counts.blocks, 0))
    state.sums[0] = 0.0
    return replaced(
        state,
        period=period,
        block=blocks.next_block(state.block, period.rank, length, 1),
        place=place,
        probability=probability,
        level=state.settings.top - threshold(state.settings, place),
        earned=0.0,
        arm=state.counts.arms,
        plays=0,
        counts=counts,
    )


@kernel
def close_block(state: AUCBTASWState) -> AUCBTASWState:
    """Let EXP3 learn what the block earned, and open the next one, in a new period if this one is over."""
    period = state.period
    credit(state.log_weights, period, state.place, state.probability, state.earned)
    if rarely(blocks.played_rounds(state.block) == period.end):
        period = open_period(state, period.rank + 1)
    return open_block(state, period)


def begin(state: AUCBTASWState, key: int) -> AUCBTASWState:
    """The first block of the first period."""
    return open_block(replaced(state, key=key, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS), open_period(state, 1))


def tell(state: AUCBTASWState, choice: Choice, reward: float) -> AUCBTASWState:
    """Add the reward; go on with the arm or a fresh one, or open the next block."""
    told = replaced(state, block=blocks.after_round(state.block), earned=state.earned + reward)
    if rarely(told.block.left == 0):
        return close_block(told)
    if choice.arm != state.arm:  # a late reward may belong to an arm that is dropped already
        return told
    plays = state.plays + 1
    state.sums[plays] = state.sums[plays - 1] + reward
    if rarely(falls_short(state.sums, state.bonuses, state.level, plays)):
        return replaced(told, arm=state.counts.arms, plays=0, counts=blocks.with_arm(state.counts))
    return replaced(told, plays=plays)


blocks.register_policy(AUCBTASWState, begin=begin, ask=blocks.ask_one_arm, tell=tell)
