"""Forager: the choices of its slow twin, what its parts promise, and the regret it is known to have."""

import collections
import dataclasses
import fractions
import functools
import itertools
import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.checks import examples
from manyarms.checks.runs import Run
from manyarms.contract import ask, begin, pull, tell
from manyarms.policies import forager as fast
from manyarms.snapshots import state_to_json
from manyarms.streams import replication_key
from tests.reference import forager as slow
from tests.reference.loop import play
from tests.reference.world import NaiveWorld
from tests.test_twins import check_columns, horizons, reservoirs, seeds

some = settings(deadline=None, derandomize=True, max_examples=100)
few = settings(deadline=None, derandomize=True, max_examples=25)

UNIFORM = ma.PowerLaw(beta=1.0)
# Of the two types that the twin is compared in when compiled, so that nothing else is.
COINS = ma.World(UNIFORM, ma.Crash(probability=0.0), ma.Bernoulli())
FIGURE = ma.World(UNIFORM, ma.Rotting("1/t"), ma.GapUniform())

SPECS = {
    "default": ma.Forager(),
    "three": ma.Forager(keep=3, slack=0.5, first_look=1.0, false_alarms=0.9, wary=10.0),
    "two": ma.Forager(keep=2, false_alarms=0.99, wary=1.0),
    "cautious": ma.Forager(keep=17, slack=3.0, first_look=30.0, false_alarms=0.01, wary=100.0),
}
WORLDS = {
    "still": ma.World(ma.PowerLaw(beta=0.5), ma.Still(), ma.BetaNoise(concentration=10.0)),
    "rotting": ma.World(UNIFORM, ma.Rotting(0.04), ma.GapUniform()),
    "crash": ma.World(UNIFORM, ma.Crash(probability=0.01, to=0.0), ma.Bernoulli()),
    "jump": ma.World(UNIFORM, ma.JumpAt(play=60, size=-0.5), ma.BetaNoise(concentration=10.0)),
    "adversary": ma.World(UNIFORM, ma.Adversary(patience=40, size=0.9), ma.Bernoulli()),
}


def new_twin(spec):
    return slow.Forager(**dataclasses.asdict(spec))


def settings_of(**changes):
    return ma.Forager(**changes).settings()


def experience_of(losses):
    experience = fast.Experience(rounds=0, loss=0.0, square=0.0, strikes=0.0)
    for loss in losses:
        experience = fast.after_loss(experience, loss)
    return experience


def told(spec, rewards):
    """The state after these rewards, and the choices that they were for."""
    state = begin(spec.start(len(rewards)), 0)
    choices = []
    for round, reward in enumerate(rewards, start=1):
        choices.append(ask(state, round, 0))
        state = tell(state, choices[-1], reward)
    return state, choices


# ---------------------------------------------------------------- the twin


def same_as_twin(state, twin):
    """All that the policy will ever use is the twin's, to the bit."""
    assert state.slot == twin.places.index(twin.arm)
    assert state.arms.tolist() == [-1 if arm is None else arm.number for arm in twin.places]
    assert state.bounds.tolist() == twin.bounds()
    assert (state.share, state.target, state.tally.arms) == (twin.share, twin.target, twin.drawn)
    assert (state.struck, state.experience.rounds) == (len(twin.strikes), len(twin.losses))
    assert fast.average_loss(state.experience) == twin.level()


def same_arm(state, slot, arm, first_look):
    """What is known of one arm, to the bit."""
    values = [loss for loss, _ in arm.losses]
    assert state.plays[slot] == len(values)
    assert state.losses[slot] == slow.average(values)
    assert state.squares[slot] == slow.average([loss * loss for loss in values])
    assert state.looks[slot] == arm.impression(first_look)
    assert state.bold[slot] == arm.stake(1 / 2)
    assert state.steady[slot] == arm.stake(1 / 10)
    assert state.timid[slot] == arm.stake(1 / 50)


