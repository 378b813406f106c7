"""Windows over the last 1, 2, 4, … rewards of an arm, by which UCBTASW and AUCBTASW decide whether it falls short.

Source: Kim, Vojnović & Yun, "An Adaptive Approach for Infinitely Many-armed Bandits under
Generalized Rotting Constraints" (NeurIPS 2024, arXiv:2404.14202): the adaptive sliding window.
"""

import math
from typing import Any

from ..compiled import kernel


@kernel
def fill_bonuses(bonuses: Any, width: float, log_rounds: float) -> None:
    """The benefit of the doubt: sqrt(width · log_rounds / w) for the mean of the last w = 1, 2, 4, … rewards."""
    window = 1
    for place in range(bonuses.size):
        bonuses[place] = math.sqrt(width * log_rounds / window)
        window *= 2


@kernel
def falls_short(sums: Any, bonuses: Any, level: float, plays: int) -> bool:
    """Whether the mean of the last 1, 2, 4, … rewards and its bonus is below the level for some of these windows.

    ``sums``: n -> sum of the arm's first n rewards, up to n = plays.
    """
    window = 1
    share = 1.0  # 1 / window
    place = 0
    while window <= plays:
        mean = (sums[plays] - sums[plays - window]) * share
        if mean + bonuses[place] < level:
            return True
        window *= 2
        share *= 0.5
        place += 1
    return False
