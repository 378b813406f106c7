"""device="gpu": what is said without a GPU, the simulator's results to the bit, and how batches are laid out.

What the GPU's compiler makes of the kernels is in test_cuda.py.
"""

import itertools
import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms import gpu
from manyarms.checks import BUSY_WORLD, examples
from manyarms.compiled import PackedByTwo, Shared, loop, row_of
from manyarms.states import copied
from manyarms.trace import new_log
from tests import simulated_gpu
from tests.gpu_extra import in_another_process, needs_the_extra

POLICIES = {spec.label(): spec for spec in examples() if isinstance(spec, ma.Policy)} | simulated_gpu.EVERY_BASE
WORLDS = {spec.label(): spec for spec in examples() if isinstance(spec, ma.World)}
QUICK = ma.UniformPlay()

exactly = settings(derandomize=True, deadline=None, max_examples=200)

# ---------------------------------------------------------------- without a GPU

WITHOUT = """
import json, sys
import manyarms as ma
imported = sorted(name for name in sys.modules if name.partition(".")[0] == "numba_cuda" or name == "manyarms.cuda")
world = ma.World(ma.Uniform())
try:
    ma.simulate(ma.UniformPlay(), world, 50, 3, device="gpu")
    error = None
except RuntimeError as caught:
    error = str(caught)
cpu, auto = (ma.simulate(ma.UniformPlay(), world, 50, 3, device=device, log=True) for device in ("cpu", "auto"))
json.dump({
    "imported": imported,
    "error": error,
    "same": cpu["UniformPlay"].tobytes() == auto["UniformPlay"].tobytes(),
    "same log": all((a == b).all() for a, b in zip(cpu.log("UniformPlay", 2), auto.log("UniformPlay", 2))),
}, sys.stdout)
"""


def without_a_gpu(**environment):
    # Where there is a GPU, none of them is visible.
    settings = {"CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": None, "NUMBA_DISABLE_JIT": None} | environment
    return in_another_process("-c", WITHOUT, **settings)


@pytest.fixture(scope="module")
def alone():
    needs_the_extra()
    return without_a_gpu()


@pytest.mark.compiled
def test_without_a_gpu_the_error_has_the_reason_and_the_remedy(alone):
    assert alone["error"].startswith("simulate: device='gpu' cannot be used: no NVIDIA GPU or driver was found")
    assert alone["error"].endswith("; or use device='cpu'")


@pytest.mark.compiled
def test_without_a_gpu_auto_is_the_processor(alone):
    assert alone["same"]
    assert alone["same log"]


@pytest.mark.compiled
def test_importing_the_package_does_not_import_the_gpus_part(alone):
    assert alone["imported"] == []


def test_with_the_compiler_switched_off_the_error_says_so():
    found = without_a_gpu(NUMBA_DISABLE_JIT="1")
    assert found["error"] == (
        "simulate: device='gpu' cannot be used: the compiler is switched off; unset NUMBA_DISABLE_JIT; "
        "or use device='cpu'"
    )
    assert found["same"]
    assert found["imported"] == []


@pytest.mark.parametrize("device", ["tpu", "GPU", "", None, 0, True])
def test_an_unknown_device_is_refused_with_the_known_ones(device):
    with pytest.raises(ValueError, match="simulate: device must be one of 'cpu', 'gpu', 'auto', not") as raised:
        ma.simulate(QUICK, BUSY_WORLD, 10, device=device)
    assert str(raised.value).endswith(repr(device))


@pytest.fixture
def compiling(monkeypatch):
    """As if the compiler were on and the simulator off, whatever they are here."""
    monkeypatch.setattr(gpu, "IS_COMPILING", True)
    monkeypatch.setattr(gpu, "IS_SIMULATED", False)


def check_refused(reason):
    assert gpu.chosen_device("auto") == "cpu"
    with pytest.raises(RuntimeError) as raised:
        ma.simulate(QUICK, BUSY_WORLD, 10, device="gpu")
    assert str(raised.value) == f"simulate: device='gpu' cannot be used: {reason}; or use device='cpu'"


@pytest.mark.usefixtures("compiling")
def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
    check_refused("numba-cuda is not installed; run pip install 'manyarms[gpu]'")


@pytest.mark.usefixtures("compiling")
def test_an_extra_that_cannot_be_imported_is_named_with_its_own_words(monkeypatch):
    def fails():
        raise ImportError("cannot import name 'x' from 'y'")

    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(gpu, "cuda_module", fails)
    check_refused(
        "numba-cuda cannot be imported (cannot import name 'x' from 'y'); run pip install --upgrade 'manyarms[gpu]'"
    )


