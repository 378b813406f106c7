"""Studies that nobody should build, and functions that make none."""

import itertools

import pytest

import manyarms as ma
from manyarms.cli import main
from manyarms.lab import NAMED_STUDIES, Study, named_study, parse_study, read_study, study_names
from manyarms.lab.studies import study as studies

pytestmark = pytest.mark.once

STILL = ma.World(ma.PowerLaw(beta=1.0))
UNIFORM = {"uniform": ma.UniformPlay()}


def grid(lists, values):
    """A study with so many lists of so many values under ``for_each``."""
    names = [f"x{place}" for place in range(lists)]
    for_each = "\n".join(f"{name} = {list(range(1, values + 1))}" for name in names)
    world = " ".join(f"{{{name}}}" for name in names)
    return f"""
name = "grid"
replications = 1
horizons = [10]
[for_each]
{for_each}
[worlds."{world}"]
reservoir = {{type = "PowerLaw", beta = "{{x0}}"}}
[policies.uniform]
type = "UniformPlay"
"""


def test_too_many_cells_are_counted_and_not_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(itertools, "product", None)
    path = tmp_path / "grid.toml"
    path.write_text(grid(10, 10))
    assert main(["run", str(path), "--dry-run"]) == 2
    said = capsys.readouterr().err
    for words in ("grid.toml", "10,000,000,000 cells", "10 for_each.x0 × ", "10 for_each.x9", "shorten a list"):
        assert words in said
    with pytest.raises(ValueError, match=r"some 10\^40 cells \(10 for_each.x0 .* × …\), and 100,000 are the most"):
        parse_study(grid(40, 10))


def test_as_many_cells_as_there_may_be_are_built(monkeypatch):
    monkeypatch.setattr(studies, "MOST_CELLS", 9)
    assert len(parse_study(grid(2, 3)).cells) == 9
    with pytest.raises(ValueError, match="16 cells"):
        parse_study(grid(2, 4))
    with pytest.raises(ValueError, match=r"study s: it would have 10 cells \(10 cells\)"):
        Study("s", parse_study(grid(1, 5)).cells + Study.of("s", UNIFORM, {"a": STILL}, range(1, 6), 1).cells, 1)


def test_long_ranges_are_counted_and_not_listed():
    with pytest.raises(ValueError, match=r"1,000,000,000 cells \(1,000,000,000 horizons\)"):
        Study.of("long", UNIFORM, {"still": STILL}, range(1, 10**9 + 1), 1)
    with pytest.raises(ValueError, match=r"checkpoints must be at most 10,000,000 numbers, not 1,000,000,000"):
        Study.of("long", UNIFORM, {"still": STILL}, [100], 1, checkpoints=range(1, 10**9 + 1))


def test_more_checkpoints_than_can_be_kept_are_refused():
    most = 2**31 - 1
    with pytest.raises(ValueError, match=r"at most 10,000,000, not 2,147,483,647, .* 'uniform, still, horizon 2,147"):
        Study.of("long", UNIFORM, {"still": STILL}, [100, most], 1, checkpoints=most)
    study = Study.of("short", UNIFORM, {"still": STILL}, [100], 1, checkpoints=most)
    assert study.rounds_kept(study.cells[0]).size == 100


def test_what_is_no_study_is_said_to_be_none(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text("name = " + "[" * 100_000)
    with pytest.raises(ValueError, match=r"deep\.toml: tables or lists stand too deeply inside one another"):
        read_study(path)
    path.write_text(grid(1, 1) + f"[policies.deep{'.a' * 5_000}]\ntype = 3\n")
    with pytest.raises(ValueError, match=r"deep\.toml: tables or lists stand too deeply inside one another"):
        read_study(path)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(ValueError, match=r"deep\.toml: line 1 is not UTF-8"):
        read_study(path)


def broken():
    return {}["nothing"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (broken, r"study mine: its function in NAMED_STUDIES .* KeyError: 'nothing' \(.*test_study\.py, line \d+\)"),
        (None, "study mine: in NAMED_STUDIES must be a function that gives a Study, not None"),
        (lambda: 3, "study mine: its function must give a Study, not 3"),
    ],
)
def test_a_function_that_makes_no_study_is_named(monkeypatch, capsys, made, words):
    monkeypatch.setitem(NAMED_STUDIES, "mine", made)
    with pytest.raises(ValueError, match=words):
        named_study("mine")
    for command in (["run", "mine"], ["studies"]):
        assert main(command) == 2
        assert "study mine: " in capsys.readouterr().err


