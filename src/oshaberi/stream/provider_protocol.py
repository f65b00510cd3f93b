"""The protocol of a provider adapter, its wrapper, and a provider that plays a script.

A raw chunk is whatever the adapter's API sends; only the adapter looks into it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.stream.stops import StopRegistry
from oshaberi.virtual_time import settle


class Provider(Protocol):
    """One model behind one API."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def reemits(self) -> bool:
        """Whether it repeats its last tokens at the start of the next chunk."""

    def open(self, request: Any) -> AsyncIterator[Any]:
        """Return the raw chunks of one answer."""

    def normalise(self, raw: Any) -> Chunk | None: ...

    def classify(self, error: Exception) -> ProviderError: ...


class WrappedProvider:
    """Passes everything on to a provider. A subclass changes what it has to."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def model(self) -> str:
        return self._provider.model

    @property
    def reemits(self) -> bool:
        return self._provider.reemits

    def open(self, request: Any) -> AsyncIterator[Any]:
        return self._provider.open(request)

    def normalise(self, raw: Any) -> Chunk | None:
        return self._provider.normalise(raw)

    def classify(self, error: Exception) -> ProviderError:
        return self._provider.classify(error)


@dataclass(frozen=True, slots=True)
class Silence:
    """The model sends nothing for `ms`."""

    ms: int


@dataclass(frozen=True, slots=True)
class Stop:
    """A user stops the stream now."""

    by: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The user writes again now."""

    by: str


Step = Chunk | Silence | Stop | FollowUp


class ScriptedProvider:
    """Plays steps.

    Chunks of one instant are read first, then everything that can be sent is sent; only then
    the next silence, stop or end takes effect (spec 10).
    """

    name = "script"
    model = "script"

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        stops: StopRegistry | None = None,
        channel: str = "",
        reemits: bool = False,
    ) -> None:
        self.reemits = reemits
        self.closed = False
        self._steps = steps
        self._stops = stops
        self._channel = channel

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        try:
            read = False
            for step in self._steps:
                if isinstance(step, Chunk):
                    read = True
                    yield step
                    continue
                if read:
                    await settle()
                    read = False
                await self._act(step)
            await settle()
        finally:
            self.closed = True

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("api_error", str(error), provider=self.name, raw=error)

    async def _act(self, step: Silence | Stop | FollowUp) -> None:
        if isinstance(step, Silence):
            await asyncio.sleep(step.ms / 1000)
        elif self._stops is None:
            raise ValueError("a script that stops needs the registry of its stream")
        elif isinstance(step, Stop):
            self._stops.request_stop(self._channel, step.by)
        else:
            self._stops.request_follow_up(self._channel, step.by)
