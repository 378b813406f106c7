"""What is known of items from elsewhere: frames, columns or rows of the past."""

import math
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..columns import RATES, columns_called, look_like_rates
from ..specs import count
from .items import DEEPEST_KEY, key_and_payload, key_to_json
from .rewards import scaled_total

if TYPE_CHECKING:
    from .bandit import Bandit

Past = dict[Hashable, tuple[int, float]]
"""Key -> plays and the sum of rewards."""

FROM_HISTORY, HEAR = "Bandit.from_history", "Bandit.hear"
"""Whose errors they are."""


def observations(past: Any, columns: Mapping[str, str] | None = None, by: str = FROM_HISTORY) -> Past:
    """The plays and rewards of each item, in the order in which they first occur; of news, there may be none."""
    if isinstance(past, (str, bytes, os.PathLike)):
        raise TypeError(f"{by}: give the past as a table, not as a path: pandas.read_csv({str(past)!r}) reads one")
    found: Past = {}
    for place, (key, plays, reward) in enumerate(rows_of(past, columns or {}, by)):
        if is_none(key):
            raise ValueError(f"{by}: row {place} has no item ({key}); name it, or leave the row out")
        key, _ = key_and_payload((key, None))
        plays = count(by, f"plays of row {place}", plays, least=0)
        before = found.get(key, (0, 0.0))
        found[key] = before[0] + plays, before[1] + float(reward)
    if not found and by != HEAR:
        raise ValueError(f"{by}: the past has no rows; begin with Bandit(policy, items=…) instead")
    if look_like_rates([plays for plays, _ in found.values()], [reward for _, reward in found.values()]):
        warnings.warn(RATES, stacklevel=4)
    return found


def is_none(key: Any) -> bool:
    """Whether an item is missing in a table, whatever that has in its place."""
    return key is None or (isinstance(key, float) and math.isnan(key)) or type(key).__name__ in ("NAType", "NaTType")


def with_keys(news: Iterable[Any]) -> Iterable[Any]:
    """Rows whose keys went through JSON, where tuples become lists; what is no row stays as it is, to be refused."""
    if not isinstance(news, Iterable):
        raise TypeError(f"{HEAR}: give what news of another bandit returned, not {news!r:.60}")
    return ((_as_tuple(row[0]), *row[1:]) if isinstance(row, list | tuple) and row else row for row in news)


def _as_tuple(key: Any, depth: int = 0) -> Any:
    if not isinstance(key, list) or depth > DEEPEST_KEY:  # deeper ones are refused, as lists or as tuples
        return key
    return tuple(_as_tuple(part, depth + 1) for part in key)


def warn_of_strangers(bandit: "Bandit", past: Past, items: Any) -> None:
    """If items of the past are called otherwise here, as far as that can be seen; or if none of them is here."""
    here = bandit._catalogue.items
    strangers = [key for key in past if key not in here]
    if items is None or not here or not strangers:
        return
    names = {as_text(key): key for key in here}
    alike = [(key, names[as_text(key)]) for key in strangers if as_text(key) in names]
    if not alike and len(strangers) < len(past):
        return
    which = f"there is {strangers[0]!r:.60}"
    if alike:
        there, now = alike[0]
        which = f"{there!r:.60} there and {now!r:.60} here are not equal"
    number = len(alike) or len(strangers)
    read = "; pandas.read_csv(…, dtype=str) reads all of them as text" if alike and isinstance(now, str) else ""
    warnings.warn(
        f"Bandit.from_history: {number:,} of {len(past):,} items of the past are not among the items given ({which}); "
        "what is known of them waits for items with such keys. Give the same keys if they are the same items"
        f"{read}",
        stacklevel=3,
    )


def as_text(key: Any) -> str:
    """What a key looks like in a table; a whole number is one, though it was read as 7.0.

    Examples
    --------
    >>> as_text(7), as_text(7.0), as_text("7")
    ('7', '7', '7')
    """
    return str(int(key)) if isinstance(key, float) and key.is_integer() else str(key)


def rows_of(past: Any, columns: Mapping[str, str], by: str) -> Iterable[tuple[Any, Any, Any]]:
    """Item, plays and reward of every row."""
    if isinstance(past, Mapping) or hasattr(past, "columns"):
        names = {role: columns.get(role) or column_called(role, past, by) for role in ("item", "plays", "reward")}
        missing = [name for name in names.values() if name is not None and name not in past]
        if missing:
            raise ValueError(f"{by}: the past has no column {missing[0]!r}; it has {', '.join(map(str, past))}")
        rewards, keys = list(past[names["reward"]]), list(past[names["item"]])
        plays = [1] * len(rewards) if names["plays"] is None else list(past[names["plays"]])
        if not len(keys) == len(plays) == len(rewards):
            raise ValueError(
                f"{by}: columns differ in length: {len(keys)} items, {len(plays)} plays, {len(rewards)} rewards"
            )
        return zip(keys, plays, rewards, strict=True)
    if not isinstance(past, Iterable):
        raise TypeError(f"{by}: give the past as a table or as rows, not {past!r:.60}")
    return (row_of(row, place, by) for place, row in enumerate(past))


def column_called(role: str, past: Any, by: str) -> Any:
    """The column of a table with this role; None if there is none of plays: then each row is one."""
    columns = list(past if isinstance(past, Mapping) else past.columns)
    found = columns_called(role, map(str, columns))
    if len(found) == 1 or role in found:
        return role if role in found else next(column for column in columns if str(column) == found[0])
    if found or role != "plays":
        which = f"{', '.join(found)} might all be it" if found else f"it has {', '.join(map(str, columns)) or 'none'}"
        raise ValueError(
            f"{by}: the past needs a column {role!r}; {which}. It takes the columns item and reward, "
            "and plays if rows are sums of several; rename yours, or say what they are called: columns={'item': …}"
        )
    return None


def row_of(row: Any, place: int, by: str) -> tuple[Any, Any, Any]:
    """Item, plays and reward; or item and reward of one play."""
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[0], 1, row[1]
    if isinstance(row, tuple | list) and len(row) == 3:
        return row[0], row[1], row[2]
    raise ValueError(f"{by}: row {place} must be (item, plays, reward), or (item, reward) of one play, not {row!r:.80}")


def check_rewards(past: Past, reward_range: tuple[float, float]) -> None:
    """Refuse sums that cannot be."""
    for key, (plays, reward) in past.items():
        if plays:
            scaled_total(reward, plays, reward_range, f"the rewards of {key!r:.60}")


def tell(bandit: "Bandit", past: Past, are_all_here: bool) -> None:
    """Let a bandit know of it; what is known of items that are not here is kept for them."""
    check_rewards(past, bandit.reward_range)
    for key, (plays, reward) in past.items():
        if key not in bandit._catalogue.items:
            if are_all_here:
                bandit._add([(key, None)], first=False, same_key=None)
            else:
                with bandit._deed:
                    bandit._write("unseen", key_to_json(key))
                    bandit._catalogue.enter_absent(key)
        if plays:
            bandit._observe_checked(key, plays, reward)
