"""Who is how much worse than the best: ratios of mean regrets, contest by contest and over many of them.

In each contest, an entrant's *ratio* is its mean regret over the least mean regret of all others. Exactly one entrant
is below 1, unless two are tied. Over contests, the geometric mean of ratios counts, and the worst of them.

Intervals are 95 % and by the delta method: one replication moves the logarithm of a ratio x / y of means by its own
value over x less its own value over y. Replications with the same number share their arms and their luck, over entrants
and over contests of one seed, so moves are added up replication by replication. What an interval leaves out, INTERVALS
says. Where two rivals are nearly tied, the least of their means is a little too low, and a ratio to it too high.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...intervals import mean_and_half_width
from ...tables import Table
from ..figures.statistics import Floats
from ..pages.report import Section
from .tables import GROUPS, HALVES, HINDSIGHT, NOTHING, Contest, Entrant


class Ratio(NamedTuple):
    """A ratio with its 95 % interval; the ends are NaN for a single replication.

    Examples
    --------
    >>> str(Ratio(1.234, 1.2, 1.3)), str(Ratio(1.234, math.nan, math.nan)), str(Ratio(43.21, 40.0, 46.0))
    ('1.23 (1.20–1.30)', '1.23', '43.2 (40.0–46.0)')
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.low):
            return ratio_text(self.value)
        return f"{ratio_text(self.value)} ({ratio_text(self.low)}–{ratio_text(self.high)})"


def ratio_text(value: float) -> str:
    """A ratio to read: three digits, thousands apart.

    Examples
    --------
    >>> ratio_text(0.0123), ratio_text(1.5), ratio_text(12.34), ratio_text(1234.5)
    ('0.0123', '1.50', '12.3', '1,234')
    """
    if value >= 100.0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}" if value >= 0.0995 else f"{value:.3g}"


class Duel(NamedTuple):
    """An entrant against the best of its rivals, in one contest."""

    contest: Contest
    rival: str
    log_ratio: float
    moves: Floats  # by how much each replication moves it

    @property
    def ratio(self) -> Ratio:
        """Mean regret over that of the best rival."""
        return _ratio(self.log_ratio, self.moves)


def _ratio(log_ratio: float, moves: Floats) -> Ratio:
    _, half_width = mean_and_half_width(moves)
    return Ratio(*(math.exp(log_ratio + end) for end in (0.0, -half_width, half_width)))


def geometric_mean(duels: Sequence[Duel]) -> Ratio:
    """Over contests, all of the same replications."""
    moves = np.mean([duel.moves for duel in duels], axis=0)
    return _ratio(float(np.mean([duel.log_ratio for duel in duels])), moves)


