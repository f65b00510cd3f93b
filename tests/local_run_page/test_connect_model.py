"""Connecting a model: found servers, lists, a test call, failures at their field, the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from discord_stage import ControlExtension, PageExtension
from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.bot.local_run.startup import PAGE
from stage_page.chromium import PHONE, Visit, barriers
from stage_page.page_harness import PageHarness, open_page_harness

OLLAMA, OTHER = "http://127.0.0.1:11434/v1", "https://models.test/v1"


def source(name: str, title: str, url: str = "", *, local: bool = False) -> dict[str, Any]:
    return {"name": name, "title": title, "base_url": url, "is_local": local, "needs_key": False}


class ConnectableModel:
    """What whoever runs the bot offers at `/stage/model` and beside it."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {
            "kind": "configured",
            "model": "house-model",
            "configured": "house-model",
            "speed": 1.0,
            "keys_for": [],
            "sources": [
                source("ollama", "Ollama", OLLAMA, local=True),
                source("anthropic", "Anthropic", "https://api.anthropic.com") | {"needs_key": True},
                source("openai-compatible", "Another address"),
            ],
        }
        self.said: list[dict[str, Any]] = []
        self.tests: list[dict[str, Any]] = []
        self.cancelled = asyncio.Event()

    def read(self, _asked: dict[str, Any]) -> dict[str, Any]:
        return self.state

    def act(self, said: dict[str, Any]) -> dict[str, Any]:
        self.said.append(said)
        self.state["speed"] = said.get("speed", self.state["speed"])
        if "use" in said:
            model = {"demo": "demo-model", "configured": "house-model"}.get(said["use"])
            self.state |= {"kind": said["use"], "model": model or said["model"]}
        return self.state

    def servers(self, _asked: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"source": "ollama", "base_url": OLLAMA, "models": ["llama3", "qwen3"]}]

    def models(self, said: dict[str, Any]) -> list[str]:
        if said["key"] != "sk-1":
            raise RefusedFieldError("key", "the server answered 401: the key is missing or wrong")
        return ["big", "small"]

    async def test(self, said: dict[str, Any]) -> dict[str, Any]:
        if said.get("cancel"):
            self.cancelled.set()
            return {}
        if said["model"] == "slow":
            await self.cancelled.wait()
            raise StageError("the test was ended")
        if said["model"] == "nothing":
            raise RefusedFieldError("model", "HTTP 404: no such model")
        self.tests.append(said)
        return {"text": "Hello!", "after_s": 0.8, "base_url": said["base_url"].removesuffix("/")}


@pytest.fixture
def model() -> ConnectableModel:
    return ConnectableModel()


@pytest.fixture
def connectable(model: ConnectableModel) -> Iterator[PageHarness]:
    extensions = {
        "model": ControlExtension(model.read, model.act),
        "model_servers": ControlExtension(read=model.servers),
        "model_list": ControlExtension(act=model.models),
        "model_test": ControlExtension(act=model.test),
    }
    page = {"local_run": PageExtension(PAGE)}
    with open_page_harness(extensions=extensions, page_extensions=page) as harness:
        yield harness


def opened(visit: Visit, harness: PageHarness, **options: Any) -> Page:
    page = visit(harness.stage.page_url, **options)
    page.locator("#connect-model").click()
    page.get_by_role("dialog", name="Connect a model").wait_for()
    return page


