"""The promises of policies."""

import dataclasses
import json
import random
from collections.abc import Sequence

import numpy as np

from ..bandit import FIRST_PRUNING, FIRST_ROUNDS, Bandit, Decision, Told
from ..contract import ask, recommend
from ..engine import simulate
from ..policies import Policy
from ..policies.base import DOUBLING
from ..replication import play_replications, replicate
from ..states import copied, types_of
from ..trace import COLUMNS
from ..world import World
from .late import Heard, Messenger
from .promises import SEED, Broken, difference, hold, promise, shapes_of
from .runs import BUSY_WORLD, CHOICE, Story, Trial, all_trials, in_company, late_world_for, same_logs, stories

EXPLAINED = 20
"""One in so many rounds is explained."""


def can_be_live(spec: Policy) -> bool:
    """Whether there are bandits of it; of an oracle there are none."""
    return not spec.sees_means


@promise("policy")
def ask_changes_nothing(spec: Policy) -> None:
    """An ask changes no array and no number, and the same ask has the same answer."""
    trial = Trial(spec, 400)
    for choice in trial.choices():
        before = copied(trial.policy)
        again = ask(trial.policy, trial.round)
        hold(again == choice, f"round {trial.round}: {choice}, then {again}")
        changed = difference(before, trial.policy)
        hold(not changed, f"round {trial.round}: ask changed {changed}")


@promise("policy")
def recommendations_change_nothing(spec: Policy) -> None:
    """It recommends an arm that was drawn and that is where it says, always the same, and that changes nothing."""
    for world in (BUSY_WORLD, late_world_for(spec)):
        trial = Trial(spec, 300, world=world)
        asked: set[int] = set()
        for choice in trial.choices():
            before = copied(trial.policy)
            named, again = recommend(trial.policy, trial.round), recommend(trial.policy, trial.round)
            changed = difference(before, trial.policy)
            hold(not changed, f"{trial.where}: recommend changed {changed}")
            hold(named == again, f"{trial.where}: {named}, then {again}")
            slot, arm = int(named.slot), int(named.arm)
            hold(0 <= slot < trial.slots, f"{trial.where}: slot {slot} is recommended, of {trial.slots}")
            drawn = max(trial.counts().arms, int(choice.arm) + 1)  # some draw an arm when they ask for it
            hold(0 <= arm < drawn, f"{trial.where}: arm {arm} is recommended, and {drawn} were drawn")
            held = trial.world.visits[slot] >> 32
            hold(arm not in asked or held == arm, f"{trial.where}: arm {arm} is not in slot {slot}, but arm {held}")
            asked.add(int(choice.arm))


@promise("policy")
def probabilities_are_probabilities(spec: Policy) -> None:
    """A choice has a probability in (0, 1], its round and the block that is open."""
    for story in stories(spec):
        for scene in story.scenes():
            where, choice, blocks = story.where(scene), scene.choice, scene.counts.blocks
            hold(0.0 < choice.probability <= 1.0, f"{where}: probability {choice.probability!r}")
            hold(choice.round == scene.round, f"{where}: the choice says round {choice.round}")
            hold(choice.block == blocks, f"{where}: the choice says block {choice.block}, the counts {blocks}")


@promise("policy")
def arms_are_numbered_in_order(spec: Policy) -> None:
    """Fresh arms are numbered 0, 1, 2, … without gaps, and their count only grows."""
    for story in stories(spec)[:-1]:  # without the one in which asks are left open
        seen: set[int] = set()
        drawn = 0
        for scene in story.scenes():
            drawn = _numbered(story, scene.round - 1, seen, drawn, scene.counts.arms, scene.kept)
            seen.add(int(scene.choice.arm))
        trial = story.end()
        kept = trial.spec.kept_arms(trial.policy).tolist()
        _numbered(story, trial.answered, seen, drawn, trial.counts().arms, kept)


