"""Significant shifts: the fast code is its slow twin, and says what is known to be true."""

import dataclasses
import functools
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.compiled import IS_COMPILING
from manyarms.measures import (
    FiniteShiftRule,
    ShiftRule,
    ShiftStream,
    finite_significant_shifts,
    first_unsafe_round,
    safety,
    significant_shifts,
    windows,
)
from manyarms.policies.elimination import Elimination
from manyarms.states import empty
from tests.reference import shifts as reference

# ---------------------------------------------------------------- random runs

KINDS = ("rotting", "rising", "mixed", "jumps", "still", "ties", "restless")


@dataclasses.dataclass
class Run:
    arms: list
    means: list
    next_means: list
    blocks: list

    @property
    def log(self):
        return self.arms, self.means, self.next_means


def random_run(source, kind, longest=90):
    """A policy that stays with an arm, goes back to a recent one or takes a new one, in a world of that kind."""
    run, present, block = Run([], [], [], []), [], 1
    new, size, taste = (
        source.choice([0.02, 0.1, 0.4, 0.9]),
        source.choice([0.01, 0.05, 0.3]),
        source.choice([0.3, 1, 2]),
    )
    for _ in range(source.randint(1, longest)):
        if not present or source.random() < new:
            present.append(source.randint(0, 8) / 8 if kind == "ties" else source.random() ** taste)
            arm = len(present) - 1
        elif source.random() < 0.5:
            arm = run.arms[-1]
        else:
            arm = source.randrange(max(0, len(present) - 6), len(present))
        mean = source.random() if kind == "restless" and source.random() < 0.3 else present[arm]
        change = {
            "rotting": -size * source.random(),
            "rising": size * source.random(),
            "mixed": size * (2 * source.random() - 1),
            "jumps": source.random() - mean if source.random() < 0.1 else 0.0,
            "still": 0.0,
            "ties": source.randint(-1, 1) / 8,
            "restless": size * (2 * source.random() - 1) * source.randint(0, 1),
        }[kind]
        present[arm] = min(1.0, max(0.0, mean + change))
        block += source.random() < 0.1
        run.arms.append(arm)
        run.means.append(mean)
        run.next_means.append(present[arm])
        run.blocks.append(block)
    return run


def random_options(source):
    return {
        "beta": source.choice([0.3, 0.5, 1.0, 1.7, 2.0, 3.0, source.uniform(0.3, 3.0)]),
        "kappa": source.choice([1.0, 0.8, 0.5, 0.3]),
        "threshold_scale": source.choice([1.0, 1.0, 1.0, 2.5, 0.7]),
        "budget_scale": source.choice([1.0, 1.0, 2.5, 0.3]),
        "order": source.choice(["window", "window", "run", "new", "block"]),
        "rounding": source.choice(["down", "down", "up"]),
        "past": source.choice(["first", "first", "zero"]),
        "top": source.choice([1.0, 1.0, 0.9]),
    }


@functools.cache
def budget(length, beta, scale, rounding):
    return reference.budget(length, beta, scale, rounding)


def twin(run, options, exceeds=None, top=None):
    constant = options["threshold_scale"] / options["kappa"]
    return reference.significant_shifts(
        *run.log,
        exceeds or reference.in_floats(options["beta"], constant),
        lambda length: budget(length, options["beta"], options["budget_scale"], options["rounding"]),
        options["order"],
        options["past"],
        options["top"] if top is None else top,
        run.blocks,
    )


def fast(run, options):
    return significant_shifts(*run.log, **options, blocks=run.blocks if options["order"] == "block" else None)


def told(run, rule):
    """What a stream says after each round."""
    stream = ShiftStream(rule)
    blocks = [{"block": block} if rule.order == "block" else {} for block in run.blocks]
    return [stream.tell(*play, **block) for *play, block in zip(*run.log, blocks, strict=True)]


def plain(shifts):
    """What the twin tells too: of each witness, the round at which it became unsafe."""
    return [(shift.round, shift.opened, [(arm, end) for arm, _, end in shift.witnesses]) for shift in shifts]


def check_intervals(run, options, shifts):
    """Every interval lies in its window and sums up to more than is allowed."""
    paths = reference.gap_paths(*run.log, options["past"], options["top"])
    exceeds = reference.in_floats(options["beta"], options["threshold_scale"] / options["kappa"])
    for shift in shifts:
        for arm, start, end in shift.witnesses:
            assert shift.opened <= start <= end <= shift.round
            assert exceeds(math.fsum(paths[arm][start : end + 1]), end - start + 1)


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_every_shift_of_random_runs_is_that_of_the_twin(kind):
    source = random.Random(f"twin {kind}")
    found = 0
    for _ in range(300 if IS_COMPILING else 150):
        run, options = random_run(source, kind), random_options(source)
        shifts = fast(run, options)
        assert plain(shifts) == twin(run, options), (run, options)
        check_intervals(run, options, shifts)
        found += len(shifts)
    assert found > 300


@pytest.mark.compiled
@pytest.mark.parametrize("order", ["window", "run", "new", "block"])
def test_a_stream_tells_of_the_same_shifts_in_their_rounds(order):
    source = random.Random(f"stream {order}")
    for number in range(140):
        run, options = random_run(source, KINDS[number % len(KINDS)], longest=120), random_options(source)
        options["order"] = order
        shifts = fast(run, options)
        # Without a horizon it reckons with rounds that never come.
        for rule in (shifts.rule, ShiftRule(**options)):
            said = told(run, rule)
            assert [shift for shift in said if shift] == list(shifts), (run, options)
            assert [t for t, shift in enumerate(said, start=1) if shift] == shifts.rounds.tolist()


