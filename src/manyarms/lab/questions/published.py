"""How published runs differ from their texts, each difference by its own name.

Suk & Kim's figure was made by code with four oddities (the authors' public repository, February 2025). They are kept
here, away from the policies and worlds they concern, so that the figure can be reproduced as it was published and the
effect of each difference can be seen: the *block cap* (`Capped`), the *own clock* (`RottingByPlays`), the *block clock*
(`RottingByBlocks`) and the *same arms* (`SameArms`). What each of them is,
`manyarms.lab.questions.figure_1.DIFFERENCES` says. `OwnClock` and `BlockClock` are the same two clocks for any drift,
for the authors' later runs and for those of Kim, Vojnović & Yun (2022, 2024), whose means have no floor (`Unbounded`).
Indices that were coded otherwise than written are in `coded_indices`.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import contract
from ...compiled import kernel, rarely, replaced, store_both
from ...drifts import Rotting
from ...drifts.base import Drift, register_drift
from ...policies import Policy
from ...policies.blocks import NO_COUNTS, register_policy
from ...specs import Count
from ...streams import UNSET_KEY, address
from ...world import World, WorldState, begin_world, preview_world, pull_world, pulled, relocate_in_world


class CappedState(NamedTuple):
    """A policy, and what its ended episodes have left behind."""

    policy: Any
    most: int  # blocks in an episode
    key: int = UNSET_KEY
    opened: int = 0  # blocks of the policy when its episode began
    past: contract.Counts = NO_COUNTS  # before the policy was begun anew


@dataclasses.dataclass(frozen=True)
class Capped(Policy):
    """A policy whose episodes end after ``blocks`` blocks, whether or not a change was detected.

    Parameters
    ----------
    policy
        `Elimination` or `Blackbox`.
    blocks
        How many blocks an episode has at most; None: ceil(ln T) of the simulation, as published.
    horizon
        T; that of the simulation if None.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.lab.questions.published import Capped
    >>> Capped(ma.Elimination(beta=1.0, preset="published"), horizon=100_000).most_blocks()
    12
    """

    policy: Policy
    blocks: Count | None = None
    horizon: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(self.policy, "sees_means", True):
            raise TypeError(f"Capped: policy must be a policy that plays in blocks, not {self.policy!r}")

    def with_horizon(self, horizon: int) -> "Capped":
        """The horizon is also told to the policy inside."""
        known = self.horizon or horizon
        return self.replace(horizon=known, policy=self.policy.with_horizon(known))

    def without_horizon(self) -> "Capped":
        """The policy inside does without; the cap then has to be given."""
        return self if self.horizon else self.replace(policy=self.policy.without_horizon())

    @property
    def is_scattered(self) -> bool:
        """As the policy is."""
        return self.policy.is_scattered

    @property
    def is_wide(self) -> bool:
        """As the policy is."""
        return self.policy.is_wide

    def most_blocks(self) -> int:
        """How many blocks an episode has at most."""
        if self.blocks is not None:
            return self.blocks
        if self.horizon is None:
            raise ValueError("Capped: without blocks it needs a horizon")
        return max(1, math.ceil(math.log(self.horizon)))

    def slots(self, rounds: int) -> int:
        """Those of the policy."""
        return self.policy.slots(rounds)

    def start(self, rounds: int) -> CappedState:
        """The policy's state, uncapped so far."""
        return CappedState(policy=self.policy.start(rounds), most=self.most_blocks())

    def kept_arms(self, state: CappedState) -> NDArray[np.int64]:
        """Those of the policy."""
        return self.policy.kept_arms(state.policy) + state.past.arms


@kernel
def numbered_on(choice: contract.Choice, past: contract.Counts, sign: int) -> contract.Choice:
    """The choice with the arms and blocks of the past added (sign 1) or taken away (sign -1)."""
    return replaced(choice, arm=choice.arm + sign * past.arms, block=choice.block + sign * past.blocks)


@kernel
def in_all(past: contract.Counts, present: contract.Counts) -> contract.Counts:
    """The sums of two counts."""
    return contract.Counts(
        restarts=past.restarts + present.restarts,
        blocks=past.blocks + present.blocks,
        arms=past.arms + present.arms,
        ignored=past.ignored + present.ignored,
    )


def begin_capped(state: CappedState, key: int) -> CappedState:
    """The first episode."""
    return replaced(state, policy=contract.begin(state.policy, key), key=key, opened=0, past=NO_COUNTS)


