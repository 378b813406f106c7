"""Known numbers of the field, played again: make verify, some three minutes on one core.

    python verification/known_numbers.py [--only GROUP]

Each row is a number that is known from elsewhere: who plays, the setting, ours ± half a 95 % interval, the known
number, where it comes from, how many replications it is of, the tolerance, and whether the two agree. The exit code is
1 if one does not.

Where a number comes from is said as in docs/packs.md. *separate*: a simulation from scratch that shares no code with
the package; *formula*: worked out. Numbers that stand in a study of the package are taken from there
(`manyarms.lab.questions`). None is of the authors' code: those are beside ours in docs/packs.md and docs/lab.md.

The tolerance follows from chance alone. A known number is a mean over replications, and so is ours: they differ with a
standard deviation of s sqrt(1/ours + 1/theirs), s being that of one replication, as we find it. The tolerance is so
many of these that a table without a fault has a row out of tolerance with probability 5 % at most, as normal numbers
are: 3.7 for some 200 rows. Where it is not told how many replications a known number is of, it is taken to be as
uncertain as ours: sqrt(2) of our standard errors in place of one. "5 to 10 replications" are 5. A formula is not
uncertain; what holds in every run has a tolerance of 0.
"""

import argparse
import functools
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import manyarms as ma
from manyarms.intervals import mean_and_half_width
from manyarms.lab.figures.statistics import with_half_width
from manyarms.lab.questions import bayati, coins, figure_1_june, kim
from manyarms.lab.questions.known import APART, FORMULA, Place, place_of
from manyarms.lab.questions.known import Known as Number
from manyarms.lab.questions.published import Capped, SameArms
from manyarms.policies.base import Policy
from manyarms.policies.siri import estimated_beta
from manyarms.replication import Job, Run, begun_policy
from manyarms.tables import Table, number_text

Values = NDArray[np.float64]
Play = Callable[[int], Values]
"""Of a seed, one number for each replication."""

UNTOLD = 0
"""It is not told how many replications a known number is of."""

MEANS, EVERY = "", "≤ "
"""Of what it is known: of the mean over replications; or that no replication is above it."""

CHANCE = 0.05
"""How likely it is that a table without a fault has a row out of tolerance."""


class Fact(NamedTuple):
    """A number that is known, and how to find ours."""

    who: str
    setting: str
    play: Play
    known: float | Play
    source: str = APART
    of: int = UNTOLD  # replications behind the known number
    holds: str = MEANS


def game(
    policy: Policy,
    world: ma.World,
    horizon: int,
    column: str = "regret",
    over: float = 1.0,
    replications: int = 1_000,
) -> Play:
    """A column of the result at the end, over something."""

    def play(seed: int) -> Values:
        recommends = column == "simple regret"
        result = ma.simulate(
            {"it": policy}, world, horizon, replications, seed, checkpoints=1, threads=1, recommend=recommends
        )
        return result.final("it", column) / over

    return play


def still(beta: float = 1.0, noise: ma.Noise | None = None) -> ma.World:
    """Arms that do not change; coins unless said."""
    return ma.World(ma.PowerLaw(beta), noise=noise or ma.Bernoulli())


UNIFORM = still()

# ---------------------------------------------------------------- coins that stand still


def of_study(
    study: ma.lab.Study,
    known: Mapping[Place, Number],
    replications: Mapping[str, int],
    of: Mapping[str, int],
    usual: int = 1_000,
) -> list[Fact]:
    """What a study has beside its own numbers; replications of ours and of theirs (``of``) are by policy, "" is all."""
    facts = []
    for cell in study.cells:
        if place_of(cell) not in known:
            continue
        name, number = cell.policy_name, known[place_of(cell)]
        play = game(cell.policy, cell.world, cell.horizon, replications=replications.get(name, usual))
        setting = f"{cell.world_name}, n = {cell.horizon:,}"
        facts.append(Fact(name, setting, play, number.regret, number.origin, of.get(name, of.get("", UNTOLD))))
    return facts


