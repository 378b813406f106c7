"""Asymptotically optimal UCB: the confidence grows with the round, for all arms at once.

Source: Lattimore & Szepesvári, "Bandit Algorithms", Chapter 8: index
mean + sigma · sqrt(2 log f(t) / plays) with f(t) = 1 + t log(t)^2 and natural logarithms.

Symbols: f -> growth, log f -> confidence of a ``Clock``; sqrt(2 log f(t)) · sigma -> level.

Deviations: none; of equal indices, that of the lower slot counts.

Every index moves in every round, but all of them along straight lines in the common level:
mean + level / sqrt(plays). A kinetic tournament exploits that. Each node of the tree keeps
its winner and the level at which it, or a node below it, could have another one; as the level
rises, only nodes past that level are played again. Decisions are those of the dense argmax to
the last bit: where two lines come within ``DOUBT`` of each other, the plain formula decides,
in every round until they have separated.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, load_two, rarely, replaced
from ..contract import Choice
from ..specs import Positive
from ..streams import i64, u64
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base
from .tournament import leaves_for, tournament_nodes

LARGEST_SIGMA = 10.0
# With it, indices are below 100 and levels are known to within 1e-12 / 2, so the line and the plain
# formula agree to within DOUBT.
DOUBT = 1e-12
AHEAD = 1.0 + 1.0 / 4096.0  # how far ahead in level a leader's lease reaches: 500 rounds and more from round 100,000 on
LEAST_CLOSING = 1e-200  # divides into something beyond every level, yet not beyond every float
UNTRIED = 1e9  # stands for the infinite index of an arm that has not been played
NO_ARM = -1e9  # at nodes beyond the last arm


class Clock(NamedTuple):
    """What the coming round t makes of f, to within 2e-13: see ``ticked``."""

    log_round: float  # log t
    growth: float  # f(t) = 1 + t log(t)^2
    confidence: float  # log f(t)


class Lease(NamedTuple):
    """Why the leader need not play its games again: up to a level, all other indices stay below a bound."""

    slot: int  # the leader
    until: float  # the level
    bound: float


START = Clock(log_round=0.0, growth=1.0, confidence=0.0)
NO_LEASE = Lease(slot=0, until=0.0, bound=math.inf)


class AsymptoticUCBState(NamedTuple):
    """A run over one subsample."""

    sigma: float
    rewards: Rewards
    lines: NDArray[np.float64]  # slot s: mean reward at 2 s, slope 1 / sqrt(plays) at 2 s + 1; then one for nobody
    winners: NDArray[np.uint32]  # node -> where the line of its winner begins: 2 s
    expiries: NDArray[np.float64]  # node -> the level up to which all winners at and below it stand
    told: int = 0  # rewards so far
    clock: Clock = START
    leaves: int = 1
    lease: Lease = NO_LEASE


@dataclasses.dataclass(frozen=True)
class AsymptoticUCB(Base):
    """Mean plus sigma · sqrt(2 log(1 + t log(t)^2) / plays), t the round in the subsample.

    Parameters
    ----------
    sigma
        The scale of the noise: 1 in Bayati et al. for unit Gaussian noise, 1/2 for rewards in [0, 1].

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.AsymptoticUCB(sigma=0.5)
    AsymptoticUCB(sigma=0.5)
    """

    about: ClassVar = About(
        told=("noise",),
        rate="log(T) / gap for each arm",
        made_for=("still",),
        cost="O(log arms)",
    )
    tried_with: ClassVar = ({"sigma": 0.5},)

    sigma: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma > LARGEST_SIGMA:
            raise ValueError(
                f"AsymptoticUCB: sigma must be at most {LARGEST_SIGMA:g}, not {self.sigma!r}; rewards lie in [0, 1], "
                "so their scale is at most 1/2"
            )

    def start(self, slots: int) -> AsymptoticUCBState:
        """A state with arrays for ``slots`` arms."""
        nodes = tournament_nodes(slots)
        return AsymptoticUCBState(
            sigma=self.sigma,
            rewards=new_rewards(slots),
            lines=np.zeros(2 * slots + 2, dtype=np.float64),
            winners=np.zeros(nodes, dtype=np.uint32),
            expiries=np.zeros(nodes, dtype=np.float64),
        )


@kernel
def exact_clock(round: int) -> Clock:
    """The clock of this round, from nothing."""
    log_round = natural_log(float(round))
    growth = 1.0 + round * log_round * log_round
    return Clock(log_round=log_round, growth=growth, confidence=natural_log(growth))


@kernel
def ticked(clock: Clock, round: int) -> Clock:
    """The clock of this round, from that of the round before.

    Two logarithms in every round cost a tenth of its time. From one round to the next both grow by
    log(1 + x) with x below 1.4 / round, and three terms of its series leave out less than
    x^4 / 4 < 4e-15 from round 4,096 on; every 32nd round starts from the exact values again, so
    that errors stay below 32 times that, and rounding.
    """
    if rarely((round < 4096) | (round & 31 == 0)):
        return exact_clock(round)
    log_round = clock.log_round + short_log(1.0 / (round - 1))
    growth = 1.0 + round * log_round * log_round
    step = (growth - clock.growth) / clock.growth
    return Clock(log_round=log_round, growth=growth, confidence=clock.confidence + short_log(step))


@kernel
def short_log(x: float) -> float:
    """Log(1 + x) for small x, by three terms."""
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0)))


@kernel
def plain_index(base: AsymptoticUCBState, line: int, confidence: float) -> float:
    """The index as the book writes it."""
    mean = base.lines[line]
    if abs(mean) >= UNTRIED:
        return float(mean)
    return float(mean + base.sigma * math.sqrt(2.0 * confidence / base.rewards.plays[line >> 1]))


class Line(NamedTuple):
    """An arm as the tournament sees it: its index is mean + level · slope."""

    place: int  # where it is in ``lines``
    mean: float
    slope: float
    value: float  # its index at the present level


@kernel
def line_at(lines: Any, place: int, level: float) -> Line:
    """The line that begins at a place."""
    mean, slope = load_two(lines, i64(place))
    return Line(place=place, mean=mean, slope=slope, value=mean + level * slope)


@kernel
def winner_of(one: Line, other: Line) -> Line:
    """The line with the larger value; ties go to the lower slot."""
    loses = (other.value > one.value) | ((other.value == one.value) & (other.place < one.place))
    return Line(
        place=other.place if loses else one.place,
        mean=other.mean if loses else one.mean,
        slope=other.slope if loses else one.slope,
        value=max(one.value, other.value),
    )


@kernel
def safety(winner: Line, other: Line) -> tuple[float, float]:
    """The level up to which a line stays more than DOUBT above another, as a fraction.

    By how much its mean is higher, over by how much the other is steeper; if it is not, or is the same line, the
    fraction is as good as infinite. (Written without a branch.)
    """
    apart = winner.mean - other.mean
    closing = other.slope - winner.slope
    return abs(apart - DOUBT), max(closing, LEAST_CLOSING)


@kernel
def lesser(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The lesser of two fractions, without dividing."""
    smaller = one[0] * other[1] <= other[0] * one[1]
    return (one[0] if smaller else other[0]), (one[1] if smaller else other[1])


