"""Logarithm, exponential and power against 40 decimal digits, and compiled against plain."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from manyarms.arithmetic import exponential, float_of, natural_log, power, word_of
from manyarms.compiled import loop

exactly = settings(derandomize=True, deadline=None, max_examples=300)
normal = st.floats(min_value=2.0**-1000, max_value=2.0**1000)


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
    assert power(0.3, 1.0) == 0.3
    assert power(1.0, 7.0) == 1.0
    assert exponential(-800.0) == 0.0


@exactly
@given(value=st.floats(allow_nan=False))
def test_words_and_floats_are_each_others_inverse(value):
    assert float_of(word_of(value)).hex() == value.hex()


@loop
def all_of_them(values, exponents, found):
    for place in range(values.size):
        found[place, 0] = natural_log(values[place])
        found[place, 1] = exponential(exponents[place] * 30.0)
        found[place, 2] = power(values[place], exponents[place])


@pytest.mark.compiled
def test_compiled_and_plain_agree_to_the_bit():
    random = np.random.default_rng(3)
    values, exponents = random.random(20_000) + 2.0**-53, random.uniform(-3.0, 20.0, 20_000)
    compiled, plain = np.zeros((20_000, 3)), np.zeros((20_000, 3))
    all_of_them(values, exponents, compiled)
    all_of_them.function(values[:2000], exponents[:2000], plain)
    assert (compiled[:2000] == plain[:2000]).all()
