"""Windows: the rounds between two significant shifts, one round at a time.

In a window that opened n rounds ago the candidates are the first n^(beta / (beta + 1)) arms, in the order in which they
were sampled. One candidate that is safe on the whole window is enough: the guard. Only its safety is looked at, round
by round, until it is lost; then the next candidate's path is followed from the opening on. A candidate that is
unsafe stays so for the rest of the window, so each is followed once. When no candidate is left, the round is a
significant shift and opens the next window.

In a window of n rounds at most n plays are followed, and each costs O(log n) at most: O(T log T) for a run of T rounds.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", the definition of a significant shift;
the algorithm is ours.

The same kernels serve a whole log, compiled, and a stream of rounds, as plain Python. Arms come as slots, numbered from
0 in the order of their first plays.
"""

from typing import NamedTuple

from ..arithmetic import ceiling, floor, power
from ..compiled import kernel, loop, rarely, replaced
from ..states import empty
from .inputs import Floats, Ints, Log
from .safety import Allowance, Path, Starts, best_start, changed, checked, fill_table, first_unsafe, opened_path

NO_SLOT = -1
NO_PLACE = -1

WINDOW, RUN, NEW, BLOCK = 0, 1, 2, 3
"""In which order arms count as sampled; ``manyarms.measures.rules.ORDERS`` tells which is which."""


class Terms(NamedTuple):
    """What a significant shift is, in numbers."""

    allowance: Allowance
    budget: float  # n rounds have budget · n^rate candidates …
    rounds_up: bool  # … rounded up or down
    order: int
    ignores_past: bool  # the gap before an arm's first play is 0, not the one it was first played with


class Arms(NamedTuple):
    """One entry for each slot."""

    last_play: Ints  # the round; 0 before the first
    gap: Floats  # since then
    # These two mean something if the last play lies in the window.
    first_place: Ints  # of its first play in the window
    before: Floats  # its gap in the window up to that play


class Plays(NamedTuple):
    """One entry for each round of the window: its place is the round less the opening one."""

    gap: Floats  # of the arm that was played
    next_gap: Floats  # of the same arm, from the next round on
    following: Ints  # the place of the same arm's next play, or NO_PLACE
    candidates: Ints  # not by place: slots, in the order of their first plays in the window or block


class Evidence(NamedTuple):
    """Why each candidate is unsafe: one row for each, window after window."""

    slot: Ints
    start: Ints  # first and …
    end: Ints  # … last round of an interval on which its gaps sum up to too much
    shift: Ints  # for each shift, not row: its round …
    last_row: Ints  # … and the number of rows up to it


class Room(NamedTuple):
    """All arrays."""

    arms: Arms
    plays: Plays
    starts: Starts
    evidence: Evidence


class Window(NamedTuple):
    """How far the open window has got."""

    opened: int = 1  # its first round
    block: int = 0  # the block that is being played, and …
    block_opened: int = 1  # … its first round in the window; the window's own where blocks do not matter
    slots: int = 0  # how many arms have been played since round 1 …
    slots_before: int = 0  # … and before the window opened
    candidates: int = 0  # how many arms have been played in the window or block
    examined: int = 0  # how many candidates were looked at
    guard: int = NO_SLOT  # the slot of the candidate that is safe
    path: Path = Path()  # of the guard
    rows: int = 0  # of evidence, …
    rows_before: int = 0  # … of which these belong to closed windows
    shifts: int = 0


def new_room(rounds: int, slots: int, rows: int) -> Room:
    """Empty arrays; pages that are never written cost nothing."""
    # A play may change the level twice: when the arm is played, and by the play.
    starts = empty(Starts, 2 * rounds + 1)
    return Room(arms=empty(Arms, slots), plays=empty(Plays, rounds), starts=starts, evidence=empty(Evidence, rows))


@kernel
def budget(terms: Terms, rounds: int) -> int:
    """How many candidates a window of that many rounds has: at least one. Powers are forgiven their rounding error."""
    candidates = terms.budget * power(float(rounds), terms.allowance.rate)
    if terms.rounds_up:
        return max(ceiling(candidates * (1.0 - 1e-12)), 1)
    return max(floor(candidates * (1.0 + 1e-12)), 1)


@kernel
def candidate(terms: Terms, room: Room, window: Window, number: int) -> int:
    """The slot of the candidate with that number, counted from 0, or NO_SLOT if there is none yet."""
    if terms.order == RUN:
        return number if number < window.slots else NO_SLOT
    if terms.order == NEW:
        return window.slots_before + number if window.slots_before + number < window.slots else NO_SLOT
    return room.plays.candidates[number] if number < window.candidates else NO_SLOT


