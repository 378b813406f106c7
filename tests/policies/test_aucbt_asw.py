"""AUCBTASW: the same choices as its slow twin, and the facts that follow from its constants."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from manyarms.policies import aucbt_asw as fast
from tests.open_asks import left_open, settled
from tests.policies.test_theory import within_standard_errors
from tests.reference import aucbt_asw as slow
from tests.reference.counts import Counts
from tests.reference.late import Ask, Heard
from tests.reference.squares import POLICY_STREAM, replication_key, stream_key
from tests.reference.twins import Setting, new_twin
from tests.theory import HOPELESS, log_of
from tests.twinned import FLIPS, WEAR, all_worlds, check_same, maybe, plays_as_its_twin, told_horizons, tops

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


def tenures(log, block):
    """How long each arm of a block was played."""
    return np.unique(log.arm[log.block == block], return_counts=True)[1].tolist()


# ---------------------------------------------------------------- the twin

specs = st.builds(
    ma.AUCBTASW,
    preset=st.sampled_from(["paper", "published"]),
    width=maybe(0.02, 0.1, 0.5, 2.0),  # with 12 no arm is dropped in blocks of 55 rounds, the longest here
    first_threshold=maybe(0.8, 0.3),
    depth=maybe(0.1, 1.5),
    scale=maybe(1e-3, 0.1),
    scale_log=maybe("block", "run"),
    top=tops,
    horizon=told_horizons,
)


test_aucbt_asw_plays_as_its_twin = plays_as_its_twin(specs, all_worlds, examples=150)


@pytest.mark.parametrize("spec", [ma.AUCBTASW(width=0.1), ma.AUCBTASW("published", width=0.1, horizon="doubling")])
@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_twins_meet_dropped_arms_in_most_blocks(spec, world):
    log, result = check_same(spec, world, 3000, seed=5, replications=3)
    assert min(result.final("it", "blocks")) >= 55
    assert max(result.final("it", "arms") / result.final("it", "blocks")) > 1.5
    assert set(log.episode.tolist()) == {1}


def test_twins_agree_where_the_constants_are_those_of_the_paper():
    # Blocks long enough for drops at width 12: H = 300, and after 128 plays an arm at 0 is dropped.
    log, result = check_same(ma.AUCBTASW("published", horizon=90_000), FLIPS, 3000, seed=6)
    assert result.final("it", "arms")[0] > result.final("it", "blocks")[0]
    assert 128 in tenures(log, 3) + tenures(log, 4) + tenures(log, 5)


@pytest.mark.usefixtures("uncompiled")
def test_a_used_state_begins_as_a_new_one():
    spec = ma.AUCBTASW(width=0.1, horizon="doubling")
    several = ma.simulate({"it": spec}, FLIPS, 500, replications=3, seed=7, threads=1)  # one state for all
    _, alone = check_same(spec, FLIPS, 500, seed=7, replications=3)
    assert several["it"].tobytes() == alone["it"].tobytes()


@pytest.mark.parametrize("scale", [1e-3, 1.0])
@pytest.mark.parametrize("preset", ["paper", "published"])
def test_thresholds_and_their_probabilities_are_those_of_plain_weights(preset, scale):
    spec = ma.AUCBTASW(preset, width=0.05, scale=scale, horizon=10_000)
    key = stream_key(replication_key(8, 0), POLICY_STREAM, 0)
    drawn = []
    twin = new_twin(spec, Setting(10_000, key))(Counts(), drawn=drawn)
    dice = np.random.default_rng(8)
    state = begin(spec.start(10_000), np.uint64(key))
    arm, _ = next(twin)
    for round in range(1, 10_001):
        choice = ask(state, round)
        delta, probability = drawn[-1]
        assert (choice.arm, choice.block, state.level) == (arm, len(drawn), 1.0 - delta), round
        assert state.probability == pytest.approx(probability, rel=1e-12)
        # Good arms are rare, and the smaller the threshold the more are tried: thresholds differ in what they pay.
        reward = float(dice.random() < (choice.arm % 7 == 0) * 0.95)
        state = tell(state, choice, reward)
        arm, _ = twin.send(Heard("told", Ask(round, choice.arm, 1.0, choice.block), reward))
    assert len(drawn) == 101
    probabilities = [probability for _, probability in drawn]
    least = state.period.mixing / state.period.thresholds
    assert min(probabilities) >= least * (1 - 1e-12)
    assert max(probabilities) > 3 * min(probabilities)  # EXP3 has learnt, or wandered


# ---------------------------------------------------------------- the constants at T = 100,000


def numbers(preset, horizon=100_000):
    return fast.period_of(ma.AUCBTASW(preset, horizon=horizon).settings(), 1)


def test_numbers_at_a_hundred_thousand_rounds():
    paper, published = numbers("paper"), numbers("published")
    assert paper.block_length == published.block_length == 317
    assert (paper.thresholds, published.thresholds) == (5, 9)
    assert published.mixing == pytest.approx(0.191, abs=5e-4)
    assert published.mixing == pytest.approx(math.sqrt(9 * math.log(9) / ((math.e - 1) * 316)), rel=1e-14)
    # A block earns at most 317: less than a thousandth of what it is divided by.
    assert published.reward_scale == pytest.approx(365_201.4, abs=0.1)
    assert 317 / published.reward_scale < 0.0009
    assert paper.reward_scale == pytest.approx(317 * math.log(317) + 4 * math.sqrt(317 * math.log(1e5)), rel=1e-14)


@pytest.mark.parametrize("horizon", [*range(1, 70), 4096, 4097, 10**6, 10**9, 2**31 - 1])
def test_with_the_papers_scale_a_block_of_rewards_up_to_one_is_at_most_half_of_n0(horizon):
    period = numbers("paper", horizon)
    assert period.block_length == math.isqrt(max(horizon, 2) - 1) + 1
    assert period.block_length <= period.reward_scale / 2
    assert 0.0 <= period.mixing <= 1.0


@pytest.mark.compiled
@pytest.mark.parametrize("preset", ["paper", "published"])
def test_no_arm_is_dropped_before_128_plays_and_no_more_than_two_in_a_block(preset):
    log = log_of(ma.AUCBTASW(preset), HOPELESS, 100_000, seed=9)
    assert np.bincount(log.block)[1:].tolist() == [317] * 315 + [145]
    for block in range(1, 316):
        # 12 log 317 = 69.1. sqrt(69.1 / 64) > 1, so 64 plays are never enough; sqrt(69.1 / 128) = 0.735 is
        # below 1 - 1/4, so 128 are for delta <= 1/4; sqrt(69.1 / 256) = 0.5196, so 256 are not for delta = 1/2.
        assert tenures(log, block) in ([317], [128, 128, 61])
    share = np.mean([len(tenures(log, block)) == 1 for block in range(1, 316)])
    assert 0.0 < share < 0.6


@pytest.mark.compiled
@pytest.mark.parametrize("delta", [1.0, 0.5])
def test_the_two_largest_thresholds_never_drop_an_arm(delta):
    spec = ma.AUCBTASW(first_threshold=delta, depth=0.1)
    assert fast.period_of(spec.with_horizon(100_000).settings(), 1).thresholds == 1
    result = ma.simulate({"it": spec}, HOPELESS, 100_000, seed=10)
    assert result.final("it", "arms")[0] == result.final("it", "blocks")[0] == 316


@pytest.mark.compiled
@pytest.mark.parametrize("width", [12.0, 4.0])
@pytest.mark.parametrize("delta", [0.5, 0.25, 0.0625])
def test_a_stationary_arm_at_the_level_is_practically_never_dropped(width, delta):
    # Hoeffding: the mean of w coins falls short of its expectation by sqrt(width log H / w) with a chance of
    # at most exp(-2 width log H) = H^(-2 width). With H = 317, 9 windows, 1e5 rounds and 20 runs: below
    # 1e-12 for width 4. (Here the paper's 12 leaves room for noise of unit scale, twice that of a coin.)
    world = ma.World(ma.Empirical([1.0 - delta]))
    spec = ma.AUCBTASW(width=width, first_threshold=delta, depth=0.1)
    result = ma.simulate({"it": spec}, world, 100_000, replications=20, seed=11)
    assert (result.final("it", "arms") == result.final("it", "blocks")).all()


@pytest.mark.parametrize("width", [12.0, 1.0, 0.1])
@pytest.mark.parametrize("mean", [0.0, 0.3, 0.6, 0.7])
def test_without_noise_an_arm_is_played_until_the_first_window_that_tells(mean, width):
    # mean + sqrt(12 log H / w) < 1 - delta for the first power of two above 12 log H / (1 - delta - mean)^2.
    delta = 0.25
    world = ma.World(ma.Empirical([mean]), noise=ma.Exact())
    log = log_of(ma.AUCBTASW(width=width, first_threshold=delta, depth=0.1, horizon=10**6), world, 1000, seed=12)
    bound = width * math.log(1000) / (1 - delta - mean) ** 2
    tenure = 2 ** max(math.ceil(math.log2(bound)), 0)
    whole = 1000 // tenure
    assert tenures(log, 1) == [tenure] * whole + [1000 % tenure] * (1000 % tenure > 0)


def test_a_short_window_finds_what_a_long_one_hides():
    # 200 rewards of 1, then zeros: the arm is dropped after 14 of them, when the mean of all is still 0.93.
    spec = ma.AUCBTASW(width=1.0, first_threshold=0.25, depth=0.1, horizon=100_000)
    state = begin(spec.start(300), np.uint64(1))
    for round in range(1, 201):
        state = tell(state, ask(state, round), 1.0)
    played = 0
    while state.arm == 0:
        played += 1
        state = tell(state, ask(state, 200 + played), 0.0)
    # sqrt(log 317 / w) is 0.85 for w = 8, beyond 1 - delta = 0.75, and 0.6 for w = 16, with 2/16 from two ones.
    assert played == 14


# ---------------------------------------------------------------- EXP3


@pytest.mark.parametrize("shift", [0.0, 1e5, -1e5])
def test_weights_neither_overflow_nor_depend_on_their_common_factor(shift):
    period = numbers("published")
    log_weights = np.arange(9.0) + shift
    weights = np.exp(np.arange(9.0))
    wanted = (1 - period.mixing) * weights / weights.sum() + period.mixing / 9
    found = np.zeros(9)
    draws = 2000
    for number in range(draws):
        place, probability = fast.drawn_threshold(log_weights, period, number * (2**64 // draws))
        assert probability == pytest.approx(wanted[place], rel=1e-9)
        found[place] += 1
    # The bits run through [0, 1) in even steps, so a share is off by one step at either end at most.
    assert np.abs(found / draws - wanted).max() <= 2 / draws


def test_a_far_leader_leaves_the_others_their_share_of_alpha():
    period = numbers("published")
    log_weights = np.zeros(9)
    log_weights[4] = 1e9
    for place in range(9):
        bits = int((place + 0.5) / 9 * period.mixing * 2**64) if place < 4 else 2**64 - 1 - (8 - place)
        if place != 4:
            found, probability = fast.drawn_threshold(log_weights, period, bits)
            assert probability == period.mixing / 9
            assert found == (place if place < 4 else 8)


@pytest.mark.compiled
def test_exp3_finds_the_threshold_that_pays():
    # One arm in eight always pays, the others never do. Threshold 1 keeps them all; 1/2 drops them quickly.
    spec = ma.AUCBTASW("published", width=0.01, depth=0.2, scale=1e-9)
    assert numbers("published").block_length == 317
    world = ma.World(ma.Empirical([0.0] * 7 + [1.0]), noise=ma.Exact())
    log = ma.simulate({"it": spec}, world, 100_000, seed=13, log=True).logs["it"][0]
    kept = np.array(
        [len(tenures(log, block)) == 1 and log.mean[log.block == block][0] == 0.0 for block in range(1, 316)]
    )
    # Of two thresholds the first is drawn with probability alpha / 2 in the end; 7 of 8 such blocks show.
    alpha = fast.period_of(spec.with_horizon(100_000).settings(), 1).mixing
    late = kept[150:].mean()
    assert late <= alpha / 2 + math.sqrt(math.log(1e9) / (2 * 165))  # Hoeffding
    assert kept[:20].any()


# ---------------------------------------------------------------- blocks, periods, late rewards


def test_without_a_horizon_periods_double_and_forget():
    spec = ma.AUCBTASW(width=0.1, scale=1e-3, horizon="doubling")
    rounds = 2**12 - 2
    log, _ = check_same(spec, FLIPS, rounds, seed=14)
    lengths = []
    for m in range(1, 12):
        longest = math.isqrt(2**m - 1) + 1
        lengths += [longest] * (2**m // longest) + [2**m % longest] * (2**m % longest > 0)
    assert np.bincount(log.block)[1:].tolist() == lengths
    state = begin(spec.start(rounds), np.uint64(1))
    dice = np.random.default_rng(14)
    ranks = []
    for round in range(1, rounds + 1):
        if state.block.rank not in ranks:
            ranks.append(state.block.rank)
            assert state.probability == pytest.approx(1 / state.period.thresholds)
            assert (state.log_weights[: state.period.thresholds] == 0.0).all()
        state = tell(state, ask(state, round), float(dice.random() < 0.5))
    assert ranks == list(range(1, 12))


def test_blocks_go_on_when_a_known_horizon_has_passed():
    log, _ = check_same(ma.AUCBTASW(width=0.1, horizon=100), FLIPS, 1005, seed=15)
    assert np.bincount(log.block)[1:].tolist() == [10] * 100 + [5]


def test_a_late_reward_of_a_dropped_arm_is_the_blocks_but_not_the_next_arms():
    spec = ma.AUCBTASW(width=0.01, first_threshold=0.25, depth=0.1, horizon=100)
    state = begin(spec.start(100), np.uint64(1))
    state, first, second, third = left_open(state, 1, 2, 3)
    state = settled(state, first, 0.0)  # sqrt(0.01 log 10) = 0.15 < 0.75: dropped
    assert (state.arm, state.plays, state.block.left) == (1, 0, 9)
    state = settled(state, second, 0.5)
    assert (state.arm, state.plays, state.block.left, state.earned) == (1, 0, 8, 0.5)
    assert state.counts == (0, 1, 2, 0)
    for round in range(4, 12):
        state = tell(state, ask(state, round), 1.0)
    assert (state.counts.blocks, state.arm, state.counts.arms) == (2, 2, 3)
    closed = settled(state, third, 1.0)
    assert closed == state._replace(counts=state.counts._replace(ignored=1))


def test_a_live_bandit_that_grows_keeps_every_bonus():
    # Blocks of 3000 rounds in a bandit that begins with room for 1024.
    spec = ma.AUCBTASW(width=2.0, first_threshold=0.25, depth=0.05, horizon=9_000_000)
    bandit = ma.Bandit(spec, seed=1)
    state = begin(spec.start(4000), np.uint64(1))
    for round in range(1, 4001):
        decision, choice = bandit.ask(), ask(state, round)
        assert (decision.arm, bandit.explain()["blocks"]) == (choice.arm, choice.block)
        reward = 0.6 if round <= 3000 else 1.0
        bandit.tell(decision, reward)
        state = tell(state, choice, reward)
    assert len(state.sums) == 3001
    assert state.bonuses.tolist() == bandit._state.bonuses.tolist()
    # sqrt(2 log(3000) / w) is below 0.75 - 0.6 for w = 1024 and no less: 0.125.
    assert (len(state.bonuses), min(state.bonuses) > 0.0, state.counts.arms) == (12, True, 4)


def test_what_it_says_of_itself():
    bandit = ma.Bandit(ma.AUCBTASW("published", horizon=100), seed=3)
    for _ in range(13):
        bandit.tell(bandit.ask(), 1.0)
    said = bandit.explain()
    assert (said["blocks"], said["arms_drawn"], said["block_length"], said["rounds_left_in_block"]) == (2, 2, 10, 7)
    assert said["plays_of_arm"] == 3
    assert said["threshold"] in (1.0, 0.5, 0.25, 0.125)
    assert 0.0 < said["probability_of_threshold"] < 1.0
    assert bandit.policy.kept_arms(bandit._state).tolist() == [1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"preset": "calibrated"}, "unknown preset 'calibrated'; there are 'paper', 'published'"),
        ({"width": 0}, "width must be above 0"),
        ({"scale": -1.0}, "scale must be above 0"),
        ({"first_threshold": 1.5}, r"first_threshold must lie in \[0, 1\]"),
        ({"first_threshold": 0.0}, "first_threshold must be above 0"),
        ({"depth": 0.0}, "depth must be above 0"),
        ({"depth": 11}, r"depth must lie in \(0, 10\]"),
        ({"scale_log": "T"}, "scale_log must be one of 'block', 'run', not 'T'"),
        ({"top": 2.0}, r"top must lie in \[0, 1\]"),
        ({"horizon": "never"}, "horizon must be a whole number, None or 'doubling'"),
        ({"width": "wide"}, "width must be a finite number"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused_in_words(wrong, words):
    with pytest.raises(ValueError, match=f"AUCBTASW: {words}"):
        ma.AUCBTASW(**wrong)


# ---------------------------------------------------------------- regret


def expected_block_regret(length, c, delta):
    """What a block of ``length`` rounds costs under this threshold, without noise or drift, for gaps U of (0, 1).

    An arm with gap g stays for the first w = 1, 2, 4, … plays with sqrt(c / w) < g - delta: the gaps between two of
    those bounds share a w. So the cost of n rounds follows from that of fewer.
    """
    bounds = [1.0]  # gaps above bounds[k + 1] and not above bounds[k] are dropped after 2^k plays
    while 2 ** (len(bounds) - 1) < length:
        bounds.append(min(delta + math.sqrt(c / 2 ** (len(bounds) - 1)), 1.0))
    cost = [0.0]
    for n in range(1, length + 1):
        total = 0.0
        for k in range(len(bounds) - 1):
            chance, gap = bounds[k] - bounds[k + 1], (bounds[k] + bounds[k + 1]) / 2
            tenure = 2**k
            total += chance * (gap * min(tenure, n) + (cost[n - tenure] if tenure < n else 0.0))
        total += bounds[-1] * bounds[-1] / 2 * n  # never dropped in this block
        cost.append(total)
    return cost[length]


@pytest.mark.compiled
@pytest.mark.parametrize("width", [12.0, 1.0, 0.05])
@pytest.mark.parametrize("preset", ["paper", "published"])
def test_regret_without_noise_or_drift_is_the_expected_one(preset, width):
    # A huge scale blinds EXP3 to rewards. Its weights then wander the same way for every threshold, so each is
    # drawn with probability 1/B in every block, and the 100 blocks of 100 rounds cost the same on average.
    spec = ma.AUCBTASW(preset, width=width, scale=1e12)
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    regret = ma.simulate({"it": spec}, world, 10_000, replications=400, seed=16).final_regret("it")
    settings = slow.PRESETS[preset]
    deltas = slow.grid(100, settings["first_threshold"], settings["depth"])
    costs = [expected_block_regret(100, width * math.log(100), delta) for delta in deltas]
    # Five standard errors: a chance of 6e-7 for each case.
    assert within_standard_errors(regret, 100 * sum(costs) / len(costs), errors=5.0)


@pytest.mark.compiled
@pytest.mark.parametrize(("beta", "other"), [(0.8, 41_600), (1.0, 46_300), (1.2, 50_700)])
def test_regret_where_arms_wear_out_is_that_of_an_independent_simulation(beta, other):
    world = ma.World(ma.PowerLaw(beta=beta), ma.Rotting("1/t"), ma.GapUniform())
    regret = ma.simulate({"it": ma.AUCBTASW("published")}, world, 100_000, replications=100, seed=17).final_regret("it")
    # One run's standard deviation is 1,400. The other simulation had five to ten runs, so its standard error is
    # up to 630: four of those, a chance of 6e-5, and four of ours.
    assert 1000 < regret.std(ddof=1) < 1900
    assert within_standard_errors(regret, other, errors=4.0, allowance=4 * 630)
