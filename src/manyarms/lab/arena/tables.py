"""Who meets whom in the arena of the theory: means up to 1, regret from there, answers at once.

The halves of the contests have no beta in common, no rate and not all
kinds of drift and noise.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import policies
from ...bases import KLUCB, UCB, AsymptoticUCB, Base, Greedy, SuccessiveElimination, Thompson, TsallisINF
from ...drifts import Adversary, Crash, Drift, Fatigue, JumpAt, Phases, RandomWalk, Rising, Rotting, Still, Turnover
from ...noises import Bernoulli, BetaNoise, GapUniform, Noise
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
    Policy,
    SiRI,
    Subsample,
    TwoTarget,
    UniformPlay,
)
from ...policies.base import DOUBLING
from ...reservoirs import PowerLaw
from ...world import World
from .leagues import AWAY, COMMON_PARTS, REGRET, AnyContest, League, Make, auto, is_short, powered
from .leagues import GROUPS as GROUPS
from .leagues import HALVES as HALVES
from .leagues import HINDSIGHT as HINDSIGHT
from .leagues import NEEDED as NEEDED
from .leagues import NOTHING as NOTHING
from .leagues import TEST as TEST
from .leagues import TUNING as TUNING
from .leagues import Entrant as Entrant
from .subsampled import BASES, LEFT_OUT, must_be_told, unlisted

# ---------------------------------------------------------------- contests

NOISES: dict[str, Noise] = {
    "coins": Bernoulli(),
    "gap-uniform": GapUniform(),  # the paper's figure; it vanishes at the top
    "low noise": BetaNoise(concentration=50.0),
    "strong noise": BetaNoise(concentration=1.0),
}


@dataclasses.dataclass(frozen=True)
class Change:
    """A way in which arms change, for any horizon."""

    drift: Callable[[int], Drift]
    falls: Callable[[int], float] = lambda horizon: 0.0
    """By how much means fall in all if one good arm after another is played, each until it has worn out or broken down:
    the V that policies are told. What a run's V really is depends on the policy."""


def worn(total: float) -> Change:
    """Every play takes the same; ``total`` over the horizon."""
    return Change(lambda horizon: Rotting(rate=total / horizon), lambda horizon: total)


def crashing(crashes: int, to: float | str = 0.0) -> Change:
    """So many breakdowns over the horizon, of an arm that was near the top."""
    return Change(lambda horizon: Crash(probability=crashes / horizon, to=to), lambda horizon: float(crashes))


