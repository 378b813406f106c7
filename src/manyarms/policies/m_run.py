"""MRun: a rule for coins that takes a fresh arm after every failure until one succeeds m times in a row.

With that arm, which has succeeded m times from its start, it then stays for good; if it recalls, it also gives up after
m failed arms, and stays with the one that had the longest run. It needs nothing but a few
counters, and with coins and m = sqrt(T) its regret has the best rate there is.

Source: Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of
Statistics 25, 1997): the m-run strategy and the non-recalling m-run strategy.

Symbols: m -> run; n -> horizon.

Deviations: a failure is a reward below 1, where the source has coins only. m = ceil(sqrt(T)), where
the source does not round. Of several longest runs the earliest is recalled. Without a horizon, the run is cut into
blocks of 2, 4, 8, … rounds, each with its own m and fresh arms (the doubling trick); a known horizon
that has passed changes nothing. A late reward for an arm that was left meanwhile changes nothing, either.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import ceiling
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Count, Flag
from . import blocks
from .base import DOUBLING, Horizon, Policy


class MRunSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    recall: bool
    run: int = 0  # m; 0: ceil(sqrt(T))
    horizon: int = 0  # 0: unknown


class Longest(NamedTuple):
    """The longest run of an arm that has failed."""

    slot: int
    arm: int
    successes: int  # -1: no arm has failed


NONE_FAILED = Longest(slot=1, arm=0, successes=-1)


@kernel
def longer_run(state: Any) -> Longest:
    """The longest run, now that the arm in play has failed."""
    if state.successes > state.longest.successes:
        return Longest(slot=state.slot, arm=state.arm, successes=state.successes)
    return state.longest  # type: ignore[no-any-return]


@kernel
def committed_to_longest(state: Any) -> Any:
    """The arm with the longest run, for good."""
    longest = state.longest
    return replaced(state, committed=True, slot=longest.slot, arm=longest.arm, successes=longest.successes)


@kernel
def with_fresh_arm(state: Any) -> Any:
    """A fresh arm in play, in that of the two slots that does not have the longest run."""
    counts = blocks.with_arm(state.counts)
    return replaced(state, slot=1 - state.longest.slot, arm=state.counts.arms, successes=0, counts=counts)


def ask_arm_in_play(state: Any, round: int) -> Choice:
    """The arm in play."""
    return Choice(slot=state.slot, arm=state.arm, probability=1.0, block=state.counts.blocks, round=round)


class MRunState(NamedTuple):
    """A run of the algorithm."""

    settings: MRunSettings
    block: blocks.Block = blocks.NO_BLOCK
    run: int = 0  # m of this block
    committed: bool = False
    slot: int = 0  # of the arm in play
    arm: int = 0
    successes: int = 0  # of the arm in play
    failed: int = 0  # how many arms of this block have failed
    longest: Longest = NONE_FAILED
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class MRun(Policy):
    """A fresh arm after every failure, until one succeeds m times in a row (Berry et al. 1997).

    Parameters
    ----------
    run
        m. None: ceil(sqrt(T)), which suits a uniform reservoir.
    recall
        Whether to give up after m failed arms and to return to the one with the longest run.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own m.

    Examples
    --------
    With coins and a uniform reservoir the regret is about 2 sqrt(T) without recall; none can be below sqrt(2 T):

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.MRun(recall=False), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("MRun").mean() < 250)
    True
    """

    about: ClassVar = About(
        told=("T", "top 1"),
        rate="about 2.7 sqrt(T), and 2 sqrt(T) without recall, at beta = 1",
        made_for=("still", "coins"),
        cost="O(1)",
    )
    settings_type: ClassVar = MRunSettings
    tried_with: ClassVar = ({}, {"run": 3, "recall": False, "horizon": DOUBLING})

    run: Count | None = None
    recall: Flag = True
    horizon: Horizon = None

    def slots(self, rounds: int) -> int:
        """The arm in play, and the one that may be recalled."""
        return 2 if self.recall else 1

    def start(self, rounds: int) -> MRunState:
        """Nothing to allocate."""
        return MRunState(settings=self.settings())

    def kept_arms(self, state: MRunState) -> NDArray[np.int64]:
        """The arm in play, and the one that may be recalled."""
        arms = [state.arm]
        if self.recall and not state.committed and state.longest.successes >= 0:
            arms.append(state.longest.arm)
        return np.array(arms, dtype=np.int64)

    def explain(self, state: MRunState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {
            "arms": len(self.kept_arms(state)),
            "run": state.run,
            "successes_of_arm": state.successes,
            "failed_arms": state.failed,
            "committed": state.committed,
        }


@kernel
def open_block(state: MRunState, rank: int) -> MRunState:
    """A fresh arm and its m: for the whole run if its length is known, else for the next doubling block."""
    length = blocks.block_length(state.settings.horizon, rank)
    run = state.settings.run
    if run == 0:
        run = ceiling(math.sqrt(float(length)))
    return replaced(
        state,
        block=blocks.next_block(state.block, rank, length, 1),
        run=run,
        committed=False,
        slot=0,
        arm=state.counts.arms,
        successes=0,
        failed=0,
        longest=NONE_FAILED,
        counts=blocks.with_block(state.counts, 1),
    )


def begin(state: MRunState, key: int) -> MRunState:
    """The first block."""
    return open_block(replaced(state, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS), 1)


def tell(state: MRunState, choice: Choice, reward: float) -> MRunState:
    """Count successes of the arm in play until it is played for good."""
    told = replaced(state, block=blocks.after_round(state.block))
    if rarely(blocks.is_over(told.block, state.settings.horizon)):
        return open_block(told, told.block.rank + 1)
    if state.committed or choice.arm != state.arm:  # a late reward may belong to an arm that was left
        return told
    if reward < 1.0:
        return after_failure(told)
    successes = state.successes + 1
    return replaced(told, successes=successes, committed=successes == state.run)


@kernel
def after_failure(state: MRunState) -> MRunState:
    """A fresh arm in place of the one in play, or the one with the longest run, for good."""
    failed = state.failed + 1
    told = replaced(state, failed=failed, longest=longer_run(state) if state.settings.recall else state.longest)
    if state.settings.recall and failed == state.run:
        return committed_to_longest(told)  # type: ignore[no-any-return]
    return with_fresh_arm(told)  # type: ignore[no-any-return]


blocks.register_policy(MRunState, begin=begin, ask=ask_arm_in_play, tell=tell)
