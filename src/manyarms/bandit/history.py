"""What is known of items from elsewhere: frames, columns or rows of the past."""

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..columns import RATES, columns_called, look_like_rates
from ..specs import count
from .items import DEEPEST_KEY, WITHDRAWN, key_and_payload, key_to_json
from .rewards import scaled_total

if TYPE_CHECKING:
    from .bandit import Bandit

Past = dict[Hashable, tuple[int, float]]
"""Key -> plays and the sum of rewards."""


def observations(past: Any, columns: Mapping[str, str] | None = None, may_be_empty: bool = False) -> Past:
    """The plays and rewards of each item, in the order in which they first occur."""
    if isinstance(past, (str, bytes, os.PathLike)):
        raise TypeError(
            f"Bandit.from_history: give the past as a table, not as a path: pandas.read_csv({str(past)!r}) reads one"
        )
    found: Past = {}
    for place, (key, plays, reward) in enumerate(rows_of(past, columns or {})):
        key, _ = key_and_payload((key, None))
        if key is None:
            raise ValueError(f"Bandit.from_history: row {place} has no item; name it, or leave the row out")
        plays = count("Bandit.from_history", f"plays of row {place}", plays, least=0)
        before = found.get(key, (0, 0.0))
        found[key] = before[0] + plays, before[1] + float(reward)
    if not found and not may_be_empty:
        raise ValueError("Bandit.from_history: the past has no rows; begin with Bandit(policy, items=…) instead")
    if look_like_rates([plays for plays, _ in found.values()], [reward for _, reward in found.values()]):
        warnings.warn(RATES, stacklevel=4)
    return found


def with_keys(rows: Iterable[Any]) -> Iterable[Any]:
    """Rows whose keys went through JSON, where tuples become lists."""
    return ((_as_tuple(row[0]), *row[1:]) for row in rows)


def _as_tuple(key: Any, depth: int = 0) -> Any:
    if not isinstance(key, list) or depth > DEEPEST_KEY:  # deeper ones are refused, as lists or as tuples
        return key
    return tuple(_as_tuple(part, depth + 1) for part in key)


def warn_of_strangers(bandit: "Bandit", past: Past, items: Any) -> None:
    """If the past is of none of the items: they are probably called otherwise there."""
    here = bandit._catalogue.items
    if items is None or not here or any(key in here for key in past):
        return
    names = {str(key): key for key in here}
    alike = next(((key, names[str(key)]) for key in past if str(key) in names), None)
    which = f"{alike[0]!r} there and {alike[1]!r} here are not equal" if alike else f"there is {next(iter(past))!r:.60}"
    warnings.warn(
        f"Bandit.from_history: no item of the past is among the items given ({which}); it only teaches what items are "
        "like. Give the same keys if they are the same items",
        stacklevel=3,
    )


def rows_of(past: Any, columns: Mapping[str, str]) -> Iterable[tuple[Any, Any, Any]]:
    """Item, plays and reward of every row."""
    if isinstance(past, Mapping) or hasattr(past, "columns"):
        names = {role: columns.get(role) or column_called(role, past) for role in ("item", "plays", "reward")}
        missing = [name for name in names.values() if name is not None and name not in past]
        if missing:
            raise ValueError(
                f"Bandit.from_history: the past has no column {missing[0]!r}; it has {', '.join(map(str, past))}"
            )
        rewards, keys = list(past[names["reward"]]), list(past[names["item"]])
        plays = [1] * len(rewards) if names["plays"] is None else list(past[names["plays"]])
        if not len(keys) == len(plays) == len(rewards):
            raise ValueError(
                f"Bandit.from_history: columns differ in length: {len(keys)} items, {len(plays)} plays, "
                f"{len(rewards)} rewards"
            )
        return zip(keys, plays, rewards, strict=True)
    if not isinstance(past, Iterable):
        raise TypeError(f"Bandit.from_history: give the past as a table or as rows, not {past!r:.60}")
    return (row_of(row, place) for place, row in enumerate(past))


def column_called(role: str, past: Any) -> Any:
    """The column of a table with this role; None if there is none of plays: then each row is one."""
    columns = list(past if isinstance(past, Mapping) else past.columns)
    found = columns_called(role, map(str, columns))
    if len(found) == 1 or role in found:
        return role if role in found else next(column for column in columns if str(column) == found[0])
    if found or role != "plays":
        which = f"{', '.join(found)} might all be it" if found else f"it has {', '.join(map(str, columns)) or 'none'}"
        raise ValueError(
            f"Bandit.from_history: the past needs a column {role!r}; {which}. It takes the columns item and reward, "
            "and plays if rows are sums of several; rename yours, or say what they are called: columns={'item': …}"
        )
    return None


def row_of(row: Any, place: int) -> tuple[Any, Any, Any]:
    """Item, plays and reward; or item and reward of one play."""
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[0], 1, row[1]
    if isinstance(row, tuple | list) and len(row) == 3:
        return row[0], row[1], row[2]
    raise ValueError(
        f"Bandit.from_history: row {place} must be (item, plays, reward), or (item, reward) of one play, not "
        f"{row!r:.80}"
    )


def check_rewards(past: Past, reward_range: tuple[float, float]) -> None:
    """Refuse sums that cannot be."""
    for key, (plays, reward) in past.items():
        if plays:
            scaled_total(reward, plays, reward_range, f"the rewards of {key!r:.60}")


def tell(bandit: "Bandit", past: Past, are_all_here: bool) -> None:
    """Let a bandit know of it; items that are not here any more teach what items are like."""
    check_rewards(past, bandit.reward_range)
    for key, (plays, reward) in past.items():
        is_here = key in bandit._catalogue.items
        if not is_here and are_all_here:
            bandit._add([(key, None)], first=False, same_key=None)
        elif not is_here:
            bandit._write("unseen", key_to_json(key))
            bandit._catalogue.enter_unseen(key)
        if plays:
            bandit._observe_checked(key, plays, reward)
        if not is_here and not are_all_here:
            bandit._set_aside(key, WITHDRAWN, "Bandit.from_history")
