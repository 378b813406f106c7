"""``manyarms reproduce``."""

import argparse

from .options import command, given, option, written_out
from .output import print_json


@command(
    "the paper's figure, as described and as published",
    option("--mode", choices=("described", "published", "both"), default="both"),
    option("--betas", type=float, nargs="+", metavar="BETA"),
    option("--horizons", type=int, nargs="+", metavar="HORIZON"),
    "--replications --seed --jobs --device",
    option("--folder", help="where results and reports go"),
    option("--json", help="rows for machines instead of tables and reports"),
)
def reproduce(options: argparse.Namespace) -> None:
    """Run the figure, or what is left of it; print tables and write reports."""
    from ..lab.questions import figure_1

    modes = figure_1.MODES if options.mode == "both" else (options.mode,)
    settings = given(options, "betas", "horizons", "replications", "seed")
    results = figure_1.reproduce(modes, settings, options.folder, **given(options, "jobs", "device"))
    if options.json:
        print_json(figure_1.rows(results))
        return
    for mode in modes:
        study = results[mode][0].study
        print(
            f"Regret in the world of the paper's figure, as {mode}: horizon {max(c.horizon for c in study.cells):,}, "
            f"{study.replications} replications, seed {study.seed}. ± is the standard deviation of one replication.\n"
        )
        print(figure_1.end_table(results, mode), end="\n\n")
    again = written_out("reproduce", mode=options.mode, **settings)
    for path in figure_1.write_reports(results, options.folder, again):
        print(f"The report is {path}")
