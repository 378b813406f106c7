"""For all tests."""

import signal

import pytest

# A shell lets programs in the background ignore Ctrl-C, and their children inherit it; some tests are about Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "once: the compiler plays no part in it; left out, like compiled, when it is switched off"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("once"):
            item.add_marker(pytest.mark.compiled)
