"""Explain: one run of one policy, replayed with a log and held against what the world really did.

Why did the policy restart, and was it right? The run is played again, round by round the same; its regret, its
changes and its episodes are counted from the log by `manyarms.measures`, its restarts are held against the significant
shifts, and the policy is asked about each of its restarts. ``Explanation.figure`` draws it, ``Explanation.page`` makes
a page of it, ``Explanation.to_json`` has all the numbers. What is drawn is binned; what is counted never is.
"""

import dataclasses
import functools
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...atomic import at_once
from ...contract import ask, begin, tell
from ...engine import LONGEST_RUN, checkpoint_rounds, named_policies, warn_of_other_top
from ...measures import (
    Detections,
    Episodes,
    RegretParts,
    ShiftRule,
    Shifts,
    Variation,
    decomposed_regret,
    detections,
    episodes_of_run,
    realized_variation,
    significant_shifts,
)
from ...policies import Blackbox, Elimination
from ...policies.base import Policy, checked_slots
from ...replication import Job, Run
from ...specs import checked_seed, count
from ...streams import POLICY_STREAM, replication_key, stream_key
from ...tables import Table
from ...trace import COLUMNS, Log
from ...version import __version__
from ...world import World
from ..figures.statistics import number
from ..running.chunks import memory
from ..running.files import BadFile, CellResult, read_result
from ..studies.study import SUFFIX, Cell, Study, study_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANSWERED, MISSED, NO_NEED, FALSE_ALARM = "answered", "missed", "no need", "false alarm"
"""What became of a shift (the first three), and what a restart was (the first and the last)."""

BYTES_A_ROUND = 500
"""What a run takes in memory while it is explained: the log, its measures and their lists; measured, rounded up."""

RESTARTS_WHEN: dict[type[Policy], str] = {
    Elimination: "all arms of a block have been dropped. An arm is dropped when its losses in the block, weighted by "
    "its chance to be played, reach the threshold; beneath each restart stand those of the last arm",
    Blackbox: "the losses of a block reach the threshold, which is more than they should come to if nothing changes; "
    "beneath each restart stands their sum",
}
"""When a policy restarts, in words, for those that can say more than that they did."""


class ShiftVerdict(NamedTuple):
    """What became of a significant shift."""

    round: int
    verdict: str  # ANSWERED, MISSED or NO_NEED
    restart: int | None  # the restart that answered it
    delay: int | None  # after so many rounds
    falls: int  # in the window that it closes, how often a mean fell
    since: int  # the first shift after the restart before it
    until: int  # the next restart, or the end of the run
    regret: float  # from the one to the other, both with them, counted from the rule's top
    allowance: float  # what a safe arm may cost in as many rounds


