"""Functions of all numbers of a row: likelihoods.

Their exponentials are those of `arithmetic`, to the bit. But one after the other, each number would wait for its own
series; here the series of all of them go side by side. As in `rows`, there are three bodies with the same bits.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from .apart import with_body_apart
from .arithmetic import BIAS, FRACTION_BITS, LOG_2, LOG_2_HIGH, LOG_2_LOW, exponential, exponential_series
from .compiled import intrinsic, on_gpu, types, unsigned
from .lanes import LENGTH, lane, largest_of_threads, meet
from .rows import Row, in_numpy

ROW = ir.VectorType(ir.DoubleType(), LENGTH)
"""A row at once. The compiler splits it into vectors of the processor."""

WORDS = ir.VectorType(ir.IntType(64), LENGTH)

UNIT = 2.0**FRACTION_BITS
"""From here on the last bit of a number is 1."""


# ---------------------------------------------------------------- while compiling: numbers side by side


class Numbers:
    """Numbers of a row, with which one calculates as with NumPy's: a formula of both stands in one place."""

    def __init__(self, builder: Any, vector: Any) -> None:
        self.builder = builder
        self.vector = vector

    def _made(self, how: str, one: Any, other: Any) -> "Numbers":
        vectors = (it.vector if isinstance(it, Numbers) else ir.Constant(ROW, [it] * LENGTH) for it in (one, other))
        return Numbers(self.builder, getattr(self.builder, how)(*vectors))

    def __add__(self, other: Any) -> "Numbers":
        return self._made("fadd", self, other)

    def __radd__(self, other: Any) -> "Numbers":
        return self._made("fadd", other, self)

    def __sub__(self, other: Any) -> "Numbers":
        return self._made("fsub", self, other)

    def __mul__(self, other: Any) -> "Numbers":
        return self._made("fmul", self, other)

    def __truediv__(self, other: Any) -> "Numbers":
        return self._made("fdiv", self, other)


def loaded(row: Row) -> Numbers:
    """All of a row."""
    address = row.builder.bitcast(row.first, ROW.as_pointer())
    return Numbers(row.builder, row.builder.load(address, align=8))


def repeated(builder: Any, number: Any) -> Numbers:
    """The same number everywhere."""
    vector = builder.insert_element(ir.Constant(ROW, ir.Undefined), number, ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), LENGTH), [0] * LENGTH)
    return Numbers(builder, builder.shuffle_vector(vector, vector, first))


def largest(numbers: Numbers) -> Any:
    """The largest of them."""
    builder, vector, length = numbers.builder, numbers.vector, LENGTH
    while length > 1:
        length //= 2
        halves = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), length), list(range(start, start + length)))
            )
            for start in (0, length)
        )
        one, other = halves
        vector = builder.select(builder.fcmp_ordered(">", one, other), one, other)
    return builder.extract_element(vector, ir.IntType(32)(0))


def exponentials_of(numbers: Numbers) -> Numbers:
    """Of numbers that are not above 0."""
    builder = numbers.builder
    floor = builder.module.declare_intrinsic(f"llvm.floor.v{LENGTH}f64", (), ir.FunctionType(ROW, [ROW]))
    k = Numbers(builder, builder.call(floor, [(numbers / LOG_2 + 0.5).vector]))
    series = exponential_series((numbers - k * LOG_2_HIGH) - k * LOG_2_LOW)
    shift = ir.Constant(WORDS, [FRACTION_BITS] * LENGTH)
    power = builder.bitcast(builder.shl(builder.bitcast((k + (UNIT + BIAS)).vector, WORDS), shift), ROW)
    nothing, least = (ir.Constant(ROW, [number] * LENGTH) for number in (0.0, -700.0))
    is_nothing = builder.fcmp_ordered("<", numbers.vector, least)
    return Numbers(builder, builder.select(is_nothing, nothing, (series * Numbers(builder, power)).vector))


def exponentials(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same in NumPy. To k, as a number from 2^52 on, belong the bits of k as a whole number."""
    k = np.floor(numbers / LOG_2 + 0.5)
    series = exponential_series((numbers - k * LOG_2_HIGH) - k * LOG_2_LOW)
    power = ((k + (UNIT + BIAS)).view(np.int64) << FRACTION_BITS).view(np.float64)
    with np.errstate(all="ignore"):  # below -700 the power is none
        return np.where(numbers < -700.0, 0.0, series * power)


# ---------------------------------------------------------------- likelihoods


def _likelihoods_with(has_dispersion: bool) -> Any:
    """Those of rewards that vary as coins do, or of others."""

    def typed(
        _typing: Any, points: Any, logs: Any, total: Any, plays: Any, dispersion: Any, outliers: Any, target: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            ups, downs, found = (Row(context, builder, kinds[place], arguments[place]) for place in (0, 1, 6))
            total, plays, dispersion, outliers = (repeated(builder, number) for number in arguments[2:6])
            values = total * loaded(ups) + plays * loaded(downs)
            below = values - repeated(builder, largest(values))
            if has_dispersion:
                likely = exponentials_of(below / dispersion) + outliers * exponentials_of(below)
            else:
                likely = exponentials_of(below)
            builder.store(likely.vector, builder.bitcast(found.first, ROW.as_pointer()), align=8)
            return context.get_dummy_value()

        number = types.float64
        return types.void(points, logs, number, number, number, number, target), generate

    return intrinsic(typed)


_likelihoods_of_coins, _likelihoods_of_others = _likelihoods_with(False), _likelihoods_with(True)


def _compiled_likelihoods(
    points: Any, logs: Any, total: float, plays: float, dispersion: float, outliers: float, target: Any
) -> None:
    if not on_gpu():
        if dispersion == 1.0 and outliers == 0.0:
            _likelihoods_of_coins(points, logs, total, plays, dispersion, outliers, target)
        else:
            _likelihoods_of_others(points, logs, total, plays, dispersion, outliers, target)
        return
    k = unsigned(lane())
    value = total * points[k] + plays * logs[k]
    below = value - largest_of_threads(value)
    target[k] = exponential(below / dispersion)
    if outliers > 0.0:
        target[k] += outliers * exponential(below)
    meet()


@with_body_apart(_compiled_likelihoods)
def likelihoods(
    points: Any, logs: Any, total: float, plays: float, dispersion: float, outliers: float, target: Any
) -> None:
    """Into ``target``: the exponential of ``total * points + plays * logs``, over its largest value.

    The logarithm of that is divided by the dispersion; and the same without a dispersion is added, ``outliers`` times.
    """
    points, logs, target = in_numpy(points, logs, target)
    values = total * points + plays * logs
    below = values - values.max()
    target[:LENGTH] = exponentials(below / dispersion)
    if outliers > 0.0:
        target[:LENGTH] += outliers * exponentials(below)
