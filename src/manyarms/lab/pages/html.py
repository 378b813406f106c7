"""HTML: what all pages are made of. A page is one file that loads nothing, and names in it are only ever text."""

import html
import importlib.resources
import json
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...atomic import at_once
from ...tables import Table
from ...version import __version__
from ..figures.statistics import NUMBERS, number


class Section(NamedTuple):
    """What a caller puts in front of a report: plain text, no markup."""

    heading: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table | list[dict[str, Any]]] = ()  # or lists of rows, as in a ``Table``


def as_sections(owner: str, sections: Any) -> list[Section]:
    """Sections, from tuples with the same parts; what else they may be is named."""
    if not isinstance(sections, Iterable) or isinstance(sections, (str, Section)):
        raise ValueError(f"{owner} must be a list of Section(heading, paragraphs, tables), not {sections!r}")
    return [_as_section(owner, section) for section in sections]


def _as_section(owner: str, given: Any) -> Section:
    if not isinstance(given, tuple) or not 1 <= len(given) <= 3 or not isinstance(given[0], str):
        raise ValueError(f"{owner} must be a list of Section(heading, paragraphs, tables), one of them is {given!r}")
    section = Section(*given)
    for name, kinds, words in (("paragraphs", str, "texts"), ("tables", (Table, list), "tables, or of lists of rows")):
        parts = getattr(section, name)
        if not isinstance(parts, Sequence) or isinstance(parts, str) or not all(isinstance(p, kinds) for p in parts):
            raise ValueError(f"{owner}: the {name} of {section.heading!r} must be a list of {words}, not {parts!r}")
    for rows in section.tables:
        if isinstance(rows, list) and not all(isinstance(row, dict) for row in rows):
            raise ValueError(
                f"{owner}: the tables of {section.heading!r} must have rows by the names of their columns, as in "
                f'[{{"policy": "mine", "regret": 3.5}}], not {rows!r}'
            )
    return section


# ---------------------------------------------------------------- whole pages


def drawn_page(title: str, body: str, style: str, script: str, data: dict[str, Any]) -> str:
    """A page with charts, which ``script`` draws from ``data``."""
    drawing = f'<script type="application/json" id="data">{json_text(data | {"numbers": NUMBERS})}</script>\n'
    return whole_page(title, body + drawing, style, f"{asset('common.js')}{script}")


def whole_page(title: str, body: str, style: str, script: str) -> str:
    """A page with nothing but this, and with tables that say where they go on."""
    body += f"<script>\n{asset('scrolls.js')}{script}\n</script>\n"
    return filled(
        asset("page.html"), {"title": text(title), "version": text(__version__), "body": body, "style": style}
    )


def write_page(path: str | Path, page: str) -> Path:
    """Write a page at once; return its path."""
    path = Path(path)
    with at_once(path) as temporary:
        # A file's name may be no UTF-8, and stand in the page; escaped like this, it is right in JSON, too.
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")
    return path


def asset(name: str, room: str = "pages") -> str:
    """A file that belongs to the pages of a room."""
    lab = importlib.resources.files(__package__.rpartition(".")[0])
    return (lab / room / "assets" / name).read_text(encoding="utf-8")


def filled(template: str, parts: dict[str, str]) -> str:
    """The template with every ``{{name}}`` replaced, once: what is put in is not looked at again.

    What is between ``{{?name}}`` and ``{{/name}}`` stays only if there is something to put in for the name, and what
    is between ``{{!name}}`` and ``{{/name}}`` only if there is nothing.
    """

    def put(found: re.Match[str]) -> str:
        name, kind, asked, inside = found.groups()
        if name:
            return parts[name]
        return filled(inside, parts) if bool(parts[asked]) == (kind == "?") else ""

    return re.sub(r"(?s)\{\{(?:(\w+)|([?!])(\w+)\}\}(.*?)\{\{/\3)\}\}", put, template)


# ---------------------------------------------------------------- parts of pages


def added(section: Section) -> str:
    """A section, with its tables."""
    page = f'<section class="added"><h2>{text(section.heading)}</h2>'
    page += "".join(f"<p>{text(paragraph)}</p>" for paragraph in section.paragraphs)
    for one in section.tables:
        rows = one.rows if isinstance(one, Table) else one
        if rows:
            texts = [text(name) for name, value in rows[0].items() if not _is_number(value)]
            page += table_of([{text(name): _cell(value) for name, value in row.items()} for row in rows], texts=texts)
    return f"{page}</section>"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return number(value) if _is_number(value) else text(value)


def table_of(rows: Sequence[dict[str, str]], caption: str = "", texts: Collection[str] = ()) -> str:
    """A table of rows by the names of their columns, all HTML already; some columns are ``texts``."""
    return table(list(rows[0]), [list(row.values()) for row in rows], caption, [name in texts for name in rows[0]])


def table(
    head: Sequence[str], lines: Sequence[Sequence[str]], caption: str = "", is_text: Sequence[bool] | None = None
) -> str:
    """A table of cells that are HTML already; the first of a line is its heading."""
    kinds = [' class="text"' if one else "" for one in is_text or [False] * len(head)]
    top = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in zip(head, kinds, strict=True))
    body = ""
    for first, *others in lines:
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        body += f'<tr><th scope="row">{first}</th>{cells}</tr>'
    page = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    said = f'<p class="said">{caption}</p>' if caption else ""
    return f'{said}<div class="scroll" tabindex="0" role="region" aria-label="{caption or "Table"}">{page}</div>'


def facts(pairs: Iterable[tuple[object, str]]) -> str:
    """What stands at the top of a page: values, and what they are; both HTML already."""
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for value, name in pairs)


def spec_text(spec: Any) -> str:
    """A policy or a world as JSON to read."""
    return text(json.dumps(spec.to_json(), ensure_ascii=False))


# ---------------------------------------------------------------- text and numbers


def text(value: object) -> str:
    """Anything as text that is no markup."""
    return html.escape(str(value))


def json_text(values: Any) -> str:
    """JSON that ends no script."""
    found = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return found.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def short(values: Any) -> Any:
    """Numbers with six digits as plain JSON values; None for those that are none."""
    if np.ndim(values):
        return [short(value) for value in values]
    return float(f"{values:.6g}") if math.isfinite(values) else None
