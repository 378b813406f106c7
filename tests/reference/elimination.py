"""Suk & Kim, Algorithm 2: Restarting Subsampling Elimination. Line numbers are those of its listing."""

import functools
import itertools

from manyarms.policies import elimination as fast

from .learned_top import new_tail
from .sizes import assumed_horizon, elimination_size, log
from .squares import bits_at, uniform
from .tail import estimate_for
from .twins import calibrated, from_preset, known, twin_of

PRESETS = {
    "paper": {"threshold": 1.0, "log_base": 2, "log_factor": True, "cap": True, "warm_start": False},
    "published": {"threshold": 1.0, "log_base": "e", "log_factor": False, "cap": False, "warm_start": False},
    "calibrated": calibrated(fast.PRESETS),
}


def loss_heard(heard, counts, top):
    """The loss by which a score grows; None for none. A late one counts in whatever block is open.

    Scores begin again with every block: what was told in another one cannot be corrected.
    """
    if heard.what == "corrected":
        return heard.before - heard.reward if heard.ask.block == counts.blocks else None
    return None if heard.reward is None else top - heard.reward


def elimination(counts, key, *, beta, horizon, threshold, log_base, log_factor, cap, warm_start, top):
    """``horizon`` is None when unknown. ``key`` is that of the policy's stream: round t is address (t, 0)."""
    t = 1
    tail = new_tail(beta, top)
    while True:  # one turn for each episode (line 1, and line 9: return to line 2)
        live = []
        # Line 2: for m = 1, 2, …. T rounds have passed by m = ceil(log T); ours go on if they are asked to.
        for m in itertools.count(1):
            # Line 3: subsample A_m and let G <- A_m. With a warm start, the arms that are still live stay, and
            # fresh ones fill it up.
            reckoned = assumed_horizon(horizon, t - 1 + 2**m)
            subsample = list(live) if warm_start else []
            size = elimination_size(m, estimate_for(beta, tail, m), reckoned, log_base, log_factor, cap)
            if beta == "auto":
                size = max(size, len(subsample))
            assert len(subsample) <= size
            while len(subsample) < size:
                subsample.append(counts.arms)
                counts.arms += 1
            live = list(subsample)
            tail.opened(size)
            counts.blocks += 1
            scores = dict.fromkeys(subsample, 0.0)  # sum of IW_s(a) over the block
            end = t + 2**m
            while t < end:  # line 4: t = t_l^m, …, t_l^m + 2^m - 1
                # Line 5: play a_t uniform on G_t.
                probability = 1.0 / len(live)
                arm = live[int(uniform(bits_at(key, t, 0)) * len(live))]
                heard = yield arm, probability
                t += heard.is_round
                loss = loss_heard(heard, counts, tail.top)
                if loss is not None and heard.ask.arm in live:
                    if heard.before is None:
                        tail.saw(heard.ask.arm, heard.reward)
                    # IW_t(a) = (1 - Y_t(a_t)) 1{a_t = a} / P(a_t = a): zero for all but the played arm.
                    scores[heard.ask.arm] += loss / heard.ask.probability
                elif heard.what == "corrected" or (
                    heard.what == "settled" and not warm_start and heard.ask.block != counts.blocks
                ):
                    counts.ignored += 1  # its arm went with its block, or its loss has
                # Line 6: drop every a in G_t whose sum is at least C_2 |A_m| log T.
                bound = threshold * size * log(reckoned, log_base)
                for loser in [a for a in live if scores[a] >= bound]:
                    # "Uniform on G_t" needs some order of G_t to turn a random number into an arm. This
                    # rule (the last one takes the place that falls free) is the only thing taken from
                    # the fast code.
                    tail.goes(loser)
                    live[live.index(loser)] = live[-1]
                    live.pop()
                if not live:  # line 7: the restart test
                    break
            if not live:
                counts.restarts += 1  # line 8: l <- l + 1
                break
            # Line 11: the block is over; the next one follows.
            tail.closed(live)


@twin_of("Elimination")
def new_elimination(spec, setting):
    chosen = from_preset(spec, PRESETS)
    horizon = known(spec, setting.rounds)
    return functools.partial(elimination, key=setting.key, beta=spec.beta, horizon=horizon, top=spec.top, **chosen)
