"""``manyarms worlds``."""

import argparse

from .options import add_shared
from .output import print_specs

HELP = "what can be played against"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Nothing but the shared ones."""
    add_shared(parser, "--import", "--json")


def act(options: argparse.Namespace) -> int:
    """Print the reservoirs, drifts and noises."""
    print_specs(("reservoir", "drift", "noise"), options.imports, options.json)
    return 0
