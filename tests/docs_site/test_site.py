"""The documentation as a site, in a browser: both themes, wide and narrow, without barriers."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from stage_page.chromium import PHONE, Visit, barriers, open_browser, visits

pytestmark = pytest.mark.slow  # building it takes several seconds

ROOT = Path(__file__).parents[2]
LAPTOP = {"width": 1366, "height": 768}
PAGES = ("", "getting-started", "library", "providers", "compared", "reference/python")
"""One of each kind; axe takes a second for each."""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """The test says what is wrong."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with visits(browser) as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["1366", "390"])
def test_nobody_is_shut_out(site: str, visit: Visit, size: dict[str, int], scheme: str) -> None:
    page = visit(site, viewport=size, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    found = {}
    for name in PAGES:
        answer = page.goto(f"{site}/{name}/" if name else site)
        assert answer is not None
        assert answer.ok, name
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"], name
        if wrong := barriers(page):
            found[name] = wrong
    assert found == {}
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []


def test_the_search_finds_a_setting(site: str, visit: Visit) -> None:
    page = visit(site, viewport=LAPTOP)
    page.get_by_role("textbox", name="Search").fill("humanizer_degree")
    found = page.locator(".md-search-result__item")
    expect(found.filter(has_text="Settings").first).to_be_visible()
    assert barriers(page) == []


def test_the_reference_has_the_public_names(site: str, visit: Visit) -> None:
    page = visit(f"{site}/reference/python/", viewport=LAPTOP)
    contents = page.get_by_role("navigation", name="Table of contents")
    for name in ("deliver", "delivery", "stop", "TextEngine", "Chunk"):
        expect(contents.get_by_role("link", name=name, exact=True)).to_be_visible()
