"""Damage to the compile cache: no process ends by it, and numbers are right.

Each try has a copy of a cache that was filled before, one of whose files is damaged, and a process of its own that
plays with it. ``python -m verification.attacks.cache --size 0.1``
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

from .rows import Row, main, scaled

PLAY = """
import warnings
import manyarms as ma
warnings.simplefilter("always")
world = ma.World(ma.Uniform(), noise=ma.Exact())
print(ma.simulate(ma.UniformPlay(), world, 100, seed=1).final_regret("UniformPlay")[0].hex())
"""

WORKERS = 4
"""Processes that fill one cache at the same time."""


def flip(data: bytes, dice: random.Random) -> bytes:
    """One bit is another."""
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]


def cut(data: bytes, dice: random.Random) -> bytes:
    """The end is missing."""
    return data[: dice.randrange(len(data))]


def overwrite(data: bytes, dice: random.Random) -> bytes:
    """A page of it holds anything."""
    place = dice.randrange(len(data))
    return (data[:place] + dice.randbytes(4096) + data[place + 4096 :])[: len(data)]


DAMAGES: dict[str, tuple[int, Callable[[bytes, random.Random], bytes]]] = {
    "a bit of a file of the compile cache is flipped": (130, flip),
    "a file of the compile cache is cut": (10, cut),
    "a page of a file of the compile cache is overwritten": (10, overwrite),
}


def begun(cache: Path) -> subprocess.Popen[str]:
    """A process that plays, with this cache."""
    settings = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    return subprocess.Popen(
        [sys.executable, "-c", PLAY],
        env=settings | {"MANYARMS_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str], numbers: str, complaints: int) -> str:
    """What was wrong with a process that should have played to these numbers; nothing if all was right."""
    said, warned = process.communicate()
    if process.returncode != 0:
        last = warned.strip().rpartition("\n")[2]
        return f"exit code {process.returncode} {last:.80}".strip()
    if said != numbers:
        return "other numbers"
    found = warned.count("holds a damaged file")
    return "" if found == complaints else f"{found} warnings in place of {complaints}"


def damaged(cache: Path, change: Callable[[bytes, random.Random], bytes], dice: random.Random) -> None:
    """Damage one file."""
    path = dice.choice(sorted(found for found in cache.rglob("*") if found.is_file()))
    path.write_bytes(change(path.read_bytes(), dice))


def tried(copy: Path, numbers: str, is_mended: bool) -> str:
    """Play with a damaged copy, once, or again to see that it was mended; what was wrong."""
    wrong = outcome(begun(copy), numbers, complaints=1)
    if is_mended and not wrong:
        wrong = outcome(begun(copy), numbers, complaints=0)
    shutil.rmtree(copy)
    return wrong


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """Damage files, and let processes fill one cache at the same time."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        whole = Path(folder, "whole")
        numbers, warned = begun(whole).communicate()
        if not numbers:
            raise RuntimeError(f"nothing can be played here, with a whole cache: {warned}")
        for attack, (tries, change) in DAMAGES.items():
            row = Row(attack)
            copies = [Path(folder, f"copy {number}") for number in range(scaled(tries, size))]
            for copy in copies:
                shutil.copytree(whole, copy)
                damaged(copy, change, dice)
            again = [number % 10 == 0 for number in range(len(copies))]
            for wrong in pool.map(tried, copies, [numbers] * len(copies), again):
                row.note(wrong)
            yield row.values()
        row = Row(f"{WORKERS} processes fill one compile cache at the same time")
        for number in range(scaled(3, size)):
            shared = Path(folder, f"shared {number}")
            for process in [begun(shared) for _ in range(WORKERS)]:
                row.note(outcome(process, numbers, complaints=0))
            row.note(outcome(begun(shared), numbers, complaints=0))
        yield row.values()


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
