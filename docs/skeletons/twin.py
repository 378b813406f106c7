"""The slow, obvious version of Auditions, from its description and not from its code.

Copy this file to write a twin. A policy's is a generator: it yields an arm and the probability of that choice, and is
sent the reward. ``counts`` has the numbers restarts, blocks and arms, all 0 at first; ``uniform_at(t)`` is the random
number of round t, in [0, 1). Lists, and nothing clever.
"""

import itertools


def auditions(counts, uniform_at, arms, length):
    rounds = itertools.count(1)
    block = [None] * arms
    best = None
    while True:  # one turn for each block
        for place in range(arms):
            if block[place] is None or place != best:
                block[place] = counts.arms
                counts.arms += 1
        counts.blocks += 1
        rewards = [[] for _ in block]
        for t in itertools.islice(rounds, length):
            place = int(uniform_at(t) * arms)
            reward = yield block[place], 1.0 / arms
            rewards[place].append(reward)
        means = [sum(several) / len(several) if several else float("-inf") for several in rewards]
        best = means.index(max(means))
