"""A stage, a bot and a page that many tests use, one after another."""

from __future__ import annotations

from contextlib import ExitStack

from playwright.sync_api import Browser, Error, Page, expect

from stage_page.chromium import WIDE, Visit
from stage_page.page_harness import PageHarness, open_page_harness


class SharedPage:
    """For tests that only write, read, press and run commands. It opens when one asks for it."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._opened = ExitStack()
        self._visit: Visit | None = None
        self.harness: PageHarness
        self.page: Page

    def prepare(self) -> None:
        """Open it, or clear it. What a failed test has left open may need a new one."""
        if self._visit is not None:
            try:
                self._clear()
            except (AssertionError, Error):
                self.close()
        if self._visit is None:
            self._open()

    def check(self) -> None:
        if self._visit is not None:
            self._visit.check()

    def close(self) -> None:
        """Only one stage at a time can be the one that discord.py talks to."""
        self._visit = None
        self._opened.close()

    def _open(self) -> None:
        self.harness = self._opened.enter_context(open_page_harness())
        self._visit = Visit(self._browser)
        self._opened.callback(self._visit.close)
        self.page = self._visit(self.harness.stage.page_url)
        self.page.locator("#log .intro").wait_for()

    def _clear(self) -> None:
        self.page.unroute_all()
        self.page.set_viewport_size({"width": WIDE["width"], "height": WIDE["height"]})
        self.harness.do(self._remove_messages)
        while self.page.locator("dialog[open]").count():
            self.page.keyboard.press("Escape")
        self.page.locator("#channels").get_by_role("link", name="general").click(timeout=5_000)
        self.page.locator("#composer-text").fill("")
        self.page.evaluate("document.getElementById('toasts').replaceChildren()")
        expect(self.page.locator(".message")).to_have_count(0)

    def _remove_messages(self) -> None:
        stage = self.harness.stage
        for there in stage.world.messages.values():
            for message in tuple(there.values()):
                stage.people.delete(message)
