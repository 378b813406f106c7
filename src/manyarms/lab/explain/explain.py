"""Explain: one run of one policy, replayed with a log and held against what the world really did.

Why did the policy restart, and was it right? The run is played again, round by round the same; its regret, its
changes and its episodes are counted from the log by `manyarms.measures`, its restarts are held against the significant
shifts, and the policy is asked about each of its restarts.
``Explanation.figure`` draws it, ``Explanation.page`` makes a page of it, ``Explanation.belief_figure`` draws what the
policy has learned, ``Explanation.to_json`` has all the numbers. What is drawn is binned; what is counted never is.

This is the front of the room. Behind it, each made from those before: `playing`, `account`, `words` and `drawing`,
`figure`, `beliefs` and `page`.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ... import measures
from ...engine import LONGEST_RUN, checkpoint_rounds, memory, named_policies, warn_of_other_top
from ...policies.base import Policy
from ...specs import checked_seed, count
from ...tables import in_one_line
from ...trace import COLUMNS
from ...version import __version__
from ...world import World
from ..pages.html import write_page
from ..running.contents import BadFile, plain_bytes
from ..running.files import CellResult, read_result
from ..studies.study import SUFFIX, Cell, Study, study_names
from .account import Account
from .beliefs import belief_figure
from .figure import figure
from .page import page
from .playing import played
from .words import listed, summary
from .words import printed as printed

BYTES_A_ROUND = 500
"""What a run takes in memory while it is explained: the log, its measures and their lists; measured, rounded up."""


class Explanation(Account):
    """One run, and what there is to say about it: an ``Account`` with its words, its picture and its page."""

    def __repr__(self) -> str:
        return f"<Explanation of {self.cell.label}, seed {self.seed}, replication {self.replication}: {self.summary()}>"

    summary = summary
    figure = figure
    belief_figure = belief_figure
    page = page

    def write_page(self, path: str | Path, command: str = "") -> Path:
        """Write the page at once; return its path."""
        return write_page(path, self.page(command))

    def to_json(self) -> dict[str, Any]:
        """All numbers, as plain JSON values."""
        sums = ("regret", "reward", "V", "V_R")  # the others are counts
        totals = {name: self.final(name) if name in sums else int(self.final(name)) for name in COLUMNS}
        totals["arms_played"] = self.arms_played
        totals["regret_of_best_arms"] = self.parts.of_best
        totals["regret_to_best_arms"] = self.parts.to_best
        rule = None if self.shifts is None else self.shifts.rule
        return {
            "version": __version__,
            "source": self.source,
            "cell": self.cell.to_json(),
            "seed": self.seed,
            "replication": self.replication,
            "summary": self.summary(),
            "totals": totals,
            "belief": self.belief,
            "checkpoints": {"round": self.checkpoints.tolist()}
            | {name: self.values[:, place].tolist() for place, name in enumerate(COLUMNS)},
            "shifts": {
                "rule": rule and str(rule),
                "constants": rule and dataclasses.asdict(rule),
                "why_none": self.why_no_shifts,
                "found": [one._asdict() for one in self.shift_verdicts],
            },
            "restarts": [one._asdict() for one in self.restart_verdicts],
            "episodes": self.rows(),
            "blocks": self.parts.rows(),
        }


def explain(
    policy: Policy,
    world: World,
    horizon: int,
    *,
    seed: int = 0,
    replication: int = 0,
    policy_name: str = "",
    world_name: str = "",
    **rule: Any,
) -> Explanation:
    """Play one run with a log, and say what happened in it.

    Parameters
    ----------
    policy, world, horizon, seed
        As for ``simulate``.
    replication
        Which one: the same run as that replication of ``simulate``.
    policy_name, world_name
        What to call them; after their settings if left out.
    **rule
        What counts as a significant shift: any option of ``ShiftRule``. beta and kappa are those of the world's
        reservoir, where it has them, and top is the world's. If that is above the reservoir's top, no kappa holds, and
        the summary says so.

    Returns
    -------
    Explanation
        With ``summary()``, ``figure()``, ``page()`` and ``to_json()``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.lab import explain
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.01, to=0.0))
    >>> found = explain(ma.Elimination(beta=1.0), world, horizon=2000, seed=1)
    >>> len(found.episodes) - 1 == found.to_json()["totals"]["restarts"] > 0
    True
    """
    [(name, spec)] = named_policies([policy]).items()
    if not isinstance(world, World):
        raise TypeError(f"explain: world must be a World such as ma.World(ma.PowerLaw(1.0)), not {world!r}")
    horizon = count("explain", "horizon", horizon)
    if horizon > LONGEST_RUN:
        raise ValueError(f"explain: horizon must be at most {LONGEST_RUN} (2^31 - 1), not {horizon}")
    world_name = world_name or ", ".join(part.label() for part in (world.reservoir, world.drift, world.noise))
    cell = Cell(world_name, world, policy_name or name, spec, horizon)
    return explained(cell, checkpoint_rounds(None, horizon), seed, replication, **rule)


def explain_result(path: str | Path, replication: int = 0, **rule: Any) -> Explanation:
    """One replication of a result file, replayed from the file alone and checked to be the same run.

    Parameters
    ----------
    path
        The file, as ``manyarms run`` has left it.
    replication
        Which one.
    **rule
        As for ``explain``.
    """
    path = Path(path)
    result = found_result(path)
    replication = chosen_replication(replication, str(path), result.first, result.first + len(result.values) - 1)
    found = explained(result.cell, result.rounds, result.study.seed, replication, path.name, **rule)
    check_same_run(path, result, replication, found.values)
    return dataclasses.replace(found, is_checked=True)


def explain_study(study: Study, cell: str | int | None = None, replication: int = 0, **rule: Any) -> Explanation:
    """One replication of one cell of a study.

    Parameters
    ----------
    study
        The study; it need not have been run.
    cell
        Its number, or words of its label that no other cell has. May be left out if there is only one.
    replication
        Which one, of those the study has.
    **rule
        As for ``explain``.
    """
    chosen = study.cells[chosen_cell(study, cell)]
    replication = chosen_replication(replication, f"study {study.name}", 0, study.replications - 1)
    return explained(chosen, study.rounds_kept(chosen), study.seed, replication, study.name, **rule)


def explained(
    cell: Cell, checkpoints: NDArray[np.int64], seed: int, replication: int, source: str = "", **rule: Any
) -> Explanation:
    """What there is to say about one replication of a cell; ``rule`` as for ``explain``."""
    seed = checked_seed(seed)
    replication = count("explain", "replication", replication, least=0)
    chosen, why_no_shifts = shift_rule(cell, rule)
    if BYTES_A_ROUND * cell.horizon > memory():
        raise MemoryError(
            f"explain: {cell.horizon:,} rounds take {BYTES_A_ROUND * cell.horizon / 1e9:,.0f} GB, and this process may "
            f"use {memory() / 1e9:,.0f} GB; explain a shorter run"
        )
    warn_of_other_top(cell.policy_name, cell.policy, cell.world)
    values, log, notes, belief = played(cell, checkpoints, seed, replication)
    run = (log.arm, log.mean, log.next_mean)
    top = cell.world.top
    episodes = measures.episodes_of_run(*run, log.episode, blocks=log.block, notes=notes, top=top)
    shifts = None
    if chosen is not None:
        blocks = log.block if chosen.get("order") == "block" else None
        shifts = measures.significant_shifts(*run, blocks=blocks, **chosen)
    return Explanation(
        cell=cell,
        seed=seed,
        replication=replication,
        checkpoints=checkpoints,
        values=values,
        log=log,
        belief=belief,
        variation=measures.realized_variation(*run),
        episodes=episodes,
        parts=measures.decomposed_regret(*run, log.block, top=top),
        shifts=shifts,
        detections=None if shifts is None else measures.detections(shifts, episodes.restarts),
        why_no_shifts=why_no_shifts,
        source=source,
    )


def shift_rule(cell: Cell, given: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The options of ``significant_shifts`` for a cell; None, and why, where no tail exponent is known."""
    known = {field.name for field in dataclasses.fields(measures.ShiftRule)} - {"horizon"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise TypeError(f"explain: there is no option {unknown[0]!r}; for shifts there are {', '.join(sorted(known))}")
    reservoir = cell.world.reservoir
    options: dict[str, Any] = {"beta": reservoir.tail, "top": cell.world.top}
    if reservoir.tail_constants is not None:
        options["kappa"] = reservoir.tail_constants[0]
    options |= {name: value for name, value in given.items() if value is not None}
    if options["beta"] is None:
        unused = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return None, (
            f"Significant shifts are not defined here: the reservoir {type(reservoir).__name__} has no tail exponent; "
            "give one as beta." + (f" Without it, {listed(unused)} had no effect." if unused else "")
        )
    measures.ShiftRule(**options, horizon=cell.horizon)  # what is wrong with them is said before anything is played
    return options, ""


# ---------------------------------------------------------------- which run is meant


def is_result_file(name: str) -> bool:
    """Whether a name on the command line is meant as a result file, not as a study."""
    if name in study_names() or name.endswith(SUFFIX):
        return False
    return name.endswith(".parquet") or Path(name).exists()


def found_result(path: Path) -> CellResult:
    """The result in a file; an error that says what the file is if it has none."""
    if path.is_dir():
        there = sorted(path.glob("**/*.parquet"))
        hint = f"such as {there[0]}" if there else "but there is none"
        raise BadFile(f"{path} is a folder; name one of the result files in it, {hint}")
    if not path.exists():
        raise FileNotFoundError(f"there is no result file {str(path)!r}; manyarms run makes some, in …/cells")
    try:
        names = pq.read_schema(pa.BufferReader(plain_bytes(path))).names
    except (pa.ArrowException, OSError, ValueError):
        raise BadFile(f"{path} is not a result file: it is no Parquet; a study's file must end in {SUFFIX}") from None
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise BadFile(f"{path} is not a result of manyarms: it has no column {missing[0]!r}; run its study again")
    return read_result(path)


def chosen_replication(replication: int, where: str, first: int, last: int) -> int:
    """The number of a replication; an error if it is none of those that are there."""
    replication = count("explain", "replication", replication, least=0)
    if not first <= replication <= last:
        raise ValueError(
            f"{where} has no replication {replication}; it has those from {first} to {last}, choose one of them"
        )
    return replication


def check_same_run(path: Path, result: CellResult, replication: int, values: NDArray[np.float64]) -> None:
    """An error unless the replayed run has the numbers of the file, to the bit."""
    saved = result.values[replication - result.first, :, : len(COLUMNS)]
    if np.array_equal(saved, values):
        return
    checkpoint, column = np.argwhere(saved != values)[0]
    raise BadFile(
        f"{path}: replayed, replication {replication} is another run: after round "
        f"{result.rounds[checkpoint]:,} its {COLUMNS[column]} is {float(values[checkpoint, column])!r} where the "
        f"file has {float(saved[checkpoint, column])!r}. The file was made by manyarms {result.version}, sources "
        f"{result.sources}; run its study again with this version"
    )


def chosen_cell(study: Study, cell: str | int | None) -> int:
    """The place of the cell that is meant by a number or by words of its label."""
    labels = [one.label for one in study.cells]
    lines = [f"  {place}  {in_one_line(label)}" for place, label in enumerate(labels)]
    listed = "\n".join(lines)
    if cell is None:
        if len(labels) == 1:
            return 0
        raise ValueError(f"study {study.name} has {len(labels)} cells; choose one by number or words:\n{listed}")
    words = str(cell).strip()
    if not words:
        raise ValueError(
            f"the cell {cell!r} names nothing; choose one of study {study.name} by number or words:\n{listed}"
        )
    if words.isdecimal() and words.isascii():
        if int(words) < len(labels):
            return int(words)
        raise ValueError(f"study {study.name} has no cell {words}; choose one of these:\n{listed}")
    wanted = words.lower()
    names = [
        (one.label, f"{one.policy_name}, {one.world_name}", one.policy_name, one.world_name) for one in study.cells
    ]
    full = [place for place, whole in enumerate(names) if wanted in map(str.lower, whole)]
    matches = full or [place for place, label in enumerate(labels) if wanted in label.lower()]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ValueError(f"study {study.name} has no cell {words!r}; choose one of these:\n{listed}")
    meant = "\n".join(lines[place] for place in matches)
    raise ValueError(f"{words!r} may mean {len(matches)} cells of study {study.name}; choose one by number:\n{meant}")
