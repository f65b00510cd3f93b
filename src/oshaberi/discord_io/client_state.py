"""What all sinks of one client share: request sender, webhooks, arrivals, circuit breakers."""

from __future__ import annotations

from collections.abc import Iterable

import discord

from oshaberi.discord_io.arrival_check import Arrivals, Claims
from oshaberi.discord_io.discord_sink import DiscordSink, SharedSinkState
from oshaberi.discord_io.mention_policy import MentionPolicy
from oshaberi.discord_io.message_removal import MessageRemoval
from oshaberi.discord_io.requests.ban_guard import BanGuard
from oshaberi.discord_io.requests.circuit_breaker import CircuitBreaker
from oshaberi.discord_io.requests.request_watch import RequestSender, RequestTrace
from oshaberi.discord_io.table_button import TableSourceLookup, TableText
from oshaberi.discord_io.webhooks.managed_webhooks import Alone, ManagedWebhooks, alone_anyway
from oshaberi.discord_io.webhooks.webhook_http import WebhookHttp

TYPING_OFF_SECONDS = 3600.0


class ClientState:
    """Make one per client, inside its loop; close it before the client.

    `alone` keeps other processes from making a second webhook in the same moment.
    """

    def __init__(self, client: discord.Client, alone: Alone = alone_anyway) -> None:
        trace = client.http.http_trace
        self.guard = trace.guard if isinstance(trace, RequestTrace) else BanGuard()
        line = RequestSender(client, self.guard)
        self.sources = TableSourceLookup()
        self._shared = SharedSinkState(
            client=client,
            line=line,
            webhooks=ManagedWebhooks(client, line, alone),
            webhook_http=WebhookHttp(client.http.user_agent, self.guard),
            arrivals=Arrivals(),
            claims=Claims(),
            circuit=CircuitBreaker(),
            typing_circuit=CircuitBreaker(most=1, open_seconds=TYPING_OFF_SECONDS),
            guard=self.guard,
            sources=self.sources,
        )
        client.add_dynamic_items(TableText(self.sources).item())

    def sink(
        self,
        channel: discord.abc.MessageableChannel,
        answering: discord.Message | None = None,
        mentions: MentionPolicy | None = None,
    ) -> DiscordSink:
        """For one response. `answering` is the message it replies to.

        `mentions` says whom it may ping; without it, the author of that message and whom it names.
        """
        return DiscordSink(self._shared, channel, answering, mentions)

    async def remove(
        self, channel: discord.abc.MessageableChannel, message_ids: Iterable[int]
    ) -> None:
        """Delete messages of ours, whether the bot or a webhook sent them."""
        await MessageRemoval(self._shared, channel).remove(message_ids)

    def try_again(self, channel_ids: Iterable[int]) -> None:
        """Permissions have changed there: what was refused may be allowed now."""
        for channel_id in channel_ids:
            self._shared.circuit.passed(channel_id)
            self._shared.typing_circuit.passed(channel_id)

    async def on_message(self, message: discord.Message) -> None:
        """Call this for every message, also our own: it is how we know that they arrived."""
        me = self._shared.client.user
        if message.webhook_id is not None or (me is not None and message.author.id == me.id):
            self._shared.arrivals.note(message)

    async def close(self) -> None:
        await self._shared.line.close()
        await self._shared.webhook_http.close()
