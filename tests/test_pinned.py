"""No seeded number, digest or published figure moves unless a change says so; files of earlier versions are known."""

import json
from pathlib import Path

import pytest

from . import pinned

PINNED = json.loads(pinned.FILE.read_text(encoding="utf-8"))
PAIRS = {name: (policy, world) for name, policy, world in pinned.pairs()}
GOLDEN = Path(__file__).parent / "golden"


def test_digests_of_specs():
    assert pinned.spec_digests() == PINNED["specs"]


@pytest.mark.once
def test_digests_of_studies():
    assert pinned.study_digests() == PINNED["studies"]


def test_every_pair_is_pinned():
    assert set(PAIRS) == set(PINNED["rounds"]) == set(PINNED["ends"])


@pytest.mark.parametrize("name", PAIRS)
def test_every_round_of_a_short_run(name):
    assert pinned.rounds_digest(*PAIRS[name], pinned.SHORT) == PINNED["rounds"][name]


@pytest.mark.compiled
@pytest.mark.parametrize("name", PAIRS)
def test_the_end_of_a_long_run(name):
    assert pinned.ends(*PAIRS[name], pinned.LONG) == PINNED["ends"][name]
