"""For all tests."""

import gc
import re
import signal

import pytest
from xdist.scheduler import LoadScopeScheduling

from manyarms.compiled import Loop

# A shell lets programs in the background ignore Ctrl-C, and their children inherit it; some tests are about Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A compiler makes many objects that stay: to look through them all, as often as usual, takes a tenth of the time.
gc.freeze()
gc.set_threshold(1_000_000, 20, 100)

LONGEST = (
    "test_promises",
    "test_blackbox",
    "test_subsample",
    "test_elimination",
    "test_twins",
    "test_everything",
    "test_turns",
    "test_published",
    "test_cuda",
    "test_shifts",
    "test_gpu",
    "test_explain",
    "test_runner",
    "test_cli",
    "test_bandit",
    "test_forager",
    "test_late",
    "test_warm",
    "test_skeletons",
    "test_indexed",
    "test_cbt",
    "test_empirical_cbt",
    "test_compiled",
    "test_world",
    "test_reservoirs",
    "test_arena",
    "test_rates",
    "test_aucbt_asw",
    "test_kl_ucb",
    "test_thompson",
)
"""Begun first, so that at the end no worker is left alone with one of them."""

ABOVE_THE_KERNELS = {
    "test_arena",
    "test_bounds",
    "test_catalogue",
    "test_cli",
    "test_explain",
    "test_figures",
    "test_runner",
    "test_rates",
    "test_report",
    "test_shifts_mutations",
    "test_snapshots",
    "test_statistics",
    "test_values",
    "test_variation",
}
"""They take what a simulation finds, whether or not it was compiled, or run no loop: once is enough."""

WARM = {"test_machine", "test_warm"}
"""Tests of live bandits in which a compiler plays a part. The others call kernels as plain Python in any case."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "once: the compiler plays no part in it; left out, like compiled, when it is switched off"
    )


class ByKernels(LoadScopeScheduling):
    """Tests that compile the same kernels share a worker: those of a file, and of the promises those of a type of spec.

    The promises alone take more than half of the time: in one piece they would keep one worker busy to the end.
    """

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        spec = re.search(r"::test_promise\[(\w+)", nodeid)
        return f"{file}: {spec[1]}" if spec else file


def pytest_xdist_make_scheduler(config, log):
    return ByKernels(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        is_live = item.path.parent.name == "bandit" and item.path.stem not in WARM
        is_plain = "uncompiled" in getattr(item, "fixturenames", ())
        if is_live or is_plain or item.path.stem in ABOVE_THE_KERNELS:
            item.add_marker(pytest.mark.once)
        if item.get_closest_marker("once"):
            item.add_marker(pytest.mark.compiled)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))


@pytest.fixture
def soon():
    """Nothing may be waited for in vain. (An error of this kind is caught by nobody.)"""

    def stop(*_):
        raise KeyboardInterrupt("hung")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(300)  # a machine that is busy with other things is not hung
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def uncompiled(monkeypatch):
    """Loops run as plain Python: short ones, of types that nothing else plays, which would take seconds to compile."""
    monkeypatch.setattr(Loop, "__call__", lambda loop, *arguments: loop.function(*arguments))
