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
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import gammainc

import manyarms as ma
from manyarms.checks import examples
from manyarms.checks.runs import Trial
from manyarms.contract import ask, begin, defer, pull, settle, tell
from manyarms.policies import forager as fast
from manyarms.snapshots import state_to_json
from manyarms.streams import replication_key
from tests.reference import forager as slow
from tests.twinned import horizons, plays_as_its_twin, reservoirs

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


def experience_of(losses, plays=None, searches=None):
    """After these losses; of one arm if nothing is said of plays, and without search."""
    experience = fast.NOTHING_LEARNED
    plays = itertools.count(1) if plays is None else plays
    searches = itertools.repeat(False) if searches is None else searches
    for loss, behind, is_search in zip(losses, plays, searches):  # noqa: B905, two may be endless
        experience = fast.after_loss(experience, loss, behind, is_search)
    return experience


def settled(level, variance, search=0.0, stay=1.0):
    """So many rounds that the one beside them does not show: this is the average loss, and the variance."""
    square = level * level + variance
    learned = fast.NOTHING_LEARNED._replace(rounds=10**15, loss=level, square=square, search=search, stay=stay)
    return learned._replace(draws=10**15, fresh=level)


def told(spec, rewards):
    """The state after these rewards, and the choices that they were for."""
    state = begin(spec.start(len(rewards)), 0)
    choices = []
    for round, reward in enumerate(rewards, start=1):
        choices.append(ask(state, round))
        state = tell(state, choices[-1], reward)
    return state, choices


# ---------------------------------------------------------------- the twin


def same_as_twin(state, twin):
    """All that the policy will ever use is the twin's, to the bit."""
    assert state.slot == twin.places.index(twin.arm)
    assert state.arms.tolist() == [-1 if arm is None else arm.number for arm in twin.places]
    assert state.bounds.tolist() == twin.bounds()
    assert (state.target, state.counts.arms) == (twin.target, twin.drawn)
    assert tuple(state.better) == slow.faded(twin.verdicts)
    assert (state.struck, state.experience.rounds) == (len(twin.strikes), len(twin.rounds))
    assert (state.experience.loss, state.experience.search) == (twin.past.loss, twin.past.search)
    assert state.experience.stay == twin.past.stay
    assert (state.experience.draws, state.experience.fresh) == (len(twin.past.firsts), slow.average(twin.past.firsts))
    assert fast.average_loss(state.experience) == twin.level()
    assert fast.common_variance(state.experience) == twin.past.variance


def same_arm(state, slot, arm):
    """What is known of one arm, to the bit."""
    values = [loss for loss, _ in arm.losses]
    assert state.plays[slot] == len(values)
    assert state.losses[slot] == slow.average(values)
    assert state.squares[slot] == slow.average([loss * loss for loss in values])
    assert state.looks[slot] == (math.inf if arm.is_judged else arm.look())
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
        choice = ask(state, t)
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
                same_arm(state, slot, twin.places[slot])
        last, was_wary = arm, fast.is_wary(state.settings, state.experience)
        assert was_wary == twin.is_wary()
        if state.struck > before.struck:
            gone.add(arm)
        happened["strike-outs"] += state.struck - before.struck
        happened["wary rounds"] += was_wary
        happened["repeats"] += not was_wary and state.arms[state.slot] == arm
        happened["releases"] += state.target > before.target
        happened["shares"] += state.better != before.better
        happened["rounds in debt"] += fast.is_in_debt(state.settings, state.experience, before.better)
        happened["evictions"] += len(kept - gone - {int(arm) for arm in state.arms} - {-1})
        happened["losses beyond 1"] += reward < 0.0
        happened["better at random"] += twin.level() * ((t + 2) / 3 + 1) < twin.past.loss * (t + 2) / 3 + 0.5 - 1e-9
        happened["search"] += twin.rounds[-1][2]
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
        assert 20 < found["rounds in debt"] < 480, world
        assert 20 < found["search"] < 480, world
        assert found["wary rounds"] > 100, world
        assert found["repeats"] > 20, world
    for spec in ("three", "two"):
        assert all(happened[spec, world]["evictions"] >= 5 for world in WORLDS), spec
        assert sum(happened[spec, world]["strike-outs"] for world in WORLDS) >= 1, spec
    assert max(found["losses beyond 1"] for found in happened.values()) > 10
    assert max(found["better at random"] for found in happened.values()) > 100
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


test_a_simulated_forager_plays_as_its_twin = plays_as_its_twin(
    specs, st.one_of(crashing, trending), horizons.map(lambda horizon: min(horizon, 300)), examples=25
)


rewards_beyond = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1.5, 1.3))


@few
@given(specs.filter(lambda spec: spec.keep < 20), st.lists(rewards_beyond, min_size=1, max_size=80))
def test_any_rewards_are_taken_as_by_the_twin(spec, rewards):
    # Above 1 too, until the average loss is below 0.
    state, twin = begin(spec.start(len(rewards)), 0), new_twin(spec)
    for t, reward in enumerate(rewards, start=1):
        assume(twin.level() != 0.0)
        state = tell(state, ask(state, t), reward)
        twin.told(twin.arm.number, reward)
        same_as_twin(state, twin)


