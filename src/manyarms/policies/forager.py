"""Forager: keep what earns more than you do on average; when nothing known does, look for something new.

It is told nothing: no best mean, no tail exponent, no horizon, no kind of change, no noise, no delay. A foraging animal
leaves a patch when it yields less than the animal makes on average (the marginal value theorem). So the Forager needs
to know what it makes, what its arms are worth now, and what may be out there.

1. *Arms.* What an arm is worth is not known, but believed: as masses on a grid of means (`grid`). A reward multiplies
   them by its likelihood, and a play moves them as arms are believed to change. A fresh arm is believed to be what
   arms are: the reservoir.
2. *Reservoir.* It is learned from arms, one step of expectation maximisation for each (`learned_reservoir`): when an
   arm is first left, or has been played 8 times; and again at four times as many plays, 16 times, … while arms do not
   change within so many. Each is followed by steps for some that are remembered (`memory`).
3. *Change.* A few arms are watched by models of change, side by side (`watch`), above all those that are good enough;
   the best model of late is believed. Whatever it says, one reset in a run as long as this one is thought possible.
4. *Targets.* The *average* is what all plays paid, of late. *Better* is what arms better than that are worth, on
   average: the mean of the reservoir above the average. While kept plays earn that much, the search has cost its share,
   and the average will do; else only what is better.
5. *Which arm.* The one with the greatest mean, if that is at least the target. Else the one with the greatest promise,
   by how much its mean may exceed the target, if it promises more than a fresh arm; else a fresh arm. An arm with many
   plays is judged once in a 32nd of them, unless it seems to have fallen (`stretch`).
6. *Open asks.* An ask whose answer is out counts as a play that paid what the arm is believed to pay, and changed it
   as plays do. So a known arm stays what it is, but wears, and of a fresh one a look is enough until its answer comes.
   Where good news comes first, an ask that is out for long counts as a failure, more and more (`lateness`). And an arm
   has credit for one open ask, and four for each answer.

"Of late": round s has the weight s (s + 1), so that the same share of the past is remembered at all times.

Source: ours; docs/theory/forager.md derives it.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..compiled import at_need, kernel, replaced
from ..contract import Choice, Counts, no_choice
from ..rows import copy_row
from ..specs import Count
from ..states import copied
from . import watch as watching
from .base import Policy
from .blocks import NO_COUNTS, register_policy, with_arm, with_block, with_ignored
from .dispersion import FIRST_NOISE, Noise, after_differences, dispersion_of, pace, pace_over
from .grid import (
    EDGE,
    FINEST,
    POINTS,
    WIDEST,
    Change,
    Grid,
    believe,
    carry_over,
    draft_grid,
    excess_of,
    judge_rewards,
    mean_at,
    mean_of,
    new_grid,
    opened_grid,
    point_at,
    redrawn,
    update,
)
from .insight import insight, sentences
from .lateness import Lateness, add_answer, new_lateness, opened_lateness
from .leaders import NO_LEADER, Leader, led, searched
from .learned_reservoir import (
    ALIKE,
    FIRST_LOOK,
    Known,
    LearnedReservoir,
    fresh_excess,
    mean_above,
    new_reservoir,
    opened_reservoir,
    sum_up,
)
from .memory import Memory, affordable_replays, is_remembered, let_go, new_memory, opened_memory, with_arm_remembered
from .open_asks import OpenAsks, add_ask, come_to_nothing, new_open_asks, remove_ask, without_asks
from .stretch import (
    NO_PLAYS,
    NO_STRETCH,
    Plays,
    Stretch,
    goes_on,
    judged,
    longer,
    one_play,
    planned,
)
from .watch import MODELS, WATCHED, Watch, new_watch, opened_watch

LOOK_WITHIN = 0.25
"""While arms change by less than that within a look: log-odds, or the probability of a reset."""

REGRID = 1.1
"""The grid is looked at again when there are so many times as many rounds."""

FINER = 1.4
"""And drawn anew if its spacing is off by this factor, or its centre by three spacings."""

REFRESH = 0.5
"""All promises are computed anew when the target has moved by so many spacings."""

CREDIT = 4
"""An arm has one ask open, and so many more for each answer that has come, while there is another to ask for: else all
asks of a delay would go to an arm that was lucky once."""

LONG = 64
"""An arm with so many plays has been in doubt for long."""

CATALOGUE = 4096
"""With a catalogue of items, so many arms are remembered, at least."""

ENDLESS = 2**62
"""A stock that nobody gets to the end of."""

NONE = -1
"""No slot; and in place of a target, none."""


class Experience(NamedTuple):
    """What all plays together have taught; averages of late."""

    rounds: int = 0  # rewards told
    average: float = 0.0  # reward
    kept: float = 0.0  # share of plays of arms that were good enough
    kept_reward: float = 0.0  # their rewards, 0 in other rounds
    stay: float = 0.0  # the plays that the played arm had behind it


NOTHING_LEARNED = Experience()
"""Before the first reward."""


class ForagerState(NamedTuple):
    """A run of the policy."""

    keep: int
    slots: int
    stock: int  # how many arms there are
    grid: Grid
    watch: Watch
    reservoir: LearnedReservoir
    memory: Memory
    lateness: Lateness
    masses: NDArray[np.float64]  # slot, point -> what is believed of an arm, without open asks that may still pay
    arms: NDArray[np.int64]  # slot -> arm; -1: none
    plays: NDArray[np.int64]  # slot -> rewards told
    open: OpenAsks  # those whose answers are out
    nothing: NDArray[np.float64]  # slot -> how many of its open asks are in its masses, as plays that paid nothing
    means: NDArray[np.float64]  # slot -> what the arm is worth; -1 without an arm
    believed: NDArray[np.float64]  # slot -> the same, if its open asks pay what is expected; beyond its credit, 1 less
    promises: NDArray[np.float64]  # slot -> by how much its mean may exceed the target
    totals: NDArray[np.float64]  # slot -> rewards of its looks
    last: NDArray[np.float64]  # slot -> the last reward
    looks: NDArray[np.int64]  # slot -> the play at which the reservoir learns of it next, or did for the last time
    places: NDArray[np.int64]  # slot -> where it is remembered; -1: the reservoir does not know of it
    used: int = 0  # slots that had an arm at some time
    experience: Experience = NOTHING_LEARNED
    noise: Noise = FIRST_NOISE
    better: float = 0.0  # what arms above the average are worth
    is_content: int = 0  # whether the average will do
    target: float = 0.0  # what is good enough: the one or the other
    regrid: int = 20  # the round in which the grid is looked at
    best: Leader = NO_LEADER  # by mean
    hope: Leader = NO_LEADER  # by promise
    promised: float = float(NONE)  # the target when all promises were computed
    changed: int = NONE  # the slot whose promise is to be computed
    slot: int = 0  # of the arm to play next
    is_supplied: int = 1  # whether fresh arms can be had
    round: int = 0  # the last one whose ask was left open
    stretch: Stretch = NO_STRETCH  # plays that are still to be judged
    counts: Counts = NO_COUNTS


@dataclasses.dataclass(frozen=True)
class Forager(Policy):
    """Keep what earns more than the average, else look for better; told nothing at all.

    Parameters
    ----------
    keep
        So many arms are remembered; more only while all of them have open asks.
    most
        The most arms it remembers in that case.
    stock
        How many arms there are; None: no end of them. For simulations: a live bandit counts its items itself.

    Notes
    -----
    Rewards are numbers from 0 to 1. Scale them if they are others.

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

    about: ClassVar = About(
        told=(),
        rate="T^(beta/(beta+1)): proved of a simpler version, else measured",
        made_for=("still", "wear", "crashes", "rising", "late answers"),
        cost="O(kept arms)",
    )
    kept_settings: ClassVar = ("keep", "slots", "stock")
    tried_with: ClassVar = ({}, {"keep": 2, "most": 3})

    keep: Count = 32
    most: Count = 256
    stock: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < self.keep:
            raise ValueError(f"Forager: most must be at least keep ({self.keep}), not {self.most}")

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values, which name its random numbers: without a stock as before there was one."""
        values = super().to_json()
        return values if self.stock is not None else {name: values[name] for name in values if name != "stock"}

    @property
    def is_wide(self) -> bool:
        """What is believed of an arm is a row."""
        return True

    def slots(self, rounds: int) -> int:
        """As many as it may ever keep, however short the run: a live bandit does not know how many rounds come."""
        return self.most

    def start(self, rounds: int) -> ForagerState:
        """A state with arrays for ``rounds`` rounds."""
        slots = self.slots(rounds)

        def whole() -> NDArray[np.int64]:
            return np.zeros(slots, dtype=np.int64)

        return ForagerState(
            keep=self.keep,
            slots=slots,
            stock=ENDLESS if self.stock is None else self.stock,
            grid=new_grid(),
            watch=new_watch(),
            reservoir=new_reservoir(),
            memory=new_memory(),
            lateness=new_lateness(),
            masses=np.zeros(slots * POINTS),
            arms=whole(),
            plays=whole(),
            open=new_open_asks(slots),
            nothing=np.zeros(slots),
            means=np.zeros(slots),
            believed=np.zeros(slots),
            promises=np.zeros(slots),
            totals=np.zeros(slots),
            last=np.zeros(slots),
            looks=whole(),
            places=whole(),
        )

    def kept_arms(self, state: ForagerState) -> NDArray[np.int64]:
        """All arms that have a slot."""
        return np.sort(state.arms[state.arms >= 0])

    def arms_in_slots(self, state: ForagerState) -> NDArray[np.int64]:
        """The slots that had an arm at some time, with those that have none now."""
        return state.arms[: state.used]

    def can_draw(self, state: ForagerState) -> bool:
        """Unless all its arms have answers that are out."""
        return bool(state.used < state.slots or (state.open.numbers[: state.used] == 0).any())

    def with_catalogue(self) -> Self:
        """Items may run out, and then those that were left are all there is: more of them are remembered."""
        return self.replace(keep=max(self.keep, CATALOGUE), most=max(self.most, CATALOGUE), stock=None)

    def explain(self, state: ForagerState) -> dict[str, Any]:
        """What it knows, in numbers and in words (`insight`); it never restarts."""
        if state.stretch.told.number > 0:
            state = up_to_date(copied(state))
        own = {
            "episode": 1,
            "arms": int(np.count_nonzero(state.arms[: state.used] >= 0)),
            "arm": int(state.arms[state.slot]),
            "plays_of_arm": int(state.plays[state.slot]),
            "last_restart": None,
        }
        return own | insight(state, dispersion_of(state.noise, state.grid.spacing))

    def in_words(self, known: Mapping[str, Any]) -> str:
        """In the words of somebody who has items."""
        return " ".join(sentences(known))


# ---------------------------------------------------------------- averages that forget


@kernel
def after_plays(experience: Experience, seen: Plays, is_kept: bool, plays: int) -> Experience:
    """So many more rounds, of an arm with so many plays behind it."""
    number = seen.number
    rounds = experience.rounds + number
    step = pace_over(rounds, number)
    reward = seen.total / number
    kept = 1.0 if is_kept else 0.0
    return Experience(
        rounds=rounds,
        average=experience.average + step * (reward - experience.average),
        kept=experience.kept + step * (kept - experience.kept),
        kept_reward=experience.kept_reward + step * (kept * reward - experience.kept_reward),
        stay=experience.stay + step * (plays + 0.5 * (number - 1) - experience.stay),
    )


@kernel
def earned_when_kept(experience: Experience) -> float:
    """The average reward of plays of arms that were good enough."""
    return experience.kept_reward / experience.kept if experience.kept > 1e-9 else 0.0


@kernel
def believed_change(watch: Watch, rounds: int) -> Change:
    """What the believed model says; and that one reset in as many rounds as these is possible."""
    change = watching.change_of(watch.kinds[watch.model], watch.rate)
    return replaced(change, resets=max(change.resets, 1.0 / (rounds + 10.0)))


# ---------------------------------------------------------------- arms


@kernel
def is_late(state: ForagerState) -> Any:
    """Whether an answer was ever late."""
    return state.round > 0


@kernel
def is_beyond_credit(state: ForagerState, slot: int) -> Any:
    """Whether so many asks of the arm in a slot are open that answers should come first."""
    return state.open.numbers[slot] > CREDIT * state.plays[slot]


@kernel
def come_to_nothing_since(state: ForagerState, slot: int) -> Any:
    """How many open asks of the arm in a slot are thought to pay nothing, beyond those that are in its masses."""
    nothing = come_to_nothing(state.open, state.lateness, slot, state.round, state.experience.rounds)
    return nothing - state.nothing[slot]


@kernel
def grow_old(state: ForagerState, slot: int) -> None:
    """Believe of the arm in a slot what it says that its answers do not come."""
    nothing = come_to_nothing_since(state, slot)
    if nothing > 0.0:
        grid = state.grid
        believe(grid, state.masses, slot * POINTS, 0.0, nothing, dispersion_of(state.noise, grid.spacing))
        copy_row(grid.belief, 0, state.masses, slot * POINTS)
        state.means[slot] = mean_of(grid, grid.belief, 0)
        state.nothing[slot] += nothing


@kernel
def believe_in_asks(state: ForagerState, slot: int) -> None:
    """Into ``grid.belief``: the arm in a slot, if its open asks pay what is expected and change it as plays do."""
    grid = state.grid
    asked = state.open.numbers[slot]
    paying = max(asked - state.nothing[slot], 0.0)
    total = paying * state.means[slot]
    believe(grid, state.masses, slot * POINTS, total, paying, dispersion_of(state.noise, grid.spacing))
    change = watching.change_of(state.watch.kinds[state.watch.model], state.watch.rate)
    watching.let_change(grid, grid.belief, 0, change, float(asked), state.reservoir.masses)


@kernel
def value(state: ForagerState, slot: int) -> None:
    """What the arm in a slot is believed to be worth; with open asks, its belief is in ``grid.belief`` then."""
    state.believed[slot] = state.means[slot]
    if state.open.numbers[slot] > 0:
        believe_in_asks(state, slot)
        worth = mean_of(state.grid, state.grid.belief, 0)
        state.believed[slot] = worth - 1.0 if is_beyond_credit(state, slot) else worth


@kernel
def expected_of(state: ForagerState, slot: int) -> Any:
    """What the next ask of the arm in a slot is expected to pay."""
    worth = state.believed[slot]
    return worth if worth >= 0.0 else worth + 1.0


@kernel
def appraise(state: ForagerState, slot: int, is_valued: bool) -> None:
    """What the arm in a slot promises: nothing, beyond its credit. It may have been valued just before."""
    if state.open.numbers[slot] == 0:
        state.promises[slot] = excess_of(state.grid, state.masses, slot * POINTS, state.target)
    elif is_beyond_credit(state, slot):
        state.promises[slot] = -1.0
    else:
        if not is_valued:
            believe_in_asks(state, slot)
        state.promises[slot] = excess_of(state.grid, state.grid.belief, 0, state.target)


@kernel
def with_promise(state: ForagerState) -> ForagerState:
    """The promise of the arm that has changed, if there is one."""
    if state.changed < 0:
        return state
    appraise(state, state.changed, False)
    return replaced(state, changed=NONE, hope=led(state.hope, state.promises, state.used, state.changed))


@kernel
def with_promises(state: ForagerState) -> ForagerState:
    """All promises, for the target of now or one near it. The arm that has changed was valued just before."""
    near = REFRESH * state.grid.spacing * state.target * (1.0 - state.target)
    is_near = abs(state.target - state.promised) <= near
    if is_near and state.changed < 0:
        return state
    for slot in range(state.changed if is_near else 0, state.changed + 1 if is_near else state.used):
        if state.arms[slot] >= 0:
            appraise(state, slot, is_near)
    if is_near:
        return replaced(state, changed=NONE, hope=led(state.hope, state.promises, state.used, state.changed))
    hope = searched(state.promises, state.used, state.hope.slot)
    return replaced(state, changed=NONE, hope=hope, promised=state.target)


@kernel
def filter_plays(state: ForagerState, slot: int, seen: Plays, dispersion: float) -> None:
    """Believe what rewards say of the arm in a slot, and let the arm change by so many plays.

    Open asks that have come to nothing since count as well: news that comes in another order than plays would look like
    a change. An answer that was among these when it was out makes them fewer again.
    """
    grid = state.grid
    likelihood = grid.likelihood
    plays = float(seen.number)
    if is_late(state):
        plays = max(plays + come_to_nothing_since(state, slot), max(seen.total, 0.0))
        state.nothing[slot] += plays - seen.number
    if plays == 1.0 and state.noise.is_coin == 1:
        likelihood = grid.means if seen.total == 1.0 else grid.misses
    else:
        judge_rewards(grid, seen.total, plays, dispersion)
    change = believed_change(state.watch, state.experience.rounds)
    steps = 1
    if seen.number > 1:
        steps = watching.steps_for(grid, change, float(seen.number))
        change = watching.over_plays(change, float(seen.number), steps)
    update(grid, state.masses, slot * POINTS, likelihood, change, steps, state.reservoir.masses)
    state.means[slot] = mean_of(grid, state.masses, slot * POINTS)


@kernel
def is_left(state: ForagerState, slot: int) -> Any:
    """Whether a fresh arm promises more than the arm in a slot."""
    if state.means[slot] >= state.target or state.open.numbers[slot] > 0:
        return False
    promise = excess_of(state.grid, state.masses, slot * POINTS, state.target)
    return promise < fresh_excess(state.reservoir, state.grid, state.target)


@kernel
def with_hope(state: ForagerState) -> LearnedReservoir:
    """The reservoir, which hopes for nothing above the best that was learned, as long as arms do not change.

    Else its top would be out of reach for ever: what is learned of arms that stay as they are becomes exact. Of arms
    that change while they are played, what they are at first is learned as a blur.
    """
    is_still = state.watch.kinds[state.watch.model] == watching.STILL
    return replaced(state.reservoir, blur=0.0 if is_still else ALIKE)


@kernel
def is_what_it_was(state: ForagerState) -> Any:
    """Whether an arm is thought to be what it was when fresh, until it breaks down: then all its plays tell of it.

    Where answers are late, many of an arm that broke down come before it is left.
    """
    return state.watch.kinds[state.watch.model] == watching.RESETS and not is_late(state)


@kernel
def with_look(state: ForagerState, slot: int, dispersion: float) -> ForagerState:
    """Let the reservoir learn of an arm: when it is first left, or at a look; and when to look again."""
    plays = state.plays[slot]
    look = state.looks[slot]
    is_known = state.places[slot] >= 0
    breaks = is_what_it_was(state)
    if plays > look or not (plays == look or ((breaks or not is_known) and is_left(state, slot))):
        return state
    change = believed_change(state.watch, state.experience.rounds)
    ahead = 4 * plays
    is_slow = breaks or ahead * (change.resets + change.falls + change.rises) < LOOK_WITHIN
    has_broken = is_known and plays < look
    state.looks[slot] = ahead if is_slow and not has_broken else plays
    arm = state.arms[slot]
    if is_known and not is_remembered(state.memory, state.places[slot], arm):
        return state  # what was made of it cannot be taken out any more
    now = Known(plays=plays + state.nothing[slot], total=state.totals[slot])
    replays = affordable_replays(state.memory, state.experience.rounds)
    memory, reservoir, place = with_arm_remembered(
        state.memory, with_hope(state), state.grid, state.places[slot], arm, now, replays, dispersion
    )
    state.places[slot] = place
    return replaced(state, memory=memory, reservoir=reservoir)


@kernel
def rounds_a_group(experience: Experience) -> float:
    """In so many rounds, one group of plays may be watched: fewer where arms do not last, and the search is all."""
    return watching.EVERY + experience.stay / 32.0


@kernel
def watch_from_now(state: ForagerState, slot: int, is_kept: bool) -> None:
    """Watch an arm from its first reward on; and one that is good enough or in doubt for long, if nobody does any more.

    Where answers are late, it may believe at first that arms change all the time. Then an arm in doubt would stay so,
    however long it is played, if nobody watched.
    """
    is_fresh = state.plays[slot] == 0
    is_wanted = is_kept or (is_late(state) and state.plays[slot] >= LONG)
    if not (is_fresh or (is_wanted and watching.place_of(state.watch, slot) < 0)):
        return
    if watching.is_affordable(state.watch, state.experience.rounds, rounds_a_group(state.experience)):
        masses = state.reservoir.masses if is_fresh else state.masses
        offset = 0 if is_fresh else slot * POINTS
        nothing = 0.0 if is_fresh else state.nothing[slot]
        watching.start_watching(state.watch, slot, masses, offset, nothing, state.means)


@kernel
def with_watch(state: ForagerState, slot: int, seen: Plays, mean: float, dispersion: float) -> ForagerState:
    """Let the models see rewards of a watched arm that was thought to have this mean."""
    watch = state.watch
    place = watching.place_of(watch, slot)
    if place < 0:
        return state
    rounds = state.experience.rounds
    is_affordable = watching.is_affordable(watch, rounds, rounds_a_group(state.experience))
    is_surprise = watching.is_affordable(watch, rounds, watching.EVERY_SURPRISE) and (
        seen.number == 1 and watching.is_surprising(seen.total, mean, dispersion)
    )
    groups = watch.groups
    for turn in range(2):  # a surprise ends the group before it
        is_over = turn == 0 and is_surprise and watch.plays[place] > 0.0
        if turn == 1:
            watch.calm[place] = seen.number if is_surprise else watch.calm[place] + seen.number
            watch.totals[place] += seen.total
            watch.plays[place] += seen.number
            is_left_now = state.means[slot] < state.target
            is_over = is_left_now or (is_affordable and watching.is_group_over(watch, place, state.plays[slot]))
        if is_over:
            watching.fade(watch, watch.plays[place] * pace(rounds))
            watching.count_open_asks(watch, place, state.nothing[slot])
            watching.weigh_models(watch, state.grid, place, state.reservoir.masses, dispersion)
            groups += 1
    if groups == watch.groups:
        return state
    return replaced(state, watch=watching.with_belief(replaced(watch, groups=groups)))


# ---------------------------------------------------------------- grid and targets


@kernel
def believe_anew(state: ForagerState, slot: int) -> None:
    """What the arm in a slot is, by what the reservoir is now, if all its rewards are known."""
    if state.plays[slot] > state.looks[slot]:
        return
    grid = state.grid
    plays = float(state.plays[slot])
    dispersion = dispersion_of(state.noise, grid.spacing)
    believe(grid, state.reservoir.masses, 0, state.totals[slot], plays + state.nothing[slot], dispersion)
    if plays > 0.0:
        change = watching.change_of(state.watch.kinds[state.watch.model], state.watch.rate)
        watching.let_change(grid, grid.belief, 0, change, plays, state.reservoir.masses)
    copy_row(grid.belief, 0, state.masses, slot * POINTS)
    state.means[slot] = mean_of(grid, state.masses, slot * POINTS)


@kernel
def with_values(state: ForagerState) -> ForagerState:
    """All arms anew. Where answers are late, also what is believed of them: many were drawn when little was known."""
    for slot in range(state.used):
        if state.arms[slot] >= 0:
            if is_late(state):
                believe_anew(state, slot)
            value(state, slot)
    return replaced(state, best=searched(state.believed, state.used, state.best.slot), promised=float(NONE))


@kernel
def with_grid(state: ForagerState) -> ForagerState:
    """From time to time, draw the grid anew if that is worth it; where answers are late, value all arms in any case.

    It is drawn around what is better, as fine as the arms that are played are known.
    """
    rounds = state.experience.rounds
    if rounds < state.regrid:
        return state
    grid = state.grid
    better = min(max(at_need(state.better), mean_at(1.0 - EDGE)), mean_at(EDGE - 1.0))  # in `heard` there is a loop
    known = (state.experience.stay + 1.0) * better * (1.0 - better)
    spacing = math.sqrt(dispersion_of(state.noise, grid.spacing) / known)
    spacing = min(max(spacing, FINEST), WIDEST)
    centre = point_at(better)
    later = replaced(state, regrid=int(rounds * REGRID) + 1)
    is_fine = grid.spacing / FINER <= spacing <= grid.spacing * FINER
    is_drawn = not is_fine or abs(centre - grid.centre) > 3.0 * grid.spacing
    if not is_drawn and not is_late(state):
        return later
    return with_values(with_grid_drawn(later, centre, spacing) if is_drawn else later)


@kernel
def with_grid_drawn(state: ForagerState, centre: float, spacing: float) -> ForagerState:
    """All masses on a grid with this centre and spacing."""
    grid = state.grid
    draft_grid(grid, centre, spacing)
    carry_over(grid, state.reservoir.learned, 0)
    for slot in range(state.used):
        carry_over(grid, state.masses, slot * POINTS)
    for part in range(WATCHED * len(MODELS)):
        if state.watch.slots[part // len(MODELS)] >= 0:
            carry_over(grid, state.watch.masses, part * POINTS)
    fine = replaced(state, grid=redrawn(grid, centre, spacing))
    sum_up(state.reservoir, fine.grid)
    for slot in range(state.used):
        if state.arms[slot] >= 0:
            state.means[slot] = mean_of(fine.grid, state.masses, slot * POINTS)
    return fine


@kernel
def with_target(state: ForagerState) -> ForagerState:
    """What is better than the average, and whether the average will do."""
    average = state.experience.average
    better = mean_above(state.reservoir, state.grid, average)
    is_content = earned_when_kept(state.experience) >= better
    return replaced(state, better=better, is_content=1 if is_content else 0, target=average if is_content else better)


# ---------------------------------------------------------------- the next arm


@kernel
def free_slot(state: ForagerState) -> int:
    """For a fresh arm: a new slot, or that of the worst arm; but no arm goes while its answers are out. -1: none."""
    if state.used < state.keep:
        return state.used
    worst = -1
    for slot in range(state.used):
        if state.open.numbers[slot] == 0 and (worst < 0 or state.means[slot] < state.means[worst]):
            worst = slot
    if worst < 0 and state.used < state.slots:
        return state.used
    return worst


@kernel
def with_fresh_arm(state: ForagerState, slot: int) -> ForagerState:
    """Draw an arm; it is what arms are."""
    drawn = state.counts.arms
    watching.stop_watching(state.watch, slot)
    watching.fade(state.watch, 1.0 / (drawn + 3.0))
    if slot < state.used:
        let_go(state.memory, state.places[slot], state.arms[slot])
    state.arms[slot] = drawn
    state.plays[slot] = 0
    without_asks(state.open, slot)
    state.nothing[slot] = 0.0
    state.totals[slot] = 0.0
    state.last[slot] = 0.0
    state.looks[slot] = FIRST_LOOK
    state.places[slot] = NONE
    copy_row(state.reservoir.masses, 0, state.masses, slot * POINTS)
    state.means[slot] = mean_above(state.reservoir, state.grid, -1.0)
    state.believed[slot] = state.means[slot]
    used = max(state.used, slot + 1)
    return replaced(
        state,
        used=used,
        slot=slot,
        best=led(state.best, state.believed, used, slot),
        changed=slot,
        counts=with_arm(state.counts),
        watch=watching.with_belief(state.watch),
    )


@kernel
def is_good_enough(state: ForagerState, slot: int) -> Any:
    """Whether an arm is worth the target; or more, while its answers are out: a fresh one as good would teach more."""
    worth = state.believed[slot]
    return worth > state.target or (worth == state.target and state.open.numbers[slot] == 0)


@kernel
def is_untouched(state: ForagerState, slot: int) -> Any:
    """Whether a slot has an arm that was drawn, but never asked for: one more of the kind would be one too many."""
    return state.plays[slot] == 0 and state.open.numbers[slot] == 0 and state.arms[slot] >= 0


@kernel
def is_worth_a_try(state: ForagerState, hope: int, promise: float, best: int) -> Any:
    """Where no fresh arm is left: whether an arm may exceed the target by more than it costs to try it.

    A try costs what the best arm is worth more; what it may find is had for as many plays as arms have behind them.
    """
    return promise * state.experience.stay > expected_of(state, best) - expected_of(state, hope)


@kernel
def has_fresh_arms(state: ForagerState) -> Any:
    """Whether there is an arm that was never drawn."""
    return state.is_supplied == 1 and state.counts.arms < state.stock


@kernel
def with_next_arm(state: ForagerState) -> ForagerState:
    """The best arm if it is good enough; else the most promising, if it promises more than a fresh one; else that.

    Where no slot is free and all arms are beyond their credit, the best of them.
    """
    if is_good_enough(state, state.best.slot):
        return replaced(state, slot=state.best.slot)
    seen = with_promises(state)
    slot = NONE
    has_fresh = has_fresh_arms(seen)
    if has_fresh and seen.promises[seen.hope.slot] <= fresh_excess(seen.reservoir, seen.grid, seen.target):
        if is_untouched(seen, seen.slot):
            return seen
        slot = free_slot(seen)
    if slot < 0:
        promise = seen.promises[seen.hope.slot]
        is_hopeful = promise >= 0.0 and (has_fresh or is_worth_a_try(seen, seen.hope.slot, promise, seen.best.slot))
        return replaced(seen, slot=seen.hope.slot if is_hopeful else seen.best.slot)
    return with_fresh_arm(seen, slot)


# ---------------------------------------------------------------- a round


def begin(state: ForagerState, key: int) -> ForagerState:
    """One fresh arm, of a reservoir of which nothing is known."""
    for slot in range(state.slots):
        state.arms[slot] = -1
        state.means[slot] = -1.0
        state.believed[slot] = -1.0
        state.promises[slot] = -1.0
    grid = opened_grid(state.grid)
    clean = replaced(
        state,
        grid=grid,
        reservoir=opened_reservoir(state.reservoir, grid),
        memory=opened_memory(state.memory),
        lateness=opened_lateness(state.lateness),
        watch=opened_watch(state.watch),
        used=0,
        round=0,
        is_supplied=1,
        experience=NOTHING_LEARNED,
        noise=FIRST_NOISE,
        regrid=20,
        best=NO_LEADER,
        hope=NO_LEADER,
        promised=float(NONE),
        changed=NONE,
        stretch=NO_STRETCH,
        counts=with_block(NO_COUNTS, 0),  # one without end
    )
    return with_fresh_arm(with_target(clean), 0)


def ask(state: ForagerState, round: int) -> Choice:
    """The arm that was decided on when something was last heard."""
    slot = state.slot
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=1, round=round)


@kernel
def learned(state: ForagerState, slot: int, seen: Plays, is_kept: bool) -> ForagerState:
    """Take in rewards of the arm in a slot, which was good enough when it was asked for or not."""
    mean = state.means[slot]
    plays = state.plays[slot]
    watch_from_now(state, slot, is_kept)
    experience = after_plays(state.experience, seen, is_kept, plays)
    number = seen.number if plays > 0 else 0
    share = pace_over(experience.rounds, seen.number)
    noise = after_differences(state.noise, seen.are_coins, number, seen.squares, mean, share)
    told = replaced(state, experience=experience, noise=noise)
    dispersion = dispersion_of(noise, state.grid.spacing)
    filter_plays(told, slot, seen, dispersion)
    if plays < state.looks[slot]:
        state.totals[slot] += seen.total
    state.plays[slot] = plays + seen.number
    return with_look(with_watch(told, slot, seen, mean, dispersion), slot, dispersion)


@kernel
def noted(state: ForagerState, slot: int) -> ForagerState:
    """Who is best, and whose promise is to be computed, after the arm in a slot has changed."""
    seen = state if state.changed == slot else with_promise(state)
    value(seen, slot)
    return replaced(seen, best=led(seen.best, seen.believed, seen.used, slot), changed=slot)


@kernel
def decided(state: ForagerState, slot: int) -> ForagerState:
    """Which arm is next, after the arm in a slot has changed."""
    return with_next_arm(with_target(noted(state, slot)))


@kernel
def heard(state: ForagerState, slot: int, seen: Plays, is_kept: bool) -> ForagerState:
    """Judge the plays of the stretch that are still to be judged, and then these of the arm in a slot."""
    stretch = state.stretch
    was_kept = state.believed[stretch.slot] >= state.target
    for turn in range(2):
        is_last = turn == 1
        part = seen if is_last else stretch.told
        place = slot if is_last else stretch.slot
        if part.number > 0 and (is_last or state.arms[place] == stretch.arm):
            told = learned(state, place, part, is_kept if is_last else was_kept)
            state = noted(with_grid(told), place)
    return replaced(state, stretch=judged(stretch, slot, state.arms[slot], seen.number))


@kernel
def with_stretch(state: ForagerState) -> ForagerState:
    """Plan how many plays of the next arm are judged together, if it is the one that was played: up to its next look.

    Where answers are late, each is judged by itself.
    """
    slot = state.slot
    if slot != state.stretch.slot or is_late(state):
        return state
    plays = state.plays[slot]
    most = state.looks[slot] - plays if plays < state.looks[slot] else plays
    dispersion = dispersion_of(state.noise, state.grid.spacing)
    return replaced(state, stretch=planned(state.stretch, plays, most, state.means[slot], dispersion))


def tell(state: ForagerState, choice: Choice, reward: float) -> ForagerState:
    """Go on with a stretch; else take in the reward, and decide on the next arm."""
    slot = choice.slot
    seen = one_play(reward, state.last[slot])
    state.last[slot] = reward
    if goes_on(state.stretch, slot, choice.arm):
        state = replaced(state, stretch=longer(state.stretch, seen, state.noise.is_coin))
        if state.stretch.left > 0:
            return state
        seen = NO_PLAYS
    is_kept = state.believed[slot] >= state.target
    return with_stretch(with_next_arm(with_target(heard(state, slot, seen, is_kept))))


def defer(state: ForagerState, choice: Choice) -> tuple[ForagerState, float]:
    """Believe that the ask pays what is expected of it: that much, below 0 if the arm is not good enough."""
    slot = choice.slot
    expected = expected_of(state, slot)
    presumed = expected if expected >= state.target else -expected
    add_ask(state.open, slot, choice.round)
    later = replaced(state, round=choice.round, stretch=replaced(state.stretch, left=0))
    grow_old(later, slot)
    return decided(later, slot), presumed


def settle(state: ForagerState, choice: Choice, presumed: float, reward: float) -> ForagerState:
    """Take in the reward in place of what was believed."""
    slot = choice.slot
    add_answer(state.lateness, state.round - choice.round, reward, abs(presumed), state.experience.rounds + 1)
    if state.arms[slot] != choice.arm:
        return replaced(state, counts=with_ignored(state.counts))
    remove_ask(state.open, slot, choice.round)
    seen = one_play(reward, state.last[slot])
    state.last[slot] = reward
    return with_next_arm(with_target(heard(state, slot, seen, presumed > 0.0)))


def lose(state: ForagerState, choice: Choice, presumed: float) -> ForagerState:
    """As if there had been no play; what its age has said of the arm is made good with the next answer."""
    if state.arms[choice.slot] != choice.arm:
        return state
    remove_ask(state.open, choice.slot, choice.round)
    return decided(state, choice.slot)


# ---------------------------------------------------------------- a live catalogue


@kernel
def promise_of(state: ForagerState, slot: int) -> Any:
    """By how much the mean of the arm in a slot may exceed the target; nothing is kept of it."""
    if state.open.numbers[slot] == 0:
        return excess_of(state.grid, state.masses, slot * POINTS, state.target)
    if is_beyond_credit(state, slot):
        return -1.0
    believe_in_asks(state, slot)
    return excess_of(state.grid, state.grid.belief, 0, state.target)


def ask_among(state: ForagerState, round: int, allowed: Any, has_fresh: bool) -> Choice:
    """The best allowed arm, if it is good enough; else the most promising of them, unless a fresh one promises more."""
    slot = NONE
    for other in range(state.used):
        if allowed[other] and (slot < 0 or state.believed[other] > state.believed[slot]):
            slot = other
    if slot < 0:
        return no_choice(round)
    if not is_good_enough(state, slot):
        best = slot
        most = fresh_excess(state.reservoir, state.grid, state.target) if has_fresh else -0.5
        slot = NONE
        for other in range(state.used):
            if allowed[other]:
                promise = promise_of(state, other)
                if promise > most:
                    slot = other
                    most = promise
        if slot < 0 and has_fresh:
            return no_choice(round)
        if slot < 0 or (not has_fresh and not is_worth_a_try(state, slot, most, best)):
            slot = best
    return Choice(slot=slot, arm=state.arms[slot], probability=1.0, block=1, round=round)


def draw(state: ForagerState) -> tuple[ForagerState, int]:
    """A fresh arm, as if it had decided on one."""
    slot = free_slot(state)
    if slot == state.stretch.slot:  # what was told of the arm that goes is not forgotten
        state = up_to_date(state)
    return (with_fresh_arm(state, slot), slot) if slot >= 0 else (state, NONE)


@kernel
def with_news(experience: Experience, plays: int, total: float) -> Experience:
    """So many plays elsewhere: rounds like others, but of no known time, so that they count alike."""
    rounds = experience.rounds + plays
    return replaced(experience, rounds=rounds, average=(experience.rounds * experience.average + total) / rounds)


@kernel
def up_to_date(state: ForagerState) -> ForagerState:
    """With nothing left to be judged."""
    return heard(state, state.stretch.slot, NO_PLAYS, True) if state.stretch.told.number > 0 else state


def recall(state: ForagerState, slot: int, plays: int, total: float, is_news: bool) -> ForagerState:
    """Believe of the arm in a slot what was seen of it; the reservoir learns of what is news, and it is experience."""
    state = up_to_date(state)
    grid = state.grid
    dispersion = dispersion_of(state.noise, grid.spacing)
    believe(grid, state.masses, slot * POINTS, total, float(plays), dispersion)
    change = watching.change_of(state.watch.kinds[state.watch.model], state.watch.rate)
    watching.let_change(grid, grid.belief, 0, change, float(plays), state.reservoir.masses)
    copy_row(grid.belief, 0, state.masses, slot * POINTS)
    state.means[slot] = mean_of(grid, state.masses, slot * POINTS)
    watching.stop_watching(state.watch, slot)  # it would take this for a change
    if not is_news:
        state.plays[slot] += plays
        state.looks[slot] = state.plays[slot] - 1  # the reservoir knows of it
        return decided(state, slot)
    heard = replaced(state, experience=with_news(state.experience, plays, total))
    if state.plays[slot] > state.looks[slot]:
        return decided(with_grid(heard), slot)
    state.totals[slot] += total
    state.plays[slot] += plays
    state.looks[slot] = max(state.looks[slot], state.plays[slot])
    return decided(with_grid(with_look(heard, slot, dispersion)), slot)


def release(state: ForagerState, slot: int) -> ForagerState:
    """The arm in a slot is gone: it is worth nothing, promises nothing, and the next one may have its slot."""
    state = up_to_date(state)
    watching.stop_watching(state.watch, slot)
    let_go(state.memory, state.places[slot], state.arms[slot])
    state.arms[slot] = NONE
    state.plays[slot] = 0
    state.places[slot] = NONE
    for values in (state.means, state.believed, state.promises):
        values[slot] = -1.0
    without = replaced(
        state,
        best=searched(state.believed, state.used, state.best.slot),
        promised=float(NONE),
        changed=NONE if state.changed == slot else state.changed,
    )
    return with_next_arm(without) if state.slot == slot else without


def supply(state: ForagerState, has_fresh: bool) -> ForagerState:
    """From the next decision on, plan with fresh arms or without."""
    return replaced(state, is_supplied=1 if has_fresh else 0)


register_policy(
    ForagerState,
    begin=begin,
    ask=ask,
    ask_among=ask_among,
    draw=draw,
    recall=recall,
    release=release,
    supply=supply,
    tell=tell,
    defer=defer,
    settle=settle,
    lose=lose,
)
