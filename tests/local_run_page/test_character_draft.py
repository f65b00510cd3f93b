"""A character is drafted from one sentence on the page, edited, and talked to."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from stage_page.chromium import barriers
from tests.local_run_page.chat_page import ChatPage


def test_a_character_is_made_from_one_sentence(chat: ChatPage) -> None:
    page = chat.page
    chat.box.click()
    page.keyboard.type("/persona create")
    page.keyboard.press("Tab")
    page.get_by_role("button", name=re.compile("more option")).click()
    page.get_by_role("option", name=re.compile("^idea")).click()
    page.keyboard.type("a lighthouse keeper who waits for a ship")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()
    page.get_by_role("button", name="Edit and create").click()
    form = page.get_by_role("dialog", name=re.compile("^New persona: "))
    expect(form.get_by_label("Who it is, how it speaks")).to_have_value(
        re.compile("is a lighthouse keeper who waits for a ship")
    )
    form.get_by_label("Its name").fill("Umi")
    assert barriers(page) == []
    form.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("is here. It answers to its name.")).to_be_visible()
    expect(page.get_by_text("Nothing is stored yet.")).to_have_count(0)
    chat.box.fill("Umi, how are you?")
    chat.box.press("Enter")
    author = page.locator("#log .message .author", has_text="Umi")
    expect(author.first).to_be_visible()
