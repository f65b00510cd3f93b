"""One browser and one `oshaberi run` for the package, a page for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from stage_page.chromium import KeptPage, Visit, open_browser, visits
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import ChatPage, fast_local_run


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
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def chat_visit(browser: Browser, kept_page: KeptPage) -> Iterator[Visit]:
    with visits(browser, kept_page) as opened:
        yield opened


@pytest.fixture(scope="module")
def opened_chat(running: LocalRunProcess, chat_visit: Visit) -> ChatPage:
    return ChatPage(running, chat_visit(running.address))


@pytest.fixture
def chat(opened_chat: ChatPage, chat_visit: Visit) -> Iterator[ChatPage]:
    """#general, where tests of this module may have been before."""
    opened_chat.prepare()
    yield opened_chat
    chat_visit.check()
