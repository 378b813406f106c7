"""The command line: ``manyarms reproduce | studies | run | report | policies | worlds | check | bench``."""

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .checks import CheckError, checks, examples
from .gpu import DEVICES
from .results import Table
from .specs import SPEC_TYPES, Spec
from .version import __version__


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

    studies = commands.add_parser("studies", help="the studies that come with the package")
    studies.add_argument("--json", action="store_true", help="for machines")
    studies.set_defaults(run=_studies)

    run = commands.add_parser("run", help="run a study, or what is left of it")
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

    report = commands.add_parser("report", help="a study's results as a page to look at, and as figures")
    report.add_argument("folder", type=Path, help="of the study, such as results/small-beta")
    report.add_argument("--out", type=Path, help="the page; report.html in that folder if left out")
    report.add_argument("--figures", type=Path, metavar="FOLDER", help="also figures as PNG, SVG and PDF, in there")
    report.set_defaults(run=_report)

    for kind, text in (("policies", "what can be played"), ("worlds", "what can be played against")):
        listing = commands.add_parser(kind, help=text)
        listing.add_argument("--json", action="store_true", help="for machines")
        listing.set_defaults(run=_policies if kind == "policies" else _worlds)

    check = commands.add_parser("check", help="the promises of a policy, base or part of a world")
    check.add_argument(
        "names", nargs="*", metavar="NAME", help="all of the package's if left out; your own as module:Name"
    )
    check.set_defaults(run=_check)

    bench = commands.add_parser("bench", help="what a round costs")
    bench.add_argument("--json", action="store_true", help="figures for machines instead of a table")
    bench.add_argument("--turns", type=int, default=9, help="how often everything is timed")
    bench.set_defaults(run=_bench)
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    from .lab import reproduce
    from .lab.figure_1 import MODES

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


def command_of(study: Any) -> str:
    """The command that runs a study: by its name if it is one of the package's."""
    from . import lab

    own = study.name in lab.study_names() and lab.named_study(study.name).cells == study.cells
    name = study.name if own else "study.toml"
    return f"manyarms run {name} --replications {study.replications} --seed {study.seed}"


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


def _studies(options: argparse.Namespace) -> int:
    from . import lab

    studies = [lab.named_study(name) for name in lab.study_names()]
    rows = [
        {"name": study.name, "cells": len(study.cells), "rounds": study.rounds(), "about": study.about}
        for study in studies
    ]
    print(json.dumps(rows, indent=1, ensure_ascii=False) if options.json else Table(rows))
    return 0


def _run(options: argparse.Namespace) -> int:
    from . import lab

    study = lab.find_study(options.study)
    given = {"replications": options.replications, "seed": options.seed}
    study = study.replace(**{name: value for name, value in given.items() if value is not None})
    if options.dry_run:
        plan = lab.plan(study, options.folder, options.jobs)
        print(json.dumps(plan, indent=1) if options.json else Table([plan]))
        return 0
    paths = lab.run_with_bar(
        study, options.folder, jobs=options.jobs, cluster=options.cluster, device=options.device, resume=options.resume
    )
    rows = lab.summary([lab.read_result(path) for path in paths])
    if options.json:
        print(json.dumps(finite(rows), indent=1, ensure_ascii=False))
    else:
        print(Table(rows))
        print(f"\nThe results are in {paths[0].parent}; manyarms report {paths[0].parent.parent} makes a page of them")
    return 0


def _report(options: argparse.Namespace) -> int:
    from . import lab

    results = lab.read_results(options.folder)
    path = lab.write_report(results, options.out or options.folder / "report.html", command_of(results[0].study))
    print(f"The report is {path}")
    if options.figures:
        for figure in lab.save_all(results, options.figures):
            print(figure)
    return 0


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
    """The package's examples of a spec type, or ``module:Name`` made with its defaults."""
    module, colon, attribute = name.partition(":")
    if colon:
        sys.path.insert(0, os.getcwd())  # modules of the folder one stands in, as with python -m
        try:
            spec = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise LookupError(f"cannot find {name!r}: {error}") from None
        try:
            return [spec() if isinstance(spec, type) else spec]
        except TypeError as error:
            raise LookupError(f"{name} cannot be made with its defaults ({error}); name an instance instead") from None
    found = [spec for spec in examples() if type(spec).__name__ == name]
    if not found:
        known = ", ".join(sorted({type(spec).__name__ for spec in examples()}))
        raise LookupError(f"nothing is called {name!r}; there are {known}, and your own as module:Name")
    return found


def _bench(options: argparse.Namespace) -> int:
    from . import bench

    bench.require_compiler()
    figures = bench.measure(options.turns, say=lambda text: print(f"… {text}", file=sys.stderr))
    print(json.dumps(figures, indent=1) if options.json else bench.report(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
