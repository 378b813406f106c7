"""The post: open asks of a simulation, and what the policy hears in every round.

A wheel with a place for every round that the longest answer can take. An ask lies at the place of its own round, which
is free again when the wheel has turned. What is due in a round hangs on a string at the place of that round, in the
order in which it was hung there; the string begins with a knot, so that the first is hung like all others. So a round
costs the same whatever is open, nothing is allocated, and memory follows the longest delay alone. With answers at once
there is no wheel: the type says so to the compiler.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel, replaced
from .contract import Choice, Nothing, correct, defer, follow, lose, register, settle, tell, verb
from .feedbacks import AtOnce, Feedback, answer_at, first_answer, is_correction
from .streams import FEEDBACK_STREAM, UNSET_KEY, stream_key, u64


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
    last: NDArray[np.int64]  # place of a round to come -> the last ask that is due then, or the knot of that place
    after: NDArray[np.int64]  # ask, or knot -> the ask that is due next in the same round; -1 for none
    asks: NDArray[np.int64]  # for each ask: slot, arm, block, nothing
    numbers: NDArray[np.float64]  # for each ask: probability, reward, what the policy takes the reward to be, nothing
    mask: int  # places - 1; their number is a power of two
    key: int = UNSET_KEY


class Queue(NamedTuple):
    """The same for answers that keep the order of the asks: the next that is due is the oldest."""

    rule: Any
    manner: Any
    asks: NDArray[np.int64]
    numbers: NDArray[np.float64]
    mask: int
    longest: int  # how long the oldest can be open
    key: int = UNSET_KEY
    oldest: int = 1  # the round of the oldest open ask; the next round, if there is none


class Believed(Nothing):
    """An open ask is the policy's own business."""


class Assumed(NamedTuple):
    """An open ask is told at once as if its answer were this, and corrected when it comes."""

    reward: float


def new_post(feedback: Feedback) -> NoPost | Queue | Post:
    """The post for a feedback, with room for the open asks of one replication."""
    if isinstance(feedback, AtOnce):
        return NoPost()
    places = 1 << feedback.longest.bit_length()  # a power of two above the longest delay
    parts = {
        "rule": feedback.rule(),
        "manner": Believed() if feedback.pending is None else Assumed(reward=feedback.pending),
        "asks": np.zeros(4 * places, dtype=np.int64),
        "numbers": np.zeros(4 * places, dtype=np.float64),
        "mask": places - 1,
    }
    if feedback.keeps_order:
        return Queue(longest=feedback.longest, **parts)
    knots = np.zeros(places, dtype=np.int64)
    return Post(last=knots, after=np.zeros(2 * places, dtype=np.int64), **parts)  # after asks, then after knots


def begin_post(post: Post, key: int) -> Post:
    """Nothing is open."""
    for place in range(post.mask + 1):
        untie(post, place)
    return replaced(post, key=stream_key(key, FEEDBACK_STREAM, 0))


def deliver_late(post: Post, policy: Any, world: Any, choice: Choice, round: int, reward: float) -> tuple[Post, Any]:
    """Tell, or put the ask on the wheel; then hand out what is due."""
    delay = first_answer(post.rule, post.key, round, reward)
    told, _ = answer_at(post.rule, post.key, round, delay, reward)
    here = round & post.mask
    if delay == 0 and not math.isnan(told):
        policy = tell(policy, choice, told)
    else:
        policy, presumed = opened(post.manner, policy, choice)
        put(post, here, choice, reward, presumed)
        hang(post, here, round + delay)
    policy = follow(policy, world)
    ask = post.after[u64(knot(post, here))]
    untie(post, here)
    while ask >= 0:
        after = post.after[u64(ask)]
        policy = follow(heard(post, policy, ask, round), world)
        ask = after
    return post, policy