def of_coins() -> list[Fact]:
    """Rules for coins (Berry et al. 1997, Bonald & Proutière 2013, Chan & Hu 2018)."""
    facts = of_study(coins.berry(), coins.KNOWN_BERRY, {}, {})
    facts += of_study(coins.chan_hu(), coins.KNOWN_CHAN_HU, {"UCB-F": 100}, {})  # which takes a step for every arm
    for n, known in ((100, 15.6), (1_000, 56.4), (10_000, 191.0), (100_000, 626.0)):
        play = game(ma.MRun(recall=False), UNIFORM, n)
        facts.append(Fact("m-run, no recall", f"uniform means, n = {n:,}, played", play, known))
    for n, known in ((100, 16.4), (1_000, 54.9), (10_000, 168.0)):
        play = game(ma.TwoTarget(failures=6), UNIFORM, n)
        facts.append(Fact("two-target, m = 6", f"uniform means, n = {n:,}", play, known))
    for n, known in ((1_000, 2.03), (10_000, 2.25), (100_000, 2.26)):
        play = game(ma.TwoTarget(horizon="doubling"), UNIFORM, n, over=math.sqrt(n))
        facts.append(Fact("two-target, n unknown", f"uniform means, n = {n:,}, regret / sqrt(n)", play, known))
    return facts


# ---------------------------------------------------------------- subsamples and growing samples of coins

UCB_F = ma.UCBV(exploration="loglog", anytime=True)


