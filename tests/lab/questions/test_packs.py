"""Published experiments and the paper's remarks as studies: their worlds, their settings, and what reports say."""

import itertools
import math

import numpy as np
import pytest

import manyarms as ma
from manyarms import lab
from manyarms.contract import Play, begin, moved
from manyarms.lab.pages.report import findings, report
from manyarms.lab.questions import bayati, coins, figure_1_june, kim, remark_bounds, remarks
from manyarms.lab.questions.coded_indices import CodedUCB, StaleUCB
from manyarms.lab.questions.known import Known, agreement, place_of
from manyarms.lab.questions.published import BlockClock, Capped, OwnClock, SameArms, Unbounded
from manyarms.lab.questions.restless import Restless
from manyarms.trace import COLUMNS
from tests.lab.pages.test_report import made_up
from tests.lab.questions.test_rates import result_of

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("uncompiled")]

KNOWN = {
    "figure-1-june-published": figure_1_june.KNOWN,
    "figure-1-june-described": figure_1_june.KNOWN_DESCRIBED,
    "bayati-2020": bayati.KNOWN,
    "kim-2022": kim.KNOWN_2022,
    "kim-2024": kim.KNOWN_2024,
    "berry-1997": coins.KNOWN_BERRY,
    "chan-hu-2018": coins.KNOWN_CHAN_HU,
}
REMARKS = (
    "remark-elimination",
    "remark-kappa-2",
    "remark-unplayed",
    "remark-blackbox-rates",
    "remark-probability",
    "remark-corruption",
)


def log_of(policy, world, rounds, seed=2):
    return ma.simulate({"it": policy}, world, rounds, 1, seed=seed, log=True).log("it")


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", [*KNOWN, *REMARKS])
def test_every_study_is_listed_and_has_findings(name):
    assert name in lab.study_names()
    study = lab.named_study(name)
    assert lab.Study.from_json(study.to_json()) == study
    results = made_up(study.replace(checkpoints=2), replications=3)
    study = results[0].study
    found = findings(results)
    assert found
    assert all(section.tables for section in found)
    page = report(results[:3], "", found)  # of all cells it would take seconds
    assert found[0].heading in page
    if name in KNOWN:
        places = {place_of(cell) for cell in study.cells}
        assert set(KNOWN[name]) <= places
        numbers = [row["known"] for section in found for row in section.tables[0].rows]
        assert sum(number != "" for number in numbers) == len(KNOWN[name])


def test_agreement_says_how_far_apart_we_are():
    study = lab.named_study("berry-1997").replace(replications=5, checkpoints=1)
    place = place_of(study.cells[0])
    one, other = result_of(study, 0, 22.0), result_of(study, 1, 30.0)
    rows = agreement([one, other], {place: Known(20.0, "formula")}).rows
    assert [row["apart"] for row in rows] == ["+10.0 %", ""]
    assert [row["known"] for row in rows] == ["20", ""]
    assert rows[0]["regret"].startswith("22")


# ---------------------------------------------------------------- June


@pytest.mark.parametrize("horizon", [100, 150])
def test_in_the_abrupt_world_the_first_rounds_take_all_and_the_others_nothing(horizon):
    world = ma.World(ma.PowerLaw(beta=1.0), figure_1_june.abrupt(horizon), ma.Exact())
    log = log_of(ma.UniformPlay(), world, 60)
    first = math.isqrt(horizon) + 1  # t = 0, 1, ..., floor(sqrt(T))
    assert (log.next_mean[:first] == 0.0).all()
    assert (log.next_mean[first:] == log.mean[first:]).all()
    assert (log.mean > 0.0).all()


