"""One browser for the package; a stage, a bot and a page for each test, or cleared for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from stage_page.chromium import KeptPage, Visit, open_browser, visits
from stage_page.page_harness import PageHarness, open_page_harness, open_stage
from stage_page.shared_page import SharedPage


def shares(request: pytest.FixtureRequest) -> bool:
    """Tests marked `shared_page` have one stage and page, cleared before each, and come first."""
    return request.node.get_closest_marker("shared_page") is not None


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def kept_page(browser: Browser) -> KeptPage:
    return KeptPage(browser)


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[SharedPage]:
    shared = SharedPage(browser)
    yield shared
    shared.close()


@pytest.fixture(autouse=True)
def _one_stage(request: pytest.FixtureRequest, shared_page: SharedPage) -> None:
    if not shares(request):
        shared_page.close()


@pytest.fixture
def harness(request: pytest.FixtureRequest, shared_page: SharedPage) -> Iterator[PageHarness]:
    if shares(request):
        shared_page.prepare()
        yield shared_page.harness
        shared_page.check()
    else:
        with open_page_harness() as opened:
            yield opened


@pytest.fixture(scope="package")
def script_page(browser: Browser) -> Iterator[Page]:
    """A page to call the modules of the page in, for tests that leave nothing behind."""
    with open_stage() as stage:
        context = browser.new_context()
        page = context.new_page()
        page.goto(stage.page_url)
        page.locator("#log .intro").wait_for()
        yield page
        context.close()


@pytest.fixture
def visit(browser: Browser, kept_page: KeptPage) -> Iterator[Visit]:
    with visits(browser, kept_page) as opened:
        yield opened


@pytest.fixture
def page(request: pytest.FixtureRequest, harness: PageHarness, shared_page: SharedPage) -> Page:
    """The chat of #general, as Mika."""
    if shares(request):
        return shared_page.page
    visit: Visit = request.getfixturevalue("visit")
    opened = visit(harness.stage.page_url)
    opened.locator("#log .intro").wait_for()
    return opened
