"""From a spec to its twin, found by the name of the spec's type.

A module of this folder offers twins by ``@twin_of("Elimination")`` over a function that takes the spec and the
``Setting`` of the run. For a policy it returns what makes the generator from its ``Counts``, for a base what makes the
base from its arms, horizon and log(horizon). Nothing else has to be told of a new module.
"""

import functools
import importlib
import math
import pkgutil
from typing import Any, NamedTuple

from .loop import play
from .squares import POLICY_STREAM, replication_key, stream_key
from .world import NaiveWorld

TWINS: dict[str, Any] = {}
"""By the name of the spec's type; complete once ``all_twins`` has been called."""


class Setting(NamedTuple):
    """What a twin may know besides its spec."""

    rounds: int = 0
    key: int = 0  # of the policy's random stream
    world: Any = None  # for those who see the means


def twin_of(*names):
    """Offer a twin for the spec types of these names."""

    def offer(maker):
        for name in names:
            assert name not in TWINS, f"two twins of {name}"
            TWINS[name] = maker
        return maker

    return offer


@functools.cache
def all_twins():
    """Every twin that a module of this folder offers."""
    package = __package__
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return TWINS


def new_twin(spec, setting):
    """What makes the twin of a policy or base."""
    name = type(spec).__name__
    assert name in all_twins(), f"{name} has no twin: write one in tests/reference/, marked @twin_of({name!r})"
    return all_twins()[name](spec, setting)


def twin_run(spec, world_spec, rounds, seed, replication, ignored=None, simple=None):
    """The log and the columns of a twin's run; ``ignored`` and ``simple`` are as for ``play``."""
    world = NaiveWorld(world_spec, seed, replication)
    label = spec.with_horizon(rounds).digest()
    key = stream_key(replication_key(seed, replication), POLICY_STREAM, label)
    return play(new_twin(spec, Setting(rounds, key, world)), world, rounds, ignored, simple)


def from_preset(spec, presets):
    """The preset with the keywords that were given put over it."""
    preset = presets[spec.preset]
    given = {name: getattr(spec, name) for name in preset}
    return preset | {name: value for name, value in given.items() if value is not None}


def calibrated(presets):
    """The preset of the fast code that is a choice and not a promise of a source, as a user would write it."""
    preset = presets["calibrated"]
    return preset | {"log_base": "e"} if preset.get("log_base") == math.e else preset


def known(spec, rounds):
    """T, or None when it is unknown. Left open, it is that of the simulation."""
    if spec.horizon == "doubling":
        return None
    return rounds if spec.horizon is None else spec.horizon
