"""The tables of docs/choose.md are made from the classes: ``python -m tests.choosing`` writes them anew."""

from pathlib import Path

from manyarms import bases, policies
from manyarms.cli.lists import sources, tables_to_choose_by
from manyarms.specs import SPEC_TYPES

PAGE = Path(__file__).parent.parent / "docs" / "choose.md"


def ours():
    """The package's policies and bases: what the command lists where nothing is imported."""
    return [SPEC_TYPES[name] for room in (policies, bases) for name in sorted(room.__all__) if name in SPEC_TYPES]


MADE = {
    "manyarms policies --table --format markdown": lambda: "\n\n".join(
        table.to_markdown() for table in tables_to_choose_by(ours())
    ),
    "manyarms policies --sources": lambda: sources(ours()),
}
"""By command, what it prints."""


def written(text):
    """The page with all of that in its places."""
    for command, made in MADE.items():
        begin, end = f"<!-- {command} -->\n", "<!-- end -->"
        before, _, after = text.partition(begin)
        text = before + begin + "\n" + made() + "\n\n" + after[after.index(end) :]
    return text


def main():
    """Write the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
