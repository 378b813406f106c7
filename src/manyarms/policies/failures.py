"""KFailure and MRun: rules for coins that look only at failures and at runs of successes.

KFailure keeps an arm until it has failed k times. MRun takes a fresh arm after every failure until one
succeeds m times in a row from its start, and then stays with it for good; if it recalls, it also gives up after
m failed arms, and stays with the one that had the longest run. They need nothing but two or three
counters, and with coins and m = sqrt(T) MRun's regret has the best rate there is.

Source: Berry, Chen, Zame, Heath & Shepp, "Bandit problems with infinitely many arms" (Annals of
Statistics 25, 1997): the k-failure strategy, the m-run strategy and the non-recalling m-run strategy.

Symbols: k -> failures (spec); m -> run; n -> horizon.

Deviations: a failure is a reward below 1, where the source has coins only. m = ceil(sqrt(T)), where
the source does not round. Of several longest runs the earliest is recalled. Without a horizon, MRun cuts the run into
blocks of 2, 4, 8, … rounds, each with its own m and fresh arms (the doubling trick); a known horizon
that has passed changes nothing. A late reward for an arm that was left meanwhile changes nothing, either.
"""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import ceiling
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, register
from ..specs import count, flag
from .base import (
    DOUBLING,
    NO_BLOCK,
    NOTHING,
    Block,
    Policy,
    Tally,
    block_counts,
    checked_horizon,
    horizon_number,
    observe_nothing,
)

# ---------------------------------------------------------------- k failures


class KFailureState(NamedTuple):
    """The arm in play."""

    failures: int  # k
    arm: int
    failed: int  # how often it has failed
    ignored: int  # rewards that came too late