def tiring(lives: int, fall: float) -> Change:
    """Arms with a honeymoon of 1 / ``lives`` of the horizon, and then a fall that takes ``fall`` times as long."""
    return Change(
        lambda horizon: Fatigue(after=horizon // lives, rate=lives / (fall * horizon)),
        lambda horizon: lives / (1.0 + fall),
    )


def in_thirds(*totals: float) -> Change:
    """Three spans of the same length; each play of a span takes a constant, or gives one where its total is below 0."""

    def drift(horizon: int) -> Drift:
        third = horizon // 3
        rates = [abs(total) / third for total in totals]
        parts = [Rising(rate) if total < 0.0 else Rotting(rate) for total, rate in zip(totals, rates, strict=True)]
        return Phases(tuple(parts), ends=(third, 2 * third))

    return Change(drift, lambda horizon: sum(max(total, 0.0) for total in totals))


CHANGES: dict[str, Change] = {
    "still": Change(lambda horizon: Still()),
    "rotting 1/t": Change(lambda horizon: Rotting(rate="1/t"), lambda horizon: math.log(horizon) + 0.5772),
    "rotting 3/t": Change(lambda horizon: Rotting(rate="3/t"), lambda horizon: 3.0 * (math.log(horizon) + 0.5772)),
    **{f"wear {total:g}": worn(total) for total in (1.0, 4.0, 30.0, 100.0)},
    "fast wear": Change(lambda horizon: Rotting(rate=0.01), lambda horizon: 0.01 * horizon),
    "faster wear": Change(lambda horizon: Rotting(rate=0.03), lambda horizon: 0.03 * horizon),
    "rotting by a share": Change(lambda horizon: Rotting(rate="0.05%"), lambda horizon: 0.0005 * horizon),
    "rising 3": Change(lambda horizon: Rising(rate=3.0 / horizon)),
    "rising 20": Change(lambda horizon: Rising(rate=20.0 / horizon)),
    "rot, rise, rot": in_thirds(8.0, -8.0, 8.0),
    "rise, rot, rise": in_thirds(-20.0, 20.0, -20.0),
    "easy, hard, easy": in_thirds(0.3, 60.0, 0.3),
    **{f"{crashes} crashes": crashing(crashes) for crashes in (16, 64, 256)},
    "crashes to fresh": crashing(100, "fresh"),
    "jump": Change(lambda horizon: JumpAt(play=horizon // 16, size=-0.3), lambda horizon: 16 * 0.3),
    "early jump": Change(lambda horizon: JumpAt(play=horizon // 200, size=-0.5), lambda horizon: 200 * 0.5),
    "8 seasons": Change(lambda horizon: Turnover(length=horizon // 8), lambda horizon: 7.0),
    "64 seasons": Change(lambda horizon: Turnover(length=horizon // 64), lambda horizon: 63.0),
    "adversary": Change(lambda horizon: Adversary(patience=horizon // 40, size=0.2), lambda horizon: 40 * 0.2),
    # A move is uniform on [-size, size]: the part of it that falls is size / 4 on average.
    "walk": Change(
        lambda horizon: RandomWalk(size=1.5 / math.sqrt(horizon)), lambda horizon: 1.5 * math.sqrt(horizon) / 4.0
    ),
    "fatigue": tiring(lives=16, fall=0.25),
    "slow fatigue": tiring(lives=8, fall=2.0),
    "quick fatigue": tiring(lives=100, fall=0.5),
}


@dataclasses.dataclass(frozen=True)
class Contest(AnyContest):
    """A world and a horizon, and which half they are of."""

    half: str
    change: str  # one of CHANGES
    beta: float
    noise: str  # one of NOISES
    horizon: int

    @property
    def name(self) -> str:
        """What to call it; no other contest has this name."""
        return f"{self.change}, beta {self.beta:g}, {self.noise}, T = {powered(self.horizon)}"

    @property
    def world(self) -> World:
        """The world."""
        return World(PowerLaw(beta=self.beta), CHANGES[self.change].drift(self.horizon), NOISES[self.noise])

    @property
    def falls(self) -> float:
        """V, as it can be told before the run: by how much means fall if one good arm after another is played."""
        return CHANGES[self.change].falls(self.horizon)

    @property
    def is_still(self) -> bool:
        """Whether nothing changes."""
        return self.change == "still"

    def settings(self) -> dict[str, Any]:
        """Its drift, and V."""
        return {"Drift": self.world.drift.label(), "V": self.falls}


_TABLE: dict[str, dict[str, list[tuple[float, int] | tuple[float, int, str]]]] = {
    TUNING: {  # beta, power of ten of the horizon; noise, if it is not coins
        "still": [(0.4, 4), (1.1, 5), (2.5, 5), (0.7, 6), (1.6, 5, "gap-uniform"), (1.1, 7)],
        "rotting 3/t": [(0.7, 5, "gap-uniform"), (1.6, 5, "gap-uniform"), (1.1, 6, "gap-uniform"), (1.1, 5)],
        "wear 4": [(0.4, 6), (1.1, 5), (2.5, 6)],
        "wear 100": [(0.7, 6, "gap-uniform"), (1.1, 4), (1.6, 5)],
        "fast wear": [(0.7, 5), (1.6, 5)],
        "rising 3": [(1.1, 5), (2.5, 5)],
        "rot, rise, rot": [(0.7, 5), (1.6, 6)],
        "64 crashes": [(0.4, 5), (1.1, 5), (1.6, 6)],
        "jump": [(1.1, 4), (0.7, 5)],
    },
    TEST: {
        "still": [(0.3, 5), (1.0, 6), (2.0, 5), (4.0, 5), (0.5, 5, "low noise"), (1.2, 6, "strong noise")],
        # The worlds of the paper's figure, and more.
        "rotting 1/t": [(0.8, 5, "gap-uniform"), (1.0, 5, "gap-uniform"), (1.2, 5, "gap-uniform"), (0.5, 6), (3.0, 5)],
        "wear 1": [(0.8, 5), (2.0, 6, "low noise"), (1.0, 7)],
        "wear 30": [(0.3, 4), (1.2, 6), (1.0, 5, "strong noise")],
        "faster wear": [(0.5, 5), (2.0, 5, "gap-uniform")],
        "rotting by a share": [(0.8, 5), (2.0, 5)],
        "rising 20": [(0.5, 5), (3.0, 6)],
        "rise, rot, rise": [(1.0, 5), (2.0, 5)],
        "easy, hard, easy": [(0.8, 6), (1.2, 5)],
        "16 crashes": [(1.0, 5), (0.5, 6, "low noise")],
        "256 crashes": [(0.8, 6), (2.0, 5)],
        "crashes to fresh": [(1.2, 5)],
        "early jump": [(0.5, 5), (1.2, 6)],
        "8 seasons": [(1.0, 6)],
        "64 seasons": [(0.5, 5)],
        "adversary": [(0.8, 5), (2.0, 6)],
        "walk": [(1.0, 5), (0.5, 6)],
        "fatigue": [(1.0, 5), (0.8, 6), (1.0, 7)],
        "slow fatigue": [(0.5, 5), (2.0, 4)],
        "quick fatigue": [(1.2, 5)],
    },
}

CONTESTS: tuple[Contest, ...] = tuple(
    Contest(half, change, beta, noise[0] if noise else "coins", 10**power)
    for half, changes in _TABLE.items()
    for change, rows in changes.items()
    for beta, power, *noise in rows
)
"""All of them, those of the tuning half first."""


QUICK_HORIZON = 10_000

QUICK_WORLDS = {
    ("StillState", "coins"),
    ("ConstantTrendState", "coins"),
    ("InverseTrendState", "gap-uniform"),
    ("FatigueState", "coins"),
}
"""The types of world of the quick contests: compiling a policy for one more takes a second or two, betas and rates
cost nothing."""

QUICK_EACH = 2
"""So many contests of one half for each change, at most."""


def quick_contests() -> tuple[Contest, ...]:
    """Those contests whose worlds have few types, over a short horizon.

    Examples
    --------
    >>> len({contest.world for contest in quick_contests()}) >= 24
    True
    """
    chosen: dict[World, Contest] = {}
    for contest in CONTESTS:
        short = dataclasses.replace(contest, horizon=QUICK_HORIZON)
        if (type(short.world.drift.start()).__name__, short.noise) not in QUICK_WORLDS or short.world in chosen:
            continue
        if sum((other.half, other.change) == (short.half, short.change) for other in chosen.values()) < QUICK_EACH:
            chosen[short.world] = short
    return tuple(chosen.values())


# ---------------------------------------------------------------- entrants

BLACKBOX_UCB = functools.partial(Blackbox, base=UCB())


def same(name: str, told: str, policy: Policy, **how: Any) -> Entrant:
    """A policy that is the same in all contests, where it takes seconds and not hours."""
    return Entrant(name, told, lambda contest: policy, enters=lambda contest: is_short(policy, contest), **how)


def told_beta(name: str, make: Make, **how: Any) -> Entrant:
    """A policy that is told beta and the horizon, where it takes seconds and not hours."""
    how = {"enters": lambda contest: is_short(make(beta=contest.beta), contest)} | how
    return Entrant(name, NEEDED, lambda contest: make(beta=contest.beta), **how)


def grid(name: str, thresholds: Sequence[float], make: Make) -> Entrant:
    """A policy that is told beta, with every threshold of a grid, of which the best in hindsight counts."""
    return Entrant(
        f"{name}, best of {len(thresholds)}",
        HINDSIGHT,
        lambda contest: {f"threshold {one:g}": make(beta=contest.beta, threshold=one) for one in thresholds},
    )


def grids(elimination: Sequence[float], blackbox: Sequence[float]) -> tuple[Entrant, ...]:
    """The paper's two algorithms with these thresholds, warm and cold."""
    algorithms: list[tuple[str, Make, Sequence[float]]] = [
        ("Elimination", Elimination, elimination),
        ("Blackbox(UCB)", BLACKBOX_UCB, blackbox),
    ]
    return tuple(
        grid(f"{name}, {'warm' if is_warm else 'cold'}", thresholds, functools.partial(make, warm_start=is_warm))
        for name, make, thresholds in algorithms
        for is_warm in (True, False)
    )


def first_loss(contest: Contest) -> float:
    """What CBT is told besides beta: the average of a fresh arm's first loss that is not 0."""
    return 1.0 if contest.noise == "coins" else contest.beta / (contest.beta + 1.0)


def told_of_change(base: Base, contest: Contest) -> Base:
    """A base that is told how much means change, if it has a place for it: V, at least 1, or as many falls from 1 to 0.

    Examples
    --------
    >>> crashes = next(contest for contest in CONTESTS if contest.change == "64 crashes")
    >>> [told_of_change(BASES[name], crashes).label() for name in ("SWUCB", "Rexp3", "UCB")]
    ['SWUCB(changes=64)', 'Rexp3(variation=64.0)', 'UCB()']
    """
    told = {"changes": max(round(contest.falls), 1), "variation": max(contest.falls, 1.0)}
    return base.replace(**{name: value for name, value in told.items() if hasattr(base, name)})


def is_short_for_thompson(contest: Contest) -> bool:
    """Whether Thompson sampling takes seconds and not hours on a subsample of the size for beta."""
    return is_short(Subsample(base=Thompson(), beta=contest.beta), contest)


def subsampled(name: str, base: Base) -> Entrant:
    """A base on a subsample, told what it needs."""

    def plays(contest: Contest) -> Policy:
        whole = Subsample(base=told_of_change(base, contest), beta=contest.beta, horizon=contest.horizon)
        slots = whole.slots(contest.horizon)
        return whole if slots <= base.most_arms else whole.replace(arms=base.most_arms)

    return Entrant(f"Subsample({name})", NEEDED, plays, enters=lambda contest: is_short(plays(contest), contest))


LISTED: tuple[Entrant, ...] = (
    Entrant("Forager", NOTHING, lambda contest: Forager(), quick=True),
    Entrant("EmpiricalCBT, doubling", NOTHING, lambda contest: EmpiricalCBT(horizon=DOUBLING), quick=True),
    Entrant("AUCBT-ASW, doubling", NOTHING, lambda contest: AUCBTASW(horizon=DOUBLING)),
    same("AUCB-TP, doubling", NOTHING, AUCBTP(horizon=DOUBLING)),
    Entrant("MRun, doubling", NOTHING, lambda contest: MRun(horizon=DOUBLING)),
    same("NLearning, doubling", NOTHING, NLearning(horizon=DOUBLING)),
    Entrant("KFailure", NOTHING, lambda contest: KFailure()),
    same("IMOSS", NOTHING, IMOSS()),
    same("QRM2", NOTHING, QRM2()),
    same("OSE", NOTHING, OSE()),
    same("PROSE", NOTHING, PROSE()),
    same("BracketingHalving", NOTHING, BracketingHalving()),
    Entrant("UniformPlay", NOTHING, lambda contest: UniformPlay(), quick=True),
    auto("Elimination", Elimination, quick=True),
    auto("Blackbox(UCB)", BLACKBOX_UCB),
    auto("CBT", CBT, quick=True),
    auto("SiRI", SiRI),
    auto("SSUCB", SSUCB),
    auto("Subsample(KLUCB)", functools.partial(Subsample, base=KLUCB())),
    auto("Subsample(Thompson)", functools.partial(Subsample, base=Thompson()), enters=is_short_for_thompson),
    auto("Subsample(Greedy)", functools.partial(Subsample, base=Greedy())),
    told_beta("Elimination", Elimination, quick=True),
    told_beta("Blackbox(UCB)", BLACKBOX_UCB, quick=True),
    told_beta("Blackbox(KLUCB)", functools.partial(Blackbox, base=KLUCB())),
    told_beta("Blackbox(Thompson)", functools.partial(Blackbox, base=Thompson()), enters=is_short_for_thompson),
    told_beta("Blackbox(SuccessiveElimination)", functools.partial(Blackbox, base=SuccessiveElimination())),
    told_beta("Blackbox(AsymptoticUCB)", functools.partial(Blackbox, base=AsymptoticUCB(sigma=0.05))),
    told_beta("Blackbox(TsallisINF)", functools.partial(Blackbox, base=TsallisINF())),
    Entrant("EmpiricalCBT", NEEDED, lambda contest: EmpiricalCBT()),
    Entrant("CBT", NEEDED, lambda contest: CBT(beta=contest.beta, first_loss=first_loss(contest)), quick=True),
    told_beta("SSUCB", SSUCB, quick=True),
    told_beta("Subsample(KLUCB)", functools.partial(Subsample, base=KLUCB())),
    told_beta("Subsample(Thompson)", functools.partial(Subsample, base=Thompson())),
    told_beta("Subsample(Greedy)", functools.partial(Subsample, base=Greedy())),
    *(subsampled(name, base) for name, base in BASES.items()),
    Entrant("UCBT-ASW", NEEDED, lambda contest: UCBTASW(beta=contest.beta, variation=contest.falls)),
    Entrant(
        "UCBT-ASW, width 0.5", NEEDED, lambda contest: UCBTASW(beta=contest.beta, variation=contest.falls, width=0.5)
    ),
    Entrant("AUCBT-ASW", NEEDED, lambda contest: AUCBTASW()),
    Entrant("UCB-TP", NEEDED, lambda contest: UCBTP(rotting=contest.falls / contest.horizon)),
    Entrant("UCB-TP, width 0.5", NEEDED, lambda contest: UCBTP(rotting=contest.falls / contest.horizon, width=0.5)),
    same("AUCB-TP", NEEDED, AUCBTP()),
    Entrant("MRun", NEEDED, lambda contest: MRun()),
    same("NLearning", NEEDED, NLearning()),
    told_beta("TwoTarget", TwoTarget),
    told_beta("UCB-AIR", UCBAIR),
    told_beta("SiRI", SiRI),
    *grids(
        elimination=(0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
        blackbox=(0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0),
    ),
)
"""In the order of what they are told. Who looks at every arm in every round is not in every contest."""


def newcomer(kind: Make, needs: Sequence[str]) -> list[Entrant]:
    """A policy that nobody has listed, with default settings, told beta if it must be; nothing if it needs more.

    Examples
    --------
    >>> [(one.name, one.told) for one in (*newcomer(Elimination, ["beta"]), *newcomer(Forager, []))]
    [('Elimination', 'what it needs'), ('Forager', 'nothing')]
    """
    name = kind.__name__
    if list(needs) == ["beta"]:
        return [told_beta(name, kind)]
    about = kind.about  # type: ignore[attr-defined]
    return [] if needs else [same(name, NEEDED if about is None or about.told else NOTHING, kind())]


def types_played(entrants: Sequence[Entrant]) -> set[type]:
    """Of all policies that these play."""
    contest = min(CONTESTS, key=lambda contest: contest.horizon)
    played = (entrant.plays(contest) for entrant in entrants)
    return {type(policy) for plays in played for policy in (plays.values() if isinstance(plays, dict) else [plays])}


ENTRANTS: tuple[Entrant, ...] = (
    *LISTED,
    *(
        entrant
        for kind in unlisted(policies, types_played(LISTED) | set(LEFT_OUT))
        for entrant in newcomer(kind, must_be_told(kind))
    ),
)
"""Everybody: those listed, and whatever else the package has."""

QUICK_ENTRANTS: tuple[Entrant, ...] = (
    *(entrant for entrant in ENTRANTS if entrant.quick),
    *grids(elimination=(0.01, 0.03, 0.1, 0.5), blackbox=(0.5, 2.0)),
)
"""Those who take part when the arena is quick: of few types, and with smaller grids."""

STAR = "Forager"
"""The entrant whose ratios head the leaderboard."""


ARENA = League(
    name="arena",
    contests=CONTESTS,
    entrants=ENTRANTS,
    quick_contests=quick_contests(),
    quick_entrants=QUICK_ENTRANTS,
    star=STAR,
    measure=REGRET,
    against={"all": None},
    parts=COMMON_PARTS,
    about="Who does well in how many worlds, and what must they be told for it?",
    reading=(
        "In each contest, an entrant's ratio is its mean regret over the least mean regret of all other entrants: "
        "below 1 it is the first. Here are geometric means of ratios over contests, and the worst contest.",
        "Told nothing: neither beta nor the horizon nor anything about change. Told what it needs: beta, the horizon, "
        "and how much means will fall, where there is a place for it. Hindsight: the best of a grid of settings in "
        f"this very contest, told what it needs besides. {AWAY}",
    ),
    note="Mean regret over the least mean regret of all other entrants; of a grid, its best setting counts. The first "
    "of a contest stands below 1, in blue. Press a number for its best rival; a dot says that the "
    "entrant did not take part.",
    settings_note="V is what policies are told that need it: by how much means fall if one good arm after another is "
    "played.",
)
