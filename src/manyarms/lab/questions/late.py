"""Late: what does it cost each policy that answers come late?

Answers come in batches, all after the same delay, or after delays of their own, log-uniform from 1 on; of 10, 100 and
1,000 rounds; in a world where nothing changes, and in one where every play breaks its arm with probability 5e-4. beta
is 1, and told to those who need it.

Where nothing changes and there are K arms, lateness adds at most the sum over arms of gap times open asks (Joulani,
György & Szepesvári 2013). So the loss is also told per open ask: by Little's law as many are open on average as an
answer takes rounds on average.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...bases import UCB, GLRklUCB, Greedy, TsallisINF
from ...drifts import Crash
from ...feedbacks import AtOnce, Batches, Delayed, Feedback, LogUniform
from ...policies import (
    AUCBTASW,
    AUCBTP,
    CBT,
    IMOSS,
    OSE,
    PROSE,
    QRM2,
    SSUCB,
    UCBAIR,
    UCBTASW,
    UCBTP,
    Blackbox,
    BracketingHalving,
    Elimination,
    EmpiricalCBT,
    Forager,
    KFailure,
    MRun,
    NLearning,
    Oracle,
    Policy,
    SiRI,
    Subsample,
    TwoTarget,
    UniformPlay,
)
from ...policies.tail import AUTO
from ...reservoirs import PowerLaw
from ...results import COLOURS, STYLES
from ...tables import Table
from ...world import World
from ..figures.figures import MARKERS, WIDTHS, styled
from ..figures.statistics import difference, with_half_width
from ..pages.report import FINDINGS, Section
from ..running.files import CellResult
from ..studies.study import NAMED_STUDIES, Cell, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HORIZON = 20_000
SIZES = (10, 100, 1_000)

KINDS = {"still": 0.0, "crashes": 5e-4}
"""By world, the probability with which a play breaks its arm. The same drift in both: half as much is compiled."""

AT_ONCE = "at once"


@dataclasses.dataclass(frozen=True)
class Lateness:
    """A way to be late, of any size."""

    name: str  # with the size left open
    feedback: Callable[[int], Feedback]
    delay: Callable[[int], float]  # of an answer, on average

    def called(self, size: int) -> str:
        """Its name for a size."""
        return self.name.format(f"{size:,}")


def mean_delay(delay: LogUniform) -> float:
    """On average, in rounds.

    Examples
    --------
    >>> round(mean_delay(LogUniform(1, 1000)))
    144
    """
    return float(delay.start().rounds.mean())


LATENESSES = (
    Lateness("batches of {}", feedback=Batches, delay=lambda size: (size - 1) / 2.0),
    # From n to n: of the same type as those below, so that it is compiled with them.
    Lateness("delays of {}", feedback=lambda size: Delayed(LogUniform(size, size)), delay=float),
    Lateness(
        "delays 1 to {}",
        feedback=lambda size: Delayed(LogUniform(1, size)),
        delay=lambda size: mean_delay(LogUniform(1, size)),
    ),
)

POLICIES: dict[str, Callable[[float], Policy]] = {
    "Elimination": lambda falls: Elimination(beta=1.0),
    "Elimination, auto": lambda falls: Elimination(beta=AUTO),
    "Blackbox(UCB), auto": lambda falls: Blackbox(base=UCB(), beta=AUTO),
    "SSUCB": lambda falls: SSUCB(beta=1.0),
    "Subsample(Greedy)": lambda falls: Subsample(base=Greedy(), beta=1.0),
    "Subsample(TsallisINF)": lambda falls: Subsample(base=TsallisINF(), beta=1.0),
    "Subsample(GLR-klUCB)": lambda falls: Subsample(base=GLRklUCB(), beta=1.0),
    "Forager": lambda falls: Forager(),
    "EmpiricalCBT": lambda falls: EmpiricalCBT(),
    "CBT": lambda falls: CBT(beta=1.0),
    "UCBT-ASW": lambda falls: UCBTASW(beta=1.0, variation=falls, width=0.5),
    "AUCBT-ASW": lambda falls: AUCBTASW(),
    "UCB-TP": lambda falls: UCBTP(rotting=falls / HORIZON, width=0.5),
    "AUCB-TP": lambda falls: AUCBTP(width=0.5),
    "UCB-AIR": lambda falls: UCBAIR(beta=1.0),
    "IMOSS": lambda falls: IMOSS(),
    "QRM2": lambda falls: QRM2(),
    "SiRI": lambda falls: SiRI(beta=1.0),
    "BracketingHalving": lambda falls: BracketingHalving(),
    "OSE": lambda falls: OSE(),
    "PROSE": lambda falls: PROSE(),
    "KFailure": lambda falls: KFailure(),
    "MRun": lambda falls: MRun(),
    "NLearning": lambda falls: NLearning(),
    "TwoTarget": lambda falls: TwoTarget(),
    "UniformPlay": lambda falls: UniformPlay(),
    "Oracle": lambda falls: Oracle(),
}
"""Who plays: all policies of the package, and on a subsample a base that is greedy, one that draws, one that restarts.

