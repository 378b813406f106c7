"""Bandit: a policy that is asked and told, live.

It calls the same kernels as the simulation, as plain Python: nothing is compiled, and the
decisions are those of the simulation to the bit; or compiled, after ``Bandit.warm``, with the same bits.

A tell may come late and in any order: the policy is told which decisions are open, and the weight of a reward belongs
to its decision. What becomes of late, lost, provisional, timed-out and corrected ones is in docs/live.md.

Memory follows the arms the policy keeps, the decisions that await a reward and those that can be corrected, never the
arms, items and decisions that have gone by.
"""

from .bandit import Bandit as Bandit
from .catalogue import FIRST_PRUNING as FIRST_PRUNING
from .decisions import Decision as Decision
from .decisions import How as How
from .decisions import NoMoreItems as NoMoreItems
from .decisions import Told as Told
from .listener import FIRST_ROUNDS as FIRST_ROUNDS
