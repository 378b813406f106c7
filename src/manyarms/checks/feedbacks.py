"""The promises of feedbacks."""

from collections.abc import Iterator

from ..feedbacks import Feedback, answer_at, first_answer
from ..post import new_post
from ..states import own_arrays
from ..streams import FEEDBACK_STREAM, replication_key, stream_key
from .late import Heard, Messenger
from .promises import SEED, hold, promise, shapes_of
from .runs import BUSY_POLICY, BUSY_WORLD, CHOICE, Trial

ROUNDS = 500
BYTES_OF_ASK = 200
"""The most that a round of the longest delay may take."""
REWARDS = (0.0, 1.0, 0.25, 1.0, 0.0)


def rewards_until(rounds: int) -> Iterator[tuple[int, float]]:
    """Rounds, each with a reward."""
    return ((round, REWARDS[round % len(REWARDS)]) for round in range(1, rounds + 1))


def all_heard(feedback: Feedback, arm: int = 0) -> list[tuple[int, Heard]]:
    """What is heard of so many asks until nothing more can come, each with its round; later asks are left out."""
    messenger = Messenger(feedback)
    choice = CHOICE._replace(arm=arm)
    return [
        (round, heard)
        for round, reward in rewards_until(ROUNDS + feedback.longest + 1)
        for heard in messenger.heard(choice._replace(round=round), round, reward)
        if heard.choice.round <= ROUNDS
    ]


@promise("feedback")
def delays_are_in_range(spec: Feedback) -> None:
    """Whatever is heard of an ask is heard after 0 to ``longest`` rounds, and always after the same number of them."""
    rule, key = spec.rule(), stream_key(replication_key(SEED, 0), FEEDBACK_STREAM, 0)
    for round, reward in rewards_until(ROUNDS):
        age = first_answer(rule, key, round, reward)
        hold(age == first_answer(rule, key, round, reward), f"round {round}: {age} rounds, then another number")
        hold(0 <= age <= spec.longest, f"round {round}: an answer after {age} rounds, not 0 to {spec.longest}")
        _, more = answer_at(rule, key, round, age, reward)
        last = age + more
        hold(last <= spec.longest, f"round {round}: a correction after {last} rounds, not at most {spec.longest}")
        hold(more == 0 or spec.corrects, f"round {round}: a correction, but ``corrects`` says that there is none")


@promise("feedback")
def every_ask_is_heard_of(spec: Feedback) -> None:
    """Every ask is told, or deferred and then settled or lost, once; corrections come after, in feedbacks with them."""
    stories: dict[int, list[str]] = {round: [] for round in range(1, ROUNDS + 1)}
    for round, heard in all_heard(spec):
        asked = heard.choice.round
        hold(asked == round or stories[asked], f"the first of the ask of round {asked} is heard in round {round}")
        hold(round <= asked + spec.longest, f"of the ask of round {asked} something is heard in round {round}")
        stories[asked].append(heard.verb)
    openings = [["tell"], ["defer", "settle"], ["defer", "lose"]]
    for asked, story in stories.items():
        told = [verb for verb in story if verb != "correct"]
        hold(told in openings, f"of the ask of round {asked} is heard: {', '.join(story) or 'nothing'}")
        hold(story[: len(told)] == told, f"of the ask of round {asked} is heard: {', '.join(story)}")
        hold(told == story or spec.corrects, f"the answer of round {asked} is corrected; ``corrects`` says none is")


@promise("feedback")
def answers_come_in_order(spec: Feedback) -> None:
    """In a round its own ask comes first; answers that are due at the same time come in the order of their asks."""
    last = (0, 0)
    for round, heard in all_heard(spec):
        asked = heard.choice.round
        if heard.verb in ("tell", "defer"):
            hold(asked == round, f"round {round}: {heard.verb} of the ask of round {asked}")
            hold(last[0] < round, f"round {round}: an answer to round {last[1]} comes before its own ask")
        if heard.verb in ("settle", "lose"):
            hold(last < (round, asked), f"round {round}: the ask of round {asked} is answered after that of {last[1]}")
            last = (round, asked)


@promise("feedback")
def memory_follows_the_longest_delay(spec: Feedback) -> None:
    """Room for the open asks of the longest delay is made at the start, and is enough however long a run is."""
    post = new_post(spec)
    room, size = shapes_of(post), sum(array.nbytes for array in own_arrays(post))
    hold(size <= BYTES_OF_ASK * (spec.longest + 1), f"{size:,} bytes for delays of at most {spec.longest} rounds")
    trial = Trial(BUSY_POLICY, 1500, world=BUSY_WORLD.replace(feedback=spec))
    trial.play()
    hold(shapes_of(trial.post) == room, f"after 1500 rounds the post is {shapes_of(trial.post)}, not {room}")


@promise("feedback")
def delays_are_the_same_for_all(spec: Feedback) -> None:
    """What is heard of an ask does not depend on the arm that was played."""
    ours, others = ([(round, heard._replace(choice=CHOICE)) for round, heard in all_heard(spec, arm)] for arm in (0, 7))
    hold(repr(ours) == repr(others), "of arm 7 other things are heard than of arm 0")
