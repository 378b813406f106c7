"""Besson et al. (JMLR 2022), Liu, Lee & Shroff (AAAI 2018), Cao et al. (AISTATS 2019): UCB that restarts.

All rewards since the last restart of their arm are in lists, and every test looks at the whole list.
"""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Shortened
from .kl_ucb import kl, least_gap
from .squares import bits_at, splitmix64, uniform
from .twins import twin_of
from .windows import in_grains


class Restarting(Shortened):
    """Keeps the rewards since the last restart of their arm. Open asks are nothing to it: None is expected of them."""

    def __init__(self, arms, horizon, log_horizon, rested):
        super().__init__(arms, horizon, log_horizon)
        self.rested = rested
        self.rewards = [[] for _ in range(arms)]

    def expected(self, place):
        return None

    def learn(self, place, reward):
        if reward is None:
            return
        self.plays[place] += 1
        self.rewards[place].append(self.counted(reward))
        if self.has_changed(self.rewards[place]):
            self.restart(place)

    def settle(self, place, presumed, reward):
        self.learn(place, reward)

    def lose(self, place, presumed):
        pass

    def restart(self, place):
        self.rewards[place] = []

    def restart_all(self):
        self.rewards = [[] for _ in self.rewards]

    def indices(self):
        return [self.index(math.fsum(r), len(r)) if r else math.inf for r in self.rewards]

    def in_turn(self, t, period):
        """Forced exploration: arm A(t) = t mod period, if that is one of 1, …, K."""
        turn = t % max(period, len(self.plays) + 1)
        return turn - 1 if 1 <= turn <= len(self.plays) else None


def splits(n):
    """s such that the last n - s rewards begin with a block of 2^k, one of the last two whole ones."""
    found = set()
    for k in range(20):
        end = n // 2**k * 2**k
        found |= {end - 2**k, end - 2 * 2**k}
    return sorted(s for s in found if 1 <= s < n)


def kl_of(p, q):
    return 0.0 if p == q else kl(p, 1.0 - q)


def glr(rewards, where):
    """sup over s of s kl(m_1:s, m_1:n) + (n - s) kl(m_s+1:n, m_1:n)."""
    n = len(rewards)
    mean = sum(rewards) / n
    found = [0.0]
    for s in where:
        before, after = sum(rewards[:s]) / s, sum(rewards[s:]) / (n - s)
        if before != after:
            found.append(s * kl_of(before, mean) + (n - s) * kl_of(after, mean))
    return max(found)


class GLRklUCB(Restarting):
    def __init__(self, arms, horizon, log_horizon, rested, restarts, delta, exploration, width):
        super().__init__(arms, horizon, log_horizon, rested)
        self.scope = restarts
        self.T = max(horizon, 2)
        self.delta = delta or 1 / math.sqrt(self.T)
        self.exploration = exploration
        self.width = width
        self.episode = 1

    def counted(self, reward):
        return in_grains(min(max(reward, 0.0), 1.0))

    def pick(self, t):
        K = len(self.plays)  # noqa: N806
        alpha = self.exploration
        if alpha is None:
            alpha = math.sqrt(K * natural_log(self.T) / self.T) * math.sqrt(self.episode)
        forced = None if self.rested or alpha == 0.0 else self.in_turn(t, math.floor(K / alpha))
        return super().pick(t) if forced is None else forced

    def index(self, total, plays):
        return -least_gap(total / plays, self.width * natural_log(self.T) / plays)

    def has_changed(self, rewards):
        n = len(rewards)
        beta = natural_log(3 / self.delta) + 1.5 * natural_log(n)  # log(3 n^(3/2) / delta)
        return glr(rewards, splits(n)) >= beta

    def restart(self, place):
        self.episode += 1
        if self.scope == "global":
            self.restart_all()
        else:
            super().restart(place)


class CUSUMUCB(Restarting):
    def __init__(
        self, arms, horizon, log_horizon, key, rested, samples, tolerance, threshold, changes, exploration, width
    ):
        super().__init__(arms, horizon, log_horizon, rested)
        log = natural_log(max(horizon / changes, 2))
        self.key = key
        self.M, self.epsilon, self.h = samples, tolerance, threshold or log
        self.alpha = min(math.sqrt(changes * log / max(horizon, 1)), 1.0) if exploration is None else exploration
        if rested:
            self.alpha = 0.0
        self.width = width

    def pick(self, t):
        bits = bits_at(self.key, t, 0)
        self.best = super().pick(t)
        return int(uniform(splitmix64(bits, 1)) * len(self.plays)) if uniform(bits) < self.alpha else self.best

    def probability(self, place):
        return self.alpha / len(self.plays) + (1.0 - self.alpha if place == self.best else 0.0)

    def index(self, total, plays):
        return total / plays + math.sqrt(self.width * self.log_horizon / plays)

    def indices(self):
        return [self.index(sum(r), len(r)) if r else math.inf for r in self.rewards]

    def has_changed(self, rewards):
        if len(rewards) <= self.M:
            return False
        u0 = sum(rewards[: self.M]) / self.M
        up = down = 0.0
        for y in rewards[self.M :]:
            up = max(0.0, up + (y - u0) - self.epsilon)
            down = max(0.0, down + (u0 - y) - self.epsilon)
        return max(up, down) >= self.h


class MUCB(Restarting):
    def __init__(self, arms, horizon, log_horizon, rested, window, threshold, changes, exploration, width):
        super().__init__(arms, horizon, log_horizon, rested)
        K, T, w = arms, max(horizon, 2), window  # noqa: N806
        self.w = w
        self.b = threshold or math.sqrt(w * natural_log(2 * K * T**2) / 2)
        self.gamma = exploration
        if exploration is None:
            self.gamma = min(math.sqrt(changes * K * (2 * self.b + 3 * math.sqrt(w)) / (2 * T)), 1.0)
        self.width = width

    def pick(self, t):
        forced = None
        if not self.rested and self.gamma > 0.0:
            forced = self.in_turn(t, math.ceil(len(self.plays) / self.gamma))
        return super().pick(t) if forced is None else forced

    def counted(self, reward):
        return in_grains(reward)

    def index(self, total, plays):
        return total / plays + math.sqrt(self.width * self.log_horizon / plays)

    def has_changed(self, rewards):
        half = self.w // 2
        return len(rewards) >= self.w and abs(sum(rewards[-half:]) - sum(rewards[-self.w : -half])) > self.b

    def restart(self, place):
        if self.rested:
            super().restart(place)
        else:
            self.restart_all()


def fields_of(spec, *names):
    return {name: getattr(spec, name) for name in ("rested", "exploration", "width", *names)}


@twin_of("GLRklUCB")
def new_glr_kl_ucb(spec, setting):
    return functools.partial(GLRklUCB, **fields_of(spec, "restarts", "delta"))


@twin_of("CUSUMUCB")
def new_cusum_ucb(spec, setting):
    fields = fields_of(spec, "samples", "tolerance", "threshold", "changes")
    return functools.partial(CUSUMUCB, key=setting.key, **fields)


@twin_of("MUCB")
def new_m_ucb(spec, setting):
    return functools.partial(MUCB, **fields_of(spec, "window", "threshold", "changes"))
