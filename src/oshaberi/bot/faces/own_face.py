"""How the bot itself looks in a server: as the default persona there, if the server wants that.

Discord has a profile of the bot for each server: nickname, avatar, banner and bio. What was last
set is stored field by field, so that only changes are sent: Discord lets pictures change only now
and then.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import discord

from oshaberi.bot.faces.kept_pictures import Faces
from oshaberi.bot.faces.pictures import PictureRefusedError, made_picture
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import OwnFaceRecord, PersonaRecord
from oshaberi.bot.turns.caches import KeyedLocks
from oshaberi.clocks import utc_now
from oshaberi.delivery.sink import DiscordRefusalError, SinkError
from oshaberi.discord_io import ClientState

log = logging.getLogger(__name__)

NICK_LENGTH = 32
BIO_LENGTH = 190
RETRY = timedelta(minutes=30)
"""When to try again if Discord does not say: it does not document how often pictures may change."""
_RATE_LIMITED = 429
_BAD_FORM = 50035
"""Discord also reports an invalid form if a picture changes too often. Our forms are valid."""
_PICTURES = ("avatar", "banner")

Default = Callable[[int], Awaitable[PersonaRecord]]
"""Returns the default persona of a server."""


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """The result of a change. `waits_until`: Discord accepts pictures again only then."""

    waits_until: datetime | None = None
    may_rename: bool = True
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _WantedProfile:
    """The fields to set, with the contents of those that are pictures."""

    fields: Mapping[str, str | None]
    """For a picture: its digest. None restores the bot's own."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Data URIs by digest."""


