"""The documents say something of everything that can be chosen."""

import re
from pathlib import Path

import pytest

from manyarms.checks import examples

PAGES = Path(__file__).parent.parent / "docs" / "theory"

pytestmark = pytest.mark.once


def test_every_policy_and_base_has_a_page_that_names_it():
    words = {word for page in PAGES.glob("*.md") for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    assert {type(spec).__name__ for spec in examples() if spec.kind in ("policy", "base")} <= words
