"""What the Forager, which is told nothing, earns and believes where the truth is known: make verify.

1. Tops: regret from the best mean there is, where nothing changes, for best means from 0.05 to 1, and its exponent in
   T; beside SSUCB, which is told beta and T. The Forager knows no horizon, so one run has the regret of all shorter
   ones in it, and is asked for it at checkpoints.
2. The same at a best mean of 1: the exponent against the theorem's, and regret over the least that is possible.
3. Change: in worlds of one kind of change, how often that kind is reported at the end, and its rate over the true one.
4. Late answers: reward in batches and with conversions, over that with all answers at once.

Prints the tables and writes them into docs/forager.md, below the heading "Tables".
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import manyarms as ma
from manyarms.intervals import mean_and_half_width
from manyarms.lab.figures.statistics import log_log_slope, with_half_width
from manyarms.lab.questions.lower_bound import still_bound
from manyarms.lab.questions.rates import Series, fit_row
from manyarms.policies.watch import KINDS, all_in_all
from manyarms.replication import Job, Run
from manyarms.tables import Table

HEADING = "## Tables"
TOPS = (0.05, 0.3, 0.7, 1.0)
BETAS = (0.5, 1.0, 2.0)


class Sizes(NamedTuple):
    """How long and how often everything is played."""

    powers: tuple[int, int]  # horizons of the tops, as powers of ten
    top_runs: int
    change_rounds: int
    change_runs: int
    late_rounds: int
    late_runs: int


FULL = Sizes(powers=(4, 6), top_runs=100, change_rounds=10**5, change_runs=50, late_rounds=10**5, late_runs=50)
QUICK = Sizes(powers=(3, 5), top_runs=8, change_rounds=10**4, change_runs=8, late_rounds=10**4, late_runs=8)


class Changing(NamedTuple):
    """A world of one kind of change."""

    name: str
    drift: ma.Drift
    kind: str
    rate: float  # of that kind, in truth


CHANGING = (
    Changing("nothing", ma.Crash(0.0), "still", 1e-6),
    *(Changing(f"crashes, {rate:g} a play", ma.Crash(rate), "resets", rate) for rate in (1e-4, 1e-3, 1e-2)),
    *(Changing(f"wear by {rate:g} %", ma.Rotting(f"{rate:g}%"), "falls", rate / 100) for rate in (0.03, 0.1, 0.3, 1.0)),
)
"""Wear by a share of the mean makes log-odds fall by that share over 1 minus the mean: for small means, little more."""

CRASHES = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=5e-4, to=0.0))
SMALL_MEANS = ma.World(ma.PowerLaw(beta=1.0, top=0.1), top=0.1)
LATE: tuple[tuple[str, ma.World, ma.Feedback], ...] = (
    *((f"batches of {size:,}", CRASHES, ma.Batches(size)) for size in (10, 100, 1000)),
    (
        "conversions within 1,000 rounds",
        SMALL_MEANS,
        ma.Conversions(ma.LogUniform(least=1, longest=1000), timeout=1000),
    ),
)
"""Arms that break down, and arms of which few rewards are 1, none of them changing."""


# ---------------------------------------------------------------- where nothing changes


def half_decades(powers: tuple[int, int]) -> list[int]:
    """Two horizons for every power of ten, both ends among them.

    Examples
    --------
    >>> half_decades((2, 4))
    [100, 316, 1000, 3162, 10000]
    """
    return [round(10 ** (half / 2)) for half in range(2 * powers[0], 2 * powers[1] + 1)]


def world_of(top: float, beta: float) -> ma.World:
    """Coins that do not change; regret is counted from the top."""
    return ma.World(ma.PowerLaw(beta, top=top), top=top)


def long_series(top: float, beta: float, powers: tuple[int, int], replications: int, seed: int) -> Series:
    """Regret of the Forager after each half of a power of ten, within runs of the longest horizon."""
    horizons = half_decades(powers)
    result = ma.simulate(
        {"it": ma.Forager()}, world_of(top, beta), horizons[-1], replications, seed, checkpoints=horizons
    )
    return series_of("Forager", top, beta, horizons, result.curve("it", "regret"))


def told_series(top: float, beta: float, powers: tuple[int, int], replications: int, seed: int) -> Series:
    """Regret of SSUCB at the same horizons, of each of which it is told."""
    horizons = half_decades(powers)
    policy, world = {"it": ma.SSUCB(beta=beta)}, world_of(top, beta)
    found = [
        ma.simulate(policy, world, horizon, replications, seed, checkpoints=1).final_regret("it")
        for horizon in horizons
    ]
    return series_of("SSUCB", top, beta, horizons, np.array(found).T)


def series_of(name: str, top: float, beta: float, horizons: list[int], regrets: Any) -> Series:
    """Below a top of 1 no arm is sure to be good, and half is the least exponent there is."""
    exponent = beta / (beta + 1.0)
    rounds = np.array(horizons, dtype=np.float64)
    return Series(name, "T", beta, exponent if top == 1.0 else max(exponent, 0.5), rounds, rounds, regrets)


def regret_columns(series: Series, scale: Callable[[float], float]) -> dict[str, str]:
    """At powers of ten, over something."""
    return {
        f"T = 10^{round(np.log10(horizon))}": with_half_width(*mean_and_half_width(regrets / scale(horizon)), digits=2)
        for horizon, regrets in list(zip(series.sizes, series.regrets.T, strict=True))[::2]
    }


def top_row(top: float, series: Series) -> dict[str, Any]:
    """Regret in hundreds of rounds at the top, and how it grows."""
    slope, half_width = log_log_slope(series.sizes, series.regrets)[:2]
    return {
        "top": top,
        "beta": series.beta,
        "policy": series.policy,
        **regret_columns(series, lambda horizon: top * horizon / 100.0),
        "exponent": with_half_width(slope, half_width, digits=2),
        "least": round(series.exponent, 3),
    }


def bound_row(series: Series) -> dict[str, Any]:
    """Regret over the least that is possible."""
    return {"beta": series.beta, **regret_columns(series, lambda horizon: still_bound(series.beta, horizon))}


# ---------------------------------------------------------------- change


def reported_changes(world: ma.World, horizon: int, replications: int, seed: int) -> list[tuple[str, float]]:
    """By replication, the kind of change that is reported at the end, and its rate.

    The loop leaves the evidence behind in its arrays, from which the report follows.
    """
    run = Run(ma.Forager(), Job(world, horizon, replications, seed, np.array([horizon])))
    states = run.states()
    found = []
    for replication in range(replications):
        run.play(replication, replication + 1, states)
        watch = all_in_all(states.policy.watch)
        found.append((KINDS[watch.kinds[watch.model]], float(watch.rate)))
    return found


def change_row(changing: Changing, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """How often the right kind is reported, and what of its rate."""
    world = ma.World(ma.BetaDistributed(2.0, 18.0), changing.drift)
    found = reported_changes(world, horizon, replications, seed)
    rates = [rate / changing.rate for kind, rate in found if kind == changing.kind]
    others = sorted({kind for kind, _ in found} - {changing.kind})
    return {
        "change": changing.name,
        "kind": changing.kind,
        "reported in": f"{len(rates) / replications:.0%}",
        "rate / true rate": f"{np.median(rates):.2f}" if rates and changing.kind != "still" else "–",
        "else": ", ".join(others) or "–",
    }


# ---------------------------------------------------------------- late answers


def reward_of(policy: ma.Policy, world: ma.World, horizon: int, replications: int, seed: int) -> float:
    """A round's, on average."""
    result = ma.simulate({"it": policy}, world, horizon, replications, seed, checkpoints=1)
    return float(result.curve("it", "reward")[:, -1].mean() / horizon)


