"""The verbs every policy, base and world speaks, found by the type of the state.

A policy is three things: a *spec* (a frozen, JSON-able description), a *state* (a
``NamedTuple`` of numbers and arrays) and *kernels* (small functions over the state). The
verbs below look the kernel up by the state's type: in Python through a dictionary, in
compiled code while compiling. One loop thus serves every pair of policy and world, and the
live object calls the very same functions.

Rules of the contract:

- Numbers in a state are copied, arrays are shared. ``tell`` may write into the arrays and
  returns the new state; the old one is dead afterwards.
- ``ask`` changes nothing. Its randomness is addressed by the number of the ask.
- ``tell`` comes right after its ``ask``. Where anything else comes first, the ask is *open*: the policy hears of it by
  ``defer``, of its answer by ``settle``, and by ``lose`` if there will be none. Every ask is told, or deferred and then
  settled or lost, once.
- The weight of a reward belongs to the choice, not to the state it meets: a ``Choice`` carries its probability and its
  block. No reward is ignored while its arm is kept.
- An arm keeps its slot while a policy keeps the arm, unless the policy says so: ``follow`` may
  ``relocate`` it. A policy never comes back to an arm it has let go.
- Kernels allocate nothing: ``spec.start(rounds)`` allocates for that many rounds, ``begin``
  fills in the first values, of every array that will be read. An array that is only ever read is
  marked read-only, and all replications share it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .compiled import dispatcher, kernel, load_both


class Choice(NamedTuple):
    """What ``ask`` returns and ``tell`` takes back."""

    slot: int  # where the policy keeps the arm
    arm: int  # the arm's handle: 0, 1, 2, … in the order fresh arms are needed
    probability: float  # with which this slot was chosen
    block: int  # the block the choice belongs to, counted from 1
    round: int  # the number of the ask, counted from 1


class Counts(NamedTuple):
    """What every policy counts of itself."""

    restarts: int
    blocks: int
    arms: int  # fresh arms drawn so far
    ignored: int  # rewards of arms that were let go before their rewards could judge them


class Play(NamedTuple):
    """One play, as the drift sees it."""

    round: int
    arm: int
    plays: int  # how often this arm was played before
    mean: float
    reward: float
    key: int  # of the drift stream


class Nothing(NamedTuple):
    """The state of what carries nothing, each under a type of its own; it has a field because a state has values."""

    unused: float = 0.0


class Verb:
    """One generic function and its table of kernels."""

    def __init__(self, name: str, default: Callable[..., Any] | None = None) -> None:
        self.name = name
        self.default = default
        self.kernels: dict[type, Callable[..., Any]] = {}

    def kernel_for(self, state_type: type) -> Callable[..., Any]:
        """The kernel of this state type or the default, or else an error that says how to add one."""
        found = self.kernels.get(state_type, self.default)
        if found is None:
            raise TypeError(
                f"no kernel {self.name!r} for the state type {state_type.__name__!r}; "
                f"register one with manyarms.contract.register({state_type.__name__}, {self.name}=…)"
            )
        return found


VERBS: dict[str, Verb] = {}


def verb(name: str, default: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A generic function, whose kernel is found by the type of its first argument."""
    entry = VERBS[name] = Verb(name, default)

    kernels = entry.kernels

    def call(state: Any, *args: Any) -> Any:
        kernel = kernels.get(type(state)) or entry.kernel_for(type(state))  # live, most of a round are such calls
        return kernel(state, *args)

    call.__name__ = call.__qualname__ = name
    dispatcher(call, entry.kernel_for)
    return call


# begin(state, key) -> state. First values for a new replication, into the allocated arrays.
begin = verb("begin")

