"""The gateway: intents, resumes, redelivery, and the ways it closes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import discord
import pytest

from discord_stage import Settings, Stage
from discord_stage.testing import logged_in, staged
from stage_server.listening_client import FAST, ListeningClient, run_on_stage, world


def intents(**wanted: bool) -> discord.Intents:
    return discord.Intents(guilds=True, **wanted)


def test_a_dropped_connection_is_resumed_and_nothing_is_missed() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.post("general", "before")
        await stage.wait_for(lambda: bot.texts == ["before"])
        stage.gateway.drop()
        for number in range(3):
            stage.people.post("general", f"while away {number}")
        await stage.wait_for(lambda: len(bot.texts) == 4)
        assert bot.texts[1:] == [f"while away {number}" for number in range(3)]
        assert (stage.gateway.identified, stage.gateway.resumed) == (1, 1)

    run_on_stage(scenario)


@pytest.mark.parametrize("code", [1000, 4000, 4009])
def test_close_codes_that_resume(code: int) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.gateway.drop(code)
        await stage.wait_for(lambda: stage.gateway.resumed == 1)
        stage.people.post("general", "still there?")
        await stage.wait_for(lambda: bot.texts == ["still there?"])

    run_on_stage(scenario)


def test_asked_to_reconnect_it_resumes() -> None:
    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        stage.gateway.ask_to_reconnect()
        await stage.wait_for(lambda: stage.gateway.resumed == 1)

    run_on_stage(scenario)


@pytest.mark.parametrize(("resumable", "counts"), [(True, (1, 1)), (False, (2, 0))])
def test_an_invalidated_session(resumable: bool, counts: tuple[int, int]) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.gateway.invalidate(resumable=resumable)
        await stage.wait_for(lambda: (stage.gateway.identified, stage.gateway.resumed) == counts)
        await bot.wait_until_ready()
        stage.people.post("general", "hello again")
        await stage.wait_for(lambda: bot.texts == ["hello again"])

    run_on_stage(scenario)


def test_who_missed_too_much_starts_anew() -> None:
    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        stage.gateway.drop()
        for number in range(6):
            stage.people.post("general", str(number))
        await stage.wait_for(lambda: stage.gateway.identified == 2)
        assert stage.gateway.resumed == 0

    run_on_stage(scenario, settings=Settings(replay_most=5))


def test_a_missing_heartbeat_ack_makes_discord_py_reconnect() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.gateway.acknowledges = False
        await stage.wait_for(lambda: stage.gateway.resumed >= 1)
        stage.gateway.acknowledges = True
        stage.people.post("general", "alive")
        await stage.wait_for(lambda: "alive" in bot.texts)

    run_on_stage(
        scenario,
        settings=Settings(heartbeat_ms=50),
        client=lambda: ListeningClient(heartbeat_timeout=0.2),
    )


def test_events_can_come_twice() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.post("general", "a")
        stage.people.post("general", "b")
        await stage.settled()
        stage.gateway.redeliver(count=2)
        await stage.wait_for(lambda: bot.texts == ["a", "b", "a", "b"])
        assert len({message.id for message in bot.heard}) == 2

    run_on_stage(scenario)


def test_events_are_filtered_by_intents() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        posted = stage.people.post("general", "hello")
        stage.people.react(posted, "🎉")
        stage.people.type("general")
        stage.people.dm("psst")
        await stage.settled()
        kinds = [event for event in bot.events if event not in ("READY", "GUILD_CREATE")]
        assert kinds == ["MESSAGE_REACTION_ADD"]

    run_on_stage(scenario, client=lambda: ListeningClient(intents(guild_reactions=True)))


def test_without_the_content_intent_content_is_empty_but_for_mentions_and_dms() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        me = f"<@{stage.world.bot.id}>"
        stage.people.post("general", "secret", files={"a.txt": b"x"})
        stage.people.post("general", f"{me} hi")
        stage.people.dm("direct")
        await bot.place().send("own")
        await stage.wait_for(lambda: len(bot.heard) == 4)
        assert bot.texts == ["", f"{me} hi", "direct", "own"]
        assert bot.heard[0].attachments == []

    run_on_stage(scenario, client=lambda: ListeningClient(intents(messages=True)))


def test_rest_hides_content_if_the_portal_does_not_grant_it() -> None:
    described: dict[str, object] = {**world(), "bot": {"intents": ["members", "presences"]}}

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.post("general", "secret")
        await bot.place().send("own")
        assert [m.content async for m in bot.place().history()] == ["own", ""]

    run_on_stage(
        scenario, described, client=lambda: ListeningClient(intents(messages=True, members=True))
    )


def test_an_intent_that_is_not_granted_closes_with_4014() -> None:
    async def main() -> None:
        described: dict[str, object] = {**world(), "bot": {"intents": []}}
        async with staged(described, FAST) as stage:
            with pytest.raises(discord.PrivilegedIntentsRequired):
                async with logged_in(stage, ListeningClient()):
                    pass

    asyncio.run(main())


def test_no_sight_of_a_channel_no_events_from_it() -> None:
    hidden = {"name": "hidden", "overwrites": [{"member": "Stagehand", "deny": ["view_channel"]}]}

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.post("hidden", "for us")
        stage.people.post("general", "for all")
        await stage.wait_for(lambda: bot.heard)
        assert bot.texts == ["for all"]

    run_on_stage(scenario, world("general", hidden))


def test_members_come_in_chunks() -> None:
    names = [f"member{number}" for number in range(1200)]

    async def scenario(_stage: Stage, bot: ListeningClient) -> None:
        guild = bot.guilds[0]
        assert guild.chunked
        assert len(guild.members) == 1201
        assert [m.name for m in await guild.query_members("member119", limit=3)] == [
            "member119",
            "member1190",
            "member1191",
        ]

    run_on_stage(scenario, world(members=names))


def test_without_the_members_intent_only_the_bot_is_known() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        assert [member.id for member in bot.guilds[0].members] == [stage.world.bot.id]
        assert bot.guilds[0].member_count == 3

    run_on_stage(scenario, client=lambda: ListeningClient(intents(messages=True)))


def test_shards_share_the_guilds() -> None:
    places = [{"name": f"G{n}", "members": ["mika"], "channels": [f"c{n}"]} for n in range(8)]

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        shards = [ListeningClient(shard_id=number, shard_count=2) for number in range(2)]
        async with logged_in(stage, shards[0]), logged_in(stage, shards[1]):
            ids = [{guild.id for guild in shard.guilds} for shard in shards]
            assert ids[1] == {g for g in stage.world.guilds if (g >> 22) % 2}
            assert ids[0] == set(stage.world.guilds) - ids[1]
            stage.people.dm("only the first hears this")
            await stage.wait_for(lambda: shards[0].heard)
            assert shards[1].heard == []
        assert len(bot.guilds) == 8

    run_on_stage(scenario, {"guilds": places})


async def talk(stage: Stage, *payloads: object) -> list[Any]:
    """Raw frames to the gateway; returns what came back, and at last the close code."""
    url = stage.url.replace("http", "ws") + "/gw/?v=10&encoding=json"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        heard: list[Any] = [(await socket.receive_json())["op"]]
        for payload in payloads:
            await socket.send_str(payload if isinstance(payload, str) else json.dumps(payload))
        heard += [json.loads(message.data)["op"] async for message in socket]
        return [*heard, socket.close_code]


IDENTIFY = {"op": 2, "d": {"token": "wrong", "intents": 0}}
RESUME = {"op": 6, "d": {"token": "t", "session_id": "nobody", "seq": 3}}
TALKS: list[tuple[list[object], list[object]]] = [
    ([IDENTIFY], [10, 4004]),
    (["{"], [10, 4002]),
    ([{"op": 99, "d": None}], [10, 4001]),
    ([{"op": 8, "d": {}}], [10, 4003]),
    ([{"op": 2, "d": 3}], [10, 4002]),
    ([{"op": 2, "d": {"token": "t", "intents": 1 << 60}}], [10, 4013]),
    ([{"op": 2, "d": {"token": "t", "intents": 0, "shard": [2, 2]}}], [10, 4010]),
    ([{"op": 2, "d": {"token": "t", "intents": 0}}] * 2, [10, 0, 4005]),
    ([RESUME, {"op": 99, "d": None}], [10, 9, 4001]),
    ([{"op": 1, "d": None}, {"op": 3, "d": {}}, {"op": 99}], [10, 11, 4001]),
]


@pytest.mark.parametrize(("said", "heard"), TALKS)
def test_bad_manners_are_answered_with_a_close_code(
    said: list[object], heard: list[object]
) -> None:
    async def main() -> None:
        described: dict[str, object] = {**world(), "bot": {"token": "t"}}
        # Acknowledged at once, so that the order of what is heard is that of what was said.
        async with Stage(described, Settings(heartbeat_ack_s=0)) as stage:
            assert await talk(stage, *said) == heard

    asyncio.run(main())


# -- shards ----------------------------------------------------------------------------------------


async def _identified(stage: Stage, shard: list[int]) -> list[dict[str, Any]]:
    """The first frames after an IDENTIFY of this shard; the connection is closed then."""
    identify = {"token": stage.token, "intents": 513, "properties": {}, "shard": shard}
    async with aiohttp.ClientSession() as session, session.ws_connect(_gateway(stage)) as socket:
        await socket.receive_json()  # HELLO
        await socket.send_json({"op": 2, "d": identify})
        frames = [await socket.receive_json()]
        while frames[-1]["op"] == 0 and len(frames) <= len(frames[0]["d"]["guilds"]):
            frames.append(await socket.receive_json())
        return frames


def _gateway(stage: Stage) -> str:
    return stage.url.replace("http", "ws", 1) + "/gw/?v=10&encoding=json"


def _sharded() -> dict[str, object]:
    guilds = [
        {
            "id": (360_000_000_000 + number) << 22,
            "name": f"Server {number}",
            "members": ["mika"],
            "channels": [f"room-{number}"],
        }
        for number in range(4)
    ]
    return {"guilds": guilds}


def test_a_shard_has_its_own_servers() -> None:
    async def main() -> None:
        async with Stage(_sharded(), Settings(shards=2, max_concurrency=2)) as stage:
            for shard in range(2):
                ready, *created = await _identified(stage, [shard, 2])
                assert ready["d"]["shard"] == [shard, 2]
                names = [frame["d"]["name"] for frame in created]
                assert names == [f"Server {shard}", f"Server {shard + 2}"]

    asyncio.run(main())


def test_the_number_of_shards_and_sessions_is_told() -> None:
    async def main() -> None:
        settings = Settings(shards=4, max_concurrency=2, session_starts=5)
        async with Stage(_sharded(), settings) as stage, aiohttp.ClientSession() as session:
            await _identified(stage, [0, 4])
            headers = {"Authorization": f"Bot {stage.token}"}
            url = f"{stage.url}/api/v10/gateway/bot"
            async with session.get(url, headers=headers) as answer:
                told = await answer.json()
            limit = told["session_start_limit"]
            assert (told["shards"], limit["max_concurrency"], limit["remaining"]) == (4, 2, 4)

    asyncio.run(main())


def test_who_identifies_too_early_has_no_session() -> None:
    async def main() -> None:
        settings = Settings(shards=4, max_concurrency=2, identify_s=3600.0)
        async with Stage(_sharded(), settings) as stage:
            first = await _identified(stage, [0, 4])
            other_bucket = await _identified(stage, [1, 4])
            too_early = await _identified(stage, [2, 4])
            assert [frames[0]["op"] for frames in (first, other_bucket, too_early)] == [0, 0, 9]
            assert (stage.gateway.identified, stage.gateway.too_early) == (2, 1)

    asyncio.run(main())


def test_too_many_sessions_cost_the_token() -> None:
    async def main() -> None:
        async with Stage(_sharded(), Settings(session_starts=0)) as stage:
            url, identify = _gateway(stage), {"token": stage.token, "intents": 513}
            async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
                await socket.receive_json()
                await socket.send_json({"op": 2, "d": identify})
                await socket.receive()
                assert socket.close_code == 4004

    asyncio.run(main())


def test_two_sessions_of_one_shard_are_counted() -> None:
    async def main() -> None:
        async with (
            Stage(_sharded(), Settings(shards=2)) as stage,
            aiohttp.ClientSession() as session,
        ):
            identify = {"token": stage.token, "intents": 513, "properties": {}, "shard": [1, 2]}
            async with session.ws_connect(_gateway(stage)) as socket:
                await socket.send_json({"op": 2, "d": identify})
                await stage.wait_for(lambda: stage.gateway.identified == 1)
                await _identified(stage, [0, 2])
                assert stage.gateway.overlaps == 0
                await _identified(stage, [1, 2])
                assert stage.gateway.overlaps == 1

    asyncio.run(main())
