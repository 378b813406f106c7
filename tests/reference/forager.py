"""Forager, from the six points of its description: objects and lists, and nothing remembered that can be found again.

Sums are taken in the order of the rule, those over a belief in eight lanes, so that the last bits are the same.
"""

import dataclasses
import functools
import itertools
import math

from manyarms.arithmetic import exponential, natural_log, power

from .twins import twin_of

POINTS, BELOW = 32, 18
EDGE, WIDEST, FINEST = 12.0, 0.5, 0.02
NOTHING = 1e-250

KINDS = ["still"] + ["resets"] * 5 + ["falls"] * 6 + ["rises"] * 2 + ["wanders"] * 3
RATES = [1e-6] + [3e-5 * 6.0**i for i in range(5)] + [2e-4 * 4.0**i for i in range(6)]
RATES += [1e-3 * 8.0**i for i in range(2)] + [1e-3 * 8.0**i for i in range(3)]
MODELS = list(zip(KINDS, RATES, strict=True))

# ---------------------------------------------------------------- sums


def added(values):
    """One after the other: the sum of the language itself corrects for what is lost."""
    total = 0.0
    for value in values:
        total += value
    return total


def in_lanes(values):
    """Every eighth of them, from each of the first eight on; then lanes four apart; and then these."""
    lanes = [added(values[lane::8]) for lane in range(8)]
    a, b, c, d = (low + high for low, high in zip(lanes[:4], lanes[4:], strict=True))
    return (a + b) + (c + d)


def pace(n):
    """The share of the n-th of n numbers with the weights i (i + 1): n (n + 1) / (n (n + 1) (n + 2) / 3)."""
    return 3.0 / (n + 2.0)


def pace_over(n, number):
    """The share of the last so many of n numbers: what m (m + 1) (m + 2) / 3 of those before them leave."""
    if number == 1:
        return pace(n)
    m = float(n - number)
    return 1.0 - m / n * ((m + 1.0) / (n + 1.0)) * ((m + 2.0) / (n + 2.0))


# ---------------------------------------------------------------- the grid


def mean_at(point):
    return 1.0 / (1.0 + exponential(-point))


class Grid:
    """Points around a centre, further and further apart, the first and the last at the edges."""

    def __init__(self, centre, spacing):
        self.centre, self.spacing = centre, spacing
        below = self.side(BELOW, -1.0)
        above = self.side(POINTS - 1 - BELOW, 1.0)
        self.points = [*reversed(below), centre, *above]
        self.means = [mean_at(point) for point in self.points]
        self.misses = [1.0 - mean for mean in self.means]
        self.logs = [-natural_log(1.0 + exponential(point)) for point in self.points]

    def side(self, count, side):
        """sinh(c j) / c spacings away, with the c that takes the last one to the edge; evenly, where that is finer."""
        distance = EDGE - side * self.centre

        def spacings(c, j):
            grown = exponential(c * j)
            return (grown - 1.0 / grown) / (2.0 * c)

        if count >= distance / self.spacing:
            return [self.centre + side * (distance / count * j) for j in range(1, count + 1)]
        low, high = 1e-6, 3.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            if spacings(middle, count) < distance / self.spacing:
                low = middle
            else:
                high = middle
        c = 0.5 * (low + high)
        return [self.centre + side * (self.spacing * spacings(c, j)) for j in range(1, count + 1)]

    def nearness(self, k):
        """1 / the distance from the point below, where there are both."""
        return 1.0 / (self.points[k] - self.points[k - 1]) if 0 < k < POINTS else 0.0

    def old_cell(self, k):
        """Half way to the neighbours, and as far beyond the first and the last."""
        below, above = max(k, 1), min(k, POINTS - 2)
        left = self.points[k] - 0.5 * (self.points[below] - self.points[below - 1])
        return left, self.points[k] + 0.5 * (self.points[above + 1] - self.points[above])

    def new_cell(self, k):
        """Half way to the neighbours, and all that lies beyond the first and the last."""
        left = 0.5 * (self.points[k - 1] + self.points[k]) if k > 0 else -math.inf
        return left, 0.5 * (self.points[k] + self.points[k + 1]) if k < POINTS - 1 else math.inf

    def mean(self, masses):
        return self.excess(masses, 0.0)

    def excess(self, masses, level):
        return in_lanes([mass * max(mean - level, 0.0) for mass, mean in zip(masses, self.means, strict=True)])

    def likelihood(self, total, plays, dispersion):
        """Of a sum of rewards; one in twenty is as noisy as a coin, if rewards are less noisy than that."""
        values = [total * point + plays * log for point, log in zip(self.points, self.logs, strict=True)]
        outliers = 0.05 * math.sqrt(dispersion) if dispersion < 1.0 else 0.0
        found = []
        for value in values:
            below = value - max(values)
            found.append(exponential(below / dispersion))
            if outliers > 0.0:
                found[-1] += outliers * exponential(below)
        return found

    def believed(self, masses, total, plays, dispersion):
        """The masses after so many plays with this total."""
        return self.updated(masses, self.likelihood(total, plays, dispersion), (0.0, 0.0, 0.0), 1, masses)[0]

    def updated(self, masses, likelihood, change, steps, source):
        """The masses after a likelihood and a change, and how likely that was; the source, if nothing is left."""
        resets, falls, rises = change
        weighed = [mass * one for mass, one in zip(masses, likelihood, strict=True)]
        total = in_lanes(weighed)
        if total < NOTHING:
            return list(source), NOTHING
        kept = 1.0 / total * (1.0 - resets)
        moved = self.moved(weighed, falls, rises)
        found = [kept * mass + resets * fresh for mass, fresh in zip(moved, source, strict=True)]
        for _ in range(steps - 1):
            found = self.moved(found, falls, rises)
        return found, total

    def moved(self, masses, falls, rises):
        """Part of every mass to the point below, and part to that above."""
        if falls == rises == 0.0:
            return masses
        falling = [min(falls * self.nearness(k), 0.45) for k in range(POINTS + 1)]
        rising = [min(rises * self.nearness(k + 1), 0.45) for k in range(-1, POINTS)]
        found = []
        for k, mass in enumerate(masses):
            fallen = falling[k + 1] * masses[k + 1] if k < POINTS - 1 else 0.0
            risen = rising[k] * masses[k - 1] if k > 0 else 0.0
            found.append((1.0 - falling[k] - rising[k + 1]) * mass + fallen + risen)
        return found


