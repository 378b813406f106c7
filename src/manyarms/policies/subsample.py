"""Subsample: draw a fixed number of arms once and run a finite-armed base on them.

With as many arms as balance the best arm's gap against the price of finding it, this is
rate-optimal as long as nothing changes; when the subsample has gone bad, it has no way back.

Source: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in
Multi-Armed Bandit with Many Arms" (NeurIPS 2020): SSUCB and SS-Greedy.

Symbols: K -> block.size; T -> horizon.

Deviations: without a horizon, the run is cut into blocks of doubling length, each with a fresh
subsample of the size that fits its length (the doubling trick). Bases are told natural logarithms. Sizes are rounded
up; the authors' code rounds down, and has T^(beta / 2) arms at every beta.
With ``beta="auto"`` and a horizon, a pilot comes first: ceil(sqrt(T)) rounds on half as many arms, which cost no
more than the order of the regret that is proved, at any beta. The estimate after it (`policies.tail`) decides how
many arms are drawn for the rest of the run. Without a horizon, beta is estimated anew for every block.
"""

import abc
import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, ceiling, natural_log, power
from ..bases.asymptotic_ucb import AsymptoticUCB
from ..bases.base import Base
from ..bases.ucb import Greedy
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, begin, keyed, renew, revise
from ..contract import learn as base_learns
from ..specs import Count, Positive, of_kind
from ..streams import UNSET_KEY
from . import blocks
from . import tail as tails
from .base import DOUBLING, Horizon


class SubsampleSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    is_published: bool  # whether the size is that behind the figure of Suk & Kim
    arms: int = 0  # the size if above 0, in place of a power of the horizon
    horizon: int = 0  # 0: unknown


class SubsampleState(NamedTuple):
    """A run of the algorithm."""

    settings: SubsampleSettings
    base: Any
    tail: tails.ToldBeta | tails.Tail  # what is known of beta
    key: int = UNSET_KEY  # of the policy's random stream
    first_arm: int = 0  # slot s holds arm first_arm + s
    block: blocks.Block = blocks.NO_BLOCK
    counts: Counts = blocks.NO_COUNTS


@kernel
def subsample_size(settings: SubsampleSettings, beta: float, horizon: float) -> int:
    """Bayati et al.: T^(beta / (beta + 1)) arms for beta >= 1, T^(beta / 2) below; at least 1, at most one a round.

    Published: rounded down, and at least sqrt(T).
    """
    exponent = beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0
    if settings.is_published:
        exponent = max(0.5, beta / (beta + 1.0))
    size = power(float(horizon), exponent)
    arms = int(size * (1.0 + 1e-12)) if settings.is_published else blocks.rounded_up(size)
    if settings.arms > 0:
        arms = settings.arms
    return max(min(arms, int(horizon)), 1)


@kernel
def pilot_length(horizon: int) -> int:
    """How many rounds of a run of known length come before beta is estimated for the rest."""
    return ceiling(math.sqrt(float(horizon)))


@kernel
def is_pilot(state: SubsampleState, rank: int) -> bool:
    """Whether this block is there to estimate beta for the rest of a run of known length."""
    return state.settings.horizon > 0 and tails.is_estimated(state.tail) and rank == 1


@kernel
def open_block(state: SubsampleState, rank: int) -> SubsampleState:
    """A fresh subsample: for all that is left of the run if its length is known, else for the next doubling block."""
    settings = state.settings
    length = 1 << rank
    if is_pilot(state, rank):
        length = pilot_length(settings.horizon)
    elif settings.horizon > 0:
        length = max(settings.horizon - blocks.played_rounds(state.block), 1)
    wanted = subsample_size(settings, tails.beta_for(state.tail, binary_log(float(length))), float(length))
    if is_pilot(state, rank):
        wanted = (length + 1) // 2
    tail, size = tails.fitted(state.tail, wanted)
    for slot in range(size):
        tails.watch_fresh_arm(state.tail, slot)
    base = renew(state.base, size, float(length), natural_log(float(max(length, 2))))
    return replaced(
        state,
        base=keyed(base, state.key),
        tail=tail,
        first_arm=state.counts.arms,
        block=blocks.next_block(state.block, rank, length, size),
        counts=blocks.with_block(state.counts, size),
    )


