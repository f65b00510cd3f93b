"""The inspector beside the chat, on what really was said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from oshaberi.scenes import parse_scene
from stage_page.chromium import Visit
from tests.local_run.local_run_process import OSHABERI, LocalRunProcess
from tests.local_run_page.chat_page import FAST, ChatPage, ChatTurn

WIDE = {"width": 1500, "height": 900}


@pytest.fixture(scope="module")
def opened_chat(running: LocalRunProcess, chat_visit: Visit) -> ChatPage:
    """With the inspector open."""
    opened = ChatPage(running, chat_visit(running.address, viewport=WIDE))
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.get_by_role("button", name="Inspector", exact=True).click()
    expect(opened.inspector).to_be_visible()
    return opened


@pytest.fixture
def chat(chat: ChatPage) -> ChatPage:
    """The inspector is open and shows the newest stream."""
    chat.page.set_viewport_size({"width": WIDE["width"], "height": WIDE["height"]})
    if chat.inspector.is_hidden():
        chat.page.get_by_role("button", name="Inspector", exact=True).click()
    follow = chat.inspector.get_by_role("button", name="Follow")
    if follow.get_attribute("aria-pressed") == "false":
        follow.click()
    expect(follow).to_have_attribute("aria-pressed", "true")
    return chat


def inspected(chat: ChatPage, question: str) -> ChatTurn:
    """Say it; the inspector shows all of the stream that answered it."""
    turn = chat.ask(question)
    newest = chat.local_run.get("streams")[0]["id"]
    expect(chat.inspector.get_by_role("combobox", name="Stream")).to_have_value(newest)
    expect(chat.inspector.locator(".in-ending")).not_to_have_text("It is still running.")
    expect(chat.inspector.locator(".in-body")).to_have_attribute("aria-busy", "false")
    return turn


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
    turn = inspected(chat, "show me all your faces")
    chat.of(turn.message_with("This is sad.")).hover()
    toolbar = chat.page.get_by_role("toolbar")
    toolbar.get_by_role("button", name="Why this message?").click()
    item = chat.inspector.locator(".in-item.open")
    expect(item.locator(".in-why")).to_contain_text("newline")
    expect(item).to_contain_text("This is sad.")
    source = "".join(chat.inspector.locator(".in-raw .selected").all_text_contents())
    assert source.startswith("Mochi (sad): This is sad.")
    struck = chat.inspector.locator(".in-raw .withheld.selected")
    assert "".join(struck.all_text_contents()) == "Mochi (sad): "
    chat.inspector.locator(".in-raw .source.tint-0").last.click()
    expect(chat.inspector.locator(".in-item.open")).to_contain_text("This is sleepy.")
    chat.inspector.get_by_role("button", name="Show it in the chat").click()
    expect(chat.of(turn.message_with("This is sleepy."))).to_be_focused()


def test_another_degree_beside_what_was_sent(chat: ChatPage) -> None:
    turn = inspected(chat, "show me all your faces")
    slider = chat.inspector.get_by_role("slider", name="Degree")
    expect(slider).to_be_enabled()
    slider.press("ArrowRight")
    columns = chat.inspector.locator(".in-column")
    expect(columns).to_have_count(2)
    expect(columns.first.locator(".in-bubble")).to_have_count(len(turn.messages))
    expect(columns.last.locator("h3")).to_have_text("At degree 3, played again")
    assert columns.last.locator(".in-bubble").count() > len(turn.messages)
    for _ in range(3):
        slider.press("ArrowLeft")
    expect(columns.last.locator("h3")).to_have_text("At degree 0, played again")


def test_what_is_copied_is_a_scene(chat: ChatPage, tmp_path: Path) -> None:
    turn = inspected(chat, "compare three kinds of tea in a table")
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
    chat.page.get_by_role("button", name="Close Inspector").click()
    expect(members).to_be_visible()
    chat.page.get_by_role("button", name="Inspector", exact=True).click()
    expect(members).to_be_hidden()
    chat.page.get_by_role("button", name="Members").click()
    expect(members).to_be_visible()
    chat.page.set_viewport_size({"width": 1900, "height": 900})
    expect(members).to_be_visible()


def test_a_refusal_and_its_retry_are_shown_as_they_happened(chat: ChatPage) -> None:
    """The stage's log knows the 503; playing the stream again does not."""
    chat.break_it("503 on the next message")
    turn = inspected(chat, "what can you do?")
    row = chat.inspector.locator(".in-row").first
    row.click()
    recorded = chat.inspector.locator(".in-item.open .in-recorded li")
    expect(recorded.first).to_contain_text("Try 1: refused (503)")
    expect(recorded.last).to_contain_text("Try 2: sent (200)")
    expect(chat.inspector.locator(".in-wait.retry").first).to_be_visible()
    expect(chat.inspector.locator(".in-origin")).to_contain_text("recorded while it ran")
    expect(chat.inspector.locator(".in-item.open")).to_contain_text("Played again")
    told = chat.local_run.get("stream", f"?message={turn.messages[0]['id']}")
    first, last = told["sends"][0]["tries"]
    assert (first["status"], last["status"]) == (503, 200)
    shown_ms = round(1000 * float(row.locator("time").inner_text().removesuffix(" s")))
    # Two decimals, and one from ten seconds on.
    assert abs(shown_ms - last["at_ms"]) <= (5 if last["at_ms"] < 10_000 else 50)


