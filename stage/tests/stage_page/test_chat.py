"""Writing, reading, reacting, editing, deleting: what one does all day."""

from __future__ import annotations

import io
import re

import discord
import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from stage_page.page_bot import Counter
from stage_page.page_harness import PageHarness

pytestmark = pytest.mark.shared_page


def test_what_is_written_is_sent(harness: PageHarness, page: Page) -> None:
    box = page.get_by_role("textbox", name="Message #general")
    box.fill("hello @Stagehand :wave: in #random `@Ren`")
    box.press("Shift+Enter")
    box.press_sequentially("second line")
    box.press("Enter")
    world = harness.stage.world
    emoji = next(e for g in world.guilds.values() for e in g.emojis.values() if e.name == "wave")
    bot, place = world.bot.id, world.channel("random").id
    wanted = f"hello <@{bot}> <:wave:{emoji.id}> in <#{place}> `@Ren`\nsecond line"
    expect(page.locator(".message").first).to_contain_text("second line")
    assert harness.contents()[0] == wanted
    expect(box).to_have_value("")
    reply = page.locator(".message").nth(1)
    expect(reply.locator(".reply-line")).to_contain_text("hello @Stagehand")
    expect(reply.locator(".content")).to_have_text("yes?")


def test_messages_are_grouped_as_in_discord(harness: PageHarness, page: Page) -> None:
    harness.post("one", user="ren")
    harness.post("two", user="ren")
    harness.post("three", user="mika")
    first = harness.post("four", user="mika")
    harness.post("a reply", user="mika", reply_to=int(first))
    expect(page.locator(".message")).to_have_count(5)
    grouped = page.locator(".message").evaluate_all(
        "all => all.map((m) => m.classList.contains('grouped'))"
    )
    assert grouped == [False, True, False, True, False]


def test_seven_minutes_begin_a_new_group(script_page: Page) -> None:
    script = """async (minutes) => {
      const { isGrouped } = await import("/page/js/view/message.js");
      const at = (m) => ({ author: { id: "1", username: "a" }, type: 0, ephemeral_to: null,
        timestamp: new Date(2024, 0, 1, 12, m).toISOString() });
      return isGrouped(at(minutes), at(0));
    }"""
    assert script_page.evaluate(script, 6) is True
    assert script_page.evaluate(script, 7) is False


def test_a_webhook_has_its_own_name_and_face(harness: PageHarness, page: Page) -> None:
    async def speak() -> None:
        webhook = await harness.bot.place().create_webhook(name="faces")
        await webhook.send("one", username="Yuki", wait=True)
        await webhook.send("two", username="Yuki", wait=True)
        await webhook.send("three", username="Yuki (sad)", wait=True)

    harness.run(speak())
    expect(page.locator(".message")).to_have_count(3)
    expect(page.locator(".message .author")).to_have_text(["Yuki", "Yuki (sad)"])
    faces = page.locator(".message > .avatar")
    expect(faces).to_have_count(2)
    assert faces.first.get_attribute("src") != faces.last.get_attribute("src")
    assert faces.first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    expect(page.locator(".message .tag").first).to_have_text("APP")


def test_edits_deletes_and_reactions_arrive(harness: PageHarness, page: Page) -> None:
    number = harness.say("first")
    message = page.locator(f"#message-{number}")
    expect(message.locator(".content")).to_have_text("first")
    sent = harness.run(harness.bot.place().fetch_message(int(number)))
    harness.run(sent.edit(content="second"))
    expect(message.locator(".content")).to_have_text("second (edited)")
    harness.run(sent.add_reaction("🎉"))
    reaction = message.get_by_role("button", name=re.compile("🎉, 1: Stagehand"))
    reaction.click()
    expect(message.get_by_role("button", name="🎉, 2: Stagehand, Mika")).to_have_attribute(
        "aria-pressed", "true"
    )
    message.get_by_role("button", name="🎉, 2").click()
    expect(reaction).to_have_attribute("aria-pressed", "false")
    harness.run(sent.delete())
    expect(message).to_have_count(0)


