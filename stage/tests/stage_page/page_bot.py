"""A small bot with one of everything that the page has to show."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
from discord import app_commands

Interaction = discord.Interaction[Any]


class Note(discord.ui.Modal, title="A note"):
    subject: discord.ui.TextInput[Any] = discord.ui.TextInput(label="Subject")
    body: discord.ui.TextInput[Any] = discord.ui.TextInput(
        label="Text", style=discord.TextStyle.paragraph, required=False
    )

    async def on_submit(self, interaction: Interaction, /) -> None:
        await interaction.response.send_message(f"noted: {self.subject.value} / {self.body.value}")


class Scales(discord.ui.Modal, title="Weigh files"):
    def __init__(self) -> None:
        super().__init__()
        self.files: discord.ui.FileUpload[Any] = discord.ui.FileUpload(max_values=3)
        self.add_item(discord.ui.Label(text="Files", component=self.files))

    async def on_submit(self, interaction: Interaction, /) -> None:
        sizes = ", ".join(f"{one.filename}: {one.size}" for one in self.files.values)
        await interaction.response.send_message(sizes)


class Counter(discord.ui.View):
    """Counts, whispers, asks, and one button that never answers."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.pressed = 0
        link = "https://example.org/"
        self.add_item(discord.ui.Button(label="Elsewhere", url=link))

    @discord.ui.button(label="Count", style=discord.ButtonStyle.primary, emoji="👍")
    async def count(self, interaction: Interaction, _button: discord.ui.Button[Any]) -> None:
        self.pressed += 1
        await interaction.response.edit_message(content=f"pressed {self.pressed}", view=self)

    @discord.ui.button(label="Whisper", style=discord.ButtonStyle.success)
    async def whisper(self, interaction: Interaction, _button: discord.ui.Button[Any]) -> None:
        await interaction.response.send_message("just for you", ephemeral=True)

    @discord.ui.button(label="Ask", style=discord.ButtonStyle.secondary)
    async def ask(self, interaction: Interaction, _button: discord.ui.Button[Any]) -> None:
        await interaction.response.send_modal(Note())

    @discord.ui.button(label="Deaf", style=discord.ButtonStyle.danger)
    async def deaf(self, _interaction: Interaction, _button: discord.ui.Button[Any]) -> None:
        return

    @discord.ui.button(label="Closed", disabled=True)
    async def closed(self, _interaction: Interaction, _button: discord.ui.Button[Any]) -> None:
        return


class PageBot(discord.Client):
    """Answers when it is mentioned; `/stop` ends a long answer."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.all(), guild_ready_timeout=0.05)
        self.tree = app_commands.CommandTree(self)
        self.stopped = asyncio.Event()
        _commands(self)

    async def setup_hook(self) -> None:
        await self.tree.sync()

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or self.user not in message.mentions:
            return
        if "long" in message.content:
            await self._long(message.channel)
        else:
            await message.reply("yes?")

    async def _long(self, channel: Any) -> None:
        self.stopped.clear()
        async with channel.typing():
            await self.stopped.wait()
        await channel.send("stopped")

    def place(self, name: str = "general") -> discord.TextChannel:
        found = discord.utils.get(self.get_all_channels(), name=name)
        assert isinstance(found, discord.TextChannel)
        return found


def _commands(bot: PageBot) -> None:
    @bot.tree.command(description="Stops the answer that is on its way")
    async def stop(interaction: Interaction) -> None:
        bot.stopped.set()
        await interaction.response.send_message("Stopped.", ephemeral=True)

    @bot.tree.command(description="Says something back")
    @app_commands.describe(text="What to say", times="How often", loud="In capitals")
    async def echo(interaction: Interaction, text: str, times: int = 1, loud: bool = False) -> None:
        said = (text.upper() if loud else text) * times
        await interaction.response.send_message(said)

    @bot.tree.command(description="Picks a tea")
    @app_commands.describe(tea="Which one")
    async def tea(interaction: Interaction, tea: str) -> None:
        await interaction.response.send_message(f"A cup of {tea}.")

    @tea.autocomplete("tea")
    async def teas(_interaction: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        known = ["sencha", "hojicha", "genmaicha", "matcha"]
        return [app_commands.Choice(name=t, value=t) for t in known if typed in t]

    group = app_commands.Group(name="persona", description="Personas")

    @group.command(description="Greets somebody")
    async def greet(
        interaction: Interaction,
        who: discord.Member,
        place: app_commands.AppCommandThread | None = None,
    ) -> None:
        where = "" if place is None else f" in {place.name}"
        await interaction.response.send_message(f"Hello {who.mention}{where}")

    bot.tree.add_command(group)

    @bot.tree.context_menu(name="Count letters")
    async def letters(interaction: Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"{len(message.content)} letters", ephemeral=True)

    @bot.tree.context_menu(name="Wave at")
    async def wave(interaction: Interaction, person: discord.Member) -> None:
        await interaction.response.send_message(f"waves at {person.display_name}")

    @bot.tree.command(description="Weighs a file, or asks for files")
    async def weigh(interaction: Interaction, file: discord.Attachment | None = None) -> None:
        if file is None:
            await interaction.response.send_modal(Scales())
        else:
            await interaction.response.send_message(f"{file.filename}: {len(await file.read())}")
