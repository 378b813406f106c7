"""A run in words: the paragraph that says what happened, and the table and the whys for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from ...measures import ShiftRule, Shifts
from ...tables import Table
from ...world import why_negative
from ..figures.statistics import number
from .account import ANSWERED, MISSED, NO_NEED, Account, RestartVerdict


def summary(found: Account) -> str:
    """What happened, in one short paragraph."""
    return " ".join(sentences(found))


def sentences(found: Account) -> Iterator[str]:
    """What happened, sentence by sentence."""
    restarts = found.restart_verdicts
    restarted = f"restarted {times(len(restarts))}" if restarts else "never restarted"
    regret = number(found.final("regret"))
    yield f"{found.cell.policy_name} {restarted} in {many(found.cell.horizon, 'round')}; its regret came to {regret}."
    negative = why_negative([("", found.cell.world)])
    if negative:
        yield f"Take care: {negative}."
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
    if "in_words" in found.belief:
        yield f"What it knows in the end: {found.belief['in_words']}"


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


def _shifts_in_words(found: Account) -> Iterator[str]:
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
        yield f"By {rule} there {shifts}: {listed(parts)}."
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
        return f"after {listed([f'{delay:,}' for delay in delays])} rounds"
    middle = ordered[(len(ordered) - 1) // 2]
    half = f"within {middle:,}" if middle else "in the same round"
    return f"after {ordered[0]:,} to {ordered[-1]:,} rounds (half of them {half})"


def listed(parts: Sequence[str]) -> str:
    """A few things in one sentence."""
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


def printed(found: Account) -> str:
    """The words and the episodes, for a terminal."""
    text = textwrap.fill(summary(found), 100) + f"\n\n{episode_table(found)}"
    if len(found.episodes) > MOST_PRINTED:
        text += f"\n\nThe {MOST_PRINTED} of {len(found.episodes):,} episodes with the most regret; --json has all"
    text += _whys(found)
    rule = textwrap.fill(f"Significant shifts: {found.rule}", 100) if found.shifts is not None else ""
    return f"{text}\n\n{rule}".rstrip()


def _whys(found: Account) -> str:
    """What the policy says about the restarts of the table."""
    lines = ["\n\nWhy it restarted, by episode:"]
    for row in costliest(found.rows(), MOST_PRINTED):
        _, _, said = row["why"].partition(": ")
        if said and row["ended"] == "restart":
            lines.append(textwrap.fill(f"{row['episode']:>7,}  {said}", 100, subsequent_indent=" " * 9))
    return "\n".join(lines) if len(lines) > 1 else ""


def episode_table(found: Account) -> Table:
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
