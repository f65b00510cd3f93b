"""The tool `stay_silent`: ends the turn without saying anything (more)."""

from __future__ import annotations

from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool


@tool
async def stay_silent(context: ToolContext) -> str:
    """Say nothing: the message needs no answer from you. You may react to it instead."""
    context.response.chose_silence = True
    return "Nothing is said."
