"""The files that carry cards: PNG and APNG, JSON, CHARX; and packs of sprites.

`read_card` takes the bytes and the name of any such file, and returns the card with its pictures as
bytes, or raises CardError with one clear line. Sizes are checked before anything is unpacked: a
chunk, a file in an archive, their sum, the list of an archive's files. Names inside an archive are
only looked up, never written anywhere.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from oshaberi.bot.characters.cards import (
    INLINE,
    Card,
    CardAsset,
    CardError,
    asset_addresses,
    card_from,
    card_json,
    card_json_v2,
)
from oshaberi.checked_json import MOST_LENGTH, parse_json
from oshaberi.errors import Sentence

LARGEST_FILE = 24 * 1024 * 1024
LARGEST_ASSET = 8 * 1024 * 1024
LARGEST_SUM = 32 * 1024 * 1024
"""All assets of a card together, unpacked."""
MOST_FILES = 2000
"""How many files an archive may have."""
_MOST_TEXT = MOST_LENGTH * 4 // 3 + 16
"""The size of the longest JSON in base64."""

PNG = b"\x89PNG\r\n\x1a\n"
_MAIN = "ccdefault:"
_PICTURES = frozenset({"png", "apng", "jpg", "jpeg", "webp", "gif", "avif"})
_KEYWORDS = ("ccv3", "chara", "char")
"""In the order in which they are preferred."""
_OLD_ASSET = "chara-ext-asset_"
_OLD_ADDRESS = "__asset:"
_BROKEN = (
    *(zipfile.BadZipFile, ValueError, OverflowError, OSError, NotImplementedError),
    struct.error,
)
_END = b"PK\x05\x06"
_TAIL = 65_557 + 20
"""The longest end of an archive: its last record with a comment, and the records before it."""
_EMBEDDED = ("embeded://", "embedded://")


def read_card(content: bytes, file_name: str = "") -> Card:
    """Read a card from any of its carriers. Raises CardError."""
    check_size(len(content))
    if content.startswith(PNG):
        return _card_of_png(content)
    if _is_archive(content):
        return _card_of_archive(content)
    if content.lstrip()[:1] == b"{" or content.startswith(b"\xef\xbb\xbf"):
        return card_from(*_with_inline(_json(content)))
    raise CardError(
        Sentence(
            "{name} is not a card: cards are PNG pictures, JSON or CHARX files",
            name=file_name[:100] or "it",
        )
    )


def check_size(size: int) -> None:
    """Refuse a file that is too large, if possible before it is downloaded."""
    if size > LARGEST_FILE:
        most = LARGEST_FILE // (1024 * 1024)
        raise CardError(Sentence("the file is larger than {most} MB", most=most))


def _json(content: bytes) -> Any:
    try:
        return parse_json(content.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        reason = getattr(error, "reason", None) or "is not JSON"
        raise CardError(Sentence("the card cannot be read: it {reason}", reason=reason)) from None


def _with_inline(document: Any, files: Mapping[str, bytes] | None = None) -> tuple[Any, Any]:
    """Return the document and its files, including those in its `data:` addresses."""
    found, room = dict(files or {}), LARGEST_SUM - sum(map(len, (files or {}).values()))
    for uri in asset_addresses(document):
        if uri.startswith(INLINE) and (content := _inline(uri)) is not None:
            room -= len(content)
            if room < 0:
                raise too_much()
            found[uri] = content
    return document, found


def _inline(uri: str) -> bytes | None:
    head, _comma, body = uri.partition(",")
    if not head.endswith(";base64"):
        return None
    try:
        content = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if len(content) <= LARGEST_ASSET else None


def too_much() -> CardError:
    most = LARGEST_SUM // (1024 * 1024)
    return CardError(Sentence("its pictures are larger than {most} MB together", most=most))


# -- PNG -----------------------------------------------------------------------------------------


def _chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type of each chunk, and where its data starts and ends."""
    at = len(PNG)
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind = content[at + 4 : at + 8]
        if at + 12 + length > len(content):
            raise CardError(Sentence("the picture is cut off: download it again"))
        yield kind, at + 8, at + 8 + length
        if kind == b"IEND":
            return
        at += 12 + length
    raise CardError(Sentence("the picture is cut off: download it again"))


