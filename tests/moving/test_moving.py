"""A server moves between instances with different databases: whole, or not at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.moving.archive import ArchiveError, ArchiveReader
from oshaberi.bot.moving.checks import Target
from oshaberi.bot.moving.move import Arrival, MeetsStored, bring_in, pack, plan_arrival
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import Fact, LorebookRecord, PersonaRecord
from oshaberi.bot.storage.repositories.moving import MOVED
from oshaberi.bot.storage.schema.ownership import OWNERSHIP
from tests.moving.furnished_server import (
    ADDRESS,
    CHANNEL,
    DIGEST,
    PICTURE,
    SERVER,
    USER,
    furnish,
)
from tests.storage.database_servers import migrated_postgres_url
from tests.storage.migrated_database import place_database
from tests.storage.scenario_database import with_database

OTHER = 987654321098765432


def sqlite(folder: Path) -> str:
    place_database(folder / "bot.db")
    return f"sqlite:///{folder / 'bot.db'}"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite(tmp_path / "new")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What another instance wrote."""
    folder = tmp_path_factory.mktemp("old")
    return packed(sqlite(folder), folder)


def packed(url: str, folder: Path, *, memories: bool = True) -> bytes:
    async def scenario(db: Database) -> bytes:
        await furnish(db, folder)
        file = io.BytesIO()
        await pack(db, PictureFiles(folder), SERVER, file, memories=memories)
        return file.getvalue()

    return with_database(url, scenario)


async def moved(
    db: Database,
    folder: Path,
    archive: bytes,
    rule: MeetsStored = "refuse",
    server_id: int = SERVER,
    *,
    dry_run: bool = False,
    **allowed: Any,
) -> Arrival:
    allowed = {"takes_addresses": True, "takes_memories": True} | allowed
    target = Target(server_id, LoadedSettings(), db.opt_outs, **allowed)
    reader = ArchiveReader(io.BytesIO(archive))
    if dry_run:
        return await plan_arrival(db, reader, target, rule)
    return await bring_in(db, PictureFiles(folder), reader, target, rule)


