"""Restless: a world whose arms move in every round, whether or not they are played.

Drifts are rested: a play moves the arm that was played. Here an arm that was played once goes on moving while it waits.
It is brought up to date when it is played again: for every round that has passed since, the drift moves it once, as a
play would have. So the means are those of a world in which all known arms move in every round, and only those that
somebody looks at are computed. An arm that was never played is as fresh as ever: its first play draws its mean.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import contract
from ...compiled import kernel, replaced
from ...drifts import Crash, RandomWalk, Rising, Rotting, Still
from ...world import World, WorldState, begin_world, preview_world, pull_world, relocate_in_world

INDEPENDENT = (Still, Rotting, Rising, Crash, RandomWalk)
"""Drifts for which it does not matter how often an arm was played, or by whom."""

WAITING = 2**31
"""What a waiting round does is drawn at an address that no play has: a run has fewer rounds than that."""


class Waiting(NamedTuple):
    """A reservoir, and how far the arms have been brought."""

    until: NDArray[np.int64]  # slot -> the round whose mean the world has for its arm
    reservoir: Any


contract.register(
    Waiting,
    fresh_mean=lambda waiting, bits: contract.fresh_mean(waiting.reservoir, bits),
    fresh_mean_in=lambda waiting, bits, now: contract.fresh_mean_in(waiting.reservoir, bits, now),
)


class RestlessState(WorldState):
    """A world whose reservoir is ``Waiting``."""


@dataclasses.dataclass(frozen=True)
class Restless(World):
    """A world whose arms move in every round from their first play on, whether or not they are played.

    The n-th play of an arm depends on how long the arm has waited, so unlike elsewhere it is not the same for all
    policies. V and L count what happens to an arm right after its play, as in all worlds: not what happens while it
    waits.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.lab.questions.restless import Restless
    >>> Restless(ma.PowerLaw(beta=1.0), ma.Rotting(0.01)).drift
    Rotting(rate=0.01)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.drift, INDEPENDENT):
            names = ", ".join(kind.__name__ for kind in INDEPENDENT)
            raise ValueError(
                f"Restless: drift must be one that needs no plays ({names}), not {self.drift!r}; "
                "others do not say what becomes of an arm that waits"
            )

    def start(self, slots: int) -> RestlessState:
        """A world with room for ``slots`` arms at a time."""
        world = super().start(slots)
        waiting = Waiting(until=np.zeros(slots, dtype=np.int64), reservoir=world.reservoir)
        return RestlessState(*replaced(world, reservoir=waiting))


@kernel
def mean_after_waiting(world: RestlessState, slot: int, arm: int, round: int) -> float:
    """That of the arm in a slot when all rounds have passed that it has waited for."""
    mean = world.means[slot]
    for waited in range(world.reservoir.until[slot], round):
        play = contract.Play(round=waited, arm=arm, plays=WAITING + waited, mean=mean, reward=mean, key=world.drift_key)
        _, target = contract.moved(world.drift, play, world.reservoir)
        mean = min(max(target, 0.0), 1.0)
    return mean  # type: ignore[no-any-return]


def pull_restless(world: RestlessState, slot: int, arm: int, round: int) -> tuple[WorldState, float, float, float]:
    """As in any world, once the arm is up to date."""
    if world.visits[slot] >> 32 == arm:
        world.means[slot] = mean_after_waiting(world, slot, arm, round)
    world.reservoir.until[slot] = round + 1
    return pull_world(world, slot, arm, round)


def relocate_restless(world: RestlessState, source: int, target: int) -> None:
    """As in any world."""
    relocate_in_world(world, source, target)
    world.reservoir.until[target] = world.reservoir.until[source]


def present_mean_restless(world: RestlessState, slot: int, arm: int, round: int) -> float:
    """As if it were played in this round; nothing is changed."""
    if world.visits[slot] >> 32 == arm:
        return mean_after_waiting(world, slot, arm, round)
    return preview_world(world, arm, round)


contract.register(
    RestlessState,
    begin=begin_world,
    pull=pull_restless,
    relocate=relocate_restless,
    preview=preview_world,
    present_mean=present_mean_restless,
)
