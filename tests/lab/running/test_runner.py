"""Studies, their runner and result files."""

import collections
import concurrent.futures
import contextlib
import importlib
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyarms as ma
from manyarms import sources
from manyarms.atomic import at_once
from manyarms.cli import main
from manyarms.engine import play_range
from manyarms.lab import (
    BadFile,
    Cell,
    Study,
    cluster_executor,
    find_study,
    named_study,
    needed_modules,
    parse_study,
    plan_of_study,
    read_all,
    read_result,
    read_results,
    run,
    run_with_bar,
    study_names,
    summary,
    write_report,
)
from manyarms.lab.running import chunks, contents, folder, runner
from manyarms.lab.running.files import FORMAT, sources_of
from manyarms.lab.studies.modules import import_same
from manyarms.specs import SPEC_TYPES

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


def simulated(cell, **how):
    """The values that ``simulate`` gives a cell."""
    return ma.simulate({"it": cell.policy}, cell.world, cell.horizon, **how)["it"]


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
        (("checkpoints = [100, 300, 600]", "checkpoints = 0"), ["checkpoints", "at least 1", "0"]),
        (("checkpoints = [100, 300, 600]", 'checkpoints = "all"'), ["checkpoints", "list", "'all'"]),
        (("checkpoints = [100, 300, 600]", "checkpoints = [100, nan]"), ["checkpoints", "nan"]),
        (("seed = 5", "seed = -5"), ["two-betas", "seed", "-5"]),
        (('about = "Does beta matter?"', "about = 3"), ["about", "text", "3"]),
        (('name = "two-betas"', f'name = "{"a" * 256}"'), ["name", "255", "256"]),
    ],
)
def test_what_is_wrong_with_a_study_is_named(change, words):
    assert change[0] in TEXT
    with pytest.raises(ValueError, match=r"my\.toml") as caught:
        parse_study(TEXT.replace(*change), "my.toml")
    assert str(caught.value).startswith("my.toml")
    assert str(caught.value).count("my.toml") == 1
    for word in words:
        assert word in str(caught.value)


STILL = ma.World(ma.PowerLaw(beta=1.0))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizons": [[100], [200]]}, ["each of the horizons", "[100]"]),
        ({"horizons": np.array([[100, 200]])}, ["each of the horizons", "[100, 200]"]),
        ({"horizons": np.int64(100)}, ["horizons must be a list", "100"]),
        ({"horizons": "100"}, ["horizons must be a list", "'100'"]),
        ({"horizons": [math.nan]}, ["each of the horizons", "nan"]),
        ({"horizons": [True]}, ["each of the horizons", "True"]),
        ({"horizons": []}, ["horizons", "something in it"]),
        ({"replications": "10"}, ["replications", "'10'"]),
        ({"replications": True}, ["replications", "True"]),
        ({"replications": math.nan}, ["replications", "nan"]),
        ({"replications": [10]}, ["replications", "[10]"]),
        ({"seed": "1"}, ["seed", "'1'"]),
        ({"seed": True}, ["seed", "True"]),
        ({"checkpoints": "64"}, ["checkpoints must be a list", "'64'"]),
        ({"checkpoints": True}, ["checkpoints", "True"]),
        ({"checkpoints": 6.5}, ["checkpoints", "6.5"]),
        ({"checkpoints": [[1, 2]]}, ["each of the checkpoints", "[1, 2]"]),
        ({"checkpoints": None}, ["checkpoints", "None"]),
        ({"policies": [ma.UniformPlay()]}, ["policies must be a table", "UniformPlay"]),
        ({"policies": {1: ma.UniformPlay()}}, ["names of policies", "1"]),
        ({"policies": {"a": ma.UniformPlay}}, ["policies.a must be a Policy"]),
        ({"worlds": STILL}, ["worlds must be a table"]),
        ({"name": ["small"]}, ["name", "['small']"]),
        ({"about": None}, ["about", "None"]),
    ],
)
def test_what_is_wrong_with_a_study_in_python_is_named(changes, words):
    good = {"name": "small", "policies": {"a": ma.UniformPlay()}, "worlds": {"w": STILL}}
    with pytest.raises(ValueError, match=r"(?i)^study") as caught:
        Study.of(**(good | {"horizons": [100], "replications": 2} | changes))
    for word in words:
        assert word in str(caught.value)


