"""Result files and their study after somebody has been at them. (verification/attacks/results.py does more of it.)"""

import contextlib
import json
import os
import subprocess
import sys
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyarms as ma
from manyarms import atomic
from manyarms.cli import main
from manyarms.lab import (
    FINDINGS,
    NAMED_STUDIES,
    BadFile,
    Study,
    findings,
    plan_of_study,
    read_result,
    read_results,
    run,
)
from manyarms.lab.running import chunks
from manyarms.lab.running.contents import KEY, UNSIGNED
from manyarms.lab.running.files import sign
from manyarms.specs import SPEC_TYPES, BrokenSpec

pytestmark = pytest.mark.once

WORLDS = {name: ma.World(ma.PowerLaw(beta=beta)) for name, beta in (("one", 1.0), ("two", 2.0))}
STUDY = Study.of("tiny", {"uniform": ma.UniformPlay()}, WORLDS, [10], 2, seed=3, checkpoints=2)


@pytest.fixture
def done(tmp_path, uncompiled, soon):
    """The result files of a study, which anything may be done to."""
    return run(STUDY, tmp_path)


def again(folder):
    """Run the study again: what was warned of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run(STUDY, folder)
    return " ".join(str(one.message) for one in seen)


def said_by(path):
    return json.loads(pq.read_metadata(path).metadata[KEY])


def signed(path, table=None, text=None):
    """Write a file anew as the package would, with a digest of what is in it now."""
    text = text or json.dumps(said_by(path) | {"digest": UNSIGNED}, sort_keys=True)
    table = (pq.ParquetFile(path).read() if table is None else table).replace_schema_metadata(None)
    with pq.ParquetWriter(path, table.schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: text.encode()})
    sign(path)


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, [values])


def test_a_file_may_be_signed_by_anybody(done):
    wanted = read_result(done[0]).values.tobytes()
    signed(done[0])
    assert read_result(done[0]).values.tobytes() == wanted


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.rename_columns(["rgret" if name == "regret" else name for name in table.column_names]),
        lambda table: with_column(table, "regret", [str(value) for value in table["regret"].to_pylist()]),
        lambda table: with_column(table, "regret", [None, *table["regret"].to_pylist()[1:]]),
        lambda table: with_column(table, "round", [7] * len(table)),
        lambda table: with_column(table, "replication", [99] * len(table)),
        lambda table: pa.concat_tables([table, table]),
        lambda table: table.slice(0, 0),
        lambda table: table.append_column("regret", table["regret"]),
    ],
    ids=["renamed", "text", "gaps", "rounds", "replications", "twice", "empty", "a column twice"],
)
def test_a_file_that_was_signed_again_must_still_make_sense(done, tmp_path, change):
    before = done[1].read_bytes()
    signed(done[1], change(pq.ParquetFile(done[1]).read()))
    with pytest.raises(BadFile, match=done[1].name):
        read_result(done[1])
    assert done[1].name in again(tmp_path)
    assert done[1].read_bytes() == before


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("field", "weird"),
    [
        ("first", "1e400"),
        ("first", '"none"'),
        ("index", "1e400"),
        ("index", "-1"),
        ("cell", "2147483647"),
        ("of", '"../../elsewhere"'),
        ("of", "[]"),
        ("sources", '""'),
        ("version", "1e400"),
        ("study", DEEP),
        ("study", '"text"'),
        ("study", '{"name": "tiny"}'),
    ],
)
def test_what_a_file_says_may_be_anything(done, tmp_path, field, weird):
    before = done[1].read_bytes()
    said = said_by(done[1]) | {"digest": UNSIGNED, field: "@@"}
    signed(done[1], text=json.dumps(said, sort_keys=True).replace('"@@"', weird))
    alone = tmp_path / "alone.parquet"
    alone.write_bytes(done[1].read_bytes())
    with contextlib.suppress(BadFile):
        read_result(alone)
    with pytest.raises(BadFile, match=done[1].name):
        read_results(tmp_path / "tiny")
    assert main(["report", str(tmp_path / "tiny")]) == 2
    assert done[1].name in again(tmp_path)
    assert done[1].read_bytes() == before
    assert not (tmp_path.parent / "elsewhere").exists()


def test_a_cell_is_that_of_the_study(done, tmp_path):
    said = said_by(done[0]) | {"digest": UNSIGNED}
    said["study"]["seed"] = 4
    signed(done[0], text=json.dumps(said, sort_keys=True))
    with pytest.raises(BadFile, match="not what its study says"):
        read_result(done[0])
    assert done[0].name in again(tmp_path)


def test_files_that_change_places_are_noticed(done, tmp_path):
    before = [path.read_bytes() for path in done]
    done[0].write_bytes(before[1])
    done[1].write_bytes(before[0])
    assert "of another cell" in again(tmp_path)
    assert [path.read_bytes() for path in done] == before


def test_only_what_is_undamaged_is_set_aside_for_another_study(done, tmp_path):
    before = done[0].read_bytes()
    digest = STUDY.digest().encode()
    done[0].write_bytes(before.replace(digest, digest[::-1]))
    assert f"{done[0].name} is damaged" in again(tmp_path)
    assert done[0].read_bytes() == before
    assert list((tmp_path / "tiny").glob("cells-*")) == []


@pytest.mark.parametrize("pipe", ["cells/*.parquet", "study.json", ".lock"])
def test_a_pipe_is_neither_waited_for_nor_replaced(done, tmp_path, pipe):
    before = [path.read_bytes() for path in done]
    [path, *_] = sorted((tmp_path / "tiny").glob(pipe))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match=rf"{path.name} is no plain file.*; move it away"):
        run(STUDY, tmp_path)  # warnings are errors: nothing is said to be made anew
    assert path.is_fifo()
    if pipe.endswith(".parquet"):
        assert main(["explain", str(path)]) == 2
        with pytest.raises(BadFile, match=r"is damaged: .* is no plain file"):
            read_result(path)
        with pytest.raises(OSError, match=f"{path.name} is no plain file"):
            plan_of_study(STUDY, tmp_path)
    path.unlink()
    again(tmp_path)
    assert [path.read_bytes() for path in done] == before


def test_a_pipe_among_temporary_files_is_not_waited_for(tmp_path, soon):
    os.mkfifo(tmp_path / ".it.txt.x.tmp")
    with atomic.at_once(tmp_path / "it.txt") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "it.txt").read_text() == "x"


def test_a_folder_in_place_of_a_result_is_refused_before_anything_is_played(tmp_path, done):
    done[0].unlink()
    done[0].mkdir()
    with pytest.raises(OSError, match=f"{done[0].name} is a folder"):
        run(STUDY, tmp_path)


def test_a_chunk_that_claims_two_billion_checkpoints_is_not_believed(tmp_path, uncompiled, monkeypatch, soon):
    monkeypatch.setitem(chunks.CHUNK_ROUNDS, "cpu", 10)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(STUDY, tmp_path, jobs=1, progress=stop)
    [part] = tmp_path.glob("tiny/parts-*/*.parquet")
    said = said_by(part) | {"digest": UNSIGNED, "of": "0" * 16}
    said["study"]["checkpoints"] = said["study"]["cells"][0]["horizon"] = 2**31 - 1
    signed(part, text=json.dumps(said, sort_keys=True))
    with pytest.raises(BadFile, match=r"checkpoints must be at most 10,000,000, not 2,147,483,647"):
        read_result(part)
    assert f"{part.name} is of another study" in again(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed": 3', '"seed": 1e400'),
        ('"seed": 3', f'"seed": {DEEP}'),
        ('"seed": 3', '"seed": "three"'),
        ('"seed": 3', '"seed": 4'),
        ('"replications": 2', '"replications": -2'),
        ("}", ""),
    ],
)
def test_a_damaged_study_beside_its_results_is_named_and_made_again(done, tmp_path, old, new):
    path = tmp_path / "tiny" / "study.json"
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    with pytest.raises(BadFile, match=r"is not beside it, in study\.json; run the study again"):
        read_results(tmp_path / "tiny")
    assert "study.json is damaged" in again(tmp_path)
    assert path.read_text() == before
    assert [result.index for result in read_results(tmp_path / "tiny")] == [0, 1]


def test_results_come_in_the_order_of_cells_whatever_files_are_called(done, tmp_path):
    done[0].rename(done[0].with_name("9999-a.parquet"))
    done[1].rename(done[1].with_name("10000-b.parquet"))
    assert [result.index for result in read_results(tmp_path / "tiny")] == [0, 1]


# ---------------------------------------------------------------- what must not grow with the square of the cells


def test_folders_are_not_looked_through_for_every_file(tmp_path, uncompiled, monkeypatch):
    looked = []
    monkeypatch.setattr(atomic, "_remove_leftovers", lambda *where: looked.append(where))
    run(STUDY, tmp_path)
    assert len(looked) == 1  # for study.json


def test_files_of_another_study_are_seen_without_making_it(done, tmp_path, monkeypatch):
    other = STUDY.replace(seed=4)
    monkeypatch.setattr(Study, "from_json", None)
    assert plan_of_study(other, tmp_path)["cells left"] == 2


def test_to_look_at_files_pandas_is_not_imported(done):
    script = "import sys, pathlib; from manyarms.lab import read_result; read_result(pathlib.Path(sys.argv[1]))"
    script += "; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script, str(done[0])]).returncode == 0


# ---------------------------------------------------------------- errors of one's own code

OWN = """
import dataclasses
import manyarms

