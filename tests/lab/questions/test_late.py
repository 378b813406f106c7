"""The study `late` and `verification/late.py`: their sums on results whose law is known, and on small real runs."""

import inspect

import numpy as np
import pytest

import manyarms as ma
from manyarms import lab, policies
from manyarms.contract import ask, begin, defer, settle
from manyarms.feedbacks import first_answer
from manyarms.lab.questions import late
from manyarms.replication import play_replications, replicate
from manyarms.streams import stream_key
from manyarms.trace import COLUMNS
from tests.lab.questions.test_rates import REPLICATIONS, result_of
from verification import late as verification
from verification import late_rules

COST = 0.5  # regret for each open ask


def late_results(cost=COST):
    """What the study would find if every open ask cost so much."""
    study = late.late(REPLICATIONS)
    delays = {one.called(size): one.delay(size) for one in late.LATENESSES for size in late.SIZES}
    found = []
    for index, cell in enumerate(study.cells):
        delay = delays.get(cell.world_name.partition(", ")[2], 0.0)
        result = result_of(study, index, 1_000.0, reward=late.HORIZON - 1_000.0 - cost * delay)
        result.values[:, :, 0] += cost * delay
        found.append(result)
    return found


@pytest.mark.once
def test_every_policy_meets_every_feedback():
    study = late.late()
    exported = {one for name in policies.__all__ if not inspect.isabstract(one := getattr(policies, name))}
    assert {type(cell.policy) for cell in study.cells} == exported
    worlds = dict.fromkeys(cell.world_name for cell in study.cells)
    assert len(worlds) == 2 * (1 + 3 * 3)
    assert {cell.policy_name for cell in study.cells if cell.world_name == "still, at once"} == set(late.POLICIES)
    assert all(cell.world.drift.probability == 0.0 for cell in study.cells if cell.world_name.startswith("still"))
    assert {type(cell.world.feedback) for cell in study.cells} == {ma.AtOnce, ma.Batches, ma.Delayed}
    assert lab.named_study("late") == study


def delays_of(feedback, rounds):
    """Of the answers to the first rounds."""
    rule, key = feedback.rule(), stream_key(np.uint64(7), 1, 0)
    return np.array([first_answer(rule, key, round, 1.0) for round in range(1, rounds + 1)])


@pytest.mark.parametrize("size", late.SIZES)
def test_a_delay_is_as_long_as_it_says(size):
    batches, fixed, spread = (delays_of(one.feedback(size), 5_000) for one in late.LATENESSES)
    expected = [one.delay(size) for one in late.LATENESSES]
    assert batches.mean() == pytest.approx(expected[0])
    assert set(fixed) == {size} == {expected[1]}
    # Delays up to n: by Hoeffding the mean of 5,000 is off by more than 0.05 n with probability 2 exp(-25) at most.
    assert spread.mean() == pytest.approx(expected[2], abs=0.05 * size)
    assert spread.max() <= size


@pytest.mark.once
def test_shares_and_losses_are_those_of_the_law():
    results = late_results()
    for kind in late.KINDS:
        for row in late.shares(results, kind):
            assert row["reward at once"] == "0.950"
            assert row["delays of 1,000"] == f"{18_500 / 19_000:.3f}"
            assert row["batches of 100"] == f"{(19_000 - 0.5 * 49.5) / 19_000:.3f}"
    for one in late.LATENESSES:
        rows = late.losses(results, one)
        assert [row["policy"] for row in rows] == [name for name in late.POLICIES if name not in late.YARDSTICKS]
        for row in rows:
            assert {value for name, value in row.items() if name != "policy"} == {"0.5 ± 0.0"}


@pytest.mark.once
def test_the_figure_has_a_row_for_each_world():
    figure = lab.late_figure(late_results())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["still, batches of n", "still, delays of n", "still, delays 1 to n"]
    assert titles[3:] == [title.replace("still", "crashes") for title in titles[:3]]
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == list(late.DRAWN)
        assert axes.lines[0].get_ydata()[0] == 0.95


