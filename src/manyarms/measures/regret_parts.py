"""Parts of regret: how much is that of the best arm at hand, and how much that of not playing it.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits": the decomposition of regret, Section
4.1, equation (1), and with the best initial arm, the proof in Section 4.3.

Symbols: A_m -> the arms played in a block; a-hat_(l,m) -> the best arm with ``best="initial"``.

Deviations: a log shows an arm of a block only if it was played there. An arm that was drawn and never played may
have been the best one; ``unplayed`` takes it in.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..bases.tournament import leaves_for
from ..compiled import kernel, loop
from ..specs import fraction, one_of
from ..states import empty
from .entries import Entries
from .inputs import Floats, Ints, Log, checked_log, unit_numbers
from .parts import checked_parts, distinct, exact_regret
from .shifts import numbered

BESTS = ("round", "initial")
"""Which arm of a part is the best: that of each round, or the one that began the part with the best mean."""


class RegretPart(NamedTuple):
    """A block, an episode or a whole run, and what its regret is made of."""

    label: int  # the number of the block or episode
    start: int  # its first round
    end: int  # its last round
    regret: float
    of_best: float  # the regret that the best arm would have had
    to_best: float  # what was lost against that arm
    arms: int  # how many were played in it
    best_arm: int | None  # the best initial arm; None with best="round", or if it was not played


@dataclasses.dataclass(frozen=True)
class RegretParts(Entries[RegretPart]):
    """Regret, decomposed: a sequence of ``RegretPart``. A slice is a tuple of them.

    Attributes
    ----------
    regret, of_best, to_best
        Of the whole run: the exact sums, rounded once.
    best
        Which arm counted as the best one.
    """

    _noun = "part"
    regret: float
    of_best: float
    to_best: float
    best: str
    _entries: tuple[RegretPart, ...] = dataclasses.field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each part, for tables and frames."""
        return [part._asdict() for part in self]


def decomposed_regret(
    arms: ArrayLike,
    means: ArrayLike,
    next_means: ArrayLike,
    parts: ArrayLike,
    *,
    best: str = "round",
    unplayed: ArrayLike | None = None,
    top: float = 1.0,
) -> RegretParts:
    """Regret as that of the best arm at hand plus what was lost against it, for each block or episode.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``. Before its first play in a part an arm has the mean of that play.
    parts
        The block or the episode of each round; all equal for the whole run.
    best
        ``"round"``: the best arm of each round, as in the paper's equation (1). ``"initial"``: the arm that began the
        part with the best mean, as in its proofs.
    unplayed
        For each part, the best mean among arms that it had and never played, which stand still; 0 if there are none.
        None: they are left out.
    top
        The mean from which regret is counted.

    Examples
    --------
    Two arms with gaps 1/4 and 1/2, played in turn:

    >>> from manyarms.measures import decomposed_regret
    >>> means = [0.75, 0.5, 0.75, 0.5]
    >>> parts = decomposed_regret([0, 1, 0, 1], means, means, [1, 1, 1, 1])
    >>> parts.regret, parts.of_best, parts.to_best
    (1.5, 1.0, 0.5)
    """
    one_of("decomposed_regret", "best", best, BESTS)
    log = checked_log(arms, means, next_means)
    cut = checked_parts("parts", parts, log.arms.size)
    top = fraction("decomposed_regret", "top", top)
    spare = np.zeros(cut.number) if unplayed is None else unit_numbers("unplayed", unplayed, 1, each="part")
    if spare.size != cut.number:
        raise ValueError(f"unplayed has {spare.size:,} entries but there are {cut.number:,} parts; give one for each")
    slotted, arm_of_slot = numbered(log)
    room = empty(Room, arm_of_slot.size)._replace(tree=np.zeros(2 * leaves_for(arm_of_slot.size)))
    best_mean, best_slot = np.zeros(log.arms.size), np.zeros(cut.number, dtype=np.int64)
    best_loop(room, slotted, cut.edges, spare, best == "initial", best_mean, best_slot)
    found = []
    for span, slot in zip(cut.spans(), best_slot.tolist(), strict=True):
        found.append(
            RegretPart(
                *span,
                *accounted(top, log.means[span.rounds], best_mean[span.rounds]),
                arms=distinct(log.arms[span.rounds]),
                best_arm=None if slot < 0 else int(arm_of_slot[slot]),
            )
        )
    return RegretParts(*accounted(top, log.means, best_mean), best=best, _entries=tuple(found))


