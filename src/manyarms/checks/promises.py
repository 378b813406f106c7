"""What a promise is, how it is tried, and those that every spec keeps."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import bases, policies
from ..about import FIELDS, TOLD, About
from ..snapshots import state_to_json
from ..specs import RAISED, Spec, spec_from_json, text_of
from ..states import arrays, leaves, type_of

Check = tuple[str, Callable[[], None]]
"""The name of a promise, and a function that raises ``CheckError`` if it is broken."""

SEED = 20_240_501


class CheckError(AssertionError):
    """A promise was broken."""


class Broken(Exception):
    """What happened; the promise adds its name and the spec's."""


class Promise(NamedTuple):
    """A function that raises ``CheckError`` if a spec breaks it, and of which specs it is."""

    function: Callable[[Any], None]
    kinds: tuple[str, ...]
    when: Callable[[Any], bool]


PROMISES: list[Promise] = []
"""All of them, in the order in which they are tried."""


def promise(*kinds: str, when: Callable[[Any], bool] = lambda spec: True) -> Callable[[Any], Callable[[Any], None]]:
    """Make a function a promise of specs of these kinds: a failure names the promise, the spec and what happened."""

    def decorated(function: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(function)
        def checked(spec: Any) -> None:
            words = (function.__doc__ or "").strip().splitlines()[0]
            label = spec.label() if isinstance(spec, Spec) else repr(spec)
            head = f"{label} breaks {function.__name__!r} ({words.rstrip('.')}): "
            try:
                function(spec)
            except CheckError:  # of a promise that this one rests on
                raise
            except Broken as error:
                raise CheckError(f"{head}{error}") from None
            except RAISED as error:
                raise CheckError(f"{head}{type(error).__name__}: {text_of(error)}") from error

        PROMISES.append(Promise(checked, kinds, when))
        return checked

    return decorated


def promises_of(spec: Spec) -> list[Check]:
    """The promises that a spec of its kind makes by itself, by name."""
    made = [one.function for one in PROMISES if spec.kind in one.kinds and one.when(spec)]
    return [(function.__name__, functools.partial(function, spec)) for function in made]


def hold(condition: object, what: str) -> None:
    """The promise is broken unless this holds."""
    if not condition:
        raise Broken(what)


@promise("policy", "base", "world", "feedback")
def survives_json(spec: Spec) -> None:
    """A spec survives JSON, with the same digest."""
    text = json.dumps(spec.to_json(), allow_nan=False)
    copy = spec_from_json(json.loads(text))
    hold(copy == spec, f"{text} became {copy!r}")
    hold(copy.to_json() == spec.to_json(), f"{text} became {copy.to_json()}")
    hold(copy.digest() == spec.digest() == spec.digest(), f"digest {spec.digest():#x} became {copy.digest():#x}")
    hold(0 <= spec.digest() < 2**64, f"the digest {spec.digest():#x} is no 64-bit word")


@promise("policy", "base", "world", "feedback")
def is_frozen(spec: Spec) -> None:
    """A spec cannot be changed."""
    for field in dataclasses.fields(spec):  # type: ignore[arg-type]
        try:
            setattr(spec, field.name, getattr(spec, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        raise Broken(f"its field {field.name} can be set; use @dataclass(frozen=True)")


@promise("policy", "base")
def names_its_source(spec: Spec) -> None:
    """The docstring of its module says where the algorithm comes from."""
    module = inspect.getmodule(type(spec))
    text = (module.__doc__ if module else None) or ""
    ours = type(spec).__module__.partition(".")[0] == Spec.__module__.partition(".")[0]  # others cite as they like
    hold("Source:" in text or not ours, f"no 'Source:' in the docstring of {type(spec).__module__}")


SAY_WHAT_FOR = (bases.__name__, policies.__name__)
"""Packages whose classes say so; others may, those of the lab and one's own."""


@promise("policy", "base")
def says_what_it_is_for(spec: Spec) -> None:
    """Its class says what it must be told, what that is good for and what it costs: ``about``."""
    about: About | None = getattr(spec, "about", None)
    hold(about is None or isinstance(about, About), f"about is {about!r}, not an About")
    if type(spec).__module__.rpartition(".")[0] not in SAY_WHAT_FOR:
        return
    assert about is not None, "about is missing"
    hold("about" in vars(type(spec)), "about is that of another class")
    words = [word for word in about.told if word not in TOLD]
    hold(not words, f"about.told has {words}, which manyarms.about.TOLD does not explain")
    fields = {field.name for field in dataclasses.fields(spec)}  # type: ignore[arg-type]
    told = {field for word in about.told for field in FIELDS.get(word, ()) if (spec.kind, word) != ("base", "T")}
    needed = fields & set().union(*FIELDS.values())
    hold(told <= fields, f"about.told says what it has no field for: {', '.join(sorted(told - fields))}")
    hold(needed <= told, f"about.told says nothing of its field {', '.join(sorted(needed - told))}")


def difference(before: Any, after: Any, only: type = object) -> str:
    """The path of the first leaf, or of those of one type, in which two states differ; or nothing."""
    pairs = zip(leaves(before), leaves(after), strict=True)
    differing = (path for (path, old), (_, new) in pairs if isinstance(old, only) and not _are_the_same(old, new))
    return next(differing, "")


def _are_the_same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray):
        return bool(old.tobytes() == new.tobytes())
    return old is new or bool(state_to_json(old) == state_to_json(new))


def shapes_of(state: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and the shape of every array in a state."""
    return {path: (array.dtype.str, array.shape) for path, array in arrays(state).items()}


NUMBERS: dict[str, tuple[type, ...]] = {
    "True or False": (bool, np.bool_),
    "a whole number": (int, np.integer),
    "a float": (float, np.floating),
}
"""The kinds of numbers, in the order in which to try them: Python's True is an integer too.

A 64-bit word is a whole number like others: as plain Python, kernels make Python's integers of them.
"""


def kind_of(leaf: Any) -> str:
    """What a field holds, in words."""
    number: Any = type(leaf)
    return type_of(leaf) if isinstance(leaf, np.ndarray) else _kind_of_number(number) or type_of(leaf)


@functools.cache
def _kind_of_number(number: Any) -> str:
    """What a type of numbers is, in words; nothing for other types."""
    return next((kind for kind, types in NUMBERS.items() if issubclass(number, types)), "")


class Kinds(NamedTuple):
    """What every field of some states holds."""

    by_path: dict[str, str]
    builds: set[Any]  # of states whose fields hold just that


def build_of(state: Any) -> Any:
    """What the kinds of all fields follow from, and no more: quickly found, and quickly compared."""
    parts = [
        build_of(part)
        if isinstance(part, tuple)
        else (part.dtype, part.ndim)
        if isinstance(part, np.ndarray)
        else type(part)
        for part in state
    ]
    return (type(state), *parts)


def kinds_of(**states: Any) -> Kinds:
    """What every field of some states holds, by path."""
    return Kinds({path: kind_of(leaf) for name, state in states.items() for path, leaf in leaves(state, name)}, set())


def keep_kinds(kinds: Kinds, when: str, **states: Any) -> None:
    """The promise is broken unless every field holds what it held at first."""
    build = tuple((name, build_of(state)) for name, state in states.items())
    if build in kinds.builds:
        return
    for path, leaf in (leaf for name, state in states.items() for leaf in leaves(state, name)):
        kind, wanted = kind_of(leaf), kinds.by_path.get(path, "in the state at all")
        if kind != wanted:  # to write an array out takes longer than a round
            hold(False, f"{when}: {path} is {kind}, {leaf!r:.60}, not {wanted}")
    kinds.builds.add(build)
