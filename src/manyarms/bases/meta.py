"""META: play the arms that nothing speaks against, and now and then, for a while, all arms again.

An arm is dropped when another one has been so much better, over some stretch of rounds, that it is no chance. What was
dropped may become the best one without being seen; so replays begin at random, long ones more rarely than short ones,
in which all arms are played. When every arm has been dropped since the episode began, the best arm has changed in a way
that matters (a significant shift), and a new episode begins.

Source: Suk & Kpotufe, "Tracking Most Significant Arm Switches in Bandits" (COLT 2022, arXiv:2112.13838), Algorithms 1
and 2: the ancestor of Suk & Kim's algorithms for arms without end.

Symbols: t_l -> the first round of an episode; Base(s, m) -> an entry of the stack, with its first and last round; A_t ->
active; A_master -> sets[0]; B_(s, m) -> replay_rank; delta-hat_t(a', a) -> the difference of two estimates, reward /
probability of the played arm and 0 of all others; log(T) sqrt(K (s2 - s1) v K^2) -> eviction_limit; K -> arms;
T -> horizon.

Deviations: the paper looks at all stretches [s1, s2]. Here they have 1, 2, 4, … 2^20 rounds and end at multiples of
half their length, counted from the episode's first round (`manyarms.bases.recent`): any stretch contains one of more
than a third of its length. Each is looked at once, when it ends, and what it speaks against is dropped from all replays that
had begun by its first round. Of all lengths that are drawn for the same round only the longest begins; a replay that a
newer one outlasts never comes to its turn again, and is forgotten. A round is an answer. Rewards beyond [0, 1] count as
the end they are beyond; estimates are rounded down to multiples of 2^-30. Logarithms are natural. The paper's text was
not at hand: the constant of the limit, and what is dropped from which set, are as remembered.

Late answers are as for other bases that draw (`manyarms.bases.drawn`): open asks teach nothing, an answer is weighed by
the probability of its ask.

For few arms, at most 60: until one that is a gap behind can be dropped, it takes some K (log(T) / gap)^2 rounds. With
a gap of 1/2 and T = 10^6 that are 7,600 for 10 arms, and would be 760,000 for 1,000 (``threshold`` makes it less). A
round takes O(arms) time on average.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import binary_log, ceiling, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..specs import Positive
from ..streams import UNSET_KEY, bits_at, index_below, uniform
from .base import Base
from .drawn import within
from .recent import LEVELS, Recent, forget_recent, in_grains, new_recent, remember, window_mean
from .restarts import all_plays

MOST_ARMS = 60
"""A set of arms is the bits of one number."""

RANKS = 40
"""Replays have at most 2^40 rounds."""

NEVER = 1 << 62


class METAState(NamedTuple):
    """A run over one subsample. Rounds are counted from the first one of the episode."""

    threshold: float
    plays: NDArray[np.int64]  # slot -> all its plays
    estimates: Recent  # of every slot, in every round
    sets: NDArray[np.int64]  # place in the stack -> the arms that are left to it
    firsts: NDArray[np.int64]  # place -> its first round
    lasts: NDArray[np.int64]  # place -> its last round
    key: int = UNSET_KEY
    arms: int = 0
    level: float = 0.0  # threshold · log T
    ranks: int = 0  # the longest replay has 2^ranks rounds
    depth: int = 1  # of the stack: the newest is in control, the oldest is the episode itself
    active: int = 0  # the arms that are left to the one in control
    size: int = 0  # how many those are
    restarts: int = 0


@dataclasses.dataclass(frozen=True)
class META(Base):
    """Drop arms that lost by far over some stretch of rounds, and replay all arms at random (Suk & Kpotufe 2022).

    Parameters
    ----------
    threshold
        The factor of the limit beyond which an arm is dropped: threshold · log(T) sqrt(K (n - 1)) over n rounds, with at
        least K for the root. 1 in the paper, with which nothing happens in short runs.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.META(threshold=0.1), beta=1.0, arms=10).base
    META(threshold=0.1)
    >>> ma.META().start(100)
    Traceback (most recent call last):
    ...
    ValueError: META: takes at most 60 arms, not 100; say so with arms=60 or fewer to whoever runs it
    """

    is_random: ClassVar[bool] = True
    takes_corrections: ClassVar[bool] = False
    tried_with: ClassVar = ({"threshold": 0.1},)

    threshold: Positive = 1.0

    def start(self, slots: int) -> METAState:
        """A state with arrays for ``slots`` arms, if those are few enough."""
        if slots > MOST_ARMS:
            raise ValueError(
                f"META: takes at most {MOST_ARMS} arms, not {slots:,}; "
                f"say so with arms={MOST_ARMS} or fewer to whoever runs it"
            )
        return METAState(
            threshold=self.threshold,
            plays=np.zeros(slots, dtype=np.int64),
            estimates=new_recent(slots),
            sets=np.zeros(RANKS + 1, dtype=np.int64),
            firsts=np.zeros(RANKS + 1, dtype=np.int64),
            lasts=np.zeros(RANKS + 1, dtype=np.int64),
        )

    def chance_among(self, state: METAState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """One over the number of those it is drawn from."""
        arms = len(allowed)
        number = size_of(state.active, allowed, arms)
        if not allowed[slot] or (number > 0 and not is_in(state.active, slot)):
            return 0.0
        return 1.0 / (number if number > 0 else int(allowed.sum()))


@kernel
def eviction_limit(level: float, arms: int, length: int) -> float:
    """By how much another arm must be ahead over so many rounds: log(T) sqrt(K (s2 - s1) v K^2)."""
    return level * math.sqrt(float(max(arms * (length - 1), arms * arms)))


@kernel
def replay_chance(rank: int, since: int) -> float:
    """Of a replay of 2^rank rounds, so many rounds after the first one of the episode: 1 / sqrt(m (s - t_l))."""
    return 1.0 / math.sqrt(float(1 << rank) * since)


ALL_CHANCES = 2.41422
"""Those of all ranks sum to less than this / sqrt(s - t_l): 1 / (sqrt(2) - 1)."""


@kernel
def replay_rank(random: float, since: int, ranks: int) -> int:
    """The rank of the longest replay that begins, if each does with its own chance; 0 if none does."""
    if random * random * since >= ALL_CHANCES * ALL_CHANCES:
        return 0
    none = 1.0
    for less in range(ranks):
        none *= 1.0 - replay_chance(ranks - less, since)
        if random < 1.0 - none:
            return ranks - less
    return 0


# ---------------------------------------------------------------- sets of arms


@kernel
def is_in(members: int, slot: int) -> bool:
    """Whether a slot is in a set."""
    return bool((members >> slot) & 1)


@kernel
def all_of(arms: int) -> int:
    """The set of the first ``arms`` slots."""
    return (1 << arms) - 1


@kernel
def size_of(members: int, allowed: Any, arms: int) -> int:
    """How many allowed slots are in a set."""
    number = 0
    for slot in range(arms):
        number += 1 if allowed[slot] and is_in(members, slot) else 0
    return number


@kernel
def with_active(base: METAState) -> METAState:
    """Look who is in control."""
    active = int(base.sets[base.depth - 1])
    size = 0
    for slot in range(base.arms):
        size += 1 if is_in(active, slot) else 0
    return replaced(base, active=active, size=size)


# ---------------------------------------------------------------- episodes and replays


@kernel
def new_episode(base: METAState) -> METAState:
    """All arms are good, nothing is known, no replay is under way."""
    forget_recent(base.estimates, base.arms)
    base.sets[0] = all_of(base.arms)
    base.firsts[0] = 1
    base.lasts[0] = NEVER
    return replaced(base, depth=1)


def renew(base: METAState, arms: int, horizon: float, log_horizon: float) -> METAState:
    """No arm has been played."""
    for slot in range(arms):
        base.plays[slot] = 0
    rounds = max(horizon, 2.0)
    base = replaced(
        base,
        arms=arms,
        level=base.threshold * natural_log(rounds),
        ranks=min(ceiling(binary_log(rounds)), RANKS),
        restarts=0,
    )
    return with_active(new_episode(base))


def keyed(base: METAState, key: int) -> METAState:
    """Replays are drawn when an answer is learned."""
    return replaced(base, key=key)


@kernel
def losers(base: METAState, number: int) -> int:
    """The set of arms that others were too far ahead of over the last 2^number rounds."""
    length = 1 << number
    limit = eviction_limit(base.level, base.arms, length)
    best = -math.inf
    for slot in range(base.arms):
        best = max(best, window_mean(base.estimates, slot, number) * length)
    found = 0
    for slot in range(base.arms):
        if best - window_mean(base.estimates, slot, number) * length > limit:
            found |= 1 << slot
    return found


@kernel
def evict(base: METAState) -> None:
    """Look at the stretches of rounds that end now; all longer ones do not, if one does not."""
    taken = int(base.estimates.taken[0])
    for number in range(LEVELS + 1):
        if (1 << number) > taken or (number > 0 and taken & ((1 << (number - 1)) - 1)):
            break
        found = losers(base, number)
        if found:
            for place in range(base.depth):
                if base.firsts[place] <= taken - (1 << number) + 1:
                    base.sets[place] &= ~found


@kernel
def with_replay(base: METAState, random: float) -> METAState:
    """Who is in control in the coming round: what is over goes, and a replay may begin."""
    since = int(base.estimates.taken[0])
    depth = base.depth
    while base.lasts[depth - 1] <= since:
        depth -= 1
    rank = replay_rank(random, since, base.ranks)
    if rarely(rank > 0):
        last = since + (1 << rank)
        while base.lasts[depth - 1] <= last:
            depth -= 1
        base.sets[depth] = all_of(base.arms)
        base.firsts[depth] = since + 1
        base.lasts[depth] = last
        depth += 1
    return replaced(base, depth=depth)


def learn(base: METAState, choice: Choice, reward: float) -> METAState:
    """One more round: what it speaks against is dropped, and the next one is prepared."""
    base.plays[choice.slot] += 1
    for slot in range(base.arms):
        remember(base.estimates, slot, in_grains(within(reward) / choice.probability) if slot == choice.slot else 0.0)
    evict(base)
    if rarely(base.sets[0] == 0):
        return with_active(replaced(new_episode(base), restarts=base.restarts + 1))
    return with_active(with_replay(base, uniform(bits_at(base.key, choice.round, 2))))


# ---------------------------------------------------------------- picks


def pick(base: METAState, key: int, round: int) -> tuple[int, float]:
    """Any of the arms that are left to the one in control."""
    left = index_below(bits_at(key, round, 0), base.size)
    slot = -1
    while left >= 0:
        slot += 1
        left -= 1 if is_in(base.active, slot) else 0
    return slot, 1.0 / base.size


def best_among(base: METAState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """Any of those that are allowed; if there is none, any allowed arm."""
    members = base.active
    number = size_of(members, allowed, arms)
    if number == 0:
        members = all_of(arms)
        number = size_of(members, allowed, arms)
    if number == 0:
        return -1, 1.0
    left = index_below(bits_at(key, round, 1), number)
    slot = -1
    while left >= 0:
        slot += 1
        left -= 1 if allowed[slot] and is_in(members, slot) else 0
    return slot, 1.0 / number


register(METAState, renew=renew, keyed=keyed, pick=pick, best_among=best_among, learn=learn, plays_of=all_plays)
