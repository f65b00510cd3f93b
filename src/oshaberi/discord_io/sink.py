"""A Discord channel, thread or DM as a sink: one request per call, typed errors.

`ClientState` makes the sinks of one client, and owns what they share: the sender of requests, the
webhooks, what arrived, what holds requests back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import discord
from discord.http import MultipartParameters

from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    WebhookFace,
    WireState,
)
from oshaberi.delivery.typing_indicator import KEEP_ALIVE_SECONDS
from oshaberi.discord_io.arrivals import Arrivals, ArrivalSearch, Claims
from oshaberi.discord_io.buttons import TableSourceLookup, TableText, shows_table, view_of
from oshaberi.discord_io.channels import ChannelAddress, MentionPolicy, bot_name
from oshaberi.discord_io.histories import ReceivedHistories
from oshaberi.discord_io.message_changes import MessageRemoval
from oshaberi.discord_io.requests.answers import MESSAGE_GONE, id_of
from oshaberi.discord_io.requests.guards import CircuitBreaker, TypingGate
from oshaberi.discord_io.requests.limits import KnownRooms, RequestRank
from oshaberi.discord_io.requests.parameters import (
    avatar_url,
    bot_form,
    edit_form,
    notice_form,
    reply_notice,
    webhook_form,
)
from oshaberi.discord_io.requests.watch import OnHeaders, RequestSender, RequestTrace, own_trace
from oshaberi.discord_io.webhooks import (
    Alone,
    Hook,
    Json,
    ManagedWebhooks,
    WebhookHttp,
    alone_anyway,
)

MOST_WAITING_REACTIONS = 1000


class ClientState:
    """Makes the sinks of one client and owns what they share.

    Create one per client, inside its loop; close it before the client. `alone` is a lock that
    keeps other processes from creating a second webhook at the same moment. `trace` sees the
    client's requests; without it, the client's `http_trace` is used if it is one of ours.
    """

    def __init__(
        self,
        client: discord.Client,
        alone: Alone = alone_anyway,
        histories: ReceivedHistories | None = None,
        trace: RequestTrace | None = None,
    ) -> None:
        trace = trace or own_trace(client)
        watch = trace or RequestTrace()
        self.guard, self.budget, self._outage = watch.guard, watch.budget, watch.outage
        self._waiting_reactions = 0
        self.client = client
        self.line = RequestSender(trace, self.guard)
        self.rooms = KnownRooms()
        self.webhooks = ManagedWebhooks(client, self.line, watch.meter, alone)
        self.webhook_http = WebhookHttp(
            *(client.http.user_agent, self.guard, self.rooms),
            *(watch.meter, watch.fence, watch.outage),
        )
        self.arrivals = Arrivals()
        self.claims = Claims()
        self.circuit = CircuitBreaker()
        self.typing = TypingGate(self.guard, self.budget, self.rooms)
        self.on_unseen_avatar: Callable[[str], None] = lambda _url: None
        """Called with the avatar's URL if Discord created a webhook message without an avatar."""
        self.sources = TableSourceLookup()
        self.histories = histories or ReceivedHistories()
        client.add_dynamic_items(TableText(self.sources).item())

    def sink(
        self,
        channel: discord.abc.MessageableChannel,
        answering: discord.Message | None = None,
        mentions: MentionPolicy | None = None,
    ) -> DiscordSink:
        """Create the sink of one response. `answering` is the message it replies to.

        `mentions` says whom it may ping. Without it these are the author of that message
        and the users it mentions.
        """
        return DiscordSink(self, channel, answering, mentions)

    async def remove(
        self, channel: discord.abc.MessageableChannel, message_ids: Iterable[int]
    ) -> None:
        """Delete our messages, whether the bot or a webhook sent them."""
        with self.histories.changing(channel.id):
            removal = MessageRemoval(
                channel, self.client.http, self.line, self.webhooks, self.webhook_http
            )
            await removal.remove(message_ids)

    async def may_react(self) -> bool:
        """Return whether a reaction may be set, as soon as Discord answers.

        A reaction may be all that somebody hears about a question, so it waits for Discord too.
        """
        if self._outage is not None and self._outage.is_away:
            if self._waiting_reactions >= MOST_WAITING_REACTIONS:
                return False
            self._waiting_reactions += 1
            try:
                await self._outage.resolved()
            finally:
                self._waiting_reactions -= 1
        return self.allows_reactions

    @property
    def allows_reactions(self) -> bool:
        """Return whether the client may spend requests on reactions now."""
        return self.guard.allows_courtesies and self.budget.allows(RequestRank.REACTION)

    def try_again(self, channel_ids: Iterable[int]) -> None:
        """Close the circuit breakers of these channels, because permissions changed there."""
        for channel_id in channel_ids:
            self.circuit.reset(channel_id)
            self.typing.try_again(channel_id)

    async def on_message(self, message: discord.Message) -> None:
        """Note a message of the bot, which proves its arrival. Call this for every message."""
        self.note_message(message)

    def note_message(self, message: discord.Message) -> None:
        """Do the same as `on_message`, for callers that cannot wait."""
        me = self.client.user
        if message.webhook_id is not None or (me is not None and message.author.id == me.id):
            self.arrivals.note(message)

    async def close(self) -> None:
        await self.line.close()
        await self.budget.close()
        await self.webhook_http.close()


