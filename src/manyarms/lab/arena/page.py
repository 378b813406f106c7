"""The arena to look at: one HTML page that loads nothing, and a figure; a heat map of all ratios in both."""

import functools
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compiled import source_digest
from ...version import __version__
from ..figures.figures import WIDTHS, save, styled
from ..figures.statistics import number
from ..pages.html import added, asset, facts, filled, settings, spec_text, table, text, whole_page
from .arena import Arena
from .scores import Ratio, Scores, findings, geometric_mean, ratio_text
from .tables import GROUPS, HALVES, Contest, Entrant

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Heat(NamedTuple):
    """A colour for ratios below a bound: of the field and of the number in it, on a light page and on a dark one."""

    below: float
    light: tuple[str, str]
    dark: tuple[str, str]


HEATS = (
    Heat(0.5, ("#2166ac", "#ffffff"), ("#6db3f2", "#0e1216")),
    Heat(0.75, ("#6fadd6", "#0d1b26"), ("#2c76b5", "#ffffff")),
    Heat(1.0, ("#c3ddf0", "#0d1b26"), ("#1c4263", "#e7eaee")),
    Heat(1.1, ("#f3f3f1", "#1a1f26"), ("#20262d", "#e7eaee")),
    Heat(1.25, ("#fdebd9", "#1a1f26"), ("#342a20", "#e7eaee")),
    Heat(1.5, ("#fdd6b3", "#1a1f26"), ("#4b3421", "#e7eaee")),
    Heat(2.0, ("#fbb67f", "#1a1f26"), ("#6b4222", "#ffffff")),
    Heat(3.0, ("#f08b49", "#1a1f26"), ("#935222", "#ffffff")),
    Heat(5.0, ("#c2501b", "#ffffff"), ("#ae5f1c", "#ffffff")),
    Heat(10.0, ("#9c300e", "#ffffff"), ("#e08f4b", "#0e1216")),
    Heat(math.inf, ("#6d1d05", "#ffffff"), ("#f9c08f", "#0e1216")),
)
"""From the best to the worst, in steps that grow: a logarithmic scale, finer near 1."""


def heat_of(ratio: float) -> int:
    """The number of the colour of a ratio.

    Examples
    --------
    >>> heat_of(0.9), heat_of(1.0), heat_of(1000.0)
    (2, 3, 10)
    """
    return next(place for place, heat in enumerate(HEATS) if ratio < heat.below)


def heat_labels() -> list[str]:
    """What each colour says."""
    bounds = [f"{heat.below:g}" for heat in HEATS[:-1]]
    middle = [f"{low} – {high}" for low, high in itertools.pairwise(bounds)]
    return [f"below {bounds[0]}", *middle, f"{bounds[-1]} and more"]


# ---------------------------------------------------------------- the page


def arena_page(arena: Arena, scores: Scores, star: str, command: str = "") -> str:
    """The leaderboard, the heat map and the settings of an arena as one HTML page."""
    sections = [added(section) for section in findings(scores, star)]
    parts = {
        "version": text(__version__),
        "facts": _facts(arena),
        "sections": "".join(sections[:2]),
        "legend": _legend(),
        "heat": _heat_map(scores, star),
        "star": "".join(sections[2:]),
        "settings": _settings(arena, command),
        "contests": _contest_table(arena),
        "entrants": _entrant_table(arena),
    }
    style = f"{asset('report.css')}{asset('arena.css', 'arena')}\n{_colours()}"
    return whole_page("arena", filled(asset("arena.html", "arena"), parts), style)


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


def _legend() -> str:
    parts = (f'<li class="h{place}">{label}</li>' for place, label in enumerate(heat_labels()))
    return f'<ul class="scale" aria-label="Colours of ratios">{"".join(parts)}</ul>'


