"""Kim, Vojnović & Yun (NeurIPS 2024), Algorithm 1: UCBT-ASW, with every window summed anew in every round."""

import functools
import itertools
import math

from manyarms.arithmetic import binary_log, power

from .aucbt_asw import worst_index
from .late import counts_answers
from .tail import Tail
from .twins import known, twin_of


def threshold(T, beta, variation, changes):  # noqa: N803
    """delta_V of the variation, delta_S of the number of changes; the lesser, if both are known."""
    deltas = []
    if variation is not None:
        by_variation = power(variation / T, 1 / (beta + 2) if beta >= 1 else 1 / 3)
        deltas.append(max(by_variation, power(T, -1 / (beta + 1) if beta >= 1 else -1 / 2)))
    if changes is not None:
        S = 1 + changes  # noqa: N806
        deltas.append(power(S / T, 1 / (beta + 1) if beta >= 1 else 1 / 2))
    return min(*deltas, 1.0)


@counts_answers
def ucbt_asw(counts, *, beta, variation, changes, delta, width, top, horizon):
    """``horizon`` is None when unknown."""
    tail = Tail(top)
    for m in itertools.count(1):  # without a horizon one turn for each block of 2, 4, 8, … rounds, else only one
        length = 2**m if horizon is None else horizon
        T = max(length, 2)  # noqa: N806
        counts.blocks += 1
        least, rewards = math.inf, [0.0]  # as if an arm had just fallen short
        for _ in range(length) if horizon is None else itertools.count():
            if worst_index(rewards, width, T) < least:
                arm, rewards = counts.arms, []
                counts.arms += 1
                now = tail.cautious(binary_log(T)) if beta == "auto" else beta
                least = top - (threshold(T, now, variation, changes) if delta is None else delta)
            heard = yield arm, 1.0
            if heard.ask.arm != arm:  # it was left
                continue
            rewards.append(heard.reward)
            if beta == "auto":
                tail.saw(arm, heard.reward)


@twin_of("UCBTASW")
def new_ucbt_asw(spec, setting):
    told = {name: getattr(spec, name) for name in ("beta", "variation", "changes", "delta", "width", "top")}
    return functools.partial(ucbt_asw, horizon=known(spec, setting.rounds), **told)
