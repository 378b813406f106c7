"""The command line.

``manyarms reproduce | studies | run | report | arena | explain | policies | worlds | check | bench``
"""

import argparse
import importlib
import json
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .checks import CheckError, checks, examples
from .gpu import DEVICES
from .measures.rules import ORDERS
from .measures.rules import PRESETS as SHIFT_PRESETS
from .specs import SPEC_TYPES, Spec
from .tables import Table
from .version import __version__

GOES_ON = ("run", "reproduce", "arena")
"""Commands that keep what they have finished."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"manyarms {options.command}: {message}", file=sys.stderr)
            return int(options.run(options))
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, LookupError, ImportError, MemoryError, OSError, RuntimeError) as error:
        print(f"manyarms {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        goes_on = "; the same command goes on where it stopped" if options.command in GOES_ON else ""
        print(f"manyarms {options.command}: stopped by Ctrl-C{goes_on}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manyarms",
        description="Bandits with more arms than anyone can try, whose arms change while you play them.",
    )
    parser.add_argument("--version", action="version", version=f"manyarms {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    again = commands.add_parser("reproduce", help="the paper's figure, as described and as published")
    again.add_argument("--mode", choices=("described", "published", "both"), default="both")
    again.add_argument("--betas", type=float, nargs="+", metavar="BETA")
    again.add_argument("--horizons", type=int, nargs="+", metavar="HORIZON")
    again.add_argument("--replications", type=int)
    again.add_argument("--seed", type=int)
    again.add_argument("--jobs", type=int, help="threads; all cores if left out")
    again.add_argument("--device", choices=DEVICES, default="cpu", help="where to play; the numbers are the same")
    again.add_argument("--folder", type=Path, default=Path("results"), help="where results and reports go")
    again.add_argument("--json", action="store_true", help="rows for machines instead of tables and reports")
    again.set_defaults(run=_reproduce)

    own = argparse.ArgumentParser(add_help=False)
    own.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module of your own that defines policies, parts of worlds or studies; may be given several times",
    )

    studies = commands.add_parser("studies", parents=[own], help="the studies that have a name")
    studies.add_argument("--json", action="store_true", help="for machines")
    studies.set_defaults(run=_studies)

    run = commands.add_parser("run", parents=[own], help="run a study, or what is left of it")
    run.add_argument("study", help="its name, or the path of its TOML file")
    run.add_argument("--folder", type=Path, default=Path("results"), help="where results go")
    run.add_argument("--replications", type=int, help="in place of the study's own")
    run.add_argument("--seed", type=int, help="in place of the study's own")
    run.add_argument("--jobs", type=int, help="threads; all cores if left out")
    run.add_argument("--cluster", help="tcp://host:port of a Dask cluster, or local:N for N processes here")
    run.add_argument("--device", choices=DEVICES, default="cpu", help="where to play; the numbers are the same")
    run.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True, help="keep what is there")
    run.add_argument("--dry-run", action="store_true", help="say what there is to do, and do nothing")
    run.add_argument("--json", action="store_true", help="rows for machines instead of a table")
    run.set_defaults(run=_run)

    report = commands.add_parser("report", parents=[own], help="a study's results as a page to look at, and as figures")
    report.add_argument("folder", type=Path, help="of the study, such as results/small-beta")
    report.add_argument("--out", type=Path, help="the page; report.html in that folder if left out")
    report.add_argument("--figures", type=Path, metavar="FOLDER", help="also figures as PNG, SVG and PDF, in there")
    report.set_defaults(run=_report)

    arena = commands.add_parser("arena", parents=[own], help="all policies in all worlds, and a leaderboard")
    arena.add_argument("--quick", action="store_true", help="short horizons and some of it: a minute or two")
    arena.add_argument("--half", choices=("tuning", "test"), help="of the contests; both if left out")
    arena.add_argument("--only", metavar="TEXT", help="only contests with this text in their names, in capitals or not")
    arena.add_argument("--folder", help="where results go; results/arena if left out, or results/arena-quick")
    arena.add_argument("--out", metavar="PAGE", help="the page; arena.html in that folder if left out")
    arena.add_argument("--figures", metavar="FOLDER", help="also the heat map as PNG, SVG and PDF, in there")
    arena.add_argument("--replications", type=int, help="of each contest")
    arena.add_argument("--seed", type=int)
    arena.add_argument("--jobs", type=int, help="threads; all cores if left out")
    arena.add_argument("--device", choices=DEVICES, default="cpu", help="where to play; the numbers are the same")
    arena.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True, help="keep what is there")
    arena.add_argument("--dry-run", action="store_true", help="say what there is to do, and do nothing")
    arena.add_argument("--json", action="store_true", help="all ratios for machines instead of tables and a page")
    arena.set_defaults(run=_arena)

    why = commands.add_parser("explain", parents=[own], help="one run: why it restarted, and whether it was right")
    why.add_argument("of", metavar="RUN", help="a result file (…/cells/*.parquet), or a study by name or TOML file")
    why.add_argument("--cell", help="of a study: its number, or words of its name that no other cell has")
    why.add_argument("--replication", type=int, default=0, help="which one; 0 if left out")
    why.add_argument("--seed", type=int, help="of a study: in place of its own")
    why.add_argument("--out", metavar="PAGE", help="also a page: an HTML file, such as run.html")
    why.add_argument("--figure", metavar="PICTURE", help="also a picture: a PNG, SVG or PDF file")
    why.add_argument("--log", action="store_true", help="the picture with a logarithmic axis of rounds")
    why.add_argument("--json", action="store_true", help="all numbers for machines instead of words and a table")
    rule = why.add_argument_group("what counts as a significant shift (docs/significant-shifts.md)")
    rule.add_argument("--preset", choices=SHIFT_PRESETS, help="literal if left out")
    rule.add_argument("--beta", type=float, help="the tail exponent; the reservoir's if left out")
    rule.add_argument("--kappa", type=float, help="the reservoir's if left out, or 1")
    rule.add_argument("--threshold-scale", type=float, metavar="FACTOR", help="in place of the preset's")
    rule.add_argument("--budget-scale", type=float, metavar="FACTOR", help="in place of the preset's")
    rule.add_argument("--top", type=float, help="the mean from which gaps are counted; the world's if left out")
    rule.add_argument("--order", choices=tuple(ORDERS), help="which arms come first; window if left out")
    why.set_defaults(run=_explain)

    for kind, text in (("policies", "what can be played"), ("worlds", "what can be played against")):
        listing = commands.add_parser(kind, help=text)
        listing.add_argument("--json", action="store_true", help="for machines")
        listing.set_defaults(run=_policies if kind == "policies" else _worlds)

    check = commands.add_parser("check", help="the promises of a policy, base or part of a world")
    check.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="all of the package's if left out; your own as module:Name: a class, an instance, or a function that "
        "makes one or a list of them",
    )
    check.set_defaults(run=_check)

    bench = commands.add_parser("bench", help="what a round costs")
    bench.add_argument("--json", action="store_true", help="figures for machines instead of a table")
    bench.add_argument("--turns", type=int, default=9, help="how often everything is timed")
    bench.set_defaults(run=_bench)
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    from .lab.questions import reproduce
    from .lab.questions.figure_1 import MODES

    given = {name: getattr(options, name) for name in ("betas", "horizons", "replications", "seed")}
    modes = MODES if options.mode == "both" else (options.mode,)
    results = reproduce.reproduce(
        modes,
        folder=options.folder,
        jobs=options.jobs,
        device=options.device,
        **{name: value for name, value in given.items() if value is not None},
    )
    if options.json:
        print(json.dumps(finite(reproduce.rows(results)), indent=1))
        return 0
    for mode in modes:
        study = results[mode][0].study
        print(
            f"Regret in the world of the paper's figure, as {mode}: horizon {max(c.horizon for c in study.cells):,}, "
            f"{study.replications} replications, seed {study.seed}. ± is the standard deviation of one replication.\n"
        )
        print(reproduce.end_table(results, mode), end="\n\n")
    for path in reproduce.write_reports(results, options.folder, command_line(options)):
        print(f"The report is {path}")
    return 0


def finite(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON, which has no word for what is not a number."""
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def command_of(study: Any, file: str, imports: Sequence[str] = ()) -> str:
    """The command that runs a study: by its name if that suffices, else by its file; nothing if there is neither."""
    from . import lab

    named = study.name in lab.study_names() and lab.named_study(study.name).cells == study.cells
    if not named and not file:
        return ""
    words = ["manyarms", "run", study.name if named else file]
    words += ["--replications", str(study.replications), "--seed", str(study.seed)]
    return shlex.join([*words, *_import_words(imports)])


