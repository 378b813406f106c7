"""What is known of a published experiment from elsewhere, beside what a study has found."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...intervals import mean_and_half_width
from ...tables import Table, number_text
from ..figures.statistics import with_half_width
from ..running.files import CellResult
from ..studies.study import Cell

APART = "separate"
AUTHORS = "authors' code"
FORMULA = "formula"

ORIGINS = {
    APART: "a simulation from scratch that shares no code with this package, of 5 to 10 replications "
    "where nothing else is said",
    AUTHORS: "the authors' public code, run",
    FORMULA: "worked out",
}
"""Where a known number comes from."""


class Known(NamedTuple):
    """A regret that is known from elsewhere."""

    regret: float
    origin: str


Place = tuple[str, str, int]
"""World, policy, horizon."""


def place_of(cell: Cell) -> Place:
    """Where a cell stands."""
    return cell.world_name, cell.policy_name, cell.horizon


def agreement(results: Sequence[CellResult], known: Mapping[Place, Known]) -> Table:
    """Our mean regret with its 95 % interval; where another is known, that one and how far we are apart."""
    rows = []
    for result in results:
        world, policy, horizon = place_of(result.cell)
        mean, half_width = mean_and_half_width(result.final("regret"))
        other = known.get((world, policy, horizon))
        row: dict[str, Any] = {"world": world, "T": f"{horizon:,}", "policy": policy}
        row["regret"] = with_half_width(mean, half_width)
        row["known"] = number_text(other.regret) if other else ""
        row["from"] = other.origin if other else ""
        row["apart"] = f"{percent_apart(mean, other.regret):+.1f} %" if other else ""
        rows.append(row)
    return Table(rows)


def percent_apart(ours: float, theirs: float) -> float:
    """By how much percent ours is larger, to one digit behind the point; no zero is negative.

    Examples
    --------
    >>> percent_apart(99_842.0, 99_843.0), percent_apart(90.0, 100.0)
    (0.0, -10.0)
    """
    return round(100.0 * (ours / theirs - 1.0), 1) + 0.0


def origins(known: Mapping[Place, Known]) -> str:
    """Where the known numbers come from, in words."""
    used = dict.fromkeys(one.origin for one in known.values())
    return "Known numbers are from: " + "; ".join(f"{origin}: {ORIGINS[origin]}" for origin in used) + "."
