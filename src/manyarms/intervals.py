"""Intervals: a mean over replications, and how far it may be off by chance.

All of them are 95 % intervals by Student's t.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_and_half_width(values: Floats) -> tuple[float, float]:
    """The mean of some numbers and half the width of its interval; NaN for a single number."""
    mean, half_width = means_and_half_widths(values)
    return float(mean), float(half_width)


def means_and_half_widths(values: Floats) -> tuple[Floats, Floats]:
    """The mean over the first axis and half the width of its interval; NaN for a single replication.

    Examples
    --------
    >>> means, half_widths = means_and_half_widths(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> means.tolist(), half_widths.round(3).tolist()
    ([2.0, 5.0], [12.706, 0.0])
    """
    means = values.mean(axis=0)
    if len(values) < 2:
        return means, np.full_like(means, math.nan)
    return means, student_t(len(values) - 1) * values.std(axis=0, ddof=1) / math.sqrt(len(values))


def student_t(degrees: int) -> float:
    """The 97.5 % quantile of Student's t: from a table, then by Cornish and Fisher's expansion.

    Examples
    --------
    >>> round(student_t(9), 3)
    2.262
    """
    if degrees <= 9:
        return (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622)[degrees - 1]
    z = 1.959963984540054
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
