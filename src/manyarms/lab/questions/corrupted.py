"""A remark of Suk & Kim on bases, as a study: those that stand up to corruption satisfy their Assumption 2.

`remark-corruption` (Section 4.2): ten arms, one of which is the best, and at first a lie: for some rounds the best arm
pays less than it should and all others more. How does regret grow with the size and the length of the lie?

The assumption bounds regret to the best fixed arm, by the means as they are, lies and all: 6 t alpha, and a constant
times the sum of log(T) / gap over the arms with gaps of 4 alpha and more. Alpha is the level of mild corruption
(`manyarms.measures.corruption`). Works on corruption count its budget instead, C = the sum over rounds of the most that
any mean is off, and aim at C more regret, or K C.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import contract
from ...bases import BARBAR, KLUCB, UCB, Base, MultiLayerRace, SuccessiveElimination, Thompson, TsallisINF
from ...compiled import kernel, store_both
from ...drifts.base import register_drift
from ...measures import corruption
from ...policies import Policy, Subsample
from ...reservoirs import Empirical
from ...specs import Count, Fraction
from ...streams import address
from ...tables import Table
from ...world import World, WorldState, begin_world, preview_world, pull_world, relocate_in_world
from ..figures.statistics import with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Study
from .known import place_of

# ---------------------------------------------------------------- a world that lies at first


class LieState(NamedTuple):
    """What the arms pay, and by how much it is forged until when."""

    means: NDArray[np.float64]  # arm -> its mean when the lie is over
    best: int
    size: float
    rounds: int


@dataclasses.dataclass(frozen=True)
class Corrupted(World):
    """Finitely many arms; in the first rounds the best one pays less than later, and all others more.

    Parameters
    ----------
    reservoir
        An `Empirical`: arm a has its a-th mean, counted from 0 and round and round.
    size
        By how much means are off.
    rounds
        In how many rounds.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = Corrupted(ma.Empirical([0.7, 0.5]), size=0.1, rounds=2, top=0.7)
    >>> lie = world.start(2).drift
    >>> [round(mean_in(lie, arm, t), 9) for t in (2, 3) for arm in (0, 1)]
    [0.6, 0.6, 0.7, 0.5]
    """

    size: Fraction = 0.0
    rounds: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.reservoir, Empirical):
            raise ValueError(f"Corrupted: reservoir must be an Empirical list of means, not {self.reservoir!r}")
        means = sorted(self.reservoir.means)
        if means[-1] < self.size or max(means[:-1], default=0.0) > 1.0 - self.size:
            raise ValueError(f"Corrupted: size must leave all means in [0, 1], not {self.size!r}; take a smaller one")

    def start(self, slots: int) -> "CorruptedState":
        """A world with room for ``slots`` arms at a time."""
        world = super().start(slots)
        means = world.reservoir.means
        lie = LieState(means=means, best=int(np.argmax(means)), size=self.size, rounds=self.rounds or 0)
        return CorruptedState(*world._replace(drift=lie))


class CorruptedState(WorldState):
    """A world whose drift is a ``LieState``."""


@kernel
def mean_in(lie: LieState, arm: int, round: int) -> float:
    """What an arm pays in a round, on average."""
    place = arm % lie.means.size
    forged = lie.size if round <= lie.rounds else 0.0
    return float(lie.means[place] - forged if place == lie.best else lie.means[place] + forged)


def told_anew(lie: LieState, play: contract.Play, reservoir: Any) -> tuple[LieState, float]:
    """What it pays in the next round."""
    return lie, mean_in(lie, play.arm, play.round + 1)


def pull_corrupted(world: CorruptedState, slot: int, arm: int, round: int) -> tuple[WorldState, float, float, float]:
    """As in any world, with the mean of this round, whether or not the arm has waited."""
    visit = world.visits[slot]
    if visit >> 32 != arm:
        visit = address(arm, 0)
    store_both(world.visits, world.means, slot, visit, mean_in(world.drift, arm, round))
    return pull_world(world, slot, arm, round)


register_drift(LieState, told_anew)
contract.register(
    CorruptedState, begin=begin_world, pull=pull_corrupted, relocate=relocate_in_world, preview=preview_world
)

# ---------------------------------------------------------------- the study

HORIZON = 32_768
BEST, OTHERS, ARMS = 0.7, 0.5, 10
GAP = BEST - OTHERS
MEANS = (*(OTHERS,) * 4, BEST, *(OTHERS,) * 5)
"""The best arm is neither the first nor the last: some bases go by the order of arms where all else is equal."""

SHORT = (0, 100, 400, 1_600, 6_400)
"""Rounds in which the best arm seems as much worse than the others as it is better."""

MILD = (0.01, 0.02, 0.03)
"""Levels of mild corruption: half of what means are off by, for half of the horizon."""


def corrupted(size: float, rounds: int) -> Corrupted:
    """A world with this lie."""
    return Corrupted(Empirical(MEANS), top=BEST, size=round(size, 9), rounds=rounds or None)


def short_worlds() -> dict[str, Corrupted]:
    """By name: lies as large as the gap, for some rounds."""
    return {f"lie of {rounds:,} rounds": corrupted(GAP if rounds else 0.0, rounds) for rounds in SHORT}


def mild_worlds() -> dict[str, Corrupted]:
    """By name: small lies, for half of the horizon."""
    return {f"level {level:g}": corrupted(2.0 * level, HORIZON // 2) for level in MILD}


def bases() -> dict[str, Base]:
    """Who plays."""
    return {
        "UCB": UCB(),
        "KL-UCB": KLUCB(),
        "Thompson": Thompson(),
        "Tsallis-INF (RV)": TsallisINF(),
        "Tsallis-INF (IW)": TsallisINF(estimator="IW"),
        "successive elimination": SuccessiveElimination(),
        "BARBAR": BARBAR(),
        "BARBAR, scale 1/1024": BARBAR(scale=2.0**-10),
        "race": MultiLayerRace(),
        "race, scale 0.05": MultiLayerRace(scale=0.05),
    }


def corrupted_bases(replications: int = 20, seed: int = 1, horizon: int = HORIZON) -> Study:
    """The study.

    Examples
    --------
    >>> len(corrupted_bases().cells)
    80
    """
    policies: dict[str, Policy] = {
        name: Subsample(base=base, beta=1.0, arms=ARMS, horizon=horizon) for name, base in bases().items()
    }
    about = "Bases among ten arms, and a lie at first: how does regret grow with the corruption?"
    kept = sorted({*SHORT[1:], HORIZON // 2, horizon})
    worlds = short_worlds() | mild_worlds()
    return Study.of("remark-corruption", policies, worlds, [horizon], replications, seed, kept, about)


# ---------------------------------------------------------------- what is measured


def level_of(world: World, horizon: int) -> float:
    """The level of mild corruption of a run that plays all arms in turn."""
    lie = world.start(ARMS).drift
    arms = np.arange(horizon) % ARMS
    means, after = ([mean_in(lie, int(arm), t + shift) for t, arm in enumerate(arms, start=1)] for shift in (0, 1))
    return corruption(arms, means, after, np.ones(horizon, dtype=np.int64))[0].level


def regret_of_the_best(lie: LieState, horizon: int) -> float:
    """What the best fixed arm of the run loses, as regret is counted: to the best mean, in every round."""
    forged = min(lie.rounds, horizon)
    losses = [
        forged * (BEST - mean_in(lie, arm, 1)) + (horizon - forged) * (BEST - mean_in(lie, arm, horizon + lie.rounds))
        for arm in range(ARMS)
    ]
    return min(losses)


def regret_to_the_best(result: CellResult) -> NDArray[np.float64]:
    """Regret as in Assumption 2: to the best fixed arm, by the means as they were."""
    found = result.final("regret") - regret_of_the_best(result.cell.world.start(ARMS).drift, result.cell.horizon)
    return np.asarray(found, dtype=np.float64)


def regret_after(result: CellResult, rounds: int) -> NDArray[np.float64]:
    """Regret once the lie is over: that of the whole run less that up to the last round kept by then."""
    kept = int(np.searchsorted(result.rounds, rounds, side="right"))
    before = result.column("regret")[:, kept - 1] if kept > 0 else 0.0
    return np.asarray(result.final("regret") - before, dtype=np.float64)


def budget(world: Corrupted) -> float:
    """C: the sum over rounds of the most that any mean is off."""
    return world.size * (world.rounds or 0)


def bound_of_assumption(level: float, gap: float, horizon: int) -> float:
    """6 T alpha, and log(T) / gap for all arms but the best, if the gap is 4 alpha or more; with 1 for C_0."""
    logs = (ARMS - 1) * math.log(horizon) / gap if gap >= 4.0 * level else 0.0
    return 6.0 * horizon * level + logs


def short_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Regret after lies of growing length, for each base; what it grows by, for one more unit of corruption."""
    found = {place_of(result.cell): result for result in results}
    horizon = results[0].cell.horizon
    worlds = short_worlds()
    budgets = [budget(world) for world in worlds.values()]
    rows = []
    for name in bases():
        means = [
            float(regret_after(found[world, name, horizon], rounds).mean())
            for world, rounds in zip(worlds, SHORT, strict=True)
        ]
        row: dict[str, Any] = {"base": name}
        row |= {f"C = {c:g}": round(mean) for c, mean in zip(budgets, means, strict=True)}
        row["growth"] = (means[-1] - means[0]) / budgets[-1]
        rows.append(row)
    bound = {f"C = {c:g}": round(math.sqrt(ARMS * horizon) + c) for c in budgets}
    return [*rows, {"base": "sqrt(K T) + C"} | bound | {"growth": 1.0}]


