"""Result files and studies under attack, python -m verification.attacks.results.

Bytes are flipped, files cut, rewritten, exchanged and replaced by pipes, what they say of themselves is changed (and
signed again, as by somebody who knows how), runs are killed, and sources edited while they are played, before that,
and between two runs. It has held if whatever was done is named, and the same command leaves the same bytes as a run
that nobody disturbed; never a traceback, and nothing that is waited for in vain.

``--size 1`` is 10,000 flips of result files and 50 kills; ``--seed`` says which.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import manyarms as ma
from manyarms.lab import BadFile, Study, read_result, read_results, read_study, run
from manyarms.lab.running import chunks
from manyarms.lab.running.contents import KEY, UNSIGNED
from manyarms.lab.running.files import STUDY, read_json, sign

from .changes import cut, mutated, other_byte
from .rows import Row, main, scaled
from .trying import outcome, soon

Damage = Callable[[bytes, random.Random], bytes]

PIECE = 60
"""Rounds of a chunk here: one replication. Else a study with several would take long."""


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """Attack, and say for each kind how often it was tried and how often it held."""
    dice = random.Random(seed)
    usual = chunks.CHUNK_ROUNDS["cpu"]
    chunks.CHUNK_ROUNDS["cpu"] = PIECE
    try:
        with tempfile.TemporaryDirectory() as place:
            finished, stopped = Finished(Path(place, "finished")), Stopped(Path(place, "stopped"))
            yield from flips(finished, stopped, dice, size)
            yield from rewrites(finished, dice, size)
            yield metadata(finished, dice, scaled(1_000, size))
            yield studies(finished, dice, scaled(500, size))
            yield pipes(finished, stopped)
            yield kills(Path(place, "killed"), dice, scaled(50, size))
            yield edits(Path(place, "edited"), scaled(4, size))
            yield from edits_of_helpers(Path(place, "helpers"), scaled(2, size))
    finally:
        chunks.CHUNK_ROUNDS["cpu"] = usual


# ---------------------------------------------------------------- what is attacked


def study_of(worlds: int, replications: int) -> Study:
    """A study of small cells, all of one type, so that little is compiled."""
    table = {f"beta {1 + place / 10:.1f}": ma.World(ma.PowerLaw(1 + place / 10)) for place in range(worlds)}
    return Study.of("attacked", {"uniform": ma.UniformPlay()}, table, [PIECE], replications, seed=7, checkpoints=4)


class Finished:
    """A folder with the results of a study, which can be run again after something was done to them."""

    study = study_of(40, 1)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {path.name: path for path in run(self.study, folder)}
        self.good = {name: path.read_bytes() for name, path in self.files.items()}
        self.home = folder / self.study.name
        self.json = (self.home / STUDY).read_bytes()

    def again(self) -> list[str]:
        """Run the study again: what was warned of."""
        with warnings.catch_warnings(record=True) as seen, soon():
            warnings.simplefilter("always")
            run(self.study, self.folder, jobs=1)
        return [str(one.message) for one in seen]

    def wrong_after(self, names: list[str]) -> dict[str, str]:
        """Run the study again, after something was done to these files: what is wrong with each of them then."""
        unnoticed = {name for name in names if not is_refused(self.files[name])}
        said = self.again()
        wrong = {}
        for name in names:
            is_named = any(name in text for text in said)
            is_same = self.files[name].is_file() and self.files[name].read_bytes() == self.good[name]
            wrong[name] = "read as if nothing were" * (name in unnoticed) or "not named" * (not is_named)
            wrong[name] = wrong[name] or "not made anew" * (not is_same)
        self.restore()
        return wrong

    def restore(self) -> None:
        """As it was, whatever came of an attack."""
        for path in [*self.home.glob("study-*.json"), *self.home.glob("cells-*")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        there = {path.name: path for path in self.files.values() if path.is_file()}
        for name, data in self.good.items():
            if name not in there or there[name].read_bytes() != data:
                self.files[name].unlink(missing_ok=True)
                self.files[name].write_bytes(data)
        (self.home / STUDY).unlink(missing_ok=True)
        (self.home / STUDY).write_bytes(self.json)


class Stopped(Finished):
    """The same with the chunks of one cell, all but the last, of a run that was stopped."""

    study = study_of(1, 40)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "whole")
        [self.result] = self.good.values()
        self.folder = folder / "stopped"
        left: list[int] = []

        def stop_before_the_last(progress: Any) -> None:
            left.append(progress.rounds_left)
            if progress.rounds_left == PIECE:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            run(self.study, self.folder, jobs=1, progress=stop_before_the_last)
        self.home = self.folder / self.study.name
        self.files = {path.name: path for path in sorted(self.home.glob("parts-*/*.parquet"))}
        self.good = {name: path.read_bytes() for name, path in self.files.items()}

    def wrong_after(self, names: list[str]) -> dict[str, str]:
        """The same; the chunks are gone then, and the result must be that of an undisturbed run."""
        unnoticed = {name for name in names if not is_refused(self.files[name])}
        said = self.again()
        [result] = self.home.glob("cells/*.parquet")
        wrong = "another result" * (result.read_bytes() != self.result)
        wrong = wrong or "chunks are left" * bool(list(self.home.glob("parts-*")))
        result.unlink()
        next(iter(self.files.values())).parent.mkdir(exist_ok=True)
        self.restore()
        return {
            name: "read as if nothing were" * (name in unnoticed)
            or "not named" * (not any(name in text for text in said))
            or wrong
            for name in names
        }


def is_refused(path: Path) -> bool:
    """Whether a file is not read, and the error names it."""
    try:
        with soon():
            read_result(path)
    except BadFile as error:
        return path.name in str(error)
    return False


def in_batches(row: Row, at: Finished, tries: int, damaged: Damage, dice: random.Random) -> dict[str, object]:
    """Damage all files at once, run the study again, and so on until there were so many tries."""
    while row.tries < tries:
        names = list(at.files)[: tries - row.tries]
        for name in names:
            at.files[name].write_bytes(damaged(at.good[name], dice))
        found: dict[str, str] = {}

        def look(found: dict[str, str] = found, names: list[str] = names) -> str:
            found |= at.wrong_after(names)
            return ""

        wrong = outcome(look)
        if wrong:
            at.restore()
        for name in names:
            row.note(wrong or found[name])
    return row.values()


# ---------------------------------------------------------------- bytes


def flips(finished: Finished, stopped: Stopped, dice: random.Random, size: float) -> Iterator[dict[str, object]]:
    """Bytes become others, and files shorter or longer."""

    def smeared(data: bytes, dice: random.Random) -> bytes:
        place, length = dice.randrange(len(data)), dice.randrange(1, 512)
        other = dice.choice([bytes(length), b"\xff" * length, dice.randbytes(length), b""])
        changed = data[:place] + other + data[place + length :]
        return changed if changed != data else data + b"\0"

    yield in_batches(Row("a byte of a result file is flipped"), finished, scaled(10_000, size), other_byte, dice)
    yield in_batches(Row("a byte of a chunk is flipped"), stopped, scaled(2_000, size), other_byte, dice)
    yield in_batches(Row("a result file is cut off"), finished, scaled(1_000, size), cut, dice)
    yield in_batches(Row("a chunk is cut off"), stopped, scaled(200, size), cut, dice)
    yield in_batches(
        Row("bytes of a result file are replaced, added or lost"), finished, scaled(1_000, size), smeared, dice
    )


# ---------------------------------------------------------------- rewritten files


def with_column(table: Any, name: str, values: list[Any]) -> Any:
    """A table with another column of this name."""
    return table.set_column(table.column_names.index(name), name, [values])


REWRITES: dict[str, Callable[[Any], Any]] = {
    "a column renamed": lambda table: table.rename_columns(
        ["rgret" if name == "regret" else name for name in table.column_names]
    ),
    "regret as text": lambda table: with_column(table, "regret", [str(one) for one in table["regret"].to_pylist()]),
    "regret as whole numbers": lambda table: with_column(table, "regret", [1] * len(table)),
    "regret with gaps": lambda table: with_column(table, "regret", [None, *table["regret"].to_pylist()[1:]]),
    "rounds all equal": lambda table: with_column(table, "round", [7] * len(table)),
    "replications all equal": lambda table: with_column(table, "replication", [99] * len(table)),
    "every row twice": lambda table: pa.concat_tables([table, table]),
    "a row short": lambda table: table.slice(0, len(table) - 1),
    "no rows": lambda table: table.slice(0, 0),
    "rows the other way round": lambda table: table.take(list(range(len(table)))[::-1]),
    "a column dropped": lambda table: table.drop_columns(["restarts"]),
    "a column added": lambda table: table.append_column("more", [[1.0] * len(table)]),
    "a column twice": lambda table: table.append_column("regret", table["regret"]),
}
"""What is done to the table of a result file."""


def rewrites(finished: Finished, dice: random.Random, size: float) -> Iterator[dict[str, object]]:
    """Files are written again by somebody else, with what they said of themselves, or signed for what they hold."""
    names = list(finished.files)
    for is_signed in (False, True):
        row = Row(f"a result file is rewritten{' and signed again' if is_signed else ''}: {len(REWRITES)} ways")
        for number in range(scaled(10, size) * len(REWRITES)):
            name = dice.choice(names)
            change = list(REWRITES.values())[number % len(REWRITES)]
            rewrite(finished.files[name], change, is_signed)
            how = list(REWRITES)[number % len(REWRITES)]
            wrong = outcome(lambda name=name: finished.wrong_after([name])[name])
            row.note(wrong and f"{how}: {wrong}")
            finished.restore()
        yield row.values()
    yield in_batches(
        Row("statistics in a result file are changed"), finished, scaled(200, size), other_statistics, dice
    )
    row = Row("two result files change places")
    for _ in range(scaled(50, size)):
        one, other = dice.sample(names, 2)
        finished.files[one].write_bytes(finished.good[other])
        finished.files[other].write_bytes(finished.good[one])
        row.note(outcome(lambda: swapped_wrong(finished)))
        finished.restore()
    yield row.values()


def swapped_wrong(finished: Finished) -> str:
    """What is wrong after two files have changed places: each of them is a good one."""
    said = finished.again()
    is_same = all(path.read_bytes() == finished.good[name] for name, path in finished.files.items())
    return "not named" * (not any("of another cell" in text for text in said)) or "not made anew" * (not is_same)


def rewrite(path: Path, change: Callable[[Any], Any], is_signed: bool) -> None:
    """Write a table anew."""
    said = json.loads(pq.read_metadata(path).metadata[KEY])
    table = change(pq.ParquetFile(path).read()).replace_schema_metadata(None)
    forge(path, table, json.dumps(said | ({"digest": UNSIGNED} if is_signed else {}), sort_keys=True), is_signed)


def forge(path: Path, table: Any, text: str, is_signed: bool = True) -> None:
    """Write a file that says this of itself, as the package writes its own."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: text.encode()})
    if is_signed:
        sign(path)


