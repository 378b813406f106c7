"""CBT and EmpiricalCBT: play the arm with the least confidence bound of its loss, if that is below a target.

An arm is worth another play as long as its loss may be below a target, the loss that an ideal player
would pay in every round; when no arm is, a fresh one is. CBT computes the target from what is known
of the reservoir; EmpiricalCBT knows nothing but the horizon, and takes its losses so far, spread over all rounds.

Source: Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793): CBT and
empirical CBT. The authors' R package CBT 1.0 has the same bound, defaults and comparisons.

Symbols: n -> horizon; X -> 1 - reward, a loss; L_kt -> confidence_bound; b_n, c_n -> slack.shrink, slack.width;
zeta_n -> target; lambda -> first_loss (spec); S' -> loss.

Deviations: b_n = c_n = log log n as in the source's studies, but at least 1, which is log log of 15.2.
Without a horizon, the run is cut into blocks of 2, 4, 8, … rounds, each with its own n and fresh arms (the
doubling trick); a known horizon that has passed changes nothing. EmpiricalCBT keeps at most ``keep`` arms:
when it wants a fresh one beyond that, the arm with the largest bound goes. Such an arm would come back
only once the target reached its bound; until then the choices are those of the source, but for ties, and
``explain`` says whether it has happened (``missed_an_arm``). Ties go to the lower slot, and bounds within
a relative 2^-36 of each other, at 65,536 slots, are ties. A late reward for an arm that is not kept any
more counts for the target only. With ``beta="auto"`` beta is estimated anew whenever a fresh arm is drawn
(`policies.tail`), on the safe side, and the target follows; an arm that was left is left for good all the same.
"""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import binary_log, natural_log, power
from ..bases.tournament import new_tournament, open_tournament, rank, slot_of
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, register
from ..specs import count, positive
from .base import (
    DOUBLING,
    NO_BLOCK,
    NOTHING,
    Block,
    Policy,
    Tally,
    block_counts,
    checked_horizon,
    horizon_number,
    last_block_rank,
    observe_nothing,
)
from .tail import (
    Tail,
    begin_tail,
    cautious_beta,
    checked_beta,
    explained,
    first_beta,
    new_tail,
    watch_fresh_arm,
    watch_reward,
)


class Slack(NamedTuple):
    """By how much a confidence bound may be below the mean loss."""

    shrink: float  # b_n: it is at least the mean divided by this
    width: float  # c_n: and at least this many standard errors below it


@kernel
def slack_for(horizon: int) -> Slack:
    """B_n = c_n = log log n, at least 1."""
    slack = 1.0
    if horizon > 15:
        slack = max(natural_log(natural_log(float(horizon))), 1.0)
    return Slack(shrink=slack, width=slack)


@kernel
def confidence_bound(total: float, squares: float, plays: int, slack: Slack) -> float:
    """L_kt = max(mean / b_n, mean - c_n · deviation / sqrt(plays)), of an arm's losses and their squares."""
    mean = total / plays
    deviation = math.sqrt(max(squares / plays - mean * mean, 0.0))
    return max(mean / slack.shrink, mean - slack.width * deviation / math.sqrt(float(plays)))


# ---------------------------------------------------------------- the target is known


class CBTSettings(NamedTuple):
    """The spec in numbers; none but an estimated beta ever changes."""

    beta: float
    first_loss: float  # lambda
    target: float  # 0: from the two above
    horizon: int  # 0: unknown


class CBTState(NamedTuple):
    """A run of the algorithm."""

    settings: CBTSettings
    tail: Tail  # what is known of beta
    block: Block
    rounds_left: int  # in this block
    slack: Slack
    target: float
    arm: int  # the arm in play
    plays: int  # how many of its rewards have come
    total: float  # its losses
    squares: float  # of its losses
    tally: Tally


