"""A live catalogue, slow and obvious: what may be asked for, in what order, and what is known of each item.

It does not know how a policy chooses. It says what no choice may break.
"""

import dataclasses

HERE, PAUSED, WITHDRAWN = "here", "paused", "withdrawn"


@dataclasses.dataclass
class Known:
    """An item."""

    state: str = HERE
    asks: int = 0
    plays: int = 0
    reward: float = 0.0


@dataclasses.dataclass
class Decided:
    """A decision."""

    key: object
    since: float
    is_outside: bool
    is_open: bool = True
    reward: float | None = None


class CatalogueModel:
    """What `manyarms.Bandit` should know of its items."""

    def __init__(self, keys, segments, pending=None, timeout=None, on_timeout=None, correctable=0):
        self.items = {}
        self.untouched = []  # keys in the order in which they are to be asked for, as long as nothing is known of them
        self.segments = segments
        self.pending, self.timeout, self.on_timeout, self.correctable = pending, timeout, on_timeout, correctable
        self.decisions = {}
        self.waiting = {}  # those that are open, in order
        self.rewarded = []  # ids in the order in which they had rewards
        self.told = self.timed_out = 0
        self.last_timed_out = None
        self.add(keys)

    # The catalogue.

    def place(self, key, first):
        if key in self.untouched:
            self.untouched.remove(key)
        if self.items[key].asks == self.items[key].plays == 0:
            self.untouched.insert(0, key) if first else self.untouched.append(key)

    def add(self, keys, first=False):
        for key in reversed(keys) if first else keys:
            if key not in self.items:
                self.items[key] = Known()
            elif self.items[key].state != WITHDRAWN:
                continue
            self.items[key].state = HERE
            self.place(key, first)

    def can_add(self, keys):
        is_there = [key for key in keys if key in self.items and self.items[key].state != WITHDRAWN]
        return not is_there and len(set(keys)) == len(keys)

    def set_aside(self, key, state):
        if self.items[key].state != WITHDRAWN:  # never again is longer than for a while
            self.items[key].state = state

    def restore(self, key):
        if self.items[key].state != HERE:
            self.items[key].state = HERE
            self.place(key, first=False)

    def observe(self, key, plays, reward):
        if key not in self.items:
            self.items[key] = Known()
        self.items[key].plays += plays
        self.items[key].reward += reward
        if key in self.untouched:
            self.untouched.remove(key)

    # Asks.

    def may_be_asked_for(self, key, among=None, exclude=None, where=None, segment=None):
        return (
            self.items[key].state == HERE
            and (among is None or key in among)
            and (exclude is None or key not in exclude)
            and (where is None or where(key))
            and (segment is None or self.segments[segment](key))
        )

    def eligible(self, wish):
        return [key for key in self.items if self.may_be_asked_for(key, **wish)]

    def first_untouched(self, wish):
        return next((key for key in self.untouched if self.may_be_asked_for(key, **wish)), None)

    def asked(self, decision, now):
        self.decisions[decision.id] = self.waiting[decision.id] = Decided(decision.key, now, decision.arm < 0)
        self.items[decision.key].asks += 1
        if decision.key in self.untouched:
            self.untouched.remove(decision.key)

    # Answers.

    def open(self):
        return list(self.waiting)

    def close(self, identity, reward):
        one = self.decisions[identity]
        one.is_open = False
        del self.waiting[identity]
        if reward is not None:
            one.reward = reward
            self.rewarded.append(identity)
            self.items[one.key].plays += 1
            self.items[one.key].reward += reward

    def tell(self, identity, reward):
        if not self.decisions[identity].is_open:
            order = list(self.decisions)
            late = self.last_timed_out is not None and order.index(identity) <= order.index(self.last_timed_out)
            return ["timed_out"] if late else ["repeated"]
        self.close(identity, reward)
        self.told += 1
        return ["counted", "ignored"]

    def forget(self, identity):
        one = self.decisions[identity]
        if not one.is_open:
            return False
        self.close(identity, self.pending)
        return True

    def can_correct(self, identity):
        remembered = self.rewarded[len(self.rewarded) - min(self.correctable, len(self.rewarded)) :]
        return identity in remembered

    def correct(self, identity, reward):
        one = self.decisions[identity]
        self.items[one.key].reward += reward - one.reward
        one.reward = reward

    def look(self, now):
        """Those whose time is over."""
        if self.timeout is None:
            return []
        due = [identity for identity in self.open() if now - self.decisions[identity].since >= self.timeout]
        for identity in due:
            if self.on_timeout is None:
                self.forget(identity)
            else:
                self.close(identity, self.on_timeout)
            self.timed_out += 1
            self.last_timed_out = identity
        return due
