"""Asymptotically optimal UCB: the confidence grows with the round, for all arms at once.

Source: Lattimore & Szepesvári, "Bandit Algorithms", Chapter 8: index
mean + sigma · sqrt(2 log f(t) / plays) with f(t) = 1 + t log(t)^2 and natural logarithms.

Symbols: f -> log_confidence (its logarithm); sqrt(2 log f(t)) · sigma -> level.

Every index moves in every round, but all of them along straight lines in the common level:
mean + level / sqrt(plays). A kinetic tournament exploits that. Each node of the tree keeps
its winner and the level at which it, or a node below it, could have another one; as the level
rises, only nodes past that level are played again. Decisions are those of the dense argmax to
the last bit: where two lines come within ``DOUBT`` of each other, the plain formula decides,
in every round until they have separated.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import natural_log, word_of
from ..compiled import kernel, rarely
from ..contract import Choice, register
from ..specs import positive
from ..streams import i64, u64
from .base import Base, next_untried

LARGEST_SIGMA = 10.0
# With it, indices are below 100 and levels are known to within 1e-12 / 2, so the line and the plain
# formula agree to within DOUBT.
DOUBT = 1e-12
AHEAD = 1.0 + 1.0 / 4096.0  # how far ahead in level a leader's lease reaches: 500 rounds and more from round 100,000 on
LEAST_CLOSING = 1e-200  # divides into something beyond every level, yet not beyond every float
UNTRIED = 1e9  # stands for the infinite index of an arm that has not been played
NO_ARM = -1e9  # at leaves beyond the last arm


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


class AsymptoticUCBState(NamedTuple):
    """A run over one subsample."""

    sigma: float
    arms: int
    tried: int  # how many arms have been played
    told: int  # rewards so far
    clock: Clock
    leaves: int
    sums: NDArray[np.float64]  # slot -> rewards
    plays: NDArray[np.int64]  # slot -> plays
    lines: NDArray[np.float64]  # slot s: mean reward at 2 s, slope 1 / sqrt(plays) at 2 s + 1
    winners: NDArray[np.uint32]  # node -> where the line of its winner begins: 2 s
    expiries: NDArray[np.float64]  # node -> the level up to which all winners at and below it stand
    lease: Lease


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

    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("AsymptoticUCB", "sigma", self.sigma))
        if self.sigma > LARGEST_SIGMA:
            raise ValueError(
                f"AsymptoticUCB: sigma must be at most {LARGEST_SIGMA:g}, not {self.sigma!r}; rewards lie in [0, 1], "
                "so their scale is at most 1/2"
            )

    def start(self, slots: int) -> AsymptoticUCBState:
        """A state with arrays for ``slots`` arms."""
        nodes = tournament_nodes(max(slots, 2))  # a root needs two children to hold its game
        return AsymptoticUCBState(
            sigma=self.sigma,
            arms=0,
            tried=0,
            told=0,
            clock=Clock(log_round=0.0, growth=1.0, confidence=0.0),
            leaves=1,
            sums=np.zeros(nodes // 2, dtype=np.float64),
            plays=np.zeros(nodes // 2, dtype=np.int64),
            lines=np.zeros(nodes, dtype=np.float64),
            winners=np.zeros(nodes, dtype=np.uint32),
            expiries=np.zeros(nodes, dtype=np.float64),
            lease=NO_LEASE,
        )


NO_LEASE = Lease(slot=0, until=0.0, bound=math.inf)


def tournament_nodes(slots: int) -> int:
    """How many nodes a tournament of that many slots needs."""
    return 2 * int(2 ** math.ceil(math.log2(max(slots, 1))))


@kernel
def log_confidence(round: int) -> float:
    """Log f(t), f(t) = 1 + t log(t)^2."""
    log_round = natural_log(float(round))
    return natural_log(1.0 + round * log_round * log_round)


@kernel
def ticked(clock: Clock, round: int) -> Clock:
    """The clock of this round, from that of the round before.

    Two logarithms in every round cost a tenth of its time. From one round to the next both grow by
    log(1 + x) with x below 1.4 / round, and three terms of its series leave out less than
    x^4 / 4 < 4e-15 from round 4,096 on; every 32nd round starts from the exact values again, so
    that errors stay below 32 times that, and rounding.
    """
    if rarely((round < 4096) | (round & 31 == 0)):
        log_round = natural_log(float(round))
        growth = 1.0 + round * log_round * log_round
        return Clock(log_round=log_round, growth=growth, confidence=natural_log(growth))
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
    plays = base.plays[line >> 1]
    if plays == 0:
        return float(mean)
    return float(mean + base.sigma * math.sqrt(2.0 * confidence / plays))


@kernel
def safe_level(apart: float, closing: float, level: float) -> float:
    """The level up to which a line stays more than DOUBT above another.

    ``apart``: by how much its mean is higher; ``closing``: by how much the other is steeper. If
    the other is not, the quotient is as good as infinite. (Written without a branch.)
    """
    return max(abs(apart - DOUBT) / max(closing, LEAST_CLOSING), level)


@kernel
def climb(base: AsymptoticUCBState, start: int, level: float) -> tuple[bool, float]:
    """From a settled node up to the root, play every game on the way.

    Returns whether a game was in doubt, and the largest index that a rival on the way will have reached
    when the level has grown by the factor AHEAD.

    Without a branch that depends on the data: a mispredicted one costs more than a whole game.
    """
    lines = base.lines
    one = u64(1)
    node = u64(start)
    line = u64(base.winners[node])
    value = lines[line] + level * lines[line + one]
    expiry = base.expiries[node]
    doubt = False
    bound = -math.inf
    while node > 1:
        sibling = node ^ one
        rival = u64(base.winners[sibling])
        bound = max(bound, lines[rival] + AHEAD * level * lines[rival + one])
        rival_value = lines[rival] + level * lines[rival + one]
        lead = value - rival_value
        # All bits set if the lead is negative, or 0 on the right side: ties go to the left, the lower slots.
        loses = u64((word_of(lead) - i64(node & one)) >> 63)
        both = line ^ rival
        line = line ^ (both & loses)
        value = max(value, rival_value)
        loser = both ^ line
        apart = lines[line] - lines[loser]
        closing = lines[loser + one] - lines[line + one]
        # Equal plays and equal rewards are a tie for ever, and no reason for doubt.
        doubt |= (abs(lead) <= DOUBT) & ((apart != 0.0) | (closing != 0.0))
        expiry = min(min(expiry, base.expiries[sibling]), safe_level(apart, closing, level))
        node = node >> one
        base.winners[node] = line
        base.expiries[node] = expiry
    return doubt, bound


@kernel
def climb_plainly(base: AsymptoticUCBState, start: int, level: float, confidence: float) -> None:
    """As ``climb``, deciding each game by the plain formula."""
    node = u64(start)
    while node > 1:
        sibling = node ^ u64(1)
        left = base.winners[min(node, sibling)]
        right = base.winners[max(node, sibling)]
        index = plain_index(base, left, confidence)
        other = plain_index(base, right, confidence)
        ahead, behind = (left, right) if index >= other else (right, left)
        apart = base.lines[ahead] - base.lines[behind]
        closing = base.lines[behind + 1] - base.lines[ahead + 1]
        safe = safe_level(apart, closing, level)
        if abs(index - other) <= 2.0 * DOUBT and (apart != 0.0 or closing != 0.0):
            safe = level  # too close to call: look again next round
        expiry = min(min(base.expiries[node], base.expiries[sibling]), safe)
        node = node >> u64(1)
        base.winners[node] = ahead
        base.expiries[node] = expiry


@kernel
def settle(base: AsymptoticUCBState, start: int, level: float, round: int) -> float:
    """Climb; where a game was in doubt, once more with care. Returns what rivals will have reached."""
    doubt, bound = climb(base, start, level)
    if rarely(doubt):
        climb_plainly(base, start, level, log_confidence(round))
    return bound


@kernel
def repair(base: AsymptoticUCBState, level: float, round: int) -> None:
    """Play every game again whose outcome may have changed by this level."""
    while rarely(base.expiries[1] < level):
        # Down to the lowest game that has expired: its children have not.
        left = 2
        while base.expiries[left] < level or base.expiries[left + 1] < level:
            left = 2 * left if base.expiries[left] < level else 2 * left + 2
        settle(base, left, level, round)


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
    leaves = 2
    while leaves < arms:
        leaves *= 2
    for slot in range(leaves):
        base.sums[slot] = 0.0
        base.plays[slot] = 0
        base.lines[2 * slot] = UNTRIED if slot < arms else NO_ARM
        base.lines[2 * slot + 1] = 0.0
        base.winners[leaves + slot] = 2 * slot
        base.expiries[leaves + slot] = math.inf
    for node in range(leaves - 1, 0, -1):
        base.winners[node] = base.winners[2 * node]
        base.expiries[node] = math.inf
    return AsymptoticUCBState(
        sigma=base.sigma,
        arms=arms,
        tried=0,
        told=0,
        clock=Clock(log_round=0.0, growth=1.0, confidence=0.0),
        leaves=leaves,
        sums=base.sums,
        plays=base.plays,
        lines=base.lines,
        winners=base.winners,
        expiries=base.expiries,
        lease=Lease(slot=0, until=0.0, bound=math.inf),
    )


def pick(base: AsymptoticUCBState, key: int, round: int, waiting: int) -> tuple[int, float]:
    """The argmax of the index; untried arms have an infinite one."""
    slot = next_untried(base.plays, base.arms, base.tried, waiting)
    if slot < 0:
        slot = base.lease.slot
    return slot, 1.0


def learn(base: AsymptoticUCBState, choice: Choice, reward: float) -> AsymptoticUCBState:
    """Move the played arm's line, raise the level to that of the coming round, settle the tree."""
    slot = choice.slot
    total = base.sums[slot] + reward
    plays = base.plays[slot] + 1
    base.sums[slot] = total
    base.plays[slot] = plays
    told = base.told + 1
    clock = ticked(base.clock, told + 1)
    level = base.sigma * math.sqrt(2.0 * clock.confidence)
    base.lines[2 * slot] = total / plays
    base.lines[2 * slot + 1] = 1.0 / math.sqrt(plays)
    # With a lease, the tree is left as it is: its games on the leader's path are stale, and are played again at
    # the end of the lease. Line and plain formula differ by less than DOUBT, for the leader and for its rivals.
    lease = base.lease
    index = base.lines[2 * slot] + level * base.lines[2 * slot + 1]
    if rarely((slot != lease.slot) | (level > lease.until) | (index <= lease.bound + 2.0 * DOUBT)):
        if rarely(slot != lease.slot):
            settle(base, base.leaves + lease.slot, level, told + 1)
        lease = new_lease(base, slot, level, told + 1)
    return AsymptoticUCBState(
        sigma=base.sigma,
        arms=base.arms,
        tried=base.tried + (1 if plays == 1 else 0),
        told=told,
        clock=clock,
        leaves=base.leaves,
        sums=base.sums,
        plays=base.plays,
        lines=base.lines,
        winners=base.winners,
        expiries=base.expiries,
        lease=lease,
    )


register(AsymptoticUCBState, renew=renew, pick=pick, learn=learn)