@dataclasses.dataclass(frozen=True)
class CBT(Policy):
    """Keep an arm while the confidence bound of its loss is at most a target (Chan & Hu 2018).

    A bound moves only with its own arm and the target is fixed, so an arm that was left never comes back: one arm
    at a time is all it keeps.

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, P(mean > 1 - x) = x^beta, or ``"auto"``: estimated as the run goes.
    first_loss
        The average of the first loss of a fresh arm that is not 0: 1 for coins. If P(mean > 1 - x) is about
        alpha · x^beta, divide it by alpha.
    target
        In place of ((beta + 1) · first_loss / T)^(1 / (beta + 1)).
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own target.

    Examples
    --------
    With coins and a uniform reservoir no regret can be below sqrt(2 T) in the long run, which is 141 here:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.CBT(beta=1.0), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("CBT").mean() < 200)
    True
    """

    beta: float | str
    first_loss: float = 1.0
    target: float | None = None
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(beta=1.0),
            cls(beta="auto"),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checked_beta("CBT", self.beta))
        object.__setattr__(self, "first_loss", positive("CBT", "first_loss", self.first_loss))
        if self.target is not None:
            object.__setattr__(self, "target", positive("CBT", "target", self.target))
        object.__setattr__(self, "horizon", checked_horizon("CBT", self.horizon))

    def settings(self) -> CBTSettings:
        """The spec in numbers."""
        return CBTSettings(
            beta=first_beta(self.beta),
            first_loss=self.first_loss,
            target=self.target or 0.0,
            horizon=horizon_number(self.horizon),
        )

    def slots(self, rounds: int) -> int:
        """One: the arm in play."""
        return 1

    def start(self, rounds: int) -> CBTState:
        """Nothing to allocate."""
        return CBTState(
            settings=self.settings(),
            tail=new_tail("CBT", self.beta, 1),
            block=NO_BLOCK,
            rounds_left=0,
            slack=Slack(shrink=1.0, width=1.0),
            target=0.0,
            arm=0,
            plays=0,
            total=0.0,
            squares=0.0,
            tally=NOTHING,
        )

    def kept_arms(self, state: CBTState) -> NDArray[np.int64]:
        """The arm in play."""
        return np.array([state.arm], dtype=np.int64)

    def explain(self, state: CBTState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        bound = confidence_bound(state.total, state.squares, state.plays, state.slack) if state.plays else None
        return {
            "episode": 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": max(state.rounds_left, 0),
            "arms": 1,
            "plays_of_arm": state.plays,
            "confidence_bound": bound,
            "target": state.target,
            "last_restart": None,
        } | explained(state.tail, binary_log(float(state.block.length)))


@kernel
def target_for(settings: CBTSettings, horizon: int) -> float:
    """Zeta_n, for which the average of (zeta - gap)^+ over fresh arms is lambda / n."""
    if settings.target > 0.0:
        return settings.target
    return power((settings.beta + 1.0) * settings.first_loss / horizon, 1.0 / (settings.beta + 1.0))


@kernel
def settings_for(state: CBTState, horizon: int) -> CBTSettings:
    """The settings, with the present estimate of beta for that many rounds."""
    settings = state.settings
    if state.tail.levels == 0:
        return settings
    return replaced(settings, beta=cautious_beta(state.tail, binary_log(float(horizon))))


@kernel
def open_block(state: CBTState, block_rank: int, opened: int, tally: Tally) -> CBTState:
    """A fresh arm: for the whole run if its length is known, else for the next doubling block."""
    length = 1 << block_rank
    if state.settings.horizon > 0:
        length = state.settings.horizon
    settings = settings_for(state, length)
    watch_fresh_arm(state.tail, 0)
    return replaced(
        state,
        settings=settings,
        block=Block(number=state.block.number + 1, rank=block_rank, length=length, size=1, opened=opened),
        rounds_left=length,
        slack=slack_for(length),
        target=target_for(settings, length),
        arm=tally.arms,
        plays=0,
        total=0.0,
        squares=0.0,
        tally=replaced(tally, restarts=0, arms=tally.arms + 1),
    )


def begin(state: CBTState, key: int) -> CBTState:
    """The first block."""
    begin_tail(state.tail)
    clean = replaced(
        state,
        block=NO_BLOCK,
        rounds_left=0,
        target=0.0,
        arm=0,
        plays=0,
        total=0.0,
        squares=0.0,
        tally=NOTHING,
    )
    return open_block(clean, 1, 0, clean.tally)


def ask(state: CBTState, round: int, waiting: int) -> Choice:
    """The arm in play."""
    return Choice(slot=0, arm=state.arm, probability=1.0, block=state.block.number, round=round)


def tell(state: CBTState, choice: Choice, reward: float) -> CBTState:
    """Add the loss; a fresh arm if the bound of this one exceeds the target."""
    tally = state.tally
    rounds_left = state.rounds_left
    arm, plays, total, squares = state.arm, state.plays, state.total, state.squares
    settings = state.settings
    target = state.target
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, restarts=0, ignored=tally.ignored + 1)
    else:
        rounds_left -= 1
        if choice.arm == arm:
            watch_reward(state.tail, 0, reward)
        if rarely(rounds_left == 0) and settings.horizon == 0:
            return open_block(state, state.block.rank + 1, state.block.opened + state.block.length, tally)
        if choice.arm == arm:  # a late reward may belong to an arm that was left
            loss = 1.0 - reward
            plays += 1
            total += loss
            squares += loss * loss
            if rarely(confidence_bound(total, squares, plays, state.slack) > state.target):
                arm = tally.arms
                plays = 0
                total = 0.0
                squares = 0.0
                tally = replaced(tally, restarts=0, arms=tally.arms + 1)
                if state.tail.levels > 0:
                    watch_fresh_arm(state.tail, 0)
                    settings = settings_for(state, state.block.length)
                    target = target_for(settings, state.block.length)
    return replaced(
        state,
        settings=settings,
        rounds_left=rounds_left,
        target=target,
        arm=arm,
        plays=plays,
        total=total,
        squares=squares,
        tally=tally,
    )


