"""One arm at a time, held to a level that follows from beta and the length of the run: what CBT and UCBTASW share.

The state has ``settings`` with a ``horizon``, a ``tail``, a ``block``, the ``arm`` in play, its ``plays`` and
``counts``. Its type says how an arm is judged and what it is held to, by the three verbs below.

Without a horizon, the run is cut into blocks of 2, 4, 8, … rounds, each with its own level and a fresh arm (the
doubling trick); a known horizon that has passed changes nothing. With ``beta="auto"`` beta is estimated anew whenever a
fresh arm is drawn (`policies.tail`), on the safe side, and the level follows.
"""

from typing import Any

from ..compiled import kernel, rarely, replaced
from ..contract import Choice, begin, verb
from . import blocks
from .tail import is_estimated, watch_fresh_arm, watch_reward

# prepared(state, length) -> state. What follows from the length of a block alone; the first arm is fresh.
prepared = verb("prepared")
# with_level(state, length) -> state. What an arm is held to in such a block, as far as beta is known.
with_level = verb("with_level")
# judged(state, reward) -> state. One more reward of the arm in play, or `next_arm`.
judged = verb("judged")


@kernel
def with_fresh_arm(state: Any) -> Any:
    """A fresh arm is in play."""
    watch_fresh_arm(state.tail, 0)
    return replaced(state, arm=state.counts.arms, plays=0, counts=blocks.with_arm(state.counts))


@kernel
def next_arm(state: Any) -> Any:
    """A fresh arm in place of the one in play."""
    fresh = with_fresh_arm(state)
    return with_level(fresh, state.block.length) if is_estimated(state.tail) else fresh


@kernel
def open_block(state: Any, rank: int) -> Any:
    """A fresh arm and its level: for the whole run if its length is known, else for the next doubling block."""
    length = blocks.block_length(state.settings.horizon, rank)
    block = blocks.next_block(state.block, rank, length, 1)
    opened = replaced(state, block=block, counts=blocks.with_block(state.counts, 0))
    return with_fresh_arm(with_level(prepared(opened, length), length))


def begin_held(state: Any, key: int) -> Any:
    """The first block."""
    clean = replaced(state, tail=begin(state.tail, key), block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS)
    return open_block(clean, 1)


def tell_held(state: Any, choice: Choice, reward: float) -> Any:
    """Take in the reward of the arm in play; a fresh arm if the block is over."""
    told = replaced(state, block=blocks.after_round(state.block))
    is_of_arm = choice.arm == state.arm  # a late reward may belong to an arm that was left
    if is_of_arm:
        watch_reward(state.tail, 0, reward)
    if rarely(blocks.is_over(told.block, state.settings.horizon)):
        return open_block(told, told.block.rank + 1)
    return judged(told, reward) if is_of_arm else told


def register_held(state_type: type, **kernels: Any) -> None:
    """Give such a policy's state its kernels: ``prepared``, ``with_level`` and ``judged``."""
    blocks.register_policy(state_type, begin=begin_held, ask=blocks.ask_one_arm, tell=tell_held, **kernels)
