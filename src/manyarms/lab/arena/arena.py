"""The arena: who does well in how many worlds, and what must they be told for it?

All entrants meet in all contests; both are the tables of a league (`manyarms.lab.arena.tables`: the worlds of the
theory, `manyarms.lab.arena.catalogue`: those of catalogues), and what follows from regrets or rewards is in
`manyarms.lab.arena.scores`. A contest is a study of its own, whose cells are the policies of all entrants: so a part of
the arena, run alone, is kept for the whole. All contests have the same number of replications: those with the same
number share their arms and their luck, and are paired when means over contests get their intervals.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...policies import Policy
from ...specs import one_of
from ..running.files import read_all
from ..running.folder import slug
from ..running.runner import plan_of_study, run_with_bar
from ..studies.study import Cell, Study
from .catalogue import CATALOGUE
from .leagues import GROUPS, HALVES, AnyContest, Entrant, League, Plays
from .scores import Scores
from .tables import ARENA, CONTESTS

REPLICATIONS = {False: 20, True: 10}
"""Of the whole arena and of the quick one."""

LEAGUES = {False: ARENA, True: CATALOGUE}
"""By whether it is that of catalogues."""

SEED = 1

OWN: list[Entrant] = []
"""Entrants of one's own: what `enter` was called for."""


def enter(name: str, plays: Policy | Callable[[Any], Plays], told: str = GROUPS[0]) -> Entrant:
    """Enter a policy of one's own: it takes part in every arena from now on.

    Parameters
    ----------
    name
        What to call it.
    plays
        The policy, or a function of the contest (see ``Contest``) that gives it: for what a policy is told, such as
        ``contest.beta``. It may also give several by name, or ``{}`` to stay away from a contest.
    told
        What it is told: ``"nothing"``, ``"what it needs"`` or ``"hindsight"``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.lab.arena.arena import OWN, enter
    >>> mine = enter("patient", lambda contest: ma.Elimination(contest.beta, threshold=0.3), told="what it needs")
    >>> OWN.remove(mine)  # and out again
    """
    entrant = checked_entrant(name, plays, told)
    if name in {one.name for league in LEAGUES.values() for one in (*league.entrants, *OWN)}:
        raise ValueError(f"there is an entrant called {name!r}; choose another name")
    require_play(entrant, CONTESTS)
    OWN.append(entrant)
    return entrant


