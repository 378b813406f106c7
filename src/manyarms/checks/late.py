"""The promises of policies about answers that come late."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..contract import Choice, begin, correct, defer, deliver, follow, lose, observe, pull, register, settle, tell
from ..feedbacks import Delayed, Feedback, Lost
from ..policies import Policy
from ..post import new_post
from ..states import copied, leaves
from ..streams import replication_key
from .promises import SEED, difference, hold, keep_kinds, kinds_of, promise
from .runs import Trial, late_world_for, stories

# ---------------------------------------------------------------- what is heard, written down


class Heard(NamedTuple):
    """One thing that a policy hears."""

    verb: str
    choice: Choice
    reward: float = math.nan  # the answer, if there is one
    told: float = math.nan  # of a correction: what was told before


class Scribe(NamedTuple):
    """In place of a policy, as plain Python: it writes down what it hears."""

    heard: list[Heard]


def _hears(state: Scribe, *what: Any) -> Scribe:
    state.heard.append(Heard(*what))
    return state


register(
    Scribe,
    tell=lambda state, choice, reward: _hears(state, "tell", choice, reward),
    defer=lambda state, choice: (_hears(state, "defer", choice), math.nan),
    settle=lambda state, choice, presumed, reward: _hears(state, "settle", choice, reward),
    lose=lambda state, choice, presumed: _hears(state, "lose", choice),
    correct=lambda state, choice, told, reward: _hears(state, "correct", choice, reward, told),
)


class Messenger:
    """What a policy hears of its asks, round by round."""

    def __init__(self, feedback: Feedback, replication: int = 0) -> None:
        self.post = begin(new_post(feedback), replication_key(SEED, replication))

    def heard(self, choice: Choice, round: int, reward: float) -> list[Heard]:
        """Between the ask of a round and the next, in order."""
        scribe = Scribe(heard=[])
        self.post, _ = deliver(self.post, scribe, None, choice, round, reward)
        return scribe.heard


def told_of(policy: Any, heard: Heard, presumed: dict[int, float]) -> Any:
    """A policy's state when it has heard this. ``presumed``: round of an open ask -> what the policy presumes."""
    choice = heard.choice
    if heard.verb == "tell":
        return tell(policy, choice, heard.reward)
    if heard.verb == "defer":
        policy, presumed[choice.round] = defer(policy, choice)
        return policy
    if heard.verb == "settle":
        return settle(policy, choice, presumed.pop(choice.round), heard.reward)
    if heard.verb == "lose":
        return lose(policy, choice, presumed.pop(choice.round))
    return correct(policy, choice, heard.told, heard.reward)


# ---------------------------------------------------------------- promises


@promise("policy")
def late_rewards_count_while_their_arm_is_kept(spec: Policy) -> None:
    """A reward is ignored only if its arm is not kept, and changes no array then; every field keeps its type."""
    world = late_world_for(spec)
    trial = Trial(spec, 600, world=world)
    messenger = Messenger(world.feedback)
    kinds = kinds_of(state=trial.policy)
    presumed: dict[int, float] = {}
    for choice in trial.asks():
        trial.world, _, _, reward = pull(trial.world, choice.slot, choice.arm, trial.round)
        for heard in messenger.heard(choice, trial.round, reward):
            _hear_one(trial, heard, presumed)
            keep_kinds(kinds, f"after {heard.verb} in {trial.where}", state=trial.policy)
        trial.policy = observe(trial.policy, trial.world, choice)
    whole = stories(spec)[-1].end()
    changed = difference(trial.policy, whole.policy)
    hold(not changed, f"told one by one, and by the post: the states differ in {changed}")


def _hear_one(trial: Trial, heard: Heard, presumed: dict[int, float]) -> None:
    """Tell the policy, and see whether it ignores what it should not."""
    before, (_, _, arms, ignored) = copied(trial.policy), trial.counts()
    is_kept = heard.choice.arm in trial.spec.kept_arms(trial.policy)
    trial.policy = told_of(trial.policy, heard, presumed)
    what = f"{trial.where}: the {heard.verb} of round {heard.choice.round}"
    if trial.counts().ignored != ignored:
        hold(heard.verb in ("settle", "correct"), f"{what} was ignored")
        hold(heard.verb == "correct" or not is_kept, f"{what} was ignored, but its arm {heard.choice.arm} is kept")
        changed = difference(before, trial.policy, only=np.ndarray)
        hold(not changed, f"{what} was ignored, but changed {changed}")
    drawn, kept = trial.counts().arms, trial.spec.kept_arms(trial.policy)
    hold(drawn >= arms, f"{what}: {arms} arms drawn became {drawn}")
    if not (kept < max(drawn, 1)).all():  # to write them out takes longer than a round
        hold(False, f"{what}: {drawn} arms drawn, but {kept} are kept")
    trial.policy = follow(trial.policy, trial.world)


@promise("policy")
def lost_answers_do_no_harm(spec: Policy) -> None:
    """When no answer ever comes it goes on, learns and ignores nothing; when they come again, so does it."""
    messenger = Messenger(Lost(1.0, Delayed(7)))
    trial = Trial(spec, 600)
    presumed: dict[int, float] = {}
    clean = {path for path, leaf in leaves(trial.policy) if not np.isnan(leaf).any()}
    for choice in trial.asks(until=300):
        trial.world, _, _, reward = pull(trial.world, choice.slot, choice.arm, trial.round)
        for heard in messenger.heard(choice, trial.round, reward):
            trial.policy = follow(told_of(trial.policy, heard, presumed), trial.world)
        trial.policy = observe(trial.policy, trial.world, choice)
    hold(trial.counts().ignored == 0, f"no answer came, but {trial.counts().ignored} were ignored")
    spoiled = next((path for path, leaf in leaves(trial.policy) if path in clean and np.isnan(leaf).any()), "")
    hold(not spoiled, f"no answer came, and {spoiled} is not a number")
    trial.play()  # with answers at once