def of_subsamples() -> list[Fact]:
    """SS-Greedy, SSUCB and SS-TS (Bayati et al. 2020), UCB-F and UCB-AIR (Wang, Audibert & Munos 2008)."""
    facts = of_study(bayati.bayati(), bayati.KNOWN, {"SS-TS": 100, "UCB-F": 100}, {})
    for n, known in ((100, 40.0), (1_000, 325.0), (10_000, 2_478.0)):
        play = game(ma.SSUCB(beta=1.0, preset="paper"), UNIFORM, n, replications=100)
        facts.append(Fact("SSUCB, sigma 1", f"coins, n = {n:,}", play, known))
    for n, fewer, air in ((100, 47.6, 47.7), (1_000, 399.0, 426.0), (10_000, 2_649.0, 3_162.0)):
        setting, play = f"coins, n = {n:,}", functools.partial(game, world=UNIFORM, replications=100)
        some = ma.Subsample(base=UCB_F, beta=1.0, arms=math.isqrt(n // 2))
        growing = ma.UCBAIR(beta=1.0)
        facts.append(Fact("UCB-F, sqrt(n/2) arms", setting, play(some, horizon=n), fewer))
        facts.append(Fact("UCB-AIR", setting, play(growing, horizon=n), air))
        # The arm of round n is counted as soon as the round before is over.
        arms = play(growing, horizon=n - 1, column="arms")
        facts.append(Fact("UCB-AIR", f"{setting}, arms", arms, math.ceil(math.sqrt(n)), FORMULA))
    return facts


# ---------------------------------------------------------------- bases on a subsample

POWER_OF_TWO = 2**14

BASES: dict[str, tuple[ma.Base, tuple[float, ...]]] = {
    "greedy": (ma.Greedy(), (291, 139, 1_343, 5_027)),
    "Thompson": (ma.Thompson(), (390, 133, 2_467, 4_435)),
    "KL-UCB++": (ma.KLUCBPlusPlus(), (438, 139, 1_968, 4_279)),
    "IMED": (ma.IMED(), (479, 140, 2_807, 4_324)),
    "KL-UCB": (ma.KLUCB(), (526, 139, 3_169, 4_453)),
    "MOSS": (ma.MOSS(), (836, 251, 2_700, 4_103)),
    "Tsallis-INF, RV": (ma.TsallisINF(), (1_107, 280, 3_689, 4_318)),
    "Tsallis-INF, IW": (ma.TsallisINF(estimator="IW"), (1_669, 352, 5_428, 4_364)),
    "UCB, width 1/2": (ma.UCB(width=0.5), (1_540, 329, 5_443, 4_230)),
    "UCB": (ma.UCB(), (3_191, 638, 8_482, 4_899)),
    "UCB-V": (ma.UCBV(), (4_798, 655, 10_074, 5_771)),
    "successive elimination": (ma.SuccessiveElimination(), (6_942, 1_524, 10_953, 7_780)),
}
"""Regret on a subsample of the size for beta, in each of ``COLUMNS``; of 24 replications."""

COLUMNS = {
    "beta 1, 128 arms": (1.0, ma.Still()),
    "beta 0.5, 12 arms": (0.5, ma.Still()),
    "beta 2, 646 arms": (2.0, ma.Still()),
    "beta 1, 128 arms, rotting by 1/t": (1.0, ma.Rotting("1/t")),
}

SLOW = ("Thompson", "IMED", "Tsallis-INF, RV", "Tsallis-INF, IW")
"""They look at every arm in every round."""


def of_bases() -> list[Fact]:
    """Coins, T = 16,384."""
    facts = []
    for name, (base, regrets) in BASES.items():
        for (column, (beta, drift)), known in zip(COLUMNS.items(), regrets, strict=True):
            world = ma.World(ma.PowerLaw(beta), drift)
            replications = 100 if name not in SLOW else 12 if beta == 2.0 else 48
            play = game(ma.Subsample(base=base, beta=beta), world, POWER_OF_TWO, replications=replications)
            facts.append(Fact(f"{name} on a subsample", f"T = {POWER_OF_TWO:,}, {column}", play, known, of=24))
    return facts


# ---------------------------------------------------------------- the worlds of Suk & Kim's experiments

LONG = 100_000
FEW = 5
"""Replications behind these numbers: they are of 5 to 10."""


def wearing(beta: float, rate: str = "1/t", kind: type[ma.World] = ma.World) -> ma.World:
    """Their world: the play at round t takes ``rate``."""
    return kind(ma.PowerLaw(beta), ma.Rotting(rate), ma.GapUniform())


def elimination(beta: float, threshold: float = 1.0, **settings: Any) -> Policy:
    """Algorithm 2 of the text, without the log factor unless said."""
    return ma.Elimination(beta=beta, preset="paper", threshold=threshold, **({"log_factor": False} | settings))


def blackbox(beta: float, **settings: Any) -> Policy:
    """Algorithm 1 of the text, whose logarithms are to base 2; that in the index of UCB is natural in these numbers."""
    return ma.Blackbox(base=ma.UCB(width=2.0 * math.log(2.0)), beta=beta, preset="paper", **settings)


def greedy_like_ssucb(beta: float) -> Policy:
    """SS-Greedy with as many arms as SSUCB has in the published runs."""
    arms = ma.SSUCB(beta=beta, preset="published", horizon=LONG).slots(LONG)
    return ma.Subsample(base=ma.Greedy(), beta=beta, arms=arms)


def ssucb(beta: float) -> Policy:
    """SSUCB as in the published runs."""
    return ma.SSUCB(beta=beta, preset="published")


SAME_CLOCK: dict[str, tuple[Callable[[float], Policy], dict[float, float]]] = {
    "SSUCB": (ssucb, {0.8: 18_762, 1.0: 21_919, 1.2: 26_588}),
    "AUCBT-ASW, grid of the code": (
        lambda beta: ma.AUCBTASW(preset="published"),
        {0.8: 41_630, 1.0: 46_322, 1.2: 50_719},
    ),
    "AUCBT-ASW, grid of the paper": (
        lambda beta: ma.AUCBTASW(preset="published", first_threshold=0.5, depth=0.5),
        {0.8: 41_276, 1.0: 46_824, 1.2: 51_792},
    ),
    "Blackbox(UCB), natural log in the index": (blackbox, {0.8: 13_436, 1.0: 20_829, 1.2: 27_550}),
    "Elimination, no log factor": (elimination, {0.8: 15_943, 1.0: 25_586, 1.2: 36_633}),
    "Elimination, paper": (
        lambda beta: elimination(beta, log_factor=True),
        {0.8: 44_319, 1.0: 49_904, 1.2: 54_621},
    ),
    "SS-Greedy": (greedy_like_ssucb, {0.8: 15_170, 1.0: 19_115, 1.2: 17_422}),
    "EmpiricalCBT": (lambda beta: ma.EmpiricalCBT(), {0.8: 4_346, 1.0: 5_776, 1.2: 7_369}),
}
"""Rotting by 1/t, all on the clock of the world."""

THRESHOLDS: dict[float, tuple[float, float, float]] = {
    0.02: (22_492, 29_300, 33_143),
    0.05: (10_992, 23_074, 28_969),
    0.10: (10_616, 23_049, 30_390),
    0.25: (11_247, 26_517, 35_666),
    0.50: (16_935, 30_394, 40_917),
    1.00: (25_586, 35_920, 47_537),
}
"""Elimination without the log factor at beta 1, by threshold: rotting by 1/t, 30/t and 100/t."""

RESTARTS = {0.02: 1_337, 0.05: 37, 0.10: 6, 0.25: 0, 0.50: 0, 1.00: 0}
"""How often it restarts, rotting by 1/t."""

LOOSER: dict[float, tuple[float, float, float]] = {
    1.0: (27_329, 33_413, 40_181),
    2.0: (20_670, 34_168, 44_654),
    4.0: (20_670, 38_609, 51_964),
}
"""Blackbox(UCB) at beta 1 with log T in the place of its third power, by threshold, in the same worlds."""

RATES = ("1/t", "30/t", "100/t")


def of_steeper_wear() -> Iterable[tuple[str, ma.World, Policy, float]]:
    """Beta 1, 30/t and 100/t; the paper's two algorithms as they were run in June 2025."""
    june = figure_1_june.published_policies(1.0, LONG)
    for rate, numbers in {
        "30/t": (97_446, 57_002, 37_401, 39_880, 16_650),
        "100/t": (99_805, 67_360, 46_408, 45_317, 25_240),
    }.items():
        world, same_arms = wearing(1.0, rate), wearing(1.0, rate, SameArms)
        yield "SSUCB", world, ssucb(1.0), numbers[0]
        yield "AUCBT-ASW, grid of the code", world, ma.AUCBTASW(preset="published"), numbers[1]
        yield "Blackbox(UCB), June", same_arms, Capped(june["Blackbox(UCB)"]), numbers[2]
        yield "Elimination, June", world, Capped(june["Elimination"]), numbers[3]
        yield "EmpiricalCBT", world, ma.EmpiricalCBT(), numbers[4]


def of_abrupt() -> Iterable[tuple[str, float, Policy, float]]:
    """The first floor(sqrt(T)) + 1 rounds take the whole mean of whatever is played."""
    yield "SSUCB", 1.0, ssucb(1.0), 99_843
    yield "SSUCB", 1.2, ssucb(1.2), 23_606
    yield "SS-Greedy", 1.2, greedy_like_ssucb(1.2), 873
    yield "AUCBT-ASW, grid of the code", 1.0, ma.AUCBTASW(preset="published"), 45_278
    yield "EmpiricalCBT", 1.0, ma.EmpiricalCBT(), 434


def of_figure() -> list[Fact]:
    """Noise that vanishes at the top, T = 100,000."""
    play = functools.partial(game, horizon=LONG, replications=40)
    facts = []
    for name, (policy, numbers) in SAME_CLOCK.items():
        for beta, known in numbers.items():
            found = play(policy(beta), wearing(beta))
            facts.append(Fact(name, f"rotting by 1/t, beta {beta:g}", found, known, of=FEW))
    for name, world, one, known in of_steeper_wear():
        facts.append(Fact(name, f"rotting by {world.drift.rate}, beta 1", play(one, world), known, of=FEW))
    for name, beta, one, known in of_abrupt():
        world = wearing(beta).replace(drift=figure_1_june.abrupt(LONG))
        facts.append(Fact(name, f"abrupt, beta {beta:g}", play(one, world), known, of=FEW))
    for threshold, numbers in THRESHOLDS.items():
        one = elimination(1.0, threshold)
        name = f"Elimination, C_2 = {threshold:g}"
        for rate, known in zip(RATES, numbers, strict=True):
            facts.append(Fact(name, f"rotting by {rate}, beta 1", play(one, wearing(1.0, rate)), known, of=FEW))
        found = play(one, wearing(1.0), column="restarts")
        facts.append(Fact(name, "rotting by 1/t, beta 1, restarts", found, RESTARTS[threshold], of=FEW))
    for threshold, numbers in LOOSER.items():
        one = blackbox(1.0, threshold=threshold, log_power=1.0)
        for rate, known in zip(RATES, numbers, strict=True):
            found = play(one, wearing(1.0, rate))
            name = f"Blackbox(UCB), C_1 = {threshold:g}, log T"
            facts.append(Fact(name, f"rotting by {rate}, beta 1", found, known, of=FEW))
    return facts


# ---------------------------------------------------------------- one arm at a time


def plays_of_perfect_arm(rotting: float, rounds: int) -> int:
    """How many plays UCB-TP gives an arm that always pays 1: until rho (n + 1) / 2 > delta + sqrt(8 log T / n)."""
    delta = max(rotting ** (1.0 / 3.0), rounds**-0.5)
    plays = 1
    while rotting * (plays + 1) / 2.0 <= delta + math.sqrt(8.0 * math.log(rounds) / plays):
        plays += 1
    return plays


def arms_in(rounds: int, plays: int) -> int:
    """Each is left after so many plays, and then there is a next one."""
    return 1 + rounds // plays


def of_one_arm() -> list[Fact]:
    """UCB-TP and AUCB-TP (Kim, Vojnović & Yun 2022), UCBT-ASW (2024); and how many arms it can be at most."""
    facts = of_study(kim.kim_2022((1_000_000,)), kim.KNOWN_2022, {}, {"": FEW, "SSUCB": 2}, usual=10)
    paying = {pay: ma.World(ma.Empirical(means=(pay,)), noise=ma.Exact()) for pay in (0.0, 1.0)}
    arms = functools.partial(game, horizon=LONG, column="arms", replications=2)
    window = 2 ** math.ceil(math.log2(12.0 * math.log(LONG) / (1.0 - LONG**-0.5) ** 2))
    least = math.ceil(8.0 * math.log(LONG) / (1.0 - LONG**-0.5) ** 2)
    told = ma.UCBTASW(beta=1.0, changes=0)
    most = 1.0 + LONG / (12.0 * math.log(LONG))
    setting = f"T = {LONG:,}, arms that always pay"
    return [
        *facts,
        Fact("UCB-TP", f"{setting} 0: arms", arms(ma.UCBTP(rotting=0.0), paying[0.0]), arms_in(LONG, least), FORMULA),
        *(
            Fact(
                f"UCB-TP, rho = {rho:g}",
                f"{setting} 1: arms",
                arms(ma.UCBTP(rotting=rho), paying[1.0]),
                arms_in(LONG, plays_of_perfect_arm(rho, LONG)),
                FORMULA,
            )
            for rho in (1e-2, 1e-4)
        ),
        Fact("UCBT-ASW", f"{setting} 0: arms", arms(told, paying[0.0]), arms_in(LONG, window), FORMULA),
        Fact("UCBT-ASW", f"{setting} 0: most arms", arms(told, paying[0.0]), most, FORMULA, holds=EVERY),
        Fact(
            "UCBT-ASW",
            f"T = {LONG:,}, coins of uniform means that break, 1 in 50: most arms",
            arms(told, ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.02)), replications=40),
            most,
            FORMULA,
            holds=EVERY,
        ),
    ]


