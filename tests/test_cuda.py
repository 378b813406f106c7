"""What the GPU's compiler makes of every policy in every world: it compiles, and nothing in it rounds differently.

Needs NVIDIA's compiler, which comes with the extra, and no GPU.
"""

import contextlib
import functools
import itertools
import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import manyarms as ma
from manyarms import gpu
from manyarms.apart import apart
from manyarms.arithmetic import cosine, exponential, natural_log, sine
from manyarms.checks import BUSY_WORLD, examples
from manyarms.compiled import compile_errors, kernel, loop, replaced
from manyarms.contract import Choice, Counts, keyed, pick, register, renew
from manyarms.lanes import from_lane
from manyarms.policies.blocks import base_after_answer, base_after_ask, base_after_silence
from manyarms.post import new_post
from manyarms.states import own_arrays
from manyarms.trace import NoLog, new_log
from tests.gpu_extra import check_ptx, needs_the_extra

pytestmark = pytest.mark.compiled

HORIZON = 200
NO_LOG = NoLog(unused=0.0)
WORLDS = [spec for spec in examples() if isinstance(spec, ma.World)]


@pytest.fixture(scope="module")
def cuda():
    needs_the_extra()
    return gpu.cuda_module()


def kind_of(state):
    """What of a state decides which code is compiled: the types of it and of everything in it."""
    if isinstance(state, tuple):
        return (type(state), *(kind_of(part) for part in state))
    return (state.dtype.str, state.flags.writeable) if isinstance(state, np.ndarray) else type(state)


def distinct_policies():
    """One policy for each kind of state, with every base inside each policy that takes one."""
    bases = [spec for spec in examples() if isinstance(spec, ma.Base)]
    policies = [spec for spec in examples() if isinstance(spec, ma.Policy)]
    first = {type(spec): spec for spec in reversed(policies)}.values()
    policies += [spec.replace(base=base) for spec in first if hasattr(spec, "base") for base in bases]
    found = {}
    for spec in policies:
        found.setdefault(kind_of(spec.with_horizon(HORIZON).start(HORIZON)), spec)
    return list(found.values())


def name_of(spec):
    if isinstance(spec, ma.World):
        return f"{type(spec.reservoir).__name__}-{type(spec.drift).__name__}-{type(spec.noise).__name__}"
    return type(spec).__name__ + (f" over {type(spec.base).__name__}" if hasattr(spec, "base") else "")


POLICIES = distinct_policies()


def test_all_kinds_of_policies_are_here():
    names = [name_of(spec) for spec in POLICIES]
    assert len({spec.label() for spec in POLICIES}) == len(POLICIES)
    assert {"Elimination", "UniformPlay", "Oracle"} <= set(names)
    # Greedy is UCB with another number, and SSUCB a Subsample over AsymptoticUCB: the same states, the same code.
    for policy in ("Blackbox", "Subsample"):
        over = {name.partition(" over ")[2] for name in names if name.startswith(policy)}
        assert over & {"UCB", "Greedy"}
        assert "SuccessiveElimination" in over
        assert "AsymptoticUCB" in over or (policy == "Subsample" and "SSUCB" in names)


def ptx_of(cuda, policy, world, log=NO_LOG):
    spec = policy.with_horizon(HORIZON)
    return cuda.ptx_of(spec.start(HORIZON), world.start(spec.slots(HORIZON)), new_post(world.feedback), log)


# To compile a pair takes seconds. What can go wrong lies in a kernel of the policy, of its base or of the world.
# Promises compile every policy in one world, every world with one policy, and some bases in all policies that take one
# (tests/checks/test_promises.py). So here every third world meets one policy more, of those that are soon compiled,
# without a log and with one.
SMALL = [policy for policy in POLICIES if len(own_arrays(policy.with_horizon(HORIZON).start(HORIZON))) <= 8]
PAIRS = list(zip(itertools.cycle(SMALL), WORLDS[::3], strict=False))


