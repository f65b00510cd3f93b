"""A character card is dropped on the chat, looked at, brought in and talked to."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from oshaberi.bot.characters.card_files import json_of, png_of
from oshaberi.bot.characters.cards import Card, card_from
from stage_page.chromium import PHONE, Visit, barriers
from tests.local_run.local_run_process import LocalRunProcess
from tests.local_run_page.chat_page import fast_local_run

DROP = """([name, type, content]) => {
  const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
  const files = new DataTransfer();
  files.items.add(new File([bytes], name, { type }));
  const drop = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
  document.getElementById("chat").dispatchEvent(drop);
}"""


def portrait() -> bytes:
    """A tall picture with a face in its upper half."""
    image = Image.new("RGB", (400, 600), (96, 60, 140))
    draw = ImageDraw.Draw(image)
    draw.ellipse((110, 70, 290, 270), fill=(250, 220, 190))
    for left in (155, 225):
        draw.ellipse((left, 150, left + 22, 176), fill=(40, 30, 60))
    draw.arc((160, 180, 240, 235), 20, 160, fill=(160, 50, 70), width=6)
    draw.polygon([(60, 600), (200, 280), (340, 600)], fill=(60, 130, 120))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def card() -> Card:
    data = {
        "name": "Hoshi",
        "description": "{{char}} is a stargazer who runs a small observatory. " * 8,
        "personality": "patient, curious, a little sleepy",
        "first_mes": "The sky is clear tonight, {{user}}. Come and look.",
        "mes_example": "<START>\n{{user}}: What is that?\n{{char}}: A planet. It does not blink.",
        "creator_notes": "Best at night.",
        "tags": ["stars"],
        "extensions": {"regex_scripts": [{"scriptName": "x"}]},
    }
    return card_from({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})


def drop(page: Page, name: str, content: bytes, kind: str = "image/png") -> None:
    page.evaluate(DROP, [name, kind, base64.b64encode(content).decode()])


@pytest.fixture(scope="module")
def empty_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRunProcess]:
    with fast_local_run(tmp_path_factory.mktemp("cards")) as opened:
        yield opened


def opened(visit: Visit, run: LocalRunProcess) -> Page:
    page = visit(run.address)
    page.locator("#log[aria-busy=false]").wait_for()
    return page


def test_a_card_is_dropped_brought_in_and_talked_to(
    empty_run: LocalRunProcess, visit: Visit
) -> None:
    page = opened(visit, empty_run)
    drop(page, "hoshi.png", png_of(card(), portrait()))
    dialog = page.get_by_role("dialog", name="Bring in Hoshi?")
    expect(dialog.get_by_role("img", name="The picture of Hoshi")).to_be_visible()
    expect(dialog).to_contain_text("a description")
    expect(dialog).to_contain_text("Best at night.")
    assert barriers(page) == []
    dialog.get_by_role("button", name="Bring it in").click()
    expect(page.locator("#composer-text")).to_have_value("Hello Hoshi!")
    page.locator("#composer-text").press("Enter")
    answer = page.locator("#log .message").filter(has=page.locator(".author", has_text="Hoshi"))
    face = answer.last.locator("img").first
    expect(face).to_have_attribute("src", re.compile("/cdn/attachments/"))
    width = face.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
    assert width > 100
    page.get_by_role("button", name="Things to try", exact=True).click()
    page.get_by_role("button", name=re.compile("^What the model reads")).click()
    reads = page.get_by_role("dialog", name="What the model reads")
    expect(reads.get_by_role("combobox", name="Persona")).to_have_value("Hoshi")
    reads.locator("summary").filter(has_text="the persona").click()
    expect(reads.get_by_label("Text of the persona")).to_contain_text("Hoshi is a stargazer")
    reads.get_by_role("button", name="Close", exact=True).first.click()


def test_a_card_on_a_phone_and_what_is_no_card(empty_run: LocalRunProcess, visit: Visit) -> None:
    page = opened(visit, empty_run)
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    broken = json_of(card()).replace(b'"name"', b'"nom"')
    drop(page, "hoshi.json", broken, "application/json")
    expect(page.locator(".toast.error")).to_contain_text("name")
    drop(page, "plain.png", portrait())
    expect(page.locator("#uploads .upload")).to_have_count(1)
    drop(page, "hoshi.json", json_of(card()), "application/json")
    dialog = page.get_by_role("dialog", name="Bring in Hoshi?")
    expect(dialog).to_be_visible()
    box = dialog.bounding_box()
    assert box is not None
    assert box["width"] <= 390
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
