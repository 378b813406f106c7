"""Forager: play what may be well below your average loss; when nothing known is, look for something new.

It is told nothing: no tail exponent, no horizon, no measure of change. A foraging animal leaves a patch when it
yields less than the animal makes on average (the marginal value theorem). So the Forager compares the arms it knows
with its own average loss.

1. *Average.* The average loss gives round s the weight s (s + 1): it forgets, over a share of the past that is the
   same at all times. An arm's losses are averaged over its plays in the same way, so that a worn arm shows.
2. *Bound.* An arm counts as good as it may be: with m and v the average and variance of its losses, q the sum of its
   squared weights and b = ln ln t, its bound is max(m / b, m - b sqrt(v q)).
3. *Target.* An arm is good enough if its bound is at most a share kappa of the average loss. Of those that are, the
   one with the least bound is played; if none is, a fresh arm.
4. *Share.* kappa = e / (e + 1), with e the tail exponent of the arms near the target: a Hill estimate from first
   impressions. Where P(gap < x) = x^e, the best split of all losses is kappa for arms that are kept and the rest
   for the search.
5. *Hysteresis.* The target follows the average down at once, and up only when that has risen by 1 / kappa: a search
   goes on until it finds something or has cost about as much as was lost before.
6. *Strike-outs.* Each arm carries a test, by betting, of "its loss is at most the average". When the evidence against
   it exceeds 2 times the rounds from one strike-out to the next, the arm goes for good: were all strike-outs false,
   they would come half as often as they do. (One more is allowed for, so that a world without any begins somewhere.)
7. *Wariness.* Somebody may be watching. After a strike-out at round s no arm is played twice in a row until round
   4 s, and longer after several: it takes two good arms then, and none has a majority that an adversary could aim at.

Source: ours; docs/theory/forager.md derives it. The bound, and a target that comes from the losses, are those of
empirical CBT (Chan & Hu, arXiv:1805.11793), which needs the horizon, never forgets, and keeps all arms. The test is
an e-detector (Shin, Ramdas & Rinaldo, arXiv:2203.03532), the mean of three with different bets.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import natural_log
from ..bases.tournament import leader, new_tournament, open_tournament, rank, runner_up
from ..compiled import kernel, rarely
from ..contract import Choice, Counts, register
from ..specs import count, positive
from .base import Block, Policy, Tally, block_counts, observe_nothing

BETS = (1 / 2, 1 / 10, 1 / 50)
"""Shares of the stake; (r - 1) L / (1 - L) grows fastest against coins r times as bad as the average L."""


class ForagerSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    slack: float
    first_look: float
    false_alarms: float
    wary: float


class Experience(NamedTuple):
    """What all plays together have taught."""

    rounds: int  # rewards told
    loss: float  # average, round s with weight s (s + 1)
    square: float  # the same of squared losses
    strikes: float  # strike-outs, one at round s with weight s (s + 1) / (t (t + 1))


class ForagerState(NamedTuple):
    """A run of the policy."""

    settings: ForagerSettings
    keep: int
    leaves: int  # of both tournaments
    experience: Experience
    share: float  # kappa
    target: float
    reckoning: int  # how many arms are to be drawn before kappa is estimated anew
    struck: int  # strike-outs so far
    slot: int  # of the arm to play next
    arms: NDArray[np.int64]  # slot -> arm; -1: none
    plays: NDArray[np.int64]  # slot -> plays
    losses: NDArray[np.float64]  # slot -> average loss, play i with weight i (i + 1)
    squares: NDArray[np.float64]  # slot -> the same of squared losses
    looks: NDArray[np.float64]  # slot -> first impression: average of its first losses and, a sixth as many, L
    bounds: NDArray[np.float64]  # slot -> how small its loss may be; infinite without an arm
    bold: NDArray[np.float64]  # slot -> evidence of the three bets
    steady: NDArray[np.float64]
    timid: NDArray[np.float64]
    least: NDArray[np.int64]  # tournament of the bounds with a minus: who has the least
    largest: NDArray[np.int64]  # tournament of the bounds: who goes first
    tally: Tally


@dataclasses.dataclass(frozen=True)
class Forager(Policy):
    """Play what may be well below the average loss, else look for better; told nothing at all.

    Parameters
    ----------
    keep
        The most arms it remembers.
    slack
        Factor of ln ln t in the bound.
    first_look
        A first impression takes first_look / (L (1 - L)) plays, where L is the average loss.
    false_alarms
        About the largest share of strike-outs that are false where arms do change; where none does, all are, and few.
    wary
        After a strike-out at round s, no arm is played twice in a row until round wary · s; later after several.

    Notes
    -----
    The defaults are for every world; docs/forager-settings.md shows how little they matter, but for ``wary`` where an
    adversary watches.

    Examples
    --------
    In the world of the paper's figure, against a policy that is told the tail exponent and the horizon:

    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"), ma.GapUniform())
    >>> policies = [ma.Forager(), ma.Elimination(beta=1.0)]
    >>> result = ma.simulate(policies, world, horizon=20_000, replications=10, seed=1)
    >>> bool(result.final_regret("Forager").mean() < 0.8 * result.final_regret("Elimination").mean())
    True
    """

    keep: int = 1024
    slack: float = 1.0
    first_look: float = 3.0
    false_alarms: float = 0.5
    wary: float = 4.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", count("Forager", "keep", self.keep))
        if self.keep < 2:
            raise ValueError(
                f"Forager: keep must be at least 2, since it may not play an arm twice in a row, not {self.keep}"
            )
        for name in ("slack", "first_look", "false_alarms", "wary"):
            object.__setattr__(self, name, positive("Forager", name, getattr(self, name)))
        if self.false_alarms >= 1.0:
            raise ValueError(
                f"Forager: false_alarms must be below 1, not {self.false_alarms}: the threshold follows its own "
                "strike-outs, and would fall with every false one"
            )
        if self.wary < 1.0:
            raise ValueError(f"Forager: wary must be at least 1, not {self.wary}")

    @property
    def is_scattered(self) -> bool:
        """Every round walks up two trees."""
        return True

    def settings(self) -> ForagerSettings:
        """The spec in numbers."""
        return ForagerSettings(
            slack=self.slack, first_look=self.first_look, false_alarms=self.false_alarms, wary=self.wary
        )

    def slots(self, rounds: int) -> int:
        """As many as it keeps, however short the run: a live bandit does not know how many rounds will come."""
        return self.keep

    def start(self, rounds: int) -> ForagerState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return ForagerState(
            settings=self.settings(),
            keep=slots,
            leaves=1,
            experience=Experience(rounds=0, loss=0.0, square=0.0, strikes=0.0),
            share=0.5,
            target=0.0,
            reckoning=0,
            struck=0,
            slot=0,
            arms=np.zeros(slots, dtype=np.int64),
            plays=np.zeros(slots, dtype=np.int64),
            losses=np.zeros(slots, dtype=np.float64),
            squares=np.zeros(slots, dtype=np.float64),
            looks=np.zeros(slots, dtype=np.float64),
            bounds=np.zeros(slots, dtype=np.float64),
            bold=np.zeros(slots, dtype=np.float64),
            steady=np.zeros(slots, dtype=np.float64),
            timid=np.zeros(slots, dtype=np.float64),
            least=new_tournament(slots),
            largest=new_tournament(slots),
            tally=Tally(restarts=0, arms=0, ignored=0),
        )

    def kept_arms(self, state: ForagerState) -> NDArray[np.int64]:
        """All arms that have a slot."""
        return np.sort(state.arms[state.arms >= 0])

    def explain(self, state: ForagerState) -> dict[str, Any]:
        """What it makes on average, what it is content with, and how it judges the arm it plays next."""
        slot = state.slot
        return {
            "episode": 1,
            "arms": len(self.kept_arms(state)),
            "average_loss": average_loss(state.experience),
            "share": state.share,
            "target": state.target,
            "tail_exponent": state.share / (1.0 - state.share),
            "strike_outs": state.struck,
            "is_wary": is_wary(state.settings, state.experience),
            "plays_of_arm": int(state.plays[slot]),
            "bound_of_arm": float(state.bounds[slot]) if state.plays[slot] else None,
            "last_restart": None,
        }


# ---------------------------------------------------------------- averages that forget


@kernel
def pace(plays: int) -> float:
    """How far an average moves to its newest value, for weights i (i + 1): n (n + 1) over the sum of all weights."""
    return 3.0 / (plays + 2.0)


@kernel
def squared_weights(plays: int) -> float:
    """The sum of the squared weights, when their sum is 1: the variance of such an average of values of variance 1."""
    n = float(plays)
    return 3.0 * (3.0 * n * n + 6.0 * n + 1.0) / (5.0 * n * (n + 1.0) * (n + 2.0))


@kernel
def rounds_remembered(experience: Experience) -> float:
    """The sum of all weights, when the newest is 1; none before the first reward."""
    return 1.0 / pace(experience.rounds) if experience.rounds > 0 else 0.0


@kernel
def average_loss(experience: Experience) -> float:
    """L, with one round of loss 1/2 beside those remembered, so that it is neither 0 nor 1."""
    remembered = rounds_remembered(experience)
    return (remembered * experience.loss + 0.5) / (remembered + 1.0)


@kernel
def after_loss(experience: Experience, loss: float) -> Experience:
    """One more round."""
    rounds = experience.rounds + 1
    step = pace(rounds)
    return Experience(
        rounds=rounds,
        loss=experience.loss + step * (loss - experience.loss),
        square=experience.square + step * (loss * loss - experience.square),
        strikes=experience.strikes * ((rounds - 1.0) / (rounds + 1.0)),
    )


@kernel
def is_wary(settings: ForagerSettings, experience: Experience) -> bool:
    """Whether a strike-out is recent: weights fall like (s / t)^2."""
    return experience.strikes * settings.wary * settings.wary >= 1.0


# ---------------------------------------------------------------- one arm


@kernel
def lower_bound(settings: ForagerSettings, experience: Experience, loss: float, square: float, plays: int) -> float:
    """How small an arm's loss may be: max(m / b, m - b sqrt(v q)).

    The variance has that of all losses beside its own, as one more play: a few equal losses prove nothing.
    """
    weight = 1.0 / pace(plays)  # of all plays, when the newest has 1
    common = max(experience.square - experience.loss * experience.loss, 0.0)
    variance = (max(square - loss * loss, 0.0) * weight + common) / (weight + 1.0)
    slack = settings.slack * natural_log(natural_log(max(float(experience.rounds), 20.0)))
    return max(loss / max(slack, 1.0), loss - slack * math.sqrt(variance * squared_weights(plays)))


@kernel
def first_plays(settings: ForagerSettings, level: float) -> float:
    """How many plays make a first impression; one where L (1 - L) is no variance, since losses may exceed 1."""
    variance = level * (1.0 - level)
    return max(settings.first_look / variance, 1.0) if variance > 0.0 else 1.0


@kernel
def raised(evidence: float, bet: float, ratio: float) -> float:
    """The stake of a bet that an arm's losses are above the average, begun anew when it is below 1."""
    return max(evidence, 1.0) * (1.0 + bet * (ratio - 1.0))