def test_numbers_and_arrays_of_numpy_are_those_of_python():
    policies, worlds = {"a": ma.UniformPlay()}, {"w": STILL}
    plain = Study.of("small", policies, worlds, [100, 200], 4, 7, [50, 100])
    numbers = np.int64(4), np.uint64(7), np.array([50, 100])
    assert Study.of("small", policies, worlds, np.array([100, 200]), *numbers) == plain
    assert Study.of("small", policies, worlds, range(100, 300, 100), *numbers).digest() == plain.digest()
    assert Study.of("small", policies, worlds, [100], 4, checkpoints=np.int32(8)).to_json()["checkpoints"] == 8


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
        wanted = simulated(cell, replications=12, seed=3, checkpoints=4)
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


def test_a_file_that_stands_alone_can_be_run_again_too(tmp_path):
    path = run(small_study(), tmp_path)[2]
    wanted, alone = read_result(path), shutil.copy(path, tmp_path / "alone.parquet")
    found = read_result(alone)
    assert (found.cell, found.study.seed, found.first) == (wanted.cell, wanted.study.seed, wanted.first)
    assert found.study.cells == (wanted.cell,)
    assert found.rounds.tolist() == wanted.rounds.tolist()
    assert found.values.tobytes() == wanted.values.tobytes()
    with pytest.raises(BadFile, match=r"alone\.parquet: its study .* is not beside it, in study\.json; run the study"):
        read_all([alone])
    assert read_all([alone], small_study())[0].index == wanted.index  # it is at hand
    shutil.copy(path.parent.parent / "study.json", tmp_path)
    assert read_all([alone])[0].study == small_study()


