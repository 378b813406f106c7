"""Sources of one's own: all that a module imports, as it was when it was loaded."""

import hashlib
import importlib
import subprocess
import sys

import pytest

from manyarms import sources
from manyarms.specs import SPEC_TYPES

pytestmark = pytest.mark.once


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A package and modules beside it; imported by nobody yet."""
    files = {
        "own_pack/__init__.py": "",
        "own_pack/first.py": "import numpy, os\nimport manyarms\nfrom . import second\nfrom own_helper import value\n",
        "own_pack/second.py": "from .deep.third import thing\n",
        "own_pack/deep/__init__.py": "",
        "own_pack/deep/third.py": "thing = 3\ndef later():\n    import own_late\n    return own_late\n",
        "own_pack/unused.py": "raise RuntimeError\n",
        "own_helper.py": "value = 1\n",
        "own_late.py": "import own_pack.first\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]
    for name in [name for name in sources._READ if name.startswith("own_")]:
        del sources._READ[name]


def names_behind(module):
    """The modules whose sources are behind one."""
    found = sources.behind(module)
    return [name for name in sources._READ if name.startswith("own_") and name.encode() + b"\0" in found]


def test_all_that_is_imported_counts_and_nothing_else(own):
    importlib.import_module("own_pack.first")
    found = names_behind("own_pack.first")
    assert sorted(found) == [
        "own_helper", "own_late",
        "own_pack", "own_pack.deep", "own_pack.deep.third", "own_pack.first", "own_pack.second",
    ]  # fmt: skip
    assert "own_late" not in sys.modules  # nothing is imported to find out
    assert b"numpy\0" not in sources.behind("own_pack.first")


@pytest.mark.parametrize("edited", ["own_pack/first.py", "own_pack/deep/third.py", "own_helper.py", "own_late.py"])
def test_an_edit_counts_in_the_next_process_and_not_in_this_one(own, edited):
    importlib.import_module("own_pack.first")
    before = sources.behind("own_pack.first")
    (own / edited).write_text((own / edited).read_text() + "# edited\n")
    assert sources.behind("own_pack.first") == before
    code = (
        "import hashlib, own_pack.first; from manyarms import sources; "
        "print(hashlib.sha256(sources.behind('own_pack.first')).hexdigest())"
    )
    environment = {"PYTHONPATH": str(own), "PATH": "", "NUMBA_DISABLE_JIT": "1"}
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert there.stdout.strip() != hashlib.sha256(before).hexdigest()


def test_a_module_that_was_loaded_again_is_read_again(own):
    helper = importlib.import_module("own_helper")
    before = sources.behind("own_helper")
    (own / "own_helper.py").write_text("value = 2\n")
    importlib.reload(helper)
    assert sources.behind("own_helper") != before


def test_what_has_no_source_has_none(own):
    assert sources.behind("typed_at_a_prompt") is None
    assert sources.behind("sys") is None
    (own / "own_helper.py").write_text("not python at all (")
    assert sources.behind("own_helper") == b"own_helper\0not python at all (\0"


def test_specs_are_read_when_they_are_defined(own):
    (own / "own_spec.py").write_text(
        "import dataclasses\nimport manyarms as ma\nimport own_helper\n"
        "@dataclasses.dataclass(frozen=True)\nclass ReadEarly(ma.UniformPlay):\n    pass\n"
    )
    importlib.import_module("own_spec")
    (own / "own_helper.py").write_text("value = 7\n")
    assert b"value = 1" in sources.behind("own_spec")
    assert b"value = 7" not in sources.behind("own_spec")
    del SPEC_TYPES["ReadEarly"]


def test_a_source_is_parsed_once(own, monkeypatch):
    found = sources.behind("own_pack.first")
    monkeypatch.setattr(sources.ast, "parse", None)  # each cell of a study asks again
    assert sources.behind("own_pack.first") == found
