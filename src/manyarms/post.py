"""The post: open asks of a simulation, and what the policy hears in every round.

A wheel with a place for every round that the longest answer can take. What is due lies in a list at the place of its
round, in the order in which it was put there; the ask itself lies at the place of its own round, which is free again when
the wheel has turned. So a round costs the same whatever is open, nothing is allocated, and memory follows the longest
delay alone. With answers at once there is no wheel: the type says so to the compiler.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel, replaced, store_both
from .contract import Choice, Nothing, correct, defer, follow, lose, register, settle, tell, verb
from .feedbacks import AtOnce, Feedback, answer_at, first_answer, is_correction
from .streams import FEEDBACK_STREAM, UNSET_KEY, stream_key


class NoPost(Nothing):
    """Every answer comes at once."""


def deliver_at_once(
    post: NoPost, policy: Any, world: Any, choice: Choice, round: int, reward: float
) -> tuple[NoPost, Any]:
    """Tell it."""
    return post, follow(tell(policy, choice, reward), world)


register(NoPost, begin=lambda post, key: post, deliver=deliver_at_once)


class Post(NamedTuple):
    """Open asks, each at the place of its round; what is due, in lists at the places of the rounds to come."""

    rule: Any  # when what is heard
    manner: Any  # what a policy is told of an open ask
    first: NDArray[np.int64]  # place of a round -> place of the first ask that is due then; -1 for none
    last: NDArray[np.int64]  # the last of them
    after: NDArray[np.int64]  # place of an ask -> place of the ask that is due after it in the same round
    slots: NDArray[np.int64]  # place of an ask -> its choice, …
    probabilities: NDArray[np.float64]
    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]  # … what came of it …
    blocks: NDArray[np.int64]
    presumed: NDArray[np.float64]  # … and what the policy takes the reward to be
    key: int = UNSET_KEY


class Believed(Nothing):
    """An open ask is the policy's own business."""


class Assumed(NamedTuple):
    """An open ask is told at once as if its answer were this, and corrected when it comes."""

    reward: float


def new_post(feedback: Feedback) -> NoPost | Post:
    """The post for a feedback, with room for the open asks of one replication."""
    if isinstance(feedback, AtOnce):
        return NoPost()
    size = 1 << feedback.longest.bit_length()  # a power of two above the longest delay
    places = {name: np.zeros(size, dtype=np.int64) for name in ("first", "last", "after", "slots", "arms", "blocks")}
    numbers = {name: np.zeros(size, dtype=np.float64) for name in ("probabilities", "rewards", "presumed")}
    manner = Believed() if feedback.pending is None else Assumed(reward=feedback.pending)
    return Post(rule=feedback.rule(), manner=manner, **places, **numbers)


def begin_post(post: Post, key: int) -> Post:
    """Nothing is open."""
    for place in range(post.first.size):
        post.first[place] = -1
    return replaced(post, key=stream_key(key, FEEDBACK_STREAM, 0))


def deliver_late(post: Post, policy: Any, world: Any, choice: Choice, round: int, reward: float) -> tuple[Post, Any]:
    """Tell, or put the ask on the wheel; then hand out what is due."""
    delay = first_answer(post.rule, post.key, round, reward)
    told, _ = answer_at(post.rule, post.key, round, delay, reward)
    if delay == 0 and not math.isnan(told):
        policy = tell(policy, choice, told)
    else:
        policy, presumed = opened(post.manner, policy, choice)
        put(post, choice, round, reward, presumed)
        hang(post, round & (post.first.size - 1), round + delay)
    policy = follow(policy, world)
    place = post.first[round & (post.first.size - 1)]
    post.first[round & (post.first.size - 1)] = -1
    while place >= 0:
        after = post.after[place]
        policy = follow(heard(post, policy, place, round), world)
        place = after
    return post, policy


@kernel
def put(post: Post, choice: Choice, round: int, reward: float, presumed: float) -> None:
    """Keep an ask at the place of its round."""
    place = round & (post.first.size - 1)
    store_both(post.slots, post.probabilities, place, choice.slot, choice.probability)
    store_both(post.arms, post.rewards, place, choice.arm, reward)
    store_both(post.blocks, post.presumed, place, choice.block, presumed)


@kernel
def hang(post: Post, place: int, due: int) -> None:
    """The ask at a place is due in a round, after all others that are."""
    wheel = due & (post.first.size - 1)
    post.after[place] = -1
    if post.first[wheel] < 0:
        post.first[wheel] = place
    else:
        post.after[post.last[wheel]] = place
    post.last[wheel] = place


@kernel
def heard(post: Post, policy: Any, place: int, round: int) -> Any:
    """What is due of the ask at a place comes in this round."""
    age = (round - place) & (post.first.size - 1)
    choice = Choice(
        slot=post.slots[place],
        arm=post.arms[place],
        probability=post.probabilities[place],
        block=post.blocks[place],
        round=round - age,
    )
    told, more = answer_at(post.rule, post.key, round - age, age, post.rewards[place])
    presumed = post.presumed[place]
    if more > 0:
        post.presumed[place] = told
        hang(post, place, round + more)
    return closed(post.manner, policy, choice, presumed, told, is_correction(post.rule, age))


register(Post, begin=begin_post, deliver=deliver_late)

# ---------------------------------------------------------------- what a policy is told of open asks

# opened(manner, policy, choice) -> (policy, presumed).
opened = verb("opened")
# closed(manner, policy, choice, presumed, told, is_correction) -> policy.
closed = verb("closed")


def closed_believed(
    manner: Believed, policy: Any, choice: Choice, presumed: float, told: float, is_correction: bool
) -> Any:
    """The answer, that there is none, or another one than before."""
    if is_correction:
        return correct(policy, choice, presumed, told)
    if math.isnan(told):
        return lose(policy, choice, presumed)
    return settle(policy, choice, presumed, told)


register(Believed, opened=lambda manner, policy, choice: defer(policy, choice), closed=closed_believed)


def opened_assumed(manner: Assumed, policy: Any, choice: Choice) -> tuple[Any, float]:
    """Told as if the answer were there."""
    return tell(policy, choice, manner.reward), manner.reward


def closed_assumed(
    manner: Assumed, policy: Any, choice: Choice, presumed: float, told: float, is_correction: bool
) -> Any:
    """The true answer; what was assumed stands if there is none."""
    return policy if math.isnan(told) else correct(policy, choice, presumed, told)


register(Assumed, opened=opened_assumed, closed=closed_assumed)