@functools.cache
def compared(spec, world, rounds, seed):
    """Play both and compare every round; return what happened, and how often."""
    twin = new_twin(spec)
    state = begin(spec.start(rounds), 0)
    playground = begin(world.start(spec.slots(rounds)), replication_key(seed, 0))
    happened = collections.Counter()
    gone = set()  # struck out
    last, was_wary = -1, False
    for t in range(1, rounds + 1):
        choice = ask(state, t, 0)
        arm = int(choice.arm)
        assert arm == twin.arm.number, f"round {t}"
        assert (choice.slot, choice.probability, choice.block, choice.round) == (state.slot, 1.0, 1, t)
        assert arm not in gone, f"round {t}: arm {arm} had struck out"
        assert not (was_wary and arm == last), f"round {t}: arm {arm} twice in a row"
        playground, _, _, reward = pull(playground, choice.slot, arm, t)
        before, kept = state, {int(arm) for arm in state.arms}
        state = tell(state, choice, float(reward))
        twin.told(arm, float(reward))
        same_as_twin(state, twin)
        for slot in (choice.slot, state.slot):
            if twin.places[slot] is not None:
                same_arm(state, slot, twin.places[slot], spec.first_look)
        last, was_wary = arm, fast.is_wary(state.settings, state.experience)
        assert was_wary == twin.is_wary()
        if state.struck > before.struck:
            gone.add(arm)
        happened["strike-outs"] += state.struck - before.struck
        happened["wary rounds"] += was_wary
        happened["repeats"] += not was_wary and state.arms[state.slot] == arm
        happened["releases"] += state.target > before.target
        happened["shares"] += state.share != before.share
        happened["evictions"] += len(kept - gone - {int(arm) for arm in state.arms} - {-1})
        happened["losses beyond 1"] += twin.level() > 1.0
    assert twin.evicted == happened["evictions"]
    return happened


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("spec", SPECS)
def test_forager_plays_as_its_twin(spec, world):
    compared(SPECS[spec], WORLDS[world], 500, seed=1)


def test_the_twins_meet_all_that_can_happen():
    happened = {(spec, world): compared(SPECS[spec], WORLDS[world], 500, seed=1) for spec in SPECS for world in WORLDS}
    for world in ("crash", "jump", "adversary"):
        found = happened["default", world]
        assert min(found["strike-outs"], found["releases"], found["shares"]) >= 1, world
        assert found["wary rounds"] > 100, world
        assert found["repeats"] > 20, world
    for spec in ("three", "two"):
        assert all(happened[spec, world]["evictions"] >= 5 for world in WORLDS), spec
        assert sum(happened[spec, world]["strike-outs"] for world in WORLDS) >= 1, spec
    assert max(found["losses beyond 1"] for found in happened.values()) > 10
    assert sum(found["strike-outs"] for found in happened.values()) >= 12


specs = st.builds(
    ma.Forager,
    keep=st.sampled_from([2, 3, 5, 17, 128, 300]),
    slack=st.sampled_from([0.01, 0.5, 1.0, 4.0]),
    first_look=st.sampled_from([0.01, 1.0, 3.0, 50.0]),
    false_alarms=st.sampled_from([0.001, 0.5, 0.99]),
    wary=st.sampled_from([1.0, 4.0, 50.0]),
)
crashing = st.builds(
    ma.World,
    reservoirs,
    st.builds(ma.Crash, probability=st.sampled_from([0.0, 0.01, 0.1]), to=st.sampled_from(["fresh", 0.0])),
    st.just(ma.Bernoulli()),
)
trending = st.builds(
    ma.World,
    reservoirs,
    st.sampled_from([ma.Rotting("1/t"), ma.Rotting("30/t"), ma.Rising("3/t")]),
    st.just(ma.GapUniform()),
)


@few
@given(specs, st.one_of(crashing, trending), horizons.map(lambda horizon: min(horizon, 300)), seeds)
def test_a_simulated_forager_plays_as_its_twin(spec, world, horizon, seed):
    # The regret, the rewards and the arms after every round: the same to the bit only if every choice is.
    result = ma.simulate({"it": spec}, world, horizon, seed=seed, checkpoints=range(1, horizon + 1), threads=1)
    twin = functools.partial(slow.forager, **dataclasses.asdict(spec))
    _, columns = play(twin, NaiveWorld(world, seed, 0), horizon)
    check_columns(result["it"][0], result.checkpoints, columns)


def interleaved(spec, seed, rounds):
    """Several open asks, told in any order and some never; return how often another had its slot by then, wary."""
    dice = random.Random(seed)
    state, twin = begin(spec.start(rounds), 0), new_twin(spec)
    waiting = []
    replaced = 0
    for t in range(1, rounds + 1):
        choice = ask(state, t, 0)
        assert choice.arm == twin.arm.number
        waiting.append(choice)
        for _ in range(dice.choice((0, 1, 1, 2))):
            if waiting:
                late = waiting.pop(dice.randrange(len(waiting)))
                # Good arms turn bad, and are struck out.
                reward = dice.choice((0.0, 0.0, 0.25) if late.arm % 3 or t % 200 > 120 else (1.0, 0.9))
                replaced += state.arms[late.slot] not in (-1, late.arm) and twin.strikes != [] and twin.is_wary()
                state = tell(state, late, reward)
                twin.told(int(late.arm), reward)
                same_as_twin(state, twin)
        if len(waiting) > 8:
            waiting.pop(0)
    assert state.tally.ignored == 0
    return replaced, state.struck


