"""The tests of significant shifts notice when any condition of the algorithm is broken.

Each mutation is one edit of the sources. The edited code, run as plain Python, must differ from the slow twin in some
run of a fixed set, or fail; the unedited code must not.
"""

import itertools
import math
import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import manyarms.measures
from tests.reference import shifts as reference
from tests.test_shifts import (
    KINDS,
    PATHS,
    Run,
    check_intervals,
    critical_question,
    plain,
    random_options,
    random_path,
    random_run,
    twin,
    worst_ratio,
)

FOLDER = Path(manyarms.measures.__file__).parent

MUTATIONS = {
    # Lemma 1: the ends of intervals.
    "the last unsafe round of a level instead of the first": (
        "safety",
        "    while unsafe - safe > 1:\n",
        "    while False:\n",
    ),
    "starts are dropped before the first unsafe round is looked for": (
        "safety",
        "        return path, True\n",
        "        return path._replace(depth=best + 1), True\n",
    ),
    "inside a level, the best start of its end is taken": (
        "safety",
        "is_unsafe(starts, allowance, path, best_start(starts, path.depth, middle), middle)",
        "is_unsafe(starts, allowance, path, best_start(starts, path.depth, round), middle)",
    ),
    "the ends of levels are not looked at": (
        "windows",
        "                if last > path.since:\n",
        "                if False:\n",
    ),
    "the end of the path is not looked at": (
        "windows",
        "    if round > path.since:\n",
        "    if False:\n",
    ),
    # Lemma 2: the starts of intervals.
    "no starts but the opening": ("safety", "    if level > path.level:\n", "    if False:\n"),
    "starts at falls instead of rises": ("safety", "    if level > path.level:\n", "    if level < path.level:\n"),
    "a start begins a round late": (
        "safety",
        "        depth = pushed(starts, allowance, depth, round, total + carry)\n",
        "        depth = pushed(starts, allowance, depth, round + 1, total + carry)\n",
    ),
    # Lemma 3: which start is the best.
    "a start that does not beat the best one is kept": (
        "safety",
        "    if total + allowed(allowance, 1) >= ",
        "    if False and ",
    ),
    "a new start is compared with the youngest, not the best": (
        "safety",
        "    depth = best_start(starts, depth, start + 1) + 1\n",
        "",
    ),
    "overtaken starts stay on top": (
        "safety",
        "    while best > 0 and starts.overtaken[best] <= round:\n",
        "    while False:\n",
    ),
    "only one overtaken start is dropped": (
        "safety",
        "    while best > 0 and starts.overtaken[best] <= round:\n",
        "    if best > 0 and starts.overtaken[best] <= round:\n",
    ),
    "an overtaken start is dropped a round late": (
        "safety",
        "starts.overtaken[best] <= round:\n",
        "starts.overtaken[best] < round:\n",
    ),
    "a start is dropped a round early": (
        "safety",
        "starts.overtaken[best] <= round:\n",
        "starts.overtaken[best] <= round + 1:\n",
    ),
    "starts that are never the best again are kept": (
        "safety",
        "    while depth > 1 and overtaken >= starts.overtaken[depth - 1]:\n",
        "    while False:\n",
    ),
    "starts that may be the best again are dropped": (
        "safety",
        "    while depth > 1 and overtaken >= starts.overtaken[depth - 1]:\n",
        "    while depth > 1:\n",
    ),
    "the overtaking round is that of a start that was dropped": (
        "safety",
        "        depth -= 1\n        overtaken = overtaking(starts, allowance, depth - 1, start, total)\n",
        "        depth -= 1\n",
    ),
    "overtaking forgets how far the younger start is ahead": (
        "safety",
        "    lead = total - starts.totals[older]\n",
        "    lead = total\n",
    ),
    "overtaking forgets how much longer the older interval is": (
        "safety",
        "    lag = start - starts.rounds[older]\n",
        "    lag = 1\n",
    ),
    "overtaking is found a round early": ("safety", "    return start + ahead\n", "    return start + behind\n"),
    "overtaking is found a round late": ("safety", "    return start + ahead\n", "    return start + ahead + 1\n"),
    "overtaking is found roughly": ("safety", "    while ahead - behind > 1:\n", "    while False:\n"),
    "overtaking is not looked for far enough": (
        "shifts",
        "    allowance = filled(rule.allowance(np.zeros(rounds + 1), rounds))\n    terms",
        "    allowance = filled(rule.allowance(np.zeros(rounds + 1), rounds // 2))\n    terms",
    ),
    "what is never overtaken is overtaken at the end": (
        "safety",
        "            return NEVER\n",
        "            return start + 1\n",
    ),
    # Sums and allowances.
    "a level counts with the gap that follows it": (
        "safety",
        "    part = path.level * (round - path.since)\n",
        "    part = level * (round - path.since)\n",
    ),
    "the present level is left out of the sum": (
        "safety",
        "    total = path.total + path.carry + path.level * (round - path.since)\n",
        "    total = path.total + path.carry\n",
    ),
    "an interval is a round longer": (
        "safety",
        "allowed(allowance, round - starts.rounds[best])\n",
        "allowed(allowance, round + 1 - starts.rounds[best])\n",
    ),
    "a tie is unsafe": ("rules", "            margin=TOLERANCE,\n", "            margin=-TOLERANCE,\n"),
    "a tie is decided by rounding": ("rules", "            margin=TOLERANCE,\n", "            margin=0.0,\n"),
    "kappa is turned over": ("rules", "self.threshold_scale / self.kappa", "self.threshold_scale * self.kappa"),
    # Candidates.
    "one candidate too many": ("windows", "examined < candidates:\n", "examined <= candidates:\n"),
    "the window is counted a round short": (
        "windows",
        "        candidates = budget(terms, round - window.opened + 1)\n",
        "        candidates = budget(terms, max(round - window.opened, 1))\n",
    ),
    "no candidate at all where the budget is below one": (
        "windows",
        "    return max(floor(candidates * (1.0 + 1e-12)), 1)\n",
        "    return floor(candidates * (1.0 + 1e-12))\n",
    ),
    "the budget is rounded up": (
        "windows",
        "    if terms.rounds_up:\n",
        "    if True:\n",
    ),
    "the budget is rounded down": (
        "windows",
        "    if terms.rounds_up:\n",
        "    if False:\n",
    ),
    "a window has the candidates of the one before": (
        "windows",
        "        slots_before=slots_before,\n        candidates=0,\n",
        "        slots_before=slots_before,\n        candidates=window.candidates,\n",
    ),
    "an arm of an earlier block is no candidate": (
        "windows",
        "    is_candidate = last_play < window.block_opened or place == 0\n",
        "    is_candidate = last_play < window.opened or place == 0\n",
    ),
    "the arms of earlier blocks stay candidates": (
        "windows",
        "    if rarely(terms.order == BLOCK and block != window.block):\n",
        "    if False:\n",
    ),
    "evidence against arms of earlier blocks is kept": (
        "windows",
        "        rows=window.rows_before,\n",
        "        rows=window.rows,\n",
    ),
    "new arms are counted from the first round": (
        "windows",
        "        slots_before=slots_before,\n",
        "        slots_before=0,\n",
    ),
    "the arm of a shift is never new": (
        "windows",
        "    slots_before = window.slots\n",
        "    slots_before = max(window.slots, slot + 1)\n",
    ),
    "in the order of the run, only arms of the window": (
        "windows",
        "    if terms.order == RUN:\n",
        "    if False:\n",
    ),
    # Paths of candidates.
    "the gap before the first play is 0": ("windows", "0.0 if terms.ignores_past else gap\n", "0.0\n"),
    "the gap before the first play is never 0": ("windows", "0.0 if terms.ignores_past else gap\n", "gap\n"),
    "the gap before the window is that of the first play in it": (
        "windows",
        "arms.gap[slot] if last_play > 0 else first_gap\n",
        "first_gap\n",
    ),
    "an arm is played once in a window": (
        "windows",
        "        plays.following[last_play - window.opened] = place\n",
        "        pass\n",
    ),
    "plays change nothing": (
        "windows",
        "plays.next_gap[place] if turn == 1 else plays.gap[place]\n",
        "plays.gap[place]\n",
    ),
    "an arm moves only when it is played": (
        "windows",
        "plays.next_gap[place] if turn == 1 else plays.gap[place]\n",
        "plays.next_gap[place] if turn == 1 else path.level\n",
    ),
    "a play changes its own round": (
        "windows",
        "            last = opened + place - 1 + turn  #",
        "            last = opened + place - 1  #",
    ),
    "an arm that is not played in the window has no gap": (
        "windows",
        "arms.before[slot] if is_played else arms.gap[slot]",
        "arms.before[slot] if is_played else 0.0",
    ),
    # The guard.
    "the guard is never lost": (
        "windows",
        "        if rarely(is_lost):\n            written",
        "        if False:\n            written",
    ),
    "plays of the guard do not count": (
        "windows",
        "        elif guard == slot:\n",
        "        elif False:\n",
    ),
    "the guard moves only when it is played": (
        "windows",
        "            path = changed(starts, allowance, path, round - 1, gap)\n",
        "            pass\n",
    ),
    # Windows.
    "a shift may come in the round that opens the window": (
        "windows",
        "        if window.guard != NO_SLOT or round == window.opened:\n",
        "        if window.guard != NO_SLOT:\n",
    ),
    "a window opens with the round after the shift": (
        "windows",
        "        window = reopened(window, round, block, slots_before)\n",
        "        window = reopened(window, round + 1, block, slots_before)\n        break\n",
    ),
    "the interval of a witness begins a round early": (
        "windows",
        "room.starts.rounds[best_start(room.starts, path.depth, round)] + 1\n",
        "room.starts.rounds[best_start(room.starts, path.depth, round)]\n",
    ),
    "the interval of a witness begins with the window": (
        "windows",
        "room.starts.rounds[best_start(room.starts, path.depth, round)] + 1\n",
        "room.starts.rounds[0] + 1\n",
    ),
    # Finitely many arms.
    "a tie is safe among finitely many arms": ("shifts", "margin=-TOLERANCE,", "margin=TOLERANCE,"),
    "the number of arms does not matter": ("shifts", "rule.threshold_scale * math.sqrt(arms)", "rule.threshold_scale"),
    "gaps are counted from 1 among finitely many arms": ("shifts", "table.max(axis=1, keepdims=True)", "1.0"),
    "the shift is where the last arm in order is unsafe": (
        "windows",
        "            shift = max(shift, unsafe_round)\n",
        "            shift = max(opened + 1, unsafe_round)\n",
    ),
    "levels of finitely many arms are not looked at": (
        "windows",
        "        if last == round or gaps[arm, last] != path.level:\n",
        "        if last == round:\n",
    ),
    "a safe arm among finitely many does not matter": (
        "windows",
        "                shift = rounds + 1\n                break\n",
        "                continue\n",
    ),
}