@kernel
def learn_of_arm(state: ForagerState, slot: int, loss: float, level: float, experience: Experience) -> bool:
    """Take in a loss of the arm in this slot; return whether it strikes out. ``level``: the average loss before."""
    settings = state.settings
    plays = state.plays[slot] + 1
    step = pace(plays)
    average = state.losses[slot] + step * (loss - state.losses[slot])
    square = state.squares[slot] + step * (loss * loss - state.squares[slot])
    first = first_plays(settings, level)
    if plays <= first:
        state.looks[slot] += (loss - state.looks[slot]) / (plays + first / 6.0)
    bound = lower_bound(settings, experience, average, square, plays)
    ratio = loss / level
    bold = raised(state.bold[slot], BETS[0], ratio)
    steady = raised(state.steady[slot], BETS[1], ratio)
    timid = raised(state.timid[slot], BETS[2], ratio)
    state.plays[slot] = plays
    state.losses[slot] = average
    state.squares[slot] = square
    state.bold[slot] = bold
    state.steady[slot] = steady
    state.timid[slot] = timid
    threshold = (rounds_remembered(experience) + 1.0) / (experience.strikes + 1.0) / settings.false_alarms
    is_out = (bold + steady + timid) / 3.0 > threshold
    if rarely(is_out):
        state.arms[slot] = -1
        bound = math.inf
    place(state, slot, bound)
    return is_out


