"""Ménard & Garivier (ALT 2017): kl-UCB++. Its index by the bisection of KL-UCB's twin."""

from manyarms.arithmetic import natural_log

from .dense import Shortened
from .kl_ucb import least_gap
from .twins import twin_of


def log_plus(x):
    return max(natural_log(x), 0.0)


def g(n, T, K):  # noqa: N803, the paper's letters
    """log+((T / (K n)) (log+(T / (K n))^2 + 1))."""
    y = T / K / n
    return log_plus(y * (log_plus(y) ** 2 + 1.0))


class KLUCBPlusPlus(Shortened):
    def index(self, total, plays):
        # U_a = sup{mu : kl(mean, mu) <= g(N_a) / N_a}, as minus its distance from 1.
        mean = min(max(total / plays, 0.0), 1.0)
        bound = g(plays, self.horizon, len(self.plays)) / plays
        return -(least_gap(mean, bound) if bound > 0.0 else 1.0 - mean)


@twin_of("KLUCBPlusPlus")
def new_kl_ucb_plus_plus(spec, setting):
    return KLUCBPlusPlus