@pytest.mark.usefixtures("compiling")
def test_what_the_driver_says_is_passed_on_in_one_line(monkeypatch):
    silent = SimpleNamespace(is_available=lambda: False, cuda_error=lambda: None)
    loud = SimpleNamespace(is_available=lambda: False, cuda_error=lambda: "no libcuda.so\n  in any\tplace.\n")
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(gpu, "cuda_module", lambda: SimpleNamespace(cuda=silent))
    check_refused("no NVIDIA GPU or driver was found")
    monkeypatch.setattr(gpu, "cuda_module", lambda: SimpleNamespace(cuda=loud))
    check_refused("no NVIDIA GPU or driver was found: no libcuda.so in any place")


def test_where_changes_are_judged_the_extra_is_not_optional(monkeypatch):
    needs_the_extra()
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="numba-cuda is not installed"):
        needs_the_extra()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        needs_the_extra()


# ---------------------------------------------------------------- the simulator


def simulated(what, **environment):
    needs_the_extra()
    return in_another_process("-m", "tests.simulated_gpu", what, NUMBA_ENABLE_CUDASIM="1", **environment)


@pytest.fixture(scope="module")
def plain():
    """All of it, with the processor's side as plain Python: in the simulator, compiling is what would take time."""
    return simulated("all", NUMBA_DISABLE_JIT="1")


def check_equal(pairs, replications=simulated_gpu.REPLICATIONS):
    """Each pair of what GPU and processor found is the same, and is something."""
    assert pairs
    for name, (on_gpu, on_cpu) in pairs.items():
        assert on_gpu == on_cpu, name
        assert on_gpu["replications"] == list(range(replications))
        assert list(on_gpu["logs"]) == (list(map(str, range(replications))) if name.endswith("with a log") else [])
        assert len(set(on_gpu["logs"].values())) == len(on_gpu["logs"])  # replications differ


@pytest.mark.once
@pytest.mark.parametrize("policy", list(POLICIES))
def test_a_simulated_gpu_plays_every_policy_as_the_processor_does(policy, plain):
    worlds = {"busy": ["with a log"]}
    if policy not in simulated_gpu.EVERY_BASE:
        worlds = {"busy": ["with a log", "without a log"], "2": ["with a log"], "4": ["with a log"]}
    for world, logs in worlds.items():
        found = plain["policies"][world]
        check_equal({f"{policy}, {log}": found[f"{policy}, {log}"] for log in logs}, simulated_gpu.FEW)


@pytest.mark.once
@pytest.mark.parametrize("place", range(len(WORLDS)), ids=list(WORLDS))
def test_a_simulated_gpu_plays_every_world_as_the_processor_does(place, plain):
    assert len(plain["worlds"]) == len(WORLDS)
    assert len(plain["worlds"][place]) == 2 * len(simulated_gpu.PAIR)
    check_equal(plain["worlds"][place])


@pytest.mark.once
@pytest.mark.parametrize("policy", list(simulated_gpu.POLICIES))
def test_a_simulated_gpu_tells_policies_of_late_answers_as_the_processor_does(policy, plain):
    check_equal({"with a log": plain["late"]["policies"][f"{policy}, with a log"]}, simulated_gpu.FEW)


@pytest.mark.once
@pytest.mark.parametrize("place", range(len(simulated_gpu.FEEDBACKS)))
def test_a_simulated_gpu_has_every_feedback_as_the_processor_has(place, plain):
    check_equal(plain["late"]["feedbacks"][place])


@pytest.mark.once
def test_replications_that_found_too_little_room_are_played_again(plain):
    check_equal(plain["cramped"]["found"])
    played = 2 * plain["cramped"]["policies"] * simulated_gpu.REPLICATIONS  # with a log and without
    assert played < sum(plain["cramped"]["waves"]) < 2 * played  # some had room enough


@pytest.mark.compiled
def test_a_simulated_gpu_finds_what_compiled_code_finds():
    found = simulated("logged", NUMBA_DISABLE_JIT=None)
    assert len(found) == len(simulated_gpu.POLICIES)
    check_equal(found)


@pytest.mark.once
def test_waves_change_nothing_but_the_number_of_calls(plain):
    waves = plain["waves"]
    assert waves["found"] == waves["at once"]
    # Policies take turns. Five replications, two at most in a wave: three waves each.
    assert waves["played"] == [[label, *wave] for wave in ([0, 2], [2, 4], [4, 5]) for label in waves["labels"]]
    assert waves["calls"] == [[played, 2000] for played in (400, 800, 1200, 1600, 1800, 2000)]


