"""Bandits as JSON and back: snapshots of all versions that are read, events of a journal, and a change of policy."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..atomic import at_once, check_plain
from ..contract import Choice, counts, no_choice
from ..policies.base import Policy, check_corrections, check_pending, checked_slots
from ..replication import begun_policy
from ..snapshots import (
    VERSION,
    SnapshotError,
    check_rule,
    check_seal,
    check_version,
    rows_from_json,
    sealed,
    state_from_json,
    state_to_json,
    with_fields_of,
    word_from_json,
)
from ..specs import count, fraction, number, one_of, plain_number, positive, spec_from_json
from .decisions import Asked, Limits, choice_from_json, how_from_json
from .ids import checked_tag
from .items import HERE, PAUSED, WITHDRAWN, Predicate, entries_of, in_short, key_and_payload, key_from_json, key_to_json
from .journal import is_line
from .listener import FIRST_ROUNDS
from .progress import Progress
from .rehearsal import check_goes_on, check_values
from .times import Clock, checked_source, checked_time

if TYPE_CHECKING:
    from .bandit import Bandit

AnyBandit = TypeVar("AnyBandit", bound="Bandit")

AGREED: dict[str, Any] = {
    "pending": None, "timeout": None, "on_timeout": None, "correctable": 0, "on_empty": "go on",
}  # fmt: skip
"""What a bandit is told when it is made, and what it is if nothing is said."""

GIVEN = ("reward_range", "replication", "same_key", *AGREED)

CHANGEABLE = ("holdout", "timeout", "on_timeout", "on_empty")
"""What may be another when a bandit is restored."""


# ---------------------------------------------------------------- writing


def to_json(bandit: "Bandit") -> dict[str, Any]:
    """The whole bandit."""
    return sealed(
        {
            "policy": bandit.policy.to_json(),
            "seed": f"{bandit.seed:#x}",
            "replication": bandit.replication,
            "reward_range": list(bandit.reward_range),
            **{name: plain_number(getattr(bandit, name)) for name in AGREED},
            "holdout": bandit.holdout,
            "asked": bandit.asked,
            "told": bandit.told,
            "timed_out": bandit.timed_out,
            "last_timed_out": bandit._last_timed_out,
            "clock": bandit._timeline.to_json(),
            "rounds": bandit._rounds,
            "is_supplied": bandit._is_supplied,
            "arms_seen": int(bandit._arms_seen),
            "tags": bandit._ids.to_json(),
            "progress": bandit._progress.to_json(),
            "news": [[key_to_json(key), *counts] for key, counts in bandit._catalogue.news.items()],
            "early_news": [
                [number, key_to_json(key), *counts] for number, key, *counts in bandit._catalogue.early_news
            ],
            **bandit._catalogue.to_json(),
            "open": bandit._open.to_json(),
            "remembered": bandit._remembered.to_json(),
            "state": state_to_json(bandit._state),
        }
    )


def save(bandit: "Bandit", path: str | os.PathLike[str]) -> None:
    """Write a snapshot."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"Bandit.save: the folder of {target} does not exist; make it first")
    text = json.dumps(to_json(bandit), allow_nan=False)
    with at_once(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- reading


def read(path: str | os.PathLike[str]) -> Any:
    """What a file holds."""
    check_plain(Path(path))
    data = Path(path).read_bytes()
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        why = "it is a journal; Bandit.recover reads it" if is_line(data.partition(b"\n")[0]) else error
        raise SnapshotError(f"{path} is not a snapshot: {why}") from None


def from_json(
    kind: type[AnyBandit], values: Any, items: Any, segments: Mapping[str, Predicate] | None, clock: Clock
) -> AnyBandit:
    """The bandit that ``to_json`` described, in this version or an earlier one."""
    try:
        check_version(values)
        check_rule(values)
        current, items = upgraded(values, items)
        bandit = kind(
            policy_from_json(current["policy"]),
            word_from_json(current["seed"], "seed"),
            clock=clock,
            segments=segments,
            **{name: current[name] for name in GIVEN},
        )
        read_into(bandit, current)
        # Last, because the checks above can say what is wrong, and this one only that something is.
        check_seal(values)
        if values["version"] == 2:
            bandit._defer_all()
        check_goes_on(bandit)
    except SnapshotError:
        raise
    except KeyError as error:
        raise SnapshotError(f"the snapshot lacks {error.args[0]!r}") from None
    except RecursionError:
        raise SnapshotError("the snapshot cannot be read: too much is inside each other in it") from None
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from None
    if items is not None or (segments and bandit._catalogue.has_items):
        bandit._catalogue.take_again(items)
    return bandit


def change(bandit: "Bandit", settings: Mapping[str, Any]) -> None:
    """Go on with other settings, all of them or, if one is wrong, none."""
    unknown = [name for name in settings if name not in CHANGEABLE]
    if unknown:
        raise TypeError(
            f"Bandit: {unknown[0]!r} cannot be changed when a bandit is restored; policy, {', '.join(CHANGEABLE)} can"
        )
    terms = {name: settings.get(name, getattr(bandit, name)) for name in CHANGEABLE}
    holdout = bandit._checked_holdout(terms["holdout"])
    on_empty = bandit._checked_on_empty(terms["on_empty"])
    bandit._agree(bandit.pending, terms["timeout"], terms["on_timeout"], bandit.correctable)
    if holdout != bandit.holdout:
        bandit._progress.change_holdout(bandit.asked, bool(holdout))
    bandit.holdout, bandit.on_empty = holdout, on_empty


def policy_from_json(values: Any) -> Any:
    """A policy's spec."""
    if not isinstance(values, dict):
        raise SnapshotError(f"policy: expected an object with a type, not {values!r:.60}")
    try:
        return spec_from_json(values)
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"policy: {error}") from None


