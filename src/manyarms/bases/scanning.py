"""For bases whose indices all move in every round: they look at every arm.

Such a base says two things, each by the type of its state: what all indices of the coming round have in common, which
is computed once, and the index of an arm. What moves only the played arm's index needs no scan: see `tournament`.
"""

import math
from typing import Any

from ..contract import verb

# level_of(base) -> what all indices of the coming round have in common.
level_of = verb("level_of", default=lambda base: 0.0)
# current_index(base, slot, level) -> the index of the arm in a slot in the coming round.
current_index = verb("current_index")


def pick_by_scan(base: Any, key: int, round: int) -> tuple[int, float]:
    """The argmax of the index; ties go to the lower slot."""
    level = level_of(base)
    best = 0
    most = current_index(base, 0, level)
    for slot in range(1, base.arms):
        index = current_index(base, slot, level)
        if index > most:
            best = slot
            most = index
    return best, 1.0


def best_among_by_scan(base: Any, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The argmax of the index over the allowed slots."""
    level = level_of(base)
    best = -1
    most = -math.inf
    for slot in range(arms):
        if allowed[slot]:
            index = current_index(base, slot, level)
            if best < 0 or index > most:
                best = slot
                most = index
    return best, 1.0
