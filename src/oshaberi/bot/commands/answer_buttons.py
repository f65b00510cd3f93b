"""The buttons under an answer, and *More* in the context menu of a message, which shows the same.

A button's id only says what is meant. Who may do it is decided when it is pressed, by
`bot.turns.turn_control`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.answers import CommandForm, answer, speak_to_user, tell, tell_error
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Interaction,
    client_of,
    context_here,
)
from oshaberi.bot.commands.talk_commands import branch_from, offers_threads
from oshaberi.bot.commands.turn_commands import why_turn
from oshaberi.bot.conversation.answer_buttons import (
    ID_PATTERN,
    AnswerButton,
    ButtonRows,
    PressedButton,
    pressed_button,
    row_to_branch,
    rows_of_menu,
    rows_while_running,
)
from oshaberi.bot.turns.answer_versions import MOST_TEXT
from oshaberi.bot.turns.control_reply import (
    IDLE,
    NO_EDITS,
    NO_TEXT,
    UNKNOWN,
    ControlReply,
)
from oshaberi.languages import translatable, translated

Button = discord.ui.Button[discord.ui.View]
STILL_AT_IT = translatable("One moment: I am still doing what you pressed before.")
WHAT_NEXT = translatable("What would you like to do with this answer?")
WHAT_NEXT_WITH_MESSAGE = translatable("What would you like to do with this message?")


class AnswerItem(discord.ui.DynamicItem[Button], template=ID_PATTERN):
    """A button of an answer, in any message and after any restart."""

    def __init__(self, button: Button) -> None:
        super().__init__(button)

    @classmethod
    def of(cls, button: AnswerButton, row: int) -> AnswerItem:
        return cls(
            Button(
                label=button.label,
                custom_id=button.custom_id,
                disabled=not button.is_enabled,
                row=row,
            )
        )

    @classmethod
    async def from_custom_id(
        cls, _interaction: Interaction, item: discord.ui.Item[Any], _match: re.Match[str], /
    ) -> AnswerItem:
        assert isinstance(item, discord.ui.Button)
        return cls(item)

    async def callback(self, interaction: Interaction) -> None:
        speak_to_user(interaction)
        pressed = pressed_button(self.item.custom_id or "")
        try:
            claim = client_of(interaction).claim
            if pressed is not None and (claim is None or await claim(interaction.id)):
                await _carry_out(interaction, pressed)
        except Exception as error:
            await tell_error(interaction, error)


async def _carry_out(interaction: Interaction, pressed: PressedButton) -> None:
    """Carry out a user's presses one at a time. Each takes many requests, so none is queued."""
    pressing = client_of(interaction).pressing
    who = (interaction.channel_id or 0, interaction.user.id)
    if pressed.action == "stop":
        await _do(interaction, pressed)
        return
    if who in pressing:
        raise CommandRefusedError(translated(STILL_AT_IT))
    pressing.add(who)
    try:
        await _do(interaction, pressed)
    finally:
        pressing.discard(who)


async def _do(interaction: Interaction, pressed: PressedButton) -> None:
    context, asker, turn_channel = context_here(interaction)
    if pressed.action == "menu":
        await _open_menu(interaction, pressed.message_id)
    elif pressed.action == "why":
        await answer(interaction, _why(context, asker, pressed.message_id))
    elif pressed.action == "branch":
        await answer(interaction, branch_from(interaction, pressed.message_id))
    elif pressed.action == "edit":
        await _open_form(interaction, pressed.message_id)
    else:
        # Success needs no words: everybody sees it.
        await interaction.response.defer()
        reply = await _ACTIONS[pressed.action](context, asker, turn_channel, pressed)
        await _settle(interaction, pressed, reply)


async def _again(
    context: BotContext, asker: CommandUser, place: DiscordTurnChannel, pressed: PressedButton
) -> ControlReply:
    asker.must_write()
    return await context.channel_turns.regenerate(place, asker.person, pressed.message_id)


async def _continue(
    context: BotContext, asker: CommandUser, place: DiscordTurnChannel, pressed: PressedButton
) -> ControlReply:
    asker.must_write()
    return await context.channel_turns.continue_(place, asker.person, pressed.message_id)


async def _delete(
    context: BotContext, asker: CommandUser, place: DiscordTurnChannel, pressed: PressedButton
) -> ControlReply:
    return await context.channel_turns.delete(place, pressed.message_id, asker.person)


