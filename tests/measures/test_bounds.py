"""Bounds: the rates are those of the paper's text, and what must be true of them is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.measures import (
    aucbt_asw_rate,
    blackbox_rate,
    changes_rate,
    elimination_rate,
    episodes_rate,
    lower_rate,
    restart_variation,
    stationary_rate,
    variation_rate,
)
from tests.reference import bounds as reference

exactly = settings(derandomize=True, deadline=None, max_examples=200)

horizons = st.integers(2, 10**9)
betas = st.one_of(st.sampled_from([0.5, 0.8, 1.0, 1.2, 2.0]), st.floats(0.05, 20.0))
numbers = st.integers(0, 10**9)
totals = st.one_of(st.just(0.0), st.floats(1e-9, 1e9))

close = {"rel": 1e-12}


# ---------------------------------------------------------------- as the paper writes them


@exactly
@given(horizons, betas, numbers, totals)
def test_every_rate_is_that_of_the_text(horizon, beta, number, total):
    by_changes = reference.by_changes(horizon, beta, number)
    by_variation = reference.by_variation(horizon, beta, total)
    smaller = min(by_changes, by_variation)
    assert stationary_rate(horizon, beta) == pytest.approx(reference.stationary(horizon, beta), **close)
    assert changes_rate(horizon, beta, number) == pytest.approx(by_changes, **close)
    assert variation_rate(horizon, beta, total) == pytest.approx(by_variation, **close)
    assert elimination_rate(horizon, beta, shifts=number, rotting_variation=total) == pytest.approx(smaller, **close)
    assert lower_rate(horizon, beta, rotting_changes=number, rotting_variation=total) == pytest.approx(smaller, **close)
    assert aucbt_asw_rate(horizon, beta, rotting_changes=number, rotting_variation=total) == pytest.approx(
        reference.aucbt_asw(horizon, beta, number, total), **close
    )
    blackbox = smaller if beta >= 1 else reference.blackbox_below_one(horizon, number, total)
    assert blackbox_rate(horizon, beta, changes=number, variation=total) == pytest.approx(blackbox, **close)


@exactly
@given(horizons, betas, numbers, totals)
def test_logs_are_the_third_power_to_base_two_on_every_upper_rate(horizon, beta, number, total):
    factor = reference.log_factor(horizon)
    for rate, known in (
        (stationary_rate, {}),
        (changes_rate, {"changes": number}),
        (variation_rate, {"variation": total}),
        (blackbox_rate, {"changes": number, "variation": total}),
        (elimination_rate, {"shifts": number, "rotting_variation": total}),
    ):
        assert rate(horizon, beta, **known, logs=True) == pytest.approx(rate(horizon, beta, **known) * factor, **close)
    assert episodes_rate([horizon], beta, logs=True) == pytest.approx(
        stationary_rate(horizon, beta, logs=True), **close
    )


def test_a_horizon_of_one_round_has_a_logarithm():
    assert stationary_rate(1, 1.0, logs=True) == 1.0


# ---------------------------------------------------------------- limits and order


@exactly
@given(horizons, betas)
def test_where_nothing_changes_every_rate_is_the_stationary_one(horizon, beta):
    still = stationary_rate(horizon, beta)
    assert elimination_rate(horizon, beta, shifts=0, rotting_variation=0.0) == pytest.approx(still, **close)
    assert lower_rate(horizon, beta, rotting_changes=0, rotting_variation=0.0) == pytest.approx(still, **close)
    assert blackbox_rate(horizon, beta, changes=0, variation=0.0) == pytest.approx(
        stationary_rate(horizon, max(beta, 1.0)), **close
    )
    # From above, as V goes to 0: its term at 1e-60 is T times 1e-60 to the power of 1 / 22 or more.
    assert variation_rate(horizon, beta, 1e-300) == pytest.approx(still, rel=horizon * 1e-300 ** (1 / (beta + 2)))


@exactly
@given(horizons, betas, numbers, totals)
def test_rates_grow_with_all_that_makes_it_harder(horizon, beta, number, total):
    slack = 1.0 + 1e-12
    assert changes_rate(horizon, beta, number) <= changes_rate(horizon, beta, number + 1) * slack
    assert variation_rate(horizon, beta, total) <= variation_rate(horizon, beta, 2 * total + 1.0) * slack
    for rate in (stationary_rate, lambda t, b: changes_rate(t, b, number), lambda t, b: variation_rate(t, b, total)):
        assert rate(horizon, beta) <= rate(horizon + 1, beta) * slack
    assert stationary_rate(horizon, beta) <= stationary_rate(horizon, 1.1 * beta) * slack
    assert stationary_rate(horizon, beta) <= horizon * slack


@exactly
@given(horizons, betas, numbers, totals)
def test_no_upper_rate_is_below_the_lower_one(horizon, beta, falls, total):
    # V_R <= L_R < T in every run. Rises come on top for the blackbox; shifts are taken to be as many as falls.
    falls = min(falls, horizon - 1)
    total = min(total, falls)
    lower = lower_rate(horizon, beta, rotting_changes=falls, rotting_variation=total)
    assert elimination_rate(horizon, beta, shifts=falls, rotting_variation=total) == lower
    assert blackbox_rate(horizon, beta, changes=falls, variation=total) >= lower * (1.0 - 1e-12)
    assert blackbox_rate(horizon, beta, changes=2 * falls, variation=2 * total) >= lower * (1.0 - 1e-12)
    assert aucbt_asw_rate(horizon, beta, rotting_changes=falls, rotting_variation=total) >= lower * (1.0 - 1e-12)


def test_the_blackbox_pays_for_beta_below_one_and_has_no_jump_there():
    known = {"changes": 5, "variation": 2.0}
    assert blackbox_rate(10**6, 0.5, **known) > elimination_rate(10**6, 0.5, shifts=5, rotting_variation=2.0)
    assert blackbox_rate(10**6, 1 - 1e-12, **known) == pytest.approx(blackbox_rate(10**6, 1.0, **known), rel=1e-9)


def test_one_change_in_each_round_or_variation_of_one_a_round_costs_everything():
    assert changes_rate(10**6, 0.7, 10**6 - 1) == pytest.approx(10**6)
    assert variation_rate(10**6, 0.7, 10**6) == pytest.approx(10**6 + stationary_rate(10**6, 0.7))


def test_the_experiment_of_the_paper_has_the_rates_its_text_gives():
    # Section 7: V is constant up to logarithms and L of order T at beta = 1: T^(2/3) against T^(3/4).
    for t in (10**6, 10**9, 10**12):
        assert elimination_rate(t, 1.0, shifts=t, rotting_variation=1.0) / t ** (2 / 3) == pytest.approx(1, abs=0.11)
        assert aucbt_asw_rate(t, 1.0, rotting_changes=t, rotting_variation=1.0) / t**0.75 == pytest.approx(1, abs=0.32)


@exactly
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), betas)
def test_episodes_sum_up_to_at_most_equal_ones(lengths, beta):
    # Jensen's inequality, as at the end of both proofs; with equality for equal lengths.
    total = sum(lengths)
    bound = changes_rate(total, beta, len(lengths) - 1)
    assert stationary_rate(total, beta) * (1.0 - 1e-12) <= episodes_rate(lengths, beta) <= bound * (1.0 + 1e-12)
    equal = episodes_rate([lengths[0]] * len(lengths), beta)
    assert equal == pytest.approx(changes_rate(lengths[0] * len(lengths), beta, len(lengths) - 1), rel=1e-12)


@exactly
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), betas)
def test_episodes_with_as_much_variation_as_a_restart_needs_keep_the_rate_in_it(lengths, beta):
    # Section A.5, Hölder's inequality: the last episode need not have any.
    total = math.fsum(restart_variation(length, beta) for length in lengths[:-1])
    assert episodes_rate(lengths, beta) <= variation_rate(sum(lengths), beta, total) * (1.0 + 1e-12)


def test_no_episodes_cost_nothing():
    assert episodes_rate([], 1.0) == 0.0


# ---------------------------------------------------------------- arrays and errors


def test_arrays_are_broadcast_and_numbers_stay_numbers():
    table = variation_rate(np.array([[100], [10_000]]), 1.0, np.array([0.0, 1.0, 2.0]), logs=True)
    assert table.shape == (2, 3)
    assert table[1, 2] == variation_rate(10_000, 1.0, 2.0, logs=True)
    assert type(variation_rate(np.int64(100), 1.0, np.float64(0.5))) is float
    assert blackbox_rate([10, 100], [0.5, 2.0], changes=[0, 1]).tolist() == [
        blackbox_rate(10, 0.5, changes=0),
        blackbox_rate(100, 2.0, changes=1),
    ]
    assert restart_variation([4, 9], 1.0).tolist() == [0.5, 1 / 3]


def test_episodes_have_one_sum_for_each_beta():
    for logs in (False, True):
        found = episodes_rate([10, 20, 30], [[1.0], [2.0]], logs=logs)
        assert found.shape == (2, 1)
        assert found.ravel().tolist() == pytest.approx(
            [episodes_rate([10, 20, 30], beta, logs=logs) for beta in (1.0, 2.0)], **close
        )
    assert type(episodes_rate([10, 20], 1.0)) is float
    assert episodes_rate([], [1.0, 2.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stationary_rate(0, 1.0), "stationary_rate: horizon must be at least 1, not 0"),
        (lambda: stationary_rate(10, 0.0), "stationary_rate: beta must be above 0, not 0"),
        (lambda: stationary_rate("many", 1.0), "stationary_rate: horizon must hold numbers, not 'many'"),
        (lambda: stationary_rate(math.inf, 1.0), "stationary_rate: horizon must be finite, not inf"),
        (lambda: stationary_rate(None, 1.0), "stationary_rate: horizon must hold numbers, not None"),
        (lambda: stationary_rate([10, None], 1.0), "stationary_rate: horizon must hold numbers, not None"),
        (lambda: stationary_rate(10**400, 1.0), "stationary_rate: horizon must be at most 1.8e308, not 1000"),
        (
            lambda: stationary_rate([10, 100], [1.0, 2.0, 3.0]),
            r"stationary_rate: arrays must .* not horizon \(2,\), beta \(3,\); give equal lengths, or single numbers",
        ),
        (lambda: changes_rate([10, 20], 1.0, [1, 2, 3]), r"changes_rate: .* horizon \(2,\), changes \(3,\)"),
        (lambda: variation_rate([10, 20], 1.0, [1, 2, 3]), r"variation_rate: .* horizon \(2,\), variation \(3,\)"),
        (
            lambda: elimination_rate(1e4, 1.0, shifts=[1, 2, 3], rotting_variation=[1, 2]),
            r"elimination_rate: .* not shifts \(3,\), rotting_variation \(2,\)",
        ),
        (lambda: blackbox_rate([1, 2], 1.0, changes=[1, 2, 3]), r"blackbox_rate: .* horizon \(2,\), changes \(3,\)"),
        (lambda: lower_rate([1, 2], 1.0, rotting_changes=[1, 2, 3]), r"lower_rate: .*, rotting_changes \(3,\)"),
        (lambda: aucbt_asw_rate([1, 2], 1.0, rotting_changes=[1, 2, 3]), r"aucbt_asw_rate: .*, rotting_changes \(3,\)"),
        (lambda: restart_variation([1, 2], [1.0, 2.0, 3.0]), r"restart_variation: .* length \(2,\), beta \(3,\)"),
        (lambda: changes_rate(10, 1.0, -1), "changes_rate: changes must be at least 0, not -1"),
        (lambda: variation_rate(10, 1.0, [0.5, -0.5]), "variation_rate: variation must be at least 0, not -0.5"),
        (lambda: blackbox_rate(10, 1.0), "blackbox_rate: neither changes nor variation is given; give one or both"),
        (lambda: blackbox_rate(10, -1.0, changes=1), "blackbox_rate: beta must be above 0, not -1"),
        (lambda: elimination_rate(10, 1.0), "neither shifts nor rotting_variation is given"),
        (lambda: elimination_rate(10, 1.0, shifts=math.nan), "elimination_rate: shifts must be finite, not nan"),
        (lambda: lower_rate(10, 1.0), "lower_rate: neither rotting_changes nor rotting_variation is given"),
        (lambda: aucbt_asw_rate(10, 1.0), "aucbt_asw_rate: neither rotting_changes nor rotting_variation is given"),
        (lambda: aucbt_asw_rate(10, 1.0, rotting_changes=-2), "rotting_changes must be at least 0, not -2"),
        (lambda: episodes_rate([5, 0], 1.0), "episodes_rate: lengths must be at least 1, not 0"),
        (lambda: restart_variation(0, 1.0), "restart_variation: length must be at least 1, not 0"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
