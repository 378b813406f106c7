"""Snapshots: a state as JSON text and back, to the bit. Never pickle.

A state is written field by field: numbers as numbers (floats survive JSON exactly; 64-bit
words and what JSON has no number for as text), arrays with their type and their bytes in
base64, states inside states as objects. It is read back into a freshly started state of the
same spec, which says what every field must be; anything else is an error.
"""

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SnapshotError(ValueError):
    """A snapshot that cannot be read."""


def state_to_json(value: Any) -> Any:
    """A state, or one field of it, as plain JSON values."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: state_to_json(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        return {
            "dtype": little.dtype.str,
            "shape": list(value.shape),
            "base64": base64.b64encode(little.tobytes()).decode("ascii"),
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
    if isinstance(pattern, tuple) and hasattr(pattern, "_fields"):
        if not isinstance(saved, dict) or set(saved) != set(pattern._fields):
            raise SnapshotError(f"{where}: expected the fields {', '.join(pattern._fields)}, not {_brief(saved)}")
        parts = {
            name: state_from_json(saved[name], part, f"{where}.{name}")
            for name, part in zip(pattern._fields, pattern, strict=True)
        }
        return type(pattern)(**parts)
    if isinstance(pattern, np.ndarray):
        return _array_from_json(saved, pattern, where)
    if isinstance(pattern, np.uint64):
        return np.uint64(word_from_json(saved, where))
    if isinstance(pattern, (bool, np.bool_)):
        if not isinstance(saved, bool):
            raise SnapshotError(f"{where}: expected true or false, not {_brief(saved)}")
        return saved
    if isinstance(pattern, (int, np.integer)):
        if isinstance(saved, str):  # an unsigned word of an array, kept in a field for whole numbers
            return word_from_json(saved, where)
        if isinstance(saved, bool) or not isinstance(saved, int):
            raise SnapshotError(f"{where}: expected a whole number, not {_brief(saved)}")
        return saved
    if saved in ("inf", "-inf", "nan"):
        return float(saved)
    if isinstance(saved, bool) or not isinstance(saved, (int, float)):
        raise SnapshotError(f"{where}: expected a number, not {_brief(saved)}")
    return float(saved)


def word_from_json(saved: Any, where: str) -> int:
    """A 64-bit word that was written in hexadecimal, or as a plain whole number."""
    try:
        word = int(saved, 16) if isinstance(saved, str) else saved
    except ValueError:
        word = None
    if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word < 2**64:
        raise SnapshotError(f"{where}: expected a 64-bit word such as '0x2a', not {_brief(saved)}")
    return word


def _array_from_json(saved: Any, pattern: NDArray[Any], where: str) -> NDArray[Any]:
    if not isinstance(saved, dict) or set(saved) != {"dtype", "shape", "base64"}:
        raise SnapshotError(f"{where}: expected an array with dtype, shape and base64, not {_brief(saved)}")
    if saved["dtype"] != pattern.dtype.newbyteorder("<").str:
        raise SnapshotError(f"{where}: expected numbers of type {pattern.dtype.str}, not {_brief(saved['dtype'])}")
    try:
        data = base64.b64decode(saved["base64"], validate=True)
        values = np.frombuffer(data, dtype=saved["dtype"]).reshape(saved["shape"])
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"{where}: the array cannot be read ({error})") from None
    if values.shape != pattern.shape:
        raise SnapshotError(f"{where}: expected an array of shape {pattern.shape}, not {values.shape}")
    return values.astype(pattern.dtype)  # a copy that can be written to


def enlarged(state: Any, larger: Any) -> Any:
    """``larger``, a state started for more rounds, with everything that ``state`` holds.

    Arrays are copied into the beginning of the larger ones; all else is taken over.
    """
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(enlarged(part, more) for part, more in zip(state, larger, strict=True)))
    if isinstance(state, np.ndarray) and state.shape != larger.shape:
        larger[tuple(slice(0, size) for size in state.shape)] = state
        return larger
    return state


def copied(state: Any) -> Any:
    """A state that shares no array with this one."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(copied(part) for part in state))
    return state.copy() if isinstance(state, np.ndarray) else state


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
