"""How do arms change? Some arms are watched: their rewards are predicted by several models of change side by side.

A model says what a play does to an arm: it stays as it is, it is drawn anew with some probability, its log-odds fall or
rise by a number, or both at once (it wanders). The model whose predictions were best of late is believed, with a rate
between those of its neighbours where they were nearly as good. What is said of a run (`all_in_all`) goes by more of it.

An arm that has been played for long is watched in groups of plays, a sixteenth of its past: the models differ little
within one. A reward that surprises ends a group and makes the next ones short, so that a sudden change is seen as one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..apart import apart
from ..arithmetic import exponential, natural_log
from ..compiled import kernel, replaced
from ..lanes import meet, places
from ..rows import copy_row, shift
from .grid import POINTS, Change, Grid, judge_coin, judge_rewards, update

STILL, RESETS, FALLS, RISES, WANDERS = range(5)
KINDS = ("still", "resets", "falls", "rises", "wanders")

MODELS: tuple[tuple[int, float], ...] = (
    (STILL, 1e-6),
    *((RESETS, 3e-5 * 6.0**i) for i in range(5)),
    *((FALLS, 2e-4 * 4.0**i) for i in range(6)),
    *((RISES, 1e-3 * 8.0**i) for i in range(2)),
    *((WANDERS, 1e-3 * 8.0**i) for i in range(3)),
)
"""Kind and rate: a probability for resets, log-odds a play for the others. Where nothing else changes, one arm in a
million plays is drawn anew: no model may be sure for ever."""

DOUBT = 4.0
"""By so much, in the logarithm of its likelihood, must a change be the better prediction before it is believed."""

SLOWLY = 0.25
"""For what is said of a run, evidence fades by this factor more slowly. It does fade: at first, when neither arms nor
delays are known, all models are wrong, and those of change are wrong the least."""

WATCHED = 4
"""So many arms are watched at a time."""

AT_FIRST = 2000
"""So many groups of plays are seen in any case,"""

EVERY = 4.0
"""and one more in so many rounds: what watching may cost; in more, by a 32nd of how long arms are played,"""

EVERY_SURPRISE = 256.0
"""while surprises end groups only while there are so few of them."""

SURPRISE = 4.0
"""A reward surprises if it is off by more than two standard deviations."""

MOST_STEPS = 12
"""In so many steps, at most, a model moves the masses for a group of plays."""


class Watch(NamedTuple):
    """The watched arms, and what they have said for each model."""

    kinds: NDArray[np.int64]  # of the models
    rates: NDArray[np.float64]
    evidence: NDArray[np.float64]  # model -> logarithm of the likelihood of what it has seen, fading
    overall: NDArray[np.float64]  # model -> the same, fading slowly
    slots: NDArray[np.int64]  # watched arm -> its slot; -1 for none
    totals: NDArray[np.float64]  # watched arm -> rewards of the group so far
    plays: NDArray[np.float64]  # watched arm -> plays of the group so far
    calm: NDArray[np.float64]  # watched arm -> plays since a surprise
    nothing: NDArray[np.float64]  # watched arm -> open asks that had come to nothing at the end of the last group
    masses: NDArray[np.float64]  # watched arm, model, point -> mass
    groups: int = 0  # seen so far
    model: int = 0  # that is believed
    rate: float = 0.0  # and its rate


def new_watch() -> Watch:
    """Room for the watched arms. The models never change."""
    kinds = np.array([kind for kind, _ in MODELS], dtype=np.int64)
    rates = np.array([rate for _, rate in MODELS])
    for fixed in (kinds, rates):
        fixed.flags.writeable = False
    return Watch(
        kinds=kinds,
        rates=rates,
        evidence=np.zeros(len(MODELS)),
        overall=np.zeros(len(MODELS)),
        slots=np.zeros(WATCHED, dtype=np.int64),
        totals=np.zeros(WATCHED),
        plays=np.zeros(WATCHED),
        calm=np.zeros(WATCHED),
        nothing=np.zeros(WATCHED),
        masses=np.zeros(WATCHED * len(MODELS) * POINTS),
    )


@kernel
def opened_watch(watch: Watch) -> Watch:
    """Nobody watched, nothing known."""
    for model in range(len(MODELS)):
        watch.evidence[model] = 0.0
        watch.overall[model] = 0.0
    for place in range(WATCHED):
        watch.slots[place] = -1
    return replaced(watch, groups=0, model=0, rate=watch.rates[0])


# ---------------------------------------------------------------- models


@kernel
def change_of(kind: int, rate: float) -> Change:
    """What a model says of one play."""
    return Change(
        resets=rate if kind <= RESETS else 1e-6,
        falls=rate if kind == FALLS else 0.5 * rate if kind == WANDERS else 0.0,
        rises=rate if kind == RISES else 0.5 * rate if kind == WANDERS else 0.0,
    )


@kernel
def steps_for(grid: Grid, change: Change, plays: float) -> int:
    """So many steps that masses move half a spacing in one, as far as possible."""
    return min(int((change.falls + change.rises) * plays / grid.spacing * 2.0) + 1, MOST_STEPS)


@kernel
def over_plays(change: Change, plays: float, steps: int) -> Change:
    """The change of so many plays: a reset in any of them, nearly, and the way down or up in one of some steps."""
    share = plays / steps
    more = change.resets * (plays - 1.0)
    return Change(resets=(change.resets + more) / (1.0 + more), falls=change.falls * share, rises=change.rises * share)


@apart
def let_change(grid: Grid, masses: Any, offset: int, change: Change, plays: float, source: Any) -> None:
    """Let masses change as arms do in so many plays of which nothing is known."""
    steps = steps_for(grid, change, plays)
    moves = over_plays(change, plays, steps)
    if moves.falls + moves.rises > 0.0:
        for _ in range(steps):
            shift(masses, offset, grid.nearness, moves.falls, moves.rises)
    for k in places():
        masses[offset + k] += moves.resets * (source[k] - masses[offset + k])
    meet()


@kernel
def count_open_asks(watch: Watch, place: int, nothing: float) -> None:
    """Add to a group the open asks that have come to nothing since the last one: good news alone would be too good.

    An answer that was among these when it was out makes them fewer again; but they are never fewer than none.
    """
    plays = watch.plays[place] + nothing - watch.nothing[place]
    watch.plays[place] = max(plays, max(watch.totals[place], 0.0))
    watch.nothing[place] = nothing


@apart
def fade(watch: Watch, share: float) -> None:
    """Forget so much of what the models have been credited with."""
    for model in range(len(MODELS)):
        watch.evidence[model] *= max(1.0 - share, 0.0)
        watch.overall[model] *= max(1.0 - SLOWLY * share, 0.0)


@kernel
def weigh_models(watch: Watch, grid: Grid, place: int, reservoir: Any, dispersion: float) -> None:
    """Credit each model with how well it predicted the group of a watched arm, and let it move on."""
    total, plays = watch.totals[place], watch.plays[place]
    if plays == 1.0 and dispersion == 1.0 and (total == 0.0 or total == 1.0):
        judge_coin(grid, total)
    else:
        judge_rewards(grid, total, plays, dispersion)
    for model in range(len(MODELS)):
        offset = (place * len(MODELS) + model) * POINTS
        change = change_of(watch.kinds[model], watch.rates[model])
        steps = steps_for(grid, change, plays)
        moves = over_plays(change, plays, steps)
        credit = natural_log(update(grid, watch.masses, offset, grid.likelihood, moves, steps, reservoir))
        watch.evidence[model] += credit
        watch.overall[model] += credit
    watch.totals[place] = 0.0
    watch.plays[place] = 0.0


@apart
def believed_rate(watch: Watch, model: int) -> Any:
    """The top of the parabola through a model and its neighbours of the same kind, over the logarithm of rates."""
    rate = watch.rates[model]
    if model < 2 or model + 1 >= len(MODELS):
        return rate
    if watch.kinds[model - 1] != watch.kinds[model] or watch.kinds[model + 1] != watch.kinds[model]:
        return rate
    below = watch.evidence[model - 1] - watch.evidence[model]
    above = watch.evidence[model + 1] - watch.evidence[model]
    away = 0.5 * (below - above) / (below + above - 1e-9)
    return rate * exponential(max(min(away, 0.5), -0.5) * natural_log(watch.rates[model + 1] / rate))


@kernel
def with_belief(watch: Watch) -> Watch:
    """Believe the model with the best predictions; in a change only if it is better by ``DOUBT``."""
    best = 0
    most = watch.evidence[0]
    for model in range(1, len(MODELS)):
        if watch.evidence[model] - DOUBT > most:
            best = model
            most = watch.evidence[model] - DOUBT
    return replaced(watch, model=best, rate=believed_rate(watch, best))


def all_in_all(watch: Watch) -> Watch:
    """With the model whose predictions were best in most of the run: what it decides by has forgotten more of that."""
    return with_belief(watch._replace(evidence=watch.overall))


# ---------------------------------------------------------------- watched arms


@kernel
def place_of(watch: Watch, slot: int) -> int:
    """Where the arm in a slot is watched; -1 if it is not."""
    found = -1
    for place in range(WATCHED):
        if watch.slots[place] == slot:
            found = place
    return found


@kernel
def is_affordable(watch: Watch, rounds: int, every: float) -> bool:
    """Whether one more group may be seen, or one more arm watched, if one in so many rounds may be."""
    return watch.groups < AT_FIRST + rounds / every


@kernel
def start_watching(watch: Watch, slot: int, masses: Any, offset: int, nothing: float, means: Any) -> None:
    """Watch the arm in a slot from its next reward on, in place of nobody or of the worst.

    The masses are what is believed of it, with so many open asks that have come to nothing.
    """
    chosen = 0
    for place in range(WATCHED):
        if watch.slots[chosen] >= 0 and (
            watch.slots[place] < 0 or means[watch.slots[place]] < means[watch.slots[chosen]]
        ):
            chosen = place
    watch.slots[chosen] = slot
    watch.totals[chosen] = 0.0
    watch.plays[chosen] = 0.0
    watch.calm[chosen] = 1e9
    watch.nothing[chosen] = nothing
    for model in range(len(MODELS)):
        copy_row(masses, offset, watch.masses, (chosen * len(MODELS) + model) * POINTS)


@kernel
def stop_watching(watch: Watch, slot: int) -> None:
    """The arm in this slot goes."""
    for place in range(WATCHED):
        if watch.slots[place] == slot:
            watch.slots[place] = -1


@kernel
def is_group_over(watch: Watch, place: int, plays: int) -> Any:
    """Whether a group is a sixteenth of the arm's plays, or half of those since a surprise."""
    return watch.plays[place] * 16.0 >= plays or watch.plays[place] * 2.0 >= watch.calm[place]


@kernel
def is_surprising(reward: float, mean: float, dispersion: float) -> bool:
    """Whether a reward is far from what was expected."""
    return (reward - mean) * (reward - mean) > SURPRISE * dispersion * mean * (1.0 - mean)
