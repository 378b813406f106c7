"""Feedbacks: when a policy hears what came of an ask.

A feedback gives every round a delay: the answer comes before the next ask if it is 0, else after that many more rounds.
It may get lost, come with a batch of others, or be known only once a success can no longer come. `manyarms.post` keeps
the open asks. A delay belongs to the number of the ask: the n-th answer is equally late for all policies.
"""

import abc
import dataclasses
import math
import statistics
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel
from .contract import Nothing, register, verb
from .specs import Fraction, Positive, Spec, among, count, exported, number, of_kind
from .streams import bits_at, u64, uniform

LONGEST_DELAY = 2**24
"""An open ask takes some 90 bytes in every replication; more rounds than this, some 3 GB, are taken for a mistake."""

# delay_of(delay, bits) -> rounds, from 0 to the longest.
delay_of = verb("delay_of")
# first_answer(rule, key, round, reward) -> the rounds after which something is heard of the ask of this round.
first_answer = verb("first_answer")
# answer_at(rule, key, round, age, reward) -> (told, more). What is heard of the ask of a round when it has that age
# (nan: that nothing will come), and after how many more rounds it will be corrected; 0 for never.
answer_at = verb("answer_at")
# is_correction(rule, age) -> whether what is heard at that age was told otherwise before.
is_correction = verb("is_correction", default=lambda rule, age: False)


def checked_rounds(owner: str, name: str, value: Any) -> int:
    """A number of rounds, within reason."""
    rounds = count(owner, name, value)
    if rounds > LONGEST_DELAY:
        raise ValueError(f"{owner}: {name} must be at most {LONGEST_DELAY:,} rounds, not {rounds:,}")
    return rounds


Rounds = Annotated[int, checked_rounds]

# ---------------------------------------------------------------- delays

QUANTILES = 4096
"""A delay is one of so many, equally likely: the middle of each part of its distribution. To look it up takes a tenth
of the time that logarithms do."""


class FixedState(NamedTuple):
    """The same for all."""

    rounds: int


register(FixedState, delay_of=lambda delay, bits: delay.rounds)


class QuantilesState(NamedTuple):
    """As the distribution says."""

    rounds: NDArray[np.int64]


register(QuantilesState, delay_of=lambda delay, bits: delay.rounds[u64(bits) >> u64(52)])


class Delay(Spec, abc.ABC, abstract=True):
    """Abstract: how many rounds an answer takes, by chance. What would take longer than ``longest`` takes that long."""

    kind: ClassVar[str] = "delay"

    longest: Rounds

    @abc.abstractmethod
    def quantile(self, probability: float) -> float:
        """With this probability it takes less."""

    def start(self) -> QuantilesState:
        """What the loop carries: whole rounds, rounded down. All replications share it."""
        middles = ((place + 0.5) / QUANTILES for place in range(QUANTILES))
        rounds = np.array([int(min(self.quantile(middle), self.longest)) for middle in middles], dtype=np.int64)
        rounds.flags.writeable = False
        return QuantilesState(rounds=rounds)


@dataclasses.dataclass(frozen=True)
class Geometric(Delay):
    """In each round the answer comes with the same probability.

    Parameters
    ----------
    mean
        How many rounds it takes on average, were there no longest.
    longest
        The most rounds it takes.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Delayed(ma.Geometric(mean=50.0, longest=1000)).longest
    1000
    """

    tried_with: ClassVar = ({"mean": 5.0, "longest": 60},)

    mean: Positive
    longest: Rounds

    def quantile(self, probability: float) -> float:
        """Of the exponential distribution whose whole part it is."""
        return math.log1p(-probability) / -math.log1p(1.0 / self.mean)


@dataclasses.dataclass(frozen=True)
class LogUniform(Delay):
    """The logarithm of the delay is uniform: 1 to 10 rounds are as likely as 10 to 100.

    Parameters
    ----------
    least, longest
        The fewest and the most rounds.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.LogUniform(least=1, longest=1800).quantile(0.5)  # the square root of 1 · 1801
    42.43819034784589
    """

    tried_with: ClassVar = ({"least": 1, "longest": 40},)

    least: Rounds
    longest: Rounds

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.longest:
            raise ValueError(f"LogUniform: least must be at most longest, not {self.least:,} and {self.longest:,}")

    def quantile(self, probability: float) -> float:
        """Up to just below ``longest`` + 1, so that the longest has its share."""
        return float(self.least * ((self.longest + 1) / self.least) ** probability)


