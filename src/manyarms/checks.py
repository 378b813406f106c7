"""The promises that every policy, base and world keeps, each as one small function.

They are meant for specs of your own as much as for the package's: ``check_policy``,
``check_base`` and ``check_world`` try them all and say which one is broken, by which spec, and
how. ``policy_checks``, ``base_checks`` and ``world_checks`` list them by name, which makes one
test of each. A promise is tried on short runs with fixed seeds, so the outcome is always the
same.
"""

import dataclasses
import functools
import inspect
import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .bandit import FIRST_PRUNING, FIRST_ROUNDS, Bandit, Decision, Told
from .bases import UCB, AsymptoticUCB, Base, Greedy, SuccessiveElimination
from .contract import (
    Choice,
    Counts,
    ask,
    begin,
    counts,
    learn,
    observe,
    pick,
    preview,
    pull,
    renew,
    reward_of,
    tell,
)
from .drifts import Adversary, Crash, Drift, JumpAt, Phases, RandomWalk, Rising, Rotting, Still
from .engine import play_replications, simulate
from .noises import Bernoulli, BetaNoise, Exact, GapUniform, Noise
from .policies import SSUCB, Blackbox, Elimination, Oracle, Policy, Subsample, UniformPlay
from .policies.base import DOUBLING
from .reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Reservoir, Uniform
from .snapshots import copied, state_to_json
from .specs import Spec, spec_from_json
from .streams import NOISE_STREAM, POLICY_STREAM, bits_at, replication_key, stream_key
from .trace import COLUMNS, Log, new_log
from .world import World

Check = tuple[str, Callable[[], None]]
"""The name of a promise, and a function that raises ``CheckError`` if it is broken."""

SEED = 20_240_501


class CheckError(AssertionError):
    """A promise was broken."""


class _Broken(Exception):
    """What happened; the promise adds its name and the spec's."""


