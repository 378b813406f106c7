"""Open asks in groups by age, against lists of their rounds."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.policies import lateness as late
from manyarms.policies import open_asks as opening
from tests.reference.forager import Lateness
from tests.reference.forager import OpenAsks as Twin


def played(seed, share, longest, rounds, slot=1):
    """Asks and answers of a slot, and of its twin, by the dice."""
    dice, asks, twin, out = random.Random(seed), opening.new_open_asks(3), Twin(), []
    opening.without_asks(asks, slot)
    for now in range(1, rounds + 1):
        if dice.random() < share:
            opening.add_ask(asks, slot, now)
            twin.add(now)
            out.append(now)
        for round in [one for one in out if now - one >= longest or dice.random() < 0.01]:
            opening.remove_ask(asks, slot, round)
            twin.remove(round)
            out.remove(round)
    return asks, twin, out


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 1.0]), st.sampled_from([1, 30, 400]), st.integers(1, 600))
def test_groups_hold_what_the_twin_holds(seed, share, longest, rounds):
    asks, twin, out = played(seed, share, longest, rounds)
    mine = slice(opening.GROUPS, 2 * opening.GROUPS)
    assert asks.numbers.tolist() == [0, len(out), 0]
    assert asks.sizes[mine].tolist() == [len(group) for group in twin.groups]
    assert asks.rounds[mine].tolist() == [sum(group) for group in twin.groups]
    assert sorted(itertools.chain(*twin.groups)) == out
    others = np.delete(asks.sizes, np.arange(mine.start, mine.stop))
    assert not others.any()


@pytest.mark.parametrize("seed", range(5))
def test_what_comes_to_nothing_is_that_of_single_ages_nearly(seed):
    asks, twin, out = played(seed, 0.5, 300, 1000)
    lateness, slow = late.opened_lateness(late.new_lateness()), Lateness()
    dice = random.Random(seed)
    for number in range(1, 2000):  # good news after 1 to 300 rounds, evenly in the logarithm; bad news after 300
        is_good = dice.random() < 0.1
        age = int(300 ** dice.random()) if is_good else 300
        late.add_answer(lateness, age, float(is_good), 0.1, number)
        slow.add(age, float(is_good), 0.1, number)
    nothing = opening.come_to_nothing(asks, lateness, 1, 1000, 1999)
    assert nothing == twin.nothing(slow, 1000, 1999)
    # The share falls evenly in the logarithm of an age. Of ages from a to 9 a, spread evenly, the logarithm of the mean
    # is ln 5 = 1.61 above that of a, and the mean of the logarithms 1.47: 0.14 / ln 300 = 0.024 an ask. As much again
    # because 200 rewards say what the share is, and between powers of two it is as if they came evenly.
    alone = sum(1.0 - late.still_to_come(lateness, 1000.0 - round, 1999) for round in out)
    assert nothing == pytest.approx(alone, abs=0.05 * len(out))
    assert opening.come_to_nothing(asks, lateness, 0, 1000, 1999) == 0.0
