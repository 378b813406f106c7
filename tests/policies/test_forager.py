"""Forager: the choices and beliefs of its slow twin, what its parts promise, and what it is known to earn."""

import collections
import dataclasses
import functools
import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.checks import examples
from manyarms.checks.runs import Trial
from manyarms.compiled import IS_COMPILING
from manyarms.contract import ask, ask_among, begin, defer, draw, lose, pull, recall, release, settle, supply, tell
from manyarms.policies import dispersion as noises
from manyarms.policies import forager as fast
from manyarms.policies import grid as grids
from manyarms.policies import lateness as late
from manyarms.policies import learned_reservoir as learning
from manyarms.policies import memory as memories
from manyarms.policies import open_asks as opening
from manyarms.policies import stretch as stretching
from manyarms.policies import watch as watching
from manyarms.snapshots import state_to_json
from manyarms.streams import replication_key
from tests.live_ids import same_tags as same_tags
from tests.open_asks import left_open, settled
from tests.reference import forager as slow
from tests.twinned import FLIPS, check_same, horizons, plays_as_its_twin, reservoirs
from verification.forager import reported_changes

some = settings(deadline=None, derandomize=True, max_examples=100)

POINTS = grids.POINTS
UNIFORM = ma.PowerLaw(beta=1.0)

# All that is compiled is of these four types.
COINS = ma.World(UNIFORM, ma.Crash(probability=0.0), ma.Bernoulli())
BATCHES = COINS.replace(feedback=ma.Batches(1))
FIGURE = ma.World(UNIFORM, ma.Rotting("1/t"), ma.GapUniform())
WORN = ma.World(ma.BetaDistributed(1.0, 1.0), ma.Rotting("1%"), ma.Bernoulli())

SPECS = {"default": ma.Forager(), "five": ma.Forager(keep=5, most=9), "one": ma.Forager(keep=1, most=1)}
WORLDS = {
    "still": ma.World(ma.PowerLaw(beta=0.5), ma.Still(), ma.BetaNoise(concentration=10.0)),
    "rotting": ma.World(UNIFORM, ma.Rotting(0.04), ma.GapUniform()),
    "crashing": ma.World(UNIFORM, ma.Crash(probability=0.02), ma.Bernoulli()),
    "worn": ma.World(ma.BetaDistributed(1.2, 20.0), ma.Rotting("3%"), ma.Bernoulli()),
    "jumping": ma.World(UNIFORM, ma.JumpAt(play=60, size=-0.5), ma.BetaNoise(concentration=100.0)),
    "exact": ma.World(UNIFORM, ma.Crash(probability=0.01, to=0.0), ma.Exact()),
}


def new_twin(spec):
    return slow.Forager(**dataclasses.asdict(spec))


def begun(spec=ma.Forager()):  # noqa: B008, a frozen spec
    return begin(spec.start(1), 0)


def masses_of(state, slot):
    return state.masses[slot * POINTS : (slot + 1) * POINTS].tolist()


# ---------------------------------------------------------------- the twin


def same_decision(state, twin):
    """What the next choice hangs on."""
    used = len(twin.arms)
    assert (state.used, state.counts.arms) == (used, twin.drawn)
    assert state.arms.tolist() == [arm.number for arm in twin.arms] + [-1] * (state.slots - used)
    assert state.slot == twin.arms.index(twin.arm)
    assert (state.experience.rounds, state.experience.average) == (twin.rounds, twin.average)
    assert (state.stretch.left, state.stretch.calm) == (twin.stretch.left, twin.stretch.calm)
    assert (state.stretch.told.number, state.stretch.doubt) == (len(twin.stretch.seen), twin.stretch.doubt)
    assert (state.better, state.target) == (twin.better, twin.target)
    assert (state.is_content == 1) == twin.is_content
    assert state.best.slot == twin.arms.index(twin.leaders["believed"])
    assert state.changed == (-1 if twin.changed is None else twin.arms.index(twin.changed))
    assert state.believed[:used].tolist() == [arm.believed for arm in twin.arms]
    if twin.leaders["promise"] is not None:
        assert state.hope.slot == twin.arms.index(twin.leaders["promise"])


def same_as_twin(state, twin):
    """All that the policy will ever use is the twin's, to the bit."""
    same_decision(state, twin)
    used = len(twin.arms)
    for slot, arm in enumerate(twin.arms):
        assert masses_of(state, slot) == arm.masses
        assert (state.plays[slot], state.looks[slot]) == (arm.plays, arm.look)
        groups = slice(slot * opening.GROUPS, (slot + 1) * opening.GROUPS)
        assert state.open.numbers[slot] == len(arm.asks)
        assert state.open.sizes[groups].tolist() == [len(group) for group in arm.asks.groups]
        assert state.open.rounds[groups].tolist() == [sum(group) for group in arm.asks.groups]
        assert state.nothing[slot] == arm.nothing
        assert (state.totals[slot], state.last[slot]) == (arm.total, arm.last)
        assert (state.places[slot] >= 0) == (arm.known_plays > 0)
        assert arm.known_plays == 0 or twin.memory.arms[state.places[slot]] is arm
    assert state.means[:used].tolist() == [arm.mean for arm in twin.arms]
    for slot, arm in enumerate(twin.arms):
        assert arm is twin.changed or state.promises[slot] == arm.promise
    assert state.promised == twin.promised
    experience, noise = state.experience, state.noise
    assert (experience.kept, experience.kept_reward, experience.stay) == (twin.kept, twin.kept_reward, twin.stay)
    assert (noise.is_coin, noise.squares, noise.scale) == (twin.is_coin, twin.squares, twin.scale)
    assert state.regrid == twin.regrid
    assert state.grid.points.tolist() == twin.grid.points
    assert state.reservoir.learned.tolist() == twin.reservoir.learned
    assert state.reservoir.masses.tolist() == twin.reservoir.masses
    same_memory(state.memory, twin.memory)
    assert (state.lateness.paid.tolist(), state.round) == (twin.lateness.paid, twin.round)
    assert state.lateness.expected.tolist() == twin.lateness.expected
    assert (state.reservoir.judged, state.reservoir.said) == (twin.reservoir.judged, twin.reservoir.said)
    same_watch(state, twin)


def same_memory(memory, twin):
    known = len(twin.arms)
    assert memory.arms == known
    assert memory.plays[:known].tolist() == [arm.known_plays for arm in twin.arms]
    assert memory.totals[:known].tolist() == [arm.known_total for arm in twin.arms]
    assert memory.held[:known].tolist() == [arm.number + 1 if arm.is_held else 0 for arm in twin.arms]
    assert (memory.newest, memory.turn, memory.replayed) == (twin.newest, twin.turn, twin.replayed)


def same_watch(state, twin):
    watch = state.watch
    assert watch.evidence.tolist() == twin.watch.evidence
    assert watch.overall.tolist() == twin.watch.overall
    assert (watch.groups, watch.model) == (twin.watch.groups, twin.watch.model)
    assert tuple(watching.change_of(watch.kinds[watch.model], watch.rate)) == twin.watch.change
    parts = watch.masses.reshape(watching.WATCHED, len(watching.MODELS), POINTS)
    for place, one in enumerate(twin.watch.places):
        assert watch.slots[place] == (-1 if one is None else twin.arms.index(one.arm))
        if one is not None:
            assert (watch.totals[place], watch.plays[place], watch.calm[place]) == (one.total, one.plays, one.calm)
            assert watch.nothing[place] == one.nothing
            assert parts[place].tolist() == one.masses


@functools.cache
def compared(spec, world, rounds, seed):
    """Play both and compare every round, and now and then all that they know; return how often what happened."""
    twin, state = new_twin(spec), begun(spec)
    playground = begin(world.start(spec.slots(rounds)), replication_key(seed, 0))
    happened = collections.Counter()
    for t in range(1, rounds + 1):
        choice, before = ask(state, t), state
        assert (choice.arm, choice.slot) == (twin.arm.number, twin.arms.index(twin.arm)), f"round {t}"
        assert (choice.probability, choice.block, choice.round) == (1.0, 1, t)
        playground, _, _, reward = pull(playground, choice.slot, choice.arm, t)
        looks = int(state.looks[choice.slot])
        state = tell(state, choice, float(reward))
        twin.told(int(choice.arm), float(reward))
        (same_as_twin if t % 25 == 0 or t == rounds else same_decision)(state, twin)
        happened["models"] += state.watch.model != before.watch.model
        happened["groups"] += state.watch.groups - before.watch.groups
        happened["surprises"] += 1.0 in state.watch.calm
        happened["second looks"] += int(state.plays[choice.slot]) == looks > 8
        happened["judged"] += state.reservoir.judged > before.reservoir.judged
        happened["content"] += state.is_content
        happened["repeats"] += state.arms[state.slot] == choice.arm
        happened["stale"] += state.promised != before.promised
        happened["below 0"] += reward < 0.0
    happened["grids"], happened["evicted"] = twin.redrawn, twin.evicted
    happened["stretches"], happened["alarms"] = twin.stretches, twin.alarms
    return happened


