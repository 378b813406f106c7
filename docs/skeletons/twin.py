"""The slow, obvious version of Auditions, from its description and not from its code.

Copy this file to write a twin. A policy's is a generator: it yields an arm and the probability of that choice, and is
sent what it hears, one thing at a time: an ask was "told" its reward or is "open", an older one is "settled" or "lost"
(tests/reference/late.py). ``counts`` has the numbers restarts, blocks, arms and ignored, all 0 at first;
``uniform_at(t)`` is the random number of round t, in [0, 1). Lists, and nothing clever.
"""


def auditions(counts, uniform_at, arms, length):
    t = 1
    block = [None] * arms
    best = None
    while True:  # one turn for each block
        for place in range(arms):
            if block[place] is None or place != best:
                block[place] = counts.arms
                counts.arms += 1
        counts.blocks += 1
        rewards = {arm: [] for arm in block}
        end = t + length
        while t < end:
            heard = yield block[int(uniform_at(t) * arms)], 1.0 / arms
            t += heard.is_round  # a late answer is none
            if heard.reward is not None and heard.ask.arm in block:
                rewards[heard.ask.arm].append(heard.reward)
            elif heard.reward is not None:
                counts.ignored += 1
        means = [sum(rewards[arm]) / len(rewards[arm]) if rewards[arm] else float("-inf") for arm in block]
        best = means.index(max(means))
