"""What stands around the chat: greeting, settings, the model, breaking things, the inspector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import discord
import pytest
from playwright.sync_api import Page, Route, expect

from oshaberi.stage import Fault
from oshaberi.stage.control.control_api import ControlExtension
from oshaberi.stage.stage_errors import StageError
from tests.chromium import Visit
from tests.stage_page.page_harness import PageHarness, open_page_harness


def test_the_greeting_has_six_prompts_and_goes_away(harness: PageHarness, page: Page) -> None:
    greeting = page.get_by_role("region", name="Things to try")
    prompts = greeting.locator(".prompt")
    expect(prompts).to_have_count(6)
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


class Model:
    """What whoever runs the bot offers at `/stage/model`."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"kind": "demo", "speed": 1.0, "ollama": ["llama3"]}
        self.said: list[dict[str, Any]] = []

    async def read(self, _asked: dict[str, Any]) -> dict[str, Any]:
        return self.state

    async def act(self, said: dict[str, Any]) -> dict[str, Any]:
        if said.get("model") == "nothing":
            raise StageError("this model does not answer")
        self.said.append(said)
        self.state |= {"kind": said.get("use", self.state["kind"]), "model": said.get("model")}
        self.state["speed"] = said.get("speed", self.state["speed"])
        return self.state


def test_the_model_can_be_changed(visit: Visit) -> None:
    model = Model()
    with open_page_harness(
        extensions={"model": ControlExtension(model.read, model.act)}
    ) as harness:
        page = visit(harness.stage.page_url)
        page.get_by_role("button", name="Settings").click()
        panel = page.get_by_role("group", name="Model")
        expect(panel).to_contain_text("Now: Demo model")
        panel.get_by_role("slider", name="Speed of the tokens").press("ArrowRight")
        panel.get_by_role("slider", name="Speed of the tokens").press("ArrowRight")
        expect(panel.get_by_text("×2")).to_be_visible()
        panel.get_by_role("button", name="Use it").first.click()
        expect(panel).to_contain_text("My Ollama — llama3")
        panel.get_by_text("Use my own key").click()
        panel.get_by_role("textbox", name="Address").fill("https://models.test/v1")
        panel.get_by_role("textbox", name="Model", exact=True).fill("nothing")
        panel.get_by_role("textbox", name="Key").fill("sk-1")
        panel.get_by_role("button", name="Use it").last.click()
        expect(page.locator(".toast.error")).to_have_text("this model does not answer")
        panel.get_by_role("textbox", name="Model", exact=True).fill("big")
        panel.get_by_role("button", name="Use it").last.click()
        expect(panel).to_contain_text("My own key — big")
        panel.get_by_role("button", name="Back to the demo model").click()
        expect(panel).to_contain_text("Now: Demo model")
    own = {"base_url": "https://models.test/v1", "model": "big", "key": "sk-1"}
    assert model.said[-3:] == [
        {"use": "ollama", "model": "llama3"},
        {"use": "openai-compatible"} | own,
        {"use": "demo"},
    ]
    assert {"speed": 2} in model.said


def test_without_a_model_there_is_no_panel(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
    expect(page.get_by_role("group", name="Model")).to_have_count(0)


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


INSPECTOR = """
export function mountInspector(root, { api, bus, selectMessage }) {
  const line = document.createElement("button");
  line.textContent = "nothing yet";
  root.append(line);
  bus.addEventListener("select-message", (event) => { line.textContent = event.detail.id; });
  bus.addEventListener("MESSAGE_CREATE", (event) => { line.title = event.detail.content; });
  line.addEventListener("click", async () => {
    const world = await api.get("world");
    line.title = world.bot.username;
    selectMessage(line.textContent);
  });
}
"""

ENTIRELY_SEEN = """() => {
  const top = document.getElementById("scroller").getBoundingClientRect().top;
  const seen = (view) => view.getBoundingClientRect().top >= top;
  return [...document.querySelectorAll("#log .message")].find(seen).id;
}"""
FOUR_FRAMES = """async () => {
  for (let i = 0; i < 4; i += 1) await new Promise(requestAnimationFrame);
}"""


@pytest.fixture
def inspected() -> Iterator[PageHarness]:
    with open_page_harness(
        extensions={"streams": ControlExtension(read=lambda _asked: [])}
    ) as harness:
        yield harness


def test_the_inspector_is_mounted_beside_the_chat(inspected: PageHarness, visit: Visit) -> None:
    harness, page = inspected, visit("about:blank")

    def serve(route: Route) -> None:
        route.fulfill(body=INSPECTOR, content_type="text/javascript")

    page.route("**/page/inspector/inspector.js", serve)
    page.goto(harness.stage.page_url)
    number = harness.say("why me?")
    page.locator(f"#message-{number}").hover()
    page.get_by_role("toolbar").get_by_role("button", name="Why is it as it is?").click()
    panel = page.get_by_role("complementary", name="Inspector")
    line = panel.locator("#inspector-root button")
    expect(line).to_have_text(number)
    harness.say("another")
    expect(line).to_have_attribute("title", "another")
    line.click()
    expect(line).to_have_attribute("title", "Oshaberi")
    expect(page.locator(f"#message-{number}")).to_be_focused()
    before = panel.bounding_box()
    panel.get_by_role("separator").press("ArrowLeft")
    after = panel.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    panel.get_by_role("button", name="Close the inspector").click()
    expect(panel).to_be_hidden()


def test_the_message_asked_about_stays_in_sight(inspected: PageHarness, visit: Visit) -> None:
    page = visit(inspected.stage.page_url)
    for _ in range(8):
        number = inspected.say("a line that needs more room beside the inspector " * 8)
    expect(page.locator(f"#message-{number}")).to_be_in_viewport()
    asked = page.evaluate(ENTIRELY_SEEN)
    page.locator(f"#{asked}").hover()
    page.get_by_role("toolbar").get_by_role("button", name="Why is it as it is?").click()
    expect(page.get_by_role("complementary", name="Inspector")).to_be_visible()
    page.evaluate(FOUR_FRAMES)
    expect(page.locator(f"#{asked}")).to_be_in_viewport(ratio=0.9)


def test_without_streams_there_is_no_inspector(harness: PageHarness, page: Page) -> None:
    number = harness.say("why me?")
    page.locator(f"#message-{number}").hover()
    toolbar = page.get_by_role("toolbar")
    expect(toolbar.get_by_role("button", name="Reply")).to_be_visible()
    expect(toolbar.get_by_role("button", name="Why is it as it is?")).to_have_count(0)
    expect(page.get_by_role("button", name="Inspector")).to_be_hidden()
