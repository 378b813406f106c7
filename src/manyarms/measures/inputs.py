"""Inputs: what measures check of what they are given, before any work."""

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def one_of(owner: str, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """The value, which must be one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{owner}: {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def finite_numbers(owner: str, name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values as an array of finite numbers, of any shape."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must hold numbers, not {reprlib.repr(values)}") from None
    except OverflowError:
        raise ValueError(f"{owner}: {name} must be at most 1.8e308, not {reprlib.repr(values)}") from None
    if not np.isfinite(array).all():
        bad = np.asarray(values, dtype=object)[~np.isfinite(array)].flat[0]
        if bad is None:  # which NumPy takes for nan
            raise ValueError(f"{owner}: {name} must hold numbers, not None")
        raise ValueError(f"{owner}: {name} must be finite, not {bad}")
    return array


def check_shapes(owner: str, **arrays: NDArray[np.float64] | None) -> None:
    """An error unless the arrays that are given can be broadcast."""
    shapes = {name: array.shape for name, array in arrays.items() if array is not None and array.ndim}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(
            f"{owner}: arrays must have one shape, or such that can be broadcast, not {told}; "
            "give equal lengths, or single numbers"
        ) from None


def numbers_from(owner: str, name: str, values: ArrayLike, least: float) -> NDArray[np.float64]:
    """The values as an array of finite numbers of at least ``least``."""
    array = finite_numbers(owner, name, values)
    if (array < least).any():
        raise ValueError(f"{owner}: {name} must be at least {least:g}, not {array[array < least][0]:g}")
    return array


def numbers_above(owner: str, name: str, values: ArrayLike, bound: float) -> NDArray[np.float64]:
    """The values as an array of finite numbers above ``bound``."""
    array = finite_numbers(owner, name, values)
    if (array <= bound).any():
        raise ValueError(f"{owner}: {name} must be above {bound:g}, not {array[array <= bound][0]:g}")
    return array
