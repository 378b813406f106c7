"""Feedbacks that break their promises are found out."""

import pytest

import manyarms as ma
from manyarms import checks, feedbacks, post
from manyarms.checks import feedbacks as promises
from manyarms.contract import VERBS

pytestmark = pytest.mark.once

FIVE = ma.Delayed(ma.LogUniform(least=5, longest=5))  # by chance, as far as its post knows


def breaks(spec, promise, what):
    with pytest.raises(checks.CheckError, match=f"breaks '{promise}' .*{what}"):
        dict(checks.checks(spec))[promise]()


@pytest.mark.parametrize(
    ("kernels", "promise", "what"),
    [
        (
            {"first_answer": lambda rule, key, t, reward: 102 if t == 50 else 2},
            "delays_are_in_range",
            "round 50: an answer after 102 rounds, not 0 to 5",
        ),
        (
            {"first_answer": lambda rule, key, t, reward: 6 if t == 50 else 2},
            "every_ask_is_heard_of",
            "of the ask of round 50 something is heard in round 56",
        ),
        (
            {"answer_at": lambda rule, key, t, age, reward: (reward, 1 if age < 6 else 0)},
            "delays_are_in_range",
            "a correction after 6 rounds, not at most 5",
        ),
        (
            {
                "first_answer": lambda rule, key, t, reward: 3,
                "answer_at": lambda rule, key, t, age, reward: (reward, 2 if age == 3 else 0),
            },
            "every_ask_is_heard_of",
            "of the ask of round 1 is heard: defer, settle, settle",
        ),
        (
            {
                "first_answer": lambda rule, key, t, reward: 3,
                "answer_at": lambda rule, key, t, age, reward: (reward, 2 if age == 3 else 0),
                "is_correction": lambda rule, age: age > 3,
            },
            "every_ask_is_heard_of",
            "the answer of round 1 is corrected; ``corrects`` says none is",
        ),
    ],
)
def test_a_rule_that_breaks_a_promise(kernels, promise, what, monkeypatch):
    for verb, kernel in kernels.items():
        monkeypatch.setitem(VERBS[verb].kernels, feedbacks.DelayedRule, kernel)
    breaks(FIVE, promise, what)


def test_an_ask_that_is_dropped(monkeypatch):
    hang = post.hang
    monkeypatch.setattr(post, "hang", lambda wheel, ask, due: hang(wheel, ask, due) if due != 9 else None)
    breaks(FIVE, "every_ask_is_heard_of", "of the ask of round 4 is heard: defer")


def test_the_newest_comes_first(monkeypatch):
    def hang_in_front(wheel, ask, due):
        knot = post.knot(wheel, due & wheel.mask)
        wheel.after[ask], wheel.after[knot] = wheel.after[knot], ask

    monkeypatch.setattr(post, "hang", hang_in_front)
    late = ma.Delayed(ma.Geometric(mean=8.0, longest=60))
    breaks(late, "answers_come_in_order", r"the ask of round \d+ is answered after that of \d+")


def test_a_feedback_that_looks_at_the_arm(monkeypatch):
    deliver = post.deliver_late

    def by_arm(wheel, policy, world, choice, round, reward):
        return deliver(wheel, policy, world, choice, round, reward + choice.arm)

    monkeypatch.setitem(VERBS["deliver"].kernels, post.Post, by_arm)
    breaks(FIVE, "delays_are_the_same_for_all", "of arm 7 other things are heard than of arm 0")


def test_too_much_memory(monkeypatch):
    monkeypatch.setattr(promises, "BYTES_OF_ASK", 10)
    breaks(FIVE, "memory_follows_the_longest_delay", "704 bytes for delays of at most 5 rounds")


def test_a_delay_is_checked_in_a_feedback():
    delay = ma.Geometric(mean=3.0, longest=20)
    assert [name for name, _ in checks.checks(delay)] == [name for name, _ in checks.checks(ma.Delayed(delay))]
