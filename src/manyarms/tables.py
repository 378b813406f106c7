"""Tables: rows of named values, to print and to show in a notebook."""

import dataclasses
import html
import math
from typing import Any


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of named values that print as an aligned table.

    Examples
    --------
    >>> print(Table([{"policy": "A", "regret": 12.5}]))
    policy  regret
    A         12.5
    """

    rows: list[dict[str, Any]]

    def __str__(self) -> str:
        if not self.rows:
            return "(nothing)"
        names = list(self.rows[0])
        cells = [[_cell(row[name]) for name in names] for row in self.rows]
        widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
        sides = [str.ljust if isinstance(self.rows[0][name], str) else str.rjust for name in names]
        lines = []
        for line in [names, *cells]:
            parts = (side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True))
            lines.append("  ".join(parts).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = list(self.rows[0]) if self.rows else []
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in names) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


DIGITS, WHOLE = 4, 999.95
"""Numbers have so many digits that matter, and from there on none behind the point."""


def number_text(value: float) -> str:
    """A finite number to read, thousands apart.

    Examples
    --------
    >>> number_text(1234567.8), number_text(-12.3456), number_text(0.5)
    ('1,234,568', '-12.35', '0.5')
    """
    return f"{value:,.0f}" if abs(value) >= WHOLE else f"{value:.{DIGITS}g}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value) if math.isfinite(value) else "-"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
