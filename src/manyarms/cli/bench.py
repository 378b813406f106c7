"""``manyarms bench``."""

import argparse
from pathlib import Path

from .options import command, option, whole_number
from .output import print_json, say, say_how_far


@command(
    "what a round costs",
    option("--json", help="figures for machines instead of a table"),
    option("--turns", type=whole_number, default=9, help="how often everything is timed"),
    option(
        "--arms",
        type=whole_number,
        nargs="+",
        metavar="NUMBER",
        help="every policy and base with so many arms, instead of the usual figures",
    ),
    option(
        "--ledger", type=Path, metavar="FILE", help="append the figures there, and show the best before beside them"
    ),
)
def bench(options: argparse.Namespace) -> None:
    """Measure, print, and enter the figures in the ledger."""
    from .. import bench, bench_arms, ledger

    bench.require_compiler()
    earlier = ledger.read(options.ledger, say_how_far) if options.ledger else []
    if options.arms:
        figures = bench_arms.measure(options.arms, options.turns, say_how_far)
        table = bench_arms.report(figures)
    else:
        figures = bench.measure(options.turns, say_how_far)
        table = bench.report(figures)
    compared = ""
    if options.ledger:
        commit = ledger.commit_of(Path(bench.__file__).parent)
        entry = ledger.new_entry("cpu", commit, figures["machine"], figures["policies"])
        ledger.append(options.ledger, entry)
        compared = f"\n{ledger.report(entry, earlier)}"
    if options.json:
        print_json(figures)
    else:
        say(table)
    if compared:
        say(compared, aside=options.json)
