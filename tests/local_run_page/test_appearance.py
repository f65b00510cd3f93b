"""How it looks and whom it shuts out: dark and light, wide and narrow, by axe and by measure."""

from __future__ import annotations

from functools import partial

import pytest
from playwright.sync_api import expect

from stage_page.chromium import PHONE, Visit, barriers
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import ChatPage, until

pytestmark = pytest.mark.slow

LAPTOP = {"width": 1366, "height": 768}
INSPECTED = {"width": 1400, "height": 900}


@pytest.fixture(scope="package")
def talked(running: LocalRunProcess) -> LocalRunProcess:
    """A local run in which a table, a face and code were seen."""
    for question in ("a table please", "show me all your faces", "write some code"):
        asked = running.post("post", channel="general", content=question)
        until(partial(_answered, running, int(asked["id"])))
    return running


def _answered(running: LocalRunProcess, question: int) -> bool | None:
    """There is an answer, and nobody is at it any more."""
    begun = any(int(message["id"]) > question for message in running.messages())
    return (begun and not running.get("answering")) or None


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nobody_is_shut_out(talked: LocalRunProcess, visit: Visit, scheme: str) -> None:
    chat = ChatPage(talked, visit(talked.address, viewport=INSPECTED, color_scheme=scheme))
    expect(chat.messages.locator("pre").first).to_be_visible()
    assert barriers(chat.page) == []
    chat.page.get_by_role("button", name="Inspector", exact=True).click()
    chat.inspector.locator(".in-row").first.click()
    expect(chat.inspector.locator(".in-why")).to_be_visible()
    chat.inspector.get_by_role("slider", name="Degree").press("ArrowRight")
    expect(chat.inspector.locator(".in-column")).to_have_count(2)
    assert barriers(chat.page) == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["1366", "390"])
def test_what_opens_shuts_nobody_out(
    talked: LocalRunProcess, visit: Visit, size: dict[str, int], scheme: str
) -> None:
    page = ChatPage(talked, visit(talked.address, viewport=size, color_scheme=scheme)).page
    assert barriers(page) == []
    for button in ("#things-to-try", "#connect-model", "#go-live", "#break"):
        page.locator(button).click()
        page.locator("dialog[open], .menu").wait_for()
        assert (button, barriers(page)) == (button, [])
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"], button
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open], .menu")).to_have_count(0)


def test_a_phone(talked: LocalRunProcess, visit: Visit) -> None:
    chat = ChatPage(talked, visit(talked.address, viewport=PHONE, has_touch=True))
    page = chat.page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert barriers(page) == []
    page.get_by_role("button", name="Channels").click()
    expect(page.get_by_role("link", name="quiet")).to_be_in_viewport(ratio=1)
    page.get_by_role("link", name="quiet").click()
    expect(page.get_by_role("link", name="quiet")).not_to_be_in_viewport()
    page.get_by_role("button", name="Members").click()
    expect(page.locator("#members").get_by_text("Mochi")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Inspector", exact=True).click()
    box = chat.inspector.bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 800)
    expect(chat.inspector.locator(".in-row").first).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert barriers(page) == []
    page.get_by_role("button", name="Close Inspector").click()
    expect(chat.inspector).to_be_hidden()


def test_a_picture_is_on_the_page(talked: LocalRunProcess, visit: Visit) -> None:
    """Every picture that the page asks for is there: faces, emoji, the table."""
    chat = ChatPage(talked, visit(talked.address))
    chat.page.wait_for_load_state("networkidle")
    broken = "all => all.filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
    assert chat.page.locator("img").evaluate_all(broken) == []