# ---------------------------------------------------------------- one good arm at the end

HALF = ma.Gaussian(sigma=0.5)

REPLICATIONS = {1_000: 2_000, 10_000: 1_000, 100_000: 200}
"""Of SiRI from scratch, by n."""


@functools.cache
def plain_siri(beta: float, A: float, n: int, seed: int, C: float = 0.25, delta: float = 0.1) -> tuple[Values, Values]:  # noqa: N803
    """Simple regret of SiRI, beta not 2, simulated from scratch: all plays until an arm's have doubled are one draw.

    Of the arms that were played most the first is recommended, and the one with the largest mean.
    """
    random = np.random.default_rng([seed, n, round(100.0 * beta)])
    b = min(beta, 2.0)
    size = math.ceil((A / math.log(n) if beta > 2.0 else A) * n ** (b / 2.0))
    log_0 = 2.0 * math.floor(math.log2(size)) / b * math.log(2.0) - math.log(delta)

    def width(plays: float) -> float:
        doubt = C / plays * max(log_0 - math.log(plays), 0.0)
        return 2.0 * math.sqrt(doubt) + 2.0 * doubt

    def gaps_of_recommended() -> tuple[float, float]:
        gaps = random.random(size) ** (1.0 / beta)
        plays, sums = np.ones(size), 1.0 - gaps + 0.5 * random.standard_normal(size)
        bounds = sums + width(1.0)
        left = n - size
        while left > 0:
            arm = int(np.argmax(bounds))
            more = min(int(plays[arm]), left)
            left -= more
            plays[arm] += more
            sums[arm] += more * (1.0 - gaps[arm]) + 0.5 * math.sqrt(more) * random.standard_normal()
            bounds[arm] = sums[arm] / plays[arm] + width(plays[arm])
        most = np.flatnonzero(plays == plays.max())
        return float(gaps[most[0]]), float(gaps[most[np.argmax(sums[most])]])

    first, by_mean = np.array([gaps_of_recommended() for _ in range(REPLICATIONS[n])]).T
    return first, by_mean