def test_many_policies_are_met():
    assert len({id(policy) for policy, _ in PAIRS}) == len(PAIRS) >= 5


@pytest.fixture(scope="module")
def without_log(cuda):
    """The code of a pair, compiled once."""
    return functools.cache(lambda policy, world: ptx_of(cuda, policy, world))


@pytest.mark.parametrize(("policy", "world"), PAIRS, ids=lambda spec: name_of(spec))
def test_policies_compile_in_worlds(cuda, policy, world, without_log):
    check_ptx(without_log(policy, world))


@pytest.mark.parametrize(("policy", "world"), PAIRS, ids=lambda spec: name_of(spec))
def test_policies_compile_with_a_log(cuda, policy, world, without_log):
    with_log = ptx_of(cuda, policy, world, new_log(HORIZON))
    check_ptx(with_log)
    # A log is seven stores in every round.
    assert with_log.count("st.") >= without_log(policy, world).count("st.") + 7


# Bases. Every kernel of a base that a simulation calls is compiled here, with hardly anything around it.


class LoneState(NamedTuple):
    """A base that plays all slots, in place of a policy."""

    base: Any
    chances: Any  # slot -> the probability of its last ask
    answers: Any  # slot -> what was presumed of its last open ask
    key: int


def lone_begin(state, key):
    base = renew(state.base, SLOTS, float(HORIZON), natural_log(float(HORIZON)))
    return replaced(state, base=keyed(base, key), key=key)


def lone_ask(state, round):
    slot, probability = pick(state.base, state.key, round)
    state.chances[slot] = probability
    return Choice(slot=slot, arm=slot, probability=probability, block=1, round=round)


def lone_tell(state, choice, reward):
    """As if two of three asks were open when their rewards come, and every third were never answered."""
    base, presumed, turn = state.base, math.nan, choice.round % 3
    if turn > 0:
        base, presumed = base_after_ask(base, choice)
        state.answers[choice.slot] = presumed
    if turn == 2:
        return replaced(state, base=base_after_silence(base, choice, presumed))
    return replaced(state, base=base_after_answer(base, choice, presumed, reward))


def lone_counts(state):
    return Counts(restarts=0, blocks=1, arms=SLOTS, ignored=0)


register(LoneState, begin=lone_begin, ask=lone_ask, tell=lone_tell, counts=lone_counts)

SLOTS = 12
LONE_WORLD = ma.World(ma.PowerLaw(beta=1.0))
BASES = {kind_of(spec.start(SLOTS)): spec for spec in examples() if isinstance(spec, ma.Base)}


def ptx_of_base(cuda, base):
    """What comes of the state of a base."""
    state = LoneState(base=base, chances=np.zeros(SLOTS), answers=np.zeros(SLOTS), key=np.uint64(0))
    return cuda.ptx_of(state, LONE_WORLD.start(SLOTS), new_post(LONE_WORLD.feedback), NO_LOG)


@pytest.mark.parametrize("base", BASES.values(), ids=lambda spec: type(spec).__name__)
def test_bases_compile_by_themselves(cuda, base):
    ptx = ptx_of_base(cuda, base.start(SLOTS))
    check_ptx(ptx)
    assert not cuda.takes_warps(ptx)  # whether a policy does is none of its base's business


@kernel
def same(value):
    return value


OWN_KERNELS = {
    "renew": lambda rounded: lambda base, arms, horizon, log_horizon: replaced(base, weight=rounded(log_horizon)),
    "keyed": lambda rounded: lambda base, key: replaced(base, weight=rounded(base.weight)),
    "pick": lambda rounded: lambda base, key, asked: (0, rounded(base.weight)),
    "learn": lambda rounded: lambda base, choice, reward: replaced(base, weight=rounded(base.weight + reward)),
    "expected": lambda rounded: lambda base, slot: rounded(base.weight),
    "revise": lambda rounded: lambda base, slot, plays, total: replaced(base, weight=rounded(base.weight + total)),
    "counted": lambda rounded: lambda base, reward: rounded(reward),
    "amend": lambda rounded: lambda base, slot, learned, reward: replaced(base, weight=rounded(base.weight - learned)),
}