def promise(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a failure name the promise, the spec and what happened."""

    @functools.wraps(function)
    def checked(spec: Any) -> None:
        words = (function.__doc__ or "").strip().splitlines()[0]
        head = f"{_label(spec)} breaks {function.__name__!r} ({words.rstrip('.')}): "
        try:
            function(spec)
        except _Broken as error:
            raise CheckError(f"{head}{error}") from None
        except Exception as error:
            raise CheckError(f"{head}{type(error).__name__}: {error}") from error

    return checked


def _label(spec: Any) -> str:
    return spec.label() if isinstance(spec, Spec) else repr(spec)


def _hold(condition: object, what: str) -> None:
    if not condition:
        raise _Broken(what)


# Where promises are tried.


BUSY_WORLD = World(PowerLaw(beta=1.0), Crash(probability=0.05, to=0.0), Bernoulli())
"""Arms break down all the time, so that a policy that can restart does."""


class _Run:
    """A policy in the busy world, as plain Python, step by step.

    With ``calming``, rewards are 0 in the first eighth of the run and 1 after it: a policy that
    can restart does so early, and has grown its largest blocks by the end.
    """

    def __init__(self, spec: Policy, rounds: int, calming: bool = False) -> None:
        self.spec = spec.told(rounds)
        self.rounds = rounds
        self.calming = calming
        self.slots = self.spec.slots(rounds)
        key = replication_key(SEED, 0)
        label = self.spec.digest()
        self.policy = begin(self.spec.start(rounds), np.uint64(stream_key(key, POLICY_STREAM, label)))
        self.world = begin(BUSY_WORLD.start(self.slots), key)
        self.round = 0  # the last that was asked for
        self.answered = 0

    def counts(self) -> Counts:
        return cast(Counts, counts(self.policy))

    def ask(self) -> Choice:
        self.round += 1
        choice = cast(Choice, ask(self.policy, self.round, 0))
        _hold(
            0 <= choice.slot < self.slots,
            f"round {self.round} of {self.rounds}: slot {choice.slot}, but slots({self.rounds}) is {self.slots}",
        )
        return choice

    def answer(self, choice: Choice) -> None:
        self.world, _, _, reward = pull(self.world, choice.slot, choice.arm, self.round)
        if self.calming:
            reward = 0.0 if self.round <= self.rounds // 8 else 1.0
        self.policy = tell(self.policy, choice, reward)
        self.policy = observe(self.policy, self.world, choice)
        self.answered = self.round

    def choices(self) -> Iterator[Choice]:
        """Play all rounds; each choice is handed out before it is answered."""
        while self.round < self.rounds:
            choice = self.ask()
            yield choice
            self.answer(choice)

    def play(self) -> None:
        """Play all rounds."""
        for _ in self.choices():
            pass


def _trials(spec: Policy) -> Iterator[_Run]:
    """Runs that end just before and after blocks do and in between."""
    for rounds in (1, 2, 3, 6, 7, 1500):
        yield _Run(spec, rounds, calming=True)
    yield _Run(spec, 600)


# Promises of every spec.


@promise
def survives_json(spec: Spec) -> None:
    """A spec survives JSON, with the same digest."""
    text = json.dumps(spec.to_json(), allow_nan=False)
    copy = spec_from_json(json.loads(text))
    _hold(copy == spec, f"{text} became {copy!r}")
    _hold(copy.to_json() == spec.to_json(), f"{text} became {copy.to_json()}")
    _hold(copy.digest() == spec.digest() == spec.digest(), f"digest {spec.digest():#x} became {copy.digest():#x}")
    _hold(0 <= spec.digest() < 2**64, f"the digest {spec.digest():#x} is no 64-bit word")


@promise
def is_frozen(spec: Spec) -> None:
    """A spec cannot be changed."""
    for field in dataclasses.fields(spec):  # type: ignore[arg-type]
        try:
            setattr(spec, field.name, getattr(spec, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        raise _Broken(f"its field {field.name} can be set; use @dataclass(frozen=True)")


@promise
def names_its_source(spec: Spec) -> None:
    """The docstring of its module says where the algorithm comes from."""
    module = inspect.getmodule(type(spec))
    text = (module.__doc__ if module else None) or ""
    ours = type(spec).__module__.partition(".")[0] == __package__  # others may cite as they like
    _hold("Source:" in text or not ours, f"no 'Source:' in the docstring of {type(spec).__module__}")


# Promises of policies.


@promise
def ask_changes_nothing(spec: Policy) -> None:
    """An ask changes no array and no number, and the same ask has the same answer."""
    run = _Run(spec, 400)
    for choice in run.choices():
        before = copied(run.policy)
        for waiting in (0, 1, 5):
            again = ask(run.policy, run.round, waiting)
            if waiting == 0:
                _hold(again == choice, f"round {run.round}: {choice}, then {again}")
        changed = _difference(before, run.policy)
        _hold(not changed, f"round {run.round}: ask changed {changed}")


@promise
def probabilities_are_probabilities(spec: Policy) -> None:
    """A choice has a probability in (0, 1], its round and the block that is open."""
    for run in _trials(spec):
        for choice in run.choices():
            where = f"round {run.round} of {run.rounds}"
            _hold(0.0 < choice.probability <= 1.0, f"{where}: probability {choice.probability!r}")
            _hold(choice.round == run.round, f"{where}: the choice says round {choice.round}")
            blocks = run.counts().blocks
            _hold(choice.block == blocks, f"{where}: the choice says block {choice.block}, the counts {blocks}")


@promise
def arms_are_numbered_in_order(spec: Policy) -> None:
    """Fresh arms are numbered 0, 1, 2, … without gaps, and their count only grows."""
    for run in _trials(spec):
        seen: set[int] = set()
        drawn = _numbered(run, seen, 0)
        for choice in run.choices():
            if run.round > 1:
                drawn = _numbered(run, seen, drawn)
            seen.add(int(choice.arm))
        _numbered(run, seen, drawn)


def _numbered(run: _Run, seen: set[int], drawn: int) -> int:
    """Compare the arms seen so far, all answered, with the arms drawn; return the latter."""
    where = f"after round {run.answered} of {run.rounds}"
    arms = run.counts().arms
    _hold(arms >= drawn, f"{where}: {drawn} arms drawn became {arms}")
    if arms > drawn:
        seen.update(int(arm) for arm in run.spec.kept_arms(run.policy))
    _hold(all(0 <= arm < arms for arm in seen), f"{where}: {arms} arms drawn, but there is arm {max(seen, default=0)}")
    # An oracle looks at arms that it neither keeps nor plays.
    if not run.spec.sees_means and len(seen) != arms:
        missing = min(set(range(arms)) - seen)
        raise _Broken(f"{where}: {arms} arms drawn, but arm {missing} was neither kept nor played")
    return arms


@promise
def slots_stay_in_range(spec: Policy) -> None:
    """Slots are 0 … slots(rounds) - 1, and an open block never keeps more arms than that."""
    for run in _trials(spec):
        run.play()
        kept = len(run.spec.kept_arms(run.policy))
        _hold(kept <= run.slots, f"after {run.rounds} rounds: {kept} arms are kept, but there are {run.slots} slots")


@promise
def arms_keep_their_slots(spec: Policy) -> None:
    """An arm has one slot for ever, and a slot never returns to an arm that it let go."""
    for run in _trials(spec):
        slots: dict[int, int] = {}  # arm -> slot
        holders: dict[int, int] = {}  # slot -> the arm it was last played with
        let_go: set[int] = set()
        for choice in run.choices():
            arm, slot = int(choice.arm), int(choice.slot)
            where = f"round {run.round} of {run.rounds}"
            home = slots.setdefault(arm, slot)
            _hold(home == slot, f"{where}: arm {arm} moved from slot {home} to slot {slot}")
            _hold(arm not in let_go, f"{where}: slot {slot} came back to arm {arm}")
            if holders.get(slot, arm) != arm:
                let_go.add(holders[slot])
            holders[slot] = arm


@promise
def memory_is_bounded(spec: Policy) -> None:
    """Arrays have the sizes that start(rounds) gave them, and a live bandit doubles them."""
    rounds = 1500
    run = _Run(spec, rounds, calming=True)
    run.play()
    wanted, found = _arrays(run.spec.start(rounds)), _arrays(run.policy)
    _hold(wanted == found, f"after {rounds} rounds its arrays are {found}, start({rounds}) gives {wanted}")
    if spec.sees_means:
        return
    bandit = Bandit(spec, SEED)
    for round in range(2 * FIRST_ROUNDS + 10):
        bandit.tell(bandit.ask(), float(round % 3 == 0))
    saved = bandit.to_json()
    _hold(saved["rounds"] == 4 * FIRST_ROUNDS, f"after {bandit.told} tells a bandit has room for {saved['rounds']}")
    wanted, found = _arrays(spec.start(saved["rounds"])), _arrays(bandit._state)
    _hold(wanted == found, f"a live bandit's arrays are {found}, start({saved['rounds']}) gives {wanted}")
    most = max(FIRST_PRUNING, 2 * spec.slots(saved["rounds"]))
    _hold(len(saved["positions"]) <= most, f"a live bandit remembers {len(saved['positions'])} arms, not {most}")


@promise
def live_repeats_simulation(spec: Policy) -> None:
    """A live bandit decides as the simulation does, to the bit."""
    _live_repeats_simulation(spec)


def _live_repeats_simulation(spec: Policy) -> None:
    horizon = 2 * FIRST_ROUNDS + 300  # so that the bandit grows twice
    told = spec.told(horizon)
    result = simulate({"it": told}, BUSY_WORLD, horizon, 2, SEED, checkpoints=1, threads=1, log=True)
    log = result.log("it", 1)
    bandit = Bandit(told, SEED, replication=1)
    for place in range(horizon):
        decision = bandit.ask()
        simulated = (int(log.arm[place]), float(log.probability[place]), int(log.block[place]))
        live = (decision.arm, decision.probability, bandit.explain()["blocks"])
        _hold(live == simulated, f"round {place + 1}: (arm, probability, block) is {live} live, {simulated} simulated")
        bandit.tell(decision, float(log.reward[place]))
    now = bandit.explain()
    for name, column in (("restarts", "restarts"), ("blocks", "blocks"), ("arms_drawn", "arms")):
        simulated_count = int(result.final("it", column)[1])
        _hold(now[name] == simulated_count, f"{column}: {now[name]} live, {simulated_count} simulated")


@promise
def snapshots_go_on(spec: Policy) -> None:
    """A bandit that is saved as text and loaded goes on exactly, wherever that happens."""
    dice = random.Random(spec.digest())
    bandit = Bandit(spec, SEED)
    open_decisions: list[Decision] = []
    for stop in sorted(dice.sample(range(1, FIRST_ROUNDS + 200), 5)):
        while bandit.asked < stop:
            _step(bandit, open_decisions, dice)
        text = json.dumps(bandit.to_json(), allow_nan=False)
        copy = Bandit.from_json(json.loads(text))
        _hold(copy.to_json() == bandit.to_json(), f"after {stop} asks: what was loaded is not what was saved")
        mark = dice.getrandbits(64)
        left = list(open_decisions)
        for number in range(40):
            mine = _step(bandit, open_decisions, random.Random(mark + number))
            other = _step(copy, left, random.Random(mark + number))
            _hold(mine == other, f"{number} asks after a snapshot at {stop}: {mine} goes on, {other} was loaded")
        _hold(copy.to_json() == bandit.to_json(), f"40 asks after a snapshot at {stop}: the states differ")
        bandit, open_decisions = copy, left


def _step(bandit: Bandit, open_decisions: list[Decision], dice: random.Random) -> tuple[Decision, list[Told]]:
    """One ask, and none, one or two tells in any order."""
    decision = bandit.ask()
    open_decisions.append(decision)
    told = []
    for _ in range(dice.choice((0, 1, 1, 2))):
        if open_decisions:
            other = open_decisions.pop(dice.randrange(len(open_decisions)))
            told.append(bandit.tell(other, dice.choice((0.0, 0.25, 1.0))))
    return decision, told


@promise
def seeds_decide(spec: Policy) -> None:
    """The same seed gives the same run, another seed another."""
    logs = [
        simulate({"it": spec}, BUSY_WORLD, 300, 1, seed, checkpoints=1, threads=1, log=True).log("it")
        for seed in (SEED, SEED, SEED + 1)
    ]
    for name, first, second in zip(Log._fields, logs[0], logs[1], strict=True):
        _hold(first.tobytes() == second.tobytes(), f"two runs with one seed have another {name}")
    _hold(logs[0].mean.tobytes() != logs[2].mean.tobytes(), "two seeds gave the same run")


@promise
def odd_tells_are_harmless(spec: Policy) -> None:
    """Late tells are taken in any order, repeated ones change nothing, those of closed blocks are counted."""
    dice = random.Random(spec.digest())
    bandit = Bandit(spec, SEED)
    blocks: dict[int, int] = {}  # id -> the block it was asked in
    finished: list[int] = []
    ignored = 0
    while bandit.asked < 700 or bandit.open_decisions:
        for _ in range(dice.choice((0, 1, 1, 3)) if bandit.asked < 700 else 0):
            block = bandit.explain()["blocks"]
            blocks[bandit.ask().id] = block
        waiting = bandit.open_decisions
        for identity in dice.sample(waiting, min(len(waiting), dice.choice((0, 1, 2)))):
            closed = blocks[identity] != bandit.explain()["blocks"]
            before = _arrays_in_json(bandit.to_json()["state"]) if closed else None
            outcome = bandit.tell(identity, dice.choice((0.0, 0.5, 1.0)))
            wanted = Told.IGNORED if closed else Told.COUNTED
            _hold(outcome is wanted, f"a tell for block {blocks[identity]} was {outcome}, not {wanted}")
            if closed:
                ignored += 1
                _hold(before == _arrays_in_json(bandit.to_json()["state"]), "an ignored tell changed an array")
            finished.append(identity)
        if finished and dice.random() < 0.1:
            saved = bandit.to_json()
            outcome = bandit.tell(dice.choice(finished), dice.choice((0.0, 1.0)))
            _hold(outcome is Told.REPEATED, f"a repeated tell was {outcome}")
            _hold(bandit.to_json() == saved, "a repeated tell changed the bandit")
    _hold(bandit.ignored == ignored, f"{ignored} tells were ignored, but {bandit.ignored} were counted as such")
    _hold(bandit.told == bandit.asked, f"{bandit.asked} asks, all told, but {bandit.told} are counted")
    bandit.tell(bandit.ask(), 1.0)


@promise
def compiles_once(spec: Policy) -> None:
    """Other seeds, horizons and numbers of replications need no other compiled loop."""
    short, long = (_types(spec.told(rounds).start(rounds)) for rounds in (64, 1257))
    _hold(short == long, f"its state has the types {short} for 64 rounds and {long} for 1257")
    simulate({"it": spec}, BUSY_WORLD, 64, 1, SEED, threads=1, log=True)
    known = len(play_replications.signatures())
    simulate({"it": spec}, BUSY_WORLD, 257, 2, 2**64 - 1, checkpoints=3, threads=2, log=True)
    added = play_replications.signatures()[known:]
    _hold(not added, f"a second simulation added the signature {added}")


@promise
def compiled_equals_plain(spec: Policy | World) -> None:
    """The compiled loop does what the same source does as plain Python, to the bit."""
    policy, world = (spec, BUSY_WORLD) if isinstance(spec, Policy) else (BUSY_POLICY, spec)
    horizon = 300
    policy = policy.told(horizon)
    compiled = _played(play_replications, policy, world, horizon, first=3, rows=2)
    plain = _played(play_replications.function, policy, world, horizon, first=3, rows=2)
    for name, one, other in zip(Log._fields, compiled[1], plain[1], strict=True):
        _same_bits(one, other, f"{name} of round")
    for number, column in enumerate(COLUMNS):
        _same_bits(compiled[0][:, -1, number], plain[0][:, -1, number], f"final {column} of replication")


def _same_bits(compiled: NDArray[Any], plain: NDArray[Any], what: str) -> None:
    for place, (one, other) in enumerate(zip(compiled, plain, strict=True)):
        _hold(one.tobytes() == other.tobytes(), f"{what} {place + 1}: {one!r} compiled, {other!r} plain")


@promise
def horizon_may_be_unknown(spec: Policy) -> None:
    """With the horizon "doubling" it plays on for ever, in simulation and live alike."""
    unknown = spec.replace(horizon=DOUBLING)
    for run in _trials(unknown):
        _hold(run.spec == unknown, f"told({run.rounds}) made {run.spec.label()} of {unknown.label()}")
        run.play()
    if not spec.sees_means:
        _live_repeats_simulation(unknown)


POLICY_PROMISES = (
    survives_json,
    is_frozen,
    names_its_source,
    ask_changes_nothing,
    probabilities_are_probabilities,
    arms_are_numbered_in_order,
    slots_stay_in_range,
    arms_keep_their_slots,
    memory_is_bounded,
    seeds_decide,
    compiles_once,
    compiled_equals_plain,
)
"""What every policy promises."""

LIVE_PROMISES = (live_repeats_simulation, snapshots_go_on, odd_tells_are_harmless)
"""What every policy promises that can be played live; an oracle cannot."""


def policy_checks(spec: Policy) -> list[Check]:
    """The promises of a policy, by name.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import policy_checks
    >>> names = [name for name, check in policy_checks(ma.Oracle())]
    >>> "ask_changes_nothing" in names, "snapshots_go_on" in names
    (True, False)
    """
    if not isinstance(spec, Policy):
        raise TypeError(f"policy_checks: {spec!r} is not a policy")
    promises = list(POLICY_PROMISES)
    if not spec.sees_means:
        promises += LIVE_PROMISES
    if hasattr(spec, "horizon"):
        promises.append(horizon_may_be_unknown)
    return _named(promises, spec)


def check_policy(spec: Policy) -> None:
    """Try every promise of a policy; the first that is broken raises ``CheckError``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import check_policy
    >>> check_policy(ma.UniformPlay())
    """
    _run_all(policy_checks(spec))


# Promises of bases: their own, and those of two policies that run them.


class _Problem(NamedTuple):
    """A finite problem for a base."""

    arms: int
    horizon: float


def _picks(base: Any, problem: _Problem, rounds: int) -> Iterator[tuple[int, float]]:
    """Renew a base for a problem and play it; slot 0 is the worst, the last slot the best."""
    base = renew(base, problem.arms, problem.horizon, float(np.log(problem.horizon)))
    key = np.uint64(stream_key(SEED, POLICY_STREAM, 0))
    for round in range(1, rounds + 1):
        before = copied(base)
        slot, probability = pick(base, key, round, 0)
        again = pick(base, key, round, 0)
        _hold((slot, probability) == again, f"round {round}: picked {(slot, probability)}, then {again}")
        pick(base, key, round, 3)
        changed = _difference(before, base)
        _hold(not changed, f"round {round}: pick changed {changed}")
        _hold(0 <= slot < problem.arms, f"round {round}: slot {slot} of {problem.arms}")
        _hold(0.0 < probability <= 1.0, f"round {round}: probability {probability!r}")
        yield int(slot), float(probability)
        choice = Choice(slot=int(slot), arm=int(slot), probability=probability, block=1, round=round)
        base = learn(base, choice, 1.0 if (round * 7 + 3 * slot) % (problem.arms + 5) < slot + 2 else 0.0)


@promise
def picks_are_in_range(spec: Base) -> None:
    """A pick changes nothing, is one of the slots, and has a probability in (0, 1]."""
    for arms in (1, 2, 3, 17):
        for _ in _picks(spec.start(17), _Problem(arms, 300.0), 300):
            pass


@promise
def renewal_forgets(spec: Base) -> None:
    """After renew, a used base is as good as a new one."""
    used = spec.start(17)
    for _ in _picks(used, _Problem(17, 400.0), 250):
        pass
    for arms in (1, 5, 16, 17):
        problem = _Problem(arms, 300.0)
        once = list(_picks(used, problem, 120))
        fresh = list(_picks(spec.start(17), problem, 120))
        _hold(once == fresh, f"{arms} arms: a renewed base picked {once}, a new one {fresh}")


BASE_PROMISES = (survives_json, is_frozen, names_its_source, picks_are_in_range, renewal_forgets)
"""What every base promises by itself."""


def base_checks(spec: Base) -> list[Check]:
    """The promises of a base, by name: its own, and those of two policies that run it.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import base_checks
    >>> names = [name for name, check in base_checks(ma.UCB())]
    >>> names[-1].partition(".")[0]
    'Subsample'
    """
    if not isinstance(spec, Base):
        raise TypeError(f"base_checks: {spec!r} is not a base")
    checks = _named(BASE_PROMISES, spec)
    about_the_policy = {"names_its_source", "is_frozen"}
    # A low threshold, so that there are restarts in short runs.
    for policy in (Blackbox(base=spec, beta=1.0, threshold=0.1), Subsample(base=spec, beta=1.0)):
        kind = type(policy).__name__
        checks += [(f"{kind}.{name}", check) for name, check in policy_checks(policy) if name not in about_the_policy]
    return checks


def check_base(spec: Base) -> None:
    """Try every promise of a base, alone and inside ``Blackbox`` and ``Subsample``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import check_base
    >>> check_base(ma.Greedy())
    """
    _run_all(base_checks(spec))


# Promises of worlds.


BUSY_POLICY = Subsample(base=Greedy(), beta=1.0, arms=12, horizon=DOUBLING)
"""Plays some arms often, and lets all go now and then."""

OTHER_POLICY = Blackbox(base=UCB(), beta=1.0, horizon=DOUBLING)


def _played(
    loop: Callable[..., Any], policy: Policy, world: World, horizon: int, first: int = 0, rows: int = 1
) -> tuple[NDArray[np.float64], Log]:
    """The numbers of some replications after each quarter of the run, and the log of the last one."""
    checkpoints = np.unique(np.array([1, 2, horizon // 4, horizon // 2, horizon], dtype=np.int64))
    out = np.zeros((rows, checkpoints.size, len(COLUMNS)))
    log = new_log(horizon)
    finished = loop(
        policy.start(horizon),
        world.start(policy.slots(horizon)),
        log,
        np.uint64(SEED),
        np.uint64(policy.digest()),
        world.top,
        first,
        checkpoints,
        out,
        np.zeros(1, dtype=np.int64),
    )
    _hold(finished == rows, f"{finished} of {rows} replications were finished")
    return out, log


@promise
def same_seed_same_arms(world: World) -> None:
    """The arms of a replication are the same whenever it begins, and other ones have others."""
    key, other = replication_key(SEED, 0), replication_key(SEED, 1)
    used = begin(world.start(3), key)
    first = [float(preview(used, arm)) for arm in range(200)]
    for round in range(1, 50):
        used, _, _, _ = pull(used, round % 3, round % 3, round)
    used = begin(used, other)
    others = [float(preview(used, arm)) for arm in range(200)]
    again = [float(preview(begin(used, key), arm)) for arm in range(200)]
    _hold(first == again, "the same replication began with other arms the second time")
    _hold(first != others or len(set(first)) == 1, "two replications have the same arms")


@promise
def means_are_means(world: World) -> None:
    """Every mean lies in [0, 1], every reward is a finite number."""
    log = _played(play_replications.function, BUSY_POLICY, world, 1000)[1]
    for name in ("mean", "next_mean"):
        values = getattr(log, name)
        _hold(values.min() >= 0.0 and values.max() <= 1.0, f"{name} runs from {values.min()} to {values.max()}")
    _hold(np.isfinite(log.reward).all(), "a reward is not a finite number")


@promise
def rewards_average_to_the_mean(world: World) -> None:
    """The expectation of a reward is the mean of the arm."""
    noise = world.noise.start()
    key = stream_key(replication_key(SEED, 0), NOISE_STREAM, 0)
    plays = 4000
    for arm, mean in enumerate((0.0, 0.2, 0.5, 0.9, 1.0)):
        rewards = np.array([reward_of(noise, mean, bits_at(key, arm, play)) for play in range(plays)])
        # Seven standard errors: a false alarm in a billion tries. The last term is for rounding.
        allowed = 7.0 * float(rewards.std()) / math.sqrt(plays) + 1e-9
        average = float(rewards.mean())
        _hold(abs(average - mean) <= allowed, f"rewards of an arm with mean {mean} average {average:.4g}")


@promise
def sums_match_the_log(world: World) -> None:
    """Regret, reward, V, V_R, L and L_R are what the log adds up to, at every checkpoint."""
    horizon = 500
    out, log = _played(play_replications.function, BUSY_POLICY, world, horizon)
    falls = (log.mean - log.next_mean).tolist()
    for place, end in enumerate((1, 2, horizon // 4, horizon // 2, horizon)):
        wanted = dict.fromkeys(COLUMNS, 0.0)
        for mean, reward in zip(log.mean[:end].tolist(), log.reward[:end].tolist(), strict=True):
            wanted["regret"] += world.top - mean
            wanted["reward"] += reward
        # The change after the last round belongs to the round that has not come.
        for fall in falls[: end - 1]:
            wanted["V"] += abs(fall)
            wanted["V_R"] += max(fall, 0.0)
            wanted["L"] += fall != 0.0
            wanted["L_R"] += fall > 0.0
        for column in ("regret", "reward", "V", "V_R", "L", "L_R"):
            found = float(out[0, place, COLUMNS.index(column)])
            _hold(found == wanted[column], f"{column} at round {end} is {found!r}, the log says {wanted[column]!r}")


@promise
def plays_are_the_same_for_all(world: World) -> None:
    """The n-th play of an arm is the same event for every policy."""
    key = replication_key(SEED, 2)
    noise_key = stream_key(key, NOISE_STREAM, 0)
    noise = world.noise.start()
    arms = begin(world.start(1), key)
    for policy in (BUSY_POLICY, OTHER_POLICY):
        log = _played(play_replications.function, policy, world, 600, first=2)[1]
        plays: dict[int, int] = {}
        means: dict[int, float] = {}
        entries = zip(log.arm.tolist(), log.mean.tolist(), log.next_mean.tolist(), log.reward.tolist(), strict=True)
        for round, (arm, mean, next_mean, reward) in enumerate(entries, start=1):
            where = f"{type(policy).__name__}, round {round}, arm {arm}"
            wanted = means.get(arm, float(preview(arms, arm)))
            _hold(mean == wanted, f"{where}: its mean is {mean!r}, not {wanted!r}")
            bits = bits_at(noise_key, arm, plays.get(arm, 0))
            wanted = float(reward_of(noise, mean, bits))
            _hold(reward == wanted, f"{where}: its reward is {reward!r}, not {wanted!r}")
            plays[arm] = plays.get(arm, 0) + 1
            means[arm] = next_mean


@promise
def replications_are_independent(world: World) -> None:
    """A replication is the same alone, among others, and on any number of threads."""
    many = _played(play_replications, BUSY_POLICY, world, 200, rows=7)[0]
    for row in (5, 1):
        alone = _played(play_replications, BUSY_POLICY, world, 200, first=row)[0]
        _hold(alone[0].tobytes() == many[row].tobytes(), f"replication {row} alone is not row {row} of a larger run")
    runs = [
        simulate({"it": BUSY_POLICY}, world, 200, 7, SEED, checkpoints=[1, 2, 50, 100], threads=threads, log=True)
        for threads in (1, 3)
    ]
    for run, threads in zip(runs, (1, 3), strict=True):
        same = run["it"].tobytes() == many.tobytes()
        _hold(same, f"simulated on {threads} threads, the replications differ")


WORLD_PROMISES = (
    survives_json,
    is_frozen,
    same_seed_same_arms,
    means_are_means,
    rewards_average_to_the_mean,
    sums_match_the_log,
    plays_are_the_same_for_all,
    replications_are_independent,
    compiled_equals_plain,
)
"""What every world promises."""


def world_checks(world: World) -> list[Check]:
    """The promises of a world, by name.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import world_checks
    >>> [name for name, check in world_checks(ma.World(ma.PowerLaw(beta=1.0)))][:2]
    ['survives_json', 'is_frozen']
    """
    if not isinstance(world, World):
        raise TypeError(f"world_checks: {world!r} is not a world")
    return _named(WORLD_PROMISES, world)


def check_world(world: World) -> None:
    """Try every promise of a world; the first that is broken raises ``CheckError``.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import check_world
    >>> check_world(ma.World(ma.PowerLaw(beta=1.0)))
    """
    _run_all(world_checks(world))


def checks(spec: Spec) -> list[Check]:
    """The promises of any spec; a reservoir, drift or noise is tried in a world.

    Examples
    --------
    >>> import manyarms as ma
    >>> from manyarms.checks import checks
    >>> for name, check in checks(ma.Exact()):
    ...     check()
    """
    if isinstance(spec, Policy):
        return policy_checks(spec)
    if isinstance(spec, Base):
        return base_checks(spec)
    if isinstance(spec, World):
        return world_checks(spec)
    if isinstance(spec, Reservoir):
        return world_checks(World(spec))
    if isinstance(spec, Drift):
        return world_checks(World(PowerLaw(beta=1.0), spec))
    if isinstance(spec, Noise):
        return world_checks(World(PowerLaw(beta=1.0), Still(), spec))
    raise TypeError(f"checks: {spec!r} is not a policy, base, world, reservoir, drift or noise")


def _named(promises: Any, spec: Spec) -> list[Check]:
    return [(function.__name__, functools.partial(function, spec)) for function in promises]


def _run_all(listed: list[Check]) -> None:
    for _, check in listed:
        check()


# Looking into states.


def _difference(before: Any, after: Any, where: str = "state") -> str:
    """The first field in which two states differ, or nothing."""
    if isinstance(before, tuple) and hasattr(before, "_fields"):
        parts = zip(before._fields, before, after, strict=True)
        return next(filter(None, (_difference(old, new, f"{where}.{name}") for name, old, new in parts)), "")
    if isinstance(before, np.ndarray):
        return "" if before.tobytes() == after.tobytes() else where
    return "" if state_to_json(before) == state_to_json(after) else where


def _arrays(state: Any, where: str = "state") -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and the shape of every array in a state."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        for name, part in zip(state._fields, state, strict=True):
            found |= _arrays(part, f"{where}.{name}")
        return found
    return {where: (state.dtype.str, state.shape)} if isinstance(state, np.ndarray) else {}


def _arrays_in_json(state: Any) -> list[str]:
    """The bytes of every array in a saved state."""
    if not isinstance(state, dict):
        return []
    if "base64" in state:
        return [state["base64"]]
    return [text for part in state.values() for text in _arrays_in_json(part)]


def _types(state: Any) -> Any:
    """What the compiler sees of a state: types, but no values and no sizes."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return (type(state).__name__, *map(_types, state))
    if isinstance(state, np.ndarray):
        return f"{state.dtype.str}[{state.ndim}]"
    return type(state).__name__


# One or more of each.


def examples() -> list[Spec]:
    """Specs of every type in the package, and worlds that use every reservoir, drift and noise.

    Examples
    --------
    >>> from manyarms.checks import examples
    >>> sorted({spec.kind for spec in examples()})
    ['base', 'drift', 'noise', 'policy', 'reservoir', 'world']
    """
    policies: list[Spec] = [
        Elimination(beta=1.0),
        # Restarts within a few rounds, with the subsample of the paper's text.
        Elimination(beta=1.0, preset="paper", threshold=0.02, horizon=DOUBLING),
        Elimination(beta=0.5, preset="published", threshold=0.1),
        Blackbox(base=UCB(), beta=1.0),
        Blackbox(base=UCB(), beta=0.5, preset="published", threshold=0.02, log_power=1.0, horizon=DOUBLING),
        Subsample(base=Greedy(), beta=1.0),
        Subsample(base=Greedy(), beta=2.0, arms=20, horizon=DOUBLING),
        SSUCB(beta=1.0),
        SSUCB(beta=0.5, preset="published"),
        UniformPlay(),
        Oracle(keep=16),
    ]
    bases: list[Spec] = [UCB(), AsymptoticUCB(sigma=0.5), SuccessiveElimination(), Greedy()]
    reservoirs = [
        PowerLaw(beta=2.0),
        Uniform(0.1, 0.8),
        BetaDistributed(2.0, 3.0),
        Empirical((0.1, 0.4, 0.2, 0.9)),
        Mixture((Uniform(0.0, 0.5), PowerLaw(beta=2.0)), weights=(9.0, 1.0)),
    ]
    drifts = [
        Rotting(rate="1/t"),
        Rising(rate=0.01),
        Crash(probability=0.05),
        JumpAt(play=3, size=-0.3),
        Phases((Still(), Rotting(0.01), Adversary(patience=5, size=0.2)), ends=(50, 100)),
        RandomWalk(size=0.05),
        Adversary(patience=10, size=0.3),
        Still(),
    ]
    noises = [Bernoulli(), GapUniform(), BetaNoise(concentration=10.0), Exact()]
    worlds = [
        World(reservoirs[place % len(reservoirs)], drift, noises[place % len(noises)])
        for place, drift in enumerate(drifts)
    ]
    return [*policies, *bases, *reservoirs, *drifts, *noises, *worlds]
