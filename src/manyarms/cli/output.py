"""What commands print, tables for people and JSON for machines, and where they write."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..tables import Table

FORMATS: dict[str, Callable[[Table], str]] = {"text": str, "markdown": Table.to_markdown, "latex": Table.to_latex}
"""How tables can be written."""


def print_json(value: Any) -> None:
    """Print values for machines; JSON has no word for what is not a number."""
    print(json.dumps(_with_null(value), indent=1, ensure_ascii=False))


def _with_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_null(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_null(part) for part in value]
    return None if value != value else value


def print_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print rows for machines or for people."""
    if as_json:
        print_json(rows)
    else:
        print(Table(rows))


def checked_output(option: str, name: str, such: str) -> Path:
    """Where a file or a folder goes that is ``such`` as this one; an error if it cannot be written."""
    path, is_folder = Path(name), not Path(such).suffix
    wanted = f"a {'folder' if is_folder else 'file'} such as"
    if not name:
        raise ValueError(f"{option} '' names nothing; give {wanted} {such}")
    if is_folder and path.exists() and not path.is_dir():
        raise ValueError(f"{option} {name!r} is a file; give {wanted} {such}")
    if not is_folder and path.is_dir():
        raise ValueError(f"{option} {name!r} is a folder; give {wanted} {path / such}")
    if such.endswith(".html") and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option} {name!r} must end in .html or .htm: it is a page; --figure gives pictures")
    above = path.absolute() / "any" if is_folder else path.absolute()
    folder = next(parent for parent in above.parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            return path
    except OSError as error:
        said = f"{option} {name!r} cannot be written: {folder}: {error.strerror}"
        raise OSError(f"{said}; give {wanted} {such} in another folder") from None
