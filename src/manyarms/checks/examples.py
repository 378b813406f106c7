"""One or more specs of every type."""

from ..bases import KLUCB, UCB, AsymptoticUCB, Greedy, SuccessiveElimination, Thompson
from ..drifts import Adversary, Crash, Fatigue, JumpAt, Phases, RandomWalk, Rising, Rotting, Still, Turnover
from ..noises import Bernoulli, BetaNoise, Exact, GapUniform
from ..policies import (
    AUCBTASW,
    CBT,
    SSUCB,
    UCBTASW,
    Blackbox,
    Elimination,
    EmpiricalCBT,
    Forager,
    KFailure,
    MRun,
    Oracle,
    Subsample,
    UniformPlay,
)
from ..policies.base import DOUBLING
from ..reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Uniform
from ..specs import Spec
from ..world import World


def examples() -> list[Spec]:
    """Specs of every type in the package, and worlds that use every reservoir, drift and noise.

    Examples
    --------
    >>> from manyarms.checks import examples
    >>> sorted({spec.kind for spec in examples()})
    ['base', 'drift', 'noise', 'policy', 'reservoir', 'world']
    """
    policies: list[Spec] = [
        Elimination(beta=1.0),
        # Restarts within a few rounds, with the subsample of the paper's text.
        Elimination(beta=1.0, preset="paper", threshold=0.02, horizon=DOUBLING),
        Elimination(beta=0.5, preset="published", threshold=0.1),
        Elimination(beta="auto", threshold=0.02),
        Blackbox(base=UCB(), beta=1.0),
        Blackbox(base=UCB(), beta=0.5, preset="published", threshold=0.02, log_power=1.0, horizon=DOUBLING),
        Blackbox(base=Greedy(), beta="auto", threshold=0.1, warm_start=True),
        Subsample(base=Greedy(), beta=1.0),
        Subsample(base=Greedy(), beta=2.0, arms=20, horizon=DOUBLING),
        Subsample(base=Greedy(), beta="auto"),
        SSUCB(beta=1.0),
        SSUCB(beta=0.5, preset="published"),
        # Bonuses so small that bad arms are dropped within a few plays.
        AUCBTASW(width=0.1),
        AUCBTASW(preset="published", width=0.3, scale=0.1, horizon=DOUBLING),
        UCBTASW(beta=1.0, variation=1.0, width=0.1),
        UCBTASW(beta=0.5, changes=3, width=0.3, horizon=DOUBLING),
        UCBTASW(beta="auto", variation=1.0, width=0.1),
        CBT(beta=1.0),
        CBT(beta="auto"),
        Forager(),
        Forager(keep=3, slack=0.5, first_look=1.0, false_alarms=0.9, wary=10.0),
        EmpiricalCBT(),
        # So few arms that good ones are let go.
        EmpiricalCBT(keep=5, horizon=DOUBLING),
        KFailure(failures=2),
        MRun(),
        MRun(run=3, recall=False, horizon=DOUBLING),
        UniformPlay(),
        Oracle(keep=16),
    ]
    bases: list[Spec] = [UCB(), AsymptoticUCB(sigma=0.5), KLUCB(), Thompson(), SuccessiveElimination(), Greedy()]
    reservoirs = [
        PowerLaw(beta=2.0),
        Uniform(0.1, 0.8),
        BetaDistributed(2.0, 3.0),
        Empirical((0.1, 0.4, 0.2, 0.9)),
        Mixture((Uniform(0.0, 0.5), PowerLaw(beta=2.0)), weights=(9.0, 1.0)),
    ]
    drifts = [
        Rotting(rate="1/t"),
        Rising(rate=0.01),
        Crash(probability=0.05),
        JumpAt(play=3, size=-0.3),
        Phases((Still(), Rotting(0.01), Adversary(patience=5, size=0.2)), ends=(50, 100)),
        RandomWalk(size=0.05),
        Adversary(patience=10, size=0.3),
        Turnover(length=40, to=0.1),
        Fatigue(after=4, rate=0.05),
        Still(),
    ]
    noises = [Bernoulli(), GapUniform(), BetaNoise(concentration=10.0), Exact()]
    worlds = [
        World(reservoirs[place % len(reservoirs)], drift, noises[place % len(noises)])
        for place, drift in enumerate(drifts)
    ]
    return [*policies, *bases, *reservoirs, *drifts, *noises, *worlds]