def edited(monkeypatch, file=None, old=None, new=None):
    """The package's functions as plain Python, with one edit."""
    for name in ("safety", "windows", "rules", "shifts"):
        text = (FOLDER / f"{name}.py").read_text()
        if name == file:
            assert text.count(old) == 1, f"{name}.py has changed: this no longer edits what it means to"
            text = text.replace(old, new)
        for import_line in ("from ..compiled import kernel, rarely\n", "from ..compiled import kernel, loop, rarely\n"):
            text = text.replace(import_line, "kernel = loop = rarely = lambda it: it\n")
        for imported in ("safety", "windows", "rules"):
            text = text.replace(f"from .{imported} import", f"from .edited_{imported} import")
        assert "compiled import" not in text
        module = types.ModuleType(f"manyarms.measures.edited_{name}")
        module.__package__ = "manyarms.measures"
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, f"edited {name}.py", "exec"), module.__dict__)
    return module


def whole_run_cases():
    source = random.Random("mutations")
    for number in range(170):
        run, options = random_run(source, KINDS[number % len(KINDS)]), random_options(source)
        yield run, options, twin(run, options)


def long_path_cases():
    """One arm, a change in every round, and a constant with which it is just unsafe, or just safe."""
    source = random.Random("long paths")
    for kind, factor in itertools.product(PATHS, (0.9, 0.99, 0.999, 1.001)):
        rounds, beta = source.randint(60, 150), source.choice([0.3, 1.0, 3.0])
        means = random_path(source, kind, rounds)
        run = Run([5] * rounds, means[:-1].tolist(), means[1:].tolist(), [1] * rounds)
        options = random_options(source) | {"beta": beta, "order": "window", "top": 1.0, "kappa": 1.0}
        options["threshold_scale"] = factor * worst_ratio(1.0 - means[:-1], beta)
        yield run, options, twin(run, options)


