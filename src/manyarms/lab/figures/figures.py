"""Figures: pictures for a paper, from result files alone.

Widths are those of journal columns, text is 8 points high, and a policy has the same colour and marker
everywhere: the pictures can be told apart in grey. Saved twice, a figure has the same bytes.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...atomic import at_once
from ...results import COLOURS, STYLES, draw_mean
from ...tables import seen
from ..running.files import CellResult
from .statistics import Grid, difference, means_of_ends, number, slope_over_horizons, with_half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"column": 3.5, "page": 7.2}
"""Widths by name, in inches: one column of a journal, and its page."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MARKS = 7  # markers on a curve

LEGEND_ROW = 0.18  # inches
HIGHEST = 3.6  # inches, of a panel

STYLE = Path(__file__).with_name("paper.mplstyle")
"""How pictures look: what it does not say is as matplotlib has it, whatever the reader's own settings."""

Drawn = dict[str, Any]
"""What a panel shows, by policy: what its legend points at."""

UNDATED = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""By format, what would make the bytes of two figures differ."""


def regret_figure(
    results: Iterable[CellResult],
    world: str | None = None,
    horizon: int | None = None,
    *,
    width: str | float = "page",
    log: bool = False,
) -> "Figure":
    """Mean regret against the round with 95 % bands, a panel for each world.

    Parameters
    ----------
    results
        Of one study.
    world
        The only world to show; all if left out.
    horizon
        Which one; the longest if left out.
    width
        ``"column"``, ``"page"`` or inches.
    log
        Whether both axes are logarithmic.
    """
    grid = Grid(results)
    horizon = _horizon(grid, horizon)
    worlds = [name for name in _worlds(grid, world) if grid.at(name, horizon)]
    draw = functools.partial(_draw_curves, grid=grid, horizon=horizon, log=log)
    return _panels(grid, worlds, draw, ("round", "regret"), width, height=0.72)


def _draw_curves(panel: "Axes", world: str, grid: Grid, horizon: int, log: bool) -> Drawn:
    """The mean regret of each policy with its band."""
    drawn: Drawn = {}
    cells = grid.at(world, horizon)
    for policy, result in cells.items():
        rounds, values = result.rounds, result.column("regret")
        if not log:
            rounds, values = np.append(0, rounds), np.pad(values, ((0, 0), (1, 0)))
        marked = _marked(rounds, grid.places[policy], len(grid.places), log)
        look = _look(grid, policy) | {"markevery": marked, "markeredgecolor": "white", "markeredgewidth": 0.5}
        drawn[policy] = draw_mean(panel, rounds, values, shade=0.18, **look)
    if log:
        panel.set(xscale="log", yscale="log")
    else:
        panel.set_xlim(0, horizon)
        panel.locator_params(axis="x", nbins=4)
        if next(iter(cells.values())).cell.world.top == 1.0:  # else regret may be negative
            panel.set_ylim(bottom=0)
    separate_thousands(panel.xaxis)
    separate_thousands(panel.yaxis)
    return drawn


def growth_figure(results: Iterable[CellResult], world: str | None = None, *, width: str | float = "page") -> "Figure":
    """Mean final regret against the horizon on logarithmic axes, with fitted slopes, a panel for each world.

    Parameters
    ----------
    results
        Of one study with several horizons.
    world, width
        As for ``regret_figure``.
    """
    grid = Grid(results)
    if len(grid.horizons) < 2:
        raise ValueError(f"study {grid.study.name} has one horizon; growth needs two")
    draw = functools.partial(_draw_growth, grid=grid)
    return _panels(grid, _worlds(grid, world), draw, ("horizon", "regret"), width, height=0.62, narrowest=3.2)


def _draw_growth(panel: "Axes", world: str, grid: Grid) -> Drawn:
    """The mean final regret of each policy with its interval, and the fitted line."""
    ends = []
    drawn: Drawn = {}
    for policy in grid.policies:
        results = grid.over_horizons(world, policy)
        if not results:
            continue
        look = _look(grid, policy)
        horizons = np.array([result.cell.horizon for result in results])
        means, half_widths = means_of_ends(results)
        drawn[policy] = panel.errorbar(
            horizons, means, yerr=half_widths, elinewidth=0.8, capsize=1.5, **(look | {"linestyle": "none"})
        )
        fit = slope_over_horizons(results)
        if math.isnan(fit.slope):
            continue
        fitted = fit.factor * horizons.astype(float) ** fit.slope
        panel.plot(horizons, fitted, color=look["color"], linestyle=look["linestyle"], linewidth=1.0)
        ends.append((fitted[-1], with_half_width(fit.slope, fit.half_width, digits=3), look))
    panel.set(xscale="log", yscale="log")
    panel.set_xlim(grid.horizons[0] / 1.25, grid.horizons[-1] * 1.25)
    panel.set_xticks(grid.horizons, labels=[f"{horizon:,}" for horizon in grid.horizons], minor=False)
    panel.set_xticks([], minor=True)
    separate_thousands(panel.yaxis)
    _label_ends(panel, ends)
    return drawn


def difference_figure(
    results: Iterable[CellResult],
    reference: str,
    world: str | None = None,
    horizon: int | None = None,
    *,
    width: str | float = "page",
) -> "Figure":
    """Final regret of every policy minus that of a reference, paired, with 95 % intervals; a panel for each world.

    Parameters
    ----------
    results
        Of one study with several policies.
    reference
        The name of the policy that is subtracted.
    world, horizon, width
        As for ``regret_figure``.
    """
    grid = Grid(results)
    _known("policy", reference, grid.policies)
    horizon = _horizon(grid, horizon)
    others = [policy for policy in grid.policies if policy != reference]
    if not others:
        raise ValueError(f"study {grid.study.name} has one policy; a difference needs two")
    worlds = [name for name in _worlds(grid, world) if reference in grid.at(name, horizon)]
    if not worlds:
        raise ValueError(f"{reference} was not played over horizon {horizon:,}")
    draw = functools.partial(_draw_differences, grid=grid, horizon=horizon, reference=reference, others=others)
    labels = (f"regret minus that of {reference}", "")
    return _panels(grid, worlds, draw, labels, width, inches_high=0.62 + 0.24 * len(others), share_rows=True)


def _draw_differences(
    panel: "Axes", world: str, grid: Grid, horizon: int, reference: str, others: Sequence[str]
) -> Drawn:
    """A row for each of the others: its mark is full where 0 lies outside the interval."""
    cells = grid.at(world, horizon)
    panel.axvline(0.0, color="#444444", linewidth=0.6)
    for row, policy in enumerate(others):
        if policy not in cells:
            continue
        found = difference(cells[policy], cells[reference])
        look = _look(grid, policy) | {"linestyle": "none"}
        inside = look["color"] if found.is_clear else "white"
        panel.errorbar(
            found.mean, row, xerr=found.half_width, elinewidth=1.2, capsize=2.5, markersize=5,
            markerfacecolor=inside, markeredgewidth=1.0, **look,
        )  # fmt: skip
    panel.set_yticks(range(len(others)), labels=others)
    panel.set_ylim(len(others) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    panel.grid(visible=True, axis="x")
    panel.spines["left"].set_visible(False)
    panel.locator_params(axis="x", nbins=4)
    separate_thousands(panel.xaxis)
    return {}  # names stand beside the rows


def save_all(
    results: Iterable[CellResult],
    folder: str | Path,
    formats: Sequence[str] = ("png", "svg", "pdf"),
    *,
    reference: str | None = None,
    width: str | float = "page",
) -> list[Path]:
    """Draw all figures of a study into a folder; return the files.

    Regret and differences for every horizon, growth where there are several. Differences are from
    ``reference``, or from the first policy.
    """
    grid = Grid(results)
    drawn: dict[str, Figure] = {}
    for horizon in grid.horizons:
        drawn[f"regret-T{horizon}"] = regret_figure(grid.results, horizon=horizon, width=width)
        if len(grid.policies) > 1:
            chosen = reference or grid.policies[0]
            drawn[f"differences-T{horizon}"] = difference_figure(grid.results, chosen, horizon=horizon, width=width)
    if len(grid.horizons) > 1:
        drawn["growth"] = growth_figure(grid.results, width=width)
    return [save(figure, Path(folder) / f"{name}.{format}") for name, figure in drawn.items() for format in formats]


def save(figure: "Figure", path: str | Path) -> Path:
    """Save a figure at once, with nothing in it that depends on the hour; the path says the format."""
    path = Path(path)
    format = path.suffix[1:]
    with styled(), at_once(path) as temporary:
        _see_all(figure)
        figure.savefig(temporary, format=format, metadata=UNDATED.get(format, {}))
    return path


def _see_all(figure: "Figure") -> None:
    """Write out control characters in names: an SVG file with them is none, and other formats show nothing."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if seen(text.get_text()) != text.get_text():
            text.set_text(seen(text.get_text()))


