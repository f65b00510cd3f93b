"""Keeps the pictures of personas, and decides which of their addresses can be shown now.

A picture is uploaded once into a hidden channel of the server, and shown by the URL of that message
without its signature, which Discord signs anew by itself (facts). A copy in the data folder
replaces a message that is gone. If Discord does not show the bare URL, the bot signs it anew by
reading the message. An address that cannot be loaded is never given to Discord.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import discord

from oshaberi.bot.faces.picture_channel import (
    NoPictureChannelError,
    PictureChannel,
    WantedPlace,
)
from oshaberi.bot.faces.pictures import (
    FACE,
    FacePicture,
    PictureRefusedError,
    fetched_file,
    made_picture,
)
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import PersonaRecord, PictureRecord
from oshaberi.bot.turns.caches import BoundedCache, KeyedLocks, StoredCache
from oshaberi.bot.turns.services.turn_services import BackgroundTasks
from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.delivery.sink import SinkError
from oshaberi.errors import Sentence
from oshaberi.languages import translated
from oshaberi.providers.images.preparation import ImageLimits
from oshaberi.public_fetching import PublicWeb

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""The longest that an answer waits until its pictures are checked."""
LOADED_SECONDS = 3600.0
FAILED_SECONDS = 600.0
"""How long the result of checking an address from elsewhere stays valid."""
RENEW_SECONDS = 3600.0
"""A signed URL is replaced this long before it expires."""
MOST_SERVERS = 1000
MOST_CHECKED = 4000
MOST_CHECKS = 4
"""How many addresses from elsewhere are fetched at once: each may be 10 MB."""

Rows = Mapping[str, PictureRecord]
Alone = Callable[[str], AbstractAsyncContextManager[object]]
ChosenChannel = Callable[[int], Awaitable[int]]
"""Returns the channel in which a server wants its pictures kept; 0 if it has not said."""


@dataclass(frozen=True, slots=True)
class KeptPictures:
    """The result for several files: addresses by name, and the reasons for refusals."""

    addresses: Mapping[str, str]
    refused: Mapping[str, str]


