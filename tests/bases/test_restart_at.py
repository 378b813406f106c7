"""RestartAt: the choices of its twin, and what it forgets when."""

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import VERBS, Choice, learn, pick, plays_of, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import crashing, horizons, plays_plainly_as_its_twin

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* counts losses from top"),
    pytest.mark.once,
]

inside = st.sampled_from([ma.UCB(width=0.1), ma.Greedy(), ma.META(threshold=0.05), ma.MASTER(scale=0.001)])
restarting = st.builds(ma.RestartAt, inside, st.sampled_from([(2,), (20, 21, 90), (60, 200)]))
specs = st.builds(ma.Subsample, base=restarting, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7]))
few_rounds = horizons.map(lambda horizon: min(horizon, 200))

test_restart_at_plays_as_its_twin = plays_plainly_as_its_twin(specs, crashing, few_rounds, examples=20)


def reward_of(slot, round):
    return float(slot == (1 if round < 50 else 2))


def test_from_a_round_of_change_on_nothing_counts_that_was_before():
    told = picks(ma.RestartAt(ma.Greedy(), rounds=(50,)), 3, 100, reward_of)
    assert told[:49] == picks(ma.Greedy(), 3, 100, reward_of)[:49] == [0, 1, 2] + [1] * 46
    assert told[49:] == picks(ma.Greedy(), 3, 51, lambda slot, t: float(slot == 2))
    assert told[49:53] == [0, 1, 2, 2]


def answer(base, round, slot, reward):
    return learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round), reward)


def test_answers_to_asks_from_before_a_change_are_not_learned_after_it():
    base = begun(ma.RestartAt(ma.Greedy(), rounds=(50,)), 2, 100)
    base = answer(base, 10, 0, 1.0)
    base = answer(base, 50, 1, 0.5)  # the first answer since: that of round 49 never came
    assert base.inside.rewards.plays.tolist() == [0, 1]
    base = answer(base, 30, 0, 1.0)
    assert base.inside.rewards.plays.tolist() == [0, 1]
    base = answer(base, 60, 0, 0.25)
    assert base.inside.rewards.sums.tolist() == [0.25, 0.5]
    assert [plays_of(base, slot) for slot in range(2)] == [3, 1]


def test_a_base_that_has_heard_of_nothing_is_not_restarted():
    base = revise(begun(ma.RestartAt(ma.Greedy(), rounds=(50,)), 2, 100), 1, 4, 2.0)  # seen elsewhere
    base = answer(base, 70, 0, 1.0)
    assert base.inside.rewards.plays.tolist() == [1, 4]
    assert [plays_of(base, slot) for slot in range(2)] == [1, 4]


def test_the_base_inside_is_given_its_key_whenever_it_is_renewed(monkeypatch):
    kernels = VERBS["keyed"].kernels
    given = []
    monkeypatch.setitem(kernels, type(ma.Exp3S().start(1)), lambda base, key: (given.append(int(key)), base)[1])
    base = kernels[type(ma.RestartAt(ma.Exp3S(), rounds=(3, 5)).start(2))](
        begun(ma.RestartAt(ma.Exp3S(), rounds=(3, 5)), 2, 100), np.uint64(7)
    )
    before = len(given)
    for round in range(1, 7):
        base = answer(base, round, 0, 1.0)
    assert given[before - 1 :] == [7, 7, 7]


def test_where_a_phase_begins_it_knows_so():
    phases = ma.Phases((ma.Still(), ma.Rotting(0.1)), ends=(30,))
    spec = ma.RestartAt(ma.UCB(), rounds=tuple(end + 1 for end in phases.ends))
    base = begun(spec, 2, 100)
    for round in range(1, 31):
        assert base.passed == 0
        base = play(base, pick(base, 0, round)[0], 1.0, round)
    assert base.passed == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rounds": ()}, "rounds must be one or more; without a change, take the base itself"),
        ({"rounds": (5, 5)}, r"rounds must rise, not \(5, 5\)"),
        ({"rounds": (1,)}, "each of the rounds must be a whole number of at least 2, not 1"),
        ({"rounds": 7}, "rounds must be a list, not 7"),
    ],
)
def test_wrong_rounds_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"RestartAt: {message}"):
        ma.RestartAt(ma.UCB(), **fields)


def test_what_is_no_base_is_refused():
    with pytest.raises(TypeError, match=r"RestartAt: base must be a Base such as ma\.UCB"):
        ma.RestartAt(ma.SSUCB(beta=1.0), rounds=(3,))
