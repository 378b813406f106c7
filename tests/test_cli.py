"""The command line: what it prints, what it writes, how it fails."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyarms import bench
from manyarms.cli import main, specs_called
from manyarms.specs import SPEC_TYPES

ROOT = Path(__file__).parent.parent
QUICK = ["reproduce", "--betas", "1", "--horizons", "300", "--replications", "3"]
TINY = """
name = "tiny"
replications = 4
horizons = [100]
[worlds.still]
reservoir = {type = "Uniform"}
[policies.uniform]
type = "UniformPlay"
"""


def test_every_policy_and_base_is_listed_with_its_first_line(capsys):
    assert main(["policies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    package = {n: t for n, t in SPEC_TYPES.items() if t.__module__.startswith("manyarms.")}
    package = {n: t for n, t in package.items() if not t.__module__.startswith("manyarms.lab.")}
    assert {row["name"] for row in rows} >= {n for n, t in package.items() if t.kind in ("policy", "base")}
    assert all(row["what"].endswith((".", "?")) for row in rows if row["name"] in package)


def test_every_part_of_a_world_is_listed(capsys):
    assert main(["worlds"]) == 0
    out = capsys.readouterr().out
    for name, spec_type in SPEC_TYPES.items():
        module = spec_type.__module__
        if spec_type.kind in ("reservoir", "drift", "noise") and module.startswith("manyarms."):
            assert (f"\n{name} " in out) == (not module.startswith("manyarms.lab."))


@pytest.mark.compiled
def test_reproduce_prints_tables_and_writes_reports(tmp_path, capsys):
    assert main([*QUICK, "--folder", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for words in ("as described", "as published", "Elimination, calibrated", "AUCBT-ASW"):
        assert words in out
    for mode in ("described", "published"):
        report = tmp_path / f"figure-1-{mode}.html"
        assert str(report) in out
        page = report.read_text(encoding="utf-8")
        assert "manyarms reproduce --mode both --betas 1.0 --horizons 300 --replications 3" in page
        assert "What the differences change" in page
    assert "Own clock" in page  # each of the differences is explained


@pytest.mark.compiled
def test_reproduce_for_machines_is_json_and_repeats_to_the_bit(tmp_path, capsys):
    texts = []
    for place in ("a", "b", "b"):
        assert main([*QUICK, "--json", "--folder", str(tmp_path / place)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] == texts[2]
    rows = json.loads(texts[0])
    assert {row["beta"] for row in rows} == {1.0}
    assert {row["mode"] for row in rows} == {"described", "published"}
    assert all(0 < row["mean"] < 300 for row in rows)
    assert set(rows[0]) == {"mode", "policy", "beta", "horizon", "mean", "sd", "published"}


@pytest.mark.compiled
def test_a_study_is_planned_run_and_kept(tmp_path, capsys):
    study = tmp_path / "tiny.toml"
    study.write_text(TINY)
    arguments = ["run", str(study), "--folder", str(tmp_path)]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["cells left"], plan["rounds left"]) == (1, 400)
    assert not (tmp_path / "tiny").exists()
    assert main([*arguments, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["policy"], row["horizon"], row["replications"]) == ("uniform", 100, 4)
    assert main([*arguments, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds left"] == 0
    assert main(arguments) == 0
    assert str(tmp_path / "tiny" / "cells") in capsys.readouterr().out


@pytest.mark.compiled
def test_a_report_and_figures_are_made_of_a_folder(tmp_path, capsys):
    study = tmp_path / "tiny.toml"
    study.write_text(TINY)
    assert main(["run", str(study), "--folder", str(tmp_path)]) == 0
    assert main(["report", str(tmp_path / "tiny"), "--figures", str(tmp_path / "figures")]) == 0
    out = capsys.readouterr().out
    page = tmp_path / "tiny" / "report.html"
    assert str(page) in out
    assert "manyarms run study.toml --replications 4 --seed 0" in page.read_text(encoding="utf-8")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_studies_are_listed(capsys):
    assert main(["studies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"figure-1-described", "figure-1-published", "rising-is-benign"} <= {row["name"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "--horizons", "0"], ["horizon", "0"]),
        (["reproduce", "--betas", "-1"], ["beta", "-1"]),
        (["reproduce", "--seed", "-5"], ["seed", "-5"]),
        (["run", "nothing"], ["nothing", "rising-is-benign"]),
        (["run", "nothing.toml"], ["nothing.toml", "rising-is-benign"]),
        (["run", "rising-is-benign", "--replications", "0"], ["replications", "0"]),
        (["run", "rising-is-benign", "--cluster", "here"], ["here", "local:N"]),
        (["check", "Nothing"], ["Nothing", "Elimination"]),
        (["check", "no_such_module:Name"], ["no_such_module:Name"]),
    ],
)
def test_bad_arguments_are_named_on_standard_error(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for word in words:
        assert word in captured.err


def test_check_finds_examples_by_type_and_ones_own_by_module():
    assert {type(spec).__name__ for spec in specs_called("Elimination")} == {"Elimination"}
    (spec,) = specs_called("manyarms:Greedy")
    assert type(spec).__name__ == "Greedy"
    with pytest.raises(LookupError, match="defaults"):
        specs_called("manyarms:Elimination")


@pytest.mark.compiled
def test_check_tells_what_was_kept(capsys):
    assert main(["check", "Exact"]) == 0
    assert "promises kept" in capsys.readouterr().out


@pytest.mark.compiled
@pytest.mark.parametrize(("file", "name"), [("policy.py", "KFailures"), ("drift.py", "Seasons")])
def test_the_skeletons_keep_their_promises(file, name):
    from manyarms.checks import checks

    described = importlib.util.spec_from_file_location(f"skeleton_{name}", ROOT / "docs" / "skeletons" / file)
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    described.loader.exec_module(module)
    made = getattr(module, name)(*([] if name == "KFailures" else [0.01, 50.0]))
    for _, check in checks(made):
        check()


def test_the_installed_command_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "manyarms.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("manyarms ")


@pytest.mark.compiled
def test_bench_measures_ratios_to_the_floor(monkeypatch):
    # The measuring is tested, not the speed: a hundredth of the rounds.
    for name in ("ROUNDS", "BLACKBOX_ROUNDS", "SHORT", "LONG"):
        monkeypatch.setattr(bench, name, 20_000)
    monkeypatch.setattr(bench, "min_seconds", lambda threads: 1.0 / threads)
    monkeypatch.setattr(bench, "in_new_process", lambda program: {"memory_mb": 1, "first_call_s": 2, "import_s": 3})
    figures = bench.measure(turns=1)
    assert set(figures) >= {"floor_ns", "policies", "growth", "threads", "memory_mb", "first_call_s"}
    assert figures["threads"] == 2.0
    for name in ("Elimination", "Blackbox(UCB)", "SSUCB"):
        found = figures["policies"][name]
        assert found["ratio"] > 0
        assert found["ns"] > 0
        assert figures["growth"][name]["ratio"] > 0
        assert name in bench.report(figures)
    json.dumps(figures)


@pytest.mark.compiled
def test_a_new_process_reports_memory_and_times():
    found = bench.in_new_process(bench.FIRST_CALL)
    assert found["first_call_s"] > 0
    assert found["import_s"] > 0
    assert bench.peak_memory_mb() > 10


def test_bench_refuses_to_time_without_the_compiler():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "manyarms.cli", "bench"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert "NUMBA_DISABLE_JIT" in done.stderr
