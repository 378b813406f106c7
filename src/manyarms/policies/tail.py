"""``beta="auto"``: the tail exponent of the reservoir, estimated from the rewards as they come.

Think of an arm that dies of its losses: at each play it dies with a chance equal to its loss, so that after losses x, y
it is alive with chance (1 - x)(1 - y). Whatever the noise, an arm with gap g is alive after n plays with chance
(1 - g)^n on average, and if P(gap < x) = x^beta, an arm that is alive dies in its n-th play with odds beta / n. So

    beta = deaths / sum over plays of (chance to survive this play) / n,

over any plays that are not selected by their own reward. Plays are put into levels, n = 1, n = 2 … 3, n = 4 … 7 and so
on. Level 0 looks at the whole reservoir, deep levels at its best arms. The sizes that policies compute have no constant
but beta, so what they need is the exponent that leads from P(gap < 1) = 1 to P(gap < x) for the least gap x that a run
can make use of: the average over the levels down to n = 1 / x.

Source: ours. For coins and the first level it is the mean of first losses, beta / (beta + 1).
docs/theory/auto-beta.md has the proof, and measures where it is good and where it is bad.
"""

import abc
import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import BIAS, FRACTION_BITS, word_of
from ..bases.base import Base
from ..compiled import kernel, load_both, replaced, store_both
from ..contract import register, verb
from ..specs import fraction, positive
from .base import Policy

AUTO = "auto"
"""For ``beta`` and ``top``: unknown, and estimated from the rewards."""

LEAST_BETA, MOST_BETA = 0.1, 8.0
"""What an estimate is held within. The upper end bounds how many arms a policy needs room for."""

LIKELY_BETA = 2.0
"""Room for subsamples of this beta is enough for most runs, and a small part of what the largest beta needs."""

LEVELS = 16
"""Of plays 1, 2 … 3, 4 … 7 and so on: of 2^31 rounds no arm that is worth it needs more than 2^15.5 to be found."""

PRIOR_BETA = 1.0
PRIOR_DEATHS = 2.0
"""Before the first reward beta is 1, as if two arms had died in their first play and two had not."""

DEEPER_DEATHS = 4.0
"""A deeper level begins with the estimate of the one above it, as if that many arms had died there."""

MOST_WEIGHT = 8.0
"""With a top below 1 a chance to be alive can grow beyond 1. Levels where it could exceed this are too noisy."""


class ToldBeta(NamedTuple):
    """Beta is known: there is nothing to watch, and the type says so to the compiler."""

    beta: float
    is_cramped: bool = False  # its subsamples are as large as they can become


class Tail(NamedTuple):
    """What is known of the reservoir."""

    top: float
    levels: int  # how deep it looks
    plays: NDArray[np.int64]  # slot -> how many rewards of its arm have come while it was alive
    alive: NDArray[np.float64]  # slot -> the chance that its arm is alive
    deaths: NDArray[np.float64]  # level -> arms that died there
    survivals: NDArray[np.float64]  # level -> sum of 1 / n for arms that survived their n-th play
    came: NDArray[np.float64]  # level -> arms that came to it alive
    is_cramped: bool = False  # whether a subsample did not fit into the arrays: the run is not what it would have been


def checked_beta(owner: str, name: str, beta: Any) -> float | str:
    """A beta as its spec keeps it."""
    if isinstance(beta, str):
        if beta != AUTO:
            raise ValueError(f"{owner}: {name} must be a number above 0 or {AUTO!r}, not {beta!r}")
        return AUTO
    return positive(owner, name, beta)


def checked_top_or_auto(owner: str, name: str, top: Any) -> float | str:
    """A top as its spec keeps it."""
    if isinstance(top, str):
        if top != AUTO:
            raise ValueError(f"{owner}: {name} must be a number in [0, 1] or {AUTO!r}, not {top!r}")
        return AUTO
    return fraction(owner, name, top)


Beta = Annotated[float | str, checked_beta]
Top = Annotated[float | str, checked_top_or_auto]


