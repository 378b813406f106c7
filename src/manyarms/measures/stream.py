"""Significant shifts of a run that is under way, one round at a time."""

import numpy as np

from ..specs import fraction, whole
from ..states import grown
from .rules import ShiftRule
from .safety import fill_table
from .shifts import Shift, shift_of
from .windows import Terms, Window, new_room, told


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
        self._room = new_room(0, 0, 0)
        self._window = Window()

    def tell(self, arm: int, mean: float, next_mean: float, block: int | None = None) -> Shift | None:
        """One more round: the arm that was played, its mean, and its mean at the next round. Returns its shift, if any.

        Parameters
        ----------
        arm, mean, next_mean
            As one entry of the arrays of ``significant_shifts``.
        block
            The block that is being played, for ``order="block"``.
        """
        owner, order, horizon = "ShiftStream", self.rule.order, self.rule.horizon
        arm = whole(owner, "arm", arm)
        gap = self.rule.top - fraction(owner, "mean", mean)
        next_gap = self.rule.top - fraction(owner, "next_mean", next_mean)
        if (block is None) != (order != "block"):
            raise ValueError(
                f"{owner}: block is for order='block', and needed there; it is {block!r} and order {order!r}"
            )
        block = 0 if block is None else whole(owner, "block", block)
        if horizon is not None and self.round >= horizon:
            raise ValueError(f"{owner}: all {horizon:,} rounds of the horizon have been told; make it larger")
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
            room = room._replace(plays=grown(room.plays, capacity), starts=grown(room.starts, 2 * capacity + 1))
        if len(self._arms) > room.arms.gap.size:
            room = room._replace(arms=grown(room.arms, 2 * len(self._arms) + 16))
        rows = self._window.rows + 2 * (len(self._arms) + 1)
        if rows > room.evidence.slot.size:
            room = room._replace(evidence=grown(room.evidence, 2 * rows))
        self._room = room
        if place + 1 >= self._table.size:
            first = self._table.size
            self._table = grown(self._table, 2 * first + 64)
            unfilled = self.rule.allowance(self._table, 0)
            fill_table(self._table, unfilled.scale, unfilled.rate, first)
        last_round = 1 << 52 if self.rule.horizon is None else self.rule.horizon
        return self.rule.terms(self.rule.allowance(self._table, last_round))

    def _closed(self, opened: int) -> Shift:
        """The shift of this round, which closed the window that opened then; its evidence makes room for more."""
        evidence, window = self._room.evidence, self._window
        closed = int(evidence.last_row[0])
        shift = shift_of(evidence, 0, opened, self._arms)
        left = window.rows - closed
        for column in (evidence.slot, evidence.start, evidence.end):
            column[:left] = column[closed : window.rows].copy()
        self._window = window._replace(rows=left, rows_before=0, shifts=0)
        return shift
