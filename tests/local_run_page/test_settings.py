"""The settings: how fast, which model, whose key, dark or light."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from stage_page.page_harness import looping
from tests.local_run_page.chat_page import FAST, ChatPage

KEY = "sk-nobody-may-see-this"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Somebody's own model: it notes what it is asked."""
    with looping() as loop:
        server = ModelServer(OpenAIWire())
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(30)
        yield server
        leaving = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(30)


def settings(page: Page) -> Locator:
    page.get_by_role("button", name="Settings").click()
    return page.get_by_role("group", name="Model")


def test_the_speed_is_what_the_slider_says(chat: ChatPage) -> None:
    chat.speed(1)
    slider = settings(chat.page).get_by_role("slider", name="Speed of the demo model")
    for _ in range(4):
        slider.press("ArrowRight")
    expect(slider).to_be_focused()
    expect(chat.page.locator(".toast").last).to_have_text("Speed ×4")
    assert chat.local_run.get("model")["speed"] == 4
    chat.page.keyboard.press("Escape")
    chat.page.reload()
    expect(settings(chat.page).get_by_text("×4")).to_be_visible()
    chat.speed(FAST)


def connect(page: Page) -> Locator:
    page.locator("#connect-model").click()
    return page.get_by_role("dialog", name="Connect a model")


def test_an_own_key_is_used_and_never_shown(chat: ChatPage, model: ModelServer) -> None:
    chat.ask("show me all your faces")
    panel = connect(chat.page)
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill(model.url)
    panel.get_by_role("combobox", name="Model").fill("big")
    panel.get_by_role("textbox", name="Key").fill(KEY)
    panel.get_by_role("button", name="Test and use").click()
    expect(panel.locator(".connect-status")).to_contain_text("It answered “Hello!”")
    expect(panel).to_contain_text("Now: big · Another address")
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    model.requests.clear()
    chat.page.keyboard.press("Escape")
    look_at_a_picture(chat, model)
    assert KEY not in chat.page.content()
    assert KEY not in json.dumps([chat.local_run.get(one) for one in ("model", "streams", "world")])
    connect(chat.page).get_by_role("button", name="Back to the demo model").click()
    expect(panel).to_contain_text("Now: Demo model")


def look_at_a_picture(chat: ChatPage, model: ModelServer) -> None:
    """What is uploaded here reaches the model, though it lies on loopback."""
    model.play(Say("A small dark square."))
    picture = chat.page.screenshot(clip={"x": 0, "y": 0, "width": 40, "height": 40})
    chosen: FilePayload = {"name": "seen.png", "mimeType": "image/png", "buffer": picture}
    chat.page.locator("#file-chooser").set_input_files(chosen)
    assert chat.ask("what is this?").texts == ["A small dark square."]
    (request,) = model.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.body.decode()
    assert "data:image/png;base64," in body
    assert "could not be read" not in body
    assert "whole wardrobe" not in body, "another model starts afresh"


def test_dark_and_light(chat: ChatPage) -> None:
    root = chat.page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    chat.page.get_by_role("button", name="Dark or light").click()
    expect(root).to_have_attribute("data-theme", "light")
    chat.page.reload()
    expect(root).to_have_attribute("data-theme", "light")
