"""The live feed: numbered, resumable, for whom it is meant, and behind the door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from discord_stage import SEND, Fault, Stage
from discord_stage.control.api import ControlExtension
from discord_stage.control.live_feed import BAD_HELLO, BAD_TOKEN, KEPT
from discord_stage.errors import StageError
from stage_server.listening_client import ListeningClient, run_on_stage
from stage_server.test_control import Remote


class Listener:
    """A page, as far as the stage can tell."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.hello: dict[str, Any] = {}
        self.last = 0

    async def next(self) -> tuple[str, Any]:
        frame = json.loads(await asyncio.wait_for(self._socket.receive_str(), 30))
        assert frame["seq"] > self.last
        self.last = frame["seq"]
        return frame["t"], frame["d"]

    async def until(self, name: str) -> Any:
        while True:
            got, data = await self.next()
            if got == name:
                return data


@asynccontextmanager
async def listening(stage: Stage, **hello: object) -> AsyncIterator[Listener]:
    said = {"token": stage.control_token} | hello
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{stage.url}/stage/feed") as socket,
    ):
        await socket.send_json(said)
        listener = Listener(socket)
        listener.hello = (await socket.receive_json())["hello"]
        listener.last = listener.hello["seq"] if not listener.hello["resumed"] else 0
        yield listener


