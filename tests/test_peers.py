"""The comparison with other packages: that what is there is compared, and what is missing is said. Nothing is timed."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "peers.py"


@pytest.fixture
def peers(monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmarks_of_peers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def missing(arms):
        raise ImportError("no package of that name")

    turns = iter(range(1, 100))
    monkeypatch.setattr(
        module,
        "LOOPS",
        {
            module.SSUCB: lambda arms: (1e-6 * arms, 10),
            module.KLUCB: lambda arms: (2e-6 * arms, 10),
            "theirs": lambda arms: (4e-6 * arms * next(turns), 10),
            "missing": missing,
        },
    )
    return module


def test_the_least_time_of_each_counts_and_is_held_against_ours(peers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers.py", "--turns", "2"])
    peers.main()
    captured = capsys.readouterr()
    head, *rows = (line.split("  ") for line in captured.out.splitlines()[:-1])
    assert head[-1].strip() == "over KLUCB at 1,000"
    names = [row[0] for row in rows]
    assert names == [peers.SSUCB, peers.KLUCB, "theirs"]
    # The third of its first three calls has 1,000 arms: 4e-6 * 1,000 * 3 s for 10 rounds are 1,200 µs.
    cells = [cell.strip() for cell in rows[-1] if cell]
    assert cells[-3:] == ["1,200", "12", "6"]
    assert captured.err == "left out: missing (no package of that name)\n"


def test_figures_for_machines_are_nothing_but_json(peers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers.py", "--turns", "1", "--json"])
    peers.main()
    assert json.loads(capsys.readouterr().out)["theirs"]["10"] == pytest.approx(4.0)


def test_rewards_of_an_arm_are_coins(peers):
    reward_of = peers.coins(3)
    assert {reward_of(arm) for arm in (0, 1, 2) * 50} == {0.0, 1.0}
