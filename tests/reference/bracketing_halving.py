"""Zhao, Stephens, Szepesvári & Jun (ICML 2023): sequential halving in brackets of 2^b arms, opened after b 2^b rounds.

In its k-th run, k = 0, 1, …, a bracket plays each of its 2^b arms 2^k times, the better half 2^(k+1) times, and so on:
2^(b+k) rounds between halvings. Arms are judged by all their rewards.
"""

from .growing import Arm
from .twins import twin_of


class Bracket:
    def __init__(self, b, first):
        self.b = b
        self.order = list(range(first, first + 2**b))
        self.left = 2**b
        self.k = 0
        self.played = 0
        self.winner = None

    def arm(self):
        return self.order[self.played % self.left]

    def count(self, mean):
        self.played += 1
        if self.played < 2 ** (self.b + self.k):
            return
        self.order[: self.left] = sorted(self.order[: self.left], key=lambda arm: (-mean(arm), arm))
        self.left //= 2
        self.played = 0
        if self.left == 1:
            self.winner, self.left = self.order[0], 2**self.b
            self.k += 1


def bracketing_halving(counts):
    arms, brackets, t, turn = {}, [], 0, 0

    def mean(arm):
        return arms[arm].total / arms[arm].n if arm in arms and arms[arm].n else 0.0

    counts.blocks += 1
    while True:
        b = len(brackets) + 1
        if b == 1 or t >= b * 2**b:
            brackets.append(Bracket(b, counts.arms))
            counts.arms += 2**b
        winners = [bracket.winner for bracket in brackets if bracket.winner is not None]
        counts.recommended = max(winners, key=mean, default=0)
        heard = yield brackets[turn].arm(), 1.0
        arm = arms.setdefault(heard.ask.arm, Arm())
        if heard.what == "corrected":
            arm.total += heard.reward - heard.before
        elif heard.reward is not None:
            arm.add(heard.reward)
        if heard.is_round:
            brackets[turn].count(mean)
            t += 1
            turn = (turn + 1) % len(brackets)


@twin_of("BracketingHalving")
def new_bracketing_halving(spec, setting):
    return bracketing_halving
