"""What all specs share: a frozen description that survives JSON, checks its fields and names itself.

A spec is a frozen dataclass that says what to build and nothing about how far it has got.
``start`` turns it into a state.

A field checks itself if its type says how: ``beta: Positive``, ``keep: Count | None``, ``means: tuple[Fraction, ...]``,
``noise: Noise`` (a kind of spec), or ``Annotated[T, check]`` with any function ``check(owner, name, value)`` that
returns the value to keep. ``Checked`` gives the same to dataclasses that are no specs.
"""

import abc
import collections
import contextlib
import dataclasses
import difflib
import functools
import hashlib
import json
import sys
import traceback
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from . import sources

SPEC_TYPES: dict[str, type["Spec"]] = {}
"""Every spec type by its name: how a JSON text finds its class again."""


class Checked:
    """A frozen dataclass whose fields check themselves."""

    def __post_init__(self) -> None:
        owner: Any = type(self)
        checks: Mapping[str, Check] = checks_of(owner)
        self._keep(**{name: check(owner.__name__, name, getattr(self, name)) for name, check in checks.items()})

    def _keep(self, **values: Any) -> None:
        """Set fields, which a frozen dataclass allows nobody else to do; only while it is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Spec(Checked):
    """Abstract: a description of a policy, base, reservoir, drift, noise or world."""

    kind: ClassVar[str]  # "policy", "base", "reservoir", "drift", "noise" or "world"
    tried_with: ClassVar[tuple[dict[str, Any], ...]] = ({},)  # the fields of each of its examples

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
        if cls.__module__.partition(".")[0] != sources.PACKAGE:
            sources.note(cls.__module__)  # now: the file may be edited before a result speaks of it

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return tuple(cls(**values) for values in cls.tried_with)

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


def modules_of(part: Any) -> set[str]:
    """The modules outside the package that define a spec or one of its parts."""
    if isinstance(part, tuple):
        return set().union(*map(modules_of, part))
    if not isinstance(part, Spec):
        return set()
    spec_type: Any = type(part)
    inside = (modules_of(getattr(part, field.name)) for field in dataclasses.fields(part))  # type: ignore[arg-type]
    return set().union(_modules_of_type(spec_type), *inside)


@functools.cache
def _modules_of_type(spec_type: Any) -> frozenset[str]:
    """The modules outside the package that define a type of spec or one that it is derived from."""
    names = {each.__module__ for each in spec_type.__mro__ if issubclass(each, Spec) or sources.is_own(each.__module__)}
    return frozenset(name for name in names if name.partition(".")[0] != sources.PACKAGE)


RAISED = (Exception, SystemExit)
"""What code of one's own may raise: also what would end the program without a word."""


def text_of(error: object) -> str:
    """What an error says, even if it cannot say it: its own code may raise, too."""
    try:
        return str(error)
    except Exception as another:
        return f"(its text cannot be shown: {type(another).__name__})"


class BrokenSpec(ValueError):
    """Code of a spec of one's own has raised an error: the message says whose and where, the cause is that error."""


@contextlib.contextmanager
def own_errors(spec: Spec, method: str) -> Iterator[None]:
    """While this lasts, an error in the code of a spec of one's own becomes one that says whose it is, and where."""
    try:
        yield
    except MemoryError:
        raise
    except RAISED as error:
        modules = modules_of(spec)
        if not modules:
            raise
        raise BrokenSpec(
            f"{spec.label()}: its own code has raised an error, in {method}: {as_raised(error, modules)}; correct it "
            "there"
        ) from error


def as_raised(error: BaseException, modules: Collection[str]) -> str:
    """An error and its place, the last one in the code of these modules."""
    frames = list(traceback.walk_tb(error.__traceback__))
    ours = [place for place in frames if place[0].f_globals.get("__name__") in modules]
    frame, line = (ours or frames)[-1]
    return f"{type(error).__name__}: {text_of(error)} ({frame.f_code.co_filename}, line {line})"


class OwnFields:
    """The state type of a part that names none: it has the fields of the part, and is made when first asked for."""

    def __get__(self, part: Any, owner: Any) -> Any:
        names, defaults = [field.name for field in dataclasses.fields(owner)], []
        if not names:  # a state has values
            names, defaults = ["unused"], [0.0]
        name = f"{owner.__name__}State"
        made: Any = collections.namedtuple(name, names, defaults=defaults)  # type: ignore[misc]
        # Where to find it again: what is compiled for it is kept on disk.
        made.__module__, made.__qualname__ = owner.__module__, f"{owner.__qualname__}.state_type"
        owner.state_type = made
        return made


