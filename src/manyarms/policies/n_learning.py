"""NLearning: a rule for coins: a fresh arm after every failure for N rounds, then the one with the longest run.

The arm that is in play after N rounds is played to its failure; then the arm that had the most successes before its
failure is played for good. It needs nothing but a few counters.

Source: Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of
Statistics 25, 1997): the N-learning strategy.

Symbols: N -> learning; n -> horizon.

Deviations: a failure is a reward below 1, where the source has coins only. The source asks for an N of the order of
sqrt(n) log n; it is ceil(sqrt(T) · log T) here, with the natural logarithm, and at least 1. Of several longest runs the
earliest is recalled; this, and that N counts rounds and not arms, is as remembered. Without a horizon, the run is cut
into blocks of 2, 4, 8, … rounds, each with its own N and fresh arms (the doubling trick); a known horizon that has
passed changes nothing. A late reward for an arm that was left meanwhile is a round, and nothing else.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Count
from . import blocks
from .base import DOUBLING, Horizon, Policy
from .m_run import NONE_FAILED, Longest, ask_arm_in_play, committed_to_longest, longer_run, with_fresh_arm


class NLearningSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    learning: int = 0  # N; 0: ceil(sqrt(T) log T)
    horizon: int = 0  # 0: unknown


class NLearningState(NamedTuple):
    """A run of the algorithm."""

    settings: NLearningSettings
    block: blocks.Block = blocks.NO_BLOCK
    learning: int = 0  # N of this block
    committed: bool = False
    slot: int = 0  # of the arm in play
    arm: int = 0
    successes: int = 0  # of the arm in play
    longest: Longest = NONE_FAILED  # of the arms of this block
    counts: Counts = blocks.NO_COUNTS


@dataclasses.dataclass(frozen=True)
class NLearning(Policy):
    """A fresh arm after every failure for N rounds, then the one with the longest run (Berry et al. 1997).

    Parameters
    ----------
    learning
        N, in rounds. None: ceil(sqrt(T) · log T), which suits a uniform reservoir.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own N.

    Examples
    --------
    With coins and a uniform reservoir its regret is a few times sqrt(T); none can be below sqrt(2 T), which is 141:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.NLearning(), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("NLearning").mean() < 300)
    True
    """

    about: ClassVar = About(
        told=("T", "top 1"),
        rate="some sqrt(T), at beta = 1",
        made_for=("still", "coins"),
        cost="O(1)",
    )
    settings_type: ClassVar = NLearningSettings
    tried_with: ClassVar = ({}, {"learning": 5, "horizon": DOUBLING})

    learning: Count | None = None
    horizon: Horizon = None

    def slots(self, rounds: int) -> int:
        """The arm in play, and the one that may be recalled."""
        return 2

    def start(self, rounds: int) -> NLearningState:
        """Nothing to allocate."""
        return NLearningState(settings=self.settings())

    def kept_arms(self, state: NLearningState) -> NDArray[np.int64]:
        """The arm in play, and the one that may be recalled."""
        is_open = not state.committed and state.longest.successes >= 0
        return np.array([state.arm, state.longest.arm] if is_open else [state.arm], dtype=np.int64)

    def explain(self, state: NLearningState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return blocks.explained_block(state) | {
            "arms": len(self.kept_arms(state)),
            "learning_rounds": state.learning,
            "successes_of_arm": state.successes,
            "longest_run": max(state.longest.successes, 0),
            "committed": state.committed,
        }


@kernel
def learning_rounds(horizon: int) -> int:
    """N = ceil(sqrt(n) log n), at least 1."""
    return max(blocks.rounded_up(math.sqrt(float(horizon)) * natural_log(float(horizon))), 1)


@kernel
def open_block(state: NLearningState, rank: int) -> NLearningState:
    """A fresh arm and its N: for the whole run if its length is known, else for the next doubling block."""
    length = blocks.block_length(state.settings.horizon, rank)
    learning = state.settings.learning
    if learning == 0:
        learning = learning_rounds(length)
    return replaced(
        state,
        block=blocks.next_block(state.block, rank, length, 1),
        learning=learning,
        committed=False,
        slot=0,
        arm=state.counts.arms,
        successes=0,
        longest=NONE_FAILED,
        counts=blocks.with_block(state.counts, 1),
    )


def begin(state: NLearningState, key: int) -> NLearningState:
    """The first block."""
    return open_block(replaced(state, block=blocks.NO_BLOCK, counts=blocks.NO_COUNTS), 1)


def tell(state: NLearningState, choice: Choice, reward: float) -> NLearningState:
    """Count successes of the arm in play until one is played for good."""
    told = replaced(state, block=blocks.after_round(state.block))
    if rarely(blocks.is_over(told.block, state.settings.horizon)):
        return open_block(told, told.block.rank + 1)
    if state.committed or choice.arm != state.arm:  # a late reward may belong to an arm that was left
        return told
    if reward < 1.0:
        return after_failure(told)
    return replaced(told, successes=state.successes + 1)


@kernel
def after_failure(state: NLearningState) -> NLearningState:
    """A fresh arm in place of the one in play, or, when all is learned, the one with the longest run, for good."""
    told = replaced(state, longest=longer_run(state))
    if state.block.length - state.block.left >= state.learning:
        return committed_to_longest(told)  # type: ignore[no-any-return]
    return with_fresh_arm(told)  # type: ignore[no-any-return]


blocks.register_policy(NLearningState, begin=begin, ask=ask_arm_in_play, tell=tell)
