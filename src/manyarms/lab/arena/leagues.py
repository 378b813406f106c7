"""What all arenas share: contests, entrants, what is measured, and how it is read.

A *contest* is a world and a horizon. An *entrant* is what plays in it: a policy, or a grid of them of which the best in
hindsight counts. A *league* is a table of both, with what counts in it: regret, of which less is better, or reward.
Contests of a league are split once into a tuning half and a test half: settings chosen on the first are honestly tested
on the second.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...policies import Policy
from ...policies.base import DOUBLING
from ...policies.tail import AUTO
from ...specs import RAISED, one_of, text_of
from ...world import World
from ..figures.statistics import Floats
from ..running.costs import seconds_beyond
from ..running.files import CellResult

TUNING, TEST = HALVES = ("tuning", "test")


class AnyContest(abc.ABC):
    """Abstract: a world and a horizon, and which half they are of."""

    half: str
    horizon: int

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What to call it; no other contest of its league has this name."""

    @property
    @abc.abstractmethod
    def world(self) -> World:
        """The world."""

    @property
    @abc.abstractmethod
    def is_still(self) -> bool:
        """Whether nothing changes."""

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the page says of it, by the heading: texts and numbers."""


def powered(horizon: int) -> str:
    """A horizon, as a power of ten if it is one.

    Examples
    --------
    >>> powered(100_000), powered(5000)
    ('10^5', '5,000')
    """
    power = len(str(horizon)) - 1
    return f"10^{power}" if horizon == 10**power else f"{horizon:,}"


# ---------------------------------------------------------------- entrants

NOTHING, NEEDED, HINDSIGHT = GROUPS = ("nothing", "what it needs", "hindsight")
"""What an entrant is told: nothing at all; beta, T and V where it has a place for them; or, for a grid of settings,
which of them turned out best in this very contest."""

Plays = Policy | Mapping[str, Policy]


@dataclasses.dataclass(frozen=True)
class Entrant:
    """Who takes part."""

    name: str
    told: str  # one of GROUPS
    plays: Callable[[Any], Plays]  # its policy in a contest; or several by name, of which the best in hindsight counts
    quick: bool = False  # whether it also takes part when the arena is quick
    enters: Callable[[Any], bool] = lambda contest: True  # where it takes part: some would take days

    def __post_init__(self) -> None:
        one_of(f"arena: the entrant {self.name!r}", "told", self.told, GROUPS)

    def policies(self, contest: AnyContest) -> dict[str, Policy]:
        """What it plays in a contest, by the name under which results are kept; nothing if it does not take part."""
        if not self.enters(contest):
            return {}
        try:
            plays = self.plays(contest)
        except RAISED as error:  # a function of one's own may raise anything
            raise ValueError(
                f"arena: the entrant {self.name!r} fails in the contest {contest.name!r}: "
                f"{type(error).__name__}: {text_of(error)}; mend its function, or let it give {{}} to stay away"
            ) from error
        named: dict[str, Any] = {self.name: plays}
        if isinstance(plays, Mapping):
            named = {f"{self.name}: {key}": policy for key, policy in plays.items()}
        for name, policy in named.items():
            if not isinstance(policy, Policy):
                raise ValueError(
                    f"arena: the entrant {name!r} must play a policy in the contest {contest.name!r}, not {policy!r}"
                )
            if policy.sees_means:
                raise ValueError(
                    f"arena: the entrant {name!r} plays {policy!r}, which sees means; give a policy that sees only "
                    "rewards"
                )
        return named


Make = Callable[..., Policy]
"""A policy type, or one of which some fields are already given."""


def auto(name: str, make: Make, **how: Any) -> Entrant:
    """A policy that is told nothing: it estimates beta as the run goes, and doubles its horizon."""
    return Entrant(f"{name}, auto", NOTHING, lambda contest: make(beta=AUTO, horizon=DOUBLING), **how)


MOST_SECONDS = 10.0
"""What a run may take because it goes through all of its arms in every round."""


def is_short(policy: Policy, contest: AnyContest) -> bool:
    """Whether a run takes seconds and not hours.

    Thompson sampling draws a number for every arm in every round, others look at every arm.
    """
    return seconds_beyond(policy, contest.world, contest.horizon) <= MOST_SECONDS


# ---------------------------------------------------------------- what counts


@dataclasses.dataclass(frozen=True)
class Measure:
    """What a run is judged by."""

    name: str  # "regret" or "reward"
    sign: float  # 1.0 if more is better, -1.0 if less is
    total: Callable[[CellResult], Floats]  # of each replication
    best: str  # in words, before "mean": "least" or "largest"

    def best_of(self, totals: Mapping[str, Floats]) -> str:
        """The name with the best mean; the first of several."""
        return max(totals, key=lambda name: self.sign * float(totals[name].mean()))


def summed_means(result: CellResult) -> Floats:
    """The means of all arms played, added up: what rewards come to, without the luck of single plays."""
    cell = result.cell
    return np.asarray(cell.horizon * cell.world.top - result.final("regret"), dtype=np.float64)


REGRET = Measure("regret", -1.0, lambda result: result.final("regret"), "least")
REWARD = Measure("reward", 1.0, summed_means, "largest")


@dataclasses.dataclass(frozen=True)
class League:
    """A table of contests and entrants, and how what comes out is read."""

    name: str
    contests: tuple[AnyContest, ...]
    entrants: tuple[Entrant, ...]
    quick_contests: tuple[AnyContest, ...]
    quick_entrants: tuple[Entrant, ...]
    star: str  # the entrant whose ratios are shown one by one
    measure: Measure
    against: Mapping[str, Sequence[str] | None]
    """By the heading of a column of the leaderboard: over the best of whom ratios are taken; None for all others. The
    first is that of the heat map."""
    parts: Mapping[str, Callable[[Any], bool]]  # by name, what of the contests the leaderboard tells apart
    about: str  # what the page asks
    reading: tuple[str, ...]  # how the leaderboard is read
    note: str  # how the heat map is read
    settings_note: str  # what the table of contests says besides their names
    yardsticks: Mapping[str, Callable[[Any], float]] = dataclasses.field(default_factory=dict)
    """By name, numbers that are computed for a contest and not played: rivals that can be named in ``against``."""

    def folder(self, quick: bool) -> str:
        """Where results go if nothing else is said: apart, as some contests have the same name."""
        return f"results/{self.name}{'-quick' if quick else ''}"

    @property
    def main(self) -> str:
        """The heading of the column that counts most."""
        return next(iter(self.against))


COMMON_PARTS: dict[str, Callable[[Any], bool]] = {
    **{f"{half} half": lambda contest, half=half: contest.half == half for half in HALVES},  # type: ignore[misc]
    "still": lambda contest: contest.is_still,
    "changing": lambda contest: not contest.is_still,
}
"""What every leaderboard tells apart."""

INTERVALS = (
    "In brackets stands the 95 % interval, by the delta method on paired replications. It is of chance in the runs "
    "alone: that the best rival, the best of a grid and the worst contest were picked by the same numbers is left out."
)

AWAY = (
    "An entrant that is not in all contests comes last: some look at each of their arms in each round, which can take "
    "hours; Thompson sampling even draws a number for each."
)
