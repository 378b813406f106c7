"""Bases: finite-armed policies that others run on a subsample. One file for each."""

from .asymptotic_ucb import AsymptoticUCB
from .base import Base
from .greedy import Greedy
from .kl_ucb import KLUCB
from .successive_elimination import SuccessiveElimination
from .thompson import Thompson
from .ucb import UCB

__all__ = ["KLUCB", "UCB", "AsymptoticUCB", "Base", "Greedy", "SuccessiveElimination", "Thompson"]