# Policies.
# ask(state, round) -> Choice.
ask = verb("ask")
# tell(state, choice, reward) -> state. The answer, right after the ask.
tell = verb("tell")
# defer(state, choice) -> (state, presumed). Something else comes before the answer: what the policy takes the reward
# to be until then, or nan if it assumes nothing.
defer = verb("defer", default=lambda state, choice: (state, math.nan))
# settle(state, choice, presumed, reward) -> state. The answer to a deferred ask.
settle = verb("settle", default=lambda state, choice, presumed, reward: tell(state, choice, reward))
# lose(state, choice, presumed) -> state. A deferred ask will never be answered.
lose = verb("lose", default=lambda state, choice, presumed: state)
# correct(state, choice, told, reward) -> state. A reward was told, and is another. Of policies that take corrections.
correct = verb("correct", default=lambda state, choice, told, reward: state)
# counts(state) -> Counts.
counts = verb("counts")
# recommend(state, round) -> Choice. The arm to go on with if nothing more could be learned, before the ask of this
# round; by default the arm that would be asked for. Changes nothing.
recommend = verb("recommend", default=lambda state, asked: ask(state, asked))

# Policies with a live catalogue, in which items are withdrawn, run out, or are not for everybody.
# ask_among(state, round, allowed, has_fresh) -> Choice. The best of the arms in the slots that ``allowed`` says; slot
# -1 if there is none, or if a fresh arm, of which there is one if ``has_fresh``, is worth more. Changes nothing.
ask_among = verb("ask_among", default=lambda state, asked, allowed, has_fresh: no_choice(asked))
# draw(state) -> (state, slot). A fresh arm now, and where it is; slot -1 if the policy draws only when it wants to.
draw = verb("draw", default=lambda state: (state, -1))
# recall(state, slot, plays, total, is_news) -> state. So many plays of the arm in a slot were seen, and paid so much:
# elsewhere, if that is news; or by the policy itself, which has let the arm go since.
recall = verb("recall", default=lambda state, slot, plays, total, is_news: state)
# release(state, slot) -> state. The arm in a slot cannot be played any more; no ask of it is open.
release = verb("release", default=lambda state, slot: state)
# supply(state, has_fresh) -> state. Whether there are fresh arms from now on.
supply = verb("supply", default=lambda state, has_fresh: state)
# follow(state, world) -> state. After each of these, in a simulation: policies that have moved arms between slots let
# the world follow.
follow = verb("follow", default=lambda state, world: state)
# observe(state, world, choice) -> state. After each simulated round: oracles look at the world.
observe = verb("observe", default=lambda state, world, choice: state)
# is_cramped(state) -> whether its arrays were too small for what it wanted: the run does not count. Never, unless
# `likely_start` of its spec makes them smaller than ``start`` does.
is_cramped = verb("is_cramped", default=lambda state: False)

# Bases: finite-armed policies over slots 0 … arms − 1.
# renew(base, arms, horizon, log_horizon) -> base. Forget everything; a new finite problem.
renew = verb("renew")
# keyed(base, key) -> base. After each renew: the key that comes with every pick, for bases that need it to learn, too.
keyed = verb("keyed", default=lambda base, key: base)
# pick(base, key, round) -> (slot, probability).
pick = verb("pick")
# learn(base, choice, reward) -> base.
learn = verb("learn")
# expected(base, slot) -> the reward that it expects of the arm in a slot, or nan: open asks teach it nothing then.
expected = verb("expected", default=lambda base, slot: math.nan)
# revise(base, slot, plays, total) -> base. Add to the plays and rewards of a slot: what was expected came out
# otherwise.
revise = verb("revise", default=lambda base, slot, plays, total: base)
# counted(base, reward) -> a reward as the base adds it up: what is taken back is what was added.
counted = verb("counted", default=lambda base, reward: reward)
# amend(base, slot, learned, reward) -> base. A play that it learned to have paid ``learned`` paid ``reward``. For bases
# that add up more than rewards, which the difference of the two does not tell.
amend = verb(
    "amend",
    default=lambda base, slot, learned, reward: revise(base, slot, 0, counted(base, reward) - counted(base, learned)),
)
# best_among(base, key, round, allowed, arms) -> (slot, probability). The best of the allowed slots below ``arms``; -1
# if there is none. By default that with the largest expected reward; those that were never played come first.
best_among = verb("best_among", default=lambda base, key, asked, allowed, arms: best_by_mean(base, allowed, arms))
# plays_of(base, slot) -> how many rewards of the arm in a slot it has learned since it was renewed.
plays_of = verb("plays_of")
# index_of(formula, plays, total) -> the index of an arm with so many plays and rewards that sum up to so much.
index_of = verb("index_of")