class Faces:
    """The pictures of all servers of one process. `connect` gives it a client."""

    def __init__(
        self, db: Database, files: PictureFiles, web: PublicWeb, chosen: ChosenChannel
    ) -> None:
        self._db = db
        self._files = files
        self._web = web
        self._chosen = chosen
        self._channel: PictureChannel | None = None
        self._alone: Alone = lambda _what: nullcontext()
        self._rows: StoredCache[int, Rows] = StoredCache(MOST_SERVERS, "personas")
        self._locks: KeyedLocks[int] = KeyedLocks()
        self._verified: set[int] = set()
        """The servers whose kept messages were looked for since they may have been deleted."""
        self._channel_ids: set[int] = set()
        self._checked: BoundedCache[str, tuple[bool, float]] = BoundedCache(MOST_CHECKED)
        self._checking: dict[str, asyncio.Task[bool]] = {}
        self._checks = asyncio.Semaphore(MOST_CHECKS)
        self._signed: BoundedCache[str, tuple[str, float]] = BoundedCache(MOST_CHECKED)
        self._background = BackgroundTasks()

    def connect(self, channel: PictureChannel, alone: Alone) -> None:
        self._channel, self._alone = channel, alone
        self._background.start("reading the picture channels", self._learn_channels())

    async def close(self) -> None:
        for task in self._checking.values():
            task.cancel()
        await self._background.settle(0.1)

    # Keeping

    async def fetch(self, address: str) -> bytes:
        """Fetch a file from an address of the public web. Raises PictureRefusedError."""
        return await fetched_file(self._web, address)

    async def keep(
        self,
        server_id: int,
        near_id: int,
        raw: bytes,
        words: str,
        limits: ImageLimits = FACE,
    ) -> str:
        """Keep a picture of a server and return its address. Raises PictureRefusedError.

        `words` are its caption in the channel; `near_id` is where a thread may be made for it.
        """
        if not server_id:
            raise PictureRefusedError(
                Sentence("In direct messages I always show my own face: there are no webhooks.")
            )
        picture = await made_picture(raw, limits)
        async with self._locks.through(server_id), self._alone(f"pictures:{server_id}"):
            rows = {one.digest: one for one in await self._db.pictures.of(server_id)}
            known = rows.get(picture.digest)
            if known is not None and not await self._is_gone(known):
                return known.address
            await self._files.write(
                server_id, picture.digest, picture.content_type, picture.content
            )
            used = [one.channel_id for one in reversed(rows.values()) if one.channel_id]
            record = await self._uploaded(server_id, near_id, picture, words, used)
            if known is not None:
                await self._db.pictures.move(known, record)
                return known.address
            await self._db.pictures.save(record)
            return record.address

    async def keep_all(
        self, server_id: int, near_id: int, files: Mapping[str, bytes], whose: str
    ) -> KeptPictures:
        """Keep several pictures by name. One that is refused does not hold up the others."""
        kept: dict[str, str] = {}
        refused: dict[str, str] = {}
        for name, raw in files.items():
            words = picture_words(whose, name)
            try:
                kept[name] = await self.keep(server_id, near_id, raw, words)
            except PictureRefusedError as refusal:
                refused[name] = refusal.args[0]
        return KeptPictures(kept, refused)

    async def _uploaded(
        self, server_id: int, near_id: int, picture: FacePicture, words: str, used: Iterable[int]
    ) -> PictureRecord:
        place = WantedPlace(
            server_id, await self._chosen(server_id), tuple(dict.fromkeys(used)), near_id
        )
        if self._channel is None:
            raise PictureRefusedError(Sentence("I am starting. Try again in a moment."))
        try:
            kept = await self._channel.keep(place, picture, words)
        except NoPictureChannelError:
            raise PictureRefusedError(_no_channel(place)) from None
        except SinkError as error:
            log.warning("a picture of server %s could not be kept: %s", server_id, error)
            raise PictureRefusedError(
                Sentence("Discord did not take the picture. Try again later.")
            ) from None
        self._channel_ids.add(kept.channel_id)
        return PictureRecord(
            server_id,
            address=kept.url,
            url=kept.url,
            digest=picture.digest,
            content_type=picture.content_type,
            channel_id=kept.channel_id,
            message_id=kept.message_id,
        )

    async def _is_gone(self, row: PictureRecord) -> bool:
        if self._channel is None:
            return False
        try:
            return await self._channel.signed_url(row.channel_id, row.message_id) is None
        except SinkError:
            return False

    async def drop_unused(self, server_id: int, used: Iterable[str | None]) -> None:
        """Delete the pictures that no persona of the server names any more."""
        if not server_id:
            return
        async with self._locks.through(server_id):
            rows, named = await self._db.pictures.of(server_id), set(used)
            gone = [one for one in rows if one.address not in named]
            if not gone:
                return
            await self._db.pictures.delete(server_id, [one.address for one in gone])
            for one in gone:
                if not one.digest:
                    continue
                await self._files.delete(server_id, one.digest, one.content_type)
                if self._channel is not None and one.message_id:
                    await self._channel.remove(one.channel_id, one.message_id)

    async def copy_of(self, server_id: int, address: str) -> FacePicture | None:
        """Return a kept picture from the data folder."""
        row = (await self._rows_of(server_id)).get(address)
        if row is None or not row.digest:
            return None
        content = await self._files.read(server_id, row.digest, row.content_type)
        return None if content is None else FacePicture(content, row.content_type)

    # Showing

    async def usable(
        self, server_id: int, persona: PersonaRecord, others: Sequence[PersonaRecord]
    ) -> tuple[PersonaRecord, tuple[PersonaRecord, ...]]:
        """Return the personas with addresses that Discord can show, and None for the others.

        It waits for the pictures of `persona`, who answers, and only looks up those of the others.
        """
        own = _addresses(persona)
        if not own and not any(one.avatar_url for one in others):
            return persona, tuple(others)
        try:
            rows = await self._rows_of(server_id)
        except StorageError as error:
            log.warning("the pictures of server %s are not known now: %s", server_id, error)
            rows = {}
        rows = await self._present(server_id, rows, own)
        shown = dict(zip(own, await self._all_shown(rows, own), strict=True))
        lost = [one for one in own if shown[one] is None and self._is_settled(one, rows)]
        if lost and server_id:
            self._background.start("telling of lost pictures", self._tell(server_id, persona, lost))
        known = {one.avatar_url: self._known(one.avatar_url, rows) for one in others}
        return _with(persona, shown), tuple(
            replace(one, avatar_url=known[one.avatar_url]) for one in others
        )

    async def _all_shown(self, rows: Rows, addresses: Sequence[str]) -> list[str | None]:
        """Return what can be shown for each address.

        One that takes too long is left out this time.
        """
        tasks = [asyncio.create_task(self._shown(one, rows.get(one))) for one in addresses]
        if not tasks:
            return []
        _done, late = await asyncio.wait(tasks, timeout=CHECK_SECONDS)
        for task in late:
            task.cancel()
        return [task.result() if task not in late else None for task in tasks]

    async def _shown(self, address: str, row: PictureRecord | None) -> str | None:
        if row is not None and row.digest:
            return await self._current_url(row) if row.needs_signature else row.url or None
        if is_discords_own(address):
            return address
        return address if await self._loads(address) else None

    def _known(self, address: str | None, rows: Rows) -> str | None:
        """Return what is known without a request; an unknown address is checked for next time."""
        if address is None:
            return None
        row = rows.get(address)
        if row is not None and row.digest:
            return row.url or None
        if is_discords_own(address):
            return address
        known = self._fresh(address)
        if known is None:
            self._background.start("checking a picture", self._loads(address))
        return address if known else None

    def _is_settled(self, address: str, rows: Rows) -> bool:
        row = rows.get(address)
        return (row is not None and bool(row.digest)) or self._fresh(address) is False

    async def _rows_of(self, server_id: int) -> Rows:
        async def load() -> Rows:
            return {one.address: one for one in await self._db.pictures.of(server_id)}

        return await self._rows.get(self._db.changes, server_id, server_id, load)

    # Addresses from elsewhere: they are fetched through the guard to see whether they load.

    async def _loads(self, address: str) -> bool:
        known = self._fresh(address)
        if known is not None:
            return known
        task = self._checking.get(address)
        if task is None:
            task = self._checking[address] = asyncio.create_task(self._check(address))
            task.add_done_callback(lambda _task: self._checking.pop(address, None))
        return await asyncio.shield(task)

    async def _check(self, address: str) -> bool:
        async with self._checks:
            try:
                await made_picture(await self.fetch(address))
                loads = True
            except PictureRefusedError as refusal:
                log.info("the picture of a persona cannot be loaded: %s", refusal)
                loads = False
        self._checked.put(address, (loads, loop_time_s()))
        return loads

    def _fresh(self, address: str) -> bool | None:
        loads, at_s = self._checked.get(address, (False, 0.0))
        lasts_s = LOADED_SECONDS if loads else FAILED_SECONDS
        return loads if at_s and loop_time_s() - at_s < lasts_s else None

    # Kept messages are looked up once, and again after a deletion.

    async def _learn_channels(self) -> None:
        self._channel_ids |= await self._db.pictures.channels()

    def note_deleted(self, server_id: int, channel_id: int) -> None:
        """Note that messages of a channel, or the channel itself, were deleted."""
        if channel_id in self._channel_ids:
            self._verified.discard(server_id)

    def note_brought_in(self, server_id: int) -> None:
        """Note that a server got pictures that exist only as copies, not on Discord yet."""
        self._verified.discard(server_id)

    def note_unseen(self, url: str) -> None:
        """Note that a webhook message came back without the avatar that it was given."""
        self._checked.forget(url)
        self._background.start("looking for a kept picture", self._look_into(url))

    async def _look_into(self, url: str) -> None:
        row = await self._db.pictures.by_url(url.partition("?")[0])
        if row is None or not row.digest:
            return
        if await self._is_gone(row):
            self._verified.discard(row.server_id)
        elif not row.needs_signature:
            log.warning("Discord does not show a kept picture by its bare URL: it is signed anew")
            await self._db.pictures.save(replace(row, needs_signature=True))

    async def _present(self, server_id: int, rows: Rows, addresses: Sequence[str]) -> Rows:
        """Upload kept pictures again if their messages are gone. Return the updated rows."""
        kept = [one for one in rows.values() if one.digest]
        channel = self._channel
        if server_id in self._verified or channel is None or not (set(addresses) & rows.keys()):
            return rows
        try:
            async with asyncio.timeout(CHECK_SECONDS), self._locks.through(server_id):
                if server_id not in self._verified:
                    await self._restore(channel, kept)
                    self._verified.add(server_id)
            return await self._rows_of(server_id)
        except (SinkError, StorageError, TimeoutError) as error:
            log.warning("the pictures of server %s could not be checked: %s", server_id, error)
            self._verified.add(server_id)  # no answer waits for this again
            return rows

    async def _restore(self, channel: PictureChannel, kept: Sequence[PictureRecord]) -> None:
        by_place: dict[int, list[PictureRecord]] = {}
        for one in kept:
            by_place.setdefault(one.channel_id, []).append(one)
        for channel_id, rows in by_place.items():
            # A picture whose upload failed has no message (0), so Discord is not asked about it.
            posted = [one.message_id for one in rows if one.message_id]
            gone = await channel.missing(channel_id, posted) if posted else frozenset()
            for row in rows:
                if not row.message_id or row.message_id in gone:
                    await self._restore_one(row)

    async def _restore_one(self, row: PictureRecord) -> None:
        content = await self._files.read(row.server_id, row.digest, row.content_type)
        lost = replace(row, url="", message_id=0)
        if content is None:
            log.warning("a picture of server %s is gone, and there is no copy", row.server_id)
            await self._db.pictures.save(lost)
            return
        picture, words = FacePicture(content, row.content_type), picture_words("", "")
        try:
            used = [row.channel_id] if row.channel_id else []
            new = await self._uploaded(row.server_id, 0, picture, words, used)
        except PictureRefusedError as refusal:
            log.warning("a picture of server %s is gone: %s", row.server_id, refusal)
            await self._db.pictures.save(lost)
            return
        await self._db.pictures.move(row, new)

    async def _current_url(self, row: PictureRecord) -> str | None:
        """Return a signed URL of a kept picture, renewed in time."""
        url, expires = self._signed.get(row.address, ("", 0.0))
        if utc_now().timestamp() < expires - RENEW_SECONDS:
            return url
        if self._channel is None or not row.url:
            return row.url or None
        try:
            fresh = await self._channel.signed_url(row.channel_id, row.message_id)
        except SinkError:
            return url or row.url
        if fresh is None:
            self._verified.discard(row.server_id)
            return None
        self._signed.put(row.address, (fresh, _expiry(fresh)))
        return fresh

    # Telling

    async def _tell(self, server_id: int, persona: PersonaRecord, lost: Sequence[str]) -> None:
        """Tell the owner of the server once that pictures cannot be loaded."""
        async with self._locks.through(server_id):
            rows = {one.address: one for one in await self._db.pictures.of(server_id)}
            untold = [one for one in lost if one not in rows or rows[one].told_at is None]
            if not untold:
                return
            for address in untold:
                row = rows.get(address, PictureRecord(server_id, address))
                await self._db.pictures.save(replace(row, told_at=utc_now()))
        names = [one.name for one in persona.sprites if one.avatar_url in untold]
        text = translated(
            "A picture of {name} cannot be loaded any more ({what}), so it is not shown. Upload it "
            "again with `/persona avatar` or `/sprite add`.",
            name=discord.utils.escape_markdown(persona.name),
            what=discord.utils.escape_markdown(", ".join(names)) or translated("its own face"),
        )
        told = self._channel is not None and await self._channel.tell_owner(server_id, text)
        log.warning(
            "pictures of a persona of server %s cannot be loaded (%d); the owner %s",
            server_id,
            len(untold),
            "was told" if told else "could not be told",
        )


