"""`/persona profile`: how the bot itself looks in a server. The bot asks about it once."""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer, plain, speak_to_user, tell_error
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.personas.persona_changes import personas_of
from oshaberi.bot.commands.personas.picture_uploads import drop_unused, uploaded_file
from oshaberi.bot.faces.kept_pictures import picture_words
from oshaberi.bot.faces.own_face import BIO_LENGTH, ProfileResult
from oshaberi.bot.faces.pictures import BANNER
from oshaberi.languages import translated

QUESTION_S = 600.0
Bio = app_commands.Range[str, 0, BIO_LENGTH]


async def set_profile(
    context: BotContext,
    asker: CommandUser,
    shown: bool,
    banner: discord.Attachment | None = None,
    bio: str | None = None,
) -> str:
    """Make the bot look like the default persona of the server, or like itself again."""
    asker.must_manage()
    if not asker.server_id:
        raise CommandRefusedError(translated("In direct messages I always look the same."))
    address = None
    if banner is not None:
        raw, words = await uploaded_file(banner), picture_words("", "")
        address = await context.faces.keep(
            asker.server_id, asker.channel_id, raw, words, limits=BANNER
        )
    result = await context.own_faces.choose(
        asker.server_id, is_shown=shown, banner=address, bio=bio
    )
    await drop_unused(context, asker.server_id)
    default = (await personas_of(context, asker.server_id))[0]
    told = (
        translated("In this server I now look like **{name}**.", name=plain(default.name))
        if shown
        else translated("In this server I look like myself again.")
    )
    return " ".join([told, *_remarks(result)])


def _remarks(result: ProfileResult) -> list[str]:
    remarks = []
    if result.failed:
        remarks.append(translated("Discord did not take all of it; the log says why."))
    if result.waits_until is not None:
        when = discord.utils.format_dt(result.waits_until, "R")
        remarks.append(
            translated("Discord lets me change my pictures again {when}; I do it then.", when=when)
        )
    if not result.may_rename:
        remarks.append(translated("For the name I need the permission Change Nickname."))
    return remarks


class ProfileQuestion(discord.ui.View):
    """Asks whether the bot should look like the default persona. Asked once in each server."""

    def __init__(self, name: str) -> None:
        super().__init__(timeout=QUESTION_S)
        shown = translated("Look like {name}", name=name)
        for label, is_shown in ((shown, True), (translated("Stay as you are"), False)):
            style = discord.ButtonStyle.primary if is_shown else discord.ButtonStyle.secondary
            button: discord.ui.Button[Any] = discord.ui.Button(label=label[:80], style=style)
            button.callback = self._pressed(is_shown)  # type: ignore[method-assign]  # as discord.py does it
            self.add_item(button)

    def _pressed(self, is_shown: bool) -> Any:
        async def press(interaction: Interaction) -> None:
            self.stop()
            await interaction.response.defer()
            context, asker = context_of(interaction), asker_of(interaction)
            text = translated("I stay as I am.")
            if is_shown:
                text = await set_profile(context, asker, True)
            nobody = discord.AllowedMentions.none()
            await interaction.edit_original_response(
                content=text, view=None, allowed_mentions=nobody
            )

        return press

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        return True

    async def on_error(
        self, interaction: Interaction, error: Exception, _item: discord.ui.Item[Any], /
    ) -> None:
        await tell_error(interaction, error)


async def ask_about_profile(interaction: Interaction, name: str) -> None:
    """Ask once, after the default persona was chosen or got a picture."""
    context, asker = context_of(interaction), asker_of(interaction)
    if not asker.server_id or not asker.may_manage:
        return
    default = (await personas_of(context, asker.server_id))[0]
    if default.name.casefold() != name.strip().casefold() or not default.avatar_url:
        return
    if await context.own_faces.is_asked(asker.server_id):
        return
    shown = plain(default.name)
    question = translated(
        "Shall I have the name and the picture of **{name}** as my own in this server? "
        "`/persona profile` changes it later.",
        name=shown,
    )
    await interaction.followup.send(
        question,
        view=ProfileQuestion(default.name),
        ephemeral=True,
        allowed_mentions=discord.AllowedMentions.none(),
    )


@app_commands.command(description="Let the bot itself look like the default persona in this server")
@app_commands.describe(
    shown="Its name and picture, or the bot's own again",
    banner="The picture behind the profile",
    bio="The text in the profile",
)
async def profile(
    interaction: Interaction,
    shown: bool,
    banner: discord.Attachment | None = None,
    bio: Bio | None = None,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, set_profile(context, asker, shown, banner, bio))