def _colours() -> str:
    """A class for each colour of the heat map."""
    light, dark = (
        [
            f".h{place} {{ background: {getattr(heat, page)[0]}; color: {getattr(heat, page)[1]}; }}"
            for place, heat in enumerate(HEATS)
        ]
        for page in ("light", "dark")
    )
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}"])


class Layout:
    """What both heat maps show: groups of entrants across, halves of contests down, and the duels between them."""

    def __init__(self, scores: Scores) -> None:
        groups = [(told, [entrant for entrant in scores.entrants if entrant.told == told]) for told in GROUPS]
        halves = [(half, [contest for contest in scores.contests if contest.half == half]) for half in HALVES]
        self.groups = [(told, entrants) for told, entrants in groups if entrants]
        self.halves = [(half, contests) for half, contests in halves if contests]
        self.duels = {entrant.name: scores.duels(entrant.name) for entrant in scores.entrants}
        self.at = {(duel.contest.name, name): duel for name, duels in self.duels.items() for duel in duels}


def _heat_map(scores: Scores, star: str) -> str:
    layout = Layout(scores)
    means = _heat_row("geometric mean", layout, lambda entrant: _mean_field(layout, entrant, star))
    page = f'{_heat_heads(layout)}<tbody class="means">{means}</tbody>'
    for half, contests in layout.halves:
        rows = "".join(
            _heat_row(text(contest.name), layout, functools.partial(_ratio_field, scores, layout, star, contest))
            for contest in contests
        )
        page += f'<tbody><tr class="half"><th scope="rowgroup">{half} half</th></tr>{rows}</tbody>'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Ratios"><table class="heat">{page}</table></div>'
    )


def _heat_heads(layout: Layout) -> str:
    gap = '<th class="gap"></th>'
    heads = gap.join(
        f'<th scope="colgroup" colspan="{len(members)}">{_told(told)}</th>' for told, members in layout.groups
    )
    names = gap.join(
        "".join(f'<th scope="col"><span>{text(entrant.name)}</span></th>' for entrant in members)
        for _, members in layout.groups
    )
    return f'<thead><tr class="groups"><th></th>{heads}</tr><tr class="names"><th></th>{names}</tr></thead>'


def _heat_row(head: str, layout: Layout, field: Callable[[Entrant], str]) -> str:
    """A field for each entrant, with a gap between the groups."""
    row = '<td class="gap"></td>'.join("".join(map(field, members)) for _, members in layout.groups)
    return f'<tr><th scope="row">{head}</th>{row}</tr>'


def _mean_field(layout: Layout, entrant: Entrant, star: str) -> str:
    duels = layout.duels[entrant.name]
    if not duels:
        return NO_FIELD
    mean = geometric_mean(duels)
    return _field(mean, f"{entrant.name}: {mean} in {len(duels)} contests", entrant.name == star)


def _ratio_field(scores: Scores, layout: Layout, star: str, contest: Contest, entrant: Entrant) -> str:
    duel = layout.at.get((contest.name, entrant.name))
    if duel is None:
        return NO_FIELD
    chosen = scores.chosen[contest.name, entrant.name]
    title = f"{entrant.name}{f' ({chosen})' if chosen else ''}: {duel.ratio} times {duel.rival}"
    return _field(duel.ratio, title, entrant.name == star)


NO_FIELD = '<td class="none">·</td>'


def _field(ratio: Ratio, title: str, is_star: bool) -> str:
    mark = " star" if is_star else ""
    return f'<td class="h{heat_of(ratio.value)}{mark}" title="{text(title)}">{ratio_text(ratio.value)}</td>'


def _told(told: str) -> str:
    return "in hindsight" if told == GROUPS[2] else f"told {told}"


def _settings(arena: Arena, command: str) -> str:
    lines = [
        ("Seed", f"{arena.seed}"),
        ("Replications", f"{arena.replications:,}"),
        ("Version", text(f"manyarms {__version__}")),
        ("Sources", f"<code>{source_digest()}</code>"),
    ]
    return settings(lines, command)


