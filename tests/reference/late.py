"""What a twin is told of its asks, in plain words.

A twin is a generator: it yields the arm that it would play now, with its probability, and is sent what it hears, one
thing at a time. Of every ask it hears, right after it, either the answer ("told") or that none is there yet ("open").
An open ask is "settled" or "lost" later, once. What was told or settled may be "corrected".
"""

import functools
from typing import NamedTuple


class Ask(NamedTuple):
    round: int
    arm: int
    probability: float
    block: int


class Heard(NamedTuple):
    what: str  # "told", "open", "settled", "lost" or "corrected"
    ask: Ask
    reward: float | None = None  # the answer, if there is one
    before: float | None = None  # what was told before, of a correction

    @property
    def is_round(self):
        """Whether the ask was made just now."""
        return self.what in ("told", "open")


def counts_answers(policy):
    """The rule of a twin that knows nothing of open asks: they are no rounds, and their answers are, when they come.

    An answer to an ask of a closed block is ignored. So the generator below hears of answers only.
    """

    @functools.wraps(policy)
    def twin(counts, *args, **settings):
        answered = policy(counts, *args, **settings)
        choice = next(answered)
        while True:
            heard = yield choice
            if heard.what in ("open", "lost"):
                continue
            if heard.ask.block == counts.blocks:
                choice = answered.send(heard)
            else:
                counts.ignored += 1

    return twin
