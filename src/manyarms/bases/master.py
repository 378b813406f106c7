"""MASTER: copies of UCB at many time scales, and two tests of whether the longer ones can still be believed.

A block of 2^n rounds is begun by a copy of UCB for all of it. Shorter copies, of 2^m rounds, begin at random at
multiples of their length, and the shortest that is under way plays. Each is optimistic: it states a value that the best
arm should not exceed. If a copy earned more than the least value of the block (test 1), or all of them less than they
promised (test 2), something has changed, and blocks begin anew with a single round; else the next block has twice as
many.

Source: Wei & Luo, "Non-stationary Reinforcement Learning without Prior Knowledge: An Optimal Black-box Approach" (COLT
2021, arXiv:2102.05406): MALG and MASTER, with UCB1 inside.

Symbols: n -> rank; m -> the rank of a copy; g-tilde_t -> value; U_t -> least; rho -> rho; rho-hat -> radius; delta ->
delta; K -> arms; T -> horizon.

Deviations: all copies have the confidence of the whole run, log T. Values are at most 1. A block has at most 2^34
rounds, long enough for both tests; the next one then has as many. A round is an answer, and is learned by the copy
that is in control when it comes; open asks teach nothing, and neither do plays that were seen elsewhere. Rewards
beyond [0, 1] count as the end they are beyond. Ties go to the lower slot. The paper's text was not at hand: rho and
when copies begin are as public code has them, tests and constants as remembered.

The tests do nothing in practice, which Gerogiannis et al. note too (arXiv:2410.13772): rewards and values are in [0,
1], and the radii are larger than that for longer than anybody plays (`MASTER.shortest_alarms`). What is left is UCB
that begins anew in every block. ``scale`` makes the radii smaller; the guarantee is for 1.

A round takes O(arms) time: the index of one arm moves, and the largest of all is looked for.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..specs import Positive, count, fraction
from ..streams import UNSET_KEY, bits_at, follow, uniform
from .base import Base
from .drawn import within
from .restarts import all_plays

RANKS = 34
"""Blocks have at most 2^34 rounds: there is a horizon at which that is enough for a test to be met."""


class MASTERState(NamedTuple):
    """A run over one subsample. Rounds are counted from the first one of the block."""

    scale: float
    told_delta: float  # 0: from the horizon
    width: float
    plays: NDArray[np.int64]  # slot -> all its plays
    learned: NDArray[np.int64]  # rank · arms + slot -> plays that the copy of this rank has learned
    sums: NDArray[np.float64]  # the same of rewards
    indices: NDArray[np.float64]  # and of the index
    ends: NDArray[np.int64]  # rank -> the round with which its copy ends; less than the coming one: there is none
    before: NDArray[np.float64]  # rank -> what the block had earned when its copy began
    key: int = UNSET_KEY
    arms: int = 0
    level: float = 0.0  # width · log T
    factor: float = 0.0  # of the radius
    rank: int = 0  # of the block
    told: int = 0  # rounds of the block so far
    control: int = 0  # the rank of the copy that plays
    leader: int = 0  # the slot with its largest index
    value: float = 1.0  # that index, at most 1
    least: float = 1.0  # of the values of the block
    earned: float = 0.0  # in the block
    missed: float = 0.0  # by how much all values of the block exceeded the rewards
    restarts: int = 0


def checked_delta(owner: str, name: str, value: Any) -> float:
    """A probability that is not 0."""
    result = fraction(owner, name, value)
    if result == 0.0:
        raise ValueError(f"{owner}: {name} must be above 0, not {value!r}")
    return result


@dataclasses.dataclass(frozen=True)
class MASTER(Base):
    """Copies of UCB at many time scales, restarted by two tests (Wei & Luo 2021).

    Parameters
    ----------
    scale
        The factor of the radii in both tests: 1 in the paper.
    delta
        The chance of a mistake that is aimed at. None: 1 / T.
    width
        The factor under the root of the index, as for `UCB`.

    Examples
    --------
    In a million rounds on 10 arms neither test can be met, whatever the arms do: the first needs a copy of 9.8 · 10^9
    rounds, the second a block of 1.1 · 10^9.

    >>> import manyarms as ma
    >>> [f"{rounds:.2g}" for rounds in ma.MASTER().shortest_alarms(arms=10, horizon=1_000_000)]
    ['9.8e+09', '1.1e+09']
    >>> ma.Subsample(base=ma.MASTER(scale=0.001), beta=1.0, arms=10).base.label()
    'MASTER(scale=0.001)'
    """

    about: ClassVar = About(
        told=("T",),
        rate="sqrt(K T); sqrt(changes · K T) if any",
        made_for=("wear", "crashes"),
        cost="O(arms)",
    )
    takes_corrections: ClassVar[bool] = False
    tried_with: ClassVar = ({"scale": 0.0005, "width": 0.1},)

    scale: Positive = 1.0
    delta: Annotated[float, checked_delta] | None = None
    width: Positive = 2.0

    def start(self, slots: int) -> MASTERState:
        """A state with arrays for ``slots`` arms, once for each copy."""
        copies = RANKS + 1
        return MASTERState(
            scale=self.scale,
            told_delta=self.delta or 0.0,
            width=self.width,
            plays=np.zeros(slots, dtype=np.int64),
            learned=np.zeros(slots * copies, dtype=np.int64),
            sums=np.zeros(slots * copies),
            indices=np.zeros(slots * copies),
            ends=np.zeros(copies, dtype=np.int64),
            before=np.zeros(copies),
        )

    def shortest_alarms(self, arms: int, horizon: int) -> tuple[int, int]:
        """The least rounds of a copy, and of a block, with which tests 1 and 2 can be met by rewards in [0, 1]."""
        arms, rounds = count("MASTER", "arms", arms), count("MASTER", "horizon", horizon, least=2)
        factor = radius_factor(self.scale, self.delta or 0.0, float(rounds))
        return (rounds_for(1.0 / (WORTH_1 * factor), arms), rounds_for(1.0 / (WORTH_2 * factor), arms))


# ---------------------------------------------------------------- radii

WORTH_1 = 9.0
WORTH_2 = 3.0
"""How many radii the tests ask for."""


@kernel
def rho(arms: int, rounds: float) -> float:
    """The regret of UCB a round, up to logarithms: sqrt(K / t) + K / t."""
    share = arms / rounds
    return math.sqrt(share) + share


@kernel
def radius_factor(scale: float, told_delta: float, horizon: float) -> float:
    """What all radii have in common: 6 (log2(T) + 1) log(T / delta)."""
    log_horizon = natural_log(horizon)
    log_delta = natural_log(told_delta) if told_delta > 0.0 else -log_horizon
    return scale * 6.0 * (binary_log(horizon) + 1.0) * (log_horizon - log_delta)


@kernel
def radius(base: MASTERState, rounds: int) -> float:
    """By how much the mean of so many rounds may be off."""
    return base.factor * rho(base.arms, float(rounds))


def rounds_for(most: float, arms: int) -> int:
    """The least t for which rho(t) is at most so much: with x = sqrt(K / t), x^2 + x is."""
    root = 2.0 * most / (1.0 + math.sqrt(1.0 + 4.0 * most))
    return math.ceil(arms / (root * root))


# ---------------------------------------------------------------- blocks and copies


@kernel
def new_block(base: MASTERState, rank: int) -> MASTERState:
    """Nothing has been played in it, and no copy is under way."""
    for place in range(RANKS + 1):
        base.ends[place] = 0
    return replaced(base, rank=rank, told=0, least=1.0, earned=0.0, missed=0.0)


@kernel
def begin_copies(base: MASTERState, bits: int) -> None:
    """Where a multiple of 2^m rounds is over, a copy for 2^m rounds begins, with probability rho(2^n) / rho(2^m)."""
    whole_block = rho(base.arms, float(1 << base.rank))
    for rank in range(base.rank + 1):
        length = 1 << rank
        if base.told & (length - 1):
            break
        if uniform(follow(bits, rank + 1)) < whole_block / rho(base.arms, float(length)):
            base.ends[rank] = base.told + length
            base.before[rank] = base.earned
            for slot in range(base.arms):
                base.learned[rank * base.arms + slot] = 0
                base.sums[rank * base.arms + slot] = 0.0
                base.indices[rank * base.arms + slot] = math.inf


@kernel
def with_leader(base: MASTERState) -> MASTERState:
    """The shortest copy under way plays the arm with its largest index."""
    control = 0
    while base.ends[control] <= base.told:
        control += 1
    first = control * base.arms
    leader = 0
    most = base.indices[first]
    for slot in range(1, base.arms):
        if base.indices[first + slot] > most:
            leader = slot
            most = base.indices[first + slot]
    return replaced(base, control=control, leader=leader, value=float(min(most, 1.0)))


def renew(base: MASTERState, arms: int, horizon: float, log_horizon: float) -> MASTERState:
    """No arm has been played; the first block is one round."""
    for slot in range(arms):
        base.plays[slot] = 0
    rounds = max(horizon, 2.0)
    base = new_block(
        replaced(
            base,
            arms=arms,
            level=base.width * natural_log(rounds),
            factor=radius_factor(base.scale, base.told_delta, rounds),
            restarts=0,
        ),
        0,
    )
    begin_copies(base, bits_at(base.key, 0, 2))  # the only copy begins for sure
    return with_leader(base)


def keyed(base: MASTERState, key: int) -> MASTERState:
    """Copies are drawn when an answer is learned."""
    return replaced(base, key=key)


# ---------------------------------------------------------------- tests


@kernel
def earns_too_much(base: MASTERState) -> bool:
    """Test 1: a copy that ends now saw rewards, on average, 9 radii above the least value of the block."""
    for rank in range(base.rank + 1):
        length = 1 << rank
        if base.told & (length - 1):
            break
        mean = (base.earned - base.before[rank]) / length
        if base.ends[rank] == base.told and mean >= base.least + WORTH_1 * radius(base, length):
            return True
    return False


@kernel
def promises_too_much(base: MASTERState) -> bool:
    """Test 2: values were, on average, 3 radii above the rewards."""
    return base.missed / base.told >= WORTH_2 * radius(base, base.told)


@kernel
def after_reward(base: MASTERState, slot: int, reward: float) -> MASTERState:
    """The copy in control learns, the block adds up."""
    place = base.control * base.arms + slot
    plays = base.learned[place] + 1
    total = base.sums[place] + reward
    base.learned[place] = plays
    base.sums[place] = total
    base.indices[place] = total / plays + math.sqrt(base.level / plays)
    return replaced(
        base,
        told=base.told + 1,
        earned=base.earned + reward,
        least=min(base.least, base.value),
        missed=base.missed + (base.value - reward),
    )


def learn(base: MASTERState, choice: Choice, reward: float) -> MASTERState:
    """One more round, and what begins after it: blocks anew, the next block, or copies in this one."""
    base.plays[choice.slot] += 1
    base = after_reward(base, choice.slot, within(reward))
    has_changed = earns_too_much(base) or promises_too_much(base)
    is_over = base.told >= 1 << base.rank
    if rarely(has_changed or is_over):
        rank = 0 if has_changed else min(base.rank + 1, RANKS)
        restarts = base.restarts + 1 if has_changed else base.restarts
        base = replaced(new_block(base, rank), restarts=restarts)
    begin_copies(base, bits_at(base.key, choice.round, 2))
    return with_leader(base)


# ---------------------------------------------------------------- picks


def pick(base: MASTERState, key: int, round: int) -> tuple[int, float]:
    """The arm with the largest index of the copy in control."""
    return base.leader, 1.0


def best_among(base: MASTERState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The same of the allowed slots."""
    first = base.control * base.arms
    best = -1
    for slot in range(arms):
        if allowed[slot] and (best < 0 or base.indices[first + slot] > base.indices[first + best]):
            best = slot
    return best, 1.0


register(MASTERState, renew=renew, keyed=keyed, pick=pick, best_among=best_among, learn=learn, plays_of=all_plays)
