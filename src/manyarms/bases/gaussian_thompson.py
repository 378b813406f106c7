"""Thompson sampling for rewards that are no coins: draw a mean for every arm from a normal distribution.

If means are normal before the first play, and rewards are normal around them with a standard deviation that is told,
what is known of an arm is normal, too. Rewards may lie beyond [0, 1].

Source: Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence of two
samples" (Biometrika 1933), with normal rewards in place of coins; on a subsample it is SS-TS of Bayati, Hamidi, Johari
& Khosravi (NeurIPS 2020), for Gaussian rewards. Prior and variance are those of their code.

Symbols: sigma -> sigma; mu_0, tau -> mean, deviation; n_i, S_i -> plays, sums; the posterior of an arm is normal with
precision 1 / tau^2 + n_i / sigma^2, and mean (mu_0 / tau^2 + S_i / sigma^2) over that.

Deviations: none from the formula. The authors' code adds sigma^2 to the precision with every play, where 1 / sigma^2
has to be added, and lets the first reward take the place of the prior mean; both are nothing of the algorithm. As for
`Thompson`, the probability of a choice has no closed form, and 1 is stated instead; and every arm's mean is drawn anew
in every round, which takes O(arms) time.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..compiled import load_both
from ..specs import Positive, number, positive, several
from ..streams import normal
from .base import Base, Rewards, new_rewards
from .thompson import register_sampling


class GaussianThompsonState(NamedTuple):
    """A run over one subsample."""

    rewards: Rewards
    prior_mean: float
    prior_precision: float
    precision: float  # of a reward
    arms: int = 0


def checked_normal(owner: str, name: str, value: Any) -> tuple[float, float]:
    """A mean, and a standard deviation above 0."""
    given = tuple(several(owner, name, value))
    if len(given) != 2:
        raise ValueError(f"{owner}: {name} must be two numbers, a mean and a standard deviation, not {value!r}")
    return number(owner, f"the mean of the {name}", given[0]), positive(owner, f"the deviation of the {name}", given[1])


@dataclasses.dataclass(frozen=True)
class GaussianThompson(Base):
    """The largest of one normal draw for each arm (Thompson 1933; SS-TS of Bayati et al. 2020 for Gaussian rewards).

    Parameters
    ----------
    sigma
        The standard deviation of a reward around its mean. No reward in [0, 1] has more than 0.5.
    prior
        (mean, standard deviation): what is believed of an arm before its first play, as a normal distribution.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Gaussian(sigma=0.3))
    >>> policy = ma.Subsample(base=ma.GaussianThompson(sigma=0.3), beta=1.0)
    >>> result = ma.simulate(policy, world, horizon=1_000, replications=10, seed=1)
    >>> bool(result.final_regret("Subsample").mean() < 250)  # random arms lose 500
    True
    """

    about: ClassVar = About(
        told=("noise",),
        rate="log(T) / gap for each arm",
        made_for=("still",),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({}, {"sigma": 0.1, "prior": (0.8, 0.1)})

    sigma: Positive = 0.5
    prior: Annotated[tuple[float, float], checked_normal] = (0.5, 0.25)

    def start(self, slots: int) -> GaussianThompsonState:
        """A state with arrays for ``slots`` arms."""
        mean, deviation = self.prior
        return GaussianThompsonState(new_rewards(slots), mean, 1.0 / deviation**2, 1.0 / self.sigma**2)


def draw(base: GaussianThompsonState, slot: int, bits: int) -> float:
    """From the posterior of the arm."""
    plays, total = load_both(base.rewards.plays, base.rewards.sums, slot)
    precision = base.prior_precision + plays * base.precision
    mean = (base.prior_precision * base.prior_mean + base.precision * total) / precision
    return mean + normal(bits, 1) / math.sqrt(precision)


register_sampling(GaussianThompsonState, draw_of=draw)