@pytest.mark.parametrize("verb", [None, *OWN_KERNELS])
def test_no_kernel_of_a_base_is_left_out(cuda, verb):
    class OwnState(NamedTuple):
        weight: float

    register(OwnState, **{name: made(math.exp if name == verb else same) for name, made in OWN_KERNELS.items()})
    refused = pytest.raises(RuntimeError, match="round differently") if verb else contextlib.nullcontext()
    with refused:
        ptx_of_base(cuda, OwnState(weight=0.5))


# What is looked for

OWN_CODE = """.weak .func  (.param .b64 func_retval0) stands_apart_0_f(
	.param .b64 stands_apart_0_f_param_0
)
{
	mul.rn.f64 %fd3, %fd1, %fd2;
	ret;
}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("fma.rn.f64 %fd3, %fd1, %fd2, %fd1;", ["fma.rn.f64"]),
        ("\tmul.f64 \t%fd3, %fd1, %fd2;", ["mul.f64"]),
        ("add.f64 %fd3, %fd1, %fd2;", ["add.f64"]),
        ("@%p1 sub.f64 %fd3, %fd1, %fd2;", ["sub.f64"]),
        ("ex2.approx.ftz.f32 %f2, %f1;", [".approx"]),
        ("rcp.approx.ftz.f64 %fd2, %fd1;", [".approx"]),
        ("call.uni (retval0), __internal_accurate_pow, (param0, param1);", ["call"]),
        ("{ // callseq 0, 0\ncall (retval0), f, (param0);\n}", ["call"]),
        ("mul.f64 %fd3, %fd1, %fd2;\nfma.rn.f64 a, b, c, d;\nfma.rn.f64 d, c, b, a;", ["fma.rn.f64", "mul.f64"]),
        ("mul.rn.f64 %fd3, %fd1, %fd2;", []),
        ("add.rn.f64 %fd3, %fd1, %fd2;", []),
        ("sqrt.rn.f64 %fd3, %fd1;\ndiv.rn.f64 %fd3, %fd1, %fd2;", []),
        ("mad.lo.s64 %rd3, %rd1, %rd2, %rd4;\nmul.wide.u32 %rd1, %r1, 8;", []),
        ("call.uni \nstands_apart_0_f, \n(\nparam0\n);", ["call"]),  # without its code
        (".extern .func stands_apart_0_f(\n\t.param .b64 p\n)\n;\ncall stands_apart_0_f, (param0);", ["call"]),
        (OWN_CODE + "call.uni (retval0), \nstands_apart_0_f, \n(\nparam0\n);", []),
        (OWN_CODE + "@%p1 call stands_apart_0_f, (param0);", []),
        (OWN_CODE + "call.uni (retval0), \nstands_apart_0_g, \n(\nparam0\n);", ["call"]),
        (OWN_CODE + "call (retval0), %rd1, (param0), prototype_0;", ["call"]),
        (OWN_CODE.replace("mul.rn", "mul") + "call stands_apart_0_f, (param0);", ["mul.f64"]),
        (".func f(\n\t.param .b64 p\n)\n{\n\tret;\n}\ncall f, (param0);", ["call"]),
        ("cvt.rmi.f64.f64 %fd2, %fd1;\nmin.f64 %fd2, %fd1, %fd3;\nneg.f64 %fd1, %fd2;\nabs.f64 %fd1, %fd2;", []),
    ],
)
def test_instructions_that_may_round_differently_are_found(cuda, line, found):
    assert cuda.inexact_instructions(line) == found


# Kernels of one's own


def ptx_with_noise(cuda, reward_of):
    """What comes of a noise of one's own."""

    class OwnState(NamedTuple):
        scale: float

    register(OwnState, reward_of=reward_of)
    policy = ma.UniformPlay()
    world = BUSY_WORLD.start(policy.slots(HORIZON))._replace(noise=OwnState(scale=0.5))
    return cuda.ptx_of(policy.start(HORIZON), world, new_post(ma.AtOnce()), NO_LOG)


