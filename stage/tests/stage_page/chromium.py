"""The browser that the page is tested in, and pages in it that must not complain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
PATIENCE_MS = 30_000
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first is the same browser without windows and profiles: it takes half the processor time."""
expect.set_options(timeout=PATIENCE_MS)
EXPECTED = ("ERR_CONNECTION", "WebSocket connection to", "status of 40")
"""What a browser writes to its console that is no mistake of the page's."""


def chromium() -> str:
    """Its program. Without it a test is skipped, but never where nobody would notice."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is not None:
        return program
    message = f"the page is tested in Chromium: install it (Debian: apt install {PROGRAMS[0]})"
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


class KeptPage:
    """A page that tests use one after another: a new browser profile takes a second to open."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None
        self.taken = False

    def take(self, viewport: ViewportSize, color_scheme: Any) -> Page:
        self.taken = True
        if self._page is None:
            self._page = _new_page(self._browser)
        self._page.set_viewport_size(viewport)
        self._page.emulate_media(color_scheme=color_scheme)
        return self._page

    def give_back(self) -> None:
        """As it was. A clock that was installed stays in it: then the next test gets another."""
        page, self.taken = self._page, False
        if page is None or page.is_closed():
            self._page = None
        elif page.evaluate("'__pwClock' in globalThis"):
            page.context.close()
            self._page = None
        else:
            _clear(page)


def _new_page(browser: Browser, **options: Any) -> Page:
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def _clear(page: Page) -> None:
    """Nothing of the page's is left, though its address may come again."""
    context = page.context
    for other in context.pages:
        if other is not page:
            other.close()
    page.unroute_all()
    context.set_offline(False)
    context.clear_permissions()
    with suppress(Error):  # a page that could not be loaded has none
        page.evaluate("(localStorage.clear(), sessionStorage.clear())")
    page.goto("about:blank")


class Visit:
    """Opens pages, each of its own browser profile, the first one maybe in that of a kept page."""

    def __init__(self, browser: Browser, kept: KeptPage | None = None) -> None:
        self._browser = browser
        self._kept = kept
        self._pages: list[Page] = []
        self._contexts: list[BrowserContext] = []
        self._complaints: list[str] = []

    def __call__(self, url: str, **options: Any) -> Page:
        page = self._page({"viewport": WIDE, "color_scheme": "dark"}, options)
        self._pages.append(page)
        page.on("console", self._hear)
        page.on("pageerror", self._fail)
        page.goto(url)
        return page

    def _page(self, usual: dict[str, Any], options: dict[str, Any]) -> Page:
        if self._kept and not self._kept.taken and options.keys() <= usual.keys():
            return self._kept.take(**(usual | options))
        page = _new_page(self._browser, **(usual | options))
        self._contexts.append(page.context)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        place = str(message.location.get("url", ""))
        if message.type == "error" and not any(e in message.text + place for e in EXPECTED):
            self._complaints.append(f"{message.text} ({place})")

    def _fail(self, error: Error) -> None:
        self._complaints.append(str(error))

    def check(self) -> None:
        """Fails with what the pages have complained about since the last time."""
        complaints, self._complaints = self._complaints, []
        if complaints:
            pytest.fail(f"the page complains: {complaints}")

    def close(self) -> None:
        for page in self._pages:
            page.remove_listener("console", self._hear)
            page.remove_listener("pageerror", self._fail)
        for context in self._contexts:
            context.close()
        if self._kept:
            self._kept.give_back()


@contextmanager
def visits(browser: Browser, kept: KeptPage | None = None) -> Iterator[Visit]:
    visit = Visit(browser, kept)
    try:
        yield visit
    finally:
        visit.close()
    visit.check()


def barriers(page: Page) -> list[str]:
    """Rules of accessibility that are broken, and where, however little it matters."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [f"{v['id']}: {[node['target'] for node in v['nodes']][:4]} {v['help']}" for v in found]


@cache
def axe_source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