def other_statistics(data: bytes, _dice: random.Random) -> bytes:
    """A file whose footer says another largest regret."""
    [length] = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - length :]
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(2)
    most = struct.pack("<d", column.statistics.max)
    assert most in footer
    return data[: -8 - length] + footer.replace(most, struct.pack("<d", column.statistics.max + 1.0))


# ---------------------------------------------------------------- what files say


def metadata(finished: Finished, dice: random.Random, tries: int) -> dict[str, object]:
    """What a file says of itself is changed, and signed; not its version, of which nobody can say that it is wrong."""
    row = Row("what a result file says of itself is changed, and signed again")
    alone = finished.folder / "alone.parquet"
    for number in range(tries):
        name = list(finished.files)[number % len(finished.files)]
        path = finished.files[name]
        said = json.loads(pq.read_metadata(path).metadata[KEY]) | {"digest": UNSIGNED}
        done, text = mutated(said, dice, untouched=("digest", "version"))
        forge(path, pq.ParquetFile(path).read().replace_schema_metadata(None), text)

        def look(path: Path = path, name: str = name) -> str:
            shutil.copy(path, alone)
            with soon(), contextlib.suppress(BadFile):
                read_result(alone)  # as of a study of its one cell, of which it may say what it likes
            with soon(), contextlib.suppress(BadFile):
                read_results(finished.home)
            said = finished.again()
            is_same = path.read_bytes() == finished.good[name]
            is_named = any(name in text for text in said)
            return "not made anew" * (not is_same) or "not named" * (not is_named)

        wrong = outcome(look)
        row.note(wrong and f"{done}: {wrong}")
        finished.restore()
    return row.values()


