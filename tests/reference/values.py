"""What an informed player can earn, by trying every rule; of worlds with a few first means and a few rounds."""

import functools
import itertools


def best_price(means, weights, path, rounds):
    """The largest E[sum] / E[plays] over all rules that play an arm a number of times which depends on its first mean.

    ``path(mean, n)`` is the mean of an arm at its n-th play.
    """
    best = 0.0
    for plays in itertools.product(range(1, rounds + 1), repeat=len(means)):
        paid = sum(
            weight * sum(path(mean, n) for n in range(1, number + 1))
            for mean, weight, number in zip(means, weights, plays, strict=True)
        )
        best = max(best, paid / sum(weight * number for weight, number in zip(weights, plays, strict=True)))
    return best


def best_search(means, weights, rounds):
    """Backwards from the last round: another arm, or the best of those seen; nothing changes."""

    @functools.cache
    def value(left, best):
        if left == 0:
            return 0.0
        fresh = sum(
            weight * (mean + value(left - 1, max(best, mean))) for mean, weight in zip(means, weights, strict=True)
        )
        return max(fresh, best + value(left - 1, best))

    return value(rounds, 0.0)


def best_of_everything(means, weights, after, rounds):
    """Backwards from the last round, with all arms ever seen at hand; ``after(mean)`` is the mean after a play."""

    @functools.cache
    def value(left, known):
        if left == 0:
            return 0.0
        choices = [
            sum(
                weight * (mean + value(left - 1, tuple(sorted((*known, after(mean))))))
                for mean, weight in zip(means, weights, strict=True)
            )
        ]
        for place, mean in enumerate(known):
            others = known[:place] + known[place + 1 :]
            choices.append(mean + value(left - 1, tuple(sorted((*others, after(mean))))))
        return max(choices)

    return value(rounds, ())