class RestartVerdict(NamedTuple):
    """What a restart was."""

    round: int  # it came after this one
    verdict: str | None  # ANSWERED or FALSE_ALARM; None where shifts are not known
    shift: int | None  # the shift that it answered
    delay: int | None  # so many rounds ago


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """One run, and what there is to say about it.

    Attributes
    ----------
    cell
        The policy, the world and the horizon, with their names.
    seed, replication
        Which run of it.
    checkpoints, values
        The rounds at which numbers are kept, and for each the numbers of ``manyarms.trace.COLUMNS``.
    log
        Every round.
    variation
        V, V_R, L and L_R after each round.
    episodes
        What each episode cost, and why it ended.
    arms_drawn
        How many arms the policy drew for each episode.
    parts
        Regret as that of the best arm of each block plus what was lost against it.
    shifts, detections
        The significant shifts, and the restarts held against them; None where they are not defined.
    why_no_shifts
        Why, then.
    source
        The name of the result file or of the study that it is from, if it is from one.
    is_checked
        Whether it is from a result file, and has its numbers.
    """

    cell: Cell
    seed: int
    replication: int
    checkpoints: NDArray[np.int64]
    values: NDArray[np.float64]
    log: Log
    variation: Variation
    episodes: Episodes
    arms_drawn: tuple[int, ...]
    parts: RegretParts
    shifts: Shifts | None
    detections: Detections | None
    why_no_shifts: str = ""
    source: str = ""
    is_checked: bool = False

    def __repr__(self) -> str:
        return f"<Explanation of {self.cell.label}, seed {self.seed}, replication {self.replication}: {self.summary()}>"

    # ------------------------------------------------------------ verdicts

    def final(self, column: str) -> float:
        """One of ``manyarms.trace.COLUMNS`` after the last round."""
        return float(self.values[-1, COLUMNS.index(column)])

    @functools.cached_property
    def regret(self) -> NDArray[np.float64]:
        """The regret after each round, summed as in the simulation."""
        return np.cumsum(self.cell.world.top - self.log.mean)

    @property
    def arms_played(self) -> int:
        """How many arms were played at all."""
        return int(np.unique(self.log.arm).size)

    @functools.cached_property
    def shift_verdicts(self) -> list[ShiftVerdict]:
        """What became of each significant shift.

        Shifts that no restart answered are judged together if no restart lies between them. They needed none if, from
        the first of them to the next restart or the end, the policy lost no more than an arm may that is safe: it had
        better arms at hand already.
        """
        if self.shifts is None or self.detections is None:
            return []
        rule = self.shifts.rule
        assert isinstance(rule, ShiftRule)
        allowance = rule.allowance(np.zeros(1), self.cell.horizon)
        regret = np.append(0.0, np.cumsum(rule.top - self.log.mean))
        next_restart = np.searchsorted(self.episodes.restarts, self.shifts.rounds)
        firsts = self.shifts.rounds[np.searchsorted(next_restart, next_restart)]
        ends = np.append(self.episodes.restarts, self.cell.horizon)[next_restart]
        found = []
        falls = self.variation.rotting_changes
        opened = 1
        for detection, since, until in zip(self.detections, firsts.tolist(), ends.tolist(), strict=True):
            cost = float(regret[until] - regret[since - 1])
            allowed = allowance.scale * (until - since + 1) ** allowance.rate
            verdict = NO_NEED if cost <= allowed + 1e-9 else MISSED
            if detection.restart is not None:
                verdict = ANSWERED
            found.append(
                ShiftVerdict(
                    round=detection.shift,
                    verdict=verdict,
                    restart=detection.restart,
                    delay=detection.delay,
                    falls=int(falls[detection.shift - 1] - falls[opened - 1]),
                    since=since,
                    until=until,
                    regret=cost,
                    allowance=allowed,
                )
            )
            opened = detection.shift
        return found

    @functools.cached_property
    def restart_verdicts(self) -> list[RestartVerdict]:
        """What each restart was."""
        if self.detections is None:
            return [RestartVerdict(round, None, None, None) for round in self.episodes.restarts.tolist()]
        answers = {one.restart: one for one in self.detections if one.restart is not None}
        found = []
        for round in self.episodes.restarts.tolist():
            answer = answers.get(round)
            if answer is None:
                found.append(RestartVerdict(round, FALSE_ALARM, None, None))
            else:
                found.append(RestartVerdict(round, ANSWERED, answer.shift, answer.delay))
        return found

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each episode."""
        verdicts = {one.round: one for one in self.restart_verdicts}
        rows = []
        for episode, drawn in zip(self.episodes, self.arms_drawn, strict=True):
            restart = verdicts.get(episode.end) if episode.ended == "restart" else None
            rows.append(
                {
                    "episode": episode.number,
                    "start": episode.start,
                    "end": episode.end,
                    "rounds": episode.rounds,
                    "regret": episode.regret,
                    "V": episode.variation,
                    "V_R": episode.rotting_variation,
                    "L": episode.changes,
                    "L_R": episode.rotting_changes,
                    "arms_drawn": drawn,
                    "arms_played": episode.arms,
                    "blocks": episode.blocks,
                    "ended": episode.ended,
                    "why": episode.why,
                    "note": episode.note,
                    "verdict": restart.verdict if restart else None,
                    "shift": restart.shift if restart else None,
                    "delay": restart.delay if restart else None,
                }
            )
        return rows

    # ------------------------------------------------------------ words

    @property
    def rule(self) -> str:
        """The rule of the significant shifts, with its constants; why there is none, if there is none."""
        return self.why_no_shifts if self.shifts is None else str(self.shifts.rule)

    def summary(self) -> str:
        """What happened, in one short paragraph."""
        return " ".join(_sentences(self))

    # ------------------------------------------------------------ ways out

    def figure(self, *, width: str | float = "page", log: bool = False) -> "Figure":
        """The run as a matplotlib figure, on a common axis of rounds.

        Parameters
        ----------
        width
            ``"column"``, ``"page"`` or inches.
        log
            Whether the axis of rounds is logarithmic.
        """
        from .figure import explained_figure

        return explained_figure(self, width=width, log=log)

    def page(self, command: str = "") -> str:
        """The run as one HTML page that loads nothing; ``command`` is shown as what made it."""
        from .page import explained_page

        return explained_page(self, command)

    def write_page(self, path: str | Path, command: str = "") -> Path:
        """Write the page at once; return its path."""
        path = Path(path)
        page = self.page(command)
        with at_once(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return path

    def to_json(self) -> dict[str, Any]:
        """All numbers, as plain JSON values."""
        totals: dict[str, Any] = {
            name: self.final(name) if name in ("regret", "reward", "V", "V_R") else int(self.final(name))
            for name in COLUMNS
        }
        totals["arms_played"] = self.arms_played
        totals["regret_of_best_arms"] = self.parts.of_best
        totals["regret_to_best_arms"] = self.parts.to_best
        shifts: dict[str, Any] = {"rule": None, "constants": None, "why_none": self.why_no_shifts, "found": []}
        if self.shifts is not None:
            shifts["rule"] = str(self.shifts.rule)
            shifts["constants"] = dataclasses.asdict(self.shifts.rule)
            shifts["found"] = [one._asdict() for one in self.shift_verdicts]
        return {
            "version": __version__,
            "source": self.source,
            "cell": self.cell.to_json(),
            "seed": self.seed,
            "replication": self.replication,
            "summary": self.summary(),
            "totals": totals,
            "checkpoints": {"round": self.checkpoints.tolist()}
            | {name: self.values[:, place].tolist() for place, name in enumerate(COLUMNS)},
            "shifts": shifts,
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
    cell = Cell(
        world_name or ", ".join(part.label() for part in (world.reservoir, world.drift, world.noise)),
        world,
        policy_name or name,
        spec,
        horizon,
    )
    return explained(cell, checkpoint_rounds(None, horizon), seed, replication, **rule)


def explained(
    cell: Cell, checkpoints: NDArray[np.int64], seed: int, replication: int, source: str = "", **rule: Any
) -> Explanation:
    """What there is to say about one replication of a cell; ``rule`` as for ``explain``."""
    seed = checked_seed(seed)
    replication = count("explain", "replication", replication, least=0)
    chosen, why_no_shifts = shift_rule(cell, rule)
    checked_slots(cell.policy.with_horizon(cell.horizon), cell.horizon)
    if BYTES_A_ROUND * cell.horizon > memory():
        raise MemoryError(
            f"explain: {cell.horizon:,} rounds take {BYTES_A_ROUND * cell.horizon / 1e9:,.0f} GB, and this machine has "
            f"{memory() / 1e9:,.0f} GB; explain a shorter run"
        )
    warn_of_other_top(cell.policy_name, cell.policy, cell.world)
    values, log = played(cell, checkpoints, seed, replication)
    run = (log.arm, log.mean, log.next_mean)
    top = cell.world.top
    episodes = episodes_of_run(
        *run, log.episode, blocks=log.block, notes=restart_notes(cell, log, values, seed, replication), top=top
    )
    shifts = None
    if chosen is not None:
        shifts = significant_shifts(*run, blocks=log.block if chosen.get("order") == "block" else None, **chosen)
    return Explanation(
        cell=cell,
        seed=seed,
        replication=replication,
        checkpoints=checkpoints,
        values=values,
        log=log,
        variation=realized_variation(*run),
        episodes=episodes,
        arms_drawn=arms_drawn(cell, episodes, seed, replication),
        parts=decomposed_regret(*run, log.block, top=top),
        shifts=shifts,
        detections=None if shifts is None else detections(shifts, episodes.restarts),
        why_no_shifts=why_no_shifts,
        source=source,
    )


def shift_rule(cell: Cell, given: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The options of ``significant_shifts`` for a cell; None, and why, where no tail exponent is known."""
    known = {field.name for field in dataclasses.fields(ShiftRule)} - {"horizon"}
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
            "give one as beta." + (f" Without it, {_listed(unused)} had no effect." if unused else "")
        )
    ShiftRule(**options, horizon=cell.horizon)  # what is wrong with them is said before anything is played
    return options, ""


