"""What a visitor does: says something, waits for the end of the answer, looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.local_run.local_run_process import PATIENT, LocalRunProcess, local_run

T = TypeVar("T")
PATIENCE_S = 60.0
FAST = 40.0
FAST_TYPING = """\
base_type_speed_ms_per_char = 0
min_visible_typing_duration_ms = 100
max_typing_time_ms = 100
min_random_pause_ms = 0
max_random_pause_ms = 0
thinking_pause_chance = 0
"""
"""Nobody waits for a test to type."""


@contextmanager
def fast_local_run(folder: Path) -> Iterator[LocalRunProcess]:
    """`oshaberi run`, which must neither fall nor complain."""
    settings = folder / "oshaberi.toml"
    settings.write_text(FAST_TYPING, encoding="utf-8")
    options = ("--config", str(settings), "--speed", str(FAST))
    with local_run(folder / "data", *options, program=PATIENT) as opened:
        opened.post("rate_limits", on=False)
        yield opened
        assert opened.end() == 0
    said = (folder / "run.log").read_text(encoding="utf-8")
    if "Traceback" in said:
        pytest.fail(said[max(0, said.index("Traceback") - 300) :][:4000])


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What was asked, and the messages that came of it, as the stage has them."""

    asked: dict[str, Any]
    messages: list[dict[str, Any]]

    @property
    def texts(self) -> list[str]:
        return [str(message["content"]) for message in self.messages]

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def message_with(self, words: str) -> dict[str, Any]:
        """The one message that has these words in it."""
        (found,) = [one for one in self.messages if words in one["content"]]
        return found


class ChatPage:
    """One page of one `oshaberi run`."""

    def __init__(self, running: LocalRunProcess, page: Page) -> None:
        self.local_run = running
        self.page = page
        self.box = page.locator("#composer-text")
        self.messages = page.locator("#log .message")
        self.inspector = page.get_by_role("complementary", name="Inspector")
        self.stop = page.get_by_role("button", name="Stop", exact=True)
        self.ready()

    def ready(self) -> None:
        self.page.locator("#log[aria-busy=false]").wait_for()

    def prepare(self) -> None:
        """A test that went before, or failed, may have left something behind."""
        self.local_run.post("model", speed=FAST, use="demo")
        self.local_run.post("clear_faults")
        self.page.unroute_all()
        while self.page.locator("dialog[open]").count():
            self.page.keyboard.press("Escape")
        self.page.evaluate("document.getElementById('toasts').replaceChildren()")
        if self.page.get_by_role("link", name="general").count():
            self.go("general")
        else:
            self.page.goto(self.local_run.address)  # among the direct messages
            self.ready()
        self.box.fill("")

    @property
    def channel(self) -> str:
        return self.page.url.rstrip("/").split("/")[-1]

    def of(self, message: dict[str, Any]) -> Locator:
        return self.page.locator(f"#message-{message['id']}")

    def go(self, name: str) -> None:
        self.page.locator("#channels").get_by_role("link", name=name).click()
        expect(self.page.locator("#channel-title")).to_have_text(name)
        self.ready()

    def speed(self, speed: float) -> None:
        """How fast the demo model speaks; the settings have it too."""
        assert self.local_run.post("model", speed=speed)["speed"] == speed

    def send(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")
        expect(self.box).to_have_value("")

    def ask(self, text: str) -> ChatTurn:
        """Say it, and wait until all of the answer is here."""
        return self.answer_to(lambda: self.send(text))

    def answer_to(self, act: Callable[[], None]) -> ChatTurn:
        before = self._newest()
        act()
        return self.answered(before)

    def answered(self, before: int = 0) -> ChatTurn:
        """The turn that began after `before`, when it is over and on the page."""

        def whole() -> ChatTurn | None:
            if self._answers() or not self._turn_after(before).messages:
                return None  # it is not over, or it has not begun
            if self._answers():
                return None  # it began in between
            return self._turn_after(before)  # again: the last message came before its end

        turn = until(whole)
        expect(self.of(turn.messages[-1])).to_be_visible()
        return turn

    def _answers(self) -> bool:
        return self.channel in self.local_run.get("answering")

    def _turn_after(self, before: int) -> ChatTurn:
        new = [m for m in self._all() if int(m["id"]) > before]
        return ChatTurn(new[0] if new else {}, [m for m in new if m["author"].get("bot")])

    def _all(self) -> list[dict[str, Any]]:
        return self.local_run.messages(self.channel)

    def _newest(self) -> int:
        return max((int(message["id"]) for message in self._all()), default=0)

    def command(self, line: str, *values: str) -> None:
        """Through the picker: its name, then a value for each option it wants."""
        self.box.click()
        self.page.keyboard.type(line)
        self.page.get_by_role("listbox", name="Commands").get_by_role("option").first.wait_for()
        self.page.keyboard.press("Enter")
        for number, value in enumerate(values):
            if number:
                self.page.keyboard.press("Tab")
            self.page.locator("#command-form input").nth(number).fill(value)
        self.page.keyboard.press("Enter")
        expect(self.box).to_be_visible()

    def menu(self, message: dict[str, Any], entry: str) -> None:
        self.of(message).locator(".content").click(button="right")
        self.page.get_by_role("menuitem", name=entry).click()

    def break_it(self, name: str) -> None:
        self.page.get_by_role("button", name="Break something").click()
        self.page.get_by_role("menuitem", name=name).click()
        expect(self.page.locator(".toast, #armed .is-armed").last).to_be_visible()


def until(look: Callable[[], T | None]) -> T:
    """Another process's time cannot be made virtual: look again until there is something."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := look()) is None:
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)
    return found
