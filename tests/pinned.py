"""What must not move: digests of specs, of studies and of what meets in the arenas, and every round of short runs.

``python -m tests.pinned`` writes them anew: to pin something new, or for a change that belongs under "Numbers" in the
changelog; nothing else may differ then.
"""

import hashlib
import json
from pathlib import Path

import manyarms as ma
from manyarms import checks, lab
from manyarms.checks.runs import BUSY_POLICY
from manyarms.lab.arena.arena import LEAGUES

FILE = Path(__file__).parent / "golden" / "numbers.json"

SEED = 7
SHORT, LONG = 400, 20_000
COLUMNS = ("arm", "mean", "next_mean", "reward", "probability", "block", "episode")


def pairs():
    """Every example policy and base in one world, every example world under one policy, as name, policy, world."""
    for spec in checks.examples():
        if isinstance(spec, ma.World):
            yield spec.label(), BUSY_POLICY, spec
        elif isinstance(spec, ma.Policy):
            yield spec.label(), spec, checks.BUSY_WORLD
        elif isinstance(spec, ma.Base):
            yield spec.label(), ma.Subsample(base=spec, beta=1.0, arms=12, horizon="doubling"), checks.BUSY_WORLD
    for cell in lab.figure_1("published").cells:
        if cell.horizon == 20_000:
            yield f"published {cell.label}", cell.policy, cell.world


def rounds_digest(policy, world, horizon):
    """A digest of every round of two replications."""
    result = ma.simulate({"it": policy}, world, horizon, replications=2, seed=SEED, log=True)
    digest = hashlib.sha256()
    for replication in (0, 1):
        log = result.log("it", replication)
        for column in COLUMNS:
            digest.update(getattr(log, column).tobytes())
    return digest.hexdigest()[:16]


def ends(policy, world, horizon):
    """The numbers at the end of two replications."""
    result = ma.simulate({"it": policy}, world, horizon, replications=2, seed=SEED, log=True, checkpoints=1)
    return result.values["it"][:, -1].tolist()


def spec_digests():
    """By kind and label."""
    return {f"{spec.kind} {spec.label()}": f"{spec.digest():016x}" for spec in checks.examples()}


def study_digests():
    """Of every study with a name."""
    return {name: lab.named_study(name).digest() for name in lab.study_names()}


def entrant_digests():
    """Of what each entrant of the arenas plays, in every contest; so one more entrant changes none."""
    return {
        f"{league.name}: {entrant.name}": played_digest(entrant, league.contests)
        for league in LEAGUES.values()
        for entrant in league.entrants
    }


def played_digest(entrant, contests):
    """A digest of the worlds, horizons and policies of an entrant."""
    played = [
        [contest.name, contest.world.digest(), contest.horizon, name, policy.digest()]
        for contest in contests
        for name, policy in entrant.policies(contest).items()
    ]
    return hashlib.sha256(json.dumps(played).encode()).hexdigest()[:16]


def written():
    """All of it."""
    return {
        "specs": spec_digests(),
        "studies": study_digests(),
        "entrants": entrant_digests(),
        "rounds": {name: rounds_digest(policy, world, SHORT) for name, policy, world in pairs()},
        "ends": {name: ends(policy, world, LONG) for name, policy, world in pairs()},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(written(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
