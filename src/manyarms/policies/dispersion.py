"""By how much rewards vary, as a share of what coins would: learned from two rewards in a row of the same arm."""

from typing import NamedTuple

from ..compiled import kernel, replaced

LEAST_DISPERSION = 1e-4
"""Rewards without any noise are taken for as noisy as this: a likelihood needs some."""


class Noise(NamedTuple):
    """By how much rewards vary."""

    is_coin: int = 1  # whether all rewards were 0 or 1
    squares: float = 0.25  # half the squared differences of two rewards in a row of an arm, fading
    scale: float = 0.25  # the same sum if rewards were coins


FIRST_NOISE = Noise()
"""Coins, until a reward says otherwise."""


@kernel
def pace(rounds: int) -> float:
    """How far an average moves to its newest value, for weights s (s + 1)."""
    return 3.0 / (rounds + 2.0)


@kernel
def pace_over(rounds: int, number: int) -> float:
    """The same for the last so many of them together."""
    if number == 1:
        return pace(rounds)
    first = float(rounds - number)
    return 1.0 - first / rounds * ((first + 1.0) / (rounds + 1.0)) * ((first + 2.0) / (rounds + 2.0))


@kernel
def is_of_a_coin(reward: float) -> int:
    """1 if a coin may have paid that, else 0."""
    return 1 if reward == 0.0 or reward == 1.0 else 0


@kernel
def half_squared(reward: float, last: float) -> float:
    """What two rewards in a row say of the variance."""
    return 0.5 * (reward - last) * (reward - last)


@kernel
def after_difference(noise: Noise, reward: float, last: float, mean: float, plays: int, rounds: int) -> Noise:
    """Two rewards in a row of one arm differ by the noise alone, or nearly."""
    number = 1 if plays > 0 else 0
    return after_differences(noise, is_of_a_coin(reward), number, half_squared(reward, last), mean, pace(rounds))


@kernel
def after_differences(noise: Noise, are_coins: int, number: int, squares: float, mean: float, share: float) -> Noise:
    """So many of them, that make up so much of all that is remembered."""
    is_coin = noise.is_coin & are_coins
    if is_coin == 1 or number == 0:
        return replaced(noise, is_coin=is_coin)
    left = 1.0 - share
    return Noise(
        is_coin=0,
        squares=noise.squares * left + squares,
        scale=noise.scale * left + number * max(mean * (1.0 - mean), 1e-6),
    )


@kernel
def dispersion_of(noise: Noise, spacing: float) -> float:
    """The variance of rewards over that of coins; no less than the grid can show."""
    if noise.is_coin == 1:
        return 1.0
    return min(max(noise.squares / noise.scale, 0.25 * spacing * spacing, LEAST_DISPERSION), 1.0)
