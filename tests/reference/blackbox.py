"""Suk & Kim, Algorithm 1: Blackbox Non-Stationary Algorithm. Line numbers are those of its listing."""

import itertools
import math

from manyarms.arithmetic import power

from .sizes import assumed_horizon, blackbox_size, log


def blackbox(counts, new_base, *, beta, horizon, threshold, log_power, log_base, log_factor, base_horizon, top):
    """``horizon`` is None when unknown. ``new_base(arms, horizon, log_horizon)`` makes a base."""
    t = 1
    while True:  # one turn for each episode (line 2, and line 10: return to line 3)
        # Line 3: for m = 1, 2, …; beyond ceil(log T) if there are more rounds.
        restart = False
        for m in itertools.count(1):
            # Line 4: subsample S_m arms, at most 2^m.
            reckoned = assumed_horizon(horizon, t - 1 + 2**m)
            size = blackbox_size(m, beta, reckoned, log_base, log_factor)
            subsample = list(range(counts.arms, counts.arms + size))
            counts.arms += size
            counts.blocks += 1
            # Line 5: a new instance of the base, told the length of the block (or of the run).
            told = 2**m if base_horizon == "block" else reckoned
            base = new_base(size, told, log(told, log_base))
            losses = 0.0
            for _ in range(2**m):  # line 6
                # Line 7: play as the base chooses.
                place = base.pick()
                reward = yield subsample[place], 1.0
                t += 1
                base.learn(place, reward)
                # Line 8, the changepoint test: the sum of delta-hat_s = 1 - Y_s over the block.
                losses += top - reward
                log_term = power(log(reckoned, log_base), log_power)
                bound = threshold * max(float(size), math.sqrt(2.0**m)) * log_term
                if losses >= bound:
                    restart = True
                    break
            if restart:
                counts.restarts += 1  # line 9: l <- l + 1
                break
            # Line 12: the block is over; the next one follows.
