"""Advice: how many fresh arms to draw, given an estimate of the reservoir."""

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...bases import UCB
from ...policies.base import last_block_rank
from ...policies.blackbox import Blackbox
from ...policies.elimination import Elimination
from ...policies.subsample import SubsampleSettings, subsample_size

if TYPE_CHECKING:
    from .estimate import ReservoirEstimate


@dataclasses.dataclass(frozen=True)
class Advice:
    """How many fresh arms to draw for a horizon, as Suk & Kim's subsample sizes have it; constants are theirs.

    Attributes
    ----------
    estimate
        What it rests on.
    horizon
        How many rounds will be played.
    """

    estimate: "ReservoirEstimate"
    horizon: int

    def over_interval(self, size: Callable[[float], int]) -> tuple[int, int, int]:
        """A size at the estimated beta and at the ends of its interval."""
        return size(self.estimate.beta), size(self.estimate.low), size(self.estimate.high)

    @property
    def fresh_arms(self) -> tuple[int, int, int]:
        """T^(beta / (beta + 1)), which balances the best arm's gap against the price of finding it (Section 4.1).

        At the estimate and at the ends of its interval, as for the sizes of blocks.
        """

        def size(beta: float) -> int:
            settings = SubsampleSettings(exponent=beta / (beta + 1.0), floor=False, arms=0, horizon=self.horizon)
            return subsample_size(settings, float(self.horizon))

        return self.over_interval(size)

    @property
    def largest_block(self) -> int:
        """The length of the largest block that begins within the horizon: blocks have 2, 4, 8, … rounds."""
        # It begins with the last round or earlier, after at most that many less one.
        return int(2 ** last_block_rank(self.horizon - 1))

    @property
    def elimination_arms(self) -> tuple[int, int, int]:
        """How many arms the paper's Algorithm 2 draws for the largest block."""
        return self.over_interval(
            lambda beta: Elimination(beta=beta, preset="paper", horizon=self.horizon).slots(self.horizon - 1)
        )

    @property
    def blackbox_arms(self) -> tuple[int, int, int]:
        """How many arms the paper's Algorithm 1 draws for the largest block."""
        return self.over_interval(
            lambda beta: Blackbox(base=UCB(), beta=beta, preset="paper", horizon=self.horizon).slots(self.horizon - 1)
        )

    @property
    def best_gap(self) -> float:
        """The expected gap of the best of ``fresh_arms[0]`` arms, if the power law holds so far down.

        The least of K gaps with distribution kappa x^beta has the mean kappa^(-1/beta) times
        Gamma(1 + 1/beta) Gamma(K + 1) / Gamma(K + 1 + 1/beta).
        """
        inverse, arms = 1.0 / self.estimate.beta, self.fresh_arms[0]
        log_gap = math.lgamma(1.0 + inverse) + math.lgamma(arms + 1.0) - math.lgamma(arms + 1.0 + inverse)
        return min(math.exp(log_gap - inverse * math.log(self.estimate.kappa)), self.estimate.top)

    def __str__(self) -> str:
        found = self.estimate
        cut = ", cut short by the horizon" if self.largest_block > self.horizon else ""
        lines = [
            f"For {self.horizon:,} rounds and beta {found.beta:.3g} ({found.low:.3g} to {found.high:.3g}):",
            f"- if nothing changes, {spelt(self.fresh_arms, 'fresh arms')}, "
            f"the best of them some {self.best_gap:.2g} below the top {found.top:.4g}",
            f"- if things change, blocks that double; in the largest, of {self.largest_block:,} rounds{cut},",
            f"  Elimination draws {spelt(self.elimination_arms, 'fresh arms')}, Blackbox {spelt(self.blackbox_arms)}",
        ]
        return "\n".join(lines + [f"but {warning}" for warning in found.warnings])


def spelt(sizes: tuple[int, int, int], what: str = "") -> str:
    """A size with those at the ends of the interval, to two digits: more would be a pretence."""
    size, low, high = (f"{float(f'{size:.2g}'):,.0f}" for size in sizes)
    return f"{size} {what}".rstrip() + f" ({low} to {high})"
