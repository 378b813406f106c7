"""EmpiricalCBT: play the arm with the least confidence bound of its loss, if that is at most what was lost so far.

An arm is worth another play as long as its loss may be below a target, the loss that an ideal player
would pay in every round; when no arm is, a fresh one is. `CBT` computes the target from what is known
of the reservoir; this policy knows nothing but the horizon, and takes its losses so far, spread over all rounds.

Source: Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793): empirical CBT.

Symbols: those of `policies.confidence`; S' -> loss.

Deviations: without a horizon, the run is cut into blocks of 2, 4, 8, … rounds, each with its own n and fresh arms (the
doubling trick); a known horizon that has passed changes nothing. It keeps at most ``keep`` arms:
when it wants a fresh one beyond that, the arm with the largest bound goes. Such an arm would come back
only once the target reached its bound; until then the choices are those of the source, but for ties, and
``explain`` says whether it has happened (``missed_an_arm``). Ties go to the lower slot, and bounds within
a relative 2^-36 of each other, at 65,536 slots, are ties. A late reward for an arm that is not kept any
more counts for the target only.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..bases.tournament import leader, new_tournament, open_tournament, replay_games
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Count
from . import blocks
from .base import DOUBLING, Horizon, Policy
from .confidence import NO_SLACK, Slack, confidence_bound, slack_for


class EmpiricalCBTState(NamedTuple):
    """A run of the algorithm."""

    horizon: int  # 0: unknown
    keep: int
    plays: NDArray[np.int64]  # slot -> plays
    totals: NDArray[np.float64]  # slot -> losses
    squares: NDArray[np.float64]  # slot -> squares of its losses
    arms: NDArray[np.int64]  # slot -> arm; -1: none
    least: NDArray[np.int64]  # tournament of the bounds with a minus: who has the least
    largest: NDArray[np.int64]  # tournament of the bounds: who goes first; a slot without an arm has an infinite one
    leaves: int = 1  # of both tournaments
    block: blocks.Block = blocks.NO_BLOCK  # its size: how many slots it uses
    slack: Slack = NO_SLACK
    loss: float = 0.0  # of all arms of this block
    slot: int = 0  # of the arm to play next
    let_go: float = math.inf  # the least bound of an arm of this block that is kept no more
    missed: bool = False  # whether such an arm would have come back
    counts: Counts = blocks.NO_COUNTS


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

    about: ClassVar = About(
        told=("T", "top 1"),
        rate="T^(beta/(beta+1)), at most twice that of CBT; 1.24 times it at beta = 1",
        made_for=("still",),
        cost="O(log arms)",
    )
    tried_with: ClassVar = (
        {},
        # So few arms that good ones are let go.
        {"keep": 5, "horizon": DOUBLING},
    )

    keep: Count = 65_536
    horizon: Horizon = None

    @property
    def is_scattered(self) -> bool:
        """Every round walks up two trees."""
        return True

    def slots(self, rounds: int) -> int:
        """At most one for each round of the longest block."""
        return min(self.keep, blocks.longest_block(self.known_horizon, rounds))

    def start(self, rounds: int) -> EmpiricalCBTState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return EmpiricalCBTState(
            horizon=self.known_horizon,
            keep=self.keep,
            plays=np.zeros(slots, dtype=np.int64),
            totals=np.zeros(slots, dtype=np.float64),
            squares=np.zeros(slots, dtype=np.float64),
            arms=np.zeros(slots, dtype=np.int64),
            least=new_tournament(slots),
            largest=new_tournament(slots),
        )

    def kept_arms(self, state: EmpiricalCBTState) -> NDArray[np.int64]:
        """All arms that have a slot."""
        arms = state.arms[: state.block.size]
        return np.sort(arms[arms >= 0])

    def explain(self, state: EmpiricalCBTState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {
            "arms": len(self.kept_arms(state)),
            "target": target_of(state),
            "missed_an_arm": bool(state.missed),
        }


@kernel
def target_of(state: EmpiricalCBTState) -> float:
    """The losses of this block, spread over its rounds."""
    return state.loss / state.block.length


@kernel
def bound_of(state: EmpiricalCBTState, slot: int) -> float:
    """The confidence bound of an arm; an untried one has the least there is."""
    plays = state.plays[slot]
    if plays == 0:
        return -math.inf
    return confidence_bound(state.totals[slot], state.squares[slot], plays, state.slack)


@kernel
def fill_slot(state: EmpiricalCBTState, slot: int, arm: int) -> None:
    """An arm that was never played, or none."""
    state.arms[slot] = arm
    state.plays[slot] = 0
    state.totals[slot] = 0.0
    state.squares[slot] = 0.0


@kernel
def fresh_slot(state: EmpiricalCBTState, arm: int) -> tuple[int, float]:
    """Put a fresh arm where none is, or in place of the one with the largest bound; return the slot and that bound."""
    slot = leader(state.largest, state.leaves)
    bound = bound_of(state, slot) if state.arms[slot] >= 0 else math.inf
    fill_slot(state, slot, arm)
    replay_games(state.least, state.leaves, slot, math.inf)
    replay_games(state.largest, state.leaves, slot, -math.inf)
    return slot, bound


@kernel
def open_block(state: EmpiricalCBTState, block_rank: int) -> EmpiricalCBTState:
    """No arms but a fresh one: for the whole run if its length is known, else for the next doubling block."""
    length = blocks.block_length(state.horizon, block_rank)
    size = min(state.keep, length)
    for slot in range(size):
        fill_slot(state, slot, -1)
    open_tournament(state.least, size, -math.inf)
    opened = replaced(
        state,
        leaves=open_tournament(state.largest, size, math.inf),
        block=blocks.next_block(state.block, block_rank, length, size),
        slack=slack_for(length),
        loss=0.0,
        slot=0,
        let_go=math.inf,
        counts=blocks.with_block(state.counts, 1),
    )
    fresh_slot(opened, state.counts.arms)  # slot 0, the lowest
    return opened


def begin(state: EmpiricalCBTState, key: int) -> EmpiricalCBTState:
    """The first block."""
    return open_block(replaced(state, block=blocks.NO_BLOCK, missed=False, counts=blocks.NO_COUNTS), 1)


def ask(state: EmpiricalCBTState, round: int) -> Choice:
    """The arm that was decided on when the last reward came."""
    slot = state.slot
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=state.counts.blocks, round=round)


def tell(state: EmpiricalCBTState, choice: Choice, reward: float) -> EmpiricalCBTState:
    """Add the loss, move the bound of its arm, and decide on the next one."""
    loss = 1.0 - reward
    told = replaced(state, block=blocks.after_round(state.block), loss=state.loss + loss)
    if rarely(blocks.is_over(told.block, state.horizon)):
        return open_block(told, told.block.rank + 1)
    if state.arms[choice.slot] == choice.arm:  # a late reward may belong to an arm that was let go
        add_loss(state, choice.slot, loss)
    return with_next_arm(told)


@kernel
def add_loss(state: EmpiricalCBTState, slot: int, loss: float) -> None:
    """One more play of the arm in a slot, which moves its bound."""
    state.plays[slot] += 1
    state.totals[slot] += loss
    state.squares[slot] += loss * loss
    bound = bound_of(state, slot)
    replay_games(state.least, state.leaves, slot, -bound)
    replay_games(state.largest, state.leaves, slot, bound)


@kernel
def with_next_arm(state: EmpiricalCBTState) -> EmpiricalCBTState:
    """The arm with the least bound is next, or a fresh one if that bound exceeds the target."""
    target = target_of(state)
    missed = state.missed or state.let_go <= target
    slot = leader(state.least, state.leaves)
    if bound_of(state, slot) <= target:
        return replaced(state, slot=slot, missed=missed)
    fresh, bound = fresh_slot(state, state.counts.arms)
    return replaced(
        state, slot=fresh, let_go=min(state.let_go, bound), missed=missed, counts=blocks.with_arm(state.counts)
    )


def recommend(state: EmpiricalCBTState, round: int) -> Choice:
    """The arm with the most plays of those that are kept, the one in the lowest slot of several."""
    best = state.slot
    for slot in range(state.block.size):
        if state.arms[slot] >= 0 and (state.arms[best] < 0 or state.plays[slot] > state.plays[best]):
            best = slot
    return Choice(slot=best, arm=state.arms[best], probability=1.0, block=state.counts.blocks, round=round)


blocks.register_policy(EmpiricalCBTState, begin=begin, ask=ask, recommend=recommend, tell=tell)
