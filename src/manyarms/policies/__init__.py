"""Policies: which arm next? One file for each algorithm."""

from ..specs import exported
from .aucbt_asw import AUCBTASW as AUCBTASW
from .base import Policy as Policy
from .blackbox import Blackbox as Blackbox
from .cbt import CBT as CBT
from .cbt import EmpiricalCBT as EmpiricalCBT
from .elimination import Elimination as Elimination
from .failures import KFailure as KFailure
from .failures import MRun as MRun
from .forager import Forager as Forager
from .oracle import Oracle as Oracle
from .subsample import SSUCB as SSUCB
from .subsample import Subsample as Subsample
from .ucbt_asw import UCBTASW as UCBTASW
from .uniform_play import UniformPlay as UniformPlay

__all__ = exported(globals())
