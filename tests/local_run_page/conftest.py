"""One browser and one `oshaberi run` for the package, a page for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.chromium import KeptPage, Visit, open_browser, visits
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import FAST, ChatPage, fast_local_run


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def kept_page(browser: Browser) -> KeptPage:
    return KeptPage(browser)


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRunProcess]:
    with fast_local_run(tmp_path_factory.mktemp("local_run")) as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, kept_page: KeptPage) -> Iterator[Visit]:
    with visits(browser, kept_page) as opened:
        yield opened


@pytest.fixture
def chat(running: LocalRunProcess, visit: Visit) -> ChatPage:
    """#general, as a newcomer. A test that failed may have left something behind."""
    running.post("model", speed=FAST, use="demo")
    running.post("clear_faults")
    return ChatPage(running, visit(running.address))