def alone(scenario: Callable[[Stage], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with Stage(**options) as stage:
            await scenario(stage)

    asyncio.run(main())


def test_what_people_do_arrives_in_order() -> None:
    async def scenario(stage: Stage) -> None:
        async with listening(stage) as feed:
            message = stage.people.post("general", "hello", user="ren")
            stage.people.react(message, "🎉", user="mika")
            stage.people.edit(message, "hello!")
            stage.people.type("general", user="mika")
            stage.people.delete(message)
            assert (await feed.until("MESSAGE_CREATE"))["content"] == "hello"
            reacted = await feed.until("MESSAGE_REACTION_ADD")
            mika = str(stage.world.user("mika").id)
            assert [(r["count"], r["users"]) for r in reacted["reactions"]] == [(1, [mika])]
            assert (await feed.until("MESSAGE_UPDATE"))["content"] == "hello!"
            assert (await feed.until("TYPING_START"))["user_id"] == mika
            assert (await feed.until("MESSAGE_DELETE"))["id"] == str(message.id)

    alone(scenario)


def test_who_was_away_gets_what_was_missed() -> None:
    async def scenario(stage: Stage) -> None:
        async with listening(stage) as feed:
            stage.people.post("general", "one")
            await feed.until("MESSAGE_CREATE")
            epoch, after = feed.hello["epoch"], feed.last
        stage.people.post("general", "two")
        stage.people.post("general", "three")
        async with listening(stage, epoch=epoch, after=after) as feed:
            assert feed.hello["resumed"] is True
            missed = [(await feed.next())[1]["content"] for _ in range(2)]
            assert missed == ["two", "three"]

    alone(scenario)


@pytest.mark.parametrize(
    "known",
    [{}, {"epoch": "other", "after": 1}, {"after": 1}, {"after": "x"}, {"after": 10**9}],
)
def test_who_knows_too_little_starts_anew(known: dict[str, object]) -> None:
    async def scenario(stage: Stage) -> None:
        stage.people.post("general", "before")
        async with listening(stage, **known) as feed:
            assert feed.hello["resumed"] is False
            stage.people.post("general", "after")
            assert (await feed.until("MESSAGE_CREATE"))["content"] == "after"

    alone(scenario)


def test_who_was_away_too_long_starts_anew() -> None:
    async def scenario(stage: Stage) -> None:
        epoch = stage.feed.epoch
        for number in range(KEPT + 1):
            stage.feed.publish("X", {"number": number})
        async with listening(stage, epoch=epoch, after=0) as feed:
            assert feed.hello["resumed"] is False
        async with listening(stage, epoch=epoch, after=feed.hello["seq"] - KEPT) as feed:
            assert feed.hello["resumed"] is True

    alone(scenario)


FIRST_FRAMES: list[tuple[str, int]] = [
    ("not json", BAD_HELLO),
    ("[]", BAD_HELLO),
    ("{}", BAD_TOKEN),
    ('{"token": "wrong"}', BAD_TOKEN),
    ('{"token": null}', BAD_TOKEN),
    ('{"token": "\\ud800"}', BAD_TOKEN),
]


@pytest.mark.parametrize(("frame", "code"), FIRST_FRAMES)
def test_only_the_token_opens_it(frame: str, code: int) -> None:
    async def scenario(stage: Stage) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{stage.url}/stage/feed") as socket,
        ):
            await socket.send_str(frame)
            stage.people.post("general", "a secret")
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            assert socket.close_code == code

    alone(scenario)


def test_no_website_can_listen() -> None:
    async def scenario(stage: Stage) -> None:
        heads = {"Origin": "https://evil.example"}
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{stage.url}/stage/feed", headers=heads)

    alone(scenario)


def test_a_whisper_reaches_one_person_and_no_bot_hears_of_it() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        async def on_interaction(interaction: Any) -> None:
            await interaction.response.send_message("psst", ephemeral=True)
            await interaction.edit_original_response(content="psst!")

        bot.on_interaction = on_interaction  # type: ignore[attr-defined]
        await bot.http.bulk_upsert_global_commands(
            bot.application_id or 0, [{"name": "go", "description": "Goes", "type": 1}]
        )
        mika, ren = (str(stage.world.user(name).id) for name in ("mika", "ren"))
        async with listening(stage, user=ren) as hers, listening(stage, user=mika) as his:
            begun = stage.people.run("go", channel="general", user="ren")
            shown = await hers.until("MESSAGE_CREATE")
            assert (shown["content"], shown["ephemeral_to"]) == ("psst", ren)
            assert shown["command"] == "go"
            answer = await hers.until("INTERACTION_ANSWER")
            assert (answer["id"], answer["reply"]) == (str(begun.id), "message")
            assert begun.token not in json.dumps(answer)
            assert (await hers.until("MESSAGE_UPDATE"))["content"] == "psst!"
            stage.people.post("general", "aloud")
            assert (await his.until("MESSAGE_CREATE"))["content"] == "aloud"
        await stage.wait_for(lambda: bot.texts == ["aloud"])

    run_on_stage(scenario)


def test_a_lost_event_is_lost_to_the_bot_only() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        async with listening(stage) as feed:
            stage.fault(Fault(kind="event_lost", route=SEND))
            await bot.place().send("unheard")
            assert (await feed.until("MESSAGE_CREATE"))["content"] == "unheard"
            stage.fault(Fault(kind="event_twice", route=SEND))
            await bot.place().send("heard twice")
            assert (await feed.until("MESSAGE_CREATE"))["content"] == "heard twice"
            await bot.place().send("last")
            assert (await feed.until("MESSAGE_CREATE"))["content"] == "last"
        await stage.wait_for(lambda: bot.texts == ["heard twice", "heard twice", "last"])

    run_on_stage(scenario)


def test_the_bots_comings_and_goings_are_told() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        async with listening(stage) as feed:
            stage.gateway.drop()
            assert (await feed.until("BOT_STATE")) == {"connected": False}
            assert (await feed.until("BOT_STATE")) == {"connected": True}
            commands = [{"name": "go", "description": "Goes", "type": 1}]
            await bot.http.bulk_upsert_global_commands(bot.application_id or 0, commands)
            assert len((await feed.until("COMMANDS_UPDATE"))["ids"]) == 1

    run_on_stage(scenario)


def test_others_can_publish_and_add_actions() -> None:
    async def scenario(stage: Stage) -> None:
        async def double(said: dict[str, Any]) -> int:
            if "number" not in said:
                raise StageError("`number` is missing")
            return int(said["number"]) * 2

        stage.extensions["double"] = ControlExtension(read=double, act=double)
        async with listening(stage) as feed, aiohttp.ClientSession() as session:
            remote = Remote(stage, session)
            assert await remote.read("extensions") == (200, {"result": ["double"]})
            assert await remote.read("double", number="4") == (200, {"result": 8})
            assert await remote.act("double", number=5) == (200, {"result": 10})
            assert await remote.act("double") == (400, {"error": "`number` is missing"})
            stage.feed.publish("TRACE", {"x": 1})
            assert await feed.until("TRACE") == {"x": 1}

    alone(scenario)


def test_messages_come_in_pages_and_for_one_person() -> None:
    async def scenario(stage: Stage) -> None:
        for number in range(5):
            stage.people.post("general", str(number))
        mika = str(stage.world.user("mika").id)
        async with aiohttp.ClientSession() as session:
            remote = Remote(stage, session)
            _, newest = await remote.read("messages", channel="general", limit="2", user=mika)
            assert [m["content"] for m in newest["result"]] == ["3", "4"]
            before = newest["result"][0]["id"]
            _, older = await remote.read("messages", channel="general", limit="2", before=before)
            assert [m["content"] for m in older["result"]] == ["1", "2"]
            status, wrong = await remote.read("messages", channel="general", limit="many")
            assert (status, wrong["error"]) == (400, "`limit` must be a number")

    alone(scenario)


def test_files_are_posted_as_base64() -> None:
    async def scenario(stage: Stage) -> None:
        async with aiohttp.ClientSession() as session:
            remote = Remote(stage, session)
            file = {"name": "a.txt", "content": "aGVsbG8=", "alt": "a greeting"}
            posted = await remote.done("post", channel="general", content="", files=[file])
            assert posted["attachments"][0]["description"] == "a greeting"
            url = posted["attachments"][0]["url"]
            async with session.get(url) as answer:
                assert await answer.read() == b"hello"
            for files, reason in (
                ("x", "`files` must"),
                ([{"name": "a", "content": "?"}], "base64"),
            ):
                status, body = await remote.act("post", channel="general", content="", files=files)
                assert status == 400
                assert reason in body["error"]

    alone(scenario)


PICTURES = [
    ("/cdn/faces/Mika.svg?mood=happy", "image/svg+xml"),
    ("/cdn/faces/%3Cscript%3E.svg", "image/svg+xml"),
    ("/cdn/avatars/{bot}.svg", "image/svg+xml"),
    ("/cdn/emojis/{emoji}.svg", "image/svg+xml"),
    ("/cdn/avatars/{bot}/x.png", "image/png"),
]


@pytest.mark.parametrize(("path", "kind"), PICTURES)
def test_pictures_are_drawn_without_a_network(path: str, kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        emoji = next(iter(next(iter(stage.world.guilds.values())).emojis))
        url = stage.url + path.format(bot=stage.world.bot.id, emoji=emoji)
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            assert (answer.status, answer.content_type) == (200, kind)
            assert b"<script" not in await answer.read()

    alone(scenario)


FILES = [
    ("/", 200),
    ("/channels/1/2", 200),
    ("/page/js/main.js", 200),
    ("/page/css/base.css", 200),
    ("/favicon.ico", 200),
    ("/page/serving.py", 404),
    ("/page/../server.py", 404),
    ("/page/%2e%2e/server.py", 404),
    ("/page/js", 404),
    ("/cdn/emojis/1.svg", 404),
    ("/cdn/twemoji/..%2f..%2fx.svg", 404),
]


@pytest.mark.parametrize(("path", "status"), FILES)
def test_only_the_pages_own_files_are_served(path: str, status: int) -> None:
    async def scenario(stage: Stage) -> None:
        import yarl

        url = yarl.URL(stage.url + path, encoded=True)
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            assert answer.status == status
            if status == 200:
                assert "default-src 'self'" in answer.headers["Content-Security-Policy"]

    alone(scenario)