def late_rows(
    name: str, world: ma.World, feedback: ma.Feedback, horizon: int, replications: int, seed: int
) -> list[dict[str, Any]]:
    """With answers that come late, over all at once; Elimination is told beta and the top. And random arms."""
    played = (horizon, replications, seed)
    random = reward_of(ma.UniformPlay(), world, *played)
    rows = []
    for policy in (ma.Forager(), ma.Elimination(beta=1.0, top=world.top)):
        at_once, late = reward_of(policy, world, *played), reward_of(policy, world.replace(feedback=feedback), *played)
        rows.append(
            {
                "answers": name,
                "policy": type(policy).__name__,
                "at once": f"{at_once:.4f}",
                "late": f"{late:.4f}",
                "late / at once": f"{late / at_once:.3f}",
                "random arms": f"{random:.4f}",
            }
        )
    return rows


# ---------------------------------------------------------------- all of it


def tables(sizes: Sizes, seed: int) -> list[tuple[str, list[dict[str, Any]]]]:
    """All of them, each with what it is about."""
    played = (sizes.powers, sizes.top_runs, seed)
    ours = {(top, beta): long_series(top, beta, *played) for top in TOPS for beta in BETAS}
    theirs = {key: told_series(*key, *played) for key in ours}
    tops = [top_row(key[0], series[key]) for key in ours for series in (ours, theirs)]
    at_one = [series for (top, _), series in ours.items() if top == 1.0]
    runs = f"{sizes.top_runs} replications"
    return [
        (f"Coins, nothing changes: regret in percent of what the top would have paid, {runs}.", tops),
        (f"A top of 1: the exponent in T, {runs}.", [fit_row(one) for one in at_one]),
        ("The same runs: regret over the least that is possible.", [bound_row(one) for one in at_one]),
        (
            f"Coins with means around 0.1, worlds of one kind of change, T = {sizes.change_rounds:,}: what is reported "
            f"at the end of {sizes.change_runs} runs.",
            [change_row(one, sizes.change_rounds, sizes.change_runs, seed) for one in CHANGING],
        ),
        (
            f"Answers that come late, T = {sizes.late_rounds:,}, {sizes.late_runs} replications: reward a round.",
            [row for one in LATE for row in late_rows(*one, sizes.late_rounds, sizes.late_runs, seed)],
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2026)
    page = Path(__file__).parent.parent / "docs" / "forager.md"
    parser.add_argument("--file", type=Path, default=page)
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    text = [HEADING, "", f"Made by `python verification/forager.py` (`make verify`), seed {options.seed}."]
    for words, rows in tables(QUICK if options.quick else FULL, options.seed):
        table = str(Table(rows))
        print(f"\n{words}\n\n{table}", flush=True)
        text.extend(["", words, "", "```", table, "```"])
    print(f"\n{time.perf_counter() - began:.0f} s")
    if not options.quick:
        head = options.file.read_text(encoding="utf-8").partition(HEADING)[0]
        options.file.write_text(head + "\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
