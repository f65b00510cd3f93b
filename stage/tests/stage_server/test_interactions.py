"""Slash commands, buttons, modals and autocomplete, with their deadlines."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest
from discord import app_commands

from discord_stage import RefusalError, Settings, Stage, StageError
from discord_stage.world.records import Interaction, InteractionReply, MessageFlag
from stage_server.listening_client import ListeningClient, run_on_stage, world

Asked = discord.Interaction[Any]


class Form(discord.ui.Modal, title="Form"):
    name: discord.ui.TextInput[Any] = discord.ui.TextInput(label="Name")

    async def on_submit(self, interaction: Asked) -> None:
        await interaction.response.send_message(f"hello {self.name.value}")


class Buttons(discord.ui.View):
    @discord.ui.button(label="Defer", custom_id="defer")
    async def later(self, asked: Asked, _button: discord.ui.Button[Any]) -> None:
        await asked.response.defer()
        await asked.edit_original_response(content="deferred", view=None)

    @discord.ui.button(label="Whisper", custom_id="whisper")
    async def whisper(self, asked: Asked, _button: discord.ui.Button[Any]) -> None:
        await asked.response.send_message("only you", ephemeral=True)

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, asked: Asked, _button: discord.ui.Button[Any]) -> None:
        await asked.response.send_modal(Form())

    @discord.ui.button(label="Off", disabled=True)
    async def off(self, asked: Asked, _button: discord.ui.Button[Any]) -> None:
        await asked.response.defer()


class Commander(ListeningClient):
    """A client with a handful of commands."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)
        self.errors: list[discord.HTTPException] = []
        self.go = asyncio.Event()
        commands: list[Any] = [say, who, slow, twice, think, hush, pick, chatter]
        for command in commands:
            self.tree.add_command(command)
        group = app_commands.Group(name="group", description="Some")
        group.add_command(inner)
        self.tree.add_command(group)

    async def setup_hook(self) -> None:
        await self.tree.sync()


def client_of(asked: Asked) -> Commander:
    assert isinstance(asked.client, Commander)
    return asked.client


@app_commands.command(description="Says it")
async def say(asked: Asked, text: str, times: int = 1) -> None:
    await asked.response.send_message(" ".join([text] * times))
    original = await asked.original_response()
    await original.edit(content=original.content + "!")
    await asked.followup.send("and more")


@app_commands.command(description="Who, where")
async def who(asked: Asked, member: discord.Member, place: discord.TextChannel) -> None:
    await asked.response.send_message(f"{member.name} in {place.name}")


@app_commands.command(description="Waits until it is told to go")
async def slow(asked: Asked) -> None:
    await client_of(asked).go.wait()
    try:
        await asked.response.send_message("late")
    except discord.HTTPException as error:
        client_of(asked).errors.append(error)


@app_commands.command(description="Answers twice")
async def twice(asked: Asked) -> None:
    await asked.response.send_message("once")
    again = discord.InteractionResponse(asked)
    try:
        await again.send_message("twice")
    except discord.HTTPException as error:
        client_of(asked).errors.append(error)


@app_commands.command(description="Thinks first")
async def think(asked: Asked) -> None:
    await asked.response.defer()
    await client_of(asked).go.wait()
    await asked.followup.send("thought")
    await asked.followup.send("more", ephemeral=True)


@app_commands.command(description="Answers in secret and forgets")
async def hush(asked: Asked) -> None:
    await asked.response.defer(ephemeral=True)
    await asked.edit_original_response(content="secret")
    await client_of(asked).go.wait()
    await asked.delete_original_response()


@app_commands.command(description="Follows up until it is refused")
async def chatter(asked: Asked) -> None:
    await asked.response.send_message("first")
    for number in range(1, 8):
        try:
            await asked.followup.send(f"more {number}")
        except discord.HTTPException as error:
            client_of(asked).errors.append(error)
            return


@app_commands.command(description="Completes")
async def pick(asked: Asked, fruit: str) -> None:
    await asked.response.send_message(fruit)


