"""The status page of a whole bot, as an operator sees it: one bot and one page for all of it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from stage_page.chromium import PHONE, Visit, barriers
from tests.e2e.bot_harness import KEY
from tests.status_page.status_harness import (
    HOSTILE,
    HOSTILE_ERROR,
    TOKEN,
    StatusHarness,
    open_status,
)

WIDTH = "document.documentElement.scrollWidth"


def log_in(page: Page) -> None:
    page.get_by_label("Token").fill("not this one, but long enough")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("That is not the token.")
    assert barriers(page) == []
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#bot")).to_contain_text("Oshaberi")


def test_an_operator_sees_what_runs_what_failed_and_what_was_used(visit: Visit) -> None:
    with open_status() as status:
        status.run(status.fail_and_hang())
        page = visit(status.url)
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        log_in(page)
        runs(page, status)
        failed(page, status)
        used(page)
        tools(page)
        settings(page)
        assert TOKEN not in page.content()
        assert KEY not in page.content()
        assert barriers(page) == []
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert page.evaluate(WIDTH) <= PHONE["width"]
        hostile_stays_text(page, dialogs)
        follows(page, status)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()


def runs(page: Page, status: StatusHarness) -> None:
    expect(page.locator("#health")).to_contain_text("gatewayok")
    expect(page.locator("#health")).to_contain_text("openai model-0: auth")
    expect(page.locator("#cards .card").first).to_contain_text("Answers under way1")
    busy = page.locator("#now tbody tr")
    expect(busy).to_have_count(1)
    expect(busy).to_contain_text(f"{HOSTILE} #general")
    expect(busy).to_contain_text(str(status.here.id_of("general")))


def failed(page: Page, status: StatusHarness) -> None:
    """The refused key, with the provider's words and the ids of the turn."""
    line = page.locator("#warnings li", has_text="openai/model-0: auth")
    expect(line).to_contain_text(HOSTILE_ERROR)
    expect(line).to_contain_text(str(status.here.server_id))
    expect(line.locator(".ids code").first).to_have_text(re.compile("^[0-9a-f]{12}$"))


def tools(page: Page) -> None:
    rows = page.locator("#tools tbody tr")
    expect(rows.filter(has_text="remember")).to_contain_text("offered")
    expect(rows.filter(has_text="current_time")).to_contain_text("blocked by your settings")
    expect(rows.filter(has_text="user_info")).to_contain_text("Manage Messages")


def used(page: Page) -> None:
    model = page.locator("#models tbody tr")
    expect(model).to_contain_text("fails: auth")
    expect(model).to_contain_text("1 of 1 paused")
    expect(model).to_contain_text(f"it is not sent tool look ({HOSTILE_ERROR})")
    first = page.locator("#servers tbody tr").first
    expect(first).to_contain_text(HOSTILE)
    expect(first).to_contain_text("120K read, 9K written")
    expect(first).to_contain_text("$1.23")
    expect(page.locator("#servers tbody tr").nth(1)).to_contain_text("direct messages")


def settings(page: Page) -> None:
    """Those that were set; on request all. Secrets are masked."""
    rows = page.locator("#settings tbody tr")
    expect(rows.filter(has_text="status_token")).to_contain_text("[secret]")
    expect(rows.filter(has_text="waiting_limit")).to_have_count(0)
    page.get_by_label("also those at their default").check()
    expect(rows.filter(has_text="waiting_limit")).to_contain_text("default")


def hostile_stays_text(page: Page, dialogs: list[str]) -> None:
    assert page.locator("main img, main script, main b:has-text('bold')").count() == 0
    assert dialogs == []
    assert page.evaluate("document.cookie") == ""


def follows(page: Page, status: StatusHarness) -> None:
    """The page asks again by itself."""
    status.run(status.here.run("stop"))
    expect(page.locator("#now")).to_contain_text("Nothing runs and nothing waits.")


def test_an_operator_switches_a_tool_off_and_on_in_a_server(visit: Visit) -> None:
    with open_status(*["Hm."] * 4) as status:
        assert "react" in status.run(status.offered_tools())
        page = visit(status.url)
        log_in(page)
        expect(page.locator("#tools button")).to_have_count(0)
        page.get_by_label("Tools in").select_option(str(status.here.server_id))
        row = page.locator("#tools tbody tr").filter(has_text=re.compile("^react"))
        row.get_by_role("button", name="Switch off: react").press("Enter")
        expect(page.locator("#tool-told")).to_have_text(
            f"{HOSTILE}: react is not offered any more."
        )
        expect(row).to_contain_text("off in this server")
        expect(row.get_by_role("button", name="Switch on: react")).to_be_focused()
        assert "react" not in status.run(status.offered_tools())
        assert barriers(page) == []
        row.get_by_role("button", name="Switch on: react").click()
        expect(page.locator("#tool-told")).to_have_text(f"{HOSTILE}: react is offered.")
        assert "react" in status.run(status.offered_tools())
        what_the_settings_block_has_no_switch(page)
        follows_the_command(page, status)
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert page.evaluate(WIDTH) <= PHONE["width"]
        assert page.locator("main img, main script").count() == 0


def what_the_settings_block_has_no_switch(page: Page) -> None:
    row = page.locator("#tools tbody tr").filter(has_text="current_time")
    expect(row).to_contain_text("blocked by your settings")
    expect(row.get_by_role("button")).to_have_count(0)


def follows_the_command(page: Page, status: StatusHarness) -> None:
    """A whole place that `/tools` has switched off is switched on as a whole."""
    told = status.run(status.here.run("tools deny", {"tool": "built-in/*"}))
    assert told == "`built-in/*` is not offered any more."
    assert status.run(status.offered_tools()) == []
    button = page.get_by_role("button", name="Switch on all of built-in/*: react")
    button.click()
    expect(page.locator("#tool-told")).to_contain_text(
        "built-in/*: allowed, but whoever runs the bot does not offer all of it."
    )
    expect(page.get_by_role("button", name="Switch off: react")).to_be_visible()
