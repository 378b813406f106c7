"""The page of a run: one HTML file that loads nothing, with the words first, then the picture, then the tables.

It depends on the run and on the command that is shown, and on nothing else.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...trace import COLUMNS
from ...version import __version__
from ..figures.statistics import number
from ..pages.html import asset, drawn_page, filled, short, spec_text, table, table_of, text
from .account import ANSWERED, FALSE_ALARM, MISSED, NO_NEED, Account, RestartVerdict, ShiftVerdict
from .drawing import JUMP, MEAN_BINS, MEAN_TICKS, MOST_RULES, Drawing, Marks, Shades, drawing, lines_in_words
from .words import costliest, delayed, many, summary

MOST_ROWS = 200  # of episodes, and of shifts, in the tables; the JSON has all
DARKNESSES = 20  # steps in which shades are drawn: a path each
BECAME = {ANSWERED: "answered", MISSED: "missed", NO_NEED: "no restart needed"}  # of a shift, by verdict

SIGNS = {None: "full", ANSWERED: "full", FALSE_ALARM: "open", MISSED: "open", NO_NEED: "dot"}
"""By verdict, how a restart's triangle or a shift's diamond looks; None: it is not judged."""

KEYS = (
    ("restarts", ANSWERED, "restart that answers a shift"),
    ("restarts", FALSE_ALARM, "false alarm"),
    ("shifts", ANSWERED, "shift, answered"),
    ("shifts", MISSED, "shift, missed"),
    ("shifts", NO_NEED, "shift, no restart needed"),
)
"""What the signs say, where they occur."""


def page(found: Account, command: str = "") -> str:
    """The run as one HTML page that loads nothing; ``command`` is shown as what made it."""
    drawn = drawing(found)
    cell = found.cell
    title = f"{cell.policy_name} in “{cell.world_name}”"
    parts = {name: number(found.final(name)) for name in COLUMNS} | {
        "title": text(title),
        "version": text(__version__),
        "horizon": f"{cell.horizon:,}",
        "seed": str(found.seed),
        "replication": f"{found.replication:,}",
        "found_shifts": "–" if found.shifts is None else number(len(found.shifts)),
        "arms_played": number(found.arms_played),
        "summary": text(summary(found)),
        "rule": "" if found.shifts is None else text(found.rule),
        "why_no_shifts": text(found.why_no_shifts),
        "lines": text(lines_in_words(drawn)),
        "ground": "" if drawn.restarts.is_thinned else "Every other episode stands on a darker ground.",
        "thinned": _thinned(drawn),
        "kind": text(type(cell.policy).__name__),
        "restarts_when": text(cell.policy.restarts_when),
        "episodes": _episodes(found),
        "shifts": _shifts(found),
        "command": text(command),
        "file": text(found.source) if found.is_checked else "",
        "study": text(found.source) if not found.is_checked else "",
        "policy": text(cell.policy_name),
        "policy_spec": spec_text(cell.policy),
        "world": text(cell.world_name),
        "world_spec": spec_text(cell.world),
    }
    body = filled(asset("explain.html", "explain"), parts)
    style = asset("report.css") + asset("explain.css", "explain")
    return drawn_page(title, body, style, asset("explain.js", "explain"), page_data(found, drawn))


# ---------------------------------------------------------------- what the script draws


def page_data(found: Account, drawn: Drawing) -> dict[str, Any]:
    """The numbers of the charts, six digits each."""
    return {
        "horizon": found.cell.horizon,
        "top": found.cell.world.top,
        "rounds": drawn.rounds.tolist(),
        "episodes": np.searchsorted(found.episodes.restarts, drawn.rounds).tolist(),
        "curves": {name: short(curve) for name, curve in drawn.curves.items()},
        "lines": [
            {
                "arm": line.arm,
                "plays": line.plays,
                "last": line.is_last,
                "x": line.rounds.tolist(),
                "y": [round(mean, 4) for mean in line.means.tolist()],
            }
            for line in drawn.lines
        ],
        "meanTicks": MEAN_TICKS,
        "jump": JUMP,
        "mostRules": MOST_RULES,
        "signs": SIGNS,
        "keys": KEYS,
        "shades": {"bins": MEAN_BINS, "linear": _shades(drawn.linear), "log": _shades(drawn.log)},
        "blocks": _marks(drawn.blocks),
        "restarts": _judged_marks(drawn.restarts, found.restart_verdicts, _restart_in_words),
        "shifts": None if found.shifts is None else _judged_marks(drawn.shifts, found.shift_verdicts, _shift_in_words),
    }


def _shades(shades: Shades) -> dict[str, Any]:
    """For each step of darkness, the places in the grid that have it."""
    steps = np.ceil(np.minimum(shades.darkness, 1.0) * DARKNESSES).astype(int).ravel()
    return {
        "edges": shades.edges.tolist(),
        "steps": [np.flatnonzero(steps == step).tolist() for step in range(1, DARKNESSES + 1)],
    }


def _marks(marks: Marks) -> dict[str, Any]:
    return {"total": marks.total, "rounds": marks.rounds.tolist()}


def _judged_marks(marks: Marks, verdicts: Sequence[Any], in_words: Callable[[Any], str]) -> dict[str, Any]:
    drawn = [verdicts[place] for place in marks.places.tolist()]
    return _marks(marks) | {"verdicts": [one.verdict for one in drawn], "words": [in_words(one) for one in drawn]}


def _restart_in_words(restart: RestartVerdict) -> str:
    words = f"Restart after round {restart.round:,}"
    if restart.verdict == FALSE_ALARM:
        return f"{words}: false alarm, no new shift since the one before"
    if restart.verdict == ANSWERED:
        return f"{words}, {_after(restart.delay)} the shift in round {restart.shift:,}"
    return words


def _shift_in_words(shift: ShiftVerdict) -> str:
    words = f"Significant shift in round {shift.round:,}: {BECAME[shift.verdict]}"
    return words if shift.delay is None else f"{words} {delayed([shift.delay])}"


def _after(delay: int | None) -> str:
    return "in the same round as" if not delay else f"{many(delay, 'round')} after"


def _thinned(drawn: Drawing) -> str:
    """Of which marks not all are drawn."""
    thinned = [
        f"{len(marks.rounds):,} of {many(marks.total, name)}"
        for name, marks in (("block", drawn.blocks), ("restart", drawn.restarts), ("shift", drawn.shifts))
        if marks.is_thinned
    ]
    return ", ".join(thinned)


# ---------------------------------------------------------------- words and tables


def _episodes(found: Account) -> str:
    rows = found.rows()
    shown = costliest(rows, MOST_ROWS)
    head = [
        "Episode", "Rounds", "How it ended", "Length", "Regret", "V", "V<sub>R</sub>", "L", "L<sub>R</sub>",
        "Arms drawn", "Blocks",
    ]  # fmt: skip
    names = ("rounds", "regret", "V", "V_R", "L", "L_R", "arms_drawn", "blocks")
    lines = [
        [
            number(row["episode"]),
            f"{row['start']:,}–{row['end']:,}",
            _ended(row),
            *(number(row[name]) for name in names),
        ]
        for row in shown
    ]
    caption = "Every episode, from its first round to the one after which the policy restarted."
    if len(shown) < len(rows):
        regret = sum(row["regret"] for row in rows) - sum(row["regret"] for row in shown)
        caption = (
            f"The {len(shown):,} episodes with the most regret, of {len(rows):,}; the others have a regret of "
            f"{number(regret)} in all. manyarms explain --json has every one."
        )
    return table(head, lines, caption, [name == "How it ended" for name in head])


def _ended(row: dict[str, Any]) -> str:
    """How an episode ended, what the restart was, and what the policy says."""
    if row["ended"] == "horizon":
        return '<span class="verdict">end of the run</span>'
    words = row["verdict"] or "restart"
    if row["verdict"] == ANSWERED:
        words = f"restart, {_after(row['delay'])} the shift in round {row['shift']:,}"
    if row["L_R"] == 0:
        words += "; no mean had fallen"
    _, _, said = row["why"].partition(": ")
    note = f"<small>{text(said)}</small>" if said else ""
    return _judged("restart", row["verdict"], words) + note


def _judged(kind: str, verdict: str | None, words: str) -> str:
    """A verdict in words, behind its sign."""
    shape = f'viewBox="-7 -7 14 14" aria-hidden="true"><use href="#{kind}"/></svg>'
    return f'<span class="verdict"><svg class="sign {kind} {SIGNS[verdict]}" {shape}{words}</span>'


def _shifts(found: Account) -> str:
    verdicts = found.shift_verdicts
    if not verdicts:
        return ""
    rows = [
        {
            "Round": f"{one.round:,}",
            "What became of it": _judged("shift", one.verdict, BECAME[one.verdict]),
            "Restart after round": "–" if one.restart is None else f"{one.restart:,}",
            "Delay": "–" if one.delay is None else f"{one.delay:,}",
            "Falls in its window": number(one.falls),
            "Judged by rounds": f"{one.since:,}–{one.until:,}",
            "Regret in them": number(one.regret),
            "A safe arm’s": number(one.allowance),
        }
        for one in verdicts[:MOST_ROWS]
    ]
    caption = (
        "A shift that no restart answered needed none if the regret in the rounds it is judged by is at most what an "
        "arm may cost that is safe. They go from the first shift after a restart to the next restart, or the end; "
        "regret is counted from the rule’s top. A shift’s window goes from the shift before, or the first round, to it."
    )
    if len(verdicts) > MOST_ROWS:
        caption = f"The first {MOST_ROWS:,} of {len(verdicts):,}. {caption} manyarms explain --json has every one."
    return table_of(rows, caption, texts=["What became of it"])
