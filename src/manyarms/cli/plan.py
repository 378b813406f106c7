"""``manyarms plan``."""

import argparse

from .options import command, given, option, whole_number
from .output import checked_output, print_json, say, say_how_far

COLUMNS = "what the columns of the file are called, if not as usual (docs/plan.md)"


@command(
    "from counts of the past: which policy, on how many items, and what it should earn",
    option(
        "counts",
        metavar="COUNTS",
        help="a CSV or Parquet file: columns item, plays, reward; time, delay",
    ),
    option("--rounds", type=whole_number, help="how many will be played; as many as the file has plays if left out"),
    option("--stock", type=whole_number, metavar="ITEMS", help="how many items there are; no end of them if left out"),
    option("--delay", type=whole_number, metavar="ROUNDS", help="until an answer comes; as in the file if left out"),
    option("--batch", type=whole_number, metavar="ROUNDS", help="so many rounds are answered together"),
    option("--quick", action="store_true", help="fewer rounds and draws of the catalogue: half a minute"),
    option("--seed", default=0),
    option("--out", metavar="PICTURE", help="also a picture: a PNG, SVG or PDF file"),
    option("--json", help="all numbers for machines instead of words and a table"),
    option("--item", COLUMNS, metavar="COLUMN"),
    option("--plays", COLUMNS, metavar="COLUMN"),
    option("--reward", COLUMNS, metavar="COLUMN"),
    option("--time", COLUMNS, metavar="COLUMN"),
    option("--delay-column", COLUMNS, metavar="COLUMN"),
)
def plan(options: argparse.Namespace) -> None:
    """Read the counts, find out what items are like, play candidates, and say what to do."""
    from ..lab import plan as planned
    from ..lab.explain.figure import checked_format
    from ..lab.figures.figures import save

    picture = None if options.out is None else checked_output("--out", options.out, "plan.png")
    if picture is not None:
        checked_format(picture)
    columns = given(options, "item", "plays", "reward", "time")
    if options.delay_column is not None:
        columns["delay"] = options.delay_column
    found = planned(
        options.counts, **given(options, "rounds", "stock", "delay", "batch", "quick", "seed"), columns=columns,
        say=say_how_far,
    )  # fmt: skip
    if picture is not None:
        save(found.figure(), picture)
    if options.json:
        print_json(found.to_json())
    else:
        say(found)
    if picture is not None:
        say(f"The picture is {picture}", aside=options.json)
