"""What stands around the chat: greeting, settings, things to try, breaking things."""

from __future__ import annotations

import discord
import pytest
from playwright.sync_api import Page, expect

from discord_stage import ControlExtension, Fault
from stage_page.chromium import Visit
from stage_page.page_bot import Counter
from stage_page.page_harness import PageHarness, open_page_harness


@pytest.mark.shared_page
def test_the_program_of_the_page_is_one_file(page: Page) -> None:
    loaded = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    assert [one for one in loaded if one.endswith(".js")] == [
        page.url.split("/channels")[0] + "/page/js/main.js"
    ]


@pytest.mark.shared_page
def test_the_greeting_has_prompts_and_goes_away(harness: PageHarness, page: Page) -> None:
    greeting = page.get_by_role("region", name="Things to try")
    prompts = greeting.locator(".prompt")
    expect(prompts).to_have_count(3)
    prompts.first.click()
    harness.wait_for(lambda: len(harness.stage.world.contents("general")) == 2)
    assert harness.contents()[0].startswith(f"<@{harness.stage.world.bot.id}> ")
    greeting.get_by_role("button", name="Close the greeting").click()
    page.reload()
    expect(page.locator(".message")).to_have_count(2)
    expect(greeting).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Show the greeting again").click()
    page.keyboard.press("Escape")
    expect(greeting).to_be_visible()


def test_prompts_can_come_from_whoever_runs_the_bot(visit: Visit) -> None:
    prompts = [{"title": "Mine", "text": "{bot} do it"}]
    with open_page_harness(
        extensions={"prompts": ControlExtension(read=lambda _asked: prompts)}
    ) as harness:
        page = visit(harness.stage.page_url)
        page.get_by_role("button", name="Mine do it").click()
        harness.wait_for(lambda: harness.stage.world.contents("general"))
        assert harness.contents()[0] == f"<@{harness.stage.world.bot.id}> do it"


def test_dark_and_light(visit: Visit, harness: PageHarness) -> None:
    page = visit(harness.stage.page_url, color_scheme="light")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Dark or light").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("radio", name="As the system").click()
    expect(root).to_have_attribute("data-theme", "dark")


@pytest.mark.shared_page
def test_what_is_said_while_a_dialog_is_open_is_seen(page: Page) -> None:
    """A modal dialog lies above the page: the line must be inside it, and outlive it."""
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("button", name="Show the greeting again").click()
    expect(dialog.locator(".toast")).to_have_text("It stands at the beginning of the channel.")
    page.keyboard.press("Escape")
    expect(page.locator("#toasts .toast")).to_be_visible()


@pytest.mark.shared_page
def test_a_refused_form_says_so_inside(harness: PageHarness, page: Page) -> None:
    harness.run(harness.bot.place().send("press", view=Counter()))
    page.get_by_role("button", name="Ask").click()
    dialog = page.get_by_role("dialog", name="A note")
    dialog.get_by_role("textbox", name="Subject").fill("x")
    body = '{"error": "it is too short", "field": "%s"}'
    name = dialog.get_by_role("textbox", name="Subject").get_attribute("data-field")
    page.route("**/stage/submit", lambda route: route.fulfill(status=400, body=body % name))
    dialog.get_by_role("button", name="Submit").click()
    subject = dialog.get_by_role("textbox", name="Subject")
    expect(subject).to_have_attribute("aria-invalid", "true")
    expect(subject).to_have_accessible_description("it is too short")
    page.unroute("**/stage/submit")
    dialog.get_by_role("button", name="Submit").click()
    expect(dialog).to_have_count(0)
    expect(page.locator("#log")).to_contain_text("noted: x")


