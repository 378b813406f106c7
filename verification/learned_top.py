"""What ``top="auto"`` earns: python verification/learned_top.py, some minutes on two cores.

The reward a round of Elimination and Blackbox, over that of random arms in the same world: with the top taken for 1, told,
and learned; beta is estimated or learned in all of them. Where the top is 1, the regret, too.

The result is printed and written into docs/theory/learned-top.md, below the heading "Tables".
"""

import argparse
import sys
from pathlib import Path

import manyarms as ma
from manyarms.tables import Table

HEADING = "## Tables"
TOPS = (0.05, 0.3, 1.0)
DRIFTS = {"still": ma.Still(), "wears 0.1 %": ma.Rotting("0.1%"), "crashes 1/2000": ma.Crash(1 / 2000)}


def players(top: float) -> dict[str, dict[str, ma.Policy]]:
    """Each with the top that it counts from."""
    choices: dict[str, float | str] = {"1": 1.0, "told": top, "auto": "auto"}
    return {
        "Elimination": {name: ma.Elimination(beta="auto", top=one) for name, one in choices.items()},
        "Blackbox(UCB)": {name: ma.Blackbox(base=ma.UCB(), beta="auto", top=one) for name, one in choices.items()},
        "Blackbox(Greedy)": {
            name: ma.Blackbox(base=ma.Greedy(), beta="auto", top=one) for name, one in choices.items()
        },
    }


def table_of_rewards(horizon: int, replications: int, seed: int) -> Table:
    """The reward a round relative to random arms, mean over replications; the Forager beside it."""
    rows = []
    for top in TOPS:
        for drift_name, drift in DRIFTS.items():
            world = ma.World(ma.PowerLaw(1.0, top=top), drift, top=top)
            others: dict[str, ma.Policy] = {"random": ma.UniformPlay(), "Forager": ma.Forager()}
            row: dict[str, object] = {"top": top, "drift": drift_name}
            earned = rewards(others, world, horizon, replications, seed)
            for name, choices in players(top).items():
                found = rewards(choices, world, horizon, replications, seed)
                for choice, reward in found.items():
                    if choice != "told" or top < 1.0:
                        row[f"{name}, {choice}"] = f"{reward / earned['random']:.2f}"
                    else:
                        row[f"{name}, {choice}"] = "–"
            row["Forager"] = f"{earned['Forager'] / earned['random']:.2f}"
            rows.append(row)
            print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


def rewards(
    policies: dict[str, ma.Policy], world: ma.World, horizon: int, replications: int, seed: int
) -> dict[str, float]:
    """The mean reward a round of each: of means, so that the noise of the rewards plays no part."""
    plain = ma.World(world.reservoir, world.drift, world.noise)
    result = {}
    for name, policy in policies.items():
        told = ma.simulate({name: policy}, world if getattr(policy, "top", None) == world.top else plain, horizon, replications, seed, checkpoints=1)
        result[name] = float(told.world.top - told.final_regret(name).mean() / horizon)
    return result
