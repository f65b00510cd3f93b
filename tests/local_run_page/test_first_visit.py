"""The first visit: six prompts, and what each of them shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from oshaberi.bot.local_run.demo_world import FACES
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import FAST, ChatPage, ChatTurn, fast_local_run, until


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRunProcess]:
    """A local run where nobody has been before."""
    with fast_local_run(tmp_path_factory.mktemp("first")) as opened:
        yield opened


def press(chat: ChatPage, title: str) -> ChatTurn:
    return chat.answer_to(lambda: chat.page.locator(".prompt", has_text=title).click())


def test_the_greeting_has_six_things_to_try(chat: ChatPage) -> None:
    greeting = chat.page.get_by_role("region", name="Things to try")
    expect(greeting.get_by_role("heading")).to_have_text("Say something to Mochi")
    expect(greeting.locator(".prompt")).to_have_count(6)
    expect(chat.page.locator("#members")).to_contain_text("Mochi")
    expect(chat.stop).to_be_hidden()


def test_the_first_screen_says_who_speaks(chat: ChatPage) -> None:
    greeting = chat.page.get_by_role("region", name="Things to try")
    expect(greeting).to_contain_text("What Mochi says is scripted")
    greeting.get_by_role("button", name="Connect a model").click()
    panel = chat.page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/v1")
    panel.get_by_role("button", name="List models").click()
    expect(panel.locator(".field", has=chat.page.get_by_label("Address"))).to_contain_text(
        "http://127.0.0.1:9/v1: nothing listens there"
    )


def test_a_table_is_a_picture_with_words(chat: ChatPage) -> None:
    turn = press(chat, "Draw a table")
    (drawn,) = [message for message in turn.messages if message["attachments"]]
    picture = chat.of(drawn).get_by_role("button", name="Open picture")
    image = picture.locator("img")
    assert until(lambda: image.evaluate("image => image.naturalWidth") or None) > 200
    picture.click()
    large = chat.page.get_by_role("dialog")
    alt = large.locator(".alt-text").inner_text()
    assert "|" in alt or "tea" in alt.lower()
    expect(large.locator("img")).to_have_attribute("alt", alt)
    chat.page.keyboard.press("Escape")
    expect(large).to_have_count(0)
    chat.of(drawn).get_by_role("button", name="Show text").click()
    expect(chat.page.locator(".message.ephemeral pre")).to_contain_text("| tea")


def test_code_keeps_its_fences_over_two_messages(chat: ChatPage) -> None:
    turn = press(chat, "Write some code")
    fenced = [message for message in turn.messages if "```" in message["content"]]
    assert len(fenced) >= 2
    for message in fenced:
        assert message["content"].count("```") == 2
        block = chat.of(message).locator("pre code")
        expect(block).to_have_count(1)
        assert block.locator("span").count() > 10
        assert "```" not in chat.of(message).inner_text()


def test_a_thought_stays_out_of_the_channel(chat: ChatPage) -> None:
    turn = press(chat, "Think first")
    assert "towel" in turn.text
    assert "They want thinking" not in turn.text
    chat.go("thoughts")
    expect(chat.page.locator("#log")).to_contain_text("They want thinking")


def test_faces_are_pictures_of_the_same_name(chat: ChatPage) -> None:
    turn = press(chat, "Change faces")
    webhooks = [message for message in turn.messages if message.get("webhook_id")]
    moods = [chat.of(m).locator("img.avatar").first for m in webhooks]
    sources = [face.get_attribute("src") or "" for face in moods if face.count()]
    assert [re.sub(".*mood=", "", source) for source in sources] == [*FACES]
    assert all("/cdn/faces/Mochi.svg" in source for source in sources)
    assert {str(m["author"]["username"]).partition(" ")[0] for m in webhooks} == {"Mochi"}
    assert not re.search(r"^Mochi.*:", turn.text, re.MULTILINE)


def test_a_tool_is_asked_in_the_middle(chat: ChatPage) -> None:
    turn = press(chat, "Use a tool")
    assert turn.texts[0].startswith("I don't wear a watch")
    said = chat.of(turn.message_with("The clock says it is"))
    expect(said.locator("time.timestamp")).to_contain_text(re.compile(r"\d:\d\d"))
    assert "In a message" not in turn.text


def test_counting_is_stopped_by_the_button(chat: ChatPage) -> None:
    chat.speed(2)
    chat.page.locator(".prompt", has_text="Stop me").click()
    expect(chat.messages.locator(".content", has_text=re.compile(r"^3…"))).to_be_visible()
    expect(chat.stop).to_be_visible()
    chat.stop.click()
    expect(chat.stop).to_be_hidden()
    chat.speed(FAST)
    counted = chat.local_run.messages()[-1]["content"]
    assert chat.ask("thank you").texts
    assert len([m for m in chat.local_run.messages() if m["content"] == counted]) == 1
    assert not [m for m in chat.local_run.messages() if re.match(r"^\d\d\d+…", m["content"])]


def test_it_comes_bit_by_bit(chat: ChatPage) -> None:
    """The list grows while the model still speaks, and the typing line says who is at it."""
    chat.speed(2)
    chat.send("count as far as you can")
    expect(chat.page.locator("#typing")).to_have_text("Mochi is typing…")
    counts = set[int]()

    def grown() -> bool | None:
        counts.add(chat.messages.count())
        return len(counts) >= 4 or None

    until(grown)
    expect(chat.stop).to_be_visible()
    chat.stop.click()
    expect(chat.stop).to_be_hidden()
    chat.speed(FAST)