def test_the_policies_of_june():
    sizes = {}
    for beta in (0.8, 1.0, 1.2):
        policies = figure_1_june.published_policies(beta, 100_000)
        sizes[beta] = policies["SSUCB-SW"].arms
        assert policies["SSUCB-SW"].base == StaleUCB(window=316)
    assert sizes == {0.8: 316, 1.0: 316, 1.2: 533}
    cells = {(c.world_name, c.policy_name): c for c in lab.figure_1_june("published", [1.0], [10_000]).cells}
    assert isinstance(cells["abrupt, beta 1", "Elimination"].policy, Capped)
    assert isinstance(cells["abrupt, beta 1", "Blackbox(UCB)"].world, SameArms)
    assert cells["rotting by 100/t, beta 1", "AUCBT-ASW"].world.drift == BlockClock(ma.Rotting("100/t"), 100)
    assert cells["abrupt, beta 1", "SSUCB"].world.drift == figure_1_june.abrupt(10_000)
    described = lab.figure_1_june("described", [1.0], [10_000]).cells
    assert len({cell.world for cell in described}) == 2
    with pytest.raises(ValueError, match="described"):
        lab.figure_1_june("imagined")


def test_subsamples_of_june():
    # Elimination: min(ceil(2^((m + 1) / 2)), 2^m) at beta 1; Blackbox: ceil(2^(m / 2)); no logarithm in either.
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    policies = figure_1_june.published_policies(1.0, 510)
    for name, size in (
        ("Elimination", lambda m: min(2 ** ((m + 1) / 2), 2**m)),
        ("Blackbox(UCB)", lambda m: 2 ** (m / 2)),
    ):
        result = ma.simulate({"it": policies[name]}, world, 510, 1, seed=1)  # blocks 1 to 8, and no restart
        drawn = sum(math.ceil(size(m) - 1e-9) for m in range(1, 9))
        assert result.final("it", "restarts")[0] == 0
        # The block after the last round may have been opened already.
        assert result.final("it", "arms")[0] in (drawn, drawn + math.ceil(size(9) - 1e-9))


# ---------------------------------------------------------------- clocks, and means without a floor


def test_an_own_clock_counts_the_plays_of_an_arm():
    world = ma.World(ma.Uniform(0.8, 1.0), OwnClock(ma.Rotting("0.1/t")), ma.Exact())
    log = log_of(ma.Subsample(base=ma.UCB(), beta=1.0, arms=3), world, 30)
    for arm in range(3):
        plays = np.flatnonzero(log.arm == arm)
        falls = log.mean[plays] - log.next_mean[plays]
        assert falls == pytest.approx(0.1 / np.arange(1, plays.size + 1))


def test_a_block_clock_kills_where_a_block_begins_however_late():
    drift = BlockClock(figure_1_june.abrupt(100), length=20)
    log = log_of(ma.UniformPlay(), ma.World(ma.PowerLaw(beta=1.0), drift, ma.Exact()), 80)
    rounds = np.arange(1, 81)
    killed = (rounds <= 11) | (rounds % 20 == 1)
    assert ((log.next_mean == 0.0) == killed).all()


@pytest.mark.parametrize("clock", [OwnClock, lambda drift: BlockClock(drift, 5)])
def test_a_clock_begins_the_drift_it_is_of(clock):
    spec = clock(ma.Adversary(patience=30, size=0.5))  # which remembers the run
    play = Play(round=1, arm=3, plays=0, mean=0.5, reward=0.5, key=1)
    drift, _ = moved(spec.start(), play, None)
    assert drift != spec.start()
    assert begin(drift, 7) == spec.start()


def test_means_without_a_floor():
    parts = ma.PowerLaw(beta=1.0), ma.Rotting(0.3), ma.Exact()
    policy = ma.Subsample(base=ma.Greedy(), beta=1.0, arms=1)
    free, bounded = log_of(policy, Unbounded(*parts), 20), log_of(policy, ma.World(*parts), 20)
    assert free.mean == pytest.approx(free.mean[0] - 0.3 * np.arange(20))
    assert bounded.mean == pytest.approx(np.maximum(free.mean, 0.0))
    result = ma.simulate({"it": policy}, Unbounded(*parts), 20, 1, seed=2)
    assert result.final_regret("it")[0] == pytest.approx((1.0 - free.mean).sum())


