"""What an ask may still pay when its answer has not come for so long.

Where good news comes sooner than bad news (a click after seconds, no click when the time is up), an ask whose answer is
out after a while will pay less than was expected of it; where all news takes the same time, it will pay as much. Which
of the two it is, answers tell: what those that came that late or later paid, over what had been expected of them when
they were asked for.

The s-th answer has the weight s (s + 1), as in all averages.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel

AGES = 40
"""Ages are told apart by powers of two, below this one."""

DOUBT = 4.0
"""An ask is thought to pay what was expected of it as if so many rewards had said so."""


class Lateness(NamedTuple):
    """The answers that have come, by the power of two of their age in rounds."""

    paid: NDArray[np.float64]  # power -> what those of that age or older paid
    expected: NDArray[np.float64]  # power -> what had been expected of them


def new_lateness() -> Lateness:
    """Room for it."""
    return Lateness(paid=np.zeros(AGES), expected=np.zeros(AGES))


@kernel
def opened_lateness(lateness: Lateness) -> Lateness:
    """No answer has come."""
    for k in range(AGES):
        lateness.paid[k] = 0.0
        lateness.expected[k] = 0.0
    return lateness


@kernel
def power_of(age: float) -> int:
    """0 below 1, and then the first power of two above the age."""
    k = 0
    while age >= 1.0 and k < AGES - 1:
        age *= 0.5
        k += 1
    return k


@kernel
def add_answer(lateness: Lateness, age: float, reward: float, expected: float, rounds: int) -> None:
    """One has come after so many rounds."""
    weight = rounds * (rounds + 1.0)
    for k in range(power_of(age) + 1):
        lateness.paid[k] += weight * reward
        lateness.expected[k] += weight * expected


@kernel
def at_age(sums: Any, age: float) -> Any:
    """What answers of an age or older sum up to: within a power of two, as if they came evenly."""
    k = power_of(age)
    if k == AGES - 1:
        return sums[k]
    within = age
    for _ in range(k):
        within *= 0.5
    if k > 0:
        within = 2.0 * within - 1.0
    return sums[k] + within * (sums[k + 1] - sums[k])


@kernel
def still_to_come(lateness: Lateness, age: float, rounds: int) -> Any:
    """The share of what was expected that an ask of this age will pay; 1 at most."""
    if lateness.expected[0] <= 0.0:
        return 1.0
    doubt = DOUBT * rounds * (rounds + 1.0)
    expected = at_age(lateness.expected, age) * lateness.paid[0] / lateness.expected[0]
    return min((at_age(lateness.paid, age) + doubt) / (expected + doubt), 1.0)