def ask_capped(state: CappedState, round: int) -> contract.Choice:
    """What the policy asks for; its arms and blocks are numbered on."""
    return numbered_on(contract.ask(state.policy, round), state.past, 1)


def tell_capped(state: CappedState, choice: contract.Choice, reward: float) -> CappedState:
    """Tell the policy."""
    return capped(state, contract.tell(state.policy, numbered_on(choice, state.past, -1), reward))


def defer_capped(state: CappedState, choice: contract.Choice) -> tuple[CappedState, float]:
    """What the policy does about an open ask."""
    policy, presumed = contract.defer(state.policy, numbered_on(choice, state.past, -1))
    return capped(state, policy), presumed


def settle_capped(state: CappedState, choice: contract.Choice, presumed: float, reward: float) -> CappedState:
    """Tell the policy, unless it has begun anew since."""
    if choice.block <= state.past.blocks:
        return replaced(state, past=replaced(state.past, ignored=state.past.ignored + 1))
    return capped(state, contract.settle(state.policy, numbered_on(choice, state.past, -1), presumed, reward))


def lose_capped(state: CappedState, choice: contract.Choice, presumed: float) -> CappedState:
    """Tell the policy, unless it has begun anew since."""
    if choice.block <= state.past.blocks:
        return state
    return capped(state, contract.lose(state.policy, numbered_on(choice, state.past, -1), presumed))


@kernel
def capped(state: CappedState, policy: Any) -> CappedState:
    """The policy as it is now; when it has opened one block too many in its episode, it begins anew instead."""
    before = contract.counts(state.policy)
    after = contract.counts(policy)
    opened = state.opened
    if after.restarts != before.restarts:
        opened = before.blocks
    if rarely(after.blocks - opened > state.most):
        ended = replaced(before, restarts=before.restarts + 1, ignored=after.ignored)
        return replaced(state, policy=contract.begin(policy, state.key), opened=0, past=in_all(state.past, ended))
    return replaced(state, policy=policy, opened=opened)


def follow_capped(state: CappedState, world: Any) -> CappedState:
    """Pass it on."""
    return replaced(state, policy=contract.follow(state.policy, world))


def counts_capped(state: CappedState) -> contract.Counts:
    """Over all episodes; one that was cut off counts as a restart."""
    return in_all(state.past, contract.counts(state.policy))


register_policy(
    CappedState,
    begin=begin_capped,
    ask=ask_capped,
    tell=tell_capped,
    defer=defer_capped,
    settle=settle_capped,
    lose=lose_capped,
    counts=counts_capped,
    follow=follow_capped,
)


class OwnClockState(NamedTuple):
    """A drift that is told another time."""

    drift: Any


@dataclasses.dataclass(frozen=True)
class OwnClock(Drift):
    """A drift that takes the n-th play of an arm for round n, whichever round it is.

    Parameters
    ----------
    drift
        Whose clock it is.
    """

    drift: Drift

    def start(self) -> OwnClockState:
        """The state that the compiled loop carries."""
        return OwnClockState(drift=self.drift.start())


class BlockClockState(NamedTuple):
    """A drift that is told another time, once in so many rounds."""

    drift: Any
    length: int


@dataclasses.dataclass(frozen=True)
class BlockClock(Drift):
    """A drift that takes the first round of every block for round 1.

    Parameters
    ----------
    drift
        Whose clock it is.
    length
        Of a block, in rounds: ceil(sqrt(T)) for AUCBT-ASW.
    """

    drift: Drift
    length: Count

    def start(self) -> BlockClockState:
        """The state that the compiled loop carries."""
        return BlockClockState(drift=self.drift.start(), length=self.length)


@kernel
def moved_at(state: Any, clock: int, play: contract.Play, reservoir: Any) -> tuple[Any, float]:
    """What the drift does that is told this time."""
    drift, mean = contract.moved(state.drift, replaced(play, round=clock), reservoir)
    return replaced(state, drift=drift), mean


def moved_by_own_clock(state: OwnClockState, play: contract.Play, reservoir: Any) -> tuple[OwnClockState, float]:
    """The time is the number of the play."""
    return moved_at(state, play.plays + 1, play, reservoir)


def moved_by_block_clock(state: BlockClockState, play: contract.Play, reservoir: Any) -> tuple[BlockClockState, float]:
    """The time is that of the round, but 1 where a block begins."""
    return moved_at(state, 1 if (play.round - 1) % state.length == 0 else play.round, play, reservoir)


