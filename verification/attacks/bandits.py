"""Live bandits under attack, python -m verification.attacks.bandits.

Snapshots and journals are damaged, or edited and signed again, as by somebody who knows how; processes are killed while
they save, forked while threads are in the middle of a call, and interrupted by signals; threads save at once; files
have the longest names, lie behind links, and are not for everybody. It has held if a bandit decides as its twin does
to which nothing was done, or an error says what is wrong; never a hang, the end of a process, or a bandit that is
loaded and then fails.

``--size 1`` is 6,500 edits of snapshots, 3,000 signals and 200 kills; ``--seed`` says which.
"""

import base64
import contextlib
import copy
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import manyarms as ma
from manyarms.checks import examples
from manyarms.snapshots import checksum
from tests.bandit.test_journal import check_kills
from tests.bandit.test_turns import Interrupt, in_child, plain

from .changes import WEIRD, cut, mutated, other_byte, paths_in
from .rows import Row, main, scaled
from .trying import outcome, soon

POLICIES = [spec for spec in examples() if isinstance(spec, ma.Policy) and not spec.sees_means]
FEW = [
    ma.Elimination(beta=1.0, threshold=0.2),
    ma.Subsample(ma.UCB(), beta=1.0, arms=6, horizon=500),
    ma.Forager(keep=4, most=8),
]
"""Some policies, which are compiled where that makes a difference."""

LONGEST_NAME = 255
"""Bytes of the longest name of a file."""


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """Attack, and say for each kind how often it was tried and how often it held."""
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        yield from damaged_files(folder, seed, size)
        yield edited("a snapshot is edited and signed again", POLICIES, False, folder, seed, scaled(5_000, size))
        yield edited("the same, compiled", FEW, True, folder, seed, scaled(1_500, size))
        yield events("a line of a journal is edited and signed again", False, folder, seed, scaled(2_000, size))
        yield events("the same, compiled", True, folder, seed, scaled(1_000, size))
        yield killed_saves(folder, dice, scaled(100, size))
        yield killed_journals(folder, dice, scaled(100, size))
        yield forks(dice, scaled(100, size))
        yield signals(folder, dice, scaled(3_000, size))
        yield threads(folder, scaled(10, size))
        yield names(folder)


# ---------------------------------------------------------------- what is attacked


def used(policy: ma.Policy, journal: Path | None = None) -> ma.Bandit:
    """A bandit to which everything has happened."""
    corrects = {"correctable": 5} if policy.takes_corrections else {}
    bandit = ma.Bandit(
        policy, 5, items=range(25), timeout=100, on_timeout=0.0, holdout=0.1, journal=journal, **corrects
    )
    for number in range(120):
        decision = bandit.ask(exclude=[3] if number % 4 == 1 else None, now=number)
        if number % 6:
            bandit.tell(decision, float(number % 3 == 0), now=number)
        if number == 50:
            bandit.withdraw(decision.key)
            bandit.pause(20)
            bandit.observe(21, 10, 5.0)
            bandit.add([(30, None), ((31, "a"), None)], first=True)
        if number == 90:
            bandit.forget(decision)
    return bandit


def decisions(bandit: ma.Bandit, rounds: int) -> list[tuple[Any, ...]]:
    """What it decides next, in so many rounds."""
    found: list[tuple[Any, ...]] = []
    for number in range(rounds):
        try:
            decision = bandit.ask(exclude=[5] if number % 3 == 0 else None, now=1000 + number)
        except ma.NoMoreItems:
            found.append(("none",))
            continue
        found.append((decision.key, decision.arm, decision.how, decision.probability))
        if not 0.0 < decision.probability <= 1.0:
            raise ArithmeticError(f"a probability of {decision.probability}")
        if number % 5:
            bandit.tell(decision, bandit.reward_range[number % 2], now=1000 + number)
    return found


