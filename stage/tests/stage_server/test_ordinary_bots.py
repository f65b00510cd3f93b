"""Small bots of the kinds that discord.py's examples show, each used as a person would use it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import Enum
from typing import Any, Literal, NamedTuple

import discord
from discord import app_commands, ui
from discord.ext import commands, tasks

from discord_stage import Stage
from discord_stage.interactions.targets import PostedFile
from discord_stage.testing import on_stage
from stage_server.listening_client import FAST
from stage_server.long_play import PIXEL

WORLD: dict[str, object] = {
    "bot": {"permissions": ["administrator"]},
    "guilds": [
        {
            "name": "Guild",
            "members": ["mika", "ren"],
            "roles": [{"name": "red"}],
            "channels": ["general", "random"],
            "emojis": ["wave"],
        }
    ],
}
Interaction = discord.Interaction[Any]
Context = commands.Context["OrdinaryBot"]
SPEED = 20.0


class OrdinaryBot(commands.Bot):
    """A bot with prefix commands."""

    def __init__(self) -> None:
        intents = discord.Intents.all()
        super().__init__("!", intents=intents, guild_ready_timeout=0.02)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No pause."""


class Room:
    """A stage and its bot, with short ways to act and to look."""

    def __init__(self, stage: Stage, bot: OrdinaryBot) -> None:
        self.stage = stage
        self.bot = bot

    def say(self, text: str, user: str = "mika") -> int:
        return self.stage.people.post("general", text, user=user).id

    async def sees(self, text: str, channel: str = "general") -> int:
        """Wait until the channel shows the text, also in components; return the message's id."""
        return await self.stage.wait_for(lambda: self._shows(text, channel))

    def _shows(self, text: str, channel: str) -> int:
        """Return the id of the newest message with the text, or 0."""
        place = self.stage.world.channel(channel).id
        for item in reversed(self.stage.world.messages.get(place, {}).values()):
            if text in f"{item.content} {item.components} {item.embeds}":
                return item.id
        return 0


def play(scenario: Callable[[Room], Awaitable[None]], speed: float = 1.0) -> None:
    async def main(stage: Stage, bot: OrdinaryBot) -> None:
        await scenario(Room(stage, bot))
        await stage.settled()

    on_stage(main, client=OrdinaryBot, world=WORLD, settings=FAST, speed=speed)


def test_prefix_commands_groups_converters_and_help() -> None:
    async def scenario(room: Room) -> None:
        @room.bot.command()
        async def add(context: Context, left: int, right: int) -> None:
            await context.send(str(left + right))

        @room.bot.group()
        async def cool(context: Context) -> None:
            if context.invoked_subcommand is None:
                await context.send(f"{context.subcommand_passed} is not cool")

        @cool.command(name="bot")
        async def cool_bot(context: Context) -> None:
            await context.send("the bot is")

        @room.bot.command()
        async def find(context: Context, what: discord.Member | discord.TextChannel) -> None:
            await context.send(f"found {what.name}, {type(what).__name__}")

        @find.error
        async def lost(context: Context, error: commands.CommandError) -> None:
            assert isinstance(error, commands.BadUnionArgument)
            await context.send("found nobody")

        @room.bot.command()
        async def tick(context: Context) -> None:
            await context.message.add_reaction("✅")

        for line, answer in {
            "!add 2 3": "5",
            "!cool x": "x is not cool",
            "!cool bot": "the bot is",
            "!find ren": "found ren, Member",
            "!find random": "found random, TextChannel",
            "!find nobody": "found nobody",
            "!help": "!help command for more info",
        }.items():
            room.say(line)
            await room.sees(answer)
        asked = room.stage.world.find_message(
            room.stage.world.channel("general").id, room.say("!tick")
        )
        await room.stage.wait_for(lambda: asked.reactions)

    play(scenario)


