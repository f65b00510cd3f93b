"""What was written on a stage is still there when it is started again."""

from __future__ import annotations

import asyncio
import io
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import discord
import pytest

from discord_stage import Stage, World, kept_world
from discord_stage.testing import logged_in, patch_discord
from discord_stage.world.records import MessageFlag, User
from stage_server.listening_client import ListeningClient

FOUNDED = datetime(2026, 1, 1, tzinfo=UTC)


def stage(path: Path, *, fresh: bool = False) -> Stage:
    return Stage(World.described(None, founded=FOUNDED), keep_in=path, fresh=fresh)


@asynccontextmanager
async def bot_on_stage(path: Path) -> AsyncIterator[tuple[Stage, ListeningClient]]:
    async with stage(path) as running:
        with patch_discord(running):
            async with logged_in(running, ListeningClient()) as bot:
                yield running, bot


def contents(path: Path) -> list[str]:
    """What a stage that is started with the file has in #general."""

    async def started() -> list[str]:
        async with stage(path) as again:
            return again.world.contents("general")

    return asyncio.run(started())


def wrote(path: Path, *texts: str, fresh: bool = False) -> Stage:
    async def one() -> Stage:
        async with stage(path, fresh=fresh) as first:
            for text in texts:
                first.people.post("general", text)
        return first

    return asyncio.run(one())


def test_a_bot_finds_everything_again(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"

    async def first_visit() -> tuple[int, str, int, int]:
        async with bot_on_stage(path) as (first, bot):
            asked = first.people.post("general", f"hi <@{first.world.bot.id}>")
            general = bot.place()
            hook = await general.create_webhook(name="Personas")
            picture = discord.File(io.BytesIO(b"picture"), "face.png")
            said = await hook.send(
                "hello",
                username="Yuki",
                avatar_url=f"{first.url}/cdn/faces/Yuki.svg",
                file=picture,
                wait=True,
            )
            thread = await general.create_thread(name="tea", message=discord.Object(asked.id))
            await thread.send("green")
            first.people.join("carol")
            first.people.post("general", "I am Carol \ud800 \N{RICE BALL}", user="carol")
            first.people.react(asked, "🍵", user="carol")
            first.people.dm("secretly", user="carol")
            await first.settled()
            return said.id, hook.url, thread.id, first.world.user("carol").id

    async def second_visit(said_id: int, hook_url: str, thread_id: int, carol: int) -> None:
        async with bot_on_stage(path) as (second, bot):
            general = bot.place()
            history = [message async for message in general.history(oldest_first=True)]
            assert [m.content[:5] for m in history] == ["hi <@", "hello", "", "I am "]
            assert history[2].type is discord.MessageType.new_member
            said = await general.fetch_message(said_id)
            assert said.author.name == "Yuki"
            assert [(r.emoji, r.count) for r in history[0].reactions] == [("🍵", 1)]
            async with aiohttp.ClientSession() as session:
                async with session.get(said.attachments[0].url) as answer:
                    assert await answer.read() == b"picture"
                hook = discord.Webhook.from_url(hook_url, session=session)
                edited = await hook.edit_message(said_id, content="hello again")
                assert edited.content == "hello again"
            face = second.world.messages[general.id][said_id].avatar
            assert face == f"{second.url}/cdn/faces/Yuki.svg"
            thread = general.get_thread(thread_id)
            assert thread is not None
            said_in_thread = [m async for m in thread.history(oldest_first=True)]
            assert [m.type for m in said_in_thread] == [
                discord.MessageType.thread_starter_message,
                discord.MessageType.default,
            ]
            assert [m.content for m in said_in_thread] == ["", "green"]
            assert general.guild.get_member(carol) is not None
            assert second.world.contents("@carol") == ["secretly"]
            new = second.people.post("general", "and on", user="carol")
            assert new.id > max(m.id for m in history)

    asyncio.run(second_visit(*asyncio.run(first_visit())))


def test_the_file_is_private_and_written_while_the_stage_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_world, "SAVE_DELAY_S", 0.0)
    path = tmp_path / "world.jsonl"

    async def run() -> None:
        async with stage(path) as running:
            running.people.post("general", "before a crash")
            await running.wait_for(lambda: path.exists() and "before a crash" in path.read_text())

    asyncio.run(run())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_without_a_change_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"
    wrote(path)
    assert not path.exists()


