"""Sinks that send with a token instead of the bot's login: interactions, and given webhooks.

Neither has a nonce, so the bot looks for a message with an unknown outcome before it sends it
again. An interaction's token lasts fifteen minutes, and where only a user has installed the app, it
allows five follow-ups.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import discord

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import (
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    SinkAwayError,
    SinkError,
    UnsentError,
    WebhookFace,
    WireState,
)
from oshaberi.discord_io.arrivals import ArrivalSearch, Author
from oshaberi.discord_io.buttons import shows_table, view_of
from oshaberi.discord_io.channels import MentionPolicy, bot_name
from oshaberi.discord_io.requests.answers import MESSAGE_GONE, id_of
from oshaberi.discord_io.requests.parameters import edit_form, follow_up_form, webhook_form
from oshaberi.discord_io.sink import NO_WEBHOOKS_HERE, ClientState, DiscordSink
from oshaberi.discord_io.webhooks import Hook, WebhookHttp
from oshaberi.text.measure import utf16_len

log = logging.getLogger(__name__)

MISSING_ACCESS = 50001
CERTAIN = (DiscordRefusalError, UnsentError, SinkAwayError)
"""After these errors, nothing was created."""


class _TokenArrivalSearch(ArrivalSearch):
    """Looks for messages of one webhook or application."""

    def __init__(
        self, state: ClientState, channel: discord.abc.MessageableChannel, webhook_id: int
    ) -> None:
        super().__init__(
            channel, state.client, state.line, state.webhooks, state.arrivals, state.claims
        )
        self._webhook_id = webhook_id

    def _author(self) -> Author:
        return Author(0, {self._webhook_id})


class TokenSink:
    """The part that both sinks share: it sends without a nonce, but still only once."""

    def __init__(
        self,
        hook: Hook,
        http: WebhookHttp,
        search: ArrivalSearch | None,
        thread_id: int | None = None,
    ) -> None:
        self._hook = hook
        self._http = http
        self._search = search
        self._thread_id = thread_id
        self._doubted: dict[str, float] = {}

    def room(self, _kind: RequestKind) -> RequestRoom | None:
        return None

    async def _once(self, post: Post, form: Any, wire: WireState, newest_id: int) -> int:
        """Create a message.

        If the outcome of an earlier attempt is unknown, look for its message first.
        """
        since = self._doubted.get(post.nonce)
        if since is not None and (found := await self._find(post, since)) is not None:
            return found
        if self._search is not None:
            self._search.begin(post.nonce, newest_id)
        began = loop_time_s()
        try:
            answer = await self._http.execute(post.nonce, self._hook, form, self._thread_id, wire)
            return id_of(answer)
        except CERTAIN:
            raise
        except BaseException:
            if wire.on_wire:
                self._doubted.setdefault(post.nonce, began)
            raise

    async def _find(self, post: Post, since: float) -> int | None:
        if self._search is None:
            raise ArrivalUnknownError("without a client the channel cannot be read")
        return await self._search.find(replace(post, face=post.face or WebhookFace("")), since)

    async def reply_notice(self, _face: WebhookFace, _wire: WireState) -> Sent | None:
        return None


# A webhook that the caller has.


class WebhookSink(TokenSink):
    """The sink of an answer that a given webhook sends, under any name and face.

    Without a client (`state`), nothing can check whether a message arrived, so one with an unknown
    outcome is not sent again.
    """

    def __init__(
        self, webhook: discord.Webhook, http: WebhookHttp, state: ClientState | None
    ) -> None:
        channel: Any = webhook.channel
        hook = Hook(webhook.id, webhook.token or "")
        search = None
        if state is not None and channel is not None:
            search = _TokenArrivalSearch(state, channel, webhook.id)
        super().__init__(hook, http, search)
        self._webhook = webhook
        self._channel = channel
        self._state = state

    @property
    def display_name(self) -> str | None:
        return self._webhook.name

    async def send(self, post: Post, wire: WireState) -> Sent:
        face = post.face or WebhookFace(self._webhook.name or "Webhook")
        form = webhook_form(post, face, discord.AllowedMentions.none())
        newest = getattr(self._channel, "last_message_id", None) or 0
        created = await self._once(post, form, wire, newest)
        return self._sent(created, post)

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        form = edit_form(post, discord.AllowedMentions.none())
        await self._http.edit(self._hook, _id(sent), form, None, wire)

    async def delete(self, sent: Sent, wire: WireState) -> None:
        await self._http.delete(self._hook, _id(sent), None, wire)

    async def typing(self, _ms: int | None) -> None:
        """Show nothing: a webhook cannot type."""

    async def open_webhook(self) -> None:
        """Do nothing: it is open."""

    async def forget_webhook(self) -> None:
        """Do nothing: nobody but the caller can replace a deleted webhook."""

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        found = await self._find(post, since)
        return [] if found is None else [self._sent(found, post)]

    def _sent(self, message_id: int, post: Post) -> Sent:
        if self._state is not None:
            self._state.claims.claim(message_id, post.nonce)
        place = f"{self._webhook.guild_id or '@me'}/{self._webhook.channel_id or '@me'}"
        url = f"https://discord.com/channels/{place}/{message_id}"
        return Sent(message_id, url, "webhook")


# An interaction: the deferred answer, follow-ups, and what to do when there can be no more.


TOKEN_OVER = frozenset({10015, 10062, 50027})
"""Discord no longer accepts the interaction's token."""
NO_MORE_FOLLOW_UPS = 40094
MOST_CHARACTERS = 2000


