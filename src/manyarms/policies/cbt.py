"""CBT: keep an arm while the confidence bound of its loss is at most a target that is known to be right.

An arm is worth another play as long as its loss may be below a target, the loss that an ideal player
would pay in every round; when it is not, a fresh one is. CBT computes the target from what is known
of the reservoir; `EmpiricalCBT` is the policy that knows nothing of it.

Source: Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793): CBT.

Symbols: those of `policies.confidence`; zeta_n -> target; lambda -> first_loss (spec).

Deviations: doubling blocks without a horizon, each with its own n, and an estimated beta (`policies.held`); an arm that
was left is left for good all the same.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import binary_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Counts
from ..specs import Positive
from .base import Horizon, OneArmPolicy
from .blocks import NO_BLOCK, NO_COUNTS, Block, explained_block
from .confidence import NO_SLACK, Slack, confidence_bound, slack_for
from .held import next_arm, register_held
from .tail import Beta, Tail, ToldBeta, cautious_beta, explained, new_tail


class CBTSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    first_loss: float  # lambda
    target: float = 0.0  # 0: from lambda and beta
    horizon: int = 0  # 0: unknown


class CBTState(NamedTuple):
    """A run of the algorithm."""

    settings: CBTSettings
    tail: ToldBeta | Tail  # what is known of beta
    block: Block = NO_BLOCK
    slack: Slack = NO_SLACK
    target: float = 0.0
    arm: int = 0  # the arm in play
    plays: int = 0  # how many of its rewards have come
    total: float = 0.0  # its losses
    squares: float = 0.0  # of its losses
    counts: Counts = NO_COUNTS


@dataclasses.dataclass(frozen=True)
class CBT(OneArmPolicy):
    """Keep an arm while the confidence bound of its loss is at most a target (Chan & Hu 2018).

    A bound moves only with its own arm and the target is fixed, so an arm that was left never comes back: one arm
    at a time is all it keeps.

    Parameters
    ----------
    beta
        The tail exponent of the reservoir, P(mean > 1 - x) = x^beta, or ``"auto"``: estimated as the run goes.
    first_loss
        The average of the first loss of a fresh arm that is not 0: 1 for coins. If P(mean > 1 - x) is about
        alpha · x^beta, divide it by alpha.
    target
        In place of ((beta + 1) · first_loss / T)^(1 / (beta + 1)).
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own target.

    Examples
    --------
    With coins and a uniform reservoir no regret can be below sqrt(2 T) in the long run, which is 141 here:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.CBT(beta=1.0), world, horizon=10_000, replications=50, seed=1)
    >>> bool(141 < result.final_regret("CBT").mean() < 200)
    True
    """

    about: ClassVar = About(
        told=("T", "beta", "top 1"),
        rate="T^(beta/(beta+1)), with the best constant: sqrt(2 T) at beta = 1",
        made_for=("still",),
        cost="O(1)",
    )
    settings_type: ClassVar = CBTSettings
    tried_with: ClassVar = ({"beta": 1.0}, {"beta": "auto"})

    beta: Beta
    first_loss: Positive = 1.0
    target: Positive | None = None
    horizon: Horizon = None

    def start(self, rounds: int) -> CBTState:
        """Nothing to allocate."""
        return CBTState(settings=self.settings(), tail=new_tail(self.beta, 1))

    def explain(self, state: CBTState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        own = {
            "plays_of_arm": state.plays,
            "confidence_bound": bound_of(state) if state.plays else None,
            "target": state.target,
        }
        return explained_block(state) | own | explained(state.tail, binary_log(float(state.block.length)))


@kernel
def bound_of(state: CBTState) -> float:
    """The confidence bound of the arm in play, once it was played."""
    return confidence_bound(state.total, state.squares, state.plays, state.slack)


@kernel
def target_for(settings: CBTSettings, beta: float, horizon: int) -> float:
    """Zeta_n, for which the average of (zeta - gap)^+ over fresh arms is lambda / n."""
    if settings.target > 0.0:
        return settings.target
    return power((beta + 1.0) * settings.first_loss / horizon, 1.0 / (beta + 1.0))


def prepared(state: CBTState, length: int) -> CBTState:
    """No losses, and the slack of a block of that length."""
    return replaced(state, slack=slack_for(length), total=0.0, squares=0.0)


def with_target(state: CBTState, length: int) -> CBTState:
    """The target for a block of that length."""
    beta = cautious_beta(state.tail, binary_log(float(length)))
    return replaced(state, target=target_for(state.settings, beta, length))


def with_reward(state: CBTState, reward: float) -> CBTState:
    """Add the loss; a fresh arm if the bound of this one exceeds the target."""
    loss = 1.0 - reward
    played = replaced(state, plays=state.plays + 1, total=state.total + loss, squares=state.squares + loss * loss)
    if rarely(bound_of(played) > state.target):
        return next_arm(replaced(played, total=0.0, squares=0.0))  # type: ignore[no-any-return]
    return played


register_held(CBTState, prepared=prepared, with_level=with_target, judged=with_reward)
