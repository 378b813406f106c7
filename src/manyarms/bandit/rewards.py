"""Rewards in the units of the caller, and in [0, 1]."""

import math

from ..specs import number, plain_number


def checked_reward_range(reward_range: object) -> tuple[float, float]:
    """The least and the greatest reward."""
    try:
        low, high = (number("Bandit", "reward_range", end) for end in reward_range)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"Bandit: reward_range must be two finite numbers, not {reward_range!r}") from None
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"Bandit: reward_range must go from a lower to a higher number, not {reward_range!r}")
    return low, high


def scaled(reward: object, reward_range: tuple[float, float], name: str = "reward") -> float:
    """A reward as policies are told it."""
    low, high = reward_range
    plain = plain_number(reward)
    try:
        value = float(plain) if isinstance(plain, bool) else number("Bandit", name, plain)
    except ValueError:
        raise ValueError(f"{name} {reward!r} is not a finite number; nothing was changed") from None
    if not low <= value <= high:
        raise ValueError(
            f"{name} {reward!r} is outside [{low:g}, {high:g}]; rescale it or pass reward_range to Bandit. "
            "Nothing was changed"
        )
    # Rewards in [0, 1] pass untouched, so that live and simulated runs agree to the bit.
    return value if (low, high) == (0.0, 1.0) else (value - low) / (high - low)


def scaled_total(total: object, plays: int, reward_range: tuple[float, float], name: str = "reward") -> float:
    """The sum of so many rewards as policies would be told them."""
    low, high = reward_range
    value = number("Bandit", name, plain_number(total))
    if not math.isfinite(low * plays) or not math.isfinite(high * plays):
        raise ValueError(f"{name} of {plays:,} plays in [{low:g}, {high:g}] is beyond all numbers; nothing was changed")
    if not low * plays <= value <= high * plays:
        raise ValueError(
            f"{name} {total!r} cannot be the sum of {plays:,} rewards in [{low:g}, {high:g}]; give the sum of rewards, "
            "and pass reward_range to Bandit if they have another. Nothing was changed"
        )
    return (value - low * plays) / (high - low)