@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0, 1.1, -1.0])
@pytest.mark.parametrize("keep", [2, 16])
def test_constant_rewards_are_taken_as_by_the_twin(reward, keep):
    spec = ma.Forager(keep=keep)
    state, twin = begin(spec.start(300), 0), new_twin(spec)
    for t in range(1, 301):
        state = tell(state, ask(state, t), reward)
        twin.told(twin.arm.number, reward)
        same_as_twin(state, twin)
    share = fast.better_share(state.better)
    assert 0.0 < share < 1.0
    assert (state.experience.loss < 0.0) == (fast.average_loss(state.experience) < 0.0) == (reward > 1.0)


def interleaved(spec, seed, rounds):
    """Several open asks, told in any order and some never; return how often another had its slot by then, wary."""
    dice = random.Random(seed)
    state, twin = begin(spec.start(rounds), 0), new_twin(spec)
    waiting = []
    replaced = 0
    for t in range(1, rounds + 1):
        choice = ask(state, t)
        assert choice.arm == twin.arm.number
        state, presumed = defer(state, choice)
        assert math.isnan(presumed)
        twin.opened(int(choice.arm))
        same_as_twin(state, twin)
        waiting.append(choice)
        for _ in range(dice.choice((0, 1, 1, 2))):
            if waiting:
                late = waiting.pop(dice.randrange(len(waiting)))
                # Good arms turn bad, and are struck out.
                reward = dice.choice((0.0, 0.0, 0.25) if late.arm % 3 or t % 200 > 120 else (1.0, 0.9))
                replaced += state.arms[late.slot] not in (-1, late.arm) and twin.strikes != [] and twin.is_wary()
                state = settle(state, late, math.nan, reward)
                twin.told(int(late.arm), reward)
                same_as_twin(state, twin)
        if len(waiting) > 8:
            waiting.pop(0)
    assert state.counts.ignored == 0
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
@given(losses, st.randoms(use_true_random=False))
def test_the_average_loss_is_the_weighted_one_with_half_a_loss_beside_it(values, dice):
    n = len(values)
    plays, searches = [dice.randrange(1, 4) for _ in values], [dice.random() < 0.5 for _ in values]
    experience = experience_of(values, plays, searches)
    exact = [fractions.Fraction(value) for value in values]
    weights = [fractions.Fraction(i * (i + 1), n * (n + 1)) for i in range(1, n + 1)]

    def mean_of(numbers):
        return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / sum(weights)

    def beside_one_of(number, seen, weight=sum(weights)):  # noqa: B008, it is the same for all
        return float((weight * seen + fractions.Fraction(number)) / (weight + 1))

    mean, square = mean_of(exact), mean_of([value**2 for value in exact])
    level = fast.average_loss(experience)
    # A step adds at most two roundings of 2^-53 to a number that later steps only shrink.
    near = functools.partial(pytest.approx, abs=4 * n * 2.0**-53)
    assert (experience.loss, experience.square) == near((float(mean), float(square)))
    assert experience.search == near(
        float(mean_of([x * is_search for x, is_search in zip(exact, searches, strict=True)]))
    )
    assert experience.stay == pytest.approx(float(mean_of(plays)), abs=4 * 4 * n * 2.0**-53)
    # The first losses of fresh arms in the same way, beside one of 1.
    firsts = [x for x, behind in zip(exact, plays, strict=True) if behind == 1]
    k = len(firsts)
    shares = [fractions.Fraction(3 * i * (i + 1), k * (k + 1) * (k + 2)) for i in range(1, k + 1)]
    fresh = sum((share * x for share, x in zip(shares, firsts, strict=True)), fractions.Fraction())
    assert (experience.draws, experience.fresh) == (k, near(float(fresh)))
    of_fresh_arms = beside_one_of(1, fresh, fractions.Fraction(k + 2, 3) if k else 0)
    assert level == near(min(beside_one_of(0.5, mean), of_fresh_arms))
    # Of the square and twice the mean, which add up to three times that error.
    assert fast.common_variance(experience) == pytest.approx(beside_one_of(0.25, square - mean**2), abs=n * 2.0**-49)
    assert 0.0 < level < 1.0
    assert min(*values, 0.5) - 2.0**-50 <= level <= max(*values, 0.5) + 2.0**-50


def test_nobody_need_lose_more_than_by_playing_at_random():
    # The last of nine draws lost 0.9 and all others 0.3, beside one of 1; kept arms lose ever more.
    draws = experience_of([0.3] * 8 + [0.9], plays=[1] * 9)
    fresh = 0.3 + 0.6 * 3 / 11
    assert fast.average_loss(draws) == pytest.approx((fresh * 11 / 3 + 0.5) / (11 / 3 + 1))
    for n in range(2, 100):
        draws = fast.after_loss(draws, 1.0, float(n), False)
    assert (draws.draws, draws.fresh) == (9, pytest.approx(fresh))
    assert fast.average_loss(draws) == pytest.approx((fresh * 11 / 3 + 1.0) / (11 / 3 + 1))


def test_before_the_first_reward_the_average_loss_is_one_half():
    assert fast.average_loss(experience_of([])) == 0.5
    assert fast.common_variance(experience_of([])) == 0.25
    assert fast.sum_of_weights(0) == 0.0
    assert set(experience_of([])) == {0}


