"""A real browser for tests: Debian's Chromium, driven by playwright.

Without one, tests are skipped; where CI=true, they fail.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing(reason: str) -> None:
    """No browser here: a failure where one is promised, else a skip."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing("there is no Chromium on PATH: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("there is no playwright: pip install playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """A page that shows a file; at the end, nothing may have gone wrong in it and nothing may have left it."""
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    context.set_default_timeout(5_000)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or troubles.append(request.url))
    try:
        page.goto(path.absolute().as_uri())
        yield page
        assert troubles == []
    finally:
        context.close()


def until(page, expression):
    """Wait for it, from outside: a page that allows no eval cannot look again and again by itself."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"it did not come true: {expression}")
