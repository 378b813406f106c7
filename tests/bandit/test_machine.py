"""Everything that can happen to a live bandit, in any order, against a list of decisions."""

import json

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import manyarms as ma
from manyarms.bandit import kernels
from manyarms.compiled import IS_COMPILING
from tests.live_ids import id_of, ids_of
from tests.reference.live import LiveModel

pytestmark = pytest.mark.usefixtures("same_tags")

ARMS = 3
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
STEPS = st.sampled_from([0.0, 0.0, 1.0, 4.0, 11.0, -7.0])  # of the clock, which may be set back
PLACES = st.integers(0, 1000)


class LiveBandit(RuleBasedStateMachine):
    """A bandit and its model hear the same."""

    @initialize(
        has_blocks=st.booleans(),
        pending=st.sampled_from([None, 0.0, 0.5]),
        timeout=st.sampled_from([None, 11.0]),
        on_timeout=st.sampled_from([None, 0.25]),
        correctable=st.sampled_from([0, 2, 100]),
        seed=st.integers(0, 3),
    )
    def start(self, has_blocks, pending, timeout, on_timeout, correctable, seed):
        kernels._READY.clear()  # so that it begins as plain Python
        on_timeout = None if timeout is None else on_timeout
        policy = ma.Subsample(ma.Greedy(), beta=1.0, arms=ARMS, horizon="doubling" if has_blocks else 10_000)
        self.clock = 1000.0
        self.bandit = ma.Bandit(
            policy, seed, pending=pending, timeout=timeout, on_timeout=on_timeout, correctable=correctable,
            clock=lambda: self.clock,
        )  # fmt: skip
        self.model = LiveModel(ARMS, has_blocks, pending, timeout, on_timeout, correctable)

    def look(self, step):
        self.clock += step
        return self.model.look(self.clock)

    def picked(self, decisions, place):
        return decisions[place % len(decisions)]

    @rule(step=STEPS)
    def ask(self, step):
        self.look(step)
        decision, expected = self.bandit.ask(), self.model.ask()
        assert (decision.id, decision.arm, decision.probability) == (id_of(expected.id), expected.arm, 1.0)

    @rule(step=STEPS, n=st.integers(1, 5))
    def ask_for_many(self, step, n):
        self.look(step)
        # The time may as well be given.
        decisions = self.bandit.ask(n, now=self.clock)
        expected = [self.model.ask() for _ in range(n)]
        assert [(one.id, one.arm) for one in decisions] == [(id_of(one.id), one.arm) for one in expected]

    @precondition(lambda self: self.model.open())
    @rule(step=STEPS, place=PLACES, reward=REWARDS)
    def tell(self, step, place, reward):
        one = self.picked(self.model.open(), place)
        self.look(step)
        assert self.bandit.tell(id_of(one.id), reward) == self.model.tell(one, reward)

    @precondition(lambda self: self.model.open())
    @rule(reward=REWARDS)
    def tell_the_newest(self, reward):
        one = self.model.open()[-1]
        self.look(0.0)
        assert self.bandit.tell(id_of(one.id), reward, now=self.clock) == self.model.tell(one, reward)

    @precondition(lambda self: self.model.decisions)
    @rule(place=PLACES, reward=REWARDS)
    def tell_any(self, place, reward):
        one = self.picked(self.model.decisions, place)
        self.look(0.0)
        assert self.bandit.tell(id_of(one.id), reward) == self.model.tell(one, reward)

    @precondition(lambda self: self.model.decisions)
    @rule(place=PLACES, reward=REWARDS)
    def correct(self, place, reward):
        one = self.picked(self.model.remembered() or self.model.decisions, place)
        expected = self.model.correct(one, reward)
        if expected is None:
            with pytest.raises((KeyError, ValueError), match=r"Bandit\.correct"):
                self.bandit.correct(id_of(one.id), reward)
        else:
            assert self.bandit.correct(id_of(one.id), reward) == expected

    @precondition(lambda self: self.model.decisions)
    @rule(place=PLACES)
    def forget(self, place):
        one = self.picked(self.model.open() or self.model.decisions, place)
        assert self.bandit.forget(id_of(one.id)) == self.model.forget(one)

    @precondition(lambda self: self.model.timeout is not None)
    @rule(step=STEPS)
    def expire(self, step):
        expected = self.look(step)
        assert self.bandit.expire() == ids_of(expected)

    @rule()
    def warm(self):
        assert self.bandit.warm() == IS_COMPILING

    @rule(is_elsewhere=st.booleans())
    def save_and_load(self, is_elsewhere):
        text = json.dumps(self.bandit.to_json(), allow_nan=False)
        if is_elsewhere:
            kernels._READY.clear()  # as in a new process, in which nothing is compiled
        self.bandit = ma.Bandit.from_json(json.loads(text), clock=lambda: self.clock)
        assert self.bandit.is_compiled == bool(kernels._READY)
        assert json.dumps(self.bandit.to_json()) == text

    @invariant()
    def they_agree(self):
        bandit, model = self.bandit, self.model
        assert bandit.open_decisions == [id_of(one.id) for one in model.open()]
        assert (bandit.asked, bandit.told, bandit.timed_out) == (len(model.decisions), model.told, model.timed_out)
        assert bandit.ignored == model.ignored
        state = bandit._state
        assert (state.counts.blocks, state.first_arm, state.block.size) == (model.blocks, model.first_arm, model.size)
        for slot in range(model.size):
            rewards = model.rewards_of(model.first_arm + slot)
            assert (state.base.rewards.plays[slot], state.base.rewards.sums[slot]) == (len(rewards), sum(rewards))

    def teardown(self):
        kernels._READY.clear()


LiveBandit.TestCase.settings = settings(
    derandomize=True, deadline=None, max_examples=150, stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
TestLiveBandit = LiveBandit.TestCase
