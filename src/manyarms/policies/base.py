"""What all policies share: the abstract spec, and the fields that many of them have."""

import abc
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import binary_log, natural_log
from ..compiled import kernel
from ..specs import Spec, count, filled, number, own_errors
from ..states import enlarged, mapped, types_of

DOUBLING = "doubling"
"""For ``horizon``: unknown, and assumed to be the next power of two."""


class Policy(Spec, abc.ABC, abstract=True):
    """Abstract: which arm next?"""

    kind: ClassVar[str] = "policy"
    about: ClassVar[About | None] = None  # for those who choose: what it is told, its rate, its cost
    sees_means: ClassVar[bool] = False  # an oracle, for simulations only
    takes_corrections: bool = False  # whether a reward that was told can be replaced by another
    takes_pending: bool = False  # whether rewards may be assumed until they come: it does nothing that cannot be undone
    restarts_when: ClassVar[str] = ""  # in words, where there is more to say than that it does
    presets: ClassVar[dict[str, dict[str, Any]]] = {}  # name -> what the settings left at None are then
    kept_settings: ClassVar[tuple[str, ...]] = ("settings",)  # the fields of a state that follow from the spec alone
    fixed_fields: ClassVar[tuple[str, ...]] = ()  # further such fields, on which others depend
    settings_type: ClassVar[type]  # of the named tuple that a state keeps of the spec, if there is much to keep

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.presets:
            self.chosen()  # or an error

    @property
    def is_scattered(self) -> bool:
        """Whether most rounds touch places all over its arrays.

        Then a GPU plays fewer replications at a time, so that its cache holds what they touch.
        """
        return bool(getattr(getattr(self, "base", None), "is_scattered", False))

    @property
    def is_wide(self) -> bool:
        """Whether its kernels work on rows of numbers (`manyarms.lanes`).

        Then all threads of a GPU's warp play one replication together, a number of a row each.
        """
        return False

    @abc.abstractmethod
    def start(self, rounds: int) -> Any:
        """A state with arrays for ``rounds`` rounds. ``begin`` it before the first ask."""

    @abc.abstractmethod
    def slots(self, rounds: int) -> int:
        """The most arms it keeps at a time within ``rounds`` rounds."""

    def likely_start(self, rounds: int) -> tuple[Any, int]:
        """A state with room for what most runs need, and its slots: a GPU plays most runs so, and the others again."""
        return self.start(rounds), self.slots(rounds)

    @property
    def known_horizon(self) -> int:
        """The horizon as a state keeps it: 0 for unknown."""
        horizon = getattr(self, "horizon", None)
        return horizon if isinstance(horizon, int) else 0

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

    def chosen(self) -> dict[str, Any]:
        """The settings of the preset, with those of the spec's own fields that are not None put over them."""
        preset = getattr(self, "preset", None)
        if not isinstance(preset, str) or preset not in self.presets:
            known = ", ".join(map(repr, self.presets))
            raise ValueError(f"{type(self).__name__}: unknown preset {preset!r}; there are {known}")
        given = {name: getattr(self, name) for name in self.presets[preset]}
        return self.presets[preset] | {name: value for name, value in given.items() if value is not None}

    def settings(self) -> Any:
        """The spec in numbers. What is None, with the preset put under it, is the default of the settings' type."""
        chosen = self.chosen() if self.presets else {}
        if "log_base" in chosen:
            chosen["log_base"] = base_number(chosen["log_base"])
        return filled(self.settings_type, self, **(chosen | {"horizon": self.known_horizon}))

    @abc.abstractmethod
    def kept_arms(self, state: Any) -> NDArray[np.int64]:
        """The arms the policy may still choose."""

    def arms_in_slots(self, state: Any) -> NDArray[np.int64]:
        """Slot -> the arm in it that ``ask_among`` can choose, -1 if there is none; of a policy without it, nothing."""
        return np.zeros(0, dtype=np.int64)

    @property
    def is_random(self) -> bool:
        """Whether it chooses at random, with probabilities that it states."""
        return False

    def chance_of(self, state: Any, slot: int, allowed: NDArray[np.bool_]) -> float:
        """With what probability it asks for the arm in a slot, if it may ask for those in the allowed slots."""
        return 0.0

    def can_draw(self, state: Any) -> bool:
        """Whether ``draw`` gives it a fresh arm now."""
        return False

    def adapted(self, state: Any, begun: Any) -> Any:
        """A state of the same policy with other settings, as this one would have it; None if that cannot be.

        ``begun`` is a fresh one of this spec. Settings are what a state keeps of its spec (``kept_settings``).
        """
        if not all(hasattr(begun, name) for name in self.kept_settings):
            return None
        try:
            # Live, Python's numbers and NumPy's are all the same.
            plain = mapped(lambda new, old: old if isinstance(new, np.ndarray) else type(new)(old), begun, state)
            if types_of(plain) != types_of(begun):
                return None
            return enlarged(plain, begun)._replace(**{name: getattr(begun, name) for name in self.kept_settings})
        except (TypeError, ValueError):  # other fields; or its arrays are too small for what is known
            return None

    def with_catalogue(self) -> Self:
        """The spec as it plays a catalogue whose items are not endless."""
        return self

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
        """Where the policy stands and why it last restarted, in numbers; ``in_words`` in sentences, if it has some."""
        return {}

    def in_words(self, known: Mapping[str, Any]) -> str:
        """What ``explain`` has said, in sentences; arms may have got a ``key``."""
        return str(known.get("in_words", ""))


