"""Sources of one's own: all that a module imports, as it was when it was loaded."""

import importlib
import os
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import numpy
import pytest

import manyarms
from manyarms import sources
from manyarms.specs import SPEC_TYPES, modules_of

pytestmark = pytest.mark.once

SPEC = """
import dataclasses
import manyarms as ma
{imports}
@dataclasses.dataclass(frozen=True)
class ReadEarly({base}):
    pass
"""


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
    SPEC_TYPES.pop("ReadEarly", None)
    for known in (sys.modules, sources._READ, sources._SEEN):
        for name in [name for name in known if name.startswith("own_")]:
            del known[name]


def defined(own, imports="import own_helper", base="ma.UniformPlay"):
    """The modules behind a spec that is defined now, with their sources."""
    (own / "own_spec.py").write_text(SPEC.format(imports=imports, base=base))
    spec = importlib.import_module("own_spec").ReadEarly()
    found = {}
    for module in modules_of(spec):
        found |= sources.behind(module)
    return found


def in_a_new_process(folder, code, python=sys.executable, **environment):
    """What a process prints that stands in a folder, and what it warns of."""
    places = [str(folder), *(str(Path(module.__file__).parent.parent) for module in (manyarms, numpy))]
    environment = {"PYTHONPATH": os.pathsep.join(places), "PATH": "", "NUMBA_DISABLE_JIT": "1"} | environment
    command = [str(python), "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_all_that_is_imported_counts_and_nothing_else(own):
    importlib.import_module("own_pack.first")
    assert sorted(sources.behind("own_pack.first")) == [
        "own_helper", "own_late",
        "own_pack", "own_pack.deep", "own_pack.deep.third", "own_pack.first", "own_pack.second",
    ]  # fmt: skip
    assert "own_late" not in sys.modules  # nothing is imported to find out


@pytest.mark.parametrize("edited", ["own_pack/first.py", "own_pack/deep/third.py", "own_helper.py", "own_late.py"])
def test_an_edit_counts_in_the_next_process_and_not_in_this_one(own, edited):
    importlib.import_module("own_pack.first")
    before = sources.digest_behind("own_pack.first")
    (own / edited).write_text((own / edited).read_text() + "# edited\n")
    assert sources.digest_behind("own_pack.first") == before
    code = "import own_pack.first; from manyarms import sources; print(sources.digest_behind('own_pack.first'))"
    there, warned = in_a_new_process(own, code)
    assert there not in (before, "None")
    assert not warned


def test_a_module_that_was_loaded_again_is_read_again(own):
    helper = importlib.import_module("own_helper")
    before = sources.behind("own_helper")
    (own / "own_helper.py").write_text("value = 2\n")
    importlib.reload(helper)
    assert sources.behind("own_helper") == {"own_helper": b"value = 2\n"} != before


def test_what_has_no_source_has_none(own):
    for name in ("typed_at_a_prompt", "sys"):
        assert sources.behind(name) == {}
        assert sources.digest_behind(name) is None
    (own / "own_helper.py").write_text("not python at all (")
    assert sources.behind("own_helper") == {"own_helper": b"not python at all ("}


def test_a_source_is_parsed_once(own, monkeypatch):
    found = sources.behind("own_pack.first")
    monkeypatch.setattr(sources.ast, "parse", None)  # each cell of a study asks again
    assert sources.behind("own_pack.first") == found


# ---------------------------------------------------------------- what was loaded


def test_specs_are_read_when_they_are_defined(own):
    defined(own)
    (own / "own_helper.py").write_text("value = 7\n")
    assert sources.behind("own_spec")["own_helper"] == b"value = 1\n"


def test_a_helper_is_read_when_it_is_loaded_and_not_when_a_spec_that_uses_it_is_defined(own):
    importlib.import_module("own_helper")
    (own / "own_helper.py").write_text("value = 7\n")
    assert defined(own)["own_helper"] == b"value = 1\n"


BEFORE_THE_PACKAGE = """
import own_helper
{meanwhile}
import manyarms
import own_spec
from manyarms import sources
print(sources.digest_behind("own_spec"))
"""


def test_of_a_helper_that_was_loaded_before_the_package_and_edited_nobody_knows_the_source(own):
    (own / "own_spec.py").write_text(SPEC.format(imports="import own_helper", base="ma.UniformPlay"))
    digest, warned = in_a_new_process(own, BEFORE_THE_PACKAGE.format(meanwhile=""))
    assert digest != "None"
    assert not warned
    edit = "open('own_helper.py', 'w').write('value = 7\\n')"
    digest, warned = in_a_new_process(own, BEFORE_THE_PACKAGE.format(meanwhile=edit))
    assert digest == "None"
    assert "the file of the module 'own_helper' was changed after it had been loaded" in warned
    assert "start Python again" in warned


def test_a_file_that_is_gone_is_no_known_source(own):
    code = "import own_helper, os; os.unlink(own_helper.__file__); from manyarms import sources\n"
    digest, warned = in_a_new_process(own, code + "print(sources.digest_behind('own_helper'))")
    assert digest == "None"
    assert "'own_helper' was changed" in warned


def test_a_script_that_is_run_again_in_one_process_is_read_again(own):
    script = SPEC.format(imports="from manyarms import sources", base="ma.UniformPlay")
    script += "print(sources.digest_behind('__main__'))\n"
    (own / "own_script.py").write_text(script)
    code = """
        import sys
        for text in ("", "# edited"):
            with open("own_script.py", "a") as file:
                file.write(text)
            main = sys.modules["__main__"]
            main.__file__ = "own_script.py"
            exec(open("own_script.py").read(), vars(main))
    """
    digests, warned = in_a_new_process(own, code)
    digests = digests.split()
    assert digests[0] != "None"
    assert digests[1] == "None"
    assert "the file of the module '__main__' was changed" in warned


def test_a_module_of_the_package_that_is_loaded_after_an_edit_is_warned_of(tmp_path):
    package = Path(manyarms.__file__).parent
    for path in package.rglob("*.py"):
        copy = tmp_path / "manyarms" / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    code = """
        import manyarms
        for name in ("intervals", "bench", "ledger"):
            with open(f"manyarms/{name}.py", "a") as file:
                file.write("# edited")
        import manyarms.bench, manyarms.checks
    """
    _, warned = in_a_new_process(tmp_path, code)
    assert "manyarms.bench was changed after manyarms had been loaded" in warned
    assert "manyarms.checks" not in warned


# ---------------------------------------------------------------- what is one's own


def test_modules_in_the_folder_of_an_environment_are_ones_own(own):
    venv.create(own, with_pip=False)  # python -m venv .
    code = "import own_pack.first; from manyarms import sources; print(*sorted(sources.behind('own_pack.first')))"
    names, _ = in_a_new_process(own, code, python=own / "bin" / "python")
    assert "own_helper" in names.split()
    assert "numpy" not in names.split()


@pytest.mark.parametrize("place", ["lib/python3/dist-packages", "lib/python3/site-packages"])
def test_what_is_installed_is_not(own, place, monkeypatch):
    there = own / place
    there.mkdir(parents=True)
    (there / "own_library.py").write_text("import own_helper\n")
    monkeypatch.syspath_prepend(there)
    assert "own_library" not in defined(own, imports="import own_library")
    code = f"import sys; sys.path.append({str(there)!r}); import own_library; from manyarms import sources; "
    names, _ = in_a_new_process(own, code + "print(*sources.behind('own_library'))")
    assert names == "own_library own_helper"  # the spec itself may be


# ---------------------------------------------------------------- names that are texts or computed


@pytest.mark.parametrize(
    "imports",
    [
        "import importlib\nhelper = importlib.import_module('own_helper')",
        "from importlib import import_module\nhelper = import_module('own_helper')",
        "helper = __import__('own_helper')",
        "import importlib\nNAME = 'own_helper'\nhelper = importlib.import_module(NAME)",
        "import importlib\nhelper = importlib.import_module('own_' + 'helper')",
        "from importlib import import_module as load\nhelper = load('own_' + 'helper')",
        "import importlib\nload = importlib.import_module\nhelper = load('own_' + 'helper')",
        "from pkgutil import resolve_name\nhelper = resolve_name('own_' 'helper:value')",
    ],
)
def test_what_is_imported_by_a_text_or_a_computed_name_counts(own, imports):
    assert defined(own, imports)["own_helper"] == b"value = 1\n"


def test_the_script_that_uses_a_module_is_not_behind_it(own):
    (own / "own_script.py").write_text(
        "import own_main\nfrom manyarms import sources\nprint(*sources.behind('own_main'))\n"
    )
    (own / "own_main.py").write_text("import own_helper\nif __name__ == '__main__':\n    print('not here')\n")
    names, _ = in_a_new_process(own, "import runpy; runpy.run_path('own_script.py', run_name='__main__')")
    assert names == "own_main own_helper"


def test_names_within_a_package_may_be_texts_too(own):
    text = "import importlib\nfor name in ('second', '.deep.third'):\n    importlib.import_module(name, __package__)\n"
    (own / "own_pack" / "first.py").write_text(text)
    assert {"own_pack.second", "own_pack.deep.third"} < set(sources.behind("own_pack.first"))


def test_texts_and_computed_names_bring_in_nothing_that_is_not_ones_own(own):
    importlib.import_module("own_late")
    assert "own_late" not in defined(own, "NAME = 'own_helper'")  # no name is computed there
    assert {"own_late", "own_helper"} < set(sources.behind("own_spec") | _computing(own))
    assert not {"numpy", "manyarms", "os", "__main__"} & set(_computing(own))


def _computing(own):
    (own / "own_computing.py").write_text(
        "import importlib\nname = 'o' + 's'\nhelper = importlib.import_module(name)\n"
    )
    return dict(sources.behind("own_computing"))


def test_classes_that_a_spec_is_derived_from_count(own):
    text = SPEC.format(imports="import own_helper", base="ma.UniformPlay").replace("ReadEarly", "OwnPar")
    (own / "own_par.py").write_text(text)
    (own / "own_mixed.py").write_text("class Mixed:\n    pass\n")
    (own / "own_bases.py").write_text("")
    bases = importlib.import_module("own_bases")
    try:
        bases.ALL = importlib.import_module("own_par").OwnPar, importlib.import_module("own_mixed").Mixed
        found = defined(own, "import own_bases", base="*own_bases.ALL")  # which says nothing of where they are from
    finally:
        SPEC_TYPES.pop("OwnPar", None)
    assert {"own_spec", "own_bases", "own_par", "own_mixed", "own_helper"} == set(found)
