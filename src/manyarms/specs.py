"""What all specs share: a frozen description that survives JSON, checks its fields and names itself.

A spec is a frozen dataclass that says what to build and nothing about how far it has got.
``start`` turns it into a state. A field checks itself if its type says how: ``beta: Positive``, ``keep: Count | None``,
or ``Annotated[T, check]`` with any function ``check(owner, name, value)`` that returns the value to keep.
"""

import dataclasses
import functools
import hashlib
import json
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np

SPEC_TYPES: dict[str, type["Spec"]] = {}
"""Every spec type by its name: how a JSON text finds its class again."""


class Spec:
    """Abstract: a description of a policy, base, reservoir, drift, noise or world."""

    kind: ClassVar[str]  # "policy", "base", "reservoir", "drift", "noise" or "world"

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if abstract:
            return
        known = SPEC_TYPES.get(cls.__name__)
        if known is not None and known.__module__ != cls.__module__:
            raise TypeError(
                f"a spec named {cls.__name__!r} is already defined in {known.__module__}; choose another name"
            )
        SPEC_TYPES[cls.__name__] = cls

    def __post_init__(self) -> None:
        spec_type: Any = type(self)
        for name, check in checks_of(spec_type).items():
            object.__setattr__(self, name, check(spec_type.__name__, name, getattr(self, name)))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on: one as it is, unless a type has some that get more out of it."""
        return (cls(),)

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {"type": type(self).__name__} | {f.name: _plain(getattr(self, f.name)) for f in fields}

    def digest(self) -> int:
        """A 64-bit number that identifies the spec: the label of its random stream."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def label(self) -> str:
        """The spec with the settings that differ from the defaults."""
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING or value != field.default:
                text = value.label() if isinstance(value, Spec) else repr(value)
                shown.append(f"{field.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"


def exported(names: Mapping[str, Any]) -> list[str]:
    """Of the names of a module, those of spec types: what it exports."""
    types = {name: value for name, value in names.items() if isinstance(value, type) and value is not Spec}
    return [name for name, value in types.items() if issubclass(value, Spec)]


Check = Callable[[str, str, Any], Any]
"""(owner, name, value) -> the value to keep, or an error that names the field, the value and the remedy."""


@functools.cache
def checks_of(spec_type: type) -> dict[str, Check]:
    """The checks of those fields whose types have one.

    Examples
    --------
    >>> import manyarms as ma
    >>> list(checks_of(ma.PowerLaw))
    ['beta', 'top']
    """
    hints = typing.get_type_hints(spec_type, include_extras=True)
    checks = ((name, _check_in(hint)) for name, hint in hints.items())
    return {name: check for name, check in checks if check is not None}


def _check_in(hint: Any) -> Check | None:
    """The check that a type is annotated with; a type that allows None is checked for the rest only."""
    for part in getattr(hint, "__metadata__", ()):
        if callable(part):
            return part  # type: ignore[no-any-return]
    parts = typing.get_args(hint)
    if type(None) not in parts:
        return None
    check = next(filter(None, map(_check_in, parts)), None)
    return None if check is None else functools.partial(_unless_none, check)


def _unless_none(check: Check, owner: str, name: str, value: Any) -> Any:
    return None if value is None else check(owner, name, value)


def spec_from_json(values: Mapping[str, Any]) -> Any:
    """Build the spec that ``to_json`` described.

    Examples
    --------
    >>> import manyarms as ma
    >>> spec = ma.Elimination(beta=0.5)
    >>> ma.spec_from_json(spec.to_json()) == spec
    True
    """
    name = values.get("type")
    if name not in SPEC_TYPES:
        known = ", ".join(sorted(SPEC_TYPES))
        raise ValueError(
            f"unknown spec type {name!r}; import the module that defines it (on the command line: --import MODULE). "
            f"Known: {known}"
        )
    spec_type = SPEC_TYPES[name]
    fields = {field.name for field in dataclasses.fields(spec_type)}  # type: ignore[arg-type]
    unknown = set(values) - fields - {"type"}
    if unknown:
        raise ValueError(f"{name} has no field {sorted(unknown)[0]!r}; its fields are {', '.join(sorted(fields))}")
    return spec_type(**{key: _rich(value) for key, value in values.items() if key != "type"})


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


def _rich(value: Any) -> Any:
    if isinstance(value, Mapping):
        return spec_from_json(value)
    if isinstance(value, list):
        return tuple(_rich(part) for part in value)
    return value


def plain_number(value: Any) -> Any:
    """A scalar of NumPy as Python's own number; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def number(owner: str, name: str, value: Any) -> float:
    """``value`` as a finite float, or an error that names the field."""
    plain = plain_number(value)
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not abs(plain) <= sys.float_info.max:
        raise ValueError(f"{owner}: {name} must be a finite number, not {value!r}")
    return float(plain) + 0.0  # no negative zero


def positive(owner: str, name: str, value: Any) -> float:
    """``value`` as a float above 0."""
    result = number(owner, name, value)
    if result <= 0.0:
        raise ValueError(f"{owner}: {name} must be above 0, not {value!r}")
    return result


def fraction(owner: str, name: str, value: Any) -> float:
    """``value`` as a float in [0, 1]."""
    result = number(owner, name, value)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"{owner}: {name} must lie in [0, 1], not {value!r}")
    return result


def count(owner: str, name: str, value: Any, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``."""
    result = number(owner, name, value)
    if result != int(result) or result < least:
        raise ValueError(f"{owner}: {name} must be a whole number of at least {least}, not {value!r}")
    if result >= 2.0**63:  # states carry 64-bit integers
        raise ValueError(f"{owner}: {name} must be below 2^63, not {value!r}")
    return int(plain_number(value))


def several(owner: str, name: str, values: Any) -> tuple[Any, ...]:
    """``values`` as a tuple, or an error that names the field."""
    try:
        return tuple(values)
    except TypeError:
        raise ValueError(f"{owner}: {name} must be a list, not {values!r}") from None


def flag(owner: str, name: str, value: Any) -> bool:
    """``value`` as True or False, nothing else."""
    if not isinstance(value, bool):
        raise ValueError(f"{owner}: {name} must be True or False, not {value!r}")
    return value


Number = Annotated[float, number]
Positive = Annotated[float, positive]
Fraction = Annotated[float, fraction]
Count = Annotated[int, count]
Flag = Annotated[bool, flag]
"""Types of fields that check themselves."""


def checked_seed(seed: Any) -> int:
    """A seed as a plain integer."""
    plain = plain_number(seed)
    if isinstance(plain, bool) or not isinstance(plain, int) or not 0 <= plain < 2**64:
        raise ValueError(f"seed must be a whole number from 0 to 2^64 - 1, not {seed!r}")
    return plain
