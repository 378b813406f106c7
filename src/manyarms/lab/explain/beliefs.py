"""The picture of what a policy has learned: the reservoir as it believes it to be, its targets, and the arms it keeps.

For policies whose `explain` says all of this, as that of `Forager` does. Means are on an axis of
log-odds, on which two arms lie as far apart as it is easy to tell them apart.
"""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...contract import fresh_mean_in
from ...streams import bits_at, replication_key
from ..figures.figures import inches, styled
from .account import Account
from .figure import BLUE, GREY, INK, LETTERS, RED
from .words import many

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAID = {"reservoir", "kept_arms", "average", "better", "target", "change"}  # by policies of which there is a picture
DRAWS = 20_000  # fresh arms that stand for the true reservoir
RAREST = 1e-3  # the smallest share of arms that is drawn: with so many draws, twenty of them
MOST = 0.75  # the largest share that there must be room for
MOST_ARMS = 8  # that are drawn: the best ones
TICKS = (0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 0.9999)
NEAREST = 1e-5  # to 0 and 1: nearer means are drawn there
UPPER, ROW = 2.4, 0.17  # inches: the reservoir, and an arm


def belief_figure(found: Account, *, width: str | float = "page") -> "Figure":
    """What the policy knows in the end, held against the truth, as a matplotlib figure.

    Parameters
    ----------
    width
        ``"column"``, ``"page"`` or inches.
    """
    if not found.belief.keys() >= SAID:
        raise ValueError(
            f"{found.cell.policy_name} does not say what arms are like, so there is no picture of it; ma.Forager() does"
        )
    with styled():
        from matplotlib.figure import Figure

        arms = [arm for arm in found.belief["kept_arms"] if arm["plays"]][:MOST_ARMS]
        lower = 0.3 + ROW * max(len(arms), 1)
        figure = Figure(figsize=(inches(width), UPPER + lower + 1.1), layout="constrained")
        upper_panel, lower_panel = figure.subplots(2, 1, sharex=True, height_ratios=(UPPER, lower))
        _reservoir(upper_panel, found)
        _arms(lower_panel, found, arms)
        _targets((upper_panel, lower_panel), found.belief)
        ticks = [tick for tick in TICKS if _is_within(upper_panel, log_odds(tick))]
        lower_panel.set_xticks(log_odds(ticks), labels=[f"{tick:g}" for tick in ticks])
        lower_panel.set_xlabel("mean (log-odds)")
        title = f"{found.cell.policy_name} in “{found.cell.world_name}” after {many(found.cell.horizon, 'round')}"
        change = f"It believes that {found.belief['change']['in_words']}."
        upper_panel.set_title(change, loc="left", fontsize=7.0, color=GREY)
        figure.suptitle(
            textwrap.fill(title, int(inches(width) * LETTERS)), x=0.01, ha="left", fontsize="medium", fontweight="bold",
        )  # fmt: skip
        handles, words = upper_panel.get_legend_handles_labels()
        below = lower_panel.get_legend_handles_labels()
        across = max(1, int(inches(width) / 2.4))
        figure.legend(handles + below[0], words + below[1], loc="outside lower left", ncols=across, fontsize=7.0)
        figure.draw_without_rendering()  # ticks take their settings when they are first drawn
        return figure


def log_odds(means: Any) -> NDArray[np.float64]:
    """Where a mean is drawn.

    Examples
    --------
    >>> log_odds([0.5, 0.9]).round(3).tolist()
    [0.0, 2.197]
    """
    clipped = np.clip(np.asarray(means, dtype=np.float64), NEAREST, 1.0 - NEAREST)
    return np.asarray(np.log(clipped / (1.0 - clipped)))


def true_means(found: Account, draws: int = DRAWS) -> NDArray[np.float64]:
    """Fresh arms of the world as it is in the last round, the best first."""
    key = replication_key(found.seed, found.replication)
    reservoir = found.cell.world.reservoir.start()
    means = [fresh_mean_in(reservoir, bits_at(key, arm, 0), found.cell.horizon) for arm in range(draws)]
    return np.sort(np.array(means, dtype=np.float64))[::-1]


def learned_shares(reservoir: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-odds, and the share of arms above each as the policy believes: masses are spread over their cells."""
    points = log_odds(reservoir["means"])
    borders = np.concatenate([points[:1], 0.5 * (points[1:] + points[:-1]), points[-1:]])
    above = np.concatenate([np.cumsum(reservoir["masses"][::-1])[::-1], [0.0]])
    return borders, np.minimum(above, 1.0)


def _reservoir(panel: "Axes", found: Account) -> None:
    """The share of arms above a mean, believed and true."""
    means = true_means(found)
    shares = (np.arange(means.size) + 1.0) / means.size
    borders, above = learned_shares(found.belief["reservoir"])
    panel.plot(log_odds(means), shares, color=GREY, linestyle="--", label="arms as they are")
    panel.plot(borders, above, color=BLUE, label="arms as it believes them to be")
    panel.set_yscale("log")
    panel.set_ylim(RAREST, 1.3)
    panel.set_yticks([1.0, 0.1, 0.01, 0.001], labels=["all", "1 in 10", "1 in 100", "1 in 1,000"])
    panel.set_ylabel("arms that are above")
    seen = [*log_odds(means[[int(RAREST * means.size), int(MOST * means.size)]]).tolist()]
    seen += [border for border, share in zip(borders.tolist(), above.tolist(), strict=True) if RAREST < share < MOST]
    seen += [float(log_odds(arm[end])) for arm in found.belief["kept_arms"][:MOST_ARMS] for end in ("low", "high")]
    panel.set_xlim(min(seen) - 0.2, max(seen) + 0.2)


def _arms(panel: "Axes", found: Account, arms: list[dict[str, Any]]) -> None:
    """The arms it keeps, with intervals, and what they are."""
    if arms:
        heights = range(len(arms))
        low, high = (log_odds([arm[end] for arm in arms]) for end in ("low", "high"))
        panel.hlines(heights, low, high, color=BLUE, linewidth=2.0, alpha=0.5, label="kept arm: with probability 0.9")
        believed = log_odds([arm["mean"] for arm in arms])
        panel.plot(believed, heights, ".", color=BLUE, markersize=5, label="mean, as it believes")
        truth = [found.log.next_mean[np.flatnonzero(found.log.arm == arm["arm"])[-1]] for arm in arms]
        panel.plot(log_odds(truth), heights, "x", color=INK, markersize=4, label="mean after its last play")
    panel.set_yticks(
        range(len(arms)), labels=[f"arm {arm['arm']:,}: {many(arm['plays'], 'play')}" for arm in arms], fontsize=6.5
    )
    panel.set_ylim(max(len(arms), 1) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")


def _targets(panels: "tuple[Axes, Axes]", belief: dict[str, Any]) -> None:
    """Lines through both panels: what it earns, and what is better; the target is drawn full."""
    for name, words, colour in (("average", "what it earns", RED), ("better", "what is better", INK)):
        is_target = belief["target"] == belief[name]
        for place, panel in enumerate(panels):
            panel.axvline(
                float(log_odds(belief[name])), color=colour, linewidth=1.0, linestyle="-" if is_target else ":",
                label=f"{words}{': its target' if is_target else ''}" if place == 0 else None, zorder=0.5,
            )  # fmt: skip


def _is_within(panel: "Axes", place: NDArray[np.float64]) -> bool:
    low, high = panel.get_xlim()
    return bool(low <= place <= high)