class SubsamplingPolicy(Policy, abstract=True):
    """Abstract: draws subsamples whose size follows from beta. Its state has a ``tail``."""

    beta: Beta

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_top(type(self).__name__, self.beta, getattr(self, "top", 1.0))

    @property
    def takes_corrections(self) -> bool:  # type: ignore[override]
        """Sums can be corrected. What an arm survived or was known by, from which beta and top are learned, cannot."""
        if isinstance(self.beta, str) or isinstance(getattr(self, "top", 1.0), str):
            return False
        return getattr(getattr(self, "base", None), "takes_corrections", True)

    @property
    def is_random(self) -> bool:
        """If its base is."""
        return getattr(getattr(self, "base", None), "is_random", False)

    @property
    def is_wide(self) -> bool:
        """If it learns the top, from a reservoir that is a row."""
        return isinstance(getattr(self, "top", 1.0), str)

    def chance_of(self, state: Any, slot: int, allowed: NDArray[np.bool_]) -> float:
        """That of its base, which has one choice unless it is random, or no closed form for it."""
        base: Base | None = getattr(self, "base", None)
        return 0.0 if base is None else base.chance_among(state.base, slot, allowed)

    def settings(self) -> Any:
        """The spec in numbers. A top that is learned is not among them: it is in the state's ``tail``."""
        found = super().settings()
        return found._replace(top=1.0) if isinstance(getattr(found, "top", 1.0), str) else found

    @abc.abstractmethod
    def slots_for(self, beta: float, rounds: int) -> int:
        """The largest subsample that can be drawn within ``rounds`` rounds if beta is at most this."""

    @abc.abstractmethod
    def start_in(self, slots: int) -> Any:
        """A state with arrays for that many arms."""

    def slots(self, rounds: int) -> int:
        """The largest subsample that can be drawn within ``rounds`` rounds."""
        return self.slots_for(MOST_BETA if isinstance(self.beta, str) else self.beta, rounds)

    def start(self, rounds: int) -> Any:
        """A state with arrays for ``rounds`` rounds."""
        return self.start_in(self.slots(rounds))

    def likely_start(self, rounds: int) -> tuple[Any, int]:
        """With room for a beta that is not among the largest, if it is estimated."""
        slots = self.slots(rounds)
        if isinstance(self.beta, str):
            slots = min(slots, self.slots_for(LIKELY_BETA, rounds))
        return self.start_in(slots), slots


def is_too_small(state: Any) -> bool:
    """For ``is_cramped``: whether a subsample did not fit."""
    return state.tail.is_cramped  # type: ignore[no-any-return]


def usable_levels(top: float) -> int:
    """How many levels have weights that cannot grow beyond reason: top^-n is at most MOST_WEIGHT."""
    levels = 1
    while levels < LEVELS and top ** -(2.0 ** (levels + 1)) <= MOST_WEIGHT:
        levels += 1
    return levels


def checked_top(owner: str, beta: float | str, top: float | str) -> None:
    """Below this, beta cannot be estimated."""
    if isinstance(beta, str) and not isinstance(top, str) and top < 0.01:
        raise ValueError(f"{owner}: beta={AUTO!r} needs a top of at least 0.01, not {top!r}; tell it beta as a number")


def new_tail(beta: float | str, slots: int, top: float = 1.0) -> ToldBeta | Tail:
    """The beta that was told, or nothing known yet and arrays for that many slots."""
    if not isinstance(beta, str):
        return ToldBeta(beta=beta)
    return Tail(
        top=top,
        levels=usable_levels(top),
        plays=np.zeros(slots, dtype=np.int64),
        alive=np.zeros(slots),
        deaths=np.zeros(LEVELS),
        survivals=np.zeros(LEVELS),
        came=np.zeros(LEVELS),
    )


# ---------------------------------------------------------------- verbs of a tail

# is_estimated(tail) -> whether beta can change.
is_estimated = verb("is_estimated")
# watch_fresh_arm(tail, slot) -> None. A slot has a fresh arm now.
watch_fresh_arm = verb("watch_fresh_arm")
# watch_moved_arm(tail, source, target) -> None. An arm has moved from one slot to another.
watch_moved_arm = verb("watch_moved_arm")
# watch_reward(tail, slot, reward) -> tail. Count the reward of the arm in a slot.
watch_reward = verb("watch_reward")
# watch_leaving_arm(tail, slot) -> tail. The arm in a slot is about to go.
watch_leaving_arm = verb("watch_leaving_arm")
# beta_for(tail, log_rounds) -> beta for a run, or a block, of 2^log_rounds rounds.
beta_for = verb("beta_for")
# cautious_beta(tail, log_rounds) -> the same on the safe side, for policies that keep one arm at a time.
cautious_beta = verb("cautious_beta")
# fitted(tail, wanted) -> (tail, size). A subsample as large as wanted, if there is room for it; the tail takes note.
fitted = verb("fitted")
# opened(tail, size) -> tail. A block of so many arms has been opened.
opened = verb("opened")
# closed(tail, size) -> tail. A block is over, and the arms in its first slots, so many, may go.
closed = verb("closed")
# top_of(tail, told) -> the mean from which losses are counted: that which was told, unless it is learned.
top_of = verb("top_of")
# limited(tail, limit, rounds, length) -> the losses at which a block of that length has lost too much after so many
# rounds: the limit, or less, where it is known what random arms earn.
limited = verb("limited")


def same(tail: Any, number: int) -> Any:
    """For kinds that have nothing to learn of that."""
    return tail


def told_limit(tail: Any, limit: float, rounds: int, length: int) -> float:
    """For kinds that do not know what random arms earn."""
    return limit


def told_top(tail: Any, told: float) -> float:
    """For kinds that do not learn it."""
    return told


def told(tail: ToldBeta, log_rounds: float) -> float:
    """The beta that was told."""
    return tail.beta


register(
    ToldBeta,
    begin=lambda tail, key: tail,
    is_estimated=lambda tail: False,
    watch_fresh_arm=lambda tail, slot: None,
    watch_moved_arm=lambda tail, source, target: None,
    watch_reward=lambda tail, slot, reward: tail,
    watch_leaving_arm=same,
    beta_for=told,
    cautious_beta=told,
    fitted=lambda tail, wanted: (tail, wanted),
    opened=same,
    closed=same,
    top_of=told_top,
    limited=told_limit,
)


