"""The account of one run: what was played, what the measures say about it, and what its restarts and shifts were.

Words, pictures and pages are made from it; it knows of none of them.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...measures import Detections, Episodes, RegretParts, ShiftRule, Shifts, Variation
from ...trace import COLUMNS, Log
from ..studies.study import Cell

ANSWERED, MISSED, NO_NEED, FALSE_ALARM = "answered", "missed", "no need", "false alarm"
"""What became of a shift (the first three), and what a restart was (the first and the last)."""


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
    verdict: str | None = None  # ANSWERED or FALSE_ALARM; None where shifts are not known
    shift: int | None = None  # the shift that it answered
    delay: int | None = None  # so many rounds ago


@dataclasses.dataclass(frozen=True, eq=False)
class Account:
    """One run, and what there is to say about it."""

    cell: Cell  # the policy, the world and the horizon, with their names
    seed: int
    replication: int
    checkpoints: NDArray[np.int64]  # the rounds at which numbers are kept
    values: NDArray[np.float64]  # for each of them, the numbers of ``manyarms.trace.COLUMNS``
    log: Log  # every round
    belief: dict[str, Any]  # where the policy stands in the end, as it says
    variation: Variation  # V, V_R, L and L_R after each round
    episodes: Episodes  # what each cost, and why it ended
    parts: RegretParts  # regret as that of the best arm of each block plus what was lost against it
    shifts: Shifts | None  # the significant ones; None where they are not defined
    detections: Detections | None  # the restarts held against them
    why_no_shifts: str = ""
    source: str = ""  # the name of the result file or of the study that it is from, if it is from one
    is_checked: bool = False  # whether it is from a result file, and has its numbers

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

    @property
    def arms_drawn(self) -> list[int]:
        """How many arms the policy drew for each episode.

        A restart draws the first arms of the episode that it opens. So what an episode drew was drawn before its last
        round, unless that is the last one of the run.
        """
        ends = [episode.end - (1 if episode.ended == "restart" else 0) for episode in self.episodes]
        return list(np.diff(np.append(0, self.log.drawn)[ends], prepend=0).tolist())

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
        falls = np.diff(self.variation.rotting_changes[np.append(1, self.shifts.rounds) - 1])
        found = []
        for one, since, until, fell in zip(
            self.detections, firsts.tolist(), ends.tolist(), falls.tolist(), strict=True
        ):
            cost = float(regret[until] - regret[since - 1])
            allowed = allowance.scale * (until - since + 1) ** allowance.rate
            unanswered = NO_NEED if cost <= allowed + 1e-9 else MISSED
            verdict = unanswered if one.restart is None else ANSWERED
            found.append(ShiftVerdict(one.shift, verdict, one.restart, one.delay, fell, since, until, cost, allowed))
        return found

    @functools.cached_property
    def restart_verdicts(self) -> list[RestartVerdict]:
        """What each restart was."""
        unanswering = None if self.detections is None else FALSE_ALARM
        found = {round: RestartVerdict(round, unanswering) for round in self.episodes.restarts.tolist()}
        for one in self.detections or ():
            if one.restart is not None:
                found[one.restart] = RestartVerdict(one.restart, ANSWERED, one.shift, one.delay)
        return list(found.values())

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each episode."""
        words = self.cell.policy.restart_in_words
        restarts = [*self.restart_verdicts, RestartVerdict(self.cell.horizon)]  # if the last one ends with the run
        return [
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
                "why": episode.why_in(words),
                "note": episode.note,
                "verdict": restart.verdict,
                "shift": restart.shift,
                "delay": restart.delay,
            }
            for episode, drawn, restart in zip(self.episodes, self.arms_drawn, restarts, strict=False)
        ]

    @property
    def rule(self) -> str:
        """The rule of the significant shifts, with its constants; why there is none, if there is none."""
        return self.why_no_shifts if self.shifts is None else str(self.shifts.rule)
