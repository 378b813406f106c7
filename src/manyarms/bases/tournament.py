"""A tournament tree: the slot with the largest value, O(log slots) for each change of one value.

Node 1 is the root, nodes 2n and 2n + 1 are the children of node n, and slot i is leaf
``leaves + i``. Each node holds the best value below it and its slot; ties go to the lower
slot, so the root is always what a dense argmax would find. The walk from leaf to root has
no branch that depends on the data, which a heap's has.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..streams import u64


def tournament_nodes(slots: int) -> int:
    """How many nodes a tournament of that many slots needs."""
    return 2 * int(2 ** math.ceil(math.log2(max(slots, 1))))


def new_tournament(slots: int) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
    """Arrays for the values and the winners of all nodes."""
    nodes = tournament_nodes(slots)
    return np.zeros(nodes, dtype=np.float64), np.zeros(nodes, dtype=np.uint32)


@kernel
def open_tournament(values: Any, winners: Any, slots: int, value: float) -> int:
    """Give every slot the same value; return the number of leaves."""
    leaves = 1
    while leaves < slots:
        leaves *= 2
    for slot in range(leaves):
        values[leaves + slot] = value if slot < slots else -math.inf
        winners[leaves + slot] = slot
    for node in range(leaves - 1, 0, -1):
        # The left child has the lower slots and wins ties.
        better = 2 * node if values[2 * node] >= values[2 * node + 1] else 2 * node + 1
        values[node] = values[better]
        winners[node] = winners[better]
    return leaves


@kernel
def set_value(values: Any, winners: Any, leaves: int, slot: int, value: float) -> None:
    """Change one slot's value and replay its games up to the root."""
    node = u64(leaves + slot)
    values[node] = value
    winner = winners[node]
    while node > 1:
        rival_node = node ^ u64(1)
        rival_value = values[rival_node]
        rival = winners[rival_node]
        loses = (rival_value > value) | ((rival_value == value) & (rival < winner))
        winner = rival if loses else winner
        value = max(value, rival_value)
        node = node >> u64(1)
        values[node] = value
        winners[node] = winner
