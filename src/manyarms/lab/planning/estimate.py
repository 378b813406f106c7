"""The estimate: what fresh items are like, whether they wear and how late answers are, each with an interval."""

import dataclasses
from typing import NamedTuple

import numpy as np

from ...feedbacks import LONGEST_DELAY, AtOnce, Delayed, Feedback, LogNormal
from .counts import Counts, Floats
from .mixing import (
    FURTHER_STEPS,
    Evidence,
    evidence_of,
    exceeded,
    grid_of,
    likelihoods,
    likely_range,
    log_likelihoods,
    smooth_masses,
)
from .wear import Wear, estimated_wear

DRAWS = 100
"""Samples of items, drawn with replacement from those that there are."""

DEVIATIONS = 2.6
"""How many standard deviations of these samples an interval reaches to either side, in logarithms. 1.96, which is
right for a normal distribution, was too few: ``verification/plan.py`` says how often intervals hold the truth."""

BEST_LOSS = 1.0
"""For the best item, samples do not tell how much better than all it could be. The interval also holds what makes the
counts less likely by no more than this, in logarithms."""

SHARES = {"half": 0.5, "one in ten": 0.1, "one in a hundred": 0.01}


class Interval(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """By name."""
        return {name: float(part) for name, part in self._asdict().items()}


class Draw(NamedTuple):
    """What the catalogue may be like, given what is known of it."""

    masses: Floats
    wear: float
    past: float  # what a play paid


class Delays(NamedTuple):
    """How many rounds answers took."""

    half: float
    nine_in_ten: float
    longest: float


@dataclasses.dataclass(frozen=True, eq=False)
class Catalogue:
    """What counts tell of a catalogue.

    Attributes
    ----------
    rates, masses
        What fresh items are like: with these masses they have these rates.
    mean
        The average item, which is what items played at random pay.
    exceeded_by
        What half of all items, one in ten and one in a hundred exceed.
    best, best_of
        What the best of so many items has.
    past
        What a play paid.
    chosen
        What a play paid over what the average item pays. Above 1 if good items were played more.
    wear
        The share of its rate that an item loses with a play; None without times.
    delays
        How long answers took; None if that is not known.
    draws
        What the catalogue may be like.
    """

    rates: Floats
    masses: Floats
    mean: Interval
    exceeded_by: dict[str, Interval]
    best: Interval
    best_of: int
    past: Interval
    chosen: Interval
    wear: Wear | None
    delays: Delays | None
    draws: tuple[Draw, ...]

    @property
    def were_chosen(self) -> bool:
        """Whether good items were played more than others, clearly."""
        return self.chosen.low > 1.0

    def feedback(self) -> Feedback:
        """When answers come, if they go on to be as late as they were."""
        if self.delays is None or self.delays.longest < 1.0:
            return AtOnce()
        longest = min(max(int(self.delays.longest), 1), LONGEST_DELAY)
        median = max(self.delays.half, 0.5)
        spread = np.log(max(self.delays.nine_in_ten, 1.01 * median) / median) / 1.2816  # the normal's 90 % quantile
        return Delayed(LogNormal(median=median, spread=float(min(spread, 10.0)), longest=longest))


def estimated_catalogue(counts: Counts, random: np.random.Generator, best_of: int | None = None) -> Catalogue:
    """What counts tell of a catalogue, and what it may be like by chance."""
    evidence = evidence_of(counts, random)
    wear = None if counts.history is None else estimated_wear(evidence)
    rates = grid_of(evidence)
    seen = likelihoods(log_likelihoods(evidence, rates, wear.value if wear is not None and wear.is_seen else 0.0))
    masses = smooth_masses(seen, evidence.number)
    draws = [drawn(evidence, rates, seen, masses, wear, random) for _ in range(DRAWS)]
    best_of = best_of or len(counts.items)
    shares = np.array([*SHARES.values(), 1.0 / best_of])

    def told(masses: Floats, past: float) -> Floats:
        mean = float(masses @ rates)
        return np.array([mean, past, past / mean, *exceeded(rates, masses, shares)])

    samples = np.array([told(draw.masses, draw.past) for draw in draws])
    mean, past, chosen, *levels, best = intervals(told(masses, counts.past_rate), samples)
    first, last = likely_range(seen, evidence.number, masses, 1.0 / best_of, BEST_LOSS)
    best = best._replace(low=min(best.low, float(rates[first - 1])), high=max(best.high, float(rates[last])))
    return Catalogue(
        rates=rates, masses=masses, mean=mean, exceeded_by=dict(zip(SHARES, levels, strict=True)), best=best,
        best_of=best_of, past=past, chosen=chosen, wear=wear, delays=delays_of(counts), draws=tuple(draws),
    )  # fmt: skip


def drawn(
    evidence: Evidence,
    rates: Floats,
    seen: Floats,
    masses: Floats,
    wear: Wear | None,
    random: np.random.Generator,
) -> Draw:
    """What would have been found with other items of the same catalogue, and with other luck in estimating wear."""
    items = int(evidence.number.sum())
    number = random.multinomial(items, evidence.number / items).astype(np.float64)
    kept = number > 0.0
    worn = drawn_wear(wear, random)
    if wear is not None and worn != 0.0:
        seen = likelihoods(log_likelihoods(evidence, rates, worn))
    found = smooth_masses(seen[kept], number[kept], masses, FURTHER_STEPS)
    return Draw(found, worn, float(number @ evidence.reward / (number @ evidence.plays)))


def drawn_wear(wear: Wear | None, random: np.random.Generator) -> float:
    """Wear as it may be: none, with its chance."""
    if wear is None or random.random() < wear.chance_of_none:
        return 0.0
    luck = float(random.normal())
    side = wear.high - wear.value if luck > 0.0 else wear.value - wear.low
    return min(max(wear.value + luck * side / 1.96, 0.0), 0.9)


def intervals(values: Floats, samples: Floats) -> list[Interval]:
    """Each value with its interval, by the spread of the logarithms of samples (a column for each value)."""
    spreads = DEVIATIONS * np.log(np.maximum(samples, 1e-12)).std(axis=0, ddof=1)
    return [
        Interval(float(value), float(value * np.exp(-spread)), float(value * np.exp(spread)))
        for value, spread in zip(values, spreads, strict=True)
    ]


def delays_of(counts: Counts) -> Delays | None:
    """Quantiles of delays, each play counting as much as any other."""
    if counts.delays is None or counts.delay_weights is None:
        return None
    order = np.argsort(counts.delays)
    delays, below = counts.delays[order], np.cumsum(counts.delay_weights[order]) / counts.delay_weights.sum()
    half, most = (float(delays[min(int(np.searchsorted(below, share)), delays.size - 1)]) for share in (0.5, 0.9))
    return Delays(half, most, float(delays[-1]))
