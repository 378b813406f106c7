"""What a policy hears of its asks, live: the part of a bandit that speaks the contract."""

from typing import Any

from ..contract import Choice, counts
from ..policies.base import Policy, checked_slots
from ..replication import begun_policy
from ..states import enlarged
from .decisions import Closed, Open, OpenDecisions, Remembered
from .kernels import PLAIN, Compiled, Kernels, ready_for

FIRST_ROUNDS = 1024
"""A new bandit has room for this many rounds; the room doubles when it is used up."""


class Listener:
    """A policy that is told of every ask: its answer at once; or that it is open, and later what came of it."""

    policy: Policy
    seed: int
    replication: int
    correctable: int
    _pending: float | None  # what the reward of an open ask is assumed to be, from 0 to 1
    _held: Any  # the policy's state as the kernels return it
    _kernels: Kernels  # plain or compiled
    _compiled: Compiled | None  # whose kernels they are then

    def _begin(self) -> None:
        """Nothing has been asked."""
        self.asked = 0  # decisions made
        self._open = OpenDecisions()
        self._remembered = Remembered(self.correctable)
        self._rounds = FIRST_ROUNDS  # for how many there is room
        checked_slots(self.policy, self._rounds)
        self._state = begun_policy(self.policy, self._rounds, self.seed, self.replication)
        self._counts = counts(self._state)

    @property
    def _state(self) -> Any:
        """The policy's state, the same whichever kernels returned it."""
        return self._held if self._compiled is None else self._compiled.read(self._held)

    @_state.setter
    def _state(self, state: Any) -> None:
        self._compiled = ready_for(state)
        self._kernels = PLAIN if self._compiled is None else self._compiled.kernels
        self._held = state

    def _heard(self, state: Any) -> bool:
        """Go on with this state; whether what it heard was not ignored."""
        before = self._counts.ignored
        self._held = state
        self._counts = counts(state)
        return bool(self._counts.ignored == before)

    def _changed(self, state: Any) -> None:
        """Go on with a state that no compiled kernel has returned."""
        self._state = state
        self._counts = counts(state)

    def _defer_newest(self) -> None:
        """Something else comes before the reward of the newest decision, unless that was here already."""
        newest = self._open.newest
        if newest is not None:
            self._open.defer_newest(newest.presumed if newest.is_outside else self._deferred(newest.choice))

    def _deferred(self, choice: Choice) -> float:
        """Let the policy know that an ask is open; what it takes the reward to be."""
        if self.asked > self._rounds:
            self._make_room()
        if self._pending is None:
            state, presumed = self._kernels.defer(self._held, choice)
        else:
            state, presumed = self._kernels.tell(self._held, choice, self._pending), self._pending
        self._heard(state)
        return float(presumed)

    def _answer(self, decision: int, reward: float) -> bool:
        """The reward of an open decision of the policy; whether it could use it."""
        newest = self._open.newest
        if newest is not None and newest.choice.round == decision:
            if self.asked > self._rounds:
                self._make_room()  # first, because there may be none; nothing has changed until then
            one = self._open.take_newest()
            state = self._kernels.tell(self._held, one.choice, reward)
        else:
            self._defer_newest()
            one = self._open.deferred.pop(decision)
            replaces = self._kernels.settle if self._pending is None else self._kernels.correct
            state = replaces(self._held, one.choice, one.presumed, reward)
        self._remember(one, reward)
        return self._heard(state)

    def _remember(self, one: Open, reward: float) -> None:
        self._remembered.add(Closed(one.choice, one.key, one.how, reward))

    def _give_up(self, decision: int) -> Open:
        """There will be no reward for an open decision: what was assumed stands."""
        self._defer_newest()
        one = self._open.deferred.pop(decision)
        if one.is_outside:
            return one
        if self._pending is None:
            self._heard(self._kernels.lose(self._held, one.choice, one.presumed))
        else:
            self._remember(one, one.presumed)
        return one

    def _pass_over(self, choice: Choice) -> None:
        """The policy's plan cannot be followed: for it, an ask whose answer got lost. So its blocks come to an end."""
        if self.asked >= self._rounds:
            self._make_room()
        state, presumed = self._kernels.defer(self._held, choice)
        self._heard(state)
        self._heard(self._kernels.lose(self._held, choice, float(presumed)))

    def _make_room(self) -> None:
        """Go on with arrays for twice as many rounds."""
        rounds = 2 * self._rounds
        checked_slots(self.policy, rounds)
        self._state, self._rounds = enlarged(self._state, self.policy.start(rounds)), rounds

    def _defer_all(self) -> None:
        """Tell the policy of open decisions that it has not been told of, as far as it could still get to them."""
        while self.asked > self._rounds:
            self._make_room()
        for decision, one in list(self._open.deferred.items()):
            choice = one.choice
            if choice.block == self._counts.blocks and choice.arm in self.policy.kept_arms(self._state):
                state, presumed = self._kernels.defer(self._held, choice)
                self._heard(state)
                self._open.deferred[decision] = one._replace(presumed=float(presumed))