async def keep_as_copy(db: Database, files: PictureFiles, server_id: int, raw: bytes) -> str:
    """Keep a picture without Discord, and return its address. Raises PictureRefusedError.

    It exists only as a copy, and is uploaded before it is first shown, like one that was deleted.
    """
    picture = await made_picture(raw)
    for row in await db.pictures.of(server_id):
        if row.digest == picture.digest:
            return row.address
    await files.write(server_id, picture.digest, picture.content_type, picture.content)
    address = f"https://cdn.discordapp.com/attachments/0/0/{picture.file_name}"
    await db.pictures.save(
        PictureRecord(server_id, address, digest=picture.digest, content_type=picture.content_type)
    )
    return address


async def stored_copy(
    db: Database, files: PictureFiles, server_id: int, address: str
) -> FacePicture | None:
    """Return the copy of a picture, or None if there is none."""
    for row in await db.pictures.of(server_id):
        if row.address == address and row.digest:
            content = await files.read(server_id, row.digest, row.content_type)
            return None if content is None else FacePicture(content, row.content_type)
    return None


def picture_words(whose: str, name: str) -> str:
    """Return the caption of a picture in its channel."""
    keep = translated("Please leave this message here: the bot shows the picture from it.")
    who = discord.utils.escape_markdown(whose) if whose else ""
    what = f" ({discord.utils.escape_markdown(name)})" if name else ""
    return f"**{who}**{what}: {keep}" if who else keep


