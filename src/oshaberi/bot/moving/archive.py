"""The file that a server moves in: a ZIP with a manifest, rows as JSON Lines, and pictures.

    manifest.json               format, server, time, and the number of rows
    rows/personas.jsonl         one row in each line, its columns by name
    pictures/{digest}.png       named after its own content

It may come from anybody. Sizes are limited before anything is unpacked, names in it are only looked
up, and a picture must have the digest that it is named after.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, BinaryIO

from oshaberi import __version__
from oshaberi.bot.characters.card_files import open_archive, unpacked
from oshaberi.bot.storage.repositories.moving import (
    MOVED,
    MisreadRowError,
    MovedTable,
    Row,
    typed_row,
)
from oshaberi.checked_json import parse_json, whole_count
from oshaberi.errors import ConfigError
from oshaberi.providers.images.preparation import image_type

FORMAT = "oshaberi-server"
VERSION = 1
"""The version of the format. A reader refuses a newer one."""
LARGEST_ARCHIVE = 1024 * 1024 * 1024
LARGEST_MANIFEST = 64 * 1024
LARGEST_TABLE = 64 * 1024 * 1024
LARGEST_SUM = 128 * 1024 * 1024
"""All tables together, unpacked. Pictures are unpacked one at a time."""
LARGEST_PICTURE = 1_100_000
MOST_ROWS = 50_000
MOST_FILES = 4_000
NEWER = "not known here; a newer version wrote it"
ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}
DIGEST = re.compile(r"[0-9a-f]{32}")


class ArchiveError(ConfigError):
    """A file is not an archive that can be read. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class MovedServer:
    """The contents of an archive: its server, and the rows by table, with typed values."""

    server_id: int
    made_at: str
    made_by: str
    rows: Mapping[str, tuple[Row, ...]] = field(repr=False)
    remarks: tuple[str, ...] = ()
    """What this version does not know."""


# -- writing -------------------------------------------------------------------------------------


class ArchiveWriter:
    """Writes an archive into a file: rows and pictures in any order, then `finish`."""

    def __init__(self, file: BinaryIO, server_id: int, now: datetime) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._server_id, self._now = server_id, now
        self._counts: dict[str, int] = {}
        self._pictures = 0

    def add_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = [json.dumps(_as_json(row), ensure_ascii=False) for row in rows]
        content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        self._zip.writestr(_rows_path(table), content)
        self._counts[table] = len(lines)

    def add_picture(self, digest: str, content_type: str, content: bytes) -> None:
        path = picture_path(digest, content_type)
        self._zip.writestr(path, content, zipfile.ZIP_STORED)
        self._pictures += 1

    def finish(self) -> None:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "made_by": f"oshaberi {__version__}",
            "made_at": self._now.astimezone(UTC).isoformat(timespec="seconds"),
            "server_id": str(self._server_id),
            "rows": self._counts,
            "pictures": self._pictures,
        }
        self._zip.writestr("manifest.json", json.dumps(manifest, indent=1) + "\n")
        self._zip.close()


def _rows_path(table: str) -> str:
    return f"rows/{table}.jsonl"


def picture_path(digest: str, content_type: str) -> str:
    return f"pictures/{digest}.{ENDINGS[content_type]}"


def has_copy(row: Row) -> bool:
    """Return whether there is a copy of a picture, by its row."""
    return bool(DIGEST.fullmatch(row["digest"])) and row["content_type"] in ENDINGS


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for JSON. Ids become strings: many JSON readers lose their last digits."""
    return {key: _plain(key, value) for key, value in row.items()}


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    is_id = key == "id" or key.endswith("_id")
    return str(value) if is_id and isinstance(value, int) else value


# -- reading -------------------------------------------------------------------------------------


class ArchiveReader:
    """An open archive. Raises ArchiveError with one clear line."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = _opened(file)
        self._infos = {one.filename: one for one in self._zip.infolist() if not one.is_dir()}
        self._manifest = self._read_manifest()
        self.server_id = _server_id(self._manifest)

    def server(self) -> MovedServer:
        """Read all rows."""
        remarks: list[str] = []
        rows: dict[str, tuple[Row, ...]] = {}
        room = LARGEST_SUM
        for table in MOVED:
            content = self._file(_rows_path(table.name), min(LARGEST_TABLE, room))
            room -= len(content)
            rows[table.name] = tuple(_typed_rows(table, content, remarks))
        known = {_rows_path(one.name) for one in MOVED}
        for path in sorted(self._infos.keys() - known):
            if path.startswith("rows/"):
                name = path.removeprefix("rows/").removesuffix(".jsonl")[:60]
                remarks.append(f"{name}: {NEWER}")
        return MovedServer(
            self.server_id,
            str(self._manifest.get("made_at", ""))[:40],
            str(self._manifest.get("made_by", ""))[:60],
            rows,
            tuple(remarks[:100]),
        )

    def picture(self, digest: str, content_type: str) -> bytes | None:
        """Return a picture, or None if it is missing or does not have the digest in its name."""
        content = self._file(picture_path(digest, content_type), LARGEST_PICTURE)
        is_it = hashlib.sha256(content).hexdigest()[:32] == digest
        return content if is_it and image_type(content[:64]) == content_type else None

    def _read_manifest(self) -> Mapping[str, Any]:
        try:
            manifest = parse_json(self._file("manifest.json", LARGEST_MANIFEST))
        except ValueError:
            manifest = None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ArchiveError("is not a server's archive: `oshaberi data export` writes one")
        version = whole_count(manifest.get("version"))
        if version is None or version > VERSION:
            raise ArchiveError("was written by a newer version of Oshaberi: upgrade this one first")
        return manifest

    def _file(self, path: str, most: int) -> bytes:
        """Return a file of the archive; nothing if it is not there."""
        info = self._infos.get(path)
        if info is None:
            return b""
        try:
            return unpacked(self._zip, info, most)
        except ConfigError as error:
            raise ArchiveError(error.args[0]) from None


def _opened(file: BinaryIO) -> zipfile.ZipFile:
    size = file.seek(0, 2)
    if size > LARGEST_ARCHIVE:
        most = LARGEST_ARCHIVE // (1024 * 1024)
        raise ArchiveError(f"is larger than {most} MB")
    try:
        return open_archive(file, MOST_FILES)
    except ConfigError as error:
        raise ArchiveError(error.args[0]) from None


def _server_id(manifest: Mapping[str, Any]) -> int:
    text = manifest.get("server_id")
    if isinstance(text, str) and len(text) <= 20 and text.isdecimal() and 0 < int(text) < 2**63:
        return int(text)
    raise ArchiveError("its manifest does not say which server it is of")


def _typed_rows(table: MovedTable, content: bytes, remarks: list[str]) -> Iterator[Row]:
    unknown: set[str] = set()
    for number, line in enumerate(content.splitlines(), 1):
        place = f"{_rows_path(table.name)}, line {number}"
        if number > MOST_ROWS:
            raise ArchiveError(f"{place}: there are too many rows")
        try:
            given = parse_json(line)
            if not isinstance(given, dict):
                raise MisreadRowError("is not an object")
            row, new = typed_row(table, given)
        except ValueError as error:
            said = str(error) if isinstance(error, MisreadRowError) else "is not JSON"
            raise ArchiveError(f"{place}: {getattr(error, 'reason', said)}") from None
        unknown.update(new)
        yield row
    remarks.extend(f"{table.name}.{name[:60]}: {NEWER}" for name in sorted(unknown)[:20])
