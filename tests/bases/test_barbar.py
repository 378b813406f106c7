"""BARBAR: the choices of its twin, its phases, and what it costs where nothing is forged."""

import itertools
import math

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import barbar as fast
from manyarms.bases.drawn import chance_in
from manyarms.contract import Choice, learn
from manyarms.states import copied
from tests.bases.finite import begun
from tests.twinned import blackboxes, crashing, horizons, plays_plainly_as_its_twin, subsamples

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

few_rounds = horizons.map(lambda horizon: min(horizon, 510))
bases = st.builds(ma.BARBAR, scale=st.sampled_from([1.0, 2.0**-10, 2.0**-14, 1e-9]))

test_subsample_over_barbar_plays_as_its_twin = plays_plainly_as_its_twin(subsamples(bases), crashing, few_rounds, 15)
test_blackbox_over_barbar_plays_as_its_twin = plays_plainly_as_its_twin(blackboxes(bases), crashing, few_rounds, 8)


def played(base, slot, reward, chance=None):
    chance = chance_in(base, slot) if chance is None else chance
    return learn(base, Choice(slot=slot, arm=slot, probability=chance, block=1, round=1), reward)


def test_the_level_is_that_of_the_source():
    # 1024 log(8 K log2(T) / delta) with K = 10, T = 1024 and delta = 1/T.
    assert fast.level_for(1.0, 10, 1024.0) == pytest.approx(1024 * math.log(8 * 10 * 10 * 1024), rel=1e-14)
    assert fast.level_for(0.25, 10, 1024.0) == pytest.approx(256 * math.log(8 * 10 * 10 * 1024), rel=1e-14)


def test_gaps_after_a_phase_are_those_of_the_plan():
    base = begun(ma.BARBAR(scale=2.0**-10), 2, 1024)
    planned = math.log(8 * 2 * 10 * 1024)
    assert base.planned.tolist() == pytest.approx([planned, planned])
    rounds = math.ceil(2 * planned)
    for number in range(rounds):
        assert base.least_gap == 1.0
        base = played(base, number % 2, float(number % 2))
    # By plan, arm 1 paid 1 in half of the rounds: r_1 = rounds / 2 / planned, r_0 = 0; r_* = r_1 - 1/16.
    best = rounds // 2 / planned - 1 / 16
    assert base.gaps.tolist() == pytest.approx([best, 0.5])
    assert base.planned.tolist() == pytest.approx([planned / best**2, 4 * planned])
    assert base.left == math.ceil(base.planned.sum())
    assert base.plays.tolist() == [rounds // 2 + rounds % 2, rounds // 2]


def test_late_answers_count_by_how_much_likelier_their_arm_has_become():
    base = begun(ma.BARBAR(scale=2.0**-10), 2, 1024)
    base = played(base, 1, 1.0, chance=0.25)
    assert base.sums.tolist() == [0.0, 2.0]
    assert played(copied(base), 1, 7.0).sums.tolist() == [0.0, 3.0]  # and beyond [0, 1] is its end


def test_however_small_the_scale_gaps_and_phases_stay_finite():
    base = begun(ma.BARBAR(scale=1e-24), 3, 1000)
    for number in range(200):
        base = played(base, number % 3, 0.0)
    assert base.least_gap == fast.LEAST_GAP
    assert base.left > 0
    assert math.isfinite(base.total)


def test_it_plays_every_arm_in_every_phase_which_the_papers_assumption_does_not_allow():
    """docs/theory/rivals.md: exact rewards 1 and 1/2; in each phase arm 1 gets some 4 level plays, its share.

    So its plays are no multiple of log T alone, but of that times the number of phases, which is about log4(T).
    """
    plays, phases = [], 0
    base = begun(ma.BARBAR(scale=2.0**-10), 2, 4096)
    owed = 0.0
    while phases < 5:
        owed += chance_in(base, 1)  # as if the draws were as even as can be
        slot = 1 if owed >= 0.5 else 0
        owed -= slot
        before = base.least_gap
        base = played(base, slot, 0.5 if slot else 1.0)
        if base.least_gap < before:
            phases += 1
            plays.append(int(base.plays[1]))
    rises = [after - before for before, after in itertools.pairwise(plays)]
    # The gap is found to be between 1/2 - 1/16 - 1/16 and 1/2 + 1/16, but for rounding.
    assert all(base.level / 0.6**2 < rise < base.level / 0.35**2 for rise in rises)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, "all"])
def test_a_wrong_scale_is_refused_in_words(scale):
    with pytest.raises(ValueError, match="BARBAR: scale must be"):
        ma.BARBAR(scale=scale)