def checked_spread(owner: str, name: str, value: Any) -> float:
    """A standard deviation of logarithms, within reason."""
    spread = number(owner, name, value)
    if not 0.0 < spread <= 10.0:
        raise ValueError(f"{owner}: {name} must lie in (0, 10], not {value!r}; with 1 a third are off by e or more")
    return spread


@dataclasses.dataclass(frozen=True)
class LogNormal(Delay):
    """The logarithm of the delay is normal.

    Parameters
    ----------
    median
        Half of the answers take longer than so many rounds.
    spread
        The standard deviation of the logarithm.
    longest
        The most rounds it takes.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.LogNormal(median=60.0, spread=1.5, longest=3600).quantile(0.5)
    60.0
    """

    tried_with: ClassVar = ({"median": 6.0, "spread": 1.0, "longest": 50},)

    median: Positive
    spread: Annotated[float, checked_spread]
    longest: Rounds

    def quantile(self, probability: float) -> float:
        """By that of the normal distribution."""
        return self.median * math.exp(statistics.NormalDist(sigma=self.spread).inv_cdf(probability))


def checked_delay(owner: str, name: str, value: Any) -> int | Delay:
    """A number of rounds, or how they are distributed."""
    if isinstance(value, Delay):
        return value
    if isinstance(value, Spec):
        raise TypeError(f"{owner}: {name} must be a number of rounds or a delay such as ma.Geometric(…), not {value!r}")
    return checked_rounds(owner, name, value)


AnyDelay = Annotated[int | Delay, checked_delay]


def delay_state(delay: int | Delay) -> Any:
    """What the loop carries of either."""
    return FixedState(rounds=delay) if isinstance(delay, int) else delay.start()


def longest_of(delay: int | Delay) -> int:
    """The most rounds it takes."""
    return delay if isinstance(delay, int) else delay.longest


# ---------------------------------------------------------------- feedbacks


class Feedback(Spec, abc.ABC, abstract=True):
    """Abstract: when a policy hears what came of an ask."""

    kind: ClassVar[str] = "feedback"
    pending: ClassVar[float | None] = None  # a field of those that are late

    @abc.abstractmethod
    def rule(self) -> Any:
        """When and what, in numbers."""

    @property
    @abc.abstractmethod
    def longest(self) -> int:
        """Rounds after which nothing more is heard of an ask."""

    @property
    def corrects(self) -> bool:
        """Whether something is told and later told otherwise."""
        return self.pending is not None

    @property
    def keeps_order(self) -> bool:
        """Whether answers come once and in order: each after the longest delay, or all open ones with one at once."""
        return False


class AtOnceRule(Nothing):
    """Before the next ask."""


@dataclasses.dataclass(frozen=True)
class AtOnce(Feedback):
    """Every answer comes before the next ask.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.World(ma.PowerLaw(beta=1.0)).feedback
    AtOnce()
    """

    def rule(self) -> AtOnceRule:
        """Before the next ask."""
        return AtOnceRule()

    @property
    def longest(self) -> int:
        """None is open for longer than its round."""
        return 0


def heard_at_once(rule: AtOnceRule, key: int, round: int, reward: float) -> int:
    """Before the next ask."""
    return 0


def told_as_it_is(rule: Any, key: int, round: int, age: int, reward: float) -> tuple[float, int]:
    """The reward, and that is all."""
    return reward, 0


register(AtOnceRule, first_answer=heard_at_once, answer_at=told_as_it_is)


class BatchesRule(NamedTuple):
    """All of a batch at its end."""

    size: int