def _contest_table(arena: Arena) -> str:
    lines = [
        [text(contest.name), contest.half, text(contest.world.drift.label()), number(contest.falls)]
        for contest in arena.contests
    ]
    caption = (
        "V is what policies are told that need it: by how much means fall if one good arm after another is played."
    )
    return table(["Contest", "Half", "Drift", "V"], lines, caption, is_text=[True, True, True, False])


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

MARGINS = {"left": 2.35, "right": 0.05, "top": 1.75, "bottom": 0.35}
"""Around all fields, in inches: names stand there."""

GAP, HEADING = 0.4, 1.2
"""The room between two groups, in fields, and that for the heading of a half."""

INK, PALE = "#1a1f26", "#566170"


def heat_figure(scores: Scores) -> "Figure":
    """The heat map as a figure: contests down, entrants across."""
    layout = Layout(scores)
    with styled():
        chart = _Chart(layout, len(scores.contests))
        places = chart.heads()
        chart.line(0.0, "geometric mean", weight="bold")
        for name, duels in layout.duels.items():
            if duels:
                chart.field(places[name], 0.0, geometric_mean(duels), weight="bold")
        y = 1.0
        for half, contests in layout.halves:
            chart.line(y + 0.2, f"{half} half", colour=PALE)
            y += HEADING
            for contest in contests:
                chart.line(y, contest.name)
                for name, x in places.items():
                    if (contest.name, name) in layout.at:
                        chart.field(x, y, layout.at[contest.name, name].ratio)
                y += 1.0
        chart.legend(y + 0.8)
    return chart.figure


class _Chart:
    """A figure whose unit is a field."""

    def __init__(self, layout: Layout, contests: int) -> None:
        import matplotlib.pyplot as plt
        from matplotlib.patches import Rectangle

        self.rectangle = Rectangle
        self.layout = layout
        self.across = sum(len(members) for _, members in layout.groups) + GAP * (len(layout.groups) - 1)
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

    def field(self, x: float, y: float, ratio: Ratio, weight: str = "normal") -> None:
        """A ratio on its colour."""
        colour, ink = HEATS[heat_of(ratio.value)].light
        self.box(x, y, 0.96, 0.92, colour)
        self.write(x + 0.48, y + 0.5, ratio_text(ratio.value), color=ink, weight=weight)

    def line(self, y: float, name: str, weight: str = "normal", colour: str = INK) -> None:
        """The name of a row."""
        self.write(-0.25, y + 0.5, name, 1.1, color=colour, weight=weight, ha="right")

    def heads(self) -> dict[str, float]:
        """What groups are told and the names of entrants; return where each entrant stands."""
        places: dict[str, float] = {}
        x = 0.0
        for told, members in self.layout.groups:
            self.write(x, -11.4, _told(told), 1.2, color=PALE, ha="left", va="baseline")
            self.panel.plot([x, x + len(members)], [-11.0, -11.0], color="#B9C0C8", linewidth=0.6, clip_on=False)
            for entrant in members:
                places[entrant.name] = x
                self.write(x + 0.5, -0.4, entrant.name, 1.1, rotation=90, va="bottom")
                x += 1.0
            x += GAP
        return places

    def legend(self, y: float) -> None:
        """What each colour says."""
        width = self.across / len(HEATS)
        for place, (heat, label) in enumerate(zip(HEATS, heat_labels(), strict=True)):
            colour, ink = heat.light
            self.box(place * width, y, width * 0.98, 1.1, colour)
            short = label.replace("below ", "< ").replace(" and more", " +").replace(" – ", "–")
            self.write((place + 0.49) * width, y + 0.55, short, color=ink)


def write_figures(scores: Scores, folder: str | Path) -> list[Path]:
    """The heat map as PNG, SVG and PDF."""
    figure = heat_figure(scores)
    return [save(figure, Path(folder) / f"arena.{format}") for format in ("png", "svg", "pdf")]
