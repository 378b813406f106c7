"""Estimated tail exponents: how often the 95 % interval holds the truth, and what a line through noisy means says.

Samples of arms are drawn from power laws, played, and estimated from, again and again. The share of intervals that hold
beta is printed with the range that chance allows around 0.95, beside the median of the slopes of log-log plots: of the
share of arms within a gap of the top against the gap, over the best quarter of the arms.

Prints the table of docs/reservoir.md and draws docs/reservoir.png.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manyarms.measures import (
    ReservoirEstimate,
    estimate_from_counts,
    estimate_from_means,
    estimate_from_noisy_means,
)
from manyarms.tables import Table

BETAS = (0.5, 1.0, 2.0, 4.0)
ARMS = 400


def drawn_means(random: np.random.Generator, beta: float, arms: int, top: float) -> NDArray[np.float64]:
    """Means with P(mean > top - x) = (x / top)^beta."""
    return top * (1.0 - random.random(arms) ** (1.0 / beta))


def slope(means: NDArray[np.float64], top: float) -> float:
    """The slope of the log-log plot over the best quarter; NaN where there is no line to draw."""
    gaps = np.sort(top - means)
    shares = np.arange(1, gaps.size + 1) / gaps.size
    kept = (gaps > 0.0) & (shares <= 0.25)
    if np.unique(gaps[kept]).size < 3:
        return math.nan
    return float(np.polyfit(np.log(gaps[kept]), np.log(shares[kept]), 1)[0])


def sample(random: np.random.Generator, kind: str, beta: float) -> tuple[ReservoirEstimate, float]:
    """One sample of that kind: the estimate, and the slope."""
    top = 0.3 if "0.3" in kind else 1.0
    means = drawn_means(random, beta, ARMS, top)
    if kind.startswith("means"):
        return estimate_from_means(means, top=None if "unknown" in kind else top), slope(means, top)
    if kind.startswith("normal"):
        noisy = means + random.normal(0.0, 0.03, ARMS)
        return estimate_from_noisy_means(noisy, 0.03**2), slope(noisy, top)
    plays = int(kind.split()[0])
    successes = random.binomial(plays, means)
    return estimate_from_counts(successes, plays, top=top), slope(successes / plays, top)


KINDS = (
    "means",
    "means, top 0.3 unknown",
    "10 plays",
    "30 plays",
    "100 plays",
    "1000 plays",
    "100 plays, top 0.3",
    "1000 plays, top 0.3",
    "normal noise, 0.03",
)


def row(kind: str, beta: float, repetitions: int, seed: int) -> dict[str, float | str]:
    """One row of the table."""
    random = np.random.default_rng([seed, KINDS.index(kind), int(10 * beta)])
    found, slopes = zip(*(sample(random, kind, beta) for _ in range(repetitions)), strict=True)
    coverage = float(np.mean([one.low <= beta <= one.high for one in found]))
    # Four standard deviations of a share of 0.95.
    allowed = 4.0 * math.sqrt(0.95 * 0.05 / repetitions)
    drawn = [value for value in slopes if not math.isnan(value)]
    return {
        "data": kind,
        "beta": beta,
        "coverage": coverage,
        "median": float(np.median([one.beta for one in found])),
        "high / low": float(np.median([one.high / one.low for one in found])),
        "with warnings": float(np.mean([not one.is_reliable for one in found])),
        "slope": float(np.median(drawn)) if drawn else math.nan,
        "top held": float(np.mean([one.top_low <= 0.3 <= one.top_high for one in found]))
        if "unknown" in kind
        else math.nan,
        "calibrated": "yes" if coverage >= 0.95 - allowed else "no",
    }


def draw(file: Path, seed: int) -> None:
    """One sample in detail, and estimates against plays."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from manyarms.results import COLOURS

    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.3), layout="constrained")
    random = np.random.default_rng(seed)
    beta, top, plays, arms = 1.0, 0.3, 100, 1000
    means = drawn_means(random, beta, arms, top)
    successes = random.binomial(plays, means)
    found = estimate_from_counts(successes, plays, top=top)
    shares = np.arange(1, arms + 1) / arms
    gaps = np.sort(top - successes / plays)
    left.loglog(np.sort(top - means), shares, color=COLOURS[0], label="means, which nobody sees")
    left.loglog(gaps[gaps > 0.0], shares[gaps > 0.0], color=COLOURS[1], label=f"rates after {plays} plays")
    x = np.geomspace(1e-3, found.depth, 50)
    fitted = f"fitted to the counts: beta {found.beta:.2f} ({found.low:.2f} to {found.high:.2f})"
    left.loglog(x, found.kappa * x**found.beta, "--", color=COLOURS[6], label=fitted)
    left.set_xlim(1e-3, top)
    left.set_ylim(1e-3, 1.05)
    left.set_xlabel("gap to the top")
    left.set_ylabel("share of arms within it")
    left.set_title(f"{arms:,} arms, beta 1, top 0.3", fontsize=10)

    numbers = np.array([20, 50, 100, 200, 500, 1000, 2000, 5000])
    ours, lines = [], []
    for plays in numbers.tolist():
        drawn = []
        for _ in range(100):
            means = drawn_means(random, beta, ARMS, top)
            successes = random.binomial(plays, means)
            estimate = estimate_from_counts(successes, plays, top=top)
            drawn.append((estimate.beta, slope(successes / plays, top)))
        ours.append(np.quantile([one for one, _ in drawn], [0.05, 0.5, 0.95]))
        slopes = [one for _, one in drawn if not math.isnan(one)]
        lines.append(np.quantile(slopes, [0.05, 0.5, 0.95]) if slopes else np.full(3, math.nan))
    for values, colour, label in ((ours, COLOURS[6], "likelihood of the counts"), (lines, COLOURS[1], "log-log slope")):
        low, middle, high = np.array(values).T
        right.semilogx(numbers, middle, "o-", color=colour, label=f"{label}: median, 90 % of samples")
        right.fill_between(numbers, low, high, color=colour, alpha=0.2, linewidth=0)
    right.axhline(beta, color=COLOURS[0], linestyle=":", label="truth")
    right.set_xlabel("plays of each arm")
    right.set_ylabel("estimated beta")
    right.set_ylim(0.0, 2.5)
    right.set_title(f"{ARMS} arms, beta 1, top 0.3", fontsize=10)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=150)
    print(f"\nThe picture is in {file}")


def main() -> None:
    """Estimate, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent.parent / "docs" / "reservoir.png")
    options = parser.parse_args()
    print(Table([row(kind, beta, options.repetitions, options.seed) for kind in KINDS for beta in BETAS]))
    draw(options.file, options.seed)


if __name__ == "__main__":
    main()
