"""One browser for the package."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from stage_page.chromium import Visit, open_browser, visits

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    importlib.import_module("discord")
importlib.import_module("openai")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened
