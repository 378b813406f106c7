"""Forager, from the eight points of its description. Losses are 1 - reward.

Every arm is the list of its losses, each with the average loss before it, and every average, stake and impression is
computed anew from the lists. Averages and stakes are taken step by step, so that the last bits are those of the rule.
"""

import dataclasses
import fractions
import functools
import itertools
import math

from manyarms.arithmetic import exponential, log_gamma, natural_log

from .dense import first_of_the_largest, shortened
from .twins import twin_of


def average(values):
    """With weights i (i + 1): the n-th value has the share n (n + 1) / (n (n + 1) (n + 2) / 3) = 3 / (n + 2)."""
    result = 0.0
    for n, value in enumerate(values, start=1):
        result += 3.0 / (n + 2.0) * (value - result)
    return result


def weight_of_all(n):
    """The sum of n weights when the newest is 1; the reciprocal of the share of the newest."""
    return 1.0 / (3.0 / (n + 2.0)) if n > 0 else 0.0


@functools.cache
def squared_weights(n):
    """The sum of the squares of n weights, when their sum is 1."""
    weights = [i * (i + 1) for i in range(1, n + 1)]
    return float(fractions.Fraction(sum(w * w for w in weights), sum(weights) ** 2))


def variance(losses):
    mean = average(losses)
    return max(average([x * x for x in losses]) - mean * mean, 0.0)


class Past:
    """All rounds up to one: for each the loss, the plays of its arm up to then, and whether it was search."""

    def __init__(self, rounds):
        losses = [loss for loss, _, _ in rounds]
        self.loss = average(losses)
        self.stay = average([plays for _, plays, _ in rounds])
        self.search = average([loss if is_search else 0.0 for loss, _, is_search in rounds])
        self.firsts = [loss for loss, plays, _ in rounds if plays == 1.0]
        # One round of loss 1/2 and one of variance 1/4 beside those remembered, and one draw of loss 1.
        remembered = weight_of_all(len(rounds))
        draws = weight_of_all(len(self.firsts))
        of_all = (remembered * self.loss + 0.5) / (remembered + 1.0)
        self.of_fresh_arms = (draws * average(self.firsts) + 1.0) / (draws + 1.0)
        self.level = min(of_all, self.of_fresh_arms)
        self.variance = (remembered * variance(losses) + 0.25) / (remembered + 1.0)

    def is_search(self, plays):
        """Until an arm has lost (or won) about once, but at most for a quarter of the plays that arms have."""
        spread = self.level * (1.0 - self.level)
        return plays * spread < 1.0 and plays < max(self.stay / 4.0, 1.0)


class Arm:
    def __init__(self, number):
        self.number = number
        self.losses = []  # pairs: the loss, and the average loss of all plays before it
        self.bound = -math.inf  # as of its last play
        self.is_judged = False

    def look(self):
        """The plain average of its losses."""
        result = 0.0
        for n, (loss, _) in enumerate(self.losses, start=1):
            result += (loss - result) / n
        return result

    def stake(self, share):
        """It wins and loses this share of itself with a loss, and begins anew when it is below 1."""
        result = 1.0
        for loss, level in self.losses:
            result = max(result, 1.0) * (1.0 + share * (loss / level - 1.0))
        return result

    def evidence(self):
        return (self.stake(1 / 2) + self.stake(1 / 10) + self.stake(1 / 50)) / 3.0


def verdict(past, look, plays, e):
    """How probably an arm is below the average loss L, and the mean of its loss over L there (0 elsewhere).

    With n = plays L / variance, a Poisson variable of mean n x counts the losses of an arm of loss x. The prior
    x^(e - 1) and the count n look make x gamma distributed, with the shape a = n look + e; L is at y = n L.
    """
    level = past.level
    if level <= 0.0:
        return None
    n = plays * level / past.variance
    y = n * level
    a = n * max(look, 0.0) + e
    apart = 5.0 * math.sqrt(a) + 5.0
    if y >= 10_000.0:  # as good as certain
        return (1.0, a / y) if a <= y else None
    if a > y + apart:
        return None
    if a <= y - apart:
        return 1.0, a / y
    # P(a, y) = y^a exp(-y) / gamma(a + 1) (1 + y / (a + 1) + y^2 / ((a + 1) (a + 2)) + …)
    terms = [1.0]
    total = 1.0
    while terms[-1] > 1e-6 * total:
        terms.append(terms[-1] * (y / (a + len(terms))))
        total += terms[-1]
    front = exponential(a * natural_log(y) - y - log_gamma(a + 1.0))
    below = min(front * total, 1.0)
    return below, min(a / y * front * (total - 1.0), below)


def faded(verdicts):
    """The arms that were better than the average, and their losses over it; the older fade beyond 100 arms."""
    arms, losses = 1.0, 0.5
    for below, part in verdicts:
        kept = min(100.0 / (arms + below), 1.0)
        arms, losses = kept * (arms + below), kept * (losses + part)
    return arms, losses


