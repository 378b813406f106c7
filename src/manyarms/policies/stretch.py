"""Stretches: an arm that has been good for long is judged once in so many plays, not after each of them.

What one more play says of an arm with a thousand behind it changes next to nothing, and to take it in costs as much as
with a fresh arm. So plays of the same arm are added up, a 32nd of those it has behind it, and judged together. If it
breaks down meanwhile, that shows in the evidence that it has fallen to half of its mean since some play of the stretch
(Page's CUSUM): at `ALARM` the stretch ends at once. After an alarm, and of an arm that comes back, stretches begin
short.

Source: ours; the sum is that of Page, Continuous inspection schemes (Biometrika 1954).
"""

from typing import Any, NamedTuple

from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from .dispersion import half_squared, is_of_a_coin

SHARE = 32
"""A stretch is one in so many of an arm's plays,"""

LEAST = 4
"""and no shorter than that: to judge a few plays together costs more than to judge each."""

ALARM = 3.0
"""So much evidence, as a logarithm, that the arm has fallen to half. A false alarm costs time, and nothing else."""

HALF = -0.6931471805599453
"""The logarithm of 1/2: what a reward of 1 says of an arm that pays half as much."""


class Plays(NamedTuple):
    """Rewards of one arm, one after another."""

    number: int = 0
    total: float = 0.0
    squares: float = 0.0  # half the squared differences of each and the one before
    are_coins: int = 1  # whether all are 0 or 1


NO_PLAYS = Plays()
"""None."""


class Stretch(NamedTuple):
    """Plays of one arm that have not been judged yet."""

    slot: int = 0
    arm: int = -1
    calm: int = 0  # plays of this arm in a row, without an alarm, that were judged
    left: int = 0  # plays to come before it is judged; 0: it is judged after each
    told: Plays = NO_PLAYS
    doubt: float = 0.0  # evidence that it has fallen since one of them
    miss: float = 0.0  # what a reward of 0 adds to that
    gain: float = 0.0  # and a reward of 1 above it


NO_STRETCH = Stretch()
"""Every play is judged."""


@kernel
def one_play(reward: float, last: float) -> Plays:
    """A reward, after another one."""
    return Plays(number=1, total=reward, squares=half_squared(reward, last), are_coins=is_of_a_coin(reward))


@kernel
def with_play(plays: Plays, one: Plays) -> Plays:
    """One more."""
    return Plays(
        number=plays.number + 1,
        total=plays.total + one.total,
        squares=plays.squares + one.squares,
        are_coins=plays.are_coins & one.are_coins,
    )


@kernel
def goes_on(stretch: Stretch, slot: int, arm: int) -> Any:
    """Whether a play of the arm in a slot belongs to the stretch."""
    return stretch.left > 0 and slot == stretch.slot and arm == stretch.arm


@kernel
def is_alarmed(stretch: Stretch) -> Any:
    """Whether the arm seems to have fallen."""
    return stretch.doubt >= ALARM


@kernel
def longer(stretch: Stretch, one: Plays, is_coin: int) -> Stretch:
    """With one more play. It ends at an alarm, or if rewards turn out to be no coins."""
    doubt = max(stretch.doubt + stretch.miss + stretch.gain * one.total, 0.0)
    is_over = doubt >= ALARM or one.are_coins < is_coin
    left = 0 if is_over else stretch.left - 1
    return replaced(stretch, told=with_play(stretch.told, one), doubt=doubt, left=left)


@kernel
def judged(stretch: Stretch, slot: int, arm: int, more: int) -> Stretch:
    """After it was judged, and then so many plays more of the arm in a slot; the next one is still to be planned."""
    is_calm = slot == stretch.slot and arm == stretch.arm and not is_alarmed(stretch)
    calm = stretch.calm + stretch.told.number if is_calm else 0
    return replaced(NO_STRETCH, slot=slot, arm=arm, calm=calm + more)


@kernel
def planned(stretch: Stretch, plays: int, most: int, mean: float, dispersion: float) -> Stretch:
    """The next stretch of an arm with so many plays behind it: no more than ``most`` plays."""
    left = min(min(plays // SHARE, stretch.calm // 2), most)
    if left < LEAST:
        return stretch
    miss = natural_log((1.0 - 0.5 * mean) / (1.0 - mean))
    return replaced(stretch, left=left, miss=miss / dispersion, gain=(HALF - miss) / dispersion)