@pytest.mark.compiled
@pytest.mark.parametrize(
    "drift", [ma.Rotting(rate="30/t"), ma.Crash(probability=0.02, to=0.0), ma.RandomWalk(size=0.05)]
)
@pytest.mark.parametrize("preset", ["literal", "log"])
def test_shifts_of_simulated_runs_are_those_of_the_twin(drift, preset):
    log = ma.simulate(Elimination(beta=1.0), ma.World(ma.PowerLaw(beta=1.0), drift), 250, seed=4, log=True)
    log = log.log("Elimination")
    scale = math.log(250) if preset == "log" else 1.0
    options = {"beta": 1.0, "kappa": 1.0, "threshold_scale": scale, "budget_scale": scale, "order": "window"}
    options |= {"rounding": "down", "past": "first", "top": 1.0}
    run = Run(log.arm.tolist(), log.mean.tolist(), log.next_mean.tolist(), log.block.tolist())
    shifts = significant_shifts(*run.log, beta=1.0, preset=preset)
    assert plain(shifts) == twin(run, options)
    assert (len(shifts) > 3) == (preset == "literal")


@pytest.mark.compiled
def test_a_long_stream_is_the_batch():
    world = ma.World(ma.PowerLaw(beta=0.7), ma.Rotting(rate="1/t"))
    log = ma.simulate(Elimination(beta=0.7), world, 20_000, seed=3, log=True).log("Elimination")
    shifts = significant_shifts(log.arm, log.mean, log.next_mean, beta=0.7)
    run = Run(log.arm.tolist(), log.mean.tolist(), log.next_mean.tolist(), log.block.tolist())
    assert [shift for shift in told(run, ShiftRule(beta=0.7)) if shift] == list(shifts)
    assert len(shifts) > 20
    assert max(np.diff(shifts.rounds)) > 1000


def uncompiled(run, options):
    """Rounds and evidence of the same loop as plain Python."""
    rule = ShiftRule(**options, horizon=len(run.arms))
    allowance = rule.allowance(np.zeros(len(run.arms) + 1), len(run.arms))
    safety.fill_table(allowance.table, allowance.scale, allowance.rate, 0)
    room = windows.new_room(len(run.arms), len(run.arms), 4 * len(run.arms) + 5000)
    number = {arm: slot for slot, arm in enumerate(dict.fromkeys(run.arms))}
    slots = np.array([number[arm] for arm in run.arms])
    log = windows.Log(slots, np.array(run.means), np.array(run.next_means))
    loop = windows.log_loop.function
    place, window = loop(rule.terms(allowance), room, windows.Window(), rule.top, log, np.array(run.blocks), 0)
    assert place == len(run.arms)
    rows = int(room.evidence.last_row[window.shifts - 1]) if window.shifts else 0
    return room.evidence.shift[: window.shifts], room.evidence.start[:rows], room.evidence.end[:rows]


@pytest.mark.compiled
def test_compiled_is_uncompiled():
    # So what is compared with the twin, compiled, need not be compared again uncompiled: those tests are run once.
    source = random.Random("compiled")
    for number in range(200):
        run, options = random_run(source, KINDS[number % len(KINDS)], longest=200), random_options(source)
        shifts = fast(run, options)
        rounds, starts, ends = uncompiled(run, options)
        assert shifts.rounds.tolist() == rounds.tolist()
        found = [witness for shift in shifts for witness in shift.witnesses]
        assert [witness.start for witness in found] == starts.tolist()
        assert [witness.end for witness in found] == ends.tolist()


def accelerating_run(rounds):
    means = (1.0 - np.linspace(0.0, 1.0, rounds + 1) ** 2 / math.sqrt(rounds)).tolist()
    return Run([0] * rounds, means[:-1], means[1:], [1] * rounds)


def dead_run(rounds):
    return Run([0] * rounds, [0.0] * rounds, [0.0] * rounds, [1] * rounds)


def crowded_run(rounds):
    """Many arms in turn, all wearing out: every window loses many candidates."""
    source = random.Random("crowded")
    present = [1.0 - 0.1 * source.random() for _ in range(math.isqrt(rounds))]
    run = Run([], [], [], [1] * rounds)
    for _ in range(rounds):
        arm = source.randrange(len(present))
        after = max(0.0, present[arm] - 0.01 * source.random())
        for column, value in zip(run.log, (arm, present[arm], after), strict=True):
            column.append(value)
        present[arm] = after
    return run


@pytest.mark.parametrize("make", [accelerating_run, dead_run, crowded_run])
def test_the_work_grows_little_faster_than_the_rounds(make, monkeypatch):
    # Every look at an interval asks for its allowance. Four times the rounds are 16 times the intervals.
    looks = []
    plain_allowed = safety.allowed
    monkeypatch.setattr(safety, "allowed", lambda *arguments: (looks.append(1), plain_allowed(*arguments))[1])
    work = []
    for rounds in (1000, 4000):
        looks.clear()
        uncompiled(make(rounds), {"beta": 1.0})
        work.append(len(looks))
    assert work[1] < 6 * work[0]
    assert work[1] < 4 * 4000 * math.log2(4000)


