"""TwoTarget: a rule for coins that keeps an arm if it has enough successes by its first failure, and again by its m-th.

The first target rules out most arms at the price of a single failure each; the second, many times larger, is judged
over m failures, so that an arm that passes it is good, not lucky. With such an arm it stays. With coins and large m its
regret has the best constant there is.

Source: Bonald & Proutière, "Two-Target Algorithms for Infinite-Armed Bandits with Bernoulli Rewards" (NIPS 2013): the
two-target algorithm for a known time horizon, and the one for an unknown horizon.

Symbols: n -> horizon; m -> failures (spec); l_1, l_2 -> first_target, second_target; L, M -> successes, failed;
alpha, beta -> alpha, beta.

Deviations: a failure is a reward below 1, where the source has coins only. With m = 1 the first failure has to pass
both targets. The rule for an unknown horizon is as remembered: targets t^(1/(beta+2)) and m t^(1/(beta+1)) that grow
with the round t, and an arm that has passed is played as long as its successes by the m-th failure reach the second
one. A late reward for an arm that was left meanwhile is a round, and nothing else.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import power
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Count, Positive
from . import blocks
from .base import DOUBLING, Horizon, OneArmPolicy

FOR_GOOD = 2**62
"""No run has so many rounds."""


class TwoTargetSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    failures: int  # m
    beta: float
    alpha: float
    horizon: int = 0  # 0: unknown


class TwoTargetState(NamedTuple):
    """A run of the algorithm."""

    settings: TwoTargetSettings
    rounds: int = 0  # answers so far
    arm: int = 0  # the arm in play
    successes: int = 0  # of this arm, up to its m-th failure
    failed: int = 0  # how often this arm has failed, up to m
    until: int = FOR_GOOD  # the round after which an arm that has passed is left
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class TwoTarget(OneArmPolicy):
    """Two targets, for the successes before the first failure and before the m-th (Bonald & Proutière 2013).

    Parameters
    ----------
    failures
        m: the second target is judged at the m-th failure. 3 is a common choice.
    beta
        The tail exponent of the reservoir, P(mean > 1 - x) = alpha x^beta near x = 0.
    alpha
        The factor in it. Without a horizon it has no use.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. With an unknown horizon the
        targets grow with the rounds played, and an arm is left when they have outgrown it; there are no blocks.

    Examples
    --------
    With coins and a uniform reservoir no regret can be below sqrt(2 T) in the long run, which is 141 here:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.TwoTarget(), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("TwoTarget").mean() < 200)
    True
    """

    about: ClassVar = About(
        told=("T", "beta", "alpha", "top 1"),
        rate="T^(beta/(beta+1)); (sqrt(2) + 1 / (m sqrt(2))) sqrt(T) at beta = 1",
        made_for=("still", "coins"),
        cost="O(1)",
    )
    settings_type: ClassVar = TwoTargetSettings
    tried_with: ClassVar = ({}, {"failures": 2, "beta": 0.5, "horizon": DOUBLING})

    failures: Count = 3
    beta: Positive = 1.0
    alpha: Positive = 1.0
    horizon: Horizon = None

    def start(self, rounds: int) -> TwoTargetState:
        """Nothing to allocate."""
        return TwoTargetState(settings=self.settings())

    def explain(self, state: TwoTargetState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        rounds = max(state.rounds, 1)
        return {
            "episode": 1,
            "arms": 1,
            "successes_of_arm": state.successes,
            "failures_of_arm": state.failed,
            "first_target": first_target(state.settings, rounds),
            "second_target": second_target(state.settings, rounds),
            "committed": has_passed(state),
            "last_restart": None,
        }


@kernel
def time_scale(settings: TwoTargetSettings, rounds: int) -> float:
    """What the targets are powers of: alpha n / (beta + 1), or t where n is unknown."""
    if settings.horizon > 0:
        return settings.alpha * settings.horizon / (settings.beta + 1.0)
    return float(rounds)


@kernel
def first_target(settings: TwoTargetSettings, rounds: int) -> int:
    """Successes that an arm needs before its first failure."""
    return blocks.rounded_down(power(time_scale(settings, rounds), 1.0 / (settings.beta + 2.0)))


@kernel
def second_target(settings: TwoTargetSettings, rounds: int) -> int:
    """Successes that an arm needs before its m-th failure."""
    return blocks.rounded_down(settings.failures * power(time_scale(settings, rounds), 1.0 / (settings.beta + 1.0)))


@kernel
def outgrown_at(settings: TwoTargetSettings, successes: int) -> int:
    """The last round with a second target of at most so many successes; the target of a known horizon stays."""
    if settings.horizon > 0:
        return FOR_GOOD
    scale = power((successes + 1.0) / settings.failures, settings.beta + 1.0)
    return blocks.rounded_up(scale) - 1 if scale < FOR_GOOD else FOR_GOOD


@kernel
def has_passed(state: TwoTargetState) -> bool:
    """Whether the arm in play has reached both targets, and is played for their sake."""
    return state.failed == state.settings.failures


@kernel
def with_fresh_arm(state: TwoTargetState) -> TwoTargetState:
    """A fresh arm is in play."""
    return replaced(
        state,
        arm=state.counts.arms,
        successes=0,
        failed=0,
        until=FOR_GOOD,
        counts=blocks.with_arm(state.counts),
    )


def begin(state: TwoTargetState, key: int) -> TwoTargetState:
    """The first arm."""
    return with_fresh_arm(replaced(state, rounds=0, counts=blocks.with_block(blocks.NO_COUNTS, 0)))


@kernel
def after_failure(state: TwoTargetState) -> TwoTargetState:
    """Hold the arm against the target that is due, if one is."""
    failed = state.failed + 1
    until = state.until
    if failed == 1 and state.successes < first_target(state.settings, state.rounds):
        until = state.rounds
    elif failed == state.settings.failures:
        until = state.rounds
        if state.successes >= second_target(state.settings, state.rounds):
            until = outgrown_at(state.settings, state.successes)
    return replaced(state, failed=failed, until=until)


def tell(state: TwoTargetState, choice: Choice, reward: float) -> TwoTargetState:
    """Count successes and failures until the arm has passed; a fresh arm in place of one whose time is up."""
    told = replaced(state, rounds=state.rounds + 1)
    if choice.arm == state.arm and not has_passed(state):  # a late reward may belong to an arm that was left
        told = after_failure(told) if reward < 1.0 else replaced(told, successes=state.successes + 1)
    return with_fresh_arm(told) if rarely(told.rounds >= told.until) else told


blocks.register_policy(TwoTargetState, begin=begin, ask=blocks.ask_one_arm, tell=tell)
