"""Cards are exchanged with a writer and two readers that others wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oshaberi.bot.characters.card_files import blank_png, read_card, written_card
from tests.characters.made_cards import DATA_V3, V1, as_v2, as_v3
from tests.characters.other_programs import aichar, read_with_node


def test_aichar_reads_what_we_write() -> None:
    for document in (V1, as_v2(), as_v3()):
        card = read_card(json.dumps(document).encode())
        found = aichar().load_character_card(written_card(card, "png"))
        assert (found.name, found.summary) == ("Mochi", V1["description"])
        assert (found.personality, found.scenario) == (V1["personality"], V1["scenario"])
        assert found.greeting_message == V1["first_mes"]
        assert found.example_messages == V1["mes_example"]


@pytest.mark.parametrize("form", ["tavernai", "sillytavern", "pygmalion"])
def test_we_read_what_aichar_writes(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "face.png").write_bytes(blank_png())
    monkeypatch.chdir(tmp_path)  # it takes no path with a folder
    made = aichar().create_character(
        name="Mochi",
        summary=V1["description"],
        personality="",
        scenario=V1["scenario"],
        greeting_message=V1["first_mes"],
        example_messages=V1["mes_example"],
        image_path="face.png",
    )
    card = read_card(bytes(made.export_card(form)))
    assert (card.name, card.scenario) == ("Mochi", V1["scenario"])
    assert (card.greetings, card.examples) == ((V1["first_mes"],), V1["mes_example"])
    assert V1["description"] in card.description
    assert card.face is not None


@pytest.mark.parametrize("form", ["png", "json"])
def test_the_npm_reader_reads_what_we_write(form: str, tmp_path: Path) -> None:
    """It does not read CHARX."""
    card = read_card(json.dumps(as_v3()).encode())
    data = read_with_node(f"mochi.{form}", written_card(card, form), tmp_path)["data"]
    for key in ("name", "description", "first_mes", "system_prompt", "creator_notes"):
        assert data[key] == DATA_V3[key], key
    assert data["alternate_greetings"] == DATA_V3["alternate_greetings"]
    entries = data["character_book"]["entries"]
    assert [one["content"] for one in entries] == ["Matcha is kept in the blue tin."]