def begin_subsample(state: SubsampleState, key: int) -> SubsampleState:
    """The first block."""
    clean = replaced(state, key=key, tail=begin(state.tail, key), block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS)
    return open_block(clean, 1)


def tell(state: SubsampleState, choice: Choice, reward: float) -> SubsampleState:
    """Let the base learn; a known horizon that has passed changes nothing."""
    tails.watch_reward(state.tail, choice.slot, reward)
    return after_round(replaced(state, base=base_learns(state.base, choice, reward)))


def defer(state: SubsampleState, choice: Choice) -> tuple[SubsampleState, float]:
    """An open ask is a round of its block, and for the base a play that paid what it expects."""
    base, presumed = blocks.base_after_ask(state.base, choice)
    return after_round(replaced(state, base=base)), presumed


@kernel
def settle(state: SubsampleState, choice: Choice, presumed: float, reward: float) -> SubsampleState:
    """Let the base learn, unless all arms are others now."""
    if choice.block != state.counts.blocks:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    tails.watch_reward(state.tail, choice.slot, reward)
    return replaced(state, base=blocks.base_after_answer(state.base, choice, presumed, reward))


def lose(state: SubsampleState, choice: Choice, presumed: float) -> SubsampleState:
    """Take back what was presumed."""
    if choice.block != state.counts.blocks:
        return state
    return replaced(state, base=blocks.base_after_silence(state.base, choice, presumed))


def correct(state: SubsampleState, choice: Choice, told: float, reward: float) -> SubsampleState:
    """Take back what was told."""
    return settle(state, choice, told, reward)


def recall(state: SubsampleState, slot: int, plays: int, total: float, is_news: bool) -> SubsampleState:
    """Let the base know."""
    return replaced(state, base=revise(state.base, slot, plays, total))


@kernel
def after_round(state: SubsampleState) -> SubsampleState:
    """The next block, if this one is over and there is one after it."""
    played = replaced(state, block=blocks.after_round(state.block))
    if rarely(played.block.left == 0) and (state.settings.horizon == 0 or is_pilot(state, state.block.rank)):
        return open_block(played, played.block.rank + 1)
    return played


blocks.register_policy(
    SubsampleState,
    is_cramped=tails.is_too_small,
    begin=begin_subsample,
    ask=blocks.ask_the_base,
    ask_among=blocks.ask_the_base_among,
    recommend=blocks.recommend_of_base,
    recall=recall,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
    correct=correct,
)


