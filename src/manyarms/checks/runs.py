"""Where promises are tried: short runs with fixed seeds, compiled and as plain Python."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..bases import Greedy
from ..compiled import IS_SIMULATED
from ..contract import (
    Choice,
    Counts,
    ask,
    begin,
    counts,
    observe,
    pull,
    tell,
)
from ..drifts import Crash
from ..gpu import the_kernel, why_not_compiled
from ..noises import Bernoulli
from ..policies import Policy, Subsample
from ..policies.base import DOUBLING
from ..replication import play_replications
from ..reservoirs import PowerLaw
from ..streams import POLICY_STREAM, replication_key, stream_key
from ..trace import COLUMNS, Log, NoLog, new_log
from ..world import World
from .promises import (
    SEED,
    hold,
    promise,
)

BUSY_WORLD = World(PowerLaw(beta=1.0), Crash(probability=0.05, to=0.0), Bernoulli())
"""Arms break down all the time, so that a policy that can restart does."""


class Run:
    """A policy in the busy world, as plain Python, step by step.

    With ``calming``, rewards are 0 in the first eighth of the run and 1 after it: a policy that
    can restart does so early, and has grown its largest blocks by the end.
    """

    def __init__(self, spec: Policy, rounds: int, calming: bool = False) -> None:
        self.spec = spec.with_horizon(rounds)
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
        """What the policy counts of itself."""
        return cast(Counts, counts(self.policy))

    def ask(self) -> Choice:
        """The next choice."""
        self.round += 1
        choice = cast(Choice, ask(self.policy, self.round, 0))
        hold(
            0 <= choice.slot < self.slots,
            f"round {self.round} of {self.rounds}: slot {choice.slot}, but slots({self.rounds}) is {self.slots}",
        )
        return choice

    def answer(self, choice: Choice) -> None:
        """Pull the arm and tell the policy."""
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


def trials(spec: Policy) -> Iterator[Run]:
    """Runs that end just before and after blocks do and in between."""
    for rounds in (1, 2, 3, 6, 7, 1500):
        yield Run(spec, rounds, calming=True)
    yield Run(spec, 600)


BUSY_POLICY = Subsample(base=Greedy(), beta=1.0, arms=12, horizon=DOUBLING)
"""Plays some arms often, and lets all go now and then."""


def played(
    loop: Callable[..., Any],
    policy: Policy,
    world: World,
    horizon: int,
    first: int = 0,
    rows: int = 1,
    prepare: Callable[[Any], Any] = lambda state: state,
) -> tuple[NDArray[np.float64], Log]:
    """The numbers of some replications after each quarter of the run, and the log of the last one."""
    checkpoints = np.unique(np.array([1, 2, horizon // 4, horizon // 2, horizon], dtype=np.int64))
    out = np.zeros((rows, checkpoints.size, len(COLUMNS)))
    log = new_log(horizon)
    finished = loop(
        prepare(policy.start(horizon)),
        prepare(world.start(policy.slots(horizon))),
        log,
        np.uint64(SEED),
        np.uint64(policy.digest()),
        world.top,
        first,
        checkpoints,
        out,
        np.zeros(1, dtype=np.int64),
    )
    hold(finished == rows, f"{finished} of {rows} replications were finished")
    return out, log


@promise
def begin_fills_arrays(spec: Policy | World) -> None:
    """What its arrays held before ``begin`` does not matter: a GPU does not fill them."""
    policy, world = (spec, BUSY_WORLD) if isinstance(spec, Policy) else (BUSY_POLICY, spec)
    policy = policy.with_horizon(300)
    clean = played(play_replications, policy, world, 300)
    dirty = played(play_replications, policy, world, 300, prepare=scribbled)
    for name, one, other in zip(Log._fields, clean[1], dirty[1], strict=True):
        same_bits(one, other, f"{name} of round", "with zeros before begin", "with other numbers")


def scribbled(state: Any) -> Any:
    """Write nonsense into every array of a state that can be written."""
    if isinstance(state, np.ndarray) and state.flags.writeable:
        state.view(np.uint8)[:] = 0x5A
    elif isinstance(state, tuple):
        for part in state:
            scribbled(part)
    return state


@promise
def compiles_for_gpu(spec: Policy | World) -> None:
    """It compiles for a GPU, and to nothing that rounds differently there."""
    policy, world = (spec, BUSY_WORLD) if isinstance(spec, Policy) else (BUSY_POLICY, spec)
    policy = policy.with_horizon(300)
    the_kernel().ptx_of(policy.start(300), world.start(policy.slots(300)), NoLog(unused=0.0))


def gpu_promises() -> list[Callable[[Any], None]]:
    """What can be tried of the GPU here: nothing without the extra ``gpu``."""
    return [compiles_for_gpu] if why_not_compiled() is None and not IS_SIMULATED else []


@promise
def compiled_equals_plain(spec: Policy | World) -> None:
    """The compiled loop does what the same source does as plain Python, to the bit."""
    policy, world = (spec, BUSY_WORLD) if isinstance(spec, Policy) else (BUSY_POLICY, spec)
    horizon = 300
    policy = policy.with_horizon(horizon)
    compiled = played(play_replications, policy, world, horizon, first=3, rows=2)
    plain = played(play_replications.function, policy, world, horizon, first=3, rows=2)
    for name, one, other in zip(Log._fields, compiled[1], plain[1], strict=True):
        same_bits(one, other, f"{name} of round")
    for number, column in enumerate(COLUMNS):
        same_bits(compiled[0][:, -1, number], plain[0][:, -1, number], f"final {column} of replication")


def same_bits(
    ones: NDArray[Any], others: NDArray[Any], what: str, one_way: str = "compiled", other_way: str = "plain"
) -> None:
    """Two arrays are equal to the bit."""
    for place, (one, other) in enumerate(zip(ones, others, strict=True)):
        hold(one.tobytes() == other.tobytes(), f"{what} {place + 1}: {one!r} {one_way}, {other!r} {other_way}")
