"""The program is killed and comes back at the same address."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from stage_page.chromium import Visit
from tests.local_run.local_run_process import PATIENT, local_run
from tests.local_run_page.chat_page import FAST_TYPING, ChatPage

pytestmark = pytest.mark.slow


def test_an_open_page_comes_back(tmp_path: Path, visit: Visit) -> None:
    settings = tmp_path / "oshaberi.toml"
    settings.write_text(FAST_TYPING, encoding="utf-8")
    options = ("--config", str(settings), "--speed", "2")
    with local_run(tmp_path / "data", *options, program=PATIENT) as first:
        chat = ChatPage(first, visit(first.address, viewport={"width": 1500, "height": 900}))
        chat.page.get_by_role("button", name="Inspector", exact=True).click()
        chat.ask("hello")
        chat.send("count as far as you can")
        expect(chat.stop).to_be_visible()
        first.process.kill()
        expect(chat.page.locator("#banner")).to_contain_text("The stage does not answer")
    port = first.url.rpartition(":")[2]
    again = (*options, "--port", port)
    with local_run(tmp_path / "data", *again, program=PATIENT) as second:
        assert second.address == first.address
        expect(chat.page.locator("#banner")).to_be_hidden()
        expect(chat.stop).to_be_hidden()
        chat.local_run = second
        turn = chat.ask("show me all your faces")
        expect(chat.inspector.locator(".in-item")).to_have_count(len(turn.messages))
        expect(chat.inspector.locator(".in-choice option")).to_have_count(1)
    token = tmp_path / "data" / "stage_token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text(encoding="utf-8").strip() == first.token
