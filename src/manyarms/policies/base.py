"""What all policies share: the abstract spec, and the bookkeeping of blocks and episodes."""

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import binary_log, ceiling, natural_log
from ..compiled import kernel
from ..contract import Choice, Counts, pick
from ..specs import Spec, count, number

DOUBLING = "doubling"
"""For ``horizon``: unknown, and assumed to be the next power of two."""


class Policy(Spec, abc.ABC, abstract=True):
    """Abstract: which arm next?"""

    kind: ClassVar[str] = "policy"
    sees_means: ClassVar[bool] = False  # an oracle, for simulations only
    restarts_when: ClassVar[str] = ""  # in words, where there is more to say than that it does

    @property
    def is_scattered(self) -> bool:
        """Whether most rounds touch places all over its arrays.

        Then a GPU plays fewer replications at a time, so that its cache holds what they touch.
        """
        return bool(getattr(getattr(self, "base", None), "is_scattered", False))

    @abc.abstractmethod
    def start(self, rounds: int) -> Any:
        """A state with arrays for ``rounds`` rounds. ``begin`` it before the first ask."""

    @abc.abstractmethod
    def slots(self, rounds: int) -> int:
        """The most arms it keeps at a time within ``rounds`` rounds."""

    def with_horizon(self, horizon: int) -> Self:
        """The spec as it plays a simulation of this length: an unset horizon becomes known."""
        if getattr(self, "horizon", 0) is None:
            return self.replace(horizon=horizon)
        return self

    def without_horizon(self) -> Self:
        """The spec as it plays live: an unset horizon is unknown."""
        if getattr(self, "horizon", 0) is None:
            return self.replace(horizon=DOUBLING)
        return self

    @abc.abstractmethod
    def kept_arms(self, state: Any) -> NDArray[np.int64]:
        """The arms the policy may still choose."""

    @staticmethod
    def restart_in_words(note: Mapping[str, Any]) -> str:
        """Why it restarted, from the ``last_restart`` of ``explain``; nothing where the note does not say."""
        if not {"statistic", "threshold"} <= note.keys():
            return ""
        text = f"{note['statistic']:.4g} reached the threshold {note['threshold']:.4g}"
        if {"block_rank", "arms", "rounds_in_block"} <= note.keys():
            arms = "1 arm" if note["arms"] == 1 else f"{note['arms']:,} arms"
            text += (
                f" in a block of rank {note['block_rank']} with {arms}, after {note['rounds_in_block']:,} of its rounds"
            )
        return text

    def explain(self, state: Any) -> dict[str, Any]:
        """Where the policy stands and why it last restarted, in numbers."""
        return {}


def observe_nothing(state: Any, world: Any, choice: Choice) -> Any:
    """For policies that see rewards only and leave arms in their slots."""
    return state


class Block(NamedTuple):
    """A fixed set of arms, played for a fixed number of rounds."""

    number: int  # 1, 2, 3, … over the whole run
    rank: int  # the paper's m: 1, 2, 3, … within the episode
    length: int
    size: int  # how many arms
    opened: int  # rounds played before it


class Tally(NamedTuple):
    """What a policy counts of itself."""

    restarts: int
    arms: int
    ignored: int


NO_BLOCK = Block(number=0, rank=0, length=0, size=0, opened=0)
NOTHING = Tally(restarts=0, arms=0, ignored=0)


# The fields of a restart note: why the last restart happened.
NOTE_FIELDS = ("round", "block_rank", "rounds_in_block", "arms", "statistic", "threshold")


def empty_note() -> NDArray[np.float64]:
    """No restart yet."""
    return np.full(len(NOTE_FIELDS), np.nan)


@kernel
def write_note(note: Any, block: Block, rounds_in_block: int, statistic: float, threshold: float) -> None:
    """Remember why a restart happened."""
    note[0] = block.opened + rounds_in_block
    note[1] = block.rank
    note[2] = rounds_in_block
    note[3] = block.size
    note[4] = statistic
    note[5] = threshold