def test_deletions_edits_replies_and_questions() -> None:
    async def scenario(room: Room) -> None:
        @room.bot.listen()
        async def on_message(message: discord.Message) -> None:
            if message.content == "go":
                await message.channel.send("soon gone", delete_after=3.0)
                edited = await message.channel.send("10")
                await edited.edit(content="40")
                await message.reply("guess", mention_author=True)
                guess = await room.bot.wait_for(
                    "message", check=lambda m: m.author == message.author, timeout=600.0
                )
                await message.channel.send(f"you said {guess.content}")

        @room.bot.listen()
        async def on_message_delete(message: discord.Message) -> None:
            await message.channel.send(f"deleted: {message.content}")

        @room.bot.listen()
        async def on_message_edit(before: discord.Message, after: discord.Message) -> None:
            await before.channel.send(f"{before.content} -> {after.content}")

        room.say("go")
        guess = await room.sees("guess")
        place = room.stage.world.channel("general").id
        assert room.stage.world.find_message(place, guess).reference
        await room.stage.settled()  # the bot has heard that it replied, and waits
        room.say("7")
        for text in ("you said 7", "10 -> 40", "deleted: soon gone"):
            await room.sees(text)

    play(scenario, speed=SPEED)


def test_new_members_roles_by_reaction_and_a_task() -> None:
    async def scenario(room: Room) -> None:
        guild = room.bot.guilds[0]
        red = discord.utils.get(guild.roles, name="red")
        assert red is not None

        @room.bot.listen()
        async def on_member_join(member: discord.Member) -> None:
            assert member.guild.system_channel is not None
            await member.guild.system_channel.send(f"Welcome {member.name}")

        @room.bot.listen()
        async def on_raw_reaction_add(payload: discord.RawReactionActionEvent) -> None:
            assert payload.member is not None
            await payload.member.add_roles(red)

        @room.bot.listen()
        async def on_raw_reaction_remove(payload: discord.RawReactionActionEvent) -> None:
            member = guild.get_member(payload.user_id)
            assert member is not None
            await member.remove_roles(red)

        @tasks.loop(seconds=60, count=2)
        async def count() -> None:
            assert guild.system_channel is not None
            await guild.system_channel.send(f"minute {count.current_loop}")

        room.stage.people.join("sora")
        await room.sees("Welcome sora")
        message = room.say("pick")
        ren = guild.get_member_named("ren")
        assert ren is not None
        room.stage.people.react(message, "🔴", user="ren")
        await room.stage.wait_for(lambda: red in ren.roles)
        room.stage.people.unreact(message, "🔴", user="ren")
        await room.stage.wait_for(lambda: red not in ren.roles)
        await count.start()
        await room.sees("minute 1")

    play(scenario, speed=600.0)


def test_hidden_channels_and_an_emoji() -> None:
    async def scenario(room: Room) -> None:
        guild = room.bot.guilds[0]
        overwrites: dict[Any, discord.PermissionOverwrite] = {
            guild.default_role: discord.PermissionOverwrite(view_channel=False),
            guild.me: discord.PermissionOverwrite(view_channel=True),
        }
        text = await guild.create_text_channel("hidden", overwrites=overwrites, topic="secret")
        ren = guild.get_member_named("ren")
        assert ren is not None
        assert not text.permissions_for(ren).view_channel
        await guild.create_voice_channel("talk", overwrites=overwrites)
        picture = await guild.emojis[0].read()
        made = await guild.create_custom_emoji(name="wave2", image=picture, roles=[])
        assert made.name == "wave2"

    play(scenario)


class Fruit(Enum):
    apple = 0
    banana = 1


class Point(NamedTuple):
    x: int
    y: int


class PointTransformer(app_commands.Transformer):
    async def transform(self, _interaction: Interaction, value: str, /) -> Point:
        x, _, y = value.partition(",")
        return Point(int(x), int(y))