def test_own_messages_can_be_edited_and_deleted(harness: PageHarness, page: Page) -> None:
    harness.post("mine", user="mika")
    other = harness.post("not mine", user="ren")
    expect(page.locator(".message")).to_have_count(2)
    box = page.locator("#composer-text")
    box.press("ArrowUp")
    expect(page.locator("#context-bar")).to_contain_text("Editing your message")
    expect(box).to_have_value("mine")
    box.fill("mine, better")
    box.press("Enter")
    expect(page.locator(".message").first.locator(".content")).to_have_text("mine, better (edited)")
    assert harness.contents() == ["mine, better", "not mine"]
    page.locator(f"#message-{other}").hover()
    expect(page.get_by_role("toolbar").get_by_role("button", name="Edit")).to_have_count(0)
    page.locator(".message").first.hover()
    page.get_by_role("toolbar").get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete message").click()
    page.keyboard.press("Escape")
    expect(page.locator(".message")).to_have_count(2)
    page.locator(".message").first.hover()
    page.get_by_role("toolbar").get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete message").click()
    page.keyboard.press("Enter")
    expect(page.locator(".message")).to_have_count(1)


def test_a_reply_names_what_it_answers(harness: PageHarness, page: Page) -> None:
    number = harness.say("a question?")
    page.locator(f"#message-{number}").hover()
    page.get_by_role("toolbar").get_by_role("button", name="Reply").click()
    expect(page.locator("#context-bar")).to_contain_text("Replying to Stagehand")
    page.keyboard.type("an answer")
    page.keyboard.press("Enter")
    line = page.locator(".message").nth(1).locator(".reply-line")
    expect(line).to_have_text("@Stagehanda question?")
    line.get_by_role("button").click()
    expect(page.locator(f"#message-{number}")).to_be_focused()
    expect(page.locator("#context-bar")).to_be_hidden()


def test_a_reply_shows_its_question_as_it_is_now(harness: PageHarness, page: Page) -> None:
    asked = harness.post("a qestion?", user="ren")
    harness.post("an answer", user="mika", reply_to=int(asked))
    line = page.locator(".message .reply-line")
    expect(line).to_contain_text("a qestion?")
    harness.do(lambda: harness.stage.people.edit(int(asked), "a question?"))
    expect(line).to_contain_text("a question?")
    harness.do(lambda: harness.stage.people.delete(int(asked)))
    expect(line).to_have_text("Original message was deleted")


def test_embeds_are_cards(harness: PageHarness, page: Page) -> None:
    embed = discord.Embed(title="Title", url="https://example.org/", description="**bold**")
    embed.set_author(name="Author").set_footer(text="Footer").add_field(name="F", value="`v`")
    harness.say("", embed=embed)
    card = page.locator(".embed")
    expect(card.get_by_role("link", name="Title")).to_have_attribute("href", "https://example.org/")
    for part in ("Author", "bold", "F", "v", "Footer"):
        expect(card.get_by_text(part, exact=True)).to_be_visible()


def test_a_picture_has_its_alt_text_and_opens_large(harness: PageHarness, page: Page) -> None:
    file = discord.File(io.BytesIO(_picture()), "table.png", description="Planet | Moons")
    harness.say("", file=file, view=Counter())
    page.get_by_role("button", name="Open picture: Planet | Moons").click()
    large = page.get_by_role("dialog", name="Planet | Moons")
    expect(large.get_by_role("img", name="Planet | Moons")).to_be_visible()
    expect(large.locator(".alt-text")).to_have_text("Planet | Moons")
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)


def _picture() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (64, 32), (200, 80, 80)).save(out, "PNG")
    return out.getvalue()


def test_files_are_attached_with_alt_text(harness: PageHarness, page: Page) -> None:
    files: list[FilePayload] = [
        {"name": "dot.png", "mimeType": "image/png", "buffer": _picture()},
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"line one\nline two"},
    ]
    page.locator("#file-chooser").set_input_files(files)
    page.get_by_role("textbox", name="Alt text of dot.png").fill("a red dot")
    page.locator("#composer-text").fill("two files")
    page.locator("#composer-text").press("Enter")
    message = page.locator(".message").last
    expect(message.get_by_role("button", name="Open picture: a red dot")).to_be_visible()
    expect(message.locator("pre")).to_have_text("line one\nline two")
    sent = harness.do(lambda: harness.stage.world.history("general")[-1])
    assert [(a.filename, a.description) for a in sent.attachments] == [
        ("dot.png", "a red dot"),
        ("notes.txt", None),
    ]
    expect(page.locator("#uploads")).to_be_hidden()