def test_a_strike_out_changes_nothing_but_the_strikes():
    experience = fast.Experience(rounds=7, loss=0.1, square=0.2, search=0.3, stay=0.4, draws=5, fresh=0.6, strikes=0.5)
    assert fast.after_strike(experience) == experience._replace(strikes=1.5)


@pytest.mark.parametrize("s", [1, 10, 1000])
@pytest.mark.parametrize("wary", [1.0, 4.0, 7.5])
def test_wariness_lasts_from_a_strike_out_at_round_s_to_round_wary_s(s, wary):
    experience = fast.NOTHING_LEARNED._replace(rounds=s, loss=0.5, square=0.5, strikes=1.0)
    rounds = s
    while fast.is_wary(settings_of(wary=wary), experience):
        rounds += 1
        experience = fast.after_loss(experience, 0.5, 1.0, False)
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
    b = slack * math.log(math.log(max(2 * everything.stay, 20)))
    assert arm.loss / max(b, 1.0) * (1 - 1e-12) <= found <= arm.loss
    # Hence scaled: a tenth of all losses, a tenth of the bound. Variances are known to some 2^-50 of 1.
    tenth, all_tenth = experience_of([x / 10 for x in values]), experience_of([x / 10 for x in [*others, *values]])
    scaled = fast.lower_bound(settings_of(slack=slack), all_tenth, tenth.loss, tenth.square, len(values))
    assert scaled == pytest.approx(found / 10, abs=1e-6)


def test_the_bound_of_one_play_has_the_variance_of_all_losses():
    # Half of a variance of 0.01 beside one play of variance 0, whose q is 1.
    everything = settled(0.5, 0.01, stay=50.0)
    b = math.log(math.log(100))
    expected = pytest.approx(0.9 - b * math.sqrt(0.01 / 2))
    assert fast.lower_bound(settings_of(), everything, 0.9, 0.81, 1) == expected
    # With 10 equal losses beside it that variance counts as one play of 1 + 12 / 3, and q is smaller.
    expected = pytest.approx(0.9 - b * math.sqrt(0.01 / 5 * fast.squared_weights(10)))
    assert fast.lower_bound(settings_of(), everything, 0.9, 0.81, 10) == expected
    # A variance of 0.04 has four times the weight of the common one.
    expected = pytest.approx(0.9 - b * math.sqrt((0.04 * 4 + 0.01) / 5 * fast.squared_weights(10)))
    assert fast.lower_bound(settings_of(), everything, 0.9, 0.85, 10) == expected
    # A bound is never below the average divided by b.
    assert fast.lower_bound(settings_of(), everything, 0.1, 0.01, 1) == pytest.approx(0.1 / b)


@pytest.mark.parametrize(("stay", "lasting"), [(0.0, 20), (1.0, 20), (10.5, 21), (50, 100), (5000, 10_000)])
def test_the_slack_is_that_of_twice_the_plays_that_arms_have_behind_them(stay, lasting):
    for slack in (0.9, 1.0, 2.0):
        b = max(slack * math.log(math.log(lasting)), 1.0)
        found = fast.lower_bound(settings_of(slack=slack), settled(0.5, 0.25, stay=stay), 1e-6, 1e-12, 1)
        assert found == pytest.approx(1e-6 / b)


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


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("first_look", [1.0, 3.0])
def test_debt_is_a_search_that_has_cost_more_than_one_minus_kappa_by_a_first_look(share, first_look):
    better = fast.Better(arms=4.0, losses=4.0 * share)
    assert fast.better_share(better) == share
    # After 94 rounds, 32 are remembered: in all, the losses of the search may be first_look beyond the share.
    due = (1.0 - share) * 0.5 + first_look / 32
    learned = fast.NOTHING_LEARNED._replace(rounds=94, loss=0.5)
    for search, expected in ((due, False), (due + 1e-12, True), (due - 1e-12, False)):
        assert fast.is_in_debt(settings_of(first_look=first_look), learned._replace(search=search), better) == expected
    assert not fast.is_in_debt(settings_of(first_look=first_look), experience_of([]), better)


@pytest.mark.parametrize("is_rising", [False, True])
def test_in_debt_any_arm_at_the_average_will_do(is_rising):
    # The target before is far above, or far below the average: in debt neither counts.
    before = 0.9 if is_rising else 0.1
    state, _ = told(ma.Forager(first_look=0.1), [0.5, 1.0, 0.25, 0.0])
    for search, in_debt in ((0.9, True), (0.1, False)):
        old = state._replace(target=before, experience=state.experience._replace(search=search * state.experience.loss))
        old = old._replace(better=fast.Better(arms=1.0, losses=0.5))
        arrays = {name: part.copy() for name, part in old._asdict().items() if isinstance(part, np.ndarray)}
        after = tell(old._replace(**arrays), ask(old, 5), 0.5)
        level = fast.average_loss(after.experience)
        assert fast.is_in_debt(old.settings, after.experience, old.better) == in_debt
        assert after.target == (level if in_debt else fast.followed(before, level, 0.5))
        assert after.target != before or not in_debt