class Counted:
    """How often some things are done."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.counts = collections.Counter()

    def watch(self, owner, name):
        do = getattr(owner, name)

        def counted(*args, **kwargs):
            self.counts[name] += 1
            return do(*args, **kwargs)

        self.monkeypatch.setattr(owner, name, counted)


def test_a_study_is_validated_once_and_every_cell_written_and_opened_once(tmp_path, monkeypatch):
    done = Counted(monkeypatch)
    done.watch(Study, "__post_init__")
    done.watch(Cell, "to_json")
    done.watch(Cell, "from_json")
    for name in ("ParquetWriter", "ParquetFile", "read_metadata"):
        done.watch(pq, name)
    study = small_study()
    assert len(study.cells) == 8
    paths = run(study, tmp_path)
    assert done.counts == {"__post_init__": 1, "ParquetWriter": 8, "to_json": 8 + 8 + 8}  # digest, study.json, files
    write_report(read_all(paths, study), tmp_path / "here.html")
    counts = {"__post_init__": 1, "ParquetWriter": 8, "to_json": 24 + 8, "ParquetFile": 8}  # compared with the files'
    assert done.counts == counts
    done.counts.clear()  # and from the folder alone, in a day or two
    write_report(read_results(tmp_path / "small"), tmp_path / "there.html")
    assert done.counts == {"__post_init__": 1, "ParquetFile": 8, "from_json": 8, "to_json": 8 + 8}
    assert (tmp_path / "here.html").read_bytes() == (tmp_path / "there.html").read_bytes()


def test_hundreds_of_cells_take_little_and_to_find_them_done_opens_each_file_once(tmp_path, monkeypatch):
    worlds = {f"beta {place}": ma.World(ma.PowerLaw(beta=0.5 + place / 100)) for place in range(200)}
    policies = {"elimination": ma.Elimination(beta=1.0), "uniform": ma.UniformPlay()}
    study = Study.of("many", policies, worlds, horizons=[200], replications=4)
    assert len(run(study, tmp_path)) == len(study.cells) == 400
    files = bytes_below(tmp_path)
    assert sum(map(len, files.values())) <= 10_000_000
    done = Counted(monkeypatch)
    for name in ("ParquetFile", "ParquetWriter", "read_metadata", "read_schema", "read_table"):
        done.watch(pq, name)
    done.watch(contents, "plain_bytes")
    assert plan_of_study(study, tmp_path)["cells left"] == 0
    assert done.counts == {"plain_bytes": 400, "ParquetFile": 400}  # of those bytes
    done.counts.clear()
    run(study, tmp_path)
    assert done.counts == {"plain_bytes": 400, "ParquetFile": 400, "read_metadata": 400}  # and whose each file is
    assert bytes_below(tmp_path) == files


def test_cells_of_several_chunks_are_put_together_from_files_that_are_opened_once(tmp_path, monkeypatch):
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 1600)
    done = Counted(monkeypatch)
    for name in ("ParquetWriter", "ParquetFile"):
        done.watch(pq, name)
    study = small_study()
    parts = sum(len(list(chunks.chunks_of(study, index))) for index in range(8))
    run(study, tmp_path)
    assert done.counts == {"ParquetWriter": parts + 8, "ParquetFile": parts}


# ---------------------------------------------------------------- files of all formats

GOLDEN = Path(__file__).parent.parent.parent / "golden"
FORMATS = range(1, FORMAT + 1)


def said_in(path):
    """What a result file says of itself."""
    return json.loads(pq.read_metadata(path).metadata[b"manyarms"])


@pytest.mark.parametrize("format", FORMATS)
def test_files_of_all_formats_are_read(format):
    results = read_results(GOLDEN / f"results-{format}")
    assert [said_in(path)["format"] for path in (GOLDEN / f"results-{format}").glob("cells/*")] == [format] * 2
    assert [result.cell.policy for result in results] == [ma.Elimination(beta=1.0), ma.UniformPlay()]
    for result, newest in zip(results, read_results(GOLDEN / f"results-{FORMAT}"), strict=True):
        assert result.study == newest.study
        assert (result.index, result.first) == (newest.index, newest.first)
        assert result.rounds.tolist() == newest.rounds.tolist()
        assert result.values.tobytes() == newest.values.tobytes()
        again = simulated(result.cell, replications=3, seed=5, checkpoints=4)
        assert result.values.tobytes() == again.tobytes()


@pytest.mark.parametrize("format", FORMATS)
def test_files_of_all_formats_are_reported_and_explained(format, tmp_path, capsys):
    folder = shutil.copytree(GOLDEN / f"results-{format}", tmp_path / "golden")
    assert main(["report", str(folder)]) == 0
    assert "A file that later versions still read." in (folder / "report.html").read_text(encoding="utf-8")
    for path in sorted(folder.glob("cells/*")):
        assert main(["explain", str(path), "--replication", "2", "--out", str(tmp_path / "run.html")]) == 0
    [path, *_] = sorted(folder.glob("cells/*"))
    alone = shutil.copy(path, tmp_path / "alone.parquet")
    assert main(["explain", str(alone), "--out", str(tmp_path / "run.html")]) == 0


def test_files_of_an_old_format_are_named_and_made_again(tmp_path):
    folder = shutil.copytree(GOLDEN / "results-1", tmp_path / "golden")
    study = read_results(folder)[0].study
    with pytest.warns(UserWarning, match="1 more files are of other sources"):
        paths = run(study, tmp_path)
    assert [said_in(path)["format"] for path in paths] == [FORMAT] * 2


def test_files_hold_their_cell_and_not_the_study(tmp_path):
    path = run(small_study(), tmp_path)[5]
    said = said_in(path)
    assert said["study"] == small_study().to_json() | {"cells": [small_study().cells[5].to_json()]}
    assert (said["cell"], said["of"], said["index"]) == (0, small_study().digest(), 5)


def test_the_summary_has_a_row_for_each_cell(tmp_path):
    results = [read_result(path) for path in run(small_study(), tmp_path)]
    rows = summary(results)
    regret = results[0].column("regret")[:, -1]
    assert rows[0]["mean"] == pytest.approx(regret.mean())
    assert rows[0]["sd"] == pytest.approx(regret.std(ddof=1))
    assert len(rows) == 8
    assert rows[0]["reward"] == pytest.approx(results[0].final("reward").mean() / results[0].cell.horizon)
    names = list(rows[0])
    assert (names.index("mean") < names.index("reward")) == all(
        result.cell.world.top == result.cell.world.reservoir.top for result in results
    )


def test_the_bytes_do_not_depend_on_jobs_or_chunks(tmp_path, monkeypatch):
    run(small_study(), tmp_path / "a", jobs=1)
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 1600)
    run(small_study(), tmp_path / "b", jobs=2)
    assert bytes_below(tmp_path / "a") == bytes_below(tmp_path / "b")


@pytest.mark.once
def test_a_second_run_plays_nothing(tmp_path, monkeypatch):
    run(small_study(), tmp_path)
    before = bytes_below(tmp_path)
    monkeypatch.setattr(runner, "play_range", None)
    seen = []
    run(small_study(), tmp_path, progress=seen.append)
    assert seen == []
    assert bytes_below(tmp_path) == before
    assert plan_of_study(small_study(), tmp_path)["rounds left"] == 0


@pytest.mark.once
def test_progress_counts_down(tmp_path, monkeypatch):
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 1600)
    seen = []
    run(small_study(), tmp_path, progress=seen.append)
    assert [one.rounds + one.rounds_left for one in seen] == [small_study().rounds()] * len(seen)
    assert seen[-1].rounds_left == seen[-1].cells_left == 0
    assert len(seen) == sum(len(list(chunks.chunks_of(small_study(), index))) for index in range(8))


# ---------------------------------------------------------------- large and long


def test_a_billion_replications_are_planned_without_listing_their_chunks(tmp_path, monkeypatch):
    for module in (chunks, folder, runner):
        monkeypatch.setattr(module, "chunks_of", None)
    study = Study.of("large", {"uniform": ma.UniformPlay()}, {"still": STILL}, [10**8], 10**9)
    with pytest.warns(UserWarning, match="fewer replications"):
        found = plan_of_study(study, tmp_path)
    assert found["rounds left"] == found["rounds"] == 10**17
    with pytest.raises(MemoryError, match=r"study large: 1,000,000,000 replications with 64 checkpoints .* GB"):
        run(study, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_chunks_are_listed_as_they_are_played():
    study = small_study()
    listed = []

    def listing():
        for number in range(10):
            listed.append(number)
            yield chunks.Chunk(0, number, number + 1)

    with concurrent.futures.ThreadPoolExecutor(1) as executor:

        def submit(chunk):
            return executor.submit(runner.play_chunk, study, chunk)

        for played, _ in enumerate(runner.play_on(runner.Players(submit, lambda: 2), study, listing()), 1):
            assert len(listed) <= played + 2
    assert played == 10


def test_a_chunk_has_a_bounded_number_of_values():
    study = Study.of("short", {"uniform": ma.UniformPlay()}, {"still": STILL}, [64], 10**7)
    for device, most in chunks.CHUNK_NUMBERS.items():
        first = next(chunks.chunks_of(study, 0, device))
        assert 0.9 * most < (first.last - first.first) * chunks.numbers_of(study, study.cells[0]) <= most


@pytest.mark.once
def test_chunks_that_are_there_are_not_played_again(tmp_path, monkeypatch):
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 1600)  # four or two replications
    study = small_study()
    seen = []

    def stop_after_five(progress):
        seen.append(progress)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path, jobs=1, progress=stop_after_five)
    assert plan_of_study(study, tmp_path)["rounds left"] == seen[-1].rounds_left == study.rounds() - 5 * 1600
    assert plan_of_study(study, tmp_path, resume=False)["rounds left"] == study.rounds()
    run(study, tmp_path, progress=seen.append)
    assert seen[-1].rounds == study.rounds() - 5 * 1600


@pytest.mark.parametrize("letter", ["a", "ß", "😀"])
def test_names_may_be_long(tmp_path, letter):
    policies = {letter * 300: ma.UniformPlay(), letter * 301: ma.UniformPlay()}
    paths = run(Study.of("s" * 255, policies, {letter * 300: STILL}, [50], 1), tmp_path)
    assert len(set(paths)) == 2
    assert [read_result(path).cell.policy_name for path in paths] == list(policies)


def test_a_file_may_have_the_longest_name_there_is(tmp_path):
    path = tmp_path / ("ß" * 125 + ".html")
    with at_once(path) as temporary:
        temporary.write_text("x")
    assert path.read_text() == "x"


def test_a_plan_is_for_a_device_and_a_cluster(tmp_path, monkeypatch):
    assert plan_of_study(small_study(), tmp_path, jobs=1)["seconds, roughly"] > 0
    two = plan_of_study(small_study(), tmp_path, cluster="local:2")["seconds, roughly"]
    assert two == plan_of_study(small_study(), tmp_path, jobs=2)["seconds, roughly"]
    assert math.isnan(plan_of_study(small_study(), tmp_path, cluster="tcp://host:8786")["seconds, roughly"])
    with pytest.raises(ValueError, match="nowhere"):
        plan_of_study(small_study(), tmp_path, cluster="nowhere")
    monkeypatch.setattr(runner, "chosen_device", lambda device: "gpu")
    found = plan_of_study(small_study(), tmp_path, device="auto")
    assert found["device"] == "gpu"
    assert math.isnan(found["seconds, roughly"])


# ---------------------------------------------------------------- what can go wrong


@pytest.mark.once
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


@pytest.mark.once
def test_one_bit_is_noticed_wherever_it_is(tmp_path):
    path = run(small_study(), tmp_path)[1]
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ (1 << place % 8)]) + good[place + 1 :])
        with pytest.raises(BadFile, match=path.name):
            read_result(path)


def rewritten(path, change):
    """The table of a result, changed and written again by somebody else, with all that the file said of itself."""
    said = pq.read_metadata(path).metadata[b"manyarms"]
    table = change(pq.read_table(path))
    pq.write_table(table.replace_schema_metadata({b"manyarms": said}), path)


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.once
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.rename_columns(["rgret" if name == "regret" else name for name in table.column_names]),
        lambda table: with_column(table, "regret", [[str(value) for value in table["regret"].to_pylist()]]),
        lambda table: with_column(table, "round", [[7] * len(table)]),
        lambda table: with_column(table, "replication", [[0] * len(table)]),
        lambda table: pa.concat_tables([table, table]),
        lambda table: table.slice(0, len(table) - 1),
        lambda table: table.drop_columns(["restarts"]),
    ],
    ids=["as it was", "renamed", "text", "rounds", "replications", "twice", "short", "dropped"],
)
def test_a_rewritten_file_is_named_and_made_again(tmp_path, change):
    path = run(small_study(), tmp_path)[1]
    before = bytes_below(tmp_path)
    rewritten(path, change)
    with pytest.raises(BadFile, match=path.name):
        read_result(path)
    with pytest.warns(UserWarning, match=path.name):
        run(small_study(), tmp_path)
    assert bytes_below(tmp_path) == before


@pytest.mark.once
def test_a_table_of_somebody_else_is_no_result(tmp_path):
    path = run(small_study(), tmp_path)[0]
    pq.write_table(pa.table({"x": [1, 2]}), path)
    with pytest.raises(BadFile, match="no result of manyarms"):
        read_result(path)


@pytest.mark.once
def test_results_of_another_study_or_other_sources_are_made_again(tmp_path, monkeypatch):
    run(small_study(), tmp_path)
    with pytest.warns(UserWarning, match="another study"):
        run(small_study().replace(seed=4), tmp_path)
    monkeypatch.setattr(folder, "sources_of", lambda cell: "0" * 16)
    with pytest.warns(UserWarning, match="7 more files are of other sources") as seen:
        run(small_study().replace(seed=4), tmp_path)
    assert len(seen) == 1  # not one for each file


@pytest.mark.once
def test_another_study_of_the_same_name_destroys_nothing(tmp_path):
    first, second = small_study(), small_study(replications=5)
    run(first, tmp_path)
    before = bytes_below(tmp_path / "small" / "cells")
    with pytest.warns(UserWarning, match="set aside"):
        run(second, tmp_path)
    assert bytes_below(tmp_path / "small" / f"cells-{first.digest()}") == before
    assert read_all((tmp_path / "small" / f"cells-{first.digest()}").iterdir())[0].study == first
    run(second, tmp_path, resume=False)
    assert bytes_below(tmp_path / "small" / f"cells-{first.digest()}") == before
    seen = []
    with pytest.warns(UserWarning, match="set aside"):
        run(first, tmp_path, progress=seen.append)
    assert seen == []  # they came back
    assert bytes_below(tmp_path / "small" / "cells") == before
    assert read_results(tmp_path / "small")[0].study == first
    names = {path.name for path in (tmp_path / "small").glob("*.json")}
    assert names == {"study.json", f"study-{second.digest()}.json"}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The path of a module that defines a policy, and a study that plays it."""
    path = tmp_path / "elsewhere.py"
    path.write_text(
        "import dataclasses\nfrom manyarms.policies.uniform_play import UniformPlay\n"
        "@dataclasses.dataclass(frozen=True)\nclass ElsewherePlay(UniformPlay):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    policy = importlib.import_module("elsewhere").ElsewherePlay()
    yield path, Study.of("own", {"mine": policy}, {"still": STILL}, [10], 1)
    del sys.modules["elsewhere"]
    SPEC_TYPES.pop("ElsewherePlay", None)


def test_results_of_types_that_are_unknown_here_are_set_aside(tmp_path, elsewhere):
    _, study = elsewhere
    [path] = run(study, tmp_path)
    before = path.read_bytes()
    del SPEC_TYPES["ElsewherePlay"]
    with pytest.warns(UserWarning, match="set aside"):
        run(Study.of("own", {"mine": ma.UniformPlay()}, {"still": STILL}, [10], 1), tmp_path)
    assert (tmp_path / "own" / f"cells-{study.digest()}" / path.name).read_bytes() == before


def test_workers_have_the_modules_a_study_needs(elsewhere):
    _, study = elsewhere
    modules = needed_modules(study.cells)
    assert list(modules) == ["manyarms", "elsewhere"]
    assert list(needed_modules(small_study().cells)) == ["manyarms"]
    import_same(modules)
    for name in modules:
        with pytest.raises(ImportError, match=f"other sources of '{name}'"):
            import_same(modules | {name: "0" * 16})
    with pytest.raises(ImportError, match="cannot import the module 'nowhere_at_all'"):
        import_same({"nowhere_at_all": ""})


@pytest.mark.compiled
def test_other_processes_import_what_they_need(tmp_path, elsewhere):
    _, study = elsewhere
    here = run(study, tmp_path / "here")
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        there = run(study, tmp_path / "there", executor=executor)
    assert there[0].read_bytes() == here[0].read_bytes()


def test_sources_of_specs_from_elsewhere_count_as_they_were_loaded(elsewhere):
    module, study = elsewhere
    [cell] = study.cells
    before = sources_of(cell)
    assert before != sources_of(small_study().cells[1])
    module.write_text(module.read_text() + "# edited\n")
    assert sources_of(cell) == before  # what plays is the old code
    importlib.reload(sys.modules["elsewhere"])
    assert sources_of(cell) != before


def test_of_sources_that_nobody_knows_no_result_is_kept_and_no_worker_has_the_same(tmp_path, elsewhere, monkeypatch):
    _, study = elsewhere
    modules = needed_modules(study.cells)
    run(study, tmp_path)
    monkeypatch.setattr(sources, "behind", lambda module: {module: b"known", "helper": None})
    for _ in range(2):
        with pytest.warns(UserWarning, match="is of other sources .*; made anew"):
            run(study, tmp_path)
    with pytest.raises(RuntimeError, match="the module 'helper' was changed after it had been loaded, so no worker"):
        needed_modules(study.cells)
    with pytest.raises(ImportError, match="other sources of 'elsewhere'"):
        import_same(modules)


def test_what_an_executor_gives_back_is_looked_at(tmp_path):
    class Forgetful(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, *args, **kwargs):
            return super().submit(lambda: function(*args, **kwargs)[:1])

    with Forgetful(1) as executor, pytest.raises(RuntimeError, match="shape"):
        run(small_study(), tmp_path, executor=executor)


@pytest.mark.once
def test_two_runs_at_a_time_are_refused(tmp_path):
    def again(progress):
        run(small_study(), tmp_path)

    with pytest.raises(RuntimeError, match="another run is at work"):
        run(small_study(), tmp_path, progress=again)
    run(small_study(), tmp_path)


@pytest.mark.once
def test_what_killed_runs_have_left_half_written_is_removed(tmp_path):
    home = tmp_path / "small"
    ours = [home / "cells" / ".0000-a.parquet.x.tmp", home / "parts-0" / ".0.parquet.x.tmp", home / ".study.json.x.tmp"]
    others = [home / ".report.html.x.tmp", home / "cells" / ".0000-a.parquet.swp"]
    for path in [*ours, *others]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def again(progress):
        ours[0].touch()  # of the run that is under way
        with pytest.raises(RuntimeError, match="another run is at work"):
            run(small_study(), tmp_path)
        assert ours[0].exists()

    run(small_study(), tmp_path, progress=again)
    run(small_study(), tmp_path)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in others)


