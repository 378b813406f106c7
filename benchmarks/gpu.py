"""The GPU against the processor: the same numbers, and how fast.

    python benchmarks/gpu.py --json gpu.json      # on a machine with an NVIDIA GPU, some minutes
    python benchmarks/gpu.py --quick              # rounds a second, beside the best in the ledger: a minute
    PYTHONPATH=old/src python benchmarks/gpu.py --quick     # the same of another checkout: only what all have is used
    python benchmarks/gpu.py --draw gpu.json gpu.png
    python benchmarks/gpu.py --all                # every policy, base, feedback and world: the same numbers? Long.
    python benchmarks/gpu.py --all --part 3/16    # a part of that: nearly all of the time goes into compiling
    python benchmarks/gpu.py --only Forager --horizon 100000 --replications 16896   # rounds a second of one policy
    ncu -k regex:play -s 1 -c 1 python benchmarks/gpu.py --only Elimination --horizon 60000

Every timing is one call of ``simulate``: results copied back and 64 checkpoints included, compilation not.
"""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np

import manyarms as ma
from manyarms.bench import processor_name
from manyarms.checks import BUSY_WORLD, examples
from manyarms.gpu import why_no_gpu
from manyarms.results import COLOURS

HERE = Path(__file__).resolve().parent
FIGURE_WORLD = "1/t rotting"

ma.__path__.append(str(HERE.parent / "src" / "manyarms"))  # the checkout that is measured may be older than the ledger
ledger = importlib.import_module("manyarms.ledger")
Table = importlib.import_module("manyarms.tables").Table

IN_LEDGER = {
    "Elimination": (lambda: ma.Elimination(beta=1.0), 65_536),
    "Elimination, auto": (lambda: ma.Elimination(beta="auto"), 65_536),
    "Blackbox(UCB)": (lambda: ma.Blackbox(base=ma.UCB(), beta=1.0), 25_344),
    "Blackbox(UCB), paper": (lambda: ma.Blackbox(base=ma.UCB(), beta=1.0, preset="paper"), 25_344),
    "SSUCB": (lambda: ma.SSUCB(beta=1.0), 25_344),
}
"""Policies whose rounds a second are kept, and their replications: about what an H200 plays at a time."""


WIDE = {"Forager": ma.Forager(), "Elimination, top auto": ma.Elimination(beta=1.0, top="auto")}
"""Policies that a whole warp plays together: timed only if they are asked for."""


def worlds(beta=1.0):
    """Where the policies are tried, by name."""
    return {
        FIGURE_WORLD: ma.World(ma.PowerLaw(beta=beta), ma.Rotting(rate="1/t")),
        "stationary": ma.World(ma.PowerLaw(beta=beta)),
        "crashes, Beta noise": ma.World(ma.PowerLaw(beta=beta), ma.Crash(probability=0.001), ma.BetaNoise(10.0)),
        "figure's noise": ma.World(ma.PowerLaw(beta=beta), ma.Rotting(rate="1/t"), ma.GapUniform()),
        "mixed reservoir, phases": ma.World(
            ma.Mixture([ma.Uniform(0.0, 0.5), ma.PowerLaw(beta=beta)], weights=[9, 1]),
            ma.Phases([ma.Still(), ma.Rising(rate="t^-0.7"), ma.Adversary()], ends=[1000, 5000]),
        ),
    }


def policies(beta=1.0):
    """What is timed, by name."""
    return {
        "Elimination": ma.Elimination(beta=beta),
        "Blackbox(UCB)": ma.Blackbox(base=ma.UCB(), beta=beta),
        "SSUCB": ma.SSUCB(beta=beta),
    }


def seconds(policy, world, horizon, replications, seed=1, device="gpu"):
    """One call of ``simulate``."""
    began = time.perf_counter()
    result = ma.simulate(policy, world, horizon, replications, seed, device=device)
    if not result.is_complete:
        raise KeyboardInterrupt
    return time.perf_counter() - began


def rate(policy, world, horizon, replications, device="gpu"):
    """Rounds a second, compiled before."""
    seconds(policy, world, 100, 64, device=device)
    return horizon * replications / seconds(policy, world, horizon, replications, device=device)


def machine():
    """What this was measured on."""
    from numba import cuda

    name = getattr(cuda.get_current_device(), "name", "simulated")
    total = cuda.current_context().get_memory_info().total
    return {
        "gpu": name.decode() if isinstance(name, bytes) else name,
        "gpu memory, GiB": round(total / 2**30) if np.isfinite(total) else 0,
        "processor": processor_name(),
        "threads": ma.engine.usable_cores(),
        "python": platform.python_version(),
    } | {name: importlib.metadata.version(name) for name in ("numpy", "numba", "numba-cuda", "cuda-bindings")}