def styled() -> contextlib.AbstractContextManager[None]:
    """While this lasts, pictures look as they do here."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'manyarms[lab]'") from None
    return mpl.rc_context(fname=STYLE)


def _panels(
    grid: Grid,
    worlds: Sequence[str],
    draw: Callable[["Axes", str], Drawn],
    labels: tuple[str, str],
    width: str | float,
    *,
    height: float = 0.0,
    inches_high: float = 0.0,
    narrowest: float = 2.4,
    share_rows: bool = False,
) -> "Figure":
    """A figure with a panel for each world, as high as ``height`` panel widths or so many inches."""
    with styled():
        from matplotlib.figure import Figure

        total = inches(width)
        rows, columns = _rows_and_columns(len(worlds), round(total / narrowest))
        tall = inches_high or min(height * total / columns, HIGHEST)
        figure = Figure(figsize=(total, rows * tall), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey="row" if share_rows else False)
        drawn: Drawn = {}
        for panel, name in zip(panels.flat, worlds, strict=False):
            drawn |= draw(panel, name)
            panel.set_title(name, loc="left")
        for panel in panels.flat[len(worlds) :]:
            panel.remove()
        for panel in panels[:, 0]:
            panel.set_ylabel(labels[1])
        for column in range(columns):
            lowest = [panel for panel in panels[:, column] if panel.figure is not None][-1]
            lowest.set_xlabel(labels[0])
        if drawn:
            shown = {policy: drawn[policy] for policy in grid.policies if policy in drawn}
            figure.set_figheight(rows * tall + LEGEND_ROW * _legend(figure, shown, total))
        figure.draw_without_rendering()  # ticks take their settings when they are first drawn
        return figure


def _rows_and_columns(panels: int, across: int) -> tuple[int, int]:
    """How panels are arranged, so many across at most: 4 are 2 by 2, not 3 and 1."""
    rows = math.ceil(panels / max(1, across))
    return rows, math.ceil(panels / rows)


def _legend(figure: "Figure", shown: Drawn, total: float) -> int:
    """A legend beneath the panels; return how many rows it takes."""
    widest = 0.55 + 0.062 * max(len(name) for name in shown)
    across = max(1, min(len(shown), int(total / widest)))
    # Names are put in afterwards: legends before matplotlib 3.10 leave out what begins with an underscore.
    places = [str(place) for place in range(len(shown))]
    legend = figure.legend(list(shown.values()), places, loc="outside lower center", ncols=across)
    for text, name in zip(legend.get_texts(), shown, strict=True):
        text.set_text(name)
    return math.ceil(len(shown) / across)


def inches(width: str | float) -> float:
    """A width in inches, by name or as it is."""
    if isinstance(width, str):
        if width not in WIDTHS:
            raise ValueError(f"width must be inches or one of {', '.join(WIDTHS)}, not {width!r}")
        return WIDTHS[width]
    return float(width)


def _worlds(grid: Grid, world: str | None) -> list[str]:
    return grid.worlds if world is None else [_known("world", world, grid.worlds)]


def _horizon(grid: Grid, horizon: int | None) -> int:
    return grid.horizons[-1] if horizon is None else int(_known("horizon", horizon, grid.horizons))


def _known(what: str, value: Any, known: Sequence[Any]) -> Any:
    if value not in known:
        raise LookupError(f"no {what} {value!r} in these results; there are {', '.join(str(one) for one in known)}")
    return value


def _look(grid: Grid, policy: str) -> dict[str, Any]:
    place = grid.places[policy]
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": STYLES[place // len(COLOURS) % len(STYLES)],
        "label": policy,
    }


def _marked(rounds: Any, place: int, policies: int, log: bool) -> list[int]:
    """Where a curve has its markers: evenly, and elsewhere than the other curves."""
    where = np.log(rounds) if log else np.asarray(rounds, dtype=float)
    shares = (np.arange(MARKS) + (place + 1) / (policies + 1)) / MARKS
    targets = where[0] + shares * (where[-1] - where[0])
    return sorted({int(np.abs(where - target).argmin()) for target in targets})


def separate_thousands(axis: Any) -> None:
    """Write the numbers of an axis as everywhere; a short logarithmic one has more ticks than the powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 50.0 * low else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(lambda value, _: number(value))


