"""META: the choices of its twin, what it drops when, and its replays."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.meta import eviction_limit, put_on_stack, replay_chance, replay_rank, with_size
from manyarms.compiled import replaced
from manyarms.contract import Choice, best_among, keyed, learn, pick
from tests.bases.finite import begun
from tests.twinned import crashing, horizons, plays_plainly_as_its_twin, trending

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* counts losses from top"),
    pytest.mark.once,
]

metas = st.builds(ma.META, threshold=st.sampled_from([0.02, 0.05, 0.1, 1.0]))
specs = st.builds(ma.Subsample, base=metas, beta=st.just(1.0), arms=st.sampled_from([1, 2, 5, 9]))
few_rounds = horizons.map(lambda horizon: min(horizon, 200))

test_meta_plays_as_its_twin = plays_plainly_as_its_twin(specs, crashing, few_rounds, examples=15)
test_meta_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=8)


def answer(base, round, slot, reward, chance):
    return learn(base, Choice(slot=slot, arm=slot, probability=chance, block=1, round=round), reward)


def played(spec, arms, horizon, reward_of, rounds, key=5):
    base = keyed(begun(spec, arms, horizon), np.uint64(key))
    for round in range(1, rounds + 1):
        slot, chance = pick(base, np.uint64(key), round)
        base = answer(base, round, slot, reward_of(slot, round), chance)
    return base


@pytest.mark.parametrize(("arms", "gap", "rounds"), [(1000, 0.5, 763_473), (10, 0.5, 7_635)])
def test_rounds_until_an_arm_can_be_dropped(arms, gap, rounds):
    # n gap > log(T) sqrt(K (n - 1)): n = K (log(T) / gap)^2, up to one round; log(10^6)^2 = 190.8683.
    level = math.log(1e6)
    assert rounds == pytest.approx(arms * (level / gap) ** 2, abs=2)
    assert (rounds - 5) * gap < eviction_limit(level, arms, rounds - 5)
    assert (rounds + 5) * gap > eviction_limit(level, arms, rounds + 5)


def test_the_limit_is_at_least_that_of_as_many_rounds_as_arms():
    assert [eviction_limit(2.0, 9, length) for length in (1, 10, 37)] == [18.0, 18.0, 36.0]


def active(base):
    """The arms that are left to the one in control."""
    return left_to(base, base.depth - 1)


def left_to(base, place):
    return set(np.flatnonzero(base.sets[place * base.arms : (place + 1) * base.arms]).tolist())


def with_arms(base, *slots):
    """With these arms left to the episode."""
    base.sets[: base.arms] = [slot in slots for slot in range(base.arms)]
    return with_size(base)


def without_replays(base):
    return replaced(base, ranks=0)


def test_an_arm_is_dropped_when_another_is_far_enough_ahead():
    # Two arms, log T = 1: over n = 2^k rounds the limit is sqrt(2 (n - 1)), at least 2. Arm 0 always pays, each time
    # worth 2, and arm 1 never: after one round they are 2 apart, which is not more than 2; after two 4 > 2.
    base = without_replays(begun(ma.META(), 2, math.e))
    base = answer(base, 1, 0, 1.0, 0.5)
    assert active(base) == {0, 1}
    base = answer(base, 2, 0, 1.0, 0.5)
    assert (active(base), base.size) == ({0}, 1)
    # Now arm 0 never pays, and arm 1 is heard of late: it makes up for it, and nothing is left: a new episode.
    for round in range(3, 40):
        base = answer(base, round, 1, 1.0, 0.5)
        if base.restarts:
            break
    assert (base.restarts, active(base), base.estimates.taken[0]) == (1, {0, 1}, 0)


def test_a_replay_begins_with_all_arms_and_what_speaks_against_them_before_does_not_count():
    base = without_replays(begun(ma.META(), 2, math.e))
    base = answer(answer(base, 1, 0, 1.0, 0.5), 2, 0, 1.0, 0.5)
    assert active(base) == {0}
    # A replay by hand, of rounds 3 and 4.
    put_on_stack(base, 1, 3, 4)
    base = with_size(replaced(base, depth=2))
    base = answer(base, 3, 1, 0.0, 0.5)
    assert active(base) == {0, 1}  # stretches of rounds 2 and 3 had begun before
    base = answer(base, 4, 0, 0.0, 0.5)
    assert (base.depth, active(base)) == (1, {0})  # it is over, and the episode has kept what it knew


def test_replays_begin_as_often_as_their_chances_say():
    # Independent coins for 2, 4, 8, …: the longest is 2^k with probability p_k times that of none longer.
    ranks, since, draws = 10, 7, 20_000
    found = np.bincount([replay_rank((i + 0.5) / draws, since, ranks) for i in range(draws)], minlength=ranks + 1)
    none = 1.0
    for rank in range(ranks, 0, -1):
        chance = replay_chance(rank, since)
        assert chance == pytest.approx(1.0 / math.sqrt(2**rank * since))
        # The draws are evenly spaced: each share is off by one draw at each end.
        assert found[rank] / draws == pytest.approx(none * chance, abs=2 / draws)
        none *= 1.0 - chance
    assert found[0] / draws == pytest.approx(none, abs=2 / draws)


def test_far_from_the_beginning_the_short_way_is_right():
    for since in (1, 3, 1000, 10**6):
        for random in np.linspace(0.0, 1.0, 200, endpoint=False) * min(1.0, 4.0 / math.sqrt(since)):
            none, expected = 1.0, 0
            for rank in range(20, 0, -1):
                none *= 1.0 - replay_chance(rank, since)
                if random < 1.0 - none:
                    expected = rank
                    break
            assert replay_rank(random, since, 20) == expected


def test_the_stack_has_ever_shorter_replays_inside_each_other():
    base = keyed(begun(ma.META(threshold=0.02), 3, 1 << 20), np.uint64(9))
    deepest = 0
    for round in range(1, 400):
        slot, chance = pick(base, np.uint64(9), round)
        base = answer(base, round, slot, 0.5, chance)
        lasts, firsts = base.lasts[: base.depth].tolist(), base.firsts[: base.depth].tolist()
        assert lasts == sorted(set(lasts), reverse=True)
        assert firsts == sorted(set(firsts))
        deepest = max(deepest, base.depth)
    assert deepest > 2


def test_a_better_arm_is_found_and_found_again_when_it_changes():
    # 0.1 log(2000) = 0.76: the limit is 0.76 · 3 at first, and one reward of 1, worth 3, drops all other arms. Only one
    # arm ever pays; after the change the first reward of the other, in a replay, drops it.
    def reward_of(slot, round):
        return float(slot == (0 if round <= 500 else 2))

    before = played(ma.META(threshold=0.1), 3, 2000, reward_of, 500)
    after = played(ma.META(threshold=0.1), 3, 2000, reward_of, 1000)
    assert left_to(before, 0) == {0}
    assert (after.restarts, left_to(after, 0)) == (1, {2})


def test_picks_are_uniform_among_the_active_arms():
    base = with_arms(begun(ma.META(), 5, 100), 1, 2, 4)
    drawn = [pick(base, np.uint64(3), round) for round in range(1, 3001)]
    # 1000 each on average, standard deviation 26: five of these.
    assert np.bincount([slot for slot, _ in drawn], minlength=5) == pytest.approx([0, 1000, 1000, 0, 1000], abs=130)
    assert {chance for _, chance in drawn} == {1 / 3}


def test_among_some_arms_it_draws_the_active_ones_or_any():
    base = with_arms(begun(ma.META(), 4, 100), 1, 2)
    for allowed, slots in (([True, True, False, True], {1}), ([True, False, False, True], {0, 3})):
        drawn = [best_among(base, np.uint64(3), round, allowed, 4) for round in range(1, 60)]
        assert {slot for slot, _ in drawn} == slots
        assert {chance for _, chance in drawn} == {1 / len(slots)}
        chances = [ma.META().chance_among(base, slot, np.array(allowed)) for slot in range(4)]
        assert chances == [1 / len(slots) if slot in slots else 0.0 for slot in range(4)]
    assert best_among(base, np.uint64(3), 1, [False] * 4, 4)[0] == -1


def test_too_many_arms_are_refused_before_any_round():
    policy = ma.Subsample(base=ma.META(), beta=1.0, horizon=100_000)
    with pytest.raises(ValueError, match="META: takes at most 256 arms, not 317; say so with arms=256 or fewer"):
        policy.start(100_000)
    assert begun(ma.META(), 256, 100).size == 256


def test_a_threshold_must_be_above_0():
    with pytest.raises(ValueError, match="META: threshold must be above 0, not 0"):
        ma.META(threshold=0)
