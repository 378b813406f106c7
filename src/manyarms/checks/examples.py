"""One or more specs of every type: each type says which."""

from .. import bases, drifts, feedbacks, noises, policies, reservoirs
from ..drifts import Adversary, Crash, Drift, Fatigue, JumpAt, Phases, RandomWalk, Rising, Rotting, Still, Turnover
from ..noises import Bernoulli, BetaNoise, Exact, GapUniform, Noise
from ..reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Reservoir, Uniform
from ..specs import SPEC_TYPES, Spec, exported
from ..world import World

WORLDS: tuple[tuple[type[Reservoir], type[Drift], type[Noise]], ...] = (
    (PowerLaw, Rotting, Bernoulli),
    (Uniform, Rising, GapUniform),
    (BetaDistributed, Crash, BetaNoise),
    (Empirical, JumpAt, Exact),
    (Mixture, Phases, Bernoulli),
    (PowerLaw, RandomWalk, GapUniform),
    (Uniform, Adversary, BetaNoise),
    (BetaDistributed, Turnover, Exact),
    (Empirical, Fatigue, Bernoulli),
    (Mixture, Still, GapUniform),
)
"""Types of parts that meet in the example worlds. Types that are not listed get worlds of their own."""


def examples() -> list[Spec]:
    """Specs of every type in the package, and worlds that use every reservoir, drift and noise.

    Examples
    --------
    >>> from manyarms.checks import examples
    >>> sorted({spec.kind for spec in examples()})
    ['base', 'delay', 'drift', 'feedback', 'noise', 'policy', 'reservoir', 'world']
    """
    rooms = (policies, bases, reservoirs, drifts, noises, feedbacks)
    parts = [spec for room in rooms for spec in examples_in(room)]
    return [*parts, *example_worlds(parts)]


def examples_in(room: object) -> list[Spec]:
    """The examples of every spec type that a module exports."""
    return [spec for spec_type in types_in(room) for spec in spec_type.examples()]


def types_in(room: object) -> list[type[Spec]]:
    """The spec types that a module exports, without the abstract ones."""
    return [SPEC_TYPES[name] for name in exported(vars(room)) if name in SPEC_TYPES]


def example_worlds(parts: list[Spec]) -> list[World]:
    """Worlds in which every part is used, but for feedbacks: what a world does is the same with all of them."""
    listed = {part for types in WORLDS for part in types}
    worlds = [
        World(reservoir.examples()[0], drift.examples()[0], noise.examples()[0]) for reservoir, drift, noise in WORLDS
    ]
    plain = World(PowerLaw(beta=1.0))
    kinds = {"reservoir", "drift", "noise"}
    others = [spec for spec in parts if spec.kind in kinds and type(spec) not in listed]
    return worlds + [plain.replace(**{spec.kind: spec}) for spec in others]