async def _show(
    context: BotContext, asker: CommandUser, place: DiscordTurnChannel, pressed: PressedButton
) -> ControlReply:
    asker.must_write()
    number = pressed.version or 0
    return await context.channel_turns.show_version(place, pressed.message_id, number, asker.person)


async def _stop(
    context: BotContext, asker: CommandUser, place: DiscordTurnChannel, pressed: PressedButton
) -> ControlReply:
    """Stop the answer that the button belongs to, not one that has started in the channel since."""
    if await context.db.turns.of_message(pressed.message_id) is not None:
        await place.set_buttons(pressed.message_id, ())
        return IDLE
    by = asker.person
    return await context.channel_turns.stop_anywhere(
        place.channel_id, by.id, by.can_manage_messages
    )


_ACTIONS: dict[
    str,
    Callable[[BotContext, CommandUser, DiscordTurnChannel, PressedButton], Awaitable[ControlReply]],
] = {"again": _again, "continue": _continue, "delete": _delete, "show": _show, "stop": _stop}


async def _settle(interaction: Interaction, pressed: PressedButton, reply: ControlReply) -> None:
    """Tell the user the result. The menu that only they see is closed, or shows it."""
    is_menu = interaction.message is not None and interaction.message.flags.ephemeral
    if not is_menu:
        if not reply.ok:
            await tell(interaction, translated(reply.text))
        return
    rows: ButtonRows = ()
    if pressed.action == "show":
        rows = await _rows(interaction, pressed.message_id) or ()
    await interaction.edit_original_response(
        content=translated(reply.text),
        view=_view(rows) if rows else None,
        allowed_mentions=discord.AllowedMentions.none(),
    )


async def _why(context: BotContext, asker: CommandUser, message_id: int) -> str:
    """Explain an answer of this channel: an id alone proves nothing about what a user may see."""
    turn = await context.db.turns.of_message(message_id)
    if turn is None or turn.channel_id != asker.channel_id:
        return translated(UNKNOWN.text)
    return await why_turn(context, asker, message_id, asker.channel_id)


async def _open_menu(interaction: Interaction, message_id: int) -> None:
    rows = await _rows(interaction, message_id)
    if not rows:
        raise CommandRefusedError(translated(UNKNOWN.text))
    is_answer = rows != row_to_branch(message_id)
    what_next = translated(WHAT_NEXT if is_answer else WHAT_NEXT_WITH_MESSAGE)
    await interaction.response.send_message(what_next, view=_view(rows), ephemeral=True)


async def _rows(interaction: Interaction, message_id: int) -> ButtonRows | None:
    """Return what the user may do with an answer; None if it is unknown here."""
    context, asker, turn_channel = context_here(interaction)
    turns = context.channel_turns
    state = await turns.answer_of(turn_channel, message_id, asker.person)
    branch = row_to_branch(message_id) if await offers_threads(context, asker) else ()
    if not isinstance(state, ControlReply):
        rows = rows_of_menu(message_id, state.place, may_edit=state.may_edit)
        return rows + branch
    is_running = turns.is_writing(turn_channel.channel_id, message_id)
    return rows_while_running(message_id) if is_running else branch or None


def _view(rows: ButtonRows) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for number, row in enumerate(rows):
        for button in row:
            view.add_item(AnswerItem.of(button, number))
    return view


async def _open_form(interaction: Interaction, message_id: int) -> None:
    """Open a form with the text of a message, for those who may edit it."""
    context, asker, turn_channel = context_here(interaction)
    asker.must_write()
    turns = context.channel_turns
    state = await turns.answer_of(turn_channel, message_id, asker.person)
    if isinstance(state, ControlReply):
        raise CommandRefusedError(translated(state.text))
    if not state.may_edit:
        raise CommandRefusedError(translated(NO_EDITS.text))
    posted = await turn_channel.message(message_id)
    if posted is None or not posted.content:
        raise CommandRefusedError(translated(NO_TEXT.text))

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        sender.must_write()
        text = values["text"]
        reply = await turns.edit(turn_channel, message_id, text, sender.person)
        return translated(reply.text)

    field: discord.ui.TextInput[Any] = discord.ui.TextInput(
        label=translated("What I said"),
        custom_id="text",
        style=discord.TextStyle.paragraph,
        default=posted.content,
        max_length=MOST_TEXT,
    )
    await interaction.response.send_modal(
        CommandForm(translated("Edit what I said"), (field,), take)
    )


@app_commands.context_menu(name="More")
async def more(interaction: Interaction, message: discord.Message) -> None:
    await _open_menu(interaction, message.id)


MENU_COMMANDS = (more,)
