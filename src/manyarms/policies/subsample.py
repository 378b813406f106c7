"""Subsample: draw a fixed number of arms once and run a finite-armed base on them.

With as many arms as balance the best arm's gap against the price of finding it, this is
rate-optimal as long as nothing changes; when the subsample has gone bad, it has no way back.

Source: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in
Multi-Armed Bandit with Many Arms" (NeurIPS 2020): SSUCB and SS-Greedy.

Symbols: K -> block.size; T -> horizon.

Deviations: without a horizon, the run is cut into blocks of doubling length, each with a fresh
subsample of the size that fits its length (the doubling trick). Bases are told natural logarithms.
With ``beta="auto"`` and a horizon, a pilot comes first: ceil(sqrt(T)) rounds on half as many arms, which cost no
more than the order of the regret that is proved, at any beta. The estimate after it (`policies.tail`) decides how
many arms are drawn for the rest of the run. Without a horizon, beta is estimated anew for every block.
"""

import abc
import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import binary_log, ceiling, natural_log, power
from ..bases.asymptotic_ucb import AsymptoticUCB
from ..bases.base import Base
from ..bases.greedy import Greedy
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, learn, register, renew
from ..specs import count, positive
from ..streams import UNSET_KEY
from .base import (
    DOUBLING,
    NO_BLOCK,
    NOTHING,
    Block,
    Policy,
    Tally,
    ask_the_base,
    block_counts,
    checked_horizon,
    from_preset,
    horizon_number,
    last_block_rank,
    observe_nothing,
    rounded_up,
    store_numbers,
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
    watch_reward,
)


class SubsampleSettings(NamedTuple):
    """The spec in numbers; none but an estimated exponent ever changes."""

    exponent: float  # the subsample has horizon^exponent arms …
    floor: bool  # … rounded down instead of up
    arms: int  # … or this many, if above 0
    horizon: int  # 0: unknown


class SubsampleState(NamedTuple):
    """A run of the algorithm."""

    settings: SubsampleSettings
    base: Any
    key: int  # of the policy's random stream
    tail: Tail  # what is known of beta
    first_arm: int  # slot s holds arm first_arm + s
    block: Block
    rounds_left: int  # in this block
    tally: Tally


@kernel
def subsample_size(settings: SubsampleSettings, horizon: float) -> int:
    """horizon^exponent, rounded; at least 1 and at most one arm for each round."""
    size = power(float(horizon), settings.exponent)
    arms = int(size * (1.0 + 1e-12)) if settings.floor else rounded_up(size)
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
    return state.settings.horizon > 0 and state.tail.levels > 0 and rank == 1


@kernel
def settings_for(state: SubsampleState, length: int) -> SubsampleSettings:
    """The settings, with the present estimate of beta for a block of this length."""
    settings = state.settings
    if state.tail.levels == 0:
        return settings
    return replaced(
        settings, exponent=exponent_of(estimated_beta(state.tail, binary_log(float(length))), settings.floor)
    )


@kernel
def open_block(state: SubsampleState, rank: int, opened: int, tally: Tally) -> SubsampleState:
    """A fresh subsample: for all that is left of the run if its length is known, else for the next doubling block."""
    length = 1 << rank
    if is_pilot(state, rank):
        length = pilot_length(state.settings.horizon)
    elif state.settings.horizon > 0:
        length = max(state.settings.horizon - opened, 1)
    settings = settings_for(state, length)
    size = subsample_size(settings, float(length))
    if is_pilot(state, rank):
        size = (length + 1) // 2
    if state.tail.levels > 0:
        for slot in range(size):
            watch_fresh_arm(state.tail, slot)
    return replaced(
        state,
        settings=settings,
        base=renew(state.base, size, float(length), natural_log(float(max(length, 2)))),
        first_arm=tally.arms,
        block=Block(number=state.block.number + 1, rank=rank, length=length, size=size, opened=opened),
        rounds_left=length,
        tally=replaced(tally, arms=tally.arms + size),
    )


def begin(state: SubsampleState, key: int) -> SubsampleState:
    """The first block."""
    begin_tail(state.tail)
    clean = replaced(
        state,
        key=key,
        first_arm=0,
        block=NO_BLOCK,
        rounds_left=0,
        tally=NOTHING,
    )
    return open_block(clean, 1, 0, clean.tally)


def tell(state: SubsampleState, choice: Choice, reward: float) -> SubsampleState:
    """Let the base learn; a known horizon that has passed changes nothing."""
    base = state.base
    tally = state.tally
    rounds_left = state.rounds_left
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, ignored=tally.ignored + 1)
    else:
        base = learn(base, choice, reward)
        watch_reward(state.tail, choice.slot, reward)
        rounds_left -= 1
    if rarely(rounds_left == 0) and (state.settings.horizon == 0 or is_pilot(state, state.block.rank)):
        return open_block(state, state.block.rank + 1, state.block.opened + state.block.length, tally)
    return replaced(state, base=base, rounds_left=rounds_left, tally=tally)


