"""The Forager's rate where nothing changes, and how little its settings matter: make verify.

1. Regret over the least that is possible, (beta + 1)^(1/(beta+1)) T^(beta/(beta+1)), at T = 10^6.
2. The exponent of regret in T, from 10^4 to 10^7 rounds. The Forager knows no horizon, so one run has the regret of
   all shorter ones in it, and is asked for it at checkpoints.
3. Every setting, one at a time, on the arena's tuning half but for horizons above 10^6: regret over that of the
   defaults.
4. The same with a part taken out, as far as settings can do that.
5. What wariness is for: an adversary, which the tuning half has not. Its worlds here are not those of the test half.
6. Reservoirs whose best mean is far below 1, which no contest has: reward per round.
7. What the debt is for: the idealised model of docs/theory/forager.md, where gaps are seen and a draw costs one loss.

The test half is not looked at. Prints the tables and writes them into docs/forager-settings.md, below the heading
"Tables".
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import manyarms as ma
from manyarms.intervals import mean_and_half_width
from manyarms.lab.arena.scores import Scores, geometric_mean, worst
from manyarms.lab.arena.tables import CONTESTS, NOTHING, TUNING, Contest, Entrant
from manyarms.lab.figures.statistics import with_half_width
from manyarms.lab.questions.lower_bound import still_bound
from manyarms.lab.questions.rates import Series, fit_row
from manyarms.tables import Table

HEADING = "## Tables"
WANTED = {0.5: 3.0, 1.0: 2.0, 2.0: None}
"""The most that regret may be over the bound, by beta."""

LONGEST_CONTEST = 10**6
DEFAULT = "default"

SETTINGS: dict[str, tuple[float, ...]] = {
    "keep": (32, 64, 128, 1024),
    "slack": (0.7, 0.85, 1.2, 1.4),
    "first_look": (1.0, 2.0, 5.0, 10.0),
    "false_alarms": (0.1, 0.25, 0.75, 0.9),
    "wary": (1.0, 2.0, 8.0, 16.0),
}
"""Beside the defaults: what each setting is set to while the others stay."""

ABLATIONS: dict[str, dict[str, float]] = {
    "no optimism": {"slack": 0.01},  # an arm counts as good as it was
    "no strike-outs, no wariness": {"false_alarms": 1e-300},
    "no wariness": {"wary": 1.0},  # for one round after a strike-out, that is
    "first impressions of one play": {"first_look": 1e-9},
    "two arms kept": {"keep": 2},
}

WATCHED = ("wary = 1", "wary = 2", "wary = 8", "wary = 16", "no strike-outs, no wariness")
"""Who meets the adversary, beside the defaults."""


TOPS = (0.01, 0.05, 0.3, 0.8)
"""Means are uniform from 0 to this."""

IDEAL_WORLDS = {"still": (0.0, 0.0), "crash": (1e-3, 0.0), "wear": (0.0, 1e-4)}
"""Probability that a play breaks its arm down, which then has a fresh gap; what a play adds to the gap."""


class Watched(NamedTuple):
    """Like a contest, but of neither half."""

    name: str
    world: ma.World
    horizon: int


# ---------------------------------------------------------------- where nothing changes


def bound_row(beta: float, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """Regret over the bound."""
    result = ma.simulate({"it": ma.Forager()}, ma.World(ma.PowerLaw(beta)), horizon, replications, seed, checkpoints=1)
    mean, half_width = mean_and_half_width(result.final_regret("it") / still_bound(beta, horizon))
    return {
        "beta": beta,
        "T": horizon,
        "replications": replications,
        "regret / bound": with_half_width(mean, half_width, digits=2),
        "wanted at most": "–" if WANTED[beta] is None else f"{WANTED[beta]:g}",
        "met": verdict(mean, half_width, WANTED[beta]),
    }


def verdict(mean: float, half_width: float, wanted: float | None) -> str:
    """Whether the whole interval is where it should be."""
    if wanted is None:
        return "–"
    return "yes" if mean + half_width <= wanted else "no" if mean - half_width > wanted else "not for sure"


def half_decades(powers: tuple[int, int]) -> list[int]:
    """Two horizons for every power of ten, both ends among them.

    Examples
    --------
    >>> half_decades((2, 4))
    [100, 316, 1000, 3162, 10000]
    """
    return [round(10 ** (half / 2)) for half in range(2 * powers[0], 2 * powers[1] + 1)]


def long_series(beta: float, powers: tuple[int, int], replications: int, seed: int) -> Series:
    """Regret after each half of a power of ten, within runs of the longest horizon."""
    horizons = half_decades(powers)
    world = ma.World(ma.PowerLaw(beta))
    result = ma.simulate({"it": ma.Forager()}, world, horizons[-1], replications, seed, checkpoints=horizons)
    rounds = np.array(horizons, dtype=np.float64)
    return Series("Forager", "T", beta, beta / (beta + 1.0), rounds, rounds, result.curve("it", "regret"))


def decades_row(series: Series) -> dict[str, Any]:
    """Regret over the bound at powers of ten."""
    row: dict[str, Any] = {"beta": series.beta}
    for horizon, regrets in list(zip(series.sizes, series.regrets.T, strict=True))[::2]:
        found = mean_and_half_width(regrets / still_bound(series.beta, horizon))
        row[f"T = 10^{round(np.log10(horizon))}"] = with_half_width(*found, digits=2)
    return row


# ---------------------------------------------------------------- settings


def tuning_contests(longest: int) -> tuple[Contest, ...]:
    """Those of the tuning half that are not too long."""
    return tuple(contest for contest in CONTESTS if contest.half == TUNING and contest.horizon <= longest)


def watched_contests(horizon: int) -> tuple[Watched, ...]:
    """Somebody hits the arm that is leaned on; betas of the tuning half."""
    drift = ma.Adversary(patience=horizon // 25, size=0.3)
    return tuple(
        Watched(f"adversary, beta {beta:g}", ma.World(ma.PowerLaw(beta), drift), horizon) for beta in (0.7, 1.1, 1.6)
    )


def variants() -> dict[str, ma.Policy]:
    """The defaults, and everything that differs from them in one setting."""
    changed = {f"{name} = {value:g}": {name: value} for name, values in SETTINGS.items() for value in values}
    settings: dict[str, dict[str, Any]] = {DEFAULT: {}} | changed | ABLATIONS
    return {name: ma.Forager(**one) for name, one in settings.items()}


def played(
    contests: tuple[Contest | Watched, ...], policies: dict[str, ma.Policy], replications: int, seed: int
) -> Scores:
    """All of them in all contests."""
    names = {policy: name for name, policy in policies.items()}  # an ablation may also be a value of a grid
    once = {name: policy for policy, name in names.items()}
    found = {}
    for contest in contests:
        result = ma.simulate(once, contest.world, contest.horizon, replications, seed, checkpoints=1)
        for name, policy in policies.items():
            found[contest.name, name] = result.final_regret(names[policy])
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    entrants = [Entrant(name, NOTHING, lambda contest, policy=policy: policy) for name, policy in policies.items()]
    return Scores.of(contests, entrants, found)


def setting_row(scores: Scores, name: str) -> dict[str, Any]:
    """One variant against the defaults."""
    duels = scores.duels(name, [DEFAULT])
    hardest = worst(duels)
    return {
        "setting": name,
        "geometric mean": str(geometric_mean(duels)),
        "clearly worse in": sum(duel.ratio.low > 1.0 for duel in duels),
        "clearly better in": sum(duel.ratio.high < 1.0 for duel in duels),
        "worst": str(hardest.ratio),
        "worst in": hardest.contest.name,
    }


# ---------------------------------------------------------------- rare rewards


def top_row(top: float, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """Reward per round of policies that are told nothing."""
    rivals = {
        "Forager": ma.Forager(),
        "Subsample(Greedy), auto": ma.Subsample(ma.Greedy(), beta="auto", horizon="doubling"),
        "EmpiricalCBT, doubling": ma.EmpiricalCBT(horizon="doubling"),
    }
    world = ma.World(ma.PowerLaw(beta=1.0, top=top))
    result = ma.simulate(rivals, world, horizon, replications, seed, checkpoints=1)
    rewards = {name: result.curve(name, "reward")[:, -1].mean() / horizon for name in rivals}
    return {"means up to": top, "a fresh arm": f"{top / 2:.4g}"} | {n: f"{r:.4f}" for n, r in rewards.items()}


# ---------------------------------------------------------------- the idealised model


@numba.njit
def ideal_regret(horizon: int, beta: float, has_debt: bool, crash: float, wear: float, seed: int) -> float:
    """Loss of the rule that knows kappa, sees gaps, and pays one loss for a draw."""
    np.random.seed(seed)  # noqa: NPY002, the compiler's own generator
    kappa = beta / (beta + 1.0)
    gap = 1.0
    target = 1.0
    loss = 0.0
    search = 0.0
    total = 0.0
    for t in range(1, horizon + 1):
        wanted = kappa * loss
        if has_debt and search > (1.0 - kappa) * loss:
            target = loss
        elif wanted < target or wanted * kappa > target:
            target = wanted
        is_search = gap > target
        if is_search:
            cost = 1.0
            gap = min(gap, np.random.random() ** (1.0 / beta))  # noqa: NPY002
        else:
            cost = gap
            if np.random.random() < crash:  # noqa: NPY002
                gap = np.random.random() ** (1.0 / beta)  # noqa: NPY002
            gap = min(gap + wear, 1.0)
        total += cost
        step = 3.0 / (t + 2.0)
        loss += step * (cost - loss)
        search += step * ((cost if is_search else 0.0) - search)
    return total


def ideal_row(name: str, beta: float, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """Over the least that is possible where nothing changes; else over the rule without debt."""
    crash, wear = IDEAL_WORLDS[name]
    found = [
        np.array([ideal_regret(horizon, beta, debt, crash, wear, seed + r) for r in range(replications)])
        for debt in (False, True)
    ]
    ratios = found[1] / found[0].mean()
    row = {"world": name, "beta": beta, "debt / none": with_half_width(*mean_and_half_width(ratios), digits=2)}
    for words, regrets in zip(("none / bound", "debt / bound"), found, strict=True):
        over_bound = with_half_width(*mean_and_half_width(regrets / still_bound(beta, horizon)), digits=2)
        row[words] = over_bound if name == "still" else "–"
    return row


# ---------------------------------------------------------------- all of it


def main() -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2026)
    page = Path(__file__).parent.parent / "docs" / "forager-settings.md"
    parser.add_argument("--file", type=Path, default=page)
    options = parser.parse_args()
    began = time.perf_counter()
    horizon, at_bound = (10**4, 100) if options.quick else (10**6, 300)
    powers, along = ((3, 5), 20) if options.quick else ((4, 7), 100)
    contests = tuning_contests(10**4 if options.quick else LONGEST_CONTEST)
    in_contests, in_watched = (4, 8) if options.quick else (8, 64)

    text = [HEADING, "", f"Made by `python verification/forager.py` (`make verify`), seed {options.seed}."]

    def say(words: str, rows: list[dict[str, Any]]) -> None:
        table = str(Table(rows))
        print(f"\n{words}\n\n{table}", flush=True)
        text.extend(["", words, "", "```", table, "```"])

    say(
        "Coins, nothing changes: regret over the least that is possible.",
        [bound_row(beta, horizon, at_bound, options.seed) for beta in WANTED],
    )
    series = [long_series(beta, powers, along, options.seed) for beta in WANTED]
    say(
        f"The exponent in T, fitted to 10^{powers[0]} … 10^{powers[1]} rounds, two horizons for each power of ten, "
        f"{along} replications.",
        [fit_row(one) for one in series],
    )
    say("The same runs: regret over the least that is possible.", [decades_row(one) for one in series])
    scores = played(contests, variants(), in_contests, options.seed)
    where = f"{len(contests)} contests of the tuning half, {in_contests} replications"
    say(
        f"One setting changed: regret over that of the defaults, {where}.",
        [setting_row(scores, name) for name in variants() if name not in ABLATIONS and name != DEFAULT],
    )
    say(f"A part taken out: regret over that of the defaults, {where}.", [setting_row(scores, n) for n in ABLATIONS])
    watched = watched_contests(10**4 if options.quick else 10**5)
    scores = played(watched, {name: variants()[name] for name in (DEFAULT, *WATCHED)}, in_watched, options.seed)
    say(
        f"An adversary hits the arm that is leaned on, T = {watched[0].horizon:,}: regret over that of the defaults, "
        f"{len(watched)} worlds, {in_watched} replications.",
        [setting_row(scores, name) for name in WATCHED],
    )
    rounds, runs = (10**4, 2) if options.quick else (3 * 10**5, 20)
    say(
        f"Coins with uniform means, nothing changes, T = {rounds:,}, {runs} replications: reward per round.",
        [top_row(top, rounds, runs, options.seed) for top in TOPS],
    )
    rounds, runs = (10**4, 20) if options.quick else (10**6, 200)
    say(
        f"The idealised model, T = {rounds:,}, {runs} replications: regret with debt over that without, and both over "
        "the least that is possible where nothing changes.",
        [ideal_row(name, beta, rounds, runs, options.seed) for name in IDEAL_WORLDS for beta in WANTED],
    )
    print(f"\n{time.perf_counter() - began:.0f} s")
    if not options.quick:
        head = options.file.read_text(encoding="utf-8").partition(HEADING)[0]
        options.file.write_text(head + "\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
