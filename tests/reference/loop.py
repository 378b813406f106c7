"""Round by round: a twin in a naive world."""

from .counts import Counts
from .late import Ask

COLUMNS = ("regret", "reward", "restarts", "blocks", "arms", "V", "V_R", "L", "L_R")
LOG = ("arm", "mean", "next_mean", "reward", "probability", "block", "episode")


def play(new_policy, world, rounds, ignored=None, simple=None):
    """Two lists with one entry for each round: the log, and the columns after that round.

    ``new_policy(counts)`` makes the generator, which is sent what it hears. A block is opened as soon as the one
    before it is over, so after the last round of a block the counts are those of the next. ``ignored``: a list that
    gets the count of ignored rewards after each round. ``simple``: one that gets the gap of the arm that the twin would
    recommend, which it puts into ``counts.recommended``.
    """
    ignored = [] if ignored is None else ignored
    counts = Counts()
    policy = new_policy(counts)
    choice = next(policy)
    log, columns = [], []
    regret = total = 0.0
    for t in range(1, rounds + 1):
        arm, probability = choice
        block, episode = counts.blocks, counts.restarts + 1
        mean, after, reward = world.pull(arm, t)
        regret += world.top - mean
        total += reward
        for heard in world.post.heard_in_round(Ask(t, arm, probability, block), reward):
            choice = policy.send(heard)
        log.append((arm, mean, after, reward, probability, block, episode))
        columns.append((regret, total, counts.restarts, counts.blocks, counts.arms, *variation(columns, log)))
        ignored.append(counts.ignored)
        if simple is not None:
            simple.append(world.top - world.now(counts.recommended, t + 1))
    return log, columns


def variation(columns, log):
    """V, V_R, L and L_R of the rounds in the log.

    V = sum over t = 2 … T of |mu_(t-1)(a_(t-1)) - mu_t(a_(t-1))|: the arm of the round before, its
    mean then and now. V_R takes falls only, L and L_R count instead of adding.
    """
    if len(log) < 2:
        return 0.0, 0.0, 0, 0
    v, v_rotting, changes, rotting_changes = columns[-1][5:]
    before, now = log[-2][1], log[-2][2]
    return (
        v + abs(before - now),
        v_rotting + max(before - now, 0.0),
        changes + (before != now),
        rotting_changes + (before > now),
    )
