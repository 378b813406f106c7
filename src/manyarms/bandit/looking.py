"""A live bandit as people look at it: in words and numbers, as a table and a picture, and against random items."""

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..policies.insight import ARMS, ITEMS, changes_in_words
from .items import HERE, Item

if TYPE_CHECKING:
    from .bandit import Bandit

SURE = 1.959963984540054
"""Standard errors to either side that hold a mean with probability 0.95."""

MOST_DRAWN = 15
"""So many items are in the picture."""


def explained(bandit: "Bandit") -> dict[str, Any]:
    """What ``Bandit.explain`` says."""
    catalogue = bandit._catalogue
    own: dict[str, Any] = {
        "policy": bandit.policy.label(),
        "asked": bandit.asked,
        "told": bandit.told,
        "timed_out": bandit.timed_out,
        "open": len(bandit._open),
        "restarts": int(bandit._counts.restarts),
        "blocks": int(bandit._counts.blocks),
        "arms_drawn": int(bandit._counts.arms),
        "ignored": int(bandit._counts.ignored),
    }
    if catalogue.has_items:
        states = [state_of(item) for item in catalogue.items.values()]
        own["items"] = {state: states.count(state) for state in dict.fromkeys(states)}
        own["waiting"] = sum(1 for _ in catalogue.waiting)
    known = own | bandit.policy.explain(bandit._state)
    return named(known, bandit) if catalogue.has_items and "kept_arms" in known else known


def named(known: dict[str, Any], bandit: "Bandit") -> dict[str, Any]:
    """The same with the keys of items beside their arms, and in the words of somebody who has items."""
    arms = bandit._catalogue.arms
    kept = [arm | {"key": arms[arm["arm"]].key} for arm in known["kept_arms"] if arm["arm"] in arms]
    return known | {"kept_arms": kept, "in_words": bandit.policy.in_words(known | {"kept_arms": kept})}


def state_of(item: Item) -> str:
    """What has become of an item, in a word or two."""
    if item.state != HERE:
        return item.state
    if item.arm is not None:
        return "known"
    return "let go" if item.had_arm and item.asks else "fresh"


def rate_of(item: Item, reward_range: tuple[float, float]) -> tuple[float, float, float]:
    """The average reward of an item with its interval, in the units of the caller; nan where nothing is known.

    The interval is Wilson's, for coins; for other rewards, with as many plays as would make coins of that mean vary as
    much.
    """
    if not item.plays:
        return math.nan, math.nan, math.nan
    low, high = reward_range
    mean = item.reward / item.plays
    spread = max(item.squares / item.plays - mean * mean, 1e-12)
    plays = max(item.plays * mean * (1.0 - mean) / spread, item.plays) if 0.0 < mean < 1.0 else float(item.plays)
    middle = (mean + SURE * SURE / (2.0 * plays)) / (1.0 + SURE * SURE / plays)
    half = SURE / (1.0 + SURE * SURE / plays) * math.sqrt(mean * (1.0 - mean) / plays + SURE**2 / (4.0 * plays**2))
    within = (mean, max(middle - half, 0.0), min(middle + half, 1.0))
    return tuple(low + (high - low) * value for value in within)  # type: ignore[return-value]


# ---------------------------------------------------------------- table