@kernel
def too_close(winner: Line, other: Line, lead: float) -> bool:
    """Whether the plain formula has to decide. Equal plays and equal rewards are a tie for ever, and no doubt."""
    same = (winner.mean == other.mean) & (winner.slope == other.slope)
    return (lead <= DOUBT) & (not same)


@kernel
def climb(base: AsymptoticUCBState, start: int, level: float) -> tuple[bool, float]:
    """From a settled node up to the root, play every game on the way.

    Returns whether a game was in doubt, and the largest index that a rival on the way will have reached
    when the level has grown by the factor AHEAD.

    Without a branch that depends on the data: a mispredicted one costs more than a whole game.
    """
    expiries = base.expiries
    further = AHEAD * level
    node = u64(start)
    ours = line_at(base.lines, u64(base.winners[node]), level)
    expiry = expiries[node]
    doubt = False
    bound = -math.inf
    while node > 1:
        a = line_at(base.lines, u64(base.winners[node ^ u64(1)]), level)
        b = line_at(base.lines, u64(base.winners[node ^ u64(2)]), level)
        c = line_at(base.lines, u64(base.winners[node ^ u64(3)]), level)
        bound = max(max(bound, a.mean + further * a.slope), b.mean + further * b.slope)
        bound = max(bound, c.mean + further * c.slope)
        best = winner_of(winner_of(a, b), winner_of(c, ours))
        doubt |= too_close(best, a, best.value - a.value)
        doubt |= too_close(best, b, best.value - b.value)
        doubt |= too_close(best, c, best.value - c.value)
        doubt |= too_close(best, ours, best.value - ours.value)
        above, below = lesser(
            lesser(safety(best, a), safety(best, b)),
            lesser(safety(best, c), safety(best, ours)),
        )
        expiry = min(expiry, min(expiries[node ^ u64(1)], min(expiries[node ^ u64(2)], expiries[node ^ u64(3)])))
        expiry = min(expiry, max(above / below, level))
        ours = best
        node = node >> u64(2)
        base.winners[node] = best.place
        expiries[node] = expiry
    return doubt, bound