def test_a_small_real_run(tmp_path, monkeypatch):
    monkeypatch.setattr(late, "POLICIES", {"UniformPlay": late.POLICIES["UniformPlay"]})
    monkeypatch.setattr(late, "HORIZON", 200)
    monkeypatch.setattr(late, "SIZES", (10,))
    results = [lab.read_result(path) for path in lab.run(late.late(replications=2), tmp_path)]
    (still,) = late.shares(results, "still")
    assert {value for name, value in still.items() if name not in ("policy", "reward at once")} == {"1.000"}
    sections = lab.findings(results)
    assert [section.heading for section in sections] == [
        "What is left of the reward: still",
        "What is left of the reward: crashes",
        "Regret for each open ask",
    ]
    page = lab.write_report(results, tmp_path / "report.html", sections=sections).read_text()
    assert "Regret for each open ask" in page


# ---------------------------------------------------------------- verification/late.py


@pytest.fixture
def plainly(monkeypatch):
    """In plain Python: what is compiled for a test of a few hundred rounds costs more than it saves."""

    def plain_rewards(policy, world, horizon, replications, seed):
        run = replicate(policy, world, horizon, replications, seed, loop=play_replications.function)
        return run.out[:, -1, COLUMNS.index("reward")] / horizon

    for module in (verification, late_rules):
        monkeypatch.setattr(module, "rewards", plain_rewards)
    return plain_rewards


@pytest.mark.parametrize("size", [1, 10, 64])
def test_batches_by_verbs_are_those_of_the_loop(size, plainly):
    policy = ma.Elimination(beta=1.0, threshold=0.02)
    plain = verification.play_in_batches(policy, size, 300, seed=3, replication=1)
    world = verification.CRASHES.replace(feedback=ma.Batches(size))
    assert plain.reward == plainly(policy, world, 300, 2, seed=3)[1]
    assert plain.ignored == 0.0
    assert (plain.gone > 0.0) == (size > 1)


def test_rows_say_whether_what_was_wanted_is_met(monkeypatch, plainly):
    monkeypatch.setattr(verification, "SIZES", (10,))
    (row,) = verification.batch_rows("it", ma.UniformPlay(), 200, 2, 1, seed=1)
    assert (row["share"], row["met"]) == ("1.000", "yes")
    (row,) = verification.forager_rows(200, 2, seed=1)
    assert row["met"] in ("yes", "no")


def test_conversions_are_heard_of_in_three_ways(monkeypatch, plainly):
    monkeypatch.setattr(verification, "TIMEOUT", 50)
    row = verification.conversion_row("Subsample(Greedy)", "means up to 0.1", 500, 2, seed=1)
    assert list(row)[2:] == ["at once", *verification.HEARD, "at least 0.95"]
    assert row["at least 0.95"] == ("yes" if float(row["provisional"]) >= 0.95 else "no")


@pytest.mark.compiled
def test_time_is_a_ratio(monkeypatch):
    monkeypatch.setattr(verification, "LATE", {"late": ma.Batches(5)})
    (timed,) = verification.time_rows("it", ma.UniformPlay(), 2_000, turns=1)
    assert float(timed["ratio"]) > 0.0


# ---------------------------------------------------------------- verification/late_rules.py


@pytest.mark.parametrize("name", late_rules.RULES)
def test_other_rules_play(name, monkeypatch, plainly):
    monkeypatch.setattr(late_rules, "SIZES", (8,))
    row = late_rules.rule_row(name, "crashes", late_rules.CRASHES, 200, 1, seed=1)
    assert 0.0 < float(row["batches of 8"]) < 2.0


def test_with_answers_at_once_belief_does_not_matter(plainly):
    rules = [late_rules.RULES[f"SSUCB, {rule}"] for rule in ("expected", "ignored")]
    believing, unbelieving = (plainly(rule, late_rules.CRASHES, 300, 2, seed=3) for rule in rules)
    assert believing.tolist() == unbelieving.tolist()


def test_a_block_that_waits_ends_by_answers():
    policy = late_rules.RULES["Elimination, own answers"].with_horizon(100)
    state = begin(policy.start(100), np.uint64(3))
    length = state.block.left
    for round in range(1, 3 * length):
        state, _ = defer(state, ask(state, round))
    assert (state.block.left, state.counts.blocks) == (length, 1)
    for round in range(1, length + 1):
        state = settle(state, ask(state, round), np.nan, 1.0)
    assert state.counts.blocks == 2
