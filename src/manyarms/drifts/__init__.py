"""Drifts: what a play does to the arm that was played. Those that remember nothing of a run are in one file."""

from ..specs import exported
from .adversary import Adversary as Adversary
from .base import Drift as Drift
from .base import register_drift as register_drift
from .memoryless import Crash as Crash
from .memoryless import Fatigue as Fatigue
from .memoryless import JumpAt as JumpAt
from .memoryless import RandomWalk as RandomWalk
from .memoryless import Still as Still
from .phases import Phases as Phases
from .phases import Stages as Stages
from .trend import Rising as Rising
from .trend import Rotting as Rotting
from .turnover import Turnover as Turnover

__all__ = exported(globals())
