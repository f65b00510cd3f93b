"""One browser for the package; a stage, a bot and a page for each test, or cleared for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.chromium import Visit, open_browser, visits
from tests.stage_page.page_harness import PageHarness, open_page_harness, open_stage
from tests.stage_page.shared_page import SharedPage


def shares(request: pytest.FixtureRequest) -> bool:
    """A module marked `shared_page` has one stage and page, cleared before each test."""
    return request.node.get_closest_marker("shared_page") is not None


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[PageHarness]:
    if shares(request):
        yield request.getfixturevalue("cleared_page").harness
        return
    with open_page_harness() as opened:
        yield opened


@pytest.fixture(scope="module")
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
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened


@pytest.fixture
def page(request: pytest.FixtureRequest, harness: PageHarness) -> Page:
    """The chat of #general, as Mika."""
    if shares(request):
        shared: Page = request.getfixturevalue("cleared_page").page
        return shared
    visit: Visit = request.getfixturevalue("visit")
    opened = visit(harness.stage.page_url)
    opened.locator("#log .intro").wait_for()
    return opened


@pytest.fixture(scope="module")
def shared_page(browser: Browser) -> Iterator[SharedPage]:
    with open_page_harness() as harness, visits(browser) as visit:
        page = visit(harness.stage.page_url)
        page.locator("#log .intro").wait_for()
        yield SharedPage(harness, page)


@pytest.fixture
def cleared_page(shared_page: SharedPage) -> SharedPage:
    shared_page.clear()
    return shared_page
