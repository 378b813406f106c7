"""The tests of significant shifts notice when any condition of the algorithm is broken.

Each mutation is one edit of the sources, listed in shifts_mutations.txt. The edited code, run as plain Python, must
differ from the slow twin in some run of a fixed set, or fail; the unedited code must not.
"""

import itertools
import math
import random
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import manyarms.measures
from tests.measures.test_shifts import (
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
from tests.reference import shifts as reference

UNCOMPILED = "kernel = loop = rarely = lambda it: it\nfrom ..compiled import replaced\n"
FOLDER = Path(manyarms.measures.__file__).parent

MUTATIONS_FILE = Path(__file__).with_name("shifts_mutations.txt")


def read_mutations():
    """By what is broken, the edit: a file, the lines to find in it and the lines to put in their place."""
    mutations = {}
    for line in MUTATIONS_FILE.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("@ "):
            file, broken = line[2:].rstrip().split(": ", 1)
            old, new = [], []
            mutations[broken] = (file, old, new)
        elif line.startswith(("-", "+")):
            (old if line.startswith("-") else new).append(line[1:])
    return {broken: (file, "".join(old), "".join(new)) for broken, (file, old, new) in mutations.items()}


MUTATIONS = read_mutations()


def edited(monkeypatch, file=None, old=None, new=None):
    """The package's functions as plain Python, with one edit."""
    for name in ("safety", "windows", "rules", "shifts"):
        text = (FOLDER / f"{name}.py").read_text()
        if name == file:
            assert text.count(old) == 1, f"{name}.py has changed: this no longer edits what it means to"
            text = text.replace(old, new)
        text = re.sub("from ..compiled import .*\n", UNCOMPILED, text)
        for imported in ("safety", "windows", "rules"):
            text = text.replace(f"from .{imported} import", f"from .edited_{imported} import")
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
