"""Drifts: what a play does to the arm that was played. One file for each way."""

from .adversary import Adversary
from .base import Drift, register_drift
from .crash import Crash
from .fatigue import Fatigue
from .jump_at import JumpAt
from .phases import Phases
from .random_walk import RandomWalk
from .still import Still
from .trend import Rising, Rotting
from .turnover import Turnover

__all__ = [
    "Adversary",
    "Crash",
    "Drift",
    "Fatigue",
    "JumpAt",
    "Phases",
    "RandomWalk",
    "Rising",
    "Rotting",
    "Turnover",
    "Still",
    "register_drift",
]
