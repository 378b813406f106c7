"""Answers that come late, are provisional, time out, or are corrected. No test waits: the time is given."""

import copy
import itertools
import json
import math

import pytest

import manyarms as ma
from manyarms import contract
from manyarms.bandit import FIRST_ROUNDS, catalogue, kernels, listener, saving
from manyarms.bandit.journal import json_of, line_of
from manyarms.checks import BUSY_WORLD, examples
from manyarms.contract import ask, counts, tell
from manyarms.replication import play_replications, replicate
from manyarms.snapshots import state_to_json
from manyarms.states import copied
from manyarms.trace import COLUMNS
from tests.live_ids import TAG, id_of, ids_of

pytestmark = pytest.mark.usefixtures("same_tags")

LIVE = [spec for spec in examples() if isinstance(spec, ma.Policy) and not spec.sees_means]
CORRECTED = [spec for spec in LIVE if spec.takes_corrections]
PENDING = [spec for spec in LIVE if spec.takes_pending]
ONE_BLOCK = ma.Subsample(ma.Greedy(), beta=1.0, arms=4, horizon=1000)
REWARDS = [0.0, 1.0, 0.25, 0.5, 1.0, 0.75, 0.0]


def label(value):
    return value.label() if isinstance(value, ma.Policy) else None


# What a policy hears.


class Heard:
    """What a bandit tells its policy, by a policy that does nothing but listen."""

    def __init__(self, monkeypatch):
        self.calls = []
        names = ("tell", "defer", "settle", "lose", "correct")
        calls = {name: self.listening(name, getattr(contract, name)) for name in names}
        monkeypatch.setattr(listener, "PLAIN", listener.PLAIN._replace(**calls))
        monkeypatch.setattr(kernels, "_READY", {})

    def listening(self, name, verb):
        def call(state, choice, *numbers):
            self.calls.append((name, choice.round, *numbers))
            return verb(state, choice, *numbers)

        return call

    def since(self):
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def heard(monkeypatch):
    return Heard(monkeypatch)


def test_an_answer_at_once_is_told_and_all_others_settled(heard):
    bandit = ma.Bandit(ONE_BLOCK, 1)
    bandit.tell(bandit.ask(), 1.0)
    assert heard.since() == [("tell", 1, 1.0)]
    bandit.ask(2)
    assert heard.since() == [("defer", 2)]
    bandit.tell(id_of(2), 0.5)  # of another: the newest is open from now on
    assert heard.since() == [("defer", 3), ("settle", 2, 0.0, 0.5)]
    bandit.tell(id_of(3), 1.0)
    assert heard.since() == [("settle", 3, 0.0, 1.0)]
    bandit.ask()
    bandit.tell(id_of(1), 1.0)
    bandit.forget(id_of(1))
    bandit.explain()
    bandit.to_json()
    assert heard.since() == []  # nothing has happened
    bandit.tell(id_of(4), 1.0)
    assert heard.since() == [("tell", 4, 1.0)]


def test_a_forgotten_answer_is_lost(heard):
    bandit = ma.Bandit(ONE_BLOCK, 1)
    bandit.ask()
    assert bandit.forget(id_of(1))
    assert heard.since() == [("defer", 1), ("lose", 1, 0.0)]
    bandit.ask(2)
    assert bandit.forget(id_of(2))
    assert heard.since() == [("defer", 2), ("defer", 3), ("lose", 2, 0.0)]


def test_a_correction_comes_between(heard):
    bandit = ma.Bandit(ONE_BLOCK, 1, correctable=5)
    bandit.tell(bandit.ask(), 1.0)
    bandit.ask()
    assert bandit.correct(id_of(1), 0.25) is ma.Told.CORRECTED
    assert heard.since() == [("tell", 1, 1.0), ("defer", 2), ("correct", 1, 1.0, 0.25)]
    assert bandit.correct(id_of(1), 0.5) is ma.Told.CORRECTED  # from the last value
    assert heard.since() == [("correct", 1, 0.25, 0.5)]