def _numbered(story: Story, answered: int, seen: set[int], drawn: int, arms: int, kept: Sequence[int]) -> int:
    """Compare the arms seen so far, all answered, with the arms drawn; return the latter."""
    where = f"after round {answered} of {story.rounds}"
    hold(arms >= drawn, f"{where}: {drawn} arms drawn became {arms}")
    if arms > drawn:
        seen.update(kept)
    hold(all(0 <= arm < arms for arm in seen), f"{where}: {arms} arms drawn, but there is arm {max(seen, default=0)}")
    # An oracle looks at arms that it neither keeps nor plays.
    if not story.trial.spec.sees_means and len(seen) != arms:
        missing = min(set(range(arms)) - seen)
        raise Broken(f"{where}: {arms} arms drawn, but arm {missing} was neither kept nor played")
    return arms


@promise("policy")
def slots_stay_in_range(spec: Policy) -> None:
    """Slots are 0 … slots(rounds) - 1, and an open block never keeps more arms than that."""
    for story in stories(spec):
        trial = story.end()
        kept = len(trial.spec.kept_arms(trial.policy))
        hold(kept <= trial.slots, f"after {trial.rounds} rounds: {kept} arms are kept in {trial.slots} slots")


@promise("policy")
def played_arms_are_found_again(spec: Policy) -> None:
    """An arm that was played before is in the slot where the world has it."""
    for story in stories(spec):
        played_before: set[int] = set()
        for scene in story.scenes():
            arm, slot = int(scene.choice.arm), int(scene.choice.slot)
            hold(
                arm not in played_before or scene.held == arm,
                f"{story.where(scene)}: arm {arm} was played before, but the world does not have it "
                f"in slot {slot}; keep it in its slot as long as you keep it, or relocate it in follow",
            )
            played_before.add(arm)


@promise("policy")
def memory_is_bounded(spec: Policy) -> None:
    """Arrays have the sizes that start(rounds) gave them, and a live bandit doubles them."""
    rounds = 1500
    trial = next(story.end() for story in stories(spec) if story.rounds == rounds)
    wanted, found = shapes_of(trial.spec.start(rounds)), shapes_of(trial.policy)
    hold(wanted == found, f"after {rounds} rounds its arrays are {found}, start({rounds}) gives {wanted}")
    if not can_be_live(spec):
        return
    bandit = Bandit(spec, SEED)
    for round in range(2 * FIRST_ROUNDS + 10):
        bandit.tell(bandit.ask(), float(round % 3 == 0))
    saved = bandit.to_json()
    hold(saved["rounds"] == 4 * FIRST_ROUNDS, f"after {bandit.told} tells a bandit has room for {saved['rounds']}")
    wanted, found = shapes_of(spec.start(saved["rounds"])), shapes_of(bandit._state)
    hold(wanted == found, f"a live bandit's arrays are {found}, start({saved['rounds']}) gives {wanted}")
    most = max(FIRST_PRUNING, 2 * spec.slots(saved["rounds"]))
    hold(len(saved["items"]) <= most, f"a live bandit remembers {len(saved['items'])} arms, not {most}")


@promise("policy", when=can_be_live)
def live_repeats_simulation(spec: Policy) -> None:
    """A live bandit decides as the simulation does, to the bit, whether answers come at once or late."""
    for policy, world in in_company(spec):
        _live_repeats(policy, world)


