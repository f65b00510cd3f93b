"""What a program adds to the page: a panel, an action, a button, a setting, a thing to try."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from discord_stage import ControlExtension, PageExtension
from stage_page.chromium import Visit, barriers
from stage_page.page_harness import PageHarness, open_page_harness

FOLDER = Path(__file__).parent / "page_extensions"
ENTIRELY_SEEN = """() => {
  const top = document.getElementById("scroller").getBoundingClientRect().top;
  const seen = (view) => view.getBoundingClientRect().top >= top;
  return [...document.querySelectorAll("#log .message")].find(seen).id;
}"""
FOUR_FRAMES = """async () => {
  for (let i = 0; i < 4; i += 1) await new Promise(requestAnimationFrame);
}"""


@pytest.fixture
def extended() -> Iterator[PageHarness]:
    with open_page_harness(
        extensions={"number": ControlExtension(read=lambda _asked: {"number": 7})},
        page_extensions={name: PageExtension(FOLDER / name) for name in ("notes", "other")},
    ) as harness:
        yield harness


def opened(visit: Visit, harness: PageHarness) -> Page:
    page = visit(harness.stage.page_url)
    page.locator("#log .intro").wait_for()
    return page


def say_and_offer(harness: PageHarness, text: str) -> str:
    """The bot writes, and the extension offers its action for it."""
    number = harness.say(text)
    harness.do(lambda: harness.stage.feed.publish("ASKED", {"id": number}))
    return number


def test_a_panel_is_mounted_beside_the_chat(extended: PageHarness, visit: Visit) -> None:
    page = opened(visit, extended)
    number = say_and_offer(extended, "note me")
    page.locator(f"#message-{number}").hover()
    page.get_by_role("toolbar").get_by_role("button", name="Note it").click()
    panel = page.get_by_role("complementary", name="Notes")
    line = panel.get_by_role("button", name=number)
    expect(line).to_be_visible()
    assert barriers(page) == []
    extended.say("another")
    expect(line).to_have_attribute("title", "another")
    line.click()
    expect(line).to_have_attribute("title", "7")
    expect(page.locator(f"#message-{number}")).to_be_focused()
    before = panel.bounding_box()
    panel.get_by_role("separator").press("ArrowLeft")
    after = panel.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    panel.get_by_role("button", name="Close Notes").click()
    expect(panel).to_be_hidden()
    toggle = page.get_by_role("button", name="Notes", exact=True)
    toggle.press("Enter")
    panel.get_by_role("separator").press("Escape")
    expect(panel).to_be_hidden()
    expect(toggle).to_be_focused()


def test_one_panel_is_open_and_stays_open(extended: PageHarness, visit: Visit) -> None:
    page = opened(visit, extended)
    notes = page.get_by_role("complementary", name="Notes")
    other = page.get_by_role("complementary", name="Other")
    page.get_by_role("button", name="Notes", exact=True).click()
    expect(notes).to_be_visible()
    page.get_by_role("button", name="Other", exact=True).click()
    expect(other).to_have_text("Otherhere")
    expect(notes).to_be_hidden()
    page.reload()
    expect(other).to_be_visible()
    expect(notes).to_be_hidden()


def test_an_action_is_offered_where_it_applies(extended: PageHarness, visit: Visit) -> None:
    page = opened(visit, extended)
    plain, noted = extended.say("plain"), say_and_offer(extended, "noted")
    action = page.get_by_role("toolbar").get_by_role("button", name="Note it")
    page.locator(f"#message-{noted}").hover()
    expect(action).to_be_visible()
    page.locator(f"#message-{plain}").hover()
    expect(page.locator(f"#message-{plain} [role=toolbar]")).to_be_visible()
    expect(action).to_have_count(0)
    panel = page.get_by_role("complementary", name="Notes")
    page.locator(f"#message-{plain}").press("n")
    expect(panel).to_be_hidden()
    page.locator(f"#message-{noted}").press("n")
    expect(panel.get_by_role("button", name=noted)).to_be_visible()


def test_it_is_offered_while_the_message_is_pointed_at(extended: PageHarness, visit: Visit) -> None:
    page = opened(visit, extended)
    number = extended.say("not yet")
    page.locator(f"#message-{number}").hover()
    expect(page.get_by_role("toolbar").get_by_role("button", name="Reply")).to_be_visible()
    extended.do(lambda: extended.stage.feed.publish("ASKED", {"id": number}))
    expect(page.get_by_role("toolbar").get_by_role("button", name="Note it")).to_be_visible()


def test_the_message_asked_about_stays_in_sight(extended: PageHarness, visit: Visit) -> None:
    page = opened(visit, extended)
    for _ in range(8):
        number = say_and_offer(extended, "a line that needs more room beside the panel " * 8)
    expect(page.locator(f"#message-{number}")).to_be_in_viewport()
    asked = page.evaluate(ENTIRELY_SEEN)
    page.locator(f"#{asked}").hover()
    page.get_by_role("toolbar").get_by_role("button", name="Note it").click()
    expect(page.get_by_role("complementary", name="Notes")).to_be_visible()
    page.evaluate(FOUR_FRAMES)
    expect(page.locator(f"#{asked}")).to_be_in_viewport(ratio=0.9)


def test_a_button_a_setting_a_greeting_and_a_thing_to_try(
    extended: PageHarness, visit: Visit
) -> None:
    page = opened(visit, extended)
    expect(page.locator(".greeting")).to_contain_text("Stagehand takes notes: number")
    page.get_by_role("button", name="Take a note").click()
    expect(page.locator("#notes")).to_have_accessible_name("By Stagehand")
    expect(page.locator("#notes")).to_have_text("Taken")
    page.get_by_role("button", name="Settings").click()
    settings = page.get_by_role("dialog", name="Settings")
    expect(settings.get_by_role("group", name="Notes")).to_be_visible()
    expect(settings).to_contain_text("On a message: Note it")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Things to try").click()
    page.get_by_role("dialog").get_by_role("button", name="Take notes In a panel").click()
    expect(page.get_by_role("complementary", name="Notes")).to_be_visible()
    page.get_by_role("button", name="Things to try").click()
    expect(page.get_by_role("button", name="Seen: Take notes In a panel")).to_be_visible()


def test_an_extension_that_does_not_work_leaves_the_page_as_it_is(
    tmp_path: Path, visit: Visit
) -> None:
    (tmp_path / "extension.js").write_text(
        'export function extend() { throw new Error("there is no paper"); }\n'
    )
    with open_page_harness(page_extensions={"notes": PageExtension(tmp_path)}) as harness:
        page = visit(harness.stage.page_url)
        toast = page.locator(".toast.error")
        expect(toast).to_have_text("The extension notes does not work: there is no paper")
        page.locator("#log .intro").wait_for()
        harness.say("fine")
        expect(page.locator(".message .content")).to_have_text("fine")


@pytest.mark.shared_page
def test_without_extensions_there_are_none(harness: PageHarness, page: Page) -> None:
    number = harness.say("plain")
    page.locator(f"#message-{number}").hover()
    expect(page.get_by_role("toolbar").get_by_role("button")).to_have_count(4)
    expect(page.locator(".side-panel")).to_have_count(0)
    assert page.locator("#head-tools button").count() == 4


DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  const drop = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
  document.getElementById("chat").dispatchEvent(drop);
}"""


def test_a_dropped_file_is_taken_by_an_extension_or_goes_into_the_message(
    extended: PageHarness, visit: Visit
) -> None:
    page = opened(visit, extended)
    page.evaluate(DROP, ["a.txt", "x"])
    expect(page.locator("#uploads .upload")).to_have_count(1)
    page.evaluate(DROP, ["b.note", "buy tea"])
    channel = extended.do(lambda: extended.stage.world.channel("general").id)
    expect(page.locator("#composer-text")).to_have_value(f"A note for {channel}: buy tea")
    expect(page.locator("#uploads .upload")).to_have_count(1)
