"""A tournament tree: the slot with the largest index, O(log slots) for each change of one index.

Node 1 is the root, nodes 4n … 4n + 3 are the children of node n, and slot i is leaf
``leaves + i``, with ``leaves`` a power of four. Each node holds the *key* of the best slot below it:
the index as a whole number that is ordered like it, with its last bits replaced by the slot. One
number of 8 bytes says who leads and with what; four children lie side by side in 32 bytes, which is
what memory hands out at a time; and a walk from leaf to root has no branch that depends on the data.

The price: of an index's 53 bits, log2(leaves) do not count. With 1,024 arms, indices within a
relative 2^-42 of each other are a tie, and ties go to the lower slot.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import word_of
from ..compiled import kernel, load_four, on_gpu, with_body
from ..streams import i64, u64

LARGEST = 2**63 - 1
NO_ARM = -(2**63)
"""The key of a leaf without an arm."""


@kernel
def leaves_for(slots: int) -> int:
    """The number of leaves of a tournament of that many slots: the power of four that covers them."""
    leaves = 1
    while leaves < slots:
        leaves *= 4
    return leaves


def tournament_nodes(slots: int) -> int:
    """The length of an array with an entry for each node: it ends with the last group of four leaves."""
    return leaves_for(slots) + -(-slots // 4) * 4


def new_tournament(slots: int) -> NDArray[np.int64]:
    """An array for the keys of all nodes."""
    return np.zeros(tournament_nodes(slots), dtype=np.int64)


@kernel
def key_of(index: float, slot: int, leaves: int) -> int:
    """The key of a slot with this index."""
    word = word_of(index)
    word = word ^ ((word >> 63) & LARGEST)  # negative floats count backwards
    return (word & -leaves) + (leaves - 1 - slot)


@kernel
def slot_of(key: int, leaves: int) -> int:
    """The slot a key belongs to."""
    return i64(leaves - 1 - (key & (leaves - 1)))


@kernel
def open_tournament(keys: Any, slots: int, index: float) -> int:
    """Give every slot the same index; return the number of leaves."""
    leaves = leaves_for(slots)
    first = leaves  # of this level
    width = 1  # how many leaves lie below a node of this level
    while first > 0:
        nodes = (slots + width - 1) // width
        for node in range(nodes):
            keys[first + node] = key_of(index, node * width, leaves)
        for node in range(nodes, (nodes + 3) // 4 * 4 if first > 1 else nodes):  # the last group is filled up
            keys[first + node] = NO_ARM
        first = first // 4
        width *= 4
    return leaves


@kernel
def leader(keys: Any, leaves: int) -> int:
    """The slot with the largest index; the lowest of several."""
    return slot_of(keys[1], leaves)


@kernel
def replay_games(keys: Any, leaves: int, slot: int, index: float) -> int:
    """Give one slot a new index and replay its games up to the root; return the key of the leader."""
    key = key_of(index, slot, leaves)
    node = u64(leaves + slot)
    keys[node] = key
    while node >= u64(16):  # two games at a time: a GPU reads for the second while it waits for the first
        above = node >> u64(2)
        rival = best_rival(keys, node)
        rival_above = best_rival(keys, above)
        key = max(key, rival)
        keys[above] = key
        key = max(key, rival_above)
        node = above >> u64(2)
        keys[node] = key
    if node > u64(1):
        key = max(key, best_rival(keys, node))
        keys[1] = key
    return key


@kernel
def runner_up(keys: Any, leaves: int) -> int:
    """The slot with the largest index but the leader's: the best of all who lost to the leader.

    Of one slot alone, it is the leader.
    """
    node = u64(leaves + leader(keys, leaves))
    key = NO_ARM
    while node > u64(1):
        key = max(key, best_rival(keys, node))
        node = node >> u64(2)
    return slot_of(key, leaves)


def _compiled_best_rival(keys: Any, node: int) -> int:
    if on_gpu():  # all four in two accesses
        own = node & u64(3)
        a, b, c, d = load_four(keys, i64(node ^ own))
        return max(
            max(NO_ARM if own == u64(0) else a, NO_ARM if own == u64(1) else b),
            max(NO_ARM if own == u64(2) else c, NO_ARM if own == u64(3) else d),
        )
    return i64(max(max(keys[node ^ u64(1)], keys[node ^ u64(2)]), keys[node ^ u64(3)]))


@with_body(_compiled_best_rival)
def best_rival(keys: Any, node: int) -> int:
    """The largest key of a node's three siblings."""
    return int(max(keys[node ^ 1], keys[node ^ 2], keys[node ^ 3]))
