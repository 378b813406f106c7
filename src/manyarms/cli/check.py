"""``manyarms check``."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import CheckError, checks, examples
from ..specs import RAISED, SPEC_TYPES, Spec, text_of
from .options import command, option
from .output import say
from .own import imported


@command(
    "the promises of a policy, base or part of a world",
    option(
        "--import",
        help="a module of your own: its specs can be named like the package's; may be given several times",
    ),
    option(
        "names",
        nargs="*",
        metavar="NAME",
        help="if left out, all that the modules of --import define, or else all of the package's; your own also as "
        "module:Name: a class, an instance, or a function that makes one or a list of them",
    ),
)
def check(options: argparse.Namespace) -> int:
    """Try every promise; say which are broken."""
    own = own_types(options.imports)
    names = options.names or sorted(own if options.imports else {type(spec).__name__ for spec in examples()})
    if not names:
        raise LookupError(
            f"{' and '.join(options.imports)} define no policy, base or part of a world; name what makes one as "
            "module:Name"
        )
    chosen = [(name, specs_called(name, own)) for name in names]
    broken = 0
    for name, specs in chosen:
        kept = 0
        for spec in specs:
            for _, try_it in checks(spec):
                try:
                    try_it()
                except CheckError as error:
                    broken += 1
                    say(f"{name}: {error}")
                else:
                    kept += 1
        say(f"{name}: {kept} promises kept")
    return 1 if broken else 0


def own_types(imports: Sequence[str]) -> dict[str, type[Spec]]:
    """The spec types that modules of one's own define, by name."""
    inside = tuple(f"{imported(module).__name__}." for module in imports)
    return {name: spec_type for name, spec_type in SPEC_TYPES.items() if f"{spec_type.__module__}.".startswith(inside)}


def specs_called(name: str, own: dict[str, type[Spec]] | None = None) -> list[Spec]:
    """Examples of a spec type, the package's or one's ``own``, or what ``module:Name`` is or makes."""
    module, colon, attribute = name.partition(":")
    if colon:
        value = getattr(imported(module), attribute, None)
        if value is None:
            raise LookupError(f"cannot find {name!r}: the module {module!r} has no {attribute!r}")
        return _made(name, value if callable(value) and not isinstance(value, Spec) else lambda: value)
    if own and name in own:
        return _made(name, own[name].examples)
    found = [spec for spec in examples() if type(spec).__name__ == name]
    if not found:
        known = ", ".join(sorted({type(spec).__name__ for spec in examples()} | set(own or ())))
        raise LookupError(f"nothing is called {name!r}; there are {known}, and your own as module:Name")
    return found


def _made(name: str, maker: Callable[[], Any]) -> list[Spec]:
    """The specs that a class or function of one's own makes of nothing."""
    try:
        made = maker()
    except RAISED as error:  # its own code may raise anything
        raise LookupError(
            f"{name} cannot be made with its defaults ({type(error).__name__}: {text_of(error)}); name an instance, or "
            "a function that makes one"
        ) from error
    specs = list(made) if isinstance(made, (list, tuple)) else [made]
    if not specs or not all(isinstance(spec, Spec) for spec in specs):
        raise LookupError(
            f"{name} gives {made!r}; it must give a policy, a base, a world or a part of one, or a list of them"
        )
    return specs