def counts(state: CBTState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(CBTState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe_nothing)

# ---------------------------------------------------------------- the target is what was lost


class EmpiricalCBTState(NamedTuple):
    """A run of the algorithm."""

    horizon: int  # 0: unknown
    keep: int
    size: int  # how many slots this block uses
    leaves: int  # of both tournaments
    block: Block
    rounds_left: int  # in this block
    slack: Slack
    loss: float  # of all arms of this block
    slot: int  # of the arm to play next
    let_go: float  # the least bound of an arm of this block that is kept no more
    missed: bool  # whether such an arm would have come back
    plays: NDArray[np.int64]  # slot -> plays
    totals: NDArray[np.float64]  # slot -> losses
    squares: NDArray[np.float64]  # slot -> squares of its losses
    arms: NDArray[np.int64]  # slot -> arm; -1: none
    least: NDArray[np.int64]  # tournament of the bounds with a minus: who has the least
    largest: NDArray[np.int64]  # tournament of the bounds: who goes first; a slot without an arm has an infinite one
    tally: Tally


@dataclasses.dataclass(frozen=True)
class EmpiricalCBT(Policy):
    """The arm with the least confidence bound, if it is at most losses so far / T (Chan & Hu 2018).

    Parameters
    ----------
    keep
        The most arms it keeps, which take some 80 bytes each. By default up to 65,536 rounds it keeps all.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own T.

    Examples
    --------
    It knows nothing of the reservoir, and is within a factor of 1.24 of the best in the long run (uniform reservoir):

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.EmpiricalCBT(), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("EmpiricalCBT").mean() < 200)
    True
    """

    keep: int = 65_536
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(),
            # So few arms that good ones are let go.
            cls(keep=5, horizon=DOUBLING),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", count("EmpiricalCBT", "keep", self.keep))
        object.__setattr__(self, "horizon", checked_horizon("EmpiricalCBT", self.horizon))

    @property
    def is_scattered(self) -> bool:
        """Every round walks up two trees."""
        return True

    def slots(self, rounds: int) -> int:
        """At most one for each round of the longest block."""
        return min(self.keep, horizon_number(self.horizon) or 2 ** last_block_rank(rounds))

    def start(self, rounds: int) -> EmpiricalCBTState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return EmpiricalCBTState(
            horizon=horizon_number(self.horizon),
            keep=self.keep,
            size=0,
            leaves=1,
            block=NO_BLOCK,
            rounds_left=0,
            slack=Slack(shrink=1.0, width=1.0),
            loss=0.0,
            slot=0,
            let_go=math.inf,
            missed=False,
            plays=np.zeros(slots, dtype=np.int64),
            totals=np.zeros(slots, dtype=np.float64),
            squares=np.zeros(slots, dtype=np.float64),
            arms=np.zeros(slots, dtype=np.int64),
            least=new_tournament(slots),
            largest=new_tournament(slots),
            tally=NOTHING,
        )

    def kept_arms(self, state: EmpiricalCBTState) -> NDArray[np.int64]:
        """All arms that have a slot."""
        arms = state.arms[: state.size]
        return np.sort(arms[arms >= 0])

    def explain(self, state: EmpiricalCBTState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": max(state.rounds_left, 0),
            "arms": len(self.kept_arms(state)),
            "target": state.loss / state.block.length,
            "missed_an_arm": state.missed,
            "last_restart": None,
        }


@kernel
def bound_of(state: EmpiricalCBTState, slot: int) -> float:
    """The confidence bound of an arm; an untried one has the least there is."""
    plays = state.plays[slot]
    if plays == 0:
        return -math.inf
    return confidence_bound(state.totals[slot], state.squares[slot], plays, state.slack)


@kernel
def next_slot(state: EmpiricalCBTState, target: float) -> int:
    """The slot with the least bound, or -1 if that exceeds the target and a fresh arm is due."""
    slot = slot_of(state.least[1], state.leaves)
    return slot if bound_of(state, slot) <= target else -1


@kernel
def fresh_slot(state: EmpiricalCBTState, arm: int) -> tuple[int, float]:
    """Put a fresh arm where none is, or in place of the one with the largest bound; return the slot and that bound."""
    slot = slot_of(state.largest[1], state.leaves)
    bound = bound_of(state, slot) if state.arms[slot] >= 0 else math.inf
    state.arms[slot] = arm
    state.plays[slot] = 0
    state.totals[slot] = 0.0
    state.squares[slot] = 0.0
    rank(state.least, state.leaves, slot, math.inf)
    rank(state.largest, state.leaves, slot, -math.inf)
    return slot, bound


@kernel
def open_empirical_block(state: EmpiricalCBTState, block_rank: int, opened: int, tally: Tally) -> EmpiricalCBTState:
    """No arms but a fresh one: for the whole run if its length is known, else for the next doubling block."""
    length = 1 << block_rank
    if state.horizon > 0:
        length = state.horizon
    size = min(state.keep, length)
    for slot in range(size):
        state.arms[slot] = -1
        state.plays[slot] = 0
        state.totals[slot] = 0.0
        state.squares[slot] = 0.0
    open_tournament(state.least, size, -math.inf)
    opened_state = replaced(
        state,
        size=size,
        leaves=open_tournament(state.largest, size, math.inf),
        block=Block(number=state.block.number + 1, rank=block_rank, length=length, size=size, opened=opened),
        rounds_left=length,
        slack=slack_for(length),
        loss=0.0,
        slot=0,
        let_go=math.inf,
        tally=replaced(tally, restarts=0, arms=tally.arms + 1),
    )
    fresh_slot(opened_state, tally.arms)  # slot 0, the lowest
    return opened_state


def begin_empirical(state: EmpiricalCBTState, key: int) -> EmpiricalCBTState:
    """The first block."""
    clean = replaced(
        state,
        size=0,
        leaves=1,
        block=NO_BLOCK,
        rounds_left=0,
        loss=0.0,
        slot=0,
        let_go=math.inf,
        missed=False,
        tally=NOTHING,
    )
    return open_empirical_block(clean, 1, 0, clean.tally)


def ask_empirical(state: EmpiricalCBTState, round: int, waiting: int) -> Choice:
    """The arm that was decided on when the last reward came."""
    slot = state.slot
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=state.block.number, round=round)


