"""What comes from outside is text, whatever it looks like, and stays in its place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from stage_page.chromium import Visit
from stage_page.page_harness import PageHarness

pytestmark = pytest.mark.shared_page

ZALGO = "Z" + "̷̡̛̦̳̝̿͐͘͠" * 12 + "a" + "̵̢̺̖̐̈́" * 20
ATTACKS = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "[x](javascript:window.hit=1)",
    "<javascript:alert(1)>",
    '`<b onmouseover="window.hit=1">`',
    "```html\n<svg onload=window.hit=1>\n```",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_markup_is_text(harness: PageHarness, page: Page, text: str) -> None:
    harness.say(text)
    message = page.locator(".message").last
    shown = text.strip("`").removeprefix("html\n").strip()
    expect(message.locator(".markdown")).to_contain_text(shown)
    expect(message.locator("script, svg[onload], b, img:not(.avatar)")).to_have_count(0)
    links = message.locator("a").evaluate_all("all => all.map((a) => a.protocol)")
    assert "javascript:" not in links
    assert page.evaluate("window.hit") is None


def test_names_are_text_too(harness: PageHarness, page: Page) -> None:
    async def speak() -> None:
        webhook = await harness.bot.place().create_webhook(name="x")
        await webhook.send("hi", username="<img src=x onerror=alert(1)>", wait=True)

    harness.run(speak())
    expect(page.locator(".author").last).to_have_text("<img src=x onerror=alert(1)>")


def test_the_policy_forbids_markup_altogether(script_page: Page) -> None:
    """Even a careless line of ours could not insert HTML, run inline code or ask elsewhere."""
    with pytest.raises(Exception, match="TrustedHTML"):
        script_page.evaluate("document.body.innerHTML = '<b>x</b>'")
    head = script_page.evaluate("fetch('/').then((a) => a.headers.get('Content-Security-Policy'))")
    assert "default-src 'self'" in head
    assert "unsafe" not in head


def too_wide(page: Page, what: str = "#scroller, #log, .message, .markdown") -> list[str]:
    """What is wider than its place."""
    script = """what => [...document.querySelectorAll(what)]
      .filter((node) => node.scrollWidth > node.clientWidth + 1)
      .map((node) => `${node.id}.${node.className} ${node.scrollWidth} > ${node.clientWidth}`)"""
    found: list[str] = page.evaluate(script, what)
    return found


LONG = [
    ("a word without end", "x" * 1999),
    ("a link without end", "https://example.org/" + "x" * 1900),
    ("code without end", "```\n" + "x" * 1900 + "\n```"),
    ("an inline code without end", "`" + "x" * 1900 + "`"),
    ("right to left", "שלום עולם, זה טקסט מימין לשמאל! ABC 123"),
    ("wide letters", "。、「" * 600),
]


@pytest.mark.parametrize(("name", "text"), LONG, ids=[name for name, _ in LONG])
def test_long_and_strange_text_stays_inside(
    harness: PageHarness, page: Page, name: str, text: str
) -> None:
    assert name
    harness.say(text)
    expect(page.locator(".message")).to_have_count(1)
    assert too_wide(page) == []
    page.set_viewport_size({"width": 360, "height": 640})
    assert too_wide(page) == []


def test_a_word_of_four_thousand_wraps_in_an_embed(harness: PageHarness, page: Page) -> None:
    import discord

    harness.say("", embed=discord.Embed(title="t", description="y" * 4000))
    expect(page.locator(".embed-text")).to_be_visible()
    assert too_wide(page) == []


def test_right_to_left_text_reads_so(harness: PageHarness, page: Page) -> None:
    harness.say("שלום עולם")
    text = page.locator(".message .markdown").last
    expect(text).to_have_css("direction", "rtl")


def test_stacked_marks_do_not_paint_over_their_neighbours(harness: PageHarness, page: Page) -> None:
    """Such a letter cannot be broken: what is too much of it is cut off."""
    harness.say(ZALGO)
    expect(page.locator(".message .content").last).to_have_css("overflow", "clip")
    assert too_wide(page, "#scroller, #log, .message") == []


def test_a_broken_picture_says_what_it_was(harness: PageHarness, page: Page) -> None:
    harness.post("look", files={"broken.png": b"this is no picture"})
    message = page.locator(".message").last
    expect(message.get_by_text("This picture cannot be shown")).to_be_visible()
    expect(message.get_by_role("img", name="broken.png")).to_be_visible()


def test_without_the_token_nothing_is_shown(harness: PageHarness, visit: Visit) -> None:
    harness.say("a secret")
    page = visit(harness.stage.url)
    expect(page.get_by_role("heading", name="The door is closed")).to_be_visible()
    expect(page.get_by_text(f"{harness.stage.url}/?token=…")).to_be_visible()
    expect(page.get_by_text("a secret")).to_have_count(0)


def test_the_token_leaves_the_address_at_once(harness: PageHarness, page: Page) -> None:
    assert harness.stage.control_token not in page.url
    page.reload()
    expect(page.locator("#log .intro")).to_be_visible()
    other = page.context.new_page()
    other.goto(harness.stage.url)
    expect(other.get_by_role("heading", name="The door is closed")).to_be_visible()


def test_a_second_tab_opens_with_the_address_or_the_token(harness: PageHarness, page: Page) -> None:
    for given in (harness.stage.page_url, harness.stage.control_token):
        other = page.context.new_page()
        other.goto(harness.stage.url)
        other.get_by_role("textbox", name="Address or token").fill(str(given))
        other.get_by_role("button", name="Open").click()
        expect(other.locator("#log .intro")).to_be_visible()
        assert harness.stage.control_token not in other.url
        other.close()
