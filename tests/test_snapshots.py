"""Snapshots of earlier versions are refused by name, those of this one go on as they did when they were written."""

import json
import re

import pytest

import manyarms as ma
from manyarms.snapshots import VERSION
from tests import golden_files

GOLDEN = sorted(golden_files.FOLDER.glob("snapshot-*.json"))


def check_refused(path):
    values = json.loads(path.read_text(encoding="utf-8"))
    package = values["package"]
    words = rf"version {values['version']}, .* reads version {VERSION}; it was written by manyarms {re.escape(package)}"
    with pytest.raises(ma.SnapshotError, match=words) as raised:
        ma.Bandit.load(path)
    assert f"Load it with manyarms {package}, or start a new bandit and tell it the past again" in str(raised.value)


def check_goes_on(path):
    for name, golden in json.loads(path.read_text(encoding="utf-8")).items():
        bandit = ma.Bandit.from_json(golden["snapshot"])
        assert bandit.policy == golden_files.POLICIES[name].without_horizon()
        assert bandit.to_json() == golden["snapshot"], name
        assert golden_files.play(bandit, golden_files.ASKED_AFTER) == golden["decisions"], name


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_snapshot(path):
    check = check_goes_on if path == golden_files.path_of(VERSION) else check_refused
    check(path)


def test_every_earlier_version_has_a_golden_snapshot():
    earlier = [golden_files.path_of(version) for version in range(1, VERSION)]
    assert set(earlier) <= set(GOLDEN)


def test_a_new_golden_snapshot_goes_on_and_holds_all_there_is_to_save(tmp_path):
    found = golden_files.written()
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(found))
    check_goes_on(path)
    saved = [golden["snapshot"] for golden in found.values()]
    assert all(len(snapshot["open"]) == 1 for snapshot in saved)
    restarts = [ma.Bandit.from_json(snapshot).explain()["restarts"] for snapshot in saved]
    assert max(restarts) >= 1
