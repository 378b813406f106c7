"""``manyarms studies``, ``policies`` and ``worlds``: what there is."""

import argparse

from ..specs import SPEC_TYPES
from .options import command
from .output import print_rows
from .own import imported, lab_with


@command("the studies that have a name", "--import --json")
def studies(options: argparse.Namespace) -> None:
    """Print the studies."""
    lab = lab_with(options.imports)
    named = [lab.named_study(name) for name in lab.study_names()]
    rows = [
        {"name": each.name, "cells": len(each.cells), "rounds": each.rounds(), "about": each.about} for each in named
    ]
    print_rows(rows, options.json)


@command("what can be played", "--import --json")
def policies(options: argparse.Namespace) -> None:
    """Print the policies and bases."""
    _print_specs(options, "policy", "base")


@command("what can be played against", "--import --json")
def worlds(options: argparse.Namespace) -> None:
    """Print the reservoirs, drifts, noises and feedbacks."""
    _print_specs(options, "reservoir", "drift", "noise", "feedback", "delay")


def _print_specs(options: argparse.Namespace, *kinds: str) -> None:
    """Print what specs of these kinds there are. Those of the lab are parts of its studies, and left out."""
    for module in options.imports:
        imported(module)
    lab = f"{__package__.partition('.')[0]}.lab."
    rows = [
        {"name": name, "kind": spec_type.kind, "what": next(iter((spec_type.__doc__ or "").strip().splitlines()), "")}
        for name, spec_type in sorted(SPEC_TYPES.items())
        if spec_type.kind in kinds and not spec_type.__module__.startswith(lab)
    ]
    print_rows(sorted(rows, key=lambda row: kinds.index(row["kind"])), options.json)
