"""``manyarms explain``."""

import argparse
from pathlib import Path
from typing import Any

from ..measures.rules import ORDERS, PRESETS
from .options import command, given, number, option, whole_number, written_out
from .output import checked_output, print_json, say
from .own import lab_with

RULE = "what counts as a significant shift (docs/significant-shifts.md)"

SHIFT_OPTIONS = (
    option("--preset", RULE, choices=PRESETS, help="literal if left out"),
    option("--beta", RULE, type=number, help="the tail exponent; the reservoir's if left out"),
    option("--kappa", RULE, type=number, help="the reservoir's if left out, or 1"),
    option("--threshold-scale", RULE, type=number, metavar="FACTOR", help="in place of the preset's"),
    option("--budget-scale", RULE, type=number, metavar="FACTOR", help="in place of the preset's"),
    option("--top", RULE, type=number, help="the mean from which gaps are counted; the world's if left out"),
    option("--order", RULE, choices=tuple(ORDERS), help="which arms come first; window if left out"),
)

RULE_FIELDS = tuple(each.name.removeprefix("--").replace("-", "_") for each in SHIFT_OPTIONS)


@command(
    "one run: why it restarted, and whether it was right",
    "--import",
    option("of", metavar="RUN", help="a result file (…/cells/*.parquet), or a study by name or TOML file"),
    option("--cell", help="of a study: its number, or words of its name that no other cell has"),
    option("--replication", type=whole_number, default=0, help="which one; 0 if left out"),
    option("--seed", help="of a study: in place of its own"),
    option("--out", metavar="PAGE", help="also a page: an HTML file, such as run.html"),
    option("--figure", metavar="PICTURE", help="also a picture: a PNG, SVG or PDF file"),
    option("--beliefs", metavar="PICTURE", help="also a picture of what the policy has learned, for Forager"),
    option("--log", action="store_true", help="the picture with a logarithmic axis of rounds"),
    option("--json", help="all numbers for machines instead of words and a table"),
    *SHIFT_OPTIONS,
)
def explain(options: argparse.Namespace) -> None:
    """Play the run again; write the page and the pictures, and explain it."""
    from ..lab.explain.explain import printed
    from ..lab.figures.figures import save

    page, picture, beliefs = checked_outputs(options.of, options.out, options.figure, options.beliefs)
    found = _explained(options)
    written = []
    if page:
        settings = given(options, "cell", "replication", "seed", *RULE_FIELDS)
        again = written_out("explain", options.of, **settings, imports=options.imports)
        written.append(f"The page is {found.write_page(page, again)}")
    if picture:
        written.append(f"The picture is {save(found.figure(log=options.log), picture)}")
    if beliefs:
        written.append(f"What it has learned is {save(found.belief_figure(), beliefs)}")
    if options.json:
        print_json(found.to_json())
        return
    say(printed(found))
    for line in written:
        say(line)


def _explained(options: argparse.Namespace) -> Any:
    """The explanation of a run in a result file, or of a study."""
    from ..lab.explain.explain import is_result_file

    lab = lab_with(options.imports)
    rule = given(options, *RULE_FIELDS)
    if is_result_file(options.of):
        for name in given(options, "cell", "seed"):
            raise ValueError(f"--{name} is for studies, and {options.of} is a result file: leave it out")
        return lab.explain_result(options.of, options.replication, **rule)
    study = lab.find_study(options.of).replace(**given(options, "seed"))
    return lab.explain_study(study, options.cell, options.replication, **rule)


def checked_outputs(
    of: str, out: str | None, figure: str | None, beliefs: str | None = None
) -> tuple[Path | None, Path | None, Path | None]:
    """Where the page and the pictures of a run go; an error if one cannot be written, or would overwrite something."""
    from ..lab.explain.figure import checked_format

    such = {"--out": "run.html", "--figure": "run.png", "--beliefs": "beliefs.png"}
    wanted = zip(such, (out, figure, beliefs), strict=True)
    names = {given_as: name for given_as, name in wanted if name is not None}
    for given_as, name in names.items():
        if Path(name).is_file() and Path(of).exists() and Path(name).samefile(of):
            raise ValueError(f"{given_as} {name!r} is the run's own file; give another one, such as {such[given_as]}")
    if len({Path(name).resolve() for name in names.values()}) < len(names):
        same = " and ".join(f"{given_as} {name!r}" for given_as, name in names.items())
        raise ValueError(f"{same} are the same file; give each one of its own")
    paths = {given_as: checked_output(given_as, name, such[given_as]) for given_as, name in names.items()}
    for given_as in ("--figure", "--beliefs"):
        if given_as in paths:
            checked_format(paths[given_as])
    return paths.get("--out"), paths.get("--figure"), paths.get("--beliefs")