@pytest.mark.parametrize(
    ("level", "stay", "plays", "expected"),
    [
        # Until it has lost once: 1 / L (1 - L) plays, here 4 and 100 / 9.
        (0.5, 1000.0, 3, True),
        (0.5, 1000.0, 4, False),
        (0.1, 1000.0, 11, True),
        (0.1, 1000.0, 12, False),
        (0.9, 1000.0, 11, True),
        (0.9, 1000.0, 12, False),
        # But for a quarter of the plays that arms have.
        (0.1, 20.0, 4, True),
        (0.1, 20.0, 5, False),
        # The first one always.
        (0.1, 0.0, 0, True),
        (0.1, 3.9, 0, True),
        (0.1, 3.9, 1, False),
        # An average loss beyond 0 and 1 has no such number.
        (1.1, 20.0, 4, True),
        (-0.1, 20.0, 5, False),
    ],
)
def test_a_play_is_search_until_the_first_loss_or_a_quarter_of_what_arms_have(level, stay, plays, expected):
    assert fast.in_search(settled(0.5, 0.25, stay=stay), level, float(plays)) == expected


def test_search_and_stay_are_those_of_the_arms_that_were_played():
    # Coins of chance 1/2 until arm 0 has 1, 2, 3 … plays.
    state = begin(ma.Forager(slack=100.0).start(10), 0)
    stay = search = 0.0
    for n in range(1, 30):
        is_search = fast.in_search(state.experience, fast.average_loss(state.experience), n - 1.0)
        choice = ask(state, n)
        assert choice.arm == 0
        state = tell(state, choice, 0.75)
        stay += 3 / (n + 2) * (n - stay)
        search += 3 / (n + 2) * (0.25 * is_search - search)
        assert (state.experience.stay, state.experience.search) == (pytest.approx(stay), pytest.approx(search))
    # Of weights i (i + 1), the mean of i is (3 n + 1) / 4.
    assert state.experience.stay == pytest.approx((3 * 29 + 1) / 4)
    assert 0.0 < search < 0.25 * 10 / 29


def test_a_reward_of_an_arm_let_go_counts_as_one_of_an_arm_like_all():
    spec = ma.Forager(keep=2)
    state, choices = told(spec, [0.5] * 20)
    late = choices[3]
    assert late.arm not in state.arms
    for stay, is_search in ((0.5, True), (1.5, False), (40.0, False)):
        old = state._replace(experience=state.experience._replace(stay=stay, search=0.0))
        after = tell(old, late, 0.5)
        assert after.experience.stay == pytest.approx(stay + 3 / 23)
        assert after.experience.search == pytest.approx(3 / 23 * 0.5 * is_search)
        assert after.better == old.better


# ---------------------------------------------------------------- first impressions


def judged_at(a, y, better=fast.Better(arms=1.0, losses=0.5), plays=7, level=0.25):  # noqa: B008, a tuple
    """Judge an arm of which the gamma distribution has the shape a, with the average loss at y."""
    e = better.losses / (better.arms - better.losses)
    return fast.judged(better, settled(level, plays * level * level / y), level, (a - e) * level / y, plays)


def faded(better, probability, part):
    """With one more arm."""
    fading = min(100.0 / (better.arms + probability), 1.0)
    return fading * (better.arms + probability), fading * (better.losses + part)


@pytest.mark.parametrize("better", [(1.0, 0.5), (7.0, 2.0), (100.0, 95.0), (99.9, 0.5), (99.0, 50.0)])
@pytest.mark.parametrize("variance", [0.003, 0.05, 0.25])
@pytest.mark.parametrize("level", [0.02, 0.1, 0.3, 0.5, 0.9, 1.2])
def test_an_arm_is_judged_by_the_incomplete_gamma_function(level, variance, better):
    better = fast.Better(*better)
    e = better.losses / (better.arms - better.losses)
    for loss, plays in itertools.product([-0.1, 0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.5], [1, 2, 5, 30, 1000]):
        found = fast.judged(better, settled(level, variance), level, loss, plays)
        y = plays * level**2 / variance
        a = plays * level / variance * max(loss, 0.0) + e
        if y < 10_000:
            # At the end of the series, where terms are 1e-6 of it, they fall by at least 4 percent each, if y is below
            # 10,000: at most 2.4e-5 is left out; and five standard deviations leave out less than 2e-5.
            exact = gammainc(a, y), gammainc(a + 1, y) * a / y
            assert tuple(found) == pytest.approx(faded(better, *exact), abs=3e-5)
        elif a <= y:
            assert tuple(found) == pytest.approx(faded(better, 1.0, a / y), rel=1e-6)
        else:
            assert found == better
        assert 0.0 < found.losses < found.arms <= 100.0 * (1 + 1e-15)


@pytest.mark.parametrize("a", [1.0, 4.0, 100.0, 2000.0])
def test_five_standard_deviations_and_five_are_clear(a):
    clear = 5.0 * math.sqrt(a) + 5.0
    start = fast.Better(arms=1.0, losses=0.5)
    if a > clear:
        # Clearly above: nothing is learned. And not quite: something, of 1e-9 or less.
        assert judged_at(a, (a - clear) * (1 - 1e-6)) == start
        assert start.arms < judged_at(a, (a - clear) * (1 + 1e-6)).arms < 1.0 + 1e-6
    # Clearly below: it counts as one, at its mean. And not quite: as less than one.
    above, below = (a + clear) * (1 + 1e-6), (a + clear) * (1 - 1e-6)
    assert tuple(judged_at(a, above)) == (2.0, pytest.approx(0.5 + a / above, rel=1e-12))
    assert 2.0 - 2e-5 < judged_at(a, below).arms < 2.0