def for_ledger(horizon, replications, turns):
    """Rounds a second of the ledger's policies in the figure's world: the best of some turns."""
    made = {}
    for name, (make, usual) in IN_LEDGER.items():
        try:
            made[name] = make(), min(usual, replications)
        except (TypeError, ValueError) as error:
            print(f"… {name} is left out, this version has none: {error}", file=sys.stderr, flush=True)
    world = worlds()[FIGURE_WORLD]
    for policy, _ in made.values():
        seconds(policy, world, 100, 64)  # compiles
    times = {name: [] for name in made}
    for turn in range(1, turns + 1):
        for name, (policy, number) in made.items():
            times[name].append(seconds(policy, world, horizon, number))
            print(f"… turn {turn} of {turns}: {name} {times[name][-1]:.2f} s", file=sys.stderr, flush=True)
    return {
        name: {"rounds_per_s": horizon * number / min(times[name]), "horizon": horizon, "replications": number}
        for name, (_, number) in made.items()
    }


def entered(options):
    """Measure what the ledger keeps, enter it there, and print it beside the best before."""
    earlier = ledger.read(options.ledger, lambda text: print("…", text, file=sys.stderr))
    policies = for_ledger(options.horizon, options.replications, options.turns)
    commit = options.commit or ledger.commit_of(Path(ma.__file__).parent)
    entry = ledger.new_entry("gpu", commit, machine(), policies)
    ledger.append(options.ledger, entry)
    print(ledger.report(entry, earlier))
    return policies


def equality(horizon, replications, seeds):
    """Every number of every checkpoint, GPU against processor; one row for each policy and world."""
    return [
        compared(policy_name, policy, world_name, world, horizon, replications, seeds)
        for world_name, world in worlds().items()
        for policy_name, policy in policies().items()
    ]


def all_equal(part, parts):
    """The same for every policy and base in one world, policies with every feedback they take, and every world.

    Of all that, every so many-th pair, from the one with the number of the part.
    """
    from manyarms.feedbacks import Feedback  # which an older checkout need not have

    specs = examples()
    policies = [spec for spec in specs if isinstance(spec, ma.Policy)]
    bases = [ma.Subsample(base=spec, beta=1.0) for spec in specs if isinstance(spec, ma.Base)]
    pairs = [(spec, BUSY_WORLD) for spec in policies + bases]
    pairs += [(ma.Elimination(beta=1.0), spec) for spec in specs if isinstance(spec, ma.World)]
    pairs += [
        (policy, BUSY_WORLD.replace(feedback=feedback))
        for policy in policies
        for feedback in specs
        if isinstance(feedback, Feedback)
        and (policy.takes_corrections or not feedback.corrects)
        and (policy.takes_pending or feedback.pending is None)
    ]
    return [
        compared(policy.label(), policy, world.label(), world, 3000, 96, [5])
        for policy, world in pairs[part - 1 :: parts]
    ]


def compared(policy_name, policy, world_name, world, horizon, replications, seeds):
    """One policy in one world on both devices: how many numbers differ."""
    different = 0
    for seed in seeds:
        one, other = (
            ma.simulate({"it": policy}, world, horizon, replications, seed, device=device)["it"]
            for device in ("gpu", "cpu")
        )
        different += int((one.view(np.int64) != other.view(np.int64)).sum())
    row = {
        "policy": policy_name,
        "world": world_name,
        "numbers compared": one.size * len(seeds),
        "different": different,
    }
    print("…", row, file=sys.stderr, flush=True)
    return row


def speed(horizon, replications):
    """Rounds a second at a long horizon, and on all cores of the processor beside it."""
    rows = []
    for world_name in (FIGURE_WORLD, "stationary"):
        world = worlds()[world_name]
        for name, policy in policies().items():
            cores = rate(policy, world, horizon, 4 * ma.engine.usable_cores(), device="cpu")
            found = rate(policy, world, horizon, replications)
            rows.append(
                {
                    "policy": name,
                    "world": world_name,
                    "GPU, rounds/s": found,
                    "all cores, rounds/s": cores,
                    "ratio": found / cores,
                }
            )
            print("…", rows[-1], file=sys.stderr, flush=True)
    return rows


def nine(horizon, replications):
    """Three policies at three betas, one after another, as a study would."""
    for size in (64, replications):  # the first compiles
        began = time.perf_counter()
        for beta in (0.8, 1.0, 1.2):
            seconds(policies(beta), worlds(beta)[FIGURE_WORLD], horizon, size)
    return time.perf_counter() - began