@pick.autocomplete("fruit")
async def fruits(_asked: Asked, typed: str) -> list[app_commands.Choice[str]]:
    known = ("apple", "apricot", "pear")
    return [app_commands.Choice(name=f, value=f) for f in known if f.startswith(typed)]


@app_commands.command(description="Inside")
async def inner(asked: Asked) -> None:
    await asked.response.send_message("inside")


def acted(scenario: Any, **options: Any) -> None:
    run_on_stage(scenario, client=Commander, **options)


async def replied(stage: Stage, asked: Interaction) -> Interaction:
    await stage.wait_for(lambda: asked.reply)
    return asked


def test_a_command_its_original_and_a_follow_up() -> None:
    async def scenario(stage: Stage, _bot: Commander) -> None:
        asked = stage.people.run("say", {"text": "ho", "times": 2}, user="ren")
        await stage.wait_for(lambda: stage.world.contents("general") == ["ho ho!", "and more"])
        first, second = stage.world.history("general")
        assert first.author_id == stage.world.bot.id
        assert (first.type, first.interaction_id) == (20, asked.id)
        assert asked.followups == [second.id]

    acted(scenario)


def test_an_app_that_only_the_user_has_installed_has_five_follow_ups() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        asked = stage.people.run("chatter", user_install=True)
        await stage.wait_for(lambda: bot.errors)
        assert [error.code for error in bot.errors] == [40094]
        assert len(asked.followups) == 5
        installed = stage.people.run("chatter")
        await stage.wait_for(lambda: len(installed.followups) == 7)

    acted(scenario)


def test_options_name_people_and_places() -> None:
    async def scenario(stage: Stage, _bot: Commander) -> None:
        stage.people.run("who", {"member": "ren", "place": "random"})
        stage.people.run("group inner")
        await stage.wait_for(lambda: len(stage.world.history("general")) == 2)
        assert sorted(stage.world.contents("general")) == ["inside", "ren in random"]

    acted(scenario, world=world("general", "random"))


def test_in_a_dm_too() -> None:
    async def scenario(stage: Stage, _bot: Commander) -> None:
        stage.people.dm("hi", user="ren")
        stage.people.run("say", {"text": "ho"}, channel="@ren", user="ren")
        await stage.wait_for(lambda: stage.world.contents("@ren") == ["hi", "ho!", "and more"])

    acted(scenario)


def test_three_seconds_and_then_10062() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        asked = stage.people.run("slow")
        await stage.wait_for(lambda: stage.state.now() - asked.at > 0.1)
        bot.go.set()
        await stage.wait_for(lambda: bot.errors)
        assert (bot.errors[0].status, bot.errors[0].code) == (404, 10062)
        assert stage.world.contents("general") == []

    acted(scenario, settings=Settings(interaction_s=0.1))


def test_a_second_answer_is_40060() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        stage.people.run("twice")
        await stage.wait_for(lambda: bot.errors)
        assert (bot.errors[0].status, bot.errors[0].code) == (400, 40060)
        assert stage.world.contents("general") == ["once"]

    acted(scenario)


def test_a_deferred_answer_waits_and_the_first_follow_up_takes_its_place() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        asked = await replied(stage, stage.people.run("think"))
        waiting = stage.world.history("general")[0]
        assert waiting.flags & MessageFlag.LOADING
        bot.go.set()
        await stage.wait_for(lambda: asked.followups)
        assert stage.world.contents("general") == ["thought"]
        assert not waiting.flags & MessageFlag.LOADING
        whispered = stage.world.messages[asked.channel_id][asked.followups[0]]
        assert whispered.ephemeral_to == asked.user_id

    acted(scenario)


def test_an_ephemeral_answer_is_in_nobodys_history() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        asked = await replied(stage, stage.people.run("hush", user="ren"))
        there = stage.world.messages[asked.channel_id]
        await stage.wait_for(lambda: [m.content for m in there.values()] == ["secret"])
        assert stage.world.contents("general") == []
        assert [m async for m in bot.place().history()] == []
        with pytest.raises(discord.NotFound):
            await bot.place().fetch_message(asked.original_id or 0)
        await stage.settled()
        assert bot.heard == []
        bot.go.set()
        await stage.wait_for(lambda: not there)

    acted(scenario)


