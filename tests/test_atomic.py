"""Files that are written all at once: links, rights, and what killed processes have left."""

import os
import signal
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
