"""Honda & Takemura (JMLR 2015): IMED, with the divergence of coins."""

import math

from manyarms.arithmetic import natural_log

from .dense import Dense
from .kl_ucb import kl
from .twins import twin_of


def divergence(p, best):
    """d(p, best) for p <= best, both in [0, 1]; infinite if best = 1 > p."""
    if p == best:
        return 0.0
    return math.inf if best == 1.0 else kl(p, 1.0 - best)


class IMED(Dense):
    def pick(self, t):
        if 0 in self.plays:
            return self.plays.index(0)
        means = [min(max(total / n, 0.0), 1.0) for total, n in zip(self.sums, self.plays, strict=True)]
        best = max(means)
        # I_i = T_i D(mean_i, best mean) + log T_i; the first arm with the least, but for rounding.
        indices = [n * divergence(mean, best) + natural_log(n) for mean, n in zip(means, self.plays, strict=True)]
        return next(place for place, index in enumerate(indices) if index <= min(indices) + 1e-9)


@twin_of("IMED")
def new_imed(spec, setting):
    return IMED