def _import_words(imports: Sequence[str]) -> list[str]:
    return [word for module in imports for word in ("--import", module)]


def command_line(options: argparse.Namespace) -> str:
    """The command that gives the same results."""
    words = ["manyarms", options.command]
    for name, value in vars(options).items():
        if name in ("command", "run", "json", "folder", "jobs", "device") or value in (None, False):
            continue
        if name == "study":
            words.append(str(value))
        elif value is not True:
            words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    return " ".join(words)


def _listing(kinds: Sequence[str], as_json: bool) -> int:
    found = [
        {
            "name": name,
            "kind": spec_type.kind,
            "what": (spec_type.__doc__ or "").strip().splitlines()[0],
        }
        for name, spec_type in sorted(SPEC_TYPES.items())
        if spec_type.kind in kinds and not spec_type.__module__.startswith(f"{__package__}.lab.")
    ]
    found.sort(key=lambda row: kinds.index(row["kind"]))
    print(json.dumps(found, indent=1, ensure_ascii=False) if as_json else Table(found))
    return 0


def imported(name: str) -> ModuleType:
    """A module of one's own: of the folder one stands in, or from where Python finds it."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise LookupError(f"{name!r} is not the name of a module, such as mine or package.mine")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as with python -m
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            hint = f"write {name.removesuffix('.py')}, " if name.endswith(".py") else ""
            raise LookupError(
                f"there is no module {name!r}, neither in {os.getcwd()} nor where Python looks; {hint}go to its "
                "folder, or put that on PYTHONPATH"
            ) from None
        raise LookupError(f"the module {name!r} cannot be imported: {error}") from None
    except (Exception, SystemExit) as error:  # its own code may raise anything
        raise LookupError(f"the module {name!r} cannot be imported: {type(error).__name__}: {error}") from error


def lab_with(imports: Sequence[str]) -> Any:
    """The lab, where studies can use what modules of one's own define."""
    from . import lab  # first: if a name is there twice, it is the other module that has to choose another one

    before, names = dict(lab.NAMED_STUDIES), set(lab.study_names())
    for module in imports:
        imported(module)
        changed = {name for name, made in lab.NAMED_STUDIES.items() if name not in before or made is not before[name]}
        taken = sorted(changed & names)
        if taken:
            lab.NAMED_STUDIES.clear()
            lab.NAMED_STUDIES.update(before)
            raise ValueError(
                f"the module {module!r} defines a study {taken[0]!r}, but there is one called so; choose another name"
            )
    return lab


