"""A Discord channel, thread or DM as a sink: one request per call, typed errors.

Also what all sinks of a client share, and the search for a message whose outcome is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import discord
from discord.http import MultipartParameters

from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    WebhookFace,
    WireState,
)
from oshaberi.delivery.typing_indicator import KEEP_ALIVE_SECONDS
from oshaberi.discord_io.arrivals import Arrivals, Author, Claims, SeenArrival, looks_like
from oshaberi.discord_io.buttons import (
    TableSourceLookup,
    offers_retry,
    retry_view,
    shows_table,
    table_view,
)
from oshaberi.discord_io.channels import ChannelAddress, bot_name, may_read_history
from oshaberi.discord_io.histories import ReceivedHistories
from oshaberi.discord_io.mention_policy import MentionPolicy
from oshaberi.discord_io.reply_notice import reply_notice
from oshaberi.discord_io.requests.answers import id_of, objects_of
from oshaberi.discord_io.requests.guards import CircuitBreaker
from oshaberi.discord_io.requests.limits import KnownRooms
from oshaberi.discord_io.requests.parameters import (
    bot_form,
    edit_form,
    notice_form,
    webhook_form,
)
from oshaberi.discord_io.requests.typing_requests import TypingRequests
from oshaberi.discord_io.requests.watch import OnHeaders, RequestSender
from oshaberi.discord_io.webhooks import Hook, Json, ManagedWebhooks, WebhookHttp

# What the sinks of one client share: request sender, webhooks, arrivals, circuit breaker.
#
# `client_state` makes it, once per client.


@dataclass(frozen=True, slots=True)
class SharedSinkState:
    """The objects that the sinks of one client share."""

    client: discord.Client
    line: RequestSender
    webhooks: ManagedWebhooks
    webhook_http: WebhookHttp
    arrivals: Arrivals
    claims: Claims
    circuit: CircuitBreaker
    typing: TypingRequests
    rooms: KnownRooms
    sources: TableSourceLookup
    histories: ReceivedHistories


# Looks for a message whose outcome is unknown: in the gateway's events, then in the history.


PAGE = 100
MOST_PAGES = 5
CLOCK_SLACK = timedelta(seconds=60)
ID_SLACK = 5000 << 22
"""Five seconds in ids: two of Discord's machines may disagree about which of two messages is
newer."""


class ArrivalSearch:
    """The search in one channel. It notes the newest message before each first attempt."""

    def __init__(
        self,
        shared: SharedSinkState,
        channel: discord.abc.MessageableChannel,
        address: ChannelAddress,
    ) -> None:
        self._shared = shared
        self._channel = channel
        self._address = address
        self._before: dict[str, int] = {}

    def begin(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt. Only the first attempt counts."""
        self._before.setdefault(nonce, newest_id)

    def recall(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt of an earlier process."""
        self._before[nonce] = newest_id

    async def find(self, post: Post, since: float) -> int | None:
        """Return the id of the oldest message that may be this post, or None."""
        candidates = self._candidates(
            self._shared.arrivals.of(self._address.channel_id), post, since
        )
        if not any(looks_like(one, post) for one in candidates):
            candidates = self._candidates(await self._history(post, since), post, since)
            if any(one.blank for one in candidates):
                raise ArrivalUnknownError(
                    "what others wrote is hidden: message content intent is off"
                )
        found = [one.id for one in candidates if looks_like(one, post)]
        return min(found, default=None)

    def _start_of(self, post: Post, since: float) -> int:
        """Return the id to search from: noted before the first attempt, else by our clock."""
        known = self._before.get(post.nonce)
        if known:
            return known - ID_SLACK
        ago = timedelta(seconds=asyncio.get_running_loop().time() - since)
        return discord.utils.time_snowflake(discord.utils.utcnow() - ago - CLOCK_SLACK)

    def _candidates(
        self, seen: Iterable[SeenArrival], post: Post, since: float
    ) -> list[SeenArrival]:
        """Return the bot's messages since the first attempt that belong to no other post."""
        start, author, claims = self._start_of(post, since), self._author(), self._shared.claims
        ours = (one for one in seen if one.id > start and author.wrote(one, post))
        return [one for one in ours if claims.free_for(one.id, post.nonce)]

    def _author(self) -> Author:
        user, place = self._shared.client.user, self._address.webhook_channel_id
        ids = frozenset[int]() if place is None else self._shared.webhooks.ids(place)
        return Author(0 if user is None else user.id, ids)

    async def _history(self, post: Post, since: float) -> list[SeenArrival]:
        if not may_read_history(self._channel):
            raise ArrivalUnknownError("the history of this channel cannot be read")
        found: list[SeenArrival] = []
        after = self._start_of(post, since)
        for _ in range(MOST_PAGES):
            page = await self._page(after)
            found += page
            if len(page) < PAGE:
                return found
            after = max(one.id for one in page)
        raise ArrivalUnknownError("too much was written since to find one message in it")

    async def _page(self, after: int) -> list[SeenArrival]:
        request = self._shared.client.http.logs_from(self._address.channel_id, PAGE, after=after)
        try:
            messages = objects_of(await self._shared.line.call(request))
        except DiscordRefusalError as refusal:
            if refusal.retry_after_ms is None:
                raise
            # Too early to look is not the same as never: the sender will look again.
            raise AmbiguousError(str(refusal)) from refusal
        try:
            return [SeenArrival.of_history(message) for message in messages]
        except (KeyError, TypeError, ValueError) as error:
            raise AmbiguousError(f"a history that cannot be read: {error!r}") from error


# A Discord channel, thread or DM as a sink: one request per call, typed errors.


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
