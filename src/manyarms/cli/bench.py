"""``manyarms bench``."""

import argparse
import sys
from pathlib import Path

from .options import add_shared
from .output import print_json

HELP = "what a round costs"


def add_options(parser: argparse.ArgumentParser) -> None:
    """How long to measure, and where figures are kept."""
    add_shared(parser, "--json", help="figures for machines instead of a table")
    parser.add_argument("--turns", type=int, default=9, help="how often everything is timed")
    parser.add_argument(
        "--ledger", type=Path, metavar="FILE", help="append the figures there, and show the best before beside them"
    )


def act(options: argparse.Namespace) -> int:
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
    return 0


def _say(text: str) -> None:
    print(f"… {text}", file=sys.stderr)
