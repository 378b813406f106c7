"""Pilliat (arXiv:2510.27319): OSE and PROSE, as in the demonstration.

In round t the scope is Z = floor(t^(J / Jmax)), Jmax = log2(t + 1) rounded down (OSE) or up (PROSE), J = 1, 2, …, Jmax
and from 1 again. All bounds are computed anew in every round, and PROSE sorts all arms.
"""

import functools
import math

from .growing import Arm
from .siri import hears
from .twins import twin_of


def whole_root(value, degree):
    """The largest whole number whose power of this degree is not above a value."""
    root = 1
    while (2 * root) ** degree <= value:
        root *= 2
    step = root
    while step:
        if (root + step) ** degree <= value:
            root += step
        step //= 2
    return root


def ose(counts, *, width, sorts):
    arms, presumed, t, step = [], {}, 1, 1

    def half(arm):
        return math.sqrt(width / arms[arm].n) if arms[arm].n else math.inf

    def bound(arm, sign):
        return arms[arm].total / arms[arm].n + sign * half(arm) if arms[arm].n else sign * math.inf

    counts.blocks += 1
    while True:
        steps = max(t.bit_length() if sorts else (t + 1).bit_length() - 1, 1)
        step = step if step <= steps else 1
        scope = whole_root(t**step, steps)
        if scope > len(arms):
            arms.append(Arm())
            counts.arms += 1
        while True:
            ranked = sorted(range(len(arms)), key=lambda arm: (-bound(arm, -1.0), arm))
            counts.recommended = ranked[0]
            there = (ranked if sorts else list(range(len(arms))))[:scope]
            heard = yield min(there, key=lambda arm: (-bound(arm, 1.0), arm)), 1.0
            hears(arms, 0, heard, presumed)
            if heard.is_round:
                break
        t += 1
        step += 1


@twin_of("OSE", "PROSE")
def new_ose(spec, setting):
    return functools.partial(ose, width=spec.width, sorts=type(spec).__name__ == "PROSE")