def _card_of_png(content: bytes) -> Card:
    texts: dict[str, bytes] = {}
    assets: dict[str, bytes] = {}
    room = LARGEST_SUM
    for kind, start, end in _chunks(content):
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            continue
        keyword, value = content[start : min(end, start + 80)].partition(b"\0")[0], b""
        key = keyword.decode("latin-1")
        if key.lower() in _KEYWORDS and key.lower() not in texts:
            texts[key.lower()] = _chunk_text(kind, content[start:end], _MOST_TEXT)
        elif key.lower().startswith(_OLD_ASSET):
            limit = LARGEST_ASSET * 4 // 3
            value = _chunk_text(kind, content[start:end], limit)
            path = key[len(_OLD_ASSET) :].lstrip(":")
            asset = _unbase64(value)
            # Spaces count too: megabytes of them compress to a few bytes.
            room -= max(len(asset), len(value) * 3 // 4)
            if room < 0 or len(assets) >= MOST_FILES:
                raise too_much()
            assets[_OLD_ADDRESS + path] = asset
    if not texts:
        raise CardError(
            Sentence(
                "there is no character in this picture; programs and sites that shrink pictures "
                "take it away, so send the original file"
            )
        )
    document = _document_of(texts)
    return card_from(*_with_inline(document, {**assets, _MAIN: bare_png(content)}))


def _document_of(texts: Mapping[str, bytes]) -> Any:
    """Return the JSON of the preferred chunk that can be read."""
    failure: CardError | None = None
    for keyword in _KEYWORDS:
        if keyword not in texts:
            continue
        text = texts[keyword]
        try:
            return _json(text if text.lstrip()[:1] == b"{" else _unbase64(text))
        except CardError as error:
            failure = failure or error
    raise failure or CardError(Sentence("there is no character in this picture"))


def _unbase64(text: bytes) -> bytes:
    packed = text.translate(None, b" \t\r\n")
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise CardError(Sentence("the card in the picture is damaged (wrong base64)")) from None


def _chunk_text(kind: bytes, body: bytes, most: int) -> bytes:
    """Return the text of a chunk, unpacked up to a limit."""
    _keyword, _nul, rest = body.partition(b"\0")
    if kind == b"iTXt":
        is_packed, rest = rest[:1] == b"\1", rest[2:]
        _language, _nul, rest = rest.partition(b"\0")
        _translated, _nul, rest = rest.partition(b"\0")
    else:
        is_packed, rest = kind == b"zTXt", rest[1:] if kind == b"zTXt" else rest
    if is_packed:
        try:
            unpacker = zlib.decompressobj()
            rest = unpacker.decompress(rest, most + 1)
        except zlib.error:
            raise CardError(Sentence("the card in the picture is damaged (zlib)")) from None
    if len(rest) > most:
        raise CardError(Sentence("the card in the picture is too long"))
    return rest


def bare_png(content: bytes) -> bytes:
    """Return a PNG without its texts: the picture alone."""
    kept = [PNG]
    for kind, start, end in _chunks(content):
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            kept.append(content[start - 8 : end + 4])
    return b"".join(kept)


def _text_chunk(keyword: bytes, document: Mapping[str, Any]) -> bytes:
    text = base64.b64encode(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    return _chunk(b"tEXt", keyword + b"\0" + text)


def png_of(card: Card, picture: bytes | None) -> bytes:
    """Write a card into a PNG, as V3 (`ccv3`) and as V2 (`chara`). Raises CardError.

    Only assets that have an address go with it; the files of the others need a CHARX. Without a
    picture it is grey, and the card says that it has no icon.
    """
    bare = blank_png() if picture is None else bare_png(picture)
    listed = [_listed(one, uri) for one in card.assets if (uri := _carried_by_png(one))]
    has_icon = any(one["type"] == "icon" for one in listed)
    if listed and not has_icon:
        listed.insert(0, {"type": "icon", "uri": _MAIN, "name": "main", "ext": "png"})
    end = len(bare) - 12
    # `chara` comes last: some readers take everything after it for its text.
    chunks = _text_chunk(b"ccv3", card_json(card, [] if picture is None else listed or None))
    chunks += _text_chunk(b"chara", card_json_v2(card))
    return bare[:end] + chunks + bare[end:]


def _carried_by_png(one: CardAsset) -> str:
    """Return the address of an asset for a PNG; empty if a PNG cannot carry the asset."""
    if one.uri == INLINE and one.content is not None:
        kind = f"image/{one.ext}" if one.ext in _PICTURES else "application/octet-stream"
        return f"{INLINE}{kind};base64,{base64.b64encode(one.content).decode()}"
    return "" if one.uri.startswith((*_EMBEDDED, _OLD_ADDRESS, INLINE)) else one.uri


# -- archives ------------------------------------------------------------------------------------


def _is_archive(content: bytes) -> bool:
    return _END in content[-65557:]


def open_archive(file: BinaryIO, most_files: int = MOST_FILES) -> zipfile.ZipFile:
    """Open an archive whose list of files is short enough to be read. Raises CardError."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    plain = tail[-22:-18] == _END and tail[-2:] == b"\0\0"
    at = len(tail) - 22 if plain else tail.rfind(_END, -65557)
    if at < 0 or len(tail) - at < 22:
        raise CardError(Sentence("the archive is cut off: download it again"))
    (list_size,) = struct.unpack_from("<I", tail, at + 12)
    # A path of 200 characters, and what the list says about each file.
    longest = most_files * 262
    if list_size > longest or tail[max(0, at - 20) : max(0, at - 16)] == b"PK\x06\x07":
        raise CardError(Sentence("the archive has more than {most} files", most=most_files))
    try:
        archive = zipfile.ZipFile(file)
    except _BROKEN:
        raise CardError(Sentence("the archive is damaged: download it again")) from None
    if len(archive.infolist()) > most_files:
        raise CardError(Sentence("the archive has more than {most} files", most=most_files))
    return archive


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Return a file of an archive if it has at most so many bytes. Raises CardError."""
    if info.flag_bits & 1:
        raise CardError(Sentence("the archive is encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CardError(Sentence("the archive is packed in an unusual way: pack it as a plain ZIP"))
    try:
        with archive.open(info) as file:
            content = file.read(most + 1)
    except (*_BROKEN, zlib.error, EOFError):
        raise CardError(Sentence("the archive is damaged: download it again")) from None
    if len(content) > most:
        name = info.filename.rpartition("/")[2][:100]
        raise CardError(Sentence("{name} in the archive is too large", name=name))
    return content


def _card_of_archive(content: bytes) -> Card:
    archive = open_archive(io.BytesIO(content))
    by_path = {one.filename: one for one in archive.infolist() if not one.is_dir()}
    if "card.json" not in by_path:
        raise CardError(Sentence("there is no card.json in the archive"))
    document = _json(unpacked(archive, by_path["card.json"], MOST_LENGTH))
    files: dict[str, bytes] = {}
    room = LARGEST_SUM
    for uri in asset_addresses(document):
        info = by_path.get(_embedded_path(uri))
        if info is None:
            continue
        files[uri] = unpacked(archive, info, min(LARGEST_ASSET, room))
        room -= len(files[uri])
    return card_from(*_with_inline(document, files))


def _embedded_path(uri: str) -> str:
    for prefix in _EMBEDDED:
        if uri.startswith(prefix):
            return uri[len(prefix) :]
    return ""


def read_sprites(content: bytes) -> tuple[CardAsset, ...]:
    """Read a pack of sprites: an archive of pictures that are named by mood. Raises CardError."""
    check_size(len(content))
    if not _is_archive(content):
        raise CardError(Sentence("sprites come as a ZIP file of pictures"))
    archive, found, room = open_archive(io.BytesIO(content)), [], LARGEST_SUM
    for info in archive.infolist():
        name, _dot, ext = info.filename.rpartition("/")[2].rpartition(".")
        if info.is_dir() or not name or name.startswith(".") or ext.lower() not in _PICTURES:
            continue
        picture = unpacked(archive, info, min(LARGEST_ASSET, room))
        room -= len(picture)
        found.append(CardAsset("emotion", name, ext.lower(), "", picture))
    if not found:
        raise CardError(Sentence("there are no pictures in the archive"))
    return tuple(found)


def charx_of(card: Card) -> bytes:
    """Write a card with all its files as CHARX."""
    target, listed = io.BytesIO(), []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, one in enumerate(card.assets):
            uri = one.uri
            if one.content is not None:
                ext = one.ext if one.ext.isascii() and one.ext.isalnum() else "bin"
                folder = one.kind if one.kind.isascii() and one.kind.isidentifier() else "other"
                group = "images" if ext in _PICTURES else "other"
                path = f"assets/{folder}/{group}/{number}.{ext}"
                archive.writestr(_entry(path), one.content)
                uri = f"{_EMBEDDED[0]}{path}"
            listed.append(_listed(one, uri))
        text = json.dumps(card_json(card, listed or None), ensure_ascii=False, indent=1)
        archive.writestr(_entry("card.json"), text.encode("utf-8", "replace"))
    return target.getvalue()


def _entry(path: str) -> zipfile.ZipInfo:
    """Return an entry without a time, so that the same card always gives the same file."""
    info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _listed(one: CardAsset, uri: str) -> dict[str, str]:
    return {"type": one.kind, "uri": uri, "name": one.name, "ext": one.ext}


def written_card(card: Card, form: str) -> bytes:
    """Write a card as `png`, `charx` or `json`."""
    if form == "charx":
        return charx_of(card)
    if form == "json":
        return json_of(card)
    picture = None if card.face is None else card.face.content
    return png_of(card, picture if picture and picture.startswith(PNG) else None)


def json_of(card: Card) -> bytes:
    """Write a card as JSON. Files that came with it need a CHARX."""
    listed = [_listed(one, uri) for one in card.assets if (uri := _carried_by_png(one))]
    text = json.dumps(card_json(card, listed or None), ensure_ascii=False, indent=1)
    return text.encode("utf-8", "replace")


def blank_png(side: int = 256) -> bytes:
    """Return a plain grey picture, for a character that has none."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x55" * side) * side)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return PNG + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
