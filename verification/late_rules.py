"""Other rules for open asks, and what they earn: python -m verification.late_rules, some minutes on two cores.

Each rule is the policy of the package with some of its kernels exchanged, under a state type of its own.

1. `Elimination`, told nothing. What ends a block: so many *asks* (the rule of the package); so many *answers to its own
   asks*, while late answers of earlier blocks only count for their arms; so many *answers*, and those of closed blocks
   are ignored, which is what a policy does that knows nothing of open asks.
2. `SSUCB`. An open ask counts as a play that paid what is *expected* (the rule of the package), or is *ignored* but
   for arms of which nothing is known: these are asked for once until their answer comes.

Crashes with probability 5e-4 a play and a world that stands still, beta 1, T = 20,000, answers in batches. The table
is in docs/late.md.
"""

import argparse
import dataclasses
import math
from typing import Any, NamedTuple

import manyarms as ma
from manyarms.bases.asymptotic_ucb import AsymptoticUCBState
from manyarms.compiled import kernel, replaced
from manyarms.contract import VERBS, Choice, register
from manyarms.lab.questions.late import HORIZON, SIZES
from manyarms.policies import blocks, elimination, tail
from manyarms.policies.elimination import EliminationState
from manyarms.policies.subsample import SubsampleState
from manyarms.tables import Table
from verification.late import CRASHES, rewards

STILL = CRASHES.replace(drift=ma.Crash(probability=0.0, to=0.0))


def with_rule(state_type: Any, name: str, **kernels: Any) -> Any:
    """A state type with the same fields and kernels, but for these; None: that of the contract."""
    fields = [(field, state_type.__annotations__[field]) for field in state_type._fields]
    other: Any = NamedTuple(name, fields)
    own = {verb: entry.kernels[state_type] for verb, entry in VERBS.items() if state_type in entry.kernels}
    register(other, **{verb: found for verb, found in (own | kernels).items() if found is not None})
    return other


# ---------------------------------------------------------------- Elimination


@kernel
def answered(state: Any, choice: Choice, reward: float, is_round: bool) -> Any:
    """Add the loss if the arm lives; the answer may be a round of the open block."""
    slot = elimination.slot_of(state, choice)
    told = replaced(state, block=blocks.after_round(state.block)) if is_round else state
    if slot >= 0:
        tail.watch_reward(state.tail, slot, reward)
        told = elimination.with_loss(told, slot, state.settings.top - reward, choice.probability)
    return elimination.after_block(told) if told.live == 0 or told.block.left == 0 else told


def settle_own(state: Any, choice: Choice, presumed: float, reward: float) -> Any:
    """Answers to the block's own asks are its rounds."""
    return answered(state, choice, reward, choice.block == state.counts.blocks)


def settle_open(state: Any, choice: Choice, presumed: float, reward: float) -> Any:
    """Answers of closed blocks are ignored."""
    if choice.block != state.counts.blocks:
        return replaced(state, counts=blocks.with_ignored(state.counts))
    return answered(state, choice, reward, True)


OWN_ANSWERS = with_rule(EliminationState, "OwnAnswers", defer=None, settle=settle_own)
ANSWERS = with_rule(EliminationState, "Answers", defer=None, settle=settle_open)


@dataclasses.dataclass(frozen=True)
class EliminationByOwnAnswers(ma.Elimination):
    """A block ends when so many of its own asks are answered."""

    def start_in(self, slots: int) -> Any:
        """Under the other rule."""
        return OWN_ANSWERS(*super().start_in(slots))


@dataclasses.dataclass(frozen=True)
class EliminationByAnswers(ma.Elimination):
    """A block ends after so many answers; those of closed blocks are ignored."""

    def start_in(self, slots: int) -> Any:
        """Under the other rule."""
        return ANSWERS(*super().start_in(slots))


# ---------------------------------------------------------------- SSUCB


def expected_of_untried(base: Any, slot: int) -> float:
    """Nothing of an arm of which nothing is known; no assumption about others."""
    return 0.0 if base.rewards.plays[slot] == 0 else math.nan


UNBELIEVING = with_rule(AsymptoticUCBState, "Unbelieving", expected=expected_of_untried)


@dataclasses.dataclass(frozen=True)
class UnbelievingSSUCB(ma.SSUCB):
    """Open asks of known arms are ignored."""

    def start_in(self, slots: int) -> SubsampleState:
        """With the other base."""
        state = super().start_in(slots)
        return state._replace(base=UNBELIEVING(*state.base))


RULES = {
    "Elimination, asks": ma.Elimination(beta="auto"),
    "Elimination, own answers": EliminationByOwnAnswers(beta="auto"),
    "Elimination, answers": EliminationByAnswers(beta="auto"),
    "SSUCB, expected": ma.SSUCB(beta=1.0),
    "SSUCB, ignored": UnbelievingSSUCB(beta=1.0),
}


def rule_row(name: str, world_name: str, world: ma.World, horizon: int, replications: int, seed: int) -> dict[str, Any]:
    """The reward of a round at once, and its share in batches."""
    at_once = rewards(RULES[name], world, horizon, replications, seed).mean()
    row: dict[str, Any] = {"rule": name, "world": world_name, "at once": f"{at_once:.3f}"}
    for size in SIZES:
        late = rewards(RULES[name], world.replace(feedback=ma.Batches(size)), horizon, replications, seed).mean()
        row[f"batches of {size:,}"] = f"{late / at_once:.3f}"
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--replications", type=int, default=40)
    options = parser.parse_args()
    print(f"The reward of a round and its share, T = {options.horizon:,}, {options.replications} replications")
    worlds = {"crashes": CRASHES, "still": STILL}
    rows = [
        rule_row(name, world_name, world, options.horizon, options.replications, options.seed)
        for name in RULES
        for world_name, world in worlds.items()
    ]
    print(Table(rows))


if __name__ == "__main__":
    main()
