"""Safety: until when the gaps of one arm stay small.

An arm is safe on a window if on every interval of it, of n rounds, the sum of its gaps is at most its allowance
c n^p, 0 < p < 1. Its gaps are piecewise constant: a path of levels. The first round at which the arm is unsafe
is found in O(changes · log rounds), although a window of n rounds has n² / 2 intervals.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits": what makes an arm safe.
The algorithm is ours. Write S(y) for the sum of the gaps up to round y and F(x, y) = S(y) - S(x) - c (y - x)^p for
the excess of the interval x + 1, …, y.

1. Ends. From y to y + 1, F(x, ·) grows by the gap less the growth of the allowance, which becomes smaller and smaller:
   on a constant level F(x, ·) is convex. If the arm is safe before the level and in its last round, it is safe in
   between: only last rounds are looked at, and where one is unsafe, the first unsafe round is found by bisection.
2. Starts. From x to x + 1, F(·, y) loses the gap of round x + 1 and gains the growth of the allowance, which becomes
   larger and larger as the interval becomes shorter: where gaps do not increase, F(·, y) is convex, and largest at an
   end of such a stretch. That is the window's opening or just before a rise of the gap; or y itself, where F is 0.
3. Single crossing. For x < x', c (y - x)^p - c (y - x')^p decreases with y, so F(x, y) - F(x', y) increases: once the
   older start is at least as good as the younger, it stays so.

By 3 the starts that can still become the best form a stack: each is overtaken by the one below it at a known round,
and these rounds decrease towards the top. This is the stack method for one-dimensional dynamic programs with concave
costs (Hirschberg & Larmore; Galil & Park).

Symbols: x -> start (the last round before an interval), S -> total, c -> scale, p -> rate.
"""

from typing import NamedTuple

from ..arithmetic import power
from ..compiled import kernel, rarely, replaced
from .inputs import Floats, Ints

TOLERANCE = 1e-9
"""An excess of less than this, either way, counts as 0. Sums are compensated, so rounding stays far below it."""

NEVER = 1 << 62
"""A round that is never reached."""


class Allowance(NamedTuple):
    """How much an interval may sum up to: scale · length^rate."""

    scale: float
    rate: float
    margin: float  # an interval is unsafe if its excess is above this: TOLERANCE, or -TOLERANCE where a tie is unsafe
    last_round: int  # no round after this one will be asked about
    table: Floats  # the first values, by length


class Starts(NamedTuple):
    """Where the worst interval of an arm may begin: a stack, the oldest start first."""

    rounds: Ints  # the last round before the interval
    totals: Floats  # the sum of the gaps up to there
    overtaken: Ints  # the first round at which the start below is at least as good; unused for the oldest


class Path(NamedTuple):
    """The gaps of one arm from the opening of a window on."""

    depth: int = 0  # how many starts are on the stack
    level: float = 0.0  # the present gap
    since: int = 0  # the last round before the present level
    total: float = 0.0  # the sum of the gaps up to ``since``
    carry: float = 0.0  # what rounding has cut off the total


@kernel
def fill_table(table: Floats, scale: float, rate: float, first: int) -> None:
    """The allowances of all lengths from ``first`` on that the table has room for."""
    for length in range(first, table.size):
        table[length] = scale * power(float(length), rate)


@kernel
def allowed(allowance: Allowance, length: int) -> float:
    """The allowance of an interval of that many rounds; the same to the bit in the table and beyond it."""
    if length < allowance.table.size:
        return float(allowance.table[length])
    return allowance.scale * power(float(length), allowance.rate)


@kernel
def opened_path(starts: Starts, opened: int, level: float) -> Path:
    """A path that begins with the window: the first start is the round before it."""
    starts.rounds[0] = opened - 1
    starts.totals[0] = 0.0
    return Path(depth=1, level=level, since=opened - 1, total=0.0, carry=0.0)


