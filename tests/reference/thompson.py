"""Thompson sampling, by normal distributions and by Beta(a + S, b + F), with Beta numbers from the published recipe.

A Gamma(a) number, a >= 1, by Marsaglia & Tsang (2000), with d = a - 1/3 and c = 1 / sqrt(9 d): take a normal x and a
uniform u until v = (1 + c x)^3 > 0 and log u < x^2 / 2 + d - d v + d log v; the number is d v. A Beta(a, b) number is
X / (X + Y) of two of them. Logarithms and cosines are the library's: last bits decide nothing here.
"""

import functools
import math

from .dense import Dense
from .squares import bits_at, finaliser, splitmix64, uniform
from .twins import twin_of


def gamma_number(bits, a):
    """For a < 1: Gamma(a + 1), times the power 1 / a of a uniform number."""
    d = (a if a >= 1.0 else a + 1.0) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    step = 0
    while True:
        # Each trial takes three numbers: two for the normal one (Box and Muller), one to accept it.
        one, two, three = (uniform(splitmix64(bits, step + k)) for k in (1, 2, 3))
        step += 3
        x = math.sqrt(-2.0 * math.log(1.0 - one)) * math.cos(2.0 * math.pi * two)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - three) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v if a >= 1.0 else d * v * (1.0 - uniform(splitmix64(bits, step + 1))) ** (1.0 / a)


def beta_number(bits, a, b):
    # P(X <= x) is 1 - (1 - x)^b for a = 1, and x^a for b = 1: set it to u or 1 - u, and solve.
    if a == 1.0:
        return 1.0 - (1.0 - uniform(bits)) ** (1.0 / b)
    if b == 1.0:
        return (1.0 - uniform(bits)) ** (1.0 / a)
    x, y = gamma_number(bits, a), gamma_number(finaliser(bits), b)
    return x / (x + y)


class Thompson(Dense):
    """Its sums are successes; parts of one, for rewards between 0 and 1."""

    def __init__(self, arms, horizon, log_horizon, key, prior):
        super().__init__(arms, horizon, log_horizon)
        self.key = key
        self.prior = prior

    def pick(self, t):
        a, b = self.prior
        draws = [
            beta_number(bits_at(self.key, t, place), a + successes, b + (plays - successes))
            for place, (successes, plays) in enumerate(zip(self.sums, self.plays, strict=True))
        ]
        return draws.index(max(draws))

    def counted(self, reward):
        return min(max(reward, 0.0), 1.0)


def normal_number(bits):
    """By Box and Muller."""
    one, two = (uniform(splitmix64(bits, step)) for step in (1, 2))
    return math.sqrt(-2.0 * math.log(1.0 - one)) * math.cos(2.0 * math.pi * two)


class GaussianThompson(Dense):
    """A normal prior, and normal rewards of known standard deviation."""

    def __init__(self, arms, horizon, log_horizon, key, sigma, prior):
        super().__init__(arms, horizon, log_horizon)
        self.key = key
        self.sigma = sigma
        self.prior = prior

    def drawn(self, t, place):
        mean, deviation = self.prior
        precision = 1.0 / deviation**2 + self.plays[place] / self.sigma**2
        centre = (mean / deviation**2 + self.sums[place] / self.sigma**2) / precision
        return centre + normal_number(bits_at(self.key, t, place)) / math.sqrt(precision)

    def pick(self, t):
        draws = [self.drawn(t, place) for place in range(len(self.plays))]
        return draws.index(max(draws))


@twin_of("GaussianThompson")
def new_gaussian_thompson(spec, setting):
    return functools.partial(GaussianThompson, key=setting.key, sigma=spec.sigma, prior=spec.prior)


@twin_of("Thompson")
def new_thompson(spec, setting):
    return functools.partial(Thompson, key=setting.key, prior=spec.prior)
