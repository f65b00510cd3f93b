"""*What the model reads*: the parts of a request as a picture of the model's window."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from discord_stage import ControlExtension, PageExtension
from oshaberi.bot.local_run.startup import PAGE
from oshaberi.bot.local_run.window_picture import shown_window
from oshaberi.bot.turns.running.preview import RequestPreview
from oshaberi.providers.request.model_request import (
    ContextItem,
    Request,
    TextPart,
    ToolDeclaration,
)
from oshaberi.providers.request.preparation import FittedRequest
from oshaberi.providers.request.token_estimate import request_cost
from stage_page.chromium import PHONE, Visit, barriers
from stage_page.page_harness import open_page_harness
from tests.local_run_page.chat_page import ChatPage

LAPTOP = {"width": 1366, "height": 768}
STATE: dict[str, Any] = {"kind": "demo", "model": "demo", "configured": None, "sources": []}


def opened(page: Page) -> Locator:
    page.get_by_role("button", name="Things to try", exact=True).click()
    page.get_by_role("button", name=re.compile("^What the model reads")).click()
    return page.get_by_role("dialog", name="What the model reads")


def test_the_real_request_is_shown_part_by_part(chat: ChatPage) -> None:
    chat.ask("Remember that my favourite tea is sencha.")
    dialog = opened(chat.page)
    picture = dialog.get_by_role("img")
    expect(picture).to_have_accessible_name(re.compile(r"would read about [\d,]+ tokens"))
    dialog.get_by_role("textbox", name="Question").fill("Which tea is it, my dear?")
    dialog.get_by_role("button", name="Show", exact=True).click()
    dialog.locator("summary").filter(has_text="the question").click()
    dialog.locator("summary").filter(has_text="the tools").click()
    expect(dialog.get_by_label("Text of the tools")).to_contain_text("current_time")
    expect(dialog.get_by_label("Text of the question")).to_contain_text("Which tea is it, my dear?")
    dialog.locator("summary").filter(has_text="the conversation").click()
    expect(dialog.get_by_label("Text of the conversation")).to_contain_text("sencha")
    dialog.get_by_role("textbox", name="Question").fill(" ")
    dialog.get_by_role("button", name="Show", exact=True).click()
    expect(dialog.get_by_role("textbox", name="Question")).to_have_accessible_description(
        "write a question, of 2000 characters at most"
    )


@pytest.mark.parametrize(
    ("window", "viewport", "scheme"),
    [
        (None, LAPTOP, "dark"),
        (100, PHONE, "light"),
        (128_000, LAPTOP, "light"),
        (128_000, PHONE, "dark"),
    ],
)
def test_every_window_fits_the_page(
    window: int | None, viewport: Any, scheme: str, visit: Visit
) -> None:
    items = (
        ContextItem("system", (TextPart("Be kind. " * 60),), tag="system"),
        ContextItem("system", (TextPart("You are Mochi."),), tag="persona"),
        ContextItem("user", (TextPart("Hi " * 400),), tag="history"),
        ContextItem("user", (TextPart("?"),), tag="current"),
    )
    tools = (ToolDeclaration("clock", "Tell the time.", {"type": "object"}),)
    request = Request(items, tools=tools)
    lost = () if window != 100 else (ContextItem("user", (TextPart("old"),), tag="history"),)
    fit = FittedRequest(request, window, request_cost(request), lost)
    shown = shown_window(RequestPreview(fit, "demo/model"))
    extensions = {
        "model": ControlExtension(read=lambda _asked: STATE),
        "window": ControlExtension(lambda _asked: ["Mochi"], lambda _asked: shown),
    }
    page_extensions = {"local_run": PageExtension(PAGE)}
    with open_page_harness(extensions=extensions, page_extensions=page_extensions) as harness:
        page = visit(harness.stage.page_url, viewport=viewport, color_scheme=scheme)
        dialog = opened(page)
        bar = dialog.get_by_role("img")
        expect(bar).to_be_visible()
        sizes = bar.evaluate("(bar) => [...bar.children].map((one) => one.offsetWidth)")
        assert min(sizes) >= 2, "the smallest part can be seen"
        assert sum(sizes) + len(sizes) - 1 <= bar.evaluate("(bar) => bar.clientWidth") + len(sizes)
        expect(dialog.locator(".window-close-up")).to_have_count(int(window == 128_000))
        expect(dialog.get_by_text("That is too much")).to_have_count(int(window == 100))
        no_room = dialog.get_by_text("There is no room for 1 older message.")
        expect(no_room).to_have_count(int(window == 100))
        expect(dialog.locator("summary").last).to_contain_text("the tools")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= viewport["width"]
        assert barriers(page) == []


def test_the_topic_has_room_on_a_laptop(chat: ChatPage) -> None:
    chat.page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
    topic = chat.page.locator("#topic")
    expect(topic).to_be_visible()
    assert topic.evaluate("(node) => node.clientWidth") > 250
    words = chat.page.locator("#connect-model .head-words")
    expect(words).to_be_visible()