# ---------------------------------------------------------------- the run, again


def played(cell: Cell, checkpoints: NDArray[np.int64], seed: int, replication: int) -> tuple[NDArray[np.float64], Log]:
    """One replication: its numbers at the checkpoints, and its log."""
    job = Job(cell.world, cell.horizon, 1, seed, checkpoints, log=True, first=replication)
    run = Run(cell.policy, job)
    run.play(0, 1)
    return run.out[0], run.logs[0]


def arms_drawn(cell: Cell, episodes: Episodes, seed: int, replication: int) -> tuple[int, ...]:
    """How many arms were drawn for each episode.

    A restart draws the first arms of the episode that it opens. So what an episode drew was drawn before its last
    round, unless that is the last one of the run.
    """
    ends = [episode.end - (1 if episode.ended == "restart" else 0) for episode in episodes]
    rounds = np.unique(np.array([*ends, cell.horizon]))
    values, _ = played(cell, rounds[rounds > 0], seed, replication)
    drawn = dict(zip(rounds[rounds > 0].tolist(), values[:, COLUMNS.index("arms")].astype(int).tolist(), strict=True))
    before = 0
    found = []
    for end in ends:
        total = drawn.get(end, 0)
        found.append(total - before)
        before = total
    return tuple(found)


def restart_notes(
    cell: Cell, log: Log, values: NDArray[np.float64], seed: int, replication: int
) -> list[dict[str, Any]]:
    """What the policy says about each of its restarts, or only where they were.

    The policy is told the rewards of the log once more, as a live one would be, and asked after each restart. One that
    does not choose the arms of the log (it has seen more than rewards) is not asked any further.
    """
    restarts = (np.flatnonzero(np.diff(log.episode)) + 1).tolist()
    if values[-1, COLUMNS.index("restarts")] > len(restarts):
        restarts.append(cell.horizon)  # a log has no round of the episode that it opened
    notes: list[dict[str, Any]] = [{"round": round} for round in restarts]
    spec = cell.policy.with_horizon(cell.horizon)
    if not restarts or spec.sees_means or type(spec).explain is Policy.explain:
        return notes
    key = stream_key(replication_key(seed, replication), POLICY_STREAM, spec.digest())
    state = begin(spec.start(cell.horizon), np.uint64(key))
    arms, rewards = log.arm.tolist(), log.reward.tolist()
    first = 0
    for place, restart in enumerate(restarts):
        for entry in range(first, restart):
            choice = ask(state, entry + 1, 0)
            if choice.arm != arms[entry]:
                return notes
            state = tell(state, choice, rewards[entry])
        first = restart
        note = spec.explain(state).get("last_restart")
        if isinstance(note, dict) and note.get("round") == restart:
            notes[place] = note
    return notes