def _live_repeats(spec: Policy, world: World) -> None:
    """In this world; after each ask the bandit is told what the simulated policy heard."""
    horizon = 2 * FIRST_ROUNDS + 300  # so that the bandit grows twice
    told = spec.with_horizon(horizon)
    run = replicate(told, world, horizon, seed=SEED, first=1, log=True)
    log = run.logs[0]
    bandit = Bandit(told, SEED, replication=1, correctable=horizon if world.feedback.corrects else 0)
    messenger = Messenger(world.feedback, replication=1)
    for place in range(horizon):
        decision = bandit.ask()
        simulated = (int(log.arm[place]), float(log.probability[place]), int(log.block[place]))
        # To explain takes as long as the round, and longer where many arms are kept: not in every round.
        blocks = bandit.explain()["blocks"] if place % EXPLAINED == 0 else int(bandit._counts.blocks)
        live = (decision.arm, decision.probability, blocks)
        if live != simulated:
            raise Broken(f"round {place + 1}: (arm, probability, block) is {live} live, {simulated} simulated")
        choice = CHOICE._replace(round=place + 1)
        for heard in messenger.heard(choice, place + 1, float(log.reward[place])):
            told_live(bandit, heard)
    bandit.ask()  # what is open is open for good
    now = bandit.explain()
    for name, column in (("restarts", "restarts"), ("blocks", "blocks"), ("arms_drawn", "arms")):
        simulated_count = int(run.out[0, -1, COLUMNS.index(column)])
        hold(now[name] == simulated_count, f"{column}: {now[name]} live, {simulated_count} simulated")


def told_live(bandit: Bandit, heard: Heard) -> None:
    """Tell a bandit what a simulated policy hears; that an ask is open it finds out by itself."""
    identity = bandit._ids.of(heard.choice.round)
    if heard.verb in ("tell", "settle"):
        bandit.tell(identity, heard.reward)
    elif heard.verb == "lose":
        bandit.forget(identity)
    elif heard.verb == "correct":
        bandit.correct(identity, heard.reward)


@promise("policy", when=can_be_live)
def snapshots_go_on(spec: Policy) -> None:
    """A bandit that is saved as text and loaded goes on exactly, wherever that happens."""
    dice = random.Random(spec.digest())
    bandit = Bandit(spec, SEED, correctable=5 if spec.takes_corrections else 0)
    open_decisions: list[Decision] = []
    for stop in sorted(dice.sample(range(1, FIRST_ROUNDS + 200), 5)):
        while bandit.asked < stop:
            _step(bandit, open_decisions, dice)
        text = json.dumps(bandit.to_json(), allow_nan=False)
        copy = Bandit.from_json(json.loads(text))
        hold(copy.to_json() == bandit.to_json(), f"after {stop} asks: what was loaded is not what was saved")
        mark = dice.getrandbits(64)
        left = list(open_decisions)
        for number in range(40):
            mine = _step(bandit, open_decisions, random.Random(mark + number))
            other = _step(copy, left, random.Random(mark + number))
            hold(mine == other, f"{number} asks after a snapshot at {stop}: {mine} goes on, {other} was loaded")
        hold(_but_ids(copy) == _but_ids(bandit), f"40 asks after a snapshot at {stop}: the states differ")
        bandit, open_decisions = copy, left


def _but_ids(bandit: Bandit) -> dict[str, object]:
    """A bandit as JSON; ids are no copy's of another."""
    return {name: value for name, value in bandit.to_json().items() if name not in ("tags", "checksum")}


def _step(bandit: Bandit, open_decisions: list[Decision], dice: random.Random) -> tuple[Decision, list[object]]:
    """One ask, and none, one or two answers in any order; some get lost, some are corrected."""
    decision = bandit.ask()
    open_decisions.append(decision)
    told: list[object] = []
    for _ in range(dice.choice((0, 1, 1, 2))):
        if open_decisions:
            other = open_decisions.pop(dice.randrange(len(open_decisions)))
            if dice.random() < 0.1:
                told.append(bandit.forget(other))
                continue
            told.append(bandit.tell(other, dice.choice((0.0, 0.25, 1.0))))
            if bandit.correctable and dice.random() < 0.3:
                told.append(bandit.correct(other, dice.choice((0.0, 1.0))))
    return dataclasses.replace(decision, id=""), told


@promise("policy")
def seeds_decide(spec: Policy) -> None:
    """The same seed gives the same run, another seed another."""
    logs = [
        simulate({"it": spec}, BUSY_WORLD, 300, 1, seed, checkpoints=1, threads=1, log=True).log("it")
        for seed in (SEED, SEED, SEED + 1)
    ]
    same_logs(logs[0], logs[1], "in one run", "in another with the same seed")
    hold(logs[0].mean.tobytes() != logs[2].mean.tobytes(), "two seeds gave the same run")


