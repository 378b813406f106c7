"""Seznec et al. (AISTATS 2019 and 2020): EFF-FEWA and EFF-RAW-UCB, with all rewards of all arms in lists.

Metelli et al. (ICML 2022): R-ed-UCB, with windows of powers of two, and R-less-UCB.
"""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Dense, Shortened, first_of_the_largest
from .twins import twin_of
from .windows import in_grains

LONGEST = 2**20


def recent_rewards(rewards, h):
    """The window of h rewards, which moves on by half its length; None as long as there are fewer."""
    if len(rewards) < h:
        return None
    half = max(h // 2, 1)
    end = len(rewards) // half * half
    return rewards[end - h : end]


class Listed(Dense):
    """Keeps all rewards, in order."""

    def __init__(self, arms, horizon, log_horizon, width):
        super().__init__(arms, horizon, log_horizon)
        self.level = width * natural_log(max(horizon, 2))
        self.rewards = [[] for _ in range(arms)]

    def counted(self, reward):
        return in_grains(reward)

    def mean(self, place, h):
        window = recent_rewards(self.rewards[place], h)
        return None if window is None else sum(window) / h

    def learn(self, place, reward):
        super().learn(place, reward)
        self.rewards[place].append(in_grains(reward))

    def settle(self, place, presumed, reward):
        """To the credit of the latest reward."""
        super().settle(place, presumed, reward)
        if self.rewards[place]:
            self.rewards[place][-1] += in_grains(reward) - in_grains(presumed)

    def lose(self, place, presumed):
        """What was presumed stays; unless there was nothing else."""
        super().lose(place, presumed)
        if self.plays[place] == 0:
            self.rewards[place] = []


class RAWUCB(Listed, Shortened):
    def indices(self):
        found = []
        for place in range(len(self.plays)):
            # min over h of mu-hat^h_i + c(h, delta), c = sqrt(2 sigma^2 log(1 / delta) / h)
            bounds, h = [math.inf], 1
            while h <= LONGEST and self.mean(place, h) is not None:
                bounds.append(self.mean(place, h) + math.sqrt(self.level / h))
                h *= 2
            found.append(min(bounds))
        return found


class FEWA(Listed):
    def pick(self, t):
        stay, h = list(range(len(self.plays))), 1
        while True:
            # Of those that have not filled the window, the least played; a single one is played, whatever it has.
            short = [place for place in stay if self.mean(place, h) is None] if h <= LONGEST else stay
            if len(stay) == 1 or short:
                return min(short or stay, key=lambda place: len(self.rewards[place]))
            best = max(self.mean(place, h) for place in stay)
            stay = [place for place in stay if self.mean(place, h) >= best - 2.0 * math.sqrt(self.level / h)]
            h *= 2


class RisingUCB(Listed):
    def __init__(self, arms, horizon, log_horizon, share, width):
        super().__init__(arms, horizon, log_horizon, width)
        self.share = share
        self.width = width

    def index_at(self, place, t):
        rewards = self.rewards[place]
        h = 1
        while 2 * h <= min(self.share * len(rewards), LONGEST // 2):
            h *= 2
        if h > self.share * len(rewards):
            return math.inf
        end = len(rewards) // h * h
        x = [None, *rewards]  # numbered from 1
        line = sum(x[i] + (t - i) * (x[i] - x[i - h]) / h for i in range(end - h + 1, end + 1)) / h
        return line + (t - end + h - 1) * math.sqrt(self.width * natural_log(t) / h**3)

    def pick(self, t):
        coming = self.learned + 1
        return first_of_the_largest([self.index_at(place, coming) for place in range(len(self.plays))])


class RLessUCB(Listed):
    def __init__(self, arms, horizon, log_horizon, share, width, longest):
        super().__init__(arms, horizon, log_horizon, width)
        self.share = share
        self.width = width
        self.longest = longest
        self.times = [[] for _ in range(arms)]  # of the rewards

    def learn(self, place, reward):
        super().learn(place, reward)
        self.times[place].append(self.learned)

    def lose(self, place, presumed):
        super().lose(place, presumed)
        self.times[place] = self.times[place][: len(self.rewards[place])]

    def index_at(self, place, t):
        x, times = self.rewards[place], self.times[place]
        n = len(x)
        h = min(math.floor(self.share * n), self.longest)
        if h == 0:
            return math.inf
        # x_l + (t - t_l) s_l = x_l + (t_n - t_l) s_l + (t - t_n) s_l, and so for their means over l
        at_last = slope = 0.0
        for i in range(n - h, n):
            s = (x[i] - x[i - h]) / (times[i] - times[i - h])
            at_last += x[i] + (times[-1] - times[i]) * s
            slope += s
        bound = math.sqrt(self.width * natural_log(t)) * (1.0 / math.sqrt(h**3))
        return at_last / h + (t - times[-1]) * (slope / h) + (t - times[n - h]) * bound

    def pick(self, t):
        coming = self.learned + 1
        return first_of_the_largest([self.index_at(place, coming) for place in range(len(self.plays))])


@twin_of("RAWUCB")
def new_raw_ucb(spec, setting):
    return functools.partial(RAWUCB, width=spec.width)


@twin_of("FEWA")
def new_fewa(spec, setting):
    return functools.partial(FEWA, width=spec.width)


@twin_of("RisingUCB")
def new_rising_ucb(spec, setting):
    return functools.partial(RisingUCB, share=spec.share, width=spec.width)


@twin_of("RLessUCB")
def new_r_less_ucb(spec, setting):
    return functools.partial(RLessUCB, share=spec.share, width=spec.width, longest=spec.longest)
