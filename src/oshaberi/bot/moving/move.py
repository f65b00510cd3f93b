"""Packs a server into an archive, and brings one in: everything that can come, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from oshaberi.bot.commands.lore_limits import MOST_BOOKS
from oshaberi.bot.commands.personas.persona_changes import MOST_PERSONAS
from oshaberi.bot.moving.archive import (
    MOST_ROWS,
    ArchiveError,
    ArchiveReader,
    ArchiveWriter,
    MovedServer,
    has_copy,
)
from oshaberi.bot.moving.checks import CheckedRows, Target, check_rows
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import MOST_FACTS
from oshaberi.bot.storage.repositories.moving import MOVED, Row, Rows, name_key
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.clocks import utc_now
from oshaberi.terminal_output import counted

MeetsStored = Literal["refuse", "merge", "replace"]
"""What to do if the server already has data: import nothing; import only what is new; first delete
all data of the kinds that are in the archive."""
NOUNS = {
    "personas": "persona",
    "sprites": "sprite",
    "pictures": "picture",
    "own_faces": "profile",
    "lorebooks": "lorebook",
    "server_settings": "setting",
    "channel_settings": "channel setting",
    "models": "model",
    "facts": "fact",
}
"""The words for the rows of each table, in the order in which they are listed."""


# -- out -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packed:
    """What went into an archive, and how many rows of which tables stay."""

    counts: Mapping[str, int]
    stay: Mapping[str, int]
    lost: int = 0
    """Pictures that have no copy."""


async def pack(
    db: Database, files: PictureFiles, server_id: int, file: BinaryIO, *, memories: bool
) -> Packed:
    """Write a server into a file. Facts about people are included only with `memories`."""
    rows = await db.moving.rows(server_id, memories=memories)
    all_rows = await db.personal_data.counts(DataSubject("server", server_id))
    writer = ArchiveWriter(file, server_id, utc_now())
    lost = 0
    written: set[str] = set()
    for row in rows.get("pictures", ()):
        which = row["digest"], row["content_type"]
        content = await files.read(server_id, *which) if has_copy(row) else None
        lost += content is None
        if content is not None and row["digest"] not in written:
            written.add(row["digest"])
            await asyncio.to_thread(writer.add_picture, *which, content)
    for table, its in rows.items():
        await asyncio.to_thread(writer.add_rows, table, its)
    writer.finish()
    counts = {table: len(its) for table, its in rows.items()}
    stay = {table: number for table, number in all_rows.items() if table not in counts}
    return Packed(counts, stay, lost)


def in_words(counts: Mapping[str, int]) -> str:
    """Return `2 personas, 1 lorebook`."""
    found = [counted(number, noun) for one, noun in NOUNS.items() if (number := counts.get(one))]
    return ", ".join(found) or "nothing"


# -- in ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrival:
    """What an import adds: rows by table, personas' names, and what is left out and why."""

    server: MovedServer
    rows: Rows = field(repr=False)
    replaces: Mapping[str, int] = field(default_factory=dict)
    """What is deleted first."""
    remarks: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        return {table: len(rows) for table, rows in self.rows.items() if rows}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names in an archive, for people who check before importing."""
        return tuple(
            f"{NOUNS[table]} {row['name']}"
            for table in ("personas", "lorebooks")
            for row in self.rows[table]
        )


async def plan_arrival(
    db: Database, reader: ArchiveReader, target: Target, rule: MeetsStored
) -> Arrival:
    """Plan an import without storing anything. Raises ArchiveError if nothing may be imported."""
    checked, server = await _checked(reader, target)
    here = await db.moving.rows(target.server_id, memories=True)
    return _arrival(server, checked, here, rule)


async def bring_in(
    db: Database, files: PictureFiles, reader: ArchiveReader, target: Target, rule: MeetsStored
) -> Arrival:
    """Import what can be imported.

    If it raises ArchiveError or StorageError, nothing was imported.
    """
    checked, server = await _checked(reader, target)
    came: list[Arrival] = []
    before: list[Row] = []
    copies = await _store_pictures(files, reader, target.server_id, checked.rows["pictures"])

    def settle(here: Rows) -> Rows:
        came.append(_arrival(server, checked, here, rule))
        before.extend(here.get("pictures", ()))
        return came[-1].rows

    try:
        await db.moving.move_in(target.server_id, settle, _replaced(checked, rule))
    except BaseException:
        for digest, content_type in copies:
            await files.delete(target.server_id, digest, content_type)
        raise
    if rule == "replace":
        await _delete_copies(files, target.server_id, before, came[-1].rows["pictures"])
    return came[-1]


async def _delete_copies(
    files: PictureFiles, server_id: int, before: Sequence[Row], now: Sequence[Row]
) -> None:
    """Delete the copies of pictures that nothing names any more."""
    kept = {row["digest"] for row in now}
    for row in before:
        if row["digest"] not in kept and has_copy(row):
            await files.delete(server_id, row["digest"], row["content_type"])


async def _checked(reader: ArchiveReader, target: Target) -> tuple[CheckedRows, MovedServer]:
    def work() -> tuple[CheckedRows, MovedServer]:
        server = reader.server()
        checked = check_rows(server, target)
        missing = [
            row
            for row in checked.rows["pictures"]
            if reader.picture(row["digest"], row["content_type"]) is None
        ]
        return _without_pictures(checked, missing), server

    return await asyncio.to_thread(work)


def _without_pictures(checked: CheckedRows, missing: Sequence[Row]) -> CheckedRows:
    if not missing:
        return checked
    lost = {row["address"] for row in missing}
    kept = tuple(row for row in checked.rows["pictures"] if row["address"] not in lost)
    remark = f"{counted(len(missing), 'picture')}: not in the archive, or damaged"
    return CheckedRows({**checked.rows, "pictures": kept}, (*checked.remarks, remark))


async def _store_pictures(
    files: PictureFiles, reader: ArchiveReader, server_id: int, rows: Sequence[Row]
) -> list[tuple[str, str]]:
    """Write missing copies. Return them, so that they can be deleted if the import fails."""
    new: list[tuple[str, str]] = []
    for row in rows:
        which = row["digest"], row["content_type"]
        if await files.read(server_id, *which) is None:
            content = await asyncio.to_thread(reader.picture, *which)
            if content is not None:
                await files.write(server_id, *which, content)
                new.append(which)
    return new


def _replaced(checked: CheckedRows, rule: MeetsStored) -> tuple[str, ...]:
    """Return the tables to empty first: all that move, but facts only if the archive has some."""
    if rule != "replace":
        return ()
    return tuple(one.name for one in MOVED if not one.is_memory or checked.rows[one.name])


def _arrival(server: MovedServer, checked: CheckedRows, here: Rows, rule: MeetsStored) -> Arrival:
    replaced = _replaced(checked, rule)
    replaces = {one: len(here[one]) for one in replaced if here.get(one)}
    left = {table: rows for table, rows in here.items() if table not in replaced and rows}
    compared = {one: number for one, number in _counts(left).items() if checked.rows.get(one)}
    if rule == "refuse" and compared:
        raise ArchiveError(
            f"the server has {in_words(compared)} already: add --merge to bring in only what is "
            "new to it, or --replace to delete them first"
        )
    rows, kept = _merged(checked.rows, left)
    return Arrival(server, rows, replaces, (*checked.remarks, *kept))


def _counts(rows: Rows) -> dict[str, int]:
    return {table: len(its) for table, its in rows.items()}


def _merged(coming: Rows, here: Rows) -> tuple[Rows, tuple[str, ...]]:
    """Return the rows that are new to the server, and remarks about those that it already has."""
    kept: list[str] = []

    def new(table: str, key: Callable[[Row], Any], most: int = MOST_ROWS) -> list[Row]:
        there = here.get(table, ())
        taken = {key(row) for row in there}
        found = [row for row in coming[table] if key(row) not in taken]
        kept.extend(
            f"the {NOUNS[table]} {row.get('name') or row.get('key')}: the server's own stays"
            for row in coming[table]
            if key(row) in taken and table != "pictures"
        )
        kept.extend(
            f"the {NOUNS[table]} {row['name']}: the server has {most} already"
            for row in found[max(0, most - len(there)) :]
        )
        return found[: max(0, most - len(there))]

    def by_name(row: Row) -> str:
        return name_key(row["name"])

    personas = new("personas", by_name, MOST_PERSONAS)
    its = {row["id"] for row in personas} | {None}
    lorebooks = new("lorebooks", by_name, MOST_BOOKS)
    rows: dict[str, list[Row]] = {
        "personas": _one_default(personas, here.get("personas", ())),
        "sprites": [row for row in coming["sprites"] if row["persona_id"] in its],
        "lorebooks": [row for row in lorebooks if row["persona_id"] in its],
        "models": _new_chains(coming["models"], here.get("models", ())),
        "facts": _new_facts(
            [row for row in coming["facts"] if not row["persona_id"] or row["persona_id"] in its],
            here.get("facts", ()),
        ),
        "own_faces": [] if here.get("own_faces") else list(coming["own_faces"]),
        "server_settings": new("server_settings", lambda row: row["key"]),
        "channel_settings": new("channel_settings", lambda row: (row["channel_id"], row["key"])),
        "pictures": new("pictures", lambda row: row["address"]),
    }
    return rows, tuple(kept)


def _one_default(personas: Sequence[Row], here: Sequence[Row]) -> list[Row]:
    """Let one persona be the default: the server's own, else the archive's, else the first."""
    wanted = next((one["id"] for one in personas if one["is_default"]), None)
    if any(one["is_default"] for one in here):
        wanted = None
    elif wanted is None and personas:
        wanted = personas[0]["id"]
    return [{**one, "is_default": one["id"] == wanted} for one in personas]


def _new_chains(coming: Sequence[Row], here: Sequence[Row]) -> list[Row]:
    taken = {row["channel_id"] for row in here}
    return [row for row in coming if row["channel_id"] not in taken]


def _new_facts(coming: Sequence[Row], here: Sequence[Row]) -> list[Row]:
    known = {(row["user_id"], row["text"]) for row in here}
    counts: dict[int | None, int] = {}
    for row in here:
        counts[row["user_id"]] = counts.get(row["user_id"], 0) + 1
    found = []
    for row in coming:
        number = counts.get(row["user_id"], 0)
        if (row["user_id"], row["text"]) not in known and number < MOST_FACTS:
            counts[row["user_id"]] = number + 1
            found.append(row)
    return found