def test_the_clocks_of_kim_2024_concern_two_cells_alone():
    cells = {c.policy_name: c for c in kim.kim_2024(horizons=[10_000]).cells if c.world_name == "beta 1"}
    rate = ma.Rotting(f"{1.0 / math.log(10_000)!r}/t")
    drifts = {name: cell.world.drift for name, cell in cells.items()}
    assert drifts.pop("SSUCB, own clock") == OwnClock(rate)
    assert drifts.pop("AUCBT-ASW, block clock") == BlockClock(rate, 100)
    assert set(drifts.values()) == {rate}
    assert all(isinstance(cell.world, Unbounded) for cell in cells.values())
    assert cells["SSUCB"].policy.arms == 100


def test_the_settings_of_bayati():
    some, all_of_them = bayati.on_some("coins", 20_000), bayati.on_all(3_000, 0.5)
    assert {policy.arms for policy in some.values()} == {141}
    assert some["SS-UCB as coded"].base == CodedUCB(sigma=0.5)
    assert some["SS-UCB as in the book"].base == ma.AsymptoticUCB(sigma=0.5)
    gaussian = bayati.on_some("Gaussian", 20_000)
    assert gaussian["SS-Greedy"].arms == 736
    assert gaussian["SS-TS"].base == ma.GaussianThompson(sigma=1.0, prior=(0.5, 0.25))
    assert gaussian["UCB-F"] == some["UCB-F"]
    assert {policy.arms for policy in all_of_them.values()} == {3_000}


# ---------------------------------------------------------------- arms that move while they wait


def test_restless_arms_move_in_every_round():
    world = Restless(ma.Uniform(0.6, 1.0), ma.Rotting(0.01), ma.Exact())
    log = log_of(ma.Subsample(base=ma.UCB(), beta=1.0, arms=4), world, 120)
    assert np.unique(log.arm).size == 4
    for arm in range(4):
        rounds = np.flatnonzero(log.arm == arm)
        waited = rounds - rounds[0]
        assert log.mean[rounds] == pytest.approx(np.maximum(log.mean[rounds[0]] - 0.01 * waited, 0.0))


def test_restless_arms_know_the_round():
    # 1/t at round t, played or not: from round s to round t the sum of 1/s … 1/(t-1).
    world = Restless(ma.Uniform(0.99, 1.0), ma.Rotting("0.3/t"), ma.Exact())
    log = log_of(ma.Subsample(base=ma.UCB(), beta=1.0, arms=3), world, 40)
    lost = np.concatenate([[0.0], np.cumsum(0.3 / np.arange(1, 41))])  # before round t, at t - 1
    for arm in range(3):
        rounds = np.flatnonzero(log.arm == arm)
        expected = log.mean[rounds[0]] - (lost[rounds] - lost[rounds[0]])
        assert log.mean[rounds] == pytest.approx(np.maximum(expected, 0.0))


def test_restless_arms_break_as_often_as_they_should():
    # Arms are played in turn and wait meanwhile: one is alive after n rounds with probability 0.99^n.
    world = Restless(ma.Uniform(0.5, 1.0), ma.Crash(probability=0.01, to=0.0), ma.Exact())
    sweep = ma.Blackbox(base=ma.SuccessiveElimination(), beta=1.0, preset="paper", horizon=2**20)
    alive = played = 0
    for seed in range(30):
        log = log_of(sweep, world, 254, seed)
        for arm in np.unique(log.arm):
            rounds = np.flatnonzero(log.arm == arm)
            for before, now in itertools.pairwise(rounds):
                if log.mean[before] > 0.0:
                    played += 1
                    alive += (log.mean[now] > 0.0) - 0.99 ** (now - before)
    # A sum of `played` independent errors of variance at most 1/4 each, by four standard deviations.
    assert played > 2_000
    assert abs(alive) < 4.0 * math.sqrt(played / 4.0)


