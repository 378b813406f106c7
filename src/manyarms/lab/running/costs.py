"""How long runs take, roughly: what a plan says, and by what the arena leaves out what would take hours.

A round of most policies costs about the same, whatever they keep. Some go through all of their arms in every round.
"""

from typing import Any

from ...bases import (
    BARBAR,
    DUCB,
    FEWA,
    IMED,
    MASTER,
    META,
    UCBV,
    Exp3S,
    GaussianThompson,
    MultiLayerRace,
    Rexp3,
    RisingUCB,
    RLessUCB,
    Thompson,
    TsallisINF,
)
from ...policies import IMOSS, OSE, PROSE, UCBAIR
from ...policies.base import Policy
from ...policies.tail import AUTO
from ...world import World

NANOSECONDS_A_ROUND = 30.0
"""Between the cheapest and the dearest policies of ``manyarms bench``."""

NANOSECONDS_AN_ARM: dict[type, float] = {
    BARBAR: 0.6,
    DUCB: 4.0,
    Exp3S: 1.2,
    FEWA: 5.0,
    GaussianThompson: 40.0,
    IMED: 3.5,
    MASTER: 0.7,
    META: 8.0,
    MultiLayerRace: 6.5,
    Rexp3: 1.2,
    RisingUCB: 3.5,
    RLessUCB: 1.5,
    Thompson: 250.0,
    TsallisINF: 7.5,
    UCBV: 6.5,  # if it is ``anytime``
    IMOSS: 3.0,
    UCBAIR: 3.0,
    OSE: 1.0,
    PROSE: 1.0,
}
"""Of policies and bases that go through all of their arms in every round: what one more arm adds to a round, about
(`verification/costs.py`)."""


def nanoseconds_an_arm(spec: Any) -> float:
    """What each arm that it keeps adds to a round of a policy or a base, and of the base in it."""
    own = NANOSECONDS_AN_ARM.get(type(spec), 0.0) if getattr(spec, "anytime", True) else 0.0
    inside = getattr(spec, "base", None)
    return own + (0.0 if inside is None else nanoseconds_an_arm(inside))


def arms_kept(policy: Policy, world: World, horizon: int) -> int:
    """How many arms it keeps at most; of one that estimates beta, with an estimate that is right (or 1, without any).

    Examples
    --------
    >>> import manyarms as ma
    >>> arms_kept(ma.Subsample(base=ma.Greedy(), beta="auto"), ma.World(ma.PowerLaw(1.0)), 10_000)
    100
    """
    if getattr(policy, "beta", None) == AUTO:
        policy = policy.replace(beta=world.reservoir.tail or 1.0)
    return policy.with_horizon(horizon).slots(horizon)


def seconds_beyond(policy: Policy, world: World, horizon: int) -> float:
    """What a run takes beyond the time that others take, because it goes through its arms.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(1.0))
    >>> greedy, thompson = (ma.Subsample(base=base, beta=1.0) for base in (ma.Greedy(), ma.Thompson()))
    >>> seconds_beyond(greedy, world, 10_000), round(seconds_beyond(thompson, world, 10_000), 6)
    (0.0, 0.25)
    """
    an_arm = nanoseconds_an_arm(policy)
    return 1e-9 * an_arm * arms_kept(policy, world, horizon) * horizon if an_arm > 0.0 else 0.0


def seconds_of(policy: Policy, world: World, horizon: int) -> float:
    """How long a run takes, roughly, on one core and once it is compiled."""
    return 1e-9 * NANOSECONDS_A_ROUND * horizon + seconds_beyond(policy, world, horizon)
