"""The top of a block, learned from all arms: objects and lists, on the reservoir of the Forager's twin."""

import math

from manyarms.arithmetic import exponential, natural_log, power

from .forager import EDGE, FINEST, POINTS, WIDEST, Grid, Reservoir, added, carried_over, mean_at, pace
from .tail import Tail


def new_tail(beta, top):
    """What a policy has to know of the reservoir."""
    return LearnedTop(beta) if top == "auto" else Tail(top)


class Arm:
    def __init__(self):
        self.plays, self.total, self.last = 0, 0.0, 0.0
        self.look = 8
        self.known_plays, self.known_total = 0, 0.0


class LearnedTop:
    def __init__(self, beta):
        self.beta = beta
        self.reservoir = Reservoir(Grid(0.0, WIDEST))
        self.arms = {}
        self.rounds = 0
        self.is_coin, self.squares, self.scale = True, 0.25, 0.25
        self.regrid = 8.0
        self.redrawn = 0  # of interest to tests
        self.top = self.mean = self.deviation = None

    def dispersion(self):
        if self.is_coin:
            return 1.0
        spacing = self.reservoir.grid.spacing
        return min(max(self.squares / self.scale, 0.25 * spacing * spacing, 1e-4), 1.0)

    # What it hears.

    def saw(self, name, reward):
        arm = self.arms.setdefault(name, Arm())
        reward = min(max(reward, -1.0), 1.0)
        self.rounds += 1
        self.is_coin = self.is_coin and reward in (0.0, 1.0)
        if not self.is_coin and arm.plays > 0:
            left = 1.0 - pace(self.rounds)
            mean = (arm.total + 0.5) / (arm.plays + 1.0)
            self.squares = self.squares * left + 0.5 * (reward - arm.last) * (reward - arm.last)
            self.scale = self.scale * left + max(mean * (1.0 - mean), 1e-6)
        arm.plays += 1
        arm.total += reward
        arm.last = reward
        if arm.plays in (8, 32, 128, 512):
            self.reservoir.learn(arm, self.dispersion())

    def goes(self, name):
        """The last chance to learn of an arm, if that was not done."""
        arm = self.arms.get(name)
        if arm is not None and arm.known_plays == 0:
            self.reservoir.learn(arm, self.dispersion())

    def closed(self, names):
        for name in names:
            self.goes(name)

    # What it makes of that.

    def best(self, arms):
        """The expected maximum of so many arms."""
        means, masses = self.reservoir.grid.means, self.reservoir.learned
        found = means[-1]
        for k in range(POINTS - 1):
            share = min(max(added(masses[: k + 1]), 1e-300), 1.0)  # the mass there or below
            found -= (means[k + 1] - means[k]) * exponential(arms * natural_log(share))
        return found

    def estimate(self, log_rounds):
        """The beta of the number of arms at which two losses are the same: for want of a better one, and for trials."""
        rounds = power(2.0, log_rounds)
        best, mean = self.best(min(rounds, self.reservoir.said)), self.best(1.0)
        apart = best * (1.0 - best) / ((best - mean) * (best - mean) + 1e-12)
        plays = max(self.dispersion() * max((1.0 - mean) / mean, apart), 1.0)
        low, high = 0.0, 1.0
        for _ in range(16):
            middle = 0.5 * (low + high)
            arms = power(2.0, middle * log_rounds)
            if rounds * (best - self.best(arms)) > arms * (plays * (best - mean)):
                low = middle
            else:
                high = middle
        return min(max(low / (1.0 - low), 0.1), 8.0)

    def opened(self, size):
        if self.reservoir.judged >= self.regrid:
            self.redraw(size)
            self.regrid = self.reservoir.judged * 1.2
        self.top = self.best(max(size * (self.reservoir.said / self.reservoir.judged), 1.0))
        self.mean = self.best(1.0)
        self.deviation = math.sqrt(self.dispersion() * self.mean * (1.0 - self.mean))

    def redraw(self, size):
        """Around the best of a block, half as coarse as arms are known."""
        old = self.reservoir.grid
        top = min(max(self.best(float(size)), mean_at(1.0 - EDGE)), mean_at(EDGE - 1.0))
        known = self.rounds / self.reservoir.judged * top * (1.0 - top)
        spacing = min(max(0.5 * math.sqrt(self.dispersion() / known), FINEST), 0.25)
        centre = natural_log(top / (1.0 - top))
        is_fine = old.spacing / 1.4 <= spacing <= old.spacing * 1.4
        if is_fine and abs(centre - old.centre) <= 3.0 * old.spacing:
            return
        self.reservoir.grid = Grid(centre, spacing)
        self.reservoir.learned = carried_over(self.reservoir.learned, old, self.reservoir.grid)
        self.redrawn += 1

    def limit(self, limit, rounds, length):
        """No more than random arms lose, and as much as two standard deviations of a block."""
        return min(limit, rounds * (self.top - self.mean) + 2.0 * self.deviation * math.sqrt(float(length)))
