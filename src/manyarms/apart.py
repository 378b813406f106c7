"""Kernels that stand apart on a GPU: their code is there once, and is called.

All other kernels are inlined (`compiled`); on the processor these, too. But a policy that a whole warp plays waits for
its own instructions if there are many of them, and NVIDIA's compiler takes more time for many than in proportion.

A call passes on what a kernel is given, as far as it is not known from the types: of an array where it lies and how
long it is, and the step from entry to entry if there may be some. What the kernel does not look at is left out by
NVIDIA's compiler, so it may be given a state. But a state that it returns would go through memory.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from llvmlite import ir

from .compiled import F, cgutils, instead_on_gpu, intrinsic, types, with_body

APART = "stands_apart"
"""So begin the names of such functions in the GPU's code: `manyarms.cuda` allows calls of these, and of no others."""

_numbers = itertools.count()


def apart(function: F) -> F:
    """Let compiled code call ``function``; on a GPU, its code is there once. In Python it remains the plain function.

    For kernels of wide policies that are much code, wanted in several places, and not in every round. They are called
    with all arguments, in their order.
    """
    return with_body_apart(function)(function)


def with_body_apart(compiled_body: Callable[..., Any]) -> Callable[[F], F]:
    """The same with another body than the Python one."""

    def decorated(function: F) -> F:
        instead_on_gpu(function, _calling(function.__name__, compiled_body))
        return with_body(compiled_body)(function)

    return decorated


def _calling(name: str, compiled_body: Callable[..., Any]) -> Callable[..., Any]:
    """A body that calls the code of another one, in place of having it inlined."""
    parameters = ", ".join(inspect.signature(compiled_body).parameters)
    names: dict[str, Any] = {"call": _call_of(re.sub(r"\W", "_", name, flags=re.ASCII), compiled_body)}
    exec(f"def body({parameters}): return call(({parameters},))", names)
    return cast(Callable[..., Any], names["body"])


def _call_of(name: str, compiled_body: Callable[..., Any]) -> Callable[..., Any]:
    """What calls a function with this body, for a tuple of its arguments."""

    @with_body(compiled_body)
    def inlined(*_arguments: Any) -> None: ...

    numbers: dict[Any, int] = {}

    @intrinsic
    def call(typing: Any, arguments: Any) -> Any:
        kinds = tuple(types.unliteral(kind) for kind in arguments)
        function = typing.resolve_value_type(inlined)
        inner = function.get_call_type(typing, kinds, {})
        number = numbers.setdefault(kinds, next(_numbers))

        def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            wholes = zip(kinds, cgutils.unpack_tuple(builder, given[0]), strict=True)
            values = [value for kind, whole in wholes for value in _parts(context, builder, kind, whole)]
            is_silent = inner.return_type == types.none
            returns = ir.VoidType() if is_silent else context.get_value_type(inner.return_type)
            kind = ir.FunctionType(returns, [value.type for value in values])
            code = cgutils.get_or_insert_function(builder.module, kind, f"{APART}_{number}_{name}")
            if code.is_declaration:
                code.linkage = "linkonce_odr"  # of the copies in all modules that call it, one is kept
                code.attributes.add("noinline")
                code.attributes.add("convergent")  # threads of a warp that speak to each other there come together
                body = _Body(code.append_basic_block())
                parts = iter(code.args)
                body.ret(context.get_function(function, inner)(body, [_whole(context, body, k, parts) for k in kinds]))
            found = builder.call(code, values)
            return context.get_dummy_value() if is_silent else found

        return inner.return_type(types.unliteral(arguments)), generate

    return call


class _Body(ir.IRBuilder):  # type: ignore[misc]
    """Writes a function that calls a kernel, and returns what that returns."""

    def ret(self, value: Any) -> Any:
        """Return the value. A code for an error, which kernels do not raise, is lost."""
        returns = self.function.function_type.return_type
        if isinstance(returns, ir.VoidType):
            return self.ret_void()
        return super().ret(value if value.type == returns else ir.Constant(returns, ir.Undefined))


def _parts(context: Any, builder: Any, kind: Any, whole: Any) -> Iterator[Any]:
    """The values that make up a value of a type, without those that its type tells."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, whole)
        yield array.data
        yield from cgutils.unpack_tuple(builder, array.shape)
        if kind.layout != "C":
            yield from cgutils.unpack_tuple(builder, array.strides)
    elif isinstance(kind, types.BaseTuple):
        for part, value in zip(kind, cgutils.unpack_tuple(builder, whole), strict=True):
            yield from _parts(context, builder, part, value)
    else:
        yield whole


def _whole(context: Any, builder: Any, kind: Any, parts: Iterator[Any]) -> Any:
    """The value again."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        array.data, length = next(parts), next(parts)
        array.nitems, array.itemsize = length, item
        array.shape = cgutils.pack_array(builder, [length])
        array.strides = cgutils.pack_array(builder, [item if kind.layout == "C" else next(parts)])
        for name in ("meminfo", "parent"):
            setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_whole(context, builder, part, parts) for part in kind])
    return next(parts)
