"""Random numbers that are addressed, not consumed.

Any number is found by its address: (seed, replication, stream, index, sub-index). Nothing
is stored and nothing runs ahead, so the n-th play of arm a is the same event for every
policy, in every order, on one thread or many.

Source: B. Widynski, "Squares: A Fast Counter-Based RNG" (2020, arXiv:2004.06278), the
64-bit output with five rounds. Its key belongs to (seed, replication, stream) and is mixed
with the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014); its 64-bit counter is
the pair (index, sub-index + 1) of 32 bits each, so no two addresses of a stream share a counter.
Where one address needs several numbers, they follow it as a SplitMix64 sequence (``follow``).
"""

import math
from typing import Any

import numpy as np

from .arithmetic import cosine_of_turn, exponential, natural_log
from .compiled import kernel, with_body

ARM_STREAM = 1
NOISE_STREAM = 2
DRIFT_STREAM = 3
POLICY_STREAM = 4
FEEDBACK_STREAM = 5

MASK = 0xFFFFFFFFFFFFFFFF
HALF = 0xFFFFFFFF
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
UNIT = 2.0**-53
LEAST_SHAPE = 1e-300  # the logarithm of a Gamma number of smaller shape is no float

UNSET_KEY: Any = np.uint64(0)
"""A key before ``begin``. Its type tells the compiler what keys are."""


@with_body(lambda value: np.uint64(value))
def u64(value: int) -> int:
    """``value`` modulo 2^64, as an unsigned machine word where compiled."""
    return int(value) & MASK


@with_body(lambda value: np.int64(value))
def i64(value: int) -> int:
    """A word below 2^63 as a signed integer."""
    return int(value)


# Below, what is drawn with has two bodies of the same bits: on machine words, which drop what does not fit by
# themselves; and on Python's integers, where a call for every step would take most of the time of live policies.


def _mixed_words(word: int) -> int:
    word = u64((word ^ (word >> u64(30))) * u64(MIX_1))
    word = u64((word ^ (word >> u64(27))) * u64(MIX_2))
    return u64(word ^ (word >> u64(31)))


@with_body(_mixed_words)
def mixed(word: int) -> int:
    """SplitMix64's finaliser (Stafford's variant 13): every input bit reaches every output bit."""
    word = ((word ^ (word >> 30)) * MIX_1) & MASK
    word = ((word ^ (word >> 27)) * MIX_2) & MASK
    return word ^ (word >> 31)


@kernel
def replication_key(seed: int, replication: int) -> int:
    """The key from which all streams of one replication take theirs."""
    word = mixed(u64(u64(seed) + u64(GOLDEN_GAMMA)))
    return mixed(u64(u64(word ^ u64(replication)) + u64(GOLDEN_GAMMA)))


@kernel
def stream_key(replication: int, stream: int, label: int) -> int:
    """The key of one stream of the replication with this key. Odd, as Squares asks."""
    word = mixed(u64(u64(u64(replication) ^ u64(stream)) + u64(GOLDEN_GAMMA)))
    word = mixed(u64(u64(word ^ u64(label)) + u64(GOLDEN_GAMMA)))
    return u64(word | u64(1))


@kernel
def policy_key(replication: int, label: int) -> int:
    """The key of a policy in the replication with this key; its label is the digest of its spec."""
    return stream_key(replication, POLICY_STREAM, label)


@kernel
def address(index: int, sub_index: int) -> int:
    """The counter of an address: 32 bits each, so index < 2^31 and sub_index < 2^32 - 1.

    The lower half starts at 1: where it is 0, the first round of Squares would square a multiple
    of 2^32 and do nothing.
    """
    return (index << 32) + sub_index + 1


def _bits_of_words(key: int, counter: int) -> int:
    half = u64(32)
    y = u64(u64(counter) * u64(key))
    z = u64(y + u64(key))
    x = u64(y * y + y)
    x = u64((x >> half) | (x << half))
    x = u64(x * x + z)
    x = u64((x >> half) | (x << half))
    x = u64(x * x + y)
    x = u64((x >> half) | (x << half))
    t = u64(x * x + z)
    x = u64((t >> half) | (t << half))
    return u64(t ^ (u64(x * x + y) >> half))


@with_body(_bits_of_words)
def bits_of(key: int, counter: int) -> int:
    """Squares: the 64 random bits of this counter under this key."""
    key = int(key)
    y = (int(counter) * key) & MASK
    z = y + key
    x = (y * y + y) & MASK
    x = (x >> 32) | ((x & HALF) << 32)
    x = (x * x + z) & MASK
    x = (x >> 32) | ((x & HALF) << 32)
    x = (x * x + y) & MASK
    x = (x >> 32) | ((x & HALF) << 32)
    t = (x * x + z) & MASK
    x = (t >> 32) | ((t & HALF) << 32)
    return t ^ (((x * x + y) & MASK) >> 32)


@kernel
def bits_at(key: int, index: int, sub_index: int) -> int:
    """The 64 random bits at address (index, sub_index) of the stream with this key."""
    return bits_of(key, address(index, sub_index))


@with_body(lambda bits, step: mixed(u64(bits) + u64(step) * u64(GOLDEN_GAMMA)))
def follow(bits: int, step: int) -> int:
    """Further random bits for the same address: step 1, 2, 3, … of a SplitMix64 sequence."""
    return mixed((int(bits) + int(step) * GOLDEN_GAMMA) & MASK)


@with_body(lambda bits: i64(u64(bits) >> u64(11)) * UNIT)
def uniform(bits: int) -> float:
    """The bits as a number in [0, 1), a multiple of 2^-53."""
    return (int(bits) >> 11) * UNIT


@kernel
def index_below(bits: int, size: int) -> int:
    """The bits as an integer in 0 … size − 1 (bias below size · 2^-53)."""
    return int(uniform(bits) * size)


@kernel
def normal(bits: int, step: int) -> float:
    """A standard normal number from steps ``step`` and ``step + 1`` after the bits (Box–Muller)."""
    radius = math.sqrt(-2.0 * natural_log(1.0 - uniform(follow(bits, step))))
    return radius * cosine_of_turn(uniform(follow(bits, step + 1)))


@kernel
def log_gamma_draw(bits: int, shape: float) -> float:
    """The logarithm of a Gamma(shape, 1) number.

    Marsaglia & Tsang (2000), "A simple method for generating gamma variables". In logarithms,
    because Gamma numbers of small shape are too small for a float.
    """
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    step = 1
    result = 0.0
    while True:
        x = normal(bits, step)
        v = 1.0 + c * x
        u = 1.0 - uniform(follow(bits, step + 2))
        step += 3
        if v > 0.0:
            log_v = 3.0 * natural_log(v)
            if natural_log(u) < 0.5 * x * x + d - d * exponential(log_v) + d * log_v:
                result = natural_log(d) + log_v
                break
    if shape < 1.0:
        result += natural_log(1.0 - uniform(follow(bits, step))) / shape
    return result


@kernel
def beta_draw(bits: int, a: float, b: float) -> float:
    """A Beta(a, b) number: the share of the first of two Gamma numbers."""
    a = max(float(a), LEAST_SHAPE)
    b = max(float(b), LEAST_SHAPE)
    difference = log_gamma_draw(mixed(u64(bits)), b) - log_gamma_draw(u64(bits), a)
    # Beyond ±700 the share is 0 or 1 to machine precision, and exp would overflow.
    if difference > 700.0:
        return 0.0
    return 1.0 / (1.0 + exponential(difference))
