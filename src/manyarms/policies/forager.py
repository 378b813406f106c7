"""Forager: play what may be well below your average loss; when nothing known is, look for something new.

It is told nothing: no tail exponent, no horizon, no measure of change. A foraging animal leaves a patch when it
yields less than the animal makes on average (the marginal value theorem). So the Forager compares the arms it knows
with its own average loss.

1. *Average.* The average loss L gives round s the weight s (s + 1): it forgets, over a share of the past that is the
   same at all times. An arm's losses are averaged over its plays in the same way, so that a worn arm shows. Where
   fresh arms lose less on average, L is what they lose; where they lose clearly less, only fresh arms are played.
2. *Bound.* An arm counts as good as it may be: with m and v the average and variance of its losses, q the sum of its
   squared weights and b = ln ln of how long arms last (twice the plays that an arm has behind it when it is played, on
   average), its bound is max(m / b, m - b sqrt(v q)).
3. *Target.* An arm is good enough if its bound is at most a share kappa of the average loss. Of those that are, the
   one with the least bound is played; if none is, a fresh arm.
4. *Share.* kappa is the loss of an arm that is better than the average, over the average: e / (e + 1), where
   P(gap < x) = x^e near L. It is learned from first impressions, each judged by how many plays it had.
5. *Debt.* The best split of all losses is kappa for arms that are kept and 1 - kappa for the search, whatever changes.
   When the search has cost more than that, by over 3 losses, any arm whose bound is at most the average will do. There
   is no debt while fresh arms earn about as much as anything so far.
6. *Hysteresis.* Out of debt, the target follows the average down at once, and up only when that has risen by 1 / kappa:
   a search goes on until it finds something or has cost its share.
7. *Strike-outs.* Each arm carries a test, by betting, of "its loss is at most the average". When the evidence against
   it exceeds 2 times the rounds from one strike-out to the next, the arm goes for good: were all strike-outs false,
   they would come half as often as they do. (One more is allowed for, so that a world without any begins somewhere.)
8. *Wariness.* Somebody may be watching. After a strike-out at round s no arm is played twice in a row until round
   4 s, and longer after several: it takes two good arms then, and none has a majority that an adversary could aim at.

Source: ours; docs/theory/forager.md derives it. The bound, and a target that comes from the losses, are those of
empirical CBT (Chan & Hu, arXiv:1805.11793), which needs the horizon, never forgets, and keeps all arms. The test is
an e-detector (Shin, Ramdas & Rinaldo, arXiv:2203.03532), the mean of three with different bets.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exponential, log_gamma, natural_log
from ..bases.tournament import leader, new_tournament, open_tournament, replay_games, runner_up
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, Counts
from ..specs import Count, Positive
from .base import Policy
from .blocks import NO_COUNTS, register_policy, with_arm, with_block

BETS = (1 / 2, 1 / 10, 1 / 50)
"""Shares of the stake; (r - 1) L / (1 - L) grows fastest against coins r times as bad as the average L."""

CLEARLY = 1.05
"""By this factor more than a fresh arm: what is earned before a search can be too dear, and what may be lost."""

AWAITED = 2.0
"""The bound of an arm whose first answer is out: no loss is so large, and only a slot without an arm goes first."""

ARMS_REMEMBERED = 100.0
"""Of the arms better than the average, so many make kappa; the older ones fade."""


class ForagerSettings(NamedTuple):
    """The spec in numbers; it never changes."""

    slack: float
    first_look: float
    false_alarms: float
    wary: float


class Experience(NamedTuple):
    """What all plays together have taught."""

    rounds: int = 0  # rewards told
    loss: float = 0.0  # average, round s with weight s (s + 1)
    square: float = 0.0  # the same of squared losses
    search: float = 0.0  # the same of losses in the search, 0 in all other rounds
    stay: float = 0.0  # the same of the plays of the arm that was played, up to then
    draws: int = 0  # fresh arms whose first reward came
    fresh: float = 0.0  # average of their first losses, that of the i-th with weight i (i + 1)
    strikes: float = 0.0  # strike-outs, one at round s with weight s (s + 1) / (t (t + 1))


NOTHING_LEARNED = Experience()
"""Before the first reward."""


class Better(NamedTuple):
    """The arms that were better than the average when they were judged, and one at half of it beside them."""

    arms: float  # how many: the sum of their probabilities to be
    losses: float  # their losses over the average, summed up


NONE_JUDGED = Better(arms=1.0, losses=0.5)
"""But for the one beside them."""


class ForagerState(NamedTuple):
    """A run of the policy."""

    settings: ForagerSettings
    keep: int
    arms: NDArray[np.int64]  # slot -> arm; -1: none
    plays: NDArray[np.int64]  # slot -> plays
    losses: NDArray[np.float64]  # slot -> average loss, play i with weight i (i + 1)
    squares: NDArray[np.float64]  # slot -> the same of squared losses
    looks: NDArray[np.float64]  # slot -> plain average of its losses; infinite once it was judged
    bounds: NDArray[np.float64]  # slot -> how small its loss may be; infinite without an arm
    bold: NDArray[np.float64]  # slot -> evidence of the three bets
    steady: NDArray[np.float64]
    timid: NDArray[np.float64]
    least: NDArray[np.int64]  # tournament of the bounds with a minus: who has the least
    largest: NDArray[np.int64]  # tournament of the bounds: who goes first
    leaves: int = 1  # of both tournaments
    experience: Experience = NOTHING_LEARNED
    better: Better = NONE_JUDGED
    target: float = 0.0
    struck: int = 0  # strike-outs so far
    slot: int = 0  # of the arm to play next
    counts: Counts = NO_COUNTS


@dataclasses.dataclass(frozen=True)
class Forager(Policy):
    """Play what may be well below the average loss, else look for better; told nothing at all.

    Parameters
    ----------
    keep
        The most arms it remembers.
    slack
        Factor of b in the bound.
    first_look
        A first impression takes at most first_look v / (L (1 - L))^2 plays, where L and v are the average and variance
        of all losses: first_look / (L (1 - L)) for coins. And so many losses too many make a debt.
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

    settings_type: ClassVar = ForagerSettings
    tried_with: ClassVar = ({}, {"keep": 3, "slack": 0.5, "first_look": 1.0, "false_alarms": 0.9, "wary": 10.0})

    keep: Count = 256
    slack: Positive = 1.0
    first_look: Positive = 3.0
    false_alarms: Positive = 0.5
    wary: Positive = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep < 2:
            raise ValueError(
                f"Forager: keep must be at least 2, since it may not play an arm twice in a row, not {self.keep}"
            )
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

    def slots(self, rounds: int) -> int:
        """As many as it keeps, however short the run: a live bandit does not know how many rounds will come."""
        return self.keep

    def start(self, rounds: int) -> ForagerState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)
        return ForagerState(
            settings=self.settings(),
            keep=slots,
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
        )

    def kept_arms(self, state: ForagerState) -> NDArray[np.int64]:
        """All arms that have a slot."""
        return np.sort(state.arms[state.arms >= 0])

    def explain(self, state: ForagerState) -> dict[str, Any]:
        """What it makes on average, what it is content with, and how it judges the arm it plays next."""
        slot = state.slot
        share = float(better_share(state.better))
        experience = state.experience
        return {
            "episode": 1,
            "arms": len(self.kept_arms(state)),
            "average_loss": average_loss(experience),
            "target": float(state.target),
            "share": share,
            "tail_exponent": share / (1.0 - share),
            "search_share": experience.search / experience.loss if experience.loss > 0.0 else None,
            "is_in_debt": bool(is_in_debt(state.settings, experience, state.better)),
            "strike_outs": state.struck,
            "is_wary": is_wary(state.settings, experience),
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
def sum_of_weights(plays: int) -> float:
    """When the newest has 1; so many plays are remembered."""
    return 1.0 / pace(plays) if plays > 0 else 0.0


@kernel
def average_loss(experience: Experience) -> float:
    """L: of all rounds, or of fresh arms where that is less; nobody need lose more than by playing at random.

    Of all rounds: one of loss 1/2 is beside those remembered, so that L is neither 0 nor 1.
    """
    remembered = sum_of_weights(experience.rounds)
    return min((remembered * experience.loss + 0.5) / (remembered + 1.0), fresh_loss(experience))


@kernel
def fresh_loss(experience: Experience) -> float:
    """Of fresh arms; one draw of loss 1 is beside those remembered, since the first few say little."""
    draws = sum_of_weights(experience.draws)
    return (draws * experience.fresh + 1.0) / (draws + 1.0)


@kernel
def common_variance(experience: Experience) -> float:
    """The variance of all losses, with one round of variance 1/4 beside those remembered."""
    remembered = sum_of_weights(experience.rounds)
    seen = max(experience.square - experience.loss * experience.loss, 0.0)
    return (remembered * seen + 0.25) / (remembered + 1.0)


@kernel
def after_loss(experience: Experience, loss: float, plays: float, is_search: bool) -> Experience:
    """One more round; ``plays``: of the arm, this one included."""
    rounds = experience.rounds + 1
    step = pace(rounds)
    draws = experience.draws
    fresh = experience.fresh
    if plays == 1.0:
        draws += 1
        fresh += pace(draws) * (loss - fresh)
    return Experience(
        rounds=rounds,
        loss=experience.loss + step * (loss - experience.loss),
        square=experience.square + step * (loss * loss - experience.square),
        search=experience.search + step * ((loss if is_search else 0.0) - experience.search),
        stay=experience.stay + step * (plays - experience.stay),
        draws=draws,
        fresh=fresh,
        strikes=experience.strikes * ((rounds - 1.0) / (rounds + 1.0)),
    )


@kernel
def after_strike(experience: Experience) -> Experience:
    """One more strike-out, in this round."""
    return replaced(experience, strikes=experience.strikes + 1.0)


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
    weight = sum_of_weights(plays)
    variance = (max(square - loss * loss, 0.0) * weight + common_variance(experience)) / (weight + 1.0)
    lasting = 2.0 * experience.stay  # as many plays ahead as behind
    slack = settings.slack * natural_log(natural_log(max(lasting, 20.0)))
    return max(loss / max(slack, 1.0), loss - slack * math.sqrt(variance * squared_weights(plays)))


@kernel
def in_search(experience: Experience, level: float, plays: float) -> bool:
    """Whether a play of an arm with so many behind it is search.

    A draw is paid for in the rounds that it takes to lose once, about 1 / L (to win once, where that is rarer); but
    where arms do not last, the first plays are enough: a quarter of what the arm played has behind it on average.
    """
    variance = level * (1.0 - level)
    return plays * variance < 1.0 and plays < max(0.25 * experience.stay, 1.0)


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
    if state.looks[slot] < math.inf:  # not yet judged
        state.looks[slot] += (loss - state.looks[slot]) / plays
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
    threshold = (sum_of_weights(experience.rounds) + 1.0) / (experience.strikes + 1.0) / settings.false_alarms
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
    replay_games(state.least, state.leaves, slot, -bound)
    replay_games(state.largest, state.leaves, slot, bound)


@kernel
def good_slot(state: ForagerState, target: float, banned: int) -> int:
    """The slot with the least bound but the banned one, or -1 if that exceeds the target."""
    slot = leader(state.least, state.leaves)
    if slot == banned:
        slot = runner_up(state.least, state.leaves)
    return slot if state.bounds[slot] <= target else -1


@kernel
def fill_slot(state: ForagerState, slot: int, arm: int) -> None:
    """An arm that was never played, or none."""
    state.arms[slot] = arm
    state.plays[slot] = 0
    state.losses[slot] = 0.0
    state.squares[slot] = 0.0
    state.looks[slot] = 0.0
    state.bold[slot] = 1.0
    state.steady[slot] = 1.0
    state.timid[slot] = 1.0


@kernel
def fresh_slot(state: ForagerState, arm: int) -> int:
    """Put a fresh arm where none is, or in place of the one with the largest bound."""
    slot = leader(state.largest, state.leaves)
    fill_slot(state, slot, arm)
    place(state, slot, -math.inf)  # it is next until a reward comes, and nobody takes its place
    return slot


# ---------------------------------------------------------------- kappa, and what is good enough


@kernel
def better_share(better: Better) -> float:
    """Kappa: the mean loss of an arm that is better than the average, over the average."""
    return better.losses / better.arms


@kernel
def is_in_debt(settings: ForagerSettings, experience: Experience, better: Better) -> bool:
    """Whether the search has cost more than 1 - kappa of all losses, by more than ``first_look`` losses.

    While fresh arms earn about as much as anything so far, a search costs nothing.
    """
    excess = experience.search - (1.0 - better_share(better)) * experience.loss
    earns_more = 1.0 - experience.loss > CLEARLY * (1.0 - fresh_loss(experience))
    return earns_more and excess * sum_of_weights(experience.rounds) > settings.first_look


@kernel
def is_worse_than_random(experience: Experience) -> bool:
    """Whether clearly more is lost than fresh arms lose: what looks good has then spoiled by the time it is known."""
    return experience.loss > CLEARLY * fresh_loss(experience)


@kernel
def is_first_look_over(settings: ForagerSettings, experience: Experience, level: float, plays: int) -> bool:
    """Whether so many plays tell a gap as large as L (or, where L is near 1, as 1 - L) from none."""
    spread = level * (1.0 - level)
    return plays * spread * spread >= settings.first_look * common_variance(experience)


@kernel
def judged(better: Better, experience: Experience, level: float, loss: float, plays: int) -> Better:
    """One more arm, with this average loss over so many plays.

    Its losses, in units of variance / L, count like those of a Poisson process; so with the prior x^(e - 1) its true
    loss has a gamma distribution, with the shape a below and the mean L a / y. Let P(a, y) be the part of it below L:
    the series of the incomplete gamma function gives P, and P(a + 1, y) a / y, the mean of x / L in that part. Thus
    kappa is one step of expectation maximisation for every arm.
    """
    if level <= 0.0:
        return better
    counted = plays * level / common_variance(experience)
    y = counted * level
    a = counted * max(loss, 0.0) + better.losses / max(better.arms - better.losses, 1e-9)
    clear = 5.0 * math.sqrt(a) + 5.0  # five standard deviations
    is_sharp = y >= 10_000.0
    if a > (y if is_sharp else y + clear):
        return better
    probability = 1.0
    part = a / y
    if a > y - clear and not is_sharp:  # else all of it is below, as good as
        term = 1.0
        series = 1.0
        steps = 0.0
        while term > 1e-6 * series:
            steps += 1.0
            term *= y / (a + steps)
            series += term
        first = exponential(a * natural_log(y) - y - log_gamma(a + 1.0))
        probability = min(first * series, 1.0)
        part = min(a / y * first * (series - 1.0), probability)
    fading = min(ARMS_REMEMBERED / (better.arms + probability), 1.0)
    return Better(arms=fading * (better.arms + probability), losses=fading * (better.losses + part))


@kernel
def followed(target: float, level: float, share: float) -> float:
    """The target follows kappa L down at once, and up only when that exceeds it by a factor of 1 / kappa."""
    wanted = share * level
    return wanted if wanted < target or wanted * share > target else target


# ---------------------------------------------------------------- a round


def begin(state: ForagerState, key: int) -> ForagerState:
    """One fresh arm."""
    for slot in range(state.keep):
        fill_slot(state, slot, -1)
        state.bounds[slot] = math.inf
    open_tournament(state.least, state.keep, -math.inf)
    clean = replaced(
        state,
        leaves=open_tournament(state.largest, state.keep, math.inf),
        experience=NOTHING_LEARNED,
        better=NONE_JUDGED,
        target=1.0,
        struck=0,
        slot=0,
        counts=with_block(NO_COUNTS, 1),  # one without end
    )
    fresh_slot(clean, 0)  # slot 0, the lowest
    return clean


def ask(state: ForagerState, round: int) -> Choice:
    """The arm that was decided on when the last reward came."""
    slot = state.slot
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=1, round=round)


