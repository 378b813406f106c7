"""The command line: what it prints, what it writes, how it fails."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import manyarms as ma
from manyarms import bench, lab
from manyarms.cli import check as check_command
from manyarms.cli import lists, main, options
from manyarms.cli.check import specs_called
from manyarms.specs import SPEC_TYPES
from tests.choosing import ours

ROOT = Path(__file__).parent.parent.parent
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
USUAL = 'reservoir = {type = "Uniform"}'

LATE = """
[worlds.late]
reservoir = {type = "Uniform"}
[worlds.late.feedback]
type = "Lost"
probability = 0.1
feedback = {type = "Delayed", rounds = {type = "Geometric", mean = 8.0, longest = 60}}
[worlds.batches]
reservoir = {type = "Uniform"}
feedback = {type = "Batches", size = 10}
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
        if spec_type.kind in ("reservoir", "drift", "noise", "feedback", "delay") and module.startswith("manyarms."):
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
    assert main([*arguments, "--dry-run", "--json", "--no-resume", "--cluster", "tcp://host:1"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["start"], plan["rounds left"], plan["seconds, roughly"]) == ("from nothing", 400, None)
    assert main(arguments) == 0
    assert str(tmp_path / "tiny" / "cells") in capsys.readouterr().out


@pytest.mark.compiled
@pytest.mark.filterwarnings("always")
def test_regret_that_will_be_negative_is_told_by_every_command(tmp_path, capsys):
    study, page = tmp_path / "tiny.toml", tmp_path / "run.html"
    study.write_text(TINY.replace('{type = "Uniform"}', '{type = "Uniform"}\ntop = 0.2\n[worlds.usual]\n' + USUAL))
    words = "the world{} counts regret from top=0.2, but fresh arms have means of up to 1: regret will be negative; "
    words += "give the world the top of its reservoir"
    named, escaped = words.format(" 'still'"), words.format(" &#x27;still&#x27;")
    run = ["run", str(study), "--folder", str(tmp_path)]
    for command in ([*run, "--dry-run"], run, ["report", str(tmp_path / "tiny")]):
        assert main(command) == 0
        assert capsys.readouterr().err.count(named) == 1
    assert escaped in (tmp_path / "tiny" / "report.html").read_text(encoding="utf-8")
    for of in ([str(study), "--cell", "still"], [str(next((tmp_path / "tiny").glob("cells/0000*")))]):
        assert main(["explain", *of, "--out", str(page)]) == 0
        assert words.format("") in " ".join(capsys.readouterr().out.split())
        assert words.format("") in page.read_text(encoding="utf-8")
    assert main(["explain", str(study), "--cell", "usual"]) == 0
    assert "negative" not in capsys.readouterr().out
    worlds = {name: ma.World(ma.Uniform(), top=0.2) for name in ("a", "b", "c")}
    with pytest.warns(UserWarning, match=r"the world 'a' .* negative \(and so with 2 more worlds\); give"):
        lab.plan_of_study(lab.Study.of("low", {"it": ma.UniformPlay()}, worlds, [10, 20], 1), tmp_path)


@pytest.mark.compiled
def test_a_report_and_figures_are_made_of_a_folder(tmp_path, capsys):
    study = tmp_path / "my tiny.toml"
    study.write_text(TINY)
    assert main(["run", str(study), "--folder", str(tmp_path)]) == 0
    assert main(["report", str(tmp_path / "tiny"), "--figures", str(tmp_path / "figures")]) == 0
    out = capsys.readouterr().out
    page = tmp_path / "tiny" / "report.html"
    assert str(page) in out
    assert "manyarms run &#x27;my tiny.toml&#x27; --replications 4 --seed 0" in page.read_text(encoding="utf-8")
    lab.run(lab.read_study(study).replace(file=""), tmp_path)  # from Python: no command is known
    assert main(["report", str(tmp_path / "tiny")]) == 0
    assert "manyarms run" not in page.read_text(encoding="utf-8")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    result = next((tmp_path / "tiny").glob("cells/*"))
    before = result.read_bytes()
    for out in (result, tmp_path / "tiny" / "study.json"):
        assert main(["report", str(tmp_path / "tiny"), "--out", str(out)]) == 2
        assert "must end in .html" in capsys.readouterr().err
    assert result.read_bytes() == before
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    heads = {"text": "policy   world", "markdown": "| policy | world |", "latex": r"\begin{tabular}{ll"}
    for form, head in heads.items():
        assert main(["report", str(tmp_path / "tiny"), "--format", form]) == 0
        out, err = capsys.readouterr()
        assert out.startswith(head)
        assert "uniform" in out
        assert str(page) in err  # so that the table alone can be sent to a file


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
        (["run", "rising-is-benign", "--cluster", ""], ["''", "local:N"]),
        (["check", "Nothing"], ["Nothing", "Elimination"]),
        (["check", "no_such_module:Name"], ["no module 'no_such_module'"]),
    ],
)
def test_bad_arguments_are_named_on_standard_error(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for word in words:
        assert word in captured.err


# ---------------------------------------------------------------- modules of one's own

OWN = """
import dataclasses
from manyarms.lab import NAMED_STUDIES, Study
from manyarms import PowerLaw, UniformPlay, World

@dataclasses.dataclass(frozen=True)
class OwnPlay(UniformPlay):
    \"\"\"Like the package's, but mine.\"\"\"

NAMED_STUDIES["own-study"] = lambda: Study.of("own-study", {"me": OwnPlay()}, {"still": World(PowerLaw(1.0))}, [100], 2)
one, none, text = OwnPlay(), [], "text"
"""
MUTE = """class Mute(Exception):
    def __str__(self):
        raise self
"""
OWN_STUDY = TINY.replace('"tiny"', '"own"').replace("UniformPlay", "OwnPlay")


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder one stands in; what is imported from there is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    types, made, loaded = dict(SPEC_TYPES), dict(lab.NAMED_STUDIES), set(sys.modules)
    yield tmp_path
    for registry, before in ((SPEC_TYPES, types), (lab.NAMED_STUDIES, made)):
        registry.clear()
        registry.update(before)
    for name in set(sys.modules) - loaded:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


@pytest.mark.compiled
def test_studies_use_modules_of_ones_own_here_and_on_a_cluster(modules, capsys):
    (modules / "own_module.py").write_text(OWN)
    (modules / "own.toml").write_text(OWN_STUDY)
    assert main(["run", "own.toml"]) == 2
    assert "import the module that defines it" in capsys.readouterr().err
    for folder, where in (("a", ["--jobs", "2"]), ("b", ["--cluster", "local:1"])):
        assert main(["run", "own.toml", "--import", "own_module", "--folder", folder, *where]) == 0
        assert f"manyarms report {folder}/own --import own_module" in capsys.readouterr().out
    files = [path.relative_to("a") for path in Path("a").rglob("*.parquet")]
    assert len(files) == 1
    assert Path("a", files[0]).read_bytes() == Path("b", files[0]).read_bytes()
    assert main(["report", "a/own", "--import", "own_module"]) == 0
    page = Path("a/own/report.html").read_text(encoding="utf-8")
    assert "manyarms run own.toml --replications 4 --seed 0 --import own_module" in page
    capsys.readouterr()
    assert main(["studies", "--json", "--import", "own_module"]) == 0
    assert "own-study" in {row["name"] for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise OSError('no luck')", ["'bad_module' cannot be imported", "OSError: no luck"]),
        ("import sys; sys.exit(3)", ["'bad_module' cannot be imported", "SystemExit"]),
        ("this is (not Python", ["'bad_module' cannot be imported", "SyntaxError"]),
        ("import no_such_library", ["'bad_module' cannot be imported", "no_such_library"]),
        ("import manyarms\nclass Greedy(manyarms.Policy): pass", ["'Greedy'", "manyarms.bases.ucb", "another name"]),
        (
            "import manyarms\nclass Capped(manyarms.Policy): pass",
            ["'Capped'", "manyarms.lab.questions.published", "another name"],
        ),
        (
            "import manyarms.lab as it\nit.NAMED_STUDIES['small-beta'] = None",
            ["bad_module", "'small-beta'", "another name"],
        ),
        (
            "import manyarms.lab as it\nit.NAMED_STUDIES['figure-1-described'] = None",
            ["'figure-1-described'", "another name"],
        ),
        ("import manyarms.lab as it\nit.NAMED_STUDIES['mine'] = dict", ["mine", "must give a Study", "{}"]),
        (
            "import manyarms.lab as it\ndef ends():\n    raise SystemExit(5)\nit.NAMED_STUDIES['mine'] = ends",
            ["study mine: its function in NAMED_STUDIES", "SystemExit: 5", "bad_module.py, line 3"],
        ),
        (
            f"import manyarms.lab as it\n{MUTE}def fails():\n    raise Mute\nit.NAMED_STUDIES['mine'] = fails",
            ["study mine: its function in NAMED_STUDIES", "Mute: (its text cannot be shown: Mute)", "line 6"],
        ),
        (f"{MUTE}raise Mute", ["'bad_module' cannot be imported", "Mute: (its text cannot be shown: Mute)"]),
    ],
)
def test_what_is_wrong_with_a_module_is_said(modules, capsys, text, words):
    (modules / "bad_module.py").write_text(text)
    assert main(["studies", "--import", "bad_module"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("manyarms studies: ")
    for word in words:
        assert word in captured.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module", ["no module 'no_such_module'", "PYTHONPATH"]),
        ("json.no_such_part", ["no module 'json.no_such_part'"]),
        ("own_module.py", ["no module 'own_module.py'", "write own_module,"]),
        ("", ["'' is not the name of a module"]),
        ("mine/own_module", ["'mine/own_module' is not the name of a module"]),
    ],
)
def test_a_module_that_is_not_there_is_named(modules, capsys, name, words):
    for command in (["run", "small-beta"], ["report", "results"], ["studies"]):
        assert main([*command, "--import", name]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        for word in words:
            assert word in captured.err


OWN_NOISE = """
import dataclasses
from manyarms import Exact, Policy

@dataclasses.dataclass(frozen=True)
class OwnNoise(Exact):
    \"\"\"Like the package's, but mine.\"\"\"

class Unsaid(Policy):
    pass
"""


def test_ones_own_specs_are_listed(modules, capsys):
    (modules / "own_module.py").write_text(OWN)
    (modules / "own_noise.py").write_text(OWN_NOISE)
    for command, kind, name in (("policies", "policy", "OwnPlay"), ("worlds", "noise", "OwnNoise")):
        assert main([command, "--json", "--import", "own_module", "--import", "own_noise"]) == 0
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
        assert rows[name] == {"name": name, "kind": kind, "what": "Like the package's, but mine."}
        assert len(rows) > 2
        assert rows.get("Unsaid", {"what": ""})["what"] == ""
        assert main([command, "--import", "no_such_module"]) == 2
        assert "no module 'no_such_module'" in capsys.readouterr().err


OWN_ABOUT = """
import dataclasses
from typing import ClassVar
from manyarms import UniformPlay
from manyarms.about import About

@dataclasses.dataclass(frozen=True)
class Weatherwise(UniformPlay):
    about: ClassVar = About(told=("T", "the weather"), rate="T", made_for=("crashes",), cost="O(1)")

@dataclasses.dataclass(frozen=True)
class Wordless(UniformPlay):
    about: ClassVar = None
"""


def test_ones_own_policy_stands_in_the_table_to_choose_by(modules, capsys):
    (modules / "own_about.py").write_text('"""Mine.\n\nSource: a dream."""\n' + OWN_ABOUT)
    assert main(["policies", "--table", "--format", "markdown", "--import", "own_about"]) == 0
    out = capsys.readouterr().out
    assert "| Weatherwise | T, the weather | T | crashes | O(1) |" in out
    assert "| Wordless | – | – | – | – |" in out
    assert "| Elimination | T\\*, beta\\*, top\\* |" in out
    assert main(["policies", "--sources", "--import", "own_about"]) == 0
    assert "\n- `Weatherwise`: a dream.\n" in capsys.readouterr().out
    assert main(["policies", "--table", "--json", "--import", "own_about"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["Weatherwise"]["about"]["told"] == ["T", "the weather"]
    assert (rows["Weatherwise"]["source"], rows["Wordless"]["about"]) == ("a dream.", None)
    assert rows["CBT"]["deviations"].startswith("doubling blocks without a horizon")


@pytest.mark.once
def test_a_star_says_that_it_need_not_be_known():
    names = [one.__name__ for one in ours() if one.kind == "policy"]
    auto = {name for name in names if lists.can_do_without(SPEC_TYPES[name], "beta")}
    assert auto == {"Elimination", "Blackbox", "Subsample", "SSUCB", "CBT", "UCBTASW", "SiRI"}
    assert {name for name in names if lists.can_do_without(SPEC_TYPES[name], "top")} == {"Elimination", "Blackbox"}
    horizons = {name for name in names if lists.can_do_without(SPEC_TYPES[name], "T")}
    assert horizons == {name for name in names if "horizon" in SPEC_TYPES[name].__dataclass_fields__}
    assert not lists.can_do_without(ma.UCB, "T")


def test_check_knows_ones_own_specs_by_name(modules, capsys, monkeypatch):
    (modules / "own_module.py").write_text(OWN)
    (modules / "own_noise.py").write_text(OWN_NOISE)
    (modules / "empty.py").write_text("from manyarms import Exact")
    checked = []
    monkeypatch.setattr(check_command, "checks", lambda spec: checked.append(type(spec).__name__) or [])
    imports = ["--import", "own_module", "--import", "own_noise"]
    assert main(["check", "OwnNoise", "Exact", "own_module:one", *imports]) == 0
    assert checked == ["OwnNoise", "Exact", "OwnPlay"]
    checked.clear()
    assert main(["check", "--import", "own_module"]) == 0
    assert checked == ["OwnPlay"]
    capsys.readouterr()
    for arguments, words in (
        (["--import", "empty"], ["empty", "no policy", "module:Name"]),
        (["Nothing", *imports], ["'Nothing'", "Elimination", "OwnPlay"]),
        (["Unsaid", *imports], ["Unsaid cannot be made with its defaults"]),
    ):
        assert main(["check", *arguments]) == 2
        said = capsys.readouterr().err
        assert all(word in said for word in words)


def test_check_takes_what_a_function_makes(modules):
    (modules / "own_module.py").write_text(OWN + "def make(): return [one, OwnPlay()]\n")
    for name, number in (("OwnPlay", 1), ("one", 1), ("make", 2)):
        assert [type(spec).__name__ for spec in specs_called(f"own_module:{name}")] == ["OwnPlay"] * number


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_module:nothing", ["own_module:nothing", "has no 'nothing'"]),
        ("own_module:", ["own_module:", "has no ''"]),
        ("own_module:text", ["gives 'text'", "a policy"]),
        ("own_module:none", ["gives []", "a policy"]),
        ("own_module:gives_numbers", ["gives [1]", "a policy"]),
        ("own_module:raises", ["own_module:raises", "ZeroDivisionError"]),
        ("own_module:wants", ["own_module:wants", "defaults", "beta"]),
        ("bad_module:Name", ["'bad_module' cannot be imported", "ZeroDivisionError"]),
    ],
)
def test_what_cannot_be_checked_is_said(modules, capsys, name, words):
    more = "def gives_numbers(): return [1]\ndef raises(): return 1 / 0\ndef wants(beta): return one\n"
    (modules / "own_module.py").write_text(OWN + more)
    (modules / "bad_module.py").write_text("1 / 0")
    assert main(["check", name]) == 2
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
    assert main(["check", "Exact", "Batches"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("promises kept")
    assert re.fullmatch(r"Batches: \d\d promises kept", second)


@pytest.mark.usefixtures("uncompiled")
def test_a_study_may_have_worlds_with_late_answers(tmp_path, capsys):
    study = tmp_path / "late.toml"
    study.write_text(TINY.replace('"tiny"', '"late"') + LATE)
    worlds = {cell.world_name: cell.world for cell in lab.read_study(study).cells}
    assert worlds["late"].feedback == ma.Lost(0.1, ma.Delayed(ma.Geometric(mean=8.0, longest=60)))
    assert worlds["batches"].feedback == ma.Batches(10)
    assert worlds["still"].feedback == ma.AtOnce()
    assert main(["run", str(study), "--folder", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["world"] for row in rows} == {"still", "late", "batches"}
    study.write_text(TINY + LATE.replace('"Batches"', '"Bunches"'))
    assert main(["run", str(study), "--folder", str(tmp_path)]) == 2
    assert "Bunches" in capsys.readouterr().err


def test_the_installed_command_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "manyarms.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("manyarms ")


LONG = TINY.replace("replications = 4", "replications = 1000").replace("[100]", "[20_000_000]")


@pytest.mark.compiled
@pytest.mark.parametrize("where", [["--jobs", "1"], ["--cluster", "local:1"]])
def test_ctrl_c_is_one_line_wherever_it_runs(tmp_path, where):
    (tmp_path / "long.toml").write_text(LONG)
    words = [sys.executable, "-m", "manyarms.cli", "run", "long.toml", "--import", "under_way", *where]
    # One that says when the first chunk is finished.
    (tmp_path / "under_way.py").write_text(
        textwrap.dedent(
            """
            from manyarms.lab.running import chunks, runner
            play_on = runner.play_on

            def and_say_so(*args):
                finished = play_on(*args)
                for one in finished:
                    print("under way", flush=True)
                    yield one

            runner.play_on = and_say_so
            chunks.CHUNK_ROUNDS["cpu"] = 1
            """
        )
    )
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )
    assert process.stdout.readline() == "under way\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, said = process.communicate(timeout=60)
    assert said == "manyarms run: stopped by Ctrl-C; the same command goes on where it stopped\n"
    assert process.returncode == 130


@pytest.mark.usefixtures("uncompiled")
def test_bench_measures_ratios_to_the_floor(monkeypatch):
    # The measuring is tested, not the speed: few rounds, as plain Python.
    for name in ("ROUNDS", "BLACKBOX_ROUNDS", "SHORT", "LONG"):
        monkeypatch.setattr(bench, name, 500)
    monkeypatch.setattr(bench, "min_seconds", lambda threads: 1.0 / threads)
    monkeypatch.setattr(bench, "in_new_process", lambda program: {"memory_mb": 1, "first_call_s": 2, "import_s": 3})
    figures = bench.measure(turns=1)
    assert set(figures) >= {"floor_ns", "policies", "growth", "threads", "memory_mb", "first_call_s"}
    assert figures["threads"] == 2.0
    for name in ("Elimination", "Elimination, auto", "Blackbox(UCB)", "Forager", "SSUCB"):
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


def test_bench_enters_its_figures_in_a_ledger(tmp_path, capsys, monkeypatch):
    figures = {"machine": {"processor": "one"}, "policies": {"A": {"ratio": 2.0, "ns": 9.0, "rounds": 1}}}
    monkeypatch.setattr(bench, "require_compiler", lambda: None)
    monkeypatch.setattr(bench, "measure", lambda turns, say: figures)
    monkeypatch.setattr(bench, "report", lambda figures: "a table")
    assert main(["bench"]) == 0
    assert capsys.readouterr().out == "a table\n"
    path = tmp_path / "ledger.jsonl"
    assert main(["bench", "--ledger", str(path)]) == 0
    assert "regression" not in capsys.readouterr().out
    figures["policies"]["A"]["ratio"] = 2.5
    assert main(["bench", "--ledger", str(path)]) == 0  # a benchmark, not a test
    assert "regression: A 2.50 times the floor, 2.00 on 20" in capsys.readouterr().out
    assert main(["bench", "--ledger", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == figures
    assert "regression: A" in captured.err
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["policies"]["A"]["ratio"] for entry in entries] == [2.0, 2.5, 2.5]
    assert all(entry["kind"] == "cpu" and entry["machine"] == figures["machine"] for entry in entries)
    monkeypatch.setattr(bench, "measure", lambda turns, say: pytest.fail("it was measured"))
    assert main(["bench", "--ledger", str(tmp_path / "nowhere" / "ledger.jsonl")]) == 2
    assert "nowhere/ledger.jsonl cannot be written" in capsys.readouterr().err


def test_the_command_that_gives_the_same_results_keeps_a_seed_of_nothing():
    assert options.written_out("reproduce", mode="both", betas=[0.5, 1.0], seed=0) == (
        "manyarms reproduce --mode both --betas 0.5 1.0 --seed 0"
    )


def test_bench_refuses_to_time_without_the_compiler():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "manyarms.cli", "bench"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert "NUMBA_DISABLE_JIT" in done.stderr