def mild_rows(results: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Regret to the best fixed arm at growing levels, for each base, beside the assumption."""
    found = {place_of(result.cell): result for result in results}
    horizon = results[0].cell.horizon
    worlds = {next(iter(short_worlds())): corrupted(0.0, 0)} | mild_worlds()
    levels = {world: level_of(spec, horizon) for world, spec in worlds.items()}
    rows: list[dict[str, Any]] = []
    for name in bases():
        row: dict[str, Any] = {"base": name}
        for world, level in levels.items():
            regret = regret_to_the_best(found[world, name, horizon])
            half = 1.96 * float(regret.std(ddof=1)) / math.sqrt(regret.size) if regret.size > 1 else math.nan
            row[f"alpha = {level:.3g}"] = with_half_width(float(regret.mean()), half)
        rows.append(row)
    # From the middle of its range the best arm is off by alpha, and so are the others.
    bounds = {
        f"alpha = {level:.3g}": f"{bound_of_assumption(level, GAP - 2.0 * level, horizon):,.0f}"
        for level in levels.values()
    }
    return [*rows, {"base": "Assumption 2 with C_0 = 1"} | bounds]


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report says first."""
    short = (
        "Suk & Kim remark (Section 4.2) that bandit algorithms with the best bounds under adversarial corruption "
        f"satisfy their Assumption 2. Here {ARMS} coins, one of mean {BEST:g} and the others of {OTHERS:g}, are played "
        f"for {results[0].cell.horizon:,} rounds. In the first n of them the best arm pays {GAP:g} less and all others "
        f"{GAP:g} more, so that it seems the worst. The budget C is {GAP:g} n. The table has the regret of the rounds "
        "after the lie, when all means are true, and what it has grown by for each unit of the largest C.",
    )
    mild = (
        "A lie that is small and lasts half of the run: alpha is the level of mild corruption, as measured. Regret is "
        "to the best fixed arm by the means as they were, lies included, which is what the assumption bounds with "
        "probability 1 - 1/T: by 6 T alpha, and C_0 times the sum of log(T) / gap, for some constant C_0 of the base.",
    )
    return [
        Section("After a lie", short, (Table(short_rows(results)),)),
        Section("Mild corruption", mild, (Table(mild_rows(results)),)),
    ]


NAMED_STUDIES["remark-corruption"] = corrupted_bases
FINDINGS["remark-corruption"] = findings