def test_a_stream_keeps_no_more_than_the_open_window():
    stream = ShiftStream(ShiftRule(beta=1.0))
    for _ in range(1000):
        stream.tell(0, 0.0, 0.0)
    kept = [array.size for part in stream._room for array in part]
    assert max(kept) < 100


def test_room_for_evidence_grows():
    # One window after another shows all arms to be unsafe: more rows than the first room has.
    arms = [*range(40)] * 10
    zeros = [0.0] * len(arms)
    shifts = significant_shifts(arms, zeros, zeros, beta=1.0, order="run", budget_scale=40.0)
    assert shifts.rounds.tolist() == list(range(2, 401))
    assert sum(len(shift.witnesses) for shift in shifts) > 2 * (2 * 400 + 2 * 40)
    assert [shift for shift in told(Run(arms, zeros, zeros, zeros), shifts.rule) if shift] == list(shifts)


# ---------------------------------------------------------------- one arm

PATHS = ("rotting", "rising", "walk", "jumps", "accelerating", "waves")


def random_path(source, kind, rounds):
    """The means of an arm that is played in every round, one more than there are rounds."""
    t = np.arange(rounds + 1) / rounds
    random_steps = np.random.default_rng(source.getrandbits(32)).random(rounds + 1)
    size = source.choice([0.1, 0.3, 1.0])
    last_jump = np.maximum.accumulate(np.where(random_steps < 0.05, np.arange(rounds + 1), 0))
    gaps = {
        "rotting": lambda: size * np.cumsum(random_steps) / rounds,
        "rising": lambda: size * (1 - np.cumsum(random_steps) / rounds),
        "walk": lambda: size * 0.5 + size * np.cumsum(random_steps - 0.5) / math.sqrt(rounds),
        "jumps": lambda: size * random_steps[last_jump],
        "accelerating": lambda: size * t ** source.choice([2, 4, 12]),
        "waves": lambda: size * (0.5 - 0.5 * np.cos(source.uniform(4, 80) * t)) * t,
    }[kind]()
    return np.clip(1.0 - gaps, 0.0, 1.0)