@dataclasses.dataclass(frozen=True)
class Batches(Feedback):
    """Answers come in batches: those of rounds 1 … size after round ``size``, and so on.

    Parameters
    ----------
    size
        Rounds in a batch.
    pending
        What an answer is taken to be until it comes, for policies that take corrections; None: nothing.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), feedback=ma.Batches(100))
    >>> result = ma.simulate(ma.Elimination(beta=1.0), world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final_regret("Elimination").mean() < 1000)
    True
    """

    tried_with: ClassVar = ({"size": 7},)

    size: Rounds
    pending: Fraction | None = None  # type: ignore[misc]

    def rule(self) -> BatchesRule:
        """The size."""
        return BatchesRule(size=self.size)

    @property
    def longest(self) -> int:
        """The first of a batch waits for all others."""
        return self.size - 1

    @property
    def keeps_order(self) -> bool:
        """Within a batch and from one to the next."""
        return True


def heard_with_batch(rule: BatchesRule, key: int, round: int, reward: float) -> int:
    """When the batch is full."""
    return rule.size - 1 - (round - 1) % rule.size


register(BatchesRule, first_answer=heard_with_batch, answer_at=told_as_it_is)


class DelayedRule(NamedTuple):
    """Each after its delay."""

    delay: Any


@dataclasses.dataclass(frozen=True)
class Delayed(Feedback):
    """Every answer comes after a delay.

    Parameters
    ----------
    rounds
        How many more rounds are played before an answer comes, or how that is distributed: `Geometric`, `LogUniform`
        or `LogNormal`.
    pending
        What an answer is taken to be until it comes, for policies that take corrections; None: nothing.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), feedback=ma.Delayed(ma.LogUniform(1, 100)))
    >>> result = ma.simulate(ma.SSUCB(beta=1.0), world, horizon=2000, replications=4, seed=1)
    >>> bool(result.final_regret("SSUCB").mean() < 1000)
    True
    """

    tried_with: ClassVar = ({"rounds": 5}, {"rounds": Geometric(mean=8.0, longest=60)})

    rounds: AnyDelay
    pending: Fraction | None = None  # type: ignore[misc]

    def rule(self) -> DelayedRule:
        """The delay."""
        return DelayedRule(delay=delay_state(self.rounds))

    @property
    def longest(self) -> int:
        """That of the delay."""
        return longest_of(self.rounds)

    @property
    def keeps_order(self) -> bool:
        """If all take equally long."""
        return isinstance(self.rounds, int)


def heard_after_delay(rule: DelayedRule, key: int, round: int, reward: float) -> int:
    """By the bits of the round."""
    return int(delay_of(rule.delay, bits_at(key, round, 0)))


register(DelayedRule, first_answer=heard_after_delay, answer_at=told_as_it_is)

NEVER, CORRECTED = "never", "corrected"


class ConversionsRule(NamedTuple):
    """A success after its delay, a failure at the timeout."""

    delay: Any
    timeout: int
    corrects: bool  # whether a success that comes later is told after all


@dataclasses.dataclass(frozen=True)
class Conversions(Feedback):
    """A success is known after its delay, a failure only when no success can come any more.

    Any reward other than 0 is a success.

    Parameters
    ----------
    delay
        How many rounds a success takes, or how that is distributed.
    timeout
        After so many rounds without a success, 0 is told.
    late
        What becomes of a success that takes longer: ``"never"`` is it told, or the 0 is ``"corrected"`` when it comes.
    pending
        What an answer is taken to be until it comes, for policies that take corrections; None: nothing.

    Examples
    --------
    >>> import manyarms as ma
    >>> clicks = ma.Conversions(ma.LogUniform(1, 1800), timeout=1800, pending=0.0)
    >>> world = ma.World(ma.Uniform(0.0, 0.1), top=0.1, feedback=clicks)
    >>> result = ma.simulate(ma.Subsample(ma.Thompson(), beta=1.0), world, horizon=5000, replications=2, seed=1)
    >>> bool(result.final("Subsample", "reward").mean() > 250)
    True
    """

    tried_with: ClassVar = (
        {"delay": LogUniform(least=1, longest=30), "timeout": 12},
        {"delay": LogNormal(median=6.0, spread=1.0, longest=50), "timeout": 9, "late": CORRECTED},
        {"delay": LogUniform(least=1, longest=30), "timeout": 12, "pending": 0.0},
    )

    delay: AnyDelay
    timeout: Rounds
    late: Annotated[str, among((NEVER, CORRECTED))] = NEVER
    pending: Fraction | None = None  # type: ignore[misc]

    def rule(self) -> ConversionsRule:
        """Delay and timeout."""
        return ConversionsRule(delay_state(self.delay), self.timeout, self.late == CORRECTED)

    @property
    def longest(self) -> int:
        """The timeout, or the longest delay if that is heard of."""
        return max(self.timeout, longest_of(self.delay)) if self.late == CORRECTED else self.timeout

    @property
    def corrects(self) -> bool:
        """If there is something pending, or late successes are told."""
        return self.pending is not None or (self.late == CORRECTED and longest_of(self.delay) > self.timeout)