# ---------------------------------------------------------------- which run


def is_result_file(name: str) -> bool:
    """Whether a name on the command line is meant as a result file, not as a study."""
    if name in study_names() or name.endswith(SUFFIX):
        return False
    return name.endswith(".parquet") or Path(name).exists()


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
    if path.is_dir():
        there = sorted(path.glob("**/*.parquet"))
        hint = f"such as {there[0]}" if there else "but there is none"
        raise BadFile(f"{path} is a folder; name one of the result files in it, {hint}")
    if not path.exists():
        raise FileNotFoundError(f"there is no result file {str(path)!r}; manyarms run makes some, in …/cells")
    check_columns(path)
    result = read_result(path)
    replication = count("explain", "replication", replication, least=0)
    last = result.first + len(result.values) - 1
    if not result.first <= replication <= last:
        raise ValueError(
            f"{path} has no replication {replication}; it has those from {result.first} to {last}, choose one of them"
        )
    found = explained(result.cell, result.rounds, result.study.seed, replication, path.name, **rule)
    check_same_run(path, result, found)
    return dataclasses.replace(found, is_checked=True)


def check_columns(path: Path) -> None:
    """An error if a file has not all the columns of a result."""
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError, ValueError):
        raise BadFile(f"{path} is not a result file: it is no Parquet; a study's file must end in {SUFFIX}") from None
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise BadFile(f"{path} is not a result of manyarms: it has no column {missing[0]!r}; run its study again")


def check_same_run(path: Path, result: CellResult, found: Explanation) -> None:
    """An error unless the replayed run has the numbers of the file, to the bit."""
    saved = result.values[found.replication - result.first]
    if np.array_equal(saved, found.values):
        return
    checkpoint, column = np.argwhere(saved != found.values)[0]
    raise BadFile(
        f"{path}: replayed, replication {found.replication} is another run: after round "
        f"{result.rounds[checkpoint]:,} its {COLUMNS[column]} is {float(found.values[checkpoint, column])!r} where the "
        f"file has {float(saved[checkpoint, column])!r}. The file was made by manyarms {result.version}, sources "
        f"{result.sources}; run its study again with this version"
    )


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
    replication = count("explain", "replication", replication, least=0)
    if replication >= study.replications:
        raise ValueError(
            f"study {study.name} has no replication {replication}; it has those from 0 to {study.replications - 1}, "
            "choose one of them"
        )
    return explained(chosen, study.rounds_kept(chosen), study.seed, replication, study.name, **rule)


