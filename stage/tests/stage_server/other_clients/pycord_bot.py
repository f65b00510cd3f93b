"""A bot that uses py-cord: a message, a slash command, a button. Run by its own Python."""

# mypy: ignore-errors
import os

import discord

discord.http.Route.API_BASE_URL = os.environ["DISCORD_STAGE_URL"] + "/api/v10"
bot = discord.Bot(intents=discord.Intents.all())


class Counter(discord.ui.View):
    @discord.ui.button(label="Press")
    async def press(self, _button, interaction):
        await interaction.response.edit_message(content="pressed", view=None)


@bot.slash_command(description="Adds two numbers")
async def add(context, first: int, second: int):
    await context.respond(f"sum {first + second}")


@bot.event
async def on_message(message):
    if message.content == "!ping":
        await message.reply("pong")
    elif message.content == "!button":
        await message.channel.send("press it", view=Counter())


@bot.event
async def on_ready():
    channel = discord.utils.get(bot.get_all_channels(), name="general")
    await channel.send("ready")


bot.run(os.environ["DISCORD_TOKEN"])
