"""The paper's figure, as its text describes it and as it was published.

Suk & Kim, Section 7: means 1 - U^(1/beta), the played arm loses 1/t at round t, losses uniform between 0 and
twice the gap, horizons 20,000 to 100,000, each run on its own.

*As described*, every policy meets the same arms and the same noise. *As published*, the four differences of
`manyarms.lab.questions.published` are switched on, each of which can be left out, and the published numbers stand
beside ours.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...bases import UCB
from ...drifts import Rotting
from ...noises import GapUniform
from ...policies import AUCBTASW, SSUCB, Blackbox, Elimination, Policy
from ...reservoirs import PowerLaw
from ...specs import count, one_of, positive
from ...tables import Table
from ...world import World
from ..pages.report import Section, write_report
from ..running.files import CellResult, read_all, summary
from ..running.runner import run_with_bar
from ..studies.study import NAMED_STUDIES, Cell, Study
from .published import Capped, RottingByBlocks, RottingByPlays, SameArms

BETAS = (0.8, 1.0, 1.2)
HORIZONS = (20_000, 40_000, 60_000, 80_000, 100_000)
REPLICATIONS = 100
SEED = 1
MODES = ("described", "published")

DIFFERENCES = {
    "block cap": "An episode of Elimination or Blackbox ends after ceil(ln T) blocks (12 of them, 8,190 rounds, at "
    "T = 100,000) and the algorithm starts over, although nothing was detected.",
    "own clock": "In SSUCB's world an arm loses 1/n at its n-th play instead of 1/t at round t: its whole mean at the "
    "first play. After one sweep all of its arms are dead.",
    "block clock": "In AUCBT-ASW's world the first round of each of its blocks counts as round 1: the arm played there "
    "loses its whole mean.",
    "same arms": "At beta = 1 the blackbox meets arms with the same first means in every block.",
}
"""The four differences between the published runs and the text, in plain words."""

PUBLISHED: dict[str, dict[float, tuple[float, float]]] = {
    "Elimination": {0.8: (26_179, 104), 1.0: (36_713, 138), 1.2: (46_601, 300)},
    "Blackbox(UCB)": {0.8: (35_143, 333), 1.0: (39_608, 2_247), 1.2: (44_913, 198)},
    "AUCBT-ASW": {0.8: (69_553, 2_874), 1.0: (73_079, 2_519), 1.2: (74_209, 2_395)},
    "SSUCB": {0.8: (99_824, 6), 1.0: (99_843, 3), 1.2: (99_758, 7)},
}
"""The published regret at T = 100,000: mean and standard deviation of 5 replications, by policy and beta."""


def published_policies(beta: float) -> dict[str, Policy]:
    """The four policies of the figure with the settings of the published runs, and none of the differences."""
    return {
        "Elimination": Elimination(beta=beta, preset="published"),
        "Blackbox(UCB)": Blackbox(base=UCB(), beta=beta, preset="published"),
        "SSUCB": SSUCB(beta=beta, preset="published"),
        "AUCBT-ASW": AUCBTASW(preset="published"),
    }


def described_policies(beta: float) -> dict[str, Policy]:
    """The same four, the paper's two algorithms as its text states them, and with calibrated constants."""
    return published_policies(beta) | {
        # The text: "without the log T factor" in the subsample, logarithms to base 2, constants 1.
        "Elimination, text": Elimination(beta=beta, preset="paper", log_factor=False),
        "Blackbox(UCB), text": Blackbox(base=UCB(), beta=beta, preset="paper"),
        "Elimination, calibrated": Elimination(beta=beta),
        "Blackbox(UCB), calibrated": Blackbox(base=UCB(), beta=beta),
    }


def published_cell(name: str, policy: Policy, beta: float, horizon: int, differences: Sequence[str]) -> Cell:
    """One policy of the figure as it was run, with these differences."""
    world = World(PowerLaw(beta=beta), Rotting(rate="1/t"), GapUniform())  # that of the text
    if name in ("Elimination", "Blackbox(UCB)") and "block cap" in differences:
        policy = Capped(policy)
    if name == "SSUCB" and "own clock" in differences:
        world = world.replace(drift=RottingByPlays())
    if name == "AUCBT-ASW" and "block clock" in differences:
        world = world.replace(drift=RottingByBlocks(length=math.ceil(math.sqrt(horizon))))
    if name == "Blackbox(UCB)" and "same arms" in differences and beta == 1.0:
        world = SameArms(world.reservoir, world.drift, world.noise)
    return Cell(f"beta {beta:g}", world, name, policy, horizon)


def figure_1(
    mode: str,
    betas: Sequence[float] = BETAS,
    horizons: Sequence[int] = HORIZONS,
    replications: int = REPLICATIONS,
    seed: int = SEED,
    differences: Sequence[str] = tuple(DIFFERENCES),
) -> Study:
    """The study behind the figure, ``"described"`` or ``"published"``.

    Examples
    --------
    >>> study = figure_1("published", betas=[1.0], horizons=[1000], differences=["block cap"])
    >>> [cell.policy_name for cell in study.cells]
    ['Elimination', 'Blackbox(UCB)', 'SSUCB', 'AUCBT-ASW']
    """
    one_of("figure 1", "mode", mode, MODES)
    unknown = sorted(set(differences) - set(DIFFERENCES))
    if unknown:
        raise ValueError(f"figure 1: unknown difference {unknown[0]!r}; there are {', '.join(map(repr, DIFFERENCES))}")
    cells = []
    for beta, horizon in itertools.product(betas, horizons):
        beta = positive("figure 1", "each of the betas", beta)
        horizon = count("figure 1", "each of the horizons", horizon)
        policies = published_policies(beta) if mode == "published" else described_policies(beta)
        used = differences if mode == "published" else ()
        cells += [published_cell(name, policy, beta, horizon, used) for name, policy in policies.items()]
    about = {
        "described": "The paper's figure as its text describes it: one world for all policies.",
        "published": f"The paper's figure as it was published, with these differences: {', '.join(differences)}.",
    }
    return Study(f"figure-1-{mode}", tuple(cells), replications, seed, about=about[mode])


