"""Where promises are tried: short runs with fixed seeds, compiled and as plain Python."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..bases import Greedy
from ..compiled import IS_SIMULATED
from ..contract import VERBS, Choice, Counts, ask, begin, counts, deliver, observe, pull
from ..drifts import Crash
from ..feedbacks import CORRECTED, Conversions, Delayed, Feedback, Geometric, Lost
from ..gpu import cuda_module, why_not_compiled
from ..noises import Bernoulli
from ..policies import Policy, Subsample
from ..policies.base import DOUBLING
from ..post import new_post
from ..replication import Job, Run, begun_policy, play_replications, replicate
from ..reservoirs import PowerLaw
from ..specs import RAISED
from ..states import own_arrays
from ..streams import replication_key
from ..trace import COLUMNS, Log
from ..world import World
from .promises import SEED, Broken, Kinds, hold, keep_kinds, kinds_of, promise

BUSY_WORLD = World(PowerLaw(beta=1.0), Crash(probability=0.05, to=0.0), Bernoulli())
"""Arms break down all the time, so that a policy that can restart does."""

LATE_WORLD = BUSY_WORLD.replace(feedback=Lost(0.1, Delayed(Geometric(mean=8.0, longest=60))))
"""The same, but answers come late, in any order, at once now and then, and some never."""

CORRECTED_WORLD = BUSY_WORLD.replace(
    feedback=Lost(0.1, Conversions(Geometric(mean=8.0, longest=60), timeout=12, late=CORRECTED))
)
"""The same for policies that take corrections, which some answers need."""


CHOICE = Choice(slot=0, arm=0, probability=1.0, block=1, round=1)


class Trial:
    """A policy in a world, as plain Python, step by step.

    With ``calming``, rewards are 0 in the first eighth of the run and 1 after it: a policy that
    can restart does so early, and has grown its largest blocks by the end.
    """

    def __init__(self, spec: Policy, rounds: int, calming: bool = False, world: World = BUSY_WORLD) -> None:
        self.spec = spec.with_horizon(rounds)
        self.rounds = rounds
        self.calming = calming
        self.feedback = world.feedback
        self.slots = self.spec.slots(rounds)
        self.policy = begun_policy(self.spec, rounds, SEED, 0)
        self.world = begin(world.start(self.slots), replication_key(SEED, 0))
        self.post = begin(new_post(world.feedback), replication_key(SEED, 0))
        self.round = 0  # the last that was asked for
        self.answered = 0

    def counts(self) -> Counts:
        """What the policy counts of itself."""
        return cast(Counts, counts(self.policy))

    @property
    def where(self) -> str:
        """How far it has come, in words."""
        return f"round {self.round} of {self.rounds}"

    def asks(self, until: int | None = None) -> Iterator[Choice]:
        """Ask in every round that is left; what comes of it is the caller's business."""
        while self.round < (until or self.rounds):
            self.round += 1
            choice = cast(Choice, ask(self.policy, self.round))
            if not 0 <= choice.slot < self.slots:  # the text takes long for something that is done in every round
                raise Broken(f"{self.where}: slot {choice.slot}, but slots({self.rounds}) is {self.slots}")
            yield choice

    def choices(self) -> Iterator[Choice]:
        """Play all rounds; each choice is handed out before its arm is pulled and the policy told."""
        for choice in self.asks():
            yield choice
            self.world, _, _, reward = pull(self.world, choice.slot, choice.arm, self.round)
            if self.calming:
                reward = 0.0 if self.round <= self.rounds // 8 else 1.0
            self.post, self.policy = deliver(self.post, self.policy, self.world, choice, self.round, reward)
            self.policy = observe(self.policy, self.world, choice)
            self.answered = self.round

    def play(self) -> None:
        """Play all rounds."""
        for _ in self.choices():
            pass


def trials(spec: Policy, world: World = BUSY_WORLD) -> Iterator[Trial]:
    """Trials that end just before and after blocks do and in between."""
    for rounds in (1, 2, 3, 6, 7, 1500):
        yield Trial(spec, rounds, calming=True, world=world)
    yield Trial(spec, 600, world=world)


