"""The promises of worlds."""

import math

import numpy as np

from ..bases import UCB
from ..contract import begin, preview, pull, reward_of
from ..engine import simulate
from ..policies import Blackbox
from ..policies.base import DOUBLING
from ..streams import NOISE_STREAM, bits_at, replication_key, stream_key
from ..trace import COLUMNS
from ..world import World
from .promises import SEED, hold, promise
from .runs import BUSY_POLICY, PLAIN, played

OTHER_POLICY = Blackbox(base=UCB(), beta=1.0, horizon=DOUBLING)


@promise("world")
def same_seed_same_arms(world: World) -> None:
    """The arms of a replication are the same whenever it begins, and other ones have others."""
    key, other = replication_key(SEED, 0), replication_key(SEED, 1)
    used = begin(world.start(3), key)
    first = [float(preview(used, arm, 1)) for arm in range(200)]
    for round in range(1, 50):
        used, _, _, _ = pull(used, round % 3, round % 3, round)
    used = begin(used, other)
    others = [float(preview(used, arm, 1)) for arm in range(200)]
    again = [float(preview(begin(used, key), arm, 1)) for arm in range(200)]
    hold(first == again, "the same replication began with other arms the second time")
    hold(first != others or len(set(first)) == 1, "two replications have the same arms")


@promise("world")
def means_are_means(world: World) -> None:
    """Every mean lies in [0, 1], every reward is a finite number."""
    log = played(BUSY_POLICY, world, 1000, loop=PLAIN)[1]
    for name in ("mean", "next_mean"):
        values = getattr(log, name)
        hold(values.min() >= 0.0 and values.max() <= 1.0, f"{name} runs from {values.min()} to {values.max()}")
    hold(np.isfinite(log.reward).all(), "a reward is not a finite number")


@promise("world")
def rewards_average_to_the_mean(world: World) -> None:
    """The expectation of a reward is the mean of the arm."""
    noise = world.noise.start()
    key = stream_key(replication_key(SEED, 0), NOISE_STREAM, 0)
    plays = 4000
    for arm, mean in enumerate((0.0, 0.2, 0.5, 0.9, 1.0)):
        rewards = np.array([reward_of(noise, mean, bits_at(key, arm, play)) for play in range(plays)])
        # Seven standard errors: a false alarm in a billion tries. The last term is for rounding.
        allowed = 7.0 * float(rewards.std()) / math.sqrt(plays) + 1e-9
        average = float(rewards.mean())
        hold(abs(average - mean) <= allowed, f"rewards of an arm with mean {mean} average {average:.4g}")


@promise("world")
def sums_match_the_log(world: World) -> None:
    """Regret, reward, V, V_R, L and L_R are what the log adds up to, at every checkpoint."""
    horizon = 500
    out, log = played(BUSY_POLICY, world, horizon, loop=PLAIN)
    falls = (log.mean - log.next_mean).tolist()
    for place, end in enumerate((1, 2, horizon // 4, horizon // 2, horizon)):
        wanted = dict.fromkeys(COLUMNS, 0.0)
        for mean, reward in zip(log.mean[:end].tolist(), log.reward[:end].tolist(), strict=True):
            wanted["regret"] += world.top - mean
            wanted["reward"] += reward
        # The change after the last round belongs to the round that has not come.
        for fall in falls[: end - 1]:
            wanted["V"] += abs(fall)
            wanted["V_R"] += max(fall, 0.0)
            wanted["L"] += fall != 0.0
            wanted["L_R"] += fall > 0.0
        for column in ("regret", "reward", "V", "V_R", "L", "L_R"):
            found = float(out[0, place, COLUMNS.index(column)])
            hold(found == wanted[column], f"{column} at round {end} is {found!r}, the log says {wanted[column]!r}")


@promise("world")
def plays_are_the_same_for_all(world: World) -> None:
    """The n-th play of an arm is the same event for every policy."""
    key = replication_key(SEED, 2)
    noise_key = stream_key(key, NOISE_STREAM, 0)
    noise = world.noise.start()
    arms = begin(world.start(1), key)
    for policy in (BUSY_POLICY, OTHER_POLICY):
        log = played(policy, world, 600, first=2, loop=PLAIN)[1]
        plays: dict[int, int] = {}
        means: dict[int, float] = {}
        entries = zip(log.arm.tolist(), log.mean.tolist(), log.next_mean.tolist(), log.reward.tolist(), strict=True)
        for round, (arm, mean, next_mean, reward) in enumerate(entries, start=1):
            where = f"{type(policy).__name__}, round {round}, arm {arm}"
            wanted = means.get(arm, float(preview(arms, arm, round)))
            hold(mean == wanted, f"{where}: its mean is {mean!r}, not {wanted!r}")
            bits = bits_at(noise_key, arm, plays.get(arm, 0))
            wanted = float(reward_of(noise, mean, bits))
            hold(reward == wanted, f"{where}: its reward is {reward!r}, not {wanted!r}")
            plays[arm] = plays.get(arm, 0) + 1
            means[arm] = next_mean


@promise("world")
def replications_are_independent(world: World) -> None:
    """A replication is the same alone, among others, and on any number of threads."""
    many = played(BUSY_POLICY, world, 200, rows=7)[0]
    for row in (5, 1):
        alone = played(BUSY_POLICY, world, 200, first=row)[0]
        hold(alone[0].tobytes() == many[row].tobytes(), f"replication {row} alone is not row {row} of a larger run")
    for threads in (1, 3):
        run = simulate({"it": BUSY_POLICY}, world, 200, 7, SEED, checkpoints=[1, 2, 50, 100], threads=threads, log=True)
        hold(run["it"].tobytes() == many.tobytes(), f"simulated on {threads} threads, the replications differ")
