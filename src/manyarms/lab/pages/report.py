"""Report: a study's results as one HTML file that loads nothing.

The file holds means and intervals at every checkpoint, the final regrets of some replications, and the
script that draws them. It depends on the result files and on what the caller adds, and on nothing else: not
on the hour, not on the machine.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...engine import warn_of_low_top
from ...intervals import mean_and_half_width, means_and_half_widths
from ...results import COLOURS, PER_ROUND, regret_and_reward
from ...specs import RAISED, as_raised
from ...version import __version__
from ...world import why_negative
from ..figures.figures import MARKERS, MARKS
from ..figures.statistics import (
    LAST_PART,
    Grid,
    Slope,
    difference,
    means_of_ends,
    number,
    slope_over_horizons,
    slope_within,
    with_half_width,
)
from ..running.files import STUDY, CellResult, read_all, read_json
from ..studies.study import Study, named_study, study_names
from .html import Section as Section
from .html import (
    added,
    as_sections,
    asset,
    drawn_page,
    facts,
    filled,
    short,
    spec_text,
    table,
    table_of,
    text,
    write_page,
)

MOST_DOTS = 200
"""How many replications of a cell are drawn one by one."""

DASHES = ("none", "7 4", "2 3")
DARK = {"#000000": "#FFFFFF"}  # what a colour is on a dark page, where it is another

REWARD = """<section id="reward">
<h2>Reward a round</h2>
<figure><div class="chart" data-chart="reward"></div>
<figcaption>What was earned on average from the first round on{{?several}}: mean over replications with its 95 %
interval as a band{{/several}}.</figcaption></figure>
</section>

"""
"""Comes before regret where that is not counted from the best mean that a fresh arm can have."""

PANELS = {
    "restarts": ("Restarts", "changes noticed"),
    "arms": ("Arms drawn", "fresh arms"),
    "V": ("V", "total variation"),
    "V_R": ("V<sub>R</sub>", "the part of V that went down"),
    "L": ("L", "changes"),
    "L_R": ("L<sub>R</sub>", "changes that went down"),
}
"""What is drawn over time: by column, its heading and what it is."""

PANEL = '<figure class="panel" data-column="{}"><h3>{}</h3><p>{}</p><div class="chart"></div></figure>'

APART = (
    'Some policies here were played in worlds of their own (see <a href="#settings">Settings</a>), so a difference is '
    "one of policy and world together."
)

EXPLAINED = (
    "means over replications. ± is half the width of the 95 % interval (Student’s t), sd the spread of single "
    "replications."
)
ALONE = "one replication, so without intervals."

SomeSection = Section | tuple[Any, ...]  # with the same parts

FINDINGS: dict[str, Callable[[list[CellResult]], Iterable[SomeSection]]] = {}
"""What a study has found, by its name, from the results of all its cells."""


def findings(results: list[CellResult]) -> list[Section]:
    """What the study of these results has found, if `FINDINGS` says how to see that and all of its cells are there.

    A study that only borrows the name of a named one has other cells, and no findings.
    """
    study = results[0].study
    if study.name not in FINDINGS or {result.cell for result in results} != set(study.cells):
        return []
    if study.name in study_names() and study.cells != named_study(study.name).cells:
        return []
    function = FINDINGS[study.name]
    try:
        found = function(results)
        found = list(found) if isinstance(found, Iterator) else found
    except RAISED as error:  # it may be a function of one's own, which may raise anything
        place = as_raised(error, {getattr(function, "__module__", "")})
        raise ValueError(f"study {study.name}: its function in FINDINGS has raised an error, {place}") from error
    return as_sections(f"study {study.name}: what its function in FINDINGS gives", found)


def read_results(folder: str | Path) -> list[CellResult]:
    """The results in a study's folder, as ``manyarms run`` has left them, in the order of its cells."""
    paths = sorted(Path(folder).glob("cells/*.parquet"))
    if not paths:
        raise FileNotFoundError(f"there are no results in {str(folder)!r}: no files cells/*.parquet")
    return sorted(read_all(paths), key=lambda result: result.index)  # by name, 10000 comes before 9999


def file_of(folder: str | Path, study: Study) -> str:
    """The name of the file from which a study was run into a folder; nothing if the folder does not say."""
    said = read_json(Path(folder) / STUDY)
    file = said.pop("file", "") if isinstance(said, dict) else ""
    return str(file) if said == study.to_json() else ""


def write_report(
    results: Iterable[CellResult], path: str | Path, command: str = "", sections: Iterable[SomeSection] = ()
) -> Path:
    """Write a report at once; return its path."""
    return write_page(path, report(results, command, sections))