@pytest.mark.once
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("spec", SPECS)
def test_forager_plays_as_its_twin(spec, world):
    compared(SPECS[spec], WORLDS[world], 400, seed=1)


@pytest.mark.once
def test_the_twins_meet_all_that_can_happen():
    happened = {(spec, world): compared(SPECS[spec], WORLDS[world], 400, seed=1) for spec in SPECS for world in WORLDS}
    for found in happened.values():
        assert min(found["groups"], found["repeats"], found["stale"]) >= 10
        assert found["judged"] >= 5
        assert found["grids"] >= 1
    assert all(happened[spec, world]["evicted"] >= 4 for world in WORLDS for spec in ("five", "one"))
    for name, least in (("models", 1), ("surprises", 10), ("content", 50)):
        assert sum(found[name] >= least for found in happened.values()) >= 4, name
    assert max(found["grids"] for found in happened.values()) >= 5
    assert max(found["below 0"] for found in happened.values()) > 10
    assert 0 < sum(found["content"] for found in happened.values()) < len(happened) * 400


@pytest.mark.once
def test_a_longer_run_believes_in_one_change_after_another_as_its_twin():
    # Arms stand still at first, and then go bad at their 60th play.
    found = compared(ma.Forager(keep=8), WORLDS["jumping"], 1500, seed=2)
    assert found["models"] >= 4
    assert found["grids"] >= 5
    assert found["evicted"] >= 10
    assert found["second looks"] >= 3


@pytest.mark.once
def test_the_reservoir_goes_on_learning_when_more_arms_are_held_than_remembered_as_its_twin():
    rare = ma.World(ma.BetaDistributed(a=1.0, b=30.0))
    compared(ma.Forager(keep=600, most=600), rare, 900, seed=3)
    state, dice = begun(ma.Forager(keep=600, most=600)), random.Random(3)
    for t in range(1, 5000):  # arms pay with their first play only, so there are always better ones than those it has
        choice = ask(state, t)
        state = tell(state, choice, float(dice.random() < 0.1) if state.plays[choice.slot] == 0 else 0.0)
    assert state.used > memories.REMEMBERED + 50
    assert np.count_nonzero(state.memory.held) == memories.REMEMBERED  # all of them may be played again
    assert state.reservoir.judged > memories.REMEMBERED + 50


@pytest.mark.once
@pytest.mark.parametrize(
    ("world", "alarms"),
    [
        (ma.World(ma.PowerLaw(beta=0.5), ma.Crash(probability=0.002, to=0.0), ma.Bernoulli()), 1),
        (ma.World(ma.PowerLaw(beta=0.5, top=0.6), ma.Rotting("0.03%"), ma.BetaNoise(concentration=10.0)), 0),
    ],
)
def test_arms_that_are_good_for_long_are_judged_in_stretches_as_by_the_twin(world, alarms):
    found = compared(ma.Forager(keep=6), world, 2500, seed=4)
    assert found["stretches"] >= 50
    assert found["alarms"] >= alarms


@pytest.mark.once
@pytest.mark.parametrize("what", ["tells", "noise", "asks"])
def test_a_stretch_that_something_comes_between_is_judged_as_by_the_twin(what):
    # Between the plays of a stretch: rewards of other arms, rewards that are no coins, and open asks.
    spec = ma.Forager(keep=4)
    state, twin, dice = begun(spec), new_twin(spec), random.Random(5)
    interrupted = 0
    for t in range(1, 1500):
        choice = ask(state, t)
        reward = float(dice.random() < (0.9 if choice.arm == 3 else 0.3))
        other = dice.randrange(state.used)
        is_between = state.stretch.told.number > 0 and dice.random() < 0.1
        interrupted += is_between
        if is_between and what == "tells":
            choice = choice._replace(slot=other, arm=state.arms[other])
        if is_between and what == "noise":
            reward = 0.5
        if is_between and what == "asks":
            state, presumed = defer(state, choice)
            twin.opened(int(choice.arm), t)
            state = settle(state, choice, presumed, reward)
            twin.settled(int(choice.arm), t, reward)
        else:
            state = tell(state, choice, reward)
            twin.told(int(choice.arm), reward)
        same_decision(state, twin)
    same_as_twin(state, twin)
    assert interrupted >= (1 if what == "asks" else 2 if what == "noise" else 10)


@pytest.mark.once
@pytest.mark.parametrize("what", ["draw", "release", "recall"])
def test_what_was_told_of_an_arm_is_not_forgotten_when_something_happens_in_the_middle_of_a_stretch(what):
    state, told = begun(ma.Forager(keep=1, most=1, stock=3)), 0
    while state.stretch.told.number == 0:  # the only arm
        told += 1
        state = tell(state, ask(state, told), 1.0)
    assert state.experience.rounds < told
    slot = state.stretch.slot
    if what == "draw":
        state, slot = draw(state)
    elif what == "release":
        state = release(state, slot)
    else:
        state = recall(state, slot, 5, 5.0, False)
    assert state.experience.rounds == told
    assert state.stretch.told.number == 0
    choice = ask(state, told + 1)
    before = int(state.plays[choice.slot])
    state = tell(state, choice, 0.0)
    assert state.experience.rounds == told + 1  # and a stretch does not go on with another arm
    assert state.plays[choice.slot] == before + 1


@pytest.mark.once
def test_a_bandit_goes_on_in_the_middle_of_a_stretch_and_says_all_that_was_told():
    bandit, dice, in_the_middle = ma.Bandit(ma.Forager(), seed=3), random.Random(5), 0
    for t in range(1, 1200):
        decision = bandit.ask()
        bandit.tell(decision, float(dice.random() < (0.9 if decision.arm % 4 == 3 else 0.3)))
        if t > 800 and t % 8 == 0 and bandit._state.stretch.told.number > 0:
            in_the_middle += 1
            copy = ma.Bandit.from_json(bandit.to_json())
            before = state_to_json(bandit._state)
            known = bandit.explain()
            assert state_to_json(bandit._state) == before  # to look changes nothing
            assert known["rounds"] == t
            assert copy.explain() == known
            assert known["plays_of_arm"] > bandit._state.plays[bandit._state.slot]
            bandit = copy
    assert in_the_middle > 10


specs = st.integers(1, 40).flatmap(
    lambda keep: st.builds(
        ma.Forager,
        keep=st.just(keep),
        most=st.sampled_from([keep, keep + 3, 10 * keep]),
        stock=st.sampled_from([None, None, 1, 3, keep, 3 * keep]),
    )
)
crashing = st.builds(
    ma.World,
    reservoirs,
    st.builds(ma.Crash, probability=st.sampled_from([0.0, 0.01, 0.1]), to=st.sampled_from(["fresh", 0.0])),
    st.just(ma.Bernoulli()),
)
trending = st.builds(
    ma.World,
    reservoirs,
    st.sampled_from([ma.Rotting("1/t"), ma.Rotting("30/t"), ma.Rising("3/t")]),
    st.just(ma.GapUniform()),
)


# Compiled, in worlds of a type that other tests play too; as plain Python in others as well.
test_a_simulated_forager_plays_as_its_twin = plays_as_its_twin(
    specs,
    crashing if IS_COMPILING else st.one_of(crashing, trending),
    horizons.map(lambda horizon: min(horizon, 300)),
    examples=25,
)


# That a compiled loop hears of late answers what a plain one hears is a promise (`compiled_equals_plain`).
@pytest.mark.once
@pytest.mark.parametrize("size", [7, 64])
def test_the_loop_hears_of_batches_what_the_twin_hears(uncompiled, size):
    for spec in (ma.Forager(), ma.Forager(keep=3, most=10)):
        check_same(spec, FLIPS.replace(feedback=ma.Batches(size)), 600, seed=size)


@pytest.mark.once
@some
@given(
    specs.filter(lambda spec: spec.keep < 9), st.lists(st.floats(0.0, 1.0) | st.integers(0, 1).map(float), max_size=60)
)
def test_any_rewards_are_taken_as_by_the_twin(spec, rewards):
    state, twin = begun(spec), new_twin(spec)
    for t, reward in enumerate(rewards, start=1):
        state = tell(state, ask(state, t), reward)
        twin.told(twin.arm.number, reward)
        same_decision(state, twin)
    same_as_twin(state, twin)


@pytest.mark.once
@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0, -1.0, 1.1])
@pytest.mark.parametrize("keep", [1, 4])
def test_constant_rewards_are_taken_as_by_the_twin(reward, keep):
    spec = ma.Forager(keep=keep)
    state, twin = begun(spec), new_twin(spec)
    for t in range(1, 201):
        state = tell(state, ask(state, t), reward)
        twin.told(twin.arm.number, reward)
        same_decision(state, twin)
    same_as_twin(state, twin)
    assert all(math.isfinite(value) for value in masses_of(state, 0))