@pytest.mark.parametrize("spec", SPECS)
def test_late_rewards_count_as_for_the_twin(spec):
    runs = [interleaved(SPECS[spec], seed, 400) for seed in range(3)]
    assert sum(struck for _, struck in runs) >= 1
    if spec == "three":
        # The slot of a told arm has another one by then, which is not to blame: it may be next, wary or not.
        assert sum(replaced for replaced, _ in runs) >= 5


# ---------------------------------------------------------------- averages

losses = st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)), min_size=1, max_size=60)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 1000])
def test_the_weights_are_those_of_i_times_i_plus_1(n):
    weights = [fractions.Fraction(i * (i + 1)) for i in range(1, n + 1)]
    total = sum(weights)
    assert fast.pace(n) == float(weights[-1] / total)
    # All numbers in the formula are whole and below 2^53, so there is one rounding.
    assert fast.squared_weights(n) == float(sum(weight**2 for weight in weights) / total**2)


@some
@given(losses)
def test_the_average_loss_is_the_weighted_one_with_half_a_loss_beside_it(values):
    experience = experience_of(values)
    n = len(values)
    exact = [fractions.Fraction(value) for value in values]
    weights = [fractions.Fraction(i * (i + 1), n * (n + 1)) for i in range(1, n + 1)]
    mean, square = (
        sum(weight * value**k for weight, value in zip(weights, exact, strict=True)) / sum(weights) for k in (1, 2)
    )
    level = fast.average_loss(experience)
    # A step adds at most two roundings of 2^-53 to a number that later steps only shrink.
    near = functools.partial(pytest.approx, abs=4 * n * 2.0**-53)
    assert (experience.loss, experience.square) == near((float(mean), float(square)))
    assert level == near(float((sum(weights) * mean + fractions.Fraction(1, 2)) / (sum(weights) + 1)))
    assert 0.0 < level < 1.0
    assert min(*values, 0.5) - 2.0**-50 <= level <= max(*values, 0.5) + 2.0**-50


def test_before_the_first_reward_the_average_loss_is_one_half():
    assert fast.average_loss(experience_of([])) == 0.5
    assert fast.rounds_remembered(experience_of([])) == 0.0


@pytest.mark.parametrize("s", [1, 10, 1000])
@pytest.mark.parametrize("wary", [1.0, 4.0, 7.5])
def test_wariness_lasts_from_a_strike_out_at_round_s_to_round_wary_s(s, wary):
    experience = fast.Experience(rounds=s, loss=0.5, square=0.5, strikes=1.0)
    rounds = s
    while fast.is_wary(settings_of(wary=wary), experience):
        rounds += 1
        experience = fast.after_loss(experience, 0.5)
        assert experience.strikes == pytest.approx(s * (s + 1) / (rounds * (rounds + 1)), rel=1e-12)
    # t (t + 1) > wary^2 s (s + 1) from t = wary (s + 1/2) on, and not before wary s.
    assert wary * s < rounds <= wary * (s + 0.5) + 1
    assert not fast.is_wary(settings_of(wary=wary), experience_of([0.5] * s))


# ---------------------------------------------------------------- bounds


@some
@given(losses, losses, st.sampled_from([0.01, 1.0, 5.0]))
def test_the_bound_is_at_most_the_average_and_at_least_its_share(values, others, slack):
    arm = experience_of(values)  # an arm's averages are of the same kind
    everything = experience_of([*others, *values])
    found = fast.lower_bound(settings_of(slack=slack), everything, arm.loss, arm.square, len(values))
    b = slack * math.log(math.log(max(len(values) + len(others), 20)))
    assert arm.loss / max(b, 1.0) * (1 - 1e-12) <= found <= arm.loss
    # Hence scaled: a tenth of all losses, a tenth of the bound. Variances are known to some 2^-50 of 1.
    tenth, all_tenth = experience_of([x / 10 for x in values]), experience_of([x / 10 for x in [*others, *values]])
    scaled = fast.lower_bound(settings_of(slack=slack), all_tenth, tenth.loss, tenth.square, len(values))
    assert scaled == pytest.approx(found / 10, abs=1e-6)