def growth(horizon, replications):
    """Rounds a second against the number of replications, and against the horizon."""
    world = worlds()[FIGURE_WORLD]
    sizes = [replications >> 6 << power for power in range(9)]  # 2^10 to 2^18, unless told otherwise
    horizons = [horizon // 100, horizon // 10, horizon, 10 * horizon]
    found = {"replications": [], "horizon": []}
    for name, policy in policies().items():
        print("… growth of", name, file=sys.stderr, flush=True)
        found["replications"] += [
            {"policy": name, "replications": size, "rate": rate(policy, world, horizon, size)} for size in sizes
        ]
        found["horizon"] += [
            {"policy": name, "horizon": rounds, "rate": rate(policy, world, rounds, replications)}
            for rounds in horizons
        ]
    return found


def report(figures):
    """The figures as text."""
    compared = sum(row["numbers compared"] for row in figures["equality"])
    different = sum(row["different"] for row in figures["equality"])
    lines = [f"date: {figures['date']}", *(f"{name}: {value}" for name, value in figures["machine"].items())]
    lines += ["", f"GPU against processor: {different} of {compared:,} numbers differ", str(Table(figures["equality"]))]
    lines += [
        "",
        f"Horizon {figures['horizon']:,}, {figures['replications']:,} replications",
        str(Table(figures["speed"])),
    ]
    lines += ["", f"Nine studies of {figures['nine_replications']:,} replications: {figures['nine_s']:.2f} s"]
    for by in ("replications", "horizon"):
        names = list(dict.fromkeys(row["policy"] for row in figures["growth"][by]))
        values = list(dict.fromkeys(row[by] for row in figures["growth"][by]))
        found = {(row["policy"], row[by]): row["rate"] for row in figures["growth"][by]}
        lines += ["", str(Table([{by: v} | {name: f"{found[name, v]:.2e}" for name in names} for v in values]))]
    return "\n".join(lines)


def draw(figures, path):
    """Throughput against replications and against the horizon."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    picture, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for panel, by in zip(panels, ("replications", "horizon"), strict=True):
        rows = figures["growth"][by]
        for colour, name in zip(COLOURS, dict.fromkeys(row["policy"] for row in rows), strict=False):
            mine = [row for row in rows if row["policy"] == name]
            panel.plot([row[by] for row in mine], [row["rate"] for row in mine], "o-", color=colour, label=name)
        panel.set_xscale("log", base=2 if by == "replications" else 10)
        panel.set_yscale("log")
        panel.grid(alpha=0.3, which="both")
        panel.set_xlabel(by)
    panels[0].set_title(f"horizon {figures['growth_horizon']:,}")
    panels[1].set_title(f"{figures['replications']:,} replications")
    panels[0].set_ylabel("rounds a second")
    panels[0].legend(frameon=False)
    picture.suptitle(f"{figures['machine']['gpu']}, {figures['date']}")
    picture.savefig(path, dpi=150)


def part_of(text):
    """Which of how many parts."""
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(f"there is no part {part} of {parts}")
    return part, parts


def parsed():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("JSON", "PNG"), help="draw figures measured before")
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--replications", type=int, default=1 << 16, help="the ledger takes no more than it is used to")
    parser.add_argument("--quick", action="store_true", help="measure only what the ledger keeps")
    parser.add_argument("--turns", type=int, default=3, help="how often that is timed; the best counts")
    parser.add_argument("--ledger", type=Path, default=HERE / "ledger.jsonl", help="where it is kept")
    parser.add_argument("--commit", help="which one is measured, where git cannot tell")
    parser.add_argument("--all", action="store_true", help="compare every policy and every kind of world, time nothing")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="I/N", help="of all: the I-th of N parts")
    parser.add_argument("--only", metavar="POLICY", help="play this one alone in the figure's world")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args()


def everything(options):
    """Measure all there is; returns whether GPU and processor agree."""
    short = max(options.horizon // 10, 10)
    figures = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "horizon": options.horizon,
        "replications": options.replications,
        "nine_replications": min(10_000, options.replications),
        "growth_horizon": short,
    }
    steps = {
        "ledger": lambda: entered(options),
        "nine_s": lambda: nine(short, figures["nine_replications"]),
        "speed": lambda: speed(options.horizon, options.replications),
        "growth": lambda: growth(short, options.replications),
        "equality": lambda: equality(max(short // 5, 10), min(512, options.replications), options.seeds),
    }
    for name, measure in steps.items():
        figures[name] = measure()
        if options.json:  # what is measured is not lost
            options.json.write_text(json.dumps(figures, indent=1))
    print(report(figures))
    return not any(row["different"] for row in figures["equality"])


def main():
    """Measure, or draw what was measured."""
    options = parsed()
    if options.draw:
        draw(json.loads(options.draw[0].read_text()), options.draw[1])
        return
    reason = why_no_gpu()
    if reason is not None:
        sys.exit(f"benchmarks/gpu.py: {reason}")
    if options.quick:
        figures = entered(options)
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1))
        return
    if options.only:
        policy = (policies() | WIDE)[options.only]
        found = rate(policy, worlds()[FIGURE_WORLD], options.horizon, options.replications)
        print(f"{options.only}: {found:.3g} rounds a second")
        return
    if options.all:
        rows = all_equal(*options.part)
        print(Table(rows))
        agree = not any(row["different"] for row in rows)
    else:
        agree = everything(options)
    if not agree:
        sys.exit("benchmarks/gpu.py: GPU and processor differ")


if __name__ == "__main__":
    main()
