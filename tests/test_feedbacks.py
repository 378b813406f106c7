"""Feedbacks: delays as they are distributed, what is said of each ask, what is refused, and worlds that have one."""

import json
import math
import re
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.checks import examples
from manyarms.compiled import loop
from manyarms.feedbacks import LONGEST_DELAY, QUANTILES, answer_at, delay_of, delay_state, first_answer
from manyarms.lab import Study
from manyarms.policies.base import check_corrections
from manyarms.streams import FEEDBACK_STREAM, bits_at, replication_key, stream_key
from tests.reference.post import last_word, letters_of
from tests.worlds import DRAWS, check_share, exactly, normal_bound

FEEDBACKS = [spec for spec in examples() if spec.kind == "feedback"]
KEY = np.uint64(stream_key(replication_key(3, 0), FEEDBACK_STREAM, 0))
EDGES = (np.arange(QUANTILES) + 0.5) / QUANTILES

# ---------------------------------------------------------------- delays


@loop
def write_delays(delay, key, out):
    for place in range(out.size):
        out[place] = delay_of(delay, bits_at(key, place + 1, 0))


def delays_of(delay):
    out = np.zeros(DRAWS, dtype=np.int64)
    write_delays(delay_state(delay), KEY, out)
    return out


def normal_quantiles(median, spread):
    return median * np.exp(spread * stats.norm.ppf(EDGES))


# Each with its quantiles by another library or rule.
DELAYS = [
    # P(delay >= d) = q^d with the mean q / (1 - q): a whole number of failures before a success.
    (ma.Geometric(mean=8.0, longest=10_000), lambda: stats.geom.ppf(EDGES, 1 / 9) - 1),
    (ma.Geometric(mean=0.4, longest=3), lambda: np.minimum(stats.geom.ppf(EDGES, 1 / 1.4) - 1, 3)),
    (ma.LogUniform(least=2, longest=900), lambda: stats.loguniform.ppf(EDGES, 2, 901)),
    (ma.LogNormal(median=30.0, spread=1.2, longest=10**6), lambda: normal_quantiles(30.0, 1.2)),
    (ma.LogNormal(median=30.0, spread=2.0, longest=50), lambda: np.minimum(normal_quantiles(30.0, 2.0), 50)),
]


@pytest.mark.once
@pytest.mark.parametrize(("delay", "quantiles"), DELAYS, ids=[delay.label() for delay, _ in DELAYS])
def test_delays_are_the_middle_quantiles_of_their_distribution(delay, quantiles):
    table = delay.start().rounds
    assert table.size == QUANTILES == 4096
    assert not table.flags.writeable  # all replications share it
    # Rounded down; where a quantile is within rounding of a whole number, either side is right.
    wanted = quantiles()
    assert (np.abs(table - np.floor(wanted)) <= (np.abs(wanted - np.rint(wanted)) < 1e-6)).all()
    assert (np.diff(table) >= 0).all()
    assert table[-1] <= delay.longest


@pytest.mark.compiled
@pytest.mark.parametrize(("delay", "quantiles"), DELAYS, ids=[delay.label() for delay, _ in DELAYS])
def test_drawn_delays_have_the_moments_of_their_table(delay, quantiles):
    drawn, table = delays_of(delay), delay.start().rounds
    assert set(np.unique(drawn)) <= set(np.unique(table))
    assert abs(drawn.mean() - table.mean()) <= normal_bound(1) * table.std() / math.sqrt(drawn.size)
    check_share((drawn <= np.median(table)).sum(), drawn.size, (table <= np.median(table)).mean())


@pytest.mark.once
@pytest.mark.parametrize("mean", [0.4, 8.0, 300.0])
def test_the_mean_of_a_geometric_delay_is_the_one_it_was_told(mean):
    # The middles of 4,096 parts leave out 1/8192 of the tail, which is exponential: ln(8192) means long and less of
    # it lies beyond than 2 (ln(8192) + 1) / 8192 of the mean, 0.3 %. Rounding down is part of the distribution.
    table = ma.Geometric(mean=mean, longest=LONGEST_DELAY).start().rounds
    assert table.mean() == pytest.approx(mean, rel=2 * (math.log(8192) + 1) / 8192)


@pytest.mark.once
def test_a_fixed_delay_is_a_number():
    assert delays_equal(delay_state(5), 5)


def delays_equal(state, rounds):
    return {int(delay_of(state, bits_at(int(KEY), t, 0))) for t in range(1, 50)} == {rounds}


@pytest.mark.once
def test_a_median_is_a_median():
    assert ma.LogNormal(median=60.0, spread=1.5, longest=3600).quantile(0.5) == 60.0
    assert ma.LogUniform(least=3, longest=3).start().rounds.tolist() == [3] * QUANTILES
    assert statistics.median(ma.Geometric(mean=100.0, longest=10**6).start().rounds.tolist()) == 69  # ln 2 / -ln q


