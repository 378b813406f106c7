"""What commands print, tables for people and JSON for machines, and where they write."""

import codecs
import contextlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..specs import text_of
from ..tables import Table, seen

FORMATS: dict[str, Callable[[Table], str]] = {"text": str, "markdown": Table.to_markdown, "latex": Table.to_latex}
"""How tables can be written."""


PLAIN = {"…": "...", "±": "+-", "×": "x", "·": "*", "–": "-", "−": "-", "’": "'", "“": '"', "”": '"'}
"""What is written for our own signs where a terminal has no letter for them."""


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """Instead of an error: signs that cannot be encoded in plain letters, and any other as its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign) or sign.encode("unicode_escape").decode() for sign in signs), error.end


codecs.register_error("manyarms", _plainer)


@contextlib.contextmanager
def nothing_lost() -> Iterator[None]:
    """While this lasts, what a terminal cannot show is written otherwise, on standard output and error."""
    with _somewhere():
        streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")]
        before = [stream.errors for stream in streams]
        for stream in streams:
            stream.reconfigure(errors="manyarms")
        try:
            yield
        finally:
            for stream, errors in zip(streams, before, strict=True):
                with contextlib.suppress(ValueError, OSError):  # it is closed, or nobody reads it any more
                    stream.reconfigure(errors=errors)


@contextlib.contextmanager
def _somewhere() -> Iterator[None]:
    """While this lasts, there is standard output and error: nowhere, where a shell has closed them (``>&-``)."""
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    with contextlib.ExitStack() as nowhere:
        for name in closed:
            setattr(sys, name, nowhere.enter_context(open(os.devnull, "w")))
        try:
            yield
        finally:
            for name in closed:
                setattr(sys, name, None)


def say(what: object = "", end: str = "\n", *, aside: bool = False) -> None:
    """Print something that may hold names from outside, on standard error if it is an ``aside``."""
    print(seen(str(what)), end=end, file=sys.stderr if aside else sys.stdout, flush=aside)


def say_how_far(text: str) -> None:
    """What a command is busy with."""
    say(f"… {text}", aside=True)


LONGEST_LINE = 2_000
"""Of an error, in characters: it shows the value that is wrong, which may be of any length."""


def say_error(command: str, error: object) -> None:
    """Print what is wrong with a command; of a very long line, the middle is left out."""
    text = text_of(error).removeprefix(f"{command}: ")  # some begin with it, as they do in Python
    half = LONGEST_LINE // 2
    cut = (line if len(line) <= LONGEST_LINE else f"{line[:half]} … {line[-half:]}" for line in text.split("\n"))
    said = "\n".join(cut)
    with contextlib.suppress(OSError):  # nobody can be told: the exit code says that something is wrong
        say(f"manyarms {command}: {said}", aside=True)


def print_json(value: Any) -> None:
    """Print values for machines, in ASCII; JSON has no word for what is not a finite number."""
    print(json.dumps(_with_null(value), indent=1, allow_nan=False).replace("\x7f", "\\u007f"))


def _with_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_null(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_null(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print rows for machines or for people."""
    if as_json:
        print_json(rows)
    else:
        say(Table(rows))


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
    leads_to = Path(os.path.realpath(path))
    if not is_folder and leads_to.suffix.lower() != path.suffix.lower():
        raise ValueError(
            f"{option} {name!r} is a link to {str(leads_to)!r}, which is something else; give another file"
        )
    above = path.absolute() / "any" if is_folder else path.absolute()
    folder = next(parent for parent in above.parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            return path
    except OSError as error:
        said = f"{option} {name!r} cannot be written: {folder}: {error.strerror}"
        raise OSError(f"{said}; give {wanted} {such} in another folder") from None
