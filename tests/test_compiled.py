"""The compiler's corner: which cache, when it is used, and that no edit is missed."""

import dataclasses
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import manyarms
import manyarms as ma
from manyarms import compiled
from manyarms.contract import Choice, Counts, register
from manyarms.replication import play_replications

SOURCES = Path(manyarms.__file__).parent


@pytest.fixture
def copied(tmp_path):
    """A copy of the package in a folder of its own."""
    folder = tmp_path / "copy" / "manyarms"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} has changed: this test no longer edits what it means to"
    path.write_text(text.replace(old, new))


# The digest


def digest_of(folder, monkeypatch):
    monkeypatch.setattr(compiled, "__file__", str(folder / "compiled.py"))
    return compiled.source_digest()


def test_the_digest_belongs_to_the_sources_not_to_where_they_lie(copied, monkeypatch):
    here = compiled.source_digest()
    assert len(here) == 16
    assert set(here) <= set("0123456789abcdef")
    (copied / "notes.txt").write_text("not a source")
    assert digest_of(copied, monkeypatch) == here


@pytest.mark.once
@pytest.mark.parametrize("name", sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")))
def test_the_digest_sees_a_change_of_any_source(copied, monkeypatch, name):
    before = digest_of(copied, monkeypatch)
    path = copied / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert digest_of(copied, monkeypatch) != before


def test_the_digest_sees_sources_come_go_and_move(copied, monkeypatch):
    digests = [digest_of(copied, monkeypatch)]
    (copied / "drifts" / "new.py").write_text("x = 1\n")
    digests.append(digest_of(copied, monkeypatch))
    (copied / "drifts" / "new.py").rename(copied / "drifts" / "newer.py")  # in the same place of the order
    digests.append(digest_of(copied, monkeypatch))
    (copied / "drifts" / "newer.py").rename(copied / "newer.py")
    digests.append(digest_of(copied, monkeypatch))
    (copied / "newer.py").unlink()
    assert len(set(digests)) == 4
    assert digest_of(copied, monkeypatch) == digests[0]


# The cache folder


@pytest.mark.compiled
def test_the_cache_folder_is_named_by_the_digest():
    # The digest of the sources as they were imported: compare with a process that imports them now.
    assert compiled.CACHE_FOLDER.is_dir()
    assert len(compiled.CACHE_FOLDER.name) == 16
    code = "from manyarms import compiled; print(compiled.CACHE_FOLDER.name, compiled.source_digest())"
    folder, digest = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert folder == digest


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"MANYARMS_CACHE_DIR": "/a", "NUMBA_CACHE_DIR": "/b", "XDG_CACHE_HOME": "/c"}, "/a"),
        ({"NUMBA_CACHE_DIR": "/b", "XDG_CACHE_HOME": "/c"}, "/b/manyarms"),
        ({"MANYARMS_CACHE_DIR": "", "XDG_CACHE_HOME": "/c"}, "/c/manyarms"),
        ({"HOME": "/d"}, "/d/.cache/manyarms"),
    ],
)
def test_where_the_caches_are(monkeypatch, settings, expected):
    for name in ("MANYARMS_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert compiled.cache_roots()[0] == Path(expected)


def test_old_caches_are_dropped_and_ours_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("MANYARMS_CACHE_DIR", str(tmp_path))
    old = [f"{age:016x}" for age in range(10)]
    others = ["src", "docs", ".git", "data", "notes.txt", "0123"]  # not caches: never touched, however old
    for age, name in enumerate(old + others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code").write_text("…")
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    ours = tmp_path / compiled.cache_name()
    ours.mkdir(mode=0o700)
    os.utime(ours, (1.0, 1.0))  # the oldest of all, until it is used
    assert compiled._open_cache() == ours
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {ours.name, *old[: compiled.CACHES_KEPT], *others}
    assert (tmp_path / "docs" / "code").exists()


def test_an_unusable_folder_is_passed_over(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MANYARMS_CACHE_DIR", str(blocked))
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    assert compiled._open_cache().parent.parent == tmp_path
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(blocked))
    assert compiled._open_cache() is None  # then nothing is kept, and everything works


def test_a_folder_that_others_can_write_to_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("MANYARMS_CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "open" / compiled.cache_name()).mkdir(parents=True)
    (tmp_path / "open" / compiled.cache_name()).chmod(0o777)
    assert compiled._open_cache().parent.name.startswith("manyarms-")


def test_without_a_home_the_temporary_folder_serves(monkeypatch, tmp_path):
    for name in ("MANYARMS_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(compiled.Path, "home", no_home)
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    assert compiled._open_cache().parent.parent == tmp_path


@pytest.mark.compiled
def test_a_damaged_cache_costs_a_warning_and_time_only(tmp_path):
    program = (
        "import warnings, manyarms as ma\n"
        "warnings.simplefilter('always')\n"
        "r = ma.simulate(ma.UniformPlay(), ma.World(ma.Uniform(), noise=ma.Exact()), 100, seed=1)\n"
        "print(r.final_regret('UniformPlay')[0].hex())\n"
    )
    environment = os.environ | {"MANYARMS_CACHE_DIR": str(tmp_path)}

    def run():
        return subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
        )

    whole = run()
    assert whole.stderr == ""
    (path,) = tmp_path.rglob("*.code")  # one file, and no list of files beside it
    assert [found for found in path.parent.rglob("*") if found.is_file()] == [path]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    damaged = run()
    assert damaged.stderr.count("holds a damaged file") == 1
    assert damaged.stdout == whole.stdout
    mended = run()
    assert (mended.stdout, mended.stderr) == (whole.stdout, "")


@pytest.mark.compiled
def test_loops_of_other_modules_are_not_kept(monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "somebody else's")
    made = compiled.loop(doubled)
    assert made.cached.stats.cache_path is made.uncached.stats.cache_path is None
    assert made(21) == 42
    assert numba.config.CACHE_DIR == "somebody else's"


def test_with_the_compiler_off_nothing_is_kept():
    code = "from manyarms import compiled; print(compiled.CACHE_FOLDER, compiled.loop(lambda value: value + 1)(2))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["None", "3"]


def doubled(value):
    return value * 2


@pytest.mark.compiled
def test_the_packages_loop_is_cached_in_our_folder():
    assert Path(play_replications.cached.stats.cache_path) == compiled.CACHE_FOLDER
    assert play_replications.uncached.stats.cache_path is None


# Which copy of a loop is called


class Foreign(NamedTuple):
    value: float


class Copies(compiled.Loop):
    """A loop whose two copies say which they are."""

    def __init__(self):
        self.cached = lambda *args: "cached"
        self.uncached = lambda *args: "uncached"


@pytest.mark.parametrize(
    ("args", "copy"),
    [
        ((), "cached"),
        ((1, 2.0, np.zeros(3)), "cached"),
        (((1, 2), 3), "cached"),
        ((Choice(0, 0, 1.0, 1, 1),), "cached"),
        ((manyarms.World(manyarms.Uniform()).start(1),), "cached"),
        ((Foreign(1.0),), "uncached"),
        ((1, (2, Foreign(1.0))), "uncached"),
        ((manyarms.World(manyarms.Uniform()).start(1)._replace(drift=Foreign(1.0)),), "uncached"),
    ],
)
def test_states_of_other_modules_take_the_uncached_copy(args, copy):
    assert Copies()(*args) == copy


def test_a_package_whose_name_begins_like_ours_is_not_ours():
    beside = type("Beside", (tuple,), {"__module__": "manyarms_more.drifts"})
    inside = type("Inside", (tuple,), {"__module__": "manyarms.drifts.more"})
    assert Copies()(beside()) == "uncached"
    assert Copies()(inside()) == "cached"


# Kernels


@compiled.kernel
def thrice(value):
    return value * 3


@compiled.loop
def nine_times(value):
    return thrice(thrice(value))


def test_a_kernel_stays_a_function_and_can_be_called_from_a_loop():
    assert thrice(2) == 6
    assert nine_times(2) == 18
    assert bool(nine_times.signatures()) == compiled.IS_COMPILING


@compiled.loop
def count_rare(values):
    rare = 0
    for value in values:
        if compiled.rarely(value > 0.5):
            rare += 1
    return rare


def test_a_hint_does_not_change_the_condition():
    assert count_rare(np.array([0.0, 1.0, 0.6, 0.4, 0.5])) == 2
    assert compiled.rarely(True) is True
    assert compiled.rarely(False) is False


@compiled.loop
def sum_of_some(value, turns, is_needed):
    total = 0.0
    for _ in range(turns):
        if is_needed:
            total += 1.0 / compiled.at_need(value)
    return total


def test_what_is_made_at_need_is_the_same():
    assert sum_of_some(4.0, 3, True) == 0.75
    assert sum_of_some(4.0, 3, False) == 0.0
    assert compiled.at_need(0.1) == 0.1


# Edits, across processes


def run_in_new_process(code, folders, cache):
    """Run code with the compiler on, these folders first on the path and this cache; its words."""
    settings = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    settings |= {"PYTHONPATH": os.pathsep.join(map(str, folders)), "MANYARMS_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=settings,
        cwd=cache.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PLAY = """
    import manyarms as ma
    from manyarms.replication import play_replications
    world = ma.World(ma.Empirical([0.5]), {drift}, ma.Exact())
    result = ma.simulate(ma.UniformPlay(), world, 5, threads=1)
    print(ma.__file__, result.final("UniformPlay", "V")[0], sum(play_replications.cached.stats.cache_hits.values()))
"""


@pytest.mark.compiled
def test_an_edited_kernel_is_picked_up(copied, tmp_path):
    # The kernel is inlined into a loop of another file, whose own cache entry would still look fresh.
    cache = tmp_path / "cache"
    code = PLAY.format(drift="ma.JumpAt(1, -0.25)")

    def run():
        file, variation, hits = run_in_new_process(code, [copied.parent], cache)
        assert Path(file).parent == copied
        return float(variation), int(hits)

    assert run() == (1.0, 0)
    assert run() == (1.0, 1)  # from the cache
    edit(copied / "drifts" / "memoryless.py", "(drift.size if", "(0.5 * drift.size if")
    assert run() == (0.5, 0)
    edit(copied / "drifts" / "memoryless.py", "(0.5 * drift.size if", "(drift.size if")
    assert run() == (1.0, 1)  # the first cache is still there
    assert len(list(cache.iterdir())) == 2


OWN_DRIFT = """
    import dataclasses
    from typing import NamedTuple
    import manyarms as ma
    from manyarms.contract import register

    class StepState(NamedTuple):
        size: float

    @dataclasses.dataclass(frozen=True)
    class Step(ma.Drift):
        size: float

        def start(self):
            return StepState(size=self.size)

    def begin(drift, key):
        return drift

    def moved(drift, play, reservoir):
        return drift, play.mean - drift.size

    register(StepState, begin=begin, moved=moved)
"""


@pytest.mark.compiled
def test_an_edited_drift_of_ones_own_is_picked_up(tmp_path):
    cache = tmp_path / "cache"
    module = tmp_path / "own_drift.py"
    module.write_text(textwrap.dedent(OWN_DRIFT))
    code = "    import own_drift" + PLAY.format(drift="own_drift.Step(0.25)")

    def run():
        _, variation, hits = run_in_new_process(code, [tmp_path, SOURCES.parent], cache)
        assert hits == "0"
        return float(variation)

    assert run() == 1.0
    edit(module, "play.mean - drift.size", "play.mean - 0.5 * drift.size")
    assert run() == 0.5
    # Nothing of it was written to disk.
    assert [path for path in cache.rglob("*") if path.is_file()] == []


# What cannot be compiled


@dataclasses.dataclass(frozen=True)
class Faulty(ma.UniformPlay):
    """A policy of one's own whose ask cannot be compiled."""


def half(number):
    return number // 2


def asks_by_helper(state, round):
    return Choice(slot=0, arm=half(round), probability=1.0, block=1, round=round)


def asks_by_allocating(state, round):
    return Choice(slot=int(np.zeros(4)[2]), arm=0, probability=1.0, block=1, round=round)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("ask", "remedy", "complaint", "line"),
    [
        (asks_by_helper, "mark half with it", "Untyped global name 'half'", "arm=half(round)"),
        (asks_by_allocating, "see the line below", "Only accept returning of array", "slot=int(np.zeros(4)[2])"),
    ],
    ids=["a helper without @kernel", "an allocation"],
)
def test_what_cannot_be_compiled_is_a_short_error(ask, remedy, complaint, line, monkeypatch):
    class FaultyState(NamedTuple):
        told: int

    register(FaultyState, begin=lambda state, key: state, ask=ask, tell=lambda state, choice, reward: state)
    register(FaultyState, counts=lambda state: Counts(0, 1, 1, 0))
    monkeypatch.setattr(Faulty, "start", lambda self, rounds: FaultyState(told=0))
    world = ma.World(ma.PowerLaw(beta=0.5))
    with pytest.raises(TypeError) as raised:
        ma.simulate(Faulty(), world, 10)
    said, _, shown = str(raised.value).partition("The compiler says:\n")
    assert said.startswith(f"simulate: Faulty() in {world.label()} cannot be compiled. Kernels may allocate nothing")
    assert said.endswith(f"functions marked with @kernel (manyarms.compiled.kernel); {remedy}. ")
    assert complaint in shown
    assert line in shown
    assert ask.__name__ in shown
    assert "test_compiled.py" in shown
    assert len(str(raised.value)) < 600
    assert raised.value.__suppress_context__  # the compiler's kilobytes are not shown


def test_other_errors_are_left_alone():
    with pytest.raises(ZeroDivisionError, match="by zero"), compiled.compile_errors("it"):
        divmod(1, 0)


def test_words_of_the_compiler_in_another_form_are_shown():
    assert compiled.compiler_complaint("No such thing\n\n  as this") == "No such thing\n  as this"
    assert compiled.compiler_complaint("") == ""


# States with other fields


class Trio(NamedTuple):
    first: int
    second: int
    third: int


@compiled.kernel
def each_changed(trio):
    once = compiled.replaced(trio, first=trio.first + 1)
    twice = compiled.replaced(once, second=once.first + 1)
    return compiled.replaced(compiled.replaced(twice, first=10, third=30), third=twice.second + 3, first=twice.first)


@compiled.loop
def each_changed_compiled(trio):
    return each_changed(trio)


@pytest.mark.compiled
def test_one_kernel_may_replace_different_fields_of_the_same_type():
    assert each_changed(Trio(0, 0, 0)) == each_changed_compiled(Trio(0, 0, 0)) == Trio(1, 2, 5)


@pytest.mark.once
def test_states_that_are_too_deep_for_the_compiler_are_said_to_be():
    words = r"simulate: It cannot be compiled: its states.* too deep inside each other"
    with pytest.raises(TypeError, match=words), compiled.compile_errors("It"):
        raise RecursionError


def test_a_field_that_a_state_does_not_have_is_named():
    with pytest.raises(TypeError, match=r"^Trio has no field 'fourth'$"):
        compiled.replaced(Trio(1, 2, 3), first=4, fourth=5)