def by_exp(noise, mean, bits):
    return math.exp(-noise.scale * mean)


def by_log(noise, mean, bits):
    return math.log(1.0 + mean)


def by_power(noise, mean, bits):
    return mean**noise.scale


def by_cosine(noise, mean, bits):
    return math.cos(mean)


@pytest.mark.parametrize("reward_of", [by_exp, by_log, by_power, by_cosine], ids=lambda kernel: kernel.__name__)
def test_a_kernel_with_a_librarys_function_is_refused_by_name(cuda, reward_of):
    with pytest.raises(RuntimeError, match=r"instructions that may round differently .*: .*fma\.rn\.f64") as raised:
        ptx_with_noise(cuda, reward_of)
    assert str(raised.value).endswith("use functions of manyarms.arithmetic in kernels, or device='cpu'")


def by_arithmetic(noise, mean, bits):
    return exponential(-noise.scale * mean) * mean + noise.scale


def by_angle(noise, mean, bits):
    return sine(noise.scale * mean) * mean + cosine(mean)


def by_root(noise, mean, bits):
    return math.sqrt(mean) / 3.0 + noise.scale * mean


@pytest.mark.parametrize("reward_of", [by_arithmetic, by_angle, by_root], ids=lambda kernel: kernel.__name__)
def test_a_kernel_with_our_functions_and_roots_is_taken(cuda, reward_of):
    # All multiply and add, which the compiler would join if it were allowed to.
    check_ptx(ptx_with_noise(cuda, reward_of))


def test_the_usual_way_of_compiling_would_join_multiplications_and_additions(cuda, monkeypatch):
    # Else the tests above would show nothing.
    usual = cuda._nvvm.compile_ir
    monkeypatch.setattr(cuda._nvvm, "compile_ir", lambda code, **options: usual(code, **(options | {"fma": 1})))
    monkeypatch.setattr(cuda, "_checked", lambda ptx, is_wide: ptx)
    joined = ptx_with_noise(cuda, lambda noise, mean, bits: mean * noise.scale + 0.25)
    assert "fma.rn.f64" in cuda.inexact_instructions(joined)


# Kernels that stand apart


class Pair(NamedTuple):
    one: float
    other: float


def kernels_apart(rounded):
    """One that is given a state with arrays and gives another, one that calls it for a number, and one for nothing."""

    @apart
    def both(pair, arrays, place):
        return Pair(one=pair.other * pair.one + arrays[0][place], other=rounded(arrays[1][-1]))

    @apart
    def of_both(pair, arrays, is_wanted):
        swapped = both(Pair(one=pair.other, other=pair.one), arrays, 1)
        return swapped.one + swapped.other if is_wanted else 0.0

    @apart
    def write(array, place, value):
        array[place] = value

    return both, of_both, write


def noise_apart(rounded):
    both, of_both, write = kernels_apart(rounded)

    def reward_of(noise, mean, bits):
        pair = Pair(one=mean, other=noise.scale)
        first = both(pair, (noise.numbers, noise.every_other), 0)
        write(noise.numbers, 1, first.one)
        write(noise.every_other, 1, first.other)
        return of_both(first, (noise.numbers, noise.every_other), mean > 0.5)

    return reward_of


def state_apart():
    class OwnState(NamedTuple):
        scale: float
        numbers: Any
        every_other: Any

    numbers = np.linspace(0.1, 0.9, 5)
    return OwnState(scale=0.5, numbers=numbers, every_other=np.linspace(0.2, 1.1, 9)[::2])


