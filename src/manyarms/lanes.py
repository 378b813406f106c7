"""The 32 threads of a GPU's warp, where they play one replication together: one number of a row is each thread's own.

All of them run the same kernels on the same state, so they decide alike, read the same numbers and write the same ones
to the same places, and never part. Only in a loop over `places` each looks after one place of a row; and `meet` lets
them see what the others have written. Anywhere else a loop over `places` is one over all of a row, and `meet` is
nothing.

A policy whose kernels use these says so: `Policy.is_wide`.
"""

from typing import Any

from llvmlite import ir

from .compiled import intrinsic, kernel, on_gpu, types, with_body

LENGTH = 32
"""The numbers of a row, and the threads of a warp."""

ALL = ir.Constant(ir.IntType(32), -1)
"""Every thread takes part."""


def _is_for_gpu(context: Any) -> bool:
    return type(context).__module__.startswith("numba.cuda")


def _declared(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return builder.module.declare_intrinsic(name, (), ir.FunctionType(result, arguments))


@intrinsic
def _lane(_typing: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if not _is_for_gpu(context):
            return ir.IntType(64)(0)
        number = builder.call(_declared(builder, "llvm.nvvm.read.ptx.sreg.laneid", ir.IntType(32), []), [])
        return builder.and_(builder.zext(number, ir.IntType(64)), ir.IntType(64)(LENGTH - 1))  # so it is known as small

    return types.intp(), generate


@intrinsic
def _from_lane(_typing: Any, _number: Any, _lane: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        number, lane = arguments
        if not _is_for_gpu(context):
            return number
        half = ir.IntType(32)
        send = _declared(builder, "llvm.nvvm.shfl.sync.idx.i32", half, [half] * 4)
        bits = builder.bitcast(number, ir.VectorType(half, 2))
        to = builder.trunc(lane, half)
        for place in (half(0), half(1)):
            part = builder.call(send, [ALL, builder.extract_element(bits, place), to, half(LENGTH - 1)])
            bits = builder.insert_element(bits, part, place)
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64, types.intp), generate


@intrinsic
def _meet(_typing: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if _is_for_gpu(context):
            builder.call(_declared(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [ir.IntType(32)]), [ALL])
        return context.get_dummy_value()

    return types.void(), generate


@with_body(lambda: _lane())
def lane() -> int:
    """On a GPU the number of this thread in its warp."""
    return 0


@with_body(lambda number, lane: _from_lane(number, lane))
def from_lane(number: float, lane: int) -> float:
    """On a GPU the number that the thread with this number has."""
    return number


@with_body(lambda: _meet())
def meet() -> None:
    """On a GPU: from here on every thread sees what the others of its warp have written."""


def _compiled_places() -> Any:
    if on_gpu():
        return range(lane(), LENGTH, LENGTH)
    return range(0, LENGTH, 1)


@with_body(_compiled_places)
def places() -> range:
    """The places of a row that this thread looks after: on a GPU one, else all of them."""
    return range(LENGTH)


@kernel
def largest_of_threads(number: float) -> float:
    """The largest number that a thread of the warp has."""
    for apart in (16, 8, 4, 2, 1):
        number = max(number, from_lane(number, lane() ^ apart))
    return number
