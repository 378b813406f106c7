"""Who meets whom in the arena of catalogues: means far below 1, rewards, and answers that may come late.

Reservoirs are shaped like what people have: clicks, purchases, completions, ratings; exponential tails, one good arm in
a hundred, a rare class that is excellent. Nobody is told how good the best arm is, so nothing is measured from there:
what counts is what is earned, over what is earned by

- the best fixed subsample in hindsight: greedy, KL-UCB and SSUCB on 16 to 4,096 arms, of which the best counts;
- nobody: an upper value (`manyarms.measures.values`);
- random arms.

The halves of the contests have no reservoir and no rate in common.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from ...bases import KLUCB, Base, EpsilonGreedy, Greedy, Thompson
from ...bases.thompson import FLAT
from ...drifts import Crash, Drift, Fatigue, Rising, Rotting, Stages, Still, Turnover
from ...feedbacks import AtOnce, Batches, Conversions, Feedback, LogNormal, LogUniform
from ...measures.values import law_of, upper_value
from ...noises import Bernoulli, BetaNoise, Noise
from ...policies import SSUCB, Policy, Subsample
from ...reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Reservoir, Trending, Uniform
from ...world import World
from .leagues import (
    AWAY,
    COMMON_PARTS,
    HINDSIGHT,
    NOTHING,
    REWARD,
    TEST,
    TUNING,
    AnyContest,
    Entrant,
    League,
    Make,
    Plays,
    auto,
    is_short,
    powered,
)
from .subsampled import BASES
from .tables import ENTRANTS, STAR

# ---------------------------------------------------------------- contests

RESERVOIRS: dict[str, dict[str, Reservoir]] = {
    TUNING: {
        "clicks to 5 %": PowerLaw(beta=2.0, top=0.05),
        "purchases of 0.3 %": BetaDistributed(1.0, 330.0),  # P(mean > x) is nearly exp(-330 x)
        "completions to 60 %": PowerLaw(beta=1.0, top=0.6),
        "ratings to 0.9": PowerLaw(beta=2.5, top=0.9),
        "one in 100 at 30 %": Mixture((Empirical((0.03,)), Empirical((0.3,))), weights=(99.0, 1.0)),
        "one in 200 above 40 %": Mixture((BetaDistributed(2.0, 60.0), Uniform(0.4, 0.5)), weights=(199.0, 1.0)),
    },
    TEST: {
        "clicks to 8 %": PowerLaw(beta=3.0, top=0.08),
        "clicks of 5 %": BetaDistributed(1.2, 23.0),
        "clicks to 30 %": PowerLaw(beta=1.5, top=0.3),
        "purchases of 0.2 %": BetaDistributed(0.8, 400.0),
        "completions to 70 %": PowerLaw(beta=1.3, top=0.7),
        "ratings to 0.8": PowerLaw(beta=4.0, top=0.8),
        "one in 100 at 25 %": Mixture((Uniform(0.0, 0.04), Empirical((0.25,))), weights=(99.0, 1.0)),
        "one in 500 around 40 %": Mixture((PowerLaw(3.5, top=0.12), BetaDistributed(40.0, 60.0)), weights=(499.0, 1.0)),
    },
}
"""By half and name; a per cent says where means end (to), what they average (of), or where the good ones are (at)."""


@dataclasses.dataclass(frozen=True)
class Change:
    """A way in which arms change, for any horizon."""

    drift: Callable[[int], Drift] = lambda horizon: Still()
    newcomers: float = 1.0  # by what the means of fresh arms are multiplied in the end


def by(drift: Drift) -> Change:
    """The same at any horizon."""
    return Change(lambda horizon: drift)


def seasons(number: int) -> Change:
    """So many over the horizon."""
    return Change(lambda horizon: Turnover(length=horizon // number))


def novelty(rise: str, plays: int, fall: str) -> Change:
    """An arm gains by a share for some plays, and loses by another from then on."""
    return by(Stages((Rising(rise), Rotting(fall)), ends=(plays,)))


STILL = "still"

CHANGES: dict[str, dict[str, Change]] = {
    TUNING: {
        STILL: Change(),
        "wear 0.05 %": by(Rotting("0.05%")),
        "wear 0.5 %": by(Rotting("0.5%")),
        "wear 5 %": by(Rotting("5%")),
        "1 crash in 500": by(Crash(1 / 500, to=0.0)),
        "1 crash in 5,000 to fresh": by(Crash(1 / 5000)),
        "novelty": novelty("0.5%", 150, "0.1%"),
        "newcomers worse": Change(lambda horizon: Rotting("0.4%"), newcomers=0.5),
        "10 seasons": seasons(10),
    },
    TEST: {
        STILL: Change(),
        "wear 0.02 %": by(Rotting("0.02%")),
        "wear 0.3 %": by(Rotting("0.3%")),
        "wear 3 %": by(Rotting("3%")),
        "1 crash in 1,000": by(Crash(1 / 1000, to=0.0)),
        "1 crash in 200 to fresh": by(Crash(1 / 200)),
        "slow novelty": novelty("0.2%", 400, "0.03%"),
        "fast novelty": novelty("2%", 40, "1%"),
        "fatigue": by(Fatigue(after=800, rate=0.0002)),
        "newcomers better": Change(newcomers=2.5),
        "newcomers much worse": Change(lambda horizon: Rotting("0.2%"), newcomers=0.3),
        "4 seasons": seasons(4),
        "40 seasons": seasons(40),
    },
}

NOISES: dict[str, Noise] = {"coins": Bernoulli(), "stars": BetaNoise(concentration=6.0)}

LATE = "late"

FEEDBACKS: dict[str, dict[str, Feedback]] = {
    TUNING: {
        "": AtOnce(),
        "batches": Batches(100),
        LATE: Conversions(LogNormal(median=60.0, spread=1.2, longest=3000), timeout=600),
    },
    TEST: {
        "": AtOnce(),
        "batches": Batches(100),
        LATE: Conversions(LogUniform(least=1, longest=2500), timeout=1500),
    },
}


@dataclasses.dataclass(frozen=True)
class CatalogueContest(AnyContest):
    """A world and a horizon, and which half they are of."""

    half: str
    change: str  # one of CHANGES
    reservoir: str  # one of RESERVOIRS
    horizon: int
    noise: str = "coins"  # one of NOISES
    answers: str = ""  # one of FEEDBACKS: at once

    @property
    def name(self) -> str:
        """What to call it; no other contest has this name."""
        return ", ".join(filter(None, (self.change, self.reservoir, self.answers, f"T = {powered(self.horizon)}")))

    @property
    def world(self) -> World:
        """The world."""
        change, reservoir = CHANGES[self.half][self.change], RESERVOIRS[self.half][self.reservoir]
        if change.newcomers != 1.0:
            reservoir = Trending(reservoir, change.newcomers, over=self.horizon)
        drift, feedback = change.drift(self.horizon), FEEDBACKS[self.half][self.answers]
        return World(reservoir, drift, NOISES[self.noise], feedback=feedback)

    @property
    def is_still(self) -> bool:
        """Whether nothing changes."""
        return self.change == STILL

    @property
    def beta(self) -> float | None:
        """The tail exponent of the reservoir, for those who are told; None where there is none."""
        return self.world.reservoir.tail

    @property
    def upper_value(self) -> float:
        """What nobody earns more than."""
        return _upper_value(self.world.replace(feedback=AtOnce()), self.horizon)

    def settings(self) -> dict[str, Any]:
        """Its parts, and what could be earned a round."""
        world = self.world
        return {
            "Reservoir": world.reservoir.label(),
            "Drift": world.drift.label(),
            "Noise": world.noise.label(),
            "Answers": world.feedback.label(),
            "A fresh arm": law_of(RESERVOIRS[self.half][self.reservoir]).mean,
            "Upper value": self.upper_value / self.horizon,
        }


_upper_value = functools.cache(upper_value)


_TABLE: dict[str, dict[str, list[tuple[str, int] | tuple[str, int, str]]]] = {
    TUNING: {  # reservoir, power of ten of the horizon; stars or late answers, if they are not coins at once
        STILL: [
            ("clicks to 5 %", 4), ("clicks to 5 %", 6), ("purchases of 0.3 %", 5), ("completions to 60 %", 5),
            ("ratings to 0.9", 5, "stars"), ("one in 100 at 30 %", 5), ("one in 200 above 40 %", 6),
            ("completions to 60 %", 5, "batches"), ("purchases of 0.3 %", 6, LATE),
        ],
        "wear 0.05 %": [("completions to 60 %", 6), ("clicks to 5 %", 5), ("ratings to 0.9", 5, "stars")],
        "wear 0.5 %": [
            ("completions to 60 %", 5), ("one in 100 at 30 %", 5), ("ratings to 0.9", 4, "stars"),
            ("completions to 60 %", 5, "batches"), ("completions to 60 %", 5, LATE),
        ],
        "wear 5 %": [("completions to 60 %", 4), ("one in 200 above 40 %", 5)],
        "1 crash in 500": [("clicks to 5 %", 5), ("one in 100 at 30 %", 5), ("completions to 60 %", 5, "batches")],
        "1 crash in 5,000 to fresh": [("completions to 60 %", 5), ("purchases of 0.3 %", 6)],
        "novelty": [("clicks to 5 %", 5), ("one in 200 above 40 %", 5)],
        "newcomers worse": [("completions to 60 %", 5)],
        "10 seasons": [("completions to 60 %", 5), ("clicks to 5 %", 6)],
    },
    TEST: {
        STILL: [
            ("clicks to 8 %", 5), ("clicks to 8 %", 6), ("clicks of 5 %", 4), ("clicks of 5 %", 6),
            ("clicks to 30 %", 5), ("purchases of 0.2 %", 6), ("completions to 70 %", 4),
            ("ratings to 0.8", 5, "stars"), ("one in 100 at 25 %", 4), ("one in 100 at 25 %", 5),
            ("one in 500 around 40 %", 5), ("clicks to 30 %", 5, "batches"), ("clicks of 5 %", 5, LATE),
        ],
        "wear 0.02 %": [("clicks to 30 %", 5), ("completions to 70 %", 6), ("one in 500 around 40 %", 6)],
        "wear 0.3 %": [
            ("clicks to 30 %", 5), ("clicks of 5 %", 5), ("completions to 70 %", 5), ("ratings to 0.8", 5, "stars"),
            ("one in 100 at 25 %", 5), ("clicks to 30 %", 5, "batches"), ("clicks to 30 %", 5, LATE),
        ],
        "wear 3 %": [("clicks to 30 %", 5), ("ratings to 0.8", 4, "stars")],
        "1 crash in 1,000": [("clicks to 30 %", 5), ("clicks of 5 %", 6), ("one in 100 at 25 %", 5, LATE)],
        "1 crash in 200 to fresh": [("completions to 70 %", 5)],
        "slow novelty": [("clicks to 8 %", 6), ("one in 100 at 25 %", 5)],
        "fast novelty": [("clicks to 30 %", 5), ("completions to 70 %", 5, "batches")],
        "fatigue": [("clicks to 30 %", 5)],
        "newcomers better": [("clicks to 30 %", 5), ("purchases of 0.2 %", 6)],
        "newcomers much worse": [("completions to 70 %", 5)],
        "4 seasons": [("clicks of 5 %", 5)],
        "40 seasons": [("clicks to 30 %", 6)],
    },
}  # fmt: skip

CONTESTS: tuple[CatalogueContest, ...] = tuple(
    CatalogueContest(
        half,
        change,
        reservoir,
        10**power,
        noise=how[0] if how and how[0] in NOISES else "coins",
        answers=how[0] if how and how[0] not in NOISES else "",
    )
    for half, changes in _TABLE.items()
    for change, rows in changes.items()
    for reservoir, power, *how in rows
)
"""All of them, those of the tuning half first."""

QUICK_HORIZON = 10_000

QUICK_CHANGES = (STILL, "wear 0.5 %", "wear 0.3 %")
"""Two types of worlds: compiling a policy for one more takes a second or two."""


def quick_contests() -> tuple[CatalogueContest, ...]:
    """Those with coins at once and a power law, still or worn, over a short horizon."""
    chosen = [
        dataclasses.replace(contest, horizon=QUICK_HORIZON)
        for contest in CONTESTS
        if contest.change in QUICK_CHANGES
        and isinstance(contest.world.reservoir, PowerLaw)
        and (contest.noise, contest.answers) == ("coins", "")
    ]
    return tuple(dict.fromkeys(chosen))


# ---------------------------------------------------------------- entrants

SIZES = (16, 64, 256, 1024, 4096)
QUICK_SIZES = SIZES[:3]


def on_sizes(make: Make, sizes: tuple[int, ...] = SIZES) -> Callable[[CatalogueContest], dict[str, Policy]]:
    """A policy on fixed subsamples of some sizes; the beta of these matters nowhere then."""
    return lambda contest: {f"{arms:,} arms": make(beta=1.0, arms=arms) for arms in sizes}


def subsample(base: Any) -> Make:
    """A base on a subsample."""
    return functools.partial(Subsample, base=base)


FIXED: dict[str, Make] = {"Greedy": subsample(Greedy()), "KLUCB": subsample(KLUCB()), "SSUCB": SSUCB}
"""What plays the fixed subsamples that all are held against."""


def fixed(sizes: tuple[int, ...]) -> tuple[Entrant, ...]:
    """These, each with the best of its sizes."""
    best = f"best of {len(sizes)}"
    return tuple(Entrant(f"{name}, {best}", HINDSIGHT, on_sizes(make, sizes)) for name, make in FIXED.items())


def prior_of(contest: CatalogueContest) -> tuple[float, float]:
    """The Beta distribution with mean and variance of the contest's reservoir: its own, where it is one.

    To nine digits: the last bits of sums are others on other processors, and a policy's random numbers would be too.
    """
    law = law_of(RESERVOIRS[contest.half][contest.reservoir])
    plays = law.mean * (1.0 - law.mean) / law.variance - 1.0
    return float(f"{law.mean * plays:.9g}"), float(f"{(1.0 - law.mean) * plays:.9g}")


def in_time(make: Make, sizes: tuple[int, ...] = SIZES) -> Callable[[CatalogueContest], dict[str, Policy]]:
    """A policy on those of some subsamples on which it takes seconds and not hours."""
    return lambda contest: {
        size: policy for size, policy in on_sizes(make, sizes)(contest).items() if is_short(policy, contest)
    }


def thompson(prior: Callable[[CatalogueContest], tuple[float, float]]) -> Callable[[CatalogueContest], Plays]:
    """Thompson sampling with a prior, on some subsamples."""
    return lambda contest: in_time(subsample(Thompson(prior(contest))))(contest)


def subsampled(name: str, base: Base) -> Entrant:
    """A base, with the best of its subsamples."""
    sizes = tuple(arms for arms in SIZES if arms <= base.most_arms)
    return Entrant(f"{name}, best size", HINDSIGHT, in_time(subsample(base), sizes))


def epsilon_greedy(contest: CatalogueContest) -> dict[str, Policy]:
    """With two shares of chance."""
    return {
        f"epsilon {epsilon:g}, {size}": policy
        for epsilon in (0.02, 0.1)
        for size, policy in on_sizes(subsample(EpsilonGreedy(epsilon)))(contest).items()
    }


RANDOM = "UniformPlay"

ENTRANTS_OF_CATALOGUE: tuple[Entrant, ...] = (
    *(entrant for entrant in ENTRANTS if entrant.told == NOTHING and "Thompson" not in entrant.name),
    auto("Subsample(EpsilonGreedy)", subsample(EpsilonGreedy(0.1))),
    # Its subsample may be as large as the run is long.
    auto("Subsample(Thompson)", subsample(Thompson()), enters=lambda contest: contest.horizon <= 10_000),
    *fixed(SIZES),
    Entrant("EpsilonGreedy, best of 10", HINDSIGHT, epsilon_greedy),
    Entrant("Thompson, flat prior, best size", HINDSIGHT, thompson(lambda contest: FLAT)),
    Entrant("Thompson, right prior, best size", HINDSIGHT, thompson(prior_of)),
    *(subsampled(name, base) for name, base in BASES.items() if not isinstance(base, EpsilonGreedy)),
)
"""Everybody who can do without the top: those told nothing, and the best of fixed subsamples in hindsight."""

UNKNOWN = ("beta", "alpha", "V", "changes", "V or changes", "rate of wear", "rounds of change")
"""What nobody tells here. Who must be told such a thing takes part if it can also be told nothing, or not at all."""

QUICK_ENTRANTS: tuple[Entrant, ...] = (
    *(entrant for entrant in ENTRANTS_OF_CATALOGUE if entrant.quick or entrant.name == "Subsample(Greedy), auto"),
    *fixed(QUICK_SIZES),
)
"""Those who take part when it is quick."""

UPPER = "upper value"

CATALOGUE = League(
    name="catalogue",
    contests=CONTESTS,
    entrants=ENTRANTS_OF_CATALOGUE,
    quick_contests=quick_contests(),
    quick_entrants=QUICK_ENTRANTS,
    star=STAR,
    measure=REWARD,
    against={
        "best subsample": [entrant.name for sizes in (SIZES, QUICK_SIZES) for entrant in fixed(sizes)],
        UPPER: [UPPER],
        "random arms": [RANDOM],
    },
    parts=COMMON_PARTS
    | {
        "at once": lambda contest: not contest.answers,
        "in batches": lambda contest: contest.answers == "batches",
        LATE: lambda contest: contest.answers == LATE,
    },
    about="Who earns most from a catalogue, and how much of what could be earned?",
    reading=(
        "In each contest, an entrant's ratio is its mean reward over that of the best fixed subsample in hindsight "
        "(greedy, KL-UCB or SSUCB on 16 to 4,096 arms, whichever turned out best in this very contest): above 1 it "
        "earns more. Beside it stand its reward over the upper value, which a player who sees means could earn at "
        "most, and over that of a fresh arm in every round. Here are geometric means of ratios over contests, and the "
        "worst contest.",
        "Told nothing: neither how good the best arm is nor beta nor the horizon nor anything about change. Hindsight: "
        f"the best of a grid of settings in this very contest, told the horizon. {AWAY}",
    ),
    note="Mean reward over that of the best fixed subsample in hindsight. Who earns more stands above 1, in blue. "
    "Press a number for that subsample; a dot says that the entrant did not take part.",
    settings_note="A fresh arm: its mean in the first round. Upper value: what nobody earns more than in a round; a "
    "player who sees means comes close.",
    yardsticks={UPPER: lambda contest: contest.upper_value},
)
