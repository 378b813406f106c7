"""Compiled code on disk: what was written is read, and nothing else is."""

import pickle
import threading
import warnings

import pytest

from manyarms import code_files
from manyarms.code_files import CodeFiles

pytestmark = pytest.mark.once

TYPES = ("int64", "float64")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(code_files, "_SAID", set())
    return CodeFiles(tmp_path, "module.function", ("1.0", "cpython"), pickle.dumps)


def same(code):
    return code


def test_what_was_saved_is_loaded_by_its_types_and_what_made_it(files, tmp_path):
    assert files.load(TYPES, same) is None
    files.save(TYPES, b"machine code")
    files.save("int64", b"other code")
    assert files.load(TYPES, same) == b"machine code"
    assert files.load("int64", lambda code: code.upper()) == b"OTHER CODE"
    for name, made_by in (("module.other", files.made_by), (files.name, ("1.1", "cpython"))):
        assert CodeFiles(tmp_path, name, made_by, pickle.dumps).load(TYPES, same) is None
    assert len(list(tmp_path.iterdir())) == 2


def test_no_flipped_bit_is_read(files):
    files.save(TYPES, b"machine code")
    path = files.path(TYPES)
    whole = path.read_bytes()
    flips = [(place, bit) for place in range(len(whole)) for bit in range(8)]
    damaged = [whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :] for place, bit in flips]
    damaged += [whole[:end] for end in (0, 1, 31, 32, 33, len(whole) - 1)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for data in damaged:
            path.write_bytes(data)
            assert files.load(TYPES, pytest.fail) is None
    (once,) = told
    assert f"holds a damaged file, {path}" in str(once.message)
    assert f"delete {files.folder}" in str(once.message)
    files.save(TYPES, b"machine code")
    assert path.read_bytes() == whole


def test_a_file_under_another_s_name_is_not_taken_for_it(files):
    files.save("int64", b"other code")
    files.path("int64").rename(files.path(TYPES))
    assert files.load(TYPES, same) is None


def test_code_that_cannot_be_rebuilt_counts_as_none(files):
    files.save(TYPES, b"machine code")
    with pytest.warns(RuntimeWarning, match=r"division.*compiled anew"):
        assert files.load(TYPES, lambda code: 1 / 0) is None


def test_a_folder_that_cannot_be_written_costs_a_warning(files):
    files.path(TYPES).mkdir()
    files.path("int64").mkdir()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for types in (TYPES, "int64"):
            files.save(types, b"machine code")
            assert files.load(types, same) is None
    assert len(told) == 2
    assert "cannot be written" in str(told[0].message)
    assert "set MANYARMS_CACHE_DIR" in str(told[0].message)


def test_many_may_write_and_read_the_same_at_once(files):
    codes = [bytes([number]) * 100_000 for number in range(4)]
    files.save(TYPES, codes[0])
    found = []

    def write_and_read(code):
        for _ in range(20):
            files.save(TYPES, code)
            found.append(files.load(TYPES, same))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=write_and_read, args=(code,)) for code in codes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 80
    assert set(found) <= set(codes)
    assert [path.name for path in files.folder.iterdir()] == [files.path(TYPES).name]
