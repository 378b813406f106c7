"""For tests of bases: a finite problem whose rewards are written down."""

import math

from manyarms.contract import Choice, learn, pick, renew


def begun(spec, arms, horizon):
    """A base that is about to play so many arms."""
    return renew(spec.start(arms), arms, float(horizon), math.log(horizon))


def play(base, slot, reward, round=1):
    """The base when it has heard of one play."""
    return learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round), reward)


def picks(spec, arms, horizon, reward_of):
    """What a base picks in every round; ``reward_of(slot, round)`` is what it gets."""
    base = begun(spec, arms, horizon)
    picked = []
    for round in range(1, horizon + 1):
        picked.append(int(pick(base, 0, round)[0]))
        base = play(base, picked[-1], reward_of(picked[-1], round), round)
    return picked
