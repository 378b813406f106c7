"""The tools over states, and files that are written at once."""

import os
from typing import Any, NamedTuple

import numpy as np
import pytest

from manyarms import states
from manyarms.atomic import at_once


class Inner(NamedTuple):
    size: int
    numbers: Any


class Outer(NamedTuple):
    key: Any
    inner: Inner
    share: float
    table: Any


def outer(size=3, start=0.0):
    table = np.array([1, 2])
    table.setflags(write=False)
    return Outer(np.uint64(9), Inner(size, np.arange(size) + start), 0.5, table)


def test_leaves_have_paths():
    paths = ["state.key", "state.inner.size", "state.inner.numbers", "state.share", "state.table"]
    assert [path for path, _ in states.leaves(outer())] == paths
    assert list(states.leaves((1, (2,)), "pair")) == [("pair.0", 1), ("pair.1.0", 2)]
    assert list(states.leaves(5)) == [("state", 5)]
    assert list(states.arrays(outer())) == ["state.inner.numbers", "state.table"]


def test_own_arrays_are_those_that_can_be_written():
    state = outer()
    (own,) = states.own_arrays((state, state.table))
    assert own is state.inner.numbers


def test_mapping_keeps_types_and_takes_several_states():
    state = (Inner(1, 2.0), 3)
    assert states.mapped(lambda leaf: leaf + 1, state) == (Inner(2, 3.0), 4)
    assert isinstance(states.mapped(lambda leaf: leaf, state)[0], Inner)
    assert states.mapped(lambda one, other: one * other, state, (Inner(5, 7.0), 11)) == (Inner(5, 14.0), 33)
    assert states.mapped(lambda leaf: -leaf, 4) == -4
    with pytest.raises(ValueError, match="zip"):
        states.mapped(max, (1, 2), (1, 2, 3))


def test_states_inside_come_before_those_around_them():
    state = outer()
    assert [type(part).__name__ for part in states.states_in((state, 1))] == ["Inner", "Outer", "tuple"]
    assert list(states.states_in(1)) == []


def test_types_see_no_values_and_no_sizes():
    assert states.types_of(outer()) == ("Outer", "uint64", ("Inner", "int", "<f8[1]"), "float", "<i8[1]")
    assert states.types_of(outer(size=3)) == states.types_of(outer(size=5))
    assert states.types_of(outer()._replace(share=1)) != states.types_of(outer())


def test_a_copy_shares_no_array():
    state = outer()
    copy = states.copied(state)
    copy.inner.numbers[0] = 7.0
    assert state.inner.numbers[0] == 0.0
    assert (copy.key, copy.inner.size, copy.share, copy.table.tolist()) == (9, 3, 0.5, [1, 2])


def test_an_enlarged_state_keeps_all_it_held():
    small, large = outer(2, start=5.0), outer(4)
    grown = states.enlarged(small._replace(share=0.25), large)
    assert grown.inner.numbers.tolist() == [5.0, 6.0, 2.0, 3.0]
    assert grown.inner.numbers is large.inner.numbers
    assert (grown.inner.size, grown.share) == (2, 0.25)
    assert grown.table is small.table


def fail_half_way(path):
    with at_once(path) as temporary:
        temporary.write_text("half")
        raise KeyError


def test_a_file_appears_at_once_or_not_at_all(tmp_path):
    path = tmp_path / "made" / "on the way" / "file.txt"
    with at_once(path) as temporary:
        temporary.write_text("all")
        assert not path.exists()
    assert path.read_text() == "all"
    with pytest.raises(KeyError):
        fail_half_way(path)
    assert path.read_text() == "all"
    assert os.listdir(path.parent) == ["file.txt"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_file_and_its_folder_are_on_disk_for_good(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def noted(handle):
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    with at_once(tmp_path / "file.txt") as temporary:
        temporary.write_text("all")
    assert synced == [str(temporary), str(tmp_path)]


def test_a_file_has_the_usual_rights(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    with at_once(tmp_path / "file") as temporary:
        temporary.write_text("")
    assert (tmp_path / "file").stat().st_mode == usual.stat().st_mode