def begin_tail(tail: Tail, key: int) -> Tail:
    """Forget what was counted."""
    for level in range(tail.deaths.size):
        tail.deaths[level] = 0.0
        tail.survivals[level] = 0.0
        tail.came[level] = 0.0
    watch_fresh(tail, 0)
    return replaced(tail, is_cramped=False)


@kernel
def watch_fresh(tail: Tail, slot: int) -> None:
    """Nothing has come of its arm."""
    tail.plays[slot] = 0
    tail.alive[slot] = 1.0


def watch_moved(tail: Tail, source: int, target: int) -> None:
    """What is known of the arm goes with it."""
    tail.plays[target] = tail.plays[source]
    tail.alive[target] = tail.alive[source]


def watch(tail: Tail, slot: int, reward: float) -> Tail:
    """Let the arm die of its loss, as far as it can be alive."""
    plays, alive = load_both(tail.plays, tail.alive, slot)
    if alive != 0.0:
        n = plays + 1
        level = level_of(n)
        if level < tail.levels:
            if n == 1 << level:
                tail.came[level] += alive
            # No bounded noise of the package goes beyond [-1, 1]; what others have there counts as the end.
            survives = alive * (min(max(reward, -1.0), 1.0) / tail.top)
            tail.deaths[level] += alive - survives
            tail.survivals[level] += survives / n
            store_both(tail.plays, tail.alive, slot, n, survives)
    return tail


def fitted_tail(tail: Tail, wanted: int) -> tuple[Tail, int]:
    """Once cramped, always cramped."""
    room = tail.plays.size
    return replaced(tail, is_cramped=tail.is_cramped or wanted > room), min(wanted, room)


@kernel
def level_of(n: int) -> int:
    """The whole part of log2(n), from the exponent of the float."""
    return (word_of(float(n)) >> FRACTION_BITS) - BIAS


@kernel
def bounded_ratio(deaths: float, survivals: float) -> float:
    """Their ratio, within bounds; noise can bring either below 0."""
    if deaths >= MOST_BETA * survivals:
        return MOST_BETA
    return max(deaths / survivals, LEAST_BETA)


@kernel
def estimated_beta(tail: Tail, log_rounds: float) -> float:
    """The exponent for a run, or a block, of 2^log_rounds rounds.

    A gap x is of use down to x = rounds^(-1 / (beta + 1)), or rounds^(-1/2) for beta < 1: below it a better arm saves
    less than it costs to find it. Each level counts as far as all arms that were alive were played on: those that were
    not may have been left for what they had lost. For the rest, a level is as the one above.
    """
    beta = bounded_ratio(PRIOR_BETA * PRIOR_DEATHS + tail.deaths[0], PRIOR_DEATHS + tail.survivals[0])
    total = beta
    average = beta
    trust = 1.0
    level = 1
    while level < tail.levels and level * (max(average, 1.0) + 1.0) <= log_rounds:
        trust *= trust_in(tail.came[level], tail.came[level - 1] - tail.deaths[level - 1])
        here = bounded_ratio(DEEPER_DEATHS + tail.deaths[level], DEEPER_DEATHS / beta + tail.survivals[level])
        beta += trust * (here - beta)
        total += beta
        level += 1
        average = total / level
    return min(max(average, LEAST_BETA), MOST_BETA)  # rounding may have brought it a hair below


@kernel
def trust_in(came: float, left: float) -> float:
    """How far those who came to a level stand for all that were left alive above it: their ratio to the power 4.

    A tenth that is missing costs a third of the trust, a third four fifths: those who are missing are not just any.
    With weights below 0 more can come than were left, which is no better.
    """
    if came <= 0.0 or left <= 0.0:
        return 0.0
    share = min(came, left) / max(came, left)
    share *= share
    return share * share


def cautious_estimate(tail: Tail, log_rounds: float) -> float:
    """The estimate less one standard error, which is a share 1 / sqrt(deaths) of it.

    For policies that keep one arm at a time: a beta too large makes them content with the arm they have, and then they
    learn nothing more of others.
    """
    doubt = 1.0 / math.sqrt(1.0 + max(tail.deaths[0], 0.0))
    return max((1.0 - doubt) * estimated_beta(tail, log_rounds), LEAST_BETA)


register(
    Tail,
    begin=begin_tail,
    is_estimated=lambda tail: True,
    watch_fresh_arm=watch_fresh,
    watch_moved_arm=watch_moved,
    watch_reward=watch,
    watch_leaving_arm=same,
    beta_for=estimated_beta,
    cautious_beta=cautious_estimate,
    fitted=fitted_tail,
    opened=same,
    closed=same,
    top_of=told_top,
    limited=told_limit,
)


def explained(tail: Any, log_rounds: float) -> dict[str, Any]:
    """For ``explain``: the estimate, if beta is one, and the top, if it is learned."""
    beta = {"beta": float(beta_for(tail, log_rounds))} if is_estimated(tail) else {}
    top = float(top_of(tail, math.nan))
    return beta if math.isnan(top) else beta | {"top": top}
