"""A state that was read is tried on a copy before a live bandit goes on with it.

A checksum tells whether a snapshot is as it was written, not whether what was written makes sense: whoever edits one
may write the checksum anew. What a policy makes of its numbers only the policy knows. So it plays some rounds with a
copy of its state, as plain Python, and with arrays that refuse places counted from the end: compiled kernels do not
look.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract import Choice, ask, ask_among, correct, counts, defer, lose, settle, tell
from ..policies.base import Policy
from ..policies.blocks import Block, last_block_rank, played_rounds
from ..snapshots import SnapshotError
from ..sources import PACKAGE
from ..specs import plain_number
from ..states import enlarged, leaves, mapped, states_in
from .decisions import Limits, choice_from_json

if TYPE_CHECKING:
    from .bandit import Bandit

ROUNDS = 25
"""So many rounds are played: rewards that differ, rewards of 0, late rewards of 1, the end of a block."""

FEW_LEFT = 3
"""Rounds that are left of a block that is soon over."""

MOST_SLOTS = 2**16
"""With more slots, room for further rounds is not made for the sake of a trial."""

ANY_NUMBER = 2**62
"""Of blocks or of rounds: more than there will ever be."""

WRONG = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What kernels and arrays raise at numbers that cannot be."""


class Guarded(np.ndarray[Any, Any]):
    """An array that takes no place below 0."""

    def __getitem__(self, place: Any) -> Any:
        if type(place) is not int or place < 0:
            _check_place(place)
        return _get_item(self, place)

    def __setitem__(self, place: Any, value: Any) -> None:
        if type(place) is not int or place < 0:
            _check_place(place)
        _set_item(self, place, value)


_get_item, _set_item = np.ndarray.__getitem__, np.ndarray.__setitem__


def _check_place(place: Any) -> None:
    if isinstance(place, (int, np.integer)) and place < 0:
        raise IndexError(f"the place {place} is below 0")


def check_values(bandit: "Bandit", begun: Any) -> None:
    """Refuse a state whose settings are not those of its policy, or whose arrays hold what they never do."""
    policy, state = bandit.policy, bandit._state
    said = dict(leaves(state))
    fixed = {*policy.kept_settings, *policy.fixed_fields}
    is_ours = all(type(one).__module__.partition(".")[0] == PACKAGE for one in states_in(begun))
    for path, leaf in leaves(begun):
        is_array = isinstance(leaf, np.ndarray)
        is_setting = path.split(".")[1] in fixed or (is_array and not leaf.flags.writeable)
        if is_setting and not np.array_equal(said[path], leaf, equal_nan=True):
            raise SnapshotError(f"{path}: {said[path]!r:.60} is not what {policy.label()} has there")
        # In all states of the package, an array whose numbers are finite at the start keeps to that.
        if is_array and is_ours and np.isfinite(leaf).all() and not np.isfinite(said[path]).all():
            raise SnapshotError(f"{path}: not all of its numbers are finite")


def _check_blocks(policy: Policy, state: Any, asked: int, rounds: int) -> None:
    """Refuse a block that cannot be open after so many asks: it might never end, or the next one never begin."""
    for block in states_in(state):
        if not isinstance(block, Block):
            continue
        is_possible = 0 <= block.rank <= last_block_rank(rounds) + 1 and 0 <= block.size <= policy.slots(rounds)
        is_on_time = block.opened >= 0 and 0 <= played_rounds(block) <= asked and block.left <= block.length
        if not is_possible or not is_on_time or (block.left < 0 and policy.known_horizon == 0):
            raise SnapshotError(f"state: {block} cannot be the block after {asked} asks")


