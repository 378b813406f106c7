"""Benchmarks: what a round of every policy and every base costs with few arms and with many, as ratios to the floor.

A base plays a `Subsample` of just so many arms. A policy that decides itself how many it keeps cannot be told; it
plays equally long: so many rounds for each arm. Nothing changes in the world. As in `manyarms.bench`, every timing
stands between two of the floor.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import bases, bench, policies
from .bases import Base
from .bench import Timing, costs, floor_ns, machine, policy_ns
from .checks.examples import types_in
from .policies import Policy, Subsample
from .reservoirs import PowerLaw
from .specs import Spec, count
from .tables import Table
from .world import World

STILL = World(PowerLaw(beta=1.0))
"""Where all play: coins that stand still."""

ROUNDS_FOR_AN_ARM = 100
"""The horizon for each arm. With 100 arms it is that for which ``Subsample`` chooses 100 itself."""

FIRST_ROUNDS_FOR_AN_ARM = 4
"""Of slow policies only the first rounds of a run are timed: so many for each arm."""

LONGEST_S = 0.5
"""A policy is slow if a run takes longer."""


def entrants() -> dict[str, Spec]:
    """Every base and policy of the package, by its label. ``Subsample`` is what bases play in."""
    types = [spec_type for room in (bases, policies) for spec_type in types_in(room) if spec_type is not Subsample]
    return {spec.label(): spec for spec in map(as_shipped, types)}


def as_shipped(spec_type: type[Spec]) -> Spec:
    """A spec with the defaults of its type; in fields that must be told, as in its first example.

    Examples
    --------
    >>> import manyarms as ma
    >>> as_shipped(ma.Elimination).label(), as_shipped(ma.UCBTASW).label()
    ('Elimination(beta=1.0)', 'UCBTASW(beta=1.0, variation=1.0)')
    """
    spec = spec_type.examples()[0]
    for field in dataclasses.fields(spec):  # type: ignore[arg-type]
        if field.default is not dataclasses.MISSING:
            with contextlib.suppress(ValueError):  # told neither this nor that, it could do nothing
                spec = spec.replace(**{field.name: field.default})
    return spec


def takes_arms(spec: Spec) -> bool:
    """Whether it can be told with how many arms to play."""
    return isinstance(spec, Base) or hasattr(spec, "arms")


def playing(spec: Spec, arms: int) -> Policy:
    """The policy that plays with so many arms, or for as long."""
    horizon = ROUNDS_FOR_AN_ARM * arms
    if isinstance(spec, Base):
        return Subsample(base=spec, beta=1.0, arms=arms, horizon=horizon)
    policy: Any = spec.replace(arms=arms) if takes_arms(spec) else spec
    return policy.with_horizon(horizon)  # type: ignore[no-any-return]


def most_arms(spec: Spec) -> float:
    """With more than so many arms it does not play."""
    return spec.most_arms if isinstance(spec, Base) else float("inf")


def timing_with(spec: Spec, arms: int) -> Timing:
    """What is timed: as many whole runs as are worth it, or the first rounds of a slow one."""
    policy, horizon = playing(spec, arms), ROUNDS_FOR_AN_ARM * arms
    policy_ns(policy, 100, 100, STILL)  # compiles
    tried = 2 * arms  # every arm once, which may be cheap, and as many rounds again
    run_s = policy_ns(policy, tried, tried, STILL) * horizon / 1e9
    if run_s > LONGEST_S:
        first = FIRST_ROUNDS_FOR_AN_ARM * arms
        return Timing(policy, first, first, STILL)
    runs = min(bench.ROUNDS // horizon, int(LONGEST_S / run_s))
    return Timing(policy, horizon, max(1, runs) * horizon, STILL)


def measure(arms: Sequence[int], turns: int = 9, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """All figures, as plain values: medians over so many turns, a third as many for what is slow."""
    turns = count("bench", "turns", turns)
    numbers = [count("bench", "arms", number) for number in arms]
    specs = entrants()
    floor_ns(1000)
    timed: dict[str, Timing] = {}
    about: dict[str, dict[str, Any]] = {}
    for place, (label, spec) in enumerate(specs.items(), 1):
        say(f"compiling {place} of {len(specs)}: {label}")
        for number in numbers:
            if number <= most_arms(spec):
                name = figure_name(label, number)
                timed[name] = timing_with(spec, number)
                about[name] = {"arms": number, "kept": timed[name].spec.slots(timed[name].horizon)}
    slow = {name: timing for name, timing in timed.items() if is_cut(timing.horizon, about[name]["arms"])}
    fast = {name: timing for name, timing in timed.items() if name not in slow}
    floors: list[float] = []
    found: dict[str, dict[str, float]] = {}
    for group, taken in ((fast, turns), (slow, max(1, turns // 3))):
        if group:
            say(f"a round of each, {len(group)} of {len(timed)}, {taken} turns")
            floor, costs_found = costs(group, taken)
            floors.append(floor)
            found |= costs_found
    figures = {name: found[name] | about[name] for name in timed}
    return {"machine": machine(), "floor_ns": floors[0], "arms": numbers, "policies": figures}


def figure_name(label: str, arms: int) -> str:
    """The name of a figure."""
    return f"{label}, {arms:,} arms"


def is_cut(rounds: int, arms: int) -> bool:
    """Whether these are only the first rounds of a run."""
    return rounds < ROUNDS_FOR_AN_ARM * arms


def report(figures: dict[str, Any]) -> str:
    """The figures as text."""
    told, own = [], []
    for label, spec in entrants().items():
        if takes_arms(spec):
            told.append({"with so many arms": label} | dict(cells(label, spec, figures)))
        else:
            own.append({"with its own number of arms": label} | dict(cells(label, spec, figures)))
    cut = [name for name, found in figures["policies"].items() if is_cut(found["rounds"], found["arms"])]
    said = f"\n\nthe first {FIRST_ROUNDS_FOR_AN_ARM} rounds for each arm only: {'; '.join(cut)}" if cut else ""
    return (
        f"{Table(told)}\n\n{Table(own)}{said}\n\n"
        f"floor                     {figures['floor_ns']:.2f} ns a round\n"
        f"horizon                   {ROUNDS_FOR_AN_ARM} rounds for each arm\n"
        f"{figures['machine']['processor']}, Python {figures['machine']['python']}"
    )


def cells(label: str, spec: Spec, figures: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The columns of a row, with their heads."""
    ratios = []
    for arms in figures["arms"]:
        found = figures["policies"].get(figure_name(label, arms), {})
        ratios.append(found.get("ratio", float("nan")))
        if takes_arms(spec):
            column = f"{arms:,} arms"
        else:
            column = f"{ROUNDS_FOR_AN_ARM * arms:,} rounds"
            yield f"arms in {column}", found["kept"]
        yield f"ns, {column}", found.get("ns", float("nan"))
        yield f"ratio, {column}", ratios[-1] if found else f"at most {most_arms(spec):,} arms"
    if len(ratios) > 1:
        yield "growth", ratios[-1] / ratios[0]
