"""The ledger of benchmarks: what is compared with what, what is a regression, and that no line is lost. No timing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyarms import ledger
from tests.gpu_extra import needs_the_extra

GPU_SCRIPT = Path(__file__).parent.parent / "benchmarks" / "gpu.py"
SETTINGS = {"horizon": 1000, "replications": 64}


def run(value, *, kind="cpu", name="A", machine=None, day="2026-11-01", commit="0123456789abcdef", **settings):
    figures = {"ratio": value, "ns": 7.0 * value} if kind == "cpu" else {"rounds_per_s": value} | SETTINGS
    machine = machine or {"processor": "any"}
    entry = ledger.new_entry(kind, commit, machine, {name: figures | settings})
    return entry | {"date": f"{day}T12:00:00+00:00"}


def test_an_entry_says_when_what_and_where():
    entry = ledger.new_entry("cpu", "c0ffee", {"processor": "one"}, {"A": {"ratio": 2.0}})
    assert entry["date"].endswith("+00:00")
    assert {name: entry[name] for name in ("commit", "kind", "machine", "policies")} == {
        "commit": "c0ffee",
        "kind": "cpu",
        "machine": {"processor": "one"},
        "policies": {"A": {"ratio": 2.0}},
    }


def test_what_is_appended_is_read(tmp_path):
    path = tmp_path / "ledger.jsonl"
    assert ledger.read(path, pytest.fail) == []
    entries = [run(2.0), run(4e10, kind="gpu", machine={"gpu": "Größer"})]
    for entry in entries:
        ledger.append(path, entry)
    assert ledger.read(path, pytest.fail) == entries
    assert len(path.read_text().splitlines()) == 2


DAMAGED = [
    b'{"date": "2026-11-01", "comm',
    b"[]",
    b"3",
    b"\xff\xfe",
    b"{}",
    json.dumps(run(2.0) | {"kind": "abacus"}).encode(),
    json.dumps(run(2.0) | {"kind": []}).encode(),
    json.dumps(run(2.0) | {"date": 3}).encode(),
    json.dumps(run(2.0) | {"machine": None}).encode(),
    json.dumps(run(2.0) | {"policies": []}).encode(),
    json.dumps(run(2.0) | {"policies": {"A": {}}}).encode(),
    json.dumps(run(2.0) | {"policies": {"A": {"ratio": "2"}}}).encode(),
    json.dumps(run(0.0)).encode(),
    json.dumps(run(float("nan"))).encode(),
    json.dumps(run(float("inf"))).encode(),
]


@pytest.mark.parametrize("damaged", DAMAGED)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_damaged_lines_are_said_and_skipped_and_kept(tmp_path, damaged, end):
    path = tmp_path / "ledger.jsonl"
    ledger.append(path, run(2.0))
    with path.open("ab") as file:
        file.write(b"\n" + damaged + end)
    ledger.append(path, run(3.0))
    said = []
    assert ledger.read(path, said.append) == [run(2.0), run(3.0)]
    [line] = said
    assert "line 3 of the ledger" in line
    assert str(path) in line
    assert path.read_bytes().splitlines()[2] == damaged


def test_a_ledger_that_cannot_be_written_is_an_error_before_anything_is_measured(tmp_path):
    for path in (tmp_path / "nowhere" / "ledger.jsonl", tmp_path):
        with pytest.raises(OSError, match=f"the ledger {path} cannot be written: .*; give a file in another folder"):
            ledger.read(path, pytest.fail)


@pytest.mark.parametrize(
    ("kind", "earlier", "now", "best", "is_worse"),
    [
        ("cpu", [2.0, 1.8, 2.1], 1.97, 1.8, False),
        ("cpu", [2.0, 1.8, 2.1], 1.99, 1.8, True),
        ("cpu", [2.0, 1.8, 2.1], 1.5, 1.8, False),
        ("gpu", [4e10, 5e10, 3e10], 4.51e10, 5e10, False),
        ("gpu", [4e10, 5e10, 3e10], 4.49e10, 5e10, True),
        ("gpu", [4e10, 5e10, 3e10], 6e10, 5e10, False),
    ],
)
def test_more_than_a_tenth_worse_than_the_best_is_a_regression(kind, earlier, now, best, is_worse):
    before = [run(value, kind=kind, day=f"2026-11-0{day}") for day, value in enumerate(earlier, 1)]
    entry = run(now, kind=kind, day="2026-11-09")
    assert ledger.best_before(entry, "A", before) == before[earlier.index(best)]
    text = ledger.report(entry, before)
    assert ("regression: A" in text) == is_worse
    assert "2026-11-02  0123456789" in text


def test_the_report_names_both_figures_and_the_better_commit():
    before = [run(1.8, commit="0123456789abcdef+changes"), run(3.0, name="B")]
    entry = run(2.2) | {"policies": {"A": {"ratio": 2.2}, "B": {"ratio": 2.9}, "new": {"ratio": 1.0}}}
    assert ledger.report(entry, before).splitlines() == [
        "policy  times the floor  best before  on          commit",
        "A       2.20             1.80         2026-11-01  0123456789+changes",
        "B       2.90             3.00         2026-11-01  0123456789",
        "new     1.00             -            -           -",
        "regression: A 2.20 times the floor, 1.80 on 2026-11-01, commit 0123456789+changes",
    ]
    assert "commit unknown" in ledger.report(run(1e9, kind="gpu"), [run(2e9, kind="gpu", commit="")])


def test_only_what_was_measured_alike_is_compared():
    ours, other = {"gpu": "H200"}, {"gpu": "T4"}
    now = run(3e10, kind="gpu", machine=ours)
    for before in (
        run(4e10, kind="gpu", machine=other),
        run(4e10, kind="gpu", machine=ours, horizon=2000),
        run(4e10, kind="gpu", machine=ours, replications=128),
        run(4e10, kind="gpu", machine=ours, name="B"),
        run(4e10, machine=ours),
    ):
        assert ledger.best_before(now, "A", [before]) is None
    alike = run(4e10, kind="gpu", machine=ours | {"python": "3.99"})
    assert ledger.best_before(now, "A", [alike]) is alike
    # Ratios to the floor are for all processors.
    assert ledger.best_before(run(2.0, machine={"processor": "a"}), "A", [run(1.0, machine={"processor": "b"})])
    assert ledger.best_before(run(2.0, rounds=10), "A", [run(1.0, rounds=20)]) is None


def test_the_commit_is_that_of_the_files(tmp_path):
    assert ledger.commit_of(tmp_path) == ""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "file.py").write_text("1")

    def git(*words):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        done = subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    assert ledger.commit_of(folder) == ""  # in a checkout, but not of it
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "ledger.jsonl").write_text("")  # beside what is measured
    assert ledger.commit_of(folder) == commit
    (folder / "more.py").write_text("2")
    assert ledger.commit_of(folder) == f"{commit}+changes"


@pytest.mark.compiled
def test_rounds_a_second_on_a_gpu_are_entered(tmp_path):
    needs_the_extra()
    path = tmp_path / "ledger.jsonl"
    sizes = ["--horizon", "30", "--replications", "2", "--turns", "1"]
    done = subprocess.run(
        [sys.executable, GPU_SCRIPT, "--quick", *sizes, "--ledger", path, "--commit", "c0ffee"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "rounds a second" in done.stdout
    [entry] = ledger.read(path, pytest.fail)
    assert (entry["kind"], entry["commit"]) == ("gpu", "c0ffee")
    blackboxes = ["Blackbox(UCB)", "Blackbox(UCB), paper"]
    assert list(entry["policies"]) == ["Elimination", "Elimination, auto", *blackboxes, "SSUCB"]
    for figures in entry["policies"].values():
        assert (figures["horizon"], figures["replications"]) == (30, 2)
