"""The tools `remember`, `forget` and `list_memories`: facts, and the last exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError, has_store

if TYPE_CHECKING:
    from oshaberi.bot.storage import Database
    from oshaberi.bot.storage.records import Exchange, Fact


# Whose memory a tool works on, and who may change it.


About = Literal["user", "server"]


def store_of(context: ToolContext) -> Database:
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


LONGEST_FACT = 500


@tool(offered=has_store)
async def remember(context: ToolContext, fact: str, about: About = "user") -> str:
    """Keep a fact for later conversations, when somebody asks you to remember it.

    Args:
        fact: One sentence that makes sense on its own.
        about: Whether it is about the user who asked, or for everybody on the server.
    """
    from oshaberi.bot.storage.records import MOST_FACTS, Fact

    server_id, user_id = changeable(context, about)
    text = " ".join(fact.split())
    facts = store_of(context).facts
    known = await facts.of(server_id, user_id)
    _check(text, [one.text for one in known if one.persona_id == context.memory_of])
    if len(known) >= MOST_FACTS:
        raise ToolFailedError(f"{MOST_FACTS} facts are kept already; forget some first")
    own = context.memory_of
    kept = await facts.add(Fact(server_id, text, user_id, context.now(), persona_id=own))
    return f"Remembered as #{kept.id}."


def _check(text: str, known: list[str]) -> None:
    if not text:
        raise ToolFailedError("the fact is empty")
    if len(text) > LONGEST_FACT:
        raise ToolFailedError(f"the fact is longer than {LONGEST_FACT} characters; shorten it")
    if text.casefold() in (one.casefold() for one in known):
        raise ToolFailedError("that is remembered already")


@tool(offered=has_store)
async def forget(
    context: ToolContext, numbers: list[int], about: About = "user", everything: bool = False
) -> str:
    """Delete remembered facts, when somebody asks you to forget them.

    Args:
        numbers: The numbers of the facts, as list_memories shows them.
        about: Whether they are about the user who asked, or the server's.
        everything: Delete all of them; then numbers is an empty list.
    """
    server_id, user_id = changeable(context, about)
    facts = store_of(context).facts
    if everything:
        return f"Forgotten: {await facts.delete_all(server_id, user_id, context.memory_of)}."
    gone = [one for one in numbers if await facts.delete(server_id, user_id, one)]
    missing = [one for one in numbers if one not in gone]
    if not gone:
        raise ToolFailedError(f"no such facts: {_numbers(numbers)}; list_memories shows all")
    return f"Forgotten: {_numbers(gone)}." + (f" No such: {_numbers(missing)}." if missing else "")


def _numbers(numbers: list[int]) -> str:
    return ", ".join(f"#{one}" for one in numbers) or "none given"


EXCHANGES = 5
_LONGEST = 120


@tool(offered=has_store)
async def list_memories(context: ToolContext) -> str:
    """Show what you remember about the user who asked, about this server and of this channel."""
    from oshaberi.bot.conversation.messages import visible_exchanges

    store, incoming = store_of(context), context.incoming
    theirs = await store.facts.of(incoming.server_id, context.user_id)
    parts = [_facts("About the user", theirs, context)]
    if not incoming.is_direct:
        facts = await store.facts.of(incoming.server_id, None)
        parts.append(_facts("About the server", facts, context))
    recent = await store.memory.recent(incoming.channel_id, EXCHANGES)
    if context.memory_of:
        recent = tuple(one for one in recent if one.persona == context.persona_name)
    parts.append(_exchanges(visible_exchanges(recent, incoming.said.author, context.user_id)))
    return "\n\n".join(parts)


def _facts(title: str, facts: Sequence[Fact], context: ToolContext) -> str:
    lines = [f"#{one.id} {one.text}" for one in facts if one.persona_id == context.memory_of]
    return "\n".join([f"{title}:", *(lines or ["(nothing)"])])


def _exchanges(recent: Sequence[Exchange]) -> str:
    lines = [f"- {_short(one.asked)} → {_short(one.answered)}" for one in recent]
    return "\n".join(["The last exchanges in this channel:", *(lines or ["(none)"])])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
