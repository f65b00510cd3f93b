"""One browser and one `oshaberi run` for the package, a page for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.chromium import Visit, open_browser, visits
from tests.local.shows import Show
from tests.show.chat import FAST, Chat, hasty_show


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    with hasty_show(tmp_path_factory.mktemp("show")) as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened


@pytest.fixture
def chat(running: Show, visit: Visit) -> Chat:
    """#general, as a newcomer. A test that failed may have left something behind."""
    running.post("model", speed=FAST, use="demo")
    running.post("clear_faults")
    return Chat(running, visit(running.address))
