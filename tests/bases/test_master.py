"""MASTER: the choices of its twin, its blocks and copies, and when its tests can be met."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.master import radius, radius_factor, rho
from manyarms.compiled import replaced
from manyarms.contract import Choice, best_among, keyed, learn, pick, plays_of
from tests.bases.finite import begun
from tests.twinned import crashing, horizons, plays_plainly_as_its_twin, trending

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* counts losses from top"),
    pytest.mark.once,
]

masters = st.builds(
    ma.MASTER,
    scale=st.sampled_from([1.0, 0.003, 0.001, 0.0002]),
    delta=st.sampled_from([None, 0.5]),
    width=st.sampled_from([2.0, 0.1]),
)
specs = st.builds(ma.Subsample, base=masters, beta=st.just(1.0), arms=st.sampled_from([1, 2, 5, 9]))
few_rounds = horizons.map(lambda horizon: min(horizon, 200))

test_master_plays_as_its_twin = plays_plainly_as_its_twin(specs, crashing, few_rounds, examples=15)
test_master_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=8)


def played(spec, arms, horizon, reward_of, rounds, key=5):
    """All states, one for each round, arrays as they are at the end."""
    base = keyed(begun(spec, arms, horizon), np.uint64(key))
    states = []
    for round in range(1, rounds + 1):
        slot, chance = pick(base, np.uint64(key), round)
        states.append(base)
        base = learn(
            base, Choice(slot=slot, arm=slot, probability=chance, block=1, round=round), reward_of(slot, round)
        )
    return base, states


def test_radii_are_those_of_the_paper():
    # 6 (log2(10^6) + 1) log(10^12) = 6 · 20.9316 · 27.6310 = 3470.2; rho(1000) = 0.1 + 0.01 for 10 arms.
    assert radius_factor(1.0, 0.0, 1e6) == pytest.approx(3470.2, rel=1e-4)
    assert rho(10, 1000.0) == pytest.approx(0.11)
    assert radius(begun(ma.MASTER(), 10, 10**6), 1000) == pytest.approx(381.72, rel=1e-4)
    # delta = 0.1 has log(10^7) = 16.118 in place of log(10^12).
    assert radius_factor(1.0, 0.1, 1e6) == pytest.approx(3470.2 * 16.118 / 27.631, rel=1e-4)


@pytest.mark.parametrize("arms", [1, 10, 1000])
@pytest.mark.parametrize("scale", [1.0, 0.001])
def test_the_shortest_alarms_are_where_the_radii_fall_below_1(arms, scale):
    base = begun(ma.MASTER(scale=scale), arms, 10**6)
    for worth, rounds in zip((9, 3), ma.MASTER(scale=scale).shortest_alarms(arms, 10**6), strict=True):
        # Where they cross, rho falls by a part of 1 / (2 rounds): to the round, up to rounding.
        assert worth * radius(base, rounds) <= 1.0 + 1e-9 < worth * radius(base, rounds - 1) + 2e-9
        assert worth * radius(base, max(rounds // 2, 1)) > 1.0


def test_in_practice_no_test_can_be_met():
    # K (9 · 3470.2)^2 = 9.75 · 10^9 for K = 10, and 2 K · 9 · 3470 more for the K / t in rho: less than 10^6.
    first, second = ma.MASTER().shortest_alarms(10, 10**6)
    assert first == pytest.approx(9.754e9, rel=2e-3)
    assert second == pytest.approx(9.754e9 / 9, rel=2e-3)
    # The horizon at which a block of the whole run could just be enough lies between these two.
    assert ma.MASTER().shortest_alarms(10, 10**9)[1] > 10**9
    assert ma.MASTER().shortest_alarms(10, 10**10)[1] < 10**10


def test_without_alarms_blocks_double():
    _, states = played(ma.MASTER(), 3, 1000, lambda slot, t: 0.5, 63)
    assert [base.rank for base in states] == [rank for rank in range(6) for _ in range(2**rank)]
    assert [base.told for base in states] == [told for rank in range(6) for told in range(2**rank)]
    assert all(base.control <= base.rank and base.restarts == 0 for base in states)
    assert {base.control for base in states if base.rank == 5} > {5}  # shorter copies, too


def test_copies_begin_as_often_as_they_should():
    # In a block of 2^10 rounds, copies of one round begin with probability rho(2^10) / rho(1) in each round.
    arms, counted, rounds = 4, 0, 2**11 - 1
    _, states = played(ma.MASTER(), arms, 10_000, lambda slot, t: 0.5, rounds)
    for base in states[2**10 - 1 :]:
        counted += base.control == 0
    chance = rho(arms, 1024.0) / rho(arms, 1.0)
    # 1024 coins of 0.011: 11.3 on average, standard deviation 3.3, five of these.
    assert counted / 1024 == pytest.approx(chance, abs=5 * math.sqrt(chance / 1024))
    assert counted > 0


def paid(base, rounds, reward, first_round=1):
    """The base when so many rounds more have paid that."""
    for number in range(rounds):
        slot, chance = pick(base, np.uint64(5), first_round + number)
        choice = Choice(slot=slot, arm=slot, probability=chance, block=1, round=first_round + number)
        base = learn(base, choice, reward)
    return base


def test_a_copy_that_earns_more_than_was_promised_starts_all_over():
    # Two arms, radius 0.05 rho: nine of them above 0.05 are less than 1 from rho(2) = 1 + 1 on. So every copy of two
    # rounds or more that earns 1 in all of them is too good for a block whose least value was 0.05.
    base = paid(replaced(begun(ma.MASTER(), 2, 1000), factor=0.05), 15, 1.0)
    assert (base.rank, base.told) == (4, 0)
    assert paid(base, 16, 1.0, 16).restarts == 0  # values of 1 promise as much
    base = paid(replaced(begun(ma.MASTER(), 2, 1000), factor=0.05), 15, 1.0)
    base = paid(replaced(base, least=0.05), 16, 1.0, 16)
    assert base.restarts == 1


def test_values_that_nothing_lives_up_to_start_all_over():
    # Two arms, radius 0.2 rho, values of 1 and rewards of 0: that is too much if 0.6 rho <= 1. rho(2) = 2 and
    # rho(3) = 1.48, and the first block with three rounds is the third, which begins with round 4.
    base = paid(replaced(begun(ma.MASTER(), 2, 1000), factor=0.2), 5, 0.0)
    assert (base.restarts, base.rank, base.told) == (0, 2, 2)
    base = paid(base, 1, 0.0, 6)
    assert (base.restarts, base.rank, base.told) == (1, 0, 0)


def test_of_some_arms_it_plays_that_with_the_largest_index():
    base, _ = played(ma.MASTER(), 3, 1000, lambda slot, t: float(slot == 1), 40)
    first = base.control * 3
    base.indices[first : first + 3] = [0.3, 0.9, 0.5]
    assert best_among(base, 0, 41, [True, True, True], 3)[0] == 1
    assert best_among(base, 0, 41, [True, False, True], 3)[0] == 2
    assert best_among(base, 0, 41, [False] * 3, 3)[0] == -1
    assert sum(plays_of(base, slot) for slot in range(3)) == 40


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scale": 0}, "scale must be above 0, not 0"),
        ({"delta": 0}, "delta must be above 0, not 0"),
        ({"delta": 2}, r"delta must lie in \[0, 1\], not 2"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"MASTER: {message}"):
        ma.MASTER(**fields)


def test_wrong_questions_about_alarms_are_refused_in_words():
    with pytest.raises(ValueError, match="MASTER: horizon must be a whole number of at least 2, not 1"):
        ma.MASTER().shortest_alarms(10, 1)
