"""Logarithms, exponential, power and cosine from the four operations alone.

A library's functions differ in the last bit from platform to platform, and between a processor
and a GPU; these do not, and they are inlined where a call would make the compiler save all its
registers in every round. They are right to a few units in the last place, which is all that
kernels ask for. Kernels take nothing from ``math`` but what IEEE 754 defines to the bit: square
roots, floors and ceilings.
"""

import math
import struct

import numpy as np

from .compiled import kernel, with_body

LOG_2 = math.log(2.0)
# The same in two parts: the first has so few bits that a small whole number times it is exact, the second
# is the rest, log 2 - LOG_2_HIGH, from 60 decimal digits of log 2.
LOG_2_HIGH = math.floor(LOG_2 * 2.0**32) / 2.0**32
LOG_2_LOW = 1.9082149292705877e-10

SQRT_2 = math.sqrt(2.0)
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
FRACTION_BITS = 52
FRACTION_MASK = (1 << FRACTION_BITS) - 1
BIAS = 1023


@with_body(lambda value: np.float64(value).view(np.int64))
def word_of(value: float) -> int:
    """The 64 bits of a float, as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


@with_body(lambda word: np.int64(word).view(np.float64))
def float_of(word: int) -> float:
    """The float with these 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", word))[0])


@kernel
def floor(value: float) -> int:
    """The greatest whole number that is not above ``value``."""
    return int(math.floor(value))  # noqa: RUF046, on a GPU the inner one is a float


@kernel
def ceiling(value: float) -> int:
    """The least whole number that is not below ``value``."""
    return int(math.ceil(value))  # noqa: RUF046, on a GPU the inner one is a float


@kernel
def log_parts(value: float) -> tuple[int, float, float]:
    """A positive normal number as 2^k m, with m between sqrt(1/2) and sqrt(2): k, and log m as a sum of two.

    log m = 2 artanh(s), s = (m - 1) / (m + 1), by its series up to s^23; the next term is below 1e-19.
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
    return exponent, 2.0 * s, 2.0 * s * z * series


@kernel
def natural_log(value: float) -> float:
    """The natural logarithm of a positive normal number.

    log 2^k is added in two parts, so that nothing is lost.
    """
    exponent, first, rest = log_parts(value)
    return exponent * LOG_2_HIGH + (first + (rest + exponent * LOG_2_LOW))


@kernel
def binary_log(value: float) -> float:
    """The logarithm to base 2 of a positive normal number; exact for powers of two."""
    exponent, first, rest = log_parts(value)
    return exponent + (first + rest) / LOG_2


@kernel
def exponential(value: float) -> float:
    """The exponential; 0 below -700, infinite above 709.

    With value = k log 2 + r: 2^k times the Taylor series of exp(r) up to r^14; the next term is below 1e-18.
    """
    if value < -700.0:
        return 0.0
    if value > 709.0:
        return math.inf
    k = floor(value / LOG_2 + 0.5)
    r = (value - k * LOG_2_HIGH) - k * LOG_2_LOW
    series = 1.0
    for n in range(14, 0, -1):
        series = 1.0 + series * (r * (1.0 / n))
    return series * float_of((k + BIAS) << FRACTION_BITS)


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


@kernel
def log_gamma(value: float) -> float:
    """The logarithm of the gamma function, for a number above 0.

    Stirling's series, which leaves out less than 1e-12 from 8 on; smaller numbers are multiplied up to there.
    """
    product = 1.0
    while value < 8.0:
        product *= value
        value += 1.0
    z = 1.0 / (value * value)
    series = 1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0))))
    return (value - 0.5) * natural_log(value) - value + HALF_LOG_2_PI + series / value - natural_log(product)


@kernel
def cosine_of_turn(turn: float) -> float:
    """The cosine of a turn from 0 (included) to 1: cos(2 pi turn).

    The turn is cut into eighths, in each of which the cosine is, up to its sign, the cosine or the sine of
    an angle x of at most pi / 4; their Taylor series go up to x^16 and x^17, and leave out less than 1e-17.
    """
    eighth = floor(8.0 * turn)
    part = 8.0 * turn - eighth
    if eighth & 1:
        part = 1.0 - part
    x = part * (0.25 * math.pi)
    z = -x * x
    series = 1.0
    if eighth in (0, 3, 4, 7):
        for n in range(16, 0, -2):
            series = 1.0 + series * (z * (1.0 / (n * (n - 1))))
    else:
        for n in range(17, 1, -2):
            series = 1.0 + series * (z * (1.0 / (n * (n - 1))))
        series *= x
    return -series if 2 <= eighth <= 5 else series
