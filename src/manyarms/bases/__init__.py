"""Bases: finite-armed policies that others run on a subsample. One file for each."""

from ..specs import exported
from .asymptotic_ucb import AsymptoticUCB as AsymptoticUCB
from .base import Base as Base
from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .kl_ucb import KLUCB as KLUCB
from .successive_elimination import SuccessiveElimination as SuccessiveElimination
from .thompson import Thompson as Thompson
from .ucb import UCB as UCB
from .ucb import Greedy as Greedy

__all__ = exported(globals())
