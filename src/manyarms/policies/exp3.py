"""EXP3 over a few thresholds, of which each block draws one: what AUCBTASW and AUCBTP share.

A run of T rounds is cut into blocks of H = ceil(sqrt(T)) rounds. Each plays with a threshold drawn from a grid, and
EXP3 learns from what the blocks earn which threshold pays. Without a horizon there are periods of 2, 4, 8, … rounds,
each with its own H, grid and fresh weights (the doubling trick). Weights are kept as logarithms, which do not overflow.

Source: Kim, Vojnović & Yun, "Rotting Infinitely Many-Armed Bandits" (ICML 2022, arXiv:2201.12975), Algorithm 2, and "An
Adaptive Approach for Infinitely Many-armed Bandits under Generalized Rotting Constraints" (NeurIPS 2024,
arXiv:2404.14202), Algorithm 2; EXP3 is that of Auer, Cesa-Bianchi, Freund & Schapire, "The Nonstochastic Multiarmed
Bandit Problem" (SIAM Journal on Computing 32, 2002).

Symbols: H -> block_length; B -> thresholds; alpha -> mixing; N_0 -> reward_scale; p -> probability;
log w -> log_weights.
"""

import math
from typing import Any, NamedTuple

from ..arithmetic import ceiling, exponential, natural_log
from ..compiled import kernel
from ..streams import uniform


class Period(NamedTuple):
    """What follows from T. One for the whole run if T is known."""

    rank: int  # 1, 2, 3, …
    end: int  # the last round of the period; 0: none
    block_length: int  # H
    thresholds: int  # B
    mixing: float  # alpha
    reward_scale: float  # N_0


NO_PERIOD = Period(rank=0, end=0, block_length=0, thresholds=0, mixing=0.0, reward_scale=0.0)
"""Before the first."""


@kernel
def rounds_of_period(horizon: int, rank: int) -> tuple[int, int]:
    """T of the period of this rank, and its last round.

    It has 2^rank rounds after the 2^rank - 2 of those before; or, if T is known, all rounds, at least 2, and no end.
    """
    if horizon > 0:
        return max(horizon, 2), 0
    return 1 << rank, (2 << rank) - 2


@kernel
def length_of_blocks(rounds: int) -> int:
    """H = ceil(sqrt(T))."""
    return ceiling(math.sqrt(float(rounds)))


@kernel
def mixing_for(size: int, rounds: int, length: int) -> float:
    """Alpha = min(1, sqrt(B log B / ((e - 1) ceil(T / H))))."""
    number = (rounds - 1) // length + 1  # of blocks
    return min(math.sqrt(size * natural_log(float(size)) / ((math.e - 1.0) * number)), 1.0)


@kernel
def drawn_threshold(log_weights: Any, period: Period, bits: int) -> tuple[int, float]:
    """EXP3: which threshold, and the probability (1 - alpha) w / (sum of w) + alpha / B with which it is drawn."""
    greatest = log_weights[0]
    for place in range(1, period.thresholds):
        greatest = max(greatest, log_weights[place])
    total = 0.0
    for place in range(period.thresholds):
        total += exponential(log_weights[place] - greatest)
    place = -1
    probability = 0.0
    left = uniform(bits)
    while left >= 0.0 and place < period.thresholds - 1:
        place += 1
        share = exponential(log_weights[place] - greatest) / total
        probability = (1.0 - period.mixing) * share + period.mixing / period.thresholds
        left -= probability
    return place, probability


@kernel
def credit(log_weights: Any, period: Period, place: int, probability: float, earned: float) -> None:
    """Let EXP3 learn what a block has earned with the threshold that it drew."""
    weight = period.mixing / (period.thresholds * probability)
    log_weights[place] += weight * (0.5 + earned / period.reward_scale)


@kernel
def forget_weights(log_weights: Any, period: Period) -> None:
    """All thresholds weigh the same."""
    for place in range(period.thresholds):
        log_weights[place] = 0.0