@pytest.mark.parametrize("kind", PATHS)
def test_an_arm_that_changes_in_every_round_stops_being_safe_when_its_twin_does(kind):
    source = random.Random(f"path {kind}")
    unsafe = 0
    for _ in range(60 if IS_COMPILING else 30):
        rounds = source.randint(2, 600)
        means = random_path(source, kind, rounds)
        start = source.randint(1, max(1, rounds // 3))
        beta = source.choice([0.3, 0.5, 1.0, 1.7, 3.0])
        # A constant so close to where the arm stays safe that the end of the path decides as often as not.
        scale = source.uniform(0.5, 1.5) * worst_ratio(1.0 - means[start - 1 : -1], beta)
        expected = reference.first_unsafe_round_of_floats(
            np.concatenate([[0.0], 1.0 - means[:-1]]), start, beta / (beta + 1), scale
        )
        arms = [5] * rounds
        found = first_unsafe_round(arms, means[:-1], means[1:], 5, start, beta, threshold_scale=scale)
        assert found == expected, (kind, rounds, start, beta, scale)
        unsafe += found is not None
    assert 10 <= unsafe <= 50 if IS_COMPILING else 5 <= unsafe <= 25


def worst_ratio(gaps, beta):
    """The largest sum of an interval over its length^(beta / (beta + 1))."""
    sums = np.concatenate([[0.0], np.cumsum(gaps)])
    lengths = np.arange(len(sums), dtype=float)
    worst = 1e-6
    for end in range(1, len(sums)):
        worst = max(worst, ((sums[end] - sums[:end]) / lengths[end:0:-1] ** (beta / (beta + 1))).max())
    return worst


def critical_question(source):
    """An arm that is played now and then, and a constant such that its worst interval decides, by a hair or a tie."""
    rounds, beta = source.randint(2, 60), source.choice([0.3, 0.5, 1.0, 1.7, 3.0])
    share, shape = source.choice([0.1, 0.5, 1.0]), source.choice(["rotting", "mixed", "bursts"])
    run, gap = Run([], [], [], []), 0.02 * source.random()
    for t in range(rounds):
        arm, mean, next_mean = 0, 1.0, 1.0
        if t == 0 or source.random() < share:
            step = source.random() ** 4 / 4 if shape == "bursts" else 0.05 * source.random()
            next_gap = gap + (step if shape == "rotting" or source.random() < 0.6 else -step)
            next_gap = min(1.0, max(0.0, next_gap))
            arm, mean, next_mean, gap = 5, 1.0 - gap, 1.0 - next_gap, next_gap
        for column, value in zip(run.log, (arm, mean, next_mean), strict=True):
            column.append(value)
    path = np.array(reference.gap_paths(*run.log, "first", 1.0)[5])
    scale = (1.0 + source.choice([-1e-7, -1e-7, 0.0, 1e-7])) * worst_ratio(path[1:], beta)
    return run, beta, scale, reference.first_unsafe_round_of_floats(path, 1, beta / (beta + 1), scale)


def test_the_worst_interval_alone_decides():
    source = random.Random("critical")
    answers = []
    for _ in range(1500 if IS_COMPILING else 500):
        run, beta, scale, expected = critical_question(source)
        found = first_unsafe_round(*run.log, 5, 1, beta, threshold_scale=scale)
        assert found == expected, (run, beta, scale)
        answers.append(found)
    assert len(answers) / 4 < answers.count(None) < 3 * len(answers) / 4


def depths(gaps, beta, scale):
    """How deep the stack of starts is after each round of a path that never becomes unsafe."""
    rounds = len(gaps)
    allowance = ShiftRule(beta=beta, threshold_scale=scale).allowance(np.zeros(rounds + 2), rounds)
    safety.fill_table(allowance.table, allowance.scale, allowance.rate, 0)
    starts = empty(safety.Starts, rounds + 1)
    path, result = safety.opened_path(starts, 1, gaps[0]), []
    for last in range(1, rounds):
        path, is_lost = safety.checked(starts, allowance, path, last)
        assert not is_lost
        path = safety.changed(starts, allowance, path, last, gaps[last])
        overtaken = starts.overtaken[1 : path.depth].tolist()
        assert overtaken == sorted(overtaken, reverse=True)
        assert len(set(overtaken) - {safety.NEVER}) == sum(1 for o in overtaken if o != safety.NEVER)
        result.append(path.depth)
    return result


def test_the_stack_of_starts_gets_deep_and_its_overtaking_rounds_decrease_towards_the_top():
    rounds = 1500
    gaps = (np.arange(rounds) / rounds) ** 2
    assert max(depths(gaps.tolist(), 1.0, 1.01 * worst_ratio(gaps, 1.0))) > 20
    wave = 0.5 - 0.5 * np.cos(np.arange(rounds) / 40)
    found = depths(wave.tolist(), 1.0, 1.01 * worst_ratio(wave, 1.0))
    assert any(later < earlier for earlier, later in itertools.pairwise(found))  # starts are dropped, too


@settings(deadline=None, derandomize=True, max_examples=300 if IS_COMPILING else 150)
@given(
    st.integers(1, 64).map(lambda k: k / 64),
    st.sampled_from([0.3, 0.5, 1.0, 1.7, 2.0, 3.0]),
    st.sampled_from([1.0, 1.3, 2.0, 4.0]),
    st.integers(1, 30),
)
def test_a_constant_gap_has_a_closed_form(gap, beta, scale, start):
    # U = tau + floor((c / d)^(beta + 1)), by the definition: n d > c n^(beta / (beta + 1)) iff n > (c / d)^(beta + 1).
    rounds = 400
    length = (scale / gap) ** (beta + 1)
    expected = start + math.floor(length * (1 + 1e-12))
    means = [1.0 - gap] * rounds
    found = first_unsafe_round([0] * rounds, means, means, 0, start, beta, threshold_scale=scale)
    assert found == (expected if expected <= rounds else None)


@settings(deadline=None, derandomize=True, max_examples=150 if IS_COMPILING else 80)
@given(st.integers(0, 10**9))
def test_an_arm_stays_safe_longer_from_a_later_start_and_with_a_larger_constant(seed):
    source = random.Random(seed)
    run = random_run(source, source.choice(KINDS))
    arm, beta = source.choice(run.arms), source.choice([0.3, 1.0, 3.0])
    never = len(run.arms) + 1
    by_start = [first_unsafe_round(*run.log, arm, start, beta) or never for start in range(1, never)]
    assert by_start == sorted(by_start)
    by_scale = [
        first_unsafe_round(*run.log, arm, 1, beta, threshold_scale=scale) or never
        for scale in (0.5, 1.0, 1.3, 2.0, 5.0)
    ]
    assert by_scale == sorted(by_scale)


def test_questions_about_an_arm_agree_with_the_twin_in_runs_of_many():
    source = random.Random("questions")
    for number in range(200 if IS_COMPILING else 80):
        run, options = random_run(source, KINDS[number % len(KINDS)]), random_options(source)
        arm, start = source.choice(run.arms), source.randint(1, len(run.arms))
        path = reference.gap_paths(*run.log, options["past"], options["top"])[arm]
        exceeds = reference.in_floats(options["beta"], options["threshold_scale"] / options["kappa"])
        expected = reference.first_unsafe_rounds(path, exceeds)[start]
        for key in ("budget_scale", "order", "rounding"):
            options.pop(key)
        found = first_unsafe_round(*run.log, arm, start, **options)
        assert found == (expected if expected <= len(run.arms) else None)


@pytest.mark.once
def test_sums_of_many_levels_lose_nothing_to_rounding():
    rounds = 20_000
    levels = [0.1, 0.3] * (rounds // 2)  # always rounded the same way
    allowance = ShiftRule(beta=1.0, threshold_scale=1e6).allowance(np.zeros(0), rounds)
    starts = empty(safety.Starts, rounds + 1)
    path = safety.opened_path(starts, 1, levels[0])
    for last in range(1, rounds):
        path = safety.changed(starts, allowance, path, last, levels[last])
    exact = math.fsum(levels[:-1])
    assert abs(path.total + path.carry - exact) <= math.ulp(exact)
    assert abs(path.total - exact) > 100 * math.ulp(exact)  # without the carry


# ---------------------------------------------------------------- ties, exactly


@pytest.mark.compiled
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)])
def test_ties_are_decided_as_in_fractions(beta):
    # Gaps in eighths: sums are exact, and an interval of n rounds often sums up to exactly what is allowed.
    source = random.Random(f"ties {beta}")
    ties = 0
    for number in range(40 if IS_COMPILING else 20):
        run = random_run(source, "ties", longest=32)
        if number % 2:  # gaps of 1/8 and less, so that windows are long
            run.means = [1.0 - (1.0 - mean) / 4 for mean in run.means]
            run.next_means = [1.0 - (1.0 - mean) / 4 for mean in run.next_means]
        options = random_options(source) | {"beta": float(beta), "kappa": 0.5, "top": 1.0}
        options["threshold_scale"] = source.choice([0.25, 0.5, 1.0])
        constant = Fraction(options["threshold_scale"]) / Fraction(1, 2)
        exceeds = reference.in_fractions(beta, constant)
        exact_run = Run(run.arms, list(map(Fraction, run.means)), list(map(Fraction, run.next_means)), run.blocks)
        assert plain(fast(run, options)) == twin(exact_run, options, exceeds, top=Fraction(1))
        for path in reference.gap_paths(*exact_run.log, "first", Fraction(1)).values():
            ties += number_of_ties(path, beta, constant)
    assert ties > 100


