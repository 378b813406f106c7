"""Reproduce: the paper's figure, as described and as published, with the published numbers beside ours.

The studies are those of `manyarms.lab.questions.figure_1`. Results are kept: a second call only reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...tables import Table
from ..pages.report import Section, write_report
from ..running.files import CellResult, read_all, summary
from ..running.runner import run_with_bar
from .figure_1 import DIFFERENCES, MODES, PUBLISHED, end_points, figure_1, published_policies

Results = Mapping[str, Sequence[CellResult]]
"""By mode, the results of its cells."""


def reproduce(modes: Iterable[str], settings: Mapping[str, Any], folder: str | Path, **where: Any) -> Results:
    """Run the figure, or what is left of it; ``settings`` as for `figure_1`, ``where`` as for `run_with_bar`."""
    studies = {mode: figure_1(mode, **settings) for mode in modes}
    return {mode: read_all(run_with_bar(study, folder, **where), study) for mode, study in studies.items()}


def rows(results: Results) -> list[dict[str, Any]]:
    """One row for each cell: mode, policy, beta, horizon, mean, sd, published."""
    return [row for mode, cells in results.items() for row in end_points(mode, summary(cells))]


def ends(results: Results, mode: str) -> list[dict[str, Any]]:
    """Those rows of a mode that are of the longest horizon."""
    found = [row for row in rows(results) if row["mode"] == mode]
    longest = max(row["horizon"] for row in found)
    return [row for row in found if row["horizon"] == longest]


def end_table(results: Results, mode: str) -> Table:
    """Policies down, betas across: our mean regret at the longest horizon, and the published one beside it."""
    lines: dict[str, dict[str, Any]] = {}
    for row in ends(results, mode):
        line = lines.setdefault(row["policy"], {"policy": row["policy"]})
        line[f"beta {row['beta']:g}"] = f"{row['mean']:,.0f} ± {row['sd']:,.0f}".rjust(15)
        if mode == "published":
            published = row["published"]
            line[f"published ({row['beta']:g})"] = f"{published:,.0f}".rjust(10) if published else "-".rjust(10)
            apart = f"{100.0 * (row['mean'] / published - 1.0):+.1f} %" if published else "-"
            line[f"apart ({row['beta']:g})"] = apart.rjust(8)
    return Table(list(lines.values()))


def ranking(results: Results, mode: str) -> list[dict[str, Any]]:
    """For each beta, these policies from the least to the largest regret at the longest horizon."""
    by_beta: dict[float, list[str]] = {}
    for row in sorted(ends(results, mode), key=lambda row: (row["beta"], row["mean"])):
        if row["policy"] in PUBLISHED:
            by_beta.setdefault(row["beta"], []).append(row["policy"])
    said = "from the least regret to the largest"
    return [{"runs": f"as {mode}", "beta": f"{beta:g}", said: ", ".join(names)} for beta, names in by_beta.items()]


def factors(results: Results) -> list[dict[str, Any]]:
    """By what factor the regret of each policy of the figure grows with the differences, at the longest horizon."""
    means = {(mode, row["policy"], row["beta"]): row["mean"] for mode in MODES for row in ends(results, mode)}
    betas = sorted({beta for _, _, beta in means})
    return [
        {"policy": policy}
        | {f"beta {beta:g}": means["published", policy, beta] / means["described", policy, beta] for beta in betas}
        for policy in published_policies(betas[0])
    ]


AS_PUBLISHED = (
    "Suk & Kim's figure was made by code whose runs differ from the paper's text in four places. They are switched "
    "on here. Each policy therefore plays in a world of its own, and the curves below compare policies under unequal "
    "conditions: differences between them are not paired.",
    *(f"{name.capitalize()}: {text}" for name, text in DIFFERENCES.items()),
    "The published numbers are means of 5 replications at the longest horizon; ± is the standard deviation of one "
    "replication.",
)

AS_DESCRIBED = (
    "Every policy meets the same arms, the same noise and the same drift, and nothing ends an episode but a detected "
    "change. The four policies of the figure have the settings of the published runs. Beside them stand the paper's "
    "two algorithms as its text states them (logarithms to base 2, constants 1, Elimination without the log factor), "
    "and with calibrated constants. ± is the standard deviation of one replication.",
)

WHAT_CHANGES = (
    "The figure's four policies with the four differences (as published) and without them (as described): by what "
    "factor each one's regret grows, and the ranking either way.",
)


def sections(results: Results, mode: str) -> list[Section]:
    """What the report of one mode says before its curves."""
    words = AS_PUBLISHED if mode == "published" else AS_DESCRIBED
    found = [Section(f"As {mode}", words, (end_table(results, mode),))]
    if set(MODES) <= set(results):
        ranked = [row for one in MODES for row in ranking(results, one)]
        found.append(Section("What the differences change", WHAT_CHANGES, (Table(factors(results)), Table(ranked))))
    return found


def write_reports(results: Results, folder: str | Path, command: str) -> list[Path]:
    """One report for each mode."""
    return [
        write_report(cells, Path(folder) / f"figure-1-{mode}.html", command, sections(results, mode))
        for mode, cells in results.items()
    ]
