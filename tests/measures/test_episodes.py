"""Episodes: parts of a run are those of the slow twin, and what they are said to sum up to, they do."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.measures import (
    Detection,
    corruption,
    decomposed_regret,
    detections,
    episodes_of_run,
    realized_variation,
    significant_shifts,
)
from tests.measures.test_variation import played
from tests.reference import episodes as reference

exactly = settings(derandomize=True, deadline=None, max_examples=150)


@st.composite
def runs(draw):
    """Short runs in parts, rested or restless; often with equal means and with arms that come back."""
    means = st.one_of(st.sampled_from([0.0, 0.125, 0.5, 1.0]), st.floats(0.0, 1.0))
    rounds = draw(st.integers(1, 30))
    arms = draw(st.lists(st.integers(-2, 5), min_size=rounds, max_size=rounds))
    labels = np.cumsum(draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=rounds, max_size=rounds))).tolist()
    now, run = {}, ([], [], [])
    is_restless = draw(st.booleans())
    for arm in arms:
        mean = draw(means) if arm not in now or is_restless else now[arm]
        now[arm] = draw(st.one_of(st.just(mean), means))
        for column, value in zip(run, (arm, mean, now[arm]), strict=True):
            column.append(value)
    return run, labels


# ---------------------------------------------------------------- accounts


@pytest.mark.once
@exactly
@given(runs(), st.sampled_from([1.0, 0.7]))
def test_every_account_is_that_of_the_twin_rounded_once(drawn, top):
    run, labels = drawn
    found = episodes_of_run(*run, labels, blocks=labels, top=top)
    expected = reference.accounts(*run, labels, top)
    assert len(found) == len(expected)
    for episode, (label, first, last, *sums, changes, falls, arms, new) in zip(found, expected, strict=True):
        assert (episode.number, episode.start, episode.end) == (label, first, last)
        # float() of a fraction rounds once and correctly: so must the sums.
        assert (episode.regret, episode.variation, episode.rotting_variation) == tuple(float(part) for part in sums)
        assert (episode.changes, episode.rotting_changes) == (changes, falls)
        assert (episode.arms, episode.new_arms, episode.blocks) == (arms, new, 1)
        assert (episode.rounds, episode.note) == (last - first + 1, None)
    assert [episode.ended for episode in found] == ["restart"] * (len(found) - 1) + ["horizon"]
    assert found.restarts.tolist() == [episode.end for episode in found][:-1]
    assert found.lengths.sum() == len(labels)


@pytest.mark.once
@exactly
@given(runs())
def test_parts_sum_up_to_the_run(drawn):
    run, labels = drawn
    found, whole = episodes_of_run(*run, labels), realized_variation(*run)
    assert found.regret == pytest.approx(math.fsum(1.0 - mean for mean in run[1]), rel=1e-15, abs=1e-15)
    # Each part is rounded once: half an ulp of at most the whole for each.
    slack = len(found) * math.ulp(max(found.regret, 1.0))
    assert math.fsum(episode.regret for episode in found) == pytest.approx(found.regret, rel=0.0, abs=slack)
    assert sum(episode.changes for episode in found) == whole.changes[-1]
    assert sum(episode.rotting_changes for episode in found) == whole.rotting_changes[-1]
    assert sum(episode.new_arms for episode in found) == len(set(run[0]))
    for name in ("variation", "rotting_variation"):
        total = math.fsum(getattr(episode, name) for episode in found)
        assert total == pytest.approx(getattr(whole, name)[-1], rel=1e-14, abs=1e-14)


ROTTING = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
IMPATIENT = ma.Elimination(beta=1.0, threshold=0.01)


def test_a_real_run_has_as_many_restarts_blocks_and_as_much_regret_as_its_columns_say():
    log, columns = played(IMPATIENT, ROTTING, 1500)
    found = episodes_of_run(log.arm, log.mean, log.next_mean, log.episode, blocks=log.block)
    regret, _, restarts, blocks, arms, *_ = columns[-2]  # a restart in the last round is not in the log
    assert len(found) - 1 == restarts > 5
    assert sum(episode.blocks for episode in found) == log.block[-1]
    assert blocks - log.block[-1] in (0, 1)  # the last round may have closed one
    assert sum(episode.new_arms for episode in found) == len(set(log.arm.tolist())) <= arms
    # The running sum of T rounded terms is off by at most T rounding errors of the total.
    assert found.regret == pytest.approx(columns[-1][0], rel=1500 * 2.0**-52)
    assert regret < columns[-1][0]


def test_notes_of_a_live_policy_say_why_episodes_ended():
    bandit = ma.Bandit(IMPATIENT, seed=1)
    run, labels, notes = ([], [], []), [], []
    source = np.random.default_rng(3)
    while len(notes) < 3:
        labels.append(bandit.explain()["restarts"] + 1)
        decision = bandit.ask()
        mean = 0.3
        bandit.tell(decision, float(source.random() < mean))
        for column, value in zip(run, (decision.arm, mean, mean), strict=True):
            column.append(value)
        note = bandit.explain()["last_restart"]
        if note is not None and note not in notes:
            notes.append(note)
    found = episodes_of_run(*run, labels, notes=[*notes, None])
    # The third restart came after the last round: only its note tells of it.
    assert [episode.ended for episode in found] == ["restart"] * 3
    assert found.restarts.tolist() == [note["round"] for note in notes]
    for episode, note in zip(found, notes, strict=True):
        assert episode.note == note
        assert episode.why.startswith(f"restart after round {note['round']:,}: ")
        assert f"reached the threshold {note['threshold']:.4g} in a block of rank {note['block_rank']}" in episode.why
    without = episodes_of_run(*run, labels)
    assert without[0].why == f"restart after round {notes[0]['round']:,}"
    assert without[-1].why == f"horizon: the run ended with round {len(labels):,}"
    assert without[-1].ended == "horizon"


def test_rows_are_plain_values():
    rows = episodes_of_run([0, 0, 1], [0.5, 0.5, 1.0], [0.5, 0.25, 1.0], [1, 1, 4]).rows()
    assert [(row["number"], row["rounds"], row["regret"], row["variation"]) for row in rows] == [
        (1, 2, 1.0, 0.0),
        (4, 1, 0.0, 0.25),  # the change made by the last play before it arrives in its first round
    ]
    assert rows[0]["blocks"] is None


# ---------------------------------------------------------------- the decomposition of regret


@exactly
@given(runs(), st.sampled_from(["round", "initial"]), st.sampled_from([1.0, 0.7]), st.booleans(), st.randoms())
def test_every_part_of_regret_is_that_of_the_twin_rounded_once(drawn, best, top, with_unplayed, source):
    run, labels = drawn
    unplayed = [source.choice([0.0, 0.6, 1.0]) for _ in set(labels)] if with_unplayed else None
    found = decomposed_regret(*run, labels, best=best, unplayed=unplayed, top=top)
    expected = reference.decompositions(*run, labels, top, best, unplayed)
    assert [(part.regret, part.of_best, part.to_best, part.best_arm) for part in found] == [
        (float(regret), float(of_best), float(to_best), arm) for regret, of_best, to_best, arm in expected
    ]
    totals = [sum(row[column] for row in expected) for column in range(3)]
    assert (found.regret, found.of_best, found.to_best) == tuple(float(total) for total in totals)
    # In exact arithmetic the two parts are the whole; here each of three numbers was rounded once.
    assert totals[0] == totals[1] + totals[2]
    ulps = sum(math.ulp(value) for value in (found.regret, found.of_best, found.to_best))
    assert abs(Fraction(found.of_best) + Fraction(found.to_best) - Fraction(found.regret)) <= Fraction(ulps) / 2


@exactly
@given(runs())
def test_the_best_arm_of_each_round_is_never_beaten(drawn):
    run, labels = drawn
    by_round, initial = decomposed_regret(*run, labels), decomposed_regret(*run, labels, best="initial")
    for best, fixed in zip(by_round, initial, strict=True):
        assert best.to_best >= 0.0
        assert best.of_best <= fixed.of_best


def test_unplayed_arms_can_only_make_the_best_better():
    means = [0.5, 0.25]
    for best in ("round", "initial"):
        found = decomposed_regret([3, 4], means, means, [1, 1], best=best, unplayed=[0.75])
        assert (found.of_best, found.to_best, found[0].best_arm) == (0.5, 0.75, None)
    assert decomposed_regret([3, 4], means, means, [1, 1], best="initial")[0].best_arm == 3


def test_a_large_part_is_that_of_a_plain_maximum():
    # Many arms at once: the tree has several levels, and leaves that belong to no arm.
    source = np.random.default_rng(8)
    arms = source.integers(0, 37, 3000)
    now = source.random(37)
    means, after, best = np.zeros(3000), np.zeros(3000), np.zeros(3000)
    is_met = np.isin(np.arange(37), arms)
    for t, arm in enumerate(arms):
        means[t], best[t] = now[arm], now[is_met].max()
        now[arm] = after[t] = source.random() if source.random() < 0.3 else now[arm]
    found = decomposed_regret(arms, means, after, np.zeros(3000, dtype=int))
    assert found.of_best == math.fsum(Fraction(1) - Fraction(value) for value in best.tolist())


# ---------------------------------------------------------------- corruption


@exactly
@given(runs(), st.sampled_from(["centre", "initial"]))
@example((([0, 0], [1.0, 0.0], [0.0, 1.0]), [0, 0]), "centre")
@example((([1, 0, 1, 0, 0], [0.125, 0.0, 1e-25, 0.125, 0.0], [1e-25, 0.125, 0.0, 0.0, 0.0]), [0] * 5), "centre")
def test_every_level_of_corruption_is_that_of_the_twin(drawn, kind):
    run, labels = drawn
    found = corruption(*run, labels, reference=kind)
    expected = reference.corruption_levels(*run, labels, kind)
    for block, level, (label, first, last) in zip(found, expected, reference.parts(labels), strict=True):
        assert (block.label, block.start, block.end) == (label, first, last)
        assert block.level == pytest.approx(float(level), rel=1e-15, abs=0.0)
        path = reference.paths(*run, first, last)[block.arm]
        spread = max(path) - min(path)
        own = spread / 2 if kind == "centre" else max(max(path) - path[0], path[0] - min(path))
        # Of two arms whose levels are the same float, either may be named.
        assert float(own) == pytest.approx(float(level), rel=1e-15, abs=0.0)


def test_what_the_last_play_of_a_block_does_is_not_the_blocks():
    calm, moved = corruption([0, 0, 0], [0.5, 0.5, 1.0], [0.5, 1.0, 1.0], [1, 1, 2])
    assert (calm.level, moved.level) == (0.0, 0.0)
    assert corruption([0, 0, 0], [0.5, 0.5, 1.0], [0.5, 1.0, 1.0], [1, 1, 1])[0].level == 0.25


def test_a_block_is_at_most_as_corrupt_as_its_variation():
    # An arm cannot be further from where it began than it has moved: the step of the paper's proof.
    log, _ = played(IMPATIENT, ma.World(ma.PowerLaw(1.0), ma.RandomWalk(size=0.05)), 1500)
    run = (log.arm, log.mean, log.next_mean)
    total = np.concatenate([[0.0], realized_variation(*run).variation])
    blocks = corruption(*run, log.block, reference="initial")
    assert len(blocks) > 20
    for block in blocks:
        assert block.level <= total[block.end] - total[block.start] + 1e-12


# ---------------------------------------------------------------- detections

rounds = st.lists(st.integers(1, 40), unique=True, max_size=12).map(sorted)


@exactly
@given(rounds, rounds)
def test_restarts_answer_the_shifts_of_the_twin(shifts, restarts):
    found = detections(shifts, restarts)
    answered, false = reference.answers(shifts, restarts)
    assert [(detection.shift, detection.restart) for detection in found] == answered
    assert list(found.false_restarts) == false
    assert list(found.missed) == [shift for shift, restart in answered if restart is None]
    assert list(found.delays) == [restart - shift for shift, restart in answered if restart is not None]
    assert len(found.delays) + len(found.false_restarts) == len(restarts)


def test_a_restart_in_the_round_of_a_shift_answers_it_at_once():
    assert list(detections([10, 20], [10, 20])) == [Detection(10, 10), Detection(20, 20)]
    assert detections([10, 20], [19])[0].delay == 9
    assert detections([10, 20], [9]).missed == (10, 20)
    assert str(detections([], [5])) == "0 of 0 shifts answered; 1 false restarts"


def test_the_shifts_of_a_run_are_taken_as_they_come():
    log, _ = played(IMPATIENT, ROTTING, 1500)
    run = (log.arm, log.mean, log.next_mean)
    shifts = significant_shifts(*run, beta=1.0)
    restarts = episodes_of_run(*run, log.episode).restarts
    found = detections(shifts, restarts)
    assert [detection.shift for detection in found] == shifts.rounds.tolist()
    assert len(found.delays) > 5
    assert len(found.delays) + len(found.false_restarts) == restarts.size


# ---------------------------------------------------------------- errors and shortest runs


def test_an_empty_run_has_no_parts():
    nothing = np.zeros(0, dtype=int)
    found = episodes_of_run(nothing, [], [], nothing)
    assert (len(found), found.regret, found.restarts.tolist()) == (0, 0.0, [])
    assert len(decomposed_regret(nothing, [], [], nothing)) == 0
    assert corruption(nothing, [], [], nothing) == []


GOOD = {"arms": [0, 1, 0], "means": [0.5] * 3, "next_means": [0.5] * 3}


@pytest.mark.parametrize(
    ("function", "change", "message"),
    [
        (episodes_of_run, {"episode_of_round": [1, 2]}, "arms has 3 rounds but episode_of_round has 2; give one entry"),
        (
            episodes_of_run,
            {"episode_of_round": [1, 2, 1]},
            "must not decrease, but goes from 2 to 1 in round 3; number",
        ),
        (episodes_of_run, {"episode_of_round": [1.0, 1, 1]}, "episode_of_round must hold whole numbers, not float64"),
        (episodes_of_run, {"episode_of_round": [1, 1, 1], "blocks": [2, 1, 1]}, "blocks must not decrease"),
        (episodes_of_run, {"episode_of_round": [1, 1, 1], "top": 2.0}, r"top must lie in \[0, 1\], not 2.0"),
        (episodes_of_run, {"episode_of_round": [1, 1, 2], "notes": [{"round": 1}]}, "restart after round 1, where no"),
        (
            episodes_of_run,
            {"episode_of_round": [1, 1, 2], "notes": [{}]},
            r"each of the notes must have a round, not {}",
        ),
        (
            episodes_of_run,
            {"episode_of_round": [1, 1, 2], "notes": {"round": 2}},
            r"notes must be a list with one note for each restart, not {'round': 2}; put one alone in \[\]",
        ),
        (
            episodes_of_run,
            {"episode_of_round": [1, 1, 2], "notes": 5},
            "notes must be a list with one note for each re",
        ),
        (episodes_of_run, {"episode_of_round": [1, 1, 2], "notes": [1]}, "each of the notes must have a round, not 1"),
        (
            episodes_of_run,
            {"episode_of_round": [1, 1, 2], "notes": [{"round": 2, "statistic": 1.0, "threshold": None}]},
            "threshold of a note must be a number, not None; leave threshold out if not known",
        ),
        (episodes_of_run, {"episode_of_round": [1, 1, 2], "notes": [{"round": [2]}]}, r"round of a note .* not \[2\]"),
        (decomposed_regret, {"parts": [1, 1, 1], "best": "arm"}, "best must be one of 'round', 'initial', not 'arm'"),
        (decomposed_regret, {"parts": [1, 1, 1], "unplayed": [0, 0]}, "unplayed has 2 entries but there are 1 parts"),
        (decomposed_regret, {"parts": [1, 1, 1], "unplayed": [2]}, r"unplayed must lie in \[0, 1\], not 2.0"),
        (
            decomposed_regret,
            {"parts": [1, 1, 1], "unplayed": 0.95},
            "unplayed must be a list with one entry for each part",
        ),
        (decomposed_regret, {"parts": [1, 2, 2], "unplayed": [0, math.nan]}, "not nan in part 2"),
        (decomposed_regret, {"parts": [3, 2, 1]}, "parts must not decrease, but goes from 3 to 2 in round 2"),
        (corruption, {"blocks": [1, 1, 1], "reference": "mean"}, "reference must be one of 'centre', 'initial', not"),
        (corruption, {"blocks": [1, 1, 1], "means": [0.5, 2.0, 0.5]}, "not 2.0 in round 2; scale rewards"),
    ],
)
def test_bad_runs_are_refused_by_name(function, change, message):
    with pytest.raises(ValueError, match=message):
        function(**GOOD | change)


@pytest.mark.parametrize(
    ("shifts", "restarts", "message"),
    [
        ([3, 2], [], "shifts must increase, but 3 is followed by 2; sort them and leave out doubles"),
        ([], [4, 4], "restarts must increase, but 4 is followed by 4"),
        ([0, 2], [], "the first of the shifts must be a whole number of at least 1, not 0"),
        ([1.5], [], "shifts must hold whole numbers, not float64; give rounds, counted from 1"),
        ([], [[5]], "restarts must be a list with one entry for each restart, not of shape"),
        ([2**62 + 1], [], "shifts must lie between -2\\^62 and 2\\^62, not 4611686018427387905"),
    ],
)
def test_bad_rounds_are_refused_by_name(shifts, restarts, message):
    with pytest.raises(ValueError, match=message):
        detections(shifts, restarts)


def test_results_are_sequences_whose_slices_are_tuples():
    run = ([0, 1, 0], [0.0] * 3, [0.0] * 3)
    for found in (
        episodes_of_run(*run, [1, 2, 3]),
        decomposed_regret(*run, [1, 2, 3]),
        detections([1, 2, 3], []),
        significant_shifts([0] * 4, [0.0] * 4, [0.0] * 4, beta=1.0),
    ):
        entries = tuple(found)
        assert isinstance(found, Sequence)
        assert len(entries) == len(found) == 3
        for part in (slice(None), slice(1, None), slice(-2, 9), slice(None, None, -1), slice(5, 9)):
            assert found[part] == entries[part]
        assert (found[-1], found[np.int64(1)]) == (entries[2], entries[1])
        assert tuple(reversed(found)) == entries[::-1]
        assert entries[1] in found
        assert (found.index(entries[1]), found.count(entries[1])) == (1, 1)
        with pytest.raises(TypeError):
            found["a"]


def test_places_that_are_not_there_are_named():
    found = episodes_of_run([0], [0.5], [0.5], [1])
    with pytest.raises(IndexError, match="no episode at place 1; there are 1"):
        found[1]
    with pytest.raises(IndexError, match="no part at place 3; there are 1"):
        decomposed_regret([0], [0.5], [0.5], [1])[3]
    with pytest.raises(IndexError, match="no shift at place 0; there are 0"):
        detections([], [])[0]
