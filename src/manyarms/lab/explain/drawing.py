"""What the picture and the page of a run draw: curves, life-lines, shades and marks, binned to what can be seen.

Everything is found for two axes of rounds at once, linear and logarithmic, so that a page can change from one to the
other. Values are exact where they are given: curves are thinned, never averaged. What is left out is counted.
"""

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .account import Account
from .words import many

POINTS = 600  # evenly spaced rounds at which curves are drawn; a third as many more for the logarithmic axis
MOST_LINES = 60  # arms with a life-line of their own: those with the most plays
MOST_MARKS = 400  # restarts, shifts or blocks that are drawn one by one; of more, one for each such part of the axis
MOST_RULES = 100  # restarts or shifts that are drawn through all panels; of more, only in the strip
TIME_BINS, MEAN_BINS = 150, 50  # of the shades in which all other arms are drawn
SMALLEST_STEP, JUMP = 0.003, 0.05  # by so much a mean moves before its life-line does, and jumps: by a thin line
MEAN_TICKS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)


class LifeLine(NamedTuple):
    """An arm from its first play to its last."""

    arm: int
    plays: int
    is_last: bool  # whether it was still played in the last part of the run
    rounds: NDArray[np.int64]
    means: NDArray[np.float64]


class Shades(NamedTuple):
    """How often the arms without a line were played, by round and mean."""

    edges: NDArray[np.int64]  # of the bins of rounds: bin k has the rounds edges[k] … edges[k + 1] - 1
    shares: NDArray[np.float64]  # (bins of rounds, bins of heights) -> the share of the bin's rounds

    @property
    def darkness(self) -> NDArray[np.float64]:
        """From 0 to 1: by the root of the share, so that small ones show."""
        return np.sqrt(self.shares)


class Marks(NamedTuple):
    """Some rounds of a kind, in order."""

    rounds: NDArray[np.int64]
    places: NDArray[np.int64]  # which ones of all they are
    total: int

    @property
    def is_thinned(self) -> bool:
        """Whether some are not drawn."""
        return len(self.rounds) < self.total


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """All that is drawn of a run."""

    rounds: NDArray[np.int64]  # at which the curves are given
    curves: dict[str, NDArray[np.float64]]  # regret, best, V, V_R, L, L_R
    lines: tuple[LifeLine, ...]
    other_arms: int
    other_plays: int
    linear: Shades
    log: Shades
    restarts: Marks
    shifts: Marks
    blocks: Marks  # their first rounds


def drawing(found: Account) -> Drawing:
    """What there is to draw of a run."""
    horizon = found.cell.horizon
    rounds = grid(horizon)
    entries = rounds - 1
    block_ends = np.array([0] + [part.end for part in found.parts])
    of_best = np.append(0.0, np.cumsum([part.of_best for part in found.parts]))
    curves = {
        "regret": found.regret[entries],
        "best": np.interp(rounds, block_ends, of_best),
        "V": found.variation.variation[entries],
        "V_R": found.variation.rotting_variation[entries],
        "L": found.variation.changes[entries].astype(float),
        "L_R": found.variation.rotting_changes[entries].astype(float),
    }
    lines, is_other = life_lines(found, rounds)
    others = np.flatnonzero(is_other)
    shifts = np.zeros(0, dtype=np.int64) if found.shifts is None else found.shifts.rounds
    return Drawing(
        rounds=rounds,
        curves=curves,
        lines=lines,
        other_arms=int(np.unique(found.log.arm[others]).size),
        other_plays=int(others.size),
        linear=shades(found, others, np.linspace(1, horizon + 1, TIME_BINS + 1)),
        log=shades(found, others, np.geomspace(1, horizon + 1, TIME_BINS + 1)),
        restarts=thinned(found.episodes.restarts, horizon),
        shifts=thinned(shifts, horizon),
        blocks=thinned(np.array([part.start for part in found.parts], dtype=np.int64), horizon),
    )