def test_the_bound_of_one_play_has_the_variance_of_all_losses():
    # Of 100 losses, 0.4 and 0.6 in turn: variance 0.01, and half of it beside one play of variance 0, whose q is 1.
    everything = experience_of([0.4 + 0.2 * (t % 2) for t in range(100)])
    b = math.log(math.log(100))
    # The average is beside 1/2 by at most 0.1 · 3 / 102, the variance by its square, 1e-5, and so the bound by 1e-4.
    expected = pytest.approx(0.9 - b * math.sqrt(0.01 / 2), abs=1e-4)
    assert fast.lower_bound(settings_of(), everything, 0.9, 0.81, 1) == expected
    # With 10 equal losses beside it that variance counts as one play of 1 + 12 / 3, and q is smaller.
    expected = pytest.approx(0.9 - b * math.sqrt(0.01 / 5 * fast.squared_weights(10)), abs=1e-4)
    assert fast.lower_bound(settings_of(), everything, 0.9, 0.81, 10) == expected
    # A bound is never below the average divided by b.
    assert fast.lower_bound(settings_of(), everything, 0.1, 0.01, 1) == pytest.approx(0.1 / b)


# ---------------------------------------------------------------- target and share


@pytest.mark.parametrize(
    ("target", "level", "expected"),
    [(0.5, 0.9, 0.45), (0.5, 1.0, 0.5), (0.25, 0.9, 0.25), (0.25, 1.0, 0.25), (0.24, 1.0, 0.5), (0.1, 0.5, 0.25)],
)
def test_the_target_follows_down_at_once_and_up_after_a_rise_by_one_over_kappa(target, level, expected):
    assert fast.followed(target, level, 0.5) == expected


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_a_search_ends_when_the_average_has_risen_by_one_over_kappa(share):
    target = fast.followed(1.0, 0.1, share)
    assert target == share * 0.1
    assert fast.followed(target, 0.0999 / share, share) == target
    assert fast.followed(target, 0.1001 / share, share) == share * (0.1001 / share)


def state_with_looks(looks, keep=64):
    state = begin(ma.Forager(keep=keep).start(10), 0)
    for slot, look in enumerate(looks):
        state.arms[slot] = slot
        state.plays[slot] = 1
        state.looks[slot] = look
    return state


def test_the_share_is_that_of_hills_estimate():
    level = 0.4
    inside, beyond = [0.1, 0.2, 0.4], [0.41, 0.9]
    e = (len(inside) + 1) / (sum(math.log(level / look) for look in inside) + 1.0)
    state = state_with_looks([*inside, *beyond])
    assert fast.best_share(state, level) == pytest.approx(e / (e + 1), rel=1e-14)
    assert fast.best_share(state_with_looks([0.9]), level) == 0.5
    state.plays[0] = 0  # an untried arm has made no impression
    state.arms[1] = -1  # and one that is gone leaves none
    assert fast.best_share(state, level) == pytest.approx(2 / 3, rel=1e-14)


@pytest.mark.parametrize("e", [0.5, 1.0, 3.0])
def test_where_the_gaps_are_a_power_law_the_share_is_e_over_e_plus_1(e):
    # Quantiles of P(gap < x) = x^e up to the level: of 10,000, the average of log(1 / x) is 1 / e within 1e-3.
    looks = [0.3 * ((i + 0.5) / 10_000) ** (1 / e) for i in range(10_000)]
    assert fast.best_share(state_with_looks(looks, keep=10_000), 0.3) == pytest.approx(e / (e + 1), abs=1e-3)


def test_an_impression_is_made_by_the_first_plays():
    # Losses of 0: the average falls as 1 / t, and all plays up to 3 / L (1 - L) count, beside a sixth as many at L.
    state, _ = told(ma.Forager(), [1.0] * 50)
    look, remembered = 0.5, 0.0
    for n in range(1, 51):
        level = 0.5 / (remembered + 1.0)
        look -= look / (n + 0.5 / (level * (1.0 - level)))
        remembered = (n + 2.0) / 3.0
    assert state.plays[0] == 50
    assert state.looks[0] == pytest.approx(look)
    # With first_look so small, none but the first, and a sixth of a play at 1/2.
    state, _ = told(ma.Forager(first_look=1e-9), [1.0] * 50)
    assert (state.plays[0], state.looks[0]) == (50, pytest.approx(0.5 / 7.0))
    assert fast.first_plays(settings_of(), 0.5) == 12.0
    assert fast.first_plays(settings_of(), 1.0) == fast.first_plays(settings_of(), 1.3) == 1.0


