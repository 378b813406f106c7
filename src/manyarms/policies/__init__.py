"""Policies: which arm next? One file for each algorithm."""

from .aucbt_asw import AUCBTASW
from .base import Policy
from .blackbox import Blackbox
from .elimination import Elimination
from .oracle import Oracle
from .subsample import SSUCB, Subsample
from .uniform_play import UniformPlay

__all__ = ["AUCBTASW", "SSUCB", "Blackbox", "Elimination", "Oracle", "Policy", "Subsample", "UniformPlay"]
