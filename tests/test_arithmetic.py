"""Logarithms, exponential, power, sine and cosine against 40 digits, log gamma, and compiled against plain."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from manyarms import arithmetic
from manyarms.arithmetic import (
    HALF_PI_PARTS,
    WIDEST_ANGLE,
    binary_log,
    ceiling,
    cosine,
    cosine_of_turn,
    exponential,
    float_of,
    floor,
    log_gamma,
    natural_log,
    power,
    sine,
    word_of,
)
from manyarms.compiled import loop

exactly = settings(derandomize=True, deadline=None, max_examples=300)
normal = st.floats(min_value=2.0**-1000, max_value=2.0**1000)
turns = st.integers(0, 2**53 - 1).map(lambda n: n * 2.0**-53)  # what the random streams hand over
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def digits(function):
    with localcontext() as context:
        context.prec = 40
        return function()


def units_off(found, true):
    """By how many units in the last place a float misses a decimal."""
    return float(abs(Decimal(found) - true) / Decimal(math.ulp(float(true))))


@exactly
@given(value=normal)
@example(value=1.0)
@example(value=math.nextafter(1.0, 2.0))
@example(value=math.nextafter(1.0, 0.0))
@example(value=2.0**-53)
@example(value=math.sqrt(2.0))
def test_the_logarithm_is_right_to_two_units(value):
    true = digits(lambda: Decimal(value).ln())
    if true == 0:
        assert natural_log(value) == 0.0
    else:
        assert units_off(natural_log(value), true) < 2.0


@exactly
@given(value=normal)
@example(value=math.nextafter(1.0, 2.0))
@example(value=math.nextafter(1.0, 0.0))
@example(value=math.nextafter(2.0, 1.0))
@example(value=math.nextafter(2.0**31, 0.0))
@example(value=math.sqrt(2.0))
def test_the_binary_logarithm_is_right_to_four_units(value):
    # Two units as the natural one, one half each for log 2 and for the division by it, and the sum's own half.
    true = digits(lambda: Decimal(value).ln() / Decimal(2).ln())
    if value == 1.0:
        assert binary_log(value) == 0.0
    else:
        assert units_off(binary_log(value), true) < 4.0


def test_the_binary_logarithm_of_a_power_of_two_is_exact():
    for exponent in range(-1022, 1024):
        assert binary_log(2.0**exponent) == exponent


@exactly
@given(value=st.floats(min_value=-699.0, max_value=708.0))
@example(value=0.0)
@example(value=-699.0)
def test_the_exponential_is_right_to_two_units(value):
    assert units_off(exponential(value), digits(lambda: Decimal(value).exp())) < 2.0


@exactly
@given(base=st.integers(1, 2**53 - 1).map(lambda n: n * 2.0**-53), exponent=st.floats(0.05, 20.0))
def test_a_power_is_right_as_far_as_its_logarithm_is(base, exponent):
    # The product exponent * log(base) is off by at most 3 units of its own last place (2 from the
    # logarithm, 1 from rounding), which the exponential turns into as much of a relative error.
    logarithm = exponent * math.log(base)
    assume(logarithm > -690.0)
    true = digits(lambda: (Decimal(base).ln() * Decimal(exponent)).exp())
    relative = float(abs(Decimal(power(base, exponent)) - true) / true)
    assert relative < 3.0 * math.ulp(logarithm) + 2.0 * 2.0**-52


@exactly
@given(base=st.floats(1.0, 2.0**31), exponent=st.floats(-3.0, -0.01))
def test_negative_powers_of_rounds(base, exponent):
    assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-14)


def test_the_ends():
    assert power(0.0, 0.5) == 0.0
    assert power(0.0, -0.5) == math.inf
    assert power(0.0, 0.0) == power(0.3, 0.0) == 1.0
    assert power(0.3, 1.0) == 0.3
    assert power(1.0, 7.0) == 1.0
    assert exponential(0.0) == 1.0
    assert exponential(-800.0) == exponential(-math.inf) == 0.0
    assert exponential(800.0) == exponential(math.inf) == math.inf
    assert power(1e200, 20.0) == math.inf
    assert power(1e-200, 20.0) == 0.0


def test_log_gamma_is_right_to_twelve_digits():
    # Stirling's series ends with 1 / (1188 x^9), and the next term, 691 / (360360 x^11), is below 2.3e-13 from 8 on;
    # the others are off by some units in their last places, and so is math.lgamma.
    values = [*np.geomspace(1e-9, 1e12, 3000).tolist(), *(np.arange(1, 400) / 20).tolist(), 8.0, math.nextafter(8.0, 0)]
    for value in values:
        true = math.lgamma(value)
        assert abs(log_gamma(value) - true) < 2.3e-13 + 1e-14 * max(1.0, abs(true)), value
    for n in range(1, 100):
        assert log_gamma(float(n)) == pytest.approx(math.log(math.factorial(n - 1)), rel=1e-12, abs=1e-12)


@exactly
@given(value=st.floats(1e-6, 1e6))
@example(value=7.0)
@example(value=math.nextafter(7.0, 8.0))
def test_log_gamma_grows_by_the_logarithm(value):
    # gamma(x + 1) = x gamma(x). Both of them are off by 3e-13 and a few units in the last place of x log x.
    units = 8.0 * math.ulp(max(abs(log_gamma(value)), value, 1.0))
    assert log_gamma(value + 1.0) - log_gamma(value) == pytest.approx(math.log(value), abs=6e-13 + units)


def true_cosine(turn):
    """Cos(2 pi turn) by its Taylor series; 40 digits are left after at most three of them cancel."""
    with localcontext() as context:
        context.prec = 45
        x = 2 * PI * Decimal(turn)
        total = term = Decimal(1)
        for n in range(2, 100, 2):
            term *= -x * x / (n * (n - 1))
            total += term
        return +total


@exactly
@given(turn=turns)
@example(turn=2.0**-53)
@example(turn=1.0 - 2.0**-53)
@example(turn=0.25 - 2.0**-53)
@example(turn=0.25 + 2.0**-53)
@example(turn=0.125 - 2.0**-53)
@example(turn=0.75 - 2.0**-53)
def test_the_cosine_is_right_to_four_units(turn):
    # To the last places of the cosine itself, however near to one of its zeros. The angle is off by a unit
    # (pi / 4 and the product, a half each), as is the last product; the series adds less than two.
    found = cosine_of_turn(turn)
    assert -1.0 <= found <= 1.0
    if turn in (0.25, 0.75):
        assert found == 0.0
    else:
        assert units_off(found, true_cosine(turn)) < 4.0


def test_the_cosine_at_eighths_of_a_turn():
    assert cosine_of_turn(0.0) == 1.0
    assert cosine_of_turn(0.25) == cosine_of_turn(0.75) == 0.0
    assert cosine_of_turn(0.5) == -1.0
    for eighth, sign in [(1, 1.0), (3, -1.0), (5, -1.0), (7, 1.0)]:
        assert abs(cosine_of_turn(eighth / 8) - sign * math.sqrt(0.5)) <= 2.0 * math.ulp(0.5)


@exactly
@given(turn=turns)
@example(turn=2.0**-53)
def test_the_cosine_has_its_symmetries_to_the_bit(turn):
    found = cosine_of_turn(turn)
    assert cosine_of_turn((turn + 0.5) % 1.0) == -found
    if (8.0 * turn) % 1.0 != 0.0:  # at an eighth, one side takes the sine of pi / 4, the other the cosine
        assert cosine_of_turn(1.0 - turn) == found


def true_sine_and_cosine(angle):
    """By Taylor series of what is left of the angle after quarters of a turn; at most 10 of 60 digits cancel."""
    with localcontext() as context:
        context.prec = 60
        quarters = (Decimal(angle) / (PI / 2)).to_integral_value()
        x = Decimal(angle) - quarters * (PI / 2)
        totals = []
        for first, term in ((1, x), (0, Decimal(1))):
            total = term
            for n in range(first + 2, 60, 2):
                term *= -x * x / (n * (n - 1))
                total += term
            totals.append(total)
        s, c = totals
        return [(s, c), (c, -s), (-s, -c), (-c, s)][int(quarters) % 4]


def by_a_quarter(quarters, step):
    """One of the floats around so many quarters of a turn, where the sine or the cosine is smallest."""
    angle = float(quarters * (PI / 2))
    return angle + step * math.ulp(angle)


widths = st.integers(-60, 31).map(lambda exponent: 2.0**exponent)
angles = st.builds(lambda width, part: width * part, widths, st.floats(-2.0, 2.0))
by_quarters = st.builds(by_a_quarter, st.integers(-(2**31), 2**31), st.integers(-2, 2))


@exactly
@given(angle=angles | by_quarters)
@example(angle=WIDEST_ANGLE)
@example(angle=-WIDEST_ANGLE)
@example(angle=5e-324)
@example(angle=math.pi / 4)
@example(angle=math.nextafter(math.pi / 4, 1.0))
@example(angle=math.pi)
@example(angle=11.0)  # 22 / 7 is nearly pi, and so are the next two
@example(angle=355.0)
@example(angle=3_083_975_227.0)
def test_sine_and_cosine_are_right_to_four_units(angle):
    # What is left of the angle is off by three roundings, one and a half units, which the sine and the cosine do not
    # enlarge; the last product by a half, and the series by less than two as in a turn.
    for found, true in zip((sine(angle), cosine(angle)), true_sine_and_cosine(angle), strict=True):
        assert -1.0 <= found <= 1.0
        if true == 0:
            assert found == 0.0
        else:
            assert units_off(found, true) < 4.0


@pytest.mark.once
def test_sine_and_cosine_are_those_of_the_library():
    # Which is right to one unit; so four of ours and one of its own, over 12 orders of magnitude and both signs.
    random = np.random.default_rng(5)
    for angle in (10.0 ** random.uniform(-3.0, 9.6, 5000) * random.choice([-1.0, 1.0], 5000)).tolist():
        assert abs(sine(angle) - math.sin(angle)) <= 5.0 * math.ulp(math.sin(angle))
        assert abs(cosine(angle) - math.cos(angle)) <= 5.0 * math.ulp(math.cos(angle))


@exactly
@given(angle=angles | by_quarters)
@example(angle=0.0)
def test_sine_and_cosine_have_their_symmetries_to_the_bit(angle):
    # But where a rounding decides between two quarters, which is as far from both.
    if abs(abs(angle) / (math.pi / 2) % 1.0 - 0.5) > 1e-6:
        assert sine(-angle).hex() == (-sine(angle)).hex()
        assert cosine(-angle) == cosine(angle)


def test_sine_and_cosine_of_small_and_of_wide_angles():
    assert (sine(0.0), cosine(0.0)) == (0.0, 1.0)
    assert math.copysign(1.0, sine(-0.0)) == -1.0
    for small in (5e-324, 1e-300, 1e-9):
        assert (sine(small), cosine(small)) == (small, 1.0)
    for wide in (math.nextafter(WIDEST_ANGLE, math.inf), -1e300, math.inf, -math.inf, math.nan):
        assert math.isnan(sine(wide))
        assert math.isnan(cosine(wide))


def test_the_parts_of_half_a_pi():
    assert abs(sum(map(Fraction, HALF_PI_PARTS)) - Fraction(PI) / 2) < Fraction(1, 2**136)
    most_quarters = math.ceil(WIDEST_ANGLE / (math.pi / 2))
    for part in HALF_PI_PARTS[:-1]:
        above, below = part.as_integer_ratio()
        assert above * most_quarters < 2**53
        assert below & (below - 1) == 0


@exactly
@given(value=st.floats(-(2.0**53), 2.0**53))
@example(value=-0.0)
@example(value=-0.5)
@example(value=math.nextafter(3.0, 2.0))
@example(value=math.nextafter(-3.0, -2.0))
def test_floor_and_ceiling_are_whole_numbers(value):
    assert type(floor(value)) is type(ceiling(value)) is int
    assert floor(value) <= value < floor(value) + 1
    assert ceiling(value) - 1 < value <= ceiling(value)


@exactly
@given(value=st.floats(allow_nan=False))
def test_words_and_floats_are_each_others_inverse(value):
    assert float_of(word_of(value)).hex() == value.hex()


@loop
def all_of_them(values, exponents, turns, found):
    for place in range(values.size):
        found[place, 0] = natural_log(values[place])
        found[place, 1] = exponential(exponents[place] * 30.0)
        found[place, 2] = power(values[place], exponents[place])
        found[place, 3] = binary_log(values[place])
        found[place, 4] = cosine_of_turn(turns[place])
        found[place, 5] = floor(exponents[place])
        found[place, 6] = ceiling(exponents[place])
        found[place, 7] = float_of(word_of(values[place]) ^ 1)
        found[place, 8] = log_gamma(abs(exponents[place]) + 0.01)
        found[place, 9] = sine(exponents[place] * 1000.0)
        found[place, 10] = cosine(exponents[place] * 1000.0)


@pytest.mark.compiled
def test_compiled_and_plain_agree_to_the_bit():
    random = np.random.default_rng(3)
    edges = [0.25, 0.5, 1.0, 2.0, math.sqrt(2.0), math.sqrt(0.5), 2.0**-1022, 2.0**1000, 1.0 - 2.0**-53, 1.0 + 2.0**-52]
    values = np.concatenate([edges, random.random(2000) + 2.0**-53, 2.0 ** random.uniform(-1000.0, 1000.0, 2000)])
    exponents = np.concatenate([[-40.0, 40.0, 0.0, -0.0, 1.0, 20.0], random.uniform(-24.0, 24.0, values.size - 6)])
    turns = np.concatenate([np.arange(8) / 8.0, [2.0**-53, 1.0 - 2.0**-53], random.random(values.size - 10)])
    compiled, plain = np.zeros((values.size, 11)), np.zeros((values.size, 11))
    all_of_them(values, exponents, turns, compiled)
    all_of_them.function(values, exponents, turns, plain)
    assert (compiled.view(np.int64) == plain.view(np.int64)).all()


@loop
def rounded(value):
    return floor(value), ceiling(value)


@pytest.mark.compiled
def test_compiled_floors_and_ceilings_are_whole_numbers():
    for value in (-1.5, -0.0, 0.0, 0.5, 3.0, 2.0**52 + 0.5):
        found = rounded(value)
        assert [type(part) for part in found] == [int, int]
        assert found == (math.floor(value), math.ceil(value))


@pytest.mark.parametrize(
    "value", [1.0, 0.7, 1e300, arithmetic.LEAST_NORMAL, 5e-324, 0.0, -0.0, -3.0, math.inf, -math.inf, math.nan]
)
def test_exponent_and_fraction_are_what_the_bits_say(value):
    # Of numbers of which there is no logarithm, too: plain Python goes on with what compiled code goes on with.
    word = arithmetic.word_of(value)
    fraction = arithmetic.float_of((word & arithmetic.FRACTION_MASK) | (arithmetic.BIAS << arithmetic.FRACTION_BITS))
    assert arithmetic.exponent_and_fraction(value) == ((word >> arithmetic.FRACTION_BITS) - arithmetic.BIAS, fraction)


def test_powers_of_two_are_what_the_bits_say():
    for k in range(-1022, 1024):
        assert arithmetic.two_to(k) == arithmetic.float_of((k + arithmetic.BIAS) << arithmetic.FRACTION_BITS)