class OneArmPolicy(Policy, abstract=True):
    """Abstract: keeps one arm at a time, ``state.arm``."""

    def slots(self, rounds: int) -> int:
        """One: the arm in play."""
        return 1

    def kept_arms(self, state: Any) -> NDArray[np.int64]:
        """The arm in play."""
        return np.array([state.arm], dtype=np.int64)


# ---------------------------------------------------------------- fields that check themselves


def checked_horizon(owner: str, name: str, horizon: Any) -> int | str | None:
    """A horizon as its spec keeps it."""
    if horizon is None or horizon == DOUBLING:
        return horizon  # type: ignore[no-any-return]
    if isinstance(horizon, str):
        raise ValueError(f"{owner}: {name} must be a whole number, None or {DOUBLING!r}, not {horizon!r}")
    return count(owner, name, horizon)


def checked_log_base(owner: str, name: str, log_base: Any) -> float | str:
    """2, "e", or another base above 1."""
    if log_base == "e":
        return "e"
    base = number(owner, name, log_base)
    if base <= 1.0:
        raise ValueError(f"{owner}: {name} must be 2, 'e' or another number above 1, not {log_base!r}")
    return base


Horizon = Annotated[int | str | None, checked_horizon]
LogBase = Annotated[float | str, checked_log_base]


def base_number(log_base: float | str) -> float:
    """The base of a logarithm in numbers."""
    return math.e if isinstance(log_base, str) else log_base


@kernel
def logarithm(value: float, base: float) -> float:
    """The logarithm to this base; exact for powers of two to base 2."""
    if base == 2.0:
        return binary_log(value)
    if base == math.e:
        return natural_log(value)
    return natural_log(value) / natural_log(base)


def check_corrections(policy: Policy, are_needed: bool, by: str) -> None:
    """Refuse what a policy cannot do."""
    if are_needed and not policy.takes_corrections:
        raise ValueError(
            f"{policy.label()} takes no corrections, which {by} needs: a reward that was told stays. Do "
            'without, or choose a policy that takes them, such as ma.SSUCB(beta=1.0) (beta as a number, not "auto")'
        )


def check_pending(policy: Policy, is_needed: bool, by: str) -> None:
    """Refuse what a policy cannot do, or cannot undo."""
    check_corrections(policy, is_needed, by)
    if is_needed and not policy.takes_pending:
        raise ValueError(
            f"{policy.label()} takes no assumed rewards, which {by} needs: it drops arms or restarts for what it is "
            "told, and a correction does not undo that. Do without, or choose ma.Subsample or ma.SSUCB"
        )


def check_feedback(policy: Policy, feedback: Any) -> None:
    """Refuse a world whose feedback asks for more."""
    by = f"feedback={feedback.label()}"
    check_corrections(policy, feedback.corrects, by)
    check_pending(policy, feedback.pending is not None, by)


MOST_SLOTS = 2**27
"""More slots than this, some 5 GB, are taken for a mistake."""


def checked_slots(policy: Policy, rounds: int) -> int:
    """How many slots a policy needs, or an error before anything is allocated."""
    with own_errors(policy, f"slots({rounds})"):
        slots = policy.slots(rounds)
        is_too_much = slots > MOST_SLOTS
    if is_too_much:
        raise ValueError(
            f"{policy.label()} would keep {slots:,} arms at a time within {rounds:,} rounds, some "
            f"{slots * 40 / 2**30:,.0f} GiB; choose a smaller beta, horizon or number of arms"
        )
    return slots
