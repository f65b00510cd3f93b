"""`python -m tests.first_answer`: from a fresh clone to an answer of an own model, timed.

Does what a newcomer does: clones what is committed, runs `make run`, opens the address that it
prints, connects a model server by its bare address, and asks. The server is scripted, and the
browser clicks without thinking; everything else is real, the installation from the package index
included. It fails if that takes more than three minutes.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from stage_page.chromium import open_browser

ROOT = Path(__file__).parents[1]
MOST_S = 180.0
MODEL = "my-own-model"
ANSWER = "I am your own model, and I like tea."
_PATIENCE_S = 600.0
_PATIENCE_MS = 30_000.0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Steps:
    """What was done, and how long each took."""

    def __init__(self) -> None:
        self.began_s = self._last_s = time.monotonic()

    def done(self, what: str) -> None:
        now_s = time.monotonic()
        say(f"{now_s - self._last_s:7.1f} s  {what}")
        self._last_s = now_s

    @property
    def all_s(self) -> float:
        return self._last_s - self.began_s


@contextmanager
def own_model() -> Iterator[str]:
    """A model server as people have one: its address has neither `http://` nor `/v1`."""
    address: list[str] = []
    ready, over = threading.Event(), threading.Event()

    async def serve() -> None:
        answers = [[Say(ANSWER)] for _ in range(50)]
        async with ModelServer(OpenAIWire(), *answers) as server:
            address.append(server.url)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield re.sub(r"^http://|/v1$", "", address[0])
    finally:
        over.set()
        thread.join()


@contextmanager
def made_to_run(clone: Path) -> Iterator[str]:
    """`make run`, until it says where it is."""
    ours = ("OSHABERI_", "VIRTUAL_ENV", "PYTHONPATH", "MAKE")
    plain = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environ = {**plain, "OSHABERI_DATA_DIR": str(clone / "data")}
    command = ["make", "run", "ARGS=--no-browser --port 0"]
    process = subprocess.Popen(
        command, cwd=clone, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\S+", line):
                yield found[0]
                return
        raise RuntimeError(f"make run ended with {process.wait()}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 2)
        process.wait(_PATIENCE_S)
        process.stdout.close()


def ask_on_the_page(browser: Browser, page_address: str, model_address: str, steps: Steps) -> None:
    page = browser.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    page.goto(page_address)
    page.locator("#connect-model").click()
    panel = page.get_by_role("dialog", name="Connect a model")
    panel.get_by_role("radio", name="Another address").check()
    panel.get_by_role("textbox", name="Address").fill(model_address)
    panel.get_by_role("combobox", name="Model").fill(MODEL)
    steps.done("the page is open, and the panel filled in")
    panel.get_by_role("button", name="Test and use").click()
    expect(panel.locator(".connect-status")).to_contain_text(f"{MODEL} answers from now on.")
    page.keyboard.press("Escape")
    steps.done("the model is tested and used")
    box = page.get_by_role("textbox", name="Message #general")
    box.fill("Who are you?")
    box.press("Enter")
    expect(page.get_by_text(ANSWER).last).to_be_visible()
    steps.done("it has answered")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser, own_model() as address:
        steps = Steps()
        clone = Path(folder) / "oshaberi"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        steps.done("cloned")
        with made_to_run(clone) as page_address:
            steps.done("make run: installed and started")
            ask_on_the_page(browser, page_address, address, steps)
    say(f"{steps.all_s:7.1f} s in all; {MOST_S:g} are allowed")
    return 1 if steps.all_s > MOST_S else 0


if __name__ == "__main__":
    sys.exit(main())