def studies(finished: Finished, dice: random.Random, tries: int) -> dict[str, object]:
    """The study beside its results is changed: a byte, or what it says."""
    row = Row(f"{STUDY} is changed: a byte, or what it says")
    good = json.loads(finished.json)
    path = finished.home / STUDY
    for number in range(tries):
        if number % 2:
            place = dice.randrange(len(finished.json))
            other = bytes([finished.json[place] ^ dice.randrange(1, 256)])
            done, data = f"byte {place}", finished.json[:place] + other + finished.json[place + 1 :]
        else:
            done, text = mutated(good, dice)
            data = text.encode()
        path.write_bytes(data)
        is_changed = read_json(path) != good  # of blanks between words nobody can say that they were others

        def look(is_changed: bool = is_changed) -> str:
            with soon(), contextlib.suppress(BadFile):
                read_results(finished.home)
            said = finished.again()
            is_named = any(STUDY in text for text in said)
            is_same = read_json(path) == good and all(
                each.read_bytes() == finished.good[name] for name, each in finished.files.items()
            )
            return "not made anew" * (not is_same) or "not named" * (is_changed and not is_named)

        wrong = outcome(look)
        row.note(wrong and f"{done}: {wrong}")
        finished.restore()
    return row.values()


def pipes(finished: Finished, stopped: Stopped) -> dict[str, object]:
    """A pipe that nobody writes to stands in place of a file."""
    row = Row("a pipe stands in place of a result, a chunk, the study or the lock")
    places = [(at, next(iter(at.files.values()))) for at in (finished, stopped)]
    for at, path in [*places, (finished, finished.home / STUDY), (finished, finished.home / ".lock")]:
        path.unlink()
        os.mkfifo(path)

        def look(at: Finished = at, path: Path = path) -> str:
            try:
                at.again()
            except OSError as error:
                wrong = "not named" * (path.name not in str(error)) or "replaced" * (not path.is_fifo())
            else:
                wrong = "taken"
            others = at.good.items() - {(path.name, at.good.get(path.name))}
            return wrong or "others are changed" * any(at.files[name].read_bytes() != data for name, data in others)

        row.note(outcome(look))
        path.unlink(missing_ok=True)
        at.restore()
    return row.values()


