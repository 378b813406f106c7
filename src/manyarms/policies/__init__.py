"""Policies: which arm next? One file for each algorithm."""

from ..specs import exported
from .aucbt_asw import AUCBTASW as AUCBTASW
from .base import Policy as Policy
from .blackbox import Blackbox as Blackbox
from .cbt import CBT as CBT
from .elimination import Elimination as Elimination
from .empirical_cbt import EmpiricalCBT as EmpiricalCBT
from .forager import Forager as Forager
from .k_failure import KFailure as KFailure
from .m_run import MRun as MRun
from .oracle import Oracle as Oracle
from .subsample import SSUCB as SSUCB
from .subsample import Subsample as Subsample
from .ucbt_asw import UCBTASW as UCBTASW
from .uniform_play import UniformPlay as UniformPlay

__all__ = exported(globals())
