"""A Discord channel, thread or DM as a sink: one request per call, typed errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import discord
from discord.http import MultipartParameters

from oshaberi.delivery.pacing.typing_indicator import KEEP_ALIVE_SECONDS
from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    WebhookFace,
    WireState,
)
from oshaberi.discord_io.arrival_search import ArrivalSearch
from oshaberi.discord_io.channel_address import ChannelAddress
from oshaberi.discord_io.guild_directory import bot_name
from oshaberi.discord_io.mention_policy import MentionPolicy
from oshaberi.discord_io.requests.request_parameters import (
    bot_form,
    edit_form,
    notice_form,
    webhook_form,
)
from oshaberi.discord_io.requests.request_watch import OnHeaders
from oshaberi.discord_io.requests.success_reading import id_of
from oshaberi.discord_io.retry_button import offers_retry, retry_view
from oshaberi.discord_io.shared_sink_state import SharedSinkState
from oshaberi.discord_io.table_button import shows_table, table_view
from oshaberi.discord_io.webhooks.reply_notice import reply_notice
from oshaberi.discord_io.webhooks.webhook_http import Hook, Json

NO_WEBHOOKS_HERE = 50024
WEBHOOK_GONE = 10015
MESSAGE_GONE = 10008
THREAD_ARCHIVED = 50083

SOMETHING_ELSE = ""
"""A nonce that no message has."""


class DiscordSink:
    """The sink of one response. Allows one `send`, `edit` or `find_arrivals` at a time."""

    def __init__(
        self,
        shared: SharedSinkState,
        channel: discord.abc.MessageableChannel,
        answering: discord.Message | None = None,
        mentions: MentionPolicy | None = None,
    ) -> None:
        self._shared = shared
        self._mentions = mentions or MentionPolicy.answering(channel, answering)
        self._http = shared.client.http
        self._channel = channel
        self._address = ChannelAddress.of(channel)
        self._answering = answering
        self._newest = max(
            getattr(channel, "last_message_id", None) or 0, answering.id if answering else 0
        )
        self._search = ArrivalSearch(shared, channel, self._address)
        self._woken = False

    @property
    def display_name(self) -> str | None:
        return bot_name(self._channel, self._shared.client)

    def room(self, kind: RequestKind) -> RequestRoom | None:
        if not kind.startswith("webhook"):
            return self._shared.rooms.of(kind, self._address.channel_id)
        place = self._address.webhook_channel_id
        hook = None if place is None else self._shared.webhooks.current(place)
        return None if hook is None else self._shared.rooms.of(kind, hook.id)

    async def send(self, post: Post, wire: WireState) -> Sent:
        self._shared.circuit.check(self._address.channel_id)
        self._search.begin(post.nonce, self.newest_id())
        try:
            created = id_of(await self._post_awake(post, wire))
        except DiscordRefusalError as refusal:
            self._shared.circuit.refused(self._address.channel_id, refusal.code)
            raise
        self._shared.circuit.passed(self._address.channel_id)
        self._shared.typing.message_came(self._address.channel_id)
        return self._sent(created, post)

    def recall(self, nonce: str, newest_id: int, message_id: int | None = None) -> None:
        """Note an attempt of an earlier process: where to look for it, or its message id."""
        self._search.recall(nonce, newest_id)
        if message_id is not None:
            self._shared.claims.claim(message_id, nonce)

    def leave_out(self, message_ids: Iterable[int]) -> None:
        """Exclude messages from the arrival check, because they are known to be other messages."""
        for message_id in message_ids:
            self._shared.claims.claim(message_id, SOMETHING_ELSE)

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        if sent.id is None:
            raise DiscordRefusalError(MESSAGE_GONE)
        form = edit_form(post, self._mentions.allowed(post.content))
        with self._shared.histories.changing(self._address.channel_id):
            if sent.via == "webhook":
                hook, thread_id = self._hook(), self._address.thread_id
                await self._shared.webhook_http.edit(hook, sent.id, form, thread_id, wire)
                return
            request = self._http.edit_message(self._address.channel_id, sent.id, params=form)
            await self._shared.line.call(request, wire, self._noted("edit"))

    async def delete(self, sent: Sent, wire: WireState) -> None:
        if sent.id is None:
            raise DiscordRefusalError(MESSAGE_GONE)
        with self._shared.histories.changing(self._address.channel_id):
            if sent.via == "webhook":
                hook, thread_id = self._hook(), self._address.thread_id
                await self._shared.webhook_http.delete(hook, sent.id, thread_id, wire)
                return
            request = self._http.delete_message(self._address.channel_id, sent.id)
            await self._shared.line.call(request, wire)

    async def typing(self, ms: int | None) -> None:
        """Show the typing indicator for so long; None means until it is renewed."""
        if ms != 0:
            seconds = KEEP_ALIVE_SECONDS if ms is None else ms / 1000
            await self._shared.typing.show(self._address.channel_id, seconds)

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        if self._answering is None:
            return None
        form = notice_form(reply_notice(self._answering), face)
        key = f"notice {self._address.channel_id} {self._answering.id}"
        created = id_of(await self._execute(key, form, wire))
        self._shared.claims.claim(created, "notice")
        self._shared.histories.note_sent(self._address.channel_id, created)
        return Sent(created, via="webhook")

    async def open_webhook(self) -> None:
        if self._address.webhook_channel_id is None:
            raise DiscordRefusalError(NO_WEBHOOKS_HERE, "there are no webhooks here")
        await self._shared.webhooks.open(self._address.webhook_channel_id)

    async def forget_webhook(self) -> None:
        if self._address.webhook_channel_id is not None:
            self._shared.webhooks.forget(self._address.webhook_channel_id)

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        found = await self._search.find(post, since)
        return [] if found is None else [self._sent(found, post)]

    async def _post_awake(self, post: Post, wire: WireState) -> Any:
        """Send a post. If the thread is archived, unarchive it once and send again.

        The refused attempt created nothing, so the second one is safe.
        """
        try:
            return await self._post(post, wire)
        except DiscordRefusalError as refusal:
            thread_id = self._address.thread_id
            if refusal.code != THREAD_ARCHIVED or thread_id is None or self._woken:
                raise
            self._woken = True
            await self._wake(thread_id, refusal)
        return await self._post(post, wire)

    async def _wake(self, thread_id: int, refusal: DiscordRefusalError) -> None:
        try:
            await self._shared.line.call(self._http.edit_channel(thread_id, archived=False))
        except DiscordRefusalError as worse:
            raise refusal from worse

    async def _post(self, post: Post, wire: WireState) -> Any:
        view = _view(post)
        allowed = self._mentions.allowed(post.content)
        if post.face is not None:
            form = webhook_form(post, post.face, allowed, view)
            return await self._execute(post.nonce, form, wire)
        form = bot_form(post, allowed, self._reference(post), view)
        request = self._http.send_message(self._address.channel_id, params=form)
        return await self._shared.line.call(request, wire, self._noted("send"))

    def _noted(self, kind: RequestKind) -> OnHeaders:
        return partial(self._shared.rooms.note, kind, self._address.channel_id)

    async def _execute(self, key: str, form: MultipartParameters, wire: WireState) -> Json:
        http, thread_id = self._shared.webhook_http, self._address.thread_id
        return await http.execute(key, self._hook(), form, thread_id, wire)

    def _reference(self, post: Post) -> Any:
        """Return the reply reference. If the message was deleted, the answer is still sent."""
        if not post.reply or self._answering is None:
            return None
        reference = self._answering.to_reference(fail_if_not_exists=False)
        return reference.to_message_reference_dict()

    def _hook(self) -> Hook:
        place = self._address.webhook_channel_id
        hook = None if place is None else self._shared.webhooks.current(place)
        if hook is None:
            raise DiscordRefusalError(WEBHOOK_GONE, "no webhook is open")
        return hook

    def _sent(self, message_id: int, post: Post) -> Sent:
        self._shared.claims.claim(message_id, post.nonce)
        self._shared.histories.note_sent(self._address.channel_id, message_id)
        self._newest = max(self._newest, message_id)
        if shows_table(post):
            self._shared.sources.remember(message_id, post.files[0].source)
        return Sent(message_id, self._address.link(message_id), post.via)

    def newest_id(self) -> int:
        """Return the id of the newest known message before an attempt, by Discord's clock."""
        return max(self._newest, getattr(self._channel, "last_message_id", None) or 0)


def _view(post: Post) -> discord.ui.View | None:
    """Return the button that belongs under a message, or None."""
    if shows_table(post):
        return table_view()
    return retry_view() if offers_retry(post) else None
