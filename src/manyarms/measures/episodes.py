"""Episodes: where the regret of a run came from, part by part.

Three questions to a log. What did each episode cost, and how much changed in it? How much of the regret is
that of the best arm at hand, and how much that of not playing it? Were the restarts where the significant shifts were?

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits": episodes and blocks, Section 4.2; the
decomposition of regret, Section 4.1, equation (1), and with the best initial arm, the proof in Section 4.3; mildly
corrupt blocks, Section 4.2, the definition of mild corruption.

Symbols: t_l -> start of an episode; A_m -> the arms played in a block; alpha -> corruption; a-hat_(l,m) -> the best arm
with ``best="initial"``.

Sums of floats depend on their order, and parts that were rounded need not add up. So all sums of means and
changes here are exact sums, rounded once (``math.fsum``): the parts of regret add up to the whole but for the last bit
of each. The running sums of a simulation differ from them in their last bits.

Deviations: a log shows an arm of a block only if it was played there. An arm that was drawn and never played may
have been the best one; ``unplayed`` takes it in.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiled import kernel, loop
from ..policies.base import Policy
from ..specs import fraction, plain_number
from .entries import Entries
from .inputs import one_of
from .rules import whole
from .safety import NEVER
from .shifts import Shifts, checked_log, numbered, numbers, whole_numbers
from .variation import arriving_falls

BESTS = ("round", "initial")
"""Which arm of a part is the best: that of each round, or the one that began the part with the best mean."""

NOTE_FIELDS = ("round", "statistic", "threshold", "block_rank", "arms", "rounds_in_block")
"""What ``Policy.restart_in_words`` reads of a note, all numbers."""

REFERENCES = ("centre", "initial")
"""From where an arm's changes are measured: the middle of its range, or the mean with which it began the part."""


class Episode(NamedTuple):
    """The rounds between two restarts."""

    number: int  # as in the log, where they count from 1
    start: int  # its first round
    end: int  # its last round
    regret: float
    variation: float  # V, of the changes that arrive in its rounds; all episodes' sum up to the run's
    rotting_variation: float  # V_R
    changes: int  # L
    rotting_changes: int  # L_R
    arms: int  # how many were played
    new_arms: int  # how many were played for the first time
    blocks: int | None  # how many were played in; None if the log does not say
    ended: str  # "restart" or "horizon"
    note: dict[str, Any] | None  # what the policy said about the restart, if it was asked

    @property
    def rounds(self) -> int:
        """How many rounds it had."""
        return self.end - self.start + 1

    @property
    def why(self) -> str:
        """Why it ended, in words.

        Examples
        --------
        >>> from manyarms.measures import episodes_of_run
        >>> note = {"round": 2, "block_rank": 1, "rounds_in_block": 2, "arms": 1, "statistic": 1.5, "threshold": 1.0}
        >>> means = [0.1, 0.1, 0.9]
        >>> episodes_of_run([0, 0, 1], means, means, [1, 1, 2], notes=[note])[0].why
        'restart after round 2: 1.5 reached the threshold 1 in a block of rank 1 with 1 arm, after 2 of its rounds'
        """
        return self.why_in(Policy.restart_in_words)

    def why_in(self, words: Callable[[Mapping[str, Any]], str]) -> str:
        """The same in a policy's own words: its ``restart_in_words``."""
        if self.ended == "horizon":
            return f"horizon: the run ended with round {self.end:,}"
        said = "" if self.note is None else words(self.note)
        return f"restart after round {self.end:,}" + (f": {said}" if said else "")


@dataclasses.dataclass(frozen=True)
class Episodes(Entries[Episode]):
    """The episodes of a run: a sequence of ``Episode``. A slice is a tuple of them.

    Attributes
    ----------
    regret
        The regret of the whole run.
    """

    _noun = "episode"
    regret: float
    _episodes: tuple[Episode, ...] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return len(self._episodes)

    def _entry(self, number: int) -> Episode:
        return self._episodes[number]

    @property
    def restarts(self) -> NDArray[np.int64]:
        """The rounds after which the policy restarted."""
        return np.array([episode.end for episode in self if episode.ended == "restart"], dtype=np.int64)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of rounds of each episode."""
        return np.array([episode.rounds for episode in self], dtype=np.int64)

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each episode, for tables and frames."""
        return [
            {name: value for name, value in episode._asdict().items() if name != "note"} | {"rounds": episode.rounds}
            for episode in self
        ]


