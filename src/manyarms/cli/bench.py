"""``manyarms bench``."""

import argparse
import sys
from pathlib import Path

from .options import command, option
from .output import print_json


@command(
    "what a round costs",
    option("--json", help="figures for machines instead of a table"),
    option("--turns", type=int, default=9, help="how often everything is timed"),
    option(
        "--ledger", type=Path, metavar="FILE", help="append the figures there, and show the best before beside them"
    ),
)
def bench(options: argparse.Namespace) -> None:
    """Measure, print, and enter the figures in the ledger."""
    from .. import bench, ledger

    bench.require_compiler()
    earlier = ledger.read(options.ledger, _say) if options.ledger else []
    figures = bench.measure(options.turns, _say)
    if options.json:
        print_json(figures)
    else:
        print(bench.report(figures))
    if options.ledger:
        commit = ledger.commit_of(Path(bench.__file__).parent)
        entry = ledger.new_entry("cpu", commit, figures["machine"], figures["policies"])
        ledger.append(options.ledger, entry)
        print(f"\n{ledger.report(entry, earlier)}", file=sys.stderr if options.json else sys.stdout)


def _say(text: str) -> None:
    print(f"… {text}", file=sys.stderr)
