"""A provider that plays recorded scenes from a file or a folder, one per stream.

`Endpoint.model` is the path. The quirk `timing` (on unless it is false) keeps the recorded pauses.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.errors import OshaberiError
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import Endpoint, Request
from oshaberi.providers.wire.steps import CallPiece, FinishStep, Step
from oshaberi.scenes import find_scenes, load_scene
from oshaberi.secret_redaction import redact
from oshaberi.stream.provider_protocol import Silence
from oshaberi.virtual_time import settle


class RecordingOverError(OshaberiError):
    """More streams were requested than recorded."""


class ReplayAdapter(Adapter):
    """Plays recorded streams in order, without what users did in them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self._scenes = [load_scene(path) for path in find_scenes([endpoint.model])]
        self._timed = bool(endpoint.quirks.get("timing", True))
        self._played = 0
        self.reemits = any(scene.reemits for scene in self._scenes)

    async def events(self, _request: Request) -> AsyncGenerator[Sequence[Step], None]:
        if self._played == len(self._scenes):
            raise RecordingOverError(f"{self.model}: all that was recorded has been played")
        scene = self._scenes[self._played]
        self._played += 1
        calls = 0
        for step in scene.steps:
            if isinstance(step, Chunk):
                yield _steps(step, calls)
                calls += len(step.calls)
            elif isinstance(step, Silence) and self._timed:
                await settle()
                await asyncio.sleep(step.ms / 1000)
        await settle()  # as the player of scenes: send the text before the end (spec 10)
        yield (FinishStep(),)

    def read(self, event: Sequence[Step]) -> Sequence[Step]:
        return event

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("model_error", redact(str(error)), provider=self.name)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


def _steps(chunk: Chunk, calls_before: int) -> Sequence[Step]:
    """Return the steps of a chunk. Calls are numbered over the whole answer."""
    if chunk.type == "done":
        return (FinishStep(chunk.finish_reason),)
    if chunk.type != "function_call":
        return (chunk,)
    return [
        CallPiece(calls_before + number, call.name, json.dumps(dict(call.args)), call.id)
        for number, call in enumerate(chunk.calls)
    ]
