"""Episodes: what the rounds between two restarts cost, how much changed in them, and why they ended.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Section 4.2.

Symbols: t_l -> start of an episode.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..policies.base import Policy
from ..specs import fraction, plain_number
from .entries import Entries
from .inputs import Ints, checked_log
from .parts import Parts, checked_parts, distinct, exact_regret
from .variation import arriving_falls

NOTE_FIELDS = ("round", "statistic", "threshold", "block_rank", "arms", "rounds_in_block")
"""What ``Policy.restart_in_words`` reads of a note, all numbers."""


class Episode(NamedTuple):
    """The rounds between two restarts."""

    number: int  # as in the log, where they count from 1
    start: int  # its first round
    end: int  # its last round
    regret: float
    variation: float  # V, of the changes that arrive in its rounds; all episodes' sum up to the run's
    rotting_variation: float  # V_R
    changes: int  # L
    rotting_changes: int  # L_R
    arms: int  # how many were played
    new_arms: int  # how many were played for the first time
    blocks: int | None  # how many were played in; None if the log does not say
    ended: str  # "restart" or "horizon"
    note: dict[str, Any] | None  # what the policy said about the restart, if it was asked

    @property
    def rounds(self) -> int:
        """How many rounds it had."""
        return self.end - self.start + 1

    @property
    def why(self) -> str:
        """Why it ended, in words.

        Examples
        --------
        >>> from manyarms.measures import episodes_of_run
        >>> note = {"round": 2, "block_rank": 1, "rounds_in_block": 2, "arms": 1, "statistic": 1.5, "threshold": 1.0}
        >>> means = [0.1, 0.1, 0.9]
        >>> episodes_of_run([0, 0, 1], means, means, [1, 1, 2], notes=[note])[0].why
        'restart after round 2: 1.5 reached the threshold 1 in a block of rank 1 with 1 arm, after 2 of its rounds'
        """
        return self.why_in(Policy.restart_in_words)

    def why_in(self, words: Callable[[Mapping[str, Any]], str]) -> str:
        """The same in a policy's own words: its ``restart_in_words``."""
        if self.ended == "horizon":
            return f"horizon: the run ended with round {self.end:,}"
        said = "" if self.note is None else words(self.note)
        return f"restart after round {self.end:,}" + (f": {said}" if said else "")


@dataclasses.dataclass(frozen=True)
class Episodes(Entries[Episode]):
    """The episodes of a run: a sequence of ``Episode``. A slice is a tuple of them.

    Attributes
    ----------
    regret
        The regret of the whole run.
    """

    _noun = "episode"
    regret: float
    _entries: tuple[Episode, ...] = dataclasses.field(repr=False)

    @property
    def restarts(self) -> Ints:
        """The rounds after which the policy restarted."""
        return np.array([episode.end for episode in self if episode.ended == "restart"], dtype=np.int64)

    @property
    def lengths(self) -> Ints:
        """The number of rounds of each episode."""
        return np.array([episode.rounds for episode in self], dtype=np.int64)

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each episode, for tables and frames."""
        return [
            {name: value for name, value in episode._asdict().items() if name != "note"} | {"rounds": episode.rounds}
            for episode in self
        ]


def episodes_of_run(
    arms: ArrayLike,
    means: ArrayLike,
    next_means: ArrayLike,
    episode_of_round: ArrayLike,
    *,
    blocks: ArrayLike | None = None,
    notes: Iterable[Mapping[str, Any] | None] = (),
    top: float = 1.0,
) -> Episodes:
    """What each episode of a run cost, how much changed in it, and why it ended.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``.
    episode_of_round
        The episode of each round, as a log has it.
    blocks
        The block of each round.
    notes
        What the policy said about its restarts: a list with one note for each restart, ``explain(…)["last_restart"]``
        right after it, in any order; None is left out. One about the last round tells of a restart that a log cannot
        show.
    top
        The mean from which regret is counted.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.measures import episodes_of_run
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
    >>> log = ma.simulate(ma.Elimination(beta=1.0), world, horizon=5_000, seed=1, log=True).log("Elimination")
    >>> found = episodes_of_run(log.arm, log.mean, log.next_mean, log.episode, blocks=log.block)
    >>> sum(episode.rounds for episode in found), found[-1].ended
    (5000, 'horizon')
    """
    played, mean, next_mean = checked_log(arms, means, next_means)
    parts = checked_parts("episode_of_round", episode_of_round, played.size)
    block = None if blocks is None else checked_parts("blocks", blocks, played.size).labels
    top = fraction("episodes_of_run", "top", top)
    told = checked_notes(notes, parts)
    all_means, all_falls = mean.tolist(), arriving_falls(mean, next_mean).tolist()
    is_first = np.zeros(played.size, dtype=bool)
    is_first[np.unique(played, return_index=True)[1]] = True
    found = []
    for span in parts.spans():
        rounds = span.rounds
        falls = all_falls[rounds]
        is_last = span.end == played.size
        found.append(
            Episode(
                *span,
                regret=exact_regret(top, all_means[rounds]),
                variation=math.fsum(map(abs, falls)),
                rotting_variation=math.fsum(change for change in falls if change > 0.0),
                changes=sum(change != 0.0 for change in falls),
                rotting_changes=sum(change > 0.0 for change in falls),
                arms=distinct(played[rounds]),
                new_arms=int(is_first[rounds].sum()),
                blocks=None if block is None else distinct(block[rounds]),
                ended="horizon" if is_last and span.end not in told else "restart",
                note=told.get(span.end),
            )
        )
    return Episodes(regret=exact_regret(top, all_means), _entries=tuple(found))


def checked_notes(notes: Any, parts: Parts) -> dict[int, dict[str, Any]]:
    """The notes about restarts by the round of the restart, which ends an episode."""
    if isinstance(notes, Mapping | str) or not isinstance(notes, Iterable):
        raise ValueError(
            f"episodes_of_run: notes must be a list with one note for each restart, not {notes!r}; put one alone in []"
        )
    told = {}
    ends = set(parts.edges[1:].tolist())
    for note in notes:
        if note is None:
            continue
        if not isinstance(note, Mapping) or "round" not in note:
            raise ValueError(
                f"episodes_of_run: each of the notes must have a round, not {note!r}; "
                'take them from explain(…)["last_restart"]'
            )
        for name in NOTE_FIELDS:
            value = plain_number(note.get(name, 0))
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(
                    f"episodes_of_run: {name} of a note must be a number, not {value!r}; leave {name} out if not known"
                )
        round = plain_number(note["round"])
        if round not in ends:
            raise ValueError(
                f"episodes_of_run: a note tells of a restart after round {round!r}, where no episode ends; "
                "give the notes of the same run"
            )
        told[int(round)] = dict(note)
    return told