class Part(Spec, abc.ABC, abstract=True):
    """Abstract: a part of a world, without arrays of its own for every slot.

    A kernel of a part that names no ``state_type`` is annotated with the part itself, whose fields its state has.
    """

    state_type: ClassVar[Any] = OwnFields()

    def start(self) -> Any:
        """The state that the compiled loop carries: by default one with the spec's own fields, or what follows."""
        return filled(self.state_type, self)


def filled(state_type: Any, owner: Any, **values: Any) -> Any:
    """A state with these values, and for other fields the owner's attributes of the same name.

    Fields for which that gives None or nothing have the default that the state type says.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import manyarms as ma
    >>> class Numbers(NamedTuple):
    ...     first_loss: float
    ...     target: float = -1.0  # not told
    >>> filled(Numbers, ma.CBT(beta=1.0, first_loss=0.5))
    Numbers(first_loss=0.5, target=-1.0)
    """
    found = {name: values.get(name, getattr(owner, name, None)) for name in state_type._fields}
    return state_type(**{name: value for name, value in found.items() if value is not None})


def exported(names: Mapping[str, Any]) -> list[str]:
    """Of the names of a module, those of spec types: what it exports."""
    types = {name: value for name, value in names.items() if isinstance(value, type) and value is not Spec}
    return [name for name, value in types.items() if issubclass(value, Spec)]


Check = Callable[[str, str, Any], Any]
"""(owner, name, value) -> the value to keep, or an error that names the field, the value and the remedy."""


@functools.cache
def checks_of(owner: type) -> Mapping[str, Check]:
    """The checks of those fields whose types have one.

    Examples
    --------
    >>> import manyarms as ma
    >>> list(checks_of(ma.PowerLaw))
    ['beta', 'top']
    """
    try:
        hints = typing.get_type_hints(owner, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{owner.__name__}: the type of a field is not known where the class is ({error}); "
            "import it at the top of the module, and not for type checkers only"
        ) from error
    checks = ((name, _check_in(hint)) for name, hint in hints.items())
    return {name: check for name, check in checks if check is not None}


def _check_in(hint: Any) -> Check | None:
    """The check that a type asks for; one that allows None is checked for the rest only."""
    for part in getattr(hint, "__metadata__", ()):
        if callable(part):
            return part  # type: ignore[no-any-return]
    if isinstance(hint, type) and issubclass(hint, Spec):
        return of_kind(hint)
    parts = typing.get_args(hint)
    is_list, is_optional = typing.get_origin(hint) is tuple and parts[1:] == (...,), type(None) in parts
    check = next(filter(None, map(_check_in, parts)), None) if is_list or is_optional else None
    if check is None:
        return None
    return each(check) if is_list else functools.partial(_unless_none, check)


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
    return _built(values, "")


def _built(values: Mapping[str, Any], place: str) -> Any:
    """The spec that JSON values describe; an error begins with the ``place`` inside another one."""
    spec_type = _type_of(values, place)
    name, fields = spec_type.__name__, dataclasses.fields(spec_type)  # type: ignore[arg-type]
    names = ", ".join(sorted(field.name for field in fields))
    unknown = sorted(set(values) - {field.name for field in fields} - {"type"})
    if unknown:
        raise ValueError(f"{place}{name} has no field {unknown[0]!r}; its fields are {names}")
    missing = [field.name for field in fields if _is_needed(field) and field.name not in values]
    if missing:
        raise ValueError(f"{place}{name} needs the field {missing[0]!r}, which is missing; its fields are {names}")
    return spec_type(**{key: _rich(value, f"{place}{key}: ") for key, value in values.items() if key != "type"})


def _type_of(values: Mapping[str, Any], place: str) -> type[Spec]:
    """The type that JSON values name."""
    name = values.get("type")
    if isinstance(name, str) and name in SPEC_TYPES:
        return SPEC_TYPES[name]
    known = ", ".join(sorted(SPEC_TYPES))
    if "type" not in values:
        raise ValueError(f"{place}the field 'type' is missing; it says which spec is meant, one of {known}")
    if not isinstance(name, str):
        raise ValueError(f"{place}type must be the name of a spec, not {name!r}; known: {known}")
    near = difflib.get_close_matches(name, SPEC_TYPES, n=1)
    meant = f"did you mean {near[0]!r}? Or " if near else ""
    raise ValueError(
        f"{place}unknown spec type {name!r}; {meant}import the module that defines it (on the command line: "
        f"--import MODULE). Known: {known}"
    )