@promise("policy", when=can_be_live)
def odd_tells_are_harmless(spec: Policy) -> None:
    """Late tells are taken in any order, repeated ones change nothing, ignored ones are of arms that are not kept."""
    dice = random.Random(spec.digest())
    bandit = Bandit(spec, SEED)
    arms: dict[str, int] = {}  # id -> what was asked for
    finished: list[str] = []
    ignored = 0
    while bandit.asked < 700 or bandit.open_decisions:
        for _ in range(dice.choice((0, 1, 1, 3)) if bandit.asked < 700 else 0):
            decision = bandit.ask()
            arms[decision.id] = decision.arm
        waiting = bandit.open_decisions
        for identity in dice.sample(waiting, min(len(waiting), dice.choice((0, 1, 2)))):
            ignored += _is_ignored(bandit, identity, arms[identity], dice.choice((0.0, 0.5, 1.0)))
            finished.append(identity)
        if finished and dice.random() < 0.1:
            saved = bandit.to_json()
            outcome = bandit.tell(dice.choice(finished), dice.choice((0.0, 1.0)))
            hold(outcome is Told.REPEATED, f"a repeated tell was {outcome}")
            hold(bandit.to_json() == saved, "a repeated tell changed the bandit")
    hold(bandit.ignored == ignored, f"{ignored} tells were ignored, but {bandit.ignored} were counted as such")
    hold(bandit.told == bandit.asked, f"{bandit.asked} asks, all told, but {bandit.told} are counted")
    bandit.tell(bandit.ask(), 1.0)


def _is_ignored(bandit: Bandit, identity: str, arm: int, reward: float) -> bool:
    """Tell, and see whether the outcome says what has happened."""
    bandit._defer_newest()  # as the tell would first
    before, ignored = copied(bandit._state), bandit.ignored
    is_kept = arm in bandit.policy.kept_arms(before)
    outcome = bandit.tell(identity, reward)
    is_ignored = bandit.ignored != ignored
    wanted = Told.IGNORED if is_ignored else Told.COUNTED
    hold(outcome is wanted, f"{bandit.ignored - ignored} more rewards are ignored, but the tell was {outcome}")
    hold(not (is_ignored and is_kept), f"a tell for arm {arm} was ignored, but the arm is kept")
    if is_ignored:
        changed = difference(before, bandit._state, only=np.ndarray)
        hold(not changed, f"an ignored tell changed {changed}")
    return is_ignored


@promise("policy")
def compiles_once(spec: Policy) -> None:
    """Other seeds, horizons and numbers of replications need no other compiled loop."""
    short, long = (types_of(spec.with_horizon(rounds).start(rounds)) for rounds in (64, 1257))
    hold(short == long, f"its state has the types {short} for 64 rounds and {long} for 1257")
    simulate({"it": spec}, BUSY_WORLD, 64, 1, SEED, threads=1, log=True)
    known = len(play_replications.signatures())
    simulate({"it": spec}, BUSY_WORLD, 257, 2, 2**64 - 1, checkpoints=3, threads=2, log=True)
    added = play_replications.signatures()[known:]
    hold(not added, f"a second simulation added the signature {added}")


@promise("policy", when=lambda spec: hasattr(spec, "horizon"))
def horizon_may_be_unknown(spec: Policy) -> None:
    """With the horizon "doubling" it plays on for ever, in simulation and live alike."""
    unknown = spec.replace(horizon=DOUBLING)
    for trial in all_trials(unknown):
        hold(trial.spec == unknown, f"told({trial.rounds}) made {trial.spec.label()} of {unknown.label()}")
        trial.play()
    if can_be_live(spec) and unknown != spec:  # of one that is as it was, that is a promise of its own
        live_repeats_simulation(unknown)
