"""``manyarms arena``."""

import argparse
from pathlib import Path
from typing import Any

from .options import command, given, option, written_out
from .output import checked_output, print_rows, say
from .own import lab_with


@command(
    "all policies in all worlds, and a leaderboard",
    "--import",
    option("--catalogue", action="store_true", help="worlds shaped like catalogues, and rewards in place of regret"),
    option("--quick", action="store_true", help="short horizons and some of it: a minute or two"),
    option("--everybody", action="store_true", help="with --quick: all entrants, which takes longer to compile"),
    option(
        "--rivals",
        nargs="+",
        metavar="TEXT",
        help="beside the star only entrants with one of these texts in their names, or who are told just that: nothing",
    ),
    option("--half", choices=("tuning", "test"), help="of the contests; both if left out"),
    option("--only", metavar="TEXT", help="only contests with this text in their names, in capitals or not"),
    option("--folder", default=None, help="where results go; results/arena or results/catalogue if left out"),
    option("--out", metavar="PAGE", help="the page; arena.html or catalogue.html in that folder if left out"),
    option("--figures", metavar="FOLDER", help="also the heat map as PNG, SVG and PDF, in there"),
    option("--replications", help="of each contest"),
    "--seed --jobs --device --resume --dry-run",
    option("--json", help="all ratios for machines instead of tables and a page"),
)
def arena(options: argparse.Namespace) -> None:
    """Play the contests, or say what there is to do; print the leaderboard and write the page."""
    from ..lab.arena.arena import LEAGUES, new_arena
    from ..lab.arena.scores import rows

    if options.json and (options.out is not None or options.figures is not None):
        other = "--figures" if options.out is None else "--out"
        raise ValueError(f"--json prints numbers and writes neither page nor figures; leave out --json or {other}")
    league = LEAGUES[options.catalogue]
    results = league.folder(options.quick) if options.folder is None else options.folder
    folder = checked_output("--folder", results, "results/arena")
    page = folder / f"{league.name}.html" if options.out is None else checked_output("--out", options.out, "arena.html")
    figures = None if options.figures is None else checked_output("--figures", options.figures, "figures")
    lab_with(options.imports)
    settings = given(options, "catalogue", "quick", "everybody", "rivals", "half", "only", "replications", "seed")
    contests = new_arena(**settings)
    where = given(options, "jobs", "device", "resume")
    if options.dry_run:
        print_rows(contests.plan(folder, **where), options.json)
        if not options.json:
            say("\nSeconds are without compiling, which takes a few for each policy in each type of world")
        return
    scores = contests.run(folder, **where)
    if options.json:
        print_rows(rows(scores), as_json=True)
    else:
        _show(contests, scores, page, figures, written_out("arena", **settings, imports=options.imports))


def _show(arena: Any, scores: Any, page: Path, figures: Path | None, again: str) -> None:
    """Write the page and the figures, and print what was found."""
    from ..lab.arena.page import arena_page, write_figures
    from ..lab.arena.scores import findings
    from ..lab.pages.html import write_page

    star = arena.league.star
    write_page(page, arena_page(arena, scores, star, again))
    drawn = write_figures(scores, figures) if figures else ()
    for section in findings(scores, star):
        say(f"{section.heading}\n")
        for table in section.tables:
            say(table, end="\n\n")
    say(f"The page is {page}")
    for figure in drawn:
        say(figure)