def test_an_average_loss_of_1_is_no_division_by_zero():
    # Losses may exceed 1. A first one of 1.5 and the half beside it make 1.
    state, _ = told(ma.Forager(), [-0.5, 0.5, -1.0, 1.0])
    assert state.experience.rounds == 4
    state, _ = told(ma.Forager(), [-0.5])
    assert fast.average_loss(state.experience) == 1.0


# ---------------------------------------------------------------- strike-outs


@pytest.mark.parametrize("bet", fast.BETS)
@pytest.mark.parametrize("evidence", [0.25, 1.0, 8.0])
def test_a_bet_on_an_arm_at_the_level_is_fair(bet, evidence):
    # A loss of 1 with chance 1/4, level 1/4.
    won, lost = fast.raised(evidence, bet, 4.0), fast.raised(evidence, bet, 0.0)
    assert won / 4 + 3 * lost / 4 == pytest.approx(max(evidence, 1.0), rel=1e-15)
    assert won > max(evidence, 1.0) > lost > 0.0


def plays_until(evidence_above, chance, level, dice, most=10**6):
    """How many losses of 1, of this chance, and 0 else until the mean of the three stakes exceeds this."""
    stakes = [1.0, 1.0, 1.0]
    for n in range(1, most):
        ratio = float(dice.random() < chance) / level
        stakes = [fast.raised(stake, bet, ratio) for stake, bet in zip(stakes, fast.BETS, strict=True)]
        if sum(stakes) / 3.0 > evidence_above:
            return n
    return most


@pytest.mark.parametrize("level", [0.5, 0.1])
def test_an_arm_at_the_level_has_as_many_plays_before_a_strike_out_as_evidence_is_asked_for(level):
    # A stake is at most the Shiryaev-Roberts sum R of its bet, and R - n is a martingale: E n >= E R > A.
    asked = 20.0
    dice = random.Random(3)
    plays = np.array([plays_until(asked, level, level, dice) for _ in range(400)])
    # 4.5 standard errors, a chance of 3e-6, and still above.
    assert plays.mean() - 4.5 * plays.std(ddof=1) / math.sqrt(plays.size) > asked


def test_an_arm_three_times_as_bad_is_found_out():
    dice = random.Random(3)
    plays = np.array([plays_until(20.0, 0.3, 0.1, dice) for _ in range(400)])
    # With other seeds 18.9 on average, with a deviation of 14, so 0.7 for 400: 25 is 8 standard errors above.
    assert plays.mean() < 25.0


def test_the_threshold_is_the_time_between_strike_outs_over_the_share_of_false_ones():
    # 100 losses of 0, then only 1: the stakes start at 1 and are computed by hand.
    for false_alarms in (0.9, 0.5, 0.01):
        spec = ma.Forager(false_alarms=false_alarms, slack=50.0)  # so slack that the arm is kept for its losses
        state, _ = told(spec, [1.0] * 100)
        stakes, t = [1.0] * 3, 100
        while state.struck == 0:
            level = fast.average_loss(state.experience)
            choice = ask(state, t + 1, 0)
            assert choice.arm == 0
            state, t = tell(state, choice, 0.0), t + 1
            gains = [1 + bet * (1 / level - 1) for bet in (0.5, 0.1, 0.02)]
            stakes = [max(stake, 1.0) * gain for stake, gain in zip(stakes, gains, strict=True)]
            assert (sum(stakes) / 3 > ((t + 2) / 3 + 1) / false_alarms) == (state.struck == 1), t
        assert state.experience.strikes == 1.0
        assert 0 not in state.arms.tolist()


def test_a_second_strike_out_soon_after_the_first_takes_half_of_the_evidence():
    state = begin(ma.Forager().start(10), 0)
    experience = fast.Experience(rounds=298, loss=0.1, square=0.1, strikes=0.0)
    # The threshold is (300 / 3 + 1) / (strikes + 1) * 2: 202, or 101 after a strike-out just now.
    for strikes, evidence, is_out in ((0.0, 201.0, False), (0.0, 203.0, True), (1.0, 100.0, False), (1.0, 102.0, True)):
        for stakes in (state.bold, state.steady, state.timid):
            stakes[0] = evidence
        state.arms[0] = 0
        # A loss at the level leaves all stakes as they are.
        assert fast.learn_of_arm(state, 0, 0.1, 0.1, experience._replace(strikes=strikes)) == is_out
        assert (state.arms[0] == -1) == is_out
        assert (state.bounds[0] == math.inf) == is_out


