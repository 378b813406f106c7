"""RestartAt: any base, begun anew in the rounds in which arms are known to change.

What a policy could earn that detects every change at once and is never mistaken: the yardstick of those that detect
changes themselves (`GLRklUCB`, `CUSUMUCB`, `MUCB`, `MASTER`, `META`).

Source: none needed; "oracle restarts" in the experiments of those.

Rounds are those of whoever runs the base, from 1 on. From round r in ``rounds`` on nothing counts that was asked for
before r; what was seen elsewhere counts until a restart, of which there is none before the first answer. The base
inside is told the same horizon again, and the same key.

Open asks teach nothing, for what they were learned to have paid could not be taken back after a restart. Answers count
when they come, if their ask was made since the last restart. Where answers are late, a restart comes with the first
answer to an ask from round r - 1 or later, and not before.

A round costs what the base inside costs; a restart costs a ``renew`` of it.
"""

import dataclasses
import itertools
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, register
from ..contract import best_among as best_inside
from ..contract import keyed as key_inside
from ..contract import learn as learn_inside
from ..contract import pick as pick_inside
from ..contract import renew as renew_inside
from ..contract import revise as revise_inside
from ..specs import of_kind, several, whole
from ..streams import UNSET_KEY
from .base import Base
from .restarts import all_plays
from .ucb import UCB


class RestartAtState(NamedTuple):
    """A run over one subsample."""

    inside: Any  # the base that is restarted
    rounds: NDArray[np.int64]  # of change, in order; only ever read
    changes: int  # how many those are
    plays: NDArray[np.int64]  # slot -> all its plays
    key: int = UNSET_KEY
    arms: int = 0
    horizon: float = 0.0
    log_horizon: float = 0.0
    passed: int = 0  # of the changes, those that the base inside knows of
    heard: int = 0  # answers since ``renew``


def checked_rounds(owner: str, name: str, values: Any) -> tuple[int, ...]:
    """Rounds in order, from the second on: in the first, everything is new."""
    rounds = tuple(whole(owner, f"each of the {name}", value, least=2) for value in several(owner, name, values))
    if not rounds:
        raise ValueError(f"{owner}: {name} must be one or more; without a change, take the base itself")
    if any(later <= earlier for earlier, later in itertools.pairwise(rounds)):
        raise ValueError(f"{owner}: {name} must rise, not {values!r}")
    return rounds


@dataclasses.dataclass(frozen=True)
class RestartAt(Base):
    """Any base, begun anew in the rounds in which arms are known to change. For comparison.

    Parameters
    ----------
    base
        The base that is restarted.
    rounds
        The rounds of change, in order: in each of them, all that was learned before is forgotten.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.RestartAt(ma.UCB(), rounds=(1_000, 5_000)), beta=1.0, arms=10).base.label()
    'RestartAt(base=UCB(), rounds=(1000, 5000))'
    """

    about: ClassVar = About(
        told=("rounds of change", "its base"),
        rate="that of its base, between changes",
        made_for=("comparison", "crashes"),
        cost="that of its base",
    )
    takes_corrections: ClassVar[bool] = False
    tried_with: ClassVar = ({"base": UCB(width=0.1), "rounds": (40, 150, 151)},)

    base: Annotated[Base, of_kind(Base, "ma.UCB()")]
    rounds: Annotated[tuple[int, ...], checked_rounds]

    @property
    def is_scattered(self) -> bool:  # type: ignore[override]
        """If the base inside is."""
        return self.base.is_scattered

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """If the base inside is."""
        return self.base.is_random

    def chance_among(self, state: RestartAtState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """That of the base inside."""
        return self.base.chance_among(state.inside, slot, allowed)

    def start(self, slots: int) -> RestartAtState:
        """A state with arrays for ``slots`` arms."""
        rounds = np.array(self.rounds, dtype=np.int64)
        rounds.flags.writeable = False
        return RestartAtState(
            inside=self.base.start(slots),
            rounds=rounds,
            changes=len(self.rounds),
            plays=np.zeros(slots, dtype=np.int64),
        )


def renew(base: RestartAtState, arms: int, horizon: float, log_horizon: float) -> RestartAtState:
    """No arm has been played."""
    for slot in range(arms):
        base.plays[slot] = 0
    return replaced(
        base,
        inside=renew_inside(base.inside, arms, horizon, log_horizon),
        arms=arms,
        horizon=horizon,
        log_horizon=log_horizon,
        passed=0,
        heard=0,
    )


def keyed(base: RestartAtState, key: int) -> RestartAtState:
    """For the base inside, whenever it is renewed."""
    return replaced(base, inside=key_inside(base.inside, key), key=key)


def pick(base: RestartAtState, key: int, round: int) -> tuple[int, float]:
    """As the base inside does."""
    slot, chance = pick_inside(base.inside, key, round)
    return slot, chance


def best_among(base: RestartAtState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """As the base inside does."""
    slot, chance = best_inside(base.inside, key, round, allowed, arms)
    return slot, chance


@kernel
def asked_before(base: RestartAtState, round: int) -> bool:
    """Whether a round was before the last change that the base inside knows of."""
    return base.passed > 0 and round < base.rounds[base.passed - 1]


@kernel
def up_to(base: RestartAtState, round: int) -> RestartAtState:
    """Restart, if a round of change has been reached since; a base that has heard of nothing is new as it is."""
    passed = base.passed
    while passed < base.changes and base.rounds[passed] <= round:
        passed += 1
    if rarely(passed > base.passed):
        inside = base.inside
        if base.heard > 0:
            inside = key_inside(renew_inside(inside, base.arms, base.horizon, base.log_horizon), base.key)
        return replaced(base, inside=inside, passed=passed)
    return base


def learn(base: RestartAtState, choice: Choice, reward: float) -> RestartAtState:
    """Let the base inside learn, if it asked; before the next round it may have to restart."""
    base.plays[choice.slot] += 1
    if asked_before(base, choice.round):
        return base
    base = up_to(base, choice.round)
    base = replaced(base, inside=learn_inside(base.inside, choice, reward), heard=base.heard + 1)
    return up_to(base, choice.round + 1)


def revise(base: RestartAtState, slot: int, plays: int, total: float) -> RestartAtState:
    """Plays that were seen elsewhere."""
    base.plays[slot] += plays
    return replaced(base, inside=revise_inside(base.inside, slot, plays, total))


register(
    RestartAtState,
    renew=renew,
    keyed=keyed,
    pick=pick,
    best_among=best_among,
    learn=learn,
    revise=revise,
    plays_of=all_plays,
)
