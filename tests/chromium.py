"""The browser that the page is tested in, and pages in it that must not complain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)
EXPECTED = ("ERR_CONNECTION", "WebSocket connection to", "status of 40")
"""What a browser writes to its console that is no mistake of the page's."""
MATTERS = ("serious", "critical")

Visit = Callable[..., Page]


def chromium() -> str:
    """Its program. Without it a test is skipped, but never where nobody would notice."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is not None:
        return program
    message = "the page is tested in Chromium: install it (Debian: apt install chromium)"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """While it is open, this thread has a running loop: no test of another kind may run."""
    program = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program)
        yield opened
        opened.close()


@contextmanager
def visits(browser: Browser) -> Iterator[Visit]:
    """Opens pages, each of its own browser profile. What they complain about fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        place = str(message.location.get("url", ""))
        if message.type == "error" and not any(e in message.text + place for e in EXPECTED):
            complaints.append(f"{message.text} ({place})")

    def opened(url: str, **options: Any) -> Page:
        usual: dict[str, Any] = {"viewport": WIDE, "color_scheme": "dark"}
        context = browser.new_context(**(usual | options))
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("console", listen)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    try:
        yield opened
    finally:
        for context in contexts:
            context.close()
    if complaints:
        pytest.fail(f"the page complains: {complaints}")


def barriers(page: Page) -> list[str]:
    """Rules of accessibility that are broken, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [
        f"{v['id']}: {[node['target'] for node in v['nodes']][:4]} {v['help']}"
        for v in found
        if v["impact"] in MATTERS
    ]


@cache
def axe_source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
