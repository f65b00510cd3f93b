"""A stage, a bot and a page that many tests use, one after another."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.chromium import WIDE
from tests.stage_page.page_harness import PageHarness


@dataclass(frozen=True, slots=True)
class SharedPage:
    """For tests that only write, read, press and run commands."""

    harness: PageHarness
    page: Page

    def clear(self) -> None:
        self.page.unroute_all()
        self.page.set_viewport_size({"width": WIDE["width"], "height": WIDE["height"]})
        self.harness.do(self._remove_messages)
        self.page.locator("#channels").get_by_role("link", name="general").click()
        self.page.locator("#composer-text").fill("")
        self.page.evaluate("document.getElementById('toasts').replaceChildren()")
        expect(self.page.locator(".message")).to_have_count(0)

    def _remove_messages(self) -> None:
        stage = self.harness.stage
        for there in stage.world.messages.values():
            for message in tuple(there.values()):
                stage.people.delete(message)