def begin_inner_drift(state: Any, key: int) -> Any:
    """Begin the drift whose clock it is."""
    return replaced(state, drift=contract.begin(state.drift, key))


register_drift(OwnClockState, moved_by_own_clock, begin_inner_drift)
register_drift(BlockClockState, moved_by_block_clock, begin_inner_drift)


@dataclasses.dataclass(frozen=True)
class RottingByPlays(Drift):
    """An arm loses 1/n at its n-th play: all of its mean at the first."""

    def start(self) -> OwnClockState:
        """The state that the compiled loop carries."""
        return OwnClock(Rotting("1/t")).start()


@dataclasses.dataclass(frozen=True)
class RottingByBlocks(Drift):
    """The played arm loses 1/t at round t; but the first round of every block is taken for round 1.

    Parameters
    ----------
    length
        Of a block, in rounds: ceil(sqrt(T)) for AUCBT-ASW.
    """

    length: Count

    def start(self) -> BlockClockState:
        """The state that the compiled loop carries."""
        return BlockClock(Rotting("1/t"), self.length).start()


class Births(NamedTuple):
    """A reservoir, and where its arms began."""

    slots: NDArray[np.int64]  # slot -> the slot in which its arm began
    reservoir: Any


contract.register(Births, fresh_mean=lambda births, bits: contract.fresh_mean(births.reservoir, bits))


class SameArmsState(WorldState):
    """A world whose reservoir is ``Births``."""


@dataclasses.dataclass(frozen=True)
class SameArms(World):
    """A world where a fresh arm's first mean depends on its slot alone: every subsample begins with the same means."""

    def start(self, slots: int) -> SameArmsState:
        """A world with room for ``slots`` arms at a time."""
        world = super().start(slots)
        births = Births(slots=np.zeros(slots, dtype=np.int64), reservoir=world.reservoir)
        return SameArmsState(*replaced(world, reservoir=births))


def pull_same(world: SameArmsState, slot: int, arm: int, round: int) -> tuple[WorldState, float, float, float]:
    """As in any world, but a fresh arm gets its slot's first mean."""
    if rarely(world.visits[slot] >> 32 != arm):
        settle(world, slot, arm, slot)
    return pull_world(world, slot, arm, round)


@kernel
def settle(world: SameArmsState, slot: int, arm: int, birth: int) -> None:
    """A fresh arm, with the first mean of the slot in which it began."""
    store_both(world.visits, world.means, slot, address(arm, 0), preview_world(world, birth, 1))
    world.reservoir.slots[slot] = birth


def relocate_same(world: SameArmsState, source: int, target: int) -> None:
    """The arm takes its first mean along, even if it was never played.

    The arm it replaces was just played, so it is known, and a block's arms are numbered by the slots in which
    they began. An entry from before the block belongs to no arm of it: then the arm in ``source`` has neither
    been played nor moved.
    """
    births = world.reservoir.slots
    first = (world.visits[target] >> 32) - births[target]
    if world.visits[source] >> 32 < first:
        settle(world, target, first + source, source)
    else:
        relocate_in_world(world, source, target)
        births[target] = births[source]


def present_mean_same(world: SameArmsState, slot: int, arm: int, round: int) -> float:
    """An arm that was neither played nor moved has the first mean of its slot."""
    return float(world.means[slot]) if world.visits[slot] >> 32 == arm else preview_world(world, slot, 1)


# Only slots decide here; in a preview, an arm that has none yet is taken for one of the world as it is.
contract.register(
    SameArmsState,
    begin=begin_world,
    pull=pull_same,
    relocate=relocate_same,
    preview=preview_world,
    present_mean=present_mean_same,
)


class UnboundedState(WorldState):
    """A world whose means have no floor."""


@dataclasses.dataclass(frozen=True)
class Unbounded(World):
    """A world where means fall below 0 as far as the drift takes them, as in the code of Kim, Vojnović & Yun."""

    def start(self, slots: int) -> UnboundedState:
        """A world with room for ``slots`` arms at a time."""
        return UnboundedState(*super().start(slots))


def pull_unbounded(world: UnboundedState, slot: int, arm: int, round: int) -> tuple[WorldState, float, float, float]:
    """As in any world, but for the floor."""
    return pulled(world, slot, arm, round, -math.inf)


contract.register(
    UnboundedState, begin=begin_world, pull=pull_unbounded, relocate=relocate_in_world, preview=preview_world
)
