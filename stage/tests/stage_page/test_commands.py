"""Slash commands with their options, buttons, modals, menus of messages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from stage_page.chromium import Visit
from stage_page.page_bot import Counter
from stage_page.page_harness import PageHarness

pytestmark = pytest.mark.shared_page


def begin(page: Page, text: str) -> None:
    page.locator("#composer-text").click()
    page.keyboard.type(text)


def test_the_picker_finds_commands_and_runs_one(harness: PageHarness, page: Page) -> None:
    begin(page, "/")
    options = page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(options).to_have_count(5)
    expect(options.nth(1)).to_contain_text("/persona greet")
    page.keyboard.type("ec")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="text: What to say")
    expect(field).to_be_focused()
    page.keyboard.type("hello there")
    page.keyboard.press("Enter")
    expect(page.locator(".message .content")).to_have_text("hello there")
    expect(page.locator(".message .reply-line")).to_have_text("Mika used /echo")
    expect(page.locator("#composer-text")).to_be_focused()
    assert harness.contents() == ["hello there"]


def test_options_are_added_checked_and_converted(harness: PageHarness, page: Page) -> None:
    begin(page, "/echo")
    page.keyboard.press("Tab")
    page.keyboard.type("ha")
    page.get_by_role("button", name="2 more options").click()
    page.get_by_role("option", name="times").click()
    times = page.get_by_role("textbox", name="times: How often")
    expect(times).to_be_focused()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    expect(page.locator(".option-field .field-error")).to_have_text("times is a whole number.")
    times.fill("3")
    page.get_by_role("button", name="1 more option").click()
    page.get_by_role("option", name="loud").click()
    page.get_by_role("listbox", name="loud").get_by_role("option", name="True").click()
    page.get_by_role("textbox", name="loud: In capitals").press("Enter")
    expect(page.locator(".message .content")).to_have_text("HAHAHA")
    assert harness.contents() == ["HAHAHA"]


def test_the_send_button_runs_what_is_filled_in(harness: PageHarness, page: Page) -> None:
    begin(page, "/echo")
    page.keyboard.press("Tab")
    page.keyboard.type("pressed")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".message .content")).to_have_text("pressed")
    expect(page.locator("#composer-text")).to_be_focused()
    assert harness.contents() == ["pressed"]


def test_a_required_option_cannot_be_left_out(harness: PageHarness, page: Page) -> None:
    begin(page, "/echo")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".option-field .field-error")).to_have_text("text is needed.")
    page.keyboard.press("Escape")
    expect(page.locator("#composer-text")).to_be_focused()
    assert harness.contents() == []


@pytest.mark.parametrize(
    ("picked", "key"),
    [("/sto", "Escape"), ("/sto", "Backspace"), ("/ec", "Escape"), ("/ec", "Backspace")],
)
def test_a_key_leaves_a_picked_command(page: Page, picked: str, key: str) -> None:
    begin(page, picked)
    page.keyboard.press("Enter")
    expect(page.locator(".command-chip")).to_be_visible()
    page.keyboard.press(key)
    expect(page.locator(".command-chip")).to_have_count(0)
    expect(page.locator("#composer-text")).to_be_focused()


def test_a_command_that_lost_the_focus_can_be_left(page: Page) -> None:
    begin(page, "/sto")
    page.keyboard.press("Enter")
    page.locator(".command-chip").evaluate("chip => chip.blur()")
    page.keyboard.press("Escape")
    expect(page.locator("#composer-text")).to_be_focused()


def test_backspace_does_not_lose_what_is_filled_in(page: Page) -> None:
    begin(page, "/ec")
    page.keyboard.press("Enter")
    page.keyboard.type("kept")
    more = page.get_by_role("button", name="2 more options")
    more.press("Backspace")
    expect(page.get_by_role("textbox", name="text: What to say")).to_have_value("kept")
    page.get_by_role("textbox", name="text: What to say").fill("")
    more.press("Backspace")
    expect(page.locator("#composer-text")).to_be_focused()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/echo hello", "hello"),
        ("/echo hello there 2", "hello therehello there"),
        ("/echo times:2 text:a b  c loud:true", "A B  CA B  C"),
        ('/echo "7 of 9" 1', "7 of 9"),
        ("/ECHO Hello", "Hello"),
        ("/tea matcha", "A cup of matcha."),
        ("/tea #random ", "A cup of #random."),
        ("/persona greet @Ren ", "Hello @Ren"),
        ("/persona greet who:ren", "Hello @Ren"),
        ('/persona greet who:ren place:"a thread"', "Hello @Ren in a thread"),
    ],
)
def test_a_whole_line_runs_the_command(
    harness: PageHarness, page: Page, line: str, answer: str
) -> None:
    page.locator("#composer-text").fill(line)
    page.keyboard.press("Enter")
    expect(page.locator(".message .content")).to_have_text(answer)
    expect(page.locator("#composer-text")).to_have_value("")
    assert len(harness.contents()) == 1


def test_a_command_that_needs_nothing_runs_at_once(harness: PageHarness, page: Page) -> None:
    begin(page, "/stop")
    expect(page.get_by_role("listbox", name="Commands")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".message.ephemeral .content")).to_have_text("Stopped.")
    expect(page.locator("#composer-text")).to_have_value("")
    assert harness.contents() == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/echo", "/echo needs text (What to say)."),
        ("/echo times:2", "/echo needs text (What to say)."),
        ("/echo text:a times:many", "times is a whole number."),
        ("/echo one 2 true four", "/echo has no place for four."),
        ("/persona", "/persona is not whole: /persona greet."),
        ("/persona great Ren", "/persona is not whole: /persona greet."),
        ("/persona greet Nobody", "who: there is no member Nobody."),
    ],
)
def test_a_line_that_is_wrong_is_told_and_stays(
    harness: PageHarness, page: Page, line: str, told: str
) -> None:
    box = page.locator("#composer-text")
    box.fill(f"{line} ")
    page.keyboard.press("Escape")
    box.press("Enter")
    expect(page.locator(".toast.error")).to_have_text(told)
    expect(box).to_have_value(f"{line} ")
    assert harness.contents() == []


def test_a_line_is_explained_while_it_is_typed(page: Page) -> None:
    usage, box = page.locator("#usage"), page.locator("#composer-text")
    begin(page, "/echo")
    expect(usage).to_be_hidden()
    for typed, now, hint in (
        (" ", "text", "What to say"),
        ("hello", "text", "What to say"),
        (" ", "[times]", "How often"),
        ("2 loud:", "[loud]", "In capitals"),
    ):
        page.keyboard.type(typed)
        expect(usage).to_have_text(f"/echotext[times][loud]{hint}")
        expect(usage.locator(".now")).to_have_text(now)
    expect(box).to_have_accessible_description(re.compile("In capitals"))
    box.fill("")
    expect(usage).to_be_hidden()


def test_a_line_that_could_not_run_comes_back(harness: PageHarness, page: Page) -> None:
    page.route("**/stage/run", lambda route: route.abort("connectionrefused"))
    box = page.locator("#composer-text")
    box.fill("/echo hello")
    box.press("Enter")
    expect(page.locator(".toast.error")).to_have_text("The stage does not answer.")
    expect(box).to_have_value("/echo hello")
    box.fill("/unknown command")
    box.press("Enter")
    expect(page.locator(".message .content")).to_have_text("/unknown command")
    assert harness.contents() == ["/unknown command"]


def test_the_bot_completes_what_is_typed(harness: PageHarness, page: Page) -> None:
    begin(page, "/tea")
    page.keyboard.press("Enter")
    choices = page.get_by_role("listbox", name="tea").get_by_role("option")
    expect(choices).to_have_count(4)
    page.keyboard.type("ma")
    expect(choices).to_have_text(["genmaicha", "matcha"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".message .content")).to_have_text("A cup of matcha.")
    assert harness.contents() == ["A cup of matcha."]


def test_a_subcommand_that_takes_a_member(harness: PageHarness, page: Page) -> None:
    begin(page, "/pers")
    page.keyboard.press("Enter")
    page.get_by_role("option", name="Ren").click()
    page.keyboard.press("Enter")
    expect(page.locator(".message .content")).to_have_text("Hello @Ren")
    expect(page.locator(".message .reply-line")).to_have_text("Mika used /persona greet")
    assert harness.contents() == [f"Hello <@{harness.stage.world.user('ren').id}>"]


def test_buttons_change_whisper_ask_and_fail(harness: PageHarness, page: Page) -> None:
    harness.say("pressed 0", view=Counter())
    message = page.locator(".message").first
    message.get_by_role("button", name="Count").click()
    expect(message.locator(".content")).to_contain_text("pressed 1")
    expect(message.get_by_role("button", name="Closed")).to_be_disabled()
    expect(message.get_by_role("link", name="Elsewhere")).to_have_attribute(
        "href", "https://example.org/"
    )
    message.get_by_role("button", name="Whisper").click()
    hidden = page.locator(".message.ephemeral")
    expect(hidden.locator(".content")).to_have_text("just for you")
    hidden.get_by_role("button", name="Dismiss message").click()
    expect(hidden).to_have_count(0)
    assert harness.contents() == ["pressed 1"]


def test_a_modal_is_filled_in_and_sent(harness: PageHarness, page: Page) -> None:
    harness.say("x", view=Counter())
    page.get_by_role("button", name="Ask").click()
    modal = page.get_by_role("dialog", name="A note")
    modal.get_by_role("textbox", name="Subject").fill("tea")
    modal.get_by_role("textbox", name="Text").fill("is good")
    modal.get_by_role("button", name="Submit").click()
    expect(modal).to_have_count(0)
    expect(page.locator(".message .content").last).to_have_text("noted: tea / is good")


def test_a_modal_holds_the_focus_and_gives_it_back(harness: PageHarness, page: Page) -> None:
    harness.say("x", view=Counter())
    ask = page.get_by_role("button", name="Ask")
    ask.press("Enter")
    modal = page.get_by_role("dialog", name="A note")
    subject = modal.get_by_role("textbox", name="Subject")
    expect(subject).to_be_focused()
    around = [modal.get_by_role("textbox", name="Text")]
    around += [modal.get_by_role("button", name=name) for name in ("Cancel", "Submit", "Close")]
    for stop in (*around, subject):
        page.keyboard.press("Tab")
        expect(stop).to_be_focused()
    for stop in (*reversed(around), subject):
        page.keyboard.press("Shift+Tab")
        expect(stop).to_be_focused()
    page.keyboard.press("Escape")
    expect(modal).to_have_count(0)
    expect(ask).to_be_focused()


def test_a_modal_gives_the_focus_to_a_message_that_changed(
    harness: PageHarness, page: Page
) -> None:
    number = harness.say("x", view=Counter())
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("dialog", name="A note")).to_be_visible()
    sent = harness.run(harness.bot.place().fetch_message(int(number)))
    harness.run(sent.edit(content="y"))
    expect(page.locator(".message .content")).to_contain_text("y")
    page.keyboard.press("Escape")
    expect(page.locator(f"#message-{number}")).to_be_focused()


def test_a_bot_that_does_not_answer_is_reported(harness: PageHarness, visit: Visit) -> None:
    page = visit("about:blank")
    page.clock.install()
    page.goto(harness.stage.page_url)
    page.locator("#log .intro").wait_for()
    harness.say("x", view=Counter())
    button = page.get_by_role("button", name="Deaf")
    button.click()
    expect(button).to_have_attribute("aria-busy", "true")
    harness.wait_for(lambda: harness.stage.world.interactions)
    page.clock.fast_forward(4000)
    expect(page.locator(".toast.error")).to_contain_text("This interaction failed")
    expect(button).not_to_have_attribute("aria-busy", "true")


def test_the_menu_of_a_message_has_the_bots_entries(harness: PageHarness, page: Page) -> None:
    number = harness.say("twelve chars")
    page.locator(f"#message-{number}").click(button="right")
    page.get_by_role("menuitem", name=re.compile("Count letters")).click()
    expect(page.locator(".message.ephemeral .content")).to_have_text("12 letters")
    expect(page.locator(".message .reply-line")).to_have_text("Mika used Count letters")


def test_names_are_completed_while_typing(harness: PageHarness, page: Page) -> None:
    begin(page, "hi @st")
    expect(page.get_by_role("listbox", name="Members").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.type(":par")
    expect(page.get_by_role("listbox", name="Emoji").get_by_role("option").first).to_have_text(
        ":party:"
    )
    page.keyboard.press("Enter")
    expect(page.locator("#composer-text")).to_have_value("hi @Stagehand :party: ")
    page.keyboard.press("Enter")
    expect(page.locator(".message .mention").first).to_have_text("@Stagehand")
    assert harness.contents()[0].startswith(f"hi <@{harness.stage.world.bot.id}> <:party:")


def test_a_command_runs_once_however_often_enter_is_pressed(
    harness: PageHarness, page: Page
) -> None:
    begin(page, "/echo")
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="text: What to say")
    expect(field).to_be_focused()
    field.fill("once")
    field.evaluate(
        """field => { for (let i = 0; i < 3; i += 1) field.dispatchEvent(
          new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true })); }"""
    )
    expect(page.locator("#composer-text")).to_be_focused()
    harness.wait_for(lambda: harness.stage.world.contents("general"))
    harness.run(harness.stage.settled(30))
    assert harness.contents() == ["once"]


def _file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": content}


def test_a_file_is_an_option_of_a_command(harness: PageHarness, page: Page) -> None:
    begin(page, "/weigh")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="1 more option").click()
    page.get_by_role("option", name="file").click()
    page.locator(".option-field input[type=file]").set_input_files(_file("a.txt", b"12345"))
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".message .content")).to_have_text("a.txt: 5")
    assert harness.contents() == ["a.txt: 5"]


def test_a_modal_asks_for_files(harness: PageHarness, page: Page) -> None:
    begin(page, "/weigh")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Send").click()
    dialog = page.get_by_role("dialog", name="Weigh files")
    files = [_file("a.txt", b"1"), _file("b.txt", b"22")]
    dialog.get_by_label("Files").set_input_files(files)
    dialog.get_by_role("button", name="Submit").click()
    expect(page.locator(".message .content")).to_have_text("a.txt: 1, b.txt: 2")
    assert harness.contents() == ["a.txt: 1, b.txt: 2"]
