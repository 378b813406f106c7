"""Files that are written all at once: links, rights, and what killed processes have left."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from manyarms.atomic import at_once

pytestmark = pytest.mark.once


def write(path, text):
    with at_once(path) as temporary:
        temporary.write_text(text)


def test_a_link_stays_a_link_and_rights_stay_as_they_are(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    write(target, "one")
    target.chmod(0o600)
    link.symlink_to(target)
    write(link, "two")
    assert link.is_symlink()
    assert target.read_text() == "two"
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="only an administrator may give files away")
def test_a_file_stays_with_its_owner(tmp_path):
    path = tmp_path / "file"
    write(path, "one")
    os.chown(path, 1234, 5678)
    path.chmod(0o640)
    write(path, "two")
    there = path.stat()
    assert (there.st_uid, there.st_gid, there.st_mode & 0o777) == (1234, 5678, 0o640)


def test_who_may_not_give_files_away_keeps_them(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refused)
    write(tmp_path / "file", "one")
    write(tmp_path / "file", "two")
    assert (tmp_path / "file").read_text() == "two"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink(os.devnull, path)])
def test_what_is_no_file_is_not_replaced(tmp_path, make):
    path = tmp_path / "it"
    make(path)
    before = path.lstat()
    with pytest.raises(OSError, match=r"is no plain file; move it away, or give another one"):
        write(path, "numbers")
    assert path.lstat() == before
    assert os.listdir(tmp_path) == ["it"]
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_what_a_killed_process_has_left_is_removed_and_what_another_writes_is_not(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from manyarms.atomic import at_once\n"
        "with at_once(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    path = tmp_path / "file"
    writers = [
        subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, env=environment) for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 2
        write(path, "whole")  # the others are still at it
        assert len(os.listdir(tmp_path)) == 3
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        write(path, "again")
        assert os.listdir(tmp_path) == ["file"]
    finally:
        for writer in writers:
            writer.kill()
            writer.stdout.close()
            writer.wait()
    assert path.read_text() == "again"


def test_new_files_have_the_usual_rights(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