def test_a_wait_for_discords_limits_is_told(chat: ChatPage) -> None:
    """Whether there is one depends on the machine's pace: here the recording says that there was.

    What is recorded as one is in `tests/inspector/test_recorded_sends.py`.
    """

    def keep_back(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        for send in told["result"]["sends"][:1]:
            send["tries"][0]["waited_ms"] = 10
        route.fulfill(response=answer, json=told)

    chat.page.route("**/stage/stream?*", keep_back)
    inspected(chat, "what can you do?")
    chat.inspector.locator(".in-row").first.click()
    expect(chat.inspector.locator(".in-item.open .in-recorded li")).to_contain_text(
        "kept back for 0.01 s by Discord's limits or an earlier request"
    )
    expect(chat.inspector.locator(".in-wait.retry").first).to_be_attached()


def test_a_failed_stream_says_with_what_and_its_notice_leads_to_it(chat: ChatPage) -> None:
    chat.ask("show me an error")
    expect(chat.inspector.locator(".in-failure")).to_contain_text("overloaded")
    notice = chat.messages.locator(".embed").last
    chat.ask("hello")
    expect(chat.inspector.locator(".in-failure")).to_be_hidden()
    notice.hover()
    toolbar = chat.page.get_by_role("toolbar")
    toolbar.get_by_role("button", name="Why this message?").click()
    expect(chat.inspector.locator(".in-failure")).to_contain_text("overloaded")
    expect(chat.inspector.locator(".in-item", has_text="Notice: ")).to_be_visible()


def test_a_command_answer_has_no_why(chat: ChatPage) -> None:
    answers = chat.page.locator("#log .message.ephemeral")
    before = answers.count()
    chat.command("/status")
    expect(answers).to_have_count(before + 1)
    answer = answers.last
    expect(answer.locator(".thinking")).to_have_count(0)  # it grows when it comes, and all moves
    answer.locator(".only-you").hover()
    toolbar = answer.get_by_role("toolbar")
    expect(toolbar.get_by_role("button", name="Copy text")).to_be_visible()
    expect(toolbar.get_by_role("button", name="Why this message?")).to_have_count(0)


def test_a_stream_is_shared_as_a_file(chat: ChatPage, tmp_path: Path) -> None:
    inspected(chat, "show me your emoji")
    first = chat.inspector.locator(".in-row").first.inner_text()
    with chat.page.expect_download() as saving:
        chat.inspector.get_by_role("button", name="Save as a file").click()
    saving.value.save_as(tmp_path / "stream.json")
    inspected(chat, "hello")
    expect(chat.inspector.locator(".in-row").first).not_to_have_text(first)
    chat.inspector.locator("input[type=file]").set_input_files(tmp_path / "stream.json")
    expect(chat.inspector.locator(".in-choice option:checked")).to_contain_text("From a file:")
    expect(chat.inspector.locator(".in-origin")).to_contain_text("Played again")
    expect(chat.inspector.locator(".in-raw")).to_contain_text("An emoji alone")
    (tmp_path / "no.json").write_text("{", encoding="utf-8")
    chat.inspector.locator("input[type=file]").set_input_files(tmp_path / "no.json")
    expect(chat.inspector.locator(".in-state")).to_have_text(
        "no.json is no stream that was saved here."
    )


def test_the_picker_stays_in_sight_and_the_signs_are_explained(chat: ChatPage) -> None:
    inspected(chat, "tell me a long story")
    chat.inspector.get_by_text("What the signs mean").click()
    expect(chat.inspector.locator(".in-legend")).to_contain_text("a token arrives (recorded)")
    chat.inspector.locator(".in-row").last.scroll_into_view_if_needed()
    expect(chat.inspector.get_by_role("combobox", name="Stream")).to_be_in_viewport(ratio=1)
    degree = chat.inspector.get_by_role("slider", name="Degree")
    assert degree.evaluate(
        """slider => slider.getBoundingClientRect().top
          < document.querySelector(".panel-root .in-row").getBoundingClientRect().top"""
    )
