"""``manyarms reproduce``."""

import argparse

from .options import add_shared, command, given
from .output import finite, print_json

HELP = "the paper's figure, as described and as published"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The figure's settings, and where to play it."""
    parser.add_argument("--mode", choices=("described", "published", "both"), default="both")
    parser.add_argument("--betas", type=float, nargs="+", metavar="BETA")
    parser.add_argument("--horizons", type=int, nargs="+", metavar="HORIZON")
    add_shared(parser, "--replications", "--seed", "--jobs", "--device")
    add_shared(parser, "--folder", help="where results and reports go")
    add_shared(parser, "--json", help="rows for machines instead of tables and reports")


def act(options: argparse.Namespace) -> int:
    """Run the figure, or what is left of it; print tables and write reports."""
    from ..lab.questions import figure_1

    modes = figure_1.MODES if options.mode == "both" else (options.mode,)
    settings = given(options, "betas", "horizons", "replications", "seed")
    results = figure_1.reproduce(modes, settings, options.folder, **given(options, "jobs", "device"))
    if options.json:
        print_json(finite(figure_1.rows(results)))
        return 0
    for mode in modes:
        study = results[mode][0].study
        print(
            f"Regret in the world of the paper's figure, as {mode}: horizon {max(c.horizon for c in study.cells):,}, "
            f"{study.replications} replications, seed {study.seed}. ± is the standard deviation of one replication.\n"
        )
        print(figure_1.end_table(results, mode), end="\n\n")
    again = command("reproduce", mode=options.mode, **settings)
    for path in figure_1.write_reports(results, options.folder, again):
        print(f"The report is {path}")
    return 0
