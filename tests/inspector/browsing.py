"""The panel in a real browser, by itself: a stage with a log, a page with nothing else on it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from playwright.async_api import ConsoleMessage, Page, Route, async_playwright

from oshaberi.inspector import StreamLog
from oshaberi.inspector.actions import attach
from oshaberi.stage import Stage

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

HARNESS = """
import { Api } from "/page/js/api.js";
import { Feed } from "/page/js/feed.js";
import { mountInspector } from "/page/inspector/inspector.js";
document.documentElement.dataset.theme = "THEME";
const root = document.createElement("main");
Object.assign(root.style, { height: "100vh", overflow: "auto", background: "var(--side)" });
document.body.style.display = "block";
document.body.replaceChildren(root);
const api = new Api();
const bus = new EventTarget();
const feed = new Feed(api);
feed.addEventListener("event", ({ detail }) =>
  bus.dispatchEvent(new CustomEvent(detail.name, { detail: detail.data })));
window.shown = [];
feed.addEventListener("connected", () => {
  window.bus = bus;
  const selectMessage = (id) => window.shown.push(id);
  window.panel = mountInspector(root, { api, bus, selectMessage });
}, { once: true });
feed.open(null);
"""
"""Stands in for the page's own program. The document itself must come from the stage: a browser
lets no document from elsewhere talk to loopback."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a test plays with."""

    page: Page
    log: StreamLog
    stage: Stage
    problems: list[str]


@asynccontextmanager
async def panel(width: int = 400, height: int = 860, theme: str = "dark") -> AsyncIterator[Shown]:
    log = StreamLog()
    async with Stage() as stage, async_playwright() as playwright:
        attach(log, stage)
        browser = await playwright.chromium.launch(executable_path=CHROMIUM)
        context = await browser.new_context(viewport={"width": width, "height": height})
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))

        def hear(said: ConsoleMessage) -> None:
            if said.type == "error":
                problems.append(said.text)

        page.on("console", hear)

        async def serve(route: Route) -> None:
            body = HARNESS.replace("THEME", theme)
            await route.fulfill(body=body, content_type="text/javascript")

        await page.route("**/page/js/main.js", serve)
        await page.goto(stage.page_url)
        await page.wait_for_selector(".inspector")
        try:
            yield Shown(page, log, stage, problems)
        finally:
            await browser.close()


def in_browser(play: Callable[[Shown], Awaitable[None]], **settings: int | str) -> None:
    """Runs a play. Nothing may go wrong in the browser that the play does not ask for."""

    async def main() -> None:
        async with panel(**settings) as shown:  # type: ignore[arg-type]
            await play(shown)
            assert shown.problems == []

    asyncio.run(main())