# ---------------------------------------------------------------- what is said of each ask


@pytest.mark.once
@pytest.mark.parametrize("feedback", FEEDBACKS, ids=lambda spec: spec.label())
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.3])
def test_what_is_said_of_an_ask_is_what_the_naive_post_says(feedback, reward):
    rule, key = feedback.rule(), int(KEY)
    assert feedback.longest == last_word(feedback)
    for t in range(1, 300):
        letters = letters_of(feedback, key, t, reward)
        age = first_answer(rule, key, t, reward)
        said = []
        while True:
            told, more = answer_at(rule, key, t, age, reward)
            said.append((int(age), None if math.isnan(told) else told))
            if not more:
                break
            age += more
        assert said == letters, t


@pytest.mark.once
@exactly
@given(st.integers(1, 50), st.integers(1, 500))
def test_a_batch_is_told_when_it_is_full(size, t):
    ages = first_answer(ma.Batches(size).rule(), 0, t, 1.0)
    assert (t + ages) % size == 0
    assert 0 <= ages < size


@pytest.mark.once
def test_as_many_get_lost_as_was_said():
    rule = ma.Lost(0.2, ma.Batches(10)).rule()
    lost = sum(math.isnan(answer_at(rule, int(KEY), t, 3, 1.0)[0]) for t in range(1, 20_001))
    check_share(lost, 20_000, 0.2)


@pytest.mark.once
def test_what_gets_lost_has_nothing_to_do_with_the_delay():
    delay = ma.Delayed(ma.Geometric(mean=8.0, longest=60))
    lossy = ma.Lost(0.5, delay).rule()
    for t in range(1, 500):
        if not math.isnan(answer_at(lossy, int(KEY), t, 3, 1.0)[0]):
            assert first_answer(lossy, int(KEY), t, 1.0) == first_answer(delay.rule(), int(KEY), t, 1.0)


# ---------------------------------------------------------------- what is refused


@pytest.mark.once
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ma.Batches(0), "Batches: size must be a whole number of at least 1, not 0"),
        (lambda: ma.Batches(2.5), "Batches: size must be a whole number of at least 1, not 2.5"),
        (lambda: ma.Batches(10, pending=2), "Batches: pending must lie in [0, 1], not 2"),
        (lambda: ma.Delayed(0), "Delayed: rounds must be a whole number of at least 1, not 0"),
        (lambda: ma.Delayed(2**25), "Delayed: rounds must be at most 16,777,216 rounds, not 33,554,432"),
        (
            lambda: ma.Delayed(ma.Batches(3)),
            "Delayed: rounds must be a number of rounds or a delay such as ma.Geometric(…), not Batches(size=3",
        ),
        (lambda: ma.Geometric(0.0, 10), "Geometric: mean must be above 0, not 0.0"),
        (lambda: ma.Geometric(1.0, 2**30), "Geometric: longest must be at most 16,777,216 rounds, not 1,073,741,824"),
        (lambda: ma.LogUniform(10, 5), "LogUniform: least must be at most longest, not 10 and 5"),
        (lambda: ma.LogNormal(10, 11, 5), "LogNormal: spread must lie in (0, 10], not 11"),
        (lambda: ma.LogNormal(10, 0, 5), "LogNormal: spread must lie in (0, 10], not 0"),
        (lambda: ma.Conversions(5, 10, "later"), "Conversions: late must be one of 'never', 'corrected', not 'later'"),
        (lambda: ma.Conversions(5, 0), "Conversions: timeout must be a whole number of at least 1, not 0"),
        (lambda: ma.Lost(1.5), "Lost: probability must lie in [0, 1], not 1.5"),
        (lambda: ma.Lost(0.1, 10), "Lost: feedback must be a Feedback such as ma.Delayed(100), not 10"),
        (lambda: ma.Lost(0.1, ma.Batches(5, pending=0.0)), "Lost: pending belongs here, not to the feedback that"),
        (lambda: ma.World(ma.Uniform(), feedback=100), "World: feedback must be a"),
    ],
)
def test_what_is_refused_is_named_with_its_value_and_the_remedy(make, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make()


CORRECTING = [
    ma.Batches(5, pending=0.0),
    ma.Delayed(5, pending=0.5),
    ma.Conversions(20, timeout=10, late="corrected"),
    ma.Conversions(5, timeout=10, pending=0.0),
    ma.Lost(0.1, ma.Conversions(20, timeout=10, late="corrected")),
    ma.Lost(0.1, pending=0.0),
]


@pytest.mark.once
@pytest.mark.parametrize("feedback", CORRECTING, ids=lambda spec: spec.label())
def test_what_a_policy_cannot_correct_is_refused_before_anything_is_played(feedback):
    assert feedback.corrects
    world = ma.World(ma.Uniform(), feedback=feedback)
    for policy in (ma.Forager(), ma.CBT(beta=1.0), ma.Elimination(beta="auto"), ma.SSUCB(beta="auto")):
        assert not policy.takes_corrections
        with pytest.raises(ValueError, match="takes no corrections") as raised:
            ma.simulate({"it": policy}, world, 20_000_000)  # which would take a while
        said = str(raised.value)
        assert said.startswith(type(policy).__name__)
        assert feedback.label() in said
        assert "choose a policy that takes them, such as ma.SSUCB(beta=1.0)" in said


@pytest.mark.once
@pytest.mark.parametrize("policy", [ma.Elimination(beta=1.0), ma.Blackbox(ma.UCB(), beta=1.0)])
def test_assumed_rewards_are_refused_where_a_correction_cannot_undo_what_they_did(policy):
    for feedback in (ma.Batches(5, pending=0.0), ma.Lost(0.1, pending=0.0)):
        with pytest.raises(ValueError, match="takes no assumed rewards") as raised:
            ma.simulate({"it": policy}, ma.World(ma.Uniform(), feedback=feedback), 10_000_000)
        assert feedback.label() in str(raised.value)
        assert str(raised.value).endswith("choose ma.Subsample or ma.SSUCB")
    assert ma.SSUCB(beta=1.0).takes_pending
    assert not ma.SSUCB(beta="auto").takes_pending


@pytest.mark.once
def test_a_study_is_refused_as_a_whole_if_one_of_its_policies_cannot_play_it():
    world = ma.World(ma.Uniform(), feedback=ma.Batches(10, pending=0.0))
    policies = {"good": ma.SSUCB(beta=1.0), "bad": ma.Elimination(beta=1.0)}
    with pytest.raises(ValueError, match=r"Elimination.* takes no assumed rewards, which feedback=Batches"):
        Study.of("late", policies, {"late": world}, [100], replications=2)


@pytest.mark.once
def test_who_takes_corrections():
    for policy in (ma.SSUCB(beta=1.0), ma.Elimination(beta=1.0), ma.Blackbox(ma.Thompson(), beta=2.0)):
        check_corrections(policy, True, "this")
    never = [ma.Conversions(5, timeout=10, late="corrected"), ma.Conversions(50, timeout=10), ma.Lost(0.5), ma.AtOnce()]
    assert not any(feedback.corrects for feedback in never)  # none can come later than the timeout, or be told


# ---------------------------------------------------------------- worlds and studies


@pytest.mark.once
def test_a_world_with_answers_at_once_is_the_one_of_old():
    world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("1/t"))
    assert set(world.to_json()) == {"type", "reservoir", "drift", "noise", "top"}
    assert world.replace(feedback=ma.AtOnce()).digest() == world.digest()
    assert ma.spec_from_json(world.to_json()).feedback == ma.AtOnce()
    digests = {world.replace(feedback=feedback).digest() for feedback in FEEDBACKS}
    assert len(digests) == len(FEEDBACKS)


