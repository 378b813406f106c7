"""Drifts: what a play does to the arm that was played. One file for each way."""

from ..specs import exported
from .adversary import Adversary as Adversary
from .base import Drift as Drift
from .base import register_drift as register_drift
from .crash import Crash as Crash
from .fatigue import Fatigue as Fatigue
from .jump_at import JumpAt as JumpAt
from .phases import Phases as Phases
from .random_walk import RandomWalk as RandomWalk
from .still import Still as Still
from .trend import Rising as Rising
from .trend import Rotting as Rotting
from .turnover import Turnover as Turnover

__all__ = exported(globals())
