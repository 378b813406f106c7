"""Plans: how often their intervals hold the truth, and how often what they choose is nearly the best.

Catalogues with click rates are made up whose truth is known: four reservoirs, each still and with wear. From each,
items are drawn and played some hundred times, in eight buckets of time. The counts alone are given to the estimates
(many samples) and to the whole plan (fewer). What every candidate really earns is found by many runs in the true world.

Prints the tables of docs/plan.md.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import manyarms as ma
from manyarms.lab import plan
from manyarms.lab.planning.candidates import candidates
from manyarms.lab.planning.counts import read_counts
from manyarms.lab.planning.estimate import Interval, estimated_catalogue
from manyarms.tables import Table

Floats = NDArray[np.float64]

RESERVOIRS: dict[str, ma.Reservoir] = {
    "clicks of 1 %": ma.BetaDistributed(1.2, 110.0),
    "clicks to 8 %": ma.PowerLaw(3.0, top=0.08),
    "one in 50 at 10 %": ma.Mixture((ma.BetaDistributed(4.0, 400.0), ma.BetaDistributed(20.0, 180.0)), (49.0, 1.0)),
    "clicks of 5 %": ma.BetaDistributed(2.0, 38.0),
}
WEARS = {"still": 0.0, "wear 0.2 %": 0.002}
ITEMS, MEDIAN_PLAYS, BUCKETS = 1_000, 150.0, 8
ROUNDS = 50_000
NEAR = 0.97


def drawn_means(name: str, number: int, random: np.random.Generator) -> Floats:
    """Rates of fresh items."""
    if name == "one in 50 at 10 %":
        return np.where(random.random(number) < 0.02, random.beta(20, 180, number), random.beta(4, 400, number))
    if name == "clicks to 8 %":
        return 0.08 * (1.0 - random.random(number) ** (1.0 / 3.0))
    shape = {"clicks of 1 %": (1.2, 110.0), "clicks of 5 %": (2.0, 38.0)}[name]
    return random.beta(*shape, number)


def sampled_counts(name: str, wear: float, random: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """What a file would have: a row for each item and bucket of time."""
    means = drawn_means(name, ITEMS, random)
    plays = np.ceil(np.exp(random.normal(np.log(MEDIAN_PLAYS / BUCKETS), 0.8, ITEMS))).astype(int)
    columns = []
    for bucket in range(BUCKETS):
        reward = np.zeros(ITEMS)
        for item in range(ITEMS):  # play by play, as wear works
            rates = means[item] * (1.0 - wear) ** (bucket * plays[item] + np.arange(plays[item]))
            reward[item] = (random.random(plays[item]) < rates).sum()
        columns.append(np.stack([np.arange(ITEMS), np.full(ITEMS, bucket), plays, reward]))
    return dict(zip(("item", "time", "plays", "reward"), np.concatenate(columns, axis=1), strict=True))


def holds(interval: Interval, truth: float) -> bool:
    """Whether the interval holds the truth."""
    return interval.low <= truth <= interval.high


def estimates_row(name: str, wear_name: str, samples: int, random: np.random.Generator) -> dict[str, object]:
    """How often the intervals of the estimates hold the truth."""
    many = np.sort(drawn_means(name, 1_000_000, random))
    truths = {"mean": many.mean(), "half": np.quantile(many, 0.5), "one in ten": np.quantile(many, 0.9)}
    truths |= {"one in a hundred": np.quantile(many, 0.99), "best of 1,000": np.quantile(many, 0.999)}
    held = dict.fromkeys([*truths, "wear"], 0)
    widths: list[float] = []
    seen = 0
    for _ in range(samples):
        found = estimated_catalogue(read_counts(sampled_counts(name, WEARS[wear_name], random)), random)
        intervals = {"mean": found.mean, **found.exceeded_by, "best of 1,000": found.best}
        for what, truth in truths.items():
            held[what] += holds(intervals[what], truth)
        assert found.wear is not None
        held["wear"] += found.wear.low <= WEARS[wear_name] <= found.wear.high
        seen += found.wear.is_seen
        widths.append(found.exceeded_by["one in a hundred"].high / found.exceeded_by["one in a hundred"].low)
    row: dict[str, object] = {"catalogue": f"{name}, {wear_name}"}
    row |= {what: number / samples for what, number in held.items()}
    return row | {"wear seen": seen / samples, "high / low": float(np.median(widths))}


def true_rewards(world: ma.World, replications: int) -> dict[str, float]:
    """What candidates really earn a round, by name."""
    law = drawn_prior(world)
    found = {}
    for candidate in candidates(ROUNDS, None, law):
        runs = replications // 4 if candidate.family == "Thompson" else replications
        result = ma.simulate({"it": candidate.policy}, world, ROUNDS, runs, seed=77, checkpoints=1)
        found[candidate.name] = float(result.final("it", "reward").mean()) / ROUNDS
    return found


def drawn_prior(world: ma.World) -> tuple[float, float]:
    """The Beta distribution with the moments of the true reservoir."""
    name = next(name for name, reservoir in RESERVOIRS.items() if reservoir == world.reservoir)
    means = drawn_means(name, 200_000, np.random.default_rng(0))
    plays = means.mean() * (1.0 - means.mean()) / means.var() - 1.0
    return float(means.mean() * plays), float((1.0 - means.mean()) * plays)


def plans_row(
    name: str, wear_name: str, plans: int, replications: int, random: np.random.Generator
) -> dict[str, object]:
    """How often the choice is nearly the best, and the interval of what it earns holds the truth."""
    world = ma.World(RESERVOIRS[name], ma.Rotting(f"{100 * WEARS[wear_name]:g}%"))
    truth = true_rewards(world, replications)
    best = max(truth, key=lambda candidate: truth[candidate])
    chance = float(drawn_means(name, 1_000_000, random).mean())
    near = held = over = 0
    losses, chosen = [], []
    for number in range(plans):
        counts = sampled_counts(name, WEARS[wear_name], random)
        found = plan(counts, ROUNDS, seed=number).choice
        earns = truth[found.name]
        near += earns >= NEAR * truth[best]
        held += holds(found.reward, earns)
        over += holds(found.over_random, earns / chance)
        losses.append(1.0 - earns / truth[best])
        chosen.append(found.name)
    most = max(set(chosen), key=chosen.count)
    return {
        "catalogue": f"{name}, {wear_name}", "best": best, "chosen most": most, "within 3 %": near / plans,
        "mean loss": float(np.mean(losses)), "reward held": held / plans, "over random held": over / plans,
        "earns": truth[most], "over random": truth[most] / chance,
    }  # fmt: skip


def example() -> dict[str, list[object]]:
    """Counts of 900 headlines over ten days; those that did well were shown more, and each view wears by 0.1 %."""
    random = np.random.default_rng(7)
    items = 900
    means = np.where(random.random(items) < 0.03, random.beta(15, 185, items), random.beta(1.5, 120, items))
    views = np.ceil(np.exp(random.normal(np.log(25), 0.7, items))).astype(int)
    before = np.zeros(items)
    rows: dict[str, list[object]] = {"headline": [], "day": [], "impressions": [], "clicks": []}
    for day in range(10):
        clicks = random.binomial(views, means * 0.999 ** (before + views / 2))
        names = [f"headline {number}" for number in range(items)]
        for column, values in zip(rows.values(), (names, [day] * items, views.tolist(), clicks.tolist()), strict=True):
            column.extend(values)
        before += views
        views = np.maximum((views * np.where(clicks / views > 0.03, 1.25, 0.9)).astype(int), 1)
    return rows


def table(row: Callable[[str, str], dict[str, object]]) -> list[dict[str, object]]:
    """A row for each catalogue."""
    return [row(name, wear_name) for wear_name in WEARS for name in RESERVOIRS]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=40, help="of each catalogue, for the estimates")
    parser.add_argument("--plans", type=int, default=5, help="of each catalogue")
    parser.add_argument("--replications", type=int, default=100, help="of the true world")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--example", metavar="FILE", help="write the counts of the example in docs/plan.md, and stop")
    options = parser.parse_args()
    if options.example:
        pd.DataFrame(example()).to_csv(options.example, index=False)
        return
    began = time.perf_counter()
    random = np.random.default_rng(options.seed)
    found = table(lambda name, wear: estimates_row(name, wear, options.samples, random))
    print(f"How often the intervals hold the truth, {options.samples} samples each.\n\n{Table(found)}\n", flush=True)
    found = table(lambda name, wear: plans_row(name, wear, options.plans, options.replications, random))
    print(f"What is chosen, {options.plans} plans each, {ROUNDS:,} rounds.\n\n{Table(found)}\n")
    near = float(np.mean([row["within 3 %"] for row in found]))
    print(f"Within 3 % of the best: {near:.3f} of all plans; {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
