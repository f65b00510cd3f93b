"""Everything works from the keyboard and for a screen reader: axe finds nothing that matters."""

from __future__ import annotations

import io
from collections.abc import Callable

import discord
import pytest
from playwright.sync_api import Page, expect

from stage_page.chromium import PHONE, Visit, barriers
from stage_page.page_bot import Counter
from stage_page.page_harness import PageHarness


def fill(harness: PageHarness) -> None:
    """One of everything."""
    harness.post("hey **you** 😄", user="ren")
    harness.say(
        "# Head\n> quote `code` ||spoiler|| https://example.org\n- a\n- b\n"
        "-# small <t:1700000000:R>\n```py\n@x\ndef f(a: int) -> None:\n    return 'a' + 1  # c\n```"
    )
    mika = harness.stage.world.user("mika").id
    harness.say(f"<@{mika}> look", reference=_last(harness))
    embed = discord.Embed(title="T", url="https://example.org", description="d", color=0x5865F2)
    harness.say("", embed=embed.add_field(name="n", value="v").set_footer(text="foot"))
    picture = discord.File(io.BytesIO(_png()), "t.png", description="a table")
    number = harness.say("pressed", file=picture, view=Counter())
    harness.do(lambda: harness.stage.people.react(int(number), "🎉", user="mika"))
    harness.do(lambda: harness.stage.people.react(int(number), "wave", user="ren"))
    harness.do(lambda: harness.stage.people.type("general", user="ren"))


def _last(harness: PageHarness) -> discord.Message:
    place = harness.bot.place()
    number = harness.do(lambda: harness.stage.world.history("general")[-1].id)
    return harness.run(place.fetch_message(number))


def _png() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (200, 80), (60, 60, 70)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_rich_conversation_has_no_barriers(
    harness: PageHarness, visit: Visit, scheme: str
) -> None:
    page = visit(harness.stage.page_url, color_scheme=scheme)
    page.locator("#log .intro").wait_for()
    fill(harness)
    expect(page.locator(".reaction")).to_have_count(3)
    assert barriers(page) == []
    page.locator(".message").last.focus()
    page.get_by_role("button", name="Whisper").click()
    expect(page.locator(".message.ephemeral")).to_be_visible()
    expect(page.locator(".button.busy")).to_have_count(0)
    assert barriers(page) == []


def _open_commands(page: Page) -> None:
    page.locator("#composer-text").fill("")
    page.keyboard.type("/")
    page.get_by_role("listbox").wait_for()


def _open_form(page: Page) -> None:
    _open_commands(page)
    page.keyboard.type("tea")
    page.keyboard.press("Enter")
    page.get_by_role("listbox", name="tea").wait_for()


def _get_into_trouble(page: Page) -> None:
    """Something armed, something not sent, a command half typed."""
    page.get_by_role("button", name="Break something").click()
    page.get_by_role("menuitem", name="503").click()
    page.route("**/stage/post", lambda route: route.abort("connectionrefused"))
    page.locator("#composer-text").fill("not sent")
    page.locator("#composer-text").press("Enter")
    page.locator("#composer-text").fill("/echo hello ")
    for part in ("#armed .is-armed", "#outbox .failed", "#usage .now"):
        page.locator(part).wait_for()


OPENED: dict[str, Callable[[Page], None]] = {
    "settings": lambda page: page.get_by_role("button", name="Settings").click(),
    "break": lambda page: page.get_by_role("button", name="Break something").click(),
    "emoji": lambda page: page.get_by_role("button", name="Emoji", exact=True).click(),
    "commands": _open_commands,
    "options": _open_form,
    "trouble": _get_into_trouble,
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_what_opens_has_no_barriers(harness: PageHarness, visit: Visit, scheme: str) -> None:
    page = visit(harness.stage.page_url, color_scheme=scheme)
    page.locator("#log .intro").wait_for()
    for name, open_it in OPENED.items():
        open_it(page)
        assert (name, barriers(page)) == (name, [])
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_a_phone_has_no_barriers(harness: PageHarness, visit: Visit) -> None:
    page = visit(harness.stage.page_url, viewport=PHONE)
    page.locator("#log .intro").wait_for()
    fill(harness)
    expect(page.locator(".reaction")).to_have_count(3)
    assert barriers(page) == []
    page.get_by_role("button", name="Channels").click()
    expect(page.get_by_role("link", name="random")).to_be_in_viewport()
    assert barriers(page) == []
    page.get_by_role("link", name="random").click()
    expect(page.get_by_role("link", name="random")).not_to_be_in_viewport()
    expect(page).to_have_title("#random · Stagehand")
    page.get_by_role("button", name="Members").click()
    expect(page.locator("#members").get_by_text("Ren")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#members").get_by_text("Ren")).not_to_be_in_viewport()


def test_the_closed_door_has_no_barriers(harness: PageHarness, visit: Visit) -> None:
    page = visit(harness.stage.url)
    page.get_by_role("heading", name="The door is closed").wait_for()
    assert barriers(page) == []


@pytest.mark.shared_page
def test_messages_without_a_mouse(harness: PageHarness, page: Page) -> None:
    first = harness.post("mine", user="mika")
    second = harness.say("theirs")
    box = page.locator("#composer-text")
    expect(page.locator(".message")).to_have_count(2)
    box.focus()
    for _ in range(8):
        page.keyboard.press("Shift+Tab")
        if page.locator(f"#message-{second}").evaluate("node => node === document.activeElement"):
            break
    expect(page.locator(f"#message-{second}")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(f"#message-{first}")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("+")
    expect(page.get_by_role("searchbox", name="Find an emoji")).to_be_focused()
    page.keyboard.type("tada")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="🎉, 1: Mika")).to_be_visible()
    expect(page.locator(f"#message-{second}")).to_be_focused()
    page.keyboard.press("r")
    expect(box).to_be_focused()
    page.keyboard.type("a reply")
    page.keyboard.press("Enter")
    expect(page.locator(".message .reply-line").first).to_contain_text("theirs")
    page.locator(f"#message-{first}").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("menuitem", name="Delete message")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(f"#message-{first}")).to_have_count(0)


@pytest.mark.shared_page
def test_channels_without_a_mouse(harness: PageHarness, page: Page) -> None:
    page.locator("#composer-text").focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page).to_have_title("#random · Stagehand")
    expect(page.locator("#composer-text")).to_be_focused()
    page.keyboard.type("here")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#composer-text")).to_have_value("")
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#composer-text")).to_have_value("here")
    page.keyboard.press("Enter")
    harness.wait_for(lambda: harness.stage.world.contents("random") == ["here"])


@pytest.mark.shared_page
def test_news_is_spoken_and_old_news_is_not(harness: PageHarness, page: Page) -> None:
    log = page.get_by_role("log", name="Messages")
    expect(log).to_have_attribute("aria-live", "polite")
    expect(log).to_have_attribute("aria-busy", "false")
    harness.say("spoken")
    message = page.get_by_role("article", name="Stagehand")
    expect(message).to_contain_text("spoken")


@pytest.mark.shared_page
def test_the_focus_is_seen(page: Page) -> None:
    page.get_by_role("button", name="Settings").focus()
    page.keyboard.press("Shift+Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"
