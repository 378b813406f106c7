"""Nothing is lost on the way to a terminal, whatever it can show, and nothing commands it."""

import contextlib
import io
import os
import subprocess
import sys

import pytest

import manyarms as ma
from manyarms import bench, lab
from manyarms.cli import arena as arena_command
from manyarms.cli import main
from manyarms.lab.running.files import write_result, write_study
from manyarms.lab.studies.study import Study
from tests.lab.arena import test_arena
from tests.lab.pages.test_report import made_up

pytestmark = pytest.mark.once

RED = "\x1b[31mred\x9b\u202e"
NOT_UTF_8 = os.fsdecode(b"\xff")
STUDY = f"""
name = "tiny"
replications = 4
horizons = [100]
[worlds.still]
reservoir = {{type = "Uniform"}}
[policies."{RED.encode("unicode_escape").decode().replace("x1b", "u001b").replace("x9b", "u009b")}"]
type = "UniformPlay"
[policies."β"]
type = "UniformPlay"
"""


def results_in(folder, *policies):
    """The results of a study of these policies that nobody has played, as a run leaves them."""
    study = Study.of("tiny", dict.fromkeys(policies, ma.UniformPlay()), {"still": ma.World(ma.Uniform())}, [100], 4)
    for result in made_up(study):
        write_result(folder / "cells" / f"{result.index:04d}.parquet", result)
    write_study(folder, study)
    return folder


