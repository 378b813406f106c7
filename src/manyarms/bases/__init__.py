"""Bases: finite-armed policies that others run on a subsample. One file for each."""

from .asymptotic_ucb import AsymptoticUCB
from .base import Base
from .greedy import Greedy
from .successive_elimination import SuccessiveElimination
from .ucb import UCB

__all__ = ["UCB", "AsymptoticUCB", "Base", "Greedy", "SuccessiveElimination"]
