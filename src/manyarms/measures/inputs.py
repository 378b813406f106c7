"""Inputs: what measures check of what they are given, before any work."""

import reprlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..specs import FURTHEST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Log(NamedTuple):
    """A run, with an entry for each round."""

    arms: Ints  # for kernels, their slots
    means: Floats
    next_means: Floats


def finite_numbers(owner: str, name: str, values: ArrayLike) -> Floats:
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


def check_shapes(owner: str, **arrays: Floats | None) -> None:
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


def bounded_numbers(owner: str, name: str, values: ArrayLike, bound: float, *, is_open: bool = False) -> Floats:
    """The values as an array of finite numbers of at least ``bound``; above it, if that is open."""
    array = finite_numbers(owner, name, values)
    is_bad = array <= bound if is_open else array < bound
    if is_bad.any():
        least = f"{'above' if is_open else 'at least'} {bound:g}"
        raise ValueError(f"{owner}: {name} must be {least}, not {array[is_bad][0]:g}")
    return array


def whole_numbers(
    name: str, values: ArrayLike, each: str = "round", remedy: str = "number the arms and blocks first"
) -> Ints:
    """The values as an array of whole numbers up to 2^62, one for each round or what else there is."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must hold whole numbers, not {reprlib.repr(values)}; {remedy}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list with one entry for each {each}, not of shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        what = reprlib.repr(values) if array.dtype == object else array.dtype
        raise ValueError(f"{name} must hold whole numbers, not {what}; {remedy}")
    for number in (int(array.min()), int(array.max())) if array.size else ():
        if abs(number) > FURTHEST:
            raise ValueError(f"{name} must lie between -2^62 and 2^62, not {number}; number them anew")
    return np.ascontiguousarray(array, dtype=np.int64)


def unit_numbers(name: str, values: ArrayLike, dimensions: int, each: str = "round") -> Floats:
    """The values as an array of means, one for each round or what else there is."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers, not {reprlib.repr(values)}") from None
    if array.ndim != dimensions:
        form = f"a list with one entry for each {each}" if dimensions == 1 else "a table of rounds by arms"
        raise ValueError(f"{name} must be {form}, not of shape {array.shape}")
    is_good = (array >= 0.0) & (array <= 1.0)
    if not is_good.all():
        place = tuple(int(index) for index in np.argwhere(~is_good)[0])
        raise ValueError(
            f"{name} must lie in [0, 1], not {array[place]} in {each} {place[0] + 1}; scale rewards to [0, 1] first"
        )
    return np.ascontiguousarray(array)


def check_rounds(name: str, values: NDArray[Any], rounds: int) -> None:
    """An error unless there is a value for each round of a run."""
    if values.size != rounds:
        raise ValueError(f"arms has {rounds:,} rounds but {name} has {values.size:,}; give one entry for each round")


def checked_log(arms: ArrayLike, means: ArrayLike, next_means: ArrayLike) -> Log:
    """A run from arrays of one length."""
    log = Log(whole_numbers("arms", arms), unit_numbers("means", means, 1), unit_numbers("next_means", next_means, 1))
    for name in ("means", "next_means"):
        check_rounds(name, getattr(log, name), log.arms.size)
    return log