def carried_over(masses, old, new):
    """Every mass is spread evenly over its cell, and falls into the new cells that lie there."""
    found = [0.0] * POINTS
    for k, mass in enumerate(masses):
        start, end = old.old_cell(k)
        for j in range(POINTS):
            left, right = new.new_cell(j)
            left, right = max(left, start), min(right, end)
            if right > left:
                found[j] += mass * (right - left) / (end - start)
    return found


# ---------------------------------------------------------------- models of change


def change_of(kind, rate):
    """Resets, falls, rises."""
    match kind:
        case "still" | "resets":
            return rate, 0.0, 0.0
        case "falls":
            return 1e-6, rate, 0.0
        case "rises":
            return 1e-6, 0.0, rate
        case "wanders":
            return 1e-6, 0.5 * rate, 0.5 * rate
    raise NotImplementedError(kind)


def in_plays(grid, change, plays):
    """The change of so many plays at once, and in how many steps: half a spacing in one, if twelve will do."""
    resets, falls, rises = change
    steps = min(int((falls + rises) * plays / grid.spacing * 2.0) + 1, 12)
    more = resets * (plays - 1.0)
    return ((resets + more) / (1.0 + more), falls * (plays / steps), rises * (plays / steps)), steps


class Watched:
    """An arm that all models predict, group by group."""

    def __init__(self, arm, masses, nothing):
        self.arm = arm
        self.total = self.plays = 0.0
        self.nothing = nothing
        self.calm = 1e9
        self.masses = [list(masses) for _ in MODELS]

    def is_group_over(self):
        return self.plays >= self.arm.plays / 16.0 or self.plays >= self.calm / 2.0