def chosen_cell(study: Study, cell: str | int | None) -> int:
    """The place of the cell that is meant by a number or by words of its label."""
    labels = [one.label for one in study.cells]
    listed = "\n".join(f"  {place}  {label}" for place, label in enumerate(labels))
    if cell is None:
        if len(labels) == 1:
            return 0
        raise ValueError(f"study {study.name} has {len(labels)} cells; choose one by number or words:\n{listed}")
    words = str(cell).strip()
    if words.isdecimal() and words.isascii():
        if int(words) < len(labels):
            return int(words)
        raise ValueError(f"study {study.name} has no cell {words}; choose one of these:\n{listed}")
    wanted = words.lower()
    full = [place for place, one in enumerate(study.cells) if wanted in [name.lower() for name in _names(one)]]
    matches = full or [place for place, label in enumerate(labels) if wanted in label.lower()]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ValueError(f"study {study.name} has no cell {words!r}; choose one of these:\n{listed}")
    meant = "\n".join(f"  {place}  {labels[place]}" for place in matches)
    raise ValueError(f"{words!r} may mean {len(matches)} cells of study {study.name}; choose one by number:\n{meant}")


def _names(cell: Cell) -> tuple[str, ...]:
    """What a cell may be called in full, and what its policy and its world may."""
    return cell.label, f"{cell.policy_name}, {cell.world_name}", cell.policy_name, cell.world_name


# ---------------------------------------------------------------- words


def _sentences(found: Explanation) -> Iterator[str]:
    restarts = found.restart_verdicts
    restarted = f"restarted {times(len(restarts))}" if restarts else "never restarted"
    regret = number(found.final("regret"))
    yield f"{found.cell.policy_name} {restarted} in {many(found.cell.horizon, 'round')}; its regret came to {regret}."
    if found.shifts is None:
        yield found.why_no_shifts
    else:
        yield from _restarts_in_words(restarts)
        yield from _shifts_in_words(found)
    changes, falls = int(found.final("L")), int(found.final("L_R"))
    if not changes:
        yield "No mean of an arm that was played ever changed."
    else:
        fell = f"{falls:,} of these changes were falls, by {number(found.final('V_R'))}"
        fell = {0: "it never fell", changes: "it always fell"}.get(falls, fell)
        yield f"The mean of a played arm changed {times(changes)}, by {number(found.final('V'))} in all; {fell}."
    needless = sum(one.ended == "restart" and one.rotting_changes == 0 for one in found.episodes)
    if needless:
        yield f"{many(needless, 'restart')} ended an episode in which no mean had fallen."


def _restarts_in_words(restarts: Sequence[RestartVerdict]) -> Iterator[str]:
    if not restarts:
        return
    delays = [one.delay for one in restarts if one.delay is not None]
    false = len(restarts) - len(delays)
    if len(restarts) == 1:
        answered = f"The restart answered a significant shift, {delayed(delays)}." if delays else ""
        yield answered or "The restart was a false alarm: no significant shift had come before it."
    elif not delays:
        yield "All restarts were false alarms: no significant shift had come before them."
    else:
        text = f"{'All' if not false else f'{len(delays):,}'} of the restarts answered a significant shift, "
        text += delayed(delays)
        if false:
            text += f"; {false:,} {'was a false alarm' if false == 1 else 'were false alarms'}"
        yield f"{text}."