def test_where_the_edge_is_sharp_an_arm_counts_as_one_up_to_it():
    for y, is_sharp in ((10_001.0, True), (9_999.0, False)):
        for a in (y - 100.0, y + 100.0, y + 400.0):
            found = judged_at(a, y)
            # One standard deviation is 100. The series is known to 2.4e-5 of itself.
            sharp = (1.0, a / y) if a <= y else (0.0, 0.0)
            exact = sharp if is_sharp else (gammainc(a, y), gammainc(a + 1.0, y) * a / y)
            assert (found.arms - 1.0, found.losses - 0.5) == pytest.approx(exact, abs=3e-5)
        assert judged_at(y + 600.0, y) == fast.Better(arms=1.0, losses=0.5)


def test_an_average_loss_of_0_or_less_judges_nobody():
    better = fast.Better(arms=3.0, losses=1.0)
    for level in (0.0, -0.25):
        assert fast.judged(better, settled(0.25, 0.1), level, 0.0, 5) == better


@pytest.mark.parametrize("better", [(1.0, 0.5), (98.5, 40.0), (99.5, 40.0), (100.0, 99.0)])
def test_the_arms_fade_beyond_a_hundred(better):
    better = fast.Better(*better)
    found = judged_at(100.0, 1000.0, better)  # counts as one, at 1/10
    assert found.arms == pytest.approx(min(better.arms + 1.0, 100.0), rel=1e-15)
    assert found.losses == pytest.approx((better.losses + 0.1) * found.arms / (better.arms + 1.0), rel=1e-12)
    assert judged_at(9000.0, 100.0, better) == better  # none, and none fades


def test_arms_all_at_the_average_are_no_division_by_zero():
    better = fast.Better(arms=100.0, losses=100.0)  # e is at most 100 / 1e-9
    assert fast.judged(better, settled(0.5, 0.25), 0.5, 0.5, 1) == better
    sharp = fast.judged(better, settled(0.5, 0.25 * 1e-24), 0.5, 0.5, 1)
    assert tuple(sharp) == pytest.approx((100.0, 100.0))


