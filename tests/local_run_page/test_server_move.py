"""The page's server is downloaded as an archive, looked at, and brought in again."""

from __future__ import annotations

import base64
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from stage_page.chromium import PHONE, Visit, barriers
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import fast_local_run
from tests.local_run_page.test_card_drop import drop


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRunProcess]:
    with fast_local_run(tmp_path_factory.mktemp("moving")) as opened:
        yield opened


def opened(visit: Visit, run: LocalRunProcess, **options: Any) -> Page:
    page = visit(run.address, **options)
    page.locator("#log[aria-busy=false]").wait_for()
    return page


def downloaded(page: Page) -> Path:
    page.get_by_role("button", name="Settings").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as an archive").click()
    return Path(waiting.value.path())


def test_out_and_in_again(own_run: LocalRunProcess, visit: Visit) -> None:
    page = opened(visit, own_run)
    archive = downloaded(page)
    with zipfile.ZipFile(archive) as file:
        assert b"Mochi" in file.read("rows/personas.jsonl")
        assert "rows/facts.jsonl" not in file.namelist()
    dialog = page.get_by_role("dialog", name="Bring in this archive?")
    for rule, told in (("merge", "Brought in: nothing"), ("replace", "persona")):
        if not page.get_by_role("dialog", name="Settings").count():
            page.get_by_role("button", name="Settings").click()
        page.get_by_label("Archive", exact=True).set_input_files(
            {"name": "server.zip", "mimeType": "application/zip", "buffer": archive.read_bytes()}
        )
        expect(dialog).to_contain_text("Nothing in it is new to this server.")
        if rule == "merge":
            expect(dialog).to_contain_text("the server's own stays")
        else:
            dialog.get_by_role("radio", name="is deleted first").check()
        dialog.get_by_role("button", name="Bring it in").click()
        expect(page.locator(".toast").last).to_contain_text(told)
        expect(dialog).to_be_hidden()
    own_run.post("model", use="demo")
    assert "Mochi" in own_run.get("window")


def test_a_file_that_is_no_archive_is_one_line(own_run: LocalRunProcess, visit: Visit) -> None:
    page = opened(visit, own_run)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Archive", exact=True).set_input_files(
        {"name": "x.zip", "mimeType": "application/zip", "buffer": b"nothing"}
    )
    expect(page.locator(".toast")).to_contain_text("The archive cannot be used: the archive is cut")
    for said in ({"content": "?"}, {"content": ""}, {"content": "é"}, {"rule": "x", "keep": True}):
        assert "result" not in own_run.post("move", **said)


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "dark"), (PHONE, "light")])
def test_a_dropped_archive_fits_a_phone(
    viewport: Any, scheme: str, own_run: LocalRunProcess, visit: Visit
) -> None:
    page = opened(visit, own_run, viewport=viewport, color_scheme=scheme)
    archive = base64.b64decode(own_run.get("move", "?memories=1")["content"])
    drop(page, "server.zip", archive, "application/zip")
    dialog = page.get_by_role("dialog", name="Bring in this archive?")
    expect(dialog).to_be_visible()
    assert barriers(page) == []
    assert page.evaluate("document.scrollingElement.scrollWidth") <= viewport["width"]
