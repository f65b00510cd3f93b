"""*Put it on Discord*: the dialog, from the token to the running bot, on every width and theme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from discord_stage import ControlExtension, PageExtension
from discord_stage.errors import RefusedFieldError
from oshaberi.bot.config.going_live import invitation
from oshaberi.bot.local_run.live_bot import code_of
from oshaberi.bot.local_run.startup import PAGE
from stage_page.chromium import PHONE, Visit, barriers
from stage_page.page_harness import PageHarness, open_page_harness

TOKEN = "first.second.third"
SOURCE = {
    "name": "ollama",
    "title": "Ollama",
    "base_url": "http://127.0.0.1:9/v1",
    "is_local": True,
}
STATE: dict[str, Any] = {"kind": "demo", "model": "demo", "configured": None, "sources": [SOURCE]}


class FakeDiscord:
    """What `/stage/live` says. The real one is in `tests/local_run/test_live_bot.py`."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {
            "state": "off",
            "name": "",
            "why": "",
            "model": "openai big",
            "file": "/home/me/oshaberi.toml",
        }
        self.switch = ""
        self.ailing: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []

    def read(self, _asked: dict[str, Any]) -> dict[str, Any]:
        return self.state

    def act(self, said: dict[str, Any]) -> dict[str, Any]:
        self.said.append(said)
        if said["token"] != TOKEN:
            raise RefusedFieldError("token", "Discord refuses this token")
        if said.get("start"):
            self.state |= {"state": "running", "name": "Taro"}
            return self.state
        link = invitation("123")
        account = {"name": "Taro", "servers": 1, "ailing": self.ailing, "intents_link": self.switch}
        return {**self.state, "account": {**account, "invitation": link, "code": code_of(link)}}


@pytest.fixture
def discord() -> FakeDiscord:
    return FakeDiscord()


@pytest.fixture
def harness(discord: FakeDiscord) -> Iterator[PageHarness]:
    extensions = {
        "model": ControlExtension(read=lambda _asked: STATE),
        "model_servers": ControlExtension(read=lambda _asked: []),
        "live": ControlExtension(discord.read, discord.act),
    }
    page = {"local_run": PageExtension(PAGE)}
    with open_page_harness(extensions=extensions, page_extensions=page) as opened:
        yield opened


def opened(visit: Visit, harness: PageHarness, **options: Any) -> Page:
    page = visit(harness.stage.page_url, **options)
    page.locator("#go-live").click()
    page.get_by_role("dialog", name="Put it on Discord").wait_for()
    return page


def test_from_the_token_to_the_running_bot(
    harness: PageHarness, discord: FakeDiscord, visit: Visit
) -> None:
    page = opened(visit, harness)
    panel = page.get_by_role("dialog", name="Put it on Discord")
    token = panel.get_by_role("textbox", name="Token of the bot")
    expect(token).to_have_attribute("type", "password")
    token.fill("wrong")
    panel.get_by_role("button", name="Check the token").click()
    expect(token).to_have_accessible_description("Discord refuses this token")
    token.fill(TOKEN)
    discord.switch = "https://discord.com/developers/applications/123/bot"
    panel.get_by_role("button", name="Check the token").click()
    expect(panel.get_by_role("link", name="switch it on")).to_have_attribute("href", discord.switch)
    expect(panel.get_by_role("img", name="QR code of the invitation of Taro")).to_be_visible()
    invite = panel.get_by_role("link", name="Invite Taro to a server")
    expect(invite).to_have_attribute("href", invitation("123"))
    expect(panel).to_contain_text("in 1 server.")
    expect(panel).to_contain_text("It has all permissions that it uses there.")
    expect(panel).to_contain_text("It answers with openai big.")
    expect(panel).to_contain_text("/home/me/oshaberi.toml")
    expect(panel.get_by_role("textbox", name="Name of its persona")).to_have_value("Taro")
    panel.get_by_role("button", name="Start it on Discord").click()
    expect(panel).to_contain_text("Taro is on Discord, as long as this program runs.")
    assert discord.said[-1] == {"token": TOKEN, "persona": "Taro", "start": True}
    expect(token).to_be_hidden()
    assert TOKEN not in page.content()
    assert page.evaluate("JSON.stringify({...localStorage})").count(TOKEN) == 0


def test_a_bot_without_a_model_is_sent_to_the_models(
    harness: PageHarness, discord: FakeDiscord, visit: Visit
) -> None:
    discord.state["model"] = None
    page = opened(visit, harness)
    panel = page.get_by_role("dialog", name="Put it on Discord")
    panel.get_by_role("textbox", name="Token of the bot").fill(TOKEN)
    panel.get_by_role("button", name="Check the token").click()
    expect(panel).to_contain_text("It has no model yet")
    panel.get_by_role("button", name="Connect a model").click()
    expect(page.get_by_role("dialog", name="Connect a model")).to_be_visible()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_fits_a_phone_and_has_no_barriers(
    scheme: str, harness: PageHarness, discord: FakeDiscord, visit: Visit
) -> None:
    page = opened(visit, harness, viewport=PHONE, color_scheme=scheme)
    assert barriers(page) == []
    discord.switch = "https://discord.com/developers/applications/123/bot"
    lost = {"needed": ["Send Messages"], "wanted": ["Manage Webhooks", "Attach Files"]}
    discord.ailing = [
        {"name": f"Server {number} with quite a long name", **lost} for number in range(12)
    ]
    page.get_by_role("textbox", name="Token of the bot").fill(TOKEN)
    page.get_by_role("button", name="Check the token").click()
    page.get_by_role("img", name="QR code of the invitation of Taro").wait_for()
    expect(page.get_by_role("dialog")).to_contain_text(": it cannot answer without Send Messages.")
    assert barriers(page) == []
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