class OwnFaces:
    """The profiles of one process. `connect` gives it a client."""

    def __init__(self, db: Database, faces: Faces, default: Default) -> None:
        self._db = db
        self._faces = faces
        self._default = default
        self._client: discord.Client | None = None
        self._state: ClientState | None = None
        self._locks: KeyedLocks[int] = KeyedLocks()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._changed: set[int] = set()
        self._retries: dict[int, asyncio.TimerHandle] = {}

    def connect(self, client: discord.Client, state: ClientState) -> None:
        self._client, self._state = client, state

    async def aclose(self) -> None:
        for retry in self._retries.values():
            retry.cancel()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def choose(
        self,
        server_id: int,
        *,
        is_shown: bool,
        bio: str | None = None,
        banner: str | None = None,
    ) -> ProfileResult:
        """Store what the server wants, and set it. None leaves the bio or the banner as it is."""
        old = await self._db.own_faces.get(server_id) or OwnFaceRecord(server_id)
        new = replace(
            old,
            is_shown=is_shown,
            bio=old.bio if bio is None else bio,
            banner=old.banner if banner is None else banner,
        )
        await self._db.own_faces.save(new)
        return await self.refresh(server_id)

    async def is_asked(self, server_id: int) -> bool:
        """Return whether the server was asked before, and note that it now has been."""
        if await self._db.own_faces.get(server_id) is not None:
            return True
        await self._db.own_faces.save(OwnFaceRecord(server_id))
        return False

    def refresh_soon(self, server_ids: Iterable[int]) -> None:
        """Set what has changed, in the background."""
        for server_id in server_ids:
            self._start(server_id)

    async def refresh(self, server_id: int) -> ProfileResult:
        """Set what has changed since the last time.

        Waiting for Discord's limits happens elsewhere.
        """
        async with self._locks.through(server_id):
            record = await self._db.own_faces.get(server_id)
            if record is None or self._client is None or self._state is None:
                return ProfileResult(failed=record is not None)
            guild = self._client.get_guild(server_id)
            if guild is None:
                return ProfileResult(failed=True)
            wanted = await self._wanted(record)
            changed = {
                key: value
                for key, value in wanted.fields.items()
                if record.applied.get(key) != value
            }
            may_rename = guild.me.guild_permissions.change_nickname
            if not may_rename:
                changed.pop("nick", None)
            return replace(await self._set(record, changed, wanted), may_rename=may_rename)

    async def _set(
        self, record: OwnFaceRecord, changed: Mapping[str, str | None], wanted: _WantedProfile
    ) -> ProfileResult:
        """Send the changes: first the texts, which have no limit, then the pictures."""
        texts = {key: value for key, value in changed.items() if key not in _PICTURES}
        pictures = {key: value for key, value in changed.items() if key in _PICTURES}
        for part in (texts, pictures):
            if not part:
                continue
            sent = {
                key: wanted.pictures[value] if key in _PICTURES and value else value
                for key, value in part.items()
            }
            try:
                await self._edit(record.server_id, sent)
            except DiscordRefusalError as refusal:
                return self._refused(record.server_id, refusal, has_pictures=part is pictures)
            except SinkError as error:
                log.warning("the profile in server %s was not changed: %s", record.server_id, error)
                return ProfileResult(failed=True)
            record = replace(record, applied={**record.applied, **part})
            await self._db.own_faces.save(record)
        return ProfileResult()

    async def _edit(self, server_id: int, fields: Mapping[str, str | None]) -> None:
        assert self._client is not None
        assert self._state is not None
        request = self._client.http.edit_my_member(server_id, **fields)
        await self._state.line.call(request)

    def _refused(
        self, server_id: int, refusal: DiscordRefusalError, *, has_pictures: bool
    ) -> ProfileResult:
        is_limit = refusal.code == _RATE_LIMITED or (refusal.code == _BAD_FORM and has_pictures)
        if not is_limit:
            log.warning("the profile in server %s was refused: %s", server_id, refusal)
            return ProfileResult(failed=True)
        wait = RETRY
        if refusal.retry_after_ms is not None:
            wait = timedelta(milliseconds=refusal.retry_after_ms)
        self._later(server_id, wait.total_seconds())
        return ProfileResult(waits_until=utc_now() + wait)

    def _start(self, server_id: int) -> None:
        """Refresh in the background; once more if something changes meanwhile."""

        async def work() -> None:
            while server_id in self._changed:
                self._changed.discard(server_id)
                try:
                    await self.refresh(server_id)
                except StorageError as error:
                    log.warning("the profile in server %s was not changed: %s", server_id, error)

        self._changed.add(server_id)
        if server_id not in self._running:
            task = self._running[server_id] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._finish(server_id, done))

    def _finish(self, server_id: int, task: asyncio.Task[None]) -> None:
        self._running.pop(server_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the profile in server %s was not changed: %r", server_id, error)

    def _later(self, server_id: int, seconds: float) -> None:
        """Refresh after a while. Only the last wish of a server counts."""
        if (before := self._retries.pop(server_id, None)) is not None:
            before.cancel()
        loop = asyncio.get_running_loop()
        self._retries[server_id] = loop.call_later(seconds, self._start, server_id)

    async def _wanted(self, record: OwnFaceRecord) -> _WantedProfile:
        if not record.is_shown:
            return _WantedProfile(dict.fromkeys(("nick", "bio", "avatar", "banner")))
        persona = await self._default(record.server_id)
        fields: dict[str, str | None] = {
            "nick": persona.name[:NICK_LENGTH],
            "bio": record.bio[:BIO_LENGTH] or None,
        }
        pictures: dict[str, str] = {}
        for key, address in (("avatar", persona.avatar_url), ("banner", record.banner)):
            uri = await self._data_uri(record.server_id, address)
            digest = None if uri is None else hashlib.sha256(uri.encode()).hexdigest()[:32]
            fields[key] = digest
            if uri is not None and digest is not None:
                pictures[digest] = uri
        return _WantedProfile(fields, pictures)

    async def _data_uri(self, server_id: int, address: str | None) -> str | None:
        if not address:
            return None
        picture = await self._faces.copy_of(server_id, address)
        if picture is None:
            try:
                picture = await made_picture(await self._faces.fetch(address))
            except PictureRefusedError as refusal:
                log.info("the picture of a default persona cannot be loaded: %s", refusal)
                return None
        content = base64.b64encode(picture.content).decode()
        return f"data:{picture.content_type};base64,{content}"
