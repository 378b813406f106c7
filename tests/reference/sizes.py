"""Sizes and logarithms, the sizes in exact arithmetic.

beta is what was written, not the nearest binary fraction: 0.8 / 1.8 is 4/9, and 2^(9 · 4/9) is
16 and no more. 60 digits are enough to tell a whole number from one that is not, so what lies
within 1e-40 of a whole number is taken to be it.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

from manyarms.arithmetic import binary_log, natural_log

HAIR = Decimal("1e-40")


def exact(number):
    return Decimal(repr(number))


def exact_log(value, base):
    divisor = Decimal(1) if base == "e" else exact(base).ln()
    return Decimal(value).ln() / divisor


def ceiling(value):
    return int((value - HAIR).to_integral_value(ROUND_CEILING))


def floor(value):
    return int((value + HAIR).to_integral_value(ROUND_FLOOR))


def elimination_size(m, beta, horizon, log_base, log_factor, cap):
    """Algorithm 2, line 3: ceil(2^((m+1) beta / (beta+1)) log T), at most 2^m."""
    with localcontext(prec=60):
        beta = exact(beta)
        size = Decimal(2) ** ((m + 1) * beta / (beta + 1))
        if log_factor:
            size *= exact_log(horizon, log_base)
        size = max(ceiling(size), 1)
    return min(size, 2**m) if cap else size


def blackbox_size(m, beta, horizon, log_base, log_factor):
    """Theorem 2: S_m = ceil(2^(m beta / (beta+1))) for beta >= 1, ceil(2^(m beta / 2)) below; at most 2^m.

    With ``log_factor``, times log(T)^(1 / (beta+1)) or log(T) before it is rounded.
    """
    with localcontext(prec=60):
        beta = exact(beta)
        size = Decimal(2) ** (m * beta / (beta + 1) if beta >= 1 else m * beta / 2)
        if log_factor:
            size *= exact_log(horizon, log_base) ** (1 / (beta + 1) if beta >= 1 else Decimal(1))
        return min(max(ceiling(size), 1), 2**m)


def subsample_size(length, beta, published=False):
    """Bayati et al.: ceil(T^(beta / (beta+1))) for beta >= 1, ceil(T^(beta / 2)) below; at most T.

    Published with Suk & Kim: floor(max(sqrt(T), T^(beta / (beta+1)))).
    """
    with localcontext(prec=60):
        beta = exact(beta)
        if published:
            size = floor(Decimal(length) ** max(Decimal("0.5"), beta / (beta + 1)))
        else:
            size = ceiling(Decimal(length) ** (beta / (beta + 1) if beta >= 1 else beta / 2))
        return min(max(size, 1), length)


def log(value, base):
    """The logarithm as a float, for thresholds."""
    if base == 2:
        return binary_log(value)
    if base == "e":
        return natural_log(value)
    return natural_log(value) / natural_log(base)


def assumed_horizon(horizon, end_of_block):
    """T if it is known, else the power of two that covers the end of the block; at least 2 (log T > 0)."""
    if horizon is not None:
        return max(horizon, 2)
    power = 2
    while power < end_of_block:
        power *= 2
    return power
