"""Settings of the rivals that are refused."""

import pytest

import manyarms as ma

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ma.KFailure(0), "KFailure: failures must be a whole number of at least 1, not 0"),
        (lambda: ma.KFailure(1.5), "KFailure: failures must be a whole number"),
        (lambda: ma.MRun(run=0), "MRun: run must be a whole number of at least 1, not 0"),
        (lambda: ma.MRun(recall=1), "MRun: recall must be True or False, not 1"),
        (lambda: ma.MRun(horizon="long"), "MRun: horizon must be a whole number, None or 'doubling'"),
        (lambda: ma.CBT(beta=0), "CBT: beta must be above 0, not 0"),
        (lambda: ma.CBT(beta=1.0, first_loss=-1), "CBT: first_loss must be above 0, not -1"),
        (lambda: ma.CBT(beta=1.0, target=0.0), "CBT: target must be above 0, not 0"),
        (lambda: ma.CBT(beta=1.0, horizon=0), "CBT: horizon must be a whole number of at least 1"),
        (lambda: ma.EmpiricalCBT(keep=0), "EmpiricalCBT: keep must be a whole number of at least 1, not 0"),
        (lambda: ma.UCBTASW(beta=1.0), "UCBTASW: tell it variation or changes, or delta; AUCBTASW needs none"),
        (lambda: ma.UCBTASW(beta=-1, changes=0), "UCBTASW: beta must be above 0, not -1"),
        (lambda: ma.UCBTASW(beta=1.0, variation=-0.1), "UCBTASW: variation must be at least 0, not -0.1"),
        (lambda: ma.UCBTASW(beta=1.0, changes=1.5), "UCBTASW: changes must be a whole number of at least 0"),
        (lambda: ma.UCBTASW(beta=1.0, delta=1.1), r"UCBTASW: delta must lie in \[0, 1\], not 1.1"),
        (lambda: ma.UCBTASW(beta=1.0, delta=0.1, width=0), "UCBTASW: width must be above 0, not 0"),
        (lambda: ma.UCBTASW(beta=1.0, delta=0.1, top=2), "UCBTASW: top must lie in"),
        (lambda: ma.TwoTarget(failures=0), "TwoTarget: failures must be a whole number of at least 1, not 0"),
        (lambda: ma.TwoTarget(beta=0), "TwoTarget: beta must be above 0, not 0"),
        (lambda: ma.TwoTarget(alpha=-1), "TwoTarget: alpha must be above 0, not -1"),
        (lambda: ma.NLearning(learning=0), "NLearning: learning must be a whole number of at least 1, not 0"),
        (lambda: ma.NLearning(horizon="long"), "NLearning: horizon must be a whole number, None or 'doubling'"),
        (lambda: ma.UCBTP(rotting=-0.1), "UCBTP: rotting must be at least 0, not -0.1"),
        (lambda: ma.UCBTP(rotting=0.1, delta=1.1), r"UCBTP: delta must lie in \[0, 1\], not 1.1"),
        (lambda: ma.UCBTP(rotting=0.1, width=0), "UCBTP: width must be above 0, not 0"),
        (lambda: ma.AUCBTP(scale=0), "AUCBTP: scale must be above 0, not 0"),
        (lambda: ma.AUCBTP(top=2), "AUCBTP: top must lie in"),
        (lambda: ma.EmpiricalCBT(horizon="ever"), "EmpiricalCBT: horizon must be a whole number, None or 'doubling'"),
    ],
    ids=lambda value: value.partition(":")[0] if isinstance(value, str) else "",
)
def test_wrong_settings_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()
