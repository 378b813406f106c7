"""Carpentier & Valko (ICML 2015): SiRI, and their estimator of beta.

T = ceil(A(n) n^(b/2)) arms, b = min(beta, 2), each pulled once; then, again and again, the arm with the largest bound
as often as it was pulled before. An open ask is a pull that paid the mean so far; its answer takes that place.
"""

import functools
import itertools
import math
from decimal import Decimal, localcontext

from manyarms.arithmetic import natural_log, power

from .dense import first_of_the_largest, shortened
from .growing import Arm
from .sizes import ceiling, exact
from .twins import known, twin_of


def size_of(n, beta, A):  # noqa: N803
    with localcontext(prec=60):
        log = max(exact(natural_log(n)), Decimal(1))
        factor = exact(A) / (log**2 if beta == 2 else log if beta > 2 else 1)
        return max(min(ceiling(factor * Decimal(n) ** (min(exact(beta), Decimal(2)) / 2)), n), 1)


def bound(arm, C, log_0):  # noqa: N803
    log = max(log_0 - natural_log(arm.n), 0.0)
    return arm.total / arm.n + 2.0 * math.sqrt(C / arm.n * log) + 2.0 * (C / arm.n) * log


def hears(arms, drawn, heard, presumed):
    """What the arms of a block make of what is heard."""
    arm = arms[heard.ask.arm - drawn]
    match heard.what:
        case "told":
            arm.add(heard.reward)
        case "open":
            presumed[heard.ask] = arm.expected()
            arm.add(presumed[heard.ask])
        case "settled" | "corrected":
            before = presumed.pop(heard.ask) if heard.what == "settled" else heard.before
            arm.total += heard.reward - before
        case "lost":
            arm.add(presumed.pop(heard.ask), plays=-1, sign=-1.0)
            if arm.n == 0:
                arm.total = 0.0


def played(counts, size, length, next_arm):
    """Play so many fresh arms for so many rounds; ``next_arm(arms, played)`` says which, after that many rounds."""
    drawn, arms, presumed = counts.arms, [Arm() for _ in range(size)], {}
    counts.arms += size
    counts.blocks += 1
    done, arm = 0, 0
    while done < length:
        most = max((arm.n, arm.total) for arm in arms)
        counts.recommended = drawn + [(arm.n, arm.total) for arm in arms].index(most)
        heard = yield drawn + arm, 1.0
        if heard.ask.block != counts.blocks:
            counts.ignored += heard.reward is not None
            continue
        hears(arms, drawn, heard, presumed)
        if heard.is_round:
            done += 1
            arm = next_arm(arms, done)
    return arms


def doubling(n, beta, size, C, delta):  # noqa: N803
    """Which arm is next: the one in play until its pulls have doubled, then the one with the largest bound."""
    log_0 = 2.0 * (size.bit_length() - 1) / min(beta, 2.0) * math.log(2.0) - natural_log(delta)
    now = {"arm": 0, "until": 1}

    def next_arm(arms, done):
        if arms[now["arm"]].n >= now["until"]:
            bounds = [shortened(bound(arm, C, log_0) if arm.n else math.inf, size) for arm in arms]
            now["arm"] = first_of_the_largest(bounds)
            now["until"] = max(2 * arms[now["arm"]].n, 1)
        return now["arm"]

    return next_arm


def estimate(arms, epsilon, margin):
    """-log p / (epsilon log N)."""
    N = len(arms)  # noqa: N806
    if N == 1:
        return 1.0
    means = [arm.total / arm.n if arm.n else 0.0 for arm in arms]
    near = sum(max(means) - mean <= power(float(N), -epsilon) for mean in means)
    return max((natural_log(N / near) + margin) / (epsilon * natural_log(N)), 0.1)


def siri(counts, *, beta, A, C, delta, epsilon, margin, horizon):  # noqa: N803
    for m in itertools.count(1):
        n = 2**m if horizon is None else horizon
        now = beta
        if beta == "auto":
            N = math.isqrt(math.isqrt(n))  # noqa: N806
            pilot = yield from played(counts, N, N * N, lambda arms, done: done % len(arms))
            now, n = estimate(pilot, epsilon, margin), max(n - N * N, 1)
        size = size_of(n, now, A)
        # A known horizon that has passed changes nothing: the last block goes on.
        yield from played(counts, size, math.inf if horizon else n, doubling(n, now, size, C, delta))


@twin_of("SiRI")
def new_siri(spec, setting):
    names = {"A": spec.factor, "C": spec.width, "delta": spec.delta, "epsilon": spec.epsilon, "margin": spec.margin}
    return functools.partial(siri, beta=spec.beta, horizon=known(spec, setting.rounds), **names)
