"""Whether what docs/promises.md promises holds against attack, python -m verification.trust.

All attacks, one after another: results and chunks are flipped, cut off and rewritten, runs are killed; workers and
schedulers of a real Dask cluster are killed and exchanged; snapshots, journals and processes of live bandits are
damaged, forked and interrupted; files of the compile cache are flipped. Each group has a module of its own in
verification/attacks, which runs alone, too. Prints a line for each kind of attack and a table of them all, as Markdown
with --markdown, and exits with 1 if one was not held against.
"""

import sys
from collections.abc import Iterator

from verification.attacks import bandits, cache, cluster, results
from verification.attacks.rows import main

WHAT_IS_ATTACKED = {
    "results and studies": results.attacks,
    "clusters": cluster.attacks,
    "live bandits": bandits.attacks,
    "the compile cache": cache.attacks,
}


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """All attacks, a headline before each group."""
    for what, attack in WHAT_IS_ATTACKED.items():
        print(f"\n{what}", flush=True)
        yield from attack(seed, size)


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