def test_a_refusal_is_told_and_the_text_stays(harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    box.fill("x" * 2001)
    box.press("Enter")
    expect(page.locator(".toast.error")).to_contain_text("2000")
    expect(box).to_have_value("x" * 2001)
    assert harness.contents() == []


def test_who_writes_fast_loses_nothing(harness: PageHarness, page: Page) -> None:
    held: list[Route] = []
    page.route("**/stage/post", lambda route: route.continue_() if held else held.append(route))
    box = page.locator("#composer-text")
    box.press_sequentially("first")
    box.press("Enter")
    expect(box).to_have_value("")
    for number in range(30):
        box.press_sequentially(f"m{number}")
        box.press("Enter")
    box.press_sequentially("not yet")
    expect(page.locator("#outbox .message.slow").first).to_have_text(re.compile("first"))
    assert harness.contents() == []
    held[0].continue_()
    expect(page.locator("#log .message")).to_have_count(31)
    expect(page.locator("#outbox")).to_be_hidden()
    assert harness.contents() == ["first", *(f"m{number}" for number in range(30))]
    expect(box).to_have_value("not yet")


def test_what_was_not_sent_can_be_sent_again(harness: PageHarness, page: Page) -> None:
    page.route("**/stage/post", lambda route: route.abort("connectionrefused"))
    box = page.locator("#composer-text")
    for text in ("one", "two", "three"):
        box.fill(text)
        box.press("Enter")
    failed = page.locator("#outbox .message.failed")
    expect(failed).to_have_count(3)
    expect(failed.first).to_contain_text("Not sent: The stage does not answer.")
    box.fill("something else")
    failed.nth(2).get_by_role("button", name="Edit").click()
    expect(box).to_have_value("three\nsomething else")
    failed.nth(1).get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="random").click()
    expect(failed).to_have_count(0)
    page.go_back()
    page.unroute("**/stage/post")
    failed.get_by_role("button", name="Retry").click()
    expect(page.locator("#log .message .content")).to_have_text("one")
    expect(failed).to_have_count(0)
    box.press("Enter")
    expect(page.locator("#log .message")).to_have_count(2)
    assert harness.contents() == ["one", "three\nsomething else"]


def test_an_answer_that_was_lost_writes_nothing_twice(harness: PageHarness, page: Page) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort("connectionreset")

    page.route("**/stage/post", lose, times=1)
    box = page.locator("#composer-text")
    box.fill("once")
    box.press("Enter")
    page.locator("#outbox").get_by_role("button", name="Retry").click()
    expect(page.locator("#outbox")).to_be_hidden()
    box.fill("once")
    box.press("Enter")
    expect(page.locator("#log .message")).to_have_count(2)
    assert harness.contents() == ["once", "once"]


def test_an_edit_that_fails_is_not_lost(harness: PageHarness, page: Page) -> None:
    harness.post("mine", user="mika")
    expect(page.locator(".message")).to_have_count(1)
    page.route("**/stage/edit", lambda route: route.abort("connectionrefused"))
    box = page.locator("#composer-text")
    box.press("ArrowUp")
    box.fill("better")
    box.press("Enter")
    expect(box).to_have_value("")
    page.unroute("**/stage/edit")
    page.locator("#outbox").get_by_role("button", name="Edit").click()
    expect(page.locator("#context-bar")).to_contain_text("Editing your message")
    box.press("Enter")
    expect(page.locator("#log .content")).to_have_text("better (edited)")


def test_the_typing_line_and_the_stop_button(harness: PageHarness, page: Page) -> None:
    box = page.locator("#composer-text")
    box.fill("@Stagehand a long answer, please")
    box.press("Enter")
    expect(page.locator("#typing")).to_have_text("Stagehand is typing…")
    page.get_by_role("button", name="Stop", exact=True).click()
    harness.wait_for(harness.bot.stopped.is_set)
    expect(page.locator(".message .content").last).to_have_text("stopped")
    expect(page.locator("#typing")).to_have_text("")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
