"""``manyarms reproduce``."""

import argparse

from .options import command, given, number, option, whole_number, written_out
from .output import checked_output, print_json, say


@command(
    "the paper's figure, as described and as published",
    option("--mode", choices=("described", "published", "both"), default="both"),
    option("--betas", type=number, nargs="+", metavar="BETA"),
    option("--horizons", type=whole_number, nargs="+", metavar="HORIZON"),
    "--replications --seed --jobs --device",
    option("--folder", help="where results and reports go"),
    option("--json", help="rows for machines instead of tables and reports"),
)
def reproduce(options: argparse.Namespace) -> None:
    """Run the figure, or what is left of it; print tables and write reports."""
    from ..lab.questions import figure_1

    folder = checked_output("--folder", options.folder, "results")
    modes = figure_1.MODES if options.mode == "both" else (options.mode,)
    settings = given(options, "betas", "horizons", "replications", "seed")
    results = figure_1.reproduce(modes, settings, folder, **given(options, "jobs", "device"))
    if options.json:
        print_json(figure_1.rows(results))
        return
    again = written_out("reproduce", mode=options.mode, **settings)
    reports = figure_1.write_reports(results, folder, again)
    for mode in modes:
        study = results[mode][0].study
        say(
            f"Regret in the world of the paper's figure, as {mode}: horizon {max(c.horizon for c in study.cells):,}, "
            f"{study.replications} replications, seed {study.seed}. ± is the standard deviation of one replication.\n"
        )
        say(figure_1.end_table(results, mode), end="\n\n")
    for path in reports:
        say(f"The report is {path}")
