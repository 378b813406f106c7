"""Damage to the compile cache, python -m verification.attacks.cache: no process ends by it, and numbers are right.

Each try has a copy of a cache that was filled before, to which something is done, and a process of its own that plays
with it, and says that something is wrong. Some play once more, to see that it was put right.

``--size 1`` is 130 files with a flipped bit; ``--seed`` says which.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .changes import cut, flipped
from .rows import Row, main, scaled

PLAY = """
import warnings
import manyarms as ma
warnings.simplefilter("always")
world = ma.World(ma.Uniform(), noise=ma.Exact())
print(ma.simulate(ma.UniformPlay(), world, 100, seed=1).final_regret("UniformPlay")[0].hex())
"""

TOO_LONG = 600.0
"""Seconds after which a process counts as hung; to compile anew takes ten, but more where the machine is busy."""

WORKERS = 4
"""Processes that fill one cache at the same time."""


def overwrite(data: bytes, dice: random.Random) -> bytes:
    """A page of it holds anything."""
    place = dice.randrange(len(data))
    return (data[:place] + dice.randbytes(4096) + data[place + 4096 :])[: len(data)]


def emptied(_data: bytes, _dice: random.Random) -> bytes:
    """Nothing is left."""
    return b""


Damage = Callable[[bytes, random.Random], bytes]

DAMAGES: dict[str, tuple[int, Damage]] = {
    "a bit of a file of the compile cache is flipped": (130, flipped),
    "a file of the compile cache is cut": (10, cut),
    "a file of the compile cache is empty": (2, emptied),
    "a page of a file of the compile cache is overwritten": (10, overwrite),
}


def begun(cache: Path, play: str = PLAY) -> subprocess.Popen[str]:
    """A process that plays, with this cache."""
    settings = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    return subprocess.Popen(
        [sys.executable, "-c", play],
        env=settings | {"MANYARMS_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wrong_with(process: subprocess.Popen[str], numbers: str, complaint: str | None = "") -> str:
    """What was wrong with a process that should have played to these numbers, and have complained so, once.

    With an empty complaint it should not have complained at all, and with None as it liked.
    """
    try:
        said, warned = process.communicate(timeout=TOO_LONG)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "hung"
    if process.returncode != 0:
        last = warned.strip().rpartition("\n")[2]
        return f"exit code {process.returncode} {last:.80}".strip()
    if said != numbers:
        return "other numbers"
    if complaint is None:
        return ""
    found = warned.count("RuntimeWarning: ")
    is_right = found == 1 and complaint in warned if complaint else not warned
    return "" if is_right else f"{found} warnings, not {complaint!r}: {warned:.200}"


def code_file(cache: Path) -> Path:
    """The one file of a cache."""
    (path,) = cache.rglob("*.code")
    return path


def tried(copy: Path, numbers: str, complaint: str, is_mended: bool) -> str:
    """Play with a damaged copy, once, or again to see that it was mended; what was wrong."""
    wrong = wrong_with(begun(copy), numbers, complaint)
    if is_mended and not wrong:
        wrong = wrong_with(begun(copy), numbers)
    return wrong


class Attacked:
    """Caches: a whole one, that of other types, and copies to which something is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.whole, self.other = folder / "whole", folder / "other"
        self.numbers, warned = begun(self.whole).communicate()
        if not self.numbers:
            raise RuntimeError(f"nothing can be played here, with a whole cache: {warned}")
        begun(self.other, PLAY.replace("Exact", "Bernoulli")).communicate()
        self.copies = 0

    def copy(self) -> Path:
        """One more."""
        self.copies += 1
        copy = self.folder / f"copy {self.copies}"
        shutil.copytree(self.whole, copy)
        return copy

    def damages(self, dice: random.Random, size: float) -> Iterator[dict[str, object]]:
        """Bytes are others."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for attack, (tries, change) in DAMAGES.items():
                row = Row(attack)
                copies = [self.copy() for _ in range(scaled(tries, size))]
                for path in map(code_file, copies):
                    path.write_bytes(change(path.read_bytes(), dice))
                again = [number % 10 == 0 for number in range(len(copies))]
                many = [self.numbers] * len(copies), ["holds a damaged file"] * len(copies)
                for wrong in pool.map(tried, copies, *many, again):
                    row.note(wrong)
                yield row.values()

    def others(self) -> dict[str, object]:
        """Something else stands where a file is: one for other types, a folder, a pipe."""
        row = Row("a file for other types, a folder or a pipe is in place of a file of the compile cache")
        copy = self.copy()
        shutil.copyfile(code_file(self.other), code_file(copy))
        row.note(tried(copy, self.numbers, "", is_mended=True))
        for make in (Path.mkdir, os.mkfifo):
            copy = self.copy()
            path = code_file(copy)
            path.unlink()
            make(path)
            # A pipe is replaced by a file, a folder is not.
            wrong = "cannot be written" if make is Path.mkdir else "holds a damaged file"
            row.note(tried(copy, self.numbers, wrong, is_mended=make is os.mkfifo))
        return row.values()

    def unusable(self) -> dict[str, object]:
        """The folder cannot be read or written, or is none."""
        row = Row("the folder of the compile cache cannot be read or written, or is none")
        for mode in (0o000, 0o500, 0o300):  # which do not hinder an administrator
            copy = self.copy()
            inside = code_file(copy).parent
            inside.chmod(mode)
            row.note(wrong_with(begun(copy), self.numbers, complaint=None))
            inside.chmod(0o700)
        no_folder, nowhere = self.folder / "a file", self.folder / "a link to nowhere"
        no_folder.write_text("not a folder")
        nowhere.symlink_to(self.folder / "nowhere" / "at all")
        for place in (no_folder, nowhere):
            row.note(wrong_with(begun(place), self.numbers, complaint=None))
        return row.values()

    def shared(self, tries: int) -> dict[str, object]:
        """Processes fill one cache at the same time."""
        row = Row(f"{WORKERS} processes fill one compile cache at the same time")
        for number in range(tries):
            shared = self.folder / f"shared {number}"
            for process in [begun(shared) for _ in range(WORKERS)]:
                row.note(wrong_with(process, self.numbers))
            row.note(wrong_with(begun(shared), self.numbers))
        return row.values()


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """Damage files, put others in their place, and let processes fill one cache at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        attacked = Attacked(Path(folder))
        yield from attacked.damages(random.Random(seed), size)
        yield attacked.others()
        yield attacked.unusable()
        yield attacked.shared(scaled(3, size))


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
