"""What a Forager knows, said: in plain numbers, and in a few sentences.

Nothing here is played; `Forager.explain` is made of it.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .watch import KINDS, Watch, all_in_all

if TYPE_CHECKING:
    from .forager import ForagerState

SURE = 0.9
"""With this probability an arm is within its interval."""

SHARES = (0.5, 0.1, 0.01)
"""Of the reservoir it is said what so many of all arms exceed."""

MOST_NAMED = 3
"""So many arms are named in the sentences."""


class Words(NamedTuple):
    """What the sentences are made of: for those who simulate arms, and for those who have items."""

    things: str
    average: str
    no_good_one: str
    none_played: str
    good_ones: str
    is_content: str
    wants_more: str
    reservoir: str
    still: str
    resets: str
    falls: str
    rises: str
    wanders: str
    of_late: str
    coins: str
    other_noise: str
    one_good: str
    some_good: str
    search: str
    out_of_stock: str
    play: str
    plays: str


ARMS = Words(
    things="arms",
    average="Of late it earns {average} a play; fresh arms are worth {fresh} on average, and those above what it earns "
    "{better}.",
    no_good_one="No arm was good enough so far, and it looks for better ones.",
    none_played="None of its own plays so far was of an arm that was good enough.",
    good_ones="Arms that were good enough earn {earned}",
    is_content="which is as much: what earns the average is good enough ({share} of its plays were search)",
    wants_more="which is less: only what is better is good enough ({share} of its plays were search)",
    reservoir="Half of all arms are above {half}, one in ten above {tenth}, one in a hundred above {hundredth}.",
    still="arms do not change",
    resets="one in {number} plays draws an arm anew",
    falls="arms lose {share} of their mean with a play",
    rises="arms gain {share} of their mean with a play",
    wanders="arms wander",
    of_late="of late, it plays as if {change}",
    coins="rewards are coins",
    other_noise="rewards vary {dispersion} times as much as coins",
    one_good="Good enough is {named}.",
    some_good="Good enough are {named}.",
    search="No arm that it knows is good enough: it searches.",
    out_of_stock="No arm that it knows is good enough, and there is no fresh one: it plays what promises most.",
    play="1 play",
    plays="{number} plays",
)

ITEMS = Words(
    things="items",
    average="Of late it earns {average} a try; fresh items earn {fresh} on average, and those that earn more than it "
    "does {better}.",
    no_good_one="No item was good enough so far, and it looks for better ones.",
    none_played="None of its own tries so far was of an item that was good enough.",
    good_ones="Items that were good enough earned {earned} a try",
    is_content="which is as much: what earns the average is good enough ({share} of its tries were in search of more)",
    wants_more="which is less: only what is better is good enough ({share} of its tries were in search of more)",
    reservoir="Half of all items earn more than {half}, one in ten more than {tenth}, one in a hundred more than "
    "{hundredth}.",
    still="items do not change",
    resets="one in {number} tries makes an item as good as any other",
    falls="items lose {share} of what they earn with a try",
    rises="items gain {share} of what they earn with a try",
    wanders="what items earn goes up and down",
    of_late="of late, it decides as if {change}",
    coins="rewards are yes or no",
    other_noise="rewards vary {dispersion} times as much as if they were yes or no",
    one_good="Good enough is {named}.",
    some_good="Good enough are {named}.",
    search="No item that it knows is good enough: it tries others.",
    out_of_stock="No item that it knows is good enough, and there is no fresh one: it tries what promises most.",
    play="1 try",
    plays="{number} tries",
)


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
    """A change of arms whose mean is ``level``."""
    return {"kind": KINDS[kind], "rate": rate, "in_words": change_in_words(KINDS[kind], rate, level)}


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
    """What it knows, sentence by sentence; of items, if it is said how many there are."""
    if not known["rounds"]:
        return ["Nothing was told yet."]
    words = ITEMS if "items" in known else ARMS
    average, fresh, better = (short(known[name]) for name in ("average", "fresh", "better"))
    good = [arm for arm in known["kept_arms"] if arm["plays"] and arm["mean"] >= known["target"]]
    said = [
        words.average.format(average=average, fresh=fresh, better=better),
        content_in_words(known, bool(good), words),
        reservoir_in_words(known["reservoir"]["exceeded_by"], words),
        f"It believes that {changes_in_words(known, words)}, and that {noise_in_words(known['noise'], words)}.",
        arms_in_words(good, words) if good else words.search if known["has_fresh"] else words.out_of_stock,
    ]
    if known["open_asks"]:
        said.append(f"Answers that are out: {known['open_asks']:,}.")
    return said


def content_in_words(known: Mapping[str, Any], has_good: bool = False, words: Words = ARMS) -> str:
    """Which target it has, and why."""
    if known["kept_plays_earn"] is None:
        return words.none_played if has_good else words.no_good_one
    earned = words.good_ones.format(earned=short(known["kept_plays_earn"]))
    why = words.is_content if known["is_content"] else words.wants_more
    return f"{earned}, {why.format(share=percent(known['search']))}."


def reservoir_in_words(exceeded: dict[str, float], words: Words = ARMS) -> str:
    """What half of all arms, one in ten and one in a hundred exceed."""
    half, tenth, hundredth = (short(mean) for mean in exceeded.values())
    return words.reservoir.format(half=half, tenth=tenth, hundredth=hundredth)


def changes_in_words(known: Mapping[str, Any], words: Words = ARMS) -> str:
    """How arms have changed; and as what it plays now, if that is of another kind."""
    change, of_late = known["change"], known["change_of_late"]
    said, said_of_late = (
        one["in_words"] if words is ARMS else change_in_words(one["kind"], one["rate"], known["better"], words)
        for one in (change, of_late)
    )
    return said if change["kind"] == of_late["kind"] else f"{said} ({words.of_late.format(change=said_of_late)})"


def change_in_words(kind: str, rate: float, level: float, words: Words = ARMS) -> str:
    """A change. Log-odds that fall by v take v (1 - mean) of the mean: said of a mean of ``level``."""
    said: str = getattr(words, kind)
    return said.format(share=percent(rate * (1.0 - level)), number=whole(1.0 / rate) if rate > 0.0 else "")


def noise_in_words(noise: dict[str, Any], words: Words = ARMS) -> str:
    """By how much rewards vary."""
    return words.coins if noise["are_coins"] else words.other_noise.format(dispersion=f"{noise['dispersion']:.2g}")


def arms_in_words(good: list[dict[str, Any]], words: Words = ARMS) -> str:
    """The arms that are good enough, the best by name."""
    named = ", ".join(arm_in_words(arm, words) for arm in good[:MOST_NAMED])
    if len(good) == 1:
        return words.one_good.format(named=named)
    more = f", and {len(good) - MOST_NAMED} more" if len(good) > MOST_NAMED else ""
    return words.some_good.format(named=f"{named}{more}")


def arm_in_words(arm: dict[str, Any], words: Words = ARMS) -> str:
    """An arm, or its item, with its interval and its plays."""
    name = f"arm {arm['arm']:,}" if "key" not in arm else repr(arm["key"])
    plays = words.play if arm["plays"] == 1 else words.plays.format(number=f"{arm['plays']:,}")
    return f"{name} at {short(arm['mean'])} ({short(arm['low'])} to {short(arm['high'])}; {plays})"


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
