"""The picture of a run: episodes, regret, life-lines and changes above one another, on a common axis of rounds."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...results import COLOURS
from ..figures.figures import LEGEND_ROW, UNDATED, inches, separate_thousands, styled
from ..figures.statistics import number
from .account import ANSWERED, FALSE_ALARM, MISSED, NO_NEED, Account
from .drawing import MEAN_BINS, MEAN_TICKS, MOST_RULES, Drawing, Marks, drawing, height, lines_in_words, pieces
from .words import many

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED = COLOURS[0], COLOURS[1]
INK, GREY, BAND = "#1A1F26", "#566170", "#F0F2F4"


class Sign(NamedTuple):
    """How a restart or a shift is marked."""

    marker: str
    colour: str
    face: str  # the colour within
    size: int
    words: str


Signs = dict[str | None, Sign]
"""By verdict; the first are drawn above the others."""

RESTART_SIGNS: Signs = {
    None: Sign("v", RED, RED, 16, "restart"),
    ANSWERED: Sign("v", RED, RED, 16, "restart that answers a shift"),
    FALSE_ALARM: Sign("v", RED, "white", 16, "restart, false alarm"),
}
SHIFT_SIGNS: Signs = {
    ANSWERED: Sign("D", INK, INK, 11, "significant shift, answered"),
    MISSED: Sign("D", INK, "white", 11, "significant shift, missed"),
    NO_NEED: Sign(".", INK, INK, 9, "significant shift, no restart needed"),
}

HEIGHTS = (0.62, 1.25, 2.1, 0.85, 0.85)  # inches: the strip, regret, life-lines, V, L
LETTERS, SMALL_LETTERS = 15, 19  # of a title, and of small text, to an inch


def checked_format(path: Path) -> None:
    """An error if a picture cannot be written in the format that its name says."""
    if path.suffix[1:] not in UNDATED:
        raise ValueError(f"the picture {str(path)!r} must end in .{', .'.join(UNDATED)}, which say its format")


def figure(found: Account, *, width: str | float = "page", log: bool = False) -> "Figure":
    """The run as a matplotlib figure, on a common axis of rounds.

    Parameters
    ----------
    width
        ``"column"``, ``"page"`` or inches.
    log
        Whether the axis of rounds is logarithmic.
    """
    with styled():
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        total = inches(width)
        drawn = drawing(found)
        layout = ConstrainedLayoutEngine(hspace=0.02, h_pad=0.03)
        figure = Figure(figsize=(total, sum(HEIGHTS)), layout=layout)
        panels = figure.subplots(len(HEIGHTS), 1, sharex=True, height_ratios=HEIGHTS)
        for panel in panels:
            _bands(panel, found, drawn, log)
        _strip(panels[0], found, drawn)
        _regret(panels[1], found, drawn)
        _lives(panels[2], drawn, log, total)
        _changes(panels[3], drawn, "V", "V_R", total)
        _changes(panels[4], drawn, "L", "L_R", total)
        last = panels[-1]
        last.set_xlabel(f"round{' (logarithmic)' if log else ''}")
        if log:
            last.set_xscale("log")
            last.set_xlim(1, max(found.cell.horizon, 2))
        else:
            last.set_xlim(0, found.cell.horizon)
            last.locator_params(axis="x", nbins=max(2, int(total / 0.8)))
        separate_thousands(last.xaxis)
        figure.suptitle(
            textwrap.fill(
                f"{found.cell.policy_name} in “{found.cell.world_name}”: regret {number(found.final('regret'))} after "
                f"{found.cell.horizon:,} rounds (seed {found.seed}, replication {found.replication})",
                int(total * LETTERS),
            ),
            x=0.01, ha="left", fontsize="medium", fontweight="bold",
        )  # fmt: skip
        rows = _legend(figure, found, total)
        figure.set_figheight(sum(HEIGHTS) + 0.95 + LEGEND_ROW * rows)
        figure.draw_without_rendering()  # ticks take their settings when they are first drawn
        return figure


def _bands(panel: "Axes", found: Account, drawn: Drawing, log: bool) -> None:
    """Every other episode on a grey ground; lines where restarts and shifts are, if they are few enough."""
    edges = np.concatenate([[1 if log else 0], drawn.restarts.rounds, [found.cell.horizon]])
    if not drawn.restarts.is_thinned:
        for start, end in zip(edges[1:-1:2].tolist(), edges[2::2].tolist(), strict=True):
            panel.axvspan(start, end, color=BAND, linewidth=0, zorder=0)
    for marks, colour, style in ((drawn.restarts, RED, "-"), (drawn.shifts, INK, (0, (2, 2)))):
        if marks.total <= MOST_RULES:
            strength = min(0.8, 25.0 / max(marks.total, 1))  # the more, the fainter
            for round in marks.rounds.tolist():
                panel.axvline(round, color=colour, linewidth=0.5, linestyle=style, alpha=strength, zorder=0.5)


def _strip(panel: "Axes", found: Account, drawn: Drawing) -> None:
    panel.vlines(drawn.blocks.rounds, -0.28, 0.28, color=GREY, linewidth=0.5)
    _scatter(panel, 1.0, drawn.restarts, found.restart_verdicts, RESTART_SIGNS)
    labels = [("block", drawn.blocks), ("restart", drawn.restarts)]
    if found.shifts is not None:
        _scatter(panel, 2.0, drawn.shifts, found.shift_verdicts, SHIFT_SIGNS)
        labels.append(("shift", drawn.shifts))
    panel.set_yticks(range(len(labels)), labels=[many(marks.total, name) for name, marks in labels])
    panel.set_ylim(-0.6, len(labels) - 0.4)
    panel.tick_params(axis="both", which="both", length=0)
    panel.grid(visible=False)
    panel.spines[["left", "bottom"]].set_visible(False)


def _scatter(panel: "Axes", height: float, marks: Marks, verdicts: Sequence[Any], signs: Signs) -> None:
    verdict_of = np.array([verdicts[place].verdict for place in marks.places.tolist()], dtype=object)
    for verdict, sign in reversed(signs.items()):
        rounds = marks.rounds[verdict_of == verdict]
        panel.scatter(
            rounds, np.full(len(rounds), height), s=sign.size, marker=sign.marker, facecolor=sign.face,
            edgecolor=sign.colour, linewidth=0.8, zorder=3, clip_on=False,
        )  # fmt: skip


def _regret(panel: "Axes", found: Account, drawn: Drawing) -> None:
    panel.plot(drawn.rounds, drawn.curves["regret"], color=BLUE)
    panel.plot(drawn.rounds, drawn.curves["best"], color=GREY, linestyle="--", linewidth=1.0)
    panel.set_ylabel("regret")
    if found.cell.world.top == 1.0:
        panel.set_ylim(bottom=0)
    separate_thousands(panel.yaxis)


def _lives(panel: "Axes", drawn: Drawing, log: bool, total: float) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    shades = drawn.log if log else drawn.linear
    clear = LinearSegmentedColormap.from_list("shades", [(0.34, 0.38, 0.44, 0.0), (0.34, 0.38, 0.44, 1.0)])
    panel.pcolormesh(
        shades.edges - (0 if log else 1), np.linspace(0, 1, MEAN_BINS + 1), shades.darkness.T,
        cmap=clear, vmin=0.0, vmax=1.0, rasterized=True, linewidth=0,
    )  # fmt: skip
    most = max((line.plays for line in drawn.lines), default=1)
    ways, widths, colours = [], [], []
    for line in drawn.lines:
        share = (line.plays / most) ** 0.5
        points = np.column_stack([line.rounds, height(line.means)])
        for kind, size in zip(pieces(line), (0.5 + 2.5 * share, 0.5), strict=True):
            for piece in kind:
                ways.append(points[piece])
                widths.append(size)
                colours.append(to_rgba(BLUE, 0.45 + 0.5 * share))
    panel.add_collection(LineCollection(ways, linewidths=widths, colors=colours, capstyle="butt", zorder=2))
    ended = [line for line in drawn.lines if not line.is_last]
    panel.scatter(
        [line.rounds[-1] for line in ended], height([line.means[-1] for line in ended]), s=8, marker="|", color=BLUE,
        linewidth=0.8, zorder=2.5,
    )  # fmt: skip
    panel.set_ylim(-0.02, 1.03)
    panel.set_yticks(height(MEAN_TICKS), labels=[f"{tick:g}" for tick in MEAN_TICKS])
    panel.set_ylabel("mean of the arms played")
    _aside(panel, lines_in_words(drawn), total)


def _aside(panel: "Axes", words: str, total: float) -> None:
    """A small text above a panel, at its right, no wider than the panel."""
    words = textwrap.fill(words, int((total - 1.0) * SMALL_LETTERS))
    panel.text(1.0, 1.01, words, transform=panel.transAxes, fontsize=6.5, color=GREY, ha="right", va="bottom")


def _changes(panel: "Axes", drawn: Drawing, whole: str, part: str, total: float) -> None:
    ends = []
    for name, colour, style in ((whole, BLUE, "-"), (part, RED, "--")):
        curve = drawn.curves[name]
        panel.plot(drawn.rounds, curve, color=colour, linestyle=style, linewidth=1.1)
        ends.append(f"{name} = {number(curve[-1])}")
    panel.set_ylabel(f"{whole}, {part}")
    _aside(panel, ", ".join(ends), total)
    panel.set_ylim(bottom=0, top=max(1.05 * float(drawn.curves[whole][-1]), 1e-9) if drawn.curves[whole][-1] else 1.0)
    panel.locator_params(axis="y", nbins=3)
    separate_thousands(panel.yaxis)


def _legend(figure: "Figure", found: Account, total: float) -> int:
    """Explain all signs that occur; return how many rows that takes."""
    from matplotlib.lines import Line2D

    def line(colour: str, style: Any) -> Line2D:
        return Line2D([], [], color=colour, linestyle=style, linewidth=1.2)

    def mark(sign: Sign) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=sign.marker, markersize=4, markerfacecolor=sign.face,
            markeredgecolor=sign.colour,
        )  # fmt: skip

    entries: list[tuple[Any, str]] = [
        (line(BLUE, "-"), "regret; V and L: all changes"),
        (line(GREY, "--"), "regret of the best arm of each block"),
        (line(RED, "--"), "V_R and L_R: falls alone"),
    ]
    for verdicts, signs in ((found.restart_verdicts, RESTART_SIGNS), (found.shift_verdicts, SHIFT_SIGNS)):
        there = {one.verdict for one in verdicts}
        entries += [(mark(sign), sign.words) for verdict, sign in signs.items() if verdict in there]
    across = max(1, int(total / 2.4))
    said = f"significant shifts: {found.rule}" if found.shifts is not None else found.rule
    said = textwrap.fill(said, int(total * SMALL_LETTERS))
    figure.legend(
        [handle for handle, _ in entries], [words for _, words in entries], loc="outside lower left", ncols=across,
        fontsize=7.0, title=said, title_fontproperties={"size": 6.5}, alignment="left",
    )  # fmt: skip
    return math.ceil(len(entries) / across) + said.count("\n") + 1
