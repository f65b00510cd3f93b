"""Keeps what was written on a stage in a file, so that a restarted stage continues from there.

People, roles and channels in the description come from there. The file adds everything that came
later: messages with their files, threads, new channels, people who joined, webhooks. Ids
and the tokens of webhooks stay. Commands are not kept: a bot registers them at its start.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from discord_stage.state import StageState
from discord_stage.world.event_bus import GatewayEvent
from discord_stage.world.record_json import from_json, to_json
from discord_stage.world.records import (
    Attachment,
    Channel,
    Interaction,
    Json,
    Member,
    MessageFlag,
    StageMessage,
    User,
    Webhook,
)
from discord_stage.world.world_state import World

log = logging.getLogger(__name__)

FORMAT = 1
SAVE_DELAY_S = 1.0
"""How long after a change the file is written. Changes within this time are written together."""
MESSAGES_MOST = 200
"""How many messages of a channel are kept, the newest."""
ALL_MESSAGES_MOST = 2000
CHANNELS_MOST = 200
FILES_MOST = 16 * 2**20
"""How many bytes of attachments are kept, those of the newest messages first."""
ID_END = 1 << 63
READ_MOST = 128 * 2**20
AT_ONCE = 50
"""How many messages are read from the world before other work gets its turn."""
LONG_AGO = -1e12
"""When a kept interaction began: its token has expired."""
UNREADABLE = ".unreadable"
_PASSING = frozenset({"TYPING_START", "PRESENCE_UPDATE"})


class UnusableFileError(Exception):
    """The file is damaged, from a newer version, or of another world."""


class KeptWorld:
    """The file of a stage's world. `begin` restores it; then it is saved after every change."""

    def __init__(self, state: StageState, path: Path) -> None:
        self._state = state
        self._path = path
        self._described = frozenset(state.world.channels)
        self._name = _described_channels(state.world)
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._saving: asyncio.Task[None] | None = None
        self._has_warned = False

    def begin(self, *, fresh: bool) -> None:
        """Restore the file, or with `fresh` delete it. A file that cannot be used is put aside."""
        try:
            if fresh:
                self._path.unlink(missing_ok=True)
            elif self._path.exists():
                self._restore()
        except OSError as error:
            log.warning("%s cannot be read: %s; the stage begins anew", self._path, error.strerror)
        except (UnusableFileError, ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, UnusableFileError) else "is damaged"
            aside = self._path.with_name(self._path.name + UNREADABLE)
            with suppress(OSError):
                self._path.replace(aside)
            log.warning("%s %s; the stage begins anew, and it is now %s", self._path, why, aside)
        self._state.bus.listen(self._note)
        self._saving = asyncio.create_task(self._save_changes())

    async def close(self) -> None:
        """Save what has changed last."""
        if self._saving is not None:
            async with self._writing:
                self._saving.cancel()
        await self._save()

    def _restore(self) -> None:
        if self._path.stat().st_size > READ_MOST:
            raise UnusableFileError("is too large")
        with self._path.open(encoding="utf-8") as file:
            header = _header(file.readline(), self._name)
            there, here = f"{header['url']}/", f"{self._state.url}/"
            lines = [json.loads(line.replace(there, here)) for line in file]
        found = _read(lines, self._state.world)
        _add(self._state.world, found)
        self._state.world.snowflakes.go_on_after(max(header["last_id"], found.largest_id()))

    def _note(self, event: GatewayEvent) -> None:
        if event.name not in _PASSING:
            self._changed.set()

    async def _save_changes(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(SAVE_DELAY_S * self._state.loop_scale)
            await self._save()

    async def _save(self) -> None:
        """Write the file if something has changed. A failure is logged as one warning."""
        async with self._writing:
            if not self._changed.is_set():
                return
            self._changed.clear()
            lines = await self._lines()
            try:
                await asyncio.to_thread(_write, self._path, lines)
                self._has_warned = False
            except OSError as error:
                if not self._has_warned:
                    log.warning("%s cannot be written: %s", self._path, error.strerror)
                self._has_warned = True

    async def _lines(self) -> list[Json]:
        """Return the lines of the file: the messages first, then what they refer to.

        Other work gets its turn in between, so people who join meanwhile must be read last.
        """
        world, lines, room = self._state.world, [], FILES_MOST
        channels = {channel.id: channel for channel in _kept_channels(world, self._described)}
        messages = _kept_messages(world, channels)
        for count, message in enumerate(messages, 1):
            attachments, room = _kept_files(message.attachments, room)
            lines.append({"message": to_json(message) | {"attachments": attachments}})
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)
        around = _surroundings(world, channels, self._described, messages)
        last = world.snowflakes.new()
        header = {"format": FORMAT, "url": self._state.url, "world": self._name, "last_id": last}
        return [header, *lines, *({kind: record} for kind, record in around)]


