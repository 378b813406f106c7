"""The paper's rates with 50 digits, written as they stand in its text (Suk & Kim), each as one expression."""

from decimal import Decimal, localcontext

from .sizes import exact


def in_decimals(function):
    """Take what was written as decimals; give a float."""

    def rounded(*values):
        with localcontext(prec=50):
            return float(function(*(None if value is None else exact(value) for value in values)))

    return rounded


@in_decimals
def stationary(t, b):
    return t ** (b / (b + 1))


@in_decimals
def by_changes(t, b, number):
    """(L + 1)^{1/(beta+1)} T^{beta/(beta+1)}: Sections 3, 4.3 and 5.3."""
    return (number + 1) ** (1 / (b + 1)) * t ** (b / (b + 1))


@in_decimals
def by_variation(t, b, total):
    """V^{1/(beta+2)} T^{(beta+1)/(beta+2)} + T^{beta/(beta+1)}: the same places."""
    return total ** (1 / (b + 2)) * t ** ((b + 1) / (b + 2)) + t ** (b / (b + 1))


@in_decimals
def blackbox_below_one(t, number, total):
    """sqrt((L+1) T) /\\ (V^{1/3} T^{2/3} + sqrt(T)): the second display of Theorem 2."""
    return min(((number + 1) * t).sqrt(), total ** (1 / Decimal(3)) * t ** (2 / Decimal(3)) + t.sqrt())


@in_decimals
def aucbt_asw(t, b, number, total):
    """Kim et al. (2024): beta counts as 1 below 1. Section 7 of the paper has min where they have max."""
    b = max(b, Decimal(1))
    known = min(total ** (1 / (b + 2)) * t ** ((b + 1) / (b + 2)), (number + 1) ** (1 / (b + 1)) * t ** (b / (b + 1)))
    return known + t ** ((2 * b + 1) / (2 * b + 2))


@in_decimals
def log_factor(t):
    """log^3(T), base 2 (Section A.1)."""
    return (t.ln() / Decimal(2).ln()) ** 3
