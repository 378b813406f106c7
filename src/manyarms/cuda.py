"""The GPU's compiler, kept in one place: the only file that imports numba's CUDA half.

One thread of the GPU plays one replication, or one warp, with the kernels that the processor runs and the same
numbers to the bit. Three things are needed for that:

- No fused multiply-add. The GPU's compiler likes to join ``a * b + c`` into one operation that
  rounds once; a processor's code rounds twice.
- No library functions: `manyarms.arithmetic` has our own. What is called is a kernel (`manyarms.apart`).
- States of many replications in one: ``batched`` on this side, ``row_of`` on the GPU's.

numba-cuda has no option against fused multiply-adds, so its call of NVIDIA's compiler is given
one while our kernel is compiled, and what comes out is looked through.
"""

import contextlib
import itertools
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .apart import APART
from .compiled import IS_SIMULATED, Packed, PackedByFour, PackedByTwo, PackedInOnePiece, Shared, row_of
from .replication import play_replication
from .states import folded, mapped, own_arrays, states_in
from .streams import replication_key

ROW_STACK = "row_stack"
"""A name that numba-cuda 0.30 looks up while it is imported, and that NumPy 2.5 no longer has."""

_NUMPY_HAS_IT = hasattr(np, ROW_STACK)

with warnings.catch_warnings():
    # numba-cuda 0.30 also makes calls that NumPy 2.5 has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    if not _NUMPY_HAS_IT:
        setattr(np, ROW_STACK, np.vstack)
    try:
        import numba as _numba
        import numba.cuda as _cuda
        import numba.cuda.cudadrv.nvvm as _nvvm_module
        import numba.cuda.dispatcher as _dispatcher_module
        import numba.cuda.np.arrayobj  # it would be imported late otherwise, and meet NumPy then
    finally:
        if not _NUMPY_HAS_IT:
            delattr(np, ROW_STACK)

# numba has no type stubs for these.
cuda: Any = _cuda
types: Any = _numba.types
typeof: Any = _numba.typeof
_nvvm: Any = _nvvm_module
_dispatcher: Any = _dispatcher_module

COMPUTE_CAPABILITY = (8, 0)
"""What ``ptx_of`` compiles for; a launch compiles for the GPU at hand."""


def player(together: bool) -> Any:
    """The GPU's side: each of the first ``lanes`` threads of a warp plays a replication, or all of them one."""

    def play_one_each(
        policies: Any,
        worlds: Any,
        posts: Any,
        logs: Any,
        seed: int,
        label: int,
        top: float,
        first: int,
        rows: Any,
        checkpoints: Any,
        out: Any,
        finished: Any,
        stop: Any,
        lanes: int,
    ) -> None:
        thread = cuda.grid(1)
        lane = 0 if together else thread % WARP
        row = thread // WARP * lanes + lane
        if lane < lanes and row < out.shape[0]:
            key = replication_key(seed, first + rows[row])
            policy = row_of(policies, row)
            world = row_of(worlds, row)
            post = row_of(posts, row)
            log = row_of(logs, row)
            finished[row] = play_replication(policy, world, post, log, key, label, top, checkpoints, out, row, stop)

    return play_one_each


WARP = 32
"""Threads that go the same way or wait for each other."""

BLOCK = 64
"""Threads in a block. Small, so that few replications still reach all parts of the GPU."""

ALONE, SCATTERED, WIDE = "alone", "scattered", "wide"
"""How a policy is played: a thread for each replication; the same, but few at a time; or a warp for each."""

REGISTERS = {ALONE: 128, SCATTERED: 168, WIDE: 128}
"""For each thread. More would leave room for fewer threads, and it is threads that hide the wait for memory; but of
scattered policies few are played at a time, and what does not fit into registers goes to memory."""

_REGISTERS_IN_ALL = 65_536
"""Of each multiprocessor."""


def warps_for(way: str) -> int:
    """How many warps a multiprocessor has registers for."""
    return _REGISTERS_IN_ALL // (REGISTERS[way] * WARP)


# Link-time optimisation would generate the code anew, multiply-adds and all.
launchable: Any = {
    way: cuda.jit(player(way == WIDE), **({} if IS_SIMULATED else {"lto": False, "max_registers": registers}))
    for way, registers in REGISTERS.items()
}
"""The kernel, by how a policy is played."""

_compiling = threading.RLock()


