"""A fresh arm every round."""

from .twins import twin_of


def uniform_play(counts):
    """An arm for each ask; drawn when its answer comes, and with it those before it."""
    counts.blocks = 1
    asked = 0
    while True:
        heard = yield asked, 1.0
        asked += heard.is_round
        if heard.reward is not None:
            counts.arms = max(counts.arms, heard.ask.round)


@twin_of("UniformPlay")
def new_uniform_play(spec, setting):
    return uniform_play