def _studies(options: argparse.Namespace) -> int:
    lab = lab_with(options.imports)
    studies = [lab.named_study(name) for name in lab.study_names()]
    rows = [
        {"name": study.name, "cells": len(study.cells), "rounds": study.rounds(), "about": study.about}
        for study in studies
    ]
    print(json.dumps(rows, indent=1, ensure_ascii=False) if options.json else Table(rows))
    return 0


def _run(options: argparse.Namespace) -> int:
    lab = lab_with(options.imports)
    study = lab.find_study(options.study)
    given = {"replications": options.replications, "seed": options.seed}
    study = study.replace(**{name: value for name, value in given.items() if value is not None})
    where = {name: getattr(options, name) for name in ("jobs", "cluster", "device", "resume")}
    if options.dry_run:
        plan = lab.plan(study, options.folder, **where)
        print(json.dumps(finite([plan])[0], indent=1) if options.json else Table([plan]))
        return 0
    paths = lab.run_with_bar(study, options.folder, **where)
    rows = lab.summary(lab.read_all(paths, study))
    if options.json:
        print(json.dumps(finite(rows), indent=1, ensure_ascii=False))
    else:
        print(Table(rows))
        again = shlex.join(["manyarms", "report", str(paths[0].parent.parent), *_import_words(options.imports)])
        print(f"\nThe results are in {paths[0].parent}; {again} makes a page of them")
    return 0


def _report(options: argparse.Namespace) -> int:
    lab = lab_with(options.imports)
    results = lab.read_results(options.folder)
    study = results[0].study
    command = command_of(study, lab.file_of(options.folder, study), options.imports)
    found = lab.findings(results)
    for table in (table for section in found for table in section.tables):
        print(f"{table}\n")
    path = lab.write_report(results, options.out or options.folder / "report.html", command, found)
    print(f"The report is {path}")
    if options.figures:
        for figure in lab.save_all(results, options.figures):
            print(figure)
    return 0