def test_provisional_answers_are_told_and_corrected(heard):
    bandit = ma.Bandit(ONE_BLOCK, 1, reward_range=(0, 10), pending=2.5)
    bandit.tell(bandit.ask(), 10)  # at once: nothing is assumed
    assert heard.since() == [("tell", 1, 1.0)]
    bandit.ask(3)
    assert heard.since() == [("tell", 2, 0.25), ("tell", 3, 0.25)]
    assert bandit.tell(id_of(2), 5) is ma.Told.COUNTED
    assert heard.since() == [("tell", 4, 0.25), ("correct", 2, 0.25, 0.5)]
    assert bandit.forget(id_of(3))
    assert heard.since() == []  # what was assumed stands
    assert bandit.tell(id_of(3), 5) is ma.Told.REPEATED
    assert bandit.open_decisions == ids_of([4])


@pytest.mark.parametrize(
    ("terms", "calls"),
    [
        ({}, [("defer", 2), ("lose", 1, 0.0)]),
        ({"on_timeout": 0.25}, [("defer", 2), ("settle", 1, 0.0, 0.25)]),
        ({"pending": 0.5}, [("tell", 2, 0.5)]),
        ({"pending": 0.5, "on_timeout": 0.25}, [("tell", 2, 0.5), ("correct", 1, 0.5, 0.25)]),
    ],
)
def test_what_is_heard_at_a_timeout(terms, calls, heard):
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, **terms)
    bandit.ask(now=0)
    bandit.ask(now=5)
    heard.since()
    assert bandit.expire(9.75) == []
    assert heard.since() == []
    assert bandit.expire(10) == ids_of([1])
    assert heard.since() == calls
    assert bandit.open_decisions == ids_of([2])
    assert (bandit.timed_out, bandit.told) == (1, 0)


def test_the_newest_may_time_out_before_anything_else_happens(heard):
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, on_timeout=0.25)
    bandit.ask(now=0)
    bandit.ask(now=100)
    assert heard.since() == [("tell", 1, 0.25)]


# Time.


def test_time_is_looked_at_by_asks_tells_and_explanations():
    def asked():
        bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10)
        bandit.ask(2, now=0)
        return bandit

    bandit = asked()
    assert bandit.ask(now=10).id == id_of(3)
    assert bandit.open_decisions == ids_of([3])
    bandit = asked()
    assert bandit.tell(id_of(2), 1.0, now=9) is ma.Told.COUNTED
    assert bandit.tell(id_of(1), 1.0, now=10) is ma.Told.TIMED_OUT
    bandit = asked()
    assert bandit.explain(now=9)["open"] == 2
    assert (bandit.explain(now=10)["open"], bandit.explain(now=10)["timed_out"]) == (0, 2)


def test_a_tell_after_the_timeout_changes_nothing():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, on_timeout=0.0)
    bandit.ask(2, now=0)
    bandit.expire(10)
    before = bandit.to_json()
    for number in (1, 2, 1):
        assert bandit.tell(id_of(number), 1.0, now=10) is ma.Told.TIMED_OUT
        assert not bandit.forget(id_of(number))
    assert bandit.to_json() == before
    bandit.tell(bandit.ask(now=10), 1.0, now=10)
    assert bandit.tell(id_of(3), 1.0, now=10) is ma.Told.REPEATED


def test_the_clock_is_read_where_no_time_is_given():
    readings = [0.0]
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, clock=lambda: readings[-1])
    bandit.ask()
    readings.append(10.0)
    assert bandit.expire() == ids_of([1])


def test_without_a_timeout_the_clock_is_not_read():
    def broken():
        raise AssertionError

    bandit = ma.Bandit(ONE_BLOCK, 1, clock=broken)
    bandit.tell(bandit.ask(), 1.0)
    bandit.explain()


