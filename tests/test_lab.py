"""Studies, their runner and result files."""

import concurrent.futures
import contextlib
import importlib
import json
import linecache
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import manyarms as ma
from manyarms.engine import play_range
from manyarms.lab import (
    BadFile,
    Study,
    cluster_executor,
    find_study,
    named_study,
    parse_study,
    plan,
    read_result,
    run,
    runner,
    study_names,
    summary,
)
from manyarms.lab.files import sources_of

TEXT = """
name = "two-betas"
about = "Does beta matter?"
seed = 5
replications = 6
horizons = [300, 600]
checkpoints = [100, 300, 600]

[for_each]
beta = [0.5, 1.0]

[worlds."beta {beta}"]
reservoir = {type = "PowerLaw", beta = "{beta}"}
drift = {type = "Rotting", rate = "1/t"}

[policies.elimination]
type = "Elimination"
beta = "{beta}"

[policies.uniform]
type = "UniformPlay"
"""


def small_study(replications=12):
    worlds = {
        "still": ma.World(ma.PowerLaw(beta=1.0)),
        "crashes": ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.01)),
    }
    policies = {"elimination": ma.Elimination(beta=1.0), "uniform": ma.UniformPlay()}
    return Study.of("small", policies, worlds, horizons=[400, 800], replications=replications, seed=3, checkpoints=4)


def bytes_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# ---------------------------------------------------------------- studies


def test_a_table_is_every_policy_in_every_world_over_every_horizon():
    study = parse_study(TEXT)
    assert [(cell.world_name, cell.horizon, cell.policy_name) for cell in study.cells] == [
        (f"beta {beta}", horizon, policy)
        for beta in (0.5, 1.0)
        for horizon in (300, 600)
        for policy in ("elimination", "uniform")
    ]
    assert study.cells[0].policy == ma.Elimination(beta=0.5)
    assert study.cells[-1].world == ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate="1/t"))
    assert study.rounds_kept(study.cells[0]).tolist() == [100, 300]
    assert study.rounds() == 6 * 4 * 900
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("replications = 6", ""), ["'replications' is missing"]),
        (("seed = 5", "sead = 5"), ["no field 'sead'", "seed"]),
        (("replications = 6", "replications = 0"), ["replications", "at least 1", "0"]),
        (("horizons = [300, 600]", "horizons = 300"), ["horizons", "list"]),
        (("horizons = [300, 600]", "horizons = [300, -1]"), ["horizons", "-1"]),
        (("beta = [0.5, 1.0]", "beta = 0.5"), ["for_each.beta", "list"]),
        (("[for_each]\nbeta = [0.5, 1.0]", ""), ["worlds.beta {beta}.reservoir.beta", "for_each"]),
        (('type = "Elimination"', 'type = "Eliminate"'), ["policies.elimination", "Eliminate", "Elimination"]),
        (('type = "UniformPlay"', 'type = "UCB"'), ["policies.uniform", "UCB"]),
        (('beta = "{beta}"\n\n[policies.u', "beta = -1\n\n[policies.u"), ["policies.elimination", "beta", "above 0"]),
        (('name = "two-betas"', 'name = "two/betas"'), ["name", "two/betas"]),
        (('[worlds."beta {beta}"]', "[worlds.same]"), ["twice"]),
        (("horizons = [300, 600]", "horizons = [300, 600"), ["TOML"]),
        (("horizons = [300, 600]", "horizons = 1.5"), ["horizons", "1.5"]),
        (('name = "two-betas"', "name = 3"), ["name", "3"]),
        (("[policies.uniform]", '[policies."{beta}"]\ntype = "SSUCB"\nbeta = 1.0\n[policies."1.0"]'), ["1.0", "twice"]),
    ],
)
def test_what_is_wrong_with_a_study_is_named(change, words):
    assert change[0] in TEXT
    with pytest.raises(ValueError, match=r"my\.toml") as caught:
        parse_study(TEXT.replace(*change), "my.toml")
    assert str(caught.value).startswith("my.toml")
    for word in words:
        assert word in str(caught.value)


