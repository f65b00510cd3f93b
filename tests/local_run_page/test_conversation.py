"""A conversation: commands, menus, other places, other people, other names."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from stage_page.chromium import Visit
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import ChatPage


@pytest.mark.slow  # tests/bot/test_config.py and tests/e2e prove it without the page
def test_a_setting_changes_the_next_answer(chat: ChatPage) -> None:
    lines = chat.ask("show me all your faces")
    assert len(lines.messages) == 8
    chat.command("/config set", "humanizer_degree", "0")
    expect(chat.page.locator(".message.ephemeral")).to_contain_text("humanizer_degree")
    whole = chat.ask("tell me a long story")
    assert len(whole.messages) < 4
    assert "\n" in whole.texts[0]
    chat.box.fill("/config reset all")
    chat.box.press("Enter")
    expect(chat.page.locator(".message.ephemeral").last).to_contain_text(
        "have their defaults again"
    )
    assert len(chat.ask("show me all your faces").messages) == 8
    for line, told in (
        ("/config set humanizer_degree 0 in:#general", "is now 0 in #general"),
        ("/config show humanizer_degree", "is 0 in #general (from here)"),
        ("/config reset all in:#general", "All settings of #general are inherited again."),
    ):
        chat.box.fill(line)
        chat.box.press("Enter")
        expect(chat.page.locator(".message.ephemeral").last).to_contain_text(told)


def test_why_this_turn(chat: ChatPage) -> None:
    turn = chat.ask("hello there")
    chat.menu(turn.messages[0], "Why this turn")
    told = chat.page.locator(".message.ephemeral").last
    expect(told).to_contain_text("every message")
    chat.menu(turn.messages[-1], "Delete this turn")
    expect(chat.of(turn.messages[0])).to_have_count(0)
    expect(chat.of(turn.asked)).to_be_visible()


def test_a_direct_message(chat: ChatPage) -> None:
    chat.page.get_by_role("button", name="Direct messages").click()
    expect(chat.page.locator("#channel-title")).to_have_text("Mochi")
    chat.ready()
    turn = chat.ask("who are you?")
    assert turn.text
    expect(chat.page.locator("#log .author").last).to_have_text("Mochi")


def test_in_quiet_only_a_mention_is_answered(chat: ChatPage) -> None:
    chat.go("quiet")
    chat.send("nobody in particular")
    turn = chat.ask("@Mochi hello")
    (first, second) = [m for m in chat.local_run.messages("quiet") if not m["author"].get("bot")]
    assert int(turn.messages[0]["id"]) > int(second["id"])
    # Nothing was said in between, so that the answer needs no reply (reply_mode "auto").
    assert [m for m in turn.messages if m.get("type") == 19] == []
    between = [m for m in chat.local_run.messages("quiet") if first["id"] < m["id"] < second["id"]]
    assert between == []


def test_another_persona_answers_to_her_name(chat: ChatPage) -> None:
    turn = chat.ask("Yuki, show me all your faces")
    names = {str(message["author"]["username"]).partition(" ")[0] for message in turn.messages}
    assert names == {"Yuki"}
    face = chat.of(turn.messages[0]).locator("img.avatar").last
    expect(face).to_have_attribute("src", "/cdn/faces/Yuki.svg")


def test_a_reload_keeps_the_conversation(chat: ChatPage) -> None:
    turn = chat.ask("do you like tea?")
    before = chat.messages.evaluate_all("all => all.map(one => one.dataset.id)")
    chat.page.reload()
    expect(chat.of(turn.messages[-1])).to_be_visible()
    after = chat.messages.evaluate_all("all => all.map(one => one.dataset.id)")
    assert [one for one in before if one in set(after)] == after


@pytest.mark.slow  # stage/tests/stage_page/test_connection.py proves it without the bot
def test_two_browsers_at_once(chat: ChatPage, running: LocalRunProcess, visit: Visit) -> None:
    other = ChatPage(running, visit(running.address))
    other.page.locator("#me .who").click()
    other.page.get_by_role("menuitem", name="Be Ren").click()
    expect(other.page.locator("#me")).to_contain_text("Ren")
    mine = chat.ask("hello, it is me")
    expect(other.of(mine.messages[-1])).to_be_visible()
    theirs = other.ask("hello, it is Ren")
    expect(chat.of(theirs.asked).locator(".author")).to_have_text("Ren")
    expect(chat.of(theirs.messages[-1])).to_be_visible()