UCBT-ASW is told by how much means fall in all, UCB-TP by how much with a play. The last two do not mind what they are
told, or when.
"""

YARDSTICKS = ("UniformPlay", "Oracle")

DRAWN = (
    "Elimination",
    "Blackbox(UCB), auto",
    "SSUCB",
    "Subsample(Greedy)",
    "Subsample(TsallisINF)",
    "Forager",
    "EmpiricalCBT",
    "CBT",
    "IMOSS",
    "PROSE",
    "TwoTarget",
    *YARDSTICKS,
)
"""Who is in the picture, which would be too full of all; the tables have all."""


def feedbacks() -> dict[str, Feedback]:
    """All of them by name."""
    late = {one.called(size): one.feedback(size) for one, size in itertools.product(LATENESSES, SIZES)}
    return {AT_ONCE: AtOnce()} | late


def late(replications: int = 40, seed: int = 1) -> Study:
    """The study.

    Examples
    --------
    >>> len(late().cells)
    540
    """
    cells = []
    for (kind, probability), (name, feedback) in itertools.product(KINDS.items(), feedbacks().items()):
        world = World(PowerLaw(beta=1.0), Crash(probability=probability, to=0.0), feedback=feedback)
        for policy_name, policy in POLICIES.items():
            cells.append(Cell(f"{kind}, {name}", world, policy_name, policy(probability * HORIZON), HORIZON))
    about = "What does it cost each policy that answers come late?"
    return Study("late", tuple(cells), replications, seed, checkpoints=16, about=about)


class Played:
    """The results of the whole study by world, feedback and policy."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.cells = {(result.cell.world_name, result.cell.policy_name): result for result in results}

    def reward(self, kind: str, feedback: str, policy: str) -> float:
        """A round, on average."""
        return float(self.cells[f"{kind}, {feedback}", policy].final("reward").mean()) / HORIZON

    def share(self, kind: str, feedback: str, policy: str) -> float:
        """Of the reward with answers at once."""
        return self.reward(kind, feedback, policy) / self.reward(kind, AT_ONCE, policy)

    def losses_per_open_ask(self, kind: str, one: Lateness, size: int, policy: str) -> tuple[float, float]:
        """Regret beyond that with answers at once, over the open asks; with half its 95 % interval."""
        late = self.cells[f"{kind}, {one.called(size)}", policy]
        extra = difference(late, self.cells[f"{kind}, {AT_ONCE}", policy])
        return extra.mean / one.delay(size), extra.half_width / one.delay(size)


def shares(results: Sequence[CellResult], kind: str) -> list[dict[str, Any]]:
    """For each policy, what it earns a round with answers at once, and which share of that with late ones."""
    played = Played(results)
    return [
        {"policy": policy, "reward at once": f"{played.reward(kind, AT_ONCE, policy):.3f}"}
        | {name: f"{played.share(kind, name, policy):.3f}" for name in feedbacks() if name != AT_ONCE}
        for policy in POLICIES
    ]


def losses(results: Sequence[CellResult], one: Lateness) -> list[dict[str, Any]]:
    """For each policy and world, what an open ask costs in regret, if answers are late in this way."""
    played = Played(results)
    return [
        {"policy": policy}
        | {
            f"{kind}, {one.called(size)}": with_half_width(*played.losses_per_open_ask(kind, one, size, policy), 1)
            for kind, size in itertools.product(KINDS, SIZES)
        }
        for policy in POLICIES
        if policy not in YARDSTICKS
    ]


def findings(results: Sequence[CellResult]) -> list[Section]:
    """What the report of this study says first."""
    return [
        *(
            Section(
                f"What is left of the reward: {kind}",
                (
                    "The reward of a round with answers at once, and the share of it that is left when they come in "
                    "batches, all after the same delay, or after delays that are log-uniform from 1 on.",
                ),
                (Table(shares(results, kind)),),
            )
            for kind in KINDS
        ),
        Section(
            "Regret for each open ask",
            (
                "By how much regret grows, over how many asks are open on average, with 95 % intervals. Where a row "
                "has the same figure for all sizes, regret grows in proportion; where figures fall, it has come "
                "near that of random arms. A half is what a random arm loses: a policy that pays so much makes its "
                "open asks blindly once, at the beginning, and no more. One that has to wait for answers arm by arm "
                "pays for each arm, and where arms break down, all pay again for those that are lost.",
            ),
            tuple(Table(losses(results, one)) for one in LATENESSES),
        ),
    ]


def late_figure(results: Sequence[CellResult]) -> "Figure":
    """The reward of a round, a row for each world, a column for each way of being late."""
    import matplotlib.pyplot as plt

    played = Played(results)
    size = WIDTHS["page"], 2.6 * len(KINDS) + 0.7
    shape = len(KINDS), len(LATENESSES)
    with styled():
        figure, panels = plt.subplots(
            *shape, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
        )
        for row, kind in zip(panels, KINDS, strict=True):
            for panel, one in zip(row, LATENESSES, strict=True):
                draw_rewards(panel, played, kind, one)
            row[0].set_ylabel("reward of a round")
        for panel in panels[-1]:
            panel.set_xlabel("n")
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def draw_rewards(panel: "Axes", played: Played, kind: str, one: Lateness) -> None:
    """A line for each policy, from answers at once on; thin ones for those who do not mind."""
    names = [AT_ONCE, *(one.called(size) for size in SIZES)]
    for place, policy in enumerate(DRAWN):
        look: dict[str, Any] = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": STYLES[place // len(COLOURS) % len(STYLES)],
            "marker": MARKERS[place % len(MARKERS)],
        }
        if policy in YARDSTICKS:
            look = {"color": "0.5", "linestyle": STYLES[YARDSTICKS.index(policy)], "linewidth": 0.8}
        panel.plot([played.reward(kind, name, policy) for name in names], label=policy, **look)
    panel.set_xticks(range(len(names)), labels=[AT_ONCE, *(f"{size:,}" for size in SIZES)])
    panel.set_ylim(0.0, 1.02)
    panel.set_title(f"{kind}, {one.name.format('n')}", loc="left")


NAMED_STUDIES["late"] = late
FINDINGS["late"] = findings