class Watch:
    """The evidence for each model, and four places for watched arms."""

    def __init__(self):
        self.evidence = [0.0] * len(MODELS)
        self.overall = [0.0] * len(MODELS)
        self.places = [None] * 4
        self.groups = 0
        self.believe()

    def place_of(self, arm):
        return next((one for one in self.places if one is not None and one.arm is arm), None)

    def stop(self, arm):
        self.places = [None if one is not None and one.arm is arm else one for one in self.places]

    def start(self, arm, masses, nothing=0.0):
        """In the first place that nobody has, or in that of the arm with the least mean, the first of several."""
        if None in self.places:
            place = self.places.index(None)
        else:
            means = [one.arm.mean for one in self.places]
            place = means.index(min(means))
        self.places[place] = Watched(arm, masses, nothing)

    def fade(self, share):
        self.evidence = [one * max(1.0 - share, 0.0) for one in self.evidence]
        self.overall = [one * max(1.0 - 0.25 * share, 0.0) for one in self.overall]

    def weigh(self, one, grid, reservoir, likelihood):
        """Credit all models for a group of plays, and let each move on by so many."""
        for model, (kind, rate) in enumerate(MODELS):
            change, steps = in_plays(grid, change_of(kind, rate), one.plays)
            one.masses[model], total = grid.updated(one.masses[model], likelihood, change, steps, reservoir)
            self.evidence[model] += natural_log(total)
            self.overall[model] += natural_log(total)
        one.total = one.plays = 0.0
        self.groups += 1

    def believe(self):
        """The model with the most evidence, of which a change has 4 less; the first of several."""
        worth = [self.evidence[0]] + [one - 4.0 for one in self.evidence[1:]]
        self.model = worth.index(max(worth))
        kind, rate = MODELS[self.model]
        self.change = change_of(kind, rate * self.factor(self.model))

    def factor(self, model):
        """To the top of the parabola through the evidence of a model and of its neighbours, if both are of its kind."""
        neighbours = [self.kind_of(model - 1), self.kind_of(model + 1)]
        if neighbours != [self.kind_of(model)] * 2:
            return 1.0
        below, above = (self.evidence[other] - self.evidence[model] for other in (model - 1, model + 1))
        away = 0.5 * (below - above) / (below + above - 1e-9)
        return exponential(max(min(away, 0.5), -0.5) * natural_log(MODELS[model + 1][1] / MODELS[model][1]))

    def kind_of(self, model):
        return MODELS[model][0] if 0 <= model < len(MODELS) else None

    def is_affordable(self, rounds, every):
        return self.groups < 2000 + rounds / every


# ---------------------------------------------------------------- late answers


class Lateness:
    """All late answers by their age, alike up to a power of two: what those of that age and older paid and promised."""

    def __init__(self):
        self.paid, self.expected = [0.0] * 40, [0.0] * 40

    def add(self, age, reward, expected, number):
        for k in range(min(age.bit_length(), 39) + 1):
            self.paid[k] += number * (number + 1.0) * reward
            self.expected[k] += number * (number + 1.0) * expected

    def share(self, age, number):
        """What answers of that age and older paid, over what was expected; as if four more had paid just that."""
        if self.expected[0] <= 0.0:
            return 1.0
        usual = between(self.expected, age) * self.paid[0] / self.expected[0]
        doubt = 4.0 * number * (number + 1.0)
        return min((between(self.paid, age) + doubt) / (usual + doubt), 1.0)


def between(sums, age):
    """At an age between two powers of two."""
    k = int(age).bit_length()
    if k >= 39:
        return sums[39]
    start, end = (0.0, 1.0) if k == 0 else (2.0 ** (k - 1), 2.0**k)
    return sums[k] + (age - start) / (end - start) * (sums[k + 1] - sums[k])


class OpenAsks:
    """The rounds of the open asks of an arm, in six groups by age, the newest first."""

    def __init__(self):
        self.groups = [[] for _ in range(6)]

    def __len__(self):
        return sum(map(len, self.groups))

    def add(self, round):
        """Alone in the first group; the one that was there and those after it move on, until one is empty or joined."""
        groups = self.groups
        if groups[0]:
            place = 1
            while place < 5 and groups[place] and age(groups[place], round) > 3.0 * age(groups[place - 1], round):
                place += 1
            joined = groups[place - 1] + groups[place]
            groups = [[], *groups[: place - 1], joined, *groups[place + 1 :]]
        self.groups = [[round], *groups[1:]]

    def remove(self, round):
        next(group for group in self.groups if round in group).remove(round)

    def nothing(self, lateness, now, number):
        """So many are thought to pay nothing, by the ages of the groups."""
        return added(len(group) * (1.0 - lateness.share(age(group, now), number)) for group in self.groups if group)


def age(group, now):
    return now - sum(group) / len(group)


# ---------------------------------------------------------------- the reservoir


