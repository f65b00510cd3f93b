"""The buttons with which a person allows a tool, or refuses it.

The calls that wait are in `bot.tools.questions`. After a restart nothing waits any more; a press
then removes the question.
"""

from __future__ import annotations

import io
import re
from typing import Any

import discord

from oshaberi.bot.commands.answers import MESSAGE_LIMIT, speak_to_user, tell, tell_error
from oshaberi.bot.commands.command_context import (
    Interaction,
    client_of,
    context_here,
)
from oshaberi.bot.tools.questions import ID_PATTERN, ToolQuestion, pressed_action
from oshaberi.bot.turns.control_reply import NOT_YOURS
from oshaberi.languages import translatable, translated

Button = discord.ui.Button[discord.ui.View]
FILE_NAME = "calls.md"
OVER = translatable("This question is over: nothing waits for it any more.")


class ToolItem(discord.ui.DynamicItem[Button], template=ID_PATTERN):
    """A button of such a question, even of one that an earlier process asked."""

    def __init__(self, button: Button) -> None:
        super().__init__(button)

    @classmethod
    async def from_custom_id(
        cls, _interaction: Interaction, item: discord.ui.Item[Any], _match: re.Match[str], /
    ) -> ToolItem:
        assert isinstance(item, discord.ui.Button)
        return cls(item)

    async def callback(self, interaction: Interaction) -> None:
        speak_to_user(interaction)
        try:
            await _carry_out(interaction, self.item.custom_id or "")
        except Exception as error:
            await tell_error(interaction, error)


async def _carry_out(interaction: Interaction, custom_id: str) -> None:
    context, asker, turn_channel = context_here(interaction)
    pressed = pressed_action(custom_id)
    if pressed is None:
        return
    action, key = pressed
    question = context.services.answer_tools.questions.find(key, asker.channel_id)
    if question is None:
        claim = client_of(interaction).claim
        if claim is None or await claim(interaction.id):
            await tell(interaction, translated(OVER))
            if interaction.message is not None:
                await turn_channel.delete([interaction.message.id])
        return
    if not question.may_decide(asker.person, is_owner=asker.is_owner):
        await tell(interaction, _refusal(question))
        return
    if action == "show":
        await _show(interaction, shown_calls(question))
        return
    if action == "allow":
        asker.must_write()
    if question.decide(allowed=action == "allow"):
        await interaction.response.defer()  # everybody sees the result
    else:
        await tell(interaction, translated(OVER))


async def _show(interaction: Interaction, text: str) -> None:
    """Show the calls in full: nobody can decide about what they do not see."""
    if len(text) <= MESSAGE_LIMIT:
        await tell(interaction, text)
        return
    file = discord.File(io.BytesIO(text.encode("utf-8", "replace")), FILE_NAME)
    await interaction.response.send_message(file=file, ephemeral=True)


def _refusal(question: ToolQuestion) -> str:
    if question.approver == "asker":
        return translated(NOT_YOURS.text)
    if question.approver == "manage_messages":
        return translated("Only members with Manage Messages can decide this.")
    return translated("Only members with Manage Server can decide this.")


def shown_calls(question: ToolQuestion) -> str:
    """Return the calls with their arguments, for those who decide about them."""
    blocks = (
        f"`{one.name}`\n```json\n{one.shown.replace('```', chr(39) * 3)}\n```"
        for one in question.calls
    )
    return "\n".join(blocks)
