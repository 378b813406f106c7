"""KFailure: a rule for coins that keeps an arm until it has failed k times.

Source: Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of
Statistics 25, 1997): the k-failure strategy.

Symbols: k -> failures (spec).

Deviations: a failure is a reward below 1, where the source has coins only. A late reward for an arm that was left
meanwhile changes nothing.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..about import About
from ..compiled import kernel, replaced
from ..contract import Choice, Counts
from ..specs import Count
from .base import OneArmPolicy
from .blocks import NO_COUNTS, ask_one_arm, register_policy, with_block


class KFailureState(NamedTuple):
    """The arm in play."""

    failures: int  # k
    arm: int = 0
    failed: int = 0  # how often it has failed
    counts: Counts = NO_COUNTS  # each arm is a block of its own, so that late rewards find out


@dataclasses.dataclass(frozen=True)
class KFailure(OneArmPolicy):
    """Keep an arm until it has failed k times (Berry et al. 1997).

    Parameters
    ----------
    failures
        How many failures an arm is allowed; a failure is a reward below 1.

    Examples
    --------
    With coins and a uniform reservoir its regret is about T / log T:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.KFailure(), world, horizon=10_000, replications=20, seed=1)
    >>> bool(1000 < result.final_regret("KFailure").mean() < 1250)
    True
    """

    about: ClassVar = About(
        told=("top 1",),
        rate="T / log T, at beta = 1",
        made_for=("still", "coins"),
        cost="O(1)",
    )
    tried_with: ClassVar = ({"failures": 2},)

    failures: Count = 1

    def start(self, rounds: int) -> KFailureState:
        """Nothing to allocate."""
        return KFailureState(failures=self.failures)

    def explain(self, state: KFailureState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {"episode": 1, "arms": 1, "failures_of_arm": state.failed, "last_restart": None}


@kernel
def with_fresh_arm(state: KFailureState) -> KFailureState:
    """A fresh arm is in play."""
    return replaced(state, arm=state.counts.arms, failed=0, counts=with_block(state.counts, 1))


def begin(state: KFailureState, key: int) -> KFailureState:
    """The first arm."""
    return with_fresh_arm(replaced(state, counts=NO_COUNTS))


def tell(state: KFailureState, choice: Choice, reward: float) -> KFailureState:
    """Count failures; a fresh arm after the k-th."""
    failed = state.failed + (1 if reward < 1.0 else 0)
    if failed == state.failures:
        return with_fresh_arm(state)
    return replaced(state, failed=failed)


register_policy(KFailureState, begin=begin, ask=ask_one_arm, tell=tell)
