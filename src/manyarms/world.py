"""World: a reservoir, a drift and a noise, and what they do when an arm is played.

The world keeps one entry for each slot of the policy. When a slot comes with an arm it does
not hold, that arm is fresh: its first mean is drawn and its play count starts at 0. So memory
follows the arms a policy keeps, never the arms it has drawn.

It also measures, as it goes, how much the played arms have moved (Suk & Kim, Section 2.2):
V, V_R, L and L_R up to round t sum the changes between rounds 1 and t, so the change made
after round t is counted when round t + 1 is played.
"""

import dataclasses
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel, load_both, rarely, replaced, store_both
from .contract import Play, begin, fresh_mean_in, moved, register, reward_of
from .drifts.base import Drift
from .drifts.memoryless import Still
from .feedbacks import AtOnce, Feedback
from .noises import Bernoulli, Noise
from .reservoirs import Reservoir
from .specs import Fraction, Spec, of_kind
from .streams import ARM_STREAM, DRIFT_STREAM, NOISE_STREAM, UNSET_KEY, address, bits_at, bits_of, stream_key


class WorldState(NamedTuple):
    """A world in the middle of a replication."""

    # One after the other, so that a GPU reads and writes them together; first, so that it knows the number of slots.
    visits: NDArray[np.int64]  # slot -> the address of its arm's next play: (arm, plays so far)
    means: NDArray[np.float64]  # slot -> its arm's present mean
    reservoir: Any
    drift: Any
    noise: Any
    arm_key: int = UNSET_KEY
    noise_key: int = UNSET_KEY
    drift_key: int = UNSET_KEY
    last_fall: float = 0.0  # by how much the last played arm's mean fell after its play
    variation: float = 0.0  # V
    rotting_variation: float = 0.0  # V_R
    changes: int = 0  # L
    rotting_changes: int = 0  # L_R


@dataclasses.dataclass(frozen=True)
class World(Spec):
    """What a policy plays against.

    Parameters
    ----------
    reservoir
        Where the first means of fresh arms come from.
    drift
        What a play does to the arm that was played.
    noise
        How a reward is drawn from a mean.
    top
        The mean from which regret is counted; the paper's is 1.
    feedback
        When a policy hears what came of an ask: `AtOnce`, in `Batches`, `Delayed`, as `Conversions` are, or `Lost`.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"), ma.Bernoulli())
    >>> ma.spec_from_json(world.to_json()) == world
    True
    """

    kind: ClassVar[str] = "world"

    reservoir: Reservoir
    drift: Drift = Still()
    noise: Noise = Bernoulli()
    top: Fraction = 1.0
    feedback: Annotated[Feedback, of_kind(Feedback, "ma.Delayed(100)")] = AtOnce()

    @property
    def regret_is_from_the_best(self) -> bool:
        """Whether regret is counted from the best mean that a fresh arm can have.

        Else it is mostly the same for everybody, whatever they do, and rewards say more.
        """
        return self.top == self.reservoir.top

    @property
    def has_low_top(self) -> bool:
        """Whether fresh arms may be better than what regret is counted from."""
        return self.top < self.reservoir.top

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; without a word on answers that come at once.

        So worlds from before there were others keep their digests.
        """
        values = super().to_json()
        if self.feedback == AtOnce():
            del values["feedback"]
        return values

    def start(self, slots: int) -> WorldState:
        """A world with room for ``slots`` arms at a time. ``begin`` it before the first pull."""
        return WorldState(
            reservoir=self.reservoir.start(),
            drift=self.drift.start(),
            noise=self.noise.start(),
            visits=np.full(slots, -1, dtype=np.int64),
            means=np.zeros(slots, dtype=np.float64),
        )


def why_negative(worlds: Iterable[tuple[str, World]]) -> str:
    """Why regret will be negative in one of these worlds, by name, or with none; nothing if it will not.

    Regret from less than the best that there can be is negative for good policies, and better the worse they are.

    Examples
    --------
    >>> import manyarms as ma
    >>> why_negative([("still", ma.World(ma.Uniform(), top=0.5))])
    "the world 'still' counts regret from top=0.5, but fresh arms have means of up to 1: regret will be negative; give
    the world the top of its reservoir"
    """
    low = list(dict.fromkeys((name, world.top, world.reservoir.top) for name, world in worlds if world.has_low_top))
    if not low:
        return ""
    name, top, best = low[0]
    others = f" (and so with {len(low) - 1:,} more worlds)" if len(low) > 1 else ""
    return (
        f"the world{name and f' {name!r}'} counts regret from top={top:g}, but fresh arms have means of up to "
        f"{best:g}: regret will be negative{others}; give the world the top of its reservoir"
    )


def begin_world(world: WorldState, key: int) -> WorldState:
    """An untouched world for the replication with this key."""
    for slot in range(world.visits.size):
        world.visits[slot] = -1  # it holds no arm
    drift_key = stream_key(key, DRIFT_STREAM, 0)
    return replaced(
        world,
        drift=begin(world.drift, drift_key),
        arm_key=stream_key(key, ARM_STREAM, 0),
        noise_key=stream_key(key, NOISE_STREAM, 0),
        drift_key=drift_key,
        last_fall=0.0,
        variation=0.0,
        rotting_variation=0.0,
        changes=0,
        rotting_changes=0,
    )


@kernel
def preview_world(world: WorldState, arm: int, round: int) -> float:
    """The mean with which an arm begins that is first played in this round."""
    return float(fresh_mean_in(world.reservoir, bits_at(world.arm_key, arm, 0), round))


@kernel
def pull_world(world: WorldState, slot: int, arm: int, round: int) -> tuple[WorldState, float, float, float]:
    """Play the arm in this slot; no mean falls below 0."""
    return pulled(world, slot, arm, round, 0.0)


@kernel
def pulled(world: WorldState, slot: int, arm: int, round: int, least: float) -> tuple[WorldState, float, float, float]:
    """Play the arm in this slot: the reward first, the drift after it, which ends at the least mean and at 1."""
    visit, mean = load_both(world.visits, world.means, slot)
    if rarely(visit >> 32 != arm):  # a fresh arm
        visit = address(arm, 0)
        mean = preview_world(world, arm, round)
    reward = reward_of(world.noise, mean, bits_of(world.noise_key, visit))
    drift, target = moved(
        world.drift,
        Play(round=round, arm=arm, plays=visit - address(arm, 0), mean=mean, reward=reward, key=world.drift_key),
        world.reservoir,
    )
    next_mean = min(max(target, least), 1.0)
    store_both(world.visits, world.means, slot, visit + 1, next_mean)
    fall = world.last_fall
    return (
        replaced(
            world,
            drift=drift,
            last_fall=mean - next_mean,
            variation=world.variation + abs(fall),
            rotting_variation=world.rotting_variation + max(fall, 0.0),
            changes=world.changes + (1 if fall != 0.0 else 0),
            rotting_changes=world.rotting_changes + (1 if fall > 0.0 else 0),
        ),
        mean,
        next_mean,
        reward,
    )


@kernel
def relocate_in_world(world: WorldState, source: int, target: int) -> None:
    """Copy what is known of the arm; of one that was never played, that is nothing: its slot holds an older one."""
    visit, mean = load_both(world.visits, world.means, source)
    store_both(world.visits, world.means, target, visit, mean)


register(WorldState, begin=begin_world, pull=pull_world, relocate=relocate_in_world, preview=preview_world)
