"""Times: numbers that count on, dates, and days with hours beside them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .source import Floats, Source

DAYS, HOURS = ("date", "day"), ("hour", "time")
DAY, HOUR = 86_400.0, 3_600.0  # in seconds
CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
CYCLES = {"time": (23,), "day": (6, 7, 28, 29, 30, 31), "week": (52, 53)}
"""Where hours of days, days of weeks and months, and weeks of years end before they begin anew."""

WRITTEN = "dates such as 2026-03-01 or 2026-03-01T12:30"
YYYYMMDD = 19_000_101, 21_001_231


def day_and_hour(columns: Mapping[str, NDArray[Any]]) -> tuple[str, str] | None:
    """Of columns that could all be the time: one of days and one of hours of the day, if they are such two.

    Examples
    --------
    >>> day_and_hour({"hour": np.array([22, 1]), "day": np.array([1, 2])})
    ('day', 'hour')
    >>> day_and_hour({"date": np.array(["2026-03-01"]), "time": np.array(["2026-03-01T12:30"])}) is None
    True
    """
    days = [column for column in columns if column.lower() in DAYS]
    hours = [column for column in columns if column.lower() in HOURS and _of_day(columns[column]) is not None]
    return (days[0], hours[0]) if len(days) == len(hours) == 1 and len(columns) == 2 else None


def read_times(read: Source, column: str, hour: str | None = None) -> Floats:
    """A column of times as numbers: as they are, or dates as seconds; with hours of the day beside it, in seconds."""
    if hour is not None:
        days, are_dates = _moments(read, column)
        return (days if are_dates else DAY * days) + _hours(read, hour)
    of_day, are_numbers = _of_day(read.columns[column]), not np.isnan(_numbers(read.columns[column])).any()
    if of_day is not None and ("hour" in column.lower() or not are_numbers):
        other = "; if all is of one day, call the column time" if are_numbers else ""
        must = "there must be a day beside the hour of the day"
        remedy = f"add a column day or date, or write {WRITTEN}{other}"
        read.fail(column, np.ones(of_day.size, dtype=bool), must, remedy)
    found, are_dates = _moments(read, column)
    if not are_dates and found.min() >= 0.0 and found.max() in CYCLES.get(column.lower(), ()):
        read.notes.append(
            f"Column {column!r} is taken to count on, from {found.min():g} to {found.max():g}: if it begins anew, give "
            "dates."
        )
    return found


def _moments(read: Source, column: str) -> tuple[Floats, bool]:
    """Times as numbers, and whether these are dates, in seconds."""
    import pandas as pd

    values = pd.Series(read.columns[column])
    numbers = _numbers(read.columns[column])
    form = "ISO8601"
    if not np.isnan(numbers).any():
        read.fail(column, np.isinf(numbers), "there must be a finite time", "correct it, or leave the row out")
        # 20260331 and 20260401 are a day apart, not 70.
        if not np.all((numbers >= YYYYMMDD[0]) & (numbers <= YYYYMMDD[1]) & (numbers % 1.0 == 0.0)):
            return numbers, False
        form, values = "%Y%m%d", pd.Series(numbers).astype(np.int64).astype(str)
    dates = pd.to_datetime(values, errors="coerce", format=form, utc=True)
    if form != "ISO8601" and dates.isna().any():
        return numbers, False
    remedy = f"write numbers in all rows, or {WRITTEN}"
    read.fail(column, np.asarray(dates.isna()), "there must be a time", remedy)
    return np.asarray((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=np.float64), True


def _hours(read: Source, column: str) -> Floats:
    """A column of hours of the day, in seconds."""
    found = _of_day(read.columns[column])
    assert found is not None
    read.fail(column, np.isnan(found), "there must be an hour of the day", "write it as 13 or 13:00 in all rows")
    return found


def _of_day(values: NDArray[Any]) -> Floats | None:
    """Times of the day in seconds, or NaN where there is none; None if it is a column of something else."""
    import pandas as pd

    numbers = _numbers(values)
    if not np.isnan(numbers).any():
        return HOUR * numbers if np.all((numbers >= 0.0) & (numbers < 24.0)) else None
    texts = pd.Series(values).astype(str).str.strip()
    are_clocks = texts.str.fullmatch(CLOCK)
    if not are_clocks.any():
        return None
    full = texts.where(texts.str.count(":") == 2, texts + ":00").where(are_clocks)
    return np.asarray(pd.to_timedelta(full, errors="coerce") / pd.Timedelta(seconds=1), dtype=np.float64)


def _numbers(values: NDArray[Any]) -> Floats:
    """Values as numbers; NaN for those that are none, and for dates."""
    import pandas as pd

    series = pd.Series(values).infer_objects()  # dates with a time zone come as objects
    if series.dtype.kind == "M":
        return np.full(values.size, np.nan)
    return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