def kappa_of(looks, experience, level, plays):
    """The mean of kappa over the last three quarters of these arms."""
    better, shares = fast.Better(arms=1.0, losses=0.5), []
    for look in looks:
        better = fast.judged(better, experience, level, look, plays)
        shares.append(fast.better_share(better))
    return np.mean(shares[len(shares) // 4 :])


@pytest.mark.parametrize("e", [0.5, 1.0, 2.0, 4.0])
def test_where_gaps_are_a_power_law_kappa_is_e_over_e_plus_1(e):
    # With 12 other seeds the mean was below by at most 0.017 (the arm at the start, and arms judged with too small an
    # e), with deviations of 0.008 or less: 0.05 is four of those beyond.
    dice = np.random.default_rng(7)
    near = pytest.approx(e / (e + 1), abs=0.05)
    true = 2 * 0.3 * dice.random(4000) ** (1 / e)
    looks = (dice.poisson(30 * true) / 30).tolist()
    assert kappa_of(looks, settled(0.3, 0.3), 0.3, 30) == near
    coins = (dice.binomial(100, true / 3) / 100).tolist()
    assert kappa_of(coins, settled(0.1, 0.09), 0.1, 100) == near


def test_the_first_look_is_over_when_it_tells_the_average_from_nothing():
    over = fast.is_first_look_over
    # 3 v / (L (1 - L))^2: 12 for coins of 1/2, 3 / 0.09 = 33.3 for those of 1/10 or 9/10, 48 · 0.1 where v is 0.1.
    assert not over(settings_of(), settled(0.5, 0.2499), 0.5, 11)
    assert over(settings_of(), experience_of([]), 0.5, 12)  # to the bit
    for level in (0.1, 0.9):
        assert not over(settings_of(), settled(level, 0.09), level, 33)
        assert over(settings_of(), settled(level, 0.09), level, 34)
    assert not over(settings_of(), settled(0.5, 0.1), 0.5, 4)
    assert over(settings_of(), settled(0.5, 0.1), 0.5, 5)
    assert not over(settings_of(first_look=6.0), settled(0.5, 0.1), 0.5, 9)
    assert over(settings_of(first_look=6.0), settled(0.5, 0.1), 0.5, 10)
    # An average of 1 tells nothing, and one beyond 1 is as far from it as one below.
    assert not over(settings_of(), settled(1.0, 0.1), 1.0, 10**9)
    assert over(settings_of(), settled(1.5, 0.1), 1.5, 1)


def test_an_arm_without_losses_is_judged_at_the_end_of_its_first_look():
    # L = 3/2 / (t + 5) and v = L / 2, so a look of first_look = 1 ends when t L (1 - L)^2 >= 1/2; one of 3, never.
    for first_look in (1.0, 3.0):
        state = begin(ma.Forager(first_look=first_look).start(100), 0)
        for n in range(1, 100):
            before = state.better
            level = 1.5 / (n + 5)
            is_last = n == 5 and first_look == 1.0
            assert (n * level * (1 - level) ** 2 >= 0.5) == (n >= 5)
            state = tell(state, ask(state, n), 1.0)
            assert (state.better != before) == is_last
            if is_last:
                assert tuple(state.better) == pytest.approx(fast.judged(before, state.experience, level, 0.0, 5))
            assert state.looks[0] == (math.inf if n >= 5 and first_look == 1.0 else 0.0)


def test_an_arm_is_judged_once_when_it_is_left_or_its_first_look_is_over():
    dice = random.Random(5)
    state = begin(ma.Forager(keep=8, first_look=1.0).start(10), 0)
    seen = collections.defaultdict(list)
    judged = set()
    reasons = collections.Counter()
    for t in range(1, 1500):
        choice, before = ask(state, t), state
        arm, slot = int(choice.arm), choice.slot
        # They wear out after 150 plays, so that others have a chance.
        reward = float(dice.random() < (0.1 if len(seen[arm]) > 150 else 0.95 - 0.1 * (arm % 7)))
        state = tell(state, choice, reward)
        seen[arm].append(1.0 - reward)
        n = len(seen[arm])
        experience, level = state.experience, fast.average_loss(state.experience)
        struck = state.struck > before.struck
        looks = state.looks[slot]
        if state.arms[slot] not in (arm, -1):  # it was left, and another one has its slot
            assert (looks, state.plays[slot]) == (0.0, 0)
            looks, is_left = math.inf, True
        else:
            is_left = struck or state.bounds[slot] > state.target
        is_over = n * (level * (1 - level)) ** 2 >= fast.common_variance(experience)
        reasons["again"] += arm in judged
        if arm in judged or not (is_left or is_over):
            assert state.better == before.better
            assert looks == (math.inf if arm in judged else pytest.approx(sum(seen[arm]) / n, abs=1e-14))
        else:
            # What was learned of the others, and of this arm until now; the target did not know it.
            expected = fast.judged(before.better, experience, level, sum(seen[arm]) / n, n)
            assert tuple(state.better) == pytest.approx(tuple(expected), rel=1e-9)
            assert looks == math.inf
            judged.add(arm)
            reasons[is_left, is_over] += 1
        share = fast.better_share(before.better)
        in_debt = (experience.search - (1.0 - share) * experience.loss) * (t + 2) / 3 > 1.0  # first_look
        assert state.target == (level if in_debt else fast.followed(before.target, level, share))
    assert min(reasons[True, False], reasons[False, True], reasons["again"]) >= 5


def test_an_arm_at_the_target_is_not_left():
    state, _ = told(ma.Forager(first_look=1e9), [1.0, 1.0, 1.0])

    def after(target, share):
        arrays = {name: part.copy() for name, part in state._asdict().items() if isinstance(part, np.ndarray)}
        experience = state.experience._replace(search=0.0)  # not in debt
        better = fast.Better(arms=1.0, losses=share)
        old = state._replace(**arrays, target=target, better=better, experience=experience, slot=0)
        return tell(old, ask(old, 4), 0.5)

    found = after(1.0, 0.5)
    bound = float(found.bounds[0])
    share = 1.1 * bound / fast.average_loss(found.experience)  # so that the target stays where it is
    for target, is_left in ((bound, False), (math.nextafter(bound, 0.0), True)):
        found = after(target, share)
        assert (found.target, float(found.bounds[0])) == (target, bound)
        assert (found.looks[0] == math.inf) == is_left
        assert (found.arms[found.slot] == 0) == (not is_left)


def test_an_average_loss_of_1_is_no_division_by_zero():
    # Losses may exceed 1. A first one of 1.5 and the half beside it make 1.
    state, _ = told(ma.Forager(), [-0.5, 0.5, -1.0, 1.0])
    assert state.experience.rounds == 4
    state, _ = told(ma.Forager(), [-0.5])
    assert fast.average_loss(state.experience) == 1.0


def test_an_arm_that_strikes_out_in_its_first_look_is_judged():
    state = begin(ma.Forager(first_look=1e6, slack=50.0).start(10), 0)
    for t in range(1, 300):
        state = tell(state, ask(state, t), 1.0)
    assert (state.plays[0], state.looks[0]) == (299, 0.0)
    while state.struck == 0:
        t, before = t + 1, state
        state = tell(state, ask(state, t), 0.0)
    level, loss = fast.average_loss(state.experience), (t - 299) / t
    expected = fast.judged(before.better, state.experience, level, loss, t)
    assert expected != before.better
    assert tuple(state.better) == pytest.approx(tuple(expected))


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
            choice = ask(state, t + 1)
            assert choice.arm == 0
            state, t = tell(state, choice, 0.0), t + 1
            gains = [1 + bet * (1 / level - 1) for bet in (0.5, 0.1, 0.02)]
            stakes = [max(stake, 1.0) * gain for stake, gain in zip(stakes, gains, strict=True)]
            assert (sum(stakes) / 3 > ((t + 2) / 3 + 1) / false_alarms) == (state.struck == 1), t
        assert state.experience.strikes == 1.0
        assert 0 not in state.arms.tolist()


def test_a_second_strike_out_soon_after_the_first_takes_half_of_the_evidence():
    state = begin(ma.Forager().start(10), 0)
    experience = fast.NOTHING_LEARNED._replace(rounds=298, loss=0.1, square=0.1)
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
    assert fast.fresh_slot(state, 7) == 1
    assert state.arms.tolist() == [0, 7, 2]
    assert (state.plays[1], state.losses[1], state.squares[1], state.looks[1]) == (0, 0.0, 0.0, 0.0)
    assert state.bold[1] == state.steady[1] == state.timid[1] == 1.0
    assert fast.good_slot(state, 0.0, -1) == 1  # the untried one
    assert fast.good_slot(state, 0.3, 1) == 0
    assert fast.good_slot(state, 0.2999, 1) == -1
    state.arms[0] = -1
    fast.place(state, 0, math.inf)
    assert fast.fresh_slot(state, 8) == 0  # rather where none is
    assert fast.good_slot(state, 0.0, 0) == 1


def test_an_arm_that_is_never_bad_is_never_left():
    assert {choice.arm for choice in told(ma.Forager(), [1.0] * 300)[1]} == {0}


def test_where_all_arms_are_alike_one_is_good_enough_in_debt_only():
    # Every loss is 1/2, as is the average: no bound exceeds it, and none is below a share of it for long.
    state = begin(ma.Forager(keep=8).start(200), 0)
    draws = collections.Counter()
    for t in range(1, 201):
        before = state
        state = tell(state, ask(state, t), 0.5)
        is_fresh = state.counts.arms > before.counts.arms
        in_debt = fast.is_in_debt(state.settings, state.experience, before.better)
        assert is_fresh == (not in_debt and not (state.bounds[state.slot] <= state.target and state.plays[state.slot]))
        draws[in_debt] += is_fresh
    assert draws[True] == 0
    assert draws[False] >= 30
    assert len(ma.Forager(keep=8).kept_arms(state)) == 8


@pytest.mark.parametrize("keep", [2, 7, 128])
def test_memory_is_what_is_kept(keep):
    spec = ma.Forager(keep=keep)
    for rounds in (1, 1000, 10**9):
        assert spec.slots(rounds) == keep
    state, choices = told(spec, [1.0, 0.0] * 150)
    assert len({choice.arm for choice in choices}) > 150  # good once, then bad: on to the next
    assert spec.kept_arms(state).tolist() == sorted(set(spec.kept_arms(state).tolist()))
    assert len(spec.kept_arms(state)) == keep
    assert sum(part.nbytes for part in state if isinstance(part, np.ndarray)) < 150 * keep + 300


def test_a_live_bandit_that_grows_keeps_as_many_arms_as_it_was_told():
    # A new bandit has room for 1,024 rounds; here about every other round takes a fresh arm.
    spec = ma.Forager(keep=1500)
    bandit = ma.Bandit(spec, seed=1)
    for t in range(2400):
        bandit.tell(bandit.ask(), float(t % 2 == 0))
    now = bandit.explain()
    assert now["arms"] == now["arms_drawn"] > 1200
    assert spec.kept_arms(bandit._state).tolist() == list(range(now["arms"]))


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
        choice = ask(state, t)
        regret += gaps[choice.arm]
        state = tell(state, choice, 1.0 - 2.0 * scale * gaps[choice.arm] * noise[t - 1])
    return regret


@pytest.mark.parametrize(("scale", "limit"), [(0.5, 87.0), (1 / 32, 205.0)])
def test_rewards_may_lie_close_together(scale, limit):
    # Any arm costs 1/2 a round: 500 in 1,000 rounds.
    regrets = np.array([regret_at_scale(scale, seed, 1000) for seed in range(100, 112)])
    # 100 runs with other seeds had 51 and 129, with deviations of 24 and 53, so 12 have standard errors of 7 and 15:
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


def test_a_snapshot_in_the_middle_of_a_first_look_goes_on_the_same():
    bandit = ma.Bandit(ma.Forager(), seed=5)
    dice = random.Random(2)
    for _ in range(60):
        bandit.tell(bandit.ask(), float(dice.random() < 0.6))
    while not 2 <= bandit.explain()["plays_of_arm"] < 12 or bandit._state.looks[bandit._state.slot] == math.inf:
        bandit.tell(bandit.ask(), float(dice.random() < 0.6))
    assert math.inf in bandit._state.looks  # others were judged
    copy = ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)))
    better = copy._state.better
    assert better == bandit._state.better
    for _ in range(100):
        reward = float(dice.random() < 0.6)
        for one in (bandit, copy):
            one.tell(one.ask(), reward)
        assert bandit.to_json() == copy.to_json()
    assert copy._state.better != better
    assert not np.isnan(copy._state.looks).any()


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
    for name in ("arms", "plays", "losses", "bounds", "bold", "looks", "better"):
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
        assert (now["share"], now["target"]) == (twin.share(), twin.target)
        assert now["tail_exponent"] == pytest.approx(twin.share() / (1 - twin.share()))
        assert now["search_share"] == (twin.past.search / twin.past.loss if twin.past.loss > 0.0 else None)
        assert now["is_in_debt"] == twin.is_in_debt()
        assert now["strike_outs"] == len(twin.strikes)
        assert now["is_wary"] == (t > 0 and twin.is_wary())
        assert now["plays_of_arm"] == len(twin.arm.losses)
        assert now["bound_of_arm"] == (twin.arm.bound if twin.arm.losses else None)
        assert (now["episode"], now["restarts"], now["last_restart"]) == (1, 0, None)
        json.dumps(now, allow_nan=False)
        seen.add((now["is_wary"], now["bound_of_arm"] is None, now["is_in_debt"]))
        decision = bandit.ask()
        is_good = decision.arm % 5 == 1 and t % 250 < 150
        reward = float(dice.random() < (0.95 if is_good else 0.3))
        bandit.tell(decision, reward)
        twin.told(decision.arm, reward)
    assert len(seen) >= 6


