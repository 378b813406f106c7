"""Logarithms, exponential, power, sine and cosine from the four operations alone.

A library's functions differ in the last bit from platform to platform, and between a processor
and a GPU; these do not, and they are inlined where a call would make the compiler save all its
registers in every round. They are right to a few units in the last place, which is all that
kernels ask for. Kernels take nothing from ``math`` but what IEEE 754 defines to the bit: square
roots, floors and ceilings. Series are written out, from the last term to the first: in plain
Python, loops over their terms would take twice the time.
"""

import math
import struct
from typing import Any

import numpy as np

from .compiled import kernel, with_body

LOG_2 = math.log(2.0)
# The same in two parts: the first has so few bits that a small whole number times it is exact, the second
# is the rest, log 2 - LOG_2_HIGH, from 60 decimal digits of log 2.
LOG_2_HIGH = math.floor(LOG_2 * 2.0**32) / 2.0**32
LOG_2_LOW = 1.9082149292705877e-10

SQRT_2 = math.sqrt(2.0)
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)

WIDEST_ANGLE = 2.0**32
HALF_PI_PARTS = (
    0x1921FB / 2**20,
    0x54442 / 2**40,
    0xD1846 / 2**60,
    0x9898C / 2**80,
    0xC5170 / 2**100,
    0x1B839A252 / 2**136,
)
"""Their sum is pi / 2, to 136 bits. All but the last have so few bits that their products with the quarters of a turn
in any angle, up to the widest, are exact."""

# Of one object each: functions would look up what the text means, in every call.
pack_float, unpack_float = struct.Struct("<d").pack, struct.Struct("<d").unpack
pack_word, unpack_word = struct.Struct("<q").pack, struct.Struct("<q").unpack

LEAST_NORMAL = 2.0**-1022
FRACTION_BITS = 52
FRACTION_MASK = (1 << FRACTION_BITS) - 1
BIAS = 1023


@with_body(lambda value: np.float64(value).view(np.int64))
def word_of(value: float) -> int:
    """The 64 bits of a float, as a signed integer."""
    return int(unpack_word(pack_float(value))[0])


@with_body(lambda word: np.int64(word).view(np.float64))
def float_of(word: int) -> float:
    """The float with these 64 bits."""
    return float(unpack_float(pack_word(word))[0])


@kernel
def floor(value: float) -> int:
    """The greatest whole number that is not above ``value``."""
    return int(math.floor(value))  # noqa: RUF046, on a GPU the inner one is a float


@kernel
def ceiling(value: float) -> int:
    """The least whole number that is not below ``value``."""
    return int(math.ceil(value))  # noqa: RUF046, on a GPU the inner one is a float


def _exponent_and_fraction(value: float) -> tuple[int, float]:
    word = word_of(value)
    return (word >> FRACTION_BITS) - BIAS, float_of((word & FRACTION_MASK) | (BIAS << FRACTION_BITS))


@with_body(_exponent_and_fraction)
def exponent_and_fraction(value: float) -> tuple[int, float]:
    """A positive normal number as 2^k m, with m between 1 and 2: k and m. Of others, what their bits say."""
    if LEAST_NORMAL <= value < math.inf:  # as plain Python, this is much faster
        m, k = math.frexp(value)
        return k - 1, 2.0 * m
    return _exponent_and_fraction(value)


@with_body(lambda k: float_of((k + BIAS) << FRACTION_BITS))
def two_to(k: int) -> float:
    """2^k, for a k from -1022 to 1023."""
    return math.ldexp(1.0, k)


