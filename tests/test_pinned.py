"""No seeded number, digest or published figure moves unless a change says so; files of earlier versions are known."""

import json

import pytest

from . import pinned

PINNED = json.loads(pinned.FILE.read_text(encoding="utf-8"))
PAIRS = {name: (policy, world) for name, policy, world in pinned.pairs()}


def unchanged(found, what):
    """What is pinned is as it was; what came later is not pinned yet."""
    return {name: found.get(name) for name in PINNED[what]} == PINNED[what]


def test_digests_of_specs():
    assert unchanged(pinned.spec_digests(), "specs")


@pytest.mark.once
def test_digests_of_studies():
    assert unchanged(pinned.study_digests(), "studies")


@pytest.mark.once
def test_digests_of_what_meets_in_the_arenas():
    assert unchanged(pinned.entrant_digests(), "entrants")


@pytest.mark.parametrize("name", PINNED["rounds"])
def test_every_round_of_a_short_run(name):
    assert pinned.rounds_digest(*PAIRS[name], pinned.SHORT) == PINNED["rounds"][name]


@pytest.mark.compiled
@pytest.mark.parametrize("name", PINNED["ends"])
def test_the_end_of_a_long_run(name):
    assert pinned.ends(*PAIRS[name], pinned.LONG) == PINNED["ends"][name]
