"""KFailures: keep an arm until it has failed k times, then take a fresh one.

Copy this file to write a policy. The idea goes here, in five lines or fewer.

Source: Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of
Statistics, 1997): the k-failure strategy.

Symbols: the paper's letter -> our name. k -> failures.

Deviations: what was changed, and why. A failure is a reward below 1, and a late one for an arm that
was already left is ignored.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyarms.contract import Choice, Counts, register
from manyarms.policies import Policy
from manyarms.specs import count


class KFailuresState(NamedTuple):
    """Numbers and arrays only; a comment for each field."""

    failures: int  # k
    arm: int  # the arm in play
    failed: int  # how often it has failed
    ignored: int  # rewards that came too late


@dataclasses.dataclass(frozen=True)
class KFailures(Policy):
    """Keep an arm until it has failed k times (Berry et al. 1997).

    Parameters
    ----------
    failures
        How many failures an arm is allowed.
    """

    failures: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "failures", count("KFailures", "failures", self.failures))

    def slots(self, rounds: int) -> int:
        """The most arms it keeps at a time."""
        return 1

    def start(self, rounds: int) -> KFailuresState:
        """Allocate for that many rounds; ``begin`` fills in the first values."""
        return KFailuresState(failures=self.failures, arm=0, failed=0, ignored=0)

    def kept_arms(self, state: KFailuresState) -> NDArray[np.int64]:
        """The arms it may still choose."""
        return np.array([state.arm])


def begin(state: KFailuresState, key: int) -> KFailuresState:
    """A new replication. A policy that draws random numbers keeps the key."""
    return KFailuresState(failures=state.failures, arm=0, failed=0, ignored=0)


def ask(state: KFailuresState, round: int, waiting: int) -> Choice:
    """Changes nothing. Here every arm is a block of its own, so late rewards find out."""
    return Choice(slot=0, arm=state.arm, probability=1.0, block=state.arm + 1, round=round)


def tell(state: KFailuresState, choice: Choice, reward: float) -> KFailuresState:
    """May write into arrays; returns the new state, always by the full constructor."""
    arm, failed, ignored = state.arm, state.failed, state.ignored
    if choice.block != arm + 1:
        ignored += 1
    elif reward < 1.0:
        failed += 1
        if failed == state.failures:
            arm += 1
            failed = 0
    return KFailuresState(failures=state.failures, arm=arm, failed=failed, ignored=ignored)


def counts(state: KFailuresState) -> Counts:
    """What every policy counts of itself."""
    return Counts(restarts=0, blocks=state.arm + 1, arms=state.arm + 1, ignored=state.ignored)


def observe(state: KFailuresState, world: Any, choice: Choice) -> KFailuresState:
    """For oracles; all others return the state."""
    return state


register(KFailuresState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe)
