"""What attacks yield: how many were tried, how many were held against, and what happened instead."""

import argparse
import collections
import time
from collections.abc import Callable, Iterable, Iterator


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
        return {"attack": self.attack, "tries": self.tries, "held": self.held, "else": words}


def scaled(tries: int, size: float) -> int:
    """So many tries at size 1, one at least."""
    return max(1, round(tries * size))


def print_rows(rows: Iterable[dict[str, object]]) -> bool:
    """One line for each; whether all attacks were held against."""
    is_held = True
    for row in rows:
        print(f"{row['held']:>6} of {row['tries']:<6} held: {row['attack']}", flush=True)
        if row["else"]:
            print(f"       else: {row['else']}", flush=True)
            is_held = False
    return is_held


def main(attacks: Callable[[int, float], Iterator[dict[str, object]]], words: str | None) -> int:
    """Run attacks from the command line; 1 if one was not held against."""
    parser = argparse.ArgumentParser(description=(words or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=float, default=1.0, help="scales the number of tries")
    options = parser.parse_args()
    begun = time.perf_counter()
    is_held = print_rows(attacks(options.seed, options.size))
    print(f"{time.perf_counter() - begun:.0f} s")
    return 0 if is_held else 1
