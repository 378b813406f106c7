"""From a description to its twin."""

import functools

from .asymptotic_ucb import AsymptoticUCB
from .blackbox import blackbox
from .elimination import elimination
from .greedy import Greedy
from .loop import play
from .oracle import oracle
from .squares import POLICY_STREAM, replication_key, stream_key
from .subsample import subsample
from .successive_elimination import SuccessiveElimination
from .ucb import UCB
from .uniform_play import uniform_play
from .world import NaiveWorld

# "calibrated" is a choice, not a promise of a source: whoever asks for it hands it in.
ELIMINATION_PRESETS = {
    "paper": {"threshold": 1.0, "log_base": 2, "log_factor": True, "cap": True, "warm_start": False},
    "published": {"threshold": 1.0, "log_base": "e", "log_factor": False, "cap": False, "warm_start": False},
}
BLACKBOX_PRESETS = {
    "paper": {"threshold": 1.0, "log_power": 3.0, "log_base": 2, "log_factor": False, "base_horizon": "block"},
    "published": {"threshold": 1.0, "log_power": 3.0, "log_base": "e", "log_factor": True, "base_horizon": "run"},
}
BLACKBOX_PRESETS = {name: preset | {"warm_start": False} for name, preset in BLACKBOX_PRESETS.items()}
SSUCB_PRESETS = {"paper": {"sigma": 1.0}, "published": {"sigma": 1.0}}


def settings(spec, presets, calibrated):
    """The preset with the keywords that were given put over it."""
    preset = (presets | {"calibrated": calibrated})[spec.preset]
    given = {name: getattr(spec, name) for name in preset}
    return preset | {name: value for name, value in given.items() if value is not None}


def known(spec, rounds):
    """T, or None when it is unknown. Left open, it is that of the simulation."""
    if spec.horizon == "doubling":
        return None
    return rounds if spec.horizon is None else spec.horizon


def new_base(spec):
    match type(spec).__name__:
        case "UCB":
            return functools.partial(UCB, width=spec.width)
        case "AsymptoticUCB":
            return functools.partial(AsymptoticUCB, sigma=spec.sigma)
        case "Greedy":
            return Greedy
        case "SuccessiveElimination":
            return SuccessiveElimination
    raise NotImplementedError(spec)


def twin_of(spec, world, key, rounds, calibrated):
    """A function that makes the twin's generator from its counts. ``key``: of the policy's stream."""
    match type(spec).__name__:
        case "Elimination":
            chosen = settings(spec, ELIMINATION_PRESETS, calibrated)
            return functools.partial(
                elimination, key=key, beta=spec.beta, horizon=known(spec, rounds), top=spec.top, **chosen
            )
        case "Blackbox":
            chosen = settings(spec, BLACKBOX_PRESETS, calibrated)
            return functools.partial(
                blackbox,
                new_base=new_base(spec.base),
                beta=spec.beta,
                horizon=known(spec, rounds),
                top=spec.top,
                **chosen,
            )
        case "Subsample":
            return functools.partial(
                subsample,
                new_base=new_base(spec.base),
                beta=spec.beta,
                arms=spec.arms,
                horizon=known(spec, rounds),
            )
        case "SSUCB":
            chosen = settings(spec, SSUCB_PRESETS, calibrated)
            return functools.partial(
                subsample,
                new_base=functools.partial(AsymptoticUCB, **chosen),
                beta=spec.beta,
                arms=spec.arms,
                horizon=known(spec, rounds),
                published=spec.preset == "published",
            )
        case "UniformPlay":
            return uniform_play
        case "Oracle":
            return functools.partial(oracle, world=world, keep=min(spec.keep, rounds + 1))
    raise NotImplementedError(spec)


def twin_run(spec, world_spec, rounds, seed, replication, label, calibrated=None):
    """The log and the columns of a twin's run; ``label`` is the number of the policy's own random stream."""
    world = NaiveWorld(world_spec, seed, replication)
    key = stream_key(replication_key(seed, replication), POLICY_STREAM, label)
    return play(twin_of(spec, world, key, rounds, calibrated), world, rounds)
