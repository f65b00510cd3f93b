"""Makes the sinks of one client, and owns what they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import discord

from oshaberi.discord_io.arrivals import Arrivals, Claims
from oshaberi.discord_io.buttons import TableSourceLookup, TableText
from oshaberi.discord_io.histories import ReceivedHistories
from oshaberi.discord_io.mention_policy import MentionPolicy
from oshaberi.discord_io.message_removal import MessageRemoval
from oshaberi.discord_io.requests.guards import BanGuard, CircuitBreaker, LeaseFence
from oshaberi.discord_io.requests.limits import KnownRooms, RequestBudget, RequestRank
from oshaberi.discord_io.requests.meter import RequestMeter
from oshaberi.discord_io.requests.typing_requests import TypingRequests
from oshaberi.discord_io.requests.watch import RequestSender, RequestTrace, own_trace
from oshaberi.discord_io.sink import DiscordSink, SharedSinkState
from oshaberi.discord_io.token_sinks import InteractionSink, WebhookSink
from oshaberi.discord_io.webhooks import Alone, ManagedWebhooks, WebhookHttp, alone_anyway

MOST_WAITING_REACTIONS = 1000


class ClientState:
    """Makes the sinks of one client and owns what they share (`SharedSinkState`).

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
        self.guard = trace.guard if trace else BanGuard()
        self.budget = trace.budget if trace else RequestBudget()
        fence = trace.fence if trace else LeaseFence()
        meter = trace.meter if trace else RequestMeter()
        outage = self._outage = trace.outage if trace else None
        self._waiting_reactions = 0
        rooms = KnownRooms()
        line = RequestSender(trace, self.guard)
        self.sources = TableSourceLookup()
        self.histories = histories or ReceivedHistories()
        self._shared = SharedSinkState(
            client=client,
            line=line,
            webhooks=ManagedWebhooks(client, line, meter, alone),
            webhook_http=WebhookHttp(
                client.http.user_agent, self.guard, rooms, meter, fence, outage
            ),
            arrivals=Arrivals(),
            claims=Claims(),
            circuit=CircuitBreaker(),
            typing=TypingRequests(client, line, self.guard, self.budget, rooms),
            rooms=rooms,
            sources=self.sources,
            histories=self.histories,
        )
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
        return DiscordSink(self._shared, channel, answering, mentions)

    def interaction_sink(
        self, interaction: discord.Interaction[Any], *, is_ephemeral: bool
    ) -> InteractionSink:
        """Create the sink of an answer to an interaction that has been deferred or answered."""
        return InteractionSink(self._shared, interaction, is_ephemeral=is_ephemeral)

    def webhook_sink(self, webhook: discord.Webhook) -> WebhookSink:
        """Create the sink of an answer that a given webhook sends."""
        return WebhookSink(webhook, self._shared.webhook_http, self._shared)

    async def remove(
        self, channel: discord.abc.MessageableChannel, message_ids: Iterable[int]
    ) -> None:
        """Delete our messages, whether the bot or a webhook sent them."""
        with self.histories.changing(channel.id):
            await MessageRemoval(self._shared, channel).remove(message_ids)

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
            self._shared.circuit.passed(channel_id)
            self._shared.typing.try_again(channel_id)

    async def on_message(self, message: discord.Message) -> None:
        """Note a message of the bot, which proves its arrival. Call this for every message."""
        self.note_message(message)

    def note_message(self, message: discord.Message) -> None:
        """Do the same as `on_message`, from a place that cannot wait."""
        me = self._shared.client.user
        if message.webhook_id is not None or (me is not None and message.author.id == me.id):
            self._shared.arrivals.note(message)

    async def close(self) -> None:
        await self._shared.line.close()
        await self.budget.close()
        await self._shared.webhook_http.close()
