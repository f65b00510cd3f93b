"""Whatever is sent to the stage is answered with a 4xx at most, and never with a traceback."""

from __future__ import annotations

import asyncio
import json
import random
import tracemalloc

import aiohttp
import pytest

from discord_stage import Settings, Stage
from discord_stage.access_guard import HEADER
from discord_stage.rules.messages import REQUEST_MOST
from stage_server.odd_requests import (
    RAW_BODIES,
    TARGETS,
    VALUES,
    OddRequest,
    OddRequests,
    answered,
    broken,
)

REQUESTS = 1500
FRAMES = 250
ANSWER_S = 20.0
PIECE, PIECES, LAST = b"x" * 1_000_000, 150, b"\r\n--b--\r\n"
COMMANDS = [
    {
        "name": "go",
        "description": "Goes",
        "options": [{"type": 3, "name": "text", "description": "What"}],
    },
    {"name": "Look", "type": 3},
]
ROWS = [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Go", "custom_id": "b"}]}]


async def furnished(stage: Stage) -> None:
    """With a message that has a button, a webhook and commands."""
    message = stage.people.post("general", "hi")
    message.components = ROWS
    channel, application = message.channel_id, stage.world.application.id
    wanted: dict[str, list[object]] = {
        f"/channels/{channel}/webhooks": [{"name": "w"}],
        f"/applications/{application}/commands": list(COMMANDS),
    }
    heads = {"Authorization": f"Bot {stage.token}"}
    async with aiohttp.ClientSession(headers=heads) as session:
        for path, bodies in wanted.items():
            for body in bodies:
                async with session.post(f"{stage.url}/api/v10{path}", json=body) as answer:
                    assert answer.status in (200, 201)


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


def opened() -> Stage:
    return Stage(settings=Settings(rate_limits=False))


@pytest.mark.parametrize("seed", SEEDS)
def test_odd_requests_are_refused(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with opened() as stage:
            await furnished(stage)
            odd = OddRequests(stage, seed)
            for _ in range(REQUESTS):
                request = odd.one()
                async with asyncio.timeout(ANSWER_S):
                    status = await answered(stage, request)
                assert 200 <= status < 500, request
                assert broken(stage, caplog) == [], request
                # What a request has just asked for: the next one is to be heard all the same.
                stage.faults.clear()
                stage.state.limits.on = False

    asyncio.run(main())


@pytest.mark.parametrize("target", TARGETS)
def test_odd_targets_are_refused(target: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with opened() as stage:
            assert 200 <= await answered(stage, OddRequest("GET", target)) < 500
            assert broken(stage, caplog) == []

    asyncio.run(main())


@pytest.mark.parametrize("token", ["", "wrong"])
def test_the_token_is_looked_at_before_the_body(token: str) -> None:
    """The body never comes: an answer that waited for it would never come either."""

    async def main() -> None:
        async with opened() as stage:
            host = stage.url.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            heads = f"Host: {host}\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
            writer.write(f"POST /stage/post HTTP/1.1\r\n{heads}{HEADER}: {token}\r\n\r\n".encode())
            async with asyncio.timeout(ANSWER_S):
                assert b" 401 " in await reader.readline()
            writer.close()

    asyncio.run(main())


def test_the_bots_token_is_looked_at_before_the_body() -> None:
    async def main() -> None:
        async with opened() as stage:
            host = stage.url.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            heads = f"Host: {host}\r\nAuthorization: Bot no\r\nContent-Length: 90\r\n"
            path = f"/api/v10/channels/{stage.world.channel('general').id}/messages"
            writer.write(f"POST {path} HTTP/1.1\r\n{heads}\r\n".encode())
            async with asyncio.timeout(ANSWER_S):
                assert b" 401 " in await reader.readline()
            writer.close()

    asyncio.run(main())


def frames(seed: int) -> list[str]:
    """What a gateway is not told by a proper client, each after an IDENTIFY or not."""
    chance = random.Random(seed)
    made = [body.decode("latin-1") for body in RAW_BODIES]
    ops: tuple[object, ...] = (1, 2, 3, 4, 6, 8, 31, 99, *VALUES)
    keys = ("token", "intents", "shard", "session_id", "seq", "guild_id", "user_ids", "query")
    for _ in range(FRAMES - len(made)):
        inside = {key: chance.choice(VALUES) for key in chance.sample((*keys, "limit"), 3)}
        data = inside if chance.random() < 0.8 else chance.choice(VALUES)
        made.append(json.dumps({"op": chance.choice(ops), "d": data}))
    return made


async def said(session: aiohttp.ClientSession, url: str, *texts: str) -> int | None:
    """The code that the server closes with, or None if it goes on."""
    async with session.ws_connect(url) as socket:
        for text in texts:
            await socket.send_str(text)
        await socket.send_str('{"op": 1, "d": 0}')
        async with asyncio.timeout(ANSWER_S):
            async for message in socket:
                if json.loads(message.data).get("op") == 11:
                    return None
        return socket.close_code


@pytest.mark.parametrize("identified", [False, True])
def test_odd_frames_close_the_gateway(identified: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with opened() as stage, aiohttp.ClientSession() as session:
            guild = next(iter(stage.world.guilds))
            greeting = json.dumps({"op": 2, "d": {"token": stage.token, "intents": 513}})
            for frame in frames(7):
                aimed = frame.replace('"guild_id": ""', f'"guild_id": "{guild}"')
                texts = (greeting, aimed) if identified else (aimed,)
                code = await said(session, f"{stage.url}/gw/", *texts)
                assert code is None or 4000 <= code <= 4014, frame[:300]
                assert broken(stage, caplog) == [], frame[:300]

    asyncio.run(main())


def test_odd_greetings_close_the_feed(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with opened() as stage, aiohttp.ClientSession() as session:
            known = {"token": stage.control_token, "user": "1", "epoch": stage.feed.epoch}
            odd = [
                json.dumps(known | {key: v}) for key in ("user", "after", "epoch") for v in VALUES
            ]
            for frame in [*odd, *(body.decode("latin-1") for body in RAW_BODIES)]:
                async with session.ws_connect(f"{stage.url}/stage/feed") as socket:
                    await socket.send_str(frame)
                    async with asyncio.timeout(ANSWER_S):
                        message = await socket.receive()
                    greeted = message.type is aiohttp.WSMsgType.TEXT
                    assert greeted or socket.close_code in (4000, 4001), frame[:300]
                assert broken(stage, caplog) == [], frame[:300]

    asyncio.run(main())


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"custom_id": "m", "components": [{"type": 1, "components": [{"type": 4}]}]},
        {"custom_id": "m", "components": [{"type": 18}]},
        {"custom_id": "m", "components": [{"type": 18, "component": {"custom_id": "f"}}]},
    ],
)
def test_a_modal_that_cannot_be_filled_in_is_refused(data: object) -> None:
    async def main() -> None:
        async with opened() as stage, aiohttp.ClientSession() as session:
            await furnished(stage)
            asked = stage.people.run("go", channel="general")
            url = f"{stage.url}/api/v10/interactions/{asked.id}/{asked.token}/callback"
            async with session.post(url, json={"type": 9, "data": data}) as answer:
                assert answer.status == 400
            assert asked.modal is None

    asyncio.run(main())


@pytest.mark.parametrize(
    "command",
    [
        {"type": 3},
        {"type": "x", "name": "a", "description": "b"},
        {"name": "a", "description": "b", "options": [{"type": 3}]},
        {"name": "a", "description": "b", "options": [{"name": "o"}]},
        {"name": "a", "description": "b", "options": [{"type": 3, "name": "o", "choices": [{}]}]},
        {"name": "a", "description": "b", "options": [{"type": 1, "name": "o", "options": [{}]}]},
    ],
)
def test_a_command_that_cannot_be_run_is_refused(command: object) -> None:
    async def main() -> None:
        async with opened() as stage:
            heads = {"Authorization": f"Bot {stage.token}"}
            async with aiohttp.ClientSession(headers=heads) as session:
                path = f"/applications/{stage.world.application.id}/commands"
                async with session.post(f"{stage.url}/api/v10{path}", json=command) as answer:
                    assert answer.status == 400
            assert stage.world.commands == {}

    asyncio.run(main())


@pytest.mark.parametrize("code", ["0", "999", "1004", "9" * 30])
def test_a_close_code_that_cannot_be_sent(code: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with opened() as stage, aiohttp.ClientSession() as session:
            async with session.ws_connect(f"{stage.url}/gw/") as socket:
                await socket.send_json({"op": 2, "d": {"token": stage.token, "intents": 1}})
                await stage.wait_for(stage.gateway.connected)
                heads = {HEADER: stage.control_token}
                asked = {"do": "close", "code": code}
                url = f"{stage.url}/stage/gateway"
                async with session.post(url, json=asked, headers=heads) as answer:
                    assert answer.status == 400
            assert broken(stage, caplog) == []

    asyncio.run(main())


def test_a_form_that_is_too_large_is_not_kept() -> None:
    """It is read to its end, or its sender would hear nothing, but it is not kept in memory."""

    async def main() -> None:
        async with opened() as stage:
            host = stage.url.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            path = f"/api/v10/channels/{stage.world.channel('general').id}/messages"
            kind = "multipart/form-data; boundary=b"
            heads = f"Host: {host}\r\nAuthorization: Bot {stage.token}\r\nContent-Type: {kind}\r\n"
            part = b'--b\r\nContent-Disposition: form-data; name="files[0]"; filename="a"\r\n\r\n'
            size = len(part) + PIECES * len(PIECE) + len(LAST)
            start = f"POST {path} HTTP/1.1\r\n{heads}Content-Length: {size}\r\n\r\n"
            tracemalloc.start()
            writer.write(start.encode() + part)
            for _ in range(PIECES):
                writer.write(PIECE)
                await writer.drain()
            writer.write(LAST)
            async with asyncio.timeout(ANSWER_S):
                assert b" 413 " in await reader.readline()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            writer.close()
            assert peak < 2 * REQUEST_MOST + 10_000_000

    asyncio.run(main())
