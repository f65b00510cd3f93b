"""One browser for the whole session; a stage, a bot and a page for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
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

from tests.page.theatre import Theatre, open_stage, open_theatre

WIDE = {"width": 1280, "height": 800}
PATIENCE_MS = 15_000
expect.set_options(timeout=PATIENCE_MS)
EXPECTED = ("ERR_CONNECTION", "WebSocket connection to", "status of 40")
"""What a browser writes to its console that is no mistake of the page's."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        message = "the page is tested in Chromium: install it (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program)
        yield opened
        opened.close()


@pytest.fixture
def theatre() -> Iterator[Theatre]:
    with open_theatre() as opened:
        yield opened


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[Page]:
    """A page to call the modules of the page in, for tests that leave nothing behind."""
    with open_stage() as stage:
        context = browser.new_context()
        page = context.new_page()
        page.goto(stage.page_url)
        page.locator("#log .intro").wait_for()
        yield page
        context.close()


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a page of its own browser profile. Whatever it complains about fails the test."""
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

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(theatre: Theatre, visit: Visit) -> Page:
    """The chat of #general, as Mika."""
    opened = visit(theatre.stage.page_url)
    opened.locator("#log .intro").wait_for()
    return opened
