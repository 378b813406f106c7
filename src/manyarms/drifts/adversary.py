"""An adaptive adversary: it watches the policy and hits the arm the policy leans on.

The paper's adversary may look at all past choices. This one takes a running majority vote of
them (Boyer & Moore): its candidate is the arm that has been played more often than all others
together since the vote began, and its lead is by how much. Once the lead reaches ``patience``,
the candidate, just played, loses ``size``, and the vote begins anew.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..compiled import replaced
from ..contract import Play
from ..specs import Count, Fraction
from .base import Drift, register_drift


class AdversaryState(NamedTuple):
    """The vote."""

    patience: int
    size: float
    candidate: int = -1  # the arm in the lead; -1 for none
    lead: int = 0  # by how many plays


@dataclasses.dataclass(frozen=True)
class Adversary(Drift):
    """Hits the arm the policy leans on.

    Parameters
    ----------
    patience
        By how many plays an arm must lead over all others together before it is hit.
    size
        How much of its mean it then loses.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Adversary(patience=100, size=0.3)
    Adversary(patience=100, size=0.3)
    """

    state_type: ClassVar = AdversaryState
    tried_with: ClassVar = ({"patience": 10, "size": 0.3},)

    patience: Count = 100
    size: Fraction = 0.3


def begin(drift: AdversaryState, key: int) -> AdversaryState:
    """A new vote."""
    return replaced(drift, candidate=-1, lead=0)


def moved(drift: AdversaryState, play: Play, reservoir: Any) -> tuple[AdversaryState, float]:
    """Count the play; hit the arm if it leads by enough."""
    candidate = drift.candidate
    lead = drift.lead
    mean = play.mean
    if lead == 0:
        candidate = play.arm
        lead = 1
    elif candidate == play.arm:
        lead += 1
    else:
        lead -= 1
    if lead >= drift.patience:  # so the arm just played is the candidate
        mean -= drift.size
        candidate = -1
        lead = 0
    return replaced(drift, candidate=candidate, lead=lead), mean


register_drift(AdversaryState, moved, begin)