def checked_entrant(name: Any, plays: Any, told: str = GROUPS[0]) -> Entrant:
    """An entrant from a policy or a function of the contest."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"arena: the name of an entrant must be a text, not {name!r}")
    if isinstance(plays, Policy):
        entrant = Entrant(name, told, lambda contest: plays)
        entrant.policies(CONTESTS[0])  # it is the same in all of them
        return entrant
    if not callable(plays) or isinstance(plays, type):
        raise ValueError(f"arena: the entrant {name!r} must be a policy or a function of the contest, not {plays!r}")
    return Entrant(name, told, plays)


def require_play(entrant: Entrant, contests: Iterable[AnyContest]) -> None:
    """Raise if an entrant plays in none of these contests and in none of the whole table."""
    if not any(entrant.policies(contest) for among in (contests, CONTESTS) for contest in among):
        raise ValueError(
            f"arena: the entrant {entrant.name!r} gives no policy in any contest; let it give one in some of them, or "
            "leave it out"
        )


@dataclasses.dataclass(frozen=True)
class Arena:
    """Some contests and all who take part; their names must differ."""

    contests: tuple[AnyContest, ...]
    entrants: tuple[Entrant, ...]
    replications: int = REPLICATIONS[False]  # of every contest
    seed: int = SEED  # of all of them
    league: League = ARENA

    def __post_init__(self) -> None:
        for what, given in (("contests", self.contests), ("entrants", self.entrants)):
            names = [one.name for one in given]
            if not names:
                raise ValueError(f"arena: there are no {what}")
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"arena: two of the {what} are called {twice[0]!r}; choose another name")
        for entrant in self.entrants:
            require_play(entrant, self.contests)
        _ = self.studies  # what is wrong with one is said before any of them is run

    @functools.cached_property
    def studies(self) -> dict[AnyContest, Study]:
        """Every contest as a study."""
        return {contest: self._study(contest) for contest in self.contests}

    def _study(self, contest: AnyContest) -> Study:
        world = contest.world
        cells = tuple(
            Cell(contest.name, world, name, policy, contest.horizon)
            for entrant in self.entrants
            for name, policy in entrant.policies(contest).items()
        )
        about = f"A contest of the {self.league.name}, of the {contest.half} half."
        return Study(slug(contest.name), cells, self.replications, self.seed, 1, about)  # the end is what counts

    def plan(self, folder: str | Path, **where: Any) -> list[dict[str, Any]]:
        """What `run` would do: one row for each contest, and one for all."""
        rows = []
        for contest, study in self.studies.items():
            said = plan_of_study(study, folder, **where)
            rows.append({"contest": contest.name, "half": contest.half} | said)
            del rows[-1]["study"], rows[-1]["start"]
        total = dict(rows[0]) | {"contest": "all", "half": "both" if len({row["half"] for row in rows}) > 1 else ""}
        summed = ("cells", "cells left", "rounds", "rounds left", "seconds, roughly")
        total |= {name: sum(row[name] for row in rows) for name in summed}
        return [*rows, total]

    def run(self, folder: str | Path, **where: Any) -> Scores:
        """Play all contests, or what is left of them, and add them up; ``where`` as for `run_with_bar`."""
        played = {}
        for contest, study in self.studies.items():
            for result in read_all(run_with_bar(study, folder, **where), study):
                played[contest.name, result.cell.policy_name] = self.league.measure.total(result)
        return Scores.of(self.contests, self.entrants, played, self.league)


def chosen_contests(
    quick: bool = False, half: str | None = None, only: Any = None, *, catalogue: bool = False
) -> tuple[AnyContest, ...]:
    """A part of the table: the quick ones, of one half, with some text in their names, in capitals or not."""
    league = LEAGUES[catalogue]
    found = league.quick_contests if quick else league.contests
    if half is not None:
        one_of("arena", "half", half, HALVES)
        found = tuple(contest for contest in found if contest.half == half)
    if only is not None:
        if not isinstance(only, str) or not only.strip():
            raise ValueError(
                f"arena: only must be a text such as 'fatigue', not {only!r}; leave it out for all contests"
            )
        among = found
        found = tuple(contest for contest in among if only.lower() in contest.name.lower())
        if not found:
            words = f"manyarms arena{' --catalogue' * catalogue}{' --quick' * quick}{f' --half {half}' if half else ''}"
            raise LookupError(
                f"no contest has {only!r} in its name; the names are like {among[0].name!r} and {among[-1].name!r}, "
                f"and {words} --dry-run has all of them"
            )
    return found


def chosen_entrants(among: Sequence[Entrant], star: str, rivals: Any = None) -> tuple[Entrant, ...]:
    """The star, and of the others those with one of these texts in their names, or who are told just that."""
    if rivals is None:
        return tuple(among)
    if isinstance(rivals, str) or not all(isinstance(text, str) and text.strip() for text in rivals):
        raise ValueError(f"arena: rivals must be texts such as ['Elimination', 'nothing'], not {rivals!r}")
    texts = [text.lower() for text in rivals]

    def is_meant(entrant: Entrant, text: str) -> bool:
        return text in entrant.name.lower() or text == entrant.told

    for text in texts:
        if not any(is_meant(entrant, text) for entrant in among):
            raise LookupError(
                f"no entrant has {text!r} in its name; the names are like {among[0].name!r} and {among[-1].name!r}, "
                f"and what they are told is {', '.join(map(repr, GROUPS))}"
            )
    return tuple(one for one in among if one.name == star or any(is_meant(one, text) for text in texts))


def new_arena(
    entrants: Mapping[str, Any] | None = None,
    *,
    catalogue: bool = False,
    quick: bool = False,
    everybody: bool = False,
    rivals: Sequence[str] | None = None,
    half: str | None = None,
    only: str | None = None,
    replications: int | None = None,
    seed: int = SEED,
) -> Arena:
    """The arena, or a part of it; see `arena`.

    Examples
    --------
    >>> import manyarms as ma
    >>> part = new_arena({"mine": ma.UniformPlay()}, quick=True, only="still, beta 1.1")
    >>> [contest.name for contest in part.contests]
    ['still, beta 1.1, coins, T = 10^4']
    >>> part.entrants[-1].name
    'mine'
    """
    if entrants is not None and not isinstance(entrants, Mapping):
        raise ValueError(f"arena: entrants must be policies by name, such as {{'mine': policy}}, not {entrants!r}")
    own = [checked_entrant(name, plays) for name, plays in (entrants or {}).items()]
    league = LEAGUES[catalogue]
    table = league.quick_entrants if quick and not everybody else league.entrants
    present = (*chosen_entrants(table, league.star, rivals), *OWN, *own)
    many = REPLICATIONS[quick] if replications is None else replications
    return Arena(chosen_contests(quick, half, only, catalogue=catalogue), present, many, seed, league)


def arena(
    entrants: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    *,
    catalogue: bool = False,
    quick: bool = False,
    everybody: bool = False,
    rivals: Sequence[str] | None = None,
    half: str | None = None,
    only: str | None = None,
    replications: int | None = None,
    seed: int = SEED,
    **where: Any,
) -> Scores:
    """Run the arena, or what is left of it, and add it up.

    Parameters
    ----------
    entrants
        Policies of one's own by name, or functions of the contest that give one, beside those of the table.
    folder
        Where results go and are kept; ``results/arena`` if left out, or ``results/catalogue``, with ``-quick`` behind.
        Other replications, another seed or other entrants in the same folder play a contest anew.
    catalogue
        Worlds shaped like catalogues, in rewards, in place of those of the theory, in regret.
    quick
        Many worlds over a short horizon with some of the entrants: a minute or two.
    everybody
        All entrants when it is quick, too: what takes long then is to compile them.
    rivals
        Of the table, only the star and entrants with one of these texts in their names, in capitals or not, or who are
        told just that: ``["Elimination", "nothing"]``.
    half
        ``"tuning"`` or ``"test"``; both if left out.
    only
        Only contests with this text in their names, in capitals or not.
    replications, seed
        Of every contest.
    where
        ``jobs``, ``device``, ``resume``: as for `run_with_bar`.
    """
    chosen = new_arena(
        entrants,
        catalogue=catalogue,
        quick=quick,
        everybody=everybody,
        rivals=rivals,
        half=half,
        only=only,
        replications=replications,
        seed=seed,
    )
    return chosen.run(chosen.league.folder(quick) if folder is None else folder, **where)