def test_fresh_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"
    wrote(path, "old")
    wrote(path, fresh=True)
    assert contents(path) == []
    wrote(path, "old")
    wrote(path, "new", fresh=True)
    assert contents(path) == ["new"]


def test_the_newest_messages_and_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_world, "MESSAGES_MOST", 3)
    monkeypatch.setattr(kept_world, "FILES_MOST", 10)
    path = tmp_path / "world.jsonl"

    async def first() -> None:
        async with stage(path) as running:
            running.people.post("general", "0")
            running.people.post("general", "1", files={"large.png": b"x" * 8})
            running.people.post("general", "2", files={"small.png": b"y" * 7})
            running.people.post("general", "3")

    asyncio.run(first())

    async def second() -> None:
        async with stage(path) as running:
            _one, two, _three = running.world.history("general")
            (left_out,) = running.world.history("general")[0].attachments
            assert left_out.filename == "large.png.not-kept.txt"
            assert left_out.content == (
                b"large.png (0.0 MB) was not kept when the stage was restarted.\n"
            )
            assert [one.content for one in two.attachments] == [b"y" * 7]

    assert contents(path) == ["1", "2", "3"]
    asyncio.run(second())


def test_what_only_one_person_sees_and_what_is_awaited_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"

    async def first() -> None:
        async with stage(path) as running:
            running.people.post("general", "seen")
            private = running.people.post("general", "private")
            private.ephemeral_to = private.author_id
            running.people.post("general", "awaited").flags |= MessageFlag.LOADING

    asyncio.run(first())
    assert contents(path) == ["seen"]


def changed(lines: list[Any], number: int, **fields: object) -> None:
    next(iter(lines[number].values())).update(fields)


DAMAGES: dict[str, tuple[str, str]] = {
    "nothing": ("", "is damaged"),
    "no JSON": ("{", "is damaged"),
    "no header": ("[]\n", "is damaged"),
    "newer": ('{"format": 2, "new": 1}\n', "was written by a newer version"),
    "another world": ('{"format": 1, "world": []}\n', "belongs to a world with other channels"),
}


@pytest.mark.parametrize(("text", "why"), DAMAGES.values(), ids=DAMAGES)
def test_a_file_that_cannot_be_used_is_one_line_and_put_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    path = tmp_path / "world.jsonl"
    path.write_text(text)
    assert contents(path) == []
    (line,) = caplog.messages
    aside = f"{path}.unreadable"
    assert line == f"{path} {why}; the stage begins anew, and it is now {aside}"
    assert Path(aside).read_text() == text
    wrote(path, "on")
    assert contents(path) == ["on"]


@pytest.mark.parametrize(
    "damage",
    [
        {"author_id": 5},
        {"author_id": "5"},
        {"channel_id": 5},
        {"mentions": [5]},
        {"mentions": 5},
        {"type": 1000},
        {"id": 1 << 70},
        {"id": True},
        {"attachments": [{"id": 1, "filename": "x", "content": "?", "content_type": "text/plain"}]},
        {"attachments": [{}]},
        {"unknown": 1},
        {"poll": {"question": {}}},
        {"reactions": [{"name": "x", "id": None, "users": [5]}]},
    ],
    ids=str,
)
def test_a_damaged_message_is_never_half_restored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: dict[str, object]
) -> None:
    path = tmp_path / "world.jsonl"
    wrote(path, "one", "two")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    changed([line for line in lines if "message" in line], 0, **damage)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert contents(path) == []
    assert len(caplog.messages) == 1
    assert "is damaged" in caplog.text


def test_a_folder_that_cannot_be_written_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "missing" / "world.jsonl"
    wrote(path, "lost")
    assert caplog.messages == [f"{path} cannot be written: No such file or directory"]
    caplog.clear()
    (tmp_path / "folder").mkdir()
    wrote(tmp_path / "folder", "lost")
    assert len(caplog.messages) == 2


def test_a_described_person_is_as_described(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"
    wrote(path, "hi")
    described = World.described(None, founded=FOUNDED).users
    name = next(user.name for user in described.values() if not user.bot)
    path.write_text(path.read_text().replace(f'"name":"{name}"', '"name":"old"'))

    async def people() -> list[User]:
        async with stage(path) as again:
            return list(again.world.users.values())

    assert {user.name for user in asyncio.run(people())} == {u.name for u in described.values()}