def test_whoever_never_returns_meets_the_same_world():
    parts = ma.PowerLaw(beta=1.0), ma.Crash(probability=0.02), ma.Bernoulli()
    policy = ma.AUCBTASW(width=0.1)
    rested, restless = log_of(policy, ma.World(*parts), 300), log_of(policy, Restless(*parts), 300)
    assert np.unique(rested.arm).size > 5
    assert rested.mean.tolist() == restless.mean.tolist()
    assert rested.reward.tolist() == restless.reward.tolist()


def test_restless_arms_take_their_clocks_along():
    # Elimination moves arms between slots; an arm that has moved has waited no longer than it has.
    world = Restless(ma.Uniform(0.0, 1.0), ma.Rotting(0.001), ma.Exact())
    log = log_of(ma.Elimination(beta=1.0, threshold=0.05), world, 400)
    for arm in np.unique(log.arm):
        rounds = np.flatnonzero(log.arm == arm)
        expected = np.maximum(log.mean[rounds[0]] - 0.001 * (rounds - rounds[0]), 0.0)
        assert log.mean[rounds] == pytest.approx(expected)


def test_restless_worlds_refuse_drifts_that_count_plays():
    with pytest.raises(ValueError, match="Fatigue"):
        Restless(ma.PowerLaw(beta=1.0), ma.Fatigue(after=4, rate=0.1))


# ---------------------------------------------------------------- the sums of the remarks


def test_the_least_kappa_2():
    for gap, beta in ((0.2, 1.0), (0.1, 2.0)):
        x = np.linspace(1e-4, 1.0, 100_001)
        share = 0.5 * x**beta + 0.5 * (x > gap)
        assert float(remarks.least_kappa_2(gap, beta)) == pytest.approx((share / x**beta).max(), rel=0.01)
    assert remarks.least_kappa_2(0.0, 1.0) == "none"


def blackbox_results(bend):
    """What the rates would be if regret grew like the theorem's exponent plus ``bend``, with three logarithms in T."""
    study = remark_bounds.blackbox_rates(5)
    found = []
    for index, cell in enumerate(study.cells):
        beta = cell.world.reservoir.beta
        tail = max(beta, 1.0)
        for direction in remark_bounds.OF_THE_BLACKBOX:
            for size in direction.sizes:
                if (direction.world_name(size, beta), direction.horizon(size)) == (cell.world_name, cell.horizon):
                    logs = math.log(size) ** 3 if direction.name == "T" else 1.0
                    regret = size ** (direction.exponent(tail) + bend) * logs
                    measures = {direction.column: size} if direction.column else {}
        found.append(result_of(study, index, regret, **measures))
    return found


@pytest.mark.parametrize(("bend", "within"), [(-0.02, "yes"), (0.02, "no")])
def test_growth_is_held_against_the_theorem(bend, within):
    rows = remark_bounds.rate_rows(blackbox_results(bend))
    assert len(rows) == 27
    assert {row["within"] for row in rows} == {within}
    small = [row for row in rows if row["beta"] == 0.5 and row["Blackbox(UCB)"] == "text"]
    assert [(row["theorem"], row["lower bound"]) for row in small] == [(0.5, 0.333), (0.333, 0.4), (0.5, 0.667)]


def test_the_quantile_that_one_replication_in_t_exceeds():
    study = remark_bounds.probability(replications=1024)
    results = []
    for index, cell in enumerate(study.cells):
        values = np.zeros((1024, len(study.rounds_kept(cell)), len(COLUMNS)))
        # 0, 1, …, 1023 times sqrt(T): one in 256 is at or above 1019, and so on.
        values[:, -1, COLUMNS.index("regret")] = np.arange(1024) * math.sqrt(cell.horizon)
        results.append(lab.CellResult(study=study, index=index, first=0, values=values))
    row = remark_bounds.quantile_rows(results)[0]
    assert row["mean"] == "511.5, 511.5, 511.5"
    assert row["1 - 1/T"] == ", ".join(f"{1023 * (1 - 1 / horizon):.1f}" for horizon in remark_bounds.HORIZONS)
    assert row["power of log T"] == pytest.approx(math.log(row["grows by"]) / math.log(1.5))
