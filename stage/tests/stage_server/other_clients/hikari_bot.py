"""A bot that uses hikari: a message, a slash command, a button. Run by its own Python."""

# mypy: ignore-errors
import os

import hikari

bot = hikari.GatewayBot(
    os.environ["DISCORD_TOKEN"],
    rest_url=os.environ["DISCORD_STAGE_URL"] + "/api/v10",
    intents=hikari.Intents.ALL,
    banner=None,
    suppress_optimization_warning=True,
)


@bot.listen()
async def started(event: hikari.GuildAvailableEvent) -> None:
    application = await bot.rest.fetch_application()
    command = bot.rest.slash_command_builder("add", "Adds two numbers")
    for name in ("first", "second"):
        option = hikari.CommandOption(
            type=hikari.OptionType.INTEGER, name=name, description=name, is_required=True
        )
        command.add_option(option)
    await bot.rest.set_application_commands(application.id, [command])
    [channel] = [c for c in event.channels.values() if c.name == "general"]
    await bot.rest.create_message(channel.id, "ready")


@bot.listen()
async def on_message(event: hikari.GuildMessageCreateEvent) -> None:
    if event.content == "!ping":
        await event.message.respond("pong", reply=True)
    elif event.content == "!button":
        row = bot.rest.build_message_action_row()
        row.add_interactive_button(hikari.ButtonStyle.PRIMARY, "press", label="Press")
        await event.message.respond("press it", component=row)


@bot.listen()
async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
    item = event.interaction
    if isinstance(item, hikari.CommandInteraction):
        total = sum(int(option.value) for option in item.options)
        kind = hikari.ResponseType.MESSAGE_CREATE
        await item.create_initial_response(kind, f"sum {total}")
    elif isinstance(item, hikari.ComponentInteraction):
        kind = hikari.ResponseType.MESSAGE_UPDATE
        await item.create_initial_response(kind, "pressed", components=[])


bot.run(check_for_updates=False)