def worst(duels: Sequence[Duel]) -> Duel:
    """The contest with the largest ratio."""
    return max(duels, key=lambda duel: duel.log_ratio)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """The final regrets of an arena, by the names of contest and entrant; both in the order of the tables."""

    contests: tuple[Contest, ...]
    entrants: tuple[Entrant, ...]
    regrets: Mapping[tuple[str, str], Floats]  # in every replication; of a grid, that of its best
    chosen: Mapping[tuple[str, str], str]  # which of a grid that was

    @classmethod
    def of(
        cls, contests: Iterable[Contest], entrants: Iterable[Entrant], played: Mapping[tuple[str, str], Floats]
    ) -> "Scores":
        """From the final regrets of all policies, by the names of contest and policy."""
        contests, entrants = tuple(contests), tuple(entrants)
        if len({len(regrets) for regrets in played.values()}) > 1:
            raise ValueError("the contests have different numbers of replications; run the arena anew with one of them")
        regrets, chosen = {}, {}
        for contest, entrant in itertools.product(contests, entrants):
            names = [name for name in entrant.policies(contest) if (contest.name, name) in played]
            if not names:
                continue
            best = min(names, key=lambda name: float(played[contest.name, name].mean()))
            key = contest.name, entrant.name
            regrets[key], chosen[key] = played[contest.name, best], best.removeprefix(entrant.name).lstrip(": ")
            if not regrets[key].mean() > 0.0:
                raise ValueError(
                    f"the mean regret of {best!r} in the contest {contest.name!r} is {regrets[key].mean():g}, and "
                    "ratios need numbers above 0; leave one of the two out"
                )
        return cls(contests, entrants, regrets, chosen)

    def duels(self, entrant: str, rivals: Collection[str] | None = None) -> list[Duel]:
        """An entrant against the best of its rivals (all others if left out), in each contest where they met."""
        key = entrant, None if rivals is None else frozenset(rivals)
        if key not in self._duels:
            among = [other.name for other in self.entrants if rivals is None or other.name in rivals]
            found = (self._duel(contest, entrant, among) for contest in self.contests)
            self._duels[key] = [duel for duel in found if duel is not None]
        return self._duels[key]

    @functools.cached_property
    def _duels(self) -> dict[tuple[str, frozenset[str] | None], list[Duel]]:
        """Those that were asked for: every table wants the same ones."""
        return {}

    def _duel(self, contest: Contest, entrant: str, rivals: Sequence[str]) -> Duel | None:
        """One contest; None unless both sides took part."""
        own = self.regrets.get((contest.name, entrant))
        met = {name: self.regrets[contest.name, name] for name in rivals if (contest.name, name) in self.regrets}
        met.pop(entrant, None)
        if own is None or not met:
            return None
        rival = min(met, key=lambda name: float(met[name].mean()))
        mean, least = float(own.mean()), float(met[rival].mean())
        return Duel(contest, rival, math.log(mean / least), own / mean - met[rival] / least)


# ---------------------------------------------------------------- tables

PARTS: dict[str, Callable[[Contest], bool]] = {
    **{f"{half} half": lambda contest, half=half: contest.half == half for half in HALVES},  # type: ignore[misc]
    "still": lambda contest: contest.is_still,
    "changing": lambda contest: not contest.is_still,
}
"""What the leaderboard tells apart."""


def means_of_parts(duels: Sequence[Duel]) -> dict[str, str]:
    """The geometric mean over each part of the contests, with its interval."""
    inside = {part: [duel for duel in duels if where(duel.contest)] for part, where in PARTS.items()}
    return {part: str(geometric_mean(among)) if among else "–" for part, among in inside.items()}


def worst_of(duels: Sequence[Duel]) -> dict[str, str]:
    """The worst contest and its ratio."""
    hardest = worst(duels)
    return {"worst": str(hardest.ratio), "worst in": hardest.contest.name}


def leaderboard(scores: Scores) -> list[dict[str, Any]]:
    """One row for each entrant, the best first; those that were not in all contests come last.

    The columns: geometric means of ratios with their intervals, over all contests and over parts of them; and
    the worst contest.
    """
    rows = []
    for entrant in scores.entrants:
        duels = scores.duels(entrant.name)
        if not duels:
            continue
        mean = geometric_mean(duels)
        row = {
            "entrant": entrant.name,
            "told": entrant.told,
            "all": str(mean),
            **worst_of(duels),
            "first in": f"{sum(duel.log_ratio <= 0.0 for duel in duels)} of {len(duels)}",  # alone or tied
            **means_of_parts(duels),
        }
        rows.append((len(duels) < len(scores.contests), mean.value, row))
    rows.sort(key=lambda row: row[:2])
    return [row for _, _, row in rows]


def rivals_of(scores: Scores, star: str) -> dict[str, list[str]]:
    """Whom the star is held against: groups of entrants, and single ones in hindsight."""
    others = [entrant for entrant in scores.entrants if entrant.name != star]
    found = {
        "all others": [entrant.name for entrant in others],
        "those told nothing": [entrant.name for entrant in others if entrant.told == NOTHING],
        "those told what they need": [entrant.name for entrant in others if entrant.told == GROUPS[1]],
    }
    grids = [entrant.name for entrant in others if entrant.told == HINDSIGHT]
    for policy in dict.fromkeys(name.partition(",")[0] for name in grids):
        found[f"{policy} in hindsight"] = [name for name in grids if name.partition(",")[0] == policy]
    return {name: members for name, members in found.items() if members}


