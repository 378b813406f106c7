"""Snapshots: a state as JSON text and back, to the bit. Never pickle.

A state is written field by field: numbers as numbers (floats survive JSON exactly; 64-bit
words and what JSON has no number for as text), arrays with their type and their bytes in
base64 (large ones compressed), states inside states as objects. It is read back into a freshly started state of the
same spec, which says what every field must be; anything else is an error.

Around the state of its policy, the snapshot of a bandit has a format, a version, the package that wrote it and a
checksum. The version grows when states get other fields. Snapshots of earlier versions are read, as far as their
fields go, back to OLDEST_READ; older ones are refused.
"""

import base64
import hashlib
import json
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .states import folded, names_of, rebuilt
from .version import __version__

LARGE = 4096
"""Arrays of more bytes are compressed: most of a large one is empty."""

FORMAT = "manyarms.bandit"
VERSION = 6
OLDEST_READ = 2

RETIRED = {"Forager": "first_look"}
"""Policies whose rule is another now, each with a setting that only the old rule had."""


class SnapshotError(ValueError):
    """A snapshot that cannot be read."""


def sealed(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a bandit, with the format, the version and a checksum."""
    values = {"format": FORMAT, "version": VERSION, "package": __version__} | values
    return values | {"checksum": checksum(values)}


def check_version(values: Any) -> None:
    """Refuse what this package cannot read, with what to do about it."""
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise SnapshotError(f"not a bandit's snapshot: its format is not {FORMAT!r}")
    version, package = values.get("version"), values.get("package")
    if isinstance(version, bool) or version not in range(OLDEST_READ, VERSION + 1):
        raise SnapshotError(
            f"the snapshot has version {version!r}, this package reads {OLDEST_READ} to {VERSION}; it was written by "
            f"manyarms {package}, and the states of policies have other fields here. Load it with manyarms {package}, "
            "or start a new bandit and tell it the past again"
        )


def check_rule(values: dict[str, Any]) -> None:
    """Refuse the state of a policy whose rule is another now, with what to do about it."""
    policy = values.get("policy")
    if not isinstance(policy, dict):
        return
    name = policy.get("type")
    if isinstance(name, str) and RETIRED.get(name) in policy:
        raise SnapshotError(
            f"the snapshot is of an earlier {name}, written by manyarms {values.get('package')}, with another rule: "
            f"what {name} believes of its arms now is not in it, and cannot be told from what is. Load it with the "
            "package that wrote it, or start a new bandit and tell it the past again"
        )


def check_seal(values: dict[str, Any]) -> None:
    """Refuse what is not as it was written."""
    if values["checksum"] != checksum({key: value for key, value in values.items() if key != "checksum"}):
        raise SnapshotError("checksum: the snapshot was changed or damaged after it was written")


def checksum(values: dict[str, Any]) -> str:
    """A digest of JSON values that changes with any of them."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def rows_from_json(values: Any, where: str, width: int) -> list[list[Any]]:
    """A list of lists of that width."""
    if not isinstance(values, list):
        raise SnapshotError(f"{where}: expected a list, not {values!r:.60}")
    for place, entry in enumerate(values):
        if not isinstance(entry, (list, tuple)) or len(entry) != width:
            raise SnapshotError(f"{where}[{place}]: expected {width} values, not {entry!r:.60}")
    return values


def state_to_json(state: Any) -> Any:
    """A state, or one field of it, as plain JSON values."""
    return folded(state, _leaf_to_json, lambda state, parts: parts)


def _leaf_to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        data, way = little.tobytes(), "base64"
        if len(data) > LARGE:
            data, way = zlib.compress(data, level=1), "zlib"
        return {
            "dtype": little.dtype.str,
            "shape": list(value.shape),
            way: base64.b64encode(data).decode("ascii"),
        }
    if isinstance(value, np.uint64):
        return f"{int(value):#x}"
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    raise TypeError(f"a state holds a {type(value).__name__}, which a snapshot cannot keep: {value!r}")


def state_from_json(saved: Any, pattern: Any, where: str = "state") -> Any:
    """The saved state, checked against one of the same spec."""
    if isinstance(pattern, tuple):
        names = names_of(pattern)
        if not isinstance(saved, dict) or set(saved) != set(names):
            raise SnapshotError(f"{where}: expected the fields {', '.join(names)}, not {saved!r:.60}")
        parts = zip(names, pattern, strict=True)
        return rebuilt(pattern, {name: state_from_json(saved[name], part, f"{where}.{name}") for name, part in parts})
    return _leaf_from_json(saved, pattern, where)


def with_fields_of(saved: Any, pattern: Any) -> Any:
    """The saved state of an earlier version, with the fields of the pattern, from which new ones are taken.

    Examples
    --------
    >>> from manyarms.contract import Counts
    >>> with_fields_of({"blocks": 3, "tried": 8}, Counts(restarts=0, blocks=0, arms=0, ignored=0))
    {'restarts': 0, 'blocks': 3, 'arms': 0, 'ignored': 0}
    """
    if not isinstance(pattern, tuple) or not isinstance(saved, dict):
        return saved
    return {
        name: with_fields_of(saved[name], part) if name in saved else state_to_json(part)
        for name, part in zip(names_of(pattern), pattern, strict=True)
    }


def _leaf_from_json(saved: Any, pattern: Any, where: str) -> Any:
    if isinstance(pattern, np.ndarray):
        return _array_from_json(saved, pattern, where)
    if isinstance(pattern, np.uint64):
        return np.uint64(word_from_json(saved, where))
    if isinstance(pattern, (bool, np.bool_)):
        if not isinstance(saved, bool):
            raise SnapshotError(f"{where}: expected true or false, not {saved!r:.60}")
        return saved
    if isinstance(pattern, (int, np.integer)):
        if isinstance(saved, str):  # an unsigned word of an array, kept in a field for whole numbers
            return word_from_json(saved, where)
        if isinstance(saved, bool) or not isinstance(saved, int) or not -(2**63) <= saved < 2**63:
            raise SnapshotError(f"{where}: expected a whole number of 64 bits, not {saved!r:.60}")
        return saved
    if saved in ("inf", "-inf", "nan"):
        return float(saved)
    if isinstance(saved, bool) or not isinstance(saved, (int, float)):
        raise SnapshotError(f"{where}: expected a number, not {saved!r:.60}")
    return float(saved)


def word_from_json(saved: Any, where: str) -> int:
    """A 64-bit word that was written in hexadecimal, or as a plain whole number."""
    try:
        word = int(saved, 16) if isinstance(saved, str) else saved
    except ValueError:
        word = None
    if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word < 2**64:
        raise SnapshotError(f"{where}: expected a 64-bit word such as '0x2a', not {saved!r:.60}")
    return word


def unpacked(data: bytes, size: int) -> bytes:
    """Compressed bytes, which are so many: not more, whatever a damaged file says."""
    reader = zlib.decompressobj()
    found = reader.decompress(data, size + 1)
    if len(found) != size or reader.unconsumed_tail:
        raise ValueError(f"it should have {size} bytes")
    return found


def _array_from_json(saved: Any, pattern: NDArray[Any], where: str) -> NDArray[Any]:
    is_large = isinstance(saved, dict) and "zlib" in saved
    if not isinstance(saved, dict) or set(saved) != {"dtype", "shape", "zlib" if is_large else "base64"}:
        raise SnapshotError(f"{where}: expected an array with dtype, shape and base64, not {saved!r:.60}")
    if saved["dtype"] != pattern.dtype.newbyteorder("<").str:
        raise SnapshotError(f"{where}: expected numbers of type {pattern.dtype.str}, not {saved['dtype']!r:.60}")
    try:
        data = base64.b64decode(saved["zlib" if is_large else "base64"], validate=True)
        if is_large:
            data = unpacked(data, pattern.nbytes)
        values = np.frombuffer(data, dtype=saved["dtype"]).reshape(saved["shape"])
    except (TypeError, ValueError, zlib.error) as error:
        raise SnapshotError(f"{where}: the array cannot be read ({error})") from None
    if values.shape != pattern.shape:
        raise SnapshotError(f"{where}: expected an array of shape {pattern.shape}, not {values.shape}")
    copy = values.astype(pattern.dtype)
    copy.flags.writeable = pattern.flags.writeable
    return copy