def test_a_clock_that_runs_backwards_does_no_harm():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10)
    bandit.ask(now=1000)
    bandit.ask(now=4)  # set back by 996: time goes on from there
    assert bandit.expire(13) == []
    assert bandit.expire(14) == ids_of([1, 2])
    bandit.ask(now=1e9)  # a leap, and back
    bandit.ask(now=20)
    assert bandit.expire(29) == []
    assert bandit.expire(30) == ids_of([3, 4])


def test_times_that_come_out_of_order_do_not_add_up():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=30)
    first = bandit.ask(now=1000)
    for _ in range(200):  # two servers, 10 apart
        bandit.tell(bandit.ask(now=1010), 0.0, now=1000)
    assert bandit.tell(first, 1.0, now=1029) is ma.Told.COUNTED


def test_a_time_beyond_all_clocks_is_refused():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=30)
    with pytest.raises(ValueError, match=r"now must be a time, in seconds for example, not 1e\+308"):
        bandit.ask(now=1e308)


def test_a_loaded_bandit_goes_on_with_any_clock(tmp_path):
    path = tmp_path / "bandit.json"
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, pending=0.0, correctable=3)
    bandit.ask(3, now=1e9)
    bandit.tell(id_of(2), 1.0, now=1e9 + 4)
    bandit.save(path)
    same_clock = ma.Bandit.load(path, clock=lambda: 1e9 + 10)
    assert same_clock.expire() == ids_of([1, 3])
    other_clock = ma.Bandit.load(path, clock=itertools.count(5.0).__next__)
    assert [other_clock.expire() for _ in range(7)] == [[], [], [], [], [], [], ids_of([1, 3])]  # 4, and 6 more
    assert other_clock.correct(id_of(2), 0.0) is ma.Told.CORRECTED
    twin = copy.copy(other_clock)
    assert twin.to_json() == other_clock.to_json()
    assert next(iter([twin._timeline.clock])) is other_clock._timeline.clock


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("way", ["load", "recover", "both"])
def test_a_restored_bandit_refuses_another_clock_too(is_told, way, tmp_path):
    bandit = ma.Bandit(ma.Forager(), 1, items=range(3), timeout=1e12, on_timeout=0.0, journal=tmp_path / "journal")
    decision = bandit.ask(now=0) if is_told else bandit.ask()
    bandit.save(tmp_path / "snapshot")
    bandit.close()
    restored = ma.Bandit.load(tmp_path / "snapshot") if way == "load" else ma.Bandit.recover(tmp_path / "journal")
    if way == "both":
        restored.close()
        restored = ma.Bandit.recover(tmp_path / "journal")
    right, wrong = ({"now": 1.0}, {}) if is_told else ({}, {"now": 1.0})
    words = (
        "now was given in earlier calls, and is left out" if is_told else "now was left out in earlier calls, and is"
    )
    before = restored.to_json()
    with pytest.raises(ValueError, match=words):
        restored.tell(decision.id, 1.0, **wrong)
    assert restored.to_json() == before
    assert restored.tell(decision.id, 1.0, **right) is ma.Told.COUNTED


def test_a_clock_of_one_s_own_may_be_another_one_after_loading():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, clock=lambda: 5.0)
    bandit.ask()
    loaded = ma.Bandit.from_json(bandit.to_json())
    assert "is_told" not in loaded.to_json()["clock"]
    loaded.ask(now=6.0)
    assert ma.Bandit.from_json(loaded.to_json(), clock=lambda: 7.0).ask().number == 3


def test_a_journal_of_before_does_not_say_where_its_times_come_from(tmp_path):
    path = tmp_path / "journal"
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=10, journal=path)
    bandit.ask(now=1.0)
    bandit.close()
    first, *events = path.read_bytes().splitlines()
    events = [json_of(line, "") for line in events]
    assert events[0] == ["time", 1.0, True]
    path.write_bytes(
        b"".join([first + b"\n", *(line_of(event[:2] if event[0] == "time" else event) for event in events)])
    )
    assert ma.Bandit.recover(path)._timeline.is_told is None


