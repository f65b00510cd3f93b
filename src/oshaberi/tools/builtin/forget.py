"""The tool `forget`: deletes facts from long-term memory."""

from __future__ import annotations

from oshaberi.tools.builtin.memory_access import About, changeable, has_store, store_of
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolFailedError


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
        return f"Forgotten: {await facts.delete_all(server_id, user_id)}."
    gone = [one for one in numbers if await facts.delete(server_id, user_id, one)]
    missing = [one for one in numbers if one not in gone]
    if not gone:
        raise ToolFailedError(f"no such facts: {_listed(numbers)}; list_memories shows all")
    return f"Forgotten: {_listed(gone)}." + (f" No such: {_listed(missing)}." if missing else "")


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"#{one}" for one in numbers) or "none given"
