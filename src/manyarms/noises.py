"""Noises: how a reward is drawn from a mean.

A noise turns the mean of the played arm and the random bits of that play into a reward
whose expectation is the mean.
"""

import dataclasses
from typing import ClassVar

from .contract import register
from .specs import Part, Positive, exported
from .streams import beta_draw, normal, uniform


class Noise(Part, abstract=True):
    """Abstract: how a reward is drawn from a mean."""

    kind: ClassVar[str] = "noise"


@dataclasses.dataclass(frozen=True)
class Bernoulli(Noise):
    """Reward 1 with probability equal to the mean, else 0."""


def bernoulli_reward(noise: Bernoulli, mean: float, bits: int) -> float:
    """A coin with the mean's bias."""
    return 1.0 if uniform(bits) < mean else 0.0


register(Bernoulli.state_type, reward_of=bernoulli_reward)


@dataclasses.dataclass(frozen=True)
class GapUniform(Noise):
    """Loss uniform on [0, 2 gap], with gap = 1 - mean: the noise of the paper's figure.

    It vanishes at the top, and rewards of arms with means below one half can be negative.
    """


def gap_uniform_reward(noise: GapUniform, mean: float, bits: int) -> float:
    """One minus a loss between 0 and twice the gap."""
    return 1.0 - 2.0 * (1.0 - mean) * uniform(bits)


register(GapUniform.state_type, reward_of=gap_uniform_reward)


@dataclasses.dataclass(frozen=True)
class BetaNoise(Noise):
    """Rewards in (0, 1) with a Beta distribution around the mean.

    Parameters
    ----------
    concentration
        The sum of the two shape parameters: the variance is mean (1 - mean) / (1 + concentration).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.BetaNoise(concentration=10.0)
    BetaNoise(concentration=10.0)
    """

    tried_with: ClassVar = ({"concentration": 10.0},)

    concentration: Positive


def beta_noise_reward(noise: BetaNoise, mean: float, bits: int) -> float:
    """A Beta number with this mean; at the ends of the range, the mean itself."""
    a = mean * noise.concentration
    b = (1.0 - mean) * noise.concentration
    if a <= 0.0 or b <= 0.0:
        return mean
    return beta_draw(bits, a, b)


register(BetaNoise.state_type, reward_of=beta_noise_reward)


@dataclasses.dataclass(frozen=True)
class Gaussian(Noise):
    """Rewards with a normal distribution around the mean, wherever that lies.

    Rewards fall outside [0, 1], and neither vanish nor grow with the mean. Regret, V and L are those of the means, as
    always. What policies make of such rewards: docs/worlds.md.

    Parameters
    ----------
    sigma
        The standard deviation of a reward.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Gaussian(sigma=0.1))
    >>> result = ma.simulate(ma.UniformPlay(), world, horizon=1_000, seed=7)
    >>> bool(abs(result.final("UniformPlay", "reward")[0] - 500) < 50)
    True
    """

    tried_with: ClassVar = ({"sigma": 0.2},)

    sigma: Positive


def gaussian_reward(noise: Gaussian, mean: float, bits: int) -> float:
    """The mean and a normal number."""
    return mean + noise.sigma * normal(bits, 1)


register(Gaussian.state_type, reward_of=gaussian_reward)


@dataclasses.dataclass(frozen=True)
class Exact(Noise):
    """No noise: the reward is the mean."""


def exact_reward(noise: Exact, mean: float, bits: int) -> float:
    """The mean."""
    return mean


register(Exact.state_type, reward_of=exact_reward)


__all__ = exported(globals())
