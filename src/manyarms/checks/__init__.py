"""The promises that every policy, base and world keeps, each as one small function.

They are meant for specs of your own as much as for the package's: ``check_policy``,
``check_base`` and ``check_world`` try them all and say which one is broken, by which spec, and
how. ``policy_checks``, ``base_checks`` and ``world_checks`` list them by name, which makes one
test of each. A promise is tried on short runs with fixed seeds, so the outcome is always the
same.
"""

from ..bases import Base
from ..drifts import Drift, Still
from ..noises import Noise
from ..policies import Policy
from ..reservoirs import PowerLaw, Reservoir
from ..specs import Spec
from ..world import World
from .bases import BASE_PROMISES, base_checks, check_base
from .examples import examples
from .policies import LIVE_PROMISES, POLICY_PROMISES, check_policy, policy_checks
from .promises import Check, CheckError, promise
from .runs import BUSY_WORLD
from .worlds import WORLD_PROMISES, check_world, world_checks

__all__ = [
    "BASE_PROMISES",
    "BUSY_WORLD",
    "LIVE_PROMISES",
    "POLICY_PROMISES",
    "WORLD_PROMISES",
    "Check",
    "CheckError",
    "base_checks",
    "check_base",
    "check_policy",
    "check_world",
    "checks",
    "examples",
    "policy_checks",
    "promise",
    "world_checks",
]


def checks(spec: Spec) -> list[Check]:
    """The promises of any spec; a reservoir, drift or noise is tried in a world.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import checks
    >>> for name, check in checks(ma.Exact()):
    ...     check()
    """
    if isinstance(spec, Policy):
        return policy_checks(spec)
    if isinstance(spec, Base):
        return base_checks(spec)
    if isinstance(spec, World):
        return world_checks(spec)
    if isinstance(spec, Reservoir):
        return world_checks(World(spec))
    if isinstance(spec, Drift):
        return world_checks(World(PowerLaw(beta=1.0), spec))
    if isinstance(spec, Noise):
        return world_checks(World(PowerLaw(beta=1.0), Still(), spec))
    raise TypeError(f"checks: {spec!r} is not a policy, base, world, reservoir, drift or noise")
