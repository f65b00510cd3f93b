"""The inspector behind the stage's control API."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse

from discord_stage import Stage
from oshaberi.chunks import Chunk
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.inspector import StreamLog
from oshaberi.inspector.inspector_api import EVENT, attach
from oshaberi.scenes import parse_scene
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Silence
from tests.inspector.logged_streams import crumbs, stream

Json = dict[str, Any]
TEXT = "Hello there.\nIt is me."


class Client:
    def __init__(self, stage: Stage, session: ClientSession) -> None:
        self._stage = stage
        self._session = session

    async def get(self, action: str, **asked: str) -> tuple[int, Any]:
        headers = {"X-Stage-Token": self._stage.control_token}
        url = f"{self._stage.url}/stage/{action}"
        async with self._session.get(url, params=asked, headers=headers) as answer:
            return answer.status, await answer.json()

    async def post(self, action: str, **said: Any) -> tuple[int, Any]:
        headers = {"X-Stage-Token": self._stage.control_token}
        url = f"{self._stage.url}/stage/{action}"
        async with self._session.post(url, json=said, headers=headers) as answer:
            return answer.status, await answer.json()

    async def feed(self) -> ClientWebSocketResponse:
        socket = await self._session.ws_connect(f"{self._stage.url}/stage/feed")
        await socket.send_json({"token": self._stage.control_token})
        await socket.receive()
        return socket


def test_streams_can_be_read_replayed_and_copied() -> None:
    async def main() -> None:
        log = StreamLog()
        async with Stage() as stage, ClientSession() as session:
            attach(log, stage)
            client = Client(stage, session)
            await stream(log, crumbs(TEXT, ms=0))
            _, listed = await client.get("streams")
            assert [one["said"] for one in listed["result"]] == [TEXT]
            _, newest = await client.get("stream")
            _, by_id = await client.get("stream", id="1")
            _, by_message = await client.get("stream", message="2")
            assert newest == by_id == by_message
            texts = [m["text"] for m in newest["result"]["trace"]["messages"]]
            assert texts == TEXT.split("\n")
            assert newest["result"]["partial"] is False
            _, other = await client.post("stream_replay", id="1", degree=0)
            assert [m["text"] for m in other["result"]["messages"]] == ["Hello there.\n\nIt is me."]
            _, copied = await client.get("stream_scene", id="1")
            assert parse_scene(copied["result"], "it").text == TEXT

    asyncio.run(main())


def test_a_running_stream_is_told_up_to_now() -> None:
    async def main() -> None:
        log = StreamLog()
        async with Stage() as stage, ClientSession() as session:
            attach(log, stage)
            client, socket = Client(stage, session), await Client(stage, session).feed()
            context, sent = StreamContext(channel="general"), asyncio.Event()
            sink = RecordingSink(on_record=lambda _record: sent.set())
            steps = [*crumbs("One.\nTwo and", ms=0), Silence(60_000)]
            task = asyncio.create_task(stream(log, steps, context, sink))
            await sent.wait()
            _, answer = await client.get("stream")
            told = answer["result"]
            assert told["partial"] is True
            assert told["trace"]["result"] is None
            assert told["trace"]["steps"] == []
            assert [m["text"] for m in told["trace"]["messages"]] == ["One."]
            assert {one["fate"] for one in told["trace"]["lost"]} <= {"waiting", "open"}
            context.stops.request_stop("general", "7")
            await task
            seen: list[bool] = []
            while True not in seen or seen[-1]:
                frame = json.loads((await socket.receive()).data)
                if frame["t"] == EVENT:
                    seen.append(frame["d"]["running"])
            assert seen[0] is True
            await socket.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"id": "99"}, "no such stream"), ({"message": "x"}, "must be a number")],
)
def test_what_is_not_there(asked: dict[str, str], message: str) -> None:
    async def main() -> None:
        log = StreamLog()
        async with Stage() as stage, ClientSession() as session:
            attach(log, stage)
            await stream(log, [Chunk("text", "hi")])
            status, body = await Client(stage, session).get("stream", **asked)
            assert (status, message in body["error"]) == (400, True)

    asyncio.run(main())


@pytest.mark.parametrize("degree", [4, True, "1", None])
def test_degrees_that_do_not_exist(degree: Any) -> None:
    async def main() -> None:
        log = StreamLog()
        async with Stage() as stage, ClientSession() as session:
            attach(log, stage)
            await stream(log, [Chunk("text", "hi")])
            client = Client(stage, session)
            status, body = await client.post("stream_replay", id="1", degree=degree)
            assert (status, body["error"]) == (400, "`degree` must be 0, 1, 2 or 3")

    asyncio.run(main())
