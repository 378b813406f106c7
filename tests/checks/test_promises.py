"""Every example spec keeps every promise, and broken specs are found out."""

import dataclasses
import math
import os
import re
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import manyarms as ma
from manyarms import checks, gpu
from manyarms.bases import indexed
from manyarms.checks import bases, policies, promises, runs, worlds
from manyarms.compiled import compiled_type
from manyarms.contract import VERBS, Choice, Counts, counts, register
from manyarms.policies import uniform_play
from manyarms.reservoirs import PowerLawState
from manyarms.specs import SPEC_TYPES, Spec
from manyarms.world import WorldState, begin_world
from tests.gpu_extra import check_ptx

EXAMPLES = checks.examples()
KINDS = ("policy", "base", "world", "feedback")
COMPILED = {"compiled_equals_plain", "compiles_once"}
# These call kernels from Python and run no loop; or a loop as plain Python in any case; or they compare a live bandit
# with the compiled loop, which another promise compares with the plain one.
ONCE = {
    "answers_come_in_order",
    "arms_are_numbered_in_order",
    "ask_changes_nothing",
    "delays_are_in_range",
    "delays_are_the_same_for_all",
    "every_ask_is_heard_of",
    "fields_keep_their_types",
    "horizon_may_be_unknown",
    "late_rewards_count_while_their_arm_is_kept",
    "live_repeats_simulation",
    "lost_answers_do_no_harm",
    "means_are_means",
    "memory_follows_the_longest_delay",
    "memory_is_bounded",
    "odd_tells_are_harmless",
    "picks_are_in_range",
    "played_arms_are_found_again",
    "plays_are_the_same_for_all",
    "probabilities_are_probabilities",
    "recommendations_change_nothing",
    "renewal_forgets",
    "rewards_average_to_the_mean",
    "says_what_it_is_for",
    "slots_stay_in_range",
    "snapshots_go_on",
    "sums_match_the_log",
}


# A base's kernels are compiled in Subsample, which calls all of them. What Blackbox does with a base is tried as plain
# Python, but for one base that decides and one that draws: else half of the suite's time would go into compiling pairs.
# For a GPU those two are compiled in both, and all bases by themselves (tests/test_cuda.py). How a policy goes on
# without a known horizon is its own business: with every base that is tried in Subsample only.
# With MANYARMS_EVERY_PAIR=1 every pair is compiled, and keeps every promise (make verify).
EVERY_PAIR = os.environ.get("MANYARMS_EVERY_PAIR") == "1"
COMPILED_IN_ALL = (ma.UCB, ma.TsallisINF)


def _marks(promise: str, as_plain: bool) -> list[pytest.MarkDecorator]:
    if promise in COMPILED:
        return [pytest.mark.compiled]
    return [pytest.mark.once] if promise in ONCE or as_plain else []


def _cases():
    for spec in EXAMPLES:
        if spec.kind not in KINDS:
            continue
        for name, check in checks.checks(spec):
            inside, _, promise = name.rpartition(".")
            is_pair = bool(inside) and not isinstance(spec, COMPILED_IN_ALL) and not EVERY_PAIR
            as_plain = is_pair and inside == "Blackbox"
            elsewhere = {"compiles_for_gpu"} if is_pair else set()
            elsewhere |= COMPILED | {"horizon_may_be_unknown"} if as_plain else set()
            if promise not in elsewhere:
                yield pytest.param(check, as_plain, id=f"{_short(spec)}:{name}", marks=_marks(promise, as_plain))


def _short(spec: Spec) -> str:
    if isinstance(spec, ma.World):
        return f"World({', '.join(type(part).__name__ for part in (spec.reservoir, spec.drift, spec.noise))})"
    first = next(other for other in EXAMPLES if type(other) is type(spec))
    return type(spec).__name__ if spec == first else spec.label()


@pytest.fixture(scope="module")
def gpu_code():
    """What the GPU's compiler has made, by the types of states: of a spec it sees these, and how arrays lie."""
    return {}


@pytest.mark.parametrize(("check", "as_plain"), list(_cases()))
def test_promise(check, as_plain, gpu_code, monkeypatch, request):
    if as_plain:
        request.getfixturevalue("uncompiled")
    if "compiles_for_gpu" in request.node.name:
        cuda = gpu.cuda_module()
        compiled = cuda.ptx_of

        def ptx_of(*states):
            types = compiled_type(states)
            if types not in gpu_code:
                gpu_code[types] = compiled(*states)
                check_ptx(gpu_code[types])
            return gpu_code[types]

        monkeypatch.setattr(cuda, "ptx_of", ptx_of)
    check()


