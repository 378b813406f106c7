"""The plan: what it says, with which candidates, and the command from file to picture."""

import json

import numpy as np
import pandas as pd
import pytest

import manyarms as ma
from manyarms.cli import main
from manyarms.lab import plan
from manyarms.lab.planning import plan as planning
from manyarms.lab.planning.candidates import Candidate, Earned, candidates, finalists, prior_of, world_of
from manyarms.lab.planning.counts import read_counts
from manyarms.lab.planning.estimate import estimated_catalogue
from manyarms.lab.planning.words import in_python

pytestmark = pytest.mark.once


def sample(items=150, wear=0.0, buckets=1, seed=3):
    """Items with click rates around 10 %, played some 60 times each."""
    random = np.random.default_rng(seed)
    rates = random.beta(1.5, 14.0, items)
    rows = []
    for bucket in range(buckets):
        plays = np.full(items, 60 // buckets)
        now = rates * (1.0 - wear) ** (bucket * plays + plays / 2.0)
        rows.append(
            pd.DataFrame({"item": range(items), "time": bucket, "plays": plays, "reward": random.binomial(plays, now)})
        )
    return pd.concat(rows) if buckets > 1 else rows[0].drop(columns="time")


TWO = {
    "all of it": ma.Subsample(ma.Greedy(), beta=1.0, arms=40),
    "one item": ma.Subsample(ma.Greedy(), beta=1.0, arms=1),
}


@pytest.fixture
def short(monkeypatch, uncompiled):
    """Few draws of the catalogue, in plain Python."""
    monkeypatch.setattr(planning, "QUICK_SIMULATED", 3)
    monkeypatch.setattr("manyarms.lab.planning.candidates.MOST_REPLICATIONS", 1)


def test_every_usual_candidate_plays_and_the_best_is_chosen(short):
    said = []
    found = plan(sample(), 80, quick=True, seed=1, say=said.append)
    rewards = [one.reward.value for one in found.prospects if one.behind >= 0.0]
    assert found.choice.reward.value == max(rewards)
    assert found.choice.behind == 0.0
    families = {one.name.split(",")[0] for one in found.prospects}
    assert families == {"Forager", "SSUCB", "Greedy", "EpsilonGreedy", "KLUCB", "Thompson"}
    assert len(said) == 3
    text = str(found)
    assert f"Use {in_python(found.choice.policy)}." in text
    assert "cannot be told without a column of times" in text
    assert "random items" in text
    assert str(plan(sample(), 80, quick=True, seed=1)) == text


def test_a_plan_prefers_what_is_clearly_better_and_says_by_how_much(short):
    found = plan(sample(), 400, policies=TWO, quick=True, seed=2)
    assert [one.name for one in found.prospects] == ["all of it", "one item"]
    assert found.prospects[1].behind > 0.1
    assert found.choice.items == 40
    for interval in (found.choice.reward, found.choice.over_random, found.catalogue.mean, found.catalogue.best):
        assert interval.low < interval.value < interval.high
    assert found.choice.reward.value / found.random.value == pytest.approx(found.choice.over_random.value, rel=0.1)


def test_the_intervals_hold_the_truth():
    found = estimated_catalogue(read_counts(sample(items=600)), np.random.default_rng(4))
    # Beta(1.5, 14): its mean, and its quantiles by scipy.stats.beta.ppf. Each interval holds its truth some 19 times of
    # 20, so that with the wrong seed one of five may not; verification/plan.py counts.
    truths = {"half": 0.0797, "one in ten": 0.1971, "one in a hundred": 0.3286}
    assert found.mean.low < 1.5 / 15.5 < found.mean.high
    assert all(found.exceeded_by[who].low < truth < found.exceeded_by[who].high for who, truth in truths.items())
    assert found.best.low < 0.4133 < found.best.high  # exceeded by one in 600
    assert not found.were_chosen


def test_wear_is_seen_said_and_played(short):
    found = plan(sample(items=200, wear=0.03, buckets=6), 100, policies=TWO, quick=True)
    wear = found.catalogue.wear
    assert wear.is_seen
    assert wear.low < 0.03 < wear.high
    assert "of their rate with a play (" in found.in_words()
    drift = world_of(found.catalogue, found.catalogue.draws[0], ma.AtOnce()).drift
    assert isinstance(drift, ma.Rotting)
    assert float(drift.rate.removesuffix("%")) == pytest.approx(100.0 * found.catalogue.draws[0].wear)
    still = plan(sample(items=100, buckets=3), 50, policies=TWO, quick=True)
    assert "No wear can be seen; at most" in still.in_words()


def test_plays_that_went_to_good_items_are_noticed(short):
    random = np.random.default_rng(5)
    rates = random.beta(1.5, 14.0, 300)
    plays = np.where(rates > 0.15, 400, 20)
    found = plan(
        {"item": range(300), "plays": plays, "reward": random.binomial(plays, rates)}, 50, policies=TWO, quick=True
    )
    assert found.catalogue.were_chosen
    assert "plays were not spread by chance" in str(found)


def test_a_stock_cuts_sizes_and_leaves_out_who_wants_more(short):
    wants = {"greedy": ma.Subsample(ma.Greedy(), beta=1.0, arms=10), "fresh": ma.UniformPlay()}
    found = plan(sample(), 100, stock=20, policies=wants, quick=True)
    assert [one.name for one in found.prospects] == ["greedy"]
    assert found.left_out == {"fresh": 100.0}
    assert "fresh is left out: it plays some 100 items, and there are 20" in str(found)
    assert found.catalogue.best_of == 20
    sizes = [one.arms for one in candidates(100_000, 300, (1.0, 9.0)) if one.family == "Greedy"]
    assert sizes == [4, 16, 64, 256, 300]


def test_who_goes_on_is_nearly_the_best_or_the_best_of_another_family():
    def earned(family, arms, reward):
        return Earned(Candidate(family, ma.Forager(), arms), np.array([reward, reward]), np.array([1.0, 1.0]))

    tried = [
        earned("A", 4, 0.5),
        earned("A", 16, 1.0),
        earned("A", 64, 0.99),
        earned("B", 4, 0.2),
        earned("B", 16, 0.3),
    ]
    near, others = finalists(tried)
    assert [one.candidate.arms for one in near] == [16, 64]
    assert [(one.candidate.family, one.candidate.arms) for one in others] == [("B", 16)]


def test_the_prior_of_thompson_has_the_moments_of_the_catalogue():
    found = estimated_catalogue(read_counts(sample(items=600)), np.random.default_rng(6))
    a, b = prior_of(found)
    mean = found.masses @ found.rates
    assert a / (a + b) == pytest.approx(mean)
    assert a * b / ((a + b) ** 2 * (a + b + 1.0)) == pytest.approx(found.masses @ (found.rates - mean) ** 2)


@pytest.mark.parametrize(
    ("settings", "feedback"),
    [
        ({"delay": 7}, ma.Delayed(7)),
        ({"batch": 5}, ma.Batches(5)),
        ({}, ma.AtOnce()),
    ],
)
def test_answers_come_as_they_are_said_to(short, settings, feedback):
    assert plan(sample(items=20), 30, policies=TWO, quick=True, **settings).feedback == feedback


def test_answers_come_as_late_as_they_did(short):
    frame = sample(items=40).assign(delay=[5, 10, 10, 40] * 10)
    found = plan(frame, 30, policies=TWO, quick=True)
    assert found.catalogue.delays == (10.0, 40.0, 40.0)
    assert found.feedback.rounds.median == 10.0
    assert found.feedback.longest == 40
    assert "Half of the answers came within 10 rounds" in str(found)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delay": 3, "batch": 3}, "leave out delay or batch"),
        ({"stock": 1}, "stock must be at least 2"),
        ({"rounds": 0}, "rounds"),
        ({"batch": -1}, "batch"),
    ],
)
def test_settings_are_checked_before_anything_is_read(settings, words):
    with pytest.raises(ValueError, match=words):
        plan("nowhere.csv", **settings)


