"""Counts: what a file says of items that were played, checked before anything is made of it.

A row says of an item how often it was played and what all these plays paid together; with a time, when; with a delay,
how long the answers took. An item may have several rows.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...columns import SYNONYMS
from .names import named_columns, no_column, note_of_single_plays, option
from .source import Floats as Floats
from .source import Source, read_source
from .times import read_times

FEWEST_ITEMS = 2
ROUNDING = 1e-9  # sums of rewards that were added up as floats may exceed plays by this share
WIDENING = 1.5  # plays of an item are put together in groups, each so many times as far from its first play as the last

FEWEST_SUMMED = 3  # a row that is the sum of fewer others may be one by chance
SUM_ROUNDING = 1e-3  # a sum of rewards that was rounded is still one, if plays are summed exactly
SUMS = ("total", "totals", "grand total", "subtotal", "sum", "all", "overall")
BLANKS = ("null", "none", "nan", "n/a", "na", "<na>", "unknown", "undefined")
"""Names that an export writes for sums and for no item, in small letters."""

COUNTED = tuple(name for name in SYNONYMS["reward"] if not name.startswith("reward"))
THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
NUMBER = "write it as 1500 or 0.5: nothing between thousands, a point before decimals, without units"


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
    notes: tuple[str, ...] = ()  # what was read otherwise than one may think

    @property
    def past_rate(self) -> float:
        """What a play paid."""
        return float(self.reward.sum() / self.plays.sum())


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
    read = read_source(source)
    names = named_columns(read, columns or {})
    reward = _numbers(read, names["reward"])
    texts = _item_texts(read, names["item"])
    plays = _plays(read, names["plays"]) if "plays" in names else _single_plays(read, names, texts, reward)
    _check_rewards(read, names, plays, reward)
    _note_parts(read, names["reward"], reward)
    kept = plays > 0.0
    items, item = _items(read, texts[kept])
    if items.size < FEWEST_ITEMS:
        raise ValueError(
            f"{read.name}: column {names['item']!r} has one item that was played; what fresh items are like needs "
            "several, better hundreds: is it the right column?"
        )
    time = read_times(read, names["time"], names.get("hour"))[kept] if "time" in names else None
    delays = _numbers(read, names["delay"])[kept] if "delay" in names else None
    plays, reward = plays[kept], np.minimum(reward[kept], plays[kept])
    _check_sums(read, names["item"], np.flatnonzero(kept), item, time, plays, reward)
    return Counts(
        name=read.name,
        items=tuple(items.tolist()),
        plays=np.bincount(item, plays, items.size).astype(np.float64),
        reward=np.bincount(item, reward, items.size).astype(np.float64),
        history=None if time is None else history_of(item, time, plays, reward),
        delays=None if delays is None else delays * (1.0 if time is None else _plays_a_unit(time, plays)),
        delay_weights=None if delays is None else plays,
        notes=tuple(read.notes),
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


# ---------------------------------------------------------------- items


def _item_texts(read: Source, column: str) -> NDArray[np.str_]:
    """The item of each row, as it is written."""
    import pandas as pd

    values = read.columns[column]
    texts = np.array([str(value) for value in values]) if values.dtype == object else values.astype(str)
    none = np.asarray(pd.Series(values).isna()) | (np.char.strip(texts) == "")
    read.fail(column, none, "there must be an item", "name it, or leave the row out")
    return texts


def _items(read: Source, texts: NDArray[np.str_]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """The items, and which of them each row is of; blanks around a name are no part of it."""
    written, place = np.unique(texts, return_inverse=True)
    items, item, times_written = np.unique(np.char.strip(written), return_inverse=True, return_counts=True)
    merged = np.flatnonzero(times_written > 1)
    if merged.size:
        number = "1 item is" if merged.size == 1 else f"{merged.size:,} items are"
        ways = " and ".join(repr(str(one)) for one in written[item == merged[0]])
        read.notes.append(f"{number} written with blanks and without, such as {ways}: rows of both are added up.")
    odd = [one for one in items.tolist() if one.lower() in SUMS + BLANKS]
    if odd:
        named = ", ".join(map(repr, odd))
        read.notes.append(f"Of items called {named}, leave the rows out if they are sums of others, or of no item.")
    return items, item[place]


def _check_sums(
    read: Source,
    column: str,
    row: NDArray[np.int64],
    item: NDArray[np.int64],
    time: Floats | None,
    plays: Floats,
    reward: Floats,
) -> None:
    """An error if an item is the sum of all the others: in one row, or in one at each time."""
    everything = np.zeros(item.size, dtype=np.int64)
    for group in [everything] if time is None else [everything, np.unique(time, return_inverse=True)[1]]:
        groups = int(group.max()) + 1
        if item.size < groups * (FEWEST_SUMMED + 1):
            continue
        all_plays, all_reward = np.bincount(group, plays)[group], np.bincount(group, reward)[group]
        are_sums = (2.0 * plays == all_plays) & np.isclose(2.0 * reward, all_reward, rtol=SUM_ROUNDING, atol=0.0)
        rows, sums = np.bincount(item), np.bincount(item, are_sums)
        found = np.flatnonzero(((rows == groups) & (sums == groups))[item])
        if found.size:
            first = found[0]
            is_bad = np.zeros(read.columns[column].size, dtype=bool)
            is_bad[row[first]] = True
            values = f"plays {plays[first]:,.0f}, reward {reward[first]:,g}"
            when = "" if groups == 1 else " of its time"
            must = f"there must be an item, and no sum of all the others{when} ({values})"
            read.fail(column, is_bad, must, "leave rows of sums out")


# ---------------------------------------------------------------- values


def _plays(read: Source, column: str) -> Floats:
    """The column of plays: whole numbers."""
    plays, values = _numbers(read, column), read.columns[column]
    are_parts = plays % 1.0 != 0.0
    if values.dtype == object:  # 2.000 is whole, and two thousand in half of the world
        are_parts |= np.array([bool(THOUSANDS.fullmatch(str(value).strip())) for value in values])
    must = "there must be a whole number with nothing between thousands"
    read.fail(
        column, are_parts, must, "write 1500, not 1.500, for one thousand five hundred, and 2, not 2.000, for two"
    )
    return plays


def _single_plays(read: Source, names: Mapping[str, str], texts: NDArray[np.str_], reward: Floats) -> Floats:
    """One play for each row, if there is no column of plays and rows may be plays."""
    said = f"say which column has the plays, by {option('plays', 'COLUMN')}"
    must = "no column looks like plays, so a row is one play, and a play pays at most 1"
    read.fail(names["reward"], reward > 1.0, must, f"{said}, or divide rewards by the most a play can pay")
    if np.unique(texts).size == texts.size:  # rows are items, rather, and rewards sums or rates
        raise no_column(read, "plays", "; if each row is one play, add a column of ones")
    note_of_single_plays(read, texts.size)
    return np.ones(texts.size)


def _numbers(read: Source, column: str) -> Floats:
    """A column as numbers, none of them negative."""
    import pandas as pd

    values = read.columns[column]
    no_number = np.full(values.size, values.dtype.kind in "Mc")
    read.fail(column, no_number, "there must be a number, no date or complex number", "is it the right column?")
    numbers = np.asarray(pd.to_numeric(pd.Series(values), errors="coerce"), dtype=np.float64)
    if values.dtype == object and any(isinstance(value, str) for value in values):
        said = np.array([str(value).strip().lower() for value in values])
        read.fail(column, said == "", "a number is missing", "write 0, or leave the row out")
        numbers = np.where(said == "true", 1.0, np.where(said == "false", 0.0, numbers))
        are_shares = np.char.endswith(said, "%")
        read.fail(column, are_shares, "there must be a number", "give what the plays paid together, not a share")
        read.fail(column, np.isnan(numbers) & (said != "nan"), "there must be a number", NUMBER)
    read.fail(column, np.isnan(numbers), "there must be a number", "write 0, or leave the row out")
    read.fail(column, np.isinf(numbers), "there must be a finite number", "correct it, or leave the row out")
    read.fail(column, numbers < 0.0, "there must be no negative number", "correct it, or leave the row out")
    return numbers


def _note_parts(read: Source, column: str, reward: Floats) -> None:
    """Say it if clicks, or what else is counted, are no whole numbers: they may be per cent."""
    are_parts = reward % 1.0 != 0.0
    if column.lower() in COUNTED and are_parts.any():
        read.notes.append(
            f"Column {column!r} has values such as {reward[are_parts][0]:g}, taken for sums: if they are per cent or "
            "rates, give sums."
        )


def _check_rewards(read: Source, names: Mapping[str, str], plays: Floats, reward: Floats) -> None:
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


def _plays_a_unit(time: Floats, plays: Floats) -> float:
    """How many plays there were in a unit of time, by which delays become rounds."""
    distinct = np.unique(time)
    if distinct.size < 2:
        return 1.0
    # The last bucket is as long as the others.
    span = (distinct[-1] - distinct[0]) * distinct.size / (distinct.size - 1)
    return float(plays.sum() / span)