@pytest.mark.once
def test_bad_jobs_are_refused_before_anything_is_deleted(tmp_path):
    run(small_study(), tmp_path)
    before = bytes_below(tmp_path)
    with pytest.raises(ValueError, match="jobs"):
        run(small_study(), tmp_path, jobs=0, resume=False)
    assert bytes_below(tmp_path) == before


@pytest.mark.once
def test_without_resume_everything_is_played_again(tmp_path):
    run(small_study(), tmp_path)
    seen = []
    run(small_study(), tmp_path, resume=False, progress=seen.append)
    assert seen[-1].rounds == small_study().rounds()


SCRIPT = textwrap.dedent(
    """
    import sys
    from tests.lab.running.test_runner import small_study
    from manyarms.lab import run
    from manyarms.lab.running import chunks
    chunks.CHUNK_ROUNDS["cpu"] = 800  # one or two replications
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
        cwd=Path(__file__).parent.parent.parent.parent,
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
    paths = run(small_study(replications=60), tmp_path / "killed")
    assert not list((tmp_path / "killed").rglob("*.tmp"))
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
    left = plan_of_study(small_study(replications=60), tmp_path)["rounds left"]
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


def test_two_clusters_on_one_machine_are_no_error():
    with cluster_executor("local:1") as one, cluster_executor("local:1") as other:  # warnings are errors here
        assert one.submit(abs, -1).result() == other.submit(abs, -1).result() == 1


@pytest.mark.compiled
def test_on_a_cluster_with_a_worker_killed_the_bytes_are_the_same(tmp_path, monkeypatch):
    undisturbed = run(small_study(replications=60), tmp_path / "here")
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 1600)
    killed = []
    with cluster_executor("local:2") as executor:
        client = executor.client

        def kill_one(progress):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        paths = run(small_study(replications=60), tmp_path / "cluster", executor=executor, progress=kill_one)
    assert killed
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in undisturbed]


@pytest.mark.compiled
def test_workers_that_lack_a_module_are_refused_before_anything_is_deleted(tmp_path, elsewhere, monkeypatch):
    with pytest.raises(ImportError, match="nowhere_at_all"), cluster_executor("local:1", {"nowhere_at_all": ""}):
        pass

    @contextlib.contextmanager
    def refusing(where, modules, wait):
        raise ImportError(f"{where} lacks {list(modules)}")
        yield

    _, study = elsewhere
    run(study, tmp_path)
    before = bytes_below(tmp_path)
    monkeypatch.setattr(runner, "cluster_executor", refusing)
    with pytest.raises(ImportError, match=r"local:1 lacks \['manyarms', 'elsewhere'\]"):
        run_with_bar(study, tmp_path, cluster="local:1", resume=False)
    assert bytes_below(tmp_path) == before


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
