"""Variation: how much, and how often, the arms that were played have changed.

V sums the changes of the played arms' means, V_R the falls alone; L counts the changes, L_R the falls. A simulation
keeps the four at its checkpoints; here they are found from a log, for every round, and are the same to the bit.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Section 2.2. Up to round T they sum
over the rounds t = 2, …, T the change from mu_(t-1)(a_(t-1)) to mu_t(a_(t-1)): what a play does to its arm counts in
the next round, and what the last play does is not counted.

Symbols: V -> variation, V_R -> rotting_variation, L -> changes, L_R -> rotting_changes; mu_t(a_t) -> means,
mu_(t+1)(a_t) -> next_means.

Deviations: none with ``until="round"``. ``until="play"`` is for worlds in which arms move while they rest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..specs import one_of
from .inputs import Floats, Ints, checked_log

UNTILS = ("round", "play")
"""Until when a play's arm is followed: the next round, as the paper has it, or its own next play."""


class Variation(NamedTuple):
    """The four measures after each round, counted from the first; the entry of round t has the index t - 1."""

    variation: Floats  # V
    rotting_variation: Floats  # V_R
    changes: Ints  # L
    rotting_changes: Ints  # L_R


def realized_variation(arms: ArrayLike, means: ArrayLike, next_means: ArrayLike, *, until: str = "round") -> Variation:
    """V, V_R, L and L_R of a run after each of its rounds. Sums are made as in a simulation: the same bits.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``.
    until
        ``"round"``: a play's change is that to the next round. ``"play"``: that to the same arm's next play in the
        run, if there is one, so that nothing is lost where arms move while they rest; then the entry of a round may
        depend on later ones. Where resting arms stand still the two are the same.

    Examples
    --------
    Two falls, the last of them too late to count, and a rise:

    >>> from manyarms.measures import realized_variation
    >>> found = realized_variation(arms=[1, 1, 2, 1], means=[0.75, 0.5, 0.5, 0.5], next_means=[0.5, 0.5, 1.0, 0.25])
    >>> found.variation, found.rotting_variation
    (array([0.  , 0.25, 0.25, 0.75]), array([0.  , 0.25, 0.25, 0.25]))
    >>> found.changes, found.rotting_changes
    (array([0, 1, 1, 2]), array([0, 1, 1, 1]))
    """
    one_of("realized_variation", "until", until, UNTILS)
    played, mean, next_mean = checked_log(arms, means, next_means)
    if until == "play":
        next_mean = mean_until_play(played, mean, next_mean)
    fall = arriving_falls(mean, next_mean)
    return Variation(
        variation=np.cumsum(np.abs(fall)),
        rotting_variation=np.cumsum(np.maximum(fall, 0.0)),
        changes=np.cumsum(fall != 0.0, dtype=np.int64),
        rotting_changes=np.cumsum(fall > 0.0, dtype=np.int64),
    )


def arriving_falls(mean: Floats, next_mean: Floats) -> Floats:
    """By how much the arm of the round before has fallen when a round begins; nothing before the first."""
    fall = np.zeros_like(mean)
    fall[1:] = mean[:-1] - next_mean[:-1]
    return fall


def mean_until_play(played: Ints, mean: Floats, next_mean: Floats) -> Floats:
    """The mean with which each play's arm is played again; where it is not, that of the next round."""
    order = np.argsort(played, kind="stable")
    again = played[order[1:]] == played[order[:-1]]
    result = next_mean.copy()
    result[order[:-1][again]] = mean[order[1:][again]]
    return result
