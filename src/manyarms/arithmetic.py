"""Logarithm, exponential and power from the four operations alone.

A library's functions differ in the last bit from platform to platform; these do not, and they
are inlined where a call would make the compiler save all its registers in every round. They are
right to a few units in the last place, which is all that reservoirs and drifts ask for.
"""

import math
import struct

import numpy as np

from .compiled import kernel, with_compiled_body

LOG_2 = math.log(2.0)
# The same in two parts: the first has so few bits that a small whole number times it is exact, the second
# is the rest, log 2 - LOG_2_HIGH, from 60 decimal digits of log 2.
LOG_2_HIGH = math.floor(LOG_2 * 2.0**32) / 2.0**32
LOG_2_LOW = 1.9082149292705877e-10

SQRT_2 = math.sqrt(2.0)
FRACTION_BITS = 52
FRACTION_MASK = (1 << FRACTION_BITS) - 1
BIAS = 1023


def word_of(value: float) -> int:
    """The 64 bits of a float, as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def float_of(word: int) -> float:
    """The float with these 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", word))[0])


word_of = with_compiled_body(word_of, lambda value: np.float64(value).view(np.int64))
float_of = with_compiled_body(float_of, lambda word: np.int64(word).view(np.float64))


@kernel
def natural_log(value: float) -> float:
    """The natural logarithm of a positive normal number.

    With value = m 2^k and m between sqrt(1/2) and sqrt(2): log m = 2 artanh(s), s = (m - 1) / (m + 1),
    by its series up to s^23; the next term is below 1e-19.
    """
    word = word_of(value)
    exponent = (word >> FRACTION_BITS) - BIAS
    m = float_of((word & FRACTION_MASK) | (BIAS << FRACTION_BITS))
    if m > SQRT_2:
        m = 0.5 * m
        exponent += 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 23.0
    for odd in range(21, 1, -2):
        series = series * z + 1.0 / odd
    return exponent * LOG_2_HIGH + (2.0 * s + (2.0 * s * z * series + exponent * LOG_2_LOW))


@kernel
def exponential(value: float) -> float:
    """The exponential; 0 below -700, infinite above 709.

    With value = k log 2 + r: 2^k times the Taylor series of exp(r) up to r^14; the next term is below 1e-18.
    """
    if value < -700.0:
        return 0.0
    if value > 709.0:
        return math.inf
    k = math.floor(value / LOG_2 + 0.5)
    r = (value - k * LOG_2_HIGH) - k * LOG_2_LOW
    series = 1.0
    for n in range(14, 0, -1):
        series = 1.0 + series * r / n
    return series * float_of((int(k) + BIAS) << FRACTION_BITS)


@kernel
def power(value: float, exponent: float) -> float:
    """``value`` to the power ``exponent``, for 0 or a positive normal number."""
    if exponent == 1.0:
        return value
    if value == 1.0 or exponent == 0.0:
        return 1.0
    if value == 0.0:
        return 0.0 if exponent > 0.0 else math.inf
    return exponential(exponent * natural_log(value))
