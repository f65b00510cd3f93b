"""Two hundred cards that nobody meant well: bombs, lies, nonsense and accidents."""

from __future__ import annotations

import base64
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from .made_cards import DATA_V3, archive, as_v2, as_v3, charx, chunk, packed, png, text_chunk


def hostile_cards(number: int = 200) -> Iterator[bytes]:
    """Yield the named attacks, then real cards that were damaged at random."""
    attacks = list(_attacks())
    yield from attacks
    chance = random.Random(33)
    whole = (png(text_chunk(b"ccv3", packed(as_v3()))), charx(), json.dumps(as_v3()).encode())
    for at in range(number - len(attacks)):
        yield _damaged(whole[at % len(whole)], chance)


def _attacks() -> Iterator[bytes]:
    bomb = zlib.compress(b"A" * 60_000_000, 9)
    yield png(chunk(b"zTXt", b"chara\0\0" + bomb))
    yield png(chunk(b"iTXt", b"ccv3\0\1\0\0\0" + bomb))
    yield png(chunk(b"zTXt", b"chara-ext-asset_:a\0\0" + bomb))
    yield png(*[chunk(b"zTXt", b"chara-ext-asset_:%d\0\0" % n + bomb) for n in range(40)])
    yield png(text_chunk(b"chara", b"A \n" * 1_800_000))
    yield png(text_chunk(b"chara", b" " * 5_000_000))
    yield png(*[text_chunk(b"chara", b"x") for _ in range(20_000)])
    yield png()[:8] + struct.pack(">I", 2**31) + b"tEXt"
    yield png()[:8] + b"\0" * 1000
    yield png(text_chunk(b"chara", base64.b64encode(b"[" * 400_000)))
    yield b'{"name": "x", "description": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    yield b'{"name": "x", "description": "", "n": ' + b"9" * 3_000_000 + b"}"
    yield b'{"name": "x", "description": "", "tags": [' + b'"a",' * 140_000 + b'"a"]}'
    yield b'{"name": "x", "description": "", "e": [' + b"{}," * 400_000 + b"{}]}"
    yield b'{"name": "' + b"n" * 3_000_000 + b'", "description": ""}'
    yield b"{" + b"\xff" * 1_000_000
    yield archive({"card.json": b" " * 60_000_000})
    yield archive({"card.json": b"{}", **{f"{n}": b"" for n in range(3000)}})
    yield archive({"../card.json": b"{}", "/card.json": b"{}", "card.json/": b""})
    yield _with_assets({"a.png": b"\0" * 60_000_000})
    yield _with_assets({f"{n}.png": b"\0" * 8_000_000 for n in range(8)})
    yield _with_assets({"../../etc/passwd": b"x", "C:\\autoexec.bat": b"y", "a\0b": b"z"})
    yield _with_asset_uris([f"http://169.254.169.254/{n}" for n in range(499)])
    yield _with_asset_uris(["file:///etc/passwd", "embeded://card.json", "ccdefault:"])
    yield _with_asset_uris(["data:image/png;base64," + "A" * 3_000_000])
    yield _with_asset_uris(["data:image/png;base64,%%%%", "data:", "data:,"])
    yield b"PK\x05\x06" + b"\0" * 18
    yield b"PK\x05\x06" + b"\xff" * 18
    yield b"\0" * 100_000 + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, 4_000_000, 0, 0)
    yield _overlapping()
    yield json.dumps({"spec": "chara_card_v3", "data": {"name": {"a": 1}}}).encode()
    yield json.dumps(as_v2({"name": "x", "character_book": {"entries": {"a": "b"}}})).encode()
    yield json.dumps(as_v3(DATA_V3 | {"assets": {"a": 1}, "extensions": [1]})).encode()
    yield json.dumps({"name": "x", "description": [], "talkativeness": "NaN"}).encode()


def _with_assets(files: dict[str, bytes]) -> bytes:
    listed = [_listed(f"embeded://{path}") for path in files]
    card = json.dumps(as_v3(DATA_V3 | {"assets": listed})).encode()
    return archive({"card.json": card, **files})


def _with_asset_uris(uris: list[str]) -> bytes:
    return json.dumps(as_v3(DATA_V3 | {"assets": [_listed(uri) for uri in uris]})).encode()


def _listed(uri: str) -> dict[str, str]:
    return {"type": "emotion", "name": uri[-20:], "ext": "png", "uri": uri}


def _overlapping() -> bytes:
    """An archive whose many names all mean the same megabytes."""
    paths = [f"{n}.png" for n in range(1500)]
    card = json.dumps(as_v3(DATA_V3 | {"assets": [_listed(f"embeded://{p}") for p in paths]}))
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("card.json", card)
        zipped.writestr(paths[0], b"\0" * 7_000_000)
        first = zipped.infolist()[1]
        for path in paths[1:400]:
            again = zipfile.ZipInfo(path)
            for field in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(again, field, getattr(first, field))
            zipped.filelist.append(again)
    return target.getvalue()


def _damaged(whole: bytes, chance: random.Random) -> bytes:
    content = bytearray(whole)
    for _ in range(chance.choice((1, 3, 30))):
        at = chance.randrange(len(content))
        match chance.randrange(4):
            case 0:
                content[at] = chance.randrange(256)
            case 1:
                del content[at : at + chance.randrange(1, 40)]
            case 2:
                content[at:at] = chance.randbytes(chance.randrange(1, 40))
            case _:
                content[at:at] = content[: chance.randrange(1, 400)]
    return bytes(content)
