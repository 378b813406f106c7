"""Compiled kernels of a live bandit: the same bits, from any moment on."""

import dataclasses
import json
import os
import random
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit import FIRST_ROUNDS, kernels
from manyarms.bandit import bandit as bandit_module
from manyarms.checks import policies
from manyarms.compiled import Entry, compiled_type
from manyarms.contract import Choice, Counts, register
from manyarms.specs import plain_number
from manyarms.states import mapped
from tests.bandit.test_bandit import LIVE, label, play, text_copy
from tests.live_ids import ids_of

pytestmark = pytest.mark.usefixtures("same_tags")

# Of different kinds: beliefs, losses, and a base that expects what open asks will pay.
SOME = [ma.Forager(), ma.Elimination(beta=1.0), ma.Subsample(base=ma.Greedy(), beta=1.0)]
ROUNDS = FIRST_ROUNDS + 200
"""In which the arrays grow."""


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    """Nothing has been compiled for a bandit yet."""
    monkeypatch.setattr(kernels, "_READY", {})


def played(spec, warm_after=None):
    """A bandit after many asks, with answers in any order, and all that it said."""
    bandit = ma.Bandit(spec, 7, correctable=5 if spec.takes_corrections else 0)
    dice, is_open, said = random.Random(3), [], []
    for number in range(ROUNDS):
        if number == warm_after:
            assert bandit.warm()
        said.append(policies._step(bandit, is_open, dice))
    return bandit, said


def check_same(spec, warm_after):
    """Plain, and warm from some moment on: the same words, and the same state to the bit."""
    (plain, said), (warm, said_warm) = played(spec), played(spec, warm_after)
    assert (plain.is_compiled, warm.is_compiled) == (False, True)
    assert said_warm == said
    assert json.dumps(warm.to_json()) == json.dumps(plain.to_json())
    assert warm.explain() == plain.explain()
    assert repr(warm) == repr(plain)
    return plain, warm


@pytest.mark.compiled
@pytest.mark.parametrize("spec", SOME, ids=label)
@pytest.mark.parametrize("warm_after", [0, 301])
def test_compiled_is_plain_to_the_bit(spec, warm_after):
    check_same(spec, warm_after)


@pytest.mark.compiled
@pytest.mark.parametrize("spec", SOME, ids=label)
def test_compiled_repeats_the_simulation(spec):
    assert ma.Bandit(spec, 7).warm()
    assert ma.Bandit(spec.with_horizon(2 * FIRST_ROUNDS), 7).is_compiled
    policies.live_repeats_simulation(spec)


@pytest.mark.compiled
def test_a_snapshot_goes_from_one_to_the_other(monkeypatch):
    spec = SOME[-1]
    plain, warm = check_same(spec, 301)
    copy_of_warm = text_copy(plain)  # the kernels are there, so it is compiled
    monkeypatch.setattr(kernels, "_READY", {})
    copy_of_plain = text_copy(warm)
    assert (copy_of_warm.is_compiled, copy_of_plain.is_compiled) == (True, False)
    told = [play(bandit, ROUNDS) for bandit in (plain, warm, copy_of_warm, copy_of_plain)]
    assert all(decisions == told[0] for decisions in told)
    assert len({json.dumps(bandit.to_json()) for bandit in (plain, warm, copy_of_warm, copy_of_plain)}) == 1


@pytest.mark.compiled
def test_other_threads_go_on_meanwhile(monkeypatch):
    spec = SOME[-1]
    bandit = ma.Bandit(spec, 7)
    warming = threading.Thread(target=bandit.warm)
    warming.start()
    decisions = play(bandit, 3000)
    warming.join()
    decisions += play(bandit, 100)
    assert bandit.is_compiled
    monkeypatch.setattr(kernels, "_READY", {})
    plain = ma.Bandit(spec, 7)
    assert [*play(plain, 3000), *play(plain, 100)] == decisions


# With functions in place of the compiled ones. Like those, they make Python's own numbers of all numbers, and bare
# tuples of choices.


CHOICE = tuple(Choice(0, 0, 1.0, 1, 1))


class StandIn:
    """In place of a loop."""

    def __init__(self, verb):
        self.kernel = getattr(kernels.PLAIN, verb)
        self.verb = verb

    def entry(self, state, *_):
        read = kernels.Compiled(kernels.PLAIN, mapped(type, state)).read
        returns = {"ask": CHOICE, "ask_among": CHOICE, "defer": (state, 0.0)}.get(self.verb, state)

        def call(state, *arguments):
            returned = mapped(plain_number, self.kernel(read(state), *arguments))
            return tuple(returned) if isinstance(returned, Choice) else returned

        return Entry(call, compiled_type(returns))


@pytest.fixture
def standing_in(monkeypatch):
    monkeypatch.setattr(kernels, "IS_COMPILING", True)
    monkeypatch.setattr(kernels, "_LOOPS", kernels.Kernels(*map(StandIn, kernels.Kernels._fields)))


@pytest.mark.once
@pytest.mark.parametrize("spec", LIVE, ids=label)
def test_every_policy_may_become_warm(spec, standing_in):
    plain, warm = check_same(spec, 301)
    assert mapped(type, warm._state) == mapped(type, warm.policy.start(1))
    assert text_copy(plain).to_json() == text_copy(warm).to_json()


