"""Detections: were the restarts of a policy where the significant shifts were?"""

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..specs import whole
from .entries import Entries
from .inputs import Ints, whole_numbers
from .safety import NEVER
from .shifts import Shifts


class Detection(NamedTuple):
    """A significant shift, and the restart that answered it."""

    shift: int  # its round
    restart: int | None  # the round of the first restart at or after it and before the next shift

    @property
    def delay(self) -> int | None:
        """How many rounds the restart came after the shift."""
        return None if self.restart is None else self.restart - self.shift


@dataclasses.dataclass(frozen=True)
class Detections(Entries[Detection]):
    """Restarts held against significant shifts: a sequence of ``Detection``, one for each shift.

    A slice is a tuple of them.

    Attributes
    ----------
    false_restarts
        The rounds of restarts that answered no shift: before the first one, or not the first since the last one.
    """

    _noun = "shift"
    false_restarts: tuple[int, ...]
    _entries: tuple[Detection, ...] = dataclasses.field(repr=False)

    @property
    def missed(self) -> tuple[int, ...]:
        """The rounds of shifts that no restart answered before the next one, or before the end."""
        return tuple(detection.shift for detection in self if detection.restart is None)

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of those that were answered."""
        return tuple(detection.delay for detection in self if detection.delay is not None)

    def __str__(self) -> str:
        answered = len(self) - len(self.missed)
        text = f"{answered} of {len(self)} shifts answered"
        if self.delays:
            text += f" after {sum(self.delays) / len(self.delays):.4g} rounds on average"
        return f"{text}; {len(self.false_restarts)} false restarts"


def detections(shifts: Shifts | ArrayLike, restarts: ArrayLike) -> Detections:
    """For each significant shift, the first restart after it and before the next one; and the restarts for no reason.

    Parameters
    ----------
    shifts
        What ``significant_shifts`` found, or the rounds of the shifts.
    restarts
        The rounds after which the policy restarted: ``episodes_of_run(…).restarts``. A restart after the very round
        of a shift has seen that round's reward, and answers it with a delay of 0.

    Examples
    --------
    >>> from manyarms.measures import detections
    >>> found = detections(shifts=[100, 200, 300], restarts=[50, 120, 130, 310])
    >>> print(found)
    2 of 3 shifts answered after 15 rounds on average; 2 false restarts
    >>> found.missed, found.false_restarts
    ((200,), (50, 130))
    """
    tau = increasing("shifts", shifts.rounds if isinstance(shifts, Shifts) else shifts)
    answers = increasing("restarts", restarts)
    first = np.searchsorted(answers, tau)
    after = np.searchsorted(answers, np.append(tau[1:], NEVER)) if tau.size else first
    is_answered = first < after
    found = tuple(
        Detection(shift=shift, restart=int(answers[place]) if answered else None)
        for shift, place, answered in zip(tau.tolist(), first.tolist(), is_answered.tolist(), strict=True)
    )
    return Detections(false_restarts=tuple(np.delete(answers, first[is_answered]).tolist()), _entries=found)


def increasing(name: str, rounds: ArrayLike) -> Ints:
    """Rounds of a run, each after the one before it."""
    found = whole_numbers(name, rounds, each=name[:-1], remedy="give rounds, counted from 1")
    for round in found[:1].tolist():
        whole("detections", f"the first of the {name}", round, least=1)
    if (np.diff(found) <= 0).any():
        place = int(np.flatnonzero(np.diff(found) <= 0)[0])
        raise ValueError(
            f"{name} must increase, but {found[place]} is followed by {found[place + 1]}; "
            "sort them and leave out doubles"
        )
    return found