@kernel
def climb_plainly(base: AsymptoticUCBState, start: int, level: float, confidence: float) -> None:
    """As ``climb``, deciding each game by the plain formula."""
    lines = base.lines
    node = start
    while node > 1:
        node = node >> 2
        best = base.winners[4 * node]
        index = plain_index(base, best, confidence)
        expiry = base.expiries[4 * node]
        for child in range(4 * node + 1, 4 * node + 4):
            other = plain_index(base, base.winners[child], confidence)
            if other > index:
                best = base.winners[child]
                index = other
            expiry = min(expiry, base.expiries[child])
        winner = line_at(lines, best, level)
        for child in range(4 * node, 4 * node + 4):
            place = base.winners[child]
            if place != best:
                line = line_at(lines, place, level)
                above, below = safety(winner, line)
                expiry = min(expiry, max(above / below, level))
                if too_close(winner, line, 0.5 * (index - plain_index(base, place, confidence))):
                    expiry = level  # look again next round
        base.winners[node] = best
        base.expiries[node] = expiry


@kernel
def settle(base: AsymptoticUCBState, start: int, level: float, round: int) -> float:
    """Climb; where a game was in doubt, once more with care. Returns what rivals will have reached."""
    doubt, bound = climb(base, start, level)
    if rarely(doubt):
        climb_plainly(base, start, level, exact_clock(round).confidence)
    return bound


@kernel
def repair(base: AsymptoticUCBState, level: float, round: int) -> None:
    """Play every game again whose outcome may have changed by this level."""
    while rarely(base.expiries[1] < level):
        # Down to the lowest game that has expired: its children have not.
        node = 1
        expired = 1
        while expired > 0:
            node = expired
            expired = 0
            for child in range(4 * node, 4 * node + 4):
                if base.expiries[child] < level:
                    expired = child
        settle(base, 4 * node, level, round)


@kernel
def new_lease(base: AsymptoticUCBState, slot: int, level: float, round: int) -> Lease:
    """Bring the tree up to this level and settle the played slot; a lease if it leads.

    A rival on the leader's path is the best of its part of the tree up to that part's expiry, which is
    not before the root's. Indices grow with the level: so up to ``until``, no other arm exceeds ``bound``.
    """
    repair(base, level, round)
    bound = settle(base, base.leaves + slot, level, round)
    leader = i64(u64(base.winners[1]) >> u64(1))
    until = min(AHEAD * level, base.expiries[1]) if leader == slot else 0.0
    return Lease(slot=leader, until=until, bound=bound)


