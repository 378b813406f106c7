"""Counts: what a file says of items that were played, checked before anything is made of it.

A row says of an item how often it was played and what all these plays paid together; with a time, when; with a delay,
how long the answers took. An item may have several rows.
"""

import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...columns import SYNONYMS, columns_called

Floats = NDArray[np.float64]

NEEDED = ("item", "plays", "reward")
FEWEST_ITEMS = 2
ROUNDING = 1e-9  # sums of rewards that were added up as floats may exceed plays by this share
WIDENING = 1.5  # plays of an item are put together in groups, each so many times as far from its first play as the last


class History(NamedTuple):
    """Plays of items in order of time: groups of rows, by item and within an item from its first play on."""

    item: NDArray[np.int64]  # the place of the item
    before: Floats  # plays of the same item before these
    plays: Floats
    reward: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """What is known of the past."""

    name: str  # where it comes from
    items: tuple[str, ...]
    plays: Floats  # of each item
    reward: Floats  # of each item, the sum
    history: History | None = None  # None without times
    delays: Floats | None = None  # in rounds, of each row that has plays
    delay_weights: Floats | None = None  # its plays

    @property
    def past_rate(self) -> float:
        """What a play paid."""
        return float(self.reward.sum() / self.plays.sum())


class _Source(NamedTuple):
    """Columns of texts or numbers, and how to speak of them."""

    name: str
    columns: dict[str, NDArray[Any]]

    def fail(self, column: str, bad: NDArray[np.bool_], must: str, remedy: str) -> None:
        """An error that names the first bad value."""
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            value = self.columns[column][place]
            shown = repr(value) if isinstance(value, str) else f"{value}"
            raise ValueError(
                f"{self.name}: column {column!r}, row {place + 1:,} below the header: {must}, not {shown}; {remedy}"
            )


def read_counts(source: Any, columns: Mapping[str, str] | None = None) -> Counts:
    """Counts from a CSV or Parquet file, a pandas frame, or a mapping from names of columns to lists.

    Parameters
    ----------
    source
        The file or the frame.
    columns
        What its columns are called: names by ``item``, ``plays``, ``reward``, ``time`` and ``delay``. Those that are
        left out are looked for under usual names.
    """
    read = _read(source)
    names = _names(read, dict(columns or {}))
    plays, reward = _numbers(read, names["plays"]), _numbers(read, names["reward"])
    _check_rewards(read, names, plays, reward)
    item_column = read.columns[names["item"]].astype(str)
    read.fail(names["item"], np.char.strip(item_column) == "", "there must be an item", "name it, or leave the row out")
    kept = plays > 0.0
    items, item = np.unique(item_column[kept], return_inverse=True)
    if items.size < FEWEST_ITEMS:
        raise ValueError(
            f"{read.name}: column {names['item']!r} has one item that was played; what fresh items are like needs "
            "several, better hundreds: is it the right column?"
        )
    time = _times(read, names["time"])[kept] if "time" in names else None
    delays = _numbers(read, names["delay"])[kept] if "delay" in names else None
    plays, reward = plays[kept], np.minimum(reward[kept], plays[kept])
    return Counts(
        name=read.name,
        items=tuple(items.tolist()),
        plays=np.bincount(item, plays, items.size).astype(np.float64),
        reward=np.bincount(item, reward, items.size).astype(np.float64),
        history=None if time is None else history_of(item, time, plays, reward),
        delays=None if delays is None else delays * (1.0 if time is None else _plays_a_unit(time, plays)),
        delay_weights=None if delays is None else plays,
    )