@dataclasses.dataclass(frozen=True)
class Raising(manyarms.UniformPlay):
    def start(self, rounds):
        STARTS.append(rounds)
        return {}["nothing"]

STARTS = []
"""

TOML = """
name = "own"
replications = 1
horizons = [10]
[worlds.still]
reservoir = {type = "PowerLaw", beta = 1.0}
[policies.mine]
type = "Raising"
"""


def test_an_error_of_ones_own_policy_says_whose_it_is_and_where(tmp_path, uncompiled, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raising_module.py").write_text(OWN)
    (tmp_path / "own.toml").write_text(TOML)
    try:
        import raising_module

        policy, line = raising_module.Raising(), OWN.splitlines().index('        return {}["nothing"]') + 1
        words = rf"^Raising\(\): its own code .* start\(10\): KeyError: 'nothing' \(.*raising_module\.py, line {line}\)"
        with pytest.raises(BrokenSpec, match=words) as caught:
            ma.simulate(policy, WORLDS["one"], 10)
        assert isinstance(caught.value.__cause__, KeyError)
        raising_module.STARTS.clear()
        with pytest.raises(BrokenSpec, match=words):
            run(Study.of("own", {"mine": policy}, WORLDS, [10], 1), tmp_path / "results", jobs=1)
        assert len(raising_module.STARTS) <= 2  # one for each cell: it is not tried again
        assert main(["run", "own.toml", "--import", "raising_module"]) == 2
        captured = capsys.readouterr().err
        assert captured.startswith("manyarms run: Raising(): its own code has raised an error, in start(10): KeyError")
        assert "raising_module.py" in captured
    finally:
        SPEC_TYPES.pop("Raising", None)


def test_slots_may_raise_as_well(monkeypatch):
    class Slotless(ma.UniformPlay):
        def slots(self, rounds):
            raise ZeroDivisionError("mine")

    monkeypatch.delitem(SPEC_TYPES, "Slotless")
    words = r"Slotless\(\): its own code has raised an error, in slots\(10\): ZeroDivisionError: mine \(.*, line \d+\)"
    with pytest.raises(BrokenSpec, match=words):
        ma.simulate(Slotless(), WORLDS["one"], 10)
    with pytest.raises(ValueError, match=words):
        Study.of("own", {"mine": Slotless()}, WORLDS, [10], 1)


def test_what_the_package_itself_raises_is_not_called_ones_own(monkeypatch):
    def start(self, rounds):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(ma.UniformPlay, "start", start)
    with pytest.raises(ZeroDivisionError, match="ours"):
        ma.simulate(ma.UniformPlay(), WORLDS["one"], 10)


def test_findings_may_raise_too(done, tmp_path, monkeypatch):
    monkeypatch.setitem(NAMED_STUDIES, "tiny", lambda: STUDY)
    monkeypatch.setitem(FINDINGS, "tiny", lambda results: {}["nothing"])
    with pytest.raises(ValueError, match=r"study tiny: its function in FINDINGS .* KeyError: 'nothing' \(.*, line \d+"):
        findings(read_results(tmp_path / "tiny"))
