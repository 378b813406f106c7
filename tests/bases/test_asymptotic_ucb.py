"""AsymptoticUCB: its clock, and its tournament of lines."""

import math
import random

import numpy as np
import pytest

import manyarms as ma
from manyarms.arithmetic import natural_log
from manyarms.bases.asymptotic_ucb import Clock, exact_clock, ticked
from manyarms.compiled import loop
from manyarms.contract import Choice, learn, pick, renew
from tests.reference.asymptotic_ucb import AsymptoticUCB
from tests.twinned import FLIPS, WEAR, check_same


@loop
def worst_clock_error(rounds):
    clock = Clock(log_round=0.0, growth=1.0, confidence=0.0)
    worst = 0.0
    for round in range(2, rounds):
        clock = ticked(clock, round)
        worst = max(worst, abs(clock.confidence - exact_clock(round).confidence))
    return worst


@pytest.mark.compiled
def test_the_clock_of_asymptotic_ucb_keeps_time():
    # The series leave out 32 * 4e-15 at most between two exact values, and each of the 32 additions rounds a
    # number below 32 by at most 2^-48 / 2 = 1.8e-15: together below 2e-13. A level is then off by less than
    # sigma * 2e-13 / sqrt(2 log f) < 5e-13 for sigma <= 10, half of what decisions allow for.
    assert 0.0 < worst_clock_error(2_000_000) < 2e-13


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


@pytest.mark.compiled
@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["Bernoulli", "GapUniform"])
@pytest.mark.parametrize("sigma", [1.0, 0.25])
def test_the_kinetic_tournament_is_the_dense_argmax_over_many_arms(world, sigma):
    log, _ = check_same(ma.SSUCB(beta=1.0, sigma=sigma, arms=300), world, 20_000, seed=14)
    assert len(set(log.arm.tolist())) == 300
    assert np.count_nonzero(np.diff(log.arm[10_000:])) > 1000  # the lead still changes hands


@pytest.mark.compiled
def test_the_kinetic_tournament_is_the_dense_argmax_block_after_block():
    check_same(ma.SSUCB(beta=1.0, preset="published", horizon="doubling"), FLIPS, 20_000, seed=15)


@pytest.mark.once
def test_levels_of_the_kinetic_tournament_are_known_far_better_than_its_doubt():
    clock = Clock(log_round=0.0, growth=1.0, confidence=0.0)
    for t in range(1, 20_001):
        clock = ticked(clock, t)
        assert abs(clock.confidence - math.log(1.0 + t * math.log(t) ** 2)) <= 1e-13, t


def near_tie(draw, plays, rewards):
    """A sigma with which two arms have the same index, but for rounding, in the coming round.

    The first arm has more plays and the better mean; all arms but these two have no reward.
    """
    apart = rewards[0] / plays[0] - rewards[1] / plays[1]
    level = apart / (1 / math.sqrt(plays[1]) - 1 / math.sqrt(plays[0]))
    t = sum(plays) + 1
    return level / math.sqrt(2 * math.log(1 + t * math.log(t) ** 2)) * (1 + draw.randint(-2, 2) * 2.0**-52)


@pytest.mark.once
@pytest.mark.parametrize(
    ("cases", "most_plays", "most_others", "least"),
    [(1000, 12, 4, 100), (20, 6000, 1, 1)],  # in early rounds, and in late ones, where levels are approximate
    ids=["early", "late"],
)
def test_where_rounding_decides_the_kinetic_tournament_still_decides_as_the_dense_argmax(
    cases, most_plays, most_others, least
):
    # Chance never brings two lines within 1e-12 of each other, so this builds such rounds: which arm is
    # played is prescribed, and sigma is chosen so that the two best arms tie at the end.
    draw = random.Random(16)
    decided_by_rounding = 0
    while cases > 0:
        plays = [draw.randint(most_plays // 2, most_plays), draw.randint(1, most_plays // 3)]
        rewards = [draw.randint(1, plays[0]), draw.randint(0, plays[1])]
        others = draw.randint(0, most_others)
        plays += [plays[0]] * others  # as many plays and no reward: below the first arm at every level
        rewards += [0] * others
        if rewards[0] * plays[1] <= rewards[1] * plays[0]:
            continue
        sigma = near_tie(draw, plays, rewards)
        if sigma > 10.0:
            continue
        cases -= 1
        arms = len(plays)
        places = draw.sample(range(arms), arms)
        plays = [plays[place] for place in places]
        rewards = [rewards[place] for place in places]
        order = [slot for slot in range(arms) for _ in range(plays[slot] - 1)]
        draw.shuffle(order)
        left = list(rewards)
        fast = renew(ma.AsymptoticUCB(sigma=sigma).start(arms), arms, 1e6, math.log(1e6))
        slow = AsymptoticUCB(arms, 1e6, math.log(1e6), sigma=sigma)
        last = sum(plays)
        for t, slot in enumerate([*range(arms), *order], start=1):
            reward = float(min(left[slot], 1))
            left[slot] -= reward
            fast = learn(fast, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=t), reward)
            slow.learn(slot, reward)
            if t >= arms and (last < 100 or t > last - 3):
                assert pick(fast, 0, t)[0] == slow.pick(t), (plays, rewards, sigma, t)
        # The lines, written as the tree has them, would have chosen otherwise this often.
        level = sigma * math.sqrt(2.0 * natural_log(1.0 + (last + 1) * natural_log(last + 1) * natural_log(last + 1)))
        lines = [
            total / number + level * (1.0 / math.sqrt(number)) for total, number in zip(rewards, plays, strict=True)
        ]
        decided_by_rounding += lines.index(max(lines)) != slow.pick(t)
    assert decided_by_rounding >= least