def test_slash_commands_with_ranges_choices_enums_and_transformers() -> None:
    async def scenario(room: Room) -> None:
        tree, guild = room.bot.tree, room.bot.guilds[0]

        @tree.command(description="Takes one of each")
        @app_commands.rename(text_to_send="text")
        async def take(
            interaction: Interaction,
            number: app_commands.Range[int, 0, 100],
            action: Literal["Buy", "Sell"],
            fruit: Fruit,
            point: app_commands.Transform[Point, PointTransformer],
            channel: discord.VoiceChannel | discord.TextChannel,
            text_to_send: str,
            member: discord.Member | None = None,
        ) -> None:
            who = member or interaction.user
            said = f"{number} {action} {fruit.name} {point.x}/{point.y} {channel.name}"
            await interaction.response.send_message(f"{said} {text_to_send} {who.name}")

        tree.copy_global_to(guild=guild)
        await tree.sync(guild=guild)
        options: dict[str, object] = {
            "number": 3,
            "action": "Buy",
            "fruit": "banana",
            "point": "1,2",
            "channel": "random",
            "text": "yo",
        }
        room.stage.people.run("take", options, channel="general", user="mika")
        await room.sees("3 Buy banana 1/2 random yo mika")
        room.stage.people.run("take", options | {"member": "ren"}, channel="general", user="mika")
        await room.sees("3 Buy banana 1/2 random yo ren")

    play(scenario)


class Sanction(ui.Modal, title="Timeout"):
    """A select, a text and an upload in one form."""

    duration: ui.Label[Any] = ui.Label(
        text="Duration",
        component=ui.Select(options=[discord.SelectOption(label="1 minute", value="60")]),
    )
    reason: ui.Label[Any] = ui.Label(text="Reason", component=ui.TextInput(max_length=256))
    proof: ui.Label[Any] = ui.Label(text="Proof", component=ui.FileUpload(required=False))

    def __init__(self, member: discord.Member) -> None:
        super().__init__()
        self.member = member

    async def on_submit(self, interaction: Interaction, /) -> None:
        duration, reason, proof = (
            self.duration.component,
            self.reason.component,
            self.proof.component,
        )
        assert isinstance(duration, ui.Select)
        assert isinstance(reason, ui.TextInput)
        assert isinstance(proof, ui.FileUpload)
        await self.member.timeout(timedelta(seconds=int(duration.values[0])), reason=reason.value)
        gallery: ui.MediaGallery[Any] = ui.MediaGallery(
            *[discord.MediaGalleryItem(file.url) for file in proof.values]
        )
        view = ui.LayoutView()
        view.add_item(ui.Container(ui.TextDisplay(f"## {reason.value}"), gallery))
        await interaction.response.send_message(view=view)


def test_a_form_with_a_select_a_text_and_an_upload() -> None:
    async def scenario(room: Room) -> None:
        @room.bot.tree.context_menu(name="Timeout")
        async def sanction(interaction: Interaction, member: discord.Member) -> None:
            await interaction.response.send_modal(Sanction(member))

        await room.bot.tree.sync()
        people = room.stage.people
        asked = people.choose_for_person("Timeout", "ren", channel="general", user="mika")
        await room.stage.wait_for(lambda: asked.modal)
        picture = [PostedFile("proof.png", PIXEL.encode())]
        values = {"Duration": ["1 minute"], "Reason": "spam", "Proof": picture}
        people.submit(asked, values)
        await room.sees("## spam")
        ren = room.bot.guilds[0].get_member_named("ren")
        assert ren is not None
        await room.stage.wait_for(ren.is_timed_out)

    play(scenario)


class Confirm(ui.View):
    value: bool | None = None

    @ui.button(label="Confirm", style=discord.ButtonStyle.green)
    async def confirm(self, interaction: Interaction, _button: ui.Button[Any]) -> None:
        await interaction.response.send_message("Confirming", ephemeral=True)
        self.value = True
        self.stop()