def star_rows(scores: Scores, star: str) -> list[dict[str, Any]]:
    """The star against each group of rivals: geometric mean and worst contest."""
    found = {name: scores.duels(star, rivals) for name, rivals in rivals_of(scores, star).items()}
    return [
        {
            "against the best of": name,
            "all": str(geometric_mean(duels)),
            **means_of_parts(duels),
            "ahead in": f"{sum(duel.log_ratio < 0.0 for duel in duels)} of {len(duels)}",
            **worst_of(duels),
        }
        for name, duels in found.items()
        if duels
    ]


def contest_rows(scores: Scores, star: str) -> list[dict[str, Any]]:
    """The star in each contest: its ratio to the best of each group of rivals, and who was the best of all."""
    groups = rivals_of(scores, star)
    found = {name: {duel.contest.name: duel for duel in scores.duels(star, rivals)} for name, rivals in groups.items()}
    rows = []
    for contest in scores.contests:
        if contest.name not in found.get("all others", {}):
            continue
        best = found["all others"][contest.name].rival
        row: dict[str, Any] = {"contest": contest.name, "half": contest.half}
        for name in groups:
            duel = found[name].get(contest.name)
            row[name] = str(duel.ratio) if duel else "–"
        chosen = scores.chosen[contest.name, best]
        row["best other"] = f"{best}: {chosen}" if chosen else best
        rows.append(row)
    return rows


def rows(scores: Scores) -> list[dict[str, Any]]:
    """One row for each entrant in each contest, for machines."""
    return [
        {
            "contest": duel.contest.name,
            "half": duel.contest.half,
            "horizon": duel.contest.horizon,
            "entrant": entrant.name,
            "told": entrant.told,
            "setting": scores.chosen[duel.contest.name, entrant.name],
            "regret": float(scores.regrets[duel.contest.name, entrant.name].mean()),
            "best_other": duel.rival,
            "low": duel.ratio.low,
            "high": duel.ratio.high,
            "ratio": duel.ratio.value,
        }
        for entrant in scores.entrants
        for duel in scores.duels(entrant.name)
    ]


INTERVALS = (
    "In brackets stands the 95 % interval, by the delta method on paired replications. It is of chance in the runs "
    "alone: that the best rival, the best of a grid and the worst contest were picked by the same numbers is left out."
)


def findings(scores: Scores, star: str) -> list[Section]:
    """What an arena has found: the leaderboard, the star against each group, and contest by contest."""
    found = [
        Section(
            "Leaderboard",
            (
                "In each contest, an entrant's ratio is its mean regret over the least mean regret of all other "
                "entrants: below 1 it is the first. Here are geometric means of ratios over contests, and the worst "
                f"contest. {INTERVALS}",
                "Told nothing: neither beta nor the horizon nor anything about change. Told what it needs: beta, the "
                "horizon, and how much means will fall, where there is a place for it. Hindsight: the best of a grid "
                "of settings in this very contest, told what it needs besides. An entrant that is not in all contests "
                "(Thompson sampling draws a number for each arm in each round) comes last.",
            ),
            (Table(leaderboard(scores)),),
        )
    ]
    if star not in {entrant.name for entrant in scores.entrants} or not scores.duels(star):
        return found
    return [
        *found,
        Section(
            f"{star} against its rivals",
            ("Its mean regret over the least mean regret of some: geometric mean over contests, and the worst one.",),
            (Table(star_rows(scores, star)),),
        ),
        Section(f"{star}, contest by contest", (), (Table(contest_rows(scores, star)),)),
    ]
