"""Multi-layer active arm elimination race: successive elimination in layers, each of which sees half of the one before.

A lie of C rounds in all reaches a layer that is drawn once in C rounds about once: the more is forged, the higher the
first layer that is still right. What such a layer drops, those below it drop as well, and so their mistakes are of no
consequence as soon as it knows better.

Source: Lykouris, Mirrokni & Paes Leme, "Stochastic Bandits Robust to Adversarial Corruptions" (STOC 2018,
arXiv:1803.09353), Algorithm 2.

Symbols: l -> layer, from 1; I^l -> the slots with ``dropped`` below l; n^l, mu^l -> rewards; wd -> width; K -> arms;
T -> horizon; delta is 1 / T.

Deviations: the logarithm in the widths is multiplied by ``scale``. There are at most 32 layers. A layer without an
arm plays the least played arm of the first layer above it that has one, where the source takes any; ties go to the
lower slot. Rewards beyond [0, 1] count as the end they are beyond. Open asks teach nothing: an answer belongs to the
layer that was drawn for its ask, whenever it comes, unless that has dropped the arm. The full text was not at hand: the
algorithm and its widths are as remembered, and as public code has them.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..specs import Positive
from ..streams import UNSET_KEY, bits_at, uniform
from .base import Base, Rewards, earn, forget, new_rewards
from .drawn import within

MOST_LAYERS = 32
"""For 2^32 rounds, and no run is longer."""


class MultiLayerRaceState(NamedTuple):
    """A run over one subsample."""

    rewards: Rewards  # of the first layer, the second, …; each has ``arms`` places
    dropped: NDArray[np.int64]  # slot -> the highest layer that has dropped it; 0: none has
    turns: NDArray[np.int64]  # layer -> the slot whose turn it is there; -1: it has dropped all
    plays: NDArray[np.int64]  # slot -> its plays in all layers, and without any
    scale: float
    arms: int = 0
    layers: int = 1
    log_term: float = 0.0
    key: int = UNSET_KEY  # of the stream from which layers are drawn


@dataclasses.dataclass(frozen=True)
class MultiLayerRace(Base):
    """Draw a layer, the l-th with probability 2^-l, and play its least played active arm (Lykouris et al. 2018).

    Parameters
    ----------
    scale
        By what the published log(4 K T log2(T) T) in the widths of confidence is multiplied. With 1, the constant of
        the proof, a layer needs some 600 plays of each arm to drop one that is worse by 1/2, with 10 arms and T =
        10,000. A smaller one drops earlier; nothing is proved of it.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.MultiLayerRace(scale=0.05), beta=1.0).base.label()
    'MultiLayerRace(scale=0.05)'
    """

    about: ClassVar = About(
        told=("T",),
        rate="log(T)^2 / gap for each arm; at random until T is large, unless scaled",
        made_for=("still", "lies"),
        cost="O(arms)",
    )
    is_scattered: ClassVar[bool] = True
    takes_corrections: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    tried_with: ClassVar = ({"scale": 0.02}, {})

    scale: Positive = 1.0

    def start(self, slots: int) -> MultiLayerRaceState:
        """A state with arrays for ``slots`` arms."""
        return MultiLayerRaceState(
            rewards=new_rewards(MOST_LAYERS * slots),
            dropped=np.zeros(slots, dtype=np.int64),
            turns=np.zeros(MOST_LAYERS + 1, dtype=np.int64),
            plays=np.zeros(slots, dtype=np.int64),
            scale=self.scale,
        )

    def chance_among(self, state: Any, slot: int, allowed: NDArray[np.bool_]) -> float:
        """That of the layers in which it would be its turn."""
        return float(chance_of_turn_among(state, slot, allowed, len(allowed)))


# ---------------------------------------------------------------- layers


@kernel
def layers_for(horizon: float) -> int:
    """ceil(log2 T), at least 1."""
    layers = 1
    while layers < MOST_LAYERS and float(1 << layers) < horizon:
        layers += 1
    return layers


@kernel
def drawn_layer(layers: int, bits: int) -> int:
    """Layer l with probability 2^-l; what is left belongs to layer 1."""
    number = uniform(bits)
    layer = 1
    edge = 0.5
    while number < edge and layer <= layers:
        layer += 1
        edge *= 0.5
    return layer if layer <= layers else 1


@kernel
def chance_of_layer(layers: int, layer: int) -> float:
    """With which it is drawn."""
    rest = 1.0 / (1 << layers) if layer == 1 else 0.0
    return 1.0 / (1 << layer) + rest


# ---------------------------------------------------------------- whose turn it is


@kernel
def place_of(base: MultiLayerRaceState, layer: int, slot: int) -> int:
    """Where the rewards of a slot are that a layer has seen."""
    return (layer - 1) * base.arms + slot


@kernel
def has_fewer(base: MultiLayerRaceState, layer: int, slot: int, other: int) -> bool:
    """Whether a layer has played the one less than the other; -1: any is less."""
    plays = base.rewards.plays
    return bool(other < 0 or plays[place_of(base, layer, slot)] < plays[place_of(base, layer, other)])


@kernel
def least_played(base: MultiLayerRaceState, layer: int) -> int:
    """Of the arms that are active in a layer, the one it has played least; -1 if there is none."""
    least = -1
    for slot in range(base.arms):
        if base.dropped[slot] < layer and has_fewer(base, layer, slot, least):
            least = slot
    return least


@kernel
def whose_turn(base: MultiLayerRaceState, layer: int) -> int:
    """The slot that a layer plays, or if it has none, the first one above it that has: the highest always does."""
    while base.turns[layer] < 0:
        layer += 1
    return int(base.turns[layer])


@kernel
def chance_of_turn(base: MultiLayerRaceState, slot: int) -> float:
    """The probability of all layers that would play it."""
    chance = 0.0
    for layer in range(1, base.layers + 1):
        if whose_turn(base, layer) == slot:
            chance += chance_of_layer(base.layers, layer)
    return chance


def pick(base: MultiLayerRaceState, key: int, round: int) -> tuple[int, float]:
    """The arm whose turn it is in the layer that is drawn."""
    slot = whose_turn(base, drawn_layer(base.layers, bits_at(key, round, 0)))
    return slot, chance_of_turn(base, slot)


# ---------------------------------------------------------------- among some of the arms


@kernel
def least_played_among(base: MultiLayerRaceState, layer: int, allowed: Any, arms: int, is_active: bool) -> int:
    """As ``least_played``, of the allowed arms; if not ``is_active``, of those that were dropped, too."""
    least = -1
    for slot in range(arms):
        is_one = allowed[slot] and (not is_active or base.dropped[slot] < layer)
        if is_one and has_fewer(base, layer, slot, least):
            least = slot
    return least


@kernel
def whose_turn_among(base: MultiLayerRaceState, layer: int, allowed: Any, arms: int) -> int:
    """As ``whose_turn``; where all allowed arms were dropped by the highest layer, the one that it played least."""
    slot = -1
    while slot < 0 and layer <= base.layers:
        slot = least_played_among(base, layer, allowed, arms, True)
        layer += 1
    return slot if slot >= 0 else least_played_among(base, base.layers, allowed, arms, False)


@kernel
def chance_of_turn_among(base: MultiLayerRaceState, slot: int, allowed: Any, arms: int) -> float:
    """As ``chance_of_turn``."""
    chance = 0.0
    for layer in range(1, base.layers + 1):
        if whose_turn_among(base, layer, allowed, arms) == slot:
            chance += chance_of_layer(base.layers, layer)
    return chance


def best_among(base: MultiLayerRaceState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The allowed arm whose turn it is in the layer that is drawn; -1 if none is allowed."""
    slot = whose_turn_among(base, drawn_layer(base.layers, bits_at(key, round, 0)), allowed, arms)
    return slot, chance_of_turn_among(base, slot, allowed, arms) if slot >= 0 else 1.0


