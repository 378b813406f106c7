"""Who is how much worse than the best: ratios of mean totals, contest by contest and over many of them.

A total is the regret of a run, or its reward: what the league counts. In each contest, an entrant's *ratio* is its mean
total over that of the best of its rivals. Where these are all others, exactly one entrant is ahead, unless two are
tied: below 1 if less is better, above 1 if more is. Over contests, the geometric mean of ratios counts, and the worst.

Intervals are 95 % and by the delta method: one replication moves the logarithm of a ratio x / y of means by its own
value over x less its own value over y. Replications with the same number share their arms and their luck, over entrants
and over contests of one seed, so moves are added up replication by replication. What an interval leaves out, INTERVALS
says. Where two rivals are nearly tied, the best of their means is a little too good, and a ratio to it too bad.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...intervals import mean_and_half_width
from ...tables import Table
from ..figures.statistics import Floats
from ..pages.report import Section
from .leagues import HINDSIGHT, INTERVALS, NEEDED, NOTHING, AnyContest, Entrant, League
from .tables import ARENA


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

    contest: AnyContest
    rival: str
    log_ratio: float
    moves: Floats  # by how much each replication moves it
    sign: float  # 1.0 where more is better

    @property
    def ratio(self) -> Ratio:
        """Mean total over that of the best rival."""
        return _ratio(self.log_ratio, self.moves)

    @property
    def lead(self) -> float:
        """By how much the entrant is ahead, as a logarithm; below 0 it is behind."""
        return self.sign * self.log_ratio


def _ratio(log_ratio: float, moves: Floats) -> Ratio:
    _, half_width = mean_and_half_width(moves)
    return Ratio(*(math.exp(log_ratio + end) for end in (0.0, -half_width, half_width)))


def geometric_mean(duels: Sequence[Duel]) -> Ratio:
    """Over contests, all of the same replications."""
    moves = np.mean([duel.moves for duel in duels], axis=0)
    return _ratio(float(np.mean([duel.log_ratio for duel in duels])), moves)


def worst(duels: Sequence[Duel]) -> Duel:
    """The contest in which the entrant is furthest behind, or least ahead."""
    return min(duels, key=lambda duel: duel.lead)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """The totals of an arena, by the names of contest and entrant; both in the order of the tables."""

    contests: tuple[AnyContest, ...]
    entrants: tuple[Entrant, ...]
    totals: Mapping[tuple[str, str], Floats]  # in every replication; of a grid, that of its best; also of yardsticks
    chosen: Mapping[tuple[str, str], str]  # which of a grid that was
    league: League

    @property
    def replications(self) -> int:
        """Of each contest."""
        return max((len(values) for values in self.totals.values()), default=0)

    @classmethod
    def of(
        cls,
        contests: Iterable[AnyContest],
        entrants: Iterable[Entrant],
        played: Mapping[tuple[str, str], Floats],
        league: League = ARENA,
    ) -> "Scores":
        """From the totals of all policies, by the names of contest and policy."""
        contests, entrants, measure = tuple(contests), tuple(entrants), league.measure
        lengths = {len(values) for values in played.values()}
        if len(lengths) > 1:
            raise ValueError("the contests have different numbers of replications; run the arena anew with one of them")
        totals, chosen = {}, {}
        for contest, entrant in itertools.product(contests, entrants):
            names = [name for name in entrant.policies(contest) if (contest.name, name) in played]
            if not names:
                continue
            best = measure.best_of({name: played[contest.name, name] for name in names})
            key = contest.name, entrant.name
            totals[key], chosen[key] = played[contest.name, best], best.removeprefix(entrant.name).lstrip(": ")
            if not totals[key].mean() > 0.0:
                raise ValueError(
                    f"the mean {measure.name} of {best!r} in the contest {contest.name!r} is {totals[key].mean():g}, "
                    "and ratios need numbers above 0; leave one of the two out"
                )
        for contest, (name, value) in itertools.product(contests, league.yardsticks.items()):
            totals[contest.name, name] = np.full(max(lengths, default=0), value(contest))
        return cls(contests, entrants, totals, chosen, league)

    def duels(self, entrant: str, rivals: Collection[str] | None = None) -> list[Duel]:
        """An entrant against the best of its rivals (all others if left out), in each contest where they met."""
        key = entrant, None if rivals is None else frozenset(rivals)
        if key not in self._duels:
            among = [other.name for other in self.entrants]
            if rivals is not None:
                among = [name for name in (*among, *self.league.yardsticks) if name in rivals]
            found = (self._duel(contest, entrant, among) for contest in self.contests)
            self._duels[key] = [duel for duel in found if duel is not None]
        return self._duels[key]

    @functools.cached_property
    def _duels(self) -> dict[tuple[str, frozenset[str] | None], list[Duel]]:
        """Those that were asked for: every table wants the same ones."""
        return {}

    def _duel(self, contest: AnyContest, entrant: str, rivals: Sequence[str]) -> Duel | None:
        """One contest; None unless both sides took part."""
        own = self.totals.get((contest.name, entrant))
        met = {name: self.totals[contest.name, name] for name in rivals if (contest.name, name) in self.totals}
        met.pop(entrant, None)
        if own is None or not met:
            return None
        measure = self.league.measure
        rival = measure.best_of(met)
        mean, best = float(own.mean()), float(met[rival].mean())
        return Duel(contest, rival, math.log(mean / best), own / mean - met[rival] / best, measure.sign)

    def main_duels(self, entrant: str) -> list[Duel]:
        """Those that count most in the league."""
        return self.duels(entrant, self.league.against[self.league.main])


# ---------------------------------------------------------------- tables


def mean_text(duels: Sequence[Duel]) -> str:
    """The geometric mean with its interval, or a dash."""
    return str(geometric_mean(duels)) if duels else "–"


def means_of_parts(league: League, duels: Sequence[Duel]) -> dict[str, str]:
    """The geometric mean over each part of the contests, with its interval."""
    return {part: mean_text([duel for duel in duels if where(duel.contest)]) for part, where in league.parts.items()}


def worst_of(duels: Sequence[Duel]) -> dict[str, str]:
    """The worst contest and its ratio."""
    hardest = worst(duels)
    return {"worst": str(hardest.ratio), "worst in": hardest.contest.name}


def leaderboard(scores: Scores) -> list[dict[str, Any]]:
    """One row for each entrant, the best first; those that were not in all contests come last.

    The columns: geometric means of ratios with their intervals, over all contests and over parts of them; and
    the worst contest.
    """
    league, rows = scores.league, []
    ahead = "first in" if league.against[league.main] is None else "ahead in"
    for entrant in scores.entrants:
        duels = scores.main_duels(entrant.name)
        if not duels:
            continue
        row = {
            "entrant": entrant.name,
            "told": entrant.told,
            **{heading: mean_text(scores.duels(entrant.name, rivals)) for heading, rivals in league.against.items()},
            **worst_of(duels),
            ahead: f"{sum(duel.lead >= 0.0 for duel in duels)} of {len(duels)}",  # alone or tied
            **means_of_parts(league, duels),
        }
        rows.append((len(duels) < len(scores.contests), -league.measure.sign * geometric_mean(duels).value, row))
    rows.sort(key=lambda row: row[:2])
    return [row for _, _, row in rows]


def rivals_of(scores: Scores, star: str) -> dict[str, list[str]]:
    """Whom the star is held against: groups of entrants."""
    others = [entrant for entrant in scores.entrants if entrant.name != star]
    named = {name: list(rivals) for name, rivals in scores.league.against.items() if rivals is not None}
    found = named | {
        "all others": [entrant.name for entrant in others],
        "those told nothing": [entrant.name for entrant in others if entrant.told == NOTHING],
        "those told what they need": [entrant.name for entrant in others if entrant.told == NEEDED],
        "those in hindsight": [entrant.name for entrant in others if entrant.told == HINDSIGHT],
    }
    return {name: members for name, members in found.items() if members}


def policies_in_hindsight(scores: Scores) -> dict[str, list[str]]:
    """The entrants in hindsight, by the policy that their names begin with."""
    found: dict[str, list[str]] = {}
    for entrant in scores.entrants:
        if entrant.told == HINDSIGHT:
            found.setdefault(f"{entrant.name.partition(',')[0]} in hindsight", []).append(entrant.name)
    return found


def star_rows(scores: Scores, star: str) -> list[dict[str, Any]]:
    """The star against each group of rivals, and each policy in hindsight: geometric mean and worst contest."""
    rivals_by_name = rivals_of(scores, star) | policies_in_hindsight(scores)
    found = {name: scores.duels(star, rivals) for name, rivals in rivals_by_name.items()}
    return [
        {
            "against the best of": name,
            "all": str(geometric_mean(duels)),
            **means_of_parts(scores.league, duels),
            "ahead in": f"{sum(duel.lead > 0.0 for duel in duels)} of {len(duels)}",
            **worst_of(duels),
        }
        for name, duels in found.items()
        if duels
    ]


def contest_rows(scores: Scores, star: str) -> list[dict[str, Any]]:
    """The star in each contest: its ratio to the best of each group of rivals, and who was the best of all."""
    groups, measure = rivals_of(scores, star), scores.league.measure
    found = {name: {duel.contest.name: duel for duel in scores.duels(star, rivals)} for name, rivals in groups.items()}
    rows = []
    for contest in scores.contests:
        if contest.name not in found.get("all others", {}):
            continue
        best = found["all others"][contest.name].rival
        row: dict[str, Any] = {"contest": contest.name, "half": contest.half}
        if measure.sign > 0.0:  # rewards are in a unit that people know
            row[f"{measure.name} a round"] = float(scores.totals[contest.name, star].mean()) / contest.horizon
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
            scores.league.measure.name: float(scores.totals[duel.contest.name, entrant.name].mean()),
            **yardsticks_of(scores, duel.contest),
            "best_other": duel.rival,
            "low": duel.ratio.low,
            "high": duel.ratio.high,
            "ratio": duel.ratio.value,
        }
        for entrant in scores.entrants
        for duel in scores.main_duels(entrant.name)
    ]


def yardsticks_of(scores: Scores, contest: AnyContest) -> dict[str, float]:
    """What was computed for a contest, for machines."""
    return {
        name.replace(" ", "_"): float(scores.totals[contest.name, name].mean()) for name in scores.league.yardsticks
    }


def findings(scores: Scores, star: str) -> list[Section]:
    """What an arena has found: the leaderboard, the star against each group, and contest by contest."""
    measure, reading = scores.league.measure, scores.league.reading
    if scores.replications > 1:
        reading = (f"{reading[0]} {INTERVALS}", *reading[1:])
    found = [Section("Leaderboard", reading, (Table(leaderboard(scores)),))]
    if star not in {entrant.name for entrant in scores.entrants} or not scores.duels(star):
        return found
    return [
        *found,
        Section(
            f"{star} against its rivals",
            (
                f"Its mean {measure.name} over the {measure.best} mean {measure.name} of some: geometric mean over "
                "contests, and the worst one.",
            ),
            (Table(star_rows(scores, star)),),
        ),
        Section(f"{star}, contest by contest", (), (Table(contest_rows(scores, star)),)),
    ]
