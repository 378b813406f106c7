"""The promises of bases: their own, and those of two policies that run them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..bases import Base
from ..contract import Choice, learn, pick, renew
from ..policies import Blackbox, Subsample
from ..states import copied
from ..streams import policy_key
from .policies import policy_checks
from .promises import (
    SEED,
    Check,
    difference,
    hold,
    is_frozen,
    named,
    names_its_source,
    promise,
    run_all,
    survives_json,
)


class _Problem(NamedTuple):
    """A finite problem for a base."""

    arms: int
    horizon: float


def _picks(base: Any, problem: _Problem, rounds: int) -> Iterator[tuple[int, float]]:
    """Renew a base for a problem and play it; slot 0 is the worst, the last slot the best."""
    base = renew(base, problem.arms, problem.horizon, float(np.log(problem.horizon)))
    key = np.uint64(policy_key(SEED, 0))
    for round in range(1, rounds + 1):
        before = copied(base)
        slot, probability = pick(base, key, round, 0)
        again = pick(base, key, round, 0)
        hold((slot, probability) == again, f"round {round}: picked {(slot, probability)}, then {again}")
        pick(base, key, round, 3)
        changed = difference(before, base)
        hold(not changed, f"round {round}: pick changed {changed}")
        hold(0 <= slot < problem.arms, f"round {round}: slot {slot} of {problem.arms}")
        hold(0.0 < probability <= 1.0, f"round {round}: probability {probability!r}")
        yield int(slot), float(probability)
        choice = Choice(slot=int(slot), arm=int(slot), probability=probability, block=1, round=round)
        base = learn(base, choice, 1.0 if (round * 7 + 3 * slot) % (problem.arms + 5) < slot + 2 else 0.0)


@promise
def picks_are_in_range(spec: Base) -> None:
    """A pick changes nothing, is one of the slots, and has a probability in (0, 1]."""
    for arms in (1, 2, 3, 17):
        for _ in _picks(spec.start(17), _Problem(arms, 300.0), 300):
            pass


@promise
def renewal_forgets(spec: Base) -> None:
    """After renew, a used base is as good as a new one."""
    used = spec.start(17)
    for _ in _picks(used, _Problem(17, 400.0), 250):
        pass
    for arms in (1, 5, 16, 17):
        problem = _Problem(arms, 300.0)
        once = list(_picks(used, problem, 120))
        fresh = list(_picks(spec.start(17), problem, 120))
        hold(once == fresh, f"{arms} arms: a renewed base picked {once}, a new one {fresh}")


BASE_PROMISES = (survives_json, is_frozen, names_its_source, picks_are_in_range, renewal_forgets)
"""What every base promises by itself."""


def base_checks(spec: Base) -> list[Check]:
    """The promises of a base, by name: its own, and those of two policies that run it.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import base_checks
    >>> names = [name for name, check in base_checks(ma.UCB())]
    >>> names[-1].partition(".")[0]
    'Subsample'
    """
    if not isinstance(spec, Base):
        raise TypeError(f"base_checks: {spec!r} is not a base")
    checks = named(BASE_PROMISES, spec)
    about_the_policy = {"names_its_source", "is_frozen"}
    # A low threshold, so that there are restarts in short runs.
    for policy in (Blackbox(base=spec, beta=1.0, threshold=0.1), Subsample(base=spec, beta=1.0)):
        kind = type(policy).__name__
        checks += [(f"{kind}.{name}", check) for name, check in policy_checks(policy) if name not in about_the_policy]
    return checks


def check_base(spec: Base) -> None:
    """Try every promise of a base, alone and inside ``Blackbox`` and ``Subsample``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import check_base
    >>> check_base(ma.Greedy())
    """
    run_all(base_checks(spec))
