"""Ids of decisions that cannot be confused: across bandits, processes and restores.

An id is a tag and the number of the decision, such as ``"5f0c9a3b71e2-17"``. A bandit draws a tag with its first
decision, and again with the first one after it was restored: two processes that go on from one snapshot, or one that
goes on from an older one, give out other ids. Which numbers belong to which tag is in every snapshot.
"""

import os
import re
from typing import Any

from ..snapshots import SnapshotError, rows_from_json
from ..specs import count

TAG = re.compile(r"[0-9a-f]{12}")
ID = re.compile(r"([0-9a-f]{12})-([1-9][0-9]{0,18})")


def new_tag() -> str:
    """Twelve random hex digits."""
    return os.urandom(6).hex()


def checked_tag(tag: Any, where: str) -> str:
    """A tag that was saved."""
    if not isinstance(tag, str) or not TAG.fullmatch(tag):
        raise SnapshotError(f"{where}: expected twelve hex digits, not {tag!r:.60}")
    return tag


class Ids:
    """The tags of a bandit, each with the number of the first decision that has it."""

    def __init__(self) -> None:
        self.tags: list[tuple[int, str]] = []
        self.is_own = False  # whether the last tag was drawn by this very object

    def of(self, decision: int) -> str:
        """The id of a decision by its number."""
        for first, tag in reversed(self.tags):
            if decision >= first:
                return f"{tag}-{decision}"
        return f"{'0' * 12}-{decision}"  # of a snapshot from before there were tags

    def for_next(self) -> str:
        """The tag of the next decision; it is not given out yet."""
        return self.tags[-1][1] if self.is_own else new_tag()

    def give_out(self, decision: int, tag: str) -> str:
        """The id of a decision, from which on all have this tag."""
        if not self.tags or self.tags[-1][1] != tag:
            self.tags.append((decision, tag))
        self.is_own = True
        return f"{tag}-{decision}"

    def decision_of(self, identity: str) -> int | None:
        """The number of the decision with this id; None if it is none of this bandit's."""
        found = ID.fullmatch(identity)
        if found is None:
            return None
        decision = int(found[2])
        return decision if self.of(decision) == identity else None

    def to_json(self) -> list[list[Any]]:
        """As plain JSON values."""
        return [[first, tag] for first, tag in self.tags]

    def read(self, saved: Any, asked: int) -> None:
        """Take over what ``to_json`` gave, of a bandit that has made so many decisions."""
        last = 0
        for place, (first, tag) in enumerate(rows_from_json(saved, "tags", 2)):
            checked_tag(tag, f"tags[{place}]")
            if count("snapshot", f"tags[{place}]", first) <= last:
                raise SnapshotError(f"tags[{place}]: {first} is not after {last}")
            if first > asked:
                raise SnapshotError(f"tags[{place}]: {first} is not the number of a decision")
            last = first
            self.tags.append((first, tag))