class Forager:
    """``arm`` is the next one to play; ``told`` takes the reward of any that was ever asked for."""

    def __init__(self, keep, slack, first_look, false_alarms, wary):
        self.slack, self.first_look, self.false_alarms, self.wary = slack, first_look, false_alarms, wary
        self.rounds = []  # the loss, the plays of the arm, whether it was search
        self.past = Past(self.rounds)
        self.strikes = []  # the rounds of strike-outs
        self.verdicts = []  # of all arms that may have been better than the average when they were judged
        self.target = 1.0
        self.drawn = 0
        self.places = [None] * keep
        self.evicted = 0  # arms that had to go for others
        self.arm = self.fresh()

    def level(self):
        return self.past.level

    def share(self):
        arms, losses = faded(self.verdicts)
        return losses / arms

    def is_in_debt(self):
        """The search has cost more than its share, by some losses; but fresh arms must earn clearly less."""
        if 1.0 - self.past.loss <= 1.05 * (1.0 - self.past.of_fresh_arms):
            return False
        excess = self.past.search - (1.0 - self.share()) * self.past.loss
        return excess * weight_of_all(len(self.rounds)) > self.first_look

    def recent_strikes(self):
        t = len(self.rounds)
        return sum(s * (s + 1) for s in self.strikes) / (t * (t + 1))

    def is_wary(self):
        return self.recent_strikes() * self.wary**2 >= 1.0

    def bounds(self):
        return [math.inf if arm is None else arm.bound for arm in self.places]

    def fresh(self):
        """In the first empty place, or in that of the arm with the largest bound, the first of several."""
        if None in self.places:
            where = self.places.index(None)
        else:
            where = first_of_the_largest([shortened(bound, len(self.places)) for bound in self.bounds()])
            self.evicted += 1
        self.places[where] = Arm(self.drawn)
        self.drawn += 1
        return self.places[where]

    def good_enough(self, banned):
        """The arm with the least bound but the banned one, compared without the last bits; the first of several."""
        allowed = [arm for arm in self.places if arm is not None and arm.number != banned]
        if not allowed:
            return None
        found = allowed[first_of_the_largest([shortened(-arm.bound, len(self.places)) for arm in allowed])]
        return found if found.bound <= self.target else None

    def bound_of(self, arm):
        n = len(arm.losses)
        lasting = 2.0 * self.past.stay
        b = self.slack * natural_log(natural_log(max(lasting, 20.0)))
        losses = [loss for loss, _ in arm.losses]
        m, all_weights = average(losses), weight_of_all(n)
        # The variance of all losses counts as one more play.
        v = (variance(losses) * all_weights + self.past.variance) / (all_weights + 1.0)
        return max(m / max(b, 1.0), m - b * math.sqrt(v * squared_weights(n)))

    def next_target(self):
        """In debt the average loss; else a share of it, at once when it falls, and late when it rises."""
        level, share = self.past.level, self.share()
        if self.is_in_debt():
            return level
        if share * level < self.target or share * level * share > self.target:
            return share * level
        return self.target

    def is_first_look_over(self, plays):
        spread = self.past.level * (1.0 - self.past.level)
        return plays * spread * spread >= self.first_look * self.past.variance

    def judge(self, arm):
        arms, losses = faded(self.verdicts)
        e = losses / max(arms - losses, 1e-9)
        found = verdict(self.past, arm.look(), len(arm.losses), e)
        if found is not None:
            self.verdicts.append(found)
        arm.is_judged = True

    def kept(self, number):
        return next((arm for arm in self.places if arm is not None and arm.number == number), None)

    def told(self, number, reward):
        loss, before = 1.0 - reward, self.past
        arm = self.kept(number)
        plays = before.stay if arm is None else len(arm.losses)  # of an arm that is gone: as of any
        self.rounds.append((loss, plays + 1.0, before.is_search(plays)))
        self.past = Past(self.rounds)
        bound = -math.inf
        if arm is not None:
            arm.losses.append((loss, before.level))
            arm.bound = bound = self.bound_of(arm)
            between = (weight_of_all(len(self.rounds)) + 1.0) / (self.recent_strikes() + 1.0)
            if arm.evidence() > between / self.false_alarms:
                self.places[self.places.index(arm)] = None
                self.strikes.append(len(self.rounds))
                bound = math.inf
        self.target = self.next_target()
        # What is learned now holds from the next round on.
        if arm is not None and not arm.is_judged and (bound > self.target or self.is_first_look_over(len(arm.losses))):
            self.judge(arm)
        self.decide(banned=number if self.is_wary() else None)

    def decide(self, banned):
        if self.past.loss > 1.05 * self.past.of_fresh_arms:  # clearly worse than playing at random
            self.arm = self.fresh()
        else:
            self.arm = self.good_enough(banned) or self.fresh()

    def opened(self, number):
        """An ask is open: an arm of which nothing is known waits for its answer, and is the first to go until then."""
        arm = self.kept(number)
        if not arm.losses:
            arm.bound = 2.0  # no loss is larger
            self.decide(banned=number)


def forager(counts, **settings):
    """As the other twins: yields the arm and its probability, and takes what it hears."""
    counts.blocks += 1
    twin = Forager(**settings)
    for _ in itertools.count():
        counts.arms = twin.drawn
        heard = yield twin.arm.number, 1.0
        if heard.what == "open":
            twin.opened(heard.ask.arm)
        elif heard.reward is not None:
            twin.told(heard.ask.arm, heard.reward)


@twin_of("Forager")
def new_forager(spec, setting):
    return functools.partial(forager, **dataclasses.asdict(spec))
