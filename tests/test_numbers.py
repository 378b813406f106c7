"""verification/known_numbers.py: the table is well-formed, and a number that is wrong is found out."""

import functools
import itertools
import math

import numpy as np
import pytest

from manyarms.lab.questions.known import FORMULA, ORIGINS
from verification import known_numbers
from verification.known_numbers import EVERY, MEANS, Fact, compared, main

pytestmark = pytest.mark.once


def finding(*values):
    """A play that finds these."""
    return lambda seed: np.array(values, dtype=float)


@pytest.fixture(scope="module")
def groups():
    return {name: make() for name, make in known_numbers.GROUPS.items()}


def test_each_number_stands_once_and_says_where_it_comes_from(groups):
    facts = list(itertools.chain(*groups.values()))
    assert len({fact[:2] for fact in facts}) == len(facts)
    for fact in facts:
        assert fact.source in ORIGINS, fact
        assert callable(fact.play), fact
        assert callable(fact.known) or 0.0 <= fact.known < math.inf, fact
        assert 0 <= fact.of < 1_000, fact
        assert fact.holds == MEANS or (fact.holds == EVERY and fact.source == FORMULA), fact


def test_a_wrong_number_is_found_out(groups, monkeypatch, capsys):
    def command_finds(wrong):
        """How the command ends if all that is known is found, but for one fact of this group, which is 1 % off."""
        for name, facts in groups.items():
            known = [0.1 if callable(fact.known) else fact.known for fact in facts]
            right = [
                fact._replace(play=finding(*2 * [number]), known=finding(0.1, 0.1) if callable(fact.known) else number)
                for fact, number in zip(facts, known, strict=True)
            ]
            if name == wrong:
                right[-1] = right[-1]._replace(play=finding(*2 * [1.01 * known[-1]]))
            make = functools.wraps(known_numbers.GROUPS[name])(lambda right=right: right)
            monkeypatch.setitem(known_numbers.GROUPS, name, make)
        return main([]), capsys.readouterr().out.count("NO")

    assert command_finds(None) == (0, 0)
    for name in groups:
        assert command_finds(name) == (1, 1), name
    assert main(["--only", next(iter(groups))]) == 0


def test_the_tolerance_is_that_of_both_means():
    ours, rows = finding(9.0, 11.0, 9.0, 11.0), 100  # a variance of 4/3
    multiple = known_numbers.multiple(rows)

    def tolerance(**fact):
        row = compared(Fact("who", "where", ours, **fact), rows, seed=1)
        return float(row["tolerance"]), row["agrees"]

    told = multiple * math.sqrt(4 / 3 * (1 / 4 + 1 / 24))
    assert tolerance(known=10.0 + told - 0.01, of=24) == (pytest.approx(told, rel=1e-3), "yes")
    assert tolerance(known=10.0 + told + 0.01, of=24)[1] == "NO"
    assert tolerance(known=10.0)[0] == pytest.approx(multiple * math.sqrt(4 / 3 * 2 / 4), rel=1e-3)
    assert tolerance(known=10.0, source=FORMULA)[0] == pytest.approx(multiple * math.sqrt(4 / 3 / 4), rel=1e-3)
    assert tolerance(known=finding(9.0, 11.0))[0] == pytest.approx(multiple * math.sqrt(4 / 3 / 4 + 2 / 2), rel=1e-3)
    assert tolerance(known=11.0, source=FORMULA, holds=EVERY) == (0.0, "yes")
    assert tolerance(known=10.9, source=FORMULA, holds=EVERY) == (0.0, "NO")
