"""Suk & Kim, Algorithm 1: Blackbox Non-Stationary Algorithm. Line numbers are those of its listing."""

import functools
import itertools
import math

from manyarms.arithmetic import power
from manyarms.policies import blackbox as fast

from .learned_top import new_tail
from .sizes import assumed_horizon, blackbox_size, log
from .subsample import base_hears, chosen
from .tail import estimate_for
from .twins import calibrated, from_preset, known, new_twin, twin_of

PAPER = {"threshold": 1.0, "log_power": 3.0, "log_base": 2, "log_factor": False, "base_horizon": "block"}
PUBLISHED = {"threshold": 1.0, "log_power": 3.0, "log_base": "e", "log_factor": True, "base_horizon": "run"}
PRESETS = {
    "paper": PAPER | {"warm_start": False},
    "published": PUBLISHED | {"warm_start": False},
    "calibrated": calibrated(fast.PRESETS),
}


def blackbox(
    counts, new_base, *, beta, horizon, threshold, log_power, log_base, log_factor, base_horizon, top, warm_start
):
    """``horizon`` is None when unknown. ``new_base(arms, horizon, log_horizon)`` makes a base."""
    t = 1
    tail = new_tail(beta, top)
    while True:  # one turn for each episode (line 2, and line 10: return to line 3)
        # Line 3: for m = 1, 2, …; beyond ceil(log T) if there are more rounds.
        restart = False
        good = []
        for m in itertools.count(1):
            # Line 4: subsample S_m arms, at most 2^m.
            reckoned = assumed_horizon(horizon, t - 1 + 2**m)
            # With a warm start, the good arms of the block before stay, and fresh ones fill it up.
            subsample = list(good) if warm_start else []
            size = blackbox_size(m, estimate_for(beta, tail, m), reckoned, log_base, log_factor)
            if beta == "auto":
                size = max(size, len(subsample))
            assert len(subsample) <= size
            while len(subsample) < size:
                subsample.append(counts.arms)
                counts.arms += 1
            tail.opened(size)
            counts.blocks += 1
            # Line 5: a new instance of the base, told the length of the block (or of the run).
            told = 2**m if base_horizon == "block" else reckoned
            base = new_base(size, told, log(told, log_base))
            losses = 0.0
            presumed = {}  # open asks of this block -> what their reward is taken to be
            most_open = 0
            end = t + 2**m
            while t < end:  # line 6
                # Line 7: play as the base chooses.
                heard = yield chosen(base, subsample, t)
                t += heard.is_round
                if heard.what in ("told", "settled") and heard.ask.arm in subsample:
                    tail.saw(heard.ask.arm, heard.reward)
                if heard.ask.block == counts.blocks:
                    # Line 8, the changepoint test: the sum of delta-hat_s = 1 - Y_s over the block.
                    if heard.reward is not None:
                        losses += (tail.top if heard.before is None else heard.before) - heard.reward
                    base_hears(base, subsample.index(heard.ask.arm), heard, presumed)
                elif heard.what == "settled" and heard.ask.arm in subsample:
                    base.chance, base.asked = heard.ask.probability, heard.ask.round
                    base.learn(subsample.index(heard.ask.arm), heard.reward)  # of an arm that stayed
                elif heard.what in ("settled", "corrected"):
                    counts.ignored += 1
                most_open = max(most_open, len(presumed))
                log_term = power(log(reckoned, log_base), log_power)
                bound = threshold * max(float(size), math.sqrt(2.0**m)) * log_term
                bound = tail.limit(bound, t - (end - 2**m), 2**m)
                # As many losses more are allowed as there were open asks.
                restart = losses >= bound + most_open
                if restart:
                    break
            tail.closed(subsample)
            if restart:
                counts.restarts += 1  # line 9: l <- l + 1
                break
            # Good: at least its share of the block's plays.
            good = [arm for arm, plays in zip(subsample, base.plays, strict=True) if plays >= 2**m / size]
            # Line 12: the block is over; the next one follows.


@twin_of("Blackbox")
def new_blackbox(spec, setting):
    chosen = from_preset(spec, PRESETS)
    base, horizon = new_twin(spec.base, setting), known(spec, setting.rounds)
    return functools.partial(blackbox, new_base=base, beta=spec.beta, horizon=horizon, top=spec.top, **chosen)