def all_trials(spec: Policy) -> Iterator[Trial]:
    """The same, and one with answers that come late."""
    yield from trials(spec)
    yield Trial(spec, 600, world=late_world_for(spec))


class Scene(NamedTuple):
    """One round of a trial as onlookers see it: after its ask, before the arm is pulled."""

    round: int
    choice: Choice
    counts: Counts
    kept: tuple[int, ...]  # the arms that are kept, if more were drawn than in the scene before
    held: int  # the arm that the world has in the slot of the choice


class Story:
    """A trial, played to its end and written down.

    To play takes most of a promise's time. So those that only look on share what was played, see `stories`.
    """

    def __init__(self, trial: Trial, world: World) -> None:
        self.rounds = trial.rounds
        self.trial = trial
        self.misfit = ""  # the first field that held something else than at the start, in words
        self._scenes: list[Scene] = []
        self._error: BaseException | None = None
        try:
            self._play(world)
        except (Broken, *RAISED) as error:
            self._error = error

    def scenes(self) -> Iterator[Scene]:
        """Round by round; what the trial ended with, if that was an error, comes when its round does."""
        yield from self._scenes
        if self._error is not None:
            raise self._error

    def end(self) -> Trial:
        """The trial after its last round."""
        for _ in self.scenes():
            pass
        return self.trial

    def where(self, scene: Scene) -> str:
        """How far it has come, in words."""
        return f"round {scene.round} of {self.rounds}"

    def _play(self, world: World) -> None:
        trial, arms = self.trial, 0
        state, post = trial.spec.start(trial.rounds), new_post(trial.feedback)
        kinds = kinds_of(state=state, world=world.start(trial.slots), post=post, choice=CHOICE)
        for choice in trial.choices():
            self._look(kinds, f"after round {trial.answered} of {trial.rounds}" if trial.answered else "after begin")
            self._compare(kinds, trial.where, choice=choice)
            drawn = trial.counts()
            kept = tuple(trial.spec.kept_arms(trial.policy).tolist()) if drawn.arms > arms else ()
            held = int(trial.world.visits[choice.slot]) >> 32
            self._scenes.append(Scene(trial.round, choice, drawn, kept, held))
            arms = drawn.arms
        self._look(kinds, f"after the last of {trial.rounds} rounds")

    def _look(self, kinds: Kinds, when: str) -> None:
        self._compare(kinds, when, state=self.trial.policy, world=self.trial.world, post=self.trial.post)

    def _compare(self, kinds: Kinds, when: str, **states: Any) -> None:
        """Keep what is wrong for the promise that is about it."""
        if not self.misfit:
            try:
                keep_kinds(kinds, when, **states)
            except Broken as broken:
                self.misfit = str(broken)


class _Told(NamedTuple):
    """What ``stories`` were told last, and of what."""

    spec: Policy
    world: World
    kernels: tuple[tuple[Callable[..., Any], ...], ...]
    stories: list[Story]


_last_told: list[_Told] = []


def stories(spec: Policy, world: World = BUSY_WORLD) -> list[Story]:
    """The stories of ``trials`` and, of a policy in the busy world, of one with answers that come late.

    Promises of one spec are tried one after another: those told last are kept, as long as all kernels are the same.
    """
    kernels = tuple(tuple(verb.kernels.values()) for verb in VERBS.values())
    for told in _last_told:
        if (told.spec, told.world, told.kernels) == (spec, world, kernels):
            return told.stories
    played = list(all_trials(spec) if world is BUSY_WORLD else trials(spec, world))
    _last_told[:] = [_Told(spec, world, kernels, [Story(trial, world) for trial in played])]
    return _last_told[0].stories


def late_world_for(policy: Policy) -> World:
    """In which it hears all that it can hear."""
    return CORRECTED_WORLD if policy.takes_corrections else LATE_WORLD


BUSY_POLICY = Subsample(base=Greedy(), beta=1.0, arms=12, horizon=DOUBLING)
"""Plays some arms often, and lets all go now and then."""


PLAIN = play_replications.function
"""The loop as plain Python."""