def conversion_heard(rule: ConversionsRule, key: int, round: int, reward: float) -> int:
    """A success, or the timeout."""
    if reward == 0.0:
        return rule.timeout
    return int(min(delay_of(rule.delay, bits_at(key, round, 0)), rule.timeout))


def conversion_told(rule: ConversionsRule, key: int, round: int, age: int, reward: float) -> tuple[float, int]:
    """At the timeout 0, unless the success comes just then."""
    if age != rule.timeout or reward == 0.0:
        return reward, 0
    more = delay_of(rule.delay, bits_at(key, round, 0)) - age
    if more <= 0:
        return reward, 0
    return 0.0, more if rule.corrects else 0


register(
    ConversionsRule,
    first_answer=conversion_heard,
    answer_at=conversion_told,
    is_correction=lambda rule, age: age > rule.timeout,
)


class LostRule(NamedTuple):
    """Some of the answers of another feedback never come."""

    others: Any
    probability: float
    given_up: int  # after so many rounds


@dataclasses.dataclass(frozen=True)
class Lost(Feedback):
    """Some answers never come.

    The ask is given up when no answer could come any more, and the policy hears of that.

    Parameters
    ----------
    probability
        With which an answer gets lost.
    feedback
        When the others come.
    pending
        What an answer is taken to be until it comes, for policies that take corrections; a lost one remains that.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Lost(0.1, ma.Batches(100)).longest
    99
    """

    tried_with: ClassVar = (
        {"probability": 0.3},
        {"probability": 0.2, "feedback": Delayed(rounds=Geometric(mean=8.0, longest=60))},
    )

    probability: Fraction
    feedback: Annotated[Feedback, of_kind(Feedback, "ma.Delayed(100)")] = AtOnce()
    pending: Fraction | None = None  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.feedback.pending is not None:
            raise ValueError(
                "Lost: pending belongs here, not to the feedback that it is about: write pending=… beside it"
            )

    def rule(self) -> LostRule:
        """The other rule, and what it loses."""
        return LostRule(self.feedback.rule(), self.probability, self.longest)

    @property
    def longest(self) -> int:
        """As without losses."""
        return self.feedback.longest

    @property
    def corrects(self) -> bool:
        """If there is something pending, or the other feedback does."""
        return self.pending is not None or self.feedback.corrects


@kernel
def is_lost(rule: LostRule, key: int, round: int) -> bool:
    """At an address of its own."""
    return uniform(bits_at(key, round, 1)) < rule.probability


def lost_heard(rule: LostRule, key: int, round: int, reward: float) -> int:
    """As the others, or at the end."""
    return rule.given_up if is_lost(rule, key, round) else int(first_answer(rule.others, key, round, reward))


def lost_told(rule: LostRule, key: int, round: int, age: int, reward: float) -> tuple[float, int]:
    """As the others, or nothing."""
    return (math.nan, 0) if is_lost(rule, key, round) else answer_at(rule.others, key, round, age, reward)


register(
    LostRule,
    first_answer=lost_heard,
    answer_at=lost_told,
    is_correction=lambda rule, age: is_correction(rule.others, age),
)

__all__ = exported(globals())
