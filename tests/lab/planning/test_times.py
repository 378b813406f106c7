"""Times: what counts on, and what begins anew."""

import datetime

import numpy as np
import pandas as pd
import pytest

from manyarms.lab.planning.counts import read_counts
from manyarms.lab.planning.source import Source
from manyarms.lab.planning.times import read_times

pytestmark = pytest.mark.once

SECONDS = [0.0, 3600.0, 24 * 3600.0]
DATES = ["2026-03-01", "2026-03-01", "2026-03-02"]


def counted(**columns):
    """Counts with these columns of times."""
    return {"item": list("aba"), "plays": [4, 5, 6], "reward": [0, 1, 2], **columns}


@pytest.mark.parametrize(
    ("days", "hours"),
    [
        ({"day": [1, 1, 2]}, {"hour": [0, 1, 0]}),
        ({"day": ["1", "1", "2"]}, {"hour": ["0", "1", "0"]}),
        ({"Date": DATES}, {"Hour": ["0", "1", "0"]}),
        ({"date": DATES}, {"time": ["00:00", "1:00", "00:00:00"]}),
        ({"date": pd.to_datetime(DATES)}, {"time": [datetime.time(0), datetime.time(1), datetime.time(0)]}),
        ({"date": ["20260301", "20260301", "20260302"]}, {"time": [0, 1, 0]}),
    ],
)
def test_days_and_hours_in_two_columns_are_one_time_in_seconds(days, hours):
    columns = {name: np.array(values, dtype=object) for name, values in (days | hours).items()}
    found = read_times(Source("the counts", columns), *columns)
    assert (found - found[0]).tolist() == SECONDS
    for both in (days | hours, hours | days):
        history = read_counts(counted(**both)).history
        assert (history.item.tolist(), history.before.tolist()) == ([0, 0, 1], [0.0, 4.0, 0.0])


def test_delays_are_in_seconds_beside_days_with_hours():
    found = read_counts(counted(day=[1, 1, 2], hour=[0, 12, 0], delay=[8640, 8640, 86400]))
    assert found.delays == pytest.approx([1.0, 1.0, 10.0])  # 15 plays in 1.5 days, as the last half day counts, too


@pytest.mark.parametrize(
    ("columns", "names", "words"),
    [
        (
            {"hour": [0, 23, 5]},
            {},
            "'hour', row 1 below the header: there must be a day .* not 0; add a column day or date",
        ),
        ({"Hour": ["0", "23", "5"]}, {}, "call the column time"),
        ({"hour_of_day": [0, 23, 5]}, {"time": "hour_of_day"}, "must be a day beside the hour"),
        ({"time": ["23:00", "00:15", "01:00"]}, {}, "'time', row 1 .* not '23:00'; add a column day or date"),
        (
            {"date": DATES, "time": ["23:00", "", "01:00"]},
            {},
            "'time', row 2 .* an hour of the day, not ''; write it as 13",
        ),
        (
            {"day": [1, 1, 2], "hour": [0, 1, 300]},
            {},
            "'day' and 'hour' could both .* or join them in one, such as 2026-03-",
        ),
    ],
)
def test_hours_of_no_day_are_no_time(columns, names, words):
    with pytest.raises(ValueError, match=words):
        read_counts(counted(**columns), names)


@pytest.mark.parametrize(
    ("column", "values", "are_notable"),
    [
        ("hour", [0, 23, 24], False),
        ("time", [0, 5, 7], False),
        ("time", [0, 5, 23], True),
        ("day", [1, 2, 7], True),
        ("day", [1, 2, 12], False),
        ("week", [1, 2, 53], True),
        ("date", DATES, False),
    ],
)
def test_numbers_that_may_begin_anew_are_pointed_out(column, values, are_notable):
    notes = read_counts(counted(**{column: values})).notes
    assert [f"Column {column!r} is taken to count on" in note for note in notes] == [True] * are_notable


def test_a_full_time_beside_a_date_is_the_time():
    found = read_counts(counted(date=DATES, time=["2026-03-01T12:00", "2026-03-01T13:00", "2026-03-02T12:00"]))
    assert found.history.before.tolist() == [0.0, 4.0, 0.0]


@pytest.mark.parametrize(
    "times",
    [
        [20260131, 20260131, 20260201],
        pd.to_datetime(["2026-01-31", "2026-01-31", "2026-02-01"]),
        pd.to_datetime(["2026-01-31", "2026-01-31", "2026-02-01"]).tz_localize("Asia/Tokyo"),
        pd.to_timedelta([0, 0, 1], unit="D"),
    ],
)
def test_delays_are_in_seconds_beside_dates_however_these_are_written(times):
    late = {"delay": [0, 3600, 86400]}
    assert read_counts(counted(time=times, **late)).delays == pytest.approx([0.0, 0.3125, 7.5])  # 15 plays in two days
    late = {"delay": pd.to_timedelta([0, 1, 24], unit="h")}
    assert read_counts(counted(time=times, **late)).delays == pytest.approx([0.0, 0.3125, 7.5])
