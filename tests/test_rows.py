"""Rows: NumPy, vector instructions and the threads of a GPU give the same bits, in the order that is laid down."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manyarms import lanes, row_functions, rows
from manyarms.arithmetic import exponential
from manyarms.compiled import loop

some = settings(deadline=None, derandomize=True, max_examples=200)

LENGTH = rows.LENGTH
numbers = st.lists(st.floats(0.0, 1.0), min_size=LENGTH, max_size=LENGTH).map(np.array)
speeds = st.sampled_from([0.0, 0.0, 1e-4, 0.01, 0.3, 5.0])


def nearness_of(steps):
    """Points that lie so far apart."""
    return np.concatenate([[0.0], 1.0 / (0.02 + steps[1:]), [0.0]])


@loop
def compiled_excess(masses, at, values, level):
    return rows.excess(masses, at, values, level)


@loop
def compiled_shift(row, at, nearness, falls, rises):
    return rows.shift(row, at, nearness, falls, rises)


@loop
def compiled_filter(row, at, likelihood, nearness, falls, rises, source, resets):
    return rows.filter_row(row, at, likelihood, nearness, falls, rises, source, resets)


@loop
def compiled_likelihoods(points, logs, total, plays, dispersion, outliers, target):
    row_functions.likelihoods(points, logs, total, plays, dispersion, outliers, target)


class Warp:
    """Threads that take themselves for those of a GPU's warp, and call the bodies for it."""

    def __init__(self):
        self.me = threading.local()
        self.numbers = [0.0] * LENGTH
        self.barrier = threading.Barrier(LENGTH, timeout=60.0)  # if one fails, the others do not wait for ever
        self.pool = ThreadPoolExecutor(LENGTH)

    def from_lane(self, number, lane):
        self.numbers[self.me.lane] = number
        self.barrier.wait()
        found = self.numbers[lane]
        self.barrier.wait()
        return found

    def play(self, lane, body, arguments):
        self.me.lane = lane
        return body(*arguments)

    def __call__(self, body, *arguments):
        names = {
            "on_gpu": lambda: True,
            "lane": lambda: self.me.lane,
            "from_lane": self.from_lane,
            "meet": self.barrier.wait,
            "places": lambda: range(self.me.lane, LENGTH, LENGTH),
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, stand_in in names.items():
                for module in (lanes, rows, row_functions):
                    patch.setattr(module, name, stand_in, raising=False)
            played = [self.pool.submit(self.play, lane, body, arguments) for lane in range(LENGTH)]
            found = [one.result() for one in played]
        for other in found:  # they have to go the same way
            same_bits(other if other is not None else 0.0, found[0] if found[0] is not None else 0.0)
        return found[0]


WARP = Warp()


def on_a_gpu(body):
    """A compiled body, called as it is, by all threads of a warp."""
    return lambda *arguments: WARP(body, *arguments)


@loop
def compiled_copy(source, at, target, to):
    rows.copy_row(source, at, target, to)


@loop
def compiled_places():
    found = 0
    for place in lanes.places():
        found += place + lanes.lane()
    lanes.meet()
    return found + int(lanes.largest_of_threads(0.0))


def same_bits(one, other):
    assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def in_order(terms):
    """The order of a sum, said once more."""
    lanes = [((terms[i] + terms[i + 8]) + terms[i + 16]) + terms[i + 24] for i in range(8)]
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))


@some
@given(numbers, numbers, st.floats(0.0, 1.0), st.integers(0, 5))
def test_the_excess_is_the_same_in_all_ways(masses, values, level, at):
    longer = np.concatenate([np.full(at, 7.0), masses, np.full(3, 7.0)])
    expected = in_order([mass * max(value - level, 0.0) for mass, value in zip(masses, values, strict=True)])
    same_bits(rows.excess(longer, at, values, level), expected)
    same_bits(on_a_gpu(rows._compiled_excess)(longer, at, values, level), expected)
    same_bits(compiled_excess(longer, at, values, level), expected)


@some
@given(numbers, numbers, speeds, speeds, st.integers(0, 5))
def test_a_shift_is_the_same_in_all_ways_and_loses_nothing(row, steps, falls, rises, at):
    nearness = nearness_of(steps)
    found = []
    for way in (rows.shift, on_a_gpu(rows._compiled_shift), compiled_shift):
        longer = np.concatenate([np.full(at, 7.0), row, np.full(3, 7.0)])
        way(longer, at, nearness, falls, rises)
        assert (longer[:at] == 7.0).all()
        assert (longer[at + LENGTH :] == 7.0).all()
        found.append(longer)
    same_bits(found[0], found[1])
    same_bits(found[0], found[2])
    shifted = found[0][at : at + LENGTH]
    assert shifted.sum() == pytest.approx(row.sum())
    assert shifted.min() >= 0.0
    if falls == rises == 0.0:
        assert shifted.tolist() == row.tolist()