def ptx_apart(cuda, rounded):
    """What comes of a noise whose kernels stand apart."""
    state = state_apart()
    register(type(state), reward_of=noise_apart(rounded))
    policy = ma.UniformPlay()
    world = BUSY_WORLD.start(policy.slots(HORIZON))._replace(noise=state)
    return cuda.ptx_of(policy.start(HORIZON), world, new_post(ma.AtOnce()), NO_LOG)


def test_kernels_that_stand_apart_are_there_once_and_are_called(cuda):
    ptx = ptx_apart(cuda, same)
    check_ptx(ptx)
    code = re.findall(r"^[^\n]*\.func[^;{]*?(stands_apart_\d+_\w+)\([^;{]*\{", ptx, re.MULTILINE)
    assert sorted(re.sub(r"\d+", "n", name) for name in code) == [
        "stands_apart_n_both",
        "stands_apart_n_of_both",
        "stands_apart_n_write",
        "stands_apart_n_write",  # for arrays that lie differently
    ]
    assert ptx.count("call") - ptx.count("callseq") >= 5


def test_kernels_that_stand_apart_are_inlined_on_the_processor():
    @loop
    def play(state, mean):
        return noise_apart_same(state, mean, 0)

    noise_apart_same = kernel(noise_apart(same))
    plain, compiled = state_apart(), state_apart()
    assert play(compiled, 0.7) == noise_apart_same(plain, 0.7, 0)
    assert (compiled.numbers == plain.numbers).all()
    assert (compiled.every_other == plain.every_other).all()
    (code,) = play.uncached.inspect_llvm().values()
    assert "stands_apart" not in code


@pytest.mark.parametrize("function", [math.exp, math.log, math.cos])
def test_a_librarys_function_is_refused_in_a_kernel_that_stands_apart(cuda, function):
    with pytest.raises(RuntimeError, match=r"instructions that may round differently"):
        ptx_apart(cuda, kernel(lambda number: function(number)))


def test_threads_of_a_warp_come_together_to_a_kernel_that_stands_apart(cuda, monkeypatch):
    # Else a compiler might call it in two branches in place of before them.
    parts = []
    usual = cuda._nvvm.compile_ir
    monkeypatch.setattr(cuda._nvvm, "compile_ir", lambda code, **options: parts.extend(code) or usual(code, **options))
    ptx_apart(cuda, kernel(lambda number: from_lane(number, 3)))
    code = [line for part in parts for line in part.splitlines() if re.match(r'define [^(]*@"?stands_apart', line)]
    assert code
    assert all({"noinline", "convergent"} <= set(line.rpartition(")")[2].split()) for line in code)


def by_threads(noise, mean, bits):
    return from_lane(mean, 3)


def test_kernels_that_take_a_whole_warp_are_refused_where_a_thread_plays_alone(cuda, monkeypatch):
    assert cuda.takes_warps(ptx_with_noise(cuda, by_threads))
    assert not cuda.takes_warps(ptx_with_noise(cuda, by_root))
    alone = functools.partial(cuda.without_fma, is_wide=False)
    monkeypatch.setattr(cuda, "without_fma", alone)
    ptx_with_noise(cuda, by_root)
    with pytest.raises(RuntimeError, match="takes all threads of a warp; let the policy say so: is_wide"):
        ptx_with_noise(cuda, by_threads)


def by_objects(noise, mean, bits):
    return sorted({"a": mean}.items())[0]


def test_what_cannot_be_compiled_is_a_short_error(cuda):
    with (
        pytest.raises(TypeError, match=r"^simulate: It cannot be compiled for a GPU; use device='cpu'\. ") as raised,
        compile_errors("It", "for a GPU; use device='cpu'"),
    ):
        ptx_with_noise(cuda, by_objects)
    assert "by_objects" in str(raised.value)
    assert len(str(raised.value)) < 1000