# ---------------------------------------------------------------- all arms


@kernel
def place(state: ForagerState, slot: int, bound: float) -> None:
    """Give a slot its bound."""
    state.bounds[slot] = bound
    rank(state.least, state.leaves, slot, -bound)
    rank(state.largest, state.leaves, slot, bound)


@kernel
def good_slot(state: ForagerState, target: float, banned: int) -> int:
    """The slot with the least bound but the banned one, or -1 if that exceeds the target."""
    slot = leader(state.least, state.leaves)
    if slot == banned:
        slot = runner_up(state.least, state.leaves)
    return slot if state.bounds[slot] <= target else -1


@kernel
def fresh_slot(state: ForagerState, arm: int, level: float) -> int:
    """Put a fresh arm where none is, or in place of the one with the largest bound."""
    slot = leader(state.largest, state.leaves)
    state.arms[slot] = arm
    state.plays[slot] = 0
    state.losses[slot] = 0.0
    state.squares[slot] = 0.0
    state.looks[slot] = level
    state.bold[slot] = 1.0
    state.steady[slot] = 1.0
    state.timid[slot] = 1.0
    place(state, slot, -math.inf)  # it is next until a reward comes, and nobody takes its place
    return slot


@kernel
def best_share(state: ForagerState, level: float) -> float:
    """Kappa = e / (e + 1): e is Hill's estimate from the first impressions below the average loss.

    With one arm at 1/e of the average beside them, which makes it 1/2 as long as nothing is known.
    """
    arms = 1.0
    logs = 1.0
    for slot in range(state.keep):
        if state.arms[slot] >= 0 and state.plays[slot] > 0 and state.looks[slot] <= level:
            arms += 1.0
            logs += natural_log(level / state.looks[slot])
    return arms / (arms + logs)


