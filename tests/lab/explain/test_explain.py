"""A run explained: the numbers are those of the measures, the run is the same, the page works, and errors help."""

import dataclasses
import functools
import html
import importlib
import json
import math
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import manyarms as ma
from manyarms import contract, engine, lab, replication
from manyarms.checks import LATE_WORLD, examples
from manyarms.checks.runs import CORRECTED_WORLD
from manyarms.cli import main
from manyarms.lab.explain import beliefs, playing
from manyarms.lab.explain import drawing as explain_drawing
from manyarms.lab.explain.drawing import drawing, grid, height, outline, pieces, thinned
from manyarms.lab.explain.explain import chosen_cell
from manyarms.lab.explain.page import MOST_ROWS, page_data
from manyarms.lab.explain.words import MOST_PRINTED, costliest, printed
from manyarms.lab.figures.figures import save
from manyarms.lab.figures.statistics import number
from manyarms.lab.running.files import write_result
from manyarms.measures import (
    decomposed_regret,
    detections,
    episodes_of_run,
    realized_variation,
    significant_shifts,
)
from manyarms.trace import COLUMNS
from tests import browser as browsers

explain_module = importlib.import_module("manyarms.lab.explain.explain")  # lab.explain is the function

COMPILED = playing.play_on

HORIZON = 1_500
WORLDS = {
    "still": ma.World(ma.PowerLaw(beta=1.0)),
    "crashes": ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.01, to=0.0)),
}
POLICIES = {
    "Elimination": ma.Elimination(beta=1.0),
    "Blackbox(UCB)": ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.3),
    "UniformPlay": ma.UniformPlay(),
}
NAMED = [(policy, world) for policy in POLICIES for world in WORLDS]