def grid(horizon: int, points: int = POINTS) -> NDArray[np.int64]:
    """Rounds that are dense on a linear and on a logarithmic axis, the first and the last among them.

    Examples
    --------
    >>> grid(1000, points=6).tolist()
    [1, 32, 201, 401, 600, 800, 1000]
    """
    linear = np.linspace(1, horizon, min(points, horizon))
    log = np.geomspace(1, horizon, min(max(points // 3, 3), horizon))
    return np.unique(np.rint(np.concatenate([linear, log])).astype(np.int64))


def life_lines(found: Account, rounds: NDArray[np.int64]) -> tuple[tuple[LifeLine, ...], NDArray[np.bool_]]:
    """The arms with the most plays, and for each round whether its arm is none of them."""
    log = found.log
    arms, plays = np.unique(log.arm, return_counts=True)
    ranked = np.argsort(-plays, kind="stable")[:MOST_LINES]
    chosen = arms[ranked[plays[ranked] > 1]]  # a single play is no line
    last_part = rounds[-2] if rounds.size > 1 else 1
    lines = []
    for arm in chosen.tolist():
        own = np.flatnonzero(log.arm == arm)
        kept = outline(own, log.mean[own], rounds)
        lines.append(LifeLine(arm, own.size, bool(own[-1] + 1 >= last_part), kept + 1, log.mean[kept]))
    return tuple(sorted(lines, key=lambda line: (line.rounds[0], line.arm))), ~np.isin(log.arm, chosen)


def outline(entries: NDArray[np.int64], means: NDArray[np.float64], rounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """The plays of an arm that show its way: the first, the last, and both sides of each step that can be seen."""
    # At most the first and the last play of each place of the axis.
    column = np.searchsorted(rounds, entries + 1)
    edge = np.flatnonzero(np.diff(column)) + 1
    seen = np.unique(np.concatenate([[0], edge - 1, edge, [entries.size - 1]]))
    kept = [0]
    for before, here in zip(seen[:-1].tolist(), seen[1:].tolist(), strict=True):
        if abs(means[here] - means[kept[-1]]) >= SMALLEST_STEP:
            if before > kept[-1]:
                kept.append(before)
            kept.append(here)
    if kept[-1] != entries.size - 1:
        kept.append(entries.size - 1)
    return entries[kept]


def height(means: ArrayLike) -> NDArray[np.float64]:
    """Where a mean is drawn, from 0 to 1: by the root of its gap, as good arms are all close to 1.

    Examples
    --------
    >>> height([0.0, 0.75, 0.99, 1.0]).round(3).tolist()
    [0.0, 0.5, 0.9, 1.0]
    """
    return np.asarray(1.0 - np.sqrt(1.0 - np.asarray(means, dtype=np.float64)))


def pieces(line: LifeLine) -> tuple[list[slice], list[slice]]:
    """The points of a life-line between its jumps, and those of the jumps."""
    jumps = (np.flatnonzero(np.abs(np.diff(line.means)) >= JUMP) + 1).tolist()
    edges = [0, *jumps, line.means.size]
    return [slice(*edge) for edge in itertools.pairwise(edges)], [slice(jump - 1, jump + 1) for jump in jumps]


def shades(found: Account, entries: NDArray[np.int64], edges: NDArray[np.float64]) -> Shades:
    """Which share of the rounds of each bin went to each level of means, of these plays alone."""
    borders = np.unique(np.rint(edges).astype(np.int64))
    levels = np.minimum((height(found.log.mean[entries]) * MEAN_BINS).astype(np.int64), MEAN_BINS - 1)
    columns = np.searchsorted(borders, entries + 1, side="right") - 1
    plays = np.bincount(columns * MEAN_BINS + levels, minlength=(borders.size - 1) * MEAN_BINS)
    shares = plays.reshape(borders.size - 1, MEAN_BINS) / np.diff(borders)[:, None]
    return Shades(edges=borders, shares=shares)


def thinned(rounds: NDArray[np.int64], horizon: int) -> Marks:
    """Marks for these rounds; where they are many, the first in each part of the axis, linear and logarithmic."""
    total = int(rounds.size)
    places = np.arange(total)
    if total > MOST_MARKS:
        linear = (rounds - 1) * MOST_MARKS // horizon
        log = (np.log(rounds) * (MOST_MARKS // 2) / math.log(horizon)).astype(np.int64)
        firsts = [np.unique(bins, return_index=True)[1] for bins in (linear, log)]
        places = np.unique(np.concatenate(firsts))
    return Marks(rounds=rounds[places], places=places, total=total)


def lines_in_words(drawn: Drawing) -> str:
    """Which arms are lines, and which are shades."""
    lines = f"the {len(drawn.lines)} most played arms as lines" if len(drawn.lines) > 1 else "the arm as a line"
    if not drawn.other_arms:
        return lines.replace("most played arms", "arms")
    arms = many(drawn.other_arms, "arm")
    others = f"({drawn.other_plays / drawn.rounds[-1]:.0%} of the rounds) as shades"
    return f"{lines}, {arms.replace(' arm', ' other')} {others}" if drawn.lines else f"{arms} {others}"