def estimates_of_beta(beta: float, arms: int, replications: int) -> Play:
    """What SiRI takes beta to be after so many arms with so many plays each; the last arm has one less.

    The loop leaves the rewards behind in its arrays, until the pilot is over.
    """

    def play(seed: int) -> Values:
        policy, rounds = ma.SiRI(beta="auto", factor=1e-9, horizon=arms**4), arms**2 - 1
        run = Run(policy, Job(still(beta, HALF), rounds, replications, seed, np.array([rounds])))
        states, begun = run.states(), begun_policy(policy, rounds, seed, 0)
        found = []
        for replication in range(replications):
            run.play(replication, replication + 1, states)
            found.append(estimated_beta(begun._replace(rewards=states.policy.rewards)))
        return np.array(found)

    return play


SIMPLE_REGRETS: dict[tuple[float, float], dict[int, float]] = {
    (1.0, 1.0): {1_000: 0.062, 10_000: 0.024, 100_000: 0.0079},
    (3.0, 0.3): {1_000: 0.27, 10_000: 0.16, 100_000: 0.078},
}
"""Of SiRI, by beta and A, and n; of 60 to 100 replications. Of arms played equally often the first is recommended."""

ESTIMATES = {0.5: 0.68, 1.0: 1.13, 2.0: 1.63, 3.0: 1.82}
"""By beta, what is estimated from 100 arms with 100 plays each."""


