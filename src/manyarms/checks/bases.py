"""The promises of bases."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..bases import Base
from ..contract import Choice, keyed, learn, pick, renew
from ..states import copied
from ..streams import policy_key
from .promises import SEED, difference, hold, promise


def _picks(base: Any, arms: int, horizon: float, rounds: int) -> Iterator[tuple[int, float]]:
    """Renew a base for a finite problem and play it; slot 0 is the worst, the last slot the best."""
    key = np.uint64(policy_key(SEED, 0))
    base = keyed(renew(base, arms, horizon, float(np.log(horizon))), key)
    for round in range(1, rounds + 1):
        before = copied(base)
        slot, probability = pick(base, key, round)
        again = pick(base, key, round)
        hold((slot, probability) == again, f"round {round}: picked {(slot, probability)}, then {again}")
        changed = difference(before, base)
        hold(not changed, f"round {round}: pick changed {changed}")
        hold(0 <= slot < arms, f"round {round}: slot {slot} of {arms}")
        hold(0.0 < probability <= 1.0, f"round {round}: probability {probability!r}")
        yield int(slot), float(probability)
        choice = Choice(slot=int(slot), arm=int(slot), probability=probability, block=1, round=round)
        base = learn(base, choice, 1.0 if (round * 7 + 3 * slot) % (arms + 5) < slot + 2 else 0.0)


@promise("base")
def picks_are_in_range(spec: Base) -> None:
    """A pick changes nothing, is one of the slots, and has a probability in (0, 1]."""
    for arms in (1, 2, 3, 17):
        list(_picks(spec.start(17), arms, 300.0, 300))


@promise("base")
def renewal_forgets(spec: Base) -> None:
    """After renew, a used base is as good as a new one."""
    used = spec.start(17)
    list(_picks(used, 17, 400.0, 250))
    for arms in (1, 5, 16, 17):
        once = list(_picks(used, arms, 300.0, 120))
        fresh = list(_picks(spec.start(17), arms, 300.0, 120))
        hold(once == fresh, f"{arms} arms: a renewed base picked {once}, a new one {fresh}")