def finite_cases():
    source = random.Random("finite mutations")
    for number in range(24):
        arms = source.randint(2, 4)
        rows = [[source.randint(0, 8) / 8 for _ in range(arms)]]
        while len(rows) < 120:
            rows.append(rows[-1] if source.random() < 0.93 else [source.randint(0, 8) / 8 for _ in range(arms)])
        if number % 2:
            rows = [[0.9 * mean + 0.1 * source.random() for mean in row] for row in rows]
        yield rows, reference.finite_shifts(rows, reference.in_floats(1.0, math.sqrt(arms), ties=True))


@pytest.fixture(scope="module")
def cases():
    source = random.Random("questions")
    questions = [critical_question(source) for _ in range(1000)]
    return [*whole_run_cases(), *long_path_cases()], list(finite_cases()), questions


def first_difference(module, cases):
    """The number of the first case in which the edited code is wrong, or None."""
    runs, tables, questions = cases
    for number, (run, options, expected) in enumerate(runs):
        blocks = run.blocks if options["order"] == "block" else None
        try:
            shifts = module.significant_shifts(*run.log, **options, blocks=blocks)
            assert plain(shifts) == expected
            check_intervals(run, options, shifts)
        except (AssertionError, IndexError):
            return number
    for number, (rows, expected) in enumerate(tables):
        if plain(module.finite_significant_shifts(np.array(rows))) != expected:
            return len(runs) + number
    for number, (run, beta, scale, expected) in enumerate(questions):
        if module.first_unsafe_round(*run.log, 5, 1, beta, threshold_scale=scale) != expected:
            return len(runs) + len(tables) + number
    return None


def test_the_unedited_code_is_right_in_all_cases(monkeypatch, cases):
    assert first_difference(edited(monkeypatch), cases) is None


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_condition_is_noticed(mutation, monkeypatch, cases):
    assert first_difference(edited(monkeypatch, *MUTATIONS[mutation]), cases) is not None
