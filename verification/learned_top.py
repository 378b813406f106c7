"""What ``top="auto"`` earns: python verification/learned_top.py, a minute or two on two cores.

The reward a round of Elimination and Blackbox over that of random arms in the same world: with the top taken for 1,
told and learned; and with beta estimated (or learned, where the top is) and told. Where the top is 1, also the regret,
learned over told.

The result is printed and written into docs/theory/learned-top.md, below the heading "Tables".
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import manyarms as ma
from manyarms.policies.tail import AUTO
from manyarms.tables import Table

HEADING = "## Tables"
TOPS = (0.05, 0.3, 1.0)
DRIFTS = {"still": ma.Still(), "wears 0.1 %": ma.Rotting("0.1%"), "crashes 1/2000": ma.Crash(1 / 2000)}


def players(top: float | str, beta: float | str = AUTO) -> dict[str, ma.Policy]:
    """All that count losses from this top."""
    return {
        "Elimination": ma.Elimination(beta=beta, top=top),
        "Blackbox(UCB)": ma.Blackbox(base=ma.UCB(), beta=beta, top=top),
        "Blackbox(Greedy)": ma.Blackbox(base=ma.Greedy(), beta=beta, top=top),
    }


def earned(
    policies: dict[str, ma.Policy], world: ma.World, length: tuple[int, int], seed: int
) -> dict[str, np.ndarray]:
    """The means of the played arms, averaged over the rounds of each replication."""
    horizon, replications = length
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are told another top on purpose
        result = ma.simulate(policies, world, horizon, replications, seed, checkpoints=1)
    return {name: world.top - result.final_regret(name) / horizon for name in policies}


def table_of_rewards(beta: float | str, length: tuple[int, int], seed: int) -> Table:
    """The reward over that of random arms; half the width of a 95 % interval beside what is learned."""
    rows = []
    for top in TOPS:
        for drift_name, drift in DRIFTS.items():
            world = ma.World(ma.PowerLaw(1.0, top=top), drift, top=top)
            others = earned({"random": ma.UniformPlay(), "Forager": ma.Forager()}, world, length, seed)
            random = others["random"].mean()
            tops = {"1": 1.0, "told": top, AUTO: AUTO}
            found = {name: earned(players(one, beta), world, length, seed) for name, one in tops.items()}
            for name in found["told"]:
                learned = found[AUTO][name] / random
                error = 1.96 * learned.std(ddof=1) / np.sqrt(learned.size)
                row = {"top": top, "drift": drift_name, "policy": name}
                row |= {f"top={choice}": f"{found[choice][name].mean() / random:.2f}" for choice in ("1", "told")}
                row |= {"top=auto": f"{learned.mean():.2f} ± {error:.2f}"}
                rows.append(row)
            rows.append(
                {
                    "top": top,
                    "drift": drift_name,
                    "policy": "Forager",
                    "top=1": "",
                    "top=told": "",
                    "top=auto": f"{others['Forager'].mean() / random:.2f}",
                }
            )
            print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


def table_of_regrets(length: tuple[int, int], seed: int) -> Table:
    """Regret with a learned top over that with the true one, 1."""
    rows = []
    for drift_name, drift in DRIFTS.items():
        for beta in (0.5, 1.0, 2.0):
            world = ma.World(ma.PowerLaw(beta), drift)
            told, learned = (earned(players(top), world, length, seed) for top in (1.0, AUTO))
            row: dict[str, object] = {"drift": drift_name, "beta": beta}
            row |= {name: f"{(1.0 - learned[name]).mean() / (1.0 - told[name]).mean():.2f}" for name in told}
            rows.append(row)
            print(".", end="", file=sys.stderr, flush=True)
    return Table(rows)


def main() -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs, printed only")
    parser.add_argument("--seed", type=int, default=2025)
    page = Path(__file__).parent.parent / "docs" / "theory" / "learned-top.md"
    parser.add_argument("--file", type=Path, default=page)
    options = parser.parse_args()
    length = (1_000, 2) if options.quick else (100_000, 8)
    sections = [
        (
            f"Coins, beta 1, not told, T = {length[0]:,}, {length[1]} replications: reward over that of random arms.",
            table_of_rewards(AUTO, length, options.seed),
        ),
        (
            "The same, with beta told.",
            table_of_rewards(1.0, length, options.seed),
        ),
        (
            f"Coins, top 1, T = {length[0]:,}, {length[1]} replications: regret with a learned top over that told.",
            table_of_regrets(length, options.seed),
        ),
    ]
    text = [HEADING, "", f"Made by `python verification/learned_top.py` with seed {options.seed}."]
    for words, table in sections:
        print(f"\n{words}\n{table}")
        text += ["", words, "", "```", str(table), "```"]
    if not options.quick:
        head = options.file.read_text(encoding="utf-8").partition(HEADING)[0]
        options.file.write_text(head + "\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
