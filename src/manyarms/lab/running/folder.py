"""The folder of a study: where its files lie, which of them can be kept, and what is missing.

``study.json`` is the study, ``cells/`` has a result file for each cell, and ``parts-DIGEST/`` the chunks of cells that
are not complete. ``cells-DIGEST/`` and ``study-DIGEST.json`` are of another study of the same name.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from ...atomic import check_plain
from ..studies.study import Study
from .chunks import Chunk, chunk_size, chunks_of, is_ours
from .contents import BadFile, contents_of
from .costs import seconds_of
from .files import STUDY, CellResult, aside, digest_said, read_json, read_own, sources_of, study_digest_of


def slug(text: str) -> str:
    """A text as part of a file's name: its first 80 characters that can be.

    Examples
    --------
    >>> slug("beta 0.5, rotting")
    'beta-0.5-rotting'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:80] or "x"


def check_path(folder: Path) -> None:
    """Raise if a folder has a name that is not UTF-8, here or above: what writes Parquet files takes no other."""
    try:
        os.path.realpath(folder).encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"the name of the folder {os.path.realpath(folder)!r} is not UTF-8, so no results can be written there; "
            "rename it, or give another one"
        ) from None


def _is_undamaged(path: Path) -> bool:
    """Whether a result file is what was written."""
    try:
        contents_of(path)
    except BadFile:
        return False
    return True


