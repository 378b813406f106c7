"""Garivier & Moulines (ALT 2011): UCB over a sliding window, and with discounts; both from the whole history."""

import functools
import math
from fractions import Fraction

from manyarms.arithmetic import natural_log, power

from .dense import Dense, Shortened, first_of_the_largest
from .twins import twin_of


def in_grains(reward):
    """Rounded down to a multiple of 2^-30."""
    return math.floor(Fraction(reward) * 2**30) / 2**30


class SWUCB(Shortened):
    def __init__(self, arms, horizon, log_horizon, window, changes, width, longest):
        super().__init__(arms, horizon, log_horizon)
        rounds = max(horizon, 2)
        self.tau = window or min(math.ceil(2.0 * math.sqrt(rounds * natural_log(rounds) / changes)), longest)
        self.level = width * natural_log(max(min(horizon, self.tau), 2))
        self.rounds = []  # [place, reward] of every round; place None if it was no play after all

    def window(self, place):
        """The rounds within the window that went to an arm."""
        return [entry for entry in self.rounds[-self.tau :] if entry[0] == place]

    def indices(self):
        found = []
        for place in range(len(self.plays)):
            rewards = [reward for _, reward in self.window(place)]
            n = len(rewards)
            # X-bar_t(tau, i) + B sqrt(xi log(min(t, tau)) / N_t(tau, i)), with the last round's min(T, tau).
            found.append(sum(rewards) / n + math.sqrt(self.level / n) if n > 0 else math.inf)
        return found

    def counted(self, reward):
        return in_grains(reward)

    def learn(self, place, reward):
        super().learn(place, reward)
        self.rounds.append([place, in_grains(reward)])

    def expected(self, place):
        rewards = [reward for _, reward in self.window(place)]
        return math.floor(Fraction(sum(rewards) / len(rewards)) * 2**20) / 2**20 if rewards else 0.0

    def settle(self, place, presumed, reward):
        """To the credit of the latest play in the window."""
        if self.window(place):
            self.window(place)[-1][1] += in_grains(reward) - in_grains(presumed)

    def lose(self, place, presumed):
        """The latest play was none; what else it was credited with goes to the one before."""
        self.plays[place] -= 1
        entries = self.window(place)
        if entries:
            entries[-1][0] = None
            if len(entries) > 1:
                entries[-2][1] += entries[-1][1] - in_grains(presumed)


class DUCB(Dense):
    def __init__(self, arms, horizon, log_horizon, discount, changes, width):
        super().__init__(arms, horizon, log_horizon)
        self.gamma = discount or 1.0 - math.sqrt(min(changes / max(horizon, 1), 1.0)) / 4.0
        self.xi = width
        self.heard = [[] for _ in range(arms)]  # of each arm [round, weight at that round, rewards at that round]
        self.t = 0

    def left_of(self, place):
        """N_t(gamma, i) and the discounted sum of rewards."""
        powers = [power(self.gamma, float(self.t - entry[0])) for entry in self.heard[place]]
        n = math.fsum(p * entry[1] for p, entry in zip(powers, self.heard[place], strict=True))
        total = math.fsum(p * entry[2] for p, entry in zip(powers, self.heard[place], strict=True))
        return n, total

    def pick(self, t):
        left = [self.left_of(place) for place in range(len(self.plays))]
        mass = math.fsum(n for n, _ in left)  # n_t(gamma)
        log_mass = natural_log(max(mass, 1.0))
        return first_of_the_largest(
            [total / n + 2.0 * math.sqrt(self.xi * log_mass / n) if n > 0.0 else math.inf for n, total in left]
        )

    def learn(self, place, reward):
        self.plays[place] += 1
        self.t += 1
        self.heard[place].append([self.t, 1.0, reward])

    def expected(self, place):
        n, total = self.left_of(place)
        return math.floor(Fraction(total / n) * 2**20) / 2**20 if n > 0.0 else 0.0

    def settle(self, place, presumed, reward):
        """A mean within [0, 1], with the answer counting as much as the arm's latest play."""
        if self.plays[place] == 0:
            return
        latest = power(self.gamma, float(self.t - self.heard[place][-1][0]))
        n, total = self.left_of(place)
        self.heard_so_far(place, n, total + latest * (reward - presumed))

    def lose(self, place, presumed):
        """An average play less."""
        n, total = self.left_of(place)
        share = n / self.plays[place]
        self.plays[place] -= 1
        if self.plays[place] == 0:
            self.heard[place] = []
        else:
            self.heard_so_far(place, n - share, total - share * presumed)

    def heard_so_far(self, place, n, total):
        """What is left of all rewards is so much, as if it had come in the round of the latest play."""
        latest = self.heard[place][-1][0]
        p = power(self.gamma, float(self.t - latest))
        self.heard[place] = [[latest, n / p, min(max(total, 0.0), n) / p]]


@twin_of("SWUCB")
def new_sw_ucb(spec, setting):
    return functools.partial(SWUCB, window=spec.window, changes=spec.changes, width=spec.width, longest=spec.longest)


@twin_of("DUCB")
def new_d_ucb(spec, setting):
    return functools.partial(DUCB, discount=spec.discount, changes=spec.changes, width=spec.width)
