"""The inspector's panel as somebody uses it: with a mouse, with a keyboard, on a narrow screen."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.inspector import replayed, trace
from oshaberi.scenes import parse_scene
from oshaberi.stream.provider_protocol import Silence
from oshaberi.text.config import Persona, Sprite, TextConfig
from stage_page.chromium import axe_source
from tests.inspector.logged_streams import crumbs, stream
from tests.inspector.panel_browser import OpenPanel, PanelBrowser

MOCHI = Persona("Mochi", sprites=(Sprite("sleepy", "https://x.test/s.png"),))
FAST = StreamConfig(
    TextConfig(persona=MOCHI, emojis=("<:mochi_wave:100000000000000001>",)),
    base_type_speed_ms_per_char=0,
    min_visible_typing_duration_ms=10,
    max_typing_time_ms=20,
    min_random_pause_ms=0,
    max_random_pause_ms=10,
)


STORY = (Path(__file__).parent / "story.md").read_text(encoding="utf-8")
AT_A_STEP = re.compile(r"^\d+\.\d\d s, \d+ of \d+ tokens, \d of 3 messages$")


async def tell(panel: OpenPanel, text: str, config: StreamConfig = FAST) -> dict[str, Any]:
    """Stream a text, wait until the panel shows its end, and return its trace."""
    await stream(panel.log, crumbs(text, ms=1), config=config)
    await expect(panel.page.locator(".in-ending")).to_contain_text("The model finished")
    kept = panel.log.find()
    assert kept is not None
    await expect(panel.page.locator(".in-choice")).to_have_value(kept.id)
    await expect(panel.page.locator(".in-body")).to_have_attribute("aria-busy", "false")
    return await asyncio.to_thread(trace, panel.log.scene(kept))


async def joined(page: Page, selector: str) -> str:
    return "".join(await page.locator(selector).all_text_contents())


def came_after(told: dict[str, Any], ms: int) -> str:
    """The text that the model wrote later. How much that is depends on how busy the machine was."""
    late = [token["span"] for token in told["tokens"] if token["at_ms"] > ms]
    return "".join(told["raw"][start:end] for start, end in late)


def test_it_waits_for_the_first_stream(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        await expect(panel.page.locator(".in-empty")).to_contain_text("Nothing yet")
        told = await tell(panel, STORY)
        await expect(panel.page.locator(".in-empty")).to_be_hidden()
        await expect(panel.page.locator(".in-item")).to_have_count(len(told["messages"]))
        await expect(panel.page.locator(".in-pill")).to_have_count(len(told["messages"]))
        assert await joined(panel.page, ".in-raw > span") == told["raw"]

    in_browser(scenario)


def test_a_stream_that_is_loaded_again_stays_as_it_is(in_browser: PanelBrowser) -> None:
    """Whoever points at a row must not lose it because news come that bring nothing new."""

    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, STORY)
        row = page.locator(".in-row").last
        await row.evaluate("row => { row.isTheSame = true; }")
        choice = page.locator(".in-choice")
        for _ in range(2):  # the second answer comes after the first one was drawn
            async with page.expect_response(re.compile("/stream[?]")):
                await choice.select_option(await choice.input_value())
        assert await row.evaluate("row => row.isTheSame === true")

    in_browser(scenario)


def test_a_message_says_why_and_shows_its_source(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page, told = panel.page, await tell(panel, STORY)
        for number in (0, 2, 8):
            await page.click(f"[data-key=pill-{number}]")
            await expect(page.locator(".in-why")).to_have_text(told["messages"][number]["why"])
            start, end = told["messages"][number]["sources"][0]
            assert await joined(page, ".in-raw .selected") == told["text"][start:end]
        struck = page.locator(".in-raw .withheld.selected")
        assert await joined(page, ".in-raw .withheld.selected") == "Mochi (sleepy): "
        await struck.first.hover()
        await expect(page.locator(".in-reason")).to_have_text(
            "Withheld: The label only says who speaks."
        )
        await expect(page.locator(".in-about")).to_contain_text("one label, and I wear")

    in_browser(scenario)


def test_from_the_source_to_the_message(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "First line.\nSecond line.\n")
        second = page.locator(".in-raw .source", has_text="Seco").first
        await second.hover()
        await expect(page.locator(".in-item.hovered")).to_contain_text("Second line.")
        await expect(page.locator(".in-pill.hovered")).to_have_text("2")
        await second.click()
        await expect(page.locator(".in-item.open")).to_contain_text("Second line.")
        await page.locator(".in-item").first.hover()
        assert await joined(page, ".in-raw .hovered") == "First line."

    in_browser(scenario)


def test_holds_thoughts_and_what_was_never_sent(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "<think>hm</think>One (two\nthree) four.\n:nope: five")
        assert await joined(page, ".in-raw .captured") == "<think>hm</think>"
        await page.click("[data-key=row-0]")
        await expect(page.locator(".in-about")).to_contain_text("held the end of a line")
        await page.click("[data-key=row-1]")
        await expect(page.locator(".in-about del")).to_have_text(":nope:")
        await expect(page.locator(".in-item.open")).to_have_count(1)
        await page.click("[data-key=row-1]")
        await expect(page.locator(".in-item.open")).to_have_count(0)

    in_browser(scenario)


def test_stepping_with_the_keyboard(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        told = await tell(panel, "One.\nTwo.\nThree.")
        total, when = len(told["tokens"]), page.locator(".in-when")
        await page.locator(".in-scrub").focus()
        await page.keyboard.press("Home")
        await expect(page.locator(".in-item.later")).to_have_count(3)
        for _ in range(2):
            await page.keyboard.press("ArrowRight")
        await expect(when).not_to_contain_text(f"{total} of {total}")
        await page.keyboard.press("End")
        await expect(when).to_contain_text(f"{total} of {total} tokens, 3 of 3 messages")
        await page.keyboard.press("Shift+ArrowLeft")
        await expect(when).to_contain_text("2 of 3 messages")
        sent_ms = told["messages"][1]["at_ms"]
        assert await joined(page, ".in-raw .later") == came_after(told, sent_ms)
        await page.get_by_label("Back by one step").click()
        await expect(page.locator(".in-scrub")).to_have_attribute("aria-valuetext", AT_A_STEP)

    in_browser(scenario)


ANOTHER = """async (wanted) => {
  const { Api } = await import("/page/js/api.js");
  const { mountInspector } = await import("/page/extensions/inspector/inspector.js");
  const bus = new EventTarget();
  mountInspector(document.querySelector("main"), { api: new Api(), bus });
  bus.dispatchEvent(new CustomEvent("select-message", { detail: { id: wanted } }));
}"""
"""A panel that is asked about a message before it knows what streams there are."""


def test_a_message_can_be_asked_about_at_once(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page, sink = panel.page, RecordingSink()
        for text in ("One.\nTwo.", "Three."):
            await stream(panel.log, crumbs(text, ms=0), sink=sink, config=FAST)
        older = panel.log.find("1")
        assert older is not None
        await page.evaluate(ANOTHER, str(older.message_ids[1]))
        await expect(page.locator(".in-item.open")).to_contain_text("Two.")
        await expect(page.locator(".in-why")).not_to_be_empty()
        await expect(page.locator(".in-choice")).to_have_value("1")

    in_browser(scenario)


def test_a_message_of_no_stream_is_told_and_the_newest_is_shown(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        await stream(panel.log, crumbs("One.", ms=0), config=FAST)
        await panel.page.evaluate(ANOTHER, "123")
        await expect(panel.page.locator(".in-item")).to_contain_text("One.")
        await expect(panel.page.locator(".in-state")).to_contain_text("there is no such stream")
        panel.problems.clear()

    in_browser(scenario)


def test_playing_it(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "One.\nTwo.\nThree.")
        await page.get_by_label("Play").click()
        await expect(page.locator(".in-when")).to_contain_text("3 of 3 messages")
        await expect(page.get_by_label("Play")).to_have_count(1)

    in_browser(scenario)


def test_arrows_walk_through_the_messages(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "One.\nTwo.\nThree.")
        await page.locator("[data-key=row-0]").focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.locator(".in-item.open")).to_contain_text("Two.")
        await expect(page.locator("[data-key=row-1]")).to_be_focused()

    in_browser(scenario)


def test_another_degree_in_two_columns(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "One. Two.\nThree.")
        kept = panel.log.find()
        assert kept is not None
        for degree in (0, 3):
            await page.locator(".in-degree input").fill(str(degree))
            other_way = await asyncio.to_thread(replayed, panel.log.scene(kept), degree)
            texts = [m["text"] for m in other_way]
            other = page.locator(".in-column").nth(1)
            await expect(other.locator("h3")).to_have_text(f"At degree {degree}, played again")
            await expect(other.locator(".in-bubble")).to_have_count(len(texts))
            await expect(other.locator(".in-bubble").first).to_contain_text(texts[0])
            await expect(page.locator(".in-column").first.locator(".in-bubble")).to_have_count(2)
        await page.locator(".in-degree input").fill("2")
        await expect(page.locator(".in-column")).to_have_count(0)

    in_browser(scenario)


def test_it_is_copied_as_a_scene(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "One.\nTwo 🎉.")
        await page.get_by_role("button", name="Copy as a scene").click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert parse_scene(json.loads(copied), "it").text == "One.\nTwo 🎉."
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name="Save as a file").click()
        download = await waiting.value
        assert download.suggested_filename == "stream-1.json"
        saved = Path(await download.path()).read_text(encoding="utf-8")
        assert saved == copied

    in_browser(scenario)


def test_a_message_of_the_chat_is_looked_up(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "One.\nTwo.")
        await tell(panel, "Other.", replace(FAST, notify="first"))
        # The channel in memory numbers anew, so the newest stream with that number is found.
        await page.evaluate(
            "bus.dispatchEvent(new CustomEvent('select-message', {detail: {id: '2'}}))"
        )
        await expect(page.locator(".in-choice")).to_have_value("1")
        await expect(page.locator(".in-item.open")).to_contain_text("Two.")
        await page.get_by_role("button", name="Show it in the chat").click()
        assert await page.evaluate("shown") == ["2"]
        await page.evaluate(
            "bus.dispatchEvent(new CustomEvent('select-message', {detail: {id: '99'}}))"
        )
        await expect(page.locator(".in-state")).to_contain_text("no such stream")
        panel.problems.clear()

    in_browser(scenario)


def test_past_streams_and_following(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, "The first.")
        await tell(panel, "The second.")
        await page.locator(".in-choice").select_option("1")
        await expect(page.locator(".in-list")).to_contain_text("The first.")
        follow = page.get_by_role("button", name="Follow")
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await stream(panel.log, crumbs("The third.", ms=1), config=FAST)
        await expect(page.locator(".in-choice option")).to_have_count(3)
        await expect(page.locator(".in-list")).to_contain_text("The first.")
        await follow.click()
        await expect(page.locator(".in-list")).to_contain_text("The third.")

    in_browser(scenario)


def test_a_running_stream_grows(in_browser: PanelBrowser) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        steps = [*crumbs("One line.\nTwo and", ms=1), Silence(60_000)]
        task = asyncio.create_task(stream(panel.log, steps, config=FAST))
        await expect(page.locator(".in-raw")).to_have_text("One line.\nTwo and")
        await expect(page.locator(".in-item")).to_have_count(1)
        await expect(page.locator(".in-unsent")).to_contain_text("its line is not over")
        await expect(page.locator(".in-ending")).to_have_text("It is still running.")
        await expect(page.locator(".in-degree input")).to_be_disabled()
        await page.locator("[data-key=row-0]").click()
        before = await page.locator(".in-when").text_content()
        await expect(page.locator(".in-when")).not_to_have_text(before or "")
        await expect(page.locator("[data-key=row-0]")).to_be_focused()
        await expect(page.locator(".in-item.open")).to_have_count(1)
        task.cancel()
        await asyncio.wait([task])

    in_browser(scenario)


def test_text_is_only_text(in_browser: PanelBrowser) -> None:
    evil = '<img src=x onerror="window.hacked=1">\n<script>window.hacked=1</script> 👩‍👩‍👧 end'

    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        told = await tell(panel, evil)
        assert await page.locator(".inspector img, .inspector script").count() == 0
        assert await page.evaluate("window.hacked") is None
        await page.click("[data-key=pill-1]")
        start, end = told["messages"][1]["sources"][0]
        assert await joined(page, ".in-raw .selected") == told["text"][start:end]

    in_browser(scenario)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1200, "light")])
def test_nobody_is_left_out(in_browser: PanelBrowser, width: int, theme: str) -> None:
    async def scenario(panel: OpenPanel) -> None:
        page = panel.page
        await tell(panel, STORY + "\n" + "x" * 400 + "\n:nope: end")
        await page.click("[data-key=row-8]")
        await page.locator(".in-degree input").fill("3")
        await expect(page.locator(".in-column")).to_have_count(2)
        assert await page.evaluate("document.scrollingElement.scrollWidth") <= width
        root = "document.querySelector('main')"
        assert await page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
        await page.evaluate(axe_source())
        found = await page.evaluate("axe.run('.inspector', { resultTypes: ['violations'] })")
        assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []

    in_browser(scenario, width=width, theme=theme)
