"""Kim, Vojnović & Yun (NeurIPS 2024), Algorithm 2: AUCBT-ASW, with every window summed anew in every round."""

import functools
import itertools
import math
from decimal import localcontext

from manyarms.arithmetic import exponential, natural_log

from .late import counts_answers
from .sizes import ceiling, exact, exact_log
from .squares import bits_at, uniform
from .twins import from_preset, known, twin_of

PRESETS = {
    "paper": {"width": 12.0, "first_threshold": 0.5, "depth": 0.5, "scale": 1.0, "scale_log": "block"},
    "published": {"width": 12.0, "first_threshold": 1.0, "depth": 1.0, "scale": 100.0, "scale_log": "run"},
}


def grid(block_length, first_threshold, depth):
    """first_threshold, half of it, a quarter, …: ceil(depth log2 H) thresholds, at least one."""
    with localcontext(prec=60):
        size = max(ceiling(exact(depth) * exact_log(block_length, 2)), 1)
    return [first_threshold / 2**j for j in range(size)]


def worst_index(rewards, width, block_length):
    """The least mean + sqrt(12 log H / w) over the last w = 1, 2, 4, … rewards of an arm."""
    indices = [math.inf]
    w = 1
    while w <= len(rewards):
        indices.append(sum(rewards[-w:]) / w + math.sqrt(width * natural_log(block_length) / w))
        w *= 2
    return min(indices)


@counts_answers
def aucbt_asw(counts, key, *, horizon, width, first_threshold, depth, scale, scale_log, top, drawn=None):
    """``horizon`` is None when unknown. ``key`` is that of the policy's stream: block i is address (i, 0).

    ``drawn``: a list that gets every block's (delta, p(delta)).
    """
    drawn = [] if drawn is None else drawn
    for m in itertools.count(1):  # without a horizon one turn for each period of 2, 4, 8, … rounds, else only one
        T = max(horizon, 2) if horizon is not None else 2**m  # noqa: N806
        H = math.isqrt(T - 1) + 1  # noqa: N806, ceil(sqrt(T))
        deltas = grid(H, first_threshold, depth)
        B = len(deltas)  # noqa: N806
        alpha = min(1.0, math.sqrt(B * natural_log(B) / ((math.e - 1.0) * math.ceil(T / H))))
        log_beside_C = natural_log(T if scale_log == "run" else H)  # noqa: N806
        N_0 = scale * H * log_beside_C + 4.0 * math.sqrt(H * natural_log(T))  # noqa: N806
        w = dict.fromkeys(deltas, 1.0)
        rounds_left = T if horizon is None else math.inf
        while rounds_left > 0:
            counts.blocks += 1
            # Draw delta with probability p(delta): walk through the grid until u is used up.
            p = {delta: (1.0 - alpha) * w[delta] / sum(w.values()) + alpha / B for delta in deltas}
            u = uniform(bits_at(key, counts.blocks, 0))
            for delta in deltas:
                u -= p[delta]
                if u < 0.0:
                    break
            drawn.append((delta, p[delta]))
            arm, rewards = counts.arms, []
            counts.arms += 1
            block_reward = 0.0
            length = min(H, rounds_left)
            for _ in range(length):
                if worst_index(rewards, width, H) < top - delta:
                    arm, rewards = counts.arms, []
                    counts.arms += 1
                heard = yield arm, 1.0
                if heard.ask.arm == arm:  # a dropped one's late rewards are the block's all the same
                    rewards.append(heard.reward)
                block_reward += heard.reward
            w[delta] *= exponential(alpha / (B * p[delta]) * (0.5 + block_reward / N_0))
            rounds_left -= length


@twin_of("AUCBTASW")
def new_aucbt_asw(spec, setting):
    chosen = from_preset(spec, PRESETS)
    return functools.partial(aucbt_asw, key=setting.key, horizon=known(spec, setting.rounds), top=spec.top, **chosen)
