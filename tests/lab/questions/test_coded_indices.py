"""Indices as they were coded: each plays as its slow twin, and is what its words say."""

import numpy as np
import pytest

import manyarms as ma
from manyarms.checks import checks
from manyarms.lab.questions.coded_indices import CodedUCB, StaleUCB
from tests.twinned import FLIPS, WEAR, check_plainly

BASES = [CodedUCB(), CodedUCB(sigma=0.5), StaleUCB(), StaleUCB(sigma=0.2), StaleUCB(window=9), StaleUCB(window=40)]

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("uncompiled")]


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["flips", "wear"])
@pytest.mark.parametrize("base", BASES, ids=lambda base: base.label())
def test_every_choice_is_that_of_the_twin(base, world):
    for arms in (1, 3, 12):
        check_plainly(ma.Subsample(base=base, beta=1.0, arms=arms), world, 250, seed=4)


@pytest.mark.parametrize("base", BASES[::2], ids=lambda base: base.label())
def test_what_all_bases_promise(base):
    # Those of the policies that run it compile, or concern what is live.
    own = [(name, check) for name, check in checks(base) if "." not in name]
    assert len(own) >= 3
    for _, check in own:
        check()


def arms_played(base, world, rounds, arms=4):
    policy = ma.Subsample(base=base, beta=1.0, arms=arms)
    return ma.simulate({"it": policy}, world, rounds, 1, seed=3, log=True).log("it").arm


def test_with_a_window_an_arm_is_played_twice_after_every_pause():
    # A play of the present round does not count: after the first one there is no index, and that comes before all.
    still = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    played = arms_played(StaleUCB(window=3), still, 300)
    assert played[:8].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    ends = np.flatnonzero(np.diff(played)) + 1
    lengths = np.diff(np.concatenate([[0], ends]))
    assert lengths.min() >= 2


def test_what_has_left_the_window_is_forgotten_only_by_the_arm_that_is_played():
    # Rewards without noise. Arms 0 and 1 are as they were when they were last played, however long ago.
    world = ma.World(ma.Uniform(0.2, 0.8), ma.Rotting(0.02), ma.Exact())
    window = ma.simulate(
        {"it": ma.Subsample(base=StaleUCB(window=5, sigma=1e-9), beta=1.0, arms=3)}, world, 60, 1, seed=3, log=True
    ).log("it")
    for t in range(8, 60):
        arm = window.arm[t]
        if arm != window.arm[t - 1]:
            # It took over from an arm whose windowed mean had fallen below the stale mean of this one.
            last = np.flatnonzero(window.arm[:t] == arm)[-1]
            seen = [window.mean[s] for s in range(max(last - 5, 0), last) if window.arm[s] == arm]
            other = window.arm[t - 1]
            fallen = [window.mean[s] for s in range(max(t - 6, 0), t - 1) if window.arm[s] == other]
            assert np.mean(seen) >= np.mean(fallen) - 1e-6


def test_the_code_explores_less_than_the_book():
    # f(t) is 1 + 2 t log t in place of 1 + t log(t)^2: smaller from t = e^2 on.
    coins = ma.World(ma.PowerLaw(beta=1.0))
    book = arms_played(ma.AsymptoticUCB(), coins, 1500, arms=8)
    coded = arms_played(CodedUCB(), coins, 1500, arms=8)
    most = [np.bincount(played, minlength=8).max() for played in (book, coded)]
    assert most[1] > most[0]