def history_of(item: NDArray[np.int64], time: Floats, plays: Floats, reward: Floats) -> History:
    """Rows put in order and together: those of a time, and groups that grow with the distance from the first play.

    Examples
    --------
    >>> rows = history_of(np.array([0, 1, 0]), np.array([2.0, 1.0, 1.0]), np.array([5.0, 9.0, 4.0]), np.ones(3))
    >>> rows.item.tolist(), rows.before.tolist(), rows.plays.tolist()
    ([0, 0, 1], [0.0, 4.0, 0.0], [4.0, 5.0, 9.0])
    """
    order = np.lexsort((time, item))
    item, time, plays, reward = item[order], time[order], plays[order], reward[order]
    at_once = np.flatnonzero((np.diff(item, prepend=-1) != 0) | (np.diff(time, prepend=np.nan) != 0))
    item, plays, reward = item[at_once], np.add.reduceat(plays, at_once), np.add.reduceat(reward, at_once)
    first = np.flatnonzero(np.diff(item, prepend=-1))
    ends = np.cumsum(plays)
    before = ends - plays - np.repeat((ends - plays)[first], np.diff(first, append=item.size))
    group = np.floor(np.log(before + 1.0) / np.log(WIDENING))
    starts = np.flatnonzero((np.diff(item, prepend=-1) != 0) | (np.diff(group, prepend=-1.0) != 0))
    return History(item[starts], before[starts], np.add.reduceat(plays, starts), np.add.reduceat(reward, starts))


# ---------------------------------------------------------------- reading


def _read(source: Any) -> _Source:
    """Whatever was given, as columns."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("plan needs pandas: pip install 'manyarms[lab]'") from None
    if isinstance(source, pd.DataFrame | Mapping):
        frame, name = pd.DataFrame(source), "the counts"
    elif isinstance(source, str | Path):
        frame, name = _file(pd, Path(source)), str(source)
    else:
        raise TypeError(f"plan: counts must be a file, a frame or columns by name, not {source!r}")
    if not len(frame):
        raise ValueError(f"{name}: there are no rows; give one for each item, with columns item, plays and reward")
    named = [str(column).strip() for column in frame.columns]
    twice = next((column for column in named if named.count(column) > 1), None)
    if twice is not None:
        raise ValueError(f"{name}: there are two columns {twice!r}; rename one of them")
    return _Source(name, {column: frame.iloc[:, place].to_numpy() for place, column in enumerate(named)})


def _file(pd: Any, path: Path) -> Any:
    """A frame from a file; a CSV's is all texts, so that what cannot be read can be shown."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; give a CSV or Parquet file of counts")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a CSV or Parquet file of counts")
    with path.open("rb") as file:
        begins = file.read(4)
    if not begins:
        raise ValueError(f"{path}: the file is empty; give one with a header and a row for each item")
    if begins == b"PK\3\4":
        raise ValueError(f"{path}: this looks like a file of Excel; save it as CSV")
    return _parquet(pd, path) if begins == b"PAR1" else _csv(pd, path)


def _parquet(pd: Any, path: Path) -> Any:
    try:
        return pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: this Parquet file cannot be read: {error}; write it again") from None


def _csv(pd: Any, path: Path) -> Any:
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            separator = max(",;\t", key=text.readline().count)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of values that have no column
            how = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig", "index_col": False}
            return pd.read_csv(path, sep=separator, **how)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: this is neither a CSV file in UTF-8 nor a Parquet file; save it as one") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning) as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        remedy = "every row needs as many values as the header"
        raise ValueError(f"{path}: this cannot be read as CSV: {said}; {remedy}") from None


