"""The page's way to move its server: download it as an archive, or bring one in."""

from __future__ import annotations

import asyncio
import base64
import io
from typing import Any, BinaryIO

from discord_stage.control.api import ControlExtension
from discord_stage.errors import StageError
from oshaberi.bot.moving.archive import ArchiveError, ArchiveReader
from oshaberi.bot.moving.checks import Target
from oshaberi.bot.moving.move import Arrival, bring_in, in_words, pack, plan_arrival
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.wiring.bot_wiring import Bot

LARGEST_MB = 40
"""A larger archive is for `oshaberi data import`."""
MOST_LISTED = 200
Json = dict[str, Any]


class ServerMove:
    """`/stage/move`: the page's user is the operator, and may import whatever the command may."""

    def __init__(self, server_id: int) -> None:
        self._server_id = server_id
        self._bot: Bot | None = None

    def give_to(self, bot: Bot) -> None:
        self._bot = bot

    def extension(self) -> ControlExtension:
        return ControlExtension(read=self._read, act=self._act)

    @property
    def _running(self) -> Bot:
        if self._bot is None:
            raise StageError("the bot is not running yet")
        return self._bot

    @property
    def _files(self) -> PictureFiles:
        return PictureFiles(self._running.client.context.settings().data_dir)

    async def _read(self, asked: Json) -> Json:
        """Return the archive of the server; with facts about people only if `memories` is 1."""
        context, file = self._running.client.context, io.BytesIO()
        memories = asked.get("memories") == "1"
        packed = await pack(context.db, self._files, self._server_id, file, memories=memories)
        if file.tell() > LARGEST_MB * 1024 * 1024:
            raise StageError(f"it is larger than {LARGEST_MB} MB: use `oshaberi data export`")
        content = await asyncio.to_thread(base64.b64encode, file.getvalue())
        return {"content": content.decode(), "text": in_words(packed.counts)}

    async def _act(self, asked: Json) -> Json:
        """Return what an archive would add, or import it (`keep`)."""
        context = self._running.client.context
        rule = asked.get("rule")
        target = Target(
            self._server_id,
            context.settings(),
            context.db.opt_outs,
            self._channels(),
            takes_memories=asked.get("memories") is True,
        )
        try:
            reader = await asyncio.to_thread(ArchiveReader, await _file_in(asked))
            if asked.get("keep") is not True:
                return _shown(await plan_arrival(context.db, reader, target, "merge"))
            if rule not in ("merge", "replace"):
                raise StageError("`rule` must be merge or replace")
            arrival = await bring_in(context.db, self._files, reader, target, rule)
        except ArchiveError as error:
            raise StageError(f"The archive cannot be used: {error}.") from None
        except StorageError as error:
            raise StageError(str(error)) from None
        context.faces.note_brought_in(self._server_id)
        context.personas_changed(self._server_id)
        return _shown(arrival)

    def _channels(self) -> frozenset[int]:
        guild = self._running.client.get_guild(self._server_id)
        return frozenset() if guild is None else frozenset(one.id for one in guild.channels)


async def _file_in(asked: Json) -> BinaryIO:
    text = str(asked.get("content") or "")
    if len(text) * 3 // 4 > LARGEST_MB * 1024 * 1024:
        raise StageError(f"it is larger than {LARGEST_MB} MB: use `oshaberi data import`")
    try:
        return io.BytesIO(await asyncio.to_thread(base64.b64decode, text, validate=True))
    except ValueError:
        raise StageError("`content` must be base64") from None


def _shown(arrival: Arrival) -> Json:
    return {
        "text": in_words(arrival.counts),
        "names": arrival.names[:MOST_LISTED],
        "remarks": arrival.remarks,
        "facts": len(arrival.server.rows["facts"]),
    }