def interleaved(spec, seed, rounds, waits):
    """Many open asks, answered in any order or never; returns what happened, and how often."""
    dice = random.Random(seed)
    state, twin = begun(spec), new_twin(spec)
    waiting = []
    happened = collections.Counter()
    for t in range(1, rounds + 1):
        choice = ask(state, t)
        assert choice.arm == twin.arm.number
        state, presumed = defer(state, choice)
        twin.opened(int(choice.arm), t)
        assert (abs(presumed), presumed > 0.0) == twin.presumed[t]
        same_decision(state, twin)
        waiting.append((choice, presumed))
        while len(waiting) > waits or (waiting and dice.random() < 0.3):
            one, presumed = waiting.pop(dice.randrange(len(waiting)))
            if dice.random() < 0.1:
                state = lose(state, one, presumed)
                twin.lost(int(one.arm), one.round)
                happened["lost"] += 1
            else:
                reward = float(dice.random() < (0.9 if one.arm % 7 == 3 else 0.2))
                state = settle(state, one, presumed, reward)
                twin.settled(int(one.arm), one.round, reward)
            same_decision(state, twin)
        happened["beyond keep"] += state.used > spec.keep
        happened["full"] += state.used == spec.most and 0 not in state.open.numbers[: state.used]
        happened["evicted"] = twin.evicted
    same_as_twin(state, twin)
    assert state.counts.ignored == 0
    assert sum(state.open.numbers) == len(waiting)
    return happened


@pytest.mark.once
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("keep", "most"), [(2, 3), (4, 40), (32, 256)])
def test_late_rewards_count_as_for_the_twin(keep, most, seed):
    happened = interleaved(ma.Forager(keep=keep, most=most), seed, 500, waits=30)
    assert happened["lost"] >= 5
    if keep < 32:
        assert happened["beyond keep"] >= 5
        assert happened["full" if most == 3 else "evicted"] >= 5


# ---------------------------------------------------------------- a live catalogue


def played(spec, rounds, seed):
    """A Forager that has played coins, and its twin."""
    twin, state, dice = new_twin(spec), begun(spec), random.Random(seed)
    for t in range(1, rounds + 1):
        choice = ask(state, t)
        reward = float(dice.random() < (0.6 if choice.arm % 9 == 4 else 0.1))
        state = tell(state, choice, reward)
        twin.told(int(choice.arm), reward)
    return twin, state, dice


def best_among(twin, allowed, has_fresh):
    """As the docstring of `ask_among` says it: the place of an arm; None for a fresh one, or none at all."""
    arms = [place for place, is_allowed in enumerate(allowed) if is_allowed]
    if not arms:
        return None
    best = max(arms, key=lambda place: (twin.arms[place].believed, -place))
    if twin.arms[best].believed >= twin.target:
        return best
    for place in arms:
        twin.appraise(twin.arms[place])
    most = max(arms, key=lambda place: (twin.arms[place].promise, -place))
    if has_fresh:
        return most if twin.arms[most].promise > twin.reservoir.excess(twin.target) else None
    costs = twin.arms[best].believed - twin.arms[most].believed
    return most if twin.arms[most].promise * twin.stay > costs else best


@pytest.mark.once
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_the_allowed_arms_is_that_of_the_twin(seed):
    twin, state, dice = played(ma.Forager(keep=20), 300, seed)
    found = set()
    for share in (0.0, 0.05, 0.2, 0.5, 0.5, 0.5, 0.9, 1.0):
        for has_fresh in (False, True):
            allowed = np.array([dice.random() < share for _ in range(state.used)], dtype=np.bool_)
            expected = best_among(twin, allowed, has_fresh)
            choice = ask_among(state, 301, allowed, has_fresh)
            assert choice.slot == (-1 if expected is None else expected)
            assert expected is None or (choice.arm, choice.probability) == (state.arms[expected], 1.0)
            found.add(expected)
    assert len(found) > 2


@pytest.mark.once
def test_what_was_seen_elsewhere_counts_as_if_it_had_been_told():
    """Of a fresh arm, to the bit: ten rewards told one by one by a policy that believes in no change, or at once."""
    _, state, _ = played(ma.Forager(keep=20), 300, 5)
    state, slot = draw(state)
    grids.believe(state.grid, state.reservoir.masses, 0, 3.0, 10.0, 1.0)
    expected = state.grid.belief.copy()
    judged, before = state.reservoir.judged, state.means[slot]
    # Neither change, but for one reset in 10^6 plays, nor another grid.
    still = state._replace(watch=state.watch._replace(model=0, rate=1e-6), regrid=10**6)
    after = recall(still, slot, 10, 3.0, True)
    assert after.masses.reshape(-1, POINTS)[slot] == pytest.approx(expected, abs=2e-5)
    assert (after.plays[slot], after.totals[slot]) == (10, 3.0)
    assert after.means[slot] != before
    assert after.reservoir.judged == judged + 1.0  # and the reservoir has learned of it


@pytest.mark.once
def test_a_released_arm_is_gone_and_its_slot_is_used_again():
    spec = ma.Forager(keep=6, most=6)
    _, state, _ = played(spec, 300, 6)
    gone = 0
    for slot in range(state.used):
        arm = int(state.arms[slot])
        state = release(state, slot)
        assert arm not in spec.kept_arms(state)
        if state.arms[slot] != state.counts.arms - 1:  # no fresh arm has its slot already
            assert (state.arms[slot], state.believed[slot], state.promises[slot]) == (-1, -1.0, -1.0)
            gone += 1
        choice = ask(state, 301)
        assert choice.arm >= 0
        assert state.arms[choice.slot] == choice.arm
    assert gone >= 3
    for t in range(302, 900):  # grids are redrawn, promises refreshed
        choice = ask(state, t)
        assert choice.arm >= 0
        state = tell(state, choice, float(t % 9 == 0))
    assert (state.arms[: state.used] >= 0).all()


@pytest.mark.once
def test_without_supply_no_fresh_arm_is_drawn():
    _, state, _ = played(ma.Forager(keep=40), 100, 7)
    state = supply(state, False)
    drawn = state.counts.arms
    for t in range(101, 400):
        state = tell(state, ask(state, t), 0.0)
    assert state.counts.arms == drawn
    state = tell(supply(state, True), ask(state, 400), 0.0)
    assert state.counts.arms == drawn + 1


# ---------------------------------------------------------------- the grid

centres = st.floats(-11.0, 11.0)
spacings = st.floats(grids.FINEST, grids.WIDEST)
weights = st.lists(st.sampled_from([0.0, 1e-6, 0.1, 1.0]), min_size=POINTS, max_size=POINTS).filter(any)
rates = st.just(0.0) | st.floats(0.0, 3.0)
changes = st.tuples(st.floats(0.0, 1.0), rates, rates).map(lambda parts: grids.Change(*parts))


def grid_at(centre, spacing):
    grid = grids.opened_grid(grids.new_grid())
    grids.draft_grid(grid, centre, spacing)
    return grids.redrawn(grid, centre, spacing)


def shares(numbers):
    return np.array(numbers) / sum(numbers)


def half_cells(points):
    """How far the ends of a point's cell lie from it, at most."""
    distances = np.diff(points)
    return 0.5 * np.maximum(np.append(distances, 0.0), np.insert(distances, 0, 0.0))


@some
@given(centres, spacings)
def test_points_rise_from_edge_to_edge_and_are_finest_at_the_centre(centre, spacing):
    grid = grid_at(centre, spacing)
    distances = np.diff(grid.points)
    # 40 halvings of an interval of 3 find the curvature to 3e-12; the last point moves by at most that, times 13 · 24.
    assert (grid.points[0], grid.points[-1]) == pytest.approx((-grids.EDGE, grids.EDGE), abs=1e-8)
    assert grid.points[grids.BELOW] == grid.centre == centre
    assert grid.spacing == spacing
    assert distances.min() > 0.0
    assert (np.diff(distances[grids.BELOW :]) > -1e-9).all()
    assert (np.diff(distances[: grids.BELOW]) < 1e-9).all()
    for distance, reach, count in (
        (distances[grids.BELOW - 1], centre + grids.EDGE, grids.BELOW),
        (distances[grids.BELOW], grids.EDGE - centre, POINTS - 1 - grids.BELOW),
    ):
        # sinh(c) / c is at most 1.1 for the c that reach the edge: up to 0.7.
        assert distance == pytest.approx(reach / count) if reach <= count * spacing else 1.0 <= distance / spacing < 1.1


@some
@given(centres, spacings)
def test_all_that_follows_from_points_is_right(centre, spacing):
    grid = grid_at(centre, spacing)
    means = 1.0 / (1.0 + np.exp(-grid.points))
    assert grid.means == pytest.approx(means, rel=1e-13)
    assert grid.misses == pytest.approx(1.0 - means, rel=1e-9)
    assert grid.logs == pytest.approx(-np.log1p(np.exp(grid.points)), rel=1e-9, abs=1e-15)
    assert grid.nearness == pytest.approx(np.concatenate([[0.0], 1.0 / np.diff(grid.points), [0.0]]))
    assert (np.diff(grid.means) > 0.0).all()
    for mean in means[1:-1]:
        assert grids.mean_at(grids.point_at(mean)) == pytest.approx(mean)


