"""What cells of a study cost: bytes on disk, and seconds to find that all is done, python benchmarks/studies.py.

Small cells, 4 replications of 200 rounds: what is seen is what a study, its files and looking at them cost. All should
grow as the cells do: from 50 to 400 by a factor of 8. The last line is the whole command, ``manyarms run … --dry-run``,
with all cells done and with none, which is what starting takes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from manyarms.lab import Study, plan_of_study, read_results, read_study, run

TOML = """
name = "cells"
replications = 4
horizons = [200]
[for_each]
beta = [{betas}]
[worlds."beta {{beta}}"]
reservoir = {{type = "PowerLaw", beta = "{{beta}}"}}
[policies.uniform]
type = "UniformPlay"
[policies.subsample]
type = "SSUCB"
beta = "{{beta}}"
"""


def written(folder: Path, cells: int) -> Path:
    """The file of a study with so many cells."""
    path = folder / f"{cells}.toml"
    path.write_text(TOML.format(betas=", ".join(f"{0.5 + place / 1000:.3f}" for place in range(cells // 2))))
    return path


def seconds(do: Callable[[], object], times: int = 3) -> float:
    """How long it takes, at best."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        do()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def measured(folder: Path, cells: int) -> dict[str, float]:
    """What a study of so many cells takes."""
    path, results = written(folder, cells), folder / str(cells)

    def fresh() -> Study:
        return read_study(path)  # which knows nothing of what was computed before

    first = seconds(lambda: run(fresh(), results), times=1)
    return {
        "MB": sum(each.stat().st_size for each in results.rglob("*") if each.is_file()) / 1e6,
        "s to run": first,
        "s to run again": seconds(lambda: run(fresh(), results)),
        "s to plan": seconds(lambda: plan_of_study(fresh(), results)),
        "s to read": seconds(lambda: read_results(results / "cells")),
    }


def command(folder: Path, cells: int, results: str) -> float:
    """The seconds of the whole command."""
    words = ["run", f"{cells}.toml", "--dry-run", "--json", "--folder", results]
    return seconds(
        lambda: subprocess.run(
            [sys.executable, "-m", "manyarms.cli", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    )


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, nargs="+", default=[50, 100, 200, 400])
    sizes = options.parse_args().cells
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run(read_study(written(folder, 4)), folder / "warm")  # what has to be compiled is compiled
        rows = {cells: measured(folder, cells) for cells in sizes}
        names = list(rows[sizes[0]])
        print("cells".rjust(6), *(name.rjust(15) for name in names))
        for cells, row in rows.items():
            print(f"{cells:6}", *(f"{row[name]:15.2f}" for name in names))
        print(f"growth from {sizes[0]} to {sizes[-1]} cells, {sizes[-1] / sizes[0]:g} times as many:")
        print(" " * 6, *(f"{rows[sizes[-1]][name] / rows[sizes[0]][name]:15.1f}" for name in names))
        done, none = command(folder, sizes[-1], str(sizes[-1])), command(folder, sizes[-1], "nothing")
        print(f"manyarms run {sizes[-1]}.toml --dry-run: {done:.2f} s with all done, {none:.2f} s with nothing done")


if __name__ == "__main__":
    main()
