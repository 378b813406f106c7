"""The compiler, kept in one place.

No other file of the package imports numba (`manyarms.cuda` imports its GPU half). A ``kernel`` is a small function
over numbers, arrays and states, which stays an ordinary Python function; a ``loop`` is compiled as a whole, with all
kernels that it calls inlined, and releases the GIL. So live code runs the kernels as plain Python and never waits for
a compiler unless it asks for one, and a loop compiles exactly the same source. With ``NUMBA_DISABLE_JIT=1`` loops are
plain Python too.

Numba's on-disk cache looks only at the file of the cached function: after an edit in another file it would go on with
the old kernel. It runs whatever its files hold, damaged or not; and processes that write to its list of files at the
same time may exchange entries. So there is another one: its folder is named by a digest of all sources of the package,
and its files are those of `manyarms.code_files`.
"""

import contextlib
import dis
import functools
import hashlib
import itertools
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import llvmlite
import numba as _numba
import numba.core.cgutils as _cgutils
import numpy as np
from llvmlite import ir
from llvmlite.binding import newpassmanagers as _newpassmanagers
from numba.core import caching as _caching
from numba.core import codegen as _codegen
from numba.core import compiler as _compiler
from numba.core import serialize as _serialize
from numba.extending import intrinsic as _numba_intrinsic
from numba.extending import overload

from . import sources
from .code_files import CodeFiles
from .states import states_in

# numba's type stubs know little of these.
numba: Any = _numba
types: Any = _numba.types
caching: Any = _caching
cgutils: Any = _cgutils
codegen: Any = _codegen
compiler: Any = _compiler
newpassmanagers: Any = _newpassmanagers
serialize: Any = _serialize

F = TypeVar("F", bound=Callable[..., Any])

IS_COMPILING = not numba.config.DISABLE_JIT
"""False when the compiler is switched off by ``NUMBA_DISABLE_JIT=1``."""

IS_SIMULATED = bool(numba.config.ENABLE_CUDASIM)
"""True when numba's simulator stands in for a GPU (``NUMBA_ENABLE_CUDASIM=1``): slow, for tests."""

CACHES_KEPT = 4
"""How many compile caches of other versions of the sources stay on disk."""


_KNOWN_INSIDE = "0.68."
"""The numba whose insides ``_KernelCompiler`` knows. With another one, kernels are compiled the usual way: to the same
code, in twice the time."""


class _NoEnvironments:
    """In place of the code generator, where numba would enter a kernel's environment into machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        """There is none."""


class _KernelCode(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, which is only ever inlined into a loop: machine code of its own would be made in vain."""

    codegen = _NoEnvironments()
    has_loop = True

    def _optimize_functions(self, module: Any) -> None:
        """Each by itself, before it is copied into others: worth it only for what a loop goes through many times."""
        if self.has_loop:
            super()._optimize_functions(module)
        else:
            module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Take in what the kernel calls, and tidy up; the loop is optimized in earnest, as a whole.

        To tidy up is to keep states in registers and to drop what nobody looks at. That makes kernels small, which
        matters: they are copied into all that call them. More would be done anew, and better, in the loop.
        """
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        passes = newpassmanagers.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(self._final_module, self._codegen._pass_builder(opt=1))
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: it cannot be called from Python."""
        return 0


class _KernelCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's compiler, which puts a kernel's code there."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, _KernelCode(target_context.codegen(), "kernel"), *rest)

    def compile_extra(self, function: Any) -> Any:
        """Tell whoever optimizes the code whether there is a loop in it."""
        steps = dis.get_instructions(function)
        self.state.library.has_loop = any("JUMP_BACKWARD" in step.opname for step in steps)
        return super().compile_extra(function)