def report(results: Iterable[CellResult], command: str = "", sections: Iterable[SomeSection] = ()) -> str:
    """A study's results as one HTML page.

    Parameters
    ----------
    results
        Of one study.
    command
        What made them, to be shown under the settings.
    sections
        What comes before the results: ``Section(heading, paragraphs, tables)``.
    """
    grid = Grid(results)
    warn_of_low_top(grid.study.worlds())
    cells = [(world, horizon) for world in grid.worlds for horizon in grid.horizons if grid.at(world, horizon)]
    checkpoints = grid.study.checkpoints
    regret_first = all(result.cell.world.regret_is_from_the_best for result in grid.results)
    most = max(len(result.values) for result in grid.results)
    several = "yes" if most > 1 else ""
    reward = filled(REWARD, {"several": several})
    parts = {
        "title": text(grid.study.name),
        "version": text(__version__),
        "about": text(grid.study.about),
        "facts": _facts(grid),
        "negative": text(why_negative(grid.study.worlds())),
        "sections": "".join(map(added, as_sections("report: sections", sections))),
        "reward_first": "" if regret_first else reward,
        "reward_second": reward if regret_first else "",
        "several": several,
        "ends": "".join(_ends(grid, place, *cell) for place, cell in enumerate(cells)),
        "dots": str(MOST_DOTS),
        "most": f"{most:,}" if most > MOST_DOTS else "",
        "apart": "" if grid.is_paired() else APART,
        "pairs": "".join(_pairs(grid, place, *cell) for place, cell in enumerate(cells)),
        "within": "".join(_growth_within(grid, place, *cell) for place, cell in enumerate(cells)),
        "between": "".join(_growth_between(grid, place, world) for place, world in enumerate(grid.worlds)),
        "panels": "".join(PANEL.format(column, *words) for column, words in PANELS.items()),
        "command": text(command),
        "digest": grid.study.digest(),
        "seed": str(grid.study.seed),
        "replications": f"{grid.study.replications:,}",
        "checkpoints": f"{checkpoints if isinstance(checkpoints, int) else len(checkpoints):,}",
        "versions": text(", ".join(dict.fromkeys(f"manyarms {result.version}" for result in grid.results))),
        "sources": ", ".join(dict.fromkeys(f"<code>{text(result.sources)}</code>" for result in grid.results)),
        "worlds": _specs(grid, "world"),
        "policies": _specs(grid, "policy"),
    }
    style = f"{_colours([grid.places[name] for name in grid.policies])}\n{asset('report.css')}"
    body = filled(asset("report.html"), parts)
    return drawn_page(grid.study.name, body, style, asset("report.js"), page_data(grid, cells))


# ---------------------------------------------------------------- what the script draws


