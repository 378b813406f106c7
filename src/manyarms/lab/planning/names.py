"""Names: which column of a source is the item, which the plays and so on."""

from collections.abc import Mapping

from ...columns import SYNONYMS, columns_called
from .source import Source
from .times import day_and_hour

NEEDED = ("item", "reward")  # without a column of plays, a row may be one


def named_columns(read: Source, given: Mapping[str, str]) -> dict[str, str]:
    """What the column of each role is called here; ``hour`` is one that stands beside a column of days."""
    for role in given:
        if role not in SYNONYMS:
            raise ValueError(f"plan: columns are {', '.join(SYNONYMS)}, not {role!r}")
    names = {}
    for role in SYNONYMS:
        wanted = given.get(role)
        if wanted is not None and wanted not in read.columns:
            raise ValueError(f"{read.name}: there is no column {wanted!r} (for {role}); there are {_there(read)}")
        found = [
            column
            for column in read.columns
            if column in columns_called(role, read.columns) and column not in given.values()
        ]
        if role == "time" and wanted is None and (both := day_and_hour({one: read.columns[one] for one in found})):
            names["time"], names["hour"] = both
            continue
        exact = [column for column in found if column.lower() == role]
        if wanted is None and len(found) > 1 and len(exact) != 1:
            joined = "; or join them in one, such as 2026-03-01T13:00" if role == "time" else ""
            raise ValueError(
                f"{read.name}: {' and '.join(map(repr, found))} could both be the {role}; say which, "
                f"as by {option(role, found[0])}{joined}"
            )
        chosen = wanted or next(iter(exact or found), None)
        if chosen is not None:
            names[role] = chosen
        elif role in NEEDED:
            raise no_column(read, role)
    return names


def no_column(read: Source, role: str, more: str = "") -> ValueError:
    """The error that no column is one of these."""
    return ValueError(
        f"{read.name}: no column looks like {role}; there are {_there(read)}: say which it is, "
        f"by {option(role, 'COLUMN')}{more}"
    )


def note_of_single_plays(read: Source, rows: int) -> None:
    """Say that there is no column of plays, and which there are: plays may be called otherwise."""
    read.notes.append(
        f"No column looks like plays (there are {_there(read)}), so each of the {rows:,} rows is taken for one play."
    )


def _there(read: Source) -> str:
    return ", ".join(map(repr, read.columns))


def option(role: str, column: str) -> str:
    """How to say what a column is called, on the command line and in Python."""
    option = "--delay-column" if role == "delay" else f"--{role}"
    return f"{option} {column} (in Python columns={{{role!r}: {column!r}}})"