@pytest.fixture(autouse=True, scope="module")
def plain_loop():
    """Rounds are played in plain Python, the same to the bit: it takes less time than to compile so many pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replication, "play_replications", replication.play_replications.function)
        patch.setattr(playing, "play_on", playing.play_on.function)
        yield


@functools.cache
def explained(policy, world, replication=0):
    return lab.explain(
        POLICIES[policy], WORLDS[world], HORIZON, seed=3, replication=replication, policy_name=policy, world_name=world
    )


@functools.cache
def simulated(policy, world):
    return ma.simulate({policy: POLICIES[policy]}, WORLDS[world], HORIZON, replications=2, seed=3, log=True, threads=1)


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("replication", [0, 1])
@pytest.mark.parametrize(("policy", "world"), NAMED)
def test_it_is_the_run_of_simulate(policy, world, replication):
    found, result = explained(policy, world, replication), simulated(policy, world)
    for name, column in found.log._asdict().items():
        np.testing.assert_array_equal(column, getattr(result.log(policy, replication), name))
    np.testing.assert_array_equal(found.checkpoints, result.checkpoints)
    np.testing.assert_array_equal(found.values, result[policy][replication])
    np.testing.assert_array_equal(found.log.drawn[found.checkpoints - 1], found.values[:, COLUMNS.index("arms")])


@pytest.mark.parametrize("policy", ["Elimination", "Blackbox(UCB)"])
@pytest.mark.parametrize("feedback", [ma.Batches(20), LATE_WORLD.feedback, CORRECTED_WORLD.feedback])
def test_answers_that_come_late_come_as_late_when_a_run_is_explained(policy, feedback):
    world = WORLDS["crashes"].replace(feedback=feedback)
    result = ma.simulate({policy: POLICIES[policy]}, world, HORIZON, replications=2, seed=3, log=True, threads=1)
    found = lab.explain(POLICIES[policy], world, HORIZON, seed=3, replication=1)
    for name, column in found.log._asdict().items():
        np.testing.assert_array_equal(column, getattr(result.log(policy, 1), name))
    np.testing.assert_array_equal(found.values, result[policy][1])
    said = found.to_json()
    assert len(said["episodes"]) - 1 == len(said["restarts"]) == result.final(policy, "restarts")[1] > 0


@pytest.mark.parametrize(("policy", "world"), NAMED)
def test_its_numbers_are_those_of_the_measures(policy, world):
    found, result = explained(policy, world), simulated(policy, world)
    log = result.log(policy)
    run = (log.arm, log.mean, log.next_mean)
    said = found.to_json()
    for name in COLUMNS:
        assert said["totals"][name] == result.final(policy, name)[0]
        assert said["checkpoints"][name] == result.curve(policy, name)[0].tolist()
    assert said["totals"]["arms_played"] == np.unique(log.arm).size
    parts = decomposed_regret(*run, log.block)
    assert (said["totals"]["regret_of_best_arms"], said["totals"]["regret_to_best_arms"]) == (
        parts.of_best,
        parts.to_best,
    )
    assert said["blocks"] == parts.rows()
    for mine, theirs in zip(found.variation, realized_variation(*run), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    episodes = episodes_of_run(*run, log.episode, blocks=log.block)
    shifts = significant_shifts(*run, beta=1.0)
    answers = detections(shifts, episodes.restarts)
    assert [row["round"] for row in said["shifts"]["found"]] == shifts.rounds.tolist()
    assert said["shifts"]["rule"] == str(shifts.rule)
    assert [(row["restart"], row["delay"]) for row in said["shifts"]["found"]] == [
        (one.restart, one.delay) for one in answers
    ]
    false = [row["round"] for row in said["restarts"] if row["verdict"] == "false alarm"]
    assert false == list(answers.false_restarts)
    assert len(said["episodes"]) == len(episodes) == said["totals"]["restarts"] + 1
    for row, episode in zip(said["episodes"], episodes, strict=True):
        shown = ("start", "end", "rounds", "regret", "V", "V_R", "L", "L_R", "arms_played", "blocks", "ended")
        names = ("start", "end", "rounds", "regret", "variation", "rotting_variation", "changes", "rotting_changes")
        assert [row[name] for name in shown] == [getattr(episode, name) for name in (*names, "arms", "blocks", "ended")]
    json.dumps(said, allow_nan=False)


@pytest.mark.parametrize("top", [1.0, 0.8])
def test_shifts_without_an_answer_are_missed_or_need_none(top):
    runs = [explained(policy, world) for policy, world in NAMED]
    runs.append(with_rounds(explained("Elimination", "still"), [400, 402, 1_000], [399, 405, 1_000, 1_499, 1_500]))
    verdicts = set()
    for found in runs:
        found = dataclasses.replace(
            found, shifts=dataclasses.replace(found.shifts, rule=dataclasses.replace(found.shifts.rule, top=top))
        )
        gaps = top - found.log.mean
        falls = np.append(found.log.mean[:-1] > found.log.next_mean[:-1], False)
        shifts, restarts = found.shifts.rounds, found.episodes.restarts
        opened = 1
        for one in found.shift_verdicts:
            before = max(restarts[restarts < one.round], default=0)
            since = min(shifts[shifts > before])
            until = min(restarts[restarts >= one.round], default=HORIZON)
            assert (one.since, one.until) == (since, until)
            cost, rounds = math.fsum(gaps[since - 1 : until]), until - since + 1
            assert one.regret == pytest.approx(cost, rel=1e-9)
            assert one.allowance == pytest.approx(math.sqrt(rounds))
            assert one.falls == falls[opened - 1 : one.round - 1].sum()
            wanted = "no need" if cost <= math.sqrt(rounds) + 1e-9 else "missed"
            assert one.verdict == (wanted if one.restart is None else "answered")
            verdicts.add(one.verdict)
            opened = one.round
    assert verdicts == {"no need", "missed", "answered"}


def test_a_policy_on_dead_arms_needs_a_restart():
    dead = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=1.0, to=0.0))
    found = lab.explain(ma.SSUCB(beta=1.0), dead, HORIZON, seed=1)
    assert found.final("regret") > 0.9 * HORIZON
    assert len(found.shifts) > 0.9 * HORIZON
    assert {one.verdict for one in found.shift_verdicts} == {"missed"}
    assert f"there were {len(found.shifts):,} significant shifts, all missed. " in found.summary()
    assert "poor sample" not in found.summary()


@pytest.mark.parametrize("policy", ["Elimination", "Blackbox(UCB)"])
def test_a_restart_is_explained_by_what_the_policy_saw(policy):
    found = explained(policy, "crashes")
    log, restarts = found.log, [row for row in found.rows() if row["ended"] == "restart"]
    assert len(restarts) >= 3
    for row in restarts:
        note, last = row["note"], row["end"] - 1
        block = np.flatnonzero(log.block == log.block[last])
        losses = 1.0 - log.reward[block]
        if policy == "Elimination":  # those of the arm that was dropped last, weighted
            losses = (losses / log.probability[block])[log.arm[block] == log.arm[last]]
        assert (note["round"], note["rounds_in_block"]) == (row["end"], block.size)
        assert note["statistic"] == pytest.approx(math.fsum(losses))
        assert note["statistic"] >= note["threshold"]
        assert f"{note['statistic']:.4g} reached the threshold {note['threshold']:.4g}" in row["why"]


def test_arms_are_counted_for_the_episode_that_draws_them():
    policy = ma.Elimination(beta=1.0, cap=True, warm_start=False)
    found = lab.explain(policy, WORLDS["crashes"], HORIZON, seed=3)
    assert len(found.episodes) > 3
    drawn = {}  # each block draws all of its arms
    for part in found.parts:
        rank = drawn.setdefault(found.log.episode[part.start - 1], [])
        rank.append(min(2 ** (len(rank) + 1), math.ceil(2 ** ((len(rank) + 2) / 2) * (1 - 1e-12))))
    assert found.arms_drawn == [sum(sizes) for sizes in drawn.values()]


def test_a_restart_in_the_last_round_is_not_lost():
    policy = ma.Elimination(beta=1.0, horizon=HORIZON)  # so that a shorter run is the beginning of a longer one
    whole = lab.explain(policy, WORLDS["crashes"], HORIZON, seed=3)
    first, second = whole.episodes.restarts[:2].tolist()
    found = lab.explain(policy, WORLDS["crashes"], second, seed=3)
    assert found.episodes.restarts.tolist() == [first, second]
    assert found.rows() == whole.rows()[:2]
    assert found.to_json()["totals"]["restarts"] == 2
    assert "restarted twice" in found.summary()


@pytest.mark.parametrize("policy", ["Elimination", "Blackbox(UCB)"])
def test_the_run_is_played_once(monkeypatch, policy):
    spec = POLICIES[policy].with_horizon(HORIZON)
    tells = contract.VERBS["tell"].kernels
    state_type = type(spec.start(HORIZON))
    told = []

    def counted(state, choice, reward, tell=tells[state_type]):
        told.append(choice.round)
        return tell(state, choice, reward)

    monkeypatch.setitem(tells, state_type, counted)
    found = lab.explain(spec, WORLDS["crashes"], HORIZON, seed=3)
    assert len(found.episodes) > 3
    assert told == list(range(1, HORIZON + 1))


def test_a_policy_says_in_its_own_words_why_it_restarted():
    @dataclasses.dataclass(frozen=True)
    class Wordy(ma.Elimination):
        """Restarts, and has words for it."""

        restarts_when = "it has had <enough>"

        @staticmethod
        def restart_in_words(note):
            """Its own."""
            return f"enough & more after {note['rounds_in_block']} rounds"

    found = lab.explain(Wordy(beta=1.0), WORLDS["crashes"], HORIZON, seed=3)
    row = found.rows()[0]
    words = f"enough & more after {row['note']['rounds_in_block']} rounds"
    assert row["why"] == f"restart after round {row['end']}: {words}"
    assert f"<small>{html.escape(words)}</small>" in found.page()
    assert "Wordy restarts when it has had &lt;enough&gt;." in found.page()
    assert words in printed(found)


def test_a_policy_that_cannot_say_why_is_not_asked():
    @dataclasses.dataclass(frozen=True)
    class Silent(ma.Elimination):
        """Restarts, and says nothing."""

        explain = ma.Policy.explain

    found = lab.explain(Silent(beta=1.0), WORLDS["crashes"], HORIZON, seed=3)
    assert len(found.episodes) > 3
    assert all(row["why"] == f"restart after round {row['end']:,}" for row in found.rows()[:-1])


PLAYED = [spec for spec in examples() if spec.kind == "policy"]
MET = [spec for spec in examples() if spec.kind == "world"]


@pytest.mark.parametrize("policy", PLAYED, ids=lambda spec: spec.label())
def test_every_policy_in_every_world(policy):
    for place, world in enumerate(MET):
        found = lab.explain(policy, world, 100 + place, seed=place, replication=place)
        said = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert sum(row["rounds"] for row in said["episodes"]) == 100 + place
        assert math.fsum(row["regret"] for row in said["episodes"]) == pytest.approx(said["totals"]["regret"])
        assert sum(row["L"] for row in said["episodes"]) == said["totals"]["L"]
        assert (said["shifts"]["rule"] is None) == (world.reservoir.tail is None) == (found.detections is None)
        assert sum(row["arms_drawn"] for row in said["episodes"]) <= said["totals"]["arms"]
    assert found.page().count("<script") == 2
    found.figure()


def test_one_round_is_a_run():
    found = lab.explain(ma.Elimination(beta=1.0), WORLDS["still"], 1)
    assert found.rows()[0]["rounds"] == 1
    assert json.dumps(page_data(found, drawing(found)), allow_nan=False)
    found.figure(log=True)


# ---------------------------------------------------------------- words


def with_rounds(found, restarts, shifts):
    """The same run, had it restarted and shifted elsewhere."""
    log = found.log._replace(episode=1 + np.searchsorted(np.array(restarts), np.arange(1, HORIZON + 1)))
    run = (log.arm, log.mean, log.next_mean)
    episodes = episodes_of_run(*run, log.episode, blocks=log.block)
    moved = dataclasses.replace(found.shifts, rounds=np.array(shifts, dtype=np.int64))
    return dataclasses.replace(
        found,
        log=log,
        episodes=episodes,
        shifts=moved,
        detections=detections(moved, restarts),
    )


@pytest.mark.parametrize(
    ("restarts", "shifts", "words"),
    [
        ([], [], "Elimination never restarted in 1,500 rounds; its regret came to {regret}. By the literal rule there "
         "was no significant shift. No mean"),
        ([400], [], "restarted once in 1,500 rounds; its regret came to {regret}. The restart was a false alarm: no "
         "significant shift had come before it. By"),
        ([400], [100], "The restart answered a significant shift, after 300 rounds. By the literal rule there was 1 "
         "significant shift, answered by a restart. No mean had fallen before it: the rule saw a poor sample of arms "
         "there, not a fall. No mean"),
        ([400], [400], "The restart answered a significant shift, in the same round. By"),
        ([], [100], "By the literal rule there was 1 significant shift, missed. No mean had fallen before it: the"),
        ([400, 410], [], "restarted twice in 1,500 rounds; its regret came to {regret}. All restarts were false alarms:"
         " no significant shift had come before them."),
        ([400, 410], [399], "1 of the restarts answered a significant shift, after 1 round; 1 was a false alarm. By"),
        ([400, 410], [399, 405], "All of the restarts answered a significant shift, after 1 and 5 rounds. By"),
        ([400, 410, 420, 430], [400, 405, 417, 423], "All of the restarts answered a significant shift, after 0 to 7 "
         "rounds (half of them within 3). By the literal rule there were 4 significant shifts, all answered by a "
         "restart. No mean had fallen before any of them: the rule"),
        ([400, 410], [400, 410], "All of the restarts answered a significant shift, in the same round. By"),
        ([400, 410], [399, 409], "All of the restarts answered a significant shift, after 1 round each. By"),
        ([400, 410, 420, 430], [400, 410, 420, 423], "shift, after 0 to 7 rounds (half of them in the same round). By"),
        ([400, 410], [399, 401, 402, 500, 501], "there were 5 significant shifts: 2 answered by a restart, 1 in no "
         "need of a restart and 2 missed."),
        ([], [1_499, 1_500], "there were 2 significant shifts, both in no need of a restart."),
    ],
)  # fmt: skip
def test_what_happened_is_said_in_words(restarts, shifts, words):
    found = with_rounds(explained("Elimination", "still"), restarts, shifts)
    assert words.format(regret=number(found.final("regret"))) in found.summary()
    assert found.summary() in found.page()


def test_the_words_tell_of_changes():
    found = explained("Elimination", "crashes")
    totals = found.to_json()["totals"]
    fell = f"The mean of a played arm changed {totals['L']} times, by {number(totals['V'])} in all; it always fell."
    assert fell in found.summary()
    rising = ma.World(ma.PowerLaw(beta=1.0), ma.Rising(rate=0.01))
    assert "it never fell." in lab.explain(ma.Elimination(beta=1.0), rising, 300).summary()
    walk = lab.explain(ma.Elimination(beta=1.0), ma.World(ma.PowerLaw(beta=1.0), ma.RandomWalk(size=0.05)), 300)
    totals = walk.to_json()["totals"]
    assert f"{totals['L_R']} of these changes were falls, by {number(totals['V_R'])}." in walk.summary()


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([0, 0, 1, 0, 0], "No mean had fallen before the first 2 of them: the rule saw a poor sample of arms there, "
         "not a fall. For 2 others, no mean had fallen since the shift before. The"),
        ([0, 1, 0], "No mean had fallen before the first of them: the rule saw a poor sample of arms there, not a "
         "fall. For 1 other, no mean had fallen since the shift before. The"),
        ([1, 0, 1], "missed. For 1 of them, no mean had fallen since the shift before. The"),
        ([1, 1], "missed. The mean"),
    ],
)  # fmt: skip
def test_a_poor_sample_is_blamed_only_before_the_first_fall(before, words):
    found = explained("UniformPlay", "crashes")
    rounds = np.arange(10, 10 * len(before) + 10, 10)
    falls = np.zeros(HORIZON, dtype=np.int64)
    for shift, fell in zip(rounds.tolist(), before, strict=True):
        falls[shift - 2 :] += fell
    found = dataclasses.replace(
        with_rounds(found, [], rounds), variation=found.variation._replace(rotting_changes=falls)
    )
    assert words in found.summary()


def test_one_round_is_not_many():
    assert "never restarted in 1 round; " in lab.explain(ma.UniformPlay(), WORLDS["still"], 1).summary()


def test_no_kappa_holds_above_the_reservoirs_top():
    low = ma.World(ma.PowerLaw(beta=1.0, top=0.5))
    words = (
        "The rule counts gaps from top=1, but no arm begins above 0.5: no kappa holds there, .* give the rule top=0.5."
    )
    assert re.search(words, lab.explain(ma.UniformPlay(), low, 100).summary())
    assert "kappa holds" not in lab.explain(ma.UniformPlay(), low, 100, top=0.5).summary()
    below = ma.World(ma.PowerLaw(beta=1.0), top=0.5)  # a kappa from 1 holds from 0.5 too
    assert "kappa holds" not in lab.explain(ma.UniformPlay(), below, 100).summary()


def test_options_without_effect_are_named():
    world = ma.World(ma.Empirical((0.1, 0.3)))
    found = lab.explain(ma.UniformPlay(), world, 60, preset="log", kappa=2.0, order=None)
    assert "give one as beta. Without it, preset='log' and kappa=2.0 had no effect." in found.summary()
    assert "no effect" not in lab.explain(ma.UniformPlay(), world, 60).summary()


@pytest.mark.parametrize("policy", ["Elimination", "Blackbox(UCB)"])
def test_the_policys_own_numbers_are_printed(policy):
    found = explained(policy, "crashes")
    _, _, whys = printed(found).partition("\n\nWhy it restarted, by episode:\n")
    whys = whys.partition("\n\n")[0]
    assert max(map(len, whys.splitlines())) <= 100
    said = re.sub(r"\s+", " ", whys)
    rows = costliest(found.rows(), MOST_PRINTED)
    assert [row["ended"] for row in rows].count("restart") == whys.count("reached the threshold") > 0
    for row in rows:
        if row["ended"] == "restart":
            assert f" {row['episode']} {row['why'].partition(': ')[2]}" in f" {said}"
    assert "Why it restarted" not in printed(explained("UniformPlay", "crashes"))


def test_the_rule_of_the_shifts_can_be_chosen():
    found = lab.explain(POLICIES["Elimination"], WORLDS["crashes"], HORIZON, seed=3, preset="log")
    log = found.log
    wanted = significant_shifts(log.arm, log.mean, log.next_mean, beta=1.0, preset="log")
    assert found.rule == str(wanted.rule)
    assert f"By the log rule there {'was no' if not len(wanted) else 'were'}" in found.summary()
    found = lab.explain(POLICIES["Elimination"], WORLDS["crashes"], 300, order="block", threshold_scale=2, beta=0.5)
    log = found.log
    wanted = significant_shifts(
        log.arm, log.mean, log.next_mean, beta=0.5, order="block", blocks=log.block, threshold_scale=2
    )
    np.testing.assert_array_equal(found.shifts.rounds, wanted.rounds)
    low = lab.explain(ma.UniformPlay(), ma.World(ma.PowerLaw(beta=2.0, top=0.5), top=0.5), 100)
    assert "beta 2, kappa 4, " in low.rule
    assert "top 0.5" in low.rule


# ---------------------------------------------------------------- what is drawn


def test_curves_are_exact_where_they_are_given():
    found = explained("Elimination", "crashes")
    drawn = drawing(found)
    assert drawn.rounds[[0, -1]].tolist() == [1, HORIZON]
    np.testing.assert_array_equal(drawn.curves["regret"], np.cumsum(1.0 - found.log.mean)[drawn.rounds - 1])
    assert drawn.curves["regret"][-1] == found.final("regret")
    assert [drawn.curves[name][-1] for name in ("V", "V_R", "L", "L_R")] == [
        found.final(name) for name in ("V", "V_R", "L", "L_R")
    ]
    assert drawn.curves["best"][-1] == pytest.approx(found.parts.of_best)
    assert (drawn.curves["best"] <= drawn.curves["regret"] + 1e-9).all()


@pytest.mark.parametrize(("policy", "world"), NAMED)
def test_every_play_is_in_a_line_or_in_the_shades(policy, world):
    found = explained(policy, world)
    drawn, log = drawing(found), found.log
    arms, counts = np.unique(log.arm, return_counts=True)
    assert sum(line.plays for line in drawn.lines) + drawn.other_plays == HORIZON
    assert len(drawn.lines) + drawn.other_arms == arms.size
    for shades in (drawn.linear, drawn.log):
        assert (shades.shares * np.diff(shades.edges)[:, None]).sum() == pytest.approx(drawn.other_plays)
        assert shades.edges[[0, -1]].tolist() == [1, HORIZON + 1]
    most = np.sort(counts)[::-1][: explain_drawing.MOST_LINES]
    assert sorted((line.plays for line in drawn.lines), reverse=True) == most[most > 1].tolist()
    for line in drawn.lines:
        plays = np.flatnonzero(log.arm == line.arm)
        assert (line.plays, line.rounds[0], line.rounds[-1]) == (plays.size, plays[0] + 1, plays[-1] + 1)
        assert set(line.rounds.tolist()) <= set((plays + 1).tolist())
        np.testing.assert_array_equal(line.means, log.mean[line.rounds - 1])
        assert log.mean[plays].min() - line.means.min() >= -explain_drawing.SMALLEST_STEP
        between, jumps = pieces(line)
        assert len(between) == len(jumps) + 1 == 1 + int((np.abs(np.diff(line.means)) >= 0.05).sum())


def test_a_life_line_shows_both_sides_of_a_step():
    entries = np.arange(100, 300, 2)
    means = np.where(entries < 200, 0.9, 0.4)
    assert outline(entries, means, np.arange(1, 301)).tolist() == [100, 198, 200, 298]
    slow = outline(entries, np.linspace(0.9, 0.8, entries.size), np.arange(1, 301))
    drawn = np.interp(entries, slow, np.linspace(0.9, 0.8, entries.size)[(slow - 100) // 2])
    np.testing.assert_allclose(drawn, np.linspace(0.9, 0.8, entries.size), atol=1e-9)
    assert 10 < slow.size < entries.size


def test_many_marks_are_thinned_and_that_is_said():
    rounds = np.arange(1, 100_001, 2)
    marks = thinned(rounds, 100_000)
    assert marks.total == 50_000
    assert explain_drawing.MOST_MARKS <= marks.rounds.size <= 2 * explain_drawing.MOST_MARKS
    np.testing.assert_array_equal(marks.rounds, rounds[marks.places])
    assert np.diff(marks.rounds).max() <= 2 * 100_000 / explain_drawing.MOST_MARKS
    assert marks.rounds[:5].tolist() == [1, 3, 5, 7, 9]  # a logarithmic axis shows them apart
    assert not thinned(rounds[:300], 100_000).is_thinned
    found = with_rounds(explained("Elimination", "still"), range(2, HORIZON, 2), range(3, HORIZON, 3))
    page = found.page()
    data = embedded(page)
    assert data["restarts"]["total"] == 749 > len(data["restarts"]["rounds"])
    assert f"{len(data['restarts']['rounds'])} of 749 restarts" in page
    assert "darker ground" not in page
    assert f"The {MOST_ROWS} episodes with the most regret, of 750" in page
    assert f"The first {MOST_ROWS} of 499." in page
    assert len(found.to_json()["episodes"]) == 750


def test_long_runs_make_small_pages():
    found = with_rounds(explained("UniformPlay", "crashes"), range(2, HORIZON, 2), range(3, HORIZON, 3))
    assert len(found.page().encode()) < 1_000_000
    assert grid(10**6).size <= explain_drawing.POINTS * 4 // 3
    assert height([0.0, 1.0]).tolist() == [0.0, 1.0]


# ---------------------------------------------------------------- the picture


@pytest.mark.once
def test_pictures_have_the_same_bytes(tmp_path):
    found = explained("Elimination", "crashes")
    figure = found.figure()
    assert len(figure.axes) == 5
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == [
        f"{len(found.parts)} blocks", f"{len(found.episodes) - 1} restarts", f"{len(found.shifts)} shifts",
    ]  # fmt: skip
    pair = [found.figure(width="column", log=True) for _ in range(2)]
    assert pair[0].get_figwidth() == 3.5
    for format in ("png", "svg", "pdf"):
        first, second = (save(one, tmp_path / f"{place}.{format}") for place, one in enumerate(pair))
        assert first.read_bytes() == second.read_bytes()


# ---------------------------------------------------------------- what it has learned


@functools.cache
def foraged():
    world = ma.World(ma.BetaDistributed(a=1.0, b=6.0), ma.Rotting(rate=0.0005))
    return lab.explain(ma.Forager(), world, 1500, seed=3, world_name="a catalogue")


def test_what_a_policy_knows_is_said_at_the_end():
    found = foraged()
    said = found.to_json()["belief"]
    assert found.summary().endswith(f"What it knows in the end: {said['in_words']}")
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert "in_words" not in explained("Elimination", "crashes").belief
    assert explained("Elimination", "crashes").belief["last_restart"] is not None


def test_what_policies_say_becomes_plain():
    said = {"a": np.arange(2), 1: (np.float64(0.5), math.nan), "b": {"c": np.int64(3), "d": object()}, "e": True}
    assert playing.plain(said) == {"a": [0, 1], "1": [0.5, None], "b": {"c": 3, "d": None}, "e": True}


def test_what_was_learned_is_drawn_against_the_truth(tmp_path):
    found = foraged()
    figure = found.belief_figure()
    upper, lower = figure.axes
    truth, learned = (line.get_ydata() for line in upper.lines[:2])
    assert np.all(np.diff(truth) > 0.0)  # the best first
    assert np.all(np.diff(learned) <= 0.0)
    assert learned[0] == pytest.approx(1.0)
    drawn = [text.get_text() for text in lower.get_yticklabels()]
    best = found.belief["kept_arms"][0]
    assert drawn[0] == f"arm {best['arm']:,}: {best['plays']:,} plays"
    own = np.flatnonzero(found.log.arm == best["arm"])
    crosses = lower.lines[1].get_xdata()
    assert crosses[0] == pytest.approx(beliefs.log_odds(found.log.next_mean[own[-1]]))
    assert len(crosses) == len(drawn) <= beliefs.MOST_ARMS
    pair = [save(found.belief_figure(width="column"), tmp_path / f"{place}.png") for place in range(2)]
    assert pair[0].read_bytes() == pair[1].read_bytes()
    with pytest.raises(ValueError, match="does not say what arms are like"):
        explained("Elimination", "crashes").belief_figure()


def test_the_true_reservoir_is_drawn_from():
    means = beliefs.true_means(foraged(), draws=4000)
    assert np.all(np.diff(means) <= 0.0)
    assert means.mean() == pytest.approx(1.0 / 7.0, abs=0.01)


# ---------------------------------------------------------------- the page

BAD = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_holds_the_numbers():
    found = explained("Elimination", "crashes")
    page = found.page("manyarms explain …")
    assert page == found.page("manyarms explain …")
    assert "<pre>manyarms explain …</pre>" in page
    assert found.rule in page
    for row in found.rows():
        cells = [number(row[name]) for name in ("rounds", "regret", "V", "V_R", "L", "L_R", "arms_drawn", "blocks")]
        start = f'<th scope="row">{row["episode"]}</th><td>{row["start"]:,}–{row["end"]:,}</td>'
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        ended = re.search(f'{re.escape(start)}<td class="text">(.*?)</td>{re.escape(numbers)}', page)[1]
        said = {"answered": f"the shift in round {row['shift']}", "false alarm": "false alarm", None: "end of the run"}
        assert said[row["verdict"]] in ended
        assert row["why"].partition(": ")[2] in ended or row["ended"] == "horizon"
        assert ("no mean had fallen" in ended) == (row["ended"] == "restart" and row["L_R"] == 0)
    data = embedded(page)
    assert data["restarts"]["rounds"] == found.episodes.restarts.tolist()
    assert data["shifts"]["rounds"] == found.shifts.rounds.tolist()
    assert data["shifts"]["verdicts"] == [one.verdict for one in found.shift_verdicts]
    assert data["curves"]["regret"][-1] == pytest.approx(found.final("regret"), rel=1e-5)
    for place, episode in zip(data["rounds"], data["episodes"], strict=True):
        assert found.log.episode[place - 1] == episode + 1


def test_it_loads_nothing_and_names_are_only_text():
    found = explained("Elimination", "crashes")
    cell = dataclasses.replace(found.cell, policy_name=BAD, world_name=f"{{{{data}}}} {BAD}")
    bad = dataclasses.replace(found, cell=cell, source=BAD, is_checked=True).page(BAD)
    assert "<img" not in dataclasses.replace(found, source=BAD).page()
    assert bad.count("<script") == found.page().count("<script") == 2
    assert "<img" not in bad
    assert "{{data}}" in bad
    assert not re.search(r'(src|href)="(?!#|data:)', bad)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", bad)


@pytest.fixture(scope="module")
def browser():
    with browsers.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return explained("Elimination", "crashes").write_page(tmp_path_factory.mktemp("page") / "run.html", "a command")


def curve(page, name):
    return page.locator(f"[data-curve={name}]").get_attribute("d")


@pytest.mark.once
def test_the_charts_are_drawn(browser, file):
    found = explained("Elimination", "crashes")
    drawn = drawing(found)
    with browsers.opened(browser, file) as page:
        for name in drawn.curves:
            assert curve(page, name).count("L") == drawn.rounds.size
        assert page.locator("[data-chart=lines] .life").count() == len(drawn.lines)
        assert page.locator("[data-chart=lines] .shade").count() > 1
        assert page.locator("[data-chart=strip] .restart").count() == len(found.episodes) - 1
        assert page.locator("[data-chart=strip] .shift").count() == len(found.shifts)
        assert page.locator("[data-chart=strip] .block").count() == len(found.parts)
        false = sum(one.verdict == "false alarm" for one in found.restart_verdicts)
        assert page.locator("[data-chart=strip] .restart.open").count() == false > 0
        assert page.locator("#episodes table").first.locator("tbody tr").count() == len(found.episodes)
        assert page.locator("[data-chart=regret] .ground").count() == len(found.episodes) // 2


@pytest.mark.once
def test_the_axis_can_be_logarithmic_and_marks_hidden(browser, file):
    with browsers.opened(browser, file) as page:
        before = curve(page, "regret")
        shades = page.locator(".shade").first.get_attribute("d")
        page.get_by_role("radio", name="log").check()
        assert curve(page, "regret") != before
        assert page.locator(".shade").first.get_attribute("d") != shades
        assert "0" not in page.locator("[data-chart=strip] svg > text").all_text_contents()
        page.get_by_role("radio", name="linear").check()
        assert curve(page, "regret") == before
        for name, kind in (("Restarts", "restart"), ("Significant shifts", "shift"), ("Blocks", "block")):
            button = page.get_by_role("button", name=name)
            button.click()
            assert button.get_attribute("aria-pressed") == "false"
            assert page.locator(f"[data-chart=strip] .{kind}").count() == 0
            assert page.locator(f".rule-{kind}").count() == 0
            button.press("Enter")
            assert page.locator(f"[data-chart=strip] .{kind}").count() > 0


@pytest.mark.once
def test_values_are_read_by_pointer_and_by_keys(browser, file):
    found = explained("Elimination", "crashes")
    with browsers.opened(browser, file) as page:
        page.locator("[data-chart=lines] svg").hover(position={"x": 600, "y": 200})
        tip = page.locator(".tip")
        assert tip.inner_text().startswith("round ")
        assert page.locator(".cross").count() == 5  # in all charts
        page.mouse.move(0, 0)
        assert not tip.is_visible()
        page.get_by_role("button", name="Blocks").focus()
        page.keyboard.press("Tab")  # to the first chart
        page.keyboard.press("End")
        assert tip.inner_text().startswith(f"round {HORIZON:,}")
        assert number(found.final("regret")) in tip.inner_text()
        assert number(found.final("V_R")) in tip.inner_text()
        page.keyboard.press("ArrowLeft")
        assert not tip.inner_text().startswith(f"round {HORIZON:,}")
        page.keyboard.press("Escape")
        assert not tip.is_visible()


@pytest.mark.once
def test_it_fits_a_phone_and_paper(browser, file):
    with browsers.opened(browser, file, viewport={"width": 400, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        page.set_viewport_size({"width": 1280, "height": 800})
        browsers.until(page, "document.querySelector('[data-chart=regret] svg').clientWidth > 1000")
        page.emulate_media(media="print")
        browsers.until(page, "document.documentElement.classList.contains('printing')")
        assert not page.locator(".controls").is_visible()
        assert page.locator("[data-chart=regret] svg").bounding_box()["width"] <= 702
        assert page.locator("details table").is_visible()
        page.set_viewport_size({"width": 702, "height": 1000})
        assert page.locator(".ways table").evaluate("one => one.getBoundingClientRect().right") <= 702
        assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.once
def test_long_names_do_not_make_it_scroll_sideways(browser, tmp_path, uncompiled):
    name = "x" * 73
    study = lab.Study.of("long", {name: ma.UniformPlay()}, {name: ma.World(ma.Uniform())}, [60], 1)
    path = lab.explain_study(study).write_page(tmp_path / "run.html", name)
    with browsers.opened(browser, path, viewport={"width": 400, "height": 800}) as page:
        assert name in page.locator("body").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.once
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_the_light_and_in_the_dark(browser, file, scheme):
    with browsers.opened(browser, file, color_scheme=scheme) as page:

        def colour(selector, name):
            return luminance(page.locator(selector).first.evaluate(f"one => getComputedStyle(one).{name}"))

        card = colour("section", "backgroundColor")
        assert (card < 0.05) == (scheme == "dark")
        for selector, name, least in [
            ("#summary p", "color", 4.5), (".note", "color", 4.5), ("td", "color", 4.5), ("svg text", "fill", 4.5),
            (".ways small", "color", 4.5), (".restart", "stroke", 3.0), (".life", "stroke", 3.0),
            (".total", "stroke", 3.0),
        ]:  # fmt: skip
            pair = sorted([card, colour(selector, name)])
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= least, selector


@pytest.mark.once
def test_without_scripts_words_and_tables_remain(browser, file):
    with browsers.opened(browser, file, java_script_enabled=False) as page:
        assert page.get_by_text("The charts need JavaScript").is_visible()
        assert page.locator("#summary p").first.is_visible()
        assert page.locator("#episodes table").first.is_visible()


@pytest.mark.parametrize("policy", [ma.UniformPlay(), ma.Elimination(beta=1.0)])
def test_a_run_without_shifts_is_drawn(browser, tmp_path, policy):
    found = lab.explain(policy, ma.World(ma.Empirical((0.1, 0.3))), 60)
    assert "the reservoir Empirical has no tail exponent; give one as beta." in found.summary()
    restarts = len(found.episodes) - 1
    assert (restarts > 3) == isinstance(policy, ma.Elimination)
    with browsers.opened(browser, found.write_page(tmp_path / "run.html")) as page:
        assert page.get_by_role("button", name="Significant shifts").count() == 0
        assert page.locator("[data-chart=strip] .shift").count() == 0
        assert page.locator("[data-chart=strip] .restart.full").count() == restarts
        page.get_by_role("radio", name="log").check()
        assert page.locator("[data-chart=lines] .shade").count() > 1
        assert page.locator("[data-chart=lines] .life").count() == len(drawing(found).lines)


# ---------------------------------------------------------------- result files, studies and the command line


@pytest.fixture(scope="module")
def study():
    return lab.Study.of("small", POLICIES, WORLDS, horizons=[200, 300], replications=3, seed=3, checkpoints=5)


@pytest.fixture(scope="module")
def cell_file(tmp_path_factory, study):
    """The result file of a cell, as a run would leave it."""
    index = chosen_cell(study, "Elimination, crashes, horizon 300")
    cell = study.cells[index]
    values = engine.play_range(cell.policy, cell.world, cell.horizon, study.seed, study.rounds_kept(cell), 0, 3)
    path = tmp_path_factory.mktemp("small") / "cells" / f"{index:04d}-Elimination-crashes-T300.parquet"
    write_result(path, lab.CellResult(study, index, 0, values))
    return path


def test_a_file_is_replayed_from_itself(cell_file, study):
    found = lab.explain_result(cell_file, replication=2)
    again = lab.explain_study(study, "elimination, crashes, horizon 300", replication=2)
    assert (found.source, again.source) == (cell_file.name, "small")
    assert "<dt>Study</dt><dd>small</dd>" in again.page()
    assert "Result file" not in again.page()
    assert found.to_json() == again.to_json() | {"source": cell_file.name}
    np.testing.assert_array_equal(found.values, lab.read_result(cell_file).values[2])
    assert f"{cell_file.name}: the run was replayed from it, and is the same to the bit" in found.page()


def test_another_run_in_the_file_is_noticed(cell_file, tmp_path):
    result = lab.read_result(cell_file)
    values = result.values.copy()
    values[1, 3, COLUMNS.index("V_R")] += 1e-12
    path = tmp_path / "other.parquet"
    write_result(path, dataclasses.replace(result, values=values))
    lab.explain_result(path, replication=0)
    wanted = r"other.parquet: replayed, replication 1 is another run: after round 240 its V_R is .* run its study again"
    with pytest.raises(lab.BadFile, match=wanted):
        lab.explain_result(path, replication=1)


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [(7, 7), ("7", 7), ("UniformPlay, still, horizon 200", 2), ("uniformplay, STILL, horizon 3", 5),
     ("blackbox(ucb), crashes, horizon 200", 7), ("UniformPlay", None), ("nothing", None)],
)  # fmt: skip
def test_cells_are_chosen_by_number_or_words(study, cell, wanted):
    if wanted is None:
        with pytest.raises(ValueError, match="choose one"):
            chosen_cell(study, cell)
    else:
        assert chosen_cell(study, cell) == wanted


def test_one_cell_need_not_be_chosen(study):
    one = study.replace(cells=study.cells[:1])
    assert lab.explain_study(one).cell == study.cells[0]


TOML = """
name = "tiny"
replications = 2
horizons = [60]
seed = 4
[worlds.crashes]
reservoir = {type = "PowerLaw", beta = 1.0}
drift = {type = "Crash", probability = 0.1, to = 0.0}
[policies.E]
type = "Elimination"
beta = 1.0
[policies.U]
type = "UniformPlay"
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TOML)
    return tmp_path


