"""A bot that uses disnake: a message, a slash command, a button. Run by its own Python."""

# mypy: ignore-errors
import os

import disnake
from disnake.ext import commands

disnake.http.Route.BASE = os.environ["DISCORD_STAGE_URL"] + "/api/v10"
bot = commands.InteractionBot(intents=disnake.Intents.all())


@bot.slash_command(description="Adds two numbers")
async def add(inter, first: int, second: int):
    await inter.response.send_message(f"sum {first + second}")


@bot.event
async def on_message(message):
    if message.content == "!ping":
        await message.reply("pong")
    elif message.content == "!button":
        button = disnake.ui.Button(label="Press", custom_id="press")
        await message.channel.send("press it", components=[button])


@bot.event
async def on_button_click(inter):
    await inter.response.edit_message(content="pressed", components=[])


@bot.event
async def on_ready():
    channel = disnake.utils.get(bot.get_all_channels(), name="general")
    await channel.send("ready")


bot.run(os.environ["DISCORD_TOKEN"])