NAMED_STUDIES.update({f"figure-1-{mode}": functools.partial(figure_1, mode) for mode in MODES})


def end_points(mode: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A study's summary with the published numbers beside ours."""
    found = []
    for row in rows:
        policy, beta, horizon = row["policy"], float(row["world"].removeprefix("beta ")), row["horizon"]
        known = PUBLISHED.get(policy, {}).get(beta) if horizon == HORIZONS[-1] else None
        ours = {"mode": mode, "policy": policy, "beta": beta, "horizon": horizon, "mean": row["mean"], "sd": row["sd"]}
        found.append(ours | {"published": known and known[0]})
    return found


# ---------------------------------------------------------------- what was found

Results = Mapping[str, Sequence[CellResult]]
"""By mode, the results of its cells."""


def reproduce(modes: Iterable[str], settings: Mapping[str, Any], folder: str | Path, **where: Any) -> Results:
    """Run the figure, or what is left of it; ``settings`` as for `figure_1`, ``where`` as for `run_with_bar`."""
    studies = {mode: figure_1(mode, **settings) for mode in modes}
    return {mode: read_all(run_with_bar(study, folder, **where), study) for mode, study in studies.items()}


def rows(results: Results) -> list[dict[str, Any]]:
    """One row for each cell: mode, policy, beta, horizon, mean, sd, published."""
    return [row for mode, cells in results.items() for row in end_points(mode, summary(cells))]


def ends(results: Results, mode: str) -> list[dict[str, Any]]:
    """Those rows of a mode that are of the longest horizon."""
    found = [row for row in rows(results) if row["mode"] == mode]
    longest = max(row["horizon"] for row in found)
    return [row for row in found if row["horizon"] == longest]


def end_table(results: Results, mode: str) -> Table:
    """Policies down, betas across: our mean regret at the longest horizon, and the published one beside it."""
    lines: dict[str, dict[str, Any]] = {}
    for row in ends(results, mode):
        line = lines.setdefault(row["policy"], {"policy": row["policy"]})
        line[f"beta {row['beta']:g}"] = f"{row['mean']:,.0f} ± {row['sd']:,.0f}".rjust(15)
        if mode == "published":
            published = row["published"]
            line[f"published ({row['beta']:g})"] = f"{published:,.0f}".rjust(10) if published else "-".rjust(10)
            apart = f"{100.0 * (row['mean'] / published - 1.0):+.1f} %" if published else "-"
            line[f"apart ({row['beta']:g})"] = apart.rjust(8)
    return Table(list(lines.values()))


def ranking(results: Results, mode: str) -> list[dict[str, Any]]:
    """For each beta, these policies from the least to the largest regret at the longest horizon."""
    by_beta: dict[float, list[str]] = {}
    for row in sorted(ends(results, mode), key=lambda row: (row["beta"], row["mean"])):
        if row["policy"] in PUBLISHED:
            by_beta.setdefault(row["beta"], []).append(row["policy"])
    said = "from the least regret to the largest"
    return [{"runs": f"as {mode}", "beta": f"{beta:g}", said: ", ".join(names)} for beta, names in by_beta.items()]


def factors(results: Results) -> list[dict[str, Any]]:
    """By what factor the regret of each policy of the figure grows with the differences, at the longest horizon."""
    means = {(mode, row["policy"], row["beta"]): row["mean"] for mode in MODES for row in ends(results, mode)}
    betas = sorted({beta for _, _, beta in means})
    return [
        {"policy": policy}
        | {f"beta {beta:g}": means["published", policy, beta] / means["described", policy, beta] for beta in betas}
        for policy in published_policies(betas[0])
    ]


AS_PUBLISHED = (
    "Suk & Kim's figure was made by code whose runs differ from the paper's text in four places. They are switched "
    "on here. Each policy therefore plays in a world of its own, and the curves below compare policies under unequal "
    "conditions: differences between them are not paired.",
    *(f"{name.capitalize()}: {text}" for name, text in DIFFERENCES.items()),
    "The published numbers are means of 5 replications at the longest horizon; ± is the standard deviation of one "
    "replication.",
)

AS_DESCRIBED = (
    "Every policy meets the same arms, the same noise and the same drift, and nothing ends an episode but a detected "
    "change. The four policies of the figure have the settings of the published runs. Beside them stand the paper's "
    "two algorithms as its text states them (logarithms to base 2, constants 1, Elimination without the log factor), "
    "and with calibrated constants. ± is the standard deviation of one replication.",
)

WHAT_CHANGES = (
    "The figure's four policies with the four differences (as published) and without them (as described): by what "
    "factor each one's regret grows, and the ranking either way.",
)


def sections(results: Results, mode: str) -> list[Section]:
    """What the report of one mode says before its curves."""
    words = AS_PUBLISHED if mode == "published" else AS_DESCRIBED
    found = [Section(f"As {mode}", words, (end_table(results, mode),))]
    if set(MODES) <= set(results):
        ranked = [row for one in MODES for row in ranking(results, one)]
        found.append(Section("What the differences change", WHAT_CHANGES, (Table(factors(results)), Table(ranked))))
    return found


def write_reports(results: Results, folder: str | Path, command: str) -> list[Path]:
    """One report for each mode."""
    return [
        write_report(cells, Path(folder) / f"figure-1-{mode}.html", command, sections(results, mode))
        for mode, cells in results.items()
    ]
