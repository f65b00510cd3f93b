"""The names of people in the results of tools: the same as in the transcript."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oshaberi.tools.tool_context import ToolContext

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import ChannelInfo, Person
    from oshaberi.conversation.transcript_lines import TranscriptNames
    from oshaberi.text.text_config import TextConfig


def names_for(
    context: ToolContext, channel_info: ChannelInfo, others: Iterable[Person] = ()
) -> TranscriptNames:
    """Return unique names, so that nobody can pose as a persona, the bot or another member."""
    from oshaberi.conversation.transcript_lines import ROLES, TranscriptNames

    reserved = (*_persona_names(context.stream.text), channel_info.bot_name, *ROLES)
    return TranscriptNames((*channel_info.people, *others), filter(str.strip, reserved))


def _persona_names(text: TextConfig) -> list[str]:
    ours = [one for one in text.known if one.kind == "persona"]
    names = [name for one in ours for name in (one.name, *one.aliases)]
    return [*names, *([text.persona.name, *text.persona.aliases] if text.persona else ())]
