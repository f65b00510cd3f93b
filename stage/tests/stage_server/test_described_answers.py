"""Every route is played, and its answers and dispatches are as Discord describes them."""

from __future__ import annotations

import asyncio

from discord_stage import Settings, Stage
from discord_stage.rest import ENDPOINTS
from discord_stage.world.event_bus import GatewayEvent
from stage_server.described_answers import dispatch_differences
from stage_server.discord_description import needs_description
from stage_server.long_play import WORLD, LongPlay

EXCEPTIONS = {
    "message_reference/type: 0 was expected": (
        "A forward has a reference of type 1, which the documentation has and the description not."
    ),
}
"""The end of a difference → why it stays."""


def played() -> tuple[LongPlay, list[GatewayEvent]]:
    events: list[GatewayEvent] = []

    async def main() -> LongPlay:
        async with Stage(WORLD, Settings(rate_limits=False)) as stage:
            stage.state.bus.listen(events.append)
            async with LongPlay(stage) as play:
                await play.everything()
            stage.check()
        return play

    return asyncio.run(main()), events


@needs_description
def test_answers_and_dispatches_are_as_described() -> None:
    play, events = played()
    found = dict.fromkeys(play.differences)
    for event in events:
        for difference in dispatch_differences(event.name, event.data):
            found[f"{event.name} {difference}"] = None
    assert [text for text in found if not text.endswith(tuple(EXCEPTIONS))] == []


def test_every_route_is_played() -> None:
    play, _events = played()
    missing = [
        f"{endpoint.method} {endpoint.path}"
        for endpoint in ENDPOINTS
        if (endpoint.method, endpoint.path) not in play.succeeded
        and "/voice-states/" not in endpoint.path  # nobody is in a voice channel: always 404
    ]
    assert missing == []
