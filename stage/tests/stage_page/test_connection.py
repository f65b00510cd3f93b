"""The stage goes away and comes back; two browsers at once; two people."""

from __future__ import annotations

from contextlib import ExitStack
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from stage_page.chromium import Visit
from stage_page.page_bot import Counter
from stage_page.page_harness import PageHarness, open_page_harness


def test_the_page_comes_back_with_the_stage(visit: Visit) -> None:
    with ExitStack() as first:
        harness = first.enter_context(open_page_harness())
        url, token = harness.stage.page_url, harness.stage.control_token
        page = visit(url)
        harness.say("before")
        expect(page.locator(".message .content")).to_have_text("before")
        page.locator("#composer-text").fill("a draft")
        world = harness.stage.world
    expect(page.locator("#banner")).to_contain_text("The stage does not answer")
    page.locator("#composer-text").press("Enter")
    failed = page.locator("#outbox .message")
    expect(failed).to_contain_text("Not sent: The stage does not answer.")
    page.locator("#composer-text").fill("another")
    port = urlsplit(url).port or 0
    with open_page_harness(world, port=port, control_token=token) as harness:
        expect(page.locator("#banner")).to_be_hidden()
        failed.get_by_role("button", name="Retry").click()
        page.locator("#composer-text").press("Enter")
        expect(page.locator("#log .message")).to_have_count(3)
        harness.say("after")
        contents = page.locator("#scroller .message .content")
        expect(contents).to_have_text(["before", "a draft", "another", "after"])


def test_another_stage_at_the_same_address_closes_the_door(visit: Visit) -> None:
    with open_page_harness() as harness:
        url = harness.stage.page_url
        page = visit(url)
        expect(page.locator("#log .intro")).to_be_visible()
    with open_page_harness(port=urlsplit(url).port or 0):
        expect(page.get_by_role("heading", name="The door is closed")).to_be_visible()


def test_what_was_missed_is_made_up_for(harness: PageHarness, page: Page) -> None:
    harness.say("one")
    expect(page.locator(".message")).to_have_count(1)
    page.context.set_offline(True)
    harness.do(harness.stage.feed.close)
    expect(page.locator("#banner")).to_be_visible()
    harness.say("two")
    harness.say("three")
    page.context.set_offline(False)
    expect(page.locator(".message .content")).to_have_text(["one", "two", "three"])
    expect(page.locator("#banner")).to_be_hidden()


def test_two_browsers_see_the_same(harness: PageHarness, page: Page, visit: Visit) -> None:
    other = visit(harness.stage.page_url)
    other.locator("#log .intro").wait_for()
    page.locator("#composer-text").fill("from one")
    page.locator("#composer-text").press("Enter")
    expect(other.locator(".message .content")).to_have_text("from one")
    other.locator("#composer-text").fill("from the other")
    other.locator("#composer-text").press("Enter")
    expect(page.locator(".message .content")).to_have_text(["from one", "from the other"])


def test_what_was_not_sent_stays_its_writers(page: Page) -> None:
    """Also when somebody else writes on this page by then."""
    page.route("**/stage/post", lambda route: route.abort("connectionrefused"))
    page.locator("#composer-text").fill("by Mika")
    page.locator("#composer-text").press("Enter")
    unsent = page.locator("#outbox .message")
    expect(unsent).to_contain_text("Not sent")
    page.unroute("**/stage/post")
    page.get_by_role("button", name="Mika This is you").click()
    page.get_by_role("menuitem", name="Be Ren").click()
    expect(page.locator("#me")).to_contain_text("Ren")
    page.locator("#composer-text").fill("by Ren")
    page.locator("#composer-text").press("Enter")
    expect(page.locator("#log .message .author").last).to_have_text("Ren")
    expect(unsent.locator(".author")).to_have_text("Mika")
    unsent.get_by_role("button", name="Retry").click()
    expect(page.locator("#log .message .author").last).to_have_text("Mika")


def test_two_people_see_only_their_own_whispers(
    harness: PageHarness, page: Page, visit: Visit
) -> None:
    other = visit(harness.stage.page_url)
    other.get_by_role("button", name="Mika This is you").click()
    other.get_by_role("menuitem", name="Be Ren").click()
    expect(other.locator("#me")).to_contain_text("Ren")
    harness.say("x", view=Counter())
    page.get_by_role("button", name="Whisper").click()
    expect(page.locator(".message.ephemeral")).to_have_count(1)
    other.locator("#composer-text").fill("written by Ren")
    other.locator("#composer-text").press("Enter")
    expect(page.locator(".message .author").last).to_have_text("Ren")
    expect(other.locator(".message")).to_have_count(2)
    other.reload()
    expect(other.locator(".message")).to_have_count(2)


def test_somebody_else_types(harness: PageHarness, page: Page, visit: Visit) -> None:
    page.clock.install()
    page.reload()
    page.locator("#log .intro").wait_for()
    harness.do(lambda: harness.stage.people.type("general", user="ren"))
    expect(page.locator("#typing")).to_have_text("Ren is typing…")
    page.clock.fast_forward(11_000)
    expect(page.locator("#typing")).to_have_text("")
    other = visit(harness.stage.page_url)
    other.locator("#log .intro").wait_for()
    other.locator("#composer-text").press_sequentially("hm")
    harness.do(lambda: harness.stage.people.type("general", user="ren"))
    expect(other.locator("#typing")).to_have_text("Ren is typing…")


def test_the_bot_goes_and_comes(harness: PageHarness, page: Page) -> None:
    expect(page.locator("#bot-state")).to_have_text("")
    page.get_by_role("button", name="Break something").click()
    page.get_by_role("menuitem", name="Drop the gateway").click()
    harness.wait_for(lambda: harness.stage.gateway.resumed == 1)
    expect(page.locator("#bot-state")).to_have_text("")
    harness.do(lambda: harness.stage.gateway.drop(4014))
    expect(page.locator("#bot-state")).to_have_text("Stagehand is offline")
    expect(page.get_by_role("img", name="offline")).to_be_visible()
