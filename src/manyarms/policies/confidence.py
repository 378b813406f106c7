"""The confidence bound of an arm's loss that CBT and EmpiricalCBT share.

Source: Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793). The authors' R package
CBT 1.0 has the same bound, defaults and comparisons.

Symbols: n -> horizon; X -> 1 - reward, a loss; L_kt -> confidence_bound; b_n, c_n -> slack.shrink, slack.width.

Deviations: b_n = c_n = log log n as in the source's studies, but at least 1, which is log log of 15.2.
"""

import math
from typing import NamedTuple

from ..arithmetic import natural_log
from ..compiled import kernel


class Slack(NamedTuple):
    """By how much a confidence bound may be below the mean loss."""

    shrink: float  # b_n: it is at least the mean divided by this
    width: float  # c_n: and at least this many standard errors below it


NO_SLACK = Slack(shrink=1.0, width=1.0)
"""Before the first block."""


@kernel
def slack_for(horizon: int) -> Slack:
    """B_n = c_n = log log n, at least 1."""
    slack = 1.0
    if horizon > 15:
        slack = max(natural_log(natural_log(float(horizon))), 1.0)
    return Slack(shrink=slack, width=slack)


@kernel
def confidence_bound(total: float, squares: float, plays: int, slack: Slack) -> float:
    """L_kt = max(mean / b_n, mean - c_n · deviation / sqrt(plays)), of an arm's losses and their squares."""
    mean = total / plays
    deviation = math.sqrt(max(squares / plays - mean * mean, 0.0))
    return max(mean / slack.shrink, mean - slack.width * deviation / math.sqrt(float(plays)))
