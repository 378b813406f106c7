"""Modules of one's own, given by ``--import`` or ``module:Name``."""

import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..specs import RAISED, text_of


def imported(name: str) -> ModuleType:
    """A module of one's own: of the folder one stands in, or from where Python finds it."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise LookupError(f"{name!r} is not the name of a module, such as mine or package.mine")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as with python -m
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            hint = f"write {name.removesuffix('.py')}, " if name.endswith(".py") else ""
            raise LookupError(
                f"there is no module {name!r}, neither in {os.getcwd()} nor where Python looks; {hint}go to its "
                "folder, or put that on PYTHONPATH"
            ) from None
        raise LookupError(f"the module {name!r} cannot be imported: {text_of(error)}") from None
    except RAISED as error:  # its own code may raise anything
        raise LookupError(
            f"the module {name!r} cannot be imported: {type(error).__name__}: {text_of(error)}"
        ) from error


def lab_with(imports: Sequence[str]) -> Any:
    """The lab, where studies can use what modules of one's own define."""
    from .. import lab  # first: if a name is there twice, it is the other module that has to choose another one

    before, names = dict(lab.NAMED_STUDIES), set(lab.study_names())
    for module in imports:
        imported(module)
        changed = {name for name, made in lab.NAMED_STUDIES.items() if name not in before or made is not before[name]}
        taken = sorted(changed & names)
        if taken:
            lab.NAMED_STUDIES.clear()
            lab.NAMED_STUDIES.update(before)
            raise ValueError(
                f"the module {module!r} defines a study {taken[0]!r}, but there is one called so; choose another name"
            )
    return lab