def read_note(note: NDArray[np.float64]) -> dict[str, float | int] | None:
    """The last restart in words and numbers, or None."""
    if math.isnan(note[0]):
        return None
    whole = {"round", "block_rank", "rounds_in_block", "arms"}
    return {
        name: int(value) if name in whole else float(value)
        for name, value in zip(NOTE_FIELDS, note.tolist(), strict=True)
    }


@kernel
def block_counts(block: Block, tally: Tally) -> Counts:
    """The counts of a policy that plays in blocks."""
    return Counts(restarts=tally.restarts, blocks=block.number, arms=tally.arms, ignored=tally.ignored)


def ask_the_base(state: Any, round: int, waiting: int) -> Choice:
    """For policies that run a base on the arms from ``first_arm`` on: whatever the base picks."""
    slot, probability = pick(state.base, state.key, round, waiting)
    return Choice(
        slot=slot,
        arm=state.first_arm + slot,
        probability=probability,
        block=state.block.number,
        round=round,
    )


@kernel
def rounded_up(value: float) -> int:
    """The ceiling, forgiving the rounding error of powers: 2^(9 · 0.8 / 1.8) is 16, not 16 + 1e-15."""
    return ceiling(value * (1.0 - 1e-12))


@kernel
def logarithm(value: float, base: float) -> float:
    """The logarithm to this base; exact for powers of two to base 2."""
    if base == 2.0:
        return binary_log(value)
    if base == math.e:
        return natural_log(value)
    return natural_log(value) / natural_log(base)


@kernel
def assumed_horizon(known: int, rounds: int) -> float:
    """The horizon to reckon with: the known one, or (known = 0) the power of two that covers ``rounds``."""
    if known > 0:
        return float(max(known, 2))
    covered = 2.0
    while covered < rounds:
        covered *= 2.0
    return covered


def last_block_rank(rounds: int) -> int:
    """The greatest block rank m that can be opened by the end of ``rounds`` rounds: blocks 1 … m - 1 take 2^m - 2."""
    return max(1, math.floor(math.log2(rounds + 2)))


def checked_horizon(owner: str, horizon: object) -> int | str | None:
    """A horizon as its spec keeps it."""
    if horizon is None or horizon == DOUBLING:
        return horizon
    if isinstance(horizon, str):
        raise ValueError(f"{owner}: horizon must be a whole number, None or {DOUBLING!r}, not {horizon!r}")
    return count(owner, "horizon", horizon)


def horizon_number(horizon: int | str | None) -> int:
    """A horizon as its state keeps it: 0 for unknown."""
    return horizon if isinstance(horizon, int) else 0


def checked_log_base(owner: str, log_base: object) -> float:
    """2, "e", or another base above 1, as a number."""
    if log_base == "e":
        return math.e
    base = number(owner, "log_base", log_base)
    if base <= 1.0:
        raise ValueError(f"{owner}: log_base must be 2, 'e' or another number above 1, not {log_base!r}")
    return base


def from_preset(
    owner: str, presets: dict[str, dict[str, Any]], preset: object, given: dict[str, Any]
) -> dict[str, Any]:
    """The settings of a preset, with those given (not None) put over them."""
    if not isinstance(preset, str) or preset not in presets:
        raise ValueError(f"{owner}: unknown preset {preset!r}; there are {', '.join(map(repr, presets))}")
    chosen = {name: value for name, value in given.items() if value is not None}
    return presets[preset] | chosen


def store_numbers(spec: Policy, *names: str) -> None:
    """Keep given numbers as floats, so that equal specs are the same in JSON and in their random streams."""
    for name in names:
        value = getattr(spec, name)
        if value is not None and value != "e":
            object.__setattr__(spec, name, number(type(spec).__name__, name, value))


MOST_SLOTS = 2**27
"""More slots than this, some 5 GB, are taken for a mistake."""


def checked_slots(policy: Policy, rounds: int) -> int:
    """How many slots a policy needs, or an error before anything is allocated."""
    slots = policy.slots(rounds)
    if slots > MOST_SLOTS:
        raise ValueError(
            f"{policy.label()} would keep {slots:,} arms at a time within {rounds:,} rounds, some "
            f"{slots * 40 / 2**30:,.0f} GiB; choose a smaller beta, horizon or number of arms"
        )
    return slots
