"""Candidates: policies that could play the catalogue, and what each earns on what the catalogue may be like.

All of them play a few draws of the catalogue first; those that are nearly as good as the best go on and play the
others. A policy meets the same arms and noise as any other.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from ...bases import KLUCB, EpsilonGreedy, Greedy, Thompson
from ...drifts import Rotting
from ...engine import simulate
from ...feedbacks import Feedback
from ...policies import SSUCB, Forager, Policy, Subsample
from ...policies.forager import CATALOGUE
from ...reservoirs import Empirical
from ...world import World
from .counts import Floats
from .estimate import Catalogue, Draw
from .mixing import exceeded

SIZES = (4, 16, 64, 256, 1024, 4096, 16384, 65536)
ARMS = 8192  # in the list that stands for the reservoir
MOST_DRAWS = 2_000_000  # of Thompson sampling in a run, one for each arm and round: half a second
FEWEST_FOR_THOMPSON = 16  # on fewer items it would only look bad
RANDOM = "random"
NEARLY = 0.92  # of the best reward: who has as much on the first draws goes on
MOST_FINALISTS = 9
FIRST_DRAWS = 8  # that all candidates play
SOME_ROUNDS = 250_000  # are played on a draw, or two runs if these are longer
MOST_REPLICATIONS = 5
LEAST_REWARD = 0.5  # in all runs on a draw: nothing at all has no logarithm


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A policy, the family it belongs to, and on how many arms it plays if that is fixed."""

    family: str
    policy: Policy
    arms: int | None = None
    live: Policy | None = None  # what to use, where that is called otherwise

    @property
    def name(self) -> str:
        """What to call it."""
        return self.family if self.arms is None else f"{self.family}, {self.arms:,} items"


@dataclasses.dataclass(frozen=True, eq=False)
class Earned:
    """What a candidate earned a round, and how many arms it drew, on each draw it played."""

    candidate: Candidate
    rewards: Floats
    arms: Floats


def candidates(rounds: int, stock: int | None, prior: tuple[float, float]) -> list[Candidate]:
    """Those that can play so many rounds on such a stock."""
    most = min(stock or rounds, max(rounds // 4, 1))
    sizes = sorted({size for size in SIZES if size < most} | ({most} if most <= SIZES[-1] or stock == most else set()))
    few = [size for size in sizes if size * rounds <= MOST_DRAWS]
    few = few if few and few[-1] >= FEWEST_FOR_THOMPSON else []
    found = [Candidate("Forager", forager_on(stock), live=Forager()), Candidate("SSUCB, auto", SSUCB(beta="auto"))]
    for family, base, on in (
        ("Greedy", Greedy(), sizes),
        ("EpsilonGreedy", EpsilonGreedy(0.1), sizes),
        ("KLUCB", KLUCB(), sizes),
        ("Thompson", Thompson(prior), few),
    ):
        found += [Candidate(family, Subsample(base, beta=1.0, arms=size), size) for size in on]
    return found


def forager_on(stock: int | None) -> Forager:
    """`Forager` as it plays a catalogue of so many items: it knows when there is no fresh one, and remembers more."""
    if stock is None:
        return Forager()
    kept = max(min(stock, CATALOGUE), Forager.keep)
    return Forager(keep=kept, most=max(kept, Forager.most), stock=stock)


def prior_of(catalogue: Catalogue) -> tuple[float, float]:
    """The Beta distribution with the mean and variance of the rates of items, for Thompson sampling."""
    mean = float(catalogue.masses @ catalogue.rates)
    variance = float(catalogue.masses @ (catalogue.rates - mean) ** 2)
    plays = min(max(mean * (1.0 - mean) / max(variance, 1e-15) - 1.0, 0.1), 1e6)
    return mean * plays, (1.0 - mean) * plays


def world_of(catalogue: Catalogue, draw: Draw, feedback: Feedback) -> World:
    """The world that a draw of the catalogue is."""
    shares = (np.arange(ARMS) + 0.5) / ARMS
    means = exceeded(catalogue.rates, draw.masses, shares)
    # Always the same type of drift: with another one, everything would be compiled once more.
    return World(Empirical(tuple(means.tolist())), Rotting(f"{100.0 * draw.wear:.12g}%"), feedback=feedback)


@dataclasses.dataclass(frozen=True, eq=False)
class Race:
    """Who plays what, and how often."""

    worlds: Sequence[World]
    rounds: int
    stock: int | None
    seed: int
    say: Callable[[str], None]

    @property
    def replications(self) -> int:
        """Runs on each draw: many if they are short, so that luck counts little."""
        return min(max(SOME_ROUNDS // self.rounds, 2), MOST_REPLICATIONS)

    def run(self, all_of_them: Sequence[Candidate]) -> tuple[list[Earned], list[Earned]]:
        """What the best earned on all draws, then the best of other families on some; and who needs too many items."""
        first = min(FIRST_DRAWS, len(self.worlds))
        self.say(f"playing {len(all_of_them)} candidates over {self.rounds:,} rounds on {first} draws of the catalogue")
        tried = [self.play(candidate, 0, first) for candidate in all_of_them]
        possible = [one for one in tried if self.stock is None or one.arms.mean() <= self.stock]
        near, others = finalists(possible)
        self.say(f"playing the best {len(near)} on {len(self.worlds)} draws")
        played = sorted((self.further(one, first) for one in near), key=mean_reward, reverse=True)
        return played + others, [one for one in tried if one not in possible]

    def further(self, earned: Earned, first: int) -> Earned:
        """The same with the other draws."""
        if first == len(self.worlds):
            return earned
        more = self.play(earned.candidate, first, len(self.worlds))
        rewards, arms = np.append(earned.rewards, more.rewards), np.append(earned.arms, more.arms)
        return Earned(earned.candidate, rewards, arms)

    def play(self, candidate: Candidate, first: int, last: int) -> Earned:
        """What a candidate earns on some draws."""
        rewards, arms = [], []
        for place in range(first, last):
            name = candidate.name
            result = simulate(
                {name: candidate.policy}, self.worlds[place], self.rounds, self.replications,
                seed=self.seed + place, checkpoints=1,
            )  # fmt: skip
            earned = max(float(result.final(name, "reward").mean()), LEAST_REWARD / self.replications)
            rewards.append(earned / self.rounds)
            arms.append(float(result.final(name, "arms").mean()))
        return Earned(candidate, np.array(rewards), np.array(arms))


def typical(rewards: Floats) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(rewards).mean()))


def mean_reward(earned: Earned) -> float:
    """What it earned a round: the geometric mean over draws, so that none of them decides by being rich."""
    return typical(earned.rewards)


def finalists(tried: Sequence[Earned]) -> tuple[list[Earned], list[Earned]]:
    """Those that are nearly as good as the best, and the best of each family that has none of them; the best first."""
    ranked = sorted(tried, key=mean_reward, reverse=True)
    near = [one for one in ranked if mean_reward(one) >= NEARLY * mean_reward(ranked[0])][:MOST_FINALISTS]
    families = {one.candidate.family for one in near}
    heads = {one.candidate.family: one for one in reversed(ranked) if one.candidate.family not in families}
    return near, [one for one in ranked if one in heads.values()]


def random_player(stock: int | None) -> Candidate | None:
    """Items at random from a stock; with an endless one nothing has to be played to know what that pays."""
    return None if stock is None else Candidate(RANDOM, Subsample(EpsilonGreedy(1.0), beta=1.0, arms=stock))
