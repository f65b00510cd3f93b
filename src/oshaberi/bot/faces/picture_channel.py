"""The hidden channel of a server in which the pictures of personas are kept."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import discord
from discord.http import handle_message_parameters

from oshaberi.bot.faces.pictures import FacePicture
from oshaberi.delivery.sink import DiscordRefusalError, SinkError
from oshaberi.discord_io import ClientState
from oshaberi.discord_io.requests.answers import id_of, objects_of
from oshaberi.languages import translated

NAME = "oshaberi-pictures"
MOST_PAGES = 5
_PAGE = 100
_WEEK_MINUTES: Literal[10080] = 10080
_GONE = frozenset({10003, 10008})
_NO_ENTRY = frozenset({10003, 50001, 50013, 50083})
"""After these refusals another channel is tried."""


class NoPictureChannelError(Exception):
    """There is no channel in which the bot could keep a picture."""


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """The message that holds a picture. `url` has no signature."""

    channel_id: int
    message_id: int
    url: str


@dataclass(frozen=True, slots=True)
class WantedPlace:
    """Where a picture of a server is to be kept."""

    server_id: int
    chosen_id: int = 0
    """The channel of the setting `picture_channel_id`, which is then the only one."""
    used_ids: tuple[int, ...] = ()
    """Channels in which pictures of this server are kept already."""
    near_id: int = 0
    """The channel in which a thread is made if the bot may not make a channel."""


class PictureChannel:
    """Keeps pictures as messages of the bot. One per client."""

    def __init__(self, client: discord.Client, state: ClientState) -> None:
        self._client = client
        self._state = state

    async def keep(self, place: WantedPlace, picture: FacePicture, words: str) -> KeptMessage:
        """Upload a picture. Raises NoPictureChannelError, or SinkError if Discord does not answer.

        If no channel was chosen, it goes where the other pictures are, into a new hidden channel,
        or into a private thread.
        """
        given = (place.chosen_id,) if place.chosen_id else place.used_ids
        guild = self._client.get_guild(place.server_id)
        for channel_id in given:
            is_here = guild is not None and guild.get_channel_or_thread(channel_id) is not None
            if place.chosen_id and not is_here:
                continue  # an admin sets the id, and it may be another server's
            if (kept := await self._try(channel_id, picture, words)) is not None:
                return kept
        if not place.chosen_id:
            for make in (self._make_channel, self._make_thread):
                channel_id = await make(place) or 0
                kept = await self._try(channel_id, picture, words) if channel_id else None
                if kept is not None:
                    return kept
        raise NoPictureChannelError

    async def signed_url(self, channel_id: int, message_id: int) -> str | None:
        """Return the picture's URL with a new signature; None if its message is gone."""
        request = self._client.http.get_message(channel_id, message_id)
        try:
            return _url_in(await self._state.line.call(request))
        except DiscordRefusalError as refusal:
            if refusal.code in _GONE:
                return None
            raise

    async def missing(self, channel_id: int, message_ids: Collection[int]) -> frozenset[int]:
        """Return which of these messages of a channel are gone.

        If unsure, a message counts as there.
        """
        left = set(message_ids)
        after = min(left) - 1
        for _page in range(MOST_PAGES):
            request = self._client.http.logs_from(channel_id, _PAGE, after=after)
            try:
                found = [id_of(one, "message") for one in objects_of(await self._call(request))]
            except DiscordRefusalError as refusal:
                return frozenset(left) if refusal.code in _GONE else frozenset()
            left.difference_update(found)
            after = max(found, default=after)
            if len(found) < _PAGE or not left:
                return frozenset(left)
        return frozenset(one for one in left if one <= after)

    async def remove(self, channel_id: int, message_id: int) -> None:
        try:
            await self._call(self._client.http.delete_message(channel_id, message_id))
        except SinkError:
            return  # it is gone, or stays: nothing refers to it any more

    async def tell_owner(self, server_id: int, text: str) -> bool:
        """Write to the owner of a server. Return whether they got it."""
        guild = self._client.get_guild(server_id)
        if guild is None or not guild.owner_id:
            return False
        try:
            opened = await self._call(self._client.http.start_private_message(guild.owner_id))
            nobody = discord.AllowedMentions.none()
            with handle_message_parameters(content=text, allowed_mentions=nobody) as form:
                request = self._client.http.send_message(id_of(opened, "channel"), params=form)
                await self._call(request)
        except SinkError:
            return False
        return True

    async def _call(self, request: Any) -> Any:
        return await self._state.line.call(request)

    async def _try(self, channel_id: int, picture: FacePicture, words: str) -> KeptMessage | None:
        file = discord.File(io.BytesIO(picture.content), picture.file_name, description=words[:500])
        form = handle_message_parameters(
            content=words,
            file=file,
            allowed_mentions=discord.AllowedMentions.none(),
            flags=discord.MessageFlags(suppress_notifications=True),
        )
        with form:
            request = self._client.http.send_message(channel_id, params=form)
            try:
                sent = await self._call(request)
            except DiscordRefusalError as refusal:
                if refusal.code in _NO_ENTRY:
                    return None
                raise
        url = _url_in(sent)
        if url is None:
            return None
        return KeptMessage(channel_id, id_of(sent, "message"), url.partition("?")[0])

    async def _make_channel(self, place: WantedPlace) -> int | None:
        """Make a channel that nobody sees but administrators; None if the bot may not."""
        guild = self._client.get_guild(place.server_id)
        if guild is None or not guild.me.guild_permissions.manage_channels:
            return None
        sees = discord.Permissions(
            view_channel=True, send_messages=True, attach_files=True, read_message_history=True
        )
        hidden = discord.Permissions(view_channel=True)
        overwrites = [
            _overwrite(guild.default_role.id, 0, deny=hidden),
            _overwrite(guild.me.id, 1, allow=sees),
        ]
        request = self._client.http.create_channel(
            guild.id,
            0,
            reason=translated("to keep the pictures of personas"),
            name=NAME,
            topic=translated(
                "The pictures of the bot's personas. If you delete one, the bot uploads it again."
            ),
            permission_overwrites=overwrites,
        )
        return await self._made(request)

    async def _make_thread(self, place: WantedPlace) -> int | None:
        """Make a private thread; None if the bot may not."""
        channel = self._client.get_channel(place.near_id)
        if isinstance(channel, discord.Thread):
            channel = channel.parent
        if not isinstance(channel, discord.TextChannel):
            return None
        allowed = channel.permissions_for(channel.guild.me)
        if not (allowed.create_private_threads and allowed.send_messages_in_threads):
            return None
        request = self._client.http.start_thread_without_message(
            channel.id,
            reason=translated("to keep the pictures of personas"),
            name=NAME,
            auto_archive_duration=_WEEK_MINUTES,
            type=discord.ChannelType.private_thread.value,
            invitable=False,
        )
        return await self._made(request)

    async def _made(self, request: Any) -> int | None:
        try:
            return id_of(await self._call(request), "channel")
        except DiscordRefusalError:
            return None


def _overwrite(
    target_id: int,
    kind: int,
    *,
    allow: discord.Permissions | None = None,
    deny: discord.Permissions | None = None,
) -> dict[str, object]:
    allowed, denied = (str(0 if one is None else one.value) for one in (allow, deny))
    return {"id": target_id, "type": kind, "allow": allowed, "deny": denied}


def _url_in(message: Any) -> str | None:
    files: Iterable[Any] = message.get("attachments") or () if isinstance(message, dict) else ()
    urls = (file.get("url") for file in files if isinstance(file, dict))
    return next((url for url in urls if isinstance(url, str)), None)