def _described_channels(world: World) -> list[list[str]]:
    """Return what distinguishes this world from another one."""
    return [[str(channel.id), channel.name] for channel in world.channels.values()]


# What is kept.


def _kept_channels(world: World, described: frozenset[int]) -> Iterator[Channel]:
    """Return the described channels and the newest others, parents first."""
    added = sorted((c for c in world.channels.values() if c.id not in described), key=_by_id)
    kept = {number for number in described if number in world.channels}
    yield from (world.channels[number] for number in kept)
    # A thread may have the id of an older message, so it can be older than its parent's channel.
    for channel in sorted(added[-CHANNELS_MOST:], key=lambda one: one.thread is not None):
        if channel.thread is None or channel.parent_id in kept:
            kept.add(channel.id)
            yield channel


def _by_id(record: Channel | StageMessage) -> int:
    return record.id


def _kept_messages(world: World, channels: Iterable[int]) -> list[StageMessage]:
    """Return the newest messages, newest first, without those that only one person sees.

    An answer that is still awaited is left out: nothing will complete it any more.
    """
    recent = [
        [
            message
            for message in world.messages.get(channel, {}).values()
            if message.ephemeral_to is None and not message.flags & MessageFlag.LOADING
        ][-MESSAGES_MOST:]
        for channel in channels
    ]
    return sorted(chain.from_iterable(recent), key=_by_id, reverse=True)[:ALL_MESSAGES_MOST]


def _surroundings(
    world: World,
    channels: dict[int, Channel],
    described: frozenset[int],
    messages: list[StageMessage],
) -> Iterator[tuple[str, Json]]:
    for user in world.users.values():
        yield "user", to_json(user)
    for guild in world.guilds.values():
        for member in guild.members.values():
            yield "member", {"guild_id": guild.id, "member": to_json(member)}
    for channel in channels.values():
        if channel.id not in described:
            yield "channel", to_json(channel)
    for webhook in world.webhooks.values():
        if webhook.channel_id in channels:
            yield "webhook", to_json(webhook)
    for name in {m.avatar for g in world.guilds.values() for m in g.members.values()}:
        if name in world.pictures:
            yield "picture", {"name": name, "content": world.pictures[name]}
    for number in {message.interaction_id for message in messages if message.interaction_id}:
        if number in world.interactions:
            yield "interaction", to_json(world.interactions[number])


def _kept_files(files: list[Attachment], room: int) -> tuple[list[Json], int]:
    """Return the files, each that does not fit replaced by a note, and the room left."""
    kept = []
    for file in files:
        if len(file.content) <= room:
            room -= len(file.content)
            kept.append(to_json(file))
        else:
            kept.append(to_json(_left_out(file)))
    return kept, room


def _left_out(file: Attachment) -> Attachment:
    """Return the text file that takes the place of a file, and tells people and the bot so."""
    size = f"{len(file.content) / 2**20:.1f} MB"
    words = f"{file.filename} ({size}) was not kept when the stage was restarted.\n"
    name = f"{file.filename}.not-kept.txt"
    return Attachment(file.id, name, words.encode("utf-8", "replace"), "text/plain")


