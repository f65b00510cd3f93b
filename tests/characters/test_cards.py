"""Cards of every version and carrier: read, written, and read again."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from oshaberi.bot.characters.card_files import (
    PNG,
    bare_png,
    charx_of,
    png_of,
    read_card,
    read_sprites,
)
from oshaberi.bot.characters.cards import Card, CardError, DepthNote, card_from
from oshaberi.bot.characters.persona_cards import preview
from oshaberi.languages import in_language

from .made_cards import (
    DATA_V2,
    DATA_V3,
    V1,
    archive,
    as_v2,
    as_v3,
    charx,
    chunk,
    packed,
    png,
    text_chunk,
)

CARRIED: dict[str, tuple[bytes, int]] = {
    "V1 as JSON": (json.dumps(V1).encode(), 1),
    "V2 as JSON": (json.dumps(as_v2()).encode(), 2),
    "V3 as JSON with a byte order mark": (b"\xef\xbb\xbf" + json.dumps(as_v3()).encode(), 3),
    "V1 in a PNG": (png(text_chunk(b"chara", packed(V1))), 1),
    "V2 in a PNG": (png(text_chunk(b"chara", packed(as_v2()))), 2),
    "V2 in a PNG, keyword in capitals": (png(text_chunk(b"Chara", packed(as_v2()))), 2),
    "V2 in zTXt": (png(text_chunk(b"chara", packed(as_v2()), b"zTXt")), 2),
    "V3 in iTXt": (png(text_chunk(b"ccv3", packed(as_v3()), b"iTXt")), 3),
    "V2 without base64": (png(text_chunk(b"char", json.dumps(as_v2()).encode())), 2),
    "V3 beside V2": (
        png(text_chunk(b"chara", packed(as_v2())), text_chunk(b"ccv3", packed(as_v3()))),
        3,
    ),
    "V3 damaged beside V2": (
        png(text_chunk(b"ccv3", b"?!"), text_chunk(b"chara", packed(as_v2()))),
        2,
    ),
    "V3 as CHARX": (charx(), 3),
    "V3 as CHARX behind a JPEG": (b"\xff\xd8\xff\xe0" + charx(), 3),
}


@pytest.mark.parametrize(("content", "version"), CARRIED.values(), ids=CARRIED)
def test_a_card_is_read_from_each_carrier(content: bytes, version: int) -> None:
    card = read_card(content)
    assert (card.version, card.name, card.remarks) == (version, "Mochi", ())
    assert card.description == V1["description"]
    assert card.greetings[0] == V1["first_mes"]
    assert (card.face is not None) == (content.startswith(PNG) or content[-2000:].count(b"PK") > 0)
    if version > 1:
        assert card.talkativeness == 0.8
        assert card.depth_note == DepthNote("{{char}} is nearly asleep.", 2)
        assert card.book == DATA_V2["character_book"]
    if version == 3:
        assert card.spoken_name == "Mo"
        assert card.greetings[2] == "A full house today."


def test_moods_and_face_come_as_bytes() -> None:
    card = read_card(charx())
    assert card.face is not None
    assert card.face.content == png()
    assert [(one.name, one.content) for one in card.moods] == [
        ("joy", png(red=0)),
        ("sadness", png(red=1)),
    ]


def test_the_picture_of_a_png_is_its_face_without_the_card() -> None:
    card = read_card(png(text_chunk(b"chara", packed(as_v2()))))
    assert card.face is not None
    assert card.face.content == png()


def seen(card: Card) -> tuple[Any, ...]:
    files = [(one.kind, one.name, one.ext, one.content) for one in card.assets]
    return card.data, card.outer, files


@pytest.mark.parametrize(("content", "_version"), CARRIED.values(), ids=CARRIED)
def test_import_export_import_changes_nothing(content: bytes, _version: int) -> None:
    first = read_card(content)
    again = read_card(charx_of(first))
    assert seen(again) == seen(first)
    assert again.version == 3
    if first.face is not None and not first.moods:
        assert seen(read_card(png_of(first, png()))) == seen(first)


def test_unknown_fields_survive() -> None:
    outer = {**as_v2(), "create_date": "yesterday", "chat": "a file of theirs"}
    card = read_card(json.dumps(outer).encode())
    written = json.loads(json.dumps(read_card(charx_of(card)).data))
    assert written["a_field_of_tomorrow"] == {"is": "kept"}
    assert written["extensions"]["some_program"] == {"keeps": ["this", {"and": "that"}]}
    assert read_card(charx_of(card)).outer == {
        "create_date": "yesterday",
        "chat": "a file of theirs",
    }


def test_what_a_card_says_wrongly_is_left_out_and_told() -> None:
    wrong = as_v3(DATA_V3 | {"personality": 7, "tags": "cat", "extensions": None, "source": [1]})
    card = read_card(json.dumps(wrong).encode())
    assert card.personality == ""
    assert [str(one) for one in card.remarks] == [
        "personality is not a text: left out",
        "tags is not a list: left out",
        "source: what is not a text is left out",
    ]


def test_a_newer_version_is_read_with_a_remark() -> None:
    card = read_card(json.dumps(as_v3() | {"spec_version": "3.1"}).encode())
    assert [str(one) for one in card.remarks] == [
        "it is newer than V3: read as V3, and what is new is kept"
    ]


def test_signs_that_no_database_holds_are_replaced() -> None:
    card = read_card(b'{"name": "a\\u0000b\\ud800", "description": "", "tags": []}')
    assert card.name == "a\ufffdb\ufffd"


def archive_beyond() -> bytes:
    """Return an archive whose list says that a file begins where no number of C reaches."""
    content = archive({"card.json": b"{}"})
    listed, ended = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entry = bytearray(content[listed:ended])
    extra = struct.pack("<HHQ", 1, 8, 2**63)
    entry[30:32], entry[42:46] = struct.pack("<H", len(extra)), b"\xff" * 4
    end = bytearray(content[ended:])
    end[12:16] = struct.pack("<I", len(entry) + len(extra))
    return bytes(content[:listed] + entry + extra + end)


REFUSED: dict[str, tuple[bytes, str]] = {
    "a picture without a card": (png(), "there is no character in this picture"),
    "wrong base64": (png(text_chunk(b"chara", b"%%%%")), "damaged (wrong base64)"),
    "a broken zTXt": (png(chunk(b"zTXt", b"chara\0\0no zlib")), "damaged (zlib)"),
    "a picture that is cut off": (png(text_chunk(b"chara", packed(V1)))[:-40], "is cut off"),
    "not JSON": (b"{never closed", "it is not JSON"),
    "a list": (png(text_chunk(b"chara", packed([1]))), "not an object"),
    "no name": (json.dumps(as_v2(DATA_V2 | {"name": "  "})).encode(), "has no name"),
    "something else": (b'{"name": "x"}', "no name and description"),
    "a lorebook": (b'{"entries": {}}', "/lore import"),
    "a JPEG": (b"\xff\xd8\xff\xe0 a photo", "cards are PNG pictures"),
    "an archive without a card": (archive({"a.txt": b""}), "no card.json"),
    "an archive that is cut off": (charx()[:-30] + b"PK\x05\x06", "cut off"),
    "too deep": (b'{"name":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
    "a long text": (
        json.dumps(as_v2(DATA_V2 | {"scenario": "x" * 100_001})).encode(),
        "scenario has more than 100,000 characters",
    ),
    "pictures that are nothing but blanks": (
        png(*[text_chunk(b"chara-ext-asset_:a", b" " * 10_000_000, b"zTXt")] * 8),
        "larger than 32 MB together",
    ),
    "an archive whose file begins beyond every file": (archive_beyond(), "archive is damaged"),
    "too large": (b"x" * (24 * 1024 * 1024 + 1), "larger than 24 MB"),
}


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_broken_card_is_one_clear_line(content: bytes, reason: str) -> None:
    with pytest.raises(CardError) as refused:
        read_card(content, "photo.jpg")
    line = str(refused.value)
    assert reason in line
    assert len(line) < 200
    assert "\n" not in line


def test_a_pack_of_sprites_is_named_by_its_files() -> None:
    pack = archive({"joy.png": png(), "a/sadness.webp": b"RIFF", "read me.txt": b"", ".x.png": b""})
    assert [(one.name, one.ext) for one in read_sprites(pack)] == [
        ("joy", "png"),
        ("sadness", "webp"),
    ]


def test_the_texts_of_a_picture_are_taken_out() -> None:
    assert bare_png(png(text_chunk(b"chara", b"x"), text_chunk(b"Comment", b"y"))) == png()


def test_notes_for_people_are_shown_in_the_readers_language() -> None:
    card = card_from(as_v3())
    assert "Its creator says: Best with a warm drink." in preview(card)
    with in_language("ja"):
        assert "お茶とどうぞ。" in preview(card)
    odd = card_from(as_v3(DATA_V3 | {"creator_notes_multilingual": {"en": [1], "ja": " "}}))
    assert odd.notes_in("en") == odd.notes_in("ja") == DATA_V3["creator_notes"]
