"""SiRI: for one good arm at the end: a subsample under an upper bound, of which an arm's plays are doubled at a time.

As many arms are drawn as a run can tell apart, and each is played once. Then the arm with the largest upper bound is
played as often again as it was played before, and so on. It recommends the arm that was played most. What it pays on
the way does not matter to it.

Source: Carpentier & Valko, "Simple regret for infinitely many armed bandits" (ICML 2015): Algorithm 1, and the
estimator of beta of the section on an unknown beta. The paper's abstract was at hand; the algorithm is as remembered,
the estimator with less certainty.

Symbols: n -> horizon; b = min(beta, 2); A -> factor; C -> width; delta -> delta; T-bar -> block.size; t-bar -> the
binary logarithm of that, rounded down; epsilon -> epsilon; N -> the arms of the pilot.

Deviations: of arms that were played equally often, the one with the largest mean is recommended. Without a horizon the
run is cut into blocks of 2, 4, 8, … rounds with fresh arms each (the doubling trick), and what it recommends is of the
open block. With ``beta="auto"`` a block begins with a pilot of N = floor(n^(1/4)) arms, played N times each. The source
has an epsilon that falls as 1 / log log log n, which no run is long enough for; it is a constant here. It also adds a
term to the estimate, to be on the safe side, whose constants were not at hand: ``margin`` times its order, 1 / (epsilon
log N). A pilot of one arm says nothing: beta is 1 then. Open asks count as plays that paid what was expected.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, floor, natural_log, power
from ..bases.base import Rewards, add_to, expected_in, forget, new_rewards
from ..bases.tournament import leader, new_tournament, open_tournament, replay_games
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, expected
from ..specs import Fraction, Number, Positive
from . import blocks
from .base import DOUBLING, Horizon, Policy
from .recommending import chosen, mean_in, most_played
from .tail import Beta

LEAST_BETA = 0.1
"""No estimate is below: the source asks for a bound that is known."""

LOG_TWO = math.log(2.0)


class SiRISettings(NamedTuple):
    """The spec in numbers; it never changes."""

    beta: float  # 0: estimated
    factor: float
    width: float
    delta: float
    epsilon: float
    margin: float
    horizon: int = 0  # 0: unknown


class SiRIState(NamedTuple):
    """A run of the algorithm. Slot s holds arm first_arm + s."""

    settings: SiRISettings
    rewards: Rewards  # open asks are in it, with what was expected
    keys: NDArray[np.int64]  # tournament of the bounds
    leaves: int = 1
    slot: int = 0  # of the arm in play
    until: int = 0  # so many plays it has then
    doubt: float = 0.0  # the logarithm in the bound of an arm with one play
    beta: float = 0.0  # as far as it is known
    is_pilot: bool = False
    first_arm: int = 0
    block: blocks.Block = blocks.NO_BLOCK
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class SiRI(Policy):
    """A subsample under an upper bound, for one good arm at the end (Carpentier & Valko 2015).

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, or ``"auto"``: estimated by a pilot of sqrt(n) rounds.
    factor
        A: there are A · n^(min(beta, 2) / 2) arms; divided by log(n)^2 where beta is 2, by log(n) above.
    width
        C, the scale of the noise in the bound. A quarter is the largest variance of rewards in [0, 1].
    delta
        How unlikely it is meant to be that a bound fails.
    epsilon
        Of the pilot: arms within N^-epsilon of its best one are counted.
    margin
        What is added to the estimate of beta, in units of 1 / (epsilon log N).
    horizon
        n. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An unknown horizon means blocks
        of doubling length with a fresh subsample each.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.SiRI(beta=1.0), world, 3000, replications=20, seed=1, checkpoints=1, recommend=True)
    >>> int(result.final("SiRI", "arms")[0]), bool(result.final("SiRI", "simple regret").mean() < 0.1)
    (17, True)
    """

    about: ClassVar = About(
        told=("T", "beta", "noise"),
        rate="simple regret max(T^(-1/2), T^(-1/beta))",
        made_for=("still", "one good arm", "late answers"),
        cost="O(1)",
    )
    settings_type: ClassVar = SiRISettings
    tried_with: ClassVar = (
        {"beta": 1.0, "factor": 1.0},
        {"beta": 3.0, "horizon": DOUBLING},
        {"beta": "auto", "factor": 1.0},
        {"beta": "auto", "horizon": DOUBLING},
    )

    beta: Beta
    factor: Positive = 0.3
    width: Positive = 0.25
    delta: Fraction = 0.1
    epsilon: Positive = 1.0 / 3.0
    margin: Number = 0.0
    horizon: Horizon = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0.0:
            raise ValueError("SiRI: delta must be above 0, such as 0.1: no bound holds for certain")

    @property
    def takes_corrections(self) -> bool:  # type: ignore[override]
        """Sums can be corrected; an estimate of beta that arms were drawn for cannot."""
        return not isinstance(self.beta, str)

    @property
    def takes_pending(self) -> bool:  # type: ignore[override]
        """No arm is dropped while its block lasts."""
        return self.takes_corrections

    def settings(self) -> SiRISettings:
        """The spec in numbers."""
        return SiRISettings(
            beta=0.0 if isinstance(self.beta, str) else self.beta,
            factor=self.factor,
            width=self.width,
            delta=self.delta,
            epsilon=self.epsilon,
            margin=float(self.margin),
            horizon=self.known_horizon,
        )

    def slots(self, rounds: int) -> int:
        """The subsample of the longest block; with an estimate, of the beta that makes most of it."""
        length = blocks.longest_block(self.known_horizon, rounds)
        if not isinstance(self.beta, str):
            return subsample_size(self.settings(), self.beta, length)
        return max(min(math.ceil(self.factor * length), length), pilot_arms(length))

    def start(self, rounds: int) -> SiRIState:
        """A state with arrays for the longest block."""
        slots = self.slots(rounds)
        return SiRIState(settings=self.settings(), rewards=new_rewards(slots), keys=new_tournament(slots))

    def kept_arms(self, state: SiRIState) -> NDArray[np.int64]:
        """The subsample."""
        return np.arange(state.first_arm, state.first_arm + state.block.size)

    def arms_in_slots(self, state: SiRIState) -> NDArray[np.int64]:
        """The subsample, too."""
        return self.kept_arms(state)

    def explain(self, state: SiRIState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        recommended = int(state.first_arm + most_played(state.rewards, state.block.size))
        known = {"beta": float(state.beta)} if isinstance(self.beta, str) and not state.is_pilot else {}
        return blocks.explained_block(state) | known | {"recommended_arm": recommended}


# ---------------------------------------------------------------- kernels


@kernel
def subsample_size(settings: SiRISettings, beta: float, length: int) -> int:
    """T-bar = ceil(A(n) n^(b / 2)), b = min(beta, 2); at least 1, at most one arm a round."""
    log = max(natural_log(float(length)), 1.0)
    factor = settings.factor
    if beta == 2.0:
        factor /= log * log
    if beta > 2.0:
        factor /= log
    size = blocks.rounded_up(factor * power(float(length), min(beta, 2.0) / 2.0))
    return max(min(size, length), 1)


@kernel
def pilot_arms(length: int) -> int:
    """N = floor(n^(1/4)), at least 1."""
    return max(blocks.rounded_down(power(float(length), 0.25)), 1)


@kernel
def upper_bound(state: SiRIState, plays: int, total: float) -> float:
    """Mean + 2 sqrt(C / k · log(2^(2 t-bar / b) / (k delta))) + 2 C / k · the same logarithm, which is at least 0."""
    width = state.settings.width / plays
    log = max(state.doubt - natural_log(float(plays)), 0.0)
    return total / plays + 2.0 * math.sqrt(width * log) + 2.0 * width * log


@kernel
def opened(state: SiRIState, rank: int, length: int, size: int, is_pilot: bool) -> SiRIState:
    """So many fresh arms for so many rounds; none has been played."""
    forget(state.rewards, size)
    exponent = 2.0 * floor(binary_log(float(size))) / min(state.beta, 2.0)
    return replaced(
        state,
        leaves=open_tournament(state.keys, size, math.inf),
        slot=0,
        until=1,
        doubt=exponent * LOG_TWO - natural_log(state.settings.delta),
        is_pilot=is_pilot,
        first_arm=state.counts.arms,
        block=blocks.next_block(state.block, rank, length, size),
        counts=blocks.with_block(state.counts, size),
    )


@kernel
def open_block(state: SiRIState, rank: int) -> SiRIState:
    """The next block: its pilot if beta is to be estimated, else all of it; or what is left of it after the pilot."""
    length = blocks.block_length(state.settings.horizon, rank)
    arms = pilot_arms(length)
    is_pilot = state.settings.beta == 0.0 and not state.is_pilot
    size = arms
    if is_pilot:
        length = arms * arms
    else:
        if state.is_pilot:
            length = max(length - arms * arms, 1)
        size = subsample_size(state.settings, state.beta, length)
    return opened(state, rank, length, size, is_pilot)


@kernel
def estimated_beta(state: SiRIState) -> float:
    """-log p / (epsilon log N), p the share of the pilot's arms whose mean is within N^-epsilon of the largest."""
    arms = state.block.size
    if arms < 2:
        return 1.0
    best = mean_in(state.rewards, 0)
    for slot in range(1, arms):
        best = max(best, mean_in(state.rewards, slot))
    reach = power(float(arms), -state.settings.epsilon)
    near = 0
    for slot in range(arms):
        near += 1 if best - mean_in(state.rewards, slot) <= reach else 0
    unit = state.settings.epsilon * natural_log(float(arms))
    return max((natural_log(float(arms) / near) + state.settings.margin) / unit, LEAST_BETA)


