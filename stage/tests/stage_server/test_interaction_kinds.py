"""Every kind of interaction reaches discord.py whole: menus, modals, menus of people, options."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import discord
import pytest
from discord import app_commands

from discord_stage import Stage, StageError, StageProblemsError
from discord_stage.interactions.targets import PostedFile
from stage_server.listening_client import ListeningClient, run_on_stage

WORLD: dict[str, object] = {
    "guilds": [
        {
            "name": "Guild",
            "members": ["mika", {"name": "ren", "roles": ["helpers"]}],
            "roles": [{"name": "helpers"}],
            "channels": ["general", "random", {"name": "talk", "type": "voice"}],
        }
    ]
}


class KindsClient(ListeningClient):
    """Keeps what its menus and modals were given."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)
        self.given: list[Any] = []


def play(scenario: Any) -> None:
    run_on_stage(scenario, WORLD, client=KindsClient)


SELECTS: list[tuple[type[Any], list[str], list[str]]] = [
    (discord.ui.UserSelect, ["ren"], ["ren"]),
    (discord.ui.RoleSelect, ["helpers"], ["helpers"]),
    (discord.ui.MentionableSelect, ["ren", "helpers"], ["helpers", "ren"]),
    (discord.ui.ChannelSelect, ["random"], ["random"]),
]


@pytest.mark.parametrize(("kind", "chosen", "names"), SELECTS)
def test_selects_of_people_roles_and_channels(
    kind: type[Any], chosen: list[str], names: list[str]
) -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        class Menu(kind):  # type: ignore[misc]
            async def callback(self, interaction: discord.Interaction) -> None:
                await interaction.response.defer()
                client.given += [value.name for value in self.values]  # the play may end now

        view = discord.ui.View()
        view.add_item(Menu(custom_id="menu", max_values=2))
        message = await client.place().send("choose", view=view)
        stage.people.press(message.id, "menu", values=chosen, user="mika")
        await stage.wait_for(lambda: client.given)
        assert sorted(client.given) == names
        with pytest.raises(StageError, match="choose 1 to 2, not 0"):
            stage.people.press(message.id, "menu", user="mika")
        with pytest.raises(StageError, match="this world has no"):
            stage.people.press(message.id, "menu", values=["nobody"], user="mika")

    play(scenario)


def test_a_channel_select_keeps_to_its_types() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        view = discord.ui.View()
        kinds = [discord.ChannelType.voice]
        view.add_item(discord.ui.ChannelSelect(custom_id="menu", channel_types=kinds))
        message = await client.place().send("choose", view=view)
        with pytest.raises(StageError, match="#general is of type 0, not 2"):
            stage.people.press(message.id, "menu", values=["general"], user="mika")

    play(scenario)


def test_a_string_select_takes_its_options_only() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        view = discord.ui.View()
        options = [discord.SelectOption(label="Red", value="r")]
        view.add_item(discord.ui.Select(custom_id="menu", options=options))
        message = await client.place().send("choose", view=view)
        assert stage.people.press(message.id, "menu", values=["Red"]).data["values"] == ["r"]
        with pytest.raises(StageError, match="there is no 'b'; there are 'r'"):
            stage.people.press(message.id, "menu", values=["b"])
        with pytest.raises(StageError, match="choose 1 to 1, not 2"):
            stage.people.press(message.id, "menu", values=["r", "r"])

    play(scenario)


def test_menus_and_uploads_inside_a_modal() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        class Form(discord.ui.Modal, title="Form"):
            colour: discord.ui.Label[Any] = discord.ui.Label(
                text="Colour",
                component=discord.ui.Select(
                    options=[discord.SelectOption(label="Red", value="r")], custom_id="colour"
                ),
            )
            who: discord.ui.Label[Any] = discord.ui.Label(
                text="Who",
                component=discord.ui.UserSelect(custom_id="who", max_values=2, required=True),
            )
            files: discord.ui.Label[Any] = discord.ui.Label(
                text="Files", component=discord.ui.FileUpload(custom_id="files", required=False)
            )
            note: discord.ui.Label[Any] = discord.ui.Label(
                text="Note", component=discord.ui.TextInput(custom_id="note", max_length=5)
            )

            async def on_submit(self, interaction: discord.Interaction) -> None:
                for label in (self.colour, self.who, self.files, self.note):
                    item: Any = label.component
                    client.given.append(getattr(item, "values", None) or item.value)
                await interaction.response.send_message("thanks")

        @client.tree.command(description="Opens a form")
        async def form(interaction: discord.Interaction) -> None:
            await interaction.response.send_modal(Form())

        await client.tree.sync()
        asked = stage.people.run("form", user="mika")
        await stage.wait_for(lambda: asked.modal)
        filled: dict[str, object] = {"Colour": "Red", "who": ["ren"], "Note": "hi"}
        with pytest.raises(StageError, match="'Note' must have 0 to 5 characters"):
            stage.people.submit(asked, filled | {"Note": "too long"})
        with pytest.raises(StageError, match="needs 'Who'"):
            stage.people.submit(asked, {"Colour": "Red", "Note": "hi"})
        stage.people.submit(asked, filled | {"Files": PostedFile("a.txt", b"text")})
        await stage.wait_for(lambda: "thanks" in stage.world.contents("general"))
        colours, people, files, note = client.given
        assert (colours, [p.name for p in people], note) == (["r"], ["ren"], "hi")
        assert [await file.read() for file in files] == [b"text"]

    play(scenario)


