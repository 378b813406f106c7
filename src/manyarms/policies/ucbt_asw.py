"""UCBTASW: one arm at a time, dropped when a recent stretch of it falls short of a threshold that is known to be right.

Keep an arm as long as the means of its last 1, 2, 4, … rewards, each with the benefit of the doubt, reach
top - delta; then take a fresh one. How large delta should be follows from how much arms change in all, or how often:
this policy is told. `AUCBTASW` is the one that is not.

Source: Kim, Vojnović & Yun, "An Adaptive Approach for Infinitely Many-armed Bandits under
Generalized Rotting Constraints" (NeurIPS 2024, arXiv:2404.14202), Algorithm 1: UCBT-ASW, with the thresholds
for which its bounds are stated.

Symbols: T -> horizon; V_T -> variation; S_T -> changes + 1; delta -> delta (spec), top - state.level;
12 -> width (spec); log -> natural_log.

Deviations: doubling blocks without a horizon, each under all of the variation and changes, and an estimated beta
(`policies.held`). A horizon of 1 counts as 2, so that log T is not 0.

A window may begin anywhere in an arm's life, so all its rewards have to be kept: unlike the other policies, this one
needs room for as many numbers as there are rounds.
"""

import dataclasses
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Counts
from ..specs import Fraction, Positive, count, number
from .base import DOUBLING, Horizon, OneArmPolicy
from .blocks import NO_BLOCK, NO_COUNTS, Block, explained_block, longest_block
from .held import next_arm, register_held
from .tail import Beta, Tail, ToldBeta, cautious_beta, checked_top, explained, new_tail
from .windows import falls_short, fill_bonuses

WINDOWS = 32
"""Of 1, 2, 4, … rewards: no run has more than 2^31 rounds."""


class UCBTASWSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    width: float
    top: float
    variation: float = -1.0  # V_T; -1: not told
    changes: int = -1  # S_T - 1; -1: not told
    delta: float = -1.0  # -1: from the two above
    horizon: int = 0  # 0: unknown


class UCBTASWState(NamedTuple):
    """A run of the algorithm."""

    settings: UCBTASWSettings
    tail: ToldBeta | Tail  # what is known of beta
    sums: NDArray[np.float64]  # n -> sum of the arm's first n rewards
    bonuses: NDArray[np.float64]  # k -> what is added to the mean of the last 2^k rewards
    block: Block = NO_BLOCK
    level: float = 0.0  # top - delta: an arm below this is dropped
    arm: int = 0  # the arm in play
    plays: int = 0  # how many of its rewards have come
    counts: Counts = NO_COUNTS


def checked_variation(owner: str, name: str, variation: Any) -> float:
    """A number of at least 0."""
    result = number(owner, name, variation)
    if result < 0.0:
        raise ValueError(f"{owner}: {name} must be at least 0, not {result!r}")
    return result


def checked_changes(owner: str, name: str, changes: Any) -> int:
    """A whole number of at least 0."""
    return count(owner, name, changes, least=0)


@dataclasses.dataclass(frozen=True)
class UCBTASW(OneArmPolicy):
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

    about: ClassVar = About(
        told=("T", "beta", "V or changes", "top", "noise"),
        rate="T^(beta/(beta+1)), sqrt(T) for beta < 1",
        made_for=("wear", "crashes"),
        cost="O(log plays)",
    )
    settings_type: ClassVar = UCBTASWSettings
    tried_with: ClassVar = (
        {"beta": 1.0, "variation": 1.0, "width": 0.1},
        {"beta": 0.5, "changes": 3, "width": 0.3, "horizon": DOUBLING},
        {"beta": "auto", "variation": 1.0, "width": 0.1},
    )

    beta: Beta
    variation: Annotated[float, checked_variation] | None = None
    changes: Annotated[int, checked_changes] | None = None
    delta: Fraction | None = None
    width: Positive = 12.0
    top: Fraction = 1.0
    horizon: Horizon = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variation is None and self.changes is None and self.delta is None:
            raise ValueError("UCBTASW: tell it variation or changes, or delta; AUCBTASW needs none of them")
        checked_top("UCBTASW", self.beta, self.top)

    def start(self, rounds: int) -> UCBTASWState:
        """A state with room for an arm that is played in all rounds of the longest block."""
        longest = rounds if self.known_horizon else min(rounds, longest_block(0, rounds))
        return UCBTASWState(
            settings=self.settings(),
            tail=new_tail(self.beta, 1, self.top),
            sums=np.zeros(longest + 1),
            bonuses=np.zeros(WINDOWS),
        )

    def explain(self, state: UCBTASWState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        own = {"plays_of_arm": state.plays, "threshold": state.settings.top - state.level}
        return explained_block(state) | own | explained(state.tail, binary_log(float(state.block.length)))


@kernel
def threshold_for(settings: UCBTASWSettings, beta: float, rounds: float) -> float:
    """The least of what is told: delta; delta_V of the variation; delta_S of the number of changes.

    delta_V = max((V / T)^(1 / (b + 2)), T^(-1 / (b + 1))) and delta_S = (S / T)^(1 / (b + 1)), with b = beta or 1,
    whichever is larger.
    """
    if settings.delta >= 0.0:
        return settings.delta
    b = max(beta, 1.0)
    delta = 1.0
    if settings.variation >= 0.0:
        follow_changes = power(settings.variation / rounds, 1.0 / (b + 2.0))
        delta = min(delta, max(follow_changes, power(rounds, -1.0 / (b + 1.0))))
    if settings.changes >= 0:
        delta = min(delta, power((settings.changes + 1.0) / rounds, 1.0 / (b + 1.0)))
    return delta


@kernel
def counted_rounds(length: int) -> float:
    """T: the length of a block, at least 2."""
    return float(max(length, 2))


def prepared(state: UCBTASWState, length: int) -> UCBTASWState:
    """No rewards, and the bonuses for a block of that length."""
    fill_bonuses(state.bonuses, state.settings.width, natural_log(counted_rounds(length)))
    state.sums[0] = 0.0
    return state


def with_threshold(state: UCBTASWState, length: int) -> UCBTASWState:
    """Top - delta for a block of that length."""
    rounds = counted_rounds(length)
    delta = threshold_for(state.settings, cautious_beta(state.tail, binary_log(rounds)), rounds)
    return replaced(state, level=state.settings.top - delta)


def with_reward(state: UCBTASWState, reward: float) -> UCBTASWState:
    """Add the reward; a fresh arm if this one falls short."""
    plays = state.plays + 1
    state.sums[plays] = state.sums[plays - 1] + reward
    if rarely(falls_short(state.sums, state.bonuses, state.level, plays)):
        return next_arm(state)  # type: ignore[no-any-return]
    return replaced(state, plays=plays)


register_held(UCBTASWState, prepared=prepared, with_level=with_threshold, judged=with_reward)
