"""The study of corruption: its world, what it measures, and its smallest form played."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms import lab
from manyarms.lab.questions import corrupted
from manyarms.measures import corruption
from manyarms.trace import COLUMNS

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("uncompiled")]

WORLD = corrupted.Corrupted(ma.Empirical((0.5, 0.75, 0.25)), noise=ma.Exact(), top=0.75, size=0.25, rounds=40)


def log_of(world, rounds):
    policy = ma.Subsample(ma.EpsilonGreedy(epsilon=0.5), beta=1.0, arms=3)
    return ma.simulate({"it": policy}, world, rounds, 1, seed=2, log=True).log("it")


def test_means_are_off_until_the_lie_is_over_whether_or_not_arms_are_played():
    log = log_of(WORLD, 100)
    rounds = np.arange(1, 101)
    lied = {0: 0.75, 1: 0.5, 2: 0.5}
    true = {0: 0.5, 1: 0.75, 2: 0.25}
    for column, shift in ((log.mean, 0), (log.next_mean, 1)):
        expected = [
            lied[arm] if t + shift <= 40 else true[arm] for t, arm in zip(rounds, log.arm.tolist(), strict=True)
        ]
        assert column.tolist() == expected
    assert log.reward.tolist() == log.mean.tolist()


def test_the_level_is_half_of_what_means_are_off_by():
    log = log_of(WORLD, 100)
    seen = corruption(log.arm, log.mean, log.next_mean, np.ones(100, dtype=np.int64))[0].level
    assert seen == 0.125
    assert corrupted.level_of(corrupted.corrupted(0.04, 300), 1000) == pytest.approx(0.02)
    assert corrupted.budget(WORLD) == 10.0


def test_the_best_fixed_arm_is_found_in_hindsight():
    # The best arm loses 0.2 in each round of the lie; the others lose nothing then, and 0.2 in each round after it.
    for rounds, loses in ((100, 20.0), (499, 99.8), (700, 60.0), (1000, 0.0)):
        lie = corrupted.corrupted(0.2, rounds).start(10).drift
        assert corrupted.regret_of_the_best(lie, 1000) == pytest.approx(loses)


def test_the_bound_of_the_assumption_counts_the_gaps_of_four_alpha_and_more():
    logs = 9 * math.log(1000) / 0.2
    assert corrupted.bound_of_assumption(0.05, 0.2, 1000) == pytest.approx(300 + logs)
    assert corrupted.bound_of_assumption(0.051, 0.2, 1000) == pytest.approx(306)


def test_rows_say_what_regret_grows_by_once_the_lie_is_over():
    study = corrupted.corrupted_bases(replications=3)
    results = []
    for index, cell in enumerate(study.cells):
        kept = study.rounds_kept(cell)
        values = np.zeros((3, kept.size, len(COLUMNS)))
        regret = np.where(kept <= (cell.world.rounds or 0), 7.0, 107.0 + 3.0 * corrupted.budget(cell.world))
        values[:, :, COLUMNS.index("regret")] = regret - (0.0 if cell.world.rounds else 7.0)
        results.append(lab.CellResult(study=study, index=index, first=0, values=values))
    rows = corrupted.short_rows(results)
    assert len(rows) == 11
    assert [rows[0][f"C = {c}"] for c in (0, 20, 80, 320, 1280)] == [100, 160, 340, 1060, 3940]
    assert rows[0]["growth"] == pytest.approx(3.0)
    assert rows[-1]["C = 1280"] == round(math.sqrt(10 * 32_768) + 1280)


def test_the_smallest_form_of_the_study(tmp_path):
    study = corrupted.corrupted_bases(replications=2, horizon=300)
    kept = {"UCB", "BARBAR, scale 1/1024", "race, scale 0.05"}
    cells = tuple(cell for cell in study.cells if cell.policy_name in kept and cell.world_name == "lie of 100 rounds")
    small = study.replace(cells=cells, checkpoints=(100, 300))
    results = [
        lab.CellResult(
            study=small,
            index=index,
            first=0,
            values=ma.simulate({"it": cell.policy}, cell.world, cell.horizon, 2, seed=1, checkpoints=(100, 300)).values[
                "it"
            ],
        )
        for index, cell in enumerate(small.cells)
    ]
    for result in results:
        after = corrupted.regret_after(result, 100)
        assert ((after >= 0.0) & (after <= 0.2 * 200 + 1e-9)).all()  # a gap of 0.2 at most in each of 200 rounds
        # In the lie the others paid 0.2 more; the best arm is still the best fixed one, 200 rounds against 100.
        in_all = corrupted.regret_to_the_best(result)
        before = result.column("regret")[:, 0]
        assert in_all == pytest.approx(after + before - 20.0)


@pytest.mark.parametrize(("size", "rounds"), [(0.6, 10), (0.51, 10)])
def test_a_lie_that_leaves_the_range_is_refused(size, rounds):
    with pytest.raises(ValueError, match="Corrupted: size must leave all means in"):
        corrupted.corrupted(size, rounds)
    with pytest.raises(ValueError, match="Corrupted: reservoir must be an Empirical"):
        corrupted.Corrupted(ma.PowerLaw(beta=1.0))
