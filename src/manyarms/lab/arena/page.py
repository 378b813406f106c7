"""The arena to look at: one HTML page that loads nothing, and a figure; a heat map of all ratios in both."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compiled import LOADED_SOURCES
from ...version import __version__
from ..figures.figures import WIDTHS, save, styled
from ..figures.statistics import number
from ..pages.html import added, asset, facts, filled, spec_text, table, table_of, text, whole_page
from .arena import Arena
from .leagues import GROUPS, HALVES, HINDSIGHT
from .scores import Ratio, Scores, findings, geometric_mean, ratio_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Heat(NamedTuple):
    """A colour for ratios below a bound: of the field and of the number in it, on a light page and on a dark one."""

    below: float
    light: tuple[str, str]
    dark: tuple[str, str]


Heats = tuple[Heat, ...]

COLOURS = (
    (("#2166ac", "#ffffff"), ("#6db3f2", "#0e1216")),
    (("#6fadd6", "#0d1b26"), ("#2c76b5", "#ffffff")),
    (("#c3ddf0", "#0d1b26"), ("#1c4263", "#e7eaee")),
    (("#f3f3f1", "#1a1f26"), ("#20262d", "#e7eaee")),
    (("#fdebd9", "#1a1f26"), ("#342a20", "#e7eaee")),
    (("#fdd6b3", "#1a1f26"), ("#4b3421", "#e7eaee")),
    (("#fbb67f", "#1a1f26"), ("#6b4222", "#ffffff")),
    (("#f08b49", "#1a1f26"), ("#935222", "#ffffff")),
    (("#c2501b", "#ffffff"), ("#ae5f1c", "#ffffff")),
    (("#9c300e", "#ffffff"), ("#e08f4b", "#0e1216")),
    (("#6d1d05", "#ffffff"), ("#f9c08f", "#0e1216")),
)
"""From the best to the worst: blue, nearly white, red."""

LESS_IS_BETTER = (0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, math.inf)
MORE_IS_BETTER = (0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97, 1.0, 1.1, 1.3, math.inf)
"""Where colours end: in steps that are finer near 1."""

HEATS: dict[float, Heats] = {
    -1.0: tuple(Heat(below, *colours) for below, colours in zip(LESS_IS_BETTER, COLOURS, strict=True)),
    1.0: tuple(Heat(below, *colours) for below, colours in zip(MORE_IS_BETTER, COLOURS[::-1], strict=True)),
}
"""By the sign of what a league measures."""


def heat_of(ratio: float, heats: Heats) -> int:
    """The number of the colour of a ratio.

    Examples
    --------
    >>> [heat_of(ratio, HEATS[-1.0]) for ratio in (0.9, 1.0, 1000.0)]
    [2, 3, 10]
    """
    return next(place for place, heat in enumerate(heats) if ratio < heat.below)


def heat_labels(heats: Heats) -> list[str]:
    """What each colour says."""
    bounds = [f"{heat.below:g}" for heat in heats[:-1]]
    middle = [f"{low} – {high}" for low, high in itertools.pairwise(bounds)]
    return [f"below {bounds[0]}", *middle, f"{bounds[-1]} and more"]


# ---------------------------------------------------------------- the page


def arena_page(arena: Arena, scores: Scores, star: str, command: str = "") -> str:
    """The leaderboard, the heat map and the settings of an arena as one HTML page."""
    sections = [added(section) for section in findings(scores, star)]
    league, layout = arena.league, Layout(scores)
    parts = {
        "title": text(league.name),
        "about": text(league.about),
        "note": text(league.note),
        "version": text(__version__),
        "facts": _facts(arena),
        "sections": "".join(sections[:2]),
        "legend": _legend(layout.heats),
        "heat": _heat_map(layout, star),
        "intervals": "yes" if arena.replications > 1 else "",
        "star": "".join(sections[2:]),
        "command": text(command),
        "seed": str(arena.seed),
        "replications": f"{arena.replications:,}",
        "sources": LOADED_SOURCES,
        "contests": _contest_table(arena),
        "entrants": _entrant_table(arena),
    }
    style = f"{asset('report.css')}{asset('arena.css', 'arena')}\n{_colours(layout.heats)}"
    body = filled(asset("arena.html", "arena"), parts)
    return whole_page(league.name, body, style, asset("arena.js", "arena"))


def _facts(arena: Arena) -> str:
    horizons = sorted({contest.horizon for contest in arena.contests})
    return facts(
        [
            (len(arena.entrants), "entrants"),
            (f"{sum(len(study.cells) for study in arena.studies.values()):,}", "policies in contests"),
            (len(arena.contests), "contests"),
            (len({contest.world for contest in arena.contests}), "worlds"),
            (" · ".join(f"{horizon:,}" for horizon in horizons), "horizons"),
            (f"{arena.replications:,}", "replications"),
            (arena.seed, "seed"),
        ]
    )


def _legend(heats: Heats) -> str:
    parts = (f'<li class="h{place}">{label}</li>' for place, label in enumerate(heat_labels(heats)))
    return f'<ul class="scale" aria-label="Colours of ratios">{"".join(parts)}</ul>'


def _colours(heats: Heats) -> str:
    """A class for each colour of the heat map."""
    light, dark = (
        [
            f".h{place} {{ background: {getattr(heat, page)[0]}; color: {getattr(heat, page)[1]}; }}"
            for place, heat in enumerate(heats)
        ]
        for page in ("light", "dark")
    )
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}"])


Fields = dict[str, tuple[Ratio, str]]
"""A row of a heat map: by entrant, its ratio and the words about it."""


class Layout:
    """What both heat maps show: groups of entrants across, halves of contests down, and the fields between them."""

    def __init__(self, scores: Scores) -> None:
        told = {told: [entrant.name for entrant in scores.entrants if entrant.told == told] for told in GROUPS}
        headings = {told: "in hindsight" if told == HINDSIGHT else f"told {told}" for told in GROUPS}
        self.groups = {headings[told]: names for told, names in told.items() if names}
        self.heats = HEATS[scores.league.measure.sign]
        self.means: Fields = {}
        self.halves: dict[str, dict[str, Fields]] = {}
        for contest in sorted(scores.contests, key=lambda contest: HALVES.index(contest.half)):
            self.halves.setdefault(f"{contest.half} half", {})[contest.name] = {}
        for name in itertools.chain(*self.groups.values()):
            duels = scores.main_duels(name)
            if duels:
                mean = geometric_mean(duels)
                self.means[name] = mean, f"{name}: {mean} in {len(duels)} contests"
            for duel in duels:
                chosen = scores.chosen[duel.contest.name, name]
                words = f"{name}{f' ({chosen})' if chosen else ''}: {duel.ratio} times {duel.rival}"
                self.halves[f"{duel.contest.half} half"][duel.contest.name][name] = duel.ratio, words


def _heat_map(layout: Layout, star: str) -> str:
    page = _heat_heads(layout)
    page += f'<tbody class="means">{_heat_row(layout, star, "geometric mean", layout.means)}</tbody>'
    for half, contests in layout.halves.items():
        rows = "".join(_heat_row(layout, star, text(name), fields) for name, fields in contests.items())
        page += f'<tbody><tr class="half"><th scope="rowgroup">{half}</th></tr>{rows}</tbody>'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Ratios"><table class="heat">{page}</table></div>'
    )


def _heat_heads(layout: Layout) -> str:
    gap = '<th class="gap"></th>'
    heads = gap.join(
        f'<th scope="colgroup" colspan="{len(members)}">{told}</th>' for told, members in layout.groups.items()
    )
    names = gap.join(
        "".join(f'<th scope="col"><span>{text(name)}</span></th>' for name in members)
        for members in layout.groups.values()
    )
    return f'<thead><tr class="groups"><th></th>{heads}</tr><tr class="names"><th></th>{names}</tr></thead>'


def _heat_row(layout: Layout, star: str, head: str, fields: Fields) -> str:
    """A field for each entrant, with a gap between the groups."""

    def field(name: str) -> str:
        if name not in fields:
            return '<td class="none">·</td>'
        ratio, words = fields[name]
        mark = " star" if name == star else ""
        heat = heat_of(ratio.value, layout.heats)
        return f'<td class="h{heat}{mark}" title="{text(words)}">{ratio_text(ratio.value)}</td>'

    row = '<td class="gap"></td>'.join("".join(map(field, members)) for members in layout.groups.values())
    return f'<tr><th scope="row">{head}</th>{row}</tr>'


def _contest_table(arena: Arena) -> str:
    rows = [{"Contest": contest.name, "Half": contest.half} | contest.settings() for contest in arena.contests]
    shown = [
        {name: number(value) if isinstance(value, float) else text(value) for name, value in row.items()}
        for row in rows
    ]
    texts = [name for name, value in rows[0].items() if isinstance(value, str)]
    return table_of(shown, text(arena.league.settings_note), texts)


def _entrant_table(arena: Arena) -> str:
    """Every entrant with what it plays in the first contest that it enters."""
    lines = []
    for entrant in arena.entrants:
        entered = [contest for contest in arena.contests if entrant.policies(contest)]
        plays = list(entrant.policies(entered[0]).values()) if entered else []
        spec = spec_text(plays[0]) if plays else "–"
        more = f" and {len(plays) - 1} more" if len(plays) > 1 else ""
        lines.append([text(entrant.name), text(entrant.told), str(len(entered)), f"<code>{spec}</code>{more}"])
    caption = "What each plays in the first of its contests."
    return table(["Entrant", "Told", "Contests", "Policy"], lines, caption, is_text=[True, True, False, True])


# ---------------------------------------------------------------- the figure

ROW, COLUMN = 0.125, 0.27
"""The height and the width of a field, in inches."""

MARGINS = {"left": 2.35, "right": 0.05, "top": 2.05, "bottom": 0.35}
"""Around all fields, in inches: names stand there."""

GAP, HEADING = 0.4, 1.2
"""The room between two groups, in fields, and that for the heading of a half."""

LABEL = 2.3
"""The width of a label of a colour, in fields."""

MOST_ACROSS = 25
"""Entrants in one figure: with more of them, no number could be read in print."""

INK, PALE = "#1a1f26", "#566170"


def heat_figures(scores: Scores) -> "list[Figure]":
    """The heat map as figures: contests down, entrants across, as many in each as can be read."""
    layout = Layout(scores)
    with styled():
        return [_drawn(layout, groups, len(scores.contests)) for groups in parts_of(layout.groups, MOST_ACROSS)]


def parts_of(groups: Mapping[str, Sequence[str]], most: int) -> list[dict[str, list[str]]]:
    """Groups of names as the least number of parts of nearly the same size, none of more than ``most`` names.

    Examples
    --------
    >>> parts_of({"x": ["a", "b", "c"], "y": ["d", "e"]}, most=4)
    [{'x': ['a', 'b', 'c']}, {'y': ['d', 'e']}]
    """
    names = [(group, name) for group, members in groups.items() for name in members]
    each = math.ceil(len(names) / math.ceil(len(names) / most))
    parts: list[dict[str, list[str]]] = []
    for place, (group, name) in enumerate(names):
        if place % each == 0:
            parts.append({})
        parts[-1].setdefault(group, []).append(name)
    return parts


def _drawn(layout: Layout, groups: dict[str, list[str]], contests: int) -> "Figure":
    """The entrants of some groups."""
    chart = _Chart(layout, groups, contests)
    places = chart.heads()
    chart.row(0.0, "geometric mean", layout.means, places, weight="bold")
    y = 1.0
    for half, rows in layout.halves.items():
        chart.name(y + 0.2, half, color=PALE)
        y += HEADING
        for name, fields in rows.items():
            chart.row(y, name, fields, places)
            y += 1.0
    chart.legend(y + 0.8)
    return chart.figure


class _Chart:
    """A figure whose unit is a field."""

    def __init__(self, layout: Layout, groups: dict[str, list[str]], contests: int) -> None:
        import matplotlib.pyplot as plt
        from matplotlib.patches import Rectangle

        self.rectangle = Rectangle
        self.layout = layout
        self.groups = groups
        self.across = sum(map(len, groups.values())) + GAP * (len(groups) - 1)
        down = contests + 1.0 + HEADING * len(layout.halves)
        wide = self.across * COLUMN + MARGINS["left"] + MARGINS["right"]
        high = down * ROW + MARGINS["top"] + MARGINS["bottom"]
        scale = min(1.0, WIDTHS["page"] / wide)
        self.size = 5.0 * scale  # of a number, in points
        self.figure = plt.figure(figsize=(wide * scale, high * scale))
        corner = MARGINS["left"] / wide, MARGINS["bottom"] / high
        self.panel = self.figure.add_axes((*corner, self.across * COLUMN / wide, down * ROW / high))
        self.panel.set_xlim(0.0, self.across)
        self.panel.set_ylim(down, 0.0)
        self.panel.axis("off")

    def write(self, x: float, y: float, text: str, scale: float = 1.0, **look: Any) -> None:
        """A text around a point."""
        self.panel.text(x, y, text, fontsize=self.size * scale, **({"ha": "center", "va": "center"} | look))

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A coloured box."""
        self.panel.add_patch(self.rectangle((x, y), width, height, facecolor=colour, linewidth=0.0, clip_on=False))

    def row(self, y: float, name: str, fields: Fields, places: dict[str, float], weight: str = "normal") -> None:
        """A name, and ratios on their colours."""
        self.name(y, name, weight=weight)
        for entrant, place in places.items():
            if entrant in fields:
                ratio = fields[entrant][0].value
                colour, ink = self.layout.heats[heat_of(ratio, self.layout.heats)].light
                self.box(place, y, 0.96, 0.92, colour)
                self.write(place + 0.48, y + 0.5, ratio_text(ratio), color=ink, weight=weight)

    def name(self, y: float, name: str, color: str = INK, weight: str = "normal") -> None:
        """The name of a row."""
        self.write(-0.25, y + 0.5, name, 1.1, color=color, weight=weight, ha="right")

    def heads(self) -> dict[str, float]:
        """What groups are told and the names of entrants; return where each entrant stands."""
        places: dict[str, float] = {}
        x = 0.0
        for told, members in self.groups.items():
            self.write(x, -13.8, told, 1.2, color=PALE, ha="left", va="baseline")
            self.panel.plot([x, x + len(members)], [-13.4, -13.4], color="#B9C0C8", linewidth=0.6, clip_on=False)
            for name in members:
                places[name] = x
                self.write(x + 0.5, -0.4, name, 1.1, rotation=90, va="bottom")
                x += 1.0
            x += GAP
        return places

    def legend(self, y: float) -> None:
        """What each colour says."""
        heats = self.layout.heats
        width = self.across / len(heats)
        for place, (heat, label) in enumerate(zip(heats, heat_labels(heats), strict=True)):
            colour, ink = heat.light
            self.box(place * width, y, width * 0.98, 1.1, colour)
            short = label.replace("below ", "< ").replace(" and more", " +").replace(" – ", "–")
            self.write((place + 0.49) * width, y + 0.55, short, min(1.0, width / LABEL), color=ink)


def write_figures(scores: Scores, folder: str | Path) -> list[Path]:
    """The heat map as PNG, SVG and PDF; numbered, if it takes more than one."""
    figures = heat_figures(scores)
    name = scores.league.name
    names = [name] if len(figures) == 1 else [f"{name}-{number}" for number in range(1, len(figures) + 1)]
    return [
        save(figure, Path(folder) / f"{name}.{format}")
        for name, figure in zip(names, figures, strict=True)
        for format in ("png", "svg", "pdf")
    ]