@dataclass(slots=True)
class _Slot:
    """A message under the token: what it shows, and the texts that it should show."""

    id: int
    shown: str
    texts: list[str]
    is_text: bool = True
    """Whether it can take more text: a message with files or an embed cannot."""


class InteractionSink(TokenSink):
    """The sink of an answer to an interaction that has been deferred or answered.

    The first message fills the deferred answer. Follow-ups come after it; where Discord accepts no
    more of them, their text is joined to the last ones. When the token has expired, the bot
    continues in the channel, unless the answer is for one person only.
    """

    def __init__(
        self,
        state: ClientState,
        interaction: discord.Interaction[Any],
        *,
        is_ephemeral: bool,
    ) -> None:
        channel = channel_of(interaction)
        search = _TokenArrivalSearch(state, channel, interaction.application_id)
        hook = Hook(interaction.application_id, interaction.token)
        super().__init__(hook, state.webhook_http, search)
        self._state = state
        self._channel = channel
        self._interaction = interaction
        self._is_ephemeral = is_ephemeral
        deferred = discord.InteractionResponseType.deferred_channel_message
        self._is_waiting = interaction.response.type is deferred
        """Whether the deferred answer has no text yet."""
        asker = interaction.user if isinstance(interaction.user, discord.Member) else None
        self._mentions = MentionPolicy(channel, asker, {interaction.user.id})
        self._slots: list[_Slot] = []
        self._joined: set[str] = set()
        self._is_full = False
        self._instead: DiscordSink | None = None
        """The channel itself, when the token has expired."""

    @property
    def display_name(self) -> str | None:
        return bot_name(self._channel, self._state.client)

    async def send(self, post: Post, wire: WireState) -> Sent:
        if self._instead is None:
            try:
                return self._sent(await self._send(post, wire), post)
            except DiscordRefusalError as refusal:
                if refusal.code not in TOKEN_OVER:
                    raise
                self._instead = self._channel_instead(refusal)
        return await self._instead.send(post, wire)

    def _channel_instead(self, refusal: DiscordRefusalError) -> DiscordSink:
        if self._is_ephemeral:
            words = "the interaction's token has expired, and its answer is for one person only"
            raise DiscordRefusalError(MISSING_ACCESS, words) from refusal
        log.info("an interaction's token has expired; going on in channel %s", self._channel.id)
        return DiscordSink(self._state, self._channel, None, self._mentions)

    async def _send(self, post: Post, wire: WireState) -> int:
        if self._is_full:
            return await self._join(post, wire)
        if self._is_waiting and (filled := await self._fill(post, wire)) is not None:
            return filled
        form = self._form(post, is_ephemeral=self._is_ephemeral)
        try:
            created = await self._once(post, form, wire, self._newest_id())
        except DiscordRefusalError as refusal:
            if refusal.code != NO_MORE_FOLLOW_UPS:
                raise
            self._is_full = True
            return await self._join(post, wire)
        self._note(created, post)
        return created

    async def _fill(self, post: Post, wire: WireState) -> int | None:
        """Put the first message into the deferred answer. None if somebody has deleted that.

        It is an edit, which may be repeated.
        """
        form = self._form(replace(post, silent=False))
        try:
            filled = id_of(await self._http.edit(self._hook, "@original", form, None, wire))
        except DiscordRefusalError as refusal:
            if refusal.code != MESSAGE_GONE:
                raise
            self._is_waiting = False
            return None
        self._is_waiting = False
        self._note(filled, post)
        return filled

    def _form(self, post: Post, *, is_ephemeral: bool = False) -> Any:
        allowed = self._mentions.allowed(post.content)
        return follow_up_form(post, allowed, view_of(post), is_ephemeral=is_ephemeral)

    def _note(self, message_id: int, post: Post) -> None:
        is_text = not (post.files or post.embed)
        self._slots.append(_Slot(message_id, post.content, [post.content], is_text))
        if shows_table(post):
            self._state.sources.remember(message_id, post.files[0].source)

    # No more follow-ups.

    async def _join(self, post: Post, wire: WireState) -> int:
        """Join a text to the last messages by edits, and return the one that it is in.

        All edits are planned first. After a failure, the remaining ones are made again.
        """
        if post.nonce not in self._joined:
            self._plan(post)
            self._joined.add(post.nonce)
        for slot in self._slots:
            wanted = "\n".join(slot.texts)
            if slot.shown != wanted:
                form = edit_form(Post("", wanted), discord.AllowedMentions.none())
                await self._http.edit(self._hook, slot.id, form, None, wire)
                slot.shown = wanted
        return self._slots[-1].id

    def _plan(self, post: Post) -> None:
        """Decide which message gets which texts. Raises if there is no room for this one."""
        if post.files or post.embed or not self._slots or not self._slots[-1].is_text:
            raise DiscordRefusalError(NO_MORE_FOLLOW_UPS, "the interaction takes no more messages")
        last = self._slots[-1]
        if _fits([*last.texts, post.content]):
            last.texts.append(post.content)
            return
        slots = self._movable()
        texts = [text for slot in slots for text in slot.texts]
        packed = _packed([*texts, post.content], len(slots))
        if packed is None:
            raise DiscordRefusalError(MISSING_ACCESS, "the interaction takes no more text")
        for slot, share in zip(slots, packed, strict=True):
            slot.texts = share

    def _movable(self) -> list[_Slot]:
        """Return the last messages with nothing but text, which can move to the one before."""
        at = len(self._slots)
        while at > 0 and self._slots[at - 1].is_text:
            at -= 1
        return self._slots[at:]

    # Everything else.

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        slot = next((slot for slot in self._slots if slot.id == sent.id), None)
        if slot is None and self._instead is not None:
            await self._instead.edit(sent, post, wire)
            return
        form = edit_form(post, self._mentions.allowed(post.content))
        await self._http.edit(self._hook, _id(sent), form, None, wire)
        if slot is not None:
            slot.shown, slot.texts = post.content, [post.content]

    async def delete(self, sent: Sent, wire: WireState) -> None:
        if self._instead is not None and all(slot.id != sent.id for slot in self._slots):
            await self._instead.delete(sent, wire)
            return
        await self._http.delete(self._hook, _id(sent), None, wire)
        self._slots = [slot for slot in self._slots if slot.id != sent.id]

    async def typing(self, ms: int | None) -> None:
        """Show the indicator in the channel. Before the first message Discord shows its own."""
        if self._is_waiting or self._is_ephemeral:
            return
        if self._interaction.is_guild_integration() or self._interaction.guild_id is None:
            await self._state.sink(self._channel).typing(ms)

    async def open_webhook(self) -> None:
        raise DiscordRefusalError(NO_WEBHOOKS_HERE, "an interaction is answered by the bot itself")

    async def forget_webhook(self) -> None:
        """Do nothing: there is none."""

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        if self._instead is not None:
            return await self._instead.find_arrivals(post, since)
        found = await self._find(post, since)
        return [] if found is None else [self._sent(found, post)]

    async def _find(self, post: Post, since: float) -> int | None:
        found = await self._found(post, since)
        if found is None and self._is_ephemeral:
            raise ArrivalUnknownError("what only one person sees is in no history")
        return found

    async def _found(self, post: Post, since: float) -> int | None:
        if not self._is_ephemeral:
            return await super()._find(post, since)
        try:
            return await super()._find(post, since)
        except SinkError:
            return None

    async def close(self) -> None:
        """Remove a deferred answer that got no text: it would think for fifteen minutes."""
        if not self._is_waiting:
            return
        self._is_waiting = False
        try:
            await self._http.delete(self._hook, "@original", None)
        except SinkError as error:
            log.debug("a deferred answer could not be removed: %s", error)

    def _sent(self, message_id: int, post: Post) -> Sent:
        self._state.claims.claim(message_id, post.nonce)
        guild_id = self._interaction.guild_id or "@me"
        url = f"https://discord.com/channels/{guild_id}/{self._channel.id}/{message_id}"
        return Sent(message_id, url)

    def _newest_id(self) -> int:
        known = getattr(self._channel, "last_message_id", None) or 0
        return max([known, self._interaction.id, *(slot.id for slot in self._slots)])


def channel_of(interaction: discord.Interaction[Any]) -> Any:
    """Return the channel of an interaction; one without a cache entry can still be written to."""
    channel = interaction.channel
    if isinstance(channel, discord.abc.Messageable):
        return channel
    place, guild_id = interaction.channel_id or 0, interaction.guild_id
    return interaction.client.get_partial_messageable(place, guild_id=guild_id)


def _packed(texts: list[str], count: int) -> list[list[str]] | None:
    """Pack texts into `count` messages, in order, the first ones full. None if they do not fit."""
    packed: list[list[str]] = []
    for at, text in enumerate(texts):
        # As soon as there is a message for each remaining text, each gets its own.
        is_spare = len(texts) - at > count - len(packed)
        if packed and is_spare and _fits([*packed[-1], text]):
            packed[-1].append(text)
        else:
            packed.append([text])
    return packed if len(packed) == count else None


def _fits(texts: list[str]) -> bool:
    return utf16_len("\n".join(texts)) <= MOST_CHARACTERS


def _id(sent: Sent) -> int:
    if sent.id is None:
        raise DiscordRefusalError(MESSAGE_GONE)
    return sent.id
