"""Each line of the keyboard help is tried: the page does what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from stage_page.page_harness import PageHarness


def enter(harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    box.press_sequentially("two")
    box.press("Shift+Enter")
    box.press_sequentially("lines")
    box.press("Enter")
    harness.wait_for(lambda: harness.stage.world.contents("general") == ["two\nlines"])
    box.press_sequentially("```")
    box.press("Enter")
    expect(box).to_have_value("```\n")
    box.fill("")


def up(_harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    box.press("ArrowUp")
    expect(box).to_have_value("two\nlines")
    box.press("Escape")
    expect(page.locator("#context-bar")).to_be_hidden()
    expect(box).to_have_value("")


def suggested(_harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    for text in "@r", "#", ":tad":
        box.press_sequentially(text)
        expect(page.locator("#suggestions [role=option]").first).to_be_visible()
        box.press("Escape")
        expect(page.locator("#suggestions")).to_be_hidden()
        box.fill("")


def commands(_harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    box.press_sequentially("/")
    expect(page.locator("#suggestions [role=option]").first).to_be_visible()
    box.press("Escape")
    box.fill("")


def taken(_harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    for key in "Enter", "Tab":
        box.press_sequentially(":")
        box.press_sequentially("tad")
        options = page.locator("#suggestions [role=option]")
        expect(options.first).to_have_attribute("aria-selected", "true")
        box.press("ArrowDown")
        box.press("ArrowUp")
        box.press(key)
        expect(box).to_have_value("🎉 ")
        box.fill("")


def walk(harness: PageHarness, page: Page) -> None:
    first, last = harness.post("one", user="mika"), harness.say("other")
    expect(page.locator(f"#message-{last}")).to_be_visible()
    page.locator("#composer-text").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.locator(f"#message-{last}")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(f"#message-{first}")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"#message-{last}")).to_be_focused()


def any_message(harness: PageHarness, page: Page) -> None:
    message = page.locator(f"#message-{harness.say('theirs')}")
    context = page.locator("#context-bar")
    for key in "r", "Shift+R":
        message.focus()
        page.keyboard.press(key)
        expect(context).to_contain_text("Reply")
        page.keyboard.press("Escape")
        expect(context).to_be_hidden()
    message.focus()
    page.keyboard.press("+")
    expect(page.get_by_role("searchbox", name="Find an emoji")).to_be_focused()
    page.keyboard.press("Escape")
    expect(message).to_be_focused()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("c")
    page.wait_for_function("navigator.clipboard.readText().then(text => text === 'theirs')")
    page.context.clear_permissions()


def own_message(harness: PageHarness, page: Page) -> None:
    message = page.locator(f"#message-{harness.post('mine', user='mika')}")
    message.focus()
    page.keyboard.press("e")
    expect(page.locator("#context-bar")).to_contain_text("Editing your message")
    page.keyboard.press("Escape")
    message.focus()
    page.keyboard.press("Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(message).to_have_count(0)
    theirs = page.locator(f"#message-{harness.say('not mine')}")
    theirs.focus()
    page.keyboard.press("e")
    page.keyboard.press("Delete")
    expect(page.locator("#context-bar")).to_be_hidden()
    expect(page.get_by_role("dialog")).to_have_count(0)


def actions(harness: PageHarness, page: Page) -> None:
    page.locator(f"#message-{harness.say('with a menu')}").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Copy message link")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)


def channels(_harness: PageHarness, page: Page) -> None:
    page.locator("#composer-text").focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page).to_have_title("#random · Stagehand")
    page.keyboard.press("Alt+ArrowUp")
    expect(page).to_have_title("#general · Stagehand")


def escape(harness: PageHarness, page: Page) -> None:
    for number in range(30):
        last = harness.say(f"line {number}")
    page.locator(f"#message-{last}").focus()
    page.locator("#scroller").evaluate("node => { node.scrollTop = 0; }")
    page.keyboard.press("Escape")
    expect(page.locator("#composer-text")).to_be_focused()
    page.locator("#scroller").evaluate("node => { node.scrollTop = 0; }")
    page.keyboard.press("Escape")
    expect(page.locator(f"#message-{last}")).to_be_in_viewport()


PROMISED: dict[str, Callable[[PageHarness, Page], None]] = {
    "Enter / Shift+Enter": enter,
    "↑ in an empty box": up,
    "/": commands,
    "@ # :": suggested,
    "Enter or Tab": taken,
    "Shift+Tab to a message, then ↑ ↓": walk,
    "R · + · C": any_message,
    "E · Delete": own_message,
    "Enter on a message": actions,
    "Alt+↑ / Alt+↓": channels,
    "Escape": escape,
}


@pytest.mark.shared_page
def test_the_keys_do_what_the_help_says(harness: PageHarness, page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    settings = page.get_by_role("dialog", name="Settings")
    assert settings.locator(".keys dt").all_text_contents() == list(PROMISED)
    page.keyboard.press("Escape")
    expect(settings).to_have_count(0)
    for does in PROMISED.values():
        does(harness, page)