@some
@given(numbers, numbers, numbers, numbers, speeds, speeds, st.sampled_from([0.0, 1e-6, 0.1, 1.0]), st.integers(0, 5))
def test_a_step_of_a_filter_is_the_same_in_all_ways(row, likelihood, source, steps, falls, rises, resets, at):
    likelihood = likelihood + 1e-3
    row[3] += 0.1
    nearness = nearness_of(steps)
    found = []
    for way in (rows.filter_row, on_a_gpu(rows._compiled_filter), compiled_filter):
        longer = np.concatenate([np.full(at, 7.0), row, np.full(3, 7.0)])
        total = way(longer, at, likelihood, nearness, falls, rises, source, resets)
        found.append(np.append(longer, total))
    same_bits(found[0], found[1])
    same_bits(found[0], found[2])
    expected = row * likelihood
    assert found[0][-1] == in_order(expected.tolist())
    if falls == rises == 0.0:
        mixed = 1.0 / found[0][-1] * (1.0 - resets) * expected + resets * source
        assert found[0][at : at + LENGTH].tolist() == mixed.tolist()


@some
@given(numbers, numbers, st.integers(0, 5), st.integers(0, 5))
def test_a_row_is_copied_in_all_ways(source, other, at, to):
    longer = np.concatenate([np.full(at, 7.0), source, np.full(3, 7.0)])
    for way in (rows.copy_row, on_a_gpu(rows._compiled_copy), compiled_copy):
        target = np.concatenate([np.full(to, 7.0), other, np.full(3, 7.0)])
        way(longer, at, target, to)
        assert target[to : to + LENGTH].tolist() == source.tolist()
        assert (target[:to] == 7.0).all()
        assert (target[to + LENGTH :] == 7.0).all()


dispersions = st.sampled_from([1.0, 1.0, 1.0, 0.3, 1e-4, 4.0])


@some
@given(numbers, numbers, st.floats(0.0, 1e4), st.floats(0.0, 1e4), dispersions, st.sampled_from([0.0, 0.01]))
@example(np.linspace(0.0, 1.0, LENGTH), np.zeros(LENGTH), 0.0, 0.0, 1.0, 0.0)  # nothing told
@example(np.linspace(0.0, 1.0, LENGTH), np.zeros(LENGTH), 0.0, 1e4, 1e-4, 0.05)  # more than can be believed
@example(np.linspace(0.0, 1.0, LENGTH), np.zeros(LENGTH), 0.0, 1e15, 1e-4, 0.05)
def test_likelihoods_are_the_same_in_all_ways(ups, downs, total, plays, dispersion, outliers):
    points, logs = 24.0 * ups - 12.0, -12.0 * downs
    values = [total * point + plays * log for point, log in zip(points, logs, strict=True)]
    below = [value - max(values) for value in values]
    expected = [exponential(value / dispersion) + outliers * exponential(value) for value in below]
    for way in (row_functions.likelihoods, on_a_gpu(row_functions._compiled_likelihoods), compiled_likelihoods):
        target = np.full(LENGTH, 7.0)
        way(points, logs, total, plays, dispersion, outliers, target)
        same_bits(target, expected)


def test_every_thread_has_a_place_and_hears_of_the_largest_number():
    seen = []

    def body(row):
        (place,) = lanes.places()
        seen.append(place)
        return lanes.largest_of_threads(row[place])

    row = np.sin(np.arange(LENGTH))
    assert on_a_gpu(body)(row) == row.max()
    assert sorted(seen) == list(range(LENGTH))
    assert list(lanes.places()) == list(range(LENGTH))  # anywhere else one has all of them,
    assert lanes.largest_of_threads(0.25) == 0.25  # and is alone
    assert (lanes.lane(), lanes.from_lane(3.0, 5), lanes.meet()) == (0, 3.0, None)


def test_compiled_for_a_processor_one_has_all_places():
    assert compiled_places() == sum(range(LENGTH))


def test_a_sum_of_nothing_is_seen():
    row, source = np.ones(LENGTH), np.ones(LENGTH)
    for way in (rows.filter_row, compiled_filter):
        assert way(row.copy(), 0, np.zeros(LENGTH), nearness_of(row), 0.0, 0.0, source, 0.1) == 0.0


def test_numbers_fall_to_the_one_below_and_rise_to_the_one_above():
    row = np.eye(LENGTH)[5]
    rows.shift(row, 0, nearness_of(np.full(LENGTH, 0.98)), 0.1, 0.3)
    assert row[4:7].tolist() == pytest.approx([0.1, 0.6, 0.3])
    assert math.isclose(row.sum(), 1.0)
    row = np.eye(LENGTH)[5]
    rows.shift(row, 0, nearness_of(np.full(LENGTH, 0.98)), 50.0, 0.0)
    assert row[4:6].tolist() == [rows.FASTEST, 1.0 - rows.FASTEST]
