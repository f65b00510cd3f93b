"""Decides whose memory a tool works on, and who may change it."""

from __future__ import annotations

from typing import Literal

from oshaberi.tools.tool_context import ToolContext, ToolStore
from oshaberi.tools.tool_definition import ToolFailedError

About = Literal["user", "server"]


def has_store(context: ToolContext) -> bool:
    return context.store is not None


def store_of(context: ToolContext) -> ToolStore:
    if context.store is None:
        raise ToolFailedError("nothing can be remembered here: there is no database")
    return context.store


def changeable(context: ToolContext, about: About) -> tuple[int, int | None]:
    """Return the server and user id of the facts that the asking person may change."""
    incoming = context.incoming
    if about == "user":
        return incoming.server_id, context.user_id
    if incoming.is_direct:
        raise ToolFailedError("a direct message belongs to no server; use about='user'")
    if not context.allows("manage_server"):
        raise ToolFailedError("only members who manage the server change what it remembers")
    return incoming.server_id, None