def changed(archive: bytes, **files: Callable[[bytes], bytes] | bytes) -> bytes:
    """Return the archive with files that were written anew; `rows_x` is `rows/x.jsonl`."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            key = name.partition(".")[0].replace("/", "_")
            how = files.get(key, old.read(name))
            new.writestr(name, how if isinstance(how, bytes) else how(old.read(name)))
    return target.getvalue()


def with_rows(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def rewritten(content: bytes) -> bytes:
        rows = [json.loads(line) for line in content.splitlines()]
        for row in rows:
            change(row)
        return "\n".join(map(json.dumps, rows)).encode()

    return rewritten


@pytest.mark.parametrize(("old", "new"), [("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_a_server_moves_whole_between_databases(old: str, new: str, tmp_path: Path) -> None:
    def url(kind: str) -> str:
        return sqlite(tmp_path / kind) if kind == "sqlite" else migrated_postgres_url()

    async def everything(db: Database) -> list[object]:
        books = await db.lorebooks.of(SERVER)
        names = {one.id: one.name for one in await db.personas.of(SERVER)} | {0: ""}
        chains = await db.models.chains(SERVER)
        return [
            [(p.name, p.prompt, p.aliases, p.triggers, p.avatar_url, p.samples, p.sprites,
              p.is_default, p.is_age_restricted, p.card) for p in await db.personas.of(SERVER)],
            [(b.name, b.content, names[b.persona_id], b.channel_id, b.is_enabled) for b in books],
            await db.servers.settings(SERVER),
            {place: [(m.provider, m.model, m.base_url, m.params) for m in chain]
             for place, chain in chains.items()},
            [(f.text, f.at) for who in (USER, None) for f in await db.facts.of(SERVER, who)],
        ]  # fmt: skip

    async def leave(db: Database) -> tuple[bytes, list[object]]:
        await furnish(db, tmp_path / "old-data")
        file = io.BytesIO()
        await pack(db, PictureFiles(tmp_path / "old-data"), SERVER, file, memories=True)
        return file.getvalue(), await everything(db)

    async def arrive(db: Database) -> list[object]:
        arrival = await moved(db, tmp_path / "new-data", written)
        assert arrival.remarks == ()
        face = await db.own_faces.get(SERVER)
        assert face is not None
        assert (face.is_shown, face.bio, face.banner, face.applied) == (True, "Hi!", ADDRESS, {})
        (picture,) = await db.pictures.of(SERVER)
        assert (picture.address, picture.digest) == (ADDRESS, DIGEST)
        assert (picture.url, picture.channel_id, picture.message_id) == ("", 0, 0)
        assert (
            await PictureFiles(tmp_path / "new-data").read(SERVER, DIGEST, "image/png") == PICTURE
        )
        return await everything(db)

    written, before = with_database(url(old), leave)
    assert with_database(url(new), arrive) == before


def test_no_secret_and_no_personal_data_is_in_it(tmp_path: Path) -> None:
    archive = packed(sqlite(tmp_path), tmp_path, memories=False)
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        content = b"".join(file.read(name) for name in file.namelist())
        assert "rows/facts.jsonl" not in file.namelist()
    for secret in (b"very-secret", b"likes tea", b"meets on", b"What?", str(USER).encode()):
        assert secret not in content


def test_a_dry_run_says_the_same_and_changes_nothing(
    url: str, archive: bytes, tmp_path: Path
) -> None:
    async def scenario(db: Database) -> None:
        planned = await moved(db, tmp_path, archive, dry_run=True)
        assert await db.moving.rows(SERVER, memories=True) == {}
        assert not (tmp_path / "pictures").exists()
        came = await moved(db, tmp_path, archive)
        assert (planned.counts, planned.remarks) == (came.counts, came.remarks)
        assert planned.names == ("persona Ren", "persona Mochi", *planned.names[2:])

    with_database(url, scenario)


def test_another_server_gets_no_channels_and_hears_of_each(
    url: str, archive: bytes, tmp_path: Path
) -> None:
    async def scenario(db: Database) -> None:
        arrival = await moved(db, tmp_path, archive, server_id=OTHER)
        assert await db.personas.of(SERVER) == ()
        assert {one.name for one in await db.lorebooks.of(OTHER)} == {"Mochi: Tea house", "Town"}
        stored = await db.servers.settings(OTHER)
        assert (stored.server, stored.channels) == ({"language": "ja"}, {})
        assert set(await db.models.chains(OTHER)) == {0}
        reason = "channels of another server do not come"
        assert set(arrival.remarks) == {
            f"the lorebook Harbour: {reason}",
            f"the setting auto_channels: {reason}",
            f"the setting humanizer_degree of a channel: {reason}",
            f"the model anthropic/claude-haiku-4-5: {reason}",
        }

    with_database(url, scenario)


def test_channels_that_do_not_exist_are_named(url: str, archive: bytes, tmp_path: Path) -> None:
    async def scenario(db: Database) -> None:
        arrival = await moved(db, tmp_path, archive, channels={1})
        assert f"the lorebook Harbour: there is no channel {CHANNEL} here" in arrival.remarks
        assert (await db.servers.settings(SERVER)).channels == {}

    with_database(url, scenario)


def test_what_is_there_is_not_overwritten_unasked(url: str, archive: bytes, tmp_path: Path) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(PersonaRecord(SERVER, "REN", "Mine.", is_default=True))
        told = "the server has 1 persona already: add --merge"
        for dry_run in (True, False):
            with pytest.raises(ArchiveError, match=told):
                await moved(db, tmp_path, archive, dry_run=dry_run)
        assert [one.name for one in await db.personas.of(SERVER)] == ["REN"]
        assert not list((tmp_path / "pictures").rglob("*.png"))

    with_database(url, scenario)


def test_merging_keeps_the_servers_own(url: str, archive: bytes, tmp_path: Path) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(PersonaRecord(SERVER, "REN", "Mine.", is_default=True))
        await db.servers.set_config(SERVER, "language", "en")
        await db.facts.add(Fact(SERVER, "likes tea", USER))
        arrival = await moved(db, tmp_path, archive, "merge")
        ren, mochi = await db.personas.of(SERVER)
        assert (ren.prompt, ren.sprites, ren.is_default, mochi.is_default) == (
            *("Mine.", (), True),
            False,
        )
        stored = await db.servers.settings(SERVER)
        assert stored.server == {"language": "en", "auto_channels": [CHANNEL]}
        assert len(await db.facts.of(SERVER, USER)) == 1
        own = "the server's own stays"
        assert set(arrival.remarks) == {f"the persona Ren: {own}", f"the setting language: {own}"}

    with_database(url, scenario)


def test_replacing_deletes_first_but_no_keys_and_no_memories_unasked(
    url: str, archive: bytes, tmp_path: Path
) -> None:
    async def scenario(db: Database) -> None:
        await furnish(db, tmp_path)
        await db.personas.save(PersonaRecord(SERVER, "Old"))
        await db.lorebooks.save(LorebookRecord(SERVER, "Old", {"entries": []}))
        await db.facts.add(Fact(SERVER, "is new here"))
        arrival = await moved(db, tmp_path, archive, "replace", takes_memories=False)
        assert arrival.replaces["personas"] == 3
        assert {one.name for one in await db.personas.of(SERVER)} == {"Ren", "Mochi"}
        assert "Old" not in {one.name for one in await db.lorebooks.of(SERVER)}
        assert len(await db.facts.of(SERVER, None)) == 2
        assert len(await db.keys.of(SERVER, "anthropic")) == 1
        assert await PictureFiles(tmp_path).read(SERVER, DIGEST, "image/png") == PICTURE

    with_database(url, scenario)


def test_all_or_nothing(url: str, archive: bytes, tmp_path: Path) -> None:
    """The last insert fails: nothing has come, and no copies of pictures are left."""

    async def scenario(db: Database) -> None:
        await db.personas.save(PersonaRecord(SERVER, "Old"))
        twice = with_rows(lambda row: row.update(position=0))
        settle = db.moving.move_in

        async def failing(server_id: int, plan: Any, replaced: Any) -> None:
            def doubled(here: Any) -> Any:
                rows = dict(plan(here))
                rows["models"] = [rows["models"][0]] * 2
                return rows

            await settle(server_id, doubled, replaced)

        db.moving.move_in = failing  # type: ignore[method-assign,assignment]
        with pytest.raises(StorageError):
            await moved(db, tmp_path, changed(archive, rows_models=twice), "replace")
        assert [one.name for one in await db.personas.of(SERVER)] == ["Old"]
        assert not list((tmp_path / "pictures").rglob("*.png"))

    with_database(url, scenario)


def test_who_opted_out_here_stays_unknown(url: str, archive: bytes, tmp_path: Path) -> None:
    async def scenario(db: Database) -> None:
        await db.opt_outs.add(USER)
        arrival = await moved(db, tmp_path, archive)
        assert await db.facts.of(SERVER, USER) == ()
        assert arrival.remarks == ("facts about people who have opted out here: 2",)

    with_database(url, scenario)


def test_memories_and_addresses_only_come_if_somebody_says_so(
    url: str, archive: bytes, tmp_path: Path
) -> None:
    async def scenario(db: Database) -> None:
        arrival = await moved(db, tmp_path, archive, takes_addresses=False, takes_memories=False)
        assert await db.facts.of(SERVER, USER) == ()
        assert [one.model for one in await db.models.chain(SERVER)] == ["claude-haiku-4-5"]
        assert [one.partition(":")[0] for one in arrival.remarks] == [
            "the model openai/llama",
            "3 facts",
        ]

    with_database(url, scenario)


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("personas", {"name": "clyde"}, "the persona clyde: A persona cannot be called that"),
        ("personas", {"aliases": [1]}, "the persona Ren: is damaged"),
        ("personas", {"aliases": "abc"}, "the persona Ren: is damaged"),
        ("personas", {"samples": [["a"]]}, "the persona Ren: is damaged"),
        ("personas", {"prompt": "x" * 100_001}, "the persona Ren: prompt: at most 100000"),
        ("personas", {"avatar_url": "file:///etc/passwd"}, "the persona Ren: Give the address"),
        ("personas", {"mood": 1}, "personas.mood: not known here"),
        ("lorebooks", {"content": []}, "the lorebook Mochi: Tea house"),
        ("lorebooks", {"persona_id": "77"}, "the lorebook Mochi: Tea house: its persona"),
        ("sprites", {"name": "a)b"}, "the sprite a)b: A sprite's name cannot"),
        ("sprites", {"persona_id": 5_000}, "the sprite happy: its persona does not come"),
        ("server_settings", {"key": "discord_token"}, "the setting discord_token: is set by"),
        ("server_settings", {"key": "web_page_tool_enabled"}, "the setting web_page_tool_en"),
        ("server_settings", {"key": "humanizer_degree", "value": 9}, "the setting humanizer_deg"),
        ("server_settings", {"key": "nonsense"}, "the setting nonsense: is not known here"),
        ("channel_settings", {"key": "auto_channels", "value": []}, "the setting auto_channels of"),
        ("models", {"provider": "replay"}, "the model replay/claude-haiku-4-5: "),
        ("models", {"model": "\x1b"}, "the model anthropic/\x1b: its name"),
        ("models", {"params": {"temperature": 99}}, "the model anthropic/claude-haiku-4-5: temp"),
        ("models", {"params": {"headers": {"x": "y"}}}, "the model claude-haiku-4-5: without head"),
        ("models", {"base_url": "http://u:pw12345@h/v1"}, "the model anthropic/claude-haiku-4-5"),
        ("facts", {"text": "x" * 501}, "the fact xxx"),
    ],
)
def test_a_row_that_nobody_could_type_in_does_not_come(
    table: str, change: dict[str, Any], told: str, url: str, archive: bytes, tmp_path: Path
) -> None:
    hostile = changed(archive, **{f"rows_{table}": with_rows(lambda row: row.update(change))})

    async def scenario(db: Database) -> None:
        arrival = await moved(db, tmp_path, hostile)
        assert any(one.startswith(told) for one in arrival.remarks), arrival.remarks
        await db.personas.of(SERVER)

    with_database(url, scenario)


def bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", b" " * 100_000_000)
    return target.getvalue()


def many_files() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for number in range(4_001):
            file.writestr(f"{number}", b"")
    return target.getvalue()


def lines(content: bytes) -> Callable[[bytes], bytes]:
    return lambda _old: content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cut off"),
        (b"not a zip", "cut off"),
        (bomb(), "manifest.json in the archive is too large"),
        (many_files(), "more than 4000 files"),
    ],
    ids=["empty", "no zip", "bomb", "many files"],
)
def test_what_is_no_archive_is_one_line(content: bytes, told: str) -> None:
    with pytest.raises(ArchiveError, match=told):
        ArchiveReader(io.BytesIO(content))


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("manifest", b"[]", "is not a server's archive"),
        ("manifest", b'{"format": "other"}', "is not a server's archive"),
        ("manifest", b'{"format":"oshaberi-server","version":2,"server_id":"1"}', "newer version"),
        ("manifest", b'{"format":"oshaberi-server","version":1,"server_id":"x"}', "which server"),
        ("rows_personas", b"{", "rows/personas.jsonl, line 1: is not JSON"),
        ("rows_personas", b"[" * 10_000, "line 1: is nested too deeply"),
        ("rows_personas", b"5", "line 1: is not an object"),
        ("rows_personas", b'{"name": "x"}', "line 1: id is missing"),
        ("rows_models", b'{"channel_id": 1e300}', "line 1: channel_id is not a whole number"),
        ("rows_facts", b'{"user_id": null, "text": "x", "at": "now"}', "line 1: at is not a time"),
        ("rows_facts", b'{"text": "x"}', "line 1: at is missing"),
        ("rows_server_settings", b'{"key": "a", "value": 1}\n' * 50_001, "too many rows"),
    ],
)
def test_a_broken_archive_is_one_line(file: str, content: bytes, told: str, archive: bytes) -> None:
    with pytest.raises(ArchiveError, match=told) as raised:
        ArchiveReader(io.BytesIO(changed(archive, **{file: lines(content)}))).server()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"other", PICTURE + b"x", b""])
def test_a_picture_that_is_another_one_does_not_come(
    content: bytes, url: str, archive: bytes, tmp_path: Path
) -> None:
    swapped = changed(archive, **{f"pictures_{DIGEST}": content})

    async def scenario(db: Database) -> None:
        arrival = await moved(db, tmp_path, swapped)
        assert arrival.remarks == ("1 picture: not in the archive, or damaged",)
        assert await db.pictures.of(SERVER) == ()
        assert not (tmp_path / "pictures").exists()

    with_database(url, scenario)


def test_names_in_the_archive_are_never_paths(url: str, archive: bytes, tmp_path: Path) -> None:
    def outside(row: dict[str, Any]) -> None:
        row["digest"] = "../" * 10 + "tmp/x"

    hostile = changed(archive, rows_pictures=with_rows(outside))

    async def scenario(db: Database) -> None:
        await moved(db, tmp_path, hostile)
        assert await db.pictures.of(SERVER) == ()

    with_database(url, scenario)


def test_each_table_that_moves_is_a_servers() -> None:
    owned: Iterable[str] = {one.name for one in OWNERSHIP if one.of_server is not None}
    assert {one.name for one in MOVED} <= set(owned)
