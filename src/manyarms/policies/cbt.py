"""CBT: keep an arm while the confidence bound of its loss is at most a target that is known to be right.

An arm is worth another play as long as its loss may be below a target, the loss that an ideal player
would pay in every round; when it is not, a fresh one is. CBT computes the target from what is known
of the reservoir; `EmpiricalCBT` is the policy that knows nothing of it.

Source: Chan & Hu, "Infinite Arms Bandit: Optimality via Confidence Bounds" (arXiv:1805.11793): CBT.

Symbols: those of `policies.confidence`; zeta_n -> target; lambda -> first_loss (spec).

Deviations: without a horizon, the run is cut into blocks of 2, 4, 8, … rounds, each with its own n and fresh arms (the
doubling trick); a known horizon that has passed changes nothing. With ``beta="auto"`` beta is estimated anew whenever
a fresh arm is drawn (`policies.tail`), on the safe side, and the target follows; an arm that was left is left for good
all the same.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..arithmetic import binary_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts, begin
from ..specs import Positive
from .base import Horizon, OneArmPolicy
from .blocks import (
    NO_BLOCK,
    NO_COUNTS,
    Block,
    after_round,
    ask_one_arm,
    block_length,
    explained_block,
    is_over,
    next_block,
    register_policy,
    with_arm,
    with_block,
)
from .confidence import NO_SLACK, Slack, confidence_bound, slack_for
from .tail import Beta, Tail, ToldBeta, cautious_beta, explained, is_estimated, new_tail, watch_fresh_arm, watch_reward


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

    settings_type: ClassVar = CBTSettings
    tried_with: ClassVar = (
        {"beta": 1.0},
        {"beta": "auto"},
    )

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


@kernel
def present_target(state: CBTState, length: int) -> float:
    """The target for a block of that length, as far as beta is known."""
    return target_for(state.settings, cautious_beta(state.tail, binary_log(float(length))), length)


@kernel
def with_fresh_arm(state: CBTState) -> CBTState:
    """A fresh arm is in play."""
    watch_fresh_arm(state.tail, 0)
    return replaced(state, arm=state.counts.arms, plays=0, total=0.0, squares=0.0, counts=with_arm(state.counts))


@kernel
def open_block(state: CBTState, rank: int) -> CBTState:
    """A fresh arm: for the whole run if its length is known, else for the next doubling block."""
    length = block_length(state.settings.horizon, rank)
    opened = replaced(
        state,
        block=next_block(state.block, rank, length, 1),
        slack=slack_for(length),
        target=present_target(state, length),
        counts=with_block(state.counts, 0),
    )
    return with_fresh_arm(opened)


def begin_cbt(state: CBTState, key: int) -> CBTState:
    """The first block."""
    return open_block(replaced(state, tail=begin(state.tail, key), block=NO_BLOCK, counts=NO_COUNTS), 1)


def learn(state: CBTState, choice: Choice, reward: float) -> CBTState:
    """Take in the reward of the arm in play; a fresh arm if the block is over."""
    told = replaced(state, block=after_round(state.block))
    is_of_arm = choice.arm == state.arm  # a late reward may belong to an arm that was left
    if is_of_arm:
        watch_reward(state.tail, 0, reward)
    if rarely(is_over(told.block, state.settings.horizon)):
        return open_block(told, told.block.rank + 1)
    return with_loss(told, 1.0 - reward) if is_of_arm else told


@kernel
def with_loss(state: CBTState, loss: float) -> CBTState:
    """Add the loss; a fresh arm if the bound of this one exceeds the target."""
    played = replaced(state, plays=state.plays + 1, total=state.total + loss, squares=state.squares + loss * loss)
    if rarely(bound_of(played) > state.target):
        fresh = with_fresh_arm(played)
        if is_estimated(state.tail):
            return replaced(fresh, target=present_target(state, state.block.length))
        return fresh
    return played


register_policy(CBTState, begin=begin_cbt, ask=ask_one_arm, learn=learn)