def table(bandit: "Bandit") -> Any:
    """What ``Bandit.table`` gives."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("Bandit.table needs pandas: pip install 'manyarms[lab]'") from None
    catalogue = bandit._catalogue
    items = list(catalogue.items.values() if catalogue.has_items else catalogue.arms.values())
    return pd.DataFrame(rows_of(bandit, items), columns=COLUMNS)


COLUMNS = ["key", "state", "asks", "plays", "reward", "rate", "low", "high", "age", "recent"]


def rows_of(bandit: "Bandit", items: Iterable[Item]) -> list[list[Any]]:
    """A row for each item, those asked for most of late first."""
    low, high = bandit.reward_range
    of_late = sum(item.recently(bandit.asked) for item in items) or 1.0
    rows = []
    for item in sorted(items, key=lambda item: -item.recently(bandit.asked)):
        reward = low * item.plays + (high - low) * item.reward
        age = bandit.asked - item.first_ask if item.first_ask else 0
        share = item.recently(bandit.asked) / of_late
        rows.append(
            [item.key, state_of(item), item.asks, item.plays, reward, *rate_of(item, bandit.reward_range), age, share]
        )
    return rows


# ---------------------------------------------------------------- lift


@dataclasses.dataclass(frozen=True)
class Lift:
    """What a bandit earns, and what random items earn beside it."""

    bandit: float  # reward a decision
    random: float
    ratio: float  # of the two
    low: float  # an interval that holds the ratio with probability 0.95
    high: float
    decisions: int  # with a reward, chosen by the policy
    held_out: int  # and at random

    def __str__(self) -> str:
        if not self.decisions or not self.held_out:
            return f"nothing to compare yet: {self.decisions:,} decisions have a reward, {self.held_out:,} at random"
        says = f"{self.bandit:.4g} a decision, {self.random:.4g} with random items"
        number = f"{self.decisions:,} decisions, {self.held_out:,} at random"
        if not self.ratio > 0.0:
            return f"{says}; how many times as much can be said only of averages above 0 ({number})"
        return f"{says}: {self.ratio:.3g} times as much ({self.low:.3g} to {self.high:.3g}; {number})"


def lift(bandit: "Bandit") -> Lift:
    """What ``Bandit.lift`` gives: a ratio of means, by the delta method for its logarithm."""
    chosen, held_out = bandit._progress.chosen, bandit._progress.held_out
    if not bandit.holdout and not chosen.plays and not held_out.plays:
        raise ValueError("Bandit.lift: there is no holdout to compare with; make one: Bandit(…, holdout=0.02)")
    low, high = bandit.reward_range

    def in_units(mean: float) -> float:
        return low + (high - low) * mean

    ends = (math.nan, 0.0, math.inf)
    if chosen.plays and held_out.plays and in_units(held_out.mean) > 0.0 and in_units(chosen.mean) > 0.0:
        ratio = in_units(chosen.mean) / in_units(held_out.mean)
        errors = ((high - low) * tally.error / in_units(tally.mean) for tally in (chosen, held_out))
        spread = SURE * math.hypot(*errors)
        factor = math.exp(spread) if spread < 700.0 else math.inf  # beyond all numbers
        ends = (ratio, ratio / factor, ratio * factor)
    return Lift(in_units(chosen.mean), in_units(held_out.mean), *ends, decisions=chosen.plays, held_out=held_out.plays)


# ---------------------------------------------------------------- picture


def plot(bandit: "Bandit") -> Any:
    """What ``Bandit.plot`` draws."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("Bandit.plot needs matplotlib: pip install 'manyarms[lab]'") from None
    known = explained(bandit)
    figure = Figure(figsize=(15.0, 8.0), layout="constrained")
    figure.suptitle(f"{bandit.policy.label()}: {bandit.asked:,} asked, {bandit.told:,} told")
    halves: Any = figure.subfigures(2, 1)
    over_time, search, alive = halves[0].subplots(1, 3)
    items, believed = halves[1].subplots(1, 2)
    draw_rewards(over_time, bandit)
    draw_search(search, bandit)
    draw_alive(alive, bandit)
    draw_items(items, bandit)
    draw_beliefs(believed, known)
    for axes in (over_time, search, alive):
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def draw_rewards(axes: Any, bandit: "Bandit") -> None:
    """Reward a decision over time."""
    low, high = bandit.reward_range
    spans = [(place, span) for place, span in enumerate(merged(bandit, 60)) if span[2]]
    width = spans_width(bandit, 60)
    at = [(place + 0.5) * width for place, _ in spans]
    axes.plot(at, [low + (high - low) * span[3] / span[2] for _, span in spans], color="C0")
    held_out = bandit._progress.held_out
    if held_out.plays:
        axes.axhline(low + (high - low) * held_out.mean, color="C7", linestyle="--", label="random items (holdout)")
        axes.legend(frameon=False)
    axes.set(title="reward a decision, as far as it is known", xlabel="decision", ylim=(None, None))
    axes.set_ylim(bottom=min(low, axes.get_ylim()[0]) if low < 0 else 0)


