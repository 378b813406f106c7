"""A program: what numba's simulator of a GPU finds, and what the processor does, as JSON.

Run with NUMBA_ENABLE_CUDASIM=1, which is read when numba is imported: hence a process of its own.
``all`` plays all policies in three worlds and one where answers come late (in one of them with and without a log, in
the others with a log only, which has all that happens), every base in one world, two policies in all worlds, and what
else there is;
``logged`` all policies in one world, with logs only: enough to compare with compiled code.
"""

import hashlib
import json
import sys
import types

import numpy as np

import manyarms as ma
from manyarms import gpu
from manyarms.checks import BUSY_WORLD, LATE_WORLD, examples
from manyarms.checks.runs import BUSY_POLICY, CORRECTED_WORLD
from manyarms.policies import tail
from manyarms.replication import Job, Run

POLICIES = {spec.label(): spec for spec in examples() if isinstance(spec, ma.Policy)}
WORLDS = [spec for spec in examples() if isinstance(spec, ma.World)]
FEEDBACKS = [spec for spec in examples() if isinstance(spec, ma.Feedback)]
EVERY_BASE = {
    f"{type(policy).__name__} over {type(base).__name__}": policy
    for base in examples()
    if isinstance(base, ma.Base)
    for policy in (ma.Blackbox(base=base, beta=1.0, threshold=0.1), ma.Subsample(base=base, beta=1.0))
}
PAIR = {"Blackbox": ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.1), "SSUCB": ma.SSUCB(beta=1.0)}
HORIZON, REPLICATIONS, SEED = 200, 5, 17
FEW = 3
"""Of every policy: a first row of the batch, one between others, and a last one."""


def digest(arrays):
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def found_by(device, policies, world, replications=REPLICATIONS, **options):
    """For each policy, all columns of all checkpoints and all logs, as digests."""
    options = {"checkpoints": [1, 2, 50, 199], "threads": 1} | options
    result = ma.simulate(policies, world, HORIZON, replications, SEED, device=device, **options)
    assert result.is_complete
    return {
        name: {
            "values": digest([result[name]]),
            "replications": result.replications[name].tolist(),
            "logs": {str(number): digest(log) for number, log in sorted(result.logs[name].items())},
        }
        for name in policies
    }


def compared(policies, world, logs=(False, True), replications=REPLICATIONS):
    return {
        f"{name}, {'with a log' if log else 'without a log'}": [gpu_found, cpu_found]
        for log in logs
        for (name, gpu_found), cpu_found in zip(
            found_by("gpu", policies, world, replications, log=log).items(),
            found_by("cpu", policies, world, replications, log=log).values(),
            strict=True,
        )
    }


def few(policies, world, logs=(True,)):
    """The same with few replications."""
    return compared(policies, world, logs, FEW)


def late():
    """All policies where answers come late, and one policy with every feedback."""
    correcting = {name: spec for name, spec in POLICIES.items() if spec.takes_corrections}
    others = {name: spec for name, spec in POLICIES.items() if name not in correcting}
    found = few(correcting, CORRECTED_WORLD) | few(others, LATE_WORLD)
    worlds = [BUSY_WORLD.replace(feedback=feedback) for feedback in FEEDBACKS]
    return {"policies": found, "feedbacks": [compared({"it": BUSY_POLICY}, world, logs=(True,)) for world in worlds]}


def waves():
    """Several waves: which replications each has, the calls of progress, and that nothing else changes."""
    gpu.RESIDENT = gpu.RESIDENT_SCATTERED = 2
    played, calls = [], []
    play = gpu.GPU.play

    def noted(self, run, first, last):
        played.append([run.spec.label(), first, last])
        return play(self, run, first, last)

    gpu.GPU.play = noted
    found = found_by("gpu", PAIR, BUSY_WORLD, log=True, progress=lambda *call: calls.append(call))
    gpu.GPU.play = play
    gpu.RESIDENT = gpu.RESIDENT_SCATTERED = 1 << 16
    return {
        "played": played,
        "calls": calls,
        "labels": [spec.with_horizon(HORIZON).label() for spec in PAIR.values()],
        "found": found,
        "at once": found_by("gpu", PAIR, BUSY_WORLD, log=True),
    }