def of_simple_regret() -> list[Fact]:
    """SiRI and its estimator of beta (Carpentier & Valko 2015); Gaussian rewards of standard deviation 1/2."""
    facts = []
    for (beta, A), numbers in SIMPLE_REGRETS.items():  # noqa: N806
        for n, known in numbers.items():
            setting = f"beta {beta:g}, A = {A:g}, n = {n:,}"
            policy, world = ma.SiRI(beta=beta, factor=A), still(beta, HALF)
            scratch = functools.partial(plain_siri, beta, A, n)
            first, by_mean = (lambda seed, of=scratch, rule=rule: of(seed)[rule] for rule in (0, 1))
            facts.append(Fact("SiRI from scratch, the first of equals", setting, first, known, of=60))
            facts.append(
                Fact("SiRI, the largest mean of equals", setting, game(policy, world, n, "simple regret"), by_mean)
            )
    for beta, known in ESTIMATES.items():
        facts.append(
            Fact("estimator of beta", f"beta {beta:g}, 10,000 plays", estimates_of_beta(beta, 100, 1_000), known)
        )
    return facts


# ---------------------------------------------------------------- what is known against what is found

GROUPS: dict[str, Callable[[], list[Fact]]] = {
    "coins": of_coins,
    "subsamples": of_subsamples,
    "bases": of_bases,
    "figure": of_figure,
    "one-arm": of_one_arm,
    "simple-regret": of_simple_regret,
}


def multiple(rows: int) -> float:
    """How many standard deviations are the tolerance of each of so many rows.

    Examples
    --------
    >>> round(multiple(1), 2), round(multiple(100), 2)
    (1.96, 3.48)
    """
    return statistics.NormalDist().inv_cdf(1.0 - CHANCE / (2.0 * rows))


def variance(values: Values) -> float:
    """Of one replication."""
    return float(values.var(ddof=1))


def compared(fact: Fact, rows: int, seed: int) -> dict[str, Any]:
    """One row of the table; the tolerance is that of a table of so many rows."""
    ours = fact.play(seed)
    doubt = variance(ours) / len(ours)
    of = fact.of
    if callable(fact.known):
        theirs = fact.known(seed)
        known, of = float(theirs.mean()), len(theirs)
        doubt += variance(theirs) / of
    else:
        known = fact.known
        if fact.source != FORMULA:
            doubt += variance(ours) / (of or len(ours))
    tolerance = multiple(rows) * math.sqrt(doubt)
    agrees = abs(float(ours.mean()) - known) <= tolerance
    if fact.holds == EVERY:
        tolerance, agrees = 0.0, bool(ours.max() <= known)
    return {
        "who": fact.who,
        "setting": fact.setting,
        "ours": with_half_width(*mean_and_half_width(ours)),
        "known": fact.holds + number_text(known),
        "from": fact.source,
        "of": f"{of:,}" if of else "not told" if fact.source == APART else "",
        "tolerance": number_text(tolerance),
        "agrees": "yes" if agrees else "NO",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, compare and print; 1 if something does not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=GROUPS, help="one group")
    options = parser.parse_args(arguments)
    facts = {group: make() for group, make in GROUPS.items()}
    rows = sum(map(len, facts.values()))
    verdicts = []
    for group, make in GROUPS.items():
        if options.only in (None, group):
            found = [compared(fact, rows, options.seed) for fact in facts[group]]
            verdicts += [row["agrees"] for row in found]
            print(make.__doc__, Table(found), sep="\n", end="\n\n", flush=True)
    apart = verdicts.count("NO")
    print(f"{apart} of {len(verdicts)} do not agree. {multiple(rows):.2f} standard deviations are tolerated.")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