def number_of_ties(path, beta, constant):
    at_least, above = (reference.in_fractions(beta, constant, ties=ties) for ties in (True, False))
    sums = [sum(path[1 : t + 1], Fraction(0)) for t in range(len(path))]
    pairs = [(sums[t] - sums[s], t - s) for t in range(len(path)) for s in range(t)]
    return sum(at_least(*pair) and not above(*pair) for pair in pairs)


def test_a_sum_that_is_just_allowed_is_safe_and_among_finitely_many_arms_unsafe():
    # One quarter for 16 rounds is 4, the square root of 16; two arms, 1/2 for 8 rounds: 4, the root of 2 · 8.
    assert first_unsafe_round([0] * 16, [0.75] * 16, [0.75] * 16, 0, 1, beta=1.0) is None
    assert first_unsafe_round([0] * 17, [0.75] * 17, [0.75] * 17, 0, 1, beta=1.0) == 17
    halves = np.array([[1.0, 0.5]] * 8 + [[0.5, 1.0]] * 8)
    (shift,) = finite_significant_shifts(halves)
    assert shift == (16, 1, ((0, 9, 16), (1, 1, 8)))
    assert len(finite_significant_shifts(halves[:15])) == 0


@pytest.mark.parametrize("beta", [0.3, 0.5, 0.8, 1.0, 1.7, 2.0, 3.0])
@pytest.mark.parametrize("rounding", ["down", "up"])
def test_the_number_of_candidates_is_that_of_exact_arithmetic(beta, rounding):
    for scale in (1.0, 0.3, 2.5, math.log(1000)):
        rule = ShiftRule(beta=beta, budget_scale=scale, rounding=rounding)
        terms = rule.terms(rule.allowance(np.zeros(0), 0))
        for length in [*range(1, 130), 1000, 1024, 4096, 10_000, 59_049, 2**20, 10**6]:
            assert windows.budget(terms, length) == reference.budget(length, beta, scale, rounding), (scale, length)


# ---------------------------------------------------------------- facts about whole runs

literal_runs = st.builds(
    lambda seed, kind: random_run(random.Random(seed), kind), st.integers(0, 10**9), st.sampled_from(KINDS)
)
betas = st.sampled_from([0.3, 0.5, 1.0, 1.7, 3.0])
kappas = st.sampled_from([1.0, 0.8, 0.5])
brief = settings(deadline=None, derandomize=True, max_examples=200 if IS_COMPILING else 100)


@brief
@given(literal_runs, betas, kappas)
def test_the_first_shift_does_not_come_earlier_with_a_larger_constant(run, beta, kappa):
    firsts = []
    for scale in (1.0, 1.3, 1.8, 2.5):
        shifts = significant_shifts(*run.log, beta, kappa, scale)
        firsts.append(shifts.rounds[0] if len(shifts) else math.inf)
    assert firsts == sorted(firsts)


@brief
@given(literal_runs, betas, kappas)
def test_shifts_keep_their_distance(run, beta, kappa):
    # A gap is at most 1, so an interval needs more than c^(beta + 1) rounds to be unsafe.
    shifts = significant_shifts(*run.log, beta, kappa)
    distance = math.floor((1 / kappa) ** (beta + 1) * (1 + 1e-12))
    assert (np.diff([1, *shifts.rounds]) >= distance).all()
    assert len(shifts) <= (len(run.arms) - 1) / distance


@brief
@given(literal_runs, betas, st.integers(1, 90), st.sampled_from(["window", "run", "new"]))
def test_later_rounds_change_no_earlier_shift(run, beta, cut, order):
    whole = significant_shifts(*run.log, beta, order=order)
    part = significant_shifts(*(column[:cut] for column in run.log), beta, order=order)
    assert list(part) == [shift for shift in whole if shift.round <= cut]


@brief
@given(literal_runs, betas, st.integers(0, 10**9))
def test_the_names_of_arms_do_not_matter(run, beta, seed):
    # Small numbers and numbers beyond all tables take different ways.
    names = dict(
        zip(set(run.arms), random.Random(seed).sample(range(-(2**61), 2**61), len(set(run.arms))), strict=True)
    )
    renamed = significant_shifts([names[arm] for arm in run.arms], run.means, run.next_means, beta)
    expected = significant_shifts(*run.log, beta)
    assert plain(renamed) == [
        (round, opened, [(names[arm], end) for arm, end in witnesses]) for round, opened, witnesses in plain(expected)
    ]


