"""What attacks yield: how many were tried, how many were held against, and what happened instead."""

import argparse
import collections
import time
from collections.abc import Callable, Iterable, Iterator

from manyarms.tables import Table

INSTEAD = "what happened instead"


class Row:
    """One kind of attack, as it is counted."""

    def __init__(self, attack: str) -> None:
        self.attack = attack
        self.tries = 0
        self.held = 0
        self.others: collections.Counter[str] = collections.Counter()

    def note(self, otherwise: str = "") -> None:
        """One more try, which held, or what happened instead."""
        self.tries += 1
        if otherwise:
            self.others[otherwise[:300]] += 1
        else:
            self.held += 1

    def values(self) -> dict[str, object]:
        """The row."""
        words = "; ".join(f"{number} × {what}" for what, number in self.others.most_common(8))
        return {"attack": self.attack, "tried": self.tries, "held": self.held, INSTEAD: words}


def scaled(tries: int, size: float) -> int:
    """So many tries at size 1, one at least."""
    return max(1, round(tries * size))


def printed(rows: Iterable[dict[str, object]]) -> Iterator[dict[str, object]]:
    """The same, each as a line as soon as it is there."""
    for row in rows:
        print(f"{row['held']:>6} of {row['tried']:<6} held: {row['attack']}", flush=True)
        if row[INSTEAD]:
            print(f"       else: {row[INSTEAD]}", flush=True)
        yield row


def main(attacks: Callable[[int, float], Iterator[dict[str, object]]], words: str | None) -> int:
    """Run attacks from the command line, and print a table of them all; 1 if one was not held against."""
    parser = argparse.ArgumentParser(description=(words or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=float, default=1.0, help="scales the number of tries")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    options = parser.parse_args()
    begun = time.perf_counter()
    rows = list(printed(attacks(options.seed, options.size)))
    print(f"{time.perf_counter() - begun:.0f} s\n")
    print(Table(rows).to_markdown() if options.markdown else Table(rows))
    return 1 if any(row[INSTEAD] for row in rows) else 0
