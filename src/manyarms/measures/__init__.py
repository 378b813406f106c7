"""Measures: how hard a run was, and what its reservoir is like, found from what was observed."""

from .bounds import (
    aucbt_asw_rate,
    blackbox_rate,
    changes_rate,
    elimination_rate,
    episodes_rate,
    lower_rate,
    restart_variation,
    stationary_rate,
    variation_rate,
)
from .detection import Detection, Detections, detections
from .episodes import Episode, Episodes, episodes_of_run
from .mild_corruption import Corruption, corruption
from .regret_parts import RegretPart, RegretParts, decomposed_regret
from .reservoir import (
    Advice,
    ReservoirEstimate,
    estimate_from_counts,
    estimate_from_means,
    estimate_from_noisy_means,
)
from .rules import FiniteShiftRule, ShiftRule
from .shifts import (
    Shift,
    Shifts,
    Witness,
    finite_significant_shifts,
    first_unsafe_round,
    significant_shifts,
)
from .stream import ShiftStream
from .variation import Variation, realized_variation

__all__ = [
    # How much changed.
    "Variation",
    "realized_variation",
    # Where regret came from.
    "Episodes",
    "Episode",
    "episodes_of_run",
    "RegretParts",
    "RegretPart",
    "decomposed_regret",
    "Corruption",
    "corruption",
    "Detections",
    "Detection",
    "detections",
    # How regret may grow.
    "stationary_rate",
    "changes_rate",
    "variation_rate",
    "blackbox_rate",
    "elimination_rate",
    "lower_rate",
    "aucbt_asw_rate",
    "episodes_rate",
    "restart_variation",
    # How common good arms are.
    "ReservoirEstimate",
    "Advice",
    "estimate_from_means",
    "estimate_from_counts",
    "estimate_from_noisy_means",
    # Significant shifts.
    "ShiftRule",
    "FiniteShiftRule",
    "Shifts",
    "Shift",
    "Witness",
    "significant_shifts",
    "ShiftStream",
    "first_unsafe_round",
    "finite_significant_shifts",
]