@pytest.mark.once
def test_ctrl_c_gives_back_what_the_gpu_has_finished(plain):
    found = plain["interrupted"]
    assert not found["complete"]
    assert 1 <= len(found["finished"]) < 40
    assert found["same"]


@pytest.mark.once
def test_a_replication_that_does_not_fit_is_refused_in_words(plain):
    assert "one replication of Blackbox(" in plain["too large"]
    assert plain["too large"].endswith("ask for a shorter horizon, no log, or device='cpu'")


@pytest.mark.once
def test_a_replication_that_may_not_fit_is_refused_before_anything_is_played(plain):
    most, words = plain["too large at worst"]
    assert f"Elimination(beta='auto', horizon=200) takes {most:,} bytes, more than the GPU has free" in words


@pytest.mark.once
def test_waves_fit_into_the_memory_that_is_free(plain):
    sizes = [size for _, size, _ in plain["fits"]]
    for free, size, held in plain["fits"]:
        assert size * held <= gpu.SHARE_OF_MEMORY * free
    assert 1 <= min(sizes) < max(sizes) <= 10


@pytest.mark.once
def test_arrays_that_nobody_writes_are_shared_and_the_others_packed(plain):
    assert plain["batches"] == {
        "visits": "PackedByTwo",
        "means": "PackedByTwo",
        "arm_key": "uint64",
        "reservoir.means": "Shared",
        "shared": [0.1, 0.4, 0.9],
        "rows": [3, 6],
    }


@pytest.mark.once
def test_with_a_gpu_auto_is_the_gpu(plain):
    assert plain["auto"] == "gpu"


# ---------------------------------------------------------------- the GPU at hand, where there is one


@pytest.mark.compiled
def test_the_gpu_at_hand_plays_as_the_processor_does():
    if gpu.why_no_gpu() is not None:
        pytest.skip(f"needs a GPU: {gpu.why_no_gpu()}")
    check_equal(simulated_gpu.compared(POLICIES, BUSY_WORLD))
    for world in WORLDS.values():
        check_equal(simulated_gpu.compared(simulated_gpu.PAIR, world))


# ---------------------------------------------------------------- how arrays lie in a batch


@pytest.fixture(scope="module")
def cuda():
    needs_the_extra()
    return gpu.cuda_module()


class Inner(NamedTuple):
    number: float
    arrays: Any


class Outer(NamedTuple):
    first: Any
    inner: Inner
    count: int
    rest: Any


TYPES = [np.int64, np.float64, np.uint64, np.uint32, np.float32, np.int16, np.bool_]
arrays = st.builds(
    lambda size, dtype: np.zeros(size, dtype), st.sampled_from([0, 1, 2, 3, 4, 5, 16, 17, 40]), st.sampled_from(TYPES)
)
states = st.builds(
    lambda first, inner, rest: Outer(first, Inner(1.0, tuple(inner)), 3, tuple(rest)),
    arrays,
    st.lists(arrays, max_size=9),
    st.lists(arrays, max_size=9),
)


def arrays_of(state):
    if isinstance(state, np.ndarray):
        return [state]
    return [array for part in state for array in arrays_of(part)] if isinstance(state, tuple) else []


def first_bytes(layout, array):
    """Where each entry of an array begins."""
    where = layout.slices[id(array)]
    return [item * array.itemsize for item in range(where.start, where.stop, where.step)]


several = Outer(np.zeros(5), Inner(1.0, (np.zeros(5), np.zeros(5), np.zeros(5))), 3, (np.zeros(5), np.zeros(5, bool)))


@exactly
@given(state=states)
@example(state=several)
def test_entries_of_different_arrays_never_overlap(cuda, state):
    layout = cuda.Layout(state)
    taken = [
        byte
        for array in arrays_of(state)
        for begin in first_bytes(layout, array)
        for byte in range(begin, begin + array.itemsize)
    ]
    assert len(taken) == sum(array.nbytes for array in arrays_of(state))
    assert len(set(taken)) == len(taken)
    assert all(0 <= byte < layout.bytes for byte in taken)
    # Rows lie one after another: each begins where a record does, as do the arrays' own numbers.
    assert layout.bytes % cuda.RECORD == 0
    assert all(begin % array.itemsize == 0 for array in arrays_of(state) for begin in first_bytes(layout, array))


