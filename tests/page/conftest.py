"""One browser for the package; a stage, a bot and a page for each test, or tidied up for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.chromium import Visit, open_browser, visits
from tests.page.salon import Salon
from tests.page.theatre import Theatre, open_stage, open_theatre


def shares(request: pytest.FixtureRequest) -> bool:
    """A module marked `salon` is content with one theatre and page, tidied up for each test."""
    return request.node.get_closest_marker("salon") is not None


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def theatre(request: pytest.FixtureRequest) -> Iterator[Theatre]:
    if shares(request):
        yield request.getfixturevalue("tidy").theatre
        return
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


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened


@pytest.fixture
def page(request: pytest.FixtureRequest, theatre: Theatre) -> Page:
    """The chat of #general, as Mika."""
    if shares(request):
        shared: Page = request.getfixturevalue("tidy").page
        return shared
    visit: Visit = request.getfixturevalue("visit")
    opened = visit(theatre.stage.page_url)
    opened.locator("#log .intro").wait_for()
    return opened


@pytest.fixture(scope="module")
def salon(browser: Browser) -> Iterator[Salon]:
    with open_theatre() as theatre, visits(browser) as visit:
        page = visit(theatre.stage.page_url)
        page.locator("#log .intro").wait_for()
        yield Salon(theatre, page)


@pytest.fixture
def tidy(salon: Salon) -> Salon:
    salon.tidy_up()
    return salon