@pytest.mark.once
@pytest.mark.parametrize("feedback", FEEDBACKS + CORRECTING, ids=lambda spec: spec.label())
def test_a_world_with_a_feedback_survives_json(feedback):
    world = ma.World(ma.Uniform(), feedback=feedback)
    again = ma.spec_from_json(json.loads(json.dumps(world.to_json())))
    assert again == world
    assert again.digest() == world.digest()
    assert feedback.label() in world.label() or feedback == ma.AtOnce()


@pytest.mark.compiled
def test_threads_and_numbers_of_replications_change_nothing():
    world = ma.World(ma.Uniform(), ma.Crash(0.01, to=0.0), feedback=ma.Lost(0.1, ma.Delayed(ma.Geometric(8.0, 60))))
    policies = [ma.Elimination(beta=1.0), ma.KFailure(2)]
    one, two = (
        ma.simulate(policies, world, 300, replications, seed=4, threads=threads)
        for replications, threads in ((7, 1), (12, 3))
    )
    for name in ("Elimination", "KFailure"):
        assert one[name].tobytes() == two[name][:7].tobytes()


@pytest.mark.once
@pytest.mark.usefixtures("uncompiled")
def test_late_answers_are_no_worse_than_none_and_no_better_than_at_once():
    # Of a policy that learns: its reward at once, late, and when all answers get lost. The worst of 20 runs of the one
    # is better than the best of the other.
    policy = ma.Subsample(base=ma.UCB(width=0.1), beta=1.0, arms=10)
    reward = {
        feedback: ma.simulate(
            policy, ma.World(ma.Uniform(), feedback=feedback), 1000, 20, seed=1, checkpoints=1, threads=1
        ).final("Subsample", "reward")
        for feedback in (ma.AtOnce(), ma.Delayed(100), ma.Lost(1.0))
    }
    means = [float(values.mean()) for values in reward.values()]
    assert means[0] > means[1] > means[2] + 100
    assert means[2] == pytest.approx(500, abs=80)