def read_into(bandit: "Bandit", values: dict[str, Any]) -> None:
    """Everything that a snapshot holds beyond what the constructor takes."""
    bandit.asked = count("snapshot", "asked", values["asked"], least=0)
    bandit.told = count("snapshot", "told", values["told"], least=0)
    bandit.timed_out = count("snapshot", "timed_out", values["timed_out"], least=0)
    bandit._last_timed_out = count("snapshot", "last_timed_out", values["last_timed_out"], least=0)
    bandit._is_supplied = bool(values["is_supplied"])
    bandit._arms_seen = count("snapshot", "arms_seen", values["arms_seen"], least=0)
    bandit._timeline.read(values["clock"])
    bandit._catalogue.read(values)
    bandit.holdout = bandit._checked_holdout(values["holdout"])
    bandit._ids.read(values["tags"], bandit.asked)
    bandit._progress = Progress(bool(bandit.holdout))
    bandit._progress.read(values["progress"])
    for key, plays, total in rows_from_json(values["news"], "news", 3):
        told = count("snapshot", "news", plays, least=0), number("snapshot", "news", total)
        bandit._catalogue.news[key_from_json(key, "news")] = told
    for decision, key, plays, total in rows_from_json(values["early_news"], "early_news", 4):
        told = count("snapshot", "early_news", plays, least=0), number("snapshot", "early_news", total)
        asked = count("snapshot", "early_news", decision)
        bandit._catalogue.early_news.append((asked, key_from_json(key, "early_news"), *told))
    bandit._rounds = count("snapshot", "rounds", values["rounds"], least=FIRST_ROUNDS)
    # The newest decision may need room yet. In version 2, rewards did.
    needed = bandit.asked - 1 if values["version"] > 2 else bandit.told
    if not needed <= bandit._rounds <= max(FIRST_ROUNDS, 2 * bandit.asked):
        raise SnapshotError(f"rounds: {bandit._rounds} is no room for {bandit.asked} decisions")
    pattern = begun_policy(bandit.policy, bandit._rounds, bandit.seed, bandit.replication)
    state = values["state"] if values["version"] == VERSION else with_fields_of(values["state"], pattern)
    bandit._state = state_from_json(state, pattern)
    check_values(bandit, pattern)
    bandit._counts = counts(bandit._state)
    limits = Limits(slots=bandit.policy.slots(bandit._rounds), blocks=bandit._counts.blocks, asked=bandit.asked)
    bandit._open.read(values["open"], limits)
    bandit._remembered.read(values["remembered"], limits)
    check_numbers(bandit)
    for one in bandit._open.all():
        item = bandit._item_behind(one.key, one.choice.arm)
        if item is not None:
            item.open += 1
        elif bandit._catalogue.has_items or not one.is_outside:
            raise SnapshotError(f"open: there is no item {one.key!r:.60}")


def check_numbers(bandit: "Bandit") -> None:
    """Refuse more answers than asks."""
    answered = bandit.told + bandit.timed_out + len(bandit._open)
    if bandit.asked < answered or bandit.asked < bandit._last_timed_out:
        raise SnapshotError(
            f"asked: {bandit.asked} decisions are fewer than {bandit.told} told, {bandit.timed_out} timed out and "
            f"{len(bandit._open)} open ones"
        )


# ---------------------------------------------------------------- earlier versions


