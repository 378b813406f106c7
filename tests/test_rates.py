"""Stationary regret of Elimination grows like T^(beta / (beta + 1)), up to the logarithms of the bound."""

import pytest

from verification.rates import rate_row

# As make verify, with fewer rounds: about 4 s for each beta.
HORIZONS = tuple(2**power for power in range(13, 21))
BUDGET = 8_000_000


@pytest.mark.compiled
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_slope_lies_between_the_exponent_and_what_the_logarithms_add(beta):
    row, _ = rate_row(beta, HORIZONS, BUDGET, seed=11)
    assert row["agrees"] == "yes", row
    # The interval says something: it is narrower than the distance to the next beta's exponent.
    assert row["95 % high"] - row["95 % low"] < 0.08