def test_once_warm_others_are_so_from_their_start(standing_in):
    spec = SOME[0]
    before = ma.Bandit(spec, 1)
    assert ma.Bandit(spec, 7).warm()
    after = ma.Bandit(spec.replace(keep=3), 2)
    assert (before.is_compiled, after.is_compiled, text_copy(before).is_compiled) == (False, True, True)
    assert not ma.Bandit(SOME[1], 7).is_compiled  # its state is of another type
    assert before.warm()


def test_calls_do_not_wait_for_the_compiler(monkeypatch):
    bandit = ma.Bandit(SOME[0], 7)
    done = []

    def compiles(*_):
        server = threading.Thread(target=lambda: done.extend(play(bandit, 3)))
        server.start()
        server.join(timeout=10)

    monkeypatch.setattr(bandit_module, "make_ready", compiles)
    bandit.warm()
    assert len(done) == 3


# Forks


def in_child(act):
    """Whether ``act`` is true in a forked process."""
    child = os.fork()
    if child == 0:
        os._exit(0 if act() else 1)
    return os.waitpid(child, 0)[1] == 0


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@forks
@pytest.mark.compiled
def test_a_forked_process_goes_on():
    bandit = ma.Bandit(SOME[-1], 7)
    assert bandit.warm()
    assert in_child(lambda: len(play(bandit, 100)) == 100)


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_waits_for_the_compiler(standing_in, monkeypatch):
    bandit, is_compiling = ma.Bandit(SOME[-1], 7), threading.Event()
    compile_now = kernels._compiled_kernels

    def compiles(*arguments):
        is_compiling.set()
        time.sleep(0.2)
        return compile_now(*arguments)

    monkeypatch.setattr(kernels, "_compiled_kernels", compiles)
    warming = threading.Thread(target=bandit.warm)
    warming.start()
    is_compiling.wait()
    assert in_child(lambda: bool(kernels._READY) and kernels._WARMING.acquire(blocking=False))
    warming.join()
    assert bandit.is_compiled


# What stays plain


def test_without_a_compiler_it_stays_plain(monkeypatch):
    monkeypatch.setattr(kernels, "IS_COMPILING", False)
    bandit = ma.Bandit(SOME[0], 7)
    assert not bandit.warm()
    assert not bandit.is_compiled
    assert play(bandit, 100) == play(ma.Bandit(SOME[0], 7), 100)


def test_a_state_of_other_types_stays_plain(standing_in):
    bandit = ma.Bandit(SOME[1], 7)
    assert bandit.warm()
    state = bandit._state
    for limit in (1, object()):
        bandit._state = state._replace(limit=limit)
        assert not bandit.is_compiled
        with pytest.raises(TypeError, match=r"^Bandit\.warm: Elimination.* stays plain Python: a field of its state"):
            bandit.warm()
    bandit._state = state
    assert bandit.is_compiled


@dataclasses.dataclass(frozen=True)
class Own(ma.UniformPlay):
    """A policy of one's own."""


def asks_for_the_first(state, round):
    return Choice(slot=0, arm=0, probability=1.0, block=1, round=round)


def own_bandit(monkeypatch, told, **own):
    """A bandit whose state is of a new type, with these kernels in place of some that can be compiled."""

    class OwnState(NamedTuple):
        told: object

    register(
        OwnState,
        begin=lambda state, key: state,
        tell=lambda state, choice, reward: state,
        counts=lambda state: Counts(restarts=0, blocks=1, arms=1, ignored=0),
        **{"ask": asks_for_the_first} | own,
    )
    monkeypatch.setattr(Own, "start", lambda self, rounds: OwnState(told))
    return ma.Bandit(Own(), 7)


def asks_by_allocating(state, round):
    return Choice(slot=int(np.zeros(4)[2]), arm=0, probability=1.0, block=1, round=round)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("told", "own", "complaint"),
    [
        (0, {"ask": asks_by_allocating}, r"\. Kernels may allocate nothing(.|\n)*int\(np.zeros\(4\)\[2\]\)"),
        (0, {"lose": lambda state, choice, presumed: type(state)(0.5)}, ": its kernel 'lose' returns .*float64"),
        (object(), {}, ": its state holds something else than numbers, arrays and states"),
    ],
    ids=["an allocation", "another type", "another state"],
)
def test_what_cannot_be_compiled_says_so_and_goes_on(told, own, complaint, monkeypatch):
    bandit = own_bandit(monkeypatch, told, **own)
    play(bandit, 5)
    with pytest.raises(
        TypeError, match=r"^Bandit\.warm: Own\(\) cannot be compiled and stays plain Python" + complaint
    ):
        bandit.warm()
    assert not bandit.is_compiled
    play(bandit, 5)
    assert bandit.told == 10


@pytest.mark.compiled
def test_kernels_of_ones_own_can_be_compiled(monkeypatch):
    bandit = own_bandit(monkeypatch, 0)
    assert bandit.warm()
    assert [decision.id for decision in play(bandit, 3)] == ids_of([1, 2, 3])
