"""The inspector beside the chat, on what really was said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from oshaberi.scenes import parse_scene
from tests.chromium import Visit
from tests.local_run.local_run_process import OSHABERI, LocalRunProcess
from tests.local_run_page.chat_page import FAST, ChatPage

WIDE = {"width": 1500, "height": 900}


@pytest.fixture
def chat(running: LocalRunProcess, visit: Visit) -> ChatPage:
    """With the inspector open."""
    opened = ChatPage(running, visit(running.address, viewport=WIDE))
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.get_by_role("button", name="Inspector", exact=True).click()
    expect(opened.inspector).to_be_visible()
    return opened


def test_it_follows_the_stream(chat: ChatPage) -> None:
    chat.speed(2)
    chat.send("count as far as you can")
    raw = chat.inspector.locator(".in-raw")
    expect(raw).to_contain_text("I'll count, and you stop me")
    expect(chat.inspector.locator(".in-ending")).to_have_text("It is still running.")
    expect(raw).to_contain_text("4…")
    chat.stop.click()
    expect(chat.inspector.locator(".in-ending")).not_to_have_text("It is still running.")
    chat.speed(FAST)


def test_a_message_says_why_and_where_it_is_from(chat: ChatPage) -> None:
    turn = chat.ask("show me all your faces")
    chat.of(turn.message_with("Now sad.")).hover()
    toolbar = chat.page.get_by_role("toolbar")
    toolbar.get_by_role("button", name="Why is it as it is?").click()
    item = chat.inspector.locator(".in-item.open")
    expect(item.locator(".in-why")).to_contain_text("newline")
    expect(item).to_contain_text("Now sad.")
    source = "".join(chat.inspector.locator(".in-raw .selected").all_text_contents())
    assert source.startswith("Mochi (sad): Now sad.")
    struck = chat.inspector.locator(".in-raw .withheld.selected")
    assert "".join(struck.all_text_contents()) == "Mochi (sad): "
    chat.inspector.locator(".in-raw .source.tint-0").last.click()
    expect(chat.inspector.locator(".in-item.open")).to_contain_text("for balance.")
    chat.inspector.get_by_role("button", name="Show it in the chat").click()
    expect(chat.of(turn.message_with("for balance."))).to_be_focused()


def test_another_degree_beside_what_was_sent(chat: ChatPage) -> None:
    turn = chat.ask("show me all your faces")
    slider = chat.inspector.get_by_role("slider", name="Degree")
    expect(slider).to_be_enabled()
    slider.press("ArrowRight")
    columns = chat.inspector.locator(".in-column")
    expect(columns).to_have_count(2)
    expect(columns.first.locator(".in-bubble")).to_have_count(len(turn.messages))
    expect(columns.last.locator("h4")).to_have_text("At degree 3")
    assert columns.last.locator(".in-bubble").count() > len(turn.messages)
    for _ in range(3):
        slider.press("ArrowLeft")
    expect(columns.last.locator("h4")).to_have_text("At degree 0")


def test_what_is_copied_is_a_scene(chat: ChatPage, tmp_path: Path) -> None:
    turn = chat.ask("compare three kinds of tea in a table")
    chat.inspector.get_by_role("button", name="Copy as a scene").click()
    expect(chat.inspector.get_by_role("button", name="Copied")).to_be_visible()
    copied = chat.page.evaluate("navigator.clipboard.readText()")
    assert turn.texts[0] in parse_scene(json.loads(copied), "copied").text
    (tmp_path / "copied.json").write_text(copied, encoding="utf-8")
    command = [*OSHABERI, "replay", "--check", "copied.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_members_make_room_for_it(chat: ChatPage) -> None:
    members = chat.page.locator("#members")
    expect(members).to_be_hidden()
    chat.page.get_by_role("button", name="Close the inspector").click()
    expect(members).to_be_visible()
    chat.page.get_by_role("button", name="Inspector", exact=True).click()
    expect(members).to_be_hidden()
    chat.page.get_by_role("button", name="Members").click()
    expect(members).to_be_visible()
    chat.page.set_viewport_size({"width": 1900, "height": 900})
    expect(members).to_be_visible()