def test_the_command_goes_from_a_file_to_words_and_a_picture(short, tmp_path, capsys):
    path, picture = tmp_path / "counts.csv", tmp_path / "plan.png"
    sample(items=60).rename(columns={"plays": "Impressions", "reward": "hits"}).to_csv(path, index=False)
    assert main(["plan", str(path), "--quick", "--rounds", "40", "--reward", "hits", "--out", str(picture)]) == 0
    printed = capsys.readouterr()
    assert "Over 40 rounds it plays about" in printed.out
    assert f"The picture is {picture}" in printed.out
    assert "… 60 items with 3,600 plays" in printed.err
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_command_reads_parquet_and_speaks_json(short, tmp_path, capsys):
    path = tmp_path / "counts.parquet"
    sample(items=60, buckets=2).to_parquet(path)
    assert main(["plan", str(path), "--quick", "--rounds", "40", "--stock", "30", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"items": 60, "plays": 3600.0}
    assert found["candidates"][0]["reward"]["low"] < found["candidates"][0]["reward"]["high"]
    assert found["stock"] == found["reservoir"]["best"]["of"] == 30
    assert {"value", "low", "high", "is_seen", "chance_of_none"} == set(found["wear"])
    assert f"Use {in_python(ma.spec_from_json(found['candidates'][0]['policy']))}." in found["in_words"]


def test_what_was_read_otherwise_than_one_may_think_is_printed_at_once_and_above_the_plan(short, tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("item,reward\n" + "a,1\nb,0\nb,1\nc ,0\nc,0\n" * 5)
    notes = [
        "No column looks like plays (there are 'item', 'reward'), so each of the 25 rows is taken for one play.",
        "1 item is written with blanks and without, such as 'c' and 'c ': rows of both are added up.",
    ]
    assert main(["plan", str(path), "--quick", "--rounds", "20"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[:2] == notes
    assert printed.out.splitlines()[2].startswith("3 items were played 25 times")
    assert printed.err.splitlines()[:2] == [f"… {note}" for note in notes]
    found = plan(path, 20, policies={"fresh": ma.UniformPlay()}, quick=True).to_json()
    assert found["notes"] == notes
    assert plan(sample(), 20, policies={"fresh": ma.UniformPlay()}, quick=True).to_json()["notes"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv"], "there is no such file"),
        (["counts.csv", "--out", "plan.gif"], "must end in"),
        (["counts.csv", "--time", "when"], "no column 'when'"),
    ],
)
def test_what_is_wrong_is_one_line_of_the_command(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    sample(items=5).to_csv("counts.csv", index=False)
    assert main(["plan", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_forager_plays_a_stock_and_is_called_as_it_is_used_live(short):
    found = plan(sample(), 60, stock=20, quick=True, seed=1)
    assert "Forager" not in found.left_out
    [forager] = [one for one in found.prospects if one.name == "Forager"]
    assert forager.policy == ma.Forager()
    assert forager.items <= 20
    played = next(one for one in candidates(60, 20, (1.0, 9.0)) if one.family == "Forager").policy
    assert (played.stock, played.keep >= 20) == (20, True)


def test_rare_rewards_give_intervals_that_can_be_and_a_warning(short):
    counts = {"item": range(300), "plays": [400] * 300, "reward": [int(n % 10 == 0) for n in range(300)]}
    found = plan(counts, 200, policies=TWO, quick=True, seed=1)
    assert all(one.reward.high < 1.0 for one in found.prospects)
    assert "so few rewards are to be expected in 200 rounds that chance decides" in str(found)


def test_rates_in_place_of_sums_and_files_of_excel_are_noticed(short, tmp_path):
    counts = {"item": range(300), "plays": [400] * 300, "reward": [0.01 * (n % 7) for n in range(300)]}
    assert "they look like rates" in str(plan(counts, 50, policies=TWO, quick=True))
    path = tmp_path / "counts.xlsx"
    path.write_bytes(b"PK\3\4 and more")
    with pytest.raises(ValueError, match="looks like a file of Excel; save it as CSV"):
        plan(path)


def test_more_items_than_the_file_has_are_pointed_out(short):
    found = plan(sample(items=30), 400, policies={"fresh": ma.UniformPlay()}, quick=True)
    assert "it plays more items than the 30 of the file" in str(found)
