"""EmpiricalCBT: the choices of its twin, and when arms go and come back."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from tests.open_asks import left_open, settled
from tests.policies.rivals import regrets, short_horizons
from tests.policies.test_theory import within_standard_errors
from tests.reference.world import NaiveWorld
from tests.twinned import FLIPS, WEAR, check_same, plays_as_its_twin, told_horizons, two_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
empirical_cbts = st.builds(ma.EmpiricalCBT, keep=st.sampled_from([1, 2, 3, 17, 1024]), horizon=told_horizons)


test_empirical_cbt_plays_as_its_twin = plays_as_its_twin(empirical_cbts, two_worlds, short_horizons, examples=50)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_empirical_cbt_twins_meet_arms_that_come_back(world):
    log, _ = check_same(ma.EmpiricalCBT(), world, 500, seed=6)
    first_plays = np.unique(log.arm, return_index=True)[1]
    changes = 1 + np.count_nonzero(np.diff(log.arm))
    assert len(first_plays) > 20
    assert changes > 1.2 * len(first_plays)


def test_without_ties_a_few_arms_are_as_good_as_all_until_one_would_have_come_back():
    met = set()
    for seed in range(6):
        for keep in (2, 5, 12):
            kept, few = (begin(ma.EmpiricalCBT(number, horizon=500).start(500), 0) for number in (500, keep))
            world = NaiveWorld(WEAR, seed, 0)
            for t in range(1, 501):
                one, other = ask(kept, t), ask(few, t)
                if few.missed:
                    met.add("missed")
                    break
                assert one.arm == other.arm, (seed, keep, t)
                reward = world.pull(int(one.arm), t)[2]
                kept, few = tell(kept, one, reward), tell(few, other, reward)
                if few.let_go < math.inf:
                    met.add("let go")
    assert met == {"missed", "let go"}


def test_late_rewards_count_for_their_arm_while_it_is_kept_and_for_the_target_always():
    state = begin(ma.EmpiricalCBT(keep=2, horizon=100).start(100), 0)
    state, first, again = left_open(state, 1, 2)
    assert (first.choice.arm, again.choice.arm) == (0, 0)
    assert state.block.left == 100  # an open ask is no round yet
    state, second, third = left_open(settled(state, first, 0.0), 3, 4)
    assert second.choice.arm == third.choice.arm == 1
    state = settled(state, again, 1.0)  # arm 1 is untried, and stays the next
    assert (ask(state, 5).arm, state.plays.tolist(), state.loss) == (1, [2, 0], 1.0)
    state = settled(state, second, 0.0)  # of arms 0 and 1, at a half and one, the latter goes
    assert (ask(state, 6).arm, state.arms.tolist(), state.let_go) == (2, [0, 2], 1.0)
    state = settled(state, third, 0.5)  # another reward for arm 1, which is kept no more
    assert (state.loss, state.plays.tolist(), state.arms.tolist(), state.counts.ignored) == (2.5, [2, 0], [0, 2], 0)
    one, first, again = left_open(begin(ma.CBT(beta=1.0, target=0.3, horizon=100).start(100), 0), 1, 2)
    one = settled(settled(one, first, 0.0), again, 0.5)
    assert (one.arm, one.plays, one.total, one.block.left) == (1, 0, 0.0, 98)


@pytest.mark.compiled
@pytest.mark.parametrize(("beta", "other"), [(0.8, 4346), (1.0, 5776), (1.2, 7369)])
def test_where_arms_wear_out_empirical_cbt_has_the_regret_of_an_independent_simulation(beta, other):
    world = ma.World(ma.PowerLaw(beta=beta), ma.Rotting("1/t"), ma.GapUniform())
    regret = regrets({"it": ma.EmpiricalCBT()}, 100_000, 40, world=world)["it"]
    # The other had five to ten runs: four standard errors of five, and four of ours.
    assert within_standard_errors(regret, other, errors=4.0, allowance=4 * regret.std(ddof=1) / math.sqrt(5))