class CountButton(ui.DynamicItem[ui.Button[Any]], template=r"count:(?P<count>[0-9]+)"):
    """Its number lives in its custom id, so it works after a restart too."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        super().__init__(ui.Button(label=f"Total: {count}", custom_id=f"count:{count}"))

    @classmethod
    async def from_custom_id(
        cls, _interaction: Interaction, _item: ui.Item[Any], match: re.Match[str], /
    ) -> CountButton:
        return cls(int(match["count"]))

    async def callback(self, interaction: Interaction) -> Any:
        self.count += 1
        self.item.label = f"Total: {self.count}"
        self.custom_id = f"count:{self.count}"
        await interaction.response.edit_message(view=self.view)


class Colours(ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)

    @ui.select(
        custom_id="colours",
        options=[discord.SelectOption(label="Red", emoji="🟥"), discord.SelectOption(label="Blue")],
    )
    async def choose(self, interaction: Interaction, select: ui.Select[Any]) -> None:
        await interaction.response.send_message(f"you like {select.values[0]}")


def test_buttons_dynamic_items_persistent_menus_and_whispers_with_buttons() -> None:
    async def scenario(room: Room) -> None:
        people, place = room.stage.people, room.bot.guilds[0].text_channels[0]
        confirm = Confirm()
        asked = await place.send("sure?", view=confirm)
        people.press(asked.id, "Confirm", user="mika")
        assert not await confirm.wait()
        assert confirm.value
        await room.sees("Confirming")

        room.bot.add_dynamic_items(CountButton)
        view = ui.View(timeout=None)
        view.add_item(CountButton())
        counter = await place.send("count", view=view)
        for number in range(3):
            people.press(counter.id, f"Total: {number}", user="mika")
            await room.sees(f"Total: {number + 1}")

        menu = await place.send("colour?", view=Colours())
        room.bot.add_view(Colours())
        people.press(menu.id, "colours", user="mika", values=["Blue"])
        await room.sees("you like Blue")

    play(scenario)


class Preferences(ui.LayoutView):
    """Components V2: a section with a button, and menus of people and channels."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []
        self.saved = 0
        self.title: ui.TextDisplay[Any] = ui.TextDisplay("# Preferences")
        button: ui.Button[Any] = ui.Button(label="Rename", custom_id="rename")
        button.callback = self.rename  # type: ignore[method-assign]
        people: ui.UserSelect[Any] = ui.UserSelect(custom_id="people", max_values=2)
        people.callback = self.noted(people)  # type: ignore[method-assign,assignment]
        places: ui.ChannelSelect[Any] = ui.ChannelSelect(custom_id="places", min_values=0)
        places.callback = self.noted(places)  # type: ignore[method-assign,assignment]
        rows = (ui.ActionRow(people), ui.ActionRow(places))
        self.add_item(ui.Container(ui.Section(self.title, accessory=button), ui.Separator(), *rows))

    async def rename(self, interaction: Interaction) -> None:
        self.title.content = "# Renamed"
        await interaction.response.edit_message(view=self)

    def noted(self, menu: Any) -> Callable[[Interaction], Awaitable[None]]:
        async def note(interaction: Interaction) -> None:
            self.chosen += [value.name for value in menu.values]
            await interaction.response.edit_message(view=self)
            await interaction.followup.send("saved", ephemeral=True)
            self.saved += 1

        return note


def test_a_layout_with_a_section_and_menus() -> None:
    async def scenario(room: Room) -> None:
        view = Preferences()
        people, place = room.stage.people, room.bot.guilds[0].text_channels[0]
        message = await place.send(view=view)
        people.press(message.id, "Rename", user="mika")
        await room.sees("# Renamed")
        people.press(message.id, "people", user="mika", values=["ren", "mika"])
        await room.sees("saved")
        people.press(message.id, "places", user="mika", values=["random"])
        await room.stage.wait_for(lambda: view.saved == 2)
        assert sorted(view.chosen) == ["mika", "random", "ren"]

    play(scenario)
