"""Bandits with more arms than anyone can try, whose arms change while you play them."""

from .bandit import Bandit, Decision, NoMoreItems, Told
from .bases import KLUCB, UCB, AsymptoticUCB, Base, Greedy, SuccessiveElimination, Thompson
from .drifts import Adversary, Crash, Drift, Fatigue, JumpAt, Phases, RandomWalk, Rising, Rotting, Still, Turnover
from .engine import simulate
from .noises import Bernoulli, BetaNoise, Exact, GapUniform, Noise
from .policies import (
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
    Policy,
    Subsample,
    UniformPlay,
)
from .reservoirs import BetaDistributed, Empirical, Mixture, PowerLaw, Reservoir, Uniform
from .results import Result
from .snapshots import SnapshotError
from .specs import spec_from_json
from .version import __version__ as __version__
from .world import World

__all__ = [
    # Worlds: where arms come from, how they move, what they pay.
    "World",
    "Reservoir",
    "PowerLaw",
    "Uniform",
    "BetaDistributed",
    "Empirical",
    "Mixture",
    "Drift",
    "Still",
    "Rotting",
    "Rising",
    "Crash",
    "Fatigue",
    "JumpAt",
    "Phases",
    "RandomWalk",
    "Turnover",
    "Adversary",
    "Noise",
    "Bernoulli",
    "GapUniform",
    "BetaNoise",
    "Exact",
    # Policies, and the bases that some of them run.
    "Policy",
    "Forager",
    "Elimination",
    "Blackbox",
    "Subsample",
    "SSUCB",
    "UCBTASW",
    "AUCBTASW",
    "CBT",
    "EmpiricalCBT",
    "KFailure",
    "MRun",
    "UniformPlay",
    "Oracle",
    "Base",
    "UCB",
    "AsymptoticUCB",
    "KLUCB",
    "Thompson",
    "SuccessiveElimination",
    "Greedy",
    # Simulate, or play live.
    "simulate",
    "Result",
    "Bandit",
    "Decision",
    "Told",
    "NoMoreItems",
    "SnapshotError",
    "spec_from_json",
]
