"""The picture of a plan: what items are like, and what candidates should earn."""

from typing import TYPE_CHECKING

import numpy as np

from ...results import COLOURS
from ..figures.figures import inches, styled
from .mixing import share_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .plan import Plan

BLUE, RED, GREEN = COLOURS[0], COLOURS[1], COLOURS[2]
GREY = "#566170"
RAREST = 1e-3  # the smallest share of items that is drawn
ROW, LEAST = 0.24, 2.6  # inches: a candidate, and the height of the panels


def plan_figure(plan: "Plan", *, width: str | float = "page") -> "Figure":
    """Left what items are like, right what candidates should earn.

    Parameters
    ----------
    width
        ``"column"``, ``"page"`` or inches.
    """
    with styled():
        from matplotlib.figure import Figure

        height = max(LEAST, 1.1 + ROW * len(plan.prospects))
        figure = Figure(figsize=(inches(width), height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
        _items(left, plan)
        _candidates(right, plan)
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.draw_without_rendering()  # ticks take their settings when they are first drawn
        return figure


def _items(panel: "Axes", plan: "Plan") -> None:
    """The share of items that are better than a rate, with the band of its draws."""
    found = plan.catalogue
    levels = np.geomspace(found.rates[0], found.rates[-1], 400)
    shares = share_above(found.rates, found.masses, levels)
    drawn = np.array([share_above(found.rates, draw.masses, levels) for draw in found.draws])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    panel.fill_between(levels, np.maximum(low, 1e-9), np.maximum(high, 1e-9), color=BLUE, alpha=0.2, linewidth=0)
    panel.plot(levels, np.maximum(shares, 1e-9), color=BLUE)
    panel.set_yscale("log")
    panel.set_ylim(RAREST, 1.3)
    panel.set_yticks([1.0, 0.1, 0.01, 0.001], labels=["all", "1 in 10", "1 in 100", "1 in 1,000"])
    panel.axvline(plan.random.value, color=GREY, linestyle=":", linewidth=1.0)
    panel.axvline(found.past.value, color=RED, linestyle="--", linewidth=1.0)
    panel.set_xlim(0.0, 1.1 * float(levels[np.flatnonzero(high > RAREST)[-1]]))
    panel.locator_params(axis="x", nbins=5)
    panel.set_title("Fresh items", loc="left")
    panel.set(xlabel="rate: reward a play", ylabel="items that are better")


def _candidates(panel: "Axes", plan: "Plan") -> None:
    """A row for each candidate, with lines for random items and the past."""
    for row, one in enumerate(plan.prospects):
        ends = [[one.reward.value - one.reward.low], [one.reward.high - one.reward.value]]
        inside = GREEN if one.is_as_good else "white"
        panel.errorbar(
            one.reward.value, row, xerr=ends, color=GREEN, marker="o", markersize=5, markerfacecolor=inside,
            elinewidth=1.2, capsize=2.5, linestyle="none",
        )  # fmt: skip
    panel.axvline(plan.random.value, color=GREY, linestyle=":", linewidth=1.0, label="random items")
    panel.axvline(plan.catalogue.past.value, color=RED, linestyle="--", linewidth=1.0, label="the past")
    panel.plot([], [], "o", color=GREEN, markersize=5, label="best, or as good as can be told")
    panel.set_yticks(range(len(plan.prospects)), labels=[one.name for one in plan.prospects])
    panel.set_ylim(len(plan.prospects) - 0.5, -0.5)
    panel.set_xlim(left=0.0)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    panel.grid(visible=True, axis="x")
    panel.locator_params(axis="x", nbins=5)
    panel.set_title(f"Candidates over {plan.simulated_rounds:,} rounds", loc="left")
    panel.set(xlabel="reward a round, with 95 % intervals")