# Kernels are inlined by force: a state is a tuple of arrays, and passing it through a real
# call would count references up and down in every round. "generic" makes the same kernel
# available to every target numba compiles for. Wrappers for C would be optimized, too, and never called.
_INLINED: dict[str, Any] = {
    "jit_options": {
        "forceinline": True,
        "_nrt": False,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        **({"pipeline_class": _KernelCompiler} if numba.__version__.startswith(_KNOWN_INSIDE) else {}),
    },
    "strict": False,
    "target": "generic",
}


def source_digest(files: Mapping[str, bytes] | None = None) -> str:
    """Sixteen hex digits that change whenever a source file of the package changes; of these, or as they are now."""
    digest = hashlib.sha256()
    for name, content in (sources.files_below(Path(__file__).parent) if files is None else files).items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:16]


LOADED_SOURCES = source_digest(sources.LOADED)
"""That of the sources which are loaded: files may be edited while a run goes on."""


def cache_name() -> str:
    """The folder of this version of the sources, compiled with these settings."""
    return LOADED_SOURCES + ("-boundscheck" if numba.config.BOUNDSCHECK else "")


_CACHE_NAME = re.compile(r"[0-9a-f]{16}(-boundscheck)?")


def cache_roots() -> list[Path]:
    """Where compile caches may lie, the preferred place first."""
    places = {"MANYARMS_CACHE_DIR": "", "NUMBA_CACHE_DIR": "manyarms", "XDG_CACHE_HOME": "manyarms"}
    roots = [Path(os.environ[name]) / inside for name, inside in places.items() if os.environ.get(name)][:1]
    if not roots:
        with contextlib.suppress(RuntimeError):  # some containers have no home
            roots.append(Path.home() / ".cache" / "manyarms")
    roots.append(Path(tempfile.gettempdir()) / f"manyarms-{_user()}")
    return roots


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_safe(folder: Path) -> bool:
    """Whether only this user can write there: a compile cache is code."""
    found = folder.stat()
    return os.access(folder, os.W_OK) and found.st_uid == _user() and not found.st_mode & 0o022


def _open_cache() -> Path | None:
    """Make this version's cache folder and drop the oldest ones of other versions; None if nowhere allowed."""
    for root in cache_roots():
        folder = root / cache_name()
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            os.utime(folder)
            if _is_safe(folder):
                _drop_stale(root)
                return folder
    return None


def _drop_stale(root: Path) -> None:
    """Remove all but the newest caches. Nothing that is not named like one is touched."""
    with contextlib.suppress(OSError):  # another process may be doing the same
        caches = [path for path in root.iterdir() if _CACHE_NAME.fullmatch(path.name)]
        caches.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for stale in caches[1 + CACHES_KEPT :]:
            shutil.rmtree(stale, ignore_errors=True)


CACHE_FOLDER = _open_cache() if IS_COMPILING else None
"""Where compiled code is kept; None if nothing is: with the compiler off, or where no folder can be written."""


def with_body(compiled_body: Callable[..., Any]) -> Callable[[F], F]:
    """Make a function a kernel that compiles another body than its Python one: machine words, hints to the compiler."""

    def decorated(function: F) -> F:
        @overload(function, **_INLINED)
        def _compiled(*_args: Any, **_kwargs: Any) -> Callable[..., Any]:
            return compiled_body

        return function

    return decorated


def instead_on_gpu(function: Any, compiled_body: Callable[..., Any]) -> None:
    """Let a kernel compile another body for a GPU."""

    @overload(function, **(_INLINED | {"target": "cuda"}))
    def _compiled(*_args: Any, **_kwargs: Any) -> Callable[..., Any]:
        return compiled_body


def kernel(function: F) -> F:
    """Let compiled code call ``function``; in Python it remains the plain function."""
    return with_body(function)(function)


def dispatcher(verb: F, body_for: Callable[[type], Callable[..., Any] | None]) -> None:
    """Let compiled code call ``verb`` with the body that its first argument's type asks for."""

    @overload(verb, **_INLINED)
    def _compiled(state: Any, *_args: Any) -> Callable[..., Any] | None:
        state_type = getattr(state, "instance_class", None)
        return None if state_type is None else body_for(state_type)


