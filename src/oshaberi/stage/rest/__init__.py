"""The REST side, one file per resource. Each has its table of routes; here they come together."""

from __future__ import annotations

from oshaberi.stage.rest import (
    channels,
    commands,
    guilds,
    interactions,
    messages,
    reactions,
    threads,
    users,
    webhooks,
)
from oshaberi.stage.rest.routes import Endpoint

_TABLES = (
    users.routes,
    guilds.routes,
    channels.routes,
    messages.routes,
    reactions.routes,
    threads.routes,
    webhooks.routes,
    commands.routes,
    interactions.routes,
)
ENDPOINTS: tuple[Endpoint, ...] = tuple(
    endpoint for table in _TABLES for endpoint in table.endpoints
)
"""Order matters: a fixed word in a path stands before the variable that would swallow it."""