def test_the_trials_of_the_promises_strike_arms_out_and_let_others_go():
    # Otherwise those would be tried on runs in which nothing happens.
    runs = [Trial(spec, 600) for spec in examples() if isinstance(spec, ma.Forager)]
    for run in runs:
        run.play()
        assert run.policy.better.arms > 10.0
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
    # Two runs of 400 with other seeds: 813 on average, with a deviation of 430, so 200 have a standard error of 31:
    # 2.2 sqrt(2 T) = 984 is five of those above.
    assert math.sqrt(2 * 100_000) < regret.mean() < 2.2 * math.sqrt(2 * 100_000)


@pytest.mark.compiled
@pytest.mark.parametrize(("beta", "published"), [(0.8, 26_200), (1.0, 36_700), (1.2, 46_600)])
def test_in_the_world_of_the_figure_the_regret_is_a_sixth_of_the_published(beta, published):
    regret = final_regret(ma.Forager(), FIGURE.replace(reservoir=ma.PowerLaw(beta=beta)), 100_000, 10)
    # 20 runs with another seed had 3,450, 4,690 and 6,090, with deviations of 240 or less, so 10 have standard errors
    # of 76: a sixth is 4,370, 6,120 and 7,770, at least 12 of those above, and a ninth at least 7 below.
    assert published / 9 < regret.mean() < published / 6