def test_a_local_server_is_found_tested_and_used(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    expect(panel).to_contain_text("Now: house-model · from the settings")
    expect(panel.get_by_text("found here: 2 models")).to_be_visible()
    expect(panel.get_by_role("combobox", name="Model")).to_have_value("llama3")
    assert panel.locator("datalist option").count() == 2
    expect(panel.get_by_role("textbox", name="Key")).to_be_hidden()
    panel.get_by_role("button", name="Test and use").click()
    said = panel.locator(".connect-status")
    expect(said).to_contain_text("It answered “Hello!” after 0.8 s. llama3 answers from now on.")
    expect(said).to_contain_text("starts afresh")
    expect(page.locator("#connect-model")).to_have_text("llama3")
    panel.get_by_role("button", name="Back to house-model, from the settings").click()
    expect(panel).to_contain_text("Now: house-model")
    panel.get_by_role("button", name="Back to the demo model").click()
    expect(panel).to_contain_text("Now: Demo model")
    assert [said["use"] for said in model.said] == ["ollama", "configured", "demo"]


def test_what_fails_stands_beside_its_field(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill(OTHER)
    panel.get_by_role("button", name="List models").click()
    key = panel.get_by_role("textbox", name="Key")
    expect(key).to_have_accessible_description(
        "the server answered 401: the key is missing or wrong"
    )
    key.fill("sk-1")
    panel.get_by_role("button", name="List models").click()
    expect(panel.locator(".connect-status")).to_contain_text("2 models")
    assert panel.locator(".field-error").count() == 0
    name = panel.get_by_role("combobox", name="Model")
    name.fill("nothing")
    panel.get_by_role("button", name="Test and use").click()
    expect(name).to_have_accessible_description("HTTP 404: no such model")
    expect(name).to_be_focused()
    assert model.said == []
    panel.get_by_role("button", name="Use it anyway").click()
    expect(panel).to_contain_text("Now: nothing · Another address")
    expect(key).to_have_value("")
    assert model.said[0]["key"] == "sk-1"


def test_the_address_is_kept_and_the_key_is_not(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill(OTHER)
    panel.get_by_role("textbox", name="Key").fill("sk-1")
    panel.get_by_role("combobox", name="Model").fill("big")
    panel.get_by_role("button", name="Test and use").click()
    expect(panel).to_contain_text("Now: big")
    model.state["keys_for"] = [OTHER]
    page.reload()
    page.locator("#connect-model").click()
    expect(panel.get_by_role("radio", name="Another address")).to_be_checked()
    expect(panel.get_by_role("textbox", name="Address")).to_have_value(OTHER)
    expect(panel.get_by_role("combobox", name="Model")).to_have_value("big")
    key = panel.get_by_role("textbox", name="Key")
    expect(key).to_have_value("")
    expect(key).to_have_attribute("placeholder", "A key is known: leave this empty to use it")
    assert "sk-1" not in str(page.evaluate("({ ...localStorage, ...sessionStorage })"))


def test_the_speed_is_in_the_settings(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    model.state |= {"kind": "demo"}
    page = visit(connectable.stage.page_url)
    page.get_by_role("button", name="Settings").click()
    panel = page.get_by_role("group", name="Model")
    slider = panel.get_by_role("slider", name="Speed of the demo model")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(panel.get_by_text("×2")).to_be_visible()
    expect(page.get_by_role("dialog").locator(".toast").last).to_have_text("Speed ×2")
    assert {"speed": 2} in model.said
    panel.get_by_role("button", name="Connect a model…").click()
    expect(page.get_by_role("dialog", name="Connect a model")).to_be_visible()


def test_a_model_that_the_server_chose_is_not_passed_over(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    """What is chosen here would not answer: the page must not say that it does."""
    model.state["overridden_by"] = "openrouter/other"
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    expect(panel).to_contain_text("Now: openrouter/other · chosen with /model set")
    expect(panel.get_by_role("combobox", name="Model")).to_have_value("llama3")
    panel.get_by_role("button", name="Test and use").click()
    expect(panel.locator(".connect-status")).to_have_text("It answered “Hello!” after 0.8 s. ")
    expect(panel).to_contain_text("Run /model reset")


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nobody_is_shut_out(connectable: PageHarness, visit: Visit, scheme: str) -> None:
    page = opened(visit, connectable, viewport=PHONE, color_scheme=scheme)
    expect(page.get_by_text("found here: 2 models")).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Things to try").click()
    assert barriers(page) == []


def test_a_test_counts_its_seconds_and_can_be_cancelled(
    connectable: PageHarness, model: ConnectableModel, visit: Visit
) -> None:
    """What was typed is kept, also if the test fails."""
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill(OTHER)
    panel.get_by_role("combobox", name="Model").fill("slow")
    cancel = panel.get_by_role("button", name="Cancel the test")
    expect(cancel).to_be_hidden()
    panel.get_by_role("button", name="Test and use").click()
    expect(panel.locator(".connect-status")).to_contain_text("Asking it to say hello… 1 s")
    cancel.click()
    expect(panel.get_by_role("alert")).to_have_text("the test was ended")
    expect(cancel).to_be_hidden()
    assert model.said == []
    page.reload()
    page.locator("#connect-model").click()
    expect(panel.get_by_role("textbox", name="Address")).to_have_value(OTHER)
    expect(panel.get_by_role("combobox", name="Model")).to_have_value("slow")


def test_what_was_added_to_an_address_is_said(connectable: PageHarness, visit: Visit) -> None:
    page = opened(visit, connectable)
    panel = page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Anthropic").check()
    expect(panel.get_by_role("textbox", name="Address")).to_be_hidden()
    panel.get_by_role("radio", name="Another address").check()
    address = panel.get_by_role("textbox", name="Address")
    address.fill(f"{OTHER}/")
    panel.get_by_role("combobox", name="Model").fill("big")
    panel.get_by_role("button", name="Test and use").click()
    expect(panel.locator(".connect-status")).to_contain_text(f"The address is {OTHER}. It answered")
    expect(address).to_have_value(OTHER)
