"""Tables: rows of named values, to print, to show in a notebook and to put into a paper."""

import dataclasses
import html
import math
import re
from collections.abc import Callable
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
            return NOTHING
        lines = self._lines(in_one_line)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        sides = [str.ljust if is_text else str.rjust for is_text in self._are_texts()]
        columns = list(zip(sides, widths, strict=True))
        aligned = ([side(cell, width) for cell, (side, width) in zip(line, columns, strict=True)] for line in lines)
        return "\n".join("  ".join(line).rstrip() for line in aligned)

    def to_markdown(self) -> str:
        r"""The table in Markdown, as GitHub and most others read it; signs that mean something there are escaped.

        Examples
        --------
        >>> print(Table([{"policy": "a|b", "V_R": 12.5}]).to_markdown())
        | policy | V\_R |
        | :--- | ---: |
        | a\|b | 12.5 |
        """
        if not self.rows:
            return NOTHING
        head, *lines = self._lines(in_markdown)
        rule = [":---" if is_text else "---:" for is_text in self._are_texts()]
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))

    def to_latex(self) -> str:
        r"""The table as a ``tabular`` of LaTeX, with the lines of its package booktabs; all texts are escaped.

        Examples
        --------
        >>> print(Table([{"policy": "A & B", "V_R": -12.5, "± 95 %": 1.5}]).to_latex())
        \begin{tabular}{lrr}
        \toprule
        policy & V\_R & $\pm$ 95 \% \\
        \midrule
        A \& B & $-$12.5 & 1.5 \\
        \bottomrule
        \end{tabular}
        """
        if not self.rows:
            return NOTHING
        head, *lines = (rf"{' & '.join(line)} \\" for line in self._lines(in_latex))
        kinds = "".join("l" if is_text else "r" for is_text in self._are_texts())
        begin, end = rf"\begin{{tabular}}{{{kinds}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *lines, r"\bottomrule", end])

    def _lines(self, written: Callable[[str], str]) -> list[list[str]]:
        """The names of the columns, then the cells of each row, as ``written`` writes them."""
        names = list(self.rows[0])
        cells = [[_cell(row[name]) for name in names] for row in self.rows]
        return [[written(cell) for cell in line] for line in [names, *cells]]

    def _are_texts(self) -> list[bool]:
        """Of each column, whether it is text: it then stands on the left."""
        return [isinstance(value, str) for value in self.rows[0].values()]

    def _repr_html_(self) -> str:
        names = list(self.rows[0]) if self.rows else []
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in names) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


NOTHING = "(nothing)"
"""A table without rows."""

LATEX = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {sign: f"{{{sign}}}" for sign in "[*"}  # after the end of a line they would belong to it
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "±": r"$\pm$",
        "·": r"$\cdot$",
        "…": r"\ldots{}",
        "\n": " ",
    }
)
"""What is written for signs that LaTeX takes for something else, or has no letter for."""


def in_latex(text: str) -> str:
    r"""A text, or a number as a text, as LaTeX shows it.

    Examples
    --------
    >>> print(in_latex("50 % of {V_R}"), in_latex("-12.35"))
    50 \% of \{V\_R\} $-$12.35
    """
    return re.sub(r"^-(?=\d)", "$-$", text.translate(LATEX))


def in_markdown(text: str) -> str:
    r"""A text as Markdown shows it.

    Examples
    --------
    >>> print(in_markdown("V_R | <b>"))
    V\_R \| \<b\>
    """
    return re.sub(r"([\\`*_\[\]<>|$~&])", r"\\\1", text.replace("\n", " "))


DIGITS, WHOLE = 4, 999.95
"""Numbers have so many digits that matter, and from there on none behind the point."""


UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Characters that have no shape of their own: they command a terminal, turn the text around, or are half of one."""

_UNSEEN, _UNSEEN_OR_BREAKS = re.compile(f"[{UNSEEN}]"), re.compile(f"[{UNSEEN}\t\n]")


def seen(text: str) -> str:
    r"""A text in which everything can be seen: control characters as Python writes them, but for tabs and line breaks.

    Examples
    --------
    >>> print(seen("\x1b[31mred"))
    \x1b[31mred
    """
    return _UNSEEN.sub(_written_out, text)


def in_one_line(text: str) -> str:
    r"""The same without tabs and line breaks.

    Examples
    --------
    >>> print(in_one_line("two\nlines"))
    two\nlines
    """
    return _UNSEEN_OR_BREAKS.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


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