@kernel
def log_parts(value: float) -> tuple[int, float, float]:
    """A positive normal number as 2^k m, with m between sqrt(1/2) and sqrt(2): k, and log m as a sum of two.

    log m = 2 artanh(s), s = (m - 1) / (m + 1), by its series up to s^23; the next term is below 1e-19.
    """
    exponent, m = exponent_and_fraction(value)
    if m > SQRT_2:
        m = 0.5 * m
        exponent += 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0 + z * (1.0 / 23.0))))
    series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * series)
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
def exponential_series(r: Any) -> Any:
    """The Taylor series of exp(r) up to r^14: of a number, or of many of them (`row_functions`)."""
    series = 1.0 + r * (1.0 / 12.0) * (1.0 + r * (1.0 / 13.0) * (1.0 + r * (1.0 / 14.0)))
    series = 1.0 + r * (1.0 / 9.0) * (1.0 + r * (1.0 / 10.0) * (1.0 + r * (1.0 / 11.0) * series))
    series = 1.0 + r * (1.0 / 6.0) * (1.0 + r * (1.0 / 7.0) * (1.0 + r * (1.0 / 8.0) * series))
    series = 1.0 + r * (1.0 / 3.0) * (1.0 + r * (1.0 / 4.0) * (1.0 + r * (1.0 / 5.0) * series))
    return 1.0 + r * (1.0 + r * (1.0 / 2.0) * series)


@kernel
def exponential(value: float) -> float:
    """The exponential; 0 below -700, infinite above 709.

    With value = k log 2 + r: 2^k times the Taylor series of exp(r) up to r^14; the next term is below 1e-18.
    """
    value = float(value)  # with NumPy's numbers, the rest would take ten times as long
    if value < -700.0:
        return 0.0
    if value > 709.0:
        return math.inf
    k = floor(value / LOG_2 + 0.5)
    r = (value - k * LOG_2_HIGH) - k * LOG_2_LOW
    series: float = exponential_series(r)
    return series * two_to(k)


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
def cosine_after_quarters(quarters: int, x: float) -> float:
    """The cosine of x and so many quarters of a turn, for an x between -pi / 4 and pi / 4.

    Up to its sign that is the cosine or the sine of x, whose Taylor series go up to x^16 and x^17, and leave out less
    than 1e-17.
    """
    z = -x * x
    if quarters & 1 == 0:
        series = 1.0 + z * (1.0 / 132.0) * (1.0 + z * (1.0 / 182.0) * (1.0 + z * (1.0 / 240.0)))
        series = 1.0 + z * (1.0 / 30.0) * (1.0 + z * (1.0 / 56.0) * (1.0 + z * (1.0 / 90.0) * series))
        series = 1.0 + z * (1.0 / 2.0) * (1.0 + z * (1.0 / 12.0) * series)
    else:
        series = 1.0 + z * (1.0 / 156.0) * (1.0 + z * (1.0 / 210.0) * (1.0 + z * (1.0 / 272.0)))
        series = 1.0 + z * (1.0 / 42.0) * (1.0 + z * (1.0 / 72.0) * (1.0 + z * (1.0 / 110.0) * series))
        series = 1.0 + z * (1.0 / 6.0) * (1.0 + z * (1.0 / 20.0) * series)
        series *= x
    return -series if (quarters + 1) & 2 else series


@kernel
def cosine_of_turn(turn: float) -> float:
    """The cosine of a turn from 0 (included) to 1: cos(2 pi turn).

    Right to four units in the last place. For seasons it is better than ``cosine``: the part of its season that a
    round has come to is a turn.
    """
    quarters = (floor(8.0 * turn) + 1) >> 1
    return cosine_after_quarters(quarters, (8.0 * turn - 2.0 * quarters) * (0.25 * math.pi))


@kernel
def in_quarters(angle: float) -> tuple[int, float]:
    """An angle as the nearest number of quarters of a turn, and what is left: at most pi / 4 in size.

    The first two differences are exact, and so is each after which little is left: however little that is, it is off by
    no more than three roundings.
    """
    if not abs(angle) <= WIDEST_ANGLE:
        return 0, math.nan
    quarters = floor(angle / (0.5 * math.pi) + 0.5)
    x = angle
    for part in HALF_PI_PARTS:
        x -= quarters * part
    return quarters, x


@kernel
def cosine(angle: float) -> float:
    """The cosine of an angle between -2^32 and 2^32, right to four units in the last place; nan beyond."""
    quarters, x = in_quarters(angle)
    return cosine_after_quarters(quarters, x)


@kernel
def sine(angle: float) -> float:
    """The sine of an angle between -2^32 and 2^32, right to four units in the last place; nan beyond."""
    quarters, x = in_quarters(angle)
    return cosine_after_quarters(quarters - 1, x)