@some
@given(centres, spacings, centres, spacings, weights)
def test_another_grid_has_the_same_mass_at_nearly_the_same_place(centre, spacing, new_centre, new_spacing, numbers):
    grid = grid_at(centre, spacing)
    before, old = shares(numbers), grid.points.copy()
    masses = np.concatenate([[7.0], before, [8.0]])
    grids.draft_grid(grid, new_centre, new_spacing)
    grids.carry_over(grid, masses, 1)
    assert (masses[0], masses[-1]) == (7.0, 8.0)
    after = masses[1:-1]
    assert after.min() >= 0.0
    assert after.sum() == pytest.approx(1.0, abs=1e-13)
    # A mass moves by half a cell when it is spread, and by half a new one when it is collected, at most.
    new = grid.draft
    assert abs(after @ new - before @ old) <= before @ half_cells(old) + after @ half_cells(new) + 1e-12


@some
@given(centres, spacings, weights)
def test_the_same_grid_again_changes_little(centre, spacing, numbers):
    grid = grid_at(centre, spacing)
    masses = shares(numbers)
    before = masses.copy()
    grids.draft_grid(grid, centre, spacing)
    grids.carry_over(grid, masses, 0)
    # A cell is half way to the neighbours on both sides, both times.
    assert masses == pytest.approx(before, abs=1e-12)


@some
@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from([1.0, 0.5, 0.01, 1e-4]))
def test_the_likelihood_is_that_of_coins_made_sharper(wins, losses, dispersion):
    grid = grid_at(0.3, 0.2)
    grids.judge_rewards(grid, float(wins), float(wins + losses), dispersion)
    found = grid.likelihood.copy()
    exact = wins * np.log(grid.means) + losses * np.log(1.0 - grid.means)
    coin = np.exp(exact - exact.max())
    outliers = 0.0 if dispersion == 1.0 else 0.05 * math.sqrt(dispersion)
    assert found == pytest.approx(coin ** (1.0 / dispersion) + outliers * coin, rel=1e-6, abs=1e-9)
    assert found.max() == 1.0 + outliers


@some
@given(weights, weights, changes, st.integers(1, 3), st.integers(0, 30), st.integers(0, 30), centres, spacings)
def test_a_reward_and_a_play_keep_masses_that_sum_up_to_1(numbers, fresh, change, steps, wins, losses, centre, spacing):
    grid = grid_at(centre, spacing)
    masses, source = shares(numbers), shares(fresh)
    grids.judge_rewards(grid, float(wins), float(wins + losses), 1.0)
    expected = masses @ grid.likelihood
    total = grids.update(grid, masses, 0, grid.likelihood, change, steps, source)
    assert total == pytest.approx(expected)
    assert masses.min() >= 0.0
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)


def test_rewards_beyond_belief_are_believed_of_a_fresh_arm():
    grid = grid_at(0.0, 0.5)
    masses, source = np.eye(POINTS)[0], np.full(POINTS, 1.0 / POINTS)
    grids.judge_rewards(grid, 200.0, 200.0, 1.0)
    assert grid.likelihood[0] == 0.0
    assert grids.update(grid, masses, 0, grid.likelihood, grids.Change(falls=0.01), 3, source) == grids.NOTHING
    assert masses.tolist() == source.tolist()


@some
@given(weights, st.floats(0.0, 0.01), st.floats(0.0, 0.01), spacings)
def test_log_odds_fall_and_rise_by_as_much_as_they_should(numbers, falls, rises, spacing):
    grid = grid_at(0.0, spacing)  # points lie at least 0.02 apart: no share is above 0.45
    numbers[:2] = numbers[-2:] = [0.0, 0.0]  # what reaches an edge stays there: in two steps, none of it can move on
    if not any(numbers):
        numbers[5] = 1.0
    masses = shares(numbers)
    before = masses @ grid.points
    likely = np.full(POINTS, 0.5)
    change = grids.Change(falls=0.4 * falls, rises=0.4 * rises)
    assert grids.update(grid, masses, 0, likely, change, 2, masses.copy()) == pytest.approx(0.5)
    assert masses @ grid.points - before == pytest.approx(0.8 * (rises - falls), abs=1e-11)


@some
@given(weights, st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3, unique=True), centres, spacings)
def test_the_excess_is_convex_and_falls_with_the_level(numbers, levels, centre, spacing):
    grid, masses = grid_at(centre, spacing), shares(numbers)
    low, middle, high = sorted(levels)
    excess = functools.partial(grids.excess_of, grid, masses, 0)
    assert excess(low) >= excess(middle) >= excess(high) >= 0.0
    share = (high - middle) / (high - low)
    assert excess(middle) <= share * excess(low) + (1.0 - share) * excess(high) + 1e-15
    mean = grids.mean_of(grid, masses, 0)
    assert mean == pytest.approx(masses @ grid.means)
    assert excess(low) >= mean - low - 1e-15
    assert excess(0.0) == pytest.approx(mean)
    assert excess(1.0) == 0.0
    assert excess(middle) == pytest.approx(masses @ np.maximum(grid.means - middle, 0.0), abs=1e-15)


# ---------------------------------------------------------------- averages and noise


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 1000])
def test_the_weights_are_those_of_i_times_i_plus_1(n):
    assert fast.pace(n) == pytest.approx(n * (n + 1) / sum(i * (i + 1) for i in range(1, n + 1)), rel=1e-15)


stretches = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9)


@some
@given(st.lists(st.tuples(stretches, st.booleans(), st.integers(0, 99)), min_size=1, max_size=30))
def test_experience_is_averages_of_late(told):
    # Rewards that are told together count for what they are on average, each with the weight of its round.
    experience, rounds = fast.NOTHING_LEARNED, []
    for rewards, is_kept, plays in told:
        number, total = len(rewards), sum(rewards)
        experience = fast.after_plays(experience, stretching.Plays(number, total, 0.0, 0), is_kept, plays)
        rounds += [(total / number, is_kept, plays + 0.5 * (number - 1))] * number
    weight = np.array([i * (i + 1) for i in range(1, len(rounds) + 1)], dtype=float)
    rewards, kept, plays = (np.array(column, dtype=float) for column in zip(*rounds, strict=True))
    assert experience.rounds == len(rounds)
    assert experience.average == pytest.approx(np.average(rewards, weights=weight), abs=1e-12)
    assert experience.kept == pytest.approx(np.average(kept, weights=weight), abs=1e-12)
    assert experience.stay == pytest.approx(np.average(plays, weights=weight), abs=1e-10)
    if any(kept):
        assert fast.earned_when_kept(experience) == pytest.approx(np.average(rewards, weights=weight * kept), abs=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.25, 0.01])
def test_the_dispersion_is_the_variance_over_that_of_coins(share):
    # Rewards of mean 0.4 and this share of a coin's variance. The last third of 3,000 pairs has an effective number of
    # some 1,700 (weights s (s + 1)); squared differences of normal rewards vary by 1.7 of their mean, so the estimate
    # has a standard error of 4 %: five of those.
    dice = np.random.default_rng(5)
    noise = fast.FIRST_NOISE
    last = 0.4
    for n, reward in enumerate(0.4 + math.sqrt(share * 0.24) * dice.standard_normal(3000)):
        noise = noises.after_difference(noise, float(reward), last, 0.4, n, n + 1)
        last = float(reward)
    assert fast.dispersion_of(noise, 0.02) == pytest.approx(share, rel=0.2)
    assert fast.dispersion_of(noise, 0.5) >= 0.25 * 0.25


def test_coins_are_known_as_such_until_another_reward_comes():
    noise = fast.FIRST_NOISE
    for n, reward in enumerate([0.0, 1.0, 1.0, 0.0]):
        noise = noises.after_difference(noise, reward, 0.0, 0.5, n, n + 1)
        assert fast.dispersion_of(noise, 0.5) == 1.0
    noise = noises.after_difference(noise, 0.5, 0.5, 0.5, 4, 5)
    assert noise.is_coin == 0
    assert noises.after_difference(noise, 1.0, 0.5, 0.5, 5, 6).is_coin == 0


# ---------------------------------------------------------------- the reservoir


@some
@given(weights, centres, spacings, st.floats(0.0, 4.0))
def test_luck_keeps_the_mass_and_adds_to_its_log_odds(numbers, centre, spacing, luck):
    grid, source, target = grid_at(centre, spacing), shares(numbers), np.zeros(POINTS)
    learning.shift_up(grid, source, target, 0.5, luck)
    assert target.min() >= 0.0
    assert target.sum() == pytest.approx(0.5)
    moved = np.minimum(grid.points + luck, grid.points[-1])
    assert target @ grid.points == pytest.approx(0.5 * (source @ moved), abs=1e-9)