@kernel
def noted(terms: Terms, room: Room, window: Window, round: int, slot: int, gap: float, next_gap: float) -> Window:
    """Write down a play."""
    arms, plays = room.arms, room.plays
    place = round - window.opened
    last_play = arms.last_play[slot]
    is_candidate = last_play < window.block_opened or place == 0
    if last_play < window.opened or place == 0:
        first_gap = 0.0 if terms.ignores_past else gap
        arms.first_place[slot] = place
        arms.before[slot] = arms.gap[slot] if last_play > 0 else first_gap
    else:
        plays.following[last_play - window.opened] = place
    plays.gap[place] = gap
    plays.next_gap[place] = next_gap
    plays.following[place] = NO_PLACE
    arms.last_play[slot] = round
    arms.gap[slot] = next_gap
    candidates = window.candidates
    if is_candidate:
        plays.candidates[candidates] = slot
        candidates += 1
    return replaced(window, slots=max(window.slots, slot + 1), candidates=candidates)


@kernel
def followed(
    allowance: Allowance, starts: Starts, arms: Arms, plays: Plays, opened: int, slot: int, round: int
) -> tuple[Path, int]:
    """The path of an arm in the window that opened then, and the first round at which it is unsafe.

    That round is 0 if there is none up to ``round``. A play in ``round`` itself has changed the level already.
    """
    is_played = arms.last_play[slot] >= opened
    path = opened_path(starts, opened, arms.before[slot] if is_played else arms.gap[slot])
    place = arms.first_place[slot] if is_played else NO_PLACE
    while place != NO_PLACE:
        # The arm's gap may have moved since its last play (in a log of a restless world), and by this play.
        for turn in range(2):
            last = opened + place - 1 + turn  # the last round of the present level
            level = plays.next_gap[place] if turn == 1 else plays.gap[place]
            if level != path.level:
                if last > path.since:
                    path, is_lost = checked(starts, allowance, path, last)
                    if rarely(is_lost):
                        return path, first_unsafe(starts, allowance, path, last)
                path = changed(starts, allowance, path, last, level)
        place = plays.following[place]
    if round > path.since:
        path, is_lost = checked(starts, allowance, path, round)
        if is_lost:
            return path, first_unsafe(starts, allowance, path, round)
    return path, 0


@kernel
def write_row(evidence: Evidence, starts: Starts, path: Path, slot: int, row: int, round: int) -> None:
    """Write down why an arm is unsafe at that round."""
    evidence.slot[row] = slot
    evidence.start[row] = starts.rounds[best_start(starts, path.depth, round)] + 1
    evidence.end[row] = round


@kernel
def write_shift(evidence: Evidence, number: int, round: int, rows: int) -> None:
    """Write down a shift; its evidence ends with that many rows."""
    evidence.shift[number] = round
    evidence.last_row[number] = rows


@kernel
def judged(terms: Terms, room: Room, window: Window, round: int, slot: int, gap: float, next_gap: float) -> Window:
    """Keep the guard, or find another, in a round whose play has been noted."""
    starts, allowance = room.starts, terms.allowance
    guard, path, rows, examined = window.guard, window.path, window.rows, window.examined
    if guard != NO_SLOT:
        if guard == slot:
            path = changed(starts, allowance, path, round - 1, gap)
        path, is_lost = checked(starts, allowance, path, round)
        if rarely(is_lost):
            write_row(room.evidence, starts, path, guard, rows, round)
            rows += 1
            guard = NO_SLOT
        elif guard == slot:
            path = changed(starts, allowance, path, round, next_gap)
    if rarely(guard == NO_SLOT):
        candidates = budget(terms, round - window.opened + 1)
        while guard == NO_SLOT and examined < candidates:
            slot_examined = candidate(terms, room, window, examined)
            if slot_examined == NO_SLOT:
                break
            examined += 1
            path, unsafe_round = followed(allowance, starts, room.arms, room.plays, window.opened, slot_examined, round)
            if unsafe_round == 0:
                guard = slot_examined
            else:
                write_row(room.evidence, starts, path, slot_examined, rows, unsafe_round)
                rows += 1
    return replaced(window, examined=examined, guard=guard, path=path, rows=rows)


@kernel
def next_block(window: Window, round: int, block: int) -> Window:
    """The same window with none but the next block's candidates; what was found of others is dropped."""
    return replaced(
        window, block=block, block_opened=round, candidates=0, examined=0, guard=NO_SLOT, rows=window.rows_before
    )


