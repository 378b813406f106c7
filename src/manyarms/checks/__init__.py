"""The promises that every policy, base, world and feedback keeps, each as one small function.

They are meant for specs of your own as much as for the package's: ``check`` tries them all and says which one is
broken, by which spec, and how. ``checks`` lists them by name, which makes one test of each. A promise is tried on
short runs with fixed seeds, so the outcome is always the same.
"""

from ..bases import Base
from ..drifts import Drift
from ..feedbacks import Delay, Delayed, Feedback
from ..noises import Noise
from ..policies import Blackbox, Policy, Subsample
from ..reservoirs import PowerLaw, Reservoir
from ..specs import Spec
from ..world import World
from . import bases, feedbacks, late, policies, worlds  # noqa: F401, which adds their promises
from .examples import examples as examples
from .promises import Check as Check
from .promises import CheckError as CheckError
from .promises import promise as promise
from .promises import promises_of
from .runs import BUSY_WORLD as BUSY_WORLD
from .runs import LATE_WORLD as LATE_WORLD


def checks(spec: Spec) -> list[Check]:
    """The promises of any spec, by name.

    A reservoir, drift or noise is tried in a world, a delay in a feedback, a base in two policies too.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import checks
    >>> names = [name for name, check in checks(ma.Oracle())]
    >>> "ask_changes_nothing" in names, "snapshots_go_on" in names  # nobody can play an oracle live
    (True, False)
    """
    if isinstance(spec, (Reservoir, Drift, Noise)):
        spec = World(PowerLaw(beta=1.0)).replace(**{spec.kind: spec})
    if isinstance(spec, Delay):
        spec = Delayed(spec)
    if not isinstance(spec, (Policy, Base, World, Feedback)):
        raise TypeError(f"checks: {spec!r} is not a policy, base, world, reservoir, drift, noise, feedback or delay")
    listed = promises_of(spec)
    if isinstance(spec, Base):
        about_the_policy = {"names_its_source", "says_what_it_is_for", "is_frozen"}
        # A low threshold, so that there are restarts in short runs.
        for policy in (Blackbox(base=spec, beta=1.0, threshold=0.1), Subsample(base=spec, beta=1.0)):
            others = [(name, check) for name, check in promises_of(policy) if name not in about_the_policy]
            listed += [(f"{type(policy).__name__}.{name}", check) for name, check in others]
    return listed


def check(spec: Spec) -> None:
    """Try every promise of any spec; the first that is broken raises ``CheckError``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import check
    >>> for spec in (ma.UniformPlay(), ma.Greedy(), ma.World(ma.PowerLaw(beta=1.0))):
    ...     check(spec)
    """
    for _, try_it in checks(spec):
        try_it()
