"""What commands print: tables for people, JSON for machines."""

import json
from collections.abc import Sequence
from typing import Any

from ..specs import SPEC_TYPES
from ..tables import Table
from .own import imported


def finite(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON, which has no word for what is not a number."""
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def print_json(value: Any) -> None:
    """Print values for machines."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def print_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print rows for machines or for people."""
    if as_json:
        print_json(finite(rows))
    else:
        print(Table(rows))


def print_specs(kinds: Sequence[str], imports: Sequence[str], as_json: bool) -> None:
    """Print what specs of these kinds there are. Those of the lab are parts of its studies, and left out."""
    for module in imports:
        imported(module)
    lab = f"{__package__.partition('.')[0]}.lab."
    rows = [
        {"name": name, "kind": spec_type.kind, "what": next(iter((spec_type.__doc__ or "").strip().splitlines()), "")}
        for name, spec_type in sorted(SPEC_TYPES.items())
        if spec_type.kind in kinds and not spec_type.__module__.startswith(lab)
    ]
    print_rows(sorted(rows, key=lambda row: kinds.index(row["kind"])), as_json)