# Worlds.
# pull(world, slot, arm, round) -> (world, mean, next_mean, reward).
pull = verb("pull")
# deliver(post, policy, world, choice, round, reward) -> (post, policy). Tell the policy what it hears in this round.
deliver = verb("deliver")
# relocate(world, source, target) -> None. The arm in slot ``source`` is in slot ``target`` from now on.
relocate = verb("relocate")
# preview(world, arm, round) -> the mean with which an arm begins that is first played in this round; whether or not it
# was ever played.
preview = verb("preview")
# present_mean(world, slot, arm, round) -> the mean of the arm in a slot, if it were played in this round.
present_mean = verb("present_mean", default=lambda world, slot, arm, asked: mean_in_slot(world, slot, arm, asked))
# fresh_mean(reservoir, bits) -> mean.
fresh_mean = verb("fresh_mean")
# fresh_mean_in(reservoir, bits, round) -> the same, of a reservoir that is another in every round.
fresh_mean_in = verb("fresh_mean_in", default=lambda reservoir, bits, _: fresh_mean(reservoir, bits))
# moved(drift, play, reservoir) -> (drift, mean). The played arm's mean from now on.
moved = verb("moved")
# reward_of(noise, mean, bits) -> reward.
reward_of = verb("reward_of")

# record(log, round, choice, mean, next_mean, reward, episode, drawn) -> None.
record = verb("record")
# keep_simple_regret(log, policy, world, round, top, out, row, checkpoint) -> None. After the round of a checkpoint;
# nothing, unless the log is one that asks for recommendations.
keep_simple_regret = verb(
    "keep_simple_regret", default=lambda log, policy, world, played, top, out, row, checkpoint: None
)


@kernel
def no_choice(round: int) -> Choice:
    """For ``ask_among``: none of those."""
    return Choice(slot=-1, arm=-1, probability=1.0, block=1, round=round)


@kernel
def mean_in_slot(world: Any, slot: int, arm: int, round: int) -> float:
    """What a world with ``visits`` and ``means`` has in a slot; of an arm that was never played, its first mean."""
    visit, mean = load_both(world.visits, world.means, slot)
    return mean if visit >> 32 == arm else preview(world, arm, round)


@kernel
def best_by_mean(base: Any, allowed: Any, arms: int) -> tuple[int, float]:
    """The allowed slot with the largest expected reward; the first that was never played, if there is one."""
    best = -1
    most = -math.inf
    for slot in range(arms):
        if allowed[slot]:
            worth = math.inf if plays_of(base, slot) == 0 else expected(base, slot)
            if best < 0 or worth > most:
                best = slot
                most = worth
    return best, 1.0


def register(state_type: type, **kernels: Callable[..., Any]) -> None:
    """Give a state type its kernels, by verb.

    Examples
    --------
    A noise of one's own, compiled into the same loop as the package's:

    >>> from typing import NamedTuple
    >>> from manyarms.contract import register, reward_of
    >>> class CoarseState(NamedTuple):
    ...     levels: float
    >>> def coarse_reward(noise, mean, bits):
    ...     return int(mean * noise.levels) / noise.levels
    >>> register(CoarseState, reward_of=coarse_reward)
    >>> reward_of(CoarseState(levels=4.0), 0.6, 0)
    0.5
    """
    for name, function in kernels.items():
        if name not in VERBS:
            raise ValueError(f"unknown verb {name!r}; the verbs are {', '.join(sorted(VERBS))}")
        known = VERBS[name].kernels.setdefault(state_type, function)
        if known is not function:
            # Loops may have been compiled with the old one already, and would go on with it.
            raise ValueError(
                f"{state_type.__name__} already has a kernel {name!r}; define the state type anew "
                "(run its class statement again), then register"
            )
