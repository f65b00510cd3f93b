"""The tool `list_memories`: facts about the user and the server, and the last exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oshaberi.tools.builtin.memory_access import has_store, store_of
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool

if TYPE_CHECKING:
    from oshaberi.storage.stored_records import Exchange, Fact

EXCHANGES = 5
_LONGEST = 120


@tool(offered=has_store)
async def list_memories(context: ToolContext) -> str:
    """Show what you remember about the user who asked, about this server and of this channel."""
    from oshaberi.conversation.history_visibility import visible_exchanges

    store, incoming = store_of(context), context.incoming
    parts = [_facts("About the user", await store.facts.of(incoming.server_id, context.user_id))]
    if not incoming.is_direct:
        parts.append(_facts("About the server", await store.facts.of(incoming.server_id, None)))
    recent = await store.memory.recent(incoming.channel_id, EXCHANGES)
    parts.append(_exchanges(visible_exchanges(recent, incoming.said.author, context.user_id)))
    return "\n\n".join(parts)


def _facts(title: str, facts: Sequence[Fact]) -> str:
    lines = [f"#{one.id} {one.text}" for one in facts]
    return "\n".join([f"{title}:", *(lines or ["(nothing)"])])


def _exchanges(recent: Sequence[Exchange]) -> str:
    lines = [f"- {_short(one.asked)} → {_short(one.answered)}" for one in recent]
    return "\n".join(["The last exchanges in this channel:", *(lines or ["(none)"])])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
