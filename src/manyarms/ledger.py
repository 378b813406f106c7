"""The ledger of benchmarks: what was measured before, on which machine and commit, and what has become slower.

A ledger is a file with one line of JSON for each run, and is only ever appended to.
"""

import datetime
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .tables import Table

WORSE = 0.1
"""The part of the best figure that may be lost before it is called a regression."""


class Measure(NamedTuple):
    """What is compared in runs of one kind."""

    name: str
    unit: str
    format: str
    less_is_better: bool

    def shown(self, figure: float) -> str:
        """A figure as text."""
        return format(figure, self.format)

    def loss(self, now: float, best: float) -> float:
        """By which part of the best a figure is worse; below 0 if it is better."""
        return now / best - 1.0 if self.less_is_better else 1.0 - now / best


MEASURES = {
    "cpu": Measure("ratio", "times the floor", ".2f", less_is_better=True),
    "gpu": Measure("rounds_per_s", "rounds a second", ".3g", less_is_better=False),
}

FIGURES = ("ratio", "ns", "rounds_per_s")
"""What is measured. Whatever else an entry says of a policy is how: figures are compared where that is the same."""

Entry = Mapping[str, Any]
"""A line: date, commit, kind, machine, and for each policy its figures."""


def new_entry(kind: str, commit: str, machine: Mapping[str, Any], policies: Mapping[str, Any]) -> Entry:
    """What was measured just now."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"date": date, "commit": commit, "kind": kind, "machine": dict(machine), "policies": dict(policies)}


def commit_of(folder: Path) -> str:
    """The commit of a folder's files, with ``+changes`` if they differ from it; nothing outside a checkout."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout

    try:
        if not git("ls-files", "."):  # installed in an environment that lies in a checkout
            return ""
        return git("rev-parse", "HEAD").strip() + ("+changes" if git("status", "--porcelain", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def read(path: Path, say: Callable[[str], None]) -> list[Entry]:
    """All entries. Damaged lines are said and skipped; they stay in the file."""
    try:
        with path.open("ab"):  # measuring takes minutes: now is the time to see that it can be written
            pass
    except OSError as error:
        raise OSError(f"the ledger {path} cannot be written: {error.strerror}; give a file in another folder") from None
    entries = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            entries.append(_checked(json.loads(line)))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            said = f"{type(error).__name__}: {error}"
            say(f"line {number} of the ledger {path} is damaged and skipped ({said}); mend it or take it out")
    return entries


def _checked(entry: Any) -> Entry:
    """An entry that can be compared with others, or any error."""
    measure = MEASURES[entry["kind"]]
    for name, type_ in (("date", str), ("commit", str), ("machine", dict)):
        if not isinstance(entry[name], type_):
            raise ValueError(f"{name} is {entry[name]!r}")
    for name, figures in entry["policies"].items():
        if not 0.0 < figures[measure.name] < float("inf"):
            raise ValueError(f"{measure.name} of {name} is {figures[measure.name]!r}, not a number above 0")
    return entry  # type: ignore[no-any-return]


def append(path: Path, entry: Entry) -> None:
    """Write one more line."""
    with path.open("ab+") as file:
        file.seek(0)
        before = file.read()
        if before and not before.endswith(b"\n"):  # somebody was stopped within a line
            file.write(b"\n")
        file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")


def compared_with(entry: Entry, name: str) -> tuple[Any, ...]:
    """What two figures of a policy must have in common: a processor's are ratios, and any machine will do."""
    how = {key: value for key, value in entry["policies"][name].items() if key not in FIGURES}
    return entry["kind"], name, entry["machine"].get("gpu"), sorted(how.items())


def best_before(entry: Entry, name: str, earlier: Iterable[Entry]) -> Entry | None:
    """The earlier entry with the policy's best figure; the first of several."""
    measure, wanted = MEASURES[entry["kind"]], compared_with(entry, name)
    rivals = [one for one in earlier if name in one["policies"] and compared_with(one, name) == wanted]
    sign = 1.0 if measure.less_is_better else -1.0
    return min(rivals, key=lambda one: sign * one["policies"][name][measure.name], default=None)


def report(entry: Entry, earlier: Iterable[Entry]) -> str:
    """Each policy's figure beside the best it had before, and a line for each regression."""
    measure, earlier = MEASURES[entry["kind"]], list(earlier)
    rows, regressions = [], []
    for name, figures in entry["policies"].items():
        now = figures[measure.name]
        row = {"policy": name, measure.unit: measure.shown(now), "best before": "-", "on": "-", "commit": "-"}
        best = best_before(entry, name, earlier)
        if best is not None:
            then, day, commit = best["policies"][name][measure.name], best["date"][:10], shortened(best["commit"])
            row |= {"best before": measure.shown(then), "on": day, "commit": commit}
            if measure.loss(now, then) > WORSE:
                said = f"{measure.shown(now)} {measure.unit}, {measure.shown(then)} on {day}, commit {commit}"
                regressions.append(f"regression: {name} {said}")
        rows.append(row)
    return "\n".join([str(Table(rows)), *regressions])


def shortened(commit: str) -> str:
    """A commit by its first digits."""
    name, plus, changes = commit.partition("+")
    return f"{name[:10]}{plus}{changes}" or "unknown"
