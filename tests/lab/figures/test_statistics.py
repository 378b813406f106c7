"""Statistics: intervals, paired differences and slopes against hand computed values and scipy."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import manyarms as ma
from manyarms.intervals import means_and_half_widths
from manyarms.lab.figures.statistics import (
    Grid,
    difference,
    final_regrets,
    log_log_slope,
    number,
    paired_difference,
    slope_over_horizons,
    slope_within,
    with_half_width,
)
from manyarms.lab.running.files import CellResult
from manyarms.lab.studies.study import Study
from manyarms.trace import COLUMNS

STUDY = Study.of(
    "small",
    policies={"one": ma.UniformPlay(), "other": ma.SSUCB(beta=1.0)},
    worlds={"still": ma.World(ma.PowerLaw(beta=1.0))},
    horizons=[100, 1000],
    replications=5,
    checkpoints=20,
)


def result_of(index, regret, first=0, study=STUDY):
    """A cell whose regret is given at every checkpoint, or as a function of the round and the replication."""
    rounds = study.rounds_kept(study.cells[index])
    values = np.zeros((len(regret), rounds.size, len(COLUMNS)))
    values[:, :, 0] = np.asarray(regret)
    return CellResult(study, index, first, values)


def test_intervals_are_student_s():
    values = np.random.default_rng(1).normal(size=(12, 4)) ** 2
    means, half_widths = means_and_half_widths(values)
    low, high = scipy.stats.t.interval(0.95, 11, loc=values.mean(axis=0), scale=scipy.stats.sem(values))
    np.testing.assert_allclose(means, (low + high) / 2)
    np.testing.assert_allclose(half_widths, (high - low) / 2, rtol=1e-4)


def test_one_replication_has_no_interval():
    means, half_widths = means_and_half_widths(np.array([[1.0, 2.0]]))
    assert means.tolist() == [1.0, 2.0]
    assert np.isnan(half_widths).all()
    assert not paired_difference([3.0], [1.0]).is_clear
    fit = log_log_slope([1, 10], np.array([[1.0, 10.0]]))
    assert fit.slope == pytest.approx(1.0)
    assert math.isnan(fit.half_width)


def test_differences_are_paired():
    # by hand: differences 1, 2, 3; sd 1; t(2) = 4.3027; 4.3027 / sqrt(3) = 2.4842
    found = paired_difference([11.0, 102.0, 1003.0], [10.0, 100.0, 1000.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(2.4842, abs=1e-4)
    assert (found.pairs, found.is_clear) == (3, False)
    assert paired_difference([11.0, 101.5, 1001.0], [10.0, 100.0, 1000.0]).is_clear


def test_a_difference_is_clear_where_scipy_s_paired_test_says_so():
    random = np.random.default_rng(2)
    verdicts = []
    for shift in np.linspace(0.0, 1.0, 40):
        base = random.normal(size=30)
        first, second = base + shift + random.normal(size=30), base
        verdicts.append(paired_difference(first, second).is_clear)
        assert verdicts[-1] == (scipy.stats.ttest_rel(first, second).pvalue < 0.05)
    assert set(verdicts) == {False, True}


pairs = st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 2), min_size=2, max_size=20)


@given(pairs)
def test_a_difference_turned_round_changes_its_sign(values):
    first, second = np.array(values).T
    one, other = paired_difference(first, second), paired_difference(second, first)
    assert one.mean == -other.mean
    assert one.half_width == pytest.approx(other.half_width)
    assert one.is_clear == other.is_clear
    assert not paired_difference(first, first).is_clear


def test_slopes_are_those_of_least_squares():
    x = np.array([10.0, 20.0, 70.0, 500.0])
    values = np.random.default_rng(3).gamma(4.0, size=(9, 4)) * x**0.6
    fit = log_log_slope(x, values)
    line = scipy.stats.linregress(np.log(x), np.log(values.mean(axis=0)))
    assert fit.slope == pytest.approx(line.slope)
    assert math.log(fit.factor) == pytest.approx(line.intercept)
    assert fit.points == 4


def test_a_slope_of_two_points_by_hand():
    # means 2 and 20 at 1 and 100: slope log 10 / log 100 = 1/2. A replication moves it by (v2 / 20 - v1 / 2) / log 100:
    # (0.9 - 0.5) / 4.6052 and (1.1 - 1.5) / 4.6052, so sd = 0.4 * sqrt(2) / 4.6052, and t(1) / sqrt(2) = 8.9846
    fit = log_log_slope([1.0, 100.0], np.array([[1.0, 18.0], [3.0, 22.0]]))
    assert fit.slope == pytest.approx(0.5)
    assert fit.half_width == pytest.approx(8.9846 * 0.4 * math.sqrt(2) / 4.60517, rel=1e-4)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_change_a_slope(unit_of_x, unit_of_y):
    x = np.array([10.0, 30.0, 100.0])
    values = np.random.default_rng(4).gamma(5.0, size=(6, 3)) * x
    one, other = log_log_slope(x, values), log_log_slope(x * unit_of_x, values * unit_of_y)
    assert other.slope == pytest.approx(one.slope)
    assert other.half_width == pytest.approx(one.half_width)


def test_the_interval_of_a_slope_is_that_of_a_joint_bootstrap():
    random = np.random.default_rng(5)
    x = np.array([1e3, 1e4, 1e5])
    shared = random.gamma(6.0, size=(300, 1))
    values = (shared + random.gamma(6.0, size=(300, 3))) * x**0.5
    drawn = random.integers(300, size=(4000, 300))
    spread = np.std([log_log_slope(x, values[rows]).slope for rows in drawn])
    assert log_log_slope(x, values).half_width == pytest.approx(1.968 * spread, rel=0.05)


def test_what_replications_share_between_horizons_makes_no_spread():
    luck = np.random.default_rng(6).gamma(2.0, size=(20, 1))
    assert log_log_slope([10, 100], luck * [[10.0, 100.0]]).half_width == pytest.approx(0.0, abs=1e-12)


def test_intervals_of_slopes_hold_the_truth_as_often_as_they_say():
    random = np.random.default_rng(7)
    x = np.array([1e3, 1e4, 1e5])
    held = 0
    for _ in range(1000):
        fit = log_log_slope(x, (3.0 + random.gamma(4.0, size=(20, 3))) * x**0.5)
        held += abs(fit.slope - 0.5) <= fit.half_width
    assert 0.93 <= held / 1000 <= 0.97


@pytest.mark.parametrize(
    ("x", "row"), [([10], [5.0]), ([10, 10], [5.0, 6.0]), ([1, 10], [0.0, 5.0]), ([1, 2], [-1, 2])]
)
def test_where_no_line_can_be_fitted_there_is_no_slope(x, row):
    assert math.isnan(log_log_slope(x, np.array([row, row], dtype=float)).slope)


def test_within_a_run_the_last_decade_counts():
    rounds = STUDY.rounds_kept(STUDY.cells[2])
    regret = np.where(rounds < 100, 1.0, rounds**0.75) * np.array([[1.0], [2.0]])
    fit = slope_within(result_of(2, regret))
    assert (fit.slope, fit.points) == (pytest.approx(0.75), 19)


def test_results_are_found_by_name_whatever_their_order():
    results = [result_of(index, np.full((5, 20), 1.0)) for index in (3, 0, 2, 1)]
    grid = Grid(results)
    assert (grid.worlds, grid.horizons, grid.policies) == (["still"], [100, 1000], ["one", "other"])
    assert list(grid.at("still", 1000)) == ["one", "other"]
    assert grid.at("still", 7) == {}
    assert [result.index for result in grid.over_horizons("still", "other")] == [1, 3]
    assert [result.index for result in Grid(results[:2]).results] == [0, 3]


def test_replications_are_paired_by_their_numbers():
    levels = np.arange(5.0)[:, None] * np.ones(20)
    short, long = result_of(0, 10.0 + levels), result_of(2, 100.0 + levels[2:], first=2)
    assert [values.tolist() for values in final_regrets([short, long])] == [[12, 13, 14], [102, 103, 104]]
    assert slope_over_horizons([short, long]).slope == pytest.approx(math.log10(103 / 13))
    assert difference(result_of(1, levels), short)[:1] == (-10.0,)
    with pytest.raises(ValueError, match="no replication was played in all of: one, still, horizon 100; one"):
        final_regrets([result_of(0, levels[:2]), long])


def test_what_is_no_study_s_results_is_refused():
    cell = result_of(0, np.ones((2, 20)))
    with pytest.raises(ValueError, match="there are no results"):
        Grid([])
    with pytest.raises(ValueError, match="two results of the cell 'one, still, horizon 100'"):
        Grid([cell, cell])
    with pytest.raises(ValueError, match="has no replications"):
        Grid([result_of(0, np.ones((0, 20)))])
    with pytest.raises(ValueError, match="two studies: small and small"):
        Grid([cell, result_of(1, np.ones((2, 20)), study=STUDY.replace(seed=9))])


def test_numbers_are_written_to_be_read():
    assert [number(value) for value in (0.0, 999.96, 1000.0, -1234.5, 1e-5, math.inf)] == [
        "0",
        "1,000",
        "1,000",
        "−1,234",
        "1e−05",
        "–",
    ]
    assert with_half_width(1.0, 0.0) == "1 ± 0"
    assert with_half_width(math.nan, math.nan) == "–"
    assert with_half_width(0.99940, 0.0002, digits=3) == "0.999 ± 0.001"
    assert with_half_width(0.5, math.nan, digits=3) == "0.500"
