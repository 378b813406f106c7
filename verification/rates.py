"""Stationary regret of Elimination grows like T^(beta / (beta + 1)): make verify.

Regret is simulated at horizons 2^14 to 2^23, powers of two because blocks are, and a line is fitted
through log regret against log horizon. No policy can have a slope below the exponent for long (the
lower bound), and the proof of Algorithm 2's bound without the log factor in the subsample gives
|A_m| log(T)^2 for a block: the slope over these horizons may exceed the exponent by what log(T)^2
adds, 2 log(log T_max / log T_min) / log(T_max / T_min). The check is that the 95 % interval of the
slope, from a bootstrap over replications, meets that range.

Prints the table of docs/rates.md and draws docs/rates.png.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import manyarms as ma
from manyarms.tables import Table

HORIZONS = tuple(2**power for power in range(14, 24))
BETAS = (0.5, 1.0, 2.0)


def final_regrets(policy: ma.Policy, world: ma.World, horizons, budget: int, seed: int) -> list[NDArray[np.float64]]:
    """Final regrets at each horizon, with as many replications as the budget of rounds allows."""
    found = []
    for horizon in horizons:
        replications = int(min(400, max(8, budget // horizon)))
        result = ma.simulate({"it": policy}, world, horizon, replications, seed, checkpoints=1)
        found.append(result.final_regret("it"))
    return found


def fitted_slope(horizons, regrets: list[NDArray[np.float64]]) -> float:
    """The slope of log mean regret against log horizon, by least squares."""
    return float(np.polyfit(np.log(horizons), np.log([values.mean() for values in regrets]), 1)[0])


def slope_interval(horizons, regrets: list[NDArray[np.float64]], seed: int, draws: int = 2000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the slope, resampling replications at each horizon."""
    random = np.random.default_rng(seed)
    slopes = [fitted_slope(horizons, [random.choice(values, len(values)) for values in regrets]) for _ in range(draws)]
    low, high = np.quantile(slopes, [0.025, 0.975])
    return float(low), float(high)


def slope_of_logs(horizons) -> float:
    """The slope that log(T)^2 has over these horizons."""
    return 2.0 * math.log(math.log(horizons[-1]) / math.log(horizons[0])) / math.log(horizons[-1] / horizons[0])


def rate_row(beta: float, horizons, budget: int, seed: int) -> tuple[dict[str, float | str], NDArray[np.float64]]:
    """One row of the table, and the mean regrets."""
    world = ma.World(ma.PowerLaw(beta))
    regrets = final_regrets(ma.Elimination(beta=beta), world, horizons, budget, seed)
    low, high = slope_interval(horizons, regrets, seed)
    exponent = beta / (beta + 1.0)
    most = exponent + slope_of_logs(horizons)
    row: dict[str, float | str] = {
        "beta": beta,
        "exponent": exponent,
        "with log(T)^2": most,
        "slope": fitted_slope(horizons, regrets),
        "slope of regret / log T": fitted_slope(horizons, regrets) - slope_of_logs(horizons) / 2.0,
        "95 % low": low,
        "95 % high": high,
        "agrees": "yes" if high >= exponent and low <= most else "no",
    }
    return row, np.array([values.mean() for values in regrets])


def main() -> None:
    """Simulate, fit, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--budget", type=int, default=100_000_000, help="rounds for each beta and horizon")
    parser.add_argument("--file", type=Path, default=Path(__file__).parent.parent / "docs" / "rates.png")
    options = parser.parse_args()

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from manyarms.results import COLOURS

    _, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    rows = []
    for colour, beta in zip(COLOURS, BETAS, strict=False):
        row, means = rate_row(beta, HORIZONS, options.budget, options.seed)
        rows.append(row)
        ax.loglog(HORIZONS, means, "o-", color=colour, label=f"beta {beta:g}: slope {row['slope']:.3f}")
        guide = means[-1] * (np.array(HORIZONS) / HORIZONS[-1]) ** row["exponent"]
        ax.loglog(HORIZONS, guide, ":", color=colour, label=f"T to the {row['exponent']:.3f}")
    print(Table(rows))
    ax.set_xlabel("horizon")
    ax.set_ylabel("regret of Elimination when nothing changes")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    plt.savefig(options.file, dpi=150)
    print(f"\nThe picture is in {options.file}")


if __name__ == "__main__":
    main()
