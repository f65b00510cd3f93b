"""The tool `remember`: stores a fact in long-term memory."""

from __future__ import annotations

from oshaberi.tools.builtin.memory_access import About, changeable, has_store, store_of
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolFailedError

LONGEST_FACT = 500


@tool(offered=has_store)
async def remember(context: ToolContext, fact: str, about: About = "user") -> str:
    """Keep a fact for later conversations, when somebody asks you to remember it.

    Args:
        fact: One sentence that makes sense on its own.
        about: Whether it is about the user who asked, or for everybody on the server.
    """
    from oshaberi.storage.stored_records import MOST_FACTS, Fact

    server_id, user_id = changeable(context, about)
    text = " ".join(fact.split())
    facts = store_of(context).facts
    known = await facts.of(server_id, user_id)
    _check(text, [one.text for one in known])
    if len(known) >= MOST_FACTS:
        raise ToolFailedError(f"{MOST_FACTS} facts are kept already; forget some first")
    kept = await facts.add(Fact(server_id, text, user_id, context.now()))
    return f"Remembered as #{kept.id}."


def _check(text: str, known: list[str]) -> None:
    if not text:
        raise ToolFailedError("the fact is empty")
    if len(text) > LONGEST_FACT:
        raise ToolFailedError(f"the fact is longer than {LONGEST_FACT} characters; shorten it")
    if text.casefold() in (one.casefold() for one in known):
        raise ToolFailedError("that is remembered already")
