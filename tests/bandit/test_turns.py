"""All of a call or nothing: interrupted, called from within, forked."""

import itertools
import json
import os
import random
import signal
import sys
import threading
import time

import pytest

import manyarms as ma
from manyarms.bandit import bandit as live
from manyarms.bandit import rehearsal, saving, turns

pytestmark = pytest.mark.once

POLICIES = [
    ma.Elimination(beta=1.0, threshold=0.5), ma.SSUCB(beta=1.0, arms=6, horizon=500), ma.Forager(keep=4, most=8)
]  # fmt: skip


class Interrupt(BaseException):
    """What a handler raises."""


def interrupted_at(step, act):
    """Call something, and let a signal come at its n-th line in the package; whether it came."""
    left = [step]

    def trace(frame, event, arg):
        if "manyarms" not in frame.f_code.co_filename:
            return None
        # Python itself lets signals in where functions are called, not on the way out of a lock.
        if event == "call" or (event == "line" and frame.f_code.co_filename != turns.__file__):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGALRM)
        return trace

    def raising(number, frame):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, raising)
    sys.settrace(trace)
    try:
        act()
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
        signal.signal(signal.SIGALRM, before)
    return left[0] <= 0


def played(policy, journal):
    bandit = ma.Bandit(policy, 3, items=range(12), correctable=5 * policy.takes_corrections, journal=journal)
    dice = random.Random(1)
    for _ in range(30):
        bandit.tell(bandit.ask(), float(dice.random() < 0.5))
    return bandit, bandit.ask(3)


def plain(bandit):
    """A bandit as JSON, but for ids and what a journal does not follow."""
    values = {name: value for name, value in bandit.to_json().items() if name not in ("tags", "checksum")}
    for name in ("draft", "cells", "likelihood", "belief"):
        values["state"].get("grid", {}).pop(name, None)
    return json.dumps(values, sort_keys=True)


ACTS = {
    "tell": lambda bandit, waiting: bandit.tell(waiting[0], 1.0),
    "tell the newest": lambda bandit, waiting: bandit.tell(waiting[2], 1.0),
    "forget": lambda bandit, waiting: bandit.forget(waiting[1]),
    "withdraw": lambda bandit, waiting: bandit.withdraw(waiting[0].key),
    "observe": lambda bandit, waiting: bandit.observe(waiting[0].key, 5, 3.0),
    "ask": lambda bandit, waiting: bandit.ask(),
    "add": lambda bandit, waiting: bandit.add([77]),
    "news": lambda bandit, waiting: bandit.news(),
}


@pytest.fixture
def rehearsed_once(monkeypatch):
    """Nothing is rehearsed twice: most interruptions leave the same few states, and a rehearsal is always the same."""
    known = set()

    def check_goes_on(bandit):
        state = plain(bandit)
        if state not in known:
            rehearsal.check_goes_on(bandit)
            known.add(state)

    for module in (saving, live):
        monkeypatch.setattr(module, "check_goes_on", check_goes_on)


@pytest.mark.usefixtures("rehearsed_once")
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("name", ACTS)
def test_an_interrupted_call_is_done_or_not_and_the_journal_says_the_same(name, policy, tmp_path):
    paths = (tmp_path / str(number) for number in itertools.count())
    act = ACTS[name]
    bandit, waiting = played(policy, next(paths))
    before = plain(bandit)
    act(bandit, waiting)
    after = plain(bandit)
    bandit.close()
    deferred, waiting = played(policy, next(paths))  # an ask that is not made leaves the newest decision open
    deferred._leave_open()
    between = plain(deferred)
    deferred.close()
    seen = set()
    for step in itertools.chain(range(1, 40), (int(40 * 1.3**n) for n in range(40))):
        path = next(paths)
        bandit, waiting = played(policy, path)
        is_over = not interrupted_at(step, lambda: act(bandit, waiting))  # noqa: B023
        found = plain(bandit)
        assert found in (before, after, *([between] if name == "ask" else [])), step
        seen.add(found)
        bandit.close()
        recovered = ma.Bandit.recover(path)
        assert plain(recovered) in (found, before if found == between else found)
        recovered.close()
        path.unlink()
        if is_over:
            break
    assert is_over
    assert seen >= {before, after}


