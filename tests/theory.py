"""For tests of what papers or arithmetic promise."""

import manyarms as ma

HOPELESS = ma.World(ma.Empirical([0.0]), noise=ma.Exact())


def log_of(spec, world, horizon, seed=0):
    return ma.simulate({"it": spec}, world, horizon, seed=seed, log=True, threads=1).logs["it"][0]