@brief
@given(literal_runs, betas)
def test_a_rising_path_is_judged_by_intervals_from_the_opening(run, beta):
    rising = Run([], [], [], [])
    best = {}
    for arm, mean, next_mean in zip(*run.log, strict=True):
        mean = max(best.get(arm, mean), mean)
        best[arm] = max(mean, next_mean)
        for column, value in zip(rising.log, (arm, mean, best[arm]), strict=True):
            column.append(value)
    paths = reference.gap_paths(*rising.log, "first", 1.0)
    rate = beta / (beta + 1)
    never = len(run.arms) + 1
    for arm in set(run.arms):
        sums = np.cumsum(paths[arm][1:])
        unsafe = [t for t, total in enumerate(sums, start=1) if total > t**rate + 1e-9]
        assert (first_unsafe_round(*rising.log, arm, 1, beta) or never) == min(unsafe, default=never)


@brief
@given(literal_runs, betas, st.floats(0.0, 1.0))
def test_a_first_arm_that_is_good_enough_prevents_all_shifts(run, beta, share):
    gap = share * len(run.arms) ** (-1 / (beta + 1))
    first = run.arms[0]
    means = [1.0 - gap if arm == first else mean for arm, mean in zip(run.arms, run.means, strict=True)]
    next_means = [1.0 - gap if arm == first else mean for arm, mean in zip(run.arms, run.next_means, strict=True)]
    assert len(significant_shifts(run.arms, means, next_means, beta)) == 0


def test_the_number_of_shifts_may_grow_with_the_constant():
    # The budget starts anew with each window: a larger constant moves the first shift and all that follows.
    source = random.Random("not monotone")
    for _ in range(500):
        run = random_run(source, "rotting")
        counts = [len(significant_shifts(*run.log, 1.0, threshold_scale=scale)) for scale in (1.0, 1.3, 1.8)]
        if counts != sorted(counts, reverse=True):
            break
    else:
        pytest.fail("no run has more shifts with a larger constant; the docs say there are some")


# ---------------------------------------------------------------- worlds with known answers


@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
def test_a_dead_arm_is_a_shift_in_every_round_but_the_first(beta):
    zeros = np.zeros(50)
    assert significant_shifts(np.zeros(50, int), zeros, zeros, beta).rounds.tolist() == list(range(2, 51))


def test_perfect_arms_never_shift():
    ones = np.ones(1000)
    assert len(significant_shifts(np.arange(1000) % 7, ones, ones, 1.0)) == 0


@pytest.mark.parametrize("crash", [1, 2, 40, 399])
def test_one_crash_is_found_as_soon_as_it_can_be(crash):
    # A perfect arm falls to mean 1/2 after the round of the crash: 5 rounds of 1/2 exceed sqrt(5), 4 do not.
    rounds = 500
    means = np.where(np.arange(1, rounds + 2) <= crash, 1.0, 0.5)
    # The policy takes a perfect arm once the shift has been found, and stays with it.
    found = crash + 5
    arms = np.where(np.arange(1, rounds + 1) <= found, 0, 1)
    log = (arms, np.where(arms == 0, means[:-1], 1.0), np.where(arms == 0, means[1:], 1.0))
    (shift,) = significant_shifts(*log, beta=1.0)
    assert shift == (found, 1, ((0, crash + 1, found),))


@pytest.mark.parametrize(("bad", "rounds"), [(4, []), (5, [5]), (8, [5]), (9, [5, 9]), (13, [5, 9, 13])])
def test_an_arm_that_rises_shifts_while_it_is_bad_and_never_again(bad, rounds):
    # Mean 1/2 for some rounds, then 1: four rounds of 1/2 are allowed, five are not, and each shift starts a new count.
    means = np.where(np.arange(1, 202) <= bad, 0.5, 1.0)
    assert significant_shifts(np.zeros(200, int), means[:-1], means[1:], beta=1.0).rounds.tolist() == rounds


def stationary_run(source, rounds):
    """The best that a policy can do for its candidates: a fresh arm whenever the budget allows one more."""
    arms, best = [], 0
    fresh = [1.0 - source.random()]
    for t in range(1, rounds + 1):
        while len(fresh) < math.isqrt(t):
            fresh.append(1.0 - source.random())
            arms.append(len(fresh) - 1)
        if len(arms) < t:
            best = max(range(len(fresh)), key=fresh.__getitem__)
            arms.append(best)
    means = [fresh[arm] for arm in arms]
    return arms, means, means


@pytest.mark.compiled
def test_literal_constants_report_shifts_in_a_still_world_and_log_ones_do_not():
    # With kappa = 1 and beta = 1, none of sqrt(n) uniform gaps is below the needed n^(-1/2) with probability near
    # exp(-1), at every scale of n: the definition leaves out the logarithm that makes this rare.
    source = random.Random("still")
    runs = [stationary_run(source, 3000) for _ in range(20)]
    literal = [significant_shifts(*run, beta=1.0) for run in runs]
    assert sum(len(shifts) > 0 for shifts in literal) >= 10
    for run, shifts in zip(runs, literal, strict=True):
        for shift in shifts:  # each is real: none of its candidates had a small enough gap for the window
            length = shift.round - shift.opened + 1
            gaps = [1.0 - run[1][run[0].index(arm)] for arm, _, _ in shift.witnesses]
            assert min(gaps) > 1.0 / math.sqrt(length) - 1e-12
    assert sum(len(significant_shifts(*run, beta=1.0, preset="log")) for run in runs) == 0