def test_the_command_says_and_writes_what_it_is_asked_for(tiny, capsys):
    assert main(["explain", "tiny.toml", "--cell", "E", "--replication", "1", "--seed", "9"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("E restarted ")
    assert "Significant shifts: beta 1, kappa 1, literal scales" in out
    assert [path.name for path in tiny.iterdir()] == ["tiny.toml"]
    command = ["explain", "tiny.toml", "--cell", "E", "--preset", "log", "--threshold-scale", "0.5"]
    assert main([*command, "--out", "new/run.html", "--figure", "new/run.svg", "--log"]) == 0
    assert capsys.readouterr().out.endswith("The page is new/run.html\nThe picture is new/run.svg\n")
    page = (tiny / "new" / "run.html").read_text(encoding="utf-8")
    line = "manyarms explain tiny.toml --cell E --replication 0 --preset log --threshold-scale 0.5"
    assert f"<pre>{line}</pre>" in page
    assert main([*line.split()[1:], "--out", "again.html"]) == 0
    assert (tiny / "again.html").read_text(encoding="utf-8") == page
    assert (tiny / "new" / "run.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_command_draws_what_a_policy_has_learned(tiny, capsys):
    (tiny / "told-nothing.toml").write_text(f'{TOML}[policies.F]\ntype = "Forager"\n')
    assert main(["explain", "told-nothing.toml", "--cell", "F", "--beliefs", "new/beliefs.svg"]) == 0
    out = capsys.readouterr().out
    assert "What it knows in the end: Of late it earns" in " ".join(out.split())
    assert out.endswith("What it has learned is new/beliefs.svg\n")
    assert main(["explain", "told-nothing.toml", "--cell", "E", "--beliefs", "beliefs.svg"]) != 0
    assert "E does not say what arms are like" in capsys.readouterr().err
    assert main(["explain", "told-nothing.toml", "--cell", "F", "--beliefs", "beliefs.jpg"]) != 0
    assert "must end in .png" in capsys.readouterr().err
    assert not (tiny / "beliefs.svg").exists()


def test_the_command_gives_all_numbers_as_json(tiny, capsys, cell_file):
    assert main(["explain", "tiny.toml", "--cell", "0", "--json", "--out", "run.html"]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == lab.explain_study(lab.find_study("tiny.toml"), 0).to_json()
    assert (tiny / "run.html").exists()
    assert main(["explain", str(cell_file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == cell_file.name
    assert said["source"] == "tiny"
    assert main(["explain", "tiny.toml", "--cell", "0", "--json", "--top", "0.9"]) == 0
    assert json.loads(capsys.readouterr().out)["shifts"]["constants"]["top"] == 0.9


def without_a_column(source, path):
    table = pq.read_table(source)
    pq.write_table(table.drop_columns(["V_R"]), path)


def without_metadata(source, path):
    pq.write_table(pq.read_table(source).replace_schema_metadata({}), path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tiny.toml"], ["tiny has 2 cells", "choose one", "0  E, crashes, horizon 60", "1  U, crashes"]),
        (["tiny.toml", "--cell", "crashes"], ["'crashes' may mean 2 cells", "choose one", "1  U, crashes"]),
        (["tiny.toml", "--cell", "2"], ["tiny has no cell 2", "0  E, crashes"]),
        (["tiny.toml", "--cell", "Oracle"], ["tiny has no cell 'Oracle'", "0  E, crashes"]),
        (["tiny.toml", "--cell", "E", "--replication", "2"], ["no replication 2", "from 0 to 1"]),
        (["tiny.toml", "--cell", "E", "--replication", "-1"], ["replication", "at least 0", "-1"]),
        (["tiny.toml", "--cell", "E", "--beta", "0"], ["beta", "0"]),
        (["tiny.toml", "--cell", "E", "--figure", "run.gif"], ["'run.gif'", ".png, .svg, .pdf"]),
        (["tiny.toml", "--cell", "E", "--figure", "tiny.toml"], ["--figure 'tiny.toml' is the run's own", "run.png"]),
        (["tiny.toml", "--cell", "E", "--out", "./tiny.toml"], ["--out './tiny.toml' is the run's own", "run.html"]),
        (["{file}", "--out", "{file}"], ["is the run's own file; give another one"]),
        (["{file}", "--out", "link.html"], ["--out 'link.html' is the run's own file"]),
        (
            ["tiny.toml", "--cell", "E", "--out", "x.png", "--figure", "./x.png"],
            ["'x.png' and", "'./x.png' are the same"],
        ),
        (["tiny.toml", "--cell", "E", "--out", "x.png"], ["--out 'x.png' must end in .html or .htm", "--figure"]),
        (["tiny.toml", "--cell", "E", "--out", "run"], ["--out 'run' must end in .html or .htm"]),
        (["tiny.toml", "--cell", "E", "--out", ""], ["--out '' names nothing", "run.html"]),
        (["tiny.toml", "--cell", "E", "--figure", ""], ["--figure '' names nothing", "run.png"]),
        (["tiny.toml", "--cell", "E", "--out", "."], ["--out '.' is a folder", "run.html"]),
        (["tiny.toml", "--cell", "E", "--out", "folder.html"], ["--out 'folder.html' is a folder", "folder.html/run"]),
        (["tiny.toml", "--cell", "E", "--out", "tiny.txt/run.html"], ["--out 'tiny.txt/run.html' cannot", "another"]),
        (["tiny.toml", "--cell", "E", "--figure", "/proc/a/run.png"], ["'/proc/a/run.png' cannot be written: /"]),
        (["nothing"], ["nothing", "explained"]),
        (["nothing.toml"], ["nothing.toml", "explained"]),
        (["nothing.parquet"], ["there is no result file 'nothing.parquet'", "manyarms run"]),
        (["{folder}"], ["is a folder", "cells/0009-Elimination-crashes-T300.parquet"]),
        (["text.parquet"], ["text.parquet is not a result file", "no Parquet"]),
        (["tiny.txt"], ["tiny.txt is not a result file", "end in .toml"]),
        (["column.parquet"], ["column.parquet", "no column 'V_R'", "run its study again"]),
        (["bare.parquet"], ["bare.parquet is no result of manyarms"]),
        (["{file}", "--replication", "3"], ["no replication 3", "from 0 to 2"]),
        (["{file}", "--cell", "0"], ["--cell is for studies", "leave it out"]),
        (["{file}", "--seed", "0"], ["--seed is for studies", "leave it out"]),
    ],
)
def test_what_is_wrong_is_named_with_the_remedy(tiny, cell_file, capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(explain_module, "played", pytest.fail)  # before anything is played
    (tiny / "folder.html").mkdir()
    (tiny / "link.html").symlink_to(cell_file)
    (tiny / "text.parquet").write_text("no table")
    (tiny / "tiny.txt").write_text(TOML)
    without_a_column(cell_file, tiny / "column.parquet")
    without_metadata(cell_file, tiny / "bare.parquet")
    places = {"file": str(cell_file), "folder": str(cell_file.parent.parent)}
    assert main(["explain", *(word.format(**places) for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("manyarms explain: ")
    for word in words:
        assert word in captured.err
    assert (tiny / "tiny.toml").read_text() == TOML
    assert lab.read_result(cell_file).first == 0


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((ma.Elimination, WORLDS["still"], 10), {}, TypeError, "not a policy"),
        ((ma.UniformPlay(), ma.PowerLaw(beta=1.0), 10), {}, TypeError, "world must be a World"),
        ((ma.UniformPlay(), WORLDS["still"], 0), {}, ValueError, "horizon must be .* at least 1, not 0"),
        ((ma.UniformPlay(), WORLDS["still"], 2**31), {}, ValueError, "horizon must be at most"),
        ((ma.UniformPlay(), WORLDS["still"], 10), {"seed": -1}, ValueError, "seed must be .* not -1"),
        ((ma.UniformPlay(), WORLDS["still"], 10), {"replication": 0.5}, ValueError, "replication .* not 0.5"),
        ((ma.UniformPlay(), WORLDS["still"], 10), {"scale": 2}, TypeError, "no option 'scale'; .* threshold_scale"),
        ((ma.UniformPlay(), WORLDS["still"], 10), {"preset": "lax"}, ValueError, "preset .* 'literal', 'log'.* 'lax'"),
    ],
)
def test_bad_arguments_are_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        lab.explain(*arguments, **options)


def test_what_memory_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(explain_module, "memory", lambda: 1e9)
    with pytest.raises(
        MemoryError, match=r"10,000,000 rounds take 5 GB, and this process may use 1 GB; .* shorter run"
    ):
        lab.explain(ma.UniformPlay(), WORLDS["still"], 10_000_000)


def test_the_study_of_the_documentation_is_there():
    study = lab.named_study("explained")
    assert {cell.world_name for cell in study.cells} == {"stationary", "rotting by 1/t", "crashes", "rising"}
    assert {cell.policy_name for cell in study.cells} == {"Elimination", "Blackbox(UCB)"}
    assert {cell.horizon for cell in study.cells} == {20_000}
    figure = lab.named_study("figure-1-described")
    assert study.cells[2].world in [cell.world for cell in figure.cells]


@pytest.mark.compiled
def test_the_compiled_loop_tells_the_same(monkeypatch):
    monkeypatch.setattr(playing, "play_on", COMPILED)
    names = {"policy_name": "Elimination", "world_name": "crashes"}
    for which in range(4):  # some of their keys are large numbers, some are not
        found = explained("Elimination", "crashes", which)
        again = lab.explain(POLICIES["Elimination"], WORLDS["crashes"], HORIZON, seed=3, replication=which, **names)
        assert again.to_json() == found.to_json()
        assert len(found.episodes) > 3
    assert len(COMPILED.signatures()) == 1
