"""Sources of counts: files, frames and mappings as columns, and how to speak of them."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """Columns of texts or numbers."""

    name: str
    columns: dict[str, NDArray[Any]]
    notes: list[str] = dataclasses.field(default_factory=list)  # what was read otherwise than one may think

    def fail(self, column: str, bad: NDArray[np.bool_], must: str, remedy: str) -> None:
        """An error that names the first bad value."""
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            value = self.columns[column][place]
            shown = repr(value) if isinstance(value, str) else f"{value}"
            raise ValueError(
                f"{self.name}: column {column!r}, row {place + 1:,} below the header: {must}, not {shown}; {remedy}"
            )


def read_source(source: Any) -> Source:
    """Whatever was given, as columns."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("plan needs pandas: pip install 'manyarms[lab]'") from None
    if isinstance(source, pd.DataFrame):
        frame, name = source, "the counts"
    elif isinstance(source, Mapping):
        frame, name = _mapping(pd, source), "the counts"
    elif isinstance(source, str | Path):
        frame, name = _file(pd, Path(source)), str(source)
    else:
        raise TypeError(f"plan: counts must be a file, a frame or columns by name, not {source!r}")
    index = [level for level in frame.index.names if level is not None]
    if index and not set(index) & set(frame.columns):  # as after groupby
        frame = frame.reset_index()
    if not len(frame):
        raise ValueError(f"{name}: there are no rows; give one for each item, with columns item, plays and reward")
    named = [str(column).strip() for column in frame.columns]
    named = [column or f"column {place}" for place, column in enumerate(named, start=1)]
    twice = next((column for column in named if named.count(column) > 1), None)
    if twice is not None:
        raise ValueError(f"{name}: there are two columns {twice!r}; rename one of them")
    return Source(name, {column: _values(frame.iloc[:, place].to_numpy()) for place, column in enumerate(named)})


def _values(column: NDArray[Any]) -> NDArray[Any]:
    """A column as it is; spans of time in seconds, as times are."""
    return column / np.timedelta64(1, "s") if column.dtype.kind == "m" else column


def _mapping(pd: Any, columns: Mapping[str, Any]) -> Any:
    try:
        return pd.DataFrame(columns)
    except ValueError:
        raise ValueError("the counts: each column must be a list, and all of them of the same length") from None


def _file(pd: Any, path: Path) -> Any:
    """A frame from a file; a CSV's is all texts, so that what cannot be read can be shown."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; give a CSV or Parquet file of counts")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a CSV or Parquet file of counts")
    with path.open("rb") as file:
        begins = file.read(4)
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
        # The header is read as a row: pandas would rename the second of two columns with one name, and not tell.
        how = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig", "header": None}
        rows = pd.read_csv(path, sep=separator, **how)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: this is neither a CSV file in UTF-8 nor a Parquet file; save it as one") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty; give one with a header and a row for each item") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path}: this cannot be read as CSV: {_trouble(str(error))}") from None
    return rows.iloc[1:].set_axis(rows.iloc[0].tolist(), axis=1)


def _trouble(said: str) -> str:
    """What pandas says of a CSV file, with the remedy.

    Examples
    --------
    >>> _trouble("Error tokenizing data. C error: Expected 3 fields in line 7, saw 4")
    'line 7 has 4 values, and line 1 has 3; the header and every row need as many values; quote those with a separator'
    """
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", said):
        header, line, values = found.groups()
        remedy = "the header and every row need as many values; quote those with a separator"
        return f"line {line} has {values} values, and line 1 has {header}; {remedy}"
    if found := re.search(r"EOF inside string starting at row (\d+)", said):
        return f"a quotation mark in line {int(found[1]) + 1} is not closed; close it, or leave it out"
    return f"{said.strip()}; every row needs as many values as the header"
