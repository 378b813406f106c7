"""What policies and bases say of themselves, for those who choose."""

import pytest

import manyarms as ma
from manyarms import about
from tests.choosing import ours

pytestmark = pytest.mark.once

GOOD = {"told": ("T",), "rate": "T", "made_for": ("still",), "cost": "O(1)"}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("told", "T, beta", "each of the told must be a text, not ' '"),
        ("told", ("",), "each of the told must be a text, not ''"),
        ("rate", " ", "About: rate must be a text, not ' '"),
        ("made_for", ("fun",), "each of the made_for must be one of 'still', .*, not 'fun'"),
        ("cost", None, "About: cost must be a text, not None"),
    ],
)
def test_what_says_nothing_is_refused(field, value, message):
    assert about.About(**GOOD).told == ("T",)
    with pytest.raises(ValueError, match=message):
        about.About(**GOOD | {field: value})


def test_words_are_explained_and_no_others():
    said = [one.about for one in ours()]
    assert {word for one in said for word in one.told} == set(about.TOLD)
    assert {word for one in said for word in one.made_for} == set(about.PURPOSES)
    assert set(about.FIELDS) <= set(about.TOLD)


def test_every_module_says_where_its_algorithm_is_from_and_what_was_changed():
    for one in ours():
        source = about.part_of_docstring(one, "Source")
        assert source, one
        from_elsewhere = not source.startswith(("ours", "none needed"))
        assert bool(about.part_of_docstring(one, "Deviations")) == from_elsewhere, one


def test_a_paragraph_of_a_docstring_is_one_line():
    assert about.part_of_docstring(ma.UniformPlay, "Source") == "none needed."
    assert about.part_of_docstring(ma.UniformPlay, "Deviations") == ""
    assert "\n" not in about.part_of_docstring(ma.MUCB, "Deviations")
