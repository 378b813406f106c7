"""``manyarms arena``."""

import argparse
import os
from pathlib import Path
from typing import Any

from .options import add_shared, command, given
from .output import print_rows
from .own import lab_with

HELP = "all policies in all worlds, and a leaderboard"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which part of the arena, and where to play it."""
    add_shared(parser, "--import")
    parser.add_argument("--quick", action="store_true", help="short horizons and some of it: a minute or two")
    parser.add_argument("--half", choices=("tuning", "test"), help="of the contests; both if left out")
    parser.add_argument(
        "--only", metavar="TEXT", help="only contests with this text in their names, in capitals or not"
    )
    parser.add_argument("--folder", help="where results go; results/arena if left out, or results/arena-quick")
    parser.add_argument("--out", metavar="PAGE", help="the page; arena.html in that folder if left out")
    parser.add_argument("--figures", metavar="FOLDER", help="also the heat map as PNG, SVG and PDF, in there")
    add_shared(parser, "--replications", help="of each contest")
    add_shared(parser, "--seed", "--jobs", "--device", "--resume", "--dry-run")
    add_shared(parser, "--json", help="all ratios for machines instead of tables and a page")


def act(options: argparse.Namespace) -> int:
    """Play the contests, or say what there is to do; print the leaderboard and write the page."""
    from ..lab.arena.arena import FOLDERS, new_arena
    from ..lab.arena.scores import rows

    if options.json and (options.out is not None or options.figures is not None):
        option = "--figures" if options.out is None else "--out"
        raise ValueError(f"--json prints numbers and writes neither page nor figures; leave out --json or {option}")
    given_folder = FOLDERS[options.quick] if options.folder is None else options.folder
    folder, page, figures = checked_outputs(given_folder, options.out, options.figures)
    lab_with(options.imports)
    settings = given(options, "quick", "half", "only", "replications", "seed")
    arena = new_arena(**settings)
    where = given(options, "jobs", "device", "resume")
    if options.dry_run:
        print_rows(arena.plan(folder, **where), options.json)
        if not options.json:
            print(
                "\nSeconds are without compiling, and without the time that Thompson sampling takes beyond the others"
            )
        return 0
    scores = arena.run(folder, **where)
    if options.json:
        print_rows(rows(scores), as_json=True)
    else:
        _show(arena, scores, page, figures, command("arena", **settings, imports=options.imports))
    return 0


def _show(arena: Any, scores: Any, page: Path, figures: Path | None, again: str) -> None:
    """Print what was found, and write the page and the figures."""
    from ..lab.arena.page import arena_page, write_figures
    from ..lab.arena.scores import findings
    from ..lab.arena.tables import STAR
    from ..lab.pages.html import write_page

    for section in findings(scores, STAR):
        print(f"{section.heading}\n")
        for table in section.tables:
            print(table, end="\n\n")
    print(f"The page is {write_page(page, arena_page(arena, scores, STAR, again))}")
    for figure in write_figures(scores, figures) if figures else ():
        print(figure)


def checked_outputs(folder: str, out: str | None, figures: str | None) -> tuple[Path, Path, Path | None]:
    """Where results, the page and the figures go; an error if one of them cannot be written."""
    for option, name, such in (
        ("--folder", folder, "a folder such as results/arena"),
        ("--out", out, "a file such as arena.html"),
        ("--figures", figures, "a folder such as figures"),
    ):
        if name is not None:
            _require_writable(option, name, such)
    page = Path(folder) / "arena.html" if out is None else Path(out)
    return Path(folder), page, None if figures is None else Path(figures)


def _require_writable(option: str, name: str, such: str) -> None:
    if not name:
        raise ValueError(f"{option} '' names nothing; give {such}")
    path = Path(name)
    if option == "--out":
        if path.is_dir():
            raise ValueError(f"--out {name!r} is a folder; give a file such as {path / 'arena.html'}")
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--out {name!r} must end in .html or .htm: it is a page; --figures gives pictures")
    elif path.exists() and not path.is_dir():
        raise ValueError(f"{option} {name!r} is a file; give {such}")
    there = next(part for part in (path.absolute(), *path.absolute().parents) if part.is_dir() or part.is_file())
    if there.is_file() and there != path.absolute():
        raise ValueError(f"{option} {name!r} cannot be written: {there} is a file, not a folder; give {such}")
    if not os.access(there, os.W_OK):
        raise PermissionError(f"{option} {name!r} cannot be written: no right to write {there}; give {such}")
