"""What a promise is, how it is tried, and those that every spec keeps."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..snapshots import state_to_json
from ..specs import Spec, spec_from_json

Check = tuple[str, Callable[[], None]]
"""The name of a promise, and a function that raises ``CheckError`` if it is broken."""

SEED = 20_240_501


class CheckError(AssertionError):
    """A promise was broken."""


class Broken(Exception):
    """What happened; the promise adds its name and the spec's."""


def promise(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a failure name the promise, the spec and what happened."""

    @functools.wraps(function)
    def checked(spec: Any) -> None:
        words = (function.__doc__ or "").strip().splitlines()[0]
        head = f"{label_of(spec)} breaks {function.__name__!r} ({words.rstrip('.')}): "
        try:
            function(spec)
        except Broken as error:
            raise CheckError(f"{head}{error}") from None
        except Exception as error:
            raise CheckError(f"{head}{type(error).__name__}: {error}") from error

    return checked


def label_of(spec: Any) -> str:
    """What to call a spec, or what should have been one."""
    return spec.label() if isinstance(spec, Spec) else repr(spec)


def hold(condition: object, what: str) -> None:
    """The promise is broken unless this holds."""
    if not condition:
        raise Broken(what)


def named(promises: Any, spec: Spec) -> list[Check]:
    """Promises about one spec, by name."""
    return [(function.__name__, functools.partial(function, spec)) for function in promises]


def run_all(listed: list[Check]) -> None:
    """Try them one after another."""
    for _, check in listed:
        check()


@promise
def survives_json(spec: Spec) -> None:
    """A spec survives JSON, with the same digest."""
    text = json.dumps(spec.to_json(), allow_nan=False)
    copy = spec_from_json(json.loads(text))
    hold(copy == spec, f"{text} became {copy!r}")
    hold(copy.to_json() == spec.to_json(), f"{text} became {copy.to_json()}")
    hold(copy.digest() == spec.digest() == spec.digest(), f"digest {spec.digest():#x} became {copy.digest():#x}")
    hold(0 <= spec.digest() < 2**64, f"the digest {spec.digest():#x} is no 64-bit word")


@promise
def is_frozen(spec: Spec) -> None:
    """A spec cannot be changed."""
    for field in dataclasses.fields(spec):  # type: ignore[arg-type]
        try:
            setattr(spec, field.name, getattr(spec, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        raise Broken(f"its field {field.name} can be set; use @dataclass(frozen=True)")


@promise
def names_its_source(spec: Spec) -> None:
    """The docstring of its module says where the algorithm comes from."""
    module = inspect.getmodule(type(spec))
    text = (module.__doc__ if module else None) or ""
    ours = type(spec).__module__.partition(".")[0] == Spec.__module__.partition(".")[0]  # others cite as they like
    hold("Source:" in text or not ours, f"no 'Source:' in the docstring of {type(spec).__module__}")


def difference(before: Any, after: Any, where: str = "state") -> str:
    """The first field in which two states differ, or nothing."""
    if isinstance(before, tuple) and hasattr(before, "_fields"):
        parts = zip(before._fields, before, after, strict=True)
        return next(filter(None, (difference(old, new, f"{where}.{name}") for name, old, new in parts)), "")
    if isinstance(before, np.ndarray):
        return "" if before.tobytes() == after.tobytes() else where
    return "" if state_to_json(before) == state_to_json(after) else where


def arrays_of(state: Any, where: str = "state") -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and the shape of every array in a state."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        for name, part in zip(state._fields, state, strict=True):
            found |= arrays_of(part, f"{where}.{name}")
        return found
    return {where: (state.dtype.str, state.shape)} if isinstance(state, np.ndarray) else {}


def arrays_in_json(state: Any) -> list[str]:
    """The bytes of every array in a saved state."""
    if not isinstance(state, dict):
        return []
    if "base64" in state:
        return [state["base64"]]
    return [text for part in state.values() for text in arrays_in_json(part)]


def types_of(state: Any) -> Any:
    """What the compiler sees of a state: types, but no values and no sizes."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return (type(state).__name__, *map(types_of, state))
    if isinstance(state, np.ndarray):
        return f"{state.dtype.str}[{state.ndim}]"
    return type(state).__name__