@kernel
def best_start(starts: Starts, depth: int, round: int) -> int:
    """The place of the start with the largest excess at that round."""
    best = depth - 1
    while best > 0 and starts.overtaken[best] <= round:
        best -= 1
    return best


@kernel
def is_unsafe(starts: Starts, allowance: Allowance, path: Path, best: int, round: int) -> bool:
    """Whether the interval from that start to ``round``, a round of the present level, sums up to too much."""
    total = path.total + path.carry + path.level * (round - path.since)
    excess = (total - starts.totals[best]) - allowed(allowance, round - starts.rounds[best])
    return bool(excess > allowance.margin)


@kernel
def checked(starts: Starts, allowance: Allowance, path: Path, round: int) -> tuple[Path, bool]:
    """Whether some interval that ends at ``round`` is unsafe; if not, without the starts overtaken by then."""
    best = best_start(starts, path.depth, round)
    if rarely(is_unsafe(starts, allowance, path, best, round)):
        return path, True
    return replaced(path, depth=best + 1), False


@kernel
def first_unsafe(starts: Starts, allowance: Allowance, path: Path, round: int) -> int:
    """The first unsafe round of the present level, of which ``round`` is one (lemma 1)."""
    safe, unsafe = path.since, round
    while unsafe - safe > 1:
        middle = (safe + unsafe) >> 1
        if is_unsafe(starts, allowance, path, best_start(starts, path.depth, middle), middle):
            unsafe = middle
        else:
            safe = middle
    return unsafe


@kernel
def changed(starts: Starts, allowance: Allowance, path: Path, round: int, level: float) -> Path:
    """The path goes on at another level after ``round``, up to which it was checked."""
    if level == path.level:
        return path
    # Neumaier's sum: the carry takes what the total cannot hold.
    part = path.level * (round - path.since)
    total = path.total + part
    if abs(path.total) >= abs(part):
        carry = path.carry + ((path.total - total) + part)
    else:
        carry = path.carry + ((part - total) + path.total)
    depth = path.depth
    # Only a rise makes a new start (lemma 2).
    if level > path.level:
        depth = pushed(starts, allowance, depth, round, total + carry)
    return Path(depth=depth, level=level, since=round, total=total, carry=carry)


@kernel
def pushed(starts: Starts, allowance: Allowance, depth: int, start: int, total: float) -> int:
    """How deep the stack is with this start on it, if it can ever be the best one."""
    depth = best_start(starts, depth, start + 1) + 1
    best = depth - 1
    # If an older start is at least as good in the next round, it stays so (lemma 3).
    if total + allowed(allowance, 1) >= starts.totals[best] + allowed(allowance, start + 1 - starts.rounds[best]):
        return depth
    overtaken = overtaking(starts, allowance, best, start, total)
    # A start that is overtaken from below before it overtakes this one is never the best again.
    while depth > 1 and overtaken >= starts.overtaken[depth - 1]:
        depth -= 1
        overtaken = overtaking(starts, allowance, depth - 1, start, total)
    starts.rounds[depth] = start
    starts.totals[depth] = total
    starts.overtaken[depth] = overtaken
    return depth + 1


@kernel
def overtaking(starts: Starts, allowance: Allowance, older: int, start: int, total: float) -> int:
    """The first round at which an older start is at least as good as this one, which is better in its first round."""
    lead = total - starts.totals[older]
    lag = start - starts.rounds[older]
    longest = allowance.last_round - start
    behind, ahead = 1, 2  # lengths of the younger interval; the older start is behind at the first
    while ahead < longest and allowed(allowance, ahead + lag) - allowed(allowance, ahead) > lead:
        behind = ahead
        ahead = 2 * ahead
    if ahead >= longest:
        ahead = longest
        if ahead <= behind or allowed(allowance, ahead + lag) - allowed(allowance, ahead) > lead:
            return NEVER
    while ahead - behind > 1:
        middle = (behind + ahead) >> 1
        if allowed(allowance, middle + lag) - allowed(allowance, middle) > lead:
            behind = middle
        else:
            ahead = middle
    return start + ahead
