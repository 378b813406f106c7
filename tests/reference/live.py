"""A live bandit, slow and obvious: a list of all decisions with what has become of each.

The policy is greedy on a subsample, with a known horizon or in blocks of 2, 4, 8, … asks. Plays and sums are
counted from the list whenever they are needed.
"""

import dataclasses
import math
from fractions import Fraction

NEW, OPEN, CLOSED = "new", "open", "closed"


@dataclasses.dataclass
class Decided:
    """A decision."""

    id: int
    arm: int
    block: int
    since: float
    stage: str = NEW
    counted: Fraction | None = None  # as what reward the policy counts it
    final: float | None = None  # the reward it was told for good


class LiveModel:
    """What `manyarms.Bandit` should do."""

    def __init__(self, arms, has_blocks, pending, timeout, on_timeout, correctable):
        self.most_arms, self.has_blocks = arms, has_blocks
        self.pending, self.timeout, self.on_timeout, self.correctable = pending, timeout, on_timeout, correctable
        self.decisions = []
        self.finals = []  # decisions in the order in which they were closed with a reward
        self.told = self.timed_out = self.ignored = self.last_timed_out = 0
        self.time = None
        self.set_back = 0
        self.blocks, self.first_arm = 0, 0
        self.size = 0
        self.next_block()

    # The policy.

    def next_block(self):
        self.blocks += 1
        self.first_arm += self.size
        self.left = 2**self.blocks if self.has_blocks else math.inf
        self.size = min(self.most_arms, self.left)

    def rewards_of(self, arm):
        return [one.counted for one in self.decisions if one.arm == arm and one.counted is not None]

    def means(self):
        """Of the arms of the block; None of those that were not played."""
        found = [self.rewards_of(arm) for arm in range(self.first_arm, self.first_arm + self.size)]
        return [sum(rewards) / len(rewards) if rewards else None for rewards in found]

    def best_arm(self):
        means = self.means()
        if None in means:
            return self.first_arm + means.index(None)
        return self.first_arm + means.index(max(means))

    def expected(self, arm):
        rewards = self.rewards_of(arm)
        grain = Fraction(1, 2**20)
        return math.floor(sum(rewards) / len(rewards) / grain) * grain if rewards else Fraction(0)

    def round_passes(self):
        self.left -= 1
        if self.left == 0:
            self.next_block()

    # Decisions.

    def open(self):
        return [one for one in self.decisions if one.stage != CLOSED]

    def remembered(self):
        return self.finals[len(self.finals) - min(self.correctable, len(self.finals)) :]

    def ask(self):
        self.defer_newest()
        since = self.time if self.time is not None else 0.0
        self.decisions.append(Decided(len(self.decisions) + 1, self.best_arm(), self.blocks, since))
        return self.decisions[-1]

    def defer_newest(self):
        for one in self.decisions:
            if one.stage == NEW:
                one.stage = OPEN
                one.counted = self.expected(one.arm) if self.pending is None else Fraction(self.pending)
                self.round_passes()

    def close(self, one, reward):
        """With a reward, or without; whether the policy could make use of it."""
        is_at_once = one.stage == NEW and reward is not None
        if not is_at_once:
            self.defer_newest()
        one.stage = CLOSED
        if reward is None:
            if self.pending is None:
                one.counted = None
                return True
            reward = self.pending
        elif not is_at_once and one.block != self.blocks:
            self.ignored += 1
            self.finish(one, reward)
            return False
        one.counted = Fraction(reward)
        self.finish(one, reward)
        if is_at_once:
            self.round_passes()
        return True

    def finish(self, one, reward):
        one.final = reward
        self.finals.append(one)

    def tell(self, one, reward):
        if one.stage == CLOSED:
            return "timed_out" if one.id <= self.last_timed_out else "repeated"
        self.told += 1
        return "counted" if self.close(one, reward) else "ignored"

    def forget(self, one):
        if one.stage == CLOSED:
            return False
        self.close(one, None)
        return True

    def correct(self, one, reward):
        """None: that is refused."""
        if one.stage != CLOSED or one not in self.remembered():
            return None
        self.defer_newest()
        one.final = reward
        if one.block != self.blocks:
            self.ignored += 1
            return "ignored"
        one.counted = Fraction(reward)
        return "corrected"

    # Time.

    def look(self, reading):
        """Time stands still where readings come out of order; a clock far behind was set back, and time goes on."""
        if self.timeout is None:
            return []
        shown = reading + self.set_back
        if self.time is not None and self.time - shown >= self.timeout:
            self.set_back += self.time - shown
            shown = self.time
        self.time = shown if self.time is None else max(self.time, shown)
        due = [one for one in self.open() if self.time - one.since >= self.timeout]
        for one in due:
            self.close(one, self.on_timeout)
            self.timed_out += 1
            self.last_timed_out = one.id
        return [one.id for one in due]
