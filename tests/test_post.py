"""The post: what is heard, when and in which order, against a list that is sorted in every round."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import manyarms as ma
from manyarms.checks.late import Messenger
from manyarms.checks.promises import SEED
from manyarms.checks.runs import CHOICE
from manyarms.contract import begin
from manyarms.post import NoPost, new_post
from manyarms.states import own_arrays
from manyarms.streams import replication_key
from tests.reference.late import Ask
from tests.reference.post import NaivePost
from tests.worlds import exactly

pytestmark = pytest.mark.once

rounds = st.integers(1, 70)
delays = st.one_of(
    rounds,
    st.builds(ma.Geometric, mean=st.floats(0.1, 50.0), longest=rounds),
    st.builds(lambda one, other: ma.LogUniform(min(one, other), max(one, other)), rounds, rounds),
    st.builds(ma.LogNormal, median=st.floats(0.1, 50.0), spread=st.floats(0.1, 3.0), longest=rounds),
)
pending = st.sampled_from([None, None, 0.0, 0.5])
feedbacks = st.one_of(
    st.builds(ma.Batches, rounds),
    st.builds(ma.Delayed, delays),
    st.builds(ma.Conversions, delays, timeout=rounds, late=st.sampled_from(["never", "corrected"])),
)
all_feedbacks = st.one_of(
    feedbacks,
    st.builds(lambda feedback, value: feedback.replace(pending=value), feedbacks, pending),
    st.builds(ma.Lost, st.sampled_from([0.0, 0.3, 1.0]), st.one_of(feedbacks, st.just(ma.AtOnce())), pending),
)

VERBS = {"tell": "told", "defer": "open", "settle": "settled", "lose": "lost", "correct": "corrected"}


def plain(number):
    return None if math.isnan(number) else number


@exactly
@given(all_feedbacks, st.lists(st.sampled_from([0.0, 1.0, 0.25]), min_size=1, max_size=250), st.integers(0, 3))
def test_everything_is_heard_as_from_a_sorted_list(feedback, rewards, replication):
    fast, slow = Messenger(feedback, replication), NaivePost(feedback, SEED, replication)
    for t, reward in enumerate(rewards, start=1):
        choice = CHOICE._replace(slot=t % 7, arm=10 * t, probability=1 / t, block=t // 9, round=t)
        heard = fast.heard(choice, t, reward)
        wanted = list(slow.heard_in_round(Ask(t, 10 * t, 1 / t, t // 9), reward))
        assert [(VERBS[one.verb], one.choice.round, plain(one.reward), plain(one.told)) for one in heard] == [
            (one.what, one.ask.round, one.reward, one.before) for one in wanted
        ], t
        for choice in (one.choice for one in heard):  # as it was asked
            n = choice.round
            assert choice == (n % 7, 10 * n, 1 / n, n // 9, n)


def test_at_once_there_is_no_post():
    post = new_post(ma.AtOnce())
    assert isinstance(post, NoPost)
    assert own_arrays(post) == []
    heard = Messenger(ma.AtOnce()).heard(CHOICE, 1, 0.5)
    assert [(one.verb, one.reward) for one in heard] == [("tell", 0.5)]


@pytest.mark.parametrize(
    ("feedback", "places"),
    [(ma.Batches(1), 1), (ma.Batches(2), 2), (ma.Delayed(7), 8), (ma.Delayed(8), 16), (ma.Delayed(100_000), 2**17)],
)
def test_there_are_places_for_the_longest_delay_and_no_more_than_twice_as_many(feedback, places):
    post = new_post(feedback)
    assert feedback.longest < post.mask + 1 == places <= max(2 * feedback.longest, 1)


def test_it_begins_anew():
    feedback = ma.Delayed(ma.Geometric(8.0, 60))
    messenger, fresh = Messenger(feedback), Messenger(feedback)
    for t in range(1, 40):
        messenger.heard(CHOICE._replace(round=t), t, 1.0)
    messenger.post = begin(messenger.post, replication_key(SEED, 0))
    for t in range(1, 100):
        ones, others = (who.heard(CHOICE._replace(round=t), t, 1.0) for who in (messenger, fresh))
        assert repr(ones) == repr(others)
    key = begin(fresh.post, replication_key(SEED, 1)).key
    assert key != fresh.post.key


def test_a_delay_of_no_rounds_is_told_at_once():
    feedback = ma.Delayed(ma.Geometric(0.4, 3))
    messenger = Messenger(feedback)
    first = [messenger.heard(CHOICE._replace(round=t), t, 1.0)[0].verb for t in range(1, 200)]
    assert {"tell", "defer"} == set(first)


def test_what_is_lost_late_is_lost_and_no_correction():
    # The ask is given up when the last correction could have come, long after the timeout.
    feedback = ma.Lost(1.0, ma.Conversions(ma.LogUniform(1, 50), timeout=5, late="corrected"))
    messenger = Messenger(feedback)
    heard = [one for t in range(1, 200) for one in messenger.heard(CHOICE._replace(round=t), t, 1.0)]
    assert {one.verb for one in heard} == {"defer", "lose"}


def test_what_was_pending_stays_when_the_answer_gets_lost():
    messenger = Messenger(ma.Lost(1.0, ma.Delayed(5), pending=0.5))
    heard = [one for t in range(1, 50) for one in messenger.heard(CHOICE._replace(round=t), t, 1.0)]
    assert {(one.verb, one.reward) for one in heard} == {("tell", 0.5)}


def test_a_late_success_corrects_what_the_timeout_told():
    messenger = Messenger(ma.Conversions(20, timeout=5, late="corrected"))
    heard = [(t, one) for t in range(1, 60) for one in messenger.heard(CHOICE._replace(round=t), t, 1.0)]
    story = [(t, one.verb, plain(one.reward), plain(one.told)) for t, one in heard if one.choice.round == 3]
    assert story == [(3, "defer", None, None), (8, "settle", 0.0, None), (23, "correct", 1.0, 0.0)]


def test_the_end_of_a_run_leaves_asks_open():
    world = ma.World(ma.Uniform(), feedback=ma.Delayed(50))
    result = ma.simulate(ma.UniformPlay(), world, 30, seed=1, log=True)
    assert result.final("UniformPlay", "arms")[0] == 30
    assert result.log("UniformPlay").reward.sum() == result.final("UniformPlay", "reward")[0]