def test_named_studies_are_found_and_files_too(tmp_path):
    for name in study_names():
        study = named_study(name)
        assert study.name == name
        assert study.about
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert find_study(str(path)) == parse_study(TEXT)
    with pytest.raises(LookupError, match="rising-is-benign"):
        find_study("nothing")
    with pytest.raises(FileNotFoundError, match="rising-is-benign"):
        find_study("nothing.toml")


# ---------------------------------------------------------------- results


def test_a_study_gives_what_simulate_gives(tmp_path):
    study = small_study()
    paths = run(study, tmp_path, jobs=2)
    assert [path.parent.name for path in paths] == ["cells"] * 8
    for path, cell in zip(paths, study.cells, strict=True):
        result = read_result(path)
        wanted = ma.simulate({"it": cell.policy}, cell.world, cell.horizon, 12, 3, checkpoints=4)["it"]
        assert result.values.tobytes() == wanted.tobytes()
        assert result.cell == cell
        table = pq.read_table(path).to_pandas()
        assert table["replication"].tolist() == np.repeat(np.arange(12), 4).tolist()
        assert table["round"].tolist() == np.tile(result.rounds, 12).tolist()
        assert table["regret"].to_numpy().tobytes() == np.ascontiguousarray(wanted[:, :, 0]).tobytes()


def test_a_result_can_be_run_again_from_its_file_alone(tmp_path):
    path = run(small_study(), tmp_path)[2]
    result = read_result(path)
    cell = result.cell
    again = play_range(cell.policy, cell.world, cell.horizon, result.study.seed, result.rounds, 0, len(result.values))
    assert again.tobytes() == result.values.tobytes()
    assert result.sources == sources_of(cell)
    assert result.version == ma.__version__


def test_the_summary_has_a_row_for_each_cell(tmp_path):
    results = [read_result(path) for path in run(small_study(), tmp_path)]
    rows = summary(results)
    regret = results[0].column("regret")[:, -1]
    assert rows[0]["mean"] == pytest.approx(regret.mean())
    assert rows[0]["sd"] == pytest.approx(regret.std(ddof=1))
    assert len(rows) == 8


def test_the_bytes_do_not_depend_on_jobs_or_chunks(tmp_path, monkeypatch):
    run(small_study(), tmp_path / "a", jobs=1)
    monkeypatch.setitem(runner.CHUNK_ROUNDS, "cpu", 1600)
    run(small_study(), tmp_path / "b", jobs=2)
    assert bytes_below(tmp_path / "a") == bytes_below(tmp_path / "b")


def test_a_second_run_plays_nothing(tmp_path, monkeypatch):
    run(small_study(), tmp_path)
    before = bytes_below(tmp_path)
    monkeypatch.setattr(runner, "play_range", None)
    seen = []
    run(small_study(), tmp_path, progress=seen.append)
    assert seen == []
    assert bytes_below(tmp_path) == before
    assert plan(small_study(), tmp_path)["rounds left"] == 0


def test_progress_counts_down(tmp_path, monkeypatch):
    monkeypatch.setitem(runner.CHUNK_ROUNDS, "cpu", 1600)
    seen = []
    run(small_study(), tmp_path, progress=seen.append)
    assert [one.rounds + one.rounds_left for one in seen] == [small_study().rounds()] * len(seen)
    assert seen[-1].rounds_left == seen[-1].cells_left == 0
    assert len(seen) == sum(len(runner.chunks_of(small_study(), index)) for index in range(8))


# ---------------------------------------------------------------- what can go wrong


