"""Snapshots that were edited and signed again: what would fail later is refused when it is read."""

import base64
import json
import os

import numpy as np
import pytest

import manyarms as ma
from manyarms.snapshots import checksum
from tests.bandit.test_bandit import LIVE, label, put

pytestmark = pytest.mark.once


def signed(values):
    """With the right checksum, as by somebody who knows how."""
    return values | {"checksum": checksum({name: value for name, value in values.items() if name != "checksum"})}


def snapshot_of(policy):
    terms = {"correctable": 5} if policy.takes_corrections else {}
    bandit = ma.Bandit(policy, 5, items=range(25), holdout=0.1, timeout=100, **terms)
    for number in range(120):
        decision = bandit.ask(now=number)
        if number % 6:
            bandit.tell(decision, float(number % 3 == 0), now=number)
    return json.loads(json.dumps(bandit.to_json()))


def array_with(number):
    """Put a number into an array."""

    def change(array):
        values = np.frombuffer(base64.b64decode(array["base64"]), array["dtype"]).copy()
        values[0] = number
        array["base64"] = base64.b64encode(values.tobytes()).decode()

    return change


SSUCB = ma.SSUCB(beta=1.0, arms=6, horizon=500)
ELIMINATION = ma.Elimination(beta="auto", threshold=0.02)
WRONG = {
    "a block of all arms": (ma.SSUCB(beta=1.0), put("state", "block", "size", 2**31), "cannot be the block after 120"),
    "a late block": (ma.Blackbox(ma.UCB(), beta=1.0), put("state", "block", "rank", 1000), "cannot be the block after"),
    "a block that never ends": (ELIMINATION, put("state", "block", "left", -1), "cannot be the block after 120 asks"),
    "more live arms than slots": (ELIMINATION, put("state", "live", 10**6), "cannot go on with it"),
    "no live arms": (ELIMINATION, put("state", "live", 0), "cannot go on with it"),
    "an open arm that never was": (
        ma.Blackbox(ma.UCB(), beta=0.5, preset="published"), put("open", 7, 1, 2**31 - 1), "cannot go on with it"
    ),
    "a threshold that never was": (ma.AUCBTASW(width=0.1), put("state", "place", 2**31), "cannot go on with it"),
    "another growth": (ma.IMOSS(warmup=5), put("state", "growth", "first", 1000), r"growth\.first: 1000 is not what"),
    "other settings": (SSUCB, put("state", "settings", "horizon", 7), r"settings\.horizon: 7 is not what SSUCB"),
    "a sum that is no number": (
        SSUCB, lambda values: array_with(np.nan)(values["state"]["base"]["rewards"]["sums"]), "numbers are finite"
    ),
    "too much reward": (SSUCB, put("items", 3, 7, 1e6), r"items\[3\]\.reward: 1000000\.0 is not the sum of \d+"),
    "less than no reward": (SSUCB, put("items", 3, 8, -1.0), r"items\[3\]\.squares: -1\.0 is not the sum of \d+"),
    "no time": (SSUCB, put("clock", "time", 1e308), r"clock\.time must be a time"),
    "no share": (SSUCB, put("holdout", 2), "holdout must be a share from 0 to below 1"),
    "more than 64 bits": (SSUCB, put("state", "counts", "arms", 2**70), "expected a whole number of 64 bits"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_would_fail_in_use_is_refused(name):
    policy, change, words = WRONG[name]
    values = snapshot_of(policy)
    ma.Bandit.from_json(signed(values))
    change(values)
    with pytest.raises(ma.SnapshotError, match=words):
        ma.Bandit.from_json(signed(values))


def nested(depth, inside=0):
    for _ in range(depth):
        inside = [inside]
    return inside


@pytest.mark.parametrize("place", ["policy", "open", "state", "items", "clock", "here", "seed"])
def test_what_is_too_deep_inside_each_other_is_refused(place, tmp_path):
    values = snapshot_of(SSUCB)
    with pytest.raises(ma.SnapshotError):
        ma.Bandit.from_json(values | {place: nested(100_000)})
    (tmp_path / "file").write_text(json.dumps(values | {place: "@@"}).replace('"@@"', "[" * 100_000 + "]" * 100_000))
    with pytest.raises(ma.SnapshotError, match="is not a snapshot"):
        ma.Bandit.load(tmp_path / "file")


def test_keys_are_tuples_in_tuples_up_to_a_depth():
    key, deep = "a", "a"
    for _ in range(20):
        key = (key, 1, 1)
    bandit = ma.Bandit(ma.UniformPlay(), 1, items=[(key, None)])
    values = json.loads(json.dumps(bandit.to_json()))
    assert ma.Bandit.from_json(values).ask().key == key
    for _ in range(3000):
        deep = (deep, 1, 1)
    for entry in (deep, (deep, "payload")):
        with pytest.raises(ValueError, match="tuples in tuples, more than 20 deep"):
            ma.Bandit(ma.UniformPlay(), 1, items=[entry])
    values["items"][0][0] = {"tuple": [values["items"][0][0]]}
    with pytest.raises(ma.SnapshotError, match="tuples in tuples, more than 20 deep"):
        ma.Bandit.from_json(signed(values))


@pytest.mark.parametrize("policy", LIVE, ids=label)
def test_what_is_explained_is_json(policy):
    bandit = ma.Bandit(policy, 5, items=range(25))
    for number in range(40):
        json.dumps(bandit.explain(), allow_nan=False)
        bandit.tell(bandit.ask(), float(number % 3 == 0))


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "€" * 85, "😀" * 63, "ab€" * 51])
def test_files_may_have_the_longest_names(name, tmp_path):
    bandit = ma.Bandit(SSUCB, 5, items=range(5))
    for _ in range(2):
        bandit.save(tmp_path / name)
        assert ma.Bandit.load(tmp_path / name).to_json() == bandit.to_json()
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "use",
    [
        ma.Bandit.load,
        ma.Bandit.recover,
        lambda path: ma.Bandit.from_history(SSUCB, [("a", 1, 1.0)], 5, journal=path),
    ],
    ids=["load", "recover", "a new journal"],
)
def test_a_pipe_is_not_waited_for(use, tmp_path, soon):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"pipe is no plain file; move it away|there is a journal .*pipe already"):
        use(tmp_path / "pipe")
