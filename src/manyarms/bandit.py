"""Bandit: a policy that is asked and told, live.

It calls the same kernels as the simulation, as plain Python: nothing is compiled, and the
decisions are those of the simulation to the bit.

How late and odd answers are taken:

- A tell may come late and in any order: the weight of a reward belongs to its decision.
- A second tell for the same decision changes nothing.
- A tell for a decision whose block has been closed meanwhile is counted and ignored.
- A tell for a decision that was never made is an error, and so is a reward that is not a
  number in range. Neither changes anything.

Memory follows the arms the policy keeps and the decisions that await a reward, never the arms
and items that have gone by.
"""

import collections
import dataclasses
import enum
import functools
import hashlib
import json
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from .contract import Choice, ask, begin, counts, tell
from .policies.base import Policy, checked_slots
from .snapshots import SnapshotError, enlarged, state_from_json, state_to_json, word_from_json
from .specs import checked_seed, count, number, plain_number, positive, spec_from_json
from .streams import POLICY_STREAM, replication_key, stream_key
from .version import __version__

FORMAT = "manyarms.bandit"
VERSION = 1

FIRST_ROUNDS = 1024
"""A new bandit has room for this many rounds; the room doubles when it is used up."""

FIRST_PRUNING = 1000
"""A bandit that remembers this many arms forgets those let go; the next time at twice what is left."""


class Told(enum.StrEnum):
    """What became of a tell."""

    COUNTED = "counted"
    REPEATED = "repeated"  # this decision had its reward already, or was forgotten
    IGNORED = "ignored"  # its block is closed


@dataclasses.dataclass(frozen=True)
class Decision:
    """An answer to ``ask``, awaiting its reward."""

    id: int
    arm: int
    is_new: bool  # whether this arm was never asked for before
    probability: float  # with which the arm was chosen
    item: Any = None  # what the arm stands for, if items were given


class NoMoreItems(LookupError):
    """A fresh arm is needed, but the items are used up."""

    def __init__(self, message: str = "", decisions: Sequence[Decision] = ()) -> None:
        super().__init__(message)
        self.decisions = list(decisions)  # those that the same ask had made before


