"""What a Forager knows, said: in plain numbers, and in a few sentences.

Nothing here is played; `Forager.explain` is made of it.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .watch import FALLS, KINDS, RESETS, RISES, STILL, Watch, all_in_all

if TYPE_CHECKING:
    from .forager import ForagerState

SURE = 0.9
"""With this probability an arm is within its interval."""

SHARES = (0.5, 0.1, 0.01)
"""Of the reservoir it is said what so many of all arms exceed."""

MOST_NAMED = 3
"""So many arms are named in the sentences."""


def insight(state: "ForagerState", dispersion: float) -> dict[str, Any]:
    """What it knows; ``dispersion`` is the variance of rewards over that of coins."""
    experience = state.experience
    better = float(state.better)
    numbers = {
        "rounds": int(experience.rounds),
        "average": float(experience.average),
        "better": better,
        "target": float(state.target),
        "is_content": bool(state.is_content),
        "kept_plays_earn": float(experience.kept_reward / experience.kept) if experience.kept > 1e-9 else None,
        "search": 1.0 - float(experience.kept),
        "fresh": float(state.reservoir.reward_above[0]),
        "reservoir": reservoir_known(state),
        "change": change_of_model(all_in_all(state.watch), better),
        "change_of_late": change_of_model(state.watch, better),
        "noise": {"are_coins": bool(state.noise.is_coin), "dispersion": float(dispersion)},
        "kept_arms": kept_arms(state),
        "has_fresh": bool(state.is_supplied and state.counts.arms < state.stock),
        "open_asks": int(state.open.numbers[: state.used].sum()),
    }
    return numbers | {"in_words": " ".join(sentences(numbers))}


# ---------------------------------------------------------------- in numbers


def reservoir_known(state: "ForagerState") -> dict[str, Any]:
    """The reservoir: means and masses of the grid, and what a share of all arms exceeds."""
    masses = -np.diff(state.reservoir.share_above)
    exceeded = quantiles(state.grid.points, masses, [1.0 - share for share in SHARES])
    return {
        "arms": float(state.reservoir.judged),
        "means": state.grid.means.tolist(),
        "masses": masses.tolist(),
        "exceeded_by": {f"{share:g}": mean for share, mean in zip(SHARES, exceeded, strict=True)},
    }


def change_of_model(watch: Watch, level: float) -> dict[str, Any]:
    """What the believed model says."""
    return change_believed(int(watch.kinds[watch.model]), float(watch.rate), level)


def change_believed(kind: int, rate: float, level: float) -> dict[str, Any]:
    """A change. Log-odds that fall by v take v (1 - mean) of the mean: said of a mean of ``level``."""
    share = rate * (1.0 - level)
    if kind == STILL:
        words = "arms do not change"
    elif kind == RESETS:
        words = f"one in {whole(1.0 / rate)} plays draws an arm anew"
    elif kind == FALLS:
        words = f"arms lose {percent(share)} of their mean with a play"
    elif kind == RISES:
        words = f"arms gain {percent(share)} of their mean with a play"
    else:
        words = "arms wander"
    return {"kind": KINDS[kind], "rate": rate, "in_words": words}


def kept_arms(state: "ForagerState") -> list[dict[str, Any]]:
    """Each arm with a slot, the best first, with an interval."""
    points = state.grid.points
    masses = state.masses.reshape(-1, points.size)
    slots = [slot for slot in range(int(state.used)) if state.arms[slot] >= 0]
    found = []
    for slot in sorted(slots, key=lambda slot: -state.means[slot]):
        low, high = quantiles(points, masses[slot], [0.5 * (1.0 - SURE), 0.5 * (1.0 + SURE)])
        found.append(
            {
                "arm": int(state.arms[slot]),
                "mean": float(state.means[slot]),
                "low": low,
                "high": high,
                "plays": int(state.plays[slot]),
                "open": int(state.open.numbers[slot]),
            }
        )
    return found


def quantiles(points: NDArray[np.float64], masses: NDArray[np.float64], shares: list[float]) -> list[float]:
    """The means below which such shares of the masses lie, each mass spread evenly over its cell of log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> [round(mean, 3) for mean in quantiles(np.array([-1.0, 0.0, 1.0]), np.array([0.25, 0.5, 0.25]), [0.25, 0.5])]
    [0.378, 0.5]
    """
    inner = 0.5 * (points[1:] + points[:-1])
    borders = np.concatenate([points[:1], inner, points[-1:]])
    below = np.concatenate([[0.0], np.cumsum(masses)])
    found = np.interp(np.array(shares) * below[-1], below, borders)
    return [1.0 / (1.0 + math.exp(-point)) for point in found.tolist()]


# ---------------------------------------------------------------- in words


def sentences(known: Mapping[str, Any]) -> list[str]:
    """What it knows, sentence by sentence."""
    if not known["rounds"]:
        return ["Nothing was told yet."]
    said = [
        f"Of late it earns {short(known['average'])} a play; fresh arms are worth {short(known['fresh'])} on average, "
        f"and those above what it earns {short(known['better'])}.",
        content_in_words(known),
        reservoir_in_words(known["reservoir"]["exceeded_by"]),
        f"It believes that {changes_in_words(known)}, and that {noise_in_words(known['noise'])}.",
    ]
    good = [arm for arm in known["kept_arms"] if arm["plays"] and arm["mean"] >= known["target"]]
    said.append(arms_in_words(good) if good else search_in_words(known))
    if known["open_asks"]:
        said.append(f"Answers that are out: {known['open_asks']:,}.")
    return said


def search_in_words(known: Mapping[str, Any]) -> str:
    """Nothing is good enough."""
    if known["has_fresh"]:
        return "No arm that it knows is good enough: it searches."
    return "No arm that it knows is good enough, and there is no fresh one: it plays what promises most."


def content_in_words(known: Mapping[str, Any]) -> str:
    """Which target it has, and why."""
    if known["kept_plays_earn"] is None:
        return "No arm was good enough so far, and it looks for better ones."
    earns = f"Arms that were good enough earn {short(known['kept_plays_earn'])}"
    share = f"{percent(known['search'])} of its plays were search"
    if known["is_content"]:
        return f"{earns}, which is as much: what earns the average is good enough ({share})."
    return f"{earns}, which is less: only what is better is good enough ({share})."


def reservoir_in_words(exceeded: dict[str, float]) -> str:
    """What half of all arms, one in ten and one in a hundred exceed."""
    half, tenth, hundredth = (short(mean) for mean in exceeded.values())
    return f"Half of all arms are above {half}, one in ten above {tenth}, one in a hundred above {hundredth}."


def changes_in_words(known: Mapping[str, Any]) -> str:
    """How arms have changed; and as what it plays now, if that is of another kind."""
    change, of_late = known["change"], known["change_of_late"]
    if change["kind"] == of_late["kind"]:
        return str(change["in_words"])
    return f"{change['in_words']} (of late, it plays as if {of_late['in_words']})"


def noise_in_words(noise: dict[str, Any]) -> str:
    """By how much rewards vary."""
    if noise["are_coins"]:
        return "rewards are coins"
    return f"rewards vary {noise['dispersion']:.2g} times as much as coins"


def arms_in_words(good: list[dict[str, Any]]) -> str:
    """The arms that are good enough, the best by name."""
    named = ", ".join(arm_in_words(arm) for arm in good[:MOST_NAMED])
    if len(good) == 1:
        return f"Good enough is {named}."
    more = f", and {len(good) - MOST_NAMED} more" if len(good) > MOST_NAMED else ""
    return f"Good enough are {named}{more}."


def arm_in_words(arm: dict[str, Any]) -> str:
    """An arm, or its item, with its interval and its plays."""
    name = f"arm {arm['arm']:,}" if "key" not in arm else repr(arm["key"])
    return f"{name} at {short(arm['mean'])} ({short(arm['low'])} to {short(arm['high'])}; {plays_of(arm)})"


def short(mean: float) -> str:
    """A mean with three digits of it, or of its distance from 1.

    Examples
    --------
    >>> short(0.5), short(0.9912), short(0.00345), short(1.0)
    ('0.500', '0.99120', '0.00345', '1')
    """
    nearest = min(abs(mean), abs(1.0 - mean))
    if nearest < 1e-9:
        return f"{mean:.0f}"
    return f"{mean:.{2 - math.floor(math.log10(nearest))}f}"


def percent(share: float) -> str:
    """A share in percent, two digits.

    Examples
    --------
    >>> percent(0.0031), percent(0.25), percent(0.0)
    ('0.31 %', '25 %', '0 %')
    """
    return f"{float(f'{100.0 * share:.2g}'):g} %"


def whole(number: float) -> str:
    """A number of plays, two digits."""
    return f"{int(float(f'{number:.2g}')):,}"


def plays_of(arm: dict[str, Any]) -> str:
    """How often an arm was played."""
    return "1 play" if arm["plays"] == 1 else f"{arm['plays']:,} plays"
