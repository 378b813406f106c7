"""Every policy and base makes the choice of its slow twin, in every round and to the bit."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms import streams
from manyarms.arithmetic import natural_log
from manyarms.bases.asymptotic_ucb import Clock, ticked
from manyarms.checks import examples
from manyarms.contract import Choice, learn, pick, renew
from manyarms.policies import blackbox as fast_blackbox
from manyarms.policies import elimination as fast_elimination
from manyarms.replication import replicate
from manyarms.trace import COLUMNS
from tests.reference import sizes, squares
from tests.reference.asymptotic_ucb import AsymptoticUCB
from tests.reference.twins import all_twins, twin_run
from tests.reference.ucb import UCB
from tests.twinned import (
    FLIPS,
    WEAR,
    all_worlds,
    asymptotic_ucbs,
    blackboxes,
    check_columns,
    check_log,
    check_same,
    crashing,
    eliminations,
    greedies,
    k_failures,
    oracles,
    other_trending,
    plays_as_its_twin,
    seeds,
    ssucbs,
    subsamples,
    successive,
    two_worlds,
    ucbs,
)

# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

# ---------------------------------------------------------------- policies and bases

# Each pair of types has to be compiled. Rewards other than those of coins meet every base in Subsample, and Blackbox
# over UCB.
test_elimination_plays_as_its_twin = plays_as_its_twin(eliminations, all_worlds, examples=150)
test_worlds_with_every_trend_move_as_their_twins = plays_as_its_twin(k_failures, other_trending)
test_blackbox_over_ucb_plays_as_its_twin = plays_as_its_twin(blackboxes(ucbs), all_worlds, examples=150)
test_blackbox_over_greedy_plays_as_its_twin = plays_as_its_twin(blackboxes(greedies), two_worlds)
test_blackbox_over_successive_elimination_plays_as_its_twin = plays_as_its_twin(blackboxes(successive), crashing)
test_blackbox_over_asymptotic_ucb_plays_as_its_twin = plays_as_its_twin(blackboxes(asymptotic_ucbs), crashing)
test_subsample_over_ucb_plays_as_its_twin = plays_as_its_twin(subsamples(ucbs), two_worlds)
test_subsample_over_greedy_plays_as_its_twin = plays_as_its_twin(subsamples(greedies), two_worlds)
test_subsample_over_successive_elimination_plays_as_its_twin = plays_as_its_twin(subsamples(successive), two_worlds)
test_subsample_over_asymptotic_ucb_plays_as_its_twin = plays_as_its_twin(subsamples(asymptotic_ucbs), two_worlds)
test_ssucb_plays_as_its_twin = plays_as_its_twin(ssucbs, two_worlds, examples=150)
test_uniform_play_plays_as_its_twin = plays_as_its_twin(st.just(ma.UniformPlay()), two_worlds)
test_oracle_plays_as_its_twin = plays_as_its_twin(oracles, two_worlds, st.integers(1, 400))

POLICIES = [spec for spec in examples() if spec.kind == "policy"]
BASES = [spec for spec in examples() if spec.kind == "base"]


@pytest.mark.once
def test_every_policy_and_base_has_a_twin():
    assert {type(spec).__name__ for spec in POLICIES + BASES} <= set(all_twins())


@pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: spec.label())
def test_each_replication_of_every_policy_plays_as_its_own_twin(spec):
    check_same(spec, FLIPS, 300, seed=2**64 - 1, replications=3)


@pytest.mark.parametrize("base", BASES, ids=lambda spec: spec.label())
def test_each_replication_of_every_base_plays_as_its_own_twin(base):
    check_same(ma.Subsample(base=base, beta=1.0, arms=12), FLIPS, 300, seed=2**64 - 1, replications=3)


# ---------------------------------------------------------------- what the cases above have to contain

PLAIN = {"log_base": 2, "log_factor": False, "cap": True}
ROT = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("30/t"), ma.GapUniform())


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


def test_elimination_twins_meet_eliminations_restarts_and_several_blocks():
    log, last = checked(ma.Elimination(beta=1.0, threshold=0.02, warm_start=False, **PLAIN), FLIPS, 3000, seed=5)
    assert last["restarts"] >= 3
    ranks = [len(set(log.block[log.episode == episode].tolist())) for episode in set(log.episode.tolist())]
    assert max(ranks) >= 4
    in_last_block = log.probability[log.block == log.block[-1]]
    assert len(set(log.probability.tolist())) > 10
    assert in_last_block[0] <= in_last_block[-1]


def test_a_warm_start_carries_survivors_over_and_nothing_over_a_restart():
    log, last = checked(ma.Elimination(beta=1.0, threshold=0.05, warm_start=True, **PLAIN), FLIPS, 3000, seed=6)
    assert last["restarts"] >= 1
    blocks = {b: set(log.arm[log.block == b].tolist()) for b in range(1, int(log.block[-1]) + 1)}
    episode = {b: int(log.episode[log.block == b][0]) for b in blocks}
    carried = [len(blocks[b] & blocks[b + 1]) for b in list(blocks)[:-1] if episode[b] == episode[b + 1]]
    assert sum(number > 0 for number in carried) >= 3
    for first, second in itertools.combinations(blocks, 2):
        if episode[first] != episode[second]:
            assert not blocks[first] & blocks[second]


def test_a_cold_start_carries_no_arm_into_the_next_block():
    log, _ = check_same(ma.Elimination(beta=1.0, threshold=0.05, warm_start=False, **PLAIN), FLIPS, 3000, seed=6)
    pairs = set(zip(log.block.tolist(), log.arm.tolist(), strict=True))
    assert len(pairs) == len({arm for _, arm in pairs})


@pytest.mark.parametrize("base", [ma.UCB(), ma.Greedy(), ma.SuccessiveElimination(), ma.AsymptoticUCB()])
def test_blackbox_twins_meet_restarts_and_several_blocks(base):
    spec = ma.Blackbox(base=base, beta=1.0, threshold=0.5, log_power=1.0, log_base="e", log_factor=False)
    log, last = checked(spec, FLIPS, 3000, seed=7)
    assert last["restarts"] >= 2
    assert last["blocks"] >= last["restarts"] + 4
    assert len(set(log.arm.tolist())) > 20


@pytest.mark.parametrize("rounds", [2, 6, 14, 30, 254, 1022])
def test_a_block_that_ends_with_the_run_leaves_an_open_one(rounds):
    spec = ma.Elimination(beta=1.0, preset="paper", threshold=100.0)
    log, last = checked(spec, WEAR, rounds, seed=8)
    assert last["blocks"] == log.block[-1] + 1


def test_successive_elimination_twins_meet_dropped_arms():
    spec = ma.Subsample(base=ma.SuccessiveElimination(), beta=1.0, arms=17)
    log, _ = check_same(spec, WEAR, 3000, seed=9)
    assert len(set(log.arm[-17:].tolist())) < 17


@pytest.mark.parametrize(
    ("base", "twin"),
    [
        (ma.UCB(width=2.0), lambda arms, horizon: UCB(arms, horizon, natural_log(horizon), width=2.0)),
        (ma.AsymptoticUCB(sigma=0.5), lambda arms, horizon: AsymptoticUCB(arms, horizon, 0.0, sigma=0.5)),
    ],
)
def test_coins_make_exact_ties_which_go_to_the_lower_place(base, twin):
    horizon = 1000
    log, _ = check_same(ma.Subsample(base=base, beta=1.0, arms=30), FLIPS, horizon, seed=10)
    slow = twin(30, horizon)
    ties = 0
    for arm, reward in zip(log.arm.tolist(), log.reward.tolist(), strict=True):
        assert slow.pick() == arm
        indices = slow.indices()
        best = max(indices)
        ties += math.isfinite(best) and indices.count(best) > 1
        slow.learn(arm, reward)
    assert ties > 50


def test_oracle_twins_meet_arms_that_are_let_go():
    log, last = checked(ma.Oracle(keep=2), ROT, 400, seed=11)
    assert len(set(log.arm.tolist())) > 20
    assert last["arms"] == 401


def test_worlds_meet_both_ends_of_the_range():
    log, last = checked(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3), ROT, 500, seed=12)
    assert log.next_mean.min() == 0.0
    assert 0 < last["L_R"] < 499  # an arm at 0 that rots has not changed
    rising = ma.World(ma.PowerLaw(beta=1.0), ma.Rising("30/t"), ma.GapUniform())
    log, last = checked(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3), rising, 500, seed=12)
    assert log.next_mean.max() == 1.0
    assert last["V_R"] == 0.0
    assert last["V"] > 0.0


# ---------------------------------------------------------------- more than one replication

ONE_OF_EACH = [
    ma.Elimination(beta=1.0, threshold=0.05),
    ma.Blackbox(base=ma.UCB(), beta=0.8, threshold=0.2),
    ma.Blackbox(base=ma.AsymptoticUCB(), beta=1.0, threshold=0.2),
    ma.Subsample(base=ma.Greedy(), beta=1.0),
    ma.Subsample(base=ma.SuccessiveElimination(), beta=1.0, horizon="doubling"),
    ma.SSUCB(beta=1.0),
    ma.UniformPlay(),
    ma.Oracle(keep=20),
]


@pytest.mark.parametrize("spec", ONE_OF_EACH, ids=lambda spec: spec.label())
def test_a_used_state_begins_as_a_new_one(spec):
    # simulate makes one state for several replications when it keeps no log.
    horizon, seed = 300, 13
    checkpoints = np.array([100, horizon])
    run = replicate(spec, FLIPS, horizon, 3, seed, checkpoints=checkpoints, log=True)
    for replication in range(3):
        slow_log, columns = twin_run(spec, FLIPS, horizon, seed, replication)
        check_columns(run.out[replication], checkpoints, columns)
    check_log(run.logs[2], slow_log)  # the last one's log is what remains


# ---------------------------------------------------------------- the kinetic tournament, longer


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
                assert pick(fast, 0, t, 0)[0] == slow.pick(), (plays, rewards, sigma, t)
        # The lines, written as the tree has them, would have chosen otherwise this often.
        level = sigma * math.sqrt(2.0 * natural_log(1.0 + (last + 1) * natural_log(last + 1) * natural_log(last + 1)))
        lines = [
            total / number + level * (1.0 / math.sqrt(number)) for total, number in zip(rewards, plays, strict=True)
        ]
        decided_by_rounding += lines.index(max(lines)) != slow.pick()
    assert decided_by_rounding >= least


# ---------------------------------------------------------------- sizes and room

GRID = [0.5, 0.8, 1.2, *(step / 20 for step in range(6, 61))]


@pytest.mark.once
@pytest.mark.parametrize("horizon", [2, 1000, 4096, 100_000])
def test_subsample_sizes_are_those_of_exact_arithmetic(horizon):
    for beta in GRID:
        for log_factor, log_base in [(False, 2), (True, 2), (True, "e"), (True, 10.0)]:
            elimination = {
                cap: ma.Elimination(beta=beta, log_base=log_base, log_factor=log_factor, cap=cap).settings()
                for cap in (True, False)
            }
            box = ma.Blackbox(base=ma.UCB(), beta=beta, log_base=log_base, log_factor=log_factor).settings()
            for m in range(1, 22):
                for cap, chosen in elimination.items():
                    fast = fast_elimination.subsample_size(chosen, m, float(horizon))
                    assert fast == sizes.elimination_size(m, beta, horizon, log_base, log_factor, cap), (beta, m)
                fast = fast_blackbox.subsample_size(box, m, float(horizon))
                assert fast == sizes.blackbox_size(m, beta, horizon, log_base, log_factor), (beta, m)


@pytest.mark.once
def test_one_subsample_for_the_run_has_the_size_of_exact_arithmetic():
    lengths = [*range(1, 70), 100, 1000, 4096, 10_000, 59_049, 100_000, 2**20, 10**6, 2**30]
    for beta, length in itertools.product(GRID, lengths):
        spec = ma.SSUCB(beta=beta, horizon=length)
        assert spec.slots(length) == sizes.subsample_size(length, beta), (beta, length)
        published = spec.replace(preset="published")
        assert published.slots(length) == sizes.subsample_size(length, beta, published=True), (beta, length)


@pytest.mark.once
@pytest.mark.parametrize("horizon", [None, "doubling"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_there_is_room_for_every_block_that_can_be_opened(beta, horizon):
    # Compiled code does not notice a write beyond the room, so no comparison of choices would.
    for rounds in [*range(1, 70), 126, 127, 254, 255, 500]:
        known = rounds if horizon is None else None
        elimination = ma.Elimination(beta=beta, preset="paper", cap=False, horizon=horizon).with_horizon(rounds)
        box = ma.Blackbox(base=ma.UCB(), beta=beta, preset="published", horizon=horizon).with_horizon(rounds)
        one = ma.SSUCB(beta=beta, horizon=horizon).with_horizon(rounds)
        room = {spec: spec.slots(rounds) for spec in (elimination, box, one)}
        for m in range(1, 12):
            # Block m is opened at the end of some round, not before blocks 1 … m - 1 took 2^m - 2 of
            # them; how long before depends on the restarts, so any later round is possible.
            if 2**m - 2 > rounds:
                break
            for opened in {2**m - 2, rounds}:
                reckoned = sizes.assumed_horizon(known, opened + 2**m)
                assert sizes.elimination_size(m, beta, reckoned, 2, True, False) <= room[elimination]
                assert sizes.blackbox_size(m, beta, reckoned, "e", True) <= room[box]
            if horizon == "doubling":
                assert sizes.subsample_size(2**m, beta) <= room[one]


# ---------------------------------------------------------------- streams


def test_the_twins_streams_are_the_published_generators():
    # The first outputs of SplitMix64 from seed 1234567, as published with many implementations.
    first = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [squares.splitmix64(1234567, step) for step in (1, 2, 3)] == first


@settings(deadline=None, derandomize=True)
@given(seeds, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**32 - 1), seeds)
def test_streams_are_those_of_the_twins(seed, replication, index, sub_index, label):
    key = squares.replication_key(seed, replication)
    assert streams.replication_key(seed, replication) == key
    assert streams.stream_key(key, streams.POLICY_STREAM, label) == squares.stream_key(key, 4, label)
    bits = squares.bits_at(key | 1, index, sub_index)
    assert streams.bits_at(key | 1, index, sub_index) == bits
    assert streams.follow(bits, 3) == squares.splitmix64(bits, 3)
    assert streams.uniform(bits) == squares.uniform(bits)