def test_autocomplete() -> None:
    async def scenario(stage: Stage, _bot: Commander) -> None:
        asked = await replied(stage, stage.people.complete("pick", "fruit", "ap"))
        assert [choice["value"] for choice in asked.choices] == ["apple", "apricot"]
        assert asked.reply is InteractionReply.CHOICES

    acted(scenario)


def test_buttons_defer_whisper_and_open_a_form() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        message = await bot.place().send("choose", view=Buttons())
        whispered = await replied(stage, stage.people.press(message.id, "Whisper", user="ren"))
        answer = stage.world.messages[whispered.channel_id][whispered.original_id or 0]
        assert (answer.content, answer.ephemeral_to) == ("only you", whispered.user_id)

        asked = await replied(stage, stage.people.press(message.id, "form"))
        assert asked.modal is not None
        with pytest.raises(StageError, match="no field 'Age'"):
            stage.people.submit(asked, {"Name": "x", "Age": "3"})
        with pytest.raises(StageError, match="needs 'Name'"):
            stage.people.submit(asked, {})
        stage.people.submit(asked, {"Name": "Nana"})
        await stage.wait_for(lambda: "hello Nana" in stage.world.contents("general"))

        stage.people.press(message.id, "Defer")
        await stage.wait_for(lambda: stage.world.contents("general")[0] == "deferred")
        with pytest.raises(StageError, match="has no button 'Defer'; it has none"):
            stage.people.press(message.id, "Defer")

    acted(scenario)


def test_what_cannot_be_pressed_or_run() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        message = await bot.place().send("choose", view=Buttons())
        with pytest.raises(StageError, match="'Off' is disabled"):
            stage.people.press(message.id, "Off")
        with pytest.raises(
            StageError, match="no command /sing is registered; there are /chatter, /group"
        ):
            stage.people.run("sing")
        with pytest.raises(StageError, match="/say: needs text"):
            stage.people.run("say")
        with pytest.raises(StageError, match="/say: times cannot be 'many'"):
            stage.people.run("say", {"text": "x", "times": "many"})
        with pytest.raises(StageError, match="/say: no option 'loud'; there are text, times"):
            stage.people.run("say", {"text": "x", "loud": True})
        with pytest.raises(StageError, match="/group needs a subcommand: inner"):
            stage.people.run("group")
        with pytest.raises(StageError, match="no user 'nobody'"):
            stage.people.run("who", {"member": "nobody", "place": "general"})
        with pytest.raises(RefusalError):
            stage.people.run("group inner", channel="staff", user="ren")

    hidden = {"name": "staff", "overwrites": [{"role": "@everyone", "deny": ["view_channel"]}]}
    acted(scenario, world=world("general", hidden))


def test_commands_are_overwritten_fetched_and_checked() -> None:
    async def scenario(stage: Stage, bot: Commander) -> None:
        before = {command.name: command.id for command in await bot.tree.fetch_commands()}
        assert {"say", "who", "group"} <= set(before)
        bot.tree.remove_command("who")
        after = {command.name: command.id for command in await bot.tree.sync()}
        assert "who" not in after
        assert after["say"] == before["say"]
        fetched = await bot.tree.fetch_command(after["say"])
        assert [option.name for option in fetched.options] == ["text", "times"]
        await fetched.delete()
        with pytest.raises(discord.NotFound) as gone:
            await bot.tree.fetch_command(after["say"])
        assert gone.value.code == 10063
        assert bot.application_id is not None
        bad: Any = [{"name": "UPPER", "description": "", "type": 1}]
        with pytest.raises(discord.HTTPException) as caught:
            await bot.http.bulk_upsert_global_commands(bot.application_id, bad)
        assert caught.value.code == 50035
        assert "0.name" in str(caught.value)
        stage.check()

    acted(scenario)
