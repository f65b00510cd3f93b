"""Something is broken on purpose, and every answer still arrives once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.local_run_page.chat_page import ChatPage

SENDING = [
    "503 on the next message",
    pytest.param("Reset before it is written", marks=pytest.mark.slow),
    pytest.param("Reset after it is written", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("what", SENDING)
def test_a_message_that_goes_wrong_arrives_once(chat: ChatPage, what: str) -> None:
    chat.break_it(what)
    assert_whole(chat, "compare three kinds of tea in a table")


@pytest.mark.slow
def test_a_gateway_that_drops(chat: ChatPage) -> None:
    chat.break_it("Drop the gateway")
    assert_whole(chat, "compare three kinds of tea in a table")


@pytest.mark.slow
def test_a_session_that_is_invalid(chat: ChatPage) -> None:
    chat.break_it("Invalidate the session")
    assert_whole(chat, "compare three kinds of tea in a table")


def test_a_webhook_that_is_revoked(chat: ChatPage) -> None:
    chat.break_it("Revoke the webhook")
    turn = chat.ask("show me all your faces")
    assert len(turn.texts) == len(set(turn.texts)) == 8
    assert [bool(message.get("webhook_id")) for message in turn.messages].count(True) >= 4


def assert_whole(chat: ChatPage, question: str) -> None:
    """All that the model said, in order, each once; lines that had to wait may share a message."""
    turn = chat.ask(question)
    said = chat.local_run.get("stream")["trace"]["messages"]
    assert turn.text == "\n".join(one["text"] for one in said)
    assert len([message for message in turn.messages if message["attachments"]]) == 1
    shown = chat.messages.evaluate_all("all => all.map(one => one.dataset.id)")
    assert len(shown) == len(set(shown))
    expect(chat.page.locator("#bot-state")).to_have_text("")


def test_a_failed_answer_can_be_tried_again(chat: ChatPage) -> None:
    """The button belongs to the bot: it is there on Discord, too."""
    chat.ask("show me an error")
    notice = chat.messages.filter(has_text="overloaded").last
    number = notice.get_attribute("data-id")
    notice.get_by_role("button", name="Try again").click()
    expect(chat.page.locator(f"#message-{number}")).to_have_count(0)
    again = chat.messages.filter(has_text="overloaded").last
    expect(again.get_by_role("button", name="Try again")).to_be_visible()
    assert again.get_attribute("data-id") != number
    # An answer that came later is not taken back by an old button.
    told = chat.ask("hello")
    again.get_by_role("button", name="Try again").click()
    expect(chat.page.locator(".message.ephemeral").last).to_contain_text("Only my newest answer")
    expect(chat.of(told.messages[-1])).to_be_visible()
