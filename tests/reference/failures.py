"""Berry, Chen, Zame, Heath & Shepp (1997): k failures, runs of m successes with and without recall, N-learning.

A reward below 1 is a failure.
"""

import functools
import itertools
import math
from decimal import Decimal, localcontext

from .late import counts_answers
from .sizes import ceiling, exact_log
from .twins import known, twin_of


@counts_answers
def k_failure(counts, *, failures):
    while True:
        arm = counts.arms
        counts.arms += 1
        counts.blocks += 1
        failed = 0
        while failed < failures:
            heard = yield arm, 1.0
            failed += heard.reward < 1.0


@counts_answers
def m_run(counts, *, run, recall, horizon):
    """``run`` is m in place of the rule; ``horizon`` is None when unknown."""
    for rank in itertools.count(1):  # without a horizon one turn for each block of 2, 4, 8, … rounds, else only one
        length = 2**rank if horizon is None else horizon
        m = math.isqrt(length - 1) + 1 if run is None else run  # ceil(sqrt(length))
        counts.blocks += 1
        runs = {}  # arm -> its successes before its failure
        arm, successes, stays = counts.arms, 0, False
        counts.arms += 1
        for t in range(1, length + 1) if horizon is None else itertools.count(1):
            heard = yield arm, 1.0
            if t == length and horizon is None:
                break  # nothing can follow from the last reward of a block
            if stays or heard.ask.arm != arm:  # of an arm that was left, it is too late
                continue
            if heard.reward >= 1.0:
                successes += 1
                stays = successes == m
                continue
            runs[arm] = successes
            if recall and len(runs) == m:
                arm = max(runs, key=runs.get)  # the first of several
                stays = True
            else:
                arm, successes = counts.arms, 0
                counts.arms += 1


def learning_rounds(length):
    """ceil(sqrt(n) log n), at least 1."""
    with localcontext(prec=60):
        return max(ceiling(Decimal(length).sqrt() * exact_log(length, "e")), 1)


@counts_answers
def n_learning(counts, *, learning, horizon):
    """``learning`` is N in place of the rule; ``horizon`` is None when unknown."""
    for rank in itertools.count(1):  # without a horizon one turn for each block of 2, 4, 8, … rounds, else only one
        length = 2**rank if horizon is None else horizon
        n = learning_rounds(length) if learning is None else learning
        counts.blocks += 1
        runs = {}  # arm -> its successes before its failure
        arm, successes, stays = counts.arms, 0, False
        counts.arms += 1
        for t in range(1, length + 1) if horizon is None else itertools.count(1):
            heard = yield arm, 1.0
            if t == length and horizon is None:
                break  # nothing can follow from the last reward of a block
            if stays or heard.ask.arm != arm:  # of an arm that was left, it is too late
                continue
            if heard.reward >= 1.0:
                successes += 1
                continue
            runs[arm] = successes
            if t >= n:
                arm = max(runs, key=runs.get)  # the first of several
                stays = True
            else:
                arm, successes = counts.arms, 0
                counts.arms += 1


@twin_of("KFailure")
def new_k_failure(spec, setting):
    return functools.partial(k_failure, failures=spec.failures)


@twin_of("MRun")
def new_m_run(spec, setting):
    return functools.partial(m_run, run=spec.run, recall=spec.recall, horizon=known(spec, setting.rounds))


@twin_of("NLearning")
def new_n_learning(spec, setting):
    return functools.partial(n_learning, learning=spec.learning, horizon=known(spec, setting.rounds))
