"""The control API, and the door in front of everything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from discord_stage import Stage
from discord_stage.access_guard import HEADER
from stage_server.listening_client import FAST, ListeningClient, run_on_stage, world


class Remote:
    """A caller in another process, as far as the stage can tell."""

    def __init__(self, stage: Stage, session: aiohttp.ClientSession) -> None:
        self._stage = stage
        self._session = session

    async def read(self, action: str, **query: str) -> Any:
        url = f"{self._stage.url}/stage/{action}"
        heads = {HEADER: self._stage.control_token}
        async with self._session.get(url, params=query, headers=heads) as answer:
            return answer.status, await answer.json()

    async def act(self, action: str, **said: object) -> Any:
        url = f"{self._stage.url}/stage/{action}"
        heads = {HEADER: self._stage.control_token}
        async with self._session.post(url, json=said, headers=heads) as answer:
            return answer.status, await answer.json()

    async def done(self, action: str, **said: object) -> Any:
        status, body = await self.act(action, **said)
        assert status == 200, body
        return body["result"]


def remotely(
    scenario: Callable[[Stage, ListeningClient, Remote], Awaitable[None]], **options: Any
) -> None:
    async def inner(stage: Stage, bot: ListeningClient) -> None:
        async with aiohttp.ClientSession() as session:
            await scenario(stage, bot, Remote(stage, session))

    run_on_stage(inner, **options)


def test_people_act_and_everything_can_be_read() -> None:
    async def scenario(stage: Stage, bot: ListeningClient, remote: Remote) -> None:
        posted = await remote.done("post", channel="general", content="hello", user="ren")
        await remote.done("edit", message=posted["id"], content="hello!")
        await remote.done("react", message=posted["id"], emoji="🎉", user="mika")
        await remote.done("type", channel="general", user="ren")
        await remote.done("dm", content="psst", user="mika")
        answer = await remote.done("post", channel="general", content="yes?", reply_to=posted["id"])
        await remote.done("delete", message=answer["id"])
        await stage.wait_for(lambda: bot.texts == ["hello!", "psst", "yes?"])
        _, seen = await remote.read("messages", channel="general")
        assert [message["content"] for message in seen["result"]] == ["hello!"]
        _, everything = await remote.read("world")
        assert {user["username"] for user in everything["result"]["users"]} == {
            "Stagehand",
            "mika",
            "ren",
        }
        assert [dm["recipients"][0]["username"] for dm in everything["result"]["dms"]] == ["mika"]
        _, requests = await remote.read("requests")
        assert requests["result"][0]["path"] == "/users/@me"
        assert await remote.read("problems") == (200, {"result": []})

    remotely(scenario)


def test_faults_and_the_gateway_from_outside() -> None:
    async def scenario(stage: Stage, bot: ListeningClient, remote: Remote) -> None:
        await remote.done("fault", kind="status", status=503, route="POST /channels/*/messages")
        await remote.done("clear_faults")
        await bot.place().send("unharmed")
        for number, do in enumerate(("drop", "reconnect"), 1):
            await remote.done("gateway", do=do)
            await stage.wait_for(lambda number=number: stage.gateway.resumed == number)  # type: ignore[misc]
        await remote.done("gateway", do="redeliver", count=1)
        await stage.wait_for(lambda: bot.texts.count("unharmed") == 2)
        await remote.done("gateway", do="mute")
        assert not stage.gateway.acknowledges
        await remote.done("gateway", do="unmute")
        await remote.done("gateway", do="invalidate")
        await stage.wait_for(lambda: stage.gateway.identified == 2)

    remotely(scenario)


def test_rate_limits_are_lifted_and_come_back() -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            place = f"{stage.url}/api/v10/channels/{stage.world.channel('general').id}/messages"
            remote = Remote(stage, session)

            async def statuses() -> set[int]:
                heads = {"Authorization": f"Bot {stage.token}"}
                return {
                    (await session.post(place, json={"content": "x"}, headers=heads)).status
                    for _ in range(6)
                }

            await remote.done("rate_limits", on=False)
            assert await statuses() == {200}
            await remote.done("rate_limits", on=True)
            assert await statuses() == {200, 429}

    asyncio.run(main())


def test_the_world_changes_from_outside() -> None:
    async def scenario(stage: Stage, bot: ListeningClient, remote: Remote) -> None:
        webhook = await bot.place().create_webhook(name="w")
        await remote.done("change", do="revoke_webhook", webhook=str(webhook.id))
        assert stage.world.webhooks == {}
        await remote.done(
            "change", do="lose_permission", channel="general", permission="send_messages"
        )
        await stage.wait_for(
            lambda: not bot.place().permissions_for(bot.guilds[0].me).send_messages
        )
        await remote.done("change", do="delete_channel", channel="random")
        await stage.wait_for(lambda: len(bot.guilds[0].text_channels) == 1)

    remotely(scenario, world=world("general", "random"))


MISTAKES: list[tuple[str, dict[str, object], int, str]] = [
    ("post", {"channel": "nowhere", "content": "x"}, 400, "this world has no channel 'nowhere'"),
    ("post", {"channel": "general"}, 400, "`content` must be a text"),
    ("post", {"channel": 5, "content": "x"}, 400, "`channel` must be a name or an id"),
    ("post", {"channel": "general", "content": ""}, 400, "Cannot send an empty message"),
    ("edit", {"message": "x", "content": "x"}, 400, "`message` must be a number"),
    ("press", {"message": "1", "button": "x"}, 400, "there is no message 1"),
    ("fault", {"kind": "boom"}, 400, "no such kind 'boom'"),
    ("rate_limits", {"on": "maybe"}, 400, "`on` must be true or false"),
    ("gateway", {"do": "explode"}, 400, "`do` is one of drop, close"),
    ("change", {"do": "rename"}, 400, "`do` is delete_channel"),
    ("submit", {"interaction": "1"}, 400, "there is no such interaction"),
    ("juggle", {}, 404, "no such action; known are post"),
]


@pytest.mark.parametrize(("action", "said", "status", "reason"), MISTAKES)
def test_mistakes_are_explained(
    action: str, said: dict[str, object], status: int, reason: str
) -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            got, body = await Remote(stage, session).act(action, **said)
            assert got == status
            assert reason in (body.get("error") or body.get("message"))

    asyncio.run(main())


HEADS: list[tuple[dict[str, str], int]] = [
    ({}, 401),
    ({HEADER: "wrong"}, 401),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Host": "evil.example"}, 403),
    ({"Content-Type": "text/plain"}, 415),
]


@pytest.mark.parametrize(("heads", "status"), HEADS)
def test_the_door_is_closed(heads: dict[str, str], status: int) -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            url = f"{stage.url}/stage/post"
            token = {} if status == 401 else {HEADER: stage.control_token}
            sent = {"Content-Type": "application/json"} | token | heads
            body = b'{"channel": "general", "content": "x"}'
            async with session.post(url, data=body, headers=sent) as answer:
                assert answer.status == status
            assert stage.world.contents("general") == []

    asyncio.run(main())


def test_a_website_can_neither_call_the_api_nor_open_the_gateway() -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            heads = {"Origin": "https://evil.example", "Authorization": f"Bot {stage.token}"}
            async with session.get(f"{stage.url}/api/v10/users/@me", headers=heads) as answer:
                assert answer.status == 403
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{stage.url}/gw/", headers=heads)
            own = heads | {"Origin": stage.url}
            async with session.get(f"{stage.url}/api/v10/users/@me", headers=own) as answer:
                assert answer.status == 200

    asyncio.run(main())


def test_a_button_and_a_command_from_outside() -> None:
    async def scenario(stage: Stage, bot: ListeningClient, remote: Remote) -> None:
        stage.world.commands.clear()
        asked: list[str] = []

        async def on_interaction(interaction: Any) -> None:
            asked.append(interaction.data.get("name") or interaction.data["custom_id"])
            await interaction.response.send_message("done", ephemeral=True)

        bot.on_interaction = on_interaction  # type: ignore[attr-defined]
        await bot.http.bulk_upsert_global_commands(
            bot.application_id or 0, [{"name": "go", "description": "Goes", "type": 1}]
        )
        rows = [
            {"type": 1, "components": [{"type": 2, "style": 1, "label": "Go", "custom_id": "b"}]}
        ]
        stage.people.post("general", "x")
        stage.world.history("general")[0].components = rows
        message = stage.world.history("general")[0].id
        run = await remote.done("run", command="go", channel="general", user="ren")
        await remote.done("press", message=str(message), button="Go", user="ren")
        await stage.wait_for(lambda: asked == ["go", "b"])
        await stage.settled()
        _, body = await remote.read("interactions", id=run["id"])
        assert body["result"]["reply"] == "message"
        _, seen = await remote.read("messages", channel="general")
        hidden = [m["content"] for m in seen["result"] if m["ephemeral_to"]]
        assert hidden == ["done", "done"]

    remotely(scenario, settings=FAST)