@pytest.mark.compiled
@pytest.mark.parametrize("probability", [1e-3, 1e-4])
def test_where_arms_crash_the_regret_is_below_that_of_elimination_which_is_told_beta(probability):
    world = COINS.replace(drift=ma.Crash(probability=probability, to=0.0))
    ours, theirs = (final_regret(spec, world, 100_000, 20) for spec in (ma.Forager(), ma.Elimination(beta=1.0)))
    # 40 runs with another seed had 5,290 against 7,630 and 1,830 against 3,260, with deviations of a difference of some
    # 520: standard errors of 120 for 20, of which the differences are 20 and 12.
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


# ---------------------------------------------------------------- against fresh arms


def experienced(loss, fresh, search=0.0, rounds=10_000, draws=5_000):
    return fast.NOTHING_LEARNED._replace(rounds=rounds, loss=loss, fresh=fresh, draws=draws, search=search)


def test_a_search_is_not_too_dear_while_fresh_arms_earn_as_much():
    settings, better = ma.Forager().settings(), fast.Better(arms=100.0, losses=90.0)
    for fresh in (0.2, 0.5, 0.9):
        fresh_now = fast.fresh_loss(experienced(0.5, fresh))
        for factor, is_debt in ((1.0, False), (1.049, False), (1.051, True), (1.1, True)):
            loss = 1.0 - factor * (1.0 - fresh_now)
            past = experienced(loss, fresh, search=0.9 * loss)
            assert fast.is_in_debt(settings, past, better) == is_debt, (fresh, factor)


def test_more_than_a_twentieth_above_fresh_arms_is_worse_than_random():
    for fresh in (0.2, 0.5, 0.9):
        fresh_now = fast.fresh_loss(experienced(0.5, fresh))
        for factor, is_worse in ((0.5, False), (1.0, False), (1.049, False), (1.051, True)):
            assert fast.is_worse_than_random(experienced(factor * fresh_now, fresh)) == is_worse, (fresh, factor)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "world",
    [
        ma.World(ma.PowerLaw(0.3), ma.Rotting(rate=0.5), ma.Exact()),
        ma.World(ma.PowerLaw(1.0), ma.Rotting(rate=0.5)),
        ma.World(ma.PowerLaw(1.0), ma.JumpAt(play=1, size=-1.0)),
        ma.World(ma.PowerLaw(2.5), ma.Rotting(rate=0.03), ma.GapUniform()),
    ],
    ids=["by half, seen", "by half", "at once", "fast"],
)
def test_where_arms_spoil_at_once_it_loses_little_more_than_random_play(world):
    result = ma.simulate([ma.Forager(), ma.UniformPlay()], world, horizon=20_000, replications=5, seed=2)
    reward = {name: result.curve(name, "reward")[:, -1].mean() for name in result.policies}
    # A twentieth more, but for the averages' lag: at most 1.055 times as much with the seeds 20 to 24.
    assert 20_000 - reward["Forager"] < 1.07 * (20_000 - reward["UniformPlay"])


@pytest.mark.compiled
def test_one_good_arm_among_hundreds_of_worthless_ones_is_found():
    # Each run needs some 300 draws. Of the seeds 0 to 4, with 10 runs each, the worst run earned 0.975 a round.
    world = ma.World(ma.Empirical((1.0,) + (0.0,) * 300))
    result = ma.simulate(ma.Forager(), world, horizon=100_000, replications=10, seed=11)
    assert result.curve("Forager", "reward")[:, -1].min() > 0.9 * 100_000
