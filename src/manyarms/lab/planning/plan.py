"""``plan``: counts of the past in, what to do next out."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import named_policies
from ...feedbacks import Batches, Delayed, Feedback
from ...intervals import mean_and_half_width
from ...policies import Policy
from ...specs import checked_seed, count
from ...tables import Table
from . import picture, words
from .candidates import Candidate, Earned, Race, candidates, prior_of, random_player, typical, world_of
from .counts import Counts, Floats, read_counts
from .estimate import Catalogue, Interval, estimated_catalogue, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROUNDS = 1_000_000
"""More are not played: the plan is then for the first so many rounds, and says so."""

SIMULATED, QUICK_SIMULATED = 24, 8
QUICK_ROUNDS = 100_000


@dataclasses.dataclass(frozen=True)
class Prospect:
    """What a candidate should earn.

    Attributes
    ----------
    name
        What to call it.
    policy
        The candidate's spec, as `simulate` and `Bandit` take it, with the number of rounds if it goes by that.
    reward
        A round on average. The interval is of what is not known of the catalogue; a run may have more luck, or less.
    over_random, over_past
        That over what random items earn, and over what was earned so far.
    items
        How many different items it plays, about.
    behind
        By what share of the best candidate's reward it is behind, on average.
    is_as_good
        Whether that may be chance.
    """

    name: str
    policy: Any
    reward: Interval
    over_random: Interval
    over_past: Interval
    items: float
    behind: float
    is_as_good: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        values: dict[str, Any] = {"name": self.name, "policy": self.policy.to_json()}
        values |= {name: getattr(self, name).to_json() for name in ("reward", "over_random", "over_past")}
        return values | {"items": self.items, "behind": self.behind, "is_as_good": self.is_as_good}


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """What counts tell of a catalogue, and what to do with it.

    Attributes
    ----------
    catalogue
        What fresh items are like, with intervals.
    prospects
        What candidates should earn, the best first.
    left_out
        Candidates that play more items than there are, by name, with how many they would.
    random
        What items at random earn a round.
    rounds, simulated_rounds, stock, feedback
        What was asked for, and what was played.
    """

    counts: Counts
    catalogue: Catalogue
    prospects: tuple[Prospect, ...]
    left_out: dict[str, float]
    random: Interval
    rounds: int
    simulated_rounds: int
    stock: int | None
    feedback: Feedback

    @property
    def choice(self) -> Prospect:
        """What to do."""
        return self.prospects[0]

    def table(self) -> Table:
        """A row for each candidate, the best of its family or nearly the best of all; random items; and the past."""
        return words.table_of(self)

    def in_words(self) -> str:
        """What was found, what to do and what to be careful about."""
        return words.in_words(self)

    def __str__(self) -> str:
        return f"{words.catalogue_in_words(self)}\n\n{self.table()}\n\n{words.advice_in_words(self)}"

    def to_json(self) -> dict[str, Any]:
        """All numbers, for machines."""
        return words.to_json(self)

    def figure(self, *, width: str | float = "page") -> "Figure":
        """The reservoir, and what candidates should earn, as a matplotlib figure."""
        return picture.plan_figure(self, width=width)


def plan(
    counts: str | Path | Mapping[str, Any] | Any,
    rounds: int | None = None,
    *,
    stock: int | None = None,
    delay: int | None = None,
    batch: int | None = None,
    columns: Mapping[str, str] | None = None,
    policies: Mapping[str, Policy] | None = None,
    quick: bool = False,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
) -> Plan:
    """From counts of the past: what fresh items are like, which policy to use on how many, and what that earns.

    Parameters
    ----------
    counts
        A CSV or Parquet file, a pandas frame or columns by name: ``item``, ``plays`` and ``reward`` (the sum; a play
        pays from 0 to 1), and if known ``time`` and ``delay``. An item may have several rows. Without ``plays``, each
        row is one.
    rounds
        How many rounds will be played; as many as the counts have plays, if left out.
    stock
        How many items there are; no end of them, if left out.
    delay
        After how many rounds an answer comes; as in the counts, or at once, if left out.
    batch
        So many rounds are answered together.
    columns
        What the columns are called, by ``item``, ``plays``, ``reward``, ``time`` and ``delay``, if not as usual.
    policies
        Candidates of your own, by name, in place of the usual ones.
    quick
        Fewer rounds and fewer draws of the catalogue: half a minute.
    seed
        The same seed gives the same plan.
    say
        Told, now and then, what is being done.

    Examples
    --------
    See docs/plan.md.
    """
    said = say or (lambda text: None)
    feedback = _checked_feedback(delay, batch)
    stock = None if stock is None else _checked_stock(stock)
    asked = None if rounds is None else count("plan", "rounds", rounds)
    seed = checked_seed(seed)
    own = None if policies is None else [Candidate(name, policy) for name, policy in named_policies(policies).items()]
    read = read_counts(counts, columns)
    for note in read.notes:  # now, too: what follows takes minutes
        said(note)
    said(f"{len(read.items):,} items with {read.plays.sum():,.0f} plays; finding out what items are like")
    catalogue = estimated_catalogue(read, np.random.default_rng(seed), stock)
    asked = asked or max(int(read.plays.sum()), 2)
    played = min(asked, QUICK_ROUNDS if quick else MOST_ROUNDS)
    feedback = feedback or catalogue.feedback()
    draws = catalogue.draws[: QUICK_SIMULATED if quick else SIMULATED]
    worlds = [world_of(catalogue, draw, feedback) for draw in draws]
    race = Race(worlds, played, stock, seed, said)
    earned, left_out = race.run(own or candidates(played, stock, prior_of(catalogue)))
    luck = random_rewards(race, catalogue, random_player(stock))
    past = np.array([draw.past for draw in draws])
    return Plan(
        counts=read, catalogue=catalogue, prospects=prospects(earned, luck, past, asked),
        left_out={one.candidate.name: float(one.arms.mean()) for one in left_out},
        random=_interval(luck) if stock else catalogue.mean, rounds=asked, simulated_rounds=played, stock=stock,
        feedback=feedback,
    )  # fmt: skip


def random_rewards(race: Race, catalogue: Catalogue, player: Candidate | None) -> Floats:
    """What items at random earn a round, on each draw."""
    if player is not None:
        return race.play(player, 0, len(race.worlds)).rewards
    return np.array([draw.masses @ catalogue.rates for draw in catalogue.draws[: len(race.worlds)]])


def prospects(earned: list[Earned], luck: Floats, past: Floats, rounds: int) -> tuple[Prospect, ...]:
    """What candidates should earn, the best first."""
    found = []
    for one in earned:
        played = one.rewards.size  # the same draws, and noise, as the best one's first
        ahead = np.log(earned[0].rewards[:played] / one.rewards)
        mean, half_width = mean_and_half_width(ahead)
        found.append(
            Prospect(
                name=one.candidate.name,
                policy=(one.candidate.live or one.candidate.policy).with_horizon(rounds),
                reward=_interval(one.rewards),
                over_random=_interval(one.rewards / luck[:played]),
                over_past=_interval(one.rewards / past[:played]),
                items=float(one.arms.mean()),
                behind=-math.expm1(-mean),
                is_as_good=not mean > half_width,
            )
        )
    return tuple(found)


def _interval(values: Floats) -> Interval:
    """What is to be expected, and the interval, from what was found on some draws of the catalogue."""
    return intervals(np.array([typical(values)]), values[:, None])[0]


def _checked_feedback(delay: int | None, batch: int | None) -> Feedback | None:
    """When answers come, if that was said."""
    if delay is not None and batch is not None:
        raise ValueError("plan: answers come either after a delay or in batches; leave out delay or batch")
    if delay is not None:
        return Delayed(count("plan", "delay", delay))
    return None if batch is None else Batches(count("plan", "batch", batch))


def _checked_stock(stock: int) -> int:
    if count("plan", "stock", stock) < 2:
        raise ValueError(f"plan: stock must be at least 2 items, not {stock}; leave it out if there is no end of them")
    return stock