def test_the_menu_of_a_person() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        @client.tree.context_menu(name="Greet")
        async def greet(interaction: discord.Interaction, person: discord.Member) -> None:
            await interaction.response.send_message(f"hello {person.name}")

        await client.tree.sync()
        stage.people.choose_for_person("Greet", "ren", user="mika")
        await stage.wait_for(lambda: "hello ren" in stage.world.contents("general"))

    play(scenario)


def test_options_are_held_to_what_the_client_enforces() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        @client.tree.command(description="Takes everything")
        @app_commands.choices(colour=[app_commands.Choice(name="Red", value="r")])
        @app_commands.choices(size=[app_commands.Choice(name="Large", value=40)])
        async def take(
            interaction: discord.Interaction,
            size: int,
            count: app_commands.Range[int, 1, 5],
            name: app_commands.Range[str, 2, 4],
            colour: str,
            file: discord.Attachment,
            whom: discord.Member | discord.Role,
        ) -> None:
            said = await file.read()
            await interaction.response.send_message(
                f"{count} {name} {colour} {size} {said!r} {whom.name}"
            )

        await client.tree.sync()
        fine: dict[str, object] = {
            "count": 3,
            "name": "abc",
            "colour": "Red",
            "size": "Large",
            "file": PostedFile("a.txt", b"text"),
            "whom": "helpers",
        }
        wrong: list[tuple[str, object, str]] = [
            ("count", 9, "count must be from 1 to 5"),
            ("count", "3", "count cannot be '3'"),
            ("name", "a", "name must have 2 to 4 characters"),
            ("colour", "blue", "colour must be one of"),
            ("size", 41, "size must be one of"),
            ("file", "a.txt", "file must be a file"),
            ("whom", "nobody", "no role 'nobody'"),
        ]
        for key, value, error in wrong:
            with pytest.raises(StageError, match=error):
                stage.people.run("take", fine | {key: value}, user="mika")
        stage.people.run("take", fine, user="mika")
        await stage.wait_for(
            lambda: "3 abc r 40 b'text' helpers" in stage.world.contents("general")
        )

    play(scenario)


def test_a_poll_is_shown_voted_in_and_ended() -> None:
    async def scenario(stage: Stage, client: KindsClient) -> None:
        poll = discord.Poll("ok?", timedelta(hours=2))
        poll.add_answer(text="yes")
        poll.add_answer(text="no")
        message = await client.place().send(poll=poll)
        stage.people.vote(message.id, "yes", user="mika")
        stage.people.vote(message.id, "no", user="mika")
        stage.people.vote(message.id, "no", user="ren")
        again = await client.place().fetch_message(message.id)
        assert again.poll is not None
        assert [answer.vote_count for answer in again.poll.answers] == [0, 2]
        voters = [user.name async for user in again.poll.answers[1].voters()]
        assert sorted(voters) == ["mika", "ren"]
        ended = await message.end_poll()
        assert ended.poll is not None
        assert ended.poll.is_finalised()

    play(scenario)


def test_a_forward_keeps_what_it_forwards() -> None:
    async def scenario(_stage: Stage, client: KindsClient) -> None:
        message = await client.place().send("the original")
        sent = await message.forward(client.place("random"))
        await message.delete()
        [snapshot] = (await client.place("random").fetch_message(sent.id)).message_snapshots
        assert snapshot.content == "the original"

    play(scenario)


def test_stickers_are_refused_and_told() -> None:
    async def scenario(_stage: Stage, client: KindsClient) -> None:
        with pytest.raises(discord.HTTPException, match="Invalid sticker"):
            await client.place().send("x", stickers=[discord.Object(5)])  # type: ignore[list-item]

    with pytest.raises(StageProblemsError, match="the stage has no stickers"):
        play(scenario)