def test_promises_have_the_names_used_here():
    names = {name.rpartition(".")[2] for spec in EXAMPLES if spec.kind in KINDS for name, _ in checks.checks(spec)}
    assert names >= COMPILED | ONCE


def test_every_exported_spec_type_is_an_example():
    exported = {
        value
        for value in vars(ma).values()
        if isinstance(value, type) and issubclass(value, Spec) and value.__name__ in SPEC_TYPES
    }
    assert exported == {type(spec) for spec in EXAMPLES}


def test_every_spec_type_of_the_package_is_exported():
    # What the lab keeps apart, to run a figure as it was published, is not for everyone.
    modules = {name: spec_type.__module__.split(".") for name, spec_type in SPEC_TYPES.items()}
    ours = {name for name, module in modules.items() if module[0] == "manyarms" and module[1] != "lab"}
    assert ours <= set(ma.__all__)


def test_the_worlds_use_every_reservoir_drift_and_noise():
    worlds = [spec for spec in EXAMPLES if isinstance(spec, ma.World)]
    for kind in ("reservoir", "drift", "noise"):
        assert {type(getattr(world, kind)) for world in worlds} == {
            type(spec) for spec in EXAMPLES if spec.kind == kind
        }


def test_names_are_unique():
    for spec in EXAMPLES:
        names = [name for name, _ in checks.checks(spec)]
        assert len(names) == len(set(names)) >= 8


RESTARTING = [spec for spec in EXAMPLES if spec.kind == "policy" and getattr(spec, "threshold", None) is not None]
RESTARTING.append(ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.1))


@pytest.mark.parametrize("spec", RESTARTING, ids=lambda spec: spec.label())
def test_the_trials_make_policies_restart(spec):
    # Otherwise most promises would be tried on runs in which nothing happens.
    calming = runs.Trial(spec, 1500, calming=True)
    calming.play()
    assert counts(calming.policy).restarts >= 3
    assert calming.policy.block.rank >= 9
    if spec.preset == "paper":
        return  # its blocks have almost as many arms as rounds, which mixed rewards do not use up
    busy = runs.Trial(spec, 600)
    busy.play()
    assert counts(busy.policy).restarts >= 3


