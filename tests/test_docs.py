"""The documents say something of everything that can be chosen."""

import re
from pathlib import Path

import pytest

from manyarms import feedbacks
from manyarms.checks import examples
from tests import choosing

PAGES = Path(__file__).parent.parent / "docs" / "theory"
LATE = PAGES.parent / "late.md"

pytestmark = pytest.mark.once


def test_every_policy_and_base_has_a_page_that_names_it():
    words = {word for page in PAGES.glob("*.md") for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    assert {type(spec).__name__ for spec in examples() if spec.kind in ("policy", "base")} <= words


def test_the_page_to_choose_by_is_made_from_the_classes():
    text = choosing.PAGE.read_text(encoding="utf-8")
    assert text == choosing.written(text), "python -m tests.choosing writes it anew"


def test_the_page_to_choose_by_has_no_lists_within_its_list_of_sources():
    lines = choosing.MADE["manyarms policies --sources"]().splitlines()
    assert sum(line.startswith("- `") for line in lines) == len(choosing.ours())
    assert [line for line in lines if re.match(r"(?!- `)\s*([-+*#>]|\d+[.)]) ", line)] == []


def test_every_page_says_what_becomes_of_open_asks():
    assert [page.name for page in PAGES.glob("*.md") if "Open asks" not in page.read_text(encoding="utf-8")] == []


def test_the_page_on_late_answers_names_every_feedback():
    words = set(re.findall(r"\w+", LATE.read_text(encoding="utf-8")))
    abstract = {"Delay", "Feedback"}
    assert set(feedbacks.__all__) - abstract <= words
