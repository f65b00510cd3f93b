"""One browser for all scenarios of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stage_page.chromium import chromium
from tests.inspector.panel_browser import PanelBrowser, open_panel_browser


@pytest.fixture(scope="module")
def in_browser() -> Iterator[PanelBrowser]:
    with open_panel_browser(chromium()) as panel_browser:
        yield panel_browser