def upgraded(values: dict[str, Any], items: Any) -> tuple[dict[str, Any], Any]:
    """All but the state as it is written now; and of the items those that are new.

    Before version 5 a snapshot held no keys, but how many items had been taken before that of an arm: the same items
    have to be given, from the first.
    """
    if values["version"] >= 5:
        return values, items
    if values["version"] == 2:  # policies were not told then which of their asks are open
        new = {"timed_out": 0, "last_timed_out": 0, "clock": {"time": 0.0, "lost": 0.0}, "remembered": []}
        rows = rows_from_json(values["open"], "open", 6)
        values = values | {name: AGREED[name] for name in AGREED} | new | {"open": [[*row, "nan", 0.0] for row in rows]}
    keys, items = keys_by_arm(values, items)
    asked = count("snapshot", "asked", values["asked"], least=0)
    rows = [[key_to_json(key), HERE, arm, 1, asked, asked, 0, 0.0, 0.0, 0.0, True] for arm, key in keys.items()]

    def with_key(row: list[Any]) -> list[Any]:
        arm = row[2]
        if arm not in keys:
            raise SnapshotError(f"the arm {arm!r:.60} of a decision is not among those that are known")
        return [*row[1:], key_to_json(keys[arm]), "planned"]

    return values | {
        "on_empty": "go on",
        "same_key": "refuse",
        "holdout": 0.0,
        "is_supplied": True,
        "arms_seen": 0,
        "tags": [],
        "news": [],
        "early_news": [],
        "progress": {"width": 1, "spans": [], "chosen": [0, 0.0, 0.0], "held_out": [0, 0.0, 0.0]},
        "items": rows,
        "here": None,
        "waiting": [],
        "again": [],
        "let_go": [],
        "missing": [],
        "open": [with_key(row) for row in rows_from_json(values["open"], "open", 8)],
        "remembered": [[*row[1:], row[2], "planned"] for row in rows_from_json(values["remembered"], "remembered", 7)],
    }, items


def keys_by_arm(values: dict[str, Any], items: Any) -> tuple[dict[int, Any], Any]:
    """The key of each arm that is known; and the items that were not taken yet."""
    arms = {
        count("snapshot", "positions", arm, least=0): count("snapshot", "positions", position, least=0)
        for arm, position in rows_from_json(values["positions"], "positions", 2)
    }
    if not values["has_items"]:
        return {arm: arm for arm in arms}, items
    if items is None:
        raise ValueError(
            f"this snapshot, of version {values['version']}, holds no keys of items; give the same items to load, from "
            "the first. Saved again, it will"
        )
    entries = iter(entries_of(items))
    fresh = count("snapshot", "fresh", values["fresh"], least=0)
    taken = [key_and_payload(entry) for _, entry in zip(range(fresh), entries, strict=False)]
    if len(taken) < fresh:
        raise ValueError(
            f"only {len(taken):,} items were given, but {fresh:,} had been used when the bandit was saved; give the "
            "same items, from the first"
        )
    return {arm: taken[position][0] for arm, position in arms.items()}, entries


# ---------------------------------------------------------------- events of a journal


def asked_to_json(asked: Asked) -> list[Any]:
    """What was decided."""
    return [str(asked.how), list(asked.choice), key_to_json(asked.key), asked.probability, asked.is_out_of_stock]


def _ask_again(bandit: "Bandit", how: Any, choice: Any, key: Any, probability: Any, is_out: Any, tag: Any) -> None:
    bandit._defer_newest()
    chance = positive("Bandit.recover", "probability", probability)
    asked = Asked(how_from_json(how, "how"), _plan(bandit, choice), key_from_json(key, "key"), chance, bool(is_out))
    bandit._carry_out(asked, checked_tag(tag, "tag"))


def _plan(bandit: "Bandit", choice: Any) -> Choice:
    """A choice that the policy can have made now: compiled kernels do not look whether it can."""
    limits = Limits(slots=bandit.policy.slots(bandit._rounds), blocks=bandit._counts.blocks, asked=bandit.asked)
    plan = choice_from_json(choice, "choice", limits)
    if plan.round != bandit.asked + 1:
        raise SnapshotError(f"decision {plan.round} does not come after decision {bandit.asked}")
    arms = bandit.policy.arms_in_slots(bandit._held)  # none for a policy that remembers no arms
    if arms.size and plan.slot >= 0 and arms[plan.slot] != plan.arm:
        raise SnapshotError(f"the arm {plan.arm} is not in slot {plan.slot}")
    return plan


def _open_number(bandit: "Bandit", decision: Any) -> int:
    """The number of an open decision."""
    found = count("Bandit.recover", "decision", decision)
    if bandit._open.get(found) is None:
        raise SnapshotError(f"decision {found} is not open")
    return found


def _share(value: Any) -> float:
    """A reward from 0 to 1, as journals have them."""
    return fraction("Bandit.recover", "reward", value)


def _observe_again(bandit: "Bandit", key: Any, plays: Any, total: Any) -> None:
    times, share = count("Bandit.recover", "plays", plays), number("Bandit.recover", "reward", total)
    if not 0.0 <= share <= times:
        raise SnapshotError(f"{share} is not the sum of {times} rewards")
    bandit._observe(_item(bandit, key).key, times, share)


