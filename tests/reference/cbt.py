"""Chan & Hu (arXiv:1805.11793): confidence bound target, and empirical CBT. Losses are 1 - reward.

Every bound is computed anew from all losses of its arm in every round.
"""

import functools
import itertools
import math

from manyarms.arithmetic import binary_log, natural_log, power

from .dense import first_of_the_largest, shortened
from .late import counts_answers
from .tail import Tail
from .twins import known, twin_of


def slack(n):
    """B_n = c_n = log log n, at least 1."""
    return max(natural_log(natural_log(n)), 1.0) if n >= 3 else 1.0


def bound(losses, n):
    """L = max(mean / b_n, mean - c_n sd / sqrt(t)), t the number of losses; of no losses, the least there is."""
    t = len(losses)
    if t == 0:
        return -math.inf
    mean = sum(losses) / t
    sd = math.sqrt(max(sum(x * x for x in losses) / t - mean * mean, 0.0))
    return max(mean / slack(n), mean - slack(n) * sd / math.sqrt(t))


def blocks_of(counts, horizon):
    """The length of each block, and its rounds: one without end if T is known, else 2, 4, 8, …"""
    for rank in itertools.count(1):
        counts.blocks += 1
        n = 2**rank if horizon is None else horizon
        yield n, range(n) if horizon is None else itertools.count()


def target_of(beta, first_loss, n):
    """The average of (zeta - gap)^+ over gaps with P(gap < x) = x^beta is zeta^(beta + 1) / (beta + 1) = lambda / n."""
    return power((beta + 1) * first_loss / n, 1 / (beta + 1))


@counts_answers
def cbt(counts, *, beta, first_loss, target, horizon):
    if beta == "auto":
        yield from cbt_without_beta(counts, first_loss, target, horizon)
    for n, rounds in blocks_of(counts, horizon):
        zeta = target if target is not None else target_of(beta, first_loss, n)
        losses = {}  # of every arm, as in the source: none is forgotten
        for _ in rounds:
            arm = min(losses, key=lambda arm: bound(losses[arm], n), default=None)
            if arm is None or bound(losses[arm], n) > zeta:
                arm = counts.arms
                counts.arms += 1
                losses[arm] = []
            heard = yield arm, 1.0
            if heard.ask.arm == arm:  # else it was left for good
                losses[arm].append(1.0 - heard.reward)


def cbt_without_beta(counts, first_loss, target, horizon):
    """One arm after another; the target follows the estimate whenever a fresh arm is drawn."""
    tail = Tail()
    for n, rounds in blocks_of(counts, horizon):
        zeta, losses = -math.inf, [1.0]  # as if an arm had just failed
        for _ in rounds:
            if bound(losses, n) > zeta:
                arm, losses = counts.arms, []
                counts.arms += 1
                zeta = target if target is not None else target_of(tail.cautious(binary_log(n)), first_loss, n)
            heard = yield arm, 1.0
            if heard.ask.arm == arm:
                losses.append(1.0 - heard.reward)
                tail.saw(arm, heard.reward)


@counts_answers
def empirical_cbt(counts, *, keep, horizon, let_go=None):
    """``let_go``: a list that gets the bound of every arm that goes."""
    let_go = [] if let_go is None else let_go
    for n, rounds in blocks_of(counts, horizon):
        places = [None] * min(keep, n)  # a place has an arm and its losses
        lost = 0.0
        for _ in rounds:
            # The least bound, compared without its last bits; the first of several. Empty places have no bound.
            bounds = [math.inf if place is None else bound(place[1], n) for place in places]
            chosen = places[first_of_the_largest([shortened(-b, len(places)) for b in bounds])]
            if chosen is None or bound(chosen[1], n) > lost / n:
                # A fresh arm, in the first empty place or in place of the arm with the largest bound.
                where = first_of_the_largest([shortened(b, len(places)) for b in bounds])
                if places[where] is not None:
                    let_go.append(bounds[where])
                chosen = places[where] = (counts.arms, [])
                counts.arms += 1
            heard = yield chosen[0], 1.0
            for arm, losses in filter(None, places):
                if arm == heard.ask.arm:
                    losses.append(1.0 - heard.reward)
            lost += 1.0 - heard.reward


@twin_of("CBT")
def new_cbt(spec, setting):
    told = {name: getattr(spec, name) for name in ("beta", "first_loss", "target")}
    return functools.partial(cbt, horizon=known(spec, setting.rounds), **told)


@twin_of("EmpiricalCBT")
def new_empirical_cbt(spec, setting):
    return functools.partial(empirical_cbt, keep=spec.keep, horizon=known(spec, setting.rounds))