def episodes_of_run(
    arms: ArrayLike,
    means: ArrayLike,
    next_means: ArrayLike,
    episode_of_round: ArrayLike,
    *,
    blocks: ArrayLike | None = None,
    notes: Iterable[Mapping[str, Any] | None] = (),
    top: float = 1.0,
) -> Episodes:
    """What each episode of a run cost, how much changed in it, and why it ended.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``.
    episode_of_round
        The episode of each round, as a log has it.
    blocks
        The block of each round.
    notes
        What the policy said about its restarts: a list with one note for each restart, ``explain(…)["last_restart"]``
        right after it, in any order; None is left out. One about the last round tells of a restart that a log cannot
        show.
    top
        The mean from which regret is counted.

    Returns
    -------
    Episodes
        A sequence, one entry for each.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.measures import episodes_of_run
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
    >>> log = ma.simulate(ma.Elimination(beta=1.0), world, horizon=5_000, seed=1, log=True).log("Elimination")
    >>> found = episodes_of_run(log.arm, log.mean, log.next_mean, log.episode, blocks=log.block)
    >>> sum(episode.rounds for episode in found), found[-1].ended
    (5000, 'horizon')
    """
    played, mean, next_mean = checked_log(arms, means, next_means)
    parts = checked_parts("episode_of_round", episode_of_round, played.size)
    block = None if blocks is None else checked_parts("blocks", blocks, played.size).labels
    top = fraction("episodes_of_run", "top", top)
    edges = parts.edges.tolist()
    told = checked_notes(notes, edges)
    fall = arriving_falls(mean, next_mean)
    slots, _ = numbered(played)
    is_first = np.zeros(played.size, dtype=bool)
    is_first[np.unique(slots, return_index=True)[1]] = True
    plain_means, plain_falls = mean.tolist(), fall.tolist()
    found = []
    for place, (start, end) in enumerate(itertools.pairwise(edges)):
        falls = plain_falls[start:end]
        is_last = place == len(edges) - 2
        found.append(
            Episode(
                number=int(parts.labels[start]),
                start=start + 1,
                end=end,
                regret=exact_sum(top, plain_means[start:end]),
                variation=math.fsum(map(abs, falls)),
                rotting_variation=math.fsum(change for change in falls if change > 0.0),
                changes=sum(change != 0.0 for change in falls),
                rotting_changes=sum(change > 0.0 for change in falls),
                arms=int(np.unique(slots[start:end]).size),
                new_arms=int(is_first[start:end].sum()),
                blocks=None if block is None else int(np.unique(block[start:end]).size),
                ended="horizon" if is_last and end not in told else "restart",
                note=told.get(end),
            )
        )
    return Episodes(regret=exact_sum(top, plain_means), _episodes=tuple(found))


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
    _parts: tuple[RegretPart, ...] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return len(self._parts)

    def _entry(self, number: int) -> RegretPart:
        return self._parts[number]

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

    Returns
    -------
    RegretParts
        A sequence, one entry for each part.

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
    played, mean, next_mean = checked_log(arms, means, next_means)
    cut = checked_parts("parts", parts, played.size)
    top = fraction("decomposed_regret", "top", top)
    spare = np.zeros(cut.edges.size - 1) if unplayed is None else numbers("unplayed", unplayed, 1, each="part")
    if spare.size != cut.edges.size - 1:
        raise ValueError(
            f"unplayed has {spare.size:,} entries but there are {cut.edges.size - 1:,} parts; give one for each"
        )
    slots, arm_of_slot = numbered(played)
    room = new_room(played.size, arm_of_slot.size)
    best_mean, best_slot = np.zeros(played.size), np.zeros(spare.size, dtype=np.int64)
    best_loop(room, slots, mean, next_mean, cut.edges, spare, best == "initial", best_mean, best_slot)
    edges, plain_means, plain_best = cut.edges.tolist(), mean.tolist(), best_mean.tolist()
    found = []
    for place, (start, end) in enumerate(itertools.pairwise(edges)):
        slot = int(best_slot[place])
        found.append(
            RegretPart(
                label=int(cut.labels[start]),
                start=start + 1,
                end=end,
                regret=exact_sum(top, plain_means[start:end]),
                of_best=exact_sum(top, plain_best[start:end]),
                to_best=exact_difference(plain_best[start:end], plain_means[start:end]),
                arms=int(np.unique(slots[start:end]).size),
                best_arm=None if slot < 0 else int(arm_of_slot[slot]),
            )
        )
    return RegretParts(
        regret=exact_sum(top, plain_means),
        of_best=exact_sum(top, plain_best),
        to_best=exact_difference(plain_best, plain_means),
        best=best,
        _parts=tuple(found),
    )