@dataclasses.dataclass(frozen=True)
class KFailure(Policy):
    """Keep an arm until it has failed k times (Berry et al. 1997).

    Parameters
    ----------
    failures
        How many failures an arm is allowed; a failure is a reward below 1.

    Examples
    --------
    With coins and a uniform reservoir its regret is about T / log T:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.KFailure(), world, horizon=10_000, replications=20, seed=1)
    >>> bool(1000 < result.final_regret("KFailure").mean() < 1250)
    True
    """

    failures: int = 1

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (cls(failures=2),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "failures", count("KFailure", "failures", self.failures))

    def slots(self, rounds: int) -> int:
        """One: the arm in play."""
        return 1

    def start(self, rounds: int) -> KFailureState:
        """Nothing to allocate."""
        return KFailureState(failures=self.failures, arm=0, failed=0, ignored=0)

    def kept_arms(self, state: KFailureState) -> NDArray[np.int64]:
        """The arm in play."""
        return np.array([state.arm], dtype=np.int64)

    def explain(self, state: KFailureState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {"episode": 1, "arms": 1, "failures_of_arm": state.failed, "last_restart": None}


def begin_k(state: KFailureState, key: int) -> KFailureState:
    """The first arm."""
    return replaced(state, arm=0, failed=0, ignored=0)


def ask_k(state: KFailureState, round: int, waiting: int) -> Choice:
    """The arm in play. Each is a block of its own, so that late rewards find out."""
    return Choice(slot=0, arm=state.arm, probability=1.0, block=state.arm + 1, round=round)


def tell_k(state: KFailureState, choice: Choice, reward: float) -> KFailureState:
    """Count failures; a fresh arm after the k-th."""
    arm, failed, ignored = state.arm, state.failed, state.ignored
    if rarely(choice.block != arm + 1):
        ignored += 1
    elif reward < 1.0:
        failed += 1
        if failed == state.failures:
            arm += 1
            failed = 0
    return replaced(state, arm=arm, failed=failed, ignored=ignored)


def counts_k(state: KFailureState) -> Counts:
    """One block for each arm."""
    return Counts(restarts=0, blocks=state.arm + 1, arms=state.arm + 1, ignored=state.ignored)


register(KFailureState, begin=begin_k, ask=ask_k, tell=tell_k, counts=counts_k, observe=observe_nothing)

# ---------------------------------------------------------------- runs of m successes


class MRunSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    run: int  # m; 0: ceil(sqrt(T))
    recall: bool
    horizon: int  # 0: unknown


class Record(NamedTuple):
    """The longest run of an arm that has failed."""

    slot: int
    arm: int
    successes: int  # -1: no arm has failed


class MRunState(NamedTuple):
    """A run of the algorithm."""

    settings: MRunSettings
    block: Block
    run: int  # m of this block
    rounds_left: int  # in this block
    committed: bool
    slot: int  # of the arm in play
    arm: int
    successes: int  # of the arm in play
    failed: int  # how many arms of this block have failed
    record: Record
    tally: Tally


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

    run: int | None = None
    recall: bool = True
    horizon: int | str | None = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (
            cls(),
            cls(run=3, recall=False, horizon=DOUBLING),
        )

    def __post_init__(self) -> None:
        if self.run is not None:
            object.__setattr__(self, "run", count("MRun", "run", self.run))
        flag("MRun", "recall", self.recall)
        object.__setattr__(self, "horizon", checked_horizon("MRun", self.horizon))

    def settings(self) -> MRunSettings:
        """The spec in numbers."""
        return MRunSettings(run=self.run or 0, recall=self.recall, horizon=horizon_number(self.horizon))

    def slots(self, rounds: int) -> int:
        """The arm in play, and the one that may be recalled."""
        return 2 if self.recall else 1

    def start(self, rounds: int) -> MRunState:
        """Nothing to allocate."""
        return MRunState(
            settings=self.settings(),
            block=NO_BLOCK,
            run=0,
            rounds_left=0,
            committed=False,
            slot=0,
            arm=0,
            successes=0,
            failed=0,
            record=Record(slot=1, arm=0, successes=-1),
            tally=NOTHING,
        )

    def kept_arms(self, state: MRunState) -> NDArray[np.int64]:
        """The arm in play, and the one that may be recalled."""
        arms = [state.arm]
        if self.recall and not state.committed and state.record.successes >= 0:
            arms.append(state.record.arm)
        return np.array(arms, dtype=np.int64)

    def explain(self, state: MRunState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return {
            "episode": 1,
            "block_rank": state.block.rank,
            "block_length": state.block.length,
            "rounds_left_in_block": max(state.rounds_left, 0),
            "arms": len(self.kept_arms(state)),
            "run": state.run,
            "successes_of_arm": state.successes,
            "failed_arms": state.failed,
            "committed": state.committed,
            "last_restart": None,
        }


@kernel
def open_block(state: MRunState, rank: int, opened: int, tally: Tally) -> MRunState:
    """A fresh arm and its m: for the whole run if its length is known, else for the next doubling block."""
    length = 1 << rank
    if state.settings.horizon > 0:
        length = state.settings.horizon
    run = state.settings.run
    if run == 0:
        run = ceiling(math.sqrt(float(length)))
    return replaced(
        state,
        block=Block(number=state.block.number + 1, rank=rank, length=length, size=1, opened=opened),
        run=run,
        rounds_left=length,
        committed=False,
        slot=0,
        arm=tally.arms,
        successes=0,
        failed=0,
        record=Record(slot=1, arm=0, successes=-1),
        tally=replaced(tally, restarts=0, arms=tally.arms + 1),
    )


def begin(state: MRunState, key: int) -> MRunState:
    """The first block."""
    clean = replaced(
        state,
        block=NO_BLOCK,
        run=0,
        rounds_left=0,
        committed=False,
        slot=0,
        arm=0,
        successes=0,
        failed=0,
        record=Record(slot=1, arm=0, successes=-1),
        tally=NOTHING,
    )
    return open_block(clean, 1, 0, clean.tally)


def ask(state: MRunState, round: int, waiting: int) -> Choice:
    """The arm in play."""
    return Choice(slot=state.slot, arm=state.arm, probability=1.0, block=state.block.number, round=round)


@kernel
def after_failure(state: MRunState, rounds_left: int) -> MRunState:
    """A fresh arm in place of the one in play, or the one with the longest run, for good."""
    record = state.record
    if state.settings.recall and state.successes > record.successes:
        record = Record(slot=state.slot, arm=state.arm, successes=state.successes)
    failed = state.failed + 1
    committed = state.settings.recall and failed == state.run
    slot = record.slot if committed else 1 - record.slot  # of two slots, the one without the longest run
    arm = record.arm if committed else state.tally.arms
    return replaced(
        state,
        rounds_left=rounds_left,
        committed=committed,
        slot=slot,
        arm=arm,
        successes=record.successes if committed else 0,
        failed=failed,
        record=record,
        tally=replaced(state.tally, restarts=0, arms=state.tally.arms + (0 if committed else 1)),
    )


def tell(state: MRunState, choice: Choice, reward: float) -> MRunState:
    """Count successes of the arm in play until it is played for good."""
    tally = state.tally
    rounds_left = state.rounds_left
    successes = state.successes
    committed = state.committed
    if rarely(choice.block != state.block.number):
        tally = replaced(tally, restarts=0, ignored=tally.ignored + 1)
    else:
        rounds_left -= 1
        if rarely(rounds_left == 0) and state.settings.horizon == 0:
            return open_block(state, state.block.rank + 1, state.block.opened + state.block.length, tally)
        if not committed and choice.arm == state.arm:  # a late reward may belong to an arm that was left
            if reward < 1.0:
                return after_failure(state, rounds_left)
            successes += 1
            committed = successes == state.run
    return replaced(state, rounds_left=rounds_left, committed=committed, successes=successes, tally=tally)


def counts(state: MRunState) -> Counts:
    """Its own counts."""
    return block_counts(state.block, state.tally)


register(MRunState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe_nothing)
