"""``manyarms studies``, ``policies`` and ``worlds``: what there is."""

import argparse
import dataclasses
import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..about import FIELDS, PURPOSES, TOLD, part_of_docstring
from ..policies.base import DOUBLING
from ..policies.tail import AUTO
from ..specs import SPEC_TYPES, Spec
from ..tables import Table
from .options import command, option
from .output import FORMATS, print_json, print_rows, say
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


@command(
    "what can be played",
    "--import --json",
    option("--table", action="store_true", help="what each is told, its regret, what it is made for, what it costs"),
    option("--sources", action="store_true", help="where each comes from, and what was changed of it"),
    option("--format", choices=tuple(FORMATS), default="text", help="of --table"),
)
def policies(options: argparse.Namespace) -> None:
    """Print the policies and bases."""
    kinds = "policy", "base"
    if options.json:
        is_all_said = options.table or options.sources
        print_json([_listed(one) | (_as_json(one) if is_all_said else {}) for one in _known(options, *kinds)])
    elif options.table:
        say("\n\n".join(map(FORMATS[options.format], tables_to_choose_by(_known(options, *kinds)))))
    elif options.sources:
        say(sources(_known(options, *kinds)))
    else:
        _print_specs(options, *kinds)


@command("what can be played against", "--import --json")
def worlds(options: argparse.Namespace) -> None:
    """Print the reservoirs, drifts, noises and feedbacks."""
    _print_specs(options, "reservoir", "drift", "noise", "feedback", "delay")


def _print_specs(options: argparse.Namespace, *kinds: str) -> None:
    """Print what specs of these kinds there are."""
    print_rows([_listed(spec_type) for spec_type in _known(options, *kinds)], options.json)


def _known(options: argparse.Namespace, *kinds: str) -> list[type[Spec]]:
    """The types of specs of these kinds, kind by kind. Those of the lab are parts of its studies, and left out."""
    for module in options.imports:
        imported(module)
    lab = f"{__package__.partition('.')[0]}.lab."
    known = [spec_type for _, spec_type in sorted(SPEC_TYPES.items()) if not spec_type.__module__.startswith(lab)]
    return [spec_type for kind in kinds for spec_type in known if spec_type.kind == kind]


def _listed(spec_type: type[Spec]) -> dict[str, Any]:
    """A type in one line."""
    first = next(iter((spec_type.__doc__ or "").strip().splitlines()), "")
    return {"name": spec_type.__name__, "kind": spec_type.kind, "what": first}


def _as_json(spec_type: Any) -> dict[str, Any]:
    """All that a policy or base says of itself, for machines."""
    about = None if spec_type.about is None else dataclasses.asdict(spec_type.about)
    parts = {head.lower(): part_of_docstring(spec_type, head) for head in ("Source", "Deviations")}
    return {"about": about} | parts


# ---------------------------------------------------------------- to choose by

NOT_SAID = "–"
"""What a policy of one's own does not say of itself."""

WITHOUT = {"T": DOUBLING, "beta": AUTO, "top": AUTO}
"""What a field is set to if it is not known, where that can be."""

STARRED = {"T*, beta*, top*": f'need not be known: horizon="{DOUBLING}", beta="{AUTO}", top="{AUTO}"'}
"""How such fields are marked."""


def tables_to_choose_by(types: Sequence[type[Spec]]) -> list[Table]:
    """A table of the policies among these types, one of the bases, and one of the words in them."""
    rows = {kind: [row_to_choose_by(one) for one in types if one.kind == kind] for kind in ("policy", "base")}
    words = [{"word": word, "meaning": meaning} for word, meaning in (TOLD | STARRED | PURPOSES).items()]
    return [*map(Table, rows.values()), Table(words)]


def row_to_choose_by(spec_type: Any) -> dict[str, str]:
    """What a type says of itself."""
    about = spec_type.about
    said = (NOT_SAID,) * 4
    if about is not None:
        told = (f"{word}*" if can_do_without(spec_type, word) else word for word in about.told)
        said = ", ".join(told) or "nothing", about.rate, ", ".join(about.made_for), about.cost
    heads = spec_type.kind, "is told", "where nothing changes", "made for", "a round costs"
    return dict(zip(heads, (spec_type.__name__, *said), strict=True))


def can_do_without(spec_type: type[Spec], word: str) -> bool:
    """Whether what it is told can be left to it."""
    if word not in WITHOUT or spec_type.kind == "base":
        return False
    try:
        return all(spec_type.examples()[0].replace(**{field: WITHOUT[word]}) for field in FIELDS[word])
    except (TypeError, ValueError):
        return False


def sources(types: Iterable[type[Spec]]) -> str:
    """A list of where types come from and what was changed, as text and as Markdown alike."""
    items = []
    for one in types:
        parts = part_of_docstring(one, "Source"), part_of_docstring(one, "Deviations")
        said = [f"{head}{part}" for head, part in zip(("", "Deviations: "), parts, strict=True) if part] or [NOT_SAID]
        lines = [f"`{one.__name__}`: {said[0]}", *said[1:]]
        items.append("- " + "\n  ".join(itertools.chain(*map(_wrapped, lines))))
    return "\n".join(items)


def _wrapped(text: str) -> list[str]:
    """A text of docstrings in lines, none of which begins with a sign that would make a list of it in Markdown."""
    bound = re.sub(r" (?=[-+*#>] )", "\N{NO-BREAK SPACE}", text.replace("``", "`"))
    lines = textwrap.wrap(bound, 118, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