def _shifts_in_words(found: Explanation) -> Iterator[str]:
    assert isinstance(found.shifts, Shifts)
    assert isinstance(found.shifts.rule, ShiftRule)
    rule = f"the {found.shifts.rule.preset} rule"
    verdicts = found.shift_verdicts
    if not verdicts:
        yield f"By {rule} there was no significant shift."
        return
    words = {ANSWERED: "answered by a restart", NO_NEED: "in no need of a restart", MISSED: "missed"}
    became = {text: sum(one.verdict == verdict for one in verdicts) for verdict, text in words.items()}
    parts = [f"{number_of:,} {text}" for text, number_of in became.items() if number_of]
    shifts = f"{'was' if len(verdicts) == 1 else 'were'} {many(len(verdicts), 'significant shift')}"
    if len(parts) == 1:
        all_of_them = {1: "", 2: "both "}.get(len(verdicts), "all ")
        yield f"By {rule} there {shifts}, {all_of_them}{words[verdicts[0].verdict]}."
    else:
        yield f"By {rule} there {shifts}: {_listed(parts)}."
    yield from _falls_in_words([one.falls for one in verdicts])
    top, best = found.shifts.rule.top, found.cell.world.reservoir.top
    if top > best:
        yield (
            f"The rule counts gaps from top={top:g}, but no arm begins above {best:g}: no kappa holds there, and "
            f"shifts come without a change; give the rule top={best:g}."
        )


def _falls_in_words(falls: Sequence[int]) -> Iterator[str]:
    """Before how many shifts no mean had fallen, ever or since the shift before."""
    early = next((place for place, fallen in enumerate(falls) if fallen), len(falls))
    if early:
        first = "the first of them" if early == 1 else f"the first {early:,} of them"
        if early == len(falls):
            first = "it" if early == 1 else "any of them"
        yield f"No mean had fallen before {first}: the rule saw a poor sample of arms there, not a fall."
    later = sum(fallen == 0 for fallen in falls) - early
    if later:
        which = many(later, "other") if early else f"{later:,} of them"
        yield f"For {which}, no mean had fallen since the shift before."


def delayed(delays: Sequence[int]) -> str:
    """After how many rounds."""
    ordered = sorted(delays)
    if ordered[0] == ordered[-1]:
        each = " each" if len(ordered) > 1 else ""
        return f"after {many(ordered[0], 'round')}{each}" if ordered[0] else "in the same round"
    if len(delays) <= 3:
        return f"after {_listed([f'{delay:,}' for delay in delays])} rounds"
    middle = ordered[(len(ordered) - 1) // 2]
    half = f"within {middle:,}" if middle else "in the same round"
    return f"after {ordered[0]:,} to {ordered[-1]:,} rounds (half of them {half})"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def many(number_of: int, what: str) -> str:
    """So many of them.

    Examples
    --------
    >>> many(1, "round"), many(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{number_of:,} {what}{'' if number_of == 1 else 's'}"


def times(many: int) -> str:
    """How often."""
    return {0: "never", 1: "once", 2: "twice"}.get(many, f"{many:,} times")


MOST_PRINTED = 40
"""So many episodes are printed on a terminal."""


def printed(found: Explanation) -> str:
    """The words and the episodes, for a terminal."""
    text = textwrap.fill(found.summary(), 100) + f"\n\n{episode_table(found)}"
    if len(found.episodes) > MOST_PRINTED:
        text += f"\n\nThe {MOST_PRINTED} of {len(found.episodes):,} episodes with the most regret; --json has all"
    text += _whys(found)
    rule = textwrap.fill(f"Significant shifts: {found.rule}", 100) if found.shifts is not None else ""
    return f"{text}\n\n{rule}".rstrip()


def _whys(found: Explanation) -> str:
    """What the policy says about the restarts of the table."""
    lines = ["\n\nWhy it restarted, by episode:"]
    for row in costliest(found.rows(), MOST_PRINTED):
        _, _, said = row["why"].partition(": ")
        if said and row["ended"] == "restart":
            lines.append(textwrap.fill(f"{row['episode']:>7,}  {said}", 100, subsequent_indent=" " * 9))
    return "\n".join(lines) if len(lines) > 1 else ""


def episode_table(found: Explanation) -> Table:
    """The episodes as a table; the costliest ones, in order, if there are many."""
    rows = []
    for row in costliest(found.rows(), MOST_PRINTED):
        ended = row["ended"] if row["verdict"] is None else row["verdict"]
        if row["delay"] is not None:
            ended = f"answer to the shift in round {row['shift']:,}, {delayed([row['delay']])}"
        shown = ("episode", "start", "rounds", "regret", "V", "V_R", "L", "L_R")
        rows.append({name: row[name] for name in shown} | {"arms drawn": row["arms_drawn"], "ended": ended})
    return Table(rows)


def costliest(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The rows with the most regret, in their order."""
    places = sorted(range(len(rows)), key=lambda place: -rows[place]["regret"])[:most]
    return [rows[place] for place in sorted(places)]