@kernel
def put(post: Any, ask: int, choice: Choice, reward: float, presumed: float) -> None:
    """Keep an ask."""
    post.asks[u64(4 * ask)] = choice.slot
    post.asks[u64(4 * ask + 1)] = choice.arm
    post.asks[u64(4 * ask + 2)] = choice.block
    post.numbers[u64(4 * ask)] = choice.probability
    post.numbers[u64(4 * ask + 1)] = reward
    post.numbers[u64(4 * ask + 2)] = presumed


@kernel
def knot(post: Post, place: int) -> int:
    """Where the string of a place begins."""
    return post.mask + 1 + place


@kernel
def untie(post: Post, place: int) -> None:
    """Nothing hangs there."""
    post.after[u64(knot(post, place))] = -1
    post.last[u64(place)] = knot(post, place)


@kernel
def hang(post: Post, ask: int, due: int) -> None:
    """An ask is due in a round, after all others that are; without a branch, which would be decided by chance."""
    place = due & post.mask
    post.after[u64(post.last[u64(place)])] = ask
    post.after[u64(ask)] = -1
    post.last[u64(place)] = ask


@kernel
def choice_of(post: Any, ask: int, round: int) -> Choice:
    """What the ask of a round was."""
    return Choice(
        slot=post.asks[u64(4 * ask)],
        arm=post.asks[u64(4 * ask + 1)],
        probability=post.numbers[u64(4 * ask)],
        block=post.asks[u64(4 * ask + 2)],
        round=round,
    )


@kernel
def heard(post: Post, policy: Any, ask: int, round: int) -> Any:
    """What is due of an ask comes in this round."""
    age = (round - ask) & post.mask
    choice = choice_of(post, ask, round - age)
    told, more = answer_at(post.rule, post.key, choice.round, age, post.numbers[u64(4 * ask + 1)])
    presumed = post.numbers[u64(4 * ask + 2)]
    if more > 0:
        post.numbers[u64(4 * ask + 2)] = told
        hang(post, ask, round + more)
    return closed(post.manner, policy, choice, presumed, told, is_correction(post.rule, age))


register(Post, begin=begin_post, deliver=deliver_late)


def begin_queue(post: Queue, key: int) -> Queue:
    """Nothing is open."""
    return replaced(post, key=stream_key(key, FEEDBACK_STREAM, 0), oldest=1)


def deliver_in_order(
    post: Queue, policy: Any, world: Any, choice: Choice, round: int, reward: float
) -> tuple[Queue, Any]:
    """Tell, or put the ask at the end; then hand out what is due, from the oldest on."""
    delay = first_answer(post.rule, post.key, round, reward)
    if delay == 0:
        policy = tell(policy, choice, reward)
    else:
        policy, presumed = opened(post.manner, policy, choice)
        put(post, round & post.mask, choice, reward, presumed)
    policy = follow(policy, world)
    oldest = post.oldest
    while oldest < round and (delay == 0 or round - oldest >= post.longest):  # what is told at once ends a batch
        ask = oldest & post.mask
        presumed, told = post.numbers[u64(4 * ask + 2)], post.numbers[u64(4 * ask + 1)]
        policy = follow(closed(post.manner, policy, choice_of(post, ask, oldest), presumed, told, False), world)
        oldest += 1
    return replaced(post, oldest=oldest if delay > 0 else round + 1), policy


register(Queue, begin=begin_queue, deliver=deliver_in_order)

# ---------------------------------------------------------------- what a policy is told of open asks

# opened(manner, policy, choice) -> (policy, presumed).
opened = verb("opened")
# closed(manner, policy, choice, presumed, told, is_correction) -> policy.
closed = verb("closed")


def closed_believed(
    manner: Believed, policy: Any, choice: Choice, presumed: float, told: float, is_correction: bool
) -> Any:
    """The answer, that there is none, or another one than before."""
    if math.isnan(told):  # what is lost was never told, however late that is known
        return lose(policy, choice, presumed)
    if is_correction:
        return correct(policy, choice, presumed, told)
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
