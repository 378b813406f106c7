"""META: play the arms that nothing speaks against, and now and then, for a while, all arms again.

An arm is dropped when another one has been so much better, over some stretch of rounds, that it is no chance. What was
dropped may become the best one without being seen; so replays begin at random, long ones more rarely than short ones,
in which all arms are played. When every arm has been dropped since the episode began, the best arm has changed in a way
that matters (a significant shift), and a new episode begins.

Source: Suk & Kpotufe, "Tracking Most Significant Arm Switches in Bandits" (COLT 2022, arXiv:2112.13838), Algorithms 1
and 2: the ancestor of Suk & Kim's algorithms for arms without end.

Symbols: t_l -> the first round of an episode; Base(s, m) -> an entry of the stack, with its first and last round; A_t
-> the last of the sets; A_master -> the first of them; B_(s, m) -> replay_rank; delta-hat_t(a', a) -> the difference of
two estimates, reward / probability of the played arm and 0 of all others; log(T) sqrt(K (s2 - s1) v K^2) ->
eviction_limit; K -> arms; T -> horizon.

Deviations: the paper looks at all stretches [s1, s2]. Here they have 1, 2, 4, … 2^20 rounds and end at multiples of
half their length, counted from the episode's first round (`manyarms.bases.recent`): any stretch contains one of more
than a third of its length, up to some 3 · 2^20 rounds; so an arm that is behind by less than threshold · log(T) sqrt(K
/ 2^20) is never dropped. Each is looked at once, when it ends, and what it speaks against is dropped from all replays
that had begun by its first round. Of all lengths that are drawn for the same round only the longest begins; a replay
that a newer one outlasts never comes to its turn again, and is forgotten. A round is an answer. Rewards beyond [0, 1]
count as the end they are beyond; estimates are rounded down to multiples of 2^-30. Logarithms are natural. The paper's
text was not at hand: the constant of the limit, and what is dropped from which set, are as remembered.

Late answers are as for other bases that draw (`manyarms.bases.drawn`): open asks teach nothing, an answer is weighed by
the probability of its ask.

For few arms, at most 256: until one that is a gap behind can be dropped, it takes some K (log(T) / gap)^2 rounds. With
a gap of 1/2 and T = 10^6 that are 7,600 for 10 arms, and would be 760,000 for 1,000 (``threshold`` makes it less). A
round takes O(arms) time on average.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, ceiling, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..specs import Positive
from ..streams import UNSET_KEY, bits_at, index_below, uniform
from .base import Base
from .drawn import within
from .recent import LEVELS, Recent, forget_recent, in_grains, new_recent, remember, window_mean
from .restarts import all_plays

RANKS = 40
"""Replays have at most 2^40 rounds."""

NEVER = 1 << 62


class METAState(NamedTuple):
    """A run over one subsample. Rounds are counted from the first one of the episode."""

    threshold: float
    plays: NDArray[np.int64]  # slot -> all its plays
    estimates: Recent  # of every slot, in every round
    lost: NDArray[np.uint32]  # slot -> 1 if a stretch speaks against it; for the time of one look
    sets: NDArray[np.uint32]  # place in the stack · arms + slot -> 1 if the arm is left to it, else 0
    firsts: NDArray[np.int64]  # place -> its first round
    lasts: NDArray[np.int64]  # place -> its last round
    key: int = UNSET_KEY
    arms: int = 0
    level: float = 0.0  # threshold · log T
    ranks: int = 0  # the longest replay has 2^ranks rounds
    depth: int = 1  # of the stack: the newest is in control, the oldest is the episode itself
    size: int = 0  # how many arms are left to the one in control
    restarts: int = 0


@dataclasses.dataclass(frozen=True)
class META(Base):
    """Drop arms that lost by far over some stretch of rounds, and replay all arms at random (Suk & Kpotufe 2022).

    Parameters
    ----------
    threshold
        The factor of the limit beyond which an arm is dropped: threshold · log(T) sqrt(K (n - 1)) over n rounds, with
        at least K for the root. 1 in the paper, with which nothing happens in short runs; with less than 1 / log(T) a
        single reward drops all other arms.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.META(threshold=0.4), beta=1.0, arms=10).base
    META(threshold=0.4)
    >>> ma.META().start(1_000)
    Traceback (most recent call last):
    ...
    ValueError: META: takes at most 256 arms, not 1,000; say so with arms=256 or fewer to whoever runs it
    """

    about: ClassVar = About(
        told=("T",),
        rate="sqrt(K T); sqrt(changes · K T) if any",
        made_for=("wear", "crashes"),
        cost="O(arms), of which there may be 256",
    )
    is_random: ClassVar[bool] = True
    takes_corrections: ClassVar[bool] = False
    most_arms: ClassVar[float] = 256  # with more, nothing would come of it in runs that anybody makes
    tried_with: ClassVar = ({"threshold": 0.1},)

    threshold: Positive = 1.0

    def start(self, slots: int) -> METAState:
        """A state with arrays for ``slots`` arms, if those are few enough."""
        if slots > self.most_arms:
            raise ValueError(
                f"META: takes at most {self.most_arms} arms, not {slots:,}; "
                f"say so with arms={self.most_arms} or fewer to whoever runs it"
            )
        return METAState(
            threshold=self.threshold,
            plays=np.zeros(slots, dtype=np.int64),
            estimates=new_recent(slots),
            lost=np.zeros(slots, dtype=np.uint32),
            sets=np.zeros((RANKS + 1) * slots, dtype=np.uint32),
            firsts=np.zeros(RANKS + 1, dtype=np.int64),
            lasts=np.zeros(RANKS + 1, dtype=np.int64),
        )

    def chance_among(self, state: METAState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """One over the number of those it is drawn from."""
        arms = len(allowed)
        number = active_among(state, allowed, arms)
        if not allowed[slot] or (number > 0 and not is_active(state, slot)):
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


# ---------------------------------------------------------------- what is left to whom


@kernel
def is_active(base: METAState, slot: int) -> bool:
    """Whether an arm is left to the one in control."""
    return base.sets[(base.depth - 1) * base.arms + slot] == 1  # type: ignore[no-any-return]


@kernel
def active_among(base: METAState, allowed: Any, arms: int) -> int:
    """How many allowed arms are."""
    number = 0
    for slot in range(arms):
        number += 1 if allowed[slot] and is_active(base, slot) else 0
    return number


@kernel
def with_size(base: METAState) -> METAState:
    """Count the arms that are."""
    size = 0
    for slot in range(base.arms):
        size += 1 if is_active(base, slot) else 0
    return replaced(base, size=size)


@kernel
def is_nothing_left(base: METAState) -> bool:
    """Whether every arm has been dropped since the episode began."""
    left = 0
    for slot in range(base.arms):
        left += base.sets[slot]
    return left == 0


@kernel
def put_on_stack(base: METAState, place: int, first: int, last: int) -> None:
    """All arms are left to what begins there."""
    for slot in range(base.arms):
        base.sets[place * base.arms + slot] = 1
    base.firsts[place] = first
    base.lasts[place] = last


# ---------------------------------------------------------------- episodes and replays


@kernel
def new_episode(base: METAState) -> METAState:
    """All arms are good, nothing is known, no replay is under way."""
    forget_recent(base.estimates, base.arms)
    put_on_stack(base, 0, 1, NEVER)
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
    return with_size(new_episode(base))


def keyed(base: METAState, key: int) -> METAState:
    """Replays are drawn when an answer is learned."""
    return replaced(base, key=key)


@kernel
def find_losers(base: METAState, number: int) -> bool:
    """Whether, over the last 2^number rounds, some arms were too far behind; which, is in ``lost``."""
    length = 1 << number
    limit = eviction_limit(base.level, base.arms, length)
    best = -math.inf
    for slot in range(base.arms):
        best = max(best, window_mean(base.estimates, slot, number) * length)
    found = False
    for slot in range(base.arms):
        is_lost = best - window_mean(base.estimates, slot, number) * length > limit
        base.lost[slot] = 1 if is_lost else 0
        found = found or is_lost
    return found


@kernel
def evict(base: METAState) -> bool:
    """Look at the stretches of rounds that end now (if one does not, no longer one does); whether any arm is lost."""
    taken = int(base.estimates.taken[0])
    found = False
    for number in range(LEVELS + 1):
        if (1 << number) > taken or (number > 0 and taken & ((1 << (number - 1)) - 1)):
            break
        if find_losers(base, number):
            found = True
            for place in range(base.depth):
                if base.firsts[place] <= taken - (1 << number) + 1:
                    for slot in range(base.arms):
                        if base.lost[slot] == 1:
                            base.sets[place * base.arms + slot] = 0
    return found


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
        put_on_stack(base, depth, since + 1, last)
        depth += 1
    return replaced(base, depth=depth)


def learn(base: METAState, choice: Choice, reward: float) -> METAState:
    """One more round: what it speaks against is dropped, and the next one is prepared."""
    base.plays[choice.slot] += 1
    for slot in range(base.arms):
        remember(base.estimates, slot, in_grains(within(reward) / choice.probability) if slot == choice.slot else 0.0)
    if evict(base) and is_nothing_left(base):
        base = replaced(new_episode(base), restarts=base.restarts + 1)
    else:
        base = with_replay(base, uniform(bits_at(base.key, choice.round, 2)))
    return with_size(base)


# ---------------------------------------------------------------- picks


def pick(base: METAState, key: int, round: int) -> tuple[int, float]:
    """Any of the arms that are left to the one in control."""
    left = index_below(bits_at(key, round, 0), base.size)
    slot = -1
    while left >= 0:
        slot += 1
        left -= 1 if is_active(base, slot) else 0
    return slot, 1.0 / base.size


def best_among(base: METAState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """Any of those that are allowed; if there is none, any allowed arm."""
    active = active_among(base, allowed, arms)
    number = active
    if active == 0:
        for slot in range(arms):
            number += 1 if allowed[slot] else 0
    if number == 0:
        return -1, 1.0
    left = index_below(bits_at(key, round, 1), number)
    drawn = -1
    while left >= 0:
        drawn += 1
        left -= 1 if allowed[drawn] and (active == 0 or is_active(base, drawn)) else 0
    return drawn, 1.0 / number


register(METAState, renew=renew, keyed=keyed, pick=pick, best_among=best_among, learn=learn, plays_of=all_plays)
