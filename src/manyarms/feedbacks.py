"""Feedbacks: when a policy hears what came of an ask.

A feedback gives every round a delay: the answer comes before the next ask if it is 0, else after that many more rounds.
It may get lost, come with a batch of others, or be known only once a success can no longer come. `manyarms.post` keeps
the open asks. A delay belongs to the number of the ask: the n-th answer is equally late for all policies.
"""

import abc
import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from .arithmetic import exponential, floor, natural_log
from .contract import Nothing, register, verb
from .specs import Count, Fraction, Part, Positive, Spec, among, count, exported, number, of_kind
from .streams import bits_at, normal, uniform

LONGEST_DELAY = 2**24
"""An open ask takes some 70 bytes in every replication; more rounds than this, over 1 GB, are taken for a mistake."""

# delay_of(delay, bits) -> rounds, from 0 to the longest.
delay_of = verb("delay_of")
# first_answer(rule, key, round, reward) -> the rounds after which something is heard of the ask of this round.
first_answer = verb("first_answer")
# answer_at(rule, key, round, age, reward) -> (told, more). What is heard of the ask of a round when it has that age (nan:
# that nothing will come), and after how many more rounds it will be corrected; 0 for never.
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


class Delay(Part, abstract=True):
    """Abstract: how many rounds an answer takes, by chance. What would take longer than ``longest`` takes that long."""

    kind: ClassVar[str] = "delay"

    longest: Rounds


class FixedState(NamedTuple):
    """The same for all."""

    rounds: int


register(FixedState, delay_of=lambda delay, bits: delay.rounds)


class GeometricState(NamedTuple):
    """Each round the answer comes with the same probability."""

    longest: int
    log_open: float  # the logarithm of the probability that it does not


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

    def start(self) -> GeometricState:
        """What the loop carries."""
        return GeometricState(longest=self.longest, log_open=-math.log1p(1.0 / self.mean))


def geometric_delay(delay: GeometricState, bits: int) -> int:
    """By inversion."""
    return min(floor(min(natural_log(1.0 - uniform(bits)) / delay.log_open, LONGEST_DELAY)), delay.longest)


register(GeometricState, delay_of=geometric_delay)


class LogUniformState(NamedTuple):
    """Equally likely on all scales."""

    least: float
    log_range: float
    longest: int


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
    >>> ma.LogUniform(least=1, longest=1800).label()
    'LogUniform(least=1, longest=1800)'
    """

    tried_with: ClassVar = ({"least": 1, "longest": 40},)

    least: Rounds
    longest: Rounds

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.longest:
            raise ValueError(f"LogUniform: least must be at most longest, not {self.least:,} and {self.longest:,}")

    def start(self) -> LogUniformState:
        """What the loop carries."""
        log_range = math.log(self.longest + 1) - math.log(self.least)
        return LogUniformState(least=float(self.least), log_range=log_range, longest=self.longest)


def log_uniform_delay(delay: LogUniformState, bits: int) -> int:
    """By inversion; whole rounds."""
    return min(floor(delay.least * exponential(delay.log_range * uniform(bits))), delay.longest)


register(LogUniformState, delay_of=log_uniform_delay)


class LogNormalState(NamedTuple):
    """Normal on the scale of logarithms."""

    median: float
    spread: float
    longest: int


def checked_spread(owner: str, name: str, value: Any) -> float:
    """A standard deviation of logarithms, within reason."""
    spread = number(owner, name, value)
    if not 0.0 <= spread <= 10.0:
        raise ValueError(f"{owner}: {name} must lie in [0, 10], not {value!r}; 1 means that a third differ by e or more")
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
    >>> ma.LogNormal(median=60.0, spread=1.5, longest=3600).label()
    'LogNormal(median=60.0, spread=1.5, longest=3600)'
    """

    state_type: ClassVar = LogNormalState
    tried_with: ClassVar = ({"median": 6.0, "spread": 1.0, "longest": 50},)

    median: Positive
    spread: Annotated[float, checked_spread]
    longest: Rounds


def log_normal_delay(delay: LogNormalState, bits: int) -> int:
    """Whole rounds."""
    rounds = delay.median * exponential(delay.spread * normal(bits, 1))
    return min(floor(min(rounds, LONGEST_DELAY)), delay.longest)


register(LogNormalState, delay_of=log_normal_delay)


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


register(
    AtOnceRule, first_answer=lambda rule, key, round, reward: 0, answer_at=lambda rule, key, round, age, reward: (reward, 0)
)


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


register(
    BatchesRule,
    first_answer=lambda rule, key, round, reward: rule.size - 1 - (round - 1) % rule.size,
    answer_at=lambda rule, key, round, age, reward: (reward, 0),
)


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


register(
    DelayedRule,
    first_answer=lambda rule, key, round, reward: delay_of(rule.delay, bits_at(key, round, 0)),
    answer_at=lambda rule, key, round, age, reward: (reward, 0),
)

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
    return min(delay_of(rule.delay, bits_at(key, round, 0)), rule.timeout)


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
            raise ValueError("Lost: pending belongs here, not to the feedback that it is about: write pending=… beside it")

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


def is_lost(rule: LostRule, key: int, round: int) -> bool:
    """At an address of its own."""
    return uniform(bits_at(key, round, 1)) < rule.probability


def lost_heard(rule: LostRule, key: int, round: int, reward: float) -> int:
    """As the others, or at the end."""
    return rule.given_up if is_lost(rule, key, round) else first_answer(rule.others, key, round, reward)


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