# ---------------------------------------------------------------- arms that come and go


def test_the_arm_with_the_largest_bound_makes_room():
    state = begin(ma.Forager(keep=3).start(10), 0)
    for slot, bound in enumerate([0.3, 0.9, 0.5]):
        state.arms[slot] = slot
        for numbers in (state.plays, state.losses, state.squares, state.looks, state.bold, state.steady, state.timid):
            numbers[slot] = 5
        fast.place(state, slot, bound)
    assert fast.fresh_slot(state, 7, 0.25) == 1
    assert state.arms.tolist() == [0, 7, 2]
    assert (state.plays[1], state.losses[1], state.squares[1], state.looks[1]) == (0, 0.0, 0.0, 0.25)
    assert state.bold[1] == state.steady[1] == state.timid[1] == 1.0
    assert fast.good_slot(state, 0.0, -1) == 1  # the untried one
    assert fast.good_slot(state, 0.3, 1) == 0
    assert fast.good_slot(state, 0.2999, 1) == -1
    state.arms[0] = -1
    fast.place(state, 0, math.inf)
    assert fast.fresh_slot(state, 8, 0.25) == 0  # rather where none is
    assert fast.good_slot(state, 0.0, 0) == 1


def test_an_arm_that_is_never_bad_is_never_left():
    assert {choice.arm for choice in told(ma.Forager(), [1.0] * 300)[1]} == {0}


def test_where_all_arms_are_alike_none_is_good_enough():
    # Every loss is 1/2, as is the average, and so is a target of a share of it: one arm after another.
    state, choices = told(ma.Forager(keep=8), [0.5] * 200)
    assert [choice.arm for choice in choices] == list(range(200))
    assert len(ma.Forager(keep=8).kept_arms(state)) == 8


@pytest.mark.parametrize("keep", [2, 7, 128])
def test_memory_is_what_is_kept(keep):
    spec = ma.Forager(keep=keep)
    for rounds in (1, 1000, 10**9):
        assert spec.slots(rounds) == keep
    state, _ = told(spec, [0.5] * 300)
    assert spec.kept_arms(state).tolist() == sorted(set(spec.kept_arms(state).tolist()))
    assert len(spec.kept_arms(state)) == keep
    assert sum(part.nbytes for part in state if isinstance(part, np.ndarray)) < 150 * keep + 300


def test_a_live_bandit_that_grows_keeps_as_many_arms_as_it_was_told():
    # A new bandit has room for 1,024 rounds; here every round takes a fresh arm.
    spec = ma.Forager(keep=1500)
    bandit = ma.Bandit(spec, seed=1)
    for _ in range(1200):
        bandit.tell(bandit.ask(), 0.5)
    now = bandit.explain()
    assert (now["arms"], now["arms_drawn"]) == (1201, 1201)
    assert spec.kept_arms(bandit._state).tolist() == list(range(1201))


def test_a_long_run_begins_as_a_short_one():
    for world in (FIGURE, WORLDS["crash"]):
        for horizon in (5, 60, 500):
            short, long = (
                ma.simulate({"it": ma.Forager()}, world, rounds, replications=2, seed=4, checkpoints=[horizon])
                for rounds in (horizon, 2 * horizon)
            )
            assert short["it"][:, 0].tobytes() == long["it"][:, 0].tobytes()


def test_a_used_state_begins_as_a_new_one():
    spec = ma.Forager(keep=5)
    used, _ = told(spec, [float(t % 3 == 0) for t in range(200)])
    assert state_to_json(begin(used, 0)) == state_to_json(begin(spec.start(200), 0))


def regret_at_scale(scale, seed, rounds):
    """Of uniform arms whose losses are uniform on [0, 2 gap], all losses multiplied by ``scale``."""
    state = begin(ma.Forager().start(rounds), 0)
    dice = np.random.default_rng(seed)
    gaps, noise = dice.random(rounds + 1), dice.random(rounds)
    regret = 0.0
    for t in range(1, rounds + 1):
        choice = ask(state, t, 0)
        regret += gaps[choice.arm]
        state = tell(state, choice, 1.0 - 2.0 * scale * gaps[choice.arm] * noise[t - 1])
    return regret


@pytest.mark.parametrize(("scale", "limit"), [(0.5, 90.0), (1 / 32, 210.0)])
def test_rewards_may_lie_close_together(scale, limit):
    # Any arm costs 1/2 a round: 500 in 1,000 rounds.
    regrets = np.array([regret_at_scale(scale, seed, 1000) for seed in range(100, 112)])
    # 150 runs with other seeds had 51 and 131, with deviations of 26 and 53, so 12 have standard errors of 7.5 and 15:
    # the limits are five of those above.
    assert regrets.mean() < limit