@pytest.mark.parametrize("damage", ["truncated", "emptied", "foreign"])
def test_a_damaged_file_is_named_and_made_again(tmp_path, damage):
    path = run(small_study(), tmp_path)[1]
    before = bytes_below(tmp_path)
    good = path.read_bytes()
    path.write_bytes(
        {
            "truncated": good[:-20],
            "emptied": b"",
            "foreign": b"something else entirely, but long enough",
        }[damage]
    )
    with pytest.raises(BadFile, match=path.name):
        read_result(path)
    with pytest.warns(UserWarning, match=path.name):
        run(small_study(), tmp_path)
    assert bytes_below(tmp_path) == before


def test_one_bit_is_noticed_wherever_it_matters(tmp_path):
    path = run(small_study(), tmp_path)[1]
    good = path.read_bytes()
    wanted = read_result(path)
    noticed = 0
    for place in range(0, len(good), 13):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        try:
            found = read_result(path)
        except BadFile:
            noticed += 1
        else:  # in what nobody reads, such as the least and the greatest value of a column
            assert found.values.tobytes() == wanted.values.tobytes()
            assert found.index == wanted.index
    assert noticed > len(good) / 13 / 2


def test_a_table_of_somebody_else_is_no_result(tmp_path):
    import pyarrow as pa

    path = run(small_study(), tmp_path)[0]
    pq.write_table(pa.table({"x": [1, 2]}), path)
    with pytest.raises(BadFile, match="no result of manyarms"):
        read_result(path)


def test_results_of_another_study_or_other_sources_are_made_again(tmp_path, monkeypatch):
    run(small_study(), tmp_path)
    with pytest.warns(UserWarning, match="another study"):
        run(small_study().replace(seed=4), tmp_path)
    monkeypatch.setattr(runner, "sources_of", lambda cell: "0" * 16)
    with pytest.warns(UserWarning, match="7 more files are of other sources") as seen:
        run(small_study().replace(seed=4), tmp_path)
    assert len(seen) == 1  # not one for each file


def test_another_study_of_the_same_name_destroys_nothing(tmp_path):
    first, second = small_study(), small_study(replications=5)
    run(first, tmp_path)
    before = bytes_below(tmp_path / "small" / "cells")
    with pytest.warns(UserWarning, match="set aside"):
        run(second, tmp_path)
    assert bytes_below(tmp_path / "small" / f"cells-{first.digest()}") == before
    run(second, tmp_path, resume=False)
    assert bytes_below(tmp_path / "small" / f"cells-{first.digest()}") == before
    seen = []
    with pytest.warns(UserWarning, match="set aside"):
        run(first, tmp_path, progress=seen.append)
    assert seen == []  # they came back
    assert bytes_below(tmp_path / "small" / "cells") == before


def test_sources_of_specs_from_elsewhere_count(tmp_path, monkeypatch):
    module = tmp_path / "elsewhere.py"
    text = (
        "import dataclasses\nfrom manyarms.policies.uniform_play import UniformPlay\n"
        "@dataclasses.dataclass(frozen=True)\nclass ElsewherePlay(UniformPlay):\n    pass\n"
    )
    module.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    elsewhere = importlib.import_module("elsewhere")
    worlds = {"still": ma.World(ma.PowerLaw(beta=1.0))}
    [cell] = Study.of("own", {"mine": elsewhere.ElsewherePlay()}, worlds, [10], 1).cells
    before = sources_of(cell)
    assert before == sources_of(cell)
    assert before != sources_of(small_study().cells[1])
    module.write_text(text + "# edited\n")
    linecache.checkcache()
    assert sources_of(cell) != before


def test_what_an_executor_gives_back_is_looked_at(tmp_path):
    class Forgetful(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, *args, **kwargs):
            return super().submit(lambda: function(*args, **kwargs)[:1])

    with Forgetful(1) as executor, pytest.raises(RuntimeError, match="shape"):
        run(small_study(), tmp_path, executor=executor)


def test_two_runs_at_a_time_are_refused(tmp_path):
    def again(progress):
        run(small_study(), tmp_path)

    with pytest.raises(RuntimeError, match="another run is at work"):
        run(small_study(), tmp_path, progress=again)
    run(small_study(), tmp_path)


