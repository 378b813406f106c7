"""MultiLayerRace: the choices of its twin, its layers, and what it costs where nothing is forged."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import multi_layer_race as fast
from manyarms.contract import Choice, best_among, expected, keyed, learn, pick
from tests.bases.finite import begun
from tests.twinned import blackboxes, crashing, horizons, plays_plainly_as_its_twin, subsamples

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

few_rounds = horizons.map(lambda horizon: min(horizon, 510))
bases = st.builds(ma.MultiLayerRace, scale=st.sampled_from([1.0, 0.1, 0.01]))

test_subsample_over_the_race_plays_as_its_twin = plays_plainly_as_its_twin(subsamples(bases), crashing, few_rounds, 12)
test_blackbox_over_the_race_plays_as_its_twin = plays_plainly_as_its_twin(blackboxes(bases), crashing, few_rounds, 8)

KEY = np.uint64(12345678901234567)


def after(spec, arms, horizon, rounds, reward_of):
    """The base after so many rounds; rewards by slot."""
    base = keyed(begun(spec, arms, horizon), KEY)
    for round in range(1, rounds + 1):
        slot, chance = pick(base, KEY, round)
        choice = Choice(slot=int(slot), arm=int(slot), probability=chance, block=1, round=round)
        base = learn(base, choice, reward_of(slot))
    return base


def test_layers_are_halves_of_each_other_and_there_are_log2_t_of_them():
    assert [fast.layers_for(float(t)) for t in (1, 2, 3, 1024, 1025, 2**40)] == [1, 1, 2, 10, 11, 32]
    for layers in (1, 2, 7):
        assert sum(fast.chance_of_layer(layers, layer) for layer in range(1, layers + 1)) == 1.0
        # The first 53 bits make the number: 2^-k is of layer k, and what is below 2^-layers of layer 1.
        for layer in range(1, layers + 1):
            assert fast.drawn_layer(layers, 2 ** (64 - layer)) == layer
        assert fast.drawn_layer(layers, 2 ** (64 - layers) - 1) == 1


def test_the_width_is_that_of_the_source():
    assert fast.width(9.0, 4) == 1.5 + 2.25
    base = begun(ma.MultiLayerRace(), 10, 1024)
    assert base.log_term == pytest.approx(math.log(4 * 10 * 1024 * 10 * 1024), rel=1e-14)


def test_active_sets_are_nested_and_what_a_layer_drops_is_dropped_below():
    dice = random.Random(3)
    base = after(ma.MultiLayerRace(scale=0.02), 6, 2000, 1500, lambda slot: float(dice.random() < 0.1 + 0.15 * slot))
    assert base.layers == 11
    active = [{slot for slot in range(6) if base.dropped[slot] < layer} for layer in range(1, 12)]
    assert all(lower <= upper for lower, upper in itertools.pairwise(active))
    assert active[-1]
    assert len(active[0]) < 6
    for layer in range(1, 12):
        assert base.turns[layer] == fast.least_played(base, layer)


def test_stated_chances_are_those_of_the_picks():
    dice = random.Random(4)
    base = after(ma.MultiLayerRace(scale=0.02), 5, 500, 200, lambda slot: float(dice.random() < 0.2 * slot))
    picked = [pick(base, KEY, round) for round in range(1001, 5001)]
    for slot in {int(slot) for slot, _ in picked}:
        chance = fast.chance_of_turn(base, slot)
        share = sum(one == slot for one, _ in picked) / len(picked)
        assert abs(share - chance) < 4.0 * math.sqrt(chance * (1.0 - chance) / len(picked))
    assert {chance == fast.chance_of_turn(base, slot) for slot, chance in picked} == {True}
    assert sum(fast.chance_of_turn(base, slot) for slot in range(5)) == 1.0


def test_among_some_arms_it_takes_the_least_played_active_one_even_if_all_were_dropped():
    spec = ma.MultiLayerRace(scale=0.02)
    base = after(spec, 3, 4000, 3000, lambda slot: float(slot == 2))
    allowed = np.array([True, True, False])
    assert max(base.dropped[:2]) >= 1
    chances = [spec.chance_among(base, slot, allowed) for slot in range(3)]
    assert sum(chances) == 1.0
    assert chances[2] == 0.0
    base.dropped[:2] = base.layers
    slot, chance = best_among(base, KEY, 5001, allowed, 3)
    assert slot in (0, 1)
    assert chance == 1.0
    assert best_among(base, KEY, 5001, np.zeros(3, dtype=np.bool_), 3) == (-1, 1.0)


def test_open_asks_teach_nothing_and_a_late_answer_belongs_to_the_layer_of_its_ask():
    base = keyed(begun(ma.MultiLayerRace(), 3, 1000), KEY)
    assert math.isnan(expected(base, 0))
    ask = next(round for round in range(1, 100) if fast.drawn_layer(10, fast.bits_at(KEY, round, 0)) == 3)
    base = learn(base, Choice(slot=1, arm=1, probability=1.0, block=1, round=ask), 2.0)
    assert base.rewards.plays.reshape(-1, 3)[2].tolist() == [0, 1, 0]
    assert base.rewards.sums.sum() == 1.0  # beyond [0, 1] is its end
    base.dropped[1] = 3
    base = learn(base, Choice(slot=1, arm=1, probability=1.0, block=1, round=ask), 1.0)
    assert base.rewards.plays.sum() == 1
    assert base.plays[1] == 2


def test_every_layer_has_to_drop_an_arm_which_the_papers_assumption_does_not_allow():
    """docs/theory/rivals.md: exact rewards 1 and 0; each layer that is drawn often enough plays the worse arm itself.

    Both widths of n plays each are below the gap from n = ceil(log_term / 0.1340) on: with x = sqrt(L / n), 2 x + 2 x^2
    < 1 for x < 0.3660. A layer drops arm 1 when it has so many plays of both.
    """
    spec = ma.MultiLayerRace(scale=0.02)
    base = after(spec, 2, 2**14, 3000, lambda slot: float(slot == 0))
    needed = math.ceil(base.log_term / ((math.sqrt(3.0) - 1.0) / 2.0) ** 2)
    seen = base.rewards.plays[: base.layers * 2].reshape(-1, 2)[:, 1]
    done = int(base.dropped[1])
    assert done >= 6
    assert all(abs(plays - needed) <= 1 for plays in seen[:6])


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf])
def test_a_wrong_scale_is_refused_in_words(scale):
    with pytest.raises(ValueError, match="MultiLayerRace: scale must be"):
        ma.MultiLayerRace(scale=scale)