@contextlib.contextmanager
def without_fma(is_wide: bool = True) -> Iterator[None]:
    """While this lasts, kernels are compiled without fused multiply-adds, so that both operations round.

    Only if they are played by whole warps may their threads speak to each other.
    """
    if IS_SIMULATED:
        yield
        return
    with _compiling:
        usual = _nvvm.compile_ir

        def compile_ir(parts: list[str], **options: Any) -> bytes:
            # What several kernels call comes once for each of them: most of the text is there many times.
            return _checked(usual(list(dict.fromkeys(parts)), **(options | {"fma": 0})), is_wide)

        _nvvm.compile_ir = compile_ir
        try:
            yield
        finally:
            _nvvm.compile_ir = usual


def _checked(ptx: bytes, is_wide: bool) -> bytes:
    """Compiled code, or an error: it may round differently from a processor's, or waits for others in vain."""
    if not is_wide and takes_warps(ptx.decode()):
        raise RuntimeError(
            "kernels work on rows (manyarms.lanes), which takes all threads of a warp; let the policy say so: is_wide"
        )
    inexact = inexact_instructions(ptx.decode())
    if inexact:
        raise RuntimeError(
            f"the GPU's code has instructions that may round differently from a processor's: {', '.join(inexact)}; "
            "use functions of manyarms.arithmetic in kernels, or device='cpu'"
        )
    return ptx


@contextlib.contextmanager
def _no_device_needed() -> Iterator[None]:
    """While this lasts, nested functions are compiled for COMPUTE_CAPABILITY, whether or not there is a GPU."""

    class Stand:
        compute_capability = COMPUTE_CAPABILITY

    with _compiling:
        usual = _dispatcher.get_current_device
        _dispatcher.get_current_device = Stand
        try:
            yield
        finally:
            _dispatcher.get_current_device = usual


_INEXACT = re.compile(r"\bfma\.\S*f64|\.approx\b|\b(?:add|sub|mul)\.f64|\bcall\b")
"""PTX whose result may differ from a processor's: fused or fusible operations, approximations, library calls."""


def takes_warps(ptx: str) -> bool:
    """Whether threads speak to each other in compiled code."""
    return "shfl.sync" in ptx or "bar.warp.sync" in ptx


_CALL_APART = re.compile(rf"\bcall(?:\.uni)?\s+(?:\(\w+\),\s*)?({APART}_\w+)\s*[,;]")
"""The call of a kernel that stands apart: with its name, and not by an address."""

_CODE = re.compile(r"^(?!\.extern)[^\n]*\.func\b[^;{]*?\b(\w+)\s*\([^;{]*\{", re.MULTILINE)
"""A function that is called, with its code."""


def inexact_instructions(ptx: str) -> list[str]:
    """Those instructions of compiled code that may round differently on a GPU.

    Kernels that stand apart may be called: their code is part of this one, and looked through with it.
    """
    code = set(_CODE.findall(ptx))
    return sorted(set(_INEXACT.findall(_CALL_APART.sub(lambda call: "" if call[1] in code else call[0], ptx))))


RECORD = 32
"""Bytes that the GPU's memory hands out at a time."""


