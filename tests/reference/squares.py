"""The random streams, from the published definitions.

- ``squares64``: B. Widynski, "Squares: A Fast Counter-Based RNG" (arXiv:2004.06278), the C
  function of that name, line by line.
- ``finaliser``: the mix64 of SplitMix64 (Steele, Lea & Flood 2014) in Stafford's variant 13.
"""

WORD = 2**64
GOLDEN_GAMMA = 0x9E3779B97F4A7C15

ARM_STREAM, NOISE_STREAM, DRIFT_STREAM, POLICY_STREAM, FEEDBACK_STREAM = 1, 2, 3, 4, 5


def rotated(x):
    # (x >> 32) | (x << 32)
    return (x >> 32) | (x << 32) % WORD


def squares64(counter, key):
    y = x = counter * key % WORD
    z = (y + key) % WORD
    x = (x * x + y) % WORD
    x = rotated(x)  # round 1
    x = (x * x + z) % WORD
    x = rotated(x)  # round 2
    x = (x * x + y) % WORD
    x = rotated(x)  # round 3
    t = x = (x * x + z) % WORD
    x = rotated(x)  # round 4
    return t ^ (((x * x + y) % WORD) >> 32)  # round 5


def finaliser(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def splitmix64(seed, step):
    """Output number ``step`` = 1, 2, 3, … of SplitMix64 started at ``seed``."""
    return finaliser((seed + step * GOLDEN_GAMMA) % WORD)


def replication_key(seed, replication):
    return splitmix64(splitmix64(seed, 1) ^ replication, 1)


def stream_key(key, stream, label=0):
    return splitmix64(splitmix64(key ^ stream, 1) ^ label, 1) | 1


def bits_at(key, index, sub_index):
    # The lower half of the counter starts at 1; with 0 there, round 1 would do nothing.
    return squares64(index * 2**32 + sub_index + 1, key)


def uniform(bits):
    """The upper 53 bits as a fraction."""
    return (bits >> 11) / 2**53
