"""Bandits with more arms than anyone can try, whose arms change while you play them."""

from .bandit import Bandit as Bandit
from .bandit import Decision as Decision
from .bandit import How as How
from .bandit import NoMoreItems as NoMoreItems
from .bandit import Told as Told
from .bases import *  # noqa: F403, what a room exports the package exports
from .drifts import *  # noqa: F403
from .engine import simulate as simulate
from .feedbacks import *  # noqa: F403
from .noises import *  # noqa: F403
from .policies import *  # noqa: F403
from .reservoirs import *  # noqa: F403
from .results import Result as Result
from .snapshots import SnapshotError as SnapshotError
from .specs import spec_from_json as spec_from_json
from .version import __version__ as __version__
from .world import World as World

__all__ = [name for name, value in globals().items() if callable(value) and not name.startswith("_")]