def draw_search(axes: Any, bandit: "Bandit") -> None:
    """The share of items that were never asked for before."""
    width = spans_width(bandit, 60)
    spans = merged(bandit, 60)
    axes.plot(
        [(place + 0.5) * width for place in range(len(spans))], [100 * s[1] / max(s[0], 1) for s in spans], color="C1"
    )
    axes.set(title="asks for something never asked for before, %", xlabel="decision")
    axes.set_ylim(0, None)


def draw_alive(axes: Any, bandit: "Bandit") -> None:
    """How many arms the policy could choose from."""
    progress = bandit._progress
    at = [1 + place * progress.step for place in range(len(progress.alive))]
    alive = [math.nan if number is None else number for number in progress.alive]
    now = len(bandit.policy.kept_arms(bandit._state))
    axes.plot([*at, max(bandit.asked, 1)], [*alive, now], color="C3")
    axes.set(title=f"arms alive: {now:,} now", xlabel="decision")
    axes.set_ylim(0, None)


def spans_width(bandit: "Bandit", most: int) -> int:
    """How many decisions are one point of a curve."""
    return bandit._progress.width * max(1, math.ceil(len(bandit._progress.spans) / most))


def merged(bandit: "Bandit", most: int) -> list[tuple[int, int, int, float]]:
    """Asks, search, plays and rewards of at most so many spans."""
    spans = bandit._progress.spans
    step = max(1, math.ceil(len(spans) / most))
    groups = [spans[first : first + step] for first in range(0, len(spans), step)]
    return [
        (sum(s.asks for s in g), sum(s.search for s in g), sum(s.plays for s in g), sum(s.reward for s in g))
        for g in groups
    ]


def draw_items(axes: Any, bandit: "Bandit") -> None:
    """The items asked for most of late, with their rates."""
    catalogue = bandit._catalogue
    everything = list(catalogue.items.values() if catalogue.has_items else catalogue.arms.values())
    rows = [row for row in rows_of(bandit, everything) if row[3]][:MOST_DRAWN]
    for place, row in enumerate(rows):
        axes.plot(row[6:8], [place, place], color="C0", linewidth=2)
        axes.plot(row[5], place, "o", color="C0")
    axes.set_yticks(range(len(rows)), [f"{row[0]!s:.24} ({row[3]:,})" for row in rows])
    axes.invert_yaxis()
    axes.set(title="items asked for most of late (plays): average reward, 95 %")


def draw_beliefs(axes: Any, known: dict[str, Any]) -> None:
    """What items are like, and how they change, where the policy says so; else all it says, in words."""
    if "reservoir" not in known:
        axes.axis("off")
        said = [f"{name}: {value}" for name, value in known.items() if isinstance(value, int | float | str)]
        axes.text(0.0, 1.0, "\n".join(said), va="top", wrap=True, fontsize="small")
        return
    means, masses = known["reservoir"]["means"], known["reservoir"]["masses"]
    above, share = [], 0.0
    for mass in reversed(masses):
        share += mass
        above.append(100 * share)
    axes.plot(means, list(reversed(above)), color="C2")
    axes.axvline(known["average"], color="C0", linestyle=":", label=f"what it earns of late: {known['average']:.3g}")
    words = ITEMS if "items" in known else ARMS
    axes.set(
        yscale="log",
        xlabel="average reward, from 0 to 1",
        title=f"{words.things} that are better, %: {changes_in_words(known, words)}",
    )
    seen = [mean for mean, percent in zip(means, reversed(above), strict=True) if percent > 0.02]
    axes.set_xlim(0, 1.1 * max([*seen, known["average"]]))
    axes.set_ylim(0.01, 150)
    axes.legend(frameon=False)