@some
@given(weights, centres, spacings)
def test_the_best_arms_differ_by_what_they_exceed_the_least_of_them(numbers, centre, spacing):
    grid, reservoir = grid_at(centre, spacing), learning.new_reservoir()
    reservoir.learned[:] = shares(numbers)
    found = learning.spread_of_best(reservoir, grid)
    above = np.cumsum(reservoir.learned[::-1])[::-1]  # from each point on
    least = int(np.flatnonzero(above >= learning.BEST * (1 - 1e-12))[-1])
    excess = reservoir.learned[least:] @ (grid.points[least:] - grid.points[least])
    assert found == pytest.approx(excess / learning.BEST, abs=1e-9)


def test_one_arm_more_may_be_much_better_until_arms_have_said_what_they_are():
    state = begun()
    reservoir = state.reservoir
    reservoir.learned[:] = 0.0
    reservoir.learned[10] = 1.0  # all alike: the best do not differ
    shares_above = []
    for said in (learning.STRANGERS, 3.0 * learning.STRANGERS):
        learning.draw_unseen(reservoir._replace(judged=99.0, said=said), state.grid)
        assert state.grid.cells.sum() == pytest.approx(0.01)
        shares_above.append(state.grid.cells[11:].sum())
    assert shares_above == pytest.approx([0.005, 0.0025])  # a half, and a quarter of it


def arm_seen(state, wins, plays):
    """The state after the reservoir has learned of one more arm."""
    state.plays[0], state.totals[0] = plays, wins
    return learned_of(state, -1)


def learned_of(state, place, replays=0):
    now = learning.Known(plays=float(state.plays[0]), total=float(state.totals[0]))
    memory, reservoir, place = memories.with_arm_remembered(
        state.memory, state.reservoir, state.grid, place, 0, now, replays, 1.0
    )
    memories.let_go(memory, place, 0)
    return state._replace(memory=memory, reservoir=reservoir)


@pytest.mark.once
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 6.0), (1.2, 30.0)])
def test_the_reservoir_becomes_what_arms_are(a, b):
    dice = np.random.default_rng(3)
    state = begun()
    for mean in dice.beta(a, b, size=1000):
        state = arm_seen(state, float(dice.binomial(40, mean)), 40)
        assert state.reservoir.learned.sum() == pytest.approx(1.0)
        assert state.reservoir.masses.sum() == pytest.approx(1.0)
    assert state.reservoir.judged == 1004.0
    # With steps of 1000^-0.7 = 0.008 the last 250 arms count: four standard errors of their mean, and one in a thousand
    # that is as good as any.
    near = 4.0 * dice.beta(a, b, size=100_000).std() / math.sqrt(250) + 0.001
    assert state.reservoir.reward_above[0] == pytest.approx(a / (a + b), abs=near)
    for level in (0.0, 0.05, 0.3, 0.6):
        above = dice.beta(a, b, size=100_000) - level
        assert learning.fresh_excess(state.reservoir, state.grid, level) == pytest.approx(
            np.maximum(above, 0.0).mean(), abs=near + 0.002
        )


@some
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30), st.floats(0.0, 1.0))
def test_the_reservoir_above_a_level_is_summed_up(arms, level):
    state = begun()
    for wins, losses in arms:
        state = arm_seen(state, float(wins), wins + losses + 1)
    means, masses = state.grid.means, state.reservoir.masses
    assert masses.sum() == pytest.approx(1.0)
    excess = float(masses @ np.maximum(means - level, 0.0))
    assert learning.fresh_excess(state.reservoir, state.grid, level) == pytest.approx(excess, abs=1e-12)
    is_above = means > level
    expected = masses[is_above] @ means[is_above] / masses[is_above].sum() if is_above.any() else means[-1]
    assert learning.mean_above(state.reservoir, state.grid, level) == pytest.approx(expected)
    assert learning.mean_above(state.reservoir, state.grid, level) > min(level, means[-1] - 1e-9)


@pytest.mark.parametrize("model", [watching.STILL, watching.RESETS])
def test_arms_are_nearly_alike_but_above_the_best_there_is_nothing_to_hope_for_if_they_stay_so(model):
    state = begun()
    state = state._replace(watch=state.watch._replace(model=model))
    reservoir = fast.with_hope(state)._replace(judged=1e12)  # so that the unseen arm weighs nothing
    reservoir.learned[:] = 0.0
    reservoir.learned[[10, 20]] = 0.5
    learning.sum_up(reservoir, state.grid)
    assert {k: reservoir.masses[k] for k in range(POINTS) if reservoir.masses[k] > 1e-9} == pytest.approx(
        {9: 0.025, 10: 0.45, 11: 0.025, 19: 0.025, 20: 0.45, 21: 0.025}
    )
    best = learning.mean_above(reservoir, state.grid, state.grid.means[19])
    above = learning.fresh_excess(reservoir, state.grid, state.grid.means[20])
    if model == watching.STILL:
        assert best == pytest.approx(state.grid.means[20])
        assert above < 1e-11
    else:
        assert best > state.grid.means[20] + 1e-4
        assert above == pytest.approx(0.025 * (state.grid.means[21] - state.grid.means[20]))


def test_what_an_arm_says_later_replaces_what_it_said_before():
    once, twice = begun(), begun()
    once = arm_seen(once, 30.0, 32).reservoir
    twice = arm_seen(twice, 2.0, 8)
    assert not np.allclose(once.learned, twice.reservoir.learned)
    twice.plays[0], twice.totals[0] = 32, 30.0
    twice = learned_of(twice, 0)
    assert (twice.memory.plays[0], twice.memory.totals[0]) == (32, 30.0)
    twice = twice.reservoir
    assert once.judged == twice.judged == learning.PRIOR_ARMS + 1.0
    # It is judged by a reservoir that knew it already, no more: nearly the same.
    assert twice.reward_above[0] == pytest.approx(once.reward_above[0], abs=0.05)
    assert twice.said == once.said or twice.said == pytest.approx(once.said, abs=1.0)


def looked_at(state, plays):
    """The state after so many plays, and whether the reservoir has learned of the arm."""
    before = state.reservoir.learned.copy()
    state.plays[0], state.totals[0] = plays, 0.9 * plays
    state = fast.with_look(state, 0, 1.0)
    return state, bool((state.reservoir.learned != before).any())


def looks(state, plays=range(1, 600)):
    """The plays at which the reservoir learns of the arm in slot 0, which is good, and the state then."""
    found = []
    for number in plays:
        state, is_look = looked_at(state, number)
        found += [number] * is_look
    return found, state


def believing(kind, rate, **settings):
    """A good arm after a million rounds, while arms are believed to change so."""
    model = next(place for place, (one, _) in enumerate(watching.MODELS) if one == kind)
    state = with_arm(begun(), 8, 0)
    watch = state.watch._replace(model=model, rate=rate)
    return state._replace(experience=fast.Experience(rounds=10**6, average=0.3), watch=watch, **settings)


def test_an_arm_is_looked_at_after_8_32_and_128_plays_while_arms_do_not_change():
    found, state = looks(believing(watching.STILL, 1e-6))
    assert found == [8, 32, 128, 512]
    assert state.reservoir.judged == learning.PRIOR_ARMS + 1.0
    # One play takes 1 % of its odds: in 32 plays, that is more than a quarter.
    assert looks(believing(watching.FALLS, 0.01))[0] == [8]


def test_an_arm_is_looked_at_as_long_while_arms_are_what_they_were_until_they_break_down():
    assert looks(believing(watching.RESETS, 0.01))[0] == [8, 32, 128, 512]
    assert looks(believing(watching.RESETS, 0.01, round=1))[0] == [8]  # some answer was late


@pytest.mark.parametrize(
    ("kind", "rate", "wanted"),
    [(watching.RESETS, 0.01, [8, 20]), (watching.FALLS, 0.01, [8]), (watching.STILL, 1e-6, [8, 32, 128, 512])],
)
def test_an_arm_that_was_known_is_looked_at_when_it_is_left_if_it_broke_down(kind, rate, wanted):
    found, state = looks(believing(kind, rate), range(1, 20))
    assert found == [8]
    state.means[0] = 0.01
    state.masses[: fast.POINTS] = 0.0
    state.masses[0] = 1.0  # worth nothing, and so it is left
    more, state = looks(state, range(20, 600))
    assert found + more == wanted
    assert state.reservoir.judged == learning.PRIOR_ARMS + 1.0


def test_an_arm_that_was_left_early_is_looked_at_again_after_four_times_as_many_plays():
    state = believing(watching.STILL, 1e-6)
    state.plays[0], state.totals[0] = 3, 0.0
    state.means[0] = 0.01
    state.masses[: fast.POINTS] = 0.0
    state.masses[0] = 1.0  # worth nothing, and so it is left
    state = fast.with_look(state, 0, 1.0)
    assert (state.memory.plays[0], state.looks[0]) == (3, 12)
    assert looks(state, range(4, 60))[0] == [12, 48]


