"""Subsample and SSUCB: the choices of their twins, and the size of the one subsample."""

import itertools

import pytest

import manyarms as ma
from tests.reference import sizes
from tests.twinned import (
    TOLD,
    asymptotic_ucbs,
    greedies,
    plays_as_its_twin,
    ssucbs,
    subsamples,
    successive,
    two_worlds,
    ucbs,
)

# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
test_subsample_over_ucb_plays_as_its_twin = plays_as_its_twin(subsamples(ucbs), two_worlds)
test_subsample_over_greedy_plays_as_its_twin = plays_as_its_twin(subsamples(greedies), two_worlds)
test_subsample_over_successive_elimination_plays_as_its_twin = plays_as_its_twin(
    subsamples(successive, **TOLD), two_worlds
)
test_subsample_over_asymptotic_ucb_plays_as_its_twin = plays_as_its_twin(subsamples(asymptotic_ucbs), two_worlds)
test_ssucb_plays_as_its_twin = plays_as_its_twin(ssucbs, two_worlds, examples=150)


GRID = [0.5, 0.8, 1.2, *(step / 20 for step in range(6, 61))]


@pytest.mark.once
def test_one_subsample_for_the_run_has_the_size_of_exact_arithmetic():
    lengths = [*range(1, 70), 100, 1000, 4096, 10_000, 59_049, 100_000, 2**20, 10**6, 2**30]
    for beta, length in itertools.product(GRID, lengths):
        spec = ma.SSUCB(beta=beta, horizon=length)
        assert spec.slots(length) == sizes.subsample_size(length, beta), (beta, length)
        published = spec.replace(preset="published")
        assert published.slots(length) == sizes.subsample_size(length, beta, published=True), (beta, length)
