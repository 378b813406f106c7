"""The live object itself: ask, tell, correct, and a catalogue that lives."""

import contextlib
import datetime
import functools
import os
import time
import weakref
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, overload

from ..bases.base import Base
from ..policies.base import Policy, check_corrections, check_pending
from ..specs import checked_seed, count, number, positive
from . import history, looking, saving
from .catalogue import Catalogue, checked_same_key, checked_segments
from .chooser import Chooser
from .decisions import Decision, How, NoMoreItems, Told
from .items import ABSENT, PAUSED, WITHDRAWN, Item, Predicate, entries_of, is_finite, key_to_json
from .journal import Journal
from .kernels import make_ready
from .listener import FIRST_ROUNDS
from .rehearsal import check_goes_on
from .rewards import checked_reward_range, scaled, scaled_total
from .times import Clock, Timeline
from .turns import TakesTurns, deed, one_at_a_time
from .wishes import Wish, wish_for


def _write_taken(bandit: "weakref.ref[Bandit]", key: Hashable) -> None:
    """Into the journal of a bandit: an item of an iterator was taken."""
    if (one := bandit()) is not None:
        one._write("take", key_to_json(key))


class Bandit(Chooser, TakesTurns):
    """A live policy, with a catalogue of items if there are some. Threads may share it.

    Parameters
    ----------
    policy
        Which arm next? With items, `Forager` remembers at least 4,096 of them.
    seed
        A whole number from 0 to 2^64 - 1; a random one if left out.
    items
        What the arms stand for, each with a key: texts, whole numbers or tuples of these, which are their own keys;
        tuples of a key and a payload; or a dictionary of payloads by key. A list is looked through at once, an iterator
        as its items are needed: it may be endless, and may have more later.
    segments
        Names for groups of items that are asked for often, each with a function that says of an item, as a decision
        shows it, whether it is one of them. It is called once for each item.
    same_key
        What a key is that is there already: ``"refuse"``, an error; ``"merge"``, the same item.
    on_empty
        When a fresh item is wanted and none is left: ``"go on"`` with the best that is known; or ``"raise"``
        ``NoMoreItems``.
    holdout
        A share of all asks that is answered with any item that may be asked for, at random: see ``lift``.
    reward_range
        The least and the greatest possible reward, if not 0 and 1.
    replication
        Which replication of a simulation with the same seed this repeats.
    pending
        What a reward is taken to be from the moment that something else comes first until it comes itself. It must be
        a policy that takes corrections. None: that is left to the policy.
    timeout
        How long a decision stays open, in the unit of the clock, seconds by default; or a ``timedelta``. None: for
        ever.
    on_timeout
        The reward of a decision that has been open for so long. None: what ``pending`` says, or else none, as if it had
        been forgotten.
    clock
        What tells the time, unless ``now`` does. It is read only if there is a timeout.
    correctable
        How many of the last decisions with a reward can be given another one by ``correct``.
    journal
        A file to which everything is appended before it is done, so that ``recover`` finds all of it after a crash.
    fsync
        Whether each line of the journal is on disk for good before the call returns: what a power failure takes, not
        what the end of a process does.

    Examples
    --------
    >>> import manyarms as ma
    >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=["red", "green", "blue"])
    >>> decision = bandit.ask()
    >>> decision.key, decision.is_new
    ('red', True)
    >>> bandit.tell(decision, reward=1.0)
    <Told.COUNTED: 'counted'>
    >>> bandit.withdraw("red")
    >>> bandit.ask(exclude=["green"]).key
    'blue'

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
        items: Any = None,
        segments: Mapping[str, Predicate] | None = None,
        same_key: str = "refuse",
        on_empty: str = "go on",
        holdout: float = 0.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        replication: int = 0,
        pending: float | None = None,
        timeout: float | None = None,
        on_timeout: float | None = None,
        clock: Clock = time.time,
        correctable: int = 0,
        journal: str | os.PathLike[str] | None = None,
        fsync: bool = False,
    ) -> None:
        check_policy(policy, seed)
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        self._catalogue = Catalogue(items, segments, same_key)
        self.policy = policy.without_horizon()
        if items is not None:
            self.policy = self.policy.with_catalogue()
        self.seed = checked_seed(seed)
        self.replication = count("Bandit", "replication", replication, least=0)
        self.reward_range = checked_reward_range(reward_range)
        self.on_empty = self._checked_on_empty(on_empty)
        self.holdout = self._checked_holdout(holdout)
        self._agree(pending, timeout, on_timeout, correctable)
        self.told = 0  # rewards counted or ignored
        self.timed_out = 0  # decisions whose time was over before they had a reward
        self.carried: dict[str, list[str]] = {}  # what was kept and lost when the policy was changed
        self._timeline = Timeline(clock)
        self._last_timed_out = 0  # the number of the newest of those
        self._begin()
        TakesTurns.__init__(self)
        self._journal: Journal | None = None
        self._owes_defer = False  # to the journal, which could not be written
        # Weakly: else the journal of a bandit that nobody has any more would stay open for a while.
        self._catalogue.on_taken = functools.partial(_write_taken, weakref.ref(self))
        if journal is not None:
            self._journal = Journal.new(journal, saving.to_json(self), fsync)

    def _agree(self, pending: Any, timeout: Any, on_timeout: Any, correctable: Any) -> None:
        """Take down what is to become of decisions without a reward, or with a wrong one."""
        self.pending = pending
        if isinstance(timeout, datetime.timedelta):
            timeout = timeout.total_seconds()
        self.timeout = None if timeout is None else positive("Bandit", "timeout", timeout)
        self.on_timeout = on_timeout
        self.correctable = count("Bandit", "correctable", correctable, least=0)
        if on_timeout is not None and timeout is None:
            raise ValueError("Bandit: on_timeout is a reward for when the time is over; give a timeout too")
        self._pending = None if pending is None else scaled(pending, self.reward_range, "pending")
        self._on_timeout = None if on_timeout is None else scaled(on_timeout, self.reward_range, "on_timeout")
        check_pending(self.policy, pending is not None, f"pending={pending!r}")
        check_corrections(self.policy, self.correctable > 0, f"correctable={correctable!r}")

    @staticmethod
    def _checked_on_empty(on_empty: Any) -> str:
        """What to do without fresh items."""
        if on_empty not in ("go on", "raise"):
            raise ValueError(f"Bandit: on_empty must be 'go on' or 'raise', not {on_empty!r}")
        return str(on_empty)

    def _checked_holdout(self, holdout: Any) -> float:
        """A share below 1, which needs items."""
        share = number("Bandit", "holdout", holdout)
        if not 0.0 <= share < 1.0:
            raise ValueError(
                f"Bandit: holdout must be a share from 0 to below 1, such as 0.05 for 5 %, not {holdout!r}: the rest "
                "is for the policy"
            )
        if share and not self._catalogue.has_items:
            raise ValueError("Bandit: a holdout is of items at random; give them: Bandit(…, items=…)")
        return share

    def __repr__(self) -> str:
        return (
            f"<Bandit {self.policy.label()}: {self.asked:,} asked, {self.told:,} told, "
            f"{len(self._open):,} open, seed {self.seed}>"
        )

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if self._catalogue.has_items:
            raise TypeError("a bandit with items cannot be copied, because its items cannot; use to_json and from_json")
        return type(self).from_json(self.to_json(), clock=self._timeline.clock)

    def __reduce__(self) -> Any:
        raise TypeError("a bandit is not pickled; use save and load, or to_json and from_json")

    # ------------------------------------------------------------ ask

    @overload
    def ask(
        self,
        *,
        among: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        where: Predicate | None = None,
        segment: str | None = None,
        now: float | None = None,
    ) -> Decision: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        among: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        where: Predicate | None = None,
        segment: str | None = None,
        now: float | None = None,
    ) -> list[Decision]: ...

    @one_at_a_time
    def ask(
        self,
        n: int | None = None,
        *,
        among: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        where: Predicate | None = None,
        segment: str | None = None,
        now: float | None = None,
    ) -> Decision | list[Decision]:
        """Which item next?

        Parameters
        ----------
        n
            How many decisions at once; a list of that many is returned, the same as by so many calls.
        among, exclude
            Keys of items that may be asked for, and that may not; or decisions, for their keys. Keys that nobody knows
            are passed over.
        where
            Which items may be asked for: a function of an item as decisions show it. It is called for many items; what
            is asked often is better a segment.
        segment
            The name of a segment; only its items may be asked for.
        now
            The time; that of the clock if left out.
        """
        wanted = None if n is None else count("Bandit.ask", "n", n)
        wish = wish_for(among, exclude, where, segment, self._catalogue)
        if wish is not None and not self._catalogue.has_items:
            raise ValueError("Bandit.ask: this bandit has no items to choose from; give them: Bandit(…, items=…)")
        if self.timeout is not None:
            self._pass_time(now)
        if wanted is None:
            return self._decide(wish)
        decisions: list[Decision] = []
        for _ in range(wanted):
            try:
                decisions.append(self._decide(wish))
            except NoMoreItems as error:
                # What was decided stands; the caller learns how far it got.
                made = f"{error} ({len(decisions)} of {n} decisions were made before)"
                raise NoMoreItems(made, decisions) from None
            except Exception as error:  # of an iterator, or of a function that says who may see what
                error.add_note(
                    f"{len(decisions)} of {n} decisions were made before; Bandit.open_decisions has their ids"
                )
                raise
        return decisions

    def _decide(self, wish: Wish | None) -> Decision:
        if self._open.newest is not None:
            self._leave_open()
        try:
            asked = self._next_ask(wish)
        except BaseException:
            with contextlib.suppress(OSError, ValueError), self._deed:
                self._pay_defer()
            raise
        tag = self._ids.for_next()
        with self._deed:
            if asked.how == How.OUTSIDE:
                self._have_room(self.asked + 1)
            if self._journal is not None:
                self._write("ask", *saving.asked_to_json(asked), tag)
            self._owes_defer = False  # to do an ask again is to leave the one before it open
            return self._carry_out(asked, tag)

    def _leave_open(self) -> None:
        """The newest decision is open, and the journal will be told so with the next thing that it is told."""
        self._have_room(self._rounds_needed())
        with self._deed:
            self._owes_defer = self._journal is not None
            self._defer_newest()

    def _rounds_needed(self) -> int:
        """For how many rounds there must be room, if the policy is to hear that the newest decision is open."""
        newest = self._open.newest
        return 0 if newest is None or newest.is_outside else self.asked

    def _have_room(self, rounds: int) -> None:
        """Make room before anything is changed: there may be none."""
        if rounds > self._rounds:
            self._make_room()

    # ------------------------------------------------------------ tell

    @one_at_a_time
    def tell(self, decision: Decision | str, reward: float, *, now: float | None = None) -> Told:
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
        number = self._number(decision)
        value = scaled(reward, self.reward_range)
        if self.timeout is not None:
            self._pass_time(now)
        if self._open.get(number) is None:
            return Told.TIMED_OUT if number <= self._last_timed_out else Told.REPEATED
        self._have_room(self._rounds_needed())
        with self._deed:
            self._write("tell", number, value)
            return self._tell(number, value)

    @deed
    def _tell(self, number: int, value: float) -> Told:
        is_counted = self._reward(number, value)
        self.told += 1
        return Told.COUNTED if is_counted else Told.IGNORED

    def _reward(self, number: int, value: float) -> bool:
        """Close an open decision with a reward; whether the policy could use it."""
        one = self._open.get(number)
        assert one is not None
        if one.is_outside:
            self._defer_newest()
            del self._open.deferred[number]
            self._remember(one, value)
            is_counted = self._catalogue.has_items  # without, it was for an arm of another policy before this one
        else:
            is_counted = self._answer(number, value)
        self._close(one, value)
        return is_counted

    @one_at_a_time
    def correct(self, decision: Decision | str, reward: float) -> Told:
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
        number = self._number(decision)
        value = scaled(reward, self.reward_range)
        check_corrections(self.policy, True, "Bandit.correct")
        if self._open.get(number) is not None:
            raise ValueError(f"Bandit.correct: decision {number} has no reward yet; tell it. Nothing was changed")
        if number not in self._remembered.told:
            raise KeyError(
                f"Bandit.correct: decision {number} is not among the last {self.correctable} that were given a "
                "reward: it had none (forgotten, or timed out without pending and on_timeout), it was longer ago "
                "(remember more of them: Bandit(…, correctable=…)), or, without items, another policy has taken over "
                "since"
            )
        self._have_room(self._rounds_needed())
        with self._deed:
            self._write("correct", number, value)
            return self._correct(number, value)

    @deed
    def _correct(self, number: int, value: float) -> Told:
        self._defer_newest()
        one = self._remembered.told[number]
        item = self._item_behind(one.key, one.choice.arm)
        is_counted = item is not None
        if one.choice.slot >= 0:
            is_counted = self._heard(self._kernels.correct(self._held, one.choice, one.reward, value))
        self._remembered.told[number] = one._replace(reward=value)
        if item is not None:
            more = value - one.reward
            if one.choice.slot < 0:
                self._recall(item, 0, more)
            self._credit(item, number, one.how, 0, more, value * value - one.reward * one.reward)
        return Told.CORRECTED if is_counted else Told.IGNORED

    @one_at_a_time
    def expire(self, now: float | None = None) -> list[str]:
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
        >>> bandit.expire(now=1059), bandit.expire(now=1060) == [decision.id]
        ([], True)
        """
        if self.timeout is None:
            raise ValueError("Bandit.expire: this bandit has no timeout; make one with Bandit(…, timeout=…)")
        return [self._ids.of(number) for number in self._pass_time(now)]

    def _pass_time(self, now: float | None) -> list[int]:
        reading = self._timeline.reading(now)
        self._have_room(self._rounds_needed())
        with self._deed:
            self._write("time", reading, self._timeline.source)
            return self._look_at_clock(reading)

    @deed
    def _look_at_clock(self, reading: float) -> list[int]:
        """Close the decisions whose time is over, the oldest first."""
        assert self.timeout is not None
        due = self._timeline.at(reading, self.timeout) - self.timeout
        closed: list[int] = []
        while (oldest := self._open.oldest()) is not None and oldest[1] <= due:
            number = oldest[0]
            if self._on_timeout is None:
                self._forget(number)
            else:
                self._reward(number, self._on_timeout)
            self.timed_out += 1
            self._last_timed_out = number
            closed.append(number)
        return closed

    @one_at_a_time
    def forget(self, decision: Decision | str) -> bool:
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
        number = self._number(decision)
        if self._open.get(number) is None:
            return False
        self._have_room(self._rounds_needed())
        with self._deed:
            self._write("forget", number)
            self._forget(number)
        return True

    @deed
    def _forget(self, number: int) -> None:
        one = self._give_up(number)
        if one.is_outside and self._pending is not None:
            # What is assumed is so for all decisions, those at random too: else the two could not be compared.
            self._remember(one, self._pending)
            self._close(one, self._pending)
        else:
            self._close(one, None if self._pending is None else one.presumed)

    def _number(self, decision: Decision | str) -> int:
        """The number of a decision that this bandit has made."""
        identity = decision.id if isinstance(decision, Decision) else decision
        if not isinstance(identity, str):
            raise TypeError(f"Bandit: give a decision or its id, which is text, not {decision!r:.80}")
        number = self._ids.decision_of(identity)
        if number is None or number > self.asked:
            raise KeyError(
                f"Bandit: no decision of this bandit has the id {identity!r:.80}; it is another bandit's, or was made "
                "by a copy of this one after the snapshot that this one was restored from. Nothing was changed"
            )
        return number

    # ------------------------------------------------------------ a catalogue that lives

    @one_at_a_time
    def add(self, items: Any, *, first: bool = False, same_key: str | None = None) -> None:
        """More items.

        Parameters
        ----------
        items
            As for ``Bandit(items=…)``. An item that was withdrawn, or is known from elsewhere, comes with what is known
            of it.
        first
            Whether they come before all that wait, in their order; else after them.
        same_key
            What a key is that is there already: as for ``Bandit(same_key=…)``, or as was said there if left out. An
            item that is paused stays paused.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=["weather", "sports"])
        >>> bandit.add(["breaking news"], first=True)
        >>> bandit.ask().key
        'breaking news'
        """
        self._add(items, first, same_key)

    def _add(self, items: Any, first: bool, same_key: str | None) -> None:
        if not self._catalogue.has_items and self.asked:
            raise ValueError(
                f"Bandit.add: this bandit has no items, and {self.asked:,} decisions have been made without; give "
                "items from the start: Bandit(…, items=…)"
            )
        had_items = self._catalogue.has_items
        entries_of(items)  # or an error
        if first and not is_finite(items):
            raise TypeError(
                "Bandit.add: an iterator cannot be put in front, because nobody knows how much it holds; give a list"
            )
        merges = checked_same_key(self._catalogue.same_key if same_key is None else same_key) == "merge"
        with self._deed:
            self._catalogue.add(items, first, merges, before=lambda keys: self._write("add", keys, first))
            if not had_items:
                self._changed_to(self.policy.with_catalogue())

    def _changed_to(self, policy: Policy) -> None:
        """Nothing was asked yet: begin with another policy."""
        self.policy = policy
        self._begin()

    @one_at_a_time
    def withdraw(self, key: Hashable) -> None:
        """Never ask for an item again; answers that are out still count, and the policy is told of no loss.

        Parameters
        ----------
        key
            Its key. ``restore`` brings it back.
        """
        self._set_aside(key, WITHDRAWN, "Bandit.withdraw")

    @one_at_a_time
    def pause(self, key: Hashable) -> None:
        """Do not ask for an item until it is restored, whatever is added; the policy keeps what it knows of it.

        One that was withdrawn stays so.

        Parameters
        ----------
        key
            Its key.
        """
        self._set_aside(key, PAUSED, "Bandit.pause")

    def _set_aside(self, key: Hashable, state: str, by: str) -> None:
        item = self._catalogue.find(key, by)
        if item.state == WITHDRAWN and state == PAUSED:
            return  # never again is longer than for a while
        with self._deed:
            self._write("set aside", key_to_json(item.key), state)
            self._put_aside(item, state)

    @deed
    def _put_aside(self, item: Item, state: str) -> None:
        self._catalogue.withdraw(item, state)
        if item.is_gone:
            self._release(item)

    @one_at_a_time
    def restore(self, key: Hashable) -> None:
        """Ask for an item again that was withdrawn or paused; nothing if it was not.

        Parameters
        ----------
        key
            Its key.
        """
        item = self._catalogue.find(key, "Bandit.restore")
        with self._deed:
            self._write("restore", key_to_json(item.key))
            self._catalogue.bring_back(item)

    @one_at_a_time
    def observe(self, key: Hashable, plays: int, reward: float) -> None:
        """What was seen of an item elsewhere: before, by another process, by hand.

        `Forager`, `Subsample` and `SSUCB` make use of it, as if they had been told so many rewards. With others, it is
        in ``table`` only.

        Parameters
        ----------
        key
            The key of an item.
        plays
            How often it was shown.
        reward
            The sum of its rewards.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=["a", "b", "c"])
        >>> bandit.observe("b", plays=1000, reward=80)
        >>> bandit.observe("c", plays=1000, reward=20)
        >>> bandit.table()["rate"].round(3).tolist()
        [nan, 0.08, 0.02]
        """
        self._observe_checked(key, plays, reward)

    def _observe_checked(self, key: Hashable, plays: int, reward: float) -> None:
        plays = count("Bandit.observe", "plays", plays)
        total = scaled_total(reward, plays, self.reward_range)
        if not self._catalogue.has_items:
            raise ValueError("Bandit.observe: this bandit has no items; give them: Bandit(…, items=…)")
        item = self._catalogue.find(key, "Bandit.observe")
        if item.plays + plays >= 2**53:
            raise ValueError(
                f"Bandit.observe: {item.plays + plays:,} plays are more than can be counted; nothing was changed"
            )
        with self._deed:
            self._write("observe", key_to_json(item.key), plays, total)
            self._observe(item.key, plays, total)

    @deed
    def _observe(self, key: Hashable, plays: int, total: float) -> None:
        item = self._catalogue.items[key]
        is_first = item.plays == 0
        item.add(plays, total, total)  # squares as those of coins: at most that
        if item.arm is not None:
            self._recall(item, plays, total)
        elif item.is_waiting and item.is_here:
            self._adopt(item)
        elif item.state == ABSENT and is_first and self._has_kernel("release"):
            self._adopt(item)  # so the policy learns what items are like; the slot is for others again
            self._release(item)

    def _adopt(self, item: Item) -> None:
        """Make an arm of an item of which something is known, if the policy can make use of that."""
        if not self._has_kernel("recall"):
            return
        self._defer_newest()
        arms = self.policy.arms_in_slots(self._held)
        slot = next(
            (slot for slot, arm in enumerate(arms.tolist()) if arm >= 0 and arm not in self._catalogue.arms), -1
        )
        if slot < 0 and self.policy.can_draw(self._held):
            slot = self._draw()
        if slot >= 0:
            arm = int(self.policy.arms_in_slots(self._held)[slot])
            self._bind(arm, slot, item.key)

    @one_at_a_time
    def news(self) -> list[tuple[Hashable, int, float]]:
        """What came of items since this was last called: keys, plays and sums of rewards.

        With a timeout, of decisions that are older than all open ones: of later ones, good news would come first.

        For several processes with a bandit each: what one of them returns, all others ``observe``.

        Examples
        --------
        >>> import manyarms as ma
        >>> one, other = (ma.Bandit(ma.Forager(), seed=seed, items=["a", "b"]) for seed in (1, 2))
        >>> _ = one.tell(one.ask(), reward=1.0)
        >>> for key, plays, reward in one.news():
        ...     other.observe(key, plays, reward)
        >>> one.news()
        []
        """
        low, high = self.reward_range
        with self._deed:
            self._write("news")
            return [(key, plays, low * plays + (high - low) * total) for key, plays, total in self._take_news()]

    def _take_news(self) -> list[tuple[Hashable, int, float]]:
        """Corrections of what others have been told wait until there are plays that make up for them."""
        self._ripen_news()
        news = self._catalogue.news
        told = [(key, plays, total) for key, (plays, total) in news.items() if plays and 0.0 <= total <= plays]
        for key, _, _ in told:
            del news[key]
        return told

    @one_at_a_time
    def hear(self, news: Iterable[Any]) -> None:
        """The ``news`` of another bandit: observe all of it.

        Of items that are not here, it teaches `Forager` what items are like, and is kept until they are: added, given
        by an iterator, or among the items of a bandit that is restored.

        Parameters
        ----------
        news
            What ``news`` of the other returned, also by way of JSON.

        Examples
        --------
        >>> import manyarms as ma
        >>> one, other = (ma.Bandit(ma.Forager(), seed=seed, items=["a", "b"]) for seed in (1, 2))
        >>> one.add(["breaking news"], first=True)
        >>> _ = one.tell(one.ask(), reward=1.0)
        >>> other.hear(one.news())
        >>> other.add(["breaking news"])
        >>> other.table()[["key", "plays"]].values.tolist()
        [['a', 0], ['b', 0], ['breaking news', 1]]
        """
        if not self._catalogue.has_items:
            raise ValueError("Bandit.hear: this bandit has no items; give them: Bandit(…, items=…)")
        history.tell(self, history.observations(history.with_keys(news), by=history.HEAR), are_all_here=False)

    @classmethod
    def from_history(
        cls,
        policy: Policy,
        past: Any,
        seed: int | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        **terms: Any,
    ) -> Self:
        """A bandit that begins with what is known of its items.

        Parameters
        ----------
        policy
            Which item next?
        past
            A frame, or a dictionary of columns, or an iterable of rows: item, plays and reward (a sum); or item and
            reward, one row for each play. Rows of one item are added up.
        seed
            As for a new bandit.
        columns
            What the columns are called, by ``item``, ``plays`` and ``reward``, if not as usual.
        terms
            All else that a new bandit takes. ``items``, if given, are those there are now: items of the past that are
            not among them teach `Forager` what items are like, and what is known of them is kept until they are here.

        Examples
        --------
        >>> import manyarms as ma
        >>> past = {"item": ["a", "b", "c"], "plays": [500, 500, 500], "reward": [3, 60, 12]}
        >>> bandit = ma.Bandit.from_history(ma.Forager(), past, seed=7)
        >>> bandit.ask().key
        'b'
        """
        rows = history.observations(past, columns)
        history.check_rewards(rows, checked_reward_range(terms.get("reward_range", (0.0, 1.0))))
        items = terms.pop("items", None)
        bandit = cls(policy, seed, items=[] if items is None else items, **terms)
        history.warn_of_strangers(bandit, rows, items)
        history.tell(bandit, rows, are_all_here=items is None)
        return bandit

    # ------------------------------------------------------------ compiled

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

    # ------------------------------------------------------------ looking at it

    @property
    def open_decisions(self) -> list[str]:
        """The ids of decisions without a reward."""
        return list(self._open_ids())

    @one_at_a_time
    def _open_ids(self) -> list[str]:
        return [self._ids.of(number) for number in self._open]

    @property
    def ignored(self) -> int:
        """Rewards of arms that the policy had let go before their rewards could judge them."""
        return int(self._counts.ignored)

    @property
    def missing(self) -> list[Hashable]:
        """Keys that were known to a bandit that was loaded, and not among the items given with it: they are paused."""
        return list(self._catalogue.missing)

    @one_at_a_time
    def explain(self, *, now: float | None = None) -> dict[str, Any]:
        """Where the policy stands, and why it last restarted, in numbers; items by their keys.

        Parameters
        ----------
        now
            The time; that of the clock if left out, or of the last call if it was given then.

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
        if self.timeout is not None and (now is not None or self._timeline.goes_by_itself):
            self._pass_time(now)  # where times are told, and none is, it is the time of the last call
        return looking.explained(self)

    @one_at_a_time
    def recommend(self) -> Any:
        """Which item to go on with if nothing more could be learned: its key; without items, the arm.

        What that is each policy says for itself; most that do not: what they would ask for next. If that item cannot be
        asked for (it was withdrawn or paused) or was never asked for, it is the best one that the policy knows and that
        can be; None if there is none. Nothing is changed, and the policy hears nothing of it.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.QRM2(), seed=7, items=["red", "green", "blue"])
        >>> for _ in range(60):
        ...     decision = bandit.ask()
        ...     _ = bandit.tell(decision, reward=float(decision.key == "green"))
        >>> bandit.recommend()
        'green'
        >>> bandit.withdraw("green")
        >>> bandit.recommend()
        'red'
        """
        item = self._recommended()
        return None if item is None else item.key

    @one_at_a_time
    def table(self) -> Any:
        """All items with what is known of them, the most asked for of late first: a pandas frame.

        Its columns: ``key``; ``state`` (fresh, known, let go, paused, withdrawn, absent); ``asks``; ``plays`` and
        ``reward``, those told and those observed; ``rate`` with an interval that holds it with probability 0.95
        (``low``, ``high``), as if it had never changed; ``age``, the asks since it was first asked for; ``recent``, its
        share of the last thousand asks or so.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=["a", "b"])
        >>> for reward in (1.0, 0.0, 1.0):
        ...     _ = bandit.tell(bandit.ask(), reward)
        >>> bandit.table()[["key", "state", "plays", "reward"]].values.tolist()
        [['a', 'known', 2, 2.0], ['b', 'known', 1, 0.0]]
        """
        return looking.table(self)

    @one_at_a_time
    def plot(self) -> Any:
        """How it has been doing and what it believes, drawn: a figure of matplotlib.

        Reward, share of search and number of arms alive over time, the items asked for most of late with their
        intervals, and, of `Forager`, what items are like and how they change, as far as it knows.
        """
        return looking.plot(self)

    @one_at_a_time
    def lift(self) -> looking.Lift:
        """What it earns against random items, measured by its holdout.

        It is of decisions since the holdout was last changed; if there is none any more, of those while there was one.

        Examples
        --------
        >>> import manyarms as ma
        >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=range(20), holdout=0.1)
        >>> for _ in range(2_000):
        ...     decision = bandit.ask()
        ...     _ = bandit.tell(decision, reward=decision.key / 20)
        >>> lift = bandit.lift()
        >>> lift.low < lift.ratio < lift.high, lift.low > 1.3
        (True, True)
        """
        return looking.lift(self)

    # ------------------------------------------------------------ save, load, recover

    @one_at_a_time
    def to_json(self) -> dict[str, Any]:
        """The whole bandit as plain JSON values, with the keys of its items, without their payloads."""
        return saving.to_json(self)

    @one_at_a_time
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot, all of it or nothing. It holds the keys of items, not what they stand for."""
        saving.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        items: Any = None,
        *,
        policy: Policy | None = None,
        segments: Mapping[str, Predicate] | None = None,
        clock: Clock = time.time,
        journal: str | os.PathLike[str] | None = None,
        fsync: bool = False,
        **settings: Any,
    ) -> Self:
        """The bandit that was saved; it goes on as if it had never stopped.

        Parameters
        ----------
        path
            Where it was saved.
        items
            The items there are now, if they have payloads, or if there are others than before: those it knows are
            found by their keys, others are new. Those that it knows and that a list lacks are paused, and in
            ``missing``; what was missing and is given again is back.
        policy
            Go on with this one. What could be carried over, and what is lost, is in ``carried``.
        segments
            As for a new bandit: functions are not saved.
        clock
            What tells the time from now on. It may be behind the one that the saved bandit had.
        journal, fsync
            As for a new bandit.
        settings
            Any of ``holdout``, ``timeout``, ``on_timeout`` and ``on_empty``, if they are to be others than before. With
            another holdout, ``lift`` begins anew.
        """
        values = saving.read(path)
        bandit = cls.from_json(values, items, policy=policy, segments=segments, clock=clock, **settings)
        if journal is not None:
            bandit._journal = Journal.new(journal, saving.to_json(bandit), fsync)
        return bandit

    @classmethod
    def from_json(
        cls,
        values: Any,
        items: Any = None,
        *,
        policy: Policy | None = None,
        segments: Mapping[str, Predicate] | None = None,
        clock: Clock = time.time,
        **settings: Any,
    ) -> Self:
        """The bandit that ``to_json`` described; for all else, see ``load``."""
        bandit = saving.from_json(cls, values, items, segments, clock)
        saving.change(bandit, settings)
        if policy is not None:
            bandit._go_on_with(policy)
        return bandit

    def _go_on_with(self, policy: Policy) -> None:
        check_policy(policy, None)
        saving.go_on_with(self, policy.without_horizon())

    @classmethod
    def recover(
        cls,
        journal: str | os.PathLike[str],
        items: Any = None,
        *,
        segments: Mapping[str, Predicate] | None = None,
        policy: Policy | None = None,
        clock: Clock = time.time,
        fsync: bool = False,
        **settings: Any,
    ) -> Self:
        """The bandit whose journal this is, as it was after the last call that returned; it goes on writing there.

        The journal is written anew, as short as can be. A line that was not finished, because the process ended in it,
        is left out: its call never returned.

        Parameters
        ----------
        journal
            Where it was written.
        items, policy, segments, clock, fsync, settings
            As for ``load`` and for a new bandit.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import manyarms as ma
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "bandit.journal"
        >>> bandit = ma.Bandit(ma.Forager(), seed=7, items=["a", "b"], journal=path)
        >>> _ = bandit.tell(bandit.ask(), reward=1.0)
        >>> bandit.close()                                   # or kill -9
        >>> ma.Bandit.recover(path)
        <Bandit Forager(keep=4096, most=4096): 1 asked, 1 told, 0 open, seed 7>
        """
        held = Journal(Path(journal), fsync)  # nobody else writes to it meanwhile
        try:
            found = Journal.read(journal)
            bandit = cls.from_json(found.snapshot, clock=clock)
            for place, event in enumerate(found.events):
                saving.replay(bandit, event, f"{journal}, line {place + 2}")
            if found.events:
                check_goes_on(bandit)
            bandit._catalogue.segments = checked_segments(segments)
            if items is not None or (segments and bandit._catalogue.has_items):
                bandit._catalogue.take_again(items)
            bandit._ids.is_own = False
            saving.change(bandit, settings)
            if policy is not None:
                bandit._go_on_with(policy)
            bandit._journal = Journal.anew(journal, saving.to_json(bandit), fsync)
        finally:
            held.close()
        return bandit

    def _write(self, *event: Any) -> None:
        """Into the journal, before it is done."""
        if self._journal is not None:
            if event[0] != "ask":
                self._pay_defer()
            self._journal.write(event)

    def _pay_defer(self) -> None:
        """Tell the journal that the newest decision was left open, if it does not know."""
        if self._owes_defer and self._journal is not None:
            self._journal.write(("defer",))
            self._owes_defer = False

    def _forked(self) -> None:
        """Ids are others from now on; the journal is that of the process which was forked."""
        self._ids.is_own = False
        if self._journal is not None:
            self._journal.leave()

    @one_at_a_time
    def compact(self) -> None:
        """Write the journal anew, as short as can be: as one snapshot. A crash meanwhile leaves the old one."""
        if self._journal is None:
            raise ValueError("Bandit.compact: this bandit has no journal; give one: Bandit(…, journal=path)")
        before = self._journal
        self._journal = Journal.anew(before.path, saving.to_json(self), before.fsync)
        before.close()

    @one_at_a_time
    def close(self) -> None:
        """Close the journal, if there is one; the bandit cannot be changed after that."""
        if self._journal is not None:
            self._journal.close()


def check_policy(policy: Any, seed: Any) -> None:
    """Refuse what cannot be live, and items in the place of the seed."""
    if isinstance(policy, Base):
        raise TypeError(
            f"Bandit: {policy!r:.80} is a base, which plays a fixed number of arms; let a policy run it: "
            f"ma.Subsample(ma.{type(policy).__name__}(), beta=1.0, arms=…)"
        )
    if not isinstance(policy, Policy):
        made = f"ma.{policy.__name__}()" if isinstance(policy, type) else "ma.Forager()"
        raise TypeError(f"Bandit: policy must be a policy such as {made}, not {policy!r:.80}")
    if seed is not None and isinstance(seed, Iterable):
        raise TypeError("Bandit: the second argument is the seed; pass items as items=…")
    if policy.sees_means:
        raise TypeError(
            f"Bandit: {type(policy).__name__} is shown the true means, which only a simulation can do; "
            "choose another policy"
        )