class Corruption(NamedTuple):
    """How far a block is from one in which nothing changes."""

    label: int  # the number of the block
    start: int  # its first round
    end: int  # its last round
    level: float  # the least alpha for which it is alpha-mildly corrupt
    arm: int  # the arm that moved most


def corruption(
    arms: ArrayLike, means: ArrayLike, next_means: ArrayLike, blocks: ArrayLike, *, reference: str = "centre"
) -> list[Corruption]:
    """The level of mild corruption of each block: how far any of its arms is ever from where it belongs.

    A block is alpha-mildly corrupt if means mu(a) exist with abs(mu_t(a) - mu(a)) <= alpha for all its rounds t and
    arms a (Section 4.2). The least such alpha is half the widest range of an arm's mean in the rounds of the block.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``. Arms that were not played in a block do not move in it.
    blocks
        The block of each round.
    reference
        ``"centre"``: mu(a) is the middle of the arm's range, the best choice. ``"initial"``: the mean with
        which it began the block, from which the proof counts gaps; the level is at most twice as high.

    Returns
    -------
    list of Corruption
        One entry for each block.

    Examples
    --------
    >>> from manyarms.measures import corruption
    >>> corruption([0, 0, 1, 1], [0.75, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.0], [1, 1, 1, 1])
    [Corruption(label=1, start=1, end=4, level=0.125, arm=0)]
    """
    one_of("corruption", "reference", reference, REFERENCES)
    played, mean, next_mean = checked_log(arms, means, next_means)
    cut = checked_parts("blocks", blocks, played.size)
    slots, arm_of_slot = numbered(played)
    room = new_room(0, arm_of_slot.size)
    level, slot = np.zeros(cut.edges.size - 1), np.zeros(cut.edges.size - 1, dtype=np.int64)
    corruption_loop(room, slots, mean, next_mean, cut.edges, reference == "initial", level, slot)
    edges = cut.edges.tolist()
    return [
        Corruption(
            label=int(cut.labels[start]),
            start=start + 1,
            end=end,
            level=float(level[place]),
            arm=int(arm_of_slot[slot[place]]),
        )
        for place, (start, end) in enumerate(itertools.pairwise(edges))
    ]


class Detection(NamedTuple):
    """A significant shift, and the restart that answered it."""

    shift: int  # its round
    restart: int | None  # the round of the first restart at or after it and before the next shift

    @property
    def delay(self) -> int | None:
        """How many rounds the restart came after the shift."""
        return None if self.restart is None else self.restart - self.shift