def accounted(top: float, means: Floats, best_means: Floats) -> tuple[float, float, float]:
    """The regret of some rounds, and its two parts."""
    mean, best = means.tolist(), best_means.tolist()
    return exact_regret(top, mean), exact_regret(top, best), exact_regret(best, mean)


class Room(NamedTuple):
    """What the kernels write to: one entry for each slot, and a tree over the slots of a part."""

    place: Ints  # slot -> its leaf in the part, counted from 1; 0: not met yet
    first: Floats  # slot -> the mean with which it began the part
    tree: Floats  # the means at the leaves, one for each slot, and above them the larger of two


@kernel
def write_leaf(tree: Floats, leaves: int, leaf: int, mean: float) -> None:
    """An arm's mean has changed: so may the largest ones above it."""
    node = leaves + leaf
    tree[node] = mean
    while node > 1:
        node >>= 1
        larger = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == larger:
            break
        tree[node] = larger


@kernel
def meet_arms(room: Room, log: Log, start: int, end: int) -> tuple[int, int]:
    """Who is in a part, with which mean: how many they are, and who begins it best, of equal ones the first played."""
    arms = 0
    best = -1
    for entry in range(start, end):
        slot = log.arms[entry]
        if room.place[slot] == 0:
            arms += 1
            room.place[slot] = arms
            room.first[slot] = log.means[entry]
            if best < 0 or log.means[entry] > room.first[best]:
                best = slot
    return arms, best


@kernel
def follow_one(log: Log, start: int, end: int, slot: int, present: float, best_mean: Floats) -> None:
    """The mean of one arm in each round of a part, which it begins with the mean ``present``."""
    for entry in range(start, end):
        if log.arms[entry] == slot:
            present = log.means[entry]
        best_mean[entry] = present
        if log.arms[entry] == slot:
            present = log.next_means[entry]


@kernel
def plant(room: Room, log: Log, start: int, end: int, leaves: int) -> None:
    """The tree of the means with which the arms of a part begin it."""
    tree = room.tree
    for node in range(2 * leaves):
        tree[node] = 0.0
    for entry in range(start, end):
        slot = log.arms[entry]
        tree[leaves + room.place[slot] - 1] = room.first[slot]
    for node in range(leaves - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel
def follow_all(room: Room, log: Log, start: int, end: int, arms: int, spare: float, best_mean: Floats) -> None:
    """The largest mean in each round of a part, of its arms and the one to spare."""
    leaves = leaves_for(arms)
    plant(room, log, start, end, leaves)
    for entry in range(start, end):
        leaf = room.place[log.arms[entry]] - 1
        write_leaf(room.tree, leaves, leaf, log.means[entry])
        best_mean[entry] = max(room.tree[1], spare)
        write_leaf(room.tree, leaves, leaf, log.next_means[entry])


@loop
def best_loop(
    room: Room, log: Log, edges: Ints, spare: Floats, is_initial: bool, best_mean: Floats, best_slot: Ints
) -> None:
    """The mean of the best arm in each round of each part; with ``is_initial`` also which arm that is, or -1."""
    for part in range(edges.size - 1):
        start, end = edges[part], edges[part + 1]
        arms, best = meet_arms(room, log, start, end)
        if is_initial:
            if spare[part] > room.first[best]:
                best = -1
            present = spare[part] if best < 0 else room.first[best]
            follow_one(log, start, end, best, present, best_mean)
            best_slot[part] = best
        else:
            follow_all(room, log, start, end, arms, spare[part], best_mean)
            best_slot[part] = -1
        for entry in range(start, end):
            room.place[log.arms[entry]] = 0
