"""Bases: finite-armed policies that others run on a subsample. One file for each."""

from ..specs import exported
from .asymptotic_ucb import AsymptoticUCB as AsymptoticUCB
from .barbar import BARBAR as BARBAR
from .base import Base as Base
from .cusum_ucb import CUSUMUCB as CUSUMUCB
from .d_ucb import DUCB as DUCB
from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .exp3_s import Exp3S as Exp3S
from .fewa import FEWA as FEWA
from .gaussian_thompson import GaussianThompson as GaussianThompson
from .glr_kl_ucb import GLRklUCB as GLRklUCB
from .imed import IMED as IMED
from .kl_ucb import KLUCB as KLUCB
from .kl_ucb_plus_plus import KLUCBPlusPlus as KLUCBPlusPlus
from .m_ucb import MUCB as MUCB
from .master import MASTER as MASTER
from .meta import META as META
from .moss import MOSS as MOSS
from .multi_layer_race import MultiLayerRace as MultiLayerRace
from .r_less_ucb import RLessUCB as RLessUCB
from .raw_ucb import RAWUCB as RAWUCB
from .restart_at import RestartAt as RestartAt
from .rexp3 import Rexp3 as Rexp3
from .rising_ucb import RisingUCB as RisingUCB
from .successive_elimination import SuccessiveElimination as SuccessiveElimination
from .sw_ucb import SWUCB as SWUCB
from .thompson import Thompson as Thompson
from .tsallis_inf import TsallisINF as TsallisINF
from .ucb import UCB as UCB
from .ucb import Greedy as Greedy
from .ucb_v import UCBV as UCBV

__all__ = exported(globals())
