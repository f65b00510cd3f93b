"""People join and leave on the page, and the bot's entries in a person's menu are there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from stage_page.page_harness import PageHarness

pytestmark = pytest.mark.shared_page


def test_somebody_joins_and_leaves(harness: PageHarness, page: Page) -> None:
    names = page.locator("#members .member-name")
    page.get_by_role("button", name="Somebody joins").click()
    dialog = page.get_by_role("dialog", name="Somebody joins")
    name = dialog.get_by_role("textbox", name="Name")
    name.fill("mika")
    dialog.get_by_role("button", name="Join").click()
    expect(dialog.get_by_role("alert")).to_contain_text("mika is in Tea House already")
    name.fill("sora")
    dialog.get_by_role("button", name="Join").click()
    expect(names).to_have_text(["Mika", "Ren", "sora", "Stagehand"])
    harness.wait_for(lambda: harness.bot.guilds[0].get_member_named("sora"))

    sora = page.locator(".member").filter(has_text="sora")
    sora.click(button="right")
    page.get_by_role("menuitem", name="Leave the server").click()
    expect(names).to_have_text(["Mika", "Ren", "Stagehand"])
    harness.wait_for(lambda: harness.bot.guilds[0].get_member_named("sora") is None)


def test_entries_of_a_person_s_menu(page: Page) -> None:
    page.get_by_role("button", name="Actions for Ren").click()
    page.get_by_role("menuitem", name=re.compile("^Wave at")).click()
    expect(page.locator(".message .content")).to_have_text("waves at Ren")
    page.get_by_role("button", name="Actions for Mika").click()
    expect(page.get_by_role("menuitem", name=re.compile("^Wave at"))).to_be_visible()
    expect(page.get_by_role("menuitem", name="Leave the server")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Actions for Mika")).to_be_focused()