def test_signals_come_after_what_they_would_have_interrupted():
    came = []
    previous = signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    try:
        deed = turns.Deed()
        with deed, deed:
            signal.raise_signal(signal.SIGALRM)
            assert came == []
        assert came == [signal.SIGALRM]
        signal.raise_signal(signal.SIGALRM)
        assert came == [signal.SIGALRM] * 2
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_a_call_that_fails_half_way_makes_the_bandit_useless(monkeypatch):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5))
    decision = bandit.ask()
    monkeypatch.setattr(bandit, "_close", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bandit.tell(decision, 1.0)
    for act in (bandit.ask, bandit.to_json, bandit.explain):
        with pytest.raises(RuntimeError, match=r"failed half-way \(ZeroDivisionError.*Bandit.load"):
            act()


def test_a_bandit_is_not_called_from_within():
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5))
    with pytest.raises(RuntimeError, match=r"Bandit.ask: this bandit is in the middle of another call"):
        bandit.ask(where=lambda item: bandit.ask())
    assert bandit.ask(where=lambda item: item == 3).key == 3


def in_child(act):
    """What a forked process says; it has ten seconds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            os.write(write, json.dumps(act()).encode())
        except BaseException as error:
            os.write(write, json.dumps(f"{type(error).__name__}: {error}").encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else "hung"


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("wish", [{}, {"exclude": [0]}], ids=["any", "excluding"])
def test_a_signal_while_a_compiled_kernel_hands_over_its_choice_ends_the_ask_not_the_process(wish, monkeypatch):
    monkeypatch.setattr("manyarms.bandit.kernels._READY", {})
    bandit = ma.Bandit(ma.Elimination(beta=1.0, horizon=100), 1, items=range(5))
    assert bandit.warm()

    def trace(frame, event, arg):
        is_where_one_is_made = frame.f_globals.get("__name__") == "namedtuple_Choice"
        if is_where_one_is_made or frame.f_code.co_name == "_numba_unpickle":  # where compiled code looks for its class
            signal.raise_signal(signal.SIGALRM)

    def raising(number, frame):
        raise Interrupt("in the middle")

    def ask():
        signal.signal(signal.SIGALRM, raising)
        sys.settrace(trace)
        bandit.ask(**wish)

    assert in_child(ask) == "Interrupt: in the middle"
    assert bandit.ask(**wish).number == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_has_a_lock_and_ids_of_its_own(tmp_path):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5))
    bandit.tell(bandit.ask(), 1.0)
    is_in = threading.Event()

    def slow(item):
        is_in.set()
        time.sleep(0.2)
        return True

    thread = threading.Thread(target=lambda: bandit.ask(where=slow))
    thread.start()
    is_in.wait()
    said = in_child(lambda: [bandit.ask().id, len(bandit.open_decisions)])
    thread.join()
    assert said[1] == 2  # the call of the other thread was waited for
    assert said[0].split("-")[0] != bandit.ask().id.split("-")[0]
    assert in_child(lambda: bandit.ask().id) != bandit.ask().id


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_does_not_write_the_journal(tmp_path):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5), journal=tmp_path / "journal")
    bandit.ask()
    assert "is that of the process which this one was forked from" in in_child(lambda: bandit.ask().id)
    bandit.ask()
    bandit.close()
    assert ma.Bandit.recover(tmp_path / "journal").asked == 2


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_fork_in_the_middle_of_a_call_is_noticed(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    bandit = ma.Bandit(ma.Forager(), 1, items=range(5))
    is_in, go_on = threading.Event(), threading.Event()

    def slow(item):
        is_in.set()
        return go_on.wait(10)

    thread = threading.Thread(target=lambda: bandit.ask(where=slow))
    thread.start()
    is_in.wait()
    said = in_child(lambda: bandit.ask().id)
    go_on.set()
    thread.join()
    assert "forked in the middle of a call" in said
    assert bandit.ask().number == 2
