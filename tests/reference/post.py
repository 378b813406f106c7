"""A naive post: a list of what is still to come, sorted in every round.

Reads the fields of a feedback's description, and of a delay the ``quantile``; tests/test_feedbacks.py has its own
oracle for that.
"""

from .late import Heard
from .squares import FEEDBACK_STREAM, bits_at, replication_key, stream_key, uniform


class NaivePost:
    def __init__(self, feedback, seed, replication):
        self.feedback = feedback
        self.pending = feedback.pending
        self.key = stream_key(replication_key(seed, replication), FEEDBACK_STREAM)
        self.coming = []  # the round in which it comes, a number that grows, the ask, all that is still to be said
        self.sent = 0

    def send(self, due, *letter):
        self.sent += 1
        self.coming.append((due, self.sent, *letter))

    def heard_in_round(self, ask, reward):
        """What a policy hears between an ask and the next one, in order."""
        letters = letters_of(self.feedback, self.key, ask.round, reward)
        age, answer = letters[0]
        if age == 0 and answer is not None:
            yield Heard("told", ask, answer)
        else:
            yield Heard("open", ask) if self.pending is None else Heard("told", ask, self.pending)
            self.send(ask.round + age, ask, letters, self.pending)
        for letter in sorted(letter for letter in self.coming if letter[0] == ask.round):
            self.coming.remove(letter)
            yield from self.opened(*letter[2:])

    def opened(self, ask, letters, before):
        """One letter: the answer or that there is none, or another answer than before."""
        (_, answer), *others = letters
        if answer is None and before is None:
            yield Heard("lost", ask)
        elif answer is not None:  # else what was pending stays
            yield Heard("settled", ask, answer) if before is None else Heard("corrected", ask, answer, before)
        if others:
            self.send(ask.round + others[0][0], ask, others, answer)


def letters_of(feedback, key, t, reward):
    """All that is ever heard of the ask of round t: after how many rounds, and which answer; None for none."""
    match type(feedback).__name__:
        case "AtOnce":
            return [(0, reward)]
        case "Batches":  # rounds 1 … size, then the next as many
            last = t
            while last % feedback.size != 0:
                last += 1
            return [(last - t, reward)]
        case "Delayed":
            return [(delay(feedback.rounds, key, t), reward)]
        case "Conversions":
            if reward == 0.0:  # which shows at the timeout only
                return [(feedback.timeout, 0.0)]
            age = delay(feedback.delay, key, t)
            if age <= feedback.timeout:
                return [(age, reward)]
            late = [(age, reward)] if feedback.late == "corrected" else []
            return [(feedback.timeout, 0.0), *late]
        case "Lost":
            if uniform(bits_at(key, t, 1)) < feedback.probability:
                return [(last_word(feedback.feedback), None)]
            return letters_of(feedback.feedback, key, t, reward)
    raise NotImplementedError(feedback)


def delay(rounds, key, t):
    """A number of rounds, or one of 4,096 equally likely quantiles, rounded down and cut at the longest."""
    if isinstance(rounds, int):
        return rounds
    part = bits_at(key, t, 0) // 2**52
    return int(min(rounds.quantile((part + 0.5) / 4096), rounds.longest))


def last_word(feedback):
    """After how many rounds nothing more can come of an ask."""
    match type(feedback).__name__:
        case "AtOnce":
            return 0
        case "Batches":
            return feedback.size - 1
        case "Delayed":
            return longest(feedback.rounds)
        case "Conversions":
            return max(feedback.timeout, longest(feedback.delay) if feedback.late == "corrected" else 0)
        case "Lost":
            return last_word(feedback.feedback)
    raise NotImplementedError(feedback)


def longest(rounds):
    return rounds if isinstance(rounds, int) else rounds.longest