def test_an_arm_is_looked_at_when_it_is_first_left():
    state = begun()
    for t in range(1, 9):
        state = tell(state, ask(state, t), 0.0)
    assert state.counts.arms > 2
    assert (
        state.reservoir.judged == learning.PRIOR_ARMS + sum(state.places[: state.used] >= 0) > learning.PRIOR_ARMS + 1.0
    )
    assert 0 < state.memory.plays[state.places[0]] < 8


# ---------------------------------------------------------------- what changes


def test_models_say_what_a_play_does():
    seen = collections.Counter(watching.KINDS[kind] for kind, _ in watching.MODELS)
    assert seen == {"still": 1, "resets": 5, "falls": 6, "rises": 2, "wanders": 3}
    for kind, rate in watching.MODELS:
        change = watching.change_of(kind, rate)
        assert tuple(change) == slow.change_of(watching.KINDS[kind], rate)
        assert change.resets >= 1e-6
    assert list(watching.MODELS) == [(watching.KINDS.index(kind), rate) for kind, rate in slow.MODELS]


@some
@given(changes.filter(lambda change: change.resets < 1.0), st.floats(1.0, 1e4), st.floats(0.02, 0.5))
def test_the_steps_of_a_group_make_up_its_plays(change, plays, spacing):
    grid = grid_at(0.0, spacing)
    steps = watching.steps_for(grid, change, plays)
    assert 1 <= steps <= watching.MOST_STEPS
    step = watching.over_plays(change, plays, steps)
    # More than one reset counts as one: near the truth while there is hardly one, and never more than that.
    expected = 1.0 - (1.0 - change.resets) ** plays
    assert change.resets <= step.resets <= expected + 1e-12
    assert step.resets >= expected - 0.5 * (change.resets * plays) ** 2 - 1e-12
    assert (steps * step.falls, steps * step.rises) == pytest.approx((plays * change.falls, plays * change.rises))
    if steps < watching.MOST_STEPS:
        assert step.falls + step.rises <= 0.5 * spacing * (1.0 + 1e-9)


def begun_watch():
    return watching.opened_watch(watching.new_watch())


@some
@given(st.lists(st.floats(-50.0, 50.0), min_size=len(watching.MODELS), max_size=len(watching.MODELS)))
def test_the_model_with_the_best_evidence_is_believed_and_change_only_beyond_doubt(evidence):
    watch = begun_watch()
    watch.evidence[:] = evidence
    found = watching.with_belief(watch)
    worth = [evidence[0]] + [one - watching.DOUBT for one in evidence[1:]]
    assert worth[found.model] == max(worth)
    kind, rate = watching.MODELS[found.model]
    same = [other for other_kind, other in watching.MODELS if other_kind == kind]
    assert min(same) <= found.rate <= max(same)
    ratio = same[1] / same[0] if len(same) > 1 else 1.0
    assert 1.0 / math.sqrt(ratio) - 1e-9 <= found.rate / rate <= math.sqrt(ratio) + 1e-9


def test_the_rate_lies_at_the_top_of_a_parabola():
    watch = begun_watch()
    first = watching.MODELS.index((watching.RESETS, 3e-5))
    for place in range(5):
        watch.evidence[first + place] = 40.0 - 3.0 * (place - 2.2) ** 2
    found = watching.with_belief(watch)
    assert found.model == first + 2
    assert found.rate == pytest.approx(3e-5 * 6.0**2.2, rel=1e-6)
    watch.evidence[first + 2] = -1e9  # the ends have no neighbours on one side
    watch.evidence[first] = 60.0
    assert watching.with_belief(watch).rate == 3e-5


def test_four_arms_are_watched_and_the_worst_makes_room():
    watch, reservoir = begun_watch(), np.full(POINTS, 1.0 / POINTS)
    means = np.array([0.5, 0.2, 0.9, 0.2, 0.0, 0.0])
    for slot in range(4):
        watching.start_watching(watch, slot, reservoir, 0, 0.0, means)
    assert watch.slots.tolist() == [0, 1, 2, 3]
    watching.start_watching(watch, 4, reservoir, 0, 0.0, means)
    assert watch.slots.tolist() == [0, 4, 2, 3]
    assert (watching.place_of(watch, 4), watching.place_of(watch, 1)) == (1, -1)
    watching.stop_watching(watch, 2)
    watching.start_watching(watch, 5, reservoir, 0, 0.0, means)
    assert watch.slots.tolist() == [0, 4, 5, 3]


def test_groups_are_a_sixteenth_of_the_past_and_short_after_a_surprise():
    watch, reservoir = begun_watch(), np.full(POINTS, 1.0 / POINTS)
    watching.start_watching(watch, 0, reservoir, 0, 0.0, np.zeros(1))
    for plays, group, calm, is_over in [
        (16, 1, 1e9, True),
        (17, 1, 1e9, False),
        (160, 10, 1e9, True),
        (160, 3, 6, True),
        (160, 3, 7, False),
    ]:
        watch.plays[0], watch.calm[0] = group, calm
        assert watching.is_group_over(watch, 0, plays) == is_over
    # Two standard deviations of a coin of 0.8: 0.8 from the mean.
    assert watching.is_surprising(0.0, 0.81, 1.0)
    assert not watching.is_surprising(0.0, 0.79, 1.0)
    assert watching.is_surprising(0.59, 0.8, 0.01) == (0.21**2 > 4 * 0.01 * 0.16)


def test_watching_costs_no_more_than_it_may():
    watch = begun_watch()._replace(groups=2010)
    for every in (8, 256):
        assert not watching.is_affordable(watch, 10 * every, every)
        assert watching.is_affordable(watch, 11 * every, every)
    assert watching.EVERY < watching.EVERY_SURPRISE
    watch.evidence[:] = watch.overall[:] = 8.0
    watching.fade(watch, 0.25)
    assert (set(watch.evidence), set(watch.overall)) == ({6.0}, {7.5})
    watching.fade(watch, 2.0)
    assert (set(watch.evidence), set(watch.overall)) == ({0.0}, {3.75})


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("world", "kind"),
    [
        (COINS, "still"),
        (COINS.replace(drift=ma.Crash(probability=1e-3)), "resets"),
        (WORN.replace(drift=ma.Rotting("0.3%")), "falls"),
    ],
    ids=["still", "resets", "falls"],
)
def test_the_right_kind_of_change_is_reported(world, kind):
    found = [kind for kind, _ in reported_changes(world, 100_000, 20, seed=3)]
    # Of 100 runs with another seed 100, 95 and 100 were right. With 95 in a hundred, fewer than 15 of 20 would
    # have a chance of 3e-4.
    assert found.count(kind) >= 15


# ---------------------------------------------------------------- open asks


def with_arm(state, wins, losses):
    """The state with an arm in slot 0 of which so much is known."""
    for reward in [1.0] * wins + [0.0] * losses:
        fast.filter_plays(state, 0, stretching.one_play(reward, reward), 1.0)
    fast.appraise(state, 0, False)
    return state


@pytest.mark.parametrize("asked", [1, 5, 100])
def test_an_unknown_arm_with_open_asks_promises_less_than_a_fresh_one(asked):
    state = begun()
    fast.appraise(state, 0, False)
    promise = state.promises[0]
    assert promise == pytest.approx(learning.fresh_excess(state.reservoir, state.grid, state.target))
    promises = []
    for round in range(1, asked + 1):
        state = open_ask(state, round)
        fast.believe_in_asks(state, 0)
        promises.append(fast.excess_of(state.grid, state.grid.belief, 0, state.target))
    assert max(promises) < 0.8 * promise
    assert promises[:10] == sorted(promises[:10], reverse=True)


@some
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 100))
def test_open_asks_leave_a_known_arm_what_it_is(wins, losses, asked):
    state = with_arm(begun(), 10 + wins, 10 + losses)
    mean = state.means[0]
    state.open.numbers[0] = asked
    state.plays[0] = 20 + wins + losses
    fast.appraise(state, 0, False)
    if asked > 4 * (20 + wins + losses):
        assert state.promises[0] == -1.0
        return
    assert state.means[0] == mean
    # Asks that pay the mean make the belief narrower: it promises little more than its mean does.
    assert state.promises[0] >= max(mean - state.target, 0.0) - 0.05
    assert state.promises[0] <= fast.excess_of(state.grid, state.masses, 0, state.target) + 0.01


def test_where_a_fresh_arm_is_as_good_an_arm_with_open_asks_is_not_good_enough():
    state = begun()
    assert state.believed[0] == state.target
    assert fast.is_good_enough(state, 0)
    state.open.numbers[0] = 1
    assert not fast.is_good_enough(state, 0)
    state.believed[0] *= 1.001
    assert fast.is_good_enough(state, 0)


def test_of_a_fresh_arm_a_look_is_enough_until_its_answer_comes():
    state, *asks = left_open(begun(ma.Forager(keep=4, most=6)), *range(1, 8))
    # All six slots have open asks; then one of them is asked again.
    assert [one.choice.arm for one in asks[:6]] == [0, 1, 2, 3, 4, 5]
    assert state.used == 6
    state = settled(settled(state, asks[0], 0.0), asks[1], 1.0)
    state, *others = left_open(state, 8, 9)
    assert [one.choice.arm for one in others] == [1, 1]  # a good one that is known


