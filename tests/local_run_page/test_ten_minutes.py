"""A visitor's first ten minutes, with nothing but the README and what it leads to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stage_page.chromium import Visit, barriers
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import FAST, ChatPage

ROOT = Path(__file__).parents[2]
WIDTHS = (390, 900, 1400)
BROKEN_WORDS = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of node.data.matchAll(/[\\p{L}]{2,20}/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1 && !/[\\u3040-\\u9fff]/u.test(word)) broken.push(word);
    }
  }
  return broken;
}"""


def page_of(path: str) -> str:
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_the_readme_leads_here() -> None:
    readme = page_of("README.md")
    assert "make run" in readme
    assert "docs/getting-started.md" in readme


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_screen_is_understood(
    running: LocalRunProcess, visit: Visit, tmp_path: Path, width: int, scheme: str
) -> None:
    """It says what this is, who speaks and what to do, without scrolling and without torn words."""
    size = {"width": width, "height": 900}
    quiet = running.get("world")["guilds"][0]["channels"][1]
    place = f"{running.url}/channels/{quiet['guild_id']}/{quiet['id']}?token={running.token}"
    chat = ChatPage(running, visit(place, viewport=size, color_scheme=scheme))
    page = chat.page
    greeting = page.get_by_role("region", name="Things to try")
    for words in ("a small Discord on your own machine", "What Mochi says is scripted", "is real"):
        expect(greeting.get_by_text(words)).to_be_in_viewport(ratio=1)
    expect(greeting.get_by_role("button", name="Connect a model")).to_be_in_viewport(ratio=1)
    expect(greeting.locator(".prompt").first).to_be_in_viewport(ratio=1)
    expect(chat.box).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(BROKEN_WORDS) == []
    assert barriers(page) == []
    page.screenshot(path=tmp_path / "first.png")
    page.get_by_role("button", name="Things to try").first.click()
    tries = page.get_by_role("dialog", name="Things to try")
    expect(tries.get_by_role("button", name="Draw a table")).to_be_visible()
    assert barriers(page) == []
    page.screenshot(path=tmp_path / "tries.png")


@pytest.mark.slow  # like the other widths
def test_no_word_is_torn_on_a_phone(running: LocalRunProcess, visit: Visit) -> None:
    phone = {"width": WIDTHS[0], "height": 850}
    chat = ChatPage(running, visit(running.address, viewport=phone, has_touch=True))
    for words in ("show me an error", "markdown", "write some code"):
        chat.ask(words)
    chat.command("/config show")
    expect(chat.page.locator(".message.ephemeral pre").last).to_contain_text("humanizer_degree")
    assert chat.page.evaluate(BROKEN_WORDS) == []
    assert chat.page.evaluate("document.scrollingElement.scrollWidth") <= WIDTHS[0]
    chat.page.locator("#connect-model").click()
    expect(chat.page.get_by_role("dialog", name="Connect a model")).to_be_visible()
    assert chat.page.evaluate(BROKEN_WORDS) == []
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Inspector", exact=True).click()
    chat.inspector.get_by_text("What the signs mean").click()
    chat.inspector.locator(".in-row").first.click()
    assert chat.page.evaluate(BROKEN_WORDS) == []


def test_the_steps_of_the_guide(chat: ChatPage) -> None:
    """Everything that the guide tells a visitor to press or say is there and does what it says."""
    guide, page = page_of("docs/getting-started.md"), chat.page
    for told in ("*Draw a table*", "*Things to try*", "*Connect a model*", "*Try again*"):
        assert told in guide
    page.locator("#things-to-try").click()
    turn = chat.answer_to(
        lambda: page.get_by_role("dialog").get_by_role("button", name="Draw a table").click()
    )
    assert any(message["attachments"] for message in turn.messages)
    asked = re.search(r"Write \*(yuki, [^*]+)\*", guide)
    assert asked is not None
    assert {
        m["author"]["username"] for m in chat.ask(asked[1]).messages if m.get("webhook_id")
    } == {"Yuki"}
    honest = chat.ask("what is the capital of France?")
    assert "written scenes" in honest.text
    chat.speed(2)
    chat.send("Count as far as you can until I stop you")
    expect(chat.stop).to_be_visible()
    chat.stop.click()
    expect(chat.stop).to_be_hidden()
    chat.speed(FAST)
    chat.break_it("503 on the next message")
    once = chat.ask("hello")
    assert len(once.texts) == len(set(once.texts))
    chat.ask("Show me an error")
    expect(page.get_by_role("button", name="Try again").last).to_be_visible()
    page.get_by_role("button", name="Inspector", exact=True).click()
    expect(chat.inspector.locator(".in-failure")).to_contain_text("overloaded")
    page.locator("#connect-model").click()
    panel = page.get_by_role("dialog", name="Connect a model")
    expect(panel.get_by_role("radio")).to_have_count(10)
    page.keyboard.press("Escape")
    page.locator("#things-to-try").click()
    expect(page.get_by_role("button", name="Seen: Break Discord")).to_be_visible()
    expect(page.get_by_role("button", name="Seen: Look inside")).to_be_visible()