def renew(base: AsymptoticUCBState, arms: int, horizon: float, log_horizon: float) -> AsymptoticUCBState:
    """No arm has been played: every index is infinite and the lowest slot wins."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.lines[2 * slot] = UNTRIED
        base.lines[2 * slot + 1] = 0.0
    nobody = 2 * arms
    base.lines[nobody] = NO_ARM
    base.lines[nobody + 1] = 0.0
    leaves = leaves_for(arms)
    first = leaves  # of this level
    width = 1  # how many leaves lie below a node of this level
    while first > 0:
        nodes = (arms + width - 1) // width
        for node in range((nodes + 3) // 4 * 4 if first > 1 else 1):
            base.winners[first + node] = 2 * node * width if node < nodes else nobody
            base.expiries[first + node] = math.inf
        first = first // 4
        width *= 4
    return replaced(base, told=0, clock=START, leaves=leaves, lease=NO_LEASE)


def pick(base: AsymptoticUCBState, key: int, round: int) -> tuple[int, float]:
    """The argmax of the index; untried arms have an infinite one."""
    return base.lease.slot, 1.0


def learn(base: AsymptoticUCBState, choice: Choice, reward: float) -> AsymptoticUCBState:
    """Move the played arm's line, raise the level to that of the coming round, settle the tree."""
    slot = choice.slot
    plays, total = earn(base.rewards, slot, reward)
    told = base.told + 1
    clock = ticked(base.clock, told + 1)
    level = base.sigma * math.sqrt(2.0 * clock.confidence)
    lease = with_line(base, slot, total / plays, 1.0 / math.sqrt(plays), level, told + 1)
    return replaced(base, told=told, clock=clock, lease=lease)


@kernel
def with_line(base: AsymptoticUCBState, slot: int, mean: float, slope: float, level: float, round: int) -> Lease:
    """Give an arm its line, and settle the tree; return the lease then.

    With a lease, the tree is left as it is: its games on the leader's path are stale, and are played again at
    the end of the lease. Line and plain formula differ by less than DOUBT, for the leader and for its rivals.
    """
    base.lines[2 * slot] = mean
    base.lines[2 * slot + 1] = slope
    lease = base.lease
    index = mean + level * slope
    if rarely((slot != lease.slot) | (level > lease.until) | (index <= lease.bound + 2.0 * DOUBT)):
        if rarely(slot != lease.slot):
            settle(base, base.leaves + lease.slot, level, round)
        lease = new_lease(base, slot, level, round)
    return lease


def revise(base: AsymptoticUCBState, slot: int, plays: int, total: float) -> AsymptoticUCBState:
    """Move the arm's line, at the level of the coming round."""
    plays, total = add_to(base.rewards, slot, plays, total)
    mean = total / plays if plays > 0 else UNTRIED
    slope = 1.0 / math.sqrt(plays) if plays > 0 else 0.0
    level = base.sigma * math.sqrt(2.0 * base.clock.confidence)
    lease = base.lease
    if (slot != lease.slot) & (level <= lease.until) & (mean + lease.until * slope <= lease.bound):
        # Not more than what the leader's rivals are held to: it goes on leading, and only this arm's games are played.
        base.lines[2 * slot] = mean
        base.lines[2 * slot + 1] = slope
        settle(base, base.leaves + slot, level, base.told + 1)
        return replaced(base, lease=replaced(lease, until=min(lease.until, base.expiries[1])))
    return replaced(base, lease=with_line(base, slot, mean, slope, level, base.told + 1))


def best_among(base: AsymptoticUCBState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The argmax of the index over the allowed slots."""
    best = -1
    most = -math.inf
    for slot in range(arms):
        if allowed[slot]:
            index = plain_index(base, 2 * slot, base.clock.confidence)
            if best < 0 or index > most:
                best = slot
                most = index
    return best, 1.0


register_base(AsymptoticUCBState, renew=renew, pick=pick, learn=learn, revise=revise, best_among=best_among)
