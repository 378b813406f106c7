"""UCBTP: one arm at a time, dropped when it may have worn down below a threshold, for arms that wear at a known rate.

If every play lowers the mean of its arm by at most rho, the rewards of an arm bound what it pays now: their mean, less
the wear that has come since, with the benefit of the doubt. The arm is kept while that bound reaches top - delta. An
arm that does not wear is given up as well, when so much wear could have gathered.

Source: Kim, Vojnović & Yun, "Rotting Infinitely Many-Armed Bandits" (ICML 2022, arXiv:2201.12975), Algorithm 1: UCB-TP.
Index and comparison are those of the authors' released code; the text was not at hand, beyond its abstract.

Symbols: T -> horizon; rho -> rotting; delta -> delta (spec), top - state.level; n -> plays; 8 -> width (spec);
mu~ - rho n + sqrt(8 log T / n) -> worn_index; log -> natural_log.

Deviations: the estimate of the first mean is not kept: the average of r_i + rho (i - 1), less rho n, is the mean reward
less rho (n + 1) / 2. Doubling blocks without a horizon, each under the whole rate (`policies.held`). A horizon of 1
counts as 2, so that log T is not 0.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import natural_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import Counts
from ..specs import Fraction, Positive, number
from .base import Horizon, OneArmPolicy
from .blocks import NO_BLOCK, NO_COUNTS, Block, explained_block
from .held import next_arm, register_held
from .tail import ToldBeta

UNIFORM = ToldBeta(beta=1.0)
"""The threshold of the source is for reservoirs whose tail is that of the uniform one."""


class UCBTPSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    rotting: float  # rho
    width: float
    top: float
    delta: float = -1.0  # -1: from rho and T
    horizon: int = 0  # 0: unknown


class UCBTPState(NamedTuple):
    """A run of the algorithm."""

    settings: UCBTPSettings
    tail: ToldBeta = UNIFORM
    block: Block = NO_BLOCK
    doubt: float = 0.0  # width · log T
    level: float = 0.0  # top - delta: an arm below this is dropped
    arm: int = 0  # the arm in play
    plays: int = 0  # how many of its rewards have come
    total: float = 0.0  # its rewards
    counts: Counts = NO_COUNTS


def checked_rotting(owner: str, name: str, rotting: Any) -> float:
    """A number of at least 0."""
    result = number(owner, name, rotting)
    if result < 0.0:
        raise ValueError(f"{owner}: {name} must be at least 0, not {result!r}")
    return result


@dataclasses.dataclass(frozen=True)
class UCBTP(OneArmPolicy):
    """One arm at a time, for arms that wear by at most rho with every play (Kim, Vojnović & Yun 2022, Algorithm 1).

    Parameters
    ----------
    rotting
        rho, by how much a play may lower the mean of its arm.
    delta
        The threshold, in place of max(rho^(1/3), T^(-1/2)), which is for reservoirs with beta = 1.
    width
        The benefit of the doubt of an arm with n plays is sqrt(width · log T / n). 8 is made for noise of unit scale.
    top
        The mean from which the threshold is counted.
    horizon
        T. None: that of the simulation, or unknown when live; ``"doubling"``: unknown. An
        unknown horizon means blocks of doubling length, each with its own threshold.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate=1e-4))
    >>> policies = {"as in the source": ma.UCBTP(rotting=1e-4), "for small noise": ma.UCBTP(rotting=1e-4, width=0.5)}
    >>> result = ma.simulate(policies, world, horizon=10_000, replications=10, seed=1)
    >>> regret = [result.final_regret(name).mean() for name in policies]
    >>> bool(1000 < regret[1] < regret[0] < 5000)
    True
    """

    about: ClassVar = About(
        told=("T", "rate of wear", "top", "noise"),
        rate="sqrt(T), at a rate of 0 and beta = 1",
        made_for=("wear",),
        cost="O(1)",
    )
    settings_type: ClassVar = UCBTPSettings
    tried_with: ClassVar = (
        # Bonuses so small that bad arms are dropped within a few plays.
        {"rotting": 0.002, "width": 0.1},
    )

    rotting: Annotated[float, checked_rotting]
    delta: Fraction | None = None
    width: Positive = 8.0
    top: Fraction = 1.0
    horizon: Horizon = None

    def start(self, rounds: int) -> UCBTPState:
        """Nothing to allocate."""
        return UCBTPState(settings=self.settings())

    def explain(self, state: UCBTPState) -> dict[str, Any]:
        """Where it stands; it never restarts."""
        return explained_block(state) | {
            "plays_of_arm": state.plays,
            "index": index_of_arm(state) if state.plays else None,
            "threshold": state.settings.top - state.level,
        }


@kernel
def worn_index(total: float, plays: int, rotting: float, doubt: float) -> float:
    """What an arm may pay now: its mean reward, less the wear since, plus sqrt(doubt / n).

    All of the wear is rho n by now; on average over its plays, rho (n - 1) / 2 of it had come.
    """
    return total / plays - rotting * (plays + 1) / 2.0 + math.sqrt(doubt / plays)


@kernel
def threshold_for(rotting: float, rounds: float) -> float:
    """Delta = max(rho^(1/3), T^(-1/2)), at most 1."""
    return min(max(power(rotting, 1.0 / 3.0), 1.0 / math.sqrt(rounds)), 1.0)


@kernel
def counted_rounds(length: int) -> float:
    """T: the length of a block, at least 2."""
    return float(max(length, 2))


@kernel
def index_of_arm(state: UCBTPState) -> float:
    """That of the arm in play, once it was played."""
    return worn_index(state.total, state.plays, state.settings.rotting, state.doubt)


def prepared(state: UCBTPState, length: int) -> UCBTPState:
    """No rewards, and the doubt of a block of that length."""
    return replaced(state, doubt=state.settings.width * natural_log(counted_rounds(length)), total=0.0)


def with_threshold(state: UCBTPState, length: int) -> UCBTPState:
    """Top - delta for a block of that length."""
    delta = state.settings.delta
    if delta < 0.0:
        delta = threshold_for(state.settings.rotting, counted_rounds(length))
    return replaced(state, level=state.settings.top - delta)


def with_reward(state: UCBTPState, reward: float) -> UCBTPState:
    """Add the reward; a fresh arm if this one falls short."""
    played = replaced(state, plays=state.plays + 1, total=state.total + reward)
    if rarely(index_of_arm(played) < state.level):
        return next_arm(replaced(played, total=0.0))  # type: ignore[no-any-return]
    return played


register_held(UCBTPState, prepared=prepared, with_level=with_threshold, judged=with_reward)
