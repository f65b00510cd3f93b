"""The REST API.

A request passes `pipeline` and ends in `routes`, one file per resource. Each file has a table
(`routing`); here they are joined. `fault_effects` applies the faults that hit a request.
"""

from __future__ import annotations

from discord_stage.rest.routes import (
    channel_routes,
    command_permission_routes,
    command_routes,
    guild_routes,
    interaction_routes,
    message_routes,
    poll_routes,
    reaction_routes,
    search_routes,
    thread_routes,
    user_routes,
    webhook_routes,
)
from discord_stage.rest.routes.guild import (
    audit_log_routes,
    automod_routes,
    ban_routes,
    emoji_routes,
    invite_routes,
    member_routes,
    role_routes,
    scheduled_event_routes,
    voice_state_routes,
)
from discord_stage.rest.routing import RouteHandler

_TABLES = (
    user_routes.routes,
    member_routes.routes,
    guild_routes.routes,
    ban_routes.routes,
    role_routes.routes,
    emoji_routes.routes,
    invite_routes.routes,
    audit_log_routes.routes,
    scheduled_event_routes.routes,
    automod_routes.routes,
    voice_state_routes.routes,
    channel_routes.routes,
    message_routes.routes,
    search_routes.routes,
    reaction_routes.routes,
    poll_routes.routes,
    thread_routes.routes,
    webhook_routes.routes,
    command_permission_routes.routes,
    command_routes.routes,
    interaction_routes.routes,
)
ENDPOINTS: tuple[RouteHandler, ...] = tuple(
    endpoint for table in _TABLES for endpoint in table.endpoints
)
"""Order matters: a fixed word in a path comes before a variable that would match it too."""
