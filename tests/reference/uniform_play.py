"""A fresh arm every round."""

from .twins import twin_of


def uniform_play(counts):
    """An arm for each ask, whatever comes of it."""
    counts.blocks = 1
    while True:
        heard = yield counts.arms, 1.0
        counts.arms += heard.is_round


@twin_of("UniformPlay")
def new_uniform_play(spec, setting):
    return uniform_play