def tell_empirical(state: EmpiricalCBTState, choice: Choice, reward: float) -> EmpiricalCBTState:
    """Add the loss, move the bound of its arm, and decide on the next one."""
    tally = state.tally
    loss = state.loss
    rounds_left = state.rounds_left
    slot = state.slot
    let_go = state.let_go
    missed = state.missed
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, restarts=0, ignored=tally.ignored + 1)
    else:
        lost = 1.0 - reward
        loss += lost
        rounds_left -= 1
        if rarely(rounds_left == 0) and state.horizon == 0:
            return open_empirical_block(state, state.block.rank + 1, state.block.opened + state.block.length, tally)
        played = choice.slot
        if state.arms[played] == choice.arm:  # a late reward may belong to an arm that was let go
            state.plays[played] += 1
            state.totals[played] += lost
            state.squares[played] += lost * lost
            bound = bound_of(state, played)
            rank(state.least, state.leaves, played, -bound)
            rank(state.largest, state.leaves, played, bound)
        target = loss / state.block.length
        missed = missed or let_go <= target
        slot = next_slot(state, target)
        if slot < 0:
            slot, bound = fresh_slot(state, tally.arms)
            let_go = min(let_go, bound)
            tally = replaced(tally, restarts=0, arms=tally.arms + 1)
    return replaced(state, rounds_left=rounds_left, loss=loss, slot=slot, let_go=let_go, missed=missed, tally=tally)


def counts_empirical(state: EmpiricalCBTState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(
    EmpiricalCBTState,
    begin=begin_empirical,
    ask=ask_empirical,
    tell=tell_empirical,
    counts=counts_empirical,
    observe=observe_nothing,
)