@dataclasses.dataclass(frozen=True)
class Detections(Entries[Detection]):
    """Restarts held against significant shifts: a sequence of ``Detection``, one for each shift.

    A slice is a tuple of them.

    Attributes
    ----------
    false_restarts
        The rounds of restarts that answered no shift: before the first one, or not the first since the last one.
    """

    _noun = "shift"
    false_restarts: tuple[int, ...]
    _detections: tuple[Detection, ...] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return len(self._detections)

    def _entry(self, number: int) -> Detection:
        return self._detections[number]

    @property
    def missed(self) -> tuple[int, ...]:
        """The rounds of shifts that no restart answered before the next one, or before the end."""
        return tuple(detection.shift for detection in self if detection.restart is None)

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of those that were answered."""
        return tuple(detection.delay for detection in self if detection.delay is not None)

    def __str__(self) -> str:
        answered = len(self) - len(self.missed)
        text = f"{answered} of {len(self)} shifts answered"
        if self.delays:
            text += f" after {sum(self.delays) / len(self.delays):.4g} rounds on average"
        return f"{text}; {len(self.false_restarts)} false restarts"


def detections(shifts: Shifts | ArrayLike, restarts: ArrayLike) -> Detections:
    """For each significant shift, the first restart after it and before the next one; and the restarts for no reason.

    Parameters
    ----------
    shifts
        What ``significant_shifts`` found, or the rounds of the shifts.
    restarts
        The rounds after which the policy restarted: ``episodes_of_run(…).restarts``. A restart after the very round
        of a shift has seen that round's reward, and answers it with a delay of 0.

    Returns
    -------
    Detections
        A sequence, one entry for each shift.

    Examples
    --------
    >>> from manyarms.measures import detections
    >>> found = detections(shifts=[100, 200, 300], restarts=[50, 120, 130, 310])
    >>> print(found)
    2 of 3 shifts answered after 15 rounds on average; 2 false restarts
    >>> found.missed, found.false_restarts
    ((200,), (50, 130))
    """
    tau = increasing("shifts", shifts.rounds if isinstance(shifts, Shifts) else shifts)
    answers = increasing("restarts", restarts)
    first = np.searchsorted(answers, tau)
    after = np.searchsorted(answers, np.append(tau[1:], NEVER)) if tau.size else first
    is_answered = first < after
    found = tuple(
        Detection(shift=shift, restart=int(answers[place]) if answered else None)
        for shift, place, answered in zip(tau.tolist(), first.tolist(), is_answered.tolist(), strict=True)
    )
    return Detections(
        false_restarts=tuple(np.delete(answers, first[is_answered]).tolist()),
        _detections=found,
    )


# ---------------------------------------------------------------- sums


def exact_sum(top: float, means: list[float]) -> float:
    """The sum of top - mean, rounded once: differences are not rounded before they are summed."""
    return math.fsum([top] * len(means) + [-mean for mean in means])


def exact_difference(best: list[float], means: list[float]) -> float:
    """The sum of best - mean, rounded once."""
    return math.fsum(best + [-mean for mean in means])


# ---------------------------------------------------------------- kernels


class Room(NamedTuple):
    """What the kernels write to: one entry for each slot, and a tree over the slots of a part."""

    place: NDArray[np.int64]  # slot -> its leaf in the part, counted from 1; 0: not met yet
    first: NDArray[np.float64]  # slot -> the mean with which it began the part
    low: NDArray[np.float64]  # slot -> the least mean …
    high: NDArray[np.float64]  # … and the greatest
    tree: NDArray[np.float64]  # the means at the leaves, above them the larger of two


def new_room(rounds: int, slots: int) -> Room:
    """Empty arrays; the tree has room for a part in which all arms are played."""
    leaves = 1
    while leaves < min(slots, rounds):
        leaves *= 2
    return Room(
        place=np.zeros(slots, dtype=np.int64),
        first=np.zeros(slots),
        low=np.zeros(slots),
        high=np.zeros(slots),
        tree=np.zeros(2 * leaves),
    )


@kernel
def write_leaf(tree: NDArray[np.float64], leaves: int, leaf: int, mean: float) -> None:
    """An arm's mean has changed: so may the largest ones above it."""
    node = leaves + leaf
    tree[node] = mean
    while node > 1:
        node >>= 1
        larger = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == larger:
            break
        tree[node] = larger


@loop
def best_loop(
    room: Room,
    slots: NDArray[np.int64],
    means: NDArray[np.float64],
    next_means: NDArray[np.float64],
    edges: NDArray[np.int64],
    spare: NDArray[np.float64],
    is_initial: bool,
    best_mean: NDArray[np.float64],
    best_slot: NDArray[np.int64],
) -> None:
    """The mean of the best arm in each round of each part; with ``is_initial`` also which arm that is, or -1."""
    place, tree = room.place, room.tree
    for part in range(edges.size - 1):
        start, end = edges[part], edges[part + 1]
        # Who is in the part, with which mean, and who begins it best? Of equal ones, the first to be played.
        arms = 0
        best = -1
        for entry in range(start, end):
            slot = slots[entry]
            if place[slot] == 0:
                arms += 1
                place[slot] = arms
                room.first[slot] = means[entry]
                if best < 0 or means[entry] > room.first[best]:
                    best = slot
        if is_initial:
            if spare[part] > room.first[best]:
                best = -1
            present = spare[part] if best < 0 else room.first[best]
            for entry in range(start, end):
                if slots[entry] == best:
                    present = means[entry]
                best_mean[entry] = present
                if slots[entry] == best:
                    present = next_means[entry]
            best_slot[part] = best
        else:
            leaves = 1
            while leaves < arms:
                leaves *= 2
            for node in range(2 * leaves):
                tree[node] = 0.0
            for entry in range(start, end):
                slot = slots[entry]
                tree[leaves + place[slot] - 1] = room.first[slot]
            for node in range(leaves - 1, 0, -1):
                tree[node] = max(tree[2 * node], tree[2 * node + 1])
            for entry in range(start, end):
                leaf = place[slots[entry]] - 1
                write_leaf(tree, leaves, leaf, means[entry])
                best_mean[entry] = max(tree[1], spare[part])
                write_leaf(tree, leaves, leaf, next_means[entry])
            best_slot[part] = -1
        for entry in range(start, end):
            place[slots[entry]] = 0