# ---------------------------------------------------------------- runs

COMMAND = textwrap.dedent(
    f"""
    import sys
    from manyarms.cli import main
    from manyarms.lab.running import chunks
    chunks.CHUNK_ROUNDS["cpu"] = {PIECE}
    print("ready", flush=True)
    sys.exit(main(sys.argv[1:]))
    """
)
"""``manyarms``, with small chunks; it says when all is loaded."""

TOML = f"""
name = "attacked"
replications = 6
horizons = [{PIECE}]
checkpoints = 4
[for_each]
beta = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]
[worlds."beta {{beta}}"]
reservoir = {{type = "PowerLaw", beta = "{{beta}}"}}
[policies.it]
type = "UniformPlay"
"""


def started(folder: Path, *arguments: str, before: str = "") -> "subprocess.Popen[str]":
    """``manyarms run study.toml`` in another process, once it is about to begin; it does something ``before``."""
    process = subprocess.Popen(
        [sys.executable, "-c", before + COMMAND, "run", "study.toml", "--folder", "results", "--jobs", "2", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def bytes_below(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def kills(folder: Path, dice: random.Random, tries: int) -> dict[str, object]:
    """A run is killed, and run again."""
    row = Row("manyarms run is killed (SIGKILL), and run again")
    folder.mkdir()
    (folder / "study.toml").write_text(TOML)
    started(folder).communicate()  # what has to be compiled is compiled
    shutil.rmtree(folder / "results")
    process = started(folder)
    begun = time.perf_counter()
    process.communicate()
    lasts = time.perf_counter() - begun
    undisturbed = bytes_below(folder / "results")
    study = read_study(folder / "study.toml")
    while row.tries < tries:
        shutil.rmtree(folder / "results", ignore_errors=True)
        process = started(folder)
        time.sleep(dice.uniform(0.0, lasts))
        process.kill()
        process.communicate()
        if process.returncode != -signal.SIGKILL:
            continue  # it was finished

        def look() -> str:
            with warnings.catch_warnings(record=True) as seen, soon():
                warnings.simplefilter("always")
                run(study, folder / "results")
            if seen:
                return f"something was damaged: {seen[0].message}"
            return "other bytes" * (bytes_below(folder / "results") != undisturbed)

        row.note(outcome(look))
    return row.values()


OWN = """
import dataclasses
from manyarms import UniformPlay

@dataclasses.dataclass(frozen=True)
class AttackedPlay(UniformPlay):
    pass
"""


def edits(folder: Path, tries: int) -> dict[str, object]:
    """The module that a policy is from is edited while it is played."""
    row = Row("sources are edited while a run goes on")
    for number in range(tries):
        place = folder / str(number)
        place.mkdir(parents=True)
        (place / "attacked.py").write_text(OWN)
        (place / "study.toml").write_text(TOML.replace("UniformPlay", "AttackedPlay"))

        def look(place: Path = place) -> str:
            process = started(place, "--import", "attacked")
            while process.poll() is None and not list(place.rglob("*.parquet")):
                time.sleep(0.001)
            (place / "attacked.py").write_text(OWN + "    # edited\n")
            process.communicate()
            said = started(place, "--import", "attacked").communicate()[1]
            if "of other sources" not in said:
                return "results of the old sources were kept"
            again = started(place, "--import", "attacked").communicate()[1]
            return f"and once more: {again}" if again else ""

        row.note(outcome(look))
    return row.values()


HELPED = """
import dataclasses
import importlib
from manyarms import PowerLaw
{imports}

@dataclasses.dataclass(frozen=True)
class AttackedLaw({base}):
    def start(self):
        return {law}.start()
"""
"""A reservoir whose numbers are those of a helper."""

PLAIN = "BETA = {beta}\n"

WITH_A_CLASS = """
from manyarms import PowerLaw

class Law(PowerLaw):
    def start(self):
        return PowerLaw({beta}).start()
"""

BY_NAME, IN_A_PACKAGE = "attacked_helper", "attacked_parts.inside.helper"
OF_HELPER = {"base": "PowerLaw", "law": "PowerLaw(helper.BETA)"}

WAYS: dict[str, tuple[str, str, dict[str, str]]] = {
    "by its name": (BY_NAME, PLAIN, OF_HELPER | {"imports": f"import {BY_NAME} as helper"}),
    "from a package": (IN_A_PACKAGE, PLAIN, OF_HELPER | {"imports": "from attacked_parts.inside import helper"}),
    "by importlib": (BY_NAME, PLAIN, OF_HELPER | {"imports": f"helper = importlib.import_module({BY_NAME!r})"}),
    "by a computed name": (
        BY_NAME,
        PLAIN,
        OF_HELPER | {"imports": "helper = importlib.import_module('_'.join(['attacked', 'helper']))"},
    ),
    "while it is played": (
        BY_NAME,
        PLAIN,
        {"imports": "", "base": "PowerLaw", "law": f"PowerLaw(importlib.import_module({BY_NAME!r}).BETA)"},
    ),
    "for a class of it": (
        BY_NAME,
        WITH_A_CLASS,
        {"imports": f"Law = getattr(importlib.import_module({BY_NAME!r}), 'Law')", "base": "Law", "law": "super()"},
    ),
}
"""How a module comes by a helper: the helper, what is in it, and how the module is written."""

LOAD = "import {helper}; open({path!r}, 'w').write({text!r})\n"


def edits_of_helpers(folder: Path, tries: int) -> Iterator[dict[str, object]]:
    """A module that another one imports is edited: between two runs, or after it was loaded and before a run."""
    for way, (helper, content, spec) in WAYS.items():
        row = Row(f"a helper that a module imports {way} is edited")
        for number in range(2 * tries):
            place = folder / way.replace(" ", "-") / str(number)
            path = place / f"{helper.replace('.', '/')}.py"
            path.parent.mkdir(parents=True)
            path.write_text(content.format(beta=1.0))
            (place / "attacked.py").write_text(HELPED.format(**spec))
            (place / "study.toml").write_text(TOML.replace('"PowerLaw"', '"AttackedLaw"'))
            text = content.format(beta=2.25)
            before = LOAD.format(helper=helper, path=str(path), text=text) if number % 2 else ""

            def look(place: Path = place, path: Path = path, text: str = text, before: str = before) -> str:
                own = ("--import", "attacked")
                started(place, *own, before=before).communicate()
                path.write_text(text)
                said = started(place, *own).communicate()[1]
                started(place, *own, "--folder", "afresh").communicate()
                kept, made = (bytes_below(place / where / "attacked" / "cells") for where in ("results", "afresh"))
                again = started(place, *own).communicate()[1]
                wrong = "nothing was played" * (not made) or "not named" * ("of other sources" not in said)
                wrong = wrong or "once more" * bool(again)
                wrong = "results of the old sources were kept" * (kept != made) or wrong
                return wrong and f"edited{' before the run' * bool(before)}: {wrong}"

            row.note(outcome(look))
        yield row.values()


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
