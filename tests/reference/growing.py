"""UCB-AIR (Wang, Audibert & Munos 2008) and IMOSS (Abraham, Nguyen & Devatine 2026): arms that become more.

Every index is computed anew in every round. An open ask is a play that paid the mean reward so far, rounded down to 20
bits, or 0; the answer takes its place.
"""

import functools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

from manyarms.arithmetic import natural_log

from .dense import first_of_the_largest
from .sizes import ceiling, exact
from .twins import twin_of


class Arm:
    """What is known of one: the rewards by the round of their ask, in order."""

    def __init__(self):
        self.n = 0
        self.total = 0.0
        self.squares = 0.0

    def add(self, reward, plays=1, sign=1.0):
        self.n += plays
        self.total += sign * reward
        self.squares += sign * reward**2

    def expected(self):
        return math.floor(Fraction(self.total / self.n) * 2**20) / 2**20 if self.n else 0.0


def ucb_v(arm, t, arms, width):
    E = width * 2.0 * natural_log(10.0 * natural_log(max(t, 2)))  # noqa: N806
    V = max(arm.squares / arm.n - (arm.total / arm.n) ** 2, 0.0)  # noqa: N806
    return arm.total / arm.n + math.sqrt(2.0 * V * E / arm.n) + 3.0 * E / arm.n


def moss(arm, t, arms, alpha):
    share = max(0.0, natural_log(t / (arms * arm.n)))
    return arm.total / arm.n + math.sqrt((1.0 + alpha) / 2.0 * share / arm.n)


def wanted(t, exponent, first):
    """The arms of round t: ceil(t^exponent), and no fewer than min(t, first)."""
    with localcontext(prec=60):
        return max(ceiling(Decimal(t) ** exponent), min(t, first))


def growing(counts, *, index, exponent, first=1):
    counts.blocks += 1
    arms, presumed, t = [], {}, 1
    while True:
        if len(arms) < wanted(t, exponent, first):
            arms.append(Arm())
            counts.arms += 1
        indices = [math.inf if arm.n == 0 else index(arm, t, len(arms)) for arm in arms]
        heard = yield first_of_the_largest(indices), 1.0
        t += heard.is_round
        arm = arms[heard.ask.arm]
        match heard.what:
            case "told":
                arm.add(heard.reward)
            case "open":
                presumed[heard.ask] = arm.expected()
                arm.add(presumed[heard.ask])
            case "settled" | "corrected":
                before = presumed.pop(heard.ask) if heard.what == "settled" else heard.before
                arm.total += heard.reward - before
                arm.squares += heard.reward**2 - before**2
            case "lost":
                arm.add(presumed.pop(heard.ask), plays=-1, sign=-1.0)
                if arm.n == 0:
                    arm.total = arm.squares = 0.0


@twin_of("UCBAIR")
def new_ucb_air(spec, setting):
    with localcontext(prec=60):
        beta = exact(spec.beta)
        exponent = beta / 2 if beta < 1 and spec.below_one else beta / (beta + 1)
    return functools.partial(growing, index=functools.partial(ucb_v, width=spec.width), exponent=exponent)


@twin_of("IMOSS")
def new_imoss(spec, setting):
    index = functools.partial(moss, alpha=spec.alpha)
    return functools.partial(growing, index=index, exponent=exact(spec.growth), first=spec.warmup)