def test_things_to_try_is_always_there_and_ticks_off(visit: Visit) -> None:
    prompts = [
        {"title": "Mine", "text": "{bot} do it", "group": "Text", "first": True},
        {"title": "Later", "text": "{bot} and this", "group": "Faults", "first": False},
    ]
    extensions = {"prompts": ControlExtension(read=lambda _asked: prompts)}
    with open_page_harness(extensions=extensions) as harness:
        page = visit(harness.stage.page_url)
        expect(page.locator(".prompt")).to_have_count(1)
        page.get_by_role("button", name="Close the greeting").click()
        tries = page.get_by_role("dialog", name="Things to try")
        page.get_by_role("button", name="Things to try").click()
        expect(tries).to_contain_text("0 of 3 seen")
        tries.get_by_role("region", name="Faults").get_by_role("button", name="Later").click()
        harness.wait_for(lambda: harness.stage.world.contents("general"))
        assert harness.contents()[0] == f"<@{harness.stage.world.bot.id}> and this"
        expect(tries).to_have_count(0)
        break_it(page, "503 on the next message")
        # The feed may tell of the fault before the request that armed it is answered.
        page.wait_for_function("JSON.parse(localStorage.getItem('stage.tried')).length === 2")
        page.reload()
        page.get_by_role("button", name="Things to try").click()
        expect(tries).to_contain_text("2 of 3 seen")
        expect(tries.get_by_role("button", name="Seen: Later")).to_be_visible()
        tries.get_by_role("button", name="Break Discord").click()
        expect(page.get_by_role("menu", name="Break something")).to_be_visible()


def break_it(page: Page, name: str) -> None:
    page.get_by_role("button", name="Break something").click()
    page.get_by_role("menuitem", name=name).click()
    expect(page.locator("#armed")).to_contain_text(f"Armed: {name}")


def test_the_next_message_meets_a_503_and_only_that(harness: PageHarness, page: Page) -> None:
    break_it(page, "503 on the next message")
    with pytest.raises(discord.DiscordServerError):
        harness.say("lost")
    harness.say("fine")
    expect(page.locator(".message .content")).to_have_text("fine")


def test_what_is_told_while_the_world_is_loaded_is_newer(script_page: Page) -> None:
    code = """async () => {
      const { Store } = await import("/page/js/store.js");
      const world = { users: [], guilds: [], dms: [], you: "1", faults: ["before"] };
      const loaded = Promise.withResolvers();
      const store = new Store({
        get: (what) => (what === "world" ? loaded.promise : Promise.resolve([])),
      });
      const loading = store.loadWorld();
      store.apply("FAULTS", { faults: ["after"] });
      loaded.resolve(world);
      await loading;
      return store.faults;
    }"""
    assert script_page.evaluate(code) == ["after"]


def test_what_is_armed_is_in_sight_until_it_has_struck(harness: PageHarness, page: Page) -> None:
    page.clock.install()
    page.reload()
    armed = page.locator("#armed")
    expect(armed).to_be_hidden()
    for _ in range(2):
        break_it(page, "503 on the next message")
    expect(armed).to_have_text("Armed: 503 on the next message ×2Disarm")
    page.reload()
    expect(armed).to_have_text("Armed: 503 on the next message ×2Disarm")
    with pytest.raises(discord.DiscordServerError):
        harness.say("lost")
    expect(armed).to_have_text("Struck: 503 on the next message ×2")
    page.clock.fast_forward(8000)
    expect(armed).to_be_hidden()
    fault = Fault(kind="status", status=502, route="GET /users/*")
    harness.do(lambda: harness.stage.fault(fault))
    harness.post("something happens")
    expect(armed).to_contain_text("Armed: status on GET /users/*")


def test_a_reset_after_the_write_leaves_one_message(harness: PageHarness, page: Page) -> None:
    break_it(page, "Reset after it is written")
    with pytest.raises(OSError, match="reset"):
        harness.say("written")
    expect(page.locator(".message .content")).to_have_text("written")


def test_a_webhook_is_revoked_when_it_speaks(harness: PageHarness, page: Page) -> None:
    webhook = harness.run(harness.bot.place().create_webhook(name="w"))
    break_it(page, "Revoke the webhook")
    with pytest.raises(discord.NotFound):
        harness.run(webhook.send("x", wait=True))


def test_what_was_armed_can_be_disarmed(harness: PageHarness, page: Page) -> None:
    break_it(page, "503 on the next message")
    page.get_by_role("button", name="Disarm", exact=True).click()
    expect(page.locator("#armed")).to_be_hidden()
    harness.say("unharmed")
    expect(page.locator(".message .content")).to_have_text("unharmed")
