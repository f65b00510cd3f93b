"""The inspector's part of the stage's control API, and of the page's live feed.

`streams`, `stream` and `stream_scene` read, `stream_replay` acts. The page hears `STREAM` events.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discord_stage.control.api import ControlExtension
from discord_stage.errors import StageError
from discord_stage.page import PageExtension
from discord_stage.requests.request_log import RequestRecord
from discord_stage.server import Stage
from discord_stage.world.ids import number_in
from oshaberi.errors import OshaberiError
from oshaberi.inspector.recorded_sends import recorded_sends
from oshaberi.inspector.stream_log import NOW, LoggedStream, StreamLog
from oshaberi.inspector.stream_trace import replayed, trace

EVENT = "STREAM"
PAGE = Path(__file__).parent / "page"
"""The scripts of the inspector, for the stage's page."""
REMEMBERED = 16
_WAITING = {"fate": "waiting", "why": "it is about to be sent"}
_OPEN = {"fate": "open", "why": "its line is not over"}

Json = dict[str, Any]


def attach(log: StreamLog, stage: Stage) -> Callable[[], None]:
    """Add the inspector to a running stage. Returns a function that ends the live feed."""
    stage.extensions.update(extensions(log, lambda: stage.requests))
    stage.page_extensions["inspector"] = PageExtension(PAGE)
    return log.listen(lambda summary: stage.feed.publish(EVENT, summary))


def extensions(
    log: StreamLog, requests: Callable[[], Sequence[RequestRecord]] = tuple
) -> dict[str, ControlExtension]:
    """Return the actions. `requests` is the request log of the stage that the bot uses."""
    inspector = _Inspector(log, requests)
    return {
        "streams": ControlExtension(read=inspector.streams),
        "stream": ControlExtension(read=inspector.stream),
        "stream_scene": ControlExtension(read=inspector.scene),
        "stream_replay": ControlExtension(act=inspector.replay),
        "stream_open": ControlExtension(act=inspector.open_file),
    }


class _Inspector:
    """The inspector's requests. Traces are made in a thread: they need their own loop and time."""

    def __init__(self, log: StreamLog, requests: Callable[[], Sequence[RequestRecord]]) -> None:
        self._log = log
        self._requests = requests
        self._traces: OrderedDict[str, Json] = OrderedDict()

    def streams(self, _asked: Json) -> list[Json]:
        return self._log.streams()

    async def stream(self, asked: Json) -> Json:
        """Return a stream by `id`, by a `message` that it sent, or the newest."""
        kept = self._find(asked)
        was_running = kept.is_running
        told = await self._trace(kept)
        return {
            "stream": self._log.summary(kept),
            "trace": told,
            "sends": self._sends(kept),
            "partial": was_running,
        }

    def _sends(self, kept: LoggedStream) -> list[Json]:
        """Return the sends as they were recorded. The trace, in contrast, comes from a replay."""
        channel = number_in(kept.channel)
        if channel is None:
            return []
        until_s = math.inf if kept.ended_s is None else kept.ended_s
        found = recorded_sends(self._requests(), channel, kept.began_s, until_s, kept.waits)
        return [send.as_json() for send in found]

    async def open_file(self, said: Json) -> Json:
        """Open a saved stream: `scene` is its document, from this or another machine."""
        scene = said.get("scene")
        if not isinstance(scene, dict):
            raise StageError("`scene` must be an object: a stream that was saved as a file")
        told = await _in_thread(trace, scene)
        return {"stream": opened_summary(told), "trace": told, "sends": [], "partial": False}

    def scene(self, asked: Json) -> Json:
        return self._log.scene(self._find(asked))

    async def replay(self, said: Json) -> Json:
        """Return the messages that a stream (`id` or `scene`) becomes at this `degree`."""
        degree = said.get("degree")
        if degree not in (0, 1, 2, 3) or isinstance(degree, bool):
            raise StageError("`degree` must be 0, 1, 2 or 3")
        scene = said.get("scene")
        document = scene if isinstance(scene, dict) else self._log.scene(self._find(said))
        return {"degree": degree, "messages": await _in_thread(replayed, document, degree)}

    def _find(self, asked: Json) -> LoggedStream:
        said = asked.get("message")
        message = None if said is None else number_in(str(said))
        if said is not None and message is None:
            raise StageError("`message` must be a number")
        stream = None if asked.get("id") is None else str(asked["id"])
        kept = self._log.find(stream, message)
        if kept is None:
            raise StageError("there is no such stream, or it was too long ago")
        return kept

    async def _trace(self, kept: LoggedStream) -> Json:
        if kept.id in self._traces:
            self._traces.move_to_end(kept.id)
            return self._traces[kept.id]
        running = kept.is_running
        told: Json = await _in_thread(trace, self._log.scene(kept))
        if running:
            return _at_this_moment(told)
        self._traces[kept.id] = told
        if len(self._traces) > REMEMBERED:
            self._traces.popitem(last=False)
        return told


async def _in_thread(make: Callable[..., Any], *args: object) -> Any:
    try:
        return await asyncio.to_thread(make, *args)
    except OshaberiError as error:
        raise StageError(str(error)) from None


def _at_this_moment(told: Json) -> Json:
    """Adjust the trace of a running stream: the text that its scene drops is in fact waiting."""
    told["steps"] = told["steps"][:-1]
    for one in told["lost"]:
        if one["fate"] == NOW:
            one |= _OPEN if one["is_open"] else _WAITING
    told["result"] = None
    return told


def opened_summary(told: Json) -> Json:
    """Return the summary of a stream from a file: it has no messages in this chat."""
    return {
        "id": f"file {told['name']}",
        "name": told["name"],
        "running": False,
        "degree": told["degree"],
        "duration_ms": told["duration_ms"],
        "messages": [],
        "notices": [],
    }
