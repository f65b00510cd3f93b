"""`oshaberi persona`: cards come in and go out, and broken ones are one line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from oshaberi.bot.characters.card_files import read_card
from oshaberi.cli.command_group import run
from tests.bot.test_faces import picture
from tests.characters.made_cards import DATA_V3, as_v3, charx, png
from tests.storage.migrated_database import place_database

SERVER = "234567890123456789"


@pytest.fixture
def config(tmp_path: Path) -> str:
    place_database(tmp_path / "bot.db")
    file = tmp_path / "oshaberi.toml"
    file.write_text(
        f'database_url = "sqlite:///{tmp_path}/bot.db"\nsecret_key_file = "{tmp_path}/key"\n'
        f'data_dir = "{tmp_path}"\n'
    )
    return str(file)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    file = tmp_path / "mochi.json"
    file.write_text(json.dumps(as_v3()))
    return file


def test_a_card_comes_in_and_goes_out(
    config: str, card: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["persona", "import", str(card)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Mochi (a card of V3)\nIt brings: a description")
    assert "nothing is stored; add --server ID" in shown.err
    store = ["persona", "import", str(card), "--server", SERVER, "--config", config]
    assert run(store) == 0
    assert "stored Mochi" in capsys.readouterr().out
    for form in ("png", "charx", "json"):
        out = tmp_path / f"out.{form}"
        options = ["--server", SERVER, "--out", str(out), "--config", config]
        assert run(["persona", "export", "mochi", *options]) == 0
        assert read_card(out.read_bytes()).data == read_card(card.read_bytes()).data
    assert run(store) == 2
    assert capsys.readouterr().err == "oshaberi: there is already a persona Mochi\n"


def test_pictures_come_in_and_go_out(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    colors = [picture("white"), picture("yellow"), b"no picture"]
    file, out = tmp_path / "mochi.charx", tmp_path / "out.charx"
    file.write_bytes(charx(pictures=colors))
    place = ["--server", SERVER, "--config", config]
    assert run(["persona", "import", str(file), *place]) == 0
    assert "left out: sadness: " in capsys.readouterr().err
    assert run(["persona", "export", "Mochi", *place, "--out", str(out)]) == 0
    card = read_card(out.read_bytes())
    assert card.face is not None
    assert [(one.name, _color(one.content)) for one in (card.face, *card.moods)] == [
        ("main", (255, 255, 255)),
        ("joy", (255, 255, 0)),
    ]
    png_file = tmp_path / "out.png"
    assert run(["persona", "export", "Mochi", *place, "--out", str(png_file)]) == 0
    assert _color(png_file.read_bytes()) == (255, 255, 255)
    texts = {key for key, _value in png_texts(png_file.read_bytes())}
    assert texts == {"chara", "ccv3"}


def _color(content: bytes | None) -> tuple[int, ...]:
    with Image.open(io.BytesIO(content or b"")) as found:
        color = found.convert("RGB").getpixel((50, 50))
    assert isinstance(color, tuple)
    return tuple(round(value / 255) * 255 for value in color)


def png_texts(content: bytes) -> list[tuple[str, str]]:
    with Image.open(io.BytesIO(content)) as found:
        found.load()
        return list(found.text.items())  # type: ignore[attr-defined]


def test_a_card_cannot_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mochi.json"
    file.write_text(json.dumps(as_v3(DATA_V3 | {"name": "Mo\x1b]0;x\x07chi"})))
    assert run(["persona", "import", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Mo␛]0;x␇chi")


def test_nothing_is_stored_if_one_card_is_broken(
    config: str, card: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = tmp_path / "photo.png"
    photo.write_bytes(png())
    place = ["--server", SERVER, "--config", config]
    assert run(["persona", "import", str(card), str(photo), *place]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"oshaberi: {photo}: there is no character in this picture")
    assert run(["persona", "export", "Mochi", *place, "--out", str(tmp_path / "a.png")]) == 2
    assert "there is no persona Mochi; there are: none" in capsys.readouterr().err
    assert run(["persona", "export", "Mochi", *place, "--out", str(tmp_path / "a.gif")]) == 2
    assert "must end in .png, .charx or .json" in capsys.readouterr().err


def test_what_a_charx_brings_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mochi.charx"
    file.write_bytes(charx())
    assert run(["persona", "import", str(file)]) == 0
    assert "2 sprites" in capsys.readouterr().out