def _write(path: Path, lines: Iterable[Json]) -> None:
    """Write the file atomically, for its owner only.

    Each line is encoded by itself, since a long call of the encoder would stop the event loop too.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line, default=_encoded, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _encoded(content: bytes) -> str:
    return b64encode(content).decode("ascii")


# What is restored.


@dataclass(slots=True)
class _FoundRecords:
    users: dict[int, User] = field(default_factory=dict)
    members: list[tuple[int, Member]] = field(default_factory=list)
    channels: dict[int, Channel] = field(default_factory=dict)
    webhooks: dict[int, Webhook] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    interactions: dict[int, Interaction] = field(default_factory=dict)
    messages: list[StageMessage] = field(default_factory=list)

    def largest_id(self) -> int:
        ids = [*self.users, *self.channels, *self.webhooks, *self.interactions]
        ids += [message.id for message in self.messages]
        ids += [file.id for message in self.messages for file in message.attachments]
        return max(ids, default=0)


def _header(line: str, name: list[list[str]]) -> Json:
    header = json.loads(line)
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ValueError("no header")
    if header["format"] > FORMAT:
        raise UnusableFileError("was written by a newer version")
    if header.get("world") != name:
        raise UnusableFileError("belongs to a world with other channels")
    if not isinstance(header.get("url"), str) or not header["url"]:
        raise ValueError("no url")
    if not isinstance(header.get("last_id"), int) or header["last_id"] >= ID_END:
        raise ValueError("no last id")
    return header


def _read(lines: list[Any], world: World) -> _FoundRecords:
    """Read everything before anything is used. Raises ValueError if something is missing."""
    found = _FoundRecords()
    readers: dict[str, Callable[[Any], None]] = {
        "user": lambda one: _put(found.users, from_json(User, one)),
        "member": lambda one: found.members.append(
            (from_json(int, one["guild_id"]), from_json(Member, one["member"]))
        ),
        "channel": lambda one: _put(found.channels, from_json(Channel, one)),
        "webhook": lambda one: _put(found.webhooks, from_json(Webhook, one)),
        "picture": lambda one: found.pictures.update(
            {from_json(str, one["name"]): from_json(bytes, one["content"])}
        ),
        "interaction": lambda one: _put(found.interactions, from_json(Interaction, one)),
        "message": lambda one: found.messages.append(from_json(StageMessage, one)),
    }
    for line in lines:
        try:
            ((kind, record),) = line.items()
            readers[kind](record)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"a line is not a record: {error}") from None
    _check(found, world)
    return found


def _put(records: dict[int, Any], record: Any) -> None:
    records[record.id] = record


def _check(found: _FoundRecords, world: World) -> None:
    """Refuse a file that refers to missing things: every later request would fail because of it."""
    users, channels = world.users | found.users, world.channels | found.channels
    people = [i.user_id for i in found.interactions.values()]
    people += [c.recipient_id for c in found.channels.values() if c.recipient_id is not None]
    places = [m.channel_id for m in found.messages]
    places += [w.channel_id for w in found.webhooks.values()]
    places += [c.parent_id for c in found.channels.values() if c.thread and c.parent_id]
    guilds = [number for number, _member in found.members]
    guilds += [c.guild_id for c in found.channels.values() if c.guild_id is not None]
    for message in found.messages:
        people += [message.author_id] if not message.username else []
        people += [*message.mentions, *message.notified]
        people += [number for reaction in message.reactions for number in reaction.users]
    missing = [*set(people) - users.keys(), *set(places) - channels.keys()]
    missing += [*set(guilds) - world.guilds.keys()]
    if missing:
        raise ValueError(f"{missing[0]} is not there")
    if found.largest_id() >= ID_END:
        raise ValueError("an id is too large")


def _add(world: World, found: _FoundRecords) -> None:
    world.users = found.users | world.users
    for guild_id, member in found.members:
        _add_member(world, guild_id, member)
    world.channels |= {i: c for i, c in found.channels.items() if i not in world.channels}
    world.webhooks |= found.webhooks
    world.pictures |= found.pictures
    for interaction in found.interactions.values():
        interaction.at = LONG_AGO
        world.interactions[interaction.id] = interaction
    for message in sorted(found.messages, key=_by_id):
        world.messages.setdefault(message.channel_id, {})[message.id] = message
        world.channels[message.channel_id].last_message_id = message.id
        world.attachments |= {file.id: file for file in message.attachments}


def _add_member(world: World, guild_id: int, member: Member) -> None:
    """Add a member who joined later. If they are already there, restore their guild profile."""
    guild = world.guilds[guild_id]
    known = guild.members.get(member.user.id)
    if known is None:
        member.user = world.users.setdefault(member.user.id, member.user)
        member.roles = [role for role in member.roles if role in guild.roles]
        guild.members[member.user.id] = member
        return
    known.nick, known.avatar, known.banner = member.nick, member.avatar, member.banner
    known.bio, known.timeout_until = member.bio, member.timeout_until
