"""Cards of every version, written after the public specifications by the tests themselves."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

V1: dict[str, Any] = {
    "name": "Mochi",
    "description": "{{char}} is a sleepy cat who keeps a tea house.",
    "personality": "drowsy, kind",
    "scenario": "A rainy afternoon in the tea house.",
    "first_mes": "*yawns* Welcome, {{user}}.",
    "mes_example": "<START>\n{{user}}: Tea?\n{{char}}: Always tea.\n<START>\n{{char}}: Zzz.",
}
DATA_V2: dict[str, Any] = V1 | {
    "creator_notes": "Best with a warm drink.",
    "system_prompt": "{{original}}\nSpeak softly.",
    "post_history_instructions": "Stay drowsy.",
    "alternate_greetings": ["Oh, {{user}}. It rains."],
    "tags": ["cat", "tea"],
    "creator": "a tester",
    "character_version": "1.2",
    "character_book": {
        "name": "Tea house",
        "extensions": {"theirs": [1, 2]},
        "entries": [
            {
                "keys": ["matcha", "抹茶"],
                "content": "Matcha is kept in the blue tin.",
                "enabled": True,
                "insertion_order": 10,
                "extensions": {},
            }
        ],
    },
    "extensions": {
        "talkativeness": "0.8",
        "depth_prompt": {"prompt": "{{char}} is nearly asleep.", "depth": 2, "role": "system"},
        "some_program": {"keeps": ["this", {"and": "that"}]},
    },
    "a_field_of_tomorrow": {"is": "kept"},
}
DATA_V3: dict[str, Any] = DATA_V2 | {
    "nickname": "Mo",
    "group_only_greetings": ["A full house today."],
    "creator_notes_multilingual": {"ja": "お茶とどうぞ。"},
    "source": ["https://example.org/mochi"],
    "creation_date": 1700000000,
    "modification_date": 0,
}


def as_v2(data: dict[str, Any] = DATA_V2) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def as_v3(data: dict[str, Any] = DATA_V3) -> dict[str, Any]:
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def packed(document: object) -> bytes:
    return base64.b64encode(json.dumps(document).encode())


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def text_chunk(keyword: bytes, value: bytes, kind: bytes = b"tEXt") -> bytes:
    if kind == b"zTXt":
        return chunk(kind, keyword + b"\0\0" + zlib.compress(value))
    if kind == b"iTXt":
        return chunk(kind, keyword + b"\0\1\0ja\0\0" + zlib.compress(value))
    return chunk(kind, keyword + b"\0" + value)


def png(*chunks: bytes, red: int = 200) -> bytes:
    """A picture of 2 × 2 dots with these chunks before its end."""
    rows = b"".join(b"\0" + bytes([red, 120, 80]) * 2 for _ in range(2))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + head + body + b"".join(chunks) + chunk(b"IEND", b"")


def apng(*chunks: bytes) -> bytes:
    """An animated picture: two frames, of which the first is the whole picture."""
    control = chunk(b"acTL", struct.pack(">II", 2, 0))
    frame = struct.pack(">IIIIHHBB", 2, 2, 0, 0, 1, 10, 0, 0)
    first, second = (chunk(b"fcTL", struct.pack(">I", at) + frame) for at in (0, 1))
    rows = zlib.compress(b"".join(b"\0" + bytes([9, 9, 9]) * 2 for _ in range(2)))
    more = chunk(b"fdAT", struct.pack(">I", 2) + rows)
    still = png()
    header, image = still[:33], still[33:-12]
    return header + control + first + image + second + more + b"".join(chunks) + still[-12:]


def charx(
    data: dict[str, Any] = DATA_V3,
    moods: tuple[str, ...] = ("joy", "sadness"),
    pictures: Sequence[bytes] = (),
) -> bytes:
    """A CHARX with a main picture and one picture for each mood."""
    main, *others = pictures or (png(), *(png(red=number) for number in range(len(moods))))
    files = {"assets/icon/images/main.png": main}
    listed = [
        {
            "type": "icon",
            "name": "main",
            "ext": "png",
            "uri": "embeded://assets/icon/images/main.png",
        }
    ]
    for mood, content in zip(moods, others, strict=True):
        path = f"assets/emotion/images/{mood}.png"
        files[path] = content
        listed.append({"type": "emotion", "name": mood, "ext": "png", "uri": f"embeded://{path}"})
    return archive({"card.json": json.dumps(as_v3(data | {"assets": listed})).encode(), **files})


def archive(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return target.getvalue()
