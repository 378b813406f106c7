"""Kim, Vojnović & Yun (ICML 2022): UCB-TP and AUCB-TP, with the estimate of an arm's first mean averaged anew."""

import functools
import itertools
import math
from decimal import localcontext

from manyarms.arithmetic import exponential, natural_log, power

from .late import counts_answers
from .sizes import ceiling, exact, exact_log
from .squares import bits_at, uniform
from .twins import known, twin_of


def ucb(rewards, rho, width, T):  # noqa: N803
    """mu~ - rho n + sqrt(8 log T / n), where mu~ takes the wear so far back: the mean of r_i + rho (i - 1)."""
    n = len(rewards)
    if n == 0:
        return math.inf
    first_mean = sum(reward + rho * i for i, reward in enumerate(rewards)) / n
    return first_mean - rho * n + math.sqrt(width * natural_log(T) / n)


@counts_answers
def ucb_tp(counts, *, rho, delta, width, top, horizon):
    """``horizon`` is None when unknown, ``delta`` if it follows from rho and T."""
    for m in itertools.count(1):  # without a horizon one turn for each block of 2, 4, 8, … rounds, else only one
        length = 2**m if horizon is None else horizon
        T = max(length, 2)  # noqa: N806
        least = top - (min(max(power(rho, 1 / 3), T**-0.5), 1.0) if delta is None else delta)
        counts.blocks += 1
        arm, rewards = counts.arms, []
        counts.arms += 1
        for _ in range(length) if horizon is None else itertools.count():
            if ucb(rewards, rho, width, T) < least:
                arm, rewards = counts.arms, []
                counts.arms += 1
            heard = yield arm, 1.0
            if heard.ask.arm == arm:  # else it was left
                rewards.append(heard.reward)


def grid(H):  # noqa: N803
    """beta_j = 2^-(j+3) for j = 0 … B - 1, B = ceil(1.5 log2 H) - 2, at least one."""
    with localcontext(prec=60):
        size = max(ceiling(exact(1.5) * exact_log(H, 2)) - 2, 1)
    return [0.5 ** (j + 3) for j in range(size)]


def answers_of_kept_arms(policy):
    """As `counts_answers`; but of a closed block only what is of an arm that was left is ignored."""

    @functools.wraps(policy)
    def twin(counts, *args, **settings):
        answered = policy(counts, *args, **settings)
        choice = next(answered)
        while True:
            heard = yield choice
            if heard.what in ("open", "lost"):
                continue
            if heard.ask.block == counts.blocks or heard.ask.arm == choice[0]:
                choice = answered.send(heard)
            else:
                counts.ignored += 1

    return twin


@answers_of_kept_arms
def aucb_tp(counts, key, *, width, scale, top, horizon):
    """``horizon`` is None when unknown. ``key`` is that of the policy's stream: block i is address (i, 0)."""
    arm = counts.arms
    counts.arms += 1
    for m in itertools.count(1):  # without a horizon one turn for each period of 2, 4, 8, … rounds, else only one
        T = max(horizon, 2) if horizon is not None else 2**m  # noqa: N806
        H = math.isqrt(T - 1) + 1  # noqa: N806, ceil(sqrt(T))
        betas = grid(H)
        B = len(betas)  # noqa: N806
        alpha = min(1.0, math.sqrt(B * natural_log(B) / ((math.e - 1.0) * math.ceil(T / H))))
        N_0 = scale * H * natural_log(T) + 4.0 * math.sqrt(H * natural_log(T))  # noqa: N806
        w = dict.fromkeys(betas, 1.0)
        rounds_left = T if horizon is None else math.inf
        while rounds_left > 0:
            counts.blocks += 1
            # Draw beta with probability p(beta): walk through the grid until u is used up.
            p = {beta: (1.0 - alpha) * w[beta] / sum(w.values()) + alpha / B for beta in betas}
            u = uniform(bits_at(key, counts.blocks, 0))
            for beta in betas:
                u -= p[beta]
                if u < 0.0:
                    break
            rewards, block_reward = [], 0.0  # the arm stays, its rewards are forgotten
            length = min(H, rounds_left)
            for _ in range(length):
                heard = yield arm, 1.0
                block_reward += heard.reward
                if heard.ask.arm != arm:  # a dropped one's late rewards are the block's all the same
                    continue
                rewards.append(heard.reward)
                if ucb(rewards, beta, width, T) < top - power(beta, 1 / 3):
                    arm, rewards = counts.arms, []
                    counts.arms += 1
            w[beta] *= exponential(alpha / (B * p[beta]) * (0.5 + block_reward / N_0))
            rounds_left -= length


@twin_of("UCBTP")
def new_ucb_tp(spec, setting):
    settings = {"rho": spec.rotting, "delta": spec.delta, "width": spec.width, "top": spec.top}
    return functools.partial(ucb_tp, horizon=known(spec, setting.rounds), **settings)


@twin_of("AUCBTP")
def new_aucb_tp(spec, setting):
    settings = {"width": spec.width, "scale": spec.scale, "top": spec.top}
    return functools.partial(aucb_tp, key=setting.key, horizon=known(spec, setting.rounds), **settings)
