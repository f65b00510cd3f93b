"""What is no proper request to the inspector is refused, and leaves nothing in the log."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage import Stage
from oshaberi.inspector.inspector_api import extensions
from oshaberi.inspector.stream_log import StreamLog
from stage_server.odd_requests import OddRequests, broken
from stage_server.odd_requests import answered as status_of

REQUESTS = 300
ANSWER_S = 20.0
SOUND = {
    "streams": (),
    "stream": (("id", "x"), ("message", "1")),
    "stream_scene": (("id", "x"),),
    "stream_replay": (("id", "x"), ("degree", 1)),
    "stream_open": (("scene", {"name": "x", "chunks": [{"type": "text", "content": "x"}]}),),
}


def test_every_action_is_asked() -> None:
    assert set(SOUND) == set(extensions(StreamLog()))


@pytest.mark.parametrize("seed", range(3))
def test_odd_requests_are_refused(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Stage(extensions=extensions(StreamLog())) as stage:
            odd = OddRequests(stage, seed, SOUND)
            for _ in range(REQUESTS):
                request = odd.one_action()
                async with asyncio.timeout(ANSWER_S):
                    status = await status_of(stage, request)
                assert 200 <= status < 500, request
                assert broken(stage, caplog) == [], request

    asyncio.run(main())