class Folder:
    """Where the files of one study lie."""

    def __init__(self, study: Study, root: Path, device: str = "cpu") -> None:
        check_path(root)
        self.study = study
        self.device = device  # chunks for a GPU are larger
        self.path = root / study.name
        self.cells = self.path / "cells"
        self.parts = self.path / f"parts-{study.digest()}"
        self.unusable: dict[str, list[Path]] = {}  # by reason, files that are there but cannot be kept

    def result(self, index: int) -> Path:
        """The result file of a cell. The number alone makes its name unlike the others; the rest is for people."""
        cell = self.study.cells[index]
        return self.cells / f"{index:04d}-{slug(cell.policy_name)}-{slug(cell.world_name)}-T{cell.horizon}.parquet"

    def results(self) -> list[Path]:
        """The result files of all cells."""
        return [self.result(index) for index in range(len(self.study.cells))]

    def part(self, chunk: Chunk) -> Path:
        """The file of a chunk, until its cell is complete."""
        return self.parts / f"{chunk.index:04d}-{chunk.first}-{chunk.last}.parquet"

    def chunks_there(self) -> Iterator[Chunk]:
        """The chunks that have a file, whatever it holds. Asking for each chunk of a study could take for ever."""
        for path in sorted(self.parts.glob("*.parquet")):
            named = re.fullmatch(r"(\d+)-(\d+)-(\d+)\.parquet", path.name)
            if named:
                yield Chunk(*map(int, named.groups()))

    def has(self, path: Path, chunk: Chunk) -> bool:
        """Whether a file holds what this study and these sources would make of a chunk; if not, why is noted."""
        if not path.exists():
            return False
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no plain file"
            raise OSError(f"{path} is {what}, and a result file belongs there; move it away")
        try:
            reason = self._why_unusable(read_own(path, self.study), chunk)
        except BadFile as error:
            reason = str(error)
        if reason:
            self.unusable.setdefault(reason, []).append(path)
        return not reason

    def _why_unusable(self, found: CellResult, chunk: Chunk) -> str:
        if found.sources != sources_of(self.study.cells[chunk.index]):
            return f"of other sources (manyarms {found.version})"
        if found.index != chunk.index:
            return "of another cell"
        if (found.index, found.first, found.first + len(found.values)) != (chunk.index, chunk.first, chunk.last):
            return "of other replications"
        return ""

    @contextlib.contextmanager
    def for_this_run_alone(self) -> Iterator[None]:
        """Refuse if another run is at work in this folder."""
        self.cells.mkdir(parents=True, exist_ok=True)
        lock_file = self.path / ".lock"
        check_plain(lock_file)
        with open(lock_file, "w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given back when the process ends, however
                except BlockingIOError:
                    raise RuntimeError(
                        f"another run is at work in {self.path}; wait for it or choose another folder"
                    ) from None
            yield

    def remove_leftovers(self) -> None:
        """Drop what runs that were killed have left half written. Only for who holds the lock: nobody else writes."""
        for pattern in ("cells/.*.parquet.*.tmp", "parts-*/.*.parquet.*.tmp", f".{STUDY}.*.tmp"):
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)

    def set_others_aside(self) -> None:
        """Another study of this name and its results get names of their own; those of this one come back."""
        digest = self.study.digest()
        before = self._set_study_aside()  # first: its results are never without it
        found = {path: study_digest_of(path) for path in sorted(self.cells.glob("*.parquet"))}
        if before and before not in found.values() and digest in found.values():
            reason = (
                f"{self.path / STUDY} is damaged: no result beside it is of that study; set aside as {aside(before)}"
            )
            self.unusable.setdefault(reason, []).append(self.path / STUDY)
        for path, other in found.items():
            if other not in (digest, None) and _is_undamaged(path):
                there = self.path / f"cells-{other}"
                there.mkdir(exist_ok=True)
                path.replace(there / path.name)
                self.unusable.setdefault(f"of another study; set aside in {there}", []).append(path)
        if (self.path / aside(digest)).exists():
            (self.path / aside(digest)).replace(self.path / STUDY)
        for path in (self.path / f"cells-{digest}").glob("*.parquet"):
            path.replace(self.cells / path.name)

    def _set_study_aside(self) -> str | None:
        """The digest of a study that stands where this one belongs, and gets a name of its own; None if none does."""
        path = self.path / STUDY
        other = digest_said(read_json(path))
        if other is None and path.exists():
            self.unusable.setdefault(f"{path} is damaged: it describes no study", []).append(path)
        if other in (self.study.digest(), None):
            return None
        path.replace(self.path / aside(other))
        return other

    def remove_all(self) -> None:
        """Forget what earlier runs of this study have left."""
        self.remove_parts()
        for path in self.results():
            path.unlink(missing_ok=True)

    def remove_parts(self) -> None:
        """Drop the chunks."""
        shutil.rmtree(self.parts, ignore_errors=True)

    def warn_of_unusable(self) -> None:
        """One warning for each reason, that names a file."""
        for reason, paths in self.unusable.items():
            if reason.startswith("of "):
                more = f" and {len(paths) - 1} more files are" if len(paths) > 1 else " is"
                reason = f"{paths[0]}{more} {reason}"
            warnings.warn(f"{reason}; made anew", stacklevel=3)
        self.unusable.clear()

    def missing(self, resume: bool = True) -> "Missing":
        """What there is to do, given what the files hold; or all there is, if it is to be done from nothing."""
        cells = range(len(self.study.cells))
        if not resume:
            return Missing(self.study, self.device, {index: set() for index in cells})
        kept: dict[int, set[Chunk]] = {
            index: set()
            for index in cells
            if not self.has(self.result(index), Chunk(index, 0, self.study.replications))
        }
        for chunk in self.chunks_there():
            if chunk.index in kept and is_ours(self.study, chunk, self.device) and self.has(self.part(chunk), chunk):
                kept[chunk.index].add(chunk)
        return Missing(self.study, self.device, kept)


@dataclasses.dataclass(frozen=True)
class Missing:
    """What no file holds. Its chunks are never listed: there may be more of them than fit in memory."""

    study: Study
    device: str
    kept: dict[int, set[Chunk]]  # by cell without a result file, the chunks that are there

    def chunks(self) -> Iterator[Chunk]:
        """What is to be played, in the order of the cells."""
        for index, kept in self.kept.items():
            yield from (chunk for chunk in chunks_of(self.study, index, self.device) if chunk not in kept)

    def chunks_left(self) -> dict[int, int]:
        """How many chunks each cell without a result file lacks."""
        return {
            index: -(-self.study.replications // chunk_size(self.study, index, self.device)) - len(kept)
            for index, kept in self.kept.items()
        }

    def rounds(self) -> int:
        """How many rounds there are to play."""
        return sum(
            Chunk(index, 0, self.study.replications).rounds(self.study)
            - sum(chunk.rounds(self.study) for chunk in kept)
            for index, kept in self.kept.items()
        )

    def seconds(self) -> float:
        """How long they take one core, roughly, once all is compiled."""
        total = 0.0
        for index, kept in self.kept.items():
            cell = self.study.cells[index]
            played = sum(chunk.last - chunk.first for chunk in kept)
            total += (self.study.replications - played) * seconds_of(cell.policy, cell.world, cell.horizon)
        return total
