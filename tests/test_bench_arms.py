"""What a round of every policy and base costs: that all are timed, with as many arms as is said. No speed is tested."""

import json

import pytest

import manyarms as ma
from manyarms import bench, bench_arms, ledger
from manyarms.cli import main
from manyarms.specs import SPEC_TYPES


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(bench, "ROUNDS", 60)
    monkeypatch.setattr(bench_arms, "ROUNDS_FOR_AN_ARM", 20)
    monkeypatch.setattr(ma.META, "most_arms", 2)


def test_every_policy_and_base_of_the_package_is_timed_once():
    specs = bench_arms.entrants()
    package = {
        spec_type
        for spec_type in SPEC_TYPES.values()
        if spec_type.kind in ("policy", "base")
        and spec_type.__module__.startswith(("manyarms.policies.", "manyarms.bases."))
    }
    assert sorted(type(spec).__name__ for spec in specs.values()) == sorted(
        spec_type.__name__ for spec_type in package - {ma.Subsample}
    )


@pytest.mark.parametrize(
    ("spec", "played"),
    [
        (ma.KLUCB(), ma.Subsample(base=ma.KLUCB(), beta=1.0, arms=7, horizon=140)),
        (ma.SSUCB(beta=1.0), ma.SSUCB(beta=1.0, arms=7, horizon=140)),
        (ma.CBT(beta=1.0), ma.CBT(beta=1.0, horizon=140)),
        (ma.Forager(), ma.Forager()),
    ],
)
def test_who_can_be_told_plays_with_so_many_arms_and_the_others_for_as_long(spec, played):
    assert bench_arms.playing(spec, 7) == played


@pytest.mark.usefixtures("uncompiled")
def test_everything_is_measured_and_shown(monkeypatch):
    monkeypatch.setattr(bench_arms, "LONGEST_S", 1e9)
    figures = bench_arms.measure([2, 3], turns=1)
    json.dumps(figures)
    labels = bench_arms.entrants()
    expected = {(label, arms) for label in labels for arms in (2, 3)} - {("META()", 3)}
    assert set(figures["policies"]) == {bench_arms.figure_name(label, arms) for label, arms in expected}
    for label, arms in expected:
        found = figures["policies"][bench_arms.figure_name(label, arms)]
        assert found["ns"] > 0
        assert found["ratio"] > 0
        assert (found["arms"], found["rounds"]) == (arms, 20 * arms)
        if bench_arms.takes_arms(labels[label]):
            assert found["kept"] == arms
    told, own, *_ = (part.splitlines() for part in bench_arms.report(figures).split("\n\n"))
    assert [line.partition("  ")[0] for line in told[1:] + own[1:]] == sorted(
        labels, key=lambda label: not bench_arms.takes_arms(labels[label])
    )
    [refused] = [line for line in told if line.startswith("META()")]
    assert "at most 2 arms" in refused
    assert told[0].split("  ")[-1].strip() == own[0].split("  ")[-1].strip() == "growth"
    assert "only" not in bench_arms.report(figures)


@pytest.mark.usefixtures("uncompiled")
def test_of_slow_ones_the_first_rounds_are_timed_in_a_third_of_the_turns(monkeypatch):
    monkeypatch.setattr(bench_arms, "LONGEST_S", 0.0)
    monkeypatch.setattr(bench_arms, "entrants", lambda: {"Greedy()": ma.Greedy()})
    turns = {}

    def counted(timed, turns_taken):
        turns[tuple(timed)] = turns_taken
        return bench.costs(timed, turns_taken)

    monkeypatch.setattr(bench_arms, "costs", counted)
    figures = bench_arms.measure([5], turns=7)
    assert turns == {("Greedy(), 5 arms",): 2}
    assert figures["policies"]["Greedy(), 5 arms"]["rounds"] == 20
    timing = bench_arms.timing_with(ma.Greedy(), 5)
    assert timing.spec.horizon == 100  # it knows of the whole run
    assert "the first 4 rounds for each arm only: Greedy(), 5 arms" in bench_arms.report(figures)


def test_the_command_measures_with_the_arms_it_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench, "require_compiler", lambda: None)
    asked = []

    def measured(arms, turns, say):
        asked.append((arms, turns))
        return {"machine": {"processor": "one"}, "policies": {"A, 2 arms": {"ratio": 2.0, "rounds": 1, "arms": 2}}}

    monkeypatch.setattr(bench_arms, "measure", measured)
    monkeypatch.setattr(bench_arms, "report", lambda figures: "a table")
    path = tmp_path / "ledger.jsonl"
    assert main(["bench", "--arms", "2", "30", "--turns", "4", "--ledger", str(path)]) == 0
    assert asked == [([2, 30], 4)]
    assert "a table" in capsys.readouterr().out
    [entry] = ledger.read(path, pytest.fail)
    assert entry["policies"]["A, 2 arms"]["arms"] == 2


def test_the_command_refuses_no_arms(monkeypatch, capsys):
    monkeypatch.setattr(bench, "require_compiler", lambda: None)
    monkeypatch.setattr(bench_arms, "entrants", lambda: pytest.fail("something was timed"))
    assert main(["bench", "--arms", "100", "0"]) == 2
    assert "bench: arms must be a whole number of at least 1, not 0" in capsys.readouterr().err
