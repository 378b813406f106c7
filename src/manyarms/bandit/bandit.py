"""The live object itself: ask, tell, explain, save and load."""

import functools
import json
import math
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from ..atomic import at_once
from ..contract import Choice, ask, counts, tell
from ..policies.base import Policy, checked_slots
from ..replication import begun_policy
from ..snapshots import (
    SnapshotError,
    check_seal,
    check_version,
    sealed,
    state_from_json,
    state_to_json,
    word_from_json,
)
from ..specs import checked_seed, count, number, plain_number, spec_from_json
from ..states import enlarged
from .arms import KnownArms
from .decisions import Decision, NoMoreItems, OpenDecisions, Told

FIRST_ROUNDS = 1024
"""A new bandit has room for this many rounds; the room doubles when it is used up."""


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
        self._known = KnownArms(items)
        self._open = OpenDecisions()
        self._rounds = FIRST_ROUNDS  # for how many there is room
        checked_slots(self.policy, self._rounds)
        self._state = begun_policy(self.policy, self._rounds, self.seed, self.replication)
        self._counts = counts(self._state)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return (
            f"<Bandit {self.policy.label()}: {self.asked:,} asked, {self.told:,} told, "
            f"{len(self._open):,} open, seed {self.seed}>"
        )

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if self._known.sources is not None:
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
        waiting = self._open.waiting.get(self._counts.blocks, 0)
        choice = Choice(*map(plain_number, ask(self._state, self.asked + 1, waiting)))
        is_new = choice.arm not in self._known.positions
        if is_new:
            self._known.add(choice.arm)
            if len(self._known.positions) >= self._known.pruning:
                self._prune(choice.arm)
        self.asked += 1
        self._open.add(self.asked, choice)
        return Decision(self.asked, choice.arm, is_new, choice.probability, self._known.taken.get(choice.arm))

    def _prune(self, newest: int) -> None:
        """Forget arms that the policy has let go, so that memory follows the arms kept."""
        kept = {int(arm) for arm in self.policy.kept_arms(self._state)} | {newest}
        kept.update(choice.arm for choice in self._open.choices.values())
        self._known.keep_only(kept)

    @_one_at_a_time
    def add_items(self, items: Iterable[Any]) -> None:
        """More items, for when the first ones are used up.

        Parameters
        ----------
        items
            Taken after all that were given before. A bandit that was made without items takes
            some only as long as no arm has been asked for.
        """
        self._known.add_items(items)

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
        if identity not in self._open.choices:
            return Told.REPEATED
        if self.told >= self._rounds:
            self._make_room()  # first, because there may be none; nothing has changed until then
        choice = self._open.close(identity)
        before = self._counts
        self._state = tell(self._state, choice, scaled)
        self._counts = counts(self._state)
        self.told += 1
        return Told.IGNORED if self._counts.ignored > before.ignored else Told.COUNTED

    def _make_room(self) -> None:
        """Go on with arrays for twice as many rounds."""
        rounds = 2 * self._rounds
        checked_slots(self.policy, rounds)
        self._state, self._rounds = enlarged(self._state, self.policy.start(rounds)), rounds

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
        return self._open.close(self._identity(decision)) is not None

    def _identity(self, decision: Decision | int) -> int:
        """The id of a decision this bandit has made."""
        identity = decision.id if isinstance(decision, Decision) else decision
        if isinstance(identity, bool) or not isinstance(identity, (int, np.integer)):
            raise TypeError(f"Bandit: give a decision or its id, not {decision!r}")
        if not 1 <= identity <= self.asked:
            known = f"ids run from 1 to {self.asked} so far" if self.asked else "nothing has been asked yet"
            raise KeyError(f"Bandit: no decision has the id {identity}; {known}")
        choice = self._open.choices.get(int(identity))
        if choice is not None and isinstance(decision, Decision):
            mine = (choice.arm, choice.probability)
            if mine != (decision.arm, decision.probability):
                raise KeyError(
                    f"Bandit: this bandit's decision {identity} was for arm {choice.arm}, not {decision.arm}, or with "
                    "another probability; the one given is another bandit's"
                )
        return int(identity)

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
        return list(self._open.choices)

    @property
    def ignored(self) -> int:
        """Rewards that came after their block was closed."""
        return int(self._counts.ignored)

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
        return {
            "policy": self.policy.label(),
            "asked": self.asked,
            "told": self.told,
            "open": len(self._open),
            "restarts": int(self._counts.restarts),
            "blocks": int(self._counts.blocks),
            "arms_drawn": int(self._counts.arms),
            "ignored": int(self._counts.ignored),
        } | self.policy.explain(self._state)

    @_one_at_a_time
    def to_json(self) -> dict[str, Any]:
        """The whole bandit as plain JSON values, without its items."""
        return sealed(
            {
                "policy": self.policy.to_json(),
                "seed": f"{self.seed:#x}",
                "replication": self.replication,
                "reward_range": list(self.reward_range),
                "asked": self.asked,
                "told": self.told,
                "rounds": self._rounds,
                **self._known.to_json(),
                "open": self._open.to_json(),
                "state": state_to_json(self._state),
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot, all of it or nothing.

        Items are not in it: give the same ones to ``load``.
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"Bandit.save: the folder of {target} does not exist; make it first")
        text = json.dumps(self.to_json(), allow_nan=False)
        with at_once(target) as temporary:
            temporary.write_text(text, encoding="utf-8")

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
        check_version(values)
        try:
            bandit = cls(
                _policy_from_json(values["policy"]),
                word_from_json(values["seed"], "seed"),
                reward_range=values["reward_range"],
                replication=values["replication"],
            )
            bandit._read(values)
            has_items = values["has_items"]
            # Last, because the checks above can say what is wrong, and this one only that something is.
            check_seal(values)
        except SnapshotError:
            raise
        except KeyError as error:
            raise SnapshotError(f"the snapshot lacks {error.args[0]!r}") from None
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise SnapshotError(f"the snapshot cannot be read: {error}") from None
        bandit._known.take_again(has_items, items)
        return bandit

    def _read(self, values: dict[str, Any]) -> None:
        """Everything that a snapshot holds beyond what the constructor takes."""
        self.asked = count("snapshot", "asked", values["asked"], least=0)
        self.told = count("snapshot", "told", values["told"], least=0)
        self._known.read(values)
        self._rounds = count("snapshot", "rounds", values["rounds"], least=FIRST_ROUNDS)
        if self._rounds > max(FIRST_ROUNDS, 2 * self.told) or self._rounds < self.told:
            raise SnapshotError(f"rounds: {self._rounds} is no room for {self.told} rewards")
        self._state = state_from_json(values["state"], self.policy.start(self._rounds))
        self._counts = counts(self._state)
        self._open.read(values["open"], self.policy.slots(self._rounds), self._counts.blocks, self.asked)
        if self.asked < self.told + len(self._open):
            raise SnapshotError(
                f"asked: {self.asked} decisions are fewer than {self.told} told and {len(self._open)} open ones"
            )


def _policy_from_json(values: Any) -> Any:
    if not isinstance(values, dict):
        raise SnapshotError(f"policy: expected an object with a type, not {values!r:.60}")
    try:
        return spec_from_json(values)
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"policy: {error}") from None


def checked_reward_range(reward_range: object) -> tuple[float, float]:
    """The least and the greatest reward."""
    try:
        low, high = (number("Bandit", "reward_range", end) for end in reward_range)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"Bandit: reward_range must be two finite numbers, not {reward_range!r}") from None
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"Bandit: reward_range must go from a lower to a higher number, not {reward_range!r}")
    return low, high