def cramped():
    """Where the likely room is too small for some replications: how many are played again, and what comes of it."""
    able = {name: spec for name, spec in POLICIES.items() if isinstance(spec, tail.SubsamplingPolicy)}
    autos = {name: spec for name, spec in able.items() if spec.beta == tail.AUTO}
    usual, tail.LIKELY_BETA = tail.LIKELY_BETA, 0.6
    again = []
    play_wave = gpu.GPU.play_wave

    def noted(self, run, rows, states):
        again.append(len(rows))
        play_wave(self, run, rows, states)

    gpu.GPU.play_wave = noted
    found = compared(autos, BUSY_WORLD)
    gpu.GPU.play_wave, tail.LIKELY_BETA = play_wave, usual
    return {"waves": again, "found": found, "policies": len(autos)}


def interrupted():
    """Ctrl-C after the first wave."""

    def progress(done, whole):
        raise KeyboardInterrupt

    gpu.RESIDENT = gpu.RESIDENT_SCATTERED = 1
    policy = {"it": PAIR["SSUCB"]}
    part = ma.simulate(policy, BUSY_WORLD, HORIZON, 40, SEED, device="gpu", progress=progress)
    gpu.RESIDENT = gpu.RESIDENT_SCATTERED = 1 << 16
    whole = ma.simulate(policy, BUSY_WORLD, HORIZON, 40, SEED, device="cpu", threads=1)
    numbers = part.replications["it"]
    return {
        "complete": part.is_complete,
        "finished": numbers.tolist(),
        "same": part["it"].tobytes() == whole["it"][numbers].tobytes(),
    }


def with_free_memory(size, do):
    """What comes of it on a GPU with this much memory; the simulator's is infinite."""
    cuda = gpu.cuda_module().cuda
    usual = cuda.current_context
    memory = types.SimpleNamespace(free=size)
    cuda.current_context = lambda: types.SimpleNamespace(get_memory_info=lambda: memory)
    try:
        return do()
    finally:
        cuda.current_context = usual


def too_large():
    """No room for a single replication."""
    try:
        ma.simulate(PAIR, BUSY_WORLD, HORIZON, device="gpu")
    except MemoryError as error:
        return str(error)
    return None


def too_large_at_worst():
    """Room for one replication with a likely beta, but not with the largest: refused before anything is played."""
    run = Run(ma.Elimination(beta="auto"), Job(BUSY_WORLD, HORIZON, 1, SEED, np.array([HORIZON])))
    player = gpu.GPU(run.job, [run])
    least, most = (player.bytes_of(run, run.states(likely)) for likely in (True, False))
    assert least < most
    try:
        with_free_memory((least + most) / 2 / gpu.SHARE_OF_MEMORY, lambda: gpu.GPU(run.job, [run]))
    except MemoryError as error:
        return [most, str(error)]
    return None


def waves_that_fit():
    """How many replications a wave has where memory is short, and the bytes that one of them takes."""
    spec = PAIR["SSUCB"].with_horizon(HORIZON)
    job = Job(BUSY_WORLD, HORIZON, 10, SEED, np.array([HORIZON]), True)
    run = Run(spec, job)
    player = gpu.GPU(job, [run])
    cuda = gpu.cuda_module()
    policy, world, _, log = run.states()
    held = cuda.batched((world, policy), 1)[0].visits.array.nbytes + cuda.batched(log, 1).arm.array.nbytes
    return [player.chunk_size(run), held]


def batches():
    """How the arrays of states come to lie in a batch."""
    cuda = gpu.cuda_module()
    world = ma.World(ma.Empirical((0.1, 0.4, 0.9))).start(6)
    batch = cuda.batched(world, 3)
    kinds = {name: type(getattr(batch, name)).__name__ for name in ("visits", "means", "arm_key")}
    return kinds | {
        "reservoir.means": type(batch.reservoir.means).__name__,
        "shared": batch.reservoir.means.array.copy_to_host().tolist(),
        "rows": list(cuda.unpacked(batch.visits).shape),
    }


def main(what):
    if what == "logged":
        return compared(POLICIES, BUSY_WORLD, logs=(True,))
    assert what == "all"
    return {
        "policies": {
            "busy": few(POLICIES, BUSY_WORLD, logs=(False, True)) | few(EVERY_BASE, BUSY_WORLD),
            "2": few(POLICIES, WORLDS[2]),
            "4": few(POLICIES, WORLDS[4]),
        },
        "worlds": [compared(PAIR, world) for world in WORLDS],
        "late": late(),
        "waves": waves(),
        "cramped": cramped(),
        "interrupted": interrupted(),
        "too large": with_free_memory(1000, too_large),
        "too large at worst": too_large_at_worst(),
        "fits": [[size, *with_free_memory(size, waves_that_fit)] for size in (100_000, 200_000, 300_000)],
        "batches": batches(),
        "auto": gpu.chosen_device("auto"),
    }


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
