"""``beta="auto"``: what the estimate is made of, where it is right, and what it costs in room."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.contract import ask, begin, counts, fresh_mean, is_cramped, reward_of, tell
from manyarms.policies import blackbox as fast_blackbox
from manyarms.policies import elimination as fast_elimination
from manyarms.policies import tail as fast
from manyarms.policies.tail import (
    LEAST_BETA,
    LEVELS,
    MOST_BETA,
    cautious_beta,
    estimated_beta,
    new_tail,
    watch_fresh_arm,
    watch_moved_arm,
    watch_reward,
)
from tests.open_asks import left_open, settled
from tests.policies.test_theory import within_standard_errors
from tests.reference import tail as slow
from tests.twinned import FLIPS, check_same

PLAIN = {"log_base": 2, "log_factor": False, "cap": True}
NOISES = [ma.Bernoulli(), ma.GapUniform(), ma.BetaNoise(10.0), ma.Exact()]

AUTOS = [
    ma.Elimination(beta="auto"),
    ma.Blackbox(base=ma.UCB(), beta="auto"),
    ma.Blackbox(base=ma.Greedy(), beta="auto", warm_start=True),
    ma.Subsample(base=ma.Greedy(), beta="auto"),
    ma.SSUCB(beta="auto"),
    ma.CBT(beta="auto"),
    ma.UCBTASW(beta="auto", variation=1.0),
]


def empty_tail(slots=1, top=1.0):
    tail = begin(new_tail("auto", slots, top), np.uint64(1))
    for slot in range(slots):
        watch_fresh_arm(tail, slot)
    return tail


# ---------------------------------------------------------------- what it is made of


@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_an_arm_that_is_alive_dies_in_its_nth_play_with_odds_beta_over_n(beta):
    # The averages over gaps u^(1 / beta), by the midpoint rule.
    gaps = ((np.arange(10**6) + 0.5) / 10**6) ** (1 / beta)
    for n in (1, 2, 3, 7, 20):
        deaths = np.mean((1 - gaps) ** (n - 1) * gaps)
        survivals = np.mean((1 - gaps) ** n)
        assert deaths / survivals == pytest.approx(beta / n, rel=1e-3)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_every_level_has_the_true_beta_whatever_the_noise(beta, noise):
    # Every arm is played seven times, whatever comes of it.
    dice = np.random.default_rng(1)
    reservoir, noise_state = ma.PowerLaw(beta).start(), noise.start()
    deaths, survivals = np.zeros((2, 1000, 3))
    for arm in range(1000):
        tail = empty_tail()
        mean = fresh_mean(reservoir, np.uint64(dice.integers(2**64, dtype=np.uint64)))
        for bits in dice.integers(2**64, size=7, dtype=np.uint64):
            watch_reward(tail, 0, reward_of(noise_state, mean, bits))
        deaths[arm], survivals[arm] = tail.deaths[:3], tail.survivals[:3]
    for level in range(3):
        # The estimate solves an equation that is linear in beta, and whose two sides are equal on average.
        difference = deaths[:, level] - beta * survivals[:, level]
        assert within_standard_errors(difference, 0.0, errors=4.5), level  # 12 chances of 7e-6


@pytest.mark.parametrize("top", [1.0, 0.8, 0.5])
def test_the_estimate_is_that_of_its_twin(top):
    dice = np.random.default_rng(2)
    tail, twin = empty_tail(20, top), slow.Tail(top)
    arms = list(range(20))
    for step in range(3000):
        slot = int(dice.integers(20))
        reward = float(dice.choice([0.0, 1.0, 1.0, 1.0, 1.0, dice.uniform(-1.5, 2.0)]))
        watch_reward(tail, slot, reward)
        twin.saw(arms[slot], reward)
        if step % 7 == 0:
            arms[slot] = 20 + step
            watch_fresh_arm(tail, slot)
        elif step % 50 == 1:
            other = (slot + 1) % 20
            arms[other] = arms[slot]
            watch_moved_arm(tail, slot, other)
            arms[slot] = 20 + step
            watch_fresh_arm(tail, slot)
        if step % 100 == 0:
            for log_rounds in (1.0, 6.5, 20.0, 31.0):
                assert estimated_beta(tail, log_rounds) == twin.estimate(log_rounds)
                assert cautious_beta(tail, log_rounds) == twin.cautious(log_rounds)
    assert tail.deaths[tail.levels - 1 if top < 1.0 else 4] != 0.0


def test_it_begins_at_1_and_stays_within_its_bounds():
    tail = empty_tail()
    assert estimated_beta(tail, 20.0) == 1.0
    for reward, bound in ((1.0, LEAST_BETA), (0.0, MOST_BETA), (-5.0, MOST_BETA), (5.0, LEAST_BETA)):
        tail = empty_tail()
        for _ in range(100):
            watch_fresh_arm(tail, 0)
            watch_reward(tail, 0, reward)
        assert estimated_beta(tail, 20.0) == bound


def test_the_first_level_is_the_mean_of_first_losses():
    tail = empty_tail()
    rewards = np.random.default_rng(3).random(5000)
    for reward in rewards:
        watch_fresh_arm(tail, 0)
        watch_reward(tail, 0, float(reward))
    rate = 1.0 - rewards.mean()
    assert estimated_beta(tail, 1.0) == pytest.approx(rate / (1.0 - rate), rel=1e-3)


def test_levels_that_few_arms_came_to_change_little():
    # A thousand arms that lost 1/2 in their first play, one of which was played on and never lost again.
    tail = empty_tail()
    for _ in range(1000):
        watch_fresh_arm(tail, 0)
        watch_reward(tail, 0, 0.5)
    before = estimated_beta(tail, 20.0)
    for _ in range(1000):
        watch_reward(tail, 0, 1.0)
    assert before == 1.0
    assert estimated_beta(tail, 20.0) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("top", "levels"), [(1.0, LEVELS), (0.8, 3), (0.5, 1), (0.01, 1)])
def test_a_top_below_1_looks_less_deep(top, levels):
    assert new_tail("auto", 1, top).levels == levels
    assert top == 1.0 or levels == 1 or top ** -(2.0**levels) <= fast.MOST_WEIGHT


def test_caution_is_one_standard_error():
    tail = empty_tail()
    for reward in [0.0] * 99 + [1.0] * 97:
        watch_fresh_arm(tail, 0)
        watch_reward(tail, 0, reward)
    assert cautious_beta(tail, 1.0) == pytest.approx(0.9 * estimated_beta(tail, 1.0))
    assert cautious_beta(empty_tail(), 20.0) == LEAST_BETA


# ---------------------------------------------------------------- in the policies


@pytest.mark.parametrize("spec", AUTOS, ids=lambda spec: spec.label())
def test_explain_shows_the_present_estimate(spec):
    bandit = ma.Bandit(spec, seed=1)
    assert bandit.explain()["beta"] == 1.0
    for _ in range(200):
        bandit.tell(bandit.ask(), 1.0)
    assert LEAST_BETA <= bandit.explain()["beta"] < 0.7
    told = ma.Bandit(spec.replace(beta=2.0), seed=1)
    assert "beta" not in told.explain()


@pytest.mark.parametrize("spec", AUTOS, ids=lambda spec: spec.label())
def test_anything_else_is_refused_in_words(spec):
    owner = type(spec).__name__
    with pytest.raises(ValueError, match=f"{owner}: beta must be a number above 0 or 'auto', not 'Auto'"):
        spec.replace(beta="Auto")
    with pytest.raises(ValueError, match=f"{owner}: beta must be above 0, not 0"):
        spec.replace(beta=0)
    if hasattr(spec, "top"):
        with pytest.raises(ValueError, match=f"{owner}: beta='auto' needs a top of at least 0.01, not 0.0"):
            spec.replace(top=0.0)


@pytest.mark.parametrize("spec", AUTOS, ids=lambda spec: spec.label())
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_there_is_room_whatever_is_estimated(spec, reward):
    # Nothing but losses makes beta 8, nothing but wins 0.1: the most and the fewest arms.
    for rounds in (1, 2, 3, 30, 700):
        for policy in (spec.with_horizon(rounds), spec.replace(horizon="doubling")):
            slots = policy.slots(rounds)
            state = begin(policy.start(rounds), np.uint64(1))
            for round in range(1, rounds + 1):
                choice = ask(state, round)
                assert choice.slot < slots
                state = tell(state, choice, reward)
                assert getattr(state.block, "size", 1) <= slots


@pytest.mark.parametrize("log_factor", [True, False])
def test_blocks_of_any_beta_fit_into_the_room_of_auto(log_factor):
    for rounds in (6, 30, 254, 65_534):
        rank = int(math.log2(rounds + 2))
        box = ma.Blackbox(base=ma.UCB(), beta="auto", log_factor=log_factor, horizon=rounds)
        elimination = ma.Elimination(beta="auto", log_factor=log_factor, cap=False, horizon=rounds)
        for beta in np.geomspace(LEAST_BETA, MOST_BETA, 300).tolist():
            for m in range(1, rank + 1):
                size = fast_blackbox.subsample_size(box.settings(), beta, m, float(rounds))
                assert size <= box.slots(rounds)
                size = fast_elimination.subsample_size(elimination.settings(), beta, m, float(rounds))
                assert size <= elimination.slots(rounds)


def test_a_known_horizon_has_a_pilot_and_then_one_sample():
    policy = ma.Subsample(base=ma.Greedy(), beta="auto", horizon=10_000)
    state = begin(policy.start(10_000), np.uint64(1))
    assert (state.block.length, state.block.size) == (100, 50)
    for round in range(1, 101):
        state = tell(state, ask(state, round), float(round % 2 or round > 50))
    # 50 first plays, half of them lost: beta is about 1, a bit less for those that were played on and won.
    assert state.block.length == 9_900
    assert 40 <= state.block.size <= 110
    size = state.block.size
    for round in range(101, 10_101):
        state = tell(state, ask(state, round), 1.0)
    assert (counts(state).blocks, state.block.size) == (2, size)


def test_late_rewards_of_arms_that_live_count_and_others_do_not():
    def beta_of(state):
        return spec.explain(state)["beta"]

    for warm in (True, False):
        spec = ma.Elimination(beta="auto", horizon="doubling", threshold=10.0, warm_start=warm)
        state, late = left_open(begin(spec.start(100), np.uint64(1)), 1)
        state = tell(state, ask(state, 2), 1.0)  # the last round of the first block
        assert counts(state).blocks == 2
        before = beta_of(state)
        state = settled(state, late, 0.0)
        assert counts(state).ignored == (0 if warm else 1)  # its arm stays, or has gone with its block
        assert beta_of(state) > before if warm else beta_of(state) == before
        fresh = next(round for round in range(3, 100) if ask(state, round).arm == 2)
        state, late, _ = left_open(state, fresh, fresh + 1)
        before = beta_of(state)
        assert beta_of(settled(state, late, 0.0)) > before  # the first loss of an arm in the open block


@pytest.mark.compiled
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("noise", [ma.Bernoulli(), ma.GapUniform()], ids=lambda noise: type(noise).__name__)
def test_not_knowing_beta_costs_elimination_little(beta, noise):
    world = ma.World(ma.PowerLaw(beta), ma.Still(), noise)
    specs = {"auto": ma.Elimination(beta="auto"), "told": ma.Elimination(beta=beta)}
    result = ma.simulate(specs, world, 20_000, replications=40, seed=1, checkpoints=1)
    regret = {name: result.final_regret(name).mean() for name in specs}
    assert 0.6 < regret["auto"] / regret["told"] < 1.25  # docs/theory/auto-beta.md measures 0.7 to 1.15


def test_survivors_stay_when_the_sample_becomes_smaller():
    # Losses first, so that beta and the samples grow; wins after that make the estimate fall below what survives.
    policy = ma.Elimination(beta="auto", threshold=10.0, warm_start=True, horizon="doubling", **PLAIN)
    state = begin(policy.start(3000), np.uint64(1))
    sizes = []
    for round in range(1, 3001):
        block = counts(state).blocks
        state = tell(state, ask(state, round), 0.0 if round < 60 else 1.0)
        if counts(state).blocks != block:
            sizes.append(state.block.size)
    assert counts(state).restarts == 0
    assert sizes == sorted(sizes)
    assert sizes[-1] == sizes[-2]  # no fresh arm at all: as many as survived


CRAMPED = [spec for spec in AUTOS if isinstance(spec, fast.SubsamplingPolicy)]
CRAMPED[0] = ma.Elimination(beta="auto", threshold=10.0)  # else it restarts before blocks become large


@pytest.mark.parametrize("spec", CRAMPED, ids=lambda spec: spec.label())
def test_a_state_with_room_for_likely_sizes_says_when_it_was_too_small(spec, monkeypatch):
    monkeypatch.setattr(fast, "LIKELY_BETA", 1.0)
    policy = spec.with_horizon(700)
    state, slots = policy.likely_start(700)
    assert slots < policy.slots(700)
    for reward, cramped in ((0.0, True), (1.0, False)):  # nothing but losses makes beta 8, nothing but wins 0.1
        state = begin(state, np.uint64(1))
        assert not is_cramped(state)
        for round in range(1, 701):
            choice = ask(state, round)
            assert choice.slot < slots
            state = tell(state, choice, reward)
        assert is_cramped(state) == cramped


@pytest.mark.parametrize("spec", [ma.Elimination(beta=1.0), ma.Blackbox(base=ma.UCB(), beta=2.0), ma.KFailure()])
def test_where_nothing_is_estimated_all_room_is_likely(spec):
    policy = spec.with_horizon(700)
    state, slots = policy.likely_start(700)
    assert slots == policy.slots(700)
    assert not is_cramped(begin(state, np.uint64(1)))


def test_a_beta_that_is_told_is_not_watched():
    tail = new_tail(1.5, 10)
    assert begin(tail, np.uint64(1)) == tail
    for verb in (watch_fresh_arm, watch_moved_arm):
        assert verb(tail, *[0] * (1 if verb is watch_fresh_arm else 2)) is None
    assert watch_reward(tail, 0, 0.0) is tail
    assert fast.watch_leaving_arm(tail, 0) is fast.opened(tail, 3) is fast.closed(tail, 3) is tail
    assert fast.top_of(tail, 0.7) == fast.limited(tail, 0.7, 1, 2) == 0.7
    assert fast.beta_for(tail, 20.0) == cautious_beta(tail, 20.0) == 1.5
    assert fast.fitted(tail, 7) == (tail, 7)
    assert not fast.is_estimated(tail)


# ---------------------------------------------------------------- the warm start of Blackbox


@pytest.mark.parametrize("base", [ma.UCB(width=0.1), ma.Greedy(), ma.SuccessiveElimination()], ids=lambda b: b.label())
@pytest.mark.parametrize("beta", [0.3, 1.0, "auto"])
def test_a_warm_start_keeps_good_arms_and_nothing_over_a_restart(base, beta):
    spec = ma.Blackbox(base=base, beta=beta, threshold=1.0, log_power=0.5, log_base=2, warm_start=True)
    log, result = check_same(spec, FLIPS, 3000, seed=7)
    assert result.final("it", "restarts")[0] >= 1
    arms = {b: np.unique(log.arm[log.block == b], return_counts=True) for b in range(1, int(log.block[-1]) + 1)}
    episode = {b: int(log.episode[log.block == b][0]) for b in arms}
    carried = []
    for b in list(arms)[:-1]:
        stayed = np.intersect1d(arms[b][0], arms[b + 1][0])
        if episode[b] == episode[b + 1]:
            carried.append(stayed.size)
            plays = dict(zip(*(part.tolist() for part in arms[b]), strict=True))
            assert all(plays[arm] >= arms[b][1].sum() / len(plays) for arm in stayed.tolist())
        else:
            assert stayed.size == 0
    assert sum(number > 0 for number in carried) >= 3


def test_without_a_word_on_the_warm_start_the_json_is_the_old_one():
    spec = ma.Blackbox(base=ma.UCB(), beta=1.0)
    assert "warm_start" not in spec.to_json()
    assert ma.spec_from_json(spec.to_json()) == spec
    warm = spec.replace(warm_start=True)
    assert ma.spec_from_json(warm.to_json()) == warm
    assert warm.digest() != spec.digest()
    with pytest.raises(ValueError, match="Blackbox: warm_start must be True or False, not 1"):
        spec.replace(warm_start=1)
