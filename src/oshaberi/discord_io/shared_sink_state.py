"""What the sinks of one client share: request sender, webhooks, arrivals, circuit breaker.

`client_state` makes it, once per client.
"""

from __future__ import annotations

from dataclasses import dataclass

import discord

from oshaberi.discord_io.arrival_matching import Arrivals, Claims
from oshaberi.discord_io.received_histories import ReceivedHistories
from oshaberi.discord_io.requests.bucket_headers import KnownRooms
from oshaberi.discord_io.requests.circuit_breaker import CircuitBreaker
from oshaberi.discord_io.requests.request_watch import RequestSender
from oshaberi.discord_io.requests.typing_requests import TypingRequests
from oshaberi.discord_io.table_button import TableSourceLookup
from oshaberi.discord_io.webhooks.managed_webhooks import ManagedWebhooks
from oshaberi.discord_io.webhooks.webhook_http import WebhookHttp


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