# What is refused.


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: ma.Bandit(ma.Elimination(beta=1.0), 1, pending=0.0),
            r"Elimination.* takes no assumed rewards, which pending=0\.0 needs.* choose ma\.Subsample or ma\.SSUCB",
        ),
        (lambda: ma.Bandit(ma.CBT(beta=1.0), 1, pending=0.0), r"CBT.* takes no corrections, which pending=0\.0 needs"),
        (lambda: ma.Bandit(ma.Elimination("auto"), 1, pending=0), r"takes no corrections, which pending=0 needs"),
        (lambda: ma.Bandit(ma.Forager(), 1, correctable=9), "takes no corrections, which correctable=9 needs"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, pending=2), r"pending 2 is outside \[0, 1\]"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, pending=math.nan), "pending nan is not a finite number"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, timeout=0), "timeout must be above 0, not 0"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, timeout="1"), "timeout must be a finite number, not '1'"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, on_timeout=0.0), "give a timeout too"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, timeout=1, on_timeout=-1), r"on_timeout -1 is outside \[0, 1\]"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, correctable=-1), "correctable must be a whole number of at least 0, not -1"),
        (lambda: ma.Bandit(ONE_BLOCK, 1).expire(), r"no timeout; make one with Bandit\(…, timeout=…\)"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, timeout=1).ask(now="noon"), "now must be a finite number, not 'noon'"),
        (lambda: ma.Bandit(ONE_BLOCK, 1, timeout=1).ask(now=math.nan), "now must be a finite number, not nan"),
        (lambda: ma.Bandit(ma.CBT(beta=1.0), 1).correct(id_of(1), 0.0),
         f"no decision of this bandit has the id '{TAG}-1'"),
    ],
)  # fmt: skip
def test_bad_terms_are_refused(make, match):
    with pytest.raises((ValueError, KeyError), match=match):
        make()


def test_a_clock_is_a_function():
    with pytest.raises(TypeError, match=r"clock must be a function that returns the time, .*, not 5"):
        ma.Bandit(ONE_BLOCK, 1, clock=5)


