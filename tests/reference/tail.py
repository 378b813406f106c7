"""The estimate of beta, from all rewards of all arms in the order in which they came.

An arm dies in each play with a chance equal to its loss, as a share of the top. Under P(gap < x) = x^beta an arm that
is alive dies in its n-th play with odds beta / n. Everything is summed anew for every estimate.
"""

import math


def estimate_for(beta, tail, log_rounds):
    """The beta that was told, or the present estimate."""
    return tail.estimate(log_rounds) if beta == "auto" else beta


def within_bounds(deaths, survivals):
    """Their ratio, between 0.1 and 8; a ratio of less than nothing counts as 8."""
    if deaths >= 8.0 * survivals:
        return 8.0
    return max(deaths / survivals, 0.1)


class Tail:
    def __init__(self, top=1.0):
        self.top = top
        self.arms = {}  # how often each was played, and the chance that it is alive
        # What happened, in order: level, alive before, alive after, which play it was.
        self.plays = []
        # With a top below 1 a reward counts up to 1 / top, and the weight of an arm up to (1 / top)^n.
        self.levels = 1
        while self.levels < 16 and top ** -(2.0 ** (self.levels + 1)) <= 8.0:
            self.levels += 1

    # What a learned top would hear of.

    def goes(self, arm):
        pass

    def closed(self, arms):
        pass

    def opened(self, size):
        pass

    def limit(self, limit, rounds, length):
        return limit

    def saw(self, arm, reward):
        n, before = self.arms.get(arm, (0, 1.0))
        n += 1
        after = before * (min(max(reward, -1.0), 1.0) / self.top)
        self.arms[arm] = n, after
        level = n.bit_length() - 1  # n = 1; 2, 3; 4 … 7; …
        if level < self.levels:
            self.plays.append((level, before, after, n))

    def counts(self, level):
        """Arms that came to this level alive, that died there, and the sum of 1 / n of survivals."""
        came = deaths = survivals = 0.0
        for where, before, after, n in self.plays:
            if where == level:
                came += before if n == 2**level else 0.0
                deaths += before - after
                survivals += after / n
        return came, deaths, survivals

    def estimate(self, log_rounds):
        came, deaths, survivals = self.counts(0)
        betas = [within_bounds(2.0 + deaths, 2.0 + survivals)]
        trust = 1.0
        average = betas[0]
        for level in range(1, self.levels):
            if level * (max(average, 1.0) + 1.0) > log_rounds:
                break
            left = came - deaths
            came, deaths, survivals = self.counts(level)
            share = min(came, left) / max(came, left) if min(came, left) > 0.0 else 0.0
            trust *= (share * share) * (share * share)
            here = within_bounds(4.0 + deaths, 4.0 / betas[-1] + survivals)
            betas.append(betas[-1] + trust * (here - betas[-1]))
            total = 0.0
            for beta in betas:
                total += beta
            average = total / len(betas)
        return min(max(average, 0.1), 8.0)

    def cautious(self, log_rounds):
        """One standard error below."""
        _, deaths, _ = self.counts(0)
        return max((1.0 - 1.0 / math.sqrt(1.0 + max(deaths, 0.0))) * self.estimate(log_rounds), 0.1)
