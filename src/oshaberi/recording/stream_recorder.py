"""Records a provider's stream, pauses included, and passes it on unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.clocks import loop_time_s
from oshaberi.stream.provider_protocol import Provider, WrappedProvider

LOST_PATIENCE_S = 1.0
"""Added to a silence if waiting was cancelled, so that a replay gives up at the same place."""


@dataclass(frozen=True, slots=True)
class HeardStream:
    """The chunks of a stream, each with the silence before it. None marks the end."""

    silence_ms: float
    chunk: Chunk | None


Keep = Callable[[Sequence[HeardStream]], None]
"""Called with the whole recording at the end of a stream, however it ended."""
Hear = Callable[[HeardStream], None]
"""Called with each chunk at once."""


def _nobody(_heard: HeardStream) -> None:
    pass


class StreamRecorder(WrappedProvider):
    """Wraps a provider.

    Calls `hear` for each chunk and `keep` once per stream; neither may raise.
    """

    def __init__(self, provider: Provider, keep: Keep, hear: Hear = _nobody) -> None:
        super().__init__(provider)
        self._keep = keep
        self._hear = hear

    async def open(self, request: Any) -> AsyncIterator[Chunk | None]:
        """Yield the provider's chunks. None means that the model is alive but sends nothing."""
        tape = _Tape(self._provider, self._hear)
        try:
            async for chunk in tape.listen(request):
                yield chunk
        finally:
            try:
                await tape.close()
            finally:
                self._keep(tape.heard)

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None


class _Tape:
    """Records one stream."""

    def __init__(self, provider: Provider, hear: Hear) -> None:
        self.heard: list[HeardStream] = []
        self._provider = provider
        self._hear = hear
        self._stream: AsyncIterator[Any] | None = None
        self._silence_s = 0.0

    async def listen(self, request: Any) -> AsyncIterator[Chunk | None]:
        while True:
            try:
                if self._stream is None:
                    self._stream = self._provider.open(request)
                raw = await self._next(self._stream)
                chunk = self._provider.normalise(raw)
            except StopAsyncIteration:
                self._note(None)
                return
            except asyncio.CancelledError:
                self._silence_s += LOST_PATIENCE_S
                self._note(None)
                raise
            except Exception as error:
                self._note(Chunk("error", error=self._provider.classify(error)))
                raise
            if chunk is not None:
                self._note(chunk)
            yield chunk

    async def close(self) -> None:
        closing = getattr(self._stream, "aclose", None)
        if closing is not None:
            await closing()

    async def _next(self, stream: AsyncIterator[Any]) -> Any:
        """Wait for the next chunk and measure only this wait, not the time the reader takes."""
        began_s = loop_time_s()
        try:
            return await anext(stream)
        finally:
            self._silence_s += loop_time_s() - began_s

    def _note(self, chunk: Chunk | None) -> None:
        self.heard.append(HeardStream(self._silence_s * 1000, chunk))
        self._silence_s = 0.0
        self._hear(self.heard[-1])
