"""Policies: which arm next? One file for each algorithm."""

from ..specs import exported
from .aucb_tp import AUCBTP as AUCBTP
from .aucbt_asw import AUCBTASW as AUCBTASW
from .base import Policy as Policy
from .blackbox import Blackbox as Blackbox
from .bracketing_halving import BracketingHalving as BracketingHalving
from .cbt import CBT as CBT
from .elimination import Elimination as Elimination
from .empirical_cbt import EmpiricalCBT as EmpiricalCBT
from .forager import Forager as Forager
from .imoss import IMOSS as IMOSS
from .k_failure import KFailure as KFailure
from .m_run import MRun as MRun
from .n_learning import NLearning as NLearning
from .oracle import Oracle as Oracle
from .ose import OSE as OSE
from .prose import PROSE as PROSE
from .qrm2 import QRM2 as QRM2
from .siri import SiRI as SiRI
from .subsample import SSUCB as SSUCB
from .subsample import Subsample as Subsample
from .two_target import TwoTarget as TwoTarget
from .ucb_air import UCBAIR as UCBAIR
from .ucb_tp import UCBTP as UCBTP
from .ucbt_asw import UCBTASW as UCBTASW
from .uniform_play import UniformPlay as UniformPlay

__all__ = exported(globals())