def _one_at_a_time(method: Callable[..., Any]) -> Any:
    """Let threads that share a bandit take turns."""

    @functools.wraps(method)
    def turn(self: "Bandit", *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return turn


class Bandit:
    """A live policy. Threads may share it.

    Parameters
    ----------
    policy
        Which arm next?
    seed
        A whole number from 0 to 2^64 - 1; a random one if left out.
    items
        What the arms stand for: anything iterable, however long. Fresh arms take its items in
        order as they are first asked for.
    reward_range
        The least and the greatest possible reward, if not 0 and 1.
    replication
        Which replication of a simulation with the same seed this repeats.

    Examples
    --------
    >>> import manyarms as ma
    >>> bandit = ma.Bandit(ma.Elimination(beta=1.0), seed=7, items=["red", "green", "blue"])
    >>> decision = bandit.ask()
    >>> decision.item, decision.is_new
    ('red', True)
    >>> bandit.tell(decision, reward=1.0)
    <Told.COUNTED: 'counted'>
    """

    def __init__(
        self,
        policy: Policy,
        seed: int | None = None,
        *,
        items: Iterable[Any] | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        replication: int = 0,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"Bandit: policy must be a policy such as ma.Elimination(beta=1.0), not {policy!r:.80}")
        if seed is not None and isinstance(seed, Iterable):
            raise TypeError("Bandit: the second argument is the seed; pass items as items=…")
        if policy.sees_means:
            raise TypeError(
                f"Bandit: {type(policy).__name__} is shown the true means, which only a simulation can do; "
                "choose another policy"
            )
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        self.policy = policy.without_horizon()
        self.seed = checked_seed(seed)
        self.replication = count("Bandit", "replication", replication, least=0)
        self.reward_range = checked_reward_range(reward_range)
        self.asked = 0  # decisions made
        self.told = 0  # rewards counted or ignored
        # Items still to be taken: one source after another.
        self._items: collections.deque[Iterator[Any]] | None = (
            None if items is None else collections.deque([_iterator(items)])
        )
        self._positions: dict[int, int] = {}  # arm -> the how-manieth fresh arm it was, for arms asked for and kept
        self._taken: dict[int, Any] = {}  # arm -> its item, for the same arms
        self._fresh = 0  # arms asked for so far
        self._pruning = FIRST_PRUNING  # prune when this many arms are remembered
        self._open: dict[int, Choice] = {}  # decisions without a reward
        self._waiting: dict[int, int] = {}  # block -> its open decisions
        self._rounds = FIRST_ROUNDS
        key = stream_key(replication_key(self.seed, self.replication), POLICY_STREAM, self.policy.digest())
        checked_slots(self.policy, self._rounds)
        self._state = begin(self.policy.start(self._rounds), np.uint64(key))
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return (
            f"<Bandit {self.policy.label()}: {self.asked:,} asked, {self.told:,} told, "
            f"{len(self._open):,} open, seed {self.seed}>"
        )

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if self._items is not None:
            raise TypeError("a bandit with items cannot be copied, because its items cannot; use to_json and from_json")
        return type(self).from_json(self.to_json())

    def __reduce__(self) -> Any:
        raise TypeError("a bandit is not pickled; use save and load, or to_json and from_json")

    @overload
    def ask(self) -> Decision: ...

    @overload
    def ask(self, n: int) -> list[Decision]: ...

    @_one_at_a_time
    def ask(self, n: int | None = None) -> Decision | list[Decision]:
        """Which arm next?

        Parameters
        ----------
        n
            How many decisions at once; a list of that many is returned. A policy that chooses
            at random draws each of them anew; one that does not (UCB, say) goes on through the
            arms it has not tried yet and then repeats its best.
        """
        if n is None:
            return self._decide()
        decisions: list[Decision] = []
        for _ in range(count("Bandit.ask", "n", n)):
            try:
                decisions.append(self._decide())
            except NoMoreItems as error:
                # What was decided stands; the caller learns how far it got.
                made = f"{error} ({len(decisions)} of {n} decisions were made before)"
                raise NoMoreItems(made, decisions) from None
        return decisions

    def _decide(self) -> Decision:
        block = counts(self._state).blocks
        choice = ask(self._state, self.asked + 1, self._waiting.get(block, 0))
        choice = Choice(
            slot=int(choice.slot),
            arm=int(choice.arm),
            probability=float(choice.probability),
            block=int(choice.block),
            round=int(choice.round),
        )
        is_new = choice.arm not in self._positions
        if is_new:
            self._bind(choice.arm)
        self.asked += 1
        self._open[self.asked] = choice
        self._waiting[choice.block] = self._waiting.get(choice.block, 0) + 1
        return Decision(
            id=self.asked,
            arm=choice.arm,
            is_new=is_new,
            probability=choice.probability,
            item=self._taken.get(choice.arm),
        )

    def _bind(self, arm: int) -> None:
        """Remember that this arm was asked for, with the next item if there are any."""
        if self._items is not None:
            self._taken[arm] = self._next_item()
        self._positions[arm] = self._fresh
        self._fresh += 1
        if len(self._positions) >= self._pruning:
            self._prune(arm)

    def _next_item(self) -> Any:
        """The next item of the first source that has one."""
        assert self._items is not None
        while self._items:
            try:
                return next(self._items[0])
            except StopIteration:
                self._items.popleft()
        raise NoMoreItems(
            f"a fresh arm is needed, but all {self._fresh:,} items are used up; add items with add_items, or "
            "choose a policy that draws fewer arms. Nothing is lost: ask again then"
        )

    def _prune(self, newest: int) -> None:
        """Forget arms that the policy has let go, so that memory follows the arms kept."""
        kept = {int(arm) for arm in self.policy.kept_arms(self._state)} | {newest}
        kept.update(choice.arm for choice in self._open.values())
        self._positions = {arm: place for arm, place in self._positions.items() if arm in kept}
        self._taken = {arm: item for arm, item in self._taken.items() if arm in kept}
        # Looking is dear, so it waits until half of what is remembered may be out of use.
        self._pruning = max(FIRST_PRUNING, 2 * len(self._positions))

    @_one_at_a_time
    def add_items(self, items: Iterable[Any]) -> None:
        """More items, for when the first ones are used up.

        Parameters
        ----------
        items
            Taken after all that were given before. A bandit that was made without items takes
            some only as long as no arm has been asked for.
        """
        more = _iterator(items)
        if self._items is None:
            if self._fresh:
                raise ValueError(
                    f"Bandit.add_items: this bandit has no items, and {self._fresh:,} arms have been asked for "
                    "without one; give items from the start"
                )
            self._items = collections.deque()
        self._items.append(more)

    @_one_at_a_time
    def tell(self, decision: Decision | int, reward: float) -> Told:
        """What came of a decision.

        Parameters
        ----------
        decision
            The decision, or its id.
        reward
            A number within ``reward_range``, or True and False for 1 and 0.
        """
        identity = self._identity(decision)
        scaled = self._scaled(reward)
        if identity not in self._open:
            return Told.REPEATED
        if self.told >= self._rounds:
            # First the room, which there may not be; nothing has changed until then.
            checked_slots(self.policy, 2 * self._rounds)
            larger = self.policy.start(2 * self._rounds)
            self._state, self._rounds = enlarged(self._state, larger), 2 * self._rounds
        choice = self._close(identity)
        ignored = counts(self._state).ignored
        self._state = tell(self._state, choice, scaled)
        self.told += 1
        return Told.IGNORED if counts(self._state).ignored > ignored else Told.COUNTED

    @_one_at_a_time
    def forget(self, decision: Decision | int) -> bool:
        """No reward will come for this decision: stop waiting for it.

        A tell that comes all the same changes nothing. Without this, decisions that are never
        answered stay open for ever, in memory and in snapshots.

        This is for answers that get lost whatever the arm. If an arm itself fails to answer, tell
        the lowest reward instead: the policy would ask for it again and again.

        Parameters
        ----------
        decision
            The decision, or its id.

        Returns
        -------
        bool
            Whether it was open.
        """
        return self._close(self._identity(decision)) is not None

    def _identity(self, decision: Decision | int) -> int:
        """The id of a decision this bandit has made."""
        identity = decision.id if isinstance(decision, Decision) else decision
        if isinstance(identity, bool) or not isinstance(identity, (int, np.integer)):
            raise TypeError(f"Bandit: give a decision or its id, not {decision!r}")
        if not 1 <= identity <= self.asked:
            known = f"ids run from 1 to {self.asked} so far" if self.asked else "nothing has been asked yet"
            raise KeyError(f"Bandit: no decision has the id {identity}; {known}")
        choice = self._open.get(int(identity))
        if choice is not None and isinstance(decision, Decision):
            mine = (choice.arm, choice.probability)
            if mine != (decision.arm, decision.probability):
                raise KeyError(
                    f"Bandit: this bandit's decision {identity} was for arm {choice.arm}, not {decision.arm}, or with "
                    "another probability; the one given is another bandit's"
                )
        return int(identity)

    def _close(self, identity: int) -> Choice | None:
        """Take a decision off the open ones, if it is one of them."""
        choice = self._open.pop(identity, None)
        if choice is not None:
            self._waiting[choice.block] -= 1
            if self._waiting[choice.block] == 0:
                del self._waiting[choice.block]
        return choice

    def _scaled(self, reward: object) -> float:
        low, high = self.reward_range
        plain = plain_number(reward)
        try:
            value = float(plain) if isinstance(plain, bool) else number("Bandit.tell", "reward", plain)
        except ValueError:
            raise ValueError(f"reward {reward!r} is not a finite number; nothing was changed") from None
        if not low <= value <= high:
            raise ValueError(
                f"reward {reward!r} is outside [{low:g}, {high:g}]; rescale it or pass reward_range to Bandit. "
                "Nothing was changed"
            )
        # Rewards in [0, 1] pass untouched, so that live and simulated runs agree to the bit.
        return value if (low, high) == (0.0, 1.0) else (value - low) / (high - low)

    @property
    def open_decisions(self) -> list[int]:
        """The ids of decisions without a reward."""
        return list(self._open)

    @property
    def ignored(self) -> int:
        """Rewards that came after their block was closed."""
        return int(counts(self._state).ignored)

    @_one_at_a_time
    def explain(self) -> dict[str, Any]:
        """Where the policy stands, and why it last restarted, in numbers.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Elimination(beta=1.0, threshold=0.5, horizon=100), seed=1)
        >>> while bandit.explain()["restarts"] == 0:
        ...     _ = bandit.tell(bandit.ask(), reward=0.0)
        >>> why = bandit.explain()["last_restart"]
        >>> why["statistic"] >= why["threshold"]
        True
        """
        tally = counts(self._state)
        return {
            "policy": self.policy.label(),
            "asked": self.asked,
            "told": self.told,
            "open": len(self._open),
            "restarts": int(tally.restarts),
            "blocks": int(tally.blocks),
            "arms_drawn": int(tally.arms),
            "ignored": int(tally.ignored),
        } | self.policy.explain(self._state)

    @_one_at_a_time
    def to_json(self) -> dict[str, Any]:
        """The whole bandit as plain JSON values, without its items."""
        values = {
            "format": FORMAT,
            "version": VERSION,
            "package": __version__,
            "policy": self.policy.to_json(),
            "seed": f"{self.seed:#x}",
            "replication": self.replication,
            "reward_range": list(self.reward_range),
            "asked": self.asked,
            "told": self.told,
            "rounds": self._rounds,
            "fresh": self._fresh,
            "has_items": self._items is not None,
            "pruning": self._pruning,
            "positions": [[arm, place] for arm, place in self._positions.items()],
            "open": [[identity, *choice] for identity, choice in self._open.items()],
            "state": state_to_json(self._state),
        }
        return values | {"checksum": checksum(values)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot, all of it or nothing.

        Items are not in it: give the same ones to ``load``.
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"Bandit.save: the folder of {target} does not exist; make it first")
        text = json.dumps(self.to_json(), allow_nan=False)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], items: Iterable[Any] | None = None) -> Self:
        """The bandit that was saved; it goes on as if it had never stopped.

        Parameters
        ----------
        path
            Where it was saved.
        items
            The same items in the same order, from the first, if the bandit has items.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"{path} is not a snapshot: {error}") from None
        return cls.from_json(values, items)

    @classmethod
    def from_json(cls, values: Any, items: Iterable[Any] | None = None) -> Self:
        """The bandit that ``to_json`` described."""
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise SnapshotError(f"not a bandit's snapshot: its format is not {FORMAT!r}")
        if values.get("version") != VERSION:
            raise SnapshotError(
                f"the snapshot has version {values.get('version')!r}, this package reads version {VERSION}; "
                f"it was written by manyarms {values.get('package')}"
            )
        try:
            bandit = cls(
                _policy_from_json(values["policy"]),
                word_from_json(values["seed"], "seed"),
                reward_range=values["reward_range"],
                replication=values["replication"],
            )
            bandit._take_over(values)
            has_items = values["has_items"]
            written = values["checksum"]
        except SnapshotError:
            raise
        except KeyError as error:
            raise SnapshotError(f"the snapshot lacks {error.args[0]!r}") from None
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise SnapshotError(f"the snapshot cannot be read: {error}") from None
        # Last, because the checks above can say what is wrong, and this one only that something is.
        if written != checksum({key: value for key, value in values.items() if key != "checksum"}):
            raise SnapshotError("checksum: the snapshot was changed or damaged after it was written")
        bandit._rebind(has_items, items)
        return bandit

    def _take_over(self, values: dict[str, Any]) -> None:
        """Everything that a snapshot holds beyond what the constructor takes."""
        self.asked = count("snapshot", "asked", values["asked"], least=0)
        self.told = count("snapshot", "told", values["told"], least=0)
        self._fresh = count("snapshot", "fresh", values["fresh"], least=0)
        self._pruning = count("snapshot", "pruning", values["pruning"], least=FIRST_PRUNING)
        self._rounds = count("snapshot", "rounds", values["rounds"], least=FIRST_ROUNDS)
        if self._rounds > max(FIRST_ROUNDS, 2 * self.told) or self._rounds < self.told:
            raise SnapshotError(f"rounds: {self._rounds} is no room for {self.told} rewards")
        self._state = state_from_json(values["state"], self.policy.start(self._rounds))
        for place, entry in enumerate(_rows(values["positions"], "positions", 2)):
            arm, position = (count("snapshot", f"positions[{place}]", part, least=0) for part in entry)
            self._positions[arm] = position
        blocks = counts(self._state).blocks
        slots = self.policy.slots(self._rounds)
        for place, (identity, slot, arm, probability, block, round) in enumerate(_rows(values["open"], "open", 6)):
            where = f"open[{place}]"
            choice = Choice(
                slot=count("snapshot", f"{where}.slot", slot, least=0),
                arm=count("snapshot", f"{where}.arm", arm, least=0),
                probability=positive("snapshot", f"{where}.probability", probability),
                block=count("snapshot", f"{where}.block", block),
                round=count("snapshot", f"{where}.round", round),
            )
            if choice.slot >= slots or choice.block > blocks or choice.probability > 1.0:
                raise SnapshotError(f"{where}: the policy makes no such choice: {choice!r}")
            if choice.round > self.asked or identity != choice.round or choice.round in self._open:
                raise SnapshotError(f"{where}: {identity!r} is not the id of an open decision")
            self._open[choice.round] = choice
            self._waiting[choice.block] = self._waiting.get(choice.block, 0) + 1
        if self.asked < self.told + len(self._open):
            raise SnapshotError(
                f"asked: {self.asked} decisions are fewer than {self.told} told and {len(self._open)} open ones"
            )

    def _rebind(self, has_items: bool, items: Iterable[Any] | None) -> None:
        """Take the items again that were taken before, and keep those whose arms are remembered."""
        if items is None:
            if has_items:
                raise ValueError("this bandit has items; give the same ones to load, from the first")
            return
        if not has_items:
            raise ValueError("this bandit was saved without items; load it without items")
        self._items = collections.deque([_iterator(items)])
        arms = {position: arm for arm, position in self._positions.items()}
        for position in range(self._fresh):
            try:
                item = self._next_item()
            except NoMoreItems:
                raise ValueError(
                    f"only {position:,} items were given, but {self._fresh:,} had been used when the bandit was "
                    "saved; give the same items, from the first"
                ) from None
            if position in arms:
                self._taken[arms[position]] = item


def _iterator(items: Iterable[Any]) -> Iterator[Any]:
    try:
        return iter(items)
    except TypeError:
        raise TypeError(f"Bandit: items must be a list or something else to iterate over, not {items!r:.80}") from None


def checksum(values: dict[str, Any]) -> str:
    """A digest of JSON values that changes with any of them."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _policy_from_json(values: Any) -> Any:
    if not isinstance(values, dict):
        raise SnapshotError(f"policy: expected an object with a type, not {values!r:.60}")
    try:
        return spec_from_json(values)
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"policy: {error}") from None


def _rows(values: Any, where: str, width: int) -> list[list[Any]]:
    """A list of lists of that width."""
    if not isinstance(values, list):
        raise SnapshotError(f"{where}: expected a list, not {values!r:.60}")
    for place, entry in enumerate(values):
        if not isinstance(entry, (list, tuple)) or len(entry) != width:
            raise SnapshotError(f"{where}[{place}]: expected {width} values, not {entry!r:.60}")
    return values


def checked_reward_range(reward_range: object) -> tuple[float, float]:
    """The least and the greatest reward."""
    try:
        low, high = (number("Bandit", "reward_range", end) for end in reward_range)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"Bandit: reward_range must be two finite numbers, not {reward_range!r}") from None
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"Bandit: reward_range must go from a lower to a higher number, not {reward_range!r}")
    return low, high
