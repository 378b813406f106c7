"""What policies share that keep the rewards of their arms by slot and recommend one of them."""

from typing import Any

from ..bases.base import Rewards
from ..compiled import kernel
from ..contract import Choice, no_choice


@kernel
def most_played(rewards: Rewards, slots: int) -> int:
    """Of the first so many slots; of several that with the largest mean reward, and the lowest of these."""
    best = 0
    for slot in range(1, slots):
        more = rewards.plays[slot] - rewards.plays[best]
        if more > 0 or (more == 0 and rewards.sums[slot] > rewards.sums[best]):
            best = slot
    return best


@kernel
def mean_in(rewards: Rewards, slot: int) -> float:
    """The mean reward of a slot; 0 if there is none yet."""
    return rewards.sums[slot] / rewards.plays[slot] if rewards.plays[slot] > 0 else 0.0


@kernel
def best_mean_among(rewards: Rewards, allowed: Any, slots: int) -> int:
    """The allowed slot with the largest mean reward, the lowest of several; -1 if none is allowed."""
    best = -1
    for slot in range(slots):
        if allowed[slot] and (best < 0 or mean_in(rewards, slot) > mean_in(rewards, best)):
            best = slot
    return best


@kernel
def chosen(slot: int, first_arm: int, block: int, round: int) -> Choice:
    """For sure the arm in a slot, of arms that are numbered by their slots; none, if the slot is -1."""
    if slot < 0:
        return no_choice(round)
    return Choice(slot=slot, arm=first_arm + slot, probability=1.0, block=block, round=round)
