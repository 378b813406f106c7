"""What a policy would recommend, and its simple regret: in simulations, studies and live, and only if asked for."""

import dataclasses
import math

import numpy as np
import pytest

import manyarms as ma
from manyarms import lab
from manyarms.checks.runs import PLAIN
from manyarms.contract import ask, begin, present_mean, pull
from manyarms.lab.questions import simple_regret
from manyarms.lab.questions.published import SameArms
from manyarms.lab.questions.restless import Restless
from manyarms.lab.running.files import read_result
from manyarms.replication import begun_policy, replicate
from manyarms.streams import replication_key
from manyarms.trace import COLUMNS, SIMPLE_REGRET, columns_kept
from tests.twinned import COINS, FLIPS

SPEC = ma.QRM2(growth=0.5)
EACH = (1, 2, 7, 100, 101, 250)


@pytest.mark.compiled
def test_compiled_plain_and_live_recommend_the_same():
    compiled = replicate(SPEC, FLIPS, 250, 2, seed=3, checkpoints=EACH, recommend=True).out
    plain = replicate(SPEC, FLIPS, 250, 2, seed=3, checkpoints=EACH, recommend=True, loop=PLAIN).out
    assert compiled.tobytes() == plain.tobytes()
    world = begin(FLIPS.start(SPEC.slots(250)), replication_key(3, 1))
    bandit, gaps = ma.Bandit(SPEC, seed=3, replication=1), []
    for t in range(1, 251):
        decision = bandit.ask()
        world, _, _, reward = pull(world, decision.arm, decision.arm, t)  # an arm of this policy is in its own slot
        bandit.tell(decision, reward)
        gaps.append(FLIPS.top - world.means[bandit.recommend()])
    assert [gaps[t - 1] for t in EACH if t > 2] == plain[1, 2:, -1].tolist()  # by then all were played


def test_whoever_asks_for_it_gets_the_same_numbers_and_one_more(uncompiled):
    without = ma.simulate(SPEC, FLIPS, 120, 2, seed=5, checkpoints=4, log=True, threads=1)
    asked = ma.simulate(SPEC, FLIPS, 120, 2, seed=5, checkpoints=4, log=True, threads=1, recommend=True)
    assert asked["QRM2"].shape == (2, 4, len(COLUMNS) + 1)
    assert asked["QRM2"][:, :, :-1].tobytes() == without["QRM2"].tobytes()
    assert all(np.array_equal(*pair) for pair in zip(asked.log("QRM2", 1), without.log("QRM2", 1), strict=True))
    assert (asked.curve("QRM2", SIMPLE_REGRET) == asked["QRM2"][:, :, -1]).all()
    assert asked.summary().rows[0][SIMPLE_REGRET] == asked.final("QRM2", SIMPLE_REGRET).mean()
    assert (asked.to_frame()[SIMPLE_REGRET].to_numpy() == asked["QRM2"][:, :, -1].ravel()).all()
    with pytest.raises(KeyError, match="recommend=True"):
        without.curve("QRM2", SIMPLE_REGRET)
    assert SIMPLE_REGRET not in without.to_frame()
    with pytest.raises(ValueError, match="simulate: recommend must be"):
        ma.simulate(SPEC, FLIPS, 120, recommend="yes")


def test_who_has_no_rule_of_its_own_recommends_what_it_would_ask_for(uncompiled):
    spec = ma.UniformPlay()
    gaps = replicate(spec, COINS, 9, seed=4, checkpoints=range(1, 10), recommend=True).out[0, :, -1]
    log = replicate(spec, COINS, 10, seed=4, checkpoints=(10,), log=True).logs[0]
    assert gaps.tolist() == (1.0 - log.mean[1:]).tolist()  # in a world that stands still


@pytest.mark.once
def test_an_arm_that_was_never_played_has_its_first_mean():
    for kind in (ma.World, Restless, SameArms):
        world = begin(kind(ma.PowerLaw(beta=1.0), ma.Rotting(0.01), ma.Exact()).start(3), replication_key(1, 0))
        foreseen = present_mean(world, 2, 7, 4)
        world, mean, _, _ = pull(world, 2, 7, 4)
        assert mean == foreseen, kind
        world, mean, _, _ = pull(world, 2, 7, 9)
        assert mean == pytest.approx(foreseen - (0.05 if kind is Restless else 0.01))
        foreseen = present_mean(world, 2, 7, 20)
        assert present_mean(world, 2, 7, 20) == foreseen  # nothing was changed by looking
        assert pull(world, 2, 7, 20)[1] == foreseen


