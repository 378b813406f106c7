"""What all drifts share."""

from collections.abc import Callable
from typing import Any, ClassVar

from ..contract import register
from ..specs import Part


class Drift(Part, abstract=True):
    """Abstract: what a play does to the arm that was played.

    Drifts are rested: an arm moves only when it is played, after its reward was drawn.
    """

    kind: ClassVar[str] = "drift"


def begin_unchanged(drift: Any, key: int) -> Any:
    """For drifts that remember nothing of a run."""
    return drift


def register_drift(state_type: type, moved: Callable[..., Any], begin: Callable[..., Any] = begin_unchanged) -> None:
    """Give a drift its kernels; one that remembers the run needs ``begin`` to forget it."""
    register(state_type, moved=moved, begin=begin)
