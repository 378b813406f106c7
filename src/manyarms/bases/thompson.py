"""Thompson sampling for coins: draw a mean for every arm from what is known of it, play the largest.

What is known of an arm after S successes and F failures is Beta(1 + S, 1 + F), if all means were equally
likely at first, and Beta(a + S, b + F) if they were Beta(a, b). An arm is thus played as often as it is likely to be
the best.

Source: Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence of two
samples" (Biometrika 1933); for more arms Agrawal & Goyal, "Analysis of Thompson Sampling for the Multi-armed
Bandit Problem" (COLT 2012), Algorithm 1. On a subsample it is SS-TS of Bayati, Hamidi, Johari & Khosravi
(NeurIPS 2020).

Symbols: S_i, F_i -> sums, plays - sums; theta_i -> drawn_mean; a, b -> prior.

Deviations: rewards between 0 and 1 count as that part of a success (fractional counts), where Agrawal & Goyal
throw a coin for them, which their proof needs: for coins the two are the same. Rewards beyond [0, 1] count as
the end they are beyond. There is no closed form for the probability of a choice, and 1 is stated
instead: do not weigh rewards by it.

Every arm's mean is drawn anew in every round, which takes O(arms) time: only then are the draws of different rounds
independent. Draws are addressed by (number of the ask, slot).
"""

import dataclasses
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import power
from ..compiled import kernel, load_both, replaced
from ..contract import Choice, counted, verb
from ..specs import positive, several
from ..streams import beta_draw, bits_at, uniform
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base

FLAT = (1.0, 1.0)
"""The prior by which all means are equally likely."""


class ThompsonState(NamedTuple):
    """A run over one subsample, with the flat prior."""

    rewards: Rewards
    arms: int = 0


class PriorThompsonState(NamedTuple):
    """A run over one subsample, with another prior."""

    rewards: Rewards
    a: float
    b: float
    arms: int = 0


def checked_prior(owner: str, name: str, value: Any) -> tuple[float, float]:
    """Two numbers above 0."""
    numbers = tuple(positive(owner, f"each of the {name}", one) for one in several(owner, name, value))
    if len(numbers) != 2:
        raise ValueError(f"{owner}: {name} must be two numbers, a and b of Beta(a, b), not {value!r}")
    return numbers


@dataclasses.dataclass(frozen=True)
class Thompson(Base):
    """The largest of one draw for each arm, from Beta(a + successes, b + failures).

    Parameters
    ----------
    prior
        (a, b): what is believed of an arm before its first play, as a Beta distribution. (1, 1) by default: all means
        are equally likely. Where means of a few per cent are known to be the rule, say so: with the flat prior every
        arm has to be played some fifty times before it is believed to be that bad.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Thompson(), beta=1.0).base.label()
    'Thompson()'
    >>> ma.Thompson(prior=(1, 30)).label()
    'Thompson(prior=(1.0, 30.0))'
    """

    about: ClassVar = About(
        told=(),
        rate="log(T) / gap for each arm",
        made_for=("still",),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({}, {"prior": (0.5, 3.0)})

    prior: Annotated[tuple[float, float], checked_prior] = FLAT

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; without a word on the flat prior.

        So specs from before there were others keep their digests.
        """
        values = super().to_json()
        if self.prior == FLAT:
            del values["prior"]
        return values

    def start(self, slots: int) -> ThompsonState | PriorThompsonState:
        """A state with arrays for ``slots`` arms."""
        rewards = new_rewards(slots)
        return ThompsonState(rewards) if self.prior == FLAT else PriorThompsonState(rewards, *self.prior)


AnyState = ThompsonState | PriorThompsonState

# draw_of(base, slot, bits) -> float. A mean for the arm in a slot, from what is known of it.
draw_of = verb("draw_of")


@kernel
def drawn_mean(rewards: Rewards, a: float, b: float, slot: int, bits: int) -> float:
    """A mean from Beta(a + successes, b + failures).

    Where one of the two is 1, the distribution function is a power. To invert it takes less time, and with the flat
    prior such are all arms that have only failed or only succeeded, most of a large subsample: 16 instead of 27 µs a
    round with 100 arms.
    """
    plays, total = load_both(rewards.plays, rewards.sums, slot)
    successes = a + total
    failures = b + (plays - total)
    if successes == 1.0:
        return 1.0 - power(1.0 - uniform(bits), 1.0 / failures)
    if failures == 1.0:
        return power(1.0 - uniform(bits), 1.0 / successes)
    return beta_draw(bits, successes, failures)


def renew(base: Any, arms: int, horizon: float, log_horizon: float) -> Any:
    """Nothing is known of any arm but the prior."""
    forget(base.rewards, arms)
    return replaced(base, arms=arms)


@kernel
def best_draw(base: Any, key: int, round: int) -> tuple[int, float]:
    """The arm with the largest draw; ties go to the lower slot."""
    best = 0
    largest = draw_of(base, 0, bits_at(key, round, 0))
    for slot in range(1, base.arms):
        mean = draw_of(base, slot, bits_at(key, round, slot))
        if mean > largest:
            best = slot
            largest = mean
    return best, 1.0


@kernel
def best_draw_among(base: Any, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The allowed arm with the largest draw; -1 if none is allowed."""
    best = -1
    largest = 0.0
    for slot in range(base.arms):
        if allowed[slot]:
            mean = draw_of(base, slot, bits_at(key, round, slot))
            if best < 0 or mean > largest:
                best = slot
                largest = mean
    return best, 1.0


def part_of_success(base: AnyState, reward: float) -> float:
    """A success, a failure, or a part of each."""
    return min(max(reward, 0.0), 1.0)


def learn(base: Any, choice: Choice, reward: float) -> Any:
    """Count it."""
    earn(base.rewards, choice.slot, counted(base, reward))
    return base


def revise(base: Any, slot: int, plays: int, total: float) -> Any:
    """Count otherwise what was counted."""
    add_to(base.rewards, slot, plays, total)
    return base


def draw(base: ThompsonState, slot: int, bits: int) -> float:
    """All means were equally likely."""
    return drawn_mean(base.rewards, 1.0, 1.0, slot, bits)


def draw_by_prior(base: PriorThompsonState, slot: int, bits: int) -> float:
    """They were as the prior says."""
    return drawn_mean(base.rewards, base.a, base.b, slot, bits)


def register_sampling(state_type: type, **kernels: Any) -> None:
    """Give a state its kernels that has ``rewards`` and ``arms``, and draws a mean for every arm with ``draw_of``."""
    register_base(
        state_type,
        renew=renew,
        pick=best_draw,
        learn=learn,
        revise=revise,
        best_among=best_draw_among,
        **kernels,
    )


register_sampling(ThompsonState, draw_of=draw, counted=part_of_success)
register_sampling(PriorThompsonState, draw_of=draw_by_prior, counted=part_of_success)
