"""A naive world: a dictionary of means and one of play counts.

Reads the fields of a world's description and nothing else of the package but ``power``, whose
last bits no other library shares (tests/test_arithmetic.py has its own oracle); the random numbers
come from ``squares``.
"""

from manyarms.arithmetic import power

from .post import NaivePost
from .squares import (
    ARM_STREAM,
    DRIFT_STREAM,
    NOISE_STREAM,
    bits_at,
    replication_key,
    splitmix64,
    stream_key,
    uniform,
)


class NaiveWorld:
    def __init__(self, spec, seed, replication):
        key = replication_key(seed, replication)
        self.arm_key = stream_key(key, ARM_STREAM)
        self.noise_key = stream_key(key, NOISE_STREAM)
        self.drift_key = stream_key(key, DRIFT_STREAM)
        self.reservoir, self.drift, self.noise = spec.reservoir, spec.drift, spec.noise
        self.top = spec.top
        self.post = NaivePost(spec.feedback, seed, replication)
        self.means = {}
        self.plays = {}

    def drawn(self, bits, t, reservoir=None):
        """A mean with P(mean > top - x) = (x / top)^beta; where that changes, as it is in round t."""
        reservoir = reservoir or self.reservoir
        if type(reservoir).__name__ == "Trending":
            part = min((t - 1) / reservoir.over, 1.0)
            return min((1.0 + (reservoir.factor - 1.0) * part) * self.drawn(bits, t, reservoir.reservoir), 1.0)
        assert type(reservoir).__name__ == "PowerLaw"
        return reservoir.top * (1.0 - power(uniform(bits), 1.0 / reservoir.beta))

    def mean(self, arm, t=1):
        if arm not in self.means:
            self.means[arm] = self.drawn(bits_at(self.arm_key, arm, 0), t)
            self.plays[arm] = 0
        return self.means[arm]

    def now(self, arm, t):
        """The mean that an arm would have in round t; nothing is changed."""
        return self.means[arm] if arm in self.means else self.drawn(bits_at(self.arm_key, arm, 0), t)

    def pull(self, arm, t):
        """The mean, the mean after the play, and the reward, which is drawn first."""
        mean = self.mean(arm, t)
        reward = self.reward(mean, uniform(bits_at(self.noise_key, arm, self.plays[arm])))
        after = min(max(self.moved(self.drift, arm, mean, t), 0.0), 1.0)
        self.means[arm] = after
        self.plays[arm] += 1
        return mean, after, reward

    def reward(self, mean, u):
        match type(self.noise).__name__:
            case "Bernoulli":
                return 1.0 if u < mean else 0.0
            case "GapUniform":  # the loss is uniform on [0, 2 gap]
                return 1.0 - 2.0 * (1.0 - mean) * u
            case "Exact":
                return mean
        raise NotImplementedError(self.noise)

    def moved(self, drift, arm, mean, t):
        """Where the played arm's mean goes, before it is clipped."""
        match type(drift).__name__:
            case "Still":
                return mean
            case "Rotting":
                return mean - amount(drift.rate, mean, t)
            case "Rising":
                return mean + amount(drift.rate, mean, t)
            case "JumpAt":
                return mean + drift.size if self.plays[arm] + 1 == drift.play else mean
            case "Fatigue":  # the honeymoon, then the fall
                return mean - drift.rate if self.plays[arm] + 1 > drift.after else mean
            case "Crash":
                bits = bits_at(self.drift_key, arm, self.plays[arm])
                if uniform(bits) >= drift.probability:
                    return mean
                return self.drawn(splitmix64(bits, 1), t) if drift.to == "fresh" else drift.to
            case "Stages":  # by how many ends the arm has passed
                stage = sum(self.plays[arm] + 1 > end for end in drift.ends)
                return self.moved(drift.drifts[stage], arm, mean, t)
        raise NotImplementedError(drift)


def amount(rate, mean, t):
    """How far one play at round t moves an arm: ``0.02``, ``"3/t"``, ``"t^-0.7"`` or ``"5%"``."""
    if not isinstance(rate, str):
        return rate
    if rate.endswith("%"):
        return float(rate[:-1]) / 100.0 * mean
    if rate.endswith("/t"):
        return float(rate[:-2]) / t
    assert rate.startswith("t^-")
    return power(float(t), -float(rate[3:]))
