"""``manyarms run``."""

import argparse

from .options import command, given, number, option, written_out
from .output import checked_output, print_json, print_rows, say, say_how_far
from .own import lab_with

MANY_CELLS = 10_000
"""To look at so many takes seconds, or minutes if they have results."""


@command(
    "run a study, or what is left of it",
    "--import",
    option("study", help="its name, or the path of its TOML file"),
    "--folder",
    option("--replications", help="in place of the study's own"),
    option("--seed", help="in place of the study's own"),
    "--jobs",
    option("--cluster", help="tcp://host:port of a Dask cluster, or local:N for N processes here"),
    option("--wait", type=number, metavar="SECONDS", help="how long a cluster may have no worker; 600 if left out"),
    "--device --resume --dry-run",
    option("--json", help="rows for machines instead of a table"),
)
def run(options: argparse.Namespace) -> None:
    """Run the study, or say what there is to do; print a row for each cell."""
    folder = checked_output("--folder", options.folder, "results")
    lab = lab_with(options.imports)
    study = lab.find_study(options.study).replace(**given(options, "replications", "seed"))
    if len(study.cells) >= MANY_CELLS:
        say_how_far(f"looking at {len(study.cells):,} cells")
    where = given(options, "jobs", "cluster", "device", "resume")
    if options.dry_run:
        plan = lab.plan_of_study(study, folder, **where)
        if options.json:
            print_json(plan)
        else:
            print_rows([plan], as_json=False)
        return
    paths = lab.run_with_bar(study, folder, **where, **given(options, "wait"))
    print_rows(lab.summary(lab.read_all(paths, study)), options.json)
    if not options.json:
        cells = paths[0].parent
        page = written_out("report", cells.parent, imports=options.imports)
        say(f"\nThe results are in {cells}; {page} makes a page of them")