# ---------------------------------------------------------------- live


def wary_bandit(seed=5):
    """A bandit that has just struck out its favourite."""
    bandit = ma.Bandit(ma.Forager(), seed=seed)
    for _ in range(200):
        bandit.tell(bandit.ask(), 1.0)
    while not bandit.explain()["is_wary"]:
        bandit.tell(bandit.ask(), 0.0)
    return bandit


def test_a_snapshot_of_a_wary_bandit_with_open_asks_goes_on_the_same():
    bandit = wary_bandit()
    waiting = bandit.ask(3)
    copy = ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)))
    dice = [random.Random(1), random.Random(1)]
    for one, rolls in zip((bandit, copy), dice, strict=True):
        for decision in waiting:
            one.tell(decision.id, rolls.choice((0.0, 1.0)))
    for _ in range(400):
        decisions = [bandit.ask(), copy.ask()]
        assert decisions[0] == decisions[1]
        for one, decision, rolls in zip((bandit, copy), decisions, dice, strict=True):
            one.tell(decision, float(rolls.random() < 0.2 + 0.7 * (decision.arm % 4 == 0)))
    assert bandit.to_json() == copy.to_json()
    assert bandit.explain()["arms_drawn"] > 5


def test_a_late_reward_of_an_arm_that_struck_out_counts_for_the_average_only():
    bandit = ma.Bandit(ma.Forager(), seed=5)
    for _ in range(200):
        bandit.tell(bandit.ask(), 1.0)
    late = bandit.ask(2)[0]
    while bandit.explain()["strike_outs"] == 0:
        bandit.tell(bandit.ask(), 0.0)
    before, state = bandit.explain(), bandit.to_json()["state"]
    assert bandit.tell(late, 0.0) is ma.Told.COUNTED
    after, now = bandit.explain(), bandit.to_json()["state"]
    assert after["average_loss"] > before["average_loss"]
    assert (after["strike_outs"], after["arms_drawn"]) == (before["strike_outs"], before["arms_drawn"])
    for name in ("arms", "plays", "losses", "bounds", "bold", "looks"):
        assert now[name] == state[name]


def test_while_wary_no_arm_is_asked_for_twice_in_a_row():
    bandit = wary_bandit()
    began = bandit.told
    arms = []
    while bandit.explain()["is_wary"]:
        decision = bandit.ask()
        arms.append(decision.arm)
        bandit.tell(decision, float(decision.arm % 4 == 0))
    assert 0 not in arms
    assert len(arms) > 2.5 * began
    assert all(one != other for one, other in itertools.pairwise(arms))
    assert len(set(arms[-40:])) == 2  # two good arms take turns
    arms = []
    for _ in range(20):
        arms.append(bandit.ask())
        bandit.tell(arms[-1], 1.0)
    assert len({decision.arm for decision in arms}) == 1  # and then there is no need to


def test_explanations_are_true():
    bandit, twin = ma.Bandit(ma.Forager(), seed=3), new_twin(ma.Forager())
    dice = random.Random(4)
    seen = set()
    for t in range(700):
        now = bandit.explain()
        assert now["arms"] == sum(arm is not None for arm in twin.places)
        assert now["arms_drawn"] == twin.drawn
        assert now["average_loss"] == twin.level()
        assert (now["share"], now["target"]) == (twin.share, twin.target)
        assert now["tail_exponent"] == pytest.approx(twin.share / (1 - twin.share))
        assert now["strike_outs"] == len(twin.strikes)
        assert now["is_wary"] == (t > 0 and twin.is_wary())
        assert now["plays_of_arm"] == len(twin.arm.losses)
        assert now["bound_of_arm"] == (twin.arm.bound if twin.arm.losses else None)
        assert (now["episode"], now["restarts"], now["last_restart"]) == (1, 0, None)
        json.dumps(now, allow_nan=False)
        seen.add((now["is_wary"], now["bound_of_arm"] is None, now["share"] == 0.5))
        decision = bandit.ask()
        is_good = decision.arm % 5 == 1 and t % 250 < 150
        reward = float(dice.random() < (0.95 if is_good else 0.3))
        bandit.tell(decision, reward)
        twin.told(decision.arm, reward)
    assert len(seen) >= 6


