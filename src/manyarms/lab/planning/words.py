"""A plan in words, as a table, and as JSON."""

import re
from typing import TYPE_CHECKING, Any

from ...columns import RATES, look_like_rates
from ...policies import Policy
from ...tables import Table, number_text
from .candidates import SIZES
from .estimate import Interval

if TYPE_CHECKING:
    from .plan import Plan, Prospect

FEW_ITEMS, FEW_REWARDS = 100, 50
DOUBTFUL = 0.05


def in_words(plan: "Plan") -> str:
    """What was found, what to do, and what to be careful about."""
    return f"{catalogue_in_words(plan)}\n{advice_in_words(plan)}"


# ---------------------------------------------------------------- the catalogue


def catalogue_in_words(plan: "Plan") -> str:
    """What the counts tell of the catalogue, a line for each thing."""
    found, counts = plan.catalogue, plan.counts
    levels = "; ".join(f"{who} above {rate(level)}" for who, level in found.exceeded_by.items())
    at_random = "" if plan.stock else ", which is what items at random earn"  # from a stock, they wear
    lines = [
        *counts.notes,
        f"{len(counts.items):,} items were played {counts.plays.sum():,.0f} times; a play paid {rate(found.past)}.",
        f"A fresh item pays {rate(found.mean)} on average{at_random}.",
        f"Of fresh items, {levels}.",
        f"The best of {found.best_of:,} may have {rate(found.best)}.",
        wear_in_words(plan),
    ]
    if found.delays is not None:
        delays = found.delays
        lines.append(
            f"Half of the answers came within {delays.half:,.0f} rounds, nine in ten within {delays.nine_in_ten:,.0f}; "
            f"the last took {delays.longest:,.0f}."
        )
    return "\n".join(lines)


def wear_in_words(plan: "Plan") -> str:
    """Whether items wear."""
    wear = plan.catalogue.wear
    if wear is None:
        return "Whether items wear cannot be told without a column of times; here they do not."
    low, high = (percent(wear.low), percent(wear.high))
    if not wear.is_seen:
        return f"No wear can be seen; at most, items lose {high} of their rate with a play."
    doubt = f"; there may be no wear after all, with probability {wear.chance_of_none:.2f}"
    unsure = doubt if wear.chance_of_none > DOUBTFUL else ""
    return f"Items lose {percent(wear.value)} of their rate with a play ({low} to {high}){unsure}."


# ---------------------------------------------------------------- what to do


def advice_in_words(plan: "Plan") -> str:
    """What to do, what that should earn, and what to be careful about."""
    best = plan.choice
    rounds = f"{plan.simulated_rounds:,} rounds"
    lines = [
        f"Use {in_python(best.policy)}.",
        f"Over {rounds} it plays about {items(best)} and should earn {rate(best.reward)} a round:",
        f"{times(best.over_random)} what random items earn, and {times(best.over_past)} what was earned so far.",
    ]
    as_good = [one for one in plan.prospects[1:] if one.is_as_good]
    if as_good:
        lines.append(f"As good, as far as can be told: {'; '.join(f'{one.name} ({items(one)})' for one in as_good)}.")
    return "\n".join(lines + [f"But {caution}" for caution in cautions(plan)])


def cautions(plan: "Plan") -> list[str]:
    """What the counts cannot tell, and what was left out."""
    found, said = plan.catalogue, []
    if found.were_chosen:
        said.append(
            f"plays were not spread by chance: they paid {times(found.chosen)} what the average item does. "
            "If a policy chose by what items had paid, and all items that were ever played are in the file, nothing is "
            "wrong with that. If people knew good items beforehand, fresh ones are worse than is said here."
        )
    if len(plan.counts.items) < FEW_ITEMS:
        said.append(f"{len(plan.counts.items):,} items tell little of fresh ones: play some hundred, a few times each.")
    if plan.counts.reward.sum() < FEW_REWARDS:
        said.append(f"rewards of {plan.counts.reward.sum():,.0f} in all tell little: wait for more.")
    if look_like_rates(plan.counts.plays.tolist(), plan.counts.reward.tolist()):
        said.append(f"{RATES}.")
    if plan.choice.reward.value * plan.simulated_rounds < FEW_REWARDS:
        said.append(f"so few rewards are to be expected in {plan.simulated_rounds:,} rounds that chance decides.")
    if plan.stock is None and plan.choice.items > len(plan.counts.items):
        said.append(
            f"it plays more items than the {len(plan.counts.items):,} of the file: if there are not so many, say how "
            "many there are (--stock, or stock=)."
        )
    if plan.simulated_rounds < plan.rounds:
        said.append(
            f"this is for the first {plan.simulated_rounds:,} of {plan.rounds:,} rounds: the longer it goes on, "
            "the more items are worth testing."
        )
    if plan.choice.over_random.low < 1.0:
        said.append("it is not sure that this earns more than random items.")
    for name, wanted in plan.left_out.items():
        said.append(f"{name} is left out: it plays some {rounded(wanted)} items, and there are {plan.stock:,}.")
    return said


