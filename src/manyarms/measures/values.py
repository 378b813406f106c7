"""Values: what could be earned at most in a world that is known, by a player who sees means.

An upper bound on the expected reward of every policy. A player who knows the reservoir and the drift, and sees the mean
of an arm from its first play on, can do all that a policy can, and more. Two bounds, of which the smaller counts:

**By the arm.** Let an arm cost a price for each play. If the price is so high that no arm is worth its first play,
whatever one does with it later, then all arms of a run together earn at most what they cost: T plays at that price. The
least such price is

    rho = the largest E[what an arm pays until it is left] / E[how often it is played],

over all rules when to leave it, after at least one play and at most T. With infinitely many arms that are alike it is
also what an informed player earns in the long run: the marginal value theorem (Charnov 1976), and Gittins' index of a
fresh arm. It is found by bisection; the best rule at a price is to go on as long as any number of further plays pays
more than it costs.

**By the search**, where no arm ever gets better: it earns at most what it would if it stayed as it is. Then an informed
player searches first and stays with the best arm seen, and the rule that looks one arm ahead is the best one: the
longer the search, the better the best, and the less time is left to make use of a better one. With n arms seen, X the
best of them, t = T - n rounds left and m the mean of a fresh arm, one more arm gains
g = (t - 1) E[(M - X)^+] - (X - m), and the value is m T + the sum over n of E[g^+].

Seasons: an arm pays at most until the end of its season and once more. A reservoir that changes: where fresh arms get
better, the price rises with them, and an arm that is not worth the price of its first round is not worth a higher one;
where they get worse, all arms are taken to be as good as those of the first round, which is generous.

The distribution of first means is cut into cells of equal ratio in P(mean > x), each with its own average: the mean of
a fresh arm is exact, and values are too low by some 1e-4 of the gap between them and the best mean.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Play, moved
from ..drifts import Crash, Drift, Fatigue, JumpAt, Rising, Rotting, Stages, Still, Turnover
from ..reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Reservoir, Trending, Uniform, factor_in
from ..specs import whole
from ..world import World
from .inputs import Floats

CELLS = 1000
RAREST = 1e-9
"""Of continuous reservoirs: so many cells, down to the best arm of so many."""

NODES = 2**16
"""On each half of [0, 1], where a density is summed up."""

HALVINGS = 30
"""Of the interval in which a price lies."""

SPANS = 20
"""In so many spans of rounds is a reservoir cut that gets better."""


def upper_value(world: World, horizon: int) -> float:
    """A number that no policy's expected reward over ``horizon`` rounds exceeds.

    Parameters
    ----------
    world
        Its reservoir must be one of the package's own, and its drift one that goes by an arm's own plays: `Still`,
        `Rotting` and `Rising` by a constant or a share, `Fatigue`, `JumpAt`, `Stages` of these, `Crash`; or `Turnover`.
        Noise and feedback do not matter: the bound is for a player who sees means at once.
    horizon
        T.

    Examples
    --------
    Of uniform means that stay as they are, one within 1 / sqrt(T) of the top is found after sqrt(T) arms on average.
    Each of them costs one half, and the one that is found as much again as all of them:

    >>> import manyarms as ma
    >>> from manyarms.measures import upper_value
    >>> round(upper_value(ma.World(ma.PowerLaw(beta=1.0)), 10_000))
    9901
    """
    rounds = whole("upper_value", "horizon", horizon, least=1)
    ends, laws = spans_of(world.reservoir, rounds)
    if isinstance(world.drift, Crash):  # its fresh means are those of a later round
        ends, laws = ends[-1:], laws[-1:]
    lengths = np.diff(ends, prepend=0)
    value = float(np.dot(lengths, [least_price(law, world.drift, rounds) for law in laws]))
    return min(value, search_value(laws[-1], rounds)) if never_rises(world.drift) else value


# ---------------------------------------------------------------- first means


class Law(NamedTuple):
    """How first means are distributed: in cells, by their averages, the lowest first."""

    means: Floats
    weights: Floats

    def times(self, factor: float) -> "Law":
        """With all means multiplied; they stop at 1."""
        return Law(np.minimum(factor * self.means, 1.0), self.weights)

    @property
    def mean(self) -> float:
        """Of a fresh arm."""
        return float(np.dot(self.means, self.weights))

    @property
    def variance(self) -> float:
        """Between fresh arms."""
        return float(np.dot((self.means - self.mean) ** 2, self.weights))


@functools.cache
def law_of(reservoir: Reservoir) -> Law:
    """The first means of a reservoir of the package.

    Examples
    --------
    >>> import manyarms as ma
    >>> round(law_of(ma.BetaDistributed(1.0, 49.0)).mean, 9)
    0.02
    """
    match reservoir:
        case PowerLaw(beta=beta, top=top):
            means, weights = _power_law(beta, 0.0, top)
        case Uniform(low=low, high=high):
            means, weights = _power_law(1.0, low, high)
        case BetaDistributed(a=a, b=b):
            means, weights = _beta(a, b)
        case Empirical(means=listed):
            means, counts = np.unique(listed, return_counts=True)
            weights = counts / len(listed)
        case Mixture(reservoirs=parts, weights=shares) if shares is not None:
            laws = [law_of(part) for part in parts]
            means = np.concatenate([law.means for law in laws])
            weights = np.concatenate([share * law.weights for share, law in zip(shares, laws, strict=True)])
        case _:
            raise ValueError(
                f"upper_value: the distribution of {reservoir.label()} is not known; take PowerLaw, Uniform, "
                "BetaDistributed, Empirical, a Mixture of them or one of these Trending"
            )
    order = np.argsort(means, kind="stable")
    return Law(means[order], weights[order])


def spans_of(reservoir: Reservoir, rounds: int) -> tuple[list[int], list[Law]]:
    """Spans of rounds by their ends, and for each the first means of the best arms drawn in it; the best come last."""
    if not isinstance(reservoir, Trending) or reservoir.factor <= 1.0:
        return [rounds], [law_of(reservoir.reservoir if isinstance(reservoir, Trending) else reservoir)]
    ends = np.unique(np.linspace(0, rounds, SPANS + 1).astype(np.int64))[1:].tolist()
    state, law = reservoir.start(), law_of(reservoir.reservoir)
    return ends, [law.times(factor_in(state, end)) for end in ends]


def _edges() -> Floats:
    """Shares of the best arms, from all of them to none, at which cells end."""
    rare = np.geomspace(0.5, RAREST, CELLS)
    return np.concatenate([[1.0], 1.0 - rare[::-4], rare[1:], [0.0]])


def _power_law(beta: float, low: float, top: float) -> tuple[Floats, Floats]:
    """Averages of low + (top - low) (1 - u^(1 / beta)) over cells of u."""
    edges, power = _edges(), 1.0 + 1.0 / beta
    weights = -np.diff(edges)
    return low + (top - low) * (1.0 + np.diff(edges**power) / power / weights), weights


def _beta(a: float, b: float) -> tuple[Floats, Floats]:
    """Averages of Beta(a, b) over cells, from its density at many points.

    Where the density is infinite at an end, x is a power of what runs evenly, so that what is summed up is not.
    """
    places = (np.arange(NODES) + 0.5) / NODES

    def half(near: float, far: float) -> tuple[Floats, Floats]:
        """Distances from an end, and the weights of what lies there."""
        bent = min(near, 1.0)
        x = 0.5 * places ** (1.0 / bent)
        logs = (near - bent) * np.log(x) + (far - 1.0) * np.log1p(-x)
        return x, logs - math.log(bent) - bent * math.log(2.0)

    (low, left), (high, right) = half(a, b), half(b, a)
    means = np.concatenate([low, 1.0 - high[::-1]])
    logs = np.concatenate([left, right[::-1]])
    masses = np.exp(logs - logs.max())
    masses /= masses.sum()
    better = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)  # how many are better than each
    cells = np.searchsorted(-_edges(), -better, side="left")
    weights, sums = (np.bincount(cells, each) for each in (masses, masses * means))
    filled: NDArray[np.bool_] = weights > 0.0
    return np.asarray(sums[filled] / weights[filled]), np.asarray(weights[filled], dtype=np.float64)


# ---------------------------------------------------------------- by the arm


def least_price(law: Law, drift: Drift, rounds: int) -> float:
    """The price of a play at which no arm is worth its first play: rho, by bisection."""
    low, high = law.mean, 1.0
    for _ in range(HALVINGS):
        price = 0.5 * (low + high)
        gain = law.means - price + further_gain(drift, law, price, rounds - 1)
        low, high = (price, high) if np.dot(gain, law.weights) > 0.0 else (low, price)
    return high


def further_gain(drift: Drift, law: Law, price: float, plays: int) -> Floats:
    """By first mean: the most that further plays of an arm, at most so many, can pay above their price."""
    above = np.maximum(law.means - price, 0.0)
    match drift:
        case Crash(probability=chance, to=float(level)) if chance > 0.0:
            kept = -math.expm1(plays * math.log1p(-chance)) / chance if chance < 1.0 else 1.0
            return (1.0 - chance) * kept * above + plays * max(level - price, 0.0)
        case Crash(probability=chance) if chance > 0.0:
            return _with_fresh_means(law, price, chance)
        case Still() | Crash():
            return plays * above
        case Turnover(length=length, to=level):
            return min(length, plays) * above + plays * max(level - price, 0.0)
    return _by_plays(drift, law, price, plays)


def _with_fresh_means(law: Law, price: float, chance: float) -> Floats:
    """Where an arm gets a new mean with some chance: W(x) = max(0, x - price + (1 - chance) W(x) + chance E[W])."""
    low, high = 0.0, price / chance
    for _ in range(2 * HALVINGS):  # E[W] is where this function of itself is
        middle = 0.5 * (low + high)
        found = np.dot(np.maximum(law.means - price + chance * middle, 0.0), law.weights) / chance
        low, high = (middle, high) if found > middle else (low, middle)
    going_on = np.maximum(law.means - price + chance * high, 0.0) / chance
    return (1.0 - chance) * going_on + chance * high


def _by_plays(drift: Drift, law: Law, price: float, plays: int) -> Floats:
    """Where a mean is known from the first one and the number of plays: the best of all numbers of further plays."""
    state, settled = drift.start(), settled_after(drift)
    means = law.means
    total: Floats = np.zeros_like(means)
    best: Floats = np.zeros_like(means)
    for played in range(plays):
        play = Play(round=1, arm=0, plays=played, mean=means, reward=0.0, key=0)  # type: ignore[arg-type]
        after: Floats = np.clip(moved(state, play, None)[1], 0.0, 1.0)
        total = total + after - price
        best = np.maximum(best, total)
        if played >= settled and (after <= means).all():
            if (after == means).all():  # for ever
                best = np.maximum(best, total + (plays - played - 1) * np.maximum(after - price, 0.0))
                break
            if (after <= price).all():
                break
        means = after
    return best


def settled_after(drift: Drift) -> int:
    """After so many plays of an arm the drift does the same at every play; an error if it never does."""
    match drift:
        case Still():
            return 0
        case Rotting(rate=rate) | Rising(rate=rate) if not isinstance(rate, str) or rate.endswith("%"):
            return 0
        case Fatigue(after=after):
            return after
        case JumpAt(play=play):
            return play
        case Stages(drifts=drifts, ends=ends):
            return max(ends[-1], *map(settled_after, drifts))
    raise ValueError(
        f"upper_value: {drift.label()} does not go by an arm's own plays; take Still, Rotting or Rising by a constant "
        "or a share, Fatigue, JumpAt, Stages of these, Crash or Turnover"
    )


def never_rises(drift: Drift) -> bool:
    """Whether no play makes an arm better."""
    match drift:
        case Still() | Rotting() | Fatigue() | Turnover():
            return True
        case JumpAt(size=size):
            return size <= 0.0
        case Crash(probability=chance, to=to):
            return to == 0.0 or chance == 0.0
        case Stages(drifts=drifts):
            return all(map(never_rises, drifts))
    return False


# ---------------------------------------------------------------- by the search


def search_value(law: Law, rounds: int) -> float:
    """What a player earns who sees the mean of an arm with its first play, where arms stay as they are."""
    values, tails = law.means, np.cumsum(law.weights[::-1])[::-1]  # P(M >= each)
    above = np.cumsum((law.weights * values)[::-1])[::-1] - values * tails  # E[(M - each)^+]
    # The logarithm of P(M < each); of the lowest it is minus infinity.
    logs = np.log1p(-np.minimum(tails, 1.0), where=tails < 1.0, out=np.full_like(tails, -np.inf))
    logs[0] = -np.inf

    def gain(seen: int) -> float:
        """What looking one arm ahead gains on average, where it is worth it."""
        below = np.exp(seen * logs)  # the best of those seen is less
        chances = np.append(below[1:], 1.0) - below
        return float(np.dot(np.maximum((rounds - seen - 1) * above - (values - law.mean), 0.0), chances))

    # One arm after another at first; then at growing distances, with straight lines between them: the gain is convex.
    nodes = np.unique(np.concatenate([np.arange(1, 200), np.geomspace(200, max(rounds, 201), 1000)]).astype(np.int64))
    nodes = np.append(nodes[nodes < rounds], rounds)
    gains = np.array([gain(int(seen)) for seen in nodes])
    steps = np.diff(nodes)
    summed = np.dot(steps, gains[:-1]) - np.dot((steps - 1) / 2.0, gains[:-1] - gains[1:])
    return float(law.mean * rounds + summed)
