"""Reservoir: how common good arms are, estimated from arms that were tried.

The probability that a fresh arm's gap to the top is below x is about kappa x^beta for small x. docs/reservoir.md says
why a line through the log-log plot of observed means has the wrong slope.

*Means.* Given that a gap is below a depth d, log(d / gap) is exponential with rate beta (Hill 1975): the likelihood is
k log beta - beta S for k such arms, S the sum of these logarithms. A gap of 0 has no logarithm: what is known of it is
that it is at most the least gap above 0. It enters S with that one, and does not count in k. Such an arm may also be no
part of the power law, so that the upper end of the interval is the one without it, which is larger.

*Counts and noisy means.* An arm's gap is not seen, so none can be left out for being too large. The distribution of
means is taken to be the power law within the depth, and below it anything: a histogram with bins 1.5 standard
deviations of the noise wide, so that it holds what the data can tell. What is observed has the binomial (or normal)
distribution around the mean. For each beta the weights of the histogram are those of maximum likelihood: a concave
problem.

*Top unknown.* The likelihood is maximised over the top too. For means it is unbounded in the top if beta < 1, so that
the product of spacings is used in its place (Cheng & Amin 1983).

The interval holds all beta whose log-likelihood, maximised over all the rest, is within 1.92 of the best: half the 95 %
quantile of chi-squared with one degree of freedom. ``verification/reservoir.py`` shows how often it holds the truth.

Source: the method for counts is ours. Symbols: Suk & Kim, Assumption 1: beta; kappa_1 and kappa_2 -> kappa, one number.
"""

from .estimate import Advice as Advice
from .estimate import ReservoirEstimate as ReservoirEstimate
from .from_means import estimate_from_means as estimate_from_means
from .from_noise import estimate_from_counts as estimate_from_counts
from .from_noise import estimate_from_noisy_means as estimate_from_noisy_means