def _arena(options: argparse.Namespace) -> int:
    from .lab.arena.arena import default_folder, new_arena
    from .lab.arena.page import write_figures, write_page
    from .lab.arena.scores import findings, rows
    from .lab.arena.tables import STAR

    if options.json and (options.out is not None or options.figures is not None):
        option = "--figures" if options.out is None else "--out"
        raise ValueError(f"--json prints numbers and writes neither page nor figures; leave out --json or {option}")
    given_folder = str(default_folder(options.quick)) if options.folder is None else options.folder
    folder, page, figures = checked_arena_outputs(given_folder, options.out, options.figures)
    lab_with(options.imports)
    given = {name: getattr(options, name) for name in ("quick", "half", "only", "replications", "seed")}
    arena = new_arena(**{name: value for name, value in given.items() if value is not None})
    where = {name: getattr(options, name) for name in ("jobs", "device", "resume")}
    if options.dry_run:
        plans = arena.plan(folder, **where)
        if options.json:
            print(json.dumps(finite(plans), indent=1, ensure_ascii=False))
        else:
            print(Table(plans))
            print(
                "\nSeconds are without compiling, and without the time that Thompson sampling takes beyond the others"
            )
        return 0
    scores = arena.run(folder, **where)
    if options.json:
        print(json.dumps(finite(rows(scores)), indent=1, ensure_ascii=False))
        return 0
    for section in findings(scores, STAR):
        print(f"{section.heading}\n")
        for table in section.tables:
            print(table, end="\n\n")
    command = shlex.join(["manyarms", "arena", *_arena_words(given), *_import_words(options.imports)])
    print(f"The page is {write_page(arena, scores, STAR, page, command)}")
    for figure in write_figures(scores, figures) if figures else ():
        print(figure)
    return 0


def checked_arena_outputs(folder: str, out: str | None, figures: str | None) -> tuple[Path, Path, Path | None]:
    """Where results, the page and the figures go; an error if one of them cannot be written."""
    for option, given, such in (
        ("--folder", folder, "a folder such as results/arena"),
        ("--out", out, "a file such as arena.html"),
        ("--figures", figures, "a folder such as figures"),
    ):
        if given is None:
            continue
        if not given:
            raise ValueError(f"{option} '' names nothing; give {such}")
        path = Path(given)
        if option == "--out":
            if path.is_dir():
                raise ValueError(f"--out {given!r} is a folder; give a file such as {path / 'arena.html'}")
            if path.suffix.lower() not in (".html", ".htm"):
                raise ValueError(f"--out {given!r} must end in .html or .htm: it is a page; --figures gives pictures")
        elif path.exists() and not path.is_dir():
            raise ValueError(f"{option} {given!r} is a file; give {such}")
        there = next(part for part in (path.absolute(), *path.absolute().parents) if part.is_dir() or part.is_file())
        if there.is_file() and there != path.absolute():
            raise ValueError(f"{option} {given!r} cannot be written: {there} is a file, not a folder; give {such}")
        if not os.access(there, os.W_OK):
            raise PermissionError(f"{option} {given!r} cannot be written: no right to write {there}; give {such}")
    page = Path(folder) / "arena.html" if out is None else Path(out)
    return Path(folder), page, None if figures is None else Path(figures)


def _arena_words(given: dict[str, Any]) -> list[str]:
    """The options that decide what an arena finds."""
    words = []
    for name, value in given.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:  # a seed of 0 equals False
            words += [f"--{name}", str(value)]
    return words


SHIFT_OPTIONS = ("preset", "beta", "kappa", "threshold_scale", "budget_scale", "top", "order")


def _explain(options: argparse.Namespace) -> int:
    from .lab.explain.explain import is_result_file, printed
    from .lab.figures.figures import save

    page, picture = checked_outputs(options.of, options.out, options.figure)
    lab = lab_with(options.imports)
    rule = {name: getattr(options, name) for name in SHIFT_OPTIONS if getattr(options, name) is not None}
    if is_result_file(options.of):
        for name in ("cell", "seed"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} is for studies, and {options.of} is a result file: leave it out")
        found = lab.explain_result(options.of, options.replication, **rule)
    else:
        study = lab.find_study(options.of)
        study = study if options.seed is None else study.replace(seed=options.seed)
        found = lab.explain_study(study, options.cell, options.replication, **rule)
    if options.json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print(printed(found))
    written = []
    if page:
        written.append(f"The page is {found.write_page(page, _explain_command(options, rule))}")
    if picture:
        written.append(f"The picture is {save(found.figure(log=options.log), picture)}")
    for line in written if not options.json else ():
        print(line)
    return 0


