"""D-UCB: UCB in which every round makes all earlier ones count for a little less.

Source: Garivier & Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems" (ALT 2011;
arXiv:0805.3415), after Kocsis & Szepesvári, "Discounted UCB" (2nd PASCAL Challenges Workshop, 2006).

Symbols: gamma -> discount; xi -> width (with B = 1); N_t(gamma, i) -> weights, divided by the unit; n_t(gamma) -> mass;
Upsilon_T -> changes; T -> horizon.

Deviations: none in the index. Weights are kept in units of a fixed round, so that only those of the played arm change,
and all are divided by a power of two before they overflow. An arm whose weight has become 0 as a float, because it was
not to be had for very long, is as good as untried; one whose weight is merely below 1 is not, or it would be played all
the time. The paper itself could not be consulted: the index is as Lattimore & Szepesvári quote it ("Bandit Algorithms",
notes of Chapter 31, with alpha = 4 xi), the factor 2 before the root and xi = 0.6 (the proof wants more than 1/2) are
as remembered, the discount that follows from the horizon is as public code has it.

An open ask is a play that paid the mean. Its answer counts as much as the arm's latest play, and the mean is kept
within [0, 1] then; a lost one takes away an average play. What was seen elsewhere counts as if it had come just now.

Every index moves in every round, which takes O(arms) time.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import floor, natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..specs import Count, Positive, fraction
from .base import GRAIN, Base
from .scanning import best_among_by_scan, pick_by_scan

LARGEST_UNIT = 2.0**200
"""Beyond it, all weights are divided by it, which loses no bit."""


class DUCBState(NamedTuple):
    """A run over one subsample."""

    width: float
    told_discount: float  # as the spec says; 0: from the horizon
    changes: int
    plays: NDArray[np.int64]  # slot -> its plays
    weights: NDArray[np.float64]  # slot -> what is left of them, in fixed units
    sums: NDArray[np.float64]  # slot -> what is left of their rewards
    latest: NDArray[np.float64]  # slot -> the weight of its latest play
    arms: int = 0
    discount: float = 1.0
    unit: float = 1.0  # the weight of a play of the latest round
    mass: float = 0.0  # what is left of all plays, in units


def checked_discount(owner: str, name: str, value: Any) -> float:
    """Above 0 and at most 1."""
    result = fraction(owner, name, value)
    if result == 0.0:
        raise ValueError(f"{owner}: {name} must be above 0, not {value!r}")
    return result


@dataclasses.dataclass(frozen=True)
class DUCB(Base):
    """Discounted mean plus 2 sqrt(width · log(mass) / weight) (Garivier & Moulines 2011).

    Parameters
    ----------
    discount
        What a round is worth in the next one, above 0 and at most 1. None: 1 - sqrt(changes / T) / 4.
    changes
        How often arms are expected to change in the run, all of them together.
    width
        The factor under the root: above 1/2 in the paper's proof.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.DUCB(discount=0.99), beta=1.0, arms=20).base
    DUCB(discount=0.99, changes=1, width=0.6)
    """

    about: ClassVar = About(
        told=("T", "changes"),
        rate="sqrt(changes · T); about T on a subsample as long as its memory",
        made_for=("crashes",),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"changes": 20, "width": 0.1}, {"discount": 0.5})

    discount: Annotated[float, checked_discount] | None = None
    changes: Count = 1
    width: Positive = 0.6

    def start(self, slots: int) -> DUCBState:
        """A state with arrays for ``slots`` arms."""
        return DUCBState(
            width=self.width,
            told_discount=self.discount or 0.0,
            changes=self.changes,
            plays=np.zeros(slots, dtype=np.int64),
            weights=np.zeros(slots, dtype=np.float64),
            sums=np.zeros(slots, dtype=np.float64),
            latest=np.zeros(slots, dtype=np.float64),
        )


@kernel
def discount_for(horizon: float, changes: int) -> float:
    """The discount that balances what is known against what is out of date."""
    return 1.0 - 0.25 * math.sqrt(min(changes / max(horizon, 1.0), 1.0))


def discounted_index(base: DUCBState, slot: int, level: float) -> float:
    """The mean of what is left of an arm's rewards plus the width of its confidence interval."""
    weight = base.weights[slot]
    if weight <= 0.0:
        return math.inf
    return float(base.sums[slot] / weight + 2.0 * math.sqrt(level * base.unit / weight))


def level_in(base: DUCBState) -> float:
    """What all intervals have in common."""
    return base.width * natural_log(max(base.mass, 1.0))


def renew(base: DUCBState, arms: int, horizon: float, log_horizon: float) -> DUCBState:
    """No arm has been played."""
    for slot in range(arms):
        base.plays[slot] = 0
        base.weights[slot] = 0.0
        base.sums[slot] = 0.0
        base.latest[slot] = 0.0
    discount = base.told_discount if base.told_discount > 0.0 else discount_for(horizon, base.changes)
    return replaced(base, arms=arms, discount=discount, unit=1.0, mass=0.0)


@kernel
def with_plays(base: DUCBState, slot: int, plays: int, total: float) -> DUCBState:
    """So many plays of an arm in the latest round."""
    base.plays[slot] += plays
    base.weights[slot] += plays * base.unit
    base.sums[slot] += total * base.unit
    base.latest[slot] = base.unit
    return replaced(base, mass=base.mass + plays)


def learn(base: DUCBState, choice: Choice, reward: float) -> DUCBState:
    """One more round: the unit grows, which makes all that was before count for less."""
    unit = base.unit / base.discount
    if rarely(unit > LARGEST_UNIT):
        unit = unit / LARGEST_UNIT
        for slot in range(base.arms):
            base.weights[slot] /= LARGEST_UNIT
            base.sums[slot] /= LARGEST_UNIT
            base.latest[slot] /= LARGEST_UNIT
    return with_plays(replaced(base, unit=unit, mass=base.mass * base.discount), choice.slot, 1, reward)


def revise(base: DUCBState, slot: int, plays: int, total: float) -> DUCBState:
    """An answer counts as much as the arm's latest play; a lost one takes away an average play."""
    if plays > 0:
        return with_plays(base, slot, plays, total)
    had = base.plays[slot]
    left = had + plays
    base.plays[slot] = left
    if left <= 0:
        mass = base.mass - base.weights[slot] / base.unit
        base.weights[slot] = 0.0
        base.sums[slot] = 0.0
        return replaced(base, mass=mass)
    share = base.weights[slot] / had
    lost = -plays * share
    base.weights[slot] -= lost
    credited = base.sums[slot] + total * (base.latest[slot] if plays == 0 else share)
    base.sums[slot] = min(max(credited, 0.0), base.weights[slot])
    return replaced(base, mass=base.mass - lost / base.unit)


def expected(base: DUCBState, slot: int) -> float:
    """The discounted mean, rounded down as for other bases; nothing, of an arm nothing is known of."""
    weight = base.weights[slot]
    return floor(base.sums[slot] / weight / GRAIN) * GRAIN if weight > 0.0 else 0.0


register(
    DUCBState,
    renew=renew,
    pick=pick_by_scan,
    learn=learn,
    revise=revise,
    best_among=best_among_by_scan,
    level_of=level_in,
    current_index=discounted_index,
    expected=expected,
    plays_of=lambda base, slot: base.plays[slot],
)