# ---------------------------------------------------------------- finitely many arms


@pytest.mark.parametrize("scale", [1.0, 0.6, 0.2])
def test_shifts_among_finitely_many_arms_are_those_of_the_twin(scale):
    source = random.Random(f"finite {scale}")
    found = 0
    for number in range(120 if IS_COMPILING else 50):
        arms, rounds = source.randint(1, 5), source.randint(1, 80) if number % 3 else 150
        step = source.choice([0.02, 0.2])
        rows = [[source.random() for _ in range(arms)]]
        while len(rows) < rounds:
            if number % 3 == 0:  # piecewise constant
                rows.append([source.random() for _ in range(arms)] if source.random() < 0.1 else rows[-1])
            elif number % 3 == 1:  # random walks
                rows.append([min(1.0, max(0.0, mean + step * (2 * source.random() - 1))) for mean in rows[-1]])
            else:  # eighths
                rows.append([source.randint(0, 8) / 8 for _ in range(arms)])
        shifts = finite_significant_shifts(rows, threshold_scale=scale)
        assert plain(shifts) == reference.finite_shifts(rows, reference.in_floats(1.0, scale * math.sqrt(arms), True))
        found += len(shifts)
        gaps = np.max(rows, axis=1, keepdims=True) - rows
        for shift in shifts:
            for arm, start, end in shift.witnesses:
                assert shift.opened <= start <= end <= shift.round
                assert gaps[start - 1 : end, arm].sum() >= scale * math.sqrt(arms * (end - start + 1)) - 1e-9
    assert found > (20 if IS_COMPILING else 10)


def test_ties_among_finitely_many_arms_are_decided_as_in_integers():
    # Four arms: a gap of k / 4 summed to S / 4 over n rounds is unsafe if S^2 >= 4 · 16 n.
    source = random.Random("finite ties")
    for _ in range(60 if IS_COMPILING else 25):
        rows = [[source.choice([0, 0, 1, 2, 4]) for _ in range(4)]]
        while len(rows) < 60:
            rows.append(rows[-1] if source.random() < 0.9 else [source.randint(0, 4) for _ in range(4)])
        exceeds = lambda total, length: total * total >= 64 * length  # noqa: E731
        found = finite_significant_shifts(np.array(rows) / 4)
        assert plain(found) == reference.finite_shifts(rows, exceeds)


def test_one_arm_alone_never_shifts():
    assert len(finite_significant_shifts(np.random.default_rng(1).random((500, 1)))) == 0


def test_room_for_the_evidence_of_finitely_many_arms_grows():
    shifts = finite_significant_shifts([[1.0, 0.0], [0.0, 1.0]] * 150, threshold_scale=0.01)
    assert shifts.rounds.tolist() == list(range(2, 301))
    assert {len(shift.witnesses) for shift in shifts} == {2}


# ---------------------------------------------------------------- results and errors


def test_a_result_is_a_sequence_that_says_which_rule_was_used():
    zeros = [0.0] * 5
    shifts = significant_shifts([3] * 5, zeros, zeros, beta=0.5, kappa=0.9, preset="log")
    assert shifts.rule == ShiftRule(beta=0.5, kappa=0.9, preset="log", horizon=5)
    assert shifts.rule.threshold_scale == shifts.rule.budget_scale == math.log(5)
    assert str(shifts.rule) in repr(shifts)
    assert "log scales (threshold 1.609, budget 1.609)" in repr(shifts)
    assert len(shifts) == len(list(shifts)) == shifts.rounds.size
    literal = significant_shifts([3] * 5, zeros, zeros, beta=0.5)
    assert literal[-1] == literal[3]
    assert [shift.round for shift in literal] == literal.rounds.tolist() == [2, 3, 4, 5]
    assert repr(literal).startswith("<4 significant shifts in 5 rounds: 2, 3, 4, 5 (beta 0.5")
    with pytest.raises(IndexError, match="no shift at place 4; there are 4"):
        literal[4]


def test_single_scales_override_the_preset():
    rule = ShiftRule(beta=1.0, preset="log", budget_scale=1.0, horizon=100)
    assert (rule.threshold_scale, rule.budget_scale) == (math.log(100), 1.0)
    assert ShiftRule(beta=1.0, preset="log", horizon=1).threshold_scale == math.log(2)


def test_empty_and_shortest_runs_have_no_shifts():
    for rounds in (0, 1):
        zeros = np.zeros(rounds)
        shifts = significant_shifts(zeros.astype(int), zeros, zeros, beta=1.0)
        assert len(shifts) == 0
        assert shifts.horizon == rounds
    assert repr(shifts).startswith("<0 significant shifts in 1 rounds (beta 1")
    assert len(finite_significant_shifts(np.zeros((0, 3)))) == 0


