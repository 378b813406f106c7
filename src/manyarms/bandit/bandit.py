"""The live object itself: ask, tell, correct, explain, save and load."""

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from ..atomic import at_once
from ..contract import Choice, counts
from ..policies.base import Policy, check_corrections, check_pending
from ..replication import begun_policy
from ..snapshots import (
    VERSION,
    SnapshotError,
    check_rule,
    check_seal,
    check_version,
    rows_from_json,
    sealed,
    state_from_json,
    state_to_json,
    with_fields_of,
    word_from_json,
)
from ..specs import checked_seed, count, plain_number, positive, spec_from_json
from .arms import KnownArms
from .decisions import Decision, Limits, NoMoreItems, Told
from .kernels import make_ready
from .listener import FIRST_ROUNDS, Listener
from .rewards import checked_reward_range, scaled
from .times import Clock, Timeline

AGREED: dict[str, Any] = {"pending": None, "timeout": None, "on_timeout": None, "correctable": 0}
"""What a bandit is told of decisions without a reward or with a wrong one, and what it is if nothing is said."""


def _one_at_a_time(method: Callable[..., Any]) -> Any:
    """Let threads that share a bandit take turns."""

    @functools.wraps(method)
    def turn(self: "Bandit", *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return turn


class Bandit(Listener):
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
    pending
        What a reward is taken to be from the moment that something else comes first until it comes itself. It must be
        a policy that takes corrections. None: that is left to the policy.
    timeout
        How long a decision stays open, in the unit of the clock, seconds by default. None: for ever.
    on_timeout
        The reward of a decision that has been open for so long. None: what ``pending`` says, or else none, as if it had
        been forgotten.
    clock
        What tells the time, unless ``now`` does. It is read only if there is a timeout.
    correctable
        How many of the last decisions with a reward can be given another one by ``correct``.

    Examples
    --------
    >>> import manyarms as ma
    >>> bandit = ma.Bandit(ma.Elimination(beta=1.0), seed=7, items=["red", "green", "blue"])
    >>> decision = bandit.ask()
    >>> decision.item, decision.is_new
    ('red', True)
    >>> bandit.tell(decision, reward=1.0)
    <Told.COUNTED: 'counted'>

    A click that has not come within half an hour will not come:

    >>> bandit = ma.Bandit(ma.SSUCB(beta=1.0, horizon=10_000), seed=7, pending=0.0, timeout=1800)
    >>> first, second = bandit.ask(2, now=0.0)
    >>> bandit.tell(first, reward=1.0, now=200.0)
    <Told.COUNTED: 'counted'>
    >>> bandit.tell(second, reward=1.0, now=2000.0)
    <Told.TIMED_OUT: 'timed_out'>
    """

    def __init__(
        self,
        policy: Policy,
        seed: int | None = None,
        *,
        items: Iterable[Any] | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        replication: int = 0,
        pending: float | None = None,
        timeout: float | None = None,
        on_timeout: float | None = None,
        clock: Clock = time.time,
        correctable: int = 0,
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
        self._agree(pending, timeout, on_timeout, correctable)
        self.told = 0  # rewards counted or ignored
        self.timed_out = 0  # decisions whose time was over before they had a reward
        self._timeline = Timeline(clock)
        self._last_timed_out = 0  # the id of the newest of those
        self._known = KnownArms(items)
        self._begin()
        self._lock = threading.RLock()

    def _agree(self, pending: Any, timeout: Any, on_timeout: Any, correctable: Any) -> None:
        """Take down what is to become of decisions without a reward, or with a wrong one."""
        self.pending = pending
        self.timeout = None if timeout is None else positive("Bandit", "timeout", timeout)
        self.on_timeout = on_timeout
        self.correctable = count("Bandit", "correctable", correctable, least=0)
        if on_timeout is not None and timeout is None:
            raise ValueError("Bandit: on_timeout is a reward for when the time is over; give a timeout too")
        self._pending = None if pending is None else scaled(pending, self.reward_range, "pending")
        self._on_timeout = None if on_timeout is None else scaled(on_timeout, self.reward_range, "on_timeout")
        check_pending(self.policy, pending is not None, f"pending={pending!r}")
        check_corrections(self.policy, self.correctable > 0, f"correctable={correctable!r}")

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
        return type(self).from_json(self.to_json(), clock=self._timeline.clock)

    def __reduce__(self) -> Any:
        raise TypeError("a bandit is not pickled; use save and load, or to_json and from_json")

    @overload
    def ask(self, *, now: float | None = None) -> Decision: ...

    @overload
    def ask(self, n: int, *, now: float | None = None) -> list[Decision]: ...

    @_one_at_a_time
    def ask(self, n: int | None = None, *, now: float | None = None) -> Decision | list[Decision]:
        """Which arm next?

        Parameters
        ----------
        n
            How many decisions at once; a list of that many is returned, the same as by so many calls.
        now
            The time; that of the clock if left out.
        """
        wanted = None if n is None else count("Bandit.ask", "n", n)
        if self.timeout is not None:
            self._look_at_clock(now)
        if wanted is None:
            return self._decide()
        decisions: list[Decision] = []
        for _ in range(wanted):
            try:
                decisions.append(self._decide())
            except NoMoreItems as error:
                # What was decided stands; the caller learns how far it got.
                made = f"{error} ({len(decisions)} of {n} decisions were made before)"
                raise NoMoreItems(made, decisions) from None
        return decisions

    def _decide(self) -> Decision:
        self._defer_newest()
        choice = Choice(*map(plain_number, self._kernels.ask(self._held, self.asked + 1)))
        is_new = choice.arm not in self._known.positions
        if is_new:
            self._known.add(choice.arm)
            if len(self._known.positions) >= self._known.pruning:
                self._prune(choice.arm)
        self.asked += 1
        self._open.add(choice, self._timeline.time)
        return Decision(self.asked, choice.arm, is_new, choice.probability, self._known.taken.get(choice.arm))

    def _prune(self, newest: int) -> None:
        """Forget arms that the policy has let go, so that memory follows the arms kept."""
        kept = {int(arm) for arm in self.policy.kept_arms(self._state)} | {newest}
        kept.update(deferred.choice.arm for deferred in self._open.deferred.values())
        self._known.keep_only(kept, len(self._open))

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
    def tell(self, decision: Decision | int, reward: float, *, now: float | None = None) -> Told:
        """What came of a decision.

        Parameters
        ----------
        decision
            The decision, or its id.
        reward
            A number within ``reward_range``, or True and False for 1 and 0.
        now
            The time; that of the clock if left out.
        """
        identity = self._identity(decision)
        value = scaled(reward, self.reward_range)
        if self.timeout is not None:
            self._look_at_clock(now)
        if self._open.choice_of(identity) is None:
            return Told.TIMED_OUT if identity <= self._last_timed_out else Told.REPEATED
        is_counted = self._answer(identity, value)
        self.told += 1
        return Told.COUNTED if is_counted else Told.IGNORED

    @_one_at_a_time
    def correct(self, decision: Decision | int, reward: float) -> Told:
        """Another reward came of a decision than was told, or than the timeout made of it.

        Parameters
        ----------
        decision
            One of the last ``correctable`` decisions that have a reward, or its id.
        reward
            What it should have been. It can be corrected again.

        Returns
        -------
        Told
            ``CORRECTED``: all sums are as if it had been told so. ``IGNORED``: the policy has let the arm go, or has
            begun anew.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.SSUCB(beta=1.0), seed=7, correctable=1000)
        >>> sale = bandit.ask()
        >>> bandit.tell(sale, reward=1.0)
        <Told.COUNTED: 'counted'>
        >>> bandit.correct(sale, reward=0.0)  # returned
        <Told.CORRECTED: 'corrected'>
        """
        identity = self._identity(decision)
        value = scaled(reward, self.reward_range)
        check_corrections(self.policy, True, "Bandit.correct")
        if self._open.choice_of(identity) is not None:
            raise ValueError(f"Bandit.correct: decision {identity} has no reward yet; tell it. Nothing was changed")
        if identity not in self._remembered.told:
            raise KeyError(
                f"Bandit.correct: decision {identity} is not among the last {self.correctable} that were given a "
                "reward: it had none (forgotten, or timed out without pending and on_timeout), or it was longer ago; "
                "remember more of them: Bandit(…, correctable=…)"
            )
        self._defer_newest()
        choice, told = self._remembered.told[identity]
        is_counted = self._heard(self._kernels.correct(self._held, choice, told, value))
        self._remembered.told[identity] = choice, value
        return Told.CORRECTED if is_counted else Told.IGNORED

    @_one_at_a_time
    def expire(self, now: float | None = None) -> list[int]:
        """Close the decisions that have been open for ``timeout``, as each ask and tell does first.

        Parameters
        ----------
        now
            The time; that of the clock if left out.

        Returns
        -------
        list
            Their ids, the oldest first.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Elimination(beta=1.0), seed=7, timeout=60, on_timeout=0.0)
        >>> decision = bandit.ask(now=1000)
        >>> bandit.expire(now=1059), bandit.expire(now=1060)
        ([], [1])
        """
        if self.timeout is None:
            raise ValueError("Bandit.expire: this bandit has no timeout; make one with Bandit(…, timeout=…)")
        return self._look_at_clock(now)

    def _look_at_clock(self, now: float | None) -> list[int]:
        """Close the decisions whose time is over, the oldest first."""
        assert self.timeout is not None
        due = self._timeline.at(now, self.timeout) - self.timeout
        closed: list[int] = []
        while (oldest := self._open.oldest()) is not None and oldest[1] <= due:
            identity = oldest[0]
            if self._on_timeout is None:
                self._give_up(identity)
            else:
                self._answer(identity, self._on_timeout)
            self.timed_out += 1
            self._last_timed_out = identity
            closed.append(identity)
        return closed

    @_one_at_a_time
    def forget(self, decision: Decision | int) -> bool:
        """No reward will come for this decision: stop waiting for it.

        The policy takes back what it expected of it; what was assumed with ``pending`` stands. A tell that comes all
        the same changes nothing. Without this or a timeout, decisions that are never answered stay open for ever, in
        memory and in snapshots.

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
        identity = self._identity(decision)
        if self._open.choice_of(identity) is None:
            return False
        self._give_up(identity)
        return True

    def _identity(self, decision: Decision | int) -> int:
        """The id of a decision this bandit has made."""
        identity = decision.id if isinstance(decision, Decision) else decision
        if isinstance(identity, bool) or not isinstance(identity, (int, np.integer)):
            raise TypeError(f"Bandit: give a decision or its id, not {decision!r}")
        if not 1 <= identity <= self.asked:
            known = f"ids run from 1 to {self.asked} so far" if self.asked else "nothing has been asked yet"
            raise KeyError(f"Bandit: no decision has the id {identity}; {known}")
        if isinstance(decision, Decision) and (choice := self._choice_of(int(identity))) is not None:
            mine = (choice.arm, choice.probability)
            if mine != (decision.arm, decision.probability):
                raise KeyError(
                    f"Bandit: this bandit's decision {identity} was for arm {choice.arm}, not {decision.arm}, or with "
                    "another probability; the one given is another bandit's"
                )
        return int(identity)

    def warm(self) -> bool:
        """Have the kernels compiled, or loaded from the compile cache, and go on with them: the same decisions, faster.

        Meanwhile other threads may ask and tell. Once a bandit is warm, bandits of policies with the same type of state
        that are made or loaded in this process are so from their start. What it takes, and when to call it, is in
        docs/live.md.

        Returns
        -------
        bool
            Whether the bandit is compiled now; False if the compiler is switched off (``NUMBA_DISABLE_JIT=1``).

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.UniformPlay(), seed=7)
        >>> decision = bandit.ask()
        >>> bandit.warm() == bandit.is_compiled
        True
        >>> bandit.tell(decision, reward=1.0)
        <Told.COUNTED: 'counted'>
        """
        name = self.policy.label()
        is_ready = make_ready(self.policy.start(FIRST_ROUNDS), name)  # without the lock: it may take seconds
        with self._lock:
            self._state = self._state
            if is_ready and not self.is_compiled:
                raise TypeError(
                    f"Bandit.warm: {name} stays plain Python: a field of its state has not kept the type that it has "
                    "at the start"
                )
            return self.is_compiled

    @property
    def is_compiled(self) -> bool:
        """Whether it calls compiled kernels."""
        return self._compiled is not None

    @property
    def open_decisions(self) -> list[int]:
        """The ids of decisions without a reward."""
        with self._lock:
            return list(self._open)

    @property
    def ignored(self) -> int:
        """Rewards of arms that the policy had let go before their rewards could judge them."""
        return int(self._counts.ignored)

    @_one_at_a_time
    def explain(self, *, now: float | None = None) -> dict[str, Any]:
        """Where the policy stands, and why it last restarted, in numbers.

        Parameters
        ----------
        now
            The time; that of the clock if left out.

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
        if self.timeout is not None:
            self._look_at_clock(now)
        return {
            "policy": self.policy.label(),
            "asked": self.asked,
            "told": self.told,
            "timed_out": self.timed_out,
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
                **{name: plain_number(getattr(self, name)) for name in AGREED},
                "asked": self.asked,
                "told": self.told,
                "timed_out": self.timed_out,
                "last_timed_out": self._last_timed_out,
                "clock": self._timeline.to_json(),
                "rounds": self._rounds,
                **self._known.to_json(),
                "open": self._open.to_json(),
                "remembered": self._remembered.to_json(),
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
    def load(
        cls, path: str | os.PathLike[str], items: Iterable[Any] | None = None, *, clock: Clock = time.time
    ) -> Self:
        """The bandit that was saved; it goes on as if it had never stopped.

        Parameters
        ----------
        path
            Where it was saved.
        items
            The same items in the same order, from the first, if the bandit has items.
        clock
            What tells the time from now on. It may be behind the one that the saved bandit had.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"{path} is not a snapshot: {error}") from None
        return cls.from_json(values, items, clock=clock)

    @classmethod
    def from_json(cls, values: Any, items: Iterable[Any] | None = None, *, clock: Clock = time.time) -> Self:
        """The bandit that ``to_json`` described."""
        check_version(values)
        check_rule(values)
        try:
            knew_of_open_asks = values["version"] > 2
            current = values if knew_of_open_asks else from_version_2(values)
            bandit = cls(
                _policy_from_json(current["policy"]),
                word_from_json(current["seed"], "seed"),
                clock=clock,
                **{name: current[name] for name in ("reward_range", "replication", *AGREED)},
            )
            bandit._read(current)
            has_items = current["has_items"]
            # Last, because the checks above can say what is wrong, and this one only that something is.
            check_seal(values)
            if not knew_of_open_asks:
                bandit._defer_all()
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
        self.timed_out = count("snapshot", "timed_out", values["timed_out"], least=0)
        self._last_timed_out = count("snapshot", "last_timed_out", values["last_timed_out"], least=0)
        self._timeline.read(values["clock"])
        self._known.read(values)
        self._rounds = count("snapshot", "rounds", values["rounds"], least=FIRST_ROUNDS)
        # The newest decision may need room yet. In version 2, rewards did.
        needed = self.asked - 1 if values["version"] > 2 else self.told
        if not needed <= self._rounds <= max(FIRST_ROUNDS, 2 * self.asked):
            raise SnapshotError(f"rounds: {self._rounds} is no room for {self.asked} decisions")
        pattern = begun_policy(self.policy, self._rounds, self.seed, self.replication)
        state = values["state"] if values["version"] == VERSION else with_fields_of(values["state"], pattern)
        self._state = state_from_json(state, pattern)
        self._counts = counts(self._state)
        limits = Limits(slots=self.policy.slots(self._rounds), blocks=self._counts.blocks, asked=self.asked)
        self._open.read(values["open"], limits)
        if self.asked < self.told + self.timed_out + len(self._open) or self.asked < self._last_timed_out:
            raise SnapshotError(
                f"asked: {self.asked} decisions are fewer than {self.told} told, {self.timed_out} timed out and "
                f"{len(self._open)} open ones"
            )
        self._remembered.read(values["remembered"], limits)


def from_version_2(values: dict[str, Any]) -> dict[str, Any]:
    """All but the state as it is written now: policies were not told then which of their asks are open."""
    new = {"timed_out": 0, "last_timed_out": 0, "clock": {"time": 0.0, "lost": 0.0}, "remembered": []}
    rows = rows_from_json(values["open"], "open", 6)
    return values | AGREED | new | {"open": [[*row, "nan", 0.0] for row in rows]}


def _policy_from_json(values: Any) -> Any:
    if not isinstance(values, dict):
        raise SnapshotError(f"policy: expected an object with a type, not {values!r:.60}")
    try:
        return spec_from_json(values)
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"policy: {error}") from None
