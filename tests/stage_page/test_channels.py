"""Channels, threads and direct messages that come and go, and more messages than fit."""

from __future__ import annotations

import re

import discord
import pytest
from playwright.sync_api import Page, expect

from tests.stage_page.page_harness import PageHarness


def test_channels_threads_and_direct_messages(harness: PageHarness, page: Page) -> None:
    harness.post("over here", "random", user="ren")
    link = page.get_by_role("link", name="random (unread)")
    expect(link).to_be_visible()
    harness.say(f"<@{harness.stage.world.user('mika').id}>", "random")
    expect(page.get_by_role("link", name="random 1 mentions")).to_be_visible()
    page.get_by_role("link", name=re.compile("^random")).click()
    expect(page.locator(".message .content").first).to_have_text("over here")
    expect(page.get_by_role("link", name="random", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    page.get_by_role("link", name="a thread").click()
    expect(page).to_have_title("#a thread · Oshaberi")
    page.go_back()
    expect(page).to_have_title("#random · Oshaberi")
    page.get_by_role("button", name="Direct messages").click()
    box = page.get_by_role("textbox", name="Message @Oshaberi")
    box.fill("psst")
    box.press("Enter")
    expect(page.locator(".message .content")).to_have_text("psst")
    expect(page.locator("#members .member-name")).to_have_text(["Mika", "Oshaberi"])


def test_what_the_bot_makes_and_removes_is_seen(harness: PageHarness, page: Page) -> None:
    async def make() -> discord.Thread:
        message = await harness.bot.place().send("let us talk there")
        return await message.create_thread(name="side talk")

    harness.run(make())
    expect(page.locator("#channels").get_by_role("link", name="side talk")).to_be_visible()
    expect(page.locator(".message .thread-link")).to_contain_text("side talk")
    page.get_by_role("link", name="random").click()
    expect(page).to_have_title("#random · Oshaberi")
    harness.do(lambda: harness.stage.delete_channel("random"))
    expect(page.get_by_text("This channel is gone.")).to_be_visible()
    expect(page).to_have_title("#general · Oshaberi")


@pytest.mark.slow
def test_five_hundred_messages(harness: PageHarness, page: Page) -> None:
    people = harness.stage.people

    def write() -> None:
        for number in range(500):
            people.post("general", f"message {number}", user=("mika", "ren")[number % 2])

    harness.do(write)
    expect(page.locator(".message")).to_have_count(500)
    expect(page.get_by_text("message 499", exact=True)).to_be_in_viewport()
    page.reload()
    expect(page.get_by_text("message 499", exact=True)).to_be_in_viewport()
    assert page.locator(".message").count() < 500
    while (before := page.locator(".message").count()) < 500:
        page.locator("#scroller").evaluate("box => (box.scrollTop = 0)")
        page.wait_for_function(
            "before => document.querySelectorAll('.message').length > before", arg=before
        )
    expect(page.locator(".message").first.locator(".content")).to_have_text("message 0")
    order = page.locator(".message .content").all_text_contents()
    assert order == [f"message {number}" for number in range(500)]


def test_a_reader_who_scrolled_up_is_left_alone(harness: PageHarness, page: Page) -> None:
    for number in range(40):
        harness.post(f"line {number}", user="ren")
    page.locator("#scroller").evaluate("box => (box.scrollTop = 0)")
    expect(page.get_by_role("heading", name="Welcome to #general!")).to_be_in_viewport()
    harness.post("news", user="ren")
    button = page.get_by_role("button", name="Go to the newest messages")
    expect(button).to_be_visible()
    expect(page.get_by_role("heading", name="Welcome to #general!")).to_be_in_viewport()
    button.click()
    expect(page.get_by_text("news", exact=True)).to_be_in_viewport()


@pytest.mark.slow
def test_a_page_that_stays_open_does_not_grow_for_ever(harness: PageHarness, page: Page) -> None:
    people = harness.stage.people

    def write() -> None:
        for number in range(1001):
            people.post("general", f"message {number}", user=("mika", "ren")[number % 2])

    harness.do(write)
    expect(page.get_by_text("message 1000", exact=True)).to_be_in_viewport()
    expect(page.locator(".message")).to_have_count(600)
    page.locator("#scroller").evaluate("box => (box.scrollTop = 0)")
    expect(page.get_by_text("message 400", exact=True)).to_be_attached()
    expect(page.locator(".message")).to_have_count(660)
