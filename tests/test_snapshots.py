"""Snapshots of this version go on as they did when they were written, earlier ones are read as far as their fields go,
and those before these are refused by name. So are those of a policy whose rule is another now.
"""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import manyarms as ma
from manyarms.bandit.saving import AGREED
from manyarms.snapshots import OLDEST_READ, VERSION, checksum, state_from_json, state_to_json
from tests import golden_files
from tests.live_ids import same_tags as same_tags

pytestmark = pytest.mark.usefixtures("same_tags")

GOLDEN = sorted(golden_files.FOLDER.glob("snapshot-*.json"))


def check_refused(path):
    values = json.loads(path.read_text(encoding="utf-8"))
    package = values["package"]
    words = (
        rf"version {values['version']}, .* reads {OLDEST_READ} to {VERSION}; "
        rf"it was written by manyarms {re.escape(package)}"
    )
    with pytest.raises(ma.SnapshotError, match=words) as raised:
        ma.Bandit.load(path)
    assert f"Load it with manyarms {package}, or start a new bandit and tell it the past again" in str(raised.value)


def goldens_in(path):
    """By policy; but for the earlier Forager, which is refused."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return {name: golden for name, golden in found.items() if "first_look" not in golden["snapshot"]["policy"]}


def unpacked(values):
    """JSON values with the bytes of arrays in place of how they are written, which zlib may do in other ways, too."""
    if not isinstance(values, dict):
        return values
    if "zlib" in values:
        return {"bytes": zlib.decompress(base64.b64decode(values["zlib"]))}
    if "base64" in values:
        return {"bytes": base64.b64decode(values["base64"])}
    return {name: unpacked(value) for name, value in values.items() if name != "checksum"}


def check_goes_on(path):
    for name, golden in goldens_in(path).items():
        bandit = ma.Bandit.from_json(golden["snapshot"])
        assert bandit.policy == golden_files.POLICIES[name].without_horizon()
        assert unpacked(bandit.to_json()) == unpacked(golden["snapshot"]), name
        assert golden_files.play(bandit, golden_files.ASKED_AFTER) == golden["decisions"], name


def check_is_read(path):
    """An earlier one: nothing that was known is lost, open decisions are open, and it goes on for long."""
    for name, golden in goldens_in(path).items():
        saved = golden["snapshot"]
        bandit = ma.Bandit.from_json(saved)
        assert bandit.policy == golden_files.POLICIES[name].without_horizon()
        timed_out = saved.get("timed_out", 0)  # in version 2, nothing was
        assert (bandit.asked, bandit.told, bandit.timed_out) == (saved["asked"], saved["told"], timed_out)
        number = 4 if saved["version"] >= 5 else 0  # where it stands in the row of an open decision
        assert bandit.open_decisions == [bandit._ids.of(row[number]) for row in saved["open"]]
        assert bandit.to_json()["version"] == VERSION
        for part in ("settings", "note", "key"):  # what an open ask does not change
            if part in saved["state"]:
                assert bandit.to_json()["state"][part] == saved["state"][part], (name, part)
        if saved["version"] > 2 or name in ("CBT", "UniformPlay"):  # to which an open ask makes no difference
            state = unpacked(bandit.to_json()["state"])
            assert {field: state[field] for field in saved["state"]} == unpacked(saved["state"])
            came_later = {"is_supplied", "stock", "stretch"}  # the first two with version 5, the last with version 6
            assert set(state) - set(saved["state"]) <= came_later
            assert state.get("is_supplied", 1) == 1
            assert golden_files.play(ma.Bandit.from_json(saved), 1) == golden["decisions"][:1]
        copy = ma.Bandit.from_json(bandit.to_json())
        assert golden_files.play(bandit, 2000) == golden_files.play(copy, 2000)
        assert bandit.to_json() == copy.to_json()
        with pytest.raises(ma.SnapshotError, match="checksum"):
            ma.Bandit.from_json(saved | {"note": "mine"})


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_snapshot(path):
    version = int(path.stem.removeprefix("snapshot-"))
    check = check_goes_on if version == VERSION else check_is_read if version >= OLDEST_READ else check_refused
    check(path)


@pytest.mark.parametrize("version", [2, 3])
def test_an_earlier_forager_is_refused_with_what_to_do(version):
    # Of its arms it knew losses and bounds; what is believed of them now does not follow from those.
    path = golden_files.path_of(version)
    assert set(golden_files.POLICIES) - set(goldens_in(path)) == {"Forager"}
    saved = json.loads(path.read_text(encoding="utf-8"))["Forager"]["snapshot"]
    with pytest.raises(ma.SnapshotError, match=r"an earlier Forager, written by manyarms 0\.1\.0, .* rule") as raised:
        ma.Bandit.from_json(saved)
    assert "Load it with the package that wrote it, or start a new bandit and tell it the past again" in str(
        raised.value
    )


def test_a_forager_of_version_3_goes_on_but_for_what_it_says_of_change():
    def as_of_then(snapshot):
        values = {key: value for key, value in snapshot.items() if key != "checksum"} | {"version": 3}
        values["state"]["watch"].pop("overall")
        values["state"]["reservoir"].pop("blur")
        return values | {"checksum": checksum(values)}

    golden = json.loads(golden_files.path_of(4).read_text(encoding="utf-8"))["Forager"]
    of_version_4 = golden_files.play(ma.Bandit.from_json(golden["snapshot"]), golden_files.ASKED_AFTER)
    bandit = ma.Bandit.from_json(as_of_then(golden["snapshot"]))
    assert golden_files.play(bandit, golden_files.ASKED_AFTER) == of_version_4
    # Since version 5 it draws no other arm while one that it has drawn was not asked for yet.
    assert of_version_4[:71] == golden["decisions"][:71]


OF_VERSION_5 = (
    "same_key", "holdout", "is_supplied", "arms_seen", "tags", "progress", "items", "here", "waiting", "again",
    "let_go", "missing", "news", "early_news",
)  # fmt: skip


def test_many_open_decisions_of_version_2_find_room():
    bandit = ma.Bandit(ma.SSUCB(beta=1.0), 1)
    values = {key: value for key, value in bandit.to_json().items() if key != "checksum"}
    for name in ("timed_out", "last_timed_out", "clock", "remembered", *OF_VERSION_5, *AGREED):
        del values[name]
    rows = [[number, 0, 0, 1.0, 1, number] for number in range(1, 3001)]
    values |= {"version": 2, "asked": 3000, "open": rows, "fresh": 1, "positions": [[0, 0]]}
    loaded = ma.Bandit.from_json(values | {"checksum": checksum(values)})
    assert loaded.to_json()["rounds"] == 4096
    assert loaded.open_decisions == [loaded._ids.of(number) for number in range(1, 3001)]
    assert loaded.tell(loaded._ids.of(2), 1.0) is ma.Told.IGNORED  # the block of two rounds is over
    golden_files.play(loaded, 2000)


def test_every_earlier_version_has_a_golden_snapshot():
    earlier = [golden_files.path_of(version) for version in range(1, VERSION)]
    assert set(earlier) <= set(GOLDEN)


def test_a_new_golden_snapshot_goes_on_and_holds_all_there_is_to_save(tmp_path):
    found = golden_files.written()
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(found))
    check_goes_on(path)
    saved = [golden["snapshot"] for golden in found.values()]
    assert all(len(snapshot["open"]) == (4 if snapshot["timeout"] is None else 2) for snapshot in saved)
    rows = [row for snapshot in saved for row in snapshot["open"]]
    assert {type(row[5]) for row in rows} == {float, str, type(None)}  # presumed, nothing presumed, not deferred
    assert all(len(snapshot["remembered"]) == 20 for snapshot in saved if snapshot["correctable"])
    assert sum(snapshot["timed_out"] > 0 for snapshot in saved) >= 2
    restarts = [ma.Bandit.from_json(snapshot).explain()["restarts"] for snapshot in saved]
    assert max(restarts) >= 1


@pytest.mark.parametrize("is_written", [True, False])
def test_an_array_that_is_only_read_is_so_again(is_written):
    array = np.arange(3)
    array.flags.writeable = is_written
    assert state_from_json(state_to_json(array), array).flags.writeable == is_written