def played(
    policy: Policy, world: World, horizon: int, first: int = 0, rows: int = 1, loop: Callable[..., int] | None = None
) -> tuple[NDArray[np.float64], Log]:
    """The numbers of some replications after each quarter of the run, and the log of the last one."""
    checkpoints = sorted({1, 2, horizon // 4, horizon // 2, horizon})
    run = replicate(policy, world, horizon, rows, SEED, first=first, checkpoints=checkpoints, log=True, loop=loop)
    hold(run.finished.all(), f"{run.finished.sum()} of {rows} replications were finished")
    return run.out, run.logs[rows - 1]


def in_company(spec: Policy | World | Feedback) -> list[tuple[Policy, World]]:
    """A policy in the busy world and where it hears all that it can, or the busy policy in a world.

    Of two pairs, the kernels of the second are all those of the first, and more.
    """
    if isinstance(spec, Policy):
        return [(spec, BUSY_WORLD), (spec, late_world_for(spec))]
    return [(BUSY_POLICY, BUSY_WORLD.replace(feedback=spec) if isinstance(spec, Feedback) else spec)]


@promise("policy", "world", "feedback")
def begin_fills_arrays(spec: Policy | World | Feedback) -> None:
    """What its arrays held before ``begin`` does not matter: a GPU does not fill them."""
    policy, world = in_company(spec)[-1]
    run = Run(policy, Job(world, 300, 1, SEED, np.array([300]), log=True))
    run.play(0, 1)
    clean = run.logs[0]
    scribbled = run.states()
    for array in own_arrays(scribbled):
        array.view(np.uint8)[:] = 0x5A
    run.play(0, 1, scribbled)
    same_logs(clean, run.logs[0], "with zeros before begin", "with other numbers")


@promise("policy", "world", "feedback")
def fields_keep_their_types(spec: Policy | World | Feedback) -> None:
    """A field of its state holds what it held at the start: a float in a field for whole numbers changes the type."""
    for story in stories(*in_company(spec)[0]):
        hold(not story.misfit, story.misfit)
        story.end()


@promise("policy", "world", "feedback", when=lambda spec: why_not_compiled() is None and not IS_SIMULATED)
def compiles_for_gpu(spec: Policy | World | Feedback) -> None:
    """It compiles for a GPU, and to nothing that rounds differently there; if it takes all of a warp, it says so."""
    policy, world = in_company(spec)[-1]
    cuda = cuda_module()
    takes_warps = cuda.takes_warps(cuda.ptx_of(*Run(policy, Job(world, 300, 1, SEED, np.array([300]))).states()))
    hold(takes_warps == policy.is_wide, f"is_wide is {policy.is_wide}, but its kernels say {takes_warps}")


@promise("policy", "world", "feedback")
def compiled_equals_plain(spec: Policy | World | Feedback) -> None:
    """The compiled loop does what the same source does as plain Python, to the bit."""
    for company in in_company(spec):
        compiled = played(*company, 300, first=3, rows=2)
        plain = played(*company, 300, first=3, rows=2, loop=PLAIN)
        same_logs(compiled[1], plain[1], "compiled", "plain")
        for number, column in enumerate(COLUMNS):
            same_bits(compiled[0][:, -1, number], plain[0][:, -1, number], f"final {column} of replication")


def same_logs(one: Log, other: Log, one_way: str, other_way: str) -> None:
    """Two logs are equal to the bit."""
    for name, ones, others in zip(Log._fields, one, other, strict=True):
        same_bits(ones, others, f"{name} of round", one_way, other_way)


def same_bits(
    ones: NDArray[Any], others: NDArray[Any], what: str, one_way: str = "compiled", other_way: str = "plain"
) -> None:
    """Two arrays are equal to the bit."""
    if (ones.shape, ones.tobytes()) == (others.shape, others.tobytes()):
        return
    for place, (one, other) in enumerate(zip(ones, others, strict=True)):
        hold(one.tobytes() == other.tobytes(), f"{what} {place + 1}: {one!r} {one_way}, {other!r} {other_way}")