def told_to_ascii(*arguments):
    """The exit code of a command and what a terminal shows of it that knows ASCII alone, and refuses all else."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    assert {out.errors, err.errors} == {"strict"}  # as it was
    for stream in (out, err):
        stream.flush()
    return code, (out.buffer.getvalue() + err.buffer.getvalue()).decode("ascii")


@pytest.fixture
def findings():
    before = dict(lab.FINDINGS)
    yield lab.FINDINGS
    lab.FINDINGS.clear()
    lab.FINDINGS.update(before)


# ---------------------------------------------------------------- what a terminal can show


def test_an_ascii_terminal_is_told_everything(tmp_path):
    folder = results_in(tmp_path / "tiny", "β – “x”")
    code, said = told_to_ascii("report", str(folder), "--format", "text")
    assert code == 0
    assert '\\u03b2 - "x"' in said
    assert str(folder / "report.html") in said
    assert "β – “x”" in (folder / "report.html").read_text(encoding="utf-8")


def test_errors_are_told_to_an_ascii_terminal():
    code, said = told_to_ascii("run", "β…")
    assert code == 2
    assert "no study is called '\\u03b2...'" in said


@pytest.mark.parametrize("command", ["report", "arena"])
def test_pages_are_written_before_anything_is_printed(tmp_path, command):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError("no space left")

    with contextlib.redirect_stdout(Full()):
        if command == "report":
            page = results_in(tmp_path / "tiny", "one") / "report.html"
            assert main(["report", str(page.parent), "--format", "text"]) == 2
        else:
            page = tmp_path / "arena.html"
            whole, scores = test_arena.made_up(only="wear 4")
            with pytest.raises(OSError, match="no space left"):
                arena_command._show(whole, scores, page, None, "")
    assert "</html>" in page.read_text(encoding="utf-8")


def test_control_characters_never_reach_a_terminal(tmp_path, capsys):
    folder = results_in(tmp_path / "tiny", RED)
    study = tmp_path / "tiny.toml"
    study.write_text(STUDY)
    for arguments in (
        ["report", str(folder), "--format", "text"],
        ["report", str(folder), "--format", "markdown"],
        ["explain", str(study)],  # lists its cells
        ["run", RED],
        ["report", str(tmp_path / RED)],
        ["check", RED],
        ["run", "tiny", "--import", RED],
    ):
        main(arguments)
        said = "".join(capsys.readouterr())
        assert all(sign in said for sign in ("x1b", "x9b", "u202e")), arguments
        assert not set(said) & set(RED[0] + RED[-2:]), arguments
    for arguments in ([RED], ["run", "tiny", "--jobs", RED], ["run", "tiny", f"--{RED}"]):
        with pytest.raises(SystemExit):
            main(arguments)
        said = capsys.readouterr().err
        assert "x1b[31m" in said
        assert "\x1b" not in said


# ---------------------------------------------------------------- names that are no UTF-8


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, names of files are always Unicode")
def test_names_that_are_not_utf_8_are_taken_or_named(tmp_path, capsys):
    study = tmp_path / f"{NOT_UTF_8}.toml"
    study.write_text(STUDY)
    assert main(["run", str(study), "--dry-run", "--folder", str(tmp_path)]) == 0
    assert main(["run", str(study), "--folder", str(tmp_path / NOT_UTF_8)]) == 2
    said = capsys.readouterr().err
    assert "is not UTF-8, so no results can be written there; rename it, or give another one" in said
    assert r"\udcff" in said
    assert not (tmp_path / NOT_UTF_8).exists()
    folder = results_in(tmp_path / "tiny", "one")
    page = tmp_path / f"{NOT_UTF_8}.html"
    assert main(["report", str(folder), "--out", str(page)]) == 0
    assert "</html>" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    folder.rename(tmp_path / NOT_UTF_8)
    code = main(["report", str(tmp_path / NOT_UTF_8)])
    said = capsys.readouterr().err
    assert code == 0 or r"\udcff" in said
    assert "codec" not in said


def test_a_study_that_is_not_utf_8_is_named_with_its_line(tmp_path, capsys):
    path = tmp_path / "latin.toml"
    path.write_bytes("name = 'tiny'\nabout = 'für'\n".encode("latin-1"))
    assert main(["run", str(path)]) == 2
    assert f"{path}: line 2 is not UTF-8, as TOML must be; save the file as UTF-8" in capsys.readouterr().err
    path.write_bytes(b"\xef\xbb\xbf" + STUDY.encode())  # the mark of some editors
    assert main(["run", str(path), "--dry-run", "--folder", str(tmp_path)]) == 0
    assert main(["explain", str(tmp_path)]) == 2
    assert "codec" not in capsys.readouterr().err


# ---------------------------------------------------------------- what is closed or full


@pytest.mark.parametrize(
    ("command", "redirected", "code"),
    [
        ("worlds", ">&-", 0),
        ("worlds", ">&- 2>&-", 0),
        ("worlds", "> /dev/full", 2),
        ("worlds", "> /dev/full 2>&-", 2),
        ("run nowhere.toml", "2>&-", 2),
        ("run nowhere.toml", "2> /dev/full", 2),
    ],
)
def test_the_exit_code_is_right_wherever_a_shell_sends_what_is_said(command, redirected, code):
    line = f"exec {sys.executable} -m manyarms_command {command} {redirected}"
    settings = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(["sh", "-c", line], env=settings, capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- options and findings


@pytest.mark.parametrize("turns", ["0", "-3"])
def test_bench_refuses_turns_that_time_nothing(monkeypatch, capsys, turns):
    monkeypatch.setattr(bench, "require_compiler", lambda: None)
    monkeypatch.setattr(bench, "policies_timed", lambda: pytest.fail("something was timed"))
    assert main(["bench", "--turns", turns]) == 2
    assert f"bench: turns must be a whole number of at least 1, not {turns}" in capsys.readouterr().err


def test_numbers_are_asked_for_in_our_words(capsys):
    for command, value, words in (
        (["bench", "--turns"], "1.5", "a whole number such as 100"),
        (["run", "tiny", "--wait"], "x", "a number such as 0.5"),
    ):
        with pytest.raises(SystemExit):
            main([*command, value])
        said = capsys.readouterr().err
        assert f"must be {words}, not {value!r}" in said
        assert "invalid" not in said


def test_findings_of_a_study_in_a_file_reach_its_report(monkeypatch, tmp_path, capsys, findings):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "own_findings.py").write_text(
        "from manyarms.lab import FINDINGS, Section\n"
        'FINDINGS["tiny"] = lambda results: iter([Section("Mine", ["So it is."], [[{"cells": len(results)}]])])\n'
    )
    folder = results_in(tmp_path / "tiny", "one", "two")
    try:
        assert main(["report", str(folder), "--import", "own_findings"]) == 0
    finally:
        sys.modules.pop("own_findings", None)
    assert "cells" in capsys.readouterr().out
    assert "<p>So it is.</p>" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "must be a list of Section(heading, paragraphs, tables), not 3"),
        (lab.Section("One"), "must be a list of Section(heading, paragraphs, tables), not Section("),
        ([3], "must be a list of Section(heading, paragraphs, tables), one of them is 3"),
        ([()], "one of them is ()"),
        ([("One", "text")], "the paragraphs of 'One' must be a list of texts, not 'text'"),
        ([("One", [3])], "the paragraphs of 'One' must be a list of texts, not [3]"),
        ([("One", [], [3])], "the tables of 'One' must be a list of tables, or of lists of rows, not [3]"),
        ([("One", [], [[3]])], "the tables of 'One' must have rows by the names of their columns"),
    ],
)
def test_findings_that_are_no_sections_are_named(tmp_path, capsys, findings, given, words):
    findings["tiny"] = lambda results: given
    folder = results_in(tmp_path / "tiny", "one")
    assert main(["report", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "study tiny: what its function in FINDINGS gives" in said
    assert words in said
    assert not (folder / "report.html").exists()