# ---------------------------------------------------------------- studies

STUDY = """
name = "which-arm"
seed = 3
replications = 3
checkpoints = 4
recommend = true
horizons = [60]
[worlds.coins]
reservoir = {type = "PowerLaw", beta = 1.0}
drift = {type = "Crash", probability = 0.0}
[policies.qrm2]
type = "QRM2"
"""


def only_result(study, folder):
    lab.run(study, folder, jobs=1)
    (path,) = folder.glob("**/*.parquet")
    return read_result(path)


def test_the_findings_of_the_study_have_every_policy_beside_the_theory(tmp_path, uncompiled):
    study = lab.named_study("simple-regret")
    few = tuple(cell for cell in study.cells if cell.horizon == 500 and cell.world_name == "beta 3")
    assert {cell.policy_name for cell in few} == {cell.policy_name for cell in study.cells}
    cells = tuple(dataclasses.replace(cell, horizon=rounds) for cell in few for rounds in (20, 60))
    small = study.replace(cells=cells, replications=3)
    lab.run(small, tmp_path, jobs=1)
    results = lab.read_all(sorted(tmp_path.glob("**/*.parquet")))
    (section,) = simple_regret.findings(results)
    rows = {row["policy"]: row for row in section.tables[0].rows}
    assert set(rows) == {cell.policy_name for cell in few}
    gaps = [result.final(SIMPLE_REGRET) for result in results if result.cell.policy_name == "OSE"]
    assert rows["OSE"]["T = 60"] == f"{gaps[1].mean():.4f}"
    assert float(rows["OSE"]["slope"].split(" ")[0].replace("−", "-")) == pytest.approx(
        math.log(gaps[1].mean() / gaps[0].mean()) / math.log(3), abs=0.0051
    )
    assert {row["theory"] for row in rows.values()} == {"-0.33"}


def test_a_study_keeps_it_if_it_says_so(tmp_path, uncompiled):
    study = lab.parse_study(STUDY)
    plain = study.replace(recommend=False)
    assert "recommend" not in plain.to_json()
    assert lab.Study.from_json(study.to_json()) == study
    assert study.digest() != plain.digest()
    assert study.columns == columns_kept(True)
    found, other = (only_result(each, tmp_path / str(each.recommend)) for each in (study, plain))
    assert found.values[:, :, :-1].tobytes() == other.values.tobytes()
    direct = ma.simulate(ma.QRM2(), study.cells[0].world, 60, 3, seed=3, checkpoints=4, threads=1, recommend=True)
    assert found.values.tobytes() == direct["QRM2"].tobytes()
    assert found.column(SIMPLE_REGRET).tobytes() == found.values[:, :, -1].tobytes()
    assert lab.to_frame([found])[SIMPLE_REGRET].iloc[-1] == found.final(SIMPLE_REGRET)[-1]
    (path,) = (tmp_path / "True").glob("**/*.parquet")
    assert lab.explain_result(path).final("regret") == found.final("regret")[0]  # it is replayed, and compared
    with pytest.raises(ValueError, match="recommend must be"):
        study.replace(recommend="yes")


# ---------------------------------------------------------------- live


@pytest.mark.once
def test_live_it_names_an_item_that_can_be_had():
    bandit = ma.Bandit(ma.Subsample(ma.Greedy(), beta=1.0, arms=3, horizon=1000), seed=1, items=["a", "b", "c"])
    assert bandit.recommend() is None  # nothing was asked for yet
    for _ in range(30):
        decision = bandit.ask()
        bandit.tell(decision, reward={"a": 0.2, "b": 0.9, "c": 0.5}[decision.key])
    before = bandit.to_json()
    assert bandit.recommend() == "b"
    bandit.ask()
    assert bandit.recommend() == "b"  # an open decision stays the newest
    assert bandit.told == 30
    bandit.pause("b")
    assert bandit.recommend() == "c"
    for key in "abc":
        bandit.withdraw(key)
    assert bandit.recommend() is None
    again = ma.Bandit.from_json(before)
    assert again.recommend() == "b"
    assert again.to_json()["policy"] == before["policy"]


@pytest.mark.once
def test_live_without_items_it_names_the_arm():
    bandit = ma.Bandit(ma.OSE(width=0.1), seed=1)
    assert bandit.recommend() == 0
    state = begun_policy(ma.OSE(width=0.1), 1024, 1, 0)
    assert bandit.ask().arm == ask(state, 1).arm
