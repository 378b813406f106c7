"""``manyarms policies``."""

import argparse

from .options import add_shared
from .output import print_specs

HELP = "what can be played"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Nothing but the shared ones."""
    add_shared(parser, "--import", "--json")


def act(options: argparse.Namespace) -> int:
    """Print the policies and bases."""
    print_specs(("policy", "base"), options.imports, options.json)
    return 0