class Reservoir:
    """What arms are: learned from arms, but for one that may be better than all, or of a kind that was never seen."""

    def __init__(self, grid):
        self.grid = grid
        self.learned = [1.0 / POINTS] * POINTS
        self.judged = self.said = 4.0
        self.blur = 0.05  # of what there is to hope for

    @property
    def masses(self):
        """What an arm is believed to be."""
        return self.spread(0.05)

    def spread(self, blur):
        """What was learned, some of it at either neighbour, and one arm more."""
        unseen = 1.0 / (self.judged + 1.0)
        padded = [self.learned[0], *self.learned, self.learned[-1]]
        found = []
        for below, mass, above in zip(padded, self.learned, padded[2:], strict=False):
            found.append((1.0 - unseen) * ((1.0 - 2.0 * blur) * mass + blur * (below + above)))
        return [mass + more for mass, more in zip(found, self.unseen(unseen), strict=True)]

    def unseen(self, share):
        """One arm more: its log-odds are larger by 4, or by ten times as much as the best tenth of arms differ."""
        strange = share * 30.0 / (self.said + 30.0)
        points, found = self.grid.points, [0.0] * POINTS
        for part, luck in ((strange, 4.0), (share - strange, min(10.0 * self.differ(), 4.0))):
            for point, mass in zip(points, self.learned, strict=True):
                higher = min(point + luck, points[-1])
                above = next(k for k in range(POINTS) if points[k] >= higher)
                lower = (points[above] - higher) * self.grid.nearness(above)
                found[above] += part * mass * (1.0 - lower)
                found[max(above - 1, 0)] += part * mass * lower
        return found

    def differ(self):
        """By how much log-odds of the best tenth of arms exceed the least of them."""
        share = total = 0.0
        for point, mass in sorted(zip(self.grid.points, self.learned, strict=True), reverse=True):
            taken = min(mass, 0.1 - share)
            share, total = share + taken, total + taken * point
            if share >= 0.1:
                break
        return total / share - point

    def above(self, level):
        """The mass above a level, and the same times means; from the top down."""
        pairs = zip(self.spread(self.blur), self.grid.means, strict=True)
        parts = [(mass, mass * mean) for mass, mean in pairs if mean > level]
        return tuple(added([part[which] for part in reversed(parts)]) for which in (0, 1))

    def mean(self):
        return self.mean_above(-1.0)

    def excess(self, level):
        share, reward = self.above(level)
        return max(reward - level * share, 0.0)

    def mean_above(self, level):
        share, reward = self.above(level)
        return reward / share if share > 1e-12 else self.grid.means[-1]

    def learn(self, arm, dispersion, others=(), nothing=0.0):
        """A step for the arm in place of that before; and shares of one for others."""
        is_first = arm.known_plays == 0
        judged = self.judged + 1.0 if is_first else self.judged
        step = min(max(power(judged, -0.7), 1.0 / self.said), 0.3)
        moved = list(self.learned)
        now = self.masses
        if not is_first:
            self.step(moved, now, arm, -step, dispersion)
        arm.known_plays, arm.known_total = arm.plays + nothing, arm.total
        apart = self.step(moved, now, arm, step, dispersion)
        for other, share in others:
            self.step(moved, now, other, min(step, 0.3 / 8) * share, dispersion)
        if is_first:
            self.said += min(apart, 1.0)
        total = added([max(mass, 0.0) for mass in moved])
        self.learned, self.judged = [max(mass, 0.0) / total for mass in moved], judged

    def step(self, moved, now, arm, step, dispersion):
        """Part of the way from what arms are to what this one is, and how far that is in all."""
        belief = self.grid.believed(now, arm.known_total, arm.known_plays, dispersion)
        away = [new - old for old, new in zip(now, belief, strict=True)]
        moved[:] = [mass + step * one for mass, one in zip(moved, away, strict=True)]
        return added([one * one / (old + 1e-9) for old, one in zip(now, away, strict=True)])


class Memory:
    """At most 256 arms."""

    def __init__(self):
        self.arms = []
        self.newest, self.turn, self.replayed = -1, 0, 0

    def make_place_for(self, arm):
        """Remember it, if there are 256 in place of the oldest that was let go, or else of the oldest."""
        after = [(self.newest + i) % 256 for i in range(1, 257)]
        free = [place for place in after if place >= len(self.arms) or not self.arms[place].is_held]
        self.newest = (free or after)[0]
        self.arms[self.newest : self.newest + 1] = [arm]

    def in_turn(self, number, known, seen):
        """So many of those known before, each with its share: one that is still held is one of all that were seen."""
        found = []
        for _ in range(number):
            arm = self.arms[self.turn]
            found.append((arm, known / seen if arm.is_held else 1.0))
            self.turn = self.turn + 1 if self.turn + 1 < known else 0
        self.replayed += number
        return found


# ---------------------------------------------------------------- the policy


