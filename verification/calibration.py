"""How the calibrated defaults were chosen: make calibrate.

For each policy, every setting of a grid is played in every world of a set, at several horizons.
In each of these cells, a setting's regret is divided by the least regret of the grid there. The
setting with the least geometric mean of these ratios over all cells is the best compromise; the
worst ratio is shown beside it. Nothing is chosen per world.

For policies that restart, how often they do so for no reason is shown too: restarts in 10^6 rounds of worlds that stand
still, over the cells of the longest horizon.

The result is printed and written to docs/calibration-tables.md.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import numpy as np

import manyarms as ma
from manyarms.tables import Table

BETAS = (0.5, 1.0, 2.0)
DRIFTS = (ma.Still(), ma.Rotting("1/t"), ma.Crash(0.001), ma.JumpAt(2000, -0.3), ma.Rotting(0.001))
NOISES = (ma.Bernoulli(), ma.GapUniform())
HORIZONS = {10_000: 20, 100_000: 10, 1_000_000: 4}  # with replications


def elimination_grid(beta: float) -> dict[str, ma.Policy]:
    """Thresholds, cold and warm. Other choices of the preset are the paper's without the log factor."""
    thresholds = (0.01, 0.015, 0.02, 0.025, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
    return {
        f"threshold {threshold:g}, {'warm' if warm else 'cold'}": ma.Elimination(
            beta=beta, threshold=threshold, log_base=2, log_factor=False, cap=True, warm_start=warm
        )
        for threshold, warm in itertools.product(thresholds, (False, True))
    }


def blackbox_grid(beta: float) -> dict[str, ma.Policy]:
    """Thresholds for two powers of the logarithm, cold and warm, with the paper's UCB as base."""
    settings = [(1.0, threshold) for threshold in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)]
    settings += [(0.0, threshold) for threshold in (5.0, 10.0, 20.0, 40.0)]
    return {
        f"threshold {threshold:g}, log power {power:g}, {'warm' if warm else 'cold'}": ma.Blackbox(
            base=ma.UCB(),
            beta=beta,
            threshold=threshold,
            log_power=power,
            log_base=2,
            log_factor=False,
            base_horizon="block",
            warm_start=warm,
        )
        for (power, threshold), warm in itertools.product(settings, (False, True))
    }


def ssucb_grid(beta: float) -> dict[str, ma.Policy]:
    """Scales of the noise in the index."""
    return {
        f"sigma {sigma:g}": ma.SSUCB(beta=beta, sigma=sigma)
        for sigma in (0.0125, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0)
    }


def calibrate(grid, horizons: dict[int, int], seed: int) -> Table:
    """Ratios to the best of the grid, over all cells; the best setting first."""
    ratios: dict[str, list[float]] = {}
    restarts: dict[str, list[float]] = {}
    false_restarts: dict[str, list[float]] = {}
    still_ratios: dict[str, list[float]] = {}
    for beta, drift, noise in itertools.product(BETAS, DRIFTS, NOISES):
        world = ma.World(ma.PowerLaw(beta), drift, noise)
        policies = grid(beta)
        for horizon, replications in horizons.items():
            result = ma.simulate(policies, world, horizon, replications, seed, checkpoints=1)
            means = {name: float(result.final_regret(name).mean()) for name in policies}
            best = min(means.values())
            for name, mean in means.items():
                ratios.setdefault(name, []).append(mean / best)
                found = float(result.final(name, "restarts").mean())
                restarts.setdefault(name, []).append(found)
                if isinstance(drift, ma.Still):
                    still_ratios.setdefault(name, []).append(mean / best)
                    if horizon == max(horizons):
                        false_restarts.setdefault(name, []).append(found * 1e6 / horizon)
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows = [
        {
            "setting": name,
            "geometric mean": math.exp(np.mean(np.log(found))),
            "worst": max(found),
            "mean restarts": float(np.mean(restarts[name])),
            "still: geometric mean": math.exp(np.mean(np.log(still_ratios[name]))),
            "false restarts in 10^6": float(np.mean(false_restarts[name])),
        }
        for name, found in ratios.items()
    ]
    return Table(sorted(rows, key=lambda row: row["geometric mean"]))


def main() -> None:
    """Calibrate everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short horizons only")
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent.parent / "docs" / "calibration-tables.md")
    options = parser.parse_args()
    horizons = {10_000: 4} if options.quick else HORIZONS
    cells = len(BETAS) * len(DRIFTS) * len(NOISES) * len(horizons)
    text = [
        "# Calibration tables",
        "",
        f"Made by `make calibrate` with seed {options.seed}: {cells} cells "
        f"(betas {', '.join(map(str, BETAS))}; {len(DRIFTS)} drifts; {len(NOISES)} noises; "
        f"horizons {', '.join(f'{horizon:,}' for horizon in horizons)}). "
        "A ratio is a setting's mean regret over the least of its grid in that cell. *Still*: over the cells where "
        "nothing changes; false restarts are those of these cells at the longest horizon, in 10^6 rounds.",
    ]
    for title, grid in (("Elimination", elimination_grid), ("Blackbox(UCB)", blackbox_grid), ("SSUCB", ssucb_grid)):
        table = calibrate(grid, horizons, options.seed)
        print(f"\n{title}\n{table}")
        text += ["", f"## {title}", "", "```", str(table), "```"]
    options.file.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
