"""UCB: facts that the paper or arithmetic promises."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.arithmetic import float_of
from manyarms.contract import Choice, learn, pick, renew


@pytest.mark.parametrize("arms", [2, 5, 13])
@pytest.mark.parametrize("good", [0, 1])
def test_ucb_plays_an_arm_that_never_pays_at_most_one_plus_two_log_t_times(arms, good):
    # Against an arm that always pays, whose index stays above 1, an arm without a reward is played again
    # after n plays only if sqrt(2 log T / n) > 1.
    horizon = 3000
    base = renew(ma.UCB().start(arms), arms, float(horizon), math.log(horizon))
    for round in range(1, horizon + 1):
        slot, probability = pick(base, 0, round)
        assert probability == 1.0
        choice = Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round)
        base = learn(base, choice, 1.0 if slot == good else 0.0)
    most = 1 + math.floor(2 * math.log(horizon))
    bad = [int(base.rewards.plays[slot]) for slot in range(arms) if slot != good]
    assert max(bad) <= most
    # When the good arm was played last, its N - 1 plays before gave it the largest index: that of an arm
    # without a reward, sqrt(2 log T / n), was not above 1 + sqrt(2 log T / (N - 1)).
    width = 2 * math.log(horizon)
    assert min(bad) >= width / (1 + math.sqrt(width / int(base.rewards.plays[good] - 1))) ** 2
    assert sum(bad) + base.rewards.plays[good] == horizon


@pytest.mark.compiled
def test_ucb_plays_the_worse_of_two_arms_as_rarely_as_the_paper_proves():
    # Suk & Kim, proof that UCB satisfies Assumption 2: at most ceil(32 log T / gap^2) plays (and the one
    # that got it there), outside an event of probability 2 / T for each run: 500 runs of which about half
    # have two different arms, so 0.05 failures are expected at most; in truth far fewer.
    horizon, replications = 10_000, 500
    world = ma.World(ma.Empirical([0.25, 0.75]), noise=ma.Bernoulli(), top=0.75)
    spec = ma.Subsample(base=ma.UCB(), beta=1.0, arms=2)
    regret = ma.simulate({"it": spec}, world, horizon, replications=replications, seed=21).final_regret("it")
    bad = np.round(regret / 0.5)
    mixed = bad[(bad > 0) & (bad < horizon)]  # one arm of each kind: both are tried once
    # Binomial(500, 1/2): six standard deviations are 6 · sqrt(125) = 67.
    assert abs(mixed.size - 250) <= 67
    bound = math.ceil(32 * math.log(horizon) / 0.5**2) + 1
    assert bound == 1180
    assert mixed.max() <= bound
    # The worse arm is left alone once sqrt(2 log T / n) has fallen to the gap, at n = 2 log T / gap^2 = 74
    # (less, as the better arm's own width is added to the gap). Half and twice that is where other factors
    # under the root, 1/2 and 8, would lead.
    typical = 2 * math.log(horizon) / 0.5**2
    assert typical / 2 <= mixed.mean() <= typical * 2


def test_a_longer_horizon_makes_ucb_explore_more_and_more_plays_make_it_surer():
    def index(plays, horizon):
        base = renew(ma.UCB().start(2), 2, float(horizon), math.log(horizon))
        for _ in range(plays):
            base = learn(base, Choice(slot=0, arm=0, probability=1.0, block=1, round=1), 0.5)
        return float_of(int(base.keys[base.leaves]))  # the index, but for its last bits

    assert index(1, 100) == pytest.approx(0.5 + math.sqrt(2 * math.log(100)))
    assert index(4, 100) == pytest.approx(0.5 + math.sqrt(2 * math.log(100)) / 2)
    assert index(4, 10_000) == pytest.approx(0.5 + math.sqrt(2 * math.log(10_000)) / 2)
