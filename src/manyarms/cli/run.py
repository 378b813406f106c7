"""``manyarms run``."""

import argparse

from .options import add_shared, command, given
from .output import finite, print_json, print_rows
from .own import lab_with

HELP = "run a study, or what is left of it"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which study, and where and how far to run it."""
    add_shared(parser, "--import")
    parser.add_argument("study", help="its name, or the path of its TOML file")
    add_shared(parser, "--folder")
    add_shared(parser, "--replications", "--seed", help="in place of the study's own")
    add_shared(parser, "--jobs")
    parser.add_argument("--cluster", help="tcp://host:port of a Dask cluster, or local:N for N processes here")
    add_shared(parser, "--device", "--resume", "--dry-run")
    add_shared(parser, "--json", help="rows for machines instead of a table")


def act(options: argparse.Namespace) -> int:
    """Run the study, or say what there is to do; print a row for each cell."""
    lab = lab_with(options.imports)
    study = lab.find_study(options.study).replace(**given(options, "replications", "seed"))
    where = given(options, "jobs", "cluster", "device", "resume")
    if options.dry_run:
        plan = lab.plan(study, options.folder, **where)
        if options.json:
            print_json(finite([plan])[0])
        else:
            print_rows([plan], as_json=False)
        return 0
    paths = lab.run_with_bar(study, options.folder, **where)
    print_rows(lab.summary(lab.read_all(paths, study)), options.json)
    if not options.json:
        folder = paths[0].parent
        page = command("report", folder.parent, imports=options.imports)
        print(f"\nThe results are in {folder}; {page} makes a page of them")
    return 0