def test_the_cause_of_a_broken_function_is_kept(monkeypatch):
    monkeypatch.setitem(NAMED_STUDIES, "mine", broken)
    with pytest.raises(ValueError, match="mine") as caught:
        named_study("mine")
    assert isinstance(caught.value.__cause__, KeyError)


def test_studies_are_named_by_texts(monkeypatch):
    monkeypatch.setitem(NAMED_STUDIES, 3, broken)
    with pytest.raises(ValueError, match="names in NAMED_STUDIES must be texts, not 3"):
        study_names()


def test_a_type_of_ones_own_may_raise_anything(monkeypatch):
    def raising(self):
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(ma.UniformPlay, "__post_init__", raising)
    with pytest.raises(ValueError, match=r"policies\.uniform: ZeroDivisionError: mine \(.*test_study\.py, line"):
        parse_study(grid(1, 1))


# ---------------------------------------------------------------- wrong values everywhere

WHOLE = """name = "tiny"
replications = 4
horizons = [100]
[worlds.still]
reservoir = {type = "PowerLaw", beta = 1.0}
drift = {type = "Rotting", rate = "1/t"}
[policies.mine]
type = "Blackbox"
beta = 2.0
base = {type = "UCB"}
"""
LINES = [
    'name = "tiny"', "replications = 4", "horizons = [100]", 'reservoir = {type = "PowerLaw", beta = 1.0}',
    'drift = {type = "Rotting", rate = "1/t"}', 'type = "Blackbox"', "beta = 2.0", 'base = {type = "UCB"}',
]  # fmt: skip
WRONG = [
    "'x'", "[]", "[[1]]", "['a']", "{}", "{a = 1}", "true", "-1", "nan", "inf", "1979-05-27", "''",
    "{type = 'Nothing'}", "{type = 3}", "{type = []}", "{type = 'PowerLaw'}", "{type = 'World'}", "'{nothing}'",
    "[" + "1.5, " * 3000 + "]", "9" * 5000, "{type = 'PowerLaw', beta = {type = 'PowerLaw'}}",
]  # fmt: skip
PYTHONS = (
    "positional",
    "unhashable",
    "codec",
    "object",
    "supported between",
    "keyword",
    "attribute",
    "None",
    "argument",
)
"""Words of errors that Python itself raises."""


def test_the_whole_study_is_right():
    assert len(parse_study(WHOLE).cells) == 1


@pytest.mark.parametrize("line", LINES)
def test_wrong_values_are_named_with_place_and_remedy(line):
    field = line.partition(" = ")[0]
    assert WHOLE.count(line) == 1
    for wrong in WRONG:
        if (field, wrong) in {("name", "'x'"), ("reservoir", "{type = 'PowerLaw'}")}:
            continue
        with pytest.raises(ValueError, match=r"^mine\.toml: ") as caught:
            parse_study(WHOLE.replace(line, f"{field} = {wrong}"), "mine.toml")
        said = str(caught.value)
        assert not any(word in said for word in PYTHONS), (wrong, said)
        assert field in said or "too many digits" in said, (wrong, said)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('{type = "PowerLaw", beta = 1.0}', '{type = "PowerLaw"}', "PowerLaw needs the field 'beta', which is missing"),
        ('{type = "PowerLaw", beta = 1.0}', "{beta = 1.0}", "reservoir: the field 'type' is missing"),
        ('"PowerLaw"', '"Powerlaw"', "unknown spec type 'Powerlaw'; did you mean 'PowerLaw'?"),
        ('base = {type = "UCB"}', 'base = "UCB"', '{type = "UCB"} in a file'),
        ("beta = 2.0", "beta = 2.0\ngamma = 3", "Blackbox has no field 'gamma'; its fields are"),
        ("replications = 4", "", "the field 'replications' is missing; write it as in replications = 100"),
        ("replications = 4", "replications = 4\nhorizon = 3", "there is no field 'horizon'; the fields are name"),
        ("[100]", "[100, 100]", "is there twice; name each horizon once"),
    ],
)
def test_what_is_missing_or_unknown_is_named(old, new, words):
    assert WHOLE.count(old) == 1
    with pytest.raises(ValueError, match=r"^mine\.toml: ") as caught:
        parse_study(WHOLE.replace(old, new), "mine.toml")
    assert words in str(caught.value)