def test_the_trials_of_the_promises_strike_arms_out_and_let_others_go():
    # Otherwise those would be tried on runs in which nothing happens.
    runs = [Run(spec, 600) for spec in examples() if isinstance(spec, ma.Forager)]
    for run in runs:
        run.play()
        assert run.policy.share != 0.5
    assert max(run.policy.struck for run in runs) >= 1
    assert max(run.counts().arms - run.policy.struck - run.policy.keep for run in runs) >= 50


# ---------------------------------------------------------------- regret


def final_regret(spec, world, horizon, replications, seed=7):
    result = ma.simulate({"it": spec}, world, horizon, replications=replications, seed=seed, checkpoints=1)
    return result.final_regret("it")


@pytest.mark.compiled
def test_where_nothing_changes_the_regret_is_about_twice_the_least_possible():
    # Coins and uniform means: no regret can be below sqrt(2 T) = 447 in the long run, even with T known.
    regret = final_regret(ma.Forager(), COINS, 100_000, 200)
    # Three runs of 400 with other seeds: 826 on average, with a deviation of 436, so 200 have a standard error of 31:
    # 2.2 sqrt(2 T) = 984 is five of those above.
    assert math.sqrt(2 * 100_000) < regret.mean() < 2.2 * math.sqrt(2 * 100_000)


@pytest.mark.compiled
@pytest.mark.parametrize(("beta", "published"), [(0.8, 26_200), (1.0, 36_700), (1.2, 46_600)])
def test_in_the_world_of_the_figure_the_regret_is_a_sixth_of_the_published(beta, published):
    regret = final_regret(ma.Forager(), FIGURE.replace(reservoir=ma.PowerLaw(beta=beta)), 100_000, 10)
    # 20 runs with another seed had 3,460, 4,750 and 6,270, with deviations of 210 or less, so 10 have standard errors
    # of 66: a sixth is 4,370, 6,120 and 7,770, at least 13 of those above, and a ninth at least 8 below.
    assert published / 9 < regret.mean() < published / 6


@pytest.mark.compiled
@pytest.mark.parametrize("probability", [1e-3, 1e-4])
def test_where_arms_crash_the_regret_is_below_that_of_elimination_which_is_told_beta(probability):
    world = COINS.replace(drift=ma.Crash(probability=probability, to=0.0))
    ours, theirs = (final_regret(spec, world, 100_000, 20) for spec in (ma.Forager(), ma.Elimination(beta=1.0)))
    # With another seed 5,970 against 7,800 and 2,170 against 3,430, with deviations of a difference of some 1,000 and
    # 800: standard errors of 220 and 180 for 20, of which the differences are 8 and 7.
    differences = theirs - ours
    assert differences.mean() > 4.0 * differences.std(ddof=1) / math.sqrt(20)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keep": 1}, "Forager: keep must be at least 2, since it may not play an arm twice in a row, not 1"),
        ({"keep": 0}, "Forager: keep must be a whole number of at least 1, not 0"),
        ({"keep": 2.5}, "Forager: keep must be a whole number of at least 1, not 2.5"),
        ({"keep": "all"}, "Forager: keep must be a finite number, not 'all'"),
        ({"slack": 0}, "Forager: slack must be above 0, not 0"),
        ({"slack": math.nan}, "Forager: slack must be a finite number, not nan"),
        ({"first_look": -1}, "Forager: first_look must be above 0, not -1"),
        ({"false_alarms": 0.0}, "Forager: false_alarms must be above 0, not 0.0"),
        ({"false_alarms": 1}, "Forager: false_alarms must be below 1, not 1.0: the threshold follows"),
        ({"wary": 0.5}, "Forager: wary must be at least 1, not 0.5"),
        ({"wary": 0}, "Forager: wary must be above 0, not 0"),
        ({"wary": True}, "Forager: wary must be a finite number, not True"),
    ],
    ids=repr,
)
def test_wrong_settings_are_refused_in_words(wrong, words):
    with pytest.raises(ValueError, match=words):
        ma.Forager(**wrong)


def test_settings_become_plain_numbers():
    spec = ma.Forager(keep=np.int64(5), slack=2, first_look=np.float32(1.5), false_alarms=0.25, wary=1)
    assert spec == ma.Forager(keep=5, slack=2.0, first_look=1.5, false_alarms=0.25, wary=1.0)
    assert [type(getattr(spec, name)) for name in ("keep", "slack", "first_look", "wary")] == [int, float, float, float]
    assert ma.Forager(keep=2, wary=1.0, false_alarms=0.999).slots(10) == 2