class Stretch:
    """Rewards of an arm that wait to be judged together, each with half its squared difference from the one before."""

    def __init__(self, arm, calm=0):
        self.arm, self.calm = arm, calm
        self.left = 0
        self.seen = []
        self.doubt = self.miss = self.gain = 0.0

    def plan(self, most, dispersion):
        """A 32nd of the arm's plays, half of those that were calm, none beyond its next look; but at least 4."""
        left = min(self.arm.plays // 32, self.calm // 2, most)
        if left >= 4:
            miss = natural_log((1.0 - 0.5 * self.arm.mean) / (1.0 - self.arm.mean))
            self.left, self.miss, self.gain = left, miss / dispersion, (math.log(0.5) - miss) / dispersion

    def add(self, reward, square, is_coin):
        """Evidence for half the mean since one of these plays, against the mean; no more of them if it is 3."""
        self.seen.append((reward, square))
        self.doubt = max(self.doubt + self.miss + self.gain * reward, 0.0)
        self.left -= 1
        if self.doubt >= 3.0 or (is_coin and reward not in (0.0, 1.0)):
            self.left = 0

    def judged(self, arm, more):
        """The next one, of this arm or another."""
        goes_on = arm is self.arm and self.doubt < 3.0
        return Stretch(arm, (self.calm + len(self.seen) if goes_on else 0) + more)


class Arm:
    def __init__(self, number, reservoir):
        self.number = number
        self.masses = reservoir.masses
        self.mean = reservoir.mean()
        self.plays = 0
        self.asks = OpenAsks()
        self.nothing = 0.0  # so many of these are in its masses as plays that paid nothing
        self.total = self.last = 0.0  # the total is of its looks alone
        self.look = 8
        self.is_held = True
        self.known_plays, self.known_total = 0.0, 0.0
        self.believed, self.promise = self.mean, None


class Forager:
    """``arm`` is the next one to play; ``told`` takes the reward of any that was ever asked for."""

    def __init__(self, keep, most, stock=None):
        self.keep, self.most = keep, most
        self.stock = math.inf if stock is None else stock
        self.grid = Grid(0.0, WIDEST)
        self.watch = Watch()
        self.reservoir = Reservoir(self.grid)
        self.memory = Memory()
        self.lateness = Lateness()
        self.round = 0  # of the last ask that was left open
        self.presumed = {}  # round of an open ask -> what was expected of it, and whether that was good enough
        self.rounds = 0
        self.average = self.kept = self.kept_reward = self.stay = 0.0
        self.is_coin, self.squares, self.scale = True, 0.25, 0.25
        self.regrid = 20
        self.redrawn = self.evicted = 0  # of interest to tests
        self.arms = []
        self.drawn = 0
        self.leaders = {"believed": None, "promise": None}
        self.promised = -1.0  # the target when all promises were computed
        self.changed = None  # the arm whose promise is to be computed
        self.stretch = Stretch(None)
        self.stretches = self.alarms = 0  # of interest to tests
        self.aim()
        self.arm = self.fresh(0)

    # What is known of all plays.

    def aim(self):
        """The average, and what is better; kept plays must have earned the one before the other will do."""
        self.better = self.reservoir.mean_above(self.average)
        earned = self.kept_reward / self.kept if self.kept > 1e-9 else 0.0
        self.is_content = earned >= self.better
        self.target = self.average if self.is_content else self.better

    def dispersion(self):
        """At least what the grid can show."""
        if self.is_coin:
            return 1.0
        return min(max(self.squares / self.scale, 0.25 * self.grid.spacing * self.grid.spacing, 1e-4), 1.0)

    def change(self):
        """What is believed; and one reset in as many rounds as these is possible."""
        resets, falls, rises = self.watch.change
        return max(resets, 1.0 / (self.rounds + 10.0)), falls, rises

    def experienced(self, seen, is_kept, plays):
        number = len(seen)
        self.rounds += number
        step = pace_over(self.rounds, number)
        reward = added([one for one, _ in seen]) / number
        kept = 1.0 if is_kept else 0.0
        self.average += step * (reward - self.average)
        self.kept += step * (kept - self.kept)
        self.kept_reward += step * (kept * reward - self.kept_reward)
        self.stay += step * (plays + 0.5 * (number - 1) - self.stay)

    def differed(self, arm, seen):
        """By so much do two rewards in a row of an arm differ."""
        self.is_coin = self.is_coin and all(reward in (0.0, 1.0) for reward, _ in seen)
        if not self.is_coin and arm.plays > 0:
            left = 1.0 - pace_over(self.rounds, len(seen))
            self.squares = self.squares * left + added([square for _, square in seen])
            self.scale = self.scale * left + len(seen) * max(arm.mean * (1.0 - arm.mean), 1e-6)

    # One arm.

    def likelihood_of(self, reward, plays, dispersion):
        """Of one reward: that of a coin, unless rewards are something else, or open asks come to nothing with it."""
        if self.is_coin and plays == 1.0:
            return self.grid.means if reward == 1.0 else self.grid.misses
        return self.grid.likelihood(reward, plays, dispersion)

    def filter(self, arm, seen, dispersion):
        total, plays = added([reward for reward, _ in seen]), float(len(seen))
        if self.round > 0:
            plays = max(plays + self.nothing_since(arm), total, 0.0)
        arm.nothing += plays - len(seen)
        likelihood = self.likelihood_of(total, plays, dispersion)
        change, steps = self.change(), 1
        if len(seen) > 1:
            change, steps = in_plays(self.grid, change, float(len(seen)))
        arm.masses, _ = self.grid.updated(arm.masses, likelihood, change, steps, self.reservoir.masses)
        arm.mean = self.grid.mean(arm.masses)

    def nothing_since(self, arm):
        """So many of its open asks have come to nothing, beyond those that are in its masses."""
        return arm.asks.nothing(self.lateness, self.round, self.rounds) - arm.nothing

    def grow_old(self, arm):
        nothing = self.nothing_since(arm)
        if nothing > 0.0:
            arm.masses = self.grid.believed(arm.masses, 0.0, nothing, self.dispersion())
            arm.mean = self.grid.mean(arm.masses)
            arm.nothing += nothing

    def changed_by(self, masses, plays):
        """Masses after so many plays of which nothing is known."""
        (resets, falls, rises), steps = in_plays(self.grid, self.watch.change, float(plays))
        for _ in range(steps):
            masses = self.grid.moved(masses, falls, rises)
        return [mass + resets * (fresh - mass) for mass, fresh in zip(masses, self.reservoir.masses, strict=True)]

    def with_asks(self, arm):
        """Its masses, with its open asks as plays that pay what it is worth, but those that came to nothing."""
        if not arm.asks:
            return arm.masses
        paying = max(len(arm.asks) - arm.nothing, 0.0)
        masses = self.grid.believed(arm.masses, paying * arm.mean, paying, self.dispersion())
        return self.changed_by(masses, len(arm.asks))

    def believe_anew(self, arm):
        """By what the reservoir is now, if all its rewards are known."""
        if arm.plays > arm.look:
            return
        masses = self.grid.believed(self.reservoir.masses, arm.total, arm.plays + arm.nothing, self.dispersion())
        arm.masses = self.changed_by(masses, arm.plays) if arm.plays > 0 else masses
        arm.mean = self.grid.mean(arm.masses)

    def is_beyond_credit(self, arm):
        return len(arm.asks) > 4 * arm.plays

    def value(self, arm):
        arm.believed = self.grid.mean(self.with_asks(arm)) if arm.asks else arm.mean
        if self.is_beyond_credit(arm):
            arm.believed -= 1.0

    def appraise(self, arm):
        arm.promise = self.grid.excess(self.with_asks(arm), self.target)
        if self.is_beyond_credit(arm):
            arm.promise = -1.0

    def is_left(self, arm):
        if arm.mean >= self.target or arm.asks:
            return False
        return self.grid.excess(arm.masses, self.target) < self.reservoir.excess(self.target)

    def see(self, arm, seen, mean, dispersion):
        """Let the models see rewards, if the arm is watched. A single one that surprises ends the group before it."""
        one = self.watch.place_of(arm)
        if one is None:
            return
        groups = self.watch.groups
        total = added([reward for reward, _ in seen])
        is_affordable = self.watch.is_affordable(self.rounds, 4.0 + self.stay / 32.0)
        is_surprise = self.watch.is_affordable(self.rounds, 256.0) and len(seen) == 1
        is_surprise = is_surprise and (total - mean) * (total - mean) > 4.0 * dispersion * mean * (1.0 - mean)
        if is_surprise and one.plays > 0.0:
            self.end_group(one, dispersion)
        one.calm = 1.0 if is_surprise else one.calm + len(seen)
        one.total += total
        one.plays += len(seen)
        if arm.mean < self.target or (is_affordable and one.is_group_over()):
            self.end_group(one, dispersion)
        if self.watch.groups > groups:
            self.watch.believe()

    def end_group(self, one, dispersion):
        self.watch.fade(one.plays * pace(self.rounds))
        nothing = one.arm.nothing
        one.plays, one.nothing = max(one.plays + nothing - one.nothing, one.total, 0.0), nothing
        likelihood = self.grid.likelihood(one.total, one.plays, dispersion)
        if (one.plays, dispersion) == (1.0, 1.0) and one.total in (0.0, 1.0):
            likelihood = self.grid.means if one.total == 1.0 else self.grid.misses
        self.watch.weigh(one, self.grid, self.reservoir.masses, likelihood)

    def look(self, arm, dispersion):
        """Learn of an arm at its looks, and when it is first left."""
        is_due = arm.plays == arm.look
        breaks = MODELS[self.watch.model][0] == "resets" and self.round == 0
        is_asked_when_left = breaks or arm.known_plays == 0
        if arm.plays > arm.look or not (is_due or (is_asked_when_left and self.is_left(arm))):
            return
        resets, falls, rises = self.change()
        is_slow = breaks or 4 * arm.plays * (resets + falls + rises) < 0.25
        has_broken = arm.known_plays > 0 and not is_due
        arm.look = 4 * arm.plays if is_slow and not has_broken else arm.plays
        self.learn(arm, dispersion)

    def learn(self, arm, dispersion):
        """Unless it is forgotten; with 8 others, if so many steps more are affordable."""
        known, memory = len(self.memory.arms), self.memory
        is_first = arm.known_plays == 0
        if is_first:
            memory.make_place_for(arm)
        elif arm not in memory.arms:
            return
        number = min(8, known) if memory.replayed < 4000 + self.rounds / 2 else 0
        seen = self.reservoir.judged + (1.0 if is_first else 0.0) - 4.0
        self.reservoir.blur = 0.0 if self.watch.model == 0 else 0.05  # the first model: arms do not change
        self.reservoir.learn(arm, dispersion, memory.in_turn(number, known, seen), arm.nothing)

    # The grid.

    def redraw(self):
        """Around what is better, as fine as arms are known; if that is another grid than this one."""
        if self.rounds < self.regrid:
            return
        self.regrid = int(self.rounds * 1.1) + 1
        old = self.grid
        better = min(max(self.better, mean_at(1.0 - EDGE)), mean_at(EDGE - 1.0))
        spacing = math.sqrt(self.dispersion() / ((self.stay + 1.0) * better * (1.0 - better)))
        spacing = min(max(spacing, FINEST), WIDEST)
        centre = natural_log(better / (1.0 - better))
        is_fine = old.spacing / 1.4 <= spacing <= old.spacing * 1.4
        if not is_fine or abs(centre - old.centre) > 3.0 * old.spacing:
            self.grid = self.reservoir.grid = Grid(centre, spacing)
            self.carry_over(old)
            self.redrawn += 1
        elif self.round == 0:
            return
        for arm in self.arms:
            if self.round > 0:
                self.believe_anew(arm)
            self.value(arm)
        self.promised = -1.0

    def carry_over(self, old):
        self.reservoir.learned = carried_over(self.reservoir.learned, old, self.grid)
        for arm in self.arms:
            arm.masses = carried_over(arm.masses, old, self.grid)
            arm.mean = self.grid.mean(arm.masses)
        for one in self.watch.places:
            if one is not None:
                one.masses = [carried_over(masses, old, self.grid) for masses in one.masses]

    # Which arm.

    def lead(self, name):
        """The arm with the most. Who leads stays until another has more; then it is the first of them."""
        values = [getattr(arm, name) for arm in self.arms]
        leader = self.leaders[name]
        if leader not in self.arms or getattr(leader, name) < max(values):
            self.leaders[name] = self.arms[values.index(max(values))]

    def promise(self):
        """Of the arm that has changed."""
        if self.changed is not None:
            self.appraise(self.changed)
            self.changed = None
            self.lead("promise")

    def promise_all(self):
        """If the target has moved by half a spacing since that was done."""
        if abs(self.target - self.promised) <= 0.5 * self.grid.spacing * self.target * (1.0 - self.target):
            self.promise()
            return
        for arm in self.arms:
            self.appraise(arm)
        self.changed, self.promised = None, self.target
        self.lead("promise")

    def note(self, changed):
        """An arm is worth something else now."""
        if self.changed is not changed:
            self.promise()
        self.changed = changed
        self.value(changed)
        self.lead("believed")

    def decide(self, changed):
        self.note(changed)
        self.aim()
        self.arm = self.next_arm()

    def next_arm(self):
        best = self.leaders["believed"]
        if best.believed > self.target or (best.believed == self.target and not best.asks):
            return best
        self.promise_all()
        hopeful = self.leaders["promise"]
        place = None
        has_fresh = self.drawn < self.stock
        if has_fresh and hopeful.promise <= self.reservoir.excess(self.target):
            if self.arm is not None and self.arm.plays == 0 and not self.arm.asks:
                return self.arm  # it was drawn, and nobody has asked for it yet
            place = self.free_place()
        if place is not None:
            return self.fresh(place)
        if hopeful.promise < 0.0:
            return best
        return hopeful if has_fresh or self.is_worth_a_try(hopeful, best) else best

    def is_worth_a_try(self, hopeful, best):
        """Whether what it may find, had for as many plays as arms have behind them, exceeds what the try costs."""
        # Beyond its credit, an arm is believed to be worth 1 less than it is.
        worth = {arm: arm.believed + (arm.believed < 0.0) for arm in (hopeful, best)}
        return hopeful.promise * self.stay > worth[best] - worth[hopeful]

    def free_place(self):
        """One more; or that of the arm with the least mean that has no open asks, the first of several; else None."""
        if len(self.arms) < self.keep:
            return len(self.arms)
        known = [arm for arm in self.arms if not arm.asks]
        if known:
            return self.arms.index(min(known, key=lambda arm: arm.mean))
        return len(self.arms) if len(self.arms) < self.most else None

    def fresh(self, place):
        arm = Arm(self.drawn, self.reservoir)
        if place < len(self.arms):
            self.watch.stop(self.arms[place])
            self.arms[place].is_held = False
            self.succeed(self.arms[place], arm)
            self.evicted += 1
        else:
            self.arms.append(arm)
        self.watch.fade(1.0 / (self.drawn + 3.0))
        self.drawn += 1
        self.changed = arm
        self.watch.believe()
        self.lead("believed")
        return arm

    def succeed(self, gone, arm):
        """In its place, also where it led: until another has more."""
        self.arms[self.arms.index(gone)] = arm
        for name, leader in self.leaders.items():
            self.leaders[name] = arm if leader is gone else leader

    # What it hears.

    def named(self, number):
        return next(arm for arm in self.arms if arm.number == number)

    def told(self, number, reward):
        arm = self.named(number)
        seen = self.seen(arm, reward)
        stretch = self.stretch
        if stretch.left > 0 and arm is stretch.arm:
            stretch.add(*seen[0], self.is_coin)
            if stretch.left > 0:
                return
            seen = []
        self.hear(arm, seen, arm.believed >= self.target)
        if self.arm is self.stretch.arm and self.round == 0:
            most = arm.look - arm.plays if arm.plays < arm.look else arm.plays
            self.stretch.plan(most, self.dispersion())
            self.stretches += self.stretch.left > 0

    def seen(self, arm, reward):
        """A reward, and half its squared difference from the one before."""
        square = 0.5 * (reward - arm.last) * (reward - arm.last)
        arm.last = reward
        return [(reward, square)]

    def hear(self, arm, seen, is_kept):
        """What is left of a stretch, and then this; and decide."""
        stretch = self.stretch
        was_kept = stretch.arm is not None and stretch.arm.believed >= self.target
        self.alarms += stretch.doubt >= 3.0
        if stretch.seen and stretch.arm in self.arms:
            self.take_in(stretch.arm, stretch.seen, was_kept)
        if seen:
            self.take_in(arm, seen, is_kept)
        self.stretch = stretch.judged(arm, len(seen))
        self.aim()
        self.arm = self.next_arm()

    def take_in(self, arm, seen, is_kept):
        mean = arm.mean
        if self.watch.is_affordable(self.rounds, 4.0 + self.stay / 32.0):
            if arm.plays == 0:
                self.watch.start(arm, self.reservoir.masses)
            elif (is_kept or (self.round > 0 and arm.plays >= 64)) and self.watch.place_of(arm) is None:
                self.watch.start(arm, arm.masses, arm.nothing)
        self.experienced(seen, is_kept, arm.plays)
        self.differed(arm, seen)
        dispersion = self.dispersion()
        self.filter(arm, seen, dispersion)
        if arm.plays < arm.look:
            arm.total += added([reward for reward, _ in seen])
        arm.plays += len(seen)
        self.see(arm, seen, mean, dispersion)
        self.look(arm, dispersion)
        self.redraw()
        self.note(arm)

    def opened(self, number, round):
        arm = self.named(number)
        expected = arm.believed if arm.believed >= 0.0 else arm.believed + 1.0
        self.presumed[round] = expected, expected >= self.target
        arm.asks.add(round)
        self.round = round
        self.stretch.left = 0
        self.grow_old(arm)
        self.decide(arm)

    def settled(self, number, round, reward):
        arm = self.named(number)
        expected, is_kept = self.presumed.pop(round)
        self.lateness.add(self.round - round, reward, expected, self.rounds + 1)
        arm.asks.remove(round)
        self.hear(arm, self.seen(arm, reward), is_kept)

    def lost(self, number, round):
        arm = self.named(number)
        arm.asks.remove(round)
        self.decide(arm)


def forager(counts, **settings):
    """As the other twins: yields the arm and its probability, and takes what it hears."""
    counts.blocks += 1
    twin = Forager(**settings)
    for _ in itertools.count():
        counts.arms = twin.drawn
        heard = yield twin.arm.number, 1.0
        match heard.what:
            case "told":
                twin.told(heard.ask.arm, heard.reward)
            case "open":
                twin.opened(heard.ask.arm, heard.ask.round)
            case "settled":
                twin.settled(heard.ask.arm, heard.ask.round, heard.reward)
            case "lost":
                twin.lost(heard.ask.arm, heard.ask.round)


@twin_of("Forager")
def new_forager(spec, setting):
    return functools.partial(forager, **dataclasses.asdict(spec))
