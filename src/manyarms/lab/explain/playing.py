"""The run, played once more, round by round the same: with a log, and the policy asked about its restarts and itself.

What a policy says about a restart is plain Python and reads its state. So the compiled loop pauses after each restart
and hands the states out, and is given them back to play on.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compile_errors, loop
from ...contract import begin, counts
from ...policies.base import Policy
from ...replication import Job, Run, play_round, write_checkpoint
from ...states import mapped
from ...streams import policy_key, replication_key
from ...trace import Log, new_log
from ..studies.study import Cell


class Sums(NamedTuple):
    """What the rounds of a run add up to."""

    round: int
    regret: float
    total: float  # reward


def played(
    cell: Cell, checkpoints: NDArray[np.int64], seed: int, replication: int
) -> tuple[NDArray[np.float64], Log, list[dict[str, Any]], dict[str, Any]]:
    """Play one replication: its numbers at the checkpoints, its log, a note about each restart, and its last word."""
    run = Run(cell.policy, Job(cell.world, cell.horizon, 1, seed, checkpoints, first=replication))
    new = run.states()
    key = replication_key(seed, replication)
    policy, world = begin(new.policy, policy_key(key, run.spec.digest())), begin(new.world, key)
    post = begin(new.post, key)
    log = new_log(cell.horizon)
    sums = Sums(0, 0.0, 0.0)
    notes = []
    for place, checkpoint in enumerate(checkpoints.tolist()):
        while sums.round < checkpoint:
            restarts = counts(policy).restarts
            policy, world = mapped(typed, policy, new.policy), mapped(typed, world, new.world)
            post = mapped(typed, post, new.post)
            with compile_errors(run.name):
                policy, world, post, sums = play_on(policy, world, post, log, sums, cell.world.top, checkpoint)
            if counts(policy).restarts > restarts:
                notes.append(restart_note(run.spec, policy, sums.round))
        write_checkpoint(run.out, 0, place, sums.regret, sums.total, counts(policy), world)
    return run.out[0], log, notes, plain(run.spec.explain(policy))


@loop
def play_on(
    policy: Any, world: Any, post: Any, log: Log, sums: Sums, top: float, last: int
) -> tuple[Any, Any, Any, Sums]:
    """Play on until the policy has restarted or round ``last`` is over."""
    restarts = counts(policy).restarts
    round, regret, total = sums
    while round < last and counts(policy).restarts == restarts:
        round += 1
        policy, world, post, mean, reward = play_round(policy, world, post, log, round)
        regret += top - mean
        total += reward
    return policy, world, post, Sums(round, regret, total)


def typed(number: Any, started: Any) -> Any:
    """A number of a state as the machine word that it was when started: compiled code hands out plain numbers.

    A plain number above the signed ones can only be meant as such a word.
    """
    if isinstance(started, np.generic):
        return type(started)(number)
    return np.uint64(number) if isinstance(number, int) and number >= 2**63 else number


def restart_note(spec: Policy, state: Any, round: int) -> dict[str, Any]:
    """What the policy says about a restart right after it, or only where it was."""
    note = spec.explain(state).get("last_restart")
    return note if isinstance(note, dict) and note.get("round") == round else {"round": round}


def plain(said: Any) -> Any:
    """What a policy says, as JSON has it: dictionaries, lists, text and finite numbers; None for others."""
    if isinstance(said, dict):
        return {str(name): plain(value) for name, value in said.items()}
    if isinstance(said, list | tuple | np.ndarray):
        return [plain(value) for value in said]
    if isinstance(said, np.generic):
        return plain(said.item())
    if isinstance(said, float):
        return said if math.isfinite(said) else None
    return said if isinstance(said, str | int | bool) else None
