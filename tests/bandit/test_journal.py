"""Journals: after any crash, the bandit is what it was after the last call that returned."""

import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

import manyarms as ma
from manyarms.bandit import journal, kernels
from manyarms.bandit.journal import Journal, json_of, line_of
from tests.bandit.test_everything import without_scratch

KILLS = 10
"""``python -m tests.bandit.test_journal 100`` does it more often."""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def steps(bandit):
    """What is done to a bandit, and what it answers: the same wherever it goes on from the same state."""
    for identity in bandit.open_decisions:
        yield "told", identity, bandit.tell(identity, reward_of(identity))
    while True:
        decision = bandit.ask(exclude=[bandit.asked % 5])
        yield "asked", decision.id, (decision.number, decision.key, decision.probability)
        if decision.number % 50 == 0:
            bandit.add([1000 + decision.number], first=True)
            for item in [item for item in bandit._catalogue.items.values() if item.key > 1000 and item.is_here][:-1]:
                bandit.withdraw(item.key)
        for identity in bandit.open_decisions[:-3]:
            yield "told", identity, bandit.tell(identity, reward_of(identity))


def reward_of(identity):
    return float(int(identity.partition("-")[2]) % 3 == 0)


def play(bandit, number):
    return [(what, answer) for what, _, answer in itertools.islice(steps(bandit), number)]


def new_bandit(path, policy=None, **terms):
    return ma.Bandit(policy or ma.Elimination(beta=1.0, threshold=0.2), 7, items=range(40), journal=path, **terms)


@pytest.mark.once
def test_a_recovered_bandit_is_the_same_and_goes_on_alike(tmp_path):
    path = tmp_path / "journal"
    live = new_bandit(path)
    for number in (0, 1, 7, 100):
        play(live, number)
        live.close()
        twin = ma.Bandit.from_json(live.to_json())
        live, before = ma.Bandit.recover(path), live.to_json()
        assert live.to_json() == before
        assert play(live, 60) == play(twin, 60)


@pytest.mark.once
def test_wherever_the_last_line_is_cut_the_rest_is_there(tmp_path):
    path, cut = tmp_path / "journal", tmp_path / "cut"
    bandit = new_bandit(path)
    play(bandit, 20)
    before = bandit.to_json()
    size = path.stat().st_size
    bandit.withdraw(39)
    after = bandit.to_json()
    whole = path.read_bytes()
    assert whole.count(b"\n", size) == 1
    for end in range(size, len(whole) + 1):
        cut.write_bytes(whole[:end])
        found = ma.Bandit.recover(cut)
        found.close()
        assert found.to_json() == (after if end == len(whole) else before), end
        assert cut.read_bytes().endswith(b"\n")


@pytest.mark.once
def test_a_flipped_byte_is_found_and_its_line_named(tmp_path):
    path, damaged = tmp_path / "journal", tmp_path / "damaged"
    bandit = new_bandit(path)
    play(bandit, 8)
    bandit.pause(3)
    bandit.observe(4, 2, 1.0)
    bandit.close()
    whole = path.read_bytes()
    starts = [0, *(place + 1 for place, byte in enumerate(whole) if byte == 10)]
    first_line = starts[1]
    # All of the events, some of the long snapshot.
    for place in (*range(0, first_line, 211), *range(first_line - 1, len(whole))):
        line = sum(start <= place for start in starts)
        for flip in (1, 128):
            damaged.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            words = rf"damaged, line {line}: damaged" if line > 1 else "or its first line is damaged"
            with pytest.raises(ma.SnapshotError, match=words):
                ma.Bandit.recover(damaged)


@pytest.mark.once
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([{"format": "other"}], "is not the journal of a bandit"),
        ([[1]], "is not the journal of a bandit"),
        ([], "is not the journal of a bandit"),
        ([{"format": "manyarms.journal", "version": 9}], "is a journal of version 9, this package reads 1"),
        ([{"format": "manyarms.journal", "version": 1, "snapshot": {}}], "its format is not"),
    ],
)
def test_other_files_are_refused(values, words, tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"".join(map(line_of, values)))
    with pytest.raises(ma.SnapshotError, match=words):
        ma.Bandit.recover(path)