def counts(state: SubsampleState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(SubsampleState, begin=begin, ask=ask_the_base, tell=tell, counts=counts, observe=observe_nothing)


@kernel
def exponent_of(beta: float, published: bool) -> float:
    """Bayati et al.: K = T^(beta / (beta + 1)) for beta >= 1, T^(beta / 2) below; published: at least sqrt(T)."""
    if published:
        return max(0.5, beta / (beta + 1.0))
    return beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0


class FixedSubsample(Policy, abstract=True):
    """Abstract: what ``Subsample`` and ``SSUCB`` share, which is all but the base and the size."""

    beta: float | str
    arms: int | None
    horizon: int | str | None

    @property
    def is_published(self) -> bool:
        """Whether the size is that behind the figure of Suk & Kim."""
        return False

    def settings(self, beta: float | None = None) -> SubsampleSettings:
        """The spec in numbers; for another beta on request."""
        return SubsampleSettings(
            exponent=exponent_of(first_beta(self.beta) if beta is None else beta, self.is_published),
            floor=self.is_published,
            arms=self.arms or 0,
            horizon=horizon_number(self.horizon),
        )

    @abc.abstractmethod
    def running_base(self) -> Base:
        """The base that is run on the subsample."""

    def slots(self, rounds: int) -> int:
        """The subsample of the longest block that can begin within ``rounds`` rounds."""
        settings = self.settings(largest_beta(self.beta))
        most = subsample_size(settings, float(settings.horizon or 2 ** last_block_rank(rounds)))
        if settings.horizon > 0 and isinstance(self.beta, str):
            most = max(most, (pilot_length(settings.horizon) + 1) // 2)
        return most

    def start(self, rounds: int) -> SubsampleState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return SubsampleState(
            settings=self.settings(),
            base=self.running_base().start(slots),
            key=UNSET_KEY,
            tail=new_tail(type(self).__name__, self.beta, slots),
            first_arm=0,
            block=NO_BLOCK,
            rounds_left=0,
            tally=NOTHING,
        )

    def kept_arms(self, state: SubsampleState) -> NDArray[np.int64]:
        """The subsample."""
        return np.arange(state.first_arm, state.first_arm + state.block.size)

    def explain(self, state: SubsampleState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": max(state.rounds_left, 0),
            "arms": state.block.size,
            "last_restart": None,
        } | explained(state.tail, binary_log(float(state.settings.horizon or state.block.length)))


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

    base: Base
    beta: float | str
    arms: int | None = None
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(base=Greedy(), beta=1.0),
            cls(base=Greedy(), beta=2.0, arms=20, horizon=DOUBLING),
            cls(base=Greedy(), beta="auto"),
        )

    def __post_init__(self) -> None:
        if not isinstance(self.base, Base):
            raise TypeError(f"Subsample: base must be a base such as ma.Greedy(), not {self.base!r}")
        object.__setattr__(self, "beta", checked_beta("Subsample", self.beta))
        object.__setattr__(self, "horizon", checked_horizon("Subsample", self.horizon))
        if self.arms is not None:
            object.__setattr__(self, "arms", count("Subsample", "arms", self.arms))

    def running_base(self) -> Base:
        """The given base."""
        return self.base


SSUCB_PRESETS: dict[str, dict[str, Any]] = {
    # Bayati et al., for noise of unit scale.
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
        T^(beta / (beta + 1)) arms for beta >= 1, T^(beta / 2) below; with preset ``"published"``
        max(sqrt(T), T^(beta / (beta + 1))).
    preset
        Where the settings left at None come from: ``"calibrated"``, ``"paper"`` (Bayati et
        al.) or ``"published"`` (as behind the figure of Suk & Kim).
    sigma
        The scale of the noise in the index.
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
    """

    beta: float | str
    preset: str = "calibrated"
    sigma: float | None = None
    arms: int | None = None
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(beta=1.0),
            cls(beta=0.5, preset="published"),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checked_beta("SSUCB", self.beta))
        object.__setattr__(self, "horizon", checked_horizon("SSUCB", self.horizon))
        if self.arms is not None:
            object.__setattr__(self, "arms", count("SSUCB", "arms", self.arms))
        store_numbers(self, "sigma")
        self.running_base()

    @property
    def is_published(self) -> bool:
        """Whether the preset says so."""
        return self.preset == "published"

    def running_base(self) -> Base:
        """The asymptotically optimal UCB."""
        chosen = from_preset("SSUCB", SSUCB_PRESETS, self.preset, {"sigma": self.sigma})
        return AsymptoticUCB(sigma=positive("SSUCB", "sigma", chosen["sigma"]))