def _label_ends(panel: "Axes", ends: Sequence[tuple[float, str, dict[str, Any]]]) -> None:
    """Slopes at the right of a panel, beside where their lines end, pushed apart where they would touch."""
    if not ends:
        return
    low, high = np.log(panel.get_ylim())
    ends = sorted(ends, key=lambda end: end[0])
    places = [(math.log(value) - low) / (high - low) for value, _, _ in ends]
    for place, (_, text, look) in zip(apart(places, 0.08), ends, strict=True):
        mark = {name: look[name] for name in ("color", "marker")}
        panel.plot(1.05, place, transform=panel.transAxes, clip_on=False, markersize=3, **mark)
        panel.text(1.09, place, text, transform=panel.transAxes, fontsize=7, va="center")
    panel.text(1.09, 1.04, "slope", transform=panel.transAxes, fontsize=7, color="#444444", va="center")


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Places in rising order, moved as little as it takes to be ``gap`` apart.

    Examples
    --------
    >>> [round(place, 3) for place in apart([0.1, 0.5, 0.5], 0.1)]
    [0.1, 0.45, 0.55]
    """
    groups: list[list[float]] = []  # places that touch stand around their common middle
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _spread(groups[-1], gap)[0] - _spread(groups[-2], gap)[-1] < gap:
            last = groups.pop()
            groups[-1] += last
    return [place for group in groups for place in _spread(group, gap)]


def _spread(group: Sequence[float], gap: float) -> list[float]:
    """As many places, ``gap`` apart, around the same middle."""
    low = sum(group) / len(group) - gap * (len(group) - 1) / 2
    return [low + gap * step for step in range(len(group))]