class FixedSubsample(tails.SubsamplingPolicy, abstract=True):
    """Abstract: what ``Subsample`` and ``SSUCB`` share, which is all but the base and the size."""

    settings_type: ClassVar = SubsampleSettings

    beta: tails.Beta

    @property
    def takes_pending(self) -> bool:  # type: ignore[override]
        """No arm is dropped while its block lasts."""
        return self.takes_corrections

    @property
    def is_published(self) -> bool:
        """Whether the size is that behind the figure of Suk & Kim."""
        return False

    @abc.abstractmethod
    def running_base(self) -> Base:
        """The base that is run on the subsample."""

    def slots_for(self, beta: float, rounds: int) -> int:
        """The subsample of the longest block that can begin within ``rounds`` rounds."""
        horizon = self.known_horizon
        most = subsample_size(self.settings(), beta, float(blocks.longest_block(horizon, rounds)))
        if horizon > 0 and isinstance(self.beta, str):
            most = max(most, (pilot_length(horizon) + 1) // 2)
        return most

    def start_in(self, slots: int) -> SubsampleState:
        """A state with arrays for that many arms."""
        return SubsampleState(
            settings=self.settings(),
            base=self.running_base().start(slots),
            tail=tails.new_tail(self.beta, slots),
        )

    def kept_arms(self, state: SubsampleState) -> NDArray[np.int64]:
        """The subsample."""
        return np.arange(state.first_arm, state.first_arm + state.block.size)

    def arms_in_slots(self, state: SubsampleState) -> NDArray[np.int64]:
        """The subsample, too."""
        return self.kept_arms(state)

    def explain(self, state: SubsampleState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        rounds = float(state.settings.horizon or state.block.length)
        return blocks.explained_block(state) | tails.explained(state.tail, binary_log(rounds))


@dataclasses.dataclass(frozen=True)
class Subsample(FixedSubsample):
    """Any base on a subsample of fixed size.

    Parameters
    ----------
    base
        The finite-armed policy that plays the subsample.
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated as the run goes. The subsample has
        T^(beta / (beta + 1)) arms for beta >= 1, T^(beta / 2) below.
    arms
        The size of the subsample, in place of that rule.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length with a fresh subsample each.

    Examples
    --------
    SS-Greedy of Bayati et al.:

    >>> import manyarms as ma
    >>> greedy = ma.Subsample(base=ma.Greedy(), beta=1.0, horizon=10_000)
    >>> greedy.slots(10_000)
    100
    """

    about: ClassVar = About(
        told=("T", "beta", "its base"),
        rate="T^(beta/(beta+1)), sqrt(T) for beta < 1, with a base whose regret is log(T) / gap for each arm",
        made_for=("still", "late answers"),
        cost="that of its base",
    )
    tried_with: ClassVar = (
        {"base": Greedy(), "beta": 1.0},
        {"base": Greedy(), "beta": 2.0, "arms": 20, "horizon": DOUBLING},
        {"base": Greedy(), "beta": "auto"},
    )

    base: Annotated[Base, of_kind(Base, "ma.Greedy()")]
    beta: tails.Beta
    arms: Count | None = None
    horizon: Horizon = None

    def running_base(self) -> Base:
        """The given base."""
        return self.base


SSUCB_PRESETS: dict[str, dict[str, Any]] = {
    # Bayati et al., for noise of unit scale; on coins their code has 0.5.
    "paper": {"sigma": 1.0},
    # Behind the published figure of Suk & Kim: floor(max(sqrt(T), T^(beta / (beta + 1)))) arms.
    "published": {"sigma": 1.0},
    # The choice of verification/calibration.py, written up in docs/calibration.md.
    "calibrated": {"sigma": 0.05},
}


@dataclasses.dataclass(frozen=True)
class SSUCB(FixedSubsample):
    """Asymptotically optimal UCB on a subsample of fixed size (Bayati et al. 2020).

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated as the run goes. The subsample has
        T^(beta / (beta + 1)) arms for beta >= 1, T^(beta / 2) below, rounded up; with preset ``"published"``
        max(sqrt(T), T^(beta / (beta + 1))), rounded down. The code of Bayati et al. rounds down, too.
    preset
        Where the settings left at None come from: ``"calibrated"``, ``"paper"`` (Bayati et
        al.) or ``"published"`` (as behind the figure of Suk & Kim).
    sigma
        The scale of the noise in the index. It is 1 with preset ``"paper"``, for noise of unit scale; on coins Bayati
        et al. used 0.5, so say ``sigma=0.5`` there to compare with them.
    arms
        The size of the subsample, in place of the rule above.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length with a fresh subsample each.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.SSUCB(beta=1.2, preset="published", horizon=100_000).slots(100_000)
    533
    >>> [ma.SSUCB(beta=1.0, preset=preset, horizon=20_000).slots(20_000) for preset in ("paper", "published")]
    [142, 141]
    """

    about: ClassVar = About(
        told=("T", "beta", "noise"),
        rate="T^(beta/(beta+1)), sqrt(T) for beta < 1",
        made_for=("still", "late answers"),
        cost="O(log arms)",
    )
    presets: ClassVar = SSUCB_PRESETS
    tried_with: ClassVar = ({"beta": 1.0}, {"beta": 0.5, "preset": "published"})

    beta: tails.Beta
    preset: str = "calibrated"
    sigma: Positive | None = None
    arms: Count | None = None
    horizon: Horizon = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.running_base()

    @property
    def is_published(self) -> bool:
        """Whether the preset says so."""
        return self.preset == "published"

    def running_base(self) -> Base:
        """The asymptotically optimal UCB."""
        return AsymptoticUCB(sigma=self.chosen()["sigma"])