def by_slot(state):
    """The arrays with an entry for each slot: as long as the first one, 8 bytes an entry, not unsigned."""
    arrays = arrays_of(state)
    return [a for a in arrays if a.size == arrays[0].size and a.itemsize == 8 and a.dtype.kind in "if"]


@exactly
@given(state=states)
@example(state=several)
def test_entries_of_one_slot_lie_in_as_few_records_as_possible(cuda, state):
    layout = cuda.Layout(state)
    together = by_slot(state)
    for entry in zip(*(first_bytes(layout, array) for array in together), strict=True):
        assert len({begin // cuda.RECORD for begin in entry}) == -(-8 * len(together) // cuda.RECORD)


@exactly
@given(state=states)
@example(state=several)
@example(state=Outer(np.zeros(3), Inner(1.0, (np.zeros(3, int), np.zeros(3), np.zeros(3, int))), 3, (np.zeros(3),)))
def test_integers_and_the_floats_after_them_are_one_access_of_16_bytes(cuda, state):
    layout = cuda.Layout(state)
    for integers, floats in [*itertools.pairwise(by_slot(state)), *neighbours(state)]:
        if (integers.dtype.kind, floats.dtype.kind) == ("i", "f"):
            one, other = layout.slices[id(integers)], layout.slices[id(floats)]
            assert (other.start, other.step) == (one.start + 1, one.step)
            assert one.start % 2 == one.step % 2 == 0


def neighbours(state):
    """Arrays of 8-byte integers and floats that are neighbouring fields and equally long, as deep as they lie."""
    if not isinstance(state, tuple):
        return []
    deeper = [pair for part in state for pair in neighbours(part)]
    fields = [part if isinstance(part, np.ndarray) else None for part in state]
    return deeper + [
        (one, other)
        for one, other in itertools.pairwise(fields)
        if one is not None and other is not None and (one.dtype, other.dtype) == (np.int64, np.float64)
        if one.size == other.size
    ]


@exactly
@given(state=states)
@example(state=Outer(np.zeros(3), Inner(1.0, (np.zeros(3, np.uint64), np.zeros(3, np.uint64))), 3, (np.zeros(9),)))
@example(state=Outer(np.zeros(3), Inner(1.0, (np.zeros(9, int), np.zeros(9), np.zeros(9, int))), 3, (np.zeros(9),)))
def test_every_other_array_lies_in_one_piece_and_begins_with_a_record(cuda, state):
    layout = cuda.Layout(state)
    together = {id(array) for array in by_slot(state)} | {id(array) for pair in neighbours(state) for array in pair}
    for array in arrays_of(state):
        if id(array) not in together:
            assert layout.slices[id(array)].step == 1
            assert layout.slices[id(array)].start * array.itemsize % cuda.RECORD == 0


def test_a_base_with_more_slots_than_the_world_keeps_its_pairs(cuda):
    # Whoever runs a base may give it another number of arms than the world has slots.
    base = ma.UCB().start(7)
    layout = cuda.Layout((ma.World(ma.Uniform()).start(4), base))
    plays, sums = (layout.slices[id(array)] for array in base.rewards)
    assert (sums.start, plays.start % 2, plays.step) == (plays.start + 1, 0, 2)
    assert layout.slices[id(base.keys)].step == 1


@pytest.mark.parametrize("policy", list(POLICIES))
def test_visits_and_means_lie_side_by_side(cuda, policy):
    # store_both writes an entry of each in one go of 16 bytes, which has to be aligned.
    for horizon in (1, 2, 7, 100, 10_000):
        for world in WORLDS.values():
            spec = POLICIES[policy].with_horizon(horizon)
            state = world.start(spec.slots(horizon))
            layout = cuda.Layout((state, spec.start(horizon)))
            visits, means = layout.slices[id(state.visits)], layout.slices[id(state.means)]
            assert means.start == visits.start + 1
            assert means.step == visits.step
            assert visits.step % 2 == 0
            assert visits.start * 8 % 16 == 0
            assert layout.bytes % 16 == 0


def test_visits_and_means_lie_side_by_side_whatever_arrays_a_drift_has(cuda):
    state = ma.World(ma.Uniform()).start(4)
    state = state._replace(drift=Inner(1.0, np.zeros(4)), noise=Inner(1.0, np.zeros(4)))
    layout = cuda.Layout((state, ma.UniformPlay().start(5)))
    visits, means = layout.slices[id(state.visits)], layout.slices[id(state.means)]
    assert (means.start, visits.start * 8 % 16, visits.step) == (visits.start + 1, 0, 4)


def test_an_array_of_two_dimensions_is_refused(cuda):
    with pytest.raises(TypeError, match="arrays of a state must have one dimension to go on a GPU, not 2"):
        cuda.Layout(Inner(1.0, np.zeros((2, 2))))


def batch_of(cuda, states):
    """A batch of states that are alike, put together by hand from NumPy arrays, and filled."""
    layout = cuda.Layout(states[0])
    room = np.zeros((len(states), layout.bytes // 8), dtype=np.int64)

    def together(parts):
        if isinstance(parts[0], np.ndarray):
            if not parts[0].flags.writeable:
                return Shared(array=parts[0])
            where = layout.slices[id(parts[0])]
            kind = cuda.packed_type(parts[0], where.step)
            packed = kind(array=room.view(parts[0].dtype), start=where.start, stop=where.stop, step=where.step)
            for row, part in enumerate(parts):
                packed.array[row, where] = part
            return packed
        if isinstance(parts[0], tuple):
            return type(parts[0])(*(together(fields) for fields in zip(*parts, strict=True)))
        return parts[0]

    return together(states)


def filled(state, seed):
    """The state, with numbers of its own in all arrays that can be written."""
    for place, array in enumerate(arrays_of(state)):
        if array.flags.writeable:
            array[:] = np.random.default_rng([seed, place]).integers(0, 1000, array.size)
    return state


def check_same_state(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            check_same_state(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
    else:
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def some_states(name):
    """Three states that are alike but for the numbers in their arrays."""
    if name == "log":
        return [filled(new_log(9), seed) for seed in range(3)]
    if name == "Empirical":
        world = ma.World(ma.Empirical((0.1, 0.4, 0.9)))
        return [filled(world.start(6), seed) for seed in range(3)]
    policy = POLICIES[name].with_horizon(100)
    return [Inner(2.5, filled(Both(BUSY_WORLD.start(policy.slots(100)), policy.start(100)), seed)) for seed in range(3)]


class Both(NamedTuple):
    world: Any
    policy: Any


@pytest.mark.parametrize("name", ["log", "Empirical", *POLICIES])
def test_a_row_of_a_batch_is_what_was_put_in(cuda, name):
    put_in = some_states(name)
    batch = batch_of(cuda, put_in)
    for row, state in enumerate(put_in):
        check_same_state(row_of(batch, row), state)


def test_what_is_written_into_a_row_stays_in_that_row(cuda):
    put_in = some_states("Oracle(keep=16)")
    expected = [copied(state) for state in put_in]
    batch = batch_of(cuda, put_in)
    row_of(batch, 1).arrays.policy.best[:] = -7
    row_of(batch, 1).arrays.world.visits[3] = 12345
    expected[1].arrays.policy.best[:] = -7
    expected[1].arrays.world.visits[3] = 12345
    for row in range(3):
        check_same_state(row_of(batch, row), expected[row])


@loop
def sums_of_rows(batch, factor, found):
    for row in range(found.shape[0]):
        state = row_of(batch, row)
        for slot in range(state.visits.size):
            state.visits[slot] *= factor
            found[row, 0] += state.visits[slot]
            found[row, 1] += state.means[slot]
        for place in range(state.reservoir.means.size):
            found[row, 2] += state.reservoir.means[place]


@pytest.mark.compiled
def test_compiled_rows_are_the_plain_ones(cuda):
    compiled, plain = np.zeros((3, 3)), np.zeros((3, 3))
    one, other = (batch_of(cuda, some_states("Empirical")) for _ in range(2))
    sums_of_rows(one, 3, compiled)
    sums_of_rows.function(other, 3, plain)
    assert compiled.tolist() == plain.tolist()
    assert (one.visits.array == other.visits.array).all()
    expected = [[3.0 * state.visits.sum(), state.means.sum(), 1.4] for state in some_states("Empirical")]
    assert plain == pytest.approx(np.array(expected))


def test_to_the_compiler_arrays_that_nobody_writes_are_shared(cuda):
    world = ma.World(ma.Empirical((0.1, 0.4, 0.9))).start(6)
    seen = cuda.batch_type(world)
    reservoir = seen.types[seen.fields.index("reservoir")]
    assert reservoir.types[reservoir.fields.index("means")].instance_class is Shared
    for name in ("visits", "means"):
        assert seen.types[seen.fields.index(name)].instance_class is PackedByTwo  # side by side
    assert id(world.reservoir.means) not in cuda.Layout(world).slices