def open_ask(state, round):
    """One more ask of the arm in slot 0, made in a round, with the clock there."""
    opening.add_ask(state.open, 0, round)
    return state._replace(round=round)


def good_news_first(state, answers=400, mean=0.2, timeout=100):
    """Answers late in a run, all of nearly the same weight: good ones after one round and bad ones after many."""
    for n in range(answers):
        is_good = n % round(1 / mean) == 0
        late.add_answer(state.lateness, 1.0 if is_good else timeout, float(is_good), mean, 10**6 + n)
    return state._replace(experience=state.experience._replace(rounds=10**6 + answers))


def test_an_ask_pays_what_is_expected_while_nothing_is_known_of_ages():
    assert late.still_to_come(begun().lateness, 1e6, 1) == 1.0


@pytest.mark.parametrize("age", [0.0, 1.0, 50.0, 1e6])
def test_where_all_answers_take_the_same_time_their_age_says_nothing(age):
    lateness = late.opened_lateness(late.new_lateness())
    for n in range(1, 500):
        late.add_answer(lateness, 50.0, float(n % 4 == 0), 0.25, n)
    assert late.still_to_come(lateness, age, 499) == pytest.approx(1.0, abs=0.01)


def test_where_good_news_comes_first_an_old_ask_has_come_to_nothing():
    state = good_news_first(begun())
    assert late.still_to_come(state.lateness, 0.0, state.experience.rounds) == 1.0
    # 320 answers came after two rounds or more and were expected to pay 0.2 each. They paid nothing; doubt is 4.
    share = late.still_to_come(state.lateness, 2.0, state.experience.rounds)
    assert share == pytest.approx(4.0 / (320 * 0.2 + 4.0), abs=1e-4)


@some
@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 1), st.floats(0.001, 1)), max_size=60), st.floats(0, 1e5))
def test_what_is_still_to_come_is_a_share(answers, age):
    lateness = late.opened_lateness(late.new_lateness())
    for n, (wait, reward, expected) in enumerate(answers, start=1):
        late.add_answer(lateness, wait, reward, expected, n)
    assert 0.0 <= late.still_to_come(lateness, age, len(answers)) <= 1.0


def test_an_ask_that_is_out_for_long_counts_as_a_failure_where_good_news_comes_first():
    state = good_news_first(begun())
    for reward in [1.0, 0.0] * 10:
        fast.filter_plays(state, 0, stretching.one_play(reward, reward), 1.0)
    state.plays[0] = 20
    for _ in range(10):
        state = open_ask(state, 1)
    fast.grow_old(state, 0)
    fast.value(state, 0)
    assert state.nothing[0] == 0.0
    assert state.believed[0] == pytest.approx(state.means[0], abs=0.02)
    # 59 rounds later, 64 of 68 are failures (see above), in addition to 20 plays with 10 rewards; the others pay what
    # the arm is worth then. What was thought of arms at first is even in log-odds: a mean is rewards over plays.
    state = state._replace(round=60)
    fast.grow_old(state, 0)
    fast.value(state, 0)
    assert state.nothing[0] == pytest.approx(10 * 64 / 68, abs=1e-3)
    assert state.believed[0] == pytest.approx(10 / (20 + 10 * 64 / 68), abs=0.01)


def test_good_news_that_comes_first_is_no_sign_of_a_reset():
    # 60 asks of a coin of 0.25: its 15 rewards come at once, its 45 failures at the timeout. The arm stays what it is.
    state = good_news_first(begun(), mean=0.25)
    state.plays[0] = 100
    for round in range(1, 61):
        state = open_ask(state, round)
        if round % 4 == 0:
            opening.remove_ask(state.open, 0, round)
            fast.filter_plays(state, 0, stretching.one_play(1.0, 1.0), 1.0)
    state = state._replace(round=100)
    fast.grow_old(state, 0)
    early = state.means[0]
    for round in range(1, 61):
        if round % 4 != 0:
            opening.remove_ask(state.open, 0, round)
            fast.filter_plays(state, 0, stretching.one_play(0.0, 0.0), 1.0)
    # All 60 answers are known, in another order than that of the plays; 45 failures and 15 rewards.
    assert state.nothing[0] == pytest.approx(0.0, abs=1e-9)
    assert state.means[0] == pytest.approx(0.25, abs=0.01)
    # While failures are out, 64 of 68 are seen by their age.
    assert early == pytest.approx(15 / (15 + 45 * 64 / 68), abs=0.01)


def test_an_arm_has_one_open_ask_and_four_for_each_answer_while_there_is_another():
    state = with_arm(begun(ma.Forager(keep=4, most=6)), 20, 0)
    state.plays[0] = 2
    state, *asks = left_open(fast.decided(state, 0), *range(1, 16))
    arms = [int(one.choice.arm) for one in asks]
    assert arms[:9] == [0] * 9  # with the ninth they are too many
    assert arms[9:14] == [1, 2, 3, 4, 5]
    assert arms[14] == 0  # now all of them are beyond their credit, and this one is the best
    assert asks[14].presumed == pytest.approx(state.means[0], abs=0.05)


def test_open_asks_wear_an_arm_as_plays_do():
    state = with_arm(begun(), 30, 30)
    falls = [model for model, (kind, _) in enumerate(watching.MODELS) if kind == watching.FALLS][2]
    rate = watching.MODELS[falls][1]
    state = state._replace(watch=state.watch._replace(model=falls, rate=rate))
    state.plays[0] = 60
    for _ in range(200):
        opening.add_ask(state.open, 0, 1)
    fast.value(state._replace(round=1), 0)
    before = math.log(state.means[0] / (1.0 - state.means[0]))
    after = math.log(state.believed[0] / (1.0 - state.believed[0]))
    assert after == pytest.approx(before - 200 * rate, rel=0.15)


def test_an_ask_was_of_a_good_arm_if_it_was_good_when_it_was_made():
    state, one = left_open(begun(), 1)
    assert one.presumed == state.target  # a fresh arm is as good as all at first
    state = state._replace(target=1.0)
    assert settled(state, one, 1.0).experience.kept == 1.0
    bad = begun()._replace(target=1.0)
    bad, other = left_open(bad, 1)
    assert other.presumed < 0.0
    assert settled(bad._replace(target=0.0), other, 1.0).experience.kept == 0.0


def test_arms_are_watched_from_their_first_reward_on():
    state, *asks = left_open(begun(), *range(1, 21))
    assert set(state.watch.slots) == {-1}
    for one in asks:
        state = settled(state, one, 1.0 if one.choice.arm in (2, 5) else 0.0)
    # Both good ones are among the four that are watched, though 14 others came after them.
    watched = {int(state.arms[slot]) for slot in state.watch.slots}
    assert {2, 5} <= watched


@pytest.mark.once
def test_good_news_that_comes_first_is_not_a_change():
    """Ones come after a round and zeros after 300: of each arm first the ones and then the zeros, and yet it is still.

    Without counting open asks, none of 8 runs says so.
    """
    world = ma.World(ma.PowerLaw(1.0, top=0.2), feedback=ma.Conversions(delay=1, timeout=300))
    kinds = [kind for kind, _ in reported_changes(world, 20_000, replications=40, seed=4)]
    assert kinds.count("still") >= 35  # of 120 runs 111 say so: then at least 35 of 40 do with probability 0.92


def test_a_lost_answer_leaves_no_trace_in_beliefs():
    state, _ = left_open(begun(), 1)
    before = state_to_json(begun())
    state = lose(state, ask(begun(), 1), math.nan)
    assert state.open.numbers.sum() == 0
    assert masses_of(state, 0) == masses_of(begun(), 0)
    assert state.experience == fast.NOTHING_LEARNED
    assert state_to_json(state)["grid"]["points"] == before["grid"]["points"]


# ---------------------------------------------------------------- arms that come and go


def test_the_worst_arm_without_open_asks_makes_room():
    state = begun(ma.Forager(keep=3, most=4))
    for slot, mean in enumerate([0.3, 0.1, 0.2]):
        state.arms[slot], state.means[slot] = slot, mean
    state = state._replace(used=3)
    assert fast.free_slot(state) == 1
    state.open.numbers[1] = 1
    assert fast.free_slot(state) == 2
    state.open.numbers[:3] = 1
    assert fast.free_slot(state) == 3  # beyond keep
    state = state._replace(used=4)
    state.open.numbers[3] = 1
    assert fast.free_slot(state) == -1
    assert fast.free_slot(state._replace(used=2)) == 2


def test_an_arm_that_is_never_bad_is_hardly_ever_left():
    # When the average is within 1e-5 of 1, the last points of the grid, nothing promises more: one play elsewhere,
    # and the average is below that again, for ten times as long and more.
    state = begun()
    arms = []
    for t in range(1, 1000):
        choice = ask(state, t)
        arms.append(int(choice.arm))
        state = tell(state, choice, float(choice.arm == 1))  # the first is bad
    assert arms[:50] == [0] + [1] * 49
    assert arms.count(1) >= 995


