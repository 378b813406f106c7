"""Berry, Chen, Zame, Heath & Shepp (1997): k failures, and runs of m successes with and without recall.

A reward below 1 is a failure.
"""

import itertools
import math


def k_failure(counts, *, failures):
    while True:
        arm = counts.arms
        counts.arms += 1
        counts.blocks += 1
        failed = 0
        while failed < failures:
            reward = yield arm, 1.0
            failed += reward < 1.0


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
            reward = yield arm, 1.0
            if t == length and horizon is None:
                break  # nothing can follow from the last reward of a block
            if stays:
                continue
            if reward >= 1.0:
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
