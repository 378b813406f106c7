"""Policies: which arm next? One file for each algorithm."""

from .aucbt_asw import AUCBTASW
from .base import Policy
from .blackbox import Blackbox
from .cbt import CBT, EmpiricalCBT
from .elimination import Elimination
from .failures import KFailure, MRun
from .forager import Forager
from .oracle import Oracle
from .subsample import SSUCB, Subsample
from .ucbt_asw import UCBTASW
from .uniform_play import UniformPlay

__all__ = [
    "AUCBTASW",
    "CBT",
    "SSUCB",
    "UCBTASW",
    "Blackbox",
    "Elimination",
    "EmpiricalCBT",
    "Forager",
    "KFailure",
    "MRun",
    "Oracle",
    "Policy",
    "Subsample",
    "UniformPlay",
]