@pytest.mark.parametrize(
    ("terms", "act", "error", "match"),
    [
        ({"correctable": 2}, lambda bandit: bandit.correct(id_of(5), 1.0), ValueError, "5 has no reward yet; tell it"),
        ({"correctable": 2}, lambda bandit: bandit.correct(id_of(1), 1.0),
         KeyError, "not among the last 2 .*correctable=…"),
        ({"correctable": 2}, lambda bandit: bandit.correct(id_of(3), 2.0), ValueError, r"reward 2\.0 is outside"),
        ({"correctable": 9}, lambda bandit: bandit.correct(id_of(4), 1.0),
         KeyError, "not among the last 9"),  # forgotten
        ({}, lambda bandit: bandit.correct(id_of(3), 1.0), KeyError, "not among the last 0 that were given a reward"),
        ({"timeout": 10}, lambda bandit: bandit.tell(id_of(5), 2.0, now=99), ValueError, r"reward 2\.0 is outside"),
        ({"timeout": 10}, lambda bandit: bandit.tell(id_of(77), 1.0, now=99), KeyError, f"has the id '{TAG}-77'"),
        ({"timeout": 10}, lambda bandit: bandit.ask(0, now=99), ValueError, "n must be a whole number"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(terms, act, error, match):
    bandit = ma.Bandit(ONE_BLOCK, 1, **terms)
    bandit.ask(5, now=0)
    for number in (1, 2, 3):
        bandit.tell(id_of(number), 0.5, now=0)
    bandit.forget(id_of(4))
    before = bandit.to_json()
    with pytest.raises(error, match=match):
        act(bandit)
    assert bandit.to_json() == before


def test_another_bandits_decision_is_not_corrected():
    bandit = ma.Bandit(ONE_BLOCK, 1, correctable=2)
    bandit.tell(bandit.ask(), 1.0)
    before = bandit.to_json()
    with pytest.raises(KeyError, match="no decision of this bandit has the id 'ba9876543210-1'"):
        bandit.correct(ma.Decision(id="ba9876543210-1", number=1, arm=0, is_new=True, probability=1.0), 0.0)
    assert bandit.to_json() == before


def test_a_policy_without_corrections_says_so():
    bandit = ma.Bandit(ma.CBT(beta=1.0), 1)
    bandit.tell(bandit.ask(), 1.0)
    with pytest.raises(ValueError, match=r"CBT.* takes no corrections, which Bandit\.correct needs"):
        bandit.correct(id_of(1), 0.0)


# Corrections are exact.


def told_in_order(state, choices, rewards):
    """The state that the true answers lead to, had each come at once."""
    for choice, reward in zip(choices, rewards, strict=True):
        state = tell(state, choice, reward)
    return state


EXACT = [
    ma.Subsample(ma.UCB(), beta=1.0, arms=5, horizon=1000),
    ma.Subsample(ma.Greedy(), beta=1.0, arms=5, horizon=1000),
    ma.Subsample(ma.Thompson(), beta=1.0, arms=5, horizon=1000),
    ma.Subsample(ma.KLUCB(), beta=1.0, arms=5, horizon=1000),
    ma.SSUCB(beta=1.0, arms=5, horizon=1000),
    ma.Blackbox(ma.UCB(), beta=1.0, threshold=1e6),
    ma.Blackbox(ma.Thompson(), beta=1.0, preset="paper", threshold=1e6),
    ma.Elimination(beta=1.0, threshold=1e6, horizon=64),
]
BEFORE = 6  # rounds: then Elimination has a block of 8 rounds with 4 arms, whose losses count 4 times


def choices_of(bandit):
    return [one.choice for one in bandit._open.all()]


@pytest.mark.parametrize("policy", [spec for spec in EXACT if spec.takes_pending], ids=label)
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5, 6), (6, 2, 0, 5, 1, 4, 3)], ids=str)
def test_provisional_answers_lead_to_the_same_state(policy, order):
    bandit = ma.Bandit(policy, 3, pending=0.25)
    for number in range(BEFORE):
        bandit.tell(bandit.ask(), REWARDS[number])
    before = copied(bandit._state)
    blocks = counts(before).blocks
    bandit.ask(len(order))
    choices = choices_of(bandit)
    for place in order:
        assert bandit.tell(id_of(choices[place].round), REWARDS[place]) is ma.Told.COUNTED
    assert counts(bandit._state).blocks == blocks
    check_same_knowledge(bandit._state, told_in_order(before, choices, REWARDS))


@pytest.mark.parametrize("policy", EXACT, ids=label)
def test_corrections_lead_to_the_same_state(policy):
    bandit = ma.Bandit(policy, 3, correctable=10)
    for number in range(BEFORE):
        bandit.tell(bandit.ask(), REWARDS[number])
    before = copied(bandit._state)
    choices = []
    for _ in REWARDS:
        bandit.ask()
        choices += choices_of(bandit)
        bandit.tell(id_of(choices[-1].round), 0.75)
    for choice, reward in zip(choices, REWARDS, strict=True):
        assert bandit.correct(id_of(choice.round), 0.5) is ma.Told.CORRECTED
        assert bandit.correct(id_of(choice.round), reward) is ma.Told.CORRECTED
    check_same_knowledge(bandit._state, told_in_order(before, choices, REWARDS))


def check_same_knowledge(one, other):
    assert knowledge(one) == knowledge(other)
    for round in range(100, 300):
        choice = ask(one, round)
        assert choice == ask(other, round)
        reward = float(round % 3 == 0)
        one, other = tell(one, choice, reward), tell(other, choice, reward)


def knowledge(state):
    """All of a state, to the bit, but for the tree of `AsymptoticUCB`, which settles games only when it has to."""
    values = state_to_json(state)
    if "expiries" in values.get("base", {}):
        for name in ("winners", "expiries", "lease"):
            del values["base"][name]
    return values