def _names(read: _Source, given: dict[str, str]) -> dict[str, str]:
    """What each column is called here."""
    there = ", ".join(map(repr, read.columns))
    for role in given:
        if role not in SYNONYMS:
            raise ValueError(f"plan: columns are {', '.join(SYNONYMS)}, not {role!r}")
    names = {}
    for role in SYNONYMS:
        wanted = given.get(role)
        if wanted is not None and wanted not in read.columns:
            raise ValueError(f"{read.name}: there is no column {wanted!r} (for {role}); there are {there}")
        found = [
            column
            for column in read.columns
            if column in columns_called(role, read.columns) and column not in given.values()
        ]
        exact = [column for column in found if column.lower() == role]
        if wanted is None and len(found) > 1 and len(exact) != 1:
            raise ValueError(
                f"{read.name}: {' and '.join(map(repr, found))} could both be the {role}; say which, "
                f"as by {_option(role, found[0])}"
            )
        chosen = wanted or next(iter(exact or found), None)
        if chosen is not None:
            names[role] = chosen
        elif role in NEEDED:
            more = "; if each row is one play, add a column of ones" if role == "plays" else ""
            raise ValueError(
                f"{read.name}: no column looks like {role}; there are {there}: say which it is, "
                f"by {_option(role, 'COLUMN')}{more}"
            )
    return names


def _option(role: str, column: str) -> str:
    """How to say what a column is called, on the command line and in Python."""
    option = "--delay-column" if role == "delay" else f"--{role}"
    return f"{option} {column} (in Python columns={{{role!r}: {column!r}}})"


# ---------------------------------------------------------------- values


def _numbers(read: _Source, column: str) -> Floats:
    """A column as numbers, none of them negative."""
    import pandas as pd

    values = read.columns[column]
    numbers = np.asarray(pd.to_numeric(pd.Series(values), errors="coerce"), dtype=np.float64)
    texts = np.array([isinstance(value, str) for value in values]) if values.dtype == object else np.zeros(0, bool)
    if texts.any():
        said = np.array([str(value).strip().lower() for value in values])
        read.fail(column, said == "", "a number is missing", "write 0, or leave the row out")
        no_number = np.isnan(numbers) & (said != "nan")
        read.fail(column, no_number, "there must be a number", "write it as 12 or 0.5, without units")
    read.fail(column, np.isnan(numbers), "there must be a number", "write 0, or leave the row out")
    read.fail(column, np.isinf(numbers), "there must be a finite number", "correct it, or leave the row out")
    read.fail(column, numbers < 0.0, "there must be no negative number", "correct it, or leave the row out")
    return numbers


def _check_rewards(read: _Source, names: dict[str, str], plays: Floats, reward: Floats) -> None:
    """An error if plays paid more than 1 each, or nothing was played, or nothing was paid."""
    over = reward > plays * (1.0 + ROUNDING)
    most = f"it must be at most the plays of the row ({plays[np.flatnonzero(over)[0]]:g})" if over.any() else ""
    read.fail(names["reward"], over, most, "a play pays from 0 to 1: divide rewards by the most a play can pay")
    if not plays.any():
        raise ValueError(f"{read.name}: column {names['plays']!r} is 0 in all rows; give items that were played")
    if not reward.any():
        raise ValueError(
            f"{read.name}: column {names['reward']!r} is 0 in all rows: nothing tells how good items are; "
            "wait for the first rewards, or count something that is less rare"
        )


def _times(read: _Source, column: str) -> Floats:
    """A column of times as numbers: as they are, or dates as seconds."""
    import pandas as pd

    values = pd.Series(read.columns[column])
    numbers = pd.to_numeric(values, errors="coerce") if values.dtype.kind != "M" else pd.Series([np.nan])
    if not numbers.isna().any():
        found = np.asarray(numbers, dtype=np.float64)
        read.fail(column, np.isinf(found), "there must be a finite time", "correct it, or leave the row out")
        return found
    dates = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    remedy = "write numbers in all rows, or dates such as 2026-03-01 or 2026-03-01T12:30"
    read.fail(column, np.asarray(dates.isna()), "there must be a time", remedy)
    return np.asarray((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=np.float64)


def _plays_a_unit(time: Floats, plays: Floats) -> float:
    """How many plays there were in a unit of time, by which delays become rounds."""
    distinct = np.unique(time)
    if distinct.size < 2:
        return 1.0
    # The last bucket is as long as the others.
    span = (distinct[-1] - distinct[0]) * distinct.size / (distinct.size - 1)
    return float(plays.sum() / span)
