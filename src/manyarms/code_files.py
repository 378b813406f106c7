"""Compiled code on disk: one file for each function and set of argument types, which begins with a digest of the rest.

Code that is not as it was written may do anything when it is run, and so may a damaged pickle when it is read. So
nothing of a file is used before its digest is right. A file that is damaged counts as none: the function is
compiled anew, and its code takes the file's place. Each file is written all at once, and none lists others: processes
that share a folder need no lock.
"""

import hashlib
import pickle
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .atomic import at_once

DIGEST_SIZE = hashlib.sha256().digest_size

_SAID: set[str] = set()
"""Complaints of this process: each kind is made once."""


class CodeFiles:
    """The code of one function, by the types of its arguments.

    Parameters
    ----------
    folder
        Where the files are.
    name
        That of the function, unlike all others in the folder.
    made_by
        What compiled code depends on besides its source: of another version, nothing is even read.
    dumps
        Makes bytes of code, for pickle to read.
    """

    def __init__(self, folder: Path, name: str, made_by: tuple[str, ...], dumps: Callable[[Any], bytes]) -> None:
        self.folder = folder
        self.name = name
        self.made_by = made_by
        self.dumps = dumps

    def path(self, types: Any) -> Path:
        """The file for arguments of these types."""
        digest = hashlib.sha256("\n".join([*self.made_by, repr(types)]).encode()).hexdigest()
        return self.folder / f"{self.name}-{digest[:32]}.code"

    def load(self, types: Any, rebuild: Callable[[Any], Any]) -> Any:
        """What ``rebuild`` makes of the code for these types; None if there is none, or none that can be used."""
        path = self.path(types)
        try:
            if not stat.S_ISREG(path.stat().st_mode):  # to read a pipe is to wait
                raise ValueError("it is no file")
            data = memoryview(path.read_bytes())
            if hashlib.sha256(data[DIGEST_SIZE:]).digest() != data[:DIGEST_SIZE]:
                raise ValueError("its checksum is wrong")
            found, code = pickle.loads(data[DIGEST_SIZE:])
            # Types of different modules may look alike in writing.
            return rebuild(code) if found == types else None
        except FileNotFoundError:
            return None
        except Exception as error:
            complain(
                f"the compile cache holds a damaged file, {path} ({error}). What was in it is compiled anew and "
                f"written again; if this comes again, delete {self.folder} and check the disk"
            )
            return None

    def save(self, types: Any, code: Any) -> None:
        """Keep the code for these types, if that can be done."""
        try:
            path, body = self.path(types), self.dumps((types, code))
            if path.exists() and not path.is_file():  # it is our folder: what is no file there is in the way
                path.unlink()
            with at_once(path) as temporary:
                temporary.write_bytes(hashlib.sha256(body).digest() + body)
        except Exception as error:
            complain(
                f"the compile cache {self.folder} cannot be written ({error}); what is compiled now will be compiled "
                "again by the next process. Make room there, or set MANYARMS_CACHE_DIR to a folder of your own"
            )


def complain(words: str) -> None:
    """Warn, once for each kind of complaint."""
    kind = words[:30]
    if kind not in _SAID:
        _SAID.add(kind)
        warnings.warn(words, RuntimeWarning, stacklevel=2)