def tell(state: ForagerState, choice: Choice, reward: float) -> ForagerState:
    """Take in the loss, and decide on the next arm."""
    played = choice.slot
    is_kept = state.arms[played] == choice.arm  # a late reward may belong to an arm that was let go
    told = with_target(with_loss(state, played, is_kept, 1.0 - reward))
    if is_kept:
        told = with_impression(told, played)
    banned = played if is_kept and is_wary(told.settings, told.experience) else -1
    return with_next_arm(told, banned)


@kernel
def with_loss(state: ForagerState, slot: int, is_kept: bool, loss: float) -> ForagerState:
    """Take in the loss of the arm in a slot, or of one that is not kept any more."""
    level = average_loss(state.experience)
    before = float(state.plays[slot]) if is_kept else state.experience.stay
    experience = after_loss(state.experience, loss, before + 1.0, in_search(state.experience, level, before))
    if is_kept and learn_of_arm(state, slot, loss, level, experience):
        return replaced(state, experience=after_strike(experience), struck=state.struck + 1)
    return replaced(state, experience=experience)


@kernel
def with_target(state: ForagerState) -> ForagerState:
    """What is good enough now."""
    level = average_loss(state.experience)
    if is_in_debt(state.settings, state.experience, state.better):
        return replaced(state, target=level)
    return replaced(state, target=followed(state.target, level, better_share(state.better)))