@pytest.mark.once
@pytest.mark.parametrize(
    "event",
    [
        ["dance"], [], 5, ["tell", 99, 1.0], ["set aside", "nobody", "paused"], ["ask", 1], ["restore"],
        ["tell", "1", 1.0], ["time", 1e308], ["forget", 0], ["correct", 1, 0.5], ["set aside", 0, "here"],
        ["observe", 0, 5, 9.0], ["observe", 0, -5, 0.0], [[[[]]], 1],
        # A slot, an arm, a block, a round, a probability, a tag that the policy or the bandit cannot have then.
        *(["ask", "planned", [*choice], 0, 1.0, False, "0123456789ab"] for choice in (
            (10**6, 10**6, 1.0, 1, 1), (0, 10**6, 1.0, 1, 1), (0, 0, 1.0, 7, 1), (0, 0, 1.0, 1, 2),
        )),
        ["ask", "planned", [0, 0, 1.0, 1, 1], 0, 0.0, False, "0123456789ab"],
        ["ask", "planned", [0, 0, 1.0, 1, 1], 0, 1.0, False, "a tag"],
    ],
)  # fmt: skip
def test_an_event_that_cannot_be_done_again_is_named(event, tmp_path):
    path = tmp_path / "journal"
    new_bandit(path).close()
    with path.open("ab") as file:
        file.write(line_of(event))
    with pytest.raises(ma.SnapshotError, match=r"journal, line 2: the event .* cannot be done again"):
        ma.Bandit.recover(path)


def test_lines_are_read_as_they_were_written():
    for values in ({"a": [1, None, "é\n"]}, ["ask", 0.1, -5], []):
        line = line_of(values)
        assert line.count(b"\n") == 1
        assert json_of(line[:-1], "") == values


@pytest.mark.once
def test_a_journal_has_one_bandit(tmp_path):
    path = tmp_path / "journal"
    bandit = new_bandit(path)
    play(bandit, 5)
    with pytest.raises(FileExistsError, match=r"there is a journal .* already; go on with it: Bandit\.recover"):
        new_bandit(path)
    written = path.read_bytes()
    with pytest.raises(BlockingIOError, match="is in use by another bandit") as raised:
        Journal(path, fsync=False)
    del raised
    assert path.read_bytes() == written
    bandit.close()
    with pytest.raises(ValueError, match=r"the journal .* is closed; Bandit\.recover goes on with it"):
        bandit.ask()
    assert path.read_bytes() == written
    ma.Bandit.recover(path)


@pytest.mark.once
def test_a_journal_that_is_in_use_is_not_recovered(tmp_path):
    path = tmp_path / "journal"
    bandit = new_bandit(path)
    play(bandit, 5)
    with pytest.raises(BlockingIOError, match="is in use by another bandit"):
        ma.Bandit.recover(path)
    bandit.tell(bandit.ask(), 1.0)
    before = bandit.to_json()
    bandit.close()
    assert ma.Bandit.recover(path).to_json() == before


@pytest.mark.once
def test_what_is_not_there_is_not_recovered(tmp_path):
    with pytest.raises(FileNotFoundError):
        ma.Bandit.recover(tmp_path / "none")
    assert os.listdir(tmp_path) == []


@pytest.mark.once
def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder of the journal .*nowhere"):
        new_bandit(tmp_path / "nowhere" / "journal")


@pytest.mark.once
def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    bandit = new_bandit(path)
    play(bandit, 5)
    decision = bandit.ask()
    written, before = path.read_bytes(), bandit.to_json()
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda handle, line: write(handle, line[:4]))
        with pytest.raises(OSError, match="no space left"):
            bandit.tell(decision, 1.0)
    assert (path.read_bytes(), bandit.to_json()) == (written, before)
    assert bandit.tell(decision, 1.0) is ma.Told.COUNTED
    before = bandit.to_json()
    bandit.close()
    assert ma.Bandit.recover(path).to_json() == before


