"""Significant shifts: the rounds at which even the safest arm a policy knows has become too bad.

A round is a significant shift if, since the last one, every candidate has lost too much on some interval. Candidates
are the first n^(beta / (beta + 1)) arms sampled in a window of n rounds; too much is more than n^(beta / (beta + 1)) /
kappa on an interval of n rounds, counted in gaps. The number of shifts in T rounds enters the regret bound of
``Elimination``.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", the definition of a significant shift;
for finitely many arms, Suk & Kpotufe, "Tracking Most Significant Arm Switches in Bandits" (2022).

Symbols: tau_i -> the rounds of the shifts; kappa_1 -> kappa; mu_t(a_t) -> means; mu_(t+1)(a_t) -> next_means.

Deviations: none with the preset ``"literal"``. The definition leaves some things open; each is an option of
``ShiftRule``, and docs/significant-shifts.md tells what it changes.
"""

import dataclasses
import math
import reprlib
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..specs import fraction
from .entries import Entries
from .rules import FiniteShiftRule, ShiftRule, whole
from .safety import NEVER, TOLERANCE, Allowance, Starts, fill_table, new_starts
from .windows import (
    NO_PLACE,
    Arms,
    Evidence,
    Plays,
    Terms,
    finite_loop,
    first_window,
    log_loop,
    new_room,
    safe_loop,
    slot_loop,
    table_loop,
    told,
)


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
    rounds: NDArray[np.int64]
    _last_row: NDArray[np.int64] = dataclasses.field(repr=False)
    _arm: NDArray[np.int64] = dataclasses.field(repr=False)
    _start: NDArray[np.int64] = dataclasses.field(repr=False)
    _end: NDArray[np.int64] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return int(self.rounds.size)

    def _entry(self, number: int) -> Shift:
        first = int(self._last_row[number - 1]) if number else 0
        rows = slice(first, int(self._last_row[number]))
        columns = (self._arm[rows].tolist(), self._start[rows].tolist(), self._end[rows].tolist())
        return Shift(
            round=int(self.rounds[number]),
            opened=int(self.rounds[number - 1]) if number else 1,
            witnesses=tuple(Witness(*row) for row in zip(*columns, strict=True)),
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{round:,}" for round in self.rounds[:8].tolist()) + (", …" if len(self) > 8 else "")
        count = f"{len(self):,} significant shift{'' if len(self) == 1 else 's'} in {self.horizon:,} rounds"
        return f"<{count}{': ' if shown else ''}{shown} ({self.rule})>"

    @classmethod
    def of_evidence(
        cls,
        rule: ShiftRule | FiniteShiftRule,
        horizon: int,
        evidence: Evidence,
        shifts: int,
        arm_of_slot: NDArray[np.int64] | None,
    ) -> Self:
        """The shifts that the kernels wrote down."""
        last_row = evidence.last_row[:shifts].copy()
        rows = int(last_row[-1]) if shifts else 0
        slots = evidence.slot[:rows]
        return cls(
            rule=rule,
            horizon=horizon,
            rounds=evidence.shift[:shifts].copy(),
            _last_row=last_row,
            _arm=slots.copy() if arm_of_slot is None else arm_of_slot[slots],
            _start=evidence.start[:rows].copy(),
            _end=evidence.end[:rows].copy(),
        )


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

    Returns
    -------
    Shifts
        Their rounds, and for each the arms and intervals that show it.

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
    played, mean, next_mean = checked_log(arms, means, next_means)
    rounds = played.size
    rule = ShiftRule(
        beta=beta,
        kappa=kappa,
        preset=preset,
        threshold_scale=threshold_scale,
        budget_scale=budget_scale,
        order=order,
        rounding=rounding,
        past=past,
        top=top,
        horizon=max(rounds, 1),
    )
    block = checked_blocks(rule, blocks, rounds)
    slots, arm_of_slot = numbered(played)
    allowance = filled(rule.allowance(np.zeros(rounds + 1), rounds))
    terms = rule.terms(allowance)
    room = new_room(rounds, arm_of_slot.size, 2 * rounds + 2 * arm_of_slot.size + 2, rounds)
    place, window = 0, first_window()
    while place < rounds:
        place, window = log_loop(terms, room, window, rule.top, slots, mean, next_mean, block, place)
        if place < rounds:
            room = room._replace(evidence=with_rows(room.evidence, 2 * room.evidence.slot.size))
    return Shifts.of_evidence(rule, rounds, room.evidence, window.shifts, arm_of_slot)


class ShiftStream:
    """The significant shifts of a run that is under way: the same as ``significant_shifts`` finds afterwards.

    Needs no compiler. Memory grows with the rounds since the last shift and with the number of arms.

    Parameters
    ----------
    rule
        What counts as a shift; with a horizon, more rounds than that are refused.

    Examples
    --------
    >>> from manyarms.measures import ShiftRule, ShiftStream
    >>> stream = ShiftStream(ShiftRule(beta=1.0))
    >>> for mean, next_mean in [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]:
    ...     shift = stream.tell(arm=7, mean=mean, next_mean=next_mean)
    >>> shift
    Shift(round=4, opened=1, witnesses=(Witness(arm=7, start=3, end=4),))
    """

    def __init__(self, rule: ShiftRule) -> None:
        if not isinstance(rule, ShiftRule):
            raise ValueError(f"ShiftStream: rule must be a ShiftRule, not {rule!r}")
        self.rule = rule
        self.round = 0
        """How many rounds it has been told."""
        self._slots: dict[int, int] = {}
        self._arms: list[int] = []
        self._table = np.zeros(0)
        self._room = new_room(0, 0, 0, 1)
        self._window = first_window()

    def tell(self, arm: int, mean: float, next_mean: float, block: int | None = None) -> Shift | None:
        """One more round: the arm that was played, its mean, and its mean at the next round.

        Parameters
        ----------
        arm, mean, next_mean
            As one entry of the arrays of ``significant_shifts``.
        block
            The block that is being played, for ``order="block"``.

        Returns
        -------
        Shift or None
            The shift, if this round is one.
        """
        arm = whole("ShiftStream", "arm", arm, -NEVER, NEVER)
        gap = self.rule.top - fraction("ShiftStream", "mean", mean)
        next_gap = self.rule.top - fraction("ShiftStream", "next_mean", next_mean)
        if (block is None) != (self.rule.order != "block"):
            order = self.rule.order
            raise ValueError(
                f"ShiftStream: block is for order='block', and needed there; it is {block!r} and order {order!r}"
            )
        block = 0 if block is None else whole("ShiftStream", "block", block, -NEVER, NEVER)
        if self.rule.horizon is not None and self.round >= self.rule.horizon:
            raise ValueError(
                f"ShiftStream: all {self.rule.horizon:,} rounds of the horizon have been told; make it larger"
            )
        self.round += 1
        if arm not in self._slots:
            self._slots[arm] = len(self._arms)
            self._arms.append(arm)
        terms, opened = self._grown(), self._window.opened
        self._window = told(terms, self._room, self._window, self.round, self._slots[arm], gap, next_gap, block)
        return self._closed(opened) if self._window.shifts else None

    def _grown(self) -> Terms:
        """Make room for one more round; the rule, with a table of allowances that reaches this far."""
        place = self.round - self._window.opened
        room = self._room
        if place >= room.plays.gap.size:
            capacity = 2 * place + 16
            grown = {name: resized(getattr(room.plays, name), capacity) for name in Plays._fields}
            starts = {name: resized(getattr(room.starts, name), 2 * capacity + 1) for name in Starts._fields}
            room = room._replace(plays=Plays(**grown), starts=Starts(**starts))
        if len(self._arms) > room.arms.gap.size:
            grown = {name: resized(getattr(room.arms, name), 2 * len(self._arms) + 16) for name in Arms._fields}
            room = room._replace(arms=Arms(**grown))
        rows = self._window.rows + 2 * (len(self._arms) + 1)
        if rows > room.evidence.slot.size:
            room = room._replace(evidence=with_rows(room.evidence, 2 * rows))
        self._room = room
        if place + 1 >= self._table.size:
            first = self._table.size
            self._table = resized(self._table, 2 * first + 64)
            unfilled = self.rule.allowance(self._table, 0)
            fill_table(self._table, unfilled.scale, unfilled.rate, first)
        last_round = 1 << 52 if self.rule.horizon is None else self.rule.horizon
        return self.rule.terms(self.rule.allowance(self._table, last_round))

    def _closed(self, opened: int) -> Shift:
        """The shift of this round, which closed the window that opened then; its evidence makes room for more."""
        evidence, window = self._room.evidence, self._window
        closed = int(evidence.last_row[0])
        columns = (evidence.slot, evidence.start, evidence.end)
        rows = zip(*(column[:closed].tolist() for column in columns), strict=True)
        shift = Shift(
            round=self.round,
            opened=opened,
            witnesses=tuple(Witness(self._arms[slot], start, end) for slot, start, end in rows),
        )
        left = window.rows - closed
        for column in columns:
            column[:left] = column[closed : window.rows].copy()
        self._window = window._replace(rows=left, rows_before=0, shifts=0)
        return shift


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
    """The round at which an arm stops being safe in a window that opens with ``start``.

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

    Returns
    -------
    int or None
        The first round t such that the gaps of the arm sum up to too much on some interval of rounds from ``start``
        to t; None if there is none.

    Examples
    --------
    A constant gap of 1/4 sums up to more than the square root of the number of rounds after 16 of them:

    >>> from manyarms.measures import first_unsafe_round
    >>> means = [0.75] * 40
    >>> first_unsafe_round([0] * 40, means, means, arm=0, start=1, beta=1.0)
    17
    """
    played, mean, next_mean = checked_log(arms, means, next_means)
    rounds = played.size
    if not rounds:
        raise ValueError("first_unsafe_round: arms is empty; give a run of at least one round")
    start = whole("first_unsafe_round", "start", start, 1, rounds)
    arm = whole("first_unsafe_round", "arm", arm, -NEVER, NEVER)
    places = np.flatnonzero(played == arm)
    if not places.size:
        raise ValueError(f"first_unsafe_round: arm {arm} was never played; ask about one of those in arms")
    rule = ShiftRule(
        beta=beta,
        kappa=kappa,
        preset=preset,
        threshold_scale=threshold_scale,
        past=past,
        top=top,
        horizon=rounds,
    )
    earlier, later = places[places < start - 1], places[places >= start - 1]
    if earlier.size:
        before = rule.top - next_mean[earlier[-1]]
    else:
        before = 0.0 if rule.past == "zero" else rule.top - mean[places[0]]
    first_place = later[0] - (start - 1) if later.size else NO_PLACE
    state = Arms(
        last_play=np.array([places[-1] + 1]),
        gap=np.array([before]),
        first_place=np.array([first_place]),
        before=np.array([before]),
    )
    length = rounds - start + 1
    plays = new_room(length, 0, 0, 0).plays
    window_places = later - (start - 1)
    plays.gap[window_places] = rule.top - mean[later]
    plays.next_gap[window_places] = rule.top - next_mean[later]
    plays.following[window_places] = np.append(window_places[1:], NO_PLACE)[: later.size]
    allowance = filled(rule.allowance(np.zeros(length + 1), rounds))
    return int(safe_loop(allowance, new_starts(2 * length), state, plays, start, rounds)) or None


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

    Returns
    -------
    Shifts
        Their rounds, and for each the interval on which each arm was too bad.

    Examples
    --------
    Two arms that change places for good after the fifth round:

    >>> import numpy as np
    >>> from manyarms.measures import finite_significant_shifts
    >>> means = np.repeat([[1.0, 0.0], [0.0, 1.0]], [5, 5], axis=0)
    >>> finite_significant_shifts(means)[0]
    Shift(round=7, opened=1, witnesses=(Witness(arm=0, start=6, end=7), Witness(arm=1, start=1, end=2)))
    """
    table = numbers("means", means, dimensions=2)
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
    starts = new_starts(rounds)
    evidence = new_room(0, 0, rounds + arms, rounds).evidence
    progress = np.array([1, 0, 0])
    while progress[0] <= rounds:
        finite_loop(allowance, starts, evidence, gaps, progress)
        if progress[0] <= rounds:
            evidence = with_rows(evidence, 2 * evidence.slot.size)
    return Shifts.of_evidence(rule, rounds, evidence, int(progress[2]), None)


def filled(allowance: Allowance) -> Allowance:
    """With its table filled."""
    table_loop(allowance.table, allowance.scale, allowance.rate)
    return allowance


def resized(column: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room for ``size`` entries."""
    result = np.zeros(size, dtype=column.dtype)
    kept = min(size, column.size)
    result[:kept] = column[:kept]
    return result


def with_rows(evidence: Evidence, rows: int) -> Evidence:
    """With room for that many rows."""
    return evidence._replace(
        slot=resized(evidence.slot, rows), start=resized(evidence.start, rows), end=resized(evidence.end, rows)
    )


def numbered(arms: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The slot of each play's arm, numbered in the order of first plays, and the arm of each slot."""
    if arms.size == 0:
        return arms, arms
    compact = arms
    if arms.min() < 0 or arms.max() > 4 * arms.size + 1024:
        compact = np.unique(arms, return_inverse=True)[1].astype(np.int64)
    slots = np.zeros_like(arms)
    count = slot_loop(compact, np.zeros(int(compact.max()) + 1, dtype=np.int64), slots)
    arm_of_slot = np.zeros(count, dtype=np.int64)
    arm_of_slot[slots] = arms
    return slots, arm_of_slot


def whole_numbers(
    name: str, values: ArrayLike, each: str = "round", remedy: str = "number the arms and blocks first"
) -> NDArray[np.int64]:
    """The values as an array of whole numbers, one for each round or what else there is."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must hold whole numbers, not {reprlib.repr(values)}; {remedy}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list with one entry for each {each}, not of shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        what = reprlib.repr(values) if array.dtype == object else array.dtype
        raise ValueError(f"{name} must hold whole numbers, not {what}; {remedy}")
    for number in (int(array.min()), int(array.max())) if array.size else ():
        if abs(number) > NEVER:
            raise ValueError(f"{name} must lie between -2^62 and 2^62, not {number}; number them anew")
    return np.ascontiguousarray(array, dtype=np.int64)


def numbers(name: str, values: ArrayLike, dimensions: int, each: str = "round") -> NDArray[np.float64]:
    """The values as an array of means, one for each round or what else there is."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers, not {reprlib.repr(values)}") from None
    if array.ndim != dimensions:
        form = f"a list with one entry for each {each}" if dimensions == 1 else "a table of rounds by arms"
        raise ValueError(f"{name} must be {form}, not of shape {array.shape}")
    is_good = (array >= 0.0) & (array <= 1.0)
    if not is_good.all():
        place = tuple(int(index) for index in np.argwhere(~is_good)[0])
        raise ValueError(
            f"{name} must lie in [0, 1], not {array[place]} in {each} {place[0] + 1}; scale rewards to [0, 1] first"
        )
    return np.ascontiguousarray(array)


def checked_log(
    arms: ArrayLike, means: ArrayLike, next_means: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The three arrays of a run, all of one length."""
    played = whole_numbers("arms", arms)
    mean, next_mean = numbers("means", means, 1), numbers("next_means", next_means, 1)
    for name, array in (("means", mean), ("next_means", next_mean)):
        if array.size != played.size:
            raise ValueError(
                f"arms has {played.size:,} rounds but {name} has {array.size:,}; give one entry for each round"
            )
    return played, mean, next_mean


def checked_blocks(rule: ShiftRule, blocks: ArrayLike | None, rounds: int) -> NDArray[np.int64]:
    """The block of each round; nothing, unless the order asks for it."""
    if rule.order != "block":
        if blocks is not None:
            raise ValueError(f"blocks are for order='block', not {rule.order!r}; leave them out")
        return np.zeros(0, dtype=np.int64)
    if blocks is None:
        raise ValueError("order='block' needs blocks; give the block of each round, as a log has it")
    block = whole_numbers("blocks", blocks)
    if block.size != rounds:
        raise ValueError(f"arms has {rounds:,} rounds but blocks has {block.size:,}; give one entry for each round")
    return block
