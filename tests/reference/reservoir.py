"""The tail of a reservoir: what one would do at first, and the likelihood by brute force."""

import itertools

import numpy as np
from scipy import integrate, optimize, stats


def naive_beta(means, top=1.0, share=0.25):
    """The slope of the log of the share of arms within a gap against the log of the gap, over the best quarter.

    0 where there is no line to draw.
    """
    gaps = np.sort(top - np.asarray(means))
    ranks = np.arange(1, gaps.size + 1) / gaps.size
    kept = (gaps > 0) & (ranks <= share)
    if np.unique(gaps[kept]).size < 3:  # too many means at the very top for a line
        return 0.0
    return float(np.polyfit(np.log(gaps[kept]), np.log(ranks[kept]), 1)[0])


def hill(means, threshold, top):
    """Hill's estimate with its exact interval: twice beta times the sum of log gaps is chi-squared."""
    gaps = top - np.asarray(means)[np.asarray(means) > threshold]
    total = np.log((top - threshold) / gaps).sum()
    low, high = stats.chi2.ppf([0.025, 0.975], 2 * gaps.size) / (2 * total)
    return gaps.size / total, low, high


def log_likelihood(successes, plays, beta, bin_edges, top):
    """The best log-likelihood of a power law above the last edge and a histogram below it, each integral by quadrature.

    Up to a constant that does not depend on beta: the binomial coefficients.
    """
    threshold = bin_edges[-1]

    def binomial(mean, s, n):
        return mean**s * (1.0 - mean) ** (n - s)

    columns = []
    for s, n in zip(successes, plays, strict=True):
        row = [
            integrate.quad(binomial, low, high, args=(s, n), limit=200, epsrel=1e-10)[0] / (high - low)
            for low, high in itertools.pairwise(bin_edges)
        ]
        # Where the power law's distribution function is u, the gap is depth u^(1 / beta).
        row.append(
            integrate.quad(
                lambda u, s=s, n=n: binomial(top - (top - threshold) * u ** (1.0 / beta), s, n), 0.0, 1.0, limit=200
            )[0]
        )
        columns.append(row)
    columns = np.array(columns)

    def negative(logits):
        weights = np.exp(logits - logits.max())
        return -np.log(columns @ (weights / weights.sum())).sum()

    parts = columns.shape[1]
    starts = (np.zeros(parts), np.linspace(-2.0, 2.0, parts), np.linspace(2.0, -2.0, parts))
    return -min(optimize.minimize(negative, start, method="Nelder-Mead", options=NELDER).fun for start in starts)


NELDER = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-8, "fatol": 1e-10}