@kernel
def with_impression(state: ForagerState, slot: int) -> ForagerState:
    """Judge the arm in a slot, once: when its first look is over, or its bound exceeds the target."""
    look = state.looks[slot]
    if look == math.inf:
        return state
    plays = state.plays[slot]
    level = average_loss(state.experience)
    if state.bounds[slot] > state.target or is_first_look_over(state.settings, state.experience, level, plays):
        state.looks[slot] = math.inf
        return replaced(state, better=judged(state.better, state.experience, level, look, plays))
    return state


@kernel
def with_next_arm(state: ForagerState, banned: int) -> ForagerState:
    """An arm that is good enough is next, but not the banned one; a fresh one if there is none."""
    slot = -1 if is_worse_than_random(state.experience) else good_slot(state, state.target, banned)
    if slot >= 0:
        return replaced(state, slot=slot)
    return replaced(state, slot=fresh_slot(state, state.counts.arms), counts=with_arm(state.counts))


def defer(state: ForagerState, choice: Choice) -> tuple[ForagerState, float]:
    """Go on with an arm that is known; of one that is not, a single look is enough until its answer comes."""
    slot = choice.slot
    if state.plays[slot] > 0:
        return state, math.nan
    place(state, slot, AWAITED)
    return with_next_arm(state, slot), math.nan


register_policy(ForagerState, begin=begin, ask=ask, tell=tell, defer=defer)