def intrinsic(generator: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's own: a function of types, which gives a signature and what writes the machine's instructions."""
    return cast(Callable[..., Any], _numba_intrinsic(generator))


@intrinsic
def _expect_false(_typing: Any, _condition: Any) -> Any:
    """LLVM's own hint; it moves the unlikely code out of the way of the likely one."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        hint = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
        return builder.call(hint, [arguments[0], bit(0)])

    return types.boolean(types.boolean), generate


@with_body(lambda condition: _expect_false(condition))
def rarely(condition: bool) -> bool:
    """The condition, with a hint to the compiler that it is hardly ever true."""
    return condition


@intrinsic
def _on_gpu(_typing: Any) -> Any:
    def generate(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return ir.IntType(1)(type(context).__module__.startswith("numba.cuda"))

    return types.boolean(), generate


@with_body(lambda: _on_gpu())
def on_gpu() -> bool:
    """Whether this is compiled for a GPU; known while compiling, so that the other way costs nothing."""
    return False


@intrinsic
def _at_need(_typing: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        if type(context).__module__.startswith("numba.cuda"):
            return arguments[0]
        word = ir.IntType(64)
        same = ir.FunctionType(word, [word])
        bits = builder.asm(same, "", "=r,0", [builder.bitcast(arguments[0], word)], True)  # no instruction at all
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


@with_body(lambda value: _at_need(value))
def at_need(value: float) -> float:
    """The value; compiled, nothing is made of it before it is known to be needed.

    The compiler computes what is the same in every turn of a loop before the loop, even if no turn needs it in the end.
    """
    return value


def _place_in(array: Any, size: int, value: int) -> int:
    for place in range(size):
        if array[place] == value:
            return place
    return -1


@with_body(_place_in)
def place_in(array: Any, size: int, value: int) -> int:
    """The first of so many places of an array that holds a value; -1 if none does."""
    places = np.flatnonzero(array[:size] == value)
    return int(places[0]) if places.size else -1


TWO_WORDS = ir.VectorType(ir.IntType(64), 2)


def _address_of(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Where an entry of an array lies, as the address of two words of 64 bits."""
    layout = context.make_array(array_type)(context, builder, array)
    (stride,) = cgutils.unpack_tuple(builder, layout.strides, 1)
    address = builder.add(builder.ptrtoint(layout.data, stride.type), builder.mul(place, stride))
    return builder.inttoptr(address, TWO_WORDS.as_pointer())


@intrinsic
def _store_side_by_side(_typing: Any, ones: Any, _others: Any, _place: Any, _one: Any, _other: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address_of(context, builder, signature.args[0], arguments[0], arguments[2])
        pair = ir.Constant(TWO_WORDS, ir.Undefined)
        for place, word in enumerate((arguments[3], builder.bitcast(arguments[4], ir.IntType(64)))):
            pair = builder.insert_element(pair, word, ir.IntType(32)(place))
        builder.store(pair, address, align=16)
        return context.get_dummy_value()

    return types.void(ones, _others, types.intp, types.int64, types.float64), generate


@intrinsic
def _load_side_by_side(_typing: Any, ones: Any, others: Any, _place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair = builder.load(_address_of(context, builder, signature.args[0], arguments[0], arguments[2]), align=16)
        words = (builder.extract_element(pair, ir.IntType(32)(place)) for place in (0, 1))
        found = [
            builder.bitcast(word, context.get_value_type(kind))
            for word, kind in zip(words, signature.return_type.types, strict=True)
        ]
        return context.make_tuple(builder, signature.return_type, found)

    return types.Tuple((ones.dtype, others.dtype))(ones, others, types.intp), generate


@with_body(lambda place: np.uint64(place))
def unsigned(place: int) -> int:
    """A place in an array, from the beginning: compiled, it needs no check for counting from the end."""
    return place


@kernel
def store_both(integers: Any, floats: Any, place: int, integer: int, value: float) -> None:
    """Write one entry each of two arrays, of integers and of floats.

    In their state the two come one after the other. Then they lie side by side on a GPU, as
    `manyarms.cuda` sees to, and are written in one go.
    """
    if on_gpu():
        _store_side_by_side(integers, floats, place, integer, value)
    else:
        integers[unsigned(place)] = integer
        floats[unsigned(place)] = value


@kernel
def load_both(integers: Any, floats: Any, place: int) -> tuple[int, float]:
    """Read one entry each of two such arrays."""
    if on_gpu():
        return _load_side_by_side(integers, floats, place)  # type: ignore[no-any-return]
    return integers[unsigned(place)], floats[unsigned(place)]


@kernel
def load_two(numbers: Any, place: int) -> tuple[Any, Any]:
    """Read two entries in a row, the first of them at an even place.

    On a GPU that takes one access, of an array that lies in one piece: see `manyarms.cuda.Layout`.
    """
    if on_gpu():
        return _load_side_by_side(numbers, numbers, place)  # type: ignore[no-any-return]
    return numbers[place], numbers[place + 1]


@kernel
def load_four(numbers: Any, place: int) -> tuple[Any, Any, Any, Any]:
    """Read four entries in a row, the first of them at a multiple of four; two accesses on a GPU."""
    first, second = load_two(numbers, place)
    third, fourth = load_two(numbers, place + 2)
    return first, second, third, fourth


class Shared(NamedTuple):
    """An array that all replications of a batch read and none writes."""

    array: Any


class Packed(NamedTuple):
    """One array of every replication of a batch: a slice of each row of something larger."""

    array: Any
    start: int
    stop: int
    step: int


class PackedInOnePiece(Packed):
    """The same with a step of one. The type says so: a step that the compiler knows takes no register."""


class PackedByTwo(Packed):
    """The same with a step of two."""


class PackedByFour(Packed):
    """The same with a step of four."""


KNOWN_STEPS: dict[Any, int] = {PackedInOnePiece: 1, PackedByTwo: 2, PackedByFour: 4}


def row_of(batch: Any, row: int) -> Any:
    """The state of replication ``row`` of a batch: a state with ``Shared`` and ``Packed`` in place of its arrays."""
    if isinstance(batch, Shared):
        return batch.array
    if isinstance(batch, Packed):
        return batch.array[row, batch.start : batch.stop : batch.step]
    return type(batch)(*(row_of(part, row) for part in batch)) if isinstance(batch, tuple) else batch


@overload(row_of, **_INLINED)
def _compiled_row_of(batch: Any, _row: Any) -> Callable[..., Any] | None:
    if not isinstance(batch, types.BaseNamedTuple):
        return None
    # Without reference counts a function cannot return a bare view of an array, but it may build a
    # state of such views: so the body is written out, field by field.
    parts = []
    for name, part in zip(batch.fields, batch.types, strict=True):
        field = f"batch.{name}"
        if not isinstance(part, types.BaseNamedTuple):
            parts.append(f"{name}={field}")
        elif part.instance_class is Shared:
            parts.append(f"{name}={field}.array")
        elif issubclass(part.instance_class, Packed):
            step = KNOWN_STEPS.get(part.instance_class, f"{field}.step")
            by = "" if step == 1 else f" : {step}"
            parts.append(f"{name}={field}.array[row, {field}.start : {field}.stop{by}]")
        else:
            parts.append(f"{name}=row_of({field}, row)")
    names = {"State": batch.instance_class, "row_of": row_of}
    exec(f"def body(batch, row): return State({', '.join(parts)})", names)
    return cast(Callable[..., Any], names["body"])


class _CodeCache(caching.NullCache):  # type: ignore[misc]
    """Where numba looks for the code of a function, and leaves it: in our files, in place of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        made_by = (numba.__version__, llvmlite.__version__, np.__version__, str(sys.implementation.cache_tag))
        self._folder = folder
        self._files = CodeFiles(folder, name, made_by, serialize.dumps)

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(self._folder)

    def load_overload(self, types: Any, target: Any) -> Any:
        """The code for arguments of these types on this processor; None if there is none."""
        target.refresh()
        processor = target.codegen().magic_tuple()
        return self._files.load((types, processor), lambda code: compiler.CompileResult._rebuild(target, *code))

    def save_overload(self, types: Any, result: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process."""
        if not result.library.has_dynamic_globals:
            self._files.save((types, result.codegen.magic_tuple()), result._reduce())


class Entry(NamedTuple):
    """A compiled function for one set of argument types, which it does not look at: most of what a call costs."""

    call: Callable[..., Any]
    returns: Any  # the compiler's type, as ``compiled_type`` has it


class Loop:
    """A compiled function, in two copies: one cached on disk, one not.

    The cached copy serves the package's own states. States of a user's module take the
    other: the cache would not notice an edit of that module.
    """

    def __init__(self, function: Callable[..., Any], nogil: bool = True) -> None:
        self.function = function
        options = {"nogil": nogil, "_nrt": False, "error_model": "numpy"}
        self.cached = numba.njit(**options)(function)
        if CACHE_FOLDER is not None and _is_our_module(function.__module__):
            self.cached._cache = _CodeCache(CACHE_FOLDER, f"{function.__module__}.{function.__qualname__}")
        self.uncached = numba.njit(**options)(function)

    def __call__(self, *args: Any) -> Any:
        """Run the copy that fits the arguments."""
        return self._with_copy(args, lambda copy: copy(*args))

    def entry(self, *args: Any) -> Entry:
        """The function compiled for arguments of these types, or loaded so; it is not run."""
        signature = tuple(map(numba.typeof, args))

        def compiled(copy: Any) -> Entry:
            copy.compile(signature)
            found = copy.overloads[signature]
            return Entry(found.entry_point, found.signature.return_type)

        return cast(Entry, self._with_copy(args, compiled))

    def _with_copy(self, args: tuple[Any, ...], use: Callable[[Any], Any]) -> Any:
        """What ``use`` makes of the copy that fits the arguments."""
        return use(self.cached if all(_is_ours(arg) for arg in args) else self.uncached)

    def signatures(self) -> list[Any]:
        """The argument types it has been compiled for in this process."""
        if not IS_COMPILING:
            return []
        return [*self.cached.signatures, *self.uncached.signatures]


loop = Loop
"""The decorator that compiles a function as a whole, on its first call for each set of argument types."""


def _is_ours(value: Any) -> bool:
    """Whether a state and all states inside it are defined in this package."""
    modules = {type(state).__module__ for state in states_in(value)}
    return all(module == "builtins" or _is_our_module(module) for module in modules)


def _is_our_module(name: str) -> bool:
    """Whether a module is one of this package: then the name of the cache folder changes with its source."""
    return name.partition(".")[0] == __package__


def compiled_type(value: Any) -> Any:
    """What the compiler takes a value for, to be compared with others; None if it knows nothing of the kind."""
    try:
        return numba.typeof(value)
    except ValueError:
        return None


@contextlib.contextmanager
def compile_errors(name: str, target: str = "", caller: str = "simulate") -> Iterator[None]:
    """While this lasts, an error of the compiler becomes a short one that says whose kernels it is about.

    ``target`` says for what they are compiled, and what to do instead; nothing for this processor. ``caller`` is the
    function of this package that was called.
    """
    try:
        yield
    except RecursionError:
        raise TypeError(
            f"{caller}: {name} cannot be compiled{target and ' ' + target}: its states, or those of its world, are too "
            "deep inside each other for the compiler. Put parts together"
        ) from None
    except numba.core.errors.NumbaError as error:
        complaint = compiler_complaint(str(error))
        missing = re.search(r"Untyped global name '(\w+)'.*<class 'function'>", complaint)
        remedy = f"mark {missing[1]} with it" if missing else "see the line below"
        raise TypeError(
            f"{caller}: {name} cannot be compiled{target and ' ' + target}. Kernels may allocate nothing and call only "
            f"functions marked with @kernel (manyarms.compiled.kernel); {remedy}. The compiler says:\n{complaint}"
        ) from None


def compiler_complaint(message: str) -> str:
    """What is wrong, and where: the innermost part of the compiler's words, which tell all the way to it at length."""
    lines = [line for line in message.splitlines() if line.strip()]
    ways = [place for place, line in enumerate(lines) if "Failed in nopython mode" in line]
    inner = lines[ways[-1] + 1 :] if ways else lines
    wrong = itertools.takewhile(lambda line: not _ON_THE_WAY.match(line), inner)
    # Where the compiler's own sources fail, the line that called them is the one to show.
    place = itertools.dropwhile(lambda line: not line.lstrip().startswith("File ") or "/numba/" in line, inner)
    shown = itertools.takewhile(lambda line: line.strip() != "^", place)
    return "\n".join(textwrap.dedent("\n".join(part)) for part in (wrong, shown)).strip()


_ON_THE_WAY = re.compile(r"\s*(There are|During:|File |raised from)")


State = TypeVar("State", bound=tuple[Any, ...])


def replaced(state: State, **changes: Any) -> State:
    """A state with some fields changed: ``_replace``, for compiled code too, and in half the time."""
    kind = type(state)
    values, places = list(state), _places_in(kind)
    try:
        for name, value in changes.items():
            values[places[name]] = value
    except KeyError as unknown:
        raise TypeError(f"{kind.__name__} has no field {unknown}") from None
    return tuple.__new__(kind, values)


@functools.cache
def _places_in(kind: Any) -> dict[str, int]:
    """Where the fields of a type of states are, by name."""
    return {name: place for place, name in enumerate(kind._fields)}


@overload(replaced, **_INLINED)
def _compiled_replaced(state: Any, **changes: Any) -> Callable[..., Any] | None:
    if not isinstance(state, types.BaseNamedTuple):
        return None
    unknown = sorted(set(changes) - set(state.fields))
    if unknown:
        raise TypeError(f"{state.instance_class.__name__} has no field {unknown[0]!r}")
    places = tuple(place for place, name in enumerate(state.fields) if name in changes)
    given = ", ".join(state.fields[place] for place in places)
    # Numba tells the bodies that a kernel calls apart by the types of their arguments alone: but for a default that is
    # another for other fields, replaced(state, a=1) and replaced(state, b=1) would be taken for each other.
    which = sum(1 << place for place in places)
    names: dict[str, Any] = {"put": _put_at(places)}
    exec(f"def body(state, {given}, _which={which}): return put(state, ({given},))", names)
    return cast(Callable[..., Any], names["body"])


@functools.cache
def _put_at(places: tuple[int, ...]) -> Callable[..., Any]:
    """Put values at some places of a state.

    Written out in Python, every other field would be taken from one state and put into another: the larger half of what
    the compiler had to read.
    """

    @intrinsic
    def put(_typing: Any, state: Any, values: Any) -> Any:
        new = dict(zip(places, values, strict=True))
        parts = [new.get(place, part) for place, part in enumerate(state)]
        result = types.BaseTuple.from_types(parts, state.instance_class)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            made, values = arguments
            for number, place in enumerate(places):
                made = builder.insert_value(made, builder.extract_value(values, number), place)
            return made

        def generate_anew(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            made = cgutils.unpack_tuple(builder, arguments[0])
            for place, value in zip(places, cgutils.unpack_tuple(builder, arguments[1]), strict=True):
                made[place] = value
            return context.make_tuple(builder, result, made)

        return result(state, values), generate if result == state else generate_anew

    return put
