"""Rules: what counts as a significant shift, with all that the definition leaves open filled in.

A result carries its rule, so that every count says how it was made.
"""

import dataclasses
import functools
import math
from typing import Annotated

from ..specs import Checked, Fraction, Positive, among, whole
from .inputs import Floats
from .safety import TOLERANCE, Allowance
from .windows import BLOCK, NEW, RUN, WINDOW, Terms

PRESETS = ("literal", "log")
"""Where the scales come from: as the definition is written (1), or the logarithm of the horizon for both."""

ORDERS = {"window": WINDOW, "run": RUN, "new": NEW, "block": BLOCK}
"""Which arms are the first that were sampled."""

ROUNDINGS = ("down", "up")
PASTS = ("first", "zero")

Whole = Annotated[int, functools.partial(whole, least=1)]


@dataclasses.dataclass(frozen=True)
class ShiftRule(Checked):
    """What counts as a significant shift: the definition with all that it leaves open filled in.

    Parameters
    ----------
    beta
        The tail exponent of the reservoir.
    kappa
        The paper's kappa_1: the probability that a fresh arm's gap is below x is at least kappa x^beta.
    preset
        Where the scales left at None come from: ``"literal"``, 1 both, or ``"log"``, the natural logarithm of the
        horizon both, as the theory has them up to constants.
    threshold_scale
        An interval of n rounds is unsafe if its gaps sum up to more than
        threshold_scale · n^(beta / (beta + 1)) / kappa.
    budget_scale
        A window of n rounds has budget_scale · n^(beta / (beta + 1)) candidates, and at least one.
    order
        Which arms come first: in the order of their first plays in the ``"window"``; in the ``"run"``, since round 1;
        of ``"new"`` arms, never played before the window; in the ``"block"`` that is being played, in the window.
    rounding
        Whether the number of candidates is rounded ``"down"`` or ``"up"``.
    past
        The gap of an arm before its first play: that with which it was ``"first"`` played, or ``"zero"``.
    top
        The mean from which gaps are counted; the paper's is 1.
    horizon
        The number of rounds: for the preset ``"log"``, and to refuse more of them. None: unknown.

    Examples
    --------
    >>> from manyarms.measures import ShiftRule
    >>> print(ShiftRule(beta=1.0, preset="log", horizon=1000))
    beta 1, kappa 1, log scales (threshold 6.908, budget 6.908), order window, rounding down, past first, top 1
    """

    beta: Positive
    kappa: Positive = 1.0
    preset: Annotated[str, among(PRESETS)] = "literal"
    threshold_scale: Positive | None = None
    budget_scale: Positive | None = None
    order: Annotated[str, among(ORDERS)] = "window"
    rounding: Annotated[str, among(ROUNDINGS)] = "down"
    past: Annotated[str, among(PASTS)] = "first"
    top: Fraction = 1.0
    horizon: Whole | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("threshold_scale", "budget_scale"):
            if getattr(self, name) is None:
                self._keep(**{name: self._preset_scale(name)})

    def _preset_scale(self, name: str) -> float:
        if self.preset == "literal":
            return 1.0
        if self.horizon is None:
            raise ValueError(f"ShiftRule: the preset 'log' needs a horizon; give one, or a number for {name}")
        return math.log(max(self.horizon, 2))  # so that it is not 0

    def __str__(self) -> str:
        return (
            f"beta {self.beta:g}, kappa {self.kappa:g}, {self.preset} scales (threshold {self.threshold_scale:.4g}, "
            f"budget {self.budget_scale:.4g}), order {self.order}, rounding {self.rounding}, past {self.past}, "
            f"top {self.top:g}"
        )

    def allowance(self, table: Floats, last_round: int) -> Allowance:
        """How much an interval may sum up to, with a table of the first values that is still to be filled."""
        assert self.threshold_scale is not None
        return Allowance(
            scale=self.threshold_scale / self.kappa,
            rate=self.beta / (self.beta + 1.0),
            margin=TOLERANCE,
            last_round=last_round,
            table=table,
        )

    def terms(self, allowance: Allowance) -> Terms:
        """The rule in numbers, for the kernels."""
        assert self.budget_scale is not None
        return Terms(
            allowance=allowance,
            budget=self.budget_scale,
            rounds_up=self.rounding == "up",
            order=ORDERS[self.order],
            ignores_past=self.past == "zero",
        )


@dataclasses.dataclass(frozen=True)
class FiniteShiftRule(Checked):
    """What counts as a significant shift among finitely many arms.

    Parameters
    ----------
    arms
        How many there are.
    threshold_scale
        An interval of n rounds is unsafe if its gaps sum up to threshold_scale · (arms · n)^(1/2) or more.

    Examples
    --------
    >>> from manyarms.measures import FiniteShiftRule
    >>> print(FiniteShiftRule(arms=3))
    3 arms, threshold scale 1
    """

    arms: Whole
    threshold_scale: Positive = 1.0

    def __str__(self) -> str:
        return f"{self.arms} arms, threshold scale {self.threshold_scale:g}"