@pytest.mark.parametrize("policy", CORRECTED, ids=label)
def test_a_correction_is_counted_or_ignored_wherever_it_comes(policy):
    bandit = ma.Bandit(policy, 3, correctable=10_000, pending=0.5 if policy.takes_pending else None)
    outcomes = []
    for number in range(600):
        decision = bandit.ask()
        if number % 3:
            bandit.tell(decision, float(number % 2))
        for earlier in (decision.number - 40, decision.number - 1):
            if earlier > 0:
                identity = id_of(earlier)
                ignored = bandit.ignored
                is_open = identity in bandit.open_decisions
                outcome = bandit.tell(identity, 0.25) if is_open else bandit.correct(identity, 0.25)
                outcomes.append(outcome)
                assert bandit.ignored == ignored + (outcome is ma.Told.IGNORED)
    assert set(outcomes) <= {ma.Told.CORRECTED, ma.Told.COUNTED, ma.Told.IGNORED}
    text = json.dumps(bandit.to_json(), allow_nan=False)
    loaded = ma.Bandit.from_json(json.loads(text))
    assert loaded.to_json() == bandit.to_json()
    assert loaded.correct(id_of(5), 1.0) is bandit.correct(id_of(5), 1.0)
    assert [loaded.ask() for _ in range(20)] == [bandit.ask() for _ in range(20)]


# Live and simulated.


@pytest.mark.once
@pytest.mark.parametrize(
    ("policy", "pending"), [*((spec, None) for spec in LIVE), *((spec, 0.25) for spec in PENDING)], ids=label
)
@pytest.mark.parametrize("delay", [1, 30])
def test_late_answers_are_those_of_a_simulation(policy, pending, delay):
    horizon = 700
    world = BUSY_WORLD.replace(feedback=ma.Delayed(delay, pending=pending))
    run = replicate(policy, world, horizon, seed=8, log=True, loop=play_replications.function)
    log = run.logs[0]
    bandit = ma.Bandit(run.spec, 8, pending=pending)
    for place in range(horizon):
        decision = bandit.ask()
        assert (decision.arm, decision.probability) == (log.arm[place], log.probability[place]), place
        if place >= delay:
            bandit.tell(id_of(decision.number - delay), log.reward[place - delay])
    final = dict(zip(COLUMNS, run.out[0, -1].tolist(), strict=True))
    assert bandit.explain()["restarts"] == final["restarts"]
    assert bandit.explain()["blocks"] == final["blocks"]
    assert bandit.explain()["arms_drawn"] == final["arms"]


# Many open decisions.


def test_memory_does_not_grow_with_what_is_closed():
    bandit = ma.Bandit(ONE_BLOCK, 1, timeout=50, correctable=20)
    for number in range(5000):
        decision = bandit.ask(now=number)
        if number % 7 == 0:
            bandit.tell(decision, 1.0, now=number)
    assert len(bandit._open) <= 50
    assert len(bandit._remembered.told) == 20
    assert bandit.asked == bandit.told + bandit.timed_out + len(bandit._open)


@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_room_is_made_for_asks_that_are_never_answered(policy, monkeypatch):
    first = FIRST_ROUNDS // 4  # a plan for many open asks takes long
    for module in (listener, saving):
        monkeypatch.setattr(module, "FIRST_ROUNDS", first)
    bandit = ma.Bandit(policy, 1)
    bandit.ask(2 * first + 2)  # that the last one is open it hears with the next
    assert bandit.to_json()["rounds"] == 4 * first  # room was made twice
    assert [bandit.tell(id_of(number), 0.5) for number in (2 * first + 2, 1, first)]
    loaded = ma.Bandit.from_json(bandit.to_json())
    assert [loaded.ask() for _ in range(10)] == [bandit.ask() for _ in range(10)]


def test_looking_at_arms_waits_the_longer_the_more_is_open(monkeypatch):
    calls = []
    keep_only = catalogue.Catalogue.keep_only
    monkeypatch.setattr(catalogue.Catalogue, "keep_only", lambda *args: calls.append(1) or keep_only(*args))
    bandit = ma.Bandit(ma.UniformPlay(), 1)
    bandit.ask(20_000)
    assert len(calls) <= 6