def is_discords_own(address: str) -> bool:
    """Return whether Discord's CDN has this picture for good: avatars, emoji, no attachments."""
    api = urlsplit(discord.http.Route.BASE)
    for base in (discord.Asset.BASE, f"{api.scheme}://{api.netloc}/cdn"):
        if address.startswith(f"{base}/"):
            return not address.startswith(f"{base}/attachments/")
    return False


def _addresses(persona: PersonaRecord) -> tuple[str, ...]:
    found = (persona.avatar_url, *(one.avatar_url for one in persona.sprites))
    return tuple(dict.fromkeys(one for one in found if one))


def _with(persona: PersonaRecord, shown: Mapping[str, str | None]) -> PersonaRecord:
    sprites = tuple(
        replace(one, avatar_url=shown[one.avatar_url] if one.avatar_url else None)
        for one in persona.sprites
    )
    avatar = shown[persona.avatar_url] if persona.avatar_url else None
    return replace(persona, avatar_url=avatar, sprites=sprites)


def _expiry(url: str) -> float:
    """Return when the signature of a URL expires, in Unix time; 0 if it does not say."""
    value = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return float(int(value[:16], 16))
    except ValueError:
        return 0.0


def _no_channel(place: WantedPlace) -> Sentence:
    if place.chosen_id:
        return Sentence(
            "I may not post files in <#{channel_id}>, where this server keeps its pictures "
            "(`picture_channel_id`). Let me see it, write and attach files there.",
            channel_id=place.chosen_id,
        )
    return Sentence(
        "I have no channel for pictures here. Let me manage channels, so that I make a hidden one, "
        "or name one in which I may attach files: `/config set picture_channel_id #channel`."
    )
