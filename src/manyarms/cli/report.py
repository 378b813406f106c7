"""``manyarms report``."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..tables import Table
from .options import command, option, written_out
from .output import FORMATS, checked_output, say
from .own import lab_with


@command(
    "a study's results as a page to look at, and as figures",
    "--import",
    option("folder", type=Path, help="of the study, such as results/small-beta"),
    option("--out", metavar="PAGE", help="the page; report.html in that folder if left out"),
    option("--figures", metavar="FOLDER", help="also figures as PNG, SVG and PDF, in there"),
    option("--format", choices=tuple(FORMATS), help="also a table of all cells, and all tables printed as that"),
)
def report(options: argparse.Namespace) -> None:
    """Write the page and the figures, and print what was found."""
    lab = lab_with(options.imports)
    out = options.folder / "report.html" if options.out is None else options.out
    page = checked_output("--out", str(out), "report.html")
    figures = None if options.figures is None else checked_output("--figures", options.figures, "figures")
    results = lab.read_results(options.folder)
    study = results[0].study
    again = command_of(lab, study, lab.file_of(options.folder, study), options.imports)
    found = lab.findings(results)
    tables = [table if isinstance(table, Table) else Table(table) for section in found for table in section.tables]
    if options.format:
        tables.insert(0, Table(lab.summary(results)))
    lab.write_report(results, page, again, found)
    drawn = lab.save_all(results, figures) if figures else ()
    for table in tables:
        say(FORMATS[options.format or "text"](table), end="\n\n")
    for line in (f"The report is {page}", *drawn):
        say(line, aside=bool(options.format))  # the tables alone can then be sent to a file


def command_of(lab: Any, study: Any, file: str, imports: Sequence[str]) -> str:
    """The command that runs a study: by its name if that suffices, else by its file; nothing if there is neither."""
    is_named = study.name in lab.study_names() and lab.named_study(study.name).cells == study.cells
    if not is_named and not file:
        return ""
    name = study.name if is_named else file
    return written_out("run", name, replications=study.replications, seed=study.seed, imports=imports)