def test_digests_do_not_depend_on_the_process():
    code = (
        "from manyarms.checks import examples\n"
        "import json, sys\n"
        "json.dump([spec.digest() for spec in examples()], sys.stdout)\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": "123", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout == str([spec.digest() for spec in EXAMPLES])
    assert len({spec.digest() for spec in EXAMPLES}) == len(EXAMPLES)


# Broken specs. All play two arms in turn unless they break just that.


class LooseState(NamedTuple):
    """How many rewards have come in, and two arrays to play with."""

    kind: int
    told: int
    ignored: int
    totals: Any
    marks: Any
    rounds: Any  # room for a number in each round


SOUND, ASK_WRITES, SLOT_TOO_HIGH, GAP, SHRINKS, MOVES, RETURNS, ZERO, GROWS, LATE, HALVES = range(11)
# Flaws that show when answers come late.
DEAF, DEAF_AND_WRITES, OPEN_HALVES, TWICE, SPOILED, FORGETS_ARMS = range(11, 17)
# Flaws of what is recommended.
ADVICE_WRITES, ADVICE_UNKNOWN, ADVICE_ELSEWHERE = range(17, 20)


@dataclasses.dataclass(frozen=True)
class Loose(ma.Policy):
    """Two arms in turn, but for one flaw."""

    flaw: int = SOUND
    name: Any = None

    def start(self, rounds: int) -> LooseState:
        kind = float(self.flaw) if self.flaw == GROWS and rounds > 100 else self.flaw
        room = np.zeros(rounds)
        return LooseState(kind=kind, told=0, ignored=0, totals=np.zeros(2), marks=np.zeros(1), rounds=room)

    def slots(self, rounds: int) -> int:
        return 2

    def kept_arms(self, state: LooseState) -> Any:
        return np.arange(0) if state.kind in (GAP, DEAF_AND_WRITES) else np.arange(counts(state).arms)


def loose_begin(state: LooseState, key: int) -> LooseState:
    state.totals[:] = 0.0
    state.marks[:] = 0.0
    state.rounds[:] = 0.0
    return state._replace(told=0, ignored=0)


def loose_ask(state: LooseState, round: int) -> Choice:
    slot = state.told % 2
    arm = slot
    probability = 1.0
    if state.kind == ASK_WRITES:
        state.marks[0] += 1.0
    elif state.kind == SLOT_TOO_HIGH and state.told >= 5:
        slot = 2
        arm = 2
    elif state.kind == GAP:
        arm = 1  # arm 0 is never played
    elif state.kind == MOVES and state.told >= 6:
        slot = 1 - slot
    elif state.kind == RETURNS:
        slot = 0
    elif state.kind == ZERO and state.told >= 7:
        probability = 0.0
    return Choice(slot=slot, arm=arm, probability=probability, block=1, round=round)


def loose_recommend(state: LooseState, round: int) -> Choice:
    if state.kind == ADVICE_WRITES:
        state.marks[0] += 1.0
    arm = 5 if state.kind == ADVICE_UNKNOWN else 0
    return Choice(slot=1 if state.kind == ADVICE_ELSEWHERE else 0, arm=arm, probability=1.0, block=1, round=round)


def loose_tell(state: LooseState, choice: Choice, reward: float) -> LooseState:
    state.totals[min(choice.slot, 1)] += reward
    ignored = state.ignored
    told = state.told + 1
    state.rounds[told - 1] = reward
    if state.kind == HALVES and told > 8:
        ignored = 0.5
    if state.kind == LATE and choice.round < told:
        told = 10 // (choice.round - choice.round)
    return state._replace(told=told, ignored=ignored)


def loose_defer(state: LooseState, choice: Choice) -> tuple[LooseState, float]:
    if state.kind == TWICE:  # a round now, and one more when the answer comes
        return loose_tell(state, choice, 0.0), math.nan
    return state._replace(told=state.told + 0.5) if state.kind == OPEN_HALVES else state, math.nan


def loose_settle(state: LooseState, choice: Choice, presumed: float, reward: float) -> LooseState:
    if state.kind in (DEAF, DEAF_AND_WRITES) and choice.round % 10 == 0:
        state.totals[0] += 1.0 if state.kind == DEAF_AND_WRITES else 0.0
        return state._replace(ignored=state.ignored + 1)
    return loose_tell(state, choice, reward)


def loose_lose(state: LooseState, choice: Choice, presumed: float) -> LooseState:
    if state.kind == SPOILED:
        state.totals[0] -= presumed  # of which there is none
    return state._replace(told=max(state.told - 1, 0)) if state.kind == FORGETS_ARMS else state


def loose_counts(state: LooseState) -> Counts:
    arms = 2
    if state.kind == SHRINKS:
        arms = 3 - min(state.told // 10, 1)
    elif state.kind == FORGETS_ARMS:
        arms = 2 + state.told
    elif state.kind == GAP:
        arms = 2 * min(state.told, 1)
    return Counts(restarts=0, blocks=1, arms=arms, ignored=state.ignored)


def loose_observe(state: LooseState, world: Any, choice: Choice) -> LooseState:
    return state


register(LooseState, begin=loose_begin, ask=loose_ask, tell=loose_tell, counts=loose_counts, observe=loose_observe)
register(LooseState, defer=loose_defer, settle=loose_settle, lose=loose_lose, recommend=loose_recommend)

ARE_KEPT = "late_rewards_count_while_their_arm_is_kept"


@pytest.mark.parametrize(
    ("flaw", "broken", "what"),
    [
        (ASK_WRITES, "ask_changes_nothing", r"ask changed state\.marks"),
        (SLOT_TOO_HIGH, "slots_stay_in_range", r"slot 2, but slots\(\d+\) is 2"),
        (GAP, "arms_are_numbered_in_order", "2 arms drawn, but arm 0 was neither kept nor played"),
        (SHRINKS, "arms_are_numbered_in_order", "3 arms drawn became 2"),
        (MOVES, "played_arms_are_found_again", "arm 0 was played before, but the world does not have it in slot 1"),
        (RETURNS, "played_arms_are_found_again", "arm 0 was played before, but the world does not have it in slot 0"),
        (ZERO, "probabilities_are_probabilities", r"probability 0\.0"),
        (GROWS, "compiles_once", "'int'.*'float'"),
        (DEAF, "odd_tells_are_harmless", r"a tell for arm \d was ignored, but the arm is kept"),
        (DEAF, ARE_KEPT, r"round \d+ of 600: the settle of round \d+0 was ignored, but its arm \d is kept"),
        (DEAF_AND_WRITES, "odd_tells_are_harmless", r"an ignored tell changed state\.totals"),
        (DEAF_AND_WRITES, ARE_KEPT, r"the settle of round \d+0 was ignored, but changed state\.totals"),
        (OPEN_HALVES, ARE_KEPT, r"after defer in round \d of 600: state\.told is a float, .*, not a whole number"),
        (TWICE, "slots_stay_in_range", "IndexError"),  # for more rounds than were played there is no room
        (SPOILED, "lost_answers_do_no_harm", r"no answer came, and state\.totals is not a number"),
        (FORGETS_ARMS, ARE_KEPT, r"the lose of round \d+: \d+ arms drawn became"),
        (LATE, "odd_tells_are_harmless", "ZeroDivisionError"),
        (ADVICE_WRITES, "recommendations_change_nothing", r"recommend changed state\.marks"),
        (ADVICE_UNKNOWN, "recommendations_change_nothing", "arm 5 is recommended, and 2 were drawn"),
        (ADVICE_ELSEWHERE, "recommendations_change_nothing", "arm 0 is not in slot 1, but arm"),
        (
            HALVES,
            "fields_keep_their_types",
            r"after round 9 of 1500: state\.ignored is a float, 0\.5, not a whole number",
        ),
    ],
)
def test_a_broken_policy_is_found_out(flaw, broken, what):
    named = dict(checks.checks(Loose(flaw)))
    with pytest.raises(checks.CheckError, match=what) as raised:
        named[broken]()
    assert broken in str(raised.value)
    assert f"Loose(flaw={flaw})" in str(raised.value)


def test_the_same_policy_without_a_flaw_keeps_those_promises():
    named = dict(checks.checks(Loose()))
    for name in (
        "ask_changes_nothing",
        "recommendations_change_nothing",
        "slots_stay_in_range",
        "arms_are_numbered_in_order",
        "played_arms_are_found_again",
        "probabilities_are_probabilities",
        "fields_keep_their_types",
        "late_rewards_count_while_their_arm_is_kept",
        "lost_answers_do_no_harm",
        "odd_tells_are_harmless",
        "snapshots_go_on",
        "survives_json",
    ):
        named[name]()


@pytest.mark.parametrize(
    ("verb", "state_type", "kernel", "what"),
    [
        ("begin", LooseState, lambda state, key: state._replace(told=0.0), "after begin: state.told is a float, 0.0"),
        (
            "ask",
            LooseState,
            lambda *arguments: loose_ask(*arguments)._replace(probability=1),
            "round 1 of 1: choice.probability is a whole number, 1, not a float",
        ),
        (
            "observe",
            LooseState,
            lambda state, world, choice: state._replace(marks=state.marks.astype(int)),
            "after the last of 1 rounds: state.marks is <i8[1]",
        ),
        (
            "begin",
            WorldState,
            lambda world, key: begin_world(world, key)._replace(changes=False),
            "after begin: world.changes is True or False, False, not a whole number",
        ),
    ],
)
def test_a_field_of_another_type_is_found_out(verb, state_type, kernel, what, monkeypatch):
    monkeypatch.setitem(VERBS[verb].kernels, state_type, kernel)
    with pytest.raises(checks.CheckError, match=re.escape(what)):
        runs.fields_keep_their_types(Loose())


def test_what_was_played_is_shared_until_a_kernel_is_another(monkeypatch):
    told = runs.stories(Loose())
    assert runs.stories(Loose()) is told
    assert runs.stories(Loose(SHRINKS)) is not told
    told = runs.stories(Loose())
    monkeypatch.setitem(VERBS["tell"].kernels, LooseState, lambda *arguments: loose_tell(*arguments))
    assert runs.stories(Loose()) is not told


ONLOOKERS = {
    "fields_keep_their_types",
    "memory_is_bounded",
    "played_arms_are_found_again",
    "probabilities_are_probabilities",
    "slots_stay_in_range",
    "late_rewards_count_while_their_arm_is_kept",
}


@pytest.mark.parametrize(("flaw", "what"), [(SLOT_TOO_HIGH, "slot 2, but"), (LATE, "(by zero|ZeroDivision)")])
def test_whoever_shares_it_hears_how_a_trial_ended(flaw, what):
    named = dict(checks.checks(Loose(flaw)))
    for name in ONLOOKERS - ({"memory_is_bounded"} if flaw == LATE else set()):  # it looks at answers at once
        with pytest.raises(checks.CheckError, match=rf"breaks '{name}'.*{what}"):
            named[name]()


def test_a_module_of_the_package_without_a_source_is_found_out(monkeypatch):
    promises.names_its_source(Loose())  # others may cite as they like
    monkeypatch.setattr(uniform_play, "__doc__", "No word of where it comes from.")
    with pytest.raises(checks.CheckError, match="no 'Source:' in the docstring"):
        promises.names_its_source(ma.UniformPlay())


@dataclasses.dataclass(frozen=True)
class SaysNothingItself(ma.CBT):
    pass


@pytest.mark.once
@pytest.mark.parametrize(
    ("about", "what"),
    [
        (None, "about is missing"),
        ("for nothing", "about is 'for nothing', not an About"),
        (dataclasses.replace(ma.CBT.about, told=("T", "beta", "luck")), r"\['luck'\], which manyarms.about.TOLD"),
        (dataclasses.replace(ma.CBT.about, told=("T", "beta", "V")), "no field for: variation"),
        (dataclasses.replace(ma.CBT.about, told=("T",)), "nothing of its field beta"),
    ],
)
def test_a_policy_of_the_package_that_does_not_say_what_it_is_for_is_found_out(about, what, monkeypatch):
    promises.says_what_it_is_for(Loose())  # others need not
    monkeypatch.setattr(ma.CBT, "about", about)
    with pytest.raises(checks.CheckError, match=what):
        promises.says_what_it_is_for(ma.CBT(beta=1.0))


@pytest.mark.once
def test_what_another_class_says_of_itself_does_not_count(monkeypatch):
    monkeypatch.setattr(SaysNothingItself, "__module__", "manyarms.policies.other")
    with pytest.raises(checks.CheckError, match="about is that of another class"):
        promises.says_what_it_is_for(SaysNothingItself(beta=1.0))


def test_a_biased_noise_is_found_out(monkeypatch):
    monkeypatch.setitem(VERBS["reward_of"].kernels, ma.Bernoulli.state_type, lambda noise, mean, bits: 0.9 * mean)
    with pytest.raises(checks.CheckError, match=r"breaks 'rewards_average_to_the_mean' .*mean 0\.2 average 0\.18"):
        worlds.rewards_average_to_the_mean(ma.World(ma.PowerLaw(beta=1.0)))


def test_a_spec_that_json_changes_is_found_out():
    with pytest.raises(checks.CheckError, match=r"survives_json.*became"):
        promises.survives_json(Loose(name=[1]))


@pytest.mark.compiled
def test_a_policy_that_depends_on_hidden_state_is_found_out(monkeypatch):
    # The live kernel is another one than the simulation's: as if it looked at something outside the state.
    spec = ma.UniformPlay()

    def shifted(state, round):
        return uniform_play.ask(state, round)._replace(probability=0.5)

    policies.live_repeats_simulation(spec)  # compiled with the true kernel
    monkeypatch.setitem(VERBS["ask"].kernels, uniform_play.UniformPlayState, shifted)
    with pytest.raises(checks.CheckError, match=r"round 1: .*0\.5.* live"):
        policies.live_repeats_simulation(spec)


def test_a_base_that_does_not_forget_is_found_out(monkeypatch):
    def keeps_its_sums(base, arms, horizon, log_horizon):
        sums = base.rewards.sums.copy()
        renewed = indexed.renew(base, arms, horizon, log_horizon)
        base.rewards.sums[:] = sums
        return renewed

    monkeypatch.setitem(VERBS["renew"].kernels, indexed.IndexedState, keeps_its_sums)
    with pytest.raises(checks.CheckError, match=r"Greedy\(\) breaks 'renewal_forgets'"):
        bases.renewal_forgets(ma.Greedy())


def test_a_world_with_means_beyond_one_is_found_out(monkeypatch):
    monkeypatch.setitem(VERBS["fresh_mean"].kernels, PowerLawState, lambda reservoir, bits: 1.5)
    with pytest.raises(checks.CheckError, match=r"breaks 'means_are_means' .*mean runs from .* to 1\.5"):
        worlds.means_are_means(ma.World(ma.PowerLaw(beta=1.0)))


def test_checks_refuse_what_they_cannot_check():
    for function in (checks.checks, checks.check):
        with pytest.raises(TypeError, match="3 is not a"):
            function(3)