@kernel
def followed(target: float, level: float, share: float) -> float:
    """The target follows kappa L down at once, and up only when that exceeds it by a factor of 1 / kappa."""
    wanted = share * level
    return wanted if wanted < target or wanted * share > target else target


def begin(state: ForagerState, key: int) -> ForagerState:
    """One fresh arm."""
    for slot in range(state.keep):
        state.arms[slot] = -1
        state.plays[slot] = 0
        state.losses[slot] = 0.0
        state.squares[slot] = 0.0
        state.looks[slot] = 0.5
        state.bounds[slot] = math.inf
        state.bold[slot] = 1.0
        state.steady[slot] = 1.0
        state.timid[slot] = 1.0
    open_tournament(state.least, state.keep, -math.inf)
    clean = ForagerState(
        settings=state.settings,
        keep=state.keep,
        leaves=open_tournament(state.largest, state.keep, math.inf),
        experience=Experience(rounds=0, loss=0.0, square=0.0, strikes=0.0),
        share=0.5,
        target=1.0,
        reckoning=8,
        struck=0,
        slot=0,
        arms=state.arms,
        plays=state.plays,
        losses=state.losses,
        squares=state.squares,
        looks=state.looks,
        bounds=state.bounds,
        bold=state.bold,
        steady=state.steady,
        timid=state.timid,
        least=state.least,
        largest=state.largest,
        tally=Tally(restarts=0, arms=1, ignored=0),
    )
    fresh_slot(clean, 0, 0.5)  # slot 0, the lowest
    return clean


def ask(state: ForagerState, round: int, waiting: int) -> Choice:
    """The arm that was decided on when the last reward came."""
    slot = state.slot
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=1, round=round)


def tell(state: ForagerState, choice: Choice, reward: float) -> ForagerState:
    """Take in the loss, and decide on the next arm."""
    loss = 1.0 - reward
    level = average_loss(state.experience)
    experience = after_loss(state.experience, loss)
    struck = state.struck
    played = choice.slot
    is_kept = state.arms[played] == choice.arm  # a late reward may belong to an arm that was let go
    if is_kept and learn_of_arm(state, played, loss, level, experience):
        struck += 1
        experience = Experience(
            rounds=experience.rounds,
            loss=experience.loss,
            square=experience.square,
            strikes=experience.strikes + 1.0,
        )
    level = average_loss(experience)
    target = followed(state.target, level, state.share)
    banned = played if is_kept and is_wary(state.settings, experience) else -1
    slot = good_slot(state, target, banned)
    tally = state.tally
    share = state.share
    reckoning = state.reckoning
    if slot < 0:
        if tally.arms >= reckoning:
            share = best_share(state, level)
            reckoning = tally.arms + tally.arms // 5 + 1
        slot = fresh_slot(state, tally.arms, level)
        tally = Tally(restarts=0, arms=tally.arms + 1, ignored=tally.ignored)
    return ForagerState(
        settings=state.settings,
        keep=state.keep,
        leaves=state.leaves,
        experience=experience,
        share=share,
        target=target,
        reckoning=reckoning,
        struck=struck,
        slot=slot,
        arms=state.arms,
        plays=state.plays,
        losses=state.losses,
        squares=state.squares,
        looks=state.looks,
        bounds=state.bounds,
        bold=state.bold,
        steady=state.steady,
        timid=state.timid,
        least=state.least,
        largest=state.largest,
        tally=tally,
    )


def counts(state: ForagerState) -> Counts:
    """Its own counts; it has one block without end."""
    return block_counts(Block(number=1, rank=0, length=0, size=state.keep, opened=0), state.tally)


register(ForagerState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe_nothing)