def begin(state: SiRIState, key: int) -> SiRIState:
    """The first block."""
    beta = state.settings.beta if state.settings.beta > 0.0 else 1.0
    clean = replaced(state, beta=beta, is_pilot=False, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS)
    return open_block(clean, 1)


def ask(state: SiRIState, round: int) -> Choice:
    """The arm in play."""
    return chosen(state.slot, state.first_arm, state.counts.blocks, round)


def ask_among(state: SiRIState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The allowed arm with the largest bound. A leaf holds it in order, beside the slot."""
    best = -1
    for slot in range(state.block.size):
        if allowed[slot] and (best < 0 or state.keys[state.leaves + slot] > state.keys[state.leaves + best]):
            best = slot
    return chosen(best, state.first_arm, state.counts.blocks, round)


def recommend(state: SiRIState, round: int) -> Choice:
    """The arm that was played most."""
    return chosen(most_played(state.rewards, state.block.size), state.first_arm, state.counts.blocks, round)


@kernel
def revise(state: SiRIState, slot: int, plays: int, total: float) -> None:
    """Add to the plays and rewards of a slot, and bring its bound up to date."""
    plays, total = add_to(state.rewards, slot, plays, total)
    replay_games(state.keys, state.leaves, slot, upper_bound(state, plays, total) if plays > 0 else math.inf)


@kernel
def played(state: SiRIState, slot: int, reward: float) -> SiRIState:
    """One more play of an arm: a round, after which another arm may be in play, or another block be open."""
    revise(state, slot, 1, reward)
    told = replaced(state, block=blocks.after_round(state.block))
    if rarely(told.block.left == 0 and (state.is_pilot or state.settings.horizon == 0)):
        if state.is_pilot:
            return open_block(replaced(told, beta=estimated_beta(told)), told.block.rank)
        return open_block(told, told.block.rank + 1)
    if state.is_pilot:  # all in turn
        return replaced(told, slot=state.slot + 1 if state.slot + 1 < told.block.size else 0)
    if state.rewards.plays[state.slot] < state.until:
        return told
    best = leader(state.keys, state.leaves)
    return replaced(told, slot=best, until=max(2 * state.rewards.plays[best], 1))


def tell(state: SiRIState, choice: Choice, reward: float) -> SiRIState:
    """One more play."""
    return played(state, choice.slot, reward)


def defer(state: SiRIState, choice: Choice) -> tuple[SiRIState, float]:
    """An open ask is a play that paid what is expected of its arm."""
    presumed = expected(state, choice.slot)
    return played(state, choice.slot, presumed), presumed


def settle(state: SiRIState, choice: Choice, presumed: float, reward: float) -> SiRIState:
    """The play paid that, in place of what was presumed or told; unless all arms are others now."""
    if choice.block != state.counts.blocks:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    revise(state, choice.slot, 0, reward - presumed)
    return state


def lose(state: SiRIState, choice: Choice, presumed: float) -> SiRIState:
    """As if there had been no play; the round stays."""
    if choice.block == state.counts.blocks:
        revise(state, choice.slot, -1, -presumed)
    return state


def recall(state: SiRIState, slot: int, plays: int, total: float, is_news: bool) -> SiRIState:
    """Plays seen elsewhere count as its own."""
    revise(state, slot, plays, total)
    return state


blocks.register_policy(
    SiRIState,
    begin=begin,
    ask=ask,
    ask_among=ask_among,
    recommend=recommend,
    recall=recall,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
    correct=settle,
    expected=expected_in,
)
