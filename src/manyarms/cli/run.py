"""``manyarms run``."""

import argparse

from .options import command, given, option, written_out
from .output import print_json, print_rows
from .own import lab_with


@command(
    "run a study, or what is left of it",
    "--import",
    option("study", help="its name, or the path of its TOML file"),
    "--folder",
    option("--replications", help="in place of the study's own"),
    option("--seed", help="in place of the study's own"),
    "--jobs",
    option("--cluster", help="tcp://host:port of a Dask cluster, or local:N for N processes here"),
    option("--wait", type=float, metavar="SECONDS", help="how long a cluster may have no worker; 600 if left out"),
    "--device --resume --dry-run",
    option("--json", help="rows for machines instead of a table"),
)
def run(options: argparse.Namespace) -> None:
    """Run the study, or say what there is to do; print a row for each cell."""
    lab = lab_with(options.imports)
    study = lab.find_study(options.study).replace(**given(options, "replications", "seed"))
    where = given(options, "jobs", "cluster", "device", "resume")
    if options.dry_run:
        plan = lab.plan_of_study(study, options.folder, **where)
        if options.json:
            print_json(plan)
        else:
            print_rows([plan], as_json=False)
        return
    paths = lab.run_with_bar(study, options.folder, **where, **given(options, "wait"))
    print_rows(lab.summary(lab.read_all(paths, study)), options.json)
    if not options.json:
        folder = paths[0].parent
        page = written_out("report", folder.parent, imports=options.imports)
        print(f"\nThe results are in {folder}; {page} makes a page of them")
