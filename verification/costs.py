"""What one more arm adds to a round, in nanoseconds, for those who look at all of them: `manyarms.lab.running.costs`.

    python verification/costs.py

Each plays 20,000 rounds on few arms and on many, once it is compiled, on one core; the difference over that of the arms
is printed beside the figure that plans go by. Only orders of magnitude matter there.
"""

import time

import manyarms as ma
from manyarms.lab.arena.subsampled import BASES, most_arms
from manyarms.lab.running.costs import nanoseconds_an_arm

WORLD = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting(rate=1e-4))
ROUNDS = 20_000
FEW, MANY = 50, 500


def nanoseconds_a_round(policy: ma.Policy) -> float:
    """Of processor time; the first, shorter run compiles."""
    ma.simulate(policy, WORLD, 100, replications=1, checkpoints=1)
    before = time.process_time()
    ma.simulate(policy, WORLD, ROUNDS, replications=1, checkpoints=1)
    return 1e9 * (time.process_time() - before) / ROUNDS


def main() -> None:
    """One line for each base."""
    print(f"{'base':<24}{'measured':>10}{'planned':>10}")
    for name, base in (BASES | {"Thompson": ma.Thompson()}).items():
        many = int(min(MANY, most_arms(base)))
        few_and_many = [ma.Subsample(base=base, beta=1.0, arms=arms) for arms in (FEW, many)]
        few, more = map(nanoseconds_a_round, few_and_many)
        print(f"{name:<24}{(more - few) / (many - FEW):>10.1f}{nanoseconds_an_arm(few_and_many[0]):>10.1f}", flush=True)


if __name__ == "__main__":
    main()
