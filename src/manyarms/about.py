"""What to know of a policy or base before choosing it: each class says it of itself (``about``), in this form.

`manyarms policies --table` and docs/choose.md are made of it. Where an algorithm comes from and what was changed of it
stands in the docstring of its module, after "Source:" and "Deviations:".
"""

import dataclasses
import sys
from typing import Annotated, Any

from .specs import Checked, among, each


def _text(owner: str, name: str, value: Any) -> str:
    """``value`` as a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{owner}: {name} must be a text, not {value!r}")
    return value


TOLD = {
    "T": "the horizon: how many rounds there will be",
    "beta": "the tail exponent: how common good arms are, P(mean > top - x) about x^beta",
    "alpha": "the factor before that x^beta",
    "top": "the best mean there is",
    "top 1": "nothing of it can be told: it takes the best arms to pay nearly always",
    "V": "by how much means change in the whole run",
    "changes": "how often arms change in the whole run",
    "V or changes": "one of these",
    "least change": "by how much an arm changes at least, if it does",
    "rate of wear": "by how much a play lowers the mean of its arm at most",
    "rounds of change": "in which rounds arms change",
    "noise": "the scale of the noise; there is a default, mostly for rewards from 0 to 1",
    "means": "what arms pay on average: in simulations only",
    "its base": "what the base is told",
}
"""What policies and bases are told, by the words that stand for it."""

FIELDS = {
    "T": ("horizon",),
    "beta": ("beta",),
    "top": ("top",),
    "V": ("variation",),
    "changes": ("changes",),
    "V or changes": ("variation", "changes"),
    "least change": ("tolerance",),
    "rate of wear": ("rotting",),
    "rounds of change": ("rounds",),
    "its base": ("base",),
}
"""In which fields of a spec that stands; whoever runs a base tells it T."""

PURPOSES = {
    "still": "arms that stay what they are",
    "coins": "rewards 0 and 1, and no others",
    "wear": "arms that get worse little by little",
    "crashes": "arms that change all at once",
    "rising": "arms that get better",
    "lies": "arms that stay what they are, some of whose rewards are forged",
    "adversaries": "rewards that somebody else decides",
    "late answers": "many asks that are open at a time: it spreads them over arms and goes on",
    "one good arm": "an arm to stay with in the end, whatever is earned on the way",
    "comparison": "nothing but that",
}
"""What policies and bases are made for, by the words that stand for it."""


@dataclasses.dataclass(frozen=True)
class About(Checked):
    """What to know of an algorithm before choosing it.

    Parameters
    ----------
    told
        What it must be told, or takes for granted; nothing if empty. Words of ``TOLD``, or one's own.
    rate
        Its regret where nothing changes, up to logarithms; of a base on K arms.
    made_for
        Words of ``PURPOSES``.
    cost
        Of a round.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.CBT.about.told, ma.CBT.about.cost
    (('T', 'beta', 'top 1'), 'O(1)')
    """

    told: Annotated[tuple[str, ...], each(_text)]
    rate: Annotated[str, _text]
    made_for: Annotated[tuple[str, ...], each(among(PURPOSES))]
    cost: Annotated[str, _text]


def part_of_docstring(spec_type: type, head: str) -> str:
    """A paragraph of the docstring of a type's module, by the word and colon that it begins with; or nothing.

    Examples
    --------
    >>> import manyarms as ma
    >>> part_of_docstring(ma.CBT, "Source")
    'Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793): CBT.'
    """
    text = sys.modules[spec_type.__module__].__doc__ or ""
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return next((part.removeprefix(f"{head}: ") for part in paragraphs if part.startswith(f"{head}: ")), "")