@pytest.mark.once
def test_fsync_is_called_for_each_line_if_that_is_wanted(tmp_path, monkeypatch):
    calls = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: calls.append(handle) or fsync(handle))
    for name, wanted in (("sure", True), ("fast", False)):
        bandit = new_bandit(tmp_path / name, fsync=wanted)
        calls.clear()
        bandit.tell(bandit.ask(), 1.0)
        assert len(calls) == (2 if wanted else 0)


@pytest.mark.once
@pytest.mark.parametrize("is_list", [True, False])
def test_items_of_a_source_and_refused_asks_are_recovered(is_list, tmp_path):
    path = tmp_path / "journal"
    bandit = ma.Bandit(ma.Subsample(ma.Greedy(), beta=1.0, arms=3), 7, journal=path, same_key="merge")
    bandit.add(["a", "b", "c"] if is_list else iter(["a", "b", "b", "c"]))
    for number in range(80):
        decision = bandit.ask()
        with pytest.raises(ma.NoMoreItems):
            bandit.ask(among=[])
        bandit.tell(decision, float(number % 2))
        if number == 30:
            bandit.withdraw("a")
            bandit.add(iter(["a", "d"]))
    bandit.close()
    before = bandit.to_json()
    assert {row[0] for row in before["items"]} == {"a", "b", "c", "d"}
    assert ma.Bandit.recover(path).to_json() == before


@pytest.mark.once
def test_a_refused_ask_leaves_the_newest_open_in_the_journal_too(tmp_path):
    path = tmp_path / "journal"
    bandit = new_bandit(path, ma.Subsample(ma.UCB(), beta=1.0, arms=4, horizon=1000))
    for _ in range(2):  # the first time it also looks for arms that were let go
        bandit.ask()
        with pytest.raises(ma.NoMoreItems):
            bandit.ask(among=[])
    bandit.close()
    assert ma.Bandit.recover(path).to_json() == bandit.to_json()


@pytest.mark.once
def test_two_copies_of_a_journal_give_out_different_ids(tmp_path):
    path, copy = tmp_path / "journal", tmp_path / "copy"
    bandit = new_bandit(path)
    play(bandit, 5)
    bandit.close()
    shutil.copyfile(path, copy)
    one, other = ma.Bandit.recover(path), ma.Bandit.recover(copy)
    decisions = one.ask(), other.ask()
    assert decisions[0].key == decisions[1].key
    assert decisions[0].id != decisions[1].id
    with pytest.raises(KeyError):
        one.tell(decisions[1], 1.0)


@pytest.mark.once
def test_a_journal_that_was_replaced_before_it_was_locked_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    new_bandit(path).close()
    flock = journal.fcntl.flock

    def meanwhile(handle, how):
        path.rename(tmp_path / "old")
        shutil.copyfile(tmp_path / "old", path)
        flock(handle, how)

    monkeypatch.setattr(journal.fcntl, "flock", meanwhile)
    with pytest.raises(BlockingIOError, match="is in use by another bandit"):
        Journal(path, fsync=False)


@pytest.mark.once
def test_payloads_and_segments_are_given_again(tmp_path):
    path = tmp_path / "journal"
    items = {number: {"even": number % 2 == 0} for number in range(10)}
    terms = {"items": items, "segments": {"even": lambda item: item["even"]}}
    bandit = ma.Bandit(ma.Forager(), 7, journal=path, **terms)
    for _ in range(5):
        bandit.tell(bandit.ask(segment="even"), 1.0)
    bandit.close()
    before = bandit.to_json()
    recovered = ma.Bandit.recover(path, **terms)
    assert recovered.to_json() == before
    decision = recovered.ask(segment="even", exclude=range(7))
    assert (decision.key, decision.item) == (8, {"even": True})


