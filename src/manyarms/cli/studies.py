"""``manyarms studies``."""

import argparse

from .options import add_shared
from .output import print_rows
from .own import lab_with

HELP = "the studies that have a name"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Nothing but the shared ones."""
    add_shared(parser, "--import", "--json")


def act(options: argparse.Namespace) -> int:
    """Print the studies."""
    lab = lab_with(options.imports)
    studies = [lab.named_study(name) for name in lab.study_names()]
    rows = [
        {"name": study.name, "cells": len(study.cells), "rounds": study.rounds(), "about": study.about}
        for study in studies
    ]
    print_rows(rows, options.json)
    return 0