def page_data(grid: Grid, cells: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """The numbers of the charts, six digits each."""
    return {
        "marks": MARKS,
        "policies": [{"name": name, "marker": grid.places[name] % len(MARKERS)} for name in grid.policies],
        "worlds": grid.worlds,
        "horizons": grid.horizons,
        "cells": [_cell_data(grid, *cell) for cell in cells],
        "growth": [list(_growth_data(grid, world)) for world in grid.worlds] if len(grid.horizons) > 1 else [],
    }


def _cell_data(grid: Grid, world: str, horizon: int) -> dict[str, Any]:
    found = grid.at(world, horizon)
    columns = ("regret", PER_ROUND, *PANELS)
    return {
        "world": grid.worlds.index(world),
        "horizon": grid.horizons.index(horizon),
        "rounds": next(iter(found.values())).rounds.tolist(),
        "policies": [
            {
                "policy": grid.policies.index(name),
                "columns": {column: short(means_and_half_widths(result.column(column))) for column in columns},
                "end": short(means_and_half_widths(result.final("regret"))),
                "ends": short(result.final("regret")[:MOST_DOTS]),
            }
            for name, result in found.items()
        ],
        "differences": [[short(difference(row, column)[:2]) for column in found.values()] for row in found.values()],
    }


def _growth_data(grid: Grid, world: str) -> Iterator[dict[str, Any]]:
    for place, name in enumerate(grid.policies):
        results = grid.over_horizons(world, name)
        if len(results) < 2:
            continue
        horizons = [result.cell.horizon for result in results]
        means, half_widths = means_of_ends(results)
        fit = slope_over_horizons(results)
        ends = [horizons[0], horizons[-1]] if math.isfinite(fit.slope) else []
        yield {
            "policy": place,
            "x": horizons,
            "mean": short(means),
            "half": short(half_widths),
            "fit": {"x": ends, "y": short([fit.factor * end**fit.slope for end in ends])},
        }


# ---------------------------------------------------------------- tables


def _facts(grid: Grid) -> str:
    replications = sorted({len(result.values) for result in grid.results})
    horizons = " · ".join(f"{horizon:,}" for horizon in grid.horizons)
    found = [
        (str(len(grid.policies)), "policy" if len(grid.policies) == 1 else "policies"),
        (str(len(grid.worlds)), "world" if len(grid.worlds) == 1 else "worlds"),
        (horizons, "horizon" if len(grid.horizons) == 1 else "horizons"),
        (
            "–".join(f"{many:,}" for many in sorted({replications[0], replications[-1]})),
            "replication" if replications[-1] == 1 else "replications",
        ),
        (str(grid.study.seed), "seed"),
    ]
    if len(grid.results) < len(grid.study.cells):
        found.append((f"{len(grid.results)} of {len(grid.study.cells)}", "cells finished"))
    return facts(found)


def _ends(grid: Grid, place: int, world: str, horizon: int) -> str:
    rows = []
    several = max(len(result.values) for result in grid.results) > 1
    for name, result in grid.at(world, horizon).items():
        regret = result.final("regret")
        spread = float(regret.std(ddof=1)) if len(regret) > 1 else math.nan
        mean = with_half_width(*mean_and_half_width(regret))
        reward = with_half_width(*mean_and_half_width(result.final(PER_ROUND)))
        row = {"Policy": _named(grid, name)} | regret_and_reward(
            result.cell.world.regret_is_from_the_best,
            {"Mean regret": mean, "sd": number(spread)} if several else {"Regret": mean},
            {"Reward a round": reward},
        )
        others = {heading: number(float(result.final(column).mean())) for column, (heading, _) in PANELS.items()}
        rows.append(row | others)
    caption = f"After round {horizon:,} in the world “{text(world)}”: {EXPLAINED if several else ALONE}"
    return f'<div data-cell="{place}">{table_of(rows, caption)}</div>'


def _pairs(grid: Grid, place: int, world: str, horizon: int) -> str:
    if len(grid.policies) < 2:
        return ""
    found = grid.at(world, horizon)
    lines = []
    for first, row in found.items():
        cells = [_named(grid, first)]
        for second, column in found.items():
            if first == second:
                cells.append("·")
                continue
            pair = difference(row, column)
            words = with_half_width(pair.mean, pair.half_width)
            cells.append(f"<strong>{words}</strong>" if pair.is_clear else words)
        lines.append(cells)
    head = ["Row minus column", *(text(name) for name in found)]
    several = any(len(result.values) > 1 for result in found.values())
    caption = f"Final regret, row minus column, in the world “{text(world)}”, horizon {horizon:,}"
    caption += ", with the half-width of its 95 % interval. Bold where 0 lies outside." if several else "."
    return f'<div data-cell="{place}" class="pairs">{table(head, lines, caption)}</div>'


def _growth_within(grid: Grid, place: int, world: str, horizon: int) -> str:
    fits = {name: slope_within(result) for name, result in grid.at(world, horizon).items()}
    caption = (
        f"Within a run: mean regret against the round, from {math.ceil(horizon / LAST_PART):,} to {horizon:,}, "
        f"in the world “{text(world)}”."
    )
    return f'<div data-cell="{place}">{_slopes(grid, fits, "Checkpoints", caption)}</div>'


def _growth_between(grid: Grid, place: int, world: str) -> str:
    if len(grid.horizons) < 2:
        return ""
    over = {name: grid.over_horizons(world, name) for name in grid.policies}
    fits = {name: slope_over_horizons(results) for name, results in over.items() if len(results) > 1}
    caption = f"Between runs: mean final regret against the horizon, in the world “{text(world)}”."
    return f'<div data-world="{place}">{_slopes(grid, fits, "Horizons", caption)}</div>'


def _slopes(grid: Grid, fits: dict[str, Slope], points: str, caption: str) -> str:
    lines = [
        [_named(grid, name), with_half_width(fit.slope, fit.half_width, digits=3), number(fit.points)]
        for name, fit in fits.items()
    ]
    return table(["Policy", "Slope", points], lines, caption)


def _specs(grid: Grid, kind: str) -> str:
    """Every world or policy with its spec; where one name has several, with the cells each is of."""
    other = "policy" if kind == "world" else "world"
    specs: dict[str, dict[str, list[Any]]] = {}
    for result in grid.results:
        spec = spec_text(getattr(result.cell, kind))
        specs.setdefault(getattr(result.cell, f"{kind}_name"), {}).setdefault(spec, []).append(result.cell)
    page = ""
    for name, found in specs.items():
        page += f"<dt>{text(name)}</dt><dd>"
        for spec, cells in found.items():
            others = ", ".join(dict.fromkeys(getattr(cell, f"{other}_name") for cell in cells))
            horizons = sorted({cell.horizon for cell in cells})
            if horizons != grid.horizons:
                others += f"; horizon {', '.join(f'{horizon:,}' for horizon in horizons)}"
            where = f"<small>{text(others)}</small>" if len(found) > 1 else ""
            page += f"{where}<pre>{spec}</pre>"
        page += "</dd>"
    return page


def _named(grid: Grid, policy: str) -> str:
    box = f'class="swatch p{grid.policies.index(policy)}" viewBox="0 0 28 14" aria-hidden="true"'
    mark = f'<use href="#m{grid.places[policy] % len(MARKERS)}" x="14" y="7"/>'
    swatch = f'<svg {box}><line x1="0" y1="7" x2="28" y2="7"/>{mark}</svg>'
    return f'<span class="named">{swatch}{text(policy)}</span>'


def _colours(places: Sequence[int]) -> str:
    """A class for each policy: the colour and the dashes of its place in the study."""
    light, dark = [], []
    for index, place in enumerate(places):
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]
        light.append(f".p{index} {{ --c: {colour}; --d: {dash}; }}")
        if colour in DARK:
            dark.append(f".p{index} {{ --c: {DARK[colour]}; }}")
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark) {", *dark, "}"])