def _look_again(bandit: "Bandit", reading: Any, is_told: Any = None) -> None:
    bandit._timeline.is_told = checked_source(is_told, "is_told")
    bandit._look_at_clock(checked_time(reading))


def _prune_again(bandit: "Bandit") -> None:
    bandit._defer_newest()  # as the ask had, in which it was done
    bandit._prune()


def _item(bandit: "Bandit", key: Any) -> Any:
    return bandit._catalogue.find(key_from_json(key, "key"), "Bandit.recover")


EVENTS: dict[str, Callable[..., Any]] = {
    "ask": _ask_again,
    "tell": lambda bandit, decision, value: bandit._tell(_open_number(bandit, decision), _share(value)),
    "time": _look_again,
    "correct": lambda bandit, decision, value: bandit._correct(decision, _share(value)),
    "forget": lambda bandit, decision: bandit._forget(_open_number(bandit, decision)),
    "add": lambda bandit, keys, first: bandit.add(
        [(key_from_json(key, "key"), None) for key in keys], first=first, same_key="merge"
    ),
    "take": lambda bandit, key: bandit._catalogue.enter_taken(key_from_json(key, "key"), None),
    "unseen": lambda bandit, key: bandit._catalogue.enter_absent(key_from_json(key, "key")),
    "defer": lambda bandit: bandit._defer_newest(),
    "news": lambda bandit: bandit._take_news(),
    "prune": _prune_again,
    "set aside": lambda bandit, key, state: bandit._set_aside(
        _item(bandit, key).key, one_of("Bandit.recover", "state", state, (PAUSED, WITHDRAWN)), "Bandit.recover"
    ),
    "restore": lambda bandit, key: bandit._catalogue.bring_back(_item(bandit, key)),
    "observe": _observe_again,
}


def replay(bandit: "Bandit", event: Any, where: str) -> None:
    """Do again what was done."""
    try:
        name, *values = event
        EVENTS[name](bandit, *values)
    except (TypeError, ValueError, KeyError, AssertionError, IndexError, OverflowError, RecursionError) as error:
        raise SnapshotError(f"{where}: the event {in_short(event)} cannot be done again ({error})") from None


# ---------------------------------------------------------------- another policy


def go_on_with(bandit: "Bandit", policy: Policy) -> None:
    """Change the policy of a bandit, with as much of what it knows as the new one can take over."""
    if bandit._catalogue.has_items:
        policy = policy.with_catalogue()
    check_pending(policy, bandit.pending is not None, f"pending={bandit.pending!r}")
    check_corrections(policy, bandit.correctable > 0, f"correctable={bandit.correctable!r}")
    before, bandit.policy = bandit.policy, policy
    checked_slots(policy, bandit._rounds)
    begun = begun_policy(policy, bandit._rounds, bandit.seed, bandit.replication)
    adapted = policy.adapted(bandit._state, begun) if type(policy) is type(before) else None
    if adapted is not None:
        bandit._changed(adapted)
        bandit.carried = {"kept": ["all that the policy knows", "open decisions", "items"], "lost": []}
        return
    told, has_items = len(bandit._remembered.told), bandit._catalogue.has_items
    begin_anew(bandit, begun)
    if has_items:
        kept = ["items, with their plays and rewards"]
        lost = [
            f"what {before.label()} knows beyond plays and rewards of items",
            "which of its decisions are open; their answers, and corrections, still count for their items",
        ]
    else:
        kept = ["the numbers and ids of decisions"]
        lost = [
            f"what {before.label()} knows",
            f"what its decisions were for: answers to the {len(bandit._open):,} that are open will be ignored, and "
            f"{told:,} that have a reward cannot be corrected any more",
        ]
    bandit.carried = {"kept": kept, "lost": lost}


def begin_anew(bandit: "Bandit", begun: Any) -> None:
    """Begin with a new state, and let it know of all items."""
    bandit._changed(begun)
    bandit._is_supplied = True
    catalogue = bandit._catalogue
    told = bandit._remembered.told
    if not catalogue.has_items:
        told.clear()  # what is known of an arm goes with the policy that has it
    for decision, closed in list(told.items()):
        told[decision] = closed._replace(choice=no_choice(decision))
    for decision, one in list(bandit._open.deferred.items()):
        bandit._open.deferred[decision] = one._replace(choice=no_choice(decision))
    if (newest := bandit._open.newest) is not None:
        bandit._open.newest = newest._replace(choice=no_choice(newest.choice.round))
    known = sorted(catalogue.arms.values(), key=lambda item: item.first_ask)
    for item in known:
        catalogue.unbind(item)
    for item in catalogue.items.values():
        item.had_arm = False
    for item in known:
        if item.plays and item.is_here and catalogue.has_items:
            bandit._adopt(item)
