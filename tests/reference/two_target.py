"""Bonald & Proutière (NIPS 2013): two targets, for a known horizon and for an unknown one.

A reward below 1 is a failure. Targets are floors of powers, in exact arithmetic.
"""

import functools
import itertools
from decimal import Decimal, localcontext

from .late import counts_answers
from .sizes import exact, floor
from .twins import known, twin_of


@functools.cache
def targets(m, beta, scale):
    """l_1 = floor(scale^(1 / (beta + 2))), l_2 = floor(m scale^(1 / (beta + 1)))."""
    with localcontext(prec=60):
        return floor(scale ** (1 / (beta + 2))), floor(m * scale ** (1 / (beta + 1)))


@counts_answers
def two_target(counts, *, m, beta, alpha, horizon):
    """``horizon`` is None when unknown: the targets are those of the round then, and an arm can be outgrown."""
    counts.blocks += 1
    arm, successes, failed = None, 0, 0
    explores, exploits = True, False
    for t in itertools.count(1):
        with localcontext(prec=60):
            scale = Decimal(t) if horizon is None else alpha * horizon / (beta + 1)
        l_1, l_2 = targets(m, beta, scale)
        if explores or (exploits and successes < l_2):
            arm, successes, failed = counts.arms, 0, 0
            counts.arms += 1
            explores = exploits = False
        heard = yield arm, 1.0
        if heard.ask.arm != arm or exploits:  # of an arm that was left, it is too late
            continue
        if heard.reward >= 1.0:
            successes += 1
            continue
        failed += 1
        if failed == 1:
            explores = successes < l_1
        if failed == m and not explores:
            explores = successes < l_2
            exploits = not explores


@twin_of("TwoTarget")
def new_two_target(spec, setting):
    return functools.partial(
        two_target,
        m=spec.failures,
        beta=exact(spec.beta),
        alpha=exact(spec.alpha),
        horizon=known(spec, setting.rounds),
    )