def table_of(plan: "Plan") -> Table:
    """A row for each candidate, for random items and for the past."""
    rows = [
        {
            "candidate": one.name,
            "items": rounded(one.items),
            "reward a round": rate(one.reward),
            "over random": times(one.over_random, ""),
            "over the past": times(one.over_past, ""),
            "behind": "-" if one is plan.choice else behind(one),
        }
        for one in plan.prospects
    ]
    blank = dict.fromkeys(rows[0], "")
    rows.append(blank | {"candidate": "random items", "reward a round": rate(plan.random)})
    rows.append(blank | {"candidate": "the past", "reward a round": rate(plan.catalogue.past)})
    return Table(rows)


def to_json(plan: "Plan") -> dict[str, Any]:
    """All numbers by name."""
    found = plan.catalogue
    return {
        "counts": {"items": len(plan.counts.items), "plays": float(plan.counts.plays.sum())},
        "notes": list(plan.counts.notes),
        "past": found.past.to_json(),
        "reservoir": {
            "mean": found.mean.to_json(),
            "exceeded_by": {who: level.to_json() for who, level in found.exceeded_by.items()},
            "best": found.best.to_json() | {"of": found.best_of},
            "rates": found.rates.tolist(),
            "masses": found.masses.tolist(),
        },
        "chosen": found.chosen.to_json(),
        "wear": None if found.wear is None else found.wear._asdict() | {"is_seen": found.wear.is_seen},
        "delays": None if found.delays is None else found.delays._asdict(),
        "rounds": plan.rounds,
        "simulated_rounds": plan.simulated_rounds,
        "stock": plan.stock,
        "feedback": plan.feedback.to_json(),
        "random": plan.random.to_json(),
        "candidates": [one.to_json() for one in plan.prospects],
        "left_out": plan.left_out,
        "cautions": cautions(plan),
        "in_words": in_words(plan),
    }


# ---------------------------------------------------------------- numbers


def rate(found: Interval) -> str:
    """A rate with its interval: as many digits as tell anything.

    Examples
    --------
    >>> rate(Interval(0.012345, 0.0098, 0.01522))
    '0.0123 (0.0098 to 0.0152)'
    """
    return f"{found.value:.3g} ({found.low:.3g} to {found.high:.3g})"


def times(found: Interval, word: str = " times") -> str:
    """A factor with its interval."""
    return f"{found.value:.3g}{word} ({found.low:.3g} to {found.high:.3g})"


def percent(share: float) -> str:
    """A share in per cent."""
    return f"{100.0 * share:.2g} %"


def items(one: "Prospect") -> str:
    """How many items it plays."""
    return f"{rounded(one.items)} items"


def in_python(policy: Policy) -> str:
    """A policy as one would write it.

    Examples
    --------
    >>> import manyarms as ma
    >>> in_python(ma.Subsample(ma.KLUCB(), beta=1.0, arms=300))
    'ma.Subsample(base=ma.KLUCB(), beta=1.0, arms=300)'
    """
    return re.sub(r"\b([A-Z]\w*)\(", r"ma.\1(", policy.label())


def behind(one: "Prospect") -> str:
    """By what share of the best one's reward, and whether that may be chance."""
    return f"{100.0 * one.behind:.1f} %{' (chance)' if one.is_as_good else ''}"


def rounded(number: float) -> str:
    """A number to two digits: more would be a pretence, unless it is a size that was set."""
    return number_text(number) if number < 100 or number in SIZES else f"{float(f'{number:.2g}'):,.0f}"
