"""Channels, threads and direct messages that come and go, and more messages than fit."""

from __future__ import annotations

import re

import discord
import pytest
from playwright.sync_api import Page, expect

from stage_page.chromium import Visit
from stage_page.page_harness import PageHarness, open_page_harness


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
    expect(page).to_have_title("#a thread · Stagehand")
    page.go_back()
    expect(page).to_have_title("#random · Stagehand")
    page.get_by_role("button", name="Direct messages").click()
    box = page.get_by_role("textbox", name="Message @Stagehand")
    box.fill("psst")
    box.press("Enter")
    expect(page.locator(".message .content")).to_have_text("psst")
    expect(page.locator("#members .member-name")).to_have_text(["Mika", "Stagehand"])


def test_what_the_bot_makes_and_removes_is_seen(harness: PageHarness, page: Page) -> None:
    async def make() -> discord.Thread:
        message = await harness.bot.place().send("let us talk there")
        return await message.create_thread(name="side talk")

    harness.run(make())
    expect(page.locator("#channels").get_by_role("link", name="side talk")).to_be_visible()
    expect(page.locator(".message .thread-link")).to_contain_text("side talk")
    page.get_by_role("link", name="random").click()
    expect(page).to_have_title("#random · Stagehand")
    harness.do(lambda: harness.stage.delete_channel("random"))
    expect(page.get_by_text("This channel is gone.")).to_be_visible()
    expect(page).to_have_title("#general · Stagehand")


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


@pytest.mark.shared_page
def test_a_reader_who_scrolled_up_is_left_alone(harness: PageHarness, page: Page) -> None:
    for number in range(40):
        harness.post(f"line {number}", user="ren")
    expect(page.get_by_text("line 39", exact=True)).to_be_in_viewport()
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


FORUM: dict[str, object] = {
    "guilds": [
        {
            "name": "Tea House",
            "members": [{"name": "mika", "display_name": "Mika"}],
            "channels": [{"name": "general"}, {"name": "questions", "type": "forum"}],
        }
    ]
}


def test_a_thread_is_started_on_a_message(harness: PageHarness, page: Page) -> None:
    number = harness.post("what about tea?")
    page.locator(f"#message-{number} .content").click(button="right")
    page.get_by_role("menuitem", name="Start a thread").click()
    dialog = page.get_by_role("dialog", name="Start a thread")
    name = dialog.get_by_role("textbox", name="Name of the thread")
    name.fill("   ")
    dialog.get_by_role("button", name="Start").click()
    expect(name).to_have_accessible_description("a name has 1 to 100 characters")
    name.fill("Tea talk")
    dialog.get_by_role("textbox", name="First message").fill("sencha first")
    dialog.get_by_role("button", name="Start").click()
    expect(page.locator("#channel-title")).to_have_text("Tea talk")
    expect(page.locator(".message .content")).to_have_text("sencha first")
    thread = harness.wait_for(lambda: harness.bot.get_channel(int(number)))
    assert isinstance(thread, discord.Thread)
    assert thread.name == "Tea talk"
    page.get_by_role("link", name="general").click()
    expect(page.locator(".message .thread-link")).to_contain_text("Tea talk")
    page.locator(f"#message-{number} .content").click(button="right")
    expect(page.get_by_role("menuitem", name="Copy text")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Start a thread")).to_have_count(0)


def test_a_post_is_made_in_a_forum(visit: Visit) -> None:
    with open_page_harness(FORUM) as harness:
        page = visit(harness.stage.page_url)
        page.get_by_role("button", name="New post in questions").click()
        dialog = page.get_by_role("dialog", name="New post in #questions")
        dialog.get_by_role("textbox", name="Title").fill("How hot?")
        dialog.get_by_role("textbox", name="Message").fill("For green tea.")
        dialog.get_by_role("button", name="Post").click()
        expect(page.locator("#channel-title")).to_have_text("How hot?")
        expect(page.locator(".message .content")).to_have_text("For green tea.")
        expect(page.get_by_role("link", name="How hot?")).to_be_visible()
        thread = harness.wait_for(
            lambda: next((one for one in harness.bot.guilds[0].threads), None)
        )
        assert thread is not None
        assert thread.parent is not None
        assert (thread.name, thread.parent.name) == ("How hot?", "questions")


@pytest.mark.shared_page
def test_the_way_to_the_newest_messages(harness: PageHarness, page: Page) -> None:
    """Whenever one is not at the bottom, not only when something new has come."""
    for number in range(30):
        harness.say(f"line {number}")
    newest = page.get_by_role("button", name="Go to the newest messages")
    expect(page.get_by_text("line 29", exact=True)).to_be_in_viewport()
    expect(newest).to_be_hidden()
    page.locator("#log").hover()
    page.mouse.wheel(0, -600)
    expect(newest).to_be_visible()
    newest.click()
    expect(page.get_by_text("line 29", exact=True)).to_be_in_viewport()
    expect(newest).to_be_hidden()


COVERED = """toolbar => {
  const box = toolbar.getBoundingClientRect();
  const hit = ({ left, right, top, bottom }) =>
    left < box.right && right > box.left && top < box.bottom && bottom > box.top;
  return [...document.querySelectorAll("#log .content, #log header")].filter((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return [...range.getClientRects()].some(hit);
  }).length;
}"""


@pytest.mark.parametrize("width", [390, pytest.param(900, marks=pytest.mark.slow), 1400])
def test_the_toolbar_covers_no_text(harness: PageHarness, visit: Visit, width: int) -> None:
    options = {"viewport": {"width": width, "height": 800}, "has_touch": width < 500}
    page = visit(harness.stage.page_url, **options)
    for _ in range(6):
        last = harness.say("a long line that reaches to the end of its room " * 6)
    view = page.locator(f"#message-{last}")
    expect(view).to_be_in_viewport()
    view.locator(".content").click()
    toolbar = page.get_by_role("toolbar")
    expect(toolbar).to_be_visible()
    assert toolbar.evaluate(COVERED) == 0
    page.locator("#log .message").nth(3).hover()
    expect(page.locator("#log .message").nth(3).get_by_role("toolbar")).to_be_visible()
    assert toolbar.evaluate(COVERED) == 0