def _is_needed(field: "dataclasses.Field[Any]") -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


def _rich(value: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        return _built(value, place)
    if isinstance(value, list):
        return tuple(_rich(part, place) for part in value)
    return value


EXACT = 2**53
"""Every whole number up to here is a float."""


def plain_number(value: Any) -> Any:
    """A scalar of NumPy as Python's own number; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def number(owner: str, name: str, value: Any) -> float:
    """``value`` as a finite float, or an error that names the field."""
    if type(value) is float and abs(value) <= sys.float_info.max:  # mostly: live, every reward is one
        return value + 0.0  # no negative zero
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
    if type(value) is int and least <= value < EXACT:  # mostly: a snapshot has thousands of them
        return value
    result = number(owner, name, value)
    if result != int(result) or result < least:
        raise ValueError(f"{owner}: {name} must be a whole number of at least {least}, not {value!r}")
    if result >= 2.0**63:  # states carry 64-bit integers
        raise ValueError(f"{owner}: {name} must be below 2^63, not {value!r}")
    return int(plain_number(value))


FURTHEST = 2**62
"""No whole number is beyond it."""


def whole(owner: str, name: str, value: Any, least: int = -FURTHEST, most: int = FURTHEST) -> int:
    """``value`` as a whole number in that range, which a float is not even if it has one's value."""
    plain = plain_number(value)
    is_whole = isinstance(plain, int) and not isinstance(plain, bool)
    if is_whole and least <= plain <= most:
        return int(plain)
    if is_whole and abs(plain) > FURTHEST:
        span = f" from {'-2^62' if least < 0 else least} to 2^62"
    elif most < FURTHEST:
        span = f" from {least:,} to {most:,}"
    else:
        span = "" if least < 0 else f" of at least {least}"
    raise ValueError(f"{owner}: {name} must be a whole number{span}, not {value!r}")


def one_of(owner: str, name: str, value: Any, choices: Collection[str]) -> str:
    """``value``, which must be one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{owner}: {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def among(choices: Collection[str]) -> Check:
    """The check of a text that must be one of the choices."""
    return functools.partial(one_of, choices=choices)


def flag(owner: str, name: str, value: Any) -> bool:
    """``value`` as True or False, nothing else."""
    if not isinstance(value, bool):
        raise ValueError(f"{owner}: {name} must be True or False, not {value!r}")
    return value


def several(owner: str, name: str, values: Any) -> tuple[Any, ...]:
    """``values`` as a tuple, or an error that names the field."""
    try:
        return tuple(values)
    except TypeError:
        raise ValueError(f"{owner}: {name} must be a list, not {values!r}") from None


def each(check: Check) -> Check:
    """The check of a list, each of whose entries is checked: all become a tuple."""

    def check_all(owner: str, name: str, values: Any) -> tuple[Any, ...]:
        return tuple(check(owner, f"each of the {name}", value) for value in several(owner, name, values))

    return check_all


def of_kind(kind: type[Spec], such_as: str = "") -> Check:
    """The check of a spec of that kind; an example makes the error clearer."""

    def check_kind(owner: str, name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        wanted = f"{kind.__name__} such as {such_as}" if such_as else kind.__name__
        raise TypeError(f"{owner}: {name} must be a {wanted}, not {value!r}{_remedy(owner, value)}")

    return check_kind


def _remedy(owner: str, value: Any) -> str:
    """What to do with a value that is no spec of the kind that was wanted, if it can be told."""
    if isinstance(value, type):
        return f"; write ma.{value.__name__}(…)"
    if isinstance(value, str) and value in SPEC_TYPES:
        return f'; write ma.{value}(…), or {{type = "{value}"}} in a file'
    if isinstance(value, Spec) and value.kind in getattr(SPEC_TYPES.get(owner), "__dataclass_fields__", ()):
        return f"; pass it as {value.kind}=…"
    return ""


def two_or_more(kind: type[Spec]) -> Check:
    """The check of a list of at least two specs of that kind."""

    def check_kinds(owner: str, name: str, values: Any) -> tuple[Any, ...]:
        parts = several(owner, name, values)
        if len(parts) < 2 or not all(isinstance(part, kind) for part in parts):
            raise ValueError(f"{owner}: {name} must be two or more {kind.kind}s, not {values!r}")
        return parts

    return check_kinds


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