@loop
def corruption_loop(
    room: Room,
    slots: NDArray[np.int64],
    means: NDArray[np.float64],
    next_means: NDArray[np.float64],
    edges: NDArray[np.int64],
    is_initial: bool,
    levels: NDArray[np.float64],
    worst: NDArray[np.int64],
) -> None:
    """For each part, the level of corruption and the arm it is that of: of equal ones, the first that gets there."""
    place, first, low, high = room.place, room.first, room.low, room.high
    for part in range(edges.size - 1):
        start, end = edges[part], edges[part + 1]
        levels[part] = 0.0
        worst[part] = slots[start]
        for entry in range(start, end):
            slot = slots[entry]
            if place[slot] == 0:
                place[slot] = 1
                first[slot] = low[slot] = high[slot] = means[entry]
            # What a play does is seen in the next round, if the part has one and no play of the same arm says better.
            is_seen = entry + 1 < end and slots[entry + 1] != slot
            for turn in range(2 if is_seen else 1):
                mean = next_means[entry] if turn == 1 else means[entry]
                low[slot] = min(low[slot], mean)
                high[slot] = max(high[slot], mean)
            if is_initial:
                level = max(first[slot] - low[slot], high[slot] - first[slot])
            else:
                level = (high[slot] - low[slot]) / 2.0
            if level > levels[part]:
                levels[part] = level
                worst[part] = slot
        for entry in range(start, end):
            place[slots[entry]] = 0


# ---------------------------------------------------------------- checks of what is given


class Parts(NamedTuple):
    """A run cut into blocks or episodes."""

    labels: NDArray[np.int64]  # of each round
    edges: NDArray[np.int64]  # where parts begin, counted from 0; and the number of rounds


def checked_parts(name: str, labels: ArrayLike, rounds: int) -> Parts:
    """The parts of a run from the label of each round; labels never decrease."""
    label = whole_numbers(name, labels)
    if label.size != rounds:
        raise ValueError(f"arms has {rounds:,} rounds but {name} has {label.size:,}; give one entry for each round")
    falls = np.flatnonzero(label[1:] < label[:-1])
    if falls.size:
        place = int(falls[0])
        raise ValueError(
            f"{name} must not decrease, but goes from {label[place]} to {label[place + 1]} in round {place + 2}; "
            "number blocks and episodes in the order in which they were played"
        )
    inner = np.flatnonzero(label[1:] != label[:-1]) + 1
    edges = np.concatenate([[0], inner, [rounds]]) if rounds else np.zeros(1)
    return Parts(labels=label, edges=edges.astype(np.int64))


def checked_notes(notes: Any, edges: list[int]) -> dict[int, dict[str, Any]]:
    """The notes about restarts by the round of the restart, which ends an episode."""
    if isinstance(notes, Mapping | str) or not isinstance(notes, Iterable):
        raise ValueError(
            f"episodes_of_run: notes must be a list with one note for each restart, not {notes!r}; put one alone in []"
        )
    told = {}
    ends = set(edges[1:])
    for note in notes:
        if note is None:
            continue
        if not isinstance(note, Mapping) or "round" not in note:
            raise ValueError(
                f"episodes_of_run: each of the notes must have a round, not {note!r}; "
                'take them from explain(…)["last_restart"]'
            )
        for name in NOTE_FIELDS:
            value = plain_number(note.get(name, 0))
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(
                    f"episodes_of_run: {name} of a note must be a number, not {value!r}; leave {name} out if not known"
                )
        round = plain_number(note["round"])
        if round not in ends:
            raise ValueError(
                f"episodes_of_run: a note tells of a restart after round {round!r}, where no episode ends; "
                "give the notes of the same run"
            )
        told[int(round)] = dict(note)
    return told


def increasing(name: str, rounds: ArrayLike) -> NDArray[np.int64]:
    """Rounds of a run, each after the one before it."""
    found = whole_numbers(name, rounds, each=name[:-1], remedy="give rounds, counted from 1")
    for round in found[:1].tolist():
        whole("detections", f"the first of the {name}", round, 1, NEVER)
    if (np.diff(found) <= 0).any():
        place = int(np.flatnonzero(np.diff(found) <= 0)[0])
        raise ValueError(
            f"{name} must increase, but {found[place]} is followed by {found[place + 1]}; "
            "sort them and leave out doubles"
        )
    return found