GOOD = {"arms": [0, 1, 0], "means": [0.5] * 3, "next_means": [0.5] * 3, "beta": 1.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": [0.0, 1.0, 0.0]}, "arms must hold whole numbers, not float64; number the arms"),
        ({"arms": [[0, 1, 0]]}, r"arms must be a list with one entry for each round, not of shape \(1, 3\)"),
        ({"arms": [0, 1]}, "arms has 2 rounds but means has 3; give one entry for each round"),
        ({"arms": np.array([2**63], dtype=np.uint64)}, "between -2\\^62 and 2\\^62, not 9223372036854775808"),
        (
            {"arms": np.array([2**63 - 1] * 3)},
            "arms must lie between -2\\^62 and 2\\^62, not 9223372036854775807; number",
        ),
        ({"arms": [-(2**63), 1, 0]}, "arms must lie between -2\\^62 and 2\\^62, not -9223372036854775808"),
        ({"arms": [[0], 1, 0]}, r"arms must hold whole numbers, not \[\[0\], 1, 0\]; number the arms"),
        ({"means": [0.5, 1.5, 0.5]}, r"means must lie in \[0, 1\], not 1.5 in round 2; scale rewards"),
        ({"means": [0.5, math.nan, 0.5]}, r"means must lie in \[0, 1\], not nan in round 2"),
        ({"means": ["a", 1, 2]}, "means must hold numbers, not"),
        ({"next_means": [0.5, 0.5, -0.1]}, r"next_means must lie in \[0, 1\], not -0.1 in round 3"),
        ({"next_means": [0.5]}, "arms has 3 rounds but next_means has 1"),
        ({"beta": 0.0}, "beta must be above 0, not 0.0"),
        ({"kappa": -1.0}, "kappa must be above 0, not -1.0"),
        ({"threshold_scale": 0}, "threshold_scale must be above 0, not 0"),
        ({"budget_scale": math.inf}, "budget_scale must be a finite number, not inf"),
        ({"order": "drawn"}, "order must be one of 'window', 'run', 'new', 'block', not 'drawn'"),
        ({"rounding": "floor"}, "rounding must be one of 'down', 'up', not 'floor'"),
        ({"past": None}, "past must be one of 'first', 'zero', not None"),
        ({"preset": "paper"}, "preset must be one of 'literal', 'log', not 'paper'"),
        ({"top": 1.2}, r"top must lie in \[0, 1\], not 1.2"),
        ({"blocks": [1, 1, 1]}, "blocks are for order='block', not 'window'; leave them out"),
        ({"order": "block"}, "order='block' needs blocks; give the block of each round"),
        ({"order": "block", "blocks": [1, 1]}, "arms has 3 rounds but blocks has 2"),
    ],
)
def test_bad_runs_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        significant_shifts(**GOOD | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": 9}, "arm 9 was never played; ask about one of those in arms"),
        ({"arm": 0.5}, "arm must be a whole number, not 0.5"),
        ({"arm": 2**70}, "arm must be a whole number from -2\\^62 to 2\\^62, not 1180591620717411303424"),
        (
            {"arms": np.zeros(0, dtype=int), "means": [], "next_means": []},
            "first_unsafe_round: arms is empty; give a run of at least one round",
        ),
        ({"start": 0}, "start must be a whole number from 1 to 3, not 0"),
        ({"start": 4}, "start must be a whole number from 1 to 3, not 4"),
    ],
)
def test_bad_questions_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        first_unsafe_round(**GOOD | {"arm": 0, "start": 1} | change)


def test_the_largest_numbers_of_arms_are_taken():
    for arm in (2**62, -(2**62)):
        for arms in ([arm, 0, arm], np.array([arm, 0, arm])):
            assert first_unsafe_round(**GOOD | {"arms": arms, "arm": arm, "start": 1}) is None
        ShiftStream(ShiftRule(beta=1.0)).tell(arm, 0.5, 0.5)


@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([0.5, 0.5], r"means must be a table of rounds by arms, not of shape \(2,\)"),
        ([[0.5, 2.0]], r"means must lie in \[0, 1\], not 2.0 in round 1"),
        (np.zeros((3, 0)), "means has no columns; give one for each arm"),
    ],
)
def test_bad_tables_are_refused_by_name(means, message):
    with pytest.raises(ValueError, match=message):
        finite_significant_shifts(means)
    with pytest.raises(ValueError, match="arms must be a whole number of at least 1, not 0"):
        FiniteShiftRule(arms=0)


def test_streams_refuse_what_they_cannot_use():
    with pytest.raises(ValueError, match=r"rule must be a ShiftRule, not 1\.0"):
        ShiftStream(1.0)
    with pytest.raises(ValueError, match="the preset 'log' needs a horizon; give one, or a number for threshold_scale"):
        ShiftRule(beta=1.0, preset="log")
    stream = ShiftStream(ShiftRule(beta=1.0, horizon=2))
    with pytest.raises(ValueError, match=r"mean must lie in \[0, 1\], not 1.5"):
        stream.tell(0, 1.5, 0.5)
    with pytest.raises(ValueError, match="block is for order='block', and needed there; it is 3 and order 'window'"):
        stream.tell(0, 0.5, 0.5, block=3)
    with pytest.raises(ValueError, match=r"arm must be a whole number from -2\^62 to 2\^62, not 11805916207"):
        stream.tell(2**70, 0.5, 0.5)
    with pytest.raises(ValueError, match=r"ShiftRule: horizon must be a whole number from 1 to 2\^62, not 11805916207"):
        ShiftRule(beta=1.0, horizon=2**70)
    assert stream.round == 0  # nothing was taken in
    stream.tell(0, 0.5, 0.5)
    stream.tell(0, 0.5, 0.5)
    with pytest.raises(ValueError, match="all 2 rounds of the horizon have been told; make it larger"):
        stream.tell(0, 0.5, 0.5)
    with pytest.raises(ValueError, match="it is None and order 'block'"):
        ShiftStream(ShiftRule(beta=1.0, order="block")).tell(0, 0.5, 0.5)