NO_WEBHOOKS_HERE = 50024
WEBHOOK_GONE = 10015
THREAD_ARCHIVED = 50083

SOMETHING_ELSE = ""
"""A nonce that no message has."""


class DiscordSink:
    """The sink of one response. Allows one `send`, `edit` or `find_arrivals` at a time."""

    def __init__(
        self,
        state: ClientState,
        channel: discord.abc.MessageableChannel,
        answering: discord.Message | None = None,
        mentions: MentionPolicy | None = None,
    ) -> None:
        self._state = state
        self._mentions = mentions or MentionPolicy.answering(channel, answering)
        self._http = state.client.http
        self._channel = channel
        self._address = ChannelAddress.of(channel)
        self._answering = answering
        self._newest = max(
            getattr(channel, "last_message_id", None) or 0, answering.id if answering else 0
        )
        self._search = ArrivalSearch(
            channel, state.client, state.line, state.webhooks, state.arrivals, state.claims
        )
        self._woken = False

    @property
    def display_name(self) -> str | None:
        return bot_name(self._channel, self._state.client)

    def room(self, kind: RequestKind) -> RequestRoom | None:
        if not kind.startswith("webhook"):
            return self._state.rooms.of(kind, self._address.channel_id)
        place = self._address.webhook_channel_id
        hook = None if place is None else self._state.webhooks.current(place)
        return None if hook is None else self._state.rooms.of(kind, hook.id)

    async def send(self, post: Post, wire: WireState) -> Sent:
        with self._state.circuit.trying(self._address.channel_id):
            self._search.begin(post.nonce, self.newest_id())
            answer = await self._post_awake(post, wire)
            created = id_of(answer)
        self._state.typing.message_came(self._address.channel_id)
        self._note_avatar(post, answer)
        return self._note_sent(created, post)

    def recall(self, nonce: str, newest_id: int, message_id: int | None = None) -> None:
        """Note an attempt of an earlier process: where to look for it, or its message id."""
        self._search.recall(nonce, newest_id)
        if message_id is not None:
            self._state.claims.claim(message_id, nonce)

    def leave_out(self, message_ids: Iterable[int]) -> None:
        """Exclude messages from the arrival check, because they are known to be other messages."""
        for message_id in message_ids:
            self._state.claims.claim(message_id, SOMETHING_ELSE)

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        if sent.id is None:
            raise DiscordRefusalError(MESSAGE_GONE)
        form = edit_form(post, self._mentions.allowed(post.content))
        with self._state.histories.changing(self._address.channel_id):
            if sent.via == "webhook":
                hook, thread_id = self._hook(), self._address.thread_id
                await self._state.webhook_http.edit(hook, sent.id, form, thread_id, wire)
                return
            request = self._http.edit_message(self._address.channel_id, sent.id, params=form)
            await self._state.line.call(request, wire, self._note_room("edit"))

    async def delete(self, sent: Sent, wire: WireState) -> None:
        if sent.id is None:
            raise DiscordRefusalError(MESSAGE_GONE)
        with self._state.histories.changing(self._address.channel_id):
            if sent.via == "webhook":
                hook, thread_id = self._hook(), self._address.thread_id
                await self._state.webhook_http.delete(hook, sent.id, thread_id, wire)
                return
            request = self._http.delete_message(self._address.channel_id, sent.id)
            await self._state.line.call(request, wire)

    async def typing(self, ms: int | None) -> None:
        """Show the typing indicator for this long; None means until it is renewed."""
        channel_id = self._address.channel_id
        seconds = KEEP_ALIVE_SECONDS if ms is None else ms / 1000
        if ms == 0 or not self._state.typing.may_show(channel_id, seconds):
            return
        with self._state.typing.showing(channel_id):
            request = self._http.send_typing(channel_id)
            await self._state.line.call(request, on_headers=self._note_room("typing"))

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        if self._answering is None:
            return None
        form = notice_form(reply_notice(self._answering), face)
        key = f"notice {self._address.channel_id} {self._answering.id}"
        created = id_of(await self._execute(key, form, wire))
        self._state.claims.claim(created, "notice")
        self._state.histories.note_sent(self._address.channel_id, created)
        return Sent(created, via="webhook")

    async def open_webhook(self) -> None:
        if self._address.webhook_channel_id is None:
            raise DiscordRefusalError(NO_WEBHOOKS_HERE, "there are no webhooks here")
        await self._state.webhooks.open(self._address.webhook_channel_id)

    async def forget_webhook(self) -> None:
        if self._address.webhook_channel_id is not None:
            self._state.webhooks.forget(self._address.webhook_channel_id)

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        found = await self._search.find(post, since)
        return [] if found is None else [self._note_sent(found, post)]

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
            await self._state.line.call(self._http.edit_channel(thread_id, archived=False))
        except DiscordRefusalError as worse:
            raise refusal from worse

    async def _post(self, post: Post, wire: WireState) -> Any:
        view = view_of(post) if post.files or post.embed or post.buttons else None
        allowed = self._mentions.allowed(post.content)
        if post.face is not None:
            form = webhook_form(post, post.face, allowed, view)
            return await self._execute(post.nonce, form, wire)
        form = bot_form(post, allowed, self._reference(post), view)
        request = self._http.send_message(self._address.channel_id, params=form)
        return await self._state.line.call(request, wire, self._note_room("send"))

    def _note_room(self, kind: RequestKind) -> OnHeaders:
        return partial(self._state.rooms.note, kind, self._address.channel_id)

    async def _execute(self, key: str, form: MultipartParameters, wire: WireState) -> Json:
        http, thread_id = self._state.webhook_http, self._address.thread_id
        return await http.execute(key, self._hook(), form, thread_id, wire)

    def _reference(self, post: Post) -> Any:
        """Return the reply reference. If the message was deleted, the answer is still sent."""
        if not post.reply or self._answering is None:
            return None
        reference = self._answering.to_reference(fail_if_not_exists=False)
        return reference.to_message_reference_dict()

    def _hook(self) -> Hook:
        place = self._address.webhook_channel_id
        hook = None if place is None else self._state.webhooks.current(place)
        if hook is None:
            raise DiscordRefusalError(WEBHOOK_GONE, "no webhook is open")
        return hook

    def _note_avatar(self, post: Post, answer: Any) -> None:
        wanted = post.face and avatar_url(post.face)
        author = answer.get("author") if isinstance(answer, dict) else None
        if wanted and isinstance(author, dict) and author.get("avatar", "") is None:
            self._state.on_unseen_avatar(wanted)

    def _note_sent(self, message_id: int, post: Post) -> Sent:
        self._state.claims.claim(message_id, post.nonce)
        self._state.histories.note_sent(self._address.channel_id, message_id)
        self._newest = max(self._newest, message_id)
        if post.files and shows_table(post):
            self._state.sources.remember(message_id, post.files[0].source)
        return Sent(message_id, self._address.link(message_id), post.via)

    def newest_id(self) -> int:
        """Return the id of the newest known message before an attempt, by Discord's clock."""
        return max(self._newest, getattr(self._channel, "last_message_id", None) or 0)
