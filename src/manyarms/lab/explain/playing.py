"""The run, played once more, round by round the same: with a log, and the policy asked about each of its restarts.

What a policy says about a restart is plain Python and reads its state. So the compiled loop pauses after each restart
and hands the states out, and is given them back to play on.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import loop
from ...contract import begin, counts
from ...policies.base import Policy
from ...replication import play_round, write_checkpoint
from ...streams import POLICY_STREAM, replication_key, stream_key
from ...trace import COLUMNS, Log, new_log
from ..studies.study import Cell


class Played(NamedTuple):
    """What a run left behind."""

    values: NDArray[np.float64]  # a row of COLUMNS for each checkpoint
    log: Log
    notes: list[dict[str, Any]]  # what the policy said about each of its restarts, or only where it was


class Sums(NamedTuple):
    """What the rounds of a run add up to."""

    round: int
    regret: float
    total: float  # reward


def played(cell: Cell, checkpoints: NDArray[np.int64], seed: int, replication: int) -> Played:
    """Play one replication of a cell."""
    spec = cell.policy.with_horizon(cell.horizon)
    key = replication_key(seed, replication)
    new_policy, new_world = spec.start(cell.horizon), cell.world.start(spec.slots(cell.horizon))
    policy, world = begin(new_policy, stream_key(key, POLICY_STREAM, spec.digest())), begin(new_world, key)
    sums = Sums(0, 0.0, 0.0)
    log = new_log(cell.horizon)
    out = np.zeros((1, checkpoints.size, len(COLUMNS)))
    notes = []
    for place, checkpoint in enumerate(checkpoints.tolist()):
        while sums.round < checkpoint:
            restarts = counts(policy).restarts
            policy, world = typed(policy, new_policy), typed(world, new_world)
            policy, world, sums = play_on(policy, world, log, sums, cell.world.top, checkpoint)
            if counts(policy).restarts > restarts:
                notes.append(restart_note(spec, policy, sums.round))
        write_checkpoint(out, 0, place, sums.regret, sums.total, policy, world)
    return Played(out[0], log, notes)


@loop
def play_on(policy: Any, world: Any, log: Log, sums: Sums, top: float, last: int) -> tuple[Any, Any, Sums]:
    """Play on until the policy has restarted or round ``last`` is over."""
    restarts = counts(policy).restarts
    round, regret, total = sums
    while round < last and counts(policy).restarts == restarts:
        round += 1
        policy, world, mean, reward = play_round(policy, world, log, round)
        regret += top - mean
        total += reward
    return policy, world, Sums(round, regret, total)


def typed(state: Any, started: Any) -> Any:
    """A state with the machine words of the one that was started: Python and compiled code hand out plain numbers.

    A plain number above the signed ones can only be meant as such a word.
    """
    if isinstance(started, tuple):
        return type(started)(*(typed(*pair) for pair in zip(state, started, strict=True)))
    if isinstance(started, np.generic):
        return type(started)(state)
    return np.uint64(state) if isinstance(state, int) and state >= 2**63 else state


def restart_note(spec: Policy, state: Any, round: int) -> dict[str, Any]:
    """What the policy says about a restart right after it, or only where it was."""
    note = spec.explain(state).get("last_restart")
    return note if isinstance(note, dict) and note.get("round") == round else {"round": round}
