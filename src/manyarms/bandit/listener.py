"""What a policy hears of its asks, live: the part of a bandit that speaks the contract."""

from typing import Any

from ..contract import Choice, counts
from ..policies.base import Policy, checked_slots
from ..replication import begun_policy
from ..states import enlarged
from .decisions import OpenDecisions, Remembered
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

    def _choice_of(self, identity: int) -> Choice | None:
        """The choice of a decision, as long as it is known."""
        remembered = self._remembered.told.get(identity)
        return self._open.choice_of(identity) if remembered is None else remembered[0]

    def _heard(self, state: Any) -> bool:
        """Go on with this state; whether what it heard was not ignored."""
        before = self._counts.ignored
        self._held = state
        self._counts = counts(state)
        return bool(self._counts.ignored == before)

    def _defer_newest(self) -> None:
        """Something else comes before the reward of the newest decision, unless that was here already."""
        choice = self._open.newest
        if choice is None:
            return
        if self.asked > self._rounds:
            self._make_room()
        if self._pending is None:
            state, presumed = self._kernels.defer(self._held, choice)
        else:
            state, presumed = self._kernels.tell(self._held, choice, self._pending), self._pending
        self._heard(state)
        self._open.defer_newest(float(presumed))

    def _answer(self, identity: int, reward: float) -> bool:
        """The reward of an open decision; whether the policy could use it."""
        newest = self._open.newest
        if newest is not None and newest.round == identity:
            if self.asked > self._rounds:
                self._make_room()  # first, because there may be none; nothing has changed until then
            choice = self._open.take_newest()
            state = self._kernels.tell(self._held, choice, reward)
        else:
            self._defer_newest()
            choice, presumed, _ = self._open.deferred.pop(identity)
            replaces = self._kernels.settle if self._pending is None else self._kernels.correct
            state = replaces(self._held, choice, presumed, reward)
        self._remembered.add(choice, reward)
        return self._heard(state)

    def _give_up(self, identity: int) -> None:
        """There will be no reward for an open decision: what was assumed stands."""
        self._defer_newest()
        choice, presumed, _ = self._open.deferred.pop(identity)
        if self._pending is None:
            self._heard(self._kernels.lose(self._held, choice, presumed))
        else:
            self._remembered.add(choice, presumed)

    def _make_room(self) -> None:
        """Go on with arrays for twice as many rounds."""
        rounds = 2 * self._rounds
        checked_slots(self.policy, rounds)
        self._state, self._rounds = enlarged(self._state, self.policy.start(rounds)), rounds

    def _defer_all(self) -> None:
        """Tell the policy of open decisions that it has not been told of, as far as it could still get to them."""
        while self.asked > self._rounds:
            self._make_room()
        for identity, deferred in list(self._open.deferred.items()):
            choice = deferred.choice
            if choice.block == self._counts.blocks and choice.arm in self.policy.kept_arms(self._state):
                state, presumed = self._kernels.defer(self._held, choice)
                self._heard(state)
                self._open.deferred[identity] = deferred._replace(presumed=float(presumed))