# ---------------------------------------------------------------- what is learned


@kernel
def width(log_term: float, plays: int) -> float:
    """How far a layer's mean may be from the truth, if it is the layer for what is forged."""
    return math.sqrt(log_term / plays) + log_term / plays


@kernel
def drop_the_worse(base: MultiLayerRaceState, layer: int) -> bool:
    """Drop, here and below, what is surely worse than the best; return whether there was any such arm.

    An arm is dropped if that of another is above its mean by more than both widths. It needs to be looked at only
    against the arm whose mean less its width is the largest, which is never dropped.
    """
    plays, sums = base.rewards.plays, base.rewards.sums
    surely = -math.inf
    for slot in range(base.arms):
        place = place_of(base, layer, slot)
        if base.dropped[slot] < layer and plays[place] > 0:
            surely = max(surely, sums[place] / plays[place] - width(base.log_term, plays[place]))
    has_dropped = False
    for slot in range(base.arms):
        place = place_of(base, layer, slot)
        if (
            base.dropped[slot] < layer
            and plays[place] > 0
            and sums[place] / plays[place] + width(base.log_term, plays[place]) < surely
        ):
            base.dropped[slot] = layer
            has_dropped = True
    return has_dropped


def renew(base: MultiLayerRaceState, arms: int, horizon: float, log_horizon: float) -> MultiLayerRaceState:
    """All arms are active in all layers."""
    rounds = max(horizon, 2.0)
    layers = layers_for(rounds)
    forget(base.rewards, layers * arms)
    for slot in range(arms):
        base.dropped[slot] = 0
        base.plays[slot] = 0
    for layer in range(base.turns.size):
        base.turns[layer] = 0
    log_term = base.scale * natural_log(4.0 * arms * rounds * binary_log(rounds) * rounds)
    return replaced(base, arms=arms, layers=layers, log_term=log_term)


def keyed(base: MultiLayerRaceState, key: int) -> MultiLayerRaceState:
    """Layers are drawn from this stream."""
    return replaced(base, key=key)


def learn(base: MultiLayerRaceState, choice: Choice, reward: float) -> MultiLayerRaceState:
    """For the layer that was drawn for the ask, if the arm is active there.

    If it is now, it was then, and the layer played it itself. If it is not, the layer had no arm, or has no use for it.
    """
    base.plays[choice.slot] += 1
    layer = drawn_layer(base.layers, bits_at(base.key, choice.round, 0))
    if base.dropped[choice.slot] < layer:
        earn(base.rewards, place_of(base, layer, choice.slot), within(reward))
        if rarely(drop_the_worse(base, layer)):
            for below in range(1, layer):
                base.turns[below] = least_played(base, below)
        base.turns[layer] = least_played(base, layer)
    return base


register(
    MultiLayerRaceState,
    renew=renew,
    keyed=keyed,
    pick=pick,
    best_among=best_among,
    learn=learn,
    plays_of=lambda base, slot: base.plays[slot],
)