def check_goes_on(bandit: "Bandit") -> None:
    """Refuse a state with which the policy of a bandit cannot go on, or to which its open decisions do not belong."""
    policy, asked, rounds, state = bandit.policy, bandit.asked, bandit._rounds, bandit._state
    _check_blocks(policy, state, asked, rounds)
    wide = enlarged(state, policy.start(2 * rounds)) if policy.slots(2 * rounds) <= MOST_SLOTS else None
    if asked + ROUNDS > rounds and wide is not None:
        state, rounds = wide, 2 * rounds
    try:
        with np.errstate(all="ignore"):
            json.dumps(policy.explain(mapped(_guarded, state)), allow_nan=False)
            _answered(bandit, mapped(_guarded, state))
            for hear in (_mixed, _nothing, _late):
                _rehearse(policy, state, asked, rounds, hear)
            if wide is not None:
                _rehearse(policy, _soon_over(wide), asked, 2 * bandit._rounds, _mixed)
    except SnapshotError:
        raise
    except WRONG as error:
        raise SnapshotError(
            f"state: {policy.label()} cannot go on with it ({type(error).__name__}: {error}). The snapshot was changed "
            "after it was written; load one that was not"
        ) from None


def _rehearse(policy: Policy, state: Any, asked: int, rounds: int, hear: Callable[..., Any]) -> None:
    """Play some rounds with a copy of a state."""
    limits = Limits(slots=policy.slots(rounds), blocks=ANY_NUMBER, asked=asked)
    last = min(asked + ROUNDS, rounds)
    state = mapped(_guarded, state)
    for round in range(asked + 1, last + 1):
        state = _played(policy, state, round, limits, hear)
    _check_blocks(policy, state, ANY_NUMBER, rounds)  # of a block that is soon over, nobody has played so many rounds
    json.dumps(policy.explain(state), allow_nan=False)


def _soon_over(state: Any) -> Any:
    """The same with few rounds left of its block: much is looked at only when the next one begins."""
    block = getattr(state, "block", None)
    if not isinstance(block, Block) or block.left <= FEW_LEFT:
        return state
    return state._replace(block=block._replace(left=FEW_LEFT))


def _answered(bandit: "Bandit", state: Any) -> None:
    """All that is open is answered, and all that can be corrected is."""
    for one in bandit._open.all():
        if one.is_outside:
            continue
        if one is bandit._open.newest:
            state = tell(state, one.choice, 1.0)
        elif bandit.pending is None:
            state = settle(state, one.choice, one.presumed, 1.0)
        else:
            state = correct(state, one.choice, one.presumed, 1.0)
    for told in bandit._remembered.told.values():
        if told.choice.slot >= 0:
            state = correct(state, told.choice, told.reward, 1.0 - told.reward)


def _guarded(leaf: Any) -> Any:
    return leaf.copy().view(Guarded) if isinstance(leaf, np.ndarray) else leaf


def _played(policy: Policy, state: Any, round: int, limits: Limits, hear: Callable[..., Any]) -> Any:
    """The state after one more round: of the plan, or of one arm after the other."""
    choice = _checked(ask(state, round), limits)
    arms: NDArray[np.int64] = np.asarray(policy.arms_in_slots(state))
    slots = np.flatnonzero(arms >= 0)
    if slots.size and round % 2 == 0:
        allowed = np.zeros(arms.size, dtype=np.bool_)
        allowed[slots[round // 2 % slots.size]] = True
        among = _checked(ask_among(state, round, allowed, False), limits)
        choice = choice if among.slot < 0 else among
    policy.kept_arms(state)
    state = hear(state, choice)
    counts(state)
    return state


def _checked(choice: Any, limits: Limits) -> Choice:
    return choice_from_json([*map(plain_number, choice)], "state: its next choice", limits)


def _mixed(state: Any, choice: Choice) -> Any:
    return tell(state, choice, float(choice.round % 2))


def _nothing(state: Any, choice: Choice) -> Any:
    return tell(state, choice, 0.0)


def _late(state: Any, choice: Choice) -> Any:
    state, presumed = defer(state, choice)
    if choice.round % 4 == 0:
        return lose(state, choice, presumed)
    return settle(state, choice, presumed, 1.0)
