"""The panel in a real browser, by itself: a stage with a log, a page with nothing else on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from playwright.async_api import Browser, ConsoleMessage, Page, Route, async_playwright

from discord_stage import Stage
from oshaberi.inspector import StreamLog
from oshaberi.inspector.inspector_api import attach

HARNESS = """
import { Api } from "/page/js/api.js";
import { Feed } from "/page/js/feed.js";
import { mountInspector } from "/page/extensions/inspector/inspector.js";
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
class OpenPanel:
    """The panel in the browser, and what it shows."""

    page: Page
    log: StreamLog
    stage: Stage
    problems: list[str]


@asynccontextmanager
async def panel(
    browser: Browser, width: int = 400, height: int = 860, theme: str = "dark"
) -> AsyncIterator[OpenPanel]:
    log = StreamLog()
    context = await browser.new_context(viewport={"width": width, "height": height})
    try:
        async with Stage() as stage:
            attach(log, stage)
            await context.grant_permissions(["clipboard-read", "clipboard-write"])
            page = await context.new_page()
            problems: list[str] = []
            _listen(page, problems)

            async def serve(route: Route) -> None:
                body = HARNESS.replace("THEME", theme)
                await route.fulfill(body=body, content_type="text/javascript")

            await page.route("**/page/js/main.js", serve)
            await page.goto(stage.page_url)
            await page.wait_for_selector(".inspector")
            yield OpenPanel(page, log, stage, problems)
            # Before the stage ends, or the page would complain about that.
            await page.close()
    finally:
        await context.close()


def _listen(page: Page, problems: list[str]) -> None:
    def hear(said: ConsoleMessage) -> None:
        if said.type == "error":
            problems.append(said.text)

    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", hear)


PanelScenario = Callable[[OpenPanel], Awaitable[None]]


class PanelBrowser:
    """One browser on one loop, for all scenarios of a module."""

    def __init__(self, runner: asyncio.Runner, browser: Browser) -> None:
        self._runner = runner
        self._browser = browser

    def __call__(
        self, scenario: PanelScenario, *, width: int = 400, height: int = 860, theme: str = "dark"
    ) -> None:
        """Nothing may go wrong in the browser that the scenario does not ask for."""
        self._runner.run(self._run(scenario, width, height, theme))

    async def _run(self, scenario: PanelScenario, width: int, height: int, theme: str) -> None:
        async with panel(self._browser, width, height, theme) as opened:
            await scenario(opened)
            assert opened.problems == []


@contextmanager
def open_panel_browser(program: str) -> Iterator[PanelBrowser]:
    with asyncio.Runner() as runner:
        starting = async_playwright()
        playwright = runner.run(starting.__aenter__())
        try:
            browser = runner.run(playwright.chromium.launch(executable_path=program))
            yield PanelBrowser(runner, browser)
            runner.run(browser.close())
        finally:
            runner.run(starting.__aexit__(None, None, None))
