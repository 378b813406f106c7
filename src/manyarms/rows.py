"""Rows of 32 numbers: products, shifts and sums of them, several numbers at a time.

A processor adds several pairs of numbers at once, but a compiler may not change the order of a sum, since that changes
its last bits. So the order is laid down here: eight lanes, with the numbers 0, 8, 16, 24 in the first and so on; then
the lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7; of these four the first two, the last two, and both.

Each function has three bodies with the same bits: NumPy in plain Python, vector instructions on a processor, and on a
GPU one number for each thread of a warp (`lanes`). A row begins at some place of a larger array, or is an array of its
own.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from .apart import with_body_apart
from .compiled import IS_SIMULATED, intrinsic, kernel, on_gpu, types, unsigned, with_body
from .lanes import LENGTH, from_lane, lane, meet, places

LANES = 8
"""So many sums go on side by side."""

WIDTH = 4
"""The numbers of one vector: half of the lanes."""

FASTEST = 0.45
"""The largest share of a number that a shift moves to a neighbour."""

VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


# ---------------------------------------------------------------- while compiling: vectors


class Row:
    """Part of an array, vector by vector."""

    def __init__(self, context: Any, builder: Any, array_type: Any, array: Any, place: Any = None) -> None:
        self.builder = builder
        first = context.make_array(array_type)(context, builder, array).data
        self.first = first if place is None else builder.gep(first, [place])

    def _address(self, place: int) -> Any:
        return self.builder.bitcast(self.builder.gep(self.first, [ir.IntType(64)(place)]), VECTOR.as_pointer())

    def __getitem__(self, place: int) -> Any:
        """The vector from a place on."""
        return self.builder.load(self._address(place), align=8)

    def vectors(self) -> list[Any]:
        """All of it."""
        return [self[place] for place in range(0, LENGTH, WIDTH)]

    def store(self, vectors: list[Any]) -> None:
        """All of it."""
        for i, vector in enumerate(vectors):
            self.builder.store(vector, self._address(i * WIDTH), align=8)


def spread(builder: Any, number: Any) -> Any:
    """A vector of the same number."""
    vector = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def neighbours(builder: Any, low: Any, high: Any, start: int) -> Any:
    """Numbers of two vectors in a row, from a place in the first one on."""
    places = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), list(range(start, start + WIDTH)))
    return builder.shuffle_vector(low, high, places)


def sum_of_vectors(builder: Any, vectors: list[Any]) -> Any:
    """All their numbers, in the order of above."""
    low, high = vectors[0], vectors[1]
    for one, other in zip(vectors[2::2], vectors[3::2], strict=True):
        low, high = builder.fadd(low, one), builder.fadd(high, other)
    four = builder.fadd(low, high)
    a, b, c, d = (builder.extract_element(four, ir.IntType(32)(lane)) for lane in range(WIDTH))
    return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))


def in_numpy(*arrays: Any) -> Any:
    """The arrays themselves. Those of a simulated GPU are wrapped, and know no arithmetic."""
    return tuple(map(np.asarray, arrays)) if IS_SIMULATED else arrays


def sum_of_row(numbers: Any) -> float:
    """The same in NumPy, which adds the rows of a table one after the other."""
    lanes = numbers.reshape(-1, LANES).sum(axis=0)
    a, b, c, d = (lanes[:WIDTH] + lanes[WIDTH:]).tolist()
    return float((a + b) + (c + d))


@kernel
def sum_over_threads(number: float) -> float:
    """The same on a GPU, where each thread has a number of the row: every thread gets the sum."""
    first = lane() % LANES
    total = from_lane(number, first)
    for place in range(LANES, LENGTH, LANES):
        total += from_lane(number, first + place)
    total += from_lane(total, lane() ^ WIDTH)
    total += from_lane(total, lane() ^ 1)
    total += from_lane(total, lane() ^ 2)
    return total


def _compiled_copy(source: Any, at: int, target: Any, to: int) -> None:
    if not on_gpu():
        for k in places():
            target[to + k] = source[at + k]
        return
    k = lane()
    target[unsigned(to + k)] = source[unsigned(at + k)]
    meet()


@with_body(_compiled_copy)
def copy_row(source: Any, at: int, target: Any, to: int) -> None:
    """Copy a row."""
    source, target = in_numpy(source, target)
    target[to : to + LENGTH] = source[at : at + LENGTH]


# ---------------------------------------------------------------- excess


@intrinsic
def _excess(_typing: Any, masses: Any, at: Any, values: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        weights = Row(context, builder, kinds[0], arguments[0], arguments[1]).vectors()
        numbers = Row(context, builder, kinds[2], arguments[2]).vectors()
        floor, nothing = spread(builder, arguments[3]), ir.Constant(VECTOR, [0.0] * WIDTH)
        found = []
        for weight, number in zip(weights, numbers, strict=True):
            above = builder.fsub(number, floor)
            above = builder.select(builder.fcmp_ordered(">", above, nothing), above, nothing)
            found.append(builder.fmul(weight, above))
        return sum_of_vectors(builder, found)

    return types.float64(masses, types.intp, values, types.float64), generate


def _compiled_excess(masses: Any, at: int, values: Any, level: float) -> float:
    if not on_gpu():
        return _excess(masses, at, values, level)  # type: ignore[no-any-return]
    k = lane()
    return sum_over_threads(masses[unsigned(at + k)] * max(values[unsigned(k)] - level, 0.0))


@with_body_apart(_compiled_excess)
def excess(masses: Any, at: int, values: Any, level: float) -> float:
    """The sum of masses times by how much values exceed a level, where they do."""
    masses, values = in_numpy(masses, values)
    return sum_of_row(masses[at : at + LENGTH] * np.maximum(values - level, 0.0))


# ---------------------------------------------------------------- shifts


def shifted_vectors(builder: Any, row: list[Any], near: Any, falls: Any, rises: Any) -> list[Any]:
    """What ``shift`` does, to vectors: ``near`` is a row, both speeds are numbers."""
    falls, rises, most = (spread(builder, number) for number in (falls, rises, ir.Constant(ir.DoubleType(), FASTEST)))
    nothing, all_of_it = (ir.Constant(VECTOR, [number] * WIDTH) for number in (0.0, 1.0))
    padded = [nothing, *row, nothing]

    def share(speed: Any, place: int) -> Any:
        wanted = builder.fmul(speed, near[place])
        return builder.select(builder.fcmp_ordered("<", wanted, most), wanted, most)

    found = []
    for i, vector in enumerate(row):
        k = i * WIDTH
        lower = neighbours(builder, padded[i], vector, WIDTH - 1)
        upper = neighbours(builder, vector, padded[i + 2], 1)
        left = builder.fsub(builder.fsub(all_of_it, share(falls, k)), share(rises, k + 1))
        stayed = builder.fmul(left, vector)
        fallen = builder.fmul(share(falls, k + 1), upper)
        risen = builder.fmul(share(rises, k), lower)
        found.append(builder.fadd(builder.fadd(stayed, fallen), risen))
    return found


@intrinsic
def _shift(_typing: Any, row: Any, at: Any, nearness: Any, falls: Any, rises: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        mine = Row(context, builder, kinds[0], arguments[0], arguments[1])
        near = Row(context, builder, kinds[2], arguments[2])
        mine.store(shifted_vectors(builder, mine.vectors(), near, arguments[3], arguments[4]))
        return context.get_dummy_value()

    return types.void(row, types.intp, nearness, types.float64, types.float64), generate


@kernel
def shifted_number(here: float, nearness: Any, falls: float, rises: float) -> float:
    """The same to the number of a thread."""
    k = lane()
    lower, upper = from_lane(here, max(k - 1, 0)), from_lane(here, min(k + 1, LENGTH - 1))
    below, above = nearness[unsigned(k)], nearness[unsigned(k + 1)]
    stayed = (1.0 - min(falls * below, FASTEST) - min(rises * above, FASTEST)) * here
    fallen = min(falls * above, FASTEST) * (upper if k < LENGTH - 1 else 0.0)
    return stayed + fallen + min(rises * below, FASTEST) * (lower if k > 0 else 0.0)  # type: ignore[no-any-return]


def _compiled_shift(row: Any, at: int, nearness: Any, falls: float, rises: float) -> None:
    if not on_gpu():
        _shift(row, at, nearness, falls, rises)
        return
    place = unsigned(at + lane())
    row[place] = shifted_number(row[place], nearness, falls, rises)
    meet()


@with_body(_compiled_shift)
def shift(row: Any, at: int, nearness: Any, falls: float, rises: float) -> None:
    """Let each number of a row move to its neighbours, at two speeds over their distance.

    ``nearness`` is 1 over the distance from the neighbour below; 0 for the first number, and after the last.
    """
    row, nearness = in_numpy(row, nearness)
    below, above, here = nearness[:-1], nearness[1:], row[at : at + LENGTH]
    stayed = (1.0 - np.minimum(falls * below, FASTEST) - np.minimum(rises * above, FASTEST)) * here
    fallen = np.minimum(falls * above, FASTEST) * np.append(here[1:], 0.0)
    row[at : at + LENGTH] = stayed + fallen + np.minimum(rises * below, FASTEST) * np.append(0.0, here[:-1])


# ---------------------------------------------------------------- one step of a filter


def _filter_with(is_shifted: bool) -> Any:
    """The step with or without a shift."""

    def typed(
        _typing: Any,
        row: Any,
        at: Any,
        likelihood: Any,
        nearness: Any,
        falls: Any,
        rises: Any,
        source: Any,
        resets: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            mine = Row(context, builder, kinds[0], arguments[0], arguments[1])
            likely = Row(context, builder, kinds[2], arguments[2]).vectors()
            near = Row(context, builder, kinds[3], arguments[3])
            others = Row(context, builder, kinds[6], arguments[6]).vectors()
            vectors = [builder.fmul(one, other) for one, other in zip(mine.vectors(), likely, strict=True)]
            total = sum_of_vectors(builder, vectors)
            one = ir.Constant(ir.DoubleType(), 1.0)
            kept = builder.fmul(builder.fdiv(one, total), builder.fsub(one, arguments[7]))
            if is_shifted:
                vectors = shifted_vectors(builder, vectors, near, arguments[4], arguments[5])
            kept, reset = spread(builder, kept), spread(builder, arguments[7])
            pairs = zip(vectors, others, strict=True)
            mine.store([builder.fadd(builder.fmul(kept, v), builder.fmul(reset, other)) for v, other in pairs])
            return total

        number = types.float64
        return number(row, types.intp, likelihood, nearness, number, number, source, number), generate

    return intrinsic(typed)


_filtered, _filtered_and_shifted = _filter_with(False), _filter_with(True)


def _compiled_filter(
    row: Any, at: int, likelihood: Any, nearness: Any, falls: float, rises: float, source: Any, resets: float
) -> float:
    is_shifted = falls != 0.0 or rises != 0.0
    if not on_gpu():
        if is_shifted:
            return _filtered_and_shifted(row, at, likelihood, nearness, falls, rises, source, resets)  # type: ignore[no-any-return]
        return _filtered(row, at, likelihood, nearness, falls, rises, source, resets)  # type: ignore[no-any-return]
    k, place = unsigned(lane()), unsigned(at + lane())
    here = row[place] * likelihood[k]
    total = sum_over_threads(here)
    if is_shifted:
        here = shifted_number(here, nearness, falls, rises)
    kept = 1.0 / total * (1.0 - resets)
    row[place] = kept * here + resets * source[k]
    meet()
    return total


@with_body(_compiled_filter)
def filter_row(
    row: Any, at: int, likelihood: Any, nearness: Any, falls: float, rises: float, source: Any, resets: float
) -> float:
    """Multiply a row by a likelihood, divide it by its sum, shift it, and replace a part of it by another row.

    Returns the sum. Without a speed, nothing is shifted.
    """
    row, likelihood, source = in_numpy(row, likelihood, source)
    row[at : at + LENGTH] *= likelihood
    total = sum_of_row(row[at : at + LENGTH])
    if falls != 0.0 or rises != 0.0:
        shift(row, at, nearness, falls, rises)
    with np.errstate(all="ignore"):  # a sum of 0 is for the caller to see
        kept = float(np.float64(1.0) / total) * (1.0 - resets)
        row[at : at + LENGTH] = kept * row[at : at + LENGTH] + resets * source
    return total