@pytest.mark.compiled
def test_a_compiled_bandit_is_recovered(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_READY", {})
    path = tmp_path / "journal"
    bandit = new_bandit(path)
    assert bandit.warm()
    play(bandit, 300)
    bandit.close()
    before = bandit.to_json()
    compiled = ma.Bandit.recover(path)
    assert compiled.is_compiled
    assert compiled.to_json() == before
    compiled.close()
    monkeypatch.setattr(kernels, "_READY", {})
    plain = ma.Bandit.recover(path)
    assert not plain.is_compiled
    assert play(plain, 100) == play(bandit_like(before), 100)


def bandit_like(values):
    return ma.Bandit.from_json(values)


# Processes that are killed.


def in_a_process_until_killed(path, lines):
    """Go on with a journal, and say what is done once it is done."""
    with os.fdopen(lines, "w", buffering=1) as said:
        bandit = ma.Bandit.recover(path)
        for what, identity, answer in steps(bandit):
            said.write(f"{what} {identity} {answer!r}\n")


def killed(path, patience):
    """All that a process said before it was killed."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        try:
            in_a_process_until_killed(path, writable)
        finally:
            os._exit(1)
    os.close(writable)
    with os.fdopen(readable, "rb") as said:
        text = said.readline()  # it is at work
        time.sleep(patience)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        text += said.read()
    return [line.split(" ", 2) for line in text.decode().split("\n")[:-1]]


def check_kills(folder, policy, kills, seed):
    """Nothing that was said is lost, ids never mean two things, and what follows is what would have."""
    path, dice = folder / "journal", random.Random(seed)
    new_bandit(path, policy).close()
    keys, told = {}, set()
    operations = 0
    for _ in range(kills):
        twin_path = folder / "twin"
        shutil.copyfile(path, twin_path)
        twin = ma.Bandit.recover(twin_path)
        said = killed(path, dice.random() * 0.03)
        operations += len(said)
        expected = play(twin, len(said))
        twin.close()
        assert [(what, answer) for what, _, answer in said] == [(what, repr(answer)) for what, answer in expected]
        for what, identity, answer in said:
            if what == "asked":
                assert keys.setdefault(identity, answer) is answer  # no id was given out before
            else:
                told.add(identity)
        shutil.copyfile(path, twin_path)
        recovered = ma.Bandit.recover(twin_path)
        waiting = set(recovered.open_decisions)
        assert not waiting & told
        assert all(recovered.tell(identity, 0.0) is ma.Told.REPEATED for identity in list(told)[-200:])
        assert set(keys) - told <= waiting | told_without_word(recovered, keys, told)
        for identity in waiting & set(keys):
            one = recovered._open.get(recovered._number(identity))
            assert keys[identity].startswith(f"({one.choice.round}, {one.key!r}, ")
        recovered.close()
    assert operations > 5 * kills
    return operations


def told_without_word(bandit, keys, told):
    """A tell that was written, and whose process was killed before it could say so: one at most, the last."""
    silent = {identity for identity in set(keys) - told if identity not in bandit.open_decisions}
    assert len(silent) <= 1
    told |= silent
    return silent


@forks
@pytest.mark.once
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "policy", [ma.Elimination(beta=1.0, threshold=0.2), ma.Subsample(ma.UCB(), beta=1.0, arms=6)], ids=repr
)
def test_nothing_is_lost_when_a_process_is_killed(policy, tmp_path):
    check_kills(tmp_path, policy, KILLS, seed=5)


def test_forager_is_recovered_but_for_its_scratch(tmp_path):
    path = tmp_path / "journal"
    bandit = new_bandit(path, ma.Forager())
    play(bandit, 150)
    bandit.close()
    before = without_scratch(bandit)
    recovered = ma.Bandit.recover(path)
    assert without_scratch(recovered) == before
    assert play(recovered, 50) == play(ma.Bandit.from_json(bandit.to_json()), 50)


if __name__ == "__main__":
    for policy in (ma.Elimination(beta=1.0, threshold=0.2), ma.Forager()):
        with tempfile.TemporaryDirectory() as folder:
            done = check_kills(Path(folder), policy, int(sys.argv[1]), seed=5)
            sys.stdout.write(f"{policy.label()}: {done} operations\n")
