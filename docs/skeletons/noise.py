"""Grades: rewards come in a few steps, as in a survey.

Copy this file to write a noise: how a reward is drawn from a mean.
"""

import dataclasses
from typing import Annotated, Any, NamedTuple

from manyarms.contract import register
from manyarms.noises import Noise
from manyarms.specs import count
from manyarms.streams import uniform


def at_least_two(owner: str, name: str, value: Any) -> int:
    """What a field keeps, or an error that names it."""
    return count(owner, name, value, least=2)


class GradesState(NamedTuple):
    """What the compiled loop carries: numbers and arrays, at least one."""

    steps: float


@dataclasses.dataclass(frozen=True)
class Grades(Noise):
    """One of the two grades beside the mean, the upper one with the probability that makes the average right.

    Parameters
    ----------
    grades
        How many there are, from 0 to 1 in equal steps.
    """

    grades: Annotated[int, at_least_two] = 5  # a check of one's own

    def start(self) -> GradesState:
        """The state that the compiled loop carries."""
        return GradesState(steps=self.grades - 1.0)


def reward_of(noise: GradesState, mean: float, bits: int) -> float:
    """The reward that belongs to the random bits of this play. Its average over all bits has to be the mean."""
    steps = mean * noise.steps
    lower = int(steps)
    upper = 1.0 if uniform(bits) < steps - lower else 0.0
    return (lower + upper) / noise.steps


register(GradesState, reward_of=reward_of)
