"""``manyarms explain``."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from ..measures.rules import ORDERS, PRESETS
from .options import add_shared, command, given
from .own import lab_with

HELP = "one run: why it restarted, and whether it was right"

SHIFT_OPTIONS = ("preset", "beta", "kappa", "threshold_scale", "budget_scale", "top", "order")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which run, what to write, and what counts as a shift."""
    add_shared(parser, "--import")
    parser.add_argument("of", metavar="RUN", help="a result file (…/cells/*.parquet), or a study by name or TOML file")
    parser.add_argument("--cell", help="of a study: its number, or words of its name that no other cell has")
    parser.add_argument("--replication", type=int, default=0, help="which one; 0 if left out")
    add_shared(parser, "--seed", help="of a study: in place of its own")
    parser.add_argument("--out", metavar="PAGE", help="also a page: an HTML file, such as run.html")
    parser.add_argument("--figure", metavar="PICTURE", help="also a picture: a PNG, SVG or PDF file")
    parser.add_argument("--log", action="store_true", help="the picture with a logarithmic axis of rounds")
    add_shared(parser, "--json", help="all numbers for machines instead of words and a table")
    rule = parser.add_argument_group("what counts as a significant shift (docs/significant-shifts.md)")
    rule.add_argument("--preset", choices=PRESETS, help="literal if left out")
    rule.add_argument("--beta", type=float, help="the tail exponent; the reservoir's if left out")
    rule.add_argument("--kappa", type=float, help="the reservoir's if left out, or 1")
    rule.add_argument("--threshold-scale", type=float, metavar="FACTOR", help="in place of the preset's")
    rule.add_argument("--budget-scale", type=float, metavar="FACTOR", help="in place of the preset's")
    rule.add_argument("--top", type=float, help="the mean from which gaps are counted; the world's if left out")
    rule.add_argument("--order", choices=tuple(ORDERS), help="which arms come first; window if left out")


def act(options: argparse.Namespace) -> int:
    """Play the run again and explain it; write the page and the picture."""
    from ..lab.explain.explain import printed
    from ..lab.figures.figures import save

    page, picture = checked_outputs(options.of, options.out, options.figure)
    found = _explained(options)
    if options.json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print(printed(found))
    written = []
    if page:
        settings = given(options, "cell", "replication", "seed", *SHIFT_OPTIONS)
        again = command("explain", options.of, **settings, imports=options.imports)
        written.append(f"The page is {found.write_page(page, again)}")
    if picture:
        written.append(f"The picture is {save(found.figure(log=options.log), picture)}")
    for line in written if not options.json else ():
        print(line)
    return 0


def _explained(options: argparse.Namespace) -> Any:
    """The explanation of a run in a result file, or of a study."""
    from ..lab.explain.explain import is_result_file

    lab = lab_with(options.imports)
    rule = given(options, *SHIFT_OPTIONS)
    if is_result_file(options.of):
        for name in given(options, "cell", "seed"):
            raise ValueError(f"--{name} is for studies, and {options.of} is a result file: leave it out")
        return lab.explain_result(options.of, options.replication, **rule)
    study = lab.find_study(options.of).replace(**given(options, "seed"))
    return lab.explain_study(study, options.cell, options.replication, **rule)


def checked_outputs(of: str, out: str | None, figure: str | None) -> tuple[Path | None, Path | None]:
    """Where the page and the picture of a run go; an error if one cannot be written, or would overwrite something."""
    from ..lab.explain.figure import checked_format

    names = {"--out": out, "--figure": figure}
    paths = {option: Path(name) for option, name in names.items() if name is not None}
    for option, path in paths.items():
        such = "run.html" if option == "--out" else "run.png"
        if not names[option]:
            raise ValueError(f"{option} '' names no file; give one such as {such}")
        if path.is_dir():
            raise ValueError(f"{option} {names[option]!r} is a folder; give a file such as {path / such}")
        if path.exists() and Path(of).exists() and path.samefile(of):
            raise ValueError(f"{option} {names[option]!r} is the run's own file; give another one, such as {such}")
    if len({path.resolve() for path in paths.values()}) < len(paths):
        raise ValueError(f"--out {out!r} and --figure {figure!r} are the same file; give each one of its own")
    if out is not None and paths["--out"].suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out!r} must end in .html or .htm: it is a page; a picture is asked for by --figure")
    if figure is not None:
        checked_format(paths["--figure"])
    for option, path in paths.items():
        _require_writable(f"{option} {names[option]!r}", path)
    return paths.get("--out"), paths.get("--figure")


def _require_writable(what: str, path: Path) -> None:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        said = f"{what} cannot be written: {folder}: {error.strerror}"
        raise OSError(f"{said}; give a file in another folder") from None