def wrong_use(bandit: ma.Bandit) -> str:
    """What is wrong with a bandit that was read, in use."""
    before = json.dumps(bandit.to_json(), allow_nan=False)
    json.dumps(bandit.explain(), allow_nan=False)
    if bandit.holdout:
        bandit.lift()
    bandit.table()
    twin = ma.Bandit.from_json(json.loads(before))
    if decisions(bandit, 60) != decisions(twin, 60):
        return "not the same twice"
    json.dumps(bandit.explain(), allow_nan=False)
    json.dumps(bandit.news(), allow_nan=False)
    ma.Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)))
    return ""


def in_children(row: Row, tries: int, attack: Callable[[int], str]) -> None:
    """Try so often, in child processes, one for each core, each of which goes on until it dies."""
    cores = os.cpu_count() or 1
    waiting = [range(core, tries, cores) for core in range(cores)]
    while waiting := [numbers for numbers in waiting if numbers]:
        children = [child_for(numbers, attack) for numbers in waiting]
        for place, (child, readable) in enumerate(children):
            with os.fdopen(readable) as said:
                lines = said.readlines()
            for line in lines:
                row.note(json.loads(line))
            waiting[place] = waiting[place][len(lines) :]
            status = os.waitpid(child, 0)[1]
            if waiting[place]:
                row.note(f"the process ended with {os.waitstatus_to_exitcode(status)}")
                waiting[place] = waiting[place][1:]


