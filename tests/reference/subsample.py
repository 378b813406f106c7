"""Bayati, Hamidi, Johari & Khosravi (NeurIPS 2020): draw K arms once, run a base on them.

SSUCB is this with the asymptotically optimal UCB, SS-Greedy with the greedy base. Without a
horizon: blocks of 2, 4, 8, … rounds, each with a fresh subsample of the size that fits. With a
horizon but without beta: a pilot of ceil(sqrt(T)) rounds on half as many arms first.
"""

import functools
import itertools
import math

from manyarms.arithmetic import binary_log, natural_log
from manyarms.policies import subsample as fast

from .asymptotic_ucb import AsymptoticUCB
from .sizes import subsample_size
from .tail import Tail, estimate_for
from .twins import calibrated, from_preset, known, new_twin, twin_of

SSUCB_PRESETS = {
    "paper": {"sigma": 1.0},
    "published": {"sigma": 1.0},
    "calibrated": calibrated(fast.SSUCB_PRESETS),
}


def chosen(base, arms, t):
    """The arm that a base chooses, and its probability."""
    place = base.pick(t)
    return arms[place], base.probability(place)


def base_hears(base, place, heard, presumed):
    """What a base makes of a round of its block.

    An open ask is a play that paid what the base expects, which ``presumed`` remembers; the answer replaces that.
    """
    base.chance = heard.ask.probability  # by which some bases weigh the reward
    base.asked = heard.ask.round  # in which some have drawn more than the arm
    match heard.what:
        case "told":
            base.learn(place, heard.reward)
        case "open":
            presumed[heard.ask] = base.expected(place)
            base.learn(place, presumed[heard.ask])
        case "settled":
            base.settle(place, presumed.pop(heard.ask), heard.reward)
        case "lost":
            base.lose(place, presumed.pop(heard.ask))
        case "corrected":
            base.settle(place, heard.before, heard.reward)


def subsample(counts, new_base, *, beta, arms=None, horizon=None, published=False):
    """``arms`` is K in place of the rule; ``horizon`` is None when unknown."""
    t = 1
    tail = Tail()
    pilot = math.isqrt(horizon - 1) + 1 if horizon is not None and beta == "auto" else 0
    for m in itertools.count(1):
        is_pilot = pilot > 0 and m == 1
        ends = horizon is None or is_pilot
        length = pilot if is_pilot else 2**m if horizon is None else max(horizon - pilot, 1)
        if is_pilot:
            size = (length + 1) // 2
        elif arms is not None:
            size = min(arms, length)
        else:
            size = subsample_size(length, estimate_for(beta, tail, binary_log(length)), published)
        drawn = list(range(counts.arms, counts.arms + size))
        counts.arms += size
        counts.blocks += 1
        base = new_base(size, length, natural_log(max(length, 2)))
        # A known horizon that has passed changes nothing: the last block goes on.
        presumed = {}
        end = t + length if ends else math.inf
        while t < end:
            heard = yield chosen(base, drawn, t)
            t += heard.is_round
            if heard.ask.block == counts.blocks:
                base_hears(base, drawn.index(heard.ask.arm), heard, presumed)
                if heard.what in ("told", "settled"):
                    tail.saw(heard.ask.arm, heard.reward)
            elif heard.reward is not None:
                counts.ignored += 1  # all arms are others now


@twin_of("Subsample")
def new_subsample(spec, setting):
    base, horizon = new_twin(spec.base, setting), known(spec, setting.rounds)
    return functools.partial(subsample, new_base=base, beta=spec.beta, arms=spec.arms, horizon=horizon)


@twin_of("SSUCB")
def new_ssucb(spec, setting):
    base = functools.partial(AsymptoticUCB, **from_preset(spec, SSUCB_PRESETS))
    horizon, published = known(spec, setting.rounds), spec.preset == "published"
    return functools.partial(
        subsample, new_base=base, beta=spec.beta, arms=spec.arms, horizon=horizon, published=published
    )