def checked_outputs(of: str, out: str | None, figure: str | None) -> tuple[Path | None, Path | None]:
    """Where the page and the picture of a run go; an error if one cannot be written, or would overwrite something."""
    from .lab.explain.figure import checked_format

    given = {"--out": out, "--figure": figure}
    paths = {option: Path(name) for option, name in given.items() if name is not None}
    for option, path in paths.items():
        such = "run.html" if option == "--out" else "run.png"
        if not given[option]:
            raise ValueError(f"{option} '' names no file; give one such as {such}")
        if path.is_dir():
            raise ValueError(f"{option} {given[option]!r} is a folder; give a file such as {path / such}")
        if path.exists() and Path(of).exists() and path.samefile(of):
            raise ValueError(f"{option} {given[option]!r} is the run's own file; give another one, such as {such}")
    if len({path.resolve() for path in paths.values()}) < len(paths):
        raise ValueError(f"--out {out!r} and --figure {figure!r} are the same file; give each one of its own")
    if out is not None and paths["--out"].suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out!r} must end in .html or .htm: it is a page; a picture is asked for by --figure")
    if figure is not None:
        checked_format(paths["--figure"])
    for option, path in paths.items():
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            said = f"{option} {given[option]!r} cannot be written: {folder}: {error.strerror}"
            raise OSError(f"{said}; give a file in another folder") from None
    return paths.get("--out"), paths.get("--figure")


def _explain_command(options: argparse.Namespace, rule: dict[str, Any]) -> str:
    """The command that explains the same run."""
    given = {name: getattr(options, name) for name in ("cell", "replication", "seed")} | rule
    words = ["manyarms", "explain", options.of]
    for name, value in given.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, *_import_words(options.imports)])


def _policies(options: argparse.Namespace) -> int:
    return _listing(("policy", "base"), options.json)


def _worlds(options: argparse.Namespace) -> int:
    return _listing(("reservoir", "drift", "noise"), options.json)


def _check(options: argparse.Namespace) -> int:
    broken = 0
    names = options.names or sorted({type(spec).__name__ for spec in examples()})
    chosen = [(name, specs_called(name)) for name in names]
    for name, specs in chosen:
        kept = 0
        for spec in specs:
            for _, check in checks(spec):
                try:
                    check()
                except CheckError as error:
                    broken += 1
                    print(f"{name}: {error}")
                else:
                    kept += 1
        print(f"{name}: {kept} promises kept")
    return 1 if broken else 0


def specs_called(name: str) -> list[Spec]:
    """The package's examples of a spec type, or what ``module:Name`` is or makes."""
    module, colon, attribute = name.partition(":")
    if colon:
        value = getattr(imported(module), attribute, None)
        if value is None:
            raise LookupError(f"cannot find {name!r}: the module {module!r} has no {attribute!r}")
        made = value if isinstance(value, Spec) or not callable(value) else _made(name, value)
        specs = list(made) if isinstance(made, (list, tuple)) else [made]
        if not specs or not all(isinstance(spec, Spec) for spec in specs):
            raise LookupError(
                f"{name} gives {made!r}; it must give a policy, a base, a world or a part of one, or a list of them"
            )
        return specs
    found = [spec for spec in examples() if type(spec).__name__ == name]
    if not found:
        known = ", ".join(sorted({type(spec).__name__ for spec in examples()}))
        raise LookupError(f"nothing is called {name!r}; there are {known}, and your own as module:Name")
    return found


def _made(name: str, maker: Callable[[], Any]) -> Any:
    """What a class or function of one's own makes of nothing."""
    try:
        return maker()
    except Exception as error:  # its own code may raise anything
        raise LookupError(
            f"{name} cannot be made with its defaults ({type(error).__name__}: {error}); name an instance, or a "
            "function that makes one"
        ) from error


def _bench(options: argparse.Namespace) -> int:
    from . import bench

    bench.require_compiler()
    figures = bench.measure(options.turns, say=lambda text: print(f"… {text}", file=sys.stderr))
    print(json.dumps(figures, indent=1) if options.json else bench.report(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