@kernel
def reopened(window: Window, round: int, block: int, slots_before: int) -> Window:
    """A new window that opens with the round of a shift."""
    window = replaced(
        window, opened=round, slots_before=slots_before, rows_before=window.rows, shifts=window.shifts + 1
    )
    return next_block(window, round, block)


@kernel
def told(
    terms: Terms, room: Room, window: Window, round: int, slot: int, gap: float, next_gap: float, block: int
) -> Window:
    """One more round. It was a shift if it opened the window that comes back, unless it is the first of all."""
    slots_before = window.slots
    if rarely(terms.order == BLOCK and block != window.block):
        window = next_block(window, round, block)
    for _ in range(2):  # the round of a shift ends one window and opens the next
        window = noted(terms, room, window, round, slot, gap, next_gap)
        window = judged(terms, room, window, round, slot, gap, next_gap)
        if window.guard != NO_SLOT or round == window.opened:
            break
        write_shift(room.evidence, window.shifts, round, window.rows)
        window = reopened(window, round, block, slots_before)
    return window


@loop
def table_loop(table: Floats, scale: float, rate: float) -> None:
    """Fill a table of allowances."""
    fill_table(table, scale, rate, 0)


@loop
def slot_loop(arms: Ints, known: Ints, slots: Ints) -> int:
    """Number the arms in the order of their first plays; ``known`` has room for each arm and is 0."""
    count = 0
    for place in range(arms.size):
        slot = known[arms[place]]
        if slot == 0:
            count += 1
            slot = count
            known[arms[place]] = slot
        slots[place] = slot - 1
    return count


@loop
def log_loop(
    terms: Terms, room: Room, window: Window, top: float, log: Log, blocks: Ints, first: int
) -> tuple[int, Window]:
    """The rounds of a log from ``first`` on, counted from 0, as far as there is room for evidence."""
    place = first
    # A round may show every arm to be unsafe, and if it is a shift, all of them again in the window that it opens.
    while place < log.arms.size and window.rows + 2 * (window.slots + 1) <= room.evidence.slot.size:
        gap, next_gap = top - log.means[place], top - log.next_means[place]
        window = told(terms, room, window, place + 1, log.arms[place], gap, next_gap, blocks[place])
        place += 1
    return place, window


@kernel
def followed_row(
    allowance: Allowance, starts: Starts, gaps: Floats, arm: int, opened: int, round: int
) -> tuple[Path, int]:
    """As ``followed``, for an arm whose gap in each round is known."""
    path = opened_path(starts, opened, gaps[arm, opened - 1])
    for last in range(opened, round + 1):
        if last == round or gaps[arm, last] != path.level:
            path, is_lost = checked(starts, allowance, path, last)
            if rarely(is_lost):
                return path, first_unsafe(starts, allowance, path, last)
            if last < round:
                path = changed(starts, allowance, path, last, gaps[arm, last])
    return path, 0


@loop
def safe_loop(allowance: Allowance, starts: Starts, gaps: Floats, opened: int) -> int:
    """The first round at which the arm in row 0 is unsafe in the window that opened then; 0 if there is none."""
    return followed_row(allowance, starts, gaps, 0, opened, gaps.shape[1])[1]


@loop
def finite_loop(allowance: Allowance, starts: Starts, evidence: Evidence, gaps: Floats, progress: Ints) -> None:
    """The significant shifts among finitely many arms, given the gap of each arm (row) in each round (column).

    ``progress`` holds the round that opened the present window and the numbers of rows of evidence and of shifts.
    The loop stops where there is no room for the evidence of another window, or with an opening beyond the last round.
    """
    arms, rounds = gaps.shape
    opened, rows, shifts = progress[0], progress[1], progress[2]
    while opened <= rounds and rows + arms <= evidence.slot.size:
        # The shift is where the last arm becomes unsafe. No arm is followed further than that, except one that is
        # safe to the end: then there is no shift any more.
        shift = opened + 1
        for arm in range(arms):
            path, unsafe_round = followed_row(allowance, starts, gaps, arm, opened, rounds)
            if unsafe_round == 0:
                shift = rounds + 1
                break
            write_row(evidence, starts, path, arm, rows + arm, unsafe_round)
            shift = max(shift, unsafe_round)
        if shift <= rounds:
            rows += arms
            write_shift(evidence, shifts, shift, rows)
            shifts += 1
        opened = shift
    progress[0], progress[1], progress[2] = opened, rows, shifts