def child_for(numbers: range, attack: Callable[[int], str]) -> tuple[int, int]:
    """A child process that makes these tries, and where to read what came of each."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        with contextlib.suppress(BaseException):
            for number in numbers:
                os.write(writable, json.dumps(outcome(lambda number=number: attack(number))).encode() + b"\n")
        os._exit(0)
    os.close(writable)
    return child, readable


# ---------------------------------------------------------------- snapshots and journals


def damaged_files(folder: Path, seed: int, size: float) -> Iterator[dict[str, object]]:
    """Bytes are others, or missing."""
    for what, read in (("a snapshot", ma.Bandit.load), ("a journal", ma.Bandit.recover)):
        path = folder / "whole"
        bandits = []
        for place, policy in enumerate(FEW):
            bandit = used(policy, path.with_suffix(f".{place}"))
            bandit.close()
            if what == "a snapshot":
                bandit.save(path.with_suffix(f".{place}"))
            bandits.append((path.with_suffix(f".{place}").read_bytes(), plain(bandit)))
        for name, change, tries in (("a byte of {} is flipped", other_byte, 1_500), ("{} is cut", cut, 500)):
            row = Row(name.format(what))

            def attack(
                number: int, change: Any = change, read: Any = read, bandits: Any = bandits, what: str = what
            ) -> str:
                dice = random.Random(f"{seed} {number}")
                data, expected = bandits[number % len(bandits)]
                target = folder / f"damaged {os.getpid()}"
                target.write_bytes(change(data, dice))
                with soon():
                    try:
                        bandit = read(target)
                    except ma.SnapshotError:
                        return ""
                    if change is cut and what == "a journal":  # what came before is there
                        return wrong_use(bandit)
                return "" if plain(bandit) == expected else "another bandit"

            in_children(row, scaled(tries, size), attack)
            yield row.values()
        for place in range(len(FEW)):
            path.with_suffix(f".{place}").unlink()


NUMBERS = (0.0, -1.0, 1.0, 2.0, 1e308, -1e308, 2.0**62, float("nan"), float("inf"), 0.5)
"""What is put into arrays."""


def edit(values: Any, dice: random.Random) -> tuple[str, str]:
    """What was done, and the JSON text of a snapshot in which one thing is another, with the right checksum."""
    values = json.loads(json.dumps(values))
    top = dice.choice([name for name in values if name != "checksum"])
    ways = [(top,), *((top, *way) for way in paths_in(values[top]))]
    arrays = [way for way in ways if isinstance(at(values, way), dict) and "dtype" in at(values, way)]
    if arrays and dice.random() < 0.5:
        way = dice.choice(arrays)
        done = f"{'.'.join(map(str, way))}: {edit_array(at(values, way), dice)}"
        return done, json.dumps(signed(values))
    done, text = (
        mutated({"values": values}, dice) if dice.random() < 0.1 else mutated_at(values, dice.choice(ways), dice)
    )
    try:
        changed = json.loads(text)
        return done, json.dumps(signed(changed.get("values", changed)))
    except (ValueError, RecursionError, AttributeError):  # nothing that has a checksum
        return done, text


def at(values: Any, way: tuple[Any, ...]) -> Any:
    """A part of values."""
    for key in way:
        values = values[key]
    return values


def signed(values: Any) -> Any:
    """With the right checksum."""
    if not isinstance(values, dict):
        return values
    return values | {"checksum": checksum({name: value for name, value in values.items() if name != "checksum"})}


def mutated_at(values: Any, way: tuple[Any, ...], dice: random.Random) -> tuple[str, str]:
    """One part is lost, another, twice, or has a stranger beside it."""
    *path, last = way
    part = at(values, tuple(path))
    how = dice.choice(("lost", "another", "another", "another", "a number", "a number", "more", "from elsewhere"))
    weird = dice.choice(WEIRD)
    if how == "lost":
        del part[last]
    elif how == "more" and isinstance(part, list):
        part.append(part[last])
    elif how == "more":
        part["stranger"] = part[last]
    elif how == "a number":
        part[last] = dice.choice((0, 1, -1, 2, 7, 1000, 2**31, 2**53, 2**62, -(2**62), 1e-300, 0.999, 1e300))
    elif how == "from elsewhere":
        part[last] = copy.deepcopy(at(values, dice.choice(list(paths_in(values)))))  # it may be around the place
    else:
        part[last] = "@@"
    return f"{'.'.join(map(str, way))}: {how} {weird[:20]}", json.dumps(values).replace('"@@"', weird)


def edit_array(saved: Any, dice: random.Random) -> str:
    """Put another number into an array, or make it one of another type."""
    if dice.random() < 0.1:
        saved["dtype"] = dice.choice(["<f4", "<i8", "<f8", "|O", "<u8", "|S8", "", "<M8[s]"])
        return saved["dtype"]
    way = "zlib" if "zlib" in saved else "base64"
    data = base64.b64decode(saved[way])
    array = np.frombuffer(zlib.decompress(data) if way == "zlib" else data, saved["dtype"]).copy()
    if not array.size:
        return "empty"
    # Most that is used is at the beginning.
    place = dice.randrange(min(array.size, dice.choice((1, 8, array.size))))
    new = dice.choice(NUMBERS)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array[place] = np.float64(new).astype(array.dtype)
    packed = zlib.compress(array.tobytes()) if way == "zlib" else array.tobytes()
    saved[way] = base64.b64encode(packed).decode()
    return f"[{place}] = {new}"


def edited(
    attack: str, policies: list[ma.Policy], is_warm: bool, folder: Path, seed: int, tries: int
) -> dict[str, object]:
    """Snapshots say something else, and are signed."""
    row = Row(attack)
    bandits = [used(policy) for policy in policies]
    snapshots = [json.loads(json.dumps(bandit.to_json())) for bandit in bandits]
    if is_warm:
        for bandit in bandits:
            bandit.warm()

    def look(number: int) -> str:
        dice = random.Random(f"{seed} {number}")
        which = number % len(policies)
        done, text = edit(snapshots[which], dice)
        path = folder / f"edited {os.getpid()}"
        path.write_text(text)

        def use() -> str:
            with soon():
                try:
                    bandit = ma.Bandit.load(path)
                except ma.SnapshotError as error:
                    return "" if str(error) else "no words"
                return wrong_use(bandit)

        wrong = outcome(use)
        return wrong and f"{policies[which].label()}, {done}: {wrong}"

    in_children(row, tries, look)
    return row.values()


def events(attack: str, is_warm: bool, folder: Path, seed: int, tries: int) -> dict[str, object]:
    """Lines of journals say something else, and are signed."""
    row = Row(attack)
    journals = []
    for place, policy in enumerate(FEW):
        path = folder / f"journal {place}"
        bandit = used(policy, path)
        bandit.close()
        journals.append(path.read_bytes().split(b"\n")[:-1])
        path.unlink()
        if is_warm:
            bandit.warm()

    def look(number: int) -> str:
        dice = random.Random(f"{seed} {number}")
        lines = list(journals[number % len(journals)])
        place = dice.randrange(1, len(lines))
        event = json.loads(lines[place].partition(b" ")[2])
        done, text = (
            mutated(event, dice) if dice.random() < 0.5 else mutated_at(event, dice.choice(list(paths_in(event))), dice)
        )
        lines[place] = b"%08x %s" % (zlib.crc32(text.encode()), text.encode())
        if dice.random() < 0.2:  # a line twice, or at another place
            lines.insert(dice.randrange(1, len(lines)), lines[place])
        path = folder / f"edited {os.getpid()}"
        path.write_bytes(b"\n".join(lines) + b"\n")

        def use() -> str:
            with soon():
                try:
                    bandit = ma.Bandit.recover(path)
                except ma.SnapshotError as error:
                    return "" if str(error) else "no words"
                try:
                    return wrong_use(bandit)
                finally:
                    bandit.close()

        wrong = outcome(use)
        return wrong and f"{event[0]} {done}: {wrong}"

    in_children(row, tries, look)
    return row.values()


# ---------------------------------------------------------------- kills, forks, signals, threads


def killed_saves(folder: Path, dice: random.Random, tries: int) -> dict[str, object]:
    """A process is killed while it saves one bandit after the other."""
    row = Row("a process is killed (SIGKILL) while it saves")
    path = folder / "saved" / "snapshot"
    path.parent.mkdir()
    bandits = [used(policy) for policy in FEW]
    whole = [plain(bandit) for bandit in bandits]
    bandits[0].save(path)
    for _ in range(tries):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                while True:
                    for bandit in bandits:
                        bandit.save(path)
            os._exit(1)
        time.sleep(dice.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

        def look() -> str:
            with soon():
                found = plain(ma.Bandit.load(path))
                bandits[0].save(path)
            if found not in whole:
                return "another bandit"
            return "" if os.listdir(path.parent) == [path.name] else f"left behind: {os.listdir(path.parent)}"

        row.note(outcome(look))
    return row.values()


def killed_journals(folder: Path, dice: random.Random, tries: int) -> dict[str, object]:
    """A process is killed while it writes a journal; its twin goes on from a copy."""
    row = Row("a process is killed (SIGKILL) while it plays with a journal")
    each = 10
    for number in range(max(1, tries // each)):
        place = folder / f"killed {number}"
        place.mkdir()
        policy = FEW[number % 2]  # the scratch of a Forager is not followed, and may say the same otherwise

        def look(place: Path = place, policy: ma.Policy = policy) -> str:
            check_kills(place, policy, each, seed=dice.randrange(2**32))
            return ""

        wrong = outcome(look)
        for _ in range(each):
            row.note(wrong)
    return row.values()


def forks(dice: random.Random, tries: int) -> dict[str, object]:
    """A process is forked while a thread is in the middle of a call."""
    row = Row("a process is forked while a thread is inside a bandit")
    for policy in FEW:
        bandit, twin = (ma.Bandit(policy, 3, items=range(12)) for _ in range(2))
        is_over = threading.Event()
        found: list[Any] = []

        def play(bandit: ma.Bandit = bandit, found: list[Any] = found, is_over: threading.Event = is_over) -> None:
            while not is_over.is_set():
                decision = bandit.ask()
                found.append(decision.key)
                bandit.tell(decision, float(decision.number % 3 == 0))

        thread = threading.Thread(target=play)
        thread.start()
        said = []
        for _ in range(max(1, tries // len(FEW))):
            time.sleep(dice.uniform(0.0, 0.005))
            said.append(in_child(lambda bandit=bandit: [bandit.ask().id, bandit.explain()["asked"]]))
        is_over.set()
        thread.join()
        expected = []
        for _ in found:
            decision = twin.ask()
            expected.append(decision.key)
            twin.tell(decision, float(decision.number % 3 == 0))
        tag = bandit.ask().id.partition("-")[0]
        for one in said:
            is_right = isinstance(one, list) and not one[0].startswith(tag)
            is_said = isinstance(one, str) and "forked in the middle of a call" in one
            wrong = "" if is_right or is_said else f"the child: {one}"
            row.note(wrong or ("the parent decides otherwise" if found != expected else ""))
    return row.values()


def interrupted(act: Callable[[], Any], dice: random.Random) -> bool:
    """Call something, and let a signal come some time after it is begun; whether it came before the call was over."""
    came: list[int] = []
    is_done = False

    def raising(number: int, _frame: object) -> None:
        came.append(number)
        raise Interrupt

    before = signal.signal(signal.SIGALRM, raising)
    try:
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-6, 2e-4))
        act()
        is_done = True
        while not came:
            pass
    except Interrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return not is_done


def signals(folder: Path, dice: random.Random, tries: int) -> dict[str, object]:
    """Signals come in the middle of asks and tells, as Ctrl-C does: each is done or not, and asked for again."""
    row = Row("a signal, as of Ctrl-C, comes inside of ask or tell")
    for place, policy in enumerate(FEW):
        path = folder / f"interrupted {place}"
        bandit, twin = ma.Bandit(policy, 3, items=range(12), journal=path), ma.Bandit(policy, 3, items=range(12))
        while row.tries < tries * (place + 1) / len(FEW):

            def look(bandit: ma.Bandit = bandit, twin: ma.Bandit = twin) -> str:
                number, came = bandit.asked + 1, 0
                while bandit.asked < number:
                    came += interrupted(bandit.ask, dice)
                newest = bandit._open.newest
                expected = twin.ask()
                if newest is None or (newest.key, newest.choice.round) != (expected.key, expected.number):
                    return "another decision"
                (identity,) = bandit.open_decisions
                reward = float(number % 3 == 0)
                while bandit.open_decisions:
                    came += interrupted(lambda: bandit.tell(identity, reward), dice)
                twin.tell(expected, reward)
                for _ in range(came - 1):
                    row.note()
                return "" if bandit.told == twin.told else "told twice"

            row.note(outcome(look))
        bandit.close()

        def compare(path: Path = path, bandit: ma.Bandit = bandit, twin: ma.Bandit = twin) -> str:
            same = plain(ma.Bandit.recover(path)) == plain(bandit) == plain(twin)
            return "" if same else "the journal or the twin says something else"

        row.note(outcome(compare))
    return row.values()


def threads(folder: Path, tries: int) -> dict[str, object]:
    """Threads ask, tell and save to the same file at the same time."""
    row = Row("8 threads ask, tell, and save to one file at the same time")
    for number in range(tries):
        place = folder / f"threads {number}"
        place.mkdir()
        bandit = ma.Bandit(FEW[number % len(FEW)], 3, items=range(12), journal=place / "journal")
        failed: list[str] = []

        def work(bandit: ma.Bandit = bandit, place: Path = place, failed: list[str] = failed) -> None:
            try:
                for _ in range(15):
                    bandit.tell(bandit.ask(), 1.0)
                    told = bandit.told
                    bandit.save(place / "snapshot")
                    if ma.Bandit.load(place / "snapshot").told < told:
                        raise ArithmeticError("an older snapshot took the place of a newer one")
            except Exception as error:
                failed.append(f"{type(error).__name__}: {error}")

        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

        def look(bandit: ma.Bandit = bandit, place: Path = place, failed: list[str] = failed) -> str:
            if failed:
                return failed[0]
            if (bandit.asked, bandit.told) != (120, 120):
                return f"{bandit.asked} asked, {bandit.told} told"
            bandit.close()
            if plain(ma.Bandit.recover(place / "journal")) != plain(bandit):
                return "the journal says something else"
            left = sorted(os.listdir(place))
            return "" if left == ["journal", "snapshot"] else f"left behind: {left}"

        row.note(outcome(look))
    return row.values()


# ---------------------------------------------------------------- files


def names(folder: Path) -> dict[str, object]:
    """The longest names, links, and rights."""
    row = Row("files have the longest names, lie behind links, and are not for everybody")
    place = folder / "names"
    place.mkdir()
    bandit = used(FEW[0])
    whole = plain(bandit)
    longest = ["a" * size for size in (1, 199, 200, 201, 230, 254, LONGEST_NAME)]
    longest += [
        "é" * (LONGEST_NAME // 2),
        "€" * (LONGEST_NAME // 3),
        "😀" * 63,
        "ab€" * 51,
        " ",
        "-",
        "a\nb",
        "*",
        "%s{}",
    ]
    for name in longest:
        row.note(outcome(lambda name=name: wrong_file(bandit, place / name, whole)))
        row.note(outcome(lambda name=name: wrong_journal(place / name)))
        (place / name).unlink(missing_ok=True)
    for mode in (0o600, 0o640, 0o644, 0o666, 0o400):
        path = place / "rights"
        path.write_text("")
        path.chmod(mode)
        wrong = outcome(lambda: wrong_file(bandit, place / "rights", whole))
        row.note(wrong or ("" if path.stat().st_mode & 0o777 == mode else "other rights"))
        path.unlink()
    target, link, chain, nowhere, ring = (place / name for name in ("target", "link", "chain", "nowhere", "ring"))
    link.symlink_to(target)
    chain.symlink_to(link)
    nowhere.symlink_to(place / "not there")
    ring.symlink_to(ring)
    for path in (link, chain, nowhere):
        wrong = outcome(lambda path=path: wrong_file(bandit, path, whole))
        row.note(wrong or ("" if path.is_symlink() else "the link is gone"))
    row.note(outcome(lambda: wrong_file(bandit, ring, whole)))  # which leads nowhere: it gives way to the file
    for path in (place / ("a" * (LONGEST_NAME + 1)), place / "no folder" / "file", place):
        row.note(outcome(lambda path=path: refused(bandit, path)))
    left = [name for name in os.listdir(place) if name.endswith(".tmp")]
    row.note(f"left behind: {left}" if left else "")
    return row.values()


def wrong_file(bandit: ma.Bandit, path: Path, whole: str) -> str:
    """What is wrong with a snapshot that is saved there, and saved again."""
    for _ in range(2):
        bandit.save(path)
        if plain(ma.Bandit.load(path)) != whole:
            return "another bandit"
    return ""


def wrong_journal(path: Path) -> str:
    """What is wrong with a journal there."""
    path.unlink(missing_ok=True)
    bandit = ma.Bandit(FEW[0], 3, items=range(5), journal=path)
    bandit.tell(bandit.ask(), 1.0)
    bandit.close()
    recovered = ma.Bandit.recover(path)
    recovered.close()
    return "" if plain(recovered) == plain(bandit) else "another bandit"


def refused(bandit: ma.Bandit, path: Path) -> str:
    """What is wrong with the error for a place where nothing can be saved."""
    with soon():
        try:
            bandit.save(path)
        except OSError as error:
            return "" if path.name[:200] in str(error) else f"not named: {error}"
    return "nothing was said"


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