def test_bad_jobs_are_refused_before_anything_is_deleted(tmp_path):
    run(small_study(), tmp_path)
    before = bytes_below(tmp_path)
    with pytest.raises(ValueError, match="jobs"):
        run(small_study(), tmp_path, jobs=0, resume=False)
    assert bytes_below(tmp_path) == before


def test_without_resume_everything_is_played_again(tmp_path):
    run(small_study(), tmp_path)
    seen = []
    run(small_study(), tmp_path, resume=False, progress=seen.append)
    assert seen[-1].rounds == small_study().rounds()


SCRIPT = textwrap.dedent(
    """
    import sys
    from tests.test_lab import small_study
    from manyarms.lab import run, runner
    runner.CHUNK_ROUNDS["cpu"] = 800  # one or two replications
    print("ready", flush=True)
    run(small_study(replications=60), sys.argv[1], jobs=2)
    """
)


def started(folder, **options):
    """A run of the small study in another process, once it is under way."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        **options,
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.compiled
def test_killed_ten_times_and_resumed_the_bytes_are_the_same(tmp_path):
    undisturbed = run(small_study(replications=60), tmp_path / "undisturbed")
    dice = random.Random(7)
    kills = 0
    for _ in range(40):
        process = started(tmp_path / "killed")
        time.sleep(dice.uniform(0.0, 0.5))
        if process.poll() is None and kills < 10:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
        if kills == 10:
            break
    assert kills == 10
    with contextlib.suppress(FileNotFoundError):
        assert not list((tmp_path / "killed" / "small" / "cells").glob("*.tmp"))
    paths = run(small_study(replications=60), tmp_path / "killed")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in undisturbed]
    assert [path.name for path in (tmp_path / "killed" / "small").iterdir() if path.is_dir()] == ["cells"]


@pytest.mark.compiled
def test_ctrl_c_leaves_what_is_finished(tmp_path):
    process = started(tmp_path)
    deadline = time.monotonic() + 20.0
    while not list(tmp_path.rglob("*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode != 0
    left = plan(small_study(replications=60), tmp_path)["rounds left"]
    run(small_study(replications=60), tmp_path)
    assert left <= small_study(replications=60).rounds()


@pytest.mark.compiled
def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path):
    def no_large_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "no-cache")}
    process = started(tmp_path / "full", preexec_fn=no_large_files, env=env)
    _, words = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "File too large" in words or "Errno 27" in words
    paths = run(small_study(replications=60), tmp_path / "full")
    undisturbed = run(small_study(replications=60), tmp_path / "undisturbed")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in undisturbed]


# ---------------------------------------------------------------- a cluster


@pytest.mark.compiled
def test_on_a_cluster_with_a_worker_killed_the_bytes_are_the_same(tmp_path, monkeypatch):
    undisturbed = run(small_study(replications=60), tmp_path / "here")
    monkeypatch.setitem(runner.CHUNK_ROUNDS, "cpu", 1600)
    killed = []
    with cluster_executor("local:2") as executor:
        client = executor._client

        def kill_one(progress):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        paths = run(small_study(replications=60), tmp_path / "cluster", executor=executor, progress=kill_one)
    assert killed
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in undisturbed]


@pytest.mark.parametrize("where", ["nowhere", "local:0", "http://localhost:1"])
def test_a_cluster_that_cannot_be_is_refused(where):
    with pytest.raises(ValueError, match=where), cluster_executor(where):
        pass


def test_an_executor_of_ones_own(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        paths = run(small_study(), tmp_path, executor=executor)
    assert len(paths) == 8


def test_a_worker_that_fails_for_good_is_an_error(tmp_path, monkeypatch):
    def fail(*_args):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(runner, "play_range", fail)
    with pytest.raises(RuntimeError, match="out of luck"):
        run(small_study(), tmp_path)
