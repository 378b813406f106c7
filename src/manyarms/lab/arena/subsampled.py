"""The finite-armed bases that meet on subsamples, in both arenas; and who enters without being listed."""

import dataclasses
import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ... import bases
from ...bases import (
    BARBAR,
    CUSUMUCB,
    DUCB,
    FEWA,
    IMED,
    KLUCB,
    MASTER,
    META,
    MOSS,
    MUCB,
    RAWUCB,
    SWUCB,
    UCB,
    UCBV,
    AsymptoticUCB,
    Base,
    EpsilonGreedy,
    Exp3S,
    GaussianThompson,
    GLRklUCB,
    Greedy,
    KLUCBPlusPlus,
    MultiLayerRace,
    RestartAt,
    Rexp3,
    RisingUCB,
    RLessUCB,
    SuccessiveElimination,
    Thompson,
    TsallisINF,
)
from ...policies import Oracle

BASES: dict[str, Base] = {
    "UCB": UCB(),
    "SuccessiveElimination": SuccessiveElimination(),
    "MOSS": MOSS(),
    "KLUCBPlusPlus": KLUCBPlusPlus(),
    "IMED": IMED(),
    "UCBV": UCBV(exploration="loglog", anytime=True),  # UCB-F
    "EpsilonGreedy": EpsilonGreedy(),
    "GaussianThompson": GaussianThompson(),
    "TsallisINF": TsallisINF(),
    # As published, the next two play at random for longer than anybody plays.
    "BARBAR, scaled": BARBAR(scale=2.0**-10),
    "MultiLayerRace, scaled": MultiLayerRace(scale=0.01),
    "SWUCB": SWUCB(),
    "DUCB": DUCB(),
    "RAWUCB": RAWUCB(),
    "FEWA": FEWA(),
    "RisingUCB": RisingUCB(),
    "RLessUCB": RLessUCB(),
    "GLRklUCB": GLRklUCB(),
    "CUSUMUCB": CUSUMUCB(),
    "MUCB": MUCB(),
    "Exp3S": Exp3S(),
    "Rexp3": Rexp3(),
    "META": META(),
    "MASTER": MASTER(),
}
"""By name, with the settings that they have by themselves, if nothing else is said; those that nobody has listed come
behind."""

ELSEWHERE: tuple[type, ...] = (Greedy, KLUCB, AsymptoticUCB, Thompson)
"""Bases that take part in more than one way. (The index of SSUCB is that of AsymptoticUCB.)"""

LEFT_OUT: dict[type, str] = {
    Oracle: "sees means",
    RestartAt: "is told in which rounds means change, and here every arm has rounds of its own",
}
"""The policies and bases of the package that no arena has, and why."""


def unlisted(room: ModuleType, listed: Iterable[type]) -> list[Any]:
    """The policies or bases that a package exports, and that are not listed: what is new enters by itself.

    Examples
    --------
    >>> unlisted(bases, {*map(type, BASES.values()), *ELSEWHERE, *LEFT_OUT})
    []
    """
    there = set(listed)
    kinds = (getattr(room, name) for name in room.__all__)
    return [kind for kind in kinds if not inspect.isabstract(kind) and kind not in there]


def must_be_told(kind: Any) -> list[str]:
    """The fields of a spec type without a default.

    Examples
    --------
    >>> must_be_told(UCB), must_be_told(RestartAt)
    ([], ['base', 'rounds'])
    """
    fields = dataclasses.fields(kind)
    return [one.name for one in fields if one.default is one.default_factory is dataclasses.MISSING]


BASES |= {
    kind.__name__: kind()
    for kind in unlisted(bases, {*map(type, BASES.values()), *ELSEWHERE, *LEFT_OUT})
    if not must_be_told(kind)
}
