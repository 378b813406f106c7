"""Significant shifts: the rounds at which even the safest arm a policy knows has become too bad.

A round is a significant shift if, since the last one, every candidate has lost too much on some interval. Candidates
are the first n^(beta / (beta + 1)) arms sampled in a window of n rounds; too much is more than n^(beta / (beta + 1)) /
kappa on an interval of n rounds, counted in gaps. The number of shifts in T rounds enters the regret bound of
``Elimination``.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Definition 3, a significant shift;
for finitely many arms, Suk & Kpotufe, "Tracking Most Significant Arm Switches in Bandits" (2022).

Symbols: tau_i -> the rounds of the shifts; kappa_1 -> kappa; mu_t(a_t) -> means; mu_(t+1)(a_t) -> next_means.

Deviations: none with the preset ``"literal"``. The definition leaves some things open; each is an option of
``ShiftRule``, and docs/significant-shifts.md tells what it changes.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..specs import whole
from ..states import empty, grown, mapped
from .entries import Entries
from .inputs import Floats, Ints, Log, check_rounds, checked_log, unit_numbers, whole_numbers
from .rules import FiniteShiftRule, ShiftRule
from .safety import TOLERANCE, Allowance, Starts
from .windows import Evidence, Window, finite_loop, log_loop, new_room, safe_loop, slot_loop, table_loop


class Witness(NamedTuple):
    """An arm, and an interval on which its gaps sum up to too much: the one that ends first."""

    arm: int
    start: int  # the interval's first round
    end: int  # and its last


class Shift(NamedTuple):
    """One significant shift."""

    round: int
    opened: int  # the first round of the window that it closes: the shift before it, or 1
    witnesses: tuple[Witness, ...]  # every candidate of that window


@dataclasses.dataclass(frozen=True, eq=False)
class Shifts(Entries[Shift]):
    """The significant shifts of a run; a sequence of ``Shift``. A slice is a tuple of them.

    Attributes
    ----------
    rule
        What counted as one.
    horizon
        How many rounds were looked at.
    rounds
        The rounds of the shifts, counted from 1.
    """

    _noun = "shift"
    rule: ShiftRule | FiniteShiftRule
    horizon: int
    rounds: Ints
    _evidence: Evidence = dataclasses.field(repr=False)
    _arm_of_slot: Ints = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return int(self.rounds.size)

    def _entry(self, number: int) -> Shift:
        opened = int(self.rounds[number - 1]) if number else 1
        return shift_of(self._evidence, number, opened, self._arm_of_slot)

    def __repr__(self) -> str:
        shown = ", ".join(f"{round:,}" for round in self.rounds[:8].tolist()) + (", …" if len(self) > 8 else "")
        count = f"{len(self):,} significant shift{'' if len(self) == 1 else 's'} in {self.horizon:,} rounds"
        return f"<{count}{': ' if shown else ''}{shown} ({self.rule})>"


def shift_of(evidence: Evidence, number: int, opened: int, arm_of_slot: Sequence[int] | Ints) -> Shift:
    """The shift with that number, which closed the window that opened then."""
    first = evidence.last_row[number - 1] if number else 0
    rows = slice(first, evidence.last_row[number])
    columns = (column[rows].tolist() for column in (evidence.slot, evidence.start, evidence.end))
    return Shift(
        round=int(evidence.shift[number]),
        opened=opened,
        witnesses=tuple(Witness(int(arm_of_slot[slot]), *rest) for slot, *rest in zip(*columns, strict=True)),
    )


def shifts_of_evidence(
    rule: ShiftRule | FiniteShiftRule, horizon: int, evidence: Evidence, shifts: int, arm_of_slot: Ints
) -> Shifts:
    """The shifts that the kernels wrote down."""
    rows = int(evidence.last_row[shifts - 1]) if shifts else 0
    kept = mapped(lambda column: column[: max(rows, shifts)].copy(), evidence)
    return Shifts(rule, horizon, kept.shift[:shifts], kept, arm_of_slot)


def significant_shifts(
    arms: ArrayLike,
    means: ArrayLike,
    next_means: ArrayLike,
    beta: float,
    kappa: float = 1.0,
    threshold_scale: float | None = None,
    budget_scale: float | None = None,
    order: str = "window",
    *,
    preset: str = "literal",
    rounding: str = "down",
    past: str = "first",
    top: float = 1.0,
    blocks: ArrayLike | None = None,
) -> Shifts:
    """The significant shifts of a run, in O(T log T) for T rounds.

    Parameters
    ----------
    arms
        The arm played in each round, as whole numbers.
    means
        Its mean when it was played.
    next_means
        The mean of the same arm at the next round, played or not.
    beta, kappa, threshold_scale, budget_scale, order, preset, rounding, past, top
        As for ``ShiftRule``.
    blocks
        The block of each round, for ``order="block"``.

    Examples
    --------
    An arm whose mean falls from 1 to 0 after its fifth play, and a policy that does not care:

    >>> from manyarms.measures import significant_shifts
    >>> means = [1.0] * 5 + [0.0] * 3
    >>> shifts = significant_shifts(arms=[7] * 8, means=means, next_means=means[1:] + [0.0], beta=1.0)
    >>> shifts.rounds
    array([7, 8])
    >>> shifts[0]
    Shift(round=7, opened=1, witnesses=(Witness(arm=7, start=6, end=7),))
    """
    log = checked_log(arms, means, next_means)
    rounds = log.arms.size
    scales = preset, threshold_scale, budget_scale
    rule = ShiftRule(beta, kappa, *scales, order, rounding, past, top, horizon=max(rounds, 1))
    block = checked_blocks(rule, blocks, rounds)
    log, arm_of_slot = numbered(log)
    allowance = filled(rule.allowance(np.zeros(rounds + 1), rounds))
    terms = rule.terms(allowance)
    room = new_room(rounds, arm_of_slot.size, 2 * rounds + 2 * arm_of_slot.size + 2)
    place, window = 0, Window()
    while place < rounds:
        place, window = log_loop(terms, room, window, rule.top, log, block, place)
        if place < rounds:
            room = room._replace(evidence=grown(room.evidence, 2 * room.evidence.slot.size))
    return shifts_of_evidence(rule, rounds, room.evidence, window.shifts, arm_of_slot)


def first_unsafe_round(
    arms: ArrayLike,
    means: ArrayLike,
    next_means: ArrayLike,
    arm: int,
    start: int,
    beta: float,
    kappa: float = 1.0,
    threshold_scale: float | None = None,
    *,
    preset: str = "literal",
    past: str = "first",
    top: float = 1.0,
) -> int | None:
    """The round at which an arm stops being safe in a window that opens with ``start``; None if it does not.

    It is the first round t such that the gaps of the arm sum up to too much on some interval from ``start`` to t.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``.
    arm
        One of the arms that were played.
    start
        The window's first round, counted from 1.
    beta, kappa, threshold_scale, preset, past, top
        As for ``ShiftRule``.

    Examples
    --------
    A constant gap of 1/4 sums up to more than the square root of the number of rounds after 16 of them:

    >>> from manyarms.measures import first_unsafe_round
    >>> means = [0.75] * 40
    >>> first_unsafe_round([0] * 40, means, means, arm=0, start=1, beta=1.0)
    17
    """
    owner = "first_unsafe_round"
    log = checked_log(arms, means, next_means)
    rounds = log.arms.size
    if not rounds:
        raise ValueError(f"{owner}: arms is empty; give a run of at least one round")
    start = whole(owner, "start", start, 1, rounds)
    places = np.flatnonzero(log.arms == whole(owner, "arm", arm))
    if not places.size:
        raise ValueError(f"{owner}: arm {arm} was never played; ask about one of those in arms")
    rule = ShiftRule(beta, kappa, preset, threshold_scale, past=past, top=top, horizon=rounds)
    length = rounds - start + 1
    allowance = filled(rule.allowance(np.zeros(length + 1), rounds))
    return int(safe_loop(allowance, empty(Starts, length + 1), gaps_of_arm(rule, places, log), start)) or None


def gaps_of_arm(rule: ShiftRule, places: Ints, log: Log) -> Floats:
    """The gap in each round of a run of an arm that was played at these places: a table with one row."""
    last = np.searchsorted(places, np.arange(log.arms.size)) - 1  # which of its plays was the last before the round
    gaps = rule.top - log.next_means[places[last]]
    gaps[: places[0]] = 0.0 if rule.past == "zero" else rule.top - log.means[places[0]]
    gaps[places] = rule.top - log.means[places]
    return np.asarray(gaps[np.newaxis])


def finite_significant_shifts(means: ArrayLike, threshold_scale: float = 1.0) -> Shifts:
    """The significant shifts among finitely many arms (Suk & Kpotufe 2022), in O(K T log T).

    The gap of an arm is counted from the best arm of the round, all arms are candidates at all times, and an arm is
    unsafe on n rounds if its gaps sum up to threshold_scale · (K n)^(1/2) or more.

    Parameters
    ----------
    means
        The mean of each of K arms (column) in each of T rounds (row).
    threshold_scale
        As for ``FiniteShiftRule``.

    Examples
    --------
    Two arms that change places for good after the fifth round:

    >>> import numpy as np
    >>> from manyarms.measures import finite_significant_shifts
    >>> means = np.repeat([[1.0, 0.0], [0.0, 1.0]], [5, 5], axis=0)
    >>> finite_significant_shifts(means)[0]
    Shift(round=7, opened=1, witnesses=(Witness(arm=0, start=6, end=7), Witness(arm=1, start=1, end=2)))
    """
    table = unit_numbers("means", means, dimensions=2)
    rounds, arms = table.shape
    if not arms:
        raise ValueError("means has no columns; give one for each arm")
    rule = FiniteShiftRule(arms=arms, threshold_scale=threshold_scale)
    gaps = np.ascontiguousarray((table.max(axis=1, keepdims=True) - table).T)
    allowance = filled(
        Allowance(
            scale=rule.threshold_scale * math.sqrt(arms),
            rate=0.5,
            margin=-TOLERANCE,  # a sum that is just as large is unsafe here
            last_round=rounds,
            table=np.zeros(rounds + 1),
        )
    )
    starts, evidence = empty(Starts, rounds + 1), empty(Evidence, rounds + arms)
    progress = np.array([1, 0, 0])
    while progress[0] <= rounds:
        finite_loop(allowance, starts, evidence, gaps, progress)
        if progress[0] <= rounds:
            evidence = grown(evidence, 2 * evidence.slot.size)
    return shifts_of_evidence(rule, rounds, evidence, int(progress[2]), np.arange(arms))


def filled(allowance: Allowance) -> Allowance:
    """With its table filled."""
    table_loop(allowance.table, allowance.scale, allowance.rate)
    return allowance


def numbered(log: Log) -> tuple[Log, Ints]:
    """The log with slots for arms, numbered in the order of first plays, and the arm of each slot."""
    arms = log.arms
    if arms.size == 0:
        return log, arms
    compact = arms
    if arms.min() < 0 or arms.max() > 4 * arms.size + 1024:
        compact = np.unique(arms, return_inverse=True)[1].astype(np.int64)
    slots = np.zeros_like(arms)
    count = slot_loop(compact, np.zeros(int(compact.max()) + 1, dtype=np.int64), slots)
    arm_of_slot = np.zeros(count, dtype=np.int64)
    arm_of_slot[slots] = arms
    return log._replace(arms=slots), arm_of_slot


def checked_blocks(rule: ShiftRule, blocks: ArrayLike | None, rounds: int) -> Ints:
    """The block of each round; 0, unless the order asks for it."""
    if rule.order != "block":
        if blocks is not None:
            raise ValueError(f"blocks are for order='block', not {rule.order!r}; leave them out")
        return np.zeros(rounds, dtype=np.int64)
    if blocks is None:
        raise ValueError("order='block' needs blocks; give the block of each round, as a log has it")
    block = whole_numbers("blocks", blocks)
    check_rounds("blocks", block, rounds)
    return block