class Layout:
    """Where the arrays of one replication lie: one after another in one row of the batch.

    Arrays with an entry for each slot lie entry by entry side by side, up to RECORD bytes an entry: a round
    touches the entries of one slot in several arrays, and that is one access instead of several. Those arrays
    are as long as the first one, the world's, and not of unsigned integers, which hold what is looked up by
    other things than slots. An array of integers and one of floats that is the next field of the same state and as
    long, whatever their length, never part, and begin at an even place: ``load_both`` and ``store_both`` rely on
    that. Every other array lies in one piece.
    """

    def __init__(self, state: Any) -> None:
        self.slices: dict[int, slice] = {}  # id of an array -> where it lies, in items of its size
        self.bytes = 0
        arrays = own_arrays(state)
        for array in arrays:
            if array.ndim != 1:
                raise TypeError(f"arrays of a state must have one dimension to go on a GPU, not {array.ndim}")
        slots = arrays[0].size if arrays else 0
        by_slot = [array for array in arrays if array.size == slots and array.dtype.kind != "u" and array.itemsize == 8]
        for side_by_side in _records(by_slot):
            self._place(side_by_side)
        for pair in _pairs_of(state):
            if id(pair[0]) not in self.slices:
                self._place(pair)
        for array in arrays:
            if id(array) not in self.slices:
                self._place([array])
        self.bytes |= RECORD  # an odd number of records: rows begin in different banks

    def _place(self, side_by_side: list[Any]) -> None:
        """Arrays of one length and item size, entry by entry."""
        size, item = side_by_side[0].size, side_by_side[0].itemsize
        step = 1 << (len(side_by_side) - 1).bit_length()  # so that no record straddles two accesses
        start = self.bytes // item
        for place, array in enumerate(side_by_side):
            self.slices[id(array)] = slice(start + place, start + size * step, step)
        self.bytes += -(-size * step * item // RECORD) * RECORD


def packed_type(array: Any, step: int) -> type[Packed]:
    """How an array lies in its row, for the compiler.

    Of integers in one piece, which are trees that are walked from leaf to root, it is better not told: measured on an
    H200, Blackbox(UCB) is then five times as fast.
    """
    if step == 1:
        return PackedInOnePiece if array.dtype.kind == "f" else Packed
    return PackedByTwo if step == 2 else PackedByFour


def _pairs_of(state: Any) -> list[list[Any]]:
    """Arrays of 8-byte integers and floats, equally long, that are neighbouring fields of one state."""
    neighbours = (pair for inner in states_in(state) for pair in itertools.pairwise(inner))
    return [[one, other] for one, other in neighbours if _are_a_pair(one, other)]


def _are_a_pair(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    is_written = bool(one.flags.writeable and other.flags.writeable)  # others are shared by all replications
    return is_written and one.size == other.size and (one.dtype, other.dtype) == (np.int64, np.float64)


def _records(arrays: list[Any]) -> list[list[Any]]:
    """Arrays of 8 bytes an entry in groups of RECORD bytes; an integer one and the float one after it stay together."""
    pairs: list[list[Any]] = []
    for array in arrays:
        if array.dtype.kind == "f" and pairs and len(pairs[-1]) == 1 and pairs[-1][0].dtype.kind == "i":
            pairs[-1].append(array)
        else:
            pairs.append([array])
    pairs.sort(key=len, reverse=True)  # those of two first: each begins at an even place then
    records: list[list[Any]] = [[]]
    for pair in pairs:
        if len(records[-1]) + len(pair) > RECORD // 8:
            records.append([])
        records[-1] += pair
    return [record for record in records if record]


def batched(state: Any, replications: int) -> Any:
    """Room on the GPU for that many copies of a state. Arrays are not filled: ``begin`` does that."""
    layout = Layout(state)
    room = cuda.device_array((replications, layout.bytes // 8), dtype=np.int64)

    def on_gpu(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        if not leaf.flags.writeable:
            return Shared(array=cuda.to_device(leaf))
        where = layout.slices[id(leaf)]
        kind = packed_type(leaf, where.step)
        return kind(array=room.view(leaf.dtype), start=where.start, stop=where.stop, step=where.step)

    return mapped(on_gpu, state)


def unpacked(column: Packed) -> Any:
    """One array of every replication, back on the host: a row for each."""
    return column.array.copy_to_host()[:, column.start : column.stop : column.step]


def batch_type(state: Any) -> Any:
    """What the compiler sees of ``batched(state, …)``."""
    layout = Layout(state)

    def leaf_type(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return typeof(leaf)
        array = typeof(leaf).copy(readonly=False)
        if not leaf.flags.writeable:
            return types.NamedTuple((array,), Shared)
        kind = packed_type(leaf, layout.slices[id(leaf)].step)
        return types.NamedTuple((array.copy(ndim=2), types.int64, types.int64, types.int64), kind)

    def joined(state: Any, parts: dict[str, Any]) -> Any:
        found = list(parts.values())
        return types.NamedTuple(found, type(state)) if hasattr(state, "_fields") else found

    return folded(state, leaf_type, joined)


def ptx_of(policy: Any, world: Any, post: Any, log: Any) -> str:
    """The GPU's assembly language for these states. Needs no GPU, only NVIDIA's compiler."""
    arguments = (
        *reversed(batch_type((world, policy))),  # laid out together: see WorldState
        batch_type(post),
        batch_type(log),
        types.uint64,
        types.uint64,
        types.float64,
        types.int64,
        types.Array(types.int64, 1, "C"),
        types.Array(types.int64, 1, "C"),
        types.Array(types.float64, 3, "C"),
        types.Array(types.boolean, 1, "C"),
        types.Array(types.int64, 1, "C"),
        types.int64,
    )
    with without_fma(), _no_device_needed():
        return str(cuda.compile_ptx(player(together=False), arguments, cc=COMPUTE_CAPABILITY)[0])


def launch(arguments: tuple[Any, ...], replications: int, lanes: int, stream: Any, way: str) -> None:
    """Start the kernel for that many replications; it is compiled when these types are new."""
    blocks = -(-replications // (lanes * (BLOCK // WARP)))
    with without_fma(is_wide=way == WIDE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*under-utilization")  # few replications are a fair wish
        launchable[way][blocks, BLOCK, stream](*arguments, lanes)