@pytest.mark.parametrize("keep", [1, 7, 32])
def test_memory_is_what_is_kept(keep):
    spec = ma.Forager(keep=keep, most=2 * keep)
    assert {spec.slots(rounds) for rounds in (1, 1000, 10**9)} == {2 * keep}
    state = begun(spec)
    for t in range(1, 400):
        state = tell(state, ask(state, t), float(t % 9 == 0))
        kept = spec.kept_arms(state).tolist()
        assert kept == sorted(set(kept))
        assert len(kept) == min(state.counts.arms, keep)
    assert state.counts.arms > keep + 10


@pytest.mark.compiled
def test_a_long_run_begins_as_a_short_one():
    for world in (FIGURE, COINS):
        for horizon in (5, 60, 500):
            short, long = (
                ma.simulate({"it": ma.Forager()}, world, rounds, 2, seed=4, checkpoints=[horizon], log=True)
                for rounds in (horizon, 2 * horizon)
            )
            assert short["it"][:, 0].tobytes() == long["it"][:, 0].tobytes()


def test_a_used_state_begins_as_a_new_one():
    spec = ma.Forager(keep=5)
    used, new = begun(spec), begun(spec)
    for t in range(1, 100):
        used = tell(used, ask(used, t), float(t % 3 == 0))
    used = begin(used, 0)
    for t in range(1, 100):
        choice = ask(used, t)
        assert choice == ask(new, t)
        used, new = tell(used, choice, t % 5 / 4), tell(new, choice, t % 5 / 4)
    assert state_to_json(used) == state_to_json(new)
    assert used.experience == new.experience


@pytest.mark.once
def test_a_snapshot_with_open_asks_goes_on_the_same(same_tags):
    dice = random.Random(2)
    bandit = ma.Bandit(ma.Forager(keep=4, most=8), seed=5)
    for _ in range(150):
        bandit.tell(bandit.ask(), float(dice.random() < 0.4))
    waiting = bandit.ask(6)
    copy = ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)))
    for decision in waiting[::2]:
        for one in (bandit, copy):
            one.tell(decision.id, 1.0)
    for t in range(150):
        decisions = bandit.ask(), copy.ask()
        assert decisions[0] == decisions[1]
        for one, decision in zip((bandit, copy), decisions, strict=True):
            one.tell(decision, float((decision.arm + t) % 4 == 0))
    assert bandit.to_json() == copy.to_json()
    assert bandit.explain()["arms_drawn"] > 8


def test_the_trials_of_the_promises_let_arms_go_and_redraw_the_grid():
    # Otherwise those would be tried on runs in which nothing happens.
    runs = [Trial(spec, 600) for spec in examples() if isinstance(spec, ma.Forager)]
    for run in runs:
        run.play()
        assert run.policy.reservoir.judged > 20.0
        assert run.policy.grid.spacing != grids.WIDEST or run.policy.grid.centre != 0.0
        assert run.policy.watch.groups > 100
    assert max(run.counts().arms - run.policy.keep for run in runs) >= 20


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keep": 0}, "Forager: keep must be a whole number of at least 1, not 0"),
        ({"keep": 2.5}, "Forager: keep must be a whole number of at least 1, not 2.5"),
        ({"keep": "all"}, "Forager: keep must be a finite number, not 'all'"),
        ({"most": 0}, "Forager: most must be a whole number of at least 1, not 0"),
        ({"most": True}, "Forager: most must be a finite number, not True"),
        ({"most": 31}, r"Forager: most must be at least keep \(32\), not 31"),
        ({"keep": 257}, r"Forager: most must be at least keep \(257\), not 256"),
    ],
    ids=repr,
)
def test_wrong_settings_are_refused_in_words(wrong, words):
    with pytest.raises(ValueError, match=words):
        ma.Forager(**wrong)


def test_settings_become_plain_numbers():
    spec = ma.Forager(keep=np.int64(5), most=9.0)
    assert spec == ma.Forager(keep=5, most=9)
    assert [type(value) for value in (spec.keep, spec.most)] == [int, int]
    assert ma.Forager(keep=1, most=1).slots(10) == 1


# ---------------------------------------------------------------- what it earns


# With a log, loops are those that play beside the twins, and compiled already: a Forager takes long to compile.


def final_regret(spec, world, horizon, replications, log=False):
    result = ma.simulate({"it": spec}, world, horizon, replications, seed=7, checkpoints=1, log=log)
    return result.final_regret("it")


def rewards(world, horizon, replications, log=False):
    """Of a round, by replication."""
    result = ma.simulate({"it": ma.Forager()}, world, horizon, replications, seed=7, checkpoints=1, log=log)
    return result.curve("it", "reward")[:, -1] / horizon


@pytest.mark.compiled
def test_in_the_world_of_the_figure_its_regret_is_below_that_of_elimination_which_is_told_beta():
    specs = (ma.Forager(), ma.Elimination(beta=1.0))
    ours, theirs = (final_regret(spec, FIGURE, 20_000, 10, log=True) for spec in specs)
    # 40 runs with another seed had 1,651 and 2,505, with deviations of 79 and 114, so 10 have standard errors of 25 and
    # 36: three quarters of theirs are 1,879, six standard errors above ours.
    assert ours.mean() < 0.75 * theirs.mean()


@pytest.mark.compiled
@pytest.mark.parametrize(("beta", "published"), [(0.8, 26_200), (1.2, 46_600)])
def test_in_the_world_of_the_figure_the_regret_is_a_sixth_of_the_published(beta, published):
    regret = final_regret(ma.Forager(), FIGURE.replace(reservoir=ma.PowerLaw(beta=beta)), 100_000, 5, log=True)
    # 20 runs with another seed had 3,636 and 6,361, with deviations of 90 and 199, so 5 have standard errors of 40 and
    # 89: a sixth is 4,367 and 7,767, at least 15 of those above.
    assert regret.mean() < published / 6


@pytest.mark.compiled
@pytest.mark.parametrize(("top", "most"), [(1.0, 1150.0), (0.7, 2950.0)])
def test_where_nothing_changes_it_finds_the_top_without_being_told_of_it(top, most):
    world = COINS.replace(reservoir=ma.PowerLaw(beta=1.0, top=top), top=top)
    regret = final_regret(ma.Forager(), world, 100_000, 60)
    # Any arm costs 35,000 or more. 100 runs with another seed had 845 and 2,623, with deviations of 456 and 319, so 60
    # have standard errors of 59 and 41: the bounds are five and eight of those above. No policy has less than 447 =
    # sqrt(2 T) at a top of 1, in the long run.
    assert 447.0 < regret.mean() < most


@pytest.mark.compiled
def test_worn_click_rates_pay_more_than_random_arms():
    # A fresh arm pays 0.0196. 20 runs with another seed had 1.505 of that, with a deviation of 0.069: a standard error
    # of 0.022 for 10, of which 1.3 is nine below.
    world = WORN.replace(reservoir=ma.BetaDistributed(1.2, 60.0), drift=ma.Rotting("0.3%"))
    assert rewards(world, 100_000, 10).mean() > 1.3 * 1.2 / 61.2


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("reservoir", "horizon", "least"),
    [
        # With another seed, 60 runs had 1.235 and 0.999 of what random arms earn, with deviations of 0.008 and 0.006:
        # 10 have standard errors of 0.003 or less.
        (ma.BetaDistributed(1.0, 1.0), 20_000, 1.2),
        (ma.BetaDistributed(3.0, 1.0), 20_000, 0.97),
        # Rare rewards teach slowly that nothing lasts: 0.82 with a deviation of 0.078 in 20,000 rounds (no better than
        # 0.7 is promised), and 0.988 with one of 0.039 in 100,000; standard errors of 0.025 and 0.012.
        (ma.BetaDistributed(1.2, 60.0), 20_000, 0.7),
        (ma.BetaDistributed(1.2, 60.0), 100_000, 0.93),
    ],
    ids=["uniform", "good", "clicks", "clicks, for longer"],
)
def test_where_every_play_takes_3_percent_it_earns_about_as_much_as_random_arms(reservoir, horizon, least):
    world = WORN.replace(reservoir=reservoir, drift=ma.Rotting("3%"))
    assert rewards(world, horizon, 10).mean() > least * reservoir.a / (reservoir.a + reservoir.b)


@pytest.mark.compiled
def test_batches_cost_little():
    crashes = BATCHES.replace(drift=ma.Crash(probability=5e-4, to=0.0))
    earned = {size: rewards(crashes.replace(feedback=ma.Batches(size)), 20_000, 20, log=True) for size in (1, 10, 100)}
    # 100 runs with another seed: 0.9956 and 0.957 of at once, with deviations of 0.0055 and 0.0176, so 20 have standard
    # errors of 0.0012 and 0.004: the bounds are 20 and 14 of those below.
    assert (earned[10] / earned[1]).mean() > 0.97
    assert (earned[100] / earned[1]).mean() > 0.9
