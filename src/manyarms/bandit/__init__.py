"""Bandit: a policy that is asked and told, live.

It calls the same kernels as the simulation, as plain Python: nothing is compiled, and the
decisions are those of the simulation to the bit.

A tell may come late and in any order: the weight of a reward belongs to its decision. What becomes of odd ones
is in docs/live.md.

Memory follows the arms the policy keeps and the decisions that await a reward, never the arms
and items that have gone by.
"""

from .arms import FIRST_PRUNING as FIRST_PRUNING
from .bandit import FIRST_ROUNDS as FIRST_ROUNDS
from .bandit import Bandit as Bandit
from .decisions import Decision as Decision
from .decisions import NoMoreItems as NoMoreItems
from .decisions import Told as Told
